// What the Playground's modules return, as JSON, for test_playground_js.py.

import * as cells from "../../demos/playground/cells.js";
import * as calls from "../../demos/playground/editor/calls.js";
import { Names } from "../../demos/playground/editor/names.js";
import * as share from "../../demos/playground/share.js";
import { reader } from "../../demos/shared/printed.js";

const out = {};
out.cells = ["", "a\nb", "# %%\na\n#%% two\nb\n", "x\n# %%\ny", "\n\n# %%\ny"].map(cells.cellsOf);
out.at = [1, 2, 3, 4].map((line) =>
  cells.cellAt(
    [
      [1, 2],
      [3, 9],
    ],
    line,
  ),
);
out.has = ["# %", "x # %%", "# %%", "a\n#%%"].map(cells.hasCells);
out.old = cells.fromNotebook(JSON.stringify({ worksheets: [{ cells: [{ cell_type: "code", input: "1" }] }] }));
try {
  cells.fromNotebook("{}");
} catch (error) {
  out.none = error.message;
}
out.printed = [];
const read = reader(/([\d.]+) nats/g, (nats) => out.printed.push(nats));
for (const letter of "--- 20 s: 1.289 nats\n" + "x".repeat(400) + "0.5 nats") read(letter);
const script = { name: "a.py", text: "π = 3\n".repeat(500) };
const fragment = await share.toFragment(script);
out.length = fragment.length;
out.same = JSON.stringify(await share.fromFragment("#" + fragment)) === JSON.stringify(script);
out.other = await share.fromFragment("#top");
out.damaged = await share.fromFragment(fragment.slice(0, 30)).catch((error) => error.message);
out.later = await share.fromFragment("code9=abc").catch((error) => error.message);
out.calls = ["f(", "f(a, b", "f(a, (1, 2), ", "f(x)", "def f(", "torch.nn.Linear(3, g(", "f([1, ", "f(a,\n  b, "].map(
  (text) => {
    const call = calls.callAt(text);
    return call && [call.name, call.argument];
  },
);
out.arguments = calls.argumentsOf("(a, b: tuple[int, int]=(1, 2), *, c=None) -> Tensor");
const table = {
  torch: { ones: ["f", "(size) -> Tensor", ""], nn: ["m", "", ""] },
  "torch.nn": { Linear: ["c", "(i, o)", "doc"], functional: ["m", "", ""] },
  "torch.nn.functional": { relu: ["f", "(x) -> Tensor", ""] },
  "torch.Tensor": { view: ["f", "() -> Tensor", ""], T: ["v", "Tensor", ""] },
  "torch.nn.Module": { to: ["f", "()", ""] },
  "torch.optim": { Adam: ["c", "(p)", ""] },
  "torch.optim.Optimizer": { step: ["f", "()", ""] },
};
const names = new Names(Promise.resolve(table), (dotted) => [`live_${dotted}`]);
await 0;
const text = `import torch, math as m
import torch.nn.functional as F
from torch import nn, optim as O  # comment
from torch.optim import (
    Adam,
)
class Net(nn.Module): pass
x = torch.ones(3)
y = F.relu(x)
net = Net().to("cpu")
net2 = Net()
lin = nn.Linear(1, 2)
opt = Adam(lin.parameters())
opt2 = O.Adam(lin.parameters())
`;
const first = async (prefix) => (await names.of(prefix, text)).map(([name]) => name);
out.names = {};
for (const prefix of ["torch", "nn", "F", "x", "y", "x.T", "net2", "lin", "opt", "opt2", "O", "unknown"])
  out.names[prefix] = await first(prefix);
out.own = (await first("")).filter((name) => ["nn", "F", "x", "Net", "while", "print", "m"].includes(name));
out.entry = names.entry("nn.Linear", text);
console.log(JSON.stringify(out));
