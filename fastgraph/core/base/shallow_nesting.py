"""Structures seen as deep as another one goes, and with the paths of their leaves: the inner part of TensorFlow's nest.

Rule: what a container is, and the order of its values, core/base/nesting says; here is only how deep one looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from fastgraph.core.base import nesting

Path = tuple[Any, ...]


def _inside(structure: object, expand: bool) -> Any:
    """Return a structure, or what a composite is made of where composites are to be gone into."""
    spec = nesting.composite_spec(structure) if expand else None
    return structure if spec is None else nesting._components(spec, structure)


def is_mapping(obj: object) -> bool:
    """Return whether a value is a mapping."""
    return isinstance(obj, Mapping)


def is_attrs(obj: object) -> bool:
    """Return whether a value is of a class made by attrs."""
    return hasattr(type(obj), "__attrs_attrs__")


def is_namedtuple(instance: object, strict: bool = False) -> bool:
    """Return whether a value is a named tuple; `strict`: of a class that derives from tuple directly."""
    fields = getattr(instance, "_fields", None)
    named = isinstance(instance, tuple) and isinstance(fields, tuple) and all(isinstance(each, str) for each in fields)
    return named and (not strict or type(instance).__base__ is tuple)


def is_nested_or_composite(seq: object) -> bool:
    """Return whether a value is a container or a composite."""
    return nesting.is_nested(seq) or nesting.composite_spec(seq) is not None


def _keyed(container: Any) -> list[tuple[Any, Any]]:
    """Return (key, index or name of a field; value) of each value directly inside a container, in nest's order."""
    if isinstance(container, Mapping):
        return [(key, container[key]) for key in nesting._sorted_keys(container)]
    if is_namedtuple(container):
        return [(name, getattr(container, name)) for name in container._fields]
    if is_attrs(container):
        return [(each.name, getattr(container, each.name)) for each in type(container).__attrs_attrs__]
    return list(enumerate(nesting.children(container)))


def yield_value(iterable: object) -> Iterator[Any]:
    """Yield the values directly inside a container."""
    yield from nesting.children(iterable)


def yield_sorted_items(iterable: object) -> Iterator[tuple[Any, Any]]:
    """Yield (key, index or name of a field; value) of each value directly inside a container."""
    yield from _keyed(iterable)


def sequence_like(instance: object, args: Iterable[object]) -> Any:
    """Return a container of the class of `instance` with the values `args` directly inside."""
    return nesting.rebuilt(instance, list(args))


def list_to_tuple(structure: object) -> Any:
    """Return a structure with tuples in the place of its lists."""
    if not nesting.is_nested(structure):
        return structure
    items = [list_to_tuple(each) for each in nesting.children(structure)]
    return tuple(items) if isinstance(structure, list) else nesting.rebuilt(structure, items)


def yield_flat_paths(nest: object, expand_composites: bool = False) -> Iterator[Path]:
    """Yield the path of each leaf: a tuple of keys, indices and names of fields."""
    for path, _ in _with_paths(nest, expand_composites):
        yield path


def _with_paths(structure: object, expand: bool, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    inside = _inside(structure, expand)
    if not nesting.is_nested(inside):
        yield path, structure
        return
    for key, child in _keyed(inside):
        yield from _with_paths(child, expand, (*path, key))


def flatten_with_tuple_paths(structure: object, expand_composites: bool = False) -> list[tuple[Path, Any]]:
    """Return [(path, leaf)] of a structure."""
    return list(_with_paths(structure, expand_composites))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """Return [(path as one text, leaf)] of a structure."""
    return [(separator.join(map(str, path)), leaf) for path, leaf in _with_paths(structure, expand_composites)]


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: object, **kwargs: Any) -> Any:
    """Return the structure of `func(path, leaf, ...)` over the leaves of one or more like structures."""
    expand = kwargs.get("expand_composites", False)
    paths = iter([path for path, _ in _with_paths(structure[0], expand)])
    return nesting.map_structure(lambda *leaves: func(next(paths), *leaves), *structure, **kwargs)


def map_structure_with_paths(func: Callable[..., Any], *structure: object, **kwargs: Any) -> Any:
    """Return the structure of `func("a/0", leaf, ...)` over the leaves of one or more like structures."""
    return map_structure_with_tuple_paths(
        lambda path, *leaves: func("/".join(map(str, path)), *leaves), *structure, **kwargs
    )


def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise unless `input_tree` is like `shallow_tree` as deep as that one goes.

    Raises TypeError for containers of other classes and for leaves where there ought to be a container, ValueError for
    other lengths and keys.
    """
    for _ in _beside(shallow_tree, input_tree, check_types, expand_composites, ()):
        pass


def _beside(shallow: object, tree: object, check_types: bool, expand: bool, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield (path, what stands in `tree`) for each leaf of `shallow`."""
    composite = expand and nesting.composite_spec(shallow) is not None
    if not composite and not nesting.is_nested(shallow):
        yield path, tree
        return
    if composite:
        if nesting.composite_spec(tree) is None:
            raise TypeError(
                f"If shallow structure is a composite, input must also be one. Input has type: {type(tree)}."
            )
        shallow, tree = _inside(shallow, True), _inside(tree, True)
        if not nesting.is_nested(shallow):
            yield from _beside(shallow, tree, check_types, expand, path)
            return
    elif not nesting.is_nested(tree):
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(tree)}."
        )
    elif check_types and not nesting._same_class(
        shallow, tree, nesting._kind(type(shallow)), nesting._kind(type(tree))
    ):
        raise TypeError(
            f"The two structures don't have the same sequence type. Input structure has type {type(tree)}, while "
            f"shallow structure has type {type(shallow)}."
        )
    ours, theirs = _keyed(shallow), _keyed(tree)
    if len(ours) != len(theirs):
        raise ValueError(
            f"The two structures don't have the same sequence length. Input structure has length {len(theirs)}, while "
            f"shallow structure has length {len(ours)}."
        )
    if isinstance(shallow, Mapping) and isinstance(tree, Mapping) and set(shallow) != set(tree):
        raise ValueError(
            f"The two structures don't have the same keys. Input structure has keys {list(tree)}, while shallow "
            f"structure has keys {list(shallow)}."
        )
    for (key, child), (_, other) in zip(ours, theirs, strict=True):
        yield from _beside(child, other, check_types, expand, (*path, key))


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """Return what stands in `input_tree` at the leaves of `shallow_tree`; raises as `assert_shallow_structure`."""
    return [part for _, part in _beside(shallow_tree, input_tree, check_types, expand_composites, ())]


def flatten_with_tuple_paths_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[tuple[Path, Any]]:
    """Return [(path, part)] of what stands in `input_tree` at the leaves of `shallow_tree`."""
    return list(_beside(shallow_tree, input_tree, check_types, expand_composites, ()))


def map_structure_up_to(shallow_tree: object, func: Callable[..., Any], *inputs: object, **kwargs: Any) -> Any:
    """Return `shallow_tree` with `func(part, ...)` of what stands in the inputs at its leaves."""
    return map_structure_with_tuple_paths_up_to(shallow_tree, lambda _, *parts: func(*parts), *inputs, **kwargs)


def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Return `shallow_tree` with `func(path, part, ...)` of what stands in the inputs at its leaves.

    Raises ValueError if there are no inputs, otherwise as `assert_shallow_structure`.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_types, expand = kwargs.pop("check_types", True), kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(
            f"Only valid keyword arguments are `check_types` and `expand_composites`, not: `{'`, `'.join(kwargs)}`"
        )
    columns = [list(_beside(shallow_tree, tree, check_types, expand, ())) for tree in inputs]
    results = [func(row[0][0], *(part for _, part in row)) for row in zip(*columns, strict=True)]
    return nesting.pack_sequence_as(shallow_tree, results, expand)


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """Return a structure of bools: as deep as `traverse_fn` says of `structure` that one may go, whether it says so.

    traverse_fn: of a part, a bool, or bools in the form of the part (its values to go into). Raises TypeError for
    another answer.
    """
    may = traverse_fn(structure)
    inside = _inside(structure, expand_composites)
    if not nesting.is_nested(inside):
        if not isinstance(may, bool):
            raise TypeError(f"traverse_fn returned structure: {may} for non-structure: {structure}")
        return may
    if isinstance(may, bool):
        deeper = [may for _ in nesting.children(inside)]
        if not may:
            return False
    else:
        assert_shallow_structure(may, inside)
        deeper = nesting.children(may)
        if not all(isinstance(each, bool) for each in nesting.flatten(may)):
            raise TypeError("traverse_fn didn't return a depth=1 structure of bools.")
    parts = [
        get_traverse_shallow_structure(traverse_fn, child, expand_composites) if go else False
        for go, child in zip(deeper, nesting.children(inside), strict=True)
    ]
    return nesting.rebuilt(inside, parts)
