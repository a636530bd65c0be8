"""Steps of training in one of several processes.

    python -m benchmarks.distributed.steps LIBRARY MODEL STEPS [RANK PORT]

LIBRARY: fastgraph (started by mpiexec), tensorflow or torch (told who they are by RANK of two and PORT; alone
without). The first process prints {"step": seconds, "losses": [...]} as JSON. Each process works on its part of the
batch.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

BATCH = 128
VOCABULARY = 50_000


def data(model: str) -> tuple[Any, Any]:
    """Return a batch of inputs and labels."""
    random = np.random.RandomState(0)
    y = random.randint(0, 10, BATCH)
    if model == "embedding":
        return random.randint(0, VOCABULARY, (BATCH, 32)), y
    shape = (BATCH, 28, 28, 1) if model == "convnet" else (BATCH, 784)
    return random.standard_normal(shape).astype("float32"), y


def weights(model: str) -> list[np.ndarray]:
    """Return what training begins with."""
    random = np.random.RandomState(1)
    shapes = {
        "mlp": [(784, 1024), (1024,), (1024, 1024), (1024,), (1024, 10), (10,)],
        "convnet": [(3, 3, 1, 32), (32,), (3, 3, 32, 64), (64,), (3136, 128), (128,), (128, 10), (10,)],
        "embedding": [(VOCABULARY, 64), (64, 128), (128,), (128, 10), (10,)],
    }[model]
    return [random.standard_normal(shape).astype("float32") * 0.03 for shape in shapes]


# TensorFlow, and fastgraph, which takes the same program.


def forward(tf: Any, model: str, w: list[Any], x: Any) -> Any:
    """Return logits [rows, 10]."""
    if model == "embedding":
        x, w = tf.reduce_mean(tf.gather(w[0], x), 1), w[1:]
    if model == "convnet":
        for kernel, bias in (w[:2], w[2:4]):
            x = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME") + bias)
            x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        x, w = tf.reshape(x, [-1, 3136]), w[4:]
    for kernel, bias in zip(w[:-2:2], w[1:-2:2], strict=True):
        x = tf.nn.relu(x @ kernel + bias)
    return x @ w[-2] + w[-1]


def of_tensorflow(tf: Any, model: str, rank: int, size: int) -> Callable[[], Any]:
    """Return a step of TensorFlow's program."""
    if tf.__name__ == "tensorflow":
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy() if size > 1 else tf.distribute.get_strategy()
    if tf.__name__ == "fastgraph" and size > 1:
        rank = strategy.cluster_resolver.task_id
    share = BATCH // size
    x, y = (tf.constant(a[rank * share : (rank + 1) * share]) for a in data(model))
    with strategy.scope():
        w = [tf.Variable(value) for value in weights(model)]
        optimizer = tf.keras.optimizers.SGD(0.1)
        optimizer.build(w)

    def replica(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, forward(tf, model, w, x))
            loss = tf.reduce_sum(losses) / BATCH
        optimizer.apply_gradients(zip(tape.gradient(loss, w), w, strict=True))
        return loss

    @tf.function
    def step(x: Any, y: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(replica, (x, y)), axis=None)

    return lambda: float(step(x, y))


# PyTorch.


def of_torch(torch: Any, model: str, rank: int, size: int) -> Callable[[], Any]:
    """Return a step of PyTorch's program: DistributedDataParallel over Gloo; rows of tables are sparse gradients."""
    torch.set_num_threads(1)
    nn, functional = torch.nn, torch.nn.functional
    given = weights(model)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding.from_pretrained(
                torch.tensor(given[0]), freeze=False, sparse=True
            ) if model == "embedding" else None  # fmt: skip
            rest = given[1:] if model == "embedding" else given
            self.w = nn.ParameterList([nn.Parameter(torch.tensor(value)) for value in rest])

        def forward(self, x: Any) -> Any:
            w = list(self.w)
            if self.table is not None:
                x = self.table(x).mean(1)
            if model == "convnet":
                x = x.permute(0, 3, 1, 2)
                for kernel, bias in (w[:2], w[2:4]):
                    x = functional.relu(functional.conv2d(x, kernel.permute(3, 2, 0, 1), bias, padding="same"))
                    x = functional.max_pool2d(x, 2)
                x, w = x.permute(0, 2, 3, 1).reshape(-1, 3136), w[4:]
            for kernel, bias in zip(w[:-2:2], w[1:-2:2], strict=True):
                x = functional.relu(x @ kernel + bias)
            return x @ w[-2] + w[-1]

    net: Any = Model()
    if size > 1:
        torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
        net = nn.parallel.DistributedDataParallel(net)
    share = BATCH // size
    x, y = (torch.tensor(a[rank * share : (rank + 1) * share]) for a in data(model))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def step() -> float:
        optimizer.zero_grad()
        loss = functional.cross_entropy(net(x), y)  # DDP takes the mean over the processes
        loss.backward()
        optimizer.step()
        total = loss.detach().clone() / size
        if size > 1:
            torch.distributed.all_reduce(total)
        return float(total)

    return step


def main(library: str, model: str, steps: int, rank: int, port: int) -> None:
    """Measure, and print what was found."""
    size = 2 if port else 1
    if library == "fastgraph":
        from mpi4py import MPI  # the others have none

        rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    elif port and library == "tensorflow":
        workers = [f"127.0.0.1:{port + i}" for i in range(2)]
        task = {"type": "worker", "index": rank}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": task})
    elif port:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    module = importlib.import_module(library)
    step = (of_torch if library == "torch" else of_tensorflow)(module, model, rank, size)
    losses = [step() for _ in range(5)]
    warm = time.perf_counter() + (8.0 if library == "fastgraph" else 1.0)  # until its kernels are compiled
    while len(losses) < 40 or (size == 1 and time.perf_counter() < warm):
        losses.append(step())
        if library == "fastgraph" and len(losses) < 40:
            time.sleep(0.2)
    times = []
    for _ in range(steps):
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    if rank == 0:
        print(json.dumps({"step": sorted(times)[len(times) // 4], "losses": losses[:3]}), flush=True)
    if library == "torch" and size > 1:
        module.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *(int(each) for each in (sys.argv[4:6] or (0, 0))))
