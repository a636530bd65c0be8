"""A training loop in processes of MPI of which one fails: `fault_program.py KIND FOLDER [STEPS]`.

The first process prints the losses of its steps as "loss STEP VALUE"; the last one is the one that fails (while saving:
the first), after five steps. With the kind "none" nothing fails; each run goes on where one before has ended.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import numpy as np

import fastgraph as tf
from fastgraph.distribute.experimental import CommunicationOptions
from fastgraph.replication import collectives, multi_worker

FAILS_AT = 5


def die(*_: object, **__: object) -> Any:
    """End as a machine ends that loses its power."""
    os.kill(os.getpid(), signal.SIGKILL)


def swapped(other_way: bool) -> None:
    """Add up arrays of as many bytes, that all know, in one order or the other; then many more, and later one."""
    link = collectives.link(None)
    arrays = np.ones(6, np.float32), np.ones((2, 3), np.float32)
    for array in (*arrays, *(arrays[::-1] if other_way else arrays), *(arrays[:1] * 100)):
        link.all_reduce([array])
    time.sleep(1.0)
    link.all_reduce(arrays)


def fail(kind: str, strategy: Any) -> None:
    """Do what the kind says, or see to it that it happens in what follows."""
    if kind == "step":
        die()
    elif kind == "reduction":
        collectives.Link.end = die  # type: ignore[method-assign]
        collectives.link(None).journal.asked = True  # so that steps in C have Python do it
    elif kind == "saving":
        os.replace = die
    elif kind == "hang":
        time.sleep(60)
    elif kind == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif kind == "shape":
        strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("SUM", tf.ones([3, 5])))
    elif kind == "code":
        strategy.run(lambda: tf.distribute.get_replica_context().all_gather(tf.ones([4]), 0))
    elif kind == "order":
        swapped(True)
    elif kind == "error":
        raise KeyError("what happened")
    elif kind == "end":
        sys.exit(0)


def main(kind: str, folder: str, steps: int) -> None:
    """Train."""
    world = collectives.world()
    fails = world.rank == (0 if kind == "saving" else world.size - 1)
    if kind == "version" and fails:
        tf.__version__ = "0.0"
    limit = 1.0 if kind in ("hang", "stop") else 30.0  # seconds that a process may come late, on a busy machine
    options = CommunicationOptions(timeout_seconds=limit)
    strategy = multi_worker.MultiWorkerMirroredStrategy(communication_options=options)
    rank, size = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync
    os.write(1, f"pid {rank} {os.getpid()}\n".encode())  # at once: who prints unbuffered mixes several processes' words
    random = np.random.RandomState(0)
    x, y = random.randn(steps * 8, 6).astype("float32"), random.randn(steps * 8, 1).astype("float32")
    with strategy.scope():
        weights = [tf.Variable(random.randn(6, 4).astype("float32")), tf.Variable(random.randn(4, 1).astype("float32"))]
        optimizer = tf.keras.optimizers.Adam(0.05)
        at = tf.Variable(0, dtype="int64", trainable=False)
        total = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )
        optimizer.build(weights)
    checkpoint = tf.train.Checkpoint(weights=weights, optimizer=optimizer, at=at, total=total)
    own = folder if rank == 0 else os.path.join(folder, f"worker{rank}")  # as TensorFlow's guide has it
    manager = tf.train.CheckpointManager(checkpoint, own, max_to_keep=2)
    checkpoint.restore(tf.train.latest_checkpoint(folder))

    @tf.function
    def step(x: Any, y: Any) -> Any:
        def run(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((tf.tanh(x @ weights[0]) @ weights[1] - y) ** 2) / 8.0
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            total.assign_add(loss)
            return loss

        return strategy.reduce("SUM", strategy.run(run, (x, y)), axis=None)

    share = 8 // size
    for i in range(int(at), steps):
        if fails and i == FAILS_AT:
            fail(kind, strategy)
        elif kind == "order" and i == FAILS_AT:
            swapped(False)
        rows = slice(i * 8 + rank * share, i * 8 + (rank + 1) * share)
        loss = step(tf.constant(x[rows]), tf.constant(y[rows]))
        at.assign_add(1)
        if rank == 0:
            print(f"loss {i} {float(loss):.9g}", flush=True)
        manager.save()
    value = float(total)
    if rank == 0:
        print(f"total {value:.5g}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 8)
