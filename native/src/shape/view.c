/* view.c: ops that only change geometry (results share memory), and basic indexing. */
#include "core/core.h"
#include "core/errors.h"
#include "core/geometry.h"

#define ARGS const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out
#define UNUSED (void)k, (void)n, (void)out
#define T0 TlTensor *t = (TlTensor *)a[0]

static PyObject *as_view(TlTensor *t, int nd, const int64_t *shape, const int64_t *strides, int64_t offset) {
  return (PyObject *)tl_view(t, nd, shape, strides, offset);
}

/* resolves one -1 in shape against numel; -1 on error */
static int infer_size(int64_t numel, int nd, int64_t *shape) {
  int64_t known = 1;
  int hole = -1;
  int64_t given[TL_MAX_DIMS];
  if (nd < 0) return tl_no_shape_error();
  memcpy(given, shape, sizeof(int64_t) * (size_t)nd);
  for (int i = 0; i < nd; i++) {
    if (shape[i] == -1) {
      if (hole >= 0) {
        PyErr_SetString(PyExc_RuntimeError, "only one dimension can be inferred");
        return -1;
      }
      hole = i;
    } else if (shape[i] < 0) {
      PyErr_Format(PyExc_RuntimeError, "invalid shape dimension %lld", (long long)shape[i]);
      return -1;
    } else if (__builtin_mul_overflow(known, shape[i], &known)) {
      PyErr_Format(PyExc_RuntimeError, "shape '%s' is invalid for input of size %lld", tl_fmt_shape(nd, given),
                   (long long)numel);
      return -1;
    }
  }
  if (hole >= 0 && known == 0) {
    PyErr_Format(PyExc_RuntimeError,
                 "cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size -1 can be "
                 "any value and is ambiguous",
                 tl_fmt_shape(nd, given));
    return -1;
  }
  if (hole >= 0 && numel % known == 0) shape[hole] = numel / known;
  else if (hole >= 0 || known != numel) {
    PyErr_Format(PyExc_RuntimeError, "shape '%s' is invalid for input of size %lld", tl_fmt_shape(nd, given),
                 (long long)numel);
    return -1;
  }
  return 0;
}

/* strides that view t as shape without a copy; false when there are none */
bool tl_view_strides(const TlTensor *t, int nd, const int64_t *shape, int64_t *strides) {
  if (t->numel == 0) {
    int64_t s = 1;
    bool same = nd == t->ndim;
    for (int i = 0; same && i < nd; i++) same = shape[i] == t->shape[i];
    for (int i = nd - 1; i >= 0; i--) {
      strides[i] = same ? t->strides[i] : s;
      s = tl_wrap_mul(s, shape[i] > 1 ? shape[i] : 1);
    }
    return true;
  }
  int v = nd - 1;
  int64_t base = t->ndim ? t->strides[t->ndim - 1] : 1, tnum = 1, vnum = 1;
  for (int d = t->ndim - 1; d >= 0; d--) {
    tnum *= t->shape[d];
    if (d == 0 || (t->shape[d - 1] != 1 && t->strides[d - 1] != tnum * base)) {
      while (v >= 0 && (vnum < tnum || shape[v] == 1)) {
        strides[v] = vnum * base;
        vnum *= shape[v];
        v--;
      }
      if (vnum != tnum) return false;
      if (d > 0) {
        base = t->strides[d - 1];
        tnum = vnum = 1;
      }
    }
  }
  for (; v >= 0; v--) strides[v] = 1; /* a 0-dim tensor viewed as [1, 1] */
  return true;
}

enum { VIEW, TRY_VIEW };
static PyObject *k_view(ARGS) {
  UNUSED;
  T0;
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int nd;
  if (k->id == TRY_VIEW && (n != 2 || !TL_CHECK(t))) {
    PyErr_SetString(PyExc_TypeError, "try_view(tensor, shape)");
    return NULL;
  }
  if (tl_ints(a[1], shape, &nd) < 0 || infer_size(t->numel, nd, shape) < 0) return NULL;
  if (!tl_view_strides(t, nd, shape, strides)) {
    if (k->id == TRY_VIEW) Py_RETURN_NONE; /* the caller copies */
    PyErr_SetString(PyExc_RuntimeError,
                    "view size is not compatible with input tensor's size and stride (at least one dimension spans "
                    "across two contiguous subspaces). Use .reshape(...) instead.");
    return NULL;
  }
  return as_view(t, nd, shape, strides, t->offset);
}

static PyObject *k_transpose(ARGS) {
  UNUSED;
  T0;
  int64_t d0, d1, shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int i, j;
  if (tl_int(a[1], &d0) < 0 || tl_int(a[2], &d1) < 0 || tl_wrap_dim(d0, t->ndim, &i) < 0 ||
      tl_wrap_dim(d1, t->ndim, &j) < 0)
    return NULL;
  memcpy(shape, t->shape, sizeof(int64_t) * (size_t)t->ndim);
  memcpy(strides, t->strides, sizeof(int64_t) * (size_t)t->ndim);
  if (t->ndim) {
    shape[i] = t->shape[j];
    shape[j] = t->shape[i];
    strides[i] = t->strides[j];
    strides[j] = t->strides[i];
  }
  return as_view(t, t->ndim, shape, strides, t->offset);
}

static PyObject *k_t2(ARGS) {
  UNUSED;
  T0;
  if (t->ndim != 2) {
    PyErr_Format(PyExc_RuntimeError, "t() expects a tensor with 2 dimensions, but self is %dD", t->ndim);
    return NULL;
  }
  int64_t shape[2] = {t->shape[1], t->shape[0]}, strides[2] = {t->strides[1], t->strides[0]};
  return as_view(t, 2, shape, strides, t->offset);
}

static PyObject *k_permute(ARGS) {
  UNUSED;
  T0;
  int64_t dims[TL_MAX_DIMS], shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  bool seen[TL_MAX_DIMS] = {false};
  int m, d;
  if (tl_ints(a[1], dims, &m) < 0) return NULL;
  if (m != t->ndim) {
    PyErr_Format(PyExc_RuntimeError,
                 "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                 "desired ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = %d",
                 t->ndim, m);
    return NULL;
  }
  for (int i = 0; i < m; i++) {
    if (tl_wrap_dim(dims[i], t->ndim, &d) < 0) return NULL;
    if (seen[d]) {
      PyErr_SetString(PyExc_RuntimeError, "permute(): duplicate dims are not allowed.");
      return NULL;
    }
    seen[d] = true;
    shape[i] = t->shape[d];
    strides[i] = t->strides[d];
  }
  return as_view(t, m, shape, strides, t->offset);
}

static PyObject *k_expand(ARGS) {
  UNUSED;
  T0;
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int nd;
  if (tl_ints(a[1], shape, &nd) < 0) return NULL;
  if (nd < t->ndim) {
    const bool old = t->dtype != TL_BOOL && t->dtype != TL_BF16 && !tl_is_complex(t->dtype); /* has a legacy type */
    PyErr_Format(PyExc_RuntimeError,
                 "expand(%s%s%s{%s}, size=%s): the number of sizes provided (%d) must be greater or equal to the "
                 "number of dimensions in the tensor (%d)",
                 old ? "torch." : "CPU", tl_scalar_type[t->dtype], old ? "Tensor" : "Type",
                 tl_fmt_shape(t->ndim, t->shape), tl_fmt_shape(nd, shape), nd, t->ndim);
    return NULL;
  }
  for (int i = nd - 1; i >= 0; i--) {
    int d = i - (nd - t->ndim);
    int64_t size = d >= 0 ? t->shape[d] : 1, st = 1;
    if (d >= 0) st = t->strides[d];
    else if (i + 1 < nd) st = tl_wrap_mul(shape[i + 1], strides[i + 1]);
    if (shape[i] == -1) {
      if (d < 0) {
        PyErr_Format(PyExc_RuntimeError,
                     "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension %d", i);
        return NULL;
      }
      shape[i] = size;
    }
    if (shape[i] != size) {
      if (size != 1) {
        int64_t want[TL_MAX_DIMS];
        int m;
        tl_ints(a[1], want, &m);
        tl_expand_error(i, size, nd, want, t);
        return NULL;
      }
      st = 0;
    }
    strides[i] = t->ndim ? st : 0;
  }
  return as_view(t, nd, shape, strides, t->offset);
}

static PyObject *k_squeeze(ARGS) {
  UNUSED;
  T0;
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS], dims[TL_MAX_DIMS];
  bool drop[TL_MAX_DIMS] = {false};
  int m = 0, nd = 0, d;
  if (n > 1) {
    if (tl_ints(a[1], dims, &m) < 0) return NULL;
    for (int i = 0; i < m; i++) {
      if (tl_wrap_dim(dims[i], t->ndim, &d) < 0) return NULL;
      if (drop[d] && t->ndim) return tl_repeated_dim_error(d), NULL;
      drop[d] = true;
    }
  }
  for (int i = 0; i < t->ndim; i++)
    if (!(t->shape[i] == 1 && (n == 1 || drop[i]))) {
      shape[nd] = t->shape[i];
      strides[nd++] = t->strides[i];
    }
  return as_view(t, nd, shape, strides, t->offset);
}

static PyObject *k_unsqueeze(ARGS) {
  UNUSED;
  T0;
  int64_t dim, shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int d;
  if (tl_int(a[1], &dim) < 0 || tl_wrap_dim(dim, t->ndim + 1, &d) < 0) return NULL;
  for (int i = 0; i <= t->ndim; i++) {
    if (i == d) {
      shape[i] = 1;
      strides[i] = d < t->ndim ? tl_wrap_mul(t->shape[d], t->strides[d]) : 1;
    } else {
      shape[i] = t->shape[i - (i > d)];
      strides[i] = t->strides[i - (i > d)];
    }
  }
  return as_view(t, t->ndim + 1, shape, strides, t->offset);
}

static PyObject *k_select(ARGS) {
  UNUSED;
  T0;
  int64_t dim, index, shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int d, nd = 0;
  if (tl_int(a[1], &dim) < 0 || tl_int(a[2], &index) < 0) return NULL;
  if (t->ndim == 0) {
    PyErr_SetString(PyExc_IndexError, "select() cannot be applied to a 0-dim tensor.");
    return NULL;
  }
  if (tl_wrap_dim(dim, t->ndim, &d) < 0) return NULL;
  if (index < -t->shape[d] || index >= t->shape[d]) {
    PyErr_Format(PyExc_IndexError, "select(): index %lld out of range for tensor of size %s at dimension %d",
                 (long long)index, tl_fmt_shape(t->ndim, t->shape), d);
    return NULL;
  }
  if (index < 0) index += t->shape[d];
  for (int i = 0; i < t->ndim; i++)
    if (i != d) {
      shape[nd] = t->shape[i];
      strides[nd++] = t->strides[i];
    }
  return as_view(t, nd, shape, strides, tl_wrap_add(t->offset, tl_wrap_mul(index, t->strides[d])));
}

static PyObject *k_slice(ARGS) {
  UNUSED;
  T0;
  int64_t dim, start = 0, end = INT64_MAX, step, shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int d;
  if (tl_int(a[1], &dim) < 0 || (a[2] != Py_None && tl_int(a[2], &start) < 0) ||
      (a[3] != Py_None && tl_int(a[3], &end) < 0) || tl_int(a[4], &step) < 0)
    return NULL;
  if (t->ndim == 0) {
    PyErr_SetString(PyExc_RuntimeError, "slice() cannot be applied to a 0-dim tensor.");
    return NULL;
  }
  if (tl_wrap_dim(dim, t->ndim, &d) < 0) return NULL;
  if (step <= 0) {
    PyErr_SetString(PyExc_RuntimeError, "slice step must be positive");
    return NULL;
  }
  int64_t size = t->shape[d];
  if (start < 0) start += size;
  if (end < 0) end += size;
  if (start < 0) start = 0;
  if (start > size) start = size;
  if (end < start) end = start;
  if (end > size) end = size;
  memcpy(shape, t->shape, sizeof(int64_t) * (size_t)t->ndim);
  memcpy(strides, t->strides, sizeof(int64_t) * (size_t)t->ndim);
  shape[d] = end > start ? (end - start - 1) / step + 1 : 0;
  strides[d] = tl_wrap_mul(strides[d], step);
  return as_view(t, t->ndim, shape, strides, tl_wrap_add(t->offset, tl_wrap_mul(start, t->strides[d])));
}

static PyObject *k_as_strided(ARGS) {
  UNUSED;
  T0;
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS], offset = t->offset;
  int nd, m;
  if (tl_ints(a[1], shape, &nd) < 0 || tl_ints(a[2], strides, &m) < 0 || (a[3] != Py_None && tl_int(a[3], &offset) < 0))
    return NULL;
  if (nd != m) {
    PyErr_Format(PyExc_RuntimeError, "mismatch in length of strides and shape");
    return NULL;
  }
  if (t->device != TL_META && tl_check_geometry(t->storage, (tl_dtype)t->dtype, nd, shape, strides, offset) < 0)
    return NULL;
  return as_view(t, nd, shape, strides, offset);
}

static PyObject *k_unfold(ARGS) {
  UNUSED;
  T0;
  int64_t dim, size, step, shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int d;
  if (tl_int(a[1], &dim) < 0 || tl_int(a[2], &size) < 0 || tl_int(a[3], &step) < 0 || tl_wrap_dim(dim, t->ndim, &d) < 0)
    return NULL;
  int64_t max = t->ndim ? t->shape[d] : 1;
  if (size < 0 || size > max) {
    PyErr_Format(PyExc_RuntimeError, "maximum size for tensor at dimension %d is %lld but size is %lld", d,
                 (long long)max, (long long)size);
    return NULL;
  }
  if (step <= 0) {
    PyErr_Format(PyExc_RuntimeError, "step is %lld but must be > 0", (long long)step);
    return NULL;
  }
  memcpy(shape, t->shape, sizeof(int64_t) * (size_t)t->ndim);
  memcpy(strides, t->strides, sizeof(int64_t) * (size_t)t->ndim);
  shape[t->ndim] = size;
  strides[t->ndim] = t->ndim ? t->strides[d] : 1;
  if (t->ndim) {
    shape[d] = (max - size) / step + 1;
    strides[d] = tl_wrap_mul(strides[d], step);
  }
  return as_view(t, t->ndim + 1, shape, strides, t->offset);
}

static PyObject *k_diagonal(ARGS) {
  UNUSED;
  T0;
  int64_t offset, x, y, shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  int d1, d2, nd = 0;
  if (tl_int(a[1], &offset) < 0 || tl_int(a[2], &x) < 0 || tl_int(a[3], &y) < 0 || tl_wrap_dim(x, t->ndim, &d1) < 0 ||
      tl_wrap_dim(y, t->ndim, &d2) < 0)
    return NULL;
  if (d1 == d2) {
    PyErr_Format(PyExc_RuntimeError, "diagonal dimensions cannot be identical %lld, %lld", (long long)x, (long long)y);
    return NULL;
  }
  int64_t far = offset >= 0 ? t->shape[d2] - offset : t->shape[d1] + offset,
          near = offset >= 0 ? t->shape[d1] : t->shape[d2];
  int64_t size = far < near ? far : near;
  if (size < 0) size = 0;
  for (int i = 0; i < t->ndim; i++)
    if (i != d1 && i != d2) {
      shape[nd] = t->shape[i];
      strides[nd++] = t->strides[i];
    }
  shape[nd] = size;
  strides[nd++] = tl_wrap_add(t->strides[d1], t->strides[d2]);
  int64_t start = t->offset;
  if (size && offset >= 0) start = tl_wrap_add(start, tl_wrap_mul(offset, t->strides[d2]));
  else if (size) start = tl_wrap_add(start, tl_wrap_mul(-offset, t->strides[d1]));
  return as_view(t, nd, shape, strides, start);
}

static PyObject *k_alias(ARGS) {
  UNUSED;
  T0;
  return as_view(t, t->ndim, t->shape, t->strides, t->offset);
}
static PyObject *k_detach(ARGS) {
  UNUSED;
  T0;
  return (PyObject *)tl_alias(t, t->ndim, t->shape, t->strides, t->offset, true);
}

/* same bytes, another dtype: view.dtype, which autograd cannot follow and has no base, view_as_real, view_as_complex */
static PyObject *retyped(TlTensor *t, tl_dtype d, int nd, const int64_t *shape, const int64_t *strides, int64_t offset,
                         bool detached) {
  uint8_t keep = t->dtype;
  if (tl_is_limited(d)) tl_any_indirect = true;
  t->dtype = (uint8_t)d;
  PyObject *v =
    detached ? (PyObject *)tl_alias(t, nd, shape, strides, offset, true) : as_view(t, nd, shape, strides, offset);
  t->dtype = keep;
  return v;
}
/* v, fresh (or NULL), with these pending signs */
static PyObject *with_signs(PyObject *v, int lazy) {
  if (!v) return NULL;
  TlTensor *t = (TlTensor *)v;
  t->flags = (uint16_t)((t->flags & ~TL_LAZY) | lazy);
  tl_any_indirect = tl_any_indirect || lazy;
  return v;
}
static PyObject *k_lazy(ARGS) { /* id: TL_CONJ or TL_NEG */
  UNUSED;
  T0;
  if (k->id == TL_CONJ && !tl_is_complex(t->dtype)) {
    PyErr_SetString(PyExc_RuntimeError, "_conj is only supported for complex tensors");
    return NULL;
  }
  return with_signs(as_view(t, t->ndim, t->shape, t->strides, t->offset), (t->flags & TL_LAZY) ^ k->id);
}
static PyObject *k_view_dtype(ARGS) {
  UNUSED;
  T0;
  if (t->flags & TL_LAZY) {
    PyErr_Format(PyExc_RuntimeError, "torch.Tensor.view is not supported for %s when converting to a different dtype.",
                 t->flags & TL_CONJ ? "conjugate view tensors" : "tensors with negative bit set");
    return NULL;
  }
  tl_dtype d;
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS], offset = t->offset;
  if (tl_dtype_arg(a[1], t->dtype, &d) < 0) return NULL;
  int from = tl_itemsize[t->dtype], to = tl_itemsize[d], nd = t->ndim;
  memcpy(shape, t->shape, sizeof(int64_t) * (size_t)nd);
  memcpy(strides, t->strides, sizeof(int64_t) * (size_t)nd);
  if (from != to) {
    if (nd == 0) {
      PyErr_Format(PyExc_RuntimeError, "self.dim() cannot be 0 to view %s as %s (different element sizes)",
                   tl_scalar_type[t->dtype], tl_scalar_type[d]);
      return NULL;
    }
    if (strides[nd - 1] != 1) {
      PyErr_Format(PyExc_RuntimeError,
                   "self.stride(-1) must be 1 to view %s as %s (different element sizes), but got %lld",
                   tl_scalar_type[t->dtype], tl_scalar_type[d], (long long)strides[nd - 1]);
      return NULL;
    }
    int64_t r = from > to ? from / to : to / from;
    if (from > to) {
      shape[nd - 1] = tl_wrap_mul(shape[nd - 1], r);
      for (int i = 0; i < nd - 1; i++) strides[i] = tl_wrap_mul(strides[i], r);
      offset = tl_wrap_mul(offset, r);
    } else {
      if (shape[nd - 1] % r) {
        PyErr_Format(PyExc_RuntimeError,
                     "self.size(-1) must be divisible by %lld to view %s as %s (different element sizes), but got %lld",
                     (long long)r, tl_scalar_type[t->dtype], tl_scalar_type[d], (long long)shape[nd - 1]);
        return NULL;
      }
      if (offset % r) {
        PyErr_Format(
          PyExc_RuntimeError,
          "self.storage_offset() must be divisible by %lld to view %s as %s (different element sizes), but got %lld",
          (long long)r, tl_scalar_type[t->dtype], tl_scalar_type[d], (long long)offset);
        return NULL;
      }
      shape[nd - 1] /= r;
      for (int i = 0; i < nd - 1; i++) {
        if (strides[i] % r) {
          PyErr_Format(
            PyExc_RuntimeError,
            "self.stride(%d) must be divisible by %lld to view %s as %s (different element sizes), but got %lld", i,
            (long long)r, tl_scalar_type[t->dtype], tl_scalar_type[d], (long long)strides[i]);
          return NULL;
        }
        strides[i] /= r;
      }
      offset /= r;
    }
  }
  return retyped(t, d, nd, shape, strides, offset, true);
}
static PyObject *k_view_as_real(ARGS) {
  UNUSED;
  T0;
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  if (!tl_is_complex(t->dtype)) {
    PyErr_SetString(PyExc_RuntimeError, "view_as_real is only supported for complex tensors");
    return NULL;
  }
  if (t->flags & TL_CONJ) {
    PyErr_SetString(
      PyExc_RuntimeError,
      "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it "
      "as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original.");
    return NULL;
  }
  for (int i = 0; i < t->ndim; i++) {
    shape[i] = t->shape[i];
    strides[i] = tl_wrap_mul(2, t->strides[i]);
  }
  shape[t->ndim] = 2;
  strides[t->ndim] = 1;
  return with_signs(retyped(t, tl_real_of(t->dtype), t->ndim + 1, shape, strides, tl_wrap_mul(2, t->offset), false),
                    t->flags & TL_NEG);
}
static PyObject *k_view_as_complex(ARGS) {
  UNUSED;
  T0;
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  if (t->dtype != TL_F16 && t->dtype != TL_F32 && t->dtype != TL_F64) {
    PyErr_Format(
      PyExc_RuntimeError,
      "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: %s",
      tl_scalar_type[t->dtype]);
    return NULL;
  }
  if (t->ndim == 0) {
    PyErr_SetString(PyExc_RuntimeError, "Input tensor must have one or more dimensions");
    return NULL;
  }
  if (t->shape[t->ndim - 1] != 2) {
    PyErr_SetString(PyExc_RuntimeError, "Tensor must have a last dimension of size 2");
    return NULL;
  }
  if (t->strides[t->ndim - 1] != 1) {
    PyErr_SetString(PyExc_RuntimeError, "Tensor must have a last dimension with stride 1");
    return NULL;
  }
  if (t->offset % 2) {
    PyErr_SetString(PyExc_RuntimeError, "Tensor must have a storage_offset divisible by 2");
    return NULL;
  }
  for (int i = 0; i < t->ndim - 1; i++) {
    if (t->strides[i] % 2 && t->shape[i] != 1) {
      PyErr_SetString(PyExc_RuntimeError, "Tensor must have a stride divisible by 2 for all but last dimension");
      return NULL;
    }
    shape[i] = t->shape[i];
    strides[i] = t->strides[i] / 2;
  }
  return retyped(t, tl_complex_of(t->dtype), t->ndim - 1, shape, strides, t->offset / 2, false);
}

const TlKernel tl_kernels_view[] = {{"view", k_view, VIEW, TL_K_GEOMETRY, NULL},
                                    {"try_view", k_view, TRY_VIEW, TL_K_GEOMETRY | TL_K_CHECKS, NULL},
                                    {"transpose", k_transpose, 0, TL_K_GEOMETRY, NULL},
                                    {"t2", k_t2, 0, TL_K_GEOMETRY, NULL},
                                    {"permute", k_permute, 0, TL_K_GEOMETRY, NULL},
                                    {"expand", k_expand, 0, TL_K_GEOMETRY, NULL},
                                    {"squeeze", k_squeeze, 0, TL_K_GEOMETRY, NULL},
                                    {"unsqueeze", k_unsqueeze, 0, TL_K_GEOMETRY, NULL},
                                    {"select", k_select, 0, TL_K_GEOMETRY, NULL},
                                    {"slice", k_slice, 0, TL_K_GEOMETRY, NULL},
                                    {"as_strided", k_as_strided, 0, TL_K_GEOMETRY, NULL},
                                    {"unfold", k_unfold, 0, TL_K_GEOMETRY, NULL},
                                    {"diagonal", k_diagonal, 0, TL_K_GEOMETRY, NULL},
                                    {"alias", k_alias, 0, TL_K_GEOMETRY, NULL},
                                    {"conj", k_lazy, TL_CONJ, TL_K_GEOMETRY, NULL},
                                    {"neg_view", k_lazy, TL_NEG, TL_K_GEOMETRY, NULL},
                                    {"detach", k_detach, 0, TL_K_GEOMETRY, NULL},
                                    {"view_dtype", k_view_dtype, 0, TL_K_GEOMETRY, NULL},
                                    {"view_as_real", k_view_as_real, 0, TL_K_GEOMETRY, NULL},
                                    {"view_as_complex", k_view_as_complex, 0, TL_K_GEOMETRY, NULL},
                                    {0}};

/* ---- basic indexing --------------------------------------------------------------------------------------------- */
/* The view that an index describes, while it is read. */
typedef struct {
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS], offset;
  int nd, d; /* dims of the view so far; the next dim of the tensor */
} IndexView;

static void keep_dims(IndexView *v, const TlTensor *t, int n) {
  for (; n > 0; n--, v->d++) {
    v->shape[v->nd] = t->shape[v->d];
    v->strides[v->nd++] = t->strides[v->d];
  }
}

static int select_at(IndexView *v, const TlTensor *t, PyObject *x) {
  int64_t at;
  if (tl_int(x, &at) < 0) {
    if (PyErr_ExceptionMatches(PyExc_RuntimeError))
      PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
    return -1;
  }
  int64_t size = t->shape[v->d];
  if (at < -size || at >= size) return tl_index_error(PyExc_IndexError, at, v->d, size), -1;
  v->offset = tl_wrap_add(v->offset, tl_wrap_mul(at < 0 ? at + size : at, t->strides[v->d]));
  v->d++;
  return 0;
}

/* -1 without an exception where the bounds are for the general path: tensors. */
static int slice_at(IndexView *v, const TlTensor *t, PyObject *x) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(x, &start, &stop, &step) < 0) {
    if (!PyErr_ExceptionMatches(PyExc_ValueError)) PyErr_Clear();
    return -1;
  }
  if (step <= 0) {
    PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
    return -1;
  }
  int64_t size = t->shape[v->d], first, length;
  if (size <= PY_SSIZE_T_MAX) {
    length = PySlice_AdjustIndices((Py_ssize_t)size, &start, &stop, step);
    first = start;
  } else { /* an expanded dim beyond 32 bits: bounds that were cut to fit mean its ends */
    int64_t end = stop < 0 ? stop + size : stop;
    first = start < 0 ? start + size : start;
    if (stop == PY_SSIZE_T_MAX) end = size;
    first = first < 0 ? 0 : first;
    length = end > first ? (end - first - 1) / step + 1 : 0;
  }
  v->shape[v->nd] = length;
  v->strides[v->nd++] = tl_wrap_mul(t->strides[v->d], step);
  v->offset = tl_wrap_add(v->offset, tl_wrap_mul(first, t->strides[v->d]));
  v->d++;
  return 0;
}

static inline PyObject *index_item(PyObject *index, bool tuple, Py_ssize_t i) {
  return tuple ? PyTuple_GetItem(index, i) : index;
}

/* How many dims an index of ints, slices, None and Ellipsis takes; -1 where it holds anything else. */
static int dims_used(PyObject *index, bool tuple, Py_ssize_t n) {
  int used = 0, ellipsis = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *x = index_item(index, tuple, i);
    if (x == Py_None) continue;
    if (x == Py_Ellipsis) {
      if (ellipsis++) return -1;
      continue;
    }
    if (PyBool_Check(x) || (!PyLong_Check(x) && !PySlice_Check(x))) return -1;
    used++;
  }
  return used;
}

static void too_many_indices(const TlTensor *t, PyObject *index) {
  const long long at = t->ndim == 0 && PyLong_Check(index) ? PyLong_AsLongLong(index) : 0;
  if (t->ndim || PyTuple_Check(index))
    PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", t->ndim);
  else if (PySlice_Check(index)) PyErr_SetString(PyExc_IndexError, "slice() cannot be applied to a 0-dim tensor.");
  else if (at && !PyErr_Occurred())
    PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension 0 with size 0", at);
  else if (!at)
    PyErr_SetString(PyExc_IndexError, "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                                      "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
}

/* One view for ints, slices, None and Ellipsis. Returns NULL without an exception when the index holds anything else.
 */
TlTensor *tl_basic_index(TlTensor *t, PyObject *index) {
  IndexView v;
  const bool tuple = PyTuple_Check(index);
  const Py_ssize_t n = tuple ? PyTuple_Size(index) : 1;
  const int used = dims_used(index, tuple, n);
  if (used < 0) return NULL;
  if (used > t->ndim) return too_many_indices(t, index), NULL;
  if (t->ndim - used + n > TL_MAX_DIMS) return NULL;
  v.nd = v.d = 0;
  v.offset = t->offset;
  const TlStorage *storage = t->storage;
  const int ndim = t->ndim;
  int64_t was[2 * TL_MAX_DIMS];
  tl_copy_dims(was, t->shape, ndim);
  tl_copy_dims(was + ndim, t->strides, ndim);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *x = index_item(index, tuple, i);
    if (v.d > t->ndim || (v.d == t->ndim && x != Py_None && x != Py_Ellipsis)) break;
    if (x == Py_None) {
      v.shape[v.nd] = 1;
      v.strides[v.nd++] = v.d < t->ndim ? tl_wrap_mul(t->shape[v.d], t->strides[v.d]) : 1;
    } else if (x == Py_Ellipsis) keep_dims(&v, t, t->ndim - used);
    else if ((PyLong_Check(x) ? select_at(&v, t, x) : slice_at(&v, t, x)) < 0) return NULL;
  }
  keep_dims(&v, t, t->ndim - v.d);
  /* a slice's __index__ can do that */
  if (t->storage != storage || t->ndim != ndim || !tl_same_dims(was, t->shape, ndim) ||
      !tl_same_dims(was + ndim, t->strides, ndim) || !tl_within(t, v.nd, v.shape, v.strides, v.offset)) {
    PyErr_SetString(PyExc_RuntimeError, "the tensor was changed while its index was read");
    return NULL;
  }
  return tl_view(t, v.nd, v.shape, v.strides, v.offset);
}
