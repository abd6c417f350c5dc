/* rnn.h: a recurrent layer over a whole sequence, as its kernels (rnn.c) and their loops (rnn_impl.h) know it. */
#ifndef TL_RNN_H
#define TL_RNN_H
#include "core/tl.h"

enum { RNN_LSTM, RNN_GRU, RNN_TANH, RNN_RELU };

/* All memory is contiguous and of one type, float or double. Rows are steps times samples; a packed sequence has fewer
 * samples in later steps. A row of gates is
 *   LSTM: input, forget, cell and output gate, activated;
 *   GRU: reset and update gate, activated, W_hn h + b_hn, new gate, activated;
 *   RNN: the output itself.
 * Pointers may be NULL where the mode, or the call, has no such thing. */
typedef struct {
  int mode;
  bool reverse;
  int64_t steps, samples, rows; /* samples: of the largest step */
  int64_t in, hidden, out;      /* features; out is hidden, or the size of its projection */
  int64_t wide;                 /* of a row of gates: 4 or 1 times hidden */
  int64_t weights;              /* rows of w_ih and w_hh: 4, 3 or 1 times hidden */
  const int64_t *sizes;         /* samples of each step, NULL: all the same */
  const int64_t *starts;        /* its first row */
  const void *x, *h0, *c0, *w_ih, *w_hh, *b_ih, *b_hh, *w_hr;
  void *y, *hn, *cn, *gates, *cells; /* hn, cn: the running state */
} Rnn;

/* Gradients. dh and dc hold those of the last state, then of each step's, at the end of h0 and c0. */
typedef struct {
  const void *dy;
  void *dh, *dc, *dx, *dw_ih, *dw_hh, *db_ih, *db_hh, *dw_hr;
} RnnGrad;

static inline int64_t rnn_size(const Rnn *r, int64_t t) { return r->sizes ? r->sizes[t] : r->samples; }
static inline int64_t rnn_start(const Rnn *r, int64_t t) { return r->sizes ? r->starts[t] : t * r->samples; }
/* the row of the state before step t that sample b has: of an earlier step, or -1 where it starts here */
static inline int64_t rnn_before(const Rnn *r, int64_t t, int64_t b) {
  int64_t p = r->reverse ? t + 1 : t - 1;
  return p < 0 || p >= r->steps || b >= rnn_size(r, p) ? -1 : rnn_start(r, p) + b;
}

/* 0, or -1 with an exception set */
int rnn_forward_f32(const Rnn *r), rnn_forward_f64(const Rnn *r);
int rnn_backward_f32(const Rnn *r, const RnnGrad *g), rnn_backward_f64(const Rnn *r, const RnnGrad *g);
#endif
