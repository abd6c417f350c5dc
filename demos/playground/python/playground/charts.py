"""Curves, points and bars as SVG, drawn in the page's colours: enough where matplotlib is not to be had."""

import html
import math

from .display import emit

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 30, 40
POINTS = 600  # of a curve; more are thinned out
SERIES = 8  # colours in the page's style sheet


def numbers(values):
    """A flat list of floats from a tensor, an array, a list or an iterator."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().reshape(-1)
    if hasattr(values, "tolist"):
        values = values.tolist()
    return [float(v) for v in values]


def plot(*data, title="", x_label="", y_label="", log=False, key=None):
    """Curves: plot(y), plot(x, y) or plot({"name": y, ...}); log=True for a logarithmic y axis."""
    if len(data) == 1 and isinstance(data[0], dict):
        named = [(str(name), None, numbers(y)) for name, y in data[0].items()]
    elif len(data) == 1:
        named = [("", None, numbers(data[0]))]
    elif len(data) == 2:
        named = [("", numbers(data[0]), numbers(data[1]))]
    else:
        raise TypeError(f"plot() takes y, or x and y, or a dict of curves, but {len(data)} arguments were given")
    curves = []
    for name, x, y in named:
        x = list(range(len(y))) if x is None else x
        if len(x) != len(y):
            raise ValueError(f"plot(): x has {len(x)} values and y has {len(y)}")
        points = [(a, b) for a, b in zip(x, y) if math.isfinite(a) and math.isfinite(b) and (b > 0 or not log)]
        curves.append((name, thin(points)))
    frame = Frame([p for _, points in curves for p in points], log=log)
    parts = []
    for index, (_, points) in enumerate(curves):
        path = " ".join(f"{frame.x(a):.1f},{frame.y(b):.1f}" for a, b in points)
        shape = f'<polyline points="{path}"></polyline>' if len(points) > 1 else frame.dots(points, 3)
        parts.append(f'<g class="series s{index % SERIES}">{shape}</g>')
    emit(frame.svg("".join(parts), title, x_label, y_label, [name for name, _ in curves]), key)


def scatter(x, y=None, color=None, title="", x_label="", y_label="", key=None):
    """Points; `color` has an integer class for each."""
    if y is None:
        flat = x.detach().cpu().tolist() if hasattr(x, "detach") else [list(row) for row in x]
        x, y = [row[0] for row in flat], [row[1] for row in flat]
    x, y = numbers(x), numbers(y)
    classes = [int(c) for c in numbers(color)] if color is not None else [0] * len(x)
    if not len(x) == len(y) == len(classes):
        raise ValueError(f"scatter(): x has {len(x)} values, y has {len(y)} and color {len(classes)}")
    points = [(a, b, c) for a, b, c in zip(x, y, classes) if math.isfinite(a) and math.isfinite(b)][:4000]
    frame = Frame([(a, b) for a, b, _ in points])
    kinds = sorted({c for *_, c in points})
    parts = [
        f'<g class="points s{i % SERIES}">{frame.dots([(a, b) for a, b, k in points if k == c], 2.5)}</g>'
        for i, c in enumerate(kinds)
    ]
    names = [str(c) for c in kinds] if color is not None else []
    emit(frame.svg("".join(parts), title, x_label, y_label, names), key)


def bars(values, labels=None, title="", y_label="", key=None):
    values = numbers(values)
    labels = [str(label) for label in labels] if labels is not None else [str(i) for i in range(len(values))]
    if len(labels) != len(values):
        raise ValueError(f"bars(): {len(values)} values and {len(labels)} labels")
    shown = [v if math.isfinite(v) else 0.0 for v in values]
    frame = Frame([(i - 0.5 + half, v) for i, v in enumerate([*shown, 0.0]) for half in (0, 1)][:-1] or [], zero=True)
    wide = max(1.0, (frame.x(1) - frame.x(0)) * 0.8)
    parts = []
    for i, v in enumerate(shown):
        top, bottom = sorted((frame.y(v), frame.y(0)))
        parts.append(
            f'<rect x="{frame.x(i) - wide / 2:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{bottom - top:.1f}">'
            f"<title>{html.escape(labels[i])}: {values[i]:.4g}</title></rect>"
        )
    ticks = [(i, label) for i, label in enumerate(labels)]
    step = math.ceil(len(ticks) / 12) or 1
    emit(frame.svg(f'<g class="fill">{"".join(parts)}</g>', title, "", y_label, [], ticks[::step]), key)


def thin(points):
    """At most POINTS of them; of each stretch the lowest and the highest are kept, so that peaks stay."""
    if len(points) <= POINTS:
        return points
    size = math.ceil(len(points) / (POINTS // 2))
    kept = []
    for start in range(0, len(points), size):
        part = points[start : start + size]
        ends = {id(p): p for p in (min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1]))}
        kept += [p for p in part if id(p) in ends]
    return kept


class Frame:
    """The axes around some points."""

    def __init__(self, points, log=False, zero=False):
        xs, ys = [p[0] for p in points] or [0, 1], [p[1] for p in points] or [1, 2]
        self.log = log
        if zero:
            ys = [*ys, 0.0]
        ys = [math.log10(v) for v in ys] if log else ys
        self.x_low, self.x_high = _wide(min(xs), max(xs), 0)
        self.y_low, self.y_high = _wide(min(ys), max(ys), 0.04)

    def x(self, value):
        return LEFT + (value - self.x_low) / (self.x_high - self.x_low) * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        value = math.log10(value) if self.log else value
        return TOP + (self.y_high - value) / (self.y_high - self.y_low) * (HEIGHT - TOP - BOTTOM)

    def dots(self, points, radius):
        return "".join(f'<circle cx="{self.x(a):.1f}" cy="{self.y(b):.1f}" r="{radius}"></circle>' for a, b in points)

    def svg(self, body, title, x_label, y_label, names, x_ticks=None):
        lines = []
        for value in nice(self.y_low, self.y_high, 5):
            shown = 10**value if self.log else value
            height = self.y(shown)
            lines.append(
                f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}"></line>'
                f'<text x="{LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{label(shown)}</text>'
            )
        for value, text in x_ticks or [(v, label(v)) for v in nice(self.x_low, self.x_high, 6)]:
            lines.append(
                f'<text x="{self.x(value):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
                f"{html.escape(text)}</text>"
            )
        if x_label:
            lines.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 6}" text-anchor="middle">{html.escape(x_label)}</text>')
        if y_label:
            lines.append(
                f'<text transform="translate(12 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">'
                f"{html.escape(y_label)}</text>"
            )
        names = [name for name in names if name]
        legend = "".join(
            f'<span class="s{i % SERIES}"><i></i>{html.escape(name)}</span>' for i, name in enumerate(names)
        )
        said = html.escape(", ".join([title or "Chart", *names]), quote=True)
        head = f'<text class="title" x="{LEFT}" y="18">{html.escape(title)}</text>' if title else ""
        return (
            f'<figure class="chart"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}">{head}'
            f'<g class="grid">{"".join(lines)}</g>{body}</svg><div class="legend">{legend}</div></figure>'
        )


def _wide(low, high, margin):
    room = (high - low) * margin or (0 if high > low else max(abs(low) * 0.1, 0.5))
    return low - room, high + room


def nice(low, high, count):
    """Round numbers between two values."""
    raw = (high - low) / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= raw)
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step) + 1)]


def label(value):
    return f"{value:.4g}" if abs(value) > 1e-12 else "0"
