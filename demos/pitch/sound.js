// Sounds for the pitch page: the microphone, files, a melody; all as RATE samples a second of one channel.

export const RATE = 16000;

/** Some audio, resampled by the browser. */
export async function resample(buffer) {
  const context = new OfflineAudioContext(1, Math.max(1, Math.round(buffer.duration * RATE)), RATE);
  const source = new AudioBufferSourceNode(context, { buffer });
  source.connect(context.destination);
  source.start();
  return (await context.startRendering()).getChannelData(0);
}

/** A file that the browser can play. */
export async function fromFile(file) {
  const buffer = await new OfflineAudioContext(1, 1, RATE).decodeAudioData(await file.arrayBuffer());
  return resample(buffer);
}

/** The beginning of Frere Jacques, on a soft reed. */
export function melody() {
  const notes = [60, 62, 64, 60, 60, 62, 64, 60, 64, 65, 67, 67, 64, 65, 67, 67];
  const each = 0.4;
  const length = each * RATE;
  const samples = new Float32Array(notes.length * length);
  notes.forEach((note, index) => {
    const pitch = 440 * 2 ** ((note - 69) / 12);
    for (let i = 0; i < length; i++) {
      const loud = Math.min(1, i / 400, (length - i) / 1500);
      const turn = (2 * Math.PI * pitch * i) / RATE;
      samples[index * length + i] = 0.3 * loud * (Math.sin(turn) + Math.sin(2 * turn) / 2 + Math.sin(3 * turn) / 4);
    }
  });
  return samples;
}

/** A WAV file of 16 bits. */
export function wav(samples) {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const text = (at, word) => [...word].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + 2 * samples.length, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true); // channels
  view.setUint32(24, RATE, true);
  view.setUint32(28, 2 * RATE, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((value, i) => view.setInt16(44 + 2 * i, Math.max(-1, Math.min(1, value)) * 32767, true));
  return new Uint8Array(view.buffer);
}

/** The last second that a microphone heard. */
export class Microphone {
  heard = 0; // samples so far
  #ring;
  #context;
  #stream;

  /** Asks the visitor. */
  static async open() {
    if (!navigator.mediaDevices) throw new Error("this page needs https, or localhost");
    const microphone = new Microphone();
    // the browser's filters are for speech, and bend a tone
    const plain = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
    microphone.#stream = await navigator.mediaDevices.getUserMedia({ audio: plain });
    const context = (microphone.#context = new AudioContext());
    microphone.#ring = new Float32Array(context.sampleRate);
    await context.audioWorklet.addModule(new URL("./ear.js", import.meta.url));
    const ear = new AudioWorkletNode(context, "ear", { numberOfOutputs: 0 });
    ear.port.onmessage = ({ data }) => microphone.#put(data);
    context.createMediaStreamSource(microphone.#stream).connect(ear);
    context.resume(); // where there is nothing to play sound on, Firefox never does: heard stays 0
    return microphone;
  }

  /** Samples a second, of the device. */
  get rate() {
    return this.#context.sampleRate;
  }

  #put(block) {
    for (const value of block) this.#ring[this.heard++ % this.#ring.length] = value;
  }

  /** The newest samples, `count` of them at RATE. A little more is resampled: its first samples are off. */
  async newest(count) {
    const rate = this.#ring.length;
    const length = Math.min(rate, this.heard, Math.ceil(((count + 64) * rate) / RATE));
    if (!length) return new Float32Array(0);
    const buffer = new AudioBuffer({ length, sampleRate: rate });
    const channel = buffer.getChannelData(0);
    for (let i = 0; i < length; i++) channel[i] = this.#ring[(this.heard - length + i) % rate];
    return (await resample(buffer)).slice(-count);
  }

  close() {
    for (const track of this.#stream.getTracks()) track.stop();
    return this.#context.close();
  }
}
