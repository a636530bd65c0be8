"""tf.nest: values in nested lists, tuples, dicts, named tuples, attrs classes and, if asked, composites.

Rule: the order of a mapping's values is that of its sorted keys, whatever its class, as TensorFlow has it; None,
strings, arrays, tensors and sets are leaves. docs/adr/0004-nesting.md says why this is not optree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, MappingView, Sequence
from typing import Any

import numpy as np


class CompositeSpec:
    """Parts of a composite value, which carries this as `_type_spec`: taken apart, put together. Base of TypeSpec."""

    __slots__ = ()
    _is_composite = True
    _parts_in_list = False  # how outputs are listed that are such values: in a list, or as the parts are

    @property
    def _component_specs(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._component_specs")

    def _to_components(self, value: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_components")

    def _from_components(self, components: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._from_components")


_LEAF, _SEQUENCE, _NAMED, _MAPPING, _VIEW, _ATTRS, _CUSTOM = range(7)
_PLAIN_LEAVES = (int, float, complex, bool, str, bytes, type(None), np.ndarray)
_MOST_KINDS = 1024  # classes made at run time must not be kept for ever

_kinds: dict[type, int] = {}


def _kind(cls: type) -> int:
    """Return what values of class `cls` are: a leaf or one of the containers."""
    found = _kinds.get(cls)
    if found is None:
        if len(_kinds) >= _MOST_KINDS:
            _kinds.clear()
        found = _kinds[cls] = _find_kind(cls)
    return found


def _find_kind(cls: type) -> int:
    if issubclass(cls, (str, bytes)) or cls in _PLAIN_LEAVES:
        return _LEAF
    if hasattr(cls, "__tf_flatten__") and hasattr(cls, "__tf_unflatten__"):  # it takes itself apart
        return _CUSTOM
    if issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple):
        return _NAMED
    if issubclass(cls, Mapping):
        return _MAPPING
    if issubclass(cls, MappingView):
        return _VIEW
    if issubclass(cls, Sequence):
        return _SEQUENCE
    return _ATTRS if hasattr(cls, "__attrs_attrs__") else _LEAF


def register_leaf(cls: type) -> None:
    """Say that values of `cls` are leaves, so that no time is spent to find out."""
    _kinds[cls] = _LEAF


def composite_spec(value: object) -> CompositeSpec | None:
    """Return the spec by which a composite value, or a composite's spec, is taken apart; None for anything else."""
    spec = value if isinstance(value, CompositeSpec) else getattr(value, "_type_spec", None)
    return spec if isinstance(spec, CompositeSpec) and spec._is_composite else None


def _components(spec: CompositeSpec, value: Any) -> Any:
    """Return the parts of a composite value; for a spec, the specs of the parts."""
    return spec._component_specs if value is spec else spec._to_components(value)


def taken_apart(structure: Any) -> Any:
    """Return a structure with the parts of each composite in its place, in the list or tuple that its spec names."""

    def parts(leaf: Any) -> Any:
        spec = composite_spec(leaf)
        if spec is None:
            return leaf
        found = taken_apart(_components(spec, leaf))
        return list(found) if spec._parts_in_list else found

    return map_structure(parts, structure)


def _sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        classes = sorted({type(key).__name__ for key in mapping})
        raise TypeError(f"nest only supports dicts with sortable keys; got keys of types {classes}.") from None


def _children(kind: int, value: Any) -> Iterable[Any]:
    """Return the values directly inside a container of the given kind."""
    if kind == _MAPPING:
        return [value[key] for key in _sorted_keys(value)]
    if kind == _ATTRS:
        return [getattr(value, attribute.name) for attribute in type(value).__attrs_attrs__]
    if kind == _CUSTOM:
        return tuple(value.__tf_flatten__()[1])
    return value  # type: ignore[no-any-return]


def is_nested(seq: object) -> bool:
    """Return whether `seq` is a container rather than a leaf. Source: tf.nest.is_nested."""
    return _kind(type(seq)) != _LEAF


def children(container: Any) -> list[Any]:
    """Return the values directly inside a container, in the order of `flatten`."""
    return list(_children(_kind(type(container)), container))


def rebuilt(container: Any, children: Sequence[Any]) -> Any:
    """Return a container of the class of `container` with other values directly inside."""
    kind = _kind(type(container))
    if kind == _MAPPING:
        by_key = dict(zip(_sorted_keys(container), children, strict=True))
        return like_mapping(container, [(key, by_key[key]) for key in container])
    return _like(container, kind, list(children))


def metadata(container: Any) -> Any:
    """Return what a container that takes itself apart (`__tf_flatten__`) is besides its values; None for others."""
    return container.__tf_flatten__()[0] if _kind(type(container)) == _CUSTOM else None


def steps(container: Any) -> list[tuple[str, Any]]:
    """Return the values directly inside a container, each with what is appended to the container's name to reach it."""
    kind = _kind(type(container))
    if kind == _MAPPING:
        return [(f"[{key!r}]", container[key]) for key in container]
    if kind in (_NAMED, _ATTRS):
        return [(f".{name}", getattr(container, name)) for name in _field_names(kind, type(container))]
    return [(f"[{i}]", child) for i, child in enumerate(_children(kind, container))]


def _field_names(kind: int, cls: type[Any]) -> list[str]:
    return list(cls._fields) if kind == _NAMED else [attribute.name for attribute in cls.__attrs_attrs__]


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Return the leaves of `structure` in order; a leaf alone gives a list of one. Source: tf.nest.flatten.

    Args:
        structure: Lists, tuples, dicts (in the order of their keys), attrs classes, and leaves.
        expand_composites: Whether composites (IndexedSlices, ...) are taken apart into their tensors.

    Raises:
        TypeError: The keys of a dict cannot be sorted.

    Examples:
        >>> tf.nest.flatten({"b": 1, "a": [2, (3, None)]})
        [2, 3, None, 1]
        >>> tf.nest.flatten("leaf")
        ['leaf']
    """
    kind = _kind(type(structure))
    if kind == _LEAF and not expand_composites:
        return [structure]
    leaves: list[Any] = []
    _flatten_into(leaves, structure, expand_composites)
    return leaves


def _flatten_into(leaves: list[Any], value: Any, expand: bool) -> None:
    kind = _kind(type(value))
    if kind == _LEAF:
        spec = composite_spec(value) if expand else None
        if spec is None:
            leaves.append(value)
        else:
            _flatten_into(leaves, _components(spec, value), expand)
        return
    for child in _children(kind, value):
        _flatten_into(leaves, child, expand)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Return the values of `flat_sequence` in the form of `structure`. Source: tf.nest.pack_sequence_as.

    Args:
        structure: A structure, whose leaves are not looked at.
        flat_sequence: As many values, in the order in which `tf.nest.flatten` gives leaves.
        expand_composites: Whether composites are put together of their tensors.

    Raises:
        ValueError: There are more or fewer values than leaves.
        TypeError: `flat_sequence` is not a sequence.

    Examples:
        >>> tf.nest.pack_sequence_as({"b": 0, "a": [0, (0,)]}, ["first", "second", "third"])
        {'b': 'third', 'a': ['first', ('second',)]}
    """
    if not is_nested(flat_sequence):
        raise TypeError(
            "Attempted to pack value:\n"
            f"  {_brief(flat_sequence)}\n"
            f"into a structure, but found incompatible type `{type(flat_sequence)}` instead."
        )
    flat = list(flat_sequence)
    if not is_nested(structure) and not (expand_composites and composite_spec(structure)):
        if len(flat) != 1:
            raise ValueError(
                f"The target structure is of type `{type(structure)}`\n  {_brief(structure)}\n"
                f"However the input is a sequence ({type(flat_sequence)}) of length {len(flat)}.\n  "
                f"{_brief(flat_sequence)}\nnest cannot guarantee that it is safe to map one to the other."
            )
        return flat[0]
    n_leaves = len(flatten(structure, expand_composites))
    if n_leaves != len(flat):
        raise ValueError(
            f"Could not pack sequence. Structure had {n_leaves} atoms, but flat_sequence had {len(flat)} items.  "
            f"Structure: {_brief(structure)}, flat_sequence: {_brief(flat_sequence)}."
        )
    return _pack(structure, iter(flat), expand_composites)


def _pack(structure: Any, leaves: Any, expand: bool) -> Any:
    """Return `structure` with its leaves replaced by the next ones of the iterator `leaves`."""
    kind = _kind(type(structure))
    if kind == _LEAF:
        spec = composite_spec(structure) if expand else None
        if spec is None:
            return next(leaves)
        return spec._from_components(_pack(_components(spec, structure), leaves, expand))
    if kind == _MAPPING:
        by_key = {key: _pack(structure[key], leaves, expand) for key in _sorted_keys(structure)}
        return like_mapping(structure, [(key, by_key[key]) for key in structure])
    return _like(structure, kind, [_pack(child, leaves, expand) for child in _children(kind, structure)])


def like_mapping(original: Any, items: list[tuple[Any, Any]]) -> Any:
    """Return a mapping of the class of `original` with other items, in its order."""
    if isinstance(original, defaultdict):
        return type(original)(original.default_factory, items)
    try:
        return getattr(original, "__fg_like__", type(original))(items)
    except TypeError:  # a Mapping that is not made from items (a proxy): the values still have their keys
        return dict(items)


def _like(original: Any, kind: int, children: list[Any]) -> Any:
    """Return a container of the class of `original` with other children."""
    cls = type(original)
    if kind == _CUSTOM:
        return original.__tf_unflatten__(original.__tf_flatten__()[0], tuple(children))
    if kind in (_NAMED, _ATTRS):
        return cls(*children)
    if kind == _VIEW or cls is range or isinstance(original, memoryview):
        return children
    return getattr(cls, "__fg_like__", cls)(children)


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Return the structure of `func(leaf, ...)` over the leaves of one or more like structures.

    Args:
        func: A function of as many leaves as there are structures.
        structure: Structures of lists, tuples, dicts and the like, alike in form.
        kwargs: `check_types=False` lets lists stand beside tuples; `expand_composites=True` goes into composites.

    Raises:
        TypeError: The structures differ in their types, or func cannot be called.
        ValueError: They differ in their lengths or keys, or there is none.

    Examples:
        >>> tf.nest.map_structure(lambda x, y: x + y, {"a": 1, "b": [2, 3]}, {"a": 10, "b": [20, 30]})
        {'a': 11, 'b': [22, 33]}
        >>> tf.nest.map_structure(lambda x: x.shape, (tf.ones([2]), [tf.ones([3, 4])]))
        (TensorShape([2]), [TensorShape([3, 4])])

    Source: tf.nest.map_structure.
    """
    check_types = kwargs.pop("check_types", True)
    expand = kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(
            f"Only valid keyword arguments are `check_types` and `expand_composites`, not: `{'`, `'.join(kwargs)}`"
        )
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    first = structure[0]
    for other in structure[1:]:
        assert_same_structure(first, other, check_types=check_types, expand_composites=expand)
    columns = [flatten(s, expand) for s in structure]
    return _pack(first, iter([func(*leaves) for leaves in zip(*columns, strict=True)]), expand)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Raise ValueError if the two differ in nesting, TypeError if in the classes of their containers.

    Dicts of any class may stand for each other. Source: tf.nest.assert_same_structure.
    """
    try:
        _compare(nest1, nest2, check_types, expand_composites)
    except (ValueError, TypeError) as error:
        dots = [_dots(nest) for nest in (nest1, nest2)]
        raise type(error)(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {_describe(nest1)}\n\nSecond structure: {_describe(nest2)}\n\n"
            f"More specifically: {error}\n"
            f"Entire first structure:\n{dots[0]}\nEntire second structure:\n{dots[1]}"
        ) from None


def _compare(a: Any, b: Any, check_types: bool, expand: bool) -> None:
    """Raise ValueError or TypeError with the first difference of two structures."""
    kinds = _kind(type(a)), _kind(type(b))
    if kinds == (_LEAF, _LEAF):
        if expand:
            _compare_composites(a, b)
        return
    if _LEAF in kinds:
        container, leaf = (b, a) if kinds[0] == _LEAF else (a, b)
        raise ValueError(
            f'Substructure "{_describe(container)}" is a sequence, while substructure "{_describe(leaf)}" is not'
        )
    if check_types and not _same_class(a, b, *kinds):
        raise TypeError(
            "The two namedtuples don't have the same sequence type. "
            f"First structure {_describe(a)} has type {type(a).__name__}, "
            f"while second structure {_describe(b)} has type {type(b).__name__}"
        )
    if kinds == (_MAPPING, _MAPPING) and set(a) != set(b):
        raise ValueError(
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{_describe(list(a))}, while second structure has keys {_describe(list(b))}"
        )
    children_a, children_b = list(_children(kinds[0], a)), list(_children(kinds[1], b))
    if len(children_a) != len(children_b):
        raise ValueError(
            "The two structures don't have the same number of elements. "
            f"First structure: {_describe(a)}. Second structure: {_describe(b)}"
        )
    for child_a, child_b in zip(children_a, children_b, strict=True):
        _compare(child_a, child_b, check_types, expand)


def _same_class(a: Any, b: Any, kind_a: int, kind_b: int) -> bool:
    """Return whether two containers may stand for each other: same class, both mappings, or named tuples alike."""
    if kind_a == kind_b == _MAPPING:
        return True
    if kind_a == kind_b == _NAMED:
        return type(a).__name__ == type(b).__name__ and type(a)._fields == type(b)._fields
    return getattr(a, "__fg_like__", type(a)) is getattr(b, "__fg_like__", type(b))


def _compare_composites(a: Any, b: Any) -> None:
    """Raise if one of two leaves is a composite and the other is not, or if no spec takes in both."""
    specs: Any = composite_spec(a), composite_spec(b)
    if specs == (None, None):
        return
    if None in specs:
        container, leaf = (b, a) if specs[0] is None else (a, b)
        raise ValueError(
            f'Substructure "{_describe(container)}" is a sequence, while substructure "{_describe(leaf)}" is not'
        )
    if specs[0] != specs[1] and specs[0].most_specific_common_supertype([specs[1]]) is None:
        raise ValueError(f"Incompatible CompositeTensor TypeSpecs: {_describe(specs[0])} vs. {_describe(specs[1])}")


def _dots(structure: Any) -> str:
    """Return the structure with a dot for each leaf."""
    kind = _kind(type(structure))
    if kind == _LEAF:
        return "."
    if kind == _MAPPING:
        return "{" + ", ".join(f"{key!r}: {_dots(structure[key])}" for key in structure) + "}"
    parts = [_dots(child) for child in _children(kind, structure)]
    if kind == _NAMED:
        pairs = zip(type(structure)._fields, parts, strict=True)
        return f"{type(structure).__name__}({', '.join(f'{field}={part}' for field, part in pairs)})"
    if isinstance(structure, tuple):
        return "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"
    return "[" + ", ".join(parts) + "]"


def _describe(value: object) -> str:
    return f"type={type(value).__name__} str={_brief(value)}"


def _brief(value: object) -> str:
    """Return the text of `value`, cut where it is very long."""
    text = str(value)
    return text if len(text) <= 1000 else text[:1000] + " ..."
