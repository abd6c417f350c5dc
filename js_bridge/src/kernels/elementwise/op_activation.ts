/** Activations and their gradients. Operands are the tensors, then the scalars, in the order of PyTorch's schemas. */
import { type OpTable, same } from "./op_def";

/**
 * threshold(x, threshold, value); hardtanh(x, min, max); elu(x, negcoef, poscoef, negiptcoef) with negcoef = alpha *
 * scale; softplus(x, beta, threshold). Backward: (grad, x or result, scalars of the forward).
 */
export const ACTIVATIONS = {
  relu: same(
    1,
    "select(x, 0.0, x <= 0.0 && !tl_isnan(x))",
    "max(x, 0)",
    "select(x, vec2<u32>(0u), tl_i64_negative(x))",
  ),
  threshold: same(3, "select(x, z, tl_le(x, y))", "select(x, z, x <= y)", "select(z, x, tl_i64_lt(y, x))"),
  hardtanh: same(3, "tl_min(tl_max(x, y), z)", "min(max(x, y), z)", "tl_i64_min(tl_i64_max(x, y), z)"),
  gelu: same(1, "tl_gelu(x)"),
  gelu_tanh: same(1, "tl_gelu_tanh(x)"),
  silu: same(1, "tl_silu(x)"),
  elu: same(4, "select(x * z, tl_expm1(x * w) * y, tl_le(x, 0.0))"),
  leaky_relu: same(2, "select(x * y, x, tl_lt(0.0, x))"),
  hardswish: same(1, "x * tl_min(tl_max(x + 3.0, 0.0), 6.0) / 6.0"),
  hardsigmoid: same(1, "tl_min(tl_max(x + 3.0, 0.0), 6.0) / 6.0"),
  softplus: same(3, "tl_softplus(x, y, z)"),
  mish: same(1, "tl_mish(x)"),
  log_sigmoid: same(1, "tl_log_sigmoid(x)"),
  softshrink: same(2, "select(select(select(0.0, x + y, tl_lt(x, -y)), x - y, tl_lt(y, x)), x, tl_isnan(x))"),
  hardshrink: same(2, "select(x, 0.0, tl_le(-y, x) && tl_le(x, y))"),
  threshold_backward: same(3, "select(x, 0.0, tl_le(y, z))", "select(x, 0, y <= z)"),
  sigmoid_backward: same(2, "x * (1.0 - y) * y"),
  tanh_backward: same(2, "x * (1.0 - y * y)"),
  gelu_backward: same(2, "x * tl_gelu_slope(y)"),
  gelu_tanh_backward: same(2, "x * tl_gelu_tanh_slope(y)"),
  silu_backward: same(2, "x * tl_silu_slope(y)"),
  elu_backward: same(5, "select(x * w, x * v * z * tl_exp(y * v), tl_le(y, 0.0))"),
  elu_result_backward: same(5, "select(x * w, x * v * (y + z), tl_le(y, 0.0))"),
  leaky_relu_backward: same(3, "select(x * z, x, tl_lt(0.0, y))"),
  hardtanh_backward: same(4, "select(x, 0.0, tl_le(y, z) || tl_le(w, y))"),
  hardswish_backward: same(2, "select(select(x, x * (y / 3.0 + 0.5), tl_lt(y, 3.0)), 0.0, tl_le(y, -3.0))"),
  hardsigmoid_backward: same(2, "select(0.0, x * 0.16666666666666666, tl_lt(-3.0, y) && tl_lt(y, 3.0))"),
  softplus_backward: same(4, "select(x * tl_sigmoid(y * z), x, tl_lt(w, y * z))"),
  mish_backward: same(2, "x * tl_mish_slope(y)"),
  log_sigmoid_backward: same(2, "x * tl_sigmoid(-y)"),
  shrink_backward: same(3, "select(x, 0.0, tl_le(-z, y) && tl_le(y, z))"),
  logit_backward_eps: same(
    3,
    "select(tl_div(x, abs(y) * (1.0 - y)), select(0.0, tl_nan(), z < 0.0), " +
      "tl_lt(y, max(z, 0.0)) || tl_lt(1.0 - max(z, 0.0), y))",
  ),
  logit_backward: same(2, "select(tl_div(x, abs(y) * (1.0 - y)), tl_nan(), tl_lt(y, 0.0) || tl_lt(1.0, y))"),
} as const satisfies OpTable;
