/* Small matrices, many of them: factors of Cholesky, elimination with pivots, substitution; for one type, T.

   Rule: rows are contiguous and gone through in order; a pivot that is no finite number as it should be ends the work,
   for LAPACK to say what becomes of it. */

#define FG_JOINED(a, b) a##_##b
#define FG_NAMED(a, b) FG_JOINED(a, b)
#define FN(name) FG_NAMED(name, T)

/* L with L L^T = a of p matrices [n, n], whose lower triangle is read. Returns the first that has none, else -1. */
static int64_t FN(fg_cholesky)(const T* a, T* out, int64_t p, int64_t n) {
    for (int64_t m = 0; m < p; m++, a += n * n, out += n * n) {
        for (int64_t i = 0; i < n; i++) {
            T* __restrict row = out + i * n;
            for (int64_t j = 0; j < i; j++) {
                const T* with = out + j * n;
                T sum = a[i * n + j];
                for (int64_t k = 0; k < j; k++) sum -= row[k] * with[k];
                row[j] = sum / with[j];
            }
            T pivot = a[i * n + i];
            for (int64_t k = 0; k < i; k++) pivot -= row[k] * row[k];
            if (!(pivot > 0 && pivot < (T)INFINITY)) return m;
            row[i] = sizeof(T) == 4 ? (T)sqrtf((float)pivot) : (T)sqrt((double)pivot);
            for (int64_t j = i + 1; j < n; j++) row[j] = 0;
        }
    }
    return -1;
}

/* Rows of w [n, n] exchanged and eliminated, those of x [n, k] with them; *odd: how often rows were exchanged, modulo
   2. Returns 1; -1 where a pivot is 0, 0 where it is not finite. */
static int FN(fg_eliminate)(T* w, T* x, int64_t n, int64_t k, int* odd) {
    *odd = 0;
    for (int64_t j = 0; j < n; j++) {
        int64_t best = j;
        T most = w[j * n + j] < 0 ? -w[j * n + j] : w[j * n + j];
        for (int64_t i = j + 1; i < n; i++) {
            const T size = w[i * n + j] < 0 ? -w[i * n + j] : w[i * n + j];
            if (size > most) most = size, best = i;
        }
        if (!(most > 0 && most < (T)INFINITY)) return most == 0 ? -1 : 0;
        if (best != j) {
            *odd ^= 1;
            for (int64_t c = j; c < n; c++) {
                const T kept = w[j * n + c];
                w[j * n + c] = w[best * n + c], w[best * n + c] = kept;
            }
            for (int64_t c = 0; c < k; c++) {
                const T kept = x[j * k + c];
                x[j * k + c] = x[best * k + c], x[best * k + c] = kept;
            }
        }
        const T* __restrict from = w + j * n;
        const T* __restrict given = x + j * k;
        for (int64_t i = j + 1; i < n; i++) {
            T* __restrict row = w + i * n;
            T* __restrict result = x + i * k;
            const T factor = row[j] / from[j];
            for (int64_t c = j + 1; c < n; c++) row[c] -= factor * from[c];
            for (int64_t c = 0; c < k; c++) result[c] -= factor * given[c];
        }
    }
    return 1;
}

/* x [n, k] = b becomes what solves a x = b, for a triangular a [n, n]; `turned`: for its transpose. */
static void FN(fg_substitute)(const T* a, T* x, int64_t n, int64_t k, int lower, int turned) {
    const int64_t down = turned ? 1 : n, along = turned ? n : 1;
    const int forth = lower != turned;
    for (int64_t s = 0; s < n; s++) {
        const int64_t i = forth ? s : n - 1 - s;
        T* __restrict row = x + i * k;
        for (int64_t j = forth ? 0 : i + 1; j < (forth ? i : n); j++) {
            const T factor = a[i * down + j * along];
            const T* __restrict other = x + j * k;
            for (int64_t c = 0; c < k; c++) row[c] -= factor * other[c];
        }
        const T pivot = a[i * down + i * along];
        for (int64_t c = 0; c < k; c++) row[c] /= pivot;
    }
}

/* x = a^-1 x of p matrices [n, n] and [n, k]; `w`: room for n * n. Returns -1; m if matrix m is the first without a finite
   pivot, p + m if it is the first without an inverse. */
static int64_t FN(fg_solve)(const T* a, T* x, T* w, int64_t p, int64_t n, int64_t k, int turned) {
    int odd;
    for (int64_t m = 0; m < p; m++, a += n * n, x += n * k) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) w[i * n + j] = turned ? a[j * n + i] : a[i * n + j];
        const int done = FN(fg_eliminate)(w, x, n, k, &odd);
        if (done < 1) return done < 0 ? p + m : m;
        FN(fg_substitute)(w, x, n, k, 0, 0);
    }
    return -1;
}

/* Determinants of p matrices [n, n]; `w` as above. Returns the first that only logarithms can multiply, else -1. */
static int64_t FN(fg_det)(const T* a, T* out, T* w, int64_t p, int64_t n) {
    int odd;
    for (int64_t m = 0; m < p; m++, a += n * n) {
        memcpy(w, a, (size_t)(n * n) * sizeof(T));
        if (FN(fg_eliminate)(w, w, n, 0, &odd) < 1) return m;
        double product = odd ? -1 : 1;
        for (int64_t i = 0; i < n; i++) {
            product *= (double)w[i * n + i];
            if (!(fabs(product) > 1e-200 && fabs(product) < 1e200)) return m;
        }
        out[m] = (T)product;
    }
    return -1;
}

#undef FN
#undef FG_NAMED
#undef FG_JOINED
