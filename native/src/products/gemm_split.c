/* gemm_split.c: products on several threads. A product is cut into ranges of its batch, of rows, or of columns, and
 * each range is computed in the way that was chosen for the whole. The sums of a TL_WAY_ROW are cut at places that do
 * not depend on the number of threads; no others are cut. So every number is the one that a single thread gives. */
#include "core/tl.h"
#include "core/parallel.h"
#include "products/gemm_split.h"

/* SMALL: multiplications that a part has at least, some 30 us on a desktop, 60 in a page: waking a thread takes 5 to
 * 50. FINE: of so many, there are two parts for each thread, as one may be late or slow. THIN: where
 * elements are read once, memory decides, and a multiplication takes so many times as long. PACK: packing an element
 * takes as long as so many multiplications. */
enum { SMALL = 5 << 18, FINE = 1 << 24, THIN = 4, PACK = 16 };
/* A product deeper than this, or one of a single row, is the sum of others. Workers have memory for at least so many of
 * its sums. */
enum { SUMS = 8192 };

TlGemm tl_split_piece(const TlSplit *s, int part) {
  const int64_t size = tl_gemm_kinds[s->type].size, from = tl_split_at(s, part), to = tl_split_at(s, part + 1),
                at = from * s->step, end = to * s->step;
  TlGemm g = s->g;
  switch (s->cut) {
  case TL_ROWS:
    g.m = (end < g.m ? end : g.m) - at;
    if (g.a.ioff) g.a.ioff += at;
    else g.a.p = (const char *)g.a.p + at * g.a.is * size;
    g.c = (char *)g.c + at * g.c_rs * size;
    if (g.row_bias) g.row_bias = (const char *)g.row_bias + at * size;
    break;
  case TL_COLUMNS:
    g.n = (end < g.n ? end : g.n) - at;
    g.b.p = (const char *)g.b.p + at * g.b.is * size;
    g.c = (char *)g.c + at * g.c_cs * size;
    if (g.col_bias) g.col_bias = (const char *)g.col_bias + at * size;
    break;
  case TL_PANELS:
    g.from = from;
    g.to = to;
    break;
  case TL_BATCHES: break;
  }
  return g;
}

int tl_split_run(void *split, int part) {
  const TlSplit *s = split;
  if (s->cut == TL_BATCHES)
    return tl_gemm_range(s->type, &s->g, tl_batch_way(s), s->batch, tl_split_at(s, part), tl_split_at(s, part + 1));
  const TlGemm g = tl_split_piece(s, part);
  return tl_gemm_kinds[s->type].run(&g, s->way);
}

#if !defined(__wasm__)
int tl_split_all(TlSplit *s) {
  if (!tl_threads_help()) s->parts = 1;
  return tl_parallel(tl_split_run, s, s->parts);
}
#endif

/* the time that the largest of `parts` parts takes, in multiplications for each step of the sums */
static int64_t longest(const TlGemm *g, int64_t units, int64_t step, int64_t across, int parts) {
  const int64_t mine = (units + parts - 1) / parts * step, pack = g->a.ioff || g->b.ioff ? 2 * PACK : PACK;
  return mine * across + pack * (mine + across);
}

/* Cuts a packed product into so many parts by rows or by columns; the time of the largest. */
static int64_t cut_packed(TlSplit *s, int parts) {
  const TlGemm *g = &s->g;
  const int panel = tl_gemm_kinds[s->type].panel;
  const int64_t images = g->images ? g->images : 1, panels = (g->n + panel - 1) / panel * images,
                tiles = (g->m + 3) / 4, by_rows = longest(g, tiles, 4, g->n * images, parts),
                by_panels = longest(g, panels, panel, g->m, parts);
  const bool rows = by_rows < by_panels;
  s->cut = rows ? TL_ROWS : TL_PANELS;
  s->step = rows ? 4 : 1;
  s->units = rows ? tiles : panels;
  s->parts = parts;
  return rows ? by_rows : by_panels;
}

/* Chooses how to cut one product. False: one thread is as fast. */
static bool plan(TlSplit *s, int threads) {
  const TlGemm *g = &s->g;
  const int64_t work = g->m * g->n * (g->images ? g->images : 1) * g->k;
  const bool thin = s->way == TL_WAY_AXPYS || (s->way == TL_WAY_DOTS && (g->m < 4 || g->n < 4));
  const int64_t small = thin ? SMALL / THIN : SMALL;
  s->parts = threads;
  if (work < 2 * small) return false;
  switch (s->way) {
  case TL_WAY_DOTS: /* by fours, as the loops go */
    s->step = 4;
    s->cut = g->m > g->n ? TL_ROWS : TL_COLUMNS;
    s->units = ((g->m > g->n ? g->m : g->n) + 3) / 4;
    break;
  case TL_WAY_AXPYS:
  case TL_WAY_DIRECT:
    s->step = 2 * tl_gemm_kinds[s->type].panel;
    s->cut = TL_COLUMNS;
    s->units = (g->n + s->step - 1) / s->step;
    break;
  case TL_WAY_PACKED: {
    const int fine = (int)tl_clamp(work / FINE, threads, 2 * threads);
    if (cut_packed(s, fine) * fine > cut_packed(s, threads) * threads * 33 / 32) break;
    cut_packed(s, fine);
    break;
  }
  default: return false; /* a deep product is made of others */
  }
  if (s->parts > s->units) s->parts = (int)s->units;
  if (s->parts > work / small) s->parts = (int)(work / small);
  return s->parts > 1;
}

/* the parts of one row's product, at the same time */
static int row(TlSplit *s, int threads) {
  const TlGemmKind *kind = &tl_gemm_kinds[s->type];
  const TlGemm g = s->g;
  const int64_t count = tl_gemm_row(&g, &s->g), as = s->g.k * g.a.ks, bs = s->g.k * g.b.ks;
  const TlBatch batch = {count, 1, &count, &as, &bs};
  void *sums = s->g.c = tl_array(count * g.n, kind->size);
  s->batch = &batch;
  s->cut = TL_BATCHES;
  s->units = count;
  s->step = 1;
  s->parts = threads < count ? threads : (int)count;
  const int rc = sums && !tl_split_all(s) ? kind->join(&g, sums, count) : -1;
  tl_free(sums);
  return rc;
}

static int gemm(TlGemmType type, const TlGemm *g) {
  const TlGemmKind *kind = &tl_gemm_kinds[type];
  TlSplit s = {.type = type, .g = *g};
  s.way = kind->way(&s.g);
  const int threads = tl_threads();
  if (threads > 1 && s.way == TL_WAY_ROW) return row(&s, threads);
  return threads > 1 && plan(&s, threads) ? tl_split_all(&s) : kind->run(&s.g, s.way);
}
int tl_gemm_f32(const TlGemm *g) { return gemm(TL_GEMM_F32, g); }
int tl_gemm_f64(const TlGemm *g) { return gemm(TL_GEMM_F64, g); }
int tl_gemm_i64(const TlGemm *g) { return gemm(TL_GEMM_I64, g); }

int tl_gemm_batch(TlGemmType type, const TlGemm *g, const TlBatch *batch) {
  const int threads = tl_threads();
  const int64_t each = g->m * g->n * g->k, count = batch->count;
  const bool apart = each < 4 * SMALL || (count >= 4 * threads && (g->m * g->n <= SUMS || (g->m > 1 && g->k <= SUMS)));
  if (threads > 1 && count > 1 && each * count >= 2 * SMALL && apart) {
    TlSplit s = {.type = type, .g = *g, .batch = batch, .cut = TL_BATCHES, .units = count, .step = 1};
    s.parts = (int)tl_clamp(each * count / SMALL, 1, threads < count ? threads : count);
    return tl_split_all(&s);
  }
  if (threads < 2 || each < 2 * SMALL / THIN) return tl_gemm_range(type, g, TL_WAY_NONE, batch, 0, count);
  for (int64_t i = 0; i < count; i++) {
    TlGemm one = *g;
    int64_t a, b;
    tl_batch_at(batch, i, &a, &b);
    one.a.p = (const char *)g->a.p + a * tl_gemm_kinds[type].size;
    one.b.p = (const char *)g->b.p + b * tl_gemm_kinds[type].size;
    one.c = (char *)g->c + i * g->m * g->n * tl_gemm_kinds[type].size;
    if (gemm(type, &one)) return -1;
  }
  return 0;
}
