/* fft.c: discrete Fourier transforms along the dims of a tensor. Stockham's mixed radix for lengths of small primes, in
 * the tensor's own precision; Bluestein's convolution, in double, for the others. Only the forward transform is
 * written; the backward one exchanges real and imaginary parts before and after. */
#include "core/check.h"
#include "core/errors.h"
#include "core/geometry.h"
#include "reduce/reduce.h"
#include "math/simd.h"
#include <math.h>

enum { MAX_RADIX = 97, BLOCK = 8, KEPT = 4, KEPT_MOST = 1 << 15 };

typedef struct Plan {
  int64_t n, m; /* m: length of the convolution, 0 when n has small factors only */
  int nf, f[64];
  bool wide;    /* whether it transforms numbers of double */
  void *tw;     /* exp(-2 pi i k / n) as such numbers, or the chirp exp(-pi i k^2 / n) in double */
  v2d *filter;  /* the chirp's transform over m */
  void *halves; /* exp(-pi i k / n), k <= n, like tw: for rows of 2 n real numbers; made when it is asked for */
  struct Plan *conv;
} Plan;

/* exp(-2 pi i k / n), 0 <= k < n, from an angle of at most pi / 4 */
static v2d unit(int64_t k, int64_t n) {
  bool low = 2 * k > n;
  if (low) k = n - k;
  bool left = 4 * k > n;
  int64_t q = left ? 2 * n - 4 * k : 4 * k;
  bool steep = 2 * q > n;
  if (steep) q = n - q;
  double a = 1.57079632679489661923 * (double)q / (double)n, c = cos(a), s = sin(a);
  if (steep) {
    double t = c;
    c = s;
    s = t;
  }
  return (v2d){left ? -c : c, low ? s : -s};
}

static int factors(int64_t n, int *f) {
  int nf = 0;
  for (; n % 4 == 0; n /= 4) f[nf++] = 4;
  for (int r = 2; r <= MAX_RADIX; r += r == 2 ? 1 : 2)
    for (; n % r == 0; n /= r) f[nf++] = r;
  return n == 1 ? nf : -1;
}

static bool stopped; /* a signal's exception is set; the caller of the transform checks this and raises it */

#define VEC v2d
#define REAL double
#define LANES 1
#define NAME(f) f##_double
#define SHUFFLE(v, i, j) __builtin_shufflevector(v, v, i, j)
#define BOTH(a, b) ((v2d){a, b})
#define ROOT(p, i) (((const v2d *)(p)->tw)[i])
#include "products/fft_stages.h"

static inline v4f two(const float *a, const float *b) { /* a complex number of each */
  double x, y;
  memcpy(&x, a, 8);
  memcpy(&y, b, 8);
  return (v4f)(v2d){x, y};
}
static inline v4f twice(const void *tw, intptr_t i) {
  return two((const float *)tw + 2 * i, (const float *)tw + 2 * i);
}
static void first_of_one(const Plan *p, const float *a, float *to);

#define VEC v4f
#define REAL float
#define LANES 2
#define NAME(f) f##_float
#define SHUFFLE(v, i, j) __builtin_shufflevector(v, v, i, j, 2 + i, 2 + j)
#define BOTH(a, b) ((v4f){a, b, a, b})
#define ROOT(p, i) twice((p)->tw, (intptr_t)(i))
#include "products/fft_stages.h"

/* The first stage, of radix 4, of a single line of at least 8 numbers: two butterflies at once. If their number is odd,
 * the last pair repeats one. */
static void first_of_one(const Plan *p, const float *a, float *to) {
  const float *tw = p->tw;
  const intptr_t m = (intptr_t)(p->n / 4);
  for (intptr_t q = 0; q < m; q += 2) {
    if (q + 2 > m) q = m - 2;
    const v4f w[3] = {v4_load(tw + 2 * q), two(tw + 4 * q, tw + 4 * q + 4), two(tw + 6 * q, tw + 6 * q + 6)};
    const float *x = a + 2 * q;
    v4f z[4];
    radix4_float(v4_load(x), v4_load(x + 2 * m), v4_load(x + 4 * m), v4_load(x + 6 * m), w, z, 1);
    for (int j = 0; j < 4; j += 2) {
      v4_store(to + 8 * q + 2 * j, __builtin_shufflevector(z[j], z[j + 1], 0, 1, 4, 5));
      v4_store(to + 8 * q + 2 * j + 8, __builtin_shufflevector(z[j], z[j + 1], 2, 3, 6, 7));
    }
  }
}

static inline v2d swapped(v2d v) { return (v2d){v[1], v[0]}; }
static inline v2d conjugate(v2d v) { return (v2d){v[0], -v[1]}; }
static inline v2d cmul(v2d a, v2d w) { return cmul_double(a, w); }
static inline v2d times_minus_i(v2d v) { return (v2d){v[1], -v[0]}; }

static inline v2d get(const void *p, bool wide, int64_t i) {
  return wide ? v2_load((const double *)p + 2 * i) : v2_widened((const float *)p + 2 * i);
}
static inline void put(void *p, bool wide, int64_t i, v2d v) {
  if (wide) *((v2d_u *)p + i) = v;
  else v2_narrowed((float *)p + 2 * i, v);
}
static inline double get1(const void *p, bool wide, int64_t i) {
  return wide ? ((const double *)p)[i] : ((const float *)p)[i];
}
static inline void put1(void *p, bool wide, int64_t i, double v) {
  if (wide) ((double *)p)[i] = v;
  else ((float *)p)[i] = (float)v;
}

static void *transform(const Plan *p, void *from, void *to, int64_t B) {
  if (!p->m) return p->wide ? stockham_double(p, from, to, B) : stockham_float(p, from, to, B);
  v2d *x = from, *y = to;
  const v2d *chirp = p->tw;
  const int64_t n = p->n, m = p->m;
  TL_LOOP(k, n)
    for (int64_t b = 0; b < B; b++) x[k * B + b] = cmul(x[k * B + b], chirp[k]);
  memset(x + n * B, 0, (size_t)((m - n) * B) * sizeof *x);
  v2d *r = stockham_double(p->conv, x, y, B);
  TL_LOOP(k, m)
    for (int64_t b = 0; b < B; b++) r[k * B + b] = swapped(cmul(r[k * B + b], p->filter[k]));
  r = stockham_double(p->conv, r, r == x ? y : x, B);
  const double scale = 1.0 / (double)m;
  TL_LOOP(k, n)
    for (int64_t b = 0; b < B; b++) r[k * B + b] = cmul(swapped(r[k * B + b]), chirp[k]) * v2_set1(scale);
  return r;
}

static void plan_free(Plan *p) {
  if (!p) return;
  plan_free(p->conv);
  tl_free(p->tw);
  tl_free(p->filter);
  tl_free(p->halves);
  tl_free(p);
}

static Plan *plan_make(int64_t n, bool wide) {
  Plan *p = tl_malloc(sizeof *p);
  v2d *work = NULL, *chirp;
  if (!p) return NULL;
  memset(p, 0, sizeof *p);
  p->n = n;
  p->nf = factors(n, p->f);
  p->wide = wide || p->nf < 0;
  if (!(p->tw = tl_malloc((uint64_t)n * (p->wide ? sizeof(v2d) : 8)))) goto fail;
  if (p->nf >= 0) {
    TL_LOOP(k, n) put(p->tw, wide, k, unit(k, n));
    if (tl_work(0) < 0) goto fail;
    return p;
  }
  for (p->m = 4; p->m < 2 * n - 1; p->m *= 2) {}
  if (p->m / 4 * 3 >= 2 * n - 1) p->m = p->m / 4 * 3;
  const int64_t m = p->m;
  if (!(p->conv = plan_make(m, true)) || !(p->filter = tl_malloc((uint64_t)m * sizeof(v2d))) ||
      !(work = tl_malloc((uint64_t)m * sizeof(v2d))))
    goto fail;
  chirp = p->tw;
  memset(p->filter, 0, (size_t)m * sizeof(v2d));
  int64_t sq = 0; /* k * k mod 2 n */
  TL_LOOP(k, n) {
    chirp[k] = unit(sq, 2 * n);
    p->filter[k] = conjugate(chirp[k]);
    if (k) p->filter[m - k] = p->filter[k];
    sq = (sq + 2 * k + 1) % (2 * n);
  }
  v2d *r = stockham_double(p->conv, p->filter, work, 1);
  if (r == work) {
    work = p->filter;
    p->filter = r;
  }
  if (stopped || tl_work(0) < 0) goto fail;
  tl_free(work);
  return p;
fail:
  tl_free(work);
  plan_free(p);
  return NULL;
}

/* The last plans that were used, of at most KEPT_MOST numbers. Who uses one has taken it out: a signal's handler may
 * transform as well. */
static Plan *kept[KEPT];

static Plan *plan_take(int64_t n, bool wide) {
  for (int i = 0; i < KEPT; i++)
    if (kept[i] && kept[i]->n == n && (kept[i]->wide == wide || kept[i]->m)) {
      Plan *p = kept[i];
      kept[i] = NULL;
      return p;
    }
  return plan_make(n, wide);
}

static void plan_give(Plan *p) {
  if (!p || p->n > KEPT_MOST) {
    plan_free(p);
    return;
  }
  int i = 0;
  while (i < KEPT - 1 && kept[i]) i++;
  plan_free(kept[i]);
  memmove(kept + 1, kept, (size_t)i * sizeof *kept);
  kept[0] = p;
}

static bool with_halves(Plan *p) {
  if (p->halves) return true;
  if (!(p->halves = tl_malloc((uint64_t)(p->n + 1) * (p->wide ? sizeof(v2d) : 8)))) return false;
  TL_LOOP(k, p->n + 1) put(p->halves, p->wide, k, unit(k, 2 * p->n));
  if (tl_work(0) == 0) return true;
  tl_free(p->halves);
  p->halves = NULL;
  return false;
}

/* two work buffers for B lines; *y is in the same block as *x */
static void *buffers(const Plan *p, int64_t B, void **y) {
  const uint64_t size = ((uint64_t)((p->m ? p->m : p->n) * B) * (p->wide ? 16 : 8) + 15) / 16 * 16;
  char *x = tl_malloc(2 * size);
  *y = x + size;
  return x;
}

/* Whether a plan transforms a line where it lies, as numbers of double or of float. */
static bool in_place(const Plan *p, bool wide) {
  return p->wide == wide && !p->m && (wide || (p->n >= 8 && p->f[0] == 4));
}

/* how many lines go together where they do not: as many as stay in the first cache level, eight at most */
static int64_t together(const Plan *p, int64_t lines) {
  const int64_t most = tl_clamp((p->wide ? 1024 : 2048) / (p->m ? p->m : p->n), 1, BLOCK);
  return lines < most ? lines : most;
}

/* Lines in float go in pairs: an odd number of them gets one of zeros. */
static int64_t padded(const Plan *p, int64_t B, void *x) {
  if (p->wide || B % 2 == 0) return B;
  memset(x, 0, (size_t)(p->n * (B + 1)) * 8);
  return B + 1;
}

/* n numbers times scale, real and imaginary parts exchanged if they are to be; n is even where they are float */
static void scaled(void *to, const void *from, bool wide, intptr_t n, bool turn, double scale) {
  if (wide)
    TL_LOOP(k, n) {
      const v2d v = ((const v2d *)from)[k] * v2_set1(scale);
      ((v2d *)to)[k] = turn ? (v2d){v[1], v[0]} : v;
    }
  else
    TL_LOOP(k, n / 2) {
      const v4f v = ((const v4f *)from)[k] * v4_set1((float)scale);
      ((v4f *)to)[k] = turn ? (v4f){v[1], v[0], v[3], v[2]} : v;
    }
}

/* every line of one dim of a dense complex tensor, in place */
static int lines(TlTensor *t, int dim, bool forward, double scale) {
  if (tl_meta) return 0;
  const int64_t n = t->shape[dim], inner = t->strides[dim], outer = t->numel / (n * inner);
  const bool rows = inner == 1; /* a line lies in one piece; else lines lie side by side */
  const int64_t groups = rows ? 1 : outer, count = rows ? outer : inner, next = rows ? n : 1;
  const bool wide = t->dtype == TL_C128;
  char *data = tl_data(t);
  void *x = NULL, *y;
  int rc = -1;
  Plan *p = plan_take(n, wide);
  int64_t cap = count < BLOCK ? count : BLOCK;
  const bool here = rows && p && in_place(p, wide);
  if (p && rows) cap = here ? 1 : together(p, count);
  if (!p || !(x = buffers(p, here ? 1 : cap + 1, &y))) goto end;
  const bool wide_x = p->wide;
  for (int64_t o = 0; o < groups; o++)
    for (int64_t i = 0; i < count; i += cap) {
      const int64_t real = count - i < cap ? count - i : cap, B = here ? 1 : padded(p, real, x);
      char *at = data + (o * n * inner + i * next) * tl_itemsize[t->dtype];
      if (here) {
        if (!forward) scaled(at, at, wide, (intptr_t)n, true, 1);
        const void *r = transform(p, at, y, 1);
        if (r != at || !forward || scale != 1) scaled(at, r, wide, (intptr_t)n, !forward, scale);
      }
      TL_LOOP(k, here ? 0 : n)
        for (int64_t b = 0; b < real; b++) {
          v2d v = get(at, wide, k * inner + b * next);
          put(x, wide_x, k * B + b, forward ? v : swapped(v));
        }
      const void *r = here ? at : transform(p, x, y, B);
      TL_LOOP(k, here ? 0 : n)
        for (int64_t b = 0; b < real; b++) {
          v2d v = get(r, wide_x, k * B + b) * v2_set1(scale);
          put(at, wide, k * inner + b * next, forward ? v : swapped(v));
        }
      if (stopped || tl_work(n * B) < 0) goto end;
    }
  rc = 0;
end:
  stopped = false;
  tl_free(x);
  plan_give(p);
  return rc;
}

/* Reads the half of a spectrum, c: h + 1 numbers for n real ones, h = n / 2. It becomes line b of B in x, ready for the
 * plan p of n numbers or of h. */
static void from_half(const Plan *p, const void *c, bool wide, int64_t n, void *x, int64_t b, int64_t B) {
  const int64_t h = n / 2;
  TL_LOOP(k, h + 1) {
    v2d v = get(c, wide, k);
    if (k == 0) v[1] = 0;
    if (p->n == n) {
      put(x, p->wide, k * B + b, swapped(v));
      if (k) put(x, p->wide, (n - k) * B + b, swapped(conjugate(v)));
    } else if (k < h) {
      v2d u = conjugate(get(c, wide, h - k));
      if (k == 0) u[1] = 0;
      v = v + u - times_minus_i(cmul(v - u, conjugate(get(p->halves, p->wide, k))));
      put(x, p->wide, k * B + b, swapped(v));
    }
  }
}
/* to[i] is the conjugate of from[-i] */
static void mirrored(void *to, const void *from, bool wide, intptr_t n) {
  if (wide)
    TL_LOOP(i, n) ((v2d *)to)[i] = conjugate(((const v2d *)from)[-i]);
  else
    TL_LOOP(i, n) {
      ((float *)to)[2 * i] = ((const float *)from)[-2 * i];
      ((float *)to)[2 * i + 1] = -((const float *)from)[-2 * i + 1];
    }
}

/* Writes that half from line b of B in the transform r; `complete`: the other half as well. */
static void to_half(const Plan *p, const void *r, int64_t b, int64_t B, int64_t n, double scale, void *c, bool wide,
                    bool complete) {
  const int64_t h = n / 2;
  if (p->n == n) {
    TL_LOOP(k, h + 1) put(c, wide, k, get(r, p->wide, k * B + b) * v2_set1(scale));
  } else {
    const v2d half = v2_set1(0.5 * scale), first = get(r, p->wide, b) * v2_set1(scale);
    put(c, wide, 0, (v2d){first[0] + first[1], 0});
    put(c, wide, h, (v2d){first[0] - first[1], 0});
    int64_t k = 1, work = 0;
    if (B == 1 && !p->wide && !wide) { /* by twos */
      const v4f factor = v4_set1((float)(0.5 * scale)), conj = {1, -1, 1, -1};
      for (; 2 * k + 2 < h && !TL_TICK(work, 2); k += 2) {
        const float *low = (const float *)r + 2 * k, *high = (const float *)r + 2 * (h - k);
        const v4f v = v4_load(low), u = two(high, high - 2) * conj, even = (v + u) * factor,
                  odd = cmul_float(turned_float(v - u, 1, -1) * factor, v4_load((const float *)p->halves + 2 * k)),
                  last = (even - odd) * conj;
        v4_store((float *)c + 2 * k, even + odd);
        v4_store((float *)c + 2 * (h - k) - 2, __builtin_shufflevector(last, last, 2, 3, 0, 1));
      }
    }
    for (; k + k <= h && !TL_TICK(work, 2); k++) {
      const v2d v = get(r, p->wide, k * B + b), u = conjugate(get(r, p->wide, (h - k) * B + b)), even = (v + u) * half,
                odd = cmul(times_minus_i(v - u) * half, get(p->halves, p->wide, k));
      put(c, wide, h - k, conjugate(even) - conjugate(odd));
      put(c, wide, k, even + odd);
    }
  }
  if (complete)
    mirrored((char *)c + (h + 1) * (wide ? 16 : 8), (char *)c + (n - h - 1) * (wide ? 16 : 8), wide,
             (intptr_t)(n - h - 1));
}

/* Rows of n real numbers and of h + 1 complex ones, h = n / 2, both contiguous; `stride` complex numbers from row to
 * row (n where the result is to be complete). An even row is taken as h complex numbers: even elements real, odd
 * imaginary. */
static int real_rows(TlTensor *re, TlTensor *cx, int64_t n, int64_t stride, bool to_real, double scale) {
  if (tl_meta) return 0;
  const int64_t h = n / 2, len = n % 2 ? n : h, rows = re->numel / n;
  const bool wide = re->dtype == TL_F64;
  void *x = NULL, *y;
  int rc = -1;
  Plan *p = plan_take(len, wide);
  const bool here = p && len == h && in_place(p, wide);
  const int64_t cap = p && !here ? together(p, rows) : 1;
  if (!p || (len == h && !with_halves(p)) || !(x = buffers(p, here ? 1 : cap + 1, &y))) goto end;
  const bool wide_x = p->wide;
  for (int64_t o = 0; o < rows; o += cap) {
    const int64_t count = rows - o < cap ? rows - o : cap, B = here ? 1 : padded(p, count, x);
    const int64_t next = n * tl_itemsize[re->dtype], next_half = stride * tl_itemsize[cx->dtype];
    char *a = (char *)tl_data(re) + o * next, *c = (char *)tl_data(cx) + o * next_half;
    void *from = here ? a : x;
    for (int64_t b = 0; b < count; b++)
      if (to_real) from_half(p, c + b * next_half, wide, n, from, b, B);
      else if (here) break;
      else if (len == n)
        TL_LOOP(k, n) put(x, wide_x, k * B + b, (v2d){get1(a + b * next, wide, k), 0});
      else
        TL_LOOP(k, h) put(x, wide_x, k * B + b, get(a + b * next, wide, k));
    const void *r = transform(p, from, y, B);
    for (int64_t b = 0; b < count; b++)
      if (!to_real) to_half(p, r, b, B, n, scale, c + b * next_half, wide, stride == n);
      else if (len == n)
        TL_LOOP(k, n) put1(a + b * next, wide, k, get(r, wide_x, k * B + b)[1] * scale);
      else if (here) scaled(a, r, wide, (intptr_t)h, true, scale);
      else
        TL_LOOP(k, h) put(a + b * next, wide, k, swapped(get(r, wide_x, k * B + b)) * v2_set1(scale));
    if (stopped || tl_work(n * B) < 0) goto end;
  }
  rc = 0;
end:
  stopped = false;
  tl_free(x);
  plan_give(p);
  return rc;
}

/* Completes a transform of real numbers from its half: x[i, j] is the conjugate of x[-i, -j], where j is the last of
 * the transformed dims and i stands for the others. */
static void complete(TlTensor *r, TlTensor *half, const int64_t *dims, int nd) {
  const int last = (int)dims[nd - 1];
  const int64_t n = r->shape[last], h = half->shape[last], rs = r->strides[last], hs = half->strides[last];
  const bool wide = r->dtype == TL_C128;
  bool turned[TL_MAX_DIMS] = {false};
  int64_t at[TL_MAX_DIMS] = {0};
  for (int i = 0; i < nd - 1; i++) turned[dims[i]] = true;
  for (int64_t rows = r->numel / n; rows > 0 && !tl_meta && tl_work(n) == 0; rows--) {
    int64_t to = 0, from = 0, mirror = 0;
    for (int d = 0; d < r->ndim; d++) {
      if (d == last) continue;
      to += at[d] * r->strides[d];
      from += at[d] * half->strides[d];
      mirror += (turned[d] && at[d] ? r->shape[d] - at[d] : at[d]) * half->strides[d];
    }
    if (rs == 1 && hs == 1) {
      const int64_t size = wide ? 16 : 8;
      char *row = (char *)tl_data(r) + to * size;
      memcpy(row, (char *)tl_data(half) + from * size, (size_t)(h * size));
      mirrored(row + h * size, (char *)tl_data(half) + (mirror + n - h) * size, wide, (intptr_t)(n - h));
    } else
      for (int64_t k = 0; k < n; k++) {
        const v2d v = get(tl_data(half), wide, k < h ? from + k * hs : mirror + (n - k) * hs);
        put(tl_data(r), wide, to + k * rs, k < h ? v : conjugate(v));
      }
    for (int d = r->ndim - 1; d >= 0; d--) {
      if (d == last) continue;
      if (++at[d] < r->shape[d]) break;
      at[d] = 0;
    }
  }
}

static bool is_real(const TlTensor *t) { /* no imaginary part but 0; asked of tensors that lie in one piece */
  const bool wide = t->dtype == TL_C128;
  if (tl_meta || !tl_is_contiguous(t)) return false;
  TL_LOOP(i, t->numel)
    if (get(tl_data(t), wide, i)[1] != 0) return false;
  return true;
}

/* A dense tensor for results: the transformed dims innermost, each group in the order of t's strides, `last` (or -1)
 * the very last; like PyTorch's. */
static TlTensor *arranged(TlTensor *t, tl_dtype dtype, const int64_t *shape, const int64_t *dims, int nd, int last) {
  int order[TL_MAX_DIMS], group[TL_MAX_DIMS] = {0}, n = 0;
  int64_t strides[TL_MAX_DIMS];
  for (int i = 0; i < nd; i++) group[dims[i]] = 1;
  if (last >= 0) group[last] = 2;
  for (int g = 2; g >= 0; g--) {
    const int start = n;
    for (int d = t->ndim - 1; d >= 0; d--)
      if (group[d] == g) order[n++] = d;
    tl_sort_dims(n - start, order + start, t->strides, false);
  }
  tl_ordered_strides(n, order, shape, 1, strides);
  return tl_empty_strided(dtype, t->ndim, shape, strides);
}

static TlTensor *arranged_copy(TlTensor *t, const int64_t *dims, int nd, int last) {
  TlTensor *r = arranged(t, (tl_dtype)t->dtype, t->shape, dims, nd, last);
  if (r && tl_copy(r, t) < 0) Py_CLEAR(r);
  return r;
}

enum { C2C, R2C, C2R };

/* _fft_c2c(self, dim, normalization, forward), _fft_r2c(self, dim, normalization, onesided),
 * _fft_c2r(self, dim, normalization, last_dim_size): aten's; normalization 0 none, 1 by the root of the size, 2 by the
 * size */
static PyObject *k_fft(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  TlTensor *t = (TlTensor *)args[0], *a = NULL, *r = NULL;
  int64_t dims[TL_MAX_DIMS], shape[TL_MAX_DIMS], mode, flag;
  int nd, ok = -1;
  double size = 1;
  (void)nargs, (void)out;
  if (tl_ints(args[1], dims, &nd) < 0 || tl_int_in(args[2], k->name, "normalization", 0, 2, &mode) < 0) return NULL;
  if (k->id == C2R ? tl_int_in(args[3], k->name, "last_dim_size", 1, INT64_MAX / 4, &flag) < 0
                   : tl_int(args[3], &flag) < 0)
    return NULL;
  if (tl_product(t->ndim, t->shape, NULL) < 0) return NULL;
  if (k->id == R2C ? t->dtype != TL_F32 && t->dtype != TL_F64 : !tl_is_complex(t->dtype))
    return tl_not_implemented(k->name, t->dtype);
  memcpy(shape, t->shape, (size_t)t->ndim * sizeof *shape);
  for (int i = 0; i < nd; i++) {
    int d;
    if (tl_wrap_dim(dims[i], t->ndim, &d) < 0) return NULL;
    dims[i] = d;
    if (t->ndim == 0) nd = 0;
  }
  if (nd <= 0) return k->id == C2C ? Py_NewRef((PyObject *)t) : tl_not_implemented(k->name, t->dtype);
  const int last = (int)dims[nd - 1];
  const int64_t n = k->id == C2R ? flag : t->shape[last];
  for (int i = 0; i < nd; i++) size *= (double)(i == nd - 1 ? n : shape[dims[i]]);
  if (k->id == C2R ? t->shape[last] < n / 2 + 1 : n < 1 && k->id == R2C) {
    PyErr_Format(PyExc_RuntimeError, "%s(): expected at least %lld values along the last dim, got %lld", k->name,
                 (long long)(k->id == C2R ? n / 2 + 1 : 1), (long long)t->shape[last]);
    return NULL;
  }
  double scale = 1;
  if (mode) scale /= mode == 1 ? sqrt(size) : size;
  const tl_dtype complex = tl_complex_of(tl_real_of(t->dtype));
  const bool real = k->id == C2C && flag && nd > 1 && t->numel && is_real(t);
  if (k->id == C2C && !real) {
    r = arranged_copy(t, dims, nd, -1);
    ok = r ? 0 : -1;
    for (int i = 0; i < nd && !ok && r->numel; i++) ok = lines(r, (int)dims[i], flag != 0, i == nd - 1 ? scale : 1);
  } else if (k->id != C2R) { /* half of the last dim, where more than one is transformed */
    const bool whole = real || !flag;
    TlTensor *half = NULL;
    if (!whole || nd > 1) shape[last] = n / 2 + 1;
    a = arranged(t, tl_real_of(t->dtype), t->shape, dims, nd, last);
    if (a && tl_copy(a, t) < 0) Py_CLEAR(a);
    r = a ? arranged(t, complex, shape, dims, nd, last) : NULL;
    ok = !r || (r->numel && real_rows(a, r, n, shape[last], false, scale)) ? -1 : 0;
    for (int i = 0; i < nd - 1 && !ok && r->numel; i++) ok = lines(r, (int)dims[i], true, 1);
    if (!ok && whole && nd > 1) {
      half = r;
      r = arranged(t, complex, t->shape, dims, nd, real ? -1 : last);
      if (r) complete(r, half, dims, nd);
      Py_DECREF((PyObject *)half);
      ok = r ? 0 : -1;
    }
  } else {
    TlTensor *b = (TlTensor *)Py_NewRef((PyObject *)t);
    if (nd > 1) {
      Py_DECREF((PyObject *)b);
      b = arranged_copy(t, dims, nd - 1, -1);
      ok = b ? 0 : -1;
      for (int i = 0; i < nd - 1 && !ok && b->numel; i++) ok = lines(b, (int)dims[i], false, 1);
      if (ok) {
        Py_XDECREF((PyObject *)b);
        return NULL;
      }
    }
    const int64_t one[1] = {last};
    shape[last] = n;
    a = arranged_copy(b, one, 1, last);
    r = a ? arranged(b, tl_real_of(t->dtype), shape, one, 1, last) : NULL;
    Py_DECREF((PyObject *)b);
    ok = !r || (r->numel && real_rows(r, a, n, a->shape[last], true, scale)) ? -1 : 0;
  }
  Py_XDECREF((PyObject *)a);
  if (ok) Py_CLEAR(r);
  return (PyObject *)r;
}

const TlKernel tl_kernels_fft[] = {{"_fft_c2c", k_fft, C2C, TL_K_META, NULL},
                                   {"_fft_r2c", k_fft, R2C, TL_K_META, NULL},
                                   {"_fft_c2r", k_fft, C2R, TL_K_META, NULL},
                                   {0}};
