# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Pooling of arrays by vectors of channels (poolings.h), for eager calls and for graphs without kernels.

Rule: sizes are checked here before C touches memory; work is cut by shape alone and shared among the pool's threads
without the GIL. None where NumPy must do it: another CPU, integers. Arrays: x [batch, *spatial, c], windows
[batch, *out, c], as in ops/pooling_primitives.py.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t

import numpy as np

from fastgraph.core.native.convolutions cimport _bits, kind_of, made, share

cdef extern from "core/native/poolings.h" nogil:
    enum: FG_NATIVE, FG_MAX, FG_MEAN, FG_SPREAD, FG_PICK, FG_SHARE, FG_SPREAD_TO_EACH
    ctypedef struct fg_pool_axis:
        int64_t n, m, window, step, low
    ctypedef struct fg_pool:
        int kind, is_double, what
        fg_pool_axis[3] axis
        int64_t batch, c, part, parts
        int cut
        int64_t slab, slabs
        const void* x
        const void* given
        void* y
        double low
        int failed
    int64_t fg_pool_room(const fg_pool* w)
    void fg_pool_units(int bits, fg_pool* w, int64_t first, int64_t last)

cnp.import_array()

cdef dict _ways = {"max": FG_MAX, "mean": FG_MEAN, "spread": FG_SPREAD, "spread to each": FG_SPREAD_TO_EACH,
                   "pick": FG_PICK, "share": FG_SHARE}

cdef enum:
    MANY = 32              # units that there should be for threads to share
    COST = 12              # what a look at an element takes, in floating-point operations of a convolution
    CHANNELS = 256         # of a unit at most
    NEAR = 65536           # numbers of a unit that is widened, if it can be so few


cdef void _part(void* context, int64_t first, int64_t last) noexcept nogil:
    fg_pool_units(_bits, <fg_pool*>context, first, last)


cdef void _cut(fg_pool* w, bint back) noexcept:
    """Cut the result into units: images, channels, and slabs of an image's lines."""
    cdef int64_t lines, least
    cdef fg_pool_axis* axis
    w.part = min(w.c, CHANNELS)
    w.parts = (w.c + w.part - 1) // w.part
    w.cut = 0
    while w.cut < 2 and w.axis[w.cut].n == 1 and w.axis[w.cut].m == 1:
        w.cut += 1
    axis = &w.axis[w.cut]
    w.slab = lines = axis.n if back else axis.m
    w.slabs = 1
    # Elements that windows of two slabs share are looked at twice.
    least = min(lines, 4 * max(axis.window, axis.step) if back else 1)
    while w.slab > least and (w.batch * w.parts * w.slabs < MANY or (w.kind != FG_NATIVE and fg_pool_room(w) > NEAR)):
        w.slab = max(least, (w.slab + 1) // 2)
        w.slabs = (lines + w.slab - 1) // w.slab


def pooled(
    str what, tuple dims, tuple out, cnp.ndarray x or None, cnp.ndarray given or None, window, strides, pads,
    double low=0,
):
    """A result of windows over an array of shape `dims` (and `out`, batch and channels in both); None: NumPy must.

    "max" (which begins with `low`) and "mean" take x of `dims` and give `out`; "spread" gives the gradient of the
    maximum from x and `given` of `out`, to its first place, "spread to each" (with `low`) to all, "pick" what of
    `given` of `dims` stands where the maxima of x do; "share" the gradient of the mean from `given` of `out`.
    Raises: ValueError for sizes that do not fit.
    """
    cdef fg_pool w
    cdef int rank = len(dims) - 2, i, at, number = _ways[what]
    cdef bint back = number in (FG_SPREAD, FG_SPREAD_TO_EACH, FG_SHARE)
    cdef object array, wanted, shape
    cdef int64_t pixels = 1, windows = 1, taps = 1, batch, c
    if not 1 <= rank <= 3 or len(out) != rank + 2:
        raise ValueError(f"no pooling makes {out} of {dims}")
    if len(window) != rank or len(strides) != rank or len(pads) != rank:
        raise ValueError(f"pooling of {rank} axes with window {window}, strides {strides} and pads {pads}")
    batch, c = dims[0], dims[rank + 1]
    if min(dims) < 0 or min(out) < 0 or out[0] != batch or out[rank + 1] != c or min(window) < 1 or min(strides) < 1:
        raise ValueError(f"no pooling with window {window} and strides {strides} makes {out} of {dims}")
    for i in range(3):
        w.axis[i].n = w.axis[i].m = w.axis[i].window = w.axis[i].step = 1
        w.axis[i].low = 0
    for i in range(rank):
        at = 3 - rank + i
        w.axis[at].n, w.axis[at].m, w.axis[at].window = dims[i + 1], out[i + 1], window[i]
        w.axis[at].step, w.axis[at].low = strides[i], pads[i][0]
        if max(w.axis[at].n, w.axis[at].m, w.axis[at].window, w.axis[at].step, abs(w.axis[at].low)) >> 31:
            raise ValueError(f"pooling of {dims} with window {window} and strides {strides} is too large")
        pixels *= w.axis[at].n
        windows *= w.axis[at].m
        taps *= min(w.axis[at].window, max(w.axis[at].n, <int64_t>1))  # what of it can lie inside
    for array, wanted in ((x, None if number == FG_SHARE else dims),
                          (given, None if number < FG_SPREAD else dims if number == FG_PICK else out)):
        shape = None if array is None else array.shape
        if shape != wanted:
            raise ValueError(f"pooling {what!r} of {dims} to {out} takes {wanted}, not {shape}")
    descr = (given if x is None else x).descr
    w.kind = kind_of(descr, &w.is_double)
    if w.kind < 0 or _bits == 0 or (x is not None and given is not None and x.descr.num != given.descr.num):
        return None
    if not w.is_double and taps > 1 << 24:
        return None  # the numbers of elements are numbers of their type
    result = made(dims if back else out, descr)
    if not (<object>result).size:
        return result
    w.what = number
    w.batch, w.c, w.low, w.failed = batch, c, low, 0
    _cut(&w, back)
    if x is not None:
        x = np.ascontiguousarray(x)
        w.x = cnp.PyArray_DATA(x)
    else:
        w.x = NULL
    if given is not None:
        given = np.ascontiguousarray(given)
        w.given = cnp.PyArray_DATA(given)
    else:
        w.given = NULL
    w.y = cnp.PyArray_DATA(<cnp.ndarray>result)
    share(_part, &w, batch * w.parts * w.slabs, <double>COST * (windows * taps + pixels) * batch * c)
    if w.failed:
        raise MemoryError("no memory for an image of a pooling")
    return result
