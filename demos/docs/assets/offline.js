// Pages of the docs stay readable without a network: those that were opened, the guides, and the search.

const base = new URL("../../", import.meta.url);

async function keep() {
  const container = navigator.serviceWorker;
  const first = !container.controller;
  await container.register(new URL("sw.js", base));
  const { active } = await container.ready;
  const loaded = performance.getEntriesByType("resource").flatMap(({ name }) => files(name));
  const index = new URL("docs/search/search_index.json", base).href;
  if (first) active.postMessage({ keep: [location.href.split("#")[0], index, ...loaded] });
  if (!navigator.connection?.saveData) active.postMessage("keep docs");
}

/** A file that was loaded, and the theme's worker with the search's, which names it after the question mark. */
function files(address) {
  const [file, worker] = address.split("?");
  return file.endsWith("/assets/search.js") ? [file, new URL(`javascripts/workers/${worker}`, file).href] : [file];
}

if ("serviceWorker" in navigator && isSecureContext) keep().catch((error) => console.warn("No service worker:", error));
