/**
 * Whether kernels may read float16 as WGSL's f16, which the feature shader-f16 brings. WGSL lets a device flush
 * subnormal halves to 0, and promises nothing for infinities and NaN. So each device is tested once, when it is opened,
 * with all 65536 halves: each is read from a buffer, kept in workgroup memory, converted and multiplied, and must give
 * what its bits say. On a device that fails, kernels convert the bits themselves.
 */
import { MAP_READ, Usage } from "./constants";
import { buildModule } from "../wgsl/module";

const COUNT = 1 << 16,
  GROUP = 64;

const WGSL = buildModule({
  bindings: [
    { name: "halves", type: "array<vec4<f16>>", access: "read" },
    { name: "words", type: "array<vec2<u32>>", access: "read" },
    { name: "wrong", type: "array<atomic<u32>>", access: "read_write" },
  ],
  uniforms: [],
  globals: `var<workgroup> tile: array<vec4<f16>, ${GROUP}>;
fn same(x: vec4<f32>, y: vec4<f32>) -> bool {
  let u = bitcast<vec4<u32>>(x); let v = bitcast<vec4<u32>>(y);
  let nan = (u & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u);
  return all((nan & ((v & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u))) | (u == v));
}`,
  main: `  tile[${GROUP - 1}u - lane] = halves[gid];
  workgroupBarrier();
  let at = group * ${GROUP}u + ${GROUP - 1}u - lane;
  let want = tl_half4_to_f32(words[at]);
  let got = vec4<f32>(tile[lane]);
  if (!same(got, want) || !same(got * vec4<f32>(halves[at]), want * want)) { atomicAdd(&wrong[0], 1u); }`,
  workgroup: GROUP,
});

/** Tests a device that has shader-f16. */
export async function readsHalves(device: GPUDevice): Promise<boolean> {
  device.pushErrorScope("validation");
  const halves = device.createBuffer({ size: 2 * COUNT, usage: Usage.STORAGE | Usage.COPY_DST });
  const wrong = device.createBuffer({ size: 16, usage: Usage.STORAGE | Usage.COPY_SRC });
  const readBack = device.createBuffer({ size: 16, usage: Usage.MAP_READ | Usage.COPY_DST });
  try {
    device.queue.writeBuffer(
      halves,
      0,
      Uint16Array.from({ length: COUNT }, (_, i) => i),
    );
    const pipeline = device.createComputePipeline({
      layout: "auto",
      compute: { module: device.createShaderModule({ label: "halves", code: WGSL }), entryPoint: "main" },
    });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(
      0,
      device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0),
        entries: [halves, halves, wrong].map((buffer, binding) => ({ binding, resource: { buffer } })),
      }),
    );
    pass.dispatchWorkgroups(COUNT / 4 / GROUP);
    pass.end();
    encoder.copyBufferToBuffer(wrong, 0, readBack, 0, 16);
    device.queue.submit([encoder.finish()]);
    // together: on a device that was lost both may reject
    const [error] = await Promise.all([device.popErrorScope(), readBack.mapAsync(MAP_READ)]);
    return error === null && new Uint32Array(readBack.getMappedRange())[0] === 0;
  } catch {
    return false; // the device was lost meanwhile; its `lost` promise reports that
  } finally {
    for (const b of [halves, wrong, readBack]) b.destroy();
  }
}
