"""What a program asked for and did not live to see: compiled and stored after it, by one process, which holds nothing."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from elementwise_kernels import elementwise

from fastgraph.compiler.cpu.target import kernel_key
from fastgraph.compiler.store.kernel_store import Store
from fastgraph.compiler.store.store_key import made_key

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes by way of /proc")

HERE = Path(__file__).parent
N = 3
REQUEST = f"""
import os, sys, time
from elementwise_kernels import elementwise
from fastgraph.compiler.store import kernel_service
handles = kernel_service.request([elementwise("a + float32(%d)" % i, ("float32",), "float32") for i in range({N})])
"""
#: It ends as soon as its kernels are asked for: long before any of them is there.
PROGRAM = f"""{REQUEST}
while not kernel_service._desk.workers: time.sleep(0.001)
print(*[w.process.pid for w in kernel_service._desk.workers], flush=True)
"""
PATH = os.pathsep.join([str(HERE), str(HERE.parents[1])])
KEYS = [kernel_key(elementwise(f"a + float32({i})", ("float32",), "float32")) for i in range(N)]


def started(folder: Path, tail: str = "", program: str = PROGRAM, **environment: str) -> subprocess.Popen[str]:
    """A program with a store and a key of its own below `folder`, and pipes to this process."""
    places = {"FASTGRAPH_STORE": str(folder / "kernels"), "FASTGRAPH_STORE_KEY": str(folder / "key")}
    return subprocess.Popen(
        [sys.executable, "-c", program + tail],
        env={**os.environ, "PYTHONPATH": PATH, "FASTGRAPH_LINGER": "60", **places, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stored(folder: Path) -> int:
    place = Store(str(folder / "kernels"), 1 << 20, str(folder / "key"))
    return sum(place.read(key) is not None for key in KEYS)


def until(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Whether the condition comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def fields(pid: int) -> list[str]:
    """What /proc says of a process from its state on; that of one that is gone is Z."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["Z"]


def gone(pid: int) -> bool:
    return fields(pid)[0] in "ZX"


def test_kernels_of_a_program_that_is_gone_are_stored(tmp_path: Path) -> None:
    """However it ended; its pipes end with it."""
    programs = {
        "end": started(tmp_path / "end"),
        "killed": started(tmp_path / "killed", "os.kill(os.getpid(), 9)"),
    }
    pids = {}
    for how, program in programs.items():
        out, error = program.communicate(timeout=60)  # the end of the pipes, not only of the process
        assert error == "" and program.returncode == (-9 if how == "killed" else 0)
        pids[how] = int(out)
    for how, pid in pids.items():
        assert until(lambda pid=pid: gone(pid)), how  # type: ignore[misc]
        assert stored(tmp_path / how) == N, how


def test_what_goes_on_after_a_program_disturbs_nobody(tmp_path: Path) -> None:
    """It holds none of the program's files, has no terminal and only what time others leave."""
    # The worker stands still until this process looks: on a busy machine it might have done all by then.
    ends = (
        "import signal; os.kill(kernel_service._desk.workers[0].process.pid, signal.SIGSTOP); os.kill(os.getpid(), 9)"
    )
    program = started(tmp_path, ends)
    ours = {os.readlink(f"/proc/self/fd/{end.fileno()}") for end in (program.stdout, program.stderr) if end is not None}
    pid = int(program.communicate(timeout=60)[0])
    try:
        os.kill(pid, signal.SIGCONT)
        assert until(
            lambda: gone(pid) or (fields(pid)[16] == "19" and fields(pid)[38] == str(os.SCHED_IDLE))
        )  # nice, then this
        os.kill(pid, signal.SIGSTOP)
        assert until(lambda: fields(pid)[0] in "TZ")  # it runs on until the signal reaches it
        found = fields(pid)
        assert found[0] != "Z" and found[38] == str(os.SCHED_IDLE)
        assert found[3] == found[2] == str(pid) and found[4] == "0"  # a session of its own
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        open_files = {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()}
        assert not open_files & ours and not [each for each in open_files if each.startswith(("/dev/pts", "/dev/tty"))]
    finally:
        os.kill(pid, signal.SIGCONT)
    assert until(lambda: gone(pid))


@pytest.mark.slow
def test_closed_descriptors_and_a_deleted_working_folder(tmp_path: Path) -> None:
    """A program without them has its kernels compiled like any other, by a worker or in place."""
    program = f"""{REQUEST}
assert all(h.wait(60) for h in handles)
s, worker = kernel_service.statistics(), os.environ["FASTGRAPH_WORKER"] == "1"
assert (s.compiled, s.compiled_in_place) == (len(handles), 0 if worker else len(handles))
"""
    running = []
    for name, closed in {"closed": "<&- >&- 2>&-", "deleted": "", "in place": ""}.items():
        (tmp_path / name / "gone").mkdir(parents=True)
        environment = {
            **os.environ,
            "PYTHONPATH": PATH,
            "FASTGRAPH_STORE": str(tmp_path / name / "kernels"),
            "FASTGRAPH_WORKER": str(int(name != "in place")),
        }
        command = ["/bin/sh", "-c", f'rmdir ../gone; exec "$@" {closed}', "", sys.executable, "-c", program]
        running.append(subprocess.Popen(command, cwd=tmp_path / name / "gone", env=environment))
    assert [program.wait(60) for program in running] == [0, 0, 0]
    assert len(list((tmp_path / "closed" / "kernels").iterdir())) == N


def test_where_nothing_lingers(tmp_path: Path) -> None:
    """Switched off, no store, and none that can be written to."""
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "kernels").write_text("")
    programs = [
        started(tmp_path / "off", FASTGRAPH_LINGER="0"),
        started(tmp_path / "disabled", FASTGRAPH_STORE_LIMIT="0"),
        started(tmp_path / "blocked", PYTHONWARNINGS="ignore"),
        started(tmp_path / "deleted", "import shutil; shutil.rmtree(os.environ['FASTGRAPH_STORE'])"),
    ]
    pids = [int(program.communicate(timeout=60)[0]) for program in programs]
    assert all(until(lambda pid=pid: gone(pid), 5) for pid in pids)  # type: ignore[misc]
    assert not (tmp_path / "deleted" / "kernels").exists()


def test_who_is_left_behind_waits_for_those_before(tmp_path: Path) -> None:
    """While another process of the same key compiles, two wait for their turn and no more."""
    name = str(tmp_path / "key")
    made_key(name)
    folders = [tmp_path / str(i) for i in range(3)]
    with open(name) as key:
        fcntl.flock(key, fcntl.LOCK_EX)
        programs = [started(folder, FASTGRAPH_STORE_KEY=name) for folder in folders]
        pids = [int(program.communicate(timeout=60)[0]) for program in programs]
        assert until(lambda: any(gone(pid) for pid in pids))
        time.sleep(0.1)
        waiting = [not gone(pid) for pid in pids]
    assert sum(waiting) == 2
    assert until(lambda: all(gone(pid) for pid in pids))
    for folder, waited in zip(folders, waiting, strict=True):
        place = Store(str(folder / "kernels"), 1 << 20, name)
        assert sum(place.read(each) is not None for each in KEYS) == (N if waited else 0)


def test_killed_at_any_moment_the_store_is_whole(tmp_path: Path) -> None:
    """Programs and the processes that they leave: of what is stored all is read, and the next program gets the rest."""
    chance = random.Random(0)
    programs = [started(tmp_path / "one", "time.sleep(0.3)") for _ in range(3)]
    for program in programs:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        time.sleep(chance.random() * 0.1)
        os.kill(chance.choice([pid, program.pid]), signal.SIGKILL)
    for program in programs:
        assert "Warning" not in program.communicate(timeout=60)[1].replace("killed by signal 9", "")
    last = started(tmp_path / "one", "assert all(h.wait(60) for h in handles)", REQUEST)  # it may find them all stored
    assert last.communicate(timeout=60)[1] == "" and last.returncode == 0
    assert stored(tmp_path / "one") == N


def test_writers_killed_while_they_write(tmp_path: Path) -> None:
    """Thirty times; what is read was written whole, by a key that all share although each was the first to want it."""
    chance = random.Random(1)
    directory, key = str(tmp_path / "kernels"), str(tmp_path / "state" / "key")
    content = {name: (name * 500).encode() for name in KEYS}
    troubles: list[str] = []
    place = Store(directory, 1 << 20, key, tell=lambda kind, text: troubles.append(text))
    for left in reversed(range(30)):
        children = []
        for _ in range(2):
            child = os.fork()
            if child == 0:
                while True:
                    for name, code in content.items():
                        Store(directory, 1 << 20, key).write(name, code)
            children.append(child)
        time.sleep(0.002 + chance.random() * 0.01)
        # However slow the machine is and whatever the killed have left behind, the last two come to write.
        came = left > 0 or until(lambda: any(place.read(name) for name in KEYS))
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    found = {name: place.read(name) for name in KEYS}
    assert came and troubles == []
    assert all(code in (None, content[name]) for name, code in found.items())
    for name, code in content.items():
        assert Store(directory, 1 << 20, key).write(name, code) and place.read(name) == code
