// Service worker of the demo pages: serves every file from its cache, the network fills it.
// build.py writes the list of files: path -> hash of its content.

const FILES = {};

const CACHE = "torchlite-demos";
const root = new URL("./", location).href;
// The big runtime is stored when a page first asks for it; all else at once.
const atOnce = Object.keys(FILES).filter((path) => !path.startsWith("runtime/"));
const key = (path) => `${root}${path}?${FILES[path]}`;

async function fetchAndStore(cache, path) {
  const response = await fetch(root + path, { cache: "no-cache" });
  if (response.ok) await cache.put(key(path), response.clone());
  return response;
}

self.addEventListener("install", (event) => {
  const store = async () => {
    const cache = await caches.open(CACHE);
    await Promise.all(
      atOnce.map(async (path) => {
        if (await cache.match(key(path))) return;
        const response = await fetchAndStore(cache, path);
        if (!response.ok) throw new Error(`${path}: HTTP ${response.status}`);
      }),
    );
    await self.skipWaiting();
  };
  event.waitUntil(store());
});

self.addEventListener("activate", (event) => {
  const tidy = async () => {
    const cache = await caches.open(CACHE);
    const wanted = new Set(Object.keys(FILES).map(key));
    for (const request of await cache.keys()) if (!wanted.has(request.url)) await cache.delete(request);
    await self.clients.claim();
  };
  event.waitUntil(tidy());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(root)) return;
  const url = new URL(request.url);
  let path = url.href.slice(root.length, url.href.length - url.search.length - url.hash.length);
  if (path === "" || path.endsWith("/")) path += "index.html";
  if (!(path in FILES)) return;

  const answer = async () => {
    const cache = await caches.open(CACHE);
    const response = (await cache.match(key(path))) ?? (await fetchAndStore(cache, path));
    const plain = request.mode === "navigate" && url.searchParams.get("isolate") === "0";
    return plain ? response : isolated(response);
  };
  event.respondWith(answer());
});

// The headers of a cross-origin isolated page: shared memory, by which Stop reaches Python at once.
function isolated(response) {
  const headers = new Headers(response.headers);
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Embedder-Policy", "require-corp");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
