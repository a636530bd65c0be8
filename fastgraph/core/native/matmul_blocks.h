/* Products of float32, float64, int32 and pairs of bfloat16 or int16 whose sums stay in vector registers: c[m, n] = a[m, k] @ b[k, n], a or b perhaps transposed.
 *
 * Rule: each sum goes over k in order, so the bits depend neither on how a product is cut nor on its neighbours. A group
 * of b's columns stays in the second cache while all of a passes by, a few rows at a time; either operand is copied only
 * where it lies badly. BLAS always copies both, which a product of moderate size does not repay. */
#ifndef FG_BLOCKS_H
#define FG_BLOCKS_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#include <immintrin.h>
#include <pthread.h>

#define FG_NEAR 524288 /* bytes of b that pass by all rows before the next ones come: they stay in the second cache */
#define FG_DEEP 4096 /* bytes of a row of a that are taken at a time: of more, few would stay in the nearest cache */
#define FG_FAR 524288 /* bytes over which the rows of b lie: from here on they are copied */
#define FG_PAGE 4096 /* bytes: lines that lie so far apart have the same place in the nearest cache, of eight lines */
#define FG_PARTED 128 /* columns of b that repay to lay such rows of a apart */
#define FG_LINE_OF(T) (64 / (int64_t)sizeof(T))
#define FG_DEPTH_OF(T) (FG_DEEP / (int64_t)sizeof(T))

/* Memory for what does not fit the stack, one for each thread that multiplies; freed when the thread ends. */
static pthread_key_t fg_room_key;
static pthread_once_t fg_room_once = PTHREAD_ONCE_INIT;
static int fg_has_room;

static void fg_make_room(void) { fg_has_room = pthread_key_create(&fg_room_key, free) == 0; }

/* A block of a, then b's panels: 64-byte aligned; NULL without memory. */
static void *fg_room(void) {
    pthread_once(&fg_room_once, fg_make_room);
    if (!fg_has_room) return NULL;
    void *room = pthread_getspecific(fg_room_key);
    if (room == NULL) {
        if (posix_memalign(&room, 64, FG_NEAR + 32 * FG_DEEP + 16 * (FG_DEEP + 64 * sizeof(double))) != 0) return NULL;
        if (pthread_setspecific(fg_room_key, room) != 0) {
            free(room);
            return NULL;
        }
    }
    return room;
}

/* to[j, i] = from[i, j], eight of both. */
static inline __attribute__((target("avx2"))) void fg_turn(float *to, int64_t to_row, const float *from,
                                                            int64_t from_row) {
    __m256 r[8], s[8];
    for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(from + i * from_row);
    for (int i = 0; i < 8; i += 2) {
        s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(to + i * to_row, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * to_row, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

/* The same of four. */
static inline __attribute__((target("avx2"))) void fg_turn_double(double *to, int64_t to_row, const double *from,
                                                                   int64_t from_row) {
    __m256d r[4], s[4];
    for (int i = 0; i < 4; i++) r[i] = _mm256_loadu_pd(from + i * from_row);
    for (int i = 0; i < 4; i += 2) {
        s[i] = _mm256_unpacklo_pd(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_pd(r[i], r[i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        _mm256_storeu_pd(to + i * to_row, _mm256_permute2f128_pd(s[i], s[i + 2], 0x20));
        _mm256_storeu_pd(to + (i + 2) * to_row, _mm256_permute2f128_pd(s[i], s[i + 2], 0x31));
    }
}

#define FG_LANES FG_FLOAT_512
#include "simd_lanes.h"
#include "matmul_blocks_of_width.h"
#include "simd_lanes_end.h"
#define FG_LANES FG_FLOAT_256
#include "simd_lanes.h"
#include "matmul_blocks_of_width.h"
#include "simd_lanes_end.h"
#define FG_LANES FG_DOUBLE_512
#include "simd_lanes.h"
#include "matmul_blocks_of_width.h"
#include "simd_lanes_end.h"
#define FG_LANES FG_DOUBLE_256
#include "simd_lanes.h"
#include "matmul_blocks_of_width.h"
#include "simd_lanes_end.h"
#define FG_LANES FG_INT_512
#include "simd_lanes.h"
#include "matmul_blocks_of_width.h"
#include "simd_lanes_end.h"
#define FG_LANES FG_INT_256
#include "simd_lanes.h"
#include "matmul_blocks_of_width.h"
#include "simd_lanes_end.h"
#define FG_LANES FG_BRAIN_PAIRS
#include "simd_lanes.h"
#include "matmul_blocks_of_width.h"
#include "simd_lanes_end.h"
#define FG_LANES FG_SHORT_PAIRS
#include "simd_lanes.h"
#include "matmul_blocks_of_width.h"
#include "simd_lanes_end.h"

/* 512, 256 or 0: the vectors of this CPU that there are blocks for. */
static int fg_block_bits(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return 512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") ? 256 : 0;
}

/* Of which pairs there are products on this CPU: 1 of bfloat16, 2 of int16, 3 of both. */
static int fg_pair_products(void) {
    if (fg_block_bits() != 512) return 0;
    return (__builtin_cpu_supports("avx512bf16") ? 1 : 0) | (__builtin_cpu_supports("avx512vnni") ? 2 : 0);
}

static float fg_of_bits(uint32_t x) {
    float found;
    memcpy(&found, &x, sizeof found);
    return found;
}

/* The sum of a pair's products and what came before: bits of a float32, and an int32. */
static uint32_t fg_brain_sum(uint32_t sum, uint32_t x, uint32_t y) {
    float total = fg_of_bits(sum) + fg_of_bits(x << 16) * fg_of_bits(y << 16);
    total += fg_of_bits(x & 0xffff0000u) * fg_of_bits(y & 0xffff0000u);
    memcpy(&sum, &total, sizeof sum);
    return sum;
}

static uint32_t fg_short_sum(uint32_t sum, uint32_t x, uint32_t y) {
    return sum + (uint32_t)((int16_t)x * (int16_t)y) + (uint32_t)((int16_t)(x >> 16) * (int16_t)(y >> 16));
}

/* Tell whether a product is one of a small matrix by a vector. */
static int fg_by_rows(int64_t m, int64_t n, int64_t k) { return (m == 1 || n == 1) && m * n <= 32 && k <= 32; }

/* Tell if blocks are as fast as BLAS, or faster: measured on one thread against OpenBLAS 0.3.30 with vectors of 512
 * and of 256 bits (docs/adr/0014-products.md). `a_col`, `b_col`: 1, or how far apart the columns of a turned operand lie. */
static int fg_blocks_pay(int bits, int is_double, int64_t m, int64_t n, int64_t k, int64_t a_col, int64_t b_col) {
    /* BLAS has kernels of its own for these, which copy nothing */
    int small = bits == 512 && !is_double && (double)m * n * k <= 1e6;
    if (bits == 0 || k < 1) return 0;
    if (fg_by_rows(m, n, k)) return 1; /* kernels compute it in themselves: in the same order */
    if (m < 2 || n < 2) return 0; /* a matrix by a vector is bound by memory, and most lanes would be empty */
    if (small && a_col != 1 && b_col != 1) return 0;   /* to BLAS that is one product of operands not turned */
    if (small && n < (a_col != 1 ? 32 : 12)) return 0; /* BLAS takes the rows of c as lanes */
    if (small && m < (b_col != 1 ? 6 : 5)) return 0;   /* few sums wait for themselves */
    if (is_double && n < 6 && m * k > 65536) return 0; /* half of the lanes are empty */
    return a_col == 1 || a_col * k <= 1 << 22; /* else copying a block of a, again for each group of columns, costs most */
}

/* c = a @ b, by blocks; c_row and so on: how far apart rows and columns lie. One of those of a is 1, and of b. */
#define FG_PLAIN_SUM(sum, x, y) ((sum) + (x) * (y))
#define FG_BLOCK_PRODUCT(NAME, T, SUM, OF_512, BY_512, OF_256, BY_256)                                                                      \
    static void NAME(int bits, const T *a, const T *b, T *c, int64_t m, int64_t n, int64_t k, int64_t a_row,           \
                     int64_t a_col, int64_t b_row, int64_t b_col, int64_t c_row) {                                     \
        if (m == 0) return;                                                                                            \
        void *room = fg_room();                                                                                        \
        if (room == NULL || bits == 0) /* no memory, or integers without vectors: slow, but right */                                                             \
            for (int64_t i = 0; i < m; i++)                                                                            \
                for (int64_t j = 0; j < n; j++) {                                                                      \
                    T sum = 0;                                                                                         \
                    for (int64_t p = 0; p < k; p++) sum = SUM(sum, a[i * a_row + p * a_col], b[p * b_row + j * b_col]); \
                    c[i * c_row + j] = sum;                                                                            \
                }                                                                                                      \
        else if (bits == 512)                                                                                          \
            OF_512(BY_512, room, a, b, c, m, n, k, a_row, a_col, b_row, b_col, c_row);                                         \
        else                                                                                                           \
            OF_256(BY_256, room, a, b, c, m, n, k, a_row, a_col, b_row, b_col, c_row);                                         \
    }
FG_BLOCK_PRODUCT(fg_block_product, float, FG_PLAIN_SUM, fg_product_512, rows_512, fg_product_256, rows_256)
FG_BLOCK_PRODUCT(fg_block_product_double, double, FG_PLAIN_SUM, fg_product_512_double, rows_512_double,
                 fg_product_256_double, rows_256_double)
FG_BLOCK_PRODUCT(fg_block_product_int, uint32_t, FG_PLAIN_SUM, fg_product_512_int, rows_512_int, fg_product_256_int,
                 rows_256_int)
FG_BLOCK_PRODUCT(fg_brain_pairs_product, uint32_t, fg_brain_sum, fg_product_512_int, rows_brain_pairs,
                 fg_product_512_int, rows_brain_pairs)
FG_BLOCK_PRODUCT(fg_short_pairs_product, uint32_t, fg_short_sum, fg_product_512_int, rows_short_pairs,
                 fg_product_512_int, rows_short_pairs)

#else /* another CPU or compiler: BLAS */

static int fg_block_bits(void) { return 0; }

static int fg_pair_products(void) { return 0; }

static int fg_blocks_pay(int bits, int is_double, int64_t m, int64_t n, int64_t k, int64_t a_col, int64_t b_col) {
    return 0;
}

static void fg_block_product(int bits, const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k,
                             int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col, int64_t c_row) {}

static void fg_block_product_double(int bits, const double *a, const double *b, double *c, int64_t m, int64_t n,
                                    int64_t k, int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col,
                                    int64_t c_row) {}

static void fg_block_product_int(int bits, const uint32_t *a, const uint32_t *b, uint32_t *c, int64_t m, int64_t n,
                                 int64_t k, int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col, int64_t c_row) {}
#define fg_brain_pairs_product fg_block_product_int
#define fg_short_pairs_product fg_block_product_int

#endif
#endif
