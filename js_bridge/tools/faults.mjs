// Failures on demand, for tests: the n-th call of a kind to the GPU fails as it does in browsers.
const KINDS = {
  lost: [
    "createBuffer",
    "createBindGroup",
    "createCommandEncoder",
    "createComputePipeline",
    "writeBuffer",
    "submit",
    "mapAsync",
  ],
  memory: ["createBuffer"], // reported late, by an error scope
  pipeline: ["createShaderModule"], // does not compile
  batch: ["submit"], // is refused, which is reported late
  map: ["mapAsync"], // is rejected
  // an exception at once
  thrown: ["createBuffer", "createBindGroup", "createCommandEncoder", "createComputePipeline", "writeBuffer", "submit"],
};

let kind = null;
let left = 0;
let device = null;
let full = 0; // buffers whose error scope still has to say that there is no memory

/** The n-th call of a kind from now on fails; returns how many calls were left of the order before. */
export function fault(made, what, n) {
  if (made !== device) watch(made);
  const before = left;
  [kind, left, full] = [what, n, 0];
  return before;
}

/** From the first order on: a device that nobody wants to fail is left as it is. */
function watch(made) {
  device = made;
  const { queue } = made;
  for (const name of [
    "createBuffer",
    "createBindGroup",
    "createCommandEncoder",
    "createComputePipeline",
    "createShaderModule",
  ])
    strike(made, name);
  for (const name of ["writeBuffer", "submit"]) strike(queue, name);
  const pop = made.popErrorScope.bind(made);
  made.popErrorScope = () => {
    const reported = pop();
    if (full === 0) return reported;
    full--;
    return reported.then(() => new GPUOutOfMemoryError("there is none"));
  };
}

function strike(owner, name) {
  const usual = owner[name].bind(owner);
  owner[name] = (...args) => {
    const hit = left > 0 && KINDS[kind]?.includes(name) && --left === 0 ? kind : null;
    if (hit === "lost") device.destroy();
    if (hit === "thrown") throw new RangeError(`${name} was refused`);
    if (hit === "map") return Promise.reject(new DOMException("the buffer was not mapped", "OperationError"));
    if (hit === "pipeline") args = [{ ...args[0], code: `${args[0].code}\nfn oops() { undefined_thing(); }` }];
    if (hit === "memory") full++;
    if (hit === "batch") args = [[...args[0], spoiled()]];
    const made = usual(...args);
    if (name === "createBuffer") strike(made, "mapAsync");
    return made;
  };
}

/** Commands that no queue accepts: their buffer is gone. */
function spoiled() {
  const buffer = device.createBuffer({ size: 16, usage: GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.clearBuffer(buffer);
  buffer.destroy();
  return encoder.finish();
}
