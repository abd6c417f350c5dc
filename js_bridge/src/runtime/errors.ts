/** The bridge's errors. Python reads `name` and maps it to its own exception type. */

export class WebgpuError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.errorName;
  }
  static readonly errorName: string = "WebgpuError";
}

/** There is no WebGPU here, or nobody has opened the device yet. */
export class UnavailableError extends WebgpuError {
  static override readonly errorName: string = "UnavailableError";
}

/** The GPU process, the driver or the tab's device went away; all buffers are gone. */
export class DeviceLostError extends WebgpuError {
  static override readonly errorName: string = "DeviceLostError";
}

/** A buffer does not fit: into the device's limits, the budget, or the GPU's memory. */
export class OutOfMemoryError extends WebgpuError {
  static override readonly errorName: string = "OutOfMemoryError";
}

/** A kernel is unknown, does not compile or was used wrongly. */
export class KernelError extends WebgpuError {
  static override readonly errorName: string = "KernelError";
}

/** A slot is not in use, was freed, or holds nothing because what should have filled it failed. */
export class SlotError extends WebgpuError {
  static override readonly errorName: string = "SlotError";
}

/** The command stream is malformed or names ranges outside a slot. */
export class StreamError extends WebgpuError {
  static override readonly errorName: string = "StreamError";
}

/** A read cannot be done in the way asked for. */
export class ReadError extends WebgpuError {
  static override readonly errorName: string = "ReadError";
}

/** Texts about devices and GPU workers that this thread and Python's side of the wire share. */
export const TEXTS = {
  UNOPENED: "WebGPU was not opened yet",
  CLOSED: "WebGPU was closed",
  LOST: "[webgpu] the device was lost (%s); its tensors are gone",
  NO_WORKERS: "workers cannot start workers here",
  WORKER_FAILED: "the GPU worker failed: %s",
  REFUSED: "its script was not loaded; a Content-Security-Policy must allow blob: in worker-src",
  SILENT: "the GPU worker gave no sign of life for %s s",
  UNANSWERED: "the GPU worker gave no answer for %s s",
} as const;

/** A text with its %s. */
export const worded = (text: string, value: string | number): string => text.replace("%s", () => String(value));

/** Whatever was thrown as an error of the bridge: browsers may refuse any call with an exception of their own. */
export function asWebgpuError(e: unknown, what: string): WebgpuError {
  if (e instanceof WebgpuError) return e;
  return new WebgpuError(
    `[${what}] the browser refused a call: ${e instanceof Error ? `${e.name}: ${e.message}` : String(e)}`,
    { cause: e },
  );
}

export function bytesText(n: number): string {
  if (n < 1024) return `${n} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let i = -1;
  do {
    n /= 1024;
    i++;
  } while (n >= 1024 && i < units.length - 1);
  return `${n.toFixed(2)} ${units[i]}`;
}
