// What is written is kept in the browser: the script at each pause, and with a link or an example the one before it.

const KEY = "playground";
const PAUSE = 300; // ms

const read = (key) => {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null; // storage is off, or the text is not ours
  }
};

const write = (key, value) => {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
};

/** {name, text} of the last visit, or null. */
export const kept = () => read(`${KEY}.draft`);
/** The script that an example or a link took the place of, or null. */
export const before = () => read(`${KEY}.before`);
export const keepBefore = (script) => write(`${KEY}.before`, script);
/** Small choices, e.g. the width of the editor. */
export const setting = (name) => read(`${KEY}.${name}`);
export const keepSetting = (name, value) => write(`${KEY}.${name}`, value);

/** Keeps what `script()` returns after each change() and when the page is left; `shown(kept)` may tell. */
export function autosave(script, shown = () => {}) {
  let timer = 0;
  const save = () => {
    clearTimeout(timer);
    timer = 0;
    shown(write(`${KEY}.draft`, script()));
  };
  addEventListener("pagehide", () => timer && save());
  document.addEventListener("visibilitychange", () => document.hidden && timer && save());
  return {
    change() {
      clearTimeout(timer);
      timer = setTimeout(save, PAUSE);
    },
    save,
  };
}
