"""What replicas give: values of assignments, traces, gradients; and what is refused on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core import devices
from tests.api.distributed_programs import TWO
from tests.api.test_distribute import number, replica, values


@pytest.fixture
def strategy() -> Iterator[Any]:
    """Of two parts of the CPU."""
    devices.divide([devices.LogicalDeviceConfiguration()] * 2)
    yield fg.distribute.MirroredStrategy(TWO)
    devices.divide(None)


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize("kind", fg.VariableAggregation)
def test_an_assignment_on_a_replica_gives_what_that_replica_has_then(strategy: Any, kind: Any, how: str) -> None:
    run = strategy.run if how == "eager" else lambda f: fg.function(lambda: strategy.run(f))()
    with strategy.scope():
        mirrored = fg.Variable(1.0, aggregation=kind)
        own = fg.Variable(1.0, aggregation=kind, synchronization=fg.VariableSynchronization.ON_READ)
    written = {"NONE": [1.0, 2.0], "SUM": [3.0, 3.0], "MEAN": [1.5, 1.5], "ONLY_FIRST_REPLICA": [1.0, 1.0]}[kind.name]
    for v, expected in ((mirrored, written), (own, [1.0, 2.0])):
        found = run(lambda v=v: {"is": v.assign(fg.constant(number() + 1.0)), "more": v.assign_add(fg.constant(0.0))})
        for part in found.values():
            assert isinstance(part, fg.types.experimental.distributed.PerReplica)
            assert [float(each) for each in part.values] == expected == values(v)
            assert float(strategy.reduce("SUM", part, axis=None)) == sum(expected)
        run(lambda v=v: (v.assign(fg.constant(number() + 1.0), read_value=False), 0)[1])
        assert values(v) == expected


def test_a_saved_model_takes_the_replicas_copies_for_the_variable(strategy: Any, tmp_path: Path) -> None:
    module = fg.Module()
    with strategy.scope():
        module.v = fg.Variable([1.0, 2.0])
        module.mean = fg.Variable(
            3.0, synchronization=fg.VariableSynchronization.ON_READ, aggregation=fg.VariableAggregation.MEAN
        )
    module.f = fg.function(lambda x: x * module.v + module.mean, input_signature=[fg.TensorSpec([2])])
    fg.saved_model.save(module, str(tmp_path))
    assert fg.saved_model.load(str(tmp_path)).f([1.0, 1.0]).numpy().tolist() == [4.0, 5.0]


def test_a_function_is_traced_anew_for_another_strategy_and_in_a_trace(strategy: Any) -> None:
    total = fg.function(lambda x: replica().all_reduce("SUM", x * 1.0))
    other = fg.distribute.MirroredStrategy(TWO[::-1])
    for each in (strategy, other, strategy):
        assert [float(part) for part in each.run(total, (fg.constant(1.0),)).values] == [2.0, 2.0]
    found = fg.function(lambda: strategy.run(total, (fg.constant(1.0),)))()
    assert [float(part) for part in found.values] == [2.0, 2.0]


def test_slices_are_not_gathered(strategy: Any) -> None:
    step = lambda: replica().all_gather(fg.IndexedSlices(fg.ones([1, 2]), fg.constant([0]), [3, 2]), axis=0)
    for run in (strategy.run, lambda f: fg.function(lambda: strategy.run(f))()):
        with pytest.raises(NotImplementedError, match="does not support IndexedSlices"):
            run(step)


def test_gradients_of_each_replica_alone_by_the_old_name(strategy: Any) -> None:
    with strategy.scope():
        v, optimizer = fg.Variable(1.0), fg.keras.optimizers.SGD(0.5)
    pairs = lambda: [(fg.constant(number() + 1.0), v)]
    strategy.run(lambda: optimizer.apply_gradients(pairs(), experimental_aggregate_gradients=False))
    assert values(v) == [0.5, 0.0]


def test_a_model_made_outside_the_scope_is_not_trained_in_it(strategy: Any) -> None:
    def made() -> Any:
        return fg.keras.Sequential([fg.keras.layers.Dense(1, input_shape=(2,), kernel_initializer="ones")])

    x = np.ones([4, 2], "float32")
    model = made()
    with strategy.scope(), pytest.raises(ValueError, match="was not created in the distribution strategy scope"):
        model.compile("sgd", "mse")
    model.compile("sgd", "mse")
    with strategy.scope(), pytest.raises(ValueError, match="was not created in the distribution strategy scope"):
        model.fit(x, x[:, :1], verbose=0)
    with strategy.scope():
        assert model.evaluate(x, x[:, :1], verbose=0) == 1.0 and model.predict(x, verbose=0).sum() == 8.0
        model = made()
    model.compile("sgd", "mse")
    assert model.fit(x, x[:, :1], verbose=0).history["loss"] == [1.0]
    with pytest.raises(ValueError, match="positional args must be a list or tuple"):
        strategy.run(lambda x: x, 1.0)


@pytest.mark.parametrize("shared", ["batches", "turns"])
def test_sparse_and_ragged_elements_are_shared_out(strategy: Any, shared: str) -> None:
    rows = fg.ragged.constant([[1.0], [2.0, 3.0], [], [4.0, 5.0, 6.0], [7.0]])
    dense = fg.constant(np.arange(10.0, dtype=np.float32).reshape(5, 2))
    dataset = fg.data.Dataset.from_tensor_slices((rows, fg.sparse.from_dense(dense))).batch(3)
    given = (
        strategy.experimental_distribute_dataset(dataset)
        if shared == "batches"
        else strategy.distribute_datasets_from_function(lambda context: dataset)
    )

    def sums(element: Any) -> Any:
        return fg.reduce_sum(element[0].flat_values) + 100.0 * fg.reduce_sum(element[1].values)

    @fg.function
    def by_optionals(elements: Any) -> Any:
        iterator, total, goes_on = iter(elements), 0.0, fg.constant(True)
        while goes_on:
            found = iterator.get_next_as_optional()
            if found.has_value():
                total += strategy.reduce("SUM", strategy.run(sums, (found.get_value(),)), axis=None)
            else:
                goes_on = fg.constant(False)
        return total

    assert float(by_optionals(given)) == 28.0 + 4500.0
    shapes = [[each.to_list() for each in element[0].values] for element in given]
    parts = {
        "batches": [[[[1.0], [2.0, 3.0]], [[]]], [[[4.0, 5.0, 6.0]], [[7.0]]]],
        "turns": [[[[1.0], [2.0, 3.0], []], [[4.0, 5.0, 6.0], [7.0]]]],
    }
    assert shapes == parts[shared]
    whole = [fg.sparse.to_dense(each).numpy() for element in given for each in element[1].values]
    np.testing.assert_array_equal(np.concatenate(whole), dense)
    spec = given.element_spec[1]._component_specs[0]
    assert spec.shape.as_list() == [None, 2] and isinstance(spec, fg.SparseTensorSpec)


@pytest.mark.parametrize("how", ["min", "max", "update"])
def test_rows_are_not_the_least_or_last_of_a_sum(strategy: Any, how: str) -> None:
    kinds, modes = fg.VariableAggregation, fg.VariableSynchronization
    rows = lambda: fg.IndexedSlices(fg.constant([4.0 + number()]), fg.constant([1]), [2])
    with strategy.scope():
        together = [fg.Variable([5.0, 5.0], aggregation=kind) for kind in (kinds.SUM, kinds.MEAN)]
        first = fg.Variable([5.0, 5.0], aggregation=kinds.ONLY_FIRST_REPLICA)
        on_read = fg.Variable([5.0, 5.0], aggregation=kinds.SUM, synchronization=modes.ON_READ)
    for run in (strategy.run, lambda f: fg.function(lambda: strategy.run(f))()):
        for variable in (*together, on_read):
            with pytest.raises(NotImplementedError, match=f"scatter_{how}"):
                run(lambda variable=variable: getattr(variable, f"scatter_{how}")(rows()))
        run(lambda: getattr(first, f"scatter_{how}")(rows()))
    assert [copy.numpy().tolist() for copy in first.values] == [[5.0, 5.0 if how == "max" else 4.0]] * 2
    with pytest.raises(NotImplementedError, match="ON_READ.* does not support `scatter_add`"):
        on_read.scatter_add(fg.IndexedSlices([1.0], [0], [2]))


def test_batches_are_cut_into_equal_parts_while_rows_last() -> None:
    """As TensorFlow 2.21 does with three and four devices."""
    devices.divide([devices.LogicalDeviceConfiguration()] * 4)
    try:
        for n, rows, parts in ((3, 7, [3, 3, 1]), (4, 6, [2, 2, 2, 0]), (4, 5, [2, 2, 1, 0]), (4, 9, [3, 3, 3, 0])):
            dataset = fg.data.Dataset.range(rows).batch(rows)
            given = fg.distribute.MirroredStrategy([f"CPU:{i}" for i in range(n)]).experimental_distribute_dataset(
                dataset
            )
            for element in (next(iter(given)), fg.function(lambda it: next(it))(iter(given))):
                assert [int(fg.size(part)) for part in element.values] == parts
    finally:
        devices.divide(None)


def test_a_graph_does_not_number_what_is_shared_out(strategy: Any) -> None:
    """As in TensorFlow; Python's enumerate would go on for ever, for a graph does not know where a dataset ends."""
    given = strategy.experimental_distribute_dataset(fg.data.Dataset.range(6).batch(2))

    @fg.function
    def numbered(elements: Any) -> Any:
        n = 0
        for _ in enumerate(elements):
            n += 1
        return n

    for elements, kind in ((given, "DistributedDataset"), (iter(given), "DistributedIterator")):
        with pytest.raises(NotImplementedError, match=f"enumerate .* {kind}.* keep a separate counter"):
            numbered(elements)
    fg.config.run_functions_eagerly(True)
    try:
        assert numbered(given) == 3
    finally:
        fg.config.run_functions_eagerly(False)


def test_loops_in_graphs_go_over_several_shared_datasets_at_once(strategy: Any) -> None:
    first, second = [
        strategy.experimental_distribute_dataset(fg.data.Dataset.range(start, start + n).batch(4))
        for start, n in ((0, 24), (24, 16))
    ]

    def total(values: Any) -> Any:
        return strategy.reduce("SUM", values, axis=None)

    @fg.function
    def zipped() -> Any:
        found = fg.constant(0, fg.int64)
        for a, b in zip(first, second):
            found += total(strategy.run(lambda x, y: fg.reduce_sum(x * y), (a, b)))
        return found

    @fg.function
    def mapped(scale: Any) -> Any:
        found = fg.constant(0, fg.int64)
        scaled = lambda x: strategy.run(lambda v: fg.reduce_sum(v) * scale, (x,))
        for x in map(scaled, first):
            if total(x) > 100 * scale:
                break
            found += total(x)
        return found

    products = sum(x * (x + 24) for x in range(16))
    assert int(zipped()) == products
    assert int(mapped(fg.constant(2, fg.int64))) == 2 * sum(range(24))
    names = [node.name for node in zipped.get_concrete_function().graph.get_operations()]
    assert len(names) < 60, "the loop is staged"
    fg.config.run_functions_eagerly(True)
    try:
        assert int(zipped()) == products
    finally:
        fg.config.run_functions_eagerly(False)


def test_replicas_make_the_same_variables(strategy: Any) -> None:
    v = strategy.run(lambda: fg.Variable(1.0, name=f"foo_{int(number())}"))
    assert v.name == "foo_0:0" and len(v.values) == 2
    with pytest.raises(RuntimeError, match="Tried to create variable bar with mismatching name on device .*CPU:1"):
        strategy.run(lambda: fg.Variable(1.0, name=["foo", "bar"][int(number())]))


def test_replicas_of_a_graph_meet_outside_of_it(strategy: Any) -> None:
    kept = []

    def outside() -> Any:
        with fg.init_scope():
            total = replica().merge_call(lambda s, x: s.reduce("SUM", x, axis=None), (fg.constant(number() + 1.0),))
            kept.append(total)
            return total + 1.0

    assert values(fg.function(lambda: strategy.run(outside))()) == [4.0, 4.0]
    assert [float(each) for each in kept] == [3.0, 3.0]


@pytest.fixture
def central() -> Iterator[Any]:
    """Two replicas whose Variables lie on a third part of the CPU."""
    devices.divide([devices.LogicalDeviceConfiguration()] * 3)
    yield fg.distribute.experimental.CentralStorageStrategy(["CPU:1", "CPU:2"], "CPU:0")
    devices.divide(None)


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize("kind", fg.VariableAggregation)
def test_replicas_share_a_variable_in_one_place(central: Any, kind: Any, how: str) -> None:
    """As TensorFlow 2.21, which takes no note of `synchronization` there."""
    run = central.run if how == "eager" else lambda f: fg.function(lambda: central.run(f))()
    for when in (fg.VariableSynchronization.AUTO, fg.VariableSynchronization.ON_READ):
        with central.scope():
            v = fg.Variable([1.0, 1.0], aggregation=kind, synchronization=when)
        assert v.device.endswith("CPU:0") and isinstance(v, fg.Variable)
        assign = lambda v=v: v.assign(fg.fill([2], number() + 1.0))
        if kind is fg.VariableAggregation.NONE:
            with pytest.raises(ValueError, match="You must specify an aggregation method"):
                run(assign)
        else:
            expected = {"SUM": 3.0, "MEAN": 1.5, "ONLY_FIRST_REPLICA": 1.0}[kind.name]
            assert run(assign).numpy().tolist() == [expected] * 2  # one value, for all
            assert v.numpy().tolist() == [expected] * 2
        v.assign([7.0, 8.0])
        assert [float(each[1]) for each in run(lambda v=v: v + number()).values] == [8.0, 9.0]
        with pytest.raises(ValueError, match="cannot be reduced"):
            central.reduce("SUM", v, axis=None)
        assert float(central.extended.update(v, lambda own, x: own.assign_add(x), args=([2.0, 2.0],))[0]) == 9.0


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_optimizers_change_a_shared_variable_once(central: Any, optimizer: str) -> None:
    losses = {"SGD": [2.5, 1.92865026, 1.49291193], "Adam": [2.5, 2.29445171, 2.09806585]}[optimizer]  # TensorFlow's
    last = {"SGD": [0.55234694, 1.89264405], "Adam": [0.85025936, 1.85023832]}[optimizer]
    with central.scope():
        w = fg.Variable([1.0, 2.0])
        own = getattr(fg.keras.optimizers, optimizer)(0.05)
    given = central.experimental_distribute_values_from_function(
        lambda context: fg.constant([0.1 + context.replica_id_in_sync_group, 0.2])
    )

    def step(x: Any) -> Any:
        with fg.GradientTape() as tape:
            loss = fg.reduce_sum(w * x) ** 2
        own.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    graph = fg.function(lambda: central.run(step, (given,)))
    found = [central.reduce("SUM", each(), axis=None) for each in (lambda: central.run(step, (given,)), graph, graph)]
    np.testing.assert_allclose([float(each) for each in found], losses, rtol=1e-6)
    np.testing.assert_allclose(w, last, rtol=1e-6)
    assert int(own.iterations) == 3
