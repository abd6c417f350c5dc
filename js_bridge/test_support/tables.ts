/** The Python files that are written from the bridge's tables, by their paths in torchlite/webgpu. */
import { operationsText } from "./operations";
import { protocolText } from "./protocol";

export const tables = (): Record<string, string> => ({
  "plan/operations.py": operationsText(),
  "transport/protocol.py": protocolText(),
});
