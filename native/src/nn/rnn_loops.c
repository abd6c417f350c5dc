/* rnn_loops.c: the loops of rnn_impl.h, one instance per element type. */
#include "nn/rnn.h"
#include "math/vmath.h"
#include "products/gemm.h"

/* inlined twice, for whole vectors and for the end of a row */
#define LANE static inline __attribute__((always_inline))

#define T float
#define V v4f
#define L 4
#define V_ONE v4_set1(1.0f)
#define SIGMOID(x) vm_sigmoid(x)
#define TANH(x) vm_tanh(x)
#define ABOVE0(x, v) v4_select((v4i)((x) <= v4_set1(0.0f)), v4_set1(0.0f), v)
#define GEMM tl_gemm_f32
#define PANELS tl_gemm_panels_f32
#define F(name) name##_f32
#include "nn/rnn_impl.h"
#undef T
#undef V
#undef L
#undef V_ONE
#undef SIGMOID
#undef TANH
#undef ABOVE0
#undef GEMM
#undef PANELS
#undef F

#define T double
#define V double
#define L 1
#define V_ONE 1.0
#define SIGMOID(x) (1.0 / (1.0 + exp(-(x))))
#define TANH(x) tanh(x)
#define ABOVE0(x, v) ((x) <= 0 ? 0 : (v))
#define GEMM tl_gemm_f64
#define PANELS tl_gemm_panels_f64
#define F(name) name##_f64
#include "nn/rnn_impl.h"
