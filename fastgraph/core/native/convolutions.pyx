# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Convolutions of arrays by blocks of sums in registers (convolutions.h): eager calls', and graphs' without kernels.

Rule: sizes are checked here before C touches memory; work is cut by shape alone and shared among the pool's threads
without the GIL; in between it is asked whether somebody interrupts. None where NumPy must do it: another CPU, another
dtype. Arrays: x [batch, *spatial, c], filter [*window, c / groups, f], as in ops/convolution_numpy.py.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memcpy, memset

import numpy as np

from cpython.ref cimport Py_INCREF
from fastgraph.core.native.buffer cimport Block, Buffer, block_new, block_release
from fastgraph.core.native.thread_pool cimport part_t, pool_share, pool_threads

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(void* subtype, void* descr, int nd, const cnp.npy_intp* dims,
                                const cnp.npy_intp* strides, void* data, int flags, object obj)

cdef extern from "core/native/convolutions.h" nogil:
    enum: FG_NATIVE, FG_BRAIN, FG_HALF, FG_STRIP
    ctypedef struct fg_axis:
        int64_t n, m, step, taps, first, gap, source, target, tile, tiles
    ctypedef struct fg_sweep:
        int kind, is_double, apart, to_filter
        fg_axis[3] axis
        int64_t batch, source_image, target_image, channels, results, groups, c, f, repeat, fold, parts, part
        int64_t filter_row, panel, group_panels
        const void* source
        const void* filter
        void* target
        int tiles
        int64_t chunks, pieces, window, tile_c, tile_run, tile_pieces, together
        int failed
    ctypedef struct fg_layout:
        int64_t[3] taps
        int64_t[3] step
        int64_t first, group, in_ "in", out, c, f, groups
    int fg_convolution_bits()
    void fg_cut(fg_sweep* w, int64_t lanes)
    void fg_cut_apart(fg_sweep* w, int64_t block)
    int64_t fg_tiles(const fg_sweep* w)
    int64_t fg_seen(const fg_axis* axis, int64_t places)
    int64_t fg_apart_block(int bits, int is_double)
    int64_t fg_panel_wide(int bits, int is_double)
    void fg_lay(int bits, int is_double, const fg_layout* y, void* to, const void* from_, int64_t first, int64_t last)
    void fg_sweep_units(int bits, fg_sweep* w, int64_t first, int64_t last)
    void fg_filter_units(int bits, fg_sweep* w, int64_t first, int64_t last)
    int fg_has_tiles()
    int fg_apart_by_pairs(fg_sweep* w)
    void fg_cut_runs(fg_sweep* w)
    int64_t fg_tile_panel(const fg_sweep* w)
    void fg_lay_tiles(const fg_sweep* w, const fg_layout* y, uint16_t* to, const uint16_t* from_, int64_t first,
                      int64_t last)
    void fg_tile_units(fg_sweep* w, int64_t first, int64_t last)
    int fg_cut_to_filter(fg_sweep* w, int64_t units)
    int64_t fg_unit_blocks(const fg_sweep* w)
    int64_t fg_chunk_units(const fg_sweep* w)
    void fg_filter_tile_units(fg_sweep* w, int64_t first, int64_t last)
    void fg_filter_totals(const fg_sweep* w, uint16_t* to, int64_t first, int64_t last)
    void fg_widened(float* to, const uint16_t* from_, int64_t n, int kind)
    void fg_narrowed(uint16_t* to, const float* from_, int64_t n, int kind)

cnp.import_array()

cdef enum:
    SHARED = 4000000       # floating-point operations from which on work is shared among threads
    PIECE = 2000000        # about what a thread takes at a time
    PAUSE = 20000000000    # those after which it is asked whether somebody interrupts: 0.1 to 0.3 s
    TILED = 1000000        # those from which on registers of tiles, or vectors of pairs, do it
    FEW = 64               # places up to which a filter is read where it lies: laying it out would cost as much
    MOST_ROOM = 1 << 28    # numbers of a tile from which on NumPy does it

cdef struct Sizes:         # of a convolution over three axes
    int64_t batch, c, f, groups, c_each, f_each
    int64_t[3] n, k, m, s, d, low

cdef int _brain = -1  # the number that NumPy gave bfloat16, as soon as it is known

_bits = fg_convolution_bits()
_tiles = fg_has_tiles()
_tiled = TILED


cdef object made(tuple dims, cnp.dtype descr):
    """A new array in pool memory, which a tensor takes over as it is."""
    cdef cnp.npy_intp[5] extents
    cdef int64_t count = descr.itemsize
    cdef int i, rank = len(dims)
    for i in range(rank):
        extents[i] = dims[i]
        count *= extents[i]
    cdef Block* block = block_new(count)
    if block == NULL:
        raise MemoryError(f"no memory for a result of {count} bytes")
    Py_INCREF(descr)
    cdef cnp.ndarray made = <cnp.ndarray>PyArray_NewFromDescr(
        <void*>cnp.ndarray, <void*>descr, rank, extents, NULL, block.data,
        cnp.NPY_ARRAY_C_CONTIGUOUS | cnp.NPY_ARRAY_ALIGNED, None)
    try:
        cnp.set_array_base(made, Buffer.of(block))
    finally:
        block_release(block)  # the Buffer has a reference of its own
    return made


cdef int kind_of(cnp.dtype descr, int* is_double) except -2:
    """Return how numbers of a dtype are stored; -1 for one that NumPy must multiply."""
    is_double[0] = descr.num == cnp.NPY_FLOAT64
    if not cnp.PyArray_DescrCheck(descr) or not descr.isnative:
        return -1
    if descr.num == cnp.NPY_FLOAT32 or descr.num == cnp.NPY_FLOAT64:
        return FG_NATIVE
    if descr.num == cnp.NPY_FLOAT16:
        return FG_HALF
    global _brain
    if descr.num == _brain:
        return FG_BRAIN
    if descr.itemsize != 2 or descr.name != "bfloat16":  # Python makes that name anew each time
        return -1
    _brain = descr.num
    return FG_BRAIN


cdef Sizes _sizes(tuple x, tuple filter, tuple y, object strides, object pads, object dilations) except *:
    """The sizes of a convolution of x with filter that gives y. Raises: ValueError where they do not fit each other."""
    cdef Sizes z
    cdef int rank = len(x) - 2, i, at
    if not 1 <= rank <= 3 or len(filter) != rank + 2 or len(y) != rank + 2:
        raise ValueError(f"no convolution has shapes {x}, {filter} and {y}")
    if len(strides) != rank or len(pads) != rank or len(dilations) != rank:
        raise ValueError(f"strides {strides}, pads {pads} and dilations {dilations} are not of {rank} axes")
    if min(x) < 0 or min(filter) < 1 or min(y) < 0 or min(strides) < 1 or min(dilations) < 1:
        raise ValueError(f"no convolution has shapes {x}, {filter} and {y}, strides {strides}, dilations {dilations}")
    z.batch, z.c, z.f, z.c_each = x[0], x[rank + 1], filter[rank + 1], filter[rank]
    if y[0] != x[0] or y[rank + 1] != z.f or z.c % z.c_each or z.c == 0 or z.f % (z.c // z.c_each):
        raise ValueError(f"shapes {x}, {filter} and {y} do not belong to one convolution")
    z.groups = z.c // z.c_each
    z.f_each = z.f // z.groups
    for i in range(3):
        z.n[i] = z.k[i] = z.m[i] = z.s[i] = z.d[i] = 1
        z.low[i] = 0
    for i in range(rank):
        at = 3 - rank + i
        z.n[at], z.k[at], z.m[at] = x[i + 1], filter[i], y[i + 1]
        z.s[at], z.d[at], z.low[at] = strides[i], dilations[i], pads[i][0]
        if max(z.n[at], z.k[at], z.m[at], z.s[at], z.d[at], abs(z.low[at])) >> 31:
            raise ValueError(f"convolution of {x} with {filter}, strides {strides}, dilations {dilations}: too large")
    _join_axes(&z)
    return z


cdef double _work(Sizes* z) noexcept:
    """Operations that a convolution takes, and each of its gradients."""
    return 2.0 * z.batch * z.m[0] * z.m[1] * z.m[2] * z.k[0] * z.k[1] * z.k[2] * z.c_each * z.f


cdef void _join_axes(Sizes* z) noexcept:
    """Join all pixels into one long line where all that a place sees is its own pixel."""
    cdef int i
    cdef int64_t pixels = z.batch
    for i in range(3):
        if z.k[i] != 1 or z.s[i] != 1 or z.low[i] != 0 or z.n[i] != z.m[i]:
            return
        pixels *= z.n[i]
    z.batch = z.n[0] = z.n[1] = z.m[0] = z.m[1] = 1
    z.n[2] = z.m[2] = pixels


cdef void _begin(fg_sweep* w, Sizes* z, int kind, int is_double) noexcept:
    """Begin a sweep as all of a convolution do: places are those of the result."""
    cdef int i
    memset(w, 0, sizeof(fg_sweep))
    w.kind = kind
    w.is_double = is_double
    w.batch = z.batch
    w.groups = z.groups
    w.apart = z.c_each == 1 and z.groups > 1
    w.repeat = w.fold = w.parts = w.chunks = w.pieces = 1
    for i in range(3):
        w.axis[i].n = z.n[i]
        w.axis[i].m = z.m[i]
        w.axis[i].step = z.s[i]
        w.axis[i].taps = z.k[i]
        w.axis[i].first = -z.low[i]
        w.axis[i].gap = z.d[i]
    w.axis[2].source = z.c
    w.axis[1].source = z.n[2] * z.c
    w.axis[0].source = z.n[1] * w.axis[1].source
    w.source_image = z.n[0] * w.axis[0].source
    w.axis[2].target = z.f
    w.axis[1].target = z.m[2] * z.f
    w.axis[0].target = z.m[1] * w.axis[1].target
    w.target_image = z.m[0] * w.axis[0].target
    w.channels = z.c
    w.results = z.f
    w.c = z.c_each
    w.f = z.f_each
    if w.apart:
        w.groups = 1
        w.repeat = z.f_each
        w.c = w.f = z.f


cdef bint _long_lines_last(fg_sweep* w, fg_layout* y) noexcept:
    """Exchange two axes, of the filter too, if places then lie in longer lines: blocks are of neighbours in a line."""
    cdef fg_axis axis
    if w.axis[2].m >= 6 or w.axis[1].m < 2 * w.axis[2].m:
        return False
    axis = w.axis[1]
    w.axis[1] = w.axis[2]
    w.axis[2] = axis
    y.taps[1], y.taps[2] = y.taps[2], y.taps[1]
    y.step[1], y.step[2] = y.step[2], y.step[1]
    return True


cdef bint _cut(fg_sweep* w, double work) noexcept:
    """Cut a sweep into tiles and parts. False where a tile would be too large."""
    cdef int64_t wide = fg_panel_wide(_bits, w.is_double), tiles, lanes, seen, block = 0
    cdef fg_axis* rows = &w.axis[1]
    w.part = w.f
    lanes = min(w.f, wide // w.fold * w.fold) if w.apart else w.c
    # In floating point: what far apart taps see may be more than 64 bits count.
    if <double>w.axis[0].taps * fg_seen(&w.axis[1], 1) * fg_seen(&w.axis[2], min(w.axis[2].m, 28)) * lanes > MOST_ROOM:
        return False
    if w.apart:
        if w.to_filter:
            w.part = lanes
        else:  # as many as a block may see
            block = fg_apart_block(_bits, w.is_double)
            seen = w.axis[0].taps * fg_seen(&w.axis[1], 1) * fg_seen(&w.axis[2], min(w.axis[2].m, block))
            w.part = min(w.f, max(1, FG_STRIP // (8 if w.is_double else 4) // seen // lanes) * lanes)
        w.parts = (w.f + w.part - 1) // w.part
        if not w.to_filter:  # as even as can be
            w.part = ((w.f + w.parts - 1) // w.parts + lanes - 1) // lanes * lanes
    if w.apart and not w.to_filter:
        fg_cut_apart(w, block)
    else:
        fg_cut(w, lanes)
    while not w.to_filter and rows.tile > 4 and work / (fg_tiles(w) * w.groups * w.parts) > 1.5 * PIECE:
        rows.tile = (rows.tile + 1) // 2  # threads that take large pieces wait for each other
        rows.tiles = (rows.m + rows.tile - 1) // rows.tile
    tiles = fg_tiles(w) * w.groups
    if not w.apart and not w.to_filter:
        while tiles * w.parts < 16 and work / (tiles * w.parts) > 2 * PIECE and w.part > 2 * wide:
            w.parts *= 2
            w.part = ((w.f + w.parts - 1) // w.parts + wide - 1) // wide * wide
            w.parts = (w.f + w.part - 1) // w.part
    return True


include "convolution_work.pxi"


cdef void _layout(fg_layout* y, Sizes* z, bint turned) noexcept:
    """Lay the filter out for the result; `turned`: for the gradient to the input."""
    cdef int i
    cdef int64_t tap = z.c_each * z.f
    y.first = 0
    y.groups = z.groups
    y.group = z.f_each
    for i in range(2, -1, -1):
        y.taps[i] = z.k[i]
        y.step[i] = tap
        tap *= z.k[i]
    if turned:
        y.c, y.f, y.in_, y.out = z.f_each, z.c_each, 1, z.f
    else:
        y.c, y.f, y.in_, y.out = z.c_each, z.f_each, z.f, 1


ctypedef fused Number:
    float
    double


cdef void _total(Number* chunks, int64_t count, int64_t n, Number* to) noexcept nogil:
    """to[i] = the sum of the chunks' numbers i, in order."""
    cdef int64_t i, chunk
    if to != chunks:
        for i in range(count):
            to[i] = chunks[i]
    for chunk in range(1, n):
        for i in range(count):
            to[i] += chunks[chunk * count + i]


def has_pairs():
    """True if this CPU multiplies pairs of bfloat16 and adds both products in one instruction."""
    return bool(_tiles and _bits == 512)


def forward(cnp.ndarray x not None, cnp.ndarray filter not None, tuple out, strides, pads, dilations):
    """The convolution [batch, *out, f]; None where NumPy must do it. Raises: ValueError for sizes that do not fit."""
    cdef tuple dims = (*(<object>x).shape[:1], *out, *(<object>filter).shape[filter.ndim - 1:])
    cdef Sizes z = _sizes((<object>x).shape, (<object>filter).shape, dims, strides, pads, dilations)
    cdef fg_sweep w
    cdef fg_layout y
    cdef int is_double = 0, kind = kind_of(x.descr, &is_double)
    cdef _Room held = None, laid = None  # what the sweep reads lives as long
    cdef bint turned
    cdef double work = _work(&z)
    if kind < 0 or _bits == 0 or x.descr.num != filter.descr.num:
        return None
    _begin(&w, &z, kind, is_double)
    x, filter = np.ascontiguousarray(x), np.ascontiguousarray(filter)
    result = made(dims, x.descr)
    if not (<object>result).size:
        return result
    _layout(&y, &z, False)
    turned = _long_lines_last(&w, &y)
    if not _cut(&w, work):
        return None
    w.source = cnp.PyArray_DATA(x)
    w.target = cnp.PyArray_DATA(<cnp.ndarray>result)
    w.filter = cnp.PyArray_DATA(filter)
    if kind == FG_BRAIN and _by_tiles(&w, &y, w.filter, work):
        return _finished(&w, result)
    cdef int64_t stored = _by_pairs(&w, work)
    if kind != FG_NATIVE and not stored:
        held = _wide_filter(filter, kind)
        w.filter = held.data
    if w.apart:
        w.filter_row = w.f
        if turned:
            laid = _in_order(&w, &y, w.filter, stored)
            w.filter = laid.data
    elif not turned and z.batch * z.m[0] * z.m[1] * z.m[2] <= FEW:
        w.filter_row = z.f
        w.panel = fg_panel_wide(_bits, is_double)
        w.group_panels = z.f_each
    else:
        laid = _laid(&w, &y, w.filter)
    share(_sweep_part, &w, fg_tiles(&w) * w.groups * w.parts, work)
    return _finished(&w, result)


cdef object _finished(fg_sweep* w, object result):
    """The result of a sweep. Raises: MemoryError if there was none for its tiles."""
    if w.failed:
        raise MemoryError("no memory for a tile of a convolution")
    return result


cdef int64_t _by_pairs(fg_sweep* w, double work) noexcept:
    """Let a sweep apart of bfloat16 be done by vectors of pairs; the bytes of a number of its filter then, or 0."""
    return 2 if w.apart and _tiles and _bits == 512 and work >= _tiled and fg_apart_by_pairs(w) else 0


cdef _Room _in_order(fg_sweep* w, fg_layout* y, const void* filter, int64_t size):
    """The taps of a sweep apart in its order: [taps, lanes]; numbers of `size` bytes, 0: as they are computed with."""
    cdef int64_t t0, t1, t2, tap, lanes = w.f, at = 0
    size = size or (8 if w.is_double else 4)
    cdef _Room room = _Room(y.taps[0] * y.taps[1] * y.taps[2] * lanes * size)
    for t0 in range(y.taps[0]):
        for t1 in range(y.taps[1]):
            for t2 in range(y.taps[2]):
                tap = y.first + t0 * y.step[0] + t1 * y.step[1] + t2 * y.step[2]
                memcpy(<char*>room.data + at, <char*>filter + tap * size, lanes * size)
                at += lanes * size
    return room


cdef int64_t _phase(fg_axis* axis, fg_layout* y, int i, Sizes* z, int64_t r) noexcept:
    """Make an axis that of the input's elements r, r + stride, ... and the windows they are in; the number of taps."""
    cdef int64_t s = z.s[i], d = z.d[i], t = 0, every, g = s, h = d, taps, last
    while h:
        g, h = h, g % h
    every = s // g  # of the taps, every so manieth
    while t < min(every, z.k[i]) and (r + z.low[i] - t * d) % s:
        t += 1
    axis.m = (z.n[i] - r + s - 1) // s if z.n[i] > r else 0
    axis.step = 1
    if t >= min(every, z.k[i]):
        return 0
    taps = (z.k[i] - 1 - t) // every + 1
    last = t + (taps - 1) * every
    axis.taps = taps
    axis.first = (r + z.low[i] - last * d) // s  # divides without a remainder
    axis.gap = d // g
    y.taps[i] = taps
    y.first += last * y.step[i]
    y.step[i] *= -every
    return taps


def input_gradient(tuple dims, cnp.ndarray filter not None, cnp.ndarray dy not None, strides, pads, dilations):
    """The gradient of an input of shape `dims` for dy; None where NumPy must do it.

    Raises: ValueError for sizes that do not fit.
    """
    cdef Sizes z = _sizes(dims, (<object>filter).shape, (<object>dy).shape, strides, pads, dilations)
    cdef fg_sweep w, all
    cdef fg_layout y, whole
    cdef int i, is_double = 0, kind = kind_of(dy.descr, &is_double)
    cdef int64_t r0, r1, r2, taps, stored, seen = 0
    cdef double work = _work(&z)
    cdef _Room held = None, laid = None
    cdef void* narrow
    if kind < 0 or _bits == 0 or dy.descr.num != filter.descr.num:
        return None
    _begin(&all, &z, kind, is_double)
    if all.apart and z.f_each > fg_panel_wide(_bits, is_double):
        all.apart = False  # a result's lanes would not fit its panel
        all.groups = z.groups
    filter, dy = np.ascontiguousarray(filter), np.ascontiguousarray(dy)
    # Places are now those of the input, and the source is dy.
    for i in range(3):
        all.axis[i].n = z.m[i]
        all.axis[i].source, all.axis[i].target = all.axis[i].target, all.axis[i].source
    all.source_image, all.target_image = all.target_image, all.source_image
    all.channels, all.results = z.f, z.c
    all.repeat = 1
    if all.apart:
        all.fold = z.f_each
    else:
        all.c, all.f = z.f_each, z.c_each
    _layout(&whole, &z, True)
    for i in range(3):
        taps = 0
        for r0 in range(min(z.s[i], z.n[i])):
            w = all
            y = whole
            taps += _phase(&w.axis[i], &y, i, &z, r0) > 0
        seen += taps < min(z.s[i], z.n[i])
    result = made(dims, dy.descr)
    if not (<object>result).size:
        return result
    all.source = cnp.PyArray_DATA(dy)
    all.target = cnp.PyArray_DATA(<cnp.ndarray>result)
    if seen or not (<object>dy).size:  # there are elements that no window sees
        memset(all.target, 0, (<object>result).nbytes)
    if not (<object>dy).size:
        return result
    all.filter = narrow = cnp.PyArray_DATA(filter)
    for r0 in range(min(z.s[0], z.n[0])):
        for r1 in range(min(z.s[1], z.n[1])):
            for r2 in range(min(z.s[2], z.n[2])):
                w = all
                y = whole
                if not (_phase(&w.axis[0], &y, 0, &z, r0) and _phase(&w.axis[1], &y, 1, &z, r1)
                        and _phase(&w.axis[2], &y, 2, &z, r2)):
                    continue
                w.target = <char*>all.target + (
                    r0 * w.axis[0].target + r1 * w.axis[1].target + r2 * w.axis[2].target
                ) * dy.descr.itemsize
                for i in range(3):
                    w.axis[i].target *= z.s[i]
                _long_lines_last(&w, &y)
                if not _cut(&w, work / (z.s[0] * z.s[1] * z.s[2])):
                    return None
                if kind == FG_BRAIN and _by_tiles(&w, &y, narrow, work / (z.s[0] * z.s[1] * z.s[2])):
                    _finished(&w, result)
                    continue
                stored = _by_pairs(&w, work / (z.s[0] * z.s[1] * z.s[2]))
                if kind != FG_NATIVE and not stored:
                    held = held or _wide_filter(filter, kind)
                    w.filter = held.data
                if w.apart:
                    laid = _in_order(&w, &y, w.filter, stored)
                    w.filter = laid.data
                    w.filter_row = w.f
                else:
                    laid = _laid(&w, &y, w.filter)
                share(_sweep_part, &w, fg_tiles(&w) * w.groups * w.parts, work / (z.s[0] * z.s[1] * z.s[2]))
                _finished(&w, result)
    return result


def filter_gradient(cnp.ndarray x not None, tuple dims, cnp.ndarray dy not None, strides, pads, dilations):
    """The gradient of a filter of shape `dims` for dy; None where NumPy must do it.

    Raises: ValueError for sizes that do not fit.
    """
    cdef Sizes z = _sizes((<object>x).shape, dims, (<object>dy).shape, strides, pads, dilations)
    cdef fg_sweep w
    cdef int is_double = 0, kind = kind_of(x.descr, &is_double)
    cdef double work = _work(&z)
    cdef int64_t tiles, count, most
    if kind < 0 or _bits == 0 or x.descr.num != dy.descr.num:
        return None
    _begin(&w, &z, kind, is_double)
    x, dy = np.ascontiguousarray(x), np.ascontiguousarray(dy)
    result = made(dims, x.descr)
    if not (<object>result).size:
        return result
    if not (<object>dy).size:
        memset(cnp.PyArray_DATA(<cnp.ndarray>result), 0, (<object>result).nbytes)
        return result
    w.to_filter = 1
    if not _cut(&w, work):
        return None
    w.source = cnp.PyArray_DATA(x)
    w.filter = cnp.PyArray_DATA(dy)
    w.window = z.k[0] * z.k[1] * z.k[2] * (1 if w.apart else z.c_each)
    if _filter_by_tiles(&w, cnp.PyArray_DATA(<cnp.ndarray>result), work):
        return _finished(&w, result)
    count = (<object>result).size
    tiles = fg_tiles(&w)
    # Sums of chunks take memory, pieces of rows copy what they see once more each.
    most = max(<int64_t>1, min(<int64_t>16, (1 << 20) // count))
    w.chunks = max(<int64_t>1, min(min(tiles, most), <int64_t>(work / PIECE)))
    w.pieces = w.parts
    if not w.apart and w.chunks < 8 and work > 8.0 * PIECE:
        w.pieces = max(<int64_t>1, min(8 // w.chunks, w.window // 56))
    cdef void* target = cnp.PyArray_DATA(<cnp.ndarray>result)
    cdef _Room room = None
    w.target = target
    if w.chunks > 1 or kind != FG_NATIVE:
        room = _Room(w.chunks * count * (8 if is_double else 4))
        w.target = room.data
    share(_filter_part, &w, w.chunks * w.pieces, work)
    _finished(&w, result)
    if room is None:
        return result
    with nogil:
        if is_double:
            _total(<double*>w.target, count, w.chunks, <double*>target)
        else:
            _total(<float*>w.target, count, w.chunks, <float*>target if kind == FG_NATIVE else <float*>w.target)
            if kind != FG_NATIVE:
                fg_narrowed(<uint16_t*>target, <float*>w.target, count, kind)
    return result
