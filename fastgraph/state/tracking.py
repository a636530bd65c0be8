"""Objects that know by name what they depend on: Trackable, AutoTrackable, and the lists and dicts that stand in them.

Rule: a dependency is an entry of one dict; nothing is found by looking at attributes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Trackable:
    """An object that others depend on by name, and that depends on others: what checkpoints are made of.

    Variables and Modules are Trackable as well. Source: tf.__internal__.tracking.Trackable.
    """

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Enter a dependency under a name and return it.

        Raises TypeError for what is not Trackable, ValueError where the name is taken and `overwrite` is False.
        """
        if not isinstance(trackable, Trackable):
            raise TypeError(
                f"Trackable._track_trackable() can only be used to track objects of type Trackable. Got type "
                f"{type(trackable)}."
            )
        known = self._dependencies()
        if not overwrite and name in known and known[name] is not trackable:
            raise ValueError(
                f"Called Trackable._track_trackable() with name='{name}', but a Trackable with this name is already "
                "declared as a dependency. Names must be unique (or overwrite=True)."
            )
        known[name] = trackable
        return trackable

    def _dependencies(self) -> dict[str, Any]:
        found: dict[str, Any] | None = self.__dict__.get("_self_dependencies")
        if found is None:
            found = {}
            object.__setattr__(self, "_self_dependencies", found)
        return found

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """Return {name: what this object depends on}."""
        return dict(self._dependencies())

    def _lookup_dependency(self, name: str, cached_dependencies: dict[str, Any] | None = None) -> Any:
        """Return the dependency of a name, None where there is none."""
        return (self._dependencies() if cached_dependencies is None else cached_dependencies).get(name)

    def _no_dependency(self, value: Any) -> Any:
        """Return `value`, which is not to be tracked."""
        return value


class AutoTrackable(Trackable):
    """A Trackable whose attributes are its dependencies. Source: tf.__internal__.tracking.AutoTrackable."""

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_self_setattr_tracking", True):
            if isinstance(value, Trackable):
                self._dependencies()[name] = value
            else:
                self._dependencies().pop(name, None)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._dependencies().pop(name, None)
        super().__delattr__(name)


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
