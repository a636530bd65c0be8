/* Fourier transforms along one axis whose length has no prime factor above FG_PRIME: complex, real to complex and back.
 *
 * Rule: a line's numbers do not depend on the lines beside it, nor on who else transforms. What a length takes (its
 * factors, roots of one) is kept: the last of them give way, and who finds the table taken makes his own. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FG_ALWAYS static inline __attribute__((always_inline))
#define FG_PRIME 13
#define FG_KEPT 32 /* lengths */
/* Numbers of a row in between: rows do not begin at the same places of a cache. */
#define FG_FOURIER_ROW(n) (((n) + 31) / 16 * 16)
#define FG_PADDED(n, lanes) (((n) + (lanes) - 1) / (lanes) * (lanes))
#define FG_ENTRIES(r, m) ((r - 1) * m + (r > 5 && r != 8 ? r : 0))

typedef struct {
    int64_t n, count, length; /* of what is transformed; of twiddles; what was asked for */
    int kind, users, kept, n_factors;
    int factors[64];
    void *twiddles, *roots;
} FgTransform;

/* e to the minus 2 pi i k / n, of an eighth of the circle: exact to the last digit but one. */
static void fg_root(int64_t k, int64_t n, double *c, double *s) {
    const int64_t quarter = 4 * k / n, rest = 4 * k - quarter * n;
    const double half_pi = 1.57079632679489661923;
    double x, y;
    if (2 * rest > n) {
        x = sin(half_pi * (double)(n - rest) / (double)n);
        y = cos(half_pi * (double)(n - rest) / (double)n);
    } else {
        x = cos(half_pi * (double)rest / (double)n);
        y = sin(half_pi * (double)rest / (double)n);
    }
    *c = quarter == 0 ? x : quarter == 1 ? -y : quarter == 2 ? -x : y;
    *s = -(quarter == 0 ? y : quarter == 1 ? x : quarter == 2 ? -y : -x);
}

static void fg_put_root(void *to, int64_t at, int64_t beyond, int is_double, int64_t k, int64_t n) {
    double c, s;
    fg_root(k % n, n, &c, &s);
    if (is_double) {
        ((double *)to)[at] = c;
        ((double *)to)[at + beyond] = s;
    } else {
        ((float *)to)[at] = (float)c;
        ((float *)to)[at + beyond] = (float)s;
    }
}

static void fg_forget_transform(FgTransform *t) {
    if (t != NULL) free(t->twiddles), free(t->roots), free(t);
}

/* kind: 1 for double, and 2 where numbers, or results, are real, 4 where a line lies in all lanes. NULL where there is no memory, or a greater factor. */
static FgTransform *fg_new_transform(int64_t length, int kind) {
    static const int odd[] = {3, 5, 7, 11, 13};
    const int size = kind & 1 ? 8 : 4, halved = (kind & 2) && length % 2 == 0;
    FgTransform *t = (FgTransform *)calloc(1, sizeof(FgTransform));
    if (t == NULL) return NULL;
    t->length = length;
    t->kind = kind;
    t->n = halved ? length / 2 : length;
    const int64_t lanes = kind & 4 ? 32 / size : 1, padded = FG_PADDED(t->n / lanes, lanes);
    int64_t rest = t->n / lanes, m = rest;
    if (rest % 8 == 0) t->factors[t->n_factors++] = 8, rest /= 8;
    for (; rest % 4 == 0; rest /= 4) t->factors[t->n_factors++] = 4;
    for (; rest % 2 == 0; rest /= 2) t->factors[t->n_factors++] = 2;
    for (int i = 0; i < 5; ++i)
        for (; rest % odd[i] == 0; rest /= odd[i]) t->factors[t->n_factors++] = odd[i];
    for (int i = 0; i < t->n_factors; ++i) {
        m /= t->factors[i];
        t->count += FG_ENTRIES(t->factors[i], m);
    }
    t->count += (lanes - 1) * padded;
    t->twiddles = calloc(2 * t->count + 1, size);
    t->roots = malloc(halved ? 2 * (t->n + 1) * size : 1);
    if (rest != 1 || t->twiddles == NULL || t->roots == NULL) {
        fg_forget_transform(t);
        return NULL;
    }
    int64_t at = 0;
    m = t->n / lanes;
    for (int i = 0; i < t->n_factors; ++i) {
        const int64_t r = t->factors[i], whole = m;
        m /= r;
        for (int64_t k = 1; k < r; ++k)
            for (int64_t p = 0; p < m; ++p) fg_put_root(t->twiddles, at++, t->count, kind & 1, p * k, whole);
        for (int64_t k = 0; k < FG_ENTRIES(r, m) - (r - 1) * m; ++k)
            fg_put_root(t->twiddles, at++, t->count, kind & 1, k, r);
    }
    for (int64_t l = 1; l < lanes; ++l, at += padded)
        for (int64_t k = 0; k < t->n / lanes; ++k) fg_put_root(t->twiddles, at + k, t->count, kind & 1, k * l, t->n);
    for (int64_t k = 0; halved && k <= t->n; ++k) fg_put_root(t->roots, k, t->n + 1, kind & 1, k, length);
    return t;
}

static FgTransform *fg_transforms[FG_KEPT];
static char fg_transforms_taken;
static unsigned fg_transforms_next;

/* The table is held for a few steps only: who does not get it soon (a fork may have left it taken) does without. */
static int fg_take_transforms(void) {
    for (int i = 0; i < 1000; ++i)
        if (!__atomic_test_and_set(&fg_transforms_taken, __ATOMIC_ACQUIRE)) return 1;
    return 0;
}

static FgTransform *fg_transform_of(int64_t length, int kind) {
    FgTransform *found = NULL, *old = NULL;
    if (fg_take_transforms()) {
        for (int i = 0; i < FG_KEPT && found == NULL; ++i)
            if (fg_transforms[i] && fg_transforms[i]->length == length && fg_transforms[i]->kind == kind) {
                found = fg_transforms[i];
                ++found->users;
            }
        __atomic_clear(&fg_transforms_taken, __ATOMIC_RELEASE);
    }
    if (found != NULL) return found;
    found = fg_new_transform(length, kind);
    if (found == NULL) return NULL;
    found->users = 1;
    if (fg_take_transforms()) {
        FgTransform **place = &fg_transforms[fg_transforms_next++ % FG_KEPT];
        if (*place == NULL || (*place)->users == 0) {
            old = *place;
            *place = found;
            found->kept = 1;
        }
        __atomic_clear(&fg_transforms_taken, __ATOMIC_RELEASE);
    }
    fg_forget_transform(old);
    return found;
}

static void fg_leave_transform(FgTransform *t) {
    if (!t->kept)
        fg_forget_transform(t);
    else if (fg_take_transforms()) { /* else it is kept for good: nobody knows that it is free */
        --t->users;
        __atomic_clear(&fg_transforms_taken, __ATOMIC_RELEASE);
    }
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#pragma GCC target("avx2")
static int fg_has_fourier(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") != 0;
}
#else
static int fg_has_fourier(void) { return 1; }
#endif
#define T float
#define WIDTH 8
#define NAME(x) x##_float
#include "fourier_of_type.h"
#undef T
#undef NAME
#define T double
#define WIDTH 4
#define NAME(x) x##_double
#include "fourier_of_type.h"
#undef T
#undef NAME
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

/* A kernel as the executor calls them. sizes: n, inner, 1 to scale by 1 / n | 2 if what is between counts twice | 4 for
 * the inverse. what: 0 complex, 1 real to complex, 2 to real. */
static int fg_fourier(int what, int is_double, void **buffers, const int64_t *sizes, int64_t begin, int64_t end) {
    const int64_t n = sizes[0], inner = sizes[1], how = sizes[2];
    const int64_t lanes = is_double ? 4 : 8, whole = what && n % 2 == 0 ? n / 2 : n;
    const int alone = inner < lanes / 2 && whole % lanes == 0; /* else lines lie side by side */
    const int64_t w = alone ? 1 : lanes, bytes = 4 * FG_FOURIER_ROW(whole * w) * (is_double ? 8 : 4);
    const double by = how & 1 ? 1.0 / (double)n : 1.0;
    const double within = what == 1 ? (how & 2 ? 2.0 : 1.0) : (how & 2 ? 1.0 : 0.5);
    FgTransform *t = fg_transform_of(n, is_double | (what ? 2 : 0) | (alone ? 4 : 0));
    void *room = NULL;
    if (t == NULL || posix_memalign(&room, 64, bytes)) {
        if (t != NULL) fg_leave_transform(t);
        return 1;
    }
    if (!alone) memset(room, 0, bytes);
#define FG_LINES(kind, T, ...)                                                                                         \
    fg_##kind##_##T(t, (const T *)buffers[0], (T *)buffers[1], n, inner, begin, end, __VA_ARGS__, w, (T *)room)
    if (what == 0 && is_double) FG_LINES(complex_lines, double, (how & 4) != 0, by);
    else if (what == 0) FG_LINES(complex_lines, float, (how & 4) != 0, (float)by);
    else if (what == 1 && is_double) FG_LINES(real_lines, double, by, within);
    else if (what == 1) FG_LINES(real_lines, float, (float)by, (float)within);
    else if (is_double) FG_LINES(lines_to_real, double, by, within);
    else FG_LINES(lines_to_real, float, (float)by, (float)within);
    free(room);
    fg_leave_transform(t);
    return 0;
}

#define FG_FOURIER(what, is_double)                                                                                    \
    static int fg_fourier_##what##is_double(int64_t *status, void **excinfo, void **buffers, const int64_t *sizes,     \
                                            int64_t begin, int64_t end) {                                              \
        return fg_fourier(what, is_double, buffers, sizes, begin, end);                                                \
    }
FG_FOURIER(0, 0)
FG_FOURIER(0, 1)
FG_FOURIER(1, 0)
FG_FOURIER(1, 1)
FG_FOURIER(2, 0)
FG_FOURIER(2, 1)
static void *const fg_fourier_kernels[] = {(void *)fg_fourier_00, (void *)fg_fourier_01, (void *)fg_fourier_10,
                                           (void *)fg_fourier_11, (void *)fg_fourier_20, (void *)fg_fourier_21};
