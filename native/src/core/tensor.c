/* tensor.c: storage, version counters and the Tensor type: allocation, geometry, lifetime. Attribute access that Python
 * code sees is in attr.c, views in view.c. */
#include "core/core.h"
#include <stdlib.h>

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
static PyTypeObject *storage_type;
PyObject *tl_OutOfMemoryError;

/* ---- memory ------------------------------------------------------------------------------------------------------ */
/* Small blocks go through free lists by size class (multiples of 64 bytes): a training step makes and drops thousands.
 */
#define SMALL_CLASSES 32
#define SMALL_KEEP 64
typedef struct {
  void *raw;
  size_t cls;
} Header;
static void *small_list[SMALL_CLASSES + 1];
static int small_count[SMALL_CLASSES + 1];
static uint64_t bytes_live, bytes_peak;
uint64_t tl_bytes_live(void) { return bytes_live; }

static void *oom(uint64_t nbytes) {
  PyErr_Format(
    tl_OutOfMemoryError ? tl_OutOfMemoryError : PyExc_MemoryError,
    "DefaultCPUAllocator: can't allocate memory: you tried to allocate %llu bytes. Error code 12 (Cannot allocate "
    "memory). Free tensors that are no longer needed, or use smaller batches or a smaller dtype.",
    (unsigned long long)nbytes);
  return NULL;
}

/* For tests: the allocation that fails is the n-th from now; 0 for none. */
static int64_t fail_in;
static inline bool fails_now(void) { return fail_in && --fail_in == 0; }

/* The last large blocks that were freed wait for a request of their size: training loops make the same sizes again, and
 * a C library may hand such memory back to the system, which then has to clear it anew. */
#define LARGE_BYTES (256 * 1024)
#define LARGE_KEEP 16
#define LARGE_KEEP_BYTES ((size_t)64 << 20)
static void *large_list[LARGE_KEEP];
static int large_next;
static size_t large_bytes;

static void *take_large(size_t cls) {
  for (int i = 0; i < LARGE_KEEP; i++)
    if (large_list[i] && ((Header *)large_list[i] - 1)->cls == cls) {
      void *p = large_list[i];
      large_list[i] = NULL;
      large_bytes -= cls * TL_ALIGN;
      return p;
    }
  return NULL;
}
static void drop_large(int i) {
  if (!large_list[i]) return;
  Header *h = (Header *)large_list[i] - 1;
  large_bytes -= h->cls * TL_ALIGN;
  large_list[i] = NULL;
  free(h->raw);
}
static bool keep_large(void *p) {
  size_t bytes = ((Header *)p - 1)->cls * TL_ALIGN;
  if (bytes < LARGE_BYTES || bytes > LARGE_KEEP_BYTES / 2) return false;
  drop_large(large_next);
  for (int i = 0; i < LARGE_KEEP && large_bytes + bytes > LARGE_KEEP_BYTES; i++)
    drop_large((large_next + 1 + i) % LARGE_KEEP);
  large_list[large_next] = p;
  large_next = (large_next + 1) % LARGE_KEEP;
  large_bytes += bytes;
  return true;
}

void *tl_array(int64_t n, int64_t size) {
  int64_t nbytes;
  if (n < 0 || __builtin_mul_overflow(n, size, &nbytes)) return oom(INT64_MAX);
  return tl_malloc((uint64_t)nbytes);
}

/* The address sanitizer sees blocks of their exact size that nobody uses a second time. */
#if defined(__SANITIZE_ADDRESS__)
#define EXACT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EXACT 1
#endif
#endif
#ifdef EXACT
typedef struct {
  size_t capacity;
  Header h;
} ExactHeader;
static size_t capacity_of(const void *p) { return ((const ExactHeader *)p)[-1].capacity; }
void *tl_malloc(uint64_t nbytes) {
  void *raw = NULL;
  if (fails_now() || nbytes > SIZE_MAX / 2 || posix_memalign(&raw, TL_ALIGN, (size_t)nbytes + TL_ALIGN))
    return oom(nbytes);
  char *p = (char *)raw + TL_ALIGN;
  ((ExactHeader *)p)[-1] = (ExactHeader){(size_t)nbytes, {raw, 0}};
  return p;
}
void tl_free(void *p) {
  (void)take_large;
  (void)keep_large;
  (void)small_list;
  (void)small_count;
  if (p) free(((ExactHeader *)p)[-1].h.raw);
}
#else
static size_t capacity_of(const void *p) { return ((const Header *)p)[-1].cls * TL_ALIGN; }
void *tl_malloc(uint64_t nbytes) {
  if (fails_now() || nbytes > SIZE_MAX / 2) return oom(nbytes);
  size_t cls = ((size_t)nbytes + TL_ALIGN - 1) / TL_ALIGN;
  if (cls == 0) cls = 1;
  if (cls <= SMALL_CLASSES && small_list[cls]) {
    void *p = small_list[cls];
    small_list[cls] = *(void **)p;
    small_count[cls]--;
    return p;
  }
  if (nbytes >= LARGE_BYTES) {
    void *p = take_large(cls);
    if (p) return p;
  }
  char *raw = malloc(cls * TL_ALIGN + TL_ALIGN + sizeof(Header));
  if (!raw && large_bytes) {
    for (int i = 0; i < LARGE_KEEP; i++) drop_large(i);
    raw = malloc(cls * TL_ALIGN + TL_ALIGN + sizeof(Header));
  }
  if (!raw) return oom(nbytes);
  uintptr_t p = ((uintptr_t)raw + sizeof(Header) + TL_ALIGN - 1) & ~(uintptr_t)(TL_ALIGN - 1);
  ((Header *)p)[-1] = (Header){raw, cls};
  return (void *)p;
}

void tl_free(void *p) {
  if (!p) return;
  Header *h = (Header *)p - 1;
  if (h->cls <= SMALL_CLASSES && small_count[h->cls] < SMALL_KEEP) {
    *(void **)p = small_list[h->cls];
    small_list[h->cls] = p;
    small_count[h->cls]++;
  } else if (!keep_large(p)) {
    free(h->raw);
  }
}
#endif

/* ---- storage ----------------------------------------------------------------------------------------------------- */
static int too_large(int64_t nbytes) {
  PyErr_Format(tl_OutOfMemoryError,
               "DefaultCPUAllocator: can't allocate memory: you tried to allocate %lld bytes. Error "
               "code 12 (Cannot allocate memory). The address space of this platform ends before that.",
               (long long)nbytes);
  return -1;
}

TlStorage *tl_storage_new(int64_t nbytes) {
  if (nbytes < 0 || (uint64_t)nbytes > (uint64_t)(SIZE_MAX / 2)) {
    too_large(nbytes);
    return NULL;
  }
  char *data = tl_malloc((size_t)nbytes);
  if (!data) return NULL;
  TlStorage *s = (TlStorage *)PyType_GenericAlloc(storage_type, 0);
  if (!s) {
    tl_free(data);
    return NULL;
  }
  s->data = data;
  s->nbytes = (size_t)nbytes;
  bytes_live += s->nbytes;
  if (bytes_live > bytes_peak) bytes_peak = bytes_live;
  return s;
}

TlStorage *tl_storage_of(int device, PyObject *owner, int64_t nbytes) {
  TlStorage *s = (TlStorage *)PyType_GenericAlloc(storage_type, 0);
  if (!s) {
    Py_DECREF(owner);
    return NULL;
  }
  s->device = (uint8_t)device;
  s->nbytes = (size_t)nbytes;
  s->owner = owner;
  tl_any_device = true;
  return s;
}

/* storage over somebody else's memory; keeps a memoryview of it alive */
static PyObject *storage_from_buffer(PyObject *mod, PyObject *arg) {
  (void)mod;
  TlStorage *s = (TlStorage *)PyType_GenericAlloc(storage_type, 0);
  if (!s) return NULL;
  Py_buffer *view = PyMem_Calloc(1, sizeof(Py_buffer));
  if (!view) {
    Py_DECREF(s);
    return PyErr_NoMemory();
  }
  if (PyObject_GetBuffer(arg, view, PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(arg, view, PyBUF_SIMPLE) < 0) {
      PyMem_Free(view);
      Py_DECREF(s);
      return NULL;
    }
  }
  s->data = view->buf;
  s->nbytes = (size_t)view->len;
  s->borrowed = 1;
  s->owner = PyCapsule_New(view, "tl.buffer", NULL);
  if (!s->owner) {
    PyBuffer_Release(view);
    PyMem_Free(view);
    Py_DECREF(s);
    return NULL;
  }
  return (PyObject *)s;
}

static void storage_dealloc(TlStorage *s) {
  PyTypeObject *tp = Py_TYPE(s);
  if (s->borrowed) {
    if (s->owner) {
      Py_buffer *view = PyCapsule_GetPointer(s->owner, "tl.buffer");
      PyBuffer_Release(view);
      PyMem_Free(view);
    }
  } else if (s->data) {
    bytes_live -= s->nbytes;
    tl_free(s->data);
  }
  Py_XDECREF(s->owner);
  PyObject_Free(s);
  Py_DECREF(tp);
}

static int storage_getbuffer(TlStorage *s, Py_buffer *view, int flags) {
  if (s->device) {
    view->obj = NULL;
    PyErr_SetString(PyExc_BufferError,
                    "this storage is not in the CPU's memory. Use Tensor.cpu() to copy it to host memory first.");
    return -1;
  }
  int r = PyBuffer_FillInfo(view, (PyObject *)s, s->data, (Py_ssize_t)s->nbytes, 0, flags);
  if (r == 0) s->exports++;
  return r;
}
static void storage_releasebuffer(TlStorage *s, Py_buffer *view) {
  (void)view;
  s->exports--;
}
bool tl_is_storage(PyObject *o) { return PyObject_TypeCheck(o, storage_type); }
static PyObject *storage_nbytes(TlStorage *s, PyObject *_) {
  (void)_;
  return PyLong_FromSize_t(s->nbytes);
}
static PyObject *storage_ptr(TlStorage *s, PyObject *_) {
  (void)_;
  return s->device && s->owner ? PyObject_GetAttrString(s->owner, "address") : PyLong_FromSize_t((size_t)s->data);
}
static Py_ssize_t storage_len(TlStorage *s) { return (Py_ssize_t)s->nbytes; }
/* A smaller size keeps the block: tensors over the storage may still look at it. */
int tl_storage_resize(TlStorage *s, int64_t nbytes) {
  if (s->borrowed || s->exports) {
    PyErr_SetString(PyExc_RuntimeError, "Trying to resize storage that is not resizable");
    return -1;
  }
  if (nbytes < 0) {
    PyErr_Format(PyExc_RuntimeError, "resize_: the new size must not be negative, got %lld", (long long)nbytes);
    return -1;
  }
  if ((uint64_t)nbytes > SIZE_MAX / 2) return too_large(nbytes);
  if (s->device) {
    PyObject *owner =
      PyObject_CallFunction(tl_reg.device_resize, "OLL", s->owner, (long long)s->nbytes, (long long)nbytes);
    if (!owner) return -1;
    Py_XSETREF_(s->owner, owner);
    s->nbytes = (size_t)nbytes;
    return 0;
  }
  if ((size_t)nbytes > (s->data ? capacity_of(s->data) : 0)) {
    char *data = tl_malloc((size_t)nbytes);
    if (!data) return -1;
    if (s->data) memcpy(data, s->data, s->nbytes);
    tl_free(s->data);
    s->data = data;
  }
  bytes_live += (uint64_t)nbytes - s->nbytes;
  s->nbytes = (size_t)nbytes;
  return 0;
}
static PyObject *storage_resize_(TlStorage *s, PyObject *arg) {
  int64_t n;
  if (tl_int(arg, &n) < 0 || tl_storage_resize(s, n) < 0) return NULL;
  return Py_NewRef((PyObject *)s);
}
static PyObject *storage_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)tp;
  (void)kw;
  long long n = 0;
  if (!PyArg_ParseTuple(args, "|L", &n)) return NULL;
  return (PyObject *)tl_storage_new(n);
}
static PyMethodDef storage_methods[] = {
  {"nbytes", (PyCFunction)storage_nbytes, METH_NOARGS, "Size in bytes."},
  {"size", (PyCFunction)storage_nbytes, METH_NOARGS, "Size in bytes."},
  {"data_ptr", (PyCFunction)storage_ptr, METH_NOARGS, "Address of the first byte."},
  {"resize_", (PyCFunction)storage_resize_, METH_O, "Changes the size in bytes, keeping the contents."},
  {0}};
static PyObject *storage_device(TlStorage *s, void *unused) {
  (void)unused;
  PyObject *d = s->device < 8 ? tl_reg.devices[s->device] : NULL;
  return Py_NewRef(d ? d : Py_None);
}
static PyGetSetDef storage_fields[] = {{"device", (getter)storage_device, NULL, "Where the bytes are.", NULL}, {0}};
static PyType_Slot storage_slots[] = {{Py_tp_getset, storage_fields},
                                      {Py_tp_dealloc, storage_dealloc},
                                      {Py_bf_getbuffer, storage_getbuffer},
                                      {Py_bf_releasebuffer, storage_releasebuffer},
                                      {Py_tp_methods, storage_methods},
                                      {Py_sq_length, storage_len},
                                      {Py_tp_new, storage_new},
                                      {Py_tp_doc, "Untyped bytes behind tensors; supports the buffer protocol."},
                                      {0, NULL}};
static PyType_Spec storage_spec = {"torchlite._C.StorageBase", sizeof(TlStorage), 0, Py_TPFLAGS_DEFAULT, storage_slots};

/* ---- tensor -------------------------------------------------------------------------------------------------------
 */
static bool geometry_contiguous(int ndim, const int64_t *shape, const int64_t *strides) {
  int64_t expect = 1;
  bool dense = true;
  for (int i = ndim - 1; i >= 0; i--) {
    if (shape[i] == 0) return true; /* nothing lies anywhere */
    if (shape[i] != 1) {
      dense = dense && strides[i] == expect;
      expect = tl_wrap_mul(expect, shape[i]);
    }
  }
  return dense;
}

static int too_many(int ndim) {
  if (ndim <= TL_DIM_LIMIT) return 0;
  PyErr_Format(PyExc_RuntimeError, "tensors of at most %d dimensions are supported, got %d", TL_DIM_LIMIT, ndim);
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

/* number of elements; -1 with an exception when a size is negative or the product overflows */
static int64_t count(int ndim, const int64_t *shape) {
  int64_t n = 1;
  for (int i = 0; i < ndim; i++) {
    if (shape[i] < 0) {
      PyErr_Format(PyExc_RuntimeError, "Trying to create tensor with negative dimension %lld: %s", (long long)shape[i],
                   tl_fmt_shape(ndim, shape));
      return -1;
    }
    if (__builtin_mul_overflow(n, shape[i], &n)) {
      PyErr_SetString(PyExc_RuntimeError, "Storage size calculation overflowed with sizes that large");
      return -1;
    }
  }
  return n;
}

int64_t tl_dense_strides(int ndim, const int64_t *shape, int64_t *strides) {
  int64_t st = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    strides[i] = st;
    if (__builtin_mul_overflow(st, shape[i] > 1 ? shape[i] : 1, &st) && i > 0) {
      if (count(ndim, shape) >= 0) PyErr_SetString(PyExc_RuntimeError, "Stride calculation overflowed");
      return -1;
    }
  }
  return count(ndim, shape);
}

/* the first byte of misaligned elements is at an odd place for their type: complex numbers are pairs of reals */
bool tl_any_indirect;
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
  return !over && (uint64_t)end <= (s->device || s->borrowed || !s->data ? s->nbytes : capacity_of(s->data));
}

int tl_check_geometry(const TlStorage *s, tl_dtype d, int n, const int64_t *shape, const int64_t *strides,
                      int64_t offset) {
  int64_t numel = count(n, shape), end = offset, step;
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
  if (numel && over) {
    PyErr_SetString(PyExc_RuntimeError, "Storage size calculation overflowed with sizes and strides that large");
    return -1;
  }
  if (numel && (uint64_t)end > s->nbytes) {
    PyErr_Format(
      PyExc_RuntimeError,
      "setStorage: sizes %s, strides %s, storage offset %lld, and itemsize %d requiring a storage size of %lld "
      "are out of bounds for storage of size %zu",
      tl_fmt_shape(n, shape), tl_fmt_shape(n, strides), (long long)offset, tl_itemsize[d], (long long)end, s->nbytes);
    return -1;
  }
  return 0;
}

static int check_device_dtype(int device, tl_dtype dtype) {
  if (device != TL_WEBGPU || (dtype != TL_F64 && dtype != TL_C128)) return 0;
  PyErr_Format(PyExc_TypeError,
               "Cannot convert a WebGPU Tensor to %s dtype as WebGPU doesn't support float64. Please use %s instead.",
               tl_dtype_name[dtype], dtype == TL_F64 ? "float32" : "complex64");
  return -1;
}

static TlTensor *empty_dense(int device, tl_dtype dtype, int ndim, const int64_t *shape) {
  if (device && check_device_dtype(device, dtype) < 0) return NULL;
  int64_t n = count(ndim, shape), nbytes;
  if (n < 0) return NULL;
  if (__builtin_mul_overflow(n, (int64_t)tl_itemsize[dtype], &nbytes)) nbytes = INT64_MAX;
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
  int64_t st = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    t->shape[i] = shape[i];
    t->strides[i] = st;
    st = tl_wrap_mul(st, shape[i] > 1 ? shape[i] : 1); /* only tensors without elements get there */
  }
  t->flags |= TL_CONTIGUOUS;
  return t;
}

TlTensor *tl_empty(tl_dtype dtype, int ndim, const int64_t *shape) { return empty_dense(TL_CPU, dtype, ndim, shape); }

static TlTensor *empty_strided(int device, tl_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides) {
  if (device && check_device_dtype(device, dtype) < 0) return NULL;
  int64_t n = count(ndim, shape), extent = n ? 1 : 0, step;
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
  if (over || __builtin_mul_overflow(extent, (int64_t)tl_itemsize[dtype], &extent)) extent = INT64_MAX;
  TlStorage *s = device ? tl_device_storage(device, extent) : tl_storage_new(extent);
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
  memcpy(t->shape, shape, sizeof(int64_t) * (size_t)ndim);
  memcpy(t->strides, strides, sizeof(int64_t) * (size_t)ndim);
  if (geometry_contiguous(ndim, shape, strides)) t->flags |= TL_CONTIGUOUS;
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
/* dims of a channels-last tensor from the innermost on: channels, then space from the last dim on, then the batch */
static int last_dim(int ndim, int i) { return i == 0 ? 1 : i == ndim - 1 ? 0 : ndim - i; }

void tl_channels_last_strides(int ndim, const int64_t *shape, int64_t *strides) {
  int64_t step = 1;
  for (int i = 0; i < ndim; i++) {
    strides[last_dim(ndim, i)] = step;
    step = tl_wrap_mul(step, shape[last_dim(ndim, i)]);
  }
}

static bool in_last_order(const TlTensor *t) {
  int64_t expect = 1;
  for (int i = 0; i < t->ndim; i++) {
    int d = last_dim(t->ndim, i);
    if (t->shape[d] == 1) continue;
    if (t->strides[d] != expect) return false;
    expect = tl_wrap_mul(expect, t->shape[d]);
  }
  return true;
}
bool tl_is_channels_last(const TlTensor *t) { return (t->ndim == 4 || t->ndim == 5) && in_last_order(t); }

bool tl_suggests_last(int ndim, const int64_t *shape, const int64_t *strides) {
  int64_t least = 0, row[2][4];
  if (ndim == 3) {
    for (int i = 0; i < 4; i++) {
      row[0][i] = i == 2 ? 1 : shape[i - i / 3];
      row[1][i] = i == 2 ? tl_wrap_mul(shape[2], strides[2]) : strides[i - i / 3];
    }
    ndim = 4;
    shape = row[0];
    strides = row[1];
  }
  if ((ndim != 4 && ndim != 5) || strides[1] == 0) return false;
  for (int i = 0; i < ndim; i++) {
    int d = last_dim(ndim, i);
    if (shape[d] == 0 || strides[d] < least) return false;
    if (d == 0 && least == strides[1]) return false; /* one pixel in one channel, whose strides decide nothing */
    least = shape[d] > 1 ? tl_wrap_mul(strides[d], shape[d]) : strides[d];
  }
  return true;
}
bool tl_suggests_channels_last(const TlTensor *t) {
  return t->ndim > 3 && tl_suggests_last(t->ndim, t->shape, t->strides);
}

bool tl_is_dense(const TlTensor *t) {
  if (tl_is_contiguous(t) || tl_is_channels_last(t)) return true;
  int order[TL_MAX_DIMS], n = 0;
  int64_t expect = 1;
  for (int d = 0; d < t->ndim; d++) { /* dims of more than one element by stride */
    if (t->shape[d] < 2) continue;
    int j = n++;
    for (; j > 0 && t->strides[order[j - 1]] > t->strides[d]; j--) order[j] = order[j - 1];
    order[j] = d;
  }
  for (int i = 0; i < n; i++) {
    if (t->strides[order[i]] != expect) return false;
    expect = tl_wrap_mul(expect, t->shape[order[i]]);
  }
  return true;
}

TlTensor *tl_empty_format(tl_dtype dtype, int ndim, const int64_t *shape, bool channels_last) {
  int64_t strides[TL_MAX_DIMS];
  if (!channels_last) return tl_empty(dtype, ndim, shape);
  tl_channels_last_strides(ndim, shape, strides);
  return tl_empty_strided(dtype, ndim, shape, strides);
}

TlTensor *tl_in_format(TlTensor *t, tl_dtype dtype, bool channels_last) {
  if (!channels_last) return tl_contiguous_as(t, dtype);
  if (t->dtype == dtype && in_last_order(t)) return (TlTensor *)Py_NewRef((PyObject *)t);
  TlTensor *r = tl_empty_format(dtype, t->ndim, t->shape, true);
  if (r && tl_copy(r, t) < 0) Py_CLEAR(r);
  return r;
}

/* the order of dims is kept, gaps are not. Dims are sorted by stride, innermost first; a stride of 0 decides nothing.
 */
void tl_preserved_strides(const TlTensor *t, int64_t *strides) {
  int order[TL_MAX_DIMS], nd = t->ndim;
  int64_t expect = 1;
  if (tl_is_dense(t)) {
    memcpy(strides, t->strides, sizeof(int64_t) * nd);
    return;
  }
  for (int i = 0; i < nd; i++) order[i] = nd - 1 - i;
  for (int i = 1; i < nd; i++)
    for (int at = i, j = i - 1; j >= 0; j--) {
      int64_t a = t->strides[order[j]], b = t->strides[order[at]];
      if (a == 0 || b == 0 || (a == b && t->shape[order[j]] <= t->shape[order[at]])) continue;
      if (a < b) break;
      int x = order[j];
      order[j] = order[at];
      order[at] = x;
      at = j;
    }
  for (int i = 0; i < nd; i++) {
    strides[order[i]] = expect;
    expect = tl_wrap_mul(expect, t->shape[order[i]] > 1 ? t->shape[order[i]] : 1);
  }
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
  if (t) memset(t->storage->data, 0, t->storage->nbytes);
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

/* a tensor over t's storage; share_version is off for .data */
static TlTensor *alias_of(PyTypeObject *tp, TlTensor *t, int ndim, const int64_t *shape, const int64_t *strides,
                          int64_t offset, bool share_version) {
  int64_t n = count(ndim, shape);
  if (n < 0) return NULL;
  TlTensor *v = alloc_tensor_of(tp, ndim);
  if (!v) return NULL;
  v->storage = (TlStorage *)Py_NewRef((PyObject *)t->storage);
  v->numel = n;
  v->offset = n || (offset >= 0 && offset <= INT64_MAX / 32)
                ? offset
                : 0; /* without elements an offset can have wrapped around */
  v->dtype = t->dtype;
  v->device = t->device;
  memcpy(v->shape, shape, sizeof(int64_t) * (size_t)ndim);
  memcpy(v->strides, strides, sizeof(int64_t) * (size_t)ndim);
  v->flags =
    (uint16_t)((geometry_contiguous(ndim, shape, strides) ? TL_CONTIGUOUS : 0) | (t->flags & (TL_INFERENCE | TL_LAZY)) |
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
  if (t->base) v->flags |= t->flags & (TL_UNRECORDED | TL_ONE_OF_MANY | TL_OF_INFERENCE);
  if (!tl_below) {
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
  int64_t n = too_many(ndim) < 0 ? -1 : count(ndim, shape);
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
    memcpy(dims, shape, sizeof(int64_t) * (size_t)ndim);
    memcpy(dims + ndim, strides, sizeof(int64_t) * (size_t)ndim);
    if (t->shape != t->inline_dims) PyMem_Free(t->shape);
    t->shape = dims;
    t->strides = dims + ndim;
  } else {
    int64_t tmp[2 * TL_INLINE_DIMS];
    memcpy(tmp, shape, sizeof(int64_t) * (size_t)ndim);
    memcpy(tmp + TL_INLINE_DIMS, strides, sizeof(int64_t) * (size_t)ndim);
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
                        (geometry_contiguous(ndim, t->shape, t->strides) ? TL_CONTIGUOUS : 0) |
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

/* ---- lifetime ------------------------------------------------------------------------------------------------------
 */
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

extern PyGetSetDef tl_tensor_getset[];
extern PyMethodDef tl_tensor_methods[];
extern PyType_Slot tl_tensor_number_slots[];

static PyObject *memory_stats(PyObject *mod, PyObject *_) {
  (void)mod;
  (void)_;
  return Py_BuildValue("KK", (unsigned long long)bytes_live, (unsigned long long)bytes_peak);
}
static PyObject *fail_allocation(PyObject *mod, PyObject *n) {
  (void)mod;
  int64_t left = fail_in, next = PyLong_AsLongLong(n);
  if (next == -1 && PyErr_Occurred()) return NULL;
  fail_in = next;
  return PyLong_FromLongLong(left);
}
static PyMethodDef functions[] = {
  {"fail_allocation", fail_allocation, METH_O,
   "For tests: the n-th allocation from now fails (0: none); returns what was left of the last n."},
  {"storage_from_buffer", storage_from_buffer, METH_O, "Storage over an object's buffer, without a copy."},
  {"memory_stats", memory_stats, METH_NOARGS, "(bytes in live CPU storages, their peak)"},
  {0}};

int tl_tensor_init(PyObject *mod) {
  storage_type = (PyTypeObject *)PyType_FromSpec(&storage_spec);
  if (!storage_type || PyModule_AddObjectRef(mod, "StorageBase", (PyObject *)storage_type) < 0) return -1;
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
  if (PyModule_AddObjectRef(mod, "TensorBase", (PyObject *)tl_TensorBase) < 0) return -1;
  return PyModule_AddFunctions(mod, functions);
}
