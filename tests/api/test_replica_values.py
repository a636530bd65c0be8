"""What replicas give: values of assignments, traces, gradients; and what is refused on them."""

from __future__ import annotations

import copy
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


def test_copies_of_variables_that_replicas_share_are_of_their_kind(strategy: Any) -> None:
    with strategy.scope():
        v = fg.Variable([1.0, 2.0])
        total = fg.Variable(
            0.0, synchronization=fg.VariableSynchronization.ON_READ, aggregation=fg.VariableAggregation.SUM
        )
    strategy.run(lambda: total.assign_add(number()))
    for given in (v, total):
        copied = copy.deepcopy({"a": given, "b": given})
        assert copied["a"] is copied["b"] and type(copied["a"]) is type(given)
        assert values(copied["a"]) == values(given) and copied["a"].aggregation is given.aggregation
        assert [each.device for each in copied["a"].values] == [each.device for each in given.values]
        before = values(given)
        copied["a"].assign(copied["a"] * 3.0)
        assert values(given) == before != values(copied["a"])


def test_a_generator_asked_between_replicas_goes_on_for_all_of_them(strategy: Any) -> None:
    with strategy.scope():
        generator, alone = fg.random.Generator.from_seed(1), fg.random.Generator.from_seed(1)
    drawn = [generator.normal([3]), fg.function(lambda: generator.normal([3]))(), generator.skip(4)]
    expected = fg.random.Generator.from_seed(1)
    for mine, theirs in zip(drawn, [expected.normal([3]), expected.normal([3]), expected.skip(4)], strict=True):
        assert mine.numpy().tolist() == theirs.numpy().tolist()
    assert values(generator.state) == [expected.state.numpy().tolist()] * 2 != values(alone.state)


def test_replicas_with_variables_in_one_place_draw_what_mirrored_ones_draw(strategy: Any) -> None:
    found = []
    alone = fg.distribute.OneDeviceStrategy(TWO[0])
    for each in (strategy, fg.distribute.experimental.CentralStorageStrategy(TWO), alone):
        with each.scope():
            generator = fg.random.Generator.from_seed(1)
        for run in (each.run, lambda f, each=each: each.run(fg.function(f))):
            drawn = each.experimental_local_results(run(lambda own=generator: own.uniform([3])))
            found.append([part.numpy().tolist() for part in drawn])
        found.append(each.experimental_local_results(generator.state)[0].numpy().tolist())
    assert found[:3] == found[3:6] and found[0] != found[1] and found[0][0] != found[0][1]
    assert found[6:] == [found[0][:1], found[1][:1], found[2]]  # what the first of several draws, the only one draws


def test_replicas_that_give_different_structures_are_an_error(strategy: Any) -> None:
    for call in (
        lambda: strategy.run(lambda: [1] * (1 + int(number()))),
        lambda: strategy.experimental_distribute_values_from_function(lambda c: [1] * (1 + c.replica_id_in_sync_group)),
    ):
        with pytest.raises(AssertionError, match="gave different structures"):
            call()
    for context in (strategy.run, lambda f: f()):
        with pytest.raises(NotImplementedError, match="all_gather does not support IndexedSlices"):
            context(lambda: replica().all_gather(fg.IndexedSlices(fg.ones([1]), fg.constant([0]), [3]), 0))


def test_parts_of_datasets_are_on_the_devices_of_their_replicas(strategy: Any) -> None:
    batches = fg.data.Dataset.range(8).batch(4)
    for dataset in (
        strategy.experimental_distribute_dataset(batches),
        strategy.distribute_datasets_from_function(lambda _: batches),
        strategy.distribute_datasets_from_function(lambda _: fg.data.Dataset.range(8).batch(4, drop_remainder=True)),
    ):
        for each in dataset:
            assert [part.device[-5:] for part in each.values] == ["CPU:0", "CPU:1"]


def test_replicas_may_have_datasets_of_their_own(strategy: Any) -> None:
    mode = fg.distribute.InputReplicationMode.PER_REPLICA
    options = fg.distribute.InputOptions(experimental_replication_mode=mode)

    def batches(context: Any) -> Any:
        assert context.num_input_pipelines == context.num_replicas_in_sync == 2
        return fg.data.Dataset.range(3 + 2 * context.input_pipeline_id).map(lambda i: (i, -i)).batch(2)

    dataset = strategy.distribute_datasets_from_function(batches, options)
    parts = [[part.numpy().tolist() for part in first.values] for first, _ in dataset]
    assert parts == [[[0, 1], [0, 1]], [[2], [2, 3]], [[], [4]]]  # the first has nothing left
    add = fg.function(lambda d: sum_of(strategy, d))
    assert int(add(dataset)) == 3 + 10
    fixed = strategy.distribute_datasets_from_function(
        lambda context: fg.data.Dataset.range(2 + context.input_pipeline_id), options
    )
    assert len(list(fixed)) == 2 and fixed.element_spec.value_type is fg.types.experimental.distributed.PerReplica
    with pytest.raises(NotImplementedError, match="only supported in `distribute_datasets_from_function`"):
        strategy.experimental_distribute_dataset(fg.data.Dataset.range(3), options)
    with pytest.raises(ValueError, match="`experimental_place_dataset_on_device` can not be set to True"):
        strategy.distribute_datasets_from_function(
            batches, fg.distribute.InputOptions(experimental_place_dataset_on_device=True)
        )


def sum_of(strategy: Any, dataset: Any) -> Any:
    """Return the sum of the first parts of all elements, in a graph."""
    total = fg.zeros([], "int64")
    for first, _ in dataset:
        total += strategy.reduce("SUM", strategy.run(fg.reduce_sum, (first,)), axis=None)
    return total


@pytest.mark.parametrize("n", [1, 2])
def test_iterators_of_tensorflow_1_begin_anew(strategy: Any, n: int) -> None:
    chosen = strategy if n == 2 else fg.distribute.OneDeviceStrategy(TWO[0])
    iterator = chosen.make_dataset_iterator(fg.data.Dataset.range(4).batch(2))
    for _ in range(2):
        found = [chosen.experimental_local_results(iterator.get_next()) for _ in range(2)]
        assert [[int(i) for part in each for i in part] for each in found] == [[0, 1], [2, 3]]
        with pytest.raises(fg.errors.OutOfRangeError):
            iterator.get_next()
        assert iterator.initialize() == iterator.initializer == []
    given = chosen.make_input_fn_iterator(lambda context: fg.data.Dataset.range(4).batch(2))
    found = chosen.experimental_run(fg.reduce_sum, given)
    assert chosen.group(found) is None or n == 1
    assert [int(each) for each in chosen.experimental_local_results(found)] == [1, 5][:n]
    with pytest.raises(ValueError, match="Input replication mode not supported"):
        chosen.make_input_fn_iterator(lambda context: None, fg.distribute.InputReplicationMode.PER_REPLICA)


def test_functions_that_write_variables_of_replicas_are_saved_for_one(strategy: Any, tmp_path: Path) -> None:
    kinds, on_read = fg.VariableAggregation, fg.VariableSynchronization.ON_READ
    module = fg.Module()
    with strategy.scope():
        module.mirrored = fg.Variable(1.0)
        module.total = fg.Variable(1.0, aggregation=kinds.SUM, synchronization=on_read)
        module.mean = fg.Variable(1.0, aggregation=kinds.MEAN, synchronization=on_read)
        module.generator = fg.random.Generator.from_seed(1)
    signature = [fg.TensorSpec([])]

    @fg.function(input_signature=signature)
    def add(x: Any) -> Any:
        module.mirrored.assign_add(x)
        module.mean.assign_add(x)
        return module.mirrored + 0.0, module.mean + module.total, module.generator.normal([2])

    module.add = add
    module.untraced = fg.function(lambda x: module.mirrored.assign_add(x) * 1.0, input_signature=signature)
    path = str(tmp_path / "first")
    for given in (2.0, 3.0):
        mirrored, both, _ = module.add(given)
    assert (float(mirrored), float(both)) == (6.0, 8.0)
    fg.saved_model.save(module, path, signatures=module.untraced)
    loaded = fg.saved_model.load(path)
    mirrored, both, numbers = loaded.add(1.0)
    assert (float(mirrored), float(both)) == (7.0, 9.0)
    assert numbers.numpy().tolist() == module.generator.normal([2]).numpy().tolist()
    assert loaded.generator._state_var.numpy().tolist() == module.generator.state.values[1].numpy().tolist()
    assert float(loaded.untraced(1.0)) == float(loaded.mirrored) == 8.0
    name = next(iter(loaded.signatures["serving_default"].structured_input_signature[1]))
    assert float(next(iter(loaded.signatures["serving_default"](**{name: fg.constant(1.0)}).values()))) == 9.0
    with pytest.raises(ValueError, match="f_with_input_signature"):
        fg.saved_model.save(module, path, signatures=module.add.get_concrete_function())


def test_what_is_traced_while_saving_takes_the_first_copy(strategy: Any, tmp_path: Path) -> None:
    class Model(fg.Module):
        @property
        def served(self) -> Any:  # as Keras 2 makes what serves a model: when it is saved
            read = fg.function(lambda x: x + self.total + self.mean, input_signature=[fg.TensorSpec([])])
            return read.get_concrete_function()

    model, on_read = Model(), fg.VariableSynchronization.ON_READ
    with strategy.scope():
        model.total = fg.Variable(1.0, aggregation=fg.VariableAggregation.SUM, synchronization=on_read)
        model.mean = fg.Variable(4.0, aggregation=fg.VariableAggregation.MEAN, synchronization=on_read)
        fg.saved_model.save(model, str(tmp_path))
    served = fg.saved_model.load(str(tmp_path)).signatures["serving_default"]
    assert [float(each) for each in served(fg.constant(1.0)).values()] == [float(model.total) + 5.0]


def test_arrays_of_replicas_are_given_to_functions(strategy: Any) -> None:
    def each(context: Any) -> Any:
        n = context.replica_id_in_sync_group
        return {"array": np.full(2, n, np.float32), "number": np.float64(n)}

    given = strategy.experimental_distribute_values_from_function(each)
    step = fg.function(lambda x: strategy.run(lambda y: (y["array"] + 1, y["number"] * 2), (x,)))
    array, number_ = step(given)
    assert [each.numpy().tolist() for each in array.values] == [[1.0, 1.0], [2.0, 2.0]]
    assert [float(each) for each in number_.values] == [0.0, 2.0] and number_.values[0].dtype == fg.float64


def test_rows_of_batches_are_no_update_of_several_replicas(strategy: Any) -> None:
    with strategy.scope():
        v = fg.Variable([1.0, 2.0, 3.0], aggregation=fg.VariableAggregation.SUM)
    with pytest.raises(NotImplementedError):
        v.batch_scatter_update(fg.IndexedSlices(fg.constant([9.0]), fg.constant([0])))


def test_an_op_with_a_seed_draws_the_same_on_each_replica(strategy: Any) -> None:
    fg.random.set_seed(1)
    first, second = (strategy.run(lambda: fg.random.uniform([2], seed=1)) for _ in range(2))
    for drawn, expected in (first, [0.0555, 0.0187]), (second, [0.5773, 0.2964]):  # TensorFlow's
        for value in drawn.values:
            np.testing.assert_allclose(value, expected, atol=5e-5)


def test_copies_name_their_devices_as_earlier_optimizers_ask(strategy: Any) -> None:
    with strategy.scope():
        v = fg.Variable(1.0)
    assert [name[-5:] for name in v._devices] == ["CPU:0", "CPU:1"]


@pytest.mark.parametrize("name", [3, 3.5, [1], b"CPU:0"])
def test_what_names_no_device_is_an_error(name: Any) -> None:
    with pytest.raises(ValueError, match="Expecting a string device name"), fg.device(name):
        pass
