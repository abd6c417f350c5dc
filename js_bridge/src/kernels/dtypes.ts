/**
 * The dtypes on the device, as the core numbers them, and what the kernels compute in: f32, i32, or i64 as
 * vec2<u32>(low, high). `npm run tables` writes this from native/src/core/tl.h.
 */
export const DTYPES = {
  bool: { bytes: 1, compute: "i32" },
  uint8: { bytes: 1, compute: "i32" },
  int8: { bytes: 1, compute: "i32" },
  int16: { bytes: 2, compute: "i32" },
  int32: { bytes: 4, compute: "i32" },
  int64: { bytes: 8, compute: "i64" },
  float16: { bytes: 2, compute: "f32" },
  bfloat16: { bytes: 2, compute: "f32" },
  float32: { bytes: 4, compute: "f32" },
} as const;
