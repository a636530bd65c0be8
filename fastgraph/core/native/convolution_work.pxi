# Part of convolutions.pyx: work that threads share: sweeps, filters laid out for them, registers of tiles.

cdef struct Laying:
    fg_sweep* sweep
    fg_layout* layout
    int is_double
    void* to
    const void* source


cdef void _sweep_part(void* context, int64_t first, int64_t last) noexcept nogil:
    fg_sweep_units(_bits, <fg_sweep*>context, first, last)


cdef void _filter_part(void* context, int64_t first, int64_t last) noexcept nogil:
    fg_filter_units(_bits, <fg_sweep*>context, first, last)


cdef void _tile_part(void* context, int64_t first, int64_t last) noexcept nogil:
    fg_tile_units(<fg_sweep*>context, first, last)


cdef void _filter_tile_part(void* context, int64_t first, int64_t last) noexcept nogil:
    fg_filter_tile_units(<fg_sweep*>context, first, last)


cdef void _filter_total_part(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Laying* of = <Laying*>context
    fg_filter_totals(of.sweep, <uint16_t*>of.to, first, last)


cdef struct Slice:
    part_t part
    void* context
    int64_t first


cdef void _slice_part(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Slice* of = <Slice*>context
    of.part(of.context, of.first + first, of.first + last)


cdef int share(part_t part, void* context, int64_t units, double work) except -1:
    """part(context, first, last) for runs of the units, which take `work` operations together; asks for signals."""
    cdef Slice some
    cdef double each = work / units if units else 0
    cdef int64_t slice, count
    if units < 1:
        return 0
    slice = max(<int64_t>1, <int64_t>(PAUSE / max(each, 1)))
    some.part = part
    some.context = context
    some.first = 0
    while some.first < units:
        count = min(slice, units - some.first)
        with nogil:
            if work < SHARED or pool_threads() == 1:
                part(context, some.first, some.first + count)
            else:
                pool_share(_slice_part, &some, count, max(<int64_t>1, <int64_t>(PIECE / max(each, 1))))
        some.first += count
        if some.first < units:
            PyErr_CheckSignals()
    return 0


cdef void _lay_part(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Laying* of = <Laying*>context
    fg_lay(_bits, of.is_double, of.layout, of.to, of.source, first, last)


cdef class _Room:
    """Memory of the pool's for the time of a call, in whole lines of the cache: what crosses two of them is read twice.
    """
    cdef Block* block
    cdef void* data

    def __cinit__(self, int64_t nbytes):
        self.block = block_new(max(nbytes, 1))
        if self.block == NULL:
            raise MemoryError(f"no memory for {nbytes} bytes")
        self.data = self.block.data

    def __dealloc__(self):
        block_release(self.block)


cdef _Room _wide_filter(cnp.ndarray filter, int kind):
    """A filter of 16-bit floats in float32."""
    cdef int64_t n = filter.size
    cdef _Room room = _Room(n * 4)
    cdef void* data = cnp.PyArray_DATA(filter)
    with nogil:
        fg_widened(<float*>room.data, <uint16_t*>data, n, kind)
    return room


cdef _Room _laid(fg_sweep* w, fg_layout* y, const void* filter):
    """The filter in the order in which a dense sweep reads it: panels of two vectors."""
    cdef int64_t wide = fg_panel_wide(_bits, w.is_double), panels = (y.f + wide - 1) // wide
    cdef int64_t rows = y.taps[0] * y.taps[1] * y.taps[2] * y.c
    cdef _Room room = _Room((rows * wide * panels * y.groups + 16) * (8 if w.is_double else 4))
    cdef Laying of
    of.layout = y
    of.is_double = w.is_double
    of.to = room.data
    of.source = filter
    share(_lay_part, &of, panels * y.groups, <double>rows * wide * panels * y.groups * 8)
    w.filter = room.data
    w.filter_row = wide
    w.panel = rows * wide
    w.group_panels = panels * w.panel
    return room


cdef void _lay_tiles_part(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Laying* of = <Laying*>context
    fg_lay_tiles(<fg_sweep*>of.sweep, of.layout, <uint16_t*>of.to, <uint16_t*>of.source, first, last)


cdef bint _by_tiles(fg_sweep* w, fg_layout* y, const void* filter, double work) except -1:
    """Do a dense sweep of bfloat16 by registers of tiles; False, having done nothing, where that does not serve."""
    cdef int64_t panels = (y.f + 31) // 32
    cdef Laying of
    cdef _Room room
    cdef fg_axis* columns = &w.axis[2]
    if not _tiles or _bits != 512 or w.kind != FG_BRAIN or w.apart or work < _tiled:
        return False
    w.tiles = _tiles
    fg_cut_runs(w)
    fg_cut(w, (w.tile_c + 1) // 2)
    if columns.tiles > 1 and _tiles > 1:
        columns.tile = (columns.tile + 31) // 32 * 32
        columns.tiles = (columns.m + columns.tile - 1) // columns.tile
    room = _Room(panels * y.groups * fg_tile_panel(w) * 2)
    of.sweep = w
    of.layout = y
    of.to = room.data
    of.source = filter
    share(_lay_tiles_part, &of, panels * y.groups, <double>panels * y.groups * fg_tile_panel(w) * 8)
    w.filter = room.data
    # Of short sums most of the time goes to the results.
    work = work / 4 + 16.0 * w.batch * w.axis[0].m * w.axis[1].m * columns.m * w.f * w.groups
    share(_tile_part, w, fg_tiles(w) * w.groups * w.parts, work)
    return True


cdef bint _filter_by_tiles(fg_sweep* w, void* to, double work) except -1:
    """Make the gradient to a filter of bfloat16 by registers of tiles; False, having done nothing, where not."""
    cdef int64_t units, count
    cdef Laying of
    cdef _Room room
    cdef fg_sweep some = w[0]
    if not _tiles or _bits != 512 or w.kind != FG_BRAIN or w.apart or work < _tiled:
        return False
    some.tiles = _tiles
    if not fg_cut_to_filter(&some, 1):
        return False
    w[0] = some
    count = fg_unit_blocks(w) * fg_chunk_units(w) * 256
    w.chunks = max(<int64_t>1, min(min(fg_tiles(w) // w.together, <int64_t>(work / (8 * PIECE))),
                                   min(<int64_t>16, (1 << 20) // count)))
    if w.chunks < 8 and work > 64.0 * PIECE:
        fg_cut_to_filter(w, (7 + w.chunks) // w.chunks)
    units = fg_chunk_units(w)
    count = fg_unit_blocks(w) * units * 256
    room = _Room(w.chunks * count * 4 + 64)
    w.target = <void*>((<size_t>room.data + 63) // 64 * 64)
    share(_filter_tile_part, w, w.chunks * units, work / 8)
    if w.failed:
        return True
    of.sweep = w
    of.to = to
    share(_filter_total_part, &of, units, <double>count * w.chunks)
    return True
