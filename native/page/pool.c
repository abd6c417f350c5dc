/* pool.c: the workers of a page. Pyodide's memory is not shared and Pyodide has one thread; so large products also run
 * here, a build of the same product code over a memory of its own, which a page's workers share with Pyodide's thread.
 * That one copies operands in, takes parts as the workers do, and copies results out (products/gemm_page.c). */
#include <stddef.h>
#include "core/parallel.h"
#include "products/gemm_page.h"

#define EXPORT(name) __attribute__((export_name(#name)))
enum { SPINS = 1 << 16 }; /* some fifty microseconds: a thread that sleeps takes as long to wake */

/* Memory that a worker asks for: to pack operands, which it keeps, and for the sums of a product that is made of
 * others. */
enum { BLOCKS = 2 };
static TL_OF_THREAD char *arena;
static TL_OF_THREAD size_t block_size;
static TL_OF_THREAD bool taken[BLOCKS];
void *tl_part_malloc(uint64_t nbytes) {
  for (int i = 0; i < BLOCKS && nbytes <= block_size; i++)
    if (!taken[i]) {
      taken[i] = true;
      return arena + (size_t)i * block_size;
    }
  return NULL;
}
void tl_part_free(void *p) {
  if (p) taken[(size_t)((char *)p - arena) / block_size] = false;
}
bool tl_in_pool(void) { return true; }

void *memcpy(void *restrict to, const void *restrict from, size_t n) { return __builtin_memcpy(to, from, n); }
void *memset(void *to, int byte, size_t n) { return __builtin_memset(to, byte, n); }

/* The job, as in core/parallel.c: `claims` holds its number, the next part and the number of parts. */
static const TlPagePart *parts;
static uint64_t claims;
static int32_t left, stopped, bell, ready;
static uint32_t done; /* bits of the parts that workers have finished */

#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_SEQ_CST)
#define ADD(x, v) __atomic_fetch_add(&(x), v, __ATOMIC_SEQ_CST)

int tl_part_stopped(void) { return LOAD(stopped) ? -1 : 0; }

static int32_t take(void) {
  uint64_t c = LOAD(claims);
  do
    if ((c >> 16 & 0xffff) >= (c & 0xffff)) return -1;
  while (!__atomic_compare_exchange_n(&claims, &c, c + (1 << 16), true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return (int32_t)(c >> 16 & 0xffff);
}

int tl_gemm_f32(const TlGemm *g) {
  TlGemm s = *g;
  const TlWay way = tl_gemm_kinds[TL_GEMM_F32].way(&s);
  return tl_gemm_kinds[TL_GEMM_F32].run(&s, way);
}

static void run(int32_t number) {
  const TlPagePart *p = parts + number;
  const int rc = p->batched ? tl_gemm_range(TL_GEMM_F32, &p->g, p->way, &p->batch, p->from, p->to)
                            : tl_gemm_kinds[TL_GEMM_F32].run(&p->g, p->way);
  if (!rc) __atomic_fetch_or(&done, 1u << number, __ATOMIC_SEQ_CST);
  if (ADD(left, -1) == 1) __builtin_wasm_memory_atomic_notify(&left, 1);
}

/* a worker's life */
EXPORT(serve) void serve(char *memory, size_t size) {
  arena = memory;
  block_size = size / BLOCKS;
  ADD(ready, 1);
  for (;;) {
    const int32_t heard = LOAD(bell);
    for (int32_t number; (number = take()) >= 0;) run(number);
    for (int i = 0; i < SPINS && LOAD(bell) == heard; i++) {}
    if (LOAD(bell) == heard) __builtin_wasm_memory_atomic_wait32(&bell, heard, -1);
  }
}

/* ---- for Pyodide's thread ---- */
EXPORT(workers) int32_t workers(void) { return LOAD(ready); }

/* wakes workers for a job that comes in a moment, while its operands are copied */
EXPORT(wake) void wake(int32_t n) {
  ADD(bell, 1);
  __builtin_wasm_memory_atomic_notify(&bell, (uint32_t)n);
}

/* parts 1 .. n - 1 are to be had; part 0 is the caller's */
EXPORT(publish) void publish(const TlPagePart *job, int32_t n) {
  parts = job;
  STORE(left, n - 1);
  STORE(done, 0);
  STORE(stopped, 0);
  STORE(claims, ((LOAD(claims) >> 32) + 1) << 32 | 1 << 16 | (uint64_t)n);
  wake(n - 1);
}

EXPORT(claim) int32_t claim(void) {
  const int32_t number = take();
  if (number >= 0) ADD(left, -1);
  return number;
}

EXPORT(stop) void stop(void) {
  STORE(stopped, 1);
  while (claim() >= 0) {}
}

/* Waits for the workers' parts, by looking, then asleep for so many milliseconds; whether they are finished. */
EXPORT(finished) int32_t finished(int32_t sleep) {
  int32_t now = 1;
  for (int i = 0; i < SPINS && now; i++) now = LOAD(left);
  if (now && sleep) {
    __builtin_wasm_memory_atomic_wait32(&left, now, sleep * 1000000ll);
    now = LOAD(left);
  }
  return !now;
}

EXPORT(results) uint32_t results(void) { return LOAD(done); }
