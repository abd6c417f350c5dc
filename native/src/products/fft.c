/* fft.c: discrete Fourier transforms along the dims of a tensor. Lines are transformed in complex double, whatever the
 * dtype: Stockham's mixed radix for lengths of small primes, Bluestein's convolution for the others. Only the forward
 * transform is written; the backward one exchanges real and imaginary parts before and after. */
#include "core/check.h"
#include "core/errors.h"
#include "core/geometry.h"
#include "reduce/reduce.h"
#include "math/simd.h"
#include <math.h>

enum { MAX_RADIX = 31, BLOCK = 8 };

typedef struct Plan {
  int64_t n, m; /* m: length of the convolution, 0 when n has small factors only */
  int nf, f[64];
  v2d *tw, *filter; /* exp(-2 pi i k / n), or the chirp exp(-pi i k^2 / n); the filter's transform over m */
  struct Plan *conv;
} Plan;

static inline v2d swapped(v2d v) { return (v2d){v[1], v[0]}; }
static inline v2d conjugate(v2d v) { return (v2d){v[0], -v[1]}; }
static inline v2d cmul(v2d a, v2d w) { return a * (v2d){w[0], w[0]} + swapped(a) * (v2d){-w[1], w[1]}; }
static inline v2d times_minus_i(v2d v) { return (v2d){v[1], -v[0]}; }

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

/* One butterfly of an odd prime r, of s lines: elements j and r - j go together. Inlined for an r that is known, its
 * loops are straight code. */
static inline __attribute__((always_inline)) void odd_prime(const Plan *p, const v2d *a, v2d *z, const int r,
                                                            intptr_t s, intptr_t ms, int64_t first_turn) {
  const int half = (r - 1) / 2;
  const int64_t turn = p->n / r;
  for (intptr_t q = 0; q < s; q++) {
    v2d plus[MAX_RADIX / 2], minus[MAX_RADIX / 2], first = a[q], sum = first;
    for (int j = 0; j < half; j++) {
      v2d t = a[q + (j + 1) * ms], u = a[q + (r - 1 - j) * ms];
      plus[j] = t + u;
      minus[j] = t - u;
      sum += plus[j];
    }
    z[q] = sum;
    for (int k = 1; k <= half; k++) {
      v2d even = first, odd = {0, 0};
      for (int j = 0, at = k; j < half; j++, at = at + k < r ? at + k : at + k - r) {
        v2d w = p->tw[at * turn];
        even += plus[j] * (v2d){w[0], w[0]};
        odd += minus[j] * (v2d){w[1], w[1]};
      }
      odd = times_minus_i(-odd); /* i * odd, where odd has the sign of -sin */
      z[q + k * s] = cmul(even + odd, p->tw[k * first_turn]);
      z[q + (r - k) * s] = cmul(even - odd, p->tw[(r - k) * first_turn]);
    }
  }
}

/* x and y hold n lines' elements each, B lines interleaved; the result is in the one returned */
static v2d *stockham(const Plan *p, v2d *x, v2d *y, int64_t B) {
  int64_t len = p->n;
  intptr_t s = (intptr_t)B;
  for (int i = 0; i < p->nf; i++) {
    if (p->n * B > 1 << 18 && !stopped && tl_check_interrupt()) stopped = true;
    if (stopped) break;
    const int r = p->f[i];
    const int64_t m = len / r, step = p->n / len;
    for (int64_t q0 = 0; q0 < m; q0++) {
      const v2d *a = x + s * q0;
      v2d *z = y + s * r * q0;
      const intptr_t ms = (intptr_t)(m * s);
      if (r == 4) {
        const v2d w1 = p->tw[q0 * step], w2 = p->tw[2 * q0 * step], w3 = p->tw[3 * q0 * step];
        for (intptr_t q = 0; q < s; q++) {
          v2d t0 = a[q] + a[q + 2 * ms], t1 = a[q] - a[q + 2 * ms], t2 = a[q + ms] + a[q + 3 * ms],
              t3 = times_minus_i(a[q + ms] - a[q + 3 * ms]);
          z[q] = t0 + t2;
          z[q + s] = cmul(t1 + t3, w1);
          z[q + 2 * s] = cmul(t0 - t2, w2);
          z[q + 3 * s] = cmul(t1 - t3, w3);
        }
      } else if (r == 2) {
        const v2d w = p->tw[q0 * step];
        for (intptr_t q = 0; q < s; q++) {
          v2d t = a[q], u = a[q + ms];
          z[q] = t + u;
          z[q + s] = cmul(t - u, w);
        }
      } else if (r == 3) odd_prime(p, a, z, 3, s, ms, q0 * step);
      else if (r == 5) odd_prime(p, a, z, 5, s, ms, q0 * step);
      else if (r == 7) odd_prime(p, a, z, 7, s, ms, q0 * step);
      else odd_prime(p, a, z, r, s, ms, q0 * step);
    }
    v2d *t = x;
    x = y;
    y = t;
    len = m;
    s *= r;
  }
  return x;
}

static v2d *transform(const Plan *p, v2d *x, v2d *y, int64_t B) {
  if (!p->m) return stockham(p, x, y, B);
  const int64_t n = p->n, m = p->m;
  for (int64_t k = 0; k < n; k++)
    for (int64_t b = 0; b < B; b++) x[k * B + b] = cmul(x[k * B + b], p->tw[k]);
  memset(x + n * B, 0, (size_t)((m - n) * B) * sizeof *x);
  v2d *r = stockham(p->conv, x, y, B);
  for (int64_t k = 0; k < m; k++)
    for (int64_t b = 0; b < B; b++) r[k * B + b] = swapped(cmul(r[k * B + b], p->filter[k]));
  r = stockham(p->conv, r, r == x ? y : x, B);
  const double scale = 1.0 / (double)m;
  for (int64_t k = 0; k < n; k++)
    for (int64_t b = 0; b < B; b++) r[k * B + b] = cmul(swapped(r[k * B + b]), p->tw[k]) * (v2d){scale, scale};
  return r;
}

static void plan_free(Plan *p) {
  if (!p) return;
  plan_free(p->conv);
  tl_free(p->tw);
  tl_free(p->filter);
  tl_free(p);
}

static Plan *plan_make(int64_t n) {
  Plan *p = tl_malloc(sizeof *p);
  v2d *work = NULL;
  if (!p) return NULL;
  memset(p, 0, sizeof *p);
  p->n = n;
  p->nf = factors(n, p->f);
  if (!(p->tw = tl_malloc((uint64_t)n * sizeof(v2d)))) goto fail;
  if (p->nf >= 0) {
    for (int64_t k = 0; k < n; k++) p->tw[k] = unit(k, n);
    return p;
  }
  for (p->m = 4; p->m < 2 * n - 1; p->m *= 2) {}
  if (p->m / 4 * 3 >= 2 * n - 1) p->m = p->m / 4 * 3;
  const int64_t m = p->m;
  if (!(p->conv = plan_make(m)) || !(p->filter = tl_malloc((uint64_t)m * sizeof(v2d))) ||
      !(work = tl_malloc((uint64_t)m * sizeof(v2d))))
    goto fail;
  memset(p->filter, 0, (size_t)m * sizeof(v2d));
  for (int64_t k = 0, sq = 0; k < n; k++) { /* sq = k * k mod 2 n */
    p->tw[k] = unit(sq, 2 * n);
    p->filter[k] = conjugate(p->tw[k]);
    if (k) p->filter[m - k] = p->filter[k];
    sq = (sq + 2 * k + 1) % (2 * n);
  }
  v2d *r = stockham(p->conv, p->filter, work, 1);
  if (r == work) {
    work = p->filter;
    p->filter = r;
  }
  tl_free(work);
  return p;
fail:
  tl_free(work);
  plan_free(p);
  return NULL;
}

/* two work buffers for B lines; *y is in the same block as *x */
static v2d *buffers(const Plan *p, int64_t B, v2d **y) {
  int64_t n = (p->m ? p->m : p->n) * B;
  v2d *x = tl_malloc((uint64_t)(2 * n) * sizeof(v2d));
  *y = x + n;
  return x;
}

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

/* how many lines of a plan go together: as many as stay in the first cache level, eight at most */
static int64_t together(const Plan *p, int64_t lines) {
  const int64_t most = tl_clamp(1024 / (p->m ? p->m : p->n), 1, BLOCK);
  return lines < most ? lines : most;
}

/* every line of one dim of a dense complex tensor, in place */
static int lines(TlTensor *t, int dim, bool forward, double scale) {
  if (tl_meta) return 0;
  const int64_t n = t->shape[dim], inner = t->strides[dim], outer = t->numel / (n * inner);
  const bool rows = inner == 1; /* a line lies in one piece; else lines lie side by side */
  const int64_t groups = rows ? 1 : outer, count = rows ? outer : inner, next = rows ? n : 1;
  const bool wide = t->dtype == TL_C128;
  char *data = tl_data(t);
  v2d *x = NULL, *y;
  int64_t done = 0;
  int rc = -1;
  Plan *p = plan_make(n);
  int64_t cap = count < BLOCK ? count : BLOCK;
  if (p && rows) cap = together(p, count);
  if (!p || !(x = buffers(p, cap, &y))) goto end;
  for (int64_t o = 0; o < groups; o++)
    for (int64_t i = 0; i < count; i += cap) {
      const int64_t B = count - i < cap ? count - i : cap;
      char *at = data + (o * n * inner + i * next) * tl_itemsize[t->dtype];
      for (int64_t k = 0; k < n; k++)
        for (int64_t b = 0; b < B; b++) {
          v2d v = get(at, wide, k * inner + b * next);
          x[k * B + b] = forward ? v : swapped(v);
        }
      const v2d *r = transform(p, x, y, B);
      for (int64_t k = 0; k < n; k++)
        for (int64_t b = 0; b < B; b++) {
          v2d v = r[k * B + b] * (v2d){scale, scale};
          put(at, wide, k * inner + b * next, forward ? v : swapped(v));
        }
      if (stopped || ((done += n * B) > 1 << 18 && (done = 0, tl_check_interrupt() < 0))) goto end;
    }
  rc = 0;
end:
  stopped = false;
  tl_free(x);
  plan_free(p);
  return rc;
}

/* Line b of B in x: h + 1 numbers c of the half that a real transform of n has, made ready for the one of len. */
static void from_half(const void *c, bool wide, int64_t n, int64_t len, const v2d *w, v2d *x, int64_t B) {
  const int64_t h = n / 2;
  if (len == n)
    for (int64_t k = 0; k <= h; k++) {
      v2d v = get(c, wide, k);
      if (k == 0) v[1] = 0;
      x[k * B] = swapped(v);
      if (k) x[(n - k) * B] = swapped(conjugate(v));
    }
  else
    for (int64_t k = 0; k < h; k++) {
      v2d v = get(c, wide, k), u = conjugate(get(c, wide, h - k));
      if (k == 0) v[1] = u[1] = 0;
      x[k * B] = swapped(v + u - times_minus_i(cmul(v - u, conjugate(w[k]))));
    }
}
/* and the other way; w has had factors of -i and scale / 2 where len is h */
static void to_half(const v2d *r, int64_t B, int64_t n, int64_t len, const v2d *w, double scale, void *c, bool wide,
                    bool complete) {
  const int64_t h = n / 2;
  if (len == n) {
    for (int64_t k = 0; k <= h; k++) put(c, wide, k, r[k * B] * v2_set1(scale));
  } else {
    const v2d half = v2_set1(0.5 * scale), first = r[0] * v2_set1(scale);
    put(c, wide, 0, (v2d){first[0] + first[1], 0});
    put(c, wide, h, (v2d){first[0] - first[1], 0});
    for (int64_t k = 1; k + k <= h; k++) {
      const v2d v = r[k * B], u = conjugate(r[(h - k) * B]), even = (v + u) * half, odd = cmul(v - u, w[k]);
      put(c, wide, h - k, conjugate(even) - conjugate(odd));
      put(c, wide, k, even + odd);
    }
  }
  for (int64_t k = 1; k + k < n && complete; k++) put(c, wide, n - k, conjugate(get(c, wide, k)));
}

/* Rows of n real numbers and of h + 1 complex ones, h = n / 2, both contiguous; `stride` complex numbers from row to
 * row (n where the result is to be complete). An even row is taken as h complex numbers: even elements real, odd
 * imaginary. */
static int real_rows(TlTensor *re, TlTensor *cx, int64_t n, int64_t stride, bool to_real, double scale) {
  if (tl_meta) return 0;
  const int64_t h = n / 2, len = n % 2 ? n : h, rows = re->numel / n;
  const bool wide = re->dtype == TL_F64;
  v2d *x = NULL, *y, *w = NULL;
  int64_t done = 0;
  int rc = -1;
  Plan *p = plan_make(len);
  const int64_t cap = p ? together(p, rows) : 0;
  if (!p || !(x = buffers(p, cap, &y))) goto end;
  if (len == h) {
    if (!(w = tl_malloc((uint64_t)(h + 1) * sizeof *w))) goto end;
    for (int64_t k = 0; k <= h; k++) {
      w[k] = unit(k, n);
      if (!to_real) w[k] = times_minus_i(w[k]) * v2_set1(0.5 * scale);
    }
  }
  for (int64_t o = 0; o < rows; o += cap) {
    const int64_t B = rows - o < cap ? rows - o : cap;
    const int64_t next = n * tl_itemsize[re->dtype], next_half = stride * tl_itemsize[cx->dtype];
    char *a = (char *)tl_data(re) + o * next, *c = (char *)tl_data(cx) + o * next_half;
    for (int64_t b = 0; b < B; b++)
      if (to_real) from_half(c + b * next_half, wide, n, len, w, x + b, B);
      else if (len == n)
        for (int64_t k = 0; k < n; k++) x[k * B + b] = (v2d){get1(a + b * next, wide, k), 0};
      else
        for (int64_t k = 0; k < h; k++) x[k * B + b] = get(a + b * next, wide, k);
    const v2d *r = transform(p, x, y, B);
    for (int64_t b = 0; b < B; b++)
      if (!to_real) to_half(r + b, B, n, len, w, scale, c + b * next_half, wide, stride == n);
      else if (len == n)
        for (int64_t k = 0; k < n; k++) put1(a + b * next, wide, k, r[k * B + b][1] * scale);
      else
        for (int64_t k = 0; k < h; k++) put(a + b * next, wide, k, swapped(r[k * B + b]) * (v2d){scale, scale});
    if (stopped || ((done += n * B) > 1 << 18 && (done = 0, tl_check_interrupt() < 0))) goto end;
  }
  rc = 0;
end:
  stopped = false;
  tl_free(x);
  tl_free(w);
  plan_free(p);
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
  for (int64_t rows = r->numel / n; rows > 0 && !tl_meta; rows--) {
    int64_t to = 0, from = 0, mirror = 0;
    for (int d = 0; d < r->ndim; d++) {
      if (d == last) continue;
      to += at[d] * r->strides[d];
      from += at[d] * half->strides[d];
      mirror += (turned[d] && at[d] ? r->shape[d] - at[d] : at[d]) * half->strides[d];
    }
    for (int64_t k = 0; k < h; k++) put(tl_data(r), wide, to + k * rs, get(tl_data(half), wide, from + k * hs));
    for (int64_t k = h; k < n; k++)
      put(tl_data(r), wide, to + k * rs, conjugate(get(tl_data(half), wide, mirror + (n - k) * hs)));
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
  for (intptr_t i = 0; i < (intptr_t)t->numel; i++)
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
