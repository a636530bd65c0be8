"""StructuredTensors from dicts of Python's values, and back.

Rule: lists are axes; what is in a dict is a field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from fastgraph.composites.ragged_functions import constant as ragged_constant
from fastgraph.composites.ragged_tensor import RaggedTensor, RaggedTensorSpec
from fastgraph.composites.row_partition import RowPartition
from fastgraph.composites.structured_tensor import StructuredTensor
from fastgraph.core.base.dtype import int64
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.conversion import constant
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor


def to_python(value: StructuredTensor) -> dict[str, Any] | list[Any]:
    """Return the dict, or lists of dicts, of a StructuredTensor whose parts are eager."""
    if value._fields:
        return _rows({name: _plain(each) for name, each in value._fields.items()}, value.rank)
    if value.rank == 0:
        return {}
    cuts = [each.row_splits().numpy().tolist() for each in value.row_partitions]
    found: list[Any] = [{} for _ in range(cuts[-1][-1] if cuts else int(value._ragged_shape[0]))]
    for splits in reversed(cuts):
        found = [found[i:j] for i, j in pairwise(splits)]
    return found


def _plain(value: Tensor | RaggedTensor | StructuredTensor) -> Any:
    if isinstance(value, RaggedTensor):
        return value.to_list()
    if isinstance(value, StructuredTensor):
        return value.to_pyval()
    found = value.numpy()
    return found.tolist() if hasattr(found, "tolist") else found


def _rows(columns: dict[str, Any], depth: int) -> Any:
    """Return lists of dicts of a dict of lists."""
    if depth == 0:
        return columns
    n = len(next(iter(columns.values())))
    return [_rows({name: column[i] for name, column in columns.items()}, depth - 1) for i in range(n)]


def _leaves(value: object, depth: int = 0) -> Iterator[tuple[int, Any]]:
    """Yield what is in lists of lists, and how deep."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each, depth + 1)
    else:
        yield depth, value


def _mismatch(path: tuple[str, ...], spec: object, why: str = "") -> ValueError:
    return ValueError(f"Value at {path} does not match typespec{why}: {spec!r}")


def from_python(value: Any, spec: Any, path: tuple[str, ...]) -> Any:
    """Return what Python's values are, by a spec if there is one; `path` leads to them. Raises ValueError, KeyError."""
    found = list(_leaves(value))
    dicts = [(depth, each) for depth, each in found if isinstance(each, dict)]
    if dicts:
        if len(dicts) < len(found):
            raise ValueError("Expected dict or nested list/tuple of dict")
        depths = {depth for depth, _ in dicts}
        if len(depths) > 1:
            raise ValueError("Inconsistent depth of dictionaries")
        names = list(dict.fromkeys(name for _, each in dicts for name in each))
        for _, each in dicts:
            for name in names:
                each[name]
        return _structures(value, names, depths.pop(), spec, path)
    if isinstance(spec, StructuredTensor.Spec):
        if found or not isinstance(value, (list, tuple)):
            raise _mismatch(path, spec)
        return _structures(value, list(spec._fields), spec.rank, spec, path)
    return _tensor(value, spec, path)


def _structures(value: Any, names: list[str], rank: int, spec: Any, path: tuple[str, ...]) -> StructuredTensor:
    """Return the StructuredTensor of dicts in `rank` lists."""
    if spec is not None:
        if not isinstance(spec, StructuredTensor.Spec) or set(spec._fields) != set(names):
            raise _mismatch(path, spec)
        if spec.rank != rank:
            raise _mismatch(path, spec, " (rank mismatch)")

    def column(rows: Any, name: str) -> Any:
        return rows[name] if isinstance(rows, dict) else [column(each, name) for each in rows]

    fields = {
        name: from_python(column(value, name), None if spec is None else spec._fields[name], (*path, name))
        for name in names
    }
    if fields or rank == 0:
        return StructuredTensor.from_fields(fields, [None] * rank)
    parts, level = [], value
    for _ in range(1, rank):
        parts.append(RowPartition.from_row_lengths(as_tensor([len(each) for each in level], int64)))
        level = [each for rows in level for each in rows]
    return StructuredTensor.from_fields({}, [len(value), *[None] * (rank - 1)], None, parts or None)


def _tensor(value: object, spec: TypeSpec | None, path: tuple[str, ...]) -> Any:
    """Return the Tensor or RaggedTensor of Python's values."""
    ragged: Callable[..., Any] = ragged_constant
    try:
        if spec is None:
            return ragged(value) if isinstance(value, (list, tuple)) else constant(value)
        if isinstance(spec, RaggedTensorSpec):
            inner = None if spec.shape.rank is None else spec.shape[spec.ragged_rank + 1 :]
            whole = () if inner is None else inner
            known = inner is not None and inner.is_fully_defined()
            return ragged(
                value,
                spec.dtype,
                spec.ragged_rank,
                tuple(whole) if known else None,
                row_splits_dtype=spec.row_splits_dtype,
            )
        if isinstance(spec, TensorSpec):
            found = constant(value, spec.dtype)
            if spec.shape.is_compatible_with(found.shape):
                return found
    except (TypeError, ValueError) as error:
        raise ValueError(f"Error parsing path {path}") from error
    raise _mismatch(path, spec)
