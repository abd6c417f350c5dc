// Registers the service worker (sw.js). It keeps every file for visits without a network, and adds the headers that
// make the page cross-origin isolated. The page works without it as well.

const PATIENCE = 5000; // ms to wait for the service worker to take over

/** Stores what other pages of the site need, once this one has what it needs; not where the visitor saves data. */
export function keepAll() {
  if (!navigator.connection?.saveData) navigator.serviceWorker?.controller?.postMessage("keep all");
}

/** Resolves when downloads may begin: later ones go through the service worker, so nothing is fetched twice. */
export async function prepareOffline() {
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
  location.reload();
  await new Promise(() => {});
}
