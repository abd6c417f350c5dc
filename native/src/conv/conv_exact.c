/* conv_exact.c: convolutions of numbers that are not finite, where no padded zero may be multiplied: 0 * NaN is NaN.
 * The fast loops work on padded copies. In the cases that come here PyTorch skips elements outside of the image. */
#include "conv/conv.h"

static int64_t vol(const int64_t *v) { return v[0] * v[1] * v[2]; }

#define NOT_FINITE(name, U, MASK) \
  static bool name(const char *p, int64_t n) { \
    U found = 0; \
    for (int64_t i = 0; i < n; i++) { \
      U v; \
      memcpy(&v, p + (size_t)i * sizeof v, sizeof v); \
      found |= (v & (MASK)) == (MASK); \
    } \
    return found; \
  }
NOT_FINITE(not_finite_32, uint32_t, 0x7f800000u)
NOT_FINITE(not_finite_64, uint64_t, 0x7ff0000000000000u)

bool tl_conv_not_finite(tl_dtype dt, const void *p, int64_t n) {
  bool found = false;
  if (dt == TL_F32) found = not_finite_32(p, n);
  if (dt == TL_F64) found = not_finite_64(p, n);
  return found;
}

/* strides of one side (x or y) between images, between channels of a group, and between pixels */
typedef struct {
  int64_t image, channel, pixel;
} Side;

static Side side(const TlConv *c, int64_t channels, const int64_t *size, bool last) {
  const int64_t all = c->groups * channels;
  return last ? (Side){vol(size) * all, 1, all} : (Side){vol(size) * all, vol(size), 1};
}

/* one tap of one channel of one image */
#define TAP(name, T) \
  static void name(const TlConv *c, bool data, const int64_t *t, T *x, int64_t xp, T w, T *y, int64_t yp) { \
    for (int64_t z = 0; z < c->y[0]; z++) \
      for (int64_t r = 0; r < c->y[1]; r++) \
        for (int64_t q = 0; q < c->y[2]; q++, y += yp) { \
          const int64_t at[3] = {z * c->s[0] + t[0], r * c->s[1] + t[1], q * c->s[2] + t[2]}; \
          bool inside = true; \
          for (int i = 0; i < 3; i++) inside &= at[i] >= 0 && at[i] < c->x[i]; \
          if (!inside) continue; \
          T *v = x + ((at[0] * c->x[1] + at[1]) * c->x[2] + at[2]) * xp; \
          if (data) *v += w * *y; \
          else *y += w * *v; \
        } \
  }
TAP(tap_f32, float)
TAP(tap_f64, double)

/* the result before the first product: 0, or the bias of its channel */
static void begin(size_t e, char *p, int64_t n, int64_t channels, int64_t pixels, bool last, const char *bias) {
  if (!bias) memset(p, 0, (size_t)(n * channels * pixels) * e);
  for (int64_t i = 0; bias && i < n * channels * pixels; i++)
    memcpy(p + (size_t)i * e, bias + (size_t)(last ? i % channels : i / pixels % channels) * e, e);
}

int tl_conv_exact(const TlConv *c, tl_dtype dt, bool data, bool last, void *x, const void *w, void *y,
                  const void *bias) {
  const size_t e = tl_itemsize[dt];
  const Side sx = side(c, c->xc, c->x, last), sy = side(c, c->yc, c->y, last);
  const int64_t taps = vol(c->k);
  if (data) begin(e, x, c->n, c->groups * c->xc, vol(c->x), last, bias);
  else begin(e, y, c->n, c->groups * c->yc, vol(c->y), last, bias);
  int rc = 0;
  for (int64_t n = 0; n < c->n && !rc; n++)
    for (int64_t o = 0; o < c->groups * c->yc && !rc; o++) {
      for (int64_t i = 0; i < c->xc; i++)
        for (int64_t k = 0; k < taps; k++) {
          const int64_t t[3] = {k / (c->k[1] * c->k[2]) * c->d[0] - c->p[0], k / c->k[2] % c->k[1] * c->d[1] - c->p[1],
                                k % c->k[2] * c->d[2] - c->p[2]},
                        xo = n * sx.image + (o / c->yc * c->xc + i) * sx.channel, yo = n * sy.image + o * sy.channel,
                        wo = o * c->xc * taps + (last ? k * c->xc + i : i * taps + k);
          if (dt == TL_F32)
            tap_f32(c, data, t, (float *)x + xo, sx.pixel, ((const float *)w)[wo], (float *)y + yo, sy.pixel);
          else tap_f64(c, data, t, (double *)x + xo, sx.pixel, ((const double *)w)[wo], (double *)y + yo, sy.pixel);
        }
      rc = tl_check_interrupt();
    }
  return rc ? -1 : 0;
}
