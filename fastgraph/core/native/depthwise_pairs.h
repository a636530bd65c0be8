/* Depthwise sums of bfloat16 by vectors that multiply pairs (see convolutions_amx.h, which includes this).
 *
 * A pair is what two taps beside each other see of a channel. 32 channels of two columns are interleaved, so a vector of
 * sums holds four of every eight channels, and another one the other four; they are put in order when they are narrowed.
 * Numbers that belong to no window are never multiplied, not by zero either: they may be infinite. */

#define FG_APART_PAIRS 7 /* places at most: as many as elsewhere (fg_apart_block) */

/* R places, 32 channels of which `lanes` are there. `masked`: `columns` are the masks of what a line sees; all else is
 * loaded without one, for a mask takes time. */
FG_TILES static inline __attribute__((always_inline)) void fg_sums_apart_of_pairs(const int R, const int masked,
                                                                                  __mmask32 lanes, const __mmask32 *columns,
                                                                                  const fg_sums *s, const uint16_t *a,
                                                                                  const uint16_t *b, uint16_t *c) {
    const __m512i zero = _mm512_setzero_si512();
    const int64_t a_row = s->a_col;
    const uint16_t *q[3];
    __m512 sums[FG_APART_PAIRS][2];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
        sums[r][0] = sums[r][1] = _mm512_setzero_ps();
        __builtin_prefetch((const char *)c + s->below + r * s->c_row * 2, 1);
    }
#define FG_COLUMN(r) (masked ? _mm512_maskz_loadu_epi16(edge[r], FG_ROW(r)) : _mm512_loadu_si512(FG_ROW(r)))
#define FG_TAP(y) (masked ? _mm512_maskz_loadu_epi16(lanes, y) : _mm512_loadu_si512(y))
#define FG_BOTH_OF(r, x, then)                                                                                         \
    sums[r][0] = _mm512_dpbf16_ps(sums[r][0], (__m512bh)_mm512_unpacklo_epi16(x, then), low);                          \
    sums[r][1] = _mm512_dpbf16_ps(sums[r][1], (__m512bh)_mm512_unpackhi_epi16(x, then), high)
    for (const fg_run *run = s->runs; run < s->end; run++) {
        const char *ahead = (const char *)a + run->ahead;
        for (int64_t i = run->ahead_columns; i > 0; i--, ahead += run->ahead_step) __builtin_prefetch(ahead);
        const uint16_t *y = b + run->b;
        const __mmask32 *edge = columns;
        int64_t p = run->n;
#pragma GCC unroll 8
        for (int r = 0; r < R + 1; r += 3) q[r / 3] = a + run->a + r * a_row;
        for (; p >= 2; p -= 2, y += 2 * s->b_row, edge += masked ? 2 : 0) {
            __m512i tap = FG_TAP(y), next = FG_TAP(y + s->b_row);
            __m512bh low = (__m512bh)_mm512_unpacklo_epi16(tap, next), high = (__m512bh)_mm512_unpackhi_epi16(tap, next);
            __m512i x = FG_COLUMN(0), then;
#pragma GCC unroll 8
            for (int r = 0; r < R; r++, x = then) {
                then = FG_COLUMN(r + 1);
                FG_BOTH_OF(r, x, then);
            }
#pragma GCC unroll 8
            for (int r = 0; r < R + 1; r += 3) q[r / 3] += 2 * a_row;
        }
        if (p) {
            __m512i tap = FG_TAP(y);
            __m512bh low = (__m512bh)_mm512_unpacklo_epi16(tap, zero), high = (__m512bh)_mm512_unpackhi_epi16(tap, zero);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) {
                __m512i x = FG_COLUMN(r);
                FG_BOTH_OF(r, x, zero);
            }
        }
    }
#undef FG_COLUMN
#undef FG_TAP
#undef FG_BOTH_OF
    /* Channel 8 i + k is number 4 i + k of the first 16 sums, for k < 4, or of the others. */
    const __m512i fours = _mm512_set_epi16(31, 30, 29, 28, 15, 14, 13, 12, 27, 26, 25, 24, 11, 10, 9, 8, 23, 22, 21, 20, 7, 6,
                                           5, 4, 19, 18, 17, 16, 3, 2, 1, 0);
#pragma GCC unroll 8
    for (int r = 0; r < R; r++, c += s->c_row) {
        __m512i both = (__m512i)_mm512_cvtne2ps_pbh(sums[r][1], sums[r][0]);
        _mm512_mask_storeu_epi16(c, lanes, _mm512_permutexvar_epi16(fours, both));
    }
}

/* R places and n channels. */
#define FG_OF_PAIRS(R)                                                                                                 \
    FG_TILES static __attribute__((noinline)) void fg_apart_of_pairs_##R(const fg_sums *s, const uint16_t *a,          \
                                                                         const uint16_t *b, uint16_t *c, int64_t n) {  \
        __mmask32 columns[FG_COLUMNS];                                                                                 \
        for (int64_t l = 0; l < n; l += 32) {                                                                          \
            const __mmask32 lanes = (__mmask32)((1ull << fg_least(n - l, 32)) - 1);                                    \
            if (s->columns != -1 || n - l < 32) {                                                                          \
                for (int j = 0; j < FG_COLUMNS; j++) columns[j] = s->columns >> j & 1 ? lanes : 0;                     \
                fg_sums_apart_of_pairs(R, 1, lanes, columns, s, a + l, b + l, c + l);                                  \
            } else                                                                                                     \
                fg_sums_apart_of_pairs(R, 0, lanes, NULL, s, a + l, b + l, c + l);                                     \
        }                                                                                                              \
    }
FG_OF_PAIRS(1) FG_OF_PAIRS(2) FG_OF_PAIRS(3) FG_OF_PAIRS(4) FG_OF_PAIRS(5) FG_OF_PAIRS(6) FG_OF_PAIRS(7)
#undef FG_OF_PAIRS

static const fg_apart_t fg_all_apart_of_pairs[FG_APART_PAIRS + 1] = {
    NULL,
    fg_apart_of_pairs_1,
    fg_apart_of_pairs_2,
    fg_apart_of_pairs_3,
    fg_apart_of_pairs_4,
    fg_apart_of_pairs_5,
    fg_apart_of_pairs_6,
    fg_apart_of_pairs_7};

/* Let a sweep apart, cut into tiles, be done so if it can: its filter is read as it is stored then. Return 1 or 0. */
static int fg_apart_by_pairs(fg_sweep *w) {
    const fg_axis *x = w->axis + 2;
    if (w->kind != FG_BRAIN || w->repeat > 1 || w->fold > 1 || x->taps < 2 || x->step != x->gap) return 0;
    if (x->tile > FG_APART_PAIRS || fg_seen(x, x->tile) > FG_COLUMNS) return 0;
    w->of_pairs = fg_all_apart_of_pairs;
    return 1;
}
