// The dialog with the link to a script and the script as a page; the script that the page was opened with.

import { download } from "../shared/own_page.js";
import { fromFragment, toFragment } from "./share.js";

const LONG = 8000; // characters; beyond, some programs cut links off

const $ = (id) => document.getElementById(id);

export function setUpSharing(script, open, tell) {
  $("share").addEventListener("click", async () => {
    const link = new URL(location.href);
    link.search = "";
    link.hash = await toFragment(script());
    $("link").value = link.href;
    $("share-note").textContent =
      link.href.length > LONG
        ? `The link has ${link.href.length.toLocaleString("en")} characters: some programs cut such links off.`
        : "";
    $("taken").textContent = "";
    $("share-dialog").showModal();
    $("link").select();
  });
  $("copy").addEventListener("click", async () => {
    $("link").select();
    try {
      await navigator.clipboard.writeText($("link").value);
      $("share-note").textContent = "Copied.";
    } catch {
      $("share-note").textContent = "The browser did not let the page copy: the link is selected, press Ctrl+C.";
    }
  });
  $("take").addEventListener("click", () => download(script(), (text) => ($("taken").textContent = text)));
  // a link pasted into the address of the open page
  addEventListener("hashchange", async () => {
    const found = await sharedScript(tell);
    if (found) open(found);
  });
}

/** The script in the page's own address, or null. The address is then plain: a reload shows what was written since. */
export async function sharedScript(tell) {
  try {
    const found = await fromFragment(location.hash);
    if (found) history.replaceState(null, "", location.pathname + location.search);
    return found;
  } catch (error) {
    tell(error.message);
    return null;
  }
}
