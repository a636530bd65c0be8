"""Parts of Variables: slices that are assigned, rows that are scattered, elements named by index vectors.

Rule: rows are changed one after the other in the order in which they are given, in place where nothing but the Cell
refers to the memory; a row that does not exist is an error, and then nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fastgraph.core import cells
from fastgraph.core import registry as primitives
from fastgraph.core.base.dtype import int32, int64
from fastgraph.core.base.shapes import dims_text
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native.buffer import Cell
from fastgraph.core.registry import Primitive
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor, as_array, bind, cell_read, convert, from_array
from fastgraph.ops.families import invalid

#: Updates of a row, in the order of the numbers that `cells.scatter_rows` takes.
KINDS = ("update", "add", "sub", "mul", "div", "min", "max")
_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def _change(how: str, array: np.ndarray, rows: np.ndarray, updates: np.ndarray) -> None:
    """Change rows of `array`, which nobody else sees."""
    if how == "update":
        array[rows] = updates
        return
    with np.errstate(all="ignore"):
        if how == "div" and array.dtype.kind in "iu":
            if not np.all(updates):
                raise invalid("Integer division by zero")
            for row, update in zip(rows, updates, strict=True):  # towards zero, as C divides
                array[row] = np.trunc(array[row] / update).astype(array.dtype)
        else:
            _UFUNCS[how].at(array, rows, updates)


def _checked(dims: tuple[int, ...], indices: np.ndarray, updates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows as int64, and an update for each. InvalidArgumentError where they do not fit the value."""
    if not dims:
        raise invalid("a scalar has no rows to scatter to")
    wanted = (*indices.shape, *dims[1:])
    if updates.shape not in ((), wanted):
        raise invalid(
            f"Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
            f"updates.shape {dims_text(updates.shape)}, indices.shape {dims_text(indices.shape)}, params.shape "
            f"{dims_text(dims)}"
        )
    bad = (indices < 0) | (indices >= dims[0])
    if bad.any():
        first = np.unravel_index(int(np.argmax(bad)), indices.shape)
        place = ",".join(str(int(i)) for i in first)
        raise invalid(f"indices[{place}] = {int(indices[first])} is not in [0, {dims[0]})")
    return indices.reshape(-1).astype(np.int64), np.broadcast_to(updates, wanted).reshape(indices.size, *dims[1:])


def _body(how: str) -> Callable[..., tuple[()]]:
    kind = KINDS.index(how)

    def scatter(cell: Cell, indices: np.ndarray, updates: np.ndarray) -> tuple[()]:
        dtype = cell.aval.dtype
        if cells.scatter_rows(cell, kind, from_array(indices, None, False), from_array(updates, dtype, False)):
            return ()
        while True:  # until nobody assigned in between
            dims = cell_read(cell).dims  # not held: while we refer to the memory it cannot be written
            rows, given = _checked(dims, indices, updates)
            if cells.scatter_rows(cell, kind, from_array(rows), from_array(given, dtype, False)):
                return ()
            before = cell_read(cell)
            if before.dims != dims:
                continue
            value = np.array(as_array(before))
            _change(how, value, rows, given)
            # Copied into memory of its own, where the next rows are changed in place.
            if cells.replace(cell, before, from_array(value, dtype, True)):
                return ()

    return scatter


def _primitive(how: str) -> Primitive:
    return primitives.register(
        Primitive(
            f"scatter_{how}_variable",
            op_type=f"ResourceScatter{how.capitalize()}",
            body=_body(how),
            infer=lambda *avals, **attrs: (),
            n_outputs=0,
            inputs=("resource", "indices", "updates"),
            groups=("resource", "I", "-"),
            dtypes={"I": (int32, int64)},
            effect="write",
            reason="it writes some rows of a table in place, which a kernel would copy",
        )
    )


SCATTER = {how: _primitive(how) for how in KINDS}


class Parts:
    """The methods of a Variable for its parts. Each returns as `assign` does."""

    if TYPE_CHECKING:
        __fg_cell__: Cell
        _name: str
        dtype: Any
        shape: Any
        value: Callable[[], Any]
        assign: Callable[..., Any]
        assign_add: Callable[..., Any]
        _after_assign: Callable[[], Any]

    def scatter_update(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Replace the rows that an IndexedSlices names by its own; of one row named twice the last counts."""
        return self._scatter("update", sparse_delta)

    def scatter_add(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Add the rows of an IndexedSlices to those they name."""
        return self._scatter("add", sparse_delta)

    def scatter_sub(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Subtract the rows of an IndexedSlices from those they name."""
        return self._scatter("sub", sparse_delta)

    def scatter_mul(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Multiply the rows that an IndexedSlices names by its own."""
        return self._scatter("mul", sparse_delta)

    def scatter_div(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Divide the rows that an IndexedSlices names by its own."""
        return self._scatter("div", sparse_delta)

    def scatter_min(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Replace elements of the rows that an IndexedSlices names where its own are smaller."""
        return self._scatter("min", sparse_delta)

    def scatter_max(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Replace elements of the rows that an IndexedSlices names where its own are larger."""
        return self._scatter("max", sparse_delta)

    def _scatter(self, how: str, slices: IndexedSlices) -> Any:
        if getattr(slices, "indices", None) is None or getattr(slices, "values", None) is None:
            raise TypeError(f"Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: {slices}")
        bind(SCATTER[how], (self.__fg_cell__, slices.indices, convert(slices.values, self.dtype)), {})
        return self._after_assign()

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Replace rows in each batch: value[b, indices[b, i]] = values[b, i], for any number of batch dimensions."""
        indices: Any = convert(sparse_delta.indices)
        batches = indices.shape.as_list()[:-1]
        fold = primitives.public_function("stack")
        grid = np.indices((*batches, indices.shape[-1]))[:-1]
        return self.scatter_nd_update(
            fold([*[convert(g, indices.dtype) for g in grid], indices], -1), sparse_delta.values
        )

    def scatter_nd_update(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Replace the elements or slices that index vectors name. indices: i[*b, depth], updates: t[*b, *rest]."""
        return self._scatter_nd("update", indices, updates)

    def scatter_nd_add(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Add to the elements or slices that index vectors name. indices: i[*b, depth], updates: t[*b, *rest]."""
        return self._scatter_nd("add", indices, updates)

    def scatter_nd_sub(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Subtract from the elements or slices that index vectors name: i[*b, depth], t[*b, *rest]."""
        return self._scatter_nd("sub", indices, updates)

    def scatter_nd_min(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Keep the smaller of elements and updates. indices: i[*b, depth], updates: t[*b, *rest]."""
        return self._scatter_nd("min", indices, updates)

    def scatter_nd_max(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        """Keep the larger of elements and updates. indices: i[*b, depth], updates: t[*b, *rest]."""
        return self._scatter_nd("max", indices, updates)

    def _scatter_nd(self, how: str, indices: TensorLike, updates: TensorLike) -> Any:
        scatter = primitives.public_function(f"tensor_scatter_nd_{how}")
        return self.assign(scatter(self.value(), indices, convert(updates, self.dtype)))

    def _assign_part(self, key: object, value: TensorLike, name: str | None = None) -> Any:
        """Replace what self[key] is. Returns as `assign` does. Raises ValueError where the shape does not fit."""
        whole = self.value()
        given = convert(value, self.dtype)
        function = primitives.public_function
        flat = function("range")(function("size")(whole))
        places = function("reshape")(flat, function("shape")(whole))[key]
        given = function("broadcast_to")(given, function("shape")(places))
        changed = function("tensor_scatter_nd_update")(
            function("reshape")(whole, [-1]), function("expand_dims")(places, -1), given
        )
        return self.assign(function("reshape")(changed, function("shape")(whole)))

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return the elements or slices that index vectors name. i[*b, depth] -> t[*b, *rest]."""
        return primitives.public_function("gather_nd")(self.value(), indices, name=name)

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return the rows that `indices` name. i[*s] -> t[*s, *rest]."""
        return primitives.public_function("gather")(self.value(), indices, name=name)

    def count_up_to(self, limit: int) -> Tensor:
        """Add 1 to an integer scalar and return what it was before. OutOfRangeError once it has reached `limit`."""
        if not self.dtype.is_integer or self.dtype.size < 4:
            raise invalid(f"Value for attr 'T' of {self.dtype.name} is not in the list of allowed values: int32, int64")
        if self.shape.rank != 0:
            raise invalid(f"input is not a scalar: {self.shape}")
        bounds = [convert(n, self.dtype) for n in (self.dtype.min, limit - 1)]
        text = {"text": f"Reached limit of {limit}", "beyond": True}
        before: Tensor = bind(primitives.get("within"), (self.value(), *bounds), text)
        self.assign(before + 1)
        return before
