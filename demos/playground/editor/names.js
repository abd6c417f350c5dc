// What a dotted name in a script stands for: by the script's imports and simple assignments, the table of torch's names
// (names.json, made by names.py), and, for the rest, Python itself.

const IMPORT = /^[ \t]*import[ \t]+(.+)$/gm;
const FROM = /^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(?:\(([^)]*)\)|(.+))$/gm;
const ASSIGN = /^[ \t]*(\w+)[ \t]*(?::[ \t]*[\w.]+[ \t]*)?=[ \t]*([\w.]+)\(/gm;
const CLASS = /^class[ \t]+(\w+)\(([\w.]+)\)/gm;
const METHODS_THAT_RETURN_THEMSELVES = new Set(["to", "cpu", "cuda", "float", "double", "half", "train", "eval"]);

export const KEYWORDS = (
  "False None True and as assert async await break class continue def del elif else except finally for from global " +
  "if import in is lambda nonlocal not or pass raise return try while with yield"
).split(" ");
export const BUILTINS = (
  "abs all any bool bytes dict dir display enumerate filter float format getattr hasattr hash help id input int " +
  "isinstance issubclass iter len list map max min next object open pow print property range repr reversed round set " +
  "setattr slice sorted staticmethod str sum super tuple type vars zip"
).split(" ");

export class Names {
  #table = {};
  #members;
  #bound = new Map(); // name in the script: path, e.g. "torch.nn"
  #text = "";

  constructor(table, members) {
    table.then((found) => (this.#table = found)).catch((error) => console.warn("No names to complete:", error));
    this.#members = members;
  }

  /** [name, kind, signature, doc] of what stands behind a dotted prefix in the text; "" is the script itself. */
  async of(prefix, text) {
    this.#read(text);
    if (!prefix) return this.#own();
    const table = this.#table[this.#path(prefix)];
    if (table) return Object.entries(table).map(([name, entry]) => [name, ...entry]);
    return (await this.#members(prefix)).map((name) => [name, "", "", ""]);
  }

  /** [kind, signature, doc] of a dotted name; undefined if it is not known. */
  entry(dotted, text) {
    this.#read(text);
    const path = this.#path(dotted);
    const cut = path.lastIndexOf(".");
    return this.#table[path.slice(0, cut)]?.[path.slice(cut + 1)];
  }

  #own() {
    const own = [...this.#bound].map(([name, path]) => [name, this.#table[path] ? "m" : "v", "", ""]);
    const words = [...new Set(this.#text.match(/\b[A-Za-z_]\w{2,}\b/g))].filter((word) => !this.#bound.has(word));
    return [
      ...own,
      ...words.map((word) => [word, "", "", ""]),
      ...KEYWORDS.map((word) => [word, "k", "", ""]),
      ...BUILTINS.map((word) => [word, "f", "", ""]),
    ];
  }

  /** The full path of a dotted name: "F.relu" is "torch.nn.functional.relu", "x.view" is "torch.Tensor.view". */
  #path(dotted) {
    const [first, ...rest] = dotted.split(".");
    let path = this.#bound.get(first) ?? first;
    for (const part of rest) {
      const entry = this.#table[path]?.[part];
      // a method's result, a property's value
      const next = `${path}.${part}`;
      path = entry?.[0] === "v" && /^Tensor\b/.test(entry[1]) ? "torch.Tensor" : next;
    }
    return path;
  }

  #read(text) {
    if (text === this.#text) return;
    this.#text = text;
    const bound = (this.#bound = new Map([["self", "torch.nn.Module"]]));
    for (const [, list] of text.matchAll(IMPORT)) {
      for (const part of list.replace(/#.*/, "").split(",")) {
        const [path, as] = part.trim().split(/\s+as\s+/);
        if (as) bound.set(as, path);
        else if (path) bound.set(path.split(".")[0], path.split(".")[0]);
      }
    }
    for (const [, module, inner, line] of text.matchAll(FROM)) {
      for (const part of (inner ?? line).replace(/#.*/gm, "").split(",")) {
        const [name, as] = part.trim().split(/\s+as\s+/);
        if (name && name !== "*") bound.set(as ?? name, `${module}.${name}`);
      }
    }
    for (const [, name, base] of text.matchAll(CLASS)) {
      if (this.#path(base).startsWith("torch.nn.")) bound.set(name, "torch.nn.Module");
    }
    for (const [, name, called] of text.matchAll(ASSIGN)) {
      const made = this.#made(called);
      if (made && !bound.has(name)) bound.set(name, made);
    }
  }

  /** What a call returns, as far as it is told: "torch.Tensor", a class of the table, or undefined. */
  #made(called) {
    if (this.#bound.get(called) === "torch.nn.Module") return "torch.nn.Module";
    const cut = called.lastIndexOf(".");
    const owner = cut > 0 ? this.#path(called.slice(0, cut)) : "";
    if (METHODS_THAT_RETURN_THEMSELVES.has(called.slice(cut + 1)) && this.#table[owner]) return owner;
    const path = this.#path(called);
    const [kind, signature] = this.#table[owner]?.[called.slice(cut + 1)] ?? this.entryOf(path) ?? [];
    if (kind === "f" && signature.endsWith("-> Tensor")) return "torch.Tensor";
    if (kind !== "c") return undefined;
    if (path.startsWith("torch.nn.")) return "torch.nn.Module";
    if (path.startsWith("torch.optim.") && !path.includes("lr_scheduler")) return "torch.optim.Optimizer";
    return undefined;
  }

  entryOf(path) {
    const cut = path.lastIndexOf(".");
    return this.#table[path.slice(0, cut)]?.[path.slice(cut + 1)];
  }
}
