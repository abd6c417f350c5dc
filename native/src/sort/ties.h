/* ties.h: sorting and selection that leave equal keys in the order of the C++ library's std::sort, std::nth_element and
 * std::partial_sort, which PyTorch's topk and mode show. Smaller keys come first. Included once for each kind of ITEM.
 */

__attribute__((noinline)) static int64_t NAME(partition)(ITEM *a,
                                                         int64_t n) { /* returns where the second part begins */
  int64_t b = n / 2, c = n - 1, lo = 1, hi = n, work = 0;
  const bool rises = KEY(a[1]) < KEY(a[b]);
  const int64_t small = rises ? 1 : b, large = rises ? b : 1;
  int64_t m = KEY(a[small]) < KEY(a[c]) ? c : small; /* the median of three */
  if (KEY(a[large]) < KEY(a[c])) m = large;
  ITEM t = a[m];
  a[m] = a[0];
  a[0] = t;
  for (;; lo++) {
    while (KEY(a[lo]) < KEY(a[0])) lo++;
    do hi--;
    while (KEY(a[0]) < KEY(a[hi]));
    if (lo >= hi) return lo;
    t = a[lo];
    a[lo] = a[hi];
    a[hi] = t;
    if (TL_TICK(work, 4)) return lo;
  }
}

__attribute__((noinline)) static void NAME(insertion)(ITEM *a, int64_t n) {
  TL_LOOP(i, n) {
    const ITEM t = a[i];
    int64_t j = i;
    for (; j > 0 && KEY(t) < KEY(a[j - 1]); j--) a[j] = a[j - 1];
    a[j] = t;
  }
}

/* In a heap with the largest key on top: the gap at `at` sinks to a leaf, then rises to where `item` belongs. */
__attribute__((noinline)) static void NAME(sift)(ITEM *a, int64_t n, int64_t at, ITEM item) {
  const int64_t top = at;
  int64_t next = 2 * at + 2;
  for (; next <= n; next = 2 * at + 2) {
    if (next == n || KEY(a[next]) < KEY(a[next - 1])) next--;
    a[at] = a[next];
    at = next;
  }
  for (int64_t up = (at - 1) / 2; at > top && KEY(a[up]) < KEY(item); up = (at - 1) / 2) {
    a[at] = a[up];
    at = up;
  }
  a[at] = item;
}

void PUBLIC(heap)(ITEM *a, int64_t n) {
  for (int64_t i = (n - 2) / 2; i >= 0 && n > 1; i--) NAME(sift)(a, n, i, a[i]);
}

void PUBLIC(replace_top)(ITEM *a, int64_t n, ITEM item) { NAME(sift)(a, n, 0, item); }

void PUBLIC(sort_heap)(ITEM *a, int64_t n) {
  int64_t work = 0;
  while (n-- > 1 && !TL_TICK(work, 8)) {
    const ITEM last = a[n];
    a[n] = a[0];
    NAME(sift)(a, n, 0, last);
  }
}

/* the heap of the first k of n */
__attribute__((noinline)) static void NAME(first)(ITEM *a, int64_t n, int64_t k) {
  PUBLIC(heap)(a, k);
  TL_LOOP(j, n - k)
    if (KEY(a[k + j]) < KEY(a[0])) {
      const ITEM item = a[k + j];
      a[k + j] = a[0];
      NAME(sift)(a, k, 0, item);
    }
}

/* what is k-th in order is at a[k], and nothing before it comes after it */
static void NAME(nth)(ITEM *a, int64_t n, int64_t k) {
  for (int depth = levels(n); n > 3 && tl_work(0) == 0; depth--) {
    if (depth == 0) {
      NAME(first)(a, n, k + 1);
      const ITEM t = a[0];
      a[0] = a[k];
      a[k] = t;
      return;
    }
    const int64_t cut = NAME(partition)(a, n);
    if (cut <= k) {
      a += cut;
      n -= cut;
      k -= cut;
    } else n = cut;
  }
  NAME(insertion)(a, n);
}

static int NAME(quick)(ITEM *a, int64_t n, int depth) { /* -1: somebody wants to stop, an exception */
  while (n > 16) {
    if (n > 1 << 16 && tl_check_interrupt()) return -1;
    if (depth-- == 0) {
      PUBLIC(heap)(a, n);
      PUBLIC(sort_heap)(a, n);
      return 0;
    }
    const int64_t cut = NAME(partition)(a, n);
    if (NAME(quick)(a + cut, n - cut, depth)) return -1;
    n = cut;
  }
  return 0;
}

int PUBLIC(sort)(ITEM *a, int64_t n) {
  if (NAME(quick)(a, n, levels(n))) return -1;
  NAME(insertion)(a, n);
  return 0;
}

/* The first k of n come first: by a heap where they are few. sorted: in order; few are anyway. */
int PUBLIC(top)(ITEM *a, int64_t n, int64_t k, bool few, bool sorted) {
  if (few) {
    NAME(first)(a, n, k);
    PUBLIC(sort_heap)(a, k);
    return 0;
  }
  NAME(nth)(a, n, k - 1);
  return sorted ? PUBLIC(sort)(a, k - 1) : 0;
}

#undef ITEM
#undef KEY
#undef NAME
#undef PUBLIC
