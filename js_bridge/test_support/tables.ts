/** The files that are written from tables of the core and of the bridge, by their paths in the repository. */
import { bridgeDtypes } from "./dtypes";
import { operationsText } from "./operations";
import { protocolText } from "./protocol";

/** The core's table of dtypes is in here. */
export const HEADER = "native/src/core/tl.h";

export const tables = (header: string): Record<string, string> => ({
  "js_bridge/src/kernels/dtypes.ts": bridgeDtypes(header),
  "torchlite/webgpu/plan/operations.py": operationsText(header),
  "torchlite/webgpu/transport/protocol.py": protocolText(),
});
