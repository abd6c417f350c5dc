/* op.h: declarations shared by the dispatcher's files. op_bind.c binds arguments, op.c dispatches, op_inplace.c runs in
 * place, op_types.c has the Python types. */
#ifndef TL_OP_H
#define TL_OP_H
#include "core/core.h"

enum {
  K_TENSOR,
  K_TENSORS,
  K_SCALAR,
  K_INT,
  K_INTS,
  K_FLOAT,
  K_BOOL,
  K_STR,
  K_DTYPE,
  K_DEVICE,
  K_GENERATOR,
  K_LAYOUT,
  K_MEMFMT,
  K_FLOATS,
  K_SCALARS,
  K_OPT_TENSORS,
  K_ANY,
  K_BOOLS
};
#define MAX_PARAMS 32

typedef struct {
  PyObject *name, *alias, *dflt; /* alias: second keyword ("input" for self, "axis" for dim) or NULL */
  uint8_t kind, optional, kwonly, size;
} Param;

/* flags of an overload, by which torchlite/ops/_declare.py names them (_C.F_GRAD) */
#define OVERLOAD_FLAGS(X) \
  X(F_GRAD, 1) \
  X(F_NODIFF, 2) \
  X(F_INPLACE, 4) \
  X(F_FACTORY, 8) \
  X(F_VIEW, 16) \
  X(F_ARITHMETIC, 32) \
  X(F_NO_OUT, 64) \
  X(F_OWN, 128) \
  X(F_ORDERED, 256) \
  X(F_EXPANDED, 512) \
  X(F_EXPANDED_WARNS, 1024) \
  X(F_EXPANDED_ROWS, 2048) \
  X(F_EXACT, 4096) \
  X(F_PLAIN_OUT, 8192)
enum {
#define X(name, bit) name = bit,
  OVERLOAD_FLAGS(X)
#undef X
};

typedef struct {
  PyObject_HEAD PyObject *schema, *body, *spec, *params_object;
  PyObject *recording; /* record.c's plan, or NULL */
  PyObject *named;     /* class of a result with field names, or NULL */
  uint8_t autocast;    /* whether autocast looks at its calls: 0 not known yet, 1 no, 2 yes */
  const TlKernel *kernel;
  Param *params;
  int nparams, npos, flags, ready, vararg_method, vararg_function, requires_grad_at, device_at;
  uint32_t tensors, places; /* bit i: parameter i takes tensors, a device or a layout */
  int64_t calls;
  void *entries; /* the webgpu device's entries for its calls (gpu_op.c) */
} Overload;

typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *name, *overloads, *doc, *owner;
  int method;
  bool allow_out, in_python;
} Op;

extern PyTypeObject *tl_overload_type;

/* op_bind.c */
int tl_op_compile(Overload *ov); /* parses the schema, once, before the first call */
int tl_op_bind(Overload *ov, bool method, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **bound,
               PyObject **made, int *nmade);
int tl_op_fit(Overload *ov, PyObject *const *from, Py_ssize_t n, PyObject **a, PyObject **made);
/* op.c */
extern bool tl_default_off_cpu; /* torch.set_default_device or `with torch.device(...)` names another device */
PyObject *tl_op_call(Op *op, PyObject *const *args, size_t nargsf, PyObject *kwnames);
PyObject *tl_op_dispatch(Overload *ov, PyObject *const *a);
PyObject *tl_op_run(Overload *ov, PyObject *const *a, bool other);
PyObject *tl_op_compute(Overload *ov, PyObject *const *a, bool other); /* without asking a TorchDispatchMode */
bool tl_op_dispatched(const Overload *ov, PyObject *const *a);
PyObject *tl_op_ask_mode(Overload *ov, PyObject *const *a, bool below);
/* The result of a call that has a limited dtype among its arguments, by _core/limited.py. NULL without an error: there
 * is none, or the kernel itself copes with it. Asked only where tl_any_indirect. */
PyObject *tl_op_limited(Overload *ov, PyObject *const *a);
int tl_op_direct_args(Overload *ov, PyObject *const *a, PyObject **b, PyObject **own);
/* Whether a call that is not the CPU's is the meta device's, by its device argument, else by its tensors; what its
 * kernel says of the result there, NotImplemented for one that needs the numbers. */
bool tl_op_on_meta(const Overload *ov, PyObject *const *a);
PyObject *tl_op_run_meta(Overload *ov, PyObject *const *a, TlTensor *out);
/* op_inplace.c */
PyObject *tl_op_run_inplace(Overload *ov, PyObject *const *a, bool other);
/* op_types.c */
extern PyObject *tl_s_out; /* the interned string "out" */

/* Takes the lowest parameter out of a set like those of an overload. */
static inline int next_param(uint32_t *set) {
  const int i = __builtin_ctz(*set);
  *set &= *set - 1;
  return i;
}
static inline PyObject *seq_item(PyObject *o, Py_ssize_t i) {
  return PyTuple_Check(o) ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i);
}
static inline Py_ssize_t seq_size(PyObject *o) { return PyTuple_Check(o) ? PyTuple_Size(o) : PyList_Size(o); }
static inline int same_name(PyObject *a, PyObject *b) { return a == b || PyUnicode_Compare(a, b) == 0; }
#endif
