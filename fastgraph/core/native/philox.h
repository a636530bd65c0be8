/* Philox 4x32-10 and the streams that TensorFlow makes of it: words, floats in [0, 1), normal numbers.
 *
 * Rule: block n of a state (counter's low and high 64 bits, key) is a function of the state and n alone. The arithmetic
 * of float32 numbers is written out, in single operations that IEEE 754 rounds in one way, and kernels
 * (compiler/vecmath/functions.py) compute the same ones: the bits are the same on every way of execution.
 *
 * Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011), section 5.3; Box and
 * Muller 1958. Words and mantissas are paired as TensorFlow pairs them. */
#ifndef FG_PHILOX_H
#define FG_PHILOX_H
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__has_attribute)
#if __has_attribute(target_clones) && defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && \
    !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define FG_PHILOX_WIDER __attribute__((target_clones("avx2", "default")))
#define FG_PHILOX_AVX2 1
#include <immintrin.h>
/* Without this, a loop with a square root in it is not vectorised. No result depends on it. */
#pragma GCC push_options
#pragma GCC optimize("no-trapping-math")
#endif
#endif
#ifndef FG_PHILOX_WIDER
#define FG_PHILOX_WIDER
#endif

#define FG_PLANE 64 /* blocks that are made side by side: word j of block n is w[j][n] */
typedef uint32_t fg_planes[4][FG_PLANE];
typedef float fg_float_planes[4][FG_PLANE];

static inline __attribute__((always_inline)) void fg_rounds(uint32_t k0, uint32_t k1, uint32_t *a, uint32_t *b,
                                                            uint32_t *c, uint32_t *d) {
    uint32_t w0 = *a, w1 = *b, w2 = *c, w3 = *d;
#pragma GCC unroll 10
    for (int i = 0; i < 10; i++) {
        const uint32_t p = (uint32_t)((uint64_t)w0 * 0xD2511F53u >> 32), q = (uint32_t)((uint64_t)w2 * 0xCD9E8D57u >> 32);
        const uint32_t p_low = w0 * 0xD2511F53u, q_low = w2 * 0xCD9E8D57u;
        w0 = q ^ w1 ^ k0;
        w1 = q_low;
        w2 = p ^ w3 ^ k1;
        w3 = p_low;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    *a = w0, *b = w1, *c = w2, *d = w3;
}

/* The four words of block `n`. */
static inline void fg_block(const uint64_t *state, uint64_t n, uint32_t *w) {
    const uint64_t low = state[0] + n, high = state[1] + (low < n);
    w[0] = (uint32_t)low, w[1] = (uint32_t)(low >> 32), w[2] = (uint32_t)high, w[3] = (uint32_t)(high >> 32);
    fg_rounds((uint32_t)state[2], (uint32_t)(state[2] >> 32), w, w + 1, w + 2, w + 3);
}

#ifdef FG_PHILOX_AVX2
/* Four blocks a vector, a word in each 64 bits, so that one multiplication gives both halves of a product. */
static __attribute__((target("avx2"))) void fg_rounds_avx2(uint32_t k0, uint32_t k1, fg_planes w) {
    const __m256i a = _mm256_set1_epi64x(0xD2511F53), b = _mm256_set1_epi64x(0xCD9E8D57);
    const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    for (int n = 0; n < FG_PLANE; n += 8) {
        __m256i x[4][2];
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 2; k++)
                x[j][k] = _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)&w[j][n + 4 * k]));
        uint32_t low = k0, high = k1;
#pragma GCC unroll 10
        for (int i = 0; i < 10; i++) {
            const __m256i key0 = _mm256_set1_epi64x(low), key1 = _mm256_set1_epi64x(high);
#pragma GCC unroll 2
            for (int k = 0; k < 2; k++) {
                const __m256i p = _mm256_mul_epu32(x[0][k], a), q = _mm256_mul_epu32(x[2][k], b);
                x[0][k] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(q, 32), x[1][k]), key0);
                x[1][k] = q; /* what stands in the upper halves is not looked at */
                x[2][k] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p, 32), x[3][k]), key1);
                x[3][k] = p;
            }
            low += 0x9E3779B9u;
            high += 0xBB67AE85u;
        }
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 2; k++)
                _mm_storeu_si128((__m128i *)&w[j][n + 4 * k],
                                 _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(x[j][k], even)));
    }
}
#endif

/* Blocks first, first + stride, ...: FG_PLANE of them. */
static inline __attribute__((always_inline)) void fg_fill_planes(const uint64_t *state, uint64_t first, uint64_t stride,
                                                                 fg_planes w) {
    const uint32_t k0 = (uint32_t)state[2], k1 = (uint32_t)(state[2] >> 32);
    for (int n = 0; n < FG_PLANE; n++) {
        const uint64_t at = first + (uint64_t)n * stride, low = state[0] + at, high = state[1] + (low < at);
        w[0][n] = (uint32_t)low, w[1][n] = (uint32_t)(low >> 32);
        w[2][n] = (uint32_t)high, w[3][n] = (uint32_t)(high >> 32);
    }
#ifdef FG_PHILOX_AVX2
    if (__builtin_cpu_supports("avx2")) {
        fg_rounds_avx2(k0, k1, w);
        return;
    }
#endif
    for (int n = 0; n < FG_PLANE; n++) fg_rounds(k0, k1, &w[0][n], &w[1][n], &w[2][n], &w[3][n]);
}

static inline float fg_as_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static inline uint32_t fg_as_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

/* A word's low 23 bits as a float in [0, 1). */
static inline float fg_unit32(uint32_t word) { return fg_as_float((word & 0x7FFFFFu) | 0x3F800000u) - 1.0f; }

/* Two words' 52 bits, the first one's 20 leading, as a double in [0, 1). */
static inline double fg_unit64(uint32_t first, uint32_t second) {
    uint64_t bits = 0x3FF0000000000000u | (uint64_t)(first & 0xFFFFFu) << 32 | second;
    double x;
    memcpy(&x, &bits, 8);
    return x - 1.0;
}

/* Two normal numbers of two words. The polynomials are those of compiler/vecmath/functions.py. */
static inline __attribute__((always_inline)) void fg_normal32(uint32_t first, uint32_t second, float *one, float *two) {
    const uint32_t unit = fg_as_bits(fg_unit32(first)), least = 0x33D6BF95u; /* 1e-7: compared as integers, which */
    const int32_t i = (int32_t)(unit < least ? least : unit) - 0x3F3504F3;   /* takes no branch */
    const float e = (float)(i >> 23), f = fg_as_float((uint32_t)((i & 0x7FFFFF) + 0x3F3504F3)) - 1.0f;
    float p = 0.06915541738271713f;
    p = p * f + -0.11789866536855698f;
    p = p * f + 0.11872926354408264f;
    p = p * f + -0.12384334951639175f;
    p = p * f + 0.14218664169311523f;
    p = p * f + -0.16669252514839172f;
    p = p * f + 0.20002226531505585f;
    p = p * f + -0.24999986588954926f;
    p = p * f + 0.3333331048488617f;
    const float square = f * f;
    const float small = e * -2.12194440054690583e-4f + square * f * p;
    const float logarithm = e * 0.693359375f + ((small - square * 0.5f) + f);
    const float radius = sqrtf(logarithm * -2.0f);

    const float angle = (float)((double)fg_unit32(second) * 6.283185307179586);
    /* Adding 1.5 * 2**23 rounds to an integer and leaves it in the low bits. pi / 2 in three parts: times 0 .. 4, the
     * first two are exact. */
    const float shifted = angle * 0.6366197723675814f + 12582912.0f, turns = shifted - 12582912.0f;
    const float r = ((angle - turns * 1.5703125f) - turns * 4.837512969970703125e-4f) - turns * 7.54978995489188216e-8f;
    const uint32_t quarter = fg_as_bits(shifted);
    const float z = r * r;
    const float sine =
        ((((2.7183154998056125e-06f * z + -0.0001983933470910415f) * z + 0.008333329111337662f) * z +
          -0.1666666716337204f) * (r * z)) + r;
    const float cosine =
        ((((-2.7210390385334904e-07f * z + 2.4799521270324476e-05f) * z + -0.0013888883404433727f) * z +
          0.0416666679084301f) * (z * z)) + (z * -0.5f + 1.0f);
    const uint32_t odd = 0u - (quarter & 1u), s = fg_as_bits(sine), c = fg_as_bits(cosine);
    *one = fg_as_float(((s & ~odd) | (c & odd)) ^ ((quarter & 2u) << 30)) * radius;
    *two = fg_as_float(((c & ~odd) | (s & odd)) ^ (((quarter + 1u) & 2u) << 30)) * radius;
}

/* Two normal numbers of a block. */
static inline void fg_normal64(const uint32_t *w, double *one, double *two) {
    double u = fg_unit64(w[0], w[1]);
    u = u < 1.0e-7 ? 1.0e-7 : u;
    const double angle = fg_unit64(w[2], w[3]) * 6.283185307179586, radius = sqrt(log(u) * -2.0);
    *one = sin(angle) * radius;
    *two = cos(angle) * radius;
}

/* ---- filling arrays: n elements from block 0 of the state on ---- */

FG_PHILOX_WIDER static void fg_fill_words(const uint64_t *state, uint32_t *out, int64_t n) {
    fg_planes w;
    for (int64_t at = 0; at < n; at += 4 * FG_PLANE) {
        fg_fill_planes(state, (uint64_t)at / 4, 1, w);
        if (n - at >= 4 * FG_PLANE) {
            for (int i = 0; i < FG_PLANE; i++)
                for (int j = 0; j < 4; j++) out[at + 4 * i + j] = w[j][i];
        } else {
            for (int64_t i = 0; i < n - at; i++) out[at + i] = w[i & 3][i >> 2];
        }
    }
}

FG_PHILOX_WIDER static void fg_fill_units(const uint64_t *state, float *out, int64_t n) {
    fg_planes w;
    for (int64_t at = 0; at < n; at += 4 * FG_PLANE) {
        fg_fill_planes(state, (uint64_t)at / 4, 1, w);
        if (n - at >= 4 * FG_PLANE) {
            for (int i = 0; i < FG_PLANE; i++)
                for (int j = 0; j < 4; j++) out[at + 4 * i + j] = fg_unit32(w[j][i]);
        } else {
            for (int64_t i = 0; i < n - at; i++) out[at + i] = fg_unit32(w[i & 3][i >> 2]);
        }
    }
}

/* Words as uint16 bits of half floats in [0, 1): of those with 10 bits (float16), or with 7 (bfloat16). */
static void fg_fill_halves(const uint64_t *state, uint16_t *out, int64_t n, int brain) {
    uint32_t w[4] = {0, 0, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        if (!(i & 3)) fg_block(state, (uint64_t)i / 4, w);
        uint32_t bits;
        if (brain) {
            out[i] = (uint16_t)(fg_as_bits((float)(w[i & 3] & 0x7Fu) * 0.0078125f) >> 16);
            continue;
        }
        bits = fg_as_bits((float)(w[i & 3] & 0x3FFu) * 0.0009765625f);
        out[i] = bits ? (uint16_t)(((bits >> 13) & 0x3FFu) | (((bits >> 23) - 112u) << 10)) : 0;
    }
}

static void fg_fill_doubles(const uint64_t *state, double *out, int64_t n) {
    uint32_t w[4];
    for (int64_t i = 0; i < n; i += 2) {
        fg_block(state, (uint64_t)i / 2, w);
        out[i] = fg_unit64(w[0], w[1]);
        if (i + 1 < n) out[i + 1] = fg_unit64(w[2], w[3]);
    }
}

static inline __attribute__((always_inline)) void fg_normal_planes(fg_planes w, fg_float_planes x) {
    for (int i = 0; i < FG_PLANE; i++) fg_normal32(w[0][i], w[1][i], &x[0][i], &x[1][i]);
    for (int i = 0; i < FG_PLANE; i++) fg_normal32(w[2][i], w[3][i], &x[2][i], &x[3][i]);
}

FG_PHILOX_WIDER static void fg_fill_normals(const uint64_t *state, float *out, int64_t n) {
    fg_planes w;
    fg_float_planes x;
    for (int64_t at = 0; at < n; at += 4 * FG_PLANE) {
        fg_fill_planes(state, (uint64_t)at / 4, 1, w);
        fg_normal_planes(w, x);
        if (n - at >= 4 * FG_PLANE) {
            for (int i = 0; i < FG_PLANE; i++)
                for (int j = 0; j < 4; j++) out[at + 4 * i + j] = x[j][i];
        } else {
            for (int64_t i = 0; i < n - at; i++) out[at + i] = x[i & 3][i >> 2];
        }
    }
}

static void fg_fill_normal_doubles(const uint64_t *state, double *out, int64_t n) {
    uint32_t w[4];
    double unused;
    for (int64_t i = 0; i < n; i += 2) {
        fg_block(state, (uint64_t)i / 2, w);
        fg_normal64(w, out + i, i + 1 < n ? out + i + 1 : &unused);
    }
}

/* ---- truncated: normal numbers below 2 in size, groups of 4 (2 doubles) that have 256 words for each number ---- */

/* The numbers of group `group`, one after the other. */
static void fg_truncated_group(const uint64_t *state, uint64_t group, float *out, int64_t n) {
    uint32_t w[4];
    float pair[2];
    int64_t found = 0;
    for (uint64_t block = 256 * group; found < n; block++) {
        fg_block(state, block, w);
        for (int half = 0; half < 4 && found < n; half += 2) {
            fg_normal32(w[half], w[half + 1], pair, pair + 1);
            for (int k = 0; k < 2 && found < n; k++)
                if (fabsf(pair[k]) < 2.0f) out[found++] = pair[k];
        }
    }
}

FG_PHILOX_WIDER static void fg_fill_truncated(const uint64_t *state, float *out, int64_t n) {
    fg_planes w;
    fg_float_planes x;
    for (int64_t at = 0; at < n; at += 4 * FG_PLANE) {
        fg_fill_planes(state, 64 * (uint64_t)at, 256, w); /* group at / 4 */
        fg_normal_planes(w, x);
        for (int64_t i = 0; i < FG_PLANE && at + 4 * i < n; i++) {
            int64_t to = at + 4 * i, size = n - to < 4 ? n - to : 4;
            int fits = size == 4;
            for (int j = 0; j < 4; j++) fits &= fabsf(x[j][i]) < 2.0f;
            if (fits)
                for (int j = 0; j < 4; j++) out[to + j] = x[j][i];
            else
                fg_truncated_group(state, (uint64_t)to / 4, out + to, size);
        }
    }
}

static void fg_fill_truncated_doubles(const uint64_t *state, double *out, int64_t n) {
    uint32_t w[4];
    double pair[2];
    for (int64_t i = 0; i < n; i += 2) {
        int64_t found = 0, size = n - i < 2 ? n - i : 2;
        for (uint64_t block = 64 * (uint64_t)i; found < size; block++) {
            fg_block(state, block, w);
            fg_normal64(w, pair, pair + 1);
            for (int k = 0; k < 2 && found < size; k++)
                if (fabs(pair[k]) < 2.0) out[i + found++] = pair[k];
        }
    }
}
#ifdef FG_PHILOX_AVX2
#pragma GCC pop_options
#endif
#endif
