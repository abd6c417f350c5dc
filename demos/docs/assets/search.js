// The worker of the docs' search: the theme's own, whose answers are put in another order before the page gets them.
//
// The theme ranks by words, and names are made of common ones: each page has the first two of torch.nn.Linear. So
// * an entry of the reference whose name was typed comes first, and is what Enter opens;
// * a hit counts by the share of the words that it has. Of several words a page's rank (hooks.py) counts twice.
//
// hooks.py makes the pages start this worker, and names the theme's in the address. The index itself has the entries.

const RANK = 4; // of a guide, and of an entry that is named among other words
const PARTS = "reference/aten.html"; // parts of other ops, which few look for

const entries = new Map(); // by key: what the index has of them
const keys = new Map(); // by address
const send = self.postMessage.bind(self);
let query = ""; // the theme answers one before it reads the next

addEventListener("message", ({ data: { type, data } }) => {
  if (type === 0) data.docs.forEach(learn);
  if (type === 2) query = data.trim().replace(/["'`]|\(.*$/g, "");
});
self.postMessage = (answer) => {
  if (answer.type === 3) answer.data.items = ordered(answer.data.items);
  send(answer);
};
try {
  importScripts(`javascripts/workers/${location.search.slice(1)}`);
} catch {
  console.warn("No search: its script did not load, or the page was left meanwhile.");
  close();
}

/** What the ways to write a name have in common: cross_entropy and "Cross entropy", add and add_. */
function keyOf(name) {
  return lastPart(name).toLowerCase().replace(/[_\s]/g, "");
}

function lastPart(name) {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** Keeps a section of the index that is an entry of the reference: its anchor is its title. */
function learn(section) {
  const [page, name] = section.location.split("#");
  if (!page.startsWith("reference/") || name !== section.title) return;
  const key = keyOf(name);
  entries.set(key, [...(entries.get(key) ?? []), section]);
  if (page !== PARTS) keys.set(section.location, key);
}

/** The entries that a name, or the end of one, may mean: the same letters first, then in the reference's order. */
function named(name) {
  const alike = (entries.get(keyOf(name)) ?? []).map((entry) => ({ entry, how: likeness(entry.title, name) }));
  const exact = alike.filter(({ how }) => how < 2);
  const found = (exact.length ? exact : alike).sort((a, b) => a.how - b.how).map(({ entry }) => entry);
  const notParts = found.filter(({ location }) => !location.startsWith(PARTS));
  return notParts.length ? notParts : found;
}

function likeness(title, name) {
  const whole = `.torch.${title}`;
  if (whole.endsWith(`.${name}`)) return 0;
  if (whole.toLowerCase().endsWith(`.${name.toLowerCase()}`)) return 1;
  return lastPart(title) === lastPart(name) ? 2 : 3; // 2: F.relu, x.reshape, where the program says what is first
}

/** The keys of all that stands in a text: of its words, and of words that follow each other. */
function keysIn(words) {
  return new Set(
    words.flatMap((_, start) => words.slice(start).map((_, n) => keyOf(words.slice(start, start + n + 1).join("")))),
  );
}

/** The theme's results, a list of hits for each page, in another order and with scores that fit it. */
function ordered(pages) {
  const words = query.split(/\s+/);
  const inText = words.length > 1 ? keysIn(words) : new Set();
  const scored = (hit) => {
    const had = Object.values(hit.terms);
    const share = had.filter(Boolean).length / Math.max(had.length, 1);
    const rank = words.length > 1 ? (hit.boost ?? 1) : 1;
    const weight = inText.has(keys.get(hit.location)) ? RANK : rank * share ** 2;
    return { ...hit, score: hit.score * weight };
  };
  const best = named(query);
  const places = new Set(best.map(({ location }) => location));
  const others = pages
    .map((hits) => hits.filter(({ location }) => !places.has(location)).map(scored))
    .filter((hits) => hits.some(({ score }) => score > 0)) // else the page stood there for what is now above
    .map((hits) => hits.sort((a, b) => b.score - a.score))
    .sort(([a], [b]) => b.score - a.score);
  const top = others.length ? others[0][0].score : 0;
  return [...best.map((entry, i) => [shown(entry, top + best.length - i)]), ...others];
}

/** An entry as a result of its own; the term is what the theme marks on the page. */
function shown(entry, score) {
  return { ...entry, title: `<mark>${entry.title}</mark>`, terms: { [lastPart(entry.title)]: true }, score };
}
