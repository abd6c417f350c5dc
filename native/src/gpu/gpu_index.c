/* gpu_index.c: the kernels "join" (cat, stack, roll) and "gather" of js_bridge/src/kernels/index/index_ops.ts. Their
 * words are computed here because a planner in Python would spend most of an op's first use on this arithmetic. */
#include "core/check.h"
#include "gpu/gpu.h"

#define MAX_PARTS (MAX_BUFFERS - 1) /* of one kernel, which writes the result too */
#define MAX_JOIN_WORDS ((MAX_PARTS + 2) * (TL_MAX_DIMS + 2))
typedef struct {
  TlBuffer *buffer;
  int64_t strides[TL_MAX_DIMS], offset, length;
} Part;

/* A type of the same size, for kernels that only move elements and so keep every bit. */
static tl_dtype moved_as(tl_dtype d) {
  switch (d) {
  case TL_BOOL: return TL_U8;
  case TL_F16:
  case TL_BF16: return TL_I16;
  case TL_F32: return TL_I32;
  case TL_C64: return TL_I64;
  default: return d;
  }
}

/* ---- join ------------------------------------------------------------------------------------------------------- */
static PyObject *join_family;

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
  PyErr_SetString(PyExc_TypeError, "join: a part is (buffer, strides over the result, offset, length)");
  return -1;
}

/* A group of parts fills the result from `start` on along dim. Its grid is coalesced, but dims before dim stay apart,
 * so that one coordinate (of `scale` elements for each step along dim) tells the parts from each other. */
static int launch_group(const Part *parts, int nparts, int dim, int ndim, const int64_t *shape, tl_dtype d,
                        int64_t start, uint32_t target) {
  int64_t group[TL_MAX_DIMS], out[TL_MAX_DIMS], sizes[TL_MAX_DIMS], length = 0, scale = 1;
  const int64_t *rows[MAX_PARTS + 1] = {out};
  uint8_t side[TL_MAX_DIMS];
  int keep[TL_MAX_DIMS];
  uint32_t handles[MAX_PARTS + 1], values[MAX_JOIN_WORDS], plan;
  if (tl_dense_strides(ndim, shape, out) < 0) return -1;
  memcpy(group, shape, sizeof *group * (size_t)ndim);
  for (int i = 0; i < nparts; i++) {
    if (!(handles[i] = gpu_ready(parts[i].buffer))) return -1;
    rows[i + 1] = parts[i].strides;
    length = tl_wrap_add(length, parts[i].length);
  }
  handles[nparts] = target;
  group[dim] = length;
  for (int i = 0; i < ndim; i++) side[i] = i >= dim;
  int n = tl_coalesce(ndim, NULL, group, nparts + 1, rows, side, sizes, keep), at = n - 1;
  if (length > 1) {
    while (keep[at] < dim) at--;
    for (int i = dim + 1; i <= keep[at]; i++) scale = tl_wrap_mul(scale, group[i]);
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
  Py_ssize_t nwords = ok ? PyList_Size(words) : 0;
  ok = ok && gpu_to_words(words, values, nwords) == 0 &&
       gpu_family_plan(join_family, Py_BuildValue("(iiNi)", dims, apart, tl_dtype_object(moved_as(d)), nparts),
                       &plan) == 0 &&
       gpu_launch(plan, handles, (size_t)nparts + 1, values, (size_t)nwords) == 0;
  Py_XDECREF(words);
  return ok ? 0 : -1;
}

/* Parts side by side along dim of a new tensor. */
static PyObject *join(const Part *parts, Py_ssize_t nparts, int dim, int ndim, const int64_t *shape, tl_dtype d) {
  uint32_t target;
  int64_t start = 0;
  PyObject *r = gpu_fresh(ndim, shape, d, &target);
  for (int i = 0; i < ndim; i++)
    if (!shape[i]) return r;
  for (Py_ssize_t first = 0; r && first < nparts; first += MAX_PARTS) {
    int n = nparts - first < MAX_PARTS ? (int)(nparts - first) : MAX_PARTS;
    if (launch_group(parts + first, n, dim, ndim, shape, d, start, target) < 0) Py_CLEAR(r);
    for (int i = 0; i < n; i++) start = tl_wrap_add(start, parts[first + i].length);
  }
  return r;
}

static PyObject *f_join(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  int64_t shape[TL_MAX_DIMS];
  int ndim = -1;
  tl_dtype d;
  Py_ssize_t nparts = nargs == 4 && PyList_Check(a[0]) ? PyList_Size(a[0]) : 0;
  if (nparts < 1 || !PyLong_Check(a[1])) return PyErr_Format(PyExc_TypeError, "join([parts], dim, shape, dtype)");
  if (tl_ints(a[2], shape, &ndim) < 0 || tl_dtype_arg(a[3], TL_F32, &d) < 0) return NULL;
  long dim = PyLong_AsLong(a[1]);
  if (PyErr_Occurred()) return NULL;
  if (dim < 0 || dim >= ndim) return PyErr_Format(PyExc_ValueError, "join: there is no dim %ld", dim);
  Part *parts = PyMem_Malloc(sizeof *parts * (size_t)nparts);
  if (!parts) return PyErr_NoMemory();
  bool ok = true;
  for (Py_ssize_t i = 0; ok && i < nparts; i++) ok = parse_part(PyList_GetItem(a[0], i), ndim, &parts[i]) == 0;
  PyObject *r = ok ? join(parts, nparts, (int)dim, ndim, shape, d) : NULL;
  PyMem_Free(parts);
  return r;
}

/* What cat (stack: false) and stack join: parts, dim from 0 on, and the result's dims and shape. False where the CPU
 * has an error to raise. cat leaves out empty tensors of one dim, whatever the others' shape. */
static bool parts_of(PyObject *tensors, Py_ssize_t n, bool stack, Part *parts, Py_ssize_t *nparts, long *along,
                     int *dims, int64_t *shape) {
  int64_t total = 0;
  int ndim = -1;
  long dim = *along;
  *nparts = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    const TlTensor *t = (const TlTensor *)PyTuple_GetItem(tensors, i);
    if (!stack && t->ndim == 1 && t->shape[0] == 0) continue;
    if (ndim < 0) { /* the first one says which dims there are */
      int all = t->ndim + stack;
      if (dim < -all || dim >= all || all > TL_MAX_DIMS) return false;
      ndim = t->ndim;
      if (dim < 0) dim += all;
      memcpy(shape, t->shape, sizeof *shape * (size_t)ndim);
    }
    if (t->ndim != ndim) return false;
    for (int d = 0; d < ndim; d++)
      if (t->shape[d] != shape[d] && (stack || d != dim)) return false;
    int64_t length = stack ? 1 : t->shape[dim];
    if (!length) continue;
    Part *p = &parts[(*nparts)++];
    p->buffer = gpu_buffer_of(t);
    p->offset = t->offset;
    p->length = length;
    memcpy(p->strides, t->strides, sizeof *p->strides * (size_t)dim);
    p->strides[dim] = 0;
    memcpy(p->strides + dim + stack, t->strides + dim, sizeof *p->strides * (size_t)(ndim - dim));
    total = tl_wrap_add(total, length);
  }
  if (ndim < 0) { /* all are left out */
    ndim = 0;
    dim = 0;
    stack = true;
  }
  if (stack) memmove(shape + dim + 1, shape + dim, sizeof *shape * (size_t)(ndim - dim));
  shape[dim] = total;
  *along = dim;
  *dims = ndim + stack;
  return true;
}

/* The tensors of a list or tuple, joined. 0: they are not of one dtype on webgpu, the CPU's result could be other than
 * contiguous and `natural` asks for that, or dim or the shapes are wrong. Else 1 with *result (NULL: an exception). */
static int join_tensors(PyObject *list, PyObject *along, bool stack, bool natural, PyObject **result) {
  /* cat gives channels last only if all tensors suggest it. stack adds a dim first, which can change what they suggest:
   * strides in another order are left to the CPU's rule. */
  bool usual = !natural || stack;
  int64_t shape[TL_MAX_DIMS];
  int ndim, overflow = 0;
  Py_ssize_t n, nparts;
  *result = NULL;
  if (!PyLong_CheckExact(along)) return 0;
  long dim = PyLong_AsLongAndOverflow(along, &overflow);
  PyObject *tensors = PySequence_Tuple(list); /* keeps them, whatever runs while the GPU catches up */
  if (!tensors) return 1;
  bool fits = !overflow && (n = PyTuple_Size(tensors)) > 0;
  const TlTensor *first = fits ? (const TlTensor *)PyTuple_GetItem(tensors, 0) : NULL;
  for (Py_ssize_t i = 0; fits && i < n; i++) {
    const TlTensor *t = (const TlTensor *)PyTuple_GetItem(tensors, i);
    fits = TL_CHECK(t) && gpu_buffer_of(t) && t->dtype == first->dtype &&
           (!natural || !stack || t->ndim < 3 || tl_strides_natural(t));
    usual = usual || (fits && !tl_suggests_channels_last(t));
  }
  fits = fits && usual;
  Part *parts = fits ? PyMem_Malloc(sizeof *parts * (size_t)n) : NULL;
  if (fits && !parts) PyErr_NoMemory();
  else if (fits && (fits = parts_of(tensors, n, stack, parts, &nparts, &dim, &ndim, shape)))
    *result = join(parts, nparts, (int)dim, ndim, shape, (tl_dtype)first->dtype);
  PyMem_Free(parts);
  Py_DECREF(tensors);
  return fits;
}
int gpu_plan_cat(PyObject *const *a, PyObject **result) { return join_tensors(a[0], a[1], false, true, result); }
int gpu_plan_stack(PyObject *const *a, PyObject **result) { return join_tensors(a[0], a[1], true, true, result); }

static PyObject *f_join_tensors(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  PyObject *r;
  if (nargs != 3) return PyErr_Format(PyExc_TypeError, "join_tensors(tensors, dim, stack)");
  return join_tensors(a[0], a[1], a[2] == Py_True, false, &r) ? r : Py_NewRef(Py_NotImplemented);
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
  {"join", (PyCFunction)(void *)f_join, METH_FASTCALL,
   "join([(buffer, strides over the result, offset, length along dim)], dim, shape, dtype): the parts side by side "
   "along dim of a new tensor."},
  {"join_tensors", (PyCFunction)(void *)f_join_tensors, METH_FASTCALL,
   "join_tensors(tensors, dim, stack): what cat and stack give; NotImplemented where the tensors are not of one dtype "
   "on "
   "webgpu, or dim or the shapes are wrong."},
  {"gather_words", (PyCFunction)(void *)f_gather_words, METH_FASTCALL,
   "gather_words(tensor, dim, index): (dim from 0 on, dims of the grid, extent of dim, words, buffers of the tensor "
   "and of the index, shape of the result); None where dim or the shapes are wrong, or one is not on webgpu."},
  {0}};
/* MOVE: {name of a dtype: name of the one that moves in its place} */
static PyObject *moved_names(void) {
  PyObject *names = PyDict_New();
  for (int d = 0; names && d < TL_NUM_DTYPES; d++) {
    tl_dtype to = moved_as((tl_dtype)d);
    PyObject *name = to == (tl_dtype)d ? NULL : PyUnicode_FromString(tl_dtype_name[to]);
    if (to != (tl_dtype)d && (!name || PyDict_SetItemString(names, tl_dtype_name[d], name) < 0)) Py_CLEAR(names);
    Py_XDECREF(name);
  }
  return names;
}
int gpu_index_init(PyObject *mod) {
  PyObject *names = moved_names(), *parts = Py_BuildValue("(sssss)", "join", "ndim", "dim", "dtype", "parts");
  int r = names ? PyModule_AddObjectRef(mod, "MOVE", names) : -1;
  Py_XDECREF(names);
  if (gpu_family_export(mod, "join_plan", parts, &join_family) < 0 || r < 0) return -1;
  return PyModule_AddFunctions(mod, functions);
}
