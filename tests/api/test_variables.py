"""Variables, Modules and IndexedSlices: TensorFlow's behaviours, with values and messages written down."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import nesting
from fastgraph.core.tensor import as_array
from fastgraph.state.variable import Variable, variable_creator_scope

# ---- creation and what it is ----------------------------------------------------------------------------------------


def test_repr_and_name():
    v = fg.Variable(2.0)
    assert repr(v) == str(v) == "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=2.0>"
    w = fg.Variable([[1.0, 2.0]], name="w")
    assert repr(w) == "<tf.Variable 'w:0' shape=(1, 2) dtype=float32, numpy=array([[1., 2.]], dtype=float32)>"
    assert repr(fg.Variable("abc")) == "<tf.Variable 'Variable:0' shape=() dtype=string, numpy=b'abc'>"
    assert fg.Variable(1, name="a/b").name == "a/b:0"
    with fg.name_scope("s"):
        assert fg.Variable(1.0, name="x").name == "s/x:0"


def test_properties():
    v = fg.Variable([1.0, 2.0])
    assert v.shape == (2,) and v.get_shape() == (2,) and v.dtype == fg.float32 and v.trainable
    assert v.constraint is None and v.device.endswith("CPU:0")
    assert bool(v.is_initialized())
    with pytest.raises(AttributeError):
        v.trainable = False
    with pytest.raises(RuntimeError, match=r"This property is not supported when eager execution is enabled."):
        v.initial_value


@pytest.mark.parametrize("value", [1.0, 1, True, "a", [1.0, 2.0], np.ones((2, 2), np.int64), lambda: fg.ones([2])])
def test_initial_values(value):
    v = fg.Variable(value)
    expected = fg.convert_to_tensor(value() if callable(value) else value)
    assert v.dtype == expected.dtype and np.array_equal(v.numpy(), expected.numpy())


def test_dtype_and_shape_at_creation():
    assert fg.Variable(1, dtype=fg.float32).dtype == fg.float32
    with pytest.raises(
        ValueError, match=r"^initial_value: Tensor conversion requested dtype float32 for Tensor with dtype"
    ):
        fg.Variable(fg.constant(1), dtype=fg.float32)
    with pytest.raises(ValueError, match=r"the initial value's shape \(\(2,\)\) is not compatible with the explicitly"):
        fg.Variable([1.0, 2.0], shape=[3])
    assert str(fg.Variable([1.0, 2.0], shape=fg.TensorShape(None)).shape) == "<unknown>"
    v = fg.Variable([1.0, 2.0], shape=[None])
    v.assign([1.0, 2.0, 3.0])
    assert v.shape.as_list() == [None] and v.numpy().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"The variable shape \(None,\), and the assigned value shape \(1, 3\) are"):
        v.assign([[1.0, 2.0, 3.0]])


def test_bad_creation():
    with pytest.raises(ValueError, match=r"The `initial_value` arg to `tf.Variable` must be specified"):
        fg.Variable()
    with pytest.raises(
        ValueError, match=r"Argument `constraint` must be None or a callable. a callable. Got a <class 'int'>:"
    ):
        fg.Variable(1.0, constraint=3)
    with pytest.raises(TypeError, match="must be a string"):
        fg.Variable(1.0, name=3)
    for bad in ([[1.0], [1.0, 2.0]], object(), None):
        with pytest.raises((ValueError, TypeError)):
            fg.Variable(bad)


def test_trainable_follows_synchronization():
    assert not fg.Variable(1.0, synchronization=fg.VariableSynchronization.ON_READ).trainable
    assert not fg.Variable(1.0, trainable=False).trainable


# ---- assignment -----------------------------------------------------------------------------------------------------


def test_assign_and_what_it_returns():
    v = fg.Variable(2.0)
    after = v.assign(3.0)
    assert repr(after) == "<tf.Variable 'UnreadVariable' shape=() dtype=float32, numpy=3.0>"
    assert v.assign(4.0, read_value=False) is None
    assert float(after) == 4.0  # read when it is used
    assert repr(v.assign_add(1.0)) == "<tf.Variable 'UnreadVariable' shape=() dtype=float32, numpy=5.0>"
    assert float(v.assign_sub(3.0)) == 2.0
    assert float(v.assign(1)) == 1.0
    assert float(v.assign_add(1.0).assign_add(1.0)) == 3.0 == float(v)


def test_assign_of_what_does_not_fit():
    v, w = fg.Variable(2.0), fg.Variable([[1.0, 2.0]], name="w")
    with pytest.raises(
        ValueError,
        match=r"^Cannot assign value to variable ' Variable:0': Shape mismatch.The variable shape \(\), and the "
        r"assigned value shape \(2,\) are incompatible.$",
    ):
        v.assign([1.0, 2.0])
    with pytest.raises(ValueError, match=r"variable ' w:0': Shape mismatch"):
        w.assign([1.0, 2.0])
    for call in (v.assign, v.assign_add, v.assign_sub):
        with pytest.raises(ValueError, match=r"^Tensor conversion requested dtype float32 for Tensor with dtype int32"):
            call(fg.constant(1))
        with pytest.raises(TypeError):
            call("a")
        with pytest.raises(ValueError):
            call(None)
    with pytest.raises(TypeError, match=r"Cannot convert 1.5 to EagerTensor of dtype int32"):
        fg.Variable(1).assign(1.5)
    for delta, text in (([1.0, 2.0], r"shape \[\] using a Tensor with shape \[2\]"),):
        with pytest.raises(fg.errors.InvalidArgumentError, match=text):
            v.assign_add(delta)
    with pytest.raises(fg.errors.InvalidArgumentError, match="shapes must be equal"):
        fg.Variable([1.0, 2.0]).assign_add(1.0)
    assert float(v) == 2.0


def test_in_place_operators_are_refused():
    v = fg.Variable(1.0)
    with pytest.raises(
        RuntimeError,
        match=r"^`variable \+= value` with `tf.Variable`s is not supported. Use `variable.assign_add\(value\)` to modify "
        r"the variable, or `out = variable \+ value` if you need to get a new output Tensor.$",
    ):
        v += 1
    with pytest.raises(RuntimeError, match=r"Use `variable.assign\(variable \* value\)` to modify the variable"):
        v *= 2
    assert float(v) == 1.0


def test_tensors_read_from_it_never_change():
    v = fg.Variable([1.0, 2.0])
    seen = [v.value(), v.read_value(), fg.convert_to_tensor(v), fg.identity(v)]
    view = as_array(seen[0])
    for change in (
        lambda: v.assign([5.0, 5.0]),
        lambda: v.assign_add([1.0, 1.0]),
        lambda: v.assign_sub([1.0, 1.0]),
        lambda: v.assign(v * 2.0),
    ):
        change()
        seen.append(v.value())
        assert [t.numpy().tolist() for t in seen[:4]] == [[1.0, 2.0]] * 4
    assert view.tolist() == [1.0, 2.0]
    assert [t.numpy().tolist() for t in seen[4:]] == [[5.0, 5.0], [6.0, 6.0], [5.0, 5.0], [10.0, 10.0]]


def test_the_array_it_came_from_may_be_written_to():
    array = np.ones(3, np.float32)
    v = fg.Variable(array)
    array[:] = 7.0
    assert v.numpy().tolist() == [1.0, 1.0, 1.0]
    v.assign(array)
    array[:] = 9.0
    assert v.numpy().tolist() == [7.0, 7.0, 7.0]
    v.numpy()[:] = 0.0
    np.asarray(v)[:] = 0.0
    assert v.numpy().tolist() == [7.0, 7.0, 7.0]


def test_two_variables_of_one_tensor_are_apart():
    t = fg.constant([1.0, 2.0])
    v, w = fg.Variable(t), fg.Variable(t)
    v.assign_add([1.0, 1.0])
    assert (t.numpy().tolist(), v.numpy().tolist(), w.numpy().tolist()) == ([1.0, 2.0], [2.0, 3.0], [1.0, 2.0])
    w.assign(v)
    v.assign_add([1.0, 1.0])
    assert w.numpy().tolist() == [2.0, 3.0]


def test_updates_from_many_threads_are_atomic():
    v = fg.Variable(fg.zeros([3], fg.int32))
    one = fg.ones([3], fg.int32)
    start = threading.Barrier(4)

    def work():
        start.wait()
        for _ in range(500):
            v.assign_add(one)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert v.numpy().tolist() == [2000, 2000, 2000]


# ---- as a tensor ----------------------------------------------------------------------------------------------------


def test_operators():
    v = fg.Variable([1.0, 2.0])
    for tensor, values in (
        (v + 1, [2.0, 3.0]),
        (1 + v, [2.0, 3.0]),
        (v - 1.0, [0.0, 1.0]),
        (1.0 - v, [0.0, -1.0]),
        (v * v, [1.0, 4.0]),
        (np.array(2.0) * v, [2.0, 4.0]),
        (v / 2, [0.5, 1.0]),
        (2 / v, [2.0, 1.0]),
        (v // 2, [0.0, 1.0]),
        (v % 2, [1.0, 0.0]),
        (v**2, [1.0, 4.0]),
        (2**v, [2.0, 4.0]),
        (-v, [-1.0, -2.0]),
        (abs(-v), [1.0, 2.0]),
    ):
        assert isinstance(tensor, fg.Tensor) and tensor.numpy().tolist() == values
    assert (v == v).numpy().tolist() == [True, True] and (v < 2).numpy().tolist() == [True, False]
    assert (fg.Variable([[1.0]]) @ fg.Variable([[2.0]])).numpy() == 2.0
    assert (~fg.Variable([True])).numpy().tolist() == [False]
    assert fg.reduce_sum(v).numpy() == 3.0
    with pytest.raises(fg.errors.InvalidArgumentError, match="expected to be a float tensor but is a int32 tensor"):
        v + fg.constant(1)


def test_conversions():
    v = fg.Variable(2.0)
    assert float(v) == 2.0 and int(v) == 2 and bool(v) and complex(v) == 2
    assert np.asarray(v) == 2.0 and np.asarray(v).dtype == np.float32 and isinstance(v.numpy(), np.float32)
    assert [float(x) for x in fg.Variable([1.0, 2.0])] == [1.0, 2.0]
    assert fg.Variable([1, 2, 3])[1].numpy() == 2
    assert fg.is_tensor(v) and not isinstance(v, fg.Tensor)
    with pytest.raises(TypeError):
        len(fg.Variable([1, 2]))
    with pytest.raises(TypeError):
        f"{v:.2f}"
    with pytest.raises(TypeError):
        [1, 2, 3][fg.Variable(2)]
    with pytest.raises(ValueError, match="requested dtype int32"):
        fg.convert_to_tensor(v, fg.int32)


def test_hashing():
    v = fg.Variable(2.0)
    with pytest.raises(
        TypeError, match=r"^Variable is unhashable. Instead, use variable.ref\(\) as the key. \(Variable: <tf"
    ):
        hash(v)
    assert v.ref().deref() is v and v.ref() == v.ref() and len({v.ref(), v.ref()}) == 1
    assert repr(v.ref()).startswith("<Reference wrapping <tf.Variable")


def test_copies():
    v = fg.Variable([1.0, 2.0], name="w", trainable=False)
    for other in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        other.assign([5.0, 6.0])
        assert v.numpy().tolist() == [1.0, 2.0]
        assert other.name == "w:0" and not other.trainable and other.dtype == fg.float32


def test_it_lives_as_long_as_it_is_referred_to():
    v = fg.Variable(2.0)
    cell = weakref.ref(v.__fg_cell__)
    after = v.assign(3.0)
    gone = weakref.ref(v)
    del v
    assert gone() is not None and float(after) == 3.0
    del after
    gc.collect()
    assert gone() is None and cell() is None


def test_an_uninitialised_variable_fails_when_read():
    v = Variable._uninitialized(fg.float32, [2], "late")
    with pytest.raises(fg.errors.FailedPreconditionError, match="Error while reading resource variable late"):
        v.value()
    assert "numpy=<unavailable>" in repr(v) and not bool(v.is_initialized())
    v.assign([1.0, 2.0])
    assert v.numpy().tolist() == [1.0, 2.0]


def test_creators():
    seen = []

    def first(next_creator, **kwargs):
        seen.append(("first", kwargs["name"]))
        return next_creator(**kwargs)

    def second(next_creator, **kwargs):
        kwargs["initial_value"] = 5.0
        seen.append(("second", kwargs["name"]))
        return next_creator(**kwargs)

    with variable_creator_scope(first), fg.variable_creator_scope(second):
        v = fg.Variable(1.0, True, name="x")
    assert seen == [("second", "x"), ("first", "x")] and float(v) == 5.0
    assert float(fg.Variable(1.0)) == 1.0


# ---- Module ---------------------------------------------------------------------------------------------------------


class Dense(fg.Module):
    def __init__(self, n_in, n_out, name=None):
        super().__init__(name=name)
        with self.name_scope:
            self.w = fg.Variable(fg.ones([n_in, n_out]), name="w")
            self.b = fg.Variable(fg.zeros([n_out]), name="b")

    def __call__(self, x):
        return fg.matmul(x, self.w) + self.b


def test_module_finds_variables_in_order():
    class Net(fg.Module):
        pass

    net = Net()
    net.z = fg.Variable(1.0)
    net.frozen = fg.Variable(2.0, trainable=False)
    net.layers = [Dense(2, 3), {"k": Dense(3, 1, "last")}]
    net.again = net.z
    net.text = "plain Python"
    names = [v.name for v in net.variables]
    assert names == ["Variable:0", "Variable:0", "dense/b:0", "dense/w:0", "last/b:0", "last/w:0"]
    assert net.variables[0] is net.z and net.variables[1] is net.frozen
    assert len(net.trainable_variables) == 5 and len(net.non_trainable_variables) == 1
    assert net.submodules == (net.layers[0], net.layers[1]["k"])
    net.me = net
    assert len(net.variables) == 6 and net.submodules == (net.layers[0], net.layers[1]["k"])
    paths = dict(net.layers[0]._flatten(predicate=lambda v: isinstance(v, fg.Variable), with_path=True))
    assert list(paths) == [("b",), ("w",)]


def test_module_names():
    assert fg.Module().name == "module" and Dense(1, 1).name == "dense"

    class MyTwoPartHTTPName(fg.Module):
        @fg.Module.with_name_scope
        def __call__(self):
            return fg.Variable(1.0, name="x").name

    m = MyTwoPartHTTPName()
    assert m.name == "my_two_part_http_name" and m.name_scope.name == m.name + "/"
    assert m() == "my_two_part_http_name/x:0"
    with fg.name_scope("outer"):
        inner = MyTwoPartHTTPName("inner")
    assert inner() == "outer/inner/x:0"
    with pytest.raises(
        ValueError, match=r"^'a b' is not a valid module name. Module names must be valid Python identifiers"
    ):
        fg.Module("a b")


def test_module_without_super_init():
    class Plain(fg.Module):
        def __init__(self):
            self.x = fg.Variable(1.0)

    assert len(Plain().variables) == 1


def test_name_scope():
    with fg.name_scope("a") as a, fg.name_scope("b") as b:
        assert (a, b) == ("a/", "a/b/")
        with fg.name_scope("whole/") as whole, fg.name_scope("") as root:
            assert whole == "whole/" and root == ""
    with pytest.raises(ValueError, match="name for name_scope must be a string"):
        fg.name_scope(3)


# ---- IndexedSlices --------------------------------------------------------------------------------------------------


def slices(shape=(4,)):
    return fg.IndexedSlices(fg.constant([1.0, 2.0]), fg.constant([0, 0]), None if shape is None else fg.constant(shape))


def test_indexed_slices():
    s = slices()
    assert s.shape == (4,) and s.dtype == fg.float32
    assert str(fg.IndexedSlices(fg.constant([1.0]), fg.constant([0]), fg.constant([4]))) == (
        "IndexedSlices(indices=tf.Tensor([0], shape=(1,), dtype=int32), values=tf.Tensor([1.], shape=(1,), "
        "dtype=float32), dense_shape=tf.Tensor([4], shape=(1,), dtype=int32))"
    )
    assert fg.convert_to_tensor(s).numpy().tolist() == [3.0, 0.0, 0.0, 0.0]
    assert fg.convert_to_tensor(-s).numpy().tolist() == [-3.0, 0.0, 0.0, 0.0]
    assert str(slices(None).shape) == "<unknown>"


def test_indexed_slices_that_cannot_be_made_dense():
    with pytest.raises(
        ValueError, match=r"^Tensor conversion requested for IndexedSlices for argument `value` without dense"
    ):
        fg.convert_to_tensor(slices(None))
    with pytest.raises(
        ValueError, match=r"^Incompatible tensor conversion requested to `dtype` int32 for IndexedSlices"
    ):
        fg.convert_to_tensor(slices(), fg.int32)
    out_of_range = fg.IndexedSlices(fg.constant([1.0, 2.0]), fg.constant([0, 9]), fg.constant([4]))
    with pytest.raises(fg.errors.InvalidArgumentError, match=r"9 is out of range \[0, 4\)"):
        fg.convert_to_tensor(out_of_range)


def test_indexed_slices_is_a_composite():
    s = slices()
    parts = nesting.flatten([s, 1], expand_composites=True)
    assert len(parts) == 4
    back = nesting.pack_sequence_as([s, 1], parts, expand_composites=True)
    assert isinstance(back[0], fg.IndexedSlices) and back[1] == 1
    spec = s._type_spec
    assert repr(spec) == "IndexedSlicesSpec(TensorShape([4]), tf.float32, tf.int32, tf.int32, TensorShape([2]))"
    assert spec == slices()._type_spec and spec != slices(None)._type_spec
    assert spec.is_compatible_with(s)


def test_what_an_assign_returns_is_a_variable_in_every_way():
    v = fg.Variable([1.0, 2.0], name="w", trainable=False, constraint=abs)
    after = v.assign([3.0, 4.0])
    assert isinstance(after, fg.Variable) and after.shape == (2,) and after.dtype == fg.float32
    assert not after.trainable and after.constraint is abs and after.ref().deref() is after
    after.assign_add([1.0, 1.0])
    assert v.numpy().tolist() == [4.0, 5.0]
    assert (after * 2.0).numpy().tolist() == [8.0, 10.0] and len(list(after)) == 2
    other = pickle.loads(pickle.dumps(after))
    assert other.numpy().tolist() == [4.0, 5.0]


def test_an_update_is_in_place_only_while_nothing_else_sees_the_memory():
    v = fg.Variable([1.0, 2.0])
    v.assign_add([1.0, 1.0])
    own = v.value().buffer.pointer
    v.assign_add([1.0, 1.0])
    assert v.value().buffer.pointer == own
    held = v.value()
    v.assign_sub([5.0, 5.0])
    assert v.value().buffer.pointer != own
    assert held.numpy().tolist() == [3.0, 4.0] and v.numpy().tolist() == [-2.0, -1.0]
    view = as_array(v.value())
    v.assign_add([1.0, 1.0])
    assert view.tolist() == [-2.0, -1.0] and v.numpy().tolist() == [-1.0, 0.0]
    for dtype in (fg.float64, fg.int32, fg.int64, fg.uint8, fg.float16, fg.complex64):
        w = fg.Variable(fg.cast([5, 6], dtype))
        for _ in range(2):
            w.assign_add(fg.cast([1, 2], dtype))
            w.assign_sub(fg.cast([3, 3], dtype))
        assert w.numpy().tolist() == [1, 4], dtype


def test_a_variable_made_in_a_function_has_the_extents_that_the_trace_knows() -> None:
    held: list[Any] = []

    @fg.function(input_signature=[fg.TensorSpec([None], fg.int64)])
    def total(x: Any) -> Any:
        if not held:
            held.append(fg.Variable(x))
        return fg.reduce_sum(held[0])

    assert int(total([1, 2, 3])) == 6 and held[0].shape.as_list() == [None]
    held[0].assign([1, 2, 3, 4])
    assert int(total([0])) == 10
