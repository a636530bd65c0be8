"""Lists, dicts and tuples as libraries that assign attributes themselves have them: with weights, layers and parts.

Rule: such a container shows what another list or dict holds, and is one to everybody else. Modules of this package keep
the containers themselves (state/tracking); these are for `sticky_attribute_assignment` and `wrap` alone.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fastgraph.core.tensor import class_has
from fastgraph.state import tracking
from fastgraph.state.module import Module
from fastgraph.state.tracking import Trackable, WatchingDict, WatchingList, children_of, links_of


class TrackableDataStructure(Trackable):
    """The base of containers that are tracked. Source: tf.__internal__.tracking.TrackableDataStructure.

    What is said of weights and layers is said of the parts, in their order: those of a layer are its own, a Variable is
    a weight.
    """

    @property
    def _values(self) -> list[Any]:
        """The parts, but for classes, which have no weights yet."""
        return [each for each in self if not isinstance(each, type)]  # type: ignore[attr-defined]

    @property
    def _layers(self) -> list[Any]:
        """The parts that are layers, or containers of them."""
        return [value for value in self._values if isinstance(value, TrackableDataStructure) or _is_layer(value)]

    @property
    def layers(self) -> list[Any]:
        """The layers among the parts and in containers among them, each once."""
        found: dict[int, Any] = {}
        for value in self._values:
            inside = value.layers if isinstance(value, TrackableDataStructure) else [value] if _is_layer(value) else ()
            found.update((id(layer), layer) for layer in inside)
        return list(found.values())

    def _weights(self, kind: str) -> list[Any]:
        found: dict[int, Any] = {}
        for value in self._values:
            if hasattr(value, "__fg_cell__") or (_is_variable(value)):
                right = kind == "weights" or value.trainable == (kind == "trainable_weights")
                inside: Iterable[Any] = [value] if right else ()
            else:
                inside = getattr(value, kind, None) or ()
                if not inside and isinstance(value, Module) and not hasattr(value, kind):
                    inside = getattr(value, kind.replace("weights", "variables"))
            found.update((id(weight), weight) for weight in inside)
        return list(found.values())

    trainable_weights = property(lambda self: self._weights("trainable_weights"), doc="Those that are trained.")
    non_trainable_weights = property(lambda self: self._weights("non_trainable_weights"), doc="Those that are not.")
    weights = property(lambda self: self._weights("weights"), doc="The weights of the parts.")
    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights
    variables = weights

    @property
    def losses(self) -> list[Any]:
        """All that the parts say of losses."""
        return list(itertools.chain.from_iterable(getattr(value, "losses", ()) for value in self._values))

    @property
    def updates(self) -> list[Any]:
        """All that the parts say of updates."""
        return list(itertools.chain.from_iterable(getattr(value, "updates", ()) for value in self._values))

    @property
    def trainable(self) -> bool:
        """True if the parts are trained: what was set last."""
        return getattr(self, "_self_trainable", True)

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._self_trainable = value
        for each in self.layers:
            each.trainable = value

    def _gather_children_attribute(self, attribute: str) -> list[Any]:
        return [each for value in self._values for each in getattr(value, attribute, ())]


def _is_variable(value: object) -> bool:
    return class_has(value, "_shared_name")


def _is_layer(value: object) -> bool:
    """Return whether a value is what libraries call a layer: it has weights, and is neither one nor a container."""
    kind = type(value)
    return (
        hasattr(kind, "trainable_weights")
        and hasattr(kind, "non_trainable_weights")
        and not isinstance(value, TrackableDataStructure)
    )


class TrackedList(TrackableDataStructure, WatchingList):
    """A list among a layer's attributes, which shows the list that was given."""

    __fg_like__ = list
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, storage: list[Any]) -> None:
        WatchingList.__init__(self, storage)
        _wrap_inside(self, enumerate(storage))

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: object) -> dict[str, Any]:
        return {str(i): item for i, item in enumerate(self) if tracking.tracked(item)}

    def catch_up(self) -> bool:
        """Take over what has come to the list, wrapped, and restore it."""
        awaited = super().catch_up()
        _wrap_inside(self, enumerate(self.storage))
        return awaited


class TrackedDict(TrackableDataStructure, WatchingDict):
    """A dict among a layer's attributes, which shows the dict that was given."""

    __fg_like__ = dict
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, storage: dict[Any, Any]) -> None:
        WatchingDict.__init__(self, storage)
        _wrap_inside(self, [*storage.items()])

    @property
    def _values(self) -> list[Any]:
        keys = sorted(self, key=lambda key: (type(key).__name__, str(key)))
        return [self[key] for key in keys if not isinstance(self[key], type)]

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: object) -> dict[str, Any]:
        return children_of(dict(self), save_type)

    def catch_up(self) -> bool:
        """Take over what has come to the dict, wrapped, and restore it."""
        awaited = super().catch_up()
        _wrap_inside(self, [*self.storage.items()])
        return awaited


def _wrap_inside(container: Any, pairs: Iterable[tuple[Any, Any]]) -> None:
    """Let containers inside a container be tracked ones too; what is awaited for them is restored."""
    changed = False
    for key, value in [*pairs]:
        wrapped = wrap(value)
        if wrapped is not value:
            container.storage[key] = wrapped
            changed = True
    if changed:
        container._take_over()


class TrackedTuple(TrackableDataStructure, tuple[Any, ...]):
    """A tuple among a layer's attributes that has something to track in it."""

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: object) -> dict[str, Any]:
        return children_of(tuple(self), save_type)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, ([*self],)

    __fg_like__ = tuple


class List(TrackableDataStructure):
    """The base by which TensorFlow tells lists that are tracked and typed; none are made here."""


def wrap(value: Any) -> Any:
    """Return the container in a value's place that tells what is in it; any other value as it is, or out of its cover.

    Source: tf.__internal__.tracking.wrap.
    """
    if isinstance(value, tracking.NoDependency):
        return value.value
    if isinstance(value, TrackableDataStructure):
        return value
    if type(value) is list:
        return TrackedList(value)
    if type(value) in (dict, OrderedDict, defaultdict):
        return TrackedDict(value)
    if type(value) is tuple and any(tracking.tracked(item) for item in value):
        return TrackedTuple(wrap(item) for item in value)
    return value


def sticky_attribute_assignment(trackable: Any, name: str, value: object) -> Any:
    """Enter what is set as an attribute of an object among its dependencies; return what is to be set in its place.

    Source: tf.__internal__.tracking.sticky_attribute_assignment.
    """
    links = links_of(trackable)
    if isinstance(value, tracking.NoDependency):
        links.names.pop(name, None)
        return value.value
    value = wrap(value)
    if isinstance(value, Trackable):
        trackable._track_trackable(value, name=name, overwrite=True)
    else:
        links.names.pop(name, None)
    return value


class DelegatingTrackableMixin(Trackable):
    """An object that is saved and restored as another one. Source: tf.__internal__.tracking, same name."""

    def __init__(self, trackable_obj: Any) -> None:
        self._trackable = trackable_obj

    @property
    def _deferred_dependencies(self) -> dict[str, list[Any]]:
        return self._trackable._deferred_dependencies


def _delegated(name: str) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: getattr(self._trackable, name)(*args, **kwargs)


for _name in (
    "_gather_saveables_for_checkpoint", "_handle_deferred_dependencies", "_lookup_dependency", "_restore_from_tensors",
    "_serialize_to_tensors", "_track_trackable", "_trackable_children",
):  # fmt: skip
    setattr(DelegatingTrackableMixin, _name, _delegated(_name))


class ObjectGraphView:
    """The objects that one depends on, at any distance. Source: tf.__internal__.tracking, same name."""

    def __init__(self, root: object) -> None:
        self.root = root

    def breadth_first_traversal(self) -> tuple[list[Any], dict[Any, list[Any]]]:
        """Return (the objects, nearest first; {object, by identity: [(name, object) from the root to it]})."""
        found = [self.root]
        paths: Any = ObjectIdentityDictionary()
        paths[self.root] = []
        for each in found:  # it grows
            for name, child in children_of(each).items():
                if child not in paths:
                    paths[child] = [*paths[each], Step(name, child)]
                    found.append(child)
        return found, paths


class Step:
    """A step of a path: the name of a dependency and the object."""

    def __init__(self, name: str, ref: Any) -> None:
        self.name, self.ref = name, ref

    def __iter__(self) -> Iterator[Any]:
        return iter((self.name, self.ref))


class ObjectIdentityDictionary(dict[Any, Any]):
    """A dict whose keys are objects by their identity, which it keeps alive."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[int, Any] = {}

    def __setitem__(self, key: object, value: object) -> None:
        self._kept[id(key)] = key
        super().__setitem__(id(key), value)

    def __getitem__(self, key: object) -> Any:
        return super().__getitem__(id(key))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(id(key))

    def get(self, key: object, default: object = None) -> Any:
        """Return the value of an object, `default` where there is none."""
        return super().get(id(key), default)

    def items(self) -> Any:
        """Return the pairs of objects and values."""
        return [(self._kept[key], value) for key, value in super().items()]
