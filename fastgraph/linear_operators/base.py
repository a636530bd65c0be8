"""LinearOperator: what all linear operators can do, by their dense matrix where nothing better is known.

Rule: a public method checks and names; the one of the same name with an underscore computes, and is what a subclass
writes: `_shape`, `_shape_tensor` and `_matmul` at least.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from fastgraph.api.namespaces import resolve
from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.dtype import DTypeLike, as_dtype, int32
from fastgraph.core.base.shapes import TensorShape, shape_of
from fastgraph.core.conversion import TensorLike, unsupported
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.primitive import Primitive
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.linear_operators.batches import batch_dims, batch_of, extent, full, known, solved, turned_if, vector
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.creation import eye
from fastgraph.ops.elementwise import abs, cast, maximum
from fastgraph.ops.exponentials import exp, log
from fastgraph.ops.factored_solvers import cholesky_solve
from fastgraph.ops.factorizations import cholesky
from fastgraph.ops.linear_solvers import det, slogdet
from fastgraph.ops.matrix_diagonals import diag_part as diagonal_of
from fastgraph.ops.matrix_transposes import adjoint as adjoint_matrix
from fastgraph.ops.movement import expand_dims, size, squeeze
from fastgraph.ops.reduction import reduce_max, reduce_min, reduce_sum
from fastgraph.ops.runtime_assertions import assert_equal, assert_less, assert_positive
from fastgraph.ops.svd_and_eigen import eigvalsh, svd
from fastgraph.state.module import Module

_SQUARE = "-> t[*b]. Raises NotImplementedError if not square."
_OWN = "-> t[*b, n]. Raises NotImplementedError unless self-adjoint."
HINTS = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
Hints = dict[str, "bool | None"]


def check_fits(a: int | None, b: int | None) -> None:
    """Raise ValueError for two extents that are not the same."""
    if a is not None and b is not None and a != b:
        raise ValueError(f"Dimensions {a} and {b} are not compatible")


def largest_to_least(sizes: Any, axis: Any = -1) -> Any:
    """The greatest over the least."""
    return reduce_max(sizes, axis) / reduce_min(sizes, axis)


def _asked(method: str, doc: str, label: str = "", first: str = "") -> Callable[..., Any]:
    """A public method without arguments: what `_method` gives, named in graphs; `first` may refuse."""

    def ask(self: Any, name: str | None = label or method) -> Any:
        if first:
            getattr(self, first)()
        with self._scope(name):
            return getattr(self, f"_{method}")()

    ask.__name__, ask.__qualname__, ask.__doc__ = method, f"LinearOperator.{method}", doc
    return ask


def _class(kind: str) -> Any:
    """A class of another module, which imports this one."""
    return resolve("linalg", f"LinearOperator{kind}")


class LinearOperator(Module, CompositeTensor, abc.ABC):
    """A matrix, or a batch of them, known by what can be done with it. Source: tf.linalg.LinearOperator.

    Hints (`is_non_singular` and the like) are taken as they are given, None for what is not known, and decide which
    way something is computed. A subclass defines `_shape`, `_shape_tensor` and `_matmul`, and what else it can do well.
    Raises: ValueError for hints that contradict one another.
    """

    _is_tensor = False

    def __init__(
        self,
        dtype: DTypeLike | None,
        graph_parents: list[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        for holds, what in ((is_non_singular, "non-singular"), (is_self_adjoint, "self-adjoint")):
            if holds and is_square is False:
                raise ValueError(f"A {what} matrix is always square.")
            is_square = True if holds else is_square
        for i, t in enumerate(graph_parents or []):
            if not isinstance(t, Tensor) and not hasattr(t, "__fg_cell__"):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {t}.")
        self._graph_parents = self._no_dependency(graph_parents or [])
        self._dtype = as_dtype(dtype) if dtype else None
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._is_square_set_or_implied_by_hints = is_square
        self._parameters = self._no_dependency(parameters)
        self._name = name or type(self).__name__

    def _scope(self, name: str | None) -> AbstractContextManager[Any]:
        if current_trace() is None:
            return nullcontext()
        return name_scope(self.name if name is None else f"{self.name}/{name}")

    # -- what it is

    parameters: Any = property(lambda A: dict(A._parameters), doc="What it was made of, by name.")
    name: Any = property(lambda A: A._name, doc="The name given, or the class's.")
    dtype: Any = property(lambda A: A._dtype, doc="The dtype of the matrix.")
    graph_parents: Any = property(lambda A: A._graph_parents, doc="The tensors given as such.")
    is_non_singular: Any = property(lambda A: A._is_non_singular, doc="True if it has an inverse; None: nobody said.")
    is_self_adjoint: Any = property(lambda A: A._is_self_adjoint, doc="True if it is its adjoint; None: nobody said.")
    is_positive_definite: Any = property(
        lambda A: A._is_positive_definite, doc="Whether Re(x^H A x) > 0 but for x = 0; None: nobody said."
    )

    @property
    def is_square(self) -> bool | None:
        """True if it has as many rows as columns, None where that is not known yet.

        Raises ValueError if it was said not to be, and is.
        """
        m, n = self.range_dimension, self.domain_dimension
        equal = None if m is None or n is None else m == n
        said = self._is_square_set_or_implied_by_hints
        if said is False and equal:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return equal if said is None else said

    _hints: Any = lambda A: {hint: getattr(A, hint) for hint in HINTS}
    _can_use_cholesky: Any = lambda A: bool(A.is_self_adjoint and A.is_positive_definite)
    # -- shapes

    @abc.abstractmethod
    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Any:
        raise NotImplementedError("_shape_tensor is not implemented.")

    shape: Any = property(lambda A: A._shape(), doc="[*batch, rows, columns], as far as it is known.")
    batch_shape: Any = property(lambda A: shape_of(batch_dims(A, 2)), doc="The extents before these, as far as known.")
    tensor_rank: Any = property(lambda A: A.shape.rank, doc="The number of axes, None if that is not known.")
    domain_dimension: Any = property(lambda A: known(A, -1), doc="The number of columns, None if that is not known.")
    range_dimension: Any = property(lambda A: known(A, -2), doc="The number of rows, None if that is not known.")

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Return [*batch, rows, columns] as i32[b + 2]."""
        shape = self.shape
        with self._scope(name):
            return as_tensor(shape.as_list(), int32) if shape.is_fully_defined() else self._shape_tensor()

    batch_shape_tensor = _asked("batch_shape_tensor", "Return the extents before rows and columns as i32[b].")
    tensor_rank_tensor = _asked("tensor_rank_tensor", "Return how many axes the batch of matrices has as i32[].")
    domain_dimension_tensor = _asked("domain_dimension_tensor", "Return how many columns there are as i32[].")
    range_dimension_tensor = _asked("range_dimension_tensor", "Return how many rows there are as i32[].")

    _batch_shape_tensor: Any = lambda A: vector(batch_of(A))
    _tensor_rank_tensor: Any = lambda A: size(A.shape_tensor())
    _domain_dimension_tensor: Any = lambda A: A.shape_tensor()[-1]
    _range_dimension_tensor: Any = lambda A: A.shape_tensor()[-2]
    # -- checks of values

    assert_non_singular = _asked("assert_non_singular", "Stop unless it has an inverse. Raises InvalidArgumentError.")
    assert_positive_definite = _asked("assert_positive_definite", "Stop unless it is. Raises InvalidArgumentError.")
    assert_self_adjoint = _asked("assert_self_adjoint", "Stop unless it is its adjoint. Raises InvalidArgumentError.")

    def _assert_non_singular(self) -> Any:
        if self._can_use_cholesky():
            return self.assert_positive_definite()
        values = svd(self.to_dense(), compute_uv=False)
        sizes = maximum(self.range_dimension_tensor(), maximum(self.domain_dimension_tensor(), 100))
        most = 1 / (cast(sizes, values.dtype) * np.finfo(self.dtype.as_numpy_dtype).eps)
        return assert_less(largest_to_least(values), most, message="Singular matrix up to precision epsilon.")

    def _assert_positive_definite(self) -> Any:
        if not self.is_self_adjoint:
            raise NotImplementedError("assert_positive_definite is not implemented.")
        diagonal = abs(diagonal_of(cholesky(self.to_dense())))
        return assert_positive(diagonal, message="Matrix was not positive definite.")

    def _assert_self_adjoint(self) -> Any:
        dense = self.to_dense()
        return assert_equal(dense, adjoint_matrix(dense), message="Matrix was not equal to its adjoint.")

    # -- products and solutions

    def _argument(self, x: Any) -> Tensor:
        found = as_tensor(x)
        if not isinstance(found, Tensor):
            raise unsupported(x)
        if found.dtype is not self.dtype:
            text = f"Expected argument to have dtype {self.dtype!r}.  Found: {found.dtype!r} in tensor {found}"
            raise TypeError(text)
        return found

    def _fitting(self, x: Any, own: int, its: int) -> Tensor:
        """x as a tensor whose axis `its` fits the axis `own` of the matrix."""
        found = self._argument(x)
        if (rank := found.shape.rank) is not None and rank < -its:
            raise ValueError(f"Dimension index {its} out of range for shape {found.shape}")
        check_fits(known(self, own), known(found, its))
        return found

    @abc.abstractmethod
    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        raise NotImplementedError("_matmul is not implemented.")

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Tensor | Any:
        """Return A x, or A^H x with `adjoint`, of x^H with `adjoint_arg`; of another operator an operator.

        t[*b, n, k] -> t[*b, m, k]. Raises: TypeError for another dtype, ValueError for shapes that do not fit.
        """
        with self._scope(name):
            if isinstance(x, LinearOperator):
                return self._linop_matmul(*self._both("x", x, adjoint, adjoint_arg))
            value = self._fitting(x, -2 if adjoint else -1, -1 if adjoint_arg else -2)
            return self._matmul(value, adjoint=adjoint, adjoint_arg=adjoint_arg)

    __matmul__: Any = lambda A, other: A.matmul(other)

    def _both(self, what: str, x: LinearOperator, adjoint: bool, adjoint_arg: bool) -> tuple[Any, Any]:
        left, right = self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x
        m, n = left.domain_dimension, right.range_dimension
        if m is not None and n is not None and m != n:
            raise ValueError(f"Operators are incompatible. Expected `{what}` to have dimension {m} but got {n}.")
        return left, right

    def _linop_matmul(self, left_operator: Any, right_operator: Any) -> Any:
        from fastgraph.linear_operators.algebra import product

        return product(left_operator, right_operator)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """Return A x, or A^H x, of vectors. t[*b, n] -> t[*b, m]. Raises as `matmul` does."""
        with self._scope(name):
            return self._matvec(self._fitting(x, -2 if adjoint else -1, -1), adjoint=adjoint)

    _matvec: Any = lambda A, x, adjoint=False: squeeze(A.matmul(expand_dims(x, -1), adjoint=adjoint), [-1])

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Tensor | Any:
        """Return x with A x = rhs, or A^H x = rhs, or of rhs^H; of another operator an operator.

        t[*b, n, k] -> t[*b, n, k]. Raises: NotImplementedError for what is not square or singular, TypeError for
        another dtype, ValueError for shapes that do not fit.
        """
        self._check_solvable()
        with self._scope(name):
            if isinstance(rhs, LinearOperator):
                return self._linop_solve(*self._both("rhs", rhs, adjoint, adjoint_arg))
            value = self._fitting(rhs, -1 if adjoint else -2, -1 if adjoint_arg else -2)
            return self._solve(value, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _check_solvable(self) -> None:
        for holds, what in ((self.is_non_singular, "be singular"), (self.is_square, "not be square")):
            if holds is False:
                raise NotImplementedError(f"Exact solve not implemented for an operator that is expected to {what}.")

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = turned_if(rhs, adjoint_arg)
        if self._can_use_cholesky():
            return cholesky_solve(cholesky(self.to_dense()), rhs)
        return solved(self.to_dense(), rhs, adjoint)

    def _linop_solve(self, left_operator: Any, right_operator: Any) -> Any:
        from fastgraph.linear_operators.algebra import solution

        return solution(left_operator, right_operator)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Tensor:
        """Return x with A x = rhs, or A^H x = rhs, of vectors. t[*b, n] -> t[*b, n]. Raises as `solve` does."""
        with self._scope(name):
            return self._solvevec(self._fitting(rhs, -1 if adjoint else -2, -1), adjoint=adjoint)

    _solvevec: Any = lambda A, rhs, adjoint=False: squeeze(A.solve(expand_dims(rhs, -1), adjoint=adjoint), [-1])
    # -- other operators

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Return the operator of the adjoint matrix; itself if it is self-adjoint."""
        with self._scope(name):
            return self if self.is_self_adjoint else self._linop_adjoint()

    H = property(adjoint, doc="The operator of the adjoint matrix.")

    _linop_adjoint: Any = lambda A: _class("Adjoint")(A, **A._hints())

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the operator of the inverse. Raises ValueError for what is not square or singular."""
        for holds, what in ((self.is_square, "non square"), (self.is_non_singular, "singular")):
            if holds is False:
                raise ValueError(f"Cannot take the Inverse: This operator represents a {what} matrix.")
        with self._scope(name):
            return self._linop_inverse()

    _linop_inverse: Any = lambda A: _class("Inversion")(A, **A._hints())

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Return the operator L, lower triangular, with L L^H = A.

        Raises ValueError unless it is self-adjoint and positive definite by its hints.
        """
        if not self._can_use_cholesky():
            raise ValueError("Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix.")
        with self._scope(name):
            return self._linop_cholesky()

    _linop_cholesky: Any = lambda A: _class("LowerTriangular")(
        cholesky(A.to_dense()), is_non_singular=True, is_self_adjoint=False
    )

    # -- numbers and matrices

    determinant = _asked("determinant", f"Return determinants. {_SQUARE}", "det", "_square_only")
    log_abs_determinant = _asked(
        "log_abs_determinant", f"Return their log(|x|). {_SQUARE}", "log_abs_det", "_square_only"
    )
    to_dense = _asked("to_dense", "Return the matrix. -> t[*b, m, n].")
    diag_part = _asked("diag_part", "Return the main diagonal. -> t[*b, min(m, n)].")
    trace = _asked("trace", "Return the sum of the main diagonal. -> t[*b].")
    cond = _asked("cond", "Return the greatest singular value over the least. -> t[*b].")
    eigvals = _asked("eigvals", f"Return eigenvalues, in no order. {_OWN}", first="_self_adjoint_only")

    def _square_only(self) -> None:
        if self.is_square is False:
            raise NotImplementedError("Determinant not implemented for an operator that is expected to not be square.")

    def _self_adjoint_only(self) -> None:
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint matrices are supported.")

    _determinant: Any = lambda A: exp(A.log_abs_determinant()) if A._can_use_cholesky() else det(A.to_dense())

    def _log_abs_determinant(self) -> Any:
        if self._can_use_cholesky():
            return 2 * reduce_sum(log(diagonal_of(cholesky(self.to_dense()))), -1)
        return slogdet(self.to_dense())[1]

    _to_dense: Any = lambda A: A.matmul(eye(extent(A, -1), batch_shape=full(batch_of(A)), dtype=A.dtype))
    _diag_part: Any = lambda A: diagonal_of(A.to_dense())
    _trace: Any = lambda A: reduce_sum(A.diag_part(), -1)
    _eigvals: Any = lambda A: eigvalsh(A.to_dense())

    _cond: Any = lambda A: largest_to_least(
        abs(A._eigvals()) if A.is_self_adjoint else svd(A.to_dense(), compute_uv=False)
    )

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """Return A + x. t[*b, m, n] -> t[*b, m, n]. Raises TypeError for another dtype."""
        with self._scope(name):
            return self._add_to_tensor(self._argument(x))

    _add_to_tensor: Any = lambda A, x: A.to_dense() + x
    # -- how it takes part

    __fg_adjoint__: Any = lambda A: A.adjoint()
    __fg_tensor__: Any = lambda A, dtype=None: A

    __fg_shown__: Any = lambda A: (f"{A!r}",)

    def __fg_bind__(self, prim: Primitive, inputs: tuple[Any, ...], attrs: Mapping[str, Any]) -> Any:
        """Return what functions of tf.linalg give. Raises ValueError for other ops."""
        first, what = inputs[0], prim.name
        if what == "matmul":
            if attrs["transpose_a"] or attrs["transpose_b"]:
                raise ValueError("Transposing not supported at this time.")
            if first is self:
                return self.matmul(inputs[1])
            return adjoint_matrix(self.matmul(first, adjoint=True, adjoint_arg=True))
        if what == "solve":
            if first is not self:
                raise ValueError("Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported.")
            return self.solve(inputs[1], adjoint=attrs["adjoint"])
        methods = {"det": "determinant", "inv": "inverse", "matrix_diag_part": "diag_part", "cholesky": "cholesky"}
        if what not in methods:
            raise unsupported(self)
        return getattr(self, methods[what])()
