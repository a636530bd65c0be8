"""Fuzz for a while: random programs, eagerly against compiled in every mode.

    python -m tests.fuzz [--seconds 60] [--seed N] [--programs N] [--report OUT] [--flow] [--fault NAME]

Prints the first seed, how many programs contained each op and, for each difference, the seed, the mode and a shrunk
script that repeats it. With --flow the programs have control flow instead of many ops: plain Python against what
AutoGraph stages. Exit status 1 if anything differed. --fault plants one of tests/planted.py, which must be found.
"""

from __future__ import annotations

import argparse
import contextlib
import platform
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fastgraph.core.base import flags
from fastgraph.core.native import thread_pool
from fastgraph.runtime import schedule, step_specs
from tests.fuzz.check import Difference, Mode, check, counted, shrink
from tests.fuzz.draw import draw_program
from tests.fuzz.flow import FlowProgram, fuzz_flow
from tests.fuzz.plain import plain_kernels
from tests.fuzz.programs import Program
from tests.planted import FAULTS, planted

PASSES = ("prune", "fold", "algebra", "cse", "fuse")


def _mode(plain: bool, n_threads: int = 1, **values: object) -> Mode:
    @contextlib.contextmanager
    def mode() -> Iterator[None]:
        with (
            flags.override(**values),
            plain_kernels() if plain else contextlib.nullcontext(),
            on_threads(n_threads) if n_threads > 1 else contextlib.nullcontext(),
        ):
            yield

    return mode


@contextlib.contextmanager
def on_threads(n_threads: int) -> Iterator[None]:
    """Within the block, plans made in it run on so many threads however little there is to do, in three parts a step."""
    worth_threads, kernel_chunk = schedule.worth_threads, step_specs.kernel_chunk
    schedule.worth_threads = lambda steps: len(steps) > 1  # type: ignore[assignment]
    step_specs.kernel_chunk = lambda extent, _: max(1, -(-extent // 3))  # type: ignore[assignment]
    thread_pool.set_num_threads(n_threads)
    try:
        yield
    finally:
        schedule.worth_threads, step_specs.kernel_chunk = worth_threads, kernel_chunk
        thread_pool.set_num_threads(None)


#: Programs of more elements are compiled: plain Python would take minutes for them.
MOST_PLAIN = 10_000


def modes(program: Program | FlowProgram) -> dict[str, Mode]:
    """Return the ways in which the program is run: both tiers, one thread and two to eight, all passes and one alone.

    Which pass runs alone (or that none does) and how many threads there are goes round with the seed. Every tenth program and all large ones are
    compiled; the kernels of the others run as plain Python.
    """
    alone = ("", *PASSES)[program.seed % (len(PASSES) + 1)]
    n_threads = 2 + program.seed // 7 % 7
    plain = program.seed % 10 != 0 and program.n_elements <= MOST_PLAIN
    return {
        "first tier": _mode(plain, tier="first"),
        "all passes, one thread": _mode(plain, tier="last"),
        f"all passes, {n_threads} threads": _mode(plain, n_threads, tier="last"),
        "all passes, unknown sizes": _mode(plain, tier="last"),
        f"only {alone}" if alone else "no passes": _mode(plain, tier="last", passes=alone),
    }


def _shrunk(program: Program, difference: Difference, modes: dict[str, Mode]) -> tuple[Program, Difference]:
    """Return the smallest program found that differs in the same mode, and its difference."""
    only = {difference.mode: modes[difference.mode]}
    small = shrink(program, lambda candidate: check(candidate, only) is not None)
    return small, check(small, only) or difference


def fuzz(seconds: float, first_seed: int, n_programs: int | None = None) -> tuple[str, int]:
    """Return (report, number of programs that differed)."""
    counts: Counter[str] = Counter()
    started = time.perf_counter()
    failures: list[str] = []
    seed = first_seed
    with flags.override(verify=True):
        while time.perf_counter() - started < seconds and (n_programs is None or seed - first_seed < n_programs):
            program = draw_program(seed)
            every_mode = modes(program)
            difference = check(program, every_mode, counts)
            if difference is not None:
                small, again = _shrunk(program, difference, every_mode)
                failures.append(f"seed {seed}, {difference.mode}: {again.text}\n{small.script()}\n")
                print(failures[-1], flush=True)
            seed += 1
    lines = [
        f"fuzz: seeds {first_seed} to {seed - 1}, {time.perf_counter() - started:.0f} s, Python "
        f"{platform.python_version()} on {platform.machine()}",
        "modes: first tier; all passes on one thread, on two to eight, and with unknown sizes; in turn no passes or one alone: "
        + ", ".join(PASSES),
        f"programs that contained each op: {counted(counts.elements())}",
        f"programs that differed: {len(failures)}",
        *failures,
    ]
    return "\n".join(lines), len(failures)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed (%(default)s)")
    parser.add_argument("--programs", type=int, help="at most so many programs")
    parser.add_argument("--flow", action="store_true", help="programs with if, while, for, break, continue, return")
    parser.add_argument("--report", type=Path, metavar="OUT", help="write the report there")
    parser.add_argument("--fault", choices=sorted(FAULTS), help="plant this fault")
    options = parser.parse_args()
    warnings.filterwarnings("error", ".*runs uncompiled")  # what is not compiled is not looked at
    with planted(options.fault) if options.fault else contextlib.nullcontext():
        if options.flow:
            failures, counts = fuzz_flow(options.seconds, options.seed, options.programs, modes)
            report = "\n".join([f"fuzz of control flow from seed {options.seed}: {counts}", *failures])
            n_failures = len(failures)
        else:
            report, n_failures = fuzz(options.seconds, options.seed, options.programs)
    print(report)
    if options.report:
        with contextlib.suppress(FileExistsError):
            options.report.parent.mkdir(parents=True)
        options.report.write_text(report + "\n", encoding="utf-8")
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
