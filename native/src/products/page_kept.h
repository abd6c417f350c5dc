/* page_kept.h: copies of operands that stay in the memory of a page's workers while nobody writes the originals.
 *
 * Weights are read by product after product. Copying them each time takes as long as some products, so those that are
 * read again unchanged are copied once. A storage counts the writes to it (tl_bump), and memory that others can write
 * unseen - numpy's, DLPack's, anything whose address was asked for - is never kept. */
#ifndef TL_PAGE_KEPT_H
#define TL_PAGE_KEPT_H
#include "core/tl.h"
#include "products/gemm.h"

/* What JavaScript copies (torchlite/_core/threads.js): lines of so many bytes, and how far they are from each other. */
typedef struct {
  uint32_t from, to, bytes, lines, from_step, to_step;
} TlPageCopy;

/* An operand without gaps: lines, one after the other, of elements that are neighbours. */
typedef struct {
  int64_t lines, length, step; /* step: elements from one line to the next where the operand is now */
  int64_t is, ks;              /* strides where it has no gaps */
} TlDense;
/* Of rows (or columns) from `at` to n of an operand; false if neighbours along neither index are so in memory. */
bool tl_dense(const TlMat *m, int64_t at, int64_t n, int64_t k, TlDense *d);
TlPageCopy tl_dense_copy(const TlMat *m, int64_t at, const TlDense *d, uint32_t to);

typedef struct {
  TlStorage *storage;
  uint32_t serial; /* of it: another may come to lie where it was */
  const char *p;
  int64_t is, ks, at, n, k; /* rows (or columns) from `at` to n */
  uint32_t writes;          /* to the storage, when it was last seen */
  uint32_t seen, used, gap; /* how often since it was written; when last; time between the last two uses */
  uint32_t to, bytes;       /* the copy; 0 bytes: there is none */
  uint32_t wait;            /* as `seen`, before a copy is made again: those before were not used */
  bool reused;
  TlDense dense;
  int next; /* copy, by address */
} TlKept;

/* Notes that a product reads rows (or columns) from `at` to n. NULL: no copy of them may be kept. */
TlKept *tl_kept_note(const TlMat *m, int64_t at, int64_t n, int64_t k);
/* Reserves memory for the copy, and says what to copy; false: no room. */
bool tl_kept_make(TlKept *e, TlPageCopy *c);
TlMat tl_kept_mat(const TlKept *e, const TlMat *m); /* m over the copy */
/* whether what was reserved since the last call has been copied */
void tl_kept_settle(bool copied);
/* The workers' memory is free from `base` to `end`. Another number: it is another memory. */
void tl_kept_memory(int number, uint32_t base, uint32_t end);
uint32_t tl_kept_top(void); /* end of the copies */
#endif
