"""Objects that know by name what they depend on: Trackable, AutoTrackable, and the lists and dicts that stand in them.

Rule: what an object depends on is found anew each time, by the names under which it was set or declared; a list, a dict
or a tuple among its attributes is itself, and no wrapper. Only where a restored checkpoint still has values for what is
not there yet is there something to wait for: the position in the checkpoint stands under the name that is awaited.
"""

from __future__ import annotations

import copy
import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from fastgraph.core.base.logger import get_logger
from fastgraph.core.conversion import TensorLike

_PLAIN = (list, dict, OrderedDict)
_SCALARS = frozenset([bool, int, float, str, type(None)])
_LINKS = "_self_links"


class Links:
    """Notes of an object about its dependencies; no dict, lest what stands here be found a second time.

    `names`: {name: the object declared under it, None for the attribute so named}. `awaited`: {name: the positions in
    checkpoints whose values are for what will be set under it}. A copy waits for the same, another process for nothing.
    """

    __slots__ = ("awaited", "names", "watching")

    def __init__(self, names: dict[str, Any] | None = None) -> None:
        self.names: dict[str, Any] = {} if names is None else names
        self.awaited: dict[str, list[Any]] = {}
        self.watching: dict[str, Any] = {}  # {attribute: the list or dict that watches in its place}

    def catch_up(self, owner: Any) -> None:
        """Restore what has come to lists and dicts that wait; one that waits no longer is itself again."""
        for name, watching in [*self.watching.items()]:
            if not watching.catch_up():
                del self.watching[name]
                if owner.__dict__.get(name) is watching:
                    owner.__dict__[name] = watching.storage

    def __deepcopy__(self, memo: dict[int, Any]) -> Links:
        copied = Links(copy.deepcopy(self.names, memo))
        copied.awaited = {name: [*positions] for name, positions in self.awaited.items()}
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return Links, (self.names,)


def links_of(value: Any) -> Links:
    """Return what an object (or a list or dict that watches) keeps about its dependencies."""
    found: Links | None = value.__dict__.get(_LINKS)
    if found is None:
        found = value.__dict__[_LINKS] = Links()
    return found


class NoDependency:
    """A value that, set as an attribute, is not tracked. Source: TensorFlow's trackable data structures."""

    __slots__ = ("value",)

    def __init__(self, value: TensorLike) -> None:
        self.value = value


class Trackable:
    """An object that others depend on by name, and that depends on others: what checkpoints are made of.

    Variables and Modules are Trackable as well. A subclass with state of its own defines `_serialize_to_tensors`, which
    returns {name: tensor}, and `_restore_from_tensors`, which is given the like. Source:
    tf.__internal__.tracking.Trackable.
    """

    _object_identifier = "_generic_user_object"  #: what SavedModels call its class

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Enter a dependency under a name and return it.

        Raises TypeError for what is not Trackable, ValueError where the name is taken and `overwrite` is False.
        """
        if not isinstance(trackable, Trackable):
            raise TypeError(
                f"Trackable._track_trackable() can only be used to track objects of type Trackable. Got type "
                f"{type(trackable)}."
            )
        if not overwrite and (known := self._lookup_dependency(name)) is not None and known is not trackable:
            raise ValueError(
                f"Called Trackable._track_trackable() with name='{name}', but a Trackable with this name is already "
                "declared as a dependency. Names must be unique (or overwrite=True)."
            )
        links_of(self).names[name] = trackable
        self._handle_deferred_dependencies(name, trackable)
        return trackable

    def _add_variable_with_custom_getter(
        self, name: str, *args: Any, getter: Any = None, overwrite: bool = False, **kwargs: Any
    ) -> Any:
        """Return what `getter` makes of the other arguments, entered as a dependency under a name and restored.

        Raises ValueError where the name is taken and `overwrite` is False.
        """
        for key, value in zip(("shape", "dtype", "initializer"), args, strict=False):
            kwargs[key] = value
        if not overwrite and self._lookup_dependency(name) is not None:
            raise ValueError(
                f"A variable named '{name}' already exists in this Trackable, but Trackable._add_variable called to "
                "create another with that name. Variable names must be unique within a Trackable object."
            )
        made = getter(name=name, **kwargs)
        return self._track_trackable(made, name, overwrite) if isinstance(made, Trackable) else made

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """Return {name: what this object depends on}; lists, dicts and tuples among it as they are."""
        links = self.__dict__.get(_LINKS)
        if links is None:
            return {}
        own = self.__dict__
        found = {name: own.get(name) if declared is None else declared for name, declared in links.names.items()}
        return {name: value for name, value in found.items() if tracked(value)}

    def _lookup_dependency(self, name: str, cached_dependencies: dict[str, Any] | None = None) -> Any:
        """Return the dependency of a name, None where there is none."""
        return (self._trackable_children() if cached_dependencies is None else cached_dependencies).get(name)

    def _no_dependency(self, value: Any) -> Any:
        """Return `value`, which is not to be tracked."""
        return value

    def _maybe_initialize_trackable(self) -> None:
        """Do nothing: what is kept for tracking is made when it is first needed."""

    @property
    def _setattr_tracking(self) -> bool:
        """Switch that makes attributes that are set dependencies: TensorFlow's switch, which Keras 2 turns."""
        return bool(getattr(self, "_self_setattr_tracking", True))

    @_setattr_tracking.setter
    def _setattr_tracking(self, value: bool) -> None:
        self._self_setattr_tracking = value

    @property
    def _self_unconditional_dependency_names(self) -> dict[str, Any]:
        """{name: the object declared under it, None for the attribute so named}."""
        return links_of(self).names

    @property
    def _deferred_dependencies(self) -> dict[str, list[Any]]:
        """{name: the positions in checkpoints whose values are for what will be set under this name}."""
        return links_of(self).awaited

    def _handle_deferred_dependencies(self, name: str, trackable: Any) -> None:
        """Restore what has just been set under a name, where a checkpoint has values for it."""
        links = self.__dict__.get(_LINKS)
        if links is not None and links.awaited:
            arrived(links, name, trackable)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        """Return {name: what saves it}: the older way to state what `_serialize_to_tensors` states."""
        return {}

    def _serialize_to_tensors(self) -> dict[str, Any]:
        """Return {name: tensor} of the state that is the object's own. Here: NotImplementedError, there is none."""
        raise NotImplementedError

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        """Take the state from such tensors."""
        raise NotImplementedError


class TrackableResource(Trackable):
    """A thing that functions use and no tensor holds, a table for example.

    A class of a program's own says how it is made (`_create_resource`). SavedModels hold those of this package alone.
    Source: tf.saved_model.experimental.TrackableResource.
    """

    def __init__(self, device: str = "") -> None:
        self._resource_device = device

    @property
    def resource_handle(self) -> object:
        """The result of `_create_resource`, which is called when this is first read."""
        handle = self.__dict__.get("_resource_handle")
        if handle is None:
            handle = self.__dict__["_resource_handle"] = self._create_resource()
        return handle

    def _initialize(self) -> None:
        """Fill the resource. Here: nothing."""

    def _destroy_resource(self) -> None:
        """Free the resource. Here: nothing."""

    def _create_resource(self) -> Any:
        raise NotImplementedError("TrackableResource._create_resource not implemented.")


class AutoTrackable(Trackable):
    """A Trackable whose attributes are its dependencies. Source: tf.__internal__.tracking.AutoTrackable."""

    def __setattr__(self, name: str, value: Any) -> None:
        links = self.__dict__.get(_LINKS)
        if type(value) in _SCALARS or not tracked(value):
            if type(value) is NoDependency:
                value = value.value
            if links is not None:
                links.names.pop(name, None)
                if links.watching:
                    links.catch_up(self)
        elif getattr(self, "_self_setattr_tracking", True):
            links = links or links_of(self)
            if links.awaited:
                value = arrived(links, name, value)
                if isinstance(value, _Watching):
                    links.watching[name] = value
            super().__setattr__(name, value)
            links.names[name] = None if name in self.__dict__ else value  # a property keeps it elsewhere
            if links.watching:
                links.catch_up(self)
            return
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._delete_tracking(name)
        super().__delattr__(name)

    def _delete_tracking(self, name: str) -> None:
        links = self.__dict__.get(_LINKS)
        if links is not None:
            links.names.pop(name, None)

    def _no_dependency(self, value: Any) -> Any:
        return NoDependency(value)


def tracked(value: object) -> bool:
    """Return whether an attribute of this value is a dependency: a Trackable, a list, a dict, a tuple that has such."""
    kind = type(value)
    if kind in _PLAIN or isinstance(value, (Trackable, ListWrapper, _DictWrapper)):
        return True
    return isinstance(value, tuple) and any(tracked(item) for item in value)


def children_of(value: Any, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
    """Return {name: what `value` depends on}: of a list by index, of a dict by key, of a Trackable as it says.

    A Trackable is given `kwargs`: `cache`, a dict for all objects of one SavedModel.

    Raises ValueError for a dict that has something to track under a key that is no string.
    """
    if isinstance(value, Trackable):
        return value._trackable_children(save_type=save_type, **kwargs)
    if isinstance(value, dict):
        found = {key: item for key, item in value.items() if tracked(item)}
        if not all(isinstance(key, str) for key in found):
            raise ValueError(
                f"Unable to save the object {value} (a dictionary wrapper constructed automatically on attribute "
                "assignment). The wrapped dictionary contains a non-string key which maps to a trackable object or "
                "mutable data structure.\n\nIf you don't need this dictionary checkpointed, wrap it in a "
                "non-trackable object; it will be subsequently ignored."
            )
        return found
    names = [*getattr(value, "_fields", ())] if isinstance(value, tuple) else []
    pairs = [*zip(names, value, strict=False), *((str(i), item) for i, item in enumerate(value))]
    return {name: item for name, item in pairs if tracked(item)}


def no_automatic_dependency_tracking(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method so that what it sets on its object is not tracked.

    Source: tf.__internal__.tracking.no_automatic_dependency_tracking.
    """

    @functools.wraps(method)
    def untracked(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = getattr(self, "_self_setattr_tracking", True)
        self._self_setattr_tracking = False
        try:
            return method(self, *args, **kwargs)
        finally:
            self._self_setattr_tracking = before

    return untracked


class ListWrapper(list[Any]):
    """A list as an attribute of an AutoTrackable. Source: TensorFlow's trackable data structures."""


class _DictWrapper(dict[Any, Any]):
    """A dict as an attribute of an AutoTrackable. Source: TensorFlow's trackable data structures."""


def arrived(links: Links, name: str, value: TensorLike) -> Any:
    """Restore what is set under a name; return it, or a list or dict in its place that waits for further values."""
    if tracked(value):
        for position in sorted(links.awaited.pop(name, ()), key=lambda each: each.number, reverse=True):
            position.restore(value)
            value = position.watching(value)
    return value


class _Watching:
    """A stand-in for a list or dict while a checkpoint has further values for it, which are restored as they come.

    It holds the same as `storage`, the list or dict itself, which others may know and add to: what is done to one is
    done to the other, and what came to `storage` alone is seen when either is used, or its owner's attributes are set.
    """

    storage: Any

    def catch_up(self) -> bool:
        """Take over and restore what has come; whether values are still awaited."""
        awaited = links_of(self).awaited
        for name in [name for name in awaited if self._has(name)]:
            key = self._key(name)
            try:
                self.storage[key] = arrived(links_of(self), name, self.storage[key])
            except ValueError as error:  # as in TensorFlow, where what a list waits for and does not fit it stays as is
                get_logger().warning("Not restored: %s", error)
        self._take_over()
        return bool(awaited)

    def _has(self, name: str) -> bool:
        raise NotImplementedError

    def _key(self, name: str) -> Any:
        raise NotImplementedError

    def _take_over(self) -> None:
        raise NotImplementedError


class WatchingList(_Watching, ListWrapper):
    """A list that watches."""

    def __init__(self, storage: list[Any]) -> None:
        super().__init__(storage)
        self.storage = storage

    def _has(self, name: str) -> bool:
        return name.isdigit() and int(name) < len(self.storage)

    def _key(self, name: str) -> Any:
        return int(name)

    def _take_over(self) -> None:
        list.__setitem__(self, slice(None), self.storage)

    def __iadd__(self, items: Any) -> Any:  # type: ignore[misc]
        self.extend(items)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self.storage,)


class WatchingDict(_Watching, _DictWrapper):
    """A dict that watches."""

    def __init__(self, storage: dict[Any, Any]) -> None:
        super().__init__(storage)
        self.storage = storage

    def _has(self, name: str) -> bool:
        return name in self.storage

    def _key(self, name: str) -> Any:
        return name

    def _take_over(self) -> None:
        dict.clear(self)
        dict.update(self, self.storage)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.storage,)


def _changing(name: str) -> Callable[..., Any]:
    def change(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = getattr(self.storage, name)(*args, **kwargs)
        self.catch_up()
        return self if name == "__imul__" else result

    return change


def _reading(kind: Any, name: str) -> Callable[..., Any]:
    method = getattr(kind, name)

    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kind.__len__(self) != len(self.storage):
            self.catch_up()
        return method(self, *args, **kwargs)

    return read


for _watching, _kind, _changes, _reads in (
    (
        WatchingList, list, "append clear extend insert pop remove reverse sort __delitem__ __imul__ __setitem__",
        "copy count index __add__ __contains__ __eq__ __getitem__ __iter__ __len__ __mul__ __ne__ __repr__ "
        "__reversed__",
    ),
    (
        WatchingDict, dict, "clear pop popitem setdefault update __delitem__ __setitem__",
        "copy get items keys values __contains__ __eq__ __getitem__ __iter__ __len__ __ne__ __or__ __repr__ "
        "__reversed__",
    ),
):  # fmt: skip
    for _name in _changes.split():
        setattr(_watching, _name, _changing(_name))
    for _name in _reads.split():
        setattr(_watching, _name, _reading(_kind, _name))
