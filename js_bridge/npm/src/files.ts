// Files by address, as bytes, or as what the page got of its visitor.

import { importModule } from "./import.js";

/** The bytes of a file: by address, of a Response or a Blob, or bytes that are there already. */
export async function readFile(
  source: unknown,
  { signal, progress }: { signal?: AbortSignal | undefined; progress?: (loaded: number, total: number) => void } = {},
): Promise<Uint8Array> {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (source instanceof Blob) return new Uint8Array(await source.arrayBuffer());
  if (source instanceof Response) return readResponse(source, progress);
  if (typeof source !== "string" && !(source instanceof URL)) {
    throw new TypeError("a file is a URL, a Response, a Blob, a Uint8Array or an ArrayBuffer");
  }
  const url = absolute(source);
  if (url.protocol === "file:") {
    const { readFile: read } = (await importModule("node:fs/promises")) as {
      readFile(url: URL): Promise<Uint8Array>;
    };
    const bytes = new Uint8Array(await read(url));
    progress?.(bytes.length, bytes.length);
    return bytes;
  }
  const response = await fetch(url, signal ? { signal } : {});
  if (!response.ok) throw new Error(`${url.href}: HTTP ${response.status}`);
  return readResponse(response, progress);
}

/** An address relative to the page; in node to the current folder. */
export function absolute(source: string | URL): URL {
  const { location, process } = globalThis as { location?: { href: string }; process?: { cwd(): string } };
  if (source instanceof URL) return source;
  return new URL(source, location?.href ?? `file://${process?.cwd() ?? ""}/`);
}

async function readResponse(
  response: Response,
  progress?: (loaded: number, total: number) => void,
): Promise<Uint8Array> {
  const total = Number(response.headers.get("content-length") ?? 0);
  if (!progress || !response.body) return new Uint8Array(await response.arrayBuffer());
  const parts: Uint8Array[] = [];
  let loaded = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    loaded += value.length;
    progress(loaded, Math.max(total, loaded));
  }
  const bytes = new Uint8Array(loaded);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
