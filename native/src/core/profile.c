/* profile.c: the records of torch.profiler. While it is on (tl_profiling), the dispatcher writes begin and end of every
 * call of an op into an array, which becomes Python objects when the recording ends. Only the thread that started the
 * profiler is recorded: the array and the nesting belong to it. */
#include "core/core.h"
#include <time.h>

typedef struct {
  int64_t begin, end;     /* nanoseconds; end 0: not yet */
  int64_t parent, shapes; /* indices into records and shapes, or -1 */
  int64_t memory;         /* bytes in CPU storages: while the call runs those before it, then those it added */
  PyObject *name, *stack; /* an op's schema, or a text; the caller's stack, or NULL */
  int32_t kind, nshapes;  /* 0 an op, 1 an op in place, 2 and above: Python's own kinds */
} Record;

enum { WITH_SHAPES = 1, WITH_STACK = 2, MOST = 32 };

int tl_profiling;
static TL_THREAD bool mine;
static Record *records;
static int64_t nrecords, room, current, lost; /* lost: records that found no memory */
static int64_t session; /* part of a record's number, so that a number of an earlier recording ends nothing */
static int64_t *shapes;
static int64_t nshapes, shapes_room;
static int flags;
static PyObject *stack_of; /* called for each op when stacks are wanted */

#if defined(__wasm__)
/* musl's headers for 32 bits name another function for a time of 64 bits; Emscripten has this one, with this layout */
struct wasm_time {
  int64_t seconds;
  int32_t nanoseconds, unused;
};
extern int wasm_clock_gettime(int clock, struct wasm_time *t) __asm__("clock_gettime");
static int64_t now(void) {
  struct wasm_time t = {0, 0, 0};
  wasm_clock_gettime(1, &t);
  return t.seconds * 1000000000 + t.nanoseconds;
}
#else
static int64_t now(void) {
  struct timespec t = {0, 0};
#if defined(_WIN32)
  timespec_get(&t, TIME_UTC);
#else
  clock_gettime(CLOCK_MONOTONIC, &t);
#endif
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
#endif

/* ---- recording --------------------------------------------------------------------------------------------------- */
static bool grow(void **p, int64_t *have, int64_t want, size_t size) {
  if (want <= *have) return true;
  int64_t n = *have ? *have * 2 : 1024;
  while (n < want) n *= 2;
  void *q = (uint64_t)n * size <= (uint64_t)PTRDIFF_MAX ? PyMem_Realloc(*p, (size_t)n * size) : NULL;
  if (!q) return false;
  *p = q;
  *have = n;
  return true;
}

static bool put(int64_t v) {
  if (!grow((void **)&shapes, &shapes_room, nshapes + 1, sizeof *shapes)) return false;
  shapes[nshapes++] = v;
  return true;
}
static bool put_tensor(const TlTensor *t) {
  if (!put(t->ndim) || !put(t->dtype)) return false;
  for (int i = 0; i < t->ndim; i++)
    if (!put(t->shape[i])) return false;
  return true;
}

/* For each argument: dims, dtype and sizes of a tensor; -2, count and that of each for a list of tensors; else -1. */
static bool put_shapes(PyObject *const *a, int n) {
  for (int i = 0; i < n; i++) {
    PyObject *o = a[i];
    bool tuple = PyTuple_Check(o), list = PyList_Check(o);
    Py_ssize_t m = 0;
    if (tuple) m = PyTuple_Size(o);
    else if (list) m = PyList_Size(o);
    if (TL_CHECK(o)) {
      if (!put_tensor((TlTensor *)o)) return false;
      continue;
    }
    bool tensors = m > 0;
    for (Py_ssize_t j = 0; tensors && j < m; j++)
      tensors = TL_CHECK(tuple ? PyTuple_GetItem(o, j) : PyList_GetItem(o, j));
    if (!tensors) {
      if (!put(-1)) return false;
      continue;
    }
    if (!put(-2) || !put(m)) return false;
    for (Py_ssize_t j = 0; j < m; j++)
      if (!put_tensor((TlTensor *)(tuple ? PyTuple_GetItem(o, j) : PyList_GetItem(o, j)))) return false;
  }
  return true;
}

/* Returns the record's number for tl_profile_end; -1 if nothing is recorded, -2 with an exception if an interrupt
 * arrived while the stack was read. Other errors of that are dropped. A record that finds no memory is counted. */
int64_t tl_profile_begin(PyObject *name, int kind, PyObject *const *a, int n) {
  if (!mine) return -1;
  if (!grow((void **)&records, &room, nrecords + 1, sizeof *records)) {
    lost++;
    return -1;
  }
  Record r = {0, 0, current, -1, 0, NULL, NULL, kind, n};
  if (a && (flags & WITH_SHAPES)) {
    int64_t at = nshapes;
    if (put_shapes(a, n)) r.shapes = at;
    else {
      nshapes = at;
      lost++;
      return -1;
    }
  }
  if (flags & WITH_STACK) {
    mine = false; /* the profiler's own calls are not recorded */
    r.stack = PyObject_CallFunctionObjArgs(stack_of, NULL);
    mine = true;
    if (!r.stack) {
      if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        if (r.shapes >= 0) nshapes = r.shapes;
        return -2;
      }
      PyErr_Clear();
    }
  }
  r.name = Py_NewRef(name);
  r.memory = (int64_t)tl_bytes_live();
  r.begin = now();
  records[nrecords] = r;
  current = nrecords++;
  return session << 32 | current;
}

void tl_profile_end(int64_t number) {
  int64_t at = number & 0xffffffff;
  if (!mine || number >> 32 != session || at >= nrecords) return; /* recording ended in between */
  Record *r = &records[at];
  r->end = now();
  r->memory = (int64_t)tl_bytes_live() - r->memory;
  /* code that ran meanwhile may have left records open, or ended earlier ones: the current record is the innermost open
   * one */
  if (current == at)
    while (current >= 0 && records[current].end) current = records[current].parent;
}

/* ---- Python ------------------------------------------------------------------------------------------------------ */
static void forget(void) {
  for (int64_t i = 0; i < nrecords; i++) {
    Py_XDECREF(records[i].name);
    Py_XDECREF(records[i].stack);
  }
  PyMem_Free(records);
  PyMem_Free(shapes);
  records = NULL;
  shapes = NULL;
  nrecords = room = nshapes = shapes_room = 0;
}

static PyObject *start(PyObject *m, PyObject *args) {
  (void)m;
  int want;
  PyObject *stack = Py_None;
  if (!PyArg_ParseTuple(args, "i|O", &want, &stack)) return NULL;
  if (tl_profiling) {
    PyErr_SetString(PyExc_RuntimeError, "Profiler is already enabled on this thread");
    return NULL;
  }
  forget();
  flags = want & WITH_SHAPES;
  if (stack != Py_None) {
    flags |= WITH_STACK;
    Py_XSETREF_(stack_of, Py_NewRef(stack));
  }
  current = -1;
  lost = 0;
  session = (session + 1) & 0x7fffffff;
  tl_profiling = 1;
  mine = true;
  return PyLong_FromLongLong(now());
}

static PyObject *tensor_shape(const int64_t **p) {
  int n = (int)*(*p)++;
  int64_t dtype = *(*p)++;
  PyObject *dims = PyList_New(n);
  for (int i = 0; dims && i < n; i++) {
    PyObject *v = PyLong_FromLongLong(*(*p)++);
    if (!v) {
      Py_DECREF(dims);
      return NULL;
    }
    PyList_SetItem(dims, i, v);
  }
  return dims ? Py_BuildValue("(sN)", tl_dtype_name[dtype], dims) : NULL;
}

/* for each argument None, (dtype, sizes), or a list of such pairs */
static PyObject *shapes_of(const Record *r) {
  if (r->shapes < 0) Py_RETURN_NONE;
  const int64_t *p = shapes + r->shapes;
  PyObject *out = PyList_New(r->nshapes);
  for (int i = 0; out && i < r->nshapes; i++) {
    PyObject *v = NULL;
    if (*p == -1) {
      p++;
      v = Py_NewRef(Py_None);
    } else if (*p == -2) {
      Py_ssize_t m = (Py_ssize_t)p[1];
      p += 2;
      v = PyList_New(m);
      for (Py_ssize_t j = 0; v && j < m; j++) {
        PyObject *x = tensor_shape(&p);
        if (!x) Py_CLEAR(v);
        else PyList_SetItem(v, j, x);
      }
    } else v = tensor_shape(&p);
    if (!v) {
      Py_DECREF(out);
      return NULL;
    }
    PyList_SetItem(out, i, v);
  }
  return out;
}

static PyObject *stop(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  if (!tl_profiling) {
    PyErr_SetString(PyExc_RuntimeError, "Can't disable the profiler when it's not running");
    return NULL;
  }
  if (!mine) {
    PyErr_SetString(PyExc_RuntimeError, "the profiler was started by another thread");
    return NULL;
  }
  tl_profiling = 0;
  mine = false;
  int64_t end = now();
  PyObject *out = PyList_New((Py_ssize_t)nrecords);
  for (int64_t i = 0; out && i < nrecords; i++) {
    Record *r = &records[i];
    if (!r->end) {
      r->end = end;
      r->memory = (int64_t)tl_bytes_live() - r->memory;
    }
    PyObject *s = shapes_of(r), *row = NULL;
    if (s)
      row = Py_BuildValue("(OiLLLNLO)", r->name, (int)r->kind, (long long)r->begin, (long long)r->end,
                          (long long)r->parent, s, (long long)r->memory, r->stack ? r->stack : Py_None);
    if (!row) Py_CLEAR(out);
    else PyList_SetItem(out, (Py_ssize_t)i, row);
  }
  forget();
  return out ? Py_BuildValue("(NLL)", out, (long long)end, (long long)lost) : NULL;
}

static PyObject *enter(PyObject *m, PyObject *const *a, Py_ssize_t n) {
  (void)m;
  if (!tl_profiling) return PyLong_FromLong(-1);
  bool tensors = n == 3 && PyList_Check(a[2]) && PyObject_Size(a[2]) <= MOST;
  if ((n != 2 && n != 3) || !PyUnicode_Check(a[0])) {
    PyErr_SetString(PyExc_TypeError, "profile_enter(name, kind, tensors=None)");
    return NULL;
  }
  long kind = PyLong_AsLong(a[1]);
  if (kind == -1 && PyErr_Occurred()) return NULL;
  PyObject *of[MOST];
  int count = tensors ? (int)PyObject_Size(a[2]) : 0;
  for (int i = 0; i < count; i++) of[i] = PyList_GetItem(a[2], i);
  int64_t number = tl_profile_begin(a[0], (int)kind, tensors ? of : NULL, count);
  return number == -2 ? NULL : PyLong_FromLongLong(number);
}
static PyObject *leave(PyObject *m, PyObject *o) {
  (void)m;
  long long at = PyLong_AsLongLong(o);
  if (at == -1 && PyErr_Occurred()) return NULL;
  if (at >= 0 && tl_profiling) tl_profile_end(at);
  Py_RETURN_NONE;
}
static PyObject *profiling(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  return PyBool_FromLong(tl_profiling && mine);
}
static PyObject *clock_(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  return PyLong_FromLongLong(now());
}

static PyMethodDef functions[] = {
  {"profile_start", start, METH_VARARGS,
   "profile_start(with shapes, stack function or None): records the ops of this thread; the time, as profile_clock()."},
  {"profile_stop", stop, METH_NOARGS,
   "(records, time, records lost): (name, kind, begin, end, parent, shapes, bytes, stack) in the order of their "
   "begin."},
  {"profile_enter", (PyCFunction)(void *)enter, METH_FASTCALL,
   "profile_enter(name, kind, tensors=None): begins a record; its number, -1 where nothing is recorded."},
  {"profile_exit", leave, METH_O, "profile_exit(number): ends it."},
  {"profiling", profiling, METH_NOARGS, "Whether this thread's ops are recorded."},
  {"profile_clock", clock_, METH_NOARGS, "The clock of the records, nanoseconds."},
  {0}};
int tl_profile_init(PyObject *mod) { return PyModule_AddFunctions(mod, functions); }
