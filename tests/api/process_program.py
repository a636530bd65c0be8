"""What processes of MPI bring together, looked at in each of them: `mpiexec -n 2 python process_program.py FOLDER`."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import numpy as np

import fastgraph as tf
from fastgraph.distribute.experimental import CommunicationOptions
from fastgraph.replication import collectives

folder = sys.argv[1]
packs = tf.distribute.MultiWorkerMirroredStrategy(communication_options=CommunicationOptions(bytes_per_pack=64))
small = tf.distribute.MultiWorkerMirroredStrategy(communication_options=CommunicationOptions(compression="bfloat16"))
strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank, n = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync


def own(rank: int) -> list[Any]:
    """Return values of all kinds, as a process has them."""
    random = np.random.RandomState(rank)
    found: list[Any] = [np.float32(random.standard_normal(shape)) for shape in ([], [0], [3], [40, 5], [7])]
    found += [random.randint(0, 9, [4]).astype(kind) for kind in ("int32", "int64", "float16", "float64", "complex64")]
    return [*found, tf.cast(random.randint(0, 9, [3]), tf.bfloat16).numpy()]


def everywhere(value: Any) -> None:
    """Check that a value has the same bits in all processes."""
    rows = strategy.gather(strategy.run(lambda: tf.convert_to_tensor(value)[None]), 0).numpy()
    assert all(row.tobytes() == rows[0].tobytes() for row in rows)


# Sums, eager and in graphs, in one pack and in many.
mine = own(rank)
wanted = [sum(parts[1:], parts[0]) for parts in zip(*map(own, range(n)), strict=True)]
for each in (strategy, packs):
    for run in (each.run, tf.function(each.run)):

        def summed(each: Any = each) -> Any:
            return tf.distribute.get_replica_context().all_reduce("SUM", [tf.constant(v) for v in mine])

        for value, right in zip(run(summed), wanted, strict=True):
            value = each.experimental_local_results(value)[0]
            assert value.dtype == right.dtype and value.shape == right.shape
            np.testing.assert_allclose(value.numpy().astype(complex), right.astype(complex), rtol=1e-6)
            everywhere(value)

# Threads of a process exchange one after the other; all begin the same.
found: list[float] = []
threads = [
    threading.Thread(
        target=lambda: found.append(float(strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)), None)))
    )
    for _ in range(4)
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert found == [n] * 4

# Many sums of one layout begun before any ends, and ended in another order.
link = collectives.link(None)
link.all_reduce([np.float32([0.0, 0.0])])
begun = [link.start([np.float32([rank, i])]) for i in range(12)]
for i in (11, *range(11)):
    assert link.end(begun[i])[0].tolist() == [n * (n - 1) / 2, n * i]

# Sums of every size, many under way, of what lies in pieces.
for size in (0, 1, 511, 513, 8191, 8193, (1 << 18) - 1, 1 << 18, (1 << 19) + 3):
    for layout in ([np.float32], [np.float32] * 3, [np.complex64] * 2):
        whole = [(np.arange(2 * (size + i)) % 7).astype(kind) for i, kind in enumerate(layout)]
        for _ in range(2):
            sums = [link.start([(array * (rank + 1 + i))[::2] for array in whole]) for i in range(3)]
            for i in (1, 0, 2):
                for array, total in zip(whole, link.end(sums[i]), strict=True):
                    factor = sum(other + 1 + i for other in range(n))
                    np.testing.assert_array_equal(total, (array * factor)[::2].astype(array.dtype))
                    everywhere(total if size < 9000 else total.reshape(-1)[:99])

# NaN and what has no sum: nothing is raised, and two processes have the same bits.
for size in (600, (1 << 18) + 3):
    for _ in range(2):
        with np.errstate(all="raise"):
            array = np.resize(np.float32([np.inf, np.nan, 3e38, 0.0]) * np.float32(-1) ** rank, size)
            (total,) = link.all_reduce([array])
        assert np.isnan(total[:2]).all()
        if n == 2:
            everywhere(total.reshape(-1)[:601])

# Gradients as bfloat16: optimizers' alone, unless a sum is told so.
gradients = [np.random.RandomState(i).randn(37).astype("float32") for i in range(n)]
exact = sum(gradients)
with small.scope():
    w = tf.Variable(tf.zeros([37]))
    optimizer = tf.keras.optimizers.SGD(1.0)
small.run(tf.function(lambda: optimizer.apply_gradients([(tf.constant(gradients[rank]), w)])))
total = -w.numpy()
assert 0.0 < np.abs(total - exact).max() < 0.02 * np.abs(exact).max()
everywhere(total)
for options, rounded in ((None, False), (CommunicationOptions(compression="bfloat16"), True)):

    def told(options: Any = options) -> Any:
        return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(gradients[rank]), options)

    found = small.run(told)
    assert (np.abs(small.experimental_local_results(found)[0].numpy() - exact).max() > 1e-4) == rounded
whole = tf.constant([1001, 257, 2049], tf.int16)  # other dtypes are sent as they are
packed = CommunicationOptions(compression="bfloat16")
assert (small.extended.reduce_to("SUM", whole, None, packed).numpy() == np.int16([1001, 257, 2049]) * n).all()

# Rows of a table are gathered, not made dense.
with strategy.scope():
    table = tf.Variable(tf.zeros([1000, 2]))


@tf.function
def lookup() -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(table, [rank, 7]) * (rank + 1.0))
    summed = tf.distribute.get_replica_context().all_reduce("SUM", tape.gradient(loss, table))
    assert isinstance(summed, tf.IndexedSlices)
    return summed.indices, tf.convert_to_tensor(summed)


indices, dense = (strategy.experimental_local_results(value)[0].numpy() for value in strategy.run(lookup))
assert len(indices) == 2 * n and dense[7, 0] == n * (n + 1) / 2 and dense[n - 1, 1] == n


# A process whose dataset is shorter takes part with no rows until all have ended.
def uneven(_: Any) -> Any:
    return tf.data.Dataset.range(4 * (rank + 1)).batch(4)


shared = strategy.distribute_datasets_from_function(uneven)
seen = [strategy.experimental_local_results(each)[0].numpy().tolist() for each in shared]
assert seen == [[4 * i + j for j in range(4)] if i <= rank else [] for i in range(n)], seen


@tf.function
def total_of(dataset: Any) -> Any:
    total, steps = tf.constant(0, tf.int64), 0
    for each in dataset:
        total += strategy.reduce("SUM", strategy.run(tf.reduce_sum, (each,)), axis=None)
        steps += 1
    return total, steps


total, steps = total_of(shared)
assert int(total) == sum(sum(range(4 * (i + 1))) for i in range(n)) and int(steps) == n

# Only the first process writes.
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
x = np.ones([8, 3], "float32")
callbacks = [
    tf.keras.callbacks.ModelCheckpoint(os.path.join(folder, f"of{rank}", "weights"), save_weights_only=True),
    tf.keras.callbacks.BackupAndRestore(os.path.join(folder, f"of{rank}", "backup"), delete_checkpoint=False),
    tf.keras.callbacks.TensorBoard(os.path.join(folder, f"of{rank}", "events")),
]
model.fit(x, x[:, :1], batch_size=4, epochs=2, verbose=0, callbacks=callbacks)
written = sorted(os.listdir(os.path.join(folder, f"of{rank}"))) if os.path.exists(f"{folder}/of{rank}") else []
assert (len(written) > 2) is (rank == 0), written
print("done", flush=True)
