"""Functional models: the layers between symbolic inputs and outputs, run in order, and described by a config.

Rule: a network is a list of nodes, each after those it needs; it runs them, and says nothing about training.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.conversion import constant
from fastgraph.core.tensor import EagerTensor, convert
from fastgraph.keras.layers.input_spec import InputSpec, check
from fastgraph.keras.layers.symbolic import InputTensor, Node, replaced
from fastgraph.state.variable import Variable

_TENSOR = "__keras_tensor__"
_CONSTANT = "__tensor__"  # as Keras 3 has it


class Network:
    """The calls of layers that lead from `inputs` to `outputs`, both symbolic tensors in any structure.

    `losses` are symbolic tensors that are computed besides: what `add_loss` was given.
    Raises ValueError for inputs that no tf.keras.Input made, outputs that are no symbolic tensors, and outputs that
    need more than the inputs.
    """

    def __init__(self, inputs: Any, outputs: Any, losses: Sequence[Any] = ()) -> None:
        self.losses: list[InputTensor] = list(losses)
        self.structure, self.out_structure = _alone(inputs), _alone(outputs)
        self.inputs: list[InputTensor] = nesting.flatten(inputs)
        self.outputs: list[InputTensor] = nesting.flatten(outputs)
        for what, tensors in (("Input", self.inputs), ("Output", self.outputs), ("Loss", self.losses)):
            for tensor in tensors:
                if not isinstance(tensor, InputTensor) or tensor.node is None:
                    raise ValueError(
                        f"{what} tensors to a Model must come from `tf.keras.Input` and layers called on it. Received: "
                        f"{tensor!r}"
                    )
        self.nodes: list[Node] = []
        self._layer_order: dict[int, int] = {}
        self._find([*self.outputs, *self.losses])
        self.layers = self._sorted_layers()
        names = [layer.name for layer in self.layers]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(
                    f'The name "{name}" is used {names.count(name)} times in the model. All layer names should be '
                    "unique."
                )
        self.input_names = [_layer(tensor).name for tensor in self.inputs]
        self.output_names = unique([_layer(tensor).name for tensor in self.outputs])

    def _find(self, outputs: list[InputTensor]) -> None:
        """List the nodes that the outputs need, each after those that it needs itself."""
        given = {id(tensor) for tensor in self.inputs}
        done: set[int] = set()
        ahead: list[tuple[Node, bool]] = [(tensor.node, False) for tensor in reversed(outputs) if tensor.node]
        accessed: list[str] = []
        while ahead:
            node, complete = ahead.pop()
            if complete:
                self.nodes.append(node)
                accessed.append(node.layer.name)
                continue
            if id(node) in done:
                continue
            done.add(id(node))
            self._layer_order.setdefault(id(node.layer), len(self._layer_order))
            ahead.append((node, True))
            if all(id(tensor) in given for tensor in nesting.flatten(node.outputs)):
                continue
            if not node.inputs:
                raise ValueError(
                    f"Graph disconnected: cannot obtain value for tensor {node.outputs} at layer "
                    f'"{node.layer.name}". The following previous layers were accessed without issue: {accessed}'
                )
            ahead += [(tensor.node, False) for tensor in reversed(node.inputs) if tensor.node]

    def _sorted_layers(self) -> list[Any]:
        """The layers from the inputs on: those that are farther from the outputs first, then as they were found."""
        given = {id(tensor) for tensor in self.inputs}
        depths: dict[int, int] = {}
        of_layers: dict[int, int] = {}
        for node in reversed(self.nodes):
            depth = max(depths.get(id(node), 0), of_layers.get(id(node.layer), 0))
            depths[id(node)] = of_layers[id(node.layer)] = depth
            if any(id(tensor) in given for tensor in nesting.flatten(node.outputs)):
                continue
            for tensor in node.inputs:
                depths[id(tensor.node)] = max(depths.get(id(tensor.node), 0), depth + 1)
        layers = {id(node.layer): node.layer for node in self.nodes}
        for tensor in self.inputs:  # also those that no output needs
            layers.setdefault(id(_layer(tensor)), _layer(tensor))
        return sorted(layers.values(), key=lambda v: (-of_layers.get(id(v), 0), self._layer_order.get(id(v), -1)))

    # Run.

    def run(
        self, inputs: Any, conform: Callable[[Any, Any], Any], name: str, add_loss: Callable[[Any], None]
    ) -> Any:  # fmt: skip
        """Return what the layers make of inputs, which come in the model's structure, as a list, or by name."""
        given = self._in_order(inputs)
        if len(given) != len(self.inputs):
            raise ValueError(
                f'Layer "{name}" expects {len(self.inputs)} input(s), but it received {len(given)} input tensors. '
                f"Inputs received: {given}"
            )
        tensors = {}
        for index, (symbol, value) in enumerate(zip(self.inputs, given, strict=True)):
            if symbol.shape.rank is not None:
                check(
                    [None] * index + [InputSpec(shape=symbol.shape, allow_last_axis_squeeze=True)],
                    given[: index + 1],
                    name,
                )
            tensors[id(symbol)] = conform(value, symbol.spec)
        for node in self.nodes:
            symbols = nesting.flatten(node.outputs)
            if all(id(symbol) in tensors for symbol in symbols):
                continue
            args: list[Any] = replaced(list(node.args), tensors)
            values = nesting.flatten(node.layer(*args, **replaced(node.kwargs, tensors)))
            for symbol, value in zip(symbols, values, strict=True):
                tensors[id(symbol)] = value
        for loss in self.losses:
            add_loss(tensors[id(loss)])
        return replaced(self.out_structure, tensors)

    def _in_order(self, inputs: Any) -> list[Any]:
        if isinstance(inputs, Mapping):
            if isinstance(self.structure, Mapping) and set(self.structure) <= set(inputs):
                return [inputs[key] for key in sorted(self.structure)]
            missing = [name for name in self.input_names if name not in inputs]
            if missing:
                raise ValueError(f"Missing data for input {missing}: the data has {sorted(inputs)}.")
            return [inputs[name] for name in self.input_names]
        return nesting.flatten(inputs)

    # Describe.

    def config(self, described: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Return the layers, described, with their calls, and where the inputs and outputs are."""
        numbers = {id(node): number for node, number in self._numbered()}
        rows = []
        for layer in self.layers:
            calls = [
                {"args": _written(args, numbers), "kwargs": _written(kwargs, numbers)}
                for node, (args, kwargs) in ((node, _by_name(node)) for node in self.nodes)
                if node.layer is layer and node.inputs
            ]
            rows.append(described(layer))
            rows[-1] |= {"name": layer.name, "inbound_nodes": calls}
        return {
            "layers": rows,
            "input_layers": _ends(self.structure, numbers),
            "output_layers": _ends(self.out_structure, numbers),
            **({"losses": _written(self.losses, numbers)} if self.losses else {}),
        }

    def _numbered(self) -> list[tuple[Node, int]]:
        counts: dict[int, int] = {}
        found = []
        for node in self.nodes:
            number = counts.get(id(node.layer), 0)
            counts[id(node.layer)] = number + 1
            found.append((node, number))
        for tensor in self.inputs:
            if tensor.node is not None and not counts.get(id(tensor.node.layer)):
                found.append((tensor.node, 0))
        return found

    def connected_to(self, layer: object) -> list[str]:
        """Return where a layer's inputs come from, as the summary says it: ["dense[0][0]"]."""
        numbers = {id(node): number for node, number in self._numbered()}
        found = []
        for node in self.nodes:
            if node.layer is layer:
                found += [
                    f"{_layer(t).name}[{numbers[id(t.node)]}][{t.index}]" for t in node.inputs if id(t.node) in numbers
                ]
        return found

    def is_chain(self) -> bool:
        """Return whether each layer is called once, on what one other gives."""
        called = [id(node.layer) for node in self.nodes]
        if len(called) != len(set(called)) or len(self.inputs) > 1:
            return False
        sources = [id(tensor.node) for node in self.nodes for tensor in node.inputs]
        return len(sources) == len(set(sources)) and all(len(node.inputs) <= 1 for node in self.nodes)


def rebuilt(config: dict[str, Any], made: Callable[[dict[str, Any]], Any]) -> tuple[Any, Any, Any]:
    """Return the inputs, outputs and losses of the network of a config; `made` makes a layer of its row."""
    first: dict[str, int] = {}
    if any(isinstance(call, list) or "args" not in call for row in config["layers"] for call in row["inbound_nodes"]):
        config = _of_keras_2(config, first)
    layers = {row["name"]: made(row) for row in config["layers"]}
    inputs = [row["name"] for row in config["layers"] if not row["inbound_nodes"]]
    outputs: dict[tuple[str, int], Any] = {(name, 0): layers[name]._nodes[0].outputs for name in inputs}
    waiting = [
        (row["name"], number, call)
        for row in config["layers"]
        for number, call in enumerate(row["inbound_nodes"], first.get(row["name"], 0))
    ]
    while waiting:
        left = []
        for name, number, call in waiting:
            if all(key in outputs for key in _needed(call)):
                layer = layers[name]
                layer(*_read(call["args"], outputs), **_read(call["kwargs"], outputs))
                outputs[name, number] = layer._nodes[-1].outputs
            else:
                left.append((name, number, call))
        if len(left) == len(waiting):
            raise ValueError(
                f"The config of a functional model lacks what these layers need: {[row[0] for row in left]}"
            )
        waiting = left
    first = {name: 1 for name, layer in layers.items() if _leads_on(layer)}
    ends = (end_places(config[key], first) for key in ("input_layers", "output_layers"))
    return *(_read(one, outputs) for one in ends), _read(config.get("losses", []), outputs)


def _of_keras_2(config: dict[str, Any], first: dict[str, int]) -> dict[str, Any]:
    """Return a config of Keras 2, places as [layer, call, index, keywords], as `config` writes it.

    first: is given the number of the first call of each layer, which is 1 of models inside of models.
    """
    names = {row["name"] for row in config["layers"]}

    def read(value: Any, keywords: dict[str, Any]) -> Any:
        if isinstance(value, Mapping):
            return {key: read(item, keywords) for key, item in value.items()}
        if not isinstance(value, list):
            return value
        if len(value) < 3 or not isinstance(value[0], str) or value[0] not in {*names, "_CONSTANT_VALUE"}:
            return [read(item, keywords) for item in value]
        name, number, index, *more = value
        for kept in more:
            keywords.update(read(kept, {}))
        if name == "_CONSTANT_VALUE":
            return index
        first[name] = min(number, first.get(name, number))
        return {"class_name": _TENSOR, "config": {"keras_history": [name, number, index]}}

    def alone(value: Any) -> Any:
        return value[0] if isinstance(value, list) and len(value) == 1 else value

    rows = []
    for row in config["layers"]:
        calls: list[dict[str, Any]] = [{"args": [], "kwargs": {}} for _ in row["inbound_nodes"]]
        for call, given in zip(calls, row["inbound_nodes"], strict=True):
            call["args"] = [alone(read(given, call["kwargs"]))]
        rows.append({**row, "inbound_nodes": calls})
    ends = {key: alone(read(config[key], {})) for key in ("input_layers", "output_layers")}
    return {**config, "layers": rows, **ends}


def unique(names: list[str]) -> list[str]:
    """Return the names, with "_1", "_2" behind those that were there already."""
    counts: dict[str, int] = {}
    found = []
    for name in names:
        number = counts.get(name, 0)
        counts[name] = number + 1
        found.append(f"{name}_{number}" if number else name)
    return found


def _alone(tensors: Any) -> Any:
    """The tensor of a list of one, which Keras 2 takes for the tensor itself; else what is given."""
    return tensors[0] if isinstance(tensors, list) and len(tensors) == 1 else tensors


def _layer(tensor: InputTensor) -> Any:
    assert tensor.node is not None
    return tensor.node.layer


def _written(value: Any, numbers: dict[int, int]) -> Any:
    """A value of a call with places in the network for the symbolic tensors in it."""
    if isinstance(value, InputTensor):
        place = [_layer(value).name, numbers[id(value.node)], value.index]
        spec = {"shape": value.shape.as_list() if value.shape.rank is not None else None, "dtype": value.dtype.name}
        return {"class_name": _TENSOR, "config": {**spec, "keras_history": place}}
    if isinstance(value, Mapping):
        return {key: _written(item, numbers) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_written(item, numbers) for item in value]
    if isinstance(value, (EagerTensor, Variable, np.ndarray)):
        array = np.asarray(convert(value))
        return {"class_name": _CONSTANT, "config": {"value": array.tolist(), "dtype": as_dtype(array.dtype).name}}
    return value


def _by_name(node: Node) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call: the first, and the others by their names, which Keras 2 wants, where those are known."""
    names = list(inspect.signature(node.layer.call).parameters.values())[1 : len(node.args)]
    if any(name.kind is not name.POSITIONAL_OR_KEYWORD for name in names) or len(names) < len(node.args) - 1:
        return list(node.args), node.kwargs
    return list(node.args[:1]), {**{n.name: v for n, v in zip(names, node.args[1:], strict=True)}, **node.kwargs}


def _leads_on(layer: object) -> bool:
    """Tell functional models: where outputs are listed Keras 3 counts a call that came with those."""
    return getattr(layer, "_network", None) is not None


def _ends(value: Any, numbers: dict[int, int]) -> Any:
    """Symbolic tensors as Keras 3 lists a model's inputs and outputs."""
    if isinstance(value, InputTensor):
        return [_layer(value).name, numbers[id(value.node)] + _leads_on(_layer(value)), value.index]
    if isinstance(value, Mapping):
        return {key: _ends(item, numbers) for key, item in value.items()}
    return [_ends(item, numbers) for item in value]


def end_places(value: Any, first: Mapping[str, int]) -> Any:
    """Return what `config` has of inputs and outputs as places. first: {layer: the number of its first call}."""
    if isinstance(value, list) and len(value) == 3 and isinstance(value[0], str):
        name, number, index = value
        return {"class_name": _TENSOR, "config": {"keras_history": [name, number - first.get(name, 0), index]}}
    if isinstance(value, list):
        return [end_places(item, first) for item in value]
    if isinstance(value, Mapping) and "class_name" not in value:
        return {key: end_places(item, first) for key, item in value.items()}
    return value


def _place(value: object) -> tuple[str, int, int] | None:
    if isinstance(value, Mapping) and value.get("class_name") == _TENSOR:
        name, node, index = value["config"]["keras_history"]
        return name, node, index
    return None


def _needed(value: Any) -> list[tuple[str, int]]:
    place = _place(value)
    if place is not None:
        return [place[:2]]
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [key for item in items for key in _needed(item)]


def _read(value: Any, outputs: dict[tuple[str, int], Any]) -> Any:
    place = _place(value)
    if place is not None:
        return nesting.flatten(outputs[place[:2]])[place[2]]
    if isinstance(value, Mapping):
        if value.get("class_name") in (_CONSTANT, "__constant__"):  # the second was written once
            return constant(value["config"]["value"], value["config"]["dtype"])
        return {key: _read(item, outputs) for key, item in value.items()}
    return [_read(item, outputs) for item in value] if isinstance(value, list) else value
