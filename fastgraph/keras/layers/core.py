"""Layers that every network has: Dense, Embedding, Flatten, Reshape, activations, Dropout, InputLayer.

Rule: constructors check what they are given, `build` makes the weights, `call` is a few public ops.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.registry import Primitive, get
from fastgraph.core.tensor import Tensor, bind
from fastgraph.errors import NotBuiltError
from fastgraph.graph.control_flow import cond
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.keras import activations, backend
from fastgraph.keras.activations import ActivationLike
from fastgraph.keras.identifiers import Identifier, get_registered_object
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.calls import Training, shapes_of
from fastgraph.keras.layers.input_spec import InputSpec
from fastgraph.keras.layers.symbolic import OPERATION, InputTensor, Node, attach, connect, symbolic
from fastgraph.ops.comparison import not_equal
from fastgraph.ops.elementwise import cast, identity
from fastgraph.ops.exponentials import exp
from fastgraph.ops.joining import concat
from fastgraph.ops.matmul import matmul, tensordot
from fastgraph.ops.movement import reshape, shape, transpose
from fastgraph.ops.nn_ops import bias_add, embedding_lookup
from fastgraph.ops.random_ops import dropout
from fastgraph.ops.reduction import reduce_any, reduce_logsumexp


class Dense(Layer):
    """activation(x @ kernel + bias). f[*s, n] -> f[*s, units]. Source: tf.keras.layers.Dense.

    Weights: kernel [n, units], bias [units].

    Args:
        units: How many numbers come out of it, at least 1.
        activation: A function of a tensor, or the name of one in `tf.keras.activations`; None: linear.
        use_bias: Whether there is a bias.
        kernel_initializer, bias_initializer: What the weights begin with: an initializer or its name.
        kernel_regularizer, bias_regularizer: What a weight adds to `losses`.
        activity_regularizer: What the result adds to `losses`.
        kernel_constraint, bias_constraint: Functions that optimizers apply to a weight they have changed.
        kwargs: What `tf.keras.layers.Layer` takes: name, dtype, trainable, input_shape.

    Raises:
        ValueError: units < 1, or the last extent of the inputs is unknown or not what the layer was built for.

    Examples:
        >>> layer = tf.keras.layers.Dense(2, activation="relu", kernel_initializer="ones")
        >>> layer(tf.constant([[1.0, 2.0, 3.0], [-4.0, 0.0, 0.0]]))
        <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
        array([[6., 6.],
               [0., 0.]], dtype=float32)>
        >>> [weight.shape for weight in layer.weights]
        [TensorShape([3, 2]), TensorShape([2])]
    """

    def __init__(
        self, units: int, activation: ActivationLike = None, use_bias: bool = True, kernel_initializer: Identifier
        = "glorot_uniform", bias_initializer: Identifier = "zeros", kernel_regularizer: Identifier = None,
        bias_regularizer: Identifier = None, activity_regularizer: Identifier = None, kernel_constraint: Identifier
        = None, bias_constraint: Identifier = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._take(locals())
        self.units = int(units)
        if self.units <= 0:
            raise ValueError(
                f"Received an invalid value for `units`, expected a positive integer. Received: units={units}"
            )
        self.input_spec = InputSpec(min_ndim=2)
        self.supports_masking = True

    def build(self, input_shape: ShapeLike) -> None:
        """Make the kernel and the bias."""
        if not self._dtype.is_floating:
            raise TypeError(f"A Dense layer can only be built with a floating-point dtype. Received: {self.dtype}")
        dims = TensorShape(input_shape)
        n = dims[-1] if dims.rank else None
        if n is None:
            raise ValueError(
                "The last dimension of the inputs to a Dense layer should be defined. Found None. Full input shape "
                f"received: {input_shape}"
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: n})
        self.kernel = self._weight("kernel", [n, self.units])
        self.bias = self._weight("bias", [self.units]) if self.use_bias else None
        self.built = True

    def call(self, inputs: Tensor) -> Any:
        """Return the layer's output."""
        x: Any = inputs if inputs.dtype is self._dtype else cast(inputs, self._dtype)
        outputs = matmul(x, self.kernel) if x.shape.rank == 2 else tensordot(x, self.kernel, [[x.shape.rank - 1], [0]])
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias)
        return self.activation(outputs)


class Embedding(Layer):
    """The rows of a table that the inputs name. i[*s] -> f[*s, output_dim]. Source: tf.keras.layers.Embedding.

    Weight: embeddings [input_dim, output_dim]. mask_zero: zeros in the inputs are steps that are none, and
    left out by layers after it. Raises InvalidArgumentError for a number that is no row.
    """

    def __init__(
        self, input_dim: int, output_dim: int, embeddings_initializer: Identifier = "uniform",
        embeddings_regularizer: Identifier = None, activity_regularizer: Identifier = None, embeddings_constraint:
        Identifier = None, mask_zero: bool = False, input_length: int | None = None, sparse: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if "input_shape" not in kwargs and input_length:
            kwargs["input_shape"] = (input_length,)
        if input_dim <= 0 or output_dim <= 0:
            raise ValueError(
                "Both `input_dim` and `output_dim` should be positive, Received input_dim = "
                f"{input_dim} and output_dim = {output_dim}"
            )
        super().__init__(activity_regularizer=activity_regularizer, autocast=False, **kwargs)
        self._take(locals())
        self.supports_masking = bool(mask_zero)
        if mask_zero:
            Layer._any_masks = True

    def build(self, input_shape: ShapeLike = None) -> None:
        """Make the table."""
        self.embeddings = self._weight("embeddings", [self.input_dim, self.output_dim])
        self.built = True

    def call(self, inputs: Tensor) -> Any:
        """Return the rows."""
        rows = inputs if inputs.dtype.name in ("int32", "int64") else cast(inputs, "int32")
        return embedding_lookup(self.embeddings, rows)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Return where the inputs are not 0, with `mask_zero`. b[*s]."""
        return not_equal(inputs, cast(0, inputs.dtype)) if self.mask_zero else None


class Masking(Layer):
    """Steps whose features are all `mask_value` are none: 0, and left out by layers after it. f[n, t, *s] -> the same.

    Source: tf.keras.layers.Masking.
    """

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take(locals())
        self.supports_masking = True
        Layer._any_masks = True

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Return which steps have another value. b[n, t]."""
        return reduce_any(not_equal(inputs, cast(self.mask_value, inputs.dtype)), axis=-1)

    def call(self, inputs: Tensor) -> Any:
        """Return the inputs, 0 in the steps that are none."""
        steps = reduce_any(not_equal(inputs, cast(self.mask_value, inputs.dtype)), axis=-1, keepdims=True)
        return inputs * cast(steps, inputs.dtype)


class Flatten(Layer):
    """All axes after the first as one. f[n, *s] -> f[n, m], f[n] -> f[n, 1]. Source: tf.keras.layers.Flatten.

    Args:
        data_format: "channels_last" (None); "channels_first": the channels, axis 1, change fastest.
        kwargs: What `tf.keras.layers.Layer` takes: name, dtype, trainable, input_shape.

    Examples:
        >>> tf.keras.layers.Flatten()(tf.zeros([8, 28, 28])).shape
        TensorShape([8, 784])
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take(locals())
        self.data_format = checked_data_format(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Tensor) -> Any:
        """Return the inputs with two axes."""
        dims = inputs.shape
        if self.data_format == "channels_first" and dims.rank is not None and dims.rank > 1:
            inputs = transpose(inputs, [0, *range(2, dims.rank), 1])
            dims = inputs.shape
        inner = dims.as_list()[1:]
        if None not in inner:
            return reshape(inputs, [-1 if dims[0] is None or 0 in inner else dims[0], math.prod(inner)])
        if dims[0] is not None:
            return reshape(inputs, [dims[0], -1])
        return reshape(inputs, concat([shape(inputs)[:1], [-1]], axis=0))


class Reshape(Layer):
    """The inputs with the axes after the first as `target_shape`; one of its lengths may be -1.

    f[n, *s] -> f[n, *target_shape]. Source: tf.keras.layers.Reshape.
    """

    def __init__(self, target_shape: Sequence[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take(locals())
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Tensor) -> Any:
        """Return the inputs in their new shape."""
        dims: list[Any] = inputs.shape.as_list()
        target = list(self.target_shape)
        if -1 in target and None not in dims[1:]:
            known = -math.prod(target)
            whole = math.prod(dims[1:])
            if known and whole % known == 0:
                target[target.index(-1)] = whole // known
        if dims[0] is not None:
            return reshape(inputs, [dims[0], *target])
        if None not in dims[1:] and (-1 in target or math.prod(target) != math.prod(dims[1:])):
            raise ValueError(
                f"total size of new array must be unchanged, input_shape = {dims[1:]}, output_shape = {target}"
            )
        if -1 not in target:
            return reshape(inputs, [-1, *target])
        return reshape(inputs, concat([shape(inputs)[:1], target], axis=0))


class Activation(Layer):
    """A function of each element, by name or as it is. f[*s] -> f[*s]. Source: tf.keras.layers.Activation."""

    def __init__(self, activation: ActivationLike, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take(locals())
        self.supports_masking = True

    def call(self, inputs: Tensor) -> Any:
        """Return the function of the inputs."""
        return self.activation(inputs)


class ReLU(Layer):
    """max(x, 0), or with the bounds and slope of tf.keras.activations.relu. f[*s] -> f[*s].

    Raises ValueError for negative arguments. Source: tf.keras.layers.ReLU.
    """

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0.0, threshold: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._take(locals())
        for name, value in (("max_value", max_value), ("negative_slope", negative_slope), ("threshold", threshold)):
            if (value is None and name != "max_value") or (value is not None and value < 0):
                raise ValueError(f"{name} of a ReLU layer cannot be a negative value. Received: {value}")
        self.supports_masking = True

    def call(self, inputs: Tensor) -> Any:
        """Return the rectified inputs."""
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class LeakyReLU(Layer):
    """x where it is positive, alpha * x elsewhere. f[*s] -> f[*s]. Source: tf.keras.layers.LeakyReLU."""

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take(locals())
        if alpha is None:
            raise ValueError(
                f"The alpha value of a Leaky ReLU layer cannot be None, Expecting a float. Received: {alpha}"
            )
        self.supports_masking = True
        self.alpha = float(alpha)

    def call(self, inputs: Tensor) -> Any:
        """Return the rectified inputs."""
        return activations.relu(inputs, self.alpha)


class Softmax(Layer):
    """Probabilities along `axis`, or over the places of several axes together. f[*s] -> f[*s].

    Source: tf.keras.layers.Softmax.
    """

    def __init__(self, axis: int | Sequence[int] = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take(locals())
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Return the probabilities; 0 where the mask, which broadcasts to the inputs, says that there is nothing."""
        if mask is not None:
            inputs = inputs + (1.0 - cast(mask, inputs.dtype)) * inputs.dtype.min
        if isinstance(self.axis, int):
            return activations.softmax(inputs, axis=self.axis)
        if len(self.axis) == 1:
            return activations.softmax(inputs, axis=self.axis[0])
        return exp(inputs - reduce_logsumexp(inputs, axis=self.axis, keepdims=True))


class Dropout(Layer):
    """Inputs of which in training a share `rate` is 0 and the rest grows by 1 / (1 - rate). f[*s] -> f[*s].

    `noise_shape`, which broadcasts to the inputs', says which fall together. Raises ValueError for a rate outside
    [0, 1]. Source: tf.keras.layers.Dropout; Srivastava et al. 2014.
    """

    def __init__(
        self, rate: float, noise_shape: Sequence[int | None] | None = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._take(locals())
        if isinstance(rate, (int, float)) and not 0 <= rate <= 1:
            raise ValueError(f"Invalid value {rate} received for `rate`, expected a value between 0 and 1.")
        self.supports_masking = True

    def call(self, inputs: Tensor, training: Training | None = None) -> Any:
        """Return the inputs, some of them dropped if `training`, which may be a bool tensor."""
        if isinstance(training, SymbolicTensor):
            return cond(cast(training, "bool"), lambda: self._dropped(inputs), lambda: identity(inputs))
        return self._dropped(inputs) if training else inputs

    def _noise_shape(self) -> Any:
        return self.noise_shape

    def _dropped(self, inputs: Tensor) -> Any:
        if self.rate == 1:
            return inputs * cast(0, inputs.dtype)
        noise = self._noise_shape()
        if noise is not None:
            own = shape(inputs)
            noise = [own[i] if n is None else n for i, n in enumerate(noise)]
        return dropout(inputs, rate=self.rate, noise_shape=noise, seed=backend.op_seed(self))


class Lambda(Layer):
    """A function of the inputs, as a layer. Variables that it uses are not trained. Source: tf.keras.layers.Lambda.

    `function` takes the inputs, then `arguments` by name, and `mask` and `training` if it has such parameters.
    """

    def __init__(
        self, function: Callable[..., Any], output_shape: Any = None, mask: Any = None, arguments: dict[str, Any] |
        None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        if isinstance(function, Mapping) and function.get("class_name") == "function":  # of a config in a file
            name = str(function["config"])
            found = get_registered_object(name)
            if found is None:
                raise ValueError(
                    f"The file has the name of the function of Lambda layer {self.name!r}, {name!r}, and no code of "
                    f"it: give it as load_model(..., custom_objects={{{name!r}: function}})."
                )
            function = found
        self.arguments = dict(arguments or {})
        self.function = function
        self._output_shape, self._mask = output_shape, mask
        self._takes = set(inspect.signature(function).parameters)
        self.supports_masking = mask is not None

    def call(self, inputs: Tensor, mask: Tensor | None = None, training: Training | None = None) -> Any:
        """Return the function of the inputs."""
        given = {name: value for name, value in (("mask", mask), ("training", training)) if name in self._takes}
        return self.function(inputs, **{**self.arguments, **given})

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Return the mask that was given for the outputs, or what the function given for it makes of this one."""
        return self._mask(inputs, mask) if callable(self._mask) else self._mask

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer; the function is in it as it is."""
        own = {"function": self.function, "output_shape": self._output_shape, "mask": self._mask}
        return {**super().get_config(), **own, "arguments": self.arguments}


class TFOpLambda(Layer):
    """An op on symbolic tensors, as a layer of a functional model; its primitive's attributes are the layer's."""

    def __init__(self, operation: Primitive | str, attrs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        self.primitive = get(operation) if isinstance(operation, str) else operation
        if kwargs.get("name") is None:
            kwargs["name"] = backend.unique_name(f"tf.{(self.primitive.name, *self.primitive.public)[-1]}")
        super().__init__(**kwargs)
        self.attrs = {key: _read_attr(value) for key, value in (attrs or {}).items()}
        self.built = True

    def __call__(self, *operands: Any, name: str | None = None, **named: Any) -> Any:
        """Apply the op; the first operand may be a number. Masks end here, as in Keras."""
        operands = (*operands, *(named[key] for key in self.primitive.inputs[len(operands) :] if key in named))
        if symbolic(operands):
            return connect(self, operands, {})
        with name_scope(self._name):
            outputs = self.call(*operands)
        self._shapes = shapes_of(operands[0]), shapes_of(outputs)
        return outputs

    def call(self, *operands: Any) -> Any:
        """Return what the op makes of the operands."""
        return bind(self.primitive, operands, self.attrs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return {**super().get_config(), "operation": self.primitive.name, "attrs": _written_attr(self.attrs)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Return the layer that `get_config`, or Keras, described. Raises ValueError for a function that is no op."""
        if "function" not in config:
            return cls(**config)
        name = str(config["function"]).rpartition(".")[2]
        try:
            primitive = get(_KERAS_OPS.get(name, name))
        except KeyError:
            primitive = None
        if primitive is None or primitive.expr is None:  # what is more than its operands has arguments of its own there
            raise ValueError(f"Unknown operation in a layer: {config['function']!r} is no op of elements alone.")
        return cls(primitive, name=config.get("name"))


#: Ops by what Keras calls them, where that is another name.
_KERAS_OPS = {
    "truediv": "realdiv", "divide": "realdiv", "true_divide": "realdiv", "sub": "subtract", "mul": "multiply",
    "neg": "negative", "power": "pow", "absolute": "abs",
}  # fmt: skip


def _written_attr(value: Any) -> Any:
    """An op's attribute in what JSON knows. Raises: ValueError for one that it has nothing for."""
    if isinstance(value, dict):
        return {key: _written_attr(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_written_attr(item) for item in value]
    if isinstance(value, DType):
        return {"dtype": value.name}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(
        f"The config of a model cannot hold {value!r}, an attribute of an op: use a tf.keras.layers.Lambda."
    )


def _read_attr(value: Any) -> Any:
    if isinstance(value, dict):
        return as_dtype(value["dtype"])
    return tuple([_read_attr(item) for item in value]) if isinstance(value, list) else value


OPERATION.append(TFOpLambda)


class InputLayer(Layer):
    """The head of a model: the shape of what it is given. Source: tf.keras.layers.InputLayer."""

    def __init__(
        self, input_shape: ShapeLike = None, batch_size: int | None = None, dtype: DTypeLike | None = None, name:
        str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        if name is None:
            name = f"input_{backend.get_uid('input')}"
        if input_shape is not None and "batch_input_shape" in kwargs:
            raise ValueError(
                "Only provide the input_shape OR batch_input_shape argument to InputLayer, not both at the same time."
            )
        if isinstance(input_shape, int):
            input_shape = (input_shape,)
        if input_shape is not None:
            kwargs.update(input_shape=input_shape, batch_size=batch_size)
        super().__init__(dtype=dtype, name=name, **kwargs)
        self.built = True
        if self._batch_input_shape is not None:
            attach(Node(self, (), {}), TensorSpec(self._batch_input_shape, self._dtype))

    input = ReadOnly[Any]("output", "The symbolic tensor that it stands for.")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return {name: value for name, value in super().get_config().items() if name != "trainable"}


def Input(
    shape: Any = None, batch_size: int | None = None, name: str | None = None, dtype: DTypeLike | None = None,
    batch_shape: Any = None, **kwargs: Any,
) -> InputTensor:  # fmt: skip
    """Return a symbolic tensor: what a model is given. `shape` is without the batch's axis.

    Layers called on it give symbolic tensors as well; tf.keras.Model(inputs, outputs) is the model between them. As the
    first item of a Sequential model it says what that is given. Source: tf.keras.Input.

    Args:
        shape: The extents without the batch's.
        batch_size: The batch's extent; None: any.
        dtype: What it is cast to; None: float32.
        batch_shape: The extents with the batch's, instead of shape and batch_size.
        kwargs: None: sparse, ragged, tensor and type_spec are not built.

    Raises:
        ValueError: No shape is given.

    Examples:
        >>> x = tf.keras.Input((4,))
        >>> model = tf.keras.Model(x, tf.keras.layers.Dense(2)(x))
        >>> model(tf.ones([3, 4])).shape
        TensorShape([3, 2])
    """
    for unknown in set(kwargs) - {"sparse", "ragged", "tensor", "type_spec"} | {k for k, v in kwargs.items() if v}:
        raise NotBuiltError(f"tf.keras.Input takes no `{unknown}` yet: models take dense tensors.")
    if shape is None and batch_shape is None:
        raise ValueError("Please provide to Input a `shape` or a `tensor` or a `type_spec` argument.")
    if isinstance(shape, (int, np.integer)):
        shape = (int(shape),)
    whole = tuple(batch_shape) if batch_shape is not None else (batch_size, *TensorShape(shape).as_list())
    layer = InputLayer(batch_input_shape=whole, dtype=dtype or backend.floatx(), name=name)
    return layer.output


def checked_data_format(value: str | None) -> str:
    """Return where the channels are. Raises ValueError for another text than Keras's two."""
    chosen = (value or backend.image_data_format()).lower()
    if chosen not in ("channels_first", "channels_last"):
        raise ValueError(
            f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {value}'
        )
    return chosen
