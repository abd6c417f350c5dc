// Registers the service worker (sw.js). It keeps every file for visits without a network, and adds the headers that
// make the page cross-origin isolated. The page works without it as well.

const PATIENCE = 5000; // ms to wait for the service worker to take over
const KEPT = "kept over the reload"; // key in sessionStorage

/** Stores what other pages of the site need, once this one has what it needs; not where the visitor saves data. */
export function keepAll() {
  if (!navigator.connection?.saveData) navigator.serviceWorker?.controller?.postMessage("keep all");
}

/** What the page kept when it reloaded itself (see prepareOffline); null at any other start. */
export function keptOverReload() {
  const kept = sessionStorage.getItem(KEPT);
  sessionStorage.removeItem(KEPT);
  return JSON.parse(kept);
}

/** Resolves when downloads may begin: later ones go through the service worker, so nothing is fetched twice.
 * The first visit reloads the page. The visitor may have typed or pressed a button by then: what `keep()` returns
 * (JSON) is there for keptOverReload() afterwards. */
export async function prepareOffline(keep = () => null) {
  if (!("serviceWorker" in navigator) || !isSecureContext) return;
  const container = navigator.serviceWorker;
  try {
    const registration = await container.register(new URL("../sw.js", import.meta.url));
    // An active one that does not control the page: a forced reload, which is to go past it.
    if (!container.controller && !registration.active) {
      await new Promise((resolve) => {
        container.addEventListener("controllerchange", resolve, { once: true });
        setTimeout(resolve, PATIENCE);
      });
    }
  } catch (error) {
    console.warn("No service worker:", error);
    return;
  }
  if (!container.controller || crossOriginIsolated) return;
  // One reload gives the page the headers. `?isolate=0` asks for a page without them; the mark ends a possible circle.
  if (new URLSearchParams(location.search).get("isolate") === "0" || sessionStorage.getItem("isolated")) return;
  sessionStorage.setItem("isolated", "tried");
  sessionStorage.setItem(KEPT, JSON.stringify(keep()));
  location.reload();
  await new Promise(() => {});
}
