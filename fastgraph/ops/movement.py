"""Movement: ops whose results are their inputs' elements at other places.

Rule: a static shape or axis is an attribute; one known only at run time is an input of the op's `_dynamic` form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int32, int64
from fastgraph.core.base.shapes import UNKNOWN, Aval, ShapeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import EagerTensor, Tensor, bind, class_has, current_trace
from fastgraph.ops.arguments import UnknownAxis, as_tensor, extents, known_axes, named, preferred, static_axes, whole
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.families import (
    Array,
    Builder,
    Dims,
    Node,
    body_of,
    custom,
    invalid,
    misuse,
    movement,
    public,
    validated,
)
from fastgraph.ops.value_inference import of_elements


def too_many(shape: Sequence[int]) -> bool:
    """Return whether a tensor of this shape has more elements than can be counted."""
    total = 1
    for n in shape:
        total *= n
    return total > 2**63 - 1


def shape_of_value(shape: Aval) -> Dims:
    """The shape that an input of extents describes, as far as it is known.

    Where it is not all known, an extent of less than 0 is not known either: what it stands for, the op says.
    """
    numbers = shape.numbers
    if numbers is not None:
        return tuple(numbers if shape.value is not None else [None if n is not None and n < 0 else n for n in numbers])
    if shape.shape is None or len(shape.shape) != 1 or shape.shape[0] is None:
        return None
    return (None,) * shape.shape[0]


def _ints(values: Array) -> tuple[int, ...]:
    return tuple(int(n) for n in np.ravel(values))


# ---- reshape --------------------------------------------------------------------------------------------------------


def _reshaped(shape: Dims, target: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """`target` with its -1 worked out from the number of elements of `shape`."""
    size = None
    if shape is not None and None not in shape:
        size = 1
        for n in shape:
            size *= n  # type: ignore[operator]
    if any(n is not None and n < -1 for n in target):
        i = next(i for i, n in enumerate(target) if n is not None and n < -1)
        raise ValueError(f"Size {i} must be non-negative, not {target[i]}")
    if target.count(-1) > 1:
        first = target.index(-1)
        raise ValueError(f"Only one input size may be -1, not both {first} and {target.index(-1, first + 1)}")
    if size is None or None in target:
        return tuple(None if n == -1 else n for n in target)
    if -1 in target:  # what is left by the extents other than 0, where some are 0
        wanted = math.prod(n for n in target if n not in (-1, 0))  # type: ignore[misc]
        left = math.prod(n for n in shape if n) if 0 in target else size  # type: ignore[union-attr, misc]
        if left % wanted and left == size:
            raise ValueError(
                f"Input to reshape is a tensor with {size} values, but the requested shape requires a multiple of "
                f"{wanted}"
            )
        target = tuple(left // wanted if n == -1 else n for n in target)
    wanted = math.prod(target)  # type: ignore[arg-type]
    if wanted != size:
        raise ValueError(f"Input to reshape is a tensor with {size} values, but the requested shape has {wanted}")
    return target


def _infer_reshape(tensor: Aval, *, shape: tuple[int, ...]) -> Aval:
    dims = _reshaped(tensor.shape, shape)
    value = None
    if tensor.value is not None and None not in dims:
        value = tensor.value.reshape(tuple(n for n in dims if n is not None))
    return Aval(tensor.dtype, dims, value)


def _lower_reshape(b: Builder, node: Node) -> list[Any]:
    x, out = b.input(0), b.output(0)
    return [lambda index: x.at(b.reshaped(index, out.shape, x.shape))]


def _reshape_errors() -> list[Any]:
    x = np.ones([2, 3], np.float32)
    return [
        misuse("tensor with 6 values, but the requested shape has 8", x, shape=(4, 2)),
        misuse("requested shape requires a multiple of 4", x, shape=(4, -1)),
        misuse("Only one input size may be -1, not both 0 and 1", x, shape=(-1, -1)),
        misuse("Size 0 must be non-negative, not -2", x, shape=(-2, 3)),
    ]


@movement(
    infer=_infer_reshape,
    lower=_lower_reshape,
    vjp=dict(tensor=lambda dy, tensor_shape: reshape(dy, tensor_shape)),
    samples=lambda: [
        ((np.arange(np.prod(a, dtype=int)).astype(t).reshape(a),), {"shape": s})
        for t in ("float32", "int64", "bool")
        for a, s in (
            ((2, 6), (3, 4)),
            ((2, 3, 4), (-1,)),
            ((2, 3, 4), (6, -1)),
            ((), (1, 1)),
            ((1,), ()),
            ((0, 3), (-1, 3)),
            ((2, 3), (2, 1, 3)),
        )
    ],
    error_samples=_reshape_errors,
)
def reshape_p(tensor: Array, *, shape: tuple[int, ...]) -> Any:
    """The elements in row-major order in another shape; -1 stands for what is left. t[*s] -> t[*shape]."""
    if not shape or min(shape) >= -1:
        try:
            return tensor.reshape(shape)
        except ValueError:
            pass  # NumPy's rules for sizes of 0, and its words, are other ones
    if too_many(shape):
        raise invalid(f"Shape [{', '.join(map(str, shape))}] has too many elements")
    return tensor.reshape(validated(_reshaped, tensor.shape, shape))


def _infer_reshape_dynamic(tensor: Aval, shape: Aval) -> Aval:
    if shape.value is not None:
        return _infer_reshape(tensor, shape=tuple(shape.numbers))  # type: ignore[arg-type]
    dims = shape_of_value(shape)
    if dims is not None and dims.count(None) == 1 and (size := tensor.size) is not None:
        others = 1
        for n in dims:
            others *= 1 if n is None else n
        if (
            others and size % others == 0
        ):  # one that is not known is what is left, whether the op or the program says it
            dims = tuple(size // others if n is None else n for n in dims)
    return Aval(tensor.dtype, dims)


@movement(
    op="Reshape",
    infer=_infer_reshape_dynamic,
    groups=("T", "Tshape"),
    dtypes={"Tshape": "index"},
    shape_inputs=(1,),
    lower=_lower_reshape,
    vjp=dict(tensor=lambda dy, tensor_shape: reshape(dy, tensor_shape)),
    samples=lambda: [((np.arange(6.0), np.array([2, -1])), {}), ((np.arange(6.0), np.array([3, 2])), {})],
)
def reshape_dynamic(tensor: Array, shape: Array) -> Any:
    """`reshape` to a shape that is known only at run time. t[*s], i[n] -> t[*shape]."""
    return body_of(reshape_p)(tensor, shape=_ints(shape))


_RESHAPE = reshape_p.primitive  # type: ignore[attr-defined]


@public("reshape")
def reshape(tensor: TensorLike, shape: TensorLike | ShapeLike, name: str | None = None) -> Any:
    """The elements in row-major order in another shape. t[*s] -> t[*shape].

    Args:
        tensor: Anything with as many elements as `shape` has.
        shape: A list of ints, which may have tensors in it, or an integer tensor. One extent may be -1: what is left.

    Raises:
        InvalidArgumentError: The numbers of elements differ.

    Examples:
        >>> tf.reshape([1, 2, 3, 4, 5, 6], [2, -1])
        <tf.Tensor: shape=(2, 3), dtype=int32, numpy=
        array([[1, 2, 3],
               [4, 5, 6]], dtype=int32)>
        >>> tf.reshape([[1, 2], [3, 4]], [-1])
        <tf.Tensor: shape=(4,), dtype=int32, numpy=array([1, 2, 3, 4], dtype=int32)>
        >>> tf.reshape([1, 2, 3], [2, 2])
        Traceback (most recent call last):
            ...
        fastgraph.errors.InvalidArgumentError: ...Input to reshape is a tensor with 3 values...

    Source: tf.reshape.
    """
    if type(shape) is tuple and name is None and current_trace() is None:
        for n in shape:
            if type(n) is not int:
                break
        else:
            return bind(_RESHAPE, (tensor,), {"shape": shape})
    size = extents(shape, "Reshape.Tshape")
    if size.static is not None:
        if name is None:
            return bind(_RESHAPE, (tensor,), {"shape": size.static})
        return named(name, reshape_p, tensor, shape=size.static)
    return named(name, reshape_dynamic, tensor, size.tensor)


# ---- transpose ------------------------------------------------------------------------------------------------------


def _check_permutation(perm: Sequence[int], rank: int) -> tuple[int, ...]:
    if len(perm) != rank:
        raise ValueError(f"transpose expects a vector of size {rank}. But input(1) is a vector of size {len(perm)}")
    for p in perm:
        if not -rank <= p < rank:
            raise ValueError(f"{p} is out of range [0 .. {rank})")
    canonical = tuple(p % rank for p in perm)
    for i in range(rank):
        if i not in canonical:
            raise ValueError(f"{i} is missing from {{{','.join(map(str, perm))}}}.")
    return canonical


def _infer_transpose(x: Aval, *, perm: tuple[int, ...]) -> Aval:
    if x.shape is None:
        return Aval(x.dtype, (None,) * len(perm))
    return Aval(x.dtype, tuple(x.shape[p] for p in _check_permutation(perm, len(x.shape))))


def _lower_transpose(b: Builder, node: Node) -> list[Any]:
    x = b.input(0)
    perm = [p % x.rank for p in node.attrs["perm"]]
    return [lambda index: x.at([index[perm.index(axis)] for axis in range(x.rank)])]


@movement(
    infer=_infer_transpose,
    lower=_lower_transpose,
    vjp=dict(x=lambda dy, perm: transpose_p(dy, perm=tuple(int(i) for i in np.argsort([p % len(perm) for p in perm])))),
    samples=lambda: [
        ((np.arange(24).astype(t).reshape(2, 3, 4),), {"perm": p})
        for t in ("float32", "int8", "bool", "complex64")
        for p in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (-1, 0, 1))
    ],
    error_samples=lambda: [
        misuse(
            "transpose expects a vector of size 2. But input\\(1\\) is a vector of size 1", np.ones([2, 3]), perm=(0,)
        ),
        misuse("1 is missing from {0,0}.", np.ones([2, 3]), perm=(0, 0)),
        misuse("2 is out of range \\[0 .. 2\\)", np.ones([2, 3]), perm=(0, 2)),
    ],
)
def transpose_p(x: Array, *, perm: tuple[int, ...]) -> Any:
    """x with its axes in the order `perm`. t[*s] -> t[*permuted]."""
    try:
        return np.transpose(x, _check_permutation(perm, x.ndim))
    except ValueError as error:
        raise invalid(str(error)) from None


_TRANSPOSE = transpose_p.primitive  # type: ignore[attr-defined]
#: By rank: making one takes as long as a small transpose.
_REVERSED = tuple([tuple(range(rank - 1, -1, -1)) for rank in range(5)])


@public("transpose")
def transpose(
    a: TensorLike, perm: TensorLike | None = None, conjugate: bool = False, name: str | None = "transpose"
) -> Any:
    """a with its axes in the order `perm` (None: reversed), complex-conjugated if asked. t[*s] -> t[*permuted].

    Args:
        a: The tensor.
        perm: For each axis of the result, the axis of a that it is.
        conjugate: Whether complex numbers are conjugated as well.

    Raises:
        InvalidArgumentError: `perm` is no permutation of the axes.

    Examples:
        >>> tf.transpose([[1, 2, 3], [4, 5, 6]])
        <tf.Tensor: shape=(3, 2), dtype=int32, numpy=
        array([[1, 4],
               [2, 5],
               [3, 6]], dtype=int32)>
        >>> images = tf.zeros([8, 28, 32, 3])
        >>> tf.transpose(images, [0, 3, 1, 2]).shape
        TensorShape([8, 3, 28, 32])

    Source: tf.transpose.
    """
    a = as_tensor(a)
    if perm is None:
        rank = a.ndim if type(a) is EagerTensor else a.shape.rank
        if rank is None:
            return late(lambda x: transpose(x, conjugate=conjugate), [a], a.dtype, name=name)
        axes = _REVERSED[rank] if rank < len(_REVERSED) else tuple(range(rank - 1, -1, -1))
    else:
        try:
            axes = static_axes(perm, "Tperm")  # type: ignore[assignment]
        except UnknownAxis:
            perm = preferred(perm, int32)
            made = late(lambda x, order: transpose(x, order, conjugate), [a, perm], a.dtype, name=name)
            rank = perm.shape[0] if a.shape.rank is None and perm.shape.rank else a.shape.rank
            made.set_shape(None if rank is None else [None] * rank)
            return made
    result = bind(_TRANSPOSE, (a,), {"perm": axes}) if name == "transpose" else named(name, transpose_p, a, perm=axes)
    return conj(result) if conjugate else result


# ---- axes of size 1 -------------------------------------------------------------------------------------------------


def _expanded_rank(rank: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The positions, in the result, of the new axes."""
    total = rank + len(axes)
    for a in axes:
        if not -total <= a < total:
            raise ValueError(f"Tried to expand dim index {a} for tensor with {rank} dimensions.")
    if len({a % total for a in axes}) < len(axes):
        raise ValueError(f"The axes {axes} of a tensor with {rank} dimensions name one position twice.")
    return tuple(sorted(a % total for a in axes))


def _infer_expand(input: Aval, *, axes: tuple[int, ...]) -> Aval:
    if input.shape is None:
        return Aval(input.dtype, None)
    new = _expanded_rank(len(input.shape), axes)
    old = iter(input.shape)
    return Aval(input.dtype, tuple(1 if i in new else next(old) for i in range(len(input.shape) + len(new))))


@movement(
    infer=_infer_expand,
    lower=_lower_reshape,
    vjp=dict(input=lambda dy, input_shape: reshape(dy, input_shape)),
    samples=lambda: (
        [((np.arange(6.0).reshape(2, 3),), {"axes": a}) for a in ((0,), (-1,), (1,), (0, 3), ())]
        + [((np.array(True),), {"axes": (0,)})]
    ),
    error_samples=lambda: [
        misuse("Tried to expand dim index 3 for tensor with 2 dimensions.", np.ones([2, 3]), axes=(3,))
    ],
)
def expand_dims_p(input: Array, *, axes: tuple[int, ...]) -> Any:
    """input with new axes of size 1 at the positions `axes` of the result. t[*s] -> t[*s with ones]."""
    new = validated(_expanded_rank, input.ndim, axes)
    old = iter(input.shape)
    return input.reshape([1 if i in new else next(old) for i in range(input.ndim + len(new))])


_EXPAND_DIMS = expand_dims_p.primitive  # type: ignore[attr-defined]


@public("expand_dims")
def expand_dims(input: TensorLike, axis: TensorLike, name: str | None = None) -> Any:
    """input with a new axis of size 1 at position `axis`. t[*s] -> t[*s with a one].

    Args:
        input: The tensor.
        axis: Where the new axis stands in the result; -1: behind all others.

    Raises:
        InvalidArgumentError: There is no such position.

    Examples:
        >>> image = tf.zeros([28, 28])
        >>> tf.expand_dims(image, 0).shape, tf.expand_dims(image, -1).shape
        (TensorShape([1, 28, 28]), TensorShape([28, 28, 1]))

    Source: tf.expand_dims.
    """
    try:
        axes = (axis,) if type(axis) is int else known_axes(axis, "Tdim")
    except UnknownAxis:
        x = as_tensor(input)
        made = late(expand_dims, [x, axis], x.dtype, name=name)
        made.set_shape(None if x.shape.rank is None else [None] * (x.shape.rank + 1))
        return made
    if len(axes) != 1:
        raise invalid("'dim' must be a tensor with a single value", "ExpandDims", as_tensor(input).shape)
    return (
        bind(_EXPAND_DIMS, (input,), {"axes": axes}) if name is None else named(name, expand_dims_p, input, axes=axes)
    )


def _squeezed(shape: Sequence[int | None], axes: tuple[int, ...]) -> tuple[int, ...]:
    rank = len(shape)
    for a in axes:
        if not -rank <= a < rank:
            raise ValueError(f"Tried to squeeze dim index {a} for tensor with {rank} dimensions.")
        if shape[a] not in (1, None):
            raise ValueError(f"Can not squeeze dim[{a % rank}], expected a dimension of 1, got {shape[a]}")
    return tuple(a % rank for a in axes)


def _infer_squeeze(input: Aval, *, axes: tuple[int, ...]) -> Aval:
    if input.shape is None:
        return Aval(input.dtype, None)
    if not axes:
        if None in input.shape:
            return Aval(input.dtype, None)
        return Aval(input.dtype, tuple(n for n in input.shape if n != 1))
    gone = _squeezed(input.shape, axes)
    return Aval(input.dtype, tuple(n for i, n in enumerate(input.shape) if i not in gone))


@movement(
    infer=_infer_squeeze,
    lower=_lower_reshape,
    vjp=dict(input=lambda dy, input_shape: reshape(dy, input_shape)),
    samples=lambda: [((np.arange(6.0).reshape(1, 2, 1, 3),), {"axes": a}) for a in ((), (0,), (-2,), (0, 2))],
    error_samples=lambda: [
        misuse("Can not squeeze dim\\[0\\], expected a dimension of 1, got 2", np.ones([2, 3]), axes=(0,)),
        misuse("Tried to squeeze dim index 5 for tensor with 2 dimensions.", np.ones([2, 3]), axes=(5,)),
    ],
)
def squeeze_p(input: Array, *, axes: tuple[int, ...]) -> Any:
    """input without the axes `axes` (none given: all) of size 1. t[*s] -> t[*s without ones]."""
    gone = validated(_squeezed, input.shape, axes)
    return input.reshape([n for i, n in enumerate(input.shape) if (i not in gone if axes else n != 1)])


_SQUEEZE = squeeze_p.primitive  # type: ignore[attr-defined]


def _attr_axes(axis: TensorLike | None) -> tuple[int, ...]:
    """Axes that are an attribute of TensorFlow's op: numbers, in a list or alone."""
    if axis is None:
        return ()
    if isinstance(axis, (list, tuple)):
        return tuple(whole(a, "axis") for a in axis)
    if isinstance(axis, (Tensor, np.ndarray)) or class_has(axis, "__fg_tensor__"):
        raise TypeError(f"Expected list for 'axis' argument to 'squeeze' Op, not {axis!r}.")
    return (whole(axis, "axis"),)


@public("squeeze")
def squeeze(input: TensorLike, axis: TensorLike | None = None, name: str | None = None) -> Any:
    """input without axes of size 1: all of them, or those of `axis`. t[*s] -> t[*s without ones].

    Args:
        input: The tensor.
        axis: An int or a list of them; None: all axes of size 1.

    Raises:
        InvalidArgumentError: Such an axis has another size.

    Examples:
        >>> x = tf.zeros([1, 5, 1])
        >>> tf.squeeze(x).shape, tf.squeeze(x, axis=0).shape
        (TensorShape([5]), TensorShape([5, 1]))

    Source: tf.squeeze.
    """
    if axis is None and class_has(input, "__fg_bind__") and hasattr(input, "row_splits"):
        raise ValueError("Ragged.squeeze must have an axis argument.")
    axes = (axis,) if type(axis) is int else _attr_axes(axis)
    return bind(_SQUEEZE, (input,), {"axes": axes}) if name is None else named(name, squeeze_p, input, axes=axes)


# ---- what a shape is ------------------------------------------------------------------------------------------------


def _infer_shape(input: Aval, *, out_type: DType) -> Aval:
    if input.shape is None:
        return Aval(out_type, (None,))
    rank = (len(input.shape),)
    if None in input.shape:
        return of_elements(out_type, np.array([UNKNOWN if n is None else n for n in input.shape]))
    return Aval(out_type, rank, _constant(input.shape, out_type))


def _constant(number: Any, dtype: DType) -> np.ndarray[Any, Any] | None:
    """A number or numbers as an array; None where the dtype does not hold them: then running the op says so."""
    try:
        value = np.array(number, dtype.numpy_dtype)
    except OverflowError:
        return None
    value.flags.writeable = False
    return value


def _lower_shape(b: Builder, node: Node) -> list[Any]:
    def element(index: Sequence[Any]) -> Any:
        extents = b.input(0).shape or (b.const(0, "int64"),)  # a scalar's shape has no element
        result = extents[-1]
        for i in reversed(range(len(extents) - 1)):
            result = b.select(index[0].eq(i), extents[i], result)
        return b.cast(result, node.attrs["out_type"])

    return [element]


def _shape_samples() -> list[Any]:
    shapes = ((), (3,), (2, 0, 3))
    return [((np.zeros(s, np.float32),), {"out_type": t}) for s in shapes for t in (int32, int64)]


@custom(infer=_infer_shape, lower=_lower_shape, groups=("-",), samples=_shape_samples)
def shape_p(input: Array, *, out_type: DType) -> Any:
    """The extents of input. t[*s] -> i[rank]."""
    return np.array(input.shape, out_type.numpy_dtype)


def _infer_size(input: Aval, *, out_type: DType) -> Aval:
    known = input.shape is not None and None not in input.shape
    return Aval(out_type, (), _constant(int(np.prod(input.shape, dtype=np.int64)), out_type) if known else None)  # type: ignore[arg-type]


def _lower_size(b: Builder, node: Node) -> list[Any]:
    def element(index: Sequence[Any]) -> Any:
        total = b.const(1, "int64")
        for n in b.input(0).shape:
            total = total * n
        return b.cast(total, node.attrs["out_type"])

    return [element]


@custom(infer=_infer_size, lower=_lower_size, groups=("-",), samples=_shape_samples)
def size_p(input: Array, *, out_type: DType) -> Any:
    """The number of elements of input. t[*s] -> i[]."""
    return np.array(input.size, out_type.numpy_dtype)


@custom(
    "rank",
    infer=lambda input: Aval(int32, (), None if input.shape is None else _constant(len(input.shape), int32)),
    lower=lambda b, node: [lambda index: b.const(b.input(0).rank, "int32")],
    groups=("-",),
    samples=lambda: [((np.zeros(s, np.float32),), {}) for s in ((), (3,), (2, 0, 3))],
)
def rank(input: Array) -> Any:
    """The number of axes of input. t[*s] -> i32[]. Source: tf.rank.

    Args:
        input: A tensor.

    Examples:
        >>> tf.rank([[1, 2, 3]])
        <tf.Tensor: shape=(), dtype=int32, numpy=2>
    """
    return np.array(input.ndim, np.int32)


@public("shape")
def shape(input: Any, out_type: DTypeLike | None = None, name: str | None = None) -> Any:
    """The extents of input at run time. t[*s] -> i32[rank]. Source: tf.shape.

    `x.shape` is what is known while a graph is made, where an extent may be None; this is what there will be.

    Args:
        input: A tensor or RaggedTensor.
        out_type: int32 (None) or int64.

    Examples:
        >>> @tf.function(input_signature=[tf.TensorSpec([None, 3])])
        ... def rows(x):
        ...     print("known:", x.shape)
        ...     return tf.shape(x)[0]
        >>> rows(tf.ones([4, 3]))
        known: (None, 3)
        <tf.Tensor: shape=(), dtype=int32, numpy=4>
    """
    return named(name, shape_p, input, out_type=int32 if out_type is None else as_dtype(out_type))


@public("size")
def size(input: TensorLike, out_type: DTypeLike | None = None, name: str | None = None) -> Any:
    """The number of elements of input at run time. t[*s] -> i32[]. Source: tf.size.

    Args:
        input: A tensor.
        out_type: int32 or int64; None: int32.

    Examples:
        >>> tf.size(tf.zeros([2, 3, 4]))
        <tf.Tensor: shape=(), dtype=int32, numpy=24>
    """
    return named(name, size_p, input, out_type=int32 if out_type is None else as_dtype(out_type))
