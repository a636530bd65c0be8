"""The public names: what `fastgraph.x`, `fastgraph.math.y` are, found when they are first asked for.

Rule: ops enter their names themselves, where they are defined; the tables (public_names.py) hold those that are no ops.
No internal module has a public TensorFlow name: a submodule would take the place of the function (`fastgraph.shape`).
"""

from __future__ import annotations

import copyreg
import importlib
import os
import re
import sys
import types
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from typing import Any

from fastgraph.api.public_names import ALIASES, FILES, KERAS_3, NAMESPACES, PUBLIC, SUBSTITUTES, joined
from fastgraph.core.base.deferred_signals import imported
from fastgraph.core.base.name_tables import lines_of
from fastgraph.errors import NotBuiltError, NotBuiltImportError

ROOT = "fastgraph"

NEWAXIS = None
_FOLDER = os.path.dirname(os.path.dirname(__file__))  # pathlib would take as long to import as all of this
_UNRESOLVED = object()
#: Words that names have in common without being kindred.
_VAGUE = frozenset(["all", "and", "any", "for", "from", "get", "has", "set", "the", "with", "experimental"])
_tensorflow: dict[str, frozenset[str]] | None = None
#: Namespaces whose functions compute, the operations and those made of them alike.
_OF_OPS = frozenset(("audio", "image", "io", "linalg", "nn", "ragged", "sets", "sparse", "strings"))


def tensorflow_names() -> dict[str, frozenset[str]]:
    """Return {public module of TensorFlow ("" is tf itself): its public names}."""
    global _tensorflow
    if _tensorflow is None:
        pairs = (line.partition(":") for line in lines_of("api/tensorflow_names.txt"))
        _tensorflow = {module.strip(): frozenset(names.split()) for module, _, names in pairs}
    return _tensorflow


def op_names() -> dict[str, Any]:
    """Return {public name: function} of all ops, importing all their definitions."""
    names: dict[str, Any] = importlib.import_module(f"{ROOT}.core.registry").public_names()
    return {name: function for name, function in names.items() if name not in PUBLIC}


def built_names() -> list[str]:
    """Return all public names, sorted: of ops, of the table, and of aliased modules."""
    names = {*op_names(), *PUBLIC}
    for space, original in ALIASES.items():
        module = _import(original)
        if module is not None:
            names |= {joined(space, name) for name in public_in_file(module)}
    return sorted(names)


def public_in_file(module: types.ModuleType) -> list[str]:
    """Return the public names of a module that is a file: its __all__, or what is defined there."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )


def _import(name: str) -> types.ModuleType | None:
    """Import fastgraph.<name>, or return None if there is no such module."""
    full = f"{ROOT}.{name}"
    try:
        return imported(full)
    except ModuleNotFoundError as error:
        if error.name is not None and (full == error.name or full.startswith(error.name + ".")):
            return None
        raise
    except NotBuiltImportError:
        return None


def file_module(name: str) -> types.ModuleType:
    """Return the public module `name` that is a file ("keras.losses")."""
    return imported(f"{ROOT}.{name}")


def resolve(namespace: str, name: str) -> Any:
    """Return what the public name `name` is in `namespace` ("" is fastgraph itself).

    Raises NotBuiltError for a TensorFlow name that is not built yet, AttributeError for any other unknown name.
    """
    found = _find(namespace, name)
    if found is _UNRESOLVED:
        raise missing(namespace, name)
    return found


def _find(namespace: str, name: str) -> Any:
    dotted = joined(namespace, name)
    if dotted in NAMESPACES:
        return sys.modules[f"{ROOT}.{dotted}"]
    if dotted in FILES:
        module = _import(dotted)
        return _UNRESOLVED if module is None else module
    if dotted in PUBLIC:
        home, _, attribute = PUBLIC[dotted].partition(":")
        module = _import(home)
        if f"{ROOT}.core.tensor" in sys.modules:
            _import("ops.python_operators")  # tensors can be made now
        value = _UNRESOLVED if module is None else getattr(module, attribute, _UNRESOLVED)
        if namespace in _OF_OPS or dotted in ("convert_to_tensor", "edit_distance"):
            value = imported(f"{ROOT}.core.registry").watched(value)  # dispatchers are asked of it, as of ops
        return value
    if name.startswith("_"):  # asked by Python and by debuggers: no reason to import anything
        return _UNRESOLVED
    if namespace in ALIASES:
        module = _import(ALIASES[namespace])
        return _UNRESOLVED if module is None else getattr(module, name, _UNRESOLVED)
    primitives: Any = imported(f"{ROOT}.core.registry")
    imported(f"{ROOT}.ops.python_operators")  # tensors can be made now
    try:
        return primitives.public_function(dotted)
    except KeyError:
        return _by_rule(namespace, name)


def _raw_ops() -> Any:
    return imported(f"{ROOT}.graphdef.raw_ops")


def _by_rule(namespace: str, name: str) -> Any:
    """Find a name by the rule of its namespace, which lists none. Raises NotBuiltError for TensorFlow 1's others."""
    if namespace == "raw_ops":
        found = _raw_ops()
        return found.function(name) if name in found.names() else _UNRESOLVED
    if f"{namespace}.".startswith("compat.v1."):
        old: Any = imported(f"{ROOT}.door.v1_names")
        dotted = f"{namespace}.{name}"
        if dotted in old.MODULES and dotted not in NAMESPACES:
            return imported(f"{ROOT}.door.modules").front(dotted)
        return old.value(namespace.removeprefix("compat.v1").lstrip("."), name)
    return _UNRESOLVED


def nearest(name: str, names: Iterable[str], least: float) -> list[str]:
    """The name most like another one, if it is like enough."""
    import difflib  # for a missing name alone, not at every import

    return difflib.get_close_matches(name, list(names), 1, least)


def missing(namespace: str, name: str, root: str = ROOT) -> AttributeError:
    """Return the error for a name that is not there: NotBuiltError, with a substitute, if TensorFlow has it."""
    dotted = joined(namespace, name)
    known = tensorflow_names()
    unlisted = namespace == "raw_ops" and name[:1].isupper()
    of_old = unlisted or (f"{namespace}.".startswith("compat.v1.") and not name.startswith("_"))  # names not listed
    if name not in known.get(namespace, ()) and dotted not in known and not of_old:
        text = f"module {f'{root}.{namespace}' if namespace else root!r} has no attribute {name!r}"
        if name.startswith("_"):
            return AttributeError(text)
        spelling: Callable[[str], str] = imported(f"{ROOT}.door.v1_names").spelling
        way = spelling(dotted)
        close = [] if way else nearest(name, _names_in(namespace), 0.75)
        way = way or spelling(namespace)
        hint = f". Did you mean: {close[0]!r}?" if close else f". If it is TensorFlow 1's: use {way}" if way else ""
        if f"{namespace}.".startswith("keras."):
            hint += f"{'' if close else '.'} This Keras is the small one that is built in; the whole is {KERAS_3}."
        return AttributeError(text + hint)
    text = f"{ROOT}.{dotted} is not built yet: TensorFlow has tf.{dotted}, this fastgraph does not. "
    text += _advice(dotted, name)
    of_keras = (
        dotted.startswith(("keras", "losses.", "metrics.", "optimizers."))
        and "Keras 3" not in text
        and "legacy" not in dotted
    )
    return NotBuiltError(text + (f" It is in {KERAS_3}." if of_keras else ""))


def _advice(dotted: str, name: str) -> str:
    """Say what comes nearest to the TensorFlow name `dotted`: a way listed for it, the same name elsewhere, a kindred
    name, or a way listed for the namespace.
    """
    if dotted in SUBSTITUTES:
        return f"Use {SUBSTITUTES[dotted]} instead."
    built = built_names()
    same = [full for full in built if full.rpartition(".")[2] == name and full != dotted]
    if same:
        return f"Use {ROOT}.{min(same, key=len)} instead."
    by_last: dict[str, str] = {}
    words = _words(name)
    inside = f"{dotted.partition('.')[0]}." if "." in dotted else ""  # options of one namespace are not another's
    for full in sorted(built, key=len):
        last = full.rpartition(".")[2]
        if full.startswith(inside) and words & _words(last) and _kind(full) == _kind(dotted):
            by_last.setdefault(last, full)
    close = nearest(name, by_last, 0.8)
    if close:
        return f"The nearest name that is built is {ROOT}.{by_last[close[0]]}."
    parent = dotted.rpartition(".")[0]
    while parent:
        if parent in SUBSTITUTES:
            return f"Use {SUBSTITUTES[parent]} instead."
        parent = parent.rpartition(".")[0]
    return "There is no near substitute yet."


def _kind(full: str) -> tuple[bool, bool]:
    """Return what a kindred name must have in common: whether it is Keras's, whether it is a class.

    A loss called Poisson is no distribution, and a metric no function.
    """
    space, _, name = full.rpartition(".")
    return space.startswith(("keras", "losses", "metrics", "optimizers", "initializers")), name[:1].isupper()


def _words(name: str) -> set[str]:
    """Return the words of a name that say what it is about ("gather_nd": gather), in small letters.

    Likeness of letters alone would send from conv2d to cond, and from image to imag.
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    return {part.lower() for part in parts if len(part) > 2} - _VAGUE


def _names_in(namespace: str) -> list[str]:
    """Return the public names directly in `namespace`, submodules among them."""
    prefix = f"{namespace}." if namespace else ""
    every = [*built_names(), *NAMESPACES, *FILES]
    if namespace == "raw_ops":
        every += [joined(namespace, name) for name in _raw_ops().names()]
    return sorted({full[len(prefix) :] for full in every if full.startswith(prefix) and "." not in full[len(prefix) :]})


def starred(names: Iterable[str]) -> list[str]:
    """Return those of a module's names that `from module import *` gives."""
    return [name for name in names if not name.startswith("_")]


def lookup(namespace: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__`, for names that it does not define, and `__dir__` of a public module that is a file."""
    folder = os.path.join(_FOLDER, *namespace.split("."))

    def __getattr__(name: str) -> Any:
        dotted = joined(namespace, name)
        if dotted in NAMESPACES:
            return sys.modules[f"{ROOT}.{dotted}"]
        if dotted in PUBLIC:
            return resolve(namespace, name)
        if dotted not in FILES and os.path.exists(f"{folder}/{name}.py"):
            raise AttributeError(f"module '{ROOT}.{namespace}' has no attribute {name!r}")
        module = _import(dotted) if dotted in FILES else None
        if module is None:
            raise missing(namespace, name)
        return module

    def __dir__() -> list[str]:
        every = [*FILES, *NAMESPACES, *PUBLIC]
        below = [full.removeprefix(f"{namespace}.") for full in every if full.startswith(f"{namespace}.")]
        return sorted({*public_in_file(file_module(namespace)), *(name for name in below if "." not in name)})

    return __getattr__, __dir__


class Namespace(types.ModuleType):
    """A public module without a file: its names are found when they are first asked for, then kept."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # of `from fastgraph.math import *`, which else takes what has been asked for so far
            return starred(dir(self))
        value = resolve(self.__name__.partition(".")[2], name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return _names_in(self.__name__.partition(".")[2])

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.__name__,)  # by name, as pickle does not know modules


def _by_name(module: types.ModuleType) -> tuple[Any, ...]:
    """Return how pickle writes a module of fastgraph's: a file, by name. Raises TypeError for any other, as ever."""
    if module.__name__.partition(".")[0] != ROOT:
        raise TypeError("cannot pickle 'module' object")
    return importlib.import_module, (module.__name__,)


#: The files of Python's finders and of ours.
_FINDERS = ("<frozen importlib", os.path.join(_FOLDER, "api", ""), os.path.join(_FOLDER, "door", ""))


def hint_at_import(module: str, name: str, error: AttributeError) -> ImportError | None:
    """Return ImportError with the hint that `error` has, if any, where `from module import name` asks a finder.

    Python looks there for what the module's `__getattr__` has refused, and makes an error of its own afterwards.
    """
    hint = str(error).partition(f"has no attribute {name!r}")[2]
    frame = sys._getframe(1) if hint else None
    while frame is not None and frame.f_code.co_name != "_handle_fromlist":
        frame = frame.f_back if frame.f_code.co_filename.startswith(_FINDERS) else None
    return frame and ImportError(f"cannot import name {name!r} from {module!r}{hint}", name=module)


class _UnknownModules:
    """The last of Python's finders: says of a module that is not built what `missing` says of a name.

    NotImplementedError as for names, and ImportError for programs that try one module and then another.
    """

    @staticmethod
    def find_spec(full: str, path: object = None, target: object = None) -> None:
        """Return None: there is no such module. Raises NotBuiltImportError if TensorFlow has it."""
        if full.startswith(f"{ROOT}."):
            namespace, _, name = full.removeprefix(f"{ROOT}.").rpartition(".")
            error = missing(namespace, name)
            if isinstance(error, NotBuiltError):
                raise NotBuiltImportError(str(error))
            hinted = hint_at_import(f"{ROOT}.{namespace}".rstrip("."), name, error)
            if hinted is not None:
                raise hinted


def install(package: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Enter the namespaces in sys.modules; return the package's `__getattr__` and `__dir__`."""
    for dotted, text in NAMESPACES.items():
        full = f"{ROOT}.{dotted}"
        module = Namespace(full, f"fastgraph.{dotted}: {text}.")
        module.__spec__ = ModuleSpec(full, None, is_package=True)
        module.__path__ = []
        sys.modules[full] = module
        parent, _, last = dotted.rpartition(".")
        if parent in NAMESPACES:
            setattr(sys.modules[f"{ROOT}.{parent}"], last, module)
        elif not parent:  # that of a file is found by it: see lookup
            package[last] = module

    sys.meta_path.append(_UnknownModules)
    copyreg.pickle(types.ModuleType, _by_name)
    internal = {name.partition(".")[0] for name in os.listdir(_FOLDER)} - set(FILES)

    def __getattr__(name: str) -> Any:
        if (
            name in internal
        ):  # `from fastgraph.core.base import dtype`: Python asks here before it imports the submodule
            raise AttributeError(f"module {ROOT!r} has no attribute {name!r}")
        if name == "__all__":
            return starred(__dir__())
        value = resolve("", name)
        package[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*_names_in(""), "__version__"})

    return __getattr__, __dir__
