/* Linear systems of moderate size for vectors of one width and type (see simd_lanes.h; small_systems.h has the small ones).
 *
 * Each element is summed in the order of the rows that are done before it, whatever is computed beside it. */

#define INLINE FG_INLINE __attribute__((target(TARGET)))
#define LOCAL static __attribute__((target(TARGET)))

/* Rows of w [n, n] exchanged and eliminated: U above, the factors of L below the diagonal; order[j]: the row that j was
 * exchanged with. Returns 1; -1 where a pivot is 0, 0 where it is not finite. */
LOCAL __attribute__((noinline)) int NAME(eliminated)(T *w, int64_t *order, int64_t n) {
    for (int64_t j = 0; j < n; j++) {
        int64_t best = j;
        T most = w[j * n + j] < 0 ? -w[j * n + j] : w[j * n + j];
        for (int64_t i = j + 1; i < n; i++) {
            T size = w[i * n + j] < 0 ? -w[i * n + j] : w[i * n + j];
            if (size > most) most = size, best = i;
        }
        if (!(most > 0 && most < (T)INFINITY)) return most == 0 ? -1 : 0;
        order[j] = best;
        T *from = w + j * n, *other = w + best * n;
        for (int64_t c = 0; best != j && c < n; c++) {
            T kept = from[c];
            from[c] = other[c], other[c] = kept;
        }
        for (int64_t i = j + 1; i < n; i++) {
            T *row = w + i * n;
            row[j] /= from[j];
            V factor = SET1(-row[j]);
            int64_t c = j + 1;
            for (; c + LANES <= n; c += LANES) STORE(row + c, FMA(factor, LOAD(from + c), LOAD(row + c)));
            if (c < n) {
                M mask = MASK_OF(n - c);
                STORE_PART(row + c, mask, FMA(factor, LOAD_PART(from + c, mask), LOAD_PART(row + c, mask)));
            }
        }
    }
    return 1;
}

/* R rows of x from i on (back from it if not `forth`), N vectors of them, the last a part of one; a[i, j] of a triangle
 * stands at i * down + j * along, its diagonal is 1 if `unit`. */
INLINE void NAME(rows_solved)(const int R, const int N, M mask, const T *a, int64_t down, int64_t along, T *x, int64_t n,
                              int64_t k, int64_t i, int forth, int unit) {
    V sums[4][2], y[2];
    int64_t step = forth ? 1 : -1, j = forth ? 0 : i + 1, end = forth ? i : n;
    const T *row = a + i * down;
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) sums[r][0] = sums[r][1] = ZERO;
    for (; j < end; j++) {
        y[N - 1] = LOAD_PART(x + j * k + (N - 1) * LANES, mask);
        if (N == 2) y[0] = LOAD(x + j * k);
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) {
            V factor = SET1(row[step * r * down + j * along]);
            sums[r][0] = FMA(factor, y[0], sums[r][0]);
            if (N == 2) sums[r][1] = FMA(factor, y[1], sums[r][1]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
        T *to = x + (i + step * r) * k;
        const T *factors = row + step * r * down + i * along;
#pragma GCC unroll 4
        for (int q = 0; q < r; q++) {
            V factor = SET1(factors[step * q * along]);
            y[N - 1] = LOAD_PART(x + (i + step * q) * k + (N - 1) * LANES, mask);
            if (N == 2) y[0] = LOAD(x + (i + step * q) * k);
            sums[r][0] = FMA(factor, y[0], sums[r][0]);
            if (N == 2) sums[r][1] = FMA(factor, y[1], sums[r][1]);
        }
        y[N - 1] = LOAD_PART(to + (N - 1) * LANES, mask) - sums[r][N - 1];
        if (N == 2) y[0] = LOAD(to) - sums[r][0];
        if (!unit) {
            V pivot = SET1(factors[step * r * along]);
            y[0] = DIVIDE(y[0], pivot);
            if (N == 2) y[1] = DIVIDE(y[1], pivot);
        }
        STORE_PART(to + (N - 1) * LANES, mask, y[N - 1]);
        if (N == 2) STORE(to, y[0]);
    }
}

/* x [n, k] = b becomes what solves a x = b for such a triangle. */
LOCAL __attribute__((noinline, noclone)) void NAME(substituted)(const T *a, int64_t down, int64_t along, T *x, int64_t n,
                                                                int64_t k, int forth, int unit) {
    for (int64_t c = 0; c < k; c += 2 * LANES) {
        int64_t some = k - c < 2 * LANES ? k - c : 2 * LANES, i = 0, at;
        M mask = MASK_OF(some > LANES ? some - LANES : some);
        for (; i < n; i += i + 4 <= n ? 4 : 1) {
            at = forth ? i : n - 1 - i;
            if (some > LANES && i + 4 <= n)
                NAME(rows_solved)(4, 2, mask, a, down, along, x + c, n, k, at, forth, unit);
            else if (i + 4 <= n)
                NAME(rows_solved)(4, 1, mask, a, down, along, x + c, n, k, at, forth, unit);
            else
                for (int64_t v = 0; v < some; v += LANES)
                    NAME(rows_solved)(1, 1, v + LANES < some ? MASK_OF(LANES) : mask, a, down, along, x + c + v, n, k, at,
                                      forth, unit);
        }
    }
}

/* x = a^-1 x, or a's transpose, of one matrix; w: room for n * n, order: for n. Returns as what eliminates. */
LOCAL int NAME(fg_solve_by_vectors)(const T *a, T *x, T *w, int64_t *order, int64_t n, int64_t k, int turned) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) w[i * n + j] = turned ? a[j * n + i] : a[i * n + j];
    int done = NAME(eliminated)(w, order, n);
    if (done < 1) return done;
    for (int64_t j = 0; j < n; j++)
        for (int64_t c = 0; order[j] != j && c < k; c++) {
            T kept = x[j * k + c];
            x[j * k + c] = x[order[j] * k + c], x[order[j] * k + c] = kept;
        }
    NAME(substituted)(w, n, 1, x, n, k, 1, 1);
    NAME(substituted)(w, n, 1, x, n, k, 0, 0);
    return 1;
}

/* The same for a triangle, not checked. */
LOCAL void NAME(fg_substitute_by_vectors)(const T *a, T *x, int64_t n, int64_t k, int lower, int turned) {
    NAME(substituted)(a, turned ? 1 : n, turned ? n : 1, x, n, k, lower != turned, 0);
}

#undef INLINE
#undef LOCAL
