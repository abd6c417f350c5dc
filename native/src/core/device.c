/* device.c: tensors whose bytes are not in this process's memory. Geometry, versions and dispatch are the CPU's. For
 * allocation, copies and fills it calls functions that the device's Python side registers. */
#include "core/core.h"
#include "core/errors.h"
#include "core/geometry.h"
#include "gpu/gpu_api.h"

bool tl_meta;
bool tl_any_device; /* set once a storage off the CPU exists; until then no op looks for devices */

int tl_check_device_code(int device) {
  if (device >= TL_CPU && device <= TL_WRAPPED + TL_META) return 0;
  PyErr_Format(PyExc_ValueError, "no device has the code %d", device);
  return -1;
}

/* A wrapper's numbers are in the tensors that it holds: PyTorch's error for reading its own. */
int tl_check_memory(int device) {
  if (device < TL_WRAPPED) return 0;
  PyErr_SetString(PyExc_RuntimeError,
                  "Cannot access data pointer of Tensor that doesn't have storage: it wraps others, and its "
                  "__torch_dispatch__ was not called here");
  return -1;
}

/* A storage of another device: `owner` is what the device's allocator returns, and goes when the storage goes. */
TlStorage *tl_device_storage(int device, int64_t nbytes) {
  if (tl_check_memory(device) < 0) return NULL;
  if (device == TL_META && nbytes < INT64_MAX) return tl_storage_of(TL_META, NULL, nbytes);
  if (device == TL_META) {
    PyErr_SetString(PyExc_RuntimeError, "Storage size calculation overflowed");
    return NULL;
  }
  if (!tl_reg.device_alloc) {
    PyErr_SetString(PyExc_RuntimeError, "this device has no allocator");
    return NULL;
  }
  PyObject *owner = device == TL_WEBGPU ? tl_gpu_owner(nbytes) : NULL;
  if (owner) return tl_storage_of(device, owner, nbytes);
  if (PyErr_Occurred()) return NULL;
  owner = PyObject_CallFunction(tl_reg.device_alloc, "iL", device, (long long)nbytes);
  if (!owner) return NULL;
  return tl_storage_of(device, owner, nbytes);
}

int tl_device_copy(TlTensor *dst, TlTensor *src) {
  if (tl_check_memory(dst->device) < 0 || tl_check_memory(src->device) < 0) return -1;
  if (dst->device == TL_META) return 0;
  if (src->device == TL_META) {
    PyErr_SetString(PyExc_NotImplementedError, "Cannot copy out of meta tensor; no data!");
    return -1;
  }
  int done = tl_gpu_copy(dst, src);
  if (done) return done < 0 ? -1 : 0;
  PyObject *r = PyObject_CallFunctionObjArgs(tl_reg.device_copy, (PyObject *)dst, (PyObject *)src, NULL);
  Py_XDECREF(r);
  return r ? 0 : -1;
}

int tl_device_fill(TlTensor *dst, PyObject *value) {
  if (tl_check_memory(dst->device) < 0) return -1;
  if (dst->device == TL_META) return 0;
  PyObject *r = PyObject_CallFunctionObjArgs(tl_reg.device_fill, (PyObject *)dst, value, NULL);
  Py_XDECREF(r);
  return r ? 0 : -1;
}

static bool off_cpu(PyObject *o) { return TL_CHECK(o) && ((TlTensor *)o)->device != TL_CPU; }

bool tl_args_off_cpu(PyObject *const *a, int n) {
  for (int i = 0; i < n; i++) {
    if (off_cpu(a[i])) return true;
    bool tuple = PyTuple_Check(a[i]);
    if (!tuple && !PyList_Check(a[i])) continue;
    Py_ssize_t m = PyObject_Size(a[i]);
    for (Py_ssize_t j = 0; j < m; j++)
      if (off_cpu(tuple ? PyTuple_GetItem(a[i], j) : PyList_GetItem(a[i], j))) return true;
  }
  return false;
}

int tl_check_wrappers(PyObject *const *a, int n) {
  for (int i = 0; i < n; i++) {
    if (TL_CHECK(a[i]) && tl_check_memory(((TlTensor *)a[i])->device) < 0) return -1;
    bool tuple = PyTuple_Check(a[i]);
    if (!tuple && !PyList_Check(a[i])) continue;
    for (Py_ssize_t j = 0, m = PyObject_Size(a[i]); j < m; j++) {
      PyObject *o = tuple ? PyTuple_GetItem(a[i], j) : PyList_GetItem(a[i], j);
      if (TL_CHECK(o) && tl_check_memory(((TlTensor *)o)->device) < 0) return -1;
    }
  }
  return 0;
}

/* device_tensor(device code, owner, nbytes, dtype, shape, strides, offset) */
static PyObject *device_tensor(PyObject *mod, PyObject *args) {
  (void)mod;
  PyObject *owner, *dt, *shape, *strides;
  int device;
  long long nbytes, offset = 0;
  tl_dtype d;
  int64_t sh[TL_MAX_DIMS], st[TL_MAX_DIMS];
  int n, m = -1;
  if (!PyArg_ParseTuple(args, "iOLOO|OL", &device, &owner, &nbytes, &dt, &shape, &strides, &offset)) return NULL;
  if (tl_check_device_code(device) < 0 || tl_dtype_arg(dt, TL_F32, &d) < 0 || tl_ints(shape, sh, &n) < 0) return NULL;
  if (PyTuple_Size(args) > 5 && strides != Py_None) {
    if (tl_ints(strides, st, &m) < 0) return NULL;
  } else if (n >= 0) {
    m = n;
    if (tl_dense_strides(n, sh, st) < 0) return NULL;
  }
  if (device == TL_CPU || n < 0 || m != n || nbytes < 0 || (uint64_t)nbytes > SIZE_MAX / 2) {
    PyErr_SetString(PyExc_ValueError,
                    "device_tensor: needs another device than the CPU, a size in bytes, and a stride for each size");
    return NULL;
  }
  TlStorage *s = tl_storage_of(device, Py_NewRef(owner), nbytes);
  if (!s) return NULL;
  if (tl_check_geometry(s, d, n, sh, st, offset) < 0) {
    Py_DECREF(s);
    return NULL;
  }
  TlTensor *t = tl_over(s, d, n, sh, st, offset);
  return (PyObject *)t;
}

/* empty_on(device code, shape, strides or None, dtype) */
static PyObject *empty_on(PyObject *mod, PyObject *args) {
  (void)mod;
  PyObject *dt, *shape, *strides;
  int device, n, m;
  tl_dtype d;
  int64_t sh[TL_MAX_DIMS], st[TL_MAX_DIMS];
  if (!PyArg_ParseTuple(args, "iOOO", &device, &shape, &strides, &dt)) return NULL;
  if (tl_check_device_code(device) < 0 || tl_dtype_arg(dt, TL_F32, &d) < 0 || tl_ints(shape, sh, &n) < 0) return NULL;
  if (n < 0) return tl_no_shape_error(), NULL;
  if (strides == Py_None) return (PyObject *)tl_empty_on(device, d, n, sh, NULL);
  if (tl_ints(strides, st, &m) < 0) return NULL;
  if (m != n) {
    PyErr_SetString(PyExc_RuntimeError, "mismatch in length of strides and shape");
    return NULL;
  }
  return (PyObject *)tl_empty_on(device, d, n, sh, st);
}

/* geometry(tensor): (owner, shape, strides, offset, dtype, contiguous, numel), what a device's code needs of a tensor
 * in one call */
static PyObject *geometry(PyObject *mod, PyObject *o) {
  (void)mod;
  if (!TL_CHECK(o)) {
    PyErr_SetString(PyExc_TypeError, "geometry: expected a tensor");
    return NULL;
  }
  TlTensor *t = (TlTensor *)o;
  PyObject *owner = t->storage->owner ? t->storage->owner : Py_None;
  if (t->device == TL_WEBGPU && t->numel > INT32_MAX &&
      tl_gpu_countable(t->ndim, t->shape, tl_is_contiguous(t) ? tl_itemsize[t->dtype] : 0) < 0)
    return NULL;
  return Py_BuildValue("(ONNLNOL)", owner, tl_ints_tuple(t->ndim, t->shape), tl_ints_tuple(t->ndim, t->strides),
                       (long long)t->offset, tl_dtype_object(t->dtype), tl_is_contiguous(t) ? Py_True : Py_False,
                       (long long)t->numel);
}

/* A key of everything that decides an op's types: dtype and whether it has dims for each tensor, the kinds of the
 * numbers. False if a value matters as well: large or negative integers, strings. */
bool tl_signature(PyObject *const *a, Py_ssize_t n, uint64_t *out) {
  uint64_t key = (uint64_t)tl_default_dtype << 56;
  if (n > 7) return false;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *o = a[i];
    uint64_t code;
    if (TL_CHECK(o)) {
      const TlTensor *t = (const TlTensor *)o;
      if (tl_is_limited((tl_dtype)t->dtype)) return false;
      code = 0x80u | t->dtype | (t->ndim ? 0x10u : 0) | (t->device ? 0 : 0x20u);
    } else if (o == Py_None) code = 1;
    else if (PyBool_Check(o)) code = o == Py_True ? 2 : 3;
    else if (PyFloat_Check(o)) code = 4;
    else if (PyLong_Check(o)) {
      int over;
      long v = PyLong_AsLongAndOverflow(o, &over);
      if (over || v < 0 || v >= 100) return false;
      code = v == 1 ? 6 : 5;
    } else return false;
    key |= code << (8 * i);
  }
  *out = key;
  return true;
}

/* signature(args): tl_signature's key, or None */
static PyObject *signature(PyObject *mod, PyObject *args) {
  (void)mod;
  PyObject *a[7];
  uint64_t key;
  if (!PyTuple_Check(args)) {
    PyErr_SetString(PyExc_TypeError, "signature(tuple of arguments)");
    return NULL;
  }
  Py_ssize_t n = PyTuple_Size(args);
  for (Py_ssize_t i = 0; i < n && i < 7; i++) a[i] = PyTuple_GetItem(args, i);
  if (!tl_signature(a, n, &key)) Py_RETURN_NONE;
  return PyLong_FromUnsignedLongLong(key);
}

PyMethodDef tl_device_functions[] = {
  {"device_tensor", device_tensor, METH_VARARGS,
   "device_tensor(device code, owner, nbytes, dtype, shape, strides=None, offset=0)"},
  {"empty_on", empty_on, METH_VARARGS, "empty_on(device code, shape, strides or None, dtype)"},
  {"signature", signature, METH_O, "Key of the types of an op's arguments, or None where values matter."},
  {"webgpu", tl_gpu_module, METH_NOARGS, "The native half of the webgpu device, made when it is first asked for."},
  {"geometry", geometry, METH_O, "(owner, shape, strides, offset, dtype, contiguous, numel)"},
  {0}};
