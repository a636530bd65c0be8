"""Operators made of others: adjoints, inverses, products, Kronecker products, and updates of low rank.

Rule: what is said of a whole tensor is said of the operators inside: each does its part, and the parts are joined.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, ClassVar

from fastgraph.core.base.dtype import DType
from fastgraph.errors import InvalidArgumentError
from fastgraph.linear_operators.base import HINTS, Hints, LinearOperator, check_fits
from fastgraph.linear_operators.batches import extent, known, product, regrouped, solved, spread
from fastgraph.linear_operators.fields import OPERATORS, Field, OperatorOfFields
from fastgraph.linear_operators.structured_matrices import (
    LinearOperatorDiag,
    LinearOperatorIdentity,
    LinearOperatorLowerTriangular,
    with_diagonal_added,
)
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.elementwise import add, cast, multiply, ones_like, sign
from fastgraph.ops.exponentials import log
from fastgraph.ops.factored_solvers import cholesky_solve
from fastgraph.ops.factorizations import cholesky
from fastgraph.ops.linear_solvers import det, slogdet
from fastgraph.ops.matmul import matmul
from fastgraph.ops.matrix_diagonals import diag_part
from fastgraph.ops.matrix_transposes import adjoint as adjoint_matrix
from fastgraph.ops.matrix_transposes import matrix_transpose
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.static_assertions import assert_proper_iterable


def _words(hint: str) -> str:
    return hint.removeprefix("is_").replace("_", "-")


# ---- of one operator ------------------------------------------------------------------------------------------------


def _same(method: str, change: Callable[[Any], Any] = lambda x: x) -> Any:
    """A method that gives what that of the operator inside gives, changed."""
    return lambda self: change(getattr(self.operator, method)())


class _OfOne(OperatorOfFields):
    """An operator that follows from another one: hints hold of both or of neither."""

    operator = Field("The operator inside.", OPERATORS)
    _label = None
    _suffix = ""

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        found: Hints = {}
        for hint in HINTS:
            own, said = getattr(self.operator, hint), hints[hint]
            if None not in (own, said) and own is not said:
                raise ValueError(f"An operator is {_words(hint)} if and only if its {self._suffix} is {_words(hint)}.")
            found[hint] = own if said is None else said
        return self.operator.dtype, found

    _composed_name: Any = lambda A: f"{A.operator.name}_{A._suffix}"
    _assert_non_singular = _same("assert_non_singular")
    _assert_positive_definite = _same("assert_positive_definite")
    _assert_self_adjoint = _same("assert_self_adjoint")
    _cond = _same("cond")


class LinearOperatorAdjoint(_OfOne):
    """The operator of the adjoint of another one. Raises: ValueError for hints that are not those of the other.

    Source: tf.linalg.LinearOperatorAdjoint.
    """

    _suffix = "adjoint"

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    _dims: Any = lambda A, extent: (extent(A.operator, -1), extent(A.operator, -2))
    _linop_adjoint: Any = lambda A: A.operator
    _matvec: Any = lambda A, x, adjoint=False: A.operator.matvec(x, adjoint=not adjoint)
    _solvevec: Any = lambda A, rhs, adjoint=False: A.operator.solvevec(rhs, adjoint=not adjoint)
    _determinant = _same("determinant", conj)
    _log_abs_determinant = _same("log_abs_determinant")
    _trace = _same("trace", conj)
    _diag_part = _same("diag_part", conj)
    _to_dense = _same("to_dense", adjoint_matrix)
    _eigvals = _same("eigvals")


class LinearOperatorInversion(_OfOne):
    """The operator of the inverse of another one. Source: tf.linalg.LinearOperatorInversion.

    Raises: ValueError for one that is singular or not square, and for hints that are not those of the other.
    """

    _suffix = "inv"

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        for hint in ("is_non_singular", "is_square"):
            if False in (getattr(self.operator, hint), hints[hint]):
                text = f"must have supplied hint `{hint}` equal to `True` or `None`."
                raise ValueError(f"Argument `{hint}` or argument `operator` {text}")
        return super()._checked(given, hints)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    _dims: Any = lambda A, extent: (extent(A.operator, -2), extent(A.operator, -1))
    _linop_inverse: Any = lambda A: A.operator
    _determinant = _same("determinant", lambda x: 1 / x)
    _log_abs_determinant = _same("log_abs_determinant", lambda x: -x)
    _eigvals = _same("eigvals", lambda x: 1 / x)


# ---- of several -----------------------------------------------------------------------------------------------------


def dtype_of(operators: Iterable[LinearOperator]) -> DType:
    """The dtype of several operators. Raises: TypeError that names them if there are more."""
    given = list(operators)
    if any(op.dtype is not given[0].dtype for op in given):
        names = "   ".join(f"{op.name} {op.dtype!r}" for op in given)
        raise TypeError(f"Expected all operators to have the same dtype.  Found {names}")
    return given[0].dtype


class OfSeveral(OperatorOfFields):
    """An operator made of a list of others."""

    operators = Field("The operators.", OPERATORS)
    _operators: Any
    _label: ClassVar[str | None] = None
    _between = ""  # their names

    def _begin(self) -> DType:
        """The operators' dtype. Raises: ValueError if there are none, TypeError for several dtypes."""
        assert_proper_iterable(self.operators)
        if not self.operators:
            raise ValueError(f"Argument `operators` must be a list of >=1 operators. Received: {self.operators}.")
        return dtype_of(self.operators)

    def _of_all(self, hints: Hints, what: str) -> Hints:
        """Hints, with what holds of each and so of the whole. Raises: ValueError where a hint says otherwise."""
        for hint in HINTS[:3]:
            if all(getattr(op, hint) for op in self.operators):
                if hints[hint] is False:
                    raise ValueError(f"The {what} of {_words(hint)} operators is always {_words(hint)}.")
                hints[hint] = True
        return hints

    _composed_name: Any = lambda A: A._between.join(op.name for op in A.operators)
    _all_square: Any = lambda A: all(op.is_square for op in A.operators)
    _get: Any = lambda A, method: [getattr(op, method)() for op in A.operators]


def _are_adjoint(a: LinearOperator, b: LinearOperator) -> bool:
    """Return whether one operator is seen to be the adjoint of the other."""
    if a is b:
        return bool(a.is_self_adjoint)
    return any(isinstance(x, LinearOperatorAdjoint) and x.operator is y for x, y in ((a, b), (b, a)))


class LinearOperatorComposition(OfSeveral):
    """The product of operators of one dtype: the last is applied first. Source: tf.linalg.LinearOperatorComposition.

    Raises: TypeError for several dtypes, ValueError for no operators, shapes that do not fit, hints that cannot hold.
    """

    _between = "_o_"

    def _is_outer(self) -> bool:
        """Return whether it is seen to be A A^H."""
        n = len(self.operators)
        return n % 2 == 0 and all(_are_adjoint(self.operators[i], self.operators[n - 1 - i]) for i in range(n // 2))

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        dtype, operators, outer = self._begin(), self.operators, self._is_outer()
        invertible = all(op.is_non_singular for op in operators)
        for hint, holds in (
            ("is_non_singular", invertible),
            ("is_self_adjoint", outer or (len(operators) == 1 and operators[0].is_self_adjoint)),
            ("is_square", outer),
            ("is_positive_definite", outer and (invertible or hints["is_non_singular"])),
        ):
            if holds and hints[hint] is False:
                raise ValueError(f"The composition was determined to be {_words(hint)}; the hint `False` is incorrect.")
            hints[hint] = True if holds else hints[hint]
        for left, right in itertools.pairwise(operators):
            check_fits(left.domain_dimension, right.range_dimension)
        return dtype, hints

    def _linop_cholesky(self) -> Any:
        first = self.operators[0]
        if len(self.operators) > 2 or not self._is_outer() or not isinstance(first, LinearOperatorLowerTriangular):
            return super()._linop_cholesky()
        turns = conj(sign(first.diag_part()))  # the factor has a diagonal above 0
        return LinearOperatorLowerTriangular(first.to_dense() * turns[..., None, :], **first._hints())

    def _times(self, x: Any, adjoint: bool) -> Any:
        for op in self.operators if adjoint else reversed(self.operators):
            x = op.matmul(x, adjoint=adjoint)
        return x

    def _over(self, rhs: Any, adjoint: bool) -> Any:
        if not self._all_square():
            return super()._over(rhs, adjoint)
        for op in reversed(self.operators) if adjoint else self.operators:
            rhs = op.solve(rhs, adjoint=adjoint)
        return rhs

    def _determinant(self) -> Any:
        return reduce(multiply, self._get("determinant")) if self._all_square() else super()._determinant()

    def _log_abs_determinant(self) -> Any:
        return reduce(add, self._get("log_abs_determinant")) if self._all_square() else super()._log_abs_determinant()

    def _assert_non_singular(self) -> Any:
        return self._get("assert_non_singular")[-1] if self._all_square() else super()._assert_non_singular()

    _dims: Any = lambda A, extent: (extent(A.operators[0], -2), extent(A.operators[-1], -1))


def _outer(a: Any, b: Any) -> Any:
    """All products of elements, the last vector's index running fastest."""
    return regrouped(a[..., None] * b[..., None, :], 2, -1)


class LinearOperatorKronecker(OfSeveral):
    """The Kronecker product of operators of one dtype. Source: tf.linalg.LinearOperatorKronecker.

    Products and solutions take those of each factor along its own axis. Raises: TypeError for several dtypes,
    ValueError for no operators and hints that cannot hold.
    """

    _between = "_x_"

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        return self._begin(), self._of_all(hints, "Kronecker product")

    def _linop_cholesky(self) -> Any:
        if not all(op._can_use_cholesky() for op in self.operators):
            return super()._linop_cholesky()
        return LinearOperatorKronecker(self._get("cholesky"), is_non_singular=True)

    def _through(self, x: Any, axis: int, each: Callable[[LinearOperator, Any], Any]) -> Any:
        """x with `each` operator done along its own axis: the axes go round, each in turn in front."""
        k = extent(x, -1)
        for op in self.operators:
            x = regrouped(x, 2, extent(op, axis), -1)  # its own axis, then all others
            x = matrix_transpose(each(op, x))
        return matrix_transpose(regrouped(x, 2, k, product([extent(op, -3 - axis) for op in self.operators])))

    def _times(self, x: Any, adjoint: bool) -> Any:
        return self._through(x, -2 if adjoint else -1, lambda op, part: op.matmul(part, adjoint=adjoint))

    def _over(self, rhs: Any, adjoint: bool) -> Any:
        if not self._all_square():
            return super()._over(rhs, adjoint)
        return self._through(rhs, -1 if adjoint else -2, lambda op, part: op.solve(part, adjoint=adjoint))

    def _powers(self, method: str) -> Any:
        """The results of a method of each factor, and how often they count."""
        n = product([extent(op, -1) for op in self.operators])
        return zip(self._get(method), [cast(n // extent(op, -1), self.dtype) for op in self.operators], strict=True)

    def _determinant(self) -> Any:
        if not self._all_square():
            return super()._determinant()
        return reduce(multiply, [x**n for x, n in self._powers("determinant")])

    def _log_abs_determinant(self) -> Any:
        if not self._all_square():
            return super()._log_abs_determinant()
        return reduce(add, [x * n for x, n in self._powers("log_abs_determinant")])

    def _trace(self) -> Any:
        return reduce(multiply, self._get("trace")) if self._all_square() else super()._trace()

    def _diag_part(self) -> Any:
        return reduce(_outer, self._get("diag_part")) if self._all_square() else super()._diag_part()

    def _to_dense(self) -> Any:
        def two(a: Any, b: Any) -> Any:
            m, n = (extent(a, axis) * extent(b, axis) for axis in (-2, -1))
            return regrouped(a[..., :, None, :, None] * b[..., None, :, None, :], 4, m, n)

        return spread(reduce(two, self._get("to_dense")), self._batch())

    def _of_squares(self, method: str) -> Any:
        if any(op.is_square is False for op in self.operators):
            text = "All Kronecker factors must be square for the product to be invertible."
            raise InvalidArgumentError(None, None, text)
        return self._get(method)[-1]

    _dims: Any = lambda A, extent: tuple(product([extent(op, axis) for op in A.operators]) for axis in (-2, -1))
    _linop_adjoint: Any = lambda A: LinearOperatorKronecker(A._get("adjoint"), **A._hints())
    _linop_inverse: Any = lambda A: LinearOperatorKronecker(A._get("inverse"), **A._hints())
    _eigvals: Any = lambda A: reduce(_outer, A._get("eigvals"))
    _assert_non_singular: Any = lambda A: A._of_squares("assert_non_singular")
    _assert_self_adjoint: Any = lambda A: A._of_squares("assert_self_adjoint")


# ---- near to another ------------------------------------------------------------------------------------------------


class LinearOperatorLowRankUpdate(OperatorOfFields):
    """L + U D V^H, of an operator L of n rows, U and V t[*b, n, r] (V None: U), diagonal of D t[*b, r] (None: ones).

    Solutions and determinants take those of L, and of matrices of r rows. Raises: ValueError for shapes that do not fit
    and hints that cannot hold. Source: tf.linalg.LinearOperatorLowRankUpdate.
    """

    _v: Any
    base_operator, u = Field("L.", OPERATORS), Field("U.", 2)
    diag_update, v = Field("The diagonal of D, or None.", 1, None), Field("V.", 2, None, "u")
    is_diag_update_positive = Field("Whether D is known to be positive.", default=None)

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        base, one_sided, positive = self.base_operator, given["v"] is None, given["is_diag_update_positive"]
        if given["diag_update"] is None:
            if positive is False:
                text = "However, user set 'is_diag_update_positive' to False."
                raise ValueError(f"Default diagonal is the identity, which is positive.  {text}")
            self._is_diag_update_positive = positive = True
        self._by_cholesky = bool(one_sided and base._can_use_cholesky() and positive)
        if one_sided and base.is_self_adjoint and not base.dtype.is_complex:
            if hints["is_self_adjoint"] is False:
                raise ValueError("A = L + UDU^H, with L self-adjoint and D real diagonal, must be self-adjoint.")
            hints["is_self_adjoint"] = True
        if self._by_cholesky:
            if False in (hints["is_self_adjoint"], hints["is_positive_definite"], hints["is_non_singular"]):
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            hints |= {"is_self_adjoint": True, "is_positive_definite": True}
        for x in self._sides(False):
            check_fits(base.domain_dimension, known(x, -2))
            if self.diag_update is not None:
                check_fits(known(x, -1), known(self.diag_update, -1))
        return base.dtype, hints

    @property
    def diag_operator(self) -> LinearOperator:
        """D."""
        if self.diag_update is None:
            return LinearOperatorIdentity(extent(self.u, -1), dtype=self.dtype)
        return LinearOperatorDiag(self.diag_update, is_positive_definite=self.is_diag_update_positive)

    def _sides(self, adjoint: bool) -> tuple[Any, Any]:
        return (self.v, self.u) if adjoint else (self.u, self.v)

    def _times(self, x: Any, adjoint: bool) -> Any:
        u, v = self._sides(adjoint)
        inner = self.diag_operator.matmul(matmul(v, x, adjoint_a=True), adjoint=adjoint)
        return self.base_operator.matmul(x, adjoint=adjoint) + matmul(u, inner)

    def _to_dense(self) -> Any:
        u, v = self._sides(False)
        return self.base_operator.to_dense() + matmul(u, self.diag_operator.matmul(adjoint_matrix(v)))

    def _diag_part(self) -> Any:
        u, v = self._sides(False)
        return self.base_operator.diag_part() + reduce_sum(as_tensor(u) * conj(v) * self._line()[..., None, :], -1)

    def _line(self) -> Any:
        """The diagonal of D."""
        return ones_like(as_tensor(self.u)[..., 0, :]) if self.diag_update is None else as_tensor(self.diag_update)

    def _small(self, adjoint: bool = False, over: Any = None) -> Any:
        """D^-1 + V^H L^-1 U, or that of the adjoint; `over` is L^-1 U."""
        over = self.base_operator.solve(as_tensor(self.u)) if over is None else over
        line = 1 / self._line()
        product = matmul(self._sides(adjoint)[1], over, adjoint_a=True)
        return with_diagonal_added(product, conj(line) if adjoint else line)

    def _over(self, rhs: Any, adjoint: bool) -> Any:
        base = self.base_operator
        if base.is_non_singular is False:
            raise ValueError("Solve not implemented unless this is a perturbation of a non-singular LinearOperator.")
        u, v = self._sides(adjoint)
        x, over = base.solve(rhs, adjoint=adjoint), base.solve(as_tensor(u), adjoint=adjoint)
        inner, small = matmul(v, x, adjoint_a=True), self._small(adjoint, over)
        return x - matmul(over, cholesky_solve(cholesky(small), inner) if self._by_cholesky else solved(small, inner))

    def _determinant(self) -> Any:
        return det(self._small()) * self.base_operator.determinant() * self.diag_operator.determinant()

    def _log_abs_determinant(self) -> Any:
        small = self._small()
        own = 2 * reduce_sum(log(diag_part(cholesky(small))), -1) if self._by_cholesky else slogdet(small)[1]
        return own + self.base_operator.log_abs_determinant() + self.diag_operator.log_abs_determinant()

    def _assert_self_adjoint(self) -> Any:
        if self._v is not None or (self.diag_update is not None and self.dtype.is_complex):
            return super()._assert_self_adjoint()
        return self.base_operator.assert_self_adjoint()

    _dims: Any = lambda A, extent: (extent(A.base_operator, -2), extent(A.base_operator, -1))
