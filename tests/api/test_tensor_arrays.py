"""TensorArray: entries written and read by index, all of them at once, and gradients through them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg

OutOfRange, Invalid = fg.errors.OutOfRangeError, fg.errors.InvalidArgumentError


def array(**options: Any) -> Any:
    return fg.TensorArray(fg.float32, **({"size": 3} | options))


def test_entries_are_written_and_read() -> None:
    ta = array()
    assert (ta.dtype, int(ta.size()), ta.dynamic_size, ta.element_shape.rank) == (fg.float32, 3, False, None)
    ta = ta.write(0, [1.0, 2.0]).write(fg.constant(2), [5.0, 6.0])
    assert ta.element_shape == [2]
    assert ta.stack().numpy().tolist() == [[1, 2], [0, 0], [5, 6]]
    assert ta.gather([2, 0]).numpy().tolist() == [[5, 6], [1, 2]]
    assert ta.concat().numpy().tolist() == [1, 2, 0, 0, 5, 6]
    assert ta.read(2).numpy().tolist() == [5, 6]
    with pytest.raises(Invalid, match="Could not read index 2 twice because it was cleared"):
        ta.read(2)
    kept = array(clear_after_read=False).write(0, 1.0)
    assert float(kept.read(0)) == float(kept.read(0)) == 1.0


def test_python_numbers_take_the_dtype_and_tensors_must_have_it() -> None:
    assert array().write(0, 1).read(0).dtype == fg.float32
    with pytest.raises(Invalid, match="TensorArray dtype is float32 but Op is trying to write dtype int32"):
        array().write(0, fg.constant(1))


def test_it_grows_where_its_size_is_dynamic() -> None:
    ta = array(dynamic_size=True, size=0)
    for i in range(5):
        ta = ta.write(i, float(i))
    assert int(ta.size()) == 5 and ta.stack().numpy().tolist() == [0, 1, 2, 3, 4]
    assert array(dynamic_size=True).write(5, 1.0).stack().numpy().tolist() == [0, 0, 0, 0, 0, 1]


def test_places_that_are_not_there() -> None:
    with pytest.raises(OutOfRange, match="Tried to write to index 3 but array is not resizeable and size is: 3"):
        array().write(3, 1.0)
    with pytest.raises(OutOfRange, match=r"Writing to negative indices \(index -1\)"):
        array().write(-1, 1.0)
    with pytest.raises(OutOfRange, match="Tried to read from index 7 but array size is: 3"):
        array().read(7)
    with pytest.raises(OutOfRange, match="negative"):
        array().read(-1)
    with pytest.raises(TypeError, match="is an integer"):
        array().read(1.5)
    with pytest.raises(ValueError, match="never written"):
        array().read(0)
    with pytest.raises(ValueError, match="Size must be declared"):
        fg.TensorArray(fg.float32)
    with pytest.raises(Invalid, match="0 or more"):
        array(size=-1)


def test_shapes_are_inferred_from_the_first_entry() -> None:
    with pytest.raises(ValueError, match=r"Incompatible shape for value \(\(1,\)\), expected \(\(2,\)\)"):
        array().write(0, [1.0, 2.0]).write(1, [1.0])
    with pytest.raises(ValueError, match="Incompatible shape"):
        array(element_shape=[2]).write(0, [1.0])
    loose = array(infer_shape=False).write(0, [1.0, 2.0]).write(1, [1.0]).write(2, [3.0])
    assert loose.concat().numpy().tolist() == [1, 2, 1, 3]
    with pytest.raises(Invalid, match="Shapes of all inputs must match"):
        loose.stack()
    assert array(element_shape=[2]).stack().shape == (3, 2)
    assert array(size=0, element_shape=[2]).stack().shape == (0, 2)


def test_values_are_taken_apart() -> None:
    assert array().unstack([[1.0], [2.0], [3.0]]).read(1).numpy().tolist() == [2]
    assert int(array(dynamic_size=True).unstack(np.ones((5, 2))).size()) == 5
    assert array().scatter([2, 0], [1.0, 2.0]).stack().numpy().tolist() == [2, 0, 1]
    ta = array().split([1.0, 2.0, 3.0], [1, 2, 0])
    assert [ta.read(i).numpy().tolist() for i in range(3)] == [[1], [2, 3], []]
    with pytest.raises(ValueError, match="Cannot unstack 4 tensors into a TensorArray of static size 3"):
        array().unstack([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(Invalid, match="size is not equal to the size of lengths"):
        array().split([1.0, 2.0, 3.0], [1, 2])
    with pytest.raises(Invalid, match="sum of lengths is 2"):
        array().split([1.0, 2.0, 3.0], [1, 1, 0])
    with pytest.raises(Invalid, match="at least a vector"):
        array().split(1.0, [1, 0, 0])
    with pytest.raises(Invalid, match="Concat saw a scalar shape at index 0"):
        array().unstack([1.0, 2.0, 3.0]).concat()


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_gradients_of_both_orders(staged: bool) -> None:
    def f(x: Any) -> Any:
        ta = array(clear_after_read=False)
        for i in range(3):
            ta = ta.write(i, x * x * float(i + 1))
        return fg.reduce_sum(ta.stack() * ta.gather([2, 1, 0])) + fg.reduce_sum(ta.read(1))

    x = fg.constant([1.0, 2.0])
    g = fg.function(f) if staged else f
    with fg.GradientTape() as outer:
        outer.watch(x)
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = g(x)
        first = tape.gradient(y, x)
    n = x.numpy()
    assert np.allclose(y, (n**4 * 10).sum() + (2 * n**2).sum())
    assert np.allclose(first, 40 * n**3 + 4 * n)
    assert np.allclose(outer.gradient(first, x), 120 * n**2 + 4)


def test_it_is_closed_and_has_no_gradient_array() -> None:
    ta = array().write(0, 1.0)
    with pytest.raises(NotImplementedError, match="not supported when executing eagerly"):
        ta.grad("source")
    assert ta.identity() is ta and ta.handle is None and int(ta.flow) == 0
    ta.close()
    assert int(ta.size()) == 0


def test_sizes_and_indices_that_cannot_be() -> None:
    exhausted = fg.errors.ResourceExhaustedError
    for size in (2**60, 2**62, 2**70):
        with pytest.raises((exhausted, ValueError)):
            array(size=size)
    with pytest.raises(exhausted, match="a TensorArray of"):
        array(dynamic_size=True).write(2**60, 1.0)
    ta = array().unstack([1.0, 2.0, 3.0])
    for index in (3, -4, 2**40):
        with pytest.raises(OutOfRange, match=f"index {index} "):
            ta.gather([index])
    with pytest.raises(TypeError, match="integers"):
        ta.gather([1.5])
    assert ta.gather([]).shape == (0,)
    for indices, values in (([0], [1.0, 2.0]), ([0, 1], [1.0])):
        with pytest.raises(Invalid, match="Cannot scatter"):
            array().scatter(indices, values)


@pytest.mark.parametrize("how", ["stack", "gather", "concat"])
def test_entries_that_were_read_and_are_not_kept_are_zeros_among_others(how: str) -> None:
    take = {"stack": lambda t: t.stack(), "gather": lambda t: t.gather([0, 1, 2]), "concat": lambda t: t.concat()}[how]
    for kept in (False, True):
        ta = array(clear_after_read=not kept)
        for i in range(3):
            ta = ta.write(i, [i + 1.0, 1.0])
        ta.read(1)
        want = [[1.0, 1.0], [2.0, 1.0] if kept else [0.0, 0.0], [3.0, 1.0]]
        assert take(ta).numpy().tolist() == (want if how != "concat" else [x for row in want for x in row])
    unknown = array(infer_shape=False).unstack([1.0, 2.0, 3.0])
    unknown.read(0)
    with pytest.raises(ValueError, match="its shape <unknown> is not known"):
        take(unknown)


def test_a_split_makes_an_array_of_dynamic_size_as_long_as_its_pieces() -> None:
    def pieces(n: Any) -> Any:
        ta = fg.TensorArray(fg.float32, n, dynamic_size=True).split([1.0, 2.0, 3.0, 4.0], [2, 2])
        return ta.size(), ta.concat(), ta.gather([]).shape[0] if fg.executing_eagerly() else fg.shape(ta.gather([]))[0]

    for n in (0, 1, 3):
        for size, whole, none in (pieces(n), fg.function(lambda n=n: pieces(n))()):
            assert int(size) == 2 and int(none) == 0 and whole.numpy().tolist() == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(Invalid, match=r"\(3 vs. 2\)"):
        array().split([1.0, 2.0], [1, 1])


@pytest.mark.parametrize("stage", [lambda f: f, fg.function], ids=["eager", "in a Function"])
def test_methods_may_be_called_through_the_class(stage: Any) -> None:
    kind = fg.TensorArray

    def written() -> Any:
        ta = kind.scatter(kind.write(array(clear_after_read=False), 0, 1.0), [2, 1], [3.0, 2.0])
        again = kind.unstack(array(), kind.stack(kind.identity(ta)))
        return (
            kind.read(ta, 1),
            kind.size(ta),
            kind.gather(again, [2, 0]),
            kind.concat(kind.split(array(), [1.0, 2.0], [1, 0, 1])),
        )

    one, size, some, joined = stage(written)()
    assert (float(one), int(size), some.numpy().tolist(), joined.numpy().tolist()) == (2, 3, [3, 1], [1, 2])
