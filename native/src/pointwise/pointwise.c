/* pointwise.c: the table of the element-wise kernels. */
#include "pointwise/pointwise.h"

#define ROW(set, name, fn, kind, flags, arity, msg) \
  PyObject *fn(const TlKernel *, PyObject *const *, Py_ssize_t, TlTensor *);
#include "pointwise/pw_unary.inc"
#include "pointwise/pw_binary.inc"
#include "pointwise/pw_activation.inc"
#undef ROW

const TlKernel tl_kernels_pointwise[] = {
#define ROW(set, name, fn, kind, flags, arity, msg) {#name, fn, 0, TL_K_OUT, &pw_row_##name},
#include "pointwise/pw_unary.inc"
#include "pointwise/pw_binary.inc"
#include "pointwise/pw_activation.inc"
#undef ROW
  {"clamp_min", pw_clamp_min, 0, TL_K_OUT, NULL},
  {"clamp_max", pw_clamp_max, 0, TL_K_OUT, NULL},
  {"complex", pw_parts, 0, 0, NULL},
  {"polar", pw_parts, 1, 0, NULL},
  {"frexp", pw_frexp, 0, 0, NULL},
  {0}};
