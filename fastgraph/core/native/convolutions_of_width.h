/* The sweeps of convolutions.h for vectors of one width and type (see simd_lanes.h). */

#define INLINE FG_INLINE __attribute__((target(TARGET)))
#define LOCAL static __attribute__((target(TARGET)))
#define WIDE (2 * LANES)
#if MOST > 6 /* masks of 16-bit numbers */
#undef TARGET
#define TARGET "avx512f,avx512bw,avx512vl,fma,prfchw"
#endif
/* Rows of two vectors of sums that leave registers for three taps; fewer than LINES_LEAST are not worth it. */
#define LINES_MOST (MOST - 2)
#define LINES_LEAST (MOST > 6 ? 9 : MOST)
/* Places whose sums apart are in registers at a time: more of them have more addresses than registers hold. */
#define APART_MOST (MOST > 7 ? 7 : MOST)
/* The same of filters that do not lie in panels: few places, for which more code would gain little. */
#define DENSE_MOST APART_MOST

/* Add N vectors y of one step to R rows of sums: row r sees a number at `at` in a's row r. */
#define STEP(y, at)                                                                                                    \
    do {                                                                                                               \
        V y0 = N == 1 && part ? LOAD_PART(y, mask) : LOAD(y);                                                          \
        V y1 = N == 1 ? y0 : part ? LOAD_PART((y) + LANES, mask) : LOAD((y) + LANES);                                  \
        _Pragma("GCC unroll 16") for (int r = 0; r < R; r++) {                                                         \
            V x = SET1((how == ACROSS ? q[0] + r : FG_ROW(r))[at]);                                                    \
            sums[r][0] = FMA(x, y0, sums[r][0]);                                                                       \
            if (N == 2) sums[r][1] = FMA(x, y1, sums[r][1]);                                                           \
        }                                                                                                              \
    } while (0)

/* One line of the cache at a time: many at once would keep those waiting that are needed now. */
#define AHEAD (__builtin_prefetch(ahead), ahead += run->ahead_step)

/* Fetch where R rows of N sums go, to be written. */
#define FETCHED                                                                                                        \
    do {                                                                                                               \
        _Pragma("GCC unroll 16") for (int r = 0; r < R; r++) {                                                         \
            __builtin_prefetch(c + r * s->c_row, 1);                                                                   \
            if (N == 2) __builtin_prefetch(c + r * s->c_row + LANES, 1);                                               \
        }                                                                                                              \
    } while (0)

/* How rows of sums lie. NEAR: numbers of a row of a follow each other, and those of b lie in panels. ACROSS: those of a
 * column of a do. */
enum { NAME(any), NAME(near), NAME(across) };
#define NEAR NAME(near)
#define ACROSS NAME(across)

/* R rows of sums, N vectors of them; the last vector is a part of one if `part`. `add`: to what c holds. Additions to
 * addresses are few: they take the place of those to sums. */
INLINE void NAME(sums)(const int R, const int N, const int part, const int how, M mask, const fg_sums *s, const T *a,
                       const T *b, T *c, int add) {
    V sums[MOST][2];
    const T *q[5];
    const int moving = how == ACROSS ? 1 : R; /* rows that need an address of their own, or one for three */
    const int64_t a_row = how == ACROSS ? 1 : s->a_row, a_col = how == NEAR ? 1 : s->a_col;
    const int64_t b_row = how == NEAR ? WIDE : s->b_row;
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) sums[r][0] = sums[r][1] = ZERO;
    if (add || how == NEAR) FETCHED;
    for (const fg_run *run = s->runs; run < s->end; run++) {
        const T *y = b + run->b;
        const char *ahead = (const char *)a + run->ahead;
        int64_t p = run->n;
#pragma GCC unroll 16
        for (int r = 0; r < R; r += 3) q[r / 3] = a + run->a + r * a_row;
        if (how == NEAR)
            for (; p >= 2; p -= 2) { /* with four, fewer of them are done in a cycle */
#pragma GCC unroll 2
                for (int i = 0; i < 2; i++) STEP(y + i * WIDE, i);
#pragma GCC unroll 16
                for (int r = 0; r < R; r += 3) q[r / 3] += 2;
                y += 2 * WIDE;
                AHEAD;
            }
        for (; p > 0; p--) {
            STEP(y, 0);
#pragma GCC unroll 16
            for (int r = 0; r < moving; r += 3) q[r / 3] += a_col;
            y += b_row;
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
        T *to = c + r * s->c_row, *last = to + (N - 1) * LANES;
        if (add) {
            if (N == 2) sums[r][0] = ADD(LOAD(to), sums[r][0]);
            sums[r][N - 1] = ADD(part ? LOAD_PART(last, mask) : LOAD(last), sums[r][N - 1]);
        }
        if (N == 2) STORE(to, sums[r][0]);
        if (part)
            STORE_PART(last, mask, sums[r][N - 1]);
        else
            STORE(last, sums[r][N - 1]);
    }
}

/* True where column j of n is outside: it is neither read nor multiplied, and no zeros need to stand there. The branches are
 * foreseen; those between FG_OUTSIDE and n - FG_OUTSIDE are inside. */
#define PASSED(j, n) (((j) < FG_OUTSIDE && (j) < first) || ((j) >= (n) - FG_OUTSIDE && (j) >= last))

/* Add K taps of a line, n channels of each, to R rows of N vectors of sums that stand as far from each other as taps
 * do: a number serves all of them. VECTOR and what makes one: those of this width, or of half of it. */
#define LINE(K, VECTOR, LOADED, SPREAD, MADE)                                                                          \
    do {                                                                                                               \
        const T *y = b + run->b + tap * s->b_tap;                                                                      \
        const int64_t first = s->first - tap, last = s->last - tap;                                                    \
        _Pragma("GCC unroll 16") for (int j = 0; j < R + K - 1; j += 3) q[j / 3] = a + run->a + (tap + j) * a_row;     \
        for (int64_t p = run->n; p > 0; p--, y += WIDE) {                                                              \
            VECTOR taps[K][2];                                                                                         \
            _Pragma("GCC unroll 4") for (int k = 0; k < K; k++) {                                                      \
                taps[k][0] = LOADED(y + k * b_tap);                                                                    \
                if (N == 2) taps[k][1] = LOADED(y + k * b_tap + LANES);                                                \
            }                                                                                                          \
            _Pragma("GCC unroll 20") for (int j = 0; j < R + K - 1; j++) {                                             \
                if (PASSED(j, R + K - 1)) continue;                                                                    \
                VECTOR x = SPREAD(FG_ROW(j)[0]);                                                                       \
                _Pragma("GCC unroll 4") for (int k = 0; k < K; k++)                                                    \
                    if (j >= k && j - k < R) {                                                                         \
                        sums[j - k][0] = MADE(x, taps[k][0], sums[j - k][0]);                                          \
                        if (N == 2) sums[j - k][1] = MADE(x, taps[k][1], sums[j - k][1]);                              \
                    }                                                                                                  \
            }                                                                                                          \
            _Pragma("GCC unroll 16") for (int j = 0; j < R + K - 1; j += 3) q[j / 3]++;                                \
            AHEAD;                                                                                                     \
        }                                                                                                              \
        tap += K;                                                                                                      \
    } while (0)

/* The sums of all runs: lines of taps; b lies in panels. */
#define LINES(VECTOR, LOADED, SPREAD, MADE)                                                                            \
    const T *q[6];                                                                                                     \
    const int64_t a_row = s->a_row, b_tap = s->b_tap;                                                                  \
    VECTOR sums[MOST][2];                                                                                              \
    _Pragma("GCC unroll 16") for (int r = 0; r < R; r++) sums[r][0] = sums[r][1] = SPREAD(0);                          \
    FETCHED;                                                                                                           \
    for (const fg_run *run = s->runs; run < s->end; run++) {                                                           \
        const char *ahead = (const char *)a + run->ahead;                                                                                \
        for (int64_t tap = 0; tap < s->taps;)                                                                          \
            if (s->taps - tap >= 3)                                                                                    \
                LINE(3, VECTOR, LOADED, SPREAD, MADE);                                                                 \
            else if (s->taps - tap == 2)                                                                               \
                LINE(2, VECTOR, LOADED, SPREAD, MADE);                                                                 \
            else                                                                                                       \
                LINE(1, VECTOR, LOADED, SPREAD, MADE);                                                                 \
    }

/* R rows of n sums, at most N vectors, of which the last is a part if n says so. */
INLINE void NAME(sums_of_lines)(const int R, const int N, const fg_sums *s, const T *a, const T *b, T *c, int64_t n) {
    LINES(V, LOAD, SET1, FMA)
    const M mask = MASK_OF(n < N * LANES ? n - (N - 1) * LANES : 0);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++, c += s->c_row) {
        if (N == 2) STORE(c, sums[r][0]);
        if (n < N * LANES)
            STORE_PART(c + (N - 1) * LANES, mask, sums[r][N - 1]);
        else
            STORE(c + (N - 1) * LANES, sums[r][N - 1]);
    }
}

#if MOST > 6
/* R rows of n sums, at most half a vector: CPUs that make the widest ones of two halves take half the time. */
INLINE void NAME(sums_of_half)(const int R, const fg_sums *s, const T *a, const T *b, T *c, int64_t n) {
    const int N = 1;
    LINES(__m256, _mm256_loadu_ps, _mm256_set1_ps, _mm256_fmadd_ps)
#pragma GCC unroll 16
    for (int r = 0; r < R; r++, c += s->c_row) _mm256_mask_storeu_ps(c, (__mmask8)((1u << n) - 1), sums[r][0]);
}
#define HALF(R, n) if (2 * (n) <= LANES) NAME(sums_of_half)(R, s, a, b, c, n); else
#else
#define HALF(R, n)
#endif

/* Numbers of 16 bits are widened where they lie. */
#define WIDENED (MOST > 6)
#if WIDENED
#define LOAD_BRAIN_PART(p, mask) \
    _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, p)), 16))
#define STORE_BRAIN_PART(p, mask, v) _mm256_mask_storeu_epi16(p, mask, fg_brain_512(v))
#else
#define LOAD_BRAIN_PART(p, mask) ZERO
#define STORE_BRAIN_PART(p, mask, v) ((void)(v))
#endif

/* The vector of a column. */
#define APART(p)                                                                                                       \
    (brain  ? part ? LOAD_BRAIN_PART(p, mask) : LOAD_BRAIN(p)                                                          \
     : part ? LOAD_PART((const T *)(p), mask)                                                                          \
            : LOAD((const T *)(p)))

/* An address that moves; else there are more of them, one for each column, than registers. */
#define ONE_REGISTER(p) __asm__("" : "+r"(p))

/* A vector that is loaded once; else each of its products loads it, and loads are what limits. */
#define LOADED_ONCE(v) __asm__("" : "+v"(v))

/* Add K steps to R rows of sums apart that stand as far from each other as steps do: a vector serves all of them. */
#define STEPS(K)                                                                                                       \
    do {                                                                                                               \
        V steps[K];                                                                                                    \
        const char *from = q;                                                                                          \
        _Pragma("GCC unroll 8") for (int k = 0; k < K; k++) {                                                          \
            const T *of = y + k % 3 * b_row;                                                                           \
            steps[k] = part ? LOAD_PART(of, mask) : LOAD(of);                                                          \
            if (k % 3 == 2 || k == K - 1) y = of + b_row;                                                              \
            ONE_REGISTER(y);                                                                                           \
        }                                                                                                              \
        _Pragma("GCC unroll 20") for (int j = 0; j < R + K - 1; j++) {                                                 \
            if (j && j % 3 == 0) from += 3 * a_col;                                                                    \
            ONE_REGISTER(from);                                                                                        \
            if (edged && !(seen >> j & 1)) continue;                                                                   \
            V x = APART(from + j % 3 * a_col);                                                                         \
            LOADED_ONCE(x);                                                                                            \
            _Pragma("GCC unroll 8") for (int k = 0; k < K; k++)                                                        \
                if (j >= k && j - k < R) sums[j - k] = FMA(x, steps[k], sums[j - k]);                                  \
        }                                                                                                              \
        q += K * a_col;                                                                                                \
        seen >>= K;                                                                                                    \
        p -= K;                                                                                                        \
    } while (0)

/* R rows of sums apart, a vector of them, of which a part if `part`. `edged`: columns outside are passed over, neither read
 * nor multiplied. `brain`: what is read and written is bfloat16. */
INLINE void NAME(sums_apart)(const int R, const int part, const int edged, const int brain, M mask, const fg_sums *s,
                             const T *a, const T *b, T *c, int add) {
    V sums[MOST];
    const int64_t size = brain ? 2 : sizeof(T), a_row = s->a_row * size, a_col = s->a_col * size, b_row = s->b_row;
    const fg_run *end = s->end;
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
        sums[r] = ZERO;
        __builtin_prefetch((const char *)c + s->below + r * s->c_row * size, 1);
    }
    for (const fg_run *run = s->runs; run < end; run++) {
        const char *q = (const char *)a + run->a * size, *ahead = (const char *)a + run->ahead;
        for (int64_t i = run->ahead_columns; i > 0; i--) AHEAD;
        const T *y = b + run->b;
        int64_t seen = s->columns; /* all bits stay set */
        int64_t p = run->n;
        if (a_row == a_col) {
            while (p >= 7) STEPS(7);
            if (p >= 5)
                STEPS(5);
            else if (p == 4)
                STEPS(4);
            if (p == 3)
                STEPS(3);
            else if (p == 2)
                STEPS(2);
            else if (p == 1)
                STEPS(1);
            continue;
        }
        for (; p > 0; p--, q += a_col, y += b_row, seen >>= s->gap) {
            V step = part ? LOAD_PART(y, mask) : LOAD(y);
            const char *from = q;
#pragma GCC unroll 16
            for (int r = 0; r < R; r++, from += a_row)
                if (!edged || seen >> r * s->step & 1) sums[r] = FMA(APART(from), step, sums[r]);
        }
    }
    char *to = (char *)c;
#pragma GCC unroll 16
    for (int r = 0; r < R; r++, to += s->c_row * size) {
        if (add) sums[r] = ADD(part ? LOAD_PART((T *)to, mask) : LOAD((T *)to), sums[r]);
        if (brain && part)
            STORE_BRAIN_PART((uint16_t *)to, mask, sums[r]);
        else if (brain)
            STORE_BRAIN((uint16_t *)to, sums[r]);
        else if (part)
            STORE_PART((T *)to, mask, sums[r]);
        else
            STORE((T *)to, sums[r]);
    }
}

/* True where whole vectors have code of their own: masks of the widest ones take little time. */
#define WHOLE (MOST <= 6)

/* R rows of n sums, at most two vectors. */
#define ROWS_OF(R, how, name)                                                                                          \
    static __attribute__((noinline, target(TARGET))) void NAME(name##R)(const fg_sums *s, const T *a, const T *b,      \
                                                                        T *c, int64_t n, int add) {                    \
        if (n == WIDE)                                                                                                 \
            NAME(sums)(R, 2, 0, how, MASK_OF(0), s, a, b, c, add);                                                     \
        else if (n > LANES)                                                                                            \
            NAME(sums)(R, 2, 1, how, MASK_OF(n - LANES), s, a, b, c, add);                                             \
        else if (WHOLE && n == LANES)                                                                                  \
            NAME(sums)(R, 1, 0, how, MASK_OF(0), s, a, b, c, add);                                                     \
        else                                                                                                           \
            NAME(sums)(R, 1, 1, how, MASK_OF(n), s, a, b, c, add);                                                     \
    }
#define ROWS_TOGETHER(R)                                                                                               \
    ROWS_OF(R, NEAR, near)                                                                                             \
    ROWS_OF(R, ACROSS, across)                                                                                         \
    static __attribute__((noinline, target(TARGET))) void NAME(lines##R)(const fg_sums *s, const T *a, const T *b,     \
                                                                         T *c, int64_t n, int add) {                   \
        HALF(R, n)                                                                                                     \
        if (n <= LANES)                                                                                                \
            NAME(sums_of_lines)(R, 1, s, a, b, c, n);                                                                  \
        else if (R >= LINES_LEAST && R <= LINES_MOST) /* no other is asked for */                                      \
            NAME(sums_of_lines)(R, 2, s, a, b, c, n);                                                                  \
    }
#define ROWS_APART(R)                                                                                                  \
    static __attribute__((noinline, target(TARGET))) void NAME(apart##R)(const fg_sums *s, const T *a, const T *b, T *c,\
                                                                         int64_t n, int add) {                         \
        for (int64_t l = 0; l < n; l += LANES) {                                                                       \
            const int64_t lanes = fg_least(LANES, n - l);                                                              \
            const M mask = MASK_OF(lanes);                                                                             \
            const T *narrow = (const T *)((const uint16_t *)a + l);                                                    \
            T *to = (T *)((uint16_t *)c + l);                                                                          \
            const int whole = lanes == LANES && s->columns == -1; /* few branches: of 3x3 taps more cost a quarter */      \
            if (WIDENED && s->brain && whole)                                                                          \
                NAME(sums_apart)(R, 0, 0, WIDENED, mask, s, narrow, b + l, to, 0);                                     \
            else if (WIDENED && s->brain)                                                                              \
                NAME(sums_apart)(R, 1, 1, WIDENED, mask, s, narrow, b + l, to, 0);                                     \
            else if (whole)                                                                                            \
                NAME(sums_apart)(R, 0, 0, 0, mask, s, a + l, b + l, c + l, add);                                       \
            else                                                                                                       \
                NAME(sums_apart)(R, 1, 1, 0, mask, s, a + l, b + l, c + l, add);                                       \
        }                                                                                                              \
    }
#define ROWS(R) ROWS_OF(R, NAME(any), dense) ROWS_TOGETHER(R) ROWS_APART(R)
ROWS(1) ROWS(2) ROWS(3) ROWS(4) ROWS(5) ROWS(6)
#if MOST > 6
ROWS(7) ROWS_TOGETHER(8) ROWS_TOGETHER(9) ROWS_TOGETHER(10) ROWS_TOGETHER(11) ROWS_TOGETHER(12) ROWS_TOGETHER(13) ROWS_TOGETHER(14)
#endif
#undef ROWS
#undef ROWS_TOGETHER
#undef ROWS_APART
#undef APART
#undef LOAD_BRAIN_PART
#undef STORE_BRAIN_PART
#undef ROWS_OF
#undef STEP
#undef STEPS
#undef ONE_REGISTER
#undef LOADED_ONCE
#undef AHEAD
#undef FETCHED
#undef WHOLE
#undef LINE
#undef LINES
#undef PASSED
#undef HALF

typedef void (*NAME(sums_t))(const fg_sums *, const T *, const T *, T *, int64_t, int);
#define ALL(kind) {NULL, NAME(kind##1), NAME(kind##2), NAME(kind##3), NAME(kind##4), NAME(kind##5), NAME(kind##6) MORE(kind)}
#if MOST > 6
#define MORE(kind) , NAME(kind##7) MORE_##kind
#define MORE_OF(kind) , NAME(kind##8), NAME(kind##9), NAME(kind##10), NAME(kind##11), NAME(kind##12), NAME(kind##13), NAME(kind##14)
#define MORE_dense
#define MORE_near MORE_OF(near)
#define MORE_lines MORE_OF(lines)
#define MORE_across MORE_OF(across)
#define MORE_apart
#else
#define MORE(kind)
#endif
static const NAME(sums_t) NAME(all_sums)[5][MOST + 1] = {ALL(dense), ALL(apart), ALL(near), ALL(lines), ALL(across)};
#undef ALL
#undef MORE

/* m rows of n sums, at most two vectors, in blocks as even as can be. */
LOCAL void NAME(rows_of_sums)(const fg_sums *s, int apart, const T *a, const T *b, T *c, int64_t m, int64_t n, int add) {
    int64_t blocks = fg_pieces(m, apart ? APART_MOST : MOST), least = m / blocks, more = m % blocks;
    for (int64_t i = 0; i < blocks; i++) {
        int64_t rows = least + (i < more);
        NAME(all_sums)[apart ? 1 : 4][rows](s, a, b, c, n, add);
        a += rows * s->a_row;
        c += rows * s->c_row;
    }
}

LOCAL void NAME(fg_lay)(const fg_layout *y, void *to_, const void *from_, int64_t first, int64_t last) {
    const T *from = (const T *)from_;
    int64_t panels = fg_pieces(y->f, WIDE), rows = y->taps[0] * y->taps[1] * y->taps[2] * y->c;
    for (int64_t p = first; p < last; p++) {
        int64_t f0 = p % panels * WIDE, wide = fg_least(WIDE, y->f - f0);
        const T *group = from + y->first + p / panels * y->group + f0 * y->out;
        T *to = (T *)to_ + p * rows * WIDE;
        for (int64_t t0 = 0; t0 < y->taps[0]; t0++)
            for (int64_t t1 = 0; t1 < y->taps[1]; t1++)
                for (int64_t t2 = 0; t2 < y->taps[2]; t2++) {
                    const T *tap = group + t0 * y->step[0] + t1 * y->step[1] + t2 * y->step[2];
                    if (y->out == 1)
                        for (int64_t c = 0; c < y->c; c++) {
                            memcpy(to + c * WIDE, tap + c * y->in, wide * sizeof(T));
                            memset(to + c * WIDE + wide, 0, (WIDE - wide) * sizeof(T));
                        }
                    else
                        for (int64_t c = 0; c < y->c; c += 8) { /* a line of the cache of each result */
                            int64_t some = fg_least(8, y->c - c);
                            for (int64_t f = 0; f < WIDE; f++)
                                for (int64_t i = c; i < c + some; i++) to[i * WIDE + f] = f < wide ? tap[i * y->in + f * y->out] : 0;
                        }
                    to += y->c * WIDE;
                }
    }
}

/* n numbers from number `at` on, widened if they are of 16 bits. */
INLINE void NAME(wide_copy)(T *to, const char *from, int64_t at, int64_t n, int kind) {
    int64_t i = 0;
    if (kind == FG_NATIVE) {
        const T *numbers = (const T *)(const void *)from + at;
        for (; i + LANES <= n; i += LANES) STORE(to + i, LOAD(numbers + i));
        if (i < n) STORE_PART(to + i, MASK_OF(n - i), LOAD_PART(numbers + i, MASK_OF(n - i)));
        return;
    }
    const uint16_t *halves = (const uint16_t *)(const void *)from + at;
    if (kind == FG_BRAIN)
        for (; i + LANES <= n; i += LANES) STORE(to + i, LOAD_BRAIN(halves + i));
    else
        for (; i + LANES <= n; i += LANES) STORE(to + i, LOAD_HALF(halves + i));
    if (i < n) fg_widened((float *)(void *)(to + i), halves + i, n - i, kind);
}

/* Where a tile begins. */
typedef struct {
    int64_t image, at[3], high, wide; /* places along the last two axes */
} NAME(tile);

LOCAL NAME(tile) NAME(tile_of)(const fg_sweep *w, int64_t number) {
    NAME(tile) t;
    for (int i = 2; i >= 0; i--) {
        t.at[i] = number % w->axis[i].tiles * w->axis[i].tile;
        number /= w->axis[i].tiles;
    }
    t.image = number;
    t.high = fg_least(w->axis[1].tile, w->axis[1].m - t.at[1]);
    t.wide = fg_least(w->axis[2].tile, w->axis[2].m - t.at[2]);
    return t;
}

/* A tile's view of channels [c0, c0 + n) of the source; steps from tap to tap along the first axis, from line to line,
 * from column to column. */
typedef struct {
    const T *from;
    int64_t plane, row, column;
} NAME(view);

/* Columns [low, low + wide) of a line, channels [c0, c0 + n): zeros outside, one after the other. */
LOCAL void NAME(line_seen)(const fg_sweep *w, int64_t image, int64_t plane, int64_t line, int64_t low, int64_t wide,
                           int64_t c0, int64_t n, T *room) {
    const fg_axis *x = w->axis;
    const char *source = (const char *)w->source;
    if (plane < 0 || plane >= x[0].n || line < 0 || line >= x[1].n) {
        memset(room, 0, wide * n * sizeof(T));
        return;
    }
    int64_t left = fg_least(fg_most(-low, 0), wide), right = fg_most(fg_least(x[2].n - low, wide), left);
    int64_t from = image + plane * x[0].source + line * x[1].source + (low + left) * x[2].source;
    if (left) memset(room, 0, left * n * sizeof(T));
    if (right < wide) memset(room + right * n, 0, (wide - right) * n * sizeof(T));
    if (w->repeat == 1) {
        if (x[2].source == n)
            NAME(wide_copy)(room + left * n, source, from, (right - left) * n, w->kind);
        else
            for (int64_t j = left; j < right; j++, from += x[2].source)
                NAME(wide_copy)(room + j * n, source, from + c0, n == WIDE ? WIDE : n, w->kind);
        return;
    }
    for (int64_t j = left; j < right; j++, from += x[2].source) {
        T one[1];
        for (int64_t l = c0; l < c0 + n;) { /* lanes of one channel */
            int64_t channel = l / w->repeat, end = fg_least((channel + 1) * w->repeat, c0 + n);
            NAME(wide_copy)(one, source, from + channel, 1, w->kind);
            for (; l < end; l++) room[j * n + l - c0] = one[0];
        }
    }
}

/* Tell whether the columns of a line, lines and planes from `low` on all lie inside, as they are computed with. */
LOCAL int NAME(lies_inside)(const fg_sweep *w, const int64_t *low, int64_t high, int64_t wide) {
    const fg_axis *x = w->axis;
    return w->kind == FG_NATIVE && w->repeat == 1 && low[0] >= 0 && low[0] + (x[0].taps - 1) * x[0].gap < x[0].n &&
           low[1] >= 0 && low[1] + high <= x[1].n && low[2] >= 0 && low[2] + wide <= x[2].n;
}

LOCAL NAME(view) NAME(seen)(const fg_sweep *w, const NAME(tile) *t, int64_t c0, int64_t n, T *room) {
    const fg_axis *x = w->axis;
    int64_t high = fg_seen(x + 1, t->high), wide = fg_seen(x + 2, t->wide), low[3], image = t->image * w->source_image;
    for (int i = 0; i < 3; i++) low[i] = t->at[i] * x[i].step + x[i].first;
    NAME(view) view;
    int64_t taps = x[0].taps * x[1].taps * x[2].taps;
    if ((!w->apart || taps <= FG_FEW_TAPS) && NAME(lies_inside)(w, low, high, wide)) {
        view.from = (const T *)w->source + image + low[0] * x[0].source + low[1] * x[1].source + low[2] * x[2].source + c0;
        view.plane = x[0].gap * x[0].source;
        view.row = x[1].source;
        view.column = x[2].source;
        return view;
    }
    view.from = room;
    view.column = n;
    view.row = wide * n;
    view.plane = high * view.row;
    for (int64_t t0 = 0; t0 < x[0].taps; t0++)
        for (int64_t i = 0; i < high; i++, room += view.row)
            NAME(line_seen)(w, image, low[0] + t0 * x[0].gap, low[1] + i, low[2], wide, c0, n, room);
    return view;
}

/* The numbers that a tile needs besides, in lines of the cache. */
LOCAL int64_t NAME(room_of)(const fg_sweep *w, int64_t lanes) {
    return (fg_tile_room(w, w->axis[1].tile, w->axis[2].tile, lanes) + 15) / 16 * 16;
}

/* Sums of a panel as they are stored: lanes added up in groups of `fold`, narrowed. */
LOCAL void NAME(put)(const fg_sweep *w, T *sums, int64_t at, int64_t n) {
    if (w->fold > 1) {
        for (int64_t i = 0; i < n / w->fold; i++) {
            T total = sums[i * w->fold];
            for (int64_t l = 1; l < w->fold; l++) total += sums[i * w->fold + l];
            sums[i] = total;
        }
        n /= w->fold;
    }
    if (w->kind == FG_NATIVE)
        memcpy((T *)w->target + at, sums, n * sizeof(T));
    else
        fg_narrowed((uint16_t *)w->target + at, (const float *)(const void *)sums, n, w->kind);
}

/* A block of places in a line, and those below it: what they see is copied a line at a time, into the place of a line that
 * is seen no more, unless it can be used where it lies. */
typedef struct {
    int64_t image, low[3], wide, c0, n; /* low: of what the first place sees; wide: columns that the block does */
    int64_t ring, next;                 /* lines kept of each plane, and the first that was not yet copied */
    int64_t whole;                      /* the last line whose runs are those of the one above it, moved down */
    int64_t then, lines, column;        /* fetched meanwhile: lines from `then` on, the block's columns from one on */
    int passed;                         /* columns outside are passed over where the others lie */
    T *room;
} NAME(strip);

/* Let `s` know what the block sees from line `line` of it on, and where; what its addresses count from. Lines and planes
 * outside are left out. */
LOCAL const T *NAME(strip_seen)(const fg_sweep *w, NAME(strip) *p, int64_t line, fg_sums *s, fg_run *run) {
    const fg_axis *x = w->axis;
    int64_t each = w->apart ? 1 : w->c, taps = x[2].taps, first = line % p->ring; /* where the first line stands */
    int inside = p->passed || ((s->brain || w->kind == FG_NATIVE) && w->repeat == 1 && p->low[2] >= 0 &&
                               p->low[2] + p->wide <= x[2].n);
    int64_t column = inside ? x[2].source : p->n, row = p->wide * p->n;
    if (!inside)
        for (p->next = fg_most(p->next, line); p->next < line + p->ring; p->next++) {
            int64_t at = first + p->next - line;
            for (int64_t t0 = 0; t0 < x[0].taps; t0++)
                if (FG_WITHIN(p->low[0] + t0 * x[0].gap, x[0].n) && FG_WITHIN(p->low[1] + p->next, x[1].n))
                    NAME(line_seen)(w, p->image, p->low[0] + t0 * x[0].gap, p->low[1] + p->next, p->low[2], p->wide, p->c0,
                                    p->n, p->room + (t0 * p->ring + (at < p->ring ? at : at - p->ring)) * row);
        }
    /* The channels of all taps of a line are a run, where they are not told apart. */
    int joined = s->taps || w->apart || (x[2].gap == 1 && column == w->c);
    /* To be fetched meanwhile: each run takes a line, or its part of the only one. */
    const int64_t n = joined && !s->taps ? taps * each : each, size = w->kind == FG_NATIVE ? sizeof(T) : 2;
    const int64_t steps = s->taps ? n * fg_pieces(taps, 3) : fg_most(n / 2, 1), parts = p->lines == 1 ? x[1].taps : 1;
    const int64_t ahead_columns = w->apart && p->lines ? fg_pieces(p->wide, parts) : 0;
    const int64_t ahead_step = w->apart ? x[2].source * size : p->lines ? fg_pieces(p->wide * p->n * size, steps * parts) : 0;
    const T *a = inside ? (const T *)w->source : p->room;
    const char *ahead = (const char *)w->source + (p->image + p->column * x[2].source + (w->apart ? 0 : p->c0)) * size;
    s->runs = run;
    for (int64_t t0 = 0, tap = 0; t0 < x[0].taps; t0++)
        for (int64_t t1 = 0; t1 < x[1].taps; t1++) {
            const int64_t next = p->low[1] + p->then + fg_least(t1, p->lines - 1);
            int64_t plane = p->low[0] + t0 * x[0].gap, of = p->low[1] + line + t1 * x[1].gap, at = first + t1 * x[1].gap;
            if (!FG_WITHIN(plane, x[0].n) || !FG_WITHIN(of, x[1].n)) {
                tap += taps;
                continue;
            }
            at = inside ? p->image + plane * x[0].source + of * x[1].source + p->low[2] * x[2].source + p->c0
                        : (t0 * p->ring + (at < p->ring ? at : at - p->ring)) * row;
            for (int64_t t2 = 0; t2 < taps; t2 += joined ? taps : 1, tap += joined ? taps : 1, run++) {
                run->a = at + t2 * x[2].gap * column;
                run->b = tap * each * w->filter_row;
                run->n = n;
                run->ahead = run->ahead_step = run->ahead_columns = 0;
                if (p->lines && FG_WITHIN(next, x[1].n)) {
                    run->ahead = ahead - (const char *)a + (plane * x[0].source + next * x[1].source) * size;
                    if (parts > 1) run->ahead += t1 * (w->apart ? ahead_columns : steps) * ahead_step;
                    run->ahead_step = ahead_step;
                    run->ahead_columns = ahead_columns;
                }
            }
        }
    s->end = run;
    p->whole = inside && run - s->runs == x[0].taps * x[1].taps * (joined ? 1 : taps) ? x[1].n - p->ring - p->low[1] : -1;
    s->a_row = x[2].step * column;
    s->a_col = w->apart ? x[2].gap * column : 1;
    return a;
}

/* A tile of lanes apart: down the lines of a block of places and, at each place, from lanes to lanes. What a line sees of
 * all of them lies together, so that it is read where it lies, in order; going through the lines for each vector of lanes
 * reads what others need along with it, and again when it is their turn: half as fast, and copying helps little. */
LOCAL void NAME(sweep_apart)(const fg_sweep *w, int64_t unit, T *room, T *out, fg_run *runs) {
    const fg_axis *x = w->axis;
    NAME(tile) t = NAME(tile_of)(w, unit / w->parts);
    int64_t f0 = unit % w->parts * w->part, f1 = fg_least(f0 + w->part, w->f), blocks = fg_pieces(t.wide, APART_MOST);
    int64_t corner = t.image * w->target_image + t.at[0] * x[0].target + t.at[1] * x[1].target + t.at[2] * x[2].target;
    int64_t seen = fg_seen(x + 2, t.wide), apart = x[2].step == x[2].gap ? x[2].gap : 1; /* from one bit to the next */
    int bits = w->repeat == 1 && seen <= FG_COLUMNS, brain = WIDENED && bits && w->kind == FG_BRAIN && w->fold == 1;
    int through = (w->kind != FG_NATIVE && !brain) || w->fold > 1;
    const int64_t some = through ? WIDE / w->fold * w->fold : f1 - f0;
    bits = bits && (brain || w->kind == FG_NATIVE);
    fg_sums s = {.b_row = w->filter_row, .c_row = through ? WIDE : x[2].target};
    if (bits) s.step = x[2].step, s.gap = x[2].gap;
    const int64_t down = x[1].step * x[1].source * (brain ? 2 : sizeof(T)); /* bytes */
    s.brain = brain;
    s.below = through ? 0 : x[1].target * (brain ? 2 : sizeof(T));
    NAME(strip) p = {.image = t.image * w->source_image, .ring = fg_seen(x + 1, 1), .room = room, .c0 = f0, .n = f1 - f0};
    for (int64_t block = 0, i = 0, places; block < blocks; block++, i += places) {
        places = t.wide / blocks + (block < t.wide % blocks);
        for (int k = 0; k < 3; k++) p.low[k] = (t.at[k] + (k == 2 ? i : 0)) * x[k].step + x[k].first;
        p.wide = fg_seen(x + 2, places);
        p.next = 0;
        s.columns = -1;
        p.passed = bits && (p.low[2] < 0 || p.low[2] + p.wide > x[2].n);
        for (int64_t k = 0; p.passed && k < FG_COLUMNS; k++)
            if (!FG_WITHIN(p.low[2] + k * apart, x[2].n)) s.columns &= ~(int64_t)((uint64_t)1 << k);
        const T *a = NULL;
        for (int64_t j = 0; j < t.high; j++) {
            int below = j + 1 < t.high, there = s.brain || w->kind == FG_NATIVE; /* read where it lies */
            p.then = below ? j * x[1].step + p.ring : 0;
            p.lines = !there || w->repeat > 1 || (!below && block + 1 == blocks) ? 0 : below ? x[1].step : p.ring;
            p.column = p.low[2] + (below ? 0 : places * x[2].step);
            a = j && below && j * x[1].step <= p.whole ? (const T *)((const char *)a + down)
                                                       : NAME(strip_seen)(w, &p, j * x[1].step, &s, runs);
            for (int64_t f = f0; f < f1; f += some) {
                int64_t n = fg_least(some, f1 - f), at = corner + j * x[1].target + i * x[2].target + f / w->fold;
                T *to = through ? out : brain ? (T *)((uint16_t *)w->target + at) : (T *)w->target + at;
                const T *from = brain ? (const T *)((const uint16_t *)a + f - f0) : a + f - f0;
                if (w->of_pairs)
                    w->of_pairs[places](&s, (const uint16_t *)from, (const uint16_t *)w->filter + f, (uint16_t *)to, n);
                else
                    NAME(all_sums)[1][places](&s, from, (const T *)w->filter + f, to, n, 0);
                if (through)
                    for (int64_t k = 0; k < places; k++) NAME(put)(w, out + k * WIDE, at + k * x[2].target, n);
            }
        }
    }
}

LOCAL void NAME(sweep_tile)(const fg_sweep *w, int64_t unit, T *room, T *out, fg_run *runs) {
    const fg_axis *x = w->axis;
    NAME(tile) t = NAME(tile_of)(w, unit / (w->groups * w->parts));
    int64_t part = unit % w->parts, group = unit / w->parts % w->groups;
    int64_t f0 = part * w->part, f1 = fg_least(f0 + w->part, w->f);
    int through = w->kind != FG_NATIVE;
    const T *filter = (const T *)w->filter + group * w->group_panels;
    int64_t corner = t.image * w->target_image + t.at[0] * x[0].target + t.at[1] * x[1].target + t.at[2] * x[2].target;
    fg_sums s = {.taps = 0};
    NAME(strip) p = {.passed = 0};
    int how = w->filter_row == WIDE ? 2 : 0;
    int ahead = w->groups == 1 && how == 2; /* what a block sees of a line lies together */
    s.b_row = w->filter_row;
    s.c_row = through ? WIDE : x[2].target;
    s.b_tap = w->c * WIDE;
    p.image = t.image * w->source_image;
    p.ring = fg_seen(x + 1, 1);
    p.room = room;
    p.c0 = group * w->c;
    p.n = w->c;
    for (int64_t f = f0; f < f1; f += WIDE) {
        int64_t n = fg_least(WIDE, f1 - f), to = corner + group * w->f + f;
        const T *b = filter + f / WIDE * w->panel;
        int64_t blocks = fg_pieces(t.wide, how == 2 ? MOST : DENSE_MOST), narrow = fg_pieces(t.wide, LINES_MOST); /* as even as can be */
        int lines = how == 2 && x[2].taps > 1 && x[2].step == x[2].gap; /* a number serves all taps of its line */
        lines = lines && (n <= LANES || t.wide / narrow >= LINES_LEAST);
        if (lines && n > LANES) blocks = narrow;
        s.taps = lines ? x[2].taps : 0;
        /* Down the lines, then to the next columns: most of what a block sees is what the one above it saw. */
        for (int64_t block = 0, i = 0, rows; block < blocks; block++, i += rows) {
            rows = t.wide / blocks + (block < t.wide % blocks);
            for (int k = 0; k < 3; k++) p.low[k] = (t.at[k] + (k == 2 ? i : 0)) * x[k].step + x[k].first;
            p.wide = fg_seen(x + 2, rows);
            p.next = 0;
            if (lines) {
                int64_t n = rows + x[2].taps - 1, first = fg_pieces(fg_most(-p.low[2], 0), x[2].gap);
                int64_t outside = fg_pieces(fg_most(p.low[2] + p.wide - x[2].n, 0), x[2].gap);
                p.passed = w->kind == FG_NATIVE && first <= FG_OUTSIDE && outside <= FG_OUTSIDE;
                s.first = p.passed ? first : 0;
                s.last = p.passed ? n - outside : n;
            }
            const T *a = NULL;
            for (int64_t j = 0; j < t.high; j++) {
                int64_t at = to + j * x[1].target + i * x[2].target;
                int below = j + 1 < t.high;
                p.then = below ? j * x[1].step + p.ring : 0;
                p.lines = !ahead || (!below && block + 1 == blocks) ? 0 : below ? x[1].step : p.ring;
                p.column = p.low[2] + (below ? 0 : rows * x[2].step);
                a = j && below && j * x[1].step <= p.whole ? a + x[1].step * x[1].source
                                                           : NAME(strip_seen)(w, &p, j * x[1].step, &s, runs);
                NAME(all_sums)[lines ? 3 : how][rows](&s, a, b, through ? out : (T *)w->target + at, n, 0);
                if (through)
                    for (int64_t k = 0; k < rows; k++) NAME(put)(w, out + k * WIDE, at + k * x[2].target, n);
            }
        }
    }
}

LOCAL void NAME(fg_sweep_units)(fg_sweep *w, int64_t first, int64_t last) {
    int64_t lanes = w->apart ? w->part : w->c, out = MOST * WIDE;
    int64_t columns = fg_seen(w->axis + 2, fg_least(w->apart ? APART_MOST : MOST, w->axis[2].tile));
    int64_t size = w->axis[0].taps * fg_seen(w->axis + 1, 1) * columns * lanes;
    int64_t n_runs = w->axis[0].taps * w->axis[1].taps * w->axis[2].taps;
    void *room;
    size = (size + 15) / 16 * 16;
    if (posix_memalign(&room, 64, (size + out + 64) * sizeof(T) + n_runs * sizeof(fg_run)) != 0) {
        w->failed = 1;
        return;
    }
    T *numbers = (T *)room;
    for (; first < last; first++)
        (w->apart ? NAME(sweep_apart) : NAME(sweep_tile))(w, first, numbers, numbers + size,
                                                          (fg_run *)(void *)(numbers + size + out));
    free(room);
}

/* Rows [r0, r1) of the filter's gradient, and columns [f0, f1) of those of a group, get what a tile adds. */
LOCAL void NAME(filter_tile)(const fg_sweep *w, const NAME(tile) *t, int64_t group, int64_t r0, int64_t r1, int64_t f0,
                             int64_t f1, T *total, int add, T *room, T *other, fg_run *runs) {
    const fg_axis *x = w->axis;
    NAME(view) view = w->apart ? NAME(seen)(w, t, f0, f1 - f0, room) : NAME(seen)(w, t, group * w->c, w->c, room);
    int64_t first = group * w->f + f0, n = f1 - f0, results = w->results;
    int64_t corner = t->image * w->target_image + t->at[0] * x[0].target + t->at[1] * x[1].target + t->at[2] * x[2].target;
    const T *b;
    fg_sums s = {.columns = -1};
    if (w->kind == FG_NATIVE) {
        b = (const T *)w->filter + corner + first;
        s.b_row = x[2].target;
    } else {
        for (int64_t j = 0; j < t->high; j++)
            for (int64_t i = 0; i < t->wide; i++)
                NAME(wide_copy)(other + (j * t->wide + i) * n, (const char *)w->filter,
                                corner + first + j * x[1].target + i * x[2].target, n, w->kind);
        b = other;
        s.b_row = n;
    }
    for (int64_t j = 0; j < t->high; j++) {
        int64_t line = w->kind == FG_NATIVE ? x[1].target : t->wide * n;
        runs[j] = (fg_run){.a = j * x[1].step * view.row, .b = j * line, .n = t->wide};
    }
    s.runs = runs;
    s.end = runs + t->high;
    s.a_row = w->apart ? x[2].gap * view.column : 1;
    s.a_col = x[2].step * view.column;
    s.c_row = results;
    int joined = w->apart || (x[2].gap == 1 && view.column == w->c);
    int64_t taps = x[2].taps, each = w->apart ? 1 : w->c, line = joined ? taps * each : each;
    for (int64_t f = 0; f < n; f += WIDE) {
        int64_t row = 0, lanes = fg_least(WIDE, n - f);
        for (int64_t t0 = 0; t0 < x[0].taps; t0++)
            for (int64_t t1 = 0; t1 < x[1].taps; t1++)
                for (int64_t t2 = 0; t2 < taps; t2 += joined ? taps : 1, row += line) {
                    int64_t begin = fg_most(r0 - row, 0), end = fg_least(r1 - row, line);
                    if (begin >= end) continue;
                    const T *a = view.from + t0 * view.plane + t1 * x[1].gap * view.row + t2 * x[2].gap * view.column;
                    NAME(rows_of_sums)(&s, w->apart, a + begin * s.a_row + (w->apart ? f : 0), b + f,
                                       total + (row + begin) * results + first + f, end - begin, lanes, add);
                }
    }
}

LOCAL void NAME(fg_filter_units)(fg_sweep *w, int64_t begin, int64_t end) {
    int64_t size = NAME(room_of)(w, w->apart ? w->part : w->c), lanes = w->apart ? w->part : w->f, tiles = fg_tiles(w);
    int64_t other = w->kind == FG_NATIVE ? 0 : (w->axis[1].tile * w->axis[2].tile * lanes + 15) / 16 * 16;
    void *room;
    if (posix_memalign(&room, 64, (size + other + 64) * sizeof(T) + w->axis[1].tile * sizeof(fg_run)) != 0) {
        w->failed = 1;
        return;
    }
    T *numbers = (T *)room;
    fg_run *runs = (fg_run *)(void *)(numbers + size + other);
    for (; begin < end; begin++) {
        int64_t chunk = begin / w->pieces, piece = begin % w->pieces;
        int64_t from = tiles * chunk / w->chunks, to = tiles * (chunk + 1) / w->chunks;
        T *total = (T *)w->target + chunk * w->window * w->results;
        for (int64_t number = from; number < to; number++) {
            NAME(tile) t = NAME(tile_of)(w, number);
            if (w->apart) {
                int64_t f0 = piece * w->part;
                NAME(filter_tile)(w, &t, 0, 0, w->window, f0, fg_least(f0 + w->part, w->f), total, number > from, numbers,
                                  numbers + size, runs);
                continue;
            }
            for (int64_t group = 0; group < w->groups; group++)
                NAME(filter_tile)(w, &t, group, w->window * piece / w->pieces, w->window * (piece + 1) / w->pieces, 0, w->f,
                                  total, number > from, numbers, numbers + size, runs);
        }
    }
    free(room);
}

#undef NEAR
#undef ACROSS
#undef INLINE
#undef LOCAL
#undef WIDE
#undef LINES_MOST
#undef LINES_LEAST
#undef APART_MOST
#undef DENSE_MOST
#undef WIDENED
