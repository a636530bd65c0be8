"""IndexedSlices: rows of a large tensor, as the gradient of a gather has them; a composite of values and indices.

Rule: a sparse cotangent stays sparse while it is added to others of its kind, scaled or clipped (its values are, before
rows that come twice meet); everything else sees it dense.
"""

from __future__ import annotations

from typing import Any

from fastgraph import _tape
from fastgraph.core import registry as primitives
from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, float32, int64
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import Shape, ShapeLike, TensorShape, as_dims, shape_of
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import EagerTensor, Tensor, as_array, bind, convert, register_slot


@without({"`values.consumers()` in a graph": "consumers"})
class IndexedSlices(CompositeTensor):
    """dense[indices[i], ...] = the sum of values[j, ...] over all j with that index; all other rows are zero.

    It is what the gradient of `tf.gather` is. Source: tf.IndexedSlices.

    Args:
        values: t[n, *s].
        indices: i[n].
        dense_shape: i[1 + rank of s], or None: unknown.

    Examples:
        >>> table = tf.Variable(tf.zeros([4, 2]))
        >>> with tf.GradientTape() as tape:
        ...     loss = tf.reduce_sum(tf.gather(table, [3, 1, 3]))
        >>> gradient = tape.gradient(loss, table)
        >>> gradient.indices.numpy(), gradient.values.shape
        (array([3, 1, 3], dtype=int32), TensorShape([3, 2]))
        >>> tf.convert_to_tensor(gradient).numpy()
        array([[0., 0.],
               [1., 1.],
               [0., 0.],
               [2., 2.]], dtype=float32)
    """

    _is_tensor = True

    def __init__(self, values: TensorLike, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values: Any = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Tensor:
        """The rows."""
        values: Tensor = self._values
        return values

    indices = ReadOnly[Tensor]("_indices", "The numbers of the dense tensor's rows that they are.")
    dense_shape = ReadOnly[Tensor | None]("_dense_shape", "The dense tensor's shape as a 1-D tensor, or None.")

    @property
    def shape(self) -> TensorShape:
        """The dense tensor's shape, as far as it is known."""
        return shape_of(known_extents(self._dense_shape))

    @property
    def dtype(self) -> DType:
        """The dtype of the rows."""
        dtype: DType = self._values.dtype
        return dtype

    @property
    def name(self) -> str:
        """The name of `values`."""
        return str(self._values.name)

    @property
    def device(self) -> str:
        """The device of `values`."""
        return str(self._values.device)

    op = ReadOnly[Any]("_values.op", "The operation that made `values`.")
    graph = ReadOnly[Any]("_values.graph", "The graph that `values` belong to.")

    def with_values(self, values: Tensor) -> IndexedSlices:
        """Return slices of the same rows with other values."""
        return IndexedSlices(values, self._indices, self._dense_shape)

    def __neg__(self) -> IndexedSlices:
        return self.with_values(-self._values)

    def __str__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape!s}"
        return f"IndexedSlices(indices={self._indices!s}, values={self._values!s}{shape})"

    @property
    def _type_spec(self) -> IndexedSlicesSpec:
        rows = as_dims(self._values.shape)
        return IndexedSlicesSpec(
            _spec_shape(rows, known_extents(self._dense_shape)),
            self.dtype,
            self._indices.dtype,
            None if self._dense_shape is None else self._dense_shape.dtype,
            shape_of(None if rows is None else rows[:1]),
        )

    def _shape_invariant_to_type_spec(self, shape: TensorShape) -> IndexedSlicesSpec:
        """Return the type in a loop whose values are of `shape`."""
        dense = None if self._dense_shape is None else self._dense_shape.dtype
        rows = None if shape.rank is None else shape[:1]
        return IndexedSlicesSpec(shape, self.dtype, self._indices.dtype, dense, rows)

    def __fg_tensor__(self, dtype: DType | None = None) -> Any:
        """Return the dense tensor. Raises ValueError if its shape is not known or another dtype is asked for."""
        if dtype is not None and dtype is not self.dtype:
            raise ValueError(
                f"Incompatible tensor conversion requested to `dtype` {dtype.name} for IndexedSlices ({self}) with "
                f"dtype {self.dtype.name}"
            )
        if self._dense_shape is None:
            raise ValueError(
                f"Tensor conversion requested for IndexedSlices for argument `value` without dense_shape: {self}"
            )
        known = known_extents(self._dense_shape)
        if known is None or known[0] is None:  # a shape that only the run will tell
            scatter, cast, values = primitives.get("gather_grad"), primitives.public_function("cast"), self._values
            if _is_half(self):
                values = cast(values, float32)
            made = bind(scatter, (values, self._indices, self._dense_shape), {"axis": 0, "batch_dims": 0})
            return cast(made, self.dtype)
        return primitives.public_function("math.unsorted_segment_sum")(self._values, self._indices, known[0])


class IndexedSlicesSpec(TypeSpec):
    """The spec of an IndexedSlices. Source: tf.IndexedSlicesSpec."""

    __slots__ = ("_dense_shape_dtype", "_indices_dtype", "_indices_shape", "_shape", "_values_dtype")

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        indices_dtype: DTypeLike = int64,
        dense_shape_dtype: DTypeLike | None = None,
        indices_shape: ShapeLike = None,
    ) -> None:
        self._shape = shape_of(as_dims(shape))
        self._values_dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        given = as_dims(indices_shape)
        if given is not None and len(given) != 1:
            raise ValueError(f"Shape {indices_shape} must have rank 1")
        self._indices_shape = shape_of(given if given is not None else (None,))

    @property
    def value_type(self) -> type:
        return IndexedSlices

    def _serialize(self) -> tuple[Any, ...]:
        return (self._shape, self._values_dtype, self._indices_dtype, self._dense_shape_dtype, self._indices_shape)

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        shape, rows = as_dims(self._shape), as_dims(self._indices_shape)
        values = None if shape is None or rows is None else (*rows, *shape[1:])
        specs = [TensorSpec(values, self._values_dtype), TensorSpec(self._indices_shape, self._indices_dtype)]
        if self._dense_shape_dtype is not None:
            specs.append(TensorSpec([None if shape is None else len(shape)], self._dense_shape_dtype))
        return tuple(specs)

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        if value.dense_shape is None:
            return (value.values, value.indices)
        return (value.values, value.indices, value.dense_shape)

    def _from_components(self, components: tuple[Any, ...]) -> IndexedSlices:
        return IndexedSlices(*components)


def known_extents(dense_shape: Any) -> Shape:
    """Knowledge of the shape that a 1-D tensor holds."""
    if dense_shape is None:
        return None
    dense_shape = convert(dense_shape)
    if isinstance(dense_shape, EagerTensor):
        return tuple(int(dim) for dim in as_array(dense_shape))
    numbers = dense_shape.aval.numbers
    if numbers is not None:
        return tuple(numbers)
    rank = as_dims(dense_shape.shape)
    return None if rank is None or rank[0] is None else (None,) * rank[0]


def _spec_shape(rows: Shape, known: Shape) -> Shape:
    """The dense shape as far as values and dense_shape tell it."""
    if rows is None:
        return known
    from_rows = (None, *rows[1:])
    if known is None or len(known) != len(from_rows):
        return from_rows
    return tuple(a if a is not None else b for a, b in zip(known, from_rows, strict=True))


def _accumulate(a: TensorLike, b: TensorLike) -> Any:
    """The sum of two cotangents, of which at least one is sparse: sparse only if both are."""
    if isinstance(a, IndexedSlices) and isinstance(b, IndexedSlices):
        concat = primitives.public_function("concat")
        indices = [a.indices, b.indices]
        if a.indices.dtype is not b.indices.dtype:
            cast = primitives.public_function("cast")
            indices = [cast(i, int64) for i in indices]
        shape = a.dense_shape if a.dense_shape is not None else b.dense_shape
        return IndexedSlices(concat([a.values, b.values], 0), concat(indices, 0), shape)
    dense, slices = (b, a) if isinstance(a, IndexedSlices) else (a, b)
    if isinstance(slices, IndexedSlices) and _in_graph(dense) and slices.dense_shape is not None:
        # A few rows of it are other ones: a loop changes them where they are.
        if not _is_half(slices):
            add = primitives.get("gather_add")
            return bind(add, (dense, slices.values, slices.indices), {"axis": 0, "batch_dims": 0})
        if slices.values.shape.rank and slices.values.shape[0] == 1:
            at = slices.indices[0]
            row = primitives.public_function("gather")(dense, at) + slices.values[0]
            return bind(primitives.get("list_set"), (dense, at, row), {"in_order": ""})
    return convert(a) + convert(b)


def _in_graph(tensor: object) -> bool:
    return isinstance(tensor, Tensor) and not isinstance(tensor, EagerTensor)


def _is_half(slices: IndexedSlices) -> bool:
    """Return whether many rows must not be added one by one, as each sum is rounded to 16 bits."""
    return slices.dtype.is_floating and slices.dtype.size <= 2


def _of_gather(values: Any, indices: Any, dense_shape: Any) -> IndexedSlices:
    """The gradient of a gather; its shape may be given as an array."""
    return IndexedSlices(values, indices, convert(dense_shape))


_tape.set_composite_accumulator(_accumulate)
register_slot("indexed_slices", _of_gather)
for _class in (IndexedSlices, IndexedSlicesSpec):
    primitives.register_public(_class, _class.__name__)
