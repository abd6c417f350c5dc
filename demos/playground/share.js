// A script in a link: the source, compressed, in the fragment, which no server sees.

const VERSION = "1";

async function through(bytes, transform) {
  const stream = new Blob([bytes]).stream().pipeThrough(transform);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The fragment (without "#") for a script. */
export async function toFragment({ name, text }) {
  const bytes = new TextEncoder().encode(JSON.stringify({ name, text }));
  const packed = await through(bytes, new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return `code${VERSION}=${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** {name, text} from a fragment; null if it has no script. Throws at one that is damaged. */
export async function fromFragment(fragment) {
  const found = fragment.match(/^#?code(\d+)=(.*)$/);
  if (!found) return null;
  if (found[1] !== VERSION) throw new Error("The link is of another version of this page.");
  try {
    const packed = Uint8Array.from(atob(found[2].replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const bytes = await through(packed, new DecompressionStream("deflate-raw"));
    const { name, text } = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof text !== "string" || typeof name !== "string") throw new TypeError("no script");
    return { name, text };
  } catch {
    throw new Error("The link is damaged: it was perhaps cut off where it was copied.");
  }
}
