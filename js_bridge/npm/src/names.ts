// What `torch` has in JavaScript only, or in another form than in Python.

import { handleOf, Slice } from "./convert.js";
import { readFile } from "./files.js";
import type { Link } from "./link.js";
import { settled, type Held } from "./memory.js";

/** Context managers that take a function in JavaScript: `torch.no_grad(() => ...)`. */
const CONTEXTS = ["no_grad", "enable_grad", "inference_mode"];

export function ownNames(link: Link): object {
  const known = new Map<string, unknown>();
  /** What Python's torch has by a name. */
  const python = (name: string): unknown => {
    if (!known.has(name)) known.set(name, link.decode(link.python.get(handleOf(link.torch)!, name)));
    return known.get(name);
  };
  const within = (manager: unknown, work: () => unknown): unknown => {
    const handle = handleOf(manager);
    if (handle === undefined) throw new TypeError("torch.within() takes a context manager of Python's, and a function");
    link.call(handle, "__enter__", []);
    return settled(work, () => void link.call(handle, "__exit__", [null, null, null]));
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
      const isArray = ArrayBuffer.isView(data) || data instanceof ArrayBuffer;
      if (!isArray) return (python("tensor") as (...args: unknown[]) => unknown)(...args);
      const { spec, values } = link.encoder.arguments(args);
      return link.decode(link.python.tensor(spec, ...values));
    },
    scope: <T>(work: () => T): T => link.memory.scope(work),
    keep: <T extends Held>(tensor: T): T => {
      link.memory.keep(tensor);
      return tensor;
    },
    memory: () => link.memory.usage,
    slice: (start?: number | null, stop?: number | null, step?: number | null) => new Slice(start, stop, step),
    load: async (source: unknown) => link.decode(link.python.load_file(await readFile(source))),
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
