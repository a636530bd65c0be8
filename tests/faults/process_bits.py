"""Are runs of as many processes equal to the bit, whatever MPI it is? `python -m tests.faults.process_bits [TIMES]`.

Trains a table and two wide layers on the same global batches in 1, 2 and 4 processes, each several times. Prints the
losses; its status is how many runs differ in a bit from the first of as many processes, or by more than rounding from
the one of one process.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import numpy as np

SIZES, BATCH, STEPS = (1, 2, 4), 16, 12


def main(compression: str | None) -> None:
    """Train in one of the processes; the first prints the losses, and a digest of what has been learned."""
    import fastgraph as tf
    from fastgraph.distribute.experimental import CommunicationOptions

    options = CommunicationOptions(compression=compression)
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    rank, size = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync
    random = np.random.RandomState(0)
    x, y = random.randint(0, 500, (STEPS, BATCH, 6)), random.randint(0, 10, (STEPS, BATCH))
    shapes = [(500, 64), (64, 1200), (1200,), (1200, 600), (600,), (600, 10), (10,)]
    with strategy.scope():
        w = [tf.Variable(random.standard_normal(shape).astype("float32") * 0.05) for shape in shapes]
        optimizer = tf.keras.optimizers.Adam(0.01)
        optimizer.build(w)

    def replica(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            h = tf.reduce_mean(tf.gather(w[0], x), 1)
            for kernel, bias in (w[1:3], w[3:5]):
                h = tf.nn.relu(h @ kernel + bias)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, h @ w[5] + w[6])
            loss = tf.reduce_sum(losses) / BATCH
        optimizer.apply_gradients(zip(tape.gradient(loss, w), w, strict=True))
        return loss

    @tf.function
    def step(x: Any, y: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(replica, (x, y)), axis=None)

    own = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
    losses = [float(step(tf.constant(x[i, own]), tf.constant(y[i, own]))) for i in range(STEPS)]
    digest = hashlib.sha256(b"".join(each.numpy().tobytes() for each in w)).hexdigest()[:16]
    same = strategy.gather(strategy.run(lambda: tf.constant([digest])), 0).numpy()
    if rank == 0:
        assert len(set(same)) == 1, same
        print(*(loss.hex() for loss in losses), digest, flush=True)


def differences(times: int) -> int:
    """Run the processes; return how many runs are not as they have to be."""
    from tests.api.test_processes import started

    wrong = 0
    for compression in ("", "bfloat16"):
        first = None
        for size in SIZES:
            runs = []
            for _ in range(times):
                found = started(["-m", "tests.faults.process_bits", "run", compression], size, FASTGRAPH_TIER="last")
                assert found.returncode == 0, found.stderr
                runs.append(found.stdout.split())
            losses = np.array([float.fromhex(text) for text in runs[0][:-1]])
            first = losses if first is None else first
            apart = np.abs(losses / first - 1.0).max()
            other = sum(run != runs[0] for run in runs)
            wrong += other + (apart > (0.05 if compression else 2e-5))
            print(
                f"{compression or 'float32'}, {size} processes: {times - other} of {times} runs equal to the bit, losses "
                f"{apart:.1e} from those of one, the last {losses[-1]:.9g}",
                flush=True,
            )
    return wrong


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        main(sys.argv[2] or None)
    else:
        sys.exit(differences(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
