/** What catalog.test.ts runs in a browser: gives every shader to the browser's compiler. */
import { catalog } from "./catalog";

async function problems(): Promise<string[]> {
  const adapter = await navigator.gpu.requestAdapter();
  if (!adapter) return ["there is no adapter"];
  const subgroups = adapter.features.has("subgroups");
  const device = await adapter.requestDevice({ requiredFeatures: subgroups ? ["subgroups"] : [] });
  const found: string[] = [];
  for (const kernel of catalog({ subgroups })) {
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ code: kernel.wgsl });
    const info = await module.getCompilationInfo();
    const error = await device.popErrorScope();
    const lines = info.messages
      .filter((m) => m.type === "error")
      .map((m) => `${m.lineNum}: ${m.message}: ${kernel.wgsl.split("\n")[m.lineNum - 1] ?? ""}`);
    if (lines.length > 0 || error) found.push(`${kernel.key} ${lines.join("; ") || (error?.message ?? "")}`);
  }
  return found;
}

const result = await problems().catch((e: unknown) => [String(e)]);
await fetch("/result", { method: "POST", body: JSON.stringify(result) });
