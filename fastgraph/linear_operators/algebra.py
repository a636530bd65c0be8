"""Products and solutions of two operators as operators: what two classes make of one another.

Rule: a row of a table is about classes alone; hints follow here. What no row names is a LinearOperatorComposition.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from fastgraph.linear_operators import block_operators, circulant, composed_operators, structured_matrices
from fastgraph.linear_operators.base import Hints, LinearOperator
from fastgraph.ops.arguments import as_tensor

_DIAG, _SCALED = structured_matrices.LinearOperatorDiag, structured_matrices.LinearOperatorScaledIdentity
_TRIANGULAR, _CIRCULANT = structured_matrices.LinearOperatorLowerTriangular, circulant.LinearOperatorCirculant
_BLOCKS, _INVERSE = block_operators.LinearOperatorBlockDiag, composed_operators.LinearOperatorInversion
_IDENTITY, _ZEROS = structured_matrices.LinearOperatorIdentity, structured_matrices.LinearOperatorZeros
_NUMBERS = (_DIAG, _SCALED)


def _non_singular(a: LinearOperator, b: LinearOperator) -> bool | None:
    if False in (a.is_non_singular, b.is_non_singular):
        return False
    return True if a.is_non_singular and b.is_non_singular else None


def _commuting(a: LinearOperator, b: LinearOperator) -> Hints:
    """The hints of a product of square operators that commute."""
    own = a.is_self_adjoint, b.is_self_adjoint
    definite = all(own) and a.is_positive_definite and b.is_positive_definite
    return {
        "is_non_singular": _non_singular(a, b),
        "is_self_adjoint": True if all(own) else False if own in ((True, False), (False, True)) else None,
        "is_positive_definite": True if definite else None,
        "is_square": True,
    }


def _composed(a: LinearOperator, b: LinearOperator, inverse: bool = False) -> LinearOperator:
    square: bool | None = None
    if None not in (squares := (a.is_square, b.is_square)):
        m, n = a.range_dimension, b.domain_dimension
        square = all(squares) or (not any(squares) and (None if None in (m, n) else m == n))
    hints: Hints = {"is_square": square}
    if square is not None:
        hints["is_non_singular"] = square and _non_singular(a, b)
    if square is False:
        hints |= {"is_self_adjoint": False, "is_positive_definite": False}
    return composed_operators.LinearOperatorComposition([_INVERSE(a) if inverse else a, b], **hints)


def _diagonals(a: Any, b: Any, combine: Callable[[Any, Any], Any], hints: Hints) -> Any:
    if isinstance(a, _SCALED) and isinstance(b, _SCALED):
        return _SCALED(a._num_rows, combine(a._lead(0), b._lead(0)), **hints)
    lines = (x._diag_part() if isinstance(x, _DIAG) else x._lead(1) for x in (a, b))
    return _DIAG(combine(*lines), **hints)


def _spectra(a: Any, b: Any, combine: Callable[[Any, Any], Any], hints: Hints) -> Any:
    return type(a)(combine(as_tensor(a.spectrum), as_tensor(b.spectrum)), input_output_dtype=a.dtype, **hints)


def _blocks(a: Any, b: Any, method: str) -> Any:
    if len(a.operators) != len(b.operators):
        raise ValueError(f"Can not efficiently {method} `LinearOperatorBlockDiag`s when number of blocks differ.")
    parts = [getattr(x, method)(y) for x, y in zip(a.operators, b.operators, strict=True)]
    return _BLOCKS(parts, is_non_singular=_non_singular(a, b))


def _alike(a: LinearOperator, b: LinearOperator) -> bool:
    return isinstance(a, _CIRCULANT) and type(a) is type(b) and a.dtype is b.dtype


def product(a: LinearOperator, b: LinearOperator) -> Any:
    """The operator of a times b."""
    if isinstance(a, _IDENTITY) or isinstance(b, _IDENTITY):
        return b if isinstance(a, _IDENTITY) else a
    for zero in (a, b):
        if isinstance(zero, _ZEROS):
            if not a.is_square or not b.is_square:
                raise ValueError(
                    "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not supported."
                )
            return zero
    hints = _commuting(a, b)
    if isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):
        return _diagonals(a, b, operator.mul, hints)
    if isinstance(a, _DIAG) and isinstance(b, _TRIANGULAR):
        return _TRIANGULAR(a.matmul(b.to_dense()), **hints)
    if isinstance(a, _TRIANGULAR) and isinstance(b, _DIAG):
        return _TRIANGULAR(a.to_dense() * as_tensor(b.diag)[..., None, :], **hints)
    if isinstance(a, _BLOCKS) and isinstance(b, _BLOCKS):
        return _blocks(a, b, "matmul")
    return _spectra(a, b, operator.mul, hints) if _alike(a, b) else _composed(a, b)


def solution(a: LinearOperator, b: LinearOperator) -> Any:
    """The operator of the inverse of a times b."""
    if isinstance(a, _IDENTITY):
        return b
    if isinstance(b, _IDENTITY):
        return a.inverse()
    if isinstance(a, _INVERSE):
        return a.operator.matmul(b)
    hints = _commuting(a, b)
    if isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):
        return _diagonals(a, b, lambda x, y: y / x, hints)
    if isinstance(a, _DIAG) and isinstance(b, _TRIANGULAR):
        return _TRIANGULAR(a.solve(b.to_dense()), **hints)
    if isinstance(a, _BLOCKS) and isinstance(b, _BLOCKS):
        return _blocks(a, b, "solve")
    return _spectra(a, b, lambda x, y: y / x, hints) if _alike(a, b) else _composed(a, b, inverse=True)
