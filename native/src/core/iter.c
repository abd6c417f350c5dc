/* iter.c: strided iteration over operands broadcast to one shape. */
#include "core/tl.h"

/* true when dim a should be inside (before) dim b: the first operand whose strides differ and are both non-zero decides
 */
static bool inner_first(const TlIter *it, int a, int b) {
  for (int k = 0; k < it->nops; k++) {
    intptr_t sa = it->strides[k][a], sb = it->strides[k][b];
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa < sb;
    if (it->shape[a] != it->shape[b]) return it->shape[a] < it->shape[b];
  }
  return true;
}

static void swap_dims(TlIter *it, int a, int b) {
  int64_t s = it->shape[a];
  it->shape[a] = it->shape[b];
  it->shape[b] = s;
  for (int k = 0; k < it->nops; k++) {
    intptr_t t = it->strides[k][a];
    it->strides[k][a] = it->strides[k][b];
    it->strides[k][b] = t;
  }
}

void tl_iter_init(TlIter *it, int nops, TlTensor *const *ops, int ndim, const int64_t *shape) {
  it->nops = nops;
  it->ndim = 0;
  for (int k = 0; k < nops; k++) it->ptrs[k] = tl_data(ops[k]);
  for (int d = ndim - 1; d >= 0; d--) {
    if (shape[d] == 1) continue;
    int o = it->ndim++;
    it->shape[o] = shape[d];
    for (int k = 0; k < nops; k++) {
      int j = d - (ndim - ops[k]->ndim);
      it->strides[k][o] =
        j >= 0 && ops[k]->shape[j] != 1 ? (intptr_t)tl_wrap_mul(ops[k]->strides[j], tl_itemsize[ops[k]->dtype]) : 0;
    }
  }
  for (int i = 1; i < it->ndim; i++)
    for (int j = i; j > 0 && !inner_first(it, j - 1, j); j--) swap_dims(it, j - 1, j);
  int n = it->ndim > 0 ? 1 : 0;
  for (int d = 1; d < it->ndim; d++) {
    bool merge = true;
    for (int k = 0; k < nops && merge; k++)
      merge = it->strides[k][d] == (intptr_t)tl_wrap_mul(it->strides[k][n - 1], it->shape[n - 1]);
    if (merge) {
      it->shape[n - 1] = tl_wrap_mul(it->shape[n - 1], it->shape[d]);
      continue;
    }
    it->shape[n] = it->shape[d];
    for (int k = 0; k < nops; k++) it->strides[k][n] = it->strides[k][d];
    n++;
  }
  if (n == 0) {
    n = 1;
    it->shape[0] = 1;
    for (int k = 0; k < nops; k++) it->strides[k][0] = 0;
  }
  it->ndim = n;
}

int tl_iter_run(TlIter *it, tl_loop_fn fn, void *ctx) {
  enum { PIECE = 1 << 20 };
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
    for (int64_t at = 0; at < it->shape[0]; at += PIECE) {
      int64_t n = it->shape[0] - at < PIECE ? it->shape[0] - at : PIECE;
      for (int k = 0; k < it->nops; k++) q[k] = p[k] + at * inner[k];
      if (fn(ctx, q, inner, n)) return -1;
      if ((done += n) >= PIECE) {
        done = 0;
        if (tl_check_interrupt()) return -1;
      }
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
