/* Pooling for eager calls: the largest element or the mean of windows, their gradients, and the gradient of those.
 *
 * Rule: lanes are channels. A unit is some channels of an image; elements of a window go in row-major order, and windows
 * that add to one element from the last to the first, so that it gets its terms in the order of the window's elements.
 * 16-bit floats are widened for a unit, computed with in float32 and narrowed once. */
#ifndef FG_POOLINGS_H
#define FG_POOLINGS_H
#include "_convolutions.h"

enum { FG_MAX, FG_MEAN, FG_SPREAD, FG_PICK, FG_SHARE, FG_SPREAD_TO_EACH }; /* what is made: see fg_pool_units */

typedef struct {
    int64_t n, m, window, step, low; /* extent, windows, their extent, from one to the next, how far the first reaches out */
} fg_pool_axis;

typedef struct {
    int kind, is_double, what;
    fg_pool_axis axis[3];
    int64_t batch, c, part, parts; /* channels, those of a unit, units of an image */
    const void *x;                 /* [batch, *n, c]; of FG_SHARE nothing */
    const void *given;             /* FG_SPREAD, FG_SHARE, FG_SPREAD_TO_EACH: [batch, *m, c]; FG_PICK: [batch, *n, c] */
    void *y;
    double low;                    /* what a maximum begins with */
    int failed;
} fg_pool;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#define FG_LANES FG_FLOAT_512
#include "_lanes.h"
#include "_poolings_of_width.h"
#include "_no_lanes.h"
#define FG_LANES FG_FLOAT_256
#include "_lanes.h"
#include "_poolings_of_width.h"
#include "_no_lanes.h"
#define FG_LANES FG_DOUBLE_512
#include "_lanes.h"
#include "_poolings_of_width.h"
#include "_no_lanes.h"
#define FG_LANES FG_DOUBLE_256
#include "_lanes.h"
#include "_poolings_of_width.h"
#include "_no_lanes.h"
#endif

/* Units [first, last): FG_MAX, FG_MEAN make y [batch, *m, c]; FG_SPREAD the gradient of the maximum, FG_SHARE of the mean,
 * [batch, *n, c]; FG_SPREAD_TO_EACH that of the maximum as well, but to all elements that are as large, where FG_SPREAD
 * gives it to the first; FG_PICK what of `given` stands where the maxima of x do, [batch, *m, c]. */
static void fg_pool_units(int bits, fg_pool *w, int64_t first, int64_t last) {
    FG_OF(fg_pool_units, bits, w->is_double, w, first, last);
}

#endif
