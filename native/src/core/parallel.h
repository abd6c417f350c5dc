/* parallel.h: work in parts that several threads run at the same time.
 *
 * Parts never touch Python: memory comes from tl_part_malloc, and long loops ask tl_part_stopped. No part writes what
 * another one reads or writes, and no sum is cut, so results do not depend on the number of threads. */
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
enum { TL_MAX_PARTS = 1024 };
typedef int (*TlPart)(void *job, int part); /* 0, or -1 if memory is missing or the work was stopped */
/* fn(job, 0), ... fn(job, parts - 1), in any order. 0, or -1 with an exception set. */
int tl_parallel(TlPart fn, void *job, int parts);

bool tl_in_pool(void); /* whether this thread belongs to the pool; other threads hold the GIL */
/* NULL: no memory. With the GIL, torch.OutOfMemoryError is set. */
void *tl_part_malloc(uint64_t nbytes);
void tl_part_free(void *p); /* by the thread that asked for it */
int tl_part_stopped(void);  /* -1: stop. With the GIL, an exception (KeyboardInterrupt) is set. */
#endif
