/* grid_sample.c: float32 images read at the positions of a grid, linearly or at the nearest element, and the gradients.
 * The places and weights of some positions are found once and serve all channels. Other calls go to the body of the op.
 */
#include "nn/image.h"
#include "nn/norm.h"
#include <math.h>

enum { LINEAR, NEAREST, ZEROS = 0, BORDER, REFLECTION, SPAN = 256 };
typedef struct {
  int taps;
  bool outside;        /* one of them at least */
  int32_t at[4][SPAN]; /* -1: outside, where 0 stands */
  float w[4][SPAN];
  float east[SPAN], south[SPAN]; /* from the taps to the left and above */
  float slope[2][SPAN];          /* elements by unit of the grid: along a row, along a column */
} Taps;
typedef struct {
  int64_t h, w;
  int mode, padding;
  bool align;
} Sampling;

static float clip(float x, int64_t size, float *slope) { /* NaN is the first element */
  const float last = (float)(size - 1);
  if (x > 0 && x < last) return x;
  *slope = 0;
  return x > 0 ? last : 0;
}
static float reflect(float x, int64_t size, bool align, float *slope) {
  const float low = align ? 0 : -0.5f, span = (float)(align ? size - 1 : size);
  if (span == 0) return x * 0;
  if (x < low) *slope = -*slope;
  x = fabsf(x - low);
  const float extra = fmodf(x, span), flips = floorf(x / span);
  if (fmodf(flips, 2) == 0) return extra + low;
  *slope = -*slope;
  return span - extra + low;
}
/* from -1 .. 1 to elements */
static float position(const Sampling *s, float x, int64_t size, float *slope) {
  *slope = (float)(s->align ? size - 1 : size) / 2;
  x = s->align ? (x + 1) / 2 * (float)(size - 1) : ((x + 1) * (float)size - 1) / 2;
  if (s->padding == REFLECTION) x = reflect(x, size, s->align, slope);
  return s->padding == ZEROS ? x : clip(x, size, slope);
}
static int32_t place(const Sampling *s, float x, float y, bool *outside) {
  if (x >= 0 && x <= (float)(s->w - 1) && y >= 0 && y <= (float)(s->h - 1)) {
    const int64_t i = (int64_t)x, j = (int64_t)y; /* a rounded size may be one too large */
    if (i < s->w && j < s->h) return (int32_t)(j * s->w + i);
  }
  *outside = true;
  return -1;
}

static void find_taps(const Sampling *s, const float *grid, intptr_t n, Taps *t) {
  t->taps = s->mode == NEAREST ? 1 : 4;
  t->outside = false;
  for (intptr_t i = 0; i < n; i++) {
    const float x = position(s, grid[2 * i], s->w, &t->slope[0][i]),
                y = position(s, grid[2 * i + 1], s->h, &t->slope[1][i]);
    if (s->mode == NEAREST) {
      t->at[0][i] = place(s, rintf(x), rintf(y), &t->outside);
      t->w[0][i] = 1;
      continue;
    }
    const float left = floorf(x), top = floorf(y), east = x - left, south = y - top, west = 1 - east, north = 1 - south;
    t->east[i] = east;
    t->south[i] = south;
    for (int k = 0; k < 4; k++) {
      t->at[k][i] = place(s, left + (float)(k & 1), top + (float)(k >> 1), &t->outside);
      t->w[k][i] = (k >> 1 ? south : north) * (k & 1 ? east : west);
    }
  }
}

static inline float tap(const Taps *t, const float *image, int k, intptr_t i) {
  const int32_t at = t->at[k][i];
  return (at < 0 ? 0 : image[at]) * t->w[k][i];
}
static void sample(const Taps *t, const float *restrict image, float *restrict out, intptr_t n) {
  if (t->taps == 1)
    for (intptr_t i = 0; i < n; i++) out[i] = tap(t, image, 0, i);
  else if (t->outside)
    for (intptr_t i = 0; i < n; i++)
      out[i] = tap(t, image, 0, i) + tap(t, image, 1, i) + tap(t, image, 2, i) + tap(t, image, 3, i);
  else
    for (intptr_t i = 0; i < n; i++)
      out[i] = image[t->at[0][i]] * t->w[0][i] + image[t->at[1][i]] * t->w[1][i] + image[t->at[2][i]] * t->w[2][i] +
               image[t->at[3][i]] * t->w[3][i];
}

/* adds the gradient of one channel's image, and the sums over channels that the grid's gradient is made of */
static void sample_backward(const Taps *t, const float *g, float *image, intptr_t n) {
  for (int k = 0; k < t->taps; k++)
    for (intptr_t i = 0; i < n; i++)
      if (t->at[k][i] >= 0) image[t->at[k][i]] += g[i] * t->w[k][i];
}
static void grid_backward(const Taps *t, const float *g, const float *image, float *grid, intptr_t n) {
  for (intptr_t i = 0; i < n; i++) {
    float v[4];
    for (int k = 0; k < 4; k++) v[k] = t->at[k][i] < 0 ? 0 : image[t->at[k][i]];
    const float e = t->east[i], s = t->south[i];
    grid[2 * i] += g[i] * ((v[1] - v[0]) * (1 - s) + (v[3] - v[2]) * s) * t->slope[0][i];
    grid[2 * i + 1] += g[i] * ((v[2] - v[0]) * (1 - e) + (v[3] - v[1]) * e) * t->slope[1][i];
  }
}

/* images x and grid g that the loops serve, and how */
static int sampling(TlTensor *x, TlTensor *g, PyObject *const *form, Sampling *s) {
  int64_t mode, padding;
  if (tl_int(form[0], &mode) || tl_int(form[1], &padding)) return -1;
  if (x->ndim != 4 || g->ndim != 4 || x->dtype != TL_F32 || g->dtype != TL_F32 || x->shape[0] != g->shape[0] ||
      g->shape[3] != 2 || !x->numel || !g->numel || (mode != LINEAR && mode != NEAREST) || padding < ZEROS ||
      padding > REFLECTION || x->shape[2] > INT32_MAX / x->shape[3])
    return 0;
  *s = (Sampling){x->shape[2], x->shape[3], (int)mode, (int)padding, form[2] == Py_True};
  return 1;
}

/* grid_sampler(input [N, C, H, W], grid [N, rows, columns, 2], interpolation_mode, padding_mode, align_corners) */
PyObject *tl_k_grid_sampler(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *unused) {
  TlTensor *x = (TlTensor *)args[0], *g = (TlTensor *)args[1], *r = NULL;
  Sampling s;
  const int ours = sampling(x, g, args + 2, &s);
  if (ours <= 0) return ours ? NULL : TL_FALLBACK();
  const int64_t n = x->shape[0], c = x->shape[1], rows = g->shape[1], columns = g->shape[2], places = rows * columns;
  TlTensor *xc = tl_contiguous_as(x, TL_F32), *gc = xc ? tl_contiguous_as(g, TL_F32) : NULL;
  Taps *t = gc ? tl_malloc(sizeof *t) : NULL;
  if (t) r = tl_empty(TL_F32, 4, (const int64_t[]){n, c, rows, columns});
  for (int64_t b = 0; r && b < n; b++)
    for (int64_t at = 0; r && at < places; at += SPAN) {
      const intptr_t m = (intptr_t)(places - at < SPAN ? places - at : SPAN);
      find_taps(&s, (const float *)tl_data(gc) + (b * places + at) * 2, m, t);
      for (int64_t i = b * c; i < (b + 1) * c; i++)
        sample(t, (const float *)tl_data(xc) + i * s.h * s.w, (float *)tl_data(r) + i * places + at, m);
      if (tl_check_interrupt()) Py_CLEAR(r);
    }
  tl_free(t);
  Py_XDECREF(xc);
  Py_XDECREF(gc);
  return (PyObject *)r;
}

/* grid_sampler_2d_backward(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask) */
PyObject *tl_k_grid_sampler_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *unused) {
  TlTensor *d = (TlTensor *)args[0], *x = (TlTensor *)args[1], *g = (TlTensor *)args[2];
  const bool want[2] = {tl_mask_at(args[6], 0), tl_mask_at(args[6], 1)};
  Sampling s;
  const int ours = sampling(x, g, args + 3, &s);
  if (ours < 0) return NULL;
  const int64_t n = x->shape[0], c = ours ? x->shape[1] : 0, places = ours ? g->shape[1] * g->shape[2] : 0,
                size = ours ? s.h * s.w : 0;
  if (!ours || d->ndim != 4 || d->dtype != TL_F32 || d->shape[0] != n || d->shape[1] != c ||
      d->shape[2] != g->shape[1] || d->shape[3] != g->shape[2])
    return TL_FALLBACK();
  TlTensor *dc = tl_contiguous_as(d, TL_F32), *xc = dc ? tl_contiguous_as(x, TL_F32) : NULL,
           *gc = xc ? tl_contiguous_as(g, TL_F32) : NULL, *gx = NULL, *gg = NULL;
  Taps *t = gc ? tl_malloc(sizeof *t) : NULL;
  bool ok =
    t && (!want[0] || (gx = tl_zeros(TL_F32, 4, x->shape))) && (!want[1] || (gg = tl_zeros(TL_F32, 4, g->shape)));
  for (int64_t b = 0; ok && b < n; b++)
    for (int64_t at = 0; ok && at < places; at += SPAN) {
      const intptr_t m = (intptr_t)(places - at < SPAN ? places - at : SPAN);
      const int64_t from = (b * places + at) * 2;
      find_taps(&s, (const float *)tl_data(gc) + from, m, t);
      for (int64_t i = b * c; i < (b + 1) * c; i++) {
        const float *given = (const float *)tl_data(dc) + i * places + at;
        if (gx) sample_backward(t, given, (float *)tl_data(gx) + i * size, m);
        if (gg && t->taps > 1)
          grid_backward(t, given, (const float *)tl_data(xc) + i * size, (float *)tl_data(gg) + from, m);
      }
      ok = !tl_check_interrupt();
    }
  PyObject *images = gx ? (PyObject *)gx : Py_None, *positions = gg ? (PyObject *)gg : Py_None,
           *r = ok ? PyTuple_Pack(2, images, positions) : NULL;
  tl_free(t);
  Py_XDECREF(dc);
  Py_XDECREF(xc);
  Py_XDECREF(gc);
  Py_XDECREF(gx);
  Py_XDECREF(gg);
  return r;
}
