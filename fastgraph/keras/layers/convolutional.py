"""Convolutions as layers: of one axis, two or three; transposed, depthwise, separable.

Rule: one class holds what they share; what differs is the shape of the weights and the op that `convolve` calls.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.tensor import Tensor
from fastgraph.keras.activations import ActivationLike
from fastgraph.keras.identifiers import Identifier
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.input_spec import InputSpec
from fastgraph.keras.layers.window_arguments import Sizes, layout, padding_of, sizes
from fastgraph.ops import convolutions
from fastgraph.ops.joining import stack
from fastgraph.ops.movement import expand_dims, shape, squeeze
from fastgraph.ops.nn_ops import bias_add
from fastgraph.ops.padding import pad


@without({"tf.nn.convolution in a `call` of your own": "convolution_op"})
class _Convolution(Layer):
    RANK = 2
    KERNELS: tuple[str, ...] = ("kernel",)  # names of the weights before the bias

    def __init__(
        self, filters: int | None, kernel_size: Sizes, strides: Sizes = 1, padding: str = "valid", data_format: str
        | None = None, dilation_rate: Sizes = 1, groups: int = 1, activation: ActivationLike = None, use_bias: bool
        = True, kernel_initializer: Identifier = "glorot_uniform", bias_initializer: Identifier = "zeros",
        kernel_regularizer: Identifier = None, bias_regularizer: Identifier = None, activity_regularizer:
        Identifier = None, kernel_constraint: Identifier = None, bias_constraint: Identifier = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._take(locals())
        self.rank = self.RANK
        self.filters = None if filters is None else int(filters)
        if self.filters is not None and self.filters <= 0:
            raise ValueError(
                f"Invalid value for argument `filters`. Expected a strictly positive value. Received filters={filters}."
            )
        self.groups = groups or 1
        if self.filters is not None and self.filters % self.groups:
            raise ValueError(
                "The number of filters must be evenly divisible by the number of groups. Received: "
                f"groups={self.groups}, filters={self.filters}"
            )
        self.kernel_size = sizes(kernel_size, self.rank, "kernel_size")
        self.strides = sizes(strides, self.rank, "strides", allow_zero=True)
        self.dilation_rate = sizes(dilation_rate, self.rank, "dilation_rate")
        if 0 in self.strides:
            raise ValueError(f"The argument `strides` cannot contains 0(s). Received: {self.strides}")
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
                f"strides={self.strides} and dilation_rate={self.dilation_rate}"
            )
        self.padding = padding_of(padding, causal=self.rank == 1 and not isinstance(self, DepthwiseConv2D))
        self.data_format, self._layout = layout(data_format, self.rank)
        self.input_spec = self._spec(None)

    def _spec(self, channels: int | None) -> InputSpec:
        return InputSpec(min_ndim=self.rank + 2, axes={} if channels is None else {self._channel_axis: channels})

    @property
    def _channel_axis(self) -> int:
        return -1 if self.data_format == "channels_last" else -1 - self.rank

    def build(self, input_shape: ShapeLike) -> None:
        """Make the kernel and the bias."""
        dims = TensorShape(input_shape)
        channels = dims[self._channel_axis] if dims.rank else None
        if channels is None:
            raise ValueError(
                f"The channel dimension of the inputs should be defined. The input_shape received is {input_shape}, "
                f"where axis {self._channel_axis} (0-based) is the channel dimension, which found to be `None`."
            )
        if channels % self.groups:
            raise ValueError(
                "The number of input channels must be evenly divisible by the number of groups. Received groups="
                f"{self.groups}, but the input has {channels} channels (full input shape is {input_shape})."
            )
        self._check_extents(dims)
        self._make_kernels(channels)
        self.bias = self._weight("bias", [self._n_outputs(channels)]) if self.use_bias else None
        self.input_spec = self._spec(channels)
        self.built = True

    def _check_extents(self, dims: TensorShape) -> None:
        """Raise ValueError if the window is larger than the inputs."""
        first = self._channel_axis - self.rank if self.data_format == "channels_last" else -self.rank
        for axis, (window, dilation) in enumerate(zip(self.kernel_size, self.dilation_rate, strict=True)):
            n = dims[first + axis]
            if self.padding == "valid" and n is not None and n < (window - 1) * dilation + 1:
                raise ValueError(
                    f"One of the dimensions in the output is <= 0 due to downsampling in {self.name}. Consider "
                    f"increasing the input size. Received input shape {dims.as_list()} which would produce output "
                    "shape with a zero or negative value in a dimension."
                )

    def _n_outputs(self, channels: int) -> int:
        assert self.filters is not None
        return self.filters

    def _make_kernels(self, channels: int) -> None:
        self.kernel = self._weight("kernel", [*self.kernel_size, channels // self.groups, self.filters])

    def call(self, inputs: Tensor) -> Any:
        """Return the layer's output."""
        outputs = self.convolve(inputs)
        if self.bias is not None:
            first = "NC" + "DHW"[3 - self.rank :]
            outputs = bias_add(outputs, self.bias, None if self.data_format == "channels_last" else first)
        return self.activation(outputs)

    def convolve(self, inputs: Tensor) -> Any:
        """Return the convolution of the inputs, without bias and activation."""
        padding = self.padding
        if padding == "causal":
            inputs, padding = self._padded_before(inputs), "valid"
        return convolutions.convolution(
            inputs, self.kernel, self.strides, padding.upper(), self._layout, self.dilation_rate
        )

    def _in_plane(self, op: Any, inputs: Any, padding: str, *kernels: Any) -> Any:
        """An op of images on what the layer is given: a line is an image of one row."""
        strides, dilation, last = self.strides, self.dilation_rate, self.data_format == "channels_last"
        if self.rank == 1:
            inputs = expand_dims(inputs, 1 if last else 2)
            kernels = tuple(expand_dims(kernel, 0) for kernel in kernels)
            strides, dilation = strides * 2, (1, *dilation)
        ends = [1, *strides, 1] if last else [1, 1, *strides]
        outputs = op(inputs, *kernels, ends, padding.upper(), "NHWC" if last else "NCHW", dilation)
        return squeeze(outputs, [1 if last else 2]) if self.rank == 1 else outputs

    def _padded_before(self, inputs: Any) -> Any:
        """The inputs with zeros before the first step, so that no output depends on a later input."""
        n = self.dilation_rate[0] * (self.kernel_size[0] - 1)
        amounts = [[0, 0]] * inputs.shape.rank
        amounts[-2 if self.data_format == "channels_last" else -1] = [n, 0]
        return pad(inputs, amounts)


class Conv1D(_Convolution):
    """activation(convolution + bias) along one axis. f[n, w, c] -> f[n, w', filters]. Source: tf.keras.layers.Conv1D.

    Weights: kernel [window, c / groups, filters], bias [filters]. padding: "valid", "same", or "causal".
    """

    RANK = 1


class Conv2D(_Convolution):
    """activation(convolution + bias) over images. f[n, h, w, c] -> f[n, h', w', filters].

    Weights: kernel [*window, c / groups, filters], bias [filters]. Source: tf.keras.layers.Conv2D.

    Args:
        filters: How many channels come out of it.
        kernel_size: The window's extents, an int or two.
        strides: How far the window moves, an int or two.
        padding: "valid": windows inside the image only; "same": zeros around it, so that h' = h / stride, rounded up.
        data_format: "channels_last" (None) or "channels_first": f[n, c, h, w].
        dilation_rate: How far apart the elements of a window are, an int or two; not together with strides.
        groups: In how many parts of its channels an image is convolved by itself.
        activation: A function of a tensor, or the name of one in `tf.keras.activations`; None: linear.
        use_bias: Whether there is a bias.
        kernel_initializer, bias_initializer: What the weights begin with: an initializer or its name.
        kernel_regularizer, bias_regularizer: What a weight adds to `losses`.
        activity_regularizer: What the result adds to `losses`.
        kernel_constraint, bias_constraint: Functions that optimizers apply to a weight they have changed.
        kwargs: What `tf.keras.layers.Layer` takes: name, dtype, trainable, input_shape.

    Raises:
        ValueError: Inputs are of another rank or number of channels than the layer was built for.

    Examples:
        >>> images = tf.ones([8, 28, 28, 3])
        >>> tf.keras.layers.Conv2D(16, 3)(images).shape
        TensorShape([8, 26, 26, 16])
        >>> layer = tf.keras.layers.Conv2D(16, 3, strides=2, padding="same")
        >>> layer(images).shape, layer.kernel.shape
        (TensorShape([8, 14, 14, 16]), TensorShape([3, 3, 3, 16]))
    """


class Conv3D(_Convolution):
    """activation(convolution + bias) over volumes. f[n, d, h, w, c] -> f[n, d', h', w', filters].

    Weights: kernel [*window, c / groups, filters], bias [filters]. Source: tf.keras.layers.Conv3D.
    """

    RANK = 3


class _Transposed(_Convolution):
    """The base of convolutions' gradients as layers: they make their inputs larger."""

    def __init__(
        self, filters: int, kernel_size: Sizes, strides: Sizes = 1, padding: str = "valid", output_padding: Sizes |
        None = None, data_format: str | None = None, dilation_rate: Sizes = 1, activation: ActivationLike = None,
        use_bias: bool = True, kernel_initializer: Identifier = "glorot_uniform", bias_initializer: Identifier =
        "zeros", kernel_regularizer: Identifier = None, bias_regularizer: Identifier = None, activity_regularizer:
        Identifier = None, kernel_constraint: Identifier = None, bias_constraint: Identifier = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation=activation,
            use_bias=use_bias, kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint, **kwargs,
        )  # fmt: skip
        self.output_padding = (
            None if output_padding is None else sizes(output_padding, self.rank, "output_padding", True)
        )
        for stride, extra in zip(self.strides, self.output_padding or (), strict=False):
            if stride <= extra:
                raise ValueError(
                    "Strides must be greater than output padding. Received strides="
                    f"{self.strides}, output_padding={self.output_padding}."
                )

    def _check_extents(self, dims: TensorShape) -> None:
        """Any length will do."""

    def _make_kernels(self, channels: int) -> None:
        self.kernel = self._weight("kernel", [*self.kernel_size, self.filters, channels])

    def convolve(self, inputs: Tensor) -> Any:
        """Return the transposed convolution of the inputs."""
        known, now = inputs.shape.as_list(), shape(inputs)
        dims = [now[i] if n is None else n for i, n in enumerate(known)]
        first = 1 if self.data_format == "channels_last" else 2
        for axis in range(self.rank):
            dims[first + axis] = self._extent(dims[first + axis], axis)
        dims[self._channel_axis] = self.filters
        whole = dims if all(isinstance(n, int) for n in dims) else stack(dims)
        transposed = getattr(convolutions, f"conv{self.rank}d_transpose")
        outputs = transposed(
            inputs, self.kernel, whole, self.strides, self.padding.upper(), self._layout, self.dilation_rate
        )
        if whole is not dims:  # what is known of the shape is not seen in the stacked one
            outputs.set_shape([n if isinstance(n, int) else None for n in dims])
        return outputs

    def _extent(self, n: int | Tensor, axis: int) -> Any:
        window = (self.kernel_size[axis] - 1) * self.dilation_rate[axis] + 1
        stride = self.strides[axis]
        if self.output_padding is not None:
            before = 0 if self.padding == "valid" else window // 2
            return (n - 1) * stride + window - 2 * before + self.output_padding[axis]
        return n * stride + (max(window - stride, 0) if self.padding == "valid" else 0)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return {**super().get_config(), "output_padding": self.output_padding}


class Conv1DTranspose(_Transposed):
    """The gradient of Conv1D as a layer. f[n, w, c] -> f[n, w', filters]. Source: tf.keras.layers.Conv1DTranspose.

    Weights: kernel [window, filters, c], bias [filters].
    """

    RANK = 1


class Conv2DTranspose(_Transposed):
    """The gradient of a convolution as a layer: it makes images larger. f[n, h, w, c] -> f[n, h', w', filters].

    Weights: kernel [*window, filters, c], bias [filters]. Source: tf.keras.layers.Conv2DTranspose.
    """


class Conv3DTranspose(_Transposed):
    """The gradient of Conv3D as a layer. f[n, d, h, w, c] -> f[n, d', h', w', filters]. Source: tf.keras.layers.

    Weights: kernel [*window, filters, c], bias [filters].
    """

    RANK = 3


class DepthwiseConv2D(_Convolution):
    """Each channel convolved with filters of its own. f[n, h, w, c] -> f[n, h', w', c * depth_multiplier].

    Weights: depthwise_kernel [*window, c, depth_multiplier], bias. Source: tf.keras.layers.DepthwiseConv2D.
    """

    def __init__(
        self, kernel_size: Sizes, strides: Sizes = 1, padding: str = "valid", depth_multiplier: int = 1,
        data_format: str | None = None, dilation_rate: Sizes = 1, activation: ActivationLike = None, use_bias: bool
        = True, depthwise_initializer: Identifier = "glorot_uniform", bias_initializer: Identifier = "zeros",
        depthwise_regularizer: Identifier = None, bias_regularizer: Identifier = None, activity_regularizer:
        Identifier = None, depthwise_constraint: Identifier = None, bias_constraint: Identifier = None, **kwargs:
        Any,
    ) -> None:  # fmt: skip
        super().__init__(
            None, kernel_size, strides, padding, data_format, dilation_rate, 1, activation, use_bias,
            depthwise_initializer, bias_initializer, depthwise_regularizer, bias_regularizer, activity_regularizer,
            depthwise_constraint, bias_constraint, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier

    def _n_outputs(self, channels: int) -> int:
        return channels * self.depth_multiplier

    def _make_kernels(self, channels: int) -> None:
        shape = [*self.kernel_size, channels, self.depth_multiplier]
        self.depthwise_kernel = self._weight("depthwise_kernel", shape, "kernel")

    def convolve(self, inputs: Tensor) -> Any:
        """Return the convolution of each channel."""
        return self._in_plane(convolutions.depthwise_conv2d, inputs, self.padding, self.depthwise_kernel)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        config = _of_depthwise(super().get_config())
        del config["filters"]
        return {**config, "depth_multiplier": self.depth_multiplier}


class SeparableConv2D(_Convolution):
    """A depthwise convolution, then one with a window of 1x1. f[n, h, w, c] -> f[n, h', w', filters].

    Weights: depthwise_kernel [*window, c, depth_multiplier], pointwise_kernel [1, 1, c * depth_multiplier, filters],
    bias [filters]. Source: tf.keras.layers.SeparableConv2D.
    """

    def __init__(
        self, filters: int, kernel_size: Sizes, strides: Sizes = 1, padding: str = "valid", data_format: str | None
        = None, dilation_rate: Sizes = 1, depth_multiplier: int = 1, activation: ActivationLike = None, use_bias:
        bool = True, depthwise_initializer: Identifier = "glorot_uniform", pointwise_initializer: Identifier =
        "glorot_uniform", bias_initializer: Identifier = "zeros", depthwise_regularizer: Identifier = None,
        pointwise_regularizer: Identifier = None, bias_regularizer: Identifier = None, activity_regularizer:
        Identifier = None, depthwise_constraint: Identifier = None, pointwise_constraint: Identifier = None,
        bias_constraint: Identifier = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, 1, activation, use_bias,
            depthwise_initializer, bias_initializer, depthwise_regularizer, bias_regularizer, activity_regularizer,
            depthwise_constraint, bias_constraint, **kwargs,
        )  # fmt: skip
        own = {"initializer": pointwise_initializer, "regularizer": pointwise_regularizer}
        own = {f"pointwise_{part}": given for part, given in {**own, "constraint": pointwise_constraint}.items()}
        self._take({"depth_multiplier": depth_multiplier, **own}, more=True)

    def _make_kernels(self, channels: int) -> None:
        shape = [*self.kernel_size, channels, self.depth_multiplier]
        self.depthwise_kernel = self._weight("depthwise_kernel", shape, "kernel")
        wide = channels * self.depth_multiplier
        self.pointwise_kernel = self._weight("pointwise_kernel", [*[1] * self.rank, wide, self.filters], "pointwise")

    def convolve(self, inputs: Tensor) -> Any:
        """Return the two convolutions of the inputs."""
        padding = self.padding
        if padding == "causal":
            inputs, padding = self._padded_before(inputs), "valid"
        kernels = self.depthwise_kernel, self.pointwise_kernel
        return self._in_plane(convolutions.separable_conv2d, inputs, padding, *kernels)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return _of_depthwise(super().get_config())


def _of_depthwise(config: dict[str, Any]) -> dict[str, Any]:
    """A convolution's config for a layer whose kernel is called depthwise, and which has no groups."""
    names = {f"kernel_{part}": f"depthwise_{part}" for part in ("initializer", "regularizer", "constraint")}
    return {names.get(name, name): value for name, value in config.items() if name != "groups"}


class DepthwiseConv1D(DepthwiseConv2D):
    """Each channel convolved with filters of its own along one axis. f[n, w, c] -> f[n, w', c * depth_multiplier].

    Weights: depthwise_kernel [window, c, depth_multiplier], bias. Source: tf.keras.layers.DepthwiseConv1D.
    """

    RANK = 1


class SeparableConv1D(SeparableConv2D):
    """A depthwise convolution along one axis, then one with a window of 1. f[n, w, c] -> f[n, w', filters].

    Weights: depthwise_kernel [window, c, depth_multiplier], pointwise_kernel [1, c * depth_multiplier, filters], bias.
    Source: tf.keras.layers.SeparableConv1D.
    """

    RANK = 1
