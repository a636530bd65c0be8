/* Alignments of labels with frames: the sums of connectionist temporal classification, forwards and backwards.

   Rule: all sums are of probabilities, in long double, times a power of two for each frame that keeps them near 1, so that
   nothing is rounded by it: on x86-64 what is 1e-4900 of the rest still counts. A sample at a time, its states in order. */

#ifndef FASTGRAPH_ALIGNMENTS_H
#define FASTGRAPH_ALIGNMENTS_H

#include <math.h>
#include <stdint.h>

/* Bring the sum of m numbers near 1; returns by how many powers of two it was more. */
static int fg_near_one(long double* x, int64_t m) {
    long double sum = 0;
    for (int64_t s = 0; s < m; s++) sum += x[s];
    if (!(sum > 0 && sum < INFINITY)) return 0; /* all are nothing, or one is no number */
    const int power = ilogbl(sum);
    const long double factor = ldexpl(1, -power);
    for (int64_t s = 0; s < m; s++) x[s] *= factor;
    return power;
}

/* The probability of a class, of which `sure` is the logarithm; the double may be too small. */
static inline long double fg_chance(double chance, double sure) { return chance < 1e-300 ? expl(sure) : chance; }

/* One sample: `sure` are logarithms of probabilities, a frame each `stride`; `states` the classes of the m states, of which
   `skips` say where the one before the last can be left out; `ends`: the logarithms of ending in each. `ahead` [frames, m]
   and `back` [m] are room. `gradient`, laid out like `sure`, holds the probabilities, from which the share of each state is
   taken. Returns the logarithm of the labels' probability; `never` is that of beginning where one cannot. At least one
   frame. */
static double fg_align(const double* sure, int64_t frames, int64_t stride, const int64_t* states, const uint8_t* skips,
                       int64_t m, const double* ends, double never, long double* ahead, long double* back,
                       double* gradient) {
    const long double hardly = expl(never);
    double total = 0;
    int64_t powers = 0;
    for (int64_t s = 0; s < m; s++)
        ahead[s] = ((s < 2) + (1 + (s > 0) + (skips[s] != 0)) * hardly) * fg_chance(gradient[states[s]], sure[states[s]]);
    fg_near_one(ahead, m);
    for (int64_t t = 1; t < frames; t++) {
        const long double* before = ahead + (t - 1) * m;
        const double *chances = gradient + t * stride, *logs = sure + t * stride;
        long double* now = ahead + t * m;
        for (int64_t s = 0; s < m; s++)
            now[s] = (before[s] + (s > 0 ? before[s - 1] : 0) + (skips[s] ? before[s - 2] : 0))
                     * fg_chance(chances[states[s]], logs[states[s]]);
        fg_near_one(now, m);
    }
    for (int64_t s = 0; s < m; s++) back[s] = expl(ends[s]);
    for (int64_t t = frames - 1; t >= 0; t--) {
        double* chances = gradient + t * stride;
        const double* logs = sure + t * stride;
        long double *now = ahead + t * m, sum = 0;
        for (int64_t s = 0; s < m; s++) {
            sum += now[s] *= back[s];
            back[s] *= fg_chance(chances[states[s]], logs[states[s]]);
        }
        for (int64_t s = 0; s < m; s++) chances[states[s]] -= (double)(now[s] / sum);
        if (t == 0) total = (double)(logl(back[0] + (m > 1 ? back[1] : 0)) + powers * 0.693147180559945309417232121458176568L);
        for (int64_t s = 0; s < m; s++) {
            if (s + 1 < m) back[s] += back[s + 1];
            if (s + 2 < m && skips[s + 2]) back[s] += back[s + 2];
        }
        powers += fg_near_one(back, m);
    }
    return total;
}

#endif
