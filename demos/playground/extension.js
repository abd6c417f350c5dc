// The Playground's part of the worker (see Engine): its Python modules, files that stay over reloads, the packages that
// a script imports, and answers to the page's questions.

const root = new URL("../", import.meta.url);
const PYTHON = "playground/python/"; // in the site
const HOME = "/home/pyodide/";

let pyodide;
let folder;
let post;
let session;
let stays = false; // does the browser keep the folder's files?
let storing = Promise.resolve();

export async function install(given) {
  ({ pyodide, folder, post } = given);
  const { pages } = await (await fetch(new URL("files.json", root))).json();
  const modules = pages.filter((path) => path.startsWith(PYTHON) && path.endsWith(".py"));
  const texts = await Promise.all(modules.map(async (path) => (await fetch(new URL(path, root))).text()));
  pyodide.FS.mkdirTree(`${HOME}playground`);
  modules.forEach((path, index) => pyodide.FS.writeFile(HOME + path.slice(PYTHON.length), texts[index]));
  await restore();
  pyodide.registerJsModule("playground_page", { decode });
  session = pyodide.pyimport("playground.session");
  return session;
}

// --- Files -------------------------------------------------------------------------------------------------------

const sync = (fromStore) =>
  new Promise((resolve, reject) =>
    pyodide.FS.syncfs(fromStore, (error) => (error ? reject(new Error(String(error))) : resolve())),
  );

/** The files of earlier visits; a browser without IndexedDB (some private windows) starts with none. */
async function restore() {
  try {
    pyodide.FS.mount(pyodide.FS.filesystems.IDBFS, {}, folder);
    await sync(true);
    stays = true;
  } catch (error) {
    console.warn("Files are lost when the page is closed:", error);
  }
}

/** Stores the folder, one time after the other: two at once would lose files. */
function store() {
  if (stays) storing = storing.then(() => sync(false)).catch((error) => console.warn("Files were not stored:", error));
  return storing;
}

export function done() {
  store();
  post("files", { files: list() });
}

function list(at = folder) {
  const { FS } = pyodide;
  const found = [];
  for (const name of FS.readdir(at)) {
    if (name === "." || name === ".." || name === "__pycache__") continue;
    const path = `${at}/${name}`;
    const { mode, size } = FS.stat(path);
    if (FS.isDir(mode)) found.push(...list(path));
    else found.push({ name: path.slice(folder.length + 1), size });
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function write({ name, bytes }) {
  const path = inside(name);
  pyodide.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
  pyodide.FS.writeFile(path, new Uint8Array(bytes));
  done();
}

function inside(name) {
  if (!name || name.split("/").some((part) => !part || part === "." || part === "..")) {
    throw new Error(`${name} is no name for a file here`);
  }
  return `${folder}/${name}`;
}

/** [width, height, bytes] of an image file that the browser can read: red, green, blue and alpha of each pixel. */
async function decode(file) {
  const bitmap = await createImageBitmap(new Blob([file.toJs()]));
  const { width, height } = bitmap;
  const canvas = new OffscreenCanvas(width, height);
  const pen = canvas.getContext("2d");
  pen.drawImage(bitmap, 0, 0);
  return [width, height, new Uint8Array(pen.getImageData(0, 0, width, height).data.buffer)];
}

// --- Packages ----------------------------------------------------------------------------------------------------

/** Loads what a script imports; what could not be had is told to Python, which explains the error of the import. */
export async function prepare(source) {
  const missing = JSON.parse(session.missing(source));
  if (!missing.length) return;
  const known = new Map();
  for (const [name, { imports }] of Object.entries(pyodide.lockfile.packages)) {
    for (const module of imports) known.set(module, name);
  }
  const problems = {};
  const ours = missing.filter((name) => known.has(name));
  await load(ours.map((name) => known.get(name)));
  for (const name of JSON.parse(session.missing(ours.map((module) => `import ${module}`).join("\n")))) {
    problems[name] =
      `${name} is one of Pyodide's packages, but it could not be fetched: there is no network, or the server did not ` +
      "answer. Run tries again.";
  }
  const others = missing.filter((module) => !known.has(module));
  if (others.length) await load(["micropip"]);
  for (const name of others) {
    post("packages", { text: `Looking for ${name} on the Python Package Index` });
    const why = await session.fetch(name);
    if (why) problems[name] = why;
  }
  session.remember(JSON.stringify(problems));
  post("packages", { text: "" });
}

/** Packages of Pyodide, with what they need; one that fails is left out. */
async function load(names) {
  if (!names.length) return;
  post("packages", { text: `Loading ${names.join(", ")}` });
  const options = {
    messageCallback: (text) => post("packages", { text }),
    errorCallback: (text) => console.warn(text),
  };
  await pyodide.loadPackage(names, options).catch((error) => console.warn(String(error)));
}

// --- Questions of the page ---------------------------------------------------------------------------------------

export const requests = {
  list: { ask: () => list() },
  write: { ask: write },
  read: { ask: ({ name }) => pyodide.FS.readFile(inside(name)) },
  remove: {
    ask({ name }) {
      pyodide.FS.unlink(inside(name));
      done();
    },
  },
  complete: { needsPython: true, ask: ({ source }) => session.complete(source) },
  members: { needsPython: true, ask: ({ dotted }) => JSON.parse(session.members(dotted)) },
};
