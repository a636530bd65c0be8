"""Linear operators in blocks: block-diagonal and block lower triangular matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from fastgraph.core.base.shapes import compatible
from fastgraph.linear_operators.base import Hints, LinearOperator, check_fits
from fastgraph.linear_operators.batches import extent, full, known, spread, together, total, turned_if
from fastgraph.linear_operators.composed_operators import OfSeveral, dtype_of
from fastgraph.linear_operators.structured_matrices import LinearOperatorFullMatrix
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.creation import zeros
from fastgraph.ops.elementwise import add, multiply
from fastgraph.ops.joining import concat, split
from fastgraph.ops.movement import expand_dims, squeeze
from fastgraph.ops.static_assertions import assert_proper_iterable


def _is_in_blocks(x: Any, dims: Sequence[int | None], axis: int) -> bool:
    """Return whether a list has a tensor for each block, and is not one tensor. Raises: ValueError if unclear."""
    if not isinstance(x, (list, tuple)) or any(hasattr(item, "dtype") for item in x):
        return isinstance(x, (list, tuple))

    def extents(value: Any) -> int | None:
        try:
            return known(as_tensor(value), axis) if as_tensor(value).shape.rank else -1
        except (TypeError, ValueError):
            return -1

    blocks = len(x) == len(dims) and compatible(tuple(extents(item) for item in x), tuple(dims))
    whole = compatible((extents(x),), (total(dims),))
    if blocks and whole:
        raise ValueError("Parsing of the input structure is ambiguous. Please input an iterable of `Tensor`s, or one.")
    if not blocks and not whole:
        raise ValueError("Input dimension does not match operator dimension.")
    return blocks


class _OfBlocks(OfSeveral):
    """Operators that take tensors whole, or as a list of blocks, and then give such a list.

    `_diagonal` gives the operators on the diagonal, which tell the sizes; `_at` that at a row and a column of blocks of
    the matrix, or of its adjoint, None for 0.
    """

    _at: Any
    _diagonal: Any

    def _each(self, parts: list[Any], adjoint: bool) -> list[Any]:
        """A x of blocks, or A^H x."""
        n = range(len(parts))
        rows = [[(op, parts[j]) for j in n if (op := self._at(i, j, adjoint)) is not None] for i in n]
        return [reduce(add, [op.matmul(x, adjoint=adjoint) for op, x in row]) for row in rows]

    def _each_over(self, parts: list[Any], adjoint: bool) -> list[Any]:
        """Solve A x = parts, or A^H x = parts, of blocks: row by row."""
        n, found = len(parts), dict[int, Any]()
        for i in reversed(range(n)) if adjoint else range(n):
            rest = parts[i]
            for j, x in found.items():
                if (op := self._at(i, j, adjoint)) is not None:
                    rest = rest - op.matmul(x, adjoint=adjoint)
            found[i] = self._diagonal()[i].solve(rest, adjoint=adjoint)
        return [found[i] for i in range(n)]

    def _fitting(self, x: Any, own: int, its: int) -> Any:
        dims = self._sizes(known, own)
        if not _is_in_blocks(x, dims, its):
            return super()._fitting(x, own, its)
        parts = [self._argument(part) for part in x]
        for n, part in zip(dims, parts, strict=True):
            check_fits(n, known(part, its))
        return parts

    def _done(self, how: Callable[..., list[Any]], x: Any, own: int, adjoint: bool, adjoint_arg: bool) -> Any:
        """The result of `how` for blocks, or for a tensor that is cut into such."""
        if isinstance(x, list):
            return how([turned_if(part, adjoint_arg) for part in x], adjoint)
        parts = split(turned_if(x, adjoint_arg), self._sizes(extent, own), axis=-2)
        return concat(together(*how(parts, adjoint)), -2)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._done(self._each, x, -2 if adjoint else -1, adjoint, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._done(self._each_over, rhs, -1 if adjoint else -2, adjoint, adjoint_arg)

    def _columns(self, how: Callable[..., Any], x: Any, adjoint: bool) -> Any:
        """The result of `how` for vectors, or for blocks of such."""
        if not isinstance(x, list):
            return squeeze(how(expand_dims(x, -1), adjoint), [-1])
        return [squeeze(y, [-1]) for y in how([expand_dims(part, -1) for part in x], adjoint)]

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        self._check_solvable()
        return self._columns(self._solve, rhs, adjoint)

    def _get(self, method: str) -> list[Any]:
        """The results of a method of those on the diagonal. Raises: NotImplementedError if one is not square."""
        if any(op.is_square is False for op in self._diagonal()):
            raise NotImplementedError(f"`{method}` not implemented for an operator whose blocks are not square.")
        return [getattr(op, method)() for op in self._diagonal()]

    def _to_dense(self) -> Any:
        batch, rows, columns = self._batch(), self._sizes(extent, -2), self._sizes(extent, -1)

        def block(i: int, j: int) -> Any:
            op = self._at(i, j, False)
            return zeros(full(batch, rows[i], columns[j]), self.dtype) if op is None else spread(op.to_dense(), batch)

        return concat([concat([block(i, j) for j in range(len(columns))], -1) for i in range(len(rows))], -2)

    _sizes: Any = lambda A, extent, axis: [extent(op, axis) for op in A._diagonal()]
    _dims: Any = lambda A, extent: (total(A._sizes(extent, -2)), total(A._sizes(extent, -1)))
    _matvec: Any = lambda A, x, adjoint=False: A._columns(A._matmul, x, adjoint)
    _diag_part: Any = lambda A: concat(together(*A._get("diag_part"), own=1), -1)
    _eigvals: Any = lambda A: concat(together(*A._get("eigvals"), own=1), -1)
    _trace: Any = lambda A: reduce(add, A._get("trace"))
    _determinant: Any = lambda A: reduce(multiply, A._get("determinant"))
    _log_abs_determinant: Any = lambda A: reduce(add, A._get("log_abs_determinant"))
    _assert_non_singular: Any = lambda A: A._get("assert_non_singular")[-1]


class LinearOperatorBlockDiag(_OfBlocks, defaults={"is_square": True}):
    """The operator with others of one dtype along its diagonal, 0 elsewhere. Source: tf.linalg.LinearOperatorBlockDiag.

    Raises: TypeError for several dtypes, ValueError for no operators and hints that cannot hold.
    """

    _between = "_ds_"

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        return self._begin(), self._of_all(hints, "direct sum")

    _diagonal: Any = lambda A: A.operators
    _at: Any = lambda A, i, j, adjoint: A.operators[i] if i == j else None
    _linop_adjoint: Any = lambda A: LinearOperatorBlockDiag([op.H for op in A.operators], **A._hints())
    _linop_inverse: Any = lambda A: LinearOperatorBlockDiag([op.inverse() for op in A.operators], **A._hints())
    _linop_cholesky: Any = lambda A: LinearOperatorBlockDiag(A._get("cholesky"), is_non_singular=True)
    _assert_self_adjoint: Any = lambda A: A._get("assert_self_adjoint")[-1]
    _assert_positive_definite: Any = lambda A: A._get("assert_positive_definite")[-1]


class LinearOperatorBlockLowerTriangular(_OfBlocks, kind="`LinearOperatorBlockLowerTriangular` must be square."):
    """The operator of rows of others: one in the first, two in the second, and so on; the last of each is square.

    Raises: TypeError for several dtypes, ValueError for other numbers of operators, shapes that do not fit, hints that
    cannot hold. Source: tf.linalg.LinearOperatorBlockLowerTriangular.
    """

    _label = "LinearOperatorBlockLowerTriangular"

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        assert_proper_iterable(self._operators)
        for row in self._operators:
            assert_proper_iterable(row)
        self._operators = [list(row) for row in self._operators]
        _check_rows(self._operators)
        said, of_diagonal = hints["is_non_singular"], [op.is_non_singular for op in self._diagonal()]
        holds = True if all(of_diagonal) else False if False in of_diagonal else said
        if said not in (holds, None):
            kind = "non-singular operators" if holds else "a singular operator"
            text = f"with {kind} on the main diagonal is always {'non-' * bool(holds)}singular."
            raise ValueError(f"A blockwise lower-triangular operator {text}")
        return dtype_of(op for row in self._operators for op in row), {**hints, "is_non_singular": holds}

    def _at(self, i: int, j: int, adjoint: bool) -> LinearOperator | None:
        row, column = (j, i) if adjoint else (i, j)
        return self.operators[row][column] if column <= row else None

    def _linop_inverse(self) -> LinearOperator:
        made: list[list[LinearOperator]] = []
        for i, row in enumerate(self.operators):
            below: list[LinearOperator] = []
            for j in range(i):
                sums = reduce(add, [row[k].matmul(made[k][j].to_dense()) for k in range(j, i)])
                below.append(LinearOperatorFullMatrix(-row[i].solve(sums)))
            made.append([*below, row[i].inverse()])
        return LinearOperatorBlockLowerTriangular(made, **self._hints())

    _diagonal: Any = lambda A: [row[-1] for row in A.operators]


def _check_rows(rows: Sequence[Sequence[LinearOperator]]) -> None:
    """Raise ValueError unless blocks make up a lower triangle, and fit."""
    if not rows:
        raise ValueError(f"Argument `operators` must be a list of >=1 operators. Received: {rows}.")
    for i, row in enumerate(rows):
        where = f"Argument `operators[{i}]"
        if len(row) != i + 1:
            raise ValueError(f"{where}` must contain `{i + 1}` blocks. Received: {len(row)} blocks.")
        if row[-1].is_square is False:
            raise ValueError(f"Matrices on the diagonal must be square. {where}[-1].is_square` is False.")
        for j, op in enumerate(row[:-1]):
            for what, other in (("domain_dimension", rows[i - 1][j]), ("range_dimension", row[j + 1])):
                m, n = getattr(op, what), getattr(other, what)
                if None not in (m, n) and m != n:
                    raise ValueError(f"{where}[{j}].{what}` ({m}) must be the same as its neighbour's ({n}).")
