/* gpu_plan.c: the kernel rows that C plans for the usual arguments. */
#include "gpu/gpu.h"

static const struct {
  const char *row;
  GpuPlanner *plan;
} planners[] = {
  {"bmm", gpu_plan_bmm},         {"cat", gpu_plan_cat},     {"linear", gpu_plan_linear},
  {"matmul", gpu_plan_matmul},   {"mm", gpu_plan_mm},       {"log_softmax", gpu_plan_log_softmax},
  {"softmax", gpu_plan_softmax}, {"stack", gpu_plan_stack},
};

int tl_gpu_plan(const char *row, PyObject *const *a, PyObject **result) {
  for (size_t i = 0; i < sizeof planners / sizeof *planners; i++)
    if (!strcmp(row, planners[i].row)) return planners[i].plan(a, result);
  return 0;
}
