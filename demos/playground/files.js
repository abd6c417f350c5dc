// The Files panel: what lies beside the script. Upload, download, delete, and files dropped onto the page.

import { fromNotebook } from "./cells.js";

const HOW = {
  // how a script reads what was dropped
  pt: (name) => `torch.load("${name}")`,
  pth: (name) => `torch.load("${name}")`,
  safetensors: (name) => `safetensors.torch.load_file("${name}")`,
  csv: (name) => `csv.reader(open("${name}"))`,
  json: (name) => `json.load(open("${name}"))`,
  txt: (name) => `open("${name}").read()`,
};
for (const kind of ["png", "jpg", "jpeg", "webp", "gif", "bmp"]) {
  HOW[kind] = (name) => `playground.read_image("${name}")`;
}

const $ = (id) => document.getElementById(id);
const ending = (name) => name.slice(name.lastIndexOf(".") + 1).toLowerCase();

function sizeText(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function setUpFiles(engine, { open, shown, opened }) {
  const say = (text) => ($("files-note").textContent = text);

  function show({ files, stays }) {
    $("files-lost").hidden = stays;
    $("file-count").textContent = files.length ? `(${files.length})` : "";
    $("files").replaceChildren(...files.map(row));
  }

  function row({ name, size }) {
    const item = document.createElement("li");
    const label = document.createElement("span");
    label.className = "file";
    label.textContent = name;
    const amount = document.createElement("span");
    amount.className = "soft";
    amount.textContent = sizeText(size);
    item.append(label, amount);
    const button = (text, action) => {
      const made = document.createElement("button");
      made.type = "button";
      made.className = "small";
      made.textContent = text;
      made.setAttribute("aria-label", `${text} ${name}`);
      made.addEventListener("click", () => action().catch((error) => say(error.message)));
      item.append(made);
    };
    if (["py", "ipynb"].includes(ending(name))) button("Open", () => openFile(name, read(name)));
    button("Download", () => download(name));
    button("Delete", () => remove(name));
    return item;
  }

  const read = (name) => engine.request("read", { name });

  async function write(name, bytes) {
    await engine.start();
    await engine.request("write", { name, bytes }, [bytes.buffer]);
  }

  async function openFile(name, bytes) {
    const text = new TextDecoder().decode(await bytes);
    if (text.includes("\0")) throw new Error(`${name} is no text.`);
    if (ending(name) === "ipynb") open({ name: name.replace(/\.ipynb$/i, ".py"), text: fromNotebook(text) });
    else open({ name, text });
    opened();
  }

  async function download(name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await read(name)]));
    link.download = name.split("/").at(-1);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  async function remove(name) {
    if (!confirm(`Delete ${name}?`)) return;
    await engine.request("remove", { name });
    say(`${name} is deleted.`);
  }

  /** Files from outside: scripts and notebooks are opened, the rest lies in the script's folder. */
  async function take(list) {
    const told = [];
    for (const file of list) {
      const name = file.name.replaceAll("/", "_");
      try {
        const bytes = new Uint8Array(await file.arrayBuffer());
        if (["py", "ipynb"].includes(ending(name)) && list.length === 1) {
          await openFile(name, bytes);
          told.push(`${name} is in the editor.`);
        } else {
          await write(name, bytes);
          const how = HOW[ending(name)];
          told.push(how ? `${name}: ${how(name)}` : `${name} is in the script's folder.`);
          shown();
        }
      } catch (error) {
        told.push(`${name}: ${error.message}`);
      }
    }
    say(told.join("  "));
  }

  engine.addEventListener("files", ({ detail }) => show(detail));
  engine.addEventListener("state", () => {
    if (engine.state === "ready") engine.request("list").then(show, () => {});
  });
  $("upload").addEventListener("click", () => $("upload-input").click());
  $("upload-input").addEventListener("change", async ({ target }) => {
    await take([...target.files]);
    target.value = "";
  });
  setUpDrop(take);
  return { write, take };
}

function setUpDrop(take) {
  let inside = 0; // elements that the pointer with files is in
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const overlay = (on) => ($("drop").hidden = !on);
  addEventListener("dragenter", (event) => hasFiles(event) && overlay(++inside > 0));
  addEventListener("dragleave", (event) => hasFiles(event) && overlay((inside = Math.max(0, inside - 1)) > 0));
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  // before the editor, which would take the file's text
  addEventListener(
    "drop",
    (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      event.stopPropagation();
      overlay(false);
      inside = 0;
      take([...event.dataTransfer.files]);
    },
    true,
  );
}
