/* tensor.c: dtypes, version counters and the Tensor type: allocation and lifetime. Memory is in storage.c, sizes and
 * strides in geometry.c, attribute access that Python code sees in attr.c, views in shape/view.c. */
#include "core/core.h"
#include "core/geometry.h"
#include <stdio.h>

const uint8_t tl_itemsize[TL_NUM_DTYPES] = {
#define X(code, name, scalar, cpp, ctype, comp) sizeof(ctype),
  TL_DTYPES(X)
#undef X
};
const uint8_t tl_compute[TL_NUM_DTYPES] = {
#define X(code, name, scalar, cpp, ctype, comp) TL_##comp,
  TL_DTYPES(X)
#undef X
};
const char *const tl_dtype_name[TL_NUM_DTYPES] = {
#define X(code, name, scalar, cpp, ctype, comp) #name,
  TL_DTYPES(X)
#undef X
};
const char *const tl_scalar_type[TL_NUM_DTYPES] = {
#define X(code, name, scalar, cpp, ctype, comp) #scalar,
  TL_DTYPES(X)
#undef X
};
const char *const tl_cpp_type[TL_NUM_DTYPES] = {
#define X(code, name, scalar, cpp, ctype, comp) cpp,
  TL_DTYPES(X)
#undef X
};

tl_dtype tl_default_dtype = TL_F32;
PyTypeObject *tl_TensorBase, *tl_TensorClass;

bool tl_is_tensor_subclass(PyTypeObject *type) {
  /* what else arguments mostly are */
  if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyTuple_Type || type == Py_TYPE(Py_None)) return false;
  return PyType_IsSubtype(type, tl_TensorBase);
}

/* ---- tensor ----------------------------------------------------------------------------------------------------- */
static int too_many(int ndim) {
  if (ndim <= TL_DIM_LIMIT) return 0;
  PyErr_Format(PyExc_RuntimeError, "only tensors with up to %d dims are supported, got %d", TL_DIM_LIMIT, ndim);
  return -1;
}

static TlTensor *alloc_tensor_of(PyTypeObject *tp, int ndim) {
  if (too_many(ndim) < 0) return NULL;
  TlTensor *t = (TlTensor *)PyType_GenericAlloc(tp, 0);
  if (!t) return NULL;
  t->ndim = (int16_t)ndim;
  t->flags = tl_inference_mode ? TL_INFERENCE : 0;
  if (ndim > TL_INLINE_DIMS) {
    t->shape = PyMem_Malloc(2 * sizeof(int64_t) * (size_t)ndim);
    if (!t->shape) {
      t->ndim = 0;
      Py_DECREF(t);
      PyErr_NoMemory();
      return NULL;
    }
    t->strides = t->shape + ndim;
  } else {
    t->shape = t->inline_dims;
    t->strides = t->inline_dims + TL_INLINE_DIMS;
  }
  return t;
}

static TlTensor *alloc_tensor(int ndim) { return alloc_tensor_of(tl_TensorClass, ndim); }

bool tl_any_indirect;
/* TL_MISALIGNED if the elements' addresses do not fit their type; complex numbers are aligned as their parts */
static uint16_t misaligned(const TlStorage *s, tl_dtype d) {
  if ((uintptr_t)s->data % tl_itemsize[tl_real_of(d)] == 0) return 0;
  tl_any_indirect = true;
  return TL_MISALIGNED;
}

/* Whether a view lies in t's memory. A storage that became smaller keeps its block: views of it stay what they are. */
bool tl_within(const TlTensor *t, int n, const int64_t *shape, const int64_t *strides, int64_t offset) {
  const TlStorage *s = t->storage;
  int64_t end = offset, step;
  bool over = offset < 0;
  for (int i = 0; i < n; i++) {
    if (shape[i] <= 0) return true;
    over = over || __builtin_mul_overflow(shape[i] - 1, strides[i], &step) || step < 0 ||
           __builtin_add_overflow(end, step, &end);
  }
  over =
    over || __builtin_add_overflow(end, 1, &end) || __builtin_mul_overflow(end, (int64_t)tl_itemsize[t->dtype], &end);
  return !over && (uint64_t)end <= (tl_storage_room(s));
}

int tl_check_geometry(const TlStorage *s, tl_dtype d, int n, const int64_t *shape, const int64_t *strides,
                      int64_t offset) {
  int64_t numel = tl_count(n, shape), end = offset, step;
  if (numel < 0) return -1;
  for (int i = 0; i < n; i++)
    if (strides[i] < 0) {
      PyErr_Format(PyExc_RuntimeError, "as_strided: Negative strides are not supported at the moment, got strides: %s",
                   tl_fmt_shape(n, strides));
      return -1;
    }
  if (offset < 0) {
    PyErr_Format(PyExc_RuntimeError, "Tensor: invalid storage offset %lld", (long long)offset);
    return -1;
  }
  bool over = false;
  for (int i = 0; i < n && numel; i++)
    over = over || __builtin_mul_overflow(shape[i] - 1, strides[i], &step) || __builtin_add_overflow(end, step, &end);
  over = over || __builtin_add_overflow(end, 1, &end) || __builtin_mul_overflow(end, (int64_t)tl_itemsize[d], &end);
  if (numel && over) return tl_extent_overflow(n, shape, strides);
  if (numel && (uint64_t)end > s->nbytes) {
    PyErr_Format(
      PyExc_RuntimeError,
      "setStorage: sizes %s, strides %s, storage offset %lld, and itemsize %d requiring a storage size of %lld "
      "are out of bounds for storage of size %llu",
      tl_fmt_shape(n, shape), tl_fmt_shape(n, strides), (long long)offset, tl_itemsize[d], (long long)end,
      (unsigned long long)s->nbytes);
    return -1;
  }
  return 0;
}

/* a tensor of a limited dtype is made: the dispatcher looks at arguments from now on */
static int note_limited(tl_dtype dtype) {
  tl_any_indirect = true;
  return dtype == TL_C32 ? tl_warn_once("ComplexHalf support is experimental and many operators don't support it yet.")
                         : 0;
}

static int check_device_dtype(int device, tl_dtype dtype) {
  if (device != TL_WEBGPU || (dtype != TL_F64 && dtype != TL_C128)) return 0;
  PyErr_Format(PyExc_TypeError,
               "Cannot convert a WebGPU Tensor to %s dtype as WebGPU doesn't support float64. Please use %s instead.",
               tl_dtype_name[dtype], dtype == TL_F64 ? "float32" : "complex64");
  return -1;
}

/* a tensor of n elements on a storage of its own, still without shape and strides */
static TlTensor *with_storage(int device, tl_dtype dtype, int ndim, int64_t n, int64_t nbytes) {
  if (tl_meta) device = TL_META;
  TlStorage *s = device ? tl_device_storage(device, nbytes) : tl_storage_new(nbytes);
  if (!s) return NULL;
  TlTensor *t = alloc_tensor(ndim);
  if (!t) {
    Py_DECREF(s);
    return NULL;
  }
  t->storage = s;
  t->numel = n;
  t->dtype = (uint8_t)dtype;
  t->device = (uint8_t)device;
  return t;
}

static TlTensor *empty_dense(int device, tl_dtype dtype, int ndim, const int64_t *shape) {
  if (tl_is_limited(dtype) && note_limited(dtype) < 0) return NULL;
  if (device && check_device_dtype(device, dtype) < 0) return NULL;
  int64_t n = tl_count(ndim, shape), nbytes, strides[TL_MAX_DIMS];
  if (n < 0 || (n == 0 && tl_dense_strides(ndim, shape, strides) < 0)) return NULL; /* other sizes may be that large */
  if (__builtin_mul_overflow(n, (int64_t)tl_itemsize[dtype], &nbytes)) {
    tl_shape_overflow(ndim, shape);
    return NULL;
  }
  TlTensor *t = with_storage(device, dtype, ndim, n, nbytes);
  if (!t) return NULL;
  tl_natural_layout(ndim, shape, t->shape, t->strides);
  t->flags |= TL_CONTIGUOUS;
  return t;
}

TlTensor *tl_empty(tl_dtype dtype, int ndim, const int64_t *shape) { return empty_dense(TL_CPU, dtype, ndim, shape); }

static TlTensor *empty_strided(int device, tl_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides) {
  if (tl_is_limited(dtype) && note_limited(dtype) < 0) return NULL;
  if (device && check_device_dtype(device, dtype) < 0) return NULL;
  int64_t n = tl_count(ndim, shape), extent = n ? 1 : 0, step;
  bool over = false;
  if (n < 0) return NULL;
  for (int i = 0; i < ndim; i++) {
    if (strides[i] < 0) {
      PyErr_Format(PyExc_RuntimeError,
                   "empty_strided: Negative strides are not supported at the moment, got strides: %s",
                   tl_fmt_shape(ndim, strides));
      return NULL;
    }
    if (n)
      over = over || __builtin_mul_overflow(shape[i] - 1, strides[i], &step) ||
             __builtin_add_overflow(extent, step, &extent);
  }
  if (over || __builtin_mul_overflow(extent, (int64_t)tl_itemsize[dtype], &extent)) {
    tl_extent_overflow(ndim, shape, strides);
    return NULL;
  }
  TlTensor *t = with_storage(device, dtype, ndim, n, extent);
  if (!t) return NULL;
  tl_copy_dims(t->shape, shape, ndim);
  tl_copy_dims(t->strides, strides, ndim);
  if (tl_strides_contiguous(ndim, shape, strides)) t->flags |= TL_CONTIGUOUS;
  return t;
}

TlTensor *tl_empty_strided(tl_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides) {
  return empty_strided(TL_CPU, dtype, ndim, shape, strides);
}
TlTensor *tl_empty_on(int device, tl_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides) {
  return strides ? empty_strided(device, dtype, ndim, shape, strides) : empty_dense(device, dtype, ndim, shape);
}
TlTensor *tl_over(TlStorage *s, tl_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides,
                  int64_t offset) {
  TlTensor *t = alloc_tensor(0);
  if (!t) {
    Py_DECREF(s);
    return NULL;
  }
  if (tl_set_geometry(t, s, dtype, ndim, shape, strides, offset) < 0) Py_CLEAR(t);
  return t;
}

/* ---- memory formats ---------------------------------------------------------------------------------------------- */
TlTensor *tl_empty_format(tl_dtype dtype, int ndim, const int64_t *shape, bool channels_last) {
  int64_t strides[TL_MAX_DIMS];
  if (!channels_last) return tl_empty(dtype, ndim, shape);
  tl_channels_last_strides(ndim, shape, strides);
  return tl_empty_strided(dtype, ndim, shape, strides);
}

TlTensor *tl_in_format(TlTensor *t, tl_dtype dtype, bool channels_last) {
  if (!channels_last) return tl_contiguous_as(t, dtype);
  if (t->dtype == dtype && tl_in_last_order(t)) return (TlTensor *)Py_NewRef((PyObject *)t);
  TlTensor *r = tl_empty_format(dtype, t->ndim, t->shape, true);
  if (r && tl_copy(r, t) < 0) Py_CLEAR(r);
  return r;
}

TlTensor *tl_empty_preserved(int device, const TlTensor *t, tl_dtype dtype) {
  int64_t strides[TL_MAX_DIMS];
  tl_preserved_strides(t, strides);
  return empty_strided(device, dtype, t->ndim, t->shape, strides);
}

TlTensor *tl_empty_like_on(int device, const TlTensor *t, tl_dtype dtype) {
  if (tl_is_contiguous(t)) return empty_dense(device, dtype, t->ndim, t->shape);
  if (tl_is_channels_last(t)) {
    int64_t strides[TL_MAX_DIMS];
    tl_channels_last_strides(t->ndim, t->shape, strides);
    return empty_strided(device, dtype, t->ndim, t->shape, strides);
  }
  return tl_empty_preserved(device, t, dtype);
}
TlTensor *tl_empty_like(const TlTensor *t, tl_dtype dtype) { return tl_empty_like_on(t->device, t, dtype); }

TlTensor *tl_zeros(tl_dtype dtype, int ndim, const int64_t *shape) {
  TlTensor *t = tl_empty(dtype, ndim, shape);
  if (t && !tl_meta && tl_clear(t->storage->data, t->storage->nbytes)) Py_CLEAR(t);
  return t;
}

TlVersion *tl_version(TlTensor *t) {
  if (!t->version) {
    t->version = PyMem_Malloc(sizeof(TlVersion));
    if (t->version) *t->version = (TlVersion){1, 0};
  }
  return t->version;
}
void tl_bump(TlTensor *t) {
  TlVersion *v = tl_version(t);
  t->storage->writes++;
  if (v) v->value++;
}

int tl_check_inference(const TlTensor *t) {
  if (tl_inference_mode || !(t->flags & TL_INFERENCE)) return 0;
  PyErr_SetString(
    PyExc_RuntimeError,
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
    "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.");
  return -1;
}

int tl_check_captured(const TlTensor *t, PyObject *schema) {
  if (t->storage->level >= tl_func_level) return 0;
  char name[96];
  const char *text = schema ? PyUnicode_AsUTF8AndSize(schema, NULL) : "copy_";
  if (!text) return -1;
  int base = (int)strcspn(text, ".("), all = (int)strcspn(text, "(");
  bool inplace = base && text[base - 1] == '_';
  snprintf(name, sizeof name, "%.*s%s%.*s", base, text, inplace ? "" : "_", all - base, text + base);
  PyErr_Format(PyExc_RuntimeError,
               "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
               "operation (aten::%s) that would mutate a captured Tensor. This is not supported; please rewrite "
               "the function being transformed to explicitly accept the mutated Tensor(s) as inputs.",
               name);
  return -1;
}

/* a tensor over t's storage; share_version is off for .data */
static TlTensor *alias_of(PyTypeObject *tp, TlTensor *t, int ndim, const int64_t *shape, const int64_t *strides,
                          int64_t offset, bool share_version) {
  int64_t n = tl_count(ndim, shape);
  if (n < 0) return NULL;
  TlTensor *v = alloc_tensor_of(tp, ndim);
  if (!v) return NULL;
  v->storage = (TlStorage *)Py_NewRef((PyObject *)t->storage);
  v->numel = n;
  v->offset = n || (offset >= 0 && offset <= INT64_MAX / 32)
                ? offset
                : 0; /* the offset of an empty tensor may have overflowed, so it is 0 */
  v->dtype = t->dtype;
  v->device = t->device;
  tl_copy_dims(v->shape, shape, ndim);
  tl_copy_dims(v->strides, strides, ndim);
  v->flags = (uint16_t)((tl_strides_contiguous(ndim, shape, strides) ? TL_CONTIGUOUS : 0) |
                        (t->flags & (TL_INFERENCE | TL_LAZY)) |
                        (t->storage->borrowed ? misaligned(t->storage, (tl_dtype)t->dtype) : 0));
  if (share_version && (v->version = tl_version(t))) v->version->refs++;
  return v;
}
TlTensor *tl_alias(TlTensor *t, int ndim, const int64_t *shape, const int64_t *strides, int64_t offset,
                   bool share_version) {
  return alias_of(tl_TensorClass, t, ndim, shape, strides, offset, share_version);
}

TlTensor *tl_view(TlTensor *t, int ndim, const int64_t *shape, const int64_t *strides, int64_t offset) {
  TlTensor *v = tl_alias(t, ndim, shape, strides, offset, true), *base = t->base ? (TlTensor *)t->base : t;
  if (!v) return NULL;
  if (v->version) v->stamp = (int32_t)v->version->value;
  if (t->flags & TL_INFERENCE) return v; /* whose views nobody follows */
  if (t->base) v->flags |= t->flags & (TL_UNRECORDED | TL_ONE_OF_MANY | TL_OF_INFERENCE);
  if (!tl_below_autograd) {
    v->base = Py_NewRef(base);
    if (!tl_grad_mode) v->flags |= tl_inference_mode ? TL_UNRECORDED | TL_OF_INFERENCE : TL_UNRECORDED;
  } else if (!tl_requires_grad(base)) { /* the recorder names the base of its results itself */
    v->base = Py_NewRef(base);
  }
  return v;
}

/* Gives t another geometry, storage and dtype in place (set_data, resize_); steals the reference to s. */
int tl_set_geometry(TlTensor *t, TlStorage *s, tl_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides,
                    int64_t offset) {
  int64_t n = too_many(ndim) < 0 ? -1 : tl_count(ndim, shape);
  if (n < 0) {
    Py_DECREF(s);
    return -1;
  }
  if (ndim > TL_INLINE_DIMS) {
    int64_t *dims = PyMem_Malloc(2 * sizeof(int64_t) * (size_t)ndim);
    if (!dims) {
      Py_DECREF(s);
      PyErr_NoMemory();
      return -1;
    }
    tl_copy_dims(dims, shape, ndim);
    tl_copy_dims(dims + ndim, strides, ndim);
    if (t->shape != t->inline_dims) PyMem_Free(t->shape);
    t->shape = dims;
    t->strides = dims + ndim;
  } else {
    int64_t tmp[2 * TL_INLINE_DIMS];
    tl_copy_dims(tmp, shape, ndim);
    tl_copy_dims(tmp + TL_INLINE_DIMS, strides, ndim);
    if (t->shape != t->inline_dims) PyMem_Free(t->shape);
    t->shape = t->inline_dims;
    t->strides = t->inline_dims + TL_INLINE_DIMS;
    memcpy(t->inline_dims, tmp, sizeof tmp);
  }
  TlStorage *old = t->storage;
  t->storage = s;
  Py_XDECREF(old);
  t->ndim = (int16_t)ndim;
  t->numel = n;
  t->offset = offset;
  t->dtype = (uint8_t)dtype;
  t->device = s->device;
  t->flags = (uint16_t)((t->flags & ~(TL_CONTIGUOUS | TL_MISALIGNED)) |
                        (tl_strides_contiguous(ndim, t->shape, t->strides) ? TL_CONTIGUOUS : 0) |
                        (s->device ? 0 : misaligned(s, dtype)));
  return 0;
}

int tl_restride(TlTensor *t, int ndim, const int64_t *shape, const int64_t *strides) {
  return tl_set_geometry(t, (TlStorage *)Py_NewRef((PyObject *)t->storage), t->dtype, ndim, shape, strides, t->offset);
}

TlTensor *tl_contiguous(TlTensor *t) {
  if (tl_is_contiguous(t)) return (TlTensor *)Py_NewRef((PyObject *)t);
  return tl_contiguous_as(t, t->dtype);
}

TlTensor *tl_contiguous_as(TlTensor *t, tl_dtype dtype) {
  if (tl_is_contiguous(t) && t->dtype == dtype) return (TlTensor *)Py_NewRef((PyObject *)t);
  TlTensor *r = empty_dense(t->device, dtype, t->ndim, t->shape);
  if (r && tl_copy(r, t) < 0) {
    Py_DECREF(r);
    return NULL;
  }
  return r;
}

TlTensor *tl_preserved(TlTensor *r, const TlTensor *t) {
  if (!r || !memcmp(r->strides, t->strides, sizeof(int64_t) * t->ndim)) return r;
  TlTensor *p = tl_empty_preserved(r->device, t, r->dtype);
  if (p && tl_copy(p, r) < 0) Py_CLEAR(p);
  Py_DECREF((PyObject *)r);
  return p;
}

TlTensor *tl_cast(TlTensor *t, tl_dtype dtype) {
  if (t->dtype == dtype) return (TlTensor *)Py_NewRef((PyObject *)t);
  TlTensor *r = tl_empty_preserved(t->device, t, dtype);
  if (r && tl_copy(r, t) < 0) {
    Py_DECREF(r);
    return NULL;
  }
  return r;
}

/* ---- lifetime --------------------------------------------------------------------------------------------------- */
static int tensor_traverse(TlTensor *t, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(t));
  Py_VISIT(t->grad);
  Py_VISIT(t->grad_fn);
  Py_VISIT(t->base);
  Py_VISIT(t->meta);
  return 0;
}
static int tensor_clear(TlTensor *t) {
  Py_CLEAR(t->grad);
  Py_CLEAR(t->grad_fn);
  Py_CLEAR(t->base);
  Py_CLEAR(t->meta);
  return 0;
}
static void tensor_dealloc(TlTensor *t) {
  PyTypeObject *tp = Py_TYPE(t);
  PyObject_GC_UnTrack(t);
  PyObject *links[] = {t->grad, t->grad_fn, t->base, t->meta};
  t->grad = t->grad_fn = t->base = t->meta = NULL;
  Py_XDECREF(t->storage);
  if (t->version && --t->version->refs == 0) PyMem_Free(t->version);
  if (t->shape && t->shape != t->inline_dims) PyMem_Free(t->shape);
  PyObject_GC_Del(t);
  Py_DECREF(tp);
  for (int i = 0; i < 4; i++) tl_drop(links[i]);
}

/* TensorBase.__new__(cls, source): an instance of cls over source's storage and version (Parameter, subclasses) */
static PyObject *tensor_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)kw;
  PyObject *src = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL;
  if (!src || !TL_CHECK(src)) {
    PyErr_SetString(PyExc_TypeError, "TensorBase.__new__ needs a tensor to take its storage from");
    return NULL;
  }
  TlTensor *s = (TlTensor *)src;
  return (PyObject *)alias_of(tp, s, s->ndim, s->shape, s->strides, s->offset, true);
}

int tl_tensor_init(PyObject *mod) {
  PyType_Slot slots[96] = {
    {Py_tp_dealloc, tensor_dealloc},
    {Py_tp_traverse, tensor_traverse},
    {Py_tp_clear, tensor_clear},
    {Py_tp_new, tensor_new},
    {Py_tp_getset, tl_tensor_getset},
    {Py_tp_methods, tl_tensor_methods},
    {Py_tp_doc, "Storage, geometry and autograd fields of a tensor; torch.Tensor derives from it."}};
  int n = 7;
  for (PyType_Slot *s = tl_tensor_number_slots; s->slot; s++) slots[n++] = *s;
  slots[n] = (PyType_Slot){0, NULL};
  PyType_Spec spec = {"torchlite._C.TensorBase", sizeof(TlTensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  tl_TensorBase = (PyTypeObject *)PyType_FromSpec(&spec);
  if (!tl_TensorBase) return -1;
  tl_TensorClass = tl_TensorBase;
  return PyModule_AddObjectRef(mod, "TensorBase", (PyObject *)tl_TensorBase);
}
