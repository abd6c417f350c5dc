/* check.h: checks of arguments by which kernels index memory. Each returns 0, or raises RuntimeError and returns -1. op
 * and name appear in the message: "op(): expected name of shape [2, 3], got [4]". */
#ifndef TL_CHECK_H
#define TL_CHECK_H
#include "core/tl.h"

int tl_check_shape(const char *op, const char *name, const TlTensor *t, int ndim, const int64_t *shape);
int tl_check_same(const char *op, const char *name, const TlTensor *t, const TlTensor *like);
/* one dim more or less: the first dims of t are the first of shape, and t has ndim of them in all */
int tl_check_batch(const char *op, const char *name, const TlTensor *t, int ndim, int batch, const int64_t *shape);
int tl_check_dims(const char *op, const char *name, const TlTensor *t, int lo, int hi);
/* an int, and exactly n ints, in a range */
int tl_int_in(PyObject *o, const char *op, const char *name, int64_t lo, int64_t hi, int64_t *out);
int tl_ints_in(PyObject *o, const char *op, const char *name, int n, int64_t lo, int64_t hi, int64_t *out);
/* The product of sizes, *out (may be NULL). An error where even that of those that are not 0 has no place in 62 bits,
 * so that no product of a part of them overflows. */
int tl_product(int n, const int64_t *sizes, int64_t *out);
#endif
