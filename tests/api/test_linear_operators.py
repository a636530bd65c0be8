"""Linear operators beside the dense matrices that they stand for: values, gradients, Functions, algebra, errors."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.linear_operators.fields import OperatorOfFields
from tests.oracle.linear_operators import OPERATORS, PAIRS, arrays_of, text_of

LO = tf.linalg
SINGULAR = ("Zeros", "Zeros batch", "Zeros wide", "FullMatrix wide", "Kronecker of three")
SHAPES = [("float64", ()), ("float64", (2,)), ("complex128", (2,)), ("float32", ())]


def operator(name: str, given: dict[str, Any], which: str = "") -> Any:
    """The operator of a row of the table."""
    return eval(text_of(name, which), {"tf": tf, **given})


def tensors(name: str, dtype: str, batch: tuple[int, ...]) -> dict[str, Any]:
    return {key: tf.constant(x) for key, x in arrays_of(name, dtype, batch).items()}


def same(got: Any, wanted: Any, what: str, dtype: str = "float64") -> None:
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape, what
    slack = 1e-4 if dtype in ("float32", "complex64") else 1e-9
    np.testing.assert_allclose(got, wanted, rtol=slack, atol=slack, err_msg=what)


def turned(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.parametrize(("dtype", "batch"), SHAPES, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_methods_are_those_of_the_dense_matrix(name: str, dtype: str, batch: tuple[int, ...]) -> None:
    given = tensors(name, dtype, batch)
    op, x, y = operator(name, given), given["x"], given["y"]
    dense = op.to_dense().numpy()
    assert tuple(op.shape) == dense.shape and op.dtype == dense.dtype == dtype
    m, n = dense.shape[-2:]
    assert (op.range_dimension, op.domain_dimension, op.tensor_rank) == (m, n, dense.ndim)
    assert op.shape_tensor().numpy().tolist() == [*op.batch_shape_tensor().numpy().tolist(), m, n]
    wide, tall = x.numpy(), y.numpy()
    for got, wanted, what in (
        (op.matmul(x), dense @ wide, "matmul"),
        (op.matmul(y, adjoint=True), turned(dense) @ tall, "adjoint"),
        (op.matmul(turned(wide), adjoint_arg=True), dense @ wide, "adjoint_arg"),
        (op.matmul(turned(tall), adjoint=True, adjoint_arg=True), turned(dense) @ tall, "both"),
        (op @ x, dense @ wide, "@"),
        (tf.constant(turned(tall)) @ op, turned(tall) @ dense, "tensor @"),
        (op.matvec(x[..., 0]), (dense @ wide)[..., 0], "matvec"),
        (op.matvec(y[..., 0], adjoint=True), (turned(dense) @ tall)[..., 0], "matvec adjoint"),
        (op.H.to_dense(), turned(dense), "H"),
        (op.diag_part(), np.diagonal(dense, axis1=-2, axis2=-1), "diag_part"),
        (op.trace(), np.trace(dense, axis1=-2, axis2=-1), "trace"),
        (op.add_to_tensor(tf.constant(dense * 2)), dense * 3, "add_to_tensor"),
    ):
        same(got, wanted, what, dtype)
    if op.is_square and name not in SINGULAR:
        inverse = np.linalg.inv(dense)
        for got, wanted, what in (
            (op.solve(y), inverse @ tall, "solve"),
            (op.solve(x, adjoint=True), turned(inverse) @ wide, "solve adjoint"),
            (op.solve(turned(tall), adjoint_arg=True), inverse @ tall, "solve adjoint_arg"),
            (op.solvevec(y[..., 0]), (inverse @ tall)[..., 0], "solvevec"),
            (op.inverse().to_dense(), inverse, "inverse"),
            (op.inverse().matmul(y), inverse @ tall, "inverse matmul"),
            (op.determinant(), np.linalg.det(dense), "determinant"),
            (tf.math.real(op.log_abs_determinant()), np.linalg.slogdet(dense)[1], "log_abs_determinant"),
            (tf.math.real(op.cond()), np.linalg.cond(dense), "cond"),
        ):
            same(got, wanted, what, dtype)
        op.assert_non_singular()
    if op.is_self_adjoint and op.is_square:
        if np.array_equal(dense, turned(dense)):
            op.assert_self_adjoint()
        same(np.sort(tf.math.real(op.eigvals()), -1), np.linalg.eigvalsh(dense), "eigvals", dtype)
        if op.is_positive_definite:
            op.assert_positive_definite()
            factor = op.cholesky().to_dense().numpy()
            same(factor @ turned(factor), dense, "cholesky", dtype)
            assert not np.triu(factor, 1).any()


def sources_of(given: dict[str, Any]) -> list[Any]:
    return [x for key, x in given.items() if key != "z" and x.dtype.is_floating]


@pytest.mark.parametrize("name", [name for name in OPERATORS if "wide" not in name])
def test_gradients_are_those_through_the_dense_matrix(name: str) -> None:
    given = tensors(name, "float64", (2,))
    sources = sources_of(given)
    hermitian = [key for key, (kind, _) in OPERATORS[name][1].items() if kind == "definite"]

    def loss(op: Any, dense: bool) -> Any:
        x, y = given["x"], given["y"]
        matrix = op.to_dense() if dense else op
        found = tf.matmul(matrix, x)
        if name not in SINGULAR:
            found += tf.linalg.inv(matrix) @ y if dense else op.solve(y)
            volume = tf.linalg.slogdet(matrix)[1] if dense else op.log_abs_determinant()
            found += volume[..., None, None] + tf.matmul(matrix, y, adjoint_a=True)
        return tf.reduce_sum(tf.sin(found))

    def of_both_orders(dense: bool) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(sources)
            with tf.GradientTape() as inner:
                inner.watch(sources)
                used = {k: (x + tf.linalg.adjoint(x)) / 2 if k in hermitian else x for k, x in given.items()}
                value = loss(operator(name, used), dense)
            first = inner.gradient(value, sources, unconnected_gradients="zero")
            total = tf.add_n([tf.reduce_sum(tf.cos(g) * g) for g in first])
        return value, first, outer.gradient(total, sources, unconnected_gradients="zero")

    for got, wanted in zip(tf.nest.flatten(of_both_orders(False)), tf.nest.flatten(of_both_orders(True)), strict=True):
        scale = max(1.0, float(np.abs(wanted).max(initial=0)))
        same(got / scale, wanted / scale, name)


def everything(op: Any, x: Any, y: Any, name: str) -> list[Any]:
    found = [op.matmul(x), op.matmul(y, adjoint=True), op.trace(), op.diag_part(), op.to_dense(), op.shape_tensor()]
    if name not in SINGULAR:
        found += [op.solve(y), op.determinant(), op.log_abs_determinant()]
    return found


@pytest.mark.parametrize("name", OPERATORS)
def test_in_functions_with_known_and_with_unknown_shapes(name: str) -> None:
    given = tensors(name, "float64", (2,))
    wanted = everything(operator(name, given), given["x"], given["y"], name)

    def program(**given: Any) -> Any:
        return everything(operator(name, given), given["x"], given["y"], name)

    loose = {key: tf.TensorSpec([None] * x.shape.rank, x.dtype) for key, x in given.items()}
    for specs in ({key: tf.TensorSpec(x.shape, x.dtype) for key, x in given.items()}, loose):
        for got, eager in zip(tf.function(program).get_concrete_function(**specs)(**given), wanted, strict=True):
            same(got, eager, name)


@pytest.mark.parametrize("name", [name for name in OPERATORS if "Tridiag" not in name])
def test_in_functions_of_tensors_of_unknown_rank(name: str) -> None:
    given = tensors(name, "float64", (2,))

    def program(**given: Any) -> Any:
        op = operator(name, given)
        return op.matmul(given["x"]), op.to_dense(), op.shape_tensor()

    specs = {key: tf.TensorSpec([] if key == "z" else None, x.dtype) for key, x in given.items()}
    found = tf.function(program).get_concrete_function(**specs)(**given)
    for got, wanted in zip(found, program(**given), strict=True):
        same(got, wanted, name)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_go_into_functions_and_come_out(name: str) -> None:
    given = tensors(name, "float64", (2,))
    op = operator(name, given)
    traces = []

    @tf.function
    def program(op: Any, x: Any) -> Any:
        traces.append(op)
        return op.matmul(x), op

    for _ in range(2):
        product, made = program(operator(name, given), given["x"])
    same(product, op.matmul(given["x"]), name)
    same(made.to_dense(), op.to_dense(), name)
    assert type(made) is type(op) and len(traces) == 1
    hints = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
    assert [getattr(made, hint) for hint in hints] == [getattr(op, hint) for hint in hints]
    again = tf.nest.pack_sequence_as(op, tf.nest.flatten(op, expand_composites=True), expand_composites=True)
    same(again.to_dense(), op.to_dense(), name)


@pytest.mark.parametrize("name", OPERATORS)
def test_slices_of_the_batch(name: str) -> None:
    op = operator(name, tensors(name, "float64", (2,)))
    dense = op.to_dense().numpy()
    if dense.ndim == 2:
        return
    same(op[0].to_dense(), dense[0], name)
    same(op[..., tf.newaxis].to_dense(), dense[..., None, :, :], name)
    same(op[1:].to_dense(), dense[1:], name)


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=str)
def test_products_and_solutions_of_two_are_operators(first: str, second: str) -> None:
    given = {**tensors(first, "float64", ())}
    given |= {key: tf.constant(x) for key, x in arrays_of(second, "float64", (), "_b").items()}
    a, b = operator(first, given), operator(second, given, "_b")
    left, right = a.to_dense().numpy(), b.to_dense().numpy()
    if left.shape[-1] != right.shape[-2]:
        with pytest.raises(ValueError, match="Operators are incompatible. Expected `x` to have dimension 3 but got 2"):
            a.matmul(b)
        return
    same((a @ b).to_dense(), left @ right, "product")
    if a.is_square:
        same(a.matmul(b, adjoint=True).to_dense(), turned(left) @ right, "product with the adjoint")
    if b.is_square:
        same(a.matmul(b, adjoint_arg=True).to_dense(), left @ turned(right), "product with the other's adjoint")
    if a.is_square and first != "Zeros":
        same(a.solve(b).to_dense(), np.linalg.solve(left, right), "solution")
        same(a.solve(b, adjoint=True).to_dense(), np.linalg.solve(turned(left), right), "solution with the adjoint")


def test_what_two_structures_make_of_one_another() -> None:
    diag, tril = LO.LinearOperatorDiag([2.0, 4.0]), LO.LinearOperatorLowerTriangular([[1.0, 0.0], [2.0, 3.0]])
    scaled, identity, zeros = (
        LO.LinearOperatorScaledIdentity(2, 3.0),
        LO.LinearOperatorIdentity(2),
        LO.LinearOperatorZeros(2),
    )
    full = LO.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    for product, kind in (
        (diag @ diag, "Diag"),
        (diag @ scaled, "Diag"),
        (scaled @ scaled, "ScaledIdentity"),
        (diag @ tril, "LowerTriangular"),
        (tril @ diag, "LowerTriangular"),
        (full @ diag, "Composition"),
        (zeros @ full, "Zeros"),
        (diag.solve(tril), "LowerTriangular"),
        (diag.inverse(), "Diag"),
        (full.inverse(), "Inversion"),
        (full.adjoint(), "Adjoint"),
        (LO.LinearOperatorKronecker([diag, full]).H, "Kronecker"),
        (LO.LinearOperatorBlockDiag([diag, full]).inverse(), "BlockDiag"),
    ):
        assert type(product) is getattr(LO, f"LinearOperator{kind}")
    assert identity @ full is full and full @ identity is full and full.H.H is full and full.inverse().inverse() is full


def test_hints_follow() -> None:
    definite = LO.LinearOperatorDiag([2.0, 4.0], is_positive_definite=True)
    assert (definite.is_non_singular, definite.is_self_adjoint, definite.is_square) == (True, True, True)
    assert (definite @ definite).is_positive_definite and definite.cholesky().is_non_singular
    tril = LO.LinearOperatorLowerTriangular([[1.0, 0.0], [2.0, 3.0]], is_non_singular=True)
    outer = tril @ tril.H
    assert outer.is_positive_definite and outer.is_self_adjoint and type(outer.cholesky()) is type(tril)
    with pytest.raises(ValueError, match="A positive definite matrix is always non-singular"):
        LO.LinearOperatorFullMatrix([[1.0]], is_positive_definite=True, is_non_singular=False)


def test_variables_are_kept_and_read_anew() -> None:
    variable = tf.Variable([2.0, 4.0])
    op = LO.LinearOperatorDiag(variable)
    holder = tf.Module()
    holder.op = LO.LinearOperatorKronecker([op, LO.LinearOperatorIdentity(2)])
    assert op.variables == (variable,) and holder.trainable_variables == (variable,) and op.diag is variable

    @tf.function
    def program(x: Any) -> Any:
        return op.solvevec(x)

    @tf.function
    def with_argument(op: Any, x: Any) -> Any:
        return op.solvevec(x)

    for function in (program, lambda x: with_argument(op, x), op.solvevec):
        variable.assign([2.0, 4.0])
        same(function(tf.ones(2)), [0.5, 0.25], "first")
        variable.assign([1.0, 2.0])
        with tf.GradientTape() as tape:
            found = function(tf.ones(2))
        same(found, [1.0, 0.5], "then")
        same(tape.gradient(found, variable), [-1.0, -0.25], "gradient")


def test_operators_in_branches_and_loops() -> None:
    op = LO.LinearOperatorDiag([2.0, 4.0])

    @tf.function
    def program(n: Any, op: Any) -> Any:
        if n > 2:
            op = op @ op
        for _ in tf.range(n):
            op = op @ LO.LinearOperatorDiag([1.0, 2.0])
        return op

    assert program(tf.constant(1), op).diag_part().numpy().tolist() == [2.0, 8.0]
    assert program(tf.constant(3), op).diag_part().numpy().tolist() == [4.0, 128.0]


def test_the_gradient_for_an_operator_is_an_operator() -> None:
    op = LO.LinearOperatorDiag([2.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(op)
        value = tf.reduce_sum(op.matvec([1.0, 3.0]))
    assert tape.gradient(value, op).diag.numpy().tolist() == [1.0, 3.0]


class Shift(tf.linalg.LinearOperator):
    """A user's operator: rows moved down in a circle."""

    def __init__(self, n: int) -> None:
        super().__init__(tf.float64, is_non_singular=True, parameters={"n": n})
        self.n = n

    def _shape(self) -> Any:
        return tf.TensorShape([self.n, self.n])

    def _shape_tensor(self) -> Any:
        return tf.constant([self.n, self.n])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return tf.roll(tf.linalg.adjoint(x) if adjoint_arg else x, -1 if adjoint else 1, axis=-2)


def test_users_operators() -> None:
    op = Shift(3)
    assert op.is_square and op.name == "Shift" and op.parameters == {"n": 3}
    dense = np.roll(np.eye(3), 1, 0)
    same(op.to_dense(), dense, "to_dense")
    same(op.solvevec(np.arange(3.0)), [1.0, 2.0, 0.0], "solvevec")
    same((op @ op).to_dense(), dense @ dense, "product")
    same(
        tf.function(lambda x: LO.LinearOperatorKronecker([op, op]).matvec(x))(np.arange(9.0)).numpy()[:2],
        [8, 6],
        "in one",
    )
    assert not isinstance(op, OperatorOfFields)
    with pytest.raises(TypeError, match="abstract"):
        tf.linalg.LinearOperator(tf.float32)


@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
def test_conjugate_gradient(batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(zlib.crc32(str(batch).encode()))
    root = rng.normal(size=(*batch, 4, 4))
    matrix = root @ turned(root) + 4 * np.eye(4)
    rhs = rng.normal(size=(*batch, 4))
    op = LO.LinearOperatorFullMatrix(matrix, is_self_adjoint=True, is_positive_definite=True)
    near = LO.LinearOperatorDiag(1 / np.diagonal(matrix, axis1=-2, axis2=-1))
    for solve in (tf.linalg.experimental.conjugate_gradient, tf.function(tf.linalg.experimental.conjugate_gradient)):
        for preconditioner in (None, near):
            found = solve(op, tf.constant(rhs), preconditioner=preconditioner, tol=1e-12)
            same(found.x, np.linalg.solve(matrix, rhs[..., None])[..., 0], "x", "float32")
            assert int(found.i) <= 8 and found.gamma.shape == batch
    with pytest.raises(ValueError, match="Expected a self-adjoint, positive definite operator"):
        tf.linalg.experimental.conjugate_gradient(LO.LinearOperatorFullMatrix(matrix), rhs)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: LO.LinearOperatorFullMatrix([[1, 2]]), TypeError, "Argument `matrix` must have dtype in"),
        (lambda: LO.LinearOperatorFullMatrix([[1.0, 2.0]]).solve([[1.0]]), NotImplementedError, "Exact solve not"),
        (
            lambda: LO.LinearOperatorDiag([1.0]).matmul([[1.0], [2.0]]),
            ValueError,
            "Dimensions 1 and 2 are not compatible",
        ),
        (lambda: LO.LinearOperatorDiag([1.0]).matvec(np.ones(1)), TypeError, "Expected argument to have dtype"),
        (lambda: LO.LinearOperatorDiag([1.0, 0.0]).assert_non_singular(), tf.errors.InvalidArgumentError, "Singular"),
        (lambda: LO.LinearOperatorDiag([1.0]).H + 1.0, TypeError, "unsupported operand"),
        (lambda: tf.sin(LO.LinearOperatorDiag([1.0])), ValueError, "Attempt to convert a value"),
        (lambda: tf.convert_to_tensor(LO.LinearOperatorDiag([1.0])), ValueError, "Attempt to convert a value"),
        (lambda: LO.LinearOperatorZeros(2).inverse(), ValueError, "Cannot take the Inverse"),
        (lambda: LO.LinearOperatorIdentity(-1), ValueError, "Argument num_rows must be non-negative"),
    ],
)
def test_errors_are_tensorflows(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_products_with_adjoint_matrices_on_either_side() -> None:
    matrix, x = np.array([[1, 0.5], [2, 3]]) + 0j, np.arange(4.0).reshape(2, 2) + 1j
    operator = LO.LinearOperatorFullMatrix(matrix)
    for first, second in ((operator, x), (x, operator), (operator, operator)):
        for adjoint_a, adjoint_b in ((False, True), (True, False), (True, True)):
            found = tf.matmul(first, second, adjoint_a=adjoint_a, adjoint_b=adjoint_b)
            a, b = (matrix if each is operator else x for each in (first, second))
            wanted = (a.conj().T if adjoint_a else a) @ (b.conj().T if adjoint_b else b)
            np.testing.assert_allclose(found.to_dense() if first is second else found, wanted)
    with pytest.raises(ValueError, match="Transposing not supported"):
        tf.matmul(operator, x, transpose_b=True)
