/* parallel.h: work in parts that several threads run at the same time.
 *
 * Parts never touch Python: memory comes from tl_part_malloc, and long loops ask tl_part_stopped. No part writes what
 * another one reads or writes, and where a sum is cut does not depend on the number of threads; so results do not. */
#ifndef TL_PARALLEL_H
#define TL_PARALLEL_H
#include <stdbool.h>
#include <stdint.h>

#if defined(__wasm__) && !defined(__wasm_atomics__)
#define TL_OF_THREAD /* Pyodide has one thread */
#else
#define TL_OF_THREAD _Thread_local
#endif

/* Threads for work that starts now: 1 inside of a part, and while another Python thread has the pool. */
int tl_threads(void);
typedef int (*TlPart)(void *job, int part); /* 0, or -1 if memory is missing or the work was stopped */
/* fn(job, 0), ... fn(job, parts - 1), in any order, at most 65535. 0, or -1 with an exception set. */
int tl_parallel(TlPart fn, void *job, int parts);

/* Where other programs have the cores, threads start late, and waiting for them takes longer than doing without.
 * tl_note_threads is told after each job whether they helped. After two jobs in which they did not, tl_threads_help is
 * false for the next 2 jobs, then for 4, up to 64. */
bool tl_threads_help(void);
void tl_note_threads(bool helped);

bool tl_in_pool(void); /* whether this thread belongs to the pool; other threads hold the GIL */
/* NULL: no memory. With the GIL, torch.OutOfMemoryError is set. */
void *tl_part_malloc(uint64_t nbytes);
void tl_part_free(void *p); /* by the thread that asked for it */
int tl_part_stopped(void);  /* -1: stop. With the GIL, an exception (KeyboardInterrupt) is set. */

/* ---- in Pyodide: the workers of the page, by a function in JavaScript (torchlite/_core/threads.js) ---- */
/* START: 1, or 0 if no worker is free, -1 if there is no memory, -2 if a worker is gone; CLAIM: the next part, -1 if
 * there is none; STOP: nobody needs the rest; FINISH: waits for the workers' parts for a while, and gives the bits of
 * those that they finished, with the two bits below; COLLECT: copies results */
enum { TL_PAGE_START, TL_PAGE_CLAIM, TL_PAGE_STOP, TL_PAGE_FINISH, TL_PAGE_COLLECT };
enum { TL_PAGE_MOST = 30, TL_PAGE_LATE = 1 << 30 }; /* parts; workers were late. Negative: one of them is gone */
int tl_page(int command, const void *order);
/* The workers' memory, free from `base` to `end`; `number` changes with it. */
typedef struct {
  uint32_t base, end;
  int number;
} TlPageMemory;
bool tl_page_begin(TlPageMemory *m); /* false: no workers, or an exception. One job at a time */
void tl_page_end(void);
struct TlStorage;
#if defined(__wasm__)
void tl_page_forget(const struct TlStorage *s); /* its memory goes: no copy of it is of use any more. NULL: of any */
uint32_t tl_page_copies(void);                  /* bytes that copies of operands take */
#else
static inline void tl_page_forget(const struct TlStorage *s) { (void)s; }
#endif
#endif
