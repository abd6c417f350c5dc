/** The element-wise operations as the Python module torchlite/webgpu/plan/operations.py has them. */
import { COMPLEX_OPS } from "../src/kernels/elementwise/op_complex";
import { OPS } from "../src/kernels/elementwise/op_table";

/** Names in lines of at most 110 columns. */
function wrapped(names: readonly string[]): string {
  const lines: string[] = [];
  for (const name of names) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + name.length <= 110) lines[lines.length - 1] = `${last} ${name}`;
    else lines.push(name);
  }
  return lines.join("\n");
}

export function operationsText(): string {
  const names = Object.keys(OPS).filter((name) => !Object.hasOwn(COMPLEX_OPS, name));
  const tests = names.filter((name) => OPS[name as keyof typeof OPS].result === "bool");
  return `"""The kernels' element-wise operations without the complex ones. \`npm run operations\` (js_bridge) writes this."""

OPERATIONS = frozenset(
    """
${wrapped(names)}
""".split()
)
# those whose result is a bool
TESTS = frozenset(
    """
${wrapped(tests)}
""".split()
)
`;
}
