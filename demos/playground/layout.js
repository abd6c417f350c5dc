// The page's parts: tabs on a phone, a line between the columns to drag, and dialogs.

import { keepSetting, setting } from "./draft.js";

const TABS = ["editor", "output", "files"];
const NARROW = matchMedia("(max-width: 800px)"); // as in playground.css
const STEP = 4; // per cent that an arrow key moves the line

const $ = (id) => document.getElementById(id);

/** Brings a part to the front, where only one is seen. */
export function showTab(name) {
  document.body.dataset.tab = name;
  for (const tab of TABS) {
    $(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
    $(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
  }
}

export function setUpTabs() {
  const panels = () => {
    for (const tab of TABS) {
      if (NARROW.matches) $(`panel-${tab}`).setAttribute("role", "tabpanel");
      else $(`panel-${tab}`).removeAttribute("role");
    }
  };
  NARROW.addEventListener("change", panels);
  panels();
  TABS.forEach((name, index) => {
    $(`tab-${name}`).addEventListener("click", () => showTab(name));
    $(`tab-${name}`).addEventListener("keydown", ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (!step) return;
      const next = TABS[(index + step + TABS.length) % TABS.length];
      showTab(next);
      $(`tab-${next}`).focus();
    });
  });
}

export function setUpSplitter(line, board) {
  const put = (share) => {
    const value = Math.min(80, Math.max(20, Math.round(share)));
    board.style.setProperty("--split", `${value}%`);
    line.setAttribute("aria-valuenow", String(value));
    keepSetting("split", value);
  };
  const now = () => Number(line.getAttribute("aria-valuenow"));
  put(setting("split") ?? 50);
  line.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: now() - STEP, ArrowRight: now() + STEP, Home: 20, End: 80 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    put(to);
  });
  line.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    line.setPointerCapture(event.pointerId);
    const move = ({ clientX }) => {
      const { left, width } = board.getBoundingClientRect();
      put(((clientX - left) / width) * 100);
    };
    line.addEventListener("pointermove", move);
    line.addEventListener("lostpointercapture", () => line.removeEventListener("pointermove", move), { once: true });
  });
}

/** Dialogs close by their button and by a click beside them (Esc is the browser's). */
export function closable(...dialogs) {
  for (const dialog of dialogs) {
    dialog.addEventListener("click", ({ target }) => {
      if (target === dialog || target.closest("[data-close]")) dialog.close();
    });
  }
}
