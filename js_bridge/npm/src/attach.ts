// The Python package torchlite_js in a Pyodide that has torchlite.

import args from "../torchlite_js/arguments.py";
import calls from "../torchlite_js/calls.py";
import classes from "../torchlite_js/classes.py";
import data from "../torchlite_js/data.py";
import held from "../torchlite_js/held.py";
import init from "../torchlite_js/__init__.py";
import values from "../torchlite_js/values.py";
import { Link } from "./link.js";
import { FUNCTIONS, type Pyodide, type Python } from "./python.js";

const FOLDER = "/home/pyodide/npm";
const FILES = { __init__: init, arguments: args, calls, classes, data, held, values };

export function attach(pyodide: Pyodide): Link {
  pyodide.FS.mkdirTree(`${FOLDER}/torchlite_js`);
  for (const [name, text] of Object.entries(FILES)) pyodide.FS.writeFile(`${FOLDER}/torchlite_js/${name}.py`, text);
  const { path } = pyodide.pyimport("sys") as { path: { append(folder: string): void } };
  path.append(FOLDER);
  const module = pyodide.pyimport("torchlite_js") as Python;
  // the functions themselves: a lookup in Python's module at each call would cost more than the call
  const functions = Object.fromEntries(FUNCTIONS.map((name) => [name, module[name]]));
  return new Link(pyodide, functions as unknown as Python);
}
