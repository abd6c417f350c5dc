// What the visitor wrote stays over a reload of the page, in this tab.

/** The text written under a name before the page was reloaded, or null. */
export function written(name) {
  try {
    return sessionStorage.getItem(key(name));
  } catch {
    return null; // storage is off
  }
}

/** Keeps what `text()` returns when the page is left; null is nothing to keep. */
export function keepWritten(name, text) {
  addEventListener("pagehide", () => {
    try {
      const now = text();
      if (now === null) sessionStorage.removeItem(key(name));
      else sessionStorage.setItem(key(name), now);
    } catch {
      // storage is off or full: the page begins anew
    }
  });
}

const key = (name) => `written in ${location.pathname} ${name}`;
