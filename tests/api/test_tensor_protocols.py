"""What stands for tensors, and what tensors let be done to them: sequences, `__tf_tensor__`, references, attributes."""

import array
import collections
import copy
import gc
import sys
import weakref

import numpy as np
import pytest

import fastgraph as fg


class Numbers:
    """A sequence by what it has, not by its class."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Numbers(0, 10, 20), [0, 10, 20]),
        (Numbers(Numbers(1.0, 2.0), [3.0, 4.0]), [[1.0, 2.0], [3.0, 4.0]]),
        ([Numbers(1, 2), (3, 4)], [[1, 2], [3, 4]]),
        (collections.UserList([1, 2]), [1, 2]),
        (collections.deque([1, 2]), [1, 2]),
        (array.array("i", [1, 2]), [1, 2]),
        (Numbers(), []),
    ],
)
def test_sequences_of_any_class(value, expected):
    for op in (fg.convert_to_tensor, fg.constant, fg.identity):
        for result in (op(value), fg.function(lambda op=op: op(value))()):
            np.testing.assert_array_equal(result, expected)
            assert result.dtype == fg.convert_to_tensor(expected).dtype


def test_what_is_no_sequence():
    class Getter:
        def __getitem__(self, i):
            return i

    for value in (Getter(), {1: 2}, {1, 2}, {0: 1}.values(), (i for i in range(3))):
        with pytest.raises(ValueError, match="unsupported type"):
            fg.convert_to_tensor(value)
    with pytest.raises(ValueError, match="non-rectangular"):
        fg.convert_to_tensor([Numbers(1, 2), Numbers(1)])
    with pytest.raises(TypeError, match="found return value of type"):
        fg.function(lambda x: x)(Numbers(1, 2))


def test_sequences_in_datasets():
    slices = fg.data.Dataset.from_tensor_slices(Numbers(0, 10, 20))
    assert [int(x) for x in slices] == [0, 10, 20]
    spec = fg.TensorSpec([2], fg.int32)
    generated = fg.data.Dataset.from_generator(lambda: iter([Numbers(1, 2)]), output_signature=spec)
    np.testing.assert_array_equal(next(iter(generated)), [1, 2])
    rows = fg.data.Dataset.from_generator(lambda: Numbers(1, 2), output_signature=fg.TensorSpec([], fg.int32))
    assert [int(x) for x in rows] == [1, 2]


class Protocol:
    """What makes a tensor of itself."""

    def __init__(self, value):
        self.value = value

    def __tf_tensor__(self, dtype=None, name=None):
        value = fg.convert_to_tensor(self.value)
        return value if dtype is None else fg.cast(value, dtype)


def test_tensor_protocol():
    p = Protocol([1.0, 2.0])
    assert fg.convert_to_tensor(p, fg.float64).dtype == fg.float64 and not fg.is_tensor(p)
    for result in (
        fg.add(p, 1),
        fg.constant([1.0, 1.0]) + p,
        p + fg.constant([1.0, 1.0]),
        fg.function(lambda: fg.add(p, 1.0))(),
        fg.function(lambda x: fg.add(x, 1.0))(p),
        fg.Variable([1.0, 1.0]) + p,
        fg.Variable([1.0, 1.0]).assign_add(p),
    ):
        np.testing.assert_array_equal(result, [2, 3])
    assert fg.stack([p, p]).shape == (2, 2) and fg.shape(p).numpy() == [2]
    np.testing.assert_array_equal(fg.gather(p, [1]), [2])
    np.testing.assert_array_equal(fg.function(lambda: p)(), [1, 2])
    np.testing.assert_array_equal(fg.function(lambda x: x, input_signature=[fg.TensorSpec([2])])(p), [1, 2])
    assert [float(x) for x in fg.data.Dataset.from_tensor_slices(p)] == [1, 2]
    with pytest.raises(ValueError, match="unsupported type"):
        fg.constant(p)


def test_tensor_protocol_goes_before_all_else():
    class Listed(list):
        def __tf_tensor__(self, dtype=None, name=None):
            return fg.constant([1.0, 2.0])

    class Arrayed(Protocol):
        def __array__(self, *args, **kwargs):
            return np.zeros(3)

    class Refusing:
        def __tf_tensor__(self, dtype=None, name=None):
            return NotImplemented

    np.testing.assert_array_equal(fg.convert_to_tensor(Listed([5])), [1, 2])
    np.testing.assert_array_equal(fg.convert_to_tensor(Arrayed([1.0])), [1])
    with pytest.raises(ValueError, match="unsupported type"):
        fg.convert_to_tensor(Refusing())
    v = fg.Variable(3.0)

    class OfVariable:
        def __tf_tensor__(self, dtype=None, name=None):
            return v * 2.0

    with fg.GradientTape() as tape:
        y = fg.add(OfVariable(), 1.0)
    assert float(tape.gradient(y, v)) == 2


def test_references_as_keys():
    x, y, v = fg.constant(1.0), fg.constant(2.0), fg.Variable(3.0)
    d = {y.ref(): 2, x.ref(): 1, v.ref(): 3}
    assert sorted(fg.nest.flatten(d)) == [1, 2, 3]
    assert fg.nest.map_structure(lambda n: n + 1, d) == {x.ref(): 2, y.ref(): 3, v.ref(): 4}
    fg.nest.assert_same_structure(d, {v.ref(): 0, x.ref(): 0, y.ref(): 0})
    f = fg.function(lambda d: {key: value + 1.0 for key, value in d.items()})
    found = f({y.ref(): fg.constant(2.0), x.ref(): fg.constant(1.0)})
    assert {key.deref().numpy(): float(value) for key, value in found.items()} == {1.0: 2.0, 2.0: 3.0}
    assert float(f({"a": fg.constant(1.0)})["a"]) == 2.0  # beside other keys


def test_references():
    x, y = fg.constant(1.0), fg.Variable(2.0)
    reference = x.ref()
    assert (x.ref() < y.ref()) != (x.ref() > y.ref())
    for compared in (lambda: reference == x, lambda: reference < 3, lambda: reference != 3):
        with pytest.raises(TypeError, match="Cannot compare wrapped object with unwrapped object"):
            compared()
    for value in (x, y):
        made = value.ref()
        weak = weakref.ref(made)
        assert weak() is made
        del made
        gc.collect()
        assert weak() is None


def test_attributes_of_tensors():
    x = fg.constant([1.0])
    x.my_attribute = 1
    x._keras_mask = [2]
    assert x.my_attribute == 1 and vars(x) == {"my_attribute": 1, "_keras_mask": [2]}
    assert copy.copy(x).my_attribute == copy.deepcopy(x).my_attribute == 1
    del x.my_attribute
    assert not hasattr(x, "my_attribute") and not hasattr(fg.identity(x), "_keras_mask")
    for name in ("shape", "dtype", "name", "device", "op", "graph"):
        with pytest.raises(AttributeError):
            setattr(x, name, 3)
    x.numpy = 3
    assert x.numpy == 3

    @fg.function
    def f(x):
        y = x * 2.0
        y.factor, x.offset = 5.0, 3.0
        return y * y.factor + x.offset

    assert float(f(fg.constant(2.0))) == 23.0
    with pytest.raises(AttributeError):
        fg.function(lambda x: setattr(x, "shape", 3))(x)


def test_attributes_cost_nothing_where_none_are_set():
    x = fg.constant(1.0)
    assert sys.getsizeof(x) <= 160  # of up to eight axes, and more beside it where there are more
    kept = [fg.constant([1.0]) for _ in range(100)]
    for i, tensor in enumerate(kept):
        tensor.number = i
    del kept  # the next tensors use the same memory, and have no attributes
    assert all(not vars(fg.constant([1.0])) for _ in range(100))


def test_parts_of_variables_know_their_variable():
    v = fg.Variable([1.0, 2.0])
    v[0].assign(5.0)
    np.testing.assert_array_equal(v, [5, 2])
    assert not hasattr(fg.constant([1.0])[0], "assign")


def test_functions_return_shapes_and_ranges():
    f = fg.function(lambda x: (x.shape, range(3)))
    shape, numbers = f(fg.ones([2, 1]))
    assert shape.numpy().tolist() == [2, 1] and [int(n) for n in numbers] == [0, 1, 2]
