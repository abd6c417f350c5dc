/* tl.h: declarations shared by every file of the native core.
 *
 * Layout: a Tensor is (storage, offset, shape, strides, dtype, device); shape, strides and offset count elements.
 * Kernels are rows of tables (TlKernel); an op declaration names the row, the dispatcher binds arguments and calls it.
 * Everything is plain C11 over CPython's limited API and the plainest part of libc, so that one source serves the host
 * (sanitizers, debuggers) and WASM.
 */
#ifndef TL_H
#define TL_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030C0000
#endif
#include <Python.h>
#include <stdint.h>
#if PY_VERSION_HEX < 0x030C0000 /* CPython 3.11 has these, but its headers leave them out of the limited API */
#include <structmember.h>
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_T_ULONGLONG T_ULONGLONG
#define _Py_T_OBJECT T_OBJECT
#define Py_READONLY READONLY
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#define PY_VECTORCALL_ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
typedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *);
PyAPI_FUNC(PyObject *) PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *);
PyAPI_FUNC(PyObject *) PyObject_VectorcallMethod(PyObject *, PyObject *const *, size_t, PyObject *);
PyAPI_FUNC(PyObject *) PyVectorcall_Call(PyObject *, PyObject *, PyObject *);
#endif
/* The limited API asks a class for its flags by a call. The exact class, which is what most arguments have, needs none.
 */
#define TL_IS(class, flag, o) (Py_TYPE(o) == &class || PyType_HasFeature(Py_TYPE(o), flag))
#undef PyLong_Check
#undef PyTuple_Check
#undef PyList_Check
#undef PyUnicode_Check
#define PyLong_Check(o) TL_IS(PyLong_Type, Py_TPFLAGS_LONG_SUBCLASS, o)
#define PyTuple_Check(o) TL_IS(PyTuple_Type, Py_TPFLAGS_TUPLE_SUBCLASS, o)
#define PyList_Check(o) TL_IS(PyList_Type, Py_TPFLAGS_LIST_SUBCLASS, o)
#define PyUnicode_Check(o) TL_IS(PyUnicode_Type, Py_TPFLAGS_UNICODE_SUBCLASS, o)

/* The limited API takes PyObject * only. The macros below cast, so that tensors and storages can be passed as they are.
 * From 3.12 on it also counts references by calls. On WASM such a call leaves the module, so there the count is changed
 * in place: its position is part of the stable ABI, and every CPython from 3.12 keeps the counts of immortal objects at
 * or above this bound on 32-bit machines. */
#if defined(__wasm32__)
#define TL_IMMORTAL 0x3fffffffu
PyAPI_FUNC(void) _Py_Dealloc(PyObject *);
static inline void tl_incref(PyObject *o) {
  uint32_t *r = (uint32_t *)o;
  if (*r < TL_IMMORTAL) ++*r;
}
static inline void tl_decref(PyObject *o) {
  uint32_t *r = (uint32_t *)o;
  if (*r < TL_IMMORTAL && --*r == 0) _Py_Dealloc(o);
}
#else
static inline void tl_incref(PyObject *o) { Py_INCREF(o); }
static inline void tl_decref(PyObject *o) { Py_DECREF(o); }
#endif
static inline PyObject *tl_newref(PyObject *o) {
  tl_incref(o);
  return o;
}
static inline PyObject *tl_xnewref(PyObject *o) {
  if (o) tl_incref(o);
  return o;
}
static inline void tl_xincref(PyObject *o) {
  if (o) tl_incref(o);
}
static inline void tl_xdecref(PyObject *o) {
  if (o) tl_decref(o);
}
#undef Py_INCREF
#undef Py_DECREF
#undef Py_XINCREF
#undef Py_XDECREF
#undef Py_NewRef
#undef Py_XNewRef
#undef Py_CLEAR
#undef Py_TYPE
#undef Py_IS_TYPE
#define Py_INCREF(o) tl_incref((PyObject *)(o))
#define Py_DECREF(o) tl_decref((PyObject *)(o))
#define Py_XINCREF(o) tl_xincref((PyObject *)(o))
#define Py_XDECREF(o) tl_xdecref((PyObject *)(o))
#define Py_NewRef(o) tl_newref((PyObject *)(o))
#define Py_XNewRef(o) tl_xnewref((PyObject *)(o))
#define Py_CLEAR(o) \
  do { PyObject *tl_old_ = (PyObject *)(o); if (tl_old_) { (o) = NULL; tl_decref(tl_old_); } } while (0)
#define Py_TYPE(o) (((PyObject *)(o))->ob_type)
#define Py_IS_TYPE(o, t) (Py_TYPE(o) == (t))
#undef PyVectorcall_NARGS /* no call needed, and 3.11 does not export it */
#define PyVectorcall_NARGS(n) ((Py_ssize_t)((size_t)(n) & ~PY_VECTORCALL_ARGUMENTS_OFFSET))
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TL_DIM_LIMIT 64       /* dims a tensor may have */
#define TL_MAX_DIMS 66        /* room in arrays of dims: ops that add one or two need no check of their own */
#define TL_INLINE_DIMS 6
#define TL_ALIGN 64

/* ---- dtypes --------------------------------------------------------------------------------------------------- */
/* X(code, name, ScalarType and C++ type in PyTorch's messages, C storage type, compute class). 16-bit floats compute in
 * float, integers of at most 32 bits and bool compute in int32_t (wrap-around on store), so a kernel row lists compute
 * types, not storage types. Those after C128 are limited: they can be stored, moved and converted, and kernels do not
 * know them. The dispatcher hands calls with them to _core/limited.py, which says what PyTorch can do with each. */
#define TL_DTYPES(X) \
  X(BOOL, bool, Bool, "bool", uint8_t, I32) \
  X(U8, uint8, Byte, "unsigned char", uint8_t, I32) \
  X(I8, int8, Char, "signed char", int8_t, I32) \
  X(I16, int16, Short, "short int", int16_t, I32) \
  X(I32, int32, Int, "int", int32_t, I32) \
  X(I64, int64, Long, "long int", int64_t, I64) \
  X(F16, float16, Half, "c10::Half", uint16_t, F32) \
  X(BF16, bfloat16, BFloat16, "c10::BFloat16", uint16_t, F32) \
  X(F32, float32, Float, "float", float, F32) \
  X(F64, float64, Double, "double", double, F64) \
  X(C64, complex64, ComplexFloat, "c10::complex<float>", tl_c64, C64) \
  X(C128, complex128, ComplexDouble, "c10::complex<double>", tl_c128, C128) \
  X(C32, complex32, ComplexHalf, "c10::complex<c10::Half>", tl_c32, C64) \
  X(U16, uint16, UInt16, "uint16_t", uint16_t, I32) \
  X(U32, uint32, UInt32, "uint32_t", uint32_t, I64) \
  X(U64, uint64, UInt64, "uint64_t", uint64_t, I64) \
  X(F8E4M3FN, float8_e4m3fn, Float8_e4m3fn, "c10::Float8_e4m3fn", uint8_t, F32) \
  X(F8E5M2, float8_e5m2, Float8_e5m2, "c10::Float8_e5m2", uint8_t, F32) \
  X(F8E4M3FNUZ, float8_e4m3fnuz, Float8_e4m3fnuz, "c10::Float8_e4m3fnuz", uint8_t, F32) \
  X(F8E5M2FNUZ, float8_e5m2fnuz, Float8_e5m2fnuz, "c10::Float8_e5m2fnuz", uint8_t, F32) \
  X(F8E8M0FNU, float8_e8m0fnu, Float8_e8m0fnu, "c10::Float8_e8m0fnu", uint8_t, F32) \
  X(F4E2M1FNX2, float4_e2m1fn_x2, Float4_e2m1fn_x2, "c10::Float4_e2m1fn_x2", uint8_t, F32)

typedef struct {
  float re, im;
} tl_c64;
typedef struct {
  double re, im;
} tl_c128;
typedef struct {
  uint16_t re, im; /* halves */
} tl_c32;

typedef enum {
#define X(code, name, scalar, cpp, ctype, comp) TL_##code,
  TL_DTYPES(X)
#undef X
    TL_NUM_DTYPES
} tl_dtype;

extern const uint8_t tl_itemsize[TL_NUM_DTYPES];
extern const uint8_t tl_compute[TL_NUM_DTYPES];         /* the dtype that kernels compute in */
extern const char *const tl_dtype_name[TL_NUM_DTYPES];  /* "int64" */
extern const char *const tl_scalar_type[TL_NUM_DTYPES]; /* "Long" */
extern const char *const tl_cpp_type[TL_NUM_DTYPES];    /* "long int" */

#define TL_UNSIGNED (1u << TL_U16 | 1u << TL_U32 | 1u << TL_U64)
static inline bool tl_is_limited(tl_dtype d) { return d > TL_C128; }
static inline bool tl_is_complex(tl_dtype d) { return d - 10u < 3; }
static inline bool tl_is_float(tl_dtype d) { /* real floating point */
  return (d >= TL_F16 && d <= TL_F64) || d >= TL_F8E4M3FN;
}
static inline bool tl_is_integral(tl_dtype d) { /* bool included */
  return (((1u << (TL_I64 + 1)) - 1) | TL_UNSIGNED) >> d & 1;
}
_Static_assert(TL_C64 == 10 && TL_C32 == 12 && TL_NUM_DTYPES < 32, "the tests of dtypes above");
/* torch.promote_types; TL_NUM_DTYPES with PyTorch's error for some pairs with a limited dtype */
tl_dtype tl_promote(tl_dtype a, tl_dtype b);
/* torch.result_type of tensors and numbers; None is skipped */
int tl_c_int(PyObject *o, int *to);  /* the int that o is, or -1 with an exception */
int tl_truth(PyObject *o, bool *to); /* o's truth, or -1 with an exception if it has none */
int tl_result_type(Py_ssize_t nargs, PyObject *const *args, tl_dtype *out);
int tl_number_dtype(PyObject *o); /* dtype a Python number counts as, -1: not a number */
bool tl_can_cast(tl_dtype from, tl_dtype to);
int tl_check_cast(tl_dtype from, tl_dtype to); /* RuntimeError in PyTorch's words */
extern tl_dtype tl_default_dtype;              /* torch.get_default_dtype() */
/* the default dtype for an integer type, else d */
static inline tl_dtype tl_float_of(tl_dtype d) { return tl_is_integral(d) ? tl_default_dtype : d; }
static inline tl_dtype tl_real_of(tl_dtype d) {
  if (d == TL_C64) return TL_F32;
  if (d == TL_C32) return TL_F16;
  return d == TL_C128 ? TL_F64 : d;
}
static inline tl_dtype tl_complex_of(tl_dtype d) { /* d: a float type */
  if (d == TL_F16) return TL_C32;
  return d == TL_F64 ? TL_C128 : TL_C64;
}
/* accumulator of convolutions and pools of real numbers: int64 for integers, float for 16-bit floats */
static inline tl_dtype tl_window_dtype(tl_dtype d) {
  if (tl_is_integral(d)) return TL_I64;
  return d == TL_F64 ? TL_F64 : TL_F32;
}
static inline int64_t tl_clamp(int64_t v, int64_t low, int64_t high) { /* low where high is below it */
  if (v < low) return low;
  return v > high ? high : v;
}

float tl_half_to_float(uint16_t h);
uint16_t tl_float_to_half(float f); /* round to nearest even */
static inline float tl_bf16_to_float(uint16_t h) {
  uint32_t u = (uint32_t)h << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static inline uint16_t tl_float_to_bf16(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
  return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
/* x as a number of a float dtype, by way of float for the narrow ones; of other dtypes as it is */
static inline double tl_rounded(tl_dtype d, double x) {
  if (d == TL_F32) return (float)x;
  if (d == TL_BF16) return tl_bf16_to_float(tl_float_to_bf16((float)x));
  return d == TL_F16 ? tl_half_to_float(tl_float_to_half((float)x)) : x;
}

/* float8.c: loops between an 8-bit float type and float, NULL for other dtypes */
typedef void (*tl_cast_fn)(void *restrict dst, const void *restrict src, int64_t n);
tl_cast_fn tl_float8_load(tl_dtype d), tl_float8_store(tl_dtype d);
/* half.c: the same of 16-bit floats */
void tl_f32_i32(void *restrict dst, const void *restrict src, int64_t n);
void tl_f32_i64(void *restrict dst, const void *restrict src, int64_t n);
void tl_load_f16(void *restrict dst, const void *restrict src, int64_t n);
void tl_store_f16(void *restrict dst, const void *restrict src, int64_t n);
void tl_store_bf16(void *restrict dst, const void *restrict src, int64_t n);

/* ---- storage and tensor ----------------------------------------------------------------------------------------- */
/* TL_WRAPPED + d: a wrapper without memory that reports the device d. */
enum { TL_CPU = 0, TL_WEBGPU = 1, TL_META = 2, TL_WRAPPED = 3 };

typedef struct TlStorage {
  PyObject_HEAD char *data;        /* host bytes (CPU), else NULL */
  uint64_t nbytes;                 /* on the meta device it may exceed the address space */
  PyObject *owner;                 /* what keeps borrowed memory (a capsule), or the device's buffer handle */
  uint8_t device, borrowed, level; /* level: of the function transforms (torch.func) that it was made in */
  uint8_t fixed;                   /* an array has its address: it must not be resized any more */
  uint8_t addressed;               /* its address was asked for: it may be written unseen */
  uint8_t kept;                    /* a page's workers have, or had, copies (products/page_kept.h) */
  uint32_t serial;                 /* its number among those that products on a page's threads read, or 0 */
  uint32_t writes;                 /* by tensors of any version counter */
  int32_t exports;                 /* buffers handed out: the memory must stay where it is */
  PyObject *weakrefs;
} TlStorage;

/* version counter, shared by a tensor and all its views */
typedef struct {
  int64_t refs;
  int64_t value;
} TlVersion;

typedef struct {
  PyObject_HEAD TlStorage *storage;
  int64_t *shape, *strides; /* point into inline_dims, or to one malloc block */
  int64_t offset, numel;
  uint8_t dtype, device;
  bool requires_grad;
  uint16_t flags;
  int16_t ndim;
  int64_t inline_dims[2 * TL_INLINE_DIMS];
  TlVersion *version;
  PyObject *grad, *grad_fn, *base, *meta; /* meta: autograd's hooks and view information, kept by Python */
  int32_t output_nr, stamp;               /* stamp of a view: the version for which its grad_fn is valid */
} TlTensor;
enum {
  TL_CONTIGUOUS = 1,
  TL_INFERENCE = 2,
  TL_RETAINS_GRAD = 4,
  TL_WRAPPED_NUMBER = 8,
  TL_ONE_OF_MANY = 16,    /* one of several views that an op returned, or a view of one */
  TL_MISALIGNED = 64,     /* over borrowed memory */
  TL_UNRECORDED = 128,    /* a view made under no_grad */
  TL_OF_INFERENCE = 512,  /* a view made under inference_mode */
  TL_CONJ = 32,           /* the elements are the conjugates of what memory holds */
  TL_NEG = 256,           /* the elements are the negatives of what memory holds */
  TL_DISPATCHES = 1024,   /* its class has a __torch_dispatch__ */
  TL_ASKS_STRIDES = 2048, /* strides are asked of its class, */
  TL_ASKS_SIZES = 4096,   /* and for sizes (attr.c) */
  TL_LAZY = TL_CONJ | TL_NEG,
  /* kernels cannot read such memory: the dispatcher gives them a copy */
  TL_INDIRECT = TL_LAZY | TL_MISALIGNED
};

extern PyTypeObject *tl_TensorBase;             /* the C type */
extern PyTypeObject *tl_TensorClass;            /* the Python class results are made of (torch.Tensor) */
bool tl_is_tensor_subclass(PyTypeObject *type); /* TensorBase included */
/* Whether an object is a tensor. Nearly always its class is torch.Tensor itself: then no bases are walked. */
static inline bool tl_is_tensor(const void *o) {
  PyTypeObject *type = Py_TYPE((PyObject *)o);
  return type == tl_TensorClass || tl_is_tensor_subclass(type);
}
#define TL_CHECK(o) tl_is_tensor(o)

static inline char *tl_data(const TlTensor *t) { return t->storage->data + t->offset * (int64_t)tl_itemsize[t->dtype]; }
static inline bool tl_is_contiguous(const TlTensor *t) { return t->flags & TL_CONTIGUOUS; }

/* New references; NULL with an exception set on failure (torch.OutOfMemoryError when memory is short). Memory is not
 * initialised. */
TlTensor *tl_empty(tl_dtype dtype, int ndim, const int64_t *shape); /* contiguous, CPU */
int tl_clear(char *p, uint64_t n);                                  /* n zero bytes; -1: stopped, see tl_work */
TlTensor *tl_empty_strided(tl_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides);
TlTensor *tl_empty_like(const TlTensor *t, tl_dtype dtype); /* layout of an element-wise result of t alone */
/* layout of clone(): a dense t's own strides, else its order of dims */
TlTensor *tl_empty_preserved(int device, const TlTensor *t, tl_dtype dtype);
TlTensor *tl_preserved(TlTensor *r, const TlTensor *t); /* r (stolen, may be NULL) in the layout of a clone of t */
TlTensor *tl_zeros(tl_dtype dtype, int ndim, const int64_t *shape);
/* same storage and version */
TlTensor *tl_view(TlTensor *t, int ndim, const int64_t *shape, const int64_t *strides, int64_t offset);
/* gives a new tensor, which nobody else holds, other sizes and strides; -1 on error */
int tl_restride(TlTensor *t, int ndim, const int64_t *shape, const int64_t *strides);
/* strides of t.view(shape); false if that needs a copy */
bool tl_view_strides(const TlTensor *t, int nd, const int64_t *shape, int64_t *strides);
TlTensor *tl_contiguous(TlTensor *t);                      /* t itself (new reference) when contiguous already */
TlTensor *tl_cast(TlTensor *t, tl_dtype dtype);            /* t itself when it has that dtype */
TlTensor *tl_contiguous_as(TlTensor *t, tl_dtype dtype);   /* contiguous and of that dtype */
PyObject *tl_scalar_object(tl_dtype dtype, const void *p); /* element -> Python bool/int/float/complex */
int tl_scalar_store(tl_dtype dtype, void *p, PyObject *v); /* Python number or 0-dim tensor -> element; -1 on error */

/* Memory formats: see geometry.h. */
/* a CPU tensor, channels last (of 3 dims too) or contiguous */
TlTensor *tl_empty_format(tl_dtype dtype, int ndim, const int64_t *shape, bool channels_last);
/* t, or a copy of it, contiguous in the format and of that dtype */
TlTensor *tl_in_format(TlTensor *t, tl_dtype dtype, bool channels_last);

/* These wrap around: a stride of a dim of one element can be any number, and is never used. */
static inline int64_t tl_wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static inline int64_t tl_wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

/* copy.c: dst[...] = src, any strides and dtypes, src broadcast to dst's shape; handles overlap. -1 on error. */
int tl_copy(TlTensor *dst, TlTensor *src);
/* tl_copy of a new tensor that only the caller has: they may exchange their memory instead */
int tl_copy_result(TlTensor *dst, TlTensor *src);
int tl_fill(TlTensor *dst, PyObject *value);
int tl_check_finite(tl_dtype d, PyObject *value); /* raises, -1: a finite number does not fit */
extern bool tl_any_indirect;      /* set once a TL_INDIRECT tensor exists or a call has a limited dtype */
TlTensor *tl_direct(TlTensor *t); /* new reference: a plain copy of a TL_INDIRECT tensor, else t itself */
/* cast n contiguous elements */
void tl_cast_contig(tl_dtype to, void *dst, tl_dtype from, const void *src, int64_t n);

/* Scratch memory, 64-byte aligned; NULL with torch.OutOfMemoryError set. */
void *tl_malloc(uint64_t nbytes);        /* 64 bits on WASM too, so that a size cannot wrap unnoticed */
void *tl_array(int64_t n, int64_t size); /* checks the product for overflow */
void tl_free(void *p);
void *tl_out_of_memory(uint64_t nbytes); /* sets torch.OutOfMemoryError; NULL */

/* ---- arguments and errors --------------------------------------------------------------------------------------- */
/* Makes a negative dim positive; PyTorch's IndexError if it is out of range. A 0-dim tensor has dims 0 and -1. */
int tl_wrap_dim(int64_t dim, int ndim, int *out);
int tl_int(PyObject *o, int64_t *out); /* int, 0-dim integer tensor, __index__ */
/* for a nondeterministic op under torch.use_deterministic_algorithms: warns (0) or raises (-1) */
int tl_alert(const char *name);
/* warns once in a process, or always after torch.set_warn_always(True); -1 if a filter turns it into an error */
int tl_warn_once(const char *text);
int tl_ints(PyObject *o, int64_t *out, int *n); /* int or sequence of ints, at most TL_DIM_LIMIT; None gives n = -1 */
int tl_double(PyObject *o, double *out);
int tl_check_real(PyObject *o, tl_dtype d); /* raises, -1: a complex number beside values of the real dtype d */
int tl_check_room(PyObject *o, tl_dtype d); /* raises, -1: a number that d has no room for; others pass */
int tl_dtype_arg(PyObject *o, tl_dtype dflt, tl_dtype *out); /* torch.dtype object or None */
/* the broadcast of two shapes; PyTorch's RuntimeError if there is none */
int tl_broadcast(int na, const int64_t *a, int nb, const int64_t *b, int *n, int64_t *out);
const char *tl_fmt_shape(int n, const int64_t *v); /* "[2, 3]" in a rotating static buffer, for messages */
/* raises, and returns -1, unless o is None or a tensor of numel elements */
int tl_expect(PyObject *o, int64_t numel, const char *name);
extern PyObject *tl_OutOfMemoryError;

/* A user may stop a program at any time, so long loops look for signals after TL_PIECE elements or so. From then on
 * each look says -1, until somebody has handled the exception: one loop may end early and leave the rest to the next
 * look, or to the dispatcher, which drops what a kernel returns with an exception. Only with the GIL; see also
 * tl_part_stopped. */
enum { TL_PIECE = 1 << 16 };
int tl_work(int64_t n); /* n more elements are due; -1: an exception (KeyboardInterrupt) is set */
static inline int tl_check_interrupt(void) { return tl_work(TL_PIECE); }
/* the same where a call for each few elements would cost too much: `work` counts them */
#define TL_TICK_INLINE(work, n) (((work) += (n)) >= TL_PIECE && ((work) = 0, tl_check_interrupt() < 0))
#if defined(__wasm__) /* the module is smaller by calls, of some 2 ns */
#define TL_TICK(work, n) ((void)(work), tl_work(n) < 0)
#else
#define TL_TICK TL_TICK_INLINE
#endif
/* for (i = 0; i < n; i++), in pieces. It may end early; a break ends a piece only. */
#define TL_LOOP(i, n) \
  for (intptr_t i = 0, i##_n = (intptr_t)(n), i##_end; i < (i##_end = tl_piece(i, i##_n));) for (; i < i##_end; i++)
intptr_t tl_next_piece(intptr_t i);
#if defined(__wasm__) /* inline, it makes the module 3 kB larger: each loop comes twice */
intptr_t tl_piece(intptr_t i, intptr_t n);
#else
static inline intptr_t tl_piece(intptr_t i, intptr_t n) { return n - i < TL_PIECE ? n : tl_next_piece(i); }
#endif

/* ---- kernels ---------------------------------------------------------------------------------------------------- */
typedef struct TlKernel TlKernel;
/* args: the op's arguments bound in schema order, defaults filled in, tensors on the CPU (None for an absent optional).
 * out: NULL, or the tensor to write (already of the right shape and a castable dtype when the kernel is called for an
 * in-place op; for out= the kernel must check with tl_out_check). Return a new reference (out itself when given), NULL
 * with an exception, or Py_NotImplemented (new reference) to let the op's Python body run instead. */
typedef PyObject *(*TlKernelFn)(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
extern int64_t tl_due; /* tl_work's count */
struct TlKernel {
  const char *name;
  TlKernelFn fn;
  int id;    /* row data for table-driven families */
  int flags; /* TL_K_OUT: accepts out; otherwise the caller computes and copies */
  const void *data;
};
/* Inline, so that each caller has an indirect call of its own, which the processor predicts better. */
static inline PyObject *tl_run(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  PyObject *r = k->fn(k, args, nargs, out);
  if (tl_due >= TL_PIECE && PyErr_Occurred()) Py_CLEAR(r);
  return r;
}
enum {
  TL_K_OUT = 1,
  TL_K_GEOMETRY = 2, /* reads no element itself: serves every device */
  TL_K_CHECKS = 4,   /* belongs to no op: checks number and types of its arguments itself */
  TL_K_APART = 8,    /* in place, no other argument may share memory with the tensor that is written */
  TL_K_META = 16     /* serves tensors without memory: reads and writes no element where tl_meta is set */
};
/* Set while a TL_K_META kernel runs for the meta device. New tensors are on that device then, and copies and fills of
 * tensors do nothing: only the kernel's shapes, strides, dtypes and errors count. */
extern bool tl_meta;
#define TL_FALLBACK() (Py_NewRef(Py_NotImplemented))

/* each family file ends with its table, closed by {0}; module.c lists the families */
extern const TlKernel tl_kernels_view[], tl_kernels_pointwise[], tl_kernels_reduce[], tl_kernels_scan[],
  tl_kernels_index[], tl_kernels_shape[], tl_kernels_matmul[], tl_kernels_conv[], tl_kernels_pool[], tl_kernels_norm[],
  tl_kernels_random[], tl_kernels_sort[], tl_kernels_optim[], tl_kernels_linalg[], tl_kernels_fft[];

/* ---- strided iteration (iter.c) --------------------------------------------------------------------------------- */
/* Up to TL_MAX_OPERANDS operands broadcast to one shape; dims are coalesced and ordered so that the innermost is the
 * most contiguous one. The callback gets n elements along the innermost dim with a byte stride for each operand.
 * Returning non-zero from the callback stops with an error (exception set). */
#define TL_MAX_OPERANDS 6
typedef int (*tl_loop_fn)(void *ctx, char **ptrs, const intptr_t *strides, int64_t n);
typedef struct {
  int nops, ndim;
  int64_t shape[TL_MAX_DIMS];
  intptr_t strides[TL_MAX_OPERANDS][TL_MAX_DIMS]; /* bytes; innermost dim is index 0 */
  char *ptrs[TL_MAX_OPERANDS];
} TlIter;
/* shape: the broadcast shape; each operand is broadcast to it (stride 0 where it has size 1) */
void tl_iter_init(TlIter *it, int nops, TlTensor *const *ops, int ndim, const int64_t *shape);
int tl_iter_run(TlIter *it, tl_loop_fn fn, void *ctx);

#endif
