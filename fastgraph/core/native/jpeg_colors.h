/* The colours of JPEG behind the inverse transform, by libjpeg's integers: chroma interpolated from samples that stand for
 * `across` by `down` pixels (three parts of the nearest, one of the next), and Y, Cb, Cr as red, green, blue. */
#ifndef FG_JPEG_COLORS_H
#define FG_JPEG_COLORS_H

#include <stdint.h>

#if defined(__x86_64__)
#define FG_V2 __attribute__((target("sse4.1"))) /* products of 32 bits in lanes: what x86-64-v2 has, at least */
#else
#define FG_V2
#endif

static inline FG_V2 uint8_t fg_level(int32_t x) { return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x); }

/* One row of w pixels, less 128. sums: room for ceil(w / across). Even and odd pixels round apart: none is favoured. */
static FG_V2 void fg_chroma_row(const uint8_t* restrict near, const uint8_t* restrict far, int64_t w, int across,
                                 int down, int odd, int32_t* restrict sums, int32_t* restrict row) {
    int64_t n = (w + across - 1) / across;
    int32_t even = down == 2 ? 8 : 1, uneven = down == 2 ? 7 : 2, shift = down == 2 ? 4 : 2;
    for (int64_t i = 0; i < n; i++) sums[i] = down == 2 ? 3 * near[i] + far[i] : near[i];
    if (across == 1) {
        for (int64_t i = 0; i < n; i++) row[i] = ((sums[i] + 1 + odd) >> 2) - 128;
        return;
    }
    row[0] = ((4 * sums[0] + even) >> shift) - 128;
    for (int64_t i = 1; i < n; i++) {
        row[2 * i - 1] = ((3 * sums[i - 1] + sums[i] + uneven) >> shift) - 128;
        row[2 * i] = ((3 * sums[i] + sums[i - 1] + even) >> shift) - 128;
    }
    if (w % 2 == 0) row[w - 1] = ((4 * sums[n - 1] + uneven) >> shift) - 128;
}

/* pixels [h, w, 3]: Y and what is written over. cb, cr [ceil(h / down), ceil(w / across)]. work: 3 * w numbers. */
static FG_V2 void fg_jpeg_colors(uint8_t* pixels, const uint8_t* cb, const uint8_t* cr, int64_t h, int64_t w, int across,
                           int down, int32_t* work) {
    int64_t n = (w + across - 1) / across, rows = (h + down - 1) / down;
    int32_t *blue = work + w, *red = work + 2 * w;
    for (int64_t y = 0; y < h; y++) {
        int64_t near = y / down, odd = y % down, far = odd ? near + 1 : near - 1;
        far = far < 0 || far >= rows ? near : far;
        fg_chroma_row(cb + near * n, cb + far * n, w, across, down, (int)odd, work, blue);
        fg_chroma_row(cr + near * n, cr + far * n, w, across, down, (int)odd, work, red);
        for (int64_t x = 0; x < w; x++) {
            uint8_t* p = pixels + 3 * (y * w + x);
            int32_t luma = p[0]; /* the factors: 1.402, 0.34414, 0.71414, 1.772 of 2**16 */
            p[0] = fg_level(luma + ((91881 * red[x] + 32768) >> 16));
            p[1] = fg_level(luma + ((32768 - 22554 * blue[x] - 46802 * red[x]) >> 16));
            p[2] = fg_level(luma + ((116130 * blue[x] + 32768) >> 16));
        }
    }
}

#endif
