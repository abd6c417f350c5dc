/* copy.c: casts of contiguous runs, copies between any strides and dtypes, fill.
 *
 * A cast goes storage -> compute type -> other compute type -> storage, so there are loads, conversions and stores of
 * six compute types instead of one loop for each pair of dtypes. */
#include "core/core.h"
#include "core/errors.h"
#include "core/geometry.h"
#include "core/rows.h"

enum { CHUNK = 512 };

/* ---- casts ------------------------------------------------------------------------------------------------------ */
/* out of range (and NaN) gives the smallest integer, as x86 does; C leaves it undefined */
static inline int32_t d_i32(double x) { return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN; }
static inline int64_t d_i64(double x) {
  return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}
static inline uint64_t d_u64(double x) {
  if (!(x >= 9223372036854775808.0)) return (uint64_t)d_i64(x);
  return x < 18446744073709551616.0 ? (uint64_t)x : 0;
}

#define LOOP(name, TO, FROM, EXPR) \
  static void name(void *restrict dst, const void *restrict src, int64_t n) { \
    TO *restrict o = dst; \
    const FROM *restrict s = src; \
    for (intptr_t i = 0; i < (intptr_t)n; i++) { FROM x = s[i]; o[i] = (EXPR); } \
  }

/* storage -> compute */
LOOP(load_u8, int32_t, uint8_t, x)
LOOP(load_bool, int32_t, uint8_t, x != 0) /* any byte but 0 is True */
LOOP(bool_8, uint8_t, uint8_t, x != 0)
LOOP(load_i8, int32_t, int8_t, x)
LOOP(u8_f32, float, uint8_t, (float)x) /* images */
LOOP(load_i16, int32_t, int16_t, x)
LOOP(load_bf16, float, uint16_t, tl_bf16_to_float(x))
LOOP(load_u16, int32_t, uint16_t, x)
LOOP(load_u32, int64_t, uint32_t, x)
/* compute -> storage */
LOOP(store_8, uint8_t, int32_t, (uint8_t)x)
LOOP(store_16, uint16_t, int32_t, (uint16_t)x)
LOOP(store_32, uint32_t, int64_t, (uint32_t)x)
/* complex32: pairs of halves */
static void load_c32(void *restrict dst, const void *restrict src, int64_t n) { tl_load_f16(dst, src, 2 * n); }
static void store_c32(void *restrict dst, const void *restrict src, int64_t n) { tl_store_f16(dst, src, 2 * n); }
/* to bool */
LOOP(bool_i32, uint8_t, int32_t, x != 0)
LOOP(bool_i64, uint8_t, int64_t, x != 0)
LOOP(bool_f32, uint8_t, float, x != 0)
LOOP(bool_f64, uint8_t, double, x != 0)
LOOP(bool_c64, uint8_t, tl_c64, x.re != 0 || x.im != 0)
LOOP(bool_c128, uint8_t, tl_c128, x.re != 0 || x.im != 0)
/* compute -> compute */
LOOP(i32_i64, int64_t, int32_t, x)
LOOP(i32_f32, float, int32_t, (float)x)
LOOP(i32_f64, double, int32_t, x)
LOOP(i64_i32, int32_t, int64_t, (int32_t)x)
LOOP(i64_f32, float, int64_t, (float)x)
LOOP(i64_f64, double, int64_t, (double)x)
LOOP(f32_f64, double, float, x)
LOOP(f64_i32, int32_t, double, d_i32(x))
LOOP(f64_i64, int64_t, double, d_i64(x))
LOOP(f64_f32, float, double, (float)x)
/* uint64 is no compute type of its own, but its upper half is out of int64's range */
LOOP(u64_f32, float, uint64_t, (float)x)
LOOP(u64_f64, double, uint64_t, (double)x)
LOOP(f32_u64, uint64_t, float, d_u64(x))
LOOP(f64_u64, uint64_t, double, d_u64(x))
LOOP(f32_c64, tl_c64, float, ((tl_c64){x, 0}))
LOOP(f64_c128, tl_c128, double, ((tl_c128){x, 0}))
LOOP(c64_f32, float, tl_c64, x.re)
LOOP(c128_f64, double, tl_c128, x.re)
LOOP(c64_c128, tl_c128, tl_c64, ((tl_c128){x.re, x.im}))
LOOP(c128_c64, tl_c64, tl_c128, ((tl_c64){(float)x.re, (float)x.im}))

static tl_cast_fn load_of(tl_dtype d) {
  switch (d) {
  case TL_BOOL: return load_bool;
  case TL_U8: return load_u8;
  case TL_I8: return load_i8;
  case TL_I16: return load_i16;
  case TL_F16: return tl_load_f16;
  case TL_BF16: return load_bf16;
  case TL_C32: return load_c32;
  case TL_U16: return load_u16;
  case TL_U32: return load_u32;
  default: return tl_float8_load(d);
  }
}

static tl_cast_fn store_of(tl_dtype d) {
  switch (d) {
  case TL_U8:
  case TL_I8: return store_8;
  case TL_I16: return store_16;
  case TL_F16: return tl_store_f16;
  case TL_BF16: return tl_store_bf16;
  case TL_C32: return store_c32;
  case TL_U16: return store_16;
  case TL_U32: return store_32;
  default: return tl_float8_store(d);
  }
}

static tl_cast_fn bool_of(tl_dtype c) {
  switch (c) {
  case TL_I64:
  case TL_U64: return bool_i64;
  case TL_F32: return bool_f32;
  case TL_F64: return bool_f64;
  case TL_C64: return bool_c64;
  case TL_C128: return bool_c128;
  default: return bool_i32;
  }
}

/* real compute type to real compute type */
static tl_cast_fn conv_of(tl_dtype to, tl_dtype from) {
  static const tl_cast_fn table[5][5] = {/* from       to: I32     I64      F32      F64      U64 */
                                         {NULL, i32_i64, i32_f32, i32_f64, i32_i64},
                                         {i64_i32, NULL, i64_f32, i64_f64, NULL},
                                         {tl_f32_i32, tl_f32_i64, NULL, f32_f64, f32_u64},
                                         {f64_i32, f64_i64, f64_f32, NULL, f64_u64},
                                         {i64_i32, NULL, u64_f32, u64_f64, NULL}};
  static const int8_t at[TL_NUM_DTYPES] = {[TL_I32] = 0, [TL_I64] = 1, [TL_F32] = 2, [TL_F64] = 3, [TL_U64] = 4};
  return table[at[from]][at[to]];
}

enum { MAX_STEPS = 5 };
/* The steps of a cast, in order; their number. */
static int cast_steps(tl_dtype to, tl_dtype from, tl_cast_fn *steps) {
  int n = 0;
  tl_dtype source = from == TL_U64 ? from : tl_compute[from], target = to == TL_U64 ? to : tl_compute[to];
  tl_cast_fn f = load_of(from);
  if (f) steps[n++] = f;
  if (to == TL_BOOL) {
    steps[n++] = bool_of(source);
    return n;
  }
  if (tl_is_complex(source) && tl_is_complex(target)) {
    if (source != target) steps[n++] = source == TL_C64 ? c64_c128 : c128_c64;
  } else {
    if (tl_is_complex(source)) steps[n++] = source == TL_C64 ? c64_f32 : c128_f64;
    if ((f = conv_of(tl_real_of(target), tl_real_of(source)))) steps[n++] = f;
    if (tl_is_complex(target)) steps[n++] = target == TL_C64 ? f32_c64 : f64_c128;
  }
  if ((f = store_of(to))) steps[n++] = f;
  return n;
}

/* through buffers, step by step */
__attribute__((noinline)) static void cast_through(const tl_cast_fn *steps, int ns, char *dst, size_t ed,
                                                   const char *src, size_t es, int64_t n) {
  _Alignas(16) char b1[CHUNK * 16], b2[CHUNK * 16];
  for (int64_t at = 0; at < n; at += CHUNK) {
    int64_t m = n - at < CHUNK ? n - at : CHUNK;
    const void *s = src + at * es;
    for (int k = 0; k < ns; k++) {
      void *o = k & 1 ? (void *)b2 : (void *)b1;
      if (k == ns - 1) o = dst + at * ed;
      steps[k](o, s, m);
      s = o;
    }
  }
}

void tl_cast_contig(tl_dtype to, void *dst, tl_dtype from, const void *src, int64_t n) {
  if (to == from) {
    tl_copy_row(dst, src, (size_t)n * tl_itemsize[to]);
    return;
  }
  if (from == TL_BOOL && (to == TL_U8 || to == TL_I8)) {
    bool_8(dst, src, n);
    return;
  }
  if (from == TL_U8 && to == TL_F32) {
    u8_f32(dst, src, n);
    return;
  }
  if ((from == TL_C64 && to == TL_C128) || (from == TL_C128 && to == TL_C64)) { /* pairs of reals */
    conv_of(tl_real_of(to), tl_real_of(from))(dst, src, 2 * n);
    return;
  }
  tl_cast_fn steps[MAX_STEPS];
  int ns = cast_steps(to, from, steps);
  if (ns < 2) { /* none between int64 and uint64: the same bits */
    if (ns) steps[0](dst, src, n);
    else memcpy(dst, src, (size_t)n * tl_itemsize[to]);
    return;
  }
  cast_through(steps, ns, dst, tl_itemsize[to], src, tl_itemsize[from], n);
}

/* ---- copy ------------------------------------------------------------------------------------------------------- */
#if defined(__clang__) /* also where files are compiled for size */
#define TL_VECTORS _Pragma("clang loop vectorize(enable) interleave_count(4)")
#else
#define TL_VECTORS
#endif
#define MOVE(T) \
  for (intptr_t i = 0; i < (intptr_t)n; i++) *(T *)(d + i * ds) = *(const T *)(p + i * ss)
#define FILL(T) do { \
    T v = *(const T *)p, *o = (T *)d; \
    TL_VECTORS for (intptr_t i = 0; i < (intptr_t)n; i++) o[i] = v; \
  } while (0)

void tl_copy_long(char *d, const char *s, int64_t n) {
  for (int64_t m; n > 0 && tl_work(TL_PIECE / 4) == 0; n -= m, d += m, s += m) {
    m = n < 4 * TL_PIECE ? n : 4 * TL_PIECE;
    memcpy(d, s, (size_t)m);
  }
}

typedef float v4f_4 __attribute__((vector_size(16), aligned(4), may_alias));

static inline void move_reversed(char *d, const char *p, intptr_t n) { /* of 4 bytes, p is the last in memory */
  for (; n >= 8; n -= 8, d += 32, p -= 32) {
    const v4f_4 v = *(const v4f_4 *)(p - 12), w = *(const v4f_4 *)(p - 28);
    *(v4f_4 *)d = __builtin_shufflevector(v, v, 3, 2, 1, 0);
    *(v4f_4 *)(d + 16) = __builtin_shufflevector(w, w, 3, 2, 1, 0);
  }
  for (; n > 0; n--, d += 4, p -= 4) memcpy(d, p, 4);
}

void tl_move(char *d, intptr_t ds, const char *p, intptr_t ss, int64_t n, int size) {
  if (ds == size && ss == size) {
    tl_copy_row(d, p, (size_t)n * (size_t)size);
    return;
  }
  const bool fill = ds == size && !ss;
  switch (size) {
  case 1: MOVE(uint8_t); break;
  case 2: MOVE(uint16_t); break;
  case 4:
    if (fill) FILL(uint32_t);
    else if (ds == 4 && ss == -4) move_reversed(d, p, (intptr_t)n);
    else MOVE(uint32_t);
    break;
  case 8:
    if (fill) FILL(uint64_t);
    else MOVE(uint64_t);
    break;
  default: MOVE(tl_c128); break;
  }
}

typedef struct {
  tl_dtype to, from;
} CopyCtx;

static int copy_loop(void *ctx, char **ptrs, const intptr_t *st, int64_t n) {
  const CopyCtx *c = ctx;
  int ed = tl_itemsize[c->to], es = tl_itemsize[c->from];
  if (c->to == c->from) {
    tl_move(ptrs[0], st[0], ptrs[1], st[1], n, ed);
    return 0;
  }
  if (st[0] == ed && st[1] == es) {
    tl_cast_contig(c->to, ptrs[0], c->from, ptrs[1], n);
    return 0;
  }
  _Alignas(16) char a[CHUNK * 16], b[CHUNK * 16];
  for (int64_t at = 0; at < n; at += CHUNK) {
    int64_t m = n - at < CHUNK ? n - at : CHUNK;
    char *d = ptrs[0] + at * st[0];
    const char *s = ptrs[1] + at * st[1];
    if (st[1] != es) {
      tl_move(a, es, s, st[1], m, es);
      s = a;
    }
    tl_cast_contig(c->to, b, c->from, s, m);
    tl_move(d, st[0], b, ed, m, ed);
  }
  return 0;
}

/* A plane of elements: dim 0 is the innermost of dst, dim 1 that of src. */
typedef struct {
  int64_t n[2];
  intptr_t d[2], s[2];
  int size;
  CopyCtx dtypes;
  int64_t work;
} Plane;
enum { TILE = 32, FEW = 8 }; /* TILE: elements a side: they fit the first cache level */

/* four rows of four elements of 4 bytes become columns */
static inline void turn_4x4(char *d, intptr_t row, const char *p, intptr_t column) {
  v4f_4 a = *(const v4f_4 *)p, b = *(const v4f_4 *)(p + column), c = *(const v4f_4 *)(p + 2 * column),
        e = *(const v4f_4 *)(p + 3 * column);
  v4f_4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), ce = __builtin_shufflevector(c, e, 0, 4, 1, 5);
  *(v4f_4 *)d = __builtin_shufflevector(ab, ce, 0, 1, 4, 5);
  *(v4f_4 *)(d + row) = __builtin_shufflevector(ab, ce, 2, 3, 6, 7);
  ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  ce = __builtin_shufflevector(c, e, 2, 6, 3, 7);
  *(v4f_4 *)(d + 2 * row) = __builtin_shufflevector(ab, ce, 0, 1, 4, 5);
  *(v4f_4 *)(d + 3 * row) = __builtin_shufflevector(ab, ce, 2, 3, 6, 7);
}

/* m0 times m1 elements, by rows of whichever dim is longer */
static void move_tile(const Plane *q, char *d, const char *p, int64_t m0, int64_t m1) {
  int64_t a = 0, b = 0;
  if (q->size == 4 && q->d[0] == 4 && q->s[1] == 4) {
    for (; b + 4 <= m1; b += 4)
      for (a = 0; a + 4 <= m0; a += 4) turn_4x4(d + b * q->d[1] + a * 4, q->d[1], p + a * q->s[0] + b * 4, q->s[0]);
    for (; a < m0 && b; a++) tl_move(d + a * 4, q->d[1], p + a * q->s[0], 4, b, 4);
    d += b * q->d[1];
    p += b * 4;
    m1 -= b;
  }
  const int inner = m1 > m0; /* the longer one */
  const int64_t rows = inner ? m0 : m1, n = inner ? m1 : m0;
  for (int64_t r = 0; r < rows; r++)
    tl_move(d + r * q->d[!inner], q->d[inner], p + r * q->s[!inner], q->s[inner], n, q->size);
}

/* the same into another dtype, by rows of src */
static void cast_tile(const Plane *q, char *d, const char *p, int64_t m0, int64_t m1) {
  _Alignas(16) char cast[TILE * TILE * 16];
  Plane t = *q;
  t.s[0] = TILE * (t.s[1] = q->size);
  for (int64_t i = 0; i < m0; i++) tl_cast_contig(q->dtypes.to, cast + i * t.s[0], q->dtypes.from, p + i * q->s[0], m1);
  move_tile(&t, d, cast, m0, m1);
}

static int plane_loop(void *ctx, char **ptrs, const intptr_t *st, int64_t n) {
  Plane *q = ctx;
  const bool cast = q->dtypes.to != q->dtypes.from;
  const int64_t tile0 = TILE, tile1 = q->n[0] < 16 && !cast ? 512 : TILE;
  for (int64_t k = 0; k < n; k++)
    for (int64_t j = 0; j < q->n[1]; j += tile1) {
      const int64_t m1 = q->n[1] - j < tile1 ? q->n[1] - j : tile1;
      for (int64_t i = 0; i < q->n[0]; i += tile0) {
        const int64_t m0 = q->n[0] - i < tile0 ? q->n[0] - i : tile0;
        (cast ? cast_tile : move_tile)(q, ptrs[0] + k * st[0] + j * q->d[1] + i * q->d[0],
                                       ptrs[1] + k * st[1] + j * q->s[1] + i * q->s[0], m0, m1);
        if (TL_TICK(q->work, m0 * m1)) return -1;
      }
    }
  return 0;
}

/* Short rows that lie side by side in dst, and so, in reverse or as one element in src: a call through the iterator for
 * each would cost more than its copy. */
static bool rows_of(const TlIter *it, const CopyCtx *dtypes) {
  const intptr_t size = tl_itemsize[dtypes->to], from = it->strides[1][0];
  return dtypes->to == dtypes->from && it->ndim > 1 && it->strides[0][0] == size &&
         (from == size || from == -size || !from) && it->shape[0] * size <= 512;
}
static int rows_loop(void *ctx, char **ptrs, const intptr_t *st, int64_t n) {
  Plane *q = ctx;
  const size_t bytes = (size_t)(q->n[0] * q->size);
  const bool alike = q->s[0] == q->size;
  for (int64_t k = 0; k < n; k++) {
    char *d = ptrs[0] + k * st[0];
    const char *p = ptrs[1] + k * st[1];
    if (TL_TICK(q->work, q->n[0] * (q->n[1] & 63))) return -1; /* rows beyond the 64s below */
    for (int64_t j = 0; j < q->n[1]; j++, d += q->d[1], p += q->s[1]) {
      if ((j & 63) == 63 && TL_TICK(q->work, q->n[0] << 6)) return -1;
      if (alike) tl_copy_row(d, p, bytes);
      else if (q->s[0] == -4 && q->size == 4) move_reversed(d, p, (intptr_t)q->n[0]);
      else tl_move(d, q->d[0], p, q->s[0], q->n[0], q->size);
    }
  }
  return 0;
}

/* Where src lies side by side along another dim than dst does, and for rows_of: takes these dims out of `it`, or
 * returns false. */
static bool take_plane(TlIter *it, const CopyCtx *dtypes, Plane *q) {
  intptr_t first = it->strides[1][0], least = first < 0 ? -first : first;
  int dim = 0;
  for (int d = 1; d < it->ndim; d++) {
    const intptr_t s = it->strides[1][d] < 0 ? -it->strides[1][d] : it->strides[1][d];
    if (!s || s >= least) continue;
    least = s;
    dim = d;
  }
  const bool few = it->ndim > 1 && it->shape[0] < FEW && dtypes->to == dtypes->from; /* short rows: by columns */
  if (!dim && (few || rows_of(it, dtypes))) dim = 1;
  /* a row of dst that is long, of elements that are near to each other, is read well as it is */
  else if (!dim || it->shape[dim] < 4 || (it->shape[0] >= 16 && (first < 0 ? -first : first) <= 128)) return false;
  if (dtypes->to != dtypes->from && it->strides[1][dim] != tl_itemsize[dtypes->from]) return false;
  q->dtypes = *dtypes;
  q->size = tl_itemsize[dtypes->to];
  q->work = 0;
  for (int k = 0; k < 2; k++) {
    q->n[k] = it->shape[k ? dim : 0];
    q->d[k] = it->strides[0][k ? dim : 0];
    q->s[k] = it->strides[1][k ? dim : 0];
  }
  int n = 0;
  for (int d = 1; d < it->ndim; d++) {
    if (d == dim) continue;
    it->shape[n] = it->shape[d];
    for (int k = 0; k < 2; k++) it->strides[k][n] = it->strides[k][d];
    n++;
  }
  if (!n) {
    it->shape[n++] = 1;
    it->strides[0][0] = it->strides[1][0] = 0;
  }
  it->ndim = n;
  return true;
}

static void span(const TlTensor *t, const char **lo, const char **hi) {
  int64_t a = 0, b = 0;
  for (int d = 0; d < t->ndim; d++) {
    int64_t e = (t->shape[d] - 1) * t->strides[d];
    if (e > 0) b += e;
    else a += e;
  }
  *lo = tl_data(t) + a * tl_itemsize[t->dtype];
  *hi = tl_data(t) + (b + 1) * tl_itemsize[t->dtype];
}

static bool same_layout(const TlTensor *a, const TlTensor *b) {
  if (a->dtype != b->dtype || a->ndim != b->ndim || tl_data(a) != tl_data(b)) return false;
  for (int d = 0; d < a->ndim; d++)
    if (a->shape[d] != b->shape[d] || (a->strides[d] != b->strides[d] && a->shape[d] > 1)) return false;
  return true;
}

/* ---- pending signs: applied to a copy ---------------------------------------------------------------------------- */
/* changes the signs of n elements of dtype d, side by side */
static int apply_signs(tl_dtype d, void *p, int64_t n, int lazy) {
#define SIGNS(T, at, odd)                                                                                      \
  { T *x = p, even_ = lazy & TL_NEG ? (T)1 << at : 0, odd_ = odd ? (T)1 << at : 0;                             \
    for (int64_t i = 0; i < n; i += 2) { x[i] ^= even_; x[i + 1] ^= odd_; }                                    \
    break; }
#define MINUS(T) { T *x = p; for (int64_t i = 0; i < n && lazy & TL_NEG; i++) x[i] = (T)(0 - x[i]); break; }
#define REALS(T, at) { T *x = p; for (int64_t i = 0; i < n && lazy & TL_NEG; i++) x[i] ^= (T)1 << at; break; }
  bool odd = !(lazy & TL_NEG) != !(lazy & TL_CONJ); /* of imaginary parts */
  if (tl_is_complex(d)) n *= 2;
  switch (d) {
  case TL_C32: SIGNS(uint16_t, 15, odd)
  case TL_C64: SIGNS(uint32_t, 31, odd)
  case TL_C128: SIGNS(uint64_t, 63, odd)
  case TL_F64: REALS(uint64_t, 63)
  case TL_F32: REALS(uint32_t, 31)
  case TL_F16:
  case TL_BF16: REALS(uint16_t, 15)
  case TL_I64: MINUS(uint64_t)
  case TL_I32: MINUS(uint32_t)
  case TL_I16: MINUS(uint16_t)
  case TL_I8:
  case TL_U8: MINUS(uint8_t)
  default:
    if (lazy & TL_NEG) {
      PyErr_SetString(PyExc_NotImplementedError, "\"neg_cpu\" not implemented for 'Bool'");
      return -1;
    }
  }
  return 0;
}

static TlTensor *with_signs(TlTensor *t, int lazy) { /* a view of t's memory with these pending signs */
  TlTensor *v = tl_alias(t, t->ndim, t->shape, t->strides, t->offset, false);
  if (v) v->flags = (uint16_t)((v->flags & ~TL_LAZY) | lazy);
  return v;
}

static TlTensor *signs_applied(TlTensor *t) {
  if (t->device) {
    PyObject *r = PyObject_CallFunctionObjArgs(tl_reg.resolve, (PyObject *)t, NULL);
    return (TlTensor *)r;
  }
  TlTensor *raw = with_signs(t, 0), *r = raw ? tl_empty_preserved(TL_CPU, raw, (tl_dtype)t->dtype) : NULL;
  if (r && (tl_copy(r, raw) < 0 || apply_signs((tl_dtype)r->dtype, tl_data(r), r->numel, t->flags) < 0)) Py_CLEAR(r);
  Py_XDECREF(raw);
  return r;
}

static int copy_signs(TlTensor *dst, TlTensor *src) {
  int lazy = (dst->flags ^ src->flags) & TL_LAZY, rc = -1;
  if (dst->dtype == TL_BOOL && !(dst->flags & TL_NEG)) lazy = 0; /* true is true of either sign */
  TlTensor *to = with_signs(dst, 0), *from = with_signs(src, 0), *tmp = NULL;
  if (!to || !from) goto done;
  if (!lazy) rc = tl_copy(to, from);
  else if (!to->device && !(to->flags & TL_MISALIGNED) && tl_is_dense(to))
    rc = tl_copy(to, from) < 0 ? -1 : apply_signs((tl_dtype)to->dtype, tl_data(to), to->numel, lazy);
  else {
    from->flags = (uint16_t)(from->flags | lazy);
    if ((tmp = tl_direct(from))) rc = tl_copy(to, tmp);
  }
done:
  Py_XDECREF(to);
  Py_XDECREF(from);
  Py_XDECREF(tmp);
  return rc;
}

/* ---- misaligned elements: moved as bytes, computed on in an aligned copy ----------------------------------------- */
static int bytes_loop(void *ctx, char **ptrs, const intptr_t *st, int64_t n) {
  size_t size = *(const size_t *)ctx;
  for (int64_t i = 0; i < n; i++) memcpy(ptrs[0] + i * st[0], ptrs[1] + i * st[1], size);
  return 0;
}

static int copy_bytes(TlTensor *dst, TlTensor *src) { /* one dtype, one shape */
  TlIter it;
  TlTensor *ops[2] = {dst, src};
  size_t size = tl_itemsize[dst->dtype];
  tl_iter_init(&it, 2, ops, dst->ndim, dst->shape);
  return tl_iter_run(&it, bytes_loop, &size);
}

TlTensor *tl_direct(TlTensor *t) {
  if (!(t->flags & TL_INDIRECT)) return (TlTensor *)Py_NewRef(t);
  if (t->flags & TL_LAZY) return signs_applied(t);
  TlTensor *r = tl_empty((tl_dtype)t->dtype, t->ndim, t->shape);
  if (r && copy_bytes(r, t) < 0) Py_CLEAR(r);
  return r;
}

static int copy_misaligned(TlTensor *dst, TlTensor *src) {
  TlTensor *from = tl_direct(src), *to = NULL;
  int rc = -1;
  if (from && !(dst->flags & TL_MISALIGNED)) rc = tl_copy(dst, from);
  else if (from && (to = tl_empty((tl_dtype)dst->dtype, dst->ndim, dst->shape)) && tl_copy(to, from) == 0)
    rc = copy_bytes(dst, to);
  Py_XDECREF(from);
  Py_XDECREF(to);
  return rc;
}

int tl_copy(TlTensor *dst, TlTensor *src) {
  int rc = -1;
  TlTensor *tmp = NULL;
  if (dst->numel == 0) return 0;
  dst->storage->writes++;
  if ((dst->flags | src->flags) & TL_INDIRECT)
    return (dst->flags | src->flags) & TL_LAZY ? copy_signs(dst, src) : copy_misaligned(dst, src);
  if (dst->dtype != src->dtype && (dst->dtype == TL_F4E2M1FNX2 || src->dtype == TL_F4E2M1FNX2)) {
    tl_not_implemented("copy_", TL_F4E2M1FNX2);
    return -1;
  }
  if (dst->device | src->device) return tl_device_copy(dst, src);
  if (dst->storage == src->storage) {
    if (same_layout(dst, src)) return 0;
    const char *a, *b, *c, *d;
    span(dst, &a, &b);
    span(src, &c, &d);
    if (a < d && c < b) { /* through a copy; its memory is fresh, so this does not come back here */
      if (!(tmp = tl_empty((tl_dtype)src->dtype, src->ndim, src->shape))) return -1;
      if (tl_copy(tmp, src) < 0) goto done;
      src = tmp;
    }
  }
  CopyCtx ctx = {(tl_dtype)dst->dtype, (tl_dtype)src->dtype};
  if (tl_is_contiguous(dst) && tl_is_contiguous(src) && dst->numel == src->numel && dst->numel < (1 << 16)) {
    tl_cast_contig(ctx.to, tl_data(dst), ctx.from, tl_data(src), dst->numel);
    rc = 0;
    goto done;
  }
  TlIter it;
  TlTensor *ops[2] = {dst, src};
  tl_iter_init(&it, 2, ops, dst->ndim, dst->shape);
  Plane plane;
  bool rows = rows_of(&it, &ctx);
  if (take_plane(&it, &ctx, &plane)) {
    rows = rows && (plane.s[0] == plane.size || plane.n[0] >= FEW);
    rc = tl_iter_run(&it, rows ? rows_loop : plane_loop, &plane);
  } else rc = tl_iter_run(&it, copy_loop, &ctx);
done:
  Py_XDECREF((PyObject *)tmp);
  return rc;
}

/* ---- fill ------------------------------------------------------------------------------------------------------- */
typedef struct {
  _Alignas(16) char value[16];
  int size;
  bool misaligned;
} FillCtx;

static int fill_loop(void *ctx, char **ptrs, const intptr_t *st, int64_t n) {
  const FillCtx *c = ctx;
  bool zero = true;
  for (int i = 0; i < c->size; i++) zero = zero && !c->value[i];
  if (zero && st[0] == c->size) memset(ptrs[0], 0, (size_t)n * c->size);
  else if (c->size == 1 && st[0] == 1) memset(ptrs[0], c->value[0], (size_t)n);
  else if (c->misaligned)
    for (int64_t i = 0; i < n; i++) memcpy(ptrs[0] + i * st[0], c->value, (size_t)c->size);
  else if (c->size == 4 && st[0] == 4) {
    uint32_t v, *o = (uint32_t *)ptrs[0];
    memcpy(&v, c->value, 4);
    for (int64_t i = 0; i < n; i++) o[i] = v;
  } else tl_move(ptrs[0], st[0], c->value, 0, n, c->size);
  return 0;
}

/* It is an error to fill a tensor with a finite number beyond the range of its dtype. */
int tl_check_finite(tl_dtype d, PyObject *value) {
  static const double limits[TL_NUM_DTYPES] = {[TL_F16] = 65504.0,
                                               [TL_BF16] = 3.3895313892515355e38,
                                               [TL_F32] = 3.4028234663852886e38,
                                               [TL_C64] = 3.4028234663852886e38,
                                               [TL_F8E4M3FN] = 448,
                                               [TL_F8E5M2] = 57344,
                                               [TL_F8E4M3FNUZ] = 240,
                                               [TL_F8E5M2FNUZ] = 57344,
                                               [TL_F8E8M0FNU] = 1.7014118346046923e38};
  const double limit = limits[d];
  double parts[2] = {0, 0};
  if (!limit || !(PyFloat_Check(value) || PyLong_Check(value) || PyComplex_Check(value))) return 0;
  parts[0] = PyComplex_RealAsDouble(value);
  if (parts[0] == -1 && PyErr_Occurred()) return -1;
  if (PyComplex_Check(value)) parts[1] = PyComplex_ImagAsDouble(value);
  for (int i = 0; i < 2; i++)
    if (((parts[i] > limit || parts[i] < -limit) &&
         (parts[i] - parts[i] == 0 || (tl_is_limited(d) && d != TL_F8E5M2))) ||
        (d == TL_F8E8M0FNU && PyFloat_Check(value) && parts[0] < 5.877471754111438e-39))
      return tl_conversion_error(tl_cpp_type[d]);
  return 0;
}

int tl_fill(TlTensor *dst, PyObject *value) {
  const tl_dtype d = (tl_dtype)dst->dtype;
  FillCtx c = {{0}, tl_itemsize[d], dst->flags & TL_MISALIGNED};
  dst->storage->writes++;
  if (dst->device && !(dst->flags & TL_LAZY)) return dst->numel ? tl_device_fill(dst, value) : 0;
  if (tl_scalar_store(d, c.value, value) < 0 || tl_check_finite(d, value) < 0) return -1;
  if (dst->flags & TL_LAZY && apply_signs(d, c.value, 1, dst->flags) < 0) return -1;
  if (dst->device) {
    TlTensor *to = with_signs(dst, 0);
    PyObject *number = to ? tl_scalar_object(d, c.value) : NULL;
    int rc = number ? tl_fill(to, number) : -1;
    Py_XDECREF(number);
    Py_XDECREF(to);
    return rc;
  }
  if (dst->numel == 0) return 0;
  TlIter it;
  tl_iter_init(&it, 1, &dst, dst->ndim, dst->shape);
  return tl_iter_run(&it, fill_loop, &c);
}
