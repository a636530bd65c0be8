/* Convolutions whose sums stay in vector registers, for eager calls: results, gradients to inputs and to filters.
 *
 * Rule: all of them are one sweep: places along three axes, each of which sees some taps of a source; what lies outside is
 * zero. A tile of places is computed at a time, in blocks of rows of sums that go tap by tap and channel by channel in
 * order: the part of the source that a block sees is copied with zeros around it (and widened, if it is of 16 bits) unless
 * all of it lies inside, or the loop passes over columns outside. Tiles are cut by shape alone, so the bits do not depend on threads. Where every channel is a group
 * of its own ("apart"), the lanes are channels and nothing is broadcast. */
#ifndef FG_CONVOLUTIONS_H
#define FG_CONVOLUTIONS_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FG_NATIVE, FG_BRAIN, FG_HALF }; /* what is stored: float or double themselves, bfloat16, float16 */

struct fg_sums;
/* Sums apart of bfloat16: c's places by n of a's and b's channels. */
typedef void (*fg_apart_t)(const struct fg_sums *, const uint16_t *a, const uint16_t *b, uint16_t *c, int64_t n);

typedef struct {
    int64_t n;                 /* extent of the source */
    int64_t m;                 /* places */
    int64_t step;              /* from one place to the next, in the source */
    int64_t taps, first, gap;  /* tap t of place o stands at o * step + first + t * gap; gap > 0 */
    int64_t source, target;    /* numbers from one element to the next, in the source and in what places belong to */
    int64_t tile;              /* places of a tile */
    int64_t tiles;
} fg_axis;

typedef struct {
    int kind;                  /* how source, target and other are stored */
    int is_double;
    int apart;                 /* lanes are channels */
    int to_filter;             /* the gradient to a filter: sums over places */
    fg_axis axis[3];
    int64_t batch;
    int64_t source_image, target_image;
    int64_t channels, results; /* of source and target, all groups together */
    int64_t groups;            /* of dense sums */
    int64_t c, f;              /* channels and results of a group; apart: f lanes, all that there are */
    int64_t repeat, fold;      /* apart: lanes that a channel of the source makes, that make a result */
    int64_t parts, part;       /* pieces that results are cut into, and their extent (to_filter: chunks of tiles, rows) */
    int64_t filter_row;        /* numbers from one channel (apart: tap) of the filter to the next */
    int64_t panel;             /* numbers from one panel of the filter to the next */
    int64_t group_panels;      /* numbers from one group of the filter to the next */
    const void *source;
    const void *filter;        /* float or double; to_filter: the gradient to the result, as it is stored */
    void *target;              /* to_filter: sums of the chunks, float or double */
    int64_t chunks, pieces, window; /* to_filter: see fg_filter_unit; window: rows of the filter */
    int tiles;                 /* by registers of tiles (2) or vectors of pairs (1): see convolutions_amx.h */
    int64_t tile_c, tile_run, tile_pieces;
    int64_t together;          /* tiles of places whose sums are stored once: see filter_gradients_amx.h */
    const fg_apart_t *of_pairs; /* what makes sums apart of bfloat16, whose filter is as it is stored; or NULL */
    int failed;                /* memory was not there */
} fg_sweep;

typedef struct {
    int64_t a, b, n;
    int64_t ahead, ahead_step; /* bytes from a, and between steps: fetched meanwhile, what the next block sees */
    int64_t ahead_columns;     /* of sums apart, each a step */
} fg_run;

/* Rows of sums: c[r, :] = the sum over runs, and over p in them, of a[run.a + r * a_row + p * a_col] * b[run.b + p * b_row, :]. */
typedef struct fg_sums {
    int64_t a_row, a_col, b_row, c_row;
    const fg_run *runs, *end;
    int64_t taps, b_tap; /* lines of taps: how many, from one to the next in b; 0 where runs are all there is */
    int64_t columns;     /* of sums apart: bits of what a line sees that is inside: columns or, if step is gap, taps; -1: all */
    int64_t first, last; /* of lines of taps: the columns inside, of those that a line sees */
    int64_t step, gap;   /* columns from a row of sums to the next, from a tap to the next */
    int brain;           /* sums apart: a and c are bfloat16 */
    int64_t below;       /* of them: bytes to where the next block's go */
} fg_sums;

/* How a filter is laid out for a sweep: element (tap, channel, result) of group g stands at
 * first + g * group + sum(tap * step) + channel * in + result * out. */
typedef struct {
    int64_t taps[3], step[3];
    int64_t first, group, in, out;
    int64_t c, f, groups;
} fg_layout;

#define FG_ROOM 262144         /* bytes that what a tile sees should not exceed: half of a small second cache */
#define FG_PLACES 1024         /* places of a tile at most */
#define FG_CHUNK_PLACES 256    /* the same where sums go over places: the nearest cache holds two vectors of each */
#define FG_TILE_WIDE 112
#define FG_FEW_TAPS 16
#define FG_STRIP 131072        /* bytes that a block of lanes apart should see at most: half of FG_ROOM */

#define FG_COLUMNS 64          /* that bits are kept of */
#define FG_OUTSIDE 3           /* columns that lines of taps pass over at either end */

#define FG_WITHIN(i, n) ((i) >= 0 && (i) < (n))

static inline int64_t fg_least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t fg_most(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t fg_pieces(int64_t n, int64_t of) { return (n + of - 1) / of; }

static int64_t fg_seen(const fg_axis *axis, int64_t places) {
    return (places - 1) * axis->step + (axis->taps - 1) * axis->gap + 1;
}

static int64_t fg_tile_room(const fg_sweep *w, int64_t rows, int64_t columns, int64_t lanes) {
    return w->axis[0].taps * fg_seen(w->axis + 1, rows) * fg_seen(w->axis + 2, columns) * lanes;
}

/* Cut the places into tiles, as even as can be; `lanes`: channels of a place that a tile holds. */
static void fg_cut(fg_sweep *w, int64_t lanes) {
    fg_axis *rows = w->axis + 1, *columns = w->axis + 2;
    int64_t size = w->is_double ? 8 : 4, places = w->to_filter ? FG_CHUNK_PLACES : FG_PLACES;
    int64_t wide = fg_least(columns->m, FG_TILE_WIDE), high = fg_least(rows->m, 4);
    while (wide > 28 && fg_tile_room(w, high, wide, lanes) * size > FG_ROOM) wide = (wide + 1) / 2;
    wide = fg_pieces(columns->m, fg_pieces(columns->m, wide));
    high = 1;
    while (high < rows->m && (high + 1) * wide <= places && fg_tile_room(w, high + 1, wide, lanes) * size <= FG_ROOM) high++;
    if (!w->to_filter) /* enough tiles for many threads */
        while (high > 1 && w->batch * w->axis[0].m * fg_pieces(rows->m, high) * fg_pieces(columns->m, wide) * w->parts < 32)
            high = (high + 1) / 2;
    high = fg_pieces(rows->m, fg_pieces(rows->m, high));
    w->axis[0].tile = 1;
    w->axis[0].tiles = w->axis[0].m;
    rows->tile = high;
    rows->tiles = fg_pieces(rows->m, high);
    columns->tile = wide;
    columns->tiles = fg_pieces(columns->m, wide);
}

static int64_t fg_tiles(const fg_sweep *w) {
    return w->batch * w->axis[0].tiles * w->axis[1].tiles * w->axis[2].tiles;
}

/* The same for results of lanes apart: a block of places wide, for what tiles side by side share, blocks share anyway. */
static void fg_cut_apart(fg_sweep *w, int64_t block) {
    fg_axis *rows = w->axis + 1, *columns = w->axis + 2;
    w->axis[0].tile = 1;
    w->axis[0].tiles = w->axis[0].m;
    columns->tiles = fg_pieces(columns->m, block);
    columns->tile = fg_pieces(columns->m, columns->tiles);
    rows->tiles = 1;
    rows->tile = rows->m;
    while (rows->tile > 1 && fg_tiles(w) * w->parts < 32) { /* enough tiles for many threads */
        rows->tile = (rows->tile + 1) / 2;
        rows->tiles = fg_pieces(rows->m, rows->tile);
    }
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#include <immintrin.h>
#include "half_floats.h"

static int fg_convolution_bits(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c")) return 0;
    int masks = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return masks && __builtin_cpu_supports("avx512f") ? 512 : 256;
}

static __attribute__((noinline, noclone, target("avx2,f16c"))) void fg_widened(float *to, const uint16_t *from, int64_t n, int kind) {
    int64_t i = 0;
    if (kind == FG_BRAIN) {
        for (; i + 8 <= n; i += 8)
            _mm256_storeu_si256((__m256i *)(to + i),
                                _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(from + i))), 16));
        for (; i < n; i++) {
            uint32_t bits = (uint32_t)from[i] << 16;
            memcpy(to + i, &bits, 4);
        }
    } else {
        fg_widen_float16((char *[]){(char *)from}, NULL, (char *)to, n);
    }
}

static inline __attribute__((target("avx2"))) void fg_store_brain_256(uint16_t *to, __m256 x) {
    __m256i bits = _mm256_castps_si256(x), even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i near = _mm256_add_epi32(bits, _mm256_add_epi32(_mm256_set1_epi32(0x7fff), even));
    __m256i none = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    near = _mm256_blendv_epi8(near, _mm256_or_si256(bits, _mm256_set1_epi32(0x400000)), none);
    near = _mm256_srli_epi32(near, 16);
    near = _mm256_permute4x64_epi64(_mm256_packus_epi32(near, near), 0x08);
    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(near));
}

static inline __attribute__((target("avx512f"))) __m256i fg_brain_512(__m512 x) {
    __m512i bits = _mm512_castps_si512(x), even = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i near = _mm512_add_epi32(bits, _mm512_add_epi32(_mm512_set1_epi32(0x7fff), even));
    near = _mm512_mask_or_epi32(near, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(near, 16));
}

static inline __attribute__((target("avx512f"))) void fg_store_brain_512(uint16_t *to, __m512 x) {
    _mm256_storeu_si256((__m256i *)to, fg_brain_512(x));
}

static __attribute__((noinline, noclone, target("avx2,f16c"))) void fg_narrowed(uint16_t *to, const float *from, int64_t n, int kind) {
    int64_t i = 0;
    if (kind == FG_BRAIN) {
        for (; i + 8 <= n; i += 8) fg_store_brain_256(to + i, _mm256_loadu_ps(from + i));
        for (; i < n; i++) to[i] = fg_narrow_bfloat(from[i]);
    } else {
        fg_narrow_float16((char *[]){(char *)from}, NULL, (char *)to, n);
    }
}

#define FG_LANES FG_FLOAT_512
#include "simd_lanes.h"
#include "convolutions_of_width.h"
#include "simd_lanes_end.h"
#define FG_LANES FG_FLOAT_256
#include "simd_lanes.h"
#include "convolutions_of_width.h"
#include "simd_lanes_end.h"
/* Those of doubles are seldom called: not for the widest vectors, which would make the extension a sixth larger; and no
   slower where the rest of their text is small. */
#pragma GCC push_options
#pragma GCC optimize("Os")
#define FG_LANES FG_DOUBLE_256
#include "simd_lanes.h"
#include "convolutions_of_width.h"
#include "simd_lanes_end.h"
#pragma GCC pop_options

/* The function NAME of this width and type. */
#define FG_OF(NAME, bits, is_double, ...)                                                                               \
    ((is_double) ? NAME##_256_double(__VA_ARGS__) : (bits) == 512 ? NAME##_512(__VA_ARGS__) : NAME##_256(__VA_ARGS__))

#else /* another CPU or compiler: NumPy's bodies */

static int fg_convolution_bits(void) { return 0; }
static void fg_widened(float *to, const uint16_t *from, int64_t n, int kind) {}
static void fg_narrowed(uint16_t *to, const float *from, int64_t n, int kind) {}
#define FG_OF(NAME, bits, is_double, ...) ((void)0)

#endif

/* Places whose sums apart are in registers at a time. */
static int64_t fg_apart_block(int bits, int is_double) { return bits == 512 && !is_double ? 7 : 6; }

/* Numbers of the filter that a panel holds for each channel: two vectors. */
static int64_t fg_panel_wide(int bits, int is_double) { return is_double ? 8 : bits / 16; }

/* Lay panels [first, last) of all groups' out: panel p of a group is [taps, c, two vectors]. */
static void fg_lay(int bits, int is_double, const fg_layout *y, void *to, const void *from, int64_t first, int64_t last) {
    FG_OF(fg_lay, bits, is_double, y, to, from, first, last);
}

/* Compute units [first, last): tiles, and in each the parts of the results. */
static void fg_sweep_units(int bits, fg_sweep *w, int64_t first, int64_t last) {
    FG_OF(fg_sweep_units, bits, w->is_double, w, first, last);
}

/* The same of the gradient to a filter: unit u is piece u % pieces of the rows, in chunk u / pieces of the tiles. */
static void fg_filter_units(int bits, fg_sweep *w, int64_t first, int64_t last) {
    FG_OF(fg_filter_units, bits, w->is_double, w, first, last);
}

#include "convolutions_amx.h"
#endif
