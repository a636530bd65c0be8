"""Cells of recurrent layers: SimpleRNNCell, LSTMCell, GRUCell, with the meaning of Keras 2.

Rule: a cell says what one step makes of inputs and states; `project` is the part of it that needs no state, done for
all steps at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.tensor import Tensor
from fastgraph.keras.activations import ActivationLike
from fastgraph.keras.identifiers import Identifier
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.calls import Training
from fastgraph.ops.creation import ones, zeros
from fastgraph.ops.elementwise import cast, ones_like
from fastgraph.ops.gathering import where
from fastgraph.ops.joining import concat, split, stack, unstack
from fastgraph.ops.matmul import matmul, tensordot
from fastgraph.ops.movement import shape
from fastgraph.ops.random_ops import dropout
from fastgraph.ops.random_states import generators

PARTS = ("kernel", "recurrent", "bias")


@without(
    {
        "tf.nn.dropout in a cell of your own": "get_dropout_mask_for_cell get_recurrent_dropout_mask_for_cell "
        "reset_dropout_mask reset_recurrent_dropout_mask"
    }
)
class Cell(Layer):
    """The base of cells: a kernel, a recurrent kernel and a bias for `GATES` times `units` numbers."""

    GATES = 1
    implementation = 2  # 1: each gate drops other inputs, where they are dropped
    kernel: Any
    recurrent_kernel: Any

    def __init__(
        self, units: int, activation: ActivationLike = "tanh", use_bias: bool = True, kernel_initializer:
        Identifier = "glorot_uniform", recurrent_initializer: Identifier = "orthogonal", bias_initializer:
        Identifier = "zeros", kernel_regularizer: Identifier = None, recurrent_regularizer: Identifier = None,
        bias_regularizer: Identifier = None, kernel_constraint: Identifier = None, recurrent_constraint: Identifier
        = None, bias_constraint: Identifier = None, dropout: float = 0.0, recurrent_dropout: float = 0.0, **kwargs:
        Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._take(locals())
        if units <= 0:
            raise ValueError(
                f"Received an invalid value for argument `units`, expected a positive integer, got {units}."
            )
        self.units = int(units)
        self.dropout = min(1.0, max(0.0, dropout))
        self.recurrent_dropout = min(1.0, max(0.0, recurrent_dropout))
        self.state_size: Any = self.units
        self.output_size: Any = self.units

    def build(self, input_shape: ShapeLike) -> None:
        """Make the weights."""
        n = TensorShape(input_shape)[-1]
        if n is None:
            raise ValueError(
                f"The last dimension of the inputs to {type(self).__name__} should be defined. Found None."
            )
        width = self.GATES * self.units
        self.kernel = self._weight("kernel", [n, width])
        self.recurrent_kernel = self._weight("recurrent_kernel", [self.units, width], "recurrent")
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", self._bias_shape(width), initializer=self._first_bias(), regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )  # fmt: skip
        self.built = True

    def _bias_shape(self, width: int) -> list[int]:
        return [width]

    def _first_bias(self) -> Any:
        return self.bias_initializer

    def masks(self, inputs: Tensor, training: Training | None) -> tuple[Any, Any]:
        """Masks that drop shares of the inputs and of the state: a list each, None for no mask.

        One mask is for all gates, or with `implementation` 1 each has its own. The numbers that are drawn are Keras's,
        which draws for each gate in any case.
        """
        if not self.drawn(training):
            return None, None
        whole: Any = initial_states(nesting.flatten(self.state_size)[0], batch_of(inputs), self._dtype)
        n = self.GATES if self.implementation == 1 else 1
        found = []
        for like, rate in ((inputs, self.dropout), (whole, self.recurrent_dropout)):
            found.append([dropped(like, rate, training) for _ in range(n)] if rate else None)
            generators.skip(self.GATES - n if rate else 0)
        return found[0], found[1]

    def drawn(self, training: Training | None) -> int:
        """Return how many masks Keras draws for a step."""
        rates = self.dropout, self.recurrent_dropout
        return 0 if training is None or training is False else self.GATES * sum(rate > 0 for rate in rates)

    def project(self, inputs: Any, masks: Sequence[Tensor] | None = None) -> Any:
        """Return the part of all steps that needs no state. f[*s, n] -> f[*s, gates * units]."""
        projected = _product(cast(inputs, self._dtype), self.kernel, masks)
        bias = self._input_bias()
        return projected if bias is None else projected + bias

    def _input_bias(self) -> Any:
        return self.bias

    def step(
        self, projected: Tensor, states: Sequence[Any], masks: Sequence[Tensor] | None = None
    ) -> tuple[Any, list[Any]]:
        """Return the output of a step and the states after it. projected: f[b, gates * units]. masks: of the state."""
        raise NotImplementedError

    def call(
        self,
        inputs: Tensor,
        states: Tensor | Sequence[Tensor],
        training: Training | None = None,
        masks: tuple[Any, Any] | None = None,
    ) -> Any:
        """Return (output, states) of one step. f[b, n], [f[b, units], ...]. masks: those of all steps."""
        alone = not isinstance(states, (list, tuple))
        of_inputs, of_state = self.masks(inputs, training) if masks is None else masks
        output, after = self.step(self.project(inputs, of_inputs), [states] if alone else list(states), of_state)
        return output, after[0] if alone else after

    def get_initial_state(
        self, inputs: Tensor | None = None, batch_size: int | Tensor | None = None, dtype: DTypeLike | None = None
    ) -> Any:
        """Return states of zeros: for as many rows as the inputs have, or batch_size."""
        rows = batch_size if inputs is None else batch_of(inputs)
        return initial_states(self.state_size, rows, dtype or self._dtype)


class SimpleRNNCell(Cell):
    """activation(x @ kernel + h @ recurrent_kernel + bias). Source: tf.keras.layers.SimpleRNNCell."""

    def step(
        self, projected: Tensor, states: Sequence[Any], masks: Sequence[Tensor] | None = None
    ) -> tuple[Any, list[Any]]:
        """Return the output of a step and the states after it."""
        output = self.activation(projected + _product(states[0], self.recurrent_kernel, masks))
        return output, [output]


class LSTMCell(Cell):
    """Long short-term memory: gates i, f, o, a candidate c~; c = f c + i c~; h = o activation(c). States: h, c.

    Weights are in the order i, f, c~, o; unit_forget_bias: the bias of f begins as 1. Source: tf.keras.layers.LSTMCell;
    Hochreiter and Schmidhuber 1997.
    """

    GATES = 4

    def __init__(
        self, units: int, activation: ActivationLike = "tanh", recurrent_activation: ActivationLike = "sigmoid",
        use_bias: bool = True, unit_forget_bias: bool = True, implementation: int = 2, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(units, activation, use_bias, **kwargs)
        implementation = 1 if self.recurrent_dropout else implementation
        self._take(locals(), more=True)
        self.state_size = [self.units, self.units]

    def _first_bias(self) -> Any:
        if not self.unit_forget_bias:
            return self.bias_initializer
        n = self.units

        def first(dims: Sequence[int], dtype: DTypeLike | None = None, **kwargs: Any) -> Any:
            other = self.bias_initializer
            return concat([other([n], dtype=dtype), ones([n], dtype), other([2 * n], dtype=dtype)], axis=0)

        return first

    def step(
        self, projected: Tensor, states: Sequence[Any], masks: Sequence[Tensor] | None = None
    ) -> tuple[Any, list[Any]]:
        """Return the output of a step and the states after it."""
        h, c = states
        i, f, candidate, o = split(projected + _product(h, self.recurrent_kernel, masks), 4, axis=1)
        gate = self.recurrent_activation
        c = gate(f) * c + gate(i) * self.activation(candidate)
        h = gate(o) * self.activation(c)
        return h, [h, c]


class GRUCell(Cell):
    """Gated recurrent unit: gates z, r, a candidate h~; h = z h + (1 - z) h~.

    Weights are in the order z, r, h~. reset_after: r multiplies the product with the recurrent kernel, not the state
    before it, and there is a second bias. Source: tf.keras.layers.GRUCell; Cho et al. 2014.
    """

    GATES = 3

    def __init__(
        self, units: int, activation: ActivationLike = "tanh", recurrent_activation: ActivationLike = "sigmoid",
        use_bias: bool = True, reset_after: bool = True, implementation: int = 2, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(units, activation, use_bias, **kwargs)
        implementation = 1 if self.recurrent_dropout else implementation
        self._take(locals(), more=True)

    def _bias_shape(self, width: int) -> list[int]:
        return [2, width] if self.reset_after else [width]

    def _input_bias(self) -> Any:
        return self.bias if self.bias is None or not self.reset_after else unstack(self.bias)[0]

    def step(
        self, projected: Tensor, states: Sequence[Any], masks: Sequence[Tensor] | None = None
    ) -> tuple[Any, list[Any]]:
        """Return the output of a step and the states after it."""
        h, n = states[0], self.units
        gate = self.recurrent_activation
        if self.reset_after:
            inner = _product(h, self.recurrent_kernel, masks)
            if self.bias is not None:
                inner = inner + unstack(self.bias)[1]
            (xz, xr, xh), (hz, hr, hh) = split(projected, 3, axis=1), split(inner, 3, axis=1)
            z = gate(xz + hz)
            candidate = self.activation(xh + gate(xr + hr) * hh)
        else:
            xzr, xh = split(projected, [2 * n, n], axis=1)
            zr_kernel, h_kernel = split(self.recurrent_kernel, [2 * n, n], axis=1)
            z, r = split(gate(xzr + _product(h, zr_kernel, masks and masks[:2])), 2, axis=1)
            candidate = self.activation(xh + _product(r * h, h_kernel, masks and masks[2:]))
        h = z * h + (1 - z) * candidate
        return h, [h]


def _product(value: Tensor, kernel: Tensor, masks: Sequence[Tensor] | None) -> Any:
    """value @ kernel, some of the value dropped: by one mask, or by one for each of as many parts of the kernel."""
    if masks is not None and len(masks) > 1:
        parts = split(kernel, len(masks), axis=1)
        return concat([_product(value, part, [mask]) for part, mask in zip(parts, masks, strict=True)], axis=-1)
    value = value if masks is None else value * masks[0]
    rank = value.shape.rank or 0
    return matmul(value, kernel) if rank == 2 else tensordot(value, kernel, [[rank - 1], [0]])


def batch_of(inputs: Tensor) -> Any:
    """Return how many rows there are: a number, or a tensor where that is not known yet."""
    return inputs.shape[0] if inputs.shape[0] is not None else shape(inputs)[0]


def initial_states(sizes: Any, rows: int | Tensor | None, dtype: DTypeLike) -> Any:
    """Return zeros for states of these sizes: f[rows, size] each."""
    if isinstance(sizes, (list, tuple)):
        return [initial_states(size, rows, dtype) for size in sizes]
    dims = [rows, *TensorShape([sizes] if isinstance(sizes, int) else sizes).as_list()]
    return zeros(dims if isinstance(rows, int) else stack(dims), dtype)


def dropped(value: Tensor, rate: float, training: Training = True) -> Any:
    """Return a mask for `value` that drops a share `rate` and scales the rest; of 1 unless `training`."""
    whole = ones_like(value)
    scale = dropout(whole, rate=rate)
    return where(cast(training, "bool"), scale, whole) if isinstance(training, Tensor) else scale
