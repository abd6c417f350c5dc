// Runs beside the page's thread: hands on what the microphone hears, some 10 ms at a time.

const BLOCK = 512;

class Ear extends AudioWorkletProcessor {
  #block = new Float32Array(BLOCK);
  #filled = 0;

  process([[channel]]) {
    for (const value of channel ?? []) {
      this.#block[this.#filled++] = value;
      if (this.#filled < BLOCK) continue;
      this.port.postMessage(this.#block.slice());
      this.#filled = 0;
    }
    return true;
  }
}

registerProcessor("ear", Ear);
