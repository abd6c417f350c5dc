/* page_kept.c: see page_kept.h. */
#if defined(__wasm__) && !defined(__wasm_atomics__)
#include "products/page_kept.h"
#include "core/parallel.h"

/* The table remembers SETS x WAYS operands; each set keeps those that were used last. MOST: bytes of all copies
 * together, and at most the workers' memory / SHARE. GRAIN: copies begin at a multiple of so many rows, so that
 * products cut at slightly different places share one. A copy is overdue if it has not been used for OVERDUE times its
 * usual interval, plus LATE. OFTEN: uses are not counted beyond this. */
enum { SETS = 128, WAYS = 8, MOST = 1 << 28, SHARE = 2, GRAIN = 64, ALIGN = 64, ELEMENT = 4, NONE = -1 };
enum { OVERDUE = 2, LATE = 32, OFTEN = 100 };

static TlKept *table;
static int first = NONE; /* the copy with the lowest address */
static uint32_t clock_, base_, room_, serials;
static int memory_number;
static TlKept *fresh[4]; /* reserved, not copied yet */
static int nfresh;

bool tl_dense(const TlMat *m, int64_t at, int64_t n, int64_t k, TlDense *d) {
  if (m->ioff) return false;
  if (m->ks == 1) *d = (TlDense){n - at, k, m->is, k, 1};
  else if (m->is == 1) *d = (TlDense){k, n - at, m->ks, 1, n - at};
  else return false;
  return d->lines == 1 || d->step >= d->length;
}

TlPageCopy tl_dense_copy(const TlMat *m, int64_t at, const TlDense *d, uint32_t to) {
  const bool whole = d->lines == 1 || d->step == d->length;
  const uint32_t line = (uint32_t)(d->length * ELEMENT);
  return (TlPageCopy){.from = (uint32_t)(uintptr_t)m->p + (uint32_t)(at * m->is * ELEMENT),
                      .to = to,
                      .bytes = whole ? line * (uint32_t)d->lines : line,
                      .lines = whole ? 1 : (uint32_t)d->lines,
                      .from_step = (uint32_t)(d->step * ELEMENT),
                      .to_step = line};
}

static void drop(TlKept *e) {
  if (!e->bytes) return;
  int *link = &first;
  while (table + *link != e) link = &table[*link].next;
  *link = e->next;
  e->bytes = 0;
}
void tl_page_forget(const TlStorage *s) {
  for (int i = first, next; i != NONE; i = next) {
    next = table[i].next;
    if (!s || table[i].storage == s) drop(table + i);
  }
}
uint32_t tl_page_copies(void) {
  uint32_t bytes = 0;
  for (int i = first; i != NONE; i = table[i].next) bytes += table[i].bytes;
  return bytes;
}

static TlKept *find(const TlMat *m, TlStorage *s, int64_t k) {
  const uint32_t hash = ((uint32_t)(uintptr_t)m->p >> 2) * 0x9E3779B1u + (uint32_t)(m->is + 31 * m->ks) * 0x85EBCA77u;
  TlKept *set = table + (hash >> 16) % SETS * WAYS, *oldest = set;
  for (TlKept *e = set; e < set + WAYS; e++) {
    if (e->serial == s->serial && e->p == m->p && e->is == m->is && e->ks == m->ks && e->k == k) return e;
    if (!e->bytes == !oldest->bytes ? clock_ - e->used > clock_ - oldest->used : !e->bytes) oldest = e;
  }
  drop(oldest);
  *oldest = (TlKept){s, s->serial, m->p, m->is, m->ks, .at = INT64_MAX, .k = k};
  return oldest;
}

TlKept *tl_kept_note(const TlMat *m, int64_t at, int64_t n, int64_t k) {
  TlStorage *s = (TlStorage *)m->of;
  TlDense d;
  if (!table && !(table = PyMem_Calloc(SETS * WAYS, sizeof *table))) return PyErr_Clear(), NULL;
  if (!s || s->borrowed || s->device || s->fixed || s->addressed || s->exports) return NULL;
  at -= at % GRAIN;
  if (!tl_dense(m, at, n, k, &d)) return NULL;
  if (!s->serial) s->serial = ++serials;
  TlKept *e = find(m, s, k);
  if (e->writes != s->writes || e->at > at || e->n < n) {
    if (e->bytes) e->wait = e->reused ? 0 : 2 * e->seen;
    drop(e);
    e->reused = false;
    const bool wider = e->seen && e->writes == s->writes;
    e->at = wider && e->at < at ? e->at : at;
    e->n = wider && e->n > n ? e->n : n;
    e->writes = s->writes;
    e->seen = 0;
    if (!tl_dense(m, e->at, e->n, k, &e->dense)) {
      e->at = INT64_MAX;
      return NULL;
    }
  }
  e->reused |= e->bytes != 0;
  clock_++;
  e->gap = e->seen ? clock_ - e->used : 0;
  if (e->seen < OFTEN) e->seen++;
  e->used = clock_;
  return e;
}

/* Drops the copy that was not used for the longest time, of those that are overdue: a model's come round again and
 * again, so those of one that is larger than the room stay, while those of one that no longer runs go. */
static bool drop_unused(void) {
  TlKept *oldest = NULL;
  for (int i = first; i != NONE; i = table[i].next) {
    const uint32_t age = clock_ - table[i].used;
    if (age > OVERDUE * table[i].gap + LATE && (!oldest || age > clock_ - oldest->used)) oldest = table + i;
  }
  if (oldest) drop(oldest);
  return oldest != NULL;
}

bool tl_kept_make(TlKept *e, TlPageCopy *c) {
  const int64_t bytes = e->dense.lines * e->dense.length * ELEMENT;
  if (bytes > room_ || nfresh == (int)(sizeof fresh / sizeof *fresh)) return false;
  const uint32_t need = ((uint32_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
  do {
    int *link = &first;
    uint32_t at = base_;
    for (; *link != NONE && table[*link].to - at < need; link = &table[*link].next)
      at = table[*link].to + (table[*link].bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (at - base_ > room_ || need > room_ - (at - base_)) continue;
    e->next = *link;
    *link = (int)(e - table);
    e->to = at;
    e->bytes = (uint32_t)bytes;
    fresh[nfresh++] = e;
    e->storage->kept = 1;
    const TlMat m = {.p = e->p, .is = e->is, .ks = e->ks};
    *c = tl_dense_copy(&m, e->at, &e->dense, at);
    return true;
  } while (drop_unused());
  return false;
}

TlMat tl_kept_mat(const TlKept *e, const TlMat *m) {
  TlMat r = *m;
  r.is = e->dense.is;
  r.ks = e->dense.ks;
  r.p = (const void *)(uintptr_t)(e->to - (uint32_t)(e->at * r.is * ELEMENT));
  return r;
}

void tl_kept_settle(bool copied) {
  while (nfresh) {
    TlKept *e = fresh[--nfresh];
    if (!copied) drop(e);
  }
}

void tl_kept_memory(int number, uint32_t base, uint32_t end) {
  if (number == memory_number) return;
  memory_number = number;
  base_ = base;
  room_ = (end - base) / SHARE < MOST ? (end - base) / SHARE : MOST;
}
uint32_t tl_kept_top(void) {
  uint32_t top = base_;
  for (int i = first; i != NONE; i = table[i].next) top = table[i].to + (table[i].bytes + ALIGN - 1) / ALIGN * ALIGN;
  return top;
}
#endif
