"""At the limits: Functions in Functions a thousand deep, memory that ends in every tier, disks that are full."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(program: str, tmp_path: Path, **environment: str) -> str:
    """Run it in a process of its own with a store of its own; return what it says on both streams."""
    done = subprocess.run(
        [sys.executable, "-W", "always::RuntimeWarning", "-c", textwrap.dedent(program)],
        env={
            **os.environ, "PYTHONPATH": str(ROOT), "FASTGRAPH_STORE": str(tmp_path / "kernels"), "TMPDIR": str(tmp_path),
            "PYTHONDONTWRITEBYTECODE": "1",  # a file that a full disk cuts short would be everybody's
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.slow
def test_calls_in_calls_a_thousand_deep(tmp_path: Path, tier: str) -> None:
    """Each is traced when the one inside it has been: Python's stack sets no limit to what follows."""
    run(
        """
        import fastgraph as tf

        def around(inner):
            return tf.function(lambda x: inner(x) + 1.0, autograph=False)

        function = tf.function(lambda x: x * 2.0)
        for _ in range(1000):
            function = around(function)
            concrete = function.get_concrete_function(tf.TensorSpec([2]))
        assert function(tf.constant([1.0, 2.0])).numpy().tolist() == [1002.0, 1004.0]
        assert concrete(tf.constant([1.0, 2.0])).numpy().tolist() == [1002.0, 1004.0]
        """,
        tmp_path,
        FASTGRAPH_TIER=tier,
    )


@pytest.mark.slow
def test_tracing_too_deep_is_an_error_that_passes(tmp_path: Path) -> None:
    """Where one trace begins the next, Python's own stack is the limit; raising it is enough, for gradients as well."""
    run(
        """
        import sys
        import fastgraph as tf

        def around(inner):
            return tf.function(lambda x: inner(x) + 1.0, autograph=False)

        functions = [tf.function(lambda x: x * 2.0)]
        for _ in range(1000):
            functions.append(around(functions[-1]))
        x = tf.constant(1.0)
        try:
            functions[-1](x)
        except RecursionError:
            pass
        else:
            raise AssertionError("a thousand traces in each other")
        assert float(functions[3](x)) == 5
        sys.setrecursionlimit(1_000_000)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = functions[-1](x)
        assert float(y) == 1002 and float(tape.gradient(y, x)) == 2
        """,
        tmp_path,
        FASTGRAPH_TIER="first",
    )


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.slow
def test_memory_that_ends(tmp_path: Path, tier: str) -> None:
    """ResourceExhaustedError, eagerly and in Functions, for results, the arena and workspaces; all works afterwards."""
    run(
        """
        import resource
        import fastgraph as tf

        @tf.function
        def products(x):
            return tf.transpose(tf.exp(x)) @ x, tf.cumsum(tf.transpose(x))

        @tf.function
        def convolved(x, w):
            return tf.nn.conv2d(x, w, 1, "SAME")

        @tf.function
        def zeros(n):
            return tf.zeros([n, n]) + 1.0

        def wide(x):
            return tf.concat([tf.tanh(x)] * 16, 0)

        def gradient(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.sin(tf.exp(tf.tanh(x)))
            return tape.gradient(y, x)

        def small():
            x = tf.ones([16, 16])
            y, _ = products(x)
            z = convolved(tf.ones([1, 8, 8, 4]), tf.ones([3, 3, 4, 4]))
            return [float(tf.reduce_sum(v)) for v in (y, z, zeros(tf.constant(3)), wide(x), gradient(x))]

        staged = tf.function(wide)
        staged(tf.ones([16, 16]))
        before = small()
        x = tf.ones([2048, 2048])
        image, filters = tf.ones([1, 512, 512, 4]), tf.ones([3, 3, 4, 4])
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20), used + (24 << 20)))
        n = tf.constant(30_000)
        kept = []
        cases = {
            "results": lambda: [kept.append(x + 1.0) for _ in range(100)],
            "eager": lambda: wide(x),
            "zeros": lambda: tf.zeros([30_000, 30_000]),
            "random": lambda: tf.random.normal([30_000, 30_000]),
            "eager product": lambda: tf.ones([30_000, 2]) @ tf.ones([2, 30_000]),
            "function": lambda: staged(x),
            "products": lambda: products(x),
            "convolution": lambda: convolved(tf.concat([image] * 16, 0), filters),
            "sizes that are data": lambda: zeros(n),
            "tape": lambda: gradient(x),
        }
        for name, work in cases.items():
            try:
                work()
            except tf.errors.ResourceExhaustedError:
                pass
            else:
                raise AssertionError(name)
            kept.clear()
        assert small() == before
        """,
        tmp_path,
        FASTGRAPH_TIER=tier,
    )


@pytest.mark.parametrize("tier", ["first", "last"])
def test_more_bytes_than_can_be_counted(tmp_path: Path, tier: str) -> None:
    """Of few elements, or of zeros, which need no memory until they are written, 2**64 bytes can be asked for."""
    run(
        """
        import numpy as np
        import fastgraph as tf

        def both(work, inputs, dtype):
            return [lambda: work(*inputs(dtype)), lambda: tf.function(work)(*inputs(dtype))]

        def long(dtype):  # made outside of graphs, which would write the zeros
            return tf.zeros([2**30, 1], dtype), tf.zeros([1, 2**30], dtype)

        def thin(dtype):
            return tf.zeros([2**31, 0], dtype), tf.zeros([0, 2**31], dtype)

        cases = [
            *both(tf.add, long, tf.complex128),
            *both(lambda x, y: tf.where([[True]], x, y), long, tf.complex128),
            *both(tf.matmul, thin, tf.int32),
            *both(tf.matmul, thin, tf.float32),
            *both(tf.matmul, thin, tf.bfloat16),
            lambda: tf.reduce_max(tf.zeros([2**31, 0, 2**31]), 1),
            lambda: tf.nn.max_pool2d(tf.zeros([0, 2**40, 2**40, 1]), 2, 1, "SAME"),
            lambda: np.asarray(tf.zeros([0, 2**40, 2**40])),
        ]
        for i, work in enumerate(cases):
            try:
                work()
            except tf.errors.ResourceExhaustedError:
                pass
            else:
                raise AssertionError(i)
        """,
        tmp_path,
        FASTGRAPH_TIER=tier,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no file size limits")
@pytest.mark.parametrize("worker", ["0", "1"])
def test_a_disk_that_is_full(tmp_path: Path, worker: str) -> None:
    """Files may have a kilobyte: kernels are not kept, which is told once, and run."""
    told = run(
        """
        import resource, signal
        import fastgraph as tf

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
        for n in range(1, 4):
            function = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * x + float(n)), autograph=False)
            concrete = function.get_concrete_function(tf.constant([0.0, 0.0]))
            assert float(function(tf.constant([0.0, 0.0]))) == 2 * n
        """,
        tmp_path,
        FASTGRAPH_TIER="last",
        FASTGRAPH_WORKER=worker,
    )
    assert told.count("Warning:") <= 1, told
