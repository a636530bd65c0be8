"""Trace types and cache keys: what about a call's arguments decides which graph serves it.

Rule: tensors count by dtype and shape, Variables by identity, Python numbers and strings by value, containers by
structure, any other object by identity, held weakly where it can be.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Iterable, Mapping, MappingView, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import numpy as np

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.base.shapes import Shape, TensorShape
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import EagerTensor, Reference, Tensor, class_has, convert
from fastgraph.staging.signature.dataclass_arguments import Fields, counts_by_fields, fields_of, is_frozen
from fastgraph.staging.signature.trace_types import PlaceholderContext, TraceType, Typed, has_type, type_of


class _Mark:
    """The first item of a key's part that is more than a value: equal to nothing a program could put there."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


#: A tensor: (TENSOR, dtype code, shape). A type with subtypes, a composite's spec for example: (TYPE, type).
TENSOR, TYPE = _Mark("tensor"), _Mark("type")
#: Of a call on one of several replicas: (REPLICA, its number, whether it updates, the key of the call).
REPLICA = _Mark("replica")
_VARIABLE, _OBJECT, _METHOD = _Mark("variable"), _Mark("object"), _Mark("method")

_PRIMITIVES = (bool, int, float, complex, str, bytes, type(None))


@dataclass
class Arguments:
    """The arguments of one call, taken apart.

    `structure` holds the arguments as given, tensors where arrays were; `leaves` are its tensors (and TensorSpecs) in
    order, those inside composites included; `shapes` those they are traced with (inside composites, what the spec
    knows), `specs` those of the composites; `names` are what the placeholders are called, `paths` what the specs are,
    each after where it is in the arguments (d_a_0); `key` says which graph serves them; `objects` are those that count
    by identity, to be held weakly beside the key.
    """

    structure: Any
    leaves: list[Any] = field(default_factory=list)
    shapes: list[Any] = field(default_factory=list)
    specs: list[Any] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    key: Any = None

    def note(self, leaf: object, shape: Shape, name: str, path: str) -> None:
        """Append a tensor or TensorSpec."""
        self.leaves.append(leaf)
        self.shapes.append(shape)
        self.names.append(name)
        self.paths.append(path)


def is_variable(value: object) -> bool:
    """Return whether `value` is a Variable: something with a cell."""
    return isinstance(getattr(value, "__fg_cell__", None), Cell)


def is_array(value: object) -> bool:
    """Return whether a leaf is NumPy's, or like a table's column says what array it is, and is taken as a tensor."""
    if isinstance(value, np.ndarray | np.generic):
        return True
    if not class_has(value, "__array__") or isinstance(value, Tensor) or is_variable(value):
        return False
    return not (nesting.is_nested(value) or hasattr(value, "_type_spec") or has_type(value))


Part = tuple[str, tuple[int, ...], Any]


def pattern(value: Any, parts: list[Part], tensors: list[Any]) -> bool:
    """Append what a later argument must be like to be of the same kind as `value`, and the tensors and arrays in it.

    A part is (letter, numbers, object): t a tensor by dtype and shape, a an array by shape and dtype, n a NumPy number
    by class, v a Python value, o an object by identity, w likewise, held weakly, h one that a tensor stands for, by
    class and by what it says its kind is, ( [ { a container, whose parts follow.
    False where only taking it apart as `analyse` does tells.
    """
    kind = type(value)
    if kind is EagerTensor:
        aval = value.aval
        parts.append(("t", (aval.dtype.code, len(aval.shape), *aval.shape), None))
        tensors.append(value)
    elif kind is np.ndarray:
        parts.append(("a", (value.ndim, *value.shape), value.dtype))
        tensors.append(value)
    elif isinstance(value, np.number | np.bool_):
        parts.append(("n", (), kind))
        tensors.append(value)
    elif kind in _PRIMITIVES:
        parts.append(("v", (), value))
    elif is_variable(value):
        parts.append(("w", (), weakref.ref(value)))
    elif (handled := getattr(value, "__fg_handled__", None)) is not None:
        parts.append(("h", (), (kind, handled[0])))
        tensors.append(handled[1])
    elif kind is tuple or kind is list:
        parts.append(("(" if kind is tuple else "[", (len(value),), None))
        return all(pattern(item, parts, tensors) for item in value)
    elif kind is dict and all(type(key) is str for key in value):
        names = tuple(sorted(value))
        parts.append(("{", (len(names),), names))
        return all(pattern(value[name], parts, tensors) for name in names)
    elif _has_more_to_it(value):
        return False
    else:
        try:
            parts.append(("w", (), weakref.ref(value)))
        except TypeError:
            return False
    return True


def _has_more_to_it(value: object) -> bool:
    if isinstance(value, Tensor | TypeSpec | types.MethodType) or is_array(value) or nesting.is_nested(value):
        return True
    if getattr(value, "_type_spec", None) is not None or has_type(value):
        return True
    return counts_by_fields(value) and not _is_constant(value)


def _is_constant(value: object) -> bool:
    """Return whether a dataclass never changes."""
    try:
        hash(value)
    except TypeError:
        return False
    return is_frozen(value)


def becomes(given: Any, leaf: Any) -> bool:
    """Return whether a tensor or array that was given is, as it is, this tensor of the graph's arguments."""
    if type(given) is EagerTensor:
        return given is leaf
    return bool(leaf.aval.shape == given.shape and leaf.dtype == as_dtype(given.dtype))


def analyse(named: Mapping[str, Any]) -> Arguments:
    """Take the arguments of a call apart; `named` maps each parameter to its value, in order."""
    found = Arguments({})
    keys = []
    for name, value in named.items():
        found.structure[name] = taken = _taken(value)
        plain = name.lstrip("*")
        own, path = ("", plain) if name == f"*{plain}" else (plain, "" if name.startswith("**") else plain)
        keys.append(_encode(taken, own, path, found))
    found.key = tuple(keys)
    return found


def _taken(value: object) -> Any:
    """Return an argument with tensors for arrays, and taken apart what says how, or is a dataclass."""
    if isinstance(value, EagerTensor):
        return value
    if isinstance(value, np.str_):  # text, as in TensorFlow; its other scalars are tensors
        return str(value)
    if is_array(value):
        return convert(value)
    if type(value) in _PRIMITIVES:
        return value
    if nesting.is_nested(value):
        if isinstance(value, Sequence | MappingView) and not isinstance(value, list | tuple):
            _check_hash(value)
        return _mapped(value, _taken)
    if has_type(value):
        return Typed(type_of(value), value)
    if counts_by_fields(value):
        return _mapped(fields_of(value), _taken)
    return value


def _mapped(container: object, function: Callable[[Any], Any]) -> Any:
    """Return a container with `function` of what is directly inside, called in the order of the leaves."""
    if isinstance(container, Mapping):
        items = {key: function(container[key]) for key in _sorted(container)}
        return nesting.like_mapping(container, [(key, items[key]) for key in container])
    return nesting.rebuilt(container, [function(child) for child in nesting.children(container)])


def _encode(value: Any, name: str, path: str, found: Arguments) -> Any:
    """Return the key of one value, noting its tensors and objects."""
    kind = type(value)
    if isinstance(value, Tensor):
        aval = value.aval
        found.note(value, aval.shape, name, path)
        return (TENSOR, aval.dtype.code, aval.shape)
    if kind in _PRIMITIVES:
        return (kind, value.hex() if kind is float else value)
    if isinstance(value, TensorSpec):
        own = path if value.name in (None, name) else value.name  # a name of the argument's is none
        found.note(value, value.aval.shape, value.name or name, own)
        return (TENSOR, value.dtype.code, value.aval.shape)
    if is_variable(value):
        found.objects.append(value)
        return (_VARIABLE, value.__fg_cell__.id)
    if nesting.is_nested(value):
        return _encode_nested(value, name, path, found)
    if kind is Typed:
        parts = value.type.to_tensors(value.value), value.type.flatten()
        return _encode_parts(value.type, *parts, name, path, found)
    spec = value if isinstance(value, TypeSpec) else getattr(value, "_type_spec", None)
    if isinstance(spec, TypeSpec):
        parts = nesting.flatten(value, expand_composites=True), nesting.flatten(spec, expand_composites=True)
        return _encode_parts(spec, *parts, name, path, found)
    if isinstance(value, DType | TensorShape):
        return (kind, str(value))
    if isinstance(value, types.MethodType):  # each access makes a new one: the function and the object count
        found.objects += [value.__func__, value.__self__]
        return (_METHOD, id(value.__func__), id(value.__self__))
    if (text := _value_text(value)) is not None:
        return (kind, text)
    _check_hash(value)
    found.objects.append(value)
    return (_OBJECT, id(value))


def _check_hash(value: object) -> None:
    """Raise TypeError for an object that has no hash, as it may be another one when its trace is used again.

    Dataclasses count by their fields or, where these are not all, by identity.
    """
    if is_dataclass(value):
        return
    try:
        hash(value)
    except NotImplementedError:  # a part of it that has no answer is no sign that it changes
        return
    except TypeError:
        raise TypeError(
            f"Could not generate a generic TraceType for {value!r}.Please verify that it is immutable/hashable. "
            "Otherwise, consider implementing the Tracing Protocol for it."
        ) from None


#: Classes of Python's library whose objects are values: equal ones serve alike, and their text says all that they hold.
_VALUES = {
    "builtins": ("range",),
    "datetime": ("date", "datetime", "time", "timedelta"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "pathlib": ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"),
    "uuid": ("UUID",),
}  # by name, for none of them need be imported


def _value_text(value: Any) -> Any:
    """Return what stands in a key for an object that is a value, None for any other object."""
    kind = type(value)
    if kind is frozenset:
        plain = all(type(item) in _PRIMITIVES for item in value)
        return frozenset([(type(item), repr(item)) for item in value]) if plain else None
    if kind.__name__ not in _VALUES.get(kind.__module__.partition(".")[0], ()):
        return None
    return repr(value) if getattr(value, "tzinfo", None) is None else None  # a time zone may be any object


def _encode_parts(
    type_: object, tensors: list[Any], specs: list[TensorSpec], name: str, path: str, found: Arguments
) -> Any:
    """Return the key of a value that has a type, noting the tensors in it."""
    found.specs.append(type_)
    for tensor, spec in zip(tensors, specs, strict=True):
        found.note(tensor, spec.aval.shape, name, path)
    return (TYPE, type_)


def _encode_nested(value: object, name: str, path: str, found: Arguments) -> Any:
    def at(step: object) -> str:
        return f"{path}_{step}" if path else str(step)

    if isinstance(value, Mapping):
        # The keyword arguments that a function collects are called by their own names.
        keys = []
        for key in _sorted(value):
            encoded = _encode(value[key], name if path else str(key), at(key), found)
            if isinstance(key, Reference):  # compares with its like only; by number, as long as the tensor lives
                found.objects.append(key.deref())
                key = (_OBJECT, hash(key))
            keys.append((key, encoded))
        return (type(value), tuple(keys))
    steps = [step.lstrip(".").strip("[]") for step, _ in nesting.steps(value)]
    children = [
        _encode(child, name or at(step), at(step), found)  # what *args holds is called by its places
        for step, child in zip(steps, nesting.children(value), strict=True)
    ]
    if (metadata := nesting.metadata(value)) is not None:
        beside = Arguments({})
        children.append(_encode(_taken(metadata), name, path, beside))
        if beside.leaves:
            raise TypeError(
                f"What {type(value).__name__}.__tf_flatten__ returns first must hold no tensors: {metadata!r}"
            )
        found.objects += beside.objects
    return (type(value), tuple(children))


def substitute(structure: object, replace: Callable[[Any], Any], specs: Iterable[Any] | None = None) -> Any:
    """Return the structure with `replace(leaf)` for each of its tensors and specs, in the order of the leaves.

    `specs` are those of the composites that are to be in it, in order; without them its specs of composites stay.
    """
    remaining = None if specs is None else iter(specs)

    def each(value: object) -> Any:
        if isinstance(value, Tensor | TensorSpec):
            return replace(value)
        if nesting.is_nested(value):
            return _mapped(value, each)
        if isinstance(value, Typed | TraceType):
            flat = value.type.to_tensors(value.value) if isinstance(value, Typed) else value.flatten()
            parts = [replace(part) for part in flat]
            return value if remaining is None else next(remaining).placeholder_value(PlaceholderContext(iter(parts)))
        if _has_parts(value):
            parts = [replace(part) for part in nesting.flatten(value, expand_composites=True)]
            return value if remaining is None else next(remaining).from_tensors(iter(parts))
        return value

    return each(structure)


def tensors_for_arrays(value: Any) -> Any:
    """Return an argument with tensors for arrays; all else is as it was given."""
    if is_array(value):
        return convert(value)
    return _mapped(value, tensors_for_arrays) if nesting.is_nested(value) else value


def boxed(value: object) -> Any:
    """Return an argument with tensors for its Python numbers."""
    if type(value) in (int, float, complex):
        return convert(value)
    if type(value) in _PRIMITIVES or isinstance(value, EagerTensor) or not nesting.is_nested(value):
        return value
    return _mapped(value, boxed)


def copied(value: object) -> Any:
    """Return a copy of the containers; what is in them is the same."""
    return _mapped(value, copied) if nesting.is_nested(value) else value


def changed(before: Any, after: Any) -> bool:
    """Return whether something in `after` is not what it is in `before`, a copy of the same containers."""
    if before is after:
        return False
    if isinstance(before, Fields) and type(after) is before.of:
        after = fields_of(after)
    if not nesting.is_nested(before) or type(before) is not type(after):
        return True
    if isinstance(before, Mapping):
        return set(before) != set(after) or any(changed(before[key], after[key]) for key in before)
    pairs = nesting.children(before), nesting.children(after)
    return len(pairs[0]) != len(pairs[1]) or any(changed(a, b) for a, b in zip(*pairs, strict=True))


def _sorted(value: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        return list(value)


def _has_parts(value: object) -> bool:
    spec = value if isinstance(value, TypeSpec) else getattr(value, "_type_spec", None)
    return isinstance(spec, TypeSpec) and not is_variable(value)


def _plain(name: str) -> str:
    """Return a name as TensorFlow's specs have it."""
    return "".join(c if c.isalnum() or c in "_./-" else "_" for c in name)


class Held:
    """A Variable or another object that a trace was made for, held weakly where it can be."""

    def __init__(self, value: Any) -> None:
        self.is_variable = is_variable(value)
        self.type_name = type(value).__name__
        self.text = repr(value) if not self.is_variable else ""
        self.spec = (value.shape, value.dtype, bool(value.trainable)) if self.is_variable else None
        try:
            method = isinstance(value, types.MethodType)
            self._reference: Callable[[], Any] = weakref.WeakMethod(value) if method else weakref.ref(value)
        except TypeError:
            self._reference = lambda: value

    def get(self) -> Any:
        """Return the object, None once it is gone."""
        return self._reference()

    def stands_for(self, value: object) -> bool:
        """Return whether `value` is the object."""
        return value is self or (
            value is not None and (value is self.get() or (isinstance(value, types.MethodType) and value == self.get()))
        )

    def __repr__(self) -> str:
        if self.spec is not None:
            shape, dtype, trainable = self.spec
            return f"VariableSpec(shape={shape}, dtype={dtype!r}, trainable={trainable})"
        return self.text


def described(arguments: Arguments, shapes: list[Any], specs: Iterable[Any]) -> dict[str, Any]:
    """Return the arguments as a trace remembers them: specs for tensors (with these shapes), objects held weakly."""
    remaining = iter(zip(shapes, arguments.paths, strict=True))
    composites = iter(specs)

    def each(value: object) -> Any:
        if isinstance(value, Tensor | TensorSpec):
            shape, name = next(remaining)
            return TensorSpec(shape, value.dtype, _plain(name))
        if is_variable(value):
            return Held(value)
        if nesting.is_nested(value):
            return _mapped(value, each)
        if isinstance(value, Typed):
            for _ in value.type.flatten():
                next(remaining)
            return next(composites)
        spec = value if isinstance(value, TypeSpec) else getattr(value, "_type_spec", None)
        if isinstance(spec, TypeSpec):
            for _ in nesting.flatten(value, expand_composites=True):
                next(remaining)
            return next(composites)
        if type(value) in _PRIMITIVES or isinstance(value, DType | TensorShape) or _value_text(value) is not None:
            return value
        return Held(value)

    return {name: each(value) for name, value in arguments.structure.items()}


class Guard:
    """Holds the objects of a key: weakly where possible, and calls `gone` when one of them is.

    An id is given again once its object is gone, so the trace must go with it.
    """

    def __init__(self, objects: list[Any], gone: Callable[[Any], None]) -> None:
        self.held: list[Any] = []
        for item in objects:
            try:
                self.held.append(weakref.ref(item, gone))
            except TypeError:
                self.held.append(item)


def shapes_in(key: object, specs: list[Any]) -> list[Any]:
    """Return the shapes of the tensors in a key, in order; append the specs of its composites to `specs`."""
    if type(key) is not tuple:
        return []
    if key[:1] == (TENSOR,):
        return [key[2]]
    if key[:1] == (TYPE,):
        specs.append(key[1])
        return [part.aval.shape for part in key[1].flatten()]
    return [shape for part in key for shape in shapes_in(part, specs)]
