export class NodeWorker extends EventTarget {
  constructor(source: string | Promise<string>, webgpu: string);
  readonly ended: Promise<void>;
  onmessage: ((event: MessageEvent) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  postMessage(message: unknown, transfer: Transferable[]): void;
  terminate(): void;
}
