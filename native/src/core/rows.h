/* rows.h: moves of rows of elements. */
#ifndef TL_ROWS_H
#define TL_ROWS_H
#include <stdint.h>
#include <string.h>

/* n elements of one size, any byte strides; the rows do not overlap */
void tl_move(char *d, intptr_t ds, const char *s, intptr_t ss, int64_t n, int size);

/* Bytes side by side. Short rows: a loop, since memory.copy costs more than the row in WASM. The empty asm keeps it
 * from becoming memcpy. */
typedef uint32_t tl_bytes16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t __attribute__((aligned(1), may_alias)) tl_bytes4;
static inline void tl_copy_row(char *d, const char *s, size_t n) {
  if (n > 512) {
    memcpy(d, s, n);
    return;
  }
  for (; n >= 16; n -= 16, d += 16, s += 16) {
    tl_bytes16 v = *(const tl_bytes16 *)s;
    *(tl_bytes16 *)d = v;
    __asm__ volatile("" ::: "memory");
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
