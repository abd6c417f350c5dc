/* op_types.c: the Python types Overload, Op and OpMethod, and the kernels as Python callables. */
#include "core/op.h"
#include "gpu/gpu_api.h"

PyTypeObject *tl_overload_type;
PyObject *tl_s_out;
static PyTypeObject *op_type, *op_method_type, *kernel_type;

static const TlKernel *find_kernel(const char *name, PyObject *overload);

/* Overload(schema, kernel name or None, body or None, spec, flags) */
static PyObject *overload_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)kw;
  PyObject *schema, *kernel, *body, *spec;
  int flags;
  if (!PyArg_ParseTuple(args, "UOOOi", &schema, &kernel, &body, &spec, &flags)) return NULL;
  Overload *ov = (Overload *)PyType_GenericAlloc(tp, 0);
  if (!ov) return NULL;
  ov->schema = Py_NewRef(schema);
  ov->body = Py_NewRef(body);
  ov->spec = Py_NewRef(spec);
  ov->flags = flags;
  if (kernel != Py_None) {
    PyObject *b = PyUnicode_AsUTF8String(kernel);
    if (b) ov->kernel = find_kernel(PyBytes_AsString(b), (PyObject *)ov);
    Py_XDECREF(b);
    if (!ov->kernel) {
      if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "the core has no kernel '%U', which the declaration of %U names", kernel,
                     schema);
      Py_DECREF(ov);
      return NULL;
    }
  }
  return (PyObject *)ov;
}
static int overload_traverse(Overload *ov, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(ov));
  Py_VISIT(ov->body);
  Py_VISIT(ov->spec);
  Py_VISIT(ov->recording);
  return 0;
}
static int overload_clear(Overload *ov) {
  Py_CLEAR(ov->body);
  Py_CLEAR(ov->spec);
  Py_CLEAR(ov->recording);
  return 0;
}
static void overload_dealloc(Overload *ov) {
  PyTypeObject *tp = Py_TYPE(ov);
  PyObject_GC_UnTrack(ov);
  overload_clear(ov);
  Py_XDECREF(ov->schema);
  Py_XDECREF(ov->params_object);
  Py_XDECREF(ov->named);
  PyMem_Free(ov->params);
  tl_gpu_forget(ov->entries);
  PyObject_GC_Del(ov);
  Py_DECREF(tp);
}
static PyObject *ov_params(Overload *ov, void *_) {
  (void)_;
  if (!ov->ready && tl_op_compile(ov) < 0) return NULL;
  return Py_NewRef(ov->params_object);
}
static PyObject *ov_kernel(Overload *ov, void *_) {
  (void)_;
  return ov->kernel ? PyUnicode_FromString(ov->kernel->name) : Py_NewRef(Py_None);
}
static PyObject *ov_schema(Overload *ov, void *_) {
  (void)_;
  return Py_NewRef(ov->schema);
}
static PyObject *ov_spec(Overload *ov, void *_) {
  (void)_;
  return Py_NewRef(ov->spec);
}
static PyObject *ov_body(Overload *ov, void *_) {
  (void)_;
  return Py_NewRef(ov->body);
}
static int ov_set_body(Overload *ov, PyObject *v, void *_) {
  (void)_;
  Py_XSETREF_(ov->body, Py_NewRef(v));
  return 0;
}
static PyObject *ov_recording(Overload *ov, void *_) {
  (void)_;
  return Py_NewRef(ov->recording ? ov->recording : Py_None);
}
static int ov_set_recording(Overload *ov, PyObject *v, void *_) {
  (void)_;
  Py_XSETREF_(ov->recording, v && PyTuple_Check(v) ? Py_NewRef(v) : NULL);
  return 0;
}
static PyObject *ov_inplace(Overload *o, void *c) {
  (void)c;
  return PyBool_FromLong(o->flags & F_INPLACE);
}
static PyObject *ov_calls(Overload *ov, void *_) {
  (void)_;
  return PyLong_FromLongLong(ov->calls);
}
static PyGetSetDef overload_getset[] = {
  {"params", (getter)ov_params, NULL,
   "(name, alias, default, kind, optional, keyword-only, list size) for each parameter", NULL},
  {"kernel", (getter)ov_kernel, NULL, "Name of the CPU kernel, or None.", NULL},
  {"schema", (getter)ov_schema, NULL, "PyTorch's schema.", NULL},
  {"spec", (getter)ov_spec, NULL, "The declaration.", NULL},
  {"body", (getter)ov_body, (setter)ov_set_body, "The Python body.", NULL},
  {"recording", (getter)ov_recording, (setter)ov_set_recording, "The plan by which record.c records it, or None.",
   NULL},
  {"inplace", (getter)ov_inplace, NULL, "Whether it writes its first argument.", NULL},
  {"calls", (getter)ov_calls, NULL, "How often it ran.", NULL},
  {0}};
static PyType_Slot overload_slots[] = {{Py_tp_new, overload_new},           {Py_tp_dealloc, overload_dealloc},
                                       {Py_tp_traverse, overload_traverse}, {Py_tp_clear, overload_clear},
                                       {Py_tp_getset, overload_getset},     {0, NULL}};
static PyType_Spec overload_spec = {"torchlite._C.Overload", sizeof(Overload), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, overload_slots};

/* Op(name, overloads list, allow_out), OpMethod(...) */
static PyObject *op_new(PyTypeObject *tp, PyObject *args, PyObject *kw) {
  (void)kw;
  PyObject *name, *overloads;
  int allow_out;
  if (!PyArg_ParseTuple(args, "UOi", &name, &overloads, &allow_out)) return NULL;
  Op *op = (Op *)PyType_GenericAlloc(tp, 0);
  if (!op) return NULL;
  op->vectorcall = (vectorcallfunc)tl_op_call;
  op->name = Py_NewRef(name);
  op->overloads = Py_NewRef(overloads);
  op->method = tp == op_method_type;
  op->allow_out = allow_out;
  return (PyObject *)op;
}
static int op_traverse(Op *op, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(op->overloads);
  return 0;
}
static int op_clear(Op *op) {
  Py_CLEAR(op->overloads);
  return 0;
}
static void op_dealloc(Op *op) {
  PyTypeObject *tp = Py_TYPE(op);
  PyObject_GC_UnTrack(op);
  op_clear(op);
  Py_XDECREF(op->name);
  Py_XDECREF(op->doc);
  Py_XDECREF(op->owner);
  PyObject_GC_Del(op);
  Py_DECREF(tp);
}
static PyObject *op_repr(Op *op) {
  if (op->method) return PyUnicode_FromFormat("<method '%U' of 'torch._C.TensorBase' objects>", op->name);
  if (op->owner) return PyUnicode_FromFormat("<built-in function %U>", op->name);
  return PyUnicode_FromFormat("<built-in method %U of type object at %p>", op->name, (void *)op);
}
static PyObject *op_get(PyObject *self, PyObject *obj, PyObject *type) {
  (void)type;
  if (!obj || obj == Py_None) return Py_NewRef(self);
  static PyObject *method_type;
  if (!method_type) {
    PyObject *types = PyImport_ImportModule("types");
    method_type = types ? PyObject_GetAttrString(types, "MethodType") : NULL;
    Py_XDECREF(types);
    if (!method_type) return NULL;
  }
  return PyObject_CallFunctionObjArgs(method_type, self, obj, NULL);
}
static PyObject *op_name(Op *op, void *_) {
  (void)_;
  return Py_NewRef(op->name);
}
static PyObject *op_qualname(Op *op, void *_) {
  (void)_;
  return op->method ? PyUnicode_FromFormat("Tensor.%U", op->name) : Py_NewRef(op->name);
}
static PyObject *op_module(Op *op, void *_) {
  (void)_;
  return op->owner ? Py_NewRef(op->owner) : PyUnicode_FromString("torch");
}
static int op_set_module(Op *op, PyObject *v, void *_) {
  (void)_;
  Py_XSETREF_(op->owner, Py_XNewRef(v));
  return 0;
}
static PyObject *op_overloads(Op *op, void *_) {
  (void)_;
  return Py_NewRef(op->overloads);
}
static PyObject *op_method(Op *op, void *_) {
  (void)_;
  return PyBool_FromLong(op->method);
}
static PyObject *op_takes_out(Op *op, void *_) {
  (void)_;
  return PyBool_FromLong(op->allow_out);
}
static PyObject *op_doc(Op *op, void *_) {
  (void)_;
  return Py_NewRef(op->doc ? op->doc : Py_None);
}
static int op_set_doc(Op *op, PyObject *v, void *_) {
  (void)_;
  Py_XSETREF_(op->doc, Py_NewRef(v));
  return 0;
}
static int op_set_out(Op *op, PyObject *v, void *_) {
  (void)_;
  return tl_truth(v ? v : Py_False, &op->allow_out);
}
/* isinstance() takes functions of torch for builtin ones, as in PyTorch, but for those that it has in Python */
static PyObject *op_class(Op *op, void *_) {
  (void)_;
  return Py_NewRef(op->method || op->in_python ? (PyObject *)Py_TYPE(op) : (PyObject *)&PyCFunction_Type);
}
static PyObject *op_in_python(Op *op, void *_) {
  (void)_;
  return PyBool_FromLong(op->in_python);
}
static int op_set_in_python(Op *op, PyObject *v, void *_) {
  (void)_;
  return tl_truth(v ? v : Py_False, &op->in_python);
}
/* for inspect.signature: functions that PyTorch has in Python have one */
static PyObject *op_signature(Op *op, void *_) {
  (void)_;
  PyObject *module = NULL, *r = NULL;
  if (!op->in_python) PyErr_SetString(PyExc_AttributeError, "__signature__");
  else if ((module = PyImport_ImportModule("torchlite._core.override")))
    r = PyObject_CallMethod(module, "signature_of", "O", op);
  Py_XDECREF(module);
  return r;
}
static PyGetSetDef op_getset[] = {
  {"__class__", (getter)op_class, NULL, NULL, NULL},
  {"__name__", (getter)op_name, NULL, NULL, NULL},
  {"__qualname__", (getter)op_qualname, NULL, NULL, NULL},
  {"__module__", (getter)op_module, (setter)op_set_module, NULL, NULL},
  {"overloads", (getter)op_overloads, NULL, NULL, NULL},
  {"is_method", (getter)op_method, NULL, NULL, NULL},
  {"takes_out", (getter)op_takes_out, (setter)op_set_out, "Whether it has the argument `out`.", NULL},
  {"in_python", (getter)op_in_python, (setter)op_set_in_python, "Whether PyTorch has it in Python.", NULL},
  {"__doc__", (getter)op_doc, (setter)op_set_doc, NULL, NULL},
  {"__signature__", (getter)op_signature, NULL, NULL, NULL},
  {0}};
static PyMemberDef op_members[] = {{"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(Op, vectorcall), Py_READONLY, NULL},
                                   {0}};
/* two types: a method binds to its tensor, a function kept as a class attribute does not (as builtins) */
#define OP_SLOTS                                                                                                       \
  {Py_tp_new, op_new}, {Py_tp_dealloc, op_dealloc}, {Py_tp_traverse, op_traverse}, {Py_tp_clear, op_clear},            \
      {Py_tp_call, PyVectorcall_Call}, {Py_tp_repr, op_repr}, {Py_tp_getset, op_getset}, {Py_tp_members, op_members}
#define OP_FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL)
#define TPFLAGS_METHOD_DESCRIPTOR (1UL << 17)      /* part of the stable ABI, missing from the limited headers */
static PyType_Slot op_slots[] = {OP_SLOTS, {0, NULL}};
static PyType_Slot op_method_slots[] = {OP_SLOTS, {Py_tp_descr_get, op_get}, {0, NULL}};
static PyType_Spec op_spec = {"torchlite._C.Op", sizeof(Op), 0, OP_FLAGS, op_slots};
static PyType_Spec op_method_spec = {"torchlite._C.OpMethod", sizeof(Op), 0, OP_FLAGS | TPFLAGS_METHOD_DESCRIPTOR,
                                     op_method_slots};

/* ---- kernels as Python callables */
/* overloads: those that name the kernel; a call by name checks its arguments against them */
typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
  const TlKernel *k;
  PyObject *overloads;
} KernelObject;
static PyObject *kernel_call(KernelObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  Py_ssize_t n = PyVectorcall_NARGS(nargsf), nk = kwnames ? PyTuple_Size(kwnames) : 0;
  const TlKernel *k = self->k;
  PyObject *a[MAX_PARAMS], *b[MAX_PARAMS], *made[MAX_PARAMS], *own[MAX_PARAMS], *r = NULL;
  Overload *ov = NULL;
  TlTensor *out = nk && args[n] != Py_None ? (TlTensor *)args[n] : NULL;
  int nmade = -1;
  if (nk > 1 || (nk && !same_name(PyTuple_GetItem(kwnames, 0), tl_s_out)) ||
      (out && !(k->flags & TL_K_OUT && n && args[0] == (PyObject *)out && TL_CHECK(out))))
    return PyErr_Format(PyExc_TypeError, "%s: out is the only keyword, and is the first argument or None", k->name);
  if (k->flags & TL_K_CHECKS) return tl_run(k, args, n, out);
  for (Py_ssize_t i = 0; nmade < 0 && i < PyList_Size(self->overloads); i++) {
    ov = (Overload *)PyList_GetItem(self->overloads, i);
    PyErr_Clear();
    if (!ov->ready && tl_op_compile(ov) < 0) return NULL;
    nmade = tl_op_fit(ov, args, n, a, made);
  }
  if (nmade < 0)
    return PyErr_Occurred() ? NULL
                            : PyErr_Format(PyExc_TypeError, "%s: no op that has this kernel is declared yet", k->name);
  if (out && a[0] != (PyObject *)out)
    PyErr_Format(PyExc_TypeError, "%s: out is where the schema has a number", k->name);
  else if (tl_any_device && !(k->flags & TL_K_GEOMETRY) && tl_args_off_cpu(a, (int)n))
    PyErr_Format(PyExc_RuntimeError, "%s: a tensor is not on the CPU", k->name);
  else if (!tl_any_indirect || k->flags & TL_K_GEOMETRY) r = tl_run(k, a, n, out);
  else if (!(r = tl_op_limited(ov, a)) && !PyErr_Occurred()) {
    int copies = tl_op_direct_args(ov, a, b, own);
    if (copies >= 0 && out && b[0] != a[0]) PyErr_Format(PyExc_RuntimeError, "%s: out is not plain memory", k->name);
    else if (copies >= 0) r = tl_run(k, b, n, out);
    while (copies > 0) Py_DECREF(own[--copies]);
  } else if (r && out && r != (PyObject *)out) {
    if (tl_copy(out, (TlTensor *)r) < 0) Py_CLEAR(r);
    else Py_XSETREF_(r, Py_NewRef(out));
  }
  while (nmade) Py_DECREF(made[--nmade]);
  return r;
}
static PyObject *kernel_geometry(KernelObject *self, void *_) {
  (void)_;
  return PyBool_FromLong(self->k->flags & TL_K_GEOMETRY);
}
static PyObject *kernel_in_place(KernelObject *self, void *_) {
  (void)_;
  return PyBool_FromLong(self->k->flags & TL_K_OUT);
}
static PyGetSetDef kernel_getset[] = {
  {"geometry", (getter)kernel_geometry, NULL, "Whether it looks at no element.", NULL},
  {"in_place", (getter)kernel_in_place, NULL, "Whether it can write into its first argument.", NULL},
  {0}};
static PyMemberDef kernel_members[] = {
  {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(KernelObject, vectorcall), Py_READONLY, NULL}, {0}};
static void kernel_dealloc(KernelObject *o) {
  PyTypeObject *tp = Py_TYPE(o);
  Py_XDECREF(o->overloads);
  PyObject_Free(o);
  Py_DECREF(tp);
}
static PyType_Slot kernel_slots[] = {{Py_tp_call, PyVectorcall_Call},
                                     {Py_tp_members, kernel_members},
                                     {Py_tp_getset, kernel_getset},
                                     {Py_tp_dealloc, kernel_dealloc},
                                     {0, NULL}};
static PyType_Spec kernel_spec = {"torchlite._C.Kernel", sizeof(KernelObject), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, kernel_slots};
static PyObject *kernels; /* name -> Kernel */

static const TlKernel *find_kernel(const char *name, PyObject *overload) {
  KernelObject *o = (KernelObject *)PyDict_GetItemString(kernels, name);
  if (!o || !Py_IS_TYPE(o, kernel_type)) return NULL;
  return PyList_Append(o->overloads, overload) < 0 ? NULL : o->k;
}
int tl_add_kernels(const TlKernel *table) {
  for (const TlKernel *k = table; k->name; k++) {
    KernelObject *o = (KernelObject *)PyType_GenericAlloc(kernel_type, 0);
    if (!o) return -1;
    o->vectorcall = (vectorcallfunc)kernel_call;
    o->k = k;
    if (!(o->overloads = PyList_New(0))) {
      Py_DECREF(o);
      return -1;
    }
    int r = PyDict_SetItemString(kernels, k->name, (PyObject *)o);
    Py_DECREF(o);
    if (r < 0) return -1;
  }
  return 0;
}

void **tl_overload_entries(PyObject *o) { return Py_IS_TYPE(o, tl_overload_type) ? &((Overload *)o)->entries : NULL; }
const TlKernel *tl_overload_kernel(PyObject *o, bool *inplace) {
  *inplace = ((Overload *)o)->flags & F_INPLACE;
  return ((Overload *)o)->kernel;
}

/* ---- functions */ /* (overload, tuple of its arguments in the order of the schema); from: the tuple's items, *count
                        of them */
static Overload *entrance(const char *name, PyObject *const *args, Py_ssize_t n, PyObject **from, Py_ssize_t *count) {
  if (n != 2 || !Py_IS_TYPE(args[0], tl_overload_type) || !PyTuple_Check(args[1]) ||
      (*count = PyTuple_Size(args[1])) > MAX_PARAMS) {
    PyErr_Format(PyExc_TypeError, "%s(overload, tuple of its arguments)", name);
    return NULL;
  }
  Overload *ov = (Overload *)args[0];
  if (!ov->ready && tl_op_compile(ov) < 0) return NULL;
  for (Py_ssize_t i = 0; i < *count; i++) from[i] = PyTuple_GetItem(args[1], i);
  return ov;
}

static PyObject *run_below_autograd(Overload *ov, PyObject *const *a, bool inplace) {
  bool old = tl_grad_mode, was_below_autograd = tl_below_autograd,
       other = tl_any_device && tl_args_off_cpu(a, ov->nparams);
  tl_grad_mode = false;
  tl_below_autograd = true;
  PyObject *r = inplace ? tl_op_run_inplace(ov, a, other) : tl_op_run(ov, a, other);
  tl_grad_mode = old;
  tl_below_autograd = was_below_autograd;
  return r;
}
PyObject *tl_run_below_autograd(PyObject *ov, PyObject *const *a) {
  return run_below_autograd((Overload *)ov, a, false);
}

enum { CALL_OVERLOAD, CALL_BELOW_AUTOGRAD, CALL_INPLACE_BELOW_AUTOGRAD };
static PyObject *enter(PyObject *const *args, Py_ssize_t n, int how, const char *name) {
  PyObject *from[MAX_PARAMS], *a[MAX_PARAMS], *made[MAX_PARAMS], *r;
  Py_ssize_t count;
  Overload *ov = entrance(name, args, n, from, &count);
  if (!ov) return NULL;
  if (how == CALL_INPLACE_BELOW_AUTOGRAD && !(ov->flags & F_INPLACE))
    return PyErr_Format(PyExc_TypeError, "%s: %U does not write in place", name, ov->schema);
  int nmade = tl_op_fit(ov, from, count, a, made);
  if (nmade < 0) return NULL;
  r = how == CALL_OVERLOAD ? tl_op_dispatch(ov, a) : run_below_autograd(ov, a, how == CALL_INPLACE_BELOW_AUTOGRAD);
  while (nmade) Py_DECREF(made[--nmade]);
  return r;
}
/* call_below_autograd(overload, args): kernel or body without recording; call_inplace_below_autograd: the same for
 * in-place */
static PyObject *call_below_autograd(PyObject *m, PyObject *const *args, Py_ssize_t n) {
  (void)m;
  return enter(args, n, CALL_BELOW_AUTOGRAD, "call_below_autograd");
}
static PyObject *call_inplace_below_autograd(PyObject *m, PyObject *const *args, Py_ssize_t n) {
  (void)m;
  return enter(args, n, CALL_INPLACE_BELOW_AUTOGRAD, "call_inplace_below_autograd");
}
static PyObject *call_overload(PyObject *m, PyObject *const *args, Py_ssize_t n) {
  (void)m;
  return enter(args, n, CALL_OVERLOAD, "call_overload");
}
static PyObject *set_default_off_cpu(PyObject *m, PyObject *o) {
  (void)m;
  if (tl_truth(o, &tl_default_off_cpu) < 0) return NULL;
  Py_RETURN_NONE;
}
static PyObject *requires_grad(PyObject *m, PyObject *o) {
  (void)m;
  return PyBool_FromLong(TL_CHECK(o) && tl_requires_grad((TlTensor *)o));
}
static PyObject *dispatch_modes(PyObject *m, PyObject *o) {
  (void)m;
  if (tl_c_int(o, &tl_dispatch_modes) < 0) return NULL;
  tl_dispatch_used = true;
  Py_RETURN_NONE;
}
static PyObject *autocast(PyObject *m, PyObject *o) {
  (void)m;
  const int on = PyObject_IsTrue(o);
  if (on < 0) return NULL;
  PyObject *before = PyBool_FromLong(tl_autocast);
  tl_autocast = on;
  return before;
}
static PyObject *dispatch_off(PyObject *m, PyObject *o) {
  (void)m;
  int more;
  if (tl_c_int(o, &more) < 0) return NULL;
  tl_dispatch_off += more;
  Py_RETURN_NONE;
}
static PyObject *dispatching(PyObject *m, PyObject *o) {
  (void)m;
  if (TL_CHECK(o)) ((TlTensor *)o)->flags |= TL_DISPATCHES;
  tl_dispatch_used = true;
  return Py_NewRef(o);
}
static PyObject *share_version(PyObject *m, PyObject *args) {
  (void)m;
  TlTensor *t, *like;
  if (!PyArg_ParseTuple(args, "O!O!", tl_TensorBase, &t, tl_TensorBase, &like)) return NULL;
  TlVersion *v = tl_version(like);
  if (v && v != t->version) {
    if (t->version && --t->version->refs == 0) PyMem_Free(t->version);
    t->version = v;
    v->refs++;
  }
  return Py_NewRef((PyObject *)t);
}
static PyMethodDef functions[] = {
  {"share_version", share_version, METH_VARARGS, "share_version(t, like): t counts the writes to `like` as its own"},
  {"dispatch_modes", dispatch_modes, METH_O, "Sets how many TorchDispatchModes are on."},
  {"autocast", autocast, METH_O, "Switches torch.autocast on or off; what it was."},
  {"dispatch_off", dispatch_off, METH_O, "Adds to the number of contexts without the __torch_dispatch__ of classes."},
  {"dispatching", dispatching, METH_O, "dispatching(tensor): ops ask its class what they do"},
  {"call_below_autograd", (PyCFunction)(void *)call_below_autograd, METH_FASTCALL,
   "call_below_autograd(overload, args): run without recording"},
  {"call_inplace_below_autograd", (PyCFunction)(void *)call_inplace_below_autograd, METH_FASTCALL,
   "in-place run without recording"},
  {"call_overload", (PyCFunction)(void *)call_overload, METH_FASTCALL, "call_overload(overload, args): full dispatch"},
  {"set_default_off_cpu", set_default_off_cpu, METH_O,
   "Whether tensors are made on another device where none is named."},
  {"requires_grad", requires_grad, METH_O, "requires_grad, views of changed bases included"},
  {0}};

int tl_op_init(PyObject *mod) {
  tl_s_out = PyUnicode_InternFromString("out");
  tl_overload_type = (PyTypeObject *)PyType_FromSpec(&overload_spec);
  op_type = (PyTypeObject *)PyType_FromSpec(&op_spec);
  op_method_type = (PyTypeObject *)PyType_FromSpec(&op_method_spec);
  kernel_type = (PyTypeObject *)PyType_FromSpec(&kernel_spec);
  kernels = PyDict_New();
  if (!tl_s_out || !tl_overload_type || !op_type || !op_method_type || !kernel_type || !kernels) return -1;
  if (PyModule_AddObjectRef(mod, "Overload", (PyObject *)tl_overload_type) < 0 ||
      PyModule_AddObjectRef(mod, "Op", (PyObject *)op_type) < 0 ||
      PyModule_AddObjectRef(mod, "OpMethod", (PyObject *)op_method_type) < 0 ||
      PyModule_AddObjectRef(mod, "kernels", kernels) < 0)
    return -1;
#define X(name, bit) \
  if (PyModule_AddIntConstant(mod, #name, name) < 0) return -1;
  OVERLOAD_FLAGS(X)
#undef X
  return PyModule_AddFunctions(mod, functions);
}
