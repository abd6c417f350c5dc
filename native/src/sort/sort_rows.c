/* sort_rows.c: see sort.h. Insertion for short runs, merging up to a few hundred items, radix above. */
#include "sort/sort.h"

#define LESS32(a, b) ((a) < (b))
#define LESS64(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).at < (b).at))

#define SORT(N, E, LESS) \
  static void insertion##N(E *a, int64_t n) { \
    for (int64_t i = 1; i < n; i++) { \
      E x = a[i]; \
      int64_t j = i; \
      for (; j > 0 && LESS(x, a[j - 1]); j--) a[j] = a[j - 1]; \
      a[j] = x; \
    } \
  } \
  static void merge_sort##N(E *a, E *tmp, int64_t n) { \
    E *src = a, *dst = tmp; \
    for (int64_t i = 0; i < n; i += 16) insertion##N(a + i, n - i < 16 ? n - i : 16); \
    for (int64_t w = 16; w < n; w *= 2) { \
      for (int64_t i = 0; i < n; i += 2 * w) { \
        int64_t l = i, m = i + w < n ? i + w : n, r = m, e = i + 2 * w < n ? i + 2 * w : n; \
        for (int64_t o = i; o < e; o++) dst[o] = l < m && (r >= e || !LESS(src[r], src[l])) ? src[l++] : src[r++]; \
      } \
      E *s = src; \
      src = dst; \
      dst = s; \
    } \
    if (src != a) memcpy(a, src, n * sizeof(E)); \
  } \
  void tl_select##N(E *a, int64_t n, int64_t k) { \
    int64_t lo = 0, hi = n - 1, work = 0; \
    while (hi - lo > 16) { \
      int64_t mid = lo + (hi - lo) / 2, i = lo - 1, j = hi + 1; \
      E x = a[lo], y = a[mid], z = a[hi]; \
      const bool rises = LESS(x, y); \
      E small = rises ? x : y, large = rises ? y : x, p = LESS(small, z) ? z : small; \
      if (LESS(large, z)) p = large; /* the median of three */ \
      for (;;) { \
        do i++; while (LESS(a[i], p)); \
        do j--; while (LESS(p, a[j])); \
        if (i >= j) break; \
        E s = a[i]; \
        a[i] = a[j]; \
        a[j] = s; \
        if (TL_TICK(work, 4)) return; \
      } \
      if (k <= j + 1) hi = j; \
      else lo = j + 1; \
    } \
    insertion##N(a + lo, hi - lo + 1); \
  }
SORT(32, TlItem32, LESS32)
SORT(64, TlItem64, LESS64)

/* least significant digit first; a digit that all items share costs nothing. -1: an exception */
#define RADIX(N, E, DIGITS, DIGIT) \
  static int radix##N(E *a, E *tmp, int64_t n) { \
    int64_t count[DIGITS][256]; \
    E *src = a, *dst = tmp; \
    memset(count, 0, sizeof count); \
    TL_LOOP(i, n) \
      for (int d = 0; d < DIGITS; d++) count[d][DIGIT(a[i], d)]++; \
    for (int d = 0; d < DIGITS; d++) { \
      int64_t *c = count[d], at = 0; \
      if (c[DIGIT(src[0], d)] == n) continue; \
      for (int i = 0; i < 256; i++) { int64_t m = c[i]; c[i] = at; at += m; } \
      TL_LOOP(i, n) dst[c[DIGIT(src[i], d)]++] = src[i]; \
      if (tl_work(0) < 0) return -1; \
      E *s = src; \
      src = dst; \
      dst = s; \
    } \
    if (src != a) TL_LOOP(i, n) a[i] = src[i]; \
    return tl_work(0); \
  }
#define DIGIT32(x, d) ((x) >> (32 + 8 * (d)) & 255)
#define DIGIT64(x, d) ((x).key >> (8 * (d)) & 255)
RADIX(32, TlItem32, 4, DIGIT32)
RADIX(64, TlItem64, 8, DIGIT64)

int tl_sort32(TlItem32 *a, TlItem32 *tmp, int64_t n) {
  if (n >= 700) return radix32(a, tmp, n);
  if (n <= 24) insertion32(a, n);
  else merge_sort32(a, tmp, n);
  return 0;
}
int tl_sort64(TlItem64 *a, TlItem64 *tmp, int64_t n) {
  if (n >= 1500) return radix64(a, tmp, n);
  if (n <= 24) insertion64(a, n);
  else merge_sort64(a, tmp, n);
  return 0;
}

int tl_row_alloc(TlRow *r, tl_dtype d, int64_t n) {
  r->wide = d == TL_I64 || d == TL_F64;
  size_t size = r->wide ? sizeof(TlItem64) : sizeof(TlItem32);
  r->n = n;
  r->items = tl_malloc((n ? n : 1) * size * 2);
  r->tmp = r->items ? (char *)r->items + n * size : NULL;
  return r->items ? 0 : -1;
}
void tl_row_free(TlRow *r) {
  if (r->items) tl_free(r->items);
  r->items = NULL;
}

void tl_row_load(TlRow *r, tl_dtype d, const void *p, int64_t step, bool descending) {
  int64_t n = r->n;
  uint32_t flip32 = descending ? UINT32_MAX : 0;
  uint64_t flip64 = descending ? UINT64_MAX : 0;
  TlItem32 *a = r->items;
  TlItem64 *b = r->items;
  switch (d) {
  case TL_I32:
    TL_LOOP(i, n) a[i] = (uint64_t)(tl_key_i32(((const int32_t *)p)[i * step]) ^ flip32) << 32 | (uint32_t)i;
    break;
  case TL_F32:
    TL_LOOP(i, n) a[i] = (uint64_t)(tl_key_f32(((const float *)p)[i * step]) ^ flip32) << 32 | (uint32_t)i;
    break;
  case TL_I64:
    TL_LOOP(i, n) b[i] = (TlItem64){tl_key_i64(((const int64_t *)p)[i * step]) ^ flip64, (uint64_t)i};
    break;
  default: TL_LOOP(i, n) b[i] = (TlItem64){tl_key_f64(((const double *)p)[i * step]) ^ flip64, (uint64_t)i};
  }
}

int tl_row_sort(TlRow *r) { return r->wide ? tl_sort64(r->items, r->tmp, r->n) : tl_sort32(r->items, r->tmp, r->n); }
