"""tf.linalg.experimental.conjugate_gradient: systems solved by products alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.tensor import Tensor
from fastgraph.graph.control_flow import while_loop
from fastgraph.linear_operators.base import LinearOperator
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.comparison import logical_and
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.elementwise import zeros_like
from fastgraph.ops.movement import expand_dims, squeeze
from fastgraph.ops.reduction import norm, reduce_any, reduce_sum


class CGState(NamedTuple):
    """Steps, solution, residual, direction, and the residual's square by the preconditioner."""

    i: Tensor
    x: Tensor
    r: Tensor
    p: Tensor
    gamma: Tensor


def conjugate_gradient(
    operator: LinearOperator,
    rhs: TensorLike,
    preconditioner: LinearOperator | None = None,
    x: TensorLike | None = None,
    tol: float = 1e-5,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """Solve A x = rhs by conjugate gradients. t[*b, n] -> CGState.

    Stops after max_iter steps, or once no residual is longer than tol times rhs. `preconditioner` is near to A's
    inverse, `x` near to the solution. Raises: ValueError unless A is self-adjoint and positive definite by its hints.
    Source: tf.linalg.experimental.conjugate_gradient.
    """
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise ValueError("Expected a self-adjoint, positive definite operator.")

    def dot(a: Any, b: Any) -> Any:
        return reduce_sum(conj(a) * b, -2, keepdims=True)

    def near(r: Any) -> Any:
        return r if preconditioner is None else preconditioner.matmul(r)

    with name_scope(name):
        given = as_tensor(rhs)
        b = expand_dims(given, -1)
        limit = tol * norm(given, axis=-1)
        start = zeros_like(b) if x is None else expand_dims(as_tensor(x), -1)
        r = b if x is None else b - operator.matmul(start)
        p = near(r)

        def unfinished(state: CGState) -> Any:
            left = reduce_any(norm(squeeze(state.r, [-1]), axis=-1) > limit)
            return logical_and(state.i < max_iter, left)

        def step(state: CGState) -> Any:
            z = operator.matmul(state.p)
            alpha = state.gamma / dot(state.p, z)
            r = state.r - alpha * z
            q = near(r)
            gamma = dot(r, q)
            p = q + gamma / state.gamma * state.p
            return [CGState(state.i + 1, state.x + alpha * state.p, r, p, gamma)]

        state = while_loop(unfinished, step, [CGState(as_tensor(0), start, r, p, dot(r, p))])[0]
        x_, r, p = (squeeze(each, [-1]) for each in (state.x, state.r, state.p))
        return CGState(state.i, x_, r, p, squeeze(state.gamma, [-2, -1]))
