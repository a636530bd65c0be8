/* The colours of JPEG behind the inverse transform, by libjpeg's integers: chroma interpolated from samples that stand for
 * `across` by `down` pixels (three parts of the nearest, one of the next), and Y, Cb, Cr as red, green, blue. */
#ifndef FG_JPEG_COLORS_H
#define FG_JPEG_COLORS_H

#include <stdint.h>

#if defined(__x86_64__)
#include <smmintrin.h>
#define FG_V2 __attribute__((target("sse4.1"))) /* what x86-64-v2 has, at least */
#else
#define FG_V2
#endif

static inline FG_V2 uint8_t fg_level(int16_t x) { return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x); }

/* One row of w pixels, less 128. sums: room for ceil(w / across). Even and odd pixels round apart: none is favoured. */
static FG_V2 void fg_chroma_row(const uint8_t* restrict near, const uint8_t* restrict far, int64_t w, int across,
                                 int down, int odd, int16_t* restrict sums, int16_t* restrict row) {
    int64_t n = (w + across - 1) / across;
    int16_t even = down == 2 ? 8 : 1, uneven = down == 2 ? 7 : 2, shift = down == 2 ? 4 : 2;
    if (down == 2)
        for (int64_t i = 0; i < n; i++) sums[i] = (int16_t)(3 * near[i] + far[i]);
    else
        for (int64_t i = 0; i < n; i++) sums[i] = near[i];
    if (across == 1) {
        for (int64_t i = 0; i < n; i++) row[i] = (int16_t)(((sums[i] + 1 + odd) >> 2) - 128);
        return;
    }
    row[0] = (int16_t)(((4 * sums[0] + even) >> shift) - 128);
    for (int64_t i = 1; i < n; i++) {
        row[2 * i - 1] = (int16_t)(((int16_t)(3 * sums[i - 1] + sums[i] + uneven) >> shift) - 128);
        row[2 * i] = (int16_t)(((int16_t)(3 * sums[i] + sums[i - 1] + even) >> shift) - 128);
    }
    if (w % 2 == 0) row[w - 1] = (int16_t)(((4 * sums[n - 1] + uneven) >> shift) - 128);
}

/* (factor * x + 2**15) / 2**16, rounded down, by halves of products of 16 bits. */
static inline FG_V2 int16_t fg_part(int16_t x, int16_t factor) {
    return (int16_t)(((int16_t)(((int32_t)(int16_t)(2 * x) * factor) >> 16) + 1) >> 1);
}

/* Red, green and blue of a row of w pixels, each apart; the factors: 1.402, 0.34414, 0.71414, 1.772 of 2**16, less
 * whole numbers where they are large. */
static FG_V2 void fg_colors_row(const uint8_t* restrict lumas, const int16_t* restrict blue, const int16_t* restrict red,
                                int64_t w, uint8_t* restrict r, uint8_t* restrict g, uint8_t* restrict b) {
    for (int64_t x = 0; x < w; x++) {
        int16_t luma = lumas[x], cb = blue[x], cr = red[x];
        r[x] = fg_level((int16_t)(luma + cr + fg_part(cr, 26345)));
        g[x] = fg_level((int16_t)(luma - cr + (int16_t)((32768 - 22554 * cb + 18734 * cr) >> 16)));
        b[x] = fg_level((int16_t)(luma + 2 * cb + fg_part(cb, -14942)));
    }
}

/* pixels [h, w, 3]: Y and what is written over. cb, cr [ceil(h / down), ceil(w / across)]. work: 5 * w numbers. */
static FG_V2 void fg_jpeg_colors(uint8_t* pixels, const uint8_t* cb, const uint8_t* cr, int64_t h, int64_t w, int across,
                           int down, int16_t* work) {
    int64_t n = (w + across - 1) / across, rows = (h + down - 1) / down;
    int16_t *blue = work + w, *red = work + 2 * w;
    uint8_t *luma = (uint8_t*)(work + 3 * w), *r = luma + w, *g = r + w, *b = g + w;
#if defined(__x86_64__)
    __m128i of[3], to[3][3]; /* where sixteen pixels' luma is in each of their three parts, and each colour in those */
    for (int part = 0; part < 3; part++) {
        int8_t from[16], into[3][16];
        for (int i = 0; i < 16; i++) {
            int at = 3 * i - 16 * part, k = 16 * part + i;
            from[i] = (int8_t)(at >= 0 && at < 16 ? at : -1);
            for (int color = 0; color < 3; color++) into[color][i] = (int8_t)(k % 3 == color ? k / 3 : -1);
        }
        of[part] = _mm_loadu_si128((const __m128i*)from);
        for (int color = 0; color < 3; color++) to[part][color] = _mm_loadu_si128((const __m128i*)into[color]);
    }
#endif
    for (int64_t y = 0; y < h; y++) {
        int64_t near = y / down, odd = y % down, far = odd ? near + 1 : near - 1, x = 0;
        uint8_t* line = pixels + 3 * y * w;
        far = far < 0 || far >= rows ? near : far;
        fg_chroma_row(cb + near * n, cb + far * n, w, across, down, (int)odd, work, blue);
        fg_chroma_row(cr + near * n, cr + far * n, w, across, down, (int)odd, work, red);
#if defined(__x86_64__)
        for (; x + 16 <= w; x += 16) {
            const __m128i* p = (const __m128i*)(line + 3 * x);
            __m128i found = _mm_shuffle_epi8(_mm_loadu_si128(p), of[0]);
            for (int part = 1; part < 3; part++)
                found = _mm_or_si128(found, _mm_shuffle_epi8(_mm_loadu_si128(p + part), of[part]));
            _mm_storeu_si128((__m128i*)(luma + x), found);
        }
#endif
        for (; x < w; x++) luma[x] = line[3 * x];
        fg_colors_row(luma, blue, red, w, r, g, b);
        x = 0;
#if defined(__x86_64__)
        for (; x + 16 <= w; x += 16) {
            __m128i some[3] = {_mm_loadu_si128((const __m128i*)(r + x)), _mm_loadu_si128((const __m128i*)(g + x)),
                               _mm_loadu_si128((const __m128i*)(b + x))};
            for (int part = 0; part < 3; part++) {
                __m128i found = _mm_shuffle_epi8(some[0], to[part][0]);
                for (int color = 1; color < 3; color++)
                    found = _mm_or_si128(found, _mm_shuffle_epi8(some[color], to[part][color]));
                _mm_storeu_si128((__m128i*)(line + 3 * x) + part, found);
            }
        }
#endif
        for (; x < w; x++) line[3 * x] = r[x], line[3 * x + 1] = g[x], line[3 * x + 2] = b[x];
    }
}

#endif
