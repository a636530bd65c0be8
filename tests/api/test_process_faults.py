"""A process of MPI fails: the others end with an error that names it and says why, and the next run goes on."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from fastgraph.replication import beginning_watch
from tests.api.test_processes import MPIEXEC, needs_mpi, started
from tests.hung import descendants

PROGRAM = Path(__file__).with_name("fault_program.py")

#: What the processes that are left say, by the kind of fault.
SAYS = {
    **dict.fromkeys(("step", "reduction"), r"UnavailableError[^\0]*Process 1 of 2 \(pid \d+ on .*\) has ended without"),
    "saving": r"UnavailableError[^\0]*Process 0 of 2 \(pid \d+ on .*\) has ended without",
    "hang": r"DeadlineExceededError[^\0]*Process 1 of 2 .* has not come to exchange number \d+, the sum of float32",
    "stop": r"DeadlineExceededError[^\0]*Process 1 of 2 .* has not come to exchange number \d+, the sum of float32",
    "shape": r"InvalidArgumentError[^\0]*Process 1 of 2 .* has begun the sum of float32\[3, 5\] where process 0 has begun",
    "code": r"InvalidArgumentError[^\0]*Process 1 of 2 .* has begun the joining of float32\[\?\] where process 0",
    "order": r"InvalidArgumentError[^\0]*Process 1 of 2 .* has begun .* where process 0 has begun .* \((an )?exchange ",
    "error": r"UnavailableError[^\0]*Process 1 of 2 .* failed: KeyError: 'what happened'",
    "end": r"FailedPreconditionError[^\0]*Process 1 of 2 .* has ended after \d+ exchanges; process 0 waits for it",
    "version": r"FailedPreconditionError: Process 1 of 2 .* has 0\.0 as fastgraph, process 0 has",
}
KILLED = ("step", "reduction", "saving")
SECONDS = 15.0  # until all have ended; most of it is the start of two Pythons

#: mpiexec ends all where one is killed. Behind a shell that stays it does not see it: then they have to see it themselves.
STAYING = ["sh", "-c", '"$@" || { code=$?; sleep 60; exit $code; }', "-"]


class Running:
    """A clock that counts while this process runs: on a machine where all of it was stopped that time is nobody's."""

    def __init__(self) -> None:
        self._seconds, self._last = 0.0, time.monotonic()
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            time.sleep(0.1)
            now = time.monotonic()
            self._seconds, self._last = self._seconds + min(now - self._last, 0.5), now

    def now(self) -> float:
        """Return the seconds since the beginning in which this process ran."""
        return self._seconds


RUNNING = Running()
LATE = 60.0  # then a process that is still there has to say where it stands


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Wait for its end; from what is late, Pythons' lines are among what it returns, by its environment's handlers."""
    began = RUNNING.now()
    while True:
        try:
            out, err = process.communicate(timeout=1.0)
        except subprocess.TimeoutExpired:
            late = descendants(process.pid) if RUNNING.now() - began > LATE else set()
            for pid in late:
                with contextlib.suppress(ProcessLookupError, FileNotFoundError):  # it may end meanwhile
                    if os.path.samefile(f"/proc/{pid}/exe", sys.executable):
                        os.kill(pid, signal.SIGABRT)
            began = RUNNING.now() if late else began
        else:
            return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def command(kind: str, folder: Path, size: int = 2, before: Sequence[str] = ()) -> list[str]:
    """Return the command that runs the program."""
    return [str(MPIEXEC), "-n", str(size), *before, sys.executable, str(PROGRAM), kind, str(folder)]


def environment() -> dict[str, str]:
    """Return the variables of the program."""
    path = os.pathsep.join(filter(None, [str(PROGRAM.parents[2]), os.environ.get("PYTHONPATH", "")]))
    return {"FASTGRAPH_TIER": "first", **os.environ, "PYTHONPATH": path, "PYTHONFAULTHANDLER": "1"}


def start(kind: str, folder: Path, *, staying: bool = False, size: int = 2) -> subprocess.Popen[str]:
    """Start the program in processes of which one fails."""
    return subprocess.Popen(
        command(kind, folder, size, STAYING if staying else ()), env=environment(),
        text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def run(kind: str, folder: Path, *, staying: bool = False, size: int = 2) -> subprocess.CompletedProcess[str]:
    """Run the program in processes of which one fails."""
    return finish(start(kind, folder, staying=staying, size=size))


def losses(*runs: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines that the runs have printed."""
    return [line for each in runs for line in each.stdout.splitlines() if line.startswith(("loss", "total"))]


def check(kind: str, folder: Path) -> list[str]:
    """Run with a fault, and again without; return what both have printed."""
    began = RUNNING.now()
    first = run(kind, folder, staying=kind in KILLED)
    assert RUNNING.now() - began < SECONDS, f"{kind}: {RUNNING.now() - began:.1f} s"
    assert first.returncode != 0, first.stdout
    assert re.search(SAYS[kind], first.stderr), first.stderr
    second = run("none", folder)
    assert second.returncode == 0, second.stderr
    return losses(first, second)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What two processes print of which none fails."""
    found = losses(run("none", tmp_path_factory.mktemp("whole")))
    assert len(found) == 9
    return found


@needs_mpi
@pytest.mark.slow
def test_a_run_after_a_kill_goes_on_with_the_losses_of_one_without(whole: list[str], tmp_path: Path) -> None:
    assert check("saving", tmp_path) == [*whole[:6], *whole[5:]]  # the step that was not saved, once more


FITTING = """
import os, signal, sys
import numpy as np, fastgraph as tf
folder, killed = sys.argv[1], int(sys.argv[2])
strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank = strategy.cluster_resolver.task_id
tf.keras.utils.set_random_seed(3)
tf.config.experimental.enable_op_determinism()
with strategy.scope():
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(8, "relu", input_shape=(4,)), layers.Dropout(0.3),
                                 layers.BatchNormalization(), layers.Dense(1)])
    model.compile("adam", "mse")
x = np.random.RandomState(0).randn(64, 4).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).shuffle(64, seed=5).batch(16)
class Ends(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch
    def on_train_batch_end(self, batch, logs=None):
        if (rank, self.epoch, batch) == (1, killed, 2):
            os.kill(os.getpid(), signal.SIGKILL)
    def on_epoch_end(self, epoch, logs=None):
        if rank == 0:
            os.write(1, f"loss {epoch} {float(logs['loss']).hex()}\\n".encode())
model.fit(dataset, epochs=4, verbose=0, callbacks=[Ends(), tf.keras.callbacks.BackupAndRestore(folder)])
if rank == 0:
    os.write(1, f"total {b''.join(w.tobytes() for w in model.get_weights()).hex()}\\n".encode())
"""


@needs_mpi
@pytest.mark.slow
def test_fit_goes_on_from_its_backup_with_the_bits_of_a_run_without_a_kill(tmp_path: Path) -> None:
    def fitted(folder: str, killed: int) -> subprocess.CompletedProcess[str]:
        return started(["-c", FITTING, str(tmp_path / folder), str(killed)])

    right = fitted("whole", -1)
    ended, rest = fitted("killed", 2), fitted("killed", -1)
    assert ended.returncode != 0 and re.search(r"Process 1 of 2 \(pid \d+ on ", ended.stderr), ended.stderr
    assert losses(right) and losses(ended, rest) == losses(right), (ended.stderr, rest.stderr)


@needs_mpi
@pytest.mark.slow
def test_one_two_and_four_processes_have_the_same_losses(whole: list[str], tmp_path: Path) -> None:
    runs = [whole, *(losses(run("none", tmp_path / str(size), size=size)) for size in (1, 4))]
    numbers = [[float(line.split()[-1]) for line in each] for each in runs]
    for each in numbers[1:]:
        np.testing.assert_allclose(each, numbers[0], rtol=2e-5)


@needs_mpi
@pytest.mark.parametrize(  # the others: process_kills, and `make soak`
    ("kind", "tier"),
    [
        ("shape", "first"),
        ("order", "first"),
        ("hang", "first"),
        ("hang", "last"),
        ("reduction", "last"),
        ("code", "last"),
        ("version", "first"),
    ],
)
def test_the_others_say_which_process_it_is_and_why(
    kind: str, tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FASTGRAPH_TIER", tier)  # of the last one sums are steps in C
    found = run(kind, tmp_path, staying=kind in KILLED)
    assert found.returncode != 0 and re.search(SAYS[kind], found.stderr), found.stderr


@needs_mpi
def test_of_processes_that_mpiexec_ends_it_is_said_which_they_were(tmp_path: Path) -> None:
    found = run("step", tmp_path)
    assert found.returncode != 0
    pid = re.search(r"pid 1 (\d+)", found.stdout)  # mpiexec may name the other one, if that was faster to end itself
    assert pid and f"Process 1 of 2 (pid {pid[1]} on " in found.stderr, found.stderr


@needs_mpi
@pytest.mark.parametrize("end", ["raise ImportError", "os._exit(3)"])
def test_none_waits_for_a_process_that_ends_before_mpi_begins(end: str) -> None:
    rank = "os.environ.get('PMI_RANK', os.environ.get('OMPI_COMM_WORLD_RANK'))"
    text = f"import os\nif {rank} == '1': {end}\nimport fastgraph as fg\n"
    program = text + "fg.distribute.MultiWorkerMirroredStrategy()"
    found = subprocess.run(
        [str(MPIEXEC), "-n", "2", sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=90,
    )
    said = (
        "Process 1 of 2 has ended before MPI had begun" in found.stderr or "prterun" in found.stderr
    )  # Open MPI itself
    assert found.returncode != 0 and said, found.stderr


def environment_of(rank: int) -> dict[str, str]:
    """Return what MPICH tells a process of three."""
    return {**os.environ, "PMI_RANK": str(rank), "PMI_SIZE": "3", "MPI_LOCALNRANKS": "3", "PMI_FD": "0"}


@contextlib.contextmanager
def three(seconds: float) -> Iterator[tuple[int, list[int]]]:
    """Start three processes as MPICH does, of which the second ends at once. Gives their parent's pid and theirs."""
    text = 'for rank in 0 1 2; do export PMI_RANK=$rank; sleep "$1" & echo $!; done; read -r end'
    with subprocess.Popen(
        ["sh", "-c", text, "-", str(seconds)],
        env=environment_of(0), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as parent:  # fmt: skip
        assert parent.stdin and parent.stdout
        pids = [int(parent.stdout.readline()) for _ in range(3)]
        os.kill(pids[1], signal.SIGKILL)
        yield parent.pid, pids
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        parent.stdin.close()


def watcher(pid: int, parent: int, pause: str) -> list[str]:
    """Return the command that watches a process which begins, and looks after each `pause`."""
    text = f"import runpy, sys, time; runpy.run_path({beginning_watch.__file__!r})['watch'](*eval(sys.argv[1]), lambda: {pause})"
    return [sys.executable, "-I", "-S", "-c", text, f"{pid}, {parent}"]


def watched(pid: int, parent: int) -> str:
    """Return what the watcher of a process that begins has said in the end, but for what it could not read."""
    command = watcher(pid, parent, "time.sleep(0.1)")
    said = subprocess.run(command, capture_output=True, text=True, timeout=60).stderr
    return "" if re.search(r"^(FileNotFoundError|KeyError): ", said, re.M) else said


needs_children = pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="this kernel does not list children"
)


@needs_children
def test_processes_that_others_have_ended_are_not_named() -> None:
    with three(30) as (parent, pids):
        step = "print(flush=True) or input()"  # it looks when it is told to
        with subprocess.Popen(
            watcher(pids[2], parent, step), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as other:  # fmt: skip
            assert other.stdin and other.stdout
            other.stdout.readline()
            other.stdin.write("\n")
            other.stdin.flush()
            other.stdout.readline()  # it has looked once
            said = [watched(pids[0], parent), other.communicate("\n" * 9)[1]]
    assert all(re.fullmatch(r"Process 1 of 3 has ended before MPI had begun in all: .*\n", text) for text in said), said


@needs_children
def test_none_is_ended_where_nothing_can_be_told_or_a_fork_goes_on() -> None:
    with three(3) as (parent, pids):
        assert watched(pids[0], 0) == ""  # whose children nobody can list
        assert Path(f"/proc/{pids[0]}").exists()
        ends = socket.socketpair()
        fork = subprocess.Popen(["sleep", "60"], env=environment_of(1), stdin=ends[0])
        assert watched(pids[0], parent) == ""  # until it has ended by itself
        fork.kill()
        fork.wait()
