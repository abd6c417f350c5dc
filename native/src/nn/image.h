/* image.h: kernels of padding and resampling, for the tables in shape.c and pool.c. */
#ifndef TL_IMAGE_H
#define TL_IMAGE_H
#include "core/tl.h"

enum { TL_PAD_REFLECT, TL_PAD_REPLICATE, TL_PAD_CIRCULAR }; /* ids of tl_k_pad and its backward */
PyObject *tl_k_constant_pad(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_pad(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
PyObject *tl_k_pad_backward(const TlKernel *k, PyObject *const *a, Py_ssize_t n, TlTensor *out);
enum { TL_RESAMPLE, TL_RESAMPLE_BACKWARD }; /* ids of tl_k_resample */
PyObject *tl_k_resample(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out);
PyObject *tl_k_grid_sampler(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *unused);
PyObject *tl_k_grid_sampler_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *unused);
#endif
