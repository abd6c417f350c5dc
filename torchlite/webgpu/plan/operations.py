"""The kernels' element-wise operations without the complex ones. `npm run operations` (js_bridge) writes this."""

OPERATIONS = frozenset(
    """
neg abs sign sgn square ceil floor trunc round frac exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal
sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid erf erfc erfinv lgamma digamma sinc i0
polygamma deg2rad rad2deg logit logit_eps round_decimals round_tens frexp_mantissa frexp_exponent angle
conj_physical nan_to_num logical_not bitwise_not isnan isinf isfinite isposinf isneginf signbit add sub rsub
mul div div_trunc floor_divide remainder fmod pow maximum minimum fmax fmin atan2 hypot copysign nextafter
xlogy special_xlog1py logaddexp logaddexp2 heaviside gcd lcm bitwise_and bitwise_or bitwise_xor
bitwise_left_shift bitwise_right_shift eq ne lt le gt ge logical_and logical_or logical_xor igamma igammac
special_zeta add_scaled sub_scaled addcmul addcdiv lerp clamp clamp_min clamp_max where cast relu threshold
hardtanh gelu gelu_tanh silu elu leaky_relu hardswish hardsigmoid softplus mish log_sigmoid softshrink
hardshrink threshold_backward sigmoid_backward tanh_backward gelu_backward gelu_tanh_backward silu_backward
elu_backward elu_result_backward leaky_relu_backward hardtanh_backward hardswish_backward hardsigmoid_backward
softplus_backward mish_backward log_sigmoid_backward shrink_backward logit_backward_eps logit_backward
special_i0e special_i1 special_i1e special_ndtri special_log_ndtr special_erfcx special_entr special_bessel_j0
special_bessel_j1 special_bessel_y0 special_bessel_y1 special_modified_bessel_i0 special_modified_bessel_i1
special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0
special_scaled_modified_bessel_k1 special_spherical_bessel_j0 special_airy_ai special_chebyshev_polynomial_t
special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w
special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l
special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
""".split()
)
# those whose result is a bool
TESTS = frozenset(
    """
logical_not isnan isinf isfinite isposinf isneginf signbit eq ne lt le gt ge logical_and logical_or
logical_xor
""".split()
)
