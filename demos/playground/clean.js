// HTML that a script made, without what could act in the page: only elements, attributes and addresses named here stay.

const ELEMENTS = new Set(
  (
    "a abbr b blockquote br caption code col colgroup dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 " +
    "h5 h6 hr i img ins kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr " +
    "tt u ul var svg g path line rect circle ellipse polyline polygon text tspan title desc"
  ).split(" "),
);
const ATTRIBUTES = new Set(
  (
    "alt align aria-hidden aria-label border class colspan cx cy d dir fill fill-opacity font-size font-weight " +
    "height lang open opacity points r role rowspan rx ry scope src stroke stroke-dasharray stroke-linecap stroke-linejoin " +
    "stroke-opacity stroke-width style text-anchor title transform valign viewbox width x x1 x2 y y1 y2 href"
  ).split(" "),
);
// gone with their content
const EMPTY = new Set("script style template iframe object embed noscript title head textarea select".split(" "));
const SVG = "http://www.w3.org/2000/svg";
const IMAGE = /^data:image\/(png|jpeg|gif|webp|bmp|avif|svg\+xml)[;,]/i;

/** A <div> with what is allowed of the HTML. */
export function clean(html) {
  const parsed = new DOMParser().parseFromString(String(html), "text/html");
  const root = document.createElement("div");
  copy(parsed.body, root);
  return root;
}

function copy(from, to) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) to.append(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE) continue;
    const name = node.localName;
    const drawing = node.namespaceURI === SVG;
    if (EMPTY.has(name) && !(drawing && name === "title")) continue;
    if (!ELEMENTS.has(name)) {
      copy(node, to); // only the element goes
      continue;
    }
    const element = drawing ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const { name: key, value } of node.attributes) {
      if (ATTRIBUTES.has(key.toLowerCase()) && allowed(name, key, value)) element.setAttribute(key, value);
    }
    if (name === "a") {
      element.rel = "noopener noreferrer";
      element.target = "_blank";
    }
    copy(node, element);
    to.append(element);
  }
}

function allowed(element, key, value) {
  if (key === "src") return element === "img" && IMAGE.test(value);
  if (key === "href") return element === "a" && /^(https?:|mailto:|#)/i.test(value.trim());
  // an address in a style would tell a server; `position: fixed` is held back by the style sheet
  if (key === "style") return !/url\s*\(|expression|@import|\\/i.test(value);
  return !/url\s*\(/i.test(value);
}
