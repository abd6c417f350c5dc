/* rnn.c: the kernels of recurrent layers: their arguments and results. The loops are in rnn_loops.c.
 *
 * A call whose tensors do not fit together exactly is left to the op's body, which raises PyTorch's errors. */
#include "nn/rnn.h"
#include "nn/norm.h"

/* positions in the arguments of _rnn_layer; _rnn_layer_backward has gradients before them, and what was kept behind */
enum { A_X, A_H0, A_C0, A_W_IH, A_W_HH, A_B_IH, A_B_HH, A_W_HR, TENSORS };
enum { A_SIZES = TENSORS, A_MODE, A_REVERSE, A_KEEP };
enum { G_DY, G_DH, G_DC, G_LAYER, G_GATES = G_LAYER + TENSORS, G_STATES, G_SIZES, G_MODE, G_REVERSE, G_MASK };

typedef struct {
  Rnn r;
  tl_dtype dtype;
  TlTensor *hold[TENSORS]; /* contiguous */
  int64_t *sizes;
  bool packed, single; /* rows of a packed sequence; one step, without a dim for it */
} Call;

static void release(Call *c) {
  for (int i = 0; i < TENSORS; i++) Py_XDECREF(c->hold[i]);
  tl_free(c->sizes);
}

static bool has_shape(PyObject *o, int nd, int64_t a, int64_t b, int64_t c) {
  const TlTensor *t = (TlTensor *)o;
  const int64_t want[] = {a, b, c};
  return !tl_none(o) && t->ndim == nd && !memcmp(t->shape, want, (size_t)nd * sizeof *want);
}
/* (rows, n), or with the input's dims in front */
static bool has_rows(const Call *c, PyObject *o, int64_t n) {
  if (c->packed || c->single) return has_shape(o, 2, c->r.rows, n, 0);
  return has_shape(o, 3, c->r.steps, c->r.samples, n);
}

/* The steps of a packed sequence: 1, 0 where they do not fit the input, -1 on error. */
static int read_sizes(Call *c, TlTensor *sizes) {
  Rnn *r = &c->r;
  if (sizes->dtype != TL_I64 || sizes->ndim != 1 || sizes->device != TL_CPU || !sizes->numel) return 0;
  TlTensor *t = tl_contiguous(sizes);
  if (!t) return -1;
  int64_t n = t->numel, at = 0;
  if (!(c->sizes = tl_array(2 * n, sizeof(int64_t)))) {
    Py_DECREF(t);
    return -1;
  }
  memcpy(c->sizes, tl_data(t), (size_t)n * sizeof(int64_t));
  Py_DECREF(t);
  for (int64_t i = 0; i < n; i++) {
    int64_t most = i ? c->sizes[i - 1] : r->rows;
    if (c->sizes[i] < 1 || c->sizes[i] > most || c->sizes[i] > r->rows - at) return 0;
    c->sizes[n + i] = at;
    at += c->sizes[i];
  }
  r->steps = n;
  r->samples = c->sizes[0];
  r->sizes = c->sizes;
  r->starts = c->sizes + n;
  return at == r->rows;
}

/* 1: the call is one for the kernel, 0: for the body, -1: error. a: the arguments from the input on. */
static int read_call(Call *c, PyObject *const *a, PyObject *sizes, PyObject *mode, PyObject *reverse) {
  static const int gates[] = {[RNN_LSTM] = 4, [RNN_GRU] = 3, [RNN_TANH] = 1, [RNN_RELU] = 1};
  Rnn *r = &c->r;
  TlTensor *x = (TlTensor *)a[A_X], *w_ih = (TlTensor *)a[A_W_IH], *w_hh = (TlTensor *)a[A_W_HH];
  int64_t m;
  if (tl_int(mode, &m) < 0) return -1;
  if (m < RNN_LSTM || m > RNN_RELU || (x->dtype != TL_F32 && x->dtype != TL_F64)) return 0;
  const bool lstm = m == RNN_LSTM;
  for (int i = 0; i < TENSORS; i++)
    if (!tl_none(a[i]) && (((TlTensor *)a[i])->dtype != x->dtype || ((TlTensor *)a[i])->device != TL_CPU)) return 0;
  c->dtype = x->dtype;
  r->mode = (int)m;
  r->reverse = reverse == Py_True;
  c->packed = !tl_none(sizes);
  c->single = !c->packed && x->ndim == 2;
  if (x->ndim != (c->packed || c->single ? 2 : 3) || w_ih->ndim != 2 || w_hh->ndim != 2) return 0;
  if (!x->numel || !w_ih->numel || !w_hh->numel) return 0;
  r->in = x->shape[x->ndim - 1];
  r->rows = x->numel / r->in;
  r->steps = c->single ? 1 : x->shape[0];
  r->samples = c->single ? x->shape[0] : x->shape[1];
  int rc = c->packed ? read_sizes(c, (TlTensor *)sizes) : 1;
  if (rc < 1) return rc;
  r->weights = w_hh->shape[0];
  r->hidden = r->weights / gates[m];
  r->out = w_hh->shape[1];
  r->wide = (lstm || m == RNN_GRU ? 4 : 1) * r->hidden;
  const bool fits = r->hidden * gates[m] == r->weights && has_shape(a[A_W_IH], 2, r->weights, r->in, 0) &&
                    has_shape(a[A_H0], 2, r->samples, r->out, 0) &&
                    (lstm ? has_shape(a[A_C0], 2, r->samples, r->hidden, 0) : tl_none(a[A_C0])) &&
                    (tl_none(a[A_B_IH]) || has_shape(a[A_B_IH], 1, r->weights, 0, 0)) &&
                    (tl_none(a[A_B_HH]) || has_shape(a[A_B_HH], 1, r->weights, 0, 0)) &&
                    (lstm && !tl_none(a[A_W_HR]) ? has_shape(a[A_W_HR], 2, r->out, r->hidden, 0)
                                                 : tl_none(a[A_W_HR]) && r->out == r->hidden);
  if (!fits) return 0;
  const void **to[] = {&r->x, &r->h0, &r->c0, &r->w_ih, &r->w_hh, &r->b_ih, &r->b_hh, &r->w_hr};
  for (int i = 0; i < TENSORS; i++) {
    if (tl_none(a[i])) continue;
    if (!(c->hold[i] = tl_contiguous((TlTensor *)a[i]))) return -1;
    *to[i] = tl_data(c->hold[i]);
  }
  return 1;
}

static TlTensor *matrix(const Call *c, int64_t rows, int64_t n) {
  const int64_t shape[] = {rows, n};
  return tl_empty(c->dtype, 2, shape);
}
static TlTensor *like(const Call *c, const TlTensor *t) { return tl_empty(c->dtype, t->ndim, t->shape); }
/* memory of its own with the values of t, zeros where there is none */
static TlTensor *state(const Call *c, PyObject *o, int64_t n) {
  TlTensor *r = matrix(c, c->r.samples, n);
  if (!r) return NULL;
  if (tl_none(o)) memset(tl_data(r), 0, (size_t)r->numel * tl_itemsize[c->dtype]);
  else if (tl_copy(r, (TlTensor *)o) < 0) Py_CLEAR(r);
  return r;
}

/* elements of the states that the forward keeps: LSTM's cells of all rows, then the outputs */
static int64_t states_size(const Rnn *r) { return r->rows * (r->out + (r->mode == RNN_LSTM ? r->hidden : 0)); }
static void find_states(Rnn *r, TlTensor *states, void **y) {
  char *p = tl_data(states);
  r->cells = r->mode == RNN_LSTM ? p : NULL;
  *y = r->mode == RNN_LSTM ? p + r->rows * r->hidden * tl_itemsize[states->dtype] : p;
}

/* (input, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode, reverse, keep) -> output, h_n, c_n, gates, states.
 * The outputs are kept as a copy, so that a program may change the result in place. */
PyObject *tl_k_rnn_layer(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  (void)k, (void)nargs, (void)out;
  Call c = {0};
  Rnn *r = &c.r;
  const int ok = read_call(&c, args, args[A_SIZES], args[A_MODE], args[A_REVERSE]);
  TlTensor *y = NULL, *hn = NULL, *cn = NULL, *gates = NULL, *states = NULL;
  PyObject *res = NULL;
  void *kept_y = NULL;
  if (ok < 1) {
    release(&c);
    return ok ? NULL : TL_FALLBACK();
  }
  const bool lstm = r->mode == RNN_LSTM, gated = lstm || r->mode == RNN_GRU, keep = args[A_KEEP] == Py_True;
  const int64_t shape[] = {r->steps, r->samples, r->out}, none = 0, kept = keep ? states_size(r) : 0;
  y = c.packed || c.single ? matrix(&c, r->rows, r->out) : tl_empty(c.dtype, 3, shape);
  hn = state(&c, args[A_H0], r->out);
  cn = lstm ? state(&c, args[A_C0], r->hidden) : tl_empty(c.dtype, 1, &none);
  gates = gated ? matrix(&c, r->rows, r->wide) : tl_empty(c.dtype, 1, &none);
  states = tl_empty(c.dtype, 1, &kept);
  if (!y || !hn || !cn || !gates || !states) goto done;
  r->y = tl_data(y);
  r->hn = tl_data(hn);
  r->cn = lstm ? tl_data(cn) : NULL;
  r->gates = gated ? tl_data(gates) : r->y;
  if (keep) find_states(r, states, &kept_y);
  if (c.dtype == TL_F32 ? rnn_forward_f32(r) : rnn_forward_f64(r)) goto done;
  if (keep) memcpy(kept_y, r->y, (size_t)y->numel * tl_itemsize[c.dtype]);
  if (gated && !keep) {
    Py_DECREF(gates);
    if (!(gates = tl_empty(c.dtype, 1, &none))) goto done;
  }
  res = Py_BuildValue("NNNNN", y, hn, cn, gates, states);
  y = hn = cn = gates = states = NULL;
done:
  Py_XDECREF(y);
  Py_XDECREF(hn);
  Py_XDECREF(cn);
  Py_XDECREF(gates);
  Py_XDECREF(states);
  release(&c);
  return res;
}

/* Whether what the forward kept, and the gradients that came, are of this call; hold keeps them contiguous. */
static int read_kept(Call *c, PyObject *const *a, TlTensor **hold) {
  Rnn *r = &c->r;
  const bool lstm = r->mode == RNN_LSTM, gated = lstm || r->mode == RNN_GRU;
  static const int at[] = {G_DY, G_DH, G_DC, G_GATES, G_STATES};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    const TlTensor *t = tl_none(a[at[i]]) ? NULL : (TlTensor *)a[at[i]];
    if (t && (t->dtype != c->dtype || t->device != TL_CPU)) return 0;
  }
  if ((!tl_none(a[G_DY]) && !has_rows(c, a[G_DY], r->out)) ||
      (!tl_none(a[G_DH]) && !has_shape(a[G_DH], 2, r->samples, r->out, 0)) ||
      (lstm && !tl_none(a[G_DC]) && !has_shape(a[G_DC], 2, r->samples, r->hidden, 0)) ||
      (gated && !has_shape(a[G_GATES], 2, r->rows, r->wide, 0)) || !has_shape(a[G_STATES], 1, states_size(r), 0, 0))
    return 0;
  static const int held[] = {G_DY, G_GATES, G_STATES};
  for (size_t i = 0; i < sizeof held / sizeof *held; i++)
    if (!tl_none(a[held[i]]) && !(hold[i] = tl_contiguous((TlTensor *)a[held[i]]))) return -1;
  find_states(r, hold[2], &r->y);
  r->gates = gated ? tl_data(hold[1]) : r->y;
  return 1;
}

/* (grad_output, grad_h, grad_c, input .. w_hr as above, gates, states, batch_sizes, mode, reverse, output_mask)
 * -> gradients of input .. w_hr; None where there is no such argument, or output_mask (input, parameters) says so */
PyObject *tl_k_rnn_layer_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  (void)k, (void)nargs, (void)out;
  Call c = {0};
  TlTensor *kept[3] = {0}, *made[TENSORS] = {0};
  RnnGrad g = {0};
  PyObject *const *layer = args + G_LAYER, *res = NULL;
  const bool wanted[] = {tl_mask_at(args[G_MASK], 0), tl_mask_at(args[G_MASK], 1)};
  int ok = read_call(&c, layer, args[G_SIZES], args[G_MODE], args[G_REVERSE]);
  if (ok == 1) ok = read_kept(&c, args, kept);
  for (int i = 0; i < TENSORS && ok == 1; i++) {
    if (!c.hold[i] || !(i == A_H0 || i == A_C0 || wanted[i != A_X])) continue;
    if (i == A_H0) made[i] = state(&c, args[G_DH], c.r.out);
    else if (i == A_C0) made[i] = state(&c, args[G_DC], c.r.hidden);
    else made[i] = like(&c, c.hold[i]);
    if (!made[i]) ok = -1;
  }
  if (ok == 1) {
    void **const to[] = {&g.dx, &g.dh, &g.dc, &g.dw_ih, &g.dw_hh, &g.db_ih, &g.db_hh, &g.dw_hr};
    for (int i = 0; i < TENSORS; i++) *to[i] = made[i] ? tl_data(made[i]) : NULL;
    g.dy = kept[0] ? tl_data(kept[0]) : NULL;
    if (c.dtype == TL_F32 ? rnn_backward_f32(&c.r, &g) : rnn_backward_f64(&c.r, &g)) ok = -1;
  }
  if (ok == 1 && (res = PyTuple_New(TENSORS)))
    for (int i = 0; i < TENSORS; i++) {
      PyTuple_SetItem(res, i, made[i] ? (PyObject *)made[i] : Py_NewRef(Py_None));
      made[i] = NULL;
    }
  for (int i = 0; i < TENSORS; i++) Py_XDECREF(made[i]);
  for (int i = 0; i < 3; i++) Py_XDECREF(kept[i]);
  release(&c);
  return ok ? res : TL_FALLBACK();
}
