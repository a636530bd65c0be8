"""A Function in a second process: its kernels come from the store, nothing is compiled, the bits are the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fastgraph as fg

PROGRAM = """
import hashlib, sys
import numpy as np
import fastgraph as fg
from fastgraph.compiler.store import kernel_service

x = fg.constant(np.random.default_rng(0).normal(size=(64, 20)).astype("float32"))
y = fg.constant(np.random.default_rng(1).integers(0, 5, 64).astype("int32"))
w = fg.Variable(np.random.default_rng(2).normal(size=(20, 5)).astype("float32"))
optimizer = fg.keras.optimizers.Adam(0.01)

@fg.function
def step(x, y):
    with fg.GradientTape() as tape:
        logits = fg.tanh(x) @ w
        loss = fg.reduce_mean(fg.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss

concrete = step.get_concrete_function(x, y)
assert concrete.wait() and concrete.is_compiled
losses = [step(x, y).numpy() for _ in range(5)]
digest = hashlib.sha256(b"".join(loss.tobytes() for loss in losses) + w.numpy().tobytes()).hexdigest()
s = kernel_service.statistics()
print(s.loaded_from_store, s.compiled + s.compiled_in_place, s.failed, concrete.host_steps, "numba" in sys.modules, digest)
"""


def program(store: Path) -> list[str]:
    root = str(Path(fg.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": root, "FASTGRAPH_STORE": str(store), "FASTGRAPH_TIER": "last"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_a_second_process_loads_what_the_first_compiled(tmp_path: Path) -> None:
    loaded, compiled, failed, host_steps, numba, digest = program(tmp_path / "kernels")
    assert int(compiled) > 0 and (loaded, failed, host_steps, numba) == ("0", "0", "0", "False")
    assert program(tmp_path / "kernels") == [compiled, "0", "0", "0", "False", digest]
