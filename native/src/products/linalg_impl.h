/* linalg_impl.h: matrix factorisations in double precision for elements T, real or complex; linalg.c includes it twice
 * and defines the arithmetic: ADD SUB MUL CONJ SCALE(a, real) RE IM DOT AXPY ROW TAKE_TWO (spectral.h) PIVOT NORM2
 * (|a|^2) FROM(real) INV, ISZERO. Row-major, leading dimension = number of columns. Textbook algorithms in LAPACK's
 * conventions, counting in pointers' width: in WASM no loop of 64-bit counts becomes vectors. A factor of zero is
 * multiplied like any other: a NaN beside it spreads, as in LAPACK, and no determinant or solution hides it. */

/* LU with partial pivoting of an m x n panel with row stride lda, in place; piv counts from 1, whole rows of `width`
 * elements from a - left on are exchanged; returns 0 or the 1-based index of the first zero pivot */
static int F(lu_panel)(T *a, intptr_t m, intptr_t n, intptr_t lda, int32_t *piv, bool pivot, intptr_t left,
                       intptr_t width) {
  int info = 0;
  for (intptr_t k = 0; k < (m < n ? m : n); k++) {
    intptr_t p = k;
    double best = PIVOT(a[k * lda + k]);
    if (tick((m - k) * (n - k))) return info;
    if (pivot)
      for (intptr_t i = k + 1; i < m; i++) {
        double v = PIVOT(a[i * lda + k]);
        if (v > best) {
          best = v;
          p = i;
        }
      }
    piv[k] = (int32_t)p + 1;
    if (best == 0 && !info) info = (int)k + 1;
    if (p != k)
      for (intptr_t j = -left; j < width - left; j++) {
        T t = a[k * lda + j];
        a[k * lda + j] = a[p * lda + j];
        a[p * lda + j] = t;
      }
    T inv = best == 0 ? FROM(1) : INV(a[k * lda + k]); /* below a zero: zeros, or NaN that spreads */
    for (intptr_t i = k + 1; i < m; i++) {
      T f = a[i * lda + k] = MUL(a[i * lda + k], inv);
      AXPY(a + i * lda + k + 1, SUB(FROM(0), f), a + k * lda + k + 1, n - k - 1);
    }
  }
  return info;
}

/* x := op(a)^-1 x for triangular a (n x n, row stride lda), x n x r with row stride ldx; unit: ones on the diagonal. In
 * halves, so that most of it is a product. */
static void F(trsm)(const T *a, intptr_t n, intptr_t lda, bool upper, bool unit, T *x, intptr_t r, intptr_t ldx) {
  if (n > BLOCK / 2 && r >= 8) {
    const intptr_t h = n / 2, from = upper ? h : 0, to = upper ? 0 : h, nf = upper ? n - h : h;
    F(trsm)(a + from * (lda + 1), nf, lda, upper, unit, x + from * ldx, r, ldx);
    F(subtract)(x + to * ldx, ldx, a + to * lda + from, lda, x + from * ldx, ldx, 1, n - nf, r, nf);
    F(trsm)(a + to * (lda + 1), n - nf, lda, upper, unit, x + to * ldx, r, ldx);
    return;
  }
  for (intptr_t s = 0; s < n && !tick(s * r); s++) {
    intptr_t i = upper ? n - 1 - s : s;
    for (intptr_t k = upper ? i + 1 : 0; k < (upper ? n : i); k++) {
      const T f = SUB(FROM(0), a[i * lda + k]), *from = x + k * ldx;
      if (r > 3) AXPY(x + i * ldx, f, from, r);
      else
        for (intptr_t j = 0; j < r; j++) x[i * ldx + j] = ADD(x[i * ldx + j], MUL(f, from[j]));
    }
    if (!unit) {
      T d = INV(a[i * lda + i]);
      for (intptr_t j = 0; j < r; j++) x[i * ldx + j] = MUL(x[i * ldx + j], d);
    }
  }
}

/* the same of a whole matrix, in panels */
static int F(lu)(T *a, intptr_t m, intptr_t n, int32_t *piv, bool pivot) {
  const intptr_t r = m < n ? m : n, most = r < 2 * BLOCK ? r : BLOCK;
  int info = 0;
  for (intptr_t k = 0; k < r && !stopped; k += most) {
    const intptr_t w = r - k < most ? r - k : most, right = n - k - w;
    T *d = a + k * (n + 1);
    const int i = F(lu_panel)(d, m - k, w, n, piv + k, pivot, k, n);
    if (i && !info) info = (int)k + i;
    for (intptr_t j = k; j < k + w && k; j++) piv[j] += (int32_t)k;
    if (!right) continue;
    F(trsm)(d, w, n, false, true, d + w, right, n);
    F(subtract)(d + w * (n + 1), n, d + w * n, n, d + w, n, 1, m - k - w, right, w);
  }
  return info;
}

/* lower Cholesky factor from the lower triangle, zeros above; 0 or the 1-based order of the minor that fails. Columns
 * in blocks, from which the product of those before is taken at once; what is below a block is solved for turned. */
static int F(cholesky)(T *a, intptr_t n) {
  const intptr_t most = PRODUCTS && n > BLOCK ? 2 * BLOCK : n;
  T *turned = n > most ? tl_array(most * (n - most), sizeof *turned) : NULL;
  int info = 0;
  if (n > most && !turned) stopped = true;
  for (intptr_t b = 0; b < n && !stopped && !info; b += most) {
    const intptr_t w = n - b < most ? n - b : most, r = n - b - w;
    T *d = a + b * (n + 1);
    if (b) F(subtract)(d, n, a + b * n, n, a + b * n, 1, n, n - b, w, b);
    for (intptr_t j = 0; j < w && !info && !tick((w - j) * j); j++) {
      T *row = d + j * n;
      double s = RE(row[j]) - RE(DOT(row, row, j));
      row[j] = FROM(s);
      if (!(s > 0)) {
        info = (int)(b + j) + 1;
        break;
      }
      s = sqrt(s);
      row[j] = FROM(s);
      for (intptr_t i = j + 1; i < w; i++) d[i * n + j] = SCALE(SUB(d[i * n + j], DOT(row, d + i * n, j)), 1 / s);
    }
    for (intptr_t i = 0; i < r && !info; i++)
      for (intptr_t j = 0; j < w; j++) turned[j * r + i] = d[(w + i) * n + j];
    if (r && !info) F(trsm)(d, w, n, false, false, turned, r, r);
    for (intptr_t i = 0; i < r && !info; i++)
      for (intptr_t j = 0; j < w; j++) d[(w + i) * n + j] = turned[j * r + i];
  }
  for (intptr_t i = 0; i < n; i++)
    for (intptr_t j = i + 1; j < n; j++) a[i * n + j] = FROM(0);
  tl_free(turned);
  return info;
}

/* x (n elements, distance s), whose squares leave the range, by powers of 2 that bring its largest element to about 1.
 * They are returned. false: an element is not finite. */
SIZED static bool F(to_ones)(T *x, intptr_t n, intptr_t s, double power[2]) {
  double top = 0;
  int by = 0;
  for (intptr_t i = 0; i < n; i++) top = fmax(top, fmax(fabs(RE(x[i * s])), fabs(IM(x[i * s]))));
  if (top <= DBL_MAX) frexp(top, &by);
  power[0] = ldexp(1, -by / 2); /* in two: one may leave the range */
  power[1] = ldexp(1, -by + by / 2);
  for (intptr_t i = 0; i < n && by; i++) x[i * s] = SCALE(SCALE(x[i * s], power[0]), power[1]);
  return top <= DBL_MAX;
}

/* Householder vector of x (n elements, distance s): x becomes (beta, v1, ...), returns tau; v0 = 1, beta real */
__attribute__((noinline)) static T F(reflector)(T *x, intptr_t n, intptr_t s) {
  double tail = 0, total, power[2] = {1, 1};
  for (int again = 0;; again++) {
    tail = 0;
    for (intptr_t i = 1; i < n; i++) tail += NORM2(x[i * s]);
    total = NORM2(x[0]) + tail;
    if (again || (total > 1e-280 && total < 1e280)) break;
    F(to_ones)(x, n, s, power);
  }
  T alpha = x[0];
  if (tail == 0 && IM(alpha) == 0) {
    x[0] = SCALE(SCALE(alpha, 1 / power[0]), 1 / power[1]);
    return FROM(0);
  }
  double beta = sqrt(total);
  if (RE(alpha) >= 0) beta = -beta;
  T tau = SCALE(SUB(FROM(beta), alpha), 1 / beta), f = INV(SUB(alpha, FROM(beta)));
  for (intptr_t i = 1; i < n; i++) x[i * s] = MUL(x[i * s], f);
  x[0] = FROM(beta / power[0] / power[1]);
  return tau;
}

/* c := (I - tau v v^H) c for c m x n (row stride lc) with v0 = 1 implied, v1.. at distance s; by rows of some columns
 */
static void F(reflect)(const T *v, intptr_t s, T tau, T *c, intptr_t m, intptr_t n, intptr_t lc) {
  T w[128];
  for (intptr_t at = 0; at < n; at += 128, c += 128) {
    const intptr_t r = n - at < 128 ? n - at : 128;
    for (intptr_t j = 0; j < r; j++) w[j] = c[j];
    for (intptr_t i = 1; i < m; i++) AXPY(w, CONJ(v[i * s]), c + i * lc, r);
    for (intptr_t j = 0; j < r; j++) {
      w[j] = MUL(tau, w[j]);
      c[j] = SUB(c[j], w[j]);
    }
    for (intptr_t i = 1; i < m; i++) AXPY(c + i * lc, SUB(FROM(0), v[i * s]), w, r);
  }
}

/* c := H0 H1 ... c, or of `back` ... H1 H0 c (the conjugate factors), for the w reflections from column k of a on: one
 * by one, or at once as I - V t V^H where products are fast and there is memory for it */
static void F(reflect_all)(const T *a, intptr_t m, intptr_t na, intptr_t k, intptr_t w, const T *tau, bool back, T *c,
                           intptr_t n, intptr_t lc) {
  T *v = PRODUCTS && w > 4 && n >= 8 ? tl_malloc((uint64_t)(m * w + w * w + w * n) * sizeof(T)) : NULL, *t = v + m * w;
  if (v) {
    for (intptr_t i = 0; i < m; i++)
      for (intptr_t j = 0; j < w; j++) v[i * w + j] = i > j ? a[(k + i) * na + k + j] : FROM(i == j);
    F(block_factor)(v, m, w, tau + k, t);
    F(reflect_block)(v, m, w, t, back, t + w * w, c, n, lc);
    tl_free(v);
    return;
  }
  if (PyErr_Occurred()) PyErr_Clear(); /* no memory: it goes without */
  for (intptr_t s = 0; s < w; s++) {
    const intptr_t j = back ? s : w - 1 - s;
    F(reflect)(a + (k + j) * (na + 1), na, back ? CONJ(tau[k + j]) : tau[k + j], c + j * lc, m - j, n, lc);
  }
}

/* q := (I - tau v v^H) q for each of the rows of q, vectors of m elements */
static void F(reflect_rows)(const T *v, T tau, T *q, intptr_t m, intptr_t rows, intptr_t lq) {
  for (intptr_t c = 0; c < rows && !ISZERO(tau); c++, q += lq) AXPY(q, SUB(FROM(0), MUL(tau, DOT(v, q, m))), v, m);
}

/* geqrf of a panel of w columns, m x w, which lie together while it works: false where there is no memory for them */
static bool F(panel_qr)(T *a, intptr_t m, intptr_t w, intptr_t n, T *tau) {
  T *p = tl_malloc((uint64_t)(m * w) * sizeof(T));
  if (!p) {
    PyErr_Clear();
    return false;
  }
  for (intptr_t i = 0; i < m; i++)
    for (intptr_t j = 0; j < w; j++) p[j * m + i] = a[i * n + j];
  for (intptr_t k = 0; k < w && k < m && !tick((m - k) * (w - k)); k++) {
    T *x = p + k * (m + 1);
    tau[k] = F(reflector)(x, m - k, 1);
    const T beta = x[0];
    x[0] = FROM(1);
    F(reflect_rows)(x, CONJ(tau[k]), x + m, m - k, w - k - 1, m);
    x[0] = beta;
  }
  for (intptr_t i = 0; i < m; i++)
    for (intptr_t j = 0; j < w; j++) a[i * n + j] = p[j * m + i];
  tl_free(p);
  return true;
}

static void F(geqrf)(T *a, intptr_t m, intptr_t n, T *tau) {
  const bool blocked = PRODUCTS && m > BLOCK && n > BLOCK;
  const intptr_t r = m < n ? m : n, most = blocked ? 16 : r;
  for (intptr_t b = 0; b < r; b += most) {
    const intptr_t end = r - b < most ? r : b + most, last = blocked ? end : n;
    const bool done = blocked && F(panel_qr)(a + b * (n + 1), m - b, end - b, n, tau + b);
    for (intptr_t k = b; k < end && !done && !tick((m - k) * (last - k)); k++) {
      tau[k] = F(reflector)(a + k * n + k, m - k, n);
      F(reflect)(a + k * n + k, n, CONJ(tau[k]), a + k * n + k + 1, m - k, last - k - 1, n);
    }
    if (stopped) return;
    if (last < n) F(reflect_all)(a, m - b, n, b, end - b, tau, true, a + b * n + end, n - end, n);
  }
}

/* first n columns of H0 H1 ... from vectors stored below the diagonal of a (m x n, n <= m) */
static void F(orgqr)(T *a, intptr_t m, intptr_t n, const T *tau, intptr_t k, T *q) {
  for (intptr_t i = 0; i < m * n; i++) q[i] = FROM(0);
  for (intptr_t i = 0; i < n; i++) q[i * n + i] = FROM(1);
  for (intptr_t b = (k - 1) / 16 * 16; b >= 0 && k && !tick(16 * (m - b) * (n - b)); b -= 16)
    F(reflect_all)(a, m - b, n, b, k - b < 16 ? k - b : 16, tau, false, q + b * (n + 1), n - b, n);
}

/* A Hermitian matrix (its lower triangle) to a real tridiagonal one: diagonal w, below it e. Reflections stay in a.
 * false: interrupted. */
static bool F(tridiagonal)(T *a, intptr_t n, double *w, double *e, T *v, T *p) {
  for (intptr_t i = 0; i < n; i++) {
    a[i * n + i] = FROM(RE(a[i * n + i]));
    for (intptr_t j = i + 1; j < n; j++) a[i * n + j] = CONJ(a[j * n + i]);
  }
  for (intptr_t k = 0; k + 1 < n; k++) {
    intptr_t r = n - k - 1;
    if (tick(2 * r * r)) return false;
    T tau = F(reflector)(a + (k + 1) * n + k, r, n);
    e[k] = RE(a[(k + 1) * n + k]);
    a[k * n + k + 1] = tau; /* kept in the unused upper triangle */
    if (ISZERO(tau)) continue;
    v[0] = FROM(1);
    for (intptr_t i = 1; i < r; i++) v[i] = a[(k + 1 + i) * n + k];
    T dot = FROM(0), *b = a + (k + 1) * (n + 1); /* what is left, r x r */
    for (intptr_t i = 0; i < r; i++) {           /* p = b v, each element of the triangle read once */
      p[i] = ADD(ROW(b + i * n, v, v[i], p, i), MUL(b[i * (n + 1)], v[i]));
    }
    for (intptr_t i = 0; i < r; i++) {
      p[i] = MUL(tau, p[i]);
      dot = ADD(dot, MUL(CONJ(p[i]), v[i]));
    }
    T half = SCALE(MUL(tau, dot), -0.5);
    for (intptr_t i = 0; i < r; i++) p[i] = ADD(p[i], MUL(half, v[i]));
    for (intptr_t i = 0; i < r; i++) TAKE_TWO(b + i * n, v[i], p, p[i], v, i + 1);
  }
  for (intptr_t i = 0; i < n; i++) w[i] = RE(a[i * n + i]);
  if (n) e[n - 1] = 0;
  return true;
}

/* z = Q transposed, of the reflections that tridiagonal() left in a. false: interrupted. */
static bool F(reflections)(const T *a, intptr_t n, T *z, T *v) {
  for (intptr_t i = 0; i < n * n; i++) z[i] = FROM(0);
  for (intptr_t i = 0; i < n; i++) z[i * n + i] = FROM(1);
  for (intptr_t k = n - 2; k >= 0; k--) {
    T tau = a[k * n + k + 1];
    intptr_t r = n - k - 1;
    if (tick(2 * r * r)) return false;
    if (ISZERO(tau)) continue;
    v[0] = FROM(1);
    for (intptr_t i = 1; i < r; i++) v[i] = a[(k + 1 + i) * n + k];
    for (intptr_t c = k + 1; c < n; c++) { /* column c of Q is row c of z */
      T *q = z + c * n + k + 1;
      AXPY(q, SUB(FROM(0), MUL(tau, DOT(v, q, r))), v, r);
    }
  }
  return true;
}

/* Hermitian a (lower triangle read) to eigenvalues w, ascending, and, with `vectors`, these as the columns of a; false:
 * no convergence */
static bool F(eigh)(T *a, intptr_t n, bool vectors, double *w, T *work, double *e) { /* e: 3 n */
  T *z = work + 2 * n; /* n x n, eigenvectors in rows, or none */
  const intptr_t width = vectors ? n : 0;
  double power[2]; /* no square leaves the range */
  for (intptr_t i = 0; i < n; i++)
    for (intptr_t j = i + 1; j < n; j++) a[i * n + j] = FROM(0); /* this triangle is not read */
  F(to_ones)(a, n * n, 1, power);
  if (!F(tridiagonal)(a, n, w, e, work, work + n) || (vectors && !F(reflections)(a, n, z, work))) return true;
  double size = 0, least = 0; /* as in schur(): what counts as small after many steps */
  for (intptr_t i = 0; i < n; i++) size = fmax(size, fmax(fabs(w[i]), fabs(e[i])));
  for (intptr_t l = 0; l < n; l++)
    for (int iter = 0;; iter++) {
      intptr_t m = l;
      while (m + 1 < n && fabs(e[m]) > 2.3e-16 * fmax(fabs(w[m]) + fabs(w[m + 1]), least)) m++;
      if (m == l) break;
      if (iter == 60) return false;
      if (iter == PATIENCE) least = size;
      if (tick((m - l) * (width + 8))) return true;
      tl_ql_sweep(w, e, (double *)z, width * PARTS, l, m, e + n);
    }
  for (intptr_t k = 0; k < n; k++) { /* ascending; vectors to the columns of a */
    intptr_t best = k;
    for (intptr_t i = k + 1; i < n; i++)
      if (w[i] < w[best]) best = i;
    double t = w[k];
    w[k] = w[best];
    w[best] = t;
    if (best != k)
      for (intptr_t j = 0; j < width; j++) {
        T u = z[k * n + j];
        z[k * n + j] = z[best * n + j];
        z[best * n + j] = u;
      }
    w[k] = w[k] / power[0] / power[1];
    for (intptr_t j = 0; j < width; j++) a[j * n + k] = z[k * n + j];
  }
  return true;
}

/* a (n x n) = Q h Q^H with h, in its place, zero below the first subdiagonal. v: n elements */
static void F(hessenberg)(T *a, T *q, intptr_t n, T *v) {
  for (intptr_t i = 0; i < n * n; i++) q[i] = FROM(0);
  for (intptr_t i = 0; i < n; i++) q[i * n + i] = FROM(1);
  for (intptr_t k = 0; k + 2 < n && !tick(3 * n * (n - k)); k++) {
    const intptr_t r = n - k - 1;
    T *x = a + (k + 1) * n + k, tau = F(reflector)(x, r, n);
    F(reflect)(x, n, CONJ(tau), x + 1, r, r, n);
    v[0] = FROM(1);
    for (intptr_t i = 1; i < r; i++) {
      v[i] = CONJ(x[i * n]);
      x[i * n] = FROM(0);
    }
    for (intptr_t i = 0; i < 2 * n; i++) { /* rows of a and q from the right */
      T *row = (i < n ? a + i * n : q + (i - n) * n) + k + 1;
      AXPY(row, SUB(FROM(0), MUL(tau, DOT(v, row, r))), v, r);
    }
  }
}

/* rows := the unit vectors, then the reflections of rows `from` - k of v, in turn from the last */
static bool F(reflections_of)(const T *v, intptr_t m, const T *tau, intptr_t n, intptr_t from, T *q, intptr_t rows) {
  for (intptr_t i = 0; i < rows * m; i++) q[i] = FROM(0);
  for (intptr_t i = 0; i < rows; i++) q[i * m + i] = FROM(1);
  for (intptr_t k = n - 1; k >= 0; k--) {
    const intptr_t at = k + from;
    if (at >= m) continue;
    if (tick(2 * (m - at) * (rows - at))) return false;
    F(reflect_rows)(v + k * m + at, tau[k], q + at * (m + 1), m - at, rows - at, m);
  }
  return true;
}

/* A = U B V^H with B real and upper bidiagonal: diagonal d, above it e. a: the n columns of A as rows of m >= n
 * elements; in their place and in g (n x n) the vectors of the reflections that make U and V. w: m elements */
static bool F(bidiagonal)(T *a, intptr_t m, intptr_t n, double *d, double *e, T *left, T *right, T *g, T *w) {
  for (intptr_t k = 0; k < n; k++) {
    const intptr_t q = n - k - 1, r = m - k - 1;
    T *x = a + k * (m + 1), *next = x + m, *h = g + k * n + k + 1;
    if (tick(4 * (q + 1) * (r + 1))) return false;
    left[k] = F(reflector)(x, r + 1, 1);
    right[k] = FROM(0);
    d[k] = RE(x[0]);
    e[k] = 0;
    x[0] = FROM(1);
    F(reflect_rows)(x, CONJ(left[k]), next, r + 1, q, m);
    if (!q) continue;
    for (intptr_t c = 0; c < q; c++) h[c] = CONJ(next[c * m]);
    right[k] = F(reflector)(h, q, 1);
    e[k] = RE(h[0]);
    h[0] = FROM(1);
    for (intptr_t i = 0; i < r; i++) w[i] = FROM(0);
    for (intptr_t c = 0; c < q; c++) AXPY(w, h[c], next + c * m + 1, r);
    for (intptr_t c = 0; c < q; c++) AXPY(next + c * m + 1, SUB(FROM(0), MUL(right[k], CONJ(h[c]))), w, r);
  }
  return true;
}

/* a: n columns of m >= n elements, as rows; on return u's rows (nu of them) are left singular vectors, v's rows right
 * ones, s descending. nu is 0 where no vectors are wanted. work: m + 2 n elements and 5 n real ones. false: no
 * convergence, or interrupted */
static bool F(svd)(T *a, intptr_t m, intptr_t n, T *u, intptr_t nu, T *v, double *s, T *g, T *work) {
  T *left = work + m, *right = left + n;
  double *e = (double *)(right + n), power[2];
  if (!F(to_ones)(a, m * n, 1, power)) return false;
  if (!F(bidiagonal)(a, m, n, s, e, left, right, g, work)) return false;
  if (nu && (!F(reflections_of)(a, m, left, n, 0, u, nu) || !F(reflections_of)(g, n, right, n, 1, v, n))) return false;
  const intptr_t wu = nu ? m : 0, wv = nu ? n : 0;
  if (!tl_bidiagonal_svd(s, e, n, (double *)u, wu * PARTS, (double *)v, wv * PARTS, e + n)) return false;
  for (intptr_t k = 0; k < n; k++) { /* descending */
    intptr_t best = k;
    for (intptr_t i = k + 1; i < n; i++)
      if (s[i] > s[best]) best = i;
    SWAP(double, s[k], s[best]);
    for (intptr_t j = 0; j < wu && best != k; j++) SWAP(T, u[k * m + j], u[best * m + j]);
    for (intptr_t j = 0; j < wv && best != k; j++) SWAP(T, v[k * n + j], v[best * n + j]);
    s[k] = s[k] / power[0] / power[1];
  }
  return true;
}

/* a = L D L^T (or L D L^H: herm) with 1 x 1 and 2 x 2 blocks and symmetric exchanges, LAPACK's choice of pivots; lower
 * triangle in place. piv counts from 1, negative twice for a 2 x 2 block. 0, or the first zero block from 1. */
#define CJ(v) (herm ? CONJ(v) : (v))
static int F(ldl)(T *a, intptr_t n, int32_t *piv, bool herm) {
  const double alpha = (1 + sqrt(17.0)) / 8;
  int info = 0;
#define A(i, j) a[(i) * n + (j)]
  for (intptr_t k = 0; k < n && !tick((n - k) * (n - k));) {
    intptr_t step = 1, kp = k, imax = k;
    double akk = PIVOT(A(k, k)), col = 0;
    for (intptr_t i = k + 1; i < n; i++)
      if (PIVOT(A(i, k)) > col) {
        col = PIVOT(A(i, k));
        imax = i;
      }
    if (akk == 0 && col == 0) {
      if (!info) info = (int)k + 1;
      piv[k] = (int32_t)k + 1;
      k++;
      continue;
    }
    if (akk < alpha * col) {
      double row = 0;
      for (intptr_t j = k; j < imax; j++) row = fmax(row, PIVOT(A(imax, j)));
      for (intptr_t i = imax + 1; i < n; i++) row = fmax(row, PIVOT(A(i, imax)));
      if (akk >= alpha * col * (col / row)) kp = k;
      else if (PIVOT(A(imax, imax)) >= alpha * row) kp = imax;
      else {
        kp = imax;
        step = 2;
      }
    }
    const intptr_t kk = k + step - 1;
    if (kp != kk) {
      for (intptr_t i = kp + 1; i < n; i++) SWAP(T, A(i, kk), A(i, kp));
      for (intptr_t i = kk + 1; i < kp; i++) {
        T t = CJ(A(i, kk));
        A(i, kk) = CJ(A(kp, i));
        A(kp, i) = t;
      }
      A(kp, kk) = CJ(A(kp, kk));
      SWAP(T, A(kk, kk), A(kp, kp));
      if (step == 2) SWAP(T, A(k + 1, k), A(kp, k));
    }
    if (step == 1) {
      if (herm) A(k, k) = FROM(RE(A(k, k)));
      T r = INV(A(k, k));
      for (intptr_t j = k + 1; j < n; j++) {
        T f = MUL(r, CJ(A(j, k)));
        for (intptr_t i = j; i < n; i++) A(i, j) = SUB(A(i, j), MUL(A(i, k), f));
      }
      for (intptr_t i = k + 1; i < n; i++) A(i, k) = MUL(A(i, k), r);
      piv[k] = (int32_t)kp + 1;
    } else {
      T e = A(k + 1, k), ec = CJ(e), d = A(k, k), d1 = A(k + 1, k + 1), det = INV(SUB(MUL(d, d1), MUL(e, ec)));
      for (intptr_t j = k + 2; j < n; j++) { /* rows of [a_jk a_jk+1] times the block's inverse */
        T x = A(j, k), y = A(j, k + 1);
        T wk = MUL(det, SUB(MUL(d1, x), MUL(e, y))), wk1 = MUL(det, SUB(MUL(d, y), MUL(ec, x)));
        for (intptr_t i = j; i < n; i++) A(i, j) = SUB(A(i, j), ADD(MUL(A(i, k), CJ(wk)), MUL(A(i, k + 1), CJ(wk1))));
        A(j, k) = wk;
        A(j, k + 1) = wk1;
      }
      piv[k] = piv[k + 1] = -(int32_t)(kp + 1);
    }
    k += step;
  }
  return info;
}

static void F(ldl_solve)(const T *a, intptr_t n, const int32_t *piv, bool herm, T *b, intptr_t r) {
#define B(i) (b + (i) * r)
  for (intptr_t k = 0; k < n;) {
    intptr_t step = piv[k] > 0 ? 1 : 2, kp = (piv[k] > 0 ? piv[k] : -piv[k]) - 1, kk = k + step - 1;
    for (intptr_t j = 0; j < r && kp != kk; j++) SWAP(T, B(kk)[j], B(kp)[j]);
    for (intptr_t i = k + step; i < n; i++)
      for (intptr_t s = 0; s < step; s++)
        for (intptr_t j = 0; j < r; j++) B(i)[j] = SUB(B(i)[j], MUL(A(i, k + s), B(k + s)[j]));
    if (step == 1) {
      T d = INV(A(k, k));
      for (intptr_t j = 0; j < r; j++) B(k)[j] = MUL(B(k)[j], d);
    } else {
      T e = A(k + 1, k), ec = CJ(e), det = INV(SUB(MUL(A(k, k), A(k + 1, k + 1)), MUL(e, ec)));
      for (intptr_t j = 0; j < r; j++) {
        T x = B(k)[j], y = B(k + 1)[j];
        B(k)[j] = MUL(det, SUB(MUL(A(k + 1, k + 1), x), MUL(ec, y)));
        B(k + 1)[j] = MUL(det, SUB(MUL(A(k, k), y), MUL(e, x)));
      }
    }
    k += step;
  }
  for (intptr_t k = n - 1; k >= 0;) {
    intptr_t step = piv[k] > 0 ? 1 : 2, kp = (piv[k] > 0 ? piv[k] : -piv[k]) - 1;
    for (intptr_t i = k + 1; i < n; i++)
      for (intptr_t s = 0; s < step; s++)
        for (intptr_t j = 0; j < r; j++) B(k - s)[j] = SUB(B(k - s)[j], MUL(CJ(A(i, k - s)), B(i)[j]));
    for (intptr_t j = 0; j < r && kp != k; j++) SWAP(T, B(k)[j], B(kp)[j]);
    k -= step;
  }
#undef A
#undef B
}
#undef CJ
