/* create.h: the factory kernels, for the table in shape.c. */
#ifndef TL_CREATE_H
#define TL_CREATE_H
#include "core/tl.h"

enum { TL_EMPTY, TL_ZEROS, TL_ONES, TL_FULL }; /* ids of tl_k_new, tl_k_like, tl_k_new_like */
enum { TL_LINSPACE, TL_LOGSPACE };
PyObject *tl_k_new(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out);
PyObject *tl_k_full(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out);
PyObject *tl_k_like(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out);
PyObject *tl_k_new_like(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out);
enum { TL_EYE, TL_EYE_M }; /* the position of the second size */
PyObject *tl_k_eye(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out);
enum { TL_ARANGE, TL_ARANGE_START, TL_ARANGE_STEP }; /* the position of the last number */
PyObject *tl_k_arange(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out);
PyObject *tl_k_linspace(const TlKernel *k, PyObject *const *a, Py_ssize_t n_, TlTensor *out);
#endif
