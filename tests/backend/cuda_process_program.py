"""Steps of a MultiWorkerMirroredStrategy as programs of a GPU, or of the simulator of one: started by mpiexec."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

import fastgraph as tf
from fastgraph.compiler.cuda.device_program import DeviceProgram, DeviceSum, Transfer
from fastgraph.replication import collectives
from fastgraph.runtime.executable import compile_graph

X = np.random.default_rng(5).normal(size=(8, 6)).astype("float32")


def main() -> None:
    """Train the same model on the host and on the device; compare them."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rank, size = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync
    x = tf.constant(X[rank::size])
    found = []
    for device in (None, "by the host", "by itself"):
        with strategy.scope():
            w, optimizer = tf.Variable(np.ones((6, 3), "float32")), tf.keras.optimizers.SGD(0.1)
            optimizer.build([w])

        def replica(w: Any = w, optimizer: Any = optimizer) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(x @ w)) / len(X)
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            return loss

        staged = tf.function(lambda replica=replica: strategy.reduce("SUM", strategy.run(replica), axis=None))
        run: Any = staged
        if device:
            collectives.takes_memory_of = lambda _, device=device: device == "by itself"
            program = DeviceProgram(compile_graph(staged.get_concrete_function().graph.ir))
            names = [" ".join(node.op.name for node in getattr(step, "nodes", ())) for step in program.steps]
            by_host = [i for i, name in enumerate(names) if "communicate" in name]
            begun = [i for i, step in enumerate(program.steps) if isinstance(step, DeviceSum)]
            back = [i for i, step in enumerate(program.steps) if isinstance(step, Transfer) and not step.to_device]
            assert (by_host and min(back) < by_host[0]) if device == "by the host" else (begun and min(back) > begun[0])
            assert not (by_host and begun)
            held = [ref() if isinstance(ref, weakref.ref) else ref for ref, _ in program.program.graph.captures]
            run = lambda program=program, held=held: program(*held)[0]
        found.append(([float(run()) for _ in range(3)], w.numpy()))
    assert found[1][0][-1] < found[1][0][0]
    for each in found[1:]:
        for a, b in zip(found[0], each, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)
    print("alike", rank, *found[1][0])


if __name__ == "__main__":
    main()
