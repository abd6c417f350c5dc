/** A GPU worker's protocol as the Python module torchlite/webgpu/transport/protocol.py has it. */
import {
  CALLS,
  call,
  type CallName,
  DEFAULTS,
  HEAD_BYTES,
  Kind,
  MOST_BYTES,
  MOST_POSTED,
  Word,
} from "../src/api/worker_calls";
import { ReadModeBit, State } from "../src/api/bridge";
import { TEXTS } from "../src/runtime/errors";
import { wrapped } from "./operations";

function literal(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "string") return String(value);
  return value.includes('"') ? `'${value}'` : `"${value}"`;
}

const constants = (table: Readonly<Record<string, number | string>>): string =>
  Object.entries(table)
    .map(([name, value]) => `    ${name} = ${literal(value)}`)
    .join("\n");

const dict = (table: Readonly<Record<string, unknown>>): string =>
  `{\n${Object.entries(table)
    .map(([name, value]) => `    "${name}": ${literal(value)},\n`)
    .join("")}}`;

export function protocolText(): string {
  const names = Object.keys(CALLS) as CallName[];
  const gone = Object.fromEntries(names.filter((n) => "gone" in call(n)).map((n) => [n, call(n).gone]));
  return `"""What Python and a GPU worker say to each other. \`npm run tables\` (js_bridge) writes this from
js_bridge/src/api/worker_calls.ts, which says what each thing is; states, read modes and texts are those of the page's
own bridge (bridge.ts, errors.ts)."""

HEAD_BYTES = ${HEAD_BYTES}


class Word:
${constants(Word)}


class Kind:
${constants(Kind)}


class State:
${constants(State)}


class ReadMode:
${constants(ReadModeBit)}


class Text:
${constants(TEXTS)}


MOST_POSTED = ${MOST_POSTED}
MOST_BYTES = ${MOST_BYTES}
DEFAULTS = ${dict(DEFAULTS)}
CALLS = frozenset(
    """
${wrapped(names)}
""".split()
)
# answered by a message, however long it takes
PROMISED = frozenset("${names.filter((n) => call(n).promise).join(" ")}".split())
# settings, which the next worker gets as well
KEPT = frozenset("${names.filter((n) => call(n).kept).join(" ")}".split())
# answers where the worker has ended
GONE = ${dict(gone)}
`;
}
