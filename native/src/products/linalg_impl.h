/* linalg_impl.h: matrix factorisations in double precision for elements T, real or complex; linalg.c includes it twice
 * and defines the arithmetic: ADD SUB MUL CONJ SCALE(a, real) RE ABS PIVOT NORM2 (|a|^2) FROM(real) INV, ISZERO.
 * Row-major, leading dimension = number of columns. Textbook algorithms in LAPACK's conventions. A factor of zero is
 * multiplied like any other: a NaN beside it spreads, as in LAPACK, and no determinant or solution hides it. */

/* LU with partial pivoting, in place; piv counts from 1; returns 0 or the 1-based index of the first zero pivot */
static int F(lu)(T *a, int64_t m, int64_t n, int32_t *piv, bool pivot) {
  int info = 0;
  for (int64_t k = 0; k < (m < n ? m : n); k++) {
    int64_t p = k;
    double best = PIVOT(a[k * n + k]);
    if (tick((m - k) * (n - k))) return info;
    if (pivot)
      for (int64_t i = k + 1; i < m; i++) {
        double v = PIVOT(a[i * n + k]);
        if (v > best) {
          best = v;
          p = i;
        }
      }
    piv[k] = (int32_t)p + 1;
    if (best == 0 && !info) info = (int)k + 1;
    if (p != k)
      for (int64_t j = 0; j < n; j++) {
        T t = a[k * n + j];
        a[k * n + j] = a[p * n + j];
        a[p * n + j] = t;
      }
    T inv = best == 0 ? FROM(1) : INV(a[k * n + k]); /* below a zero: zeros, or NaN that spreads */
    for (int64_t i = k + 1; i < m; i++) {
      T f = a[i * n + k] = MUL(a[i * n + k], inv);
      for (int64_t j = k + 1; j < n; j++) a[i * n + j] = SUB(a[i * n + j], MUL(f, a[k * n + j]));
    }
  }
  return info;
}

/* x := op(a)^-1 x for triangular a (n x n, row stride lda), x n x r; unit: ones on the diagonal */
static void F(trsm)(const T *a, int64_t n, int64_t lda, bool upper, bool unit, T *x, int64_t r) {
  for (int64_t s = 0; s < n && !tick(s * r); s++) {
    int64_t i = upper ? n - 1 - s : s;
    for (int64_t k = upper ? i + 1 : 0; k < (upper ? n : i); k++) {
      T f = a[i * lda + k];
      for (int64_t j = 0; j < r; j++) x[i * r + j] = SUB(x[i * r + j], MUL(f, x[k * r + j]));
    }
    if (!unit) {
      T d = INV(a[i * lda + i]);
      for (int64_t j = 0; j < r; j++) x[i * r + j] = MUL(x[i * r + j], d);
    }
  }
}

/* lower Cholesky factor from the lower triangle, zeros above; 0 or the 1-based order of the minor that fails */
static int F(cholesky)(T *a, int64_t n) {
  for (int64_t j = 0; j < n && !tick((n - j) * j); j++) {
    double d = RE(a[j * n + j]);
    for (int64_t k = 0; k < j; k++) d -= NORM2(a[j * n + k]);
    if (!(d > 0)) return (int)j + 1;
    d = sqrt(d);
    a[j * n + j] = FROM(d);
    for (int64_t i = j + 1; i < n; i++) {
      T s = a[i * n + j];
      for (int64_t k = 0; k < j; k++) s = SUB(s, MUL(a[i * n + k], CONJ(a[j * n + k])));
      a[i * n + j] = SCALE(s, 1 / d);
    }
    for (int64_t i = j + 1; i < n; i++) a[j * n + i] = FROM(0);
  }
  return 0;
}

/* Householder vector of x (n elements, distance s): x becomes (beta, v1, ...), returns tau; v0 = 1, beta real */
static T F(reflector)(T *x, int64_t n, int64_t s) {
  double tail = 0;
  for (int64_t i = 1; i < n; i++) tail += NORM2(x[i * s]);
  T alpha = x[0];
  if (tail == 0 && IM(alpha) == 0) return FROM(0);
  double beta = sqrt(NORM2(alpha) + tail);
  if (RE(alpha) >= 0) beta = -beta;
  T tau = SCALE(SUB(FROM(beta), alpha), 1 / beta), f = INV(SUB(alpha, FROM(beta)));
  for (int64_t i = 1; i < n; i++) x[i * s] = MUL(x[i * s], f);
  x[0] = FROM(beta);
  return tau;
}

/* c := (I - tau v v^H) c for c m x n (row stride lc) with v0 = 1 implied, v1.. at distance s */
static void F(reflect)(const T *v, int64_t s, T tau, T *c, int64_t m, int64_t n, int64_t lc) {
  for (int64_t j = 0; j < n; j++) {
    T w = c[j];
    for (int64_t i = 1; i < m; i++) w = ADD(w, MUL(CONJ(v[i * s]), c[i * lc + j]));
    w = MUL(tau, w);
    c[j] = SUB(c[j], w);
    for (int64_t i = 1; i < m; i++) c[i * lc + j] = SUB(c[i * lc + j], MUL(v[i * s], w));
  }
}

static void F(geqrf)(T *a, int64_t m, int64_t n, T *tau) {
  for (int64_t k = 0; k < (m < n ? m : n) && !tick((m - k) * (n - k)); k++) {
    tau[k] = F(reflector)(a + k * n + k, m - k, n);
    F(reflect)(a + k * n + k, n, CONJ(tau[k]), a + k * n + k + 1, m - k, n - k - 1, n);
  }
}

/* first n columns of H0 H1 ... from vectors stored below the diagonal of a (m x n, n <= m) */
static void F(orgqr)(T *a, int64_t m, int64_t n, const T *tau, int64_t k, T *q) {
  for (int64_t i = 0; i < m * n; i++) q[i] = FROM(0);
  for (int64_t i = 0; i < n; i++) q[i * n + i] = FROM(1);
  for (int64_t i = k - 1; i >= 0 && !tick((m - i) * (n - i)); i--)
    F(reflect)(a + i * n + i, n, tau[i], q + i * n + i, m - i, n - i, n);
}

/* A Hermitian matrix (its lower triangle) to a real tridiagonal one: diagonal w, below it e. Reflections stay in a.
 * false: interrupted. */
static bool F(tridiagonal)(T *a, int64_t n, double *w, double *e, T *v, T *p) {
  for (int64_t i = 0; i < n; i++) {
    a[i * n + i] = FROM(RE(a[i * n + i]));
    for (int64_t j = i + 1; j < n; j++) a[i * n + j] = CONJ(a[j * n + i]);
  }
  for (int64_t k = 0; k + 1 < n; k++) {
    int64_t r = n - k - 1;
    if (tick(2 * r * r)) return false;
    T tau = F(reflector)(a + (k + 1) * n + k, r, n);
    e[k] = RE(a[(k + 1) * n + k]);
    a[k * n + k + 1] = tau; /* kept in the unused upper triangle */
    if (ISZERO(tau)) continue;
    v[0] = FROM(1);
    for (int64_t i = 1; i < r; i++) v[i] = a[(k + 1 + i) * n + k];
    T dot = FROM(0);
    for (int64_t i = 0; i < r; i++) {
      T s = FROM(0);
      for (int64_t j = 0; j < r; j++)
        s = ADD(s, MUL(j <= i ? a[(k + 1 + i) * n + k + 1 + j] : CONJ(a[(k + 1 + j) * n + k + 1 + i]), v[j]));
      p[i] = MUL(tau, s);
      dot = ADD(dot, MUL(CONJ(p[i]), v[i]));
    }
    T half = SCALE(MUL(tau, dot), -0.5);
    for (int64_t i = 0; i < r; i++) p[i] = ADD(p[i], MUL(half, v[i]));
    for (int64_t i = 0; i < r; i++)
      for (int64_t j = 0; j <= i; j++)
        a[(k + 1 + i) * n + k + 1 + j] =
          SUB(a[(k + 1 + i) * n + k + 1 + j], ADD(MUL(v[i], CONJ(p[j])), MUL(p[i], CONJ(v[j]))));
  }
  for (int64_t i = 0; i < n; i++) w[i] = RE(a[i * n + i]);
  if (n) e[n - 1] = 0;
  return true;
}

/* z = Q transposed, of the reflections that tridiagonal() left in a. false: interrupted. */
static bool F(reflections)(const T *a, int64_t n, T *z) {
  for (int64_t i = 0; i < n * n; i++) z[i] = FROM(0);
  for (int64_t i = 0; i < n; i++) z[i * n + i] = FROM(1);
  for (int64_t k = n - 2; k >= 0; k--) {
    T tau = a[k * n + k + 1];
    int64_t r = n - k - 1;
    if (tick(2 * r * r)) return false;
    if (ISZERO(tau)) continue;
    for (int64_t c = k + 1; c < n; c++) { /* column c of Q is row c of z */
      T *q = z + c * n + k + 1, s = q[0];
      for (int64_t i = 1; i < r; i++) s = ADD(s, MUL(CONJ(a[(k + 1 + i) * n + k]), q[i]));
      s = MUL(tau, s);
      q[0] = SUB(q[0], s);
      for (int64_t i = 1; i < r; i++) q[i] = SUB(q[i], MUL(a[(k + 1 + i) * n + k], s));
    }
  }
  return true;
}

/* One sweep of implicit QL with Wilkinson's shift over rows l to m of a tridiagonal matrix; z's rows turn with it. */
static void F(ql_sweep)(double *w, double *e, T *z, int64_t n, int64_t l, int64_t m) {
  double g = (w[l + 1] - w[l]) / (2 * e[l]), r = hypot(g, 1), s = 1, c = 1, sub = 0;
  g = w[m] - w[l] + e[l] / (g + (g >= 0 ? r : -r));
  for (int64_t i = m - 1; i >= l; i--) {
    double f = s * e[i], b = c * e[i];
    e[i + 1] = r = hypot(f, g);
    if (r == 0) {
      w[i + 1] -= sub;
      e[m] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = w[i + 1] - sub;
    r = (w[i] - g) * s + 2 * c * b;
    w[i + 1] = g + (sub = s * r);
    g = c * r - b;
    T *x = z + i * n, *y = x + n;
    for (int64_t k = 0; k < n; k++) {
      T t = y[k];
      y[k] = ADD(SCALE(x[k], s), SCALE(t, c));
      x[k] = SUB(SCALE(x[k], c), SCALE(t, s));
    }
  }
  w[l] -= sub;
  e[l] = g;
  e[m] = 0;
}

/* Hermitian a (lower triangle read) to eigenvalues w, ascending, and vectors as the columns of a; false: no convergence
 */
static bool F(eigh)(T *a, int64_t n, double *w, T *work, double *e) {
  T *z = work + 2 * n; /* n x n, eigenvectors in rows */
  if (!F(tridiagonal)(a, n, w, e, work, work + n) || !F(reflections)(a, n, z)) return true;
  for (int64_t l = 0; l < n; l++)
    for (int iter = 0;; iter++) {
      int64_t m = l;
      while (m + 1 < n && fabs(e[m]) > 2.3e-16 * (fabs(w[m]) + fabs(w[m + 1]))) m++;
      if (m == l) break;
      if (iter == 60) return false;
      if (tick((m - l) * n)) return true;
      F(ql_sweep)(w, e, z, n, l, m);
    }
  for (int64_t k = 0; k < n; k++) { /* ascending; vectors to the columns of a */
    int64_t best = k;
    for (int64_t i = k + 1; i < n; i++)
      if (w[i] < w[best]) best = i;
    double t = w[k];
    w[k] = w[best];
    w[best] = t;
    if (best != k)
      for (int64_t j = 0; j < n; j++) {
        T u = z[k * n + j];
        z[k * n + j] = z[best * n + j];
        z[best * n + j] = u;
      }
    for (int64_t j = 0; j < n; j++) a[j * n + k] = z[k * n + j];
  }
  return true;
}

/* makes row k of q (rows of length m) orthonormal to the rows before it, starting from unit vectors */
static void F(complete)(T *q, int64_t k, int64_t m) {
  double best = -1;
  int64_t pick = 0;
  T *row = q + k * m;
  for (int64_t pass = 0; pass < 2; pass++)
    for (int64_t u = 0; u < m; u++) {
      double left = 1;
      if (pass == 0) {
        for (int64_t i = 0; i < k; i++) left -= NORM2(q[i * m + u]);
        if (left > best) {
          best = left;
          pick = u;
        }
        continue;
      }
      for (int64_t i = 0; i < m; i++) row[i] = FROM(i == pick);
      for (int again = 0; again < 2; again++)
        for (int64_t i = 0; i < k; i++) {
          T d = FROM(0);
          for (int64_t j = 0; j < m; j++) d = ADD(d, MUL(CONJ(q[i * m + j]), row[j]));
          for (int64_t j = 0; j < m; j++) row[j] = SUB(row[j], MUL(d, q[i * m + j]));
        }
      double norm = 0;
      for (int64_t j = 0; j < m; j++) norm += NORM2(row[j]);
      norm = 1 / sqrt(norm);
      for (int64_t j = 0; j < m; j++) row[j] = SCALE(row[j], norm);
      return;
    }
}

/* one-sided Jacobi: a holds n columns of length m (m >= n) as rows; on return u rows (nu of them) are left singular
 * vectors, v rows the right ones, s descending */
static bool F(svd)(T *a, int64_t m, int64_t n, T *u, int64_t nu, T *v, double *s, int64_t *order) {
  for (int64_t i = 0; i < n * n; i++) v[i] = FROM(0);
  for (int64_t i = 0; i < n; i++) v[i * n + i] = FROM(1);
  bool done = false;
  double all = 0,
         noise = 0; /* the squared norm below which a column is what rounding left of one that depends on others */
  for (int64_t i = 0; i < m * n; i++) all += NORM2(a[i]);
  for (int sweep = 0; sweep < 60 && !done && !stopped; sweep++) {
    done = true;
    if (sweep == 12) noise = all * 1e-28; /* such a column never settles */
    for (int64_t p = 0; p < n && !tick(2 * (n - p) * m); p++)
      for (int64_t q = p + 1; q < n; q++) {
        T *x = a + p * m, *y = a + q * m, dot = FROM(0);
        double aa = 0, bb = 0;
        for (int64_t i = 0; i < m; i++) {
          aa += NORM2(x[i]);
          bb += NORM2(y[i]);
          dot = ADD(dot, MUL(CONJ(x[i]), y[i]));
        }
        double g = ABS(dot);
        if (!(g > 1e-15 * sqrt(aa) * sqrt(bb)) || g < 1e-290 || aa < noise || bb < noise) continue;
        done = false;
        double th = (bb - aa) / (2 * g), t = (th >= 0 ? 1 : -1) / (fabs(th) + sqrt(th * th + 1)),
               c = 1 / sqrt(t * t + 1), sn = c * t;
        T ph = SCALE(dot, 1 / g), phc = CONJ(ph); /* y * conj(phase) makes the product real */
        for (int64_t i = 0; i < m; i++) {
          T yy = MUL(y[i], phc), xx = x[i];
          x[i] = SUB(SCALE(xx, c), SCALE(yy, sn));
          y[i] = ADD(SCALE(xx, sn), SCALE(yy, c));
        }
        T *vx = v + p * n, *vy = v + q * n;
        for (int64_t i = 0; i < n; i++) {
          T yy = MUL(vy[i], phc), xx = vx[i];
          vx[i] = SUB(SCALE(xx, c), SCALE(yy, sn));
          vy[i] = ADD(SCALE(xx, sn), SCALE(yy, c));
        }
      }
  }
  double top = 0;
  for (int64_t i = 0; i < n; i++) {
    double t = 0;
    for (int64_t j = 0; j < m; j++) t += NORM2(a[i * m + j]);
    s[i] = sqrt(t);
    if (s[i] > top) top = s[i];
    order[i] = i;
  }
  for (int64_t i = 1; i < n; i++)
    for (int64_t j = i; j > 0 && s[order[j]] > s[order[j - 1]]; j--) {
      int64_t t = order[j];
      order[j] = order[j - 1];
      order[j - 1] = t;
    }
  int64_t rank = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t o = order[i];
    if (s[o] <= top * 1e-300 || s[o] * s[o] <= noise) break;
    for (int64_t j = 0; j < m; j++) u[i * m + j] = SCALE(a[o * m + j], 1 / s[o]);
    rank++;
  }
  for (int64_t i = rank; i < nu && !tick(4 * i * m); i++) F(complete)(u, i, m);
  return done;
}

/* a = L D L^T (or L D L^H: herm) with 1 x 1 and 2 x 2 blocks and symmetric exchanges, LAPACK's choice of pivots; lower
 * triangle in place. piv counts from 1, negative twice for a 2 x 2 block. 0, or the first zero block from 1. */
#define CJ(v) (herm ? CONJ(v) : (v))
#define SWAP(x, y) do { T swap_ = x; x = y; y = swap_; } while (0)
static int F(ldl)(T *a, int64_t n, int32_t *piv, bool herm) {
  const double alpha = (1 + sqrt(17.0)) / 8;
  int info = 0;
#define A(i, j) a[(i) * n + (j)]
  for (int64_t k = 0; k < n && !tick((n - k) * (n - k));) {
    int64_t step = 1, kp = k, imax = k;
    double akk = PIVOT(A(k, k)), col = 0;
    for (int64_t i = k + 1; i < n; i++)
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
      for (int64_t j = k; j < imax; j++) row = fmax(row, PIVOT(A(imax, j)));
      for (int64_t i = imax + 1; i < n; i++) row = fmax(row, PIVOT(A(i, imax)));
      if (akk >= alpha * col * (col / row)) kp = k;
      else if (PIVOT(A(imax, imax)) >= alpha * row) kp = imax;
      else {
        kp = imax;
        step = 2;
      }
    }
    const int64_t kk = k + step - 1;
    if (kp != kk) {
      for (int64_t i = kp + 1; i < n; i++) SWAP(A(i, kk), A(i, kp));
      for (int64_t i = kk + 1; i < kp; i++) {
        T t = CJ(A(i, kk));
        A(i, kk) = CJ(A(kp, i));
        A(kp, i) = t;
      }
      A(kp, kk) = CJ(A(kp, kk));
      SWAP(A(kk, kk), A(kp, kp));
      if (step == 2) SWAP(A(k + 1, k), A(kp, k));
    }
    if (step == 1) {
      if (herm) A(k, k) = FROM(RE(A(k, k)));
      T r = INV(A(k, k));
      for (int64_t j = k + 1; j < n; j++) {
        T f = MUL(r, CJ(A(j, k)));
        for (int64_t i = j; i < n; i++) A(i, j) = SUB(A(i, j), MUL(A(i, k), f));
      }
      for (int64_t i = k + 1; i < n; i++) A(i, k) = MUL(A(i, k), r);
      piv[k] = (int32_t)kp + 1;
    } else {
      T e = A(k + 1, k), ec = CJ(e), d = A(k, k), d1 = A(k + 1, k + 1), det = INV(SUB(MUL(d, d1), MUL(e, ec)));
      for (int64_t j = k + 2; j < n; j++) { /* rows of [a_jk a_jk+1] times the block's inverse */
        T x = A(j, k), y = A(j, k + 1);
        T wk = MUL(det, SUB(MUL(d1, x), MUL(e, y))), wk1 = MUL(det, SUB(MUL(d, y), MUL(ec, x)));
        for (int64_t i = j; i < n; i++) A(i, j) = SUB(A(i, j), ADD(MUL(A(i, k), CJ(wk)), MUL(A(i, k + 1), CJ(wk1))));
        A(j, k) = wk;
        A(j, k + 1) = wk1;
      }
      piv[k] = piv[k + 1] = -(int32_t)(kp + 1);
    }
    k += step;
  }
  return info;
}

static void F(ldl_solve)(const T *a, int64_t n, const int32_t *piv, bool herm, T *b, int64_t r) {
#define B(i) (b + (i) * r)
  for (int64_t k = 0; k < n;) {
    int64_t step = piv[k] > 0 ? 1 : 2, kp = (piv[k] > 0 ? piv[k] : -piv[k]) - 1, kk = k + step - 1;
    for (int64_t j = 0; j < r && kp != kk; j++) SWAP(B(kk)[j], B(kp)[j]);
    for (int64_t i = k + step; i < n; i++)
      for (int64_t s = 0; s < step; s++)
        for (int64_t j = 0; j < r; j++) B(i)[j] = SUB(B(i)[j], MUL(A(i, k + s), B(k + s)[j]));
    if (step == 1) {
      T d = INV(A(k, k));
      for (int64_t j = 0; j < r; j++) B(k)[j] = MUL(B(k)[j], d);
    } else {
      T e = A(k + 1, k), ec = CJ(e), det = INV(SUB(MUL(A(k, k), A(k + 1, k + 1)), MUL(e, ec)));
      for (int64_t j = 0; j < r; j++) {
        T x = B(k)[j], y = B(k + 1)[j];
        B(k)[j] = MUL(det, SUB(MUL(A(k + 1, k + 1), x), MUL(ec, y)));
        B(k + 1)[j] = MUL(det, SUB(MUL(A(k, k), y), MUL(e, x)));
      }
    }
    k += step;
  }
  for (int64_t k = n - 1; k >= 0;) {
    int64_t step = piv[k] > 0 ? 1 : 2, kp = (piv[k] > 0 ? piv[k] : -piv[k]) - 1;
    for (int64_t i = k + 1; i < n; i++)
      for (int64_t s = 0; s < step; s++)
        for (int64_t j = 0; j < r; j++) B(k - s)[j] = SUB(B(k - s)[j], MUL(CJ(A(i, k - s)), B(i)[j]));
    for (int64_t j = 0; j < r && kp != k; j++) SWAP(B(k)[j], B(kp)[j]);
    k -= step;
  }
#undef A
#undef B
}
#undef CJ
#undef SWAP
