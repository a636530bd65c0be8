"""GPUs by their names: listed as the driver or Numba's simulator says, and what is put on them computed there."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import fastgraph as fg
from fastgraph.core import devices, gpus

PROGRAM = """
import sys, warnings
import numpy as np
import fastgraph as tf

(gpu,) = tf.config.list_physical_devices("GPU")
assert gpu in tf.config.list_physical_devices() and not any("cuda" in name for name in sys.modules)
assert tf.config.experimental.get_device_details(gpu)["compute_capability"] == (5, 2)
assert not tf.test.is_gpu_available(min_cuda_compute_capability=(6, 0))
tf.config.experimental.set_memory_growth(gpu, True)
assert tf.config.experimental.get_memory_growth(gpu)
half = tf.config.LogicalDeviceConfiguration(memory_limit=64)
tf.config.set_logical_device_configuration(gpu, [half, half])
names = [each.name for each in tf.config.list_logical_devices("GPU")]
assert names == ["/device:GPU:0", "/device:GPU:1"] and tf.test.gpu_device_name() == names[0]
for refused in (lambda: tf.config.experimental.set_memory_growth(gpu, False), lambda: tf.config.set_visible_devices([], "GPU")):
    try:
        refused()
    except RuntimeError as error:
        assert "cannot be modified after being initialized" in str(error)
    else:
        raise AssertionError(refused)
v = tf.Variable(1.0)
f = tf.function(lambda x: tf.nn.softmax(x @ x) * v.assign_add(1.0))
x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
on_cpu = f(x).numpy()
with tf.device("/gpu:1"):
    y = f(x)
assert y.device.endswith("GPU:1") and (x + 1.0).device.endswith("CPU:0") and x.gpu().device.endswith("GPU:0")
np.testing.assert_allclose(y.numpy() / 3.0, on_cpu / 2.0, rtol=1e-5)
assert v.numpy() == 3.0
with tf.device("GPU:0"):
    g = tf.function(lambda x: tf.nn.softmax(x @ x))
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(g(x) ** 2)
    dx = tape.gradient(loss, x).numpy()
    assert "fastgraph.compiler.cuda.device_program" in sys.modules
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert tf.function(lambda x: tf.boolean_mask(x, x > 2.0))(x).numpy().tolist() == [3.0, 4.0]
    assert any("runs on the CPU, not on the GPU" in str(each.message) for each in said)
with tf.GradientTape() as tape:
    tape.watch(x)
    loss = tf.reduce_sum(tf.nn.softmax(x @ x) ** 2)
np.testing.assert_allclose(dx, tape.gradient(loss, x).numpy(), rtol=1e-4, atol=1e-5)
found = []
for parts in (None, ["CPU:0"]):
    strategy = tf.distribute.MirroredStrategy(parts)
    with strategy.scope():
        w, optimizer = tf.Variable(np.ones((2, 1), "float32")), tf.keras.optimizers.SGD(0.1)

    @tf.function
    def step(x):
        def replica(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(x @ w))
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            return loss

        return strategy.reduce("SUM", strategy.run(replica, (x,)), axis=None)

    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(np.eye(6, 2, dtype="f")).batch(4))
    found.append([[float(step(batch)) for batch in batches], w.numpy().tolist(), strategy.num_replicas_in_sync])
assert found[0][2] == 2 and found[1][2] == 1
np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)
"""


@pytest.mark.slow
def test_what_is_put_on_the_simulator_runs_there() -> None:
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "CUDA_VISIBLE_DEVICES": "0"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A driver of two GPUs, as far as it is asked."""

    def write(place: Any, number: int) -> int:
        place._obj.value = number
        return 0

    fake = SimpleNamespace(
        cuInit=lambda flags: 0,
        cuDeviceGetCount=lambda n: write(n, 2),
        cuDeviceGet=lambda device, index: write(device, index),
        cuDeviceGetName=lambda name, size, device: ctypes.memmove(name, f"Fake {device}".encode(), 6) and 0,
        cuDeviceGetAttribute=lambda n, part, device: write(n, 8 if part == 75 else 6),
    )
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.setattr(gpus, "_driver", lambda: fake)
    gpus.found.cache_clear()
    yield fake
    devices.forget()
    gpus.found.cache_clear()


def test_the_driver_s_gpus_are_listed(driver: Any) -> None:
    devices.forget()
    first, second = fg.config.list_physical_devices("GPU")
    assert second == fg.config.PhysicalDevice("/physical_device:GPU:1", "GPU")
    details = fg.config.experimental.get_device_details(second)
    assert details == {"device_name": "Fake 1", "compute_capability": (8, 6)}
    assert fg.test.is_gpu_available(False, (8, 0)) and not fg.test.is_gpu_available(False, (9, 0))
    fg.config.set_visible_devices(second, "GPU")
    assert fg.config.get_visible_devices("GPU") == [second]
    assert [each.name for each in fg.config.list_logical_devices()] == ["/device:CPU:0", "/device:GPU:0"]
    with pytest.raises(ValueError, match="memory limit is required"):
        fg.config.set_logical_device_configuration(first, [fg.config.LogicalDeviceConfiguration()])


def test_a_driver_without_gpus_has_none(driver: Any) -> None:
    driver.cuInit = lambda flags: 100
    assert fg.config.list_physical_devices("GPU") == [] == fg.config.list_logical_devices("GPU")
    assert not fg.test.is_gpu_available() and fg.test.gpu_device_name() == ""
