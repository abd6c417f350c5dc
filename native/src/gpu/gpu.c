/* gpu.c: the webgpu device's command stream, and the buffers it names.
 *
 * A buffer owns the GPU memory of a storage. The stream knows it by a handle. When its reference count drops to 0, a
 * FREE command is queued and the handle is used again. Commands are words of 32 bits; gpu_flush() sends them to the
 * bridge in batches. They take effect in order, so a handle can be reused at once. While a batch is sent, other Python
 * code may run; its commands go into a second array. */
#include "gpu/gpu.h"

enum {
#define COMMAND(number, name, words) name = number,
#include "gpu/commands.inc"
#undef COMMAND
};
/* a command's first word; `words` counts this one */
#define HEAD(command, words) ((uint32_t)(command) | (uint32_t)(words) << 8)
#define INDEX_BITS 20
#define INDEX_MASK ((1u << INDEX_BITS) - 1)
#define GENERATIONS ((1u << (32 - INDEX_BITS)) - 1)
#define FLUSH_WORDS 8192             /* about two hundred launches: the GPU works while Python goes on */
/* allocated immediately from this size on, so that out of memory is raised by the op that caused it */
#define LARGE (1 << 20)

GpuHooks gpu;
PyTypeObject *tl_Buffer;
static PyObject *module;          /* torchlite._C.webgpu() */
static int64_t epoch = -1;        /* number of the device that handles belong to; a reset starts a new one */
static TlBuffer *oldest, *newest; /* the pending list */
static int pinning;               /* number of pending expressions with `pins_much` */
static bool backlogged;           /* the GPU is so far behind that the next op should wait */
static int inside;                /* depth of gpu_ready(): while it is not 0, Python must not be suspended */

typedef struct {
  uint32_t *data;
  size_t n, room;
} Words;
static Words words, spare, freed; /* spare: the array for the next batch; freed: handles to use again */
static uint32_t next_index = 1;

/* ---- commands --------------------------------------------------------------------------------------------------- */
static uint32_t *grow(Words *w, size_t k) {
  if (w->n + k > w->room) {
    size_t room = (w->n + k) * 2 + 1024;
    uint32_t *data = PyMem_Realloc(w->data, room * sizeof(uint32_t));
    if (!data) return NULL;
    w->data = data;
    w->room = room;
  }
  return w->data + w->n;
}
/* Appends k words to the stream, for the caller to fill in; NULL with an exception. */
static uint32_t *command(size_t k) {
  uint32_t *p = grow(&words, k);
  if (!p) {
    PyErr_NoMemory();
    return NULL;
  }
  words.n += k;
  return p;
}

int gpu_flush(void) {
  if (!words.n) return 0;
  GPU_HOOK(gpu.send, -1);
  Words batch = words;
  words = spare;
  spare = (Words){NULL, 0, 0};
  PyObject *r = PyObject_CallFunction(gpu.send, "Kn", (unsigned long long)(uintptr_t)batch.data, (Py_ssize_t)batch.n);
  if (r) backlogged = backlogged || r == Py_True;
  else if (batch.data[0]) {
    /* The bridge sets the first word to 0 when it has taken a batch. It has not: an interrupt came first. Put the batch
     * back, before the commands that came meanwhile. */
    size_t later = words.n;
    uint32_t *p = grow(&words, batch.n);
    if (p) {
      memmove(words.data + batch.n, words.data, later * sizeof *p);
      memcpy(words.data, batch.data, batch.n * sizeof *p);
      words.n += batch.n;
    }
  }
  batch.n = 0;
  if (spare.data) PyMem_Free(batch.data);
  else spare = batch;
  Py_XDECREF(r);
  return r ? 0 : -1;
}

int gpu_launch(uint32_t plan, const uint32_t *handles, size_t n, const uint32_t *values, size_t m) {
  uint32_t *p = command(3 + n + m);
  if (!p) return -1;
  p[0] = HEAD(PLAN, 3 + n + m);
  p[1] = plan;
  p[2] = (uint32_t)n | (uint32_t)m << 8;
  if (n) memcpy(p + 3, handles, n * sizeof *p);
  if (m) memcpy(p + 3 + n, values, m * sizeof *p);
  return words.n > FLUSH_WORDS ? gpu_flush() : 0;
}

/* It refuses other kinds of numbers, since converting them would run Python code in the middle of a command. */
int gpu_to_words(PyObject *list, uint32_t *out, Py_ssize_t n) {
  bool tuple = PyTuple_Check(list);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *o = tuple ? PyTuple_GetItem(list, i) : PyList_GetItem(list, i);
    if (!PyLong_Check(o)) {
      PyErr_Format(PyExc_TypeError, "a command's words are integers, not %R", o);
      return -1;
    }
    out[i] = (uint32_t)PyLong_AsUnsignedLongLongMask(o);
  }
  return 0;
}
static Py_ssize_t length(PyObject *o) {
  if (PyTuple_Check(o) || PyList_Check(o)) return PyObject_Size(o);
  PyErr_Format(PyExc_TypeError, "expected a list or tuple, not %R", o);
  return -1;
}

static PyObject *words_extend(PyObject *self, PyObject *o) {
  (void)self;
  PyObject *list = PyTuple_Check(o) || PyList_Check(o) ? Py_NewRef(o) : PySequence_List(o);
  if (!list) return NULL;
  Py_ssize_t n = PyObject_Size(list);
  uint32_t *p = grow(&words, (size_t)n);
  if (!p) PyErr_NoMemory();
  int r = p ? gpu_to_words(list, p, n) : -1;
  if (r == 0) words.n += (size_t)n;
  Py_DECREF(list);
  if (r < 0) return NULL;
  Py_RETURN_NONE;
}
static PyObject *words_clear(PyObject *self, PyObject *_) {
  (void)self;
  (void)_;
  words.n = 0;
  Py_RETURN_NONE;
}
static Py_ssize_t words_len(PyObject *self) {
  (void)self;
  return (Py_ssize_t)words.n;
}
static PyObject *words_item(PyObject *self, Py_ssize_t i) {
  (void)self;
  if (i < 0 || (size_t)i >= words.n) {
    PyErr_SetString(PyExc_IndexError, "no such word");
    return NULL;
  }
  return PyLong_FromUnsignedLong(words.data[i]);
}
static void plain_dealloc(PyObject *o) {
  PyTypeObject *tp = Py_TYPE(o);
  PyObject_Free(o);
  Py_DECREF(tp);
}
static PyMethodDef words_methods[] = {
  {"extend", words_extend, METH_O, "Appends integers as words: the low 32 bits of each."},
  {"clear", words_clear, METH_NOARGS, "Drops the commands that were not sent yet."},
  {0}};
static PyType_Slot words_slots[] = {{Py_tp_methods, words_methods},
                                    {Py_sq_length, words_len},
                                    {Py_sq_item, words_item},
                                    {Py_tp_dealloc, plain_dealloc},
                                    {0, NULL}};
static PyType_Spec words_spec = {"torchlite._C.Words", sizeof(PyObject), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, words_slots};

/* ---- buffers ---------------------------------------------------------------------------------------------------- */
static int64_t last_check(void) { return gpu.last_check ? PyLong_AsLongLong(PyList_GetItem(gpu.last_check, 0)) : 0; }
static bool any_void(void) { return gpu.void_ranges && PyList_Size(gpu.void_ranges) > 0; }

TlBuffer *gpu_buffer(int64_t nbytes) {
  TlBuffer *b = (TlBuffer *)PyType_GenericAlloc(tl_Buffer, 0);
  if (b) {
    b->nbytes = nbytes;
    b->epoch = -1;
  }
  return b;
}

void gpu_set_pending(TlBuffer *b, TlNode *n) {
  b->pending = n;
  n->holder = b;
  pinning += n->pins_much;
  b->prev = newest;
  b->next = NULL;
  if (newest) newest->next = b;
  else oldest = b;
  newest = b;
}
TlNode *gpu_clear_pending(TlBuffer *b) {
  TlNode *n = b->pending;
  if (b->prev) b->prev->next = b->next;
  else oldest = b->next;
  if (b->next) b->next->prev = b->prev;
  else newest = b->prev;
  b->prev = b->next = NULL;
  b->pending = NULL;
  pinning -= n->pins_much;
  if (n->holder == b) n->holder = NULL;
  return n;
}

bool gpu_only_operand(const TlBuffer *b) { return Py_REFCNT((PyObject *)b) == 1 && b->readers == 1; }

static void buffer_dealloc(TlBuffer *b) {
  PyTypeObject *tp = Py_TYPE(b);
  if (b->weakrefs) PyObject_ClearWeakRefs((PyObject *)b);
  if (b->pending) Py_DECREF(gpu_clear_pending(b));
  if (b->handle && b->epoch == epoch) {
    uint32_t *p = grow(&freed, 1), *q = grow(&words, 2);
    if (p && q) { /* else there is no memory even for this, and the handle is never used again */
      p[0] = b->handle;
      freed.n++;
      q[0] = HEAD(FREE, 2);
      q[1] = b->handle;
      words.n += 2;
    }
  }
  Py_XDECREF(b->bounds);
  PyObject_Free(b);
  Py_DECREF(tp);
}

static uint32_t new_handle(void) {
  if (freed.n) {
    uint32_t old = freed.data[--freed.n], generation = (old >> INDEX_BITS) + 1;
    return (old & INDEX_MASK) | (generation <= GENERATIONS ? generation : 1) << INDEX_BITS;
  }
  if (next_index > INDEX_MASK) {
    PyErr_Format(PyExc_RuntimeError, "more than %d tensors on webgpu at a time", (int)INDEX_MASK);
    return 0;
  }
  return next_index++ | 1u << INDEX_BITS;
}

/* Allocates the buffer's memory. Large buffers are allocated now, small ones by a command. */
uint32_t gpu_allocate(TlBuffer *b) {
  if (epoch < 0) {
    GPU_HOOK(gpu.open, 0);
    PyObject *r = PyObject_CallFunctionObjArgs(gpu.open, NULL);
    if (!r) return 0;
    Py_DECREF(r);
  }
  int64_t size = b->nbytes > 0 ? (b->nbytes + 15) & ~(int64_t)15 : 16;
  uint32_t handle = 0;
  if (size >= LARGE) {
    if (gpu_flush() < 0) return 0;
    if (b->handle) return b->handle; /* Python code that ran meanwhile has allocated it */
    if (!(handle = new_handle())) return 0;
    GPU_HOOK(gpu.claim, 0);
    int64_t before = epoch;
    PyObject *r = PyObject_CallFunction(gpu.claim, "IL", (unsigned)handle, (long long)size);
    if (!r) {
      uint32_t *p = before == epoch ? grow(&freed, 1) : NULL;
      if (p) {
        *p = handle;
        freed.n++;
      }
      return 0;
    }
    Py_DECREF(r);
  } else {
    if (!(handle = new_handle())) return 0;
    uint32_t *p = command(3);
    if (!p) return 0;
    p[0] = HEAD(ALLOC, 3);
    p[1] = handle;
    p[2] = (uint32_t)size;
  }
  b->handle = handle;
  b->epoch = epoch;
  b->serial = last_check();
  return handle;
}

/* Runs a buffer's pending expression. If that fails, the expression stays pending. */
static int materialize(TlBuffer *b) {
  TlNode *n = gpu_clear_pending(b);
  GpuOut out = {n, b, NULL, 0};
  if ((n->product && !n->product->done ? gpu_launch_product(n, b) : gpu_run(n, &out, 1)) == 0) {
    Py_DECREF(n);
    return 0;
  }
  if (b->pending) Py_DECREF(n);
  else gpu_set_pending(b, n);
  return -1;
}

static uint32_t check_buffer(PyObject *hook, TlBuffer *b, uint32_t handle) {
  GPU_HOOK(hook, 0);
  PyObject *r = PyObject_CallFunctionObjArgs(hook, (PyObject *)b, NULL);
  Py_XDECREF(r);
  return r ? handle : 0;
}

uint32_t gpu_ready(TlBuffer *b) {
  uint32_t handle = 0;
  Py_INCREF(b);
  if (backlogged && !inside) { /* other Python code may run here, so drain before any state changes */
    backlogged = false;
    PyObject *r = gpu.drain ? PyObject_CallFunctionObjArgs(gpu.drain, NULL) : Py_NewRef(Py_None);
    if (!r) {
      Py_DECREF(b);
      return 0;
    }
    Py_DECREF(r);
  }
  inside++;
  bool failed = b->pending && materialize(b) < 0;
  inside--;
  if (failed) handle = 0;
  else if (!b->handle) handle = gpu_allocate(b);
  else if (b->epoch != epoch) handle = check_buffer(gpu.raise_lost, b, 0);
  else handle = any_void() ? check_buffer(gpu.raise_if_void, b, b->handle) : b->handle;
  Py_DECREF(b);
  return handle;
}

/* Runs every pending expression that reads this buffer, and its own, before it is written. */
int gpu_before_write(TlBuffer *b) {
  if ((b->pending || (b->handle && any_void())) && !gpu_ready(b)) return -1;
  b->serial = last_check();
  Py_CLEAR(b->bounds);
  for (TlBuffer *w = b->readers ? oldest : NULL; w;) {
    if (!gpu_node_reads(w->pending, b)) {
      w = w->next;
      continue;
    }
    if (!gpu_ready(w)) return -1;
    w = oldest; /* the list has changed */
  }
  return 0;
}

int gpu_copy_buffer(TlBuffer *to, TlBuffer *from, int64_t offset, int64_t nbytes) {
  uint32_t source = gpu_ready(from), target, *p;
  to->serial = 0; /* it is overwritten whole, so earlier bad indices no longer matter */
  if (!source || gpu_before_write(to) < 0 || !(target = gpu_ready(to)) || !(p = command(6))) return -1;
  const uint32_t values[] = {HEAD(COPY, 6), source, (uint32_t)offset, target, 0, (uint32_t)((nbytes + 3) / 4 * 4)};
  memcpy(p, values, sizeof values);
  return 0;
}

/* Runs the oldest pending expressions that pin much, until MAX_PINNING are left. */
int gpu_limit_pinned(void) {
  for (TlBuffer *b = oldest; b && pinning > MAX_PINNING;) {
    if (!b->pending->pins_much || gpu_only_operand(b)) {
      b = b->next;
      continue;
    }
    Py_INCREF(b);
    const bool ready = gpu_ready(b) != 0, failed = !ready && PyErr_ExceptionMatches(PyExc_Exception);
    if (failed && b->pending && b->pending->pins_much) { /* it stays pending, and would keep the others from running */
      b->pending->pins_much = false;
      pinning--;
    }
    Py_DECREF(b);
    if (!ready && !failed) return -1; /* an interrupt */
    if (failed) PyErr_Clear();        /* a read raises the error again */
    b = oldest;
  }
  return 0;
}

/* ---- Python's view ---------------------------------------------------------------------------------------------- */
static PyObject *buffer_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)tp;
  (void)kw;
  long long n;
  return PyArg_ParseTuple(args, "L", &n) ? (PyObject *)gpu_buffer(n) : NULL;
}
static PyObject *buffer_nbytes(TlBuffer *b, void *_) {
  (void)_;
  return PyLong_FromLongLong(b->nbytes);
}
static PyObject *buffer_handle(TlBuffer *b, void *_) {
  (void)_;
  return PyLong_FromUnsignedLong(b->handle);
}
static PyObject *buffer_epoch(TlBuffer *b, void *_) {
  (void)_;
  if (b->epoch < 0) Py_RETURN_NONE;
  return PyLong_FromLongLong(b->epoch);
}
static PyObject *buffer_serial(TlBuffer *b, void *_) {
  (void)_;
  return PyLong_FromLongLong(b->serial);
}
static PyObject *buffer_bounds(TlBuffer *b, void *_) {
  (void)_;
  return Py_NewRef(b->bounds ? b->bounds : Py_None);
}
static PyObject *buffer_pending(TlBuffer *b, void *_) {
  (void)_;
  return Py_NewRef(b->pending ? (PyObject *)b->pending : Py_None);
}
static PyObject *buffer_address(TlBuffer *b, void *_) {
  (void)_;
  uint32_t handle = gpu_ready(b);
  return handle ? PyLong_FromUnsignedLongLong((unsigned long long)(handle & INDEX_MASK) << 34) : NULL;
}
static PyObject *buffer_readers(TlBuffer *b, void *_) {
  (void)_;
  return PyLong_FromUnsignedLong(b->readers);
}
static int set_serial(TlBuffer *b, PyObject *v, void *_) {
  (void)_;
  long long n = v ? PyLong_AsLongLong(v) : 0;
  if (n == -1 && PyErr_Occurred()) return -1;
  b->serial = n;
  return 0;
}
static int set_bounds(TlBuffer *b, PyObject *v, void *_) {
  (void)_;
  Py_XSETREF_(b->bounds, v && v != Py_None ? Py_NewRef(v) : NULL);
  return 0;
}
static int set_pending(TlBuffer *b, PyObject *v, void *_) {
  (void)_;
  if (v && v != Py_None && Py_TYPE(v) != tl_Node) {
    PyErr_SetString(PyExc_TypeError, "pending: expected a Node or None");
    return -1;
  }
  TlNode *old = b->pending ? gpu_clear_pending(b) : NULL;
  if (v && v != Py_None) gpu_set_pending(b, (TlNode *)Py_NewRef(v));
  Py_XDECREF(old);
  return 0;
}
/* readers: number of leaves over it. address: differs between buffers, with room for offsets (t.data_ptr()). serial:
 * number of the last launch that checks indices before this buffer was written. bounds: smallest and largest of its
 * integers, or None if not known. */
static PyGetSetDef buffer_fields[] = {{"nbytes", (getter)buffer_nbytes, NULL, NULL, NULL},
                                      {"readers", (getter)buffer_readers, NULL, NULL, NULL},
                                      {"handle", (getter)buffer_handle, NULL, NULL, NULL},
                                      {"epoch", (getter)buffer_epoch, NULL, NULL, NULL},
                                      {"serial", (getter)buffer_serial, (setter)set_serial, NULL, NULL},
                                      {"bounds", (getter)buffer_bounds, (setter)set_bounds, NULL, NULL},
                                      {"pending", (getter)buffer_pending, (setter)set_pending, NULL, NULL},
                                      {"address", (getter)buffer_address, NULL, NULL, NULL},
                                      {0}};
static PyMemberDef buffer_members[] = {
  {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(TlBuffer, weakrefs), Py_READONLY, NULL}, {0}};
static PyType_Slot buffer_slots[] = {{Py_tp_new, buffer_new},
                                     {Py_tp_dealloc, buffer_dealloc},
                                     {Py_tp_getset, buffer_fields},
                                     {Py_tp_members, buffer_members},
                                     {Py_tp_doc, "Buffer(nbytes): GPU memory of a storage."},
                                     {0, NULL}};
static PyType_Spec buffer_spec = {"torchlite._C.Buffer", sizeof(TlBuffer), 0, Py_TPFLAGS_DEFAULT, buffer_slots};

static TlBuffer *as_buffer(PyObject *o) {
  if (Py_TYPE(o) == tl_Buffer) return (TlBuffer *)o;
  PyErr_Format(PyExc_TypeError, "expected a webgpu buffer, not %R", o);
  return NULL;
}
static PyObject *handle_object(uint32_t handle) { return handle ? PyLong_FromUnsignedLong(handle) : NULL; }
static PyObject *f_ready(PyObject *m, PyObject *o) {
  (void)m;
  TlBuffer *b = as_buffer(o);
  return b ? handle_object(gpu_ready(b)) : NULL;
}
static PyObject *f_allocate(PyObject *m, PyObject *o) {
  (void)m;
  TlBuffer *b = as_buffer(o);
  return b ? handle_object(gpu_allocate(b)) : NULL;
}
static PyObject *f_before_write(PyObject *m, PyObject *o) {
  (void)m;
  TlBuffer *b = as_buffer(o);
  if (!b || gpu_before_write(b) < 0) return NULL;
  Py_RETURN_NONE;
}
static PyObject *f_flush(PyObject *m, PyObject *_) {
  (void)m;
  (void)_;
  if (gpu_flush() < 0) return NULL;
  Py_RETURN_NONE;
}
static PyObject *f_launch(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  if (nargs != 3 || !PyLong_Check(a[0])) {
    PyErr_SetString(PyExc_TypeError, "launch(plan, handles, words)");
    return NULL;
  }
  Py_ssize_t n = length(a[1]), k = length(a[2]);
  if (n < 0 || k < 0) return NULL;
  uint32_t *p = grow(&words, (size_t)(3 + n + k));
  if (!p) return PyErr_NoMemory();
  if (gpu_to_words(a[1], p + 3, n) < 0 || gpu_to_words(a[2], p + 3 + n, k) < 0) return NULL;
  p[0] = HEAD(PLAN, 3 + n + k);
  p[1] = (uint32_t)PyLong_AsUnsignedLongLongMask(a[0]);
  p[2] = (uint32_t)n | (uint32_t)k << 8;
  words.n += (size_t)(3 + n + k);
  if (words.n > FLUSH_WORDS && gpu_flush() < 0) return NULL;
  Py_RETURN_NONE;
}
/* pending buffers, oldest first, without operands of a pending product */
static PyObject *f_pending_buffers(PyObject *m, PyObject *_) {
  (void)m;
  (void)_;
  PyObject *list = PyList_New(0);
  for (TlBuffer *b = oldest; b && list; b = b->next)
    if (!gpu_only_operand(b) && PyList_Append(list, (PyObject *)b) < 0) Py_CLEAR(list);
  return list;
}
/* set_epoch(number of the device): True if that is a new device; the stream and the handles start anew then */
static PyObject *f_set_epoch(PyObject *m, PyObject *o) {
  (void)m;
  long long n = PyLong_AsLongLong(o);
  if (n == -1 && PyErr_Occurred()) return NULL;
  if (n == epoch) Py_RETURN_FALSE;
  words.n = freed.n = 0;
  next_index = 1;
  epoch = n;
  Py_RETURN_TRUE;
}
static PyObject *f_epoch(PyObject *m, PyObject *_) {
  (void)m;
  (void)_;
  if (epoch < 0) Py_RETURN_NONE;
  return PyLong_FromLongLong(epoch);
}
static PyObject *f_hook(PyObject *m, PyObject *args) {
  (void)m;
  const char *name;
  PyObject *o;
  if (!PyArg_ParseTuple(args, "sO", &name, &o)) return NULL;
  struct {
    const char *name;
    PyObject **slot;
  } table[] = {
#define H(n) {#n, &gpu.n}
    H(send),     H(claim),       H(open),  H(raise_lost), H(raise_if_void),
    H(describe), H(cpu_operand), H(drain), H(last_check), H(void_ranges),
#undef H
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!strcmp(table[i].name, name)) {
      Py_XSETREF_(*table[i].slot, Py_NewRef(o));
      Py_RETURN_NONE;
    }
  return PyErr_Format(PyExc_KeyError, "%s", name);
}
PyObject *gpu_fresh(int ndim, const int64_t *shape, tl_dtype d, uint32_t *handle) {
  return gpu_fresh_laid(ndim, shape, NULL, d, handle);
}
PyObject *gpu_fresh_laid(int ndim, const int64_t *shape, const int64_t *laid, tl_dtype d, uint32_t *handle) {
  int64_t strides[TL_MAX_DIMS], nbytes, numel = tl_dense_strides(ndim, shape, strides);
  if (numel < 0) return NULL;
  if (__builtin_mul_overflow(numel, (int64_t)tl_itemsize[d], &nbytes)) nbytes = INT64_MAX / 2;
  TlBuffer *b = gpu_buffer(nbytes);
  if (!b) return NULL;
  *handle = gpu_allocate(b);
  TlStorage *s = *handle ? tl_storage_of(TL_WEBGPU, Py_NewRef(b), nbytes) : NULL;
  Py_DECREF(b);
  if (!laid) laid = strides;
  return s ? (PyObject *)tl_over(s, d, ndim, shape, laid, 0) : NULL;
}
static PyObject *f_on_device(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  bool all = true;
  for (Py_ssize_t i = 0; i < n && all; i++) {
    PyObject *owner = TL_CHECK(a[i]) ? ((TlTensor *)a[i])->storage->owner : NULL;
    all = owner && Py_TYPE(owner) == tl_Buffer;
  }
  return PyBool_FromLong(all);
}
/* fresh(shape, dtype): (tensor, handle) of a new contiguous tensor, not initialised */
static PyObject *f_fresh(PyObject *m, PyObject *const *a, Py_ssize_t nargs) {
  (void)m;
  tl_dtype d;
  int64_t shape[TL_MAX_DIMS];
  int n = -1;
  if (nargs == 2 && (tl_ints(a[0], shape, &n) < 0 || tl_dtype_arg(a[1], TL_F32, &d) < 0)) return NULL;
  if (n < 0) return PyErr_Format(PyExc_TypeError, "fresh(shape, dtype)");
  uint32_t handle;
  PyObject *t = gpu_fresh(n, shape, d, &handle);
  return t ? Py_BuildValue("(NI)", t, (unsigned)handle) : NULL;
}
static PyMethodDef functions[] = {
  {"ready", f_ready, METH_O, "Queues the commands that compute a buffer's contents; returns its handle."},
  {"allocate", f_allocate, METH_O, "Allocates a buffer's memory; returns its handle."},
  {"before_write", f_before_write, METH_O,
   "Runs every pending expression that reads this buffer, and its own, before it is written."},
  {"flush", f_flush, METH_NOARGS, "Sends the queued commands to the bridge."},
  {"launch", (PyCFunction)(void *)f_launch, METH_FASTCALL, "launch(plan, handles, words): runs a plan on buffers."},
  {"on_device", (PyCFunction)(void *)f_on_device, METH_FASTCALL, "on_device(*tensors): whether all are on webgpu."},
  {"fresh", (PyCFunction)(void *)f_fresh, METH_FASTCALL,
   "fresh(shape, dtype): an uninitialised contiguous tensor and its handle"},
  {"pending_buffers", f_pending_buffers, METH_NOARGS,
   "Pending buffers, oldest first, without operands of a pending product."},
  {"set_epoch", f_set_epoch, METH_O,
   "Sets the device's number. True if it is a new device; buffers of the old one are lost."},
  {"epoch", f_epoch, METH_NOARGS, "The device's number, or None."},
  {"hook", f_hook, METH_VARARGS, "hook(name, object): sets a field of GpuHooks (gpu.h)."},
  {0}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT,
                                 "torchlite._C.webgpu",
                                 "Native half of the webgpu device.",
                                 -1,
                                 functions,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL};

/* webgpu(): the module torchlite._C.webgpu, created at the first call */
PyObject *tl_gpu_module(PyObject *m, PyObject *_) {
  (void)m;
  (void)_;
  if (module) return Py_NewRef(module);
  PyObject *mod = PyModule_Create(&def), *stream = NULL;
  PyTypeObject *words_type = (PyTypeObject *)PyType_FromSpec(&words_spec);
  tl_Buffer = (PyTypeObject *)PyType_FromSpec(&buffer_spec);
  if (mod && words_type && tl_Buffer) stream = PyType_GenericAlloc(words_type, 0);
  if (!stream || PyModule_AddObjectRef(mod, "Buffer", (PyObject *)tl_Buffer) < 0 ||
      PyModule_AddObjectRef(mod, "words", stream) < 0 || gpu_expr_init(mod) < 0 || gpu_op_init(mod) < 0 ||
      gpu_resolve_init(mod) < 0 || gpu_product_init(mod) < 0 || gpu_graph_init(mod) < 0 || gpu_family_init(mod) < 0 ||
      gpu_reduce_init(mod) < 0 || gpu_index_init(mod) < 0 || gpu_matmul_init(mod) < 0 || gpu_softmax_init(mod) < 0 ||
      gpu_norm_init(mod) < 0 || gpu_attention_init(mod) < 0)
    Py_CLEAR(mod);
  Py_XDECREF(stream);
  Py_XDECREF(words_type);
  return Py_XNewRef(module = mod);
}

/* For device.c: the owner of a new storage; NULL if Python has to open the device first. */
PyObject *tl_gpu_owner(int64_t nbytes) { return epoch >= 0 ? (PyObject *)gpu_buffer(nbytes) : NULL; }
