// A small line plot on a canvas: one series of dots or a line, an optional smoothed line, axes that fit the values.

const MARGIN = { left: 40, right: 10, top: 8, bottom: 20 };

export class Plot {
  #canvas;
  #options;
  #points = [];
  #smooth = [];
  #planned = 0;

  /** options: label, format(value), min, max (fixed ends of the y axis), log, dots, smooth, xMin */
  constructor(canvas, options) {
    this.#canvas = canvas;
    this.#options = options;
    new ResizeObserver(() => this.#plan()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#plan());
  }

  clear() {
    this.#points = [];
    this.#smooth = [];
    this.#options.xMax = undefined;
    this.#plan();
  }

  /** The last x value to expect, where it is known. */
  set xMax(value) {
    this.#options.xMax = value;
    this.#plan();
  }

  add(x, y) {
    if (!Number.isFinite(y)) return;
    this.#points.push([x, y]);
    // The first values are averaged evenly, so that the smoothed line does not hang on to the very first.
    const keep = Math.min(this.#options.smooth ?? 0, 1 - 1 / this.#points.length);
    const last = this.#smooth.at(-1)?.[1] ?? y;
    this.#smooth.push([x, keep * last + (1 - keep) * y]);
    this.#plan();
  }

  /** How much of the smoothed line's old value each new one keeps (0..1). */
  set smooth(keep) {
    this.#options.smooth = keep;
  }

  /** The newest value, smoothed where the plot smooths. */
  get latest() {
    return this.#smooth.at(-1)?.[1];
  }

  #plan() {
    this.#planned ||= requestAnimationFrame(() => {
      this.#planned = 0;
      this.#draw();
    });
  }

  #draw() {
    const { label, format } = this.#options;
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

    const axis = this.#yAxis();
    const xs = this.#points.map(([x]) => x);
    const xLow = this.#options.xMin ?? xs[0] ?? 0;
    const xHigh = Math.max(this.#options.xMax ?? xLow + 1, xs.at(-1) ?? 0);
    const px = (x) => MARGIN.left + ((x - xLow) / (xHigh - xLow || 1)) * (width - MARGIN.left - MARGIN.right);
    const py = (y) => height - MARGIN.bottom - axis.at(y) * (height - MARGIN.top - MARGIN.bottom);

    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const tick of axis.ticks) {
      pen.strokeStyle = colour("--line");
      pen.beginPath();
      pen.moveTo(MARGIN.left, Math.round(py(tick)) + 0.5);
      pen.lineTo(width - MARGIN.right, Math.round(py(tick)) + 0.5);
      pen.stroke();
      pen.fillStyle = colour("--soft");
      pen.fillText(format(tick), MARGIN.left - 6, py(tick));
    }
    pen.textBaseline = "alphabetic";
    if (xs.length) {
      pen.textAlign = "left";
      pen.fillText(String(xLow), MARGIN.left, height - 5);
      pen.textAlign = "right";
      pen.fillText(String(xHigh), width - MARGIN.right, height - 5);
    }

    const line = (points, stroke, thickness) => {
      pen.strokeStyle = stroke;
      pen.lineWidth = thickness;
      pen.lineJoin = "round";
      pen.beginPath();
      points.forEach(([x, y], index) => pen[index ? "lineTo" : "moveTo"](px(x), py(y)));
      pen.stroke();
    };
    if (this.#options.smooth) {
      pen.globalAlpha = 0.3;
      line(this.#points, colour("--accent"), 1);
      pen.globalAlpha = 1;
    }
    line(this.#smooth, colour("--accent"), 2);
    if (this.#options.dots) {
      pen.fillStyle = colour("--accent");
      for (const [x, y] of this.#points) {
        pen.beginPath();
        pen.arc(px(x), py(y), 3, 0, 7);
        pen.fill();
      }
    }
    const latest = this.#points.length ? `${format(this.latest)} after ${xs.at(-1)}` : "no values yet";
    canvas.setAttribute("aria-label", `${label}: ${latest}`);
  }

  /** Tick values, and where a value lies between the axis' ends (0..1). */
  #yAxis() {
    const values = this.#points.map(([, y]) => y);
    let low = this.#options.min ?? Math.min(...values);
    let high = this.#options.max ?? Math.max(...values);
    if (!values.length && this.#options.min === undefined) [low, high] = [0.01, 3];
    if (this.#options.log && low > 0) {
      const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
      const end = Math.max(to, from + 1);
      const ticks = Array.from({ length: end - from + 1 }, (_, index) => 10 ** (from + index));
      return { ticks, at: (y) => (Math.log10(Math.max(y, 10 ** from)) - from) / (end - from) };
    }
    if (high === low) [low, high] = [low - 1, high + 1];
    const step = niceStep((high - low) / 4);
    low = this.#options.min ?? Math.floor(low / step) * step;
    high = this.#options.max ?? Math.ceil(high / step) * step;
    const ticks = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, index) => low + index * step);
    return { ticks, at: (y) => (y - low) / (high - low) };
  }
}

/** 1, 2, 2.5 or 5 times a power of ten, at least as large as `raw`. */
function niceStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw * 0.999) * power;
}
