"""The ops by which graphs make datasets and iterate over them.

Rule: each is an effect: it runs on every call of a graph, in the order of the program, and is never merged or dropped.
What it works on is a handle; what a dataset is made of by Python objects is a recipe, known by a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import bool_, from_code, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.registry import get
from fastgraph.core.tensor import Tensor, as_array, bind, convert, current_state, init_scope
from fastgraph.data.element_specs import OfElements, least_extents, tensor_specs
from fastgraph.data.handles import Handled, owned, resolve, together
from fastgraph.data.sources import Cursor
from fastgraph.data.transformations import element_at
from fastgraph.errors import OutOfRangeError
from fastgraph.graphdef.export_slots import DATASETS
from fastgraph.ops.families import Array, custom


def _writer() -> Any:
    from fastgraph.data.export_datasets import Written

    return Written


DATASETS.append(_writer)
_REASON = "its elements come from Python"
_HANDLE = Aval(int64, ())


def _infer_next(iterator: Aval, *, types: tuple[tuple[int, Any], ...]) -> tuple[Aval, ...]:
    return tuple([Aval(from_code(code), shape) for code, shape in types])


@custom(infer=_infer_next, groups=("int64",), n_outputs=None, effect="host", reason=_REASON)
def iterator_get_next(iterator: Array, *, types: tuple[tuple[int, Any], ...]) -> Any:
    """The next element of an iterator. Raises OutOfRangeError after the last. i64[] -> tensors of the given types."""
    try:
        return tuple(map(as_array, _taken(iterator)))
    except StopIteration:
        raise OutOfRangeError(None, None, "End of sequence") from None


def _taken(iterator: Array) -> Any:
    """Return the next element. Who runs the op before the call that it is for finds in "taken" how to give it back."""
    cursor = resolve(iterator)
    element = cursor.take()
    taken = current_state().extra.get("taken")
    if taken is not None:
        taken.append(lambda: cursor.give_back(element))
    return element


def _infer_next_as_optional(
    iterator: Aval, *, types: tuple[tuple[int, Any], ...], leasts: tuple[int, ...]
) -> tuple[Aval, ...]:
    return (Aval(bool_, ()), *_infer_next(iterator, types=types))


@custom(infer=_infer_next_as_optional, groups=("int64",), n_outputs=None, effect="host", reason=_REASON)
def iterator_get_next_as_optional(
    iterator: Array, *, types: tuple[tuple[int, Any], ...], leasts: tuple[int, ...]
) -> Any:
    """True if an iterator has another element, and this or zeros. i64[] -> bool[], tensors of the given types."""
    try:
        return (np.bool_(True), *map(as_array, _taken(iterator)))
    except StopIteration:
        return (np.bool_(False), *no_element(types, leasts))


def no_element(types: tuple[tuple[int, Any], ...], leasts: tuple[int, ...]) -> list[Array]:
    """Return what stands for an element where there is none: zeros, empty texts."""
    found = []
    for (code, shape), least in zip(types, leasts, strict=True):
        dtype = from_code(code).as_numpy_dtype
        sizes = [least if size is None else size for size in shape or ()]
        found.append(np.full(sizes, b"" if dtype is object else 0, dtype))
    return found


@custom(infer=lambda iterator: Aval(bool_, ()), groups=("int64",), effect="host", reason=_REASON)
def iterator_has_next(iterator: Array) -> Any:
    """True if an iterator has another element. i64[] -> bool[]."""
    return resolve(iterator).has_next()


def _infer_at(dataset: Aval, index: Aval, *, types: tuple[tuple[int, Any], ...]) -> tuple[Aval, ...]:
    return _infer_next(dataset, types=types)


@custom(infer=_infer_at, groups=("int64", "int64"), n_outputs=None, effect="host", reason=_REASON)
def get_element_at_index(dataset: Array, index: Array, *, types: tuple[tuple[int, Any], ...]) -> Any:
    """The element of a dataset at an index. Raises OutOfRangeError where there is none. i64[], i64[] -> tensors."""
    return tuple(map(as_array, element_at(resolve(dataset), int(index))))


@custom(infer=lambda dataset, *, types: _HANDLE, groups=("int64",), effect="host", reason=_REASON)
def make_iterator(dataset: Array, *, types: tuple[tuple[int, Any], ...]) -> Any:
    """A new iterator over a dataset of elements of the given types. i64[] -> i64[]."""
    return owned(Cursor(resolve(dataset)))


@custom(infer=lambda *_, recipe: _HANDLE, groups=("-",), effect="host", reason=_REASON)
def make_dataset(*operands: Array, recipe: int) -> Any:
    """A dataset made of others and of numbers. t[*s]... -> i64[]."""
    with init_scope():
        return owned(resolve(recipe).build(operands))


@custom(infer=lambda *handles: Aval(int64, (len(handles),)), groups=("-",), effect="host", reason=_REASON)
def stack_datasets(*handles: Array) -> Any:
    """Several datasets as one tensor, which keeps them. i64[]... -> i64[n]."""
    return together(list(handles))


def stacked(handles: list[Any]) -> Any:
    """Return the handles of datasets as one tensor, when the graph runs."""
    return bind(get("stack_datasets"), tuple(handles), {})


class Recipe(Handled):
    """Recipe of a dataset whose operands come later: how it is made of them, and what kind of source it is.

    `described` is such a source with symbolic operands, which are those `operands` in the order of the op's inputs.
    """

    def __init__(self, build: Callable[..., Any], described: Any, operands: list[Any]) -> None:
        self.build, self.kind, self.described, self.operands = build, type(described), described, operands


def get_next(handle: Tensor, spec: Any) -> Any:
    """Return the tensors of the next element, when the graph runs."""
    return bind(get("iterator_get_next"), (handle,), {"types": _types(spec)})


def _types(spec: Any) -> tuple[tuple[int, Any], ...]:
    return tuple([(leaf.dtype.code, leaf.aval.shape) for leaf in tensor_specs(spec)])


def get_at(handle: Tensor, index: Any, spec: Any) -> Any:
    """Return the tensors of the element at an index, when the graph runs."""
    return bind(get("get_element_at_index"), (handle, convert(index, int64)), {"types": _types(spec)})


def get_next_as_optional(handle: Tensor, spec: Any) -> Any:
    """Return, when the graph runs, whether there is another element, and its tensors or zeros."""
    attrs = {"types": _types(spec), "leasts": tuple(least_extents(spec))}
    return bind(get("iterator_get_next_as_optional"), (handle,), attrs)


def has_next(handle: Tensor) -> Any:
    """Return whether there is another element, when the graph runs."""
    return bind(get("iterator_has_next"), (handle,), {})


def iterator_of(handle: Tensor, spec: Any) -> Any:
    """Return the handle of a new iterator over a dataset, when the graph runs."""
    nested = any(isinstance(leaf, OfElements) for leaf in nesting.flatten(spec))  # of which nothing is written
    return bind(get("make_iterator"), (handle,), {"types": () if nested else _types(spec)})


def dataset_of(operands: tuple[Any, ...], recipe: Recipe) -> Any:
    """Return the handle of a dataset that `recipe` makes of tensors and handles, when the graph runs."""
    recipe.handle()  # the trace keeps it
    return bind(get("make_dataset"), operands, {"recipe": recipe.number})


@custom(infer=lambda dataset: _HANDLE, groups=("int64",), effect="host", reason=_REASON)
def dataset_cardinality(dataset: Array) -> Any:
    """Number of a dataset's elements, -1: infinitely many, -2: unknown. i64[] -> i64[]."""
    return np.int64(min(resolve(dataset).cardinality(), int64.max))


def cardinality_of(handle: Tensor) -> Any:
    """Return how many elements a dataset has, when the graph runs."""
    return bind(get("dataset_cardinality"), (handle,), {})
