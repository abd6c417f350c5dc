/* storage.c: the allocator, and storages: the bytes behind tensors and who owns them. */
#include "core/core.h"
#include "core/parallel.h"
#include <stdlib.h>
#if !defined(__wasm__)
#include <sys/mman.h>
#endif

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

void *tl_out_of_memory(uint64_t nbytes) {
  PyErr_Format(
    tl_OutOfMemoryError ? tl_OutOfMemoryError : PyExc_MemoryError,
    "DefaultCPUAllocator: can't allocate memory: you tried to allocate %llu bytes. Error code 12 (Cannot allocate "
    "memory). Free tensors that are no longer needed, or use smaller batches or a smaller dtype.",
    (unsigned long long)nbytes);
  return NULL;
}

/* for tests: the allocation that is to fail, counted from now; 0 for none */
static int64_t fail_in;
static inline bool fails_now(void) { return fail_in > 0 && --fail_in == 0; }

/* The last large blocks that were freed wait for a request of their size: training loops make the same sizes again, and
 * a C library may hand such memory back to the system, which then has to clear it anew. */
#define LARGE_BYTES (256 * 1024)
#define LARGE_KEEP 128
#define LARGE_KEEP_BYTES ((size_t)256 << 20)
#define LARGE_SPARE ((size_t)16 << 20)
static void *large_list[LARGE_KEEP]; /* the oldest first */
static int large_count;
static size_t large_bytes;
static size_t large_used, large_most; /* bytes of large blocks in use, and their peak */

static size_t class_bytes(const void *p) { return ((const Header *)p)[-1].cls * TL_ALIGN; }
static void *pick_large(int i) {
  void *p = large_list[i];
  large_bytes -= class_bytes(p);
  memmove(large_list + i, large_list + i + 1, (size_t)(--large_count - i) * sizeof(void *));
  return p;
}
static void *take_large(size_t bytes) {
  for (int i = large_count; i-- > 0;) /* the newest may be in a cache still */
    if (class_bytes(large_list[i]) == bytes) return pick_large(i);
  return NULL;
}
/* Large blocks come from the system itself where it gives pages: a heap of the C library does not shrink in the middle.
 */
#if defined(__wasm__) || defined(_WIN32)
static void *get_block(size_t bytes) { return malloc(bytes); }
static void put_block(void *raw, size_t bytes) { free(raw); }
#else
enum { PAGES_BYTES = 1 << 20, HUGE_BYTES = 4 << 20 };
static void *get_block(size_t bytes) {
  if (bytes < PAGES_BYTES) return malloc(bytes);
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
  if (bytes >= HUGE_BYTES) madvise(p, bytes, MADV_HUGEPAGE); /* one page fault clears more */
#endif
  return p;
}
static void put_block(void *raw, size_t bytes) {
  if (bytes < PAGES_BYTES) free(raw);
  else munmap(raw, bytes);
}
#endif
static size_t block_bytes(size_t cls) { return cls * TL_ALIGN + TL_ALIGN + sizeof(Header); }

static void drop_oldest(void) {
  Header *h = (Header *)pick_large(0) - 1;
  put_block(h->raw, block_bytes(h->cls));
}
/* Frees blocks that wait, so that with a new one the process has at most LARGE_SPARE more than was ever in use. */
static void drop_spare(void) {
  const size_t most = (large_used > large_most ? large_used : large_most) + LARGE_SPARE;
  while (large_count && large_used + large_bytes > most) drop_oldest();
}
static bool keep_large(void *p) {
  const size_t bytes = class_bytes(p);
  if (bytes < LARGE_BYTES) return false;
  large_used -= bytes;
  if (bytes > LARGE_KEEP_BYTES / 2) return false;
  while (large_count == LARGE_KEEP || large_bytes + bytes > LARGE_KEEP_BYTES) drop_oldest();
  large_list[large_count++] = p;
  large_bytes += bytes;
  return true;
}

void *tl_array(int64_t n, int64_t size) {
  int64_t nbytes;
  if (n < 0 || __builtin_mul_overflow(n, size, &nbytes)) return tl_out_of_memory(INT64_MAX);
  return tl_malloc((uint64_t)nbytes);
}

/* the address sanitizer needs blocks of their exact size that are never reused */
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
    return tl_out_of_memory(nbytes);
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
  if (fails_now() || nbytes > SIZE_MAX / 2) return tl_out_of_memory(nbytes);
  size_t cls = ((size_t)nbytes + TL_ALIGN - 1) / TL_ALIGN;
  if (cls == 0) cls = 1;
  if (cls <= SMALL_CLASSES && small_list[cls]) {
    void *p = small_list[cls];
    small_list[cls] = *(void **)p;
    small_count[cls]--;
    return p;
  }
  const size_t large = cls * TL_ALIGN >= LARGE_BYTES ? cls * TL_ALIGN : 0;
  if (large) {
    void *p = take_large(large);
    large_used += large;
    if (p) {
      if (large_used > large_most) large_most = large_used;
      return p;
    }
    drop_spare();
  }
  char *raw = get_block(block_bytes(cls));
  if (!raw && large_count) {
    while (large_count) drop_oldest();
    raw = get_block(block_bytes(cls));
  }
  if (!raw) {
    large_used -= large;
    return tl_out_of_memory(nbytes);
  }
  if (large_used > large_most) large_most = large_used;
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
    put_block(h->raw, block_bytes(h->cls));
  }
}
#endif

uint64_t tl_storage_room(const TlStorage *s) {
  return s->device || s->borrowed || !s->data ? s->nbytes : capacity_of(s->data);
}

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
  s->level = tl_func_level;
  bytes_live += s->nbytes;
  if (bytes_live > bytes_peak) bytes_peak = bytes_live;
  return s;
}

TlStorage *tl_storage_of(int device, PyObject *owner, int64_t nbytes) {
  TlStorage *s = (TlStorage *)PyType_GenericAlloc(storage_type, 0);
  if (!s) {
    Py_XDECREF(owner);
    return NULL;
  }
  s->device = (uint8_t)device;
  s->level = tl_func_level;
  s->nbytes = (uint64_t)nbytes;
  s->owner = owner;
  tl_any_device = true;
  return s;
}

TlStorage *tl_storage_over(char *data, uint64_t nbytes, PyObject *owner) {
  TlStorage *s = (TlStorage *)PyType_GenericAlloc(storage_type, 0);
  if (!s) {
    Py_DECREF(owner);
    return NULL;
  }
  s->data = data;
  s->nbytes = nbytes;
  s->borrowed = 1;
  s->level = tl_func_level;
  s->owner = owner;
  return s;
}
static void release_buffer(PyObject *owner) {
  Py_buffer *view = PyCapsule_GetPointer(owner, "tl.buffer");
  PyBuffer_Release(view);
  PyMem_Free(view);
}
/* storage over an object with the buffer interface; keeps its memory where it is */
static PyObject *storage_from_buffer(PyObject *mod, PyObject *arg) {
  (void)mod;
  Py_buffer *view = PyMem_Calloc(1, sizeof(Py_buffer));
  if (!view) return PyErr_NoMemory();
  if (PyObject_GetBuffer(arg, view, PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(arg, view, PyBUF_SIMPLE) < 0) {
      PyMem_Free(view);
      return NULL;
    }
  }
  PyObject *owner = PyCapsule_New(view, "tl.buffer", release_buffer);
  if (!owner) {
    PyBuffer_Release(view);
    PyMem_Free(view);
    return NULL;
  }
  return (PyObject *)tl_storage_over(view->buf, (uint64_t)view->len, owner);
}

static void storage_dealloc(TlStorage *s) {
  PyTypeObject *tp = Py_TYPE(s);
  if (s->weakrefs) PyObject_ClearWeakRefs((PyObject *)s);
  if (s->kept) tl_page_forget(s);
  if (s->data && !s->borrowed) {
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
  s->writes++; /* the owner of the buffer may have written */
}
bool tl_is_storage(PyObject *o) { return PyObject_TypeCheck(o, storage_type); }
static PyObject *storage_nbytes(TlStorage *s, PyObject *_) {
  (void)_;
  return PyLong_FromUnsignedLongLong(s->nbytes);
}
static PyObject *storage_ptr(TlStorage *s, PyObject *_) {
  (void)_;
  if (tl_check_memory(s->device) < 0) return NULL;
  s->addressed = 1;
  return s->device && s->owner ? PyObject_GetAttrString(s->owner, "address") : PyLong_FromSize_t((size_t)s->data);
}
static Py_ssize_t storage_len(TlStorage *s) { return (Py_ssize_t)s->nbytes; }
/* Shrinking keeps the block: tensors over the storage may still read all of it. */
int tl_storage_resize(TlStorage *s, int64_t nbytes) {
  if (s->borrowed || s->exports || s->fixed) {
    PyErr_SetString(PyExc_RuntimeError, "Trying to resize storage that is not resizable");
    return -1;
  }
  if (nbytes < 0) {
    PyErr_Format(PyExc_RuntimeError, "resize_: the new size must not be negative, got %lld", (long long)nbytes);
    return -1;
  }
  if (s->device == TL_META) {
    s->nbytes = (uint64_t)nbytes;
    return 0;
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
    if (s->data) memcpy(data, s->data, (size_t)s->nbytes);
    tl_free(s->data);
    s->data = data;
  }
  bytes_live += (uint64_t)nbytes - s->nbytes;
  s->nbytes = (size_t)nbytes;
  s->writes++;
  return 0;
}
static PyObject *storage_resize_(TlStorage *s, PyObject *arg) {
  int64_t n;
  if (tl_int(arg, &n) < 0 || tl_storage_resize(s, n) < 0) return NULL;
  return Py_NewRef((PyObject *)s);
}
/* RuntimeError with the names of the types of both. */
static void *no_storage_of(const char *format, PyObject *numbers, PyObject *item) {
  PyObject *whole = PyType_GetName(Py_TYPE(numbers)), *name = PyType_GetName(Py_TYPE(item));
  if (whole && name) PyErr_Format(PyExc_RuntimeError, format, whole, name);
  Py_XDECREF(whole);
  Py_XDECREF(name);
  return NULL;
}

/* The bytes of a storage from a sequence of integers, each modulo 256. */
static PyObject *storage_of(PyObject *numbers) {
  if (TL_CHECK(numbers) || !PySequence_Check(numbers))
    return no_storage_of("torch.UntypedStorage(): Expected a sequence type, but got %U", numbers, numbers);
  const Py_ssize_t n = PySequence_Size(numbers);
  TlStorage *s = n < 0 ? NULL : tl_storage_new(n);
  for (Py_ssize_t i = 0; s && i < n; i++) {
    PyObject *item = PySequence_GetItem(numbers, i);
    if (item && PyLong_Check(item)) s->data[i] = (char)PyLong_AsUnsignedLongLongMask(item);
    else if (item)
      no_storage_of("torch.UntypedStorage(): tried to construct a storage from a sequence (%U), but one of the items "
                    "was of type %U instead of int",
                    numbers, item);
    Py_XDECREF(item);
    if (PyErr_Occurred()) Py_CLEAR(s);
  }
  return (PyObject *)s;
}

static PyObject *storage_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)tp;
  static char *names[] = {"size", "device", NULL};
  PyObject *device = Py_None, *size = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "|O$O", names, &size, &device)) return NULL;
  if (size && (TL_CHECK(size) || !PyIndex_Check(size))) return storage_of(size);
  const long long n = size ? PyLong_AsLongLong(size) : 0;
  if (n == -1 && PyErr_Occurred()) return NULL;
  PyObject *d = device == Py_None ? NULL : PyObject_CallFunctionObjArgs(tl_reg.device, device, NULL);
  PyObject *type = d ? PyObject_GetAttrString(d, "type") : NULL;
  const bool meta = type && !PyUnicode_CompareWithASCIIString(type, "meta");
  const bool cpu = device == Py_None || (type && !PyUnicode_CompareWithASCIIString(type, "cpu"));
  if (type && !meta && !cpu)
    PyErr_Format(PyExc_NotImplementedError,
                 "UntypedStorage(device='%U'): use torch.empty(n, dtype=torch.uint8, "
                 "device='%U').untyped_storage()",
                 type, type);
  Py_XDECREF(type);
  Py_XDECREF(d);
  if (PyErr_Occurred()) return NULL;
  return (PyObject *)(meta ? tl_device_storage(TL_META, n) : tl_storage_new(n));
}
static PyObject *storage_fix(TlStorage *s, PyObject *_) {
  (void)_;
  s->fixed = 1;
  return Py_NewRef((PyObject *)s);
}
static PyObject *storage_resizable(TlStorage *s, PyObject *_) {
  (void)_;
  return PyBool_FromLong(!(s->borrowed || s->exports || s->fixed));
}
#if !defined(__wasm__) /* a page has no other process */
typedef struct {
  void *at;
  size_t nbytes;
  char *before; /* what an array of numpy may still read */
  PyObject *owner;
} Shared;
static void release_shared(PyObject *capsule) {
  Shared *m = PyCapsule_GetPointer(capsule, "tl.shared");
  munmap(m->at, m->nbytes);
  tl_free(m->before);
  Py_XDECREF(m->owner);
  PyMem_Free(m);
}
static PyObject *storage_is_shared(TlStorage *s, PyObject *_) {
  (void)_;
  return PyBool_FromLong(s->owner && PyCapsule_IsValid(s->owner, "tl.shared"));
}
static PyObject *storage_share(TlStorage *s, PyObject *_) {
  (void)_;
  const bool shared = s->owner && PyCapsule_IsValid(s->owner, "tl.shared");
  if (s->device || shared) return Py_NewRef((PyObject *)s);
  const size_t n = s->nbytes ? (size_t)s->nbytes : 1; /* no bytes are shared as well */
  void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return tl_out_of_memory(n);
  Shared *m = PyMem_Calloc(1, sizeof *m);
  PyObject *capsule = m ? PyCapsule_New(m, "tl.shared", release_shared) : PyErr_NoMemory();
  if (!capsule) {
    munmap(at, n);
    PyMem_Free(m);
    return NULL;
  }
  *m = (Shared){at, n, s->borrowed ? NULL : s->data, s->owner};
  if (s->nbytes) memcpy(at, s->data, s->nbytes);
  if (!s->borrowed) bytes_live -= s->nbytes;
  if (m->before && !s->exports && !s->fixed) {
    tl_free(m->before);
    m->before = NULL;
  }
  s->data = at;
  s->borrowed = 1;
  s->owner = capsule;
  return Py_NewRef((PyObject *)s);
}
#endif
static PyMethodDef storage_methods[] = {
#if !defined(__wasm__)
  {"_is_shared", (PyCFunction)storage_is_shared, METH_NOARGS, "Whether processes forked from here share its memory."},
  {"_share", (PyCFunction)storage_share, METH_NOARGS, "Moves the bytes into memory that forked processes share."},
#endif
  {"nbytes", (PyCFunction)storage_nbytes, METH_NOARGS, "Size in bytes."},
  {"size", (PyCFunction)storage_nbytes, METH_NOARGS, "Size in bytes."},
  {"data_ptr", (PyCFunction)storage_ptr, METH_NOARGS, "Address of the first byte."},
  {"resize_", (PyCFunction)storage_resize_, METH_O, "Changes the size in bytes, keeping the contents."},
  {"resizable", (PyCFunction)storage_resizable, METH_NOARGS, "Whether its size can change."},
  {"_fixed", (PyCFunction)storage_fix, METH_NOARGS, "The storage, whose memory stays where it is from now on."},
  {0}};
static PyObject *storage_device(TlStorage *s, void *unused) {
  (void)unused;
  PyObject *d = s->device < 8 ? tl_reg.devices[s->device] : NULL;
  return Py_NewRef(d ? d : Py_None);
}
static PyGetSetDef storage_fields[] = {{"device", (getter)storage_device, NULL, "Where the bytes are.", NULL}, {0}};
static PyMemberDef storage_members[] = {
  {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(TlStorage, weakrefs), Py_READONLY, NULL}, {0}};
static PyType_Slot storage_slots[] = {{Py_tp_getset, storage_fields},
                                      {Py_tp_members, storage_members},
                                      {Py_tp_dealloc, storage_dealloc},
                                      {Py_bf_getbuffer, storage_getbuffer},
                                      {Py_bf_releasebuffer, storage_releasebuffer},
                                      {Py_tp_methods, storage_methods},
                                      {Py_sq_length, storage_len},
                                      {Py_tp_new, storage_new},
                                      {Py_tp_doc, "Untyped bytes behind tensors; supports the buffer protocol."},
                                      {0, NULL}};
static PyType_Spec storage_spec = {"torchlite._C.StorageBase", sizeof(TlStorage), 0, Py_TPFLAGS_DEFAULT, storage_slots};

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

int tl_storage_init(PyObject *mod) {
  storage_type = (PyTypeObject *)PyType_FromSpec(&storage_spec);
  if (!storage_type || PyModule_AddObjectRef(mod, "StorageBase", (PyObject *)storage_type) < 0) return -1;
  return PyModule_AddFunctions(mod, functions);
}
