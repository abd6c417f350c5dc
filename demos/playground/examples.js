// The menu of examples: ordinary PyTorch scripts, listed in examples/menu.json (build.py puts the files beside it).

const $ = (id) => document.getElementById(id);

export function setUpExamples({ open, before, shown }) {
  const menu = fetch("examples/menu.json").then((response) => response.json());

  async function get(name) {
    const response = await fetch(`examples/${name}.py`);
    if (!response.ok) throw new Error(`examples/${name}.py: HTTP ${response.status}`);
    return { name: `${name}.py`, text: await response.text() };
  }

  function entry(title, said, action) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    const small = document.createElement("small");
    small.textContent = said;
    button.append(title, small);
    button.addEventListener("click", async () => {
      open(await action());
      $("examples-dialog").close();
      shown();
    });
    item.append(button);
    return item;
  }

  function group(title, entries) {
    const part = document.createElement("section");
    const head = document.createElement("h3");
    head.textContent = title;
    const list = document.createElement("ul");
    list.append(...entries);
    part.append(head, list);
    return part;
  }

  async function list() {
    const parts = (await menu).map(({ group: title, scripts }) =>
      group(
        title,
        scripts.map(({ name, title: called, about }) => entry(called, about, () => get(name))),
      ),
    );
    const yours = [
      entry("Empty script", "To begin with nothing", () => ({ name: "script.py", text: "import torch\n\n" })),
    ];
    const old = before();
    if (old) yours.push(entry("The script before", `${old.name}, as you left it`, () => old));
    $("examples-list").replaceChildren(group("Yours", yours), ...parts);
    $("examples-filter").value = "";
    filter();
  }

  function filter() {
    const wanted = $("examples-filter").value.trim().toLowerCase();
    for (const part of $("examples-list").children) {
      for (const item of part.querySelectorAll("li")) {
        item.hidden = !item.textContent.toLowerCase().includes(wanted);
      }
      part.hidden = !part.querySelector("li:not([hidden])");
    }
  }

  $("examples").addEventListener("click", async () => {
    await list();
    $("examples-dialog").showModal();
    $("examples-filter").focus();
  });
  $("examples-filter").addEventListener("input", filter);
  return { get };
}
