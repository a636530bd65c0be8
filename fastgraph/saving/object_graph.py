"""The graph of objects that a checkpoint keeps: which there are, what they depend on, which tensors are theirs.

Rule: a tensor's key is the shortest way to its object, by names, and the tensor's own name. Source: TensorFlow's
TrackableObjectGraph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, string
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.tensor import class_has, executing_eagerly, from_array
from fastgraph.graphdef.message_types import KINDS
from fastgraph.graphdef.messages import Message
from fastgraph.state.tracking import Trackable, children_of
from fastgraph.state.variable import Variable

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"  #: the key of the graph itself
VALUE = "VARIABLE_VALUE"
_ATTRIBUTES = "/.ATTRIBUTES/"
_PYTHON_STATE = "py_state"


def escaped(name: str) -> str:
    """Return a name as a part of a key: "/" separates the parts."""
    return name.replace(".", "..").replace("/", ".S")


class ObjectGraph:
    """The objects below a root, breadth first, with the ways to them.

    `attached` are further dependencies of the root, which it does not know of itself. Slots of optimizers come last.
    """

    def __init__(self, root: Any, attached: Mapping[str, Any] | None = None, slots: bool = True) -> None:
        self.root = root
        self.attached = attached or {}
        self.objects: list[Any] = [root]
        self.ids: dict[int, int] = {id(root): 0}
        self.paths: list[str] = [""]
        self.children: list[dict[str, Any]] = []
        self.slots: dict[int, list[tuple[str, int, int]]] = {}  # optimizer -> (name, of which Variable, which)
        self._follow()
        if slots:
            self._find_slots()

    def _follow(self) -> None:
        """Enter what the objects that came last depend on, and so on."""
        while (place := len(self.children)) < len(self.objects):
            children = self.children_of(self.objects[place])
            self.children.append(children)
            self._reach(place, children)

    def _reach(self, place: int, children: Mapping[str, Any]) -> None:
        path = self.paths[place]
        for name, child in children.items():
            if id(child) not in self.ids:
                self._enter(child, f"{path}/{escaped(name)}" if path else escaped(name))

    def attach(self, more: Mapping[str, Any]) -> None:
        """Let the root depend on more objects; before the slots are there."""
        self.attached = {**self.attached, **more}
        self.children[0].update(more)
        self._reach(0, more)
        self._follow()

    def _enter(self, value: Any, path: str) -> int:
        number = self.ids[id(value)] = len(self.objects)
        self.objects.append(value)
        self.paths.append(path)
        return number

    def children_of(self, value: Any) -> dict[str, Any]:
        """Return {name: what an object depends on}."""
        found = children_of(value)
        return {**found, **self.attached} if value is self.root and self.attached else found

    def _find_slots(self) -> None:
        """Enter what optimizers keep for Variables, under these and by names."""
        plain = len(self.objects)
        for optimizer in range(plain):
            value = self.objects[optimizer]
            if not class_has(value, "get_slot_names"):
                continue
            for name in value.get_slot_names():
                for place in range(plain):
                    try:
                        slot = value.get_slot(self.objects[place], name)
                    except (AttributeError, KeyError, TypeError):
                        slot = None
                    if slot is None:
                        continue
                    if id(slot) in self.ids:
                        raise NotImplementedError(
                            f"A slot variable was re-used as a dependency of a Trackable object: {slot}. This is not "
                            "currently allowed."
                        )
                    path = f"{self.paths[place]}/.OPTIMIZER_SLOT/{self.paths[optimizer]}/{escaped(name)}"
                    number = self._enter(slot, path)
                    self.children.append({})
                    self.slots.setdefault(optimizer, []).append((name, place, number))

    def tensors(self) -> tuple[Message, dict[str, Any]]:
        """Return the TrackableObjectGraph, and {key: tensor} of all objects' tensors."""
        kind = KINDS["TrackableObject"]
        message = KINDS["TrackableObjectGraph"]()
        found: dict[str, Any] = {}
        for place, children in enumerate(self.children):
            node = kind(
                children=[_reference(self.ids[id(child)], name) for name, child in children.items()],
                slot_variables=[_slot(*each) for each in self.slots.get(place, ())],
            )
            message.nodes.append(node)
            value = self.objects[place]
            for name, key, tensors in serialized(value, self.paths[place]):
                node.attributes.add(**_given(name=name, full_name=full_name(value), checkpoint_key=key))
                found.update(tensors)
        _mark_values(message)
        return message, found


def _given(**fields: Any) -> dict[str, Any]:
    """The fields that are not empty: those are not written."""
    return {name: value for name, value in fields.items() if value}


def _reference(number: int, name: str) -> Message:
    return KINDS["ObjectReference"](**_given(node_id=number, local_name=name))


def _slot(name: str, place: int, number: int) -> Message:
    given = _given(original_variable_node_id=place, slot_name=name, slot_variable_node_id=number)
    return KINDS["SlotVariable"](**given)


def full_name(value: Any) -> str:
    """Return the name by which checkpoints without a graph of objects know a Variable; "" for what is none."""
    own = variable_of(value)
    return "" if own is None else own._shared_name


def variable_of(value: Any) -> Variable | None:
    """Return a Variable itself, or the one that a Keras variable is made of; None for other objects."""
    if isinstance(value, Variable):
        return value
    inner = getattr(value, "_value", None)
    return inner if isinstance(inner, Variable) and serializes(value) else None


def serializes(value: Any) -> bool:
    """Return whether an object states its tensors by `_serialize_to_tensors`."""
    method = getattr(value, "_serialize_to_tensors", None)
    return method is not None and getattr(method, "__func__", None) is not Trackable._serialize_to_tensors


def legacy_name(value: Any) -> str:
    """Return the name that stands before those of an object's tensors: of tables and iterators."""
    return getattr(value, "_legacy_saveable_name", "")


def has_values(value: Any) -> bool:
    """Return whether a checkpoint keeps tensors of an object itself."""
    return serializes(value) or is_python_state(value) or bool(_saveables(value))


def is_python_state(value: Any) -> bool:
    """Return whether an object's state is a Python text, by `serialize` and `deserialize`."""
    return isinstance(value, PythonState)


def _saveables(value: Any) -> dict[str, Any]:
    method = getattr(value, "_gather_saveables_for_checkpoint", None)
    return method() if method is not None else {}


def serialized(value: Any, path: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return what an object's state is kept as: (attribute, its key, {key: tensor}) one by one."""
    base = path + _ATTRIBUTES
    if is_python_state(value):
        text = value.serialize()
        tensor = from_array(np.array(text, object), string)
        return [(_PYTHON_STATE, base + _PYTHON_STATE, {base + _PYTHON_STATE: tensor})]
    if serializes(value):
        found = value._serialize_to_tensors()
        first = legacy_name(value)
        if first:
            return [(first, base + first, {f"{base}{first}{escaped(name)}": each for name, each in found.items()})]
        return [(escaped(name), f"{base}{escaped(name)}", {f"{base}{escaped(name)}": each})
                for name, each in found.items()]  # fmt: skip
    return [(name, key, {each.name: each.value for each in specs})
            for name, key, _, specs in saveables_of(value, lambda name: base + escaped(name))]  # fmt: skip


class SaveSpec:
    """A tensor to be saved, its name, and what is part of a whole. Source: TensorFlow's saveable objects."""

    def __init__(
        self, tensor: Any, slice_spec: str, name: str, dtype: DTypeLike | None = None, device: Any = None
    ) -> None:
        self._tensor, self.slice_spec, self.name, self.device = tensor, slice_spec, name, device
        self.dtype = dtype if dtype is not None else getattr(tensor, "dtype", None)

    @property
    def tensor(self) -> Any:
        """The tensor, which may be given as a function that returns it."""
        return self._tensor() if callable(self._tensor) and not isinstance(self._tensor, Variable) else self._tensor

    value = tensor


class SaveableObject:
    """A saver and restorer of an object by SaveSpecs: the older way. Source: TensorFlow's saveable objects."""

    def __init__(self, op: Any, specs: list[SaveSpec], name: str) -> None:
        self.op, self.specs, self.name = op, specs, name

    def restore(self, restored_tensors: list[Any], restored_shapes: Any) -> Any:
        """Take the state from tensors, one for each spec."""
        raise ValueError("Calling an abstract method.")


def saveables_of(value: Any, key_of: Callable[[str], str]) -> list[tuple[str, str, Any, list[SaveSpec]]]:
    """Return what `_gather_saveables_for_checkpoint` states: (name, key, a SaveableObject or Variable, specs)."""
    found = []
    for name, factory in _saveables(value).items():
        key = key_of(name)
        saveable = factory(name=key) if callable(factory) and not isinstance(factory, Variable) else factory
        if isinstance(saveable, SaveableObject):
            specs = list(saveable.specs)
        elif isinstance(saveable, Variable):
            specs = [SaveSpec(saveable.value(), "", key)]
        else:
            specs = [SaveSpec(convert_to_tensor(saveable), "", key)]
        found.append((name, key, saveable, specs))
    return found


class PythonState(Trackable):
    """The base of objects whose state is a Python text: `serialize` returns it, `deserialize` takes it.

    Source: tf.train.experimental.PythonState.
    """

    def serialize(self) -> str:
        """Return the state as a text."""
        raise NotImplementedError

    def deserialize(self, string_value: Any) -> None:
        """Take the state from a text."""
        raise NotImplementedError


def _mark_values(message: Message) -> None:
    """Note of each node whether it, or one below it, has values."""
    above: dict[int, set[int]] = {}
    marked: set[int] = set()
    for number, node in enumerate(message.nodes):
        if node.attributes or node.slot_variables:
            marked.add(number)
        for child in node.children:
            above.setdefault(child.node_id, set()).add(number)
    ahead = list(marked)
    while ahead:
        for number in above.get(ahead.pop(), ()):
            if number not in marked:
                marked.add(number)
                ahead.append(number)
    for number, node in enumerate(message.nodes):
        if number in marked:
            node.has_checkpoint_values.value = True
        else:
            node.has_checkpoint_values.SetInParent()


def node_names(message: Message) -> dict[int, str]:
    """Return {number of a node: how it is called in messages}, "(root).child.child"."""
    names = {0: "(root)"}
    ahead = [0]
    for number in ahead:
        for child in message.nodes[number].children:
            if child.node_id not in names:
                names[child.node_id] = f"{names[number]}.{child.local_name}"
                ahead.append(child.node_id)
    for number, node in enumerate(message.nodes):
        for slot in node.slot_variables:
            names[slot.slot_variable_node_id] = (
                f"{names.get(number)}'s state '{slot.slot_name}' for {names.get(slot.original_variable_node_id)}"
            )
    return names


def check_graph(message: Message) -> str | None:
    """Return what is wrong with a graph that was read: a reference to a node that is not there. None: nothing is."""
    n = len(message.nodes)
    if not n:
        return "it has no nodes"
    for number, node in enumerate(message.nodes):
        others = [child.node_id for child in node.children]
        for slot in node.slot_variables:
            others += [slot.original_variable_node_id, slot.slot_variable_node_id]
        for other in others:
            if not 0 <= other < n:
                return f"node {number} refers to node {other}, and there are {n}"
    return None


def eager(what: str) -> None:
    """Raise NotImplementedError while a graph is traced."""
    if not executing_eagerly():
        raise NotImplementedError(what)
