/**
 * Firefox looks at the GPU every 100 ms only, and answers mapAsync then (Mozilla bug 1870699). While somebody waits, an
 * empty command buffer submitted every half millisecond makes it look at once: 100 ms become less than one. Submitting
 * without a pause between hangs the tab, hence the clock.
 */
import type { DeviceHolder } from "./device";

const PAUSE = 0.4; // ms

export class Pump {
  readonly #holder: DeviceHolder;
  readonly #needed: boolean;
  #waiting = 0;
  #channel: MessageChannel | null = null;
  #last = 0;

  constructor(holder: DeviceHolder, needed = isFirefox()) {
    this.#holder = holder;
    this.#needed = needed;
  }

  /** Waits for a promise that the GPU resolves. */
  async wait<T>(promise: Promise<T>): Promise<T> {
    if (!this.#needed) return promise;
    this.#waiting++;
    if (this.#waiting === 1) this.#start();
    try {
      return await promise;
    } finally {
      this.#waiting--;
      if (this.#waiting === 0) this.#stop();
    }
  }

  #start(): void {
    const channel = new MessageChannel();
    this.#channel = channel;
    channel.port1.onmessage = () => {
      if (this.#channel !== channel || this.#holder.state !== "ready") return;
      const now = performance.now();
      if (now - this.#last >= PAUSE) {
        this.#last = now;
        const device = this.#holder.device;
        device.queue.submit([device.createCommandEncoder().finish()]);
      }
      channel.port2.postMessage(null);
    };
    channel.port2.postMessage(null);
  }

  #stop(): void {
    this.#channel?.port1.close();
    this.#channel = null;
  }
}

function isFirefox(): boolean {
  return /\bFirefox\//.test((globalThis.navigator as Navigator | undefined)?.userAgent ?? "");
}
