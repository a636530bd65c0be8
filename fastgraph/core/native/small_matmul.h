/* Small matrix products for eager mode: c[m, n] = a[m, k] @ b[k, n], a and b of any strides (transposed or not).
 *
 * Rule: the sum over k goes in order, so the bits depend on shapes alone. Integers wrap. A strip of b, two vectors wide,
 * is packed; four rows of c are kept in registers. Large products of floats are BLAS's business. */
#ifndef FG_PRODUCTS_H
#define FG_PRODUCTS_H
#include <stdint.h>

#if defined(__has_attribute)
#if __has_attribute(target_clones) && defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && \
    !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define FG_WIDER __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef FG_WIDER
#define FG_WIDER
#endif

#define FG_DEPTH 128 /* rows of b packed at a time */

#define FG_PRODUCT(NAME, T, LANES)                                                                                     \
    typedef T NAME##_vector __attribute__((vector_size(sizeof(T) * LANES), aligned(sizeof(T))));                       \
    FG_WIDER static void NAME(const void *a_, const void *b_, void *c_, int64_t m, int64_t k, int64_t n,               \
                              int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col) {                            \
        const T *a = (const T *)a_, *b = (const T *)b_;                                                                \
        T *c = (T *)c_;                                                                                                \
        T strip[FG_DEPTH * 2 * LANES];                                                                                 \
        if (k == 0)                                                                                                    \
            for (int64_t i = 0; i < m * n; i++) c[i] = 0;                                                              \
        for (int64_t j0 = 0; j0 < n; j0 += 2 * LANES) {                                                                \
            int64_t width = n - j0 < 2 * LANES ? n - j0 : 2 * LANES;                                                   \
            for (int64_t p0 = 0; p0 < k; p0 += FG_DEPTH) {                                                             \
                int64_t depth = k - p0 < FG_DEPTH ? k - p0 : FG_DEPTH;                                                 \
                for (int64_t p = 0; p < depth; p++) {                                                                  \
                    const T *row = b + (p0 + p) * b_row + j0 * b_col;                                                  \
                    T *to = strip + p * 2 * LANES;                                                                     \
                    for (int64_t j = 0; j < width; j++) to[j] = row[j * b_col];                                        \
                    for (int64_t j = width; j < 2 * LANES; j++) to[j] = 0;                                             \
                }                                                                                                      \
                for (int64_t i0 = 0; i0 < m; i0 += 4) {                                                                \
                    int64_t rows = m - i0 < 4 ? m - i0 : 4;                                                            \
                    const T *r0 = a + i0 * a_row + p0 * a_col;                                                         \
                    const T *r1 = rows > 1 ? r0 + a_row : r0;                                                          \
                    const T *r2 = rows > 2 ? r0 + 2 * a_row : r0;                                                      \
                    const T *r3 = rows > 3 ? r0 + 3 * a_row : r0;                                                      \
                    NAME##_vector s[8] = {{0}};                                                                        \
                    for (int64_t p = 0; p < depth; p++) {                                                              \
                        NAME##_vector x = *(NAME##_vector *)(strip + p * 2 * LANES);                                   \
                        NAME##_vector y = *(NAME##_vector *)(strip + p * 2 * LANES + LANES);                           \
                        T q0 = r0[p * a_col], q1 = r1[p * a_col], q2 = r2[p * a_col], q3 = r3[p * a_col];              \
                        s[0] += q0 * x; s[1] += q0 * y;                                                                \
                        s[2] += q1 * x; s[3] += q1 * y;                                                                \
                        s[4] += q2 * x; s[5] += q2 * y;                                                                \
                        s[6] += q3 * x; s[7] += q3 * y;                                                                \
                    }                                                                                                  \
                    for (int64_t i = 0; i < rows; i++) {                                                               \
                        const T *sums = (const T *)(s + 2 * i);                                                        \
                        T *to = c + (i0 + i) * n + j0;                                                                 \
                        if (p0 == 0)                                                                                   \
                            for (int64_t j = 0; j < width; j++) to[j] = sums[j];                                       \
                        else                                                                                           \
                            for (int64_t j = 0; j < width; j++) to[j] += sums[j];                                      \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

FG_PRODUCT(fg_product_f32, float, 8)
FG_PRODUCT(fg_product_f64, double, 4)
FG_PRODUCT(fg_product_i32, uint32_t, 8)
FG_PRODUCT(fg_product_i64, uint64_t, 4)
#endif
