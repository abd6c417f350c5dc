/* pointwise.h: rows of element-wise kernels and the engine that runs them (pw_engine.c).
 *
 * A row holds one loop per compute type over contiguous memory. Operands that are strided, broadcast, numbers or of
 * another dtype reach the loop through small contiguous chunk buffers, so a row is written once, for plain arrays. */
#ifndef TL_POINTWISE_H
#define TL_POINTWISE_H
#include <math.h>
#include "core/tl.h"
#include "math/simd.h"

/* ---- engine ---- */
#define PW_MAX_IN 4
/* numbers that are the same for all elements */
typedef struct {
  double x, y, z;
  tl_c128 c;
  int64_t i, j;
  int bits;           /* width of the common dtype */
  int *zero_division; /* set by a loop that met an integer divisor of 0 */
} PwParams;

typedef void (*pw_loop)(const PwParams *p, void *out, const void *const *in, int64_t n);
/* rows of n elements, `step` bytes apart, and one element of the other operand for each, `next` bytes apart */
typedef void (*pw_rows)(void *out, const char *a, intptr_t step, const char *one, intptr_t next, intptr_t rows,
                        intptr_t n);
pw_rows pw_with_one(pw_loop loop, int k); /* where one element is operand k; NULL: none */
enum { PW_I32, PW_I64, PW_F32, PW_F64, PW_C64, PW_C128, PW_NUM };

/* PwRow.kind, bits: dtypes of operands and result */
enum {
  PW_SAME = 0,  /* computed in and returned as the common dtype */
  PW_FLOAT = 1, /* integers count as the default float dtype */
  PW_BOOL = 2,  /* computed in the common dtype, returned as bool (loops write uint8_t) */
  PW_REAL = 4,  /* complex operands give their real dtype (loops write reals) */
};
/* PwRow.flags */
enum {
  PW_NO_BOOL = 1, /* "not implemented for 'Bool'" */
  PW_NO_INT = 2,  /* real and complex floating point only */
  PW_NO_FLOAT = 4,
  PW_INT_ID = 8, /* integers are returned as they are (floor, round) */
  PW_WIDE = 16,  /* 16-bit floats: the last operand, when a number or 0-dim, is not rounded */
  PW_NO_HALF = 32,
  PW_PARAM = 64,     /* numbers among the operands are parameters of PyTorch's kernel and say nothing of the layout */
  PW_LEADS = 128,    /* of two operands, the second one's layout goes first */
  PW_NO_C32 = 512,   /* "not implemented for 'ComplexHalf'", the result type of a half and a complex number */
  PW_ROUNDED = 1024, /* numbers beside 16-bit operands are rounded to their dtype */
  PW_DOUBLES = 256,  /* numbers beside the operands are doubles, which may exceed the dtype's range */
};
typedef struct {
  uint8_t kind;
  uint16_t flags;
  uint8_t arity;
  const char *msg; /* the name PyTorch's "not implemented for" message carries; "name|text": other words for complex */
  pw_loop loops[PW_NUM];
} PwRow;

typedef struct { /* one operand: a tensor, or a number (t == NULL) */
  TlTensor *t;
  int cat;           /* tl_number_dtype of the number */
  bool param, leads; /* PW_PARAM, PW_LEADS */
  int64_t i;
  tl_c128 c;
} PwArg;

int pw_arg(PyObject *o, PwArg *a);
int pw_class(tl_dtype d); /* PW_I32 ... of a dtype */
PyObject *pw_not_implemented(const char *msg, tl_dtype d);
/* Runs the row over args (tensors or numbers). common < 0: by promotion. out may be NULL. */
/* the loop for bools, bytes or 16-bit integers in their own width; NULL: that of int32 serves */
pw_loop pw_narrow(const PwRow *row, tl_dtype d);
PyObject *pw_run(const PwRow *row, const PwParams *p, int nin, PyObject *const *args, int common, TlTensor *out);
/* The dtype that pw_run's result has by promotion; false if the row refuses these operands. */
bool pw_result(const PwRow *row, int nin, PyObject *const *args, tl_dtype *result);
/* Reads a result's dtype from the kernel's row, without running it. `second`: the result takes its second operand's
 * layout. `numbers_count`: pw_layout must know whether a number is among the operands. False if the row cannot tell:
 * its function has rules or errors of its own, or refuses the arguments. */
bool pw_rule(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, tl_dtype *result, bool *second,
             bool *numbers_count);
/* Writes the strides that PyTorch gives a new result of these tensors, and its dims in memory, innermost first. True if
 * the result is contiguous; then only the order is written. alone: no number is among the operands. common: the dtype
 * that the op brings its operands to, or NULL; an operand of another dtype counts as a copy without gaps. */
bool pw_layout(int n, const TlTensor *const *ops, bool alone, const tl_dtype *common, int ndim, const int64_t *shape,
               int *order, int64_t *strides);
/* The general form: the loop's own operand and result dtypes, the dtype each operand is rounded to first (via), and the
 * result's dtype. */
PyObject *pw_exec(pw_loop loop, const PwParams *p, int nin, const PwArg *in, const tl_dtype *it, const tl_dtype *via,
                  tl_dtype lo, tl_dtype result, TlTensor *out);

/* kernel functions for table rows whose data is a PwRow */
PyObject *pw_unary(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *pw_binary(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *pw_ternary(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);

/* kernels of their own files, for the table in pointwise.c */
PyObject *pw_clamp_min(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *pw_clamp_max(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *pw_frexp(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
enum { PW_COMPLEX, PW_POLAR };
PyObject *pw_parts(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);

/* rows: each family file lists its rows in an .inc, read here, in its .c file and in the kernel table */
#define ROW(set, name, fn, kind, flags, arity, msg) extern const PwRow pw_row_##name;
#include "pointwise/pw_unary.inc"
#include "pointwise/pw_binary.inc"
#include "pointwise/pw_activation.inc"
#undef ROW
/* loops a row has: every type; real; float and double; ... D: double alone, C: complex128 as well (which serves
 * complex64) */
#define PW_SET_ALL(f) {f##_i32, f##_i64, f##_f32, f##_f64, f##_c64, f##_c128}
#define PW_SET_REAL(f) {f##_i32, f##_i64, f##_f32, f##_f64, NULL, NULL}
#define PW_SET_REALC(f) {f##_i32, f##_i64, f##_f32, f##_f64, NULL, f##_c128}
#define PW_SET_INT(f) {f##_i32, f##_i64, NULL, NULL, NULL, NULL}
#define PW_SET_F(f) {NULL, NULL, f##_f32, f##_f64, NULL, NULL}
#define PW_SET_FC(f) {NULL, NULL, f##_f32, f##_f64, NULL, f##_c128}
#define PW_SET_D(f) {NULL, NULL, NULL, f##_f64, NULL, NULL}
#define PW_SET_DC(f) {NULL, NULL, NULL, f##_f64, NULL, f##_c128}

/* ---- loops ---- */
/* PW_RUNS: for what memory limits. Four vectors of each input are read before the next input: 10 % faster in WASM,
 * where the compiler would take one. */
#if defined(__clang__)
#define PW_VEC _Pragma("clang loop vectorize(assume_safety)")
#define PW_RUNS _Pragma("clang loop vectorize(assume_safety) interleave_count(4)")
#define PW_EACH _Pragma("clang loop vectorize(disable)") /* where lanes have no instruction, as shifts in WASM */
#else
#define PW_VEC _Pragma("GCC ivdep")
#define PW_RUNS PW_VEC
#define PW_EACH
#endif
/* the parameters in a local, so that reading one is no memory access that keeps a loop from becoming vectors */
#define PW_LOCAL const PwParams p_ = *p; p = &p_; (void)p
/* out may be exactly one of the inputs: each element is read before it is written */
#define PW_L1(fn, TO, T, EXPR) \
  static void fn(const PwParams *p, void *out, const void *const *in, int64_t n) { \
    TO *o = out; const T *A = in[0]; PW_LOCAL; \
    PW_VEC for (intptr_t i = 0; i < (intptr_t)n; i++) { T a = A[i]; o[i] = (EXPR); } \
  }
#define PW_LOOP2(HOW, fn, TO, T, EXPR) \
  static void fn(const PwParams *p, void *out, const void *const *in, int64_t n) { \
    TO *o = out; const T *A = in[0], *B = in[1]; PW_LOCAL; \
    HOW for (intptr_t i = 0; i < (intptr_t)n; i++) { T a = A[i], b = B[i]; o[i] = (EXPR); } \
  }
#define PW_L2(fn, TO, T, EXPR) PW_LOOP2(PW_VEC, fn, TO, T, EXPR)
#define PW_L3(fn, TO, T, EXPR) \
  static void fn(const PwParams *p, void *out, const void *const *in, int64_t n) { \
    TO *o = out; const T *A = in[0], *B = in[1], *C = in[2]; PW_LOCAL; \
    PW_VEC for (intptr_t i = 0; i < (intptr_t)n; i++) { T a = A[i], b = B[i], c = C[i]; o[i] = (EXPR); } \
  }
/* Four lanes at a time; pw_by_fours puts the rest through the same code in a padded vector, so position does not change
 * a result. */
typedef void (*pw_loop4)(const PwParams *p, float *out, const float *const *in, intptr_t n);
void pw_by_fours(pw_loop4 loop, int nin, const PwParams *p, void *out, const void *const *in, int64_t n);
#define PW_V(fn, nin, EXPR) \
  static void fn##4(const PwParams *p, float *o, const float *const *in, intptr_t n) { \
    const float *A = in[0], *B = in[nin - 1]; PW_LOCAL; \
    for (intptr_t i = 0; i < n; i += 4) { \
      v4f a = v4_load(A + i), b = v4_load(B + i); \
      (void)b; \
      v4_store(o + i, EXPR); \
    } \
  } \
  static void fn(const PwParams *p, void *out, const void *const *in, int64_t n) { \
    pw_by_fours(fn##4, nin, p, out, in, n); \
  }
/* Of one operand, sixteen at a time by PLAIN where none of them is ODD: a test for every four took half as long as a
 * logarithm. ANY is the expression for all. */
#define PW_V_LONG(fn, ODD, PLAIN, ANY) \
  static void fn##4(const PwParams *p, float *o, const float *const *in, intptr_t n) { \
    const float *A = in[0]; PW_LOCAL; \
    intptr_t i = 0; \
    for (; i + 16 <= n; i += 16) { \
      v4i odd = {0}; \
      for (int k = 0; k < 16; k += 4) { v4f a = v4_load(A + i + k); odd |= (ODD); } \
      if (v4_any(odd)) for (int k = 0; k < 16; k += 4) { v4f a = v4_load(A + i + k); v4_store(o + i + k, ANY); } \
      else for (int k = 0; k < 16; k += 4) { v4f a = v4_load(A + i + k); v4_store(o + i + k, PLAIN); } \
    } \
    for (; i < n; i += 4) { v4f a = v4_load(A + i); v4_store(o + i, ANY); } \
  } \
  static void fn(const PwParams *p, void *out, const void *const *in, int64_t n) { \
    pw_by_fours(fn##4, 1, p, out, in, n); \
  }
#define PW_V1(fn, EXPR) PW_V(fn, 1, (EXPR))
#define PW_V2(fn, EXPR) PW_V(fn, 2, (EXPR))
#endif
