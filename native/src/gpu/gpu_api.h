/* gpu_api.h: the functions of the webgpu device (gpu*.c) that the dispatcher and device.c call. */
#ifndef TL_GPU_API_H
#define TL_GPU_API_H
#include "core/tl.h"

PyObject *tl_gpu_owner(int64_t nbytes); /* a buffer for a new storage */
/* Raises if there are more elements than kernels can count (31 bits). Expanded tensors and expressions need no memory,
 * so no allocation has refused them before. itemsize: of a result that needs memory, else 0. */
int tl_gpu_countable(int ndim, const int64_t *shape, int itemsize);
PyObject *tl_gpu_module(PyObject *m, PyObject *unused);
/* Runs an element-wise op from the overload's entries. Returns 1 with *result (NULL: an exception), or 0 if no entry
 * fits: the caller goes through Python then. */
int tl_gpu_op(const void *entries, PyObject *const *a, int n, bool inplace, PyObject **result);
/* Runs an op by its kernel row's planner in C (gpu_plan.c), if there is one. The result is as tl_gpu_op's. */
int tl_gpu_plan(const char *row, PyObject *const *a, PyObject **result);
/* dst[...] = src without autograd: all of a buffer, or a cast, which is lazy. 1: done; 0: another case, for Python; -1:
 * an exception. */
int tl_gpu_copy(TlTensor *dst, TlTensor *src);
void tl_gpu_forget(void *entries); /* frees an overload's entries */
#endif
