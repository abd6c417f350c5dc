/* pw_engine.c: runs a contiguous loop over operands of any strides and dtypes, in chunks. */
#include "pointwise/pointwise.h"
#include "core/errors.h"
#include "core/geometry.h"
#include "core/rows.h"

enum { CHUNK_BYTES = 4096, DIRECT_CHUNK = 1 << 18, FEW = 256 }; /* FEW elements of any dtype fit into a chunk */

int pw_class(tl_dtype d) {
  static const uint8_t at[TL_NUM_DTYPES] = {[TL_I32] = PW_I32, [TL_I64] = PW_I64, [TL_F32] = PW_F32,
                                            [TL_F64] = PW_F64, [TL_C64] = PW_C64, [TL_C128] = PW_C128};
  return at[tl_compute[d]];
}

PyObject *pw_not_implemented(const char *msg, tl_dtype d) {
  const char *bar =
    strchr(msg, '|'); /* after the bar: the words for complex operands; after "|!" too, as a plain RuntimeError */
  if (bar && tl_is_complex(d)) {
    int plain = bar[1] == '!';
    PyErr_SetString(plain ? PyExc_RuntimeError : PyExc_NotImplementedError, bar + 1 + plain);
    return NULL;
  }
  char name[64] = {0};
  strncpy(name, msg, bar && bar - msg < 63 ? (size_t)(bar - msg) : 63);
  return tl_not_implemented(name, d);
}

int pw_arg(PyObject *o, PwArg *a) {
  a->t = NULL;
  a->param = a->leads = false;
  if (TL_CHECK(o)) {
    a->t = (TlTensor *)o;
    return 0;
  }
  a->cat = tl_number_dtype(o);
  a->i = 0;
  a->c = (tl_c128){0, 0};
  if (a->cat < 0 && PyIndex_Check(o)) {
    PyObject *n = PyNumber_Index(o);
    if (!n) return -1;
    int rc = pw_arg(n, a);
    Py_DECREF(n);
    return rc;
  }
  if (a->cat == TL_BOOL || a->cat == TL_I64) {
    a->i = PyLong_AsLongLong(o);
    a->c.re = (double)a->i;
    if (a->i == -1 && PyErr_Occurred()) { /* up to 2**64 - 1 it is a uint64, of which integers get the bits */
      PyErr_Clear();
      const uint64_t u = PyLong_AsUnsignedLongLong(o);
      if (PyErr_Occurred()) return -1;
      a->i = (int64_t)u;
      a->c.re = (double)u;
    }
  } else if (a->cat >= TL_C64) {
    a->c.re = PyComplex_RealAsDouble(o);
    a->c.im = PyComplex_ImagAsDouble(o);
  } else if (a->cat >= 0) {
    a->c.re = PyFloat_AsDouble(o);
  } else {
    PyErr_Format(PyExc_TypeError, "expected a Tensor or a number, got %R", (PyObject *)Py_TYPE(o));
    return -1;
  }
  return 0;
}

/* a number as one element of dtype `it`, rounded to `via` on the way */
static void store_number(const PwArg *a, tl_dtype via, tl_dtype it, void *dst) {
  tl_c128 tmp;
  void *o = it == via ? dst : &tmp;
  const bool beyond = a->i < 0 && a->c.re > 0 && !tl_is_integral(via); /* of int64 */
  if (!beyond && (a->cat == TL_BOOL || a->cat == TL_I64)) tl_cast_contig(via, o, TL_I64, &a->i, 1);
  else if (a->cat >= TL_C64) tl_cast_contig(via, o, TL_C128, &a->c, 1);
  else tl_cast_contig(via, o, TL_F64, &a->c.re, 1);
  if (it != via) tl_cast_contig(it, dst, via, &tmp, 1);
}

static void repeat(void *buf, int size, int64_t n) {
  char *b = buf;
  int64_t have = 1;
  while (have < n) {
    int64_t m = have < n - have ? have : n - have;
    tl_copy_row(b + have * size, b, (size_t)m * size);
    have += m;
  }
}

void pw_by_fours(pw_loop4 loop, int nin, const PwParams *p, void *out, const void *const *in, int64_t n) {
  float pad[2][4] = {{0}};
  const float *ptr[2];
  int64_t whole = n & ~(int64_t)3;
  size_t rest = (size_t)(n - whole) * sizeof(float);
  for (int k = 0; k < nin; k++) ptr[k] = in[k];
  if (whole) loop(p, out, ptr, (intptr_t)whole);
  if (!rest) return;
  for (int k = 0; k < nin; k++) ptr[k] = memcpy(pad[k], ptr[k] + whole, rest);
  loop(p, pad[0], ptr, 4);
  memcpy((float *)out + whole, pad[0], rest);
}

/* ---- cursors: the elements of an operand in the order of the iteration ------------------------------------------ */
typedef struct {
  char *base;
  int nd, size;
  int64_t n[TL_MAX_DIMS], at[TL_MAX_DIMS];
  intptr_t s[TL_MAX_DIMS];
} Cursor;

static void cursor_init(Cursor *c, const TlTensor *t, const TlTensor *out, const int *order, bool ordered) {
  int64_t strides[TL_MAX_DIMS];
  const int64_t *own = strides;
  int keep[TL_MAX_DIMS];
  c->base = tl_data(t);
  c->size = tl_itemsize[t->dtype];
  if (ordered && tl_is_contiguous(t) && t->numel == out->numel) { /* in one run */
    c->nd = 1;
    c->n[0] = t->numel;
    c->s[0] = c->size;
    c->at[0] = 0;
    return;
  }
  tl_broadcast_strides(t, out->ndim, strides);
  c->nd = tl_coalesce(out->ndim, order, out->shape, 1, &own, NULL, c->n, keep);
  for (int k = 0; k < c->nd; k++) {
    c->s[k] = (intptr_t)strides[keep[k]] * c->size;
    c->at[k] = 0;
  }
  if (!c->nd) {
    c->n[0] = 1;
    c->s[0] = c->size;
    c->at[0] = 0;
    c->nd = 1;
  }
}

static bool cursor_linear(const Cursor *c) { return c->nd == 1 && c->s[0] == c->size; }

#if defined(__clang__)
#define ROLLED _Pragma("clang loop unroll(disable) vectorize(disable)")
#else
#define ROLLED
#endif
#define RUN(HOW, T) \
  if (scatter) { HOW for (intptr_t i = 0; i < n; i++) *(T *)(p + i * s) = ((const T *)buf)[i]; } \
  else { HOW for (intptr_t i = 0; i < n; i++) ((T *)buf)[i] = *(const T *)(p + i * s); }

static inline void run(char *p, intptr_t s, char *buf, intptr_t n, int size, bool scatter) {
  if (s == size) {
    if (scatter) tl_copy_row(p, buf, (size_t)n * size);
    else tl_copy_row(buf, p, (size_t)n * size);
    return;
  }
  if (!s && !scatter && size == 4) {
    uint32_t v = *(const uint32_t *)p, *o = (uint32_t *)buf;
    PW_VEC for (intptr_t i = 0; i < n; i++) o[i] = v;
    return;
  }
  switch (size) {
  case 4: RUN(, uint32_t) break;
  case 8: RUN(, uint64_t) break;
  case 1: RUN(ROLLED, uint8_t) break;
  case 2: RUN(ROLLED, uint16_t) break;
  default: RUN(ROLLED, tl_c128) break;
  }
}

/* goes m steps along a dim, at most what is left of it */
static void cursor_advance(Cursor *c, int dim, int64_t m) {
  c->at[dim] += m;
  c->base += m * c->s[dim];
  for (int d = dim; d < c->nd && c->at[d] == c->n[d]; d++) {
    c->at[d] = 0;
    c->base -= c->n[d] * c->s[d];
    if (d + 1 == c->nd) break;
    c->at[d + 1]++;
    c->base += c->s[d + 1];
  }
}

/* the next whole rows, at most n elements, into buf; their number of elements. One row over and over is read once. */
static int64_t move_rows(Cursor *c, char *buf, int64_t n) {
  if (c->nd < 2 || c->at[0] || n < 2 * c->n[0]) return 0;
  const intptr_t row = (intptr_t)c->n[0], left = (intptr_t)(c->n[1] - c->at[1]), bytes = row * c->size;
  const intptr_t most = (intptr_t)n / row, rows = most < left ? most : left;
  const char *p = c->base;
  run(c->base, c->s[0], buf, row, c->size, false);
  if (!c->s[1]) repeat(buf, (int)bytes, rows);
  else if (c->s[0] == 0 && c->size == 4)
    for (intptr_t r = 1; r < rows; r++) {
      const uint32_t v = *(const uint32_t *)(p + r * c->s[1]);
      uint32_t *o = (uint32_t *)(buf + r * bytes);
      PW_VEC for (intptr_t i = 0; i < row; i++) o[i] = v;
    }
  else
    for (intptr_t r = 1; r < rows; r++) run(c->base + r * c->s[1], c->s[0], buf + r * bytes, row, c->size, false);
  cursor_advance(c, 1, rows);
  return rows * row;
}

/* moves the next n elements into buf (or out of it) */
static void cursor_move(Cursor *c, char *buf, int64_t n, bool scatter) {
  while (n > 0) {
    const int64_t rows = scatter ? 0 : move_rows(c, buf, n);
    if (rows) {
      buf += rows * c->size;
      n -= rows;
      continue;
    }
    int64_t m = c->n[0] - c->at[0];
    if (m > n) m = n;
    run(c->base, c->s[0], buf, (intptr_t)m, c->size, scatter);
    buf += m * c->size;
    n -= m;
    cursor_advance(c, 0, m);
  }
}

/* goes n elements on from the beginning of a row, a matrix and so on, to where such a one begins or in it */
static void cursor_skip(Cursor *c, int64_t n) {
  for (int64_t m, size = 1, d = 0; n > 0; n -= m) {
    for (size = 1, d = 0; c->at[d] == 0 && size * c->n[d] <= n && d + 1 < c->nd; d++) size *= c->n[d];
    m = size * (c->n[d] - c->at[d] < n / size ? c->n[d] - c->at[d] : n / size);
    cursor_advance(c, (int)d, m / size);
  }
}

/* ---- layout of the result --------------------------------------------------------------------------------------- */
/* An operand of another dtype than the op computes in counts as the copy that PyTorch makes of it, where no stride is
 * 0. */
static bool layout(int nops, const TlTensor *const *ops, const tl_dtype *common, int ndim, const int64_t *shape,
                   int *order, int64_t *strides) {
  int64_t in[PW_MAX_IN + 1][TL_MAX_DIMS], dense[TL_MAX_DIMS];
  for (int k = 0; k < nops; k++) {
    const int64_t *own = ops[k]->strides;
    if (common && ops[k]->dtype != *common) {
      tl_preserved_strides(ops[k], dense);
      own = dense;
    }
    tl_ordering_strides(ops[k], own, ndim, shape, in[k]);
  }
  return tl_result_strides(nops, in, ndim, shape, order, strides);
}

/* Strides of the result of operands of one shape, none a number: PyTorch's short way, which looks at whole formats
 * instead of dims. false: there is none. */
static bool alike(int n, const TlTensor *const *ops, int64_t *strides) {
  const TlTensor *a = ops[0];
  bool last = true, same = tl_is_dense(a);
  for (int k = 0; k < n; k++) {
    last = last && tl_is_channels_last(ops[k]);
    same = same && !memcmp(ops[k]->strides, a->strides, sizeof(int64_t) * a->ndim);
  }
  if (last) tl_channels_last_strides(a->ndim, a->shape, strides);
  else if (same) memcpy(strides, a->strides, sizeof(int64_t) * a->ndim);
  return last || same;
}

bool pw_layout(int n, const TlTensor *const *ops, bool alone, const tl_dtype *common, int ndim, const int64_t *shape,
               int *order, int64_t *strides) {
  bool same = alone, usual = true;
  for (int k = 0; k < n && same; k++)
    same = ops[k]->ndim == ndim && !memcmp(ops[k]->shape, shape, sizeof *shape * (size_t)ndim);
  for (int k = 0; k < n && usual; k++)
    usual = same ? tl_is_contiguous(ops[k]) : ops[k]->numel && tl_strides_natural(ops[k]); /* (0, 1) * (1): (1, 0) */
  if (usual) {
    for (int i = 0; i < ndim; i++) order[i] = ndim - 1 - i;
    return true;
  }
  bool natural = layout(n, ops, common, ndim, shape, order, strides);
  return natural && !(same && alike(n, ops, strides)); /* `alike` has the last word on strides */
}

/* 0: none or the very same elements; 1: results must go through a copy; -1: an error is set */
static int check_overlaps(const TlTensor *out, int nin, const PwArg *in) {
  int rc = tl_check_written(out);
  for (int k = 0; k < nin && rc >= 0; k++) {
    int r = in[k].t ? tl_check_overlap(out, in[k].t) : 0;
    if (r) rc = r;
  }
  return rc;
}

/* ---- engine ----------------------------------------------------------------------------------------------------- */
typedef struct {
  bool constant, direct;
  Cursor cur;
  const char *ptr, *filled; /* filled: the element from which on the buffer has `count` */
  int64_t count;
} Operand;

/* few elements, of dense tensors and of numbers */
static void run_few(pw_loop loop, const PwParams *p, int nin, const PwArg *in, const tl_dtype *it, const tl_dtype *via,
                    void *out, int64_t n) {
  _Alignas(16) char buf[PW_MAX_IN][FEW * sizeof(tl_c128)];
  const void *q[PW_MAX_IN];
  for (int k = 0; k < nin; k++) {
    q[k] = in[k].t ? tl_data(in[k].t) : buf[k];
    if (in[k].t) continue;
    store_number(&in[k], via[k], it[k], buf[k]);
    repeat(buf[k], tl_itemsize[it[k]], n);
  }
  loop(p, out, q, n);
}

static int run_direct(pw_loop loop, const PwParams *p, int nin, const char **ptr, const int *size, char *o, int osize,
                      int64_t n) {
  if (n <= DIRECT_CHUNK) {
    loop(p, o, (const void *const *)ptr, n);
    return 0;
  }
  for (int64_t at = 0; at < n; at += DIRECT_CHUNK) {
    int64_t m = n - at < DIRECT_CHUNK ? n - at : DIRECT_CHUNK;
    const void *q[PW_MAX_IN];
    for (int k = 0; k < nin; k++) q[k] = ptr[k] + at * size[k];
    loop(p, o + at * osize, q, m);
    if (tl_check_interrupt()) return -1;
  }
  return 0;
}

/* Buffers in which a chunk is converted: raw elements of a tensor, and elements of the type in between (`via`). */
typedef struct {
  _Alignas(16) char raw[CHUNK_BYTES], tmp[CHUNK_BYTES];
} Scratch;

/* A chunk of one value, which no later chunk changes. */
static void fill_constant(const PwArg *in, tl_dtype via, tl_dtype type, int64_t chunk, char *buf, Scratch *scratch) {
  if (!in->t) store_number(in, via, type, buf);
  else {
    tl_cast_contig(via, scratch->tmp, (tl_dtype)in->t->dtype, tl_data(in->t), 1);
    tl_cast_contig(type, buf, via, scratch->tmp, 1);
  }
  repeat(buf, tl_itemsize[type], chunk);
}

/* Whether the next m elements begin a row, a matrix and so on, so that their first one tells them all. */
static bool is_whole(const Cursor *c, int64_t m) {
  int64_t n = 1;
  for (int d = 0; d < c->nd && n < m; n *= c->n[d++])
    if (c->at[d]) return false;
  return n >= m;
}

/* The next m elements of an operand in the loop's type: in the tensor's own memory where that does, else in buf. */
static const void *next_elements(Operand *op, tl_dtype d, tl_dtype via, tl_dtype type, int64_t m, char *buf,
                                 Scratch *scratch) {
  bool straight = d == type && via == d;
  const char *src = op->ptr;
  Cursor *c = &op->cur;
  if (op->direct) op->ptr += m * tl_itemsize[d];
  else if (straight && c->n[0] - c->at[0] >= m && (c->s[0] == c->size || !c->s[0])) { /* within a row */
    src = c->s[0] ? c->base : buf;
    if (!c->s[0] && (op->filled != c->base || op->count < m)) {
      run(c->base, 0, buf, (intptr_t)m, c->size, false);
      op->filled = c->base;
      op->count = m;
    }
    cursor_advance(c, 0, m);
  } else {
    const bool whole = is_whole(c, m), again = whole && op->filled == c->base && op->count == m;
    op->filled = whole ? c->base : NULL;
    op->count = m;
    if (again) {
      cursor_skip(c, m);
      return buf;
    }
    char *to = straight ? buf : scratch->raw;
    cursor_move(&op->cur, to, m, false);
    src = to;
  }
  if (straight) return src;
  if (via == d || via == type) tl_cast_contig(type, buf, d, src, m);
  else {
    tl_cast_contig(via, scratch->tmp, d, src, m);
    tl_cast_contig(type, buf, via, scratch->tmp, m);
  }
  return buf;
}

static bool is_one_element(const TlTensor *t) { /* as expand makes it of one, too */
  for (int d = 0; d < t->ndim; d++)
    if (t->shape[d] != 1 && t->strides[d]) return false;
  return true;
}

/* Whether rows of an operand, in place, are as long as those of c. */
static bool rows_alike(const Operand *op, const Cursor *c, const TlTensor *t, tl_dtype type, tl_dtype via) {
  if (op->constant || t->dtype != type || via != type || c->nd < 2) return false;
  return op->direct || (op->cur.s[0] == op->cur.size && op->cur.n[0] == c->n[0] && op->cur.nd > 1);
}

/* rows of an operand, each with one element of `one` */
static int run_rows(pw_rows rows, Operand *op, Cursor *one, char *out, int size, int64_t n) {
  Cursor *c = &op->cur;
  const int64_t row = one->n[0];
  int count = 0;
  for (int64_t left = n / row, m; left; left -= m, out += m * row * size) {
    m = one->n[1] - one->at[1];
    if (!op->direct && c->n[1] - c->at[1] < m) m = c->n[1] - c->at[1];
    if (m > DIRECT_CHUNK / row) m = DIRECT_CHUNK / row;
    const intptr_t step = op->direct ? row * c->size : c->s[1];
    rows(out, op->direct ? op->ptr : c->base, step, one->base, one->s[1], m, row);
    if (op->direct) op->ptr += m * step;
    else cursor_advance(c, 1, m);
    cursor_advance(one, 1, m);
    if ((++count & 15) == 0 && tl_check_interrupt()) return -1;
  }
  return 0;
}

static int run_chunks(pw_loop loop, const PwParams *p, int nin, const PwArg *in, const tl_dtype *it,
                      const tl_dtype *via, tl_dtype lo, TlTensor *out, const int *order) {
  _Alignas(16) char buf[PW_MAX_IN][CHUNK_BYTES], obuf[CHUNK_BYTES];
  Scratch scratch;
  Operand op[PW_MAX_IN];
  Cursor oc;
  tl_dtype od = (tl_dtype)out->dtype;
  int most = tl_itemsize[lo] > tl_itemsize[od] ? tl_itemsize[lo] : tl_itemsize[od];
  bool ordered = true;
  for (int d = 0; d < out->ndim; d++) ordered = ordered && order[d] == out->ndim - 1 - d;
  cursor_init(&oc, out, out, order, ordered);
  for (int k = 0; k < nin; k++) {
    int sizes[3] = {tl_itemsize[it[k]], tl_itemsize[via[k]], in[k].t ? tl_itemsize[in[k].t->dtype] : 1};
    for (int j = 0; j < 3; j++)
      if (sizes[j] > most) most = sizes[j];
  }
  int64_t chunk = CHUNK_BYTES / most, n = out->numel;
  if (chunk > n) chunk = n;
  for (int k = 0; k < nin; k++) {
    const TlTensor *t = in[k].t;
    op[k].constant = !t || is_one_element(t);
    if (op[k].constant) {
      fill_constant(&in[k], via[k], it[k], chunk, buf[k], &scratch);
      continue;
    }
    cursor_init(&op[k].cur, t, out, order, ordered);
    const Cursor *c = &op[k].cur;
    op[k].direct = cursor_linear(c);
    for (int64_t d = 0, period = 1; d < c->nd; d++) { /* whole rows and matrices, which may come again */
      period *= c->n[d];
      if (period > chunk) break;
      if (!op[k].direct && chunk % period < chunk / 4) chunk -= chunk % period;
    }
    op[k].filled = NULL;
    op[k].ptr = op[k].cur.base;
  }
  const bool plain = cursor_linear(&oc) && od == lo;
  int one = -1; /* the operand of which an element serves a whole row */
  pw_rows with_one = NULL;
  for (int k = 0; k < nin && nin == 2 && one < 0; k++) {
    const Cursor *c = &op[k].cur;
    if (!op[k].constant && (c->s[0] || c->n[0] < 8 || in[k].t->dtype != it[k] || via[k] != it[k])) continue;
    if (!(with_one = pw_with_one(loop, k))) continue;
    const bool rows = !op[k].constant && plain && rows_alike(&op[1 - k], c, in[1 - k].t, it[1 - k], via[1 - k]);
    if (rows && c->n[0] <= chunk) return run_rows(with_one, &op[1 - k], &op[k].cur, oc.base, tl_itemsize[lo], n);
    if (op[k].constant || c->n[0] >= 64) one = k;
  }
  bool olinear = cursor_linear(&oc);
  char *optr = oc.base;
  int count = 0;
  for (int64_t at = 0, m; at < n; at += m) {
    const void *q[PW_MAX_IN];
    m = n - at < chunk ? n - at : chunk;
    for (int k = 0; k < nin; k++) { /* to the end of a long row: within it operands need no copy */
      int64_t left = op[k].constant || op[k].direct ? 0 : op[k].cur.n[0] - op[k].cur.at[0];
      if ((left >= 256 || k == one) && left && left < m) m = left;
    }
    for (int k = 0; k < nin; k++) {
      q[k] = buf[k];
      if (op[k].constant) continue;
      if (k == one) {
        q[k] = op[k].cur.base;
        cursor_advance(&op[k].cur, 0, m);
      } else q[k] = next_elements(&op[k], (tl_dtype)in[k].t->dtype, via[k], it[k], m, buf[k], &scratch);
    }
    bool same = od == lo;
    char *dst = olinear && same ? optr : obuf;
    if (one >= 0) with_one(dst, q[1 - one], 0, q[one], 0, 1, (intptr_t)m);
    else loop(p, dst, q, m);
    if (!same) {
      char *cast = olinear ? optr : scratch.tmp;
      tl_cast_contig(od, cast, lo, obuf, m);
      dst = cast;
    }
    if (!olinear) cursor_move(&oc, dst, m, true);
    optr += m * tl_itemsize[od];
    if ((++count & 255) == 0 && tl_check_interrupt()) return -1;
  }
  return 0;
}

PyObject *pw_exec(pw_loop loop, const PwParams *p, int nin, const PwArg *in, const tl_dtype *it, const tl_dtype *via,
                  tl_dtype lo, tl_dtype result, TlTensor *out) {
  int64_t shape[TL_MAX_DIMS];
  int ndim = 0, order[TL_MAX_DIMS], nt = 0, size[PW_MAX_IN];
  const TlTensor *first = NULL, *ops[PW_MAX_IN + 1];
  const char *ptr[PW_MAX_IN];
  bool same_shape = true, contig = true, exact = true, numbers = false, all_tensors = true;
  TlTensor *res = NULL, *target = NULL;
  int over = out ? check_overlaps(out, nin, in) : 0;
  if (over < 0) return NULL;
  for (int k = 0; k < nin; k++) {
    const TlTensor *t = in[k].t;
    if (!t) {
      all_tensors = false;
      numbers = numbers || !in[k].param;
      continue;
    }
    exact = exact && t->dtype == it[k] && via[k] == it[k];
    contig = contig && tl_is_contiguous(t);
    if (!first) {
      first = t;
      ndim = t->ndim;
      tl_copy_dims(shape, t->shape, ndim);
    } else if (t->ndim != ndim || !tl_same_dims(shape, t->shape, ndim)) {
      same_shape = false;
      if (tl_broadcast(ndim, shape, t->ndim, t->shape, &ndim, shape) < 0) return NULL;
    }
    ops[nt++] = t;
  }
  if (nt == 2 && in[1].leads) {
    const TlTensor *t = ops[0];
    ops[0] = ops[1];
    ops[1] = t;
  }
  bool through = over > 0;
  if (out) {
    if (out->ndim != ndim || !tl_same_dims(out->shape, shape, ndim))
      return tl_output_shape_error(out, ndim, shape), NULL;
    if (tl_check_cast(result, (tl_dtype)out->dtype)) return NULL;
  }
  if (out && !through) {
    res = (TlTensor *)Py_NewRef((PyObject *)out);
    contig = contig && tl_is_contiguous(out);
    memmove(ops + 1, ops, sizeof(ops[0]) * nt++);
    ops[0] = out;
  }
  const tl_dtype *common = nin > 1 && !out ? &via[0] : NULL;
  for (int k = 1; k < nin && common; k++)
    if (via[k] != via[0]) common = NULL;
  int64_t st[TL_MAX_DIMS];
  bool usual = contig && same_shape && !numbers;
  if (usual)
    for (int d = 0; d < ndim; d++) order[d] = ndim - 1 - d;
  else usual = pw_layout(nt, ops, !numbers, common, ndim, shape, order, st);
  if (!res) {
    tl_dtype rd = through ? (tl_dtype)out->dtype : result;
    res = usual ? tl_empty(rd, ndim, shape) : tl_empty_strided(rd, ndim, shape, st);
    if (!res) return NULL;
  }
  target = res;
  if (res->numel == 0 || tl_meta) goto done;
  int rc = 0;
  const bool dense = exact && contig && same_shape && res->dtype == lo && tl_is_contiguous(res);
  if (dense && !all_tensors && res->numel <= FEW) run_few(loop, p, nin, in, it, via, tl_data(res), res->numel);
  else if (dense && all_tensors) {
    for (int k = 0; k < nin; k++) {
      ptr[k] = tl_data(in[k].t);
      size[k] = tl_itemsize[it[k]];
    }
    rc = run_direct(loop, p, nin, ptr, size, tl_data(res), tl_itemsize[lo], res->numel);
  } else rc = run_chunks(loop, p, nin, in, it, via, lo, res, order);
  if (rc < 0) {
    Py_DECREF((PyObject *)res);
    return NULL;
  }
done:
  if (through) {
    rc = tl_copy(out, target);
    Py_DECREF((PyObject *)target);
    if (rc < 0) return NULL;
    return Py_NewRef((PyObject *)out);
  }
  return (PyObject *)res;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */
/* the loop for a class, or a wider one of the same kind; *cls becomes the one found */
static pw_loop find_loop(const PwRow *row, int *cls) {
  for (int c = *cls; c < PW_NUM && c <= (*cls | 1); c++)
    if (row->loops[c]) {
      *cls = c;
      return row->loops[c];
    }
  return NULL;
}

static const tl_dtype class_dtype[PW_NUM] = {TL_I32, TL_I64, TL_F32, TL_F64, TL_C64, TL_C128};

static inline tl_dtype result_of(const PwRow *row, tl_dtype d) {
  if (row->kind & PW_BOOL) return TL_BOOL;
  return row->kind & PW_REAL ? tl_real_of(d) : d;
}

/* the error for a dtype; shapes that do not fit are reported first, as in PyTorch, but where it looks at the dtype
 * before all ("|!") */
static PyObject *refuse(const PwRow *row, int nin, const PwArg *in, tl_dtype d) {
  int64_t shape[TL_MAX_DIMS];
  int nd = 0;
  for (int k = 0; k < nin && !strstr(row->msg, "|!"); k++)
    if (in[k].t && tl_broadcast(nd, shape, in[k].t->ndim, in[k].t->shape, &nd, shape) < 0) return NULL;
  return pw_not_implemented(row->msg, d);
}

/* The dtype of a row's result, and in *d the one it is computed in, for operands that are `given` in common; false
 * where the row does not take them. */
static bool result_dtype(const PwRow *row, tl_dtype given, tl_dtype *d, tl_dtype *result) {
  *d = row->kind & PW_FLOAT ? tl_float_of(given) : given;
  *result = result_of(row, *d);
  bool integral = tl_is_integral(*d), half = *d == TL_F16 || *d == TL_BF16;
  int cls = pw_class(*d);
  return !(given == TL_BOOL && row->flags & PW_NO_BOOL) && !(integral && row->flags & PW_NO_INT) &&
         !(!integral && row->flags & PW_NO_FLOAT) && !(half && row->flags & PW_NO_HALF) &&
         !(given == TL_C32 && row->flags & PW_NO_C32) && ((row->flags & PW_INT_ID && integral) || find_loop(row, &cls));
}

bool pw_result(const PwRow *row, int nin, PyObject *const *args, tl_dtype *result) {
  tl_dtype given, d;
  if (nin != 1) {
    if (tl_result_type(nin, args, &given)) {
      PyErr_Clear();
      return false;
    }
  } else if (TL_CHECK(args[0])) given = (tl_dtype)((TlTensor *)args[0])->dtype;
  else return false;
  return result_dtype(row, given, &d, result);
}

PyObject *pw_run(const PwRow *row, const PwParams *params, int nin, PyObject *const *args, int common, TlTensor *out) {
  static const PwParams none;
  PwArg in[PW_MAX_IN];
  tl_dtype it[PW_MAX_IN] = {0}, via[PW_MAX_IN] = {0}, given, d, to;
  PwParams p = params ? *params : none;
  for (int k = 0; k < nin; k++)
    if (pw_arg(args[k], &in[k])) return NULL;
  if (common >= 0) given = (tl_dtype)common;
  else if (nin == 1 && in[0].t) given = (tl_dtype)in[0].t->dtype;
  else if (tl_result_type(nin, args, &given)) return NULL;
  bool takes = result_dtype(row, given, &d, &to);
  if ((PyObject *)out == args[0] && row->kind & PW_REAL && tl_is_complex(d)) /* angle has a fresh real tensor there */
    return PyErr_Format(PyExc_RuntimeError, "In-place abs is not supported for complex tensors.");
  if (out && !tl_can_cast(to, (tl_dtype)out->dtype))
    return pw_exec(NULL, &p, nin, in, it, via, to, to, out); /* for its errors' order */
  if (!takes) return refuse(row, nin, in, given);
  if (row->flags & PW_INT_ID && tl_is_integral(d) && nin == 1) {
    if (!out) {
      TlTensor *r = tl_empty_like(in[0].t, d);
      if (r && tl_copy(r, in[0].t) < 0) Py_CLEAR(r);
      return (PyObject *)r;
    }
    if (tl_check_cast(d, (tl_dtype)out->dtype) || tl_copy(out, in[0].t) < 0) return NULL;
    return Py_NewRef((PyObject *)out);
  }
  int cls = pw_class(d);
  pw_loop loop = find_loop(row, &cls);
  const pw_loop narrow = tl_is_integral(d) && tl_itemsize[d] < 4 ? pw_narrow(row, d) : NULL;
  if (narrow) loop = narrow;
  p.bits = tl_itemsize[d] * 8;
  in[nin - 1].leads = row->flags & PW_LEADS;
  for (int k = 0; k < nin; k++) {
    in[k].param = row->flags & PW_PARAM;
    it[k] = narrow ? d : class_dtype[cls];
    bool lone = !in[k].t || in[k].t->ndim == 0;
    via[k] = row->flags & PW_WIDE && k == nin - 1 && lone && (d == TL_F16 || d == TL_BF16) ? it[k] : d;
  }
  tl_dtype lo = it[0], result = d;
  if (row->kind & PW_BOOL) lo = result = TL_BOOL;
  else if (row->kind & PW_REAL) {
    lo = tl_real_of(lo);
    result = tl_real_of(d);
  }
  return pw_exec(loop, &p, nin, in, it, via, lo, result, out);
}

PyObject *pw_unary(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  return pw_run(k->data, NULL, 1, args, -1, out);
}

PyObject *pw_binary(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  const PwRow *row = k->data;
  PyObject *a = args[0], *b = args[1];
  if (!out && !tl_meta && TL_CHECK(a) &&
      TL_CHECK(b)) { /* the commonest case, without set-up: two alike contiguous tensors */
    const TlTensor *x = (const TlTensor *)a, *y = (const TlTensor *)b;
    tl_dtype d = (tl_dtype)x->dtype;
    pw_loop loop;
    if (x->dtype == y->dtype && tl_compute[d] == d && x->ndim == y->ndim && x->numel && x->numel <= DIRECT_CHUNK &&
        x->flags & y->flags & TL_CONTIGUOUS && (d >= TL_F32 || (!(row->kind & PW_FLOAT) && !row->flags)) &&
        !memcmp(x->shape, y->shape, sizeof(int64_t) * x->ndim) && (loop = row->loops[pw_class(d)])) {
      TlTensor *r = tl_empty(result_of(row, d), x->ndim, x->shape);
      if (!r) return NULL;
      PwParams p = {.bits = tl_itemsize[d] * 8};
      const void *in[2] = {tl_data(x), tl_data(y)};
      loop(&p, tl_data(r), in, r->numel);
      return (PyObject *)r;
    }
  }
  return pw_run(row, NULL, 2, args, -1, out);
}

PyObject *pw_ternary(const TlKernel *k, PyObject *const *args, Py_ssize_t nargs, TlTensor *out) {
  return pw_run(k->data, NULL, 3, args, -1, out);
}
