/* The poolings of poolings.h for vectors of one width and type (see simd_lanes.h). */

#define INLINE FG_INLINE __attribute__((target(TARGET)))
#define LOCAL static __attribute__((target(TARGET)))

/* A window: what of it lies inside, first element and how many along each axis; `at`: from the first of all of them to
 * each, in row-major order, of which [from, to) are in the unit; and where the window stands. */
typedef struct {
    int64_t first[3], count[3], place, from, to, taps;
    int64_t *at;
} NAME(window);

/* Arrays of a unit: numbers from one pixel to the next, and those from element to element of a window of x. */
typedef struct {
    const T *x, *given;
    T *y;
    int64_t pixel, row, plane;      /* of an array of n */
    int64_t out_pixel;              /* of an array of m */
} NAME(unit);

/* N vectors of channels of a maximum or a mean. */
INLINE void NAME(pooled)(const int N, const int part, const int mean, M mask, const NAME(window) *t, const T *x, T *y,
                         V start, V count) {
    V best[4];
#pragma GCC unroll 4
    for (int i = 0; i < N; i++) best[i] = start;
    for (int64_t k = 0; k < t->taps; k++) {
        const T *from = x + t->at[k];
#pragma GCC unroll 4
        for (int i = 0; i < N; i++) {
            V value = part ? LOAD_PART(from, mask) : LOAD(from + i * LANES);
            best[i] = mean ? ADD(best[i], value) : MAX(value, best[i]);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < N; i++) {
        if (mean) best[i] = DIVIDE(best[i], count);
        if (part)
            STORE_PART(y, mask, best[i]);
        else
            STORE(y + i * LANES, best[i]);
    }
}

/* n of LANES numbers of 16 bits, with zeros behind them; and stored. Two at a time where there is an instruction. */
INLINE void NAME(some_halves)(uint16_t *to, const uint16_t *from, int64_t n) {
#ifdef LOAD_PAIRS
    if (n % 2 == 0) {
        _mm256_storeu_si256((__m256i *)to, LOAD_PAIRS(from, MASK_OF(n / 2)));
        return;
    }
#endif
    memset(to, 0, LANES * 2);
    memcpy(to, from, n * 2);
}

INLINE void NAME(put_halves)(uint16_t *to, const uint16_t *from, int64_t n) {
#ifdef LOAD_PAIRS
    if (n % 2 == 0) {
        STORE_PAIRS(to, MASK_OF(n / 2), _mm256_loadu_si256((const __m256i *)from));
        return;
    }
#endif
    memcpy(to, from, n * 2);
}

/* The same of numbers of 16 bits, n channels. */
INLINE void NAME(pooled_halves)(const int N, const int brain, const int mean, const NAME(window) *t, const uint16_t *x,
                                uint16_t *y, int64_t n, V start, V count) {
    V best[4];
    uint16_t some[LANES], *to = n < LANES ? some : y;
#pragma GCC unroll 4
    for (int i = 0; i < N; i++) best[i] = start;
    for (int64_t k = 0; k < t->taps; k++) {
        const uint16_t *from = x + t->at[k];
        if (n < LANES) NAME(some_halves)(some, from, n), from = some;
#pragma GCC unroll 4
        for (int i = 0; i < N; i++) {
            V value = brain ? LOAD_BRAIN(from + i * LANES) : LOAD_HALF(from + i * LANES);
            best[i] = mean ? ADD(best[i], value) : MAX(value, best[i]);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < N; i++) {
        if (mean) best[i] = DIVIDE(best[i], count);
        if (brain)
            STORE_BRAIN(to + i * LANES, best[i]);
        else
            STORE_HALF(to + i * LANES, best[i]);
    }
    if (n < LANES) NAME(put_halves)(y, some, n);
}

/* All channels of a window of those. */
INLINE void NAME(window_of_halves)(const int brain, const int mean, const NAME(window) *t, const uint16_t *x,
                                   uint16_t *y, int64_t c, V start, V count) {
    int64_t k = 0;
    for (; k + 4 * LANES <= c; k += 4 * LANES)
        NAME(pooled_halves)(4, brain, mean, t, x + k, y + k, 4 * LANES, start, count);
    for (; k < c; k += LANES)
        NAME(pooled_halves)(1, brain, mean, t, x + k, y + k, fg_least(c - k, LANES), start, count);
}

/* The same of what goes back to, or is picked from, the places of the maxima: of equal ones the first, and the first
 * element if that is no number. The largest is known before its place is looked for: numbers of places that are carried
 * along with it would wait for each comparison. */
INLINE void NAME(placed)(const int N, const int part, const int pick, M mask, const NAME(window) *t, const T *x,
                         const T *given, T *y) {
    V best[2], more[2]; /* more: what was picked last; what is still to go back */
#pragma GCC unroll 2
    for (int i = 0; i < N; i++) {
        best[i] = part ? LOAD_PART(x, mask) : LOAD(x + i * LANES);
        more[i] = part ? LOAD_PART(given, mask) : LOAD(given + i * LANES);
    }
    for (int64_t k = 1; k < t->taps; k++)
#pragma GCC unroll 2
        for (int i = 0; i < N; i++) {
            const T *from = x + t->at[k] + i * LANES;
            best[i] = MAX(part ? LOAD_PART(from, mask) : LOAD(from), best[i]);
        }
    for (int64_t k = pick ? t->taps - 1 : 0; pick ? k >= 0 : k < t->to; k += pick ? -1 : 1)
#pragma GCC unroll 2
        for (int i = 0; i < N; i++) {
            const int64_t at = t->at[k] + i * LANES;
            V value = part ? LOAD_PART(x + at, mask) : LOAD(x + at);
            if (pick) { /* the last one picked is the first one of all */
                more[i] = CHOOSE(EQUAL(value, best[i]), part ? LOAD_PART(given + at, mask) : LOAD(given + at), more[i]);
                continue;
            }
            CHOICE found = k ? EQUAL(value, best[i]) : ABOVE(best[i], value);
            V goes = k ? CHOOSE(found, more[i], ZERO) : CHOOSE(found, ZERO, more[i]);
            more[i] = k ? CHOOSE(found, ZERO, more[i]) : CHOOSE(found, more[i], ZERO);
            if (k < t->from) continue;
            goes = ADD(part ? LOAD_PART(y + at, mask) : LOAD(y + at), goes);
            if (part)
                STORE_PART(y + at, mask, goes);
            else
                STORE(y + at, goes);
        }
    if (pick) {
#pragma GCC unroll 2
        for (int i = 0; i < N; i++)
            if (part)
                STORE_PART(y, mask, more[i]);
            else
                STORE(y + i * LANES, more[i]);
    }
}

/* Each element that is as large as a window's largest gets all of what comes back to it. */
INLINE void NAME(to_each)(const int part, M mask, const NAME(window) *t, const T *x, const T *given, T *y, V low) {
    V best = low, more = part ? LOAD_PART(given, mask) : LOAD(given);
    for (int64_t k = 0; k < t->taps; k++) {
        V value = part ? LOAD_PART(x + t->at[k], mask) : LOAD(x + t->at[k]);
        best = CHOOSE(ABOVE(value, best), value, best);
    }
    for (int64_t k = t->from; k < t->to; k++) {
        const T *from = x + t->at[k];
        T *to = y + t->at[k];
        V sum = part ? LOAD_PART(to, mask) : LOAD(to);
        sum = ADD(sum, CHOOSE(EQUAL(part ? LOAD_PART(from, mask) : LOAD(from), best), more, ZERO));
        if (part)
            STORE_PART(to, mask, sum);
        else
            STORE(to, sum);
    }
}

/* A vector of numbers from number `at` on, to compute with; n of them if `part`. */
INLINE V NAME(taken)(const int kind, const int part, M mask, const void *from, int64_t at, int64_t n) {
    if (kind == FG_NATIVE) return part ? LOAD_PART((const T *)from + at, mask) : LOAD((const T *)from + at);
    uint16_t some[LANES];
    const uint16_t *halves = (const uint16_t *)from + at;
    if (part) NAME(some_halves)(some, halves, n), halves = some;
    return kind == FG_BRAIN ? LOAD_BRAIN(halves) : LOAD_HALF(halves);
}

INLINE void NAME(stored)(const int kind, const int part, M mask, void *to, int64_t at, int64_t n, V value) {
    if (kind == FG_NATIVE) {
        if (part)
            STORE_PART((T *)to + at, mask, value);
        else
            STORE((T *)to + at, value);
        return;
    }
    uint16_t some[LANES], *halves = part ? some : (uint16_t *)to + at;
    if (kind == FG_BRAIN)
        STORE_BRAIN(halves, value);
    else
        STORE_HALF(halves, value);
    if (part) NAME(put_halves)((uint16_t *)to + at, some, n);
}

/* Write back to a window that shares no element with others: to its first largest, to each of them, or a
 * share to all. x, y: number `at` is the window's first; given: number `place` is its. */
INLINE void NAME(alone)(const int kind, const int what, const int N, const int part, const NAME(window) *t,
                        const void *x, const void *given, void *y, int64_t at, int64_t place, int64_t n, V low, V count) {
    V best[2], which[2], more[2];
    M mask = MASK_OF(part ? n : 0);
    T number = 0;
#pragma GCC unroll 2
    for (int i = 0; i < N; i++) {
        more[i] = NAME(taken)(kind, part, mask, given, place + i * LANES, n);
        best[i] = what == FG_SPREAD ? NAME(taken)(kind, part, mask, x, at + i * LANES, n) : low;
        which[i] = ZERO;
        if (what == FG_SHARE) more[i] = DIVIDE(more[i], count);
        more[i] = ADD(more[i], ZERO); /* a sum of one: 0 has no sign */
    }
    if (what != FG_SHARE)
        for (int64_t k = 0; k < t->taps; k++, number += 1)
#pragma GCC unroll 2
            for (int i = 0; i < N; i++) {
                V value = NAME(taken)(kind, part, mask, x, at + t->at[k] + i * LANES, n);
                CHOICE above = ABOVE(value, best[i]);
                best[i] = CHOOSE(above, value, best[i]);
                if (what == FG_SPREAD) which[i] = CHOOSE(above, SET1(number), which[i]);
            }
    number = (T)t->from;
    for (int64_t k = t->from; k < t->to; k++, number += 1)
#pragma GCC unroll 2
        for (int i = 0; i < N; i++) {
            int64_t to = at + t->at[k] + i * LANES;
            V value = more[i];
            if (what == FG_SPREAD) value = CHOOSE(EQUAL(which[i], SET1(number)), value, ZERO);
            if (what == FG_SPREAD_TO_EACH)
                value = CHOOSE(EQUAL(NAME(taken)(kind, part, mask, x, to, n), best[i]), value, ZERO);
            NAME(stored)(kind, part, mask, y, to, n, value);
        }
}

/* The same of all channels. */
INLINE void NAME(all_alone)(const int kind, const int what, const NAME(window) *t, const void *x, const void *given,
                            void *y, int64_t at, int64_t place, int64_t c, V low, V count) {
    int64_t k = 0;
    for (; k + 2 * LANES <= c; k += 2 * LANES)
        NAME(alone)(kind, what, 2, 0, t, x, given, y, at + k, place + k, 2 * LANES, low, count);
    for (; k + LANES <= c; k += LANES)
        NAME(alone)(kind, what, 1, 0, t, x, given, y, at + k, place + k, LANES, low, count);
    if (k < c) NAME(alone)(kind, what, 1, 1, t, x, given, y, at + k, place + k, c - k, low, count);
}

#define WAYS(kind)                                                                                                     \
    if (w->what == FG_SPREAD)                                                                                          \
        NAME(all_alone)(kind, FG_SPREAD, t, u->x, u->given, u->y, at, to, c, start, count);                            \
    else if (w->what == FG_SPREAD_TO_EACH)                                                                             \
        NAME(all_alone)(kind, FG_SPREAD_TO_EACH, t, u->x, u->given, u->y, at, to, c, start, count);                    \
    else                                                                                                               \
        NAME(all_alone)(kind, FG_SHARE, t, u->x, u->given, u->y, at, to, c, start, count);

LOCAL void NAME(window_alone)(const fg_pool *w, const NAME(unit) *u, const NAME(window) *t, int64_t at, int64_t to,
                              int64_t c) {
    V start = SET1((T)w->low), count = SET1((T)t->taps);
    if (t->taps == 0) return;
    if (w->kind == FG_NATIVE) {
        WAYS(FG_NATIVE)
    } else if (w->kind == FG_BRAIN) {
        WAYS(FG_BRAIN)
    } else {
        WAYS(FG_HALF)
    }
}
#undef WAYS

/* Each element of a window gets a share. */
INLINE void NAME(shared)(const int part, M mask, const NAME(window) *t, const T *given, T *y, V count) {
    V more = DIVIDE(part ? LOAD_PART(given, mask) : LOAD(given), count);
    for (int64_t k = t->from; k < t->to; k++) {
        T *to = y + t->at[k];
        V sum = ADD(part ? LOAD_PART(to, mask) : LOAD(to), more);
        if (part)
            STORE_PART(to, mask, sum);
        else
            STORE(to, sum);
    }
}

/* All channels of a window. `x`, `y`: at its first element inside where they are of n, at its place where of m. */
INLINE void NAME(one_window)(const fg_pool *w, const NAME(unit) *u, const NAME(window) *t, int64_t c) {
    int64_t inside = t->taps, k = 0;
    V start = SET1((T)w->low), count = SET1((T)inside);
    M none = MASK_OF(0);
    int64_t at = t->first[0] * u->plane + t->first[1] * u->row + t->first[2] * u->pixel, to = t->place * u->out_pixel;
    if (fg_pools_alone(w)) {
        NAME(window_alone)(w, u, t, at, to, c);
        return;
    }
    if (w->what == FG_MAX || w->what == FG_MEAN) {
        const T *x = u->x + at;
        T *y = u->y + to;
        int mean = w->what == FG_MEAN;
        if (mean) start = ZERO;
        if (w->kind != FG_NATIVE) { /* widened as they are read */
            const uint16_t *from = (const uint16_t *)(const void *)u->x + at;
            uint16_t *out = (uint16_t *)(void *)u->y + to;
            if (mean && w->kind == FG_BRAIN)
                NAME(window_of_halves)(1, 1, t, from, out, c, start, count);
            else if (mean)
                NAME(window_of_halves)(0, 1, t, from, out, c, start, count);
            else if (w->kind == FG_BRAIN)
                NAME(window_of_halves)(1, 0, t, from, out, c, start, count);
            else
                NAME(window_of_halves)(0, 0, t, from, out, c, start, count);
            return;
        }
        for (; k + 4 * LANES <= c; k += 4 * LANES)
            if (mean)
                NAME(pooled)(4, 0, 1, none, t, x + k, y + k, start, count);
            else
                NAME(pooled)(4, 0, 0, none, t, x + k, y + k, start, count);
        for (; k < c; k += LANES)
            NAME(pooled)(1, 1, mean, MASK_OF(fg_least(c - k, LANES)), t, x + k, y + k, start, count);
    } else if (w->what == FG_SHARE) {
        for (; k + LANES <= c; k += LANES) NAME(shared)(0, none, t, u->given + to + k, u->y + at + k, count);
        if (k < c) NAME(shared)(1, MASK_OF(c - k), t, u->given + to + k, u->y + at + k, count);
    } else if (inside == 0) {
        if (w->what == FG_PICK) memset(u->y + to, 0, c * sizeof(T));
    } else if (w->what == FG_SPREAD) {
        for (; k + 2 * LANES <= c; k += 2 * LANES)
            NAME(placed)(2, 0, 0, none, t, u->x + at + k, u->given + to + k, u->y + at + k);
        for (; k < c; k += LANES)
            NAME(placed)(1, 1, 0, MASK_OF(fg_least(c - k, LANES)), t, u->x + at + k, u->given + to + k, u->y + at + k);
    } else if (w->what == FG_SPREAD_TO_EACH) {
        for (; k + LANES <= c; k += LANES)
            NAME(to_each)(0, none, t, u->x + at + k, u->given + to + k, u->y + at + k, start);
        if (k < c) NAME(to_each)(1, MASK_OF(c - k), t, u->x + at + k, u->given + to + k, u->y + at + k, start);
    } else {
        for (; k < c; k += LANES)
            NAME(placed)(1, 1, 1, MASK_OF(fg_least(c - k, LANES)), t, u->x + at + k, u->given + at + k, u->y + to + k);
    }
}

/* Channels [c0, c0 + c) of `pixels` pixels, in numbers to compute with. */
LOCAL void NAME(pool_widened)(const fg_pool *w, T *to, const void *from, int64_t pixels, int64_t c0, int64_t c) {
    if (c == w->c) {
        fg_widened((float *)(void *)to, (const uint16_t *)from, pixels * c, w->kind);
        return;
    }
    for (int64_t i = 0; i < pixels; i++)
        fg_widened((float *)(void *)(to + i * c), (const uint16_t *)from + i * w->c + c0, c, w->kind);
}

/* How the elements of a window of `count` stand. */
LOCAL void NAME(list_taps)(const NAME(unit) *u, NAME(window) *t) {
    int64_t *at = t->at;
    for (int64_t t0 = 0; t0 < t->count[0]; t0++)
        for (int64_t t1 = 0; t1 < t->count[1]; t1++)
            for (int64_t t2 = 0; t2 < t->count[2]; t2++) *at++ = t0 * u->plane + t1 * u->row + t2 * u->pixel;
    t->taps = at - t->at;
}

/* Give the part of window `at` of axis i that lies inside; tell whether its extent differs from the last one's. */
INLINE int NAME(see)(const fg_pool_axis *x, int i, int64_t at, NAME(window) *t) {
    int64_t first = at * x[i].step - x[i].low, end = fg_least(first + x[i].window, x[i].n), before = t->count[i];
    t->first[i] = fg_most(first, 0);
    t->count[i] = fg_most(end - t->first[i], 0);
    return t->count[i] != before;
}

/* ---- what goes back to windows of lines that share elements: places first, then each element at once ---- */

/* Windows [from, to) of a line, N vectors of channels: the numbers of the places of their largest elements, counted as if
 * all of a window were inside. The largest is known before its place is looked for, from the last to the first: numbers
 * carried along with it would wait for each comparison. NaN is the largest where it is the first. */
INLINE void NAME(found_places)(const int N, const int part, M mask, const fg_pool_axis *x, const NAME(unit) *u,
                               int64_t window, int64_t line, const T *from, T *places) {
    int64_t first = window * x[2].step - x[2].low, top = line * x[1].step - x[1].low;
    int64_t a0 = fg_most(top, 0), a1 = fg_least(top + x[1].window, x[1].n);
    int64_t b0 = fg_most(first, 0), b1 = fg_least(first + x[2].window, x[2].n);
    V best[4], where[4];
    if (a0 >= a1 || b0 >= b1) return; /* no element looks for it */
    from += a0 * u->row + b0 * u->pixel;
#pragma GCC unroll 4
    for (int i = 0; i < N; i++) best[i] = part ? LOAD_PART(from, mask) : LOAD(from + i * LANES);
    for (int64_t a = a0; a < a1; a++)
        for (int64_t b = b0; b < b1; b++)
#pragma GCC unroll 4
            for (int i = 0; i < N; i++) {
                const T *at = from + (a - a0) * u->row + (b - b0) * u->pixel + i * LANES;
                best[i] = MAX(part ? LOAD_PART(at, mask) : LOAD(at), best[i]);
            }
#pragma GCC unroll 4
    for (int i = 0; i < N; i++) where[i] = SET1((T)((a0 - top) * x[2].window + b0 - first));
    for (int64_t a = a1 - 1; a >= a0; a--)
        for (int64_t b = b1 - 1; b >= b0; b--) {
            if (a == a0 && b == b0) break;
            V number = SET1((T)((a - top) * x[2].window + b - first));
#pragma GCC unroll 4
            for (int i = 0; i < N; i++) {
                const T *at = from + (a - a0) * u->row + (b - b0) * u->pixel + i * LANES;
                where[i] = CHOOSE(EQUAL(part ? LOAD_PART(at, mask) : LOAD(at), best[i]), number, where[i]);
            }
        }
    V least = SET1((T)((a0 - top) * x[2].window + b0 - first));
#pragma GCC unroll 4
    for (int i = 0; i < N; i++) {
        V one = part ? LOAD_PART(from, mask) : LOAD(from + i * LANES);
        where[i] = CHOOSE(ABOVE(best[i], one), where[i], least);
        if (part)
            STORE_PART(places, mask, where[i]);
        else
            STORE(places + i * LANES, where[i]);
    }
}

/* An element: what comes back of each window that it is in, from the last to the first. */
INLINE void NAME(came_back)(const int N, const int part, M mask, const fg_pool_axis *x, const NAME(unit) *u, int64_t c,
                            int64_t i1, int64_t i2, const int64_t *o, const int64_t *p, int64_t ring, const T *places,
                            const T *given, T *y) {
    V sum[4];
#pragma GCC unroll 4
    for (int i = 0; i < N; i++) sum[i] = ZERO;
    for (int64_t a = o[1] - 1; a >= o[0]; a--)
        for (int64_t b = p[1] - 1; b >= p[0]; b--) {
            int64_t tap = (i1 + x[1].low - a * x[1].step) * x[2].window + i2 + x[2].low - b * x[2].step;
            const T *where = places + ((a & (ring - 1)) * x[2].m + b) * c, *more = given + (a * x[2].m + b) * u->out_pixel;
            V number = SET1((T)tap);
#pragma GCC unroll 4
            for (int i = 0; i < N; i++) {
                V here = part ? LOAD_PART(where, mask) : LOAD(where + i * LANES);
                V goes = part ? LOAD_PART(more, mask) : LOAD(more + i * LANES);
                sum[i] = ADD(sum[i], CHOOSE(EQUAL(here, number), goes, ZERO));
            }
        }
#pragma GCC unroll 4
    for (int i = 0; i < N; i++)
        if (part)
            STORE_PART(y, mask, sum[i]);
        else
            STORE(y + i * LANES, sum[i]);
}

/* Windows [first, end) that a place is in; `found`: those of a place before it. */
INLINE void NAME(windows_at)(const fg_pool_axis *x, int64_t place, int64_t *found) {
    while (found[1] < x->m && found[1] * x->step - x->low <= place) found[1]++;
    while (found[0] < found[1] && found[0] * x->step - x->low + x->window <= place) found[0]++;
}

/* Lines [y0, y1) of what comes back to the largest elements; `places`: room for lines of windows, as many as see a line. */
LOCAL void NAME(lines_back)(const fg_pool *w, const NAME(unit) *u, int64_t c, int64_t y0, int64_t y1, T *places) {
    const fg_pool_axis *x = w->axis;
    int64_t ring = fg_pool_ring(w), next = 0, o[2] = {0, 0};
    M none = MASK_OF(0);
    for (int64_t i1 = y0; i1 < y1; i1++) {
        NAME(windows_at)(x + 1, i1, o);
        for (next = fg_most(next, o[0]); next < o[1]; next++)
            for (int64_t b = 0; b < x[2].m; b++) {
                T *to = places + ((next & (ring - 1)) * x[2].m + b) * c;
                int64_t k = 0;
                for (; k + 2 * LANES <= c; k += 2 * LANES)
                    NAME(found_places)(2, 0, none, x, u, b, next, u->x + k, to + k);
                for (; k < c; k += LANES)
                    NAME(found_places)(1, 1, MASK_OF(fg_least(c - k, LANES)), x, u, b, next, u->x + k, to + k);
            }
        int64_t p[2] = {0, 0};
        for (int64_t i2 = 0; i2 < x[2].n; i2++) {
            NAME(windows_at)(x + 2, i2, p);
            T *to = u->y + i1 * u->row + i2 * u->pixel;
            int64_t k = 0;
            for (; k + 2 * LANES <= c; k += 2 * LANES)
                NAME(came_back)(2, 0, none, x, u, c, i1, i2, o, p, ring, places + k, u->given + k, to + k);
            for (; k < c; k += LANES)
                NAME(came_back)(1, 1, MASK_OF(fg_least(c - k, LANES)), x, u, c, i1, i2, o, p, ring, places + k,
                                u->given + k, to + k);
        }
    }
}

LOCAL void NAME(pool_unit)(const fg_pool *w, int64_t number, T *room, int64_t *taps) {
    const fg_pool_axis *x = w->axis;
    const fg_pool_slab slab = fg_pool_slab_of(w, number % w->slabs);
    int cut = w->cut, back = fg_pools_back(w);
    number /= w->slabs;
    int64_t image = number / w->parts, c0 = number % w->parts * w->part, c = fg_least(w->part, w->c - c0);
    int64_t n = x[0].n * x[1].n * x[2].n, m = x[0].m * x[1].m * x[2].m, size = w->kind == FG_NATIVE ? sizeof(T) : 2;
    int64_t n_line = n / fg_most(x[cut].n, 1), m_line = m / fg_most(x[cut].m, 1); /* pixels and windows of what is cut */
    int wide = w->kind != FG_NATIVE && (back || w->what == FG_PICK) && !fg_pools_alone(w);
    int64_t of_given = back ? m : n, of_y = back ? n : m;
    NAME(unit) unit, *u = &unit;
    const char *from = (const char *)w->x + image * n * w->c * size, *given = (const char *)w->given + image * of_given * w->c * size;
    char *y = (char *)w->y + image * of_y * w->c * size;
    /* what of each array the unit has, and what of the result it makes */
    int64_t n0 = slab.n0 * n_line, n1 = slab.n1 * n_line, m0 = slab.m0 * m_line, m1 = slab.m1 * m_line;
    int64_t y0 = back ? slab.y0 * n_line : m0, y1 = back ? slab.y1 * n_line : m1;
    u->pixel = u->out_pixel = wide ? c : w->c;
    if (!wide) {
        u->x = (const T *)(const void *)(from + c0 * size);
        u->given = (const T *)(const void *)(given + c0 * size);
        u->y = (T *)(void *)(y + c0 * size);
    } else { /* sums first, then what they are made of */
        u->y = room - y0 * c;
        room += (y1 - y0) * c;
        u->x = room - n0 * c;
        if (w->what != FG_SHARE) {
            NAME(pool_widened)(w, room, from + n0 * w->c * 2, n1 - n0, c0, c);
            room += (n1 - n0) * c;
        }
        int64_t g0 = back ? m0 : n0, g1 = back ? m1 : n1;
        u->given = room - g0 * c;
        NAME(pool_widened)(w, room, given + g0 * w->c * 2, g1 - g0, c0, c);
    }
    u->row = x[2].n * u->pixel;
    u->plane = x[1].n * u->row;
    int lines = fg_pools_lines(w);
    if (lines) NAME(lines_back)(w, u, c, slab.y0, slab.y1, room + (wide ? (m1 - m0) * c : 0));
    if (back && !lines && !(fg_pools_alone(w) && fg_pools_all(w))) {
        int64_t each = wide ? (int64_t)sizeof(T) : size;
        if (c == u->pixel)
            memset((char *)u->y + y0 * c * each, 0, (y1 - y0) * c * each);
        else
            for (int64_t i = y0; i < y1; i++) memset((char *)u->y + i * u->pixel * each, 0, c * each);
    }
    NAME(window) t;
    int64_t low[3] = {0, 0, 0}, high[3], at[3];
    for (int i = 0; i < 3; i++) high[i] = x[i].m;
    low[cut] = slab.m0;
    high[cut] = slab.m1;
    t.at = taps;
    t.count[0] = t.count[1] = t.count[2] = t.taps = 0;
    for (int64_t p0 = low[0]; p0 < high[0] && !lines; p0++) {
        at[0] = back ? high[0] - 1 - (p0 - low[0]) : p0;
        int other0 = NAME(see)(x, 0, at[0], &t);
        for (int64_t p1 = low[1]; p1 < high[1]; p1++) {
            at[1] = back ? high[1] - 1 - (p1 - low[1]) : p1;
            int other1 = NAME(see)(x, 1, at[1], &t) | other0;
            other0 = 0;
            for (int64_t p2 = low[2]; p2 < high[2]; p2++) {
                at[2] = back ? high[2] - 1 - (p2 - low[2]) : p2;
                if (NAME(see)(x, 2, at[2], &t) | other1) NAME(list_taps)(u, &t);
                other1 = 0;
                t.place = (at[0] * x[1].m + at[1]) * x[2].m + at[2];
                t.from = 0;
                t.to = t.taps;
                int64_t above = slab.y0 - t.first[cut], below = slab.y1 - t.first[cut];
                if (back && t.taps && (above > 0 || below < t.count[cut])) { /* the rest is another's */
                    int64_t line = t.taps / t.count[cut];
                    t.from = fg_most(above, 0) * line;
                    t.to = fg_least(below, t.count[cut]) * line;
                }
                NAME(one_window)(w, u, &t, c);
            }
        }
    }
    if (wide && c == w->c)
        fg_narrowed((uint16_t *)(void *)y + y0 * c, (const float *)(const void *)(u->y + y0 * c),
                    (y1 - y0) * c, w->kind);
    else if (wide)
        for (int64_t i = y0; i < y1; i++)
            fg_narrowed((uint16_t *)(void *)y + i * w->c + c0, (const float *)(const void *)(u->y + i * c), c, w->kind);
}

LOCAL void NAME(fg_pool_units)(fg_pool *w, int64_t first, int64_t last) {
    int64_t taps = 1, size = w->kind == FG_NATIVE ? 0 : fg_pool_room(w);
    if (fg_pools_lines(w)) size += fg_pool_ring(w) * w->axis[2].m * w->part;
    for (int i = 0; i < 3; i++) taps *= fg_most(1, fg_least(w->axis[i].window, w->axis[i].n));
    void *room;
    if (posix_memalign(&room, 64, (size + 64) * sizeof(T) + taps * sizeof(int64_t)) != 0) {
        w->failed = 1;
        return;
    }
    T *numbers = (T *)room + (taps * sizeof(int64_t) + 63) / 64 * 64 / sizeof(T);
    for (; first < last; first++) NAME(pool_unit)(w, first, numbers, (int64_t *)room);
    free(room);
}

#undef INLINE
#undef LOCAL
