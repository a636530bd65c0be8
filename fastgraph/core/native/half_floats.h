/* float16 and bfloat16 made float32 and back, rounded to the nearest, of two the even one.

   Rule: loops as the table of casts takes them, over neighbouring elements; a NaN stays one. By instructions where the
   CPU has them, else by integers. */

#ifndef FASTGRAPH_HALF_FLOATS_H
#define FASTGRAPH_HALF_FLOATS_H

#include <stdint.h>
#include <string.h>

static inline float fg_float_of(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
static inline uint32_t fg_bits_of(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }

static inline float fg_wide16(uint16_t h) {
    const uint32_t size = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    const uint32_t finite = fg_bits_of(fg_float_of(size) * 0x1p112f); /* the exponent's other bias; denormals too */
    return fg_float_of((size >= 0x0f800000u ? size | 0x7f800000u : finite) | sign);
}

static inline uint16_t fg_narrow16(float x) {
    const uint32_t bits = fg_bits_of(x), size = bits & 0x7fffffff;
    const uint32_t usual = (size - 0x38000000u + 0xfff + (size >> 13 & 1)) >> 13;
    const uint32_t tiny = fg_bits_of(fg_float_of(size) + 0.5f) - 0x3f000000u; /* the sum rounds */
    const uint32_t large = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
    return (uint16_t)((size < 0x38800000u ? tiny : size < 0x47800000u ? usual : large) | (bits >> 16 & 0x8000));
}

static inline uint16_t fg_narrow_bfloat(float x) {
    const uint32_t bits = fg_bits_of(x);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000u ? bits >> 16 | 0x40 : rounded);
}

#ifndef FG_CLONES
#define FG_CLONES
#endif
#define FG_HALVES(NAME, FROM, TO, ELEMENT, BY_INSTRUCTIONS)                                                            \
    static int NAME(char** operands, const int64_t* steps, char* result, int64_t n) {                                  \
        const FROM* restrict from = (const FROM*)operands[0];                                                          \
        TO* restrict to = (TO*)result;                                                                                 \
        int64_t k = 0;                                                                                                 \
        (void)steps;                                                                                                   \
        BY_INSTRUCTIONS                                                                                                \
        for (; k < n; k++) to[k] = ELEMENT(from[k]);                                                                   \
        return 0;                                                                                                      \
    }
#define FG_WIDE_BFLOAT(h) fg_float_of((uint32_t)(h) << 16)

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
__attribute__((target("avx,f16c"))) static int64_t fg_widened16(const uint16_t* from, float* to, int64_t n) {
    int64_t k = 0;
    for (; k + 8 <= n; k += 8) _mm256_storeu_ps(to + k, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(from + k))));
    return k;
}
__attribute__((target("avx,f16c"))) static int64_t fg_narrowed16(const float* from, uint16_t* to, int64_t n) {
    int64_t k = 0;
    for (; k + 8 <= n; k += 8) _mm_storeu_si128((__m128i*)(to + k), _mm256_cvtps_ph(_mm256_loadu_ps(from + k), 0));
    return k;
}
FG_HALVES(fg_widen_float16, uint16_t, float, fg_wide16,
          if (__builtin_cpu_supports("f16c")) k = fg_widened16(from, to, n);)
FG_HALVES(fg_narrow_float16, float, uint16_t, fg_narrow16,
          if (__builtin_cpu_supports("f16c")) k = fg_narrowed16(from, to, n);)
#else
FG_HALVES(fg_widen_float16, uint16_t, float, fg_wide16, )
FG_HALVES(fg_narrow_float16, float, uint16_t, fg_narrow16, )
#endif
FG_CLONES FG_HALVES(fg_widen_bfloat16, uint16_t, float, FG_WIDE_BFLOAT, )
FG_CLONES FG_HALVES(fg_narrow_bfloat16, float, uint16_t, fg_narrow_bfloat, )

#endif
