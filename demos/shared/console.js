// The output area: text as it comes, notes, and tracebacks that can be read.
//
// What arrives is drawn once a frame, and the newest LINES lines are kept: a script that prints without end costs the
// page no more than a frame's worth.

const LINES = 4000;
const PIECE = 2000; // characters in one element
const HIDDEN = 250; // ms between two drawings in a hidden tab, which has no frames
const TALL = 40; // lines that a picture or a table counts as

const RETURN = /\r(?!\n)/; // back to the line's beginning

const count = (text) => text.split("\n").length - 1;
const leftOut = (n) => `… ${n.toLocaleString("en")} ${n === 1 ? "line" : "lines"} left out …\n`;

export class Console {
  #element;
  #waiting = []; // {kind, text}
  #pieces = []; // {element, kind, size, lines}, in the order of the document
  #lines = 0;
  #dropped = 0;
  #top = null; // says how many lines were dropped
  #end = "\n"; // the last character
  #frame = 0;
  #form = null;
  #render;
  #keyed = new Map(); // element by key, of what is shown again and again

  /** `render(html)` makes a safe element for show() and hint(). */
  constructor(element, render) {
    this.#element = element;
    this.#render = render;
    let follows = true;
    element.addEventListener("scroll", () => (follows = this.#atEnd));
    new ResizeObserver(() => this.#settle(follows)).observe(element);
  }

  get #atEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#element;
    return scrollHeight - scrollTop - clientHeight < 40;
  }

  clear() {
    this.#form = null;
    this.#waiting = [];
    this.#pieces = [];
    this.#lines = this.#dropped = 0;
    this.#top = null;
    this.#end = "\n";
    this.#keyed.clear();
    this.#element.replaceChildren();
  }

  /** Text of a kind: "out", "err", "note", or "left", a number of lines that were left out. */
  write(text, kind = "out") {
    if (!text) return;
    this.#wait(kind === "left" ? { kind, text: leftOut(Number(text)) } : { kind, text });
  }

  /** HTML between the lines; with a key it takes the place of the last one with that key. */
  show(html, key) {
    if (key) this.#waiting = this.#waiting.filter((item) => item.key !== key);
    this.#wait({ kind: "rich", html, key });
  }

  #wait(item) {
    this.#waiting.push(item);
    if (this.#frame) return;
    const draw = () => {
      this.#frame = 0;
      this.#draw();
    };
    this.#frame = document.hidden ? setTimeout(draw, HIDDEN) : requestAnimationFrame(draw);
  }

  note(text) {
    this.#draw();
    this.write(`${this.#end === "\n" ? "" : "\n"}${text}\n`, "note");
    this.#draw();
  }

  /** A line to type into; `answered` gets the text. It goes away with the next output, note or traceback. */
  ask(answered) {
    this.#draw();
    const form = document.createElement("form");
    const line = document.createElement("input");
    line.setAttribute("aria-label", "Answer for the script");
    line.autocomplete = "off";
    line.spellcheck = false;
    form.className = "ask";
    form.append(line);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = line.value;
      this.write(`${text}\n`, "in");
      this.#draw();
      answered(text);
    });
    this.#form = form;
    this.#element.append(form);
    this.#settle(true);
    line.focus();
  }

  /** The last line, which says what is wrong, stands out. */
  traceback(text) {
    this.#draw();
    const lines = text.trimEnd().split("\n");
    const first = lines.findLastIndex((line) => /^\S/.test(line) && !line.startsWith("Traceback"));
    const piece = this.#add("traceback");
    const said = document.createElement("strong");
    said.append(lines.slice(Math.max(first, 0)).join("\n"));
    piece.element.append(lines.slice(0, Math.max(first, 0)).join("\n"), first > 0 ? "\n" : "", said);
    this.#end = text.at(-1);
    this.#settle(true);
  }

  /** HTML that explains the traceback before it. */
  hint(html) {
    this.#draw();
    this.#add("hint").element.append(this.#render(html));
    this.#settle(true);
  }

  #draw() {
    if (!this.#waiting.length) return;
    const box = this.#element;
    // who scrolled up to read is left there
    const follows = this.#atEnd;
    for (const { kind, text, html, key } of this.#waiting) {
      if (kind === "rich") {
        this.#drawRich(html, key, follows);
        continue;
      }
      const [first, ...lines] = text.split(RETURN);
      this.#append(kind, first);
      for (const line of lines) {
        this.#takeBack(kind);
        this.#append(kind, line);
      }
    }
    this.#end = this.#waiting.at(-1).text?.at(-1) ?? "\n";
    this.#waiting = [];
    let drop = 0;
    while (this.#lines > LINES && drop < this.#pieces.length - 1) {
      const { element, lines } = this.#pieces[drop++];
      element.remove();
      this.#lines -= lines;
      this.#dropped += lines;
    }
    if (drop) {
      this.#pieces.splice(0, drop);
      if (!this.#top) {
        this.#top = document.createElement("span");
        this.#top.className = "left";
        box.prepend(this.#top);
      }
      this.#top.textContent = leftOut(this.#dropped);
    }
    this.#settle(follows);
  }

  #append(kind, text) {
    const last = this.#pieces.at(-1);
    const piece = !this.#form && last?.kind === kind && last.size < PIECE ? last : this.#add(kind);
    piece.element.append(text);
    piece.size += text.length;
    const more = count(text);
    piece.lines += more;
    this.#lines += more;
  }

  /** Takes the line away that has no end yet: progress bars draw it again and again. */
  #takeBack(kind) {
    const last = this.#pieces.at(-1);
    if (last?.kind !== kind) return;
    const text = last.element.textContent;
    const kept = text.slice(0, text.lastIndexOf("\n") + 1);
    last.element.textContent = kept;
    last.size = kept.length;
  }

  #drawRich(html, key, follows) {
    const shown = this.#keyed.get(key);
    if (shown?.isConnected) {
      shown.replaceChildren(this.#render(html));
      return;
    }
    const piece = this.#add("rich");
    piece.element.append(this.#render(html));
    // a picture has its height only when it is decoded
    for (const image of piece.element.querySelectorAll("img")) {
      image.addEventListener("load", () => this.#settle(follows), { once: true });
    }
    [piece.size, piece.lines] = [PIECE, TALL];
    this.#lines += TALL;
    if (key) this.#keyed.set(key, piece.element);
  }

  #add(kind) {
    this.#form?.remove();
    this.#form = null;
    const element = document.createElement("span");
    element.className = kind;
    this.#element.append(element);
    const piece = { element, kind, size: 0, lines: 0 };
    this.#pieces.push(piece);
    return piece;
  }

  #settle(follows) {
    if (follows) this.#element.scrollTop = this.#element.scrollHeight;
  }
}
