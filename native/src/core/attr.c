/* attr.c: the fields of a tensor as Python attributes and the small methods that read its geometry. Autograd's own
 * rules (setting grad, grad_fn of views, requires_grad_) are Python functions registered by torchlite.autograd. */
#include "core/core.h"
#include "core/errors.h"
#include "core/geometry.h"

#define SELF TlTensor *t

/* A tensor's geometry from its class's __torch_dispatch__, if _make_wrapper_subclass was called so; NULL without an
 * exception: the tensor's own geometry counts. */
static PyObject *asked(SELF, int flag, const char *what) {
  if (!(t->flags & flag) || tl_dispatch_off) return NULL;
  return PyObject_CallFunction(tl_reg.dispatch_geometry, "Os", (PyObject *)t, what);
}
#define ASK(flag, what) \
  do { \
    PyObject *said_ = asked(t, flag, what); \
    if (said_ || PyErr_Occurred()) return said_; \
  } while (0)

static PyObject *get_shape(SELF, void *c) {
  (void)c;
  ASK(TL_ASKS_SIZES, "sizes");
  return tl_size_object(t->ndim, t->shape);
}
static PyObject *get_dtype(SELF, void *c) {
  (void)c;
  return tl_dtype_object(t->dtype);
}
static PyObject *get_device(SELF, void *c) {
  (void)c;
  return Py_NewRef(tl_reg.devices[t->device]);
}
static PyObject *get_ndim(SELF, void *c) {
  (void)c;
  ASK(TL_ASKS_SIZES, "dim");
  return PyLong_FromLong(t->ndim);
}
static PyObject *get_requires_grad(SELF, void *c) {
  (void)c;
  return PyBool_FromLong(tl_requires_grad(t));
}
static int set_requires_grad(SELF, PyObject *v, void *c) {
  (void)c;
  if (!v) {
    PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
    return -1;
  }
  PyObject *r = PyObject_CallFunctionObjArgs(tl_reg.set_requires_grad, (PyObject *)t, v, NULL);
  Py_XDECREF(r);
  return r ? 0 : -1;
}
static PyObject *get_grad_fn(SELF, void *c);
static PyObject *get_is_leaf(SELF, void *c) {
  PyObject *fn =
    t->grad_fn ? Py_NewRef(Py_True) : get_grad_fn(t, c); /* a view may have got a history through its base */
  if (!fn) return NULL;
  Py_DECREF(fn);
  return PyBool_FromLong(fn == Py_None);
}
static PyObject *get_raw_grad(SELF, void *c) {
  (void)c;
  return Py_NewRef(t->grad ? t->grad : Py_None);
}
static PyObject *get_grad(SELF, void *c) {
  if (!t->grad && !(t->flags & TL_RETAINS_GRAD) && tl_requires_grad(t)) {
    PyObject *leaf = get_is_leaf(t, c);
    int rc = leaf ? 0 : -1;
    if (leaf == Py_False)
      rc = PyErr_WarnEx(PyExc_UserWarning,
                        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
                        "attribute won't be populated "
                        "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                        "Tensor, use .retain_grad() on the "
                        "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
                        "Tensor instead. See "
                        "github.com/pytorch/pytorch/pull/30531 for more information.",
                        1);
    Py_XDECREF(leaf);
    if (rc) return NULL;
  }
  return get_raw_grad(t, c);
}
static int set_grad(SELF, PyObject *v, void *c) {
  (void)c;
  if (!v || v == Py_None) {
    Py_CLEAR(t->grad);
    return 0;
  }
  PyObject *r = PyObject_CallFunctionObjArgs(tl_reg.set_grad, (PyObject *)t, v, NULL);
  Py_XDECREF(r);
  return r ? 0 : -1;
}
static int set_raw_grad(SELF, PyObject *v, void *c) {
  (void)c;
  Py_XSETREF_(t->grad, v && v != Py_None ? Py_NewRef(v) : NULL);
  return 0;
}
static PyObject *get_grad_fn(SELF, void *c) {
  (void)c;
  if (t->base && t->version && t->stamp != (int32_t)t->version->value && tl_reg.get_grad_fn)
    return PyObject_CallFunctionObjArgs(tl_reg.get_grad_fn, (PyObject *)t, NULL);
  return Py_NewRef(t->grad_fn ? t->grad_fn : Py_None);
}
static PyObject *get_raw_grad_fn(SELF, void *c) {
  (void)c;
  return Py_NewRef(t->grad_fn ? t->grad_fn : Py_None);
}
static int set_raw_grad_fn(SELF, PyObject *v, void *c) {
  (void)c;
  Py_XSETREF_(t->grad_fn, v && v != Py_None ? Py_NewRef(v) : NULL);
  return 0;
}
static PyObject *get_output_nr(SELF, void *c) {
  (void)c;
  return PyLong_FromLong(t->output_nr);
}
static int set_output_nr(SELF, PyObject *v, void *c) {
  (void)c;
  int64_t n = 0;
  if (v && tl_int(v, &n) < 0) return -1;
  t->output_nr = (int32_t)n;
  return 0;
}
static PyObject *get_base(SELF, void *c) {
  (void)c;
  return Py_NewRef(t->base ? t->base : Py_None);
}
static int set_base(SELF, PyObject *v, void *c) {
  (void)c;
  if (v && v != Py_None && !TL_CHECK(v)) {
    PyErr_SetString(PyExc_TypeError, "_base must be a tensor or None");
    return -1;
  }
  Py_XSETREF_(t->base, v && v != Py_None ? Py_NewRef(v) : NULL);
  return 0;
}
static PyObject *get_meta(SELF, void *c) {
  (void)c;
  return Py_NewRef(t->meta ? t->meta : Py_None);
}
static int set_meta(SELF, PyObject *v, void *c) {
  (void)c;
  Py_XSETREF_(t->meta, v && v != Py_None ? Py_NewRef(v) : NULL);
  return 0;
}
static PyObject *get_version(SELF, void *c) {
  (void)c;
  if (t->flags & TL_INFERENCE) {
    PyErr_SetString(PyExc_RuntimeError, "Inference tensors do not track version counter.");
    return NULL;
  }
  return PyLong_FromLongLong(t->version ? t->version->value : 0);
}
static PyObject *get_flag(SELF, void *c) { return PyBool_FromLong(t->flags & (int)(intptr_t)c); }
static int set_flag(SELF, PyObject *v, void *c) {
  int on = v ? PyObject_IsTrue(v) : 0;
  if (on < 0) return -1;
  if (on && (intptr_t)c & TL_LAZY) tl_any_indirect = true;
  t->flags = (uint16_t)(on ? t->flags | (int)(intptr_t)c : t->flags & ~(int)(intptr_t)c);
  return 0;
}
static PyObject *get_leaf_flag(SELF, void *c) {
  (void)c;
  return PyBool_FromLong(t->requires_grad);
}
static int set_leaf_flag(SELF, PyObject *v, void *c) {
  (void)c;
  return tl_truth(v ? v : Py_False, &t->requires_grad);
}
static PyObject *get_data(SELF, void *c) {
  (void)c;
  if (t->flags & TL_DISPATCHES) return PyObject_CallFunctionObjArgs(tl_reg.dispatch_alias, (PyObject *)t, NULL);
  TlTensor *v = tl_alias(t, t->ndim, t->shape, t->strides, t->offset, false);
  if (v && !tl_inference_mode) v->flags &= (uint16_t)~TL_INFERENCE;
  return (PyObject *)v;
}
/* c: whether the memory may be of another kind (_memory) */
static int set_data(SELF, PyObject *v, void *c) {
  if (!v) {
    PyErr_SetString(PyExc_RuntimeError, "Deleting tensor data is not allowed. Delete tensor instead!");
    return -1;
  }
  if (!TL_CHECK(v)) {
    PyObject *name = PyType_GetName(Py_TYPE(v));
    PyErr_Format(PyExc_TypeError, "Variable data has to be a tensor, but got %V", name, "?");
    Py_XDECREF(name);
    return -1;
  }
  TlTensor *s = (TlTensor *)v;
  /* a tensor without memory of its own (sparse, nested) stands for nothing else; nor is meta memory */
  const int mine = t->device, theirs = s->device;
  if (!c && mine != theirs && (mine == TL_META || theirs == TL_META || mine >= TL_WRAPPED || theirs >= TL_WRAPPED)) {
    PyErr_SetString(PyExc_RuntimeError, "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` "
                                        "have incompatible tensor type.");
    return -1;
  }
  if (tl_requires_grad(t) && tl_is_integral(s->dtype)) {
    PyErr_SetString(PyExc_RuntimeError,
                    "data set to a tensor that requires gradients must be floating point or complex dtype");
    return -1;
  }
  int64_t shape[TL_MAX_DIMS], strides[TL_MAX_DIMS];
  memcpy(shape, s->shape, sizeof(int64_t) * (size_t)s->ndim);
  memcpy(strides, s->strides, sizeof(int64_t) * (size_t)s->ndim);
  uint16_t lazy = s->flags & TL_LAZY;
  if (tl_set_geometry(t, (TlStorage *)Py_NewRef(s->storage), s->dtype, s->ndim, shape, strides, s->offset) < 0)
    return -1;
  t->flags = (uint16_t)((t->flags & ~TL_LAZY) | lazy);
  return 0;
}
static PyObject *get_itemsize(SELF, void *c) {
  (void)c;
  return PyLong_FromLong(tl_itemsize[t->dtype]);
}
static PyObject *get_nbytes(SELF, void *c) {
  (void)c;
  return PyLong_FromLongLong(tl_wrap_mul(t->numel, tl_itemsize[t->dtype]));
}
static PyObject *get_false(SELF, void *c) {
  (void)c;
  (void)t;
  Py_RETURN_FALSE;
}
static PyObject *get_on_device(SELF, void *c) {
  int device = t->device >= TL_WRAPPED ? t->device - TL_WRAPPED : t->device;
  return PyBool_FromLong(device == (int)(intptr_t)c);
}
static PyObject *get_storage(SELF, void *c) {
  (void)c;
  return Py_NewRef(t->storage);
}

static PyObject *get_stamp(SELF, void *c) {
  (void)c;
  return PyLong_FromLong(t->stamp);
}
static int set_stamp(SELF, PyObject *v, void *c) {
  (void)c;
  long stamp = PyLong_AsLong(v);
  if (stamp == -1 && PyErr_Occurred()) return -1;
  t->stamp = (int32_t)stamp;
  return 0;
}

PyGetSetDef tl_tensor_getset[] = {
#define GS(name, set, doc) {#name, (getter)get_##name, (setter)set, doc, NULL}
  GS(shape, NULL, "torch.Size of the tensor."),
  GS(dtype, NULL, "Element type."),
  GS(device, NULL, "Where the tensor lives."),
  GS(ndim, NULL, "Number of dimensions."),
  GS(requires_grad, set_requires_grad, "True when gradients are computed for the tensor."),
  GS(is_leaf, NULL, "True for tensors made by the user rather than by a recorded operation."),
  GS(grad, set_grad, "Accumulated gradient, or None."),
  GS(grad_fn, NULL, "The graph node that made the tensor, or None."),
  GS(data, set_data, "The tensor without its history, over the same memory."),
  {"_memory", (getter)get_data, (setter)set_data, "As data, for memory of any kind.", (void *)1},
  GS(itemsize, NULL, "Bytes of one element."),
  GS(nbytes, NULL, "Bytes of all elements."),
  {"_version", (getter)get_version, NULL, "Number of in-place changes.", NULL},
  {"_base", (getter)get_base, (setter)set_base, "The tensor this one is a view of, or None.", NULL},
  {"_grad", (getter)get_raw_grad, (setter)set_grad, "Another name of grad.", NULL},
  {"_raw_grad", (getter)get_raw_grad, (setter)set_raw_grad, "grad without checks.", NULL},
  {"_raw_grad_fn", (getter)get_raw_grad_fn, (setter)set_raw_grad_fn, "grad_fn without the view rule.", NULL},
  {"_meta", (getter)get_meta, (setter)set_meta, "Autograd's own record: hooks, view origin.", NULL},
  {"_leaf_flag", (getter)get_leaf_flag, (setter)set_leaf_flag, "requires_grad of a leaf.", NULL},
  {"_storage", (getter)get_storage, NULL, "The storage.", NULL},
  {"output_nr", (getter)get_output_nr, NULL, "Which output of grad_fn the tensor is.", NULL},
  {"_output_nr", (getter)get_output_nr, (setter)set_output_nr, "output_nr, settable.", NULL},
  {"retains_grad", (getter)get_flag, NULL, "True after retain_grad() on a non-leaf.", (void *)TL_RETAINS_GRAD},
  {"_retains", (getter)get_flag, (setter)set_flag, "retains_grad, settable.", (void *)TL_RETAINS_GRAD},
  {"_inference", (getter)get_flag, (setter)set_flag, "Made under inference_mode.", (void *)TL_INFERENCE},
  {"_stamp", (getter)get_stamp, (setter)set_stamp, "Of a view: the version at which grad_fn was last right.", NULL},
  {"_one_of_many", (getter)get_flag, NULL, "One of several views that one op returned, or a view of such a one.",
   (void *)TL_ONE_OF_MANY},
  {"_dispatches", (getter)get_flag, NULL, "Whether ops ask its class's __torch_dispatch__.", (void *)TL_DISPATCHES},
  {"_asks_strides", (getter)get_flag, (setter)set_flag, "Its class is asked for strides.", (void *)TL_ASKS_STRIDES},
  {"_asks_sizes", (getter)get_flag, (setter)set_flag, "Its class is asked for sizes.", (void *)TL_ASKS_SIZES},
  {"_conj_bit", (getter)get_flag, (setter)set_flag, "is_conj(), settable.", (void *)TL_CONJ},
  {"_neg_bit", (getter)get_flag, (setter)set_flag, "is_neg(), settable.", (void *)TL_NEG},
  {"_of_inference", (getter)get_flag, NULL, "A view made under inference_mode.", (void *)TL_OF_INFERENCE},
  {"_unrecorded", (getter)get_flag, (setter)set_flag, "A view made under no_grad.", (void *)TL_UNRECORDED},
  {"is_cpu", (getter)get_on_device, NULL, "True on the CPU.", (void *)TL_CPU},
  {"is_meta", (getter)get_on_device, NULL, "True on the meta device.", (void *)TL_META},
#define NEVER(name) {#name, (getter)get_false, NULL, "Always False here.", NULL}
  NEVER(is_sparse),
  NEVER(is_sparse_csr),
  NEVER(is_quantized),
  NEVER(is_mkldnn),
  NEVER(is_xla),
  NEVER(is_mps),
  NEVER(is_xpu),
  NEVER(is_nested),
  NEVER(is_vulkan),
  NEVER(is_ipu),
  NEVER(is_maia),
  NEVER(is_mtia),
  {0}};

static PyObject *m_dim(SELF, PyObject *_) { return get_ndim(t, _); }
static PyObject *m_numel(SELF, PyObject *_) {
  (void)_;
  ASK(TL_ASKS_SIZES, "numel");
  return PyLong_FromLongLong(t->numel);
}
static PyObject *m_offset(SELF, PyObject *_) {
  (void)_;
  ASK(TL_ASKS_SIZES, "storage_offset");
  return PyLong_FromLongLong(t->offset);
}
static PyObject *m_element_size(SELF, PyObject *_) { return get_itemsize(t, _); }
static PyObject *m_data_ptr(SELF, PyObject *_) {
  (void)_;
  if (!t->device) {
    t->storage->addressed = 1;
    return PyLong_FromSize_t(t->numel ? (size_t)tl_data(t) : 0);
  }
  if (t->device >= TL_WRAPPED) return PyLong_FromLong(0);
  PyObject *start =
    t->numel && t->storage->owner ? PyObject_GetAttrString(t->storage->owner, "address") : PyLong_FromLong(0);
  long long p = start ? PyLong_AsLongLong(start) : -1;
  Py_XDECREF(start);
  if (PyErr_Occurred()) return NULL;
  return PyLong_FromLongLong(t->numel ? p + t->offset * tl_itemsize[t->dtype] : 0);
}
static PyObject *m_is_floating(SELF, PyObject *_) {
  (void)_;
  return PyBool_FromLong(tl_is_float(t->dtype));
}
static PyObject *m_is_complex(SELF, PyObject *_) {
  (void)_;
  return PyBool_FromLong(tl_is_complex(t->dtype));
}
static PyObject *m_is_signed(SELF, PyObject *_) {
  (void)_;
  return PyBool_FromLong(t->dtype > TL_U8 && !(TL_UNSIGNED >> t->dtype & 1) && t->dtype != TL_F8E8M0FNU);
}
static PyObject *m_is_conj(SELF, PyObject *_) {
  (void)_;
  return PyBool_FromLong(t->flags & TL_CONJ);
}
static PyObject *m_is_neg(SELF, PyObject *_) {
  (void)_;
  return PyBool_FromLong(t->flags & TL_NEG);
}
static PyObject *m_bump(SELF, PyObject *_) {
  (void)_;
  tl_bump(t);
  Py_RETURN_NONE;
}

static PyObject *m_set_version(SELF, PyObject *o) {
  int64_t count;
  if (tl_int(o, &count) < 0) return NULL;
  if (count < 0) {
    PyErr_Format(PyExc_RuntimeError, "Cannot set a version_counter to a value below 0: %lld", (long long)count);
    return NULL;
  }
  TlVersion *v = tl_version(t);
  if (!v) return NULL;
  v->value = count;
  Py_RETURN_NONE;
}

static PyObject *dims_or_one(SELF, PyObject *o, bool size) {
  const int64_t *v = size ? t->shape : t->strides;
  if (o == Py_None) return size ? tl_size_object(t->ndim, v) : tl_ints_tuple(t->ndim, v);
  int64_t d;
  int i;
  if (tl_int(o, &d) < 0) return NULL;
  v = size ? t->shape : t->strides; /* its __index__ may have changed them */
  if (t->ndim == 0) return tl_no_dims_error(d), NULL;
  if (tl_wrap_dim(d, t->ndim, &i) < 0) return NULL;
  return PyLong_FromLongLong(v[i]);
}
static int kw_dim(PyObject *const *args, Py_ssize_t n, PyObject *kw, PyObject **one) {
  *one = n ? args[0] : Py_None;
  if (!kw || PyTuple_Size(kw) == 0) return 0;
  if (PyTuple_Size(kw) == 1 && n == 0 && PyUnicode_CompareWithASCIIString(PyTuple_GetItem(kw, 0), "dim") == 0) {
    *one = args[0];
    return 0;
  }
  PyErr_Format(PyExc_TypeError, "got an unexpected keyword argument '%U'", PyTuple_GetItem(kw, 0));
  return -1;
}
/* what the class says of all dims, or its part for dim d */
static PyObject *said_of(SELF, PyObject *d, const char *what) {
  PyObject *all = PyObject_CallFunction(tl_reg.dispatch_geometry, "Os", (PyObject *)t, what);
  if (!all || d == Py_None) return all;
  int64_t at;
  int dim;
  PyObject *r = NULL;
  if (tl_int(d, &at) == 0 && tl_wrap_dim(at, (int)PySequence_Size(all), &dim) == 0) r = PySequence_GetItem(all, dim);
  Py_DECREF(all);
  return r;
}
static PyObject *m_size(SELF, PyObject *const *args, Py_ssize_t n, PyObject *kw) {
  PyObject *d;
  if (kw_dim(args, n, kw, &d) < 0) return NULL;
  if (!(t->flags & TL_ASKS_SIZES) || tl_dispatch_off) return dims_or_one(t, d, true);
  if (d != Py_None) { /* PyTorch asks how many there are */
    PyObject *dims = asked(t, TL_ASKS_SIZES, "dim");
    if (!dims) return NULL;
    Py_DECREF(dims);
  }
  return said_of(t, d, "sizes");
}
static PyObject *m_stride(SELF, PyObject *const *args, Py_ssize_t n, PyObject *kw) {
  PyObject *d;
  if (kw_dim(args, n, kw, &d) < 0) return NULL;
  return t->flags & TL_ASKS_STRIDES && !tl_dispatch_off ? said_of(t, d, "strides") : dims_or_one(t, d, false);
}

static PyObject *m_is_contiguous(SELF, PyObject *const *args, Py_ssize_t n, PyObject *kw) {
  PyObject *fmt = n || (kw && PyTuple_Size(kw)) ? args[0] : NULL;
  if (!fmt) ASK(TL_ASKS_STRIDES, "is_contiguous");
  if (fmt && fmt != Py_None) {
    PyObject *name = PyObject_Str(fmt);
    if (!name) return NULL;
    bool cl2 = !PyUnicode_CompareWithASCIIString(name, "torch.channels_last"),
         cl3 = !PyUnicode_CompareWithASCIIString(name, "torch.channels_last_3d");
    Py_DECREF(name);
    if (cl2 || cl3) return PyBool_FromLong(t->ndim == (cl2 ? 4 : 5) && tl_is_channels_last(t));
  }
  return PyBool_FromLong(tl_is_contiguous(t));
}
static PyObject *m_get_device(SELF, PyObject *_) {
  (void)_;
  return PyLong_FromLong(t->device == TL_WEBGPU ? 0 : -1);
}

static PyObject *m_item(SELF, PyObject *_) {
  if (!tl_profiling) return tl_m_item(t, _);
  PyObject *name = PyUnicode_FromString("item"), *a[1] = {(PyObject *)t};
  if (!name) return NULL;
  int64_t mark = tl_profile_begin(name, 0, a, 1);
  PyObject *r = mark == -2 ? NULL : tl_m_item(t, _);
  if (mark >= 0) tl_profile_end(mark);
  Py_DECREF(name);
  return r;
}
PyMethodDef tl_tensor_methods[] = {
#define M(name, fn, doc) {#name, (PyCFunction)(void *)fn, METH_NOARGS, doc}
#define MF(name, fn, doc) {#name, (PyCFunction)(void *)fn, METH_FASTCALL | METH_KEYWORDS, doc}
  M(dim, m_dim, "Number of dimensions."),
  M(ndimension, m_dim, "Number of dimensions."),
  M(numel, m_numel, "Number of elements."),
  M(nelement, m_numel, "Number of elements."),
  M(storage_offset, m_offset, "First element within the storage."),
  M(element_size, m_element_size, "Bytes of one element."),
  M(data_ptr, m_data_ptr, "Address of the first element."),
  M(is_floating_point, m_is_floating, "True for real floating dtypes."),
  M(is_complex, m_is_complex, "True for complex dtypes."),
  M(is_signed, m_is_signed, "True when the dtype holds negative numbers."),
  M(is_conj, m_is_conj, "Whether it is a view of the conjugates of what memory holds."),
  M(is_neg, m_is_neg, "The same of negatives."),
  M(get_device, m_get_device, "Device index; -1 on the CPU."),
  {"_set_version", (PyCFunction)m_set_version, METH_O, "Sets how many in-place changes were counted."},
  M(_bump_version, m_bump, "Counts an in-place change."),
  M(item, m_item, "The only element as a Python number."),
  M(tolist, tl_m_tolist, "Nested lists of Python numbers; a number for 0-dim tensors."),
  MF(size, m_size, "size(dim=None): torch.Size, or the size of one dimension."),
  MF(stride, m_stride, "stride(dim=None): strides in elements."),
  MF(is_contiguous, m_is_contiguous, "is_contiguous(memory_format=torch.contiguous_format)"),
  {0}};
