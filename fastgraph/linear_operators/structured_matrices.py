"""Operators of tensors: full and triangular matrices, diagonals and numbers, permutations, patterns, reflections."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int32
from fastgraph.core.base.shapes import broadcast_shapes
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.linear_operators.base import HINTS, Hints, largest_to_least
from fastgraph.linear_operators.batches import Batch, batch_of, common, extent, full, known, spread, together
from fastgraph.linear_operators.fields import Field, OperatorOfFields, kept
from fastgraph.ops.arguments import as_tensor, known_value
from fastgraph.ops.banded_solvers import shifted
from fastgraph.ops.comparison import equal, greater
from fastgraph.ops.complex_numbers import conj, imag, real
from fastgraph.ops.creation import ones, range_, zeros
from fastgraph.ops.elementwise import abs, cast, minimum, ones_like, select, zeros_like
from fastgraph.ops.exponentials import log, sqrt
from fastgraph.ops.fourier import fft, ifft, irfft, rfft
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.linear_solvers import triangular_solve
from fastgraph.ops.matmul import matmul
from fastgraph.ops.matrix_algebra import lower_triangle, strictly_lower
from fastgraph.ops.matrix_diagonals import diag as matrix_of
from fastgraph.ops.matrix_diagonals import diag_part, set_diag
from fastgraph.ops.matrix_transposes import matrix_transpose
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.one_hot import one_hot
from fastgraph.ops.padding import reverse
from fastgraph.ops.reduction import reduce_prod, reduce_sum
from fastgraph.ops.runtime_assertions import assert_equal, assert_non_negative, assert_positive, assert_rank
from fastgraph.ops.sorting import argsort
from fastgraph.ops.tridiagonal import _compact, tridiagonal_matmul, tridiagonal_solve

_DTYPES = ("float16", "float32", "float64", "complex64", "complex128")
_REAL = "A real diagonal operator is always self adjoint."
_REFLECTION = {"is_self_adjoint": True, "is_positive_definite": False, "is_square": True}
_NOTHING = {"is_non_singular": False, "is_self_adjoint": True, "is_positive_definite": False, "is_square": True}
_DEFINITE: Hints = {"is_self_adjoint": True, "is_positive_definite": True}


def nowhere_zero(x: Any, message: str) -> Any:
    return assert_positive(abs(as_tensor(x)), message=message)


def is_real(x: Any, message: str) -> Any:
    part = imag(as_tensor(x))
    return assert_equal(zeros_like(part), part, message=message)


def log_size(x: Any) -> Any:
    """log(|x|) in the dtype of x."""
    return cast(log(abs(as_tensor(x))), x.dtype)


def with_diagonal_added(x: Any, diagonal: Any) -> Any:
    """x with a diagonal added to its own; batches broadcast."""
    x = spread(x, common(batch_of(x), batch_of(diagonal, 1)))
    return set_diag(x, diag_part(x) + diagonal)


# ---- matrices -------------------------------------------------------------------------------------------------------


class LinearOperatorFullMatrix(OperatorOfFields):
    """The operator of a matrix t[*b, m, n] of floating or complex numbers. Source: tf.linalg.LinearOperatorFullMatrix.

    Raises: TypeError for another dtype, ValueError for fewer than two axes.
    """

    matrix = Field("The matrix.", 2)

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        if (dtype := self.matrix.dtype).name not in _DTYPES:
            raise TypeError(f"Argument `matrix` must have dtype in {_DTYPES}. Received: {dtype!r}.")
        return dtype, hints

    _dims: Any = lambda A, extent: (extent(A.matrix, -2), extent(A.matrix, -1))
    _times: Any = lambda A, x, adjoint: matmul(A.matrix, x, adjoint_a=adjoint)
    _to_dense: Any = lambda A: as_tensor(A.matrix)


class LinearOperatorLowerTriangular(
    OperatorOfFields, kind="Only square lower triangular operators supported at this time."
):
    """The operator of the lower triangle of a matrix. Source: tf.linalg.LinearOperatorLowerTriangular.

    Args:
        tril: t[*b, n, n]; what stands above the diagonal is not read.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, None for what is not known.

    Raises:
        ValueError: There are fewer than two axes, or `is_square` is False.

    Examples:
        >>> operator = tf.linalg.LinearOperatorLowerTriangular([[2.0, 0.0], [1.0, 4.0]])
        >>> operator.solvevec([2.0, 5.0]).numpy(), float(operator.determinant())
        (array([1., 1.], dtype=float32), 8.0)
    """

    tril = Field("The matrix, as it was given.", 2)
    _dims: Any = lambda A, extent: (extent(A.tril, -2), extent(A.tril, -1))
    _assert_non_singular: Any = lambda A: nowhere_zero(
        A._diag_part(), "Singular operator:  Diagonal contained zero values."
    )
    _times: Any = lambda A, x, adjoint: matmul(A._to_dense(), x, adjoint_a=adjoint)
    _over: Any = lambda A, rhs, adjoint: triangular_solve(A.tril, rhs, lower=True, adjoint=adjoint)
    _determinant: Any = lambda A: reduce_prod(A._diag_part(), -1)
    _log_abs_determinant: Any = lambda A: reduce_sum(log(abs(A._diag_part())), -1)
    _to_dense: Any = lambda A: lower_triangle(as_tensor(A.tril))
    _eigvals: Any = lambda A: diag_part(A.tril)
    _diag_part = _eigvals


# ---- diagonals ------------------------------------------------------------------------------------------------------


class _Diagonal(OperatorOfFields):
    """An operator that is 0 beside its diagonal."""

    _to_dense: Any = lambda A: matrix_of(A._diag_part())
    _add_to_tensor: Any = lambda A, x: with_diagonal_added(x, A._diag_part())
    _eigvals: Any = lambda A: A._diag_part()


class LinearOperatorDiag(_Diagonal, kind="Only square diagonal operators currently supported."):
    """The operator of a diagonal matrix. Source: tf.linalg.LinearOperatorDiag.

    Args:
        diag: The diagonal, t[*b, n].
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, None for what is not known.

    Raises:
        ValueError: The diagonal is a scalar, or a hint cannot hold.

    Examples:
        >>> operator = tf.linalg.LinearOperatorDiag([2.0, 4.0])
        >>> operator.solvevec([2.0, 2.0]).numpy(), type(operator @ operator).__name__
        (array([1. , 0.5], dtype=float32), 'LinearOperatorDiag')
    """

    diag = Field("The diagonal.", 1)
    _real = _REAL

    def _assert_positive_definite(self) -> Any:
        kind, part = (
            ("Diagonal", "with non-positive real part")
            if self.dtype.is_complex
            else ("Real diagonal", "that are not > 0")
        )
        message = f"{kind} operator had diagonal entries {part}, thus was not positive definite."
        return assert_positive(real(self.diag), message=message)

    _with: Any = lambda A, diagonal, **hints: LinearOperatorDiag(diagonal, **(hints or A._hints()))
    _linop_adjoint: Any = lambda A: A._with(conj(A.diag))
    _linop_inverse: Any = lambda A: A._with(1 / as_tensor(A.diag))
    _linop_cholesky: Any = lambda A: A._with(sqrt(A.diag), **_DEFINITE)
    _assert_non_singular: Any = lambda A: nowhere_zero(A.diag, "Singular operator:  Diagonal contained zero values.")
    _assert_self_adjoint: Any = lambda A: is_real(A.diag, "This diagonal operator contained non-zero imaginary values.")
    _line: Any = lambda A, adjoint: conj(A.diag) if adjoint else as_tensor(A.diag)
    _times: Any = lambda A, x, adjoint: A._line(adjoint)[..., None] * x
    _matvec: Any = lambda A, x, adjoint=False: A._line(adjoint) * x
    _over: Any = lambda A, rhs, adjoint: rhs / A._line(adjoint)[..., None]
    _determinant: Any = lambda A: reduce_prod(A.diag, -1)
    _log_abs_determinant: Any = lambda A: reduce_sum(log_size(A.diag), -1)
    _diag_part: Any = lambda A: as_tensor(A.diag)
    _cond: Any = lambda A: largest_to_least(abs(A._diag_part()))


def _size(value: Any, what: str, rank: int, asserted: bool) -> Any:
    """A size or a batch shape: an int or a tuple if it is known, else a tensor. Raises: TypeError, ValueError."""
    if hasattr(value, "__fg_cell__"):
        raise TypeError(f"Argument {what} cannot be reference type. Found: {type(value)}.")
    tensor = as_tensor(value, int32) if isinstance(value, (list, tuple)) and not value else as_tensor(value)
    if not tensor.dtype.is_integer:
        raise TypeError(f"Argument {what} must be integer type.  Found: {tensor}")
    found, messages = (
        known_value(tensor),
        [f"Argument {what} must be {x}." for x in (f"a {rank}-D Tensor", "non-negative")],
    )
    if found is None:
        if asserted:
            assert_rank(tensor, rank, message=messages[0])
            assert_non_negative(tensor, message=messages[1])
        return cast(tensor, int32)
    for wrong, message in zip((found.ndim != rank, (found < 0).any()), messages, strict=True):
        if wrong:
            raise ValueError(f"{message}  Found: {found}")
    return tuple(found.tolist()) if rank else int(found)


class _OfSizes(_Diagonal):
    """Operators of which sizes, a batch shape and perhaps a number are all that is to be known."""

    _num_rows: Any
    _num_columns: Any = None
    _batch_shape: Any = None
    _more = "assert_proper_shapes=False"

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        for what in ("num_rows", "num_columns", "batch_shape"):
            if given.get(what) is not None:
                value = _size(given[what], what, int(what == "batch_shape"), given["assert_proper_shapes"])
                setattr(self, f"_{what}", self._no_dependency(value))
        return given["dtype"] or "float32" if "dtype" in given else self._first().dtype, hints

    def _known_batch(self) -> Any:
        own: Any = () if self._batch_shape is None else self._batch_shape
        if isinstance(own, Tensor):
            own = None if (n := own.shape[0]) is None else (None,) * n
        return broadcast_shapes(own, super()._known_batch())

    def _batch(self) -> Batch:
        return super()._batch() if self._batch_shape is None else common(self._batch_shape, super()._batch())

    def _sliced(self, slices: tuple[Any, ...], batch: Batch) -> Any:
        made = super()._sliced(slices, batch)
        if "batch_shape" not in made.parameters:
            return made
        chosen = zeros(full(batch))[slices]
        if self._batch_shape is None and batch != ():
            return made  # in another operator, whose batch it has by broadcasting
        return type(made)(**{**made.parameters, "batch_shape": full(batch_of(chosen, 0))})

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Any:
        """Return A + mat. t[*b, m, n] -> t[*b, m, n]. Raises TypeError for another dtype."""
        return super().add_to_tensor(mat, name)

    _with_batch: Any = lambda A, x: spread(x, common(A._batch(), batch_of(x)))
    _dims: Any = lambda A, extent: (A._num_rows, A._num_rows if A._num_columns is None else A._num_columns)


class LinearOperatorIdentity(_OfSizes, defaults=dict.fromkeys(HINTS, True)):
    """The operator that changes nothing, of num_rows i[], perhaps for a batch_shape i[b]; float32 unless said.

    Raises: TypeError, ValueError for what is no size, for hints but True. Source: tf.linalg.LinearOperatorIdentity.
    """

    num_rows, batch_shape, dtype = Field(), Field(default=None), Field(default=None)

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        for hint in self._defaults:
            if not hints[hint]:
                raise ValueError(f"An identity operator is always {hint[3:].replace('_', '-')}.")
        return super()._checked(given, hints)

    _linop_inverse: Any = lambda A: A
    _linop_cholesky: Any = lambda A: LinearOperatorIdentity(A._num_rows, A._batch_shape, A.dtype)
    _assert_non_singular = _assert_positive_definite = _assert_self_adjoint = OperatorOfFields._holds
    _times: Any = lambda A, x, adjoint: A._with_batch(x)
    _over = _times
    _trace: Any = lambda A: cast(A._num_rows, A.dtype) * A._filled(1)
    _diag_part: Any = lambda A: A._filled(1, A._num_rows)
    _log_abs_determinant: Any = lambda A: A._filled(0)
    _determinant: Any = lambda A: A._filled(1)
    _cond = _determinant


class LinearOperatorScaledIdentity(_OfSizes, defaults={"is_square": True}, kind="A ScaledIdentity operator"):
    """The operator that multiplies by a number, of num_rows i[] and multiplier t[*b].

    Raises: TypeError, ValueError for what is no size, ValueError for hints that cannot hold.
    Source: tf.linalg.LinearOperatorScaledIdentity.
    """

    num_rows, multiplier = Field(), Field("The number, one for each matrix.", 0)
    _real = _REAL

    def _lead(self, n: int, turned: bool = False) -> Any:
        """The numbers with n axes more."""
        return (conj(self.multiplier) if turned else as_tensor(self.multiplier))[(..., *[None] * n)]

    def _cond(self) -> Any:
        one = ones_like(as_tensor(self.multiplier))
        return select(equal(self.multiplier, zeros_like(one)), cast(float("nan"), one.dtype), one)

    _with: Any = lambda A, x, **hints: LinearOperatorScaledIdentity(A._num_rows, x, **(hints or A._hints()))
    _linop_adjoint: Any = lambda A: A._with(A._lead(0, True))
    _linop_inverse: Any = lambda A: A._with(1 / A._lead(0))
    _linop_cholesky: Any = lambda A: A._with(sqrt(A.multiplier), **_DEFINITE)
    _assert_non_singular: Any = lambda A: nowhere_zero(A.multiplier, "LinearOperator was singular")
    _assert_positive_definite: Any = lambda A: assert_positive(
        real(A.multiplier), message="LinearOperator was not positive definite."
    )
    _assert_self_adjoint: Any = lambda A: is_real(A.multiplier, "LinearOperator was not self-adjoint")
    _times: Any = lambda A, x, adjoint: x * A._lead(2, adjoint)
    _over: Any = lambda A, rhs, adjoint: rhs / A._lead(2, adjoint)
    _number: Any = lambda A: cast(A._num_rows, A.dtype)
    _determinant: Any = lambda A: A._lead(0) ** A._number()
    _log_abs_determinant: Any = lambda A: real(A._number()) * log(abs(A._lead(0)))
    _trace: Any = lambda A: A._number() * A._lead(0)
    _diag_part: Any = lambda A: A._lead(1) * ones([A._num_rows], A.dtype)


class LinearOperatorZeros(_OfSizes, defaults=_NOTHING):
    """The operator whose results are 0, of num_rows and num_columns i[], for a batch_shape; float32 unless said.

    Raises: TypeError, ValueError for what is no size, ValueError for hints that cannot hold.
    Source: tf.linalg.LinearOperatorZeros.
    """

    num_rows, num_columns, batch_shape, dtype = Field(), Field(default=None), Field(default=None), Field(default=None)

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        for wrong, what in (
            (not hints["is_self_adjoint"] and hints["is_square"], "self adjoint"),
            (hints["is_non_singular"], "singular"),
            (hints["is_positive_definite"], "not positive-definite"),
        ):
            if wrong:
                raise ValueError(f"A zero operator is always {what}.")
        found, (m, n) = super()._checked(given, hints), self._dims(None)
        if hints["is_square"] and isinstance(m, int) and isinstance(n, int) and m != n:
            raise ValueError(
                f"LinearOperatorZeros initialized as is_square=True, but num_rows({m}) != num_columns({n})"
            )
        return found

    def _assert_non_singular(self) -> Any:
        raise InvalidArgumentError(None, None, "Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Any:
        raise InvalidArgumentError(None, None, "Zero operators are always non-positive definite.")

    def _times(self, x: Any, adjoint: bool) -> Any:
        rows = self._dims(None)[int(adjoint)]
        return zeros(full(common(self._batch(), batch_of(x)), rows, extent(x, -1)), self.dtype)

    def _diag_part(self) -> Any:
        m, n = self._dims(None)
        return self._filled(0, min(m, n) if isinstance(m, int) and isinstance(n, int) else minimum(m, n))

    _assert_self_adjoint = OperatorOfFields._holds
    _to_dense: Any = lambda A: A._filled(0, *A._dims(None))
    _determinant: Any = lambda A: A._filled(0)
    _trace = _determinant
    _add_to_tensor: Any = lambda A, x: A._with_batch(x)


# ---- what moves and reflects ----------------------------------------------------------------------------------------


class LinearOperatorHouseholder(OperatorOfFields, kind="A Householder operator", always=_REFLECTION):
    """The reflection I - 2 v v^H for a v of length 1, that of a reflection_axis t[*b, n] of any length but 0.

    Raises: ValueError for a scalar and hints that cannot hold. Source: tf.linalg.LinearOperatorHouseholder.
    """

    reflection_axis = Field("The axis.", 1)

    def _unit(self) -> Any:
        v = as_tensor(self.reflection_axis)
        return v / cast(sqrt(reduce_sum(real(v * conj(v)), -1, keepdims=True)), v.dtype)

    def _assert_positive_definite(self) -> Any:
        raise InvalidArgumentError(None, None, "Householder operators are always non-positive definite.")

    def _times(self, x: Any, adjoint: bool) -> Any:
        v = self._unit()[..., None]
        return x - 2 * v * matmul(v, x, adjoint_a=True)

    def _to_dense(self) -> Any:
        v = self._unit()[..., None]
        return with_diagonal_added(-2 * matmul(v, v, adjoint_b=True), ones_like(v[..., 0]))

    _over = _times
    _assert_non_singular = _assert_self_adjoint = OperatorOfFields._holds
    _linop_inverse: Any = lambda A: A
    _diag_part: Any = lambda A: 1 - 2 * (v := A._unit()) * conj(v)
    _trace: Any = lambda A: A._filled(1) * cast(extent(A, -1) - 2, A.dtype)
    _determinant: Any = lambda A: -A._filled(1)
    _log_abs_determinant: Any = lambda A: A._filled(0)
    _eigvals: Any = lambda A: concat([-A._filled(1, 1), A._filled(1, extent(A, -1) - 1)], -1)
    _cond: Any = lambda A: A._filled(1)


class LinearOperatorPermutation(OperatorOfFields, kind="A Permutation operator"):
    """The operator that puts row perm[i] at i, of permutations i[*b, n]; float32 unless said.

    Raises: TypeError for other numbers, ValueError for a scalar, what is no permutation, hints that cannot hold.
    Source: tf.linalg.LinearOperatorPermutation.
    """

    perm, dtype = Field("The permutations.", 1), Field(default="float32")

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        if not self.perm.dtype.is_integer:
            raise TypeError(f"Argument `perm` must be integer dtype. Received: {self.perm}.")
        if hints["is_non_singular"] is False:
            raise ValueError("A Permutation operator is always non-singular.")
        found = known_value(as_tensor(self.perm))
        if found is not None and (np.sort(found, -1) != np.arange(n := found.shape[-1])).any():
            raise ValueError(f"Argument `perm` must be a vector of unique integers from 0 to {n - 1}.")
        return given["dtype"], hints

    def _times(self, x: Any, adjoint: bool) -> Any:
        rows = argsort(self.perm) if adjoint else as_tensor(self.perm)
        if rows.shape.rank == 1:
            return gather(x, rows, axis=-2)
        batch = common(batch_of(x), batch_of(rows, 1))
        x, rows = spread(x, batch), spread(rows, batch, 1)
        if rows.shape.rank is None:
            n = extent(x, -2)
            found = gather(reshape(x, [-1, n, extent(x, -1)]), reshape(rows, [-1, n]), axis=1, batch_dims=1)
            return reshape(found, shape(x))
        return gather(x, rows, axis=-2, batch_dims=rows.shape.rank - 1)

    def _determinant(self) -> Any:
        perm = as_tensor(self.perm)
        exchanged = strictly_lower(cast(greater(perm[..., None, :], perm[..., :, None]), int32))
        return cast(1 - 2 * (reduce_sum(exchanged, [-2, -1]) % 2), self.dtype)

    def _diag_part(self) -> Any:
        n = cast(extent(self.perm, -1), self.perm.dtype)
        return cast(equal(self.perm, range_(n)), self.dtype)

    _over: Any = lambda A, rhs, adjoint: A._times(rhs, not adjoint)
    _assert_non_singular = OperatorOfFields._holds
    _log_abs_determinant: Any = lambda A: A._filled(0)
    _to_dense: Any = lambda A: one_hot(A.perm, extent(A.perm, -1), dtype=A.dtype)
    _cond: Any = lambda A: A._filled(1)


# ---- patterns -------------------------------------------------------------------------------------------------------


class LinearOperatorToeplitz(OperatorOfFields, kind="Only square Toeplitz operators currently supported."):
    """The operator with one number along each diagonal, of its first column and row t[*b, n]; row[..., 0] is not read.

    Products are made by Fourier transforms. Raises: ValueError for scalars, lengths that differ, `is_square=False`.
    Source: tf.linalg.LinearOperatorToeplitz.
    """

    col, row = Field("The first column.", 1), Field("The first row.", 1)

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        m, n = self._dims(known)
        if m is not None and n is not None and m != n:
            raise ValueError("Expected square matrix, got row and col with mismatched dimensions.")
        return self.row.dtype, hints

    def _ends(self, adjoint: bool = False) -> tuple[Any, Any]:
        """First column, and the first row without what both share."""
        col, row = together(self.col, self.row, own=1)
        if adjoint:
            col, row = conj(col), conj(row)
            return concat([col[..., :1], row[..., 1:]], -1), col[..., 1:]
        return col, row[..., 1:]

    def _times(self, x: Any, adjoint: bool) -> Any:
        lines, (col, rest) = matrix_transpose(x), self._ends(adjoint)
        around = concat([col, reverse(rest, [-1])], -1)[..., None, :]  # the column of a circulant of 2 n - 1 rows
        n = extent(col, -1)
        if self.dtype.is_complex:
            found = ifft(fft(around) * fft(concat([lines, zeros_like(lines)[..., 1:]], -1)))
        else:
            found = irfft(rfft(around, [2 * n - 1]) * rfft(lines, [2 * n - 1]), [2 * n - 1])
        return matrix_transpose(found[..., :n])

    def _to_dense(self) -> Any:
        col, rest = self._ends()
        n = extent(col, -1)
        places = range_(n)[:, None] - range_(n)[None, :] + n - 1
        return gather(concat([reverse(rest, [-1]), col], -1), places, axis=-1)

    _assert_self_adjoint: Any = lambda A: assert_equal(
        conj(A.row), as_tensor(A.col), message="row and col are not the same, and so this operator is not self-adjoint."
    )
    _dims: Any = lambda A, extent: (extent(A.col, -1), extent(A.row, -1))
    _trace: Any = lambda A: A._ends()[0][..., 0] * cast(extent(A.col, -1), A.dtype)
    _diag_part: Any = lambda A: A._ends()[0][..., :1] * ones([extent(A.col, -1)], A.dtype)


class LinearOperatorTridiag(OperatorOfFields, kind="Only square Tridiag operators are there."):
    """The operator with three diagonals, above, on and below the main one: "compact" as t[*b, 3, n], in a "sequence" of
    t[*b, n], or in a "matrix"; the last above and the first below are not read. Raises: ValueError for another format.

    Source: tf.linalg.LinearOperatorTridiag.
    """

    _diagonals_format: Any
    diagonals, diagonals_format = Field("The diagonals.", 2), Field("How they are given.", default="compact")

    def _tensor_field(self, name: str, value: Any) -> Any:
        return [kept(part) for part in value] if isinstance(value, (list, tuple)) else kept(value)

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        form = given["diagonals_format"]
        if form not in ("compact", "matrix", "sequence"):
            text = f"must be one of compact, matrix, or sequence. Received : {form}."
            raise ValueError(f"Argument `diagonals_format` {text}")
        if form != "sequence":
            self._diagonals = kept(given["diagonals"])
        return self._middle().dtype, hints

    def _rows(self, adjoint: bool = False) -> Any:
        """The diagonals in rows, or those of the adjoint. -> t[*b, 3, n]."""
        if self._diagonals_format == "sequence":
            rows = stack(together(*self._diagonals, own=1), -2)
        else:
            rows = _compact(self._diagonals, self._diagonals_format, True)
        if not adjoint:
            return rows
        rows = conj(rows)
        return stack([shifted(rows[..., 2, :], 1), rows[..., 1, :], shifted(rows[..., 0, :], -1)], -2)

    def _assert_self_adjoint(self) -> Any:
        message, rows = "Matrix was not equal to its adjoint.", self._rows()
        is_real(rows[..., 1, :], message)
        return assert_equal(conj(rows[..., 2, 1:]), rows[..., 0, :-1], message=message)

    _own: Any = lambda A, name: 1 if A.__dict__.get("_diagonals_format") == "sequence" else 2
    _middle: Any = lambda A: A._diagonals[1] if A._diagonals_format == "sequence" else A._diagonals
    _dims: Any = lambda A, extent: (extent(A._middle(), -1),) * 2
    _times: Any = lambda A, x, adjoint: tridiagonal_matmul(*together(A._rows(adjoint), x))
    _over: Any = lambda A, rhs, adjoint: tridiagonal_solve(*together(A._rows(adjoint), rhs))
    _to_dense: Any = lambda A: matrix_of(A._rows(), k=(-1, 1), align="LEFT_RIGHT")
    _diag_part: Any = lambda A: A._rows()[..., 1, :]
