/* rows.h: moves of rows of elements. */
#ifndef TL_ROWS_H
#define TL_ROWS_H
#include <stdint.h>
#include <string.h>

/* n elements of one size, any byte strides; the rows do not overlap */
void tl_move(char *d, intptr_t ds, const char *s, intptr_t ss, int64_t n, int size);

/* many bytes, with looks for a signal: see tl_work */
void tl_copy_long(char *d, const char *s, int64_t n);

/* Bytes side by side. Short rows: a loop, since memory.copy costs more than the row in WASM. The empty asm keeps it
 * from becoming memcpy. The last 16 bytes may overlap those before. */
typedef uint32_t tl_bytes16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t __attribute__((aligned(1), may_alias)) tl_bytes4;
static inline void tl_copy_row(char *d, const char *s, size_t n) {
  if (n > 512) {
    memcpy(d, s, n);
    return;
  }
  if (n >= 16) {
    const tl_bytes16 last = *(const tl_bytes16 *)(s + n - 16);
    char *const end = d + n - 16;
    for (; n >= 64; n -= 64, d += 64, s += 64) {
      const tl_bytes16 *from = (const tl_bytes16 *)s, a = from[0], b = from[1], c = from[2], e = from[3];
      tl_bytes16 *to = (tl_bytes16 *)d;
      to[0] = a, to[1] = b, to[2] = c, to[3] = e;
      __asm__ volatile("" ::: "memory");
    }
    for (; n > 16; n -= 16, d += 16, s += 16) {
      *(tl_bytes16 *)d = *(const tl_bytes16 *)s;
      __asm__ volatile("" ::: "memory");
    }
    *(tl_bytes16 *)end = last;
    return;
  }
  for (; n >= 4; n -= 4, d += 4, s += 4) {
    *(tl_bytes4 *)d = *(const tl_bytes4 *)s;
    __asm__ volatile("" ::: "memory");
  }
  for (; n; n--) {
    *d++ = *s++;
    __asm__ volatile("" ::: "memory");
  }
}
#endif
