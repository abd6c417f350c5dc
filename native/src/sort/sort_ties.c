/* sort_ties.c: the functions of ties.h for narrow and for wide keys. */
#include "sort/sort.h"

static int levels(int64_t n) { /* how deep quicksort may go before a heap takes over */
  int depth = 0;
  for (; n > 1; n /= 2) depth += 2;
  return depth;
}

#define ITEM TlItem32
#define KEY(item) ((item) >> 32)
#define NAME(f) f##_32
#define PUBLIC(f) tl_ties_##f##32
#include "sort/ties.h"

#define ITEM TlItem64
#define KEY(item) ((item).key)
#define NAME(f) f##_64
#define PUBLIC(f) tl_ties_##f##64
#include "sort/ties.h"
