/* errors.h: PyTorch's errors that several files raise, each text once. They return -1, or NULL. */
#ifndef TL_ERRORS_H
#define TL_ERRORS_H
#include "core/tl.h"

/* "value cannot be converted to type int8_t without overflow" */
int tl_conversion_error(const char *cpp_type);
/* "expected scalar type Float but found Double" */
int tl_scalar_type_error(tl_dtype expected, tl_dtype found);
/* "gelu_cpu" not implemented for 'Long' */
PyObject *tl_not_implemented(const char *kernel, tl_dtype dtype);

/* a size below 0 in a shape; None for a shape */
int tl_negative_size_error(int64_t size, int ndim, const int64_t *shape);
int tl_no_shape_error(void);
/* two sizes that do not broadcast; an output that is not as large as its broadcast operands; a tensor that cannot be
 * expanded: its size in one dim of the shape that is asked for */
int tl_size_error(int64_t a, int64_t b, int dim);
int tl_output_shape_error(const TlTensor *out, int ndim, const int64_t *shape);
int tl_expand_error(int dim, int64_t size, int ndim, const int64_t *shape, const TlTensor *t);

/* an index outside a dim, as an exception of this type; a dim twice in a list; a dim of a tensor without dims */
int tl_index_error(PyObject *type, int64_t index, int dim, int64_t size);
int tl_repeated_dim_error(int dim);
int tl_no_dims_error(int64_t dim);
#endif
