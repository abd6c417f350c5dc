// What `torch` has in JavaScript only, or in another form than in Python.

import { handleOf, Slice, Tuple } from "./convert.js";
import { readFile } from "./files.js";
import type { Link } from "./link.js";
import { settled } from "./memory.js";

/** Context managers that take a function in JavaScript: `torch.no_grad(() => ...)`. */
const CONTEXTS = ["no_grad", "enable_grad", "inference_mode"];

export function ownNames(link: Link): object {
  const known = new Map<string, unknown>();
  /** What Python's torch has by a name. */
  const python = (name: string): unknown => {
    if (!known.has(name)) known.set(name, link.decode(link.python.get(handleOf(link.torch)!, name)));
    return known.get(name);
  };
  // the managers themselves: of one that only its handle is kept of, the collector would let Python's go
  const open: { manager: unknown; done: boolean }[] = [];
  const leave = (manager: unknown): void => void link.call(handleOf(manager)!, "__exit__", [null, null, null]);
  const within = (manager: unknown, work: () => unknown): unknown => {
    const handle = handleOf(manager);
    if (handle === undefined) throw new TypeError("torch.within() takes a context manager of Python's, and a function");
    link.call(handle, "__enter__", []);
    const entered = { manager, done: false };
    open.push(entered);
    return settled(work, () => {
      entered.done = true;
      // each puts back what it found, so one that was entered later, by another async function, is left first
      while (open.at(-1)?.done) leave(open.pop()!.manager);
    });
  };
  const contexts = CONTEXTS.map((name) => {
    const enter = (...args: unknown[]): unknown => {
      const manager = python(name) as (...args: unknown[]) => unknown;
      const work = args.at(-1);
      if (typeof work !== "function" || handleOf(work) !== undefined) return manager(...args);
      return within(manager(...args.slice(0, -1)), work as () => unknown);
    };
    return [name, enter];
  });
  return {
    ...Object.fromEntries(contexts),
    Tensor: link.Tensor,
    within,
    tensor: (...args: unknown[]) => {
      const [data] = args;
      const rows = Array.isArray(data) && data.length && data.every((row) => ArrayBuffer.isView(row));
      const isArray = rows || ArrayBuffer.isView(data) || data instanceof ArrayBuffer;
      if (!isArray) return (python("tensor") as (...args: unknown[]) => unknown)(...args);
      const { spec, values } = link.encoder.arguments(args);
      return link.decode(link.python.tensor(spec, ...values));
    },
    scope: <T>(work: () => T): T => link.memory.scope(work),
    keep: <T>(value: T): T => {
      link.memory.keep(value);
      return value;
    },
    tuple: (...items: unknown[]) => new Tuple(items),
    memory: () => link.memory.usage,
    slice: (start?: number | null, stop?: number | null, step?: number | null) => new Slice(start, stop, step),
    load: async (source: unknown, ...options: unknown[]) => {
      const { spec, values } = link.encoder.arguments(options);
      return link.decode(link.python.load_file(await readFile(source), spec, ...values));
    },
    save: (value: unknown) => {
      const { spec, values } = link.encoder.one(value);
      return link.bytes(link.python.save_file(spec, ...values));
    },
    run: async (source: string | URL) => {
      const isFile = source instanceof URL || /^[^\n]+\.py$/.test(source);
      const code = isFile ? new TextDecoder().decode(await readFile(source)) : source;
      return link.decode(link.python.run(code, isFile ? String(source) : "script.py"));
    },
  };
}
