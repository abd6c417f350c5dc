/* vexp.h: exp for four floats, about 1 ulp; inf, NaN and gradual underflow as expf. */
#ifndef TL_VEXP_H
#define TL_VEXP_H
#include "simd.h"

static inline v4f tl_vexp(v4f x) {
  const v4f magic = v4_set1(12582912.0f);          /* 1.5 * 2^23: adding it rounds to an integer */
  v4f lo = v4_set1(-104.0f), hi = v4_set1(89.0f);
  v4f c = v4_select(x < lo, lo, v4_select(x > hi, hi, x));   /* NaN passes both tests unchanged */
  v4f t = v4_madd(c, v4_set1(1.44269504088896341f), magic);
  v4f n = t - magic;
  v4f r = v4_madd(n, v4_set1(-0.693145751953125f), c);
  r = v4_madd(n, v4_set1(-1.42860682030941723212e-6f), r);
  /* exp(r) on |r| <= ln(2)/2: the well-known single precision minimax of degree 7 (Cephes) */
  v4f p = v4_set1(1.9875691500e-4f);
  p = v4_madd(p, r, v4_set1(1.3981999507e-3f));
  p = v4_madd(p, r, v4_set1(8.3334519073e-3f));
  p = v4_madd(p, r, v4_set1(4.1665795894e-2f));
  p = v4_madd(p, r, v4_set1(1.6666665459e-1f));
  p = v4_madd(p, r, v4_set1(5.0000001201e-1f));
  p = v4_madd(p * r, r, r) + v4_set1(1.0f);
  /* 2^n in two factors, so that results below the normal range are rounded once */
  v4i k = (v4i)t - (v4i)magic;
  v4i k1 = k >> 1, k2 = k - k1;
  v4f s1 = (v4f)((k1 + 127) << 23), s2 = (v4f)((k2 + 127) << 23);
  return p * s1 * s2;
}
#endif
