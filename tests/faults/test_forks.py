"""Forks and threads at bad moments: the child works, and nobody hangs."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from fastgraph.core.base import expr
from fastgraph.staging.autograph import source_code

ROOT = Path(__file__).parents[2]

START = """
import importlib.abc, os, signal, sys, threading, time
import numpy as np
import fastgraph as tf

def fork(body):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        body()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

begun = threading.Event()
"""


def run(program: str, tmp_path: Path) -> None:
    """Run it in a process of its own, with a store of its own; it must say nothing."""
    file = tmp_path / "program.py"  # AutoGraph reads the source
    file.write_text(START + textwrap.dedent(program))
    done = subprocess.run(
        [sys.executable, "-W", "ignore:This process:DeprecationWarning", str(file)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "FASTGRAPH_STORE": str(tmp_path / "kernels")},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_fork_while_another_thread_traces(tmp_path: Path) -> None:
    """What that thread had locked is free in the child, which traces for itself."""
    run(
        """
        @tf.function
        def f(x):
            begun.set()
            time.sleep(1)
            return x * 2

        thread = threading.Thread(target=f, args=(tf.constant(1.0),))
        thread.start()
        begun.wait()

        def body():
            assert float(f(tf.constant(3.0))) == 6

        fork(body)
        thread.join()
        assert float(f(tf.constant(3.0))) == 6
        """,
        tmp_path,
    )


def test_fork_inside_a_trace(tmp_path: Path) -> None:
    """Parent and child both go on with it."""
    run(
        """
        children = []

        @tf.function
        def f(x):
            children.append(os.fork())
            return x * 2

        assert float(f(tf.constant(3.0))) == 6
        assert float(f(tf.constant([3.0]))[0]) == 6
        if all(children):
            for child in children:
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """,
        tmp_path,
    )


@pytest.mark.parametrize(
    "module", ["fastgraph.compiler.store.kernel_service", "fastgraph.compiler.cpu.loader", "malt.impl.api"]
)
def test_fork_while_another_thread_imports(tmp_path: Path, module: str) -> None:
    """The first call in a thread loads the compiler; a child forked meanwhile can load it as well."""
    run(
        f"""
        class Slow(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path, target=None):
                if name == {module!r} and not begun.is_set():
                    begun.set()
                    time.sleep(0.5)

        sys.meta_path.insert(0, Slow())
        """
        """
        def staged(x):
            if x > 0:
                x = x + 1
            return x

        f = tf.function(staged)
        thread = threading.Thread(target=f, args=(tf.constant(1.0),))
        thread.start()
        assert begun.wait(20)

        def body():
            g = tf.function(staged)
            assert [float(g(tf.constant(3.0))) for _ in range(3)] == [4, 4, 4]

        fork(body)
        thread.join()
        """,
        tmp_path,
    )


@pytest.mark.parametrize(("module", "name"), [("ops.python_operators", "sin"), ("keras.losses", "keras.losses")])
def test_fork_while_another_thread_looks_up_a_name(tmp_path: Path, module: str, name: str) -> None:
    """Names are imported when they are first asked for; a child forked meanwhile can ask for them as well."""
    run(
        f"""
        class Slow(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path, target=None):
                if name == "fastgraph.{module}" and not begun.is_set():
                    begun.set()
                    time.sleep(0.5)

        sys.meta_path.insert(0, Slow())
        thread = threading.Thread(target=lambda: tf.{name})
        thread.start()
        assert begun.wait(20)
        fork(lambda: tf.{name})
        thread.join()
        """,
        tmp_path,
    )


def test_fork_while_another_thread_reads_a_source(tmp_path: Path) -> None:
    run(
        """
        def staged(x):
            if x > 0:
                x = x + 1
            return x

        assert float(tf.function(staged)(tf.constant(1.0))) == 2
        from malt.pyct import inspect_utils

        def read():
            with inspect_utils._linecache_lock:
                begun.set()
                time.sleep(0.5)

        thread = threading.Thread(target=read)
        thread.start()
        assert begun.wait(20)

        def again(x):
            if x > 0:
                x = x + 2
            return x

        def body():
            assert float(tf.function(again)(tf.constant(3.0))) == 5

        fork(body)
        thread.join()
        """,
        tmp_path,
    )


def test_threads_that_parse_do_not_meet() -> None:
    """CPython 3.11 raises SystemError where garbage is collected, and threads switched, amid `ast.parse`."""

    class Loop:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            sum(range(50))

    errors: list[BaseException] = []
    end = threading.Event()

    def again(work: object) -> None:
        try:
            while not end.is_set():
                [Loop() for _ in range(20)]
                work()  # type: ignore[operator]
        except BaseException as error:
            errors.append(error)
            end.set()

    def staged(x: object) -> object:
        return ((x if x else -x) if x else [[[[x]]]]) if x else x  # type: ignore[operator]

    text = "x" + " + (x * x - 1)" * 40
    threads = [threading.Thread(target=again, args=(lambda: expr.parse.__wrapped__(text),)) for _ in range(2)]
    threads += [threading.Thread(target=again, args=(lambda: source_code.definition(staged),)) for _ in range(2)]
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(10)
    try:
        for thread in threads:
            thread.start()
        end.wait(1.0)
    finally:
        end.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
    assert not errors
