// The worker's side of printing. Python may print faster than a page can draw. So the worker collects what is printed,
// and neither the page's queue nor its document grows without bound.
//
// The first BURST pieces go out at once and whole: one sees an ordinary script's lines while it works. Beyond that rate
// pieces wait until PAUSE has passed since the last message, or until the caller flushes. Up to SPARE characters may
// wait, so a script that prints much at once is still shown whole. Of printing that goes on and on, a message keeps
// about ROOM characters: the oldest and the newest lines, with a note of what is left out between them.

const BURST = 100; // pieces that may go out at once
const RATE = 0.5; // more of them, per ms
const PIECE = 1000; // characters; a longer text counts as several pieces
const PAUSE = 16; // ms between two messages beyond that
const ROOM = 8000; // characters kept between two messages whatever came before; at either end half of them
const SPARE = 400_000; // more characters that may be kept after a time of quiet
const REGAIN = 100; // characters of SPARE that come back, per ms

const lines = (text) => text.split("\n").length - 1;

export class Outlet {
  #post;
  #now;
  #held = []; // {stream, text}, neighbours of one stream together
  #size = 0;
  #tokens = BURST;
  #spare = SPARE;
  #refilled = 0; // when tokens were added
  #last = 0; // when something was sent

  /** `post(stream, text)` sends; `now()` is the time in ms. */
  constructor(post, now = () => performance.now()) {
    this.#post = post;
    this.#now = now;
  }

  write(text, stream) {
    const last = this.#held.at(-1);
    if (last?.stream === stream) last.text += text;
    else this.#held.push({ stream, text });
    this.#size += text.length;
    const now = this.#now();
    const passed = now - this.#refilled;
    this.#tokens = Math.min(BURST, this.#tokens + passed * RATE);
    this.#spare = Math.min(SPARE, this.#spare + passed * REGAIN);
    this.#refilled = now;
    if (this.#tokens >= 1) {
      this.#tokens -= Math.max(1, text.length / PIECE);
    } else {
      // at twice the room, so that a text is not cut anew at each write
      const room = ROOM + this.#spare;
      if (this.#size > 2 * room) this.#shorten(room);
      if (now - this.#last < PAUSE) return;
    }
    this.flush();
  }

  /** Sends what is held back. */
  flush() {
    if (!this.#held.length) return;
    const held = this.#held;
    this.#held = [];
    this.#spare = Math.max(0, this.#spare - this.#size);
    this.#size = 0;
    this.#last = this.#now();
    for (const { stream, text, left } of held) {
      if (left) this.#post("left", String(left));
      else this.#post(stream, text);
    }
  }

  /** Keeps whole lines at both ends; how many are left out stands between them. */
  #shorten(size) {
    const half = size / 2;
    const head = [];
    const tail = [];
    let left = 0;
    let room = half;
    const rest = this.#held;
    while (rest.length && room > 0) {
      const piece = rest.shift();
      if (piece.left) {
        rest.unshift(piece);
        break;
      }
      const end = piece.text.length <= room ? piece.text.length : piece.text.lastIndexOf("\n", room) + 1;
      if (end) head.push({ stream: piece.stream, text: piece.text.slice(0, end) });
      room -= piece.text.length;
      if (end < piece.text.length) rest.unshift({ stream: piece.stream, text: piece.text.slice(end) });
    }
    room = half;
    while (rest.length && room > 0) {
      const piece = rest.pop();
      if (piece.left) {
        rest.push(piece);
        break;
      }
      const cut = piece.text.length - room;
      const start = cut <= 0 ? 0 : piece.text.indexOf("\n", cut) + 1 || cut;
      tail.unshift({ stream: piece.stream, text: piece.text.slice(start) });
      room -= piece.text.length;
      if (start) rest.push({ stream: piece.stream, text: piece.text.slice(0, start) });
    }
    for (const piece of rest) left += piece.left ?? Math.max(1, lines(piece.text));
    this.#held = [...head, ...(left ? [{ stream: "left", text: "", left }] : []), ...tail];
    this.#size = this.#held.reduce((sum, { text }) => sum + text.length, 0);
  }
}
