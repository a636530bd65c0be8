"""TensorArrays that grow in staged loops: no Python and no copy of the whole at a write, in gradients neither."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.runtime import plan as specs

pytestmark = pytest.mark.usefixtures("tier")


@fg.function
def squares(n: Any, x: Any) -> Any:
    ta = fg.TensorArray(fg.float32, size=0, dynamic_size=True)
    for i in fg.range(n):
        ta = ta.write(i, x * fg.cast(i, fg.float32))
    return ta.stack()


@fg.function
def some(n: Any, x: Any) -> Any:
    ta, k = fg.TensorArray(fg.float32, size=0, dynamic_size=True), fg.constant(0)
    for i in fg.range(n):
        if i % 3 != 0:
            ta = ta.write(k, x * fg.cast(i, fg.float32))
            k += 1
    return ta.stack()


@fg.function
def pairs(n: Any, x: Any) -> Any:
    ta = fg.TensorArray(fg.float32, size=0, dynamic_size=True, clear_after_read=False)
    for i in fg.range(n):
        ta = ta.write(2 * i, x)
        ta = ta.write(2 * i + 1, x + ta.read(2 * i))
    return ta.stack()


@fg.function
def sums(n: Any, x: Any) -> Any:
    ta = fg.TensorArray(fg.float32, size=0, dynamic_size=True, clear_after_read=False).write(0, x)
    for i in fg.range(n):
        ta = ta.write(i + 1, fg.sin(ta.read(i)) + x)
    return ta.stack()


@fg.function
def uneven(n: Any, x: Any) -> Any:
    ta = fg.TensorArray(fg.float32, size=0, dynamic_size=True, infer_shape=False)
    for i in fg.range(n):
        ta = ta.write(i, x[: i % 3] * fg.cast(i, fg.float32))
    return ta.concat()


@fg.function
def uneven_of_fixed_size(n: Any, x: Any) -> Any:
    ta = fg.TensorArray(fg.float32, size=n, infer_shape=False)
    for i in fg.range(n):
        ta = ta.write(n - 1 - i, x[: 1 + i % 2])
    return ta.concat()


@pytest.mark.parametrize("n", [1, 4, 5, 33, 300])
def test_values_of_entries_of_different_shapes(n: int) -> None:
    x = np.float32([1.5, -2.0])
    whole = np.concatenate([x[: i % 3] * i for i in range(n)])
    assert np.array_equal(uneven(fg.constant(n), fg.constant(x)), whole)
    whole = np.concatenate([x[: 1 + i % 2] for i in reversed(range(n))])
    assert np.array_equal(uneven_of_fixed_size(fg.constant(n), fg.constant(x)), whole)


@pytest.mark.parametrize("function", [uneven, uneven_of_fixed_size])
def test_gradients_of_entries_of_different_shapes(function: Any) -> None:
    def slopes(call: Any, x: Any) -> list[Any]:
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as tape:
                tape.watch(x)
                y = call(fg.constant(7), x)
                y = fg.reduce_sum(fg.sin(y) * fg.cast(fg.range(fg.size(y)), fg.float32))
            first = tape.gradient(y, x)
            z = fg.reduce_sum(first * first)
        return [np.asarray(first), np.asarray(outer.gradient(z, x))]

    x = fg.constant([0.3, -0.2])
    with _eager():
        wanted = slopes(function.python_function, x)
    np.testing.assert_allclose(slopes(function, x)[0], wanted[0], rtol=1e-4)
    np.testing.assert_allclose(slopes(function, x)[1], wanted[1], rtol=1e-4)


@pytest.mark.parametrize("n", [0, 1, 4, 5, 33, 300])
def test_values(n: int) -> None:
    x = np.float32([1.5, -2.0])
    whole = [x * i for i in range(n)]
    assert np.array_equal(squares(fg.constant(n), fg.constant(x)), np.reshape(whole, (n, 2)))
    few = [x * i for i in range(n) if i % 3]
    assert np.array_equal(some(fg.constant(n), fg.constant(x)), np.reshape(few, (len(few), 2)))
    both = [each for _ in range(n) for each in (x, x + x)]
    assert np.array_equal(pairs(fg.constant(n), fg.constant(x)), np.reshape(both, (2 * n, 2)))


@pytest.mark.parametrize("function", [squares, some, pairs, sums])
def test_first_and_second_gradients(function: Any) -> None:
    def slopes(call: Any, x: Any) -> list[Any]:
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as tape:
                tape.watch(x)
                y = fg.reduce_sum(fg.sin(call(fg.constant(7), x)) * fg.constant([[1.0, 2.0]]))
            first = tape.gradient(y, x)
            z = fg.reduce_sum(first * first)
        return [np.asarray(first), np.asarray(outer.gradient(z, x))]

    x = fg.constant([0.3, -0.2])
    with _eager():
        want = slopes(function, x)
    for got, wanted in zip(slopes(function, x), want, strict=True):
        assert np.allclose(got, wanted, atol=1e-5)


class _eager:
    def __enter__(self) -> None:
        fg.config.run_functions_eagerly(True)

    def __exit__(self, *_: object) -> None:
        fg.config.run_functions_eagerly(False)


@pytest.mark.parametrize("function", [squares, some, pairs, uneven, uneven_of_fixed_size])
def test_a_write_is_in_place(monkeypatch: pytest.MonkeyPatch, function: Any, tier: str) -> None:
    if tier != "last":
        pytest.skip("kernels only")
    made: list[specs.ListCall] = []

    real = specs.ListCall

    def noted(**given: Any) -> specs.ListCall:
        made.append(real(**given))
        return made[-1]

    monkeypatch.setattr(specs, "ListCall", noted)
    fg.function(function.python_function)(fg.constant(9), fg.constant([1.0, 2.0]))
    assert made
    assert all(step.over for step in made if step.push)


def test_what_is_still_needed_stays() -> None:
    @fg.function
    def f(n: Any) -> Any:
        ta = fg.TensorArray(fg.float32, size=0, dynamic_size=True)
        old = ta
        seen = fg.zeros([])
        for i in fg.range(n):
            old, ta = ta, ta.write(0, fg.cast(i, fg.float32))
            ta = ta.write(i, 1.0)
            seen += fg.reduce_sum(old.stack())
        return ta.stack(), seen

    for got, wanted in zip(f(fg.constant(5)), _by_hand(5), strict=True):
        assert np.array_equal(got, wanted)


def _by_hand(n: int) -> tuple[Any, Any]:
    rows: dict[int, float] = {}
    seen = 0.0
    for i in range(n):
        seen += sum(rows.values())
        rows = {**rows, 0: float(i)}
        rows[i] = 1.0
    return np.float32([rows[i] for i in range(n)]), np.float32(seen)


def test_errors() -> None:
    @fg.function
    def f(i: Any) -> Any:
        ta = fg.TensorArray(fg.float32, size=0, dynamic_size=True)
        for k in fg.range(3):
            ta = ta.write(k + i, 1.0)
        return ta.stack()

    assert np.array_equal(f(fg.constant(2)), [0, 0, 1, 1, 1])
    with pytest.raises(fg.errors.InvalidArgumentError, match="Trying to modify element -1 in a list"):
        f(fg.constant(-1))


@pytest.mark.parametrize("dtype", ["float16", "int64", "bool", "complex64", "string"])
def test_dtypes(dtype: str) -> None:
    @fg.function
    def f(n: Any, x: Any) -> Any:
        ta = fg.TensorArray(x.dtype, size=0, dynamic_size=True)
        for i in fg.range(n):
            ta = ta.write(i, x)
        return ta.stack()

    x = fg.constant(["a", "b"]) if dtype == "string" else fg.cast(fg.constant([1, 0]), dtype)
    assert np.array_equal(f(fg.constant(7), x), np.stack([x.numpy()] * 7))


def _passed_on(x: Any, n: Any, change: Any) -> Any:
    a, b = x, x
    for _ in fg.range(n):
        shapes = [(a, fg.TensorShape([None, 2])), (b, fg.TensorShape([None, 2]))]
        fg.autograph.experimental.set_loop_options(shape_invariants=shapes)
        a, b = b, change(b)
    return a, b


@pytest.mark.parametrize("change", [lambda b: fg.concat([b, b[:1] + 1.0], 0), lambda b: b[1:] * 2.0])
def test_what_grows_or_shrinks_is_handed_on_to_another_value(change: Any) -> None:
    x = fg.reshape(fg.range(12.0), [6, 2])
    with flags.override(worker=False):
        f = fg.function(lambda x, n: _passed_on(x, n, change))
        for n in (0, 1, 2, 5):
            a, b = _passed_on(x, n, change)
            found = f(x, fg.constant(n))
            assert found[0].numpy().tolist() == a.numpy().tolist() and found[1].numpy().tolist() == b.numpy().tolist()
