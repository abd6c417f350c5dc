/* cpu.h: what this processor has beyond the baseline the host build is made for. WASM has no such question. */
#ifndef TL_CPU_H
#define TL_CPU_H
#include <stdbool.h>
#if defined(__x86_64__) && defined(__GNUC__)
#define TL_X86_V3 __attribute__((target("avx2,fma,f16c")))
#include <cpuid.h>
#include <immintrin.h>
/* AVX2, FMA and F16C, with a system that keeps their registers. ziglang's __builtin_cpu_supports says no to all. */
static inline bool tl_x86_v3(void) {
  static int known = -1;
  const unsigned want = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA, OSXSAVE, AVX, F16C */
  unsigned a, b, c, d, state = 0, high;
  if (known >= 0) return known;
  if (__get_cpuid(1, &a, &b, &c, &d) && (c & want) == want && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 5 & 1)
    __asm__("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
  known = (state & 6) == 6; /* at once, as threads may ask at the same time */
  return known;
}
#endif
#endif
