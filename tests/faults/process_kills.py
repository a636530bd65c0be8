"""Processes of MPI that are killed at any moment, and the other faults in turn: `python -m tests.faults.process_kills 50`.

Each time the others have to end within seconds, somebody has to say which process it was, and the runs that go on have
to print the losses of a run without a fault. Prints what went wrong, and a summary; its status is how often.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.api.test_process_faults import KILLED, RUNNING, SAYS, SECONDS, check, finish, losses, run, start


def killed(folder: Path, chance: random.Random, size: int = 2) -> list[str]:
    """Kill one of the processes at any moment of its run; return what is wrong with what follows."""
    staying = chance.random() < 0.5
    process = start("none", folder, staying=staying, size=size)
    assert process.stdout is not None
    victim, last, lines, pid = chance.randrange(size), chance.randrange(7), [], 0
    far = False
    for line in process.stdout:  # the lines of different processes come in any order
        lines.append(line.strip())
        if line.startswith(f"pid {victim} "):
            pid = int(line.split()[-1])
        far = far or line.startswith(f"loss {last} ")
        if far and pid:
            break
    time.sleep(chance.random() * 0.05)
    at = RUNNING.now()
    if pid:  # 0 would be this process and all that it has started
        os.kill(pid, signal.SIGKILL)
    ended = finish(process)
    lines, errors = [*lines, *ended.stdout.splitlines()], ended.stderr
    done = staying and any(line.startswith("total") for line in lines) and "Error" not in errors
    if ended.returncode == 0 or done:  # it had ended before, or all but the shell that stays
        return killed(folder.with_name(f"{folder.name}-again"), chance, size)
    took = RUNNING.now() - at
    wrong = [f"{took:.1f} s until the end"] if took > SECONDS else []
    if not pid or f"Process {victim} of {size} (pid {pid} on " not in errors:
        wrong.append(f"nobody said that process {victim} was killed: {errors}")
    rest = run("none", folder, size=size)
    got = dict(line.rsplit(" ", 1) for line in [*lines, *losses(rest)] if line.startswith(("loss", "total")))
    last = [line.rsplit(" ", 1)[0] for line in losses(rest)]
    right = got.items() <= WHOLE.items() and last and last == list(WHOLE)[-len(last) :]  # mpiexec drops last words
    return wrong if right else [*wrong, f"after the kill: {got}; without: {WHOLE}; {rest.stderr[-8000:]}"]


WHOLE: dict[str, str] = {}


def main(times: int, seed: int) -> int:
    """Kill so many times, then try each other fault."""
    chance, found = random.Random(seed), Counter[tuple[str, str]]()
    with tempfile.TemporaryDirectory() as name:
        WHOLE.update(line.rsplit(" ", 1) for line in losses(run("none", Path(name) / "whole")))
        for i in range(times):
            wrong = killed(Path(name) / f"kill{i}", chance)
            found["kills", "wrong" if wrong else "right"] += 1
            print(*wrong, sep="\n", end="\n" if wrong else "", flush=True)
        for kind in SAYS:
            try:
                check(kind, Path(name) / kind)
                found["kills" if kind in KILLED else "faults", "right"] += 1
            except AssertionError as error:
                print(kind, error, flush=True)
                found["faults", "wrong"] += 1
    print(f"seed {seed}:", ", ".join(f"{n} {what} {how}" for (what, how), n in sorted(found.items())))
    return sum(n for (_, how), n in found.items() if how == "wrong")


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())))
