/* data.c: converts between Python objects and elements: item, tolist, and torch.tensor of nested sequences. */
#include "core/core.h"
#include "core/errors.h"
#include "core/geometry.h"
#include <stdio.h>

PyObject *tl_scalar_object(tl_dtype dtype, const void *p) {
  union {
    uint8_t u8;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint16_t u16[2];
    uint32_t u32;
    uint64_t u64;
    float f[2];
    double d[2];
  } v;
  memcpy(&v, p, tl_itemsize[dtype]); /* p need not be aligned */
  switch (dtype) {
  case TL_BOOL: return PyBool_FromLong(v.u8 != 0);
  case TL_U8: return PyLong_FromLong(v.u8);
  case TL_I8: return PyLong_FromLong(v.i8);
  case TL_I16: return PyLong_FromLong(v.i16);
  case TL_I32: return PyLong_FromLong(v.i32);
  case TL_I64: return PyLong_FromLongLong(v.i64);
  case TL_F16: return PyFloat_FromDouble(tl_half_to_float(v.u16[0]));
  case TL_BF16: return PyFloat_FromDouble(tl_bf16_to_float(v.u16[0]));
  case TL_F32: return PyFloat_FromDouble(v.f[0]);
  case TL_F64: return PyFloat_FromDouble(v.d[0]);
  case TL_C64: return PyComplex_FromDoubles(v.f[0], v.f[1]);
  case TL_C128: return PyComplex_FromDoubles(v.d[0], v.d[1]);
  case TL_C32: return PyComplex_FromDoubles(tl_half_to_float(v.u16[0]), tl_half_to_float(v.u16[1]));
  case TL_U16: return PyLong_FromLong(v.u16[0]);
  case TL_U32: return PyLong_FromUnsignedLong(v.u32);
  case TL_U64: return PyLong_FromUnsignedLongLong(v.u64);
  case TL_F4E2M1FNX2: return tl_not_implemented("_local_scalar_dense_cpu", dtype);
  default: tl_float8_load(dtype)(v.f + 1, &v.u8, 1); return PyFloat_FromDouble(v.f[1]);
  }
}

static bool reading_data; /* torch.tensor's messages name the dtype, other calls the C type */

/* of integer dtypes but bool */
typedef struct {
  const char *c_type;
  double bottom, top;
  int64_t most;
} IntRange;
static IntRange int_range(tl_dtype d) {
  static const char *const names[2][9] = {{0, "int8_t", "int16_t", 0, "int", 0, 0, 0, "int64_t"},
                                          {0, "uint8_t", "uint16_t", 0, "uint32_t", 0, 0, 0, "uint64_t"}};
  const bool whole = d == TL_U8 || TL_UNSIGNED >> d & 1; /* no negative values */
  const int size = tl_itemsize[d], bits = 8 * size - !whole;
  const uint64_t top = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  const int64_t most = top > INT64_MAX ? INT64_MAX : (int64_t)top;
  return (IntRange){names[whole][size], whole ? 0 : -(double)most - 1, (double)top, most};
}

/* torch.tensor(..., dtype=torch.uint64) */
static int read_u64(uint64_t *p, PyObject *v) {
  if (!PyLong_Check(v)) {
    PyErr_SetString(PyExc_TypeError, "an integer is required");
    return -1;
  }
  *p = PyLong_AsUnsignedLongLong(v);
  return *p == UINT64_MAX && PyErr_Occurred() ? -1 : 0;
}

static int store_int(tl_dtype dtype, void *p, PyObject *v) {
  const IntRange range = int_range(dtype);
  int overflow;
  const char *type = reading_data ? tl_dtype_name[dtype] : range.c_type;
  PyObject *i = NULL;
  if (dtype == TL_U64 && reading_data) return read_u64(p, v);
  if (!reading_data && (PyFloat_Check(v) || PyComplex_Check(v))) {
    /* compared before it is truncated: PyTorch refuses 127.5 for int8 too */
    double x = PyComplex_RealAsDouble(v);
    if (PyComplex_ImagAsDouble(v) == 0 && x >= range.bottom && x <= range.top) i = PyLong_FromDouble(x);
    else tl_conversion_error(type);
    if (!i) return -1;
  } else if (PyFloat_Check(v) && range.bottom == 0 && PyFloat_AsDouble(v) < 0) {
    return tl_conversion_error(type);
  } else i = PyFloat_Check(v) ? PyNumber_Long(v) : PyNumber_Index(v);
  if (!i && PyErr_ExceptionMatches(PyExc_TypeError) && !PyComplex_Check(v) &&
      !(reading_data && tl_is_numpy_scalar(v))) {
    PyErr_Clear();
    i = PyNumber_Long(v);
  }
  if (!i && PyFloat_Check(v)) { /* NaN and infinities */
    PyErr_Clear();
    tl_conversion_error(type);
  }
  if (!i) return -1;
  long long x = PyLong_AsLongLongAndOverflow(i, &overflow);
  if (overflow > 0 && dtype == TL_U64) {
    uint64_t whole = PyLong_AsUnsignedLongLong(i);
    overflow = whole == UINT64_MAX && PyErr_Occurred();
    memcpy(&x, &whole, sizeof x);
    if (overflow) return Py_DECREF(i), -1;
  }
  Py_DECREF(i);
  if (x == -1 && PyErr_Occurred()) return -1;
  /* unsigned ones take negative numbers as far down, and wrap around */
  if (overflow ||
      (tl_itemsize[dtype] < 8 && (x > range.most || x < (range.bottom == 0 ? -range.most : -range.most - 1)))) {
    if (overflow && reading_data) PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
    else tl_conversion_error(type);
    return -1;
  }
  int64_t whole = x;
  tl_cast_contig(dtype, p, TL_I64, &whole, 1);
  return 0;
}

int tl_scalar_store(tl_dtype dtype, void *p, PyObject *v) {
  if (tl_is_complex(dtype) && !PyComplex_Check(v) && !TL_CHECK(v) &&
      tl_is_numpy_scalar(v)) { /* numpy's complex64 is no Python complex */
    PyObject *s = PyObject_CallMethod(v, "item", NULL);
    int r = s ? tl_scalar_store(dtype, p, s) : -1;
    Py_XDECREF(s);
    return r;
  }
  if (TL_CHECK(v)) {
    TlTensor *t = (TlTensor *)v;
    if (t->numel != 1) {
      PyErr_SetString(PyExc_TypeError, "only 0-dimensional tensors can be converted to Python scalars");
      return -1;
    }
    PyObject *s = tl_is_float(dtype) && tl_warn_scalar(t) < 0 ? NULL : tl_m_item(t, NULL);
    if (!s) return -1;
    int r = tl_scalar_store(dtype, p, s);
    Py_DECREF(s);
    return r;
  }
  if (dtype == TL_BOOL) {
    int b = PyObject_IsTrue(v);
    if (b < 0) return -1;
    *(uint8_t *)p = (uint8_t)b;
    return 0;
  }
  if (tl_is_integral(dtype)) return store_int(dtype, p, v);
  double re, im = 0;
  if (PyFloat_Check(v)) re = PyFloat_AsDouble(v);
  else if (PyComplex_Check(v)) {
    re = PyComplex_RealAsDouble(v);
    im = PyComplex_ImagAsDouble(v);
    if (!tl_is_complex(dtype) && im != 0) {
      if (reading_data) PyErr_SetString(PyExc_TypeError, "must be real number, not complex");
      else tl_conversion_error(tl_cpp_type[dtype]);
      return -1;
    }
  } else {
    re = PyFloat_AsDouble(v);
    if (re == -1 && PyErr_Occurred()) return -1;
  }
  switch (dtype) {
  case TL_F16: *(uint16_t *)p = tl_float_to_half((float)re); break;
  case TL_BF16: *(uint16_t *)p = tl_float_to_bf16((float)re); break;
  case TL_F32: *(float *)p = (float)re; break;
  case TL_F64: *(double *)p = re; break;
  case TL_C64: *(tl_c64 *)p = (tl_c64){(float)re, (float)im}; break;
  case TL_C128: *(tl_c128 *)p = (tl_c128){re, im}; break;
  case TL_F4E2M1FNX2:
    if (reading_data) PyErr_SetString(PyExc_RuntimeError, "store_scalar: invalid type");
    else tl_not_implemented("fill_cpu", dtype);
    return -1;
  default: {
    tl_c128 z = {re, im};
    tl_cast_contig(dtype, p, TL_C128, &z, 1);
  }
  }
  return 0;
}

/* A CPU tensor with t's elements in plain memory: copied from another device, or with pending conjugation applied; else
 * t itself. */
static TlTensor *to_host(TlTensor *t) {
  TlTensor *d = t->flags & TL_LAZY ? tl_direct(t) : (TlTensor *)Py_NewRef(t), *h = d;
  if (!d || d->device == TL_CPU) return d;
  if (d->device == TL_META) PyErr_SetString(PyExc_NotImplementedError, "Cannot copy out of meta tensor; no data!");
  if (d->device == TL_META || tl_check_memory(d->device) < 0) {
    Py_DECREF(d);
    return NULL;
  }
  h = (TlTensor *)PyObject_CallFunctionObjArgs(tl_reg.host_copy, (PyObject *)d, NULL);
  Py_DECREF(d);
  return h;
}

PyObject *tl_m_item(TlTensor *t, PyObject *_) {
  (void)_;
  if (t->numel != 1) {
    PyErr_Format(PyExc_RuntimeError, "a Tensor with %lld elements cannot be converted to Scalar", (long long)t->numel);
    return NULL;
  }
  if ((t->flags & TL_DISPATCHES || tl_dispatch_modes) && !tl_dispatch_off)
    return PyObject_CallFunctionObjArgs(tl_reg.dispatch_item, (PyObject *)t, NULL);
  if (t->device == TL_META) {
    PyErr_SetString(PyExc_RuntimeError, "Tensor.item() cannot be called on meta tensors");
    return NULL;
  }
  TlTensor *h = to_host(t);
  if (!h) return NULL;
  PyObject *r = tl_scalar_object(h->dtype, tl_data(h));
  Py_DECREF(h);
  return r;
}

static PyObject *list_dim(TlTensor *t, int dim, const char *p) {
  if (dim == t->ndim) return tl_scalar_object(t->dtype, p);
  int64_t n = t->shape[dim], step = tl_wrap_mul(t->strides[dim], tl_itemsize[t->dtype]);
  PyObject *l = PyList_New((Py_ssize_t)n);
  TL_LOOP(i, l ? n : 0) {
    PyObject *x = list_dim(t, dim + 1, p + i * step);
    if (!x) {
      Py_DECREF(l);
      return NULL;
    }
    PyList_SetItem(l, (Py_ssize_t)i, x);
  }
  if (tl_work(n) < 0) Py_CLEAR(l);
  return l;
}
PyObject *tl_m_tolist(TlTensor *t, PyObject *_) {
  (void)_;
  if (t->flags & TL_DISPATCHES && !tl_dispatch_off) {
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(t), "__name__");
    if (name) PyErr_Format(PyExc_RuntimeError, ".tolist() is not supported for tensor subclasses, got %U", name);
    Py_XDECREF(name);
    return NULL;
  }
  TlTensor *h = to_host(t);
  if (!h) return NULL;
  PyObject *r = list_dim(h, 0, h->storage->data ? tl_data(h) : NULL);
  Py_DECREF(h);
  return r;
}

/* ---- torch.tensor ------------------------------------------------------------------------------------------------ */
typedef struct {
  int ndim;
  int64_t shape[TL_MAX_DIMS];
  int dtype; /* what the leaves have in common so far, -1 before the first */
} Seen;

static int name_error(PyObject *type, const char *format, PyObject *o) {
  PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__name__");
  if (name) PyErr_Format(type, format, name);
  Py_XDECREF(name);
  return -1;
}

static int see(Seen *s, tl_dtype d) {
  s->dtype = s->dtype < 0 ? (int)d : (int)tl_promote((tl_dtype)s->dtype, d);
  return s->dtype == TL_NUM_DTYPES ? -1 : 0;
}

/* the dtype of a numpy array or scalar */
static int see_numpy(Seen *s, PyObject *o) {
  static const char *const known = "b1 u1 i1 i2 i4 i8 f2 -- f4 f8 c8 c16 -- u2 u4 u8"; /* in the order of the codes */
  int bytes;
  char kind = tl_numpy_kind(o, &bytes), text[16];
  snprintf(text, sizeof text, "%c%d", kind ? kind : '?', bytes);
  const char *at = strstr(known, text);
  if (at && (at[strlen(text)] == ' ' || !at[strlen(text)])) return see(s, (tl_dtype)((at - known) / 3));
  PyObject *dtype = PyObject_GetAttrString(o, "dtype"), *type = dtype ? PyObject_GetAttrString(dtype, "type") : NULL;
  PyObject *name = type ? PyObject_GetAttrString(type, "__name__") : NULL,
           *e = name ? PyObject_CallFunctionObjArgs(tl_reg.unsupported_array, name, NULL) : NULL;
  if (e) PyErr_SetObject((PyObject *)Py_TYPE(e), e);
  Py_XDECREF(e);
  Py_XDECREF(name);
  Py_XDECREF(type);
  Py_XDECREF(dtype);
  return -1;
}
static int text_error(PyObject *o) {
  PyErr_Format(PyExc_TypeError, "new(): invalid data type '%s'", PyUnicode_Check(o) ? "str" : "bytes");
  return -1;
}
static bool is_0d_array(PyObject *o) { return tl_is_ndarray(o) && PySequence_Size(o) < 0 && (PyErr_Clear(), true); }

static PyObject *item_of(PyObject *o, bool list, bool tuple, Py_ssize_t i) { /* new reference */
  if (list) return Py_XNewRef(PyList_GetItem(o, i));
  return tuple ? Py_XNewRef(PyTuple_GetItem(o, i)) : PySequence_GetItem(o, i);
}

/* the lengths of the data, of its first item, of that one's first item, and so on; `fill` looks at the other items */
static int find_shape(PyObject *data, Seen *s) {
  PyObject *o = Py_NewRef(data);
  int r = 0;
  while (PySequence_Check(o) && !TL_CHECK(o) && !is_0d_array(o) && (!tl_is_numpy_scalar(o) || PyUnicode_Check(o))) {
    Py_ssize_t n = PySequence_Size(o);
    if (n < 0 || s->ndim == TL_DIM_LIMIT) {
      r = n < 0 ? -1 : name_error(PyExc_ValueError, "too many dimensions '%U'", o);
      break;
    }
    s->shape[s->ndim++] = n;
    if (!n) break;
    PyObject *first = PySequence_GetItem(o, 0);
    if (!first) {
      r = -1;
      break;
    }
    Py_DECREF(o);
    o = first;
  }
  Py_DECREF(o);
  return r;
}

/* the dtype that all leaves have in common */
static int find_dtype(PyObject *o, int depth, Seen *s) {
  if (PyBool_Check(o)) return see(s, TL_BOOL);
  if (PyFloat_CheckExact(o)) return see(s, tl_default_dtype);
  if (PyLong_Check(o)) return see(s, TL_I64);
  if (PyComplex_CheckExact(o)) return see(s, tl_complex_of(tl_default_dtype));
  if (TL_CHECK(o)) return see(s, (tl_dtype)((TlTensor *)o)->dtype);
  if (PyUnicode_Check(o) || PyBytes_Check(o)) return text_error(o);
  if (tl_is_numpy_scalar(o) || tl_is_ndarray(o)) return see_numpy(s, o);
  if (PyFloat_Check(o)) return see(s, tl_default_dtype);
  if (PyComplex_Check(o)) return see(s, tl_complex_of(tl_default_dtype));
  if (!PySequence_Check(o)) return name_error(PyExc_RuntimeError, "Could not infer dtype of %U", o);
  Py_ssize_t n = PySequence_Size(o);
  if (n <= 0) return n < 0 ? -1 : see(s, tl_default_dtype);
  if (depth >= TL_DIM_LIMIT) return name_error(PyExc_ValueError, "too many dimensions '%U'", o);
  bool list = PyList_Check(o), tuple = PyTuple_Check(o);
  TL_LOOP(i, n) {
    PyObject *x = item_of(o, list, tuple, i);
    if (!x) return -1;
    if (x == o) PyErr_SetString(PyExc_TypeError, "new(): self-referential lists are incompatible");
    int r = x == o ? -1 : find_dtype(x, depth + 1, s);
    Py_DECREF(x);
    if (r) return r;
  }
  return tl_work(n);
}

static int store(PyObject *o, tl_dtype d, void *p) {
  if (PyFloat_CheckExact(o) || PyLong_CheckExact(o)) return tl_scalar_store(d, p, o);
  bool whole = tl_is_integral(d);
  if (TL_CHECK(o)) {
    TlTensor *t = (TlTensor *)o;
    if (whole && (t->numel != 1 || !tl_is_integral((tl_dtype)t->dtype))) {
      PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
      return -1;
    }
    if (t->numel != 1) {
      PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
      return -1;
    }
  } else if (whole && !PyFloat_Check(o) && !PyComplex_Check(o) && !PyIndex_Check(o) && !tl_is_numpy_scalar(o) &&
             !is_0d_array(o))
    return name_error(PyExc_TypeError, "'%U' object cannot be interpreted as an integer", o);
  return tl_scalar_store(d, p, o);
}

static int fill(PyObject *o, int depth, TlTensor *t, char **p) {
  if (depth == t->ndim) {
    int r = store(o, (tl_dtype)t->dtype, *p);
    *p += tl_itemsize[t->dtype];
    return r;
  }
  bool list = PyList_Check(o), tuple = PyTuple_Check(o);
  if (!list && !tuple && tl_is_ndarray(o) &&
      tl_warn_once("Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the "
                   "list to a single numpy.ndarray with "
                   "numpy.array() before converting to a tensor.") < 0)
    return -1;
  if (!list && !tuple && (!PySequence_Check(o) || (TL_CHECK(o) && !((TlTensor *)o)->ndim))) {
    PyErr_SetString(PyExc_TypeError, "not a sequence");
    return -1;
  }
  if (PySequence_Size(o) != t->shape[depth]) {
    PyErr_Format(PyExc_ValueError, "expected sequence of length %lld at dim %d (got %zd)", (long long)t->shape[depth],
                 depth, PySequence_Size(o));
    return -1;
  }
  TL_LOOP(i, t->shape[depth]) {
    PyObject *x = item_of(o, list, tuple, (Py_ssize_t)i);
    if (!x) return -1;
    int r = fill(x, depth + 1, t, p);
    Py_DECREF(x);
    if (r < 0) return -1;
  }
  return tl_work(t->shape[depth]);
}

/* tensor_from_data(data, dtype or None): a new CPU tensor from numbers, nested sequences, tensors among them */
static PyObject *tensor_from_data(PyObject *mod, PyObject *args) {
  (void)mod;
  PyObject *data, *dt = Py_None;
  if (!PyArg_ParseTuple(args, "O|O", &data, &dt)) return NULL;
  Seen s = {.dtype = -1};
  if (PyUnicode_Check(data) || PyBytes_Check(data)) return text_error(data), NULL;
  if (find_shape(data, &s) < 0 || (dt == Py_None && find_dtype(data, 0, &s) < 0)) return NULL;
  tl_dtype d = s.dtype < 0 ? tl_default_dtype : (tl_dtype)s.dtype;
  if (tl_dtype_arg(dt, d, &d) < 0) return NULL;
  TlTensor *t = tl_empty(d, s.ndim, s.shape);
  if (!t) return NULL;
  char *p = tl_data(t);
  reading_data = true;
  int r = t->numel ? fill(data, 0, t, &p) : 0;
  reading_data = false;
  if (r < 0) {
    Py_DECREF(t);
    return NULL;
  }
  return (PyObject *)t;
}

/* tensor_from_storage(storage, dtype, offset, shape, strides) */
static PyObject *tensor_from_storage(PyObject *mod, PyObject *args) {
  (void)mod;
  PyObject *s, *dt, *shape, *strides;
  long long offset;
  if (!PyArg_ParseTuple(args, "OOLOO", &s, &dt, &offset, &shape, &strides)) return NULL;
  tl_dtype d;
  int64_t sh[TL_MAX_DIMS], st[TL_MAX_DIMS], zero[1] = {0};
  int n, m;
  if (tl_dtype_arg(dt, TL_F32, &d) < 0 || tl_ints(shape, sh, &n) < 0 || tl_ints(strides, st, &m) < 0) return NULL;
  if (n < 0 || m != n) {
    PyErr_SetString(PyExc_ValueError, "shape and strides must have the same length");
    return NULL;
  }
  if (!tl_is_storage(s)) {
    PyErr_SetString(PyExc_TypeError, "tensor_from_storage: the first argument must be a storage");
    return NULL;
  }
  if (tl_check_geometry((TlStorage *)s, d, n, sh, st, offset) < 0) return NULL;
  TlTensor *t = tl_empty(d, 1, zero);
  if (t && tl_set_geometry(t, (TlStorage *)Py_NewRef(s), d, n, sh, st, offset) < 0) {
    Py_DECREF(t);
    return NULL;
  }
  return (PyObject *)t;
}

/* alias(tensor, share_version): same memory, no history */
static PyObject *alias(PyObject *mod, PyObject *args) {
  (void)mod;
  PyObject *o;
  int share = 1;
  if (!PyArg_ParseTuple(args, "O!|p", tl_TensorBase, &o, &share)) return NULL;
  TlTensor *t = (TlTensor *)o;
  if (t->flags & TL_DISPATCHES) return PyObject_CallFunctionObjArgs(tl_reg.dispatch_alias, o, NULL);
  return (PyObject *)tl_alias(t, t->ndim, t->shape, t->strides, t->offset, share);
}

/* new CPU tensors: empty(shape, dtype), empty_strided(shape, strides, dtype), zeros(shape, dtype) */
enum { EMPTY, EMPTY_STRIDED, ZEROS };
static PyObject *make(PyObject *args, int what) {
  PyObject *shape, *dt = Py_None, *strides = NULL;
  int64_t sh[TL_MAX_DIMS], st[TL_MAX_DIMS];
  int n, m = 0;
  tl_dtype d;
  if (what == EMPTY_STRIDED ? !PyArg_ParseTuple(args, "OO|O", &shape, &strides, &dt)
                            : !PyArg_ParseTuple(args, "O|O", &shape, &dt))
    return NULL;
  if (tl_ints(shape, sh, &n) < 0 || (strides && tl_ints(strides, st, &m) < 0) ||
      tl_dtype_arg(dt, tl_default_dtype, &d) < 0)
    return NULL;
  if (n < 0) return tl_no_shape_error(), NULL;
  if (strides && m != n) {
    PyErr_SetString(PyExc_RuntimeError, "mismatch in length of strides and shape");
    return NULL;
  }
  if (strides) return (PyObject *)tl_empty_strided(d, n, sh, st);
  return (PyObject *)(what == ZEROS ? tl_zeros(d, n, sh) : tl_empty(d, n, sh));
}
static PyObject *py_empty(PyObject *m, PyObject *a) {
  (void)m;
  return make(a, EMPTY);
}
static PyObject *py_empty_strided(PyObject *m, PyObject *a) {
  (void)m;
  return make(a, EMPTY_STRIDED);
}
static PyObject *py_zeros(PyObject *m, PyObject *a) {
  (void)m;
  return make(a, ZEROS);
}
static PyObject *py_empty_like(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *t, *dt = Py_None;
  tl_dtype d;
  int device = -1;
  if (!PyArg_ParseTuple(args, "O!|Oi", tl_TensorBase, &t, &dt, &device) ||
      tl_check_device_code(device < 0 ? TL_CPU : device) < 0 || tl_dtype_arg(dt, ((TlTensor *)t)->dtype, &d) < 0)
    return NULL;
  return (PyObject *)tl_empty_preserved(device < 0 ? ((TlTensor *)t)->device : device, (TlTensor *)t, d);
}
/* src must broadcast to dst's shape; leading ones that dst lacks are let through */
static int check_copy(const TlTensor *dst, const TlTensor *src) {
  for (int i = 1; i <= src->ndim; i++) {
    int64_t n = src->shape[src->ndim - i], m = i <= dst->ndim ? dst->shape[dst->ndim - i] : 1;
    if (n == m || n == 1) continue;
    if (i > dst->ndim || m == 1) return tl_output_shape_error(dst, src->ndim, src->shape);
    return tl_size_error(m, n, dst->ndim - i);
  }
  return 0;
}
/* Memory of n bytes whose address nobody has */
static bool unseen(const TlStorage *s, uint64_t n) {
  return !s->device && !s->borrowed && !s->owner && !s->fixed && !s->addressed && !s->serial && !s->exports &&
         s->nbytes == n;
}
/* Whether dst and src, which nobody else reads, may exchange their memory. */
static bool may_move(const TlTensor *dst, const TlTensor *src) {
  const uint64_t n = (uint64_t)src->numel * (uint64_t)tl_itemsize[src->dtype];
  return n >= 1 << 16 && dst->dtype == src->dtype && dst->numel == src->numel && !dst->offset && !src->offset &&
         tl_is_contiguous(dst) && tl_is_contiguous(src) && !((dst->flags | src->flags) & TL_INDIRECT) &&
         unseen(dst->storage, n) && unseen(src->storage, n) && Py_REFCNT((PyObject *)src->storage) == 1;
}
int tl_copy_result(TlTensor *dst, TlTensor *src) {
  if (!may_move(dst, src)) return tl_copy(dst, src);
  char *data = dst->storage->data;
  dst->storage->data = src->storage->data;
  src->storage->data = data;
  return 0;
}
static PyObject *copied(PyObject *args, int (*how)(TlTensor *, TlTensor *)) {
  PyObject *dst, *src;
  int bump = 1;
  if (!PyArg_ParseTuple(args, "O!O!|p", tl_TensorBase, &dst, tl_TensorBase, &src, &bump) ||
      tl_check_inference((TlTensor *)dst) < 0 || tl_check_captured((TlTensor *)dst, NULL) < 0 ||
      check_copy((TlTensor *)dst, (TlTensor *)src) < 0 || how((TlTensor *)dst, (TlTensor *)src) < 0)
    return NULL;
  if (bump) tl_bump((TlTensor *)dst);
  return Py_NewRef(dst);
}
static PyObject *py_copy(PyObject *m, PyObject *args) {
  (void)m;
  return copied(args, tl_copy);
}
static PyObject *py_copy_result(PyObject *m, PyObject *args) {
  (void)m;
  return copied(args, tl_copy_result);
}
static PyObject *py_cast(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *t, *dt;
  tl_dtype d;
  if (!PyArg_ParseTuple(args, "O!O", tl_TensorBase, &t, &dt) || tl_dtype_arg(dt, TL_F32, &d) < 0) return NULL;
  return (PyObject *)tl_cast((TlTensor *)t, d);
}
/* resize_(tensor, shape): the storage grows when needed, the result is contiguous */
static PyObject *py_resize(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *o, *shape;
  int64_t sh[TL_MAX_DIMS], st[TL_MAX_DIMS], n, end;
  int nd;
  if (!PyArg_ParseTuple(args, "O!O", tl_TensorBase, &o, &shape) || tl_ints(shape, sh, &nd) < 0) return NULL;
  TlTensor *t = (TlTensor *)o;
  if (nd < 0) return tl_no_shape_error(), NULL;
  if ((n = tl_dense_strides(nd, sh, st)) < 0) return NULL;
  if (n) {
    if (t->offset < 0 || __builtin_add_overflow(n, t->offset, &end) ||
        __builtin_mul_overflow(end, (int64_t)tl_itemsize[t->dtype], &end))
      end = INT64_MAX;
    if (end > (int64_t)t->storage->nbytes && tl_storage_resize(t->storage, end) < 0) return NULL;
  }
  if (tl_set_geometry(t, (TlStorage *)Py_NewRef(t->storage), t->dtype, nd, sh, st, t->offset) < 0) return NULL;
  return Py_NewRef(o);
}
static PyObject *py_lay_out(PyObject *m, PyObject *args) {
  PyObject *o, *like;
  (void)m;
  if (!PyArg_ParseTuple(args, "O!O!", tl_TensorBase, &o, tl_TensorBase, &like)) return NULL;
  TlTensor *t = (TlTensor *)o, *as = (TlTensor *)like;
  if (t->ndim == as->ndim && !memcmp(t->shape, as->shape, sizeof *t->shape * (size_t)t->ndim) && tl_is_dense(as) &&
      tl_is_contiguous(t) && tl_restride(t, t->ndim, t->shape, as->strides) < 0)
    return NULL;
  Py_RETURN_NONE;
}
static PyObject *py_fill(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *t, *value;
  if (!PyArg_ParseTuple(args, "O!O", tl_TensorBase, &t, &value) || tl_check_inference((TlTensor *)t) < 0 ||
      tl_check_captured((TlTensor *)t, NULL) < 0 || tl_fill((TlTensor *)t, value) < 0)
    return NULL;
  tl_bump((TlTensor *)t);
  return Py_NewRef(t);
}
PyMethodDef tl_data_functions[] = {
  {"conv_plan", tl_conv_plan, METH_VARARGS,
   "conv_plan(overload, arguments): what a convolution, or its gradient, of tensors of any device computes, or its "
   "error: (shape of the result, (batch, groups, channels of the large and the small side, the sizes of both), "
   "(kernel, stride, padding, dilation), whether results are channels last, whether the gradient of the weight is)"},
  {"fill", py_fill, METH_VARARGS, "fill(tensor, number): every element becomes the number"},
  {"tensor_from_data", tensor_from_data, METH_VARARGS, "tensor_from_data(data, dtype=None)"},
  {"tensor_from_storage", tensor_from_storage, METH_VARARGS,
   "tensor_from_storage(storage, dtype, offset, shape, strides)"},
  {"alias", alias, METH_VARARGS, "alias(tensor, share_version=True): same memory, no history"},
  {"empty", py_empty, METH_VARARGS, "empty(shape, dtype)"},
  {"empty_strided", py_empty_strided, METH_VARARGS, "empty_strided(shape, strides, dtype)"},
  {"zeros", py_zeros, METH_VARARGS, "zeros(shape, dtype)"},
  {"empty_like", py_empty_like, METH_VARARGS,
   "empty_like(tensor, dtype=None, device code=the tensor's), keeping a dense layout"},
  {"copy", py_copy, METH_VARARGS, "copy(dst, src): dst[...] = src below autograd"},
  {"copy_result", py_copy_result, METH_VARARGS,
   "copy_result(dst, src): copy of a new tensor that only the caller has; they may exchange their memory instead"},
  {"cast", py_cast, METH_VARARGS, "cast(tensor, dtype): the tensor itself when it has that dtype"},
  {"resize", py_resize, METH_VARARGS, "resize(tensor, shape)"},
  {"lay_out", py_lay_out, METH_VARARGS,
   "lay_out(t, like): t, just resized to like's shape, gets its strides where that is dense"},
  {0}};
