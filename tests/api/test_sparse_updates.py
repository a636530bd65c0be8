"""IndexedSlices from the gather to the optimiser: rows alone change, in place where nobody else holds the value."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.runtime import schedule

MODES = [pytest.param(lambda f: f, id="eager"), pytest.param(fg.function, id="function")]
START = np.arange(10, dtype=np.float32).reshape(5, 2) / 3
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: fg.keras.optimizers.SGD(0.1),
    "momentum": lambda: fg.keras.optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: fg.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adagrad": lambda: fg.keras.optimizers.Adagrad(0.1),
    "rmsprop": lambda: fg.keras.optimizers.RMSprop(0.1, centered=True, momentum=0.5),
    "adam": lambda: fg.keras.optimizers.Adam(0.1),
    "decay": lambda: fg.keras.optimizers.SGD(0.1, weight_decay=0.01),
}


@pytest.mark.parametrize("name", list(OPTIMIZERS))
@pytest.mark.parametrize("mode", MODES)
def test_a_sparse_gradient_changes_what_the_dense_one_would(name: str, mode: Callable[..., Any]) -> None:
    sparse, dense = fg.Variable(START), fg.Variable(START)
    optimizers = OPTIMIZERS[name](), OPTIMIZERS[name]()
    for optimizer, variable in zip(optimizers, (sparse, dense), strict=True):
        optimizer.build([variable])

    def step(rows: Any) -> None:
        with fg.GradientTape(persistent=True) as tape:
            a = fg.reduce_sum(fg.nn.embedding_lookup(sparse, rows) ** 2)
            b = fg.reduce_sum(fg.gather(dense * 1.0, rows) ** 2)
        g = tape.gradient(a, sparse)
        assert isinstance(g, fg.IndexedSlices)
        optimizers[0].apply_gradients([(g, sparse)])
        optimizers[1].apply_gradients([(tape.gradient(b, dense), dense)])

    run = mode(step)
    for rows in ([0, 2, 2], [4, 2, 0], [1, 1, 1]):
        run(fg.constant(rows))
    np.testing.assert_allclose(sparse, dense, rtol=1e-5, atol=1e-6)


def test_tables_change_in_place_behind_a_shape_that_is_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first steps read, the later ones may write over, in plans that threads run too."""
    monkeypatch.setattr(schedule, "worth_threads", lambda steps: True)
    v = fg.Variable(np.ones((1000, 4), np.float32))

    @fg.function
    def step(rows: Any) -> Any:
        found = fg.gather(v, rows)
        kept = fg.boolean_mask(found, found[:, 0] > 0.0)
        v.scatter_add(fg.IndexedSlices(fg.ones_like(kept), rows[: fg.shape(kept)[0]]))
        return fg.reduce_sum(kept)

    with flags.override(tier="last"):
        step(fg.constant([3, 5]))
        first = _address(v)
        results = [step(fg.constant(rows)).numpy() for rows in ([1, 2], [3, 5], [8, 9])]
    assert results == [8, 16, 8] and _address(v) == first and v.numpy()[[1, 3, 4], 0].tolist() == [2, 3, 1]


def test_how_many_rows_differ_is_no_size_of_a_plan() -> None:
    """Other batches of as many rows run by the same plan, and change their rows in place."""
    v, optimizer = fg.Variable(np.ones((1000, 4), np.float32)), fg.keras.optimizers.Adagrad(0.1)
    optimizer.build([v])

    @fg.function
    def step(rows: Any) -> None:
        with fg.GradientTape() as tape:
            loss = fg.reduce_sum(fg.gather(v, rows) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    batches = [fg.constant(rows) for rows in ([3, 3, 3, 5], [1, 2, 3, 4], [9, 9, 1, 1], [8, 8, 8, 8])]
    with flags.override(tier="last"):
        step(batches[0])
        first = _address(v)
        for rows in batches[1:]:
            step(rows)
    executable = step.get_concrete_function(batches[0]).executable
    assert len(executable._plans) == 1 and "rest" not in executable.explain()
    assert _address(v) == first and np.unique(np.where(v.numpy() != 1)[0]).tolist() == [1, 2, 3, 4, 5, 8, 9]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
def test_rows_named_twice_get_both(mode: Callable[..., Any], dtype: str) -> None:
    v = fg.Variable(np.zeros((4, 2)), dtype=dtype)
    delta = fg.IndexedSlices(fg.constant([[1, 2], [3, 4], [5, 6]], dtype), fg.constant([[3, 0, 3]][0]))
    mode(lambda: v.scatter_add(delta))()
    mode(lambda: v.scatter_sub(fg.IndexedSlices(delta.values[:1], fg.constant([1]))))()
    np.testing.assert_array_equal(v, [[3, 4], [-1, -2], [0, 0], [6, 8]])


@pytest.mark.parametrize("mode", MODES)
def test_what_was_read_before_keeps_its_value(mode: Callable[..., Any]) -> None:
    v = fg.Variable(np.zeros((1000, 2), np.float32))

    def f(rows: Any) -> Any:
        before = v.read_value()
        v.scatter_add(fg.IndexedSlices(fg.ones([2, 2]), rows))
        between = v.read_value()
        v.scatter_add(fg.IndexedSlices(fg.ones([2, 2]), rows))
        return before, before * 1.0, fg.reduce_sum(between), fg.reduce_sum(v)

    staged = mode(f)
    for k in range(4):
        before, scaled, between, after = staged(fg.constant([7, 7]))
        assert (fg.reduce_sum(before), fg.reduce_sum(scaled), between, after) == (8 * k, 8 * k, 8 * k + 4, 8 * k + 8)
    held = v.numpy() if mode is fg.function else v.read_value().numpy()
    v.scatter_add(fg.IndexedSlices(fg.ones([1, 2]), [0]))
    assert held[0].tolist() == [0, 0] and v.numpy()[0].tolist() == [1, 1]


def test_it_is_in_place() -> None:
    v = fg.Variable(np.zeros((1000, 2), np.float32))
    delta = fg.IndexedSlices(fg.ones([1, 2]), fg.constant([3]))
    v.scatter_add(delta)
    first = _address(v)
    v.scatter_add(delta)
    assert _address(v) == first and v.numpy()[3].tolist() == [2, 2]
    held = v.read_value()
    v.scatter_add(delta)  # somebody holds the value: it does not change under their hands
    assert _address(v) != first and held.numpy()[3].tolist() == [2, 2]


def _address(v: fg.Variable) -> int:
    return int(np.asarray(v.read_value()).ctypes.data)


def test_many_threads_lose_nothing() -> None:
    v = fg.Variable(np.zeros((10, 3), np.float32))
    delta = fg.IndexedSlices(fg.ones([2, 3]), fg.constant([1, 4]))

    def work() -> None:
        for _ in range(300):
            v.scatter_add(delta)
            v.read_value()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert v.numpy()[1].tolist() == [2400] * 3 and v.numpy()[4].tolist() == [2400] * 3 and v.numpy().sum() == 14400


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("delta", "error", "text"),
    [
        (lambda: fg.IndexedSlices(fg.ones([1, 2]), [5]), fg.errors.InvalidArgumentError, r"indices\[0\] = 5 is not in \[0, 5"),
        (lambda: fg.IndexedSlices(fg.ones([2, 2]), [1]), fg.errors.InvalidArgumentError, "Must have updates.shape = indices.shape"),
        (lambda: fg.IndexedSlices(fg.ones([1, 3]), [1]), fg.errors.InvalidArgumentError, "Must have updates.shape = indices.shape"),
        (lambda: 3.0, TypeError, "must be a `tf.IndexedSlices`"),
    ],
)  # fmt: skip
def test_wrong_rows(mode: Callable[..., Any], delta: Callable[[], Any], error: Any, text: str) -> None:
    v = fg.Variable(START)
    with pytest.raises(error, match=text):
        mode(lambda: v.scatter_add(delta()))()
    np.testing.assert_array_equal(v, START)


def test_gradients_of_a_gather_add_up_sparse_and_meet_dense_ones() -> None:
    v = fg.Variable(START)
    with fg.GradientTape(persistent=True) as tape:
        rows = fg.gather(v, [0, 2]) + fg.nn.embedding_lookup(v, [2, 2])
        both = fg.reduce_sum(rows) + fg.reduce_sum(v)
    assert isinstance(tape.gradient(rows, v), fg.IndexedSlices)
    np.testing.assert_array_equal(fg.convert_to_tensor(tape.gradient(rows, v))[:, 0], [1, 0, 3, 0, 0])
    dense = tape.gradient(both, v)
    np.testing.assert_array_equal(dense[:, 0], [2, 1, 4, 1, 1])


@pytest.mark.parametrize(
    "f",
    [fg.sort, lambda x: fg.sort(x, direction="DESCENDING"), lambda x: fg.repeat(x, 2, axis=0), lambda x: x[::-1]],
)
@pytest.mark.parametrize("staged", [False, True])
def test_the_gradient_of_what_only_moves_elements_is_dense(f: Any, staged: bool) -> None:
    x = fg.constant([3.0, 1.0, 2.0])

    def slope(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = f(x) ** 2
        return tape.gradient(y, x)

    found = (fg.function(slope) if staged else slope)(x)
    assert isinstance(found, fg.Tensor)
    np.testing.assert_allclose(found.numpy(), 2 * x.numpy() * (f(x).shape[0] / 3))
