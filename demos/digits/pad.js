// The drawing area: mouse, finger, pen or keys make strokes of [x, y] points between 0 and 1.

const STEP = 0.04; // how far an arrow key moves the pen

export class Pad extends EventTarget {
  strokes = [];
  #canvas;
  #pointer = null; // id of the pointer that draws
  #cursor = null; // the pen of the keyboard: {x, y, down}

  constructor(canvas) {
    super();
    this.#canvas = canvas;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => this.#up(event));
    canvas.addEventListener("keydown", (event) => this.#key(event));
    canvas.addEventListener("blur", () => this.#lift());
    new ResizeObserver(() => this.#draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  clear() {
    this.strokes = [];
    this.#lift();
    this.#changed();
  }

  #point(event) {
    const box = this.#canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  }

  #down(event) {
    if (this.#pointer !== null || event.button > 0) return;
    this.#lift();
    this.#pointer = event.pointerId;
    this.#canvas.setPointerCapture(event.pointerId);
    this.strokes.push([this.#point(event)]);
    this.#changed();
  }

  #move(event) {
    if (event.pointerId !== this.#pointer) return;
    // The positions between two frames, too: fast strokes stay round.
    const events = event.getCoalescedEvents?.() ?? [];
    for (const part of events.length ? events : [event]) this.strokes.at(-1).push(this.#point(part));
    this.#changed();
  }

  #up(event) {
    if (event.pointerId === this.#pointer) this.#pointer = null;
  }

  #key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const move = moves[event.key];
    if (!move && event.key !== " ") return;
    event.preventDefault();
    this.#cursor ??= { x: 0.5, y: 0.5, down: false };
    const pen = this.#cursor;
    if (move) {
      pen.x = Math.min(Math.max(pen.x + move[0] * STEP, 0.04), 0.96);
      pen.y = Math.min(Math.max(pen.y + move[1] * STEP, 0.04), 0.96);
      if (pen.down) this.strokes.at(-1).push([pen.x, pen.y]);
    } else {
      pen.down = !pen.down;
      if (pen.down) this.strokes.push([[pen.x, pen.y]]);
    }
    this.#changed();
  }

  #lift() {
    this.#cursor = null;
    this.#draw();
  }

  #changed() {
    this.#draw();
    this.dispatchEvent(new Event("change"));
  }

  #draw() {
    const canvas = this.#canvas;
    const side = Math.round(canvas.clientWidth * (devicePixelRatio || 1));
    if (!side) return;
    canvas.width = canvas.height = side;
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    pen.strokeStyle = pen.fillStyle = style.getPropertyValue("--text");
    pen.lineWidth = side * 0.075;
    pen.lineCap = pen.lineJoin = "round";
    for (const stroke of this.strokes) {
      pen.beginPath();
      pen.moveTo(stroke[0][0] * side, stroke[0][1] * side);
      for (const [x, y] of stroke) pen.lineTo(x * side, y * side);
      pen.stroke();
    }
    if (this.#cursor) {
      const { x, y, down } = this.#cursor;
      pen.strokeStyle = style.getPropertyValue("--accent");
      pen.lineWidth = side * 0.012;
      pen.beginPath();
      pen.arc(x * side, y * side, side * (down ? 0.03 : 0.05), 0, 7);
      pen.stroke();
    }
  }
}
