"""Layer: weights, and a function of tensors that uses them. Meaning and messages of Keras 2.

Rule: a layer is a Module written in public ops. What belongs to it is found by looking at its attributes, in the order
in which they were set; weights made by `add_weight` come first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any, Self

import numpy as np

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.name_scopes import current_scope, name_scope
from fastgraph.core.tensor import EagerTensor, Tensor, current_state, current_trace, init_scope
from fastgraph.keras import backend, constraints, initializers, regularizers
from fastgraph.keras.arguments import PLAIN, Arguments
from fastgraph.keras.identifiers import Identifier
from fastgraph.keras.layers import input_spec as specs
from fastgraph.keras.layers.calls import (
    CALL,
    Call,
    Parameters,
    each_once,
    leaves,
    parameters_of,
    shapes_of,
    spec_of,
    specs_of,
    take_batch_input_shape,
    traced_specs,
)
from fastgraph.keras.layers.symbolic import InputTensor, Node, connect, symbolic
from fastgraph.ops.elementwise import cast
from fastgraph.ops.movement import shape as shape_op
from fastgraph.staging.autograph import convert
from fastgraph.state.module import Module
from fastgraph.state.variable import Variable, VariableAggregation, VariableSynchronization

_NO_VARIABLES = (bytes, *PLAIN)
_NO_PARTS = frozenset({*_NO_VARIABLES, DType, Variable, FunctionType})


class _Losses:
    """The losses that a layer's calls have added.

    Not a plain list: a staged loop or branch would carry that, which cannot get longer in it. As in TensorFlow, what is
    added there can be used there.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []


#: Arguments in Keras's configs of layers that take them nowhere here, and the values that ask for nothing.
_NOTHING: dict[str, tuple[Any, ...]] = {
    "sparse": (False,), "ragged": (False,), "optional": (False,), "groups": (1,), "rng_type": ("stateful",),
    "pad_to_max_tokens": (False,), "idf_weights": (None,),
    # Keras 3's:
    "quantization_config": (None,), "renorm": (False,), "renorm_clipping": (None,), "renorm_momentum": (0.99,),
    "lora_rank": (None,), "lora_alpha": (None,), "flash_attention": (None, False), "sliding_window": (None,),
    "use_gate": (False,), "rms_scaling": (False,), "seed": (None,), "use_cudnn": ("auto", True, False),
    "antialias": (False,), "salt": (None,), "oov_method": ("floormod",), "fill_mode": ("constant",),
    "fill_value": (0.0,), "pad_to_aspect_ratio": (False,), "data_format": ("channels_last", None),
}  # fmt: skip


def _is_of_users(cls: Any) -> bool:
    return not cls.__module__.startswith("fastgraph.") and cls.get_config is Layer.get_config


class _OfUsers(Arguments):
    """The arguments of users' layers without `get_config`: in a base, so that `__init__` says what a layer takes."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Return a layer to be initialized."""
        self = super().__new__(cls)
        if _is_of_users(cls):
            self._keep(args, kwargs)
        return self


@without(
    {
        "compile(metrics=...), or a metric that a `train_step` of your own updates": "add_metric",
        "the model's `metrics`": "metrics",
        "assign() to Variables in `call`": "add_update updates",
        "add_weight": "add_variable",
        "get_config and from_config": "build_from_config get_build_config",
        "get_weights and set_weights, or tf.train.Checkpoint": "load_own_variables save_own_variables",
        "`dtype`": "dtype_policy",
        "tf.py_function in `call`": "dynamic",
        "build": "finalize_state",
        "`input` of a layer": "get_input_at get_input_mask_at get_input_shape_at input_mask inbound_nodes",
        "`output` of a layer": "get_output_at get_output_mask_at get_output_shape_at output_mask outbound_nodes",
    }
)
class Layer(_OfUsers, Module):
    """The base of layers: state the weights in `build(input_shape)`, the function in `call(inputs, ...)`.

    A call builds the layer if need be, and hands `training` on to the layers inside. Source: tf.keras.layers.Layer.

    Args:
        trainable: Whether its weights are.
        dtype: Of its weights and results (None: float32); inputs of other floating dtypes are cast to it.
        dynamic: Taken and without effect.
        kwargs: `input_shape`, `batch_size` and the like, which say what a Sequential model is to be given.

    Raises:
        ValueError: Inputs do not fit `input_spec`.
        TypeError: There is another keyword argument.

    Examples:
        >>> class Scale(tf.keras.layers.Layer):
        ...     def build(self, input_shape):
        ...         self.factor = self.add_weight("factor", (input_shape[-1],), initializer="ones")
        ...
        ...     def call(self, inputs):
        ...         return inputs * self.factor
        >>> layer = Scale()
        >>> layer(tf.constant([[1.0, 2.0]])).numpy(), layer.factor.shape
        (array([[1., 2.]], dtype=float32), TensorShape([2]))
    """

    _TF_MODULE_IGNORED_PROPERTIES = frozenset({"_own_weights", "_regularized", "_losses", "_nodes"})
    #: Attributes that are no dependencies: what is in them is one by another name, or nobody's to restore.
    _UNTRACKED = frozenset(
        {"_own_weights", "_regularized", "_loss_functions", "_nodes", "_initial_weights", "_shapes", "_input_spec"}
    ) | {"_given_specs", "_more_specs", "_steps", "_taken"}
    #: The names of attributes under which Keras 3 has what is in them, where those are others.
    _KERAS_3_NAMES: Mapping[str, str] = MappingProxyType({})
    _IN_CONFIG = False  # whether a file may have no weights of it, for its config says what they would
    _name: str
    _is_metric = False
    _any_masks = False  # whether there is a layer that makes masks: before that nobody looks for any
    _any_losses = False  # whether any layer has added a loss of a call: before that there is nothing to clear

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: DTypeLike | None = None, dynamic: bool =
        False, **kwargs: Any,
    ) -> None:  # fmt: skip
        self._own_weights: list[Variable] = []
        self._losses = _Losses()
        self._loss_functions: list[Callable[[], Any]] = []
        self._regularized: list[tuple[Any, Variable]] = []
        self._name = name if name is not None else backend.default_name(type(self))
        self._trainable = bool(trainable)
        self._dtype = as_dtype(dtype if dtype is not None else backend.floatx())
        self._autocast = kwargs.pop("autocast", True)
        self._initial_weights = kwargs.pop("weights", None)
        self._batch_input_shape = take_batch_input_shape(kwargs)
        self.activity_regularizer = regularizers.get(kwargs.pop("activity_regularizer", None))
        kwargs.pop("implementation", None)
        for unknown in kwargs:
            raise TypeError("Keyword argument not understood:", unknown)
        self.built = False
        self.stateful = False
        self.supports_masking = False
        if not type(self).compute_mask.__module__.startswith("fastgraph."):
            Layer._any_masks = True
        self._input_spec: Any = None
        self._nodes: list[Node] = []  # its calls on symbolic tensors
        self._shapes: tuple[Any, Any] | None = None  # of the inputs and outputs it was called with
        self._given_specs: Any = None  # the specs of those inputs
        self._more_specs: tuple[Any, ...] = ()  # of further tensors, by place

    def _weight(self, name: str, shape: ShapeLike, kind: str = "") -> Variable:
        """A new weight, with the initializer, regularizer and constraint that are attributes named after it."""
        parts = ("initializer", "regularizer", "constraint")
        given: dict[str, Any] = {part: getattr(self, f"{kind or name}_{part}", None) for part in parts}
        return self.add_weight(name, shape, **given)

    # For subclasses to define.

    def build(self, input_shape: Any) -> None:
        """Make the weights, for inputs of this shape."""
        self.built = True

    def call(self, *args: Any, **kwargs: Any) -> Any:  # so wide that any `call` of a subclass fits
        """Return what the layer makes of its inputs."""
        return args[0]

    # Calls.

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor | Any:
        """Build the layer if it is not, check the inputs, and `call` it."""
        if "_own_weights" not in self.__dict__:
            raise RuntimeError("You must call `super().__init__()` in the layer constructor.")
        parameters = parameters_of(self.__dict__["call"] if "call" in self.__dict__ else type(self).call)
        if args:
            inputs, args = args[0], args[1:]
        elif parameters.first in kwargs:
            inputs = kwargs.pop(parameters.first)
        else:
            raise ValueError("The first argument to `Layer.call` must always be passed.")
        if type(inputs) is not EagerTensor and symbolic(inputs):
            return connect(self, (inputs, *args), kwargs)
        state = current_state()
        outer: Call | None = state.extra.get(CALL)
        training, args = self._training(parameters, args, kwargs, outer)
        mask = self._masks_of(inputs, parameters, kwargs) if Layer._any_masks else None
        inputs = self._as_inputs(inputs)
        if self._input_spec is not None:
            specs.check(self._input_spec, inputs, self._name)
        if outer is None and Layer._any_losses:
            self._clear_losses()
        with name_scope(self._name):
            outside = "" if outer is None else outer.outside
            if not self.built:
                self._build_for(inputs, current_scope().removeprefix(outside))
            state.extra[CALL] = Call(training, self._outside(outside))
            try:
                call = self.call if current_trace() is None else convert(self.call)
                outputs = call(inputs, *args, **kwargs)
            except Exception as error:
                self._note(error, inputs)
                raise
            finally:
                state.extra[CALL] = outer
        if self.activity_regularizer is not None:
            self._add_activity_losses(outputs)
        if Layer._any_masks:
            self._mask_outputs(inputs, mask, outputs)
        if self._shapes is None:
            self._shapes = shapes_of(inputs), shapes_of(outputs)
            self._given_specs = nesting.map_structure(spec_of, inputs)
            if args and all(isinstance(leaf, Tensor) for leaf in nesting.flatten(args)):
                self._more_specs = nesting.map_structure(spec_of, args)
        return outputs

    def _masks_of(self, inputs: Any, parameters: Parameters, kwargs: dict[str, Any]) -> Any:
        """The masks of the inputs, as given or as layers have put them on; given to a `call` that takes `mask`."""
        if kwargs.get("mask") is not None:
            return kwargs["mask"]
        masks = nesting.map_structure(lambda leaf: getattr(leaf, "_keras_mask", None), inputs)
        if all(mask is None for mask in nesting.flatten(masks)):
            return None
        if parameters.takes_mask:
            kwargs["mask"] = masks
        return masks

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask of the outputs, b[*s]: that of the inputs if the layer `supports_masking`, else None."""
        return mask if self.supports_masking else None

    def _mask_outputs(self, inputs: Any, mask: Any, outputs: Any) -> None:
        """Put the mask on the outputs, unless something inside has."""
        leaves = nesting.flatten(outputs)
        if all(getattr(leaf, "_keras_mask", None) is not None for leaf in leaves):
            return
        masks = self.compute_mask(inputs, mask)
        if masks is not None:
            for leaf, one in zip(leaves, nesting.flatten(masks), strict=False):
                if one is not None and isinstance(leaf, Tensor):
                    leaf._keras_mask = one  # type: ignore[attr-defined]

    def _outside(self, outside: str) -> str:
        """The part of the name scope that names of inner layers' weights leave out."""
        return outside

    def _training(
        self, parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any], outer: Call | None
    ) -> tuple[Any, tuple[Any, ...]]:
        """The training flag: as passed, else that of the calling layer, else the default; put where `call` takes it."""
        place = parameters.training
        positional = place is not None and place < len(args)
        training = args[place] if positional else kwargs.pop("training", None)  # type: ignore[index]
        if training is None:
            training = outer.training if outer is not None else None
            if training is None:
                training = parameters.default
        if parameters.takes_training:
            if positional:
                args = (*args[:place], training, *args[place + 1 :])  # type: ignore[operator]
            else:
                kwargs["training"] = training
        return training, args

    def _as_inputs(self, inputs: Any) -> Any:
        """Tensors for arrays and numbers; floating ones in the layer's dtype."""
        if not isinstance(inputs, (Tensor, Variable)):
            return nesting.map_structure(self._as_input, inputs)
        return self._as_input(inputs)

    def _as_input(self, leaf: object) -> Any:
        if isinstance(leaf, (np.ndarray, np.generic, float, int)):
            leaf = convert_to_tensor(leaf)
        if not isinstance(leaf, (Tensor, Variable)):
            return leaf
        if self._autocast and leaf.dtype is not self._dtype and leaf.dtype.is_floating and self._dtype.is_floating:
            return cast(leaf, self._dtype)
        return leaf

    def _build_for(self, inputs: Any, scope: str) -> None:
        """Make the weights for these inputs, outside any trace, named as `scope` says."""
        shapes = nesting.map_structure(lambda leaf: getattr(leaf, "shape", None), inputs)
        with init_scope(), name_scope(scope):
            self.build(shapes)
        self.built = True
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None
        if self._input_spec is not None:
            specs.check(self._input_spec, inputs, self._name)

    def _note(self, error: Exception, inputs: object) -> None:
        """Say in an error, once, in which layer it was raised and for what."""
        if not hasattr(error, "__notes__"):
            given = nesting.map_structure(
                lambda leaf: (
                    f"tf.Tensor(shape={leaf.shape}, dtype={leaf.dtype.name})"
                    if isinstance(leaf, (Tensor, Variable))
                    else repr(leaf)
                ),
                inputs,
            )
            error.add_note(
                f"Exception encountered when calling layer {self._name!r} (type {type(self).__name__}): inputs={given}"
            )

    # Weights.

    def add_weight(
        self, name: str | None = None, shape: ShapeLike = None, dtype: DTypeLike | None = None, initializer: Any =
        None, regularizer: Identifier = None, trainable: bool | None = None, constraint: Identifier = None,
        use_resource: bool | None = None, synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE, **kwargs: Any,
    ) -> Variable:  # fmt: skip
        """Return a new weight of the layer. Floating ones begin as glorot_uniform, others as zeros.

        Raises ValueError for a dtype without a default initializer. Source: tf.keras.layers.Layer.add_weight.
        """
        for unknown in set(kwargs) - {"collections", "experimental_autocast", "caching_device", "getter", "layout"}:
            raise TypeError("Unknown keyword argument:", unknown)
        wanted = as_dtype(dtype) if dtype is not None else self._dtype
        initializer = initializers.get(initializer)
        if initializer is None:
            if wanted.is_floating:
                initializer = initializers.get("glorot_uniform")
            elif wanted.is_integer or wanted.is_bool:
                initializer = initializers.get("zeros")
            else:
                raise ValueError(
                    f"An initializer for variable {name} of type {wanted.name} is required for layer {self._name}. "
                    f"Received: {initializer}."
                )
        if synchronization is VariableSynchronization.ON_READ:
            if trainable:
                raise ValueError(
                    "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable "
                    "variables. You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
                )
            trainable = False
        dims = tuple(TensorShape(() if shape is None else shape).as_list())
        variable: Variable = Variable(
            lambda: initializer(dims, dtype=wanted),
            shape=dims if None in dims else None,
            trainable=True if trainable is None else trainable,
            name=name or "Variable",
            dtype=wanted,
            constraint=constraints.get(constraint),
            synchronization=synchronization,
            aggregation=aggregation,
        )
        self._keep_weight(variable)
        if name is not None:
            self._track_trackable(variable, name, overwrite=True)
        regularizer = regularizers.get(regularizer)
        if regularizer is not None:
            self._regularized.append((regularizer, variable))
        return variable

    def _keep_weight(self, variable: Variable) -> None:
        if not any(own is variable for own in self._own_weights):
            self._own_weights.append(variable)

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, _NO_VARIABLES) and name != "_own_weights":
            before = self.__dict__.pop(name, None)  # what is set again goes to the end of the order
            found = [leaf for leaf in leaves(value) if isinstance(leaf, (Variable, Module))]
            if found and "_own_weights" not in self.__dict__:
                self._not_initialized()
            elif "_own_weights" in self.__dict__:
                dropped = [leaf for leaf in leaves(before) if isinstance(leaf, Variable)]
                if dropped:
                    self._own_weights = [w for w in self._own_weights if not any(w is leaf for leaf in dropped)]
                for leaf in found:
                    if isinstance(leaf, Variable):
                        self._keep_weight(leaf)
        try:
            super().__setattr__(name, value)
        except AttributeError:
            raise AttributeError(
                f'Can\'t set the attribute "{name}", likely because it conflicts with an existing read-only @property '
                "of the object. Please choose a different name."
            ) from None

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        found = super()._trackable_children(save_type, **kwargs)
        return {name: value for name, value in found.items() if name not in self._UNTRACKED}

    def _not_initialized(self) -> None:
        """Called when a layer or Variable is set before super().__init__() was called."""

    def _children(self) -> list[Any]:
        """The Modules in its attributes, in the order in which those were set; each once."""
        found: dict[int, Module] = {}
        for value in self.__dict__.values():
            if type(value) in _NO_PARTS:  # most attributes: asked first, because each training step asks for weights
                continue
            if isinstance(value, Module):
                found.setdefault(id(value), value)
            elif isinstance(value, (list, tuple, dict)):
                for leaf in leaves(value):
                    if isinstance(leaf, Module):
                        found.setdefault(id(leaf), leaf)
        return list(found.values())

    def _flatten_layers(self) -> Iterator[Layer]:
        """The layer and all below it, depth first; each once."""
        seen: set[int] = set()
        ahead: list[Any] = [self]
        while ahead:
            module = ahead.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            if isinstance(module, Layer):
                yield module
                ahead += reversed(module._children())
            else:
                ahead += [m for m in reversed(module.submodules) if isinstance(m, Layer)]

    def _of_children(self, kind: str) -> list[Variable]:
        return [variable for child in self._children() for variable in getattr(child, kind)]

    @property
    def trainable_weights(self) -> list[Variable]:
        """The weights that training changes; none if `trainable` is False."""
        if not self._trainable:
            return []
        return each_once([w for w in self._own_weights if w.trainable] + self._of_children("trainable_variables"))

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The weights that training leaves alone."""
        if not self._trainable:
            own = sorted(self._own_weights, key=lambda w: not w.trainable)
            return each_once(own + self._of_children("variables"))
        own = [w for w in self._own_weights if not w.trainable]
        return each_once(own + self._of_children("non_trainable_variables"))

    @property
    def weights(self) -> list[Variable]:
        """All weights: the trainable ones, then the others."""
        return each_once(self.trainable_weights + self.non_trainable_weights)

    @property
    def variables(self) -> list[Variable]:  # type: ignore[override]
        """All weights."""
        return self.weights

    @property
    def trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        """The weights that training changes."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Variable]:  # type: ignore[override]
        """The weights that training leaves alone."""
        return self.non_trainable_weights

    def get_weights(self) -> list[Any]:
        """Return the values of `weights` as NumPy arrays."""
        return [weight.numpy() for weight in self.weights]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Set the values of `weights`. Raises ValueError for another number of them, or other shapes."""
        own, values = self.weights, list(weights)
        if len(own) != len(values):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self._name}" with a weight list of length '
                f"{len(values)}, but the layer was expecting {len(own)} weights. Provided weights: "
                f"{str(values)[:50]}..."
            )
        for weight, value in zip(own, values, strict=True):
            if not weight.shape.is_compatible_with(np.shape(value)):
                raise ValueError(
                    f"Layer {self._name} weight shape {weight.shape} is not compatible with provided weight shape "
                    f"{np.shape(value)}."
                )
        for weight, value in zip(own, values, strict=True):
            weight.assign(value)

    def _named_values(self) -> dict[str, Any]:
        """Return what Keras's files have of the layer by names, beside its weights."""
        return {}

    def count_params(self) -> int:
        """Return the number of elements of all weights. Raises ValueError for a layer that is not built."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on layer {self._name}, but the layer isn't built. You can build it "
                f"manually via: `{self._name}.build(batch_input_shape)`."
            )
        return sum(weight.shape.num_elements() or 0 for weight in self.weights)

    # Losses.

    def add_loss(self, losses: TensorLike | Callable[[], Any] | Sequence[Any], **kwargs: Any) -> None:
        """Add to `losses`: numbers that depend on the inputs of this call, or functions that give one at any time."""
        kwargs.pop("inputs", None)  # of older versions, where it had a meaning
        if kwargs:
            raise TypeError(f"Unknown keyword arguments: {kwargs.keys()}")
        for loss in nesting.flatten(losses):
            if callable(loss) and not isinstance(loss, (Tensor, Variable)):
                self._loss_functions.append(loss)
            elif isinstance(loss, InputTensor):
                raise TypeError(
                    f"{loss!r} has no value yet: layers add losses in `call`, functional models symbolic ones."
                )
            elif loss is not None:
                Layer._any_losses = True
                self._losses.values.append(convert_to_tensor(loss))

    @property
    def losses(self) -> list[Any]:
        """The losses that this layer and those below add: of their last call, then of their weights."""
        found: list[Any] = []
        for layer in self._flatten_layers():
            found += layer._losses.values
            found += [regularizer(variable) for regularizer, variable in layer._regularized]
            found += [loss for loss in (function() for function in layer._loss_functions) if loss is not None]
        return found

    def _clear_losses(self) -> None:
        for layer in self._flatten_layers():
            layer._losses.values.clear()

    def _add_activity_losses(self, outputs: Any) -> None:
        with name_scope("ActivityRegularizer"):
            for output in nesting.flatten(outputs):
                self.add_loss(self.activity_regularizer(output) / cast(shape_op(output)[0], output.dtype))

    # Properties.

    name = ReadOnly[str]("_name", "The name given, or the class's in snake_case with a number.")

    @property
    def name_scope(self) -> name_scope:
        """A context in which names begin with this layer's."""
        return name_scope(self._name)

    dtype = ReadOnly[str]("_dtype.name", "The dtype of its weights, by name.")
    compute_dtype = ReadOnly[str]("_dtype.name", "The dtype in which it computes, by name.")

    variable_dtype = ReadOnly[str]("_dtype.name", "The dtype of its weights, by name.")

    @property
    def trainable(self) -> bool:
        """True if training changes its weights; setting it sets it for all layers below."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        for layer in self._flatten_layers():
            layer._trainable = bool(value)

    @property
    def input_spec(self) -> Any:
        """The inputs that it can take: an InputSpec, a list of them, or None."""
        return self._input_spec

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        for one in nesting.flatten(value):
            if one is not None and not isinstance(one, specs.InputSpec):
                raise TypeError(f"Layer input_spec must be an instance of InputSpec. Got: {value}")
        self._input_spec = value

    @property
    def input_shape(self) -> Any:
        """The shape of the inputs it was first called with. Raises AttributeError before."""
        if self._shapes is None:
            raise AttributeError(
                f'The layer "{self._name}" has never been called and thus has no defined input shape. Note that the '
                "`input_shape` property is only available for Functional and Sequential models."
            )
        return self._shapes[0]

    @property
    def output_shape(self) -> Any:
        """The shape of its first outputs. Raises AttributeError before."""
        if self._shapes is None:
            raise AttributeError(
                f'The layer "{self._name}" has never been called and thus has no defined output shape.'
            )
        return self._shapes[1]

    @property
    def input(self) -> Any:
        """The symbolic tensors that it was called on. Raises AttributeError unless that was once."""
        given = [list(node.args) if len(node.args) != 1 else node.args[0] for node in self._nodes]
        return self._only(given, "input")

    @property
    def output(self) -> Any:
        """The symbolic tensors that it gave. Raises AttributeError unless it was called on symbolic tensors once."""
        return self._only([node.outputs for node in self._nodes], "output")

    def _only(self, found: list[Any], what: str) -> Any:
        if len(found) != 1:
            raise AttributeError(
                f"Layer {self._name} has no inbound nodes: it was not called on a tf.keras.Input or in a Sequential "
                f"model of known input shape, so it has no `{what}`."
                if not found
                else f'The layer "{self._name}" has multiple inbound nodes, hence the notion of "layer {what}" is '
                "ill-defined."
            )
        return found[0]

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs for inputs of this shape, as TensorShape."""
        return nesting.map_structure(lambda spec: spec.shape, traced_specs(self, specs_of(input_shape, self._dtype)))

    def compute_output_signature(self, input_signature: Any) -> Any:
        """Return the TensorSpecs of the outputs for those of the inputs."""
        return traced_specs(self, input_signature)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer; a subclass adds its own, if they are not plain values.

        Raises NotImplementedError for a subclass that was made of others, and does not.
        """
        own = self._config()
        config: dict[str, Any] = {"name": self._name, "trainable": self._trainable, "dtype": self._dtype.name}
        if self._batch_input_shape is not None:
            config["batch_input_shape"] = self._batch_input_shape
        if _is_of_users(type(self)) and ... not in self._taken.values():
            parameters = inspect.signature(type(self).__init__).parameters
            if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
                config = {name: value for name, value in config.items() if name in parameters}
        return {**config, **own}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Return the layer that `get_config` described, here or in Keras, which has more arguments."""
        return cls(**cls._asking(config))

    @classmethod
    def _asking(cls, config: dict[str, Any]) -> dict[str, Any]:
        """The config without what the layer does not take and that asks for nothing."""
        if cls.__module__.startswith("fastgraph."):
            taken = inspect.signature(cls.__init__).parameters
            config = {k: v for k, v in config.items() if k in taken or k not in _NOTHING or v not in _NOTHING[k]}
            unused = ["vocabulary_size"]  # that of the words, wherever they are
            if "depthwise_initializer" in taken:  # Keras has those of other convolutions too, and does not look
                unused += ["kernel_initializer", "kernel_regularizer", "kernel_constraint"]
            config = {k: v for k, v in config.items() if k not in unused}
        return config
