/* Gradients to filters of bfloat16 by a CPU's registers of tiles (see convolutions_amx.h, which includes this).
 *
 * Sums go over places, which both operands must hold in pairs: rows of registers are 16 results of the gradient dy,
 * whose places are turned into columns once for each tile of places; columns are 16 of the numbers that a line of taps
 * sees, laid out in pairs of places. Lines of places have zeros behind them in both, so a register never holds what
 * belongs to another window. Sums of a chunk stay [block of columns, block of results, 16 results, 16 columns] until
 * the last of them. */

#define FG_TOGETHER 512    /* places that are summed without the sums being stored */
#define FG_LAID 1000000    /* bytes that what a tile sees takes at most, laid out */
#define FG_STORED 1000000  /* those of the sums of a unit */
#define FG_BOTH 120000     /* those with the results' beside them, if 8 lines and FG_SOME places are left: far ones are slow */
#define FG_SOME 256

/* Blocks of columns of a line of taps that sees n channels. */
static int64_t fg_line_blocks(const fg_sweep *w, int64_t n) {
    return w->axis[2].gap == 1 ? fg_pieces(w->axis[2].taps * n, 16) : w->axis[2].taps * fg_pieces(n, 16);
}

/* Blocks of sums of a unit: all columns, all results. */
static int64_t fg_unit_blocks(const fg_sweep *w) {
    return w->axis[0].taps * w->axis[1].taps * fg_line_blocks(w, w->tile_c) * fg_pieces(w->f, 16);
}

/* How many units there are of a chunk. */
static int64_t fg_chunk_units(const fg_sweep *w) { return w->groups * fg_pieces(w->c, w->tile_c); }

/* How places lie: lines of `pitch`, together `steps` times `each`, an even number up to 32. */
typedef struct {
    int64_t pitch, each, steps;
} fg_places;

static fg_places fg_places_of(int64_t high, int64_t wide) {
    int64_t pitch = (wide + 31) / 32 * 32;
    fg_places best = {pitch, 32, high * pitch / 32};
    for (pitch = (wide + 1) / 2 * 2; pitch < best.pitch; pitch += 2)
        for (int64_t steps = fg_pieces(high * pitch, 32); steps < best.steps; steps++)
            if (high * pitch % (2 * steps) == 0) best = (fg_places){pitch, high * pitch / steps, steps};
    return best;
}

/* Lines of the source that a tile sees, of one of the `step` kinds. */
static int64_t fg_kind_lines(const fg_axis *rows, int64_t high) { return fg_pieces(fg_seen(rows, high), rows->step); }

/* Numbers, in pairs, of a block of columns of what a tile sees. */
static int64_t fg_block_pairs(const fg_sweep *w, int64_t high, int64_t pitch) {
    return w->axis[1].step * fg_kind_lines(w->axis + 1, high) * pitch / 2 * 16;
}

static int64_t fg_laid_bytes(const fg_sweep *w, int64_t high, int64_t wide) {
    return w->axis[0].taps * fg_line_blocks(w, w->tile_c) * fg_block_pairs(w, high, (wide + 1) / 2 * 2) * 4;
}

static int64_t fg_both_bytes(const fg_sweep *w, int64_t high, int64_t wide) {
    return fg_laid_bytes(w, high, wide) + fg_pieces(w->f, 16) * high * ((wide + 1) / 2 * 2) * 32;
}

/* Cut places into tiles, tiles into those that are summed together, and channels into pieces, for at least `units`
 * units of a chunk if that can be. False for windows too large to be laid out. */
static int fg_cut_to_filter(fg_sweep *w, int64_t units) {
    fg_axis *rows = w->axis + 1, *columns = w->axis + 2;
    int64_t least = fg_most(32, 576 / (w->axis[0].taps * rows->taps * columns->taps)), wide, high = 1;
    wide = fg_pieces(columns->m, fg_pieces(columns->m, FG_TOGETHER));
    w->tile_c = w->c;
    while (w->tile_c > least && (fg_laid_bytes(w, 1, wide) > FG_LAID || fg_unit_blocks(w) * 1024 > FG_STORED))
        w->tile_c = (w->tile_c / 2 + 15) / 16 * 16;
    while (w->tile_c > 32 && fg_chunk_units(w) < units) w->tile_c = (w->tile_c / 2 + 15) / 16 * 16;
    while (wide > 64 && fg_laid_bytes(w, 1, wide) > FG_LAID) wide = (wide + 1) / 2;
    wide = fg_pieces(columns->m, fg_pieces(columns->m, wide));
    while (high < rows->m && (high + 1) * wide <= FG_TOGETHER && fg_laid_bytes(w, high + 1, wide) <= FG_LAID) high++;
    int64_t pieces = fg_pieces(rows->m, high), next = fg_pieces(rows->m, pieces + 1);
    for (high = fg_pieces(rows->m, pieces); next >= 8 && next * wide >= FG_SOME && fg_both_bytes(w, high, wide) > FG_BOTH;
         next = fg_pieces(rows->m, ++pieces + 1))
        high = next;
    w->axis[0].tile = 1;
    w->axis[0].tiles = w->axis[0].m;
    rows->tile = high;
    rows->tiles = fg_pieces(rows->m, high);
    columns->tile = wide;
    columns->tiles = fg_pieces(columns->m, wide);
    w->together = 1;
    if (rows->tiles == 1 && columns->tiles == 1)
        w->together = fg_most(1, fg_least(FG_TOGETHER / (high * wide), FG_LAID / fg_laid_bytes(w, high, wide)));
    return fg_laid_bytes(w, high, wide) <= 16 * FG_LAID;
}

/* 16 numbers of two places (of one and zeros if second is NULL), in pairs. */
FG_TILES static inline __attribute__((always_inline)) __m512i fg_pairs(const uint16_t *first, const uint16_t *second,
                                                                       __mmask32 mask) {
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    if (mask == 0xffff && second) {
        __m512i both = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)first));
        both = _mm512_inserti64x4(both, _mm256_loadu_si256((const __m256i *)second), 1);
        return _mm512_permutexvar_epi16(order, both);
    }
    __m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(_mm512_maskz_loadu_epi16(mask, first)));
    if (!second) return low;
    __m512i high = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(_mm512_maskz_loadu_epi16(mask, second)));
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

/* Rows become columns. */
FG_TILES static inline __attribute__((always_inline)) void fg_turn_tile(__m512i *x) {
    __m512i y[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
        x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
        x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
        x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) { /* x[4 * r + i]: quarters q are columns 4 * q + i of rows 4 * r to 4 * r + 3 */
        y[i] = _mm512_shuffle_i32x4(x[i], x[4 + i], 0x88);
        y[4 + i] = _mm512_shuffle_i32x4(x[i], x[4 + i], 0xdd);
        y[8 + i] = _mm512_shuffle_i32x4(x[8 + i], x[12 + i], 0x88);
        y[12 + i] = _mm512_shuffle_i32x4(x[8 + i], x[12 + i], 0xdd);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        x[i] = _mm512_shuffle_i32x4(y[i], y[8 + i], 0x88);
        x[4 + i] = _mm512_shuffle_i32x4(y[4 + i], y[12 + i], 0x88);
        x[8 + i] = _mm512_shuffle_i32x4(y[i], y[8 + i], 0xdd);
        x[12 + i] = _mm512_shuffle_i32x4(y[4 + i], y[12 + i], 0xdd);
    }
}

/* A tile of places, the first of some that are summed together. */
typedef struct {
    int64_t at[3], image, high, wide, lines; /* lines: of a kind */
    fg_places places;
} fg_filter_tile;

/* The places' gradients of 16 results: for each step 16 rows of `each`. */
FG_TILES static void fg_lay_results(const fg_sweep *w, const fg_filter_tile *t, const uint16_t *from, __mmask32 mask,
                                    uint16_t *to) {
    const fg_axis *x = w->axis;
    int64_t line = 0, place = 0;
    for (int64_t step = 0; step < t->places.steps; step++, to += 512) {
        __m512i rows[16];
#pragma GCC unroll 1
        for (int64_t i = 0; i < 16; i++) {
            rows[i] = _mm512_setzero_si512();
            if (2 * i >= t->places.each) continue;
            const uint16_t *one = from + line * x[1].target + place * x[2].target;
            if (place < t->wide) rows[i] = fg_pairs(one, place + 1 < t->wide ? one + x[2].target : NULL, mask);
            place += 2;
            if (place == t->places.pitch) place = 0, line++;
        }
        fg_turn_tile(rows);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) _mm512_store_si512(to + i * 32, rows[i]);
    }
}

/* Gather n channels as a tile sees them, in pairs of places: [planes, blocks of a line, tiles together, kinds of lines, lines,
 * pairs]; strip: from block to block. */
FG_TILES static void fg_lay_seen(const fg_sweep *w, const fg_filter_tile *t, int64_t n, const uint16_t *seen,
                                 uint32_t *to, int64_t strip) {
    const fg_axis *x = w->axis;
    int64_t high = fg_seen(x + 1, t->high), columns = fg_seen(x + 2, t->wide), pairs = t->places.pitch / 2;
    int64_t joined = x[2].gap == 1, run = joined ? x[2].taps * n : n, runs = joined ? 1 : x[2].taps;
    int64_t next = x[2].step * n;
    for (int64_t t0 = 0; t0 < x[0].taps; t0++, to += fg_line_blocks(w, n) * strip)
        for (int64_t line = 0; line < high; line++) {
            uint32_t *block = to + (line % x[1].step * t->lines + line / x[1].step) * pairs * 16;
            for (int64_t r = 0; r < runs; r++)
                for (int64_t c = 0; c < run; c += 16, block += strip) {
                    __mmask32 mask = (__mmask32)((1u << fg_least(16, run - c)) - 1);
                    const uint16_t *from = seen + (t0 * high + line) * columns * n + r * x[2].gap * n + c;
                    uint32_t *at = block, *end = block + pairs * 16;
                    int64_t i = 1;
                    for (; i < t->wide; i += 2, at += 16, from += 2 * next)
                        _mm512_store_si512(at, fg_pairs(from, from + next, mask));
                    if (i == t->wide) {
                        _mm512_store_si512(at, fg_pairs(from, NULL, mask));
                        at += 16;
                    }
                    for (; at < end; at += 16) _mm512_store_si512(at, _mm512_setzero_si512());
                }
        }
}

/* Blocks of A times 16 results and B times 16 columns, to which all steps of the tiles together are added. */
typedef struct {
    int64_t tiles, tile, steps, step; /* from one tile, and one step, to the next in what is seen */
    int64_t result, column, sum;      /* from one block to the next of results, columns, sums of columns */
    int add;
} fg_filter_steps;

#define FG_BLOCKS(A, B)                                                                                                \
    FG_TILES static void fg_blocks_##A##B(const fg_filter_steps *s, const uint16_t *a, const uint32_t *b,              \
                                          float *sums) {                                                               \
        float *second = sums + s->sum;                                                                                 \
        FG_ORDERED(); _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);                                                    \
        if (s->add) {                                                                                                  \
            _tile_loadd(0, sums, 64);                                                                                  \
            if (A == 2) _tile_loadd(1, sums + 256, 64);                                                                \
            if (B == 2) _tile_loadd(2, second, 64);                                                                    \
            if (A == 2 && B == 2) _tile_loadd(3, second + 256, 64);                                                    \
        }                                                                                                              \
        for (int64_t tile = 0; tile < s->tiles; tile++) {                                                              \
            const uint32_t *from = b + tile * s->tile;                                                                 \
            for (int64_t step = 0; step < s->steps; step++, a += 512, from += s->step) {                               \
                _tile_loadd(4, a, 64);                                                                                 \
                _tile_loadd(6, from, 64);                                                                              \
                _tile_dpbf16ps(0, 4, 6);                                                                               \
                if (A == 2) _tile_loadd(5, a + s->result, 64);                                                         \
                if (A == 2) _tile_dpbf16ps(1, 5, 6);                                                                   \
                if (B == 2) _tile_loadd(7, from + s->column, 64);                                                      \
                if (B == 2) _tile_dpbf16ps(2, 4, 7);                                                                   \
                if (A == 2 && B == 2) _tile_dpbf16ps(3, 5, 7);                                                         \
            }                                                                                                          \
        }                                                                                                              \
        _tile_stored(0, sums, 64);                                                                                     \
        if (A == 2) _tile_stored(1, sums + 256, 64);                                                                   \
        if (B == 2) _tile_stored(2, second, 64);                                                                       \
        if (A == 2 && B == 2) _tile_stored(3, second + 256, 64);                                                       \
        FG_ORDERED();                                                                                                  \
    }
FG_BLOCKS(1, 1)
FG_BLOCKS(1, 2)
FG_BLOCKS(2, 1)
FG_BLOCKS(2, 2)

/* The same by vectors, for all results, of which there are `rows`, and B blocks of columns: eight results at a time. */
FG_TILES static inline __attribute__((always_inline)) void fg_pair_blocks(const int B, const fg_filter_steps *s, int64_t rows,
                                                                          const uint16_t *a, const uint32_t *b, float *sums) {
    for (int64_t row = 0; row < rows; row += 8, sums += 8 * 16) {
        const uint16_t *results = a + row / 16 * s->result + row % 16 * 32;
        __m512 all[8][2];
#pragma GCC unroll 8
        for (int r = 0; r < 8; r++) {
            all[r][0] = s->add ? _mm512_load_ps(sums + r * 16) : _mm512_setzero_ps();
            if (B == 2) all[r][1] = s->add ? _mm512_load_ps(sums + s->sum + r * 16) : _mm512_setzero_ps();
        }
        for (int64_t tile = 0; tile < s->tiles; tile++) {
            const uint32_t *from = b + tile * s->tile;
            for (int64_t step = 0; step < s->steps; step++, results += 512, from += s->step)
                for (int64_t p = 0; p < s->step; p += 16) {
                    __m512bh y0 = (__m512bh)_mm512_load_si512(from + p), y1 = y0;
                    if (B == 2) y1 = (__m512bh)_mm512_load_si512(from + s->column + p);
#pragma GCC unroll 8
                    for (int r = 0; r < 8; r++) {
                        __m512bh x = (__m512bh)_mm512_set1_epi32(((const fg_pair *)(results + p / 8))[r * 16].both);
                        all[r][0] = _mm512_dpbf16_ps(all[r][0], x, y0);
                        if (B == 2) all[r][1] = _mm512_dpbf16_ps(all[r][1], x, y1);
                    }
                }
        }
#pragma GCC unroll 8
        for (int r = 0; r < 8; r++) {
            _mm512_store_ps(sums + r * 16, all[r][0]);
            if (B == 2) _mm512_store_ps(sums + s->sum + r * 16, all[r][1]);
        }
    }
}

FG_TILES static __attribute__((noinline)) void fg_pair_blocks_1(const fg_filter_steps *s, int64_t rows, const uint16_t *a,
                                                                const uint32_t *b, float *sums) {
    fg_pair_blocks(1, s, rows, a, b, sums);
}

FG_TILES static __attribute__((noinline)) void fg_pair_blocks_2(const fg_filter_steps *s, int64_t rows, const uint16_t *a,
                                                                const uint32_t *b, float *sums) {
    fg_pair_blocks(2, s, rows, a, b, sums);
}

/* Where block j of the columns of all lines of taps begins. */
static const uint32_t *fg_block_of(const fg_sweep *w, const fg_filter_tile *t, const uint32_t *laid, int64_t columns,
                                   int64_t strip, int64_t j) {
    const fg_axis *rows = w->axis + 1;
    int64_t t0 = j / (rows->taps * columns), line = j / columns % rows->taps * rows->gap;
    int64_t at = (line % rows->step * t->lines + line / rows->step) * t->places.pitch / 2 * 16;
    return laid + (t0 * columns + j % columns) * strip + at;
}

/* Add what `together` tiles from `number` on give to a unit's sums; laid: room for the results, seen: for the rest. */
FG_TILES static void fg_filter_by_tiles(const fg_sweep *w, fg_filter_tile *t, int64_t number, int64_t together,
                                        int64_t group, int64_t c0, float *sums, int add, uint16_t *seen,
                                        uint16_t *results, uint32_t *laid) {
    const fg_axis *x = w->axis;
    int64_t n = fg_least(w->tile_c, w->c - c0), columns = fg_line_blocks(w, n), f_blocks = fg_pieces(w->f, 16);
    fg_sweep piece = *w; /* of which a tile sees these channels alone */
    piece.c = piece.tile_c = n;
    for (int64_t tile = 0; tile < together; tile++) {
        int64_t rest = number + tile;
        for (int i = 2; i >= 0; i--) {
            t->at[i] = rest % x[i].tiles * x[i].tile;
            rest /= x[i].tiles;
        }
        t->image = rest;
        int64_t high = fg_least(x[1].tile, x[1].m - t->at[1]), wide = fg_least(x[2].tile, x[2].m - t->at[2]);
        if (high != t->high || wide != t->wide) {
            t->high = high;
            t->wide = wide;
            t->lines = fg_kind_lines(x + 1, high);
            t->places = fg_places_of(high, wide);
            if (w->tiles > 1) fg_configure_steps(t->places.each);
        }
        int64_t pairs = fg_block_pairs(w, high, t->places.pitch);
        fg_tile_seen(&piece, t->at, t->image, group * w->c + c0, fg_seen(x + 1, high), fg_seen(x + 2, wide), seen, 0);
        fg_lay_seen(w, t, n, seen, laid + tile * pairs, together * pairs);
        const uint16_t *from = (const uint16_t *)w->filter + t->image * w->target_image + t->at[0] * x[0].target +
                               t->at[1] * x[1].target + t->at[2] * x[2].target + group * w->f;
        for (int64_t f = 0; f < f_blocks; f++)
            fg_lay_results(w, t, from + f * 16, (__mmask32)((1u << fg_least(16, w->f - f * 16)) - 1),
                           results + (f * together + tile) * t->places.steps * 512);
    }
    fg_filter_steps s;
    int64_t pairs = fg_block_pairs(w, t->high, t->places.pitch);
    s.tiles = together;
    s.tile = pairs;
    s.steps = t->places.steps;
    s.step = t->places.each / 2 * 16;
    s.result = together * t->places.steps * 512;
    s.sum = f_blocks * 256;
    s.add = add;
    int64_t blocks = x[0].taps * x[1].taps * columns;
    const uint32_t *b = fg_block_of(w, t, laid, columns, together * pairs, 0);
    for (int64_t j = 0; j < blocks; j += 2, sums += 2 * s.sum) {
        const uint32_t *next = fg_block_of(w, t, laid, columns, together * pairs, fg_least(j + 1, blocks - 1));
        s.column = next - b;
        if (w->tiles == 1) /* all results at once */
            (j + 1 < blocks ? fg_pair_blocks_2 : fg_pair_blocks_1)(&s, w->f, results, b, sums);
        for (int64_t f = 0; f < f_blocks && w->tiles > 1; f += 2) {
            const uint16_t *a = results + f * s.result;
            if (j + 1 < blocks)
                (f + 1 < f_blocks ? fg_blocks_22 : fg_blocks_12)(&s, a, b, sums + f * 256);
            else
                (f + 1 < f_blocks ? fg_blocks_21 : fg_blocks_11)(&s, a, b, sums + f * 256);
        }
        b = fg_block_of(w, t, laid, columns, together * pairs, fg_least(j + 2, blocks - 1));
    }
}

/* Units [first, last): pieces of the channels of the groups of the chunks. */
FG_TILES static void fg_filter_tile_units(fg_sweep *w, int64_t first, int64_t last) {
    const fg_axis *x = w->axis;
    int64_t high = x[1].tile, pitch = (x[2].tile + 31) / 32 * 32;
    int64_t tiles = fg_tiles(w), pieces = fg_pieces(w->c, w->tile_c);
    int64_t seen = (fg_tile_room(w, high, x[2].tile, w->tile_c) + 63) / 32 * 32;
    int64_t results = fg_pieces(w->f, 16) * w->together * high * pitch / 32 * 512;
    int64_t laid = x[0].taps * fg_line_blocks(w, w->tile_c) * w->together * fg_block_pairs(w, high, pitch);
    void *room;
    if (posix_memalign(&room, 64, seen * 2 + results * 2 + laid * 4) != 0) {
        w->failed = 1;
        return;
    }
    uint16_t *numbers = (uint16_t *)room;
    fg_filter_tile t;
    memset(&t, 0, sizeof(t));
    for (; first < last; first++) {
        int64_t piece = first % pieces, group = first / pieces % w->groups, chunk = first / (pieces * w->groups);
        int64_t from = tiles * chunk / w->chunks, to = tiles * (chunk + 1) / w->chunks;
        float *sums = (float *)w->target + first * fg_unit_blocks(w) * 256;
        for (int64_t number = from; number < to; number += w->together)
            fg_filter_by_tiles(w, &t, number, fg_least(w->together, to - number), group, piece * w->tile_c, sums,
                               number > from, numbers, numbers + seen, (uint32_t *)(void *)(numbers + seen + results));
    }
    if (w->tiles > 1) _tile_release();
    free(room);
}

/* Add up, in order, the chunks' sums of units [first, last) of a chunk; store them where they belong. */
FG_TILES static void fg_filter_totals(const fg_sweep *w, uint16_t *to, int64_t first, int64_t last) {
    const fg_axis *x = w->axis;
    int64_t pieces = fg_pieces(w->c, w->tile_c), f_blocks = fg_pieces(w->f, 16), joined = x[2].gap == 1;
    int64_t chunk = fg_chunk_units(w) * fg_unit_blocks(w) * 256;
    for (; first < last; first++) {
        int64_t c0 = first % pieces * w->tile_c, group = first / pieces, n = fg_least(w->tile_c, w->c - c0);
        int64_t columns = fg_line_blocks(w, n), each = joined ? columns : fg_pieces(n, 16);
        int64_t run = joined ? x[2].taps * n : n;
        const float *sums = (const float *)w->target + first * fg_unit_blocks(w) * 256;
        for (int64_t line = 0; line < x[0].taps * x[1].taps; line++)
            for (int64_t j = 0; j < columns; j++)
                for (int64_t f = 0; f < f_blocks; f++, sums += 256) {
                    __m512i rows[16];
                    __mmask32 mask = (__mmask32)((1u << fg_least(16, w->f - f * 16)) - 1);
                    for (int i = 0; i < 16; i++) {
                        __m512 total = _mm512_load_ps(sums + i * 16);
                        for (int64_t k = 1; k < w->chunks; k++)
                            total = _mm512_add_ps(total, _mm512_load_ps(sums + k * chunk + i * 16));
                        rows[i] = _mm512_castps_si512(total);
                    }
                    fg_turn_tile(rows);
                    for (int64_t i = 0, k = j % each * 16; i < 16 && k < run; i++, k++) {
                        int64_t tap = line * x[2].taps + (joined ? k / n : j / each), c = k % n;
                        __m256i narrow = (__m256i)_mm512_cvtneps_pbh(_mm512_castsi512_ps(rows[i]));
                        uint16_t *at = to + (tap * w->c + c0 + c) * w->results + group * w->f + f * 16;
                        _mm512_mask_storeu_epi16(at, mask, _mm512_castsi256_si512(narrow));
                    }
                }
    }
}
