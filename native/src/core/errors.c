/* errors.c: PyTorch's errors that several files raise. */
#include "core/errors.h"

int tl_conversion_error(const char *cpp_type) {
  PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow", cpp_type);
  return -1;
}

int tl_scalar_type_error(tl_dtype expected, tl_dtype found) {
  PyErr_Format(PyExc_RuntimeError, "expected scalar type %s but found %s", tl_scalar_type[expected],
               tl_scalar_type[found]);
  return -1;
}

PyObject *tl_not_implemented(const char *kernel, tl_dtype dtype) {
  return PyErr_Format(PyExc_NotImplementedError, "\"%s\" not implemented for '%s'", kernel, tl_scalar_type[dtype]);
}

int tl_negative_size_error(int64_t size, int ndim, const int64_t *shape) {
  PyErr_Format(PyExc_RuntimeError, "Trying to create tensor with negative dimension %lld: %s", (long long)size,
               tl_fmt_shape(ndim, shape));
  return -1;
}

int tl_no_shape_error(void) {
  PyErr_SetString(PyExc_TypeError, "a shape must be a tuple of ints, not None");
  return -1;
}

int tl_size_error(int64_t a, int64_t b, int dim) {
  PyErr_Format(PyExc_RuntimeError,
               "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d",
               (long long)a, (long long)b, dim);
  return -1;
}

int tl_output_shape_error(const TlTensor *out, int ndim, const int64_t *shape) {
  PyErr_Format(PyExc_RuntimeError, "output with shape %s doesn't match the broadcast shape %s",
               tl_fmt_shape(out->ndim, out->shape), tl_fmt_shape(ndim, shape));
  return -1;
}

int tl_expand_error(int dim, int64_t size, int ndim, const int64_t *shape, const TlTensor *t) {
  PyErr_Format(PyExc_RuntimeError,
               "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton dimension "
               "%d.  Target sizes: %s.  Tensor sizes: %s",
               (long long)shape[dim], (long long)size, dim, tl_fmt_shape(ndim, shape), tl_fmt_shape(t->ndim, t->shape));
  return -1;
}

int tl_index_error(PyObject *type, int64_t index, int dim, int64_t size) {
  PyErr_Format(type, "index %lld is out of bounds for dimension %d with size %lld", (long long)index, dim,
               (long long)size);
  return -1;
}

int tl_repeated_dim_error(int dim) {
  PyErr_Format(PyExc_RuntimeError, "dim %d appears multiple times in the list of dims", dim);
  return -1;
}

int tl_no_dims_error(int64_t dim) {
  PyErr_Format(PyExc_IndexError, "Dimension specified as %lld but tensor has no dimensions", (long long)dim);
  return -1;
}
