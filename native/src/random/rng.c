/* rng.c: mt19937 and torch.Generator. The byte layout of the state is PyTorch's (5056 bytes). */
#include "random/rng.h"
#include <math.h>

#define DEFAULT_SEED UINT64_C(67280421310721)
#define STATE_BYTES 5056

static TlGenerator *default_generator;

static void mt_seed(TlGenerator *g, uint64_t seed) {
  g->seed = seed;
  g->state[0] = (uint32_t)seed;
  for (uint32_t i = 1; i < 624; i++) g->state[i] = 1812433253u * (g->state[i - 1] ^ (g->state[i - 1] >> 30)) + i;
  g->left = 1;
  g->seeded = 1;
  g->next = 0;
  g->has_normal = g->has_normal_f = 0;
  g->normal = 0;
  g->normal_f = 0;
}

static inline uint32_t twist(uint32_t u, uint32_t v) {
  return (((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1) ^ (v & 1 ? 0x9908b0dfu : 0);
}

void tl_mt_refill(TlGenerator *g) {
  uint32_t *s = g->state;
  for (int i = 0; i < 624 - 397; i++) s[i] = s[i + 397] ^ twist(s[i], s[i + 1]);
  for (int i = 624 - 397; i < 623; i++) s[i] = s[i - (624 - 397)] ^ twist(s[i], s[i + 1]);
  s[623] = s[396] ^ twist(s[623], s[0]);
  g->left = 624;
  g->next = 0;
}

double tl_normal_d(TlGenerator *g) {
  double u1, u2, r, theta;
  if (g->has_normal) {
    g->has_normal = 0;
    return g->normal;
  }
  u1 = tl_uniform_d(g);
  u2 = tl_uniform_d(g);
  r = sqrt(-2.0 * log1p(-u2));
  theta = 2.0 * 3.14159265358979323846 * u1;
  g->normal = r * sin(theta);
  g->has_normal = 1;
  return r * cos(theta);
}

/* ---- the Python object ------------------------------------------------------------------------------------------ */
static PyObject *gen_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  TlGenerator *g = (TlGenerator *)alloc(type, 0);
  (void)args;
  (void)kwargs;
  if (g) mt_seed(g, DEFAULT_SEED);
  return (PyObject *)g;
}

static void gen_dealloc(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(o);
  Py_DECREF((PyObject *)type);
}

static PyObject *gen_manual_seed(PyObject *self, PyObject *seed) {
  TlGenerator *g = (TlGenerator *)self;
  PyObject *v = PyLong_Check(seed) && !PyBool_Check(seed) ? Py_NewRef(seed) : NULL;
  unsigned long long s;
  if (!v) {
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(seed), "__name__");
    if (name) PyErr_Format(PyExc_RuntimeError, "manual_seed expected a long, but got %U", name);
    Py_XDECREF(name);
    return NULL;
  }
  s = PyLong_AsUnsignedLongLong(v);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    s = (unsigned long long)PyLong_AsLongLong(v);
    if (PyErr_Occurred()) {
      PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
      Py_DECREF(v);
      return NULL;
    }
  }
  Py_DECREF(v);
  mt_seed(g, s);
  return Py_NewRef(self);
}

static PyObject *gen_initial_seed(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(((TlGenerator *)self)->seed);
}

static void put64(char *p, uint64_t v) { memcpy(p, &v, 8); }
static uint64_t get64(const char *p) {
  uint64_t v;
  memcpy(&v, p, 8);
  return v;
}

static PyObject *gen_get_state(PyObject *self, PyObject *unused) {
  TlGenerator *g = (TlGenerator *)self;
  int64_t n = STATE_BYTES;
  TlTensor *t = tl_zeros(TL_U8, 1, &n);
  char *p;
  int32_t one = 1;
  (void)unused;
  if (!t) return NULL;
  p = tl_data(t);
  put64(p, g->seed);
  memcpy(p + 8, &g->left, 4);
  memcpy(p + 12, &g->seeded, 4);
  put64(p + 16, g->next);
  for (int i = 0; i < 624; i++) put64(p + 24 + 8 * i, g->state[i]);
  if (g->has_normal) {
    memcpy(p + 5024, &g->normal, 8);
    memcpy(p + 5040, &one, 4);
  }
  if (g->has_normal_f) {
    memcpy(p + 5048, &g->normal_f, 4);
    p[5052] = 1;
  }
  return (PyObject *)t;
}

static PyObject *gen_set_state(PyObject *self, PyObject *state) {
  TlGenerator *g = (TlGenerator *)self;
  TlTensor *t;
  const char *p;
  int32_t valid, left;
  if (!TL_CHECK(state)) {
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(state), "__name__");
    if (name) PyErr_Format(PyExc_TypeError, "expected a torch.ByteTensor, but got %U", name);
    Py_XDECREF(name);
    return NULL;
  }
  if (((TlTensor *)state)->dtype != TL_U8 || ((TlTensor *)state)->device != TL_CPU) {
    PyErr_SetString(PyExc_TypeError, "RNG state must be a torch.ByteTensor");
    return NULL;
  }
  t = tl_contiguous((TlTensor *)state);
  if (!t) return NULL;
  if (t->numel != STATE_BYTES) {
    PyErr_Format(PyExc_RuntimeError,
                 "Expected a CPUGeneratorImplState of size %d but found the input RNG state size to be %lld",
                 STATE_BYTES, (long long)t->numel);
    TL_DEC(t);
    return NULL;
  }
  p = tl_data(t);
  memcpy(&left, p + 8, 4);
  if (left < 1 || left > 624 || get64(p + 16) > 624) {
    PyErr_SetString(PyExc_RuntimeError, "Invalid mt19937 state");
    TL_DEC(t);
    return NULL;
  }
  g->seed = get64(p);
  g->left = left;
  memcpy(&g->seeded, p + 12, 4);
  g->next = (uint32_t)get64(p + 16);
  for (int i = 0; i < 624; i++) g->state[i] = (uint32_t)get64(p + 24 + 8 * i);
  memcpy(&valid, p + 5040, 4);
  g->has_normal = valid != 0;
  memcpy(&g->normal, p + 5024, 8);
  g->has_normal_f = p[5052] != 0;
  memcpy(&g->normal_f, p + 5048, 4);
  TL_DEC(t);
  return Py_NewRef(self);
}

static PyObject *gen_offset(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  PyErr_SetString(PyExc_RuntimeError, "CPU Generator does not use offset");
  return NULL;
}

static PyMethodDef gen_methods[] = {
  {"manual_seed", gen_manual_seed, METH_O,
   "manual_seed(seed) -> Generator\n\nSets the seed and returns the generator."},
  {"initial_seed", gen_initial_seed, METH_NOARGS,
   "initial_seed() -> int\n\nThe seed the generator was last seeded with."},
  {"get_state", gen_get_state, METH_NOARGS,
   "get_state() -> Tensor\n\nThe state as a uint8 tensor, in PyTorch's layout."},
  {"set_state", gen_set_state, METH_O, "set_state(new_state)\n\nRestores a state that get_state returned."},
  {"get_offset", gen_offset, METH_NOARGS, "CPU generators have no offset: raises RuntimeError."},
  {"set_offset", gen_offset, METH_O, "CPU generators have no offset: raises RuntimeError."},
  {NULL, NULL, 0, NULL}};

static PyType_Slot gen_slots[] = {{Py_tp_new, gen_new},
                                  {Py_tp_dealloc, gen_dealloc},
                                  {Py_tp_methods, gen_methods},
                                  {Py_tp_doc, "The mt19937 generator behind the random functions."},
                                  {0, NULL}};
static PyType_Spec gen_spec = {"torchlite._C.Generator", sizeof(TlGenerator), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, gen_slots};

PyTypeObject *tl_generator_type(void) {
  static PyTypeObject *type;
  if (!type) type = (PyTypeObject *)PyType_FromSpec(&gen_spec);
  return type;
}

int tl_set_default_generator(PyObject *o) {
  TlGenerator *old = default_generator;
  if (!PyObject_TypeCheck(o, tl_generator_type())) {
    PyErr_SetString(PyExc_TypeError, "expected a Generator");
    return -1;
  }
  default_generator = (TlGenerator *)Py_NewRef(o);
  Py_XDECREF((PyObject *)old);
  return 0;
}

TlGenerator *tl_generator(PyObject *o) {
  PyTypeObject *type = tl_generator_type();
  if (!type) return NULL;
  if (o != Py_None) {
    if (PyObject_TypeCheck(o, type)) return (TlGenerator *)o;
    PyErr_SetString(PyExc_TypeError, "argument 'generator' must be torch.Generator");
    return NULL;
  }
  if (!default_generator) default_generator = (TlGenerator *)gen_new(type, NULL, NULL);
  return default_generator;
}
