"""Lists of tensors of one shape in one buffer [n, *element]: what a TensorArray is made of in a graph.

Rule: values, never places: `list_set` gives a new list. Its kernel writes one row over the old list where that dies,
so that a loop of n writes takes time in proportion to n. An element that was never written is zeros. Of a list whose
element shape is not known yet the unknown extents are 0; the first element that is written says them, in `list_begin`,
which is told whether there was one: elements may have extents of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import as_dtype, int32
from fastgraph.core.base.shapes import Aval, Shape
from fastgraph.core.tensor import Tensor, convert
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops import elementwise, joining
from fastgraph.ops.creation import range_, zeros
from fastgraph.ops.elementwise import zeros_like
from fastgraph.ops.families import Array, Builder, Node, body_of, custom, define, invalid, misuse, shape_text
from fastgraph.ops.gathering import _gather_params, gather
from fastgraph.ops.movement import reshape
from fastgraph.ops.movement import shape as shape_of_tensor

_INDEX = {"Tindex": "int32 int64"}


def _list_op(**rest: Any) -> Callable[..., Callable[..., Any]]:
    """An op that gives a list, whose elements may get their shape by it: the tape leaves cotangents as they are."""
    return lambda body: define(body, family="list", **rest)


# ---- made -----------------------------------------------------------------------------------------------------------


def _count(size: Aval) -> int | None:
    if size.value is None:
        return None
    n = int(size.value)
    if n < 0:
        raise ValueError(f"The num_elements to reserve must be a non negative number, but got {n}")
    return n


def _reserved(size: Array, dtype: str, element: tuple[int, ...]) -> Any:
    n = int(size)
    if n < 0:
        raise invalid(f"The num_elements to reserve must be a non negative number, but got {n}")
    kind = as_dtype(dtype)
    if kind.name == "string":
        found = np.empty((n, *element), object)
        found[...] = b""
        return found
    return np.zeros((n, *element), kind.numpy_dtype)


@custom(
    op="TensorListReserve",
    infer=lambda size, *, dtype, element: Aval(as_dtype(dtype), (_count(size), *element)),
    groups=("Tindex",),
    dtypes=_INDEX,
    shape_inputs=(0,),
    lower=lambda b, node: [lambda index: b.const(0, node.outputs[0].aval.dtype.name)],
    samples=lambda: [
        ((np.array(n, np.int32),), {"dtype": t, "element": e})
        for n, t, e in ((3, "float32", ()), (2, "int64", (2, 3)), (0, "bool", (2,)), (4, "float64", (0,)))
    ],
    error_samples=lambda: [
        misuse("The num_elements to reserve must be .* got -1", np.array(-1, np.int32), dtype="float32", element=(2,))
    ],
)
def list_reserve(size: Array, *, dtype: str, element: tuple[int, ...]) -> Any:
    """A list of `size` zeros of shape `element`. i[] -> t[size, *element]."""
    return _reserved(size, dtype, element)


@custom(
    op="TensorListReserve",
    infer=lambda size, *, dtype, element: Aval(as_dtype(dtype), None if element is None else (_count(size), *element)),
    groups=("Tindex",),
    dtypes=_INDEX,
    step="dynamic",
    reason="the shape of the elements is not known before one is written",
)
def list_blank(size: Array, *, dtype: str, element: Shape) -> Any:
    """A list of `size` elements whose shape is not all known: what is not is 0. i[] -> t[size, *element]."""
    return _reserved(size, dtype, (0,) if element is None else tuple([n or 0 for n in element]))


# ---- one element ----------------------------------------------------------------------------------------------------


#: dtype, dtype of the index, index: of samples of lists of three.
_CASES = (("float32", "int32", 0), ("float64", "int64", 2), ("int32", "int32", 1), ("bool", "int32", 1))
_MODIFIED = "Trying to modify element {} in a list with 3 elements."
_MISFIT = r"Tried to set a tensor with incompatible shape at a list index. Item element shape: \[3\] list"


def _written(dims: tuple[int, ...], i: int, element: tuple[int, ...], value: float = 1.0, **attrs: Any) -> Any:
    """A sample: a list of ones of shape `dims`, an index, an element of shape `element` that is put there."""
    return (np.ones(dims), np.array(i, np.int32), np.full(element, value)), attrs


def _infer_set(buffer: Aval, index: Aval, value: Aval, *, in_order: str = "") -> Aval:
    rows = buffer.shape[0] if buffer.shape else None
    return Aval(value.dtype, None if value.shape is None else (rows, *value.shape))


@_list_op(
    op="TensorListSetItem",
    infer=_infer_set,
    groups=("T", "Tindex", "T"),
    dtypes=_INDEX,
    step="list_set",
    vjp=dict(
        buffer=lambda dy, index, value: list_set(dy, index, zeros_like(value)),
        value=lambda dy, index: gather(dy, index),
    ),
    samples=lambda: [
        *[
            ((np.arange(1, 13).reshape(3, 2, 2).astype(t), np.array(i, it), np.array([[7, 8], [9, 1]]).astype(t)), {})
            for t, it, i in _CASES
        ],
        _written((3,), 1, (), value=5.0),
        *[_written((3, width), i, (width,), in_order="rows") for width, i in ((2, 1), (0, 2))],
    ],
    error_samples=lambda: [
        *[misuse(_MODIFIED.format(i), *_written((3,), i, ())[0]) for i in (3, -1)],
        *[misuse(_MISFIT, *_written((3, width), 0, (3,))[0]) for width in (2, 0)],
        *[
            misuse(
                rf"the elements of the list 'rows' have shape \[{width}\], and one that is added has shape \[{n}\]",
                *_written((3, width), i, (n,))[0],
                in_order="rows",
            )
            for width, n, i in ((0, 1, 1), (0, 2, 2), (1, 0, 1), (2, 1, 1))
        ],
    ],
)
def list_set(buffer: Array, index: Array, value: Array, *, in_order: str = "") -> Any:
    """The list with another element at `index`. t[n, *element], i[], t[*element] -> t[n, *element].

    `in_order` names a list whose elements are written from 0 on: the first one says the shape of all.
    """
    if in_order and int(index) > 0 and buffer.shape[1:] != value.shape:
        raise invalid(
            f"the elements of the list '{in_order}' have shape {shape_text(buffer.shape[1:])}, and one that is added "
            f"has shape {shape_text(value.shape)}: a list that a staged statement makes longer has elements of one "
            "shape. Pad them, or write them to a tf.TensorArray(dtype, 0, dynamic_size=True, infer_shape=False) and "
            "use its concat()."
        )
    return _with_element(buffer, int(index), value, not in_order)


def _with_element(buffer: Array, at: int, value: Array, begun: bool) -> Any:
    """The list with another element; that says the shape of all of a list that is not `begun`."""
    n = buffer.shape[0]
    if not 0 <= at < n:
        raise invalid(f"Trying to modify element {at} in a list with {n} elements.")
    if buffer.shape[1:] == value.shape:
        result = np.array(buffer)
    elif not begun:
        result = _reserved(np.array(n), "string" if value.dtype == object else str(value.dtype), value.shape)
    else:
        raise _unlike(buffer, value)
    result[at] = value[()]
    return result


def _unlike(buffer: Array, value: Array) -> InvalidArgumentError:
    return invalid(
        "Tried to set a tensor with incompatible shape at a list index. Item element shape: "
        f"{shape_text(value.shape)} list shape: {shape_text(buffer.shape[1:])}. Elements may differ in shape in a "
        "tf.TensorArray(..., infer_shape=False)."
    )


#: The common arguments of the ops on lists of which only the graph knows whether an element was written.
_BEGUN: dict[str, Any] = dict(groups=("T", "Tindex", "T", "Tbegun"), dtypes={**_INDEX, "Tbegun": "bool"})


def _begun_samples(value: list[Any], *cases: tuple[str, str, int, tuple[int, ...], bool]) -> list[Any]:
    """Lists of ones in which `value` is put: dtype and dtype of the index, index, shape of the list, whether begun."""
    return [
        ((np.ones(dims, dtype), np.array(i, index_dtype), np.array(value).astype(dtype), np.array(begun)), {})
        for dtype, index_dtype, i, dims, begun in cases
    ]


@_list_op(
    op="TensorListSetItem",
    infer=lambda buffer, index, value, begun: _infer_set(buffer, index, value),
    **_BEGUN,
    step="list_set",
    vjp=dict(
        buffer=lambda dy, index, value: list_set(dy, index, zeros_like(value)),
        value=lambda dy, index: gather(dy, index),
    ),
    samples=lambda: _begun_samples(
        [[7, 8], [9, 1]],
        ("float32", "int32", 0, (3, 2, 2), True),
        ("float64", "int64", 2, (3, 2, 2), False),
        ("int32", "int32", 1, (3, 0, 2), False),
        ("bool", "int32", 1, (2, 0, 0), False),
    ),
    error_samples=lambda: [
        misuse(text, np.ones([3, width]), np.array(i, np.int32), np.ones([n]), np.array(begun))
        for width, i, n, begun, text in (
            (0, 3, 2, False, "Trying to modify element 3 in a list with 3 elements."),
            (0, -1, 2, True, "Trying to modify element -1 in a list with 3 elements."),
            (0, 1, 2, True, r"incompatible shape at a list index. Item element shape: \[2\] list shape: \[0\]"),
            (1, 1, 0, True, r"incompatible shape at a list index. Item element shape: \[0\] list shape: \[1\]"),
        )
    ],
)
def list_begin(buffer: Array, index: Array, value: Array, begun: Array) -> Any:
    """`list_set` of a list of which only the graph knows whether an element was written (`begun`): the first one says
    the shape of all. t[n, *element], i[], t[*element], bool[] -> t[n, *element].
    """
    return _with_element(buffer, int(index), value, bool(begun))


def _lower_get(b: Builder, node: Node) -> list[Any]:
    buffer, index, size = b.input(0), b.input(1), b.input(2)

    def element(where: Sequence[Any]) -> Any:
        k, n = b.cast(index.at(()), "int64"), b.cast(size.at(()), "int64")
        inside = b.op("and", b.op("and", k >= 0, k < n), k < buffer.shape[0])
        return b.check(inside, buffer.at((k, *where)))

    return [element]


@_list_op(
    op="TensorListGetItem",
    infer=lambda buffer, index, size: Aval(buffer.dtype, None if buffer.shape is None else buffer.shape[1:]),
    groups=("T", "Tindex", "Tsize"),
    dtypes={"Tindex": "int32 int64", "Tsize": "int32 int64"},
    lower=_lower_get,
    vjp=dict(buffer=lambda dy, index, buffer_shape: _gather_params(dy, index, buffer_shape, 0, 0)),
    samples=lambda: [
        ((np.arange(12).reshape(3, 2, 2).astype(t), np.array(i, it), np.array(3, np.int32)), {}) for t, it, i in _CASES
    ],
    error_samples=lambda: [
        misuse(text, np.ones([3, 1]), np.array(i, np.int32), np.array(size, np.int32))
        for i, size, text in (
            (2, 2, "Trying to access element 2 in a list with 2 elements."),
            (-1, 2, "Trying to access element -1 in a list with 2 elements."),
            (
                1,
                -4,
                "Trying to read an uninitialized tensor but element_shape is not fully defined and no list element ",
            ),
        )
    ],
)
def list_get(buffer: Array, index: Array, size: Array) -> Any:
    """The element at `index` of the first `size`. t[n, *element], i[], i[] -> t[*element].

    A `size` below 0, ~n, is that of n elements of which none was written, and no shape is known.
    """
    n, at = int(size), int(index)
    if n < 0 and 0 <= at < ~n:
        raise invalid(
            "Trying to read an uninitialized tensor but element_shape is not fully defined and no list element is set, "
            f"at index {at}"
        )
    n = ~n if n < 0 else n
    if not 0 <= at < min(n, buffer.shape[0]):
        raise invalid(f"Trying to access element {at} in a list with {n} elements.")
    return buffer[at]


# ---- longer ---------------------------------------------------------------------------------------------------------


@_list_op(
    op="TensorListResize",
    infer=lambda buffer, index: Aval(buffer.dtype, None if buffer.shape is None else (None, *buffer.shape[1:])),
    groups=("T", "Tindex"),
    dtypes=_INDEX,
    step="dynamic.grow",
    reason="how long the list gets is data: a step of its own",
    vjp=dict(buffer=lambda dy, buffer_shape: list_trim(dy, convert(buffer_shape[0], int32))),
    samples=lambda: [
        ((np.arange(6.0).reshape(3, 2).astype(t), np.array(i, np.int32)), {})
        for t, i in (("float32", 1), ("float64", 3), ("int32", 9))
    ],
)
def list_grow(buffer: Array, index: Array) -> Any:
    """The list with room for an element at `index`, at least twice as long where it had none. -> t[m, *element]."""
    n, at = buffer.shape[0], int(index)
    if at < n:
        return buffer
    more = np.zeros((max(n, at + 1 - n, 4), *buffer.shape[1:]), buffer.dtype)
    if buffer.dtype == object:
        more[...] = b""
    return np.concatenate([buffer, more])


def _infer_push(buffer: Aval, index: Aval, value: Aval) -> Aval:
    return Aval(value.dtype, None if value.shape is None else (None, *value.shape))


_PUSHED: dict[str, Callable[..., Any]] = dict(
    buffer=lambda dy, index, value_shape, buffer_shape: list_trim(
        list_set(dy, index, zeros(value_shape, dy.dtype)), convert(buffer_shape[0], int32)
    ),
    value=lambda dy, index: gather(dy, index),
)


@_list_op(
    op="TensorListPushBack",
    infer=_infer_push,
    groups=("T", "Tindex", "T"),
    dtypes=_INDEX,
    step="dynamic.push",
    reason="how long the list gets is data: a step of its own",
    vjp=_PUSHED,
    samples=lambda: [
        ((np.arange(6.0).reshape(3, 2).astype(t), np.array(i, it), np.array([7, 9]).astype(t)), {})
        for t, it, i in (("float32", "int32", 1), ("float64", "int64", 3), ("int32", "int32", 9))
    ],
    error_samples=lambda: [
        misuse(_MODIFIED.format(-1), *_written((3,), -1, ())[0]),
        misuse(_MISFIT, *_written((3, 2), 3, (3,))[0]),
    ],
)
def list_push(buffer: Array, index: Array, value: Array) -> Any:
    """The list with another element at `index`, longer where it has no room. t[n, *element] -> t[m, *element]."""
    return _pushed(buffer, int(index), value, True)


def _pushed(buffer: Array, at: int, value: Array, begun: bool) -> Any:
    if at < 0:
        raise invalid(f"Trying to modify element {at} in a list with {buffer.shape[0]} elements.")
    return _with_element(body_of(list_grow)(buffer, np.array(at)), at, value, begun)


@_list_op(
    op="TensorListPushBack",
    infer=lambda buffer, index, value, begun: _infer_push(buffer, index, value),
    **_BEGUN,
    step="dynamic.push",
    reason="how long the list gets is data: a step of its own",
    vjp=_PUSHED,
    samples=lambda: _begun_samples(
        [7, 9],
        ("float32", "int32", 1, (3, 2), True),
        ("float64", "int64", 3, (3, 0), False),
        ("int32", "int32", 9, (0, 0), False),
    ),
    error_samples=lambda: [
        misuse(text, np.ones([3, width]), np.array(i, np.int32), np.ones([2]), np.array(begun))
        for width, i, begun, text in (
            (0, -1, False, "Trying to modify element -1 in a list with 3 elements."),
            (0, 1, True, r"incompatible shape at a list index. Item element shape: \[2\] list shape: \[0\]"),
            (1, 3, True, r"incompatible shape at a list index. Item element shape: \[2\] list shape: \[1\]"),
        )
    ],
)
def list_push_begin(buffer: Array, index: Array, value: Array, begun: Array) -> Any:
    """`list_push` to a list of which only the graph knows whether an element was written (`begun`): the first one says
    the shape of all. t[n, *element], i[], t[*element], bool[] -> t[m, *element].
    """
    return _pushed(buffer, int(index), value, bool(begun))


def _values_at(dy: Tensor, index: Tensor, values_shape: Tensor) -> Any:
    return gather(dy, elementwise.cast(index, int32) + range_(convert(values_shape[0], int32)))


@_list_op(
    op="TensorListExtend",
    infer=lambda buffer, index, values: Aval(values.dtype, None if values.shape is None else (None, *values.shape[1:])),
    groups=("T", "Tindex", "T"),
    dtypes=_INDEX,
    step="dynamic.extend",
    reason="how long the list gets is data: a step of its own",
    vjp=dict(
        buffer=lambda dy, index, values_shape, buffer_shape: list_trim(
            list_extend(dy, index, zeros(values_shape, dy.dtype)), convert(buffer_shape[0], int32)
        ),
        values=_values_at,
    ),
    samples=lambda: [
        ((np.arange(6.0).reshape(3, 2).astype(t), np.array(i, it), np.arange(n * 2.0).reshape(n, 2).astype(t)), {})
        for t, it, i, n in (("float32", "int32", 1, 2), ("float64", "int64", 3, 3), ("int32", "int32", 9, 1),
                            ("float32", "int32", 3, 0), ("float32", "int32", 2, 6))
    ],
    error_samples=lambda: [
        misuse("Trying to modify element -1 in a list with 3", np.arange(3.0), np.array(-1, np.int32), np.ones([2])),
        misuse(
            r"Tried to set a tensor with incompatible shape at a list index. Item element shape: \[3\] list",
            np.ones([3, 2]),
            np.array(3, np.int32),
            np.ones([2, 3]),
        ),
    ],
)  # fmt: skip
def list_extend(buffer: Array, index: Array, values: Array) -> Any:
    """The list with other elements from `index` on, longer where it has no room.

    t[n, *element], i[], t[k, *element] -> t[m, *element].
    """
    n, at, more = buffer.shape[0], int(index), values.shape[0]
    if at < 0:
        raise invalid(f"Trying to modify element {at} in a list with {n} elements.")
    if buffer.shape[1:] != values.shape[1:]:
        raise invalid(
            "Tried to set a tensor with incompatible shape at a list index. Item element shape: "
            f"{shape_text(values.shape[1:])} list shape: {shape_text(buffer.shape[1:])}"
        )
    result = np.array(body_of(list_grow)(buffer, np.array(at + more - 1)))
    result[at : at + more] = values
    return result


def _infer_trim(buffer: Aval, size: Aval) -> Aval:
    rows = None if size.value is None else int(size.value)
    return Aval(buffer.dtype, None if buffer.shape is None else (rows, *buffer.shape[1:]))


def _untrimmed(dy: Tensor, buffer_shape: Tensor) -> Any:
    n = shape_of_tensor(dy)
    more = joining.concat([reshape(convert(buffer_shape[0], int32) - n[0], [1]), n[1:]], 0)
    return joining.concat([dy, zeros(more, dy.dtype)], 0)


@_list_op(
    op="TensorListTrim",
    infer=_infer_trim,
    groups=("T", "Tindex"),
    dtypes=_INDEX,
    step="dynamic.trim",
    reason="how long the list gets is data: a step of its own, which moves nothing",
    vjp=dict(buffer=_untrimmed),
    samples=lambda: [
        ((np.arange(6.0).reshape(3, 2).astype(t), np.array(n, np.int32)), {})
        for t, n in (("float32", 1), ("float64", 3), ("int32", 0))
    ],
    error_samples=lambda: [
        misuse(f"A list of 3 elements cannot be cut to {n}", np.arange(3.0), np.array(n, np.int32)) for n in (4, -1)
    ],
)
def list_trim(buffer: Array, size: Array) -> Any:
    """The first `size` elements of the list. t[n, *element], i[] -> t[size, *element]."""
    n = int(size)
    if not 0 <= n <= buffer.shape[0]:
        raise invalid(f"A list of {buffer.shape[0]} elements cannot be cut to {n}")
    return buffer[:n]
