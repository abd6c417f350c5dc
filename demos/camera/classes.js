// The classes of the camera page: names, pictures, thumbnails. Record takes pictures, files and drops bring them.
// A store keeps them for the next visit.

export const SIZE = 224; // pixels of a picture's sides, as the network was trained
const EVERY = 125; // ms between two pictures while Record is held
const HELD = 350; // ms after which a press counts as held

/** The middle of a picture, as large as the network takes it, on a canvas. */
export function square(source, canvas = new OffscreenCanvas(SIZE, SIZE)) {
  const width = source.videoWidth ?? source.width;
  const height = source.videoHeight ?? source.height;
  const side = Math.min(width, height);
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.imageSmoothingQuality = "high";
  pen.drawImage(source, (width - side) / 2, (height - side) / 2, side, side, 0, 0, SIZE, SIZE);
  return canvas;
}

/** Red, green and blue of each pixel. */
export function pixelsOf(canvas) {
  const { data } = canvas.getContext("2d").getImageData(0, 0, SIZE, SIZE);
  const bytes = new Uint8Array(3 * SIZE * SIZE);
  for (let from = 0, to = 0; from < data.length; from += 4, to += 3) {
    bytes[to] = data[from];
    bytes[to + 1] = data[from + 1];
    bytes[to + 2] = data[from + 2];
  }
  return bytes;
}

/** pixelsOf() the other way round. */
function canvasOf(pixels) {
  const image = new ImageData(SIZE, SIZE);
  for (let from = 0, to = 0; from < pixels.length; from += 3, to += 4) {
    image.data.set(pixels.subarray(from, from + 3), to);
    image.data[to + 3] = 255;
  }
  const canvas = new OffscreenCanvas(SIZE, SIZE);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

export class Classes extends EventTarget {
  #list;
  #take;
  #store;
  #all = [];
  #made = 0;

  /** `list`: the element that shows them. `take()`: a canvas with what the camera sees, or null. `store`: a Store,
   * `kept`: what it has. "say" events have something to tell the visitor, "count" events that pictures came or went. */
  constructor(list, take, store, kept) {
    super();
    this.#list = list;
    this.#take = take;
    this.#store = store;
    for (const { number, name, pictures } of kept) {
      this.#made = number - 1;
      const entry = this.#make(name);
      entry.kept = true;
      for (const { key, pixels } of pictures) this.#show(entry, canvasOf(pixels), pixels, Promise.resolve(key));
    }
    while (this.#all.length < 2) this.#make();
  }

  clear() {
    this.#all = [];
    this.#made = 0;
    this.#list.replaceChildren();
    this.#store.clear();
    this.add();
    this.add();
  }

  /** How many pictures there are. */
  get count() {
    return this.#all.reduce((sum, { pictures }) => sum + pictures.length, 0);
  }

  /** Those that have pictures, as {name, pictures}; two of the same name get numbers. */
  get filled() {
    const used = new Set();
    return this.#all
      .filter(({ pictures }) => pictures.length)
      .map(({ input, pictures }) => {
        const called = input.value.trim() || input.placeholder;
        let name = called;
        for (let number = 2; used.has(name); number++) name = `${called} ${number}`;
        used.add(name);
        return { name, pictures };
      });
  }

  /** One more class, empty; returns the field of its name. */
  add() {
    return this.#make().input;
  }

  #make(name = "") {
    const number = ++this.#made;
    const item = document.createElement("li");
    item.innerHTML = `<div class="row"><input type="text" maxlength="40" aria-label="Name of class ${number}"
      placeholder="Class ${number}"><button type="button" class="record">Record</button>
      <button type="button" class="files">Files</button><button type="button" class="remove">Delete</button>
      <input type="file" accept="image/*" multiple hidden></div><p class="soft count" role="status"></p>
      <div class="thumbs" role="group" aria-label="Pictures of class ${number}"></div>`;
    const find = (selector) => item.querySelector(selector);
    const entry = { number, input: find("input"), item, pictures: [], thumbs: find(".thumbs"), count: find(".count") };
    entry.input.value = name;
    const named = () => entry.input.value.trim() || entry.input.placeholder;
    for (const [name, word] of Object.entries({ record: "Record", files: "Files for", remove: "Delete" })) {
      const label = () => find(`.${name}`).setAttribute("aria-label", `${word} ${named()}`);
      entry.input.addEventListener("input", label);
      label();
    }
    entry.input.addEventListener("input", () => this.#keep(entry));
    this.#records(find(".record"), entry);
    const file = find("input[type=file]");
    find(".files").addEventListener("click", () => file.click());
    file.addEventListener("change", () => {
      this.#read(entry, [...file.files]);
      file.value = "";
    });
    find(".remove").addEventListener("click", () => this.#remove(entry));
    item.addEventListener("dragover", (event) => {
      event.preventDefault();
      item.classList.add("over");
    });
    item.addEventListener("dragleave", () => item.classList.remove("over"));
    item.addEventListener("drop", (event) => {
      event.preventDefault();
      item.classList.remove("over");
      this.#read(entry, event.dataTransfer.files);
    });
    this.#all.push(entry);
    this.#list.append(item);
    this.#count(entry);
    return entry;
  }

  /** Keeps the class: once it has a picture or a name, and again under each new name. */
  #keep(entry) {
    entry.kept = true;
    this.#store.name(entry.number, entry.input.value);
  }

  #remove(entry) {
    this.#store.remove(entry.number);
    const index = this.#all.indexOf(entry);
    this.#all.splice(index, 1);
    entry.item.remove();
    const next = this.#all[index] ?? this.#all.at(-1);
    (next ? next.item.querySelector(".remove") : this.add()).focus();
    this.dispatchEvent(new CustomEvent("count"));
  }

  /** One picture at a press, one after the other while it is held. */
  #records(button, entry) {
    let timer;
    const take = () => {
      const canvas = this.#take();
      if (canvas) this.#put(entry, canvas);
      else this.#say("Start the camera first, or take pictures from files.");
      return canvas;
    };
    const end = () => {
      clearTimeout(timer);
      button.classList.remove("on");
    };
    const more = () => {
      if (take()) timer = setTimeout(more, EVERY);
      else end();
    };
    button.addEventListener("click", (event) => {
      // after a held press the pictures are there
      if (event.detail === 0 || !button.dataset.held) take();
    });
    button.addEventListener("pointerdown", (event) => {
      delete button.dataset.held;
      if (event.button) return;
      timer = setTimeout(() => {
        button.dataset.held = "yes";
        button.classList.add("on");
        more();
      }, HELD);
    });
    for (const kind of ["pointerup", "pointercancel", "pointerleave"]) button.addEventListener(kind, end);
    button.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  async #read(entry, files) {
    for (const file of files) {
      try {
        const image = await createImageBitmap(file);
        this.#put(entry, square(image));
        image.close();
      } catch {
        this.#say(`${file.name} is no picture that this browser reads.`);
      }
    }
  }

  #put(entry, canvas) {
    const pixels = pixelsOf(canvas);
    if (!entry.kept) this.#keep(entry);
    this.#show(entry, canvas, pixels, this.#store.add(entry.number, pixels));
  }

  #show(entry, canvas, pixels, key) {
    const thumb = document.createElement("button");
    const small = document.createElement("canvas");
    small.width = small.height = 112;
    small.getContext("2d").drawImage(canvas, 0, 0, 112, 112);
    thumb.type = "button";
    thumb.append(small);
    thumb.addEventListener("click", () => {
      const next = thumb.nextElementSibling ?? thumb.previousElementSibling;
      entry.pictures.splice(entry.pictures.indexOf(pixels), 1);
      thumb.remove();
      key.then((kept) => kept && this.#store.forget(kept));
      this.#count(entry);
      (next ?? entry.input).focus();
    });
    entry.pictures.push(pixels);
    entry.thumbs.append(thumb);
    entry.thumbs.scrollTop = entry.thumbs.scrollHeight;
    this.#count(entry);
  }

  #count({ pictures, thumbs, count }) {
    count.textContent = `${pictures.length} ${pictures.length === 1 ? "picture" : "pictures"}`;
    [...thumbs.children].forEach((thumb, index) => thumb.setAttribute("aria-label", `Remove picture ${index + 1}`));
    this.dispatchEvent(new CustomEvent("count"));
  }

  #say(text) {
    this.dispatchEvent(new CustomEvent("say", { detail: text }));
  }
}
