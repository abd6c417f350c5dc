"""What the kernels have: dtypes, element-wise operations and reductions. `npm run tables` (js_bridge) writes this.
The places of operations and of reductions are their numbers in descriptions of kernels."""

# what each dtype is computed in
DTYPES = {
    "bool": "i32",
    "uint8": "i32",
    "int8": "i32",
    "int16": "i32",
    "int32": "i32",
    "int64": "i64",
    "float16": "f32",
    "bfloat16": "f32",
    "float32": "f32",
}

# name:arity and letters. f, i, l: there is a form for floats, for integers and bools, for int64; b: one of its own for
# bools; r: integers are computed as floats; t: the result is a bool
OPERATIONS = dict(
    operation.split(":")
    for operation in """
neg:1fil abs:1fil sign:1fil sgn:1fil square:1fil ceil:1fil floor:1fil trunc:1fil round:1fil frac:1f exp:1fr
exp2:1fr expm1:1fr log:1fr log2:1fr log10:1fr log1p:1fr sqrt:1fr rsqrt:1fr reciprocal:1fr sin:1fr cos:1fr
tan:1fr asin:1fr acos:1fr atan:1fr sinh:1fr cosh:1fr tanh:1fr asinh:1fr acosh:1fr atanh:1fr sigmoid:1fr
erf:1fr erfc:1fr erfinv:1fr lgamma:1fr digamma:1fr sinc:1fr i0:1fr polygamma:2fr deg2rad:1fr rad2deg:1fr
logit:1fr logit_eps:2fr round_decimals:2fr round_tens:2fr frexp_mantissa:1fr frexp_exponent:1fr angle:1fr
conj_physical:1fil nan_to_num:4fil logical_not:1filt bitwise_not:1ilb isnan:1filt isinf:1filt isfinite:1filt
isposinf:1filt isneginf:1filt signbit:1filt add:2fil sub:2fil rsub:2fil mul:2fil div:2fr div_trunc:2fil
floor_divide:2fil div_trunc_float16:2f div_trunc_bfloat16:2f floor_divide_float16:2f floor_divide_bfloat16:2f
remainder:2fil fmod:2fil pow:2fil maximum:2fil minimum:2fil fmax:2fil fmin:2fil atan2:2fr hypot:2f
copysign:2fr nextafter:2f xlogy:2fr special_xlog1py:2fr logaddexp:2f logaddexp2:2f heaviside:2fil gcd:2il
lcm:2il bitwise_and:2il bitwise_or:2il bitwise_xor:2il bitwise_left_shift:2il bitwise_right_shift:2il eq:2filt
ne:2filt lt:2filt le:2filt gt:2filt ge:2filt logical_and:2filt logical_or:2filt logical_xor:2filt igamma:2fr
igammac:2fr special_zeta:2fr add_scaled:3fil sub_scaled:3fil addcmul:4fil addcdiv:4f lerp:3f clamp:3fil
clamp_min:2fil clamp_max:2fil where:3fil cast:1fil relu:1fil threshold:3fil hardtanh:3fil gelu:1f gelu_tanh:1f
silu:1f elu:4f leaky_relu:2f hardswish:1f hardsigmoid:1f softplus:3f mish:1f log_sigmoid:1f softshrink:2f
hardshrink:2f threshold_backward:3fi sigmoid_backward:2f tanh_backward:2f gelu_backward:2f
gelu_tanh_backward:2f silu_backward:2f elu_backward:5f elu_result_backward:5f leaky_relu_backward:3f
hardtanh_backward:4f hardswish_backward:2f hardsigmoid_backward:2f softplus_backward:4f mish_backward:2f
log_sigmoid_backward:2f shrink_backward:3f logit_backward_eps:3f logit_backward:2f special_i0e:1fr
special_i1:1fr special_i1e:1fr special_ndtri:1fr special_log_ndtr:1fr special_erfcx:1fr special_entr:1fr
special_bessel_j0:1fr special_bessel_j1:1fr special_bessel_y0:1fr special_bessel_y1:1fr
special_modified_bessel_i0:1fr special_modified_bessel_i1:1fr special_modified_bessel_k0:1fr
special_modified_bessel_k1:1fr special_scaled_modified_bessel_k0:1fr special_scaled_modified_bessel_k1:1fr
special_spherical_bessel_j0:1fr special_airy_ai:1fr special_chebyshev_polynomial_t:2fr
special_chebyshev_polynomial_u:2fr special_chebyshev_polynomial_v:2fr special_chebyshev_polynomial_w:2fr
special_hermite_polynomial_h:2fr special_hermite_polynomial_he:2fr special_laguerre_polynomial_l:2fr
special_legendre_polynomial_p:2fr special_shifted_chebyshev_polynomial_t:2fr
special_shifted_chebyshev_polynomial_u:2fr special_shifted_chebyshev_polynomial_v:2fr
special_shifted_chebyshev_polynomial_w:2fr complex_square:3fr complex_reciprocal:3fr complex_sgn:3fr
complex_exp:3fr complex_exp2:3fr complex_expm1:3fr complex_log:3fr complex_log2:3fr complex_log10:3fr
complex_log1p:3fr complex_sqrt:3fr complex_rsqrt:3fr complex_sinh:3fr complex_cosh:3fr complex_tanh:3fr
complex_sin:3fr complex_cos:3fr complex_tan:3fr complex_asin:3fr complex_acos:3fr complex_acosh:3fr
complex_asinh:3fr complex_atanh:3fr complex_atan:3fr complex_sigmoid:3fr complex_silu:3fr complex_sinc:3fr
complex_mul:5fr complex_div:5fr complex_pow:5fr complex_logaddexp:5fr
""".split()
)
# how many buffers the state of each needs between the two kernels of long rows
REDUCTIONS = {
    "sum": 1,
    "mean": 1,
    "prod": 1,
    "amax": 1,
    "amin": 1,
    "any": 1,
    "all": 1,
    "argmax": 2,
    "argmin": 2,
    "count_nonzero": 1,
    "norm2": 1,
    "var": 3,
    "std": 3,
    "rstd": 3,
    "logsumexp": 2,
}
