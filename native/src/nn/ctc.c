/* ctc.c: the loss of connectionist temporal classification and its gradient in float32, by Graves et al. (2006): sums
 * over paths, forward and backward, in logarithms. */
#include "math/vmath.h"
#include "nn/norm.h"
#include <math.h>

#define ROOM(n) (((n) + 3) / 4 * 4)
#define LENGTH(n) (ROOM(n) + 4)

typedef struct {
  int64_t t, n, classes, width; /* log_probs [t, n, classes], path [n, width] */
  const int64_t *path, *frames, *labels;
  bool zero_infinity;
} Ctc;

/* row[i] = log(exp(before[i]) + exp(before[i - 1]) + exp(before[i - 2] + skip[i])) + emit[i] */
static void add_three(float *row, const float *before, const float *skip, const float *emit, int64_t n) {
  for (intptr_t i = 0; i < (intptr_t)n; i += 4) {
    const v4f a = v4_load(before + i), b = v4_load(before + i - 1), c = v4_load(before + i - 2) + v4_load(skip + i);
    v4f top = v4_select((v4i)(a > b), a, b);
    top = v4_select((v4i)(c > top), c, top);
    const v4i none = (v4i)(top == -VM_INF);
    top = (v4f)(~none & (v4i)top);
    const v4f sum = vm_exp(a - top) + vm_exp(b - top) + vm_exp(c - top);
    const v4f all = vm_log(sum) + top + (sum - sum) + v4_load(emit + i); /* a NaN stays one */
    v4_store(row + i, v4_select(none & (v4i)(sum == sum), -VM_INF, all));
  }
  for (intptr_t i = (intptr_t)n; i < ROOM(n); i++) row[i] = -INFINITY;
  row[-1] = row[-2] = -INFINITY;
}
static void exps(float *x, int64_t n) {
  intptr_t i = 0;
  for (; i + 4 <= (intptr_t)n; i += 4) v4_store(x + i, vm_exp(v4_load(x + i)));
  float rest[4] = {0};
  memcpy(rest, x + i, (size_t)(n - i) * sizeof *x);
  v4_store(rest, vm_exp(v4_load(rest)));
  memcpy(x + i, rest, (size_t)(n - i) * sizeof *x);
}

/* A row is the states of one frame, with two numbers of -inf before them and up to three behind. */
typedef struct {
  const float *lp;      /* the first frame's log-probabilities */
  int64_t frames, step; /* step: elements to the next frame */
  const int64_t *path;  /* the class of each state */
  int64_t states;
  const float *skip; /* 0 where a state can follow the one two before, else -inf */
} Sample;

static void first(const Sample *s, float *row) {
  for (int64_t i = -2; i < ROOM(s->states); i++) row[i] = -INFINITY;
  for (int64_t i = 0; i < s->states && i < 2; i++) row[i] = s->lp[s->path[i]];
}
/* row of frame t from the row before it */
static void next(const Sample *s, int64_t t, const float *before, float *row, float *emit) {
  const float *lp = s->lp + t * s->step;
  for (int64_t i = 0; i < s->states; i++) emit[i] = lp[s->path[i]];
  add_three(row, before, s->skip, emit, s->states);
}

/* alpha [frames, width] and minus the logarithm of the sum over all paths; work: 3 rows */
static float forward(const Sample *s, float *alpha, int64_t width, float *work) {
  float *row = work + 2, *other = row + LENGTH(s->states), *emit = other + LENGTH(s->states);
  if (!s->frames) return s->states == 1 ? 0 : INFINITY;
  for (int64_t t = 0; t < s->frames; t++, alpha += width) {
    if (!t) first(s, row);
    else {
      float *last = row;
      next(s, t, last, other, emit);
      row = other;
      other = last;
    }
    memcpy(alpha, row, (size_t)s->states * sizeof(float));
  }
  /* a path ends in the last label or in the blank behind it */
  const float a = row[s->states - 1], b = row[s->states - 2], top = a > b ? a : b;
  if (top == -INFINITY && a == a && b == b) return INFINITY;
  return -(top + (float)log(exp((double)(a - top)) + exp((double)(b - top))));
}

/* The gradient of one sample: `back` is the sample read from its end. alpha and loss as forward gave them; gradient:
 * that of frame t at t * s->step; work: 4 rows and one number for each class */
static void backward(const Sample *s, const Sample *back, const float *alpha, int64_t width, float loss, float given,
                     int64_t classes, float *gradient, float *work) {
  const int64_t n = s->states;
  float *row = work + 2, *other = row + LENGTH(n), *emit = other + LENGTH(n), *part = emit + LENGTH(n),
        *sums = part + LENGTH(n);
  for (int64_t t = s->frames - 1; t >= 0; t--) {
    const float *lp = s->lp + t * s->step, *at = alpha + t * width;
    float *out = gradient + t * s->step;
    if (t == s->frames - 1) first(back, row);
    else {
      float *last = row;
      next(back, s->frames - 1 - t, last, other, emit);
      row = other;
      other = last;
    }
    /* alpha and beta both contain this frame's probability: once is too often */
    for (int64_t i = 0; i < n; i++) part[i] = at[i] + row[n - 1 - i] + loss - lp[s->path[i]];
    exps(part, n);
    memset(sums, 0, (size_t)classes * sizeof(float));
    for (int64_t i = 0; i < n; i++) sums[s->path[i]] += part[i];
    memcpy(out, lp, (size_t)classes * sizeof(float));
    exps(out, classes);
    for (int64_t c = 0; c < classes; c++) out[c] = (out[c] - sums[c]) * given;
  }
}

/* sample b of log_probs [T, N, C]; path: its row. skip, and for `back` the same read from the end */
static void read_sample(Sample *s, const float *lp, int64_t step, int64_t frames, const int64_t *path, int64_t states,
                        float *skip) {
  *s = (Sample){lp, frames, step, path, states, skip};
  for (int64_t i = 0; i < ROOM(states); i++)
    skip[i] = i > 2 && i < states && i % 2 && path[i] != path[i - 2] ? 0 : -INFINITY;
}

/* losses [N] and alpha [N, T, W] */
static int losses(const Ctc *c, const float *lp, float *loss, float *alpha) {
  float *work = tl_malloc((uint64_t)(4 * LENGTH(c->width)) * sizeof(float));
  Sample s;
  int rc = work ? 0 : -1;
  for (int64_t b = 0; b < c->n && !rc; b++) {
    read_sample(&s, lp + b * c->classes, c->n * c->classes, c->frames[b], c->path + b * c->width, 2 * c->labels[b] + 1,
                work + 3 * LENGTH(c->width));
    loss[b] = forward(&s, alpha + b * c->t * c->width, c->width, work);
    rc = tl_work(c->frames[b] * s.states);
  }
  tl_free(work);
  return rc;
}

/* gradient [T, N, C], which is 0 before */
static int gradients(const Ctc *c, const float *lp, const float *loss, const float *alpha, const float *given,
                     float *gradient) {
  float *work = tl_malloc((uint64_t)(6 * LENGTH(c->width) + 4 + c->classes) * sizeof(float));
  int64_t *turned = tl_malloc((uint64_t)c->width * sizeof *turned);
  Sample s, back;
  int rc = work && turned ? 0 : -1;
  for (int64_t b = 0; b < c->n && !rc; b++) {
    const int64_t n = 2 * c->labels[b] + 1, step = c->n * c->classes, frames = c->frames[b];
    const float *from = lp + b * c->classes;
    float *skip = work, *rest = work + 2 * LENGTH(c->width);
    if (!(loss[b] < INFINITY)) { /* infinite or NaN: so is PyTorch's gradient of all classes */
      const bool zero = c->zero_infinity && loss[b] == INFINITY;
      for (int64_t t = 0; t < frames && !zero; t++)
        for (int64_t i = 0; i < c->classes; i++) gradient[t * step + b * c->classes + i] = NAN;
      continue;
    }
    for (int64_t i = 0; i < n; i++) turned[i] = c->path[b * c->width + n - 1 - i];
    read_sample(&s, from, step, frames, c->path + b * c->width, n, skip);
    read_sample(&back, from + (frames - 1) * step, -step, frames, turned, n, skip + LENGTH(c->width));
    backward(&s, &back, alpha + b * c->t * c->width, c->width, loss[b], given[b], c->classes, gradient + b * c->classes,
             rest);
    rc = tl_work(frames * (n + c->classes));
  }
  tl_free(work);
  tl_free(turned);
  return rc;
}

/* (log_probs, path, input_lengths, target_lengths, zero_infinity): whether they are what the loops take */
static bool takes(PyObject *const *a, Ctc *c) {
  const TlTensor *x = (TlTensor *)a[0], *path = (TlTensor *)a[1], *frames = (TlTensor *)a[2],
                 *labels = (TlTensor *)a[3];
  if (x->ndim != 3 || x->dtype != TL_F32 || !tl_is_contiguous(x)) return false;
  *c = (Ctc){x->shape[0], x->shape[1], x->shape[2], path->ndim == 2 ? path->shape[1] : 0,
             .zero_infinity = a[4] == Py_True};
  if (path->dtype != TL_I64 || path->numel != c->n * c->width || !c->width || !tl_is_contiguous(path)) return false;
  for (int i = 2; i < 4; i++) {
    const TlTensor *t = (TlTensor *)a[i];
    if (t->dtype != TL_I64 || t->ndim != 1 || t->numel != c->n || !tl_is_contiguous(t)) return false;
  }
  c->path = (const int64_t *)tl_data(path);
  c->frames = (const int64_t *)tl_data(frames);
  c->labels = (const int64_t *)tl_data(labels);
  for (int64_t b = 0; b < c->n; b++)
    if (c->frames[b] < 0 || c->frames[b] > c->t || c->labels[b] < 0 || c->labels[b] > c->width / 2) return false;
  for (int64_t i = 0; i < c->n * c->width; i++)
    if (c->path[i] < 0 || c->path[i] >= c->classes) return false;
  return true;
}

/* ctc(log_probs [T, N, C], path [N, 2 S + 1], input_lengths [N], target_lengths [N], zero_infinity): losses [N] and
 * log_alpha [N, T, 2 S + 1] */
PyObject *tl_k_ctc(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *unused) {
  Ctc c;
  if (!takes(args, &c)) return TL_FALLBACK();
  TlTensor *loss = tl_empty(TL_F32, 1, &c.n),
           *alpha = loss ? tl_zeros(TL_F32, 3, (int64_t[]){c.n, c.t, c.width}) : NULL;
  const float *lp = (const float *)tl_data((TlTensor *)args[0]);
  const int rc = alpha ? losses(&c, lp, (float *)tl_data(loss), (float *)tl_data(alpha)) : -1;
  PyObject *r = rc ? NULL : PyTuple_Pack(2, (PyObject *)loss, (PyObject *)alpha);
  Py_XDECREF(loss);
  Py_XDECREF(alpha);
  return r;
}

/* ctc_backward(log_probs, path, input_lengths, target_lengths, zero_infinity, grad [N], losses, log_alpha) */
PyObject *tl_k_ctc_backward(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *unused) {
  Ctc c;
  TlTensor *x = (TlTensor *)args[0], *g = (TlTensor *)args[5], *loss = (TlTensor *)args[6],
           *alpha = (TlTensor *)args[7];
  if (!takes(args, &c) || g->numel != c.n || g->dtype != TL_F32 || loss->numel != c.n || loss->dtype != TL_F32 ||
      alpha->numel != c.n * c.t * c.width || alpha->dtype != TL_F32)
    return TL_FALLBACK();
  TlTensor *gc = tl_contiguous_as(g, TL_F32), *r = gc ? tl_zeros(TL_F32, 3, x->shape) : NULL;
  if (r && gradients(&c, (float *)tl_data(x), (float *)tl_data(loss), (float *)tl_data(alpha), (float *)tl_data(gc),
                     (float *)tl_data(r)))
    Py_CLEAR(r);
  Py_XDECREF(gc);
  return (PyObject *)r;
}
