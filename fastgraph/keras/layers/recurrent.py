"""Recurrent layers: RNN, StackedRNNCells, SimpleRNN, LSTM, GRU, Bidirectional, with the meaning they have in Keras 2.

Rule: the steps are one while_loop over time; what needs no state is computed for all steps before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.composites.tensor_array import TensorArray
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.conversion import TensorLike, constant
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.tensor import Tensor, current_trace, init_scope
from fastgraph.graph.control_flow import while_loop
from fastgraph.keras import activations, backend, identifiers, regularizers
from fastgraph.keras.activations import ActivationLike
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.calls import Training
from fastgraph.keras.layers.input_spec import InputSpec
from fastgraph.keras.layers.recurrent_cells import (
    PARTS,
    Cell,
    GRUCell,
    LSTMCell,
    SimpleRNNCell,
    batch_of,
    initial_states,
)
from fastgraph.keras.layers.serialization import deserialize
from fastgraph.ops.comparison import not_equal
from fastgraph.ops.elementwise import cast, zeros_like
from fastgraph.ops.exponentials import sigmoid, tanh
from fastgraph.ops.gathering import where
from fastgraph.ops.joining import concat, stack, unstack
from fastgraph.ops.movement import expand_dims, shape, transpose
from fastgraph.ops.padding import reverse
from fastgraph.ops.random_states import generators
from fastgraph.ops.reduction import reduce_any
from fastgraph.state.variable import Variable


class StackedRNNCells(Layer):
    """Cells one on top of the other, as one cell: each takes the output of the one below.

    state_size and the states are tuples with those of each cell, from the bottom up. f[b, n], (states of the first,
    ...) -> f[b, units of the last], states. Source: tf.keras.layers.StackedRNNCells.
    """

    def __init__(self, cells: Sequence[Any], **kwargs: Any) -> None:
        for cell in cells:
            if not hasattr(cell, "call"):
                raise ValueError(f"All cells must have a `call` method. Received cell without a `call` method: {cell}")
            if not hasattr(cell, "state_size"):
                raise ValueError(
                    f"All cells must have a `state_size` attribute. Received cell without a `state_size`: {cell}"
                )
        super().__init__(**kwargs)
        self.cells = list(cells)

    @property
    def state_size(self) -> tuple[Any, ...]:
        """The sizes of each cell's states."""
        return tuple(cell.state_size for cell in self.cells)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        last = self.cells[-1]
        return getattr(last, "output_size", None) or nesting.flatten(last.state_size)[0]

    def build(self, input_shape: ShapeLike) -> None:
        """Make the weights of the cells."""
        whole = TensorShape(input_shape).as_list()
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                cell.build(TensorShape(whole))
                cell.built = True
            size = getattr(cell, "output_size", None) or nesting.flatten(cell.state_size)[0]
            whole = [whole[0], *TensorShape([size] if isinstance(size, int) else size).as_list()]

    def drawn(self, training: Training | None) -> int:
        """Return how many masks Keras draws for a step."""
        return sum(cell.drawn(training) for cell in self.cells if _is_own(cell))

    def masks(self, inputs: Tensor, training: Training | None) -> list[Any]:
        """Masks that drop shares of each cell's inputs and state: pairs, None for no mask."""
        if not self.drawn(training):
            return [None] * len(self.cells)
        rows, made, below = batch_of(inputs), list[Any](), inputs
        for cell in self.cells:
            made.append(cell.masks(below, training) if _is_own(cell) else None)
            width = getattr(cell, "output_size", None) or nesting.flatten(cell.state_size)[0]
            below = initial_states(width, rows, self._dtype)
        return made

    def call(
        self, inputs: Tensor, states: Any, training: Training | None = None, masks: list[Any] | None = None
    ) -> Any:
        """Return (output, states) of one step. masks: those of all steps; else of this one alone."""
        after, masks = [], self.masks(inputs, training) if masks is None else masks
        for cell, size, state, pair in zip(self.cells, self.state_size, states, masks, strict=True):
            state = list(state) if isinstance(state, (list, tuple)) else [state]
            inputs, new = cell(inputs, state, **({"masks": pair or (None, None)} if _is_own(cell) else {}))
            flat = nesting.flatten(new)
            after.append(nesting.pack_sequence_as(size, flat))
        return inputs, tuple(after)

    def get_initial_state(
        self, inputs: Tensor | None = None, batch_size: int | Tensor | None = None, dtype: DTypeLike | None = None
    ) -> Any:
        """Return states of zeros: for as many rows as the inputs have, or batch_size."""
        rows = batch_size if inputs is None else batch_of(inputs)
        return tuple(
            cell.get_initial_state(inputs=None, batch_size=rows, dtype=dtype)
            if hasattr(cell, "get_initial_state")
            else initial_states(cell.state_size, rows, dtype or self._dtype)
            for cell in self.cells
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return {**super().get_config(), "cells": [identifiers.described(cell, "keras.layers") for cell in self.cells]}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """Return the layer that `get_config` described."""
        return cls(**{**config, "cells": [deserialize(cell, custom_objects) for cell in config["cells"]]})


class RNN(Layer):
    """A cell applied to step after step. f[b, t, n] -> f[b, units], or with `return_sequences` f[b, t, units].

    return_state: the states after the last step follow the output. go_backwards: the last step comes first, also in the
    result. unroll: the steps are written out, which is quicker for few. A mask, b[b, t], leaves steps out: there the
    states and the output stay (`zero_output_for_mask`: the output is 0). cell: a layer with `state_size` whose call is
    `call(inputs, states)`, or several, one on top of the other. stateful: a call begins with the states that the one
    before ended with, until `reset_states`; the number of rows must be known then. Source: tf.keras.layers.RNN.
    """

    def __init__(
        self, cell: Any, return_sequences: bool = False, return_state: bool = False, go_backwards: bool = False,
        stateful: bool = False, unroll: bool = False, time_major: bool = False, zero_output_for_mask: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cell)
        if not hasattr(cell, "state_size"):
            raise ValueError(
                "The RNN cell should have an attribute `state_size` (tuple of integers, one integer per RNN state). "
                f"Received: cell={cell}"
            )
        super().__init__(**kwargs)
        self.stateful = bool(stateful)
        self.__dict__["_states"] = None  # which are no weights
        self.cell = cell
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.unroll = unroll
        self.time_major = time_major
        self.zero_output_for_mask = zero_output_for_mask
        self.supports_masking = True
        self.input_spec = [InputSpec(ndim=3)] if type(self) is not RNN else None

    @property
    def _sizes(self) -> list[Any]:
        return nesting.flatten(self.cell.state_size)

    def build(self, input_shape: ShapeLike) -> None:
        """Make the weights of the cell."""
        whole = TensorShape(input_shape[0] if isinstance(input_shape, list) else input_shape).as_list()
        step = [whole[1 if self.time_major else 0], *whole[2:]]
        if not self.cell.built:
            with name_scope(self.cell.name):
                self.cell.build(TensorShape(step))
            self.cell.built = True
        self.__dict__["_rows"] = whole[1 if self.time_major else 0]
        self.built = True
        if self.stateful and self._states is None:
            self.reset_states()

    @property
    def states(self) -> Any:
        """The states that the next call of a stateful layer begins with: Variables, f[b, units]; None before any."""
        return [None] * len(self._sizes) if self._states is None else self._states

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        found = super()._trackable_children(save_type, **kwargs)
        return {**found, "states": list(self.states)} if self.stateful and save_type == "savedmodel" else found

    def reset_states(self, states: Any = None) -> None:
        """Let the next call of a stateful layer begin with zeros, or with these states.

        Raises AttributeError for a layer that is not stateful, ValueError for states of other shapes or where the
        number of rows is not known.
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        if self._states is None:
            rows = self.__dict__.get("_rows")
            if rows is None:
                raise ValueError(
                    "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input "
                    "tensors: \n- If using a Sequential model, specify the batch size by passing a `batch_input_shape` "
                    "argument to your first layer.\n- If using the functional API, specify the batch size by passing "
                    "a `batch_shape` argument to your Input layer."
                )
            with init_scope():
                zero = [initial_states(size, rows, self._dtype) for size in self._sizes]
                self.__dict__["_states"] = [Variable(value, trainable=False) for value in zero]
        own: list[Any] = self._states
        given = [zeros_like(state) for state in own] if states is None else nesting.flatten(states)
        if len(given) != len(own):
            raise ValueError(
                f"Layer {self._name} expects {len(own)} states, but it received {len(given)} state values. "
                f"Input received: {states}"
            )
        for index, (state, value) in enumerate(zip(own, given, strict=True)):
            if tuple(value.shape) != tuple(state.shape):
                raise ValueError(
                    f"State {index} is incompatible with layer {self._name}: expected shape={tuple(state.shape)}, "
                    f"found shape={tuple(value.shape)}"
                )
        for state, value in zip(own, given, strict=True):
            state.assign(value)

    def get_initial_state(self, inputs: Tensor) -> list[Any]:
        """Return zeros for as many rows as the inputs have: f[b, units] for each state of the cell."""
        rows = shape(inputs)[1] if self.time_major else batch_of(inputs)
        dtype = inputs.dtype if inputs.dtype.is_floating else self._dtype
        if hasattr(self.cell, "get_initial_state"):
            made = self.cell.get_initial_state(batch_size=rows, dtype=dtype, inputs=None)
            return list(made) if isinstance(made, (list, tuple)) else [made]
        return [initial_states(size, rows, dtype) for size in self._sizes]

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the layer; `inputs` may be [inputs, states ...]."""
        if isinstance(inputs, (list, tuple)) and kwargs.get("initial_state") is None:
            inputs, kwargs["initial_state"] = inputs[0], list(inputs[1:]) or None
        return super().__call__(inputs, *args, **kwargs)

    def compute_mask(self, inputs: Tensor, mask: Tensor | Sequence[Tensor] | None = None) -> Any:
        """Return the mask of the steps where all of them are returned, else None."""
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        own = mask if self.return_sequences else None
        return [own, *(None for _ in self._sizes)] if self.return_state else own

    def call(
        self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Tensor | Sequence[Tensor] | None
        = None,
    ) -> Any:  # fmt: skip
        """Return the output, and the states if they are asked for."""
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        states = self._first_states(inputs, initial_state)
        if self._drops_each_step:
            (masks, _), training = self.cell.masks(inputs, training), False
            inputs = inputs if masks is None else inputs * masks[0]
        if not self.time_major:
            inputs = _swapped(inputs)
            mask = None if mask is None else transpose(mask)
        if self.go_backwards:
            inputs = reverse(inputs, [0])
            mask = None if mask is None else reverse(mask, [0])
        last, outputs, states = self._steps(inputs, mask, states, training)
        if self.stateful:
            for kept, state in zip(self._states, nesting.flatten(states), strict=True):
                kept.assign(cast(state, kept.dtype))
        result = last
        if self.return_sequences:
            result = outputs if self.time_major else _swapped(outputs)
        return [result, *self._packed(states)] if self.return_state else result

    @property
    def _drops_each_step(self) -> bool:
        """True if `dropout` drops other inputs in each step, as Keras's LSTM and GRU do where a GPU could take them."""
        cell: Any = self.cell
        if not isinstance(self, (LSTM, GRU)) or cell.recurrent_dropout or self.unroll or not cell.use_bias:
            return False
        gates = cell.recurrent_activation in (activations.sigmoid, sigmoid)
        return cell.activation in (activations.tanh, tanh) and gates and getattr(cell, "reset_after", True)

    def _packed(self, states: list[Any]) -> Any:
        """The states in the form of `state_size`."""
        sizes = self.cell.state_size
        nested = isinstance(sizes, (list, tuple)) and any(isinstance(size, (list, tuple)) for size in sizes)
        return nesting.pack_sequence_as(sizes, states) if nested else states

    def _first_states(self, inputs: Tensor, initial_state: Tensor | Sequence[Tensor] | None) -> list[Any]:
        if initial_state is None:
            if self.stateful:
                return [state.read_value() for state in self._states]
            return nesting.flatten(self.get_initial_state(inputs))
        given: list[Any] = nesting.flatten(initial_state)
        if self.stateful and len(given) == len(self._states):  # which go on unless they are all zero
            kept = [state.read_value() for state in self._states]
            begun = reduce_any(stack([reduce_any(not_equal(state, 0)) for state in kept]))
            return [where(begun, state, cast(value, state.dtype)) for state, value in zip(kept, given, strict=True)]
        if len(given) != len(self._sizes):
            raise ValueError(
                f"Layer {self._name} has {len(self._sizes)} states but was passed {len(given)} initial states. "
                f"Received: initial_state={initial_state}"
            )
        return given

    def _steps(
        self, inputs: Tensor, mask: Tensor | None, states: list[Any], training: Training
    ) -> tuple[Any, Any, list[Any]]:
        """The last output, all outputs (None if not needed) and the last states. inputs: f[t, b, *s], mask: b[t, b]."""
        step, inputs = self._prepared(inputs, states, training)
        wanted = self.return_sequences
        first = _nothing(self.cell, states)
        if self.unroll:
            length = inputs.shape[0]
            if length is None:
                raise ValueError("Unrolling requires a fixed number of timesteps.")
            outputs, output = [], first
            masks: Any = [None] * length if mask is None else unstack(cast(mask, "bool"))
            for one, keep in zip(unstack(inputs), masks, strict=True):
                output, states, shown = self._masked(step(one, states), keep, output, states)
                outputs.append(shown)
            return (outputs[-1] if outputs else first), stack(outputs) if wanted else None, states
        length = inputs.shape[0] if inputs.shape[0] is not None else shape(inputs)[0]
        array = TensorArray(inputs.dtype, size=length).unstack(inputs)
        masks = None if mask is None else TensorArray("bool", size=length).unstack(cast(mask, "bool"))
        made = [TensorArray(first.dtype, size=length, element_shape=first.shape)] if wanted else []

        def body(t: Tensor, output: Tensor, shown: Tensor, states: list[Any], made: list[Any]) -> Any:
            keep = None if masks is None else masks.read(t)
            output, states, shown = self._masked(step(array.read(t), states), keep, output, states)
            return t + 1, output, shown, states, [one.write(t, shown) for one in made]

        state = (constant(0), first, first, states, made)
        _, _, shown, states, made = while_loop(lambda t, *rest: t < length, body, state, maximum_iterations=length)
        return shown, made[0].stack() if wanted else None, states

    def _prepared(self, inputs: Tensor, states: list[Any], training: Training) -> tuple[Any, Any]:
        """One step as a function of inputs and states, and its inputs: of Keras's cells what needs no state is done."""
        cell = self.cell
        # In a Function each step has masks of its own: Keras keeps those that the graph has in which a step stands, and
        # the loop's body is one by itself. It draws some before the loop, too, for a step that is there for its dtype.
        drawn = cell.drawn(training) if (_is_own(cell) or isinstance(cell, StackedRNNCells)) and not self.unroll else 0
        if drawn and current_trace() is not None:
            generators.skip(drawn)
            return lambda given, states: _listed(cell(given, self._packed(states), training=training)), inputs
        if isinstance(cell, StackedRNNCells):
            masks = cell.masks(inputs[0], training)
            return lambda given, states: _listed(cell(given, self._packed(states), masks=masks)), inputs
        if not _is_own(cell):
            return lambda given, states: _listed(cell(given, self._packed(states))), inputs
        of_inputs, of_state = cell.masks(inputs[0], training)
        return lambda given, states: cell.step(given, states, of_state), cell.project(inputs, of_inputs)

    def _masked(self, result: tuple[Any, list[Any]], keep: Tensor | None, output: Tensor, states: list[Any]) -> Any:
        """The output that goes on, the states, and the output that is shown, of a step; rows may have none."""
        new, after = result
        if keep is None:
            return new, after, new
        kept = where(_column(keep, new), new, output)
        after = [where(_column(keep, one), one, old) for one, old in zip(after, states, strict=True)]
        shown = where(_column(keep, new), new, zeros_like(new)) if self.zero_output_for_mask else kept
        return kept, after, shown

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        own: dict[str, Any] = {
            "return_sequences": self.return_sequences, "return_state": self.return_state,
            "go_backwards": self.go_backwards, "stateful": self.stateful, "unroll": self.unroll,
            "time_major": self.time_major, "zero_output_for_mask": self.zero_output_for_mask,
        }  # fmt: skip
        if type(self) is RNN:
            own["cell"] = identifiers.described(self.cell, "keras.layers")
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """Return the layer that `get_config` described."""
        if cls is RNN and isinstance(config.get("cell"), dict):
            config = {**config, "cell": deserialize(config["cell"], custom_objects)}
        return cls(**cls._asking(config))


@without(
    {
        "tf.nn.dropout in a cell of your own": "get_dropout_mask_for_cell get_recurrent_dropout_mask_for_cell "
        "reset_dropout_mask reset_recurrent_dropout_mask",
        "the attribute of its `cell`": "activation bias_constraint "
        "bias_initializer bias_regularizer dropout implementation "
        "kernel_constraint kernel_initializer kernel_regularizer recurrent_activation "
        "recurrent_constraint recurrent_dropout recurrent_initializer recurrent_regularizer reset_after "
        "unit_forget_bias use_bias",
    }
)
class _Recurrent(RNN):
    """The base of layers of one of Keras's own cells: arguments of the cell are taken as well."""

    CELL: type[Any]

    def __init__(self, units: int, activation: ActivationLike = "tanh", **kwargs: Any) -> None:
        of_cell = {name: kwargs.pop(name) for name in _OF_CELLS if name in kwargs}
        activity = kwargs.pop("activity_regularizer", None)
        dtype = {"dtype": kwargs["dtype"]} if kwargs.get("dtype") is not None else {}
        name = backend.snake_case(self.CELL.__name__)  # weights are called so in each layer
        super().__init__(self.CELL(units, activation, **of_cell, **dtype, name=name), **kwargs)
        self.activity_regularizer = regularizers.get(activity)
        self.units = self.cell.units

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return {**self.cell.get_config(), **super().get_config()}


class SimpleRNN(_Recurrent):
    """Output is activation(x @ kernel + output before @ recurrent_kernel + bias). f[b, t, n] -> f[b, units].

    Arguments: those of SimpleRNNCell and of RNN. Source: tf.keras.layers.SimpleRNN.
    """

    CELL = SimpleRNNCell


class LSTM(_Recurrent):
    """Long short-term memory. f[b, t, n] -> f[b, units], or with `return_sequences` f[b, t, units].

    Arguments: those of LSTMCell and of RNN. With `return_state` h and c follow. Source: tf.keras.layers.LSTM.

    Examples:
        >>> tf.keras.layers.LSTM(4)(np.zeros((2, 5, 3), "float32")).shape
        TensorShape([2, 4])
    """

    CELL = LSTMCell


class GRU(_Recurrent):
    """Gated recurrent unit. f[b, t, n] -> f[b, units], or with `return_sequences` f[b, t, units].

    Arguments: those of GRUCell and of RNN. Source: tf.keras.layers.GRU.
    """

    CELL = GRUCell


_MERGES: dict[str, Any] = {
    "concat": lambda pair: concat(pair, axis=-1),
    "sum": lambda pair: pair[0] + pair[1],
    "mul": lambda pair: pair[0] * pair[1],
    "ave": lambda pair: (pair[0] + pair[1]) / 2,
}


@without({"the constraints of the layer that it wraps": "constraints"})
class Bidirectional(Layer):
    """A recurrent layer forwards, a copy of it backwards, and their outputs joined as `merge_mode` says.

    merge_mode: "concat", "sum", "mul", "ave", or None for a list of both. Source: tf.keras.layers.Bidirectional.
    """

    def __init__(
        self, layer: Layer, merge_mode: str | None = "concat", weights: Sequence[TensorLike] | None = None,
        backward_layer: Layer | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not isinstance(layer, RNN):
            raise ValueError(f"Please initialize `Bidirectional` layer with a recurrent layer. Received: {layer}")
        if merge_mode is not None and merge_mode not in _MERGES:
            raise ValueError(
                f"Invalid merge mode. Received: {merge_mode}. Merge mode should be one of {[*_MERGES, None]}"
            )
        super().__init__(**kwargs)
        self.merge_mode, self._backward_given = merge_mode, backward_layer is not None
        config = {**layer.get_config(), "zero_output_for_mask": layer.return_sequences}
        self.forward_layer = type(layer).from_config({**config, "name": f"forward_{layer.name}"})
        flipped = {**config, "go_backwards": not layer.go_backwards, "name": f"backward_{layer.name}"}
        self.backward_layer = backward_layer or type(layer).from_config(flipped)
        self.stateful = layer.stateful
        self.supports_masking = True

    def reset_states(self) -> None:
        """Let the next call of both layers begin with zeros."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def build(self, input_shape: ShapeLike) -> None:
        """Make the weights of both layers."""
        for layer in (self.forward_layer, self.backward_layer):
            with name_scope(layer.name):
                layer.build(input_shape)
        self.built = True

    def compute_mask(self, inputs: Tensor, mask: Tensor | Sequence[Tensor] | None = None) -> Any:
        """Return the mask of the steps where all of them are returned, else None."""
        own = self.forward_layer.compute_mask(inputs, mask)
        return [own, own] if self.merge_mode is None else own

    def call(
        self, inputs: Tensor, mask: Tensor | Sequence[Tensor] | None = None, training: Training | None = None
    ) -> Any:
        """Return the joined outputs, then the states of both layers if they return any."""
        forward = self.forward_layer(inputs, mask=mask, training=training)
        backward = self.backward_layer(inputs, mask=mask, training=training)
        states: list[Any] = []
        if self.forward_layer.return_state:
            states = [*forward[1:], *backward[1:]]
            forward, backward = forward[0], backward[0]
        if self.forward_layer.return_sequences:
            backward = reverse(backward, [0 if self.forward_layer.time_major else 1])
        if self.merge_mode is None:
            return [forward, backward, *states]
        merged = _MERGES[self.merge_mode]([forward, backward])
        return [merged, *states] if states else merged

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        name = self.forward_layer.name.removeprefix("forward_")
        config = {**self.forward_layer.get_config(), "name": name}
        layer = {**identifiers.described(self.forward_layer, "keras.layers"), "config": config}
        rows = {"merge_mode": self.merge_mode, "layer": layer}
        if self._backward_given:
            rows["backward_layer"] = identifiers.described(self.backward_layer, "keras.layers")
        return {**super().get_config(), **rows}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Return the layer that `get_config` described."""
        kinds: dict[str, Any] = {"LSTM": LSTM, "GRU": GRU, "SimpleRNN": SimpleRNN, "RNN": RNN}
        rows = {name: config[name] for name in ("layer", "backward_layer") if config.get(name) is not None}
        first = dict(rows["layer"]["config"])
        first["name"] = first["name"].removeprefix("forward_")  # of Keras 3
        rows["layer"] = {**rows["layer"], "config": first}
        made = {name: kinds[row["class_name"]].from_config(row["config"]) for name, row in rows.items()}
        return cls(**{**config, **made})


_OF_CELLS = (
    "recurrent_activation", "use_bias", "unit_forget_bias", "reset_after", "dropout", "recurrent_dropout",
    "implementation", "rank", "kernel_size", "strides", "padding", "data_format", "dilation_rate",
    *(f"{part}_{kind}" for part in PARTS for kind in ("initializer", "regularizer", "constraint")),
)  # fmt: skip


def _is_own(cell: object) -> bool:
    return getattr(type(cell), "call", None) is Cell.call  # a subclass may have a `call` of its own


def _listed(result: Any) -> Any:
    """The output of a step and its states, as a list."""
    output, states = result
    return output, nesting.flatten(states)


def _swapped(value: Any) -> Any:
    """Time first, or the batch: the first two axes change places."""
    return transpose(value, [1, 0, *range(2, value.shape.rank)])


def _column(keep: Any, value: Any) -> Any:
    """True at the rows that stay, in the rank of `value`."""
    while keep.shape.rank < value.shape.rank:
        keep = expand_dims(keep, -1)
    return keep


def _nothing(cell: Any, states: list[Any]) -> Any:
    """The output before the first step: zeros."""
    size = getattr(cell, "output_size", None)
    if size is None or size == states[0].shape[-1]:
        return zeros_like(states[0])
    return initial_states(size, batch_of(states[0]), states[0].dtype)
