/* Reductions of eager tensors over neighbouring axes: x[outer, n, inner] -> out[outer, inner].
 *
 * Rule: the order of additions depends on the extents alone. float32 is summed in lanes over short blocks and the blocks
 * in double, so that the error does not grow with the length; NaN makes max and min NaN; integers wrap. */
#ifndef FG_REDUCTIONS_H
#define FG_REDUCTIONS_H
#include <stdint.h>

#ifndef FG_WIDER
#define FG_WIDER
#endif

#define FG_BLOCK 512   /* elements summed in lanes before they join the total */
#define FG_COLUMNS 256 /* columns summed side by side */

#define FG_SUM(NAME, T, LANES, WIDE)                                                                                   \
    typedef T NAME##_vector __attribute__((vector_size(sizeof(T) * LANES), aligned(sizeof(T))));                       \
    FG_WIDER static void NAME(const void *x_, void *out_, int64_t outer, int64_t n, int64_t inner, int64_t count) {    \
        const T *x = (const T *)x_;                                                                                    \
        T *out = (T *)out_;                                                                                            \
        for (int64_t o = 0; o < outer; o++, x += n * inner, out += inner) {                                            \
            if (inner == 1) {                                                                                          \
                WIDE total = 0;                                                                                        \
                for (int64_t i = 0; i < n; i += FG_BLOCK) {                                                            \
                    int64_t stop = n - i < FG_BLOCK ? n : i + FG_BLOCK, k = i;                                         \
                    NAME##_vector s[4] = {{0}};                                                                        \
                    for (; k + 4 * LANES <= stop; k += 4 * LANES)                                                      \
                        for (int v = 0; v < 4; v++) s[v] += *(const NAME##_vector *)(x + k + v * LANES);               \
                    WIDE part = 0;                                                                                     \
                    for (; k < stop; k++) part += x[k];                                                                \
                    s[0] += s[1]; s[2] += s[3]; s[0] += s[2];                                                          \
                    for (int l = 0; l < LANES; l++) part += s[0][l];                                                   \
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
                    const T *row = x + i * inner + j0;                                                                 \
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

/* TEST(v, m): whether v takes the place of the best m so far; n > 0. */
#define FG_BEST(NAME, T, TEST)                                                                                         \
    FG_WIDER static void NAME(const void *x_, void *out_, int64_t outer, int64_t n, int64_t inner, int64_t count) {    \
        const T *x = (const T *)x_;                                                                                    \
        T *out = (T *)out_;                                                                                            \
        (void)count;                                                                                                   \
        for (int64_t o = 0; o < outer; o++, x += n * inner, out += inner) {                                            \
            if (inner == 1) {                                                                                          \
                T best = x[0];                                                                                         \
                int64_t i = 0;                                                                                         \
                if (n >= 32) {                                                                                         \
                    T lane[16];                                                                                        \
                    for (int l = 0; l < 16; l++) lane[l] = x[l];                                                       \
                    for (i = 16; i + 16 <= n; i += 16)                                                                 \
                        for (int l = 0; l < 16; l++) { T v = x[i + l]; lane[l] = TEST(v, lane[l]) ? v : lane[l]; }     \
                    for (int l = 0; l < 16; l++) { T v = lane[l]; best = TEST(v, best) ? v : best; }                   \
                }                                                                                                      \
                for (; i < n; i++) { T v = x[i]; best = TEST(v, best) ? v : best; }                                    \
                out[0] = best;                                                                                         \
                continue;                                                                                              \
            }                                                                                                          \
            for (int64_t j = 0; j < inner; j++) out[j] = x[j];                                                         \
            for (int64_t i = 1; i < n; i++) {                                                                          \
                const T *row = x + i * inner;                                                                          \
                for (int64_t j = 0; j < inner; j++) { T v = row[j]; out[j] = TEST(v, out[j]) ? v : out[j]; }           \
            }                                                                                                          \
        }                                                                                                              \
    }

#define FG_ABOVE(v, m) ((v) > (m))
#define FG_BELOW(v, m) ((v) < (m))
#define FG_ABOVE_OR_NAN(v, m) ((v) > (m) || (v) != (v))
#define FG_BELOW_OR_NAN(v, m) ((v) < (m) || (v) != (v))
FG_BEST(fg_max_f32, float, FG_ABOVE_OR_NAN)
FG_BEST(fg_max_f64, double, FG_ABOVE_OR_NAN)
FG_BEST(fg_max_i32, int32_t, FG_ABOVE)
FG_BEST(fg_max_i64, int64_t, FG_ABOVE)
FG_BEST(fg_min_f32, float, FG_BELOW_OR_NAN)
FG_BEST(fg_min_f64, double, FG_BELOW_OR_NAN)
FG_BEST(fg_min_i32, int32_t, FG_BELOW)
FG_BEST(fg_min_i64, int64_t, FG_BELOW)
#endif
