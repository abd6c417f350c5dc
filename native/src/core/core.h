/* core.h: declarations shared by the files of core/. Outside of core/ only gpu/ and kernels that need the registry or
 * other devices include it; all others include tl.h. */
#ifndef TL_CORE_H
#define TL_CORE_H
#include "core/tl.h"

typedef PyObject *(*TlInit)(void);
TlInit tl_newer(void); /* makes the module of a build for this processor (newer.c), or NULL */

TlStorage *tl_storage_new(int64_t nbytes);
TlStorage *tl_storage_over(char *data, uint64_t nbytes, PyObject *owner); /* somebody else's memory; steals owner */
bool tl_is_storage(PyObject *o);
bool tl_within(const TlTensor *t, int n, const int64_t *shape, const int64_t *strides, int64_t offset);
int tl_storage_resize(TlStorage *s, int64_t nbytes);
uint64_t tl_storage_room(const TlStorage *s); /* bytes of its block, which it keeps when it shrinks */
/* storages and tensors of any device (device.c) */
int tl_check_device_code(int device);
int tl_check_memory(int device);                  /* an error for a wrapper */
int tl_check_wrappers(PyObject *const *a, int n); /* an error where an argument is one, or a list with one */
extern bool tl_any_device;
TlStorage *tl_storage_of(int device, PyObject *owner, int64_t nbytes); /* steals owner */
TlStorage *tl_device_storage(int device, int64_t nbytes);
/* strides: NULL for contiguous */
TlTensor *tl_empty_on(int device, tl_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides);
TlTensor *tl_empty_like_on(int device, const TlTensor *t, tl_dtype dtype);
/* a tensor over s, which it steals */
TlTensor *tl_over(TlStorage *s, tl_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides, int64_t offset);
int tl_device_copy(TlTensor *dst, TlTensor *src), tl_device_fill(TlTensor *dst, PyObject *value);
bool tl_args_off_cpu(PyObject *const *a, int n);
TlVersion *tl_version(TlTensor *t);
void tl_bump(TlTensor *t);
/* raises, and returns -1, if an inference tensor is written outside of inference mode */
int tl_check_inference(const TlTensor *t);
/* raises, and returns -1, if t is neither an input of the function that torch.func transforms nor made in it; schema:
 * of the op that is about to write, NULL for a copy */
int tl_check_captured(const TlTensor *t, PyObject *schema);
TlTensor *tl_alias(TlTensor *t, int ndim, const int64_t *shape, const int64_t *strides, int64_t offset,
                   bool share_version);
/* raises, and returns -1, if the geometry reaches beyond the storage */
int tl_check_geometry(const TlStorage *s, tl_dtype d, int n, const int64_t *shape, const int64_t *strides,
                      int64_t offset);
int tl_set_geometry(TlTensor *t, TlStorage *s, tl_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides,
                    int64_t offset);

/* objects the Python side registers through _C.register(name, object) */
typedef struct {
  PyObject *Tensor, *Size, *device, *dtype;
  PyObject *dtypes[TL_NUM_DTYPES], *devices[8];
  PyObject *record, *record_inplace, *dispatch_other, *call_out, *finish_out, *bind_error, *getitem, *setitem,
    *compile_schema, *set_grad, *get_grad_fn, *set_requires_grad, *host_copy, *resolve, *device_alloc, *device_resize,
    *device_copy, *device_fill, *device_run, *torch_function, *torch_operator, *named_result, *unsupported_array,
    *limited, *forward, *has_tangent, *torch_dispatch, *dispatch_alias, *dispatch_item, *no_meta, *dispatch_geometry,
    *autocast, *autocast_function;
} TlRegistry;
extern TlRegistry tl_reg;
/* modes are per thread, as in PyTorch; WASM has one thread */
#if defined(__wasm__)
#define TL_THREAD
#else
#define TL_THREAD _Thread_local
#endif
/* tl_below_autograd: inside an op that the recorder runs */
extern TL_THREAD bool tl_grad_mode, tl_inference_mode, tl_below_autograd;
extern TL_THREAD uint8_t tl_func_level;  /* number of nested torch.func transforms that run */
extern TL_THREAD int tl_dispatch_modes;  /* number of TorchDispatchModes that are on */
extern TL_THREAD int tl_wrapped_numbers; /* 0: a tensor whose class is asked is not read as a number; -1: one was met */
extern TL_THREAD int tl_dispatch_off;    /* above 0: the __torch_dispatch__ of classes is not called */
extern bool tl_dispatch_used;        /* whether there ever was a mode or such a class: reading a thread's number takes
                                        longer */
extern TL_THREAD bool tl_forward_ad; /* calls go to autograd/forward_ad.py first: tensors may have tangents */

extern bool tl_autocast; /* torch.autocast is on: calls go by its lists first (_core/autocasting.py) */

bool tl_has_tangent(PyObject *t);      /* in forward-mode AD */
PyObject *tl_dtype_object(tl_dtype d); /* new reference */
PyObject *tl_size_object(int n, const int64_t *v);
PyObject *tl_ints_tuple(int n, const int64_t *v);

bool tl_requires_grad(const TlTensor *t);     /* also of a view whose base got a history by an in-place op */
int tl_number(PyObject **v, PyObject **made); /* of Python or numpy (number.c) */
bool tl_is_ndarray(PyObject *o), tl_is_numpy_scalar(PyObject *o);
char tl_numpy_kind(PyObject *o, int *bytes);
int tl_warn_scalar(const TlTensor *t);
PyObject *tl_m_item(TlTensor *t, PyObject *unused), *tl_m_tolist(TlTensor *t, PyObject *unused);
#define Py_XSETREF_(slot, value) \
  do { PyObject *old_ = (PyObject *)(slot); (slot) = (value); Py_XDECREF(old_); } while (0)
/* profile.c: one test of tl_profiling is all that a call costs while nothing is recorded */
extern int tl_profiling;
int64_t tl_profile_begin(PyObject *name, int kind, PyObject *const *a, int n);
void tl_profile_end(int64_t at);
int tl_profile_init(PyObject *mod);
/* override.c: classes and modes that are asked instead of a function */
extern TL_THREAD int tl_function_off, tl_function_modes; /* off: 1 for classes, 2 for modes too */
extern bool tl_function_used;                            /* whether there ever was a mode */
bool tl_overrides(PyObject *o);
int tl_override_init(PyObject *mod);
uint64_t tl_bytes_live(void); /* in CPU storages */
void tl_drop(PyObject *o);    /* lets a link of a graph go without recursion; steals the reference */
int tl_graph_init(PyObject *mod), tl_engine_init(PyObject *mod), tl_grad_mode_init(PyObject *mod),
  tl_size_init(PyObject *mod), tl_module_type_init(PyObject *mod), tl_storage_init(PyObject *mod),
  tl_tensor_init(PyObject *mod), tl_geometry_init(PyObject *mod), tl_parallel_init(void), tl_op_init(PyObject *mod),
  tl_data_init(PyObject *mod), tl_view_init(PyObject *mod);

/* tables that the module and the types are made of */
extern PyMethodDef tl_args_functions[], tl_data_functions[], tl_device_functions[], tl_number_functions[],
  tl_create_functions[], tl_dlpack_functions[], tl_parallel_functions[], tl_record_functions[], tl_tensor_methods[];
extern PyGetSetDef tl_tensor_getset[];
extern PyType_Slot tl_tensor_number_slots[];
int tl_add_kernels(const TlKernel *table);      /* op_types.c */
void **tl_overload_entries(PyObject *overload); /* op_types.c: the entries that gpu_op.c keeps */
const TlKernel *tl_overload_kernel(PyObject *overload,
                                   bool *inplace); /* op_types.c: of an object that is an overload */
PyObject *tl_run_below_autograd(PyObject *overload,
                                PyObject *const *a); /* op_types.c: with bound arguments, without recording */
PyObject *tl_record(PyObject *plan, PyObject *overload, PyObject *const *a, int n); /* record.c: with bound arguments */
bool tl_signature(PyObject *const *a, Py_ssize_t n, uint64_t *key);                 /* device.c */
TlTensor *tl_basic_index(TlTensor *t, PyObject *index);                             /* view.c */
PyObject *tl_conv_plan(PyObject *m, PyObject *args);                                /* conv.c */
#endif
