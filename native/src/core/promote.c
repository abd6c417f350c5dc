/* promote.c: PyTorch's type promotion. */
#include "pointwise/pointwise.h"

tl_dtype tl_promote(tl_dtype a, tl_dtype b) {
  if (a == b) return a;
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
  if (hi < 0) return lo;
  if (lo < 0 || tl_is_complex((tl_dtype)hi)) return hi;
  if (tl_is_float((tl_dtype)hi)) return tl_is_complex((tl_dtype)lo) ? (int)tl_complex_of((tl_dtype)hi) : hi;
  if (hi == TL_BOOL || !tl_is_integral((tl_dtype)lo)) return tl_promote((tl_dtype)hi, (tl_dtype)lo);
  return hi;
}

int tl_number_dtype(PyObject *o) {
  if (PyBool_Check(o)) return TL_BOOL;
  if (PyLong_Check(o)) return TL_I64;
  if (PyFloat_Check(o)) return tl_default_dtype;
  if (PyComplex_Check(o)) return tl_default_dtype == TL_F64 ? TL_C128 : TL_C64;
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
