"""tf.distribute: replicas of a program on parts of the CPU."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core import devices
from fastgraph.core.base import flags
from fastgraph.profiling import recording as recordings
from tests.api import distributed_programs as programs

TWO = programs.TWO
NUMBERS = json.loads(Path(__file__).with_name("distributed_numbers.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def two_devices() -> Iterator[None]:
    """Two parts of the CPU, whatever was run before."""
    devices.divide([devices.LogicalDeviceConfiguration()] * 2)
    yield
    devices.divide(None)


@pytest.fixture
def strategy() -> Any:
    return fg.distribute.MirroredStrategy(TWO)


def replica() -> Any:
    return fg.distribute.get_replica_context()


def number() -> Any:
    return float(replica()._replica_id)


def values(variable: Any) -> list[Any]:
    return [copy.numpy().tolist() for copy in variable.values]


# ---- devices --------------------------------------------------------------------------------------------------------


def test_a_program_divides_the_cpu_before_it_is_used() -> None:
    program = """
import fastgraph as tf
cpu = tf.config.list_physical_devices("CPU")[0]
two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpu, two)
tf.config.set_logical_device_configuration(cpu, two)
assert [d.name for d in tf.config.list_logical_devices()] == ["/device:CPU:0", "/device:CPU:1"]
tf.config.set_logical_device_configuration(cpu, two)
try:
    tf.config.set_logical_device_configuration(cpu, two[:1])
except RuntimeError as error:
    print(error)
"""
    used = program.replace("cpu =", "tf.constant(1.0) + 1.0\ncpu =", 1)
    for text in (program, used):
        found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        assert "Virtual devices cannot be modified after being initialized" in found.stdout + found.stderr
        assert (found.returncode == 0) is (text is program), found.stderr


def test_tensors_and_variables_say_where_they_are() -> None:
    with fg.device("CPU:1"):
        x, v = fg.constant(1.0), fg.Variable(2.0)
        y = fg.identity(x)
        results = [x + 1.0, x[None], fg.reshape(x, [1]), fg.matmul([[1.0]], [[2.0]]), fg.concat([[1.0], [2.0]], 0), y]
        assert fg.function(lambda a: a * 2.0)(x).device.endswith("CPU:1")
    assert all(each.device.endswith("CPU:1") for each in [x, v, v.assign(3.0), *results])
    assert all(
        each.device.endswith("CPU:0") for each in [x + 1.0, v.read_value(), fg.identity(x), x.cpu(), fg.Variable(1.0)]
    )
    with fg.device("CPU:1"), fg.device("CPU:0"):
        assert fg.constant(1.0).device.endswith("CPU:0")
    with fg.device("CPU:2"):  # there is none: the first stands for it
        assert fg.constant(1.0).device.endswith("CPU:0")
    with fg.Graph().as_default(), fg.device("CPU:1"):
        assert fg.constant(1.0).device.endswith("CPU:1")


# ---- the guides -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["custom_loop", "worker_loop", "fit", "fit_normalised"])
def test_programs_of_the_guides_give_tensorflows_numbers(name: str) -> None:
    found = getattr(programs, name)(fg, TWO)
    np.testing.assert_allclose(found, NUMBERS[name], rtol=2e-5, atol=2e-6)


def test_values_of_replicas_are_tensorflows() -> None:
    found = json.loads(json.dumps(programs.parts(fg, TWO)))
    assert len(found) == len(NUMBERS["parts"])
    for i, (mine, theirs) in enumerate(zip(found, NUMBERS["parts"], strict=True)):
        assert mine == theirs or np.allclose(mine, theirs, 1e-6), i


@pytest.mark.parametrize("name", ["custom_loop", "fit_normalised"])
def test_one_replica_and_two_give_the_same(name: str) -> None:
    one, two = (getattr(programs, name)(fg, TWO[:n]) for n in (1, 2))
    np.testing.assert_allclose(one, two, rtol=2e-5, atol=2e-6)


# ---- replicas -------------------------------------------------------------------------------------------------------


def test_each_replica_runs_in_order_with_its_context_and_device(strategy: Any) -> None:
    order: list[Any] = []

    def step(x: Any) -> Any:
        order.append((number(), threading.get_ident() == main, fg.constant(1.0).device[-5:]))
        replica().merge_call(lambda s: order.append(s is strategy and fg.distribute.in_cross_replica_context()))
        order.append(number())
        return {"x": x + number(), "n": replica().num_replicas_in_sync, "none": None}

    main = threading.get_ident()
    found = strategy.run(step, (1.0,))
    assert order == [(0.0, False, "CPU:0"), (1.0, False, "CPU:1"), True, 0.0, 1.0]
    assert strategy.experimental_local_results(found["x"]) == (1.0, 2.0)
    assert found["n"] == 2 and found["none"] is None
    assert strategy.extended.worker_devices[1].endswith("CPU:1")
    assert replica().num_replicas_in_sync == 1 and not fg.distribute.has_strategy()


def test_a_function_is_traced_for_each_replica_and_takes_its_copies(strategy: Any) -> None:
    with strategy.scope():
        v = fg.Variable(0.0)
    traced = []

    @fg.function
    def step(x: Any) -> Any:
        traced.append(number())
        v.assign_add(x)
        return v + 0.0

    for i in (1, 2):
        given = strategy.run(lambda: fg.constant(number() + 1.0))
        found = strategy.run(step, (given,))
        assert [float(each) for each in found.values] == [1.0 * i, 2.0 * i]
    assert traced == [0.0, 1.0] and values(v) == [2.0, 4.0]
    assert float(step(fg.constant(5.0))) == 7.0 and values(v) == [7.0, 9.0]


def test_a_tape_around_the_replicas_sees_nothing_of_them(strategy: Any) -> None:
    with strategy.scope():
        v = fg.Variable([1.0, 2.0])

    def step() -> Any:
        with fg.GradientTape() as tape:
            total = strategy.reduce("SUM", strategy.run(lambda: v * (number() + 1.0)), axis=None)
        return tape.gradient(total, v)

    assert step() is None and fg.function(step)() is None  # what one replica's copy has of it would be a wrong number


def test_functions_called_on_replicas_meet_when_they_run(strategy: Any) -> None:
    with strategy.scope():
        v, optimizer = fg.Variable(1.0), fg.keras.optimizers.SGD(0.5)

    @fg.function
    def step(x: Any) -> Any:
        with fg.GradientTape() as tape:
            loss = v * x
        optimizer.apply_gradients(zip(tape.gradient(loss, [v]), [v], strict=True))
        return replica().all_reduce("MEAN", x)

    for i in (1, 2, 3):
        found = strategy.run(step, (strategy.run(lambda: fg.constant(number() + 1.0)),))
        assert [float(each) for each in found.values] == [1.5, 1.5] and values(v) == [1.0 - 1.5 * i] * 2
    with pytest.raises(fg.errors.OpError, match="division"):
        bad = fg.function(lambda: fg.numpy_function(lambda: 1.0 / number_of_run, [], fg.float64))
        number_of_run = 0
        strategy.run(lambda: bad() if number() else replica().all_reduce("SUM", 1.0))


def test_what_differs_between_replicas_goes_into_functions_and_out(strategy: Any) -> None:
    given = strategy.run(lambda: fg.ones([2]) * number())

    @fg.function
    def doubled(x: Any) -> Any:
        return x, strategy.run(lambda own: own * 2.0, (x,))

    for _ in range(2):
        same, twice = doubled(given)
        assert [v.numpy().tolist() for v in same.values] == [[0.0, 0.0], [1.0, 1.0]]
        assert [v.numpy().tolist() for v in twice.values] == [[0.0, 0.0], [2.0, 2.0]]
    assert doubled.experimental_get_tracing_count() == 1


def test_the_replicas_parts_of_a_graph_wait_for_nothing_of_each_other(strategy: Any) -> None:
    x = strategy.run(lambda: fg.ones([256, 256]) * number())
    step = fg.function(lambda x: strategy.run(lambda own: fg.matmul(fg.matmul(own, own), own), (x,)))
    with flags.override(tier="last"):
        step(x)
        plan = step.get_concrete_function(x).explain()
    products = [line for line in plan.splitlines() if "GemmCall matmul" in line]
    assert len(products) == 4 and sum(" after " in line for line in products) == 2, plan
    assert "on several threads" in plan


def test_replicas_have_the_kernels_of_one(strategy: Any) -> None:
    def run(own: Any) -> Any:
        return fg.reduce_sum(fg.matmul(fg.tanh(own * 1.25), own) + fg.exp(own - 0.75))

    def kernels(step: Any, x: Any) -> list[str]:
        step(x)
        return re.findall(r"kernel (\d+) over", step.get_concrete_function(x).explain())

    with flags.override(tier="last"):
        one = kernels(fg.function(run), fg.ones([64, 64]))
        x = strategy.run(lambda: fg.ones([64, 64]) * number())
        both = kernels(fg.function(lambda x: strategy.run(run, (x,))), x)
    assert len(both) == 2 * len(one) > 2 and {*both} == {*one}


def test_errors_end_all_replicas(strategy: Any) -> None:
    ended = []

    def step(bad: int) -> None:
        try:
            if number() == bad:
                raise KeyError("what happened")
            replica().all_reduce("SUM", fg.constant(1.0))
        finally:
            ended.append(number())

    for bad in (0, 1):
        for run in (strategy.run, lambda f, a: fg.function(lambda: strategy.run(f, a))()):
            ended.clear()
            with pytest.raises(KeyError, match="what happened"):
                run(step, (bad,))
            assert ended == ([0.0] if bad == 0 else [1.0, 0.0])
    with pytest.raises(RuntimeError, match="merge_call"):
        strategy.run(lambda: replica().all_reduce("SUM", 1.0) if number() else None)
    inner = fg.function(lambda: replica().merge_call(lambda s: None))
    with pytest.raises(RuntimeError, match="`merge_call` called while defining a new graph or a tf.function"):
        strategy.run(lambda: inner())
    with pytest.raises(RuntimeError, match="cross-replica context"):
        strategy.run(lambda: strategy.run(lambda: 1))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fastgraph-replica")]


def test_an_interrupt_ends_a_replica_that_goes_on_and_on(strategy: Any) -> None:
    ended = threading.Event()

    def step() -> None:
        try:
            replica().merge_call(lambda s: None)
            while True:
                time.sleep(0.001)
        finally:
            ended.set()

    main = threading.main_thread().ident
    assert main == threading.get_ident()
    timer = threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        strategy.run(step)
    assert ended.wait(5.0)
    timer.join()
    assert strategy.run(lambda: 1) == 1


def test_a_function_that_calls_itself_in_a_replica_does_not_wait_for_itself(strategy: Any) -> None:
    @fg.function
    def down(n: int) -> Any:
        if n == 0:
            return fg.constant(0.0)
        return strategy.reduce("SUM", strategy.run(lambda: inner(n)), axis=None)

    def inner(n: int) -> Any:
        return fg.constant(1.0) if n == 1 else fg.constant(2.0)

    assert float(down(1)) == 2.0 and float(down(2)) == 4.0


# ---- values and Variables -------------------------------------------------------------------------------------------


def test_reductions_say_what_they_cannot_do(strategy: Any) -> None:
    with pytest.raises(ValueError, match="A non-DistributedValues value 1.0 cannot be reduced"):
        strategy.reduce("SUM", 1.0, axis=None)
    assert strategy.reduce("mean", 2.0, axis=None) == 2.0 and strategy.reduce("SUM", 0.0, axis=None) == 0.0
    with pytest.raises(ValueError, match="MAX"):
        strategy.reduce("MAX", 1.0, axis=None)
    with pytest.raises(TypeError, match=r"Expected `reduce_op` to be a `tf.distribute.ReduceOp`, not: 1"):
        strategy.reduce(1, 1.0, axis=None)
    slices = strategy.run(
        lambda: replica().all_reduce("SUM", fg.IndexedSlices(fg.ones([1, 2]), fg.constant([int(number())]), [3, 2]))
    )
    assert fg.convert_to_tensor(slices).numpy().tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    with pytest.raises(RuntimeError, match="Mixing"), strategy.scope():
        fg.distribute.MirroredStrategy().run(lambda: 1)


def test_variables_are_written_as_their_aggregation_says(strategy: Any) -> None:
    kinds = fg.VariableAggregation
    with strategy.scope():
        mirrored = {kind: fg.Variable(1.0, aggregation=kind) for kind in kinds}
        read = {
            kind: fg.Variable(1.0, aggregation=kind, synchronization=fg.VariableSynchronization.ON_READ)
            for kind in kinds
        }
    for kind, expected in {kinds.SUM: 3.0, kinds.MEAN: 1.5, kinds.ONLY_FIRST_REPLICA: 1.0}.items():
        strategy.run(lambda v: v.assign(fg.constant(number() + 1.0)), (mirrored[kind],))
        assert values(mirrored[kind]) == [expected, expected]
        strategy.run(lambda v: v.assign(fg.constant(number() + 1.0)), (read[kind],))
        assert values(read[kind]) == [1.0, 2.0] and float(read[kind]) == expected
        read[kind].assign(8.0)
        assert float(read[kind]) == 8.0
        assert float(fg.function(lambda v: v + 0.0)(read[kind])) == 8.0
    with pytest.raises(ValueError, match="has no aggregation"):
        read[kinds.NONE].assign(2.0)
    assert values(read[kinds.NONE]) == [2.0, 2.0]  # as in TensorFlow: it is the result that has no value
    with pytest.raises(ValueError, match="does not support `assign_add` in cross-replica context"):
        read[kinds.SUM].assign_add(1.0)
    mirrored[kinds.NONE].assign_add(2.0)
    assert values(mirrored[kinds.NONE]) == [3.0, 3.0]
    table = mirrored[kinds.SUM]
    assert isinstance(table, fg.Variable) and fg.Variable(1.0).device[-5:] == "CPU:0"
    with strategy.scope():
        rows = fg.Variable(fg.zeros([3, 2]))
    rows.scatter_add(fg.IndexedSlices(fg.ones([1, 2]), fg.constant([1])))
    rows[2].assign([5.0, 5.0])
    assert values(rows)[0] == values(rows)[1] == [[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]]
    strategy.extended.update(rows, lambda v, x: v.assign(x), (fg.ones([3, 2]),))
    assert values(rows)[1] == [[1.0, 1.0]] * 3


def test_a_strategy_s_variable_is_not_assigned_in_another_s_scope(strategy: Any) -> None:
    with strategy.scope():
        v = fg.Variable(1.0)
    others = fg.distribute.OneDeviceStrategy("CPU:1"), fg.distribute.MirroredStrategy(TWO)
    for other in others:
        with pytest.raises(RuntimeError, match="Mixing different tf.distribute.Strategy"):
            other.run(lambda: v.assign_add(1.0))
        with other.scope(), pytest.raises(RuntimeError, match="Mixing different"):
            v.assign(2.0)
    with strategy.scope():
        v.assign(3.0)
    assert values(v) == [3.0, 3.0]


def test_an_input_function_may_give_a_function_of_elements(strategy: Any) -> None:
    counts = iter(range(9))
    iterator = strategy.make_input_fn_iterator(
        lambda context: lambda: float(next(counts)) * context.num_replicas_in_sync
    )
    iterator.initialize()
    assert [iterator.get_next().values for _ in range(2)] == [(0.0, 2.0), (4.0, 6.0)]
    batches = strategy.make_input_fn_iterator(lambda _: fg.data.Dataset.range(4).batch(2))
    assert [each.numpy().tolist() for each in batches.get_next().values] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("eager", [False, True])
def test_logs_of_a_step_of_one_s_own_are_added_up_and_metrics_are_not(strategy: Any, eager: bool) -> None:
    class Model(fg.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.seen = fg.keras.metrics.Mean(name="seen")

        def call(self, x: Any) -> Any:
            return x

        def train_step(self, data: Any) -> Any:
            self.seen.update_state(data)
            return {"own": fg.reduce_sum(data), "seen": self.seen.result()}

    with strategy.scope():
        model = Model()
        model.compile("sgd", "mse", run_eagerly=eager)
    history = model.fit(fg.data.Dataset.range(1, 5).map(lambda x: fg.cast(x, "float32")).batch(4), verbose=0).history
    assert history == {"own": [10.0], "seen": [2.5]}


def test_what_a_replica_makes_gets_a_checkpoint_s_values_on_all(strategy: Any, tmp_path: Path) -> None:
    def trained(v: Any, optimizer: Any) -> None:
        strategy.run(lambda: optimizer.apply_gradients([(v * (1.0 + number()), v)]))

    def model() -> Any:
        with strategy.scope():
            return fg.Variable([1.0, 2.0]), fg.keras.optimizers.Adam(0.1)

    first, second = model(), model()
    trained(*first)
    path = fg.train.Checkpoint(parts=list(first)).write(str(tmp_path / "adam"))
    fg.train.Checkpoint(parts=list(second)).read(path)
    for each in (first, second):
        trained(*each)
        for variable in each[1].variables:
            np.testing.assert_array_equal(*values(variable))
    for one, other in zip(first[1].variables, second[1].variables, strict=True):
        assert values(one) == values(other)
    assert values(first[0]) == values(second[0])


def test_checkpoints_keep_variables_as_one(strategy: Any, tmp_path: Path) -> None:
    with strategy.scope():
        v = fg.Variable([1.0, 2.0])
        total = fg.Variable(
            4.0, synchronization=fg.VariableSynchronization.ON_READ, aggregation=fg.VariableAggregation.SUM
        )
    strategy.run(lambda: total.assign_add(number()))
    path = fg.train.Checkpoint(v=v, total=total).save(str(tmp_path / "both"))
    assert np.asarray(fg.train.load_variable(path, "total/.ATTRIBUTES/VARIABLE_VALUE")) == 9.0
    v.assign([0.0, 0.0])
    total.assign(0.0)
    fg.train.Checkpoint(v=v, total=total).restore(path)
    assert values(v) == [[1.0, 2.0]] * 2 and float(total) == 9.0
    plain = fg.Variable([0.0, 0.0])
    fg.train.Checkpoint(v=plain).restore(path).expect_partial()
    assert plain.numpy().tolist() == [1.0, 2.0]


def test_gradients_are_of_each_replicas_copies(strategy: Any) -> None:
    with strategy.scope():
        v = fg.Variable([1.0, 2.0])

    def step() -> Any:
        with fg.GradientTape() as tape:
            loss = fg.reduce_sum(v**2) * (1.0 + number())
        (gradient,) = tape.gradient(loss, [v])
        return gradient

    for run in (strategy.run, lambda f: fg.function(lambda: strategy.run(f))()):
        assert [g.numpy().tolist() for g in run(step).values] == [[2.0, 4.0], [4.0, 8.0]]


def test_optimizers_refuse_variables_that_replicas_share(strategy: Any) -> None:
    optimizer, v = fg.keras.optimizers.SGD(0.1), fg.Variable(1.0)
    with pytest.raises(ValueError, match="must only be passed a variable created in this"):
        strategy.run(lambda: optimizer.apply_gradients([(fg.constant(1.0), v)]))
    assert float(v) == 1.0
    with strategy.scope(), pytest.raises(ValueError, match="Reduction.SUM"):
        fg.keras.losses.MeanSquaredError()([1.0], [2.0])


def test_sparse_gradients_of_replicas_are_joined(strategy: Any) -> None:
    with strategy.scope():
        table, optimizer = fg.Variable(fg.zeros([4, 1])), fg.keras.optimizers.Adam(0.5)

    def step() -> None:
        with fg.GradientTape() as tape:
            loss = fg.reduce_sum(fg.gather(table, [int(number()), 2]))
        optimizer.apply_gradients(zip(tape.gradient(loss, [table]), [table], strict=True))

    strategy.run(step)
    assert values(table)[0] == values(table)[1]
    np.testing.assert_allclose(np.ravel(values(table)[0]), [-0.5, -0.5, -0.5, 0.0], atol=1e-5)
    assert int(optimizer.iterations) == 1 and values(optimizer.iterations) == [1, 1]


# ---- input ----------------------------------------------------------------------------------------------------------


def test_input_is_shared_out_in_graphs_too(strategy: Any) -> None:
    dataset = strategy.experimental_distribute_dataset(fg.data.Dataset.range(7).batch(4))
    assert dataset.element_spec._component_specs[0].shape.as_list() == [None]

    @fg.function
    def total(dataset: Any) -> Any:
        found = fg.constant(0, fg.int64)
        for batch in dataset:
            found += strategy.reduce("SUM", strategy.run(fg.reduce_sum, (batch,)), axis=None)
        return found

    @fg.function
    def first(iterator: Any) -> Any:
        return strategy.experimental_local_results(next(iterator))

    @fg.function
    def ended(iterator: Any) -> Any:
        return iterator.get_next_as_optional().has_value()

    assert int(total(dataset)) == 21
    iterator = iter(dataset)
    assert [v.numpy().tolist() for v in first(iterator)] == [[0, 1], [2, 3]]
    assert [v.numpy().tolist() for v in first(iterator)] == [[4, 5], [6]]
    assert first.experimental_get_tracing_count() == 1
    assert not bool(ended(iterator))
    with pytest.raises(fg.errors.OutOfRangeError):
        iterator.get_next()


# ---- the timeline ---------------------------------------------------------------------------------------------------


def test_a_timeline_says_on_which_device_a_graph_s_parts_were_put() -> None:
    @fg.function
    def both(x: Any) -> Any:
        with fg.device("CPU:1"):
            y = fg.tanh(x @ x)
        return y @ x

    x = fg.ones([48, 48])
    with flags.override(tier="last"):
        both(x)
        with recordings.record() as recording:
            both(x)
    found = [event.get("args", {}).get("device", "") for event in recording.timeline()["traceEvents"]]
    assert any(device.endswith("CPU:1") for device in found) and "" in found, found


# ---- what is not there ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["TPUStrategy", "ParameterServerStrategy", "coordinator"],
)
def test_what_is_not_built_says_what_to_use(name: str) -> None:
    with pytest.raises(fg.errors.NotBuiltError, match="MirroredStrategy"):
        found = fg.distribute
        for part in name.split("."):
            found = getattr(found, part)
        found()  # type: ignore[operator]


# ---- what Keras's own tests ask ---------------------------------------------------------------------------------------


def test_a_tensor_that_all_replicas_share_counts_once(strategy: Any) -> None:
    shared = fg.constant([1.0, 2.0])
    slices = fg.IndexedSlices(fg.ones([1, 2]), fg.constant([0]), [3, 2])

    def step(op: str) -> Any:
        own = [fg.constant([1.0, 2.0]), shared, slices]
        return [replica().all_reduce(op, each) for each in own] + [replica().all_reduce(op, [own[0], shared])]

    runs = [lambda op: strategy.run(step, (op,))]
    for run in (*runs, fg.function(*runs)):
        total, once, rows, both = run("SUM")
        assert values(total) == [[2.0, 4.0]] * 2 and values(once) == [[1.0, 2.0]] * 2
        assert fg.convert_to_tensor(rows).numpy().tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
        assert [values(each) for each in both] == [values(total), values(once)]
        assert values(run("MEAN")[1]) == [[1.0, 2.0]] * 2


def test_update_on_a_replica_is_a_meeting(strategy: Any) -> None:
    with strategy.scope():
        v = fg.Variable(1.0)

    def step() -> Any:
        delta = number() + 1.0
        return strategy.extended.update(v, lambda copy, d: copy.assign_add(d), args=(fg.constant(delta),))

    assert [float(each) for each in strategy.run(step).values] == [2.0, 3.0] == values(v)
    fg.function(lambda: strategy.run(step))()
    assert values(v) == [3.0, 5.0]


def test_synchronization_of_copies(strategy: Any) -> None:
    how = fg.VariableSynchronization
    with strategy.scope():
        made = {each: fg.Variable(1.0, synchronization=each) for each in (how.AUTO, how.ON_WRITE, how.ON_READ)}
        with pytest.raises(ValueError, match="`NONE` variable synchronization mode is not supported"):
            fg.Variable(1.0, synchronization=how.NONE)
    assert [v.synchronization for v in made.values()] == [how.ON_WRITE, how.ON_WRITE, how.ON_READ]
    assert [v.values[1].synchronization for v in made.values()] == [how.ON_WRITE, how.ON_WRITE, how.ON_READ]
    assert [type(v).__name__ for v in made.values()] == ["MirroredVariable"] * 2 + ["SyncOnReadVariable"]
    assert all(isinstance(v, fg.distribute.DistributedValues) for v in made.values())
    assert strategy.run(lambda v: v is made[how.AUTO], (made[how.AUTO],)) is True  # no copy: it is the whole


def test_a_library_divides_the_cpu_anew() -> None:
    program = """
import tensorflow as tf
from tensorflow.python.eager import context
cpu = tf.config.list_physical_devices("CPU")[0]
tf.ones([2]) + tf.config.list_logical_devices("CPU").__len__()
for n in (3, 2):
    parts = [tf.config.LogicalDeviceConfiguration()] * n
    try:
        tf.config.set_logical_device_configuration(cpu, parts)
    except RuntimeError:
        print("refused", end=" ")
    context._reset_context()
    tf.config.set_logical_device_configuration(cpu, parts)
    print(len(tf.config.list_logical_devices("CPU")), end=" ")
"""
    command = [sys.executable, "-m", "fastgraph", "run", "-c", program]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.stdout == "refused 3 refused 2 ", found.stderr


def test_values_for_replicas_keep_their_structure(strategy: Any) -> None:
    said: list[str] = []

    def value(context: Any) -> Any:
        said.append(str(context))
        return {"a": context.replica_id_in_sync_group, "b": [context.num_replicas_in_sync]}

    found = strategy.experimental_distribute_values_from_function(value)
    assert found["a"].values == (0, 1) and found["b"][0].values == (2, 2)
    assert said[1] == "tf.distribute.ValueContext(replica id 1,  total replicas in sync: 2)"
    assert str(fg.distribute.InputContext(2, 1, 4)) == "tf.distribute.InputContext(input pipeline id 1, total: 2)"


def test_what_is_no_dataset_is_not_shared_out(strategy: Any) -> None:
    with pytest.raises(AttributeError, match="'list' object has no attribute '_variant_tensor'.* wants a"):
        strategy.experimental_distribute_dataset([1, 2, 3])
    nothing = strategy.experimental_distribute_values_from_function(lambda context: None)
    assert strategy.experimental_local_results(nothing) == nothing.values == (None, None)


def test_replicas_of_a_graph_do_not_meet_in_its_branches(strategy: Any) -> None:
    def step() -> Any:
        total = lambda: replica().all_reduce("SUM", fg.constant(1.0))
        return fg.cond(fg.constant(True), total, lambda: 0.0)

    with pytest.raises(RuntimeError, match="`merge_call` called while defining a new graph"):
        fg.function(lambda: strategy.run(step))()


def test_the_mean_along_an_axis_takes_scalars_as_elements(strategy: Any) -> None:
    given = strategy.run(lambda: fg.constant(number() + 1.0))
    assert float(strategy.reduce("MEAN", given, axis=0)) == 1.5
    assert float(strategy.reduce("SUM", given, axis=0)) == 3.0


class Adder(fg.Module):
    """A method that is a Function, in which replicas assign to a Variable together."""

    def __init__(self) -> None:
        self.total = fg.Variable(0.0, aggregation=fg.VariableAggregation.SUM)

    @fg.function
    def add(self, x: Any, times: float = 1.0) -> Any:
        self.total.assign_add(x * times)
        if times > 1.0:
            return replica().merge_call(lambda s, each: s.reduce("SUM", each, axis=None), (x,))
        return x


def test_replicas_meet_in_a_function_that_run_calls(strategy: Any) -> None:
    with strategy.scope():
        adder = Adder()
    given = strategy.experimental_distribute_values_from_function(
        lambda context: fg.constant(0.25 + context.replica_id_in_sync_group)
    )
    for run in (strategy.run, fg.function(lambda f, a, kw=None: strategy.run(f, a, kw))):
        adder.total.assign(0.0)
        assert [float(each) for each in run(adder.add, (given,)).values] == [0.25, 1.25]
        assert float(run(adder.add, (given,), {"times": 2.0})) == 1.5
        assert float(adder.total) == 4.5
    assert strategy._lifted[adder.add.function].experimental_get_tracing_count() == 2


def test_numbers_of_replicas_enter_functions_as_tensors(strategy: Any) -> None:
    given = strategy.experimental_distribute_values_from_function(
        lambda context: {"x": float(context.replica_id_in_sync_group), "s": "s", "n": None}
    )
    for step in (fg.function(lambda p: (p["x"] + 1.0, p["s"] + "!", p["n"])), lambda p: (p["x"] + 1.0, "s!", p["n"])):
        for run in (strategy.run, fg.function(lambda f, a: strategy.run(f, a))):
            x, s, n = run(step, (given,))
            assert [float(each) for each in x.values] == [1.0, 2.0] and n is None
            assert fg.get_static_value(strategy.experimental_local_results(s)[0]) in (b"s!", "s!")


def test_variables_of_another_strategy_are_not_written(strategy: Any) -> None:
    other = fg.distribute.MirroredStrategy([TWO[1]])
    with other.scope():
        v = fg.Variable(1.0)
    mixed = fg.distribute.MirroredStrategy(TWO)
    with mixed.scope():
        w = fg.Variable(1.0)
    with pytest.raises(RuntimeError, match="Mixing different tf.distribute.Strategy objects"):
        strategy.run(lambda: w.assign_add(1.0))
    assert other.run(lambda: v.assign_add(1.0)).numpy() == 2.0 and w.numpy() == 1.0


def test_the_same_device_twice_is_refused_by_its_full_name() -> None:
    with pytest.raises(AssertionError, match=r"No duplicates allowed in `devices` argument: \('/job:localhost"):
        fg.distribute.MirroredStrategy(["CPU:0", "/cpu:0"])


class Saved(fg.Module):
    """A model whose steps are counted on each replica, and that can be trained after it was loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.w = fg.Variable([[1.0], [2.0]])
        self.n = fg.Variable(
            0.0, trainable=False, aggregation=fg.VariableAggregation.MEAN,
            synchronization=fg.VariableSynchronization.ON_READ,
        )  # fmt: skip
        self.grows = fg.Variable([1.0], shape=[None], trainable=False)

    @fg.function(input_signature=[fg.TensorSpec([None, 2])])
    def __call__(self, x: Any) -> Any:
        self.n.assign_add(fg.reduce_sum(x))
        return x @ self.w


def test_what_is_loaded_in_a_scope_has_copies(strategy: Any, tmp_path: Path) -> None:
    module = Saved()
    module.n.assign(4.0)
    module.grows.assign([1.0, 2.0])
    fg.saved_model.save(module, str(tmp_path))
    with strategy.scope():
        loaded = fg.saved_model.load(str(tmp_path))
        optimizer = fg.keras.optimizers.SGD(0.1)
    assert [copy.numpy() for copy in loaded.n.values] == [4.0, 4.0] and loaded.grows.numpy().tolist() == [1.0, 2.0]

    def replica(x: Any) -> Any:
        with fg.GradientTape() as tape:
            loss = fg.reduce_sum(loaded(x))
        optimizer.apply_gradients([(tape.gradient(loss, loaded.w), loaded.w)])
        return loss

    given = strategy.experimental_distribute_values_from_function(
        lambda context: fg.fill([1, 2], 1.0 + context.replica_id_in_sync_group)
    )
    for run in (strategy.run, fg.function(strategy.run)):
        run(replica, args=(given,))
    assert [copy.numpy() for copy in loaded.n.values] == [8.0, 12.0] and loaded.n.numpy() == 10.0
    for copy in loaded.w.values:
        np.testing.assert_allclose(copy.numpy(), [[0.4], [1.4]], rtol=1e-5)


def test_a_wrapper_of_a_mirrored_variable_is_each_replica_s_copy(strategy: Any) -> None:
    class Wrapper(fg.Variable):
        def __init__(self, variable: Any) -> None:
            self._variable = variable

        def __getattr__(self, name: str) -> Any:
            return getattr(self._variable, name)

    with strategy.scope():
        v = fg.Variable(1.0)
    for kind in ((Wrapper,), (Wrapper, type(v))):
        wrapped = type("Both", kind, {})(v)
        assert len(wrapped._copies) == 2, kind
        assert strategy.run(lambda wrapped=wrapped: wrapped.__fg_cell__ is wrapped._here.__fg_cell__)


def test_sums_over_one_replica_are_tensors() -> None:
    one = fg.distribute.get_replica_context()
    found = one.all_reduce("SUM", {"a": 1.0, "b": [fg.constant([2])]})
    assert fg.is_tensor(found["a"]) and float(found["a"].numpy()) == 1.0 and found["b"][0].numpy().tolist() == [2]


@pytest.mark.parametrize("staged", [False, True])
def test_of_replicas_the_first_alone_writes_summaries(strategy: Any, staged: bool, tmp_path: Path) -> None:
    def run(x: Any) -> Any:
        return fg.summary.write("of_a_replica", x, step=1), fg.summary.should_record_summaries()

    def step(x: Any) -> Any:
        return strategy.run(run, (x,))

    with fg.summary.create_file_writer(str(tmp_path)).as_default():
        written, recorded = (fg.function(step) if staged else step)(fg.constant(2.0))
        fg.summary.write("between", 1.0, step=1)
    first, second = (bool(x) for x in strategy.experimental_local_results(written))
    assert first and not second
    assert [bool(x) for x in strategy.experimental_local_results(recorded)] == [True, False]
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert content.count(b"of_a_replica") == 1 and content.count(b"between") == 1
