"""Matrices and their diagonals: diag, diag_part, set_diag, band_part, trace, cross products, transposes.

Rule: diagonal d of a matrix holds the elements (i, i + d). Several diagonals stand one below the other, the uppermost
first, each padded to the length of the longest on the side that `align` says ("RIGHT_LEFT": those above the main one
at its right, those below at its left).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.ops.arguments import (
    are_known,
    as_tensor,
    known_axes,
    known_axis,
    named,
    of_dtypes,
    preferred,
    static_int,
)
from fastgraph.ops.comparison import logical_and, logical_or
from fastgraph.ops.creation import range_, zeros
from fastgraph.ops.deferred_calls import late, late_unless_known
from fastgraph.ops.elementwise import select, zeros_like
from fastgraph.ops.families import (
    Array,
    Builder,
    Dims,
    Node,
    Operand,
    Scalar,
    invalid,
    misuse,
    movement,
    public,
    shape_text,
    validated,
)
from fastgraph.ops.matmul import extents_of, product_of
from fastgraph.ops.movement import expand_dims_p, reshape
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.runtime_checks import checked, wide

Span = tuple[int, int]  # the lowest and the highest diagonal
_ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def _longest(rows: int | None, columns: int | None, k: Span) -> int | None:
    if rows is None or columns is None:
        return None
    return min(rows + min(k[1], 0), columns - max(k[0], 0))


def _length(d: int, rows: int, columns: int) -> int:
    return max(min(rows + min(d, 0), columns - max(d, 0)), 0)


def _is_left(d: int, align: str) -> bool:
    above, below = align.split("_")
    return (d >= 0 and above == "LEFT") or (d <= 0 and below == "LEFT")


def _check_span(k: Span, rows: int | None, columns: int | None) -> None:
    if k[0] > k[1]:
        raise ValueError(f"lower_diag_index must not be larger than upper_diag_index: {k[0]} > {k[1]}")
    for what, d in (("lower", k[0]), ("upper", k[1])):
        if rows is not None and columns is not None and not (-rows < d < columns or d == 0):
            raise ValueError(f"{what}_diag_index is out of bound: {d}. It must be between {-rows} and {columns}")


def check_rank(shape: Sequence[int | None]) -> None:
    if len(shape) < 2:
        raise ValueError(f"input must be at least 2-dim, received shape: {shape_text(shape)}")


def _place(
    b: Builder, d: Scalar, k: Span, align: str, rows: Scalar, columns: Scalar, longest: Scalar
) -> tuple[Any, Any]:
    """Return where diagonal d, a run-time number, begins in its padded row, and how long it is."""
    zero = b.const(0, "int64")
    length = b.op("min", rows + b.op("min", d, zero), columns - b.op("max", d, zero))
    above, below = align.split("_")
    gap = longest - length
    right_above = zero if above == "LEFT" else gap
    right_below = zero if below == "LEFT" else gap
    middle = zero if "LEFT" in (above, below) else gap
    return b.select(d > 0, right_above, b.select(d < 0, right_below, middle)), length


# ---- diag -----------------------------------------------------------------------------------------------------------


def _diag_shape(shape: Dims, k: Span, rows: int, columns: int) -> Dims:
    if shape is None:
        return None
    several = k[0] != k[1]
    if len(shape) < 1 + several:
        raise ValueError(f"diagonal must be at least {1 + several}-dim, received shape: {shape_text(shape)}")
    if several and shape[-2] not in (None, k[1] - k[0] + 1):
        raise ValueError(
            "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index "
            "range."
        )
    longest = shape[-1]
    for size_of, n in (("rows", rows), ("columns", columns)):
        if n < -1:  # -1 stands for the fewest
            raise ValueError(f"The number of {size_of} is too small.")
    if longest is None:
        size: tuple[int | None, int | None] = (None if rows < 0 else rows, None if columns < 0 else columns)
    else:
        least_rows, least_columns = longest - min(k[1], 0), longest + max(k[0], 0)
        if rows < 0 and columns < 0:
            rows = columns = max(least_rows, least_columns)
        rows, columns = least_rows if rows < 0 else rows, least_columns if columns < 0 else columns
        if rows < least_rows:
            raise ValueError("The number of rows is too small.")
        if columns < least_columns:
            raise ValueError("The number of columns is too small.")
        if rows != least_rows and columns != least_columns:
            raise ValueError(
                "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal."
            )
        size = rows, columns
    return (*shape[: -1 - several], *size)


def _lower_between(b: Builder, node: Node, diagonal: Operand, outside: Callable[[Sequence[Any]], Any]) -> list[Any]:
    """Matrices with diagonals k[0] to k[1], and what `outside` gives for an index elsewhere."""
    k, align, out = node.attrs["k"], node.attrs["align"], b.output(0)

    def element(index: Sequence[Any]) -> Any:
        i, j = index[-2:]
        d = j - i
        begin, _ = _place(b, d, k, align, out.shape[-2], out.shape[-1], diagonal.shape[-1])
        at = b.op("min", i, j) + begin
        where = (*index[:-2], at) if k[0] == k[1] else (*index[:-2], b.const(k[1], "int64") - d, at)
        return b.select((d >= k[0]) & (d <= k[1]), diagonal.at(where), outside(index))

    return [element]


def _lower_diag(b: Builder, node: Node) -> list[Any]:
    padding = b.input(1)
    return _lower_between(b, node, b.input(0), lambda index: padding.at(()))


def _diag_samples() -> list[Any]:
    zero = np.array(0.0)
    found = [
        (
            (np.array([1, 2, 3]).astype(t), np.array(p, t)),
            {"k": (d, d), "rows": -1, "columns": -1, "align": "RIGHT_LEFT"},
        )
        for t, p in (("float32", 0), ("int32", 9), ("bool", 0))
        for d in (0, 1, -2)
    ]
    band = np.arange(1.0, 13.0).reshape(2, 2, 3)
    found += [((band, zero), {"k": (-1, 0), "rows": -1, "columns": -1, "align": a}) for a in _ALIGNMENTS]
    found += [((band, zero), {"k": (1, 2), "rows": 3, "columns": 5, "align": a}) for a in _ALIGNMENTS[:2]]
    return found + [((np.array([1.0, 2.0]), zero), {"k": (0, 0), "rows": 3, "columns": -1, "align": "RIGHT_LEFT"})]


@movement(
    op="MatrixDiagV3",
    infer=lambda diagonal, padding, *, k, rows, columns, align: Aval(
        diagonal.dtype, _diag_shape(diagonal.shape, k, rows, columns)
    ),
    lower=_lower_diag,
    vjp=dict(
        diagonal=lambda dy, padding, k, align: matrix_diag_part(dy, zeros_like(padding), k=k, align=align),
        padding=lambda dy, k: reduce_sum(select(_inside(dy, k), zeros_like(dy), dy)),
    ),
    samples=_diag_samples,
)
def matrix_diag(diagonal: Array, padding: Array, *, k: Span, rows: int, columns: int, align: str) -> Any:
    """Matrices of `padding` with the diagonals given. t[*s, (n,) m], t[] -> t[*s, rows, columns]."""
    dims = validated(_diag_shape, diagonal.shape, k, rows, columns)
    result = np.full(dims, padding, diagonal.dtype)
    for d in range(k[0], k[1] + 1):
        own = diagonal if k[0] == k[1] else diagonal[..., k[1] - d, :]
        n = _length(d, *dims[-2:])
        begin = 0 if _is_left(d, align) else own.shape[-1] - n
        i = np.arange(n) - min(d, 0)
        result[..., i, i + d] = own[..., begin : begin + n]
    return result


def _inside(like: Tensor, k: Span) -> Any:
    """True where the elements of matrices are on the diagonals k: bool[rows, columns]."""
    rows, columns = extents_of(like)[-2:]
    d = expand_dims_p(range_(columns), axes=(0,)) - expand_dims_p(range_(rows), axes=(1,))
    return logical_and(d >= k[0], d <= k[1])


# ---- diag_part ------------------------------------------------------------------------------------------------------


def _part_shape(shape: Dims, k: Span) -> Dims:
    if shape is None:
        return None
    check_rank(shape)
    _check_span(k, *shape[-2:])
    lines = () if k[0] == k[1] else (k[1] - k[0] + 1,)
    return (*shape[:-2], *lines, _longest(shape[-2], shape[-1], k))


def _lower_part(b: Builder, node: Node) -> list[Any]:
    x, padding, out = b.input(0), b.input(1), b.output(0)
    k, align = node.attrs["k"], node.attrs["align"]
    several = k[0] != k[1]

    def element(index: Sequence[Any]) -> Any:
        d = b.const(k[1], "int64") - index[-2] if several else b.const(k[0], "int64")
        begin, length = _place(b, d, k, align, x.shape[-2], x.shape[-1], out.shape[-1])
        n = index[-1] - begin
        zero = b.const(0, "int64")
        at = (*index[: -1 - several], n - b.op("min", d, zero), n + b.op("max", d, zero))
        return b.select((n >= 0) & (n < length), x.at(at), padding.at(()))

    return [element]


def _part_samples() -> list[Any]:
    x = np.arange(1, 13).reshape(3, 4)
    found = [
        ((x.astype(t), np.array(p, t)), {"k": k, "align": a})
        for t, p in (("float32", 0), ("int64", 9))
        for k, a in (((0, 0), "RIGHT_LEFT"), ((1, 1), "RIGHT_LEFT"), ((-2, -2), "LEFT_LEFT"), ((-1, 2), "RIGHT_LEFT"))
    ]
    deep = np.arange(24.0).reshape(2, 4, 3)
    return found + [((deep, np.array(0.5)), {"k": (-2, 1), "align": a}) for a in _ALIGNMENTS]


def _part_errors() -> list[Any]:
    text = r"lower_diag_index is out of bound: 5. It must be between -2 and 3"
    return [
        misuse(text, np.ones([2, 3]), np.array(0.0), k=(5, 5), align="RIGHT_LEFT"),
        misuse(
            r"input must be at least 2-dim, received shape: \[2\]",
            np.ones([2]),
            np.array(0.0),
            k=(0, 0),
            align="RIGHT_LEFT",
        ),
    ]


def _shaped_diag(dy: Tensor, x_shape: tuple[int, ...], k: Span, align: str) -> Any:
    """The gradient of diag_part: its diagonals in zeros of the input's shape."""
    return matrix_set_diag(zeros(x_shape, dy.dtype), dy, k=k, align=align)


@movement(
    op="MatrixDiagPartV3",
    infer=lambda input, padding, *, k, align: Aval(input.dtype, _part_shape(input.shape, k)),
    lower=_lower_part,
    vjp=dict(
        input=lambda dy, input_shape, k, align: _shaped_diag(dy, input_shape, k, align),
        padding=lambda dy, input_shape, k, align: reduce_sum(dy) - reduce_sum(_shaped_diag(dy, input_shape, k, align)),
    ),
    samples=_part_samples,
    error_samples=_part_errors,
)
def matrix_diag_part(input: Array, padding: Array, *, k: Span, align: str) -> Any:
    """The diagonals k of matrices, padded to one length. t[*s, rows, columns], t[] -> t[*s, (n,) m]."""
    dims = validated(_part_shape, input.shape, k)
    result = np.full((*input.shape[:-2], k[1] - k[0] + 1, dims[-1]), padding, input.dtype)
    for d in range(k[0], k[1] + 1):
        n = _length(d, *input.shape[-2:])
        begin = 0 if _is_left(d, align) else dims[-1] - n
        result[..., k[1] - d, begin : begin + n] = np.diagonal(input, d, -2, -1)
    return result.reshape(dims)


# ---- set_diag -------------------------------------------------------------------------------------------------------


def _set_shape(shape: Dims, diagonal: Dims, k: Span) -> Dims:
    if shape is None:
        return None
    check_rank(shape)
    _check_span(k, *shape[-2:])
    wanted = _part_shape(shape, k)
    assert wanted is not None
    fits = diagonal is None or (
        len(diagonal) == len(wanted)
        and all(m is None or n is None or m == n for m, n in zip(diagonal, wanted, strict=True))
    )
    if not fits:
        assert diagonal is not None
        raise ValueError(
            "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to "
            f"the longests diagonal in range [lower_diag_index:upper_diag_index].\nInput shape: {shape_text(shape)}\n"
            f"Diagonal shape: {shape_text(diagonal)}\nExpected diagonal shape: {shape_text(wanted)}"
        )
    return shape


def _lower_set(b: Builder, node: Node) -> list[Any]:
    return _lower_between(b, node, b.input(1), b.input(0).at)


def _set_samples() -> list[Any]:
    x, deep = np.arange(1, 13).reshape(3, 4), np.arange(24.0).reshape(2, 4, 3)
    found = [
        ((x.astype(t), np.array(v).astype(t)), {"k": (d, d), "align": "RIGHT_LEFT"})
        for t in ("float32", "int32")
        for d, v in ((0, [20, 21, 22]), (2, [30, 31]), (-1, [40, 41]))
    ]
    return found + [((deep, -np.arange(24.0).reshape(2, 4, 3)), {"k": (-2, 1), "align": a}) for a in _ALIGNMENTS]


@movement(
    op="MatrixSetDiagV3",
    infer=lambda input, diagonal, *, k, align: Aval(input.dtype, _set_shape(input.shape, diagonal.shape, k)),
    lower=_lower_set,
    vjp=dict(
        input=lambda dy, diagonal, k, align: matrix_set_diag(dy, zeros_like(diagonal), k=k, align=align),
        diagonal=lambda dy, k, align: matrix_diag_part(dy, as_tensor(0, dy.dtype), k=k, align=align),
    ),
    samples=_set_samples,
    error_samples=lambda: [
        misuse(
            r"Input shape: \[2,3\]\nDiagonal shape: \[3\]\nExpected diagonal shape: \[2\]",
            np.ones([2, 3]),
            np.ones([3]),
            k=(0, 0),
            align="RIGHT_LEFT",
        )
    ],
)
def matrix_set_diag(input: Array, diagonal: Array, *, k: Span, align: str) -> Any:
    """Matrices with their diagonals k replaced. t[*s, rows, columns], t[*s, (n,) m] -> t[*s, rows, columns]."""
    validated(_set_shape, input.shape, diagonal.shape, k)
    result = np.array(input)
    for d in range(k[0], k[1] + 1):
        own = diagonal if k[0] == k[1] else diagonal[..., k[1] - d, :]
        n = _length(d, *input.shape[-2:])
        begin = 0 if _is_left(d, align) else own.shape[-1] - n
        i = np.arange(n) - min(d, 0)
        result[..., i, i + d] = own[..., begin : begin + n]
    return result


# ---- band_part ------------------------------------------------------------------------------------------------------


def _check_band(shape: Dims, lower: int, upper: int) -> Dims:
    if shape is None:
        return None
    check_rank(shape)
    for what, n, of, extent in (("lower", lower, "rows", shape[-2]), ("upper", upper, "columns", shape[-1])):
        if extent is not None and n > extent:
            raise ValueError(f"num_{what} must be negative or less or equal to number of {of} ({extent}) got: {n}")
    return shape


def _lower_band(b: Builder, node: Node) -> list[Any]:
    x = b.input(0)

    def element(index: Sequence[Any]) -> Any:
        below = index[-2] - index[-1]
        inside = b.const(True, "bool")
        if node.attrs["lower"] >= 0:
            inside = inside & (below <= b.param(node.attrs["lower"]))
        if node.attrs["upper"] >= 0:
            inside = inside & (below >= b.param(-node.attrs["upper"]))
        return b.select(inside, x.at(index), b.const(0, node.inputs[0].aval.dtype.name))

    return [element]


@movement(
    infer=lambda input, *, lower, upper: Aval(input.dtype, _check_band(input.shape, lower, upper)),
    lower=_lower_band,
    vjp=dict(input=lambda dy, lower, upper: matrix_band_part(dy, lower=lower, upper=upper)),
    samples=lambda: [
        ((np.arange(1, 25).reshape(2, 3, 4).astype(t),), {"lower": a, "upper": c})
        for t in ("float32", "int32", "bool")
        for a, c in ((1, 0), (-1, 0), (0, -1), (0, 0), (-1, -1), (2, 1))
    ],
    error_samples=lambda: [
        misuse(
            r"num_lower must be negative or less or equal to number of rows \(3\) got: 4",
            np.ones([3, 3]),
            lower=4,
            upper=0,
        ),
        misuse(r"input must be at least 2-dim, received shape: \[2\]", np.ones([2]), lower=1, upper=0),
    ],
)
def matrix_band_part(input: Array, *, lower: int, upper: int) -> Any:
    """Matrices with zeros outside a band of diagonals; a negative number of them means all. t[*s, m, n] -> same."""
    validated(_check_band, input.shape, lower, upper)
    rows, columns = input.shape[-2:]
    result = np.zeros_like(input)
    for i in range(rows):
        first = max(i - lower, 0) if lower >= 0 else 0
        last = min(i + upper + 1, columns) if upper >= 0 else columns
        result[..., i, first:last] = input[..., i, first:last]
    return result


@public("linalg.band_part")
def band_part(input: TensorLike, num_lower: TensorLike, num_upper: TensorLike, name: str | None = None) -> Any:
    """Matrices with zeros outside a band of diagonals; a negative number of them means all. t[*s, m, n] -> same.

    Raises: InvalidArgumentError for more diagonals than there are. Source: tf.linalg.band_part.
    """
    x, scalar = as_tensor(input), "must be scalar, got shape"
    lower, upper = static_int(num_lower, f"num_lower {scalar}"), static_int(num_upper, f"num_upper {scalar}")
    if lower is not None and upper is not None:
        return named(name, matrix_band_part, x, lower=lower, upper=upper)
    if x.shape.rank is None:
        return late(band_part, [x, num_lower, num_upper], x.dtype, name=name)
    if x.shape.rank < 2:
        raise invalid(f"input must be at least 2-dim, received shape: {shape_text(x.shape.as_list())}")
    rows, columns = [wide(n) for n in extents_of(x)[-2:]]
    below = expand_dims_p(range_(rows), axes=(1,)) - expand_dims_p(range_(columns), axes=(0,))
    inside = []
    for what, given, most, distance in (
        ("num_lower must be negative or less or equal to number of rows", num_lower, rows, below),
        ("num_upper must be negative or less or equal to number of columns", num_upper, columns, -below),
    ):
        n = checked(given, -(2**63), most, what + " ({most}) got: {}")
        inside.append(logical_or(n < 0, distance <= n))
    return select(logical_and(*inside), x, zeros_like(x))


# ---- public functions -----------------------------------------------------------------------------------------------


_TENSOR_DIAGONALS = "bfloat16 float16 float32 float64 int32 int64 complex64 complex128"


def _span(k: TensorLike) -> Span:
    shape = preferred(k, int32).shape
    if shape.rank is not None and shape.rank > 1 and current_trace() is None:  # else `known_axes` says it
        raise invalid(f"diag_index must be a scalar or vector, received shape: {shape_text(shape)}")
    found = known_axes(k)
    if len(found) not in (1, 2):
        raise invalid(f"diag_index must have only one or two elements, received {len(found)} elements.")
    return (found[0], found[-1])


def _ranked(x: Tensor, k: TensorLike, more: int) -> list[None] | None:
    """The shape of a result that has so many axes more than x; of a pair of diagonals nothing is known."""
    several = preferred(k, int32).shape.rank != 0
    return None if several or x.shape.rank is None else [None] * (x.shape.rank + more)


def _alignment(align: str) -> str:
    if align not in _ALIGNMENTS:
        raise ValueError(f"align must be one of {', '.join(_ALIGNMENTS)}, got {align!r}")
    return align


@public("linalg.diag")
def diag(
    diagonal: TensorLike,
    name: str | None = "diag",
    k: TensorLike = 0,
    num_rows: TensorLike = -1,
    num_cols: TensorLike = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Matrices with the diagonals given, padding_value elsewhere; k may be a pair, the lowest and the highest diagonal.

    t[*s, (n,) m] -> t[*s, rows, columns]. Raises: InvalidArgumentError for sizes that do not fit.
    Source: tf.linalg.diag.
    """
    x = as_tensor(diagonal)
    given = {"k": k, "num_rows": num_rows, "num_cols": num_cols}
    if not are_known(*given.values()):
        inputs = [x, as_tensor(padding_value, x.dtype)]
        shape = _ranked(x, k, 1)
        return late_unless_known(
            lambda x, p, **n: diag(x, padding_value=p, align=align, **n), inputs, given, x.dtype, shape, name
        )
    rows = known_axis(num_rows, "num_rows must be a scalar, not", "")
    columns = known_axis(num_cols, "num_cols must be a scalar, not", "")
    padding = as_tensor(padding_value if not x.dtype.is_bool else bool(padding_value), x.dtype)
    label = name if name != "diag" else None
    return named(label, matrix_diag, x, padding, k=_span(k), rows=rows, columns=columns, align=_alignment(align))


@public("linalg.diag_part")
def diag_part(
    input: TensorLike, name: str | None = "diag_part", k: TensorLike = 0, padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Any:  # fmt: skip
    """The diagonal k of matrices, or the diagonals of a pair k, padded. t[*s, m, n] -> t[*s, (n,) length].

    Args:
        input: Matrices, of rank 2 or more.
        k: 0: the main diagonal; above it > 0, below < 0. A pair: all from the lower to the upper.
        padding_value: What fills diagonals shorter than the longest.
        align: Where they are filled: the superdiagonals and the subdiagonals at the "RIGHT" or "LEFT".

    Raises:
        InvalidArgumentError: There is no such diagonal.

    Examples:
        >>> x = tf.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        >>> tf.linalg.diag_part(x)
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 5, 9], dtype=int32)>
        >>> tf.linalg.diag_part(x, k=(0, 1))
        <tf.Tensor: shape=(2, 3), dtype=int32, numpy=
        array([[0, 2, 6],
               [1, 5, 9]], dtype=int32)>

    Source: tf.linalg.diag_part.
    """
    x = as_tensor(input)
    padding = as_tensor(padding_value if not x.dtype.is_bool else bool(padding_value), x.dtype)
    if not are_known(k):
        shape = _ranked(x, k, -1)
        return late_unless_known(
            lambda x, p, k: diag_part(x, None, k, p, align), [x, padding], {"k": k}, x.dtype, shape, name
        )
    label = name if name != "diag_part" else None
    return named(label, matrix_diag_part, x, padding, k=_span(k), align=_alignment(align))


@public("linalg.set_diag")
def set_diag(
    input: TensorLike, diagonal: TensorLike, name: str | None = "set_diag", k: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Any:  # fmt: skip
    """Matrices with the diagonal k replaced, or the diagonals of a pair k. t[*s, m, n], t[*s, (n,) length] -> same.

    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.linalg.set_diag.
    """
    if not are_known(k):
        x = as_tensor(input)
        inputs = [x, as_tensor(diagonal, x.dtype)]
        return late_unless_known(partial(set_diag, align=align), inputs, {"k": k}, x.dtype, x.shape, name)
    label = name if name != "set_diag" else None
    return named(label, matrix_set_diag, input, diagonal, k=_span(k), align=_alignment(align))


@public("linalg.trace")
def trace(x: TensorLike, name: str | None = None) -> Any:
    """The sum of the main diagonal of matrices. t[*s, m, n] -> t[*s]. Source: tf.linalg.trace."""
    return reduce_sum(diag_part(x), -1, name=name)


@public("linalg.tensor_diag")
def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Any:
    """A tensor of zeros with `diagonal` where the first and the second half of the index agree. t[*s] -> t[*s, *s].

    Raises: InvalidArgumentError for a scalar. Source: tf.linalg.tensor_diag.
    """
    x = of_dtypes(as_tensor(diagonal), _TENSOR_DIAGONALS)
    if x.shape.rank is None:
        return late(tensor_diag, [x], x.dtype, name=name)
    if not x.shape.rank:
        raise invalid("Input must be at least rank 1, got 0 [Op:Diag]")
    extents = extents_of(x)
    return reshape(diag(reshape(x, [-1])), [*extents, *extents], name=name)


@public("linalg.tensor_diag_part")
def tensor_diag_part(input: TensorLike, name: str | None = None) -> Any:
    """The elements whose first and second half of the index agree. t[*s, *s] -> t[*s].

    Raises: InvalidArgumentError for an odd rank or halves that differ. Source: tf.linalg.tensor_diag_part.
    """
    x = of_dtypes(as_tensor(input), _TENSOR_DIAGONALS)
    if x.shape.rank is None:
        return late(tensor_diag_part, [x], x.dtype, name=name)
    dims = x.shape.as_list()
    half = len(dims) // 2
    if len(dims) % 2 or not dims:
        raise invalid(f"The rank of the tensor should be even and positive, got shape {shape_text(dims)}")
    for i in range(half):
        if dims[i] is not None and dims[half + i] is not None and dims[i] != dims[half + i]:
            raise invalid(f"Invalid shape {shape_text(dims)}: dimensions {i} and {half + i} do not match.")
    extents = extents_of(x)[:half]
    n = product_of(extents)
    return reshape(diag_part(reshape(x, [n, n])), extents, name=name)
