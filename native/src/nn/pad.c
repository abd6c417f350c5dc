/* pad.c: padding. Constant padding copies into a filled result; the other modes map every output index of the padded
 * (last) dims to an input index. */
#include "core/rows.h"
#include "index/index.h"
#include "core/errors.h"
#include "core/geometry.h"
#include "nn/image.h"

static int pad_args(PyObject *o, const TlTensor *self, int64_t *pad, int *n) {
  if (tl_ints(o, pad, n) < 0) return -1;
  if (*n & 1) {
    PyErr_Format(PyExc_RuntimeError, "Length of pad must be even but instead it equals %d", *n);
    return -1;
  }
  for (int i = 0; i < *n; i++)
    if (pad[i] > INT64_MAX / 4 || pad[i] < INT64_MIN / 4) {
      PyErr_Format(PyExc_RuntimeError, "padding: size overflow with padding %s", tl_fmt_shape(*n, pad));
      return -1;
    }
  if (*n / 2 > self->ndim) {
    PyErr_Format(PyExc_RuntimeError,
                 "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
                 "%dwhile the input has %ddimensions.",
                 *n, self->ndim);
    return -1;
  }
  return 0;
}

/* constant_pad_nd(self, pad, value=0): pad is (left, right) from the last dim on; negative entries crop */
PyObject *tl_k_constant_pad(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *r, *s = NULL, *d = NULL;
  int64_t pad[2 * TL_MAX_DIMS], shape[TL_MAX_DIMS], inner[TL_MAX_DIMS], so = self->offset, dof = 0;
  int n, rc = 0;
  bool crops = true;
  (void)k;
  (void)n_;
  (void)out;
  if (pad_args(a[1], self, pad, &n) < 0) return NULL;
  for (int i = 0; i < self->ndim; i++) {
    int j = self->ndim - 1 - i;
    int64_t lo = j < n / 2 ? pad[2 * j] : 0, hi = j < n / 2 ? pad[2 * j + 1] : 0;
    shape[i] = self->shape[i] + lo + hi;
    if (self->shape[i] + (lo < 0 ? lo : 0) + (hi < 0 ? hi : 0) < 0) {
      PyErr_SetString(PyExc_RuntimeError, "narrow(): length must be non-negative.");
      return NULL;
    }
    if (shape[i] < 0) {
      PyErr_Format(PyExc_RuntimeError,
                   "The input size %lld, plus negative padding %lld and %lld resulted in a negative output size, which "
                   "is invalid. Check dimension %d of your input.",
                   (long long)self->shape[i], (long long)lo, (long long)hi, i);
      return NULL;
    }
    inner[i] = self->shape[i] + (lo < 0 ? lo : 0) + (hi < 0 ? hi : 0);
    crops = crops && lo <= 0 && hi <= 0;
    if (lo < 0) so -= lo * self->strides[i];
  }
  if (crops) { /* nothing is added: a clone of what is left */
    if (!(s = tl_view(self, self->ndim, inner, self->strides, so))) return NULL;
    if ((r = tl_empty_preserved(TL_CPU, s, self->dtype)) && tl_copy(r, s) < 0) TL_CLEAR(r);
    TL_DEC(s);
    return (PyObject *)r;
  }
  if (!(r = tl_empty_format(self->dtype, self->ndim, shape, tl_suggests_channels_last(self)))) return NULL;
  if (!r->numel || tl_meta) return (PyObject *)r;
  if (tl_fill(r, a[2]) < 0) {
    TL_DEC(r);
    return NULL;
  }
  for (int i = 0; i < self->ndim; i++) {
    int j = self->ndim - 1 - i;
    if (j < n / 2 && pad[2 * j] > 0) dof += pad[2 * j] * r->strides[i];
    if (!inner[i]) return (PyObject *)r;
  }
  s = tl_view(self, self->ndim, inner, self->strides, so);
  d = tl_view(r, r->ndim, inner, r->strides, dof);
  rc = s && d ? tl_copy(d, s) : -1;
  TL_DEC(s);
  TL_DEC(d);
  if (rc < 0) TL_CLEAR(r);
  return (PyObject *)r;
}

/* input index of output index j along a dim of the given size */
static int64_t source_index(int mode, int64_t j, int64_t lo, int64_t hi, int64_t size) {
  int64_t i = j - lo, period = size + (lo < 0 ? lo : 0) + (hi < 0 ? hi : 0);
  if (mode == TL_PAD_REPLICATE) return tl_clamp(i, 0, size - 1);
  if (mode == TL_PAD_CIRCULAR) { /* wraps around what negative padding leaves */
    if (period < 1) return -1;
    i = (j - (lo > 0 ? lo : 0)) % period;
    return (i < 0 ? i + period : i) + (lo < 0 ? -lo : 0);
  }
  if (i < 0) i = -i;
  return i >= size ? 2 * (size - 1) - i : i;
}

typedef struct {
  int64_t *map[3], in[3], out[3], outer;
} pad_plan;

/* up to three padded dims, seen as (outer, 3 dims) */
static int plan_pad(pad_plan *p, int mode, int ndim, const int64_t *shape, const int64_t *pad, int n, int64_t *oshape) {
  int64_t total = 0;
  p->outer = 1;
  p->map[0] = NULL;
  for (int d = 0; d < ndim; d++) oshape[d] = shape[d];
  for (int j = 0; j < 3; j++) p->in[j] = p->out[j] = 1;
  for (int d = 0; d < ndim - n / 2; d++)
    p->outer = tl_wrap_mul(p->outer, shape[d]); /* where it overflows there is no result */
  for (int j = 0; j < n / 2; j++) {             /* j-th dim from the end */
    int d = ndim - 1 - j;
    if (shape[d] > INT64_MAX / 4) { return tl_sizes_overflow(); }
    p->in[2 - j] = shape[d];
    oshape[d] = p->out[2 - j] = shape[d] + pad[2 * j] + pad[2 * j + 1];
  }
  for (int d = 0; d < ndim; d++) {
    if (oshape[d] >= 0) continue;
    return tl_negative_size_error(oshape[d], ndim, oshape);
  }
  for (int j = 0; j < 3; j++) {
    if (p->out[j] > INT64_MAX / 64) { return tl_sizes_overflow(); }
    total += p->out[j];
  }
  if ((uint64_t)total > SIZE_MAX / 16) total = (int64_t)(SIZE_MAX / 16); /* says that there is no such memory */
  if (!(p->map[0] = tl_malloc((uint64_t)(total + 1) * sizeof(int64_t)))) return -1;
  p->map[1] = p->map[0] + p->out[0];
  p->map[2] = p->map[1] + p->out[1];
  for (int j = 0; j < 3; j++) {
    int back = 2 - j;
    for (int64_t i = 0; i < p->out[j]; i++) {
      int64_t s = back < n / 2 ? source_index(mode, i, pad[2 * back], pad[2 * back + 1], p->in[j]) : i;
      if (s < 0 || s >= p->in[j]) {
        PyErr_SetString(PyExc_RuntimeError, "padding: size too large for the input");
        tl_free(p->map[0]);
        p->map[0] = NULL;
        return -1;
      }
      p->map[j][i] = s;
    }
  }
  return 0;
}

/* one row of elements of a size */
#define PAD_ROW(T) for (int64_t x = from; x < to; x++) ((T *)dst)[x] = ((const T *)(src + base * isz))[mx[x]]

static void pad_part(char *dst, const char *src, int64_t base, const int64_t *mx, int64_t from, int64_t to,
                     int64_t isz) {
  switch (isz) {
  case 1: PAD_ROW(uint8_t); break;
  case 2: PAD_ROW(uint16_t); break;
  case 4: PAD_ROW(uint32_t); break;
  case 8: PAD_ROW(uint64_t); break;
  default: PAD_ROW(tl_c128);
  }
}

/* images and volumes, reflected or replicated, are channels last where the input asks for it */
static bool pads_last(int mode, const TlTensor *t, int n) {
  return mode != 2 && n > 2 && t->ndim == n / 2 + 2 && tl_suggests_channels_last(t);
}

/* a volume without batch has the dims of a batch of images, and its result has their format: r (stolen) in it */
static TlTensor *as_images(TlTensor *r) {
  TlTensor *y = r ? tl_in_format(r, r->dtype, true) : NULL;
  TL_DEC(r);
  return y;
}

/* pad(self, padding) */
PyObject *tl_k_pad(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *self = (TlTensor *)a[0], *c, *r = NULL;
  int64_t pad[2 * TL_MAX_DIMS], shape[TL_MAX_DIMS], isz = tl_itemsize[self->dtype];
  pad_plan p;
  int n;
  (void)n_;
  (void)out;
  if (pad_args(a[1], self, pad, &n) < 0) return NULL;
  if (n > 6) {
    PyErr_SetString(PyExc_NotImplementedError,
                    "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now");
    return NULL;
  }
  if (plan_pad(&p, k->id, self->ndim, self->shape, pad, n, shape) < 0) return NULL;
  const bool last = pads_last(k->id, self, n);
  c = tl_in_format(self, self->dtype, last);
  r = c ? tl_empty_format(self->dtype, self->ndim, shape, last) : NULL;
  if (r && r->numel && last) {
    const char *src = tl_data(c);
    char *dst = tl_data(r);
    const int64_t pixel = self->shape[1] * isz;
    for (int64_t o = 0; o < self->shape[0]; o++, src += p.in[0] * p.in[1] * p.in[2] * pixel)
      for (int64_t z = 0; z < p.out[0]; z++)
        for (int64_t y = 0; y < p.out[1] && tl_work(p.out[2] * self->shape[1]) == 0; y++)
          for (int64_t x = 0; x < p.out[2]; x++, dst += pixel)
            memcpy(dst, src + ((p.map[0][z] * p.in[1] + p.map[1][y]) * p.in[2] + p.map[2][x]) * pixel, (size_t)pixel);
  } else if (r && r->numel) {
    const char *src = tl_data(c);
    char *dst = tl_data(r);
    const int64_t *mx = p.map[2];
    int64_t work = 0;
    const int64_t left = n && pad[0] > 0 ? pad[0] : 0, right = n && pad[1] > 0 ? pad[1] : 0, width = p.out[2];
    /* from `first` to `end` a row is as in src; a negative padding on one side may leave less than the other one adds
     */
    const int64_t first = left < width ? left : width, end = width - right > first ? width - right : first;
    for (int64_t o = 0; o < p.outer; o++, src += p.in[0] * p.in[1] * p.in[2] * isz)
      for (int64_t z = 0; z < p.out[0] && !TL_TICK(work, p.out[1] * width); z++)
        for (int64_t y = 0; y < p.out[1]; y++, dst += width * isz) {
          int64_t base = (p.map[0][z] * p.in[1] + p.map[1][y]) * p.in[2];
          pad_part(dst, src, base, mx, 0, first, isz);
          if (end > first)
            tl_copy_row(dst + first * isz, src + (base + mx[first]) * isz, (size_t)((end - first) * isz));
          pad_part(dst, src, base, mx, end, width, isz);
        }
  }
  if (k->id != TL_PAD_CIRCULAR && n == 6 && self->ndim == 4 && tl_suggests_channels_last(self)) r = as_images(r);
  tl_free(p.map[0]);
  TL_DEC(c);
  return (PyObject *)r;
}

/* pad_backward(grad_output, padding, input size, channels_last): adds every output gradient to its source */
PyObject *tl_k_pad_backward(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out) {
  TlTensor *grad = (TlTensor *)a[0], *c = NULL, *r = NULL;
  int64_t pad[2 * TL_MAX_DIMS], size[TL_MAX_DIMS], shape[TL_MAX_DIMS], isz = tl_itemsize[grad->dtype];
  tl_row_fn add = tl_row_op(TL_ROW_ADD, grad->dtype);
  pad_plan p;
  int n, nd;
  (void)n_;
  (void)out;
  if (pad_args(a[1], grad, pad, &n) < 0 || tl_ints(a[2], size, &nd) < 0) return NULL;
  if (n > 6 || n / 2 > nd) {
    PyErr_SetString(PyExc_RuntimeError, "padding: more dimensions than the input has");
    return NULL;
  }
  if (plan_pad(&p, k->id, nd, size, pad, n, shape) < 0) return NULL;
  if (nd != grad->ndim || memcmp(shape, grad->shape, (size_t)nd * sizeof *shape))
    PyErr_Format(PyExc_RuntimeError, "grad_output size %s does not match the padded size %s",
                 tl_fmt_shape(grad->ndim, grad->shape), tl_fmt_shape(nd, shape));
  else if (a[3] == Py_True && n > 2 && nd == n / 2 + 2) {
    const int64_t pixel = size[1] * isz;
    if ((c = tl_in_format(grad, grad->dtype, true)) && (r = tl_empty_format(grad->dtype, nd, size, true))) {
      const char *src = tl_data(c);
      char *dst = tl_data(r);
      memset(dst, 0, r->storage->nbytes);
      for (int64_t o = 0; grad->numel && o < size[0]; o++, dst += p.in[0] * p.in[1] * p.in[2] * pixel)
        for (int64_t z = 0; z < p.out[0]; z++)
          for (int64_t y = 0; y < p.out[1] && tl_work(p.out[2] * size[1]) == 0; y++)
            for (int64_t x = 0; x < p.out[2]; x++, src += pixel)
              add(dst + ((p.map[0][z] * p.in[1] + p.map[1][y]) * p.in[2] + p.map[2][x]) * pixel, isz, src, isz,
                  size[1]);
    }
  } else if ((c = tl_contiguous(grad)) && (r = tl_zeros(grad->dtype, nd, size)) && grad->numel) {
    const char *src = tl_data(c);
    char *dst = tl_data(r);
    for (int64_t o = 0; o < p.outer; o++, dst += p.in[0] * p.in[1] * p.in[2] * isz)
      for (int64_t z = 0; z < p.out[0]; z++)
        for (int64_t y = 0; y < p.out[1] && tl_work(p.out[2]) == 0; y++) {
          char *base = dst + (p.map[0][z] * p.in[1] + p.map[1][y]) * p.in[2] * isz;
          if (grad->dtype == TL_F32)
            for (int64_t x = 0; x < p.out[2]; x++) ((float *)base)[p.map[2][x]] += ((const float *)src)[x];
          else
            for (int64_t x = 0; x < p.out[2]; x++) add(base + p.map[2][x] * isz, isz, src + x * isz, isz, 1);
          src += p.out[2] * isz;
        }
  }
  if (a[3] == Py_True && n == 6 && nd == 4) r = as_images(r);
  tl_free(p.map[0]);
  TL_DEC(c);
  return (PyObject *)r;
}
