/* conv.c: the convolution ops: arguments, shapes and PyTorch's messages; the loops are in conv_run.c and
 * depthwise.c, those of channels-last memory in conv_last.c and depthwise_last.c. */
#include "core/check.h"
#include "core/errors.h"
#include "core/core.h"
#include "conv/conv.h"
#include "core/geometry.h"

#define FAIL(...) do { PyErr_Format(PyExc_RuntimeError, __VA_ARGS__); return -1; } while (0)
#define LL(x) ((long long)(x))

typedef struct {
  int nd;
  int64_t stride[3], padding[3], dilation[3], outpad[3], groups;
  bool transposed;
} Args;

/* an int[nd] argument: one value counts for every dim */
static int dims_arg(PyObject *o, const char *name, int nd, int64_t *v) {
  int64_t all[TL_MAX_DIMS];
  int n;
  if (tl_ints(o, all, &n)) return -1;
  if (n != 1 && n != nd)
    FAIL("expected %s to be a single integer value or a list of %d values to match the convolution dimensions, but got "
         "%s=%s",
         name, nd, name, tl_fmt_shape(n, all));
  for (int i = 0; i < nd; i++) v[i] = all[n == 1 ? 0 : i];
  return 0;
}

static int parse(Args *a, int nd, PyObject *stride, PyObject *padding, PyObject *dilation, PyObject *outpad,
                 PyObject *groups) {
  a->nd = nd;
  if (dims_arg(stride, "stride", nd, a->stride) || dims_arg(padding, "padding", nd, a->padding) ||
      dims_arg(dilation, "dilation", nd, a->dilation))
    return -1;
  memset(a->outpad, 0, sizeof a->outpad);
  if (outpad && dims_arg(outpad, "output_padding", nd, a->outpad)) return -1;
  return tl_int(groups, &a->groups);
}

static const char *by_x(char *buf, int nd, const int64_t *v) { /* (2 x 3) */
  char *p = buf;
  for (int i = 0; i < nd; i++) p += PyOS_snprintf(p, 24, "%s%lld", i ? " x " : "", LL(v[i]));
  return buf;
}

static int check_outpad(const Args *a) {
  static const char *const names[3] = {"depth", "height", "width"}, *const what[3] = {"output_padding", "stride",
                                                                                      "dilation"};
  bool bad = false;
  for (int i = 0; i < a->nd; i++) bad |= a->outpad[i] >= a->stride[i] && a->outpad[i] >= a->dilation[i];
  if (!bad) return 0;
  char msg[512], *p = msg;
  const int64_t *v[3] = {a->outpad, a->stride, a->dilation};
  for (int w = 0; w < 3; w++)
    for (int i = a->nd == 3 ? 0 : 1; i < 3; i++) {
      int d = i - (3 - a->nd);
      int64_t value = w ? 1 : 0; /* one dim counts as height 1 */
      if (d >= 0) value = v[w][d];
      p += PyOS_snprintf(p, 60, " %s_%s: %lld", what[w], names[i], LL(value));
    }
  FAIL("output padding must be smaller than either stride or dilation, but got%s", msg);
}

static int check_kernel(int nd, const int64_t *k) {
  bool bad = false;
  for (int i = 0; i < nd; i++) bad |= k[i] <= 0;
  if (!bad) return 0;
  if (nd == 3)
    FAIL("kernel size should be greater than zero, but got: %lld x %lld x %lld (TxHxW)", LL(k[0]), LL(k[1]), LL(k[2]));
  FAIL("kernel size should be greater than zero, but got kernel_height: %lld kernel_width: %lld",
       nd == 1 ? LL(1) : LL(k[0]), LL(k[nd - 1]));
}

/* The arguments that are numbers, and the weight's shape beside them. */
static int check_numbers(const Args *a, TlTensor *x, TlTensor *w) {
  const int nd = a->nd;
  for (int i = 0; i < nd; i++)
    if (a->padding[i] < 0) FAIL("negative padding is not supported");
  for (int i = 0; i < nd; i++)
    if (a->outpad[i] < 0) FAIL("negative output_padding is not supported");
  for (int i = 0; i < nd; i++)
    if (a->stride[i] <= 0) FAIL("non-positive stride is not supported");
  for (int i = 0; i < nd; i++)
    if (a->dilation[i] <= 0) FAIL("dilation should be greater than zero, but got %s", tl_fmt_shape(nd, a->dilation));
  if (a->groups <= 0) FAIL("non-positive groups is not supported");
  if (x->ndim != w->ndim)
    FAIL("Expected %d-dimensional input for %d-dimensional weight %s, but got %d-dimensional input of size %s instead",
         w->ndim, w->ndim, tl_fmt_shape(w->ndim, w->shape), x->ndim, tl_fmt_shape(x->ndim, x->shape));
  if (w->shape[0] < a->groups)
    FAIL("Given groups=%lld, expected weight to be at least %lld at dimension 0, but got weight of size %s instead",
         LL(a->groups), LL(a->groups), tl_fmt_shape(w->ndim, w->shape));
  if (w->shape[0] % a->groups)
    FAIL(
      "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got weight of size [%s] instead",
      LL(a->groups), LL(a->groups), tl_fmt_shape(w->ndim, w->shape));
  if (tl_product(w->ndim, w->shape, NULL) || tl_product(x->ndim, x->shape, NULL)) return -1;
  for (int i = 0; i < nd; i++) { /* so that no position below overflows */
    const int64_t most = INT64_MAX / 8, k = w->shape[i + 2], in = x->shape[i + 2];
    int64_t span, all = 0;
    if (__builtin_mul_overflow(a->dilation[i], k, &span) ||
        (a->transposed && __builtin_mul_overflow(in, a->stride[i], &all)) || span > most || all > most || in > most ||
        a->padding[i] > most || a->outpad[i] > most)
      FAIL("integer out of range");
  }
  return 0;
}

/* The shapes of the batched x, of w and of the bias against each other. */
static int check_shapes(const Args *a, TlTensor *x, TlTensor *w, TlTensor *bias) {
  const int nd = a->nd;
  const int64_t want = a->transposed ? w->shape[0] : w->shape[1] * a->groups,
                outc = a->transposed ? w->shape[1] * a->groups : w->shape[0];
  if (x->shape[1] != want)
    FAIL("Given %s=%lld, weight of size %s, expected input%s to have %lld channels, but got %lld channels instead",
         a->transposed ? "transposed" : "groups", a->transposed ? 1LL : LL(a->groups), tl_fmt_shape(w->ndim, w->shape),
         tl_fmt_shape(x->ndim, x->shape), LL(want), LL(x->shape[1]));
  if (bias && (bias->ndim != 1 || bias->shape[0] != outc))
    FAIL("Given %sweight of size %s, expected bias to be 1-dimensional with %lld elements, but got bias of size %s "
         "instead",
         a->transposed ? "transposed=1, " : "", tl_fmt_shape(w->ndim, w->shape), LL(outc),
         tl_fmt_shape(bias->ndim, bias->shape));
  if (a->transposed && !outc) { /* PyTorch runs one spatial dim as two */
    const int64_t two[4] = {w->shape[0], 0, 1, w->shape[2]};
    if (nd == 3)
      FAIL("non-empty 5D (n_output_plane x n_input_plane x kernel_depth x kernel_height x kernel_width) tensor "
           "expected for weight, but got: %s",
           tl_fmt_shape(w->ndim, w->shape));
    FAIL("non-empty 2D or 4D weight tensor expected, but got: %s", tl_fmt_shape(4, nd == 1 ? two : w->shape));
  }
  if (!a->transposed) {
    bool bad = false;
    int64_t in[3];
    for (int i = 0; i < nd; i++) {
      in[i] = x->shape[i + 2] + 2 * a->padding[i];
      bad |= in[i] < a->dilation[i] * (w->shape[i + 2] - 1) + 1;
    }
    if (bad) {
      int64_t kk[3];
      char s1[96], s2[96];
      for (int i = 0; i < nd; i++) kk[i] = a->dilation[i] * (w->shape[i + 2] - 1) + 1;
      FAIL("Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size can't be greater than "
           "actual input size",
           by_x(s1, nd, in), by_x(s2, nd, kk));
    }
  } else if (check_outpad(a)) return -1;
  return check_kernel(nd, w->shape + 2);
}

static int check_dtypes(const Args *a, TlTensor *x, TlTensor *w, TlTensor *bias) {
  if (bias && bias->dtype != x->dtype && (!a->transposed || x->dtype == w->dtype))
    FAIL("Input type (%s) and bias type (%s) should be the same", tl_cpp_type[x->dtype], tl_cpp_type[bias->dtype]);
  if (x->dtype != w->dtype) {
    if (tl_is_complex(x->dtype) || tl_is_complex(w->dtype))
      FAIL("Input type (CPU%sType) and weight type (torch.%sTensor) should be the same", tl_scalar_type[x->dtype],
           tl_scalar_type[w->dtype]);
    return tl_scalar_type_error(x->dtype, w->dtype);
  }
  if (a->transposed && tl_is_integral(x->dtype) && x->dtype != TL_I64) {
    PyErr_Format(PyExc_NotImplementedError, "\"slow_conv_transpose%dd_out_cpu\" not implemented for '%s'",
                 a->nd == 3 ? 3 : 2, tl_scalar_type[x->dtype]);
    return -1;
  }
  if (x->dtype == TL_BOOL) {
    PyErr_SetString(PyExc_NotImplementedError, "\"slow_conv2d_cpu\" not implemented for 'Bool'");
    return -1;
  }
  return 0;
}

/* Everything that PyTorch checks, in its order, which decides the error where several things are wrong. */
static int check(const Args *a, TlTensor *x, TlTensor *w, TlTensor *bias) {
  if (check_numbers(a, x, w) || check_shapes(a, x, w, bias)) return -1;
  return check_dtypes(a, x, w, bias);
}

/* PyTorch's error for an input without pixels, which it shows with two spatial dims at least */
static int no_pixels(const TlTensor *x) {
  const int64_t two[4] = {x->shape[0], x->shape[1], 1, x->shape[2]};
  FAIL("Only zero batch or zero channel inputs are supported, but got input shape: %s",
       x->ndim == 3 ? tl_fmt_shape(4, two) : tl_fmt_shape(x->ndim, x->shape));
}

/* geometry with the op's input on the x side (or y side when transposed); out: spatial size of the result */
static int geometry(const Args *a, TlTensor *x, TlTensor *w, TlConv *c, int64_t *out) {
  const int nd = a->nd, lead = 3 - nd;
  *c = (TlConv){.n = x->shape[0], .groups = a->groups, .xc = w->shape[1], .yc = w->shape[0] / a->groups};
  bool small = false;
  int64_t xpad[3] = {1, 1, 1}, ypad[3] = {1, 1, 1};
  for (int i = 0; i < 3; i++) {
    c->x[i] = c->y[i] = c->k[i] = c->s[i] = c->d[i] = 1;
    c->p[i] = 0;
    if (i < lead) continue;
    int j = i - lead;
    c->k[i] = w->shape[j + 2];
    c->s[i] = a->stride[j];
    c->p[i] = a->padding[j];
    c->d[i] = a->dilation[j];
    int64_t in = x->shape[j + 2], span = c->d[i] * (c->k[i] - 1), whole;
    out[j] = a->transposed ? (in - 1) * c->s[i] - 2 * c->p[i] + span + a->outpad[j] + 1
                           : (in + 2 * c->p[i] - span - 1) / c->s[i] + 1;
    small |= out[j] < (c->n ? 1 : 0);
    c->x[i] = a->transposed ? out[j] : in;
    c->y[i] = a->transposed ? in : out[j];
    whole = c->x[i] + 2 * c->p[i] + 1;
    xpad[i] = whole;
    if (whole > 0 && c->s[i] > whole) c->s[i] = whole; /* larger strides also give one window */
    ypad[i] = c->y[i] + 2 * ((whole + (span > 0 ? span : 0)) / c->s[i] + 1);
  }
  for (int side = 0; side < 2 && !small; side++) { /* the loops need padded copies, whose size must not overflow */
    const int64_t *v = side ? ypad : xpad;
    if (tl_product(6, (int64_t[]){c->n, c->groups, side ? c->yc : c->xc, v[0], v[1], v[2]}, NULL)) return -1;
  }
  if (small && a->transposed) {
    char s1[96], s2[96];
    for (int i = 0; i < nd; i++)
      if (!x->shape[i + 2]) return no_pixels(x);
    FAIL("Given input size per channel: (%s). Calculated output size per channel: (%s). Output size is too small",
         by_x(s1, nd, x->shape + 2), by_x(s2, nd, out));
  }
  for (int i = 0; i < nd && x->shape[0] && x->shape[1]; i++)
    if (!x->shape[i + 2]) return no_pixels(x);
  return 0;
}

/* ---- memory format ----------------------------------------------------------------------------------------------- */
/* PyTorch's suggest_memory_format. dense: t is an input, and those of one spatial dim are made contiguous first */
static bool suggests(const TlTensor *t, bool dense) {
  const int64_t own[3] = {t->shape[1] * t->shape[2], t->shape[2], 1};
  return tl_suggests_last(t->ndim, t->shape, t->ndim == 3 && dense && !tl_is_contiguous(t) ? own : t->strides);
}

/* whether PyTorch would use oneDNN here, given several threads and a processor that oneDNN supports */
static bool by_onednn(const Args *a, const TlTensor *x, const TlTensor *w) {
  bool big = false;
  const int64_t *k = w->shape + w->ndim - 2,
                first[4] = {x->shape[0], x->shape[1], a->nd == 1 ? 1 : x->shape[2], x->shape[a->nd == 1 ? 2 : 3]};
  for (int i = 0; i < a->nd; i++) big |= a->outpad[i] >= a->stride[i];
  if (x->dtype != TL_F32 || (a->transposed && (big || (a->groups > 1 && a->groups == x->shape[1])))) return false;
  return a->groups > 1 || (a->nd > 1 && k[0] > 3 && k[1] > 3) || x->shape[0] > 1 ||
         first[0] * first[1] * first[2] * first[3] > 20480;
}

/* Whether results are channels last. In PyTorch input or weight can ask for it, but an input of one spatial dim is made
 * contiguous before, and volumes are channels last only where oneDNN computes them. */
static bool last_format(const Args *a, const TlTensor *x, const TlTensor *w) {
  return x->numel && w->numel && (suggests(x, true) || suggests(w, false)) && (a->nd < 3 || by_onednn(a, x, w));
}

/* Whether the gradient of the weight is. A weight that is contiguous in both formats keeps its strides in PyTorch's own
 * loops; its memory is the same. */
static bool last_weight(const Args *a, const TlTensor *x, const TlTensor *w) {
  int64_t taps = 1;
  for (int i = 2; i < w->ndim; i++) taps *= w->shape[i];
  const bool both = tl_is_contiguous(w) && (w->shape[1] == 1 || taps == 1);
  return last_format(a, x, w) && (!both || a->groups > 1 || suggests(w, false) || by_onednn(a, x, w));
}

typedef int (*conv_fn)(const TlConv *, tl_dtype, const void *, const void *, const void *, void *);
static conv_fn forward_of(bool last) { return last ? tl_conv_last_forward : tl_conv_forward; }
static conv_fn data_of(bool last) { return last ? tl_conv_last_data : tl_conv_data; }

static PyObject *run(const Args *a, TlTensor *x, TlTensor *w, TlTensor *bias) {
  TlConv c;
  int64_t shape[5];
  if (check(a, x, w, bias) || geometry(a, x, w, &c, shape + 2)) return NULL;
  if (tl_is_complex(x->dtype)) return TL_FALLBACK();
  const tl_dtype dt = x->dtype, wd = tl_window_dtype(dt);
  const bool last = last_format(a, x, w);
  TlTensor *xc = tl_in_format(x, wd, last), *wc = tl_in_format(w, wd, last),
           *bc = bias ? tl_contiguous_as(bias, wd) : NULL, *y = NULL, *r = NULL;
  shape[0] = c.n;
  shape[1] = (a->transposed ? c.xc : c.yc) * c.groups;
  if (!x->shape[1]) shape[1] = 0; /* as in PyTorch: no channels, none in the result */
  if (!xc || !wc || (bias && !bc) || !(y = tl_empty_format(wd, a->nd + 2, shape, last))) goto done;
  const char *added = bc ? tl_data(bc) : NULL;
  int rc = 0;
  c.of = wc->storage;
  if (y->numel && !tl_meta)
    rc = (a->transposed ? data_of : forward_of)(last)(&c, wd, tl_data(xc), tl_data(wc), added, tl_data(y));
  if (!rc) r = tl_cast(y, dt);
done:
  Py_XDECREF(xc);
  Py_XDECREF(wc);
  Py_XDECREF(bc);
  Py_XDECREF(y);
  return (PyObject *)r;
}

#define KERNEL(name) static PyObject *name(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out)

/* A call of one of the rows below. x: with a batch dim, a new reference; `single`: it was given without. */
typedef struct {
  Args args;
  TlTensor *x, *w, *bias, *g;
  bool single;
} Call;
enum { DIMS = 3, TRANSPOSED = 4, GRADIENT = 8 }; /* bits of a row's id; DIMS: 0 for those of any number of dims */

/* convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups), and its gradient:
 * convolution_backward(grad_output, input, weight, bias_sizes, ... as before, output_mask) */
static int call_of_any(Call *c, const TlKernel *k, PyObject *const *a) {
  if (k->id & GRADIENT) c->g = (TlTensor *)*a++;
  c->x = (TlTensor *)Py_NewRef(a[0]);
  c->w = (TlTensor *)a[1];
  c->bias = (k->id & GRADIENT) || a[2] == Py_None ? NULL : (TlTensor *)a[2];
  c->args.transposed = a[6] == Py_True;
  int nd = c->w->ndim - 2;
  if (nd < 1 || nd > 3) FAIL("%s: weight should have 3, 4 or 5 dimensions, got %d", k->name, nd + 2);
  return parse(&c->args, nd, a[3], a[4], a[5], a[7], a[8]);
}
/* convNd(input, weight, bias, stride, padding, dilation, groups), conv_transposeNd(input, weight, bias, stride,
 * padding, output_padding, groups, dilation). Takes inputs without a batch dim. */
static int call_of(Call *c, const TlKernel *k, PyObject *const *a) {
  const bool tr = k->id & TRANSPOSED;
  const int nd = k->id & DIMS;
  TlTensor *x = (TlTensor *)a[0];
  *c = (Call){.args = {.transposed = tr}};
  if (!nd) return call_of_any(c, k, a);
  c->w = (TlTensor *)a[1];
  c->bias = a[2] == Py_None ? NULL : (TlTensor *)a[2];
  c->single = x->ndim == nd + 1;
  if (!c->single && x->ndim != nd + 2)
    FAIL("Expected %dD (unbatched) or %dD (batched) input to %s, but got input of size: %s", nd + 1, nd + 2, k->name,
         tl_fmt_shape(x->ndim, x->shape));
  int wd = c->w->ndim - 2;
  if (wd < 1 || wd > 3) FAIL("%s: weight should have %d dimensions, got %d", k->name, nd + 2, c->w->ndim);
  if (parse(&c->args, wd, a[3], a[4], tr ? a[7] : a[5], tr ? a[5] : NULL, a[6])) return -1;
  int64_t shape[5] = {1}, strides[5] = {0};
  for (int i = 0; i <= nd && c->single; i++) {
    shape[i + 1] = x->shape[i];
    strides[i + 1] = x->strides[i];
  }
  if (c->single) strides[0] = tl_wrap_mul(shape[1], strides[1]);
  c->x = c->single ? tl_view(x, nd + 2, shape, strides, x->offset) : (TlTensor *)Py_NewRef((PyObject *)x);
  return c->x ? 0 : -1;
}

KERNEL(k_conv)
{
  Call c;
  PyObject *r = call_of(&c, k, args) == 0 ? run(&c.args, c.x, c.w, c.bias) : NULL;
  Py_XDECREF(c.x);
  if (!r || r == Py_NotImplemented || !c.single) return r;
  TlTensor *y = (TlTensor *)r, *v = tl_view(y, y->ndim - 1, y->shape + 1, y->strides + 1, y->offset);
  Py_DECREF(r);
  return (PyObject *)v;
}

/* rows of channels */
static void channel_sums(const char *p, int64_t rows, int64_t ch, tl_dtype wd, double *sum, int64_t *isum) {
  for (int64_t r = 0; r < rows; r++) {
    if (wd == TL_F32)
      for (int64_t c = 0; c < ch; c++) sum[c] += ((const float *)p)[r * ch + c];
    else if (wd == TL_F64)
      for (int64_t c = 0; c < ch; c++) sum[c] += ((const double *)p)[r * ch + c];
    else
      for (int64_t c = 0; c < ch; c++) isum[c] = tl_wrap_add(isum[c], ((const int64_t *)p)[r * ch + c]);
  }
}

/* sums over the batch and the pixels */
static TlTensor *bias_grad(TlTensor *g, tl_dtype wd, bool last) {
  const int64_t ch = g->shape[1], pix = g->shape[0] && ch ? g->numel / g->shape[0] / ch : 0;
  TlTensor *b = tl_zeros(wd, 1, &ch);
  if (!b || tl_meta) return b;
  const char *p = tl_data(g);
  if (last) {
    const bool whole = wd == TL_I64;
    TlTensor *sum = tl_zeros(whole ? TL_I64 : TL_F64, 1, &ch);
    if (sum) channel_sums(p, g->numel / ch, ch, wd, (double *)tl_data(sum), (int64_t *)tl_data(sum));
    Py_DECREF(b);
    b = sum ? tl_cast(sum, wd) : NULL;
    Py_XDECREF(sum);
    return b;
  }
  for (int64_t c = 0; c < ch; c++) {
    double sum = 0;
    int64_t isum = 0;
    for (int64_t n = 0; n < g->shape[0] && tl_work(pix) == 0; n++) {
      int64_t at = (n * ch + c) * pix, i = 0;
      if (wd == TL_F32) {
        const float *q = (const float *)p + at;
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (; i + 4 <= pix; i += 4) {
          s0 += q[i];
          s1 += q[i + 1];
          s2 += q[i + 2];
          s3 += q[i + 3];
        }
        for (; i < pix; i++) s0 += q[i];
        sum += (s0 + s1) + (s2 + s3);
      } else if (wd == TL_F64)
        for (; i < pix; i++) sum += ((const double *)p)[at + i];
      else
        for (; i < pix; i++) isum = tl_wrap_add(isum, ((const int64_t *)p)[at + i]);
    }
    if (wd == TL_F32) ((float *)tl_data(b))[c] = (float)sum;
    else if (wd == TL_F64) ((double *)tl_data(b))[c] = sum;
    else ((int64_t *)tl_data(b))[c] = isum;
  }
  return b;
}

static TlTensor *zeros_like(const TlTensor *t) {
  TlTensor *r = tl_empty_preserved(TL_CPU, t, t->dtype);
  if (r && !tl_meta) tl_clear(tl_data(r), (uint64_t)r->numel * (uint64_t)tl_itemsize[r->dtype]);
  return r;
}

static int put(PyObject *tuple, int i, TlTensor *t, tl_dtype dt) {
  TlTensor *r = t ? tl_cast(t, dt) : NULL;
  Py_XDECREF(t);
  return r ? PyTuple_SetItem(tuple, i, (PyObject *)r) : -1;
}

/* grad_output against the result's sizes */
static int check_gradient(const Call *call, const TlConv *c, const int64_t *size) {
  const TlTensor *g = call->g, *x = call->x, *w = call->w;
  const Args *a = &call->args;
  if (g->ndim != x->ndim) FAIL("convolution_backward: grad_output has %d dimensions, input has %d", g->ndim, x->ndim);
  const int64_t channels = (a->transposed ? c->xc : c->yc) * c->groups;
  bool ok = g->shape[0] == c->n && g->shape[1] == (x->shape[1] ? channels : 0) && g->dtype == x->dtype;
  for (int i = 0; i < a->nd; i++) ok &= g->shape[i + 2] == size[i];
  if (!ok)
    FAIL("convolution_backward: grad_output of size %s does not fit input %s and weight %s",
         tl_fmt_shape(g->ndim, g->shape), tl_fmt_shape(x->ndim, x->shape), tl_fmt_shape(w->ndim, w->shape));
  return 0;
}

/* -> (input, weight, bias), None where the mask says no */
KERNEL(k_backward)
{
  TlTensor *gc = NULL, *xc = NULL, *wc = NULL;
  PyObject *res = NULL;
  Call call;
  TlConv c;
  int64_t size[3];
  bool mask[3];
  int rc = call_of(&call, k, args);
  Py_XDECREF(call.x); /* the caller has it */
  if (rc || check(&call.args, call.x, call.w, NULL) || geometry(&call.args, call.x, call.w, &c, size) ||
      check_gradient(&call, &c, size))
    return NULL;
  const Args a = call.args;
  TlTensor *g = call.g, *x = call.x, *w = call.w;
  const int64_t channels = (a.transposed ? c.xc : c.yc) * c.groups;
  if (tl_is_complex(x->dtype)) return TL_FALLBACK();
  for (int i = 0; i < 3; i++) {
    PyObject *m = PySequence_GetItem(args[10], i);
    if (!m) return NULL;
    mask[i] = PyObject_IsTrue(m) == 1;
    Py_DECREF(m);
  }
  const tl_dtype dt = x->dtype, wd = tl_window_dtype(dt);
  const bool last = last_format(&a, x, w);
  if (!x->shape[0] || !x->shape[1]) { /* no image: zeros like the arguments */
    TlTensor *gx = mask[0] ? zeros_like(x) : NULL, *gw = mask[1] ? zeros_like(w) : NULL,
             *gb = mask[2] ? tl_zeros(dt, 1, &channels) : NULL;
    if ((mask[0] && !gx) || (mask[1] && !gw) || (mask[2] && !gb)) {
      Py_XDECREF(gx);
      Py_XDECREF(gw);
      Py_XDECREF(gb);
      return NULL;
    }
    return Py_BuildValue("NNN", gx ? (PyObject *)gx : Py_NewRef(Py_None), gw ? (PyObject *)gw : Py_NewRef(Py_None),
                         gb ? (PyObject *)gb : Py_NewRef(Py_None));
  }
  if (!(gc = tl_in_format(g, wd, last)) || (mask[1] && !(xc = tl_in_format(x, wd, last))) ||
      (mask[0] && !(wc = tl_in_format(w, wd, last))))
    goto done;
  if (!(res = PyTuple_New(3))) goto done;
  if (mask[0]) {
    TlTensor *gx = tl_empty_format(wd, x->ndim, x->shape, last);
    if (!gx) goto fail;
    if (gx->numel && !tl_meta)
      rc = (a.transposed ? forward_of : data_of)(last)(&c, wd, tl_data(gc), tl_data(wc), NULL, tl_data(gx));
    if (rc) {
      Py_DECREF(gx);
      goto fail;
    }
    if (put(res, 0, gx, dt)) goto fail;
  } else PyTuple_SetItem(res, 0, Py_NewRef(Py_None));
  if (mask[1]) {
    TlTensor *gw = tl_empty_format(wd, w->ndim, w->shape, last_weight(&a, x, w)), *large = a.transposed ? gc : xc,
             *small = a.transposed ? xc : gc;
    if (!gw) goto fail;
    if (gw->numel && !tl_meta)
      rc = (last ? tl_conv_last_weight : tl_conv_weight)(&c, wd, tl_data(large), tl_data(small), tl_data(gw));
    if (rc) {
      Py_DECREF(gw);
      goto fail;
    }
    if (put(res, 1, gw, dt)) goto fail;
  } else PyTuple_SetItem(res, 1, Py_NewRef(Py_None));
  if (mask[2]) {
    if (put(res, 2, bias_grad(gc, wd, last), dt)) goto fail;
  } else PyTuple_SetItem(res, 2, Py_NewRef(Py_None));
  goto done;
fail:
  Py_CLEAR(res);
done:
  Py_XDECREF(gc);
  Py_XDECREF(xc);
  Py_XDECREF(wc);
  return res;
}

/* ---- for the planners of webgpu --------------------------------------------------------------------------------- */
/* (batch, groups, channels of the large side and of the small one, the sizes of both) */
static PyObject *size_words(const TlConv *c, int nd) {
  int64_t v[10] = {c->n, c->groups, c->xc * c->groups, c->yc * c->groups};
  for (int i = 0; i < nd; i++) {
    v[4 + i] = c->x[3 - nd + i];
    v[4 + nd + i] = c->y[3 - nd + i];
  }
  return tl_ints_tuple(4 + 2 * nd, v);
}

static int arguments(const TlKernel *k) {
  if (k->id & DIMS) return k->id & TRANSPOSED ? 8 : 7;
  return k->id & GRADIENT ? 11 : 9;
}
/* conv_plan(overload, arguments): see data.c */
PyObject *tl_conv_plan(PyObject *m, PyObject *given) {
  PyObject *overload, *list, *r = NULL, *a[12];
  bool inplace;
  (void)m;
  if (!PyArg_ParseTuple(given, "OO!", &overload, &PyTuple_Type, &list)) return NULL;
  const TlKernel *k = tl_overload_entries(overload) ? tl_overload_kernel(overload, &inplace) : NULL;
  Py_ssize_t n = PyTuple_Size(list);
  bool right = k && (k->fn == k_conv || k->fn == k_backward) && n == arguments(k);
  for (Py_ssize_t i = 0; right && i < n; i++) {
    a[i] = PyTuple_GetItem(list, i);
    const bool tensor = i < 2 || (i == 2 && (k->id & GRADIENT)), bias = i == 2 && a[i] != Py_None;
    right = (!tensor && !bias) || TL_CHECK(a[i]);
  }
  if (!right) return PyErr_Format(PyExc_TypeError, "conv_plan(an overload of a convolution, its arguments)");
  Call call;
  TlConv c;
  int64_t shape[5];
  if (call_of(&call, k, a) == 0 && check(&call.args, call.x, call.w, call.bias) == 0 &&
      geometry(&call.args, call.x, call.w, &c, shape + 2) == 0 && (!call.g || !check_gradient(&call, &c, shape + 2))) {
    const Args *v = &call.args;
    const int nd = v->nd;
    shape[0] = c.n;
    shape[1] = (v->transposed ? c.xc : c.yc) * c.groups;
    if (!call.x->shape[1]) shape[1] = 0;
    r = Py_BuildValue("NN(NNNN)NN", tl_ints_tuple(nd + 2 - call.single, shape + call.single), size_words(&c, nd),
                      tl_ints_tuple(nd, call.w->shape + 2), tl_ints_tuple(nd, v->stride), tl_ints_tuple(nd, v->padding),
                      tl_ints_tuple(nd, v->dilation), PyBool_FromLong(last_format(v, call.x, call.w)),
                      PyBool_FromLong(last_weight(v, call.x, call.w)));
  }
  Py_XDECREF(call.x);
  return r;
}

const TlKernel tl_kernels_conv[] = {{"conv1d", k_conv, 1, TL_K_META},
                                    {"conv2d", k_conv, 2, TL_K_META},
                                    {"conv3d", k_conv, 3, TL_K_META},
                                    {"conv_transpose1d", k_conv, 1 | TRANSPOSED, TL_K_META},
                                    {"conv_transpose2d", k_conv, 2 | TRANSPOSED, TL_K_META},
                                    {"conv_transpose3d", k_conv, 3 | TRANSPOSED, TL_K_META},
                                    {"convolution", k_conv, 0, TL_K_META},
                                    {"convolution_backward", k_backward, GRADIENT, TL_K_META},
                                    {0}};
