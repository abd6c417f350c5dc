// Pitches over time, on lines for the notes.

const MARGIN = { left: 34, right: 10, top: 10, bottom: 20 };
const WHITE = new Set([0, 2, 4, 5, 7, 9, 11]); // the notes of C major

/** The note of a pitch in Hz as a number, 60 for the C in the middle; between two notes, a fraction. */
export const numberOf = (pitch) => 69 + 12 * Math.log2(pitch / 440);
const NAMES = ["C", "C♯", "D", "D♯", "E", "F", "F♯", "G", "G♯", "A", "A♯", "B"];
export const nameOf = (number) => `${NAMES[((number % 12) + 12) % 12]}${Math.floor(number / 12) - 1}`;

export class Staff {
  #canvas;
  #planned = 0;
  #points = []; // [seconds, note or null where there is none]
  #from = 0;
  #to = 1;

  constructor(canvas) {
    this.#canvas = canvas;
    new ResizeObserver(() => this.#plan()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#plan());
  }

  /** Shows these points, between two times in seconds. */
  show(points, from, to) {
    [this.#points, this.#from, this.#to] = [points, from, to];
    this.#plan();
  }

  #plan() {
    this.#planned ||= requestAnimationFrame(() => {
      this.#planned = 0;
      this.#draw();
    });
  }

  #draw() {
    const canvas = this.#canvas;
    const scale = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width) return;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(name).trim();
    pen.font = `11px ${style.fontFamily}`;

    const notes = this.#points.map(([, note]) => note).filter((note) => note !== null);
    const low = Math.floor(Math.min(57, ...notes)) - 1;
    const high = Math.ceil(Math.max(72, ...notes)) + 1;
    const px = (x) => MARGIN.left + ((x - this.#from) / (this.#to - this.#from)) * (width - MARGIN.left - MARGIN.right);
    const py = (note) => height - MARGIN.bottom - ((note - low) / (high - low)) * (height - MARGIN.top - MARGIN.bottom);

    pen.textBaseline = "middle";
    pen.textAlign = "right";
    // where many octaves are shown, only the Cs have a line
    const many = high - low > 30;
    for (let note = low; note <= high; note++) {
      if (many ? note % 12 : !WHITE.has(note % 12)) continue;
      pen.strokeStyle = colour("--line");
      pen.lineWidth = note % 12 ? 1 : 2;
      pen.beginPath();
      pen.moveTo(MARGIN.left, py(note));
      pen.lineTo(width - MARGIN.right, py(note));
      pen.stroke();
      pen.fillStyle = colour("--soft");
      pen.fillText(nameOf(note), MARGIN.left - 6, py(note));
    }
    pen.textBaseline = "alphabetic";
    pen.fillText(`${this.#to.toFixed(1)} s`, width - MARGIN.right, height - 5);
    pen.textAlign = "left";
    pen.fillText(`${this.#from.toFixed(1)} s`, MARGIN.left, height - 5);

    pen.strokeStyle = colour("--accent");
    pen.lineWidth = 3;
    pen.lineJoin = pen.lineCap = "round";
    pen.beginPath();
    let drawing = false;
    for (const [x, note] of this.#points) {
      if (note !== null) pen[drawing ? "lineTo" : "moveTo"](px(x), py(note));
      drawing = note !== null;
    }
    pen.stroke();
    const from = notes.length ? `, between ${nameOf(Math.round(Math.min(...notes)))} and ` : "";
    const label = from ? `Pitches${from}${nameOf(Math.round(Math.max(...notes)))}` : "Nothing heard yet";
    canvas.setAttribute("aria-label", label);
  }
}
