"""SparseTensor: the elements of a large tensor that are not zero, with their indices; a composite of three tensors.

Rule: nothing here says what an operation computes, only what a SparseTensor is and how it takes part in conversion,
nesting, Functions and tapes; the operations are in sparse_ops and sparse_math.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, float32, int64
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import ShapeLike, TensorShape, as_dims, shape_of
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.conversion import TensorLike, convert_to_tensor, unsupported
from fastgraph.core.primitive import Primitive
from fastgraph.core.tape.indexed_slices import known_extents
from fastgraph.core.tensor import Tensor, bind, convert
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.deferred_calls import late_structure
from fastgraph.ops.division import truediv
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import invalid, shape_text
from fastgraph.ops.movement import shape
from fastgraph.ops.reduction import reduce_prod
from fastgraph.ops.scatter import gather_nd
from fastgraph.ops.special_functions import truncatediv

#: Elementwise ops that keep zeros: to a SparseTensor they do what they do to its values.
_KEEP_ZEROS = frozenset(
    """
    abs asin asinh atan atanh cast ceil complex_abs conj erf erfinv expm1 floor identity imag log1p negative real rint
    round sign sin sinh sqrt square stop_gradient tan tanh
    """.split()  # noqa: SIM905 - a list of 28 strings is no easier to read
)


def _check_extents(dims: Sequence[int | None] | None) -> Any:
    """Extents, None for one of -1, which says that it is not known. Raises: ValueError for others below 0."""
    if dims is None:
        return None
    for n in dims:
        if n is not None and n < -1:
            raise ValueError(f"Dimension {n} must be >= 0")
    return tuple(None if n == -1 else n for n in dims)


class SparseTensor(CompositeTensor):
    """dense[indices[i]] = values[i], all else is zero. Source: tf.SparseTensor.

    Args:
        indices: i64[n, rank], in row-major order for most operations: `tf.sparse.reorder` gives it.
        values: t[n].
        dense_shape: i64[rank].

    Raises:
        ValueError: The three do not fit one another.

    Examples:
        >>> sparse = tf.SparseTensor(indices=[[0, 1], [2, 0]], values=[5.0, 7.0], dense_shape=[3, 2])
        >>> tf.sparse.to_dense(sparse)
        <tf.Tensor: shape=(3, 2), dtype=float32, numpy=
        array([[0., 5.],
               [0., 0.],
               [7., 0.]], dtype=float32)>
    """

    _is_tensor = True

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: TensorLike) -> None:
        self._indices: Any = convert_to_tensor(indices, int64)
        self._values: Any = convert(values)
        self._dense_shape = convert_to_tensor(dense_shape, int64)
        self._known = TensorShape(None)
        rows = self._indices.shape.with_rank(2)
        count = self._values.shape.with_rank(1)
        rank = self._dense_shape.shape.with_rank(1)
        _assert_same_size(rows[0], count[0])
        _assert_same_size(rows[1], rank[0])
        _check_extents(known_extents(self._dense_shape))

    @classmethod
    def from_value(cls, sparse_tensor_value: object) -> SparseTensor:
        """Return a SparseTensor with the fields of one, or of a named tuple like it. TypeError for anything else."""
        fields = ("indices", "values", "dense_shape")
        named = isinstance(sparse_tensor_value, tuple) and getattr(sparse_tensor_value, "_fields", None) == fields
        if not (named or isinstance(sparse_tensor_value, SparseTensor)):
            raise TypeError(
                f"Argument sparse_tensor_value={sparse_tensor_value} is neither a SparseTensor nor SparseTensorValue."
            )
        return cls(*[getattr(sparse_tensor_value, field) for field in fields])

    indices = ReadOnly[Tensor]("_indices", "The places of the values. i64[n, rank].")
    values = ReadOnly[Tensor]("_values", "The values. t[n].")

    dense_shape = ReadOnly[Tensor]("_dense_shape", "The dense tensor's shape. i64[rank].")

    @property
    def shape(self) -> TensorShape:
        """The dense tensor's shape, as far as it is known."""
        if isinstance(self._dense_shape, Tensor):
            known = shape_of(_check_extents(known_extents(self._dense_shape)))
            if known.rank is None and isinstance(self._indices, Tensor) and self._indices.shape.rank is not None:
                rank = self._indices.shape[1]
                known = shape_of(None if rank is None else (None,) * rank)
            return known if known.is_fully_defined() else self._known.merge_with(known)
        return self._known

    def get_shape(self) -> TensorShape:
        """Return the dense tensor's shape, as far as it is known."""
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Say what is known of the dense tensor's shape. Raises ValueError if it contradicts what was known."""
        self._known = self.shape.merge_with(shape)

    dtype = ReadOnly[DType]("_values.dtype", "The dtype of the values.")
    rank = ReadOnly[int | None]("shape.rank", "The number of dimensions of the dense tensor, or None.")

    op = ReadOnly[Any]("_values.op", "The operation that made `values`.")
    graph = ReadOnly[Any]("_values.graph", "The graph that `values` belong to.")

    def consumers(self) -> list[Any]:
        """Return the operations that take one of the three tensors; in eager mode none are known."""
        found: list[Any] = []
        for part in (self._indices, self._values, self._dense_shape):
            made = part.consumers() if hasattr(part, "consumers") else []
            found += [one for one in made if one not in found]
        return found

    def eval(self, feed_dict: object = None, session: object = None) -> Any:
        """Sessions do not exist here: raises as reading `graph` does, else NotImplementedError."""
        raise NotImplementedError(f"There is no session to evaluate {self.graph} in; call a fastgraph.function")

    def with_values(self, new_values: TensorLike) -> SparseTensor:
        """Return a SparseTensor with other values at the same places. Raises ValueError for another number of them."""
        made = SparseTensor(self._indices, new_values, self._dense_shape)
        made._known = self._known
        return made

    def __mul__(self, y: TensorLike) -> SparseTensor:
        return self._times(y)

    def __truediv__(self, y: TensorLike) -> SparseTensor:
        return self.with_values(truediv(self._values, broadcast_values(self, y)))

    def __div__(self, y: TensorLike) -> SparseTensor:
        divide = truncatediv if self.dtype.is_integer else truediv
        return self.with_values(divide(self._values, broadcast_values(self, y)))

    def _times(self, y: TensorLike) -> SparseTensor:
        return self.with_values(self._values * broadcast_values(self, y))

    def __repr__(self) -> str:
        parts = f"indices={self._indices!s}, values={self._values!s}, dense_shape={self._dense_shape!s}"
        return f"SparseTensor({parts})"

    __str__ = __repr__

    # -- how it takes part

    @property
    def _type_spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self.shape, self.dtype)

    def _shape_invariant_to_type_spec(self, shape: TensorShape) -> SparseTensorSpec:
        """Return the type in a loop: `shape` is that of `dense_shape`. Raises ValueError if it is of another rank."""
        rank = shape.with_rank(1)[0]
        return SparseTensorSpec(None if rank is None else [None] * rank, self.dtype)

    @property
    def aval(self) -> Any:
        """Raise ValueError as its conversion to a tensor does: no one tensor stands for it."""
        raise unsupported(self)

    def __fg_tensor__(self, dtype: DType | None = None) -> SparseTensor:
        return self

    def __fg_shown__(self) -> tuple[Any, ...]:
        """Return the parts that tf.print shows."""
        return "'SparseTensor(indices=", self._indices, ", values=", self._values, ", shape=", self._dense_shape, ")'"

    def __fg_bind__(self, prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Return what the op gives: of its values where it keeps zeros. Raises ValueError for other ops."""
        first = inputs[0]
        if len(inputs) == 1:
            if prim.name in _KEEP_ZEROS:
                return self.with_values(bind(prim, (self._values,), attrs))
            if prim.name == "shape":
                return cast(self._dense_shape, attrs["out_type"])
            if prim.name == "size":
                return cast(reduce_prod(self._dense_shape), attrs["out_type"])
            if prim.name == "rank":
                return shape(self._dense_shape)[0]
        if prim.name == "multiply" and len(inputs) == 2 and (first is self) != (inputs[1] is self):
            return self._times(inputs[1] if first is self else first)
        raise unsupported(self)


def _length(value: SparseTensor) -> Any:
    n = value.shape[0]
    return value.dense_shape[0] if n is None else n


#: Python's builtins in converted code; `len` of an eager one is refused, as TensorFlow does.
#: A SparseTensor, or a named tuple like one.
SparseLike = SparseTensor | tuple[Any, Any, Any]
SparseTensor.__fg_builtins__ = {len: _length}  # type: ignore[attr-defined]


class SparseTensorSpec(TypeSpec):
    """The type of a SparseTensor: shape and dtype. Source: tf.SparseTensorSpec."""

    __slots__ = ("_dtype", "_shape")
    _parts_in_list = True

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = float32) -> None:
        self._shape = shape_of(as_dims(shape))
        self._dtype = as_dtype(dtype)

    @classmethod
    def from_value(cls, value: object) -> SparseTensorSpec:
        """Return the spec of a SparseTensor. Raises TypeError for anything else."""
        if not isinstance(value, SparseTensor):
            raise TypeError("Expected SparseTensor or SparseTensorValue.")
        return value._type_spec

    shape = ReadOnly[TensorShape]("_shape", "The dense tensor's shape, perhaps partly known.")
    dtype = ReadOnly[DType]("_dtype", "The dtype of the values.")

    @property
    def value_type(self) -> type:
        return SparseTensor

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        rank = self._shape.rank
        return TensorSpec([None, rank], int64), TensorSpec([None], self._dtype), TensorSpec([rank], int64)

    def _to_components(self, value: SparseTensor) -> tuple[Any, ...]:
        return value.indices, value.values, value.dense_shape

    def _from_components(self, components: tuple[Any, ...]) -> SparseTensor:
        if all(isinstance(part, Tensor) for part in components):
            made = SparseTensor(*components)
        else:  # parts of another kind: arrays, specs, a gradient that is None
            made = SparseTensor.__new__(SparseTensor)
            made._indices, made._values, made._dense_shape = components
            made._known = TensorShape(None)
        made._known = self._shape
        return made


def as_sparse(value: object) -> SparseTensor:
    """`value`, if it is a SparseTensor or a named tuple like one. Raises TypeError."""
    if isinstance(value, SparseTensor):
        return value
    if isinstance(value, tuple) and getattr(value, "_fields", None) == ("indices", "values", "dense_shape"):
        return SparseTensor.from_value(value)
    raise TypeError("Input must be a SparseTensor.")


def with_shape(indices: TensorLike, values: TensorLike, dense_shape: TensorLike, known: ShapeLike) -> SparseTensor:
    """A SparseTensor of whose dense shape `known` is known besides."""
    made = SparseTensor(indices, values, dense_shape)
    made._known = TensorShape(known)
    return made


def known_rank(sp: SparseTensor, what: str) -> int:
    """The rank of the dense tensor. Raises NotImplementedError, naming the operation, if it is not known."""
    rank = sp.shape.rank
    if rank is None:
        raise NotImplementedError(f"{what} needs a SparseTensor of known rank")
    return rank


def broadcast_values(sp: SparseTensor, dense: TensorLike) -> Any:
    """The elements of `dense`, broadcast to the shape of `sp`, at the places of its values. t[*s] -> t[n]."""
    if isinstance(dense, SparseTensor):
        raise unsupported(dense)
    dense = as_tensor(dense, None if isinstance(dense, Tensor) else sp.dtype)
    if dense.shape.rank == 0:
        return dense
    rank, own = sp.shape.rank, dense.shape.rank
    if rank is None or own is None:
        return late_structure(broadcast_values, (sp, dense), TensorSpec([None], dense.dtype))
    theirs = sp.shape[rank - own :] if own <= rank else TensorShape(None)
    if own > rank or any(m != 1 and None not in (m, n) and m != n for m, n in zip(dense.shape, theirs, strict=True)):
        raise invalid(
            "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
            f"{shape_text(sp.shape.as_list())} vs. {shape_text(dense.shape.as_list())}"
        )
    wide = cast(shape(dense) != 1, int64)  # along an axis of size 1 all indices become 0
    where = sp.indices[:, rank - own :] * wide
    return gather_nd(dense, where)


def _assert_same_size(a: int | None, b: int | None) -> None:
    if a is not None and b is not None and a != b:
        raise ValueError(f"Dimensions {a} and {b} are not compatible")
