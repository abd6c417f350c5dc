/* gpu_index.c: the words of the kernels "join" and "gather" (js_bridge/src/kernels/index/index_ops.ts), computed here
 * because a planner in Python would spend most of an op's first use on this arithmetic. */
#include "core/check.h"
#include "gpu/gpu.h"

#define MAX_PARTS 7
typedef struct {
  TlBuffer *buffer;
  int64_t strides[TL_MAX_DIMS], offset, length;
} Part;

/* ---- join ------------------------------------------------------------------------------------------------------- */
static int parse_part(PyObject *o, int ndim, Part *p) {
  int n = -1;
  if (PyTuple_Check(o) && PyTuple_Size(o) == 4 && Py_TYPE(PyTuple_GetItem(o, 0)) == tl_Buffer) {
    p->buffer = (TlBuffer *)PyTuple_GetItem(o, 0);
    if (tl_ints(PyTuple_GetItem(o, 1), p->strides, &n) < 0) return -1;
    p->offset = PyLong_AsLongLong(PyTuple_GetItem(o, 2));
    p->length = PyLong_AsLongLong(PyTuple_GetItem(o, 3));
    if (PyErr_Occurred()) return -1;
  }
  if (n == ndim) return 0;
  PyErr_SetString(PyExc_TypeError, "join_words: a part is (buffer, strides over the result, offset, length)");
  return -1;
}

/* A group of parts fills the result from `start` on along dim. Its grid is coalesced, but dims before dim stay apart,
 * so that one coordinate (of `scale` elements for each step along dim) tells the parts from each other. */
static PyObject *join_parts(PyObject *handles, const Part *parts, int nparts, int dim, int ndim, const int64_t *shape,
                            int64_t start) {
  int64_t group[TL_MAX_DIMS], out[TL_MAX_DIMS], sizes[TL_MAX_DIMS], length = 0, scale = 1;
  const int64_t *rows[MAX_PARTS + 1] = {out};
  uint8_t side[TL_MAX_DIMS];
  int keep[TL_MAX_DIMS];
  if (tl_dense_strides(ndim, shape, out) < 0) return NULL;
  memcpy(group, shape, sizeof *group * (size_t)ndim);
  for (int i = 0; i < nparts; i++) {
    rows[i + 1] = parts[i].strides;
    length = tl_wrap_add(length, parts[i].length);
  }
  group[dim] = length;
  for (int d = 0; d < ndim; d++) side[d] = d >= dim;
  int n = tl_coalesce(ndim, NULL, group, nparts + 1, rows, side, sizes, keep), at = n - 1;
  if (length > 1) {
    while (keep[at] < dim) at--;
    for (int d = dim + 1; d <= keep[at]; d++) scale = tl_wrap_mul(scale, group[d]);
  } else if (n) scale = sizes[at]; /* one slice: it is all of the group */
  PyObject *words = tl_grid_words(n, sizes);
  int64_t begin = 0;
  bool ok = words != NULL;
  for (int i = 0; ok && i < nparts; i++) {
    int64_t step = n ? parts[i].strides[keep[at]] : 0;
    ok = tl_append_int(
           words, tl_wrap_add(parts[i].offset, tl_wrap_mul(tl_wrap_mul(step, -1), tl_wrap_mul(begin, scale)))) == 0 &&
         tl_append_kept(words, n, keep, parts[i].strides) == 0;
    begin = tl_wrap_add(begin, parts[i].length);
    ok = ok && tl_append_int(words, tl_wrap_mul(begin, scale)) == 0;
  }
  ok = ok && tl_append_int(words, tl_wrap_mul(start, out[dim])) == 0 && tl_append_kept(words, n, keep, out) == 0;
  int dims = n ? n : 1, apart = n ? n - 1 - at : 0;
  PyObject *r =
    ok ? Py_BuildValue("(iiLOO)", dims, apart, (long long)tl_wrap_add(start, length), handles, words) : NULL;
  Py_XDECREF(words);
  return r;
}

static PyObject *f_join_words(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  int64_t shape[TL_MAX_DIMS];
  Part parts[MAX_PARTS];
  int ndim = -1;
  Py_ssize_t nparts = nargs == 4 && PyList_Check(a[0]) ? PyList_Size(a[0]) : 0;
  if (nparts < 1 || nparts > MAX_PARTS || !PyLong_Check(a[1]) || !PyLong_Check(a[3]))
    return PyErr_Format(PyExc_TypeError, "join_words([1 to %d parts], dim, shape, start)", MAX_PARTS);
  if (tl_ints(a[2], shape, &ndim) < 0) return NULL;
  long dim = PyLong_AsLong(a[1]);
  long long start = PyLong_AsLongLong(a[3]);
  if (PyErr_Occurred()) return NULL;
  if (dim < 0 || dim >= ndim) return PyErr_Format(PyExc_ValueError, "join_words: there is no dim %ld", dim);
  for (Py_ssize_t i = 0; i < nparts; i++)
    if (parse_part(PyList_GetItem(a[0], i), ndim, &parts[i]) < 0) return NULL;
  PyObject *handles = PyList_New(0), *r = NULL;
  bool ok = handles != NULL;
  for (Py_ssize_t i = 0; ok && i < nparts; i++) {
    uint32_t handle = gpu_ready(parts[i].buffer);
    ok = handle && tl_append_int(handles, handle) == 0;
  }
  if (ok) r = join_parts(handles, parts, (int)nparts, (int)dim, ndim, shape, start);
  Py_XDECREF(handles);
  return r;
}

/* What cat (stack: false) and stack join, from tensors of one dtype: ([part, ...], dim from 0 on, shape of the result);
 * None where the CPU has an error to raise. cat leaves out empty tensors of one dim, whatever the others' shape. */
static PyObject *f_join_parts(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS], total = 0;
  int ndim = -1, overflow = 0;
  bool list = nargs == 3 && PyList_Check(a[0]), stack = nargs == 3 && a[2] == Py_True;
  if (!list && (nargs != 3 || !PyTuple_Check(a[0])))
    return PyErr_Format(PyExc_TypeError, "join_parts(tensors, dim, stack)");
  if (!PyLong_CheckExact(a[1])) Py_RETURN_NONE;
  long dim = PyLong_AsLongAndOverflow(a[1], &overflow);
  PyObject *parts = PyList_New(0), *r = NULL;
  bool right = !overflow, ok = parts != NULL;
  Py_ssize_t n = list ? PyList_Size(a[0]) : PyTuple_Size(a[0]);
  for (Py_ssize_t i = 0; ok && right && i < n; i++) {
    PyObject *o = list ? PyList_GetItem(a[0], i) : PyTuple_GetItem(a[0], i);
    const TlTensor *t = (const TlTensor *)o;
    ok = TL_CHECK(o) && t->storage->owner && Py_TYPE(t->storage->owner) == tl_Buffer;
    if (!ok) PyErr_SetString(PyExc_TypeError, "join_parts: expected tensors on webgpu");
    if (!ok || (!stack && t->ndim == 1 && t->shape[0] == 0)) continue;
    if (ndim < 0) { /* the first one says which dims there are */
      int dims = t->ndim + stack;
      right = dim >= -dims && dim < dims && dims <= TL_MAX_DIMS;
      if (!right) break;
      ndim = t->ndim;
      if (dim < 0) dim += dims;
      memcpy(shape, t->shape, sizeof *shape * (size_t)ndim);
    }
    right = t->ndim == ndim;
    for (int d = 0; d < ndim && right; d++) right = t->shape[d] == shape[d] || (!stack && d == dim);
    if (!right) break;
    int64_t length = stack ? 1 : t->shape[dim];
    if (!length) continue;
    memcpy(strides, t->strides, sizeof *strides * (size_t)dim);
    strides[dim] = 0;
    memcpy(strides + dim + stack, t->strides + dim, sizeof *strides * (size_t)(ndim - dim));
    PyObject *part = Py_BuildValue("(ONLL)", t->storage->owner, tl_ints_tuple(ndim + stack, strides),
                                   (long long)t->offset, (long long)length);
    ok = part && PyList_Append(parts, part) == 0;
    Py_XDECREF(part);
    total = tl_wrap_add(total, length);
  }
  if (ok && right && ndim < 0) { /* all are left out */
    shape[ndim = 0] = dim = 0;
    stack = true;
  }
  if (ok && right) {
    if (stack) memmove(shape + dim + 1, shape + dim, sizeof *shape * (size_t)(ndim - dim));
    shape[dim] = total;
    r = Py_BuildValue("(OlN)", parts, dim, tl_ints_tuple(ndim + stack, shape));
  }
  Py_XDECREF(parts);
  return ok && !right ? Py_NewRef(Py_None) : r;
}

/* ---- gather ----------------------------------------------------------------------------------------------------- */
/* None: the CPU has an error to raise for this dim and these shapes, or a tensor is not on webgpu */
static PyObject *f_gather_words(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  if (nargs != 3 || !TL_CHECK(a[0]) || !TL_CHECK(a[2]))
    return PyErr_Format(PyExc_TypeError, "gather_words(tensor, dim, index tensor)");
  const TlTensor *t = (const TlTensor *)a[0], *index = (const TlTensor *)a[2];
  int64_t own[TL_MAX_DIMS] = {0}, sizes[TL_MAX_DIMS];
  int keep[TL_MAX_DIMS], nd = t->ndim ? t->ndim : 1;
  PyObject *source = t->storage->owner, *picks = index->storage->owner;
  if (!PyLong_CheckExact(a[1]) || !source || !picks || Py_TYPE(source) != tl_Buffer || Py_TYPE(picks) != tl_Buffer)
    Py_RETURN_NONE;
  long long dim = PyLong_AsLongLong(a[1]);
  if (dim == -1 && PyErr_Occurred()) return NULL;
  if (dim < -nd || dim >= nd) Py_RETURN_NONE;
  if (dim < 0) dim += nd;
  if (index->numel) {
    if ((index->ndim ? index->ndim : 1) != nd) Py_RETURN_NONE;
    for (int d = 0; d < index->ndim; d++) {
      if (d == dim || !t->ndim) continue;
      if (index->shape[d] > t->shape[d]) Py_RETURN_NONE;
      own[d] = t->strides[d];
    }
  }
  const int64_t *rows[] = {own, index->strides};
  int n = tl_coalesce(index->ndim, NULL, index->shape, 2, rows, NULL, sizes, keep);
  int64_t extent = t->ndim ? t->shape[dim] : 1, step = t->ndim ? t->strides[dim] : 0;
  PyObject *words = tl_grid_words(n, sizes), *r = NULL;
  if (words && tl_append_int(words, t->offset) == 0 && tl_append_kept(words, n, keep, own) == 0 &&
      tl_append_int(words, index->offset) == 0 && tl_append_kept(words, n, keep, index->strides) == 0 &&
      tl_append_int(words, step) == 0 && tl_append_int(words, extent) == 0)
    r = Py_BuildValue("(LiLOOON)", (long long)dim, n ? n : 1, (long long)extent, words, source, picks,
                      tl_ints_tuple(index->ndim, index->shape));
  Py_XDECREF(words);
  return r;
}

static PyMethodDef functions[] = {
  {"join_parts", (PyCFunction)(void *)f_join_parts, METH_FASTCALL,
   "join_parts(tensors, dim, stack): ([(buffer, strides over the result, offset, length along dim)], dim from 0 on, "
   "shape of the result); None where dim or the shapes are wrong. The tensors are of one dtype, on webgpu."},
  {"join_words", (PyCFunction)(void *)f_join_words, METH_FASTCALL,
   "join_words(parts, dim, shape, start): (dims of the grid, the one along which parts follow each other, where the "
   "next "
   "group starts, handles, words) of a kernel that writes parts side by side along dim of a result of this shape."},
  {"gather_words", (PyCFunction)(void *)f_gather_words, METH_FASTCALL,
   "gather_words(tensor, dim, index): (dim from 0 on, dims of the grid, extent of dim, words, buffers of the tensor "
   "and of the index, shape of the result); None where dim or the shapes are wrong, or one is not on webgpu."},
  {0}};
int gpu_index_init(PyObject *mod) { return PyModule_AddFunctions(mod, functions); }
