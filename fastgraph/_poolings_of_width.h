/* The poolings of _poolings.h for vectors of one width and type (see _lanes.h). */

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

/* The same of numbers of 16 bits, n channels. */
INLINE void NAME(pooled_halves)(const int N, const int brain, const int mean, const NAME(window) *t, const uint16_t *x,
                                uint16_t *y, int64_t n, V start, V count) {
    V best[4];
    uint16_t some[LANES] = {0}, *to = n < LANES ? some : y;
#pragma GCC unroll 4
    for (int i = 0; i < N; i++) best[i] = start;
    for (int64_t k = 0; k < t->taps; k++) {
        const uint16_t *from = x + t->at[k];
        if (n < LANES) memcpy(some, from, n * 2), from = some;
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
    if (n < LANES) memcpy(y, some, n * 2);
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

/* The same of what goes back to, or is picked from, the places of the maxima. */
INLINE void NAME(placed)(const int N, const int part, const int pick, M mask, const NAME(window) *t, const T *x,
                         const T *given, T *y) {
    V best[2], which[2], more[2];
    T number = 0;
#pragma GCC unroll 2
    for (int i = 0; i < N; i++) {
        best[i] = part ? LOAD_PART(x, mask) : LOAD(x + i * LANES);
        which[i] = ZERO;
        more[i] = pick ? ZERO : part ? LOAD_PART(given, mask) : LOAD(given + i * LANES);
    }
    for (int64_t k = 0; k < t->taps; k++) {
        const T *from = x + t->at[k];
        V own = SET1(number);
        number += 1;
#pragma GCC unroll 2
        for (int i = 0; i < N; i++) {
            V value = part ? LOAD_PART(from, mask) : LOAD(from + i * LANES);
            CHOICE above = ABOVE(value, best[i]); /* no number is above what is none, nor that above one */
            best[i] = CHOOSE(above, value, best[i]);
            which[i] = CHOOSE(above, own, which[i]);
        }
    }
    number = (T)t->from;
    for (int64_t k = t->from; k < t->to; k++) {
        const int64_t at = t->at[k];
        V own = SET1(number);
        number += 1;
#pragma GCC unroll 2
        for (int i = 0; i < N; i++) {
            CHOICE chosen = EQUAL(which[i], own);
            if (pick) {
                V value = part ? LOAD_PART(given + at, mask) : LOAD(given + at + i * LANES);
                more[i] = CHOOSE(chosen, value, more[i]);
            } else {
                T *to = y + at + i * LANES;
                V sum = ADD(part ? LOAD_PART(to, mask) : LOAD(to), CHOOSE(chosen, more[i], ZERO));
                if (part)
                    STORE_PART(to, mask, sum);
                else
                    STORE(to, sum);
            }
        }
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

LOCAL void NAME(pool_unit)(const fg_pool *w, int64_t number, T *room, int64_t *taps) {
    const fg_pool_axis *x = w->axis;
    const fg_pool_slab slab = fg_pool_slab_of(w, number % w->slabs);
    int cut = w->cut, back = fg_pools_back(w);
    number /= w->slabs;
    int64_t image = number / w->parts, c0 = number % w->parts * w->part, c = fg_least(w->part, w->c - c0);
    int64_t n = x[0].n * x[1].n * x[2].n, m = x[0].m * x[1].m * x[2].m, size = w->kind == FG_NATIVE ? sizeof(T) : 2;
    int64_t n_line = n / fg_most(x[cut].n, 1), m_line = m / fg_most(x[cut].m, 1); /* pixels and windows of what is cut */
    int wide = w->kind != FG_NATIVE && (back || w->what == FG_PICK);
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
    if (back) {
        if (c == u->pixel)
            memset(u->y + y0 * c, 0, (y1 - y0) * c * sizeof(T));
        else
            for (int64_t i = y0; i < y1; i++) memset(u->y + i * u->pixel, 0, c * sizeof(T));
    }
    NAME(window) t;
    int64_t low[3] = {0, 0, 0}, high[3], at[3];
    for (int i = 0; i < 3; i++) high[i] = x[i].m;
    low[cut] = slab.m0;
    high[cut] = slab.m1;
    t.at = taps;
    t.count[0] = t.count[1] = t.count[2] = t.taps = 0;
    for (int64_t p0 = low[0]; p0 < high[0]; p0++)
        for (int64_t p1 = low[1]; p1 < high[1]; p1++)
            for (int64_t p2 = low[2]; p2 < high[2]; p2++) {
                at[0] = back ? high[0] - 1 - (p0 - low[0]) : p0;
                at[1] = back ? high[1] - 1 - (p1 - low[1]) : p1;
                at[2] = back ? high[2] - 1 - (p2 - low[2]) : p2;
                int other = 0;
                for (int i = 0; i < 3; i++) {
                    int64_t first = at[i] * x[i].step - x[i].low, end = fg_least(first + x[i].window, x[i].n);
                    t.first[i] = fg_most(first, 0);
                    int64_t count = fg_most(end - t.first[i], 0);
                    other |= count != t.count[i];
                    t.count[i] = count;
                }
                if (other) NAME(list_taps)(u, &t);
                t.place = (at[0] * x[1].m + at[1]) * x[2].m + at[2];
                t.from = 0;
                t.to = t.taps;
                if (back && t.taps) { /* elements before or behind the unit are another's */
                    int64_t line = t.taps / t.count[cut];
                    t.from = fg_most(slab.y0 - t.first[cut], 0) * line;
                    t.to = fg_least(slab.y1 - t.first[cut], t.count[cut]) * line;
                }
                NAME(one_window)(w, u, &t, c);
            }
    if (wide)
        for (int64_t i = y0; i < y1; i++)
            fg_narrowed((uint16_t *)(void *)y + i * w->c + c0, (const float *)(const void *)(u->y + i * c), c, w->kind);
}

LOCAL void NAME(fg_pool_units)(fg_pool *w, int64_t first, int64_t last) {
    int64_t taps = 1, size = w->kind == FG_NATIVE ? 0 : fg_pool_room(w);
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
