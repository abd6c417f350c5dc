/** The core's table of dtypes (TL_DTYPES in native/src/core/tl.h) for the bridge and for the GPU's Python side. */

/** What the kernels compute in, by the core's name of it. */
const COMPUTES: Readonly<Record<string, string>> = { F32: "f32", I32: "i32", I64: "i64" };
const BYTES: Readonly<Record<string, number>> = { uint8_t: 1, int8_t: 1, float: 4 };

interface Row {
  readonly name: string;
  readonly bytes: number;
  readonly compute: string;
}

/** Those that the device computes in, before the first that it does not; their places are their core numbers. */
function rows(header: string): Row[] {
  const all = [...header.matchAll(/^ {2}X\(\w+, (\w+), \w+, "[^"]+", (\w+), (\w+)\)/gm)];
  const here = all.slice(
    0,
    all.findIndex(([, , , compute]) => !(compute! in COMPUTES)),
  );
  return here.map(([, name, type, compute]) => ({
    name: name!,
    bytes: BYTES[type!] ?? Number(/\d+/.exec(type!)![0]) / 8,
    compute: COMPUTES[compute!]!,
  }));
}

export function bridgeDtypes(header: string): string {
  const lines = rows(header).map((r) => `  ${r.name}: { bytes: ${r.bytes}, compute: "${r.compute}" },`);
  return `/**
 * The dtypes on the device, as the core numbers them, and what the kernels compute in: f32, i32, or i64 as
 * vec2<u32>(low, high). \`npm run tables\` writes this from native/src/core/tl.h.
 */
export const DTYPES = {
${lines.join("\n")}
} as const;
`;
}

export function pythonDtypes(header: string): string {
  const lines = rows(header).map((r) => `    "${r.name}": "${r.compute}",`);
  return `DTYPES = {
${lines.join("\n")}
}
`;
}
