/* Reductions of eager tensors over neighbouring axes: x[outer, n, inner] -> out[outer, inner].
 *
 * Rule: the order of additions depends on the extents alone. float32 is summed in lanes over short blocks and the blocks
 * in double, so that the error does not grow with the length; what is long is summed in chunks, and the chunks in order,
 * whichever threads summed them. NaN makes max and min NaN; integers wrap. */
#ifndef FG_REDUCTIONS_H
#define FG_REDUCTIONS_H
#include <math.h>
#include <stdint.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3") /* lanes in arrays become registers where their loops are written out */
#endif

#ifndef FG_WIDER
#define FG_WIDER
#endif

#define FG_BLOCK 512     /* elements summed in lanes before they join the total */
#define FG_CHUNK 32768   /* elements summed before they join the total of all, 8 bytes a chunk */
#define FG_COLUMNS 256   /* columns summed side by side */

/* Rows of a few elements, one after the other: of 2 to 4, whose number is written out, in vectors across the rows. */
#define FG_SHORT_ROWS(NAME, FEW)                                                                                       \
    if (stride == 1 && n < FEW) {                                                                                      \
        if (n == 2) NAME##_rows(x, out, outer, 2, count);                                                              \
        else if (n == 3) NAME##_rows(x, out, outer, 3, count);                                                         \
        else if (n == 4) NAME##_rows(x, out, outer, 4, count);                                                         \
        else NAME##_rows(x, out, outer, n, count);                                                                     \
        return;                                                                                                        \
    }

/* NAME_part: the total of at most FG_CHUNK elements, in 8 bytes. NAME_finish: of n such totals; `count`: the mean of so
 * many. NAME: of x[outer, n, inner], of whose rows of `stride` elements these are the first `inner`. */
#define FG_SUM(NAME, T, LANES, WIDE)                                                                                   \
    typedef T NAME##_vector __attribute__((vector_size(sizeof(T) * LANES), aligned(sizeof(T))));                       \
    FG_WIDER static void NAME##_part(const void *x_, void *out, int64_t n) {                                           \
        const T *x = (const T *)x_;                                                                                    \
        WIDE total = 0;                                                                                                \
        for (int64_t i = 0; i < n; i += FG_BLOCK) {                                                                    \
            int64_t stop = n - i < FG_BLOCK ? n : i + FG_BLOCK, k = i;                                                 \
            NAME##_vector s[4] = {{0}};                                                                                \
            for (; k + 4 * LANES <= stop; k += 4 * LANES)                                                              \
                for (int v = 0; v < 4; v++) s[v] += *(const NAME##_vector *)(x + k + v * LANES);                       \
            WIDE part = 0;                                                                                             \
            for (; k < stop; k++) part += x[k];                                                                        \
            s[0] += s[1]; s[2] += s[3]; s[0] += s[2];                                                                  \
            for (int l = 0; l < LANES; l++) part += s[0][l];                                                           \
            total += part;                                                                                             \
        }                                                                                                              \
        *(WIDE *)out = total;                                                                                          \
    }                                                                                                                  \
    static void NAME##_finish(const int64_t *parts, int64_t n, void *out, int64_t count) {                             \
        WIDE total = 0;                                                                                                \
        for (int64_t i = 0; i < n; i++) total += *(const WIDE *)(parts + i);                                           \
        *(T *)out = (T)(count ? total / (WIDE)count : total);                                                          \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void NAME##_rows(const T *x, T *restrict out, int64_t outer,          \
                                                                  int64_t n, int64_t count) {                          \
        for (int64_t o = 0; o < outer; o++) {                                                                          \
            WIDE total = 0;                                                                                            \
            for (int64_t k = 0; k < n; k++) total += x[o * n + k];                                                     \
            out[o] = (T)(count ? total / (WIDE)count : total);                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    FG_WIDER static void NAME(const void *x_, void *out_, int64_t outer, int64_t n, int64_t inner, int64_t stride,     \
                              int64_t count) {                                                                         \
        const T *x = (const T *)x_;                                                                                    \
        T *out = (T *)out_;                                                                                            \
        FG_SHORT_ROWS(NAME, 4 * LANES)                                                                                 \
        for (int64_t o = 0; o < outer; o++, x += n * stride, out += stride) {                                          \
            if (stride == 1) {                                                                                         \
                WIDE total = 0, part;                                                                                  \
                for (int64_t i = 0; i < n; i += FG_CHUNK) {                                                            \
                    NAME##_part(x + i, &part, n - i < FG_CHUNK ? n - i : FG_CHUNK);                                    \
                    total += part;                                                                                     \
                }                                                                                                      \
                out[0] = (T)(count ? total / (WIDE)count : total);                                                     \
                continue;                                                                                              \
            }                                                                                                          \
            for (int64_t j0 = 0; j0 < inner; j0 += FG_COLUMNS) {                                                       \
                int64_t width = inner - j0 < FG_COLUMNS ? inner - j0 : FG_COLUMNS;                                     \
                WIDE sums[FG_COLUMNS];                                                                                 \
                for (int64_t j = 0; j < width; j++) sums[j] = 0;                                                       \
                for (int64_t i = 0; i < n; i++) {                                                                      \
                    const T *row = x + i * stride + j0;                                                                \
                    for (int64_t j = 0; j < width; j++) sums[j] += row[j];                                             \
                }                                                                                                      \
                for (int64_t j = 0; j < width; j++) out[j0 + j] = (T)(count ? sums[j] / (WIDE)count : sums[j]);        \
            }                                                                                                          \
        }                                                                                                              \
    }

FG_SUM(fg_sum_f32, float, 8, double)
FG_SUM(fg_sum_f64, double, 4, double)
FG_SUM(fg_sum_i32, uint32_t, 8, uint32_t)
FG_SUM(fg_sum_i64, uint64_t, 4, uint64_t)

/* TEST(v, m): whether v takes the place of the best m so far, not of NaN; NOTHING: what a NaN gives; n > 0. A test that
 * minds NaN costs five instructions one after the other: sums of zeros tell apart what is finite, which mostly all is. */
#define FG_BEST(NAME, T, TEST, NOTHING)                                                                                \
    FG_WIDER static void NAME##_part(const void *x_, void *out, int64_t n) {                                           \
        const T *x = (const T *)x_;                                                                                    \
        T best = x[0], lane[64], none[64];                                                                             \
        int64_t i, k;                                                                                                  \
        int odd = 0;                                                                                                   \
        for (int l = 0; l < 64; l++) { lane[l] = x[0]; none[l] = 0; }                                                  \
        for (i = 0; i + 64 <= n; i += 64)                                                                              \
            for (int l = 0; l < 64; l++) {                                                                             \
                T v = x[i + l];                                                                                        \
                lane[l] = TEST(v, lane[l]) ? v : lane[l];                                                              \
                none[l] += v * 0;                                                                                      \
            }                                                                                                          \
        for (int l = 0; l < 64; l++) odd |= none[l] != none[l];                                                        \
        if (odd)                                                                                                       \
            for (k = odd = 0; k < i; k++) odd |= x[k] != x[k];                                                         \
        for (int l = 0; l < 64; l++) { T v = lane[l]; best = TEST(v, best) ? v : best; }                               \
        for (; i < n; i++) { T v = x[i]; best = TEST(v, best) ? v : best; odd |= v != v; }                             \
        *(T *)out = odd ? NOTHING : best;                                                                              \
    }                                                                                                                  \
    static void NAME##_finish(const int64_t *parts, int64_t n, void *out, int64_t count) {                             \
        T best = *(const T *)parts;                                                                                    \
        (void)count;                                                                                                   \
        for (int64_t i = 1; i < n; i++) {                                                                              \
            T v = *(const T *)(parts + i);                                                                             \
            best = TEST(v, best) || v != v ? v : best;                                                                 \
        }                                                                                                              \
        *(T *)out = best;                                                                                              \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void NAME##_rows(const T *x, T *restrict out, int64_t outer,          \
                                                                  int64_t n, int64_t count) {                          \
        (void)count;                                                                                                   \
        for (int64_t o = 0; o < outer; o++) {                                                                          \
            T best = x[o * n];                                                                                         \
            int odd = best != best;                                                                                    \
            for (int64_t k = 1; k < n; k++) {                                                                          \
                T v = x[o * n + k];                                                                                    \
                best = TEST(v, best) ? v : best;                                                                       \
                odd |= v != v;                                                                                         \
            }                                                                                                          \
            out[o] = odd ? NOTHING : best;                                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    FG_WIDER static void NAME(const void *x_, void *out_, int64_t outer, int64_t n, int64_t inner, int64_t stride,     \
                              int64_t count) {                                                                         \
        const T *x = (const T *)x_;                                                                                    \
        T *restrict out = (T *)out_;                                                                                   \
        FG_SHORT_ROWS(NAME, 96)                                                                                        \
        for (int64_t o = 0; o < outer; o++, x += n * stride, out += stride) {                                          \
            if (stride == 1) {                                                                                         \
                NAME##_part(x, out, n);                                                                                \
                continue;                                                                                              \
            }                                                                                                          \
            for (int64_t j = 0; j < inner; j++) out[j] = x[j];                                                         \
            for (int64_t i = 1; i < n; i++) {                                                                          \
                const T *row = x + i * stride;                                                                         \
                for (int64_t j = 0; j < inner; j++) {                                                                  \
                    T v = row[j], m = out[j];                                                                          \
                    m = TEST(v, m) ? v : m;                                                                            \
                    out[j] = v != v ? v : m;                                                                           \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#define FG_ABOVE(v, m) ((v) > (m))
#define FG_BELOW(v, m) ((v) < (m))
FG_BEST(fg_max_f32, float, FG_ABOVE, NAN)
FG_BEST(fg_max_f64, double, FG_ABOVE, NAN)
FG_BEST(fg_max_i32, int32_t, FG_ABOVE, 0)
FG_BEST(fg_max_i64, int64_t, FG_ABOVE, 0)
FG_BEST(fg_min_f32, float, FG_BELOW, NAN)
FG_BEST(fg_min_f64, double, FG_BELOW, NAN)
FG_BEST(fg_min_i32, int32_t, FG_BELOW, 0)
FG_BEST(fg_min_i64, int64_t, FG_BELOW, 0)

/* The place of the best element of each row, the first of several; NaN counts as WORST. A block's best first: only where
 * it is better than all before does its place matter. */
#define FG_PLACE(NAME, T, TEST, WORST)                                                                                 \
    static inline __attribute__((always_inline)) void NAME##_rows(const T *x, int64_t *restrict out, int64_t outer,    \
                                                                  int64_t n, int64_t count) {                          \
        (void)count;                                                                                                   \
        for (int64_t o = 0; o < outer; o++) {                                                                          \
            T best = WORST;                                                                                            \
            int64_t place = 0;                                                                                         \
            for (int64_t k = 0; k < n; k++) {                                                                          \
                T v = x[o * n + k];                                                                                    \
                place = TEST(v, best) ? k : place;                                                                     \
                best = TEST(v, best) ? v : best;                                                                       \
            }                                                                                                          \
            out[o] = place;                                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    FG_WIDER static void NAME(const void *x_, int64_t *out, int64_t outer, int64_t n) {                                \
        const T *x = (const T *)x_;                                                                                    \
        const int64_t stride = 1, rows = outer, count = 0;                                                             \
        FG_SHORT_ROWS(NAME, 64)                                                                                        \
        for (int64_t row = 0; row < rows; row++, x += n) {                                                             \
            T best = WORST;                                                                                            \
            int64_t block = 0, i, k;                                                                                   \
            for (i = 0; i < n; i += FG_BLOCK) {                                                                        \
                const int64_t stop = n - i < FG_BLOCK ? n : i + FG_BLOCK;                                              \
                T lane[64], here = WORST;                                                                              \
                for (int l = 0; l < 64; l++) lane[l] = WORST;                                                          \
                for (k = i; k + 64 <= stop; k += 64)                                                                   \
                    for (int l = 0; l < 64; l++) { T v = x[k + l]; lane[l] = TEST(v, lane[l]) ? v : lane[l]; }         \
                for (; k < stop; k++) { T v = x[k]; here = TEST(v, here) ? v : here; }                                 \
                for (int w = 32; w; w /= 2)                                                                            \
                    for (int l = 0; l < w; l++) lane[l] = TEST(lane[l + w], lane[l]) ? lane[l + w] : lane[l];          \
                here = TEST(lane[0], here) ? lane[0] : here;                                                           \
                if (TEST(here, best)) { best = here; block = i; }                                                      \
            }                                                                                                          \
            k = block;                                                                                                 \
            for (int found = 0; k + 64 <= n; k += 64) {                                                                \
                for (int l = 0; l < 64; l++) found |= (x[k + l] == best) | ((best == WORST) & (x[k + l] != x[k + l])); \
                if (found) break;                                                                                      \
            }                                                                                                          \
            for (; k + 1 < n && x[k] != best && !(best == WORST && x[k] != x[k]); k++) {}                              \
            out[row] = k;                                                                                              \
        }                                                                                                              \
    }

FG_PLACE(fg_argmax_f32, float, FG_ABOVE, -INFINITY)
FG_PLACE(fg_argmax_f64, double, FG_ABOVE, -INFINITY)
FG_PLACE(fg_argmax_i32, int32_t, FG_ABOVE, INT32_MIN)
FG_PLACE(fg_argmax_i64, int64_t, FG_ABOVE, INT64_MIN)
FG_PLACE(fg_argmin_f32, float, FG_BELOW, INFINITY)
FG_PLACE(fg_argmin_f64, double, FG_BELOW, INFINITY)
FG_PLACE(fg_argmin_i32, int32_t, FG_BELOW, INT32_MAX)
FG_PLACE(fg_argmin_i64, int64_t, FG_BELOW, INT64_MAX)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
