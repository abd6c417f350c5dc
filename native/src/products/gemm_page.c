/* gemm_page.c: products on the workers of a page (native/page/pool.c). Their memory is not Pyodide's: what the parts
 * that they may take read is copied there, and what they computed is copied back and put in its place. Pyodide's thread
 * computes its own parts where everything lies, and those that a worker did not finish. Copies of operands that are
 * read again unchanged stay there (page_kept.h). */
#if defined(__wasm__) && !defined(__wasm_atomics__)
#include "core/tl.h"
#include "core/parallel.h"
#include "products/gemm_page.h"
#include "products/gemm_split.h"
#include "products/page_kept.h"

/* WORTH: a byte that is copied takes as long as one or two multiplications. LINE: bytes; copying shorter lines one by
 * one takes longer than copying what is between them. AGAIN, OFTEN: how often operands are read before copies of them
 * are kept, where the product copies them anyway, and where it is too small for that */
enum { MAX_PARTS = TL_PAGE_MOST, MAX_COPIES = 12 + MAX_PARTS, ALIGN = 64, ELEMENT = 4, WORTH = 4 };
enum { LINE = 4096, AGAIN = 2, OFTEN = 3 };

/* What JavaScript copies at the start and at the end of a job (torchlite/_core/threads.js). */
typedef struct {
  uint32_t need, parts, job, count; /* end of the workers' memory that is used; parts, and where they are; copies */
  TlPageCopy copy[MAX_COPIES];
} Order;

/* A part's results: their sizes, and where in c they begin. */
typedef struct {
  int64_t images, rows, columns, image, row, column;
  char *results; /* where they are copied to: c itself, or memory from which exchange() puts them into c */
  uint32_t at;   /* in the workers' memory */
  bool in_place; /* `results` is in c */
  uint32_t step; /* bytes from one row of `results` to the next; 0: the rows have no gaps */
} Block;

typedef struct {
  TlSplit *s;
  Order in, out;
  TlPagePart part[MAX_PARTS];
  Block block[MAX_PARTS];
  char *room;
  TlPageMemory memory;
  TlKept *a, *b; /* operands of which copies may be kept */
  int64_t apart; /* elements between the operands of products, in a copy */
} Job;

static uint32_t address(const void *p) { return (uint32_t)(uintptr_t)p; }
static void *pointer(uint32_t at) { return (void *)(uintptr_t)at; }
/* Where p is after a copy from `from` to `to`. */
static void *moved(const void *p, const void *from, uint32_t to) { return pointer(to + (address(p) - address(from))); }

/* Reserves memory of the workers; `from` is copied there if it is not NULL. Gives the address. */
static uint32_t place(Job *j, const void *from, int64_t bytes) {
  const uint32_t to = j->in.need;
  if (bytes > (int64_t)j->memory.end - ALIGN - to) {
    j->in.need = j->memory.end; /* too much */
    return to;
  }
  j->in.need += ((uint32_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
  if (!from || !bytes) return to;
  j->in.copy[j->in.count++] = (TlPageCopy){address(from), to, (uint32_t)bytes, 1, 0, 0};
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
static bool worth(int64_t bytes_read, int64_t results, int64_t k) {
  return bytes_read + results * ELEMENT <= results * k / WORTH;
}
static int64_t bytes_of(Span s) { return (s.high - s.low + 1) * ELEMENT; }

/* Copies an operand: rows from `at`, if they can be copied without the gaps between them; or the elements of the span,
 * and all offsets. */
static TlMat move_operand(Job *j, const TlMat *m, Span s, int64_t at, int64_t n, int64_t k) {
  TlMat r = *m;
  TlDense d;
  if (at && tl_dense(m, at, n, k, &d) && d.length * ELEMENT >= LINE && d.lines * d.length * ELEMENT < bytes_of(s)) {
    const uint32_t to = place(j, NULL, d.lines * d.length * ELEMENT);
    j->in.copy[j->in.count++] = tl_dense_copy(m, at, &d, to);
    r.is = d.is;
    r.ks = d.ks;
    r.p = pointer(to - (uint32_t)(at * r.is * ELEMENT));
    return r;
  }
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
  const bool rows = whole && !g->coff && g->c_cs == 1;
  b.in_place = rows && (g->c_rs == b.columns || b.rows == 1) && (b.images == 1 || g->c_image == b.rows * b.columns);
  if (rows && !b.in_place && b.images == 1 && b.columns * ELEMENT >= LINE && g->c_rs > 0) {
    b.in_place = true;
    b.step = (uint32_t)(g->c_rs * ELEMENT);
  }
  return b;
}
static int64_t block_bytes(const Block *b) { return b->images * b->rows * b->columns * ELEMENT; }
/* From where the worker has a block to where it belongs. */
static TlPageCopy block_copy(const Block *b) {
  const uint32_t row = (uint32_t)(b->columns * ELEMENT), all = (uint32_t)block_bytes(b);
  return b->step ? (TlPageCopy){b->at, address(b->results), row, (uint32_t)b->rows, row, b->step}
                 : (TlPageCopy){b->at, address(b->results), all, 1, 0, 0};
}
/* Reserves the workers' memory for a block, and copies it there if it is added to. */
static void place_block(Job *j, Block *b) {
  b->at = place(j, NULL, block_bytes(b));
  if (!j->s->g.accumulate) return;
  const TlPageCopy c = block_copy(b);
  j->in.copy[j->in.count++] = (TlPageCopy){c.to, c.from, c.bytes, c.lines, c.to_step, c.from_step};
}

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
    place_block(j, b);
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

/* what the parts that workers may take read of a and of b: rows or columns from here, elements in between included */
typedef struct {
  int64_t a_from, b_from;
  Span a, b;
} Reads;
static Reads reads_of(const TlSplit *s) {
  const TlGemm *g = &s->g;
  const Block from = block_of(s, 1);
  Reads r = {.a_from = s->cut == TL_ROWS ? tl_split_at(s, 1) * s->step : 0, .b_from = from.column};
  r.a = span_of(&g->a, r.a_from, g->m, g->k);
  r.b = span_of(&g->b, r.b_from, g->n, g->k);
  if (g->images > 1) {
    r.b.low += from.image * g->b_image;
    r.b.high += (g->images - 1) * g->b_image;
  }
  return r;
}

static int64_t results_of(const TlGemm *g) { return g->m * g->n * (g->images ? g->images : 1); }

static bool seen(const TlKept *e, uint32_t often) { return e->seen >= often && (often < OFTEN || e->seen >= e->wait); }

/* whether copies of operands are, or shall be, kept. False: the product takes no longer than copying. */
static bool plan_product(Job *j, const Reads *r) {
  const TlGemm *g = &j->s->g;
  if (g->b_panels) return false;
  j->a = tl_kept_note(&g->a, r->a_from, g->m, g->k);
  j->b = tl_kept_note(&g->b, r->b_from, g->n, g->k);
  for (uint32_t often = AGAIN; often <= OFTEN; often++) {
    if (j->a && !j->a->bytes && !seen(j->a, often)) j->a = NULL;
    if (j->b && !j->b->bytes && !seen(j->b, often)) j->b = NULL;
    const int64_t a = j->a && (j->a->bytes || often == OFTEN) ? 0 : bytes_of(r->a),
                  b = j->b && (j->b->bytes || often == OFTEN) ? 0 : bytes_of(r->b);
    if (worth(a + b, results_of(g), g->k)) return true;
  }
  return false;
}
/* The copy that is kept of an operand, made if there is none yet; NULL: no room. */
static TlKept *keep(Job *j, TlKept *e) {
  if (!e || e->bytes || !tl_kept_make(e, &j->in.copy[j->in.count])) return e && e->bytes ? e : NULL;
  j->in.count++;
  return e;
}

static bool order_product(Job *j, const Reads *r) {
  const TlSplit *s = j->s;
  const TlGemm *g = &s->g;
  const TlMat a = j->a ? tl_kept_mat(j->a, &g->a) : move_operand(j, &g->a, r->a, r->a_from, g->m, g->k),
              b = j->b ? tl_kept_mat(j->b, &g->b) : move_operand(j, &g->b, r->b, r->b_from, g->n, g->k);
  if (!worth((j->a ? 0 : bytes_of(r->a)) + (j->b ? 0 : bytes_of(r->b)), results_of(g), g->k)) return false;
  TlSplit moved = *s; /* whose addresses are the workers' */
  moved.g.a = a;
  moved.g.b = b;
  moved.g.row_bias = place_list(j, g->row_bias, g->m * ELEMENT);
  moved.g.col_bias = place_list(j, g->col_bias, g->n * ELEMENT);
  for (int p = 1; p < s->parts; p++) j->part[p] = (TlPagePart){.g = tl_split_piece(&moved, p), .way = s->way};
  return place_results(j);
}

static Reads batch_reads(const TlSplit *s) {
  const TlGemm *g = &s->g;
  Span sa = {INT64_MAX, INT64_MIN}, sb = sa;
  for (int64_t i = tl_split_at(s, 1); i < s->batch->count; i++) {
    int64_t x, y;
    tl_batch_at(s->batch, i, &x, &y);
    sa = (Span){x < sa.low ? x : sa.low, x > sa.high ? x : sa.high};
    sb = (Span){y < sb.low ? y : sb.low, y > sb.high ? y : sb.high};
  }
  const Span oa = span_of(&g->a, 0, g->m, g->k), ob = span_of(&g->b, 0, g->n, g->k);
  return (Reads){.a = {sa.low + oa.low, sa.high + oa.high}, .b = {sb.low + ob.low, sb.high + ob.high}};
}

/* The rows of b that the products of a TL_WAY_ROW read, as an operand whose rows they are. */
static TlMat rows_of(const TlGemm *g) { return (TlMat){.p = g->b.p, .is = g->b.ks, .ks = g->b.is, .of = g->b.of}; }

/* as plan_product */
static bool plan_batch(Job *j, const Reads *r) {
  const TlSplit *s = j->s;
  const TlGemm *g = &s->g;
  const int64_t a = bytes_of(r->a), results = g->m * g->n * s->batch->count;
  if (worth(a + bytes_of(r->b), results, g->k)) return true;
  if (s->way != TL_WAY_ROW || !worth(a, results, g->k)) return false;
  const TlMat rows = rows_of(g);
  j->b = tl_kept_note(&rows, tl_split_at(s, 1) * g->k, s->batch->count * g->k, g->n);
  return j->b && (j->b->bytes || seen(j->b, OFTEN));
}

static bool order_batch(Job *j, const Reads *r) {
  const TlSplit *s = j->s;
  const TlGemm *g = &s->g;
  TlBatch batch = *s->batch;
  const int64_t each = g->m * g->n, words = batch.nd * (int64_t)sizeof(int64_t);
  TlGemm first = *g; /* the others lie as far from it as from g */
  first.a = move_operand(j, &g->a, r->a, 0, g->m, g->k);
  if (s->way == TL_WAY_ROW) {
    if (!j->b) return false;
    const TlMat rows = rows_of(g), kept = tl_kept_mat(j->b, &rows);
    first.b = (TlMat){.p = kept.p, .is = kept.ks, .ks = kept.is};
    j->apart = g->k * kept.is;
    batch.bs = &j->apart;
  } else first.b = move_operand(j, &g->b, r->b, 0, g->n, g->k);
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
    place_block(j, b);
    j->part[p] =
      (TlPagePart){.g = first, .way = tl_batch_way(s), .batched = true, .batch = batch, .from = from, .to = to};
    j->part[p].g.c = moved(g->c, b->results, b->at);
  }
  return true;
}

/* After the job: results of the parts whose bits are set come back. -1 if they did not. */
static int collect(Job *j, uint32_t parts) {
  j->out.count = 0;
  for (int p = 1; p < j->s->parts; p++)
    if (parts >> p & 1) j->out.copy[j->out.count++] = block_copy(&j->block[p]);
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

/* Workers have what they need to begin. */
static bool start_job(Job *j, const Reads *r) {
  const TlSplit *s = j->s;
  j->in.count = 0;
  tl_kept_memory(j->memory.number, j->memory.base, j->memory.end);
  j->a = keep(j, j->a);
  j->b = keep(j, j->b);
  j->in.need = tl_kept_top();
  j->in.parts = (uint32_t)s->parts;
  j->in.job = place(j, j->part, s->parts * (int64_t)sizeof *j->part);
  const bool ordered = s->batch ? order_batch(j, r) : order_product(j, r);
  const int started = ordered && j->in.need < j->memory.end ? tl_page(TL_PAGE_START, &j->in) : 0;
  tl_kept_settle(started > 0);
  if (started == -1) tl_page_forget(NULL); /* they may be what there is no memory for */
  return started > 0;
}

static Job job;
int tl_split_all(TlSplit *s) {
  Job *j = &job;
  bool started = false, begun = false;
  if (s->parts > MAX_PARTS) s->parts = MAX_PARTS;
  if (s->type == TL_GEMM_F32 && tl_threads() > 1 && tl_threads_help()) {
    j->s = s;
    j->room = NULL;
    j->a = j->b = NULL;
    const Reads r = s->batch ? batch_reads(s) : reads_of(s);
    begun = (s->batch ? plan_batch(j, &r) : plan_product(j, &r)) && tl_page_begin(&j->memory);
    started = begun && start_job(j, &r);
  }
  int rc = -1;
  if (!PyErr_Occurred()) {
    if (!started) s->parts = 1;
    rc = started ? run_job(j) : tl_split_run(s, 0);
  }
  if (begun) {
    tl_free(j->room);
    tl_page_end();
  }
  return rc;
}
#endif
