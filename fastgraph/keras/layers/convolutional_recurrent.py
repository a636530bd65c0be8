"""Recurrent layers whose products are convolutions: ConvLSTM1D, ConvLSTM2D, ConvLSTM3D, with the meaning of Keras 2.

Rule: a cell as those of recurrent_cells.py; only what is a product there is a convolution here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.tensor import Tensor
from fastgraph.keras.activations import ActivationLike
from fastgraph.keras.layers.input_spec import InputSpec
from fastgraph.keras.layers.recurrent import _Recurrent
from fastgraph.keras.layers.recurrent_cells import LSTMCell
from fastgraph.keras.layers.window_arguments import Sizes, layout, padding_of, sizes
from fastgraph.ops import convolutions
from fastgraph.ops.elementwise import cast
from fastgraph.ops.joining import concat, split
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.nn_ops import bias_add


class ConvLSTMCell(LSTMCell):
    """An LSTM's step whose inputs and states are lines, images or volumes of channels. Shi et al. 2015."""

    def __init__(
        self, filters: int, activation: ActivationLike = "tanh", recurrent_activation: ActivationLike = "hard_sigmoid",
        rank: int = 2, kernel_size: Sizes = 1, strides: Sizes = 1, padding: str = "valid", data_format: str | None =
        None, dilation_rate: Sizes = 1, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(filters, activation, recurrent_activation, **kwargs)
        self._take(locals(), more=True)
        self._taken = {name: value for name, value in self._taken.items() if name not in _OF_OTHERS}
        self.implementation = 1  # each gate drops other inputs
        self.kernel_size = sizes(kernel_size, rank, "kernel_size")
        self.strides = sizes(strides, rank, "strides", allow_zero=True)
        self.dilation_rate = sizes(dilation_rate, rank, "dilation_rate")
        self.padding = padding_of(padding)
        self.data_format, self._layout = layout(data_format, rank)
        self.output_size = None  # that of a state

    @property
    def _channels(self) -> int:
        return -1 if self.data_format == "channels_last" else -1 - self.rank

    def build(self, input_shape: ShapeLike) -> None:
        """Make the weights, for inputs f[b, *s, c]. Raises ValueError if their extents or channels are not known."""
        dims: list[Any] = TensorShape(input_shape).as_list()
        channels = dims.pop(self._channels)
        if channels is None or None in dims[1:]:
            raise ValueError(
                f"The channel dimension and the extents of the inputs should be defined, found {input_shape}."
            )
        self.kernel = self._weight("kernel", [*self.kernel_size, channels, 4 * self.units])
        self.recurrent_kernel = self._weight(
            "recurrent_kernel", [*self.kernel_size, self.units, 4 * self.units], "recurrent"
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [4 * self.units], initializer=self._first_bias(), regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )  # fmt: skip
        windows = zip(dims[1:], self.kernel_size, self.strides, self.dilation_rate, strict=True)
        reach = self.padding == "valid"
        after = [-(-(n - (window - 1) * apart * reach) // step) for n, window, step, apart in windows]
        whole = [*after, self.units] if self.data_format == "channels_last" else [self.units, *after]
        self.state_size = [TensorShape(whole)] * 2
        self.built = True

    def project(self, inputs: Any, masks: Sequence[Tensor] | None = None) -> Any:
        """Return the part of all steps that needs no state. f[*t, b, *s, c] -> f[*t, b, *s', 4 filters]."""
        n = inputs.shape.rank - self.rank - 1  # leading axes
        leading = [shape(inputs)[i] if inputs.shape[i] is None else inputs.shape[i] for i in range(n)]
        parts = [self.kernel] if masks is None else split(self.kernel, 4, axis=-1)
        made = []
        for i, kernel in enumerate(parts):
            given = cast(inputs if masks is None else inputs * masks[i], self._dtype)
            merged = reshape(given, [-1, *inputs.shape.as_list()[n:]])
            made.append(
                convolutions.convolution(
                    merged, kernel, self.strides, self.padding.upper(), self._layout, self.dilation_rate
                )
            )
        projected = made[0] if masks is None else concat(made, axis=self._channels)
        if self.bias is not None:
            first = "NC" + "DHW"[3 - self.rank :]
            projected = bias_add(projected, self.bias, None if self.data_format == "channels_last" else first)
        return reshape(projected, [*leading, *projected.shape.as_list()[1:]])

    def step(
        self, projected: Tensor, states: Sequence[Any], masks: Sequence[Tensor] | None = None
    ) -> tuple[Any, list[Any]]:
        """Return the output of a step and the states after it: h, c, f[b, *s', filters]."""
        h, c = states
        parts = [self.recurrent_kernel] if masks is None else split(self.recurrent_kernel, 4, axis=-1)
        made = [
            convolutions.convolution(
                h if masks is None else h * masks[i], kernel, (1,) * self.rank, "SAME", self._layout, (1,) * self.rank
            )
            for i, kernel in enumerate(parts)
        ]
        inner = made[0] if masks is None else concat(made, axis=self._channels)
        i, f, candidate, o = split(projected + inner, 4, axis=self._channels)
        gate = self.recurrent_activation
        c = gate(f) * c + gate(i) * self.activation(candidate)
        h = gate(o) * self.activation(c)
        return h, [h, c]


_OF_OTHERS = ("units", "implementation", "rank")


class _ConvLSTM(_Recurrent):
    CELL, RANK = ConvLSTMCell, 2
    filters: Any = None
    kernel_size: Any = None
    strides: Any = None
    padding: Any = None
    data_format: Any = None
    dilation_rate: Any = None

    def __init__(
        self, filters: int, kernel_size: Sizes, strides: Sizes = 1, padding: str = "valid", data_format: str | None =
        None, dilation_rate: Sizes = 1, activation: ActivationLike = "tanh", recurrent_activation: ActivationLike =
        "hard_sigmoid", **kwargs: Any,
    ) -> None:  # fmt: skip
        window = {
            "rank": self.RANK, "kernel_size": kernel_size, "strides": strides, "padding": padding,
            "data_format": data_format, "dilation_rate": dilation_rate,
        }  # fmt: skip
        super().__init__(filters, activation, recurrent_activation=recurrent_activation, **window, **kwargs)
        self.filters = self.units
        for name in ("kernel_size", "strides", "padding", "data_format", "dilation_rate"):
            setattr(self, name, getattr(self.cell, name))
        self.input_spec = [InputSpec(ndim=self.RANK + 3)]

    def build(self, input_shape: ShapeLike) -> None:
        """Make the weights of the cell, which are called as the layer's."""
        whole = TensorShape(input_shape[0] if isinstance(input_shape, list) else input_shape).as_list()
        if not self.cell.built:
            self.cell.build([whole[0], *whole[2:]])
        super().build(input_shape)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return {name: value for name, value in super().get_config().items() if name != "zero_output_for_mask"}


class ConvLSTM1D(_ConvLSTM):
    """An LSTM over lines. f[b, t, w, c] -> f[b, w', filters], or with `return_sequences` f[b, t, w', filters].

    As ConvLSTM2D. Source: tf.keras.layers.ConvLSTM1D.
    """

    RANK = 1


class ConvLSTM2D(_ConvLSTM):
    """An LSTM over images, whose products are convolutions. f[b, t, h, w, c] -> f[b, h', w', filters].

    Arguments: those of Conv2D for the inputs (states are convolved with "same" padding), of LSTM else; with
    `return_sequences` f[b, t, h', w', filters]. Extents and channels must be known. Source: tf.keras.layers.ConvLSTM2D.
    """


class ConvLSTM3D(_ConvLSTM):
    """An LSTM over volumes. f[b, t, d, h, w, c] -> f[b, d', h', w', filters]. Source: tf.keras.layers.ConvLSTM3D.

    As ConvLSTM2D.
    """

    RANK = 3
