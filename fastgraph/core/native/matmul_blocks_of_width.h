/* The blocks of matmul_blocks.h for vectors of one width and type (see simd_lanes.h). */

#define INLINE FG_INLINE __attribute__((target(TARGET)))

/* R rows of sums, N vectors of them; the last vector is a part of one if `part`, and the first too, `first`, where every
 * one is taken so. `more`: what c holds is added to. */
#define LOAD_FIRST(p) (EVERY_PART ? LOAD_PART(p, first) : LOAD(p))
INLINE void NAME(block)(const int R, const int N, const int part, M mask, M first, const T *a, int64_t a_row, int64_t a_col,
                        const T *b, int64_t b_row, T *c, int64_t c_row, int64_t k, int more) {
    V sums[MOST][2];
    const T *q[5];
    if (more) {
#pragma GCC unroll 16
        for (int r = 0; r < R; r++) {
            const T *from = c + r * c_row;
            sums[r][0] = N == 1 && part ? LOAD_PART(from, mask) : LOAD_FIRST(from);
            sums[r][1] = N == 1 ? ZERO : part ? LOAD_PART(from + LANES, mask) : LOAD(from + LANES);
        }
    } else {
#pragma GCC unroll 16
        for (int r = 0; r < R; r++) sums[r][0] = sums[r][1] = ZERO;
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; r += 3) q[r / 3] = a + r * a_row;
    for (int64_t p = 0; p < k; p++) {
        V y0 = N == 1 && part ? LOAD_PART(b, mask) : LOAD_FIRST(b);
        V y1 = N == 1 ? y0 : part ? LOAD_PART(b + LANES, mask) : LOAD(b + LANES);
#pragma GCC unroll 16
        for (int r = 0; r < R; r++) {
            V x = SET1(*FG_ROW(r));
            sums[r][0] = FMA(x, y0, sums[r][0]);
            if (N == 2) sums[r][1] = FMA(x, y1, sums[r][1]);
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; r += 3) q[r / 3] += a_col;
        b += b_row;
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
        T *to = c + r * c_row;
        if (N == 2 && EVERY_PART)
            STORE_PART(to, first, sums[r][0]);
        else if (N == 2)
            STORE(to, sums[r][0]);
        if (part)
            STORE_PART(to + (N - 1) * LANES, mask, sums[r][N - 1]);
        else
            STORE(to + (N - 1) * LANES, sums[r][N - 1]);
    }
}

/* R rows of c, columns [v0, v1). Where b's panels are copied, one follows the other `panel` numbers later. */
#define ROWS(R)                                                                                                        \
    static __attribute__((noinline, target(TARGET))) void NAME(rows##R)(                                               \
        const T *a, int64_t a_row, int64_t a_col, const T *b, int64_t b_row, int64_t panel, T *c, int64_t c_row,       \
        int64_t n, int64_t k, int more) {                                                                              \
        M none = MASK_OF(0);                                                                                           \
        if (EVERY_PART) {                                                                                              \
            for (; n > 0; n -= 2 * LANES, b += panel, c += 2 * LANES) {                                                \
                M first = MASK_OF(n < LANES ? n : LANES);                                                              \
                M mask = MASK_OF(n <= LANES ? 0 : n < 2 * LANES ? n - LANES : LANES);                                  \
                NAME(block)(R, 2, 1, mask, first, a, a_row, a_col, b, b_row, c, c_row, k, more);                       \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (; n >= 2 * LANES; n -= 2 * LANES, b += panel, c += 2 * LANES)                                             \
            NAME(block)(R, 2, 0, none, none, a, a_row, a_col, b, b_row, c, c_row, k, more);                            \
        if (n > LANES)                                                                                                 \
            NAME(block)(R, 2, 1, MASK_OF(n - LANES), none, a, a_row, a_col, b, b_row, c, c_row, k, more);              \
        else if (n > 0)                                                                                                \
            NAME(block)(R, 1, 1, MASK_OF(n), none, a, a_row, a_col, b, b_row, c, c_row, k, more);                      \
    }
ROWS(1) ROWS(2) ROWS(3) ROWS(4) ROWS(5) ROWS(6)
#if MOST > 6
ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12) ROWS(13) ROWS(14)
#endif
#undef ROWS

typedef void (*NAME(rows_t))(const T *, int64_t, int64_t, const T *, int64_t, int64_t, T *, int64_t, int64_t, int64_t,
                             int);
static const NAME(rows_t) NAME(rows)[] = {
    NULL, NAME(rows1), NAME(rows2), NAME(rows3), NAME(rows4), NAME(rows5), NAME(rows6),
#if MOST > 6
    NAME(rows7), NAME(rows8), NAME(rows9), NAME(rows10), NAME(rows11), NAME(rows12), NAME(rows13), NAME(rows14),
#endif
};

#if !EVERY_PART /* else those of others: they only move elements */
/* Columns [0, n) of b, laid out panel by panel, each [k, 2 * LANES]. */
static __attribute__((noinline, target(TARGET))) void NAME(panels)(T *to, const T *b, int64_t b_row, int64_t b_col,
                                                                    int64_t n, int64_t k) {
    for (int64_t v = 0; v < n; v += 2 * LANES, to += 2 * LANES * k) {
        int64_t wide = n - v < 2 * LANES ? n - v : 2 * LANES;
        const T *from = b + v * b_col;
        if (b_col == 1 && wide == 2 * LANES) {
            for (int64_t p = 0; p < k; p++) {
                STORE(to + p * 2 * LANES, LOAD(from + p * b_row));
                STORE(to + p * 2 * LANES + LANES, LOAD(from + p * b_row + LANES));
            }
        } else if (b_col == 1) {
            for (int64_t p = 0; p < k; p++)
                for (int64_t j = 0; j < wide; j++) to[p * 2 * LANES + j] = from[p * b_row + j];
        } else { /* b_row is 1: a few rows at a time, a line of the cache of each */
            int64_t j = 0;
            for (; j + TILE <= wide; j += TILE) {
                int64_t p = 0;
                for (; p + TILE <= k; p += TILE) TURN(to + p * 2 * LANES + j, 2 * LANES, from + j * b_col + p, b_col);
                for (; p < k; p++)
                    for (int64_t i = 0; i < TILE; i++) to[p * 2 * LANES + j + i] = from[(j + i) * b_col + p];
            }
            for (; j < wide; j++)
                for (int64_t p = 0; p < k; p++) to[p * 2 * LANES + j] = from[j * b_col + p];
        }
    }
}

/* c = a @ b by these functions for rows. */
static __attribute__((target(TARGET))) void NAME(fg_product)(const NAME(rows_t) *by, void *room, const T *a, const T *b, T *c, int64_t m,
                                                             int64_t n, int64_t k, int64_t a_row, int64_t a_col,
                                                             int64_t b_row, int64_t b_col, int64_t c_row) {
    T *block = (T *)room, *panels = block + 16 * (FG_DEPTH_OF(T) + 64);
    int64_t n_depths = (k + FG_DEPTH_OF(T) - 1) / FG_DEPTH_OF(T);
    int64_t deep = n_depths > 0 ? (k + n_depths - 1) / n_depths : 1;
    int64_t wide = 2 * LANES, near = (FG_NEAR / (int64_t)sizeof(T) / deep / wide + 1) * wide;
    int64_t n_blocks = (m + MOST - 1) / MOST;
    /* As even as can be: 64 rows are 13, 13, 13, 13 and 12, none of which waits for its own sums. */
    int64_t least = m / n_blocks, more = m % n_blocks;
    /* Rows far apart want the same places of the caches, and pages of memory; few rows of a do not repay the copy. */
    int copy_b = b_col != 1 || (b_row * deep * (int64_t)sizeof(T) >= FG_FAR && m >= 32);
    int copy_a = a_col > 256 && deep >= 128; /* a in the order it has is read along its lines: no copy is better */
    /* Rows a page apart share one place of the nearest cache, which holds fewer than a block has: copied, they lie apart. */
    int part_a = !copy_a && a_col == 1 && a_row * (int64_t)sizeof(T) % FG_PAGE == 0 && n >= FG_PARTED && m > 8;
    for (int64_t v0 = 0; v0 < n; v0 += near) {
        int64_t count = n - v0 < near ? n - v0 : near;
        for (int64_t p0 = 0; p0 == 0 || p0 < k; p0 += deep) {
            int64_t depth = k - p0 < deep ? k - p0 : deep;
            const T *right = b + v0 * b_col + p0 * b_row;
            int64_t right_row = b_row, panel = wide;
            if (copy_b) {
                NAME(panels)(panels, right, b_row, b_col, count, depth);
                right = panels, right_row = wide, panel = wide * depth;
            }
            for (int64_t i = 0, at = 0; i < n_blocks; i++) {
                int64_t rows = least + (i < more);
                const T *left = a + at * a_row + p0 * a_col;
                int64_t left_row = a_row, left_col = a_col;
                if (copy_a) {
                    M mask = MASK_OF(rows < LANES ? rows : LANES);
                    for (int64_t p = 0; p < depth; p++) STORE(block + p * 16, LOAD_PART(left + p * a_col, mask));
                    if (rows > LANES) {
                        mask = MASK_OF(rows - LANES);
                        for (int64_t p = 0; p < depth; p++)
                            STORE(block + p * 16 + LANES, LOAD_PART(left + p * a_col + LANES, mask));
                    }
                    left = block, left_row = 1, left_col = 16;
                } else if (part_a) {
                    int64_t row = depth + FG_LINE_OF(T);
                    for (int64_t r = 0; r < rows; r++) memcpy(block + r * row, left + r * a_row, depth * sizeof(T));
                    left = block, left_row = row;
                }
                by[rows](left, left_row, left_col, right, right_row, panel, c + at * c_row + v0, c_row, count,
                                 depth, p0 > 0);
                at += rows;
            }
        }
    }
}

#endif

#undef INLINE
#undef LOAD_FIRST
