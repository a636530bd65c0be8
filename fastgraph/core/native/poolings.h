/* Pooling for eager calls: the largest element or the mean of windows, their gradients, and the gradient of those.
 *
 * Rule: lanes are channels. A unit is some channels of some lines of an image; elements of a window go in row-major
 * order, and windows that add to one element from the last to the first, so that it gets its terms in the order of the
 * window's elements: for a gradient, windows across the edge of a unit are looked at by both.
 * 16-bit floats are widened for a unit, computed with in float32 and narrowed once; what goes back to windows that
 * share no element is stored at once. */
#ifndef FG_POOLINGS_H
#define FG_POOLINGS_H
#include "convolutions.h"

enum { FG_MAX, FG_MEAN, FG_SPREAD, FG_PICK, FG_SHARE, FG_SPREAD_TO_EACH }; /* what is made: see fg_pool_units */

typedef struct {
    int64_t n, m, window, step, low; /* extent, windows, their extent, from one to the next, how far the first reaches out */
} fg_pool_axis;

typedef struct {
    int kind, is_double, what;
    fg_pool_axis axis[3];
    int64_t batch, c, part, parts; /* channels, those of a unit, parts of them */
    int cut;                       /* the first axis of which there is more than one place */
    int64_t slab, slabs;           /* how many places of what is made along it a unit has, units of a part */
    const void *x;                 /* [batch, *n, c]; of FG_SHARE nothing */
    const void *given;             /* FG_SPREAD, FG_SHARE, FG_SPREAD_TO_EACH: [batch, *m, c]; FG_PICK: [batch, *n, c] */
    void *y;
    double low;                    /* what a maximum begins with */
    int failed;
} fg_pool;

/* The range of the cut axis that a unit makes, the windows that this takes, and the elements that those have. */
typedef struct {
    int64_t y0, y1, m0, m1, n0, n1;
} fg_pool_slab;

/* True where the result is an array of n. */
static int fg_pools_back(const fg_pool *w) {
    return w->what == FG_SPREAD || w->what == FG_SPREAD_TO_EACH || w->what == FG_SHARE;
}

/* True where it goes back to windows that share no element: each is written once, as it is stored. */
static int fg_pools_alone(const fg_pool *w) {
    const fg_pool_axis *x = w->axis;
    return fg_pools_back(w) && x[0].window <= x[0].step && x[1].window <= x[1].step && x[2].window <= x[2].step;
}

/* True where it goes back to the largest of windows that share elements of lines: see lines_back. */
static int fg_pools_lines(const fg_pool *w) {
    const fg_pool_axis *x = w->axis;
    return w->what == FG_SPREAD && w->cut == 1 && x[0].window == 1 && !fg_pools_alone(w) &&
           (double)x[1].window * x[2].window < 1 << 24; /* the numbers of elements are numbers of their type */
}

/* Lines of windows that may see the same line, rounded up to a power of two. */
static int64_t fg_pool_ring(const fg_pool *w) {
    int64_t most = fg_least(fg_pieces(w->axis[1].window, w->axis[1].step), w->axis[1].m), ring = 1;
    while (ring < most) ring *= 2;
    return ring;
}

/* True where every element is in a window, if they share none. */
static int fg_pools_all(const fg_pool *w) {
    for (const fg_pool_axis *x = w->axis; x < w->axis + 3; x++)
        if (x->window != x->step || x->low < 0 || x->m * x->step - x->low < x->n) return 0;
    return 1;
}

static fg_pool_slab fg_pool_slab_of(const fg_pool *w, int64_t number) {
    const fg_pool_axis *x = w->axis + w->cut;
    int back = fg_pools_back(w);
    fg_pool_slab s;
    s.y0 = number * w->slab;
    s.y1 = fg_least(s.y0 + w->slab, back ? x->n : x->m);
    s.m0 = s.y0;
    s.m1 = s.y1;
    if (back) {
        int64_t first = s.y0 + x->low - x->window, last = s.y1 - 1 + x->low;
        s.m1 = last < 0 ? 0 : fg_least(last / x->step + 1, x->m);
        s.m0 = fg_least(first < 0 ? 0 : first / x->step + 1, s.m1);
    }
    s.n0 = fg_least(fg_most(s.m0 * x->step - x->low, 0), x->n);
    s.n1 = fg_most(fg_least((s.m1 - 1) * x->step - x->low + x->window, x->n), s.n0);
    return s;
}

/* Numbers that a unit of 16-bit floats takes, widened. */
static int64_t fg_pool_room(const fg_pool *w) {
    const fg_pool_axis *x = w->axis, *cut = x + w->cut;
    int64_t n = x[0].n * x[1].n * x[2].n / fg_most(cut->n, 1), m = x[0].m * x[1].m * x[2].m / fg_most(cut->m, 1);
    int64_t most = 0;
    if (w->what == FG_MAX || w->what == FG_MEAN || fg_pools_alone(w)) return 0;
    for (int64_t i = 0; i < w->slabs; i++) {
        fg_pool_slab s = fg_pool_slab_of(w, i);
        int64_t made = (s.m1 - s.m0) * m + (w->what == FG_PICK ? s.n1 - s.n0 : s.y1 - s.y0) * n;
        most = fg_most(most, made + (w->what == FG_SHARE ? 0 : (s.n1 - s.n0) * n));
    }
    return most * w->part;
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#define FG_LANES FG_FLOAT_512
#include "simd_lanes.h"
#include "poolings_of_width.h"
#include "simd_lanes_end.h"
#define FG_LANES FG_FLOAT_256
#include "simd_lanes.h"
#include "poolings_of_width.h"
#include "simd_lanes_end.h"
/* Of doubles, which are seldom pooled, as in convolutions.h: not for the widest vectors, and small. */
#pragma GCC push_options
#pragma GCC optimize("Os")
#define FG_LANES FG_DOUBLE_256
#include "simd_lanes.h"
#include "poolings_of_width.h"
#include "simd_lanes_end.h"
#pragma GCC pop_options
#endif

/* Units [first, last): FG_MAX, FG_MEAN make y [batch, *m, c]; FG_SPREAD the gradient of the maximum, FG_SHARE of the mean,
 * [batch, *n, c]; FG_SPREAD_TO_EACH that of the maximum as well, but to all elements that are as large, where FG_SPREAD
 * gives it to the first; FG_PICK what of `given` stands where the maxima of x do, [batch, *m, c]. */
static void fg_pool_units(int bits, fg_pool *w, int64_t first, int64_t last) {
    FG_OF(fg_pool_units, bits, w->is_double, w, first, last);
}

#endif
