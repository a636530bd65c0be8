"""TensorArrays of a graph whose entries may differ in shape (infer_shape=False): held as `variable_shape_entries`."""

from __future__ import annotations

from typing import Any

from fastgraph.composites.eager_tensor_array import TensorArray
from fastgraph.composites.symbolic_tensor_array import TracedTensorArray
from fastgraph.composites.tensor_list_shape import ListShape
from fastgraph.composites.variable_shape_entries import MOST_DIMENSIONS, WIDTH, nothing, parts_of, row_of
from fastgraph.core.base.dtype import int32, int64
from fastgraph.core.base.shapes import Shape, dims_text
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, convert, current_trace
from fastgraph.ops.arguments import as_tensor, known_value
from fastgraph.ops.comparison import equal, greater, logical_or
from fastgraph.ops.creation import ones, range_, zeros
from fastgraph.ops.elementwise import cast, maximum, minimum
from fastgraph.ops.gathering import gather, where
from fastgraph.ops.joining import concat, unstack
from fastgraph.ops.movement import reshape, size
from fastgraph.ops.movement import shape as shape_of_tensor
from fastgraph.ops.reduction import reduce_all, reduce_max, reduce_prod, reduce_sum
from fastgraph.ops.runtime_assertions import Assert
from fastgraph.ops.scans import cumsum
from fastgraph.ops.scatter import tensor_scatter_update_p
from fastgraph.ops.tensor_lists import list_extend, list_get, list_grow, list_push, list_reserve, list_set, list_trim
from fastgraph.ops.tiling import repeat, tile


class UnevenTensorArray(TracedTensorArray):
    """A TensorArray of a graph under construction whose entries may differ in shape. See TensorArray."""

    _flat: Any = None
    _places: Any = None
    _used: Any = None

    def _become(self, spec: Any, buffer: Any, count: Any) -> None:
        self._dtype, self._dynamic_size, self._infer_shape = spec._dtype, spec._dynamic_size, spec._infer_shape
        self._clear_after_read = False
        self._entries = self._buffer = None
        self._flat, self._places, self._used = buffer
        self._count = count
        element = None if spec._element_shape.rank is None else tuple(spec._element_shape)
        rows = self._places.aval.shape[0]
        trace = getattr(self._flat, "trace", None)
        shape = spec._shape
        if shape is None or not shape.serves(trace):
            shape = ListShape(None if self._dynamic_size else rows, element, trace)
            shape.note_rank(None)
        self._shape = shape

    def _set_unknown_size(self, n: TensorLike) -> None:
        self._entries = None
        self._flat, self._used = nothing(self._dtype), convert(0, int32)
        self._places = list_reserve(cast(n, int32), dtype="int32", element=(WIDTH,))
        if self._dynamic_size:
            self._count = cast(n, int32)
            self._places = list_grow(self._places, self._count - 1)

    def pieces(self) -> tuple[Any, ...]:
        """Return the numbers, the places, how many numbers count, and how many places where there may be more."""
        self._unused = None
        if self._entries is None:
            pieces = self._flat, self._places, self._used
            return pieces if self._count is None else (*pieces, self._count)
        flat, places, used = parts_of(self._entries, self._dtype)
        count = convert(len(self._entries), int32) if self._dynamic_size else None
        if count is not None:
            places = list_grow(places, count - 1)
        if current_trace() is self._shape.trace:
            self._entries, self._flat, self._places, self._used, self._count = None, flat, places, used, count
        return (flat, places, used) if count is None else (flat, places, used, count)

    def _buffer_here(self) -> Any:
        return self.pieces()[0]

    def _held(self) -> tuple[Any, Any]:
        """The numbers, and the places of the entries that there are."""
        flat, places, _, *count = self.pieces()
        return flat, list_trim(places, count[0]) if count else places

    def size(self, name: str | None = None) -> Any:
        """Return the number of entries. -> i32[]."""
        self._unused = None
        if self._entries is not None:
            return convert(len(self._entries), int32)
        return self._count if self._count is not None else shape_of_tensor(self._places)[0]

    def _expect(self, dims: Shape) -> None:
        self._shape.note_rank(None if dims is None else len(dims))
        if self._shape.element is not None:
            super()._expect(dims)

    def _changed(self, flat: Tensor, places: Tensor, used: Tensor, count: Tensor | None) -> UnevenTensorArray:
        made: Any = self._copy()
        made._entries, made._flat, made._places, made._used, made._count = None, flat, places, used, count
        return made

    def _written(self, at: object, entry: object) -> UnevenTensorArray:
        flat, places, used, *count = self.pieces()
        row = row_of(used, shape_of_tensor(entry))
        row.set_shape((WIDTH,))
        places = (list_push if count else list_set)(places, at, row)
        last = maximum(count[0], cast(at, int32) + 1) if count else None
        return self._changed(list_extend(flat, used, reshape(entry, [-1])), places, used + size(entry), last)

    def read(self, index: object, name: str | None = None) -> Any:
        """Return the entry `index`.

        Raises InvalidArgumentError when the graph runs for one that is not there or was never written.
        """
        at = index if type(index) is int else as_tensor(index)
        place = self._known(at)
        if place is not None and place < len(self._entries) and self._entries[place] is not None:
            return self._entry(place)
        flat, places, *_ = self.pieces()
        row = list_get(places, cast(convert(at), int32), self.size())
        Assert(
            greater(row[0], 0),
            ["Trying to read an uninitialized tensor but element_shape is not fully defined: "
             f"{dims_text(self._shape.element)}, at index", at],
        )  # fmt: skip
        begin = row[0] - 1
        found = reshape(flat[begin : begin + reduce_prod(row[2:])], row[2 : 2 + self._rank(row[1])])
        if self._shape.element is not None:
            found.set_shape(self._shape.element)
        return found

    def _rank(self, found: Tensor) -> Any:
        """Return how many dimensions an entry has: as far as that is known while tracing, else as `found` says."""
        if self._shape.element is not None:
            return len(self._shape.element)
        # Where the array was made, not in a loop's body, everything that is written to it has been seen.
        trace = current_trace()
        ranks = self._shape.ranks if trace is self._shape.trace else ()
        (rank,) = ranks if len(ranks) == 1 and trace.kind == "function" else (None,)
        return found if rank is None else rank

    def _alike(self, flat: Tensor, places: Tensor, name: str | None) -> Any:
        """The entries at these places along a new first axis; zeros for those that were not written."""
        written = greater(places[:, 0], 0)
        whole = reduce_max(concat([places[:, 1:], zeros([1, WIDTH - 1], int32)], 0), 0)
        same = reduce_all(logical_or(equal(places[:, 1:], whole), ~written[:, None]))
        Assert(same, ["The entries of a TensorArray that is stacked differ in shape: dimensions and extents",
                      places[:, 1:]], summarize=100)  # fmt: skip
        Assert(reduce_max(concat([places[:, 0], zeros([1], int32)], 0)) > 0,
               ["Tried to stack elements of a list of which no element is set"])  # fmt: skip
        at = maximum(places[:, :1] - 1, 0) + range_(reduce_prod(whole[1:]))[None, :]
        numbers = gather(flat, minimum(at, maximum(size(flat) - 1, 0)))
        numbers = where(written[:, None], numbers, zeros([], self._dtype))
        dims = concat([shape_of_tensor(places)[:1], whole[1 : 1 + self._rank(whole[0])]], 0)
        found = reshape(numbers, dims, name)
        if self._shape.element is not None:
            found.set_shape((None, *self._shape.element))
        return found

    def stack(self, name: str | None = None) -> Any:
        """Return all entries along a new first axis. -> t[n, *element].

        Raises InvalidArgumentError when the graph runs for entries that differ in shape.
        """
        if self._entries and all(entry is not None for entry in self._entries):
            return super().stack(name)
        return self._alike(*self._held(), name)

    def gather(self, indices: object, name: str | None = None) -> Any:
        """Return the entries that `indices` names along a new first axis. i[n] -> t[n, *element]."""
        flat, places = self._held()
        return self._alike(flat, gather(places, indices), name)

    def concat(self, name: str | None = None) -> Any:
        """Return all entries joined along their first axis. -> t[sum of n, *rest].

        Raises InvalidArgumentError when the graph runs for scalars, and for entries that were never written.
        """
        if self._entries and all(entry is not None for entry in self._entries):
            return super().concat(name)
        flat, places = self._held()
        Assert(reduce_all(greater(places[:, 0], 0)), ["List contains uninitialized tensor: the places are",
                                                      places[:, 0]], summarize=100)  # fmt: skip
        Assert(reduce_all(greater(places[:, 1], 0)),
               ["Concat requires elements to be at least vectors, found scalars instead."])  # fmt: skip
        whole = reduce_max(concat([ones([1, WIDTH], int32), places], 0), 0)
        Assert(reduce_all(equal(places[:, 3:], whole[3:])),
               ["Tried to concat list elements whose shapes differ after the first dimension"])  # fmt: skip
        lengths = reduce_prod(places[:, 2:], 1)
        begins = places[:, 0] - 1 - cumsum(lengths, exclusive=True)
        at = repeat(begins, lengths) + range_(reduce_sum(lengths))
        dims = concat([reshape(reduce_sum(places[:, 2]), [1]), whole[3 : 2 + self._rank(whole[1])]], 0)
        found = reshape(gather(flat, at), dims, name)
        if self._shape.element:
            found.set_shape((None, *self._shape.element[1:]))
        return found

    def _rows_of(self, starts: Tensor, lengths: TensorLike | None, rest: Tensor) -> Any:
        """Places of entries that begin at `starts` and have the extents [length, *rest]. i32[k, WIDTH]."""
        n = shape_of_tensor(starts)[0]
        rank = shape_of_tensor(rest)[0] + (lengths is not None)
        after = concat([rest, ones(reshape(MOST_DIMENSIONS - rank, [1]), int32)], 0)
        columns = [] if lengths is None else [reshape(lengths, [-1, 1])]
        known = None if rest.aval.shape is None else rest.aval.shape[0]
        self._shape.note_rank(None if known is None else known + (lengths is not None))
        same = [reshape(rank, [1, 1]), reshape(after, [1, -1])]
        same = [tile(each, concat([reshape(n, [1]), [1]], 0)) for each in same]
        found = concat([reshape(starts + 1, [-1, 1]), same[0], *columns, same[1]], 1)
        found.set_shape((found.aval.shape and found.aval.shape[0], WIDTH))
        return found

    def unstack(self, value: object, name: str | None = None) -> TensorArray:
        """Return a TensorArray whose entries are the parts of `value` along its first axis. t[n, *element]."""
        whole = as_tensor(value, self._dtype)
        known = whole.aval.shape[0] if whole.aval.shape else None
        if known is not None and self._entries is not None and (known <= len(self._entries) or self._dynamic_size):
            made: Any = self._copy()
            made._entries = (*unstack(whole, axis=0), *self._entries[known:])
            return made
        dims = shape_of_tensor(whole)
        flat = concat([nothing(self._dtype), reshape(whole, [-1])], 0)
        places = self._rows_of(range_(dims[0]) * reduce_prod(dims[1:]), None, dims[1:])
        if not self._dynamic_size:
            return self._changed(flat, places, size(whole), None)
        return self._changed(flat, list_grow(places, dims[0] - 1), size(whole), dims[0])

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Return the TensorArray with the parts of `value` as the entries at `indices`. i[n], t[n, *element]."""
        at, whole = as_tensor(indices), as_tensor(value, self._dtype)
        if known_value(at) is not None and self._entries is not None and whole.aval.shape and whole.aval.shape[0]:
            return super().scatter(at, whole, name)
        flat, places, used, *count = self.pieces()
        dims = shape_of_tensor(whole)
        rows = self._rows_of(used + range_(dims[0]) * reduce_prod(dims[1:]), None, dims[1:])
        last = None
        if count:
            greatest = reduce_max(concat([cast(at, int32), convert([-1], int32)], 0))
            places, last = list_grow(places, greatest), maximum(count[0], greatest + 1)
        places = tensor_scatter_update_p(places, reshape(at, [-1, 1]), rows)
        return self._changed(list_extend(flat, used, reshape(whole, [-1])), places, used + size(whole), last)

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Return a TensorArray of pieces of `value` of these lengths along its first axis. t[n, *rest], i[k].

        Raises InvalidArgumentError where the lengths do not fit `value`.
        """
        whole, given = as_tensor(value, self._dtype), as_tensor(lengths)
        if known_value(given) is not None and self._entries is not None and not isinstance(lengths, Tensor):
            return super().split(whole, lengths, name)
        total, dims = reduce_sum(cast(given, int64)), shape_of_tensor(whole)
        Assert(equal(total, cast(dims[0], int64)),
               ["Expected sum of lengths to be equal to values.shape[0], but sum of lengths is", total,
                "and value's shape is", dims])  # fmt: skip
        given = cast(given, int32)
        flat = concat([nothing(self._dtype), reshape(whole, [-1])], 0)
        places = self._rows_of(cumsum(given, exclusive=True) * reduce_prod(dims[1:]), given, dims[1:])
        if not self._dynamic_size:
            return self._changed(flat, places, size(whole), None)
        n = shape_of_tensor(places)[0]
        return self._changed(flat, list_grow(places, n - 1), size(whole), n)


TracedTensorArray.uneven = UnevenTensorArray
