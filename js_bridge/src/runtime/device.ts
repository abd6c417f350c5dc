/** Adapter and device: opened on request, with every useful limit, and lost as a state that says why. */
import { DeviceLostError, TEXTS, UnavailableError, worded } from "./errors";

export type DeviceState = "closed" | "ready" | "lost";

/** Limits that the runtime or its kernels ask about; all are requested at the adapter's value. */
export const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxUniformBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
  "maxBindGroups",
  "maxTextureDimension2D",
  "minStorageBufferOffsetAlignment",
  "minUniformBufferOffsetAlignment",
] as const;
export type LimitName = (typeof LIMITS)[number];
export type Limits = Readonly<Record<LimitName, number>>;

const OPTIONAL_FEATURES = ["shader-f16", "subgroups", "timestamp-query"] as const;

export interface DeviceOptions {
  /** Where to ask for an adapter; `navigator.gpu` when left out. */
  readonly gpu?: GPU;
  readonly powerPreference?: GPUPowerPreference;
  /** Upper bounds on limits, for tests of small devices. They hold in this code too, below WebGPU's own minimum. */
  readonly limits?: Partial<Limits>;
  /**
   * Optional features to do without, for tests: without "subgroups" or "shader-f16" kernels are those of devices that
   * have none.
   */
  readonly without?: readonly string[];
  /** Seconds after which open() gives up where the browser does not answer. 120 when left out. */
  readonly opening?: number;
  /** For tests: whether kernels are those for CPUs, whatever the adapter is. */
  readonly software?: boolean;
}

export interface DeviceInfo {
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
  /** A software adapter. */
  readonly fallback: boolean;
  readonly subgroupMinSize: number;
  readonly subgroupMaxSize: number;
  readonly features: readonly string[];
  /**
   * How kernels read float16: as WGSL's f16, or by its bits where the device has no shader-f16 or does not keep every
   * half.
   */
  readonly halves: "f16" | "bits";
  readonly limits: Limits;
}

/** Seconds that a browser may take over an adapter or a device. */
const OPENING = 120;

interface Opened {
  readonly device: GPUDevice;
  readonly limits: Limits;
  readonly info: DeviceInfo;
  readonly software: boolean;
}

export class DeviceHolder {
  #state: DeviceState = "closed";
  #reason: string = TEXTS.UNOPENED;
  #opened: Opened | null = null;
  #opening: Promise<boolean> | null = null;
  #epoch = 0;
  readonly #onLost: ((reason: string) => void)[] = [];
  readonly #onError: ((message: string) => void)[] = [];

  get state(): DeviceState {
    return this.#state;
  }

  /** Why there is no device; empty when there is one. */
  get reason(): string {
    return this.#state === "ready" ? "" : this.#reason;
  }

  /** Counts the devices that were opened: what belongs to an older one is gone. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Whether a late report is still about the device in use. */
  current(epoch: number): boolean {
    return this.#epoch === epoch && this.#state === "ready";
  }

  get device(): GPUDevice {
    return this.#get().device;
  }

  get limits(): Limits {
    return this.#get().limits;
  }

  get info(): DeviceInfo {
    return this.#get().info;
  }

  /** Whether the adapter is a CPU: its kernels are other ones. */
  get software(): boolean {
    return this.#get().software;
  }

  /** Whether kernels may use f16; see halves.ts. */
  get f16(): boolean {
    return this.#opened?.info.halves === "f16";
  }

  /** How kernels read float16, once that was tried (halves.ts). */
  setHalves(halves: DeviceInfo["halves"]): void {
    if (this.#opened) this.#opened = { ...this.#opened, info: { ...this.#opened.info, halves } };
  }

  has(feature: string): boolean {
    return this.#opened !== null && this.#opened.info.features.includes(feature);
  }

  onLost(listener: (reason: string) => void): void {
    this.#onLost.push(listener);
  }

  /** Errors that no error scope caught. */
  onError(listener: (message: string) => void): void {
    this.#onError.push(listener);
  }

  /** Opens a device. False, with `reason`, when there is none to be had; calls made meanwhile share the answer. */
  open(options: DeviceOptions = {}): Promise<boolean> {
    if (this.#state === "ready") return Promise.resolve(true);
    this.#opening ??= this.#open(options).finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  /** Gives the device back. A later open() starts a new one. */
  close(reason: string = TEXTS.CLOSED): void {
    const device = this.#opened?.device;
    this.#opened = null;
    this.#state = "closed";
    this.#reason = reason;
    device?.destroy();
  }

  /** Marks the device as lost, for a caller that learns of it before `device.lost` resolves. */
  lose(reason: string): void {
    if (this.#state !== "ready") return;
    this.#state = "lost";
    this.#reason = reason;
    this.#opened = null;
    for (const listener of this.#onLost) listener(reason);
  }

  #get(): Opened {
    if (this.#opened) return this.#opened;
    if (this.#state === "lost") throw new DeviceLostError(worded(TEXTS.LOST, this.#reason));
    throw new UnavailableError(`[webgpu] ${this.#reason}`);
  }

  async #open(options: DeviceOptions): Promise<boolean> {
    const gpu = options.gpu ?? (globalThis.navigator as Navigator | undefined)?.gpu;
    if (!gpu) return this.#refuse("this browser or runtime has no WebGPU (navigator.gpu is missing)");
    let adapter: GPUAdapter | null;
    try {
      adapter = await answered(
        gpu.requestAdapter(options.powerPreference ? { powerPreference: options.powerPreference } : {}),
        options.opening,
      );
    } catch (e) {
      return this.#refuse(`asking for an adapter failed: ${e instanceof Error ? e.message : String(e)}`);
    }
    if (!adapter) return this.#refuse("WebGPU is there, but it offers no adapter (no usable GPU, or it is blocked)");
    const without = options.without ?? [];
    const features = OPTIONAL_FEATURES.filter((f) => adapter.features.has(f) && !without.includes(f));
    const limits = effectiveLimits(adapter.limits, options.limits ?? {});
    let device: GPUDevice;
    try {
      const asked = adapter.requestDevice({
        label: "torchlite",
        requiredFeatures: features,
        requiredLimits: Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]])),
      });
      device = await answered(asked, options.opening, (late) => late.destroy());
    } catch (e) {
      return this.#refuse(`the adapter gives no device: ${e instanceof Error ? e.message : String(e)}`);
    }
    const info = adapter.info;
    this.#epoch++;
    this.#opened = {
      device,
      limits,
      info: {
        vendor: info.vendor,
        architecture: info.architecture,
        device: info.device,
        description: info.description,
        fallback: info.isFallbackAdapter ?? false,
        subgroupMinSize: info.subgroupMinSize ?? 0,
        subgroupMaxSize: info.subgroupMaxSize ?? 0,
        features,
        halves: "bits",
        limits,
      },
      software:
        options.software ??
        ((info.isFallbackAdapter ?? false) ||
          /swiftshader|llvmpipe|lavapipe|softpipe|basic render/i.test(
            `${info.vendor} ${info.architecture} ${info.device} ${info.description}`,
          )),
    };
    this.#state = "ready";
    this.#watch(device);
    return true;
  }

  #refuse(reason: string): false {
    if (this.#state !== "lost") this.#reason = reason;
    else this.#reason += `; ${reason}`;
    return false;
  }

  #watch(device: GPUDevice): void {
    void device.lost.then((info) => {
      // not of a device that was closed or replaced before
      if (this.#opened?.device !== device) return;
      this.lose(info.message || info.reason || "no reason given");
    });
    device.onuncapturederror = (event) => {
      if (this.#opened?.device !== device) return;
      for (const listener of this.#onError) listener(event.error.message);
    };
  }
}

/**
 * Fails where a browser never answers. In seconds that this thread was awake, and not by the clock, which goes on while
 * the machine sleeps.
 */
export function answered<T>(promise: Promise<T>, seconds = OPENING, late?: (value: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let left = Math.ceil(seconds);
    const timer = setInterval(() => {
      if (--left > 0) return;
      clearInterval(timer);
      reject(new Error(`the browser gave no answer for ${Math.ceil(seconds)} s`));
      void promise.then(late, () => undefined);
    }, 1000);
    promise.then(resolve, reject).finally(() => clearInterval(timer));
  });
}

function effectiveLimits(given: GPUSupportedLimits, caps: Partial<Limits>): Limits {
  const limits = {} as Record<LimitName, number>;
  for (const name of LIMITS) limits[name] = Math.min(given[name], caps[name] ?? Infinity);
  // alignments are better when smaller: a cap there means "at least this coarse"
  for (const name of ["minStorageBufferOffsetAlignment", "minUniformBufferOffsetAlignment"] as const) {
    limits[name] = Math.max(given[name], caps[name] ?? 0);
  }
  return limits;
}
