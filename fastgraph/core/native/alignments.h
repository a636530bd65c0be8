/* Alignments of labels with frames: the sums of connectionist temporal classification, forwards and backwards.

   Rule: all sums are of logarithms, in double; a sample at a time, its states in order. */

#ifndef FASTGRAPH_ALIGNMENTS_H
#define FASTGRAPH_ALIGNMENTS_H

#include <math.h>
#include <stdint.h>

/* log(exp(a) + exp(b) + exp(c)). */
static inline double fg_log_sum(double a, double b, double c) {
    double most = a;
    if (b > most) most = b;
    if (c > most) most = c;
    if (!(most > -INFINITY && most < INFINITY)) return a + b + c; /* all are nothing, or one is no number */
    return most + log(exp(a - most) + exp(b - most) + exp(c - most));
}

/* One sample: `sure` are logarithms of probabilities, a frame each `stride`; `states` the classes of the m states, of which
   `skips` say where the one before the last can be left out; `ends`: of ending in each. `ahead` [frames, m] and `back` [m]
   are room. From `gradient`, laid out like `sure`, the share of each state is taken. Returns the logarithm of the labels'
   probability; `never` is that of beginning where one cannot. At least one frame. */
static double fg_align(const double* sure, int64_t frames, int64_t stride, const int64_t* states, const uint8_t* skips,
                       int64_t m, const double* ends, double never, double* ahead, double* back, double* gradient) {
    double total = 0;
    for (int64_t s = 0; s < m; s++) {
        const double arrived = fg_log_sum(never, s > 0 ? never : -INFINITY, skips[s] ? never : -INFINITY);
        ahead[s] = fg_log_sum(s < 2 ? 0 : -INFINITY, arrived, -INFINITY) + sure[states[s]];
    }
    for (int64_t t = 1; t < frames; t++) {
        const double* before = ahead + (t - 1) * m;
        double* now = ahead + t * m;
        for (int64_t s = 0; s < m; s++)
            now[s] = fg_log_sum(before[s], s > 0 ? before[s - 1] : -INFINITY, skips[s] ? before[s - 2] : -INFINITY)
                     + sure[t * stride + states[s]];
    }
    for (int64_t s = 0; s < m; s++) back[s] = ends[s];
    for (int64_t t = frames - 1; t >= 0; t--) {
        double* now = ahead + t * m;
        double most = -INFINITY, sum = 0;
        for (int64_t s = 0; s < m; s++) {
            now[s] += back[s];
            if (!(now[s] <= most)) most = now[s]; /* NaN too */
        }
        for (int64_t s = 0; s < m; s++) sum += now[s] = exp(now[s] - most);
        for (int64_t s = 0; s < m; s++) gradient[t * stride + states[s]] -= now[s] / sum;
        for (int64_t s = 0; s < m; s++) back[s] += sure[t * stride + states[s]];
        if (t == 0) total = fg_log_sum(back[0], m > 1 ? back[1] : -INFINITY, -INFINITY);
        for (int64_t s = 0; s < m; s++)
            back[s] = fg_log_sum(back[s], s + 1 < m ? back[s + 1] : -INFINITY,
                                 s + 2 < m && skips[s + 2] ? back[s + 2] : -INFINITY);
    }
    return total;
}

#endif
