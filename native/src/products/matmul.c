/* matmul.c: products of vectors, matrices and batches of matrices.
 *
 * One routine multiplies the last two dims of two operands and broadcasts the dims in front of them, as torch.matmul;
 * the named ops check their own shapes, in PyTorch's words, and call it. 16-bit floats run in float, integers in int64
 * (exact modulo the result's width), complex numbers as four real products. */
#include "core/tl.h"
#include "core/errors.h"
#include "products/gemm.h"

#define FAIL(...) return PyErr_Format(PyExc_RuntimeError, __VA_ARGS__), NULL

static tl_dtype work_dtype(tl_dtype d) { return tl_is_complex(d) ? d : tl_window_dtype(d); }

static int no_bool(tl_dtype d, const char *what) {
  if (d == TL_BOOL) PyErr_Format(PyExc_NotImplementedError, "\"%s\" not implemented for 'Bool'", what);
  return d == TL_BOOL ? -1 : 0;
}

/* g's product in the complex dtype w, whose elements its strides count: four real products of the interleaved parts,
 * without a bias and without adding to c */
static int complex_product(tl_dtype w, const TlGemm *g) {
  const bool f32 = w == TL_C64;
  const size_t e = f32 ? 4 : 8;
  int (*fn)(const TlGemm *) = f32 ? tl_gemm_f32 : tl_gemm_f64;
  TlGemm r = *g;
  r.a.is *= 2;
  r.a.ks *= 2;
  r.b.is *= 2;
  r.b.ks *= 2;
  r.c_rs *= 2;
  r.c_cs *= 2;
  char *tmp = tl_malloc((uint64_t)(g->m * g->n) * e + e), *c = g->c;
  if (!tmp) return -1;
  const char *ai = (const char *)g->a.p + e, *bi = (const char *)g->b.p + e;
  int rc = fn(&r);
  if (!rc) {
    r.b.p = bi;
    r.c = c + e;
    rc = fn(&r);
  }
  if (!rc) {
    r.b.p = g->b.p;
    r.a.p = ai;
    r.accumulate = true;
    rc = fn(&r);
  }
  if (!rc) {
    r.b.p = bi;
    r.accumulate = false;
    r.c = tmp;
    r.c_rs = g->n;
    r.c_cs = 1;
    rc = fn(&r);
  }
  if (!rc)
    for (int64_t i = 0; i < g->m; i++)
      for (int64_t j = 0; j < g->n; j++) {
        if (f32) ((float *)c)[2 * (i * g->c_rs + j * g->c_cs)] -= ((float *)tmp)[i * g->n + j];
        else ((double *)c)[2 * (i * g->c_rs + j * g->c_cs)] -= ((double *)tmp)[i * g->n + j];
      }
  tl_free(tmp);
  return rc;
}

/* a number that no element of an integer tensor exceeds in size, less than twice the largest size; -1: no memory */
static double size_bound(TlTensor *t) {
  TlTensor *c = tl_contiguous_as(t, TL_I64);
  if (!c) return -1;
  const int64_t *p = (const int64_t *)tl_data(c);
  uint64_t bits = 0;
  for (intptr_t i = 0; i < (intptr_t)c->numel; i++) bits |= (uint64_t)(p[i] ^ (p[i] >> 63));
  Py_DECREF((PyObject *)c);
  return (double)bits + 1;
}
/* The dtype in which k products of elements of two integer tensors are added up exactly, in any order: floats, of which
 * a vector holds more and multiplies faster, where no sum leaves the whole numbers that they have. */
static tl_dtype exact_dtype(TlTensor *a, TlTensor *b, int64_t k) {
  const double x = size_bound(a), y = x < 0 ? -1 : size_bound(b), most = x * y * (double)k;
  if (y < 0) PyErr_Clear();
  if (y < 0 || most > 0x1p53) return TL_I64;
  return most > 0x1p24 ? TL_F64 : TL_F32;
}

/* One product for each batch, the results one after the other. */
static int multiply_batches(tl_dtype w, TlGemm *g, const TlBatch *batch) {
  if (!tl_is_complex(w)) {
    const TlGemmType real = w == TL_F32 ? TL_GEMM_F32 : TL_GEMM_F64;
    return tl_gemm_batch(w == TL_I64 ? TL_GEMM_I64 : real, g, batch);
  }
  const char *a = g->a.p, *b = g->b.p;
  for (int64_t i = 0; i < batch->count; i++) {
    int64_t ao, bo;
    tl_batch_at(batch, i, &ao, &bo);
    g->a.p = a + ao * tl_itemsize[w];
    g->b.p = b + bo * tl_itemsize[w];
    if (complex_product(w, g)) return -1;
    g->c = (char *)g->c + g->m * g->n * tl_itemsize[w];
  }
  return 0;
}

/* a [*, m, k] times b [*, k, n]; 1-dim operands lose their dim; bt: b is given as [*, n, k]. init, when given, is a
 * contiguous tensor of the result's shape and work dtype that the product is added to (it becomes the result); bias has
 * one element for each column. Shapes and dtypes are checked by the caller. */
static TlTensor *multiply(TlTensor *a, TlTensor *b, bool bt, TlTensor *bias, TlTensor *init) {
  const tl_dtype dt = a->dtype;
  tl_dtype w = work_dtype(dt);
  TlTensor *c = NULL, *r = NULL, *bc = NULL;
  const int64_t columns = b->ndim < 2 ? 1 : b->shape[b->ndim - 1 - bt];
  /* where either is read often enough to pay for two looks at both */
  if (w == TL_I64 && !bias && !init && !tl_meta && columns >= 16 && a->numel / 16 * columns >= a->numel + b->numel)
    w = exact_dtype(a, b, a->shape[a->ndim - 1]);
  a = tl_cast(a, w);
  b = tl_cast(b, w);
  if (!a || !b || (bias && !(bc = tl_contiguous_as(bias, w)))) goto done;

  int na = a->ndim > 2 ? a->ndim - 2 : 0, nb = b->ndim > 2 ? b->ndim - 2 : 0, nc = na > nb ? na : nb;
  int64_t shape[TL_MAX_DIMS], as[TL_MAX_DIMS], bs[TL_MAX_DIMS], batches = 1;
  const int64_t *at = a->strides + na, *bst = b->strides + nb;
  TlGemm g = {.m = a->ndim > 1 ? a->shape[na] : 1, .k = a->shape[a->ndim - 1]};
  g.a = (TlMat){.p = tl_data(a), .is = a->ndim > 1 ? at[0] : 1, .ks = a->strides[a->ndim - 1]};
  if (b->ndim == 1) {
    g.n = 1;
    g.b = (TlMat){.is = 1, .ks = bst[0]};
  } else if (bt) {
    g.n = b->shape[nb];
    g.b = (TlMat){.is = bst[0], .ks = bst[1]};
  } else {
    g.n = b->shape[nb + 1];
    g.b = (TlMat){.is = bst[1], .ks = bst[0]};
  }
  g.b.p = tl_data(b);
  g.a.of = a->storage;
  g.b.of = b->storage;
  int nd = 0;
  for (int d = 0; d < nc; d++) {
    int da = d - (nc - na), db = d - (nc - nb);
    int64_t sa = da < 0 ? 1 : a->shape[da], sb = db < 0 ? 1 : b->shape[db];
    shape[nd++] = sa == 1 ? sb : sa;
    batches = tl_wrap_mul(batches, shape[d]);
    as[d] = sa == 1 ? 0 : a->strides[da];
    bs[d] = sb == 1 ? 0 : b->strides[db];
  }
  int nbatch = nd;
  if (a->ndim > 1) shape[nd++] = g.m;
  if (b->ndim > 1) shape[nd++] = g.n;
  c = init ? (TlTensor *)Py_NewRef((PyObject *)init) : tl_empty(w, nd, shape);
  if (!c) goto done;
  if (bc) g.col_bias = tl_data(bc);
  g.accumulate = init != NULL;
  g.c = tl_data(c);
  g.c_rs = g.n;
  g.c_cs = 1;
  /* rows of a that follow one another at one distance, with one b: a single tall product */
  while (c->numel && nbatch && nb == 0 && (g.m == 1 || shape[nbatch - 1] == 1 || as[nbatch - 1] == g.m * g.a.is)) {
    nbatch--;
    if (g.m == 1) g.a.is = as[nbatch];
    g.m *= shape[nbatch];
    batches = shape[nbatch] ? batches / shape[nbatch] : 0;
  }
  const TlBatch batch = {nbatch ? batches : 1, nbatch, shape, as, bs};
  if (c->numel && !tl_meta && multiply_batches(w, &g, &batch) < 0) goto done;
  if (w != dt && w != TL_I64 && tl_is_integral(dt)) { /* a narrow dtype's sums wrap around, which a float would not */
    TlTensor *whole = tl_cast(c, TL_I64);
    Py_DECREF((PyObject *)c);
    if (!(c = whole)) goto done;
  }
  r = tl_cast(c, dt);
done:
  Py_XDECREF(a);
  Py_XDECREF(b);
  Py_XDECREF(bc);
  Py_XDECREF(c);
  return r;
}

/* self expanded to shape, contiguous, in dtype w: memory of its own */
static TlTensor *expanded(TlTensor *self, int n, const int64_t *shape, tl_dtype w) {
  int64_t strides[TL_MAX_DIMS];
  int lead = n - self->ndim;
  if (lead < 0)
    FAIL("expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must be greater or equal to the "
         "number of dimensions in the tensor (%d)",
         tl_scalar_type[self->dtype], tl_fmt_shape(self->ndim, self->shape), tl_fmt_shape(n, shape), n, self->ndim);
  for (int d = n - 1; d >= 0; d--) {
    int64_t have = d < lead ? 1 : self->shape[d - lead];
    if (have != 1 && have != shape[d]) return tl_expand_error(d, have, n, shape, self), NULL;
    strides[d] = have == 1 && (d < lead || shape[d] != 1) ? 0 : self->strides[d - lead];
  }
  TlTensor *v = tl_view(self, n, shape, strides, self->offset), *r = v ? tl_empty(w, n, shape) : NULL;
  if (r && tl_copy(r, v)) Py_CLEAR(r);
  Py_XDECREF(v);
  return r;
}

/* beta * self + alpha * (a b), a and b checked; the bias of a linear layer and plain accumulation are fused */
static TlTensor *add_product(TlTensor *self, TlTensor *a, TlTensor *b, PyObject *beta, PyObject *alpha, int n,
                             const int64_t *shape) {
  const tl_dtype dt = a->dtype, w = work_dtype(dt);
  tl_c128 av, bv;
  TlTensor *init = NULL, *p = NULL, *r = NULL, *wide_a = NULL;
  const tl_dtype number = n > 1 && tl_is_float(dt) ? tl_compute[dt] : dt; /* PyTorch's products of vectors are of dt */
  if (tl_check_room(alpha, number) || tl_check_room(beta, number)) return NULL;
  if (tl_scalar_store(w, &av, alpha) || tl_scalar_store(w, &bv, beta)) return NULL;
  bool alpha_is_1, beta_is_1, beta_is_0;
#define ONE(T, v, x) (*(T *)&v == (T)(x))
  switch (w) {
  case TL_F32:
    alpha_is_1 = ONE(float, av, 1);
    beta_is_1 = ONE(float, bv, 1);
    beta_is_0 = ONE(float, bv, 0);
    break;
  case TL_F64:
    alpha_is_1 = ONE(double, av, 1);
    beta_is_1 = ONE(double, bv, 1);
    beta_is_0 = ONE(double, bv, 0);
    break;
  case TL_I64:
    alpha_is_1 = ONE(int64_t, av, 1);
    beta_is_1 = ONE(int64_t, bv, 1);
    beta_is_0 = ONE(int64_t, bv, 0);
    break;
  case TL_C64:
    alpha_is_1 = beta_is_1 = false;
    beta_is_0 = ((tl_c64 *)&bv)->re == 0 && ((tl_c64 *)&bv)->im == 0;
    break;
  default: alpha_is_1 = beta_is_1 = false; beta_is_0 = bv.re == 0 && bv.im == 0;
  }
#undef ONE
  init = expanded(self, n, shape, w); /* also checks the shape */
  if (!init) return NULL;
  if (alpha_is_1 && beta_is_0) {
    r = multiply(a, b, false, NULL, NULL);
    goto done;
  }
  if (alpha_is_1 && beta_is_1) {
    r = multiply(a, b, false, NULL, init);
    goto done;
  }
  wide_a = tl_cast(a, w);
  if (!wide_a || !(p = multiply(wide_a, b, false, NULL, NULL))) goto done;
  int64_t num = tl_meta ? 0 : p->numel;
#define RUN(T) { T x = *(T *)&av, y = *(T *)&bv, *P = (T *)tl_data(p), *S = (T *)tl_data(init); \
    for (int64_t i = 0; i < num; i++) P[i] = beta_is_0 ? x * P[i] : x * P[i] + y * S[i]; }
#define CRUN(T, R) { T x = *(T *)&av, y = *(T *)&bv, *P = (T *)tl_data(p), *S = (T *)tl_data(init); \
    for (int64_t i = 0; i < num; i++) { \
      T u = {x.re * P[i].re - x.im * P[i].im, x.re * P[i].im + x.im * P[i].re}; \
      if (!beta_is_0) { u.re += y.re * S[i].re - y.im * S[i].im; u.im += y.re * S[i].im + y.im * S[i].re; } \
      P[i] = u; } }
  switch (w) {
  case TL_F32: RUN(float) break;
  case TL_F64: RUN(double) break;
  case TL_I64: RUN(uint64_t) break;
  case TL_C64: CRUN(tl_c64, float) break;
  default: CRUN(tl_c128, double)
  }
  r = tl_cast(p, dt);
done:
  Py_XDECREF(init);
  Py_XDECREF(wide_a);
  Py_XDECREF(p);
  return r;
}

/* ---- checks ---- */
#define SHAPES_MSG "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)"
#define LL(x) ((long long)(x))

static int check_mm(int64_t m, int64_t k, int64_t k2, int64_t n, tl_dtype a, tl_dtype b) {
  if (k != k2) PyErr_Format(PyExc_RuntimeError, SHAPES_MSG, LL(m), LL(k), LL(k2), LL(n));
  else if (a != b)
    PyErr_Format(PyExc_RuntimeError, "expected m1 and m2 to have the same dtype, but got: %s != %s", tl_cpp_type[a],
                 tl_cpp_type[b]);
  else return no_bool(a, "addmm_impl_cpu_");
  return -1;
}

static int check_mv(TlTensor *v, int64_t self_size, tl_dtype self_dtype, int64_t m, int64_t k, tl_dtype mat) {
  if (v->shape[0] != k || (self_size != m && self_size != 1))
    PyErr_Format(PyExc_RuntimeError, "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)", LL(self_size),
                 LL(m), LL(k), LL(v->shape[0]));
  else if (v->dtype != mat || mat != self_dtype)
    PyErr_Format(PyExc_RuntimeError, "addmv input tensors must have the same dtype, but got %s, %s, and %s",
                 tl_scalar_type[self_dtype], tl_scalar_type[mat], tl_scalar_type[v->dtype]);
  else return no_bool(mat, "addmv_impl_cpu");
  return -1;
}

static int check_bmm(int64_t batch, int64_t k, int64_t batch2, int64_t k2, tl_dtype a, tl_dtype b) {
  if (batch != batch2 || k != k2)
    PyErr_Format(PyExc_RuntimeError,
                 "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, %lld].",
                 LL(batch), LL(k), LL(batch2), LL(k2));
  else if (a != b) tl_scalar_type_error(a, b);
  else return no_bool(a, "bmm");
  return -1;
}

static int check_dot(TlTensor *a, TlTensor *b) {
  if (a->ndim != 1 || b->ndim != 1)
    PyErr_Format(PyExc_RuntimeError, "1D tensors expected, but got %dD and %dD tensors", a->ndim, b->ndim);
  else if (a->dtype != b->dtype)
    PyErr_Format(PyExc_RuntimeError, "dot : expected both vectors to have same dtype, but found %s and %s",
                 tl_scalar_type[a->dtype], tl_scalar_type[b->dtype]);
  else if (a->numel != b->numel)
    PyErr_Format(PyExc_RuntimeError,
                 "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same number of elements, "
                 "but got %lld and %lld elements respectively",
                 LL(a->numel), LL(b->numel), LL(a->numel), LL(b->numel));
  else return no_bool(a->dtype, "dot");
  return -1;
}

/* ---- the ops ---- */
#define KERNEL(name) static PyObject *name(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out)
#define ARG(i) ((TlTensor *)args[i])

/* addmm and linear word this error differently from mm */
static int check_added(tl_dtype a, tl_dtype b) {
  if (a == b) return 0;
  PyErr_Format(PyExc_RuntimeError, "mat1 and mat2 must have the same dtype, but got %s and %s", tl_scalar_type[a],
               tl_scalar_type[b]);
  return -1;
}

KERNEL(k_mm)
{
  TlTensor *a = ARG(0), *b = ARG(1);
  if (a->ndim != 2) FAIL("self must be a matrix");
  if (b->ndim != 2) FAIL("mat2 must be a matrix");
  if (check_mm(a->shape[0], a->shape[1], b->shape[0], b->shape[1], a->dtype, b->dtype)) return NULL;
  return (PyObject *)multiply(a, b, false, NULL, NULL);
}

KERNEL(k_bmm)
{
  TlTensor *a = ARG(0), *b = ARG(1);
  if (a->ndim != 3) FAIL("batch1 must be a 3D tensor");
  if (b->ndim != 3) FAIL("batch2 must be a 3D tensor");
  if (check_bmm(a->shape[0], a->shape[2], b->shape[0], b->shape[1], a->dtype, b->dtype)) return NULL;
  return (PyObject *)multiply(a, b, false, NULL, NULL);
}

KERNEL(k_mv)
{
  TlTensor *a = ARG(0), *v = ARG(1);
  if (a->ndim != 2 || v->ndim != 1) FAIL("vector + matrix @ vector expected, got 1, %d, %d", a->ndim, v->ndim);
  if (check_mv(v, a->shape[0], v->dtype, a->shape[0], a->shape[1], a->dtype)) return NULL;
  return (PyObject *)multiply(a, v, false, NULL, NULL);
}

enum { CONJUGATED = 1 }; /* the first argument: vdot */
KERNEL(k_dot)
{
  TlTensor *a = ARG(0), *b = ARG(1);
  if (check_dot(a, b)) return NULL;
  if (k->id != CONJUGATED || !tl_is_complex(a->dtype)) return (PyObject *)multiply(a, b, false, NULL, NULL);
  TlTensor *c = tl_empty(a->dtype, 1, a->shape), *r = NULL;
  if (c && !tl_copy(c, a)) {
    for (int64_t i = 0; i < c->numel && !tl_meta; i++) {
      if (c->dtype == TL_C64) {
        tl_c64 *p = (tl_c64 *)tl_data(c) + i;
        p->im = -p->im;
      } else {
        tl_c128 *p = (tl_c128 *)tl_data(c) + i;
        p->im = -p->im;
      }
    }
    r = multiply(c, b, false, NULL, NULL);
  }
  Py_XDECREF(c);
  return (PyObject *)r;
}

KERNEL(k_matmul)
{
  TlTensor *a = ARG(0), *b = ARG(1);
  if (!a->ndim || !b->ndim)
    FAIL("both arguments to matmul need to be at least 1D, but they are %dD and %dD", a->ndim, b->ndim);
  if (a->ndim == 1 && b->ndim == 1) {
    if (check_dot(a, b)) return NULL;
  } else if (b->ndim == 1) {
    int64_t kk = a->shape[a->ndim - 1], m = 1;
    for (int d = 0; d < a->ndim - 1; d++) m = tl_wrap_mul(m, a->shape[d]);
    if (check_mv(b, m, b->dtype, m, kk, a->dtype)) return NULL;
  } else if (b->ndim == 2) {
    int64_t kk = a->shape[a->ndim - 1], m = 1;
    for (int d = 0; d < a->ndim - 1; d++) m = tl_wrap_mul(m, a->shape[d]);
    if (check_mm(m, kk, b->shape[0], b->shape[1], a->dtype, b->dtype)) return NULL;
  } else {
    int64_t s[TL_MAX_DIMS], batch = 1;
    int n;
    if (tl_broadcast(a->ndim > 2 ? a->ndim - 2 : 0, a->shape, b->ndim - 2, b->shape, &n, s)) return NULL;
    for (int d = 0; d < n; d++) batch = tl_wrap_mul(batch, s[d]);
    if (check_bmm(batch, a->shape[a->ndim - 1], batch, b->shape[b->ndim - 2], a->dtype, b->dtype)) return NULL;
  }
  return (PyObject *)multiply(a, b, false, NULL, NULL);
}

KERNEL(k_addmm)
{
  TlTensor *self = ARG(0), *a = ARG(1), *b = ARG(2);
  if (a->ndim != 2) FAIL("mat1 must be a matrix, got %d-D tensor", a->ndim);
  if (b->ndim != 2) FAIL("mat2 must be a matrix, got %d-D tensor", b->ndim);
  int64_t shape[2] = {a->shape[0], b->shape[1]};
  if (a->shape[1] == b->shape[0] && self->dtype != b->dtype)
    FAIL("self and mat2 must have the same dtype, but got %s and %s", tl_scalar_type[self->dtype],
         tl_scalar_type[b->dtype]);
  if (a->shape[1] == b->shape[0] && check_added(a->dtype, b->dtype)) return NULL;
  if (check_mm(a->shape[0], a->shape[1], b->shape[0], b->shape[1], a->dtype, b->dtype)) return NULL;
  return (PyObject *)add_product(self, a, b, args[3], args[4], 2, shape);
}

KERNEL(k_addmv)
{
  TlTensor *self = ARG(0), *a = ARG(1), *v = ARG(2);
  if (a->ndim != 2 || v->ndim != 1 || self->ndim > 1)
    FAIL("vector + matrix @ vector expected, got %d, %d, %d", self->ndim, a->ndim, v->ndim);
  if (check_mv(v, self->numel, self->dtype, a->shape[0], a->shape[1], a->dtype)) return NULL;
  return (PyObject *)add_product(self, a, v, args[3], args[4], 1, a->shape);
}

KERNEL(k_baddbmm)
{
  TlTensor *self = ARG(0), *a = ARG(1), *b = ARG(2);
  if (a->ndim != 3) FAIL("batch1 must be a 3D tensor");
  if (b->ndim != 3) FAIL("batch2 must be a 3D tensor");
  if (self->dtype != a->dtype)
    FAIL("Input dtypes must be the same, got: input %s, batch1: %s, batch2: %s", tl_cpp_type[self->dtype],
         tl_cpp_type[a->dtype], tl_cpp_type[b->dtype]);
  if (check_bmm(a->shape[0], a->shape[2], b->shape[0], b->shape[1], a->dtype, b->dtype)) return NULL;
  int64_t shape[3] = {a->shape[0], a->shape[1], b->shape[2]};
  return (PyObject *)add_product(self, a, b, args[3], args[4], 3, shape);
}

KERNEL(k_linear)
{
  TlTensor *x = ARG(0), *w = ARG(1), *bias = args[2] == Py_None ? NULL : ARG(2);
  if (!x->ndim || !w->ndim)
    FAIL("both arguments to linear need to be at least 1D, but they are %dD and %dD", x->ndim, w->ndim);
  if (w->ndim > 2) FAIL("t() expects a tensor with <= 2 dimensions, but self is %dD", w->ndim);
  int64_t kk = x->shape[x->ndim - 1], m = 1, wk = w->shape[w->ndim - 1];
  for (int d = 0; d < x->ndim - 1; d++) m = tl_wrap_mul(m, x->shape[d]);
  if (w->ndim == 1) {
    if (bias) FAIL("mat2 must be a matrix, got 1-D tensor");
    if (x->ndim == 1 ? check_dot(x, w) : check_mv(w, m, w->dtype, m, kk, x->dtype)) return NULL;
    return (PyObject *)multiply(x, w, false, NULL, NULL);
  }
  if (bias && kk == wk && bias->dtype != w->dtype) {
    if (x->ndim <= 2 || tl_is_contiguous(x))
      FAIL("self and mat2 must have the same dtype, but got %s and %s", tl_scalar_type[bias->dtype],
           tl_scalar_type[w->dtype]);
    if (x->dtype == w->dtype) return TL_FALLBACK(); /* there PyTorch adds the bias to the product */
  }
  if (bias && kk == wk && check_added(x->dtype, w->dtype)) return NULL;
  if (check_mm(m, kk, wk, w->shape[0], x->dtype, w->dtype)) return NULL;
  if (bias && (bias->ndim != 1 || bias->shape[0] != w->shape[0] || tl_is_complex(x->dtype))) {
    int64_t shape[TL_MAX_DIMS], flat[2] = {m, w->shape[0]};
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof(int64_t));
    shape[x->ndim - 1] = w->shape[0];
    TlTensor *v = expanded(bias, 2, flat, x->dtype); /* PyTorch adds the bias to a matrix */
    if (!v) return NULL;
    Py_DECREF(v);
    /* rare: product first, then the sum through the general path */
    int64_t ts[2] = {w->shape[1], w->shape[0]}, st[2] = {w->strides[1], w->strides[0]};
    TlTensor *wt = tl_view(w, 2, ts, st, w->offset), *x2 = tl_contiguous(x), *r = NULL, *x2v = NULL;
    PyObject *one = PyLong_FromLong(1);
    int64_t xs[2] = {m, kk}, xst[2] = {kk, 1};
    if (wt && x2 && one && (x2v = tl_view(x2, 2, xs, xst, x2->offset)))
      r = add_product(bias, x2v, wt, one, one, 2, flat);
    Py_XDECREF(wt);
    Py_XDECREF(x2);
    Py_XDECREF(x2v);
    Py_XDECREF(one);
    if (!r) return NULL;
    int64_t rs[TL_MAX_DIMS], step = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
      rs[d] = step;
      step *= shape[d];
    }
    TlTensor *view = x->ndim == 2 ? (TlTensor *)Py_NewRef((PyObject *)r) : tl_view(r, x->ndim, shape, rs, r->offset);
    Py_DECREF(r);
    return (PyObject *)view;
  }
  return (PyObject *)multiply(x, w, true, bias, NULL);
}

KERNEL(k_gpu_only)
{ return TL_FALLBACK(); } /* an op with a kernel on webgpu only */

const TlKernel tl_kernels_matmul[] = {
  {"_attention", k_gpu_only},           {"mm", k_mm, 0, TL_K_META},         {"bmm", k_bmm, 0, TL_K_META},
  {"mv", k_mv, 0, TL_K_META},           {"dot", k_dot, 0, TL_K_META},       {"vdot", k_dot, CONJUGATED, TL_K_META},
  {"matmul", k_matmul, 0, TL_K_META},   {"addmm", k_addmm, 0, TL_K_META},   {"addmv", k_addmv, 0, TL_K_META},
  {"baddbmm", k_baddbmm, 0, TL_K_META}, {"linear", k_linear, 0, TL_K_META}, {0}};
