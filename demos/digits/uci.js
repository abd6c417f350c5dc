// Turns a drawing into an image as the UCI handwritten digits are: the digit fills a 32x32 bitmap of ink and paper, and
// each pixel of the 8x8 image counts the ink (0..16) in one 4x4 block.

const SIDE = 32;
const WIDTH = 23; // the scanned digits are as tall as the bitmap, but rarely wider than this
const INK = 310; // ink of a scanned digit: much the same for all ten classes

/** `strokes`: lists of [x, y] points in any unit. Returns 64 numbers from 0 to 16, or null for an empty drawing. */
export function toImage(strokes) {
  const points = strokes.flat();
  if (points.length === 0) return null;
  const [left, right] = extent(points.map(([x]) => x));
  const [top, bottom] = extent(points.map(([, y]) => y));

  // A pen has one width on the screen, the scans have one amount of ink: take the pen that comes nearest to it.
  let best = null;
  for (let pen = 2.5; pen <= 9; pen += 0.5) {
    const sy = Math.min((SIDE - pen) / (bottom - top), (3 * (WIDTH - pen)) / (right - left), SIDE * 4);
    const sx = Math.min(sy, (WIDTH - pen) / (right - left));
    const place = ([x, y]) => [SIDE / 2 + (x - (left + right) / 2) * sx, SIDE / 2 + (y - (top + bottom) / 2) * sy];
    const bitmap = rasterize(
      strokes.map((stroke) => stroke.map(place)),
      pen / 2,
    );
    const ink = bitmap.reduce((sum, value) => sum + value, 0);
    if (best === null || Math.abs(ink - INK) < Math.abs(best.ink - INK)) best = { bitmap, ink };
  }
  return countBlocks(best.bitmap);
}

function extent(values) {
  return [Math.min(...values), Math.max(...values)];
}

/** A pixel is ink when its centre is at most `radius` away from a stroke. */
function rasterize(strokes, radius) {
  const bitmap = new Uint8Array(SIDE * SIDE);
  for (const stroke of strokes) {
    stroke.forEach((to, index) => {
      const from = stroke[Math.max(index - 1, 0)];
      const [x0, x1] = extent([from[0], to[0]]).map((value, end) => clamp(value + (end ? radius : -radius)));
      const [y0, y1] = extent([from[1], to[1]]).map((value, end) => clamp(value + (end ? radius : -radius)));
      for (let y = y0; y <= y1; y++) {
        for (let x = x0; x <= x1; x++) {
          if (distance(x + 0.5, y + 0.5, from, to) <= radius) bitmap[y * SIDE + x] = 1;
        }
      }
    });
  }
  return bitmap;
}

const clamp = (value) => Math.max(0, Math.min(SIDE - 1, Math.floor(value)));

function distance(x, y, [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const t = length ? Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / length)) : 0;
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}

function countBlocks(bitmap) {
  const image = new Float32Array(64);
  bitmap.forEach((ink, index) => {
    const [x, y] = [index % SIDE, Math.floor(index / SIDE)];
    image[(y >> 2) * 8 + (x >> 2)] += ink;
  });
  return image;
}
