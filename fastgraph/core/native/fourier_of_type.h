/* Fourier transforms of one type, T, for one kind of vectors: see fourier.h, which includes this for each.
 *
 * The stages are Stockham's: sorted without a pass of their own; x[r][m][s] -> y[m][r][s], of real and imaginary parts
 * apart. What is innermost, s, is what earlier stages have left together and, of several lines, those side by side. */

typedef T NAME(fg_vector) __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
#define V NAME(fg_vector)
#define LANES ((int64_t)WIDTH)
#define EACH(...)                                                                                                      \
    for (int64_t p = 0; p < m; ++p)                                                                                    \
        for (int64_t q = 0; q < s; ++q) { __VA_ARGS__ }
#define TAKE(j) const V a##j = xr[q + s * (p + j * m)], b##j = xi[q + s * (p + j * m)];
/* Gives the k-th of r results, turned by its twiddle. */
#define GIVE(r, k, re, im)                                                                                             \
    {                                                                                                                  \
        const V u = re, v = im;                                                                                        \
        const T c = wr[(k - 1) * m + p], d = wi[(k - 1) * m + p];                                                      \
        yr[q + s * (r * p + k)] = u * c - v * d;                                                                       \
        yi[q + s * (r * p + k)] = u * d + v * c;                                                                       \
    }
#define FIRST(r, re, im)                                                                                               \
    yr[q + s * (r * p)] = re;                                                                                          \
    yi[q + s * (r * p)] = im;
#define STAGE(r)                                                                                                       \
    static void NAME(fg_stage_##r)(const V *restrict xr, const V *restrict xi, V *restrict yr, V *restrict yi,         \
                                   int64_t m, int64_t s, const T *restrict wr, const T *restrict wi)

STAGE(2) {
    EACH(TAKE(0) TAKE(1) FIRST(2, a0 + a1, b0 + b1) GIVE(2, 1, a0 - a1, b0 - b1))
}

STAGE(3) {
    const T h = (T)0.86602540378443864676, half = (T)0.5;
    EACH(TAKE(0) TAKE(1) TAKE(2) const V t = a1 + a2, z = b1 + b2, e = a0 - t * half, f = b0 - z * half,
         g = h * (b1 - b2), o = h * (a2 - a1);
         FIRST(3, a0 + t, b0 + z) GIVE(3, 1, e + g, f + o) GIVE(3, 2, e - g, f - o))
}

/* Sums of four: the first, and with its name the three others. */
#define FOUR                                                                                                           \
    const V e = a0 + a2, f = b0 + b2, g = a0 - a2, h = b0 - b2, t = a1 + a3, z = b1 + b3, o = a1 - a3, n = b1 - b3;
/* Of eight: of the even ones g0 .. h3, of the odd ones, turned by eighths, k0 .. l3. */
#define EIGHT                                                                                                          \
    const V e0 = a0 + a4, f0 = b0 + b4, e1 = a0 - a4, f1 = b0 - b4, e2 = a2 + a6, f2 = b2 + b6, e3 = a2 - a6,          \
            f3 = b2 - b6, o0 = a1 + a5, z0 = b1 + b5, o1 = a1 - a5, z1 = b1 - b5, o2 = a3 + a7, z2 = b3 + b7,          \
            o3 = a3 - a7, z3 = b3 - b7;                                                                                \
    const V g0 = e0 + e2, h0 = f0 + f2, g2 = e0 - e2, h2 = f0 - f2, g1 = e1 + f3, h1 = f1 - e3, g3 = e1 - f3,          \
            h3 = f1 + e3, k0 = o0 + o2, l0 = z0 + z2, k2 = z0 - z2, l2 = o2 - o0, k = o1 + z3, l = z1 - o3,            \
            n = o1 - z3, t = z1 + o3;                                                                                  \
    const T eighth = (T)0.70710678118654752440;                                                                        \
    const V k1 = eighth * (k + l), l1 = eighth * (l - k), k3 = eighth * (t - n), l3 = -eighth * (n + t);

STAGE(4) {
    EACH(TAKE(0) TAKE(1) TAKE(2) TAKE(3) FOUR FIRST(4, e + t, f + z) GIVE(4, 1, g + n, h - o) GIVE(4, 2, e - t, f - z)
         GIVE(4, 3, g - n, h + o))
}

STAGE(5) {
    const T c1 = (T)0.30901699437494742410, c2 = (T)-0.80901699437494742410, s1 = (T)0.95105651629515357212,
            s2 = (T)0.58778525229247312917;
    EACH(TAKE(0) TAKE(1) TAKE(2) TAKE(3) TAKE(4) const V e = a1 + a4, f = b1 + b4, g = a2 + a3, h = b2 + b3,
         k = a1 - a4, l = b1 - b4, n = a2 - a3, o = b2 - b3;
         const V t1 = a0 + (c1 * e + c2 * g), z1 = b0 + (c1 * f + c2 * h), t2 = a0 + (c2 * e + c1 * g),
                 z2 = b0 + (c2 * f + c1 * h);
         const V r1 = s1 * l + s2 * o, i1 = s1 * k + s2 * n, r2 = s2 * l - s1 * o, i2 = s2 * k - s1 * n;
         FIRST(5, a0 + (e + g), b0 + (f + h)) GIVE(5, 1, t1 + r1, z1 - i1) GIVE(5, 2, t2 + r2, z2 - i2)
         GIVE(5, 3, t2 - r2, z2 + i2) GIVE(5, 4, t1 - r1, z1 + i1))
}

STAGE(8) {
    EACH(TAKE(0) TAKE(1) TAKE(2) TAKE(3) TAKE(4) TAKE(5) TAKE(6) TAKE(7) EIGHT
         FIRST(8, g0 + k0, h0 + l0) GIVE(8, 1, g1 + k1, h1 + l1) GIVE(8, 2, g2 + k2, h2 + l2) GIVE(8, 3, g3 + k3, h3 + l3)
         GIVE(8, 4, g0 - k0, h0 - l0) GIVE(8, 5, g1 - k1, h1 - l1) GIVE(8, 6, g2 - k2, h2 - l2)
         GIVE(8, 7, g3 - k3, h3 - l3))
}

/* Any other number: each result is the sum of what it has. The twiddles of r's own roots follow the stage's. */
static void NAME(fg_stage_any)(const V *restrict xr, const V *restrict xi, V *restrict yr, V *restrict yi, int64_t m,
                               int64_t s, const T *restrict wr, const T *restrict wi, int64_t r) {
    const T *cr = wr + (r - 1) * m, *ci = wi + (r - 1) * m;
    for (int64_t p = 0; p < m; ++p)
        for (int64_t k = 0; k < r; ++k) {
            const T c = k ? wr[(k - 1) * m + p] : 1, d = k ? wi[(k - 1) * m + p] : 0;
            for (int64_t q = 0; q < s; ++q) {
                V u = xr[q + s * p], v = xi[q + s * p];
                for (int64_t j = 1, at = k; j < r; ++j, at = at + k < r ? at + k : at + k - r) {
                    const V a = xr[q + s * (p + j * m)], b = xi[q + s * (p + j * m)];
                    u += a * cr[at] - b * ci[at];
                    v += a * ci[at] + b * cr[at];
                }
                yr[q + s * (r * p + k)] = u * c - v * d;
                yi[q + s * (r * p + k)] = u * d + v * c;
            }
        }
}

/* Rows become columns: halves change places, then quarters, then neighbours. */
FG_ALWAYS void NAME(fg_turned)(V *a) {
#define PAIR(i, j, first, second)                                                                                      \
    {                                                                                                                  \
        const V x = a[i], y = a[j];                                                                                    \
        a[i] = __builtin_shufflevector(x, y, first);                                                                   \
        a[j] = __builtin_shufflevector(x, y, second);                                                                  \
    }
#if WIDTH == 8
#define ROWS 0, 1, 2, 3, 8, 9, 10, 11
#define OTHERS 4, 5, 6, 7, 12, 13, 14, 15
    PAIR(0, 4, ROWS, OTHERS) PAIR(1, 5, ROWS, OTHERS) PAIR(2, 6, ROWS, OTHERS) PAIR(3, 7, ROWS, OTHERS)
#undef ROWS
#undef OTHERS
#define ROWS 0, 1, 8, 9, 4, 5, 12, 13
#define OTHERS 2, 3, 10, 11, 6, 7, 14, 15
    PAIR(0, 2, ROWS, OTHERS) PAIR(1, 3, ROWS, OTHERS) PAIR(4, 6, ROWS, OTHERS) PAIR(5, 7, ROWS, OTHERS)
#undef ROWS
#undef OTHERS
#define ROWS 0, 8, 2, 10, 4, 12, 6, 14
#define OTHERS 1, 9, 3, 11, 5, 13, 7, 15
    PAIR(0, 1, ROWS, OTHERS) PAIR(2, 3, ROWS, OTHERS) PAIR(4, 5, ROWS, OTHERS) PAIR(6, 7, ROWS, OTHERS)
#else
#define ROWS 0, 1, 4, 5
#define OTHERS 2, 3, 6, 7
    PAIR(0, 2, ROWS, OTHERS) PAIR(1, 3, ROWS, OTHERS)
#undef ROWS
#undef OTHERS
#define ROWS 0, 4, 2, 6
#define OTHERS 1, 5, 3, 7
    PAIR(0, 1, ROWS, OTHERS) PAIR(2, 3, ROWS, OTHERS)
#endif
#undef ROWS
#undef OTHERS
#undef PAIR
}

/* The last stage of a line that lay in all lanes: x[m][LANES] -> y[LANES][m]. */
static void NAME(fg_last_stage)(const T *restrict xr, const T *restrict xi, T *restrict yr, T *restrict yi, int64_t m,
                                const T *restrict wr, const T *restrict wi) {
    V a[LANES] = {0}, b[LANES] = {0}, c[LANES], d[LANES];
    const int64_t row = FG_PADDED(m, LANES);
    for (int64_t p = 0; p < m; p += LANES) {
        const int64_t some = m - p < LANES ? m - p : LANES;
        for (int64_t j = 0; j < some; ++j) {
            a[j] = *(const V *)(xr + (p + j) * LANES);
            b[j] = *(const V *)(xi + (p + j) * LANES);
        }
        NAME(fg_turned)(a);
        NAME(fg_turned)(b);
        for (int64_t l = 1; l < LANES; ++l) {
            const V u = a[l], v = b[l], e = *(const V *)(wr + (l - 1) * row + p), f = *(const V *)(wi + (l - 1) * row + p);
            a[l] = u * e - v * f;
            b[l] = u * f + v * e;
        }
#define PART(x, y, i) const V x##i = y[i % LANES];
#define PARTS(x, y) PART(x, y, 0) PART(x, y, 1) PART(x, y, 2) PART(x, y, 3)
        PARTS(a, a) PARTS(b, b)
        if (LANES == 8) {
            PART(a, a, 4) PART(a, a, 5) PART(a, a, 6) PART(a, a, 7) PART(b, b, 4) PART(b, b, 5) PART(b, b, 6) PART(b, b, 7)
            EIGHT
#define GOES(i, re, im) c[(i) % LANES] = re, d[(i) % LANES] = im;
            GOES(0, g0 + k0, h0 + l0) GOES(1, g1 + k1, h1 + l1) GOES(2, g2 + k2, h2 + l2) GOES(3, g3 + k3, h3 + l3)
            GOES(4, g0 - k0, h0 - l0) GOES(5, g1 - k1, h1 - l1) GOES(6, g2 - k2, h2 - l2) GOES(7, g3 - k3, h3 - l3)
        } else {
            FOUR GOES(0, e + t, f + z) GOES(1, g + n, h - o) GOES(2, e - t, f - z) GOES(3, g - n, h + o)
        }
#undef GOES
#undef PART
#undef PARTS
        for (int64_t l = 0; l < LANES; ++l)
            if (some == LANES) {
                *(V *)(yr + l * m + p) = c[l];
                *(V *)(yi + l * m + p) = d[l];
            } else
                for (int64_t j = 0; j < some; ++j) {
                    yr[l * m + p + j] = c[l][j];
                    yi[l * m + p + j] = d[l][j];
                }
    }
}

/* All stages; says in which of the pairs of rows (0: x, 1: y) the result is. */
static int NAME(fg_stages)(const FgTransform *t, T *xr, T *xi, T *yr, T *yi) {
    const T *wr = (const T *)t->twiddles, *wi = wr + t->count;
    int64_t m = t->kind & 4 ? t->n / LANES : t->n, s = 1, turned = 0;
    const int64_t all = m;
    for (int i = 0; i < t->n_factors; ++i) {
        const int r = t->factors[i];
        const V *ar = (const V *)(turned ? yr : xr), *ai = (const V *)(turned ? yi : xi);
        V *br = (V *)(turned ? xr : yr), *bi = (V *)(turned ? xi : yi);
        m /= r;
        switch (r) {
        case 2: NAME(fg_stage_2)(ar, ai, br, bi, m, s, wr, wi); break;
        case 3: NAME(fg_stage_3)(ar, ai, br, bi, m, s, wr, wi); break;
        case 4: NAME(fg_stage_4)(ar, ai, br, bi, m, s, wr, wi); break;
        case 5: NAME(fg_stage_5)(ar, ai, br, bi, m, s, wr, wi); break;
        case 8: NAME(fg_stage_8)(ar, ai, br, bi, m, s, wr, wi); break;
        default: NAME(fg_stage_any)(ar, ai, br, bi, m, s, wr, wi, r);
        }
        wr += FG_ENTRIES(r, m);
        wi += FG_ENTRIES(r, m);
        s *= r;
        turned ^= 1;
    }
    if (!(t->kind & 4)) return (int)turned;
    NAME(fg_last_stage)(turned ? yr : xr, turned ? yi : xi, turned ? xr : yr, turned ? xi : yi, all, wr, wi);
    return (int)!turned;
}

/* Complex numbers at `from` (every `step`-th; `lane` between lines) taken apart, or put together, times `by`. */
FG_ALWAYS void NAME(fg_apart)(const T *from, int64_t n, int64_t step, int64_t lane, int64_t lines, int64_t w, T *re, T *im) {
    if (w == 1 && step == 1)
        for (int64_t k = 0; k < n; ++k) {
            re[k] = from[2 * k];
            im[k] = from[2 * k + 1];
        }
    else if (lane == 1)
        for (int64_t k = 0; k < n; ++k)
            for (int64_t l = 0; l < lines; ++l) {
                re[k * w + l] = from[2 * (k * step + l)];
                im[k * w + l] = from[2 * (k * step + l) + 1];
            }
    else
        for (int64_t l = 0; l < lines; ++l)
            for (int64_t k = 0; k < n; ++k) {
                re[k * w + l] = from[2 * (k * step + l * lane)];
                im[k * w + l] = from[2 * (k * step + l * lane) + 1];
            }
}

FG_ALWAYS void NAME(fg_together)(T *to, int64_t n, int64_t step, int64_t lane, int64_t lines, int64_t w, const T *re,
                                 const T *im, T by) {
    if (w == 1 && step == 1)
        for (int64_t k = 0; k < n; ++k) {
            to[2 * k] = re[k] * by;
            to[2 * k + 1] = im[k] * by;
        }
    else if (lane == 1)
        for (int64_t k = 0; k < n; ++k)
            for (int64_t l = 0; l < lines; ++l) {
                to[2 * (k * step + l)] = re[k * w + l] * by;
                to[2 * (k * step + l) + 1] = im[k * w + l] * by;
            }
    else
        for (int64_t l = 0; l < lines; ++l)
            for (int64_t k = 0; k < n; ++k) {
                to[2 * (k * step + l * lane)] = re[k * w + l] * by;
                to[2 * (k * step + l * lane) + 1] = im[k * w + l] * by;
            }
}

/* Lines [begin, end) of x[outer, n, inner] -> out[outer, n, inner], complex; `by` times the sums. */
static void NAME(fg_complex_lines)(const FgTransform *t, const T *x, T *out, int64_t n, int64_t inner, int64_t begin,
                                   int64_t end, int inverse, T by, int64_t w, T *room) {
    T *xr = room, *xi = xr + FG_FOURIER_ROW(n * w), *yr = xi + FG_FOURIER_ROW(n * w), *yi = yr + FG_FOURIER_ROW(n * w);
    for (int64_t u = begin, lines; u < end; u += lines) {
        const int64_t outer = u / inner, i = u - outer * inner, at = 2 * (outer * n * inner + i), lane = inner > 1 ? 1 : n;
        lines = end - u < w ? end - u : w;
        if (inner > 1 && lines > inner - i) lines = inner - i;
        NAME(fg_apart)(x + at, n, inner, lane, lines, w, inverse ? xi : xr, inverse ? xr : xi);
        const int turned = NAME(fg_stages)(t, xr, xi, yr, yi);
        const T *re = turned ? yr : xr, *im = turned ? yi : xi;
        NAME(fg_together)(out + at, n, inner, lane, lines, w, inverse ? im : re, inverse ? re : im, by);
    }
}

/* The transform of all numbers from that of them two by two: z[h][w] -> a[h][w], but for the first. */
FG_ALWAYS void NAME(fg_halves)(const T *restrict zr, const T *restrict zi, T *restrict ar, T *restrict ai, const T *cr,
                               const T *ci, int64_t h, int64_t w, T by) {
    for (int64_t k = 1; k < h; ++k)
        for (int64_t l = 0; l < w; ++l) {
            const int64_t a = k * w + l, b = (h - k) * w + l;
            const T er = zr[a] + zr[b], ei = zi[a] - zi[b], dr = zi[a] + zi[b], di = zr[b] - zr[a];
            ar[a] = (er + (dr * cr[k] - di * ci[k])) * by;
            ai[a] = (ei + (dr * ci[k] + di * cr[k])) * by;
        }
}

/* And back. */
FG_ALWAYS void NAME(fg_wholes)(const T *restrict zr, const T *restrict zi, T *restrict ar, T *restrict ai, const T *cr,
                               const T *ci, int64_t h, int64_t w, T by) {
    for (int64_t k = 1; k < h; ++k)
        for (int64_t l = 0; l < w; ++l) {
            const int64_t a = k * w + l, b = (h - k) * w + l;
            const T er = zr[a] + zr[b], ei = zi[a] - zi[b], dr = zr[a] - zr[b], di = zi[a] + zi[b];
            ar[a] = (er - (di * cr[k] - dr * ci[k])) * by;
            ai[a] = (ei + (dr * cr[k] + di * ci[k])) * by;
        }
}

/* Lines of real x[outer, n, inner] -> out[outer, n / 2 + 1, inner]: `by` times the sums, those between by `within`.
 * Of an even n half as many complex numbers are transformed; of an odd one, its numbers with zeros. */
static void NAME(fg_real_lines)(const FgTransform *t, const T *x, T *out, int64_t n, int64_t inner, int64_t begin,
                                int64_t end, T by, T within, int64_t w, T *room) {
    const int64_t even = n % 2 == 0, h = even ? n / 2 : n, m = n / 2 + 1;
    T *xr = room, *xi = xr + FG_FOURIER_ROW(h * w), *yr = xi + FG_FOURIER_ROW(h * w), *yi = yr + FG_FOURIER_ROW(h * w);
    const T *cr = (const T *)t->roots, *ci = cr + h + 1;
    for (int64_t u = begin, lines; u < end; u += lines) {
        const int64_t outer = u / inner, i = u - outer * inner, lane = inner > 1 ? 1 : n, after = inner > 1 ? 1 : m;
        const T *from = x + outer * n * inner + i;
        T *to = out + 2 * (outer * m * inner + i);
        lines = end - u < w ? end - u : w;
        if (inner > 1 && lines > inner - i) lines = inner - i;
        if (even && w == 1 && inner == 1)
            NAME(fg_apart)(from, h, 1, 1, 1, 1, xr, xi);
        else
            for (int64_t l = 0; l < lines; ++l)
                for (int64_t k = 0; k < h; ++k) {
                    xr[k * w + l] = from[(even ? 2 * k : k) * inner + l * lane];
                    xi[k * w + l] = even ? from[(2 * k + 1) * inner + l * lane] : 0;
                }
        const int turned = NAME(fg_stages)(t, xr, xi, yr, yi);
        T *re = turned ? yr : xr, *im = turned ? yi : xi, *ar = turned ? xr : yr, *ai = turned ? xi : yi;
        if (!even) {
            for (int64_t k = w; k < m * w; ++k) {
                re[k] *= within;
                im[k] *= within;
            }
            NAME(fg_together)(to, m, inner, after, lines, w, re, im, by);
            continue;
        }
        for (int64_t l = 0; l < lines; ++l) {
            T *zero = to + 2 * l * after, *last = zero + 2 * h * inner;
            zero[0] = (re[l] + im[l]) * by;
            last[0] = (re[l] - im[l]) * by;
            zero[1] = last[1] = 0;
        }
        if (w == 1)
            NAME(fg_halves)(re, im, ar, ai, cr, ci, h, 1, within / 2);
        else
            NAME(fg_halves)(re, im, ar, ai, cr, ci, h, LANES, within / 2);
        NAME(fg_together)(to + 2 * inner, h - 1, inner, after, lines, w, ar + w, ai + w, by);
    }
}

/* Lines of x[outer, n / 2 + 1, inner] -> real out[outer, n, inner], as the above the other way round: x is what stands
 * for its negative frequencies too; what is between is taken times `within`. */
static void NAME(fg_lines_to_real)(const FgTransform *t, const T *x, T *out, int64_t n, int64_t inner, int64_t begin,
                                   int64_t end, T by, T within, int64_t w, T *room) {
    const int64_t even = n % 2 == 0, h = even ? n / 2 : n, m = n / 2 + 1;
    T *xr = room, *xi = xr + FG_FOURIER_ROW(h * w), *yr = xi + FG_FOURIER_ROW(h * w), *yi = yr + FG_FOURIER_ROW(h * w);
    const T *cr = (const T *)t->roots, *ci = cr + h + 1;
    for (int64_t u = begin, lines; u < end; u += lines) {
        const int64_t outer = u / inner, i = u - outer * inner, lane = inner > 1 ? 1 : n, before = inner > 1 ? 1 : m;
        const T *from = x + 2 * (outer * m * inner + i);
        T *to = out + outer * n * inner + i;
        lines = end - u < w ? end - u : w;
        if (inner > 1 && lines > inner - i) lines = inner - i;
        if (even) {
            NAME(fg_apart)(from, h, inner, before, lines, w, yr, yi);
            for (int64_t l = 0; l < lines; ++l) {
                const T first = yr[l], last = from[2 * (h * inner + l * before)];
                xr[l] = first + last; /* the other parts of these two count for nothing */
                xi[l] = first - last;
            }
            if (w == 1)
                NAME(fg_wholes)(yr, yi, xr, xi, cr, ci, h, 1, within);
            else
                NAME(fg_wholes)(yr, yi, xr, xi, cr, ci, h, LANES, within);
        } else {
            NAME(fg_apart)(from, m, inner, before, lines, w, xr, xi);
            for (int64_t l = 0; l < w; ++l) xi[l] = 0;
            for (int64_t k = 1; k < m; ++k)
                for (int64_t l = 0; l < w; ++l) {
                    const int64_t a = k * w + l, b = (h - k) * w + l;
                    xr[b] = xr[a] = xr[a] * within;
                    xi[b] = -(xi[a] = xi[a] * within);
                }
        }
        const int turned = NAME(fg_stages)(t, xi, xr, yi, yr); /* backwards: the parts change places */
        const T *re = turned ? yr : xr, *im = turned ? yi : xi;
        if (even && w == 1 && inner == 1)
            NAME(fg_together)(to, h, 1, 1, 1, 1, re, im, by);
        else
            for (int64_t l = 0; l < lines; ++l)
                for (int64_t k = 0; k < h; ++k) {
                    to[(even ? 2 * k : k) * inner + l * lane] = re[k * w + l] * by;
                    if (even) to[(2 * k + 1) * inner + l * lane] = im[k * w + l] * by;
                }
    }
}

#undef EACH
#undef TAKE
#undef GIVE
#undef FIRST
#undef STAGE
#undef FOUR
#undef EIGHT
#undef V
#undef LANES
#undef WIDTH
