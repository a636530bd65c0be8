"""The compiling process: it answers, is reused, goes when idle, and never outlives its program, however that ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elementwise_kernels import elementwise, run

from fastgraph.compiler.store import kernel_service, kernel_store, worker, worker_processes
from fastgraph.core.base import flags

HERE = Path(__file__).parent


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A desk of the test's own, with an empty store and worker processes."""
    fresh = kernel_service.KernelService()
    monkeypatch.setattr(kernel_service, "_desk", fresh)
    with flags.override(store=str(tmp_path / "kernels"), worker=True):
        yield fresh
    fresh.close()


def specs(n: int, comment: str = "") -> list[Any]:
    return [elementwise(f"a + float32({i})", ("float32",), "float32", comment) for i in range(n)]


def check(handles: list[kernel_service.Handle]) -> None:
    """All kernels come, and each is its own."""
    x = np.arange(4, dtype=np.float32)
    for i, handle in enumerate(handles):
        assert handle.wait(60), handle.error
        assert run(handle.address, [x], np.float32).tolist() == (x + i).tolist()


def gone(pid: int, seconds: float) -> bool:
    """Whether the process ends within some seconds (a zombie has ended)."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)


def children() -> set[int]:
    """The processes that this one started and that still run."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == os.getpid() and state not in "ZX":
            found.add(int(path.parent.name))
    return found


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.005)


def test_request_returns_at_once_and_the_kernels_come(desk: Any) -> None:
    kernel_service.request(specs(1, "warm the imports"))[0].wait(60)
    handles = kernel_service.request(specs(4))
    assert not any(handle.ready for handle in handles)
    check(handles)
    assert desk.statistics.compiled == 5 and desk.statistics.compiled_in_place == 0
    assert len(desk.workers) == 1


def test_it_goes_when_idle_and_another_comes_when_needed(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_service, "IDLE_SECONDS", 0.2)
    check(kernel_service.request(specs(1)))
    (process,) = [w.process for w in desk.workers]
    assert gone(process.pid, 10)
    until(lambda: not desk.workers and not desk.threads)
    assert process.returncode == 0
    check(kernel_service.request(specs(2, "again")))
    assert desk.statistics.compiled == 3


def test_a_clean_environment_and_private_pipes(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """NUMBA_* variables of the program do not reach the compiler."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    check(kernel_service.request(specs(1)))
    (process,) = [w.process for w in desk.workers]
    environment = Path(f"/proc/{process.pid}/environ").read_bytes()
    assert b"NUMBA_DISABLE_JIT" not in environment
    assert os.getpgid(process.pid) != os.getpgid(0)  # Ctrl-C does not reach it


def test_a_kernel_that_nobody_waits_for_any_more_is_not_compiled(desk: Any) -> None:
    handles = kernel_service.request(specs(30))
    keep = handles.pop()
    del handles
    assert keep.wait(60)
    assert desk.statistics.compiled < 30


def test_a_process_is_started_early_only_where_the_store_is_empty(desk: Any) -> None:
    kernel_service.expect()
    until(lambda: len(desk.workers) == 1)
    kernel_service.expect()
    check(kernel_service.request(specs(1)))
    assert len(desk.workers) == 1
    until(lambda: not kernel_store.store().is_empty())  # a kernel is there before it is written
    later = kernel_service.KernelService()
    later.expect()
    assert not later.threads and not later.workers


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked from a process that compiles")
def test_a_twin_helps_and_goes_with_the_rest(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It compiles, may be killed at no cost but time, and ends when its pipe does."""
    monkeypatch.setattr(worker_processes.cpu_count, "available", lambda: 2)
    handles = kernel_service.request(specs(40))
    until(lambda: len(desk.twins) == 1)
    (twin,), (first,) = desk.twins, desk.workers
    until(lambda: twin._started)

    def forked() -> list[int]:
        return [
            int(n) for n in Path(f"/proc/{first.process.pid}/task/{first.process.pid}/children").read_text().split()
        ]

    (pid,) = forked()
    os.kill(pid, signal.SIGKILL)
    check(handles)
    assert desk.statistics.compiled == 40 and desk.statistics.compiled_in_place == 0
    until(lambda: not desk.twins)
    assert gone(pid, 1) and not Path(f"/proc/{pid}").exists() and forked() == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked from a process that compiles")
def test_twins_end_with_their_desk(desk: Any) -> None:
    handles = kernel_service.request(specs(60))
    until(lambda: bool(desk.twins) and all(twin._started for twin in desk.twins))
    (first,) = desk.workers
    children = Path(f"/proc/{first.process.pid}/task/{first.process.pid}/children").read_text().split()
    assert children
    desk.close()
    assert all(gone(int(pid), 5) for pid in children) and len(handles) == 60


def test_killed_half_way(desk: Any) -> None:
    """One warning; what was left is compiled in this process; nothing hangs and nothing is left."""
    handles = kernel_service.request(specs(12))
    assert handles[0].wait(60)
    (process,) = [w.process for w in desk.workers]
    with pytest.warns(RuntimeWarning, match="killed by signal 9") as caught:
        os.kill(process.pid, signal.SIGKILL)
        check(handles)
        check(kernel_service.request(specs(2, "later")))
    assert len(caught) == 1
    assert desk.statistics.compiled_in_place > 0
    assert not desk.workers and gone(process.pid, 1)


@pytest.mark.parametrize(
    ("program", "match"),
    [
        ("import time; time.sleep(600)", "did not answer within"),
        ("import sys; sys.exit('no compiler here')", "ended with status 1: no compiler here"),
        ("import os; os.close({answers}); import time; time.sleep(600)", "was killed|ended with status"),
    ],
    ids=["hung", "ends", "mute"],
)
def test_useless(desk: Any, monkeypatch: pytest.MonkeyPatch, program: str, match: str) -> None:
    monkeypatch.setattr(
        worker,
        "command",
        lambda requests, answers, *rest: [sys.executable, "-c", program.replace("{answers}", str(answers))],
    )
    monkeypatch.setattr(worker_processes, "TIMEOUT_SECONDS", 1.0)
    before = children()
    with pytest.warns(RuntimeWarning, match=match) as caught:
        check(kernel_service.request(specs(2)))
    assert len(caught) == 1
    assert not desk.workers and desk.statistics.compiled_in_place == 2
    until(lambda: children() <= before)


@pytest.mark.parametrize("how", ["missing", "frozen", "no processes"])
def test_unstartable(desk: Any, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    if how == "missing":
        monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    elif how == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    else:

        def refuse(*args: object, **kwargs: object) -> None:
            raise BlockingIOError(11, "Resource temporarily unavailable")

        monkeypatch.setattr(subprocess, "Popen", refuse)
    pipes: dict[int, str] = {}
    real_pipe = os.pipe

    def pipe() -> tuple[int, int]:
        ends = real_pipe()
        pipes.update((end, os.readlink(f"/proc/self/fd/{end}")) for end in ends)
        return ends

    monkeypatch.setattr(os, "pipe", pipe)
    with pytest.warns(RuntimeWarning, match="cannot be started") as caught:
        check(kernel_service.request(specs(2)))
    assert len(caught) == 1
    still_open = set()
    for fd in pipes:
        with contextlib.suppress(FileNotFoundError):  # closed, perhaps just now
            still_open.add((fd, os.readlink(f"/proc/self/fd/{fd}")))
    assert not still_open & set(pipes.items())


def crashing_where(condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have compiling processes end themselves over kernels of which this holds."""
    real = worker.command

    def crashing(*arguments: Any) -> list[str]:
        command = real(*arguments)
        trap = (
            "from fastgraph.compiler.cpu import object_code as objectcode\n"
            "compile_kernel = objectcode.compile_kernel\n"
            "def trapped(spec, key, vectors=True):\n"
            f"    if {condition}: import os; os.abort()\n"
            "    return compile_kernel(spec, key, vectors)\n"
            "objectcode.compile_kernel = trapped\n"
        )
        return [*command[:-1], command[-1].replace("serve(", trap + "serve(")]

    monkeypatch.setattr(worker, "command", crashing)


def test_a_compiler_that_crashes_costs_its_kernel_only(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of LLVM must not be repeated in the program's own process."""
    crashing_where("'crash' in spec.source", monkeypatch)
    with pytest.warns(RuntimeWarning, match="died of signal 6"):
        bad, good = kernel_service.request([*specs(1, "crash"), *specs(1)])
        assert not bad.wait(60) and "died of signal 6" in str(bad.error)
        check([good])
    assert desk.statistics.compiled_in_place == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_vectors_make_the_compiler_crash_over_is_compiled_without(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashing_where("vectors", monkeypatch)
    check(kernel_service.request(specs(2)))
    assert desk.statistics.compiled_in_place == 0


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_warnings_as_errors_cost_no_kernel(
    desk: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    check(kernel_service.request(specs(2)))
    assert "cannot be started" in capfd.readouterr().err


def test_errors_come_back(desk: Any) -> None:
    (handle,) = kernel_service.request([elementwise("a +", ("float32",), "float32")])
    assert not handle.wait(60)
    assert "SyntaxError" in str(handle.error)


def test_many_threads_ask_for_the_same(desk: Any) -> None:
    found: list[list[kernel_service.Handle]] = []
    threads = [threading.Thread(target=lambda: found.append(kernel_service.request(specs(3)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for handles in found:
        check(handles)
    assert desk.statistics.compiled == 3


# ---- the end of a program ----

PROGRAM = """
import os, sys, time
from elementwise_kernels import elementwise
from fastgraph.compiler.store import kernel_service
handles = kernel_service.request([elementwise("a + float32(%d)" % i, ("float32",), "float32") for i in range(N)])
assert handles[0].wait(60)
(w,) = kernel_service._desk.workers
print(w.process.pid, flush=True)
"""


def program(tail: str, tmp_path: Path, n: int = 24) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    return subprocess.Popen(
        # From 3.12 on Python warns of any fork in a process with threads, as NumPy's import already makes them.
        [
            sys.executable,
            "-W",
            "ignore:This process:DeprecationWarning",
            "-c",
            PROGRAM.replace("range(N)", f"range({n})") + tail,
        ],
        env={**os.environ, "PYTHONPATH": path, "FASTGRAPH_STORE": str(tmp_path / "kernels")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("tail", "status"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("os._exit(4)", 4),
        ("os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("os.kill(os.getpid(), 15)", -signal.SIGTERM),
    ],
    ids=["end", "exit", "interrupt", "abrupt", "killed", "terminated"],
)
def test_no_process_is_left_behind(tmp_path: Path, tail: str, status: int) -> None:
    """While the worker still has most of its kernels to compile."""
    process = program(tail, tmp_path)
    out, error = process.communicate(timeout=60)
    assert process.returncode == status, error
    assert "Warning" not in error
    assert gone(int(out.split()[0]), 5)


def test_exit_while_a_thread_asks_for_kernels(tmp_path: Path) -> None:
    """The thread dies in the exit, wherever it is; what it had locked keeps nobody."""
    process = program(
        """
import threading
load = kernel_service._desk._load
kernel_service._desk._load = lambda *args, **kwargs: (time.sleep(0.3), load(*args, **kwargs))[1]
more = [elementwise("a - float32(%d)" % i, ("float32",), "float32") for i in range(40)]
threading.Thread(target=kernel_service.request, args=(more,), daemon=True).start()
time.sleep(0.1)
garbage = [handles]
garbage.append(garbage)
del garbage, handles
""",
        tmp_path,
        n=1,
    )
    try:
        out, error = process.communicate(timeout=15)
    finally:
        process.kill()
    assert (process.returncode, error) == (0, "")
    assert gone(int(out.split()[0]), 5)


def test_orphaned_while_a_forked_child_lives_on(tmp_path: Path) -> None:
    """The child has no worker and must not hold the worker's pipe open."""
    process = program("os.fork() == 0 and time.sleep(8)\nos._exit(0)", tmp_path)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    assert gone(pid, 5)
    process.kill()
    process.wait()


def test_fork_in_mid_compilation(tmp_path: Path) -> None:
    """Parent and child both get all their kernels; the child by a worker of its own."""
    process = program(
        "child = os.fork()\n"
        "if child == 0: assert not kernel_service._desk.workers\n"
        "assert all(h.wait(60) for h in handles), [h.error for h in handles]\n"
        "if child == 0: assert kernel_service._desk.workers.pop().process.pid != w.process.pid; os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n",
        tmp_path,
        n=6,
    )
    out, error = process.communicate(timeout=120)
    assert (process.returncode, error) == (0, "")
    assert gone(int(out.split()[0]), 5)


def test_in_place_by_choice_warns_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = kernel_service.KernelService()
    monkeypatch.setattr(kernel_service, "_desk", fresh)
    with flags.override(store=str(tmp_path / "kernels"), worker=False), warnings.catch_warnings():
        warnings.simplefilter("error")
        check(kernel_service.request(specs(2)))
    assert fresh.statistics.compiled_in_place == 2 and not fresh.workers
    fresh.close()


def test_a_kernel_needs_none_of_the_types_that_kernels_do_not_have() -> None:
    """Numba has its arrays, strings and lists imported for a class among the globals, or an index that is a constant."""
    source = (
        "def kernel(buffers, sizes, begin, end):\n"
        "    x = buffers[0]\n"
        "    first = x[0]\n"
        "    for i in range(begin, end):\n"
        "        if i > sizes[0] or i < sizes[1]:\n"
        "            x[i] = max(i, 3) * (first / x[i])\n"
        "    return 0\n"
    )
    program = (
        "import sys, types\n"
        "package = types.ModuleType('fastgraph')\n"
        f"package.__path__ = [{os.path.dirname(os.path.dirname(os.path.dirname(worker.__file__)))!r}]\n"
        "sys.modules.update(fastgraph=package, scipy=None)\n"
        "from fastgraph.compiler.cpu import object_code as objectcode\n"
        "from fastgraph.compiler.program.kernel_spec import KernelSpec\n"
        f"spec = KernelSpec({source!r}, ('float32',), 2, ('max_int64',))\n"
        "assert objectcode.compile_kernel(spec, 'key').code and not objectcode.refused\n"
        "print([name for name in sys.modules if name.startswith(('numba.np.arrayobj', 'numba.typed.typed', "
        "'numba.cpython.unicode', 'numba.cpython.listobj'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_process_imports_nothing_that_only_writes_kernels() -> None:
    """Each of these, and the exact coefficients of rare functions, would come before the first kernel."""
    program = (
        worker.command(-1, -1, sys.path)[-1].rpartition("serve(")[0]
        + "from fastgraph.compiler.cpu import object_code\nobject_code.prepare()\n"
        + "from fastgraph.core.base import gamma_expansion\n"
        + "print(*[m for m in sys.modules if m.startswith('fastgraph')], gamma_expansion.terms.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    *loaded, expansions = done.stdout.split()
    writers = ("fastgraph.compiler.nest", "fastgraph.core.base.expr", "fastgraph.compiler.cpu.op_renderer")
    assert [each for each in loaded if each.startswith(writers)] == []
    assert expansions == "0"
