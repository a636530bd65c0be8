/* Elements of eager tensors chosen, turned and filled in: loops over items of 1, 2, 4, 8 or 16 bytes.
 *
 * Rule: items are moved as they are, whatever they mean. */
#ifndef FG_MOVES_H
#define FG_MOVES_H
#include <stdint.h>
#include <string.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif
#include "matmul_blocks.h"

#ifndef FG_WIDER
#define FG_WIDER
#endif

typedef struct { uint64_t low, high; } fg_pair;

/* out = c ? x : y; a step of 0: the one item for all. Both are read: a branch for each element would be guessed wrong. */
#define FG_CHOOSE(NAME, T)                                                                                             \
    FG_WIDER static void NAME(const void *c_, const void *x_, int64_t x_step, const void *y_,                          \
                              int64_t y_step, void *out_, int64_t n) {                                                 \
        const uint8_t *restrict c = (const uint8_t *)c_;                                                               \
        const T *restrict x = (const T *)x_, *restrict y = (const T *)y_;                                              \
        T *restrict out = (T *)out_;                                                                                   \
        if (x_step && y_step)                                                                                          \
            for (int64_t k = 0; k < n; k++) { T a = x[k], b = y[k]; out[k] = c[k] ? a : b; }                           \
        else if (x_step) {                                                                                             \
            T b = *y;                                                                                                  \
            for (int64_t k = 0; k < n; k++) { T a = x[k]; out[k] = c[k] ? a : b; }                                     \
        } else if (y_step) {                                                                                           \
            T a = *x;                                                                                                  \
            for (int64_t k = 0; k < n; k++) { T b = y[k]; out[k] = c[k] ? a : b; }                                     \
        } else {                                                                                                       \
            T a = *x, b = *y;                                                                                          \
            for (int64_t k = 0; k < n; k++) out[k] = c[k] ? a : b;                                                     \
        }                                                                                                              \
    }
FG_CHOOSE(fg_choose_1, uint8_t)
FG_CHOOSE(fg_choose_2, uint16_t)
FG_CHOOSE(fg_choose_4, uint32_t)
FG_CHOOSE(fg_choose_8, uint64_t)

/* out[k] = *item */
FG_WIDER static void fg_fill(void *out, const void *item, int64_t bytes, int64_t n) {
    if (bytes == 1) memset(out, *(const uint8_t *)item, (size_t)n);
    else if (bytes == 2) { uint16_t v = *(const uint16_t *)item; for (int64_t k = 0; k < n; k++) ((uint16_t *)out)[k] = v; }
    else if (bytes == 4) { uint32_t v = *(const uint32_t *)item; for (int64_t k = 0; k < n; k++) ((uint32_t *)out)[k] = v; }
    else if (bytes == 8) { uint64_t v = *(const uint64_t *)item; for (int64_t k = 0; k < n; k++) ((uint64_t *)out)[k] = v; }
    else { fg_pair v = *(const fg_pair *)item; for (int64_t k = 0; k < n; k++) ((fg_pair *)out)[k] = v; }
}

/* One tile: out[j * out_row + i] = x[i * x_row + j]. */
#define FG_TILE(NAME, T)                                                                                               \
    static void NAME(const void *x_, int64_t x_row, void *out_, int64_t out_row, int64_t rows, int64_t columns) {      \
        const T *x = (const T *)x_;                                                                                    \
        T *out = (T *)out_;                                                                                            \
        for (int64_t j = 0; j < columns; j++)                                                                          \
            for (int64_t i = 0; i < rows; i++) out[j * out_row + i] = x[i * x_row + j];                                \
    }
FG_TILE(fg_tile_1, uint8_t)
FG_TILE(fg_tile_2, uint16_t)
FG_TILE(fg_tile_4_plain, uint32_t)
FG_TILE(fg_tile_8, uint64_t)
FG_TILE(fg_tile_16, fg_pair)

#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
static __attribute__((target("avx2"))) void fg_tile_4_wide(const void *x_, int64_t x_row, void *out_, int64_t out_row,
                                                           int64_t rows, int64_t columns) {
    const float *x = (const float *)x_;
    float *out = (float *)out_;
    int64_t i, j;
    for (j = 0; j + 8 <= columns; j += 8)
        for (i = 0; i + 8 <= rows; i += 8) fg_turn(out + j * out_row + i, out_row, x + i * x_row + j, x_row);
    if (rows % 8) fg_tile_4_plain(x + rows / 8 * 8 * x_row, x_row, out + rows / 8 * 8, out_row, rows % 8, columns);
    if (columns % 8)
        fg_tile_4_plain(x + columns / 8 * 8, x_row, out + columns / 8 * 8 * out_row, out_row, rows / 8 * 8, columns % 8);
}
#else
#define fg_tile_4_wide fg_tile_4_plain
#endif

static void fg_tile(int64_t bytes, const void *x, int64_t x_row, void *out, int64_t out_row, int64_t rows,
                    int64_t columns) {
    static int wide = -1;
    if (wide < 0) wide = fg_block_bits() > 0;
    if (bytes == 4 && wide) fg_tile_4_wide(x, x_row, out, out_row, rows, columns);
    else if (bytes == 4) fg_tile_4_plain(x, x_row, out, out_row, rows, columns);
    else if (bytes == 8) fg_tile_8(x, x_row, out, out_row, rows, columns);
    else if (bytes == 1) fg_tile_1(x, x_row, out, out_row, rows, columns);
    else if (bytes == 2) fg_tile_2(x, x_row, out, out_row, rows, columns);
    else fg_tile_16(x, x_row, out, out_row, rows, columns);
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
