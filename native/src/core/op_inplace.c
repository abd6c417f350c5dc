/* op_inplace.c: ops that write their first argument, below autograd. */
#include "core/geometry.h"
#include "core/errors.h"
#include "core/op.h"

/* Whether PyTorch's triu_ writes to this batch directly: if its matrices do not follow each other, PyTorch copies a
 * result back, and that copy raises. */
static bool matrices_follow(const TlTensor *t) {
  int n = t->ndim;
  int64_t next = n < 4 ? 0 : t->shape[n - 1] * t->shape[n - 2];
  bool follow = true;
  for (int d = n - 3; d >= 0 && n >= 4; d--) {
    if (d == 0 && (t->strides[d] == 0 || t->shape[d] == 1)) continue;
    follow = follow && t->strides[d] == next;
    next *= t->shape[d];
  }
  return follow;
}

/* PyTorch's warning for the ops that it will refuse one day on expanded tensors. */
static int warn_expanded(const Overload *ov) {
  bool indices = ov->params[1].kind == K_OPT_TENSORS; /* index_put_ */
  PyObject *name = PyObject_GetAttrString(ov->spec, "name");
  if (!name) return -1;
  int rc = PyErr_WarnFormat(
    PyExc_UserWarning, 1,
    "Use of %U_ on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This "
    "also applies to advanced indexing e.g. tensor[%s] = %s",
    name, indices ? "indices" : "mask", indices ? "tensor" : "scalar");
  Py_DECREF(name);
  return rc;
}

/* Expanded tensors: writing one element writes others. Some ops may, as their declarations say. */
static int check_expanded(const Overload *ov, const TlTensor *t) {
  if (ov->flags & (F_VIEW | F_EXPANDED) || !tl_repeats(t)) return 0;
  if (ov->flags & F_EXPANDED_WARNS) return warn_expanded(ov);
  if (ov->flags & F_EXPANDED_ROWS && matrices_follow(t)) return 0;
  return tl_repeats_error();
}

static int check_apart(const TlTensor *self, PyObject *const *a, Py_ssize_t n) {
  int rc = 0;
  if (PyTuple_Check(a[0]) || PyList_Check(a[0])) { /* index_put_ with one mask and one number is a fill */
    Py_ssize_t masks = 0, m = PyObject_Size(a[0]);
    const TlTensor *mask = NULL;
    for (Py_ssize_t i = 0; i < m; i++)
      if (TL_CHECK(seq_item(a[0], i))) {
        mask = (const TlTensor *)seq_item(a[0], i);
        masks += mask->dtype == TL_BOOL || mask->dtype == TL_U8 ? 1 : 2;
      }
    if (masks == 1 && n > 1 && TL_CHECK(a[1]) && ((TlTensor *)a[1])->numel == 1)
      return mask->dtype == TL_BOOL && tl_check_overlap(self, mask) < 0 ? -1 : 0;
  }
  for (Py_ssize_t i = 0; i < n && rc == 0; i++) {
    if (TL_CHECK(a[i])) rc = tl_check_apart(self, (const TlTensor *)a[i]);
    else if (PyTuple_Check(a[i]) || PyList_Check(a[i]))
      for (Py_ssize_t j = 0; j < PyObject_Size(a[i]) && rc == 0; j++)
        if (TL_CHECK(seq_item(a[i], j))) rc = tl_check_apart(self, (const TlTensor *)seq_item(a[i], j));
  }
  return rc;
}

/* A dtype that a call in place names, in the last argument, can only be the tensor's own. */
static int check_named_dtype(const Overload *ov, PyObject *const *a) {
  const TlTensor *self = (const TlTensor *)a[0];
  tl_dtype want;
  if (tl_dtype_arg(a[ov->nparams - 1], self->dtype, &want) < 0) return -1;
  if (want == self->dtype) return 0;
  PyErr_Format(PyExc_RuntimeError, "Bad in-place call: input tensor dtype %s and output tensor dtype %s should match",
               tl_cpp_type[self->dtype], tl_cpp_type[want]);
  return -1;
}

/* self <- op(self, ...), by a kernel that writes in place, else by a copy */
static PyObject *compute_inplace(Overload *ov, PyObject *const *a, bool other) {
  TlTensor *self = (TlTensor *)a[0];
  self->storage->writes++; /* also if the kernel is interrupted */
  if (!tl_is_contiguous(self) && check_expanded(ov, self) < 0) return NULL;
  if (ov->flags & F_EXACT && check_named_dtype(ov, a) < 0) return NULL;
  if (ov->kernel && tl_any_indirect && !(ov->kernel->flags & TL_K_GEOMETRY)) {
    PyObject *b[MAX_PARAMS], *own[MAX_PARAMS], *r = NULL;
    int n = tl_op_direct_args(ov, a, b, own), ok = 0;
    if (n < 0) return NULL;
    if (n) {
      r = compute_inplace(ov, b, other);
      ok = r && (b[0] == a[0] || tl_copy(self, (TlTensor *)b[0]) == 0); /* back from the direct copy */
      if (ok && b[0] != a[0]) tl_bump(self);
      Py_XDECREF(r);
      while (n) Py_DECREF(own[--n]);
      return ok ? Py_NewRef(self) : NULL;
    }
  }
  if (ov->kernel && ov->kernel->flags & TL_K_APART && check_apart(self, a + 1, ov->nparams - 1) < 0) return NULL;
  ov->calls++;
  PyObject *r = NULL;
  int64_t version = self->version ? self->version->value : 0;
  const bool limited = tl_any_indirect && ov->kernel && !(ov->kernel->flags & TL_K_GEOMETRY);
  if (limited && ((r = tl_op_limited(ov, a)) || PyErr_Occurred())) goto computed;
  const bool meta = other && ov->kernel && tl_op_on_meta(ov, a);
  if (ov->kernel && (!other || meta || ov->kernel->flags & TL_K_GEOMETRY) && (ov->kernel->flags & TL_K_OUT)) {
    r = meta ? tl_op_run_meta(ov, a, self) : tl_run(ov->kernel, a, ov->nparams, self);
    if (!r) return NULL;
    if (r != Py_NotImplemented) {
      tl_bump(self);
      return r;
    }
    Py_DECREF(r);
  }
  version = self->version ? self->version->value : 0;
  for (int i = 1; ov->flags & F_ORDERED && i < ov->nparams; i++) /* PyTorch writes while it reads the other arguments */
    if (TL_CHECK(a[i]) && tl_check_overlap(self, (const TlTensor *)a[i]) < 0) return NULL;
  r = tl_op_compute(ov, a, other);
computed:
  if (!r) return NULL;
  if (r == (PyObject *)self) {
    tl_bump(self);
    if (self->version && self->version->value != version + 1)
      self->version->value = version + 1; /* one call is one version, however often the body wrote */
    return r;
  }
  if (!TL_CHECK(r)) {
    PyErr_Format(PyExc_SystemError, "%U: in-place body must return a tensor", ov->schema);
    Py_DECREF(r);
    return NULL;
  }
  TlTensor *t = (TlTensor *)r;
  bool same = t->ndim == self->ndim;
  for (int i = 0; same && i < t->ndim; i++) same = t->shape[i] == self->shape[i];
  if (!same) {
    tl_output_shape_error(self, t->ndim, t->shape);
  } else if (tl_check_cast(t->dtype, self->dtype) == 0 && tl_copy(self, t) == 0) {
    tl_bump(self);
    Py_DECREF(r);
    return Py_NewRef(self);
  }
  Py_DECREF(r);
  return NULL;
}

/* below autograd */
PyObject *tl_op_run_inplace(Overload *ov, PyObject *const *a, bool other) {
  if (tl_dispatch_used && tl_op_dispatched(ov, a)) {
    const TlVersion *v = TL_CHECK(a[0]) ? tl_version((TlTensor *)a[0]) : NULL;
    int64_t before = v ? v->value : 0;
    PyObject *r = tl_op_ask_mode(ov, a, true);
    if (r && r != Py_NotImplemented && v && v->value == before) tl_bump((TlTensor *)a[0]); /* a wrapper's are inside */
    if (r != Py_NotImplemented) return r;
    Py_DECREF(r);
  }
  return compute_inplace(ov, a, other);
}
