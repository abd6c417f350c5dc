// Service worker of the demo pages. Two kinds of files:
// * pages, scripts, styles: from the network, and from the cache where there is none;
// * runtime/...: Python and the wheel, large, under names that change with their content: from the cache, once stored.
// build.py writes the lists of both to files.json.

const CACHE = "torchlite-demos";
const LIST = "files.json";
const WEIGHTS = "weights/list.json";
const PATIENCE = 4000; // ms after which a slow network counts as none

const root = new URL("./", location).href;
const storing = new Map(); // what is on its way into the cache, by address

self.addEventListener("install", (event) => {
  const store = async () => {
    const cache = await caches.open(CACHE);
    const list = await (await fetch(root + LIST, { cache: "no-cache" })).json();
    await cache.addAll(list.pages.map((path) => new Request(root + path, { cache: "no-cache" })));
  };
  event.waitUntil(store());
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || !url.href.startsWith(root)) return;
  const plain = request.mode === "navigate" && url.searchParams.get("isolate") === "0";
  url.search = url.hash = "";
  if (url.href.endsWith("/")) url.pathname += "index.html";
  const path = url.href.slice(root.length);
  // torch.hub keeps them itself, and asks for parts of them; what there is to get is a page's matter
  if (path.startsWith("weights/") && path !== WEIGHTS) return;
  let answer = path.startsWith("runtime/") ? fromCache(event, url.href) : fromNetwork(event, url.href);
  if (request.mode === "navigate") answer = answer.catch(notKept);
  // Runtime files need no headers, and as they were stored they keep the code that the browser compiled of them.
  event.respondWith(plain || path.startsWith("runtime/") ? answer : answer.then(isolated));
});

// A page that has everything it needs asks for the rest, so that the others open without a network, too.
self.addEventListener("message", (event) => {
  if (event.data.keep) {
    // What a page had fetched before this worker was there.
    const mine = event.data.keep.filter((url) => url.startsWith(root));
    event.waitUntil(Promise.all(mine.map((url) => fetchAndStore(event, url))).catch(() => {}));
  }
  const what = { "keep all": ["runtime", "docs"], "keep docs": ["docs"] }[event.data] ?? [];
  if (!what.length) return;
  const keep = async () => {
    const list = await (await fromNetwork(event, root + LIST)).json();
    for (const kind of what) for (const path of list[kind]) await fromCache(event, root + path);
  };
  event.waitUntil(keep().catch(() => {})); // without a network there is nothing to keep
});

async function fetchAndStore(event, url) {
  const response = await fetch(url, { cache: "no-cache" });
  if (response.ok) {
    const cache = await caches.open(CACHE);
    if (url === root + LIST) await tidy(cache, await response.clone().json());
    // While the page already reads it; a full disk is no reason to fail.
    const put = cache
      .put(url, response.clone())
      .catch(() => {})
      .finally(() => storing.delete(url));
    storing.set(url, put);
    event.waitUntil(put);
  }
  return response;
}

async function fromCache(event, url) {
  await storing.get(url);
  return (await caches.match(url)) ?? fetchAndStore(event, url);
}

async function fromNetwork(event, url) {
  const fetched = fetchAndStore(event, url);
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE));
  const response = await Promise.race([fetched, late]).catch(() => undefined);
  return response ?? (await caches.match(url)) ?? fetched;
}

/** In place of a page that is not stored, where there is no network. */
function notKept() {
  const text =
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Not there without a network</title>` +
    `<meta name="viewport" content="width=device-width, initial-scale=1">` +
    `<link rel="stylesheet" href="${root}style.css">` +
    `<body style="padding: 2em"><h1>This page is not there without a network</h1><p>The browser keeps the demos, the ` +
    `guides and every page that was opened. <a href="${root}index.html">The demos</a> are there.</p></body></html>`;
  return new Response(text, { status: 503, headers: { "Content-Type": "text/html; charset=utf-8" } });
}

/** Drops the runtime files that the newest list does not name any more. */
async function tidy(cache, { runtime }) {
  const wanted = new Set(runtime.map((path) => root + path));
  for (const { url } of await cache.keys()) {
    if (url.startsWith(`${root}runtime/`) && !wanted.has(url)) await cache.delete(url);
  }
}

// The headers of a cross-origin isolated page: shared memory, by which Stop reaches Python at once.
function isolated(response) {
  const headers = new Headers(response.headers);
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Embedder-Policy", "require-corp");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
