"""Philox 4x32-10: random words, and numbers made of them, as a pure function of a state (counter, counter, key).

Rule: element i of a draw follows from the state and i alone, so that any part can be computed anywhere. The C is in
philox.h and distributions.h; the GIL is not held while it runs.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

import numpy as np

cdef extern from "core/native/distributions.h" nogil:
    void fg_block(const uint64_t* state, uint64_t n, uint32_t* w)
    void fg_fill_words(const uint64_t* state, uint32_t* out, int64_t n)
    void fg_fill_units(const uint64_t* state, float* out, int64_t n)
    void fg_fill_halves(const uint64_t* state, uint16_t* out, int64_t n, int brain)
    void fg_fill_doubles(const uint64_t* state, double* out, int64_t n)
    void fg_fill_normals(const uint64_t* state, float* out, int64_t n)
    void fg_fill_normal_doubles(const uint64_t* state, double* out, int64_t n)
    void fg_fill_truncated(const uint64_t* state, float* out, int64_t n)
    void fg_fill_truncated_doubles(const uint64_t* state, double* out, int64_t n)
    double fg_gamma(const uint64_t* state, int64_t output, double alpha)
    double fg_poisson(const uint64_t* state, int64_t output, double rate, double top)
    double fg_binomial(const uint64_t* state, int64_t output, double count, double probability)
    ctypedef struct fg_blocks:
        const uint64_t* state
        uint64_t block
        int bits
    void fg_normals_between(fg_blocks* s, double mean, double deviation, double low, double high, double* out,
                            int64_t n, int64_t stride)
    double fg_gamma_slope(double a, double x)
    uint64_t fg_shuffled_index(uint64_t index, const uint32_t *word, int rounds, uint64_t last)

cnp.import_array()

cdef struct State:
    uint64_t[3] word


cdef State _state(object state) except *:
    """The three numbers of a state, i64[3]."""
    cdef State found
    cdef cnp.ndarray held = np.ascontiguousarray(state, np.int64)
    if held.ndim != 1 or held.shape[0] != 3:
        raise ValueError(f"a state has 3 numbers, not shape {state.shape}")
    cdef int i
    for i in range(3):
        found.word[i] = (<uint64_t*>cnp.PyArray_DATA(held))[i]
    return found


def words(state, Py_ssize_t n, /):
    """n words. i64[3] -> u32[n]."""
    cdef State s = _state(state)
    cdef cnp.ndarray out = np.empty(n, np.uint32)
    cdef uint32_t* data = <uint32_t*>cnp.PyArray_DATA(out)
    with nogil:
        fg_fill_words(s.word, data, n)
    return out


def shuffled(keys, Py_ssize_t size, state, /):
    """The keys in the order in which a buffer of `size` gives them at random, one word for each. i64[n] -> i64[n]."""
    cdef cnp.ndarray given = np.ascontiguousarray(keys, np.int64)
    cdef Py_ssize_t n = given.size, room = min(max(size, 1), max(n, 1)), begin = 0, held = 0, taken = 0, i, chosen
    cdef cnp.ndarray drawn = words(state, n), buffer = np.empty(room, np.int64), out = np.empty(n, np.int64)
    cdef int64_t* source = <int64_t*>cnp.PyArray_DATA(given)
    cdef int64_t* ring = <int64_t*>cnp.PyArray_DATA(buffer)
    cdef int64_t* target = <int64_t*>cnp.PyArray_DATA(out)
    cdef uint32_t* word = <uint32_t*>cnp.PyArray_DATA(drawn)
    with nogil:
        for i in range(n):
            while held < room and taken < n:
                ring[(begin + held) % room] = source[taken]
                held += 1
                taken += 1
            chosen = (begin + <Py_ssize_t>(word[i] % <uint32_t>held)) % room
            target[i] = ring[chosen]
            ring[chosen] = ring[begin]
            begin = (begin + 1) % room
            held -= 1
    return out


def units(state, Py_ssize_t n, str dtype, /):
    """n numbers in [0, 1) of a float dtype; those of bfloat16 as their bits. i64[3] -> dtype[n]."""
    cdef State s = _state(state)
    cdef bint brain = dtype == "bfloat16"
    cdef cnp.ndarray out = np.empty(n, np.uint16 if brain else dtype)
    cdef void* data = cnp.PyArray_DATA(out)
    cdef int size = out.itemsize
    with nogil:
        if size == 2:
            fg_fill_halves(s.word, <uint16_t*>data, n, brain)
        elif size == 4:
            fg_fill_units(s.word, <float*>data, n)
        else:
            fg_fill_doubles(s.word, <double*>data, n)
    return out


def normals(state, Py_ssize_t n, bint wide, bint truncated=False, /):
    """n numbers of the standard normal distribution; if truncated, those below 2 in size. i64[3] -> f32 or f64[n]."""
    cdef State s = _state(state)
    cdef cnp.ndarray out = np.empty(n, np.float64 if wide else np.float32)
    cdef void* data = cnp.PyArray_DATA(out)
    with nogil:
        if wide and truncated:
            fg_fill_truncated_doubles(s.word, <double*>data, n)
        elif wide:
            fg_fill_normal_doubles(s.word, <double*>data, n)
        elif truncated:
            fg_fill_truncated(s.word, <float*>data, n)
        else:
            fg_fill_normals(s.word, <float*>data, n)
    return out


cdef enum:
    GAMMA, POISSON, BINOMIAL

cdef dict _distributions = {"gamma": GAMMA, "poisson": POISSON, "binomial": BINOMIAL}


def drawn(str distribution, state, parameters, Py_ssize_t samples, /):
    """`samples` numbers of each of n distributions, whose parameters are rows. i64[3], f64[k, n] -> f64[samples, n].

    "gamma": alpha; "poisson": the rate, the largest number; "binomial": the count, the probability.
    """
    cdef State s = _state(state)
    cdef cnp.ndarray given = np.ascontiguousarray(np.stack(np.broadcast_arrays(*parameters)), np.float64)
    cdef Py_ssize_t n = given.shape[1], i, j
    cdef cnp.ndarray out = np.empty((samples, n))
    cdef double* p = <double*>cnp.PyArray_DATA(given)
    cdef double* data = <double*>cnp.PyArray_DATA(out)
    cdef int kind = _distributions[distribution]
    with nogil:
        for j in range(n):
            for i in range(samples):
                if kind == GAMMA:
                    data[i * n + j] = fg_gamma(s.word, j * samples + i, p[j])
                elif kind == POISSON:
                    data[i * n + j] = fg_poisson(s.word, j * samples + i, p[j], p[n + j])
                else:
                    data[i * n + j] = fg_binomial(s.word, j * samples + i, p[j], p[n + j])
    return out


def normals_between(state, parameters, Py_ssize_t samples, int bits, /):
    """`samples` normal numbers for each of n means, deviations, lowest and highest numbers, all of a float dtype of so
    many bits, from one stream. i64[3], f64[4, n] -> f64[samples, n].
    """
    cdef State s = _state(state)
    cdef fg_blocks blocks = [s.word, 0, bits]
    cdef cnp.ndarray given = np.ascontiguousarray(np.stack(np.broadcast_arrays(*parameters)), np.float64)
    cdef Py_ssize_t n = given.shape[1], j
    cdef cnp.ndarray out = np.empty((samples, n))
    cdef double* p = <double*>cnp.PyArray_DATA(given)
    cdef double* data = <double*>cnp.PyArray_DATA(out)
    with nogil:
        for j in range(n):
            fg_normals_between(&blocks, p[j], p[n + j], p[2 * n + j], p[3 * n + j], data + j, samples, n)
    return out


def gamma_slope(alpha, x, /):
    """Slope of numbers drawn from gamma distributions along alpha. f64[n], f64[n] -> f64[n]."""
    cdef Py_ssize_t n = x.size, i
    cdef cnp.ndarray shapes = np.ascontiguousarray(np.broadcast_to(alpha, n), np.float64)
    cdef cnp.ndarray numbers = np.ascontiguousarray(x, np.float64), out = np.empty(n)
    cdef double* a = <double*>cnp.PyArray_DATA(shapes)
    cdef double* of = <double*>cnp.PyArray_DATA(numbers)
    cdef double* data = <double*>cnp.PyArray_DATA(out)
    with nogil:
        for i in range(n):
            data[i] = fg_gamma_slope(a[i], of[i])
    return out


def permuted(state, Py_ssize_t n, /):
    """0 ... n - 1 in random order, by exchanging each with one that follows or itself. i64[3] -> i64[n]."""
    cdef State s = _state(state)
    cdef cnp.ndarray out = np.arange(n, dtype=np.int64)
    cdef int64_t* data = <int64_t*>cnp.PyArray_DATA(out)
    cdef uint32_t[4] w
    cdef Py_ssize_t i, other
    with nogil:
        for i in range(n - 1):
            if i & 3 == 0:
                fg_block(s.word, i >> 2, w)
            other = i + <Py_ssize_t>(w[i & 3] % <uint32_t>(n - i))
            data[i], data[other] = data[other], data[i]
    return out


def shuffled_index(uint64_t index, tuple seed, int rounds, uint64_t last, /):
    """Place of `index` in the permutation of 0 ... last that a seed of three numbers says."""
    cdef uint32_t[3] word = [seed[0], seed[1], seed[2]]
    with nogil:
        index = fg_shuffled_index(index, word, rounds, last)
    return index


def scrambled(int64_t first, int64_t second, /):
    """The state that a seed of two numbers stands for. -> i64[3]."""
    # The seed is the counter of a block under a fixed key; its first two words are the key, the others the counter's
    # high half.
    cdef uint64_t[3] seed = [<uint64_t>first, <uint64_t>second, <uint64_t>0x02461E293EC8F720]
    cdef uint32_t[4] w
    fg_block(seed, 0, w)
    cdef cnp.ndarray out = np.empty(3, np.int64)
    cdef uint64_t* data = <uint64_t*>cnp.PyArray_DATA(out)
    data[0] = 0
    data[1] = <uint64_t>w[3] << 32 | w[2]
    data[2] = <uint64_t>w[1] << 32 | w[0]
    return out
