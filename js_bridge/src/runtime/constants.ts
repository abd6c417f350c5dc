/** WebGPU's flags. Browsers have them as globals; other hosts may provide nothing but `gpu`. */
export const Usage = {
  MAP_READ: 0x1,
  COPY_SRC: 0x4,
  COPY_DST: 0x8,
  UNIFORM: 0x40,
  STORAGE: 0x80,
  QUERY_RESOLVE: 0x200,
} as const;
export const TEXTURE_COPY_DST = 0x2;
export const MAP_READ = 0x1;
export const COMPUTE_STAGE = 0x4;
