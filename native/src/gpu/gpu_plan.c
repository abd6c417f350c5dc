/* gpu_plan.c: the kernel rows that C plans for the usual arguments. */
#include "gpu/gpu.h"

static const struct {
  const char *row;
  GpuPlanner *plan;
} planners[] = {
  {"_attention", gpu_plan_attention},  {"bmm", gpu_plan_bmm},       {"cat", gpu_plan_cat},
  {"layer_norm", gpu_plan_layer_norm}, {"linear", gpu_plan_linear}, {"log_softmax", gpu_plan_log_softmax},
  {"matmul", gpu_plan_matmul},         {"mm", gpu_plan_mm},         {"native_layer_norm", gpu_plan_native_layer_norm},
  {"softmax", gpu_plan_softmax},       {"stack", gpu_plan_stack},
};

int tl_gpu_plan(const char *row, PyObject *const *a, PyObject **result) {
  for (size_t i = 0; i < sizeof planners / sizeof *planners; i++)
    if (!strcmp(row, planners[i].row)) return planners[i].plan(a, result);
  return 0;
}
