/* Sums of segments and unique elements: rows combined by their numbers, different elements found by hash tables.

   Rule: loops over plain memory in the order of the elements; a number out of range is told, never followed. */

#ifndef FASTGRAPH_GROUPS_H
#define FASTGRAPH_GROUPS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- rows combined -------------------------------------------------------------------------------------------- */

/* out[ids[j]] = E of what was there (`old`) and row j of `x` (`v`); rows of negative numbers are passed over. Returns
   the first j whose number is no row, -1 if there is none. */
#define FG_COMBINE(NAME, T, E) \
    static int64_t NAME(void* out_, const void* x_, const int64_t* ids, int64_t n, int64_t rows, int64_t inner) { \
        T* out = (T*)out_; \
        const T* x = (const T*)x_; \
        for (int64_t j = 0; j < n; j++) { \
            const int64_t k = ids[j]; \
            if (k < 0) continue; \
            if (k >= rows) return j; \
            if (inner == 1) { \
                const T old = out[k], v = x[j]; \
                out[k] = (T)(E); \
                continue; \
            } \
            T* __restrict to = out + k * inner; \
            const T* __restrict from = x + j * inner; \
            for (int64_t c = 0; c < inner; c++) { \
                const T old = to[c], v = from[c]; \
                to[c] = (T)(E); \
            } \
        } \
        return -1; \
    }

/* max and min: the new one only where it is beyond the old one; segmax and segmin: the old one only where it is. */
#define FG_COMBINE_SUMS(T) \
    FG_COMBINE(fg_add_##T, T, old + v) FG_COMBINE(fg_sub_##T, T, old - v) FG_COMBINE(fg_mul_##T, T, old * (uint64_t)v)
#define FG_COMBINE_ENDS(T) FG_COMBINE(fg_max_##T, T, v > old ? v : old) FG_COMBINE(fg_min_##T, T, v < old ? v : old)
#define FG_COMBINE_FLOATS(T) \
    FG_COMBINE(fg_add_##T, T, old + v) FG_COMBINE(fg_sub_##T, T, old - v) FG_COMBINE(fg_mul_##T, T, old * v) \
    FG_COMBINE_ENDS(T) \
    FG_COMBINE(fg_segmax_##T, T, old > v ? old : v) FG_COMBINE(fg_segmin_##T, T, old < v ? old : v)

FG_COMBINE_FLOATS(float) FG_COMBINE_FLOATS(double)
FG_COMBINE_SUMS(uint8_t) FG_COMBINE_SUMS(uint16_t) FG_COMBINE_SUMS(uint32_t) FG_COMBINE_SUMS(uint64_t)
FG_COMBINE_ENDS(uint8_t) FG_COMBINE_ENDS(uint16_t) FG_COMBINE_ENDS(uint32_t) FG_COMBINE_ENDS(uint64_t)
FG_COMBINE_ENDS(int8_t) FG_COMBINE_ENDS(int16_t) FG_COMBINE_ENDS(int32_t) FG_COMBINE_ENDS(int64_t)

typedef int64_t (*fg_combine)(void*, const void*, const int64_t*, int64_t, int64_t, int64_t);

enum { FG_ADD, FG_SUB, FG_MUL, FG_MAX, FG_MIN, FG_SEGMAX, FG_SEGMIN, FG_HOWS };

/* By NumPy's letter of the kind ('f', 'i', 'u') and bytes of an element; 0 where there is none. */
static fg_combine fg_combine_of(int how, char kind, int bytes) {
#define FG_SUMS_OF(T) {fg_add_##T, fg_sub_##T, fg_mul_##T}
    static const fg_combine floats[2][FG_HOWS] = {
        {fg_add_float, fg_sub_float, fg_mul_float, fg_max_float, fg_min_float, fg_segmax_float, fg_segmin_float},
        {fg_add_double, fg_sub_double, fg_mul_double, fg_max_double, fg_min_double, fg_segmax_double,
         fg_segmin_double}};
    static const fg_combine sums[4][3] = {
        FG_SUMS_OF(uint8_t), FG_SUMS_OF(uint16_t), FG_SUMS_OF(uint32_t), FG_SUMS_OF(uint64_t)};
    static const fg_combine ends[2][4][2] = {
        {{fg_max_int8_t, fg_min_int8_t}, {fg_max_int16_t, fg_min_int16_t}, {fg_max_int32_t, fg_min_int32_t},
         {fg_max_int64_t, fg_min_int64_t}},
        {{fg_max_uint8_t, fg_min_uint8_t}, {fg_max_uint16_t, fg_min_uint16_t}, {fg_max_uint32_t, fg_min_uint32_t},
         {fg_max_uint64_t, fg_min_uint64_t}}};
    const int size = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : -1;
    if (size < 0 || how < 0 || how >= FG_HOWS) return 0;
    if (kind == 'f') return size < 2 ? 0 : floats[size - 2][how];
    if (kind != 'i' && kind != 'u') return 0;
    return how <= FG_MUL ? sums[size][how] : ends[kind == 'u'][size][(how - FG_MAX) % 2];
}

/* ---- different elements --------------------------------------------------------------------------------------- */

static inline uint64_t fg_mixed(uint64_t x) {
    x = (x ^ x >> 32) * 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

enum { FG_AHEAD = 16 }; /* elements whose entries are on their way from memory */

/* Zeros; many of them on few large pages, for otherwise the system's handing them out would take most of the time. */
static void* fg_zeros(uint64_t bytes) {
    const uint64_t page = (uint64_t)1 << 21;
    if (bytes < page) return calloc(bytes, 1);
    void* found = 0;
    if (posix_memalign(&found, page, bytes)) return 0;
#ifdef MADV_HUGEPAGE
    madvise(found, bytes, MADV_HUGEPAGE);
#endif
    return memset(found, 0, bytes);
}

/* where[i]: the number of x[i] among the different elements as they appear; of each of those, where it is first and
   how often it occurs. `real`: x are floats, whose zeros are one and of which no NaN is like another. Returns how many
   there are, -1 without memory. The table is at most half full. */
#define FG_UNIQUE(NAME, T, MANTISSA, EXPONENT) \
    static int64_t NAME(const T* x, int64_t n, int real, int32_t* where, int32_t* first, int32_t* count) { \
        typedef struct { T key; uint32_t taken; } entry; /* by number + 1 */ \
        const T sign = (T)1 << (8 * sizeof(T) - 1), infinite = (T)EXPONENT << MANTISSA; \
        uint64_t mask = 1023; \
        entry* table = (entry*)fg_zeros((mask + 1) * sizeof(entry)); \
        int32_t m = 0; \
        int64_t held = 0; \
        if (table == 0) return -1; \
        for (int64_t i = 0; i < n; i++) { \
            T key = x[i]; \
            if (real && (T)(key << 1) == 0) key = 0; \
            if (real && (T)(key & ~sign) > infinite) { \
                where[i] = m, first[m] = (int32_t)i, count[m++] = 1; \
                continue; \
            } \
            if (i + FG_AHEAD < n) __builtin_prefetch(&table[fg_mixed(x[i + FG_AHEAD]) & mask]); \
            uint64_t at = fg_mixed(key) & mask; \
            while (table[at].taken && table[at].key != key) at = (at + 1) & mask; \
            if (table[at].taken) { \
                where[i] = (int32_t)(table[at].taken - 1); \
                count[where[i]]++; \
                continue; \
            } \
            table[at].key = key; \
            table[at].taken = (uint32_t)m + 1; \
            where[i] = m, first[m] = (int32_t)i, count[m++] = 1; \
            if ((uint64_t)++held * 2 <= mask) continue; \
            const uint64_t wide = 4 * mask + 3; \
            entry* larger = (entry*)fg_zeros((wide + 1) * sizeof(entry)); \
            if (larger == 0) { free(table); return -1; } \
            for (uint64_t j = 0; j <= mask; j++) { \
                if (!table[j].taken) continue; \
                at = fg_mixed(table[j].key) & wide; \
                while (larger[at].taken) at = (at + 1) & wide; \
                larger[at] = table[j]; \
            } \
            free(table); \
            table = larger; \
            mask = wide; \
        } \
        free(table); \
        return m; \
    }

FG_UNIQUE(fg_unique_32, uint32_t, 23, 0xFF)
FG_UNIQUE(fg_unique_64, uint64_t, 52, 0x7FF)

#endif
