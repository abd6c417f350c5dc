// The output area: text as it comes, notes, and tracebacks that can be read.

const LIMIT = 4000; // pieces kept

export class Console {
  #element;

  constructor(element) {
    this.#element = element;
  }

  clear() {
    this.#element.replaceChildren();
  }

  write(text, kind = "out") {
    const last = this.#element.lastChild;
    if (last?.className === kind && last.textContent.length < 2000) last.append(text);
    else this.#add("span", kind).append(text);
    this.#settle();
  }

  note(text) {
    this.write(`${this.#atLineStart() ? "" : "\n"}${text}\n`, "note");
  }

  /** The last line, which says what is wrong, stands out. */
  traceback(text) {
    const lines = text.trimEnd().split("\n");
    const first = lines.findLastIndex((line) => /^\S/.test(line) && !line.startsWith("Traceback"));
    const box = this.#add("span", "traceback");
    const said = document.createElement("strong");
    said.append(lines.slice(Math.max(first, 0)).join("\n"));
    box.append(lines.slice(0, Math.max(first, 0)).join("\n"), first > 0 ? "\n" : "", said);
    this.#settle();
  }

  #atLineStart() {
    const text = this.#element.textContent;
    return text === "" || text.endsWith("\n");
  }

  #add(tag, kind) {
    const element = document.createElement(tag);
    element.className = kind;
    this.#element.append(element);
    if (this.#element.childNodes.length > LIMIT) this.#element.firstChild.remove();
    return element;
  }

  #settle() {
    this.#element.scrollTop = this.#element.scrollHeight;
  }
}
