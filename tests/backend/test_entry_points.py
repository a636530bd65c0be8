"""What the extensions offer to Python refuses wrong arguments: no call ends the process, private ones included."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fastgraph as fg

MODULES = ["core.native.buffer", "core.primitive", "core.tensor", "_tape", "core.native.thread_pool", "core.native.matmul",
           "core.native.convolutions", "core.native.poolings", "core.native.philox", "core.cells",
           "runtime.executor"]  # fmt: skip
#: Calls every entry point of one extension with wrong arguments, each in a child of its own, and prints those that end it.
CALLS = """
import importlib, os, signal, sys

import fastgraph

fastgraph.constant(1.0) + 1
module = importlib.import_module("fastgraph." + sys.argv[1])
WRONG = [None, (), [], object(), 0, -1, "", {}]
NOT_CALLED = {"__class__", "__init_subclass__", "__subclasshook__", "__dir__", "__new__", "__getattribute__"}


def calls(function):
    for n in range(9):
        for wrong in WRONG:
            try:
                function(*[wrong] * n)
            except BaseException:
                pass


def methods(kind, name):
    made = [fastgraph.constant([1.0, 2.0])] if kind.__name__ == "EagerTensor" else []
    for way in (lambda: kind.__new__(kind), kind):
        try:
            made.append(way())
        except BaseException:
            pass
    for item in made:
        try:
            calls(getattr(item, name))
        except BaseException:
            pass
    calls(getattr(kind, name))


def entries():
    for name, value in sorted(vars(module).items()):
        if name.startswith("__") or getattr(value, "__module__", None) != module.__name__ or not callable(value):
            continue
        yield name, lambda: calls(value)
        for method in sorted(set(dir(value)) - NOT_CALLED) if isinstance(value, type) else ():
            if callable(getattr(value, method, None)):
                yield f"{name}.{method}", lambda: methods(value, method)


n = 0
for name, run in entries():
    n += 1
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os.close(0)
        try:
            run()
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        print(name, "ended by signal", os.WTERMSIG(status))
print(n, "entries", file=sys.stderr)
"""


@pytest.mark.parametrize("module", [*MODULES, "staging.fast_call"])
def test_wrong_arguments_are_refused(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLS, module], capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert int(done.stderr.split()[-2]) > 0


def test_init_scope_is_left_once() -> None:
    scope = fg.init_scope()
    with pytest.raises(RuntimeError, match="was not entered"):
        scope.__exit__(None, None, None)
    with scope:
        with pytest.raises(RuntimeError, match="entered already"):
            scope.__enter__()
        assert fg.executing_eagerly()
    with scope:
        pass
    assert not hasattr(scope, "__setstate__")
