// The worker of load({ worker: true }): that of the demo pages, with an extension that answers the page's calls.

import { bundled } from "../../../demos/shared/worker.js";
import runner from "../../../demos/shared/runner.py";
import session from "../torchlite_worker.py";
import type { Pyodide } from "./python.js";
import { Served, type Asked } from "./served.js";

let served: Served;

const extension = {
  install({ pyodide }: { pyodide: Pyodide }): unknown {
    pyodide.FS.writeFile("/home/pyodide/torchlite_worker.py", session);
    const module = pyodide.pyimport("torchlite_worker") as { namespace(): unknown };
    served = new Served(pyodide, () => module.namespace());
    return module;
  },
  prepare(): void {},
  done(): void {},
  requests: {
    call: { ask: (data: Asked) => served.call(data), needsPython: true },
    release: { ask: (ids: number[]) => served.release(ids), needsPython: false },
  },
};

Object.assign(bundled, { extension, runner });
