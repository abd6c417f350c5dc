/* grid_sample.c: float32 images read at the positions of a grid, linearly or at the nearest element. The places and
 * weights of some positions are found once and serve all channels. Other calls go to the body of the op. */
#include "nn/image.h"
#include <math.h>

enum { LINEAR, NEAREST, ZEROS = 0, BORDER, REFLECTION, SPAN = 256 };
typedef struct {
  int taps;
  bool outside;        /* one of them at least */
  int32_t at[4][SPAN]; /* -1: outside, where 0 stands */
  float w[4][SPAN];
} Taps;
typedef struct {
  int64_t h, w;
  int mode, padding;
  bool align;
} Sampling;

static float clip(float x, int64_t size) { /* NaN is the first element */
  const float last = (float)(size - 1);
  if (x > 0 && x < last) return x;
  return x > 0 ? last : 0;
}
static float reflect(float x, int64_t size, bool align) {
  const float low = align ? 0 : -0.5f, span = (float)(align ? size - 1 : size);
  if (span == 0) return x * 0;
  x = fabsf(x - low);
  const float extra = fmodf(x, span), flips = floorf(x / span);
  return fmodf(flips, 2) == 0 ? extra + low : span - extra + low;
}
/* from -1 .. 1 to elements */
static float position(const Sampling *s, float x, int64_t size) {
  x = s->align ? (x + 1) / 2 * (float)(size - 1) : ((x + 1) * (float)size - 1) / 2;
  if (s->padding == REFLECTION) x = reflect(x, size, s->align);
  return s->padding == ZEROS ? x : clip(x, size);
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
    const float x = position(s, grid[2 * i], s->w), y = position(s, grid[2 * i + 1], s->h);
    if (s->mode == NEAREST) {
      t->at[0][i] = place(s, rintf(x), rintf(y), &t->outside);
      t->w[0][i] = 1;
      continue;
    }
    const float left = floorf(x), top = floorf(y), east = x - left, south = y - top, west = 1 - east, north = 1 - south;
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

/* grid_sampler(input [N, C, H, W], grid [N, rows, columns, 2], interpolation_mode, padding_mode, align_corners) */
PyObject *tl_k_grid_sampler(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *unused) {
  TlTensor *x = (TlTensor *)args[0], *g = (TlTensor *)args[1], *r = NULL;
  int64_t mode, padding;
  if (tl_int(args[2], &mode) || tl_int(args[3], &padding)) return NULL;
  if (x->ndim != 4 || g->ndim != 4 || x->dtype != TL_F32 || g->dtype != TL_F32 || x->shape[0] != g->shape[0] ||
      g->shape[3] != 2 || !x->numel || !g->numel || (mode != LINEAR && mode != NEAREST) || padding < ZEROS ||
      padding > REFLECTION || x->shape[2] > INT32_MAX / x->shape[3])
    return TL_FALLBACK();
  const int64_t n = x->shape[0], c = x->shape[1], rows = g->shape[1], columns = g->shape[2], places = rows * columns;
  const Sampling s = {x->shape[2], x->shape[3], (int)mode, (int)padding, args[4] == Py_True};
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
