"""Watcher of a process while MPI begins: run by path, beside it, as a program of its own.

Rule: it imports nothing of fastgraph, for it is to start at once; what cannot be read is unknown, and nothing is done.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

PROC = Path("/proc")


def stat(pid: int | str) -> list[str]:
    """Return what the system says of a process behind its name: state, parent, ... Raises OSError."""
    return (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def is_of_mpich(pid: int | str) -> bool:
    """Return whether a process is the one by which MPICH's mpiexec starts others."""
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / "comm").read_text(encoding="utf-8", errors="replace") == "hydra_pmi_proxy\n"
    return False


def environment(pid: int | str) -> dict[str, str]:
    """Return the variables with which a process was started, {} if they cannot be read."""
    with contextlib.suppress(OSError):
        lines = (PROC / str(pid) / "environ").read_text(encoding="utf-8", errors="replace").split("\0")
        return {name: value for name, _, value in (line.partition("=") for line in lines)}
    return {}


def living(parent: int) -> list[int | None]:
    """Return the ranks of a process's children that have not ended, None for an unknown one. Raises OSError."""
    ranks: list[int | None] = []
    for child in (PROC / str(parent) / "task" / str(parent) / "children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if stat(child)[0] not in "ZX":
                rank = environment(child).get("PMI_RANK", "")
                ranks.append(int(rank) if rank.isdecimal() else None)
    return ranks


def stands_in(pid: str, ranks: set[int]) -> bool:
    """Return whether a process is a fork that has PMI's socket, and may go on for one of these that has ended."""
    own = environment(pid)
    if own.get("PMI_RANK") not in {str(rank) for rank in ranks}:
        return False
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        socket = own.get("PMI_FD")
        return not is_of_mpich(stat(pid)[1]) and (not socket or (PROC / pid / "fd" / socket).is_socket())
    return False


def watch(pid: int, parent: int, pause: Callable[[], object]) -> None:
    """End a process when, three times in a row, fewer of the processes live that `parent` has started than there were.

    The first that lives alone judges, and names those away each time: none that another has ended since. Raises
    OSError, KeyError or ValueError where something cannot be told.
    """
    late, gone = 0, set[int]()
    while True:
        pause()
        rank, size, here = (int(environment(pid)[name]) for name in ("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"))
        ranks = living(parent)
        alive = {one for one in ranks if one is not None}
        if len(ranks) == here or None in ranks:
            late = 0
            continue
        if rank not in alive:
            return
        gone = (gone if late else set(range(size))) - alive
        late += 1
        if late < 3 or rank != min(alive) or not gone:
            continue
        if any(stands_in(each.name, gone) for each in PROC.glob("[0-9]*")):
            late = 0
            continue
        names = "".join(f" {one}" for one in sorted(gone)) if size == here else " here"
        text = f"Process{names} of {size} has ended before MPI had begun in all: its error is above, or it was killed."
        print(text, file=sys.stderr, flush=True)
        os.kill(pid, signal.SIGKILL)
        return


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with contextlib.suppress(OSError, KeyError, ValueError):
        watch(int(sys.argv[1]), int(sys.argv[2]), lambda: time.sleep(1.0))
