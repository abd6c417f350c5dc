// The classes and pictures of the camera page, in this browser's IndexedDB: they are there at the next visit.
// Where the browser keeps nothing (storage is off, or full), every function still works and `kept` is false. A "kept"
// event comes whenever `kept` or `saving` has changed.

const NAME = "torchlite camera";

const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

export class Store extends EventTarget {
  /** Whether everything so far was kept. */
  kept = true;
  /** How many changes are not written yet: a page that is left now may lose them. */
  saving = 0;
  #opened;

  constructor() {
    super();
    this.#opened = new Promise((resolve, reject) => {
      const request = indexedDB.open(NAME, 1);
      request.onupgradeneeded = () => {
        request.result.createObjectStore("classes", { keyPath: "number" });
        request.result.createObjectStore("pictures", { autoIncrement: true }).createIndex("number", "number");
      };
      done(request).then(resolve, reject);
    });
  }

  /** [{number, name, pictures: [{key, pixels}]}] of the last visits, by number. */
  async all() {
    const found = await this.#use("readonly", async (classes, pictures) => {
      const [list, keys, values] = await Promise.all([
        done(classes.getAll()),
        done(pictures.getAllKeys()),
        done(pictures.getAll()),
      ]);
      const all = values.map(({ number, pixels }, index) => ({ number, key: keys[index], pixels }));
      return list.map((kept) => ({ ...kept, pictures: all.filter(({ number }) => number === kept.number) }));
    });
    return found ?? [];
  }

  /** Keeps a class; also under its new name. */
  name(number, name) {
    return this.#use("readwrite", (classes) => done(classes.put({ number, name })));
  }

  /** Keeps a picture of a class that has been named; resolves to its key, for forget(). */
  add(number, pixels) {
    return this.#use("readwrite", (_, pictures) => done(pictures.add({ number, pixels })));
  }

  forget(key) {
    return this.#use("readwrite", (_, pictures) => done(pictures.delete(key)));
  }

  /** Deletes a class with its pictures. */
  remove(number) {
    return this.#use("readwrite", async (classes, pictures) => {
      await done(classes.delete(number));
      const keys = await done(pictures.index("number").getAllKeys(number));
      await Promise.all(keys.map((key) => done(pictures.delete(key))));
    });
  }

  clear() {
    return this.#use("readwrite", (classes, pictures) => Promise.all([done(classes.clear()), done(pictures.clear())]));
  }

  async #use(mode, action) {
    this.#saves(mode === "readonly" ? 0 : 1);
    try {
      const transaction = (await this.#opened).transaction(["classes", "pictures"], mode);
      const ended = new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = () => reject(transaction.error); // a full disk shows here
      });
      const result = await action(transaction.objectStore("classes"), transaction.objectStore("pictures"));
      await ended;
      return result;
    } catch (error) {
      console.warn(`Not kept in this browser: ${error?.message}`);
      this.kept = false;
      return undefined;
    } finally {
      this.#saves(mode === "readonly" ? 0 : -1);
    }
  }

  #saves(change) {
    this.saving += change;
    this.dispatchEvent(new CustomEvent("kept"));
  }
}
