"""TensorLists of GraphDefs: each is a tensor with the elements along its first axis, and how many of them there are.

Rule: elements have one shape, as a TensorArray's have; it may be unknown until the first one is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.shapes import Shape
from fastgraph.core.conversion import TensorLike
from fastgraph.core.registry import get, public_function
from fastgraph.core.tensor import Tensor, convert
from fastgraph.ops.arguments import known_value
from fastgraph.ops.elementwise import maximum
from fastgraph.ops.families import bind_named
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.movement import reshape
from fastgraph.ops.movement import shape as shape_of


class TensorList(NamedTuple):
    """A list while a graph is built: its elements (there may be room for more), and their number, i32[]."""

    elements: Any
    size: Any


class UnevenList(NamedTuple):
    """Parts of a tensor that are not alike, which can only be read: the tensor, and how long each is, i64[n]."""

    rows: Any
    lengths: Any


def _element(tensor: object) -> Shape:
    """The shape of the elements, as an argument: -1 for what is not known, or a tensor that only a call knows."""
    found = known_value(tensor)
    return None if found is None or found.ndim == 0 else tuple([None if n < 0 else int(n) for n in found])


def _reserve(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    element, size = _element(inputs[0]), inputs[1]
    known = element is not None and None not in element
    op, said = "list_reserve" if known else "list_blank", {"dtype": attrs["element_dtype"].name, "element": element}
    return TensorList(bind_named(name, get(op), (size,), said), size)


def _set_item(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    (elements, size), index, item = inputs
    if attrs.get("resize_if_index_out_of_bounds"):
        return TensorList(_put(name, "list_push", elements, index, item), maximum(size, index + 1))
    return TensorList(_put(name, "list_set", elements, index, item), size)


def _put(name: str, op: str, elements: Tensor, index: TensorLike, item: TensorLike) -> Any:
    """The elements with another one; where their shape is not known, that of the first one that has numbers."""
    if elements.aval.shape is not None and None not in elements.aval.shape[1:]:
        return bind_named(name, get(op), (elements, index, item), {})
    begun = public_function("reduce_all")(shape_of(elements)[1:] > 0)
    return bind_named(name, get({"list_set": "list_begin"}.get(op, f"{op}_begin")), (elements, index, item, begun), {})


def _push(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    (elements, size), item = inputs
    return TensorList(_put(name, "list_push", elements, size, item), size + 1)


def _get_item(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    if isinstance(inputs[0], UnevenList):
        (rows, lengths), index = inputs[0], inputs[1]
        begin = public_function("cumsum")(lengths, exclusive=True)[index]
        return rows[begin : begin + lengths[index]]
    (elements, size), index, *element = inputs
    return _shaped(bind_named(name, get("list_get"), (elements, index, size), {}), element)


def _shaped(tensor: Tensor, element: Sequence[Any]) -> Tensor:
    """An element, of which more may be known than of the list."""
    shape = _element(element[0]) if element else None
    if shape is not None:
        tensor.set_shape(shape)
    return tensor


def _pop(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    (elements, size), *element = inputs
    last = size - 1
    return TensorList(elements, last), _shaped(bind_named(name, get("list_get"), (elements, last, size), {}), element)


def _length(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    held = inputs[0]
    size = shape_of(held.lengths)[0] if isinstance(held, UnevenList) else held.size
    return public_function("identity")(size, name=name)


def _resize(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    elements, size = inputs[0][0], inputs[1]
    return TensorList(bind_named(name, get("list_grow"), (elements, size - 1), {}), size)


def _filled(held: TensorList) -> Any:
    """The elements without the room after them."""
    return (
        public_function("slice")(held.elements, *_box(held)) if held.elements.shape.rank is not None else _prefix(held)
    )


def _box(held: TensorList) -> tuple[Any, Any]:
    rest = held.elements.shape.rank - 1
    return [0] * (rest + 1), concat([reshape(held.size, [1]), convert(np.full(rest, -1, np.int32))], 0)


def _prefix(held: TensorList) -> Any:
    """Return the elements that there are, of unknown rank."""
    return gather(held.elements, public_function("range")(held.size))


def _stack(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    rows, element = _filled(inputs[0]), _element(inputs[1])
    if element is None:
        return public_function("identity")(rows, name=name)
    if None not in element:  # of no elements, too, which say nothing of their shape
        return reshape(rows, stack([inputs[0].size, *[int(n) for n in element if n is not None]]), name=name)
    return public_function("ensure_shape")(rows, [None, *element], name=name)


def _concat(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    if isinstance(inputs[0], UnevenList):
        return public_function("identity")(inputs[0].rows, name=name), inputs[0].lengths
    rows = _filled(inputs[0])
    sizes = shape_of(rows, out_type=dtypes.int64)
    tensor = reshape(rows, concat([sizes[:1] * sizes[1:2], sizes[2:]], 0), name=name)
    return tensor, public_function("fill")(sizes[:1], sizes[1])


def _scatter(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    tensor, indices, _, *number = inputs
    most = public_function("reduce_max")(indices) + 1
    size = maximum(most, *number) if number else most
    dims = concat([reshape(size, [1]), shape_of(tensor)[1:]], 0)
    return TensorList(public_function("scatter_nd")(reshape(indices, [-1, 1]), tensor, dims, name=name), size)


def _scatter_into(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Elements of a list replaced, which grows where they lie behind its end."""
    (elements, size), tensor, indices = inputs
    if elements.aval.shape is None or None in elements.aval.shape[1:]:  # the first element says their shape
        if indices.shape.num_elements() == 0:
            return TensorList(elements, size)
        elements = _put(name, "list_push", elements, indices[0], tensor[0])
    size = maximum(size, public_function("reduce_max")(concat([indices, convert([-1], dtypes.int32)], 0)) + 1)
    elements = bind_named(None, get("list_grow"), (elements, size - 1), {})
    places = reshape(indices, [-1, 1])
    return TensorList(public_function("tensor_scatter_nd_update")(elements, places, tensor, name=name), size)


def _split(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """A list of parts of a tensor along its first axis, which are as long as `lengths` say."""
    tensor, _, lengths = inputs
    known = known_value(lengths)
    if known is not None and len({*np.ravel(known).tolist()}) == 1:
        n, each = len(known), int(known[0])
        dims = concat([convert([n, each], dtypes.int32), shape_of(tensor)[1:]], 0)
        return TensorList(reshape(tensor, dims, name=name), convert(n, dtypes.int32))
    total = public_function("cast")(shape_of(tensor)[0], lengths.dtype)
    public_function("debugging.assert_equal")(
        public_function("reduce_sum")(lengths), total,
        "Invalid values for 'lengths' when performing TensorListSplit: they do not add up to the tensor's rows",
    )  # fmt: skip
    return UnevenList(tensor, lengths)


def _joined_lists(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    first, second = inputs
    rows = concat([_filled(first), _filled(second)], 0)
    return TensorList(rows, first.size + second.size)


def _element_shape(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return shape_of(inputs[0].elements, out_type=attrs.get("shape_type", dtypes.int32))[1:]


def _zeros(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return TensorList(public_function("zeros_like")(inputs[0].elements, name=name), inputs[0].size)


def _sum(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return TensorList(public_function("add_n")([each.elements for each in inputs], name=name), inputs[0].size)


#: Operations on tensors that lists have, too.
ON_LISTS = {"AddN": _sum, "ZerosLike": _zeros}

LISTS: dict[str, Callable[[str, list[Any], dict[str, Any]], Any]] = {
    "EmptyTensorList": lambda name, inputs, attrs: _reserve(name, [inputs[0], convert(0, dtypes.int32)], attrs),
    "TensorListConcat": _concat,
    "TensorListConcatLists": _joined_lists,
    "TensorListConcatV2": _concat,
    "TensorListElementShape": _element_shape,
    "TensorListFromTensor": lambda name, inputs, attrs: TensorList(inputs[0], shape_of(inputs[0])[0]),
    "TensorListGather": lambda name, inputs, attrs: gather(_filled(inputs[0]), inputs[1], name=name),
    "TensorListGetItem": _get_item,
    "TensorListLength": _length,
    "TensorListPopBack": _pop,
    "TensorListPushBack": _push,
    "TensorListReserve": _reserve,
    "TensorListResize": _resize,
    "TensorListScatter": _scatter,
    "TensorListScatterIntoExistingList": _scatter_into,
    "TensorListScatterV2": _scatter,
    "TensorListSetItem": _set_item,
    "TensorListSplit": _split,
    "TensorListStack": _stack,
}
