/* Vectors of floats of one width, as macros: for headers that are included once for each width and type. Before each:
 *
 *     #define FG_LANES FG_FLOAT_512 (or FG_FLOAT_256, FG_DOUBLE_512, FG_DOUBLE_256, FG_INT_512, FG_INT_256,
 *                               FG_BRAIN_PAIRS, FG_SHORT_PAIRS)
 *     #include "simd_lanes.h"
 *
 * T is the type, V a vector of LANES of them, M a mask, NAME(x) what x is called for this width, and MOST how many rows of
 * two vectors of sums leave registers enough; of what is multiplied less often, how many keep two multipliers busy: blocks
 * of 14 rows would be a third of a megabyte of code more. LOAD_BRAIN, STORE_HALF
 * and so on widen and narrow bfloat16 and float16; ABOVE and EQUAL make a CHOICE; MAX(x, y) is y where one is no number.
 * Integers, which are the same bits with a sign and without, and without one may overflow, have what products take; pairs
 * of bfloat16 or int16 in 32 bits are multiplied number by number, and both products added to a float32 or an int32.
 * EVERY_PART: there are blocks of parts of vectors alone, which is less code. TURN transposes TILE rows of TILE numbers; who uses it defines fg_turn. simd_lanes_end.h forgets them all. */
#ifndef FG_INLINE
#define FG_INLINE static inline __attribute__((always_inline))
/* Rows come in threes, whose addresses are base, base + row, base + 2 * row: one register for three. */
#define FG_ROW(r) (q[(r) / 3] + ((r) % 3) * a_row)
#define FG_FLOAT_512 1
#define FG_FLOAT_256 2
#define FG_DOUBLE_512 3
#define FG_DOUBLE_256 4
#define FG_INT_512 5
#define FG_INT_256 6
#define FG_BRAIN_PAIRS 7
#define FG_SHORT_PAIRS 8
#endif

#if FG_LANES == FG_FLOAT_512
#define T float
#define V __m512
#define M __mmask16
#define LANES 16
#define MOST 14
#define TARGET "avx512f"
#define NAME(x) x##_512
#define TILE 8
#define TURN fg_turn
#define LOAD(p) _mm512_loadu_ps(p)
#define LOAD_PART(p, mask) _mm512_maskz_loadu_ps(mask, p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define STORE_PART(p, mask, v) _mm512_mask_storeu_ps(p, mask, v)
#define SET1(x) _mm512_set1_ps(x)
#define ZERO _mm512_setzero_ps()
#define ADD(x, y) _mm512_add_ps(x, y)
#define DIVIDE(x, y) _mm512_div_ps(x, y)
#define MAX(x, y) _mm512_max_ps(x, y)
#define CHOICE __mmask16
#define ABOVE(x, y) _mm512_cmp_ps_mask(x, y, _CMP_GT_OQ)
#define EQUAL(x, y) _mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ)
#define CHOOSE(k, x, y) _mm512_mask_blend_ps(k, y, x)
#define FMA(x, y, z) _mm512_fmadd_ps(x, y, z)
#define MASK_OF(n) ((__mmask16)((1u << (n)) - 1))
#define LOAD_BRAIN(p) _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(p))), 16))
#define LOAD_HALF(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))
#define STORE_BRAIN(p, v) fg_store_brain_512(p, v)
#define LOAD_PAIRS(p, mask) _mm512_castsi512_si256(_mm512_maskz_loadu_epi32(mask, p))
#define STORE_PAIRS(p, mask, v) _mm512_mask_storeu_epi32(p, mask, _mm512_castsi256_si512(v))
#define STORE_HALF(p, v) _mm256_storeu_si256((__m256i *)(p), _mm512_cvtps_ph(v, 0))

#elif FG_LANES == FG_FLOAT_256
#define T float
#define V __m256
#define M __m256i
#define LANES 8
#define MOST 6
#define TARGET "avx2,fma,f16c"
#define NAME(x) x##_256
#define TILE 8
#define TURN fg_turn
#define LOAD(p) _mm256_loadu_ps(p)
#define LOAD_PART(p, mask) _mm256_maskload_ps(p, mask)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define STORE_PART(p, mask, v) _mm256_maskstore_ps(p, mask, v)
#define SET1(x) _mm256_set1_ps(x)
#define ZERO _mm256_setzero_ps()
#define ADD(x, y) _mm256_add_ps(x, y)
#define DIVIDE(x, y) _mm256_div_ps(x, y)
#define MAX(x, y) _mm256_max_ps(x, y)
#define CHOICE __m256
#define ABOVE(x, y) _mm256_cmp_ps(x, y, _CMP_GT_OQ)
#define EQUAL(x, y) _mm256_cmp_ps(x, y, _CMP_EQ_OQ)
#define CHOOSE(k, x, y) _mm256_blendv_ps(y, x, k)
#define FMA(x, y, z) _mm256_fmadd_ps(x, y, z)
#define MASK_OF(n) _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define LOAD_BRAIN(p) _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p))), 16))
#define LOAD_HALF(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define STORE_BRAIN(p, v) fg_store_brain_256(p, v)
#define STORE_HALF(p, v) _mm_storeu_si128((__m128i *)(p), _mm256_cvtps_ph(v, 0))

#elif FG_LANES == FG_DOUBLE_512
#define T double
#define V __m512d
#define M __mmask8
#define LANES 8
#define MOST 6
#define TARGET "avx512f"
#define NAME(x) x##_512_double
#define TILE 4
#define TURN fg_turn_double
#define LOAD(p) _mm512_loadu_pd(p)
#define LOAD_PART(p, mask) _mm512_maskz_loadu_pd(mask, p)
#define STORE(p, v) _mm512_storeu_pd(p, v)
#define STORE_PART(p, mask, v) _mm512_mask_storeu_pd(p, mask, v)
#define SET1(x) _mm512_set1_pd(x)
#define ZERO _mm512_setzero_pd()
#define ADD(x, y) _mm512_add_pd(x, y)
#define DIVIDE(x, y) _mm512_div_pd(x, y)
#define MAX(x, y) _mm512_max_pd(x, y)
#define CHOICE __mmask8
#define ABOVE(x, y) _mm512_cmp_pd_mask(x, y, _CMP_GT_OQ)
#define EQUAL(x, y) _mm512_cmp_pd_mask(x, y, _CMP_EQ_OQ)
#define CHOOSE(k, x, y) _mm512_mask_blend_pd(k, y, x)
#define FMA(x, y, z) _mm512_fmadd_pd(x, y, z)
#define MASK_OF(n) ((__mmask8)((1u << (n)) - 1))
#define LOAD_BRAIN(p) ZERO /* nothing of 16 bits becomes a double */
#define LOAD_HALF(p) ZERO
#define STORE_BRAIN(p, v) (void)(p)
#define STORE_HALF(p, v) (void)(p)

#elif FG_LANES == FG_DOUBLE_256
#define T double
#define V __m256d
#define M __m256i
#define LANES 4
#define MOST 6
#define TARGET "avx2,fma"
#define NAME(x) x##_256_double
#define TILE 4
#define TURN fg_turn_double
#define LOAD(p) _mm256_loadu_pd(p)
#define LOAD_PART(p, mask) _mm256_maskload_pd(p, mask)
#define STORE(p, v) _mm256_storeu_pd(p, v)
#define STORE_PART(p, mask, v) _mm256_maskstore_pd(p, mask, v)
#define SET1(x) _mm256_set1_pd(x)
#define ZERO _mm256_setzero_pd()
#define ADD(x, y) _mm256_add_pd(x, y)
#define DIVIDE(x, y) _mm256_div_pd(x, y)
#define MAX(x, y) _mm256_max_pd(x, y)
#define CHOICE __m256d
#define ABOVE(x, y) _mm256_cmp_pd(x, y, _CMP_GT_OQ)
#define EQUAL(x, y) _mm256_cmp_pd(x, y, _CMP_EQ_OQ)
#define CHOOSE(k, x, y) _mm256_blendv_pd(y, x, k)
#define FMA(x, y, z) _mm256_fmadd_pd(x, y, z)
#define MASK_OF(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x((int64_t)(n)), _mm256_setr_epi64x(0, 1, 2, 3))
#define LOAD_BRAIN(p) ZERO /* nothing of 16 bits becomes a double */
#define LOAD_HALF(p) ZERO
#define STORE_BRAIN(p, v) (void)(p)
#define STORE_HALF(p, v) (void)(p)

#elif FG_LANES != FG_INT_256
#define T uint32_t
#define V __m512i
#define M __mmask16
#define LANES 16
#define MOST 6
#if FG_LANES == FG_INT_512
#define TARGET "avx512f"
#define NAME(x) x##_512_int
#define FMA(x, y, z) _mm512_add_epi32(_mm512_mullo_epi32(x, y), z)
#elif FG_LANES == FG_BRAIN_PAIRS
#define TARGET "avx512f,avx512bf16"
#define NAME(x) x##_brain_pairs
#define EVERY_PART 1
#define FMA(x, y, z) _mm512_castps_si512(_mm512_dpbf16_ps(_mm512_castsi512_ps(z), (__m512bh)(x), (__m512bh)(y)))
#else
#define TARGET "avx512f,avx512vnni"
#define NAME(x) x##_short_pairs
#define EVERY_PART 1
#define FMA(x, y, z) _mm512_dpwssd_epi32(z, x, y)
#endif
#define TILE 8
#define TURN(to, to_row, from, from_row) fg_turn((float *)(to), to_row, (const float *)(from), from_row)
#define LOAD(p) _mm512_loadu_si512(p)
#define LOAD_PART(p, mask) _mm512_maskz_loadu_epi32(mask, p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define STORE_PART(p, mask, v) _mm512_mask_storeu_epi32(p, mask, v)
#define SET1(x) _mm512_set1_epi32((int)(x))
#define ZERO _mm512_setzero_si512()
#define MASK_OF(n) ((__mmask16)((1u << (n)) - 1))

#else
#define T uint32_t
#define V __m256i
#define M __m256i
#define LANES 8
#define MOST 6
#define TARGET "avx2,fma"
#define NAME(x) x##_256_int
#define TILE 8
#define TURN(to, to_row, from, from_row) fg_turn((float *)(to), to_row, (const float *)(from), from_row)
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define LOAD_PART(p, mask) _mm256_maskload_epi32((const int *)(p), mask)
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define STORE_PART(p, mask, v) _mm256_maskstore_epi32((int *)(p), mask, v)
#define SET1(x) _mm256_set1_epi32((int)(x))
#define ZERO _mm256_setzero_si256()
#define FMA(x, y, z) _mm256_add_epi32(_mm256_mullo_epi32(x, y), z)
#define MASK_OF(n) _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#endif
#ifndef EVERY_PART
#define EVERY_PART 0
#endif
