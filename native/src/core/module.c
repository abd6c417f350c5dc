/* module.c: the extension module torchlite._C. */
#include "core/core.h"
#include "math/special.h"

static PyObject *result_type(PyObject *m, PyObject *const *args, Py_ssize_t n) {
  (void)m;
  tl_dtype d;
  if (tl_result_type(n, args, &d) < 0) return NULL;
  return tl_dtype_object(d);
}
static int two_dtypes(PyObject *args, tl_dtype *x, tl_dtype *y) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "OO", &a, &b)) return -1;
  return tl_dtype_arg(a, TL_F32, x) < 0 ? -1 : tl_dtype_arg(b, TL_F32, y);
}
static PyObject *promote_types(PyObject *m, PyObject *args) {
  (void)m;
  tl_dtype x, y;
  if (two_dtypes(args, &x, &y) < 0) return NULL;
  tl_dtype r = tl_promote(x, y);
  return r == TL_NUM_DTYPES ? NULL : tl_dtype_object(r);
}
static PyObject *can_cast(PyObject *m, PyObject *args) {
  (void)m;
  tl_dtype x, y;
  return two_dtypes(args, &x, &y) < 0 ? NULL : PyBool_FromLong(tl_can_cast(x, y));
}
static PyObject *check_room(PyObject *m, PyObject *args) {
  PyObject *number, *dtype;
  tl_dtype d;
  (void)m;
  if (!PyArg_ParseTuple(args, "OO", &number, &dtype) || tl_dtype_arg(dtype, TL_F32, &d) < 0 ||
      tl_check_room(number, d) < 0)
    return NULL;
  Py_RETURN_NONE;
}
static PyObject *check_cast(PyObject *m, PyObject *args) {
  (void)m;
  tl_dtype x, y;
  if (two_dtypes(args, &x, &y) < 0 || tl_check_cast(x, y) < 0) return NULL;
  Py_RETURN_NONE;
}
static PyMethodDef functions[] = {
  {"result_type", (PyCFunction)(void *)result_type, METH_FASTCALL, "result_type(*tensors and numbers)"},
  {"promote_types", promote_types, METH_VARARGS, "promote_types(type1, type2)"},
  {"can_cast", can_cast, METH_VARARGS, "can_cast(from, to)"},
  {"check_room", check_room, METH_VARARGS, "check_room(number, dtype): PyTorch's error where it does not fit."},
  {"check_cast", check_cast, METH_VARARGS, "check_cast(from, to): PyTorch's error where a result cannot be cast."},
  {0}};

/* (name, ScalarType, C++ type, bytes) of each dtype, by its number */
static PyObject *dtype_table(void) {
  PyObject *rows = PyTuple_New(TL_NUM_DTYPES);
  for (int d = 0; rows && d < TL_NUM_DTYPES; d++) {
    PyObject *row = Py_BuildValue("(sssi)", tl_dtype_name[d], tl_scalar_type[d], tl_cpp_type[d], tl_itemsize[d]);
    if (!row || PyTuple_SetItem(rows, d, row) < 0) Py_CLEAR(rows);
  }
  return rows;
}

/* the numbers of the webgpu bridge's commands, by name */
static PyObject *command_table(void) {
  static const struct {
    const char *name;
    int number;
  } commands[] = {
#define COMMAND(number, name, words) {#name, number},
#include "gpu/commands.inc"
#undef COMMAND
  };
  PyObject *table = PyDict_New();
  for (size_t i = 0; table && i < sizeof commands / sizeof *commands; i++) {
    PyObject *number = PyLong_FromLong(commands[i].number);
    if (!number || PyDict_SetItemString(table, commands[i].name, number) < 0) Py_CLEAR(table);
    Py_XDECREF(number);
  }
  return table;
}

static struct PyModuleDef def = {
  PyModuleDef_HEAD_INIT, "_C", "Native core of torchlite.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__C(void) {
#if defined(TL_BASELINE)
  const TlInit newer = tl_newer();
  if (newer) return newer();
#endif
  PyObject *m = PyModule_Create(&def);
  if (!m) return NULL;
  static const TlKernel *const families[] = {tl_kernels_view,  tl_kernels_pointwise, tl_kernels_reduce, tl_kernels_scan,
                                             tl_kernels_index, tl_kernels_shape,     tl_kernels_matmul, tl_kernels_conv,
                                             tl_kernels_pool,  tl_kernels_norm,      tl_kernels_random, tl_kernels_sort,
                                             tl_kernels_optim, tl_kernels_linalg,    tl_kernels_fft};
  sp_prepare();
  if (tl_graph_init(m) < 0 || tl_engine_init(m) < 0 || tl_grad_mode_init(m) < 0 || tl_size_init(m) < 0 ||
      tl_module_type_init(m) < 0 || tl_storage_init(m) < 0 || tl_tensor_init(m) < 0 || tl_geometry_init(m) < 0 ||
      tl_op_init(m) < 0 || tl_profile_init(m) < 0 || tl_override_init(m) < 0 || tl_parallel_init() < 0 ||
      PyModule_AddFunctions(m, tl_args_functions) < 0 || PyModule_AddFunctions(m, tl_data_functions) < 0 ||
      PyModule_AddFunctions(m, tl_device_functions) < 0 || PyModule_AddFunctions(m, tl_number_functions) < 0 ||
      PyModule_AddFunctions(m, tl_create_functions) < 0 || PyModule_AddFunctions(m, tl_dlpack_functions) < 0 ||
      PyModule_AddFunctions(m, tl_parallel_functions) < 0 || PyModule_AddFunctions(m, tl_record_functions) < 0)
    goto fail;
  PyObject *dtypes = dtype_table();
  if (!dtypes || PyModule_AddObject(m, "dtype_table", dtypes) < 0) {
    Py_XDECREF(dtypes);
    goto fail;
  }
  PyObject *commands = command_table();
  if (!commands || PyModule_AddObject(m, "commands", commands) < 0) {
    Py_XDECREF(commands);
    goto fail;
  }
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (tl_add_kernels(families[i]) < 0) goto fail;
  return m;
fail:
  Py_DECREF(m);
  return NULL;
}
