/* vexpn.h: exp of four floats, for softmax and logsumexp, whose arguments are not positive: half the work of vm_exp.
 * 2 ulp for x > -10, 5 ulp below. Results below 2^-126 are flushed to 0, exp(0) is 1, NaN stays. Wrong for x > 88. */
#ifndef TL_VEXPN_H
#define TL_VEXPN_H
#include "math/simd.h"

static inline __attribute__((always_inline)) v4f vm_exp_neg(v4f x) {
  const v4f magic = v4_const(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
  v4i dead = (v4i)(x < v4_const(-87.3f));
  v4f t = v4_madd(x, v4_const(1.44269504088896341f), magic), n = t - magic;
#if defined(__wasm_relaxed_simd__) || defined(__FMA__)
  v4f r = v4_madd(n, v4_const(-0.693147182464599609f), x); /* exact product: one constant will do */
#else
  v4f r = v4_madd(n, v4_const(-1.42860682030941723e-6f), v4_madd(n, v4_const(-0.693145751953125f), x));
#endif
  /* least largest relative error on |r| <= ln(2)/2, found by reweighted least squares on Chebyshev nodes */
  v4f p = v4_madd(v4_const(8.2902295799e-3f), r, v4_const(4.1898390188e-2f));
  p = v4_madd(p, r, v4_const(1.6667640061e-1f));
  p = v4_madd(p, r, v4_const(4.9999146148e-1f));
  p = v4_madd(p, r, v4_const(9.9999970544e-1f));
  p = v4_madd(p, r, v4_const(1.0f));
  v4f s = (v4f)(((v4u)t << 23) + (v4u)v4i_const(127 << 23)); /* dead lanes may wrap */
  return (v4f)((v4i)(p * s) & ~dead);
}
#endif
