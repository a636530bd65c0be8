"""tf.keras.models: Model, by subclassing or functional, and Sequential. Meaning and messages of Keras 2.

Rule: a model is a Layer whose parts are its attributes; it knows nothing of compilers and Functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fastgraph.api.namespaces import lookup
from fastgraph.core import replicas
from fastgraph.core.base import nesting
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.shapes import ShapeLike
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import current_scope
from fastgraph.core.tensor import Tensor
from fastgraph.errors import NotBuiltError
from fastgraph.keras import backend, weight_files
from fastgraph.keras.functional import Network, rebuilt
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.calls import Training, each_once, parameters_of, specs_of, traced_specs
from fastgraph.keras.layers.core import InputLayer
from fastgraph.keras.layers.input_spec import InputSpec
from fastgraph.keras.layers.serialization import deserialize, serialize
from fastgraph.keras.layers.symbolic import InputTensor
from fastgraph.keras.summary import table
from fastgraph.keras.trainer import Trainer
from fastgraph.ops.elementwise import cast
from fastgraph.ops.movement import expand_dims, squeeze
from fastgraph.saving.checkpoint import CheckpointOptions
from fastgraph.state.tracking import links_of
from fastgraph.state.variable import Variable

if TYPE_CHECKING:
    from fastgraph.keras.model_serialization import clone_model as clone_model
    from fastgraph.keras.model_serialization import load_model as load_model
    from fastgraph.keras.model_serialization import model_from_config as model_from_config
    from fastgraph.keras.model_serialization import model_from_json as model_from_json
    from fastgraph.keras.model_serialization import save_model as save_model

__all__ = [
    "Model", "Sequential", "clone_model", "load_model", "model_from_config", "model_from_json", "save_model",
]  # fmt: skip

__getattr__, __dir__ = lookup("keras.models")


@without(
    {
        "fit, which takes generators": "fit_generator",
        "evaluate, which takes generators": "evaluate_generator",
        "predict, which takes generators": "predict_generator",
        "a `train_step` of your own": "make_train_function",
        "a `test_step` of your own": "make_test_function",
        "a `predict_step` of your own": "make_predict_function",
        "compile(steps_per_execution=...)": "autotune_steps_per_execution",
        "Strategy.reduce in a loop of your own": "distribute_reduction_method",
        "compile(jit_compile=...)": "jit_compile",
        "compile": "compile_from_config get_compile_config",
        "`weights` and their names": "get_weight_paths",
        "assign() to Variables in `call`": "state_updates",
        "to_json()": "to_yaml",
    }
)
class Model(Trainer, Layer):
    """A layer made of layers, which can be trained. Source: tf.keras.Model.

    Either a subclass that states layers in `__init__` and what they do in `call`, or, functional, Model(inputs,
    outputs): what stands between symbolic tensors, one or several (lists, dicts), of tf.keras.Input and of layers
    called on it.

    Args:
        args: None, or inputs and outputs of a functional model, and its name.
        kwargs: What `tf.keras.layers.Layer` takes: name, trainable, dtype.

    Raises:
        ValueError: Of `inputs` and `outputs` only one is given.

    Examples:
        >>> class Twice(tf.keras.Model):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.dense = tf.keras.layers.Dense(3, kernel_initializer="ones")
        ...
        ...     def call(self, x):
        ...         return self.dense(self.dense(x))
        >>> model = Twice()
        >>> model(tf.ones([1, 3])).numpy(), len(model.weights)
        (array([[9., 9., 9.]], dtype=float32), 2)
    """

    _network: Network | None = None
    _UNTRACKED = Layer._UNTRACKED | {"_network_layers", "inputs", "outputs", "input_names", "output_names"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (strategy := replicas.strategy()) is not None:
            self.__dict__["_strategy"] = strategy
        given = dict(zip(("inputs", "outputs", "name"), args, strict=False)) if len(args) >= 2 else {}
        given.update({key: kwargs.pop(key) for key in ("inputs", "outputs") if key in kwargs})
        if not given:
            super().__init__(*args, **kwargs)
            return
        if set(given) < {"inputs", "outputs"}:
            raise ValueError(f"A functional Model takes `inputs` and `outputs`, received only {', '.join(given)}.")
        network = Network(given["inputs"], given["outputs"])
        super().__init__(name=given.get("name", kwargs.pop("name", None)), **kwargs)
        self._network_layers = network.layers
        self._network = network
        self.__dict__.update(  # attributes of functional models only: a subclass may call its own so
            inputs=network.inputs, outputs=network.outputs, input_names=network.input_names,
            output_names=network.output_names,
        )  # fmt: skip
        self.built = True
        self.supports_masking = True

    def _not_initialized(self) -> None:
        raise RuntimeError(
            "It looks like you are subclassing `Model` and you forgot to call `super().__init__()`. Always start with "
            "this line."
        )

    def __getattr__(self, name: str) -> Any:
        return object.__getattribute__(self, name)  # for what it raised, which Python has forgotten

    def build(self, input_shape: ShapeLike) -> None:
        """Make the weights of all layers, for inputs of this shape (the first length, None, is the batch's).

        Raises NotImplementedError without a `call`, ValueError if the model cannot be called on such inputs.
        """
        if self._network is not None:
            return
        if input_shape is None:
            raise ValueError("Input shape must be defined when calling `build()` on a `Model` subclass network.")
        if type(self).call is Model.call:
            raise NotImplementedError(_NO_CALL)
        if not self.built:
            # Not by calling the model: then names of weights would begin with its name.
            parameters = parameters_of(type(self).call)
            given = {"training": parameters.default} if parameters.takes_training else {}
            traced_specs(lambda inputs: self.call(inputs, **given), specs_of(input_shape, self._dtype))
            self._clear_losses()
            self.built = True

    def _build_for(self, inputs: object, scope: str) -> None:
        """A model without a `build` of its own has nothing but layers, which build themselves."""
        if type(self).build is Model.build:
            self.built = True
        else:
            super()._build_for(inputs, scope)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the model makes of its inputs: `call(inputs, training=None, mask=None)` of a subclass."""
        if self._network is None:
            raise NotImplementedError(_NO_CALL)
        given = args[0] if args else next(iter(kwargs.values()))
        return self._network.run(given, _conformed, self._name, super().add_loss)

    def add_loss(self, losses: TensorLike | Callable[[], Any] | Sequence[Any], **kwargs: Any) -> None:
        """Add to `losses`, as layers do; of a functional model also symbolic tensors, computed in each of its calls."""
        given = nesting.flatten(losses)
        symbols = [loss for loss in given if isinstance(loss, InputTensor)]
        super().add_loss([loss for loss in given if not isinstance(loss, InputTensor)], **kwargs)
        if not symbols:
            return
        if self._network is None:
            raise ValueError(f"{symbols[0]!r} is of a functional model, and {self._name!r} is none.")
        old = self._network
        self._network = Network(old.structure, old.out_structure, [*old.losses, *symbols])
        self._network_layers = self._network.layers

    def _outside(self, outside: str) -> str:
        """Names of weights begin with that of the layer of a functional model, not with what is around that."""
        return outside if self._network is None else current_scope()

    @property
    def input(self) -> Any:
        """The symbolic tensors that the model is given, in their structure."""
        return super().input if self._network is None else self._network.structure

    @property
    def output(self) -> Any:
        """The symbolic tensors that the model gives, in their structure."""
        return super().output if self._network is None else self._network.out_structure

    @property
    def input_shape(self) -> Any:
        """The shapes of what the model is given. Raises AttributeError before they are known."""
        return super().input_shape if self._network is None else _shapes(self._network.structure)

    @property
    def output_shape(self) -> Any:
        """The shapes of what the model gives. Raises AttributeError before they are known."""
        return super().output_shape if self._network is None else _shapes(self._network.out_structure)

    def get_config(self) -> dict[str, Any]:
        """Return the name, the layers' classes and configs, and how they are called. Of a subclass: what it adds.

        Raises NotImplementedError for a subclass that states none.
        """
        if self._network is None:
            raise NotImplementedError(
                f"Model {type(self).__name__} cannot be created from a config: override `get_config` to return the "
                "arguments of its constructor."
            )
        return {"name": self._name, "trainable": self._trainable, **self._network.config(serialize)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """Return the model that `get_config` described, with weights of its own.

        custom_objects: {name: class} of layers that are not Keras's own. Raises ValueError for a name that is unknown.
        """
        if "input_layers" not in config:
            return cls(**config)
        inputs, outputs, losses = rebuilt(config, lambda row: deserialize(row, custom_objects))
        model = cls(inputs=inputs, outputs=outputs, name=config.get("name"))
        model.add_loss(losses)
        if not config.get("trainable", True):
            model.trainable = False
        return model

    def compute_mask(self, inputs: Any, mask: TensorLike | None = None) -> Any:
        """Return None: the layers inside have put the masks on the outputs."""
        return None

    # Its parts.

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        own = super()._trackable_children(save_type, **kwargs)
        if save_type != "checkpoint":
            from fastgraph.keras import exporting

            call = exporting.call_of(self)
            names = "variables", "trainable_variables", "non_trainable_variables"
            if call is not None:
                own = {"__call__": call, **{name: list(getattr(self, name)) for name in names}, **own}
        return own if self._network is None else {**_numbered(self.layers), **own}

    @property
    def _default_save_signature(self) -> Any:
        from fastgraph.keras import exporting

        return exporting.signature_of(self)

    @property
    def layers(self) -> list[Layer]:
        """The layers that are its attributes, in the order in which those were set; metrics are no layers.

        Of a functional model: from the inputs to the outputs.
        """
        return [child for child in self._children() if isinstance(child, Layer) and not child._is_metric]

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """Return one of `layers`. Raises ValueError if there is none with this name or index, or both are given."""
        if name is not None and index is not None:
            raise ValueError(f"Provide only a layer name or a layer index. Received: index={index}, name={name}.")
        layers = self.layers
        if index is not None:
            if len(layers) <= index:
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has {len(layers)} layers."
                )
            return layers[index]
        if name is None:
            raise ValueError("Provide either a layer name or layer index at `get_layer`.")
        for layer in layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}. Existing layers are: {[layer.name for layer in layers]}.")

    def _own_metrics(self) -> list[Any]:
        """The metrics that are its attributes, or those of its layers."""
        return [layer for layer in self._flatten_layers() if layer._is_metric]

    def _check_weights(self) -> None:
        """Raise ValueError if the model has a `build` of its own that was not called yet."""
        if "build" in type(self).__dict__ and not self.built:
            raise ValueError(
                f"Weights for model {self._name!r} have not yet been created. Weights are created when the model is "
                "first called on inputs or `build()` is called with an `input_shape`."
            )

    @property
    def trainable_weights(self) -> list[Variable]:
        """The weights that training changes: of the layers, then its own."""
        self._check_weights()
        if not self._trainable:
            return []
        own = [w for w in self._own_weights if w.trainable]
        return each_once(self._of_children("trainable_variables") + own)

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The weights that training leaves alone: of the layers, then its own."""
        self._check_weights()
        children = self._of_children("non_trainable_variables")
        own = [w for w in self._own_weights if not w.trainable]
        if self._trainable:
            return each_once(children + own)
        trainable = [w for w in self._own_weights if w.trainable]
        return each_once(self._of_children("trainable_variables") + trainable + children + own)

    @property
    def weights(self) -> list[Variable]:
        """All weights, layer by layer, then its own."""
        self._check_weights()
        return each_once(self._of_children("variables") + sorted(self._own_weights, key=lambda w: not w.trainable))

    def save_weights(
        self, filepath: str | os.PathLike[str], overwrite: bool = True, save_format: str | None = None, options:
        CheckpointOptions | None = None,
    ) -> None:  # fmt: skip
        """Write the weights to files, which are whole or those before. Source: tf.keras.Model.save_weights.

        filepath: without a suffix a checkpoint as TensorFlow's, with the optimizer's slots; of the weights alone with
        .npz NumPy's, with .safetensors (needs safetensors), with .weights.h5 a file that Keras 3 reads (needs h5py).
        Raises ValueError for a model without weights yet.
        """
        weight_files.save_weights(self, filepath, overwrite, save_format, options)

    def load_weights(
        self, filepath: str | os.PathLike[str], skip_mismatch: bool = False, by_name: bool = False, options:
        CheckpointOptions | None = None,
    ) -> Any:  # fmt: skip
        """Set the weights from what `save_weights` of such a model wrote, or TensorFlow; return a status.

        Of a checkpoint also a model without weights yet: they are set as they are made. Raises NotFoundError or
        FileNotFoundError, or ValueError for weights of another number or shape. Source: tf.keras.Model.load_weights.
        """
        return weight_files.load_weights(self, filepath, options, skip_mismatch, by_name)

    def save(
        self, filepath: str | os.PathLike[str], overwrite: bool = True, save_format: str | None = None, **kwargs: Any
    ) -> None:
        """Write the model as tf.keras.models.save_model does: `.keras`, `.h5`, or a folder."""
        save_model(self, filepath, overwrite, save_format, **kwargs)

    def save_spec(self, dynamic_batch: bool = True) -> tuple[list[Any], dict[str, Any]] | None:
        """Return the specs of what the model is called with, ([inputs], {}), for batches of any size.

        None for a model that was neither called nor built. Raises NotBuiltError unless `dynamic_batch`.
        Source: tf.keras.Model.save_spec.
        """
        from fastgraph.keras import exporting

        if not dynamic_batch:
            raise NotBuiltError("save_spec(dynamic_batch=False) is not built: specs are of batches of any size.")
        return exporting.save_spec(self)

    def to_json(self, **kwargs: Any) -> str:
        """Return the class and config as text; `kwargs` are json.dumps's. Source: tf.keras.Model.to_json."""
        from fastgraph.keras import model_serialization

        return model_serialization.to_json(self, **kwargs)

    def export(self, filepath: str | os.PathLike[str]) -> None:
        """Write a SavedModel of the model as it is called to predict: an object with the function `serve`.

        Raises ValueError for a model that was neither called nor built. Source: tf.keras.Model.export.
        """
        from fastgraph.keras import exporting

        exporting.export(self, filepath)

    def summary(
        self, line_length: int | None = None, positions: Sequence[float] | None = None, print_fn: Callable[[str],
        Any] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Print a table of the layers, their output shapes and numbers of weights.

        Raises ValueError for a model that is not built. Source: tf.keras.Model.summary.
        """
        if not self.built:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling `build()` or by calling the model "
                "on a batch of data."
            )
        for line in table(self, line_length, positions):
            (print_fn or print)(line)


class Sequential(Model):
    """Layers one after another. f[*s] -> f[*t]. Source: tf.keras.Sequential.

    With tf.keras.Input, an InputLayer or a layer with an `input_shape` at its head it is built as it is added to, else
    by its first call.

    Args:
        layers: The layers, in order; more can be added with `add`.

    Raises:
        TypeError: One of them is no layer.
        ValueError: Two layers have one name.

    Examples:
        >>> model = tf.keras.Sequential([
        ...     tf.keras.Input((8,)),
        ...     tf.keras.layers.Dense(4, activation="relu"),
        ...     tf.keras.layers.Dense(1),
        ... ])
        >>> model(tf.ones([2, 8])).shape, len(model.trainable_variables)
        (TensorShape([2, 1]), 4)
    """

    _UNTRACKED = Model._UNTRACKED | {"_layers", "_symbols", "_inputs", "_outputs"}
    _trained = False  # True from the first call in training on, of a model whose inputs are not said

    def __init__(
        self, layers: Sequence[Layer | InputTensor] | Layer | InputTensor | None = None, name: str | None = None
    ) -> None:
        super().__init__(name=name)
        self._layers: list[Layer] = []
        self._inputs: TensorSpec | None = None
        self._outputs: TensorSpec | None = None
        self._symbols: list[Any] = []  # what goes into the first layer, and what comes out of each
        if layers is not None:
            for layer in layers if isinstance(layers, (list, tuple)) else [layers]:
                self.add(layer)  # type: ignore[arg-type]

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        return {**_numbered(self.layers), **super()._trackable_children(save_type, **kwargs)}

    @property
    def layers(self) -> list[Layer]:
        """The layers, without the InputLayer at the head."""
        return [layer for layer in self._layers if not isinstance(layer, InputLayer)]

    def add(self, layer: Layer | InputTensor) -> None:
        """Put a layer at the end."""
        if isinstance(layer, InputTensor):
            layer = layer.node.layer if layer.node is not None else layer
        if not isinstance(layer, Layer):
            raise TypeError(
                f"The added layer must be an instance of class Layer. Received: layer={layer} of type {type(layer)}."
            )
        if any(other.name == layer.name for other in self._layers):
            raise ValueError(
                f'All layers added to a Sequential model should have unique names. Name "{layer.name}" is already the '
                "name of a layer in this model. Update the `name` argument to pass a unique name."
            )
        if not self._layers:
            self._set_inputs(_head_spec(layer), layer)
        self._layers.append(layer)
        if self._outputs is not None and not isinstance(layer, InputLayer):
            self._symbols.append(layer(self._symbols[-1]))
            self._outputs = nesting.map_structure(lambda symbol: symbol.spec, self._symbols[-1])
            self.built = True
        elif self._inputs is None:
            self.built = False
        if links_of(self).awaited:  # a checkpoint has values for layers that were not there
            for place, child in _numbered(self.layers).items():
                self._handle_deferred_dependencies(place, child)

    def pop(self) -> None:
        """Take the last layer away. Raises TypeError if there is none."""
        if not self._layers:
            raise TypeError("There are no layers in the model.")
        layer = self._layers.pop()
        if len(self._symbols) > 1:
            self._symbols.pop()
            self._outputs = self._symbols[-1].spec
            layer._nodes.pop()
        if not self._layers:
            self._set_inputs(None)
            self.built = False

    def build(self, input_shape: ShapeLike = None) -> None:
        """Make the weights of all layers, for inputs of this shape."""
        if self._inputs is None:
            if input_shape is None:
                raise ValueError("You must provide an `input_shape` argument.")
            if not self.built:
                self._set_inputs(TensorSpec(input_shape, self._dtype), self._layers[0] if self._layers else self)
                if self._symbols:
                    for layer in self.layers:
                        self._symbols.append(layer(self._symbols[-1]))
                    self._outputs = nesting.map_structure(lambda symbol: symbol.spec, self._symbols[-1])
                else:
                    self._outputs = traced_specs(self._through, self._inputs)
        self.built = True

    def _set_inputs(self, spec: TensorSpec | None, head: Layer | None = None) -> None:
        """Take note of what the model is given; without layers that is what it gives."""
        self._inputs = spec
        if head is not None and spec is not None and spec.shape.rank is not None:
            if not isinstance(head, InputLayer):
                dims = tuple(spec.shape.as_list())
                head = InputLayer(batch_input_shape=dims, dtype=spec.dtype, name=f"{head.name}_input")
            self._symbols = [head.output]
        elif spec is None:
            self._symbols = []
        if self._outputs is None or spec is None:
            self._outputs = spec
        known = spec is not None and spec.shape.rank is not None
        self.input_spec = InputSpec(shape=spec.shape, allow_last_axis_squeeze=True) if known else None  # type: ignore[union-attr]

    def _through(self, inputs: Any) -> Any:
        for layer in self._layers:
            inputs = layer(inputs)
        return inputs

    def _build_for(self, inputs: object, scope: str) -> None:
        """The layers build themselves as they are called."""
        self.built = True

    def _outside(self, outside: str) -> str:
        """Names of weights begin with that of the layer of a Sequential model, not with what is around that."""
        return current_scope()

    def call(self, inputs: Any, training: Training | None = None, mask: Tensor | None = None) -> Any:
        """Return what the layers make of the inputs, one after another."""
        if self._inputs is not None:
            inputs = _conformed(inputs, self._inputs)
        elif training is True and not self._trained:
            self._trained = True
            backend.skip_seeds(self._flatten_layers())  # Keras calls the layers on symbolic tensors before that
        return self._through(inputs)

    @property
    def input(self) -> Any:
        """The symbolic tensor that the model is given. Raises AttributeError where its shape is not known."""
        return self._symbols[0] if self._symbols else super().input

    @property
    def output(self) -> Any:
        """The symbolic tensor that the model gives. Raises AttributeError where its shape is not known."""
        return self._symbols[-1] if self._symbols else super().output

    @property
    def inputs(self) -> Any:
        """The symbolic tensors that the model is given, None where their shapes are not known."""
        return self._symbols[:1] or None

    @property
    def outputs(self) -> Any:
        """The symbolic tensors that the model gives, None where their shapes are not known."""
        return nesting.flatten(self._symbols[-1]) if self._symbols else None

    @property
    def output_names(self) -> list[str] | None:
        """The name of the last layer."""
        return [self._layers[-1].name] if self._layers else None

    @property
    def input_shape(self) -> Any:
        """The shape of what the model is given. Raises AttributeError before it is known."""
        if self._inputs is not None:
            return tuple(self._inputs.shape.as_list())
        return super().input_shape

    @property
    def output_shape(self) -> Any:
        """The shape of what the model gives. Raises AttributeError before it is known."""
        return _shapes(self._outputs) if self._outputs is not None else super().output_shape

    def get_config(self) -> dict[str, Any]:
        """Return the name and the layers' classes and configs."""
        return {"name": self._name, "layers": [serialize(layer) for layer in self._layers]}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """Return the model that `get_config` described, with weights of its own.

        custom_objects: {name: class} of layers that are not Keras's own. Raises ValueError for a name that is unknown.
        """
        model = cls(name=config.get("name"))
        for row in config["layers"]:
            model.add(deserialize(row, custom_objects))
        return model


def _shapes(tensors: Any) -> Any:
    """The shapes of symbolic tensors or specs as tuples, in their structure."""
    return nesting.map_structure(lambda tensor: tuple(tensor.shape.as_list()), tensors)


_NO_CALL = (
    "Unimplemented `tf.keras.Model.call()`: if you intend to create a `Model` with the Functional API, please provide "
    "`inputs` and `outputs` arguments. Otherwise, subclass `Model` with an overridden `call()` method."
)


def _head_spec(layer: Layer) -> TensorSpec | None:
    """The spec of what a Sequential model with this layer at its head is given, where the layer says so."""
    if isinstance(layer, Sequential) and layer._inputs is not None:
        return layer._inputs
    dims = layer._batch_input_shape
    return None if dims is None else TensorSpec(dims, layer._dtype)


def _conformed(inputs: Any, spec: TensorSpec) -> Any:
    """The inputs in the model's dtype, with one axis of length 1 more or less at the end where the rank asks for it."""
    rank, wanted, mask = inputs.shape.rank, spec.shape.rank, getattr(inputs, "_keras_mask", None)
    if rank is not None and wanted is not None:
        if rank == wanted - 1 and spec.shape[-1] == 1:
            inputs = expand_dims(inputs, -1)
        elif rank == wanted + 1 and inputs.shape[-1] == 1:
            inputs = squeeze(inputs, [-1])
    if inputs.dtype is not spec.dtype:
        inputs = cast(inputs, spec.dtype)
    if mask is not None:
        inputs._keras_mask = mask
    return inputs


def _numbered(layers: list[Layer]) -> dict[str, Any]:
    """The layers of a model as checkpoints name them: those with weights by their own count, and all by place."""
    found: dict[str, Any] = {}
    n = 0
    for place, layer in enumerate(layers):
        try:
            weighs = bool(layer.weights)
        except ValueError:  # it does not know them yet
            weighs = False
        if weighs:
            found[f"layer_with_weights-{n}"] = layer
            n += 1
        found[f"layer-{place}"] = layer
    return found


def _later(name: str) -> Any:
    """A function of model_serialization, which is imported when it is called."""

    def called(*args: Any, **kwargs: Any) -> Any:
        from fastgraph.keras import model_serialization

        return getattr(model_serialization, name)(*args, **kwargs)

    called.__name__ = called.__qualname__ = name
    called.__doc__ = f"See fastgraph.keras.model_serialization. Source: tf.keras.models.{name}."
    return called


clone_model, load_model, save_model = (_later(name) for name in ("clone_model", "load_model", "save_model"))
model_from_config, model_from_json = (_later(name) for name in ("model_from_config", "model_from_json"))
