/* parallel.c: the pool of threads of a process, and torch.set_num_threads. Without POSIX threads there is one. */
#include "core/core.h"
#include "core/parallel.h"
#include <stdlib.h>

static int wanted = 1; /* threads, with the caller's */

static int late_jobs; /* in which the threads did not help */
static int skipped;   /* jobs to come that do without them */
bool tl_threads_help(void) {
  if (skipped) skipped--;
  return !skipped;
}
void tl_note_threads(bool helped) {
  if (helped) late_jobs /= 2;
  else if (++late_jobs > 1) skipped = 1 << tl_clamp(late_jobs - 1, 1, 6);
}

#if defined(__wasm__) || defined(_WIN32)

#if defined(_WIN32)
int tl_threads(void) { return 1; }
#else
static bool busy; /* a job of the page's workers runs */
int tl_threads(void) { return busy ? 1 : wanted; }
#endif
bool tl_in_pool(void) { return false; }
void *tl_part_malloc(uint64_t nbytes) { return tl_malloc(nbytes); }
void tl_part_free(void *p) { tl_free(p); }
int tl_part_stopped(void) { return tl_check_interrupt(); }
static int most_threads(void) { return 1; }
int tl_parallel(TlPart fn, void *job, int parts) {
  for (int i = 0; i < parts; i++)
    if (fn(job, i)) return -1;
  return 0;
}

#if defined(__wasm__)
static int (*page)(int command, const void *order);
static TlPageMemory page_memory;
static bool lost;         /* a worker is gone */
static PyObject *starter; /* called once, by the first product that workers could take a part of */

int tl_page(int command, const void *order) {
  const int r = page(command, order);
  lost |= (command == TL_PAGE_FINISH && r < 0) || (command == TL_PAGE_START && r < -1);
  return r;
}
bool tl_page_begin(TlPageMemory *m) {
  if (busy) return false;
  busy = true; /* the starter may run other programs while it waits */
  if (starter) {
    PyObject *start = starter, *r;
    starter = NULL;
    r = PyObject_CallFunctionObjArgs(start, NULL);
    Py_DECREF(start);
    if (!r) {
      busy = false;
      return false;
    }
    Py_DECREF(r);
  }
  busy = page != NULL;
  *m = page_memory;
  return page != NULL;
}
void tl_page_end(void) {
  busy = false;
  if (!lost) return;
  page = NULL;
  tl_page_forget(NULL);
}

static PyObject *set_page(PyObject *m, PyObject *args) {
  unsigned int function, base, end;
  PyObject *start;
  (void)m;
  if (!PyArg_ParseTuple(args, "IIIO", &function, &base, &end, &start)) return NULL;
  if (busy && page) { /* from the handler of a signal */
    PyErr_SetString(PyExc_RuntimeError, "the number of threads cannot change while a product runs");
    return NULL;
  }
  page = (int (*)(int, const void *))(uintptr_t)function;
  page_memory = (TlPageMemory){base, end, page_memory.number + 1};
  lost = false;
  tl_page_forget(NULL);
  late_jobs = skipped = 0; /* what earlier workers did says nothing of these */
  Py_XDECREF(starter);
  starter = start == Py_None ? NULL : Py_NewRef(start);
  Py_RETURN_NONE;
}
static PyObject *page_copies(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  return PyLong_FromUnsignedLong(tl_page_copies());
}
#endif

#else
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* SPINS: how often a thread looks at shared memory before it sleeps. That is some ten microseconds; waking it takes
 * longer */
enum { MAX_THREADS = 256, SPINS = 4000 };

static int started; /* threads of the pool */
static pid_t owner; /* the process that started them; they do not survive a fork */
static bool busy;   /* read and written under the GIL */
static _Thread_local bool in_pool;

/* The job. `claims` holds its number, the next part and the number of parts, so that no thread can take a part of a
 * job that has ended. The other fields are written before the number changes, and stay until `left` is 0. */
static TlPart job_fn;
static void *job_arg;
static _Atomic uint64_t claims;
static _Atomic int left, stopped;
static _Atomic uint64_t missing; /* bytes that a part did not get */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static _Atomic int sleeping;

static inline void pause_a_little(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static inline bool claimable(uint64_t c) { return (c >> 16 & 0xffff) < (c & 0xffff); }

/* runs one part; false if none is left */
static bool run_part(void) {
  uint64_t c = atomic_load(&claims);
  do
    if (!claimable(c)) return false;
  while (!atomic_compare_exchange_weak(&claims, &c, c + (1 << 16)));
  if (job_fn(job_arg, (int)(c >> 16 & 0xffff))) atomic_store(&stopped, 1);
  atomic_fetch_sub(&left, 1);
  return true;
}

static void *serve(void *unused) {
  in_pool = true;
  for (;;) {
    while (run_part()) {}
    for (int i = 0; i < SPINS && !claimable(atomic_load(&claims)); i++) pause_a_little();
    if (claimable(atomic_load(&claims))) continue;
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&sleeping, 1);
    while (!claimable(atomic_load(&claims))) pthread_cond_wait(&wake, &lock);
    atomic_fetch_sub(&sleeping, 1);
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

/* after a fork the child has none of the pool's threads, and its locks are as another thread left them */
static void forget_the_parent(void) {
  if (owner == getpid()) return;
  owner = getpid();
  started = 0;
  atomic_store(&sleeping, 0);
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  wake = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

/* Signals are for the threads of Python. */
static void start(int threads) {
  sigset_t all, before;
  if (started >= threads) return;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (pthread_t t; started < threads; started++) {
    if (pthread_create(&t, NULL, serve, NULL)) break;
    pthread_detach(t);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int tl_threads(void) { return in_pool || busy ? 1 : (int)tl_clamp(wanted, 1, MAX_THREADS); }
bool tl_in_pool(void) { return in_pool; }

void *tl_part_malloc(uint64_t nbytes) {
  if (!in_pool) return tl_malloc(nbytes);
  void *p = NULL;
  if (nbytes > SIZE_MAX / 2 || posix_memalign(&p, 64, nbytes ? (size_t)nbytes : 1)) {
    atomic_store(&missing, nbytes);
    return NULL;
  }
  return p;
}
void tl_part_free(void *p) {
  if (in_pool) free(p);
  else tl_free(p);
}
int tl_part_stopped(void) {
  if (!in_pool) return tl_check_interrupt();
  return atomic_load_explicit(&stopped, memory_order_relaxed) ? -1 : 0;
}

static void publish(TlPart fn, void *job, int parts) {
  job_fn = fn;
  job_arg = job;
  atomic_store(&left, parts);
  atomic_store(&stopped, 0);
  atomic_store(&missing, 0);
  atomic_store(&claims, ((atomic_load(&claims) >> 32) + 1) << 32 | (uint64_t)parts);
  if (!atomic_load(&sleeping)) return;
  pthread_mutex_lock(&lock);
  if (parts > 2) pthread_cond_broadcast(&wake);
  else pthread_cond_signal(&wake);
  pthread_mutex_unlock(&lock);
}

/* waits until the pool has finished its parts; -1 in a child that was forked meanwhile, where they will not end */
static int finish(void) {
  for (int i = 0; atomic_load(&left); i++) {
    if (i < SPINS) {
      pause_a_little();
      continue;
    }
    if (owner != getpid()) return -1;
    if (!atomic_load(&stopped) && tl_check_interrupt()) atomic_store(&stopped, 1);
    sched_yield();
  }
  return 0;
}

static int64_t now(void) { /* nanoseconds */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int tl_parallel(TlPart fn, void *job, int parts) {
  if (parts == 1 || in_pool || busy) {
    for (int i = 0; i < parts; i++)
      if (fn(job, i)) return -1;
    return 0;
  }
  busy = true;
  forget_the_parent();
  start(wanted - 1);
  const int64_t begin = now();
  int mine = 0;
  publish(fn, job, parts);
  while (!atomic_load(&stopped) && run_part()) mine++;
  const int64_t done = now();
  if (atomic_load(&stopped)) { /* nobody needs what is left */
    uint64_t c = atomic_load(&claims);
    while (!atomic_compare_exchange_weak(&claims, &c, c | 0xffff0000u)) {}
    if (claimable(c)) atomic_fetch_sub(&left, (int)((c & 0xffff) - (c >> 16 & 0xffff)));
  }
  const bool lost = finish() != 0;
  tl_note_threads(mine < parts && now() - done < 3 * (done - begin) / 2 + 100000);
  busy = false;
  if (PyErr_Occurred() || (!lost && !atomic_load(&stopped) && tl_check_interrupt())) return -1;
  if (lost)
    PyErr_SetString(PyExc_RuntimeError, "the process was forked during an operation that several threads compute");
  else if (atomic_load(&stopped)) tl_out_of_memory(atomic_load(&missing));
  return lost || atomic_load(&stopped) ? -1 : 0;
}

/* the processors that this process may use */
static int most_threads(void) {
#if defined(__linux__)
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) return tl_clamp(CPU_COUNT(&set), 1, MAX_THREADS);
#endif
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
  return (int)tl_clamp(n, 1, MAX_THREADS);
}
#endif

static PyObject *get_threads(PyObject *m, PyObject *unused) {
  (void)m;
  (void)unused;
  return PyLong_FromLong(wanted);
}
static PyObject *set_threads(PyObject *m, PyObject *n) {
  const int threads = (int)PyLong_AsLong(n);
  (void)m;
  if (threads == -1 && PyErr_Occurred()) return NULL;
  wanted = threads > 0 ? threads : most_threads();
  Py_RETURN_NONE;
}
/* As OpenMP does: the variable decides, which torchrun and others set. */
int tl_parallel_init(void) {
  const char *asked = getenv("OMP_NUM_THREADS");
  const int n = asked ? atoi(asked) : 0;
  wanted = n > 0 ? n : most_threads();
  return 0;
}
PyMethodDef tl_parallel_functions[] = {
  {"get_threads", get_threads, METH_NOARGS, "How many threads operations run on at most."},
  {"set_threads", set_threads, METH_O, "Sets this; 0: as many as there are processors for this process."},
#if defined(__wasm__)
  {"page_copies", page_copies, METH_NOARGS, "Bytes of operands' copies in the memory of the page's workers."},
  {"set_page", set_page, METH_VARARGS,
   "set_page(function or 0, base, end, starter): the workers of the page, and where their memory is free."},
#endif
  {0}};
