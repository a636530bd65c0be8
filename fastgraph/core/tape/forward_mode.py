"""Derivatives in forward mode: ForwardAccumulator.

Rule: what is computed stands in the tape's forward recorder (`forward.pxi`); here are structures and checks.
"""

from __future__ import annotations

from typing import Any

from fastgraph._tape import ForwardRecorder
from fastgraph.core import registry as primitives
from fastgraph.core.base import nesting
from fastgraph.core.base.logger import get_logger
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tape.gradient_tape import Unconnected, UnconnectedGradients, is_trainable, is_variable
from fastgraph.core.tensor import Tensor, convert


class ForwardAccumulator(ForwardRecorder):
    """Computes Jacobian-vector products beside the ops, while its context lasts.

        with fg.autodiff.ForwardAccumulator(x, tangent) as accumulator:
            y = f(x)
        dy = accumulator.jvp(y)

    primals: a Tensor, a Variable or a structure of them; tangents: the same structure, with the dtypes and shapes of
    the primals. One run costs a few times f, whatever the size of x; a GradientTape is cheaper where f(x) is small.
    Accumulators may be nested, and mixed with tapes: a tape inside one gives Hessian-vector products.
    Custom gradients count here as in reverse: their derivative is the transpose of what they state.
    Raises ValueError for other structures, dtypes or shapes, and for a primal given twice; TypeError for what is
    neither Tensor nor Variable. Source: tf.autodiff.ForwardAccumulator.
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        nesting.assert_same_structure(primals, tangents, expand_composites=True)
        seen: set[int] = set()
        for primal, tangent in zip(
            nesting.flatten(primals, expand_composites=True),
            nesting.flatten(tangents, expand_composites=True),
            strict=True,
        ):
            item = _known(primal, "primals")
            if item.id in seen:
                raise ValueError(
                    f"Tensor {primal!r} was specified as a primal multiple times. This may indicate an error. If it "
                    "was intended, please sum the corresponding tangents."
                )
            seen.add(item.id)
            if not is_trainable(primal.dtype):
                get_logger().warning(
                    "The dtype of the watched primal must be floating (e.g. tf.float32), got %r", primal.dtype
                )
                continue
            given = convert(tangent, primal.dtype)
            if not primal.shape.is_compatible_with(given.shape):
                raise ValueError(
                    f"ForwardAccumulator: the tangent of a primal of shape {primal.shape} has shape {given.shape}"
                )
            self.hold(item, given)

    def jvp(self, primals: Any, unconnected_gradients: Unconnected = UnconnectedGradients.NONE) -> Any:
        """The tangents of Tensors or Variables that were computed in the context, in their structure.

        What does not depend on the accumulator's primals has None, or zeros with unconnected_gradients "zero". Nothing
        is computed here. Raises ValueError for any other `unconnected_gradients`.
        """
        unconnected = UnconnectedGradients(unconnected_gradients)

        def fetch(leaf: TensorLike) -> Any:
            found = self.tangent_of(_known(leaf, "primals"))
            if found is None and unconnected is UnconnectedGradients.ZERO:
                return primitives.public_function("zeros_like")(leaf)
            return found

        return nesting.map_structure(fetch, primals)


def _known(leaf: Any, argument: str) -> Any:
    """The Tensor or Cell by which `leaf` is known. Raises TypeError for anything else."""
    if isinstance(leaf, Tensor):
        return leaf
    if is_variable(leaf):
        return leaf.__fg_cell__
    raise TypeError(
        f"ForwardAccumulator: `{argument}` should be a Tensor, a Variable or a structure of them, but has {leaf!r} of "
        f"type {type(leaf).__name__} in it."
    )


primitives.register_public(ForwardAccumulator, "autodiff.ForwardAccumulator")
