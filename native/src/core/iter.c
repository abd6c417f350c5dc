/* iter.c: strided iteration over operands broadcast to one shape. */
#include "core/geometry.h"

void tl_iter_init(TlIter *it, int nops, TlTensor *const *ops, int ndim, const int64_t *shape) {
  int64_t strides[TL_MAX_OPERANDS][TL_MAX_DIMS];
  const int64_t *rows[TL_MAX_OPERANDS];
  int order[TL_MAX_DIMS], keep[TL_MAX_DIMS], n;
  for (int k = 0; k < nops; k++) {
    tl_broadcast_strides(ops[k], ndim, strides[k]);
    rows[k] = strides[k];
    it->ptrs[k] = tl_data(ops[k]);
  }
  tl_order_dims(nops, (const int64_t (*)[TL_MAX_DIMS])strides, ndim, shape, order);
  n = tl_coalesce(ndim, order, shape, nops, rows, NULL, it->shape, keep);
  for (int k = 0; k < nops; k++)
    for (int d = 0; d < n; d++)
      it->strides[k][d] = (intptr_t)tl_wrap_mul(strides[k][keep[d]], tl_itemsize[ops[k]->dtype]);
  if (n == 0) {
    n = 1;
    it->shape[0] = 1;
    for (int k = 0; k < nops; k++) it->strides[k][0] = 0;
  }
  it->nops = nops;
  it->ndim = n;
}

int64_t tl_due;
int tl_work(int64_t n) {
  if ((tl_due += n) < TL_PIECE) return 0;
  tl_due = 0;
  if (!PyErr_Occurred() && !PyErr_CheckSignals()) return 0;
  tl_due = TL_PIECE;
  return -1;
}
intptr_t tl_next_piece(intptr_t i) { return tl_check_interrupt() ? 0 : i + TL_PIECE; }
#if defined(__wasm__)
intptr_t tl_piece(intptr_t i, intptr_t n) { return n - i < TL_PIECE ? n : tl_next_piece(i); }
#endif

int tl_clear(char *p, uint64_t n) {
  for (uint64_t m; n; n -= m, p += m) {
    m = n < 16 * TL_PIECE ? n : 16 * TL_PIECE;
    memset(p, 0, (size_t)m);
    if (tl_work((int64_t)m / 16)) return -1;
  }
  return 0;
}

int tl_iter_run(TlIter *it, tl_loop_fn fn, void *ctx) {
  int64_t idx[TL_MAX_DIMS] = {0}, done = 0;
  char *p[TL_MAX_OPERANDS], *q[TL_MAX_OPERANDS];
  intptr_t inner[TL_MAX_OPERANDS];
  for (int d = 0; d < it->ndim; d++)
    if (it->shape[d] == 0) return 0;
  for (int k = 0; k < it->nops; k++) {
    p[k] = it->ptrs[k];
    inner[k] = it->strides[k][0];
  }
  for (;;) {
    for (int64_t at = 0; at < it->shape[0]; at += TL_PIECE) {
      int64_t n = it->shape[0] - at < TL_PIECE ? it->shape[0] - at : TL_PIECE;
      for (int k = 0; k < it->nops; k++) q[k] = p[k] + at * inner[k];
      if (fn(ctx, q, inner, n)) return -1;
      if (TL_TICK(done, n)) return -1;
    }
    int d = 1;
    for (; d < it->ndim; d++) {
      for (int k = 0; k < it->nops; k++) p[k] += it->strides[k][d];
      if (++idx[d] < it->shape[d]) break;
      idx[d] = 0;
      for (int k = 0; k < it->nops; k++) p[k] -= it->strides[k][d] * it->shape[d];
    }
    if (d >= it->ndim) return 0;
  }
}
