"""Indexing: tensor[key] with integers, slices, ..., newaxis and integer tensors; boolean masks go to their own op.

Rule: a key becomes a *spec*, a static tuple with one item per part of the key: ("i", n) an index, ("s", start, stop,
step) a slice, ("n",) a new axis, ("e",) an ellipsis. Where a number is itself a tensor it stands as "t" and takes the
next of the op's `positions`; eager tensors are read, so that happens in traces only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastgraph.core.base.dtype as dtypes
import fastgraph.core.op_errors as op_errors
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import EagerTensor, Tensor, class_has, convert, current_trace, get_slot, register_slot
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import of_dtypes, whole
from fastgraph.ops.families import (
    Array,
    Builder,
    Node,
    Operand,
    Scalar,
    body_of,
    misuse,
    movement,
    public,
    shape_text,
    validated,
)
from fastgraph.ops.runtime_checks import checked, with_extents

Spec = tuple[tuple[Any, ...], ...]
Part = tuple[Any, ...]  # of one source axis: ("i", start) or ("s", start, stop, step); numbers may be None or "t"

_INT64_MAX = 2**63 - 1


# ---- from a key to a spec --------------------------------------------------------------------------------------------


def getitem(tensor: Tensor, key: Any) -> Any:
    """tensor[key]. TypeError for what is no index, InvalidArgumentError for one out of bounds.

    Source: tf.Tensor.__getitem__.
    """
    if _is_mask(key):
        return get_slot("boolean_mask")(tensor, key)
    positions: list[Any] = []
    traced = current_trace() is not None
    if type(key) is slice and bool in map(type, (key.start, key.stop, key.step)):
        raise _no_index(key)  # among other parts of a key, bools are the numbers they are
    parts = key if isinstance(key, (tuple, list)) else (key,)
    spec = tuple([_item(part, positions, traced) for part in parts])
    if type(key) is not int:
        _check_dtypes(parts)
    return _apply(tensor, spec, positions)


def _check_dtypes(parts: Sequence[Any]) -> None:
    """Check a key's tensors for several integer types: all starts are of one, and all ends, and all steps.

    Of the three, those of a slice that are not given follow the slice's own tensors; int64 anywhere widens the others.
    """
    columns: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for part in parts:
        if isinstance(part, slice):
            given = [_own_dtype(n) for n in (part.start, part.stop, part.step)]
            numbers = [part.start, part.stop, part.step]
            own_types: list[Any] = [d for d in given if d is not None]
            widest = max(own_types, key=lambda d: d.size, default=None)
            found: list[Any] = [widest if n is None else d for n, d in zip(numbers, given, strict=True)]
        else:
            own = _own_dtype(part)
            found = [own, own, None if own is dtypes.int32 else own]
        for column, dtype in zip(columns, found, strict=True):
            column.append(dtype)
    if not any(dtype is not None for column in columns for dtype in column):
        return
    packed = []
    for column in columns:
        first: Any = next((dtype for dtype in column if dtype is not None), None)
        if set(column) - {None, first}:
            raise op_errors.mixed_dtypes("Pack", ("values",), [d or first for d in column], "stack", current_trace())
        packed.append(first or dtypes.int32)
    if dtypes.int64 not in packed and len(set(packed)) > 1:
        arguments = ("input", "begin", "end", "strides")
        raise op_errors.mixed_dtypes("StridedSlice", arguments, packed, "strided_slice/", current_trace())


def _own_dtype(number: Any) -> Any:
    """The dtype of a number in a key that is a tensor, None of any other."""
    return number.dtype if isinstance(number, Tensor) or class_has(number, "__fg_tensor__") else None


def _apply(tensor: Tensor, spec: Spec, positions: list[Any]) -> Any:
    if any(item[0] == "s" and "t" in item for item in spec):
        return strided_slice_dynamic(tensor, get_slot("pack")(_same_dtype(positions)), spec=spec)
    return strided_slice_p(tensor, *_same_dtype(positions), spec=spec)


def _is_mask(key: object) -> bool:
    if isinstance(key, bool):
        return True
    if isinstance(key, Tensor):
        return key.dtype is dtypes.bool_
    return isinstance(key, np.ndarray) and key.dtype == np.bool_


def _item(part: Any, positions: list[Any], traced: bool) -> tuple[Any, ...]:
    if part is None:
        return ("n",)
    if part is Ellipsis:
        return ("e",)
    if isinstance(part, slice):
        return ("s", *(_number(n, positions, traced) for n in (part.start, part.stop, part.step)))
    number = _number(part, positions, traced)
    if number is None:
        raise _no_index(part)
    return ("i", number)


def _number(value: Any, positions: list[Any], traced: bool) -> Any:
    """An int, None, or "t" with the tensor appended to `positions`."""
    if value is None or type(value) is int:
        return value
    if isinstance(value, Tensor) or class_has(value, "__fg_tensor__"):
        tensor = convert(value)
        if tensor.dtype not in (dtypes.int16, dtypes.int32, dtypes.int64) or tensor.shape.rank not in (None, 0):
            raise _no_index(value)
        if isinstance(tensor, EagerTensor) and not traced:
            return int(tensor)
        positions.append(get_slot("cast")(tensor, dtypes.int32) if tensor.dtype is dtypes.int16 else tensor)
        return "t"
    if isinstance(value, np.bool_) or (isinstance(value, np.ndarray) and value.ndim > 0):
        raise _no_index(value)
    try:
        return operator.index(value)
    except TypeError:
        raise _no_index(value) from None


def _no_index(value: object) -> TypeError:
    return TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are "
        f"valid indices, got {value!r}"
    )


def _same_dtype(positions: list[Any]) -> list[Any]:
    """The tensors of a key in one dtype: int64 if one of them is."""
    if len({p.dtype for p in positions}) > 1:
        cast = get_slot("cast")
        return [p if p.dtype is dtypes.int64 else cast(p, dtypes.int64) for p in positions]
    return positions


# ---- what a spec means for a shape -----------------------------------------------------------------------------------


def lay_out(spec: Spec, rank: int) -> tuple[list[Part], list[int | None]]:
    """One part per source axis, and for each axis of the result the source axis it comes from (None: a new one).

    ValueError, in TensorFlow's words, if the spec does not fit a tensor of this rank.
    """
    n_used = sum(item[0] in "is" for item in spec)
    if n_used and rank == 0:
        raise ValueError("Attempting to slice scalar input.")
    if sum(item[0] == "e" for item in spec) > 1:
        raise ValueError("Multiple ellipses in slice spec not allowed")
    if n_used > rank:
        raise ValueError(f"Index out of range using input dim {rank}; input has only {rank} dims")
    parts: list[Part] = []
    layout: list[int | None] = []
    whole = [("s", None, None, None)] * (rank - n_used)
    for item in (*spec, *(() if ("e",) in spec else (("e",),))):
        if item[0] == "n":
            layout.append(None)
            continue
        for part in whole if item[0] == "e" else (item,):
            if part[0] == "s":
                if part[3] == 0:
                    raise ValueError(f"strides[{len(parts)}] must be non-zero")
                layout.append(len(parts))
            parts.append(part)
    return parts, layout


def fill_in(spec: Spec, values: Sequence[int | None]) -> Spec:
    """`spec` with the values of its positions in place of "t"; an unknown one (None) stays "t"."""
    rest = iter(values)

    def number(n: Any) -> Any:
        if n != "t":
            return n
        value = next(rest)
        return "t" if value is None else int(value)

    return tuple([(item[0], *[number(n) for n in item[1:]]) for item in spec])


def _length(part: Part, extent: int | None) -> int | None:
    start, stop, step = part[1:]
    if start is None and stop is None and step in (None, 1, -1):
        return extent
    if extent is None or "t" in part:
        return None
    return len(range(*slice(start, stop, step).indices(extent)))


def _check_index(index: Any, extent: int | None, axis: int) -> None:
    if index == "t" or extent is None:
        return
    if not -extent <= index < extent:
        raise ValueError(f"slice index {index if index >= 0 else index + extent} of dimension {axis} out of bounds.")


def sliced_shape(spec: Spec, shape: tuple[int | None, ...] | None) -> tuple[int | None, ...] | None:
    """The shape of x[spec] where x has `shape`. ValueError if the spec does not fit."""
    if shape is None:
        return None
    parts, layout = lay_out(spec, len(shape))
    for axis, part in enumerate(parts):
        if part[0] == "i":
            _check_index(part[1], shape[axis], axis)
    return tuple([1 if axis is None else _length(parts[axis], shape[axis]) for axis in layout])


def numpy_key(spec: Spec, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """`spec`, with no "t" left, as NumPy's basic index into an array of `shape`.

    InvalidArgumentError if it does not fit.
    """
    validated(sliced_shape, spec, shape)
    make: dict[str, Callable[..., Any]] = {"n": lambda: None, "e": lambda: Ellipsis, "i": lambda n: n, "s": slice}
    return tuple([make[item[0]](*item[1:]) for item in spec])


# ---- kernels ---------------------------------------------------------------------------------------------------------


def position_values(positions: Sequence[np.ndarray[Any, Any]]) -> list[int]:
    """The numbers of a spec's positions: scalars, or one vector."""
    return [int(n) for p in positions for n in np.reshape(p, -1)]


def _known(avals: Sequence[Aval], spec: Spec) -> Spec:
    """`spec` with what is known of its positions while shapes are inferred."""
    n = sum(item[1:].count("t") for item in spec)
    values: list[int | None] = []
    for aval in avals:
        values += aval.numbers or [None] * (n if len(avals) == 1 else 1)  # one vector has them all, of unknown rank too
    return fill_in(spec, values)


def _slice_infer(x: Aval, *positions: Aval, spec: Spec) -> Aval:
    return Aval(x.dtype, sliced_shape(_known(positions, spec), x.shape))


def _grad_infer(dy: Aval, x: Aval, *positions: Aval, spec: Spec) -> Aval:
    if x.shape is not None:
        lay_out(spec, len(x.shape))
    return Aval(dy.dtype, x.shape)


def _slice_vjp(dy: Tensor, x: Tensor, positions: Sequence[Any], spec: Spec) -> Any:
    return strided_slice_grad(dy, x, *positions, spec=spec)


# ---- lowering --------------------------------------------------------------------------------------------------------


class _Axis:
    """One source axis of a spec as run-time scalars: the index `start`, or `start + k * step`."""

    def __init__(self, b: Builder, part: Part, extent: Scalar, take: Callable[[], Any]) -> None:
        def number(n: Any) -> Any:
            return take() if n == "t" else b.param(max(-_INT64_MAX, min(n, _INT64_MAX)))

        def from_end(n: Any, scalar: Any) -> Any:
            if n == "t":
                return b.select(scalar < 0, scalar + extent, scalar)
            return scalar + extent if n < 0 else scalar

        zero = b.const(0, "int64")
        self.is_index = part[0] == "i"
        self.whole = part[0] == "s" and part[1:] in ((None, None, None), (None, None, 1))
        self.step = None
        if self.whole:
            self.start = zero
            return
        first = part[1]
        scalar = None if first is None else number(first)
        if self.is_index:
            self.start = from_end(first, scalar)
            self.unsure = first == "t"
            return
        if part[2] == "t":
            take()  # the result's extent says where a slice ends
        step = part[3]
        self.step = number(step) if step is not None else b.const(1, "int64")
        if step == "t":
            backwards = self.step < 0
            lowest = b.select(backwards, b.const(-1, "int64"), zero)
            highest = b.select(backwards, extent - 1, extent)
            begin = b.select(backwards, extent - 1, zero)
        else:
            negative = step is not None and step < 0
            lowest, highest = (b.const(-1, "int64"), extent - 1) if negative else (zero, extent)
            begin = extent - 1 if negative else zero
        if first is None:
            self.start = begin
        else:
            self.start = b.op("min", b.op("max", from_end(first, scalar), lowest), highest)

    def source(self, k: Any) -> Any:
        """The source index of element `k` of the slice."""
        return k if self.whole else self.start + k * self.step


def _axes(b: Builder, spec: Spec, x: Operand, first: int) -> tuple[list[_Axis], list[int | None]]:
    """The axes of `spec` on operand `x`; its positions are the inputs from `first` on (scalars, or one vector)."""
    parts, layout = lay_out(spec, x.rank)
    taken = 0

    def take() -> Any:
        nonlocal taken
        taken += 1
        operand = b.input(first if b.input(first).rank == 1 else first + taken - 1)
        at = (b.const(taken - 1, "int64"),) if operand.rank == 1 else ()
        return b.cast(operand.at(at), "int64")

    return [_Axis(b, part, x.shape[axis], take) for axis, part in enumerate(parts)], layout


def _slice_lower(b: Builder, node: Node) -> list[Callable[..., Any]]:
    x = b.input(0)

    def element(index: Sequence[Any]) -> Any:
        axes, layout = _axes(b, node.attrs["spec"], x, 1)
        at: list[Any] = [axis.start for axis in axes]
        for i, n, axis in zip(index, b.output(0).shape, layout, strict=True):
            if axis is not None:
                # Slices are cut to what there is.
                at[axis] = b.within(axes[axis].source(i), x.shape[axis], i, n)
        for axis, part in enumerate(axes):
            if part.is_index and not part.unsure:  # checked where shapes are inferred
                b.within(at[axis], x.shape[axis], b.const(0), b.const(1))
        value = x.at(tuple(at))
        for axis, part in enumerate(axes):
            if part.is_index and part.unsure:
                ok = (part.start >= 0) & (part.start < x.shape[axis])
                value = b.select(ok, value, b.const(0, x.dtype))  # never read out of bounds
                value = b.check(ok, value)
        return value

    return [element]


def _grad_lower(b: Builder, node: Node) -> list[Callable[..., Any]]:
    dy, x = b.input(0), b.input(1)

    def element(index: Sequence[Any]) -> Any:
        axes, layout = _axes(b, node.attrs["spec"], x, 2)
        zero = b.const(0, "int64")
        inside = None
        at: dict[int, Any] = {}
        for axis, (i, part) in enumerate(zip(index, axes, strict=True)):
            if part.whole:
                at[axis] = i
                continue
            if part.is_index:
                hit = i.eq(part.start)
            else:
                offset = i - part.start
                k = offset // part.step
                at[axis] = k
                hit = (k * part.step).eq(offset) & (k >= 0) & (k < dy.shape[layout.index(axis)])
            inside = hit if inside is None else inside & hit
        value = dy.at(tuple([zero if axis is None else at[axis] for axis in layout]))
        return value if inside is None else b.select(inside, value, b.const(0, dy.dtype))

    return [element]


# ---- the primitives --------------------------------------------------------------------------------------------------

_SAMPLE_SPECS: tuple[Spec, ...] = (
    (("i", 1),),
    (("i", -1), ("s", None, None, -1)),
    (("s", 0, 2, None), ("n",), ("i", 2)),
    (("e",), ("s", 3, 0, -2)),
    (("s", None, None, 2), ("e",), ("n",)),
    (("s", 5, 9, None),),
)


def _samples() -> list[Any]:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    return [((x,), {"spec": spec}) for spec in _SAMPLE_SPECS]


def _grad_samples() -> list[Any]:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    return [((x[numpy_key(spec, x.shape)] + 1, x), {"spec": spec}) for spec in _SAMPLE_SPECS]


def _error_samples() -> list[Any]:
    x = np.zeros((2, 3), np.float32)
    return [
        misuse("slice index 2 of dimension 0 out of bounds.", x, spec=(("i", 2),)),
        misuse(r"strides\[0\] must be non-zero", x, spec=(("s", None, None, 0),)),
        misuse("Index out of range using input dim 2; input has only 2 dims", x, spec=(("i", 0),) * 3),
    ]


@movement(
    node_name="strided_slice/",
    infer=_slice_infer,
    groups=("T", "Index"),
    dtypes={"Index": "index"},
    vjp={"x": _slice_vjp},
    lower=_slice_lower,
    samples=_samples,
    error_samples=_error_samples,
)
def strided_slice_p(x: Array, *positions: Array, spec: Spec) -> Array:
    """The part of x that a spec says; `positions` stand where it says "t". t[*s], i[] ... -> t[*r]."""
    part = x[numpy_key(fill_in(spec, position_values(positions)), x.shape)]
    return part if isinstance(part, np.ndarray) else np.asarray(part, x.dtype)


@movement(
    infer=_grad_infer,
    groups=("T", "-", "Index"),
    dtypes={"Index": "index"},
    vjp={"dy": lambda dy, positions, spec: strided_slice_p(dy, *positions, spec=spec)},
    lower=_grad_lower,
    samples=_grad_samples,
)
def strided_slice_grad(dy: Array, x: Array, *positions: Array, spec: Spec) -> Array:
    """dy where strided_slice takes it from an x of this shape, 0 elsewhere. t[*r], t[*s], i[] ... -> t[*s]."""
    dx = np.zeros(x.shape, dy.dtype)
    dx[numpy_key(fill_in(spec, position_values(positions)), x.shape)] = dy
    return dx


@movement(
    op="StridedSlice",
    node_name="strided_slice/",
    infer=_slice_infer,
    groups=("T", "Index"),
    dtypes={"Index": "index"},
    vjp={"x": lambda dy, x, positions, spec: _slice_vjp(dy, x, (positions,), spec)},
    lower=_slice_lower,
    shape_inputs=(1,),
)
def strided_slice_dynamic(x: Array, positions: Array, *, spec: Spec) -> Array:
    """strided_slice with tensors as bounds of slices: the shape of the result is data. t[*s], i[n] -> t[*r]."""
    return body_of(strided_slice_p)(x, positions, spec=spec)


# ---- the public op ---------------------------------------------------------------------------------------------------


def _entries(vector: Any, n: int | None, positions: list[Any]) -> list[Any]:
    """The numbers of a vector argument of strided_slice: ints, and "t" with the tensor in `positions`.

    There are `n` of them where the vector does not say, which is checked when the graph runs.
    """
    mixed = isinstance(vector, (list, tuple)) and any(isinstance(v, Tensor) for v in vector)
    tensor = vector if mixed else convert(vector)
    if isinstance(tensor, Tensor):
        if tensor.shape.rank != 1:
            raise _unequal(*[tensor.shape.as_list() if tensor.shape.rank is not None else ()] * 3)
        if tensor.shape[0] != 0:  # an empty list has the dtype of nothing
            of_dtypes(tensor, "int16 int32 int64", "StridedSlice.Index")
        found = tensor.aval.value if not isinstance(tensor, EagerTensor) else np.asarray(tensor)
        if found is not None:
            return [whole(v, "begin, end or strides") for v in found]
        if tensor.shape[0] is None:
            if n is None:
                raise NotImplementedError("strided_slice needs bounds whose number is known while a function is traced")
            tensor = with_extents(tensor, {0: n})
        tensor = [getitem(tensor, i) for i in range(tensor.shape[0])]
    return [_number(v, positions, True) if isinstance(v, Tensor) else whole(v, "begin, end or strides") for v in tensor]


def _count(vector: TensorLike) -> int | None:
    """Return how many numbers a vector argument of strided_slice has, where it says."""
    if isinstance(vector, (list, tuple)):
        return len(vector)
    shape = convert(vector).shape
    return shape[0] if shape.rank else None


def _filled_up(x: Tensor, begin: TensorLike, end: TensorLike, strides: TensorLike | None) -> tuple[Any, Any, Any]:
    """Vectors of which nobody knows the length, with whole axes of x after them. i[n], i[n], i[n] -> i[rank] each."""
    begin, end = convert(begin), convert(end)
    rank, kind, op = x.shape.rank, begin.dtype, public_function
    if rank is None:
        raise NotImplementedError("strided_slice needs bounds whose number is known while a function is traced")
    n = checked(op("size")(begin), 0, rank, "Index out of range using input dim {most}; input has only {most} dims")
    rest = op("range")(op("cast")(n, kind), convert(rank, kind), convert(1, kind))
    ones, zeros = op("ones_like"), op("zeros_like")
    given = ones(begin) if strides is None else with_extents(convert(strides), {0: n})
    sizes = op("shape")(x, kind)[n:]
    every = (begin, zeros(rest)), (with_extents(end, {0: n}), sizes), (given, ones(rest))
    made = [op("reshape")(op("concat")(parts, 0), [rank]) for parts in every]
    return made[0], made[1], made[2]


def _unequal(*shapes: Sequence[int | None]) -> Exception:
    text = "Expected begin, end, and strides to be 1D equal size tensors, but got shapes {}, {}, and {} instead."
    return _refused(text.format(*[shape_text(tuple(s)) for s in shapes]))


def _refused(text: str) -> Exception:
    return ValueError(text) if current_trace() is not None else InvalidArgumentError(None, None, text)


@public("strided_slice")
def strided_slice(
    input_: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: TensorLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: object = None,
    name: str | None = None,
) -> Any:
    """input_[begin:end:strides], one number per axis; bit i of a mask says what entry i is instead. t[*s] -> t[*r].

    begin_mask and end_mask: from or to the edge; ellipsis_mask: as many whole axes as there are; new_axis_mask: a new
    axis; shrink_axis_mask: the element at begin. Raises: InvalidArgumentError for a stride of 0, an index out of
    bounds or numbers that do not fit. Source: tf.strided_slice.
    """
    begin_mask, end_mask = whole(begin_mask, "begin_mask"), whole(end_mask, "end_mask")
    ellipsis_mask, new_axis_mask = whole(ellipsis_mask, "ellipsis_mask"), whole(new_axis_mask, "new_axis_mask")
    shrink_axis_mask = whole(shrink_axis_mask, "shrink_axis_mask")
    if ellipsis_mask & (ellipsis_mask - 1):  # of all its bits, also those of no entry
        raise _refused("Multiple ellipses in slice spec not allowed")
    kinds: list[Any] = [v.dtype if isinstance(v, Tensor) else None for v in (begin, end, strides)]
    own: Any = next((kind for kind in kinds if kind is not None), None)
    if any(kind not in (None, own) for kind in kinds):
        names = ("input", "begin", "end", "strides")
        raise op_errors.mixed_dtypes("StridedSlice", names, [k or own for k in kinds], "", current_trace())
    positions: list[Any] = []
    starts: list[Any] = []
    stops: list[Any] = []
    steps: list[Any] = []
    counts = [_count(v) for v in (begin, end, strides) if v is not None]
    if not ellipsis_mask | new_axis_mask | shrink_axis_mask and all(n is None for n in counts):
        begin, end, strides = _filled_up(convert(input_), begin, end, strides)
        counts = [_count(begin)]
    count = next((n for n in counts if n is not None), None)
    first, second = _entries(begin, count, starts), _entries(end, count, stops)
    third = [1] * len(first) if strides is None else _entries(strides, count, steps)
    if not len(first) == len(second) == len(third):
        raise _unequal((len(first),), (len(second),), (len(third),))
    taken = iter(starts), iter(stops), iter(steps)
    spec: list[tuple[Any, ...]] = []

    def use(number: Any, which: int, masked: bool = False) -> Any:
        tensor = next(taken[which]) if number == "t" else None
        if masked:
            return None
        if tensor is not None:
            positions.append(tensor)
        return number

    for i, (a, b, c) in enumerate(zip(first, second, third, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit or new_axis_mask & bit:
            for number, which in ((a, 0), (b, 1), (c, 2)):
                use(number, which, True)
            spec.append(("e",) if ellipsis_mask & bit else ("n",))
        elif shrink_axis_mask & bit:
            start = use(a, 0, bool(begin_mask & bit))
            use(b, 1, True)
            if use(c, 2, True) is None and c != "t" and c <= 0:
                raise InvalidArgumentError(None, None, "only stride 1 allowed on non-range indexing.")
            spec.append(("i", 0 if start is None else start))
        else:
            spec.append(("s", use(a, 0, bool(begin_mask & bit)), use(b, 1, bool(end_mask & bit)), use(c, 2)))
    return _apply(convert(input_), tuple(spec), positions)


register_slot("getitem", getitem)
register_slot("strided_slice", strided_slice_p.primitive)  # type: ignore[attr-defined]
