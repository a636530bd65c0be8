"""TensorShape, TensorSpec, Aval and broadcasting, with the values and messages that TensorFlow gives."""

from __future__ import annotations

import copy
import pickle
from itertools import product

import numpy as np
import pytest

from fastgraph.core.base import dtype
from fastgraph.core.base.shapes import Aval, TensorShape, as_dims, broadcast_shapes, generalises, shape_of
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec, type_spec_from_value


@pytest.mark.parametrize(
    ("given", "text", "represented"),
    [([2, 3], "(2, 3)", "TensorShape([2, 3])"), (None, "<unknown>", "TensorShape(None)"),
     ([], "()", "TensorShape([])"), ([None], "(None,)", "TensorShape([None])"), (5, "(5,)", "TensorShape([5])"),
     (np.array([2, 3]), "(2, 3)", "TensorShape([2, 3])"), ([np.int64(3)], "(3,)", "TensorShape([3])"),
     (TensorShape([None, 2]), "(None, 2)", "TensorShape([None, 2])"), ((2**40,), "(1099511627776,)",
     "TensorShape([1099511627776])")],
)  # fmt: skip
def test_texts(given: object, text: str, represented: str) -> None:
    shape = TensorShape(given)  # type: ignore[arg-type]
    assert (str(shape), repr(shape)) == (text, represented)
    assert TensorShape(shape) == shape == copy.deepcopy(shape) == pickle.loads(pickle.dumps(shape))
    assert hash(TensorShape(shape)) == hash(shape)


def test_like_a_tuple() -> None:
    shape = TensorShape([2, None, 4])
    assert (len(shape), list(shape), shape[0], shape[1], shape[-1]) == (3, [2, None, 4], 2, None, 4)
    assert shape[1:] == [None, 4] and isinstance(shape[1:], TensorShape) and shape[3:4] == []
    assert shape == (2, None, 4) and shape == [2, None, 4] and shape != (2, 4) and shape != "a" and shape != 5
    assert TensorShape(5) == 5
    assert shape + [1] == (2, None, 4, 1) and (1,) + shape == (1, 2, None, 4)
    assert bool(TensorShape([])) and not TensorShape(None)
    assert np.zeros(TensorShape([2, 3])).shape == (2, 3)  # type: ignore[call-overload]
    with pytest.raises(IndexError):
        _ = shape[3]


def test_unknown_rank() -> None:
    shape = TensorShape(None)
    assert shape.rank is None and shape.ndims is None and shape.dims is None and shape.num_elements() is None
    assert shape[0] is None and shape[1:] == TensorShape(None) and shape[:2] == [None, None]
    assert shape + [1] == TensorShape(None) and shape.with_rank(2) == [None, None]
    for act in (lambda: len(shape), lambda: list(shape), shape.as_list, shape.assert_is_fully_defined):
        with pytest.raises(ValueError):
            act()


def test_rules() -> None:
    shape = TensorShape([None, 2])
    assert (shape.rank, shape.num_elements(), shape.is_fully_defined()) == (2, None, False)
    assert TensorShape([3, 2]).num_elements() == 6 and TensorShape([]).num_elements() == 1
    assert shape.merge_with([3, None]) == [3, 2]
    assert shape.is_compatible_with([7, 2]) and not shape.is_compatible_with([7, 3])
    assert shape.most_specific_compatible_shape([4, 3]) == [None, None]
    assert TensorShape([1]).most_specific_compatible_shape([1, 1]) == TensorShape(None)
    assert TensorShape([3, 2]).is_subtype_of(shape) and not shape.is_subtype_of(TensorShape([3, 2]))
    assert TensorShape([2, 3]).most_specific_common_supertype([TensorShape([2, 4])]) == [2, None]
    with pytest.raises(ValueError, match=r"Shapes \(None, 2\) and \(2, 3\) are not compatible"):
        shape.merge_with([2, 3])
    with pytest.raises(ValueError, match=r"Shape \(None, 2\) must have rank 3"):
        shape.assert_has_rank(3)
    with pytest.raises(ValueError, match=r"Shape \(None, 2\) must have rank at least 3"):
        shape.with_rank_at_least(3)
    with pytest.raises(ValueError, match=r"Shape \(None, 2\) must have rank at most 1"):
        shape.with_rank_at_most(1)
    with pytest.raises(ValueError, match=r"Shapes \(None, 2\) and \[7\] are incompatible"):
        shape.assert_is_compatible_with([7])
    with pytest.raises(ValueError, match=r"Shape \(None, 2\) is not fully defined"):
        shape.assert_is_fully_defined()
    with pytest.raises(ValueError, match="must have the same rank"):
        shape.assert_same_rank([1])


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [([-1], ValueError, "Dimension -1 must be >= 0"), (-1, ValueError, "Dimension -1 must be >= 0"),
     ([2.5], TypeError, "Dimension value must be integer or None or have an __index__ method, got value '2.5'"),
     ([[1]], TypeError, "Dimension value must be integer"), (["a"], TypeError, "Dimension value must be integer"),
     ("ab", TypeError, "Failed to convert ''ab'' to a shape"), (object(), TypeError, "Dimension value must be")],
)  # fmt: skip
def test_bad_shapes(given: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        as_dims(given)  # type: ignore[arg-type]
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [((2, 3), (3,), (2, 3)), ((), (2,), (2,)), ((None,), (1,), (None,)), ((None,), (3,), (3,)),
     ((1,), (None,), (None,)),
     ((None, 2), None, None), (None, None, None), ((None,), (None,), (None,)), ((0,), (1,), (0,)),
     ((2, 1, 3), (4, 1), (2, 4, 3))],
)  # fmt: skip
def test_broadcast(a: object, b: object, expected: object) -> None:
    assert broadcast_shapes(a, b) == expected == broadcast_shapes(b, a)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("a", "b"), list(product([(), (1,), (3,), (1, 3), (4, 3), (4, 1), (0, 3), (2, 1, 1)], repeat=2))
)
def test_broadcast_is_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
            broadcast_shapes(a, b)
    else:
        assert broadcast_shapes(a, b) == expected


def test_aval() -> None:
    aval = Aval(dtype.float32, (2, None))
    assert (aval.rank, aval.size, aval.nbytes, aval.is_static, repr(aval)) == (2, None, None, False, "float32[2, ?]")
    static = Aval(dtype.int64, (2, 3), np.zeros((2, 3), np.int64))
    assert (static.size, static.nbytes, static.is_static) == (6, 48, True)
    assert static == Aval(dtype.int64, (2, 3)) and hash(static) == hash(static.without_value())
    assert static.without_value().value is None and static != aval
    assert repr(Aval(dtype.string, None)) == "string<unknown>" and Aval(dtype.string, (2,)).nbytes is None


def test_tensor_spec() -> None:
    spec = TensorSpec([None, 2], "float32", name="x")
    assert repr(spec) == str(spec) == "TensorSpec(shape=(None, 2), dtype=tf.float32, name='x')"
    assert repr(TensorSpec(None, dtype.int32)) == "TensorSpec(shape=<unknown>, dtype=tf.int32, name=None)"
    assert TensorSpec(3) == TensorSpec([3], dtype.float32) and spec != TensorSpec([None, 2])
    assert hash(spec) == hash(TensorSpec([None, 2], name="x"))
    assert spec.shape == [None, 2] and spec.dtype is dtype.float32 and spec.name == "x"
    assert TensorSpec.from_spec(spec) == spec and TensorSpec.from_spec(spec, name="k").name == "k"
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert TensorSpec([3]).is_subtype_of(TensorSpec([None])) and not TensorSpec([None]).is_subtype_of(TensorSpec([3]))
    assert not spec.is_subtype_of(TensorSpec(None))  # a name is part of the type
    assert spec.is_compatible_with(TensorSpec([4, 2])) and not spec.is_compatible_with(TensorSpec([4, 2], "int32"))
    assert not spec.is_compatible_with(1)
    assert TensorSpec([4]).most_specific_compatible_type(TensorSpec([5])) == TensorSpec([None])
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both TensorSpec"):
        TensorSpec([4]).most_specific_compatible_type(TensorSpec([4], "int32"))
    with pytest.raises(AttributeError):
        spec.name = "y"  # type: ignore[misc]


class PairSpec(TypeSpec):
    """Two tensors and a label."""

    def __init__(self, first: TensorSpec, shape: TensorShape, label: str) -> None:
        self.first, self.shape, self.label = first, shape, label

    def _serialize(self) -> tuple[object, ...]:
        return self.first, self.shape, self.label


def test_type_spec_of_ones_own() -> None:
    a = PairSpec(TensorSpec([2]), TensorShape([4]), "k")
    b = PairSpec(TensorSpec([3]), TensorShape([4]), "k")
    wide = PairSpec(TensorSpec([None]), TensorShape([4]), "k")
    assert a == PairSpec(TensorSpec([2]), TensorShape([4]), "k") and a != b and hash(a) != hash(b)
    assert a.most_specific_compatible_type(b) == wide
    assert wide.is_compatible_with(a) and a.is_subtype_of(wide) and not wide.is_subtype_of(a)
    assert a.most_specific_common_supertype([PairSpec(TensorSpec([2]), TensorShape([4]), "other")]) is None


def test_type_spec_from_value() -> None:
    assert type_spec_from_value(np.ones([2])) == TensorSpec([2], "float64")
    assert type_spec_from_value("abc") == TensorSpec([], "string")
    assert type_spec_from_value([[1, 2]]) == TensorSpec([1, 2], "int32")
    assert type_spec_from_value(1.5) == TensorSpec([], "float32")
    with pytest.raises(TypeError, match="Could not build a `TypeSpec`"):
        type_spec_from_value(object())
    with pytest.raises(TypeError, match="Could not build a `TypeSpec`"):
        type_spec_from_value([[1], [1, 2]])


def test_generalises() -> None:
    assert generalises(None, (2,)) and generalises((None,), (2,)) and not generalises((2,), (None,))
    assert not generalises((2,), None) and shape_of((2, 3)) == TensorShape([2, 3])
