/* gemm_page.c: products on the workers of a page (native/page/pool.c). Their memory is not Pyodide's: what the parts
 * that they may take read is copied there, and what they computed is copied back and put in its place. Pyodide's thread
 * computes its own parts where everything lies, and those that a worker did not finish. */
#if defined(__wasm__) && !defined(__wasm_atomics__)
#include "core/tl.h"
#include "core/parallel.h"
#include "products/gemm_page.h"
#include "products/gemm_split.h"

enum { MAX_PARTS = TL_PAGE_MOST, MAX_COPIES = 12 + MAX_PARTS, ALIGN = 64, ELEMENT = 4, MOST = 1 << 28, WORTH = 4 };

/* What JavaScript copies at the start and at the end of a job (torchlite/_core/threads.js). */
typedef struct {
  uint32_t need, parts, count; /* bytes of the workers' memory; parts; copies */
  struct {
    uint32_t from, to, bytes;
  } copy[MAX_COPIES];
} Order;

/* A part's results: their sizes, and where in c they begin. */
typedef struct {
  int64_t images, rows, columns, image, row, column;
  char *results; /* where they are copied to: c itself, or memory from which exchange() puts them into c */
  uint32_t at;   /* in the workers' memory */
  bool in_place; /* `results` is in c */
} Block;

typedef struct {
  TlSplit *s;
  Order in, out;
  TlPagePart part[MAX_PARTS];
  Block block[MAX_PARTS];
  char *room;
} Job;

static uint32_t address(const void *p) { return (uint32_t)(uintptr_t)p; }
static void *pointer(uint32_t at) { return (void *)(uintptr_t)at; }
/* Where p is after a copy from `from` to `to`. */
static void *moved(const void *p, const void *from, uint32_t to) { return pointer(to + (address(p) - address(from))); }

/* Reserves memory of the workers; `from` is copied there if it is not NULL. Gives the address. */
static uint32_t place(Job *j, const void *from, int64_t bytes) {
  const uint32_t to = j->in.need;
  if (bytes > MOST - (int64_t)to) {
    j->in.need = MOST; /* too much */
    return to;
  }
  j->in.need += ((uint32_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
  if (!from || !bytes) return to;
  j->in.copy[j->in.count].from = address(from);
  j->in.copy[j->in.count].to = to;
  j->in.copy[j->in.count++].bytes = (uint32_t)bytes;
  return to;
}
static const void *place_list(Job *j, const void *from, int64_t bytes) {
  return from ? pointer(place(j, from, bytes)) : NULL;
}

/* offsets of the first and the last element that an operand reads */
typedef struct {
  int64_t low, high;
} Span;
static void reach(Span *s, int64_t n, int64_t stride) {
  if (stride < 0) s->low += (n - 1) * stride;
  else s->high += (n - 1) * stride;
}
static void reach_list(Span *s, const int32_t *t, int64_t n) {
  int32_t low = t[0], high = t[0];
  for (int64_t i = 1; i < n; i++) {
    low = t[i] < low ? t[i] : low;
    high = t[i] > high ? t[i] : high;
  }
  s->low += low;
  s->high += high;
}
/* What rows (or columns) from `at` to n read. */
static Span span_of(const TlMat *m, int64_t at, int64_t n, int64_t k) {
  Span s = {0, 0};
  if (m->ioff) {
    reach_list(&s, m->ioff + at, n - at);
    reach_list(&s, m->koff, k);
  } else {
    s.low = s.high = at * m->is;
    reach(&s, n - at, m->is);
    reach(&s, k, m->ks);
  }
  return s;
}
/* A byte that is copied takes as long as one or two multiplications. */
static bool worth(int64_t bytes_read, int64_t results, int64_t k) {
  return bytes_read + results * ELEMENT <= results * k / WORTH;
}
static int64_t bytes_of(Span s) { return (s.high - s.low + 1) * ELEMENT; }

/* Copies an operand: the elements of the span, and all of its offsets. */
static TlMat move_operand(Job *j, const TlMat *m, Span s, int64_t n, int64_t k) {
  TlMat r = *m;
  const char *from = (const char *)m->p + s.low * ELEMENT;
  r.p = moved(m->p, from, place(j, from, bytes_of(s)));
  r.ioff = place_list(j, m->ioff, n * ELEMENT);
  r.koff = place_list(j, m->koff, k * ELEMENT);
  return r;
}

static Block block_of(const TlSplit *s, int part) {
  const TlGemm *g = &s->g, piece = tl_split_piece(s, part);
  const int panel = tl_gemm_kinds[s->type].panel;
  const int64_t at = tl_split_at(s, part), end = tl_split_at(s, part + 1), images = g->images ? g->images : 1,
                ppi = (g->n + panel - 1) / panel;
  Block b = {.images = images, .rows = piece.m, .columns = piece.n};
  if (s->cut == TL_ROWS) b.row = at * s->step;
  else if (s->cut == TL_COLUMNS) b.column = at * s->step;
  else if (images == 1) {
    b.column = at * panel;
    b.columns = tl_clamp(end * panel, 0, g->n) - b.column;
  } else { /* whole images: what others compute in the first and the last is not put back */
    b.image = at / ppi;
    b.images = (end + ppi - 1) / ppi - b.image;
  }
  const bool whole = s->cut != TL_PANELS || images == 1 || (at % ppi == 0 && end % ppi == 0);
  b.in_place = whole && !g->coff && g->c_cs == 1 && (g->c_rs == b.columns || b.rows == 1) &&
               (b.images == 1 || g->c_image == b.rows * b.columns);
  return b;
}
static int64_t block_bytes(const Block *b) { return b->images * b->rows * b->columns * ELEMENT; }

static float *in_c(const TlGemm *g, int64_t image, int64_t row, int64_t column) {
  return (float *)g->c + image * g->c_image + row * g->c_rs + (g->coff ? g->coff[column] : column * g->c_cs);
}

/* Copies between c and a block's memory: only the columns that the part computes. */
static void exchange(const TlSplit *s, int part, const Block *b, bool to_c) {
  const TlGemm *g = &s->g;
  const int panel = tl_gemm_kinds[s->type].panel;
  const int64_t ppi = (g->n + panel - 1) / panel;
  float *p = (float *)b->results;
  for (int64_t im = 0; im < b->images; im++) {
    int64_t low = 0, high = b->columns;
    if (s->cut == TL_PANELS && b->columns == g->n) {
      const int64_t first = (b->image + im) * ppi;
      low = tl_clamp((tl_split_at(s, part) - first) * panel, 0, g->n);
      high = tl_clamp((tl_split_at(s, part + 1) - first) * panel, 0, g->n);
    }
    for (int64_t i = 0; i < b->rows; i++, p += b->columns) {
      float *c = in_c(g, b->image + im, b->row + i, b->column + (g->coff ? 0 : low));
      if (g->c_cs == 1 && !g->coff) memcpy(to_c ? c : p + low, to_c ? p + low : c, (size_t)(high - low) * ELEMENT);
      else
        for (int64_t k = low; k < high; k++) {
          c = in_c(g, b->image + im, b->row + i, b->column + k);
          if (to_c) *c = p[k];
          else p[k] = *c;
        }
    }
  }
}

/* Where the workers' parts leave their results. False: no memory. */
static bool place_results(Job *j) {
  const TlSplit *s = j->s;
  int64_t outside = 0;
  for (int p = 1; p < s->parts; p++) {
    j->block[p] = block_of(s, p);
    if (!j->block[p].in_place) outside += block_bytes(&j->block[p]);
  }
  if (outside && !(j->room = tl_malloc((uint64_t)outside))) return false;
  char *room = j->room;
  for (int p = 1; p < s->parts; p++) {
    Block *b = &j->block[p];
    b->results = (char *)in_c(&s->g, b->image, b->row, b->column);
    if (!b->in_place) {
      b->results = room;
      room += block_bytes(b);
      if (s->g.accumulate) exchange(s, p, b, false);
    }
    b->at = place(j, s->g.accumulate ? b->results : NULL, block_bytes(b));
    TlGemm *g = &j->part[p].g;
    const int64_t skipped = b->image * b->rows * b->columns + (s->cut == TL_PANELS ? b->column : 0);
    g->c = pointer(b->at - (uint32_t)(skipped * ELEMENT));
    g->c_rs = b->columns;
    g->c_cs = 1;
    g->c_image = b->rows * b->columns;
    g->coff = NULL;
  }
  return true;
}

static bool order_product(Job *j) {
  const TlSplit *s = j->s;
  const TlGemm *g = &s->g;
  const int64_t images = g->images ? g->images : 1, first = tl_split_at(s, 1) * s->step;
  const Block from = block_of(s, 1);
  const Span sa = span_of(&g->a, s->cut == TL_ROWS ? first : 0, g->m, g->k);
  Span sb = span_of(&g->b, from.column, g->n, g->k);
  if (images > 1) {
    sb.low += from.image * g->b_image;
    sb.high += (images - 1) * g->b_image;
  }
  if (g->b_panels || !worth(bytes_of(sa) + bytes_of(sb), g->m * g->n * images, g->k)) return false;
  const TlMat a = move_operand(j, &g->a, sa, g->m, g->k), b = move_operand(j, &g->b, sb, g->n, g->k);
  const void *row_bias = place_list(j, g->row_bias, g->m * ELEMENT),
             *col_bias = place_list(j, g->col_bias, g->n * ELEMENT);
  for (int p = 1; p < s->parts; p++) {
    TlGemm *m = &j->part[p].g;
    j->part[p] = (TlPagePart){.g = tl_split_piece(s, p), .way = s->way};
    m->a.p = moved(m->a.p, g->a.p, address(a.p));
    m->b.p = moved(m->b.p, g->b.p, address(b.p));
    if (a.ioff) m->a.ioff = moved(m->a.ioff, g->a.ioff, address(a.ioff));
    if (b.ioff) m->b.ioff = moved(m->b.ioff, g->b.ioff, address(b.ioff));
    m->a.koff = a.koff;
    m->b.koff = b.koff;
    if (row_bias) m->row_bias = moved(m->row_bias, g->row_bias, address(row_bias));
    if (col_bias) m->col_bias = moved(m->col_bias, g->col_bias, address(col_bias));
  }
  return place_results(j);
}

static bool order_batch(Job *j) {
  const TlSplit *s = j->s;
  const TlGemm *g = &s->g;
  TlBatch batch = *s->batch;
  const int64_t each = g->m * g->n, words = batch.nd * (int64_t)sizeof(int64_t);
  Span sa = {INT64_MAX, INT64_MIN}, sb = sa;
  for (int64_t i = tl_split_at(s, 1); i < batch.count; i++) {
    int64_t x, y;
    tl_batch_at(&batch, i, &x, &y);
    sa = (Span){x < sa.low ? x : sa.low, x > sa.high ? x : sa.high};
    sb = (Span){y < sb.low ? y : sb.low, y > sb.high ? y : sb.high};
  }
  const Span oa = span_of(&g->a, 0, g->m, g->k), ob = span_of(&g->b, 0, g->n, g->k);
  sa = (Span){sa.low + oa.low, sa.high + oa.high};
  sb = (Span){sb.low + ob.low, sb.high + ob.high};
  if (!worth(bytes_of(sa) + bytes_of(sb), each * batch.count, g->k)) return false;
  TlGemm first = *g; /* the others lie as far from it as from g */
  first.a = move_operand(j, &g->a, sa, g->m, g->k);
  first.b = move_operand(j, &g->b, sb, g->n, g->k);
  first.row_bias = place_list(j, g->row_bias, g->m * ELEMENT);
  first.col_bias = place_list(j, g->col_bias, g->n * ELEMENT);
  batch.shape = place_list(j, batch.shape, words);
  batch.as = place_list(j, batch.as, words);
  batch.bs = place_list(j, batch.bs, words);
  for (int p = 1; p < s->parts; p++) {
    const int64_t from = tl_split_at(s, p), to = tl_split_at(s, p + 1);
    Block *b = &j->block[p];
    *b = (Block){.images = to - from, .rows = g->m, .columns = g->n, .in_place = true};
    b->results = (char *)g->c + from * each * ELEMENT;
    b->at = place(j, g->accumulate ? b->results : NULL, block_bytes(b));
    j->part[p] = (TlPagePart){.g = first, .batched = true, .batch = batch, .from = from, .to = to};
    j->part[p].g.c = moved(g->c, b->results, b->at);
  }
  return true;
}

/* After the job: results of the parts whose bits are set come back. -1 if they did not. */
static int collect(Job *j, uint32_t parts) {
  j->out.count = 0;
  for (int p = 1; p < j->s->parts; p++)
    if (parts >> p & 1) {
      j->out.copy[j->out.count].from = j->block[p].at;
      j->out.copy[j->out.count].to = address(j->block[p].results);
      j->out.copy[j->out.count++].bytes = (uint32_t)block_bytes(&j->block[p]);
    }
  if (j->out.count && !tl_page(TL_PAGE_COLLECT, &j->out)) {
    PyErr_SetString(PyExc_RuntimeError, "the results of the page's workers could not be copied");
    return -1;
  }
  for (int p = 1; p < j->s->parts; p++)
    if ((parts >> p & 1) && !j->block[p].in_place) exchange(j->s, p, &j->block[p], true);
  return 0;
}

static int run_job(Job *j) {
  TlSplit *s = j->s;
  uint32_t mine = 1, theirs;
  int rc = tl_split_run(s, 0);
  for (int p; !rc && (p = tl_page(TL_PAGE_CLAIM, NULL)) > 0; mine |= 1u << p) rc = tl_split_run(s, p);
  if (rc) tl_page(TL_PAGE_STOP, NULL);
  theirs = (uint32_t)tl_page(TL_PAGE_FINISH, NULL);
  const bool late = theirs & TL_PAGE_LATE;
  theirs &= (TL_PAGE_LATE - 1) & ~mine;
  tl_note_threads(theirs && !late);
  if (!rc) rc = collect(j, theirs);
  for (int p = 1; p < s->parts && !rc; p++)
    if (!((mine | theirs) >> p & 1)) rc = tl_split_run(s, p);
  return rc;
}

static Job job;
int tl_split_all(TlSplit *s) {
  Job *j = &job;
  const uint32_t base = s->type == TL_GEMM_F32 && tl_threads_help() ? tl_page_begin() : 0;
  bool ordered = false;
  if (s->parts > MAX_PARTS) s->parts = MAX_PARTS;
  if (base) {
    j->s = s;
    j->room = NULL;
    j->in = (Order){.need = base, .parts = (uint32_t)s->parts};
    place(j, j->part, s->parts * (int64_t)sizeof *j->part);
    ordered = s->batch ? order_batch(j) : order_product(j);
    ordered = ordered && j->in.need < MOST && tl_page(TL_PAGE_START, &j->in);
  }
  int rc = -1;
  if (!PyErr_Occurred()) {
    if (!ordered) s->parts = 1;
    rc = ordered ? run_job(j) : tl_split_run(s, 0);
  }
  if (base) {
    tl_free(j->room);
    tl_page_end();
  }
  return rc;
}
#endif
