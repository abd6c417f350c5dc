/** Activations and their backward forms; scalars follow the tensors in the order of PyTorch's schemas. */
import type { OpDef } from "./op_table";

export type ActivationName =
  | "relu"
  | "threshold"
  | "hardtanh"
  | "gelu"
  | "gelu_tanh"
  | "silu"
  | "elu"
  | "leaky_relu"
  | "hardswish"
  | "hardsigmoid"
  | "softplus"
  | "mish"
  | "log_sigmoid"
  | "softshrink"
  | "hardshrink"
  | "threshold_backward"
  | "sigmoid_backward"
  | "tanh_backward"
  | "gelu_backward"
  | "gelu_tanh_backward"
  | "silu_backward"
  | "elu_backward"
  | "elu_result_backward"
  | "leaky_relu_backward"
  | "hardtanh_backward"
  | "hardswish_backward"
  | "hardsigmoid_backward"
  | "softplus_backward"
  | "mish_backward"
  | "log_sigmoid_backward"
  | "shrink_backward"
  | "logit_backward"
  | "logit_backward_eps";

const A = (arity: number, f: string, i?: string, l?: string): OpDef => ({
  arity,
  result: "same",
  f,
  ...(i && { i }),
  ...(l && { l }),
});

/**
 * threshold(x, threshold, value); hardtanh(x, min, max); elu(x, negcoef, poscoef, negiptcoef) with negcoef = alpha * scale;
 * softplus(x, beta, threshold). Backward: (grad, x or result, scalars of the forward).
 */
export const ACTIVATIONS: { readonly [K in ActivationName]: OpDef } = {
  relu: A(1, "select(x, 0.0, x <= 0.0 && !tl_isnan(x))", "max(x, 0)", "select(x, vec2<u32>(0u), tl_i64_negative(x))"),
  threshold: A(3, "select(x, z, tl_le(x, y))", "select(x, z, x <= y)", "select(z, x, tl_i64_lt(y, x))"),
  hardtanh: A(3, "tl_min(tl_max(x, y), z)", "min(max(x, y), z)", "tl_i64_min(tl_i64_max(x, y), z)"),
  gelu: A(1, "tl_gelu(x)"),
  gelu_tanh: A(1, "tl_gelu_tanh(x)"),
  silu: A(1, "tl_silu(x)"),
  elu: A(4, "select(x * z, tl_expm1(x * w) * y, tl_le(x, 0.0))"),
  leaky_relu: A(2, "select(x * y, x, tl_lt(0.0, x))"),
  hardswish: A(1, "x * tl_min(tl_max(x + 3.0, 0.0), 6.0) / 6.0"),
  hardsigmoid: A(1, "tl_min(tl_max(x + 3.0, 0.0), 6.0) / 6.0"),
  softplus: A(3, "tl_softplus(x, y, z)"),
  mish: A(1, "tl_mish(x)"),
  log_sigmoid: A(1, "tl_log_sigmoid(x)"),
  softshrink: A(2, "select(select(select(0.0, x + y, tl_lt(x, -y)), x - y, tl_lt(y, x)), x, tl_isnan(x))"),
  hardshrink: A(2, "select(x, 0.0, tl_le(-y, x) && tl_le(x, y))"),
  threshold_backward: A(3, "select(x, 0.0, tl_le(y, z))", "select(x, 0, y <= z)"),
  sigmoid_backward: A(2, "x * (1.0 - y) * y"),
  tanh_backward: A(2, "x * (1.0 - y * y)"),
  gelu_backward: A(2, "x * tl_gelu_slope(y)"),
  gelu_tanh_backward: A(2, "x * tl_gelu_tanh_slope(y)"),
  silu_backward: A(2, "x * tl_silu_slope(y)"),
  elu_backward: A(5, "select(x * w, x * v * z * tl_exp(y * v), tl_le(y, 0.0))"),
  elu_result_backward: A(5, "select(x * w, x * v * (y + z), tl_le(y, 0.0))"),
  leaky_relu_backward: A(3, "select(x * z, x, tl_lt(0.0, y))"),
  hardtanh_backward: A(4, "select(x, 0.0, tl_le(y, z) || tl_le(w, y))"),
  hardswish_backward: A(2, "select(select(x * (y / 3.0 + 0.5), x, tl_le(3.0, y)), 0.0, tl_le(y, -3.0))"),
  hardsigmoid_backward: A(2, "select(0.0, x * 0.16666666666666666, tl_lt(-3.0, y) && tl_lt(y, 3.0))"),
  softplus_backward: A(4, "select(x * tl_sigmoid(y * z), x, tl_lt(w, y * z))"),
  mish_backward: A(2, "x * tl_mish_slope(y)"),
  log_sigmoid_backward: A(2, "x * tl_sigmoid(-y)"),
  shrink_backward: A(3, "select(x, 0.0, tl_le(-z, y) && tl_le(y, z))"),
  logit_backward_eps: A(
    3,
    "select(tl_div(x, y * (1.0 - y)), select(0.0, tl_nan(), z < 0.0), tl_lt(y, max(z, 0.0)) || tl_lt(1.0 - max(z, 0.0), y))",
  ),
  logit_backward: A(2, "select(tl_div(x, y * (1.0 - y)), tl_nan(), tl_lt(y, 0.0) || tl_lt(1.0, y))"),
};
