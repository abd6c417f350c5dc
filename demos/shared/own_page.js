// A script as a page of one's own: one HTML file with torchlite in it (own_page.html), which a browser opens from the
// disk, too. Pyodide comes from its public address.

const site = new URL("../", import.meta.url);

/** The text of the page that runs the script `text`. */
export async function ownPage(text, title) {
  const list = await (await fetched("files.json")).json();
  const template = await (await fetched("shared/own_page.html")).text();
  const wheel = new Uint8Array(await (await fetched(list.wheel)).arrayBuffer());
  const parts = {
    TITLE: title.replaceAll("&", "&amp;").replaceAll("<", "&lt;"),
    // what would end the element; in a Python string it means the same
    PROGRAM: text.replace(/<(?=\/script|!--)/gi, "\\x3c").trimEnd(),
    RUNTIME: list.public,
    OUTLET: (await (await fetched("shared/outlet.js")).text()).replace("export class", "class"),
    WHEEL: base64(wheel),
  };
  return template.replace(/THE (TITLE|PROGRAM|RUNTIME|OUTLET|WHEEL)\b/g, (_, name) => parts[name]);
}

async function fetched(path) {
  const response = await fetch(new URL(path, site));
  if (!response.ok) throw new Error(`${path}: HTTP ${response.status}`);
  return response;
}

function base64(bytes) {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}

/** Makes the page and hands it to the browser as a download; `note(text)` says what became of it. */
export async function download({ name, text }, note) {
  note("Making the page");
  try {
    const title = name.replace(/\.py$/, "");
    const page = new Blob([await ownPage(text, title)], { type: "text/html" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(page);
    link.download = `${title}.html`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    note(`${link.download}, ${(page.size / 1e6).toFixed(1)} MB: open it, or put it on any web server.`);
  } catch (error) {
    note(`The page could not be made: ${error.message}`);
  }
}
