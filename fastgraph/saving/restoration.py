"""Values of a checkpoint brought back into objects: those that are there, and those that come later.

Rule: all is found, read and checked before anything changes; what has no object yet is noted where its object will be
set. Source: TensorFlow's checkpoint restoration.
"""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from fastgraph.core.base.dtype import string
from fastgraph.core.base.logger import get_logger
from fastgraph.core.replicas import acting
from fastgraph.core.tensor import from_array, init_scope
from fastgraph.graphdef.messages import Message
from fastgraph.saving.bulk_reading import Reading
from fastgraph.saving.object_graph import (
    VALUE,
    SaveableObject,
    escaped,
    is_python_state,
    legacy_name,
    node_names,
    saveables_of,
    serializes,
    variable_of,
)
from fastgraph.saving.tensor_bundle import BundleReader
from fastgraph.state.tracking import Trackable, WatchingDict, WatchingList, children_of, links_of
from fastgraph.state.variable import Variable

_numbers = itertools.count(1)
_UPDATED = "_self_update_uid"  # of an object: the number of the restoration that it has its values from


class Restoration:
    """One call of `restore`: what the checkpoint has, and which objects have taken what."""

    def __init__(self, reader: BundleReader, message: Message, skip_slots: bool = False) -> None:
        self.reader, self.message = reader, message
        self.number = next(_numbers)
        self.skip_slots = skip_slots
        self.expect_partial, self._log = False, get_logger()  # which can no longer be imported when all ends
        self.matched: set[int] = set()
        self.unused: dict[int, list[str]] = {}  # node -> attributes that its object does not have
        self.seen: dict[int, Any] = {}  # by id: every object that was met, weakly where that is possible
        self._objects: dict[int, Any] = {}
        self._waiting: dict[int, dict[str, list[Position]]] = {}  # by id: what lists and dicts are still without
        self._watching: dict[int, Any] = {}
        #: Variable -> (optimizer, slot, name): what is restored with that Variable; and what waits for the optimizer.
        self.slots: dict[int, list[tuple[int, int, str]]] = {}
        self.late_slots: dict[int, list[tuple[Any, int, str]]] = {}
        if not skip_slots:
            for number, node in enumerate(message.nodes):
                for slot in node.slot_variables:
                    row = (number, slot.slot_variable_node_id, slot.slot_name)
                    self.slots.setdefault(slot.original_variable_node_id, []).append(row)

    def object_of(self, node: int) -> Any:
        """Return the object that is bound to a node, None if there is none (any more)."""
        return alive(self._objects.get(node))

    def bound(self) -> list[Any]:
        """Return all objects that are bound to nodes."""
        return [value for node in self._objects if (value := self.object_of(node)) is not None]

    def see(self, value: Any) -> None:
        """Note that there is an object."""
        self.seen[id(value)] = _held(value)

    def bind(self, node: int, value: Any) -> bool:
        """Let an object be the one of a node; whether it is so from now on."""
        self.see(value)
        self.matched.add(node)
        known = self.object_of(node)
        if known is None:
            self._objects[node] = _held(value)
            return True
        if known is not value and known is not self._watching.get(id(value), (None, None))[1]:
            get_logger().warning(
                "Inconsistent references when loading the checkpoint into this object graph. For example, in the saved "
                "checkpoint object, `model.layer.weight` and `model.layer_copy.weight` reference the same variable, "
                "while in the current object these are two different variables. The referenced variables are:(%s and "
                "%s).", known, value,
            )  # fmt: skip
        return False

    def run(self, positions: list[tuple[Position, Any]], attached: dict[str, Any] | None = None) -> None:
        """Restore objects, and what they depend on."""
        queue = deque(positions)
        work: list[tuple[Position, Any]] = []
        missing: list[tuple[Any, str, Position]] = []
        while queue:
            position, value = queue.popleft()
            work.append((position, value))
            children = children_of(value)
            if attached and len(work) == 1:
                children = {**children, **attached}
            for child in position.node.children:
                if self.object_of(child.node_id) is not None:
                    continue
                there = Position(self, child.node_id)
                found = children.get(child.local_name)
                if found is None and isinstance(value, Trackable):
                    found = value._lookup_dependency(child.local_name, children)
                if found is None:
                    if _has_values(there.node):
                        missing.append((value, child.local_name, there))
                elif self.bind(child.node_id, found):
                    queue.append((there, found))
            queue.extend(self._slots(position, value))
        self._restore(work)
        for value, name, position in missing:
            awaited = (
                links_of(value).awaited if isinstance(value, Trackable) else self._waiting.setdefault(id(value), {})
            )
            awaited.setdefault(name, []).append(position)
        for _, value in work:
            self._watch(value)

    def _slots(self, position: Position, value: Any) -> list[tuple[Position, Any]]:
        """The slots that are now known with both their Variable and their optimizer."""
        node = position.number_of_node
        pairs = [(value, variable, slot, name) for variable, slot, name in self.late_slots.pop(node, ())]
        for optimizer, slot, name in self.slots.pop(node, ()):
            owner = self.object_of(optimizer)
            if owner is None:
                self.late_slots.setdefault(optimizer, []).append((value, slot, name))
            else:
                pairs.append((owner, value, slot, name))
        found = []
        for owner, variable, number, name in pairs:
            make = getattr(owner, "_create_or_restore_slot_variable", None)
            if make is None:  # a Checkpoint in the optimizer's place
                continue
            place = Position(self, number)
            made = make(slot_variable_position=place, slot_name=name, variable=variable)
            if made is not None and self.bind(number, made):
                found.append((place, made))
        return found

    def _restore(self, work: list[tuple[Position, Any]]) -> None:
        """Read and check the values of objects, then set them."""
        reading = Reading(self.reader)
        steps: list[Callable[[], Any]] = []
        begun: set[int] = set()  # an object in two places has the value of the first
        for position, value in work:
            if getattr(value, _UPDATED, -1) < self.number and id(value) not in begun:
                begun.add(id(value))
                steps += self._steps(position, value, reading)
        reading.run()
        with acting(None):  # the values of a Variable made on a replica are those of all its copies
            for step in steps:
                step()
        for _, value in work:
            if hasattr(value, "__dict__") and not isinstance(value, (list, dict)):
                value.__dict__[_UPDATED] = self.number

    def _steps(self, position: Position, value: Any, reading: Reading) -> list[Callable[[], Any]]:
        """Return the function that restores one object, once all is checked."""
        attributes = position.node.attributes
        if not attributes:
            return []
        if is_python_state(value):
            text = reading.array(attributes[0].checkpoint_key)
            return [lambda: value.deserialize(text()[()])]
        if serializes(value):
            first = legacy_name(value)
            key = attributes[0].checkpoint_key
            base = key[: key.index(".ATTRIBUTES/") + len(".ATTRIBUTES/")] if ".ATTRIBUTES/" in key else ""
            own = variable_of(value)
            if own is not None and not own._copies:
                keys = {each.name: each.checkpoint_key for each in attributes}
                if VALUE not in keys:
                    self._unused(position, [each.name for each in attributes])
                    return []
                reading.variable(own, keys[VALUE])
                return []
            names = {each.name: each.checkpoint_key for each in attributes}
            wanted = value._serialize_to_tensors()
            tensors = {
                name: reading.tensor(
                    f"{base}{first}{escaped(name)}" if first else names.get(escaped(name), base + escaped(name))
                )
                for name in wanted
            }
            return [lambda: value._restore_from_tensors({name: read() for name, read in tensors.items()})]
        return self._legacy_steps(position, value, reading)

    def _legacy_steps(self, position: Position, value: Any, reading: Reading) -> list[Callable[[], Any]]:
        """Return the function that restores an object that has `_gather_saveables_for_checkpoint`."""
        keys = {each.name: each.checkpoint_key for each in position.node.attributes}
        steps: list[Callable[[], Any]] = []
        found = saveables_of(value, lambda name: keys.get(name, ""))
        self._unused(position, [name for name in keys if name not in {each[0] for each in found}])
        for name, key, saveable, specs in found:
            if name not in keys:
                continue
            if isinstance(saveable, Variable) and saveable._copies:
                steps.append(_assigning(saveable, reading.tensor(key)))
            elif isinstance(saveable, Variable):
                reading.variable(saveable, key)
            elif isinstance(saveable, SaveableObject):
                steps.append(_restoring(saveable, [reading.tensor(spec.name) for spec in specs]))
        return steps

    def _unused(self, position: Position, names: list[str]) -> None:
        if names:
            self.unused.setdefault(position.number_of_node, []).extend(names)

    # Lists and dicts that wait for more.

    def watching(self, value: Any) -> Any:
        """Return a list or dict that restores what comes to it, in place of one that is without some values."""
        if isinstance(value, Trackable) or not isinstance(value, (list, dict)):
            return value
        known = self._watching.get(id(value))
        if known is not None:
            return known[1]
        waiting = self._waiting.pop(id(value), None)
        self._watch(value)
        if not waiting:
            return value
        made: Any
        if isinstance(value, (WatchingDict, WatchingList)):
            made = value
        else:
            made = WatchingDict(value) if isinstance(value, dict) else WatchingList(value)
        for name, positions in waiting.items():
            links_of(made).awaited.setdefault(name, []).extend(positions)
        self._watching[id(value)] = (value, made)
        for node in [node for node, held in self._objects.items() if held is value]:
            self._objects[node] = made
        return made

    def _watch(self, value: Any) -> None:
        """Put what watches in the place of lists and dicts that wait, in an object's attributes, a list or a dict."""
        if isinstance(value, tuple):
            return
        for name, child in children_of(value).items():
            made = self.watching(child)
            if made is child:
                continue
            if isinstance(value, dict):
                value[name] = made
            elif isinstance(value, list):
                value[int(name)] = made
            elif value.__dict__.get(name) is child:
                value.__dict__[name] = made
                links_of(value).watching[name] = made

    def __del__(self) -> None:
        if getattr(self, "expect_partial", True):
            return
        names = None
        lines = []
        for number, node in enumerate(self.message.nodes):
            if node.attributes and number not in self.matched:
                names = names or node_names(self.message)
                lines.append(f"Value in checkpoint could not be found in the restored object: {names.get(number)}")
        for number, attributes in self.unused.items():
            names = names or node_names(self.message)
            lines.append(
                "An attribute in the restored object could not be found in the checkpoint. Object: "
                f"{names.get(number)}, attribute: {attributes}"
            )
        if lines:
            self._log.warning(
                "Detecting that an object or model or tf.train.Checkpoint is being deleted with unrestored values. See "
                "the following logs for the specific values in question. To silence these warnings, use "
                "`status.expect_partial()`. See "
                "https://www.tensorflow.org/api_docs/python/tf/train/Checkpoint#restorefor details about the status "
                "object returned by the restore function."
            )
            for line in lines:
                self._log.warning(line)


class Position:
    """A place in a checkpoint: a node of its graph of objects."""

    __slots__ = ("number_of_node", "restoration")

    def __init__(self, restoration: Restoration, number_of_node: int) -> None:
        self.restoration, self.number_of_node = restoration, number_of_node

    @property
    def number(self) -> int:
        """The number of the restoration: values of later ones are the ones that count."""
        return self.restoration.number

    restore_uid = number

    @property
    def node(self) -> Any:
        """The TrackableObject."""
        return self.restoration.message.nodes[self.number_of_node]

    object_proto = node

    def restore(self, value: Any) -> None:
        """Restore an object, and what it depends on, from here."""
        with init_scope():
            if self.restoration.bind(self.number_of_node, value):
                self.restoration.run([(self, value)])

    def watching(self, value: Any) -> Any:
        """See Restoration."""
        return self.restoration.watching(value)

    def is_simple_variable(self) -> bool:
        """Return whether a Variable's value is all that there is."""
        attributes = self.node.attributes
        return len(attributes) == 1 and attributes[0].name == VALUE and not self.node.children

    def value_tensors(self, shape_and_slices: Any = None) -> dict[str, Any]:
        """Return {attribute: tensor}."""
        reader = self.restoration.reader
        return {each.name: as_tensor(reader, each.checkpoint_key) for each in self.node.attributes}


def _restoring(saveable: SaveableObject, tensors: list[Callable[[], Any]]) -> Callable[[], Any]:
    return lambda: saveable.restore([read() for read in tensors], None)


def _assigning(variable: Variable, read: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: variable.assign(read())


def as_tensor(reader: BundleReader, key: str) -> Any:
    """Return a tensor of a checkpoint."""
    dtype, _ = reader.dtype_and_shape(key)
    return from_array(reader.read(key), dtype, copy=dtype is string)


def _held(value: Any) -> Any:
    """A weak reference; the object itself where there can be none."""
    try:
        return weakref.ref(value)
    except TypeError:
        return value


def alive(held: Any) -> Any:
    """Return what a reference refers to, None if it is gone."""
    return held() if isinstance(held, weakref.ref) else held


def _has_values(node: Any) -> bool:
    if node.HasField("has_checkpoint_values"):
        return bool(node.has_checkpoint_values.value)
    return bool(node.children or node.attributes or node.slot_variables or node.HasField("registered_saver"))
