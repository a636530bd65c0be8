/* The sweeps of convolutions.h for bfloat16, by a CPU's registers of 16 x 32 of them: 32 places times 32 results at a time.
 *
 * Where there are no such registers but vectors that multiply pairs (w->tiles is 1), these do it, 14 places times 32 results
 * at a time, with the same layout. Products are exact and sums float32, as elsewhere; but numbers below the least normal
 * one count as zero. What a tile sees is copied as it is stored, with as many channels of zeros behind as let the taps of a
 * line be cut into equal pieces of at most 32 numbers (of any even number for vectors): so a register never holds what
 * belongs to another window. */
#ifndef FG_CONVOLUTIONS_BY_TILES_H
#define FG_CONVOLUTIONS_BY_TILES_H

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__SANITIZE_THREAD__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FG_TILES __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bf16,avx512bw,avx512vl")))

/* 2: this CPU has such registers and the system lets this process use them; 1: it multiplies pairs in vectors; 0. */
static int fg_has_tiles(void) {
    unsigned a, b, c, d;
    if (fg_convolution_bits() != 512 || !__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512bw")) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 22 & 1) || !(d >> 24 & 1)) return 1;
    return 1 + (syscall(SYS_arch_prctl, 0x1023, 18) == 0); /* ARCH_REQ_XCOMP_PERM of the tiles' data */
}

/* Lines of the cache that a piece of 32 places takes to be loaded, places of c channels, pieces of `each`. */
static int64_t fg_piece_lines(int64_t c, int64_t each, int64_t pieces) {
    int64_t crossing = 0, n = 0;
    for (int64_t i = 0; i < 32; i++)
        for (int64_t q = 0; q < fg_least(pieces, 8); q++, n++) crossing += (2 * (i * c + q * each)) % 64 + 2 * each > 64;
    return 32 + 32 * crossing / n;
}

/* How the taps of a line are cut: channels with those of zeros, pieces of a run. A line of the cache is loaded in a cycle,
 * and a piece is multiplied in 64, in which 32 of its filter are loaded too: where places cross lines, zeros may pay. */
static void fg_cut_runs(fg_sweep *w) {
    int64_t joined = w->axis[2].gap == 1 ? w->axis[2].taps : 1, best = INT64_MAX;
    if (w->tiles == 1) {
        w->tile_c = w->c + (joined * w->c) % 2;
        w->tile_run = joined * w->tile_c;
        w->tile_pieces = 1;
        return;
    }
    for (int64_t c = w->c; c < w->c + 32; c++)
        for (int64_t run = joined * c, pieces = (run + 31) / 32; pieces < (run + 31) / 32 + 3; pieces++)
            if (run % (2 * pieces) == 0 && pieces < best) {
                best = pieces;
                w->tile_c = c;
                w->tile_run = run;
                w->tile_pieces = pieces;
            }
    int64_t whole = (w->c + 31) / 32 * 32, pieces = joined * whole / 32;
    if (pieces * 64 < best * (32 + fg_piece_lines(w->tile_c, w->tile_run / best, best))) {
        w->tile_c = whole;
        w->tile_run = joined * whole;
        w->tile_pieces = pieces;
    }
}

/* Numbers of a panel of 32 results. */
static int64_t fg_tile_panel(const fg_sweep *w) {
    int64_t runs = w->axis[0].taps * w->axis[1].taps * (w->axis[2].gap == 1 ? 1 : w->axis[2].taps);
    return runs * w->tile_run * 32;
}

/* to[f] = first[f * out] and second[f * out] behind it, of `some` of 16 results; NULL is zeros. */
FG_TILES static void fg_lay_pair(uint32_t *to, const uint16_t *first, const uint16_t *second, int64_t out, int64_t some) {
    if (some == 16 && out == 1 && first && second) {
        __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)first));
        __m512i high = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)second));
        _mm512_storeu_si512(to, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
        return;
    }
    if (first && second == first + 1) /* they lie as they are wanted */
        for (int64_t f = 0; f < some; f++) memcpy(to + f, first + f * out, 4);
    else
        for (int64_t f = 0; f < some; f++)
            to[f] = (first ? first[f * out] : 0) | (uint32_t)(second ? second[f * out] : 0) << 16;
    for (int64_t f = some; f < 16; f++) to[f] = 0;
}

/* Lay panels [first, last) of all groups out: panel, run, piece, half of the results, pair of channels, result, which. */
static void fg_lay_tiles(const fg_sweep *w, const fg_layout *y, uint16_t *to, const uint16_t *from, int64_t first, int64_t last) {
    int64_t panels = fg_pieces(y->f, 32), each = w->tile_run / w->tile_pieces, joined = w->axis[2].gap == 1;
    int64_t runs = joined ? 1 : y->taps[2];
    for (int64_t p = first; p < last; p++) {
        uint16_t *at = to + p * fg_tile_panel(w);
        const uint16_t *group = from + y->first + p / panels * y->group;
        int64_t f0 = p % panels * 32;
        for (int64_t t0 = 0; t0 < y->taps[0]; t0++)
            for (int64_t t1 = 0; t1 < y->taps[1]; t1++)
                for (int64_t r = 0; r < runs; r++)
                    for (int64_t q = 0; q < w->tile_pieces; q++)
                        for (int64_t half = 0; half < 2; half++, at += each * 16)
                            for (int64_t i = 0; i < each; i += 2) {
                                int64_t result = f0 + half * 16, some = fg_most(0, fg_least(16, y->f - result));
                                const uint16_t *rows[2];
                                for (int j = 0; j < 2; j++) {
                                    int64_t k = q * each + i + j, c = k % w->tile_c, t2 = joined ? k / w->tile_c : r;
                                    const uint16_t *tap = group + t0 * y->step[0] + t1 * y->step[1] + t2 * y->step[2];
                                    rows[j] = c < y->c ? tap + c * y->in + result * y->out : NULL;
                                }
                                fg_lay_pair((uint32_t *)(void *)(at + i * 16), rows[0], rows[1], y->out, some);
                            }
    }
}

typedef struct {
    int both; /* neighbours, as they are multiplied */
} __attribute__((packed, may_alias)) fg_pair;

typedef struct {
    uint8_t palette, start, unused[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} fg_tile_config;

/* A barrier between registers of tiles and memory: the compiler does not know what their instructions touch. */
#define FG_ORDERED() __asm__ volatile("" ::: "memory")

/* Registers of 16 x 16 sums, and of `each` numbers of 16 rows of both factors, in pairs those of the second. */
FG_TILES static void fg_configure_steps(int64_t each) {
    fg_tile_config config;
    memset(&config, 0, sizeof(config));
    config.palette = 1;
    for (int i = 0; i < 8; i++) {
        config.rows[i] = i < 6 ? 16 : each / 2;
        config.bytes[i] = i == 4 || i == 5 ? 2 * each : 64;
    }
    __asm__ volatile("" ::"r"(&config) : "memory"); /* all of it is read */
    _tile_loadconfig(&config);
}

#define FG_NEAR 40960 /* bytes of a panel that stay in the nearest cache */
#define FG_CUT 24576  /* those of a piece of a larger one, which leaves room for what it is multiplied with */
#define FG_CUTS 4     /* pieces at most: with more, sums would go to memory and back too often */
#define FG_SLOTS 2    /* blocks of sums that a piece is multiplied for, one after the other: a power of two */

/* 16 * M places times 16 * N results, M * N up to 4; all sums in registers. a: the first place; b: the panel; out:
 * [places, results], of which all M * N blocks are stored. `add`: to what it holds. */
FG_TILES static inline __attribute__((always_inline)) void fg_tile_sums(const int M, const int N, const fg_run *run,
                                                                        const fg_run *end, int64_t pieces, int64_t each,
                                                                        const uint16_t *a, int64_t a_row,
                                                                        const uint16_t *b, float *out, const int add) {
    FG_ORDERED();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (add) {
        _tile_loadd(0, out, 64 * N);
        if (N == 2) {
            _tile_loadd(1, out + 16, 128);
            if (M > 1) _tile_loadd(2, out + 512, 128);
            if (M > 1) _tile_loadd(3, out + 528, 128);
        } else {
            if (M > 1) _tile_loadd(1, out + 256, 64);
            if (M > 2) _tile_loadd(2, out + 512, 64);
            if (M > 3) _tile_loadd(3, out + 768, 64);
        }
    }
    for (; run < end; run++) {
        const uint16_t *from = a + run->a;
        for (int64_t q = 0; q < pieces; q++, from += each, b += 32 * each) {
            _tile_loadd(6, b, 64);
            _tile_loadd(4, from, 2 * a_row);
            _tile_dpbf16ps(0, 4, 6);
            if (N == 2) {
                _tile_loadd(7, b + 16 * each, 64);
                _tile_dpbf16ps(1, 4, 7);
            }
            if (M > 1) {
                _tile_loadd(5, from + 16 * a_row, 2 * a_row);
                if (N == 2) {
                    _tile_dpbf16ps(2, 5, 6);
                    _tile_dpbf16ps(3, 5, 7);
                } else
                    _tile_dpbf16ps(1, 5, 6);
            }
            if (M > 2) {
                _tile_loadd(4, from + 32 * a_row, 2 * a_row);
                _tile_dpbf16ps(2, 4, 6);
            }
            if (M > 3) {
                _tile_loadd(5, from + 48 * a_row, 2 * a_row);
                _tile_dpbf16ps(3, 5, 6);
            }
        }
    }
    _tile_stored(0, out, 64 * N);
    if (N == 2) {
        _tile_stored(1, out + 16, 128);
        if (M > 1) _tile_stored(2, out + 512, 128);
        if (M > 1) _tile_stored(3, out + 528, 128);
    } else {
        if (M > 1) _tile_stored(1, out + 256, 64);
        if (M > 2) _tile_stored(2, out + 512, 64);
        if (M > 3) _tile_stored(3, out + 768, 64);
    }
    FG_ORDERED();
}

#define FG_TILE_SUMS(M, N, name, add)                                                                                  \
    FG_TILES static __attribute__((noinline)) void fg_tile_##name##_##M##N(                                            \
        const fg_run *run, const fg_run *end, int64_t pieces, int64_t each, const uint16_t *a, int64_t a_row,          \
        const uint16_t *b, float *out) {                                                                               \
        fg_tile_sums(M, N, run, end, pieces, each, a, a_row, b, out, add);                                             \
    }
#define FG_ALL_TILE_SUMS(name, add)                                                                                    \
    FG_TILE_SUMS(1, 1, name, add) FG_TILE_SUMS(2, 1, name, add) FG_TILE_SUMS(3, 1, name, add)                          \
    FG_TILE_SUMS(4, 1, name, add) FG_TILE_SUMS(1, 2, name, add) FG_TILE_SUMS(2, 2, name, add)
FG_ALL_TILE_SUMS(sums, 0)
FG_ALL_TILE_SUMS(more, 1)
#undef FG_TILE_SUMS
#undef FG_ALL_TILE_SUMS

typedef void (*fg_tile_sums_t)(const fg_run *, const fg_run *, int64_t, int64_t, const uint16_t *, int64_t,
                               const uint16_t *, float *);
static const fg_tile_sums_t fg_all_tile_sums[2][2][4] = {
    {{fg_tile_sums_11, fg_tile_sums_21, fg_tile_sums_31, fg_tile_sums_41}, {fg_tile_sums_12, fg_tile_sums_22}},
    {{fg_tile_more_11, fg_tile_more_21, fg_tile_more_31, fg_tile_more_41}, {fg_tile_more_12, fg_tile_more_22}}};

/* The same by vectors: R places times 32 results (N is 2), 16 (1) or 8 (0: vectors of half the width), one piece a run; all
 * sums are stored, those of one vector as if it were whole. */
#define FG_PAIRS(VECTOR, PAIRS, LOADED, SPREAD, MADE)                                                                  \
    const uint16_t *q[5];                                                                                              \
    VECTOR sums[14][2];                                                                                                \
    _Pragma("GCC unroll 16") for (int r = 0; r < R; r++) sums[r][0] = sums[r][1] = (VECTOR){0};                        \
    for (; run < end; run++, b += 16 * each) {                                                                         \
        _Pragma("GCC unroll 16") for (int r = 0; r < R; r += 3) q[r / 3] = a + run->a + r * a_row;                     \
        for (int64_t p = 0; p < each; p += 2, b += 32) {                                                               \
            PAIRS y0 = (PAIRS)LOADED((const void *)b), y1 = N == 2 ? (PAIRS)LOADED((const void *)(b + 16 * each)) : y0; \
            _Pragma("GCC unroll 16") for (int r = 0; r < R; r++) {                                                     \
                PAIRS x = (PAIRS)SPREAD(((const fg_pair *)FG_ROW(r))->both);                                           \
                sums[r][0] = MADE(sums[r][0], x, y0);                                                                  \
                if (N == 2) sums[r][1] = MADE(sums[r][1], x, y1);                                                      \
            }                                                                                                          \
            _Pragma("GCC unroll 16") for (int r = 0; r < R; r += 3) q[r / 3] += 2;                                     \
        }                                                                                                              \
    }

FG_TILES static inline __attribute__((always_inline)) void fg_pair_sums(const int R, const int N, const fg_run *run,
                                                                        const fg_run *end, int64_t each, const uint16_t *a,
                                                                        int64_t a_row, const uint16_t *b, float *out) {
    if (N == 0) { /* CPUs that make the widest vectors of two halves take half the time */
        FG_PAIRS(__m256, __m256bh, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_dpbf16_ps)
#pragma GCC unroll 16
        for (int r = 0; r < R; r++, out += 16) _mm256_store_ps(out, sums[r][0]);
        return;
    }
    FG_PAIRS(__m512, __m512bh, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_dpbf16_ps)
#pragma GCC unroll 16
    for (int r = 0; r < R; r++, out += 16 * N) {
        _mm512_store_ps(out, sums[r][0]);
        if (N == 2) _mm512_store_ps(out + 16, sums[r][1]);
    }
}
#undef FG_PAIRS

#define FG_PAIR_SUMS(R, N)                                                                                             \
    FG_TILES static __attribute__((noinline)) void fg_pair_sums_##R##_##N(                                             \
        const fg_run *run, const fg_run *end, int64_t pieces, int64_t each, const uint16_t *a, int64_t a_row,          \
        const uint16_t *b, float *out) {                                                                               \
        fg_pair_sums(R, N, run, end, each, a, a_row, b, out);                                                          \
    }
#define FG_ALL_PAIR_SUMS(N)                                                                                            \
    FG_PAIR_SUMS(2, N) FG_PAIR_SUMS(4, N) FG_PAIR_SUMS(6, N) FG_PAIR_SUMS(8, N) FG_PAIR_SUMS(10, N)                    \
    FG_PAIR_SUMS(12, N) FG_PAIR_SUMS(14, N)
FG_ALL_PAIR_SUMS(0)
FG_ALL_PAIR_SUMS(1)
FG_ALL_PAIR_SUMS(2)
#define FG_EACH(N)                                                                                                     \
    {fg_pair_sums_2_##N,  fg_pair_sums_4_##N,  fg_pair_sums_6_##N, fg_pair_sums_8_##N,                                 \
     fg_pair_sums_10_##N, fg_pair_sums_12_##N, fg_pair_sums_14_##N}
static const fg_tile_sums_t fg_all_pair_sums[3][7] = {FG_EACH(0), FG_EACH(1), FG_EACH(2)};
#undef FG_EACH
#undef FG_PAIR_SUMS
#undef FG_ALL_PAIR_SUMS

/* Places of a block of vectors that begins at place i of a line: pairs of places, in blocks as even as can be. */
static int64_t fg_pair_places(int64_t line, int64_t i) {
    int64_t pairs = fg_pieces(line, 2), blocks = fg_pieces(pairs, 7), less = pairs / blocks, more = pairs % blocks;
    return i < 2 * (less + 1) * more ? 2 * (less + 1) : 2 * less;
}

/* Sums of places one after the other, and where they belong: lines of `wide` places, from the first of one to that of
 * the next `columns` sums. */
typedef struct {
    const float *sums;
    uint16_t *target; /* of the first line */
    int64_t some, down, across, wide, columns, line, place, results;
    __mmask32 mask;   /* results that there are */
} fg_tile_done;

/* Narrow and store them; those between lines are dropped. */
FG_TILES static void fg_tile_put(const fg_tile_done *d) {
    const float *sums = d->sums;
    int64_t across = d->across, step = d->results;
    uint16_t *line = d->target + d->down * d->line;
    for (int64_t left = d->some; left > 0; line += d->line, across = 0) {
        int64_t all = fg_least(left, d->columns - across), n = fg_least(all, d->wide - across);
        uint16_t *to = line + across * d->place;
        const float *from = sums;
        if (step == 32)
            for (int64_t k = 0; k < n; k++, to += d->place, from += 32) {
                __m512bh both = _mm512_cvtne2ps_pbh(_mm512_load_ps(from + 16), _mm512_load_ps(from));
                _mm512_mask_storeu_epi16(to, d->mask, (__m512i)both);
            }
        else
            for (int64_t k = 0; k < n; k++, to += d->place, from += 16) {
                __m256i narrow = (__m256i)_mm512_cvtneps_pbh(_mm512_load_ps(from));
                _mm512_mask_storeu_epi16(to, d->mask, _mm512_castsi256_si512(narrow));
            }
        sums += all * step;
        left -= all;
    }
}

/* Gather a tile's view as it is stored: [taps, lines, columns, channels and zeros]; if `within`, nothing for planes outside. */
FG_TILES static void fg_tile_seen(const fg_sweep *w, const int64_t *at, int64_t image, int64_t c0, int64_t high, int64_t wide,
                                   uint16_t *room, int within) {
    const fg_axis *x = w->axis;
    const uint16_t *source = (const uint16_t *)w->source + image * w->source_image + c0;
    int64_t low[3], n = w->tile_c;
    for (int i = 0; i < 3; i++) low[i] = at[i] * x[i].step + x[i].first;
    int64_t left = fg_least(fg_most(-low[2], 0), wide), right = fg_most(fg_least(x[2].n - low[2], wide), left);
    for (int64_t t0 = 0; t0 < x[0].taps; t0++)
        for (int64_t i = 0; i < high; i++, room += wide * n) {
            int64_t plane = low[0] + t0 * x[0].gap, line = low[1] + i;
            if (!FG_WITHIN(plane, x[0].n) || !FG_WITHIN(line, x[1].n)) {
                if (!within || FG_WITHIN(plane, x[0].n)) memset(room, 0, wide * n * 2);
                continue;
            }
            const uint16_t *from = source + plane * x[0].source + line * x[1].source + (low[2] + left) * x[2].source;
            memset(room, 0, left * n * 2);
            memset(room + right * n, 0, (wide - right) * n * 2);
            if (x[2].source == n && n == w->c) {
                memcpy(room + left * n, from, (right - left) * n * 2);
                continue;
            }
            for (int64_t j = left; j < right; j++, from += x[2].source)
                for (int64_t k = 0; k < n; k += 32) { /* a call for a few numbers would take longer than they do */
                    int64_t some = fg_most(0, fg_least(32, w->c - k)), all = fg_least(32, n - k);
                    __m512i numbers = _mm512_maskz_loadu_epi16((__mmask32)((1ull << some) - 1), from + k);
                    _mm512_mask_storeu_epi16(room + j * n + k, (__mmask32)((1ull << all) - 1), numbers);
                }
        }
}

FG_TILES static void fg_tile_unit(const fg_sweep *w, int64_t unit, uint16_t *room, float *out, fg_run *runs) {
    const fg_axis *x = w->axis;
    int64_t part = unit % w->parts, group = unit / w->parts % w->groups, number = unit / (w->parts * w->groups), at[3];
    for (int i = 2; i >= 0; i--) {
        at[i] = number % x[i].tiles * x[i].tile;
        number /= x[i].tiles;
    }
    int64_t high = fg_least(x[1].tile, x[1].m - at[1]), wide = fg_least(x[2].tile, x[2].m - at[2]), n = w->tile_c;
    int64_t lines = fg_seen(x + 1, high), row = fg_seen(x + 2, wide) * n, a_row = x[2].step * n;
    int64_t t0 = 0, planes = x[0].taps, plane = at[0] * x[0].step + x[0].first;
    while (t0 < planes && plane + t0 * x[0].gap < 0) t0++; /* planes outside are left out */
    while (t0 < planes && plane + (planes - 1) * x[0].gap >= x[0].n) planes--;
    int64_t each = w->tile_run / w->tile_pieces, panel = fg_tile_panel(w), f1 = fg_least((part + 1) * w->part, w->f);
    int64_t run = panel / (x[0].taps * x[1].taps * (x[2].gap == 1 ? 1 : x[2].taps)); /* numbers of a panel */
    fg_tile_seen(w, at, number, group * w->c, lines, fg_seen(x + 2, wide), room, 1);
    fg_run *end = runs;
    const uint16_t *filter = (const uint16_t *)w->filter + group * fg_pieces(w->f, 32) * panel;
    filter += t0 * x[1].taps * (x[2].gap == 1 ? 1 : x[2].taps) * run;
    for (; t0 < planes; t0++)
        for (int64_t t1 = 0; t1 < x[1].taps; t1++)
            for (int64_t t2 = 0; t2 < (x[2].gap == 1 ? 1 : x[2].taps); t2++, end++)
                end->a = (t0 * lines + t1 * x[1].gap) * row + t2 * x[2].gap * n;
    int64_t corner = number * w->target_image + at[0] * x[0].target + at[1] * x[1].target + at[2] * x[2].target;
    uint16_t *target = (uint16_t *)w->target + corner + group * w->f;
    /* Short lines are one after the other, with what is between their places computed and dropped. */
    int64_t columns = fg_seen(x + 2, wide), long_line = (high - 1) * columns + wide;
    int vectors = w->tiles == 1, flat = x[1].step == 1 && x[2].step == 1;
    flat = flat && (vectors ? long_line < high * fg_most(wide, 8) : fg_pieces(long_line, 32) < high * fg_pieces(wide, 32));
    int64_t lines_of = flat ? 1 : high, line = flat ? long_line : wide;
    fg_tile_done done = {0};
    done.wide = wide;
    done.columns = flat ? columns : wide;
    done.line = x[1].target;
    done.place = x[2].target;
    /* A panel that the nearest cache does not hold is cut into pieces of runs, each for some blocks of sums. */
    int64_t nbytes = (end - runs) * run * 2, cuts = nbytes > FG_NEAR ? fg_least(end - runs, fg_pieces(nbytes, FG_CUT)) : 1;
    if (cuts > FG_CUTS || vectors) cuts = 1; /* vectors need no more of it than the second cache gives */
    int64_t slot = 0;
    for (int64_t f = part * w->part; f < f1; f += 32) {
        int64_t halves = f1 - f > 16 ? 2 : 1, width = f1 - f > 8 ? halves : 0, places = 64 / halves;
        int64_t left = lines_of * fg_pieces(line, vectors ? 14 : places), next_j = 0, next_i = 0, some;
        for (int64_t j = 0, i = 0; left > 0; left -= some, slot += some, j = next_j, i = next_i) {
            const fg_run *from = runs, *to;
            some = fg_least(FG_SLOTS, left);
            for (int64_t cut = 1; cut <= cuts; cut++, from = to) {
                to = cut == cuts ? end : runs + (end - runs) * cut / cuts;
                next_j = j;
                next_i = i;
                for (int64_t k = slot; k < slot + some; k++) {
                    if (vectors) places = fg_pair_places(line, next_i);
                    int64_t n = fg_least(line - next_i, places);
                    float *sums = out + k % FG_SLOTS * 1024;
                    fg_tile_sums_t sums_of = vectors ? fg_all_pair_sums[width][(n - 1) / 2]
                                                     : fg_all_tile_sums[cut > 1][halves - 1][(n - 1) / 16];
                    sums_of(from, to, w->tile_pieces, each, room + next_j * x[1].step * row + next_i * a_row, a_row,
                            filter + f / 32 * panel + (from - runs) * run, sums);
                    fg_tile_put(&done); /* those before, while these are on their way */
                    done.some = 0;
                    if (cut == cuts) {
                        done.sums = sums;
                        done.target = target + f;
                        done.some = n;
                        done.down = flat ? next_i / columns : next_j;
                        done.across = flat ? next_i % columns : next_i;
                        done.results = 16 * halves;
                        done.mask = (__mmask32)((1ull << fg_least(f1 - f, 32)) - 1);
                    }
                    next_i += places;
                    if (next_i >= line) next_i = 0, next_j++;
                }
            }
        }
    }
    fg_tile_put(&done);
}

FG_TILES static void fg_tile_units(fg_sweep *w, int64_t first, int64_t last) {
    /* Places behind a line's last are read, and what comes of them dropped. */
    int64_t n = fg_tile_room(w, w->axis[1].tile, w->axis[2].tile, w->tile_c) + 32 * (w->axis[2].step + w->axis[2].taps) * w->tile_c;
    int64_t n_runs = w->axis[0].taps * w->axis[1].taps * w->axis[2].taps;
    void *room;
    n = (n + 31) / 32 * 32;
    if (posix_memalign(&room, 64, FG_SLOTS * 4096 + n * 2 + n_runs * sizeof(fg_run)) != 0) {
        w->failed = 1;
        return;
    }
    if (w->tiles > 1) fg_configure_steps(w->tile_run / w->tile_pieces);
    for (; first < last; first++)
        fg_tile_unit(w, first, (uint16_t *)room + FG_SLOTS * 2048, (float *)room,
                     (fg_run *)(void *)((char *)room + FG_SLOTS * 4096 + n * 2));
    if (w->tiles > 1) _tile_release();
    free(room);
}

#include "depthwise_pairs.h"
#include "filter_gradients_amx.h"

#else

static int fg_has_tiles(void) { return 0; }
static void fg_cut_runs(fg_sweep *w) {}
static int64_t fg_tile_panel(const fg_sweep *w) { return 0; }
static void fg_lay_tiles(const fg_sweep *w, const fg_layout *y, uint16_t *to, const uint16_t *from, int64_t first, int64_t last) {}
static void fg_tile_units(fg_sweep *w, int64_t first, int64_t last) {}
static int fg_apart_by_pairs(fg_sweep *w) { return 0; }
static int fg_cut_to_filter(fg_sweep *w, int64_t units) { return 0; }
static int64_t fg_unit_blocks(const fg_sweep *w) { return 0; }
static int64_t fg_chunk_units(const fg_sweep *w) { return 0; }
static void fg_filter_tile_units(fg_sweep *w, int64_t first, int64_t last) {}
static void fg_filter_totals(const fg_sweep *w, uint16_t *to, int64_t first, int64_t last) {}

#endif
#endif
