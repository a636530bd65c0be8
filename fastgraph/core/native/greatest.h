/* The greatest elements of rows, falling, the first of equals first; NaN counts as greater than any number.
 *
 * Rule: what is found so far is kept in order, and most elements cost one comparison with its last, many at a time. */
#ifndef FG_GREATEST_H
#define FG_GREATEST_H
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

#ifndef FG_WIDER
#define FG_WIDER
#endif

/* place[rows, k] of x[rows, n], 0 < k <= n; `room`: k elements. */
#define FG_GREATEST(NAME, T)                                                                                           \
    FG_WIDER static void NAME(const void *x_, int32_t *place, void *room, int64_t rows, int64_t n, int64_t k) {        \
        T *kept = (T *)room;                                                                                           \
        for (int64_t row = 0; row < rows; row++, place += k) {                                                         \
            const T *x = (const T *)x_ + row * n;                                                                      \
            int64_t count = 0;                                                                                         \
            for (int64_t i = 0; i < n;) {                                                                              \
                if (count == k && n - i >= 64) {                                                                       \
                    const T last = kept[k - 1];                                                                        \
                    int some = 0;                                                                                      \
                    for (int l = 0; l < 64; l++) some |= !(x[i + l] <= last);                                          \
                    if (!some) { i += 64; continue; }                                                                  \
                }                                                                                                      \
                const int64_t stop = n - i < 64 ? n : i + 64;                                                          \
                for (; i < stop; i++) {                                                                                \
                    const T v = x[i];                                                                                  \
                    const int odd = v != v;                                                                            \
                    int64_t at = count;                                                                                \
                    if (count == k) {                                                                                  \
                        if (v <= kept[k - 1] || kept[k - 1] != kept[k - 1]) continue;                                  \
                        at = k - 1;                                                                                    \
                    } else {                                                                                           \
                        count++;                                                                                       \
                    }                                                                                                  \
                    for (; at && (odd ? kept[at - 1] == kept[at - 1] : v > kept[at - 1]); at--) {                      \
                        kept[at] = kept[at - 1];                                                                       \
                        place[at] = place[at - 1];                                                                     \
                    }                                                                                                  \
                    kept[at] = v;                                                                                      \
                    place[at] = (int32_t)i;                                                                            \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

FG_GREATEST(fg_greatest_f32, float)
FG_GREATEST(fg_greatest_f64, double)
FG_GREATEST(fg_greatest_i32, int32_t)
FG_GREATEST(fg_greatest_i64, int64_t)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
