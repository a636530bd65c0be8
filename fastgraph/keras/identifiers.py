"""Objects by name or description: how "relu", {"class_name": "L2", ...} and L2(0.1) all become what they stand for.

Rule: each kind (activations, initializers, ...) has one table from lower-case names to classes or functions.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

#: A stand-in for a function or an object of Keras's: itself, its class, its name, a config of it; None for none.
Identifier = Callable[..., Any] | str | Mapping[str, Any] | None


_custom: dict[str, Any] = {}
_registered: dict[str, Any] = {}
_scopes = threading.local()


def config_of(names: str) -> Callable[[Any], dict[str, Any]]:
    """Return the method `get_config` of a class whose constructor takes what the attributes of these names hold."""

    def get_config(self: Any) -> dict[str, Any]:
        """Return the arguments that make such an object."""
        return {name: getattr(self, name) for name in names.split()}

    return get_config


def get_custom_objects() -> dict[str, Any]:
    """Return the dict of objects by name that belongs to the whole program. Source: tf.keras.utils."""
    return _custom


class CustomObjectScope:
    """A context in which names mean these objects, in this thread. Source: tf.keras.utils.CustomObjectScope."""

    def __init__(self, *args: Mapping[str, Any]) -> None:
        self.custom_objects = {name: value for one in args for name, value in one.items()}

    def __enter__(self) -> Self:
        self._before = getattr(_scopes, "names", {})
        _scopes.names = {**self._before, **self.custom_objects}
        return self

    def __exit__(self, *args: object) -> None:
        _scopes.names = self._before


custom_object_scope = CustomObjectScope


def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Callable[[Any], Any]:
    """Return a decorator that makes a class or function known as "package>name", for configs. Source: tf.keras.utils.

    Raises ValueError for a class without `get_config`, or a name that is taken.
    """

    def registering(thing: Any) -> Any:
        full = f"{package}>{name or thing.__name__}"
        if inspect.isclass(thing) and not hasattr(thing, "get_config"):
            raise ValueError("Cannot register a class that does not have a get_config() method.")
        _registered[full] = thing
        return thing

    return registering


def get_registered_name(obj: Any) -> str:
    """Return the name that a class or function was registered by, or its own."""
    found = [full for full, thing in _registered.items() if thing is obj]
    return found[0] if found else str(obj.__name__)


def get_registered_object(
    name: str, custom_objects: Mapping[str, Any] | None = None, module_objects: Mapping[str, Any] | None = None
) -> Any:
    """Return the class or function of a name, None if there is none: of scopes, registered, then of the dicts."""
    for names in (getattr(_scopes, "names", {}), _custom, _registered, custom_objects or {}, module_objects or {}):
        if name in names:
            return names[name]
    short = [thing for full, thing in _registered.items() if full.rpartition(">")[2] == name]
    return short[0] if len(short) == 1 else None


def find(identifier: str | Mapping[str, Any], table: Mapping[str, Callable[..., Any]], kind: str) -> Any:
    """Return the object for a name or a config of a class, made without arguments for a name.

    Raises ValueError for a name that the table lacks.
    """
    if not isinstance(identifier, Mapping):
        found = made(identifier, table, kind)
        return found() if isinstance(found, type) or found in table.values() else found
    name, config = identifier.get("registered_name") or identifier.get("class_name"), identifier.get("config")
    if not isinstance(name, str):
        raise ValueError(f"Improper config format for {identifier}. Expecting python dict contains `class_name`")
    if isinstance(config, str):  # a function's
        return made(config, table, kind)
    found = made(name, table, kind)
    build: Any = getattr(found, "from_config", lambda given: found(**given))
    return build(dict(config or {}))


def made(name: str, table: Mapping[str, Callable[..., Any]], kind: str) -> Callable[..., Any]:
    """Return the entry for a name, as it is or in small letters: a user's or the table's. Raises ValueError."""
    found: Any = get_registered_object(name) or table.get(name) or table.get(name.lower())
    if found is None:
        known = ", ".join(sorted(table))
        raise ValueError(f"Unknown {kind}: {name!r}. Known names: {known}.")
    return found


def described(thing: Any, module: str, legacy: bool = False) -> Any:
    """Return the config that `find` makes such an object of; None for None. legacy: as Keras up to 2.12 writes it."""
    if thing is None:
        return None
    own, kind = inspect.isfunction(thing), type(thing)
    if own and legacy:
        return thing.__name__
    if own:
        return {"module": "builtins", "class_name": "function", "config": thing.__name__, "registered_name": None}
    config = thing.get_config() if hasattr(thing, "get_config") else {}
    full = get_registered_name(kind)
    name = full if full in _registered else None
    if legacy:
        return {"class_name": full, "config": config}
    found = {"module": module, "class_name": kind.__name__, "config": config, "registered_name": name}
    if module == "keras.layers" and hasattr(_scopes, "described"):
        _scopes.described.setdefault(id(thing), (thing, []))[1].append(found)
    return found


@contextlib.contextmanager
def sharing() -> Iterator[None]:
    """A context in which layers are one, in this thread, that are described several times or made of such configs.

    As Keras has it: these configs have the same `shared_object_id`.
    """
    around = dict(_scopes.__dict__)  # of this thread: a layer may load another model while it is made
    _scopes.described, _scopes.made = {}, {}
    try:
        yield
        for number, (_, configs) in enumerate(_scopes.described.values()):
            for each in configs if len(configs) > 1 else ():
                each["shared_object_id"] = number
    finally:
        del _scopes.described, _scopes.made
        _scopes.__dict__.update(around)


def made_once(config: Mapping[str, Any], make: Callable[[], Any]) -> Any:
    """Return what `make` makes of a config, or in `sharing` what a config with the same number was made to."""
    number, made = config.get("shared_object_id"), getattr(_scopes, "made", {})
    if number is None or number not in made:
        made[number] = make()
    return made[number]
