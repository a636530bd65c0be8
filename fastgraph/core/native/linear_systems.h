/* Linear systems whose matrices fit the second cache: elimination with pivots and substitution by vectors, for any number
 * of right sides. LAPACK does the same by products of blocks, which pays for larger ones alone. */
#ifndef FG_SYSTEMS_H
#define FG_SYSTEMS_H
#include <math.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#include <immintrin.h>

/* Short: the inner loops are the same. */
#pragma GCC push_options
#pragma GCC optimize("Os")
#define FG_LANES FG_FLOAT_512
#include "simd_lanes.h"
#include "linear_systems_of_width.h"
#include "simd_lanes_end.h"
#define FG_LANES FG_DOUBLE_512
#include "simd_lanes.h"
#include "linear_systems_of_width.h"
#include "simd_lanes_end.h"
#define FG_LANES FG_FLOAT_256
#include "simd_lanes.h"
#include "linear_systems_of_width.h"
#include "simd_lanes_end.h"
#define FG_LANES FG_DOUBLE_256
#include "simd_lanes.h"
#include "linear_systems_of_width.h"
#include "simd_lanes_end.h"
#pragma GCC pop_options

/* 512, 256 or 0: the vectors that this CPU has for them. */
static int fg_system_bits(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return 512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") ? 256 : 0;
}

#define FG_SYSTEM_OF(NAME, ...)                                                                                        \
    (is_double ? bits == 512 ? NAME##_512_double((const double *)a, (double *)x, __VA_ARGS__)                          \
                             : NAME##_256_double((const double *)a, (double *)x, __VA_ARGS__)                          \
     : bits == 512 ? NAME##_512((const float *)a, (float *)x, __VA_ARGS__)                                             \
                   : NAME##_256((const float *)a, (float *)x, __VA_ARGS__))

/* See fg_solve_by_vectors of linear_systems_of_width.h; x is float or double, w too. */
static int fg_solve_by_vectors(int bits, int is_double, const void *a, void *x, void *w, int64_t *order, int64_t n,
                               int64_t k, int turned) {
    return FG_SYSTEM_OF(fg_solve_by_vectors, w, order, n, k, turned);
}

static void fg_substitute_by_vectors(int bits, int is_double, const void *a, void *x, int64_t n, int64_t k, int lower,
                                     int turned) {
    FG_SYSTEM_OF(fg_substitute_by_vectors, n, k, lower, turned);
}

#else /* another CPU or compiler: LAPACK */

static int fg_system_bits(void) { return 0; }
static int fg_solve_by_vectors(int bits, int is_double, const void *a, void *x, void *w, int64_t *order, int64_t n,
                               int64_t k, int turned) {
    return 0;
}
static void fg_substitute_by_vectors(int bits, int is_double, const void *a, void *x, int64_t n, int64_t k, int lower,
                                     int turned) {}

#endif
#endif
