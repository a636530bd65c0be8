"""tf.experimental.ExtensionType: classes of users' own whose objects pass where tensors do, and their specs.

Rule: an object's fields never change; a class's spec has the same fields, with a spec in the place of each tensor.
"""

from __future__ import annotations

import abc
import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from fastgraph.composites.extension_fields import ImmutableDict, check_annotation, converted, is_reserved
from fastgraph.core.base import nesting
from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import Tensor, init_scope

_INSIDE, _SPEC = "_fg_inside", "_fg_spec"
_NONE = inspect.Parameter.empty
_MUTABLE = ("_keras_mask",)


class _Fields:
    """The base of extension types and of their specs: fields that nothing changes once an object is made."""

    @classmethod
    def _fg_names(cls) -> tuple[str, ...]:
        """The names of all fields, those of bases first; of a spec, its values'."""
        kind: Any = getattr(cls, "value_type", cls)
        found: tuple[str, ...] | None = kind.__dict__.get("_fg_kept_names")
        if found is None:
            found = kind._fg_kept_names = tuple(_annotations(kind))
        return found

    @classmethod
    def _fg_types(cls) -> dict[str, Any]:
        """{name: type} of all fields. Raises NameError for a type that is not there yet."""
        kind: Any = getattr(cls, "value_type", cls)
        found: dict[str, Any] | None = kind.__dict__.get("_fg_kept_types")
        if found is None:
            hints = _hints(kind)
            found = kind._fg_kept_types = {name: hints[name] for name in cls._fg_names()}
        return found

    def __validate__(self) -> None:
        """Raise an error for fields that do not fit together: a subclass says which."""

    def _finish(self, for_spec: bool) -> None:
        """Convert the fields that a constructor has set, and check them."""
        try:
            fields = self._fg_types()
        except NameError as error:
            raise TypeError(f"Unresolved forward reference in {type(self).__qualname__}: {error}") from error
        found = self.__dict__
        if extra := set(found) - set(fields) - set(_MUTABLE):
            raise ValueError(f"Got unexpected fields: {extra}")
        if missing := set(fields) - set(found):
            raise ValueError(f"Missing required fields: {missing}")
        for name, kind in fields.items():
            found[name] = converted(found[name], kind, name, for_spec)
        self.__validate__()

    def _check_change(self, name: str) -> None:
        if name not in _MUTABLE and (_INSIDE not in self.__dict__ or name not in self._fg_names()):
            what = "ExtensionTypeSpec" if isinstance(self, TypeSpec) else "ExtensionType"
            raise AttributeError(f"Cannot mutate attribute `{name}` outside the custom constructor of {what}.")

    def __setattr__(self, name: str, value: object) -> None:
        self._check_change(name)
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        self._check_change(name)
        del self.__dict__[name]


def _constructor(cls: type, parameters: list[inspect.Parameter], for_spec: bool) -> None:
    """Give a class the constructor of these fields, or see to it that its own one sets all of them."""
    own = cls.__dict__.get("__init__")
    if own is None:
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        signature = inspect.Signature(parameters)

        def own(self: Any, *args: Any, **kwargs: Any) -> None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            self.__dict__.update(bound.arguments)

        own.__signature__ = inspect.Signature([first, *parameters], return_annotation=cls)  # type: ignore[attr-defined]
        own.__qualname__ = f"{cls.__qualname__}.__init__"

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        outermost = _INSIDE not in self.__dict__  # one that calls its base's is done when it is done itself
        self.__dict__[_INSIDE] = True
        try:
            own(self, *args, **kwargs)
        finally:
            if outermost:
                self.__dict__.pop(_INSIDE, None)
        if outermost:
            self._finish(for_spec)

    __init__.__wrapped__ = own  # type: ignore[attr-defined]
    __init__.__qualname__, __init__.__module__ = own.__qualname__, cls.__module__
    __init__.__doc__ = own.__doc__
    cls.__init__ = __init__  # type: ignore[misc]


def _annotations(cls: type) -> dict[str, Any]:
    """The annotations of a class and its bases as they were written, those of bases first."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if not base.__dict__.get("_fg_of_the_house"):
            found |= inspect.get_annotations(base)
    return found


def _with_defaults(cls: type[Any], for_spec: bool) -> list[inspect.Parameter]:
    """The constructor's parameters: one without a default after one with it has to be named, as all after it."""
    found: list[inspect.Parameter] = []
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    hints = {} if for_spec else _annotations(cls) | cls.__dict__.get("_fg_kept_types", {})
    for name in cls._fg_names():
        default = _NONE if for_spec else getattr(cls, name, _NONE)
        if default is _NONE and any(p.default is not _NONE for p in found):
            kind = inspect.Parameter.KEYWORD_ONLY
        found.append(inspect.Parameter(name, kind, default=default, annotation=hints.get(name, _NONE)))
    return found


class ExtensionTypeMeta(abc.ABCMeta):
    """Makes of a class with annotated fields an extension type: checks them, adds the constructor and `Spec`."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        if not namespace.get("_fg_of_the_house"):
            _check_class(cls)
            _constructor(cls, _with_defaults(cls, False), False)
            _add_spec(cls)


def _check_class(cls: type[Any]) -> None:
    """Raise ValueError or TypeError for fields that cannot be."""
    own = inspect.get_annotations(cls)
    given = cls.__dict__.get("Spec", object)
    if given is not object and not isinstance(given, type):
        raise ValueError(f"{cls.__qualname__}.Spec must be a nested class; got {given}.")
    if given is not object and given.__bases__ not in ((TypeSpec,), (object,)):
        raise ValueError(f"{cls.__qualname__}.Spec must be directly subclassed from tf.TypeSpec.")
    for name in (*own, *cls.__dict__):
        if is_reserved(name) and (name in own or name != "Spec"):
            raise ValueError(f"The field annotations for {cls.__name__} are invalid. Field '{name}' is reserved.")
    for name, value in cls.__dict__.items():
        plain = not (name.startswith("__") or callable(value) or hasattr(value, "__get__"))
        if plain and name not in own and name != "Spec" and not name.startswith("_abc_"):
            raise ValueError(
                f"The field annotations for {cls.__name__} are invalid. Field {name} is missing a type annotation."
            )
    try:
        fields = cls._fg_types()
    except NameError:  # a class that is still to come
        return
    for name, kind in fields.items():
        try:
            check_annotation(kind)
        except TypeError as error:
            raise TypeError(f"In field {name!r}: {error}") from error
        default = getattr(cls, name, _NONE)
        if default is not _NONE:
            with init_scope():
                converted(default, kind, f"default value for {name}")


def _add_spec(cls: type[Any]) -> None:
    """Make `cls.Spec`, of the specs of its bases and what the class says of its own."""
    above: list[Any] = [base for base in cls.__bases__ if isinstance(base, ExtensionTypeMeta)]
    bases = [vars(base).get("_fg_spec") or base.Spec for base in above]
    namespace: dict[str, Any] = {"value_type": cls, "__module__": cls.__module__}
    given = cls.__dict__.get("Spec")
    if given is not None:
        kept = {name: value for name, value in vars(given).items() if name not in ("__dict__", "__weakref__")}
        namespace = {**kept, **namespace}
    if hasattr(cls, "__batch_encoder__"):
        namespace["__batch_encoder__"] = cls.__batch_encoder__
    namespace["__qualname__"] = f"{cls.__qualname__}.Spec"
    cls.Spec = type(f"{cls.__name__}.Spec", tuple(bases), namespace)
    if "__name__" in cls.__dict__:
        _register(f"{cls.__dict__['__name__']}.Spec", cls.Spec)
    _constructor(cls.Spec, _with_defaults(cls, True), True)


#: The specs of classes that have a `__name__`, by which SavedModels know them, and their names.
registered: dict[str, Any] = {}
names: dict[type, str] = {}


def _register(name: str, spec: Any) -> None:
    if not re.fullmatch(r"(\w+\.)+\w+", name):
        raise ValueError(
            "Registered name must have the form '{project_name}.{type_name}' (e.g. 'my_project.MyTypeSpec'); got "
            f"{name!r}."
        )
    if name in registered:
        found = registered[name]
        raise ValueError(f"Name {name} has already been registered for class {found.__module__}.{found.__name__}.")
    registered[name], names[spec] = spec, name


class ExtensionTypeSpec(_Fields, TypeSpec):
    """Knowledge of an extension type's objects: `cls.Spec` is one. Source: tf.experimental.ExtensionTypeSpec."""

    value_type: Any = None

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """Return the spec of an object."""
        return value._type_spec

    def _serialize(self) -> tuple[Any, ...]:
        return tuple([(name, self.__dict__[name]) for name in self._fg_names()])

    @classmethod
    def _deserialize(cls, parts: Any) -> Any:
        found = cls.__new__(cls)
        found.__dict__.update({name: _frozen(value) for name, value in parts})
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.value_type, self._serialize())  # the nested class is found by the outer one

    @property
    def _component_specs(self) -> tuple[TypeSpec, ...]:
        parts = [mine for _, mine in self._serialize()]
        return tuple(_paired(parts, parts))

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        names, parts = self._fg_names(), [mine for _, mine in self._serialize()]
        return tuple(_paired(parts, [value.__dict__[name] for name in names]))

    def _from_components(self, components: Any) -> Any:
        left = iter(components)
        found = object.__new__(self.value_type)
        for name, mine in self._serialize():
            found.__dict__[name] = nesting.map_structure(
                lambda leaf: next(left) if isinstance(leaf, TypeSpec) else leaf, mine
            )
        if next(left, _NONE) is not _NONE:
            raise ValueError(
                "Cannot build an ExtensionType instance from components because more components are provided than the "
                "number expected by the type spec."
            )
        return found

    def __repr__(self) -> str:
        return (
            f"{type(self).__qualname__}({', '.join(f'{name}={_plain(value)!r}' for name, value in self._serialize())})"
        )


def _plain(value: Any) -> Any:
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, ImmutableDict) else value


def _frozen(value: Any) -> Any:
    """A field with dicts that stay as they are, whatever they were."""
    if isinstance(value, Mapping):
        return ImmutableDict({key: _frozen(each) for key, each in value.items()})
    return tuple(map(_frozen, value)) if type(value) in (tuple, list) else value


def _restored(value_type: Any, parts: Any) -> Any:
    return value_type.Spec._deserialize(parts)


def _paired(spec: Any, value: Any) -> Iterator[Any]:
    """The parts of a value that stand where its spec has a TypeSpec."""
    if isinstance(spec, TypeSpec):
        yield value
    elif nesting.is_nested(spec):
        for each, other in zip(nesting.children(spec), nesting.children(value), strict=True):
            yield from _paired(each, other)


class ExtensionType(_Fields, CompositeTensor, metaclass=ExtensionTypeMeta):
    """The base of classes whose objects stand where tensors do: in Functions, branches, loops, tapes, `tf.nest`.

    A subclass annotates its fields: Tensors and other composites, Python's numbers and text, DType, TensorShape, and of
    these tuples, Mappings, unions. What it is made of is converted; `__validate__` may check it. `Spec` is the class of
    its specs. Raises TypeError for other annotations and values, AttributeError where a field is set later.

    Examples:
        >>> class Masked(tf.experimental.ExtensionType):
        ...     values: tf.Tensor
        ...     mask: tf.Tensor
        >>> fill = tf.function(lambda m: tf.where(m.mask, m.values, -1.0))
        >>> fill(Masked([1.0, 2.0], [True, False])).numpy()
        array([ 1., -1.], dtype=float32)

    Source: tf.experimental.ExtensionType.
    """

    _fg_of_the_house = True
    _is_tensor = False
    _fg_spec: ClassVar[Any] = ExtensionTypeSpec
    Spec: ClassVar[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise AssertionError(
            "Cannot create an instance of ExtensionType because ExtensionType is an abstract base class."
        )

    @property
    def _type_spec(self) -> Any:
        found = self.__dict__.get(_SPEC)
        if found is None:
            fields = [(name, nesting.map_structure(_spec_of, self.__dict__[name])) for name in self._fg_names()]
            found = self.__dict__[_SPEC] = self.Spec._deserialize(fields)
        return found

    def __eq__(self, other: object) -> Any:
        """Return whether all fields are equal: False where that is known, else bool[]."""
        if type(self) is not type(other) or self._type_spec != other._type_spec:
            return False
        pairs = zip(*[nesting.flatten(each, expand_composites=True) for each in (self, other)], strict=True)
        alike = [same for mine, theirs in pairs for same in _compared(mine, theirs)]
        return public_function("reduce_all")(public_function("stack")(alike)) if alike else True

    def __ne__(self, other: object) -> Any:
        found = self.__eq__(other)
        return public_function("logical_not")(found) if isinstance(found, Tensor) else not found

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._fg_names())})"

    def __getstate__(self) -> Any:
        return {name: value for name, value in self.__dict__.items() if name != _SPEC}


def _compared(a: Any, b: Any) -> list[Any]:
    """Scalars, bool[], that are all true where two tensors of one rank are equal, whatever their extents."""
    reduce_all, equal, size = map(public_function, ("reduce_all", "math.equal", "size"))
    if a.shape.is_fully_defined():
        return [reduce_all(equal(a, b))]
    x, y = (public_function("reshape")(each, [-1]) for each in (a, b))
    n = public_function("minimum")(size(x), size(y))
    return [reduce_all(equal(*map(public_function("shape"), (a, b)))), reduce_all(equal(x[:n], y[:n]))]


def _hints(cls: type) -> dict[str, Any]:
    """The types of the fields, names in text looked up. Raises NameError for one that is not there."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if not base.__dict__.get("_fg_of_the_house") and inspect.get_annotations(base):
            own = type("Own", (), {"__annotations__": inspect.get_annotations(base), "__module__": base.__module__})
            found |= typing.get_type_hints(own, localns={**vars(base), base.__name__: base, cls.__name__: cls})
    return found


def _spec_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    found = getattr(value, "_type_spec", None)
    return found if isinstance(found, TypeSpec) else value


def as_dict(value: ExtensionType) -> dict[str, Any]:
    """Return {name: value} of the fields of an object; nested objects stay. Source: tf.experimental.extension_type."""
    return {name: getattr(value, name) for name in value._fg_names()}
