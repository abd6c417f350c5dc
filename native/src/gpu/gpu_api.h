/* gpu_api.h: what the dispatcher and device.c call of the webgpu device (gpu*.c). */
#ifndef TL_GPU_API_H
#define TL_GPU_API_H
#include "core/tl.h"

PyObject *tl_gpu_owner(int64_t nbytes); /* a buffer for a new storage */
/* Kernels count elements by 31 bits. Expanded tensors and expressions need no memory, so larger ones come this far: an
 * exception. itemsize: of a result that needs memory, else 0. */
int tl_gpu_countable(int ndim, const int64_t *shape, int itemsize);
PyObject *tl_gpu_module(PyObject *m, PyObject *unused);
/* Runs an element-wise op from what an overload remembers: 1 with *result (NULL: an exception), 0 where Python has to.
 */
int tl_gpu_op(const void *entries, PyObject *const *a, int n, bool inplace, PyObject **result);
void tl_gpu_forget(void *entries); /* frees what an overload remembers */
#endif
