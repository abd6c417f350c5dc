/* pointwise.c: the table of the element-wise kernels. */
#include "pointwise/pointwise.h"

#define ROW(set, name, fn, kind, flags, arity, msg) \
  PyObject *fn(const TlKernel *, PyObject *const *, Py_ssize_t, TlTensor *);
#include "pointwise/pw_unary.inc"
#include "pointwise/pw_binary.inc"
#include "pointwise/pw_activation.inc"
#undef ROW

const TlKernel tl_kernels_pointwise[] = {
#define ROW(set, name, fn, kind, flags, arity, msg) {#name, fn, 0, TL_K_OUT | TL_K_META, &pw_row_##name},
#include "pointwise/pw_unary.inc"
#include "pointwise/pw_binary.inc"
#include "pointwise/pw_activation.inc"
#undef ROW
  {"clamp_min", pw_clamp_min, 0, TL_K_OUT | TL_K_META, NULL},
  {"clamp_max", pw_clamp_max, 0, TL_K_OUT | TL_K_META, NULL},
  {"complex", pw_parts, PW_COMPLEX, TL_K_META, NULL},
  {"polar", pw_parts, PW_POLAR, TL_K_META, NULL},
  {"frexp", pw_frexp, 0, TL_K_META, NULL},
  {0}};

bool pw_rule(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, tl_dtype *result, bool *second,
             bool *numbers_count) {
  PyObject *tensors[PW_MAX_IN];
  const PwRow *row = k->data;
  TlKernelFn fn = k->fn;
  int n = 0;
  if (fn == pw_act) { /* its operands are its tensors, and numbers are parameters */
    for (Py_ssize_t i = 0; i < nargs && n < row->arity; i++)
      if (TL_CHECK(args[i])) tensors[n++] = args[i];
    if (n < row->arity) return false;
    args = tensors;
  } else if (fn == pw_add) {
    int over;
    if (nargs > 2 && !(PyLong_CheckExact(args[2]) && PyLong_AsLongAndOverflow(args[2], &over) == 1)) return false;
  } else if (fn == pw_div) {
    if (nargs > 2 && args[2] != Py_None) return false;
  } else if (fn != pw_unary && fn != pw_binary && fn != pw_ternary && fn != pw_zero_checked) return false;
  *second = row->flags & PW_LEADS;
  *numbers_count = fn != pw_act && !(row->flags & PW_PARAM);
  return nargs >= row->arity && pw_result(row, row->arity, args, result);
}
