/* cpu.h: what this processor has beyond the baseline the host build is made for. WASM has no such question. */
#ifndef TL_CPU_H
#define TL_CPU_H
#include <stdbool.h>
#if defined(__x86_64__) && defined(__GNUC__)
#define TL_X86_V3 __attribute__((target("avx2,fma,f16c")))
#include <cpuid.h>
#include <immintrin.h>
/* All of x86-64-v3 (AVX2, FMA, F16C, BMI1, BMI2, LZCNT, MOVBE), with a system that keeps the registers: a virtual
 * machine may hide some. ziglang's __builtin_cpu_supports says no to all. */
static inline bool tl_x86_v3(void) {
  static int known = -1;
  const unsigned want = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA, MOVBE, OSXSAVE, AVX, F16C */
  const unsigned want7 = 1u << 3 | 1u << 5 | 1u << 8;                         /* BMI1, AVX2, BMI2 */
  unsigned a, b, c, d, state = 0, high;
  if (known >= 0) return known;
  if (__get_cpuid(1, &a, &b, &c, &d) && (c & want) == want && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
      (b & want7) == want7 && __get_cpuid(0x80000001u, &a, &b, &c, &d) && c >> 5 & 1) /* LZCNT */
    __asm__("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
  known = (state & 6) == 6; /* at once, as threads may ask at the same time */
  return known;
}
#endif
#endif
