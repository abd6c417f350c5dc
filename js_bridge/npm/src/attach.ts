// torchlite_js.py in a Pyodide that has torchlite.

import source from "../torchlite_js.py";
import { Link } from "./link.js";
import { FUNCTIONS, type Pyodide, type Python } from "./python.js";

const FOLDER = "/home/pyodide/torchlite_js";

export function attach(pyodide: Pyodide): Link {
  pyodide.FS.mkdirTree(FOLDER);
  pyodide.FS.writeFile(`${FOLDER}/torchlite_js.py`, source);
  const { path } = pyodide.pyimport("sys") as { path: { append(folder: string): void } };
  path.append(FOLDER);
  const module = pyodide.pyimport("torchlite_js") as Python;
  // the functions themselves: a lookup in Python's module at each call would cost more than the call
  const functions = Object.fromEntries(FUNCTIONS.map((name) => [name, module[name]]));
  return new Link(pyodide, functions as unknown as Python);
}
