"""tf.nest: order, classes and messages are TensorFlow's."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

from fastgraph.core.base import nesting as nest
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec

Point = collections.namedtuple("Point", "x y")
Other = collections.namedtuple("Other", "x y")
OD = collections.OrderedDict


class AttrsLike:
    """What an attrs class looks like from outside."""

    __attrs_attrs__ = (collections.namedtuple("A", "name")("p"), collections.namedtuple("A", "name")("q"))

    def __init__(self, p: Any, q: Any) -> None:
        self.p, self.q = p, q


class PairSpec(TypeSpec):
    def __init__(self, label: str) -> None:
        self.label = label

    def _serialize(self) -> tuple[Any, ...]:
        return (self.label,)

    @property
    def _component_specs(self) -> Any:
        return [TensorSpec([1]), TensorSpec([2])]

    def _to_components(self, value: Any) -> Any:
        return [value.a, value.b]

    def _from_components(self, components: Any) -> Any:
        return Pair(*components, label=self.label)


class Pair:
    def __init__(self, a: Any, b: Any, label: str = "") -> None:
        self.a, self.b, self.label = a, b, label

    @property
    def _type_spec(self) -> PairSpec:
        return PairSpec(self.label)


@pytest.mark.parametrize(
    ("structure", "leaves"),
    [([1, (2, range(3)), None, "ab", {"b": 1, "a": {1: 2}}], [1, 2, 0, 1, 2, None, "ab", 2, 1]),
     (OD(b=1, a=2), [2, 1]), (collections.deque([1, 2]), [1, 2]), ({1, 2}, [{1, 2}]), (Point(1, [2]), [1, 2]),
     (TensorShape([1, 2]), [TensorShape([1, 2])]), (None, [None]), ((), []), ({"b": 1, "a": 2}.values(), [1, 2]),
     (collections.defaultdict(int, b=1, a=2), [2, 1]), (b"ab", [b"ab"]), ([[], {}], []),
     (AttrsLike(1, [2, 3]), [1, 2, 3])],
)  # fmt: skip
def test_flatten(structure: Any, leaves: list[Any]) -> None:
    assert nest.flatten(structure) == leaves
    if leaves:
        assert nest.is_nested(structure) == (leaves != [structure])


def test_arrays_are_leaves() -> None:
    array = np.ones(2)
    assert nest.flatten([array])[0] is array and not nest.is_nested(array)


def test_keys_that_cannot_be_sorted() -> None:
    with pytest.raises(TypeError, match="sortable keys"):
        nest.flatten({1: 2, "a": 3})


@pytest.mark.parametrize(
    ("structure", "flat", "packed"),
    [({"b": 1, "a": [2, 3]}, [10, 20, 30], {"b": 30, "a": [10, 20]}), (OD(b=1, a=2), [10, 20], OD(b=20, a=10)),
     (1, [5], 5), (Point(1, 2), [3, 4], Point(3, 4)), (range(2), [3, 4], [3, 4]), ((), [], ()),
     (collections.deque([1, 2]), [3, 4], collections.deque([3, 4])),
     (collections.defaultdict(int, b=1, a=2), [3, 4], collections.defaultdict(int, b=4, a=3))],
)  # fmt: skip
def test_pack(structure: Any, flat: list[Any], packed: Any) -> None:
    result = nest.pack_sequence_as(structure, flat)
    assert result == packed and type(result) is type(packed)
    if isinstance(result, OD):
        assert list(result) == list(structure)


def test_pack_attrs() -> None:
    packed = nest.pack_sequence_as(AttrsLike(1, [2]), [3, 4])
    assert isinstance(packed, AttrsLike) and (packed.p, packed.q) == (3, [4])


@pytest.mark.parametrize(
    ("structure", "flat", "error", "text"),
    [([1, 2], [1], ValueError, "Could not pack sequence. Structure had 2 atoms, but flat_sequence had 1 items.  "
      "Structure: [1, 2], flat_sequence: [1]."),
     (1, [5, 6], ValueError, "The target structure is of type `<class 'int'>`\n  1\nHowever the input is a sequence "
      "(<class 'list'>) of length 2.\n  [5, 6]\nnest cannot guarantee that it is safe to map one to the other."),
     ([1], 5, TypeError, "Attempted to pack value:\n  5\ninto a structure, but found incompatible type "
      "`<class 'int'>` instead.")],
)  # fmt: skip
def test_pack_errors(structure: Any, flat: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        nest.pack_sequence_as(structure, flat)
    assert str(caught.value) == text


def test_map_structure() -> None:
    assert nest.map_structure(lambda x, y: x + y, [1, {"a": 2}], [3, {"a": 4}]) == [4, {"a": 6}]
    assert nest.map_structure(lambda x: x + 1, Point(1, 2)) == Point(2, 3)
    assert nest.map_structure(lambda x, y: x + y, [1], (2,), check_types=False) == [3]
    assert nest.map_structure(lambda x: x * 2, 4) == 8
    with pytest.raises(ValueError, match="Must provide at least one structure"):
        nest.map_structure(lambda: 1)
    with pytest.raises(TypeError, match="func must be callable, got: 3"):
        nest.map_structure(3, [1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Only valid keyword arguments are `check_types` and `expand_composites`"):
        nest.map_structure(lambda x: x, [1], foo=1)


@pytest.mark.parametrize(
    ("a", "b", "error", "text"),
    [([1], [1, 2], ValueError, "The two structures don't have the same number of elements. First structure: type=list "
      "str=[1]. Second structure: type=list str=[1, 2]\n"
      "Entire first structure:\n[.]\nEntire second structure:\n[., .]"),
     ([1], (1,), TypeError, "The two namedtuples don't have the same sequence type. First structure type=list str=[1] "
      "has type list, while second structure type=tuple str=(1,) has type tuple\nEntire first structure:\n[.]\n"
      "Entire second structure:\n(.,)"),
     ({"a": 1}, {"b": 1}, ValueError, "The two dictionaries don't have the same set of keys. First structure has keys "
      "type=list str=['a'], while second structure has keys type=list str=['b']\nEntire first structure:\n{'a': .}\n"
      "Entire second structure:\n{'b': .}"),
     (Point(1, 2), Other(1, 2), TypeError, "has type Point, while second structure"),
     (Point(1, 2), (1, 2), TypeError, "Entire first structure:\nPoint(x=., y=.)\nEntire second structure:\n(., .)"),
     ([1, [2]], [1, 2], ValueError, 'Substructure "type=list str=[2]" is a sequence, while substructure '
      '"type=int str=2" is not'),
     (1, [1], ValueError, "is a sequence, while"), ([[1]], [(1,)], TypeError, "the same sequence type")],
)  # fmt: skip
def test_assert_same_structure(a: Any, b: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        nest.assert_same_structure(a, b)
    assert str(caught.value).startswith("The two structures don't have the same nested")
    assert text in str(caught.value)


def test_structures_that_are_the_same() -> None:
    nest.assert_same_structure({"a": 1}, OD(a=2))
    nest.assert_same_structure([1], (1,), check_types=False)
    nest.assert_same_structure([1, None, "x"], [2, [], 3][:1] + [None, b"y"])
    same_name = collections.namedtuple("Point", "x y")
    nest.assert_same_structure(Point(1, 2), same_name(3, 4))


def test_composites() -> None:
    value = [Pair(1, Pair(2, 3, "inner"), "outer"), 4]
    assert nest.flatten(value) == value
    assert nest.flatten(value, expand_composites=True) == [1, 2, 3, 4]
    packed = nest.pack_sequence_as(value, [5, 6, 7, 8], expand_composites=True)
    assert (packed[0].a, packed[0].b.a, packed[0].b.b, packed[0].label, packed[0].b.label) == (
        5,
        6,
        7,
        "outer",
        "inner",
    )
    doubled = nest.map_structure(lambda x: x * 2, Pair(1, 2), expand_composites=True)
    assert (doubled.a, doubled.b) == (2, 4)
    assert nest.flatten(PairSpec(""), expand_composites=True) == [TensorSpec([1]), TensorSpec([2])]
    assert nest.flatten([TensorSpec([1])], expand_composites=True) == [TensorSpec([1])]
    with pytest.raises(ValueError, match="is a sequence, while"):
        nest.assert_same_structure([Pair(1, 2)], [1], expand_composites=True)


def test_many_classes_are_not_kept() -> None:
    for i in range(3000):
        nest.flatten(type(f"C{i}", (), {})())
    assert len(nest._kinds) <= nest._MOST_KINDS


class Marked:
    """What takes itself apart, with a mark that is no part of it."""

    def __init__(self, mark: bool, value: Any) -> None:
        self.mark, self.value = mark, value

    def __tf_flatten__(self) -> tuple[tuple[bool], tuple[Any]]:
        return (self.mark,), (self.value,)

    @classmethod
    def __tf_unflatten__(cls, metadata: tuple[bool], components: tuple[Any]) -> Marked:
        return cls(*metadata, *components)


def test_what_takes_itself_apart_is_of_one_structure_whatever_its_metadata() -> None:
    first = Marked(True, 1)
    nest.assert_same_structure(first, Marked(False, 2))
    assert nest.is_nested(first) and nest.flatten(first) == [1]
    doubled = nest.map_structure(lambda x: x * 2, first)
    assert (doubled.mark, doubled.value) == (True, 2)
    with pytest.raises(TypeError, match="same sequence type"):
        nest.assert_same_structure(first, [1])
