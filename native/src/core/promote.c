/* promote.c: PyTorch's type promotion. */
#include "pointwise/pointwise.h"

/* At least one of the two, which differ, is limited (or TL_NUM_DTYPES, from an error before). */
static tl_dtype promote_limited(tl_dtype a, tl_dtype b) {
  const uint32_t both = 1u << a | 1u << b;
  const char *types = NULL;
  if (both >> TL_NUM_DTYPES & 1) return TL_NUM_DTYPES;
  if ((a >= TL_F8E4M3FN && a <= TL_F8E8M0FNU) || (b >= TL_F8E4M3FN && b <= TL_F8E8M0FNU)) types = "Float8 Types";
  else if (both & TL_UNSIGNED) {
    if (tl_is_float(a)) return a;
    if (tl_is_float(b)) return b;
    types = "uint16, uint32, uint64 types";
  } else if (both >> TL_F4E2M1FNX2 & 1) types = "Float4_e2m1fn_x2";
  if (!types) { /* complex32 */
    const tl_dtype other = a == TL_C32 ? b : a;
    if (tl_is_complex(other)) return other;
    return tl_is_float(other) ? tl_complex_of(other) : TL_C32;
  }
  PyErr_Format(PyExc_RuntimeError, "Promotion for %s is not supported, attempted to promote %s and %s", types,
               tl_scalar_type[a], tl_scalar_type[b]);
  return TL_NUM_DTYPES;
}

tl_dtype tl_promote(tl_dtype a, tl_dtype b) {
  if (a == b) return a;
  if (a > TL_C128 || b > TL_C128) return promote_limited(a, b);
  if (a > b) {
    tl_dtype t = a;
    a = b;
    b = t;
  }
  /* now a < b in the order bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128 */
  if (b == TL_C64) return a == TL_F64 ? TL_C128 : TL_C64;
  if (a == TL_U8 && b == TL_I8) return TL_I16;
  if (a == TL_F16 && b == TL_BF16) return TL_F32;
  return b;
}

static int higher(int a, int b) { /* below 0: none */
  if (a < 0 || b < 0) return a < 0 ? b : a;
  return tl_promote((tl_dtype)a, (tl_dtype)b);
}

/* tensors with dimensions outrank 0-dim tensors, those outrank numbers, unless the lower one is of a higher category */
static int combine(int hi, int lo) {
  if (hi < 0 || lo == TL_NUM_DTYPES) return lo;
  if (lo < 0 || hi == TL_NUM_DTYPES || tl_is_complex((tl_dtype)hi)) return hi;
  if (tl_is_float((tl_dtype)hi)) {
    if (!tl_is_complex((tl_dtype)lo)) return hi;
    if (!tl_is_limited((tl_dtype)hi)) return (int)tl_complex_of((tl_dtype)hi);
    PyErr_Format(PyExc_RuntimeError, "Unknown Complex ScalarType for %s", tl_scalar_type[hi]);
    return TL_NUM_DTYPES;
  }
  if (TL_UNSIGNED >> hi & 1 && tl_is_complex((tl_dtype)lo)) return lo;
  if (hi == TL_BOOL || !tl_is_integral((tl_dtype)lo)) return tl_promote((tl_dtype)hi, (tl_dtype)lo);
  return hi;
}

int tl_number_dtype(PyObject *o) {
  if (PyBool_Check(o)) return TL_BOOL;
  if (PyLong_Check(o)) return TL_I64;
  if (PyFloat_Check(o)) return tl_default_dtype;
  if (PyComplex_Check(o)) return (int)tl_complex_of(tl_default_dtype);
  return -1;
}

int tl_result_type(Py_ssize_t nargs, PyObject *const *args, tl_dtype *out) {
  int dims = -1, zero = -1, wrapped = -1;
  for (Py_ssize_t i = 0; i < nargs; i++) {
    PyObject *o = args[i];
    if (o == Py_None) continue;
    if (TL_CHECK(o)) {
      const TlTensor *t = (const TlTensor *)o;
      int d = t->dtype;
      if (t->flags & TL_WRAPPED_NUMBER) {
        if (tl_is_complex((tl_dtype)d)) d = tl_complex_of(tl_default_dtype);
        else if (tl_is_float((tl_dtype)d)) d = tl_default_dtype;
        wrapped = higher(wrapped, d);
      } else if (t->ndim > 0) dims = higher(dims, d);
      else zero = higher(zero, d);
      continue;
    }
    int d = tl_number_dtype(o);
    if (d < 0 && PyIndex_Check(o)) d = TL_I64;
    if (d < 0) {
      PyErr_Format(PyExc_TypeError, "expected a Tensor or a number, got %R", (PyObject *)Py_TYPE(o));
      return -1;
    }
    wrapped = higher(wrapped, d);
  }
  int r = combine(dims, combine(zero, wrapped));
  if (r == TL_NUM_DTYPES) return -1;
  *out = r < 0 ? tl_default_dtype : (tl_dtype)r;
  return 0;
}

bool tl_can_cast(tl_dtype from, tl_dtype to) {
  if (tl_is_complex(from) && !tl_is_complex(to)) return false;
  if (tl_is_float(from) && tl_is_integral(to)) return false;
  return to != TL_BOOL || from == TL_BOOL;
}

int tl_check_cast(tl_dtype from, tl_dtype to) {
  if (tl_can_cast(from, to)) return 0;
  PyErr_Format(PyExc_RuntimeError, "result type %s can't be cast to the desired output type %s", tl_scalar_type[from],
               tl_scalar_type[to]);
  return -1;
}
