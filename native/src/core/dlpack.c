/* dlpack.c: tensors to DLPack's capsules and back. The structs are those of its header, versions 0 and 1. */
#include "core/core.h"

typedef struct {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} Array;
typedef struct Managed {
  Array array;
  void *context;
  void (*deleter)(struct Managed *);
} Managed;
typedef struct Versioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct Versioned *);
  uint64_t flags;
  Array array;
} Versioned;
enum { ON_CPU = 1, IS_COPIED = 2 };
#define OLD "dltensor"
#define NEW "dltensor_versioned"

/* code and bits of each dtype; a float4 has two lanes */
static const uint8_t types[TL_NUM_DTYPES][2] = {
  [TL_BOOL] = {6, 8},       [TL_U8] = {1, 8},          [TL_I8] = {0, 8},          [TL_I16] = {0, 16},
  [TL_I32] = {0, 32},       [TL_I64] = {0, 64},        [TL_F16] = {2, 16},        [TL_BF16] = {4, 16},
  [TL_F32] = {2, 32},       [TL_F64] = {2, 64},        [TL_C64] = {5, 64},        [TL_C128] = {5, 128},
  [TL_C32] = {5, 32},       [TL_U16] = {1, 16},        [TL_U32] = {1, 32},        [TL_U64] = {1, 64},
  [TL_F8E4M3FN] = {10, 8},  [TL_F8E5M2] = {12, 8},     [TL_F8E4M3FNUZ] = {11, 8}, [TL_F8E5M2FNUZ] = {13, 8},
  [TL_F8E8M0FNU] = {14, 8}, [TL_F4E2M1FNX2] = {17, 4},
};
static int lanes_of(tl_dtype d) { return d == TL_F4E2M1FNX2 ? 2 : 1; }

/* ---- out: the tensor lives until the consumer calls the deleter, from whatever thread */
static void release(PyObject *t, void *block) {
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(t);
  PyMem_Free(block);
  PyGILState_Release(state);
}
static void delete_old(Managed *m) { release(m->context, m); }
static void delete_new(Versioned *m) { release(m->context, m); }
/* a capsule that nobody took */
static void drop_old(PyObject *capsule) {
  Managed *m = PyCapsule_IsValid(capsule, OLD) ? PyCapsule_GetPointer(capsule, OLD) : NULL;
  if (m) m->deleter(m);
}
static void drop_new(PyObject *capsule) {
  Versioned *m = PyCapsule_IsValid(capsule, NEW) ? PyCapsule_GetPointer(capsule, NEW) : NULL;
  if (m) m->deleter(m);
}
static void describe(Array *a, TlTensor *t, int64_t *dims) {
  t->storage->addressed = 1;
  a->data = t->storage->data ? tl_data(t) : NULL;
  a->device_type = ON_CPU;
  a->ndim = t->ndim;
  a->dtype.code = types[t->dtype][0];
  a->dtype.bits = types[t->dtype][1];
  a->dtype.lanes = (uint16_t)lanes_of(t->dtype);
  a->shape = dims;
  a->strides = dims + t->ndim;
  for (int i = 0; i < t->ndim; i++) {
    a->shape[i] = t->shape[i];
    a->strides[i] = t->shape[i] < 2 ? 1 : t->strides[i];
  }
}
/* to_dlpack(tensor, versioned, copied) */
static PyObject *to_dlpack(PyObject *mod, PyObject *args) {
  (void)mod;
  PyObject *o, *capsule;
  int versioned, copied;
  if (!PyArg_ParseTuple(args, "Opp", &o, &versioned, &copied)) return NULL;
  if (!TL_CHECK(o)) {
    PyErr_SetString(PyExc_TypeError, "data must be a Tensor");
    return NULL;
  }
  TlTensor *t = (TlTensor *)o;
  if (t->device != TL_CPU) {
    PyErr_Format(PyExc_BufferError, "Cannot pack tensors on %S", t->device < 8 ? tl_reg.devices[t->device] : Py_None);
    return NULL;
  }
  const size_t head = versioned ? sizeof(Versioned) : sizeof(Managed);
  char *block = PyMem_Calloc(1, head + 2 * sizeof(int64_t) * (size_t)t->ndim);
  if (!block) return PyErr_NoMemory();
  int64_t *dims = (int64_t *)(block + head);
  if (versioned) {
    Versioned *m = (Versioned *)block;
    m->major = 1;
    m->flags = copied ? IS_COPIED : 0;
    m->context = o;
    m->deleter = delete_new;
    describe(&m->array, t, dims);
    capsule = PyCapsule_New(m, NEW, drop_new);
  } else {
    Managed *m = (Managed *)block;
    m->context = o;
    m->deleter = delete_old;
    describe(&m->array, t, dims);
    capsule = PyCapsule_New(m, OLD, drop_old);
  }
  if (!capsule) {
    PyMem_Free(block);
    return NULL;
  }
  Py_INCREF(o);
  t->storage->fixed = 1; /* PyTorch resizes it under the consumer, which then reads freed memory */
  return capsule;
}

/* ---- in: the storage keeps a capsule that calls the deleter */
static void free_old(PyObject *owner) {
  Managed *m = PyCapsule_GetPointer(owner, "tl.dlpack");
  if (m->deleter) m->deleter(m);
}
static void free_new(PyObject *owner) {
  Versioned *m = PyCapsule_GetPointer(owner, "tl.dlpack");
  if (m->deleter) m->deleter(m);
}
static PyObject *invalid(PyObject *type, const char *text) {
  PyErr_SetString(type, text);
  return NULL;
}
static PyObject *from_dlpack(PyObject *mod, PyObject *capsule) {
  (void)mod;
  const bool versioned = PyCapsule_IsValid(capsule, NEW);
  if (!versioned && !PyCapsule_IsValid(capsule, OLD))
    return invalid(PyExc_RuntimeError,
                   "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so "
                   "you might have already constructed a tensor from it once.");
  void *m = PyCapsule_GetPointer(capsule, versioned ? NEW : OLD);
  if (versioned && ((Versioned *)m)->major > 1)
    return PyErr_Format(PyExc_BufferError, "DLPack version %u.%u is not supported", (unsigned)((Versioned *)m)->major,
                        (unsigned)((Versioned *)m)->minor);
  const Array *a = versioned ? &((Versioned *)m)->array : &((Managed *)m)->array;
  if (a->device_type != ON_CPU) return PyErr_Format(PyExc_BufferError, "Unsupported device_type: %d", a->device_type);
  tl_dtype dtype = 0;
  while (dtype < TL_NUM_DTYPES && (types[dtype][0] != a->dtype.code || types[dtype][1] != a->dtype.bits)) dtype++;
  if (dtype == TL_NUM_DTYPES)
    return PyErr_Format(PyExc_BufferError, "Unsupported dtype: code %d of %d bits", a->dtype.code, a->dtype.bits);
  if (a->dtype.lanes != lanes_of(dtype)) return invalid(PyExc_BufferError, "ATen does not support lanes != 1");
  if (a->ndim < 0 || a->ndim > TL_DIM_LIMIT) return invalid(PyExc_BufferError, "from_dlpack: too many dims");
  int64_t strides[TL_MAX_DIMS], shape[TL_MAX_DIMS], last = 0, step = 1;
  bool empty = false;
  for (int i = a->ndim - 1; i >= 0; i--) {
    shape[i] = a->shape[i];
    strides[i] = a->strides ? a->strides[i] : step;
    if (shape[i] < 0 || __builtin_mul_overflow(step, shape[i] ? shape[i] : 1, &step))
      return invalid(PyExc_BufferError, "from_dlpack: sizes that no memory has");
    if (strides[i] < 0)
      return invalid(PyExc_RuntimeError, "from_dlpack: no tensor has negative strides; copy it first");
    int64_t reach;
    if (shape[i] == 0) empty = true;
    else if (__builtin_mul_overflow(strides[i], shape[i] - 1, &reach) || __builtin_add_overflow(last, reach, &last))
      return invalid(PyExc_BufferError, "from_dlpack: sizes that no memory has");
  }
  int64_t nbytes;
  if (__builtin_mul_overflow(empty ? 0 : last + 1, (int64_t)tl_itemsize[dtype], &nbytes))
    return invalid(PyExc_BufferError, "from_dlpack: sizes that no memory has");
  PyObject *owner = PyCapsule_New(m, "tl.dlpack", NULL);
  if (!owner) return NULL;
  TlStorage *s = tl_storage_over((char *)a->data + a->byte_offset, (uint64_t)nbytes, owner);
  if (!s) return NULL;
  TlTensor *t = tl_over(s, dtype, a->ndim, shape, strides, 0);
  if (!t) return NULL;
  /* from here on the tensor calls the deleter, and the capsule is used up */
  PyCapsule_SetDestructor(owner, versioned ? free_new : free_old);
  PyCapsule_SetName(capsule, versioned ? "used_" NEW : "used_" OLD);
  PyCapsule_SetDestructor(capsule, NULL);
  return (PyObject *)t;
}

PyMethodDef tl_dlpack_functions[] = {
  {"to_dlpack", to_dlpack, METH_VARARGS, "to_dlpack(tensor, versioned, copied): a capsule with the tensor's memory."},
  {"from_dlpack", from_dlpack, METH_O, "A tensor over a capsule's memory."},
  {0}};
