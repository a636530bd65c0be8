/* Distributions whose numbers take as many words as they need: gamma, Poisson, binomial, truncated normal of given ends.
 *
 * Rule: output i reads the blocks from 256 i on (some binomial ones: 42 i) and nothing else, so that any part can be
 * computed anywhere, but for normal numbers between given ends; the arithmetic is double. Uniform and normal numbers are taken from a block's pair last one first, as TensorFlow takes them.
 *
 * Sources: gamma: Marsaglia and Tsang 2000; Poisson: Knuth 1969, Hormann 1993 (PTRS); binomial: Kachitvichyanukul and
 * Schmeiser 1988, Hormann 1993 (BTRS); truncated normal: Robert 1995; the gradient of a gamma variate: Figurnov, Mohamed
 * and Mnih 2018. */
#ifndef FG_DISTRIBUTIONS_H
#define FG_DISTRIBUTIONS_H
#include "philox.h"

typedef struct {
    const uint64_t *state;
    uint64_t block;
    double uniform[2], normal[2];
    int uniforms, normals; /* how many of each are left */
} fg_stream;

static inline fg_stream fg_stream_at(const uint64_t *state, int64_t output, int blocks) {
    fg_stream s = {state, blocks * (uint64_t)output, {0, 0}, {0, 0}, 0, 0};
    return s;
}

static inline double fg_uniform(fg_stream *s) {
    if (!s->uniforms) {
        uint32_t w[4];
        fg_block(s->state, s->block++, w);
        s->uniform[0] = fg_unit64(w[0], w[1]);
        s->uniform[1] = fg_unit64(w[2], w[3]);
        s->uniforms = 2;
    }
    return s->uniform[--s->uniforms];
}

static inline double fg_normal(fg_stream *s) {
    if (!s->normals) {
        uint32_t w[4];
        fg_block(s->state, s->block++, w);
        fg_normal64(w, s->normal, s->normal + 1);
        s->normals = 2;
    }
    return s->normal[--s->normals];
}

static double fg_gamma(const uint64_t *state, int64_t output, double alpha) {
    fg_stream s = fg_stream_at(state, output, 256);
    if (alpha == 1.0) return -log1p(-fg_uniform(&s));
    if (!(alpha >= 0.0)) return NAN;
    const int below = alpha < 1.0; /* alpha + 1 is drawn, and uniform ** (1 / alpha) times it is what was wanted */
    const double d = alpha + (below ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / sqrt(d);
    if (isinf(d)) return d;
    for (;;) {
        const double x = fg_normal(&s);
        double v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        const double u = fg_uniform(&s);
        if (u < 1 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + d * (1 - v + log(v))) {
            double result = d * v;
            if (below) result *= pow(fg_uniform(&s), 1 / alpha);
            return result;
        }
    }
}

/* `top` is the largest number that the result's dtype holds. */
static double fg_poisson(const uint64_t *state, int64_t output, double rate, double top) {
    fg_stream s = fg_stream_at(state, output, 256);
    if (isnan(rate)) return rate;
    if (isinf(rate) && rate > 0) return rate;
    if (rate < 10) {
        const double limit = exp(-rate);
        double product = 1, x = 0;
        for (;;) {
            product *= fg_uniform(&s);
            if (product <= limit && x <= top) return x;
            x += 1;
        }
    }
    if (rate > top) return top;
    const double logarithm = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    const double inverse = 1.1239 + 1.1328 / (b - 3.4);
    for (;;) {
        const double u = fg_uniform(&s) - 0.5, v = fg_uniform(&s), inside = 0.5 - fabs(u);
        const double k = floor((2 * a / inside + b) * u + rate + 0.43);
        if (k > top) continue;
        if (inside >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
        if (k < 0 || (inside < 0.013 && v > inside)) continue;
        if (log(v * inverse / (a / (inside * inside) + b)) <= -rate + k * logarithm - lgamma(k + 1)) return k;
    }
}

/* log(k!) less Stirling's formula. */
static inline double fg_stirling_tail(double k) {
    static const double of[10] = {0.0810614667953272,  0.0413406959554092,  0.0276779256849983,  0.02079067210376509,
                                  0.0166446911898211,  0.0138761288230707,  0.0118967099458917,  0.0104112652619720,
                                  0.00925546218271273, 0.00833056343336287};
    if (k <= 9) return of[(int)k];
    const double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

static double fg_binomial(const uint64_t *state, int64_t output, double count, double probability) {
    if (count <= 0) return 0; /* whatever the probability */
    if (isnan(count) || isnan(probability)) return NAN;
    if (!(probability > 0)) return 0;
    if (probability >= 1) return count;
    const int turned = probability > 0.5;
    const double p = turned ? 1 - probability : probability;
    double k;
    /* As TensorFlow's: fewer blocks for what needs fewer. */
    fg_stream s = fg_stream_at(state, output, count * p < 10 ? 42 : 256);
    if (count * p < 10) { /* by the sum of geometric numbers */
        double sum = 0;
        for (k = 0;; k++) {
            sum += ceil(log(fg_uniform(&s)) / log1p(-p));
            if (sum > count) break;
        }
        return turned ? count - k : k;
    }
    const double deviation = sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * deviation;
    const double a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5, limit = 0.92 - 4.2 / b, odds = p / (1 - p);
    const double alpha = (2.83 + 5.1 / b) * deviation, m = floor((count + 1) * p);
    for (;;) {
        const double u = fg_uniform(&s) - 0.5;
        double v = fg_uniform(&s);
        const double inside = 0.5 - fabs(u);
        k = floor((2 * a / inside + b) * u + c);
        if (inside >= 0.07 && v <= limit) break;
        if (k < 0 || k > count) continue;
        v = log(v * alpha / (a / (inside * inside) + b));
        if (v <= (m + 0.5) * log((m + 1) / (odds * (count - m + 1))) +
                     (count + 1) * log((count - m + 1) / (count - k + 1)) +
                     (k + 0.5) * log(odds * (count - k + 1) / (k + 1)) + fg_stirling_tail(m) +
                     fg_stirling_tail(count - m) - fg_stirling_tail(k) - fg_stirling_tail(count - k))
            break;
    }
    return turned ? count - k : k;
}

/* ---- normal numbers between given ends: one stream for all outputs, which is taken block by block, as TensorFlow's is ---- */

typedef struct {
    const uint64_t *state;
    uint64_t block;
    int bits; /* of the dtype */
} fg_blocks;

/* The numbers of the next block, normal or uniform ones: 4, or 2 doubles. Returns how many. */
static int fg_next_numbers(fg_blocks *s, int normal, double *x) {
    uint32_t w[4];
    fg_block(s->state, s->block++, w);
    if (s->bits == 64) {
        if (normal) fg_normal64(w, x, x + 1);
        else x[0] = fg_unit64(w[0], w[1]), x[1] = fg_unit64(w[2], w[3]);
        return 2;
    }
    float f[4];
    for (int i = 0; normal && i < 4; i += 2) fg_normal32(w[i], w[i + 1], f + i, f + i + 1);
    for (int i = 0; i < 4; i++) x[i] = normal ? f[i] : s->bits == 16 ? (w[i] & 0x3FFu) / 1024.0 : fg_unit32(w[i]);
    return 4;
}

/* n numbers, `stride` apart. An end may be infinite. */
static void fg_normals_between(fg_blocks *s, double mean, double deviation, double low, double high, double *out,
                               int64_t n, int64_t stride) {
    enum { OF_NORMAL, OF_UNIFORM, OF_EXPONENTIAL }; /* what is drawn and then taken or not */
    const int turned = (isinf(low) && low < 0) || high < mean;
    if (turned) deviation = -deviation;
    const double a = ((turned ? high : low) - mean) / deviation, b = ((turned ? low : high) - mean) / deviation;
    const double root = sqrt(a * a + 4), rate = (a + root) / 2, most = a < 0 ? 0 : a * a;
    const int way = (a < -1.3 && b >= 0) || (b > 1.3 && a <= 0) ? OF_NORMAL
                    : b - a < 2 * exp(0.5 + a * (a - root) / 4) / (a + root) ? OF_UNIFORM : OF_EXPONENTIAL;
    double x[4], u[4];
    for (int64_t found = 0; found < n;) {
        const int m = fg_next_numbers(s, way == OF_NORMAL, x);
        if (way == OF_UNIFORM) fg_next_numbers(s, 0, u);
        for (int i = 0; i < m && found < n; i++) {
            double z = x[i];
            int taken = z >= a && z <= b;
            if (way == OF_UNIFORM) {
                z = z * (b - a) + a;
                taken = u[i] <= exp((most - z * z) / 2);
            } else if (way == OF_EXPONENTIAL) {
                z = a - log(z) / rate;
                const double off = a < rate ? rate - z : a - rate;
                taken = x[++i] <= exp(-off * off / 2) && z < b;
            }
            if (!taken) continue;
            z = z * deviation + mean;
            out[stride * found++] = z < low ? low : z > high ? high : z;
        }
    }
}

#define FG_SIMON_SEQUENCE 0xEF5ull /* the bits that tell the rounds apart, the first one lowest, as TensorFlow has them */

/* Where `index` goes in a permutation of 0 ... last: encrypted by `rounds` rounds (256 at most) of Simon (Beaulieu et
 * al. 2013) again and again, until it is one of them. */
static uint64_t fg_shuffled_index(uint64_t index, const uint32_t word[3], int rounds, uint64_t last) {
    int bits = 16;
    while (bits < 64 && last > 1 && (last - 1) >> bits) bits += 2;
    const int half = bits / 2;
    const uint64_t mask = ((uint64_t)1 << half) - 1;
#define FG_TURN(x, by) (((x) << (by) | (x) >> (half - (by))) & mask)
    uint64_t keys[256] = {word[0] & mask, word[1] & mask, word[2] & mask};
    for (int i = 3; i < rounds; i++) {
        const uint64_t newest = keys[i - 1], turn = i < 66 ? FG_SIMON_SEQUENCE >> (i - 3) & 1 : 0;
        keys[i] = (0xFFFFFFFCu & mask) ^ turn ^ keys[i - 3] ^ FG_TURN(newest, half - 3) ^ FG_TURN(newest, half - 4);
    }
    do {
        uint64_t left = index >> half & mask, right = index & mask;
        for (int i = 0; i < rounds; i++) {
            const uint64_t next = left ^ (FG_TURN(right, 1) & FG_TURN(right, 8)) ^ FG_TURN(right, 2) ^ keys[i];
            left = right;
            right = next;
        }
        index = left << half | right;
    } while (index > last);
#undef FG_TURN
    return index;
}

/* d x / d alpha of x that is drawn from a gamma distribution of shape alpha: -(dP / dalpha) / (dP / dx) of the
 * distribution function P. The series or the continued fraction of P is followed together with its derivative. */
static double fg_gamma_slope(double a, double x) {
    if (isnan(a) || isnan(x) || a <= 0 || x < 0) return NAN;
    if (x == 0) return 0;
    if (isinf(a) || isinf(x)) return NAN;
    /* digamma(a): recurrence, then the asymptotic series */
    double y = a, psi = 0;
    while (y < 10) psi -= 1 / y++;
    const double z = 1 / (y * y);
    psi += log(y) - 0.5 / y -
           z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * 691.0 / 32760)))));
    const double front = log(x) - psi; /* the derivative of log(x**a e**-x / gamma(a)) */
    if (x <= 1 || x <= a) {
        /* P = x**a e**-x / gamma(a) * sum, sum = 1 / a + x / (a (a + 1)) + ... */
        double term = 1 / a, slope = -1 / (a * a), sum = term, slopes = slope;
        for (int n = 1; n < 100000; n++) {
            const double k = a + n;
            slope = (slope - term / k) * (x / k);
            term *= x / k;
            sum += term;
            slopes += slope;
            if (fabs(slope) <= 1e-17 * fabs(slopes) && term <= 1e-17 * sum) break;
        }
        return -x * (sum * front + slopes);
    }
    /* 1 - P = x**a e**-x / gamma(a) * f, f = 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), by Lentz's method */
    double b = x + 1 - a, db = -1, c = 1e300, dc = 0, d = 1 / b, dd = 1 / (b * b), f = d, df = dd;
    for (int n = 1; n < 100000; n++) {
        const double an = -n * (n - a), dan = n;
        b += 2;
        const double below = an * d + b, dbelow = dan * d + an * dd + db;
        const double above = b + an / c, dabove = db + dan / c - an * dc / (c * c);
        d = 1 / below;
        dd = -dbelow * d * d;
        c = above;
        dc = dabove;
        const double factor = c * d, dfactor = dc * d + c * dd;
        df = df * factor + f * dfactor;
        f *= factor;
        if (fabs(factor - 1) < 1e-16 && fabs(dfactor) <= 1e-16 * fabs(df / f)) break;
    }
    return x * (f * front + df);
}
#endif
