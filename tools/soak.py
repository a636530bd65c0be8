"""The long forms of the checks, and their report: `make soak`.

    python tools/soak.py [--minutes 10] [--hostile-minutes 30] [--mutations 100000] [--only damaged] [--report OUT]

Runs the fuzzer, hostile calls of every op, imports of damaged GraphDefs, reading of damaged event files, records,
checkpoints and SavedModels, saves and processes of MPI that are killed, every integer argument of every op and random
programs of such arguments (as tensors that only a call knows; beside TensorFlow where PEER_TENSORFLOW names it), and
the tests marked soak. The report says what ran, on what, for how long, and what came of it.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fastgraph
from fastgraph.core.base import flags

ROOT = Path(__file__).resolve().parents[1]


#: The kinds of files that are damaged, each a module of tests.fuzz.
KINDS = ("messages", "event_files", "checkpoints", "records", "saved_models")


def run(command: list[str]) -> tuple[str, int, float]:
    """Return (output, exit status, seconds) of a command run in the checkout."""
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout.strip(), done.returncode, time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="of each fuzzer (%(default)s)")
    parser.add_argument("--hostile-minutes", type=float, default=30, help="of hostile calls (%(default)s)")
    parser.add_argument("--mutations", type=int, default=100_000, help="of files, of all kinds together (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="kinds of damaged files at a time (%(default)s)")
    parser.add_argument("--only", choices=["damaged"], help="that part alone")
    parser.add_argument("--report", type=Path, metavar="OUT", help="write the report there")
    options = parser.parse_args()
    seed = int(time.time()) % 1_000_000 * 100
    fuzz = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "tests.fuzz",
        "--seconds",
        str(60 * options.minutes),
        "--seed",
        str(seed),
    ]
    seconds = str(60 * options.hostile_minutes)
    hostile = [sys.executable, "-m", "tests.ops.hostile", "--seconds", seconds, "--seed", str(seed)]
    n = -(-options.mutations // len(KINDS))
    damaged = [
        [sys.executable, "-W", "ignore", "-m", f"tests.fuzz.{kind}", "--seed", str(seed), "--count", str(n)]
        for kind in KINDS
    ]
    killed = [sys.executable, "-W", "ignore", "-m", "tests.faults.checkpoint_kills", tempfile.mkdtemp(), "300"]
    processes = [sys.executable, "-W", "ignore", "-m", "tests.faults.process_kills", "50"]
    arguments = [sys.executable, "-W", "ignore", "-m", "tests.oracle.arguments", "--kernels"]
    programs = [sys.executable, "-W", "ignore", "-m", "tests.ops.argument_programs"]
    programs += ["--seconds", str(60 * options.minutes), "--seed", str(seed)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        titles = [f"Damaged {kind.replace('_', ' ')}" for kind in KINDS]
        parts = [(title, *found) for title, found in zip(titles, pool.map(run, damaged), strict=True)]
    if options.only is None:
        parts = [
            ("Fuzzer", *run(fuzz)),
            ("Hostile calls", *run(hostile)),
            *parts,
            ("Killed saves of checkpoints", *run(killed)),
            ("Killed processes of MPI", *run(processes)),
            ("Integer arguments of every op", *run(arguments)),
            ("Random programs of integer arguments", *run(programs)),
            (
                "Tests marked soak",
                *run([sys.executable, "-m", "pytest", "-q", "-m", "soak", "--timeout=3600", "tests"]),
            ),
        ]
    lines = [
        "# Soak report",
        "",
        f"fastgraph {fastgraph.__version__}, Python {platform.python_version()}, {platform.machine()}, "
        f"{os.cpu_count()} cores, {flags.get('threads')} threads, {datetime.date.today()}. Made by `make soak`.",
    ]
    for title, output, status, seconds in parts:
        verdict = "clean" if status == 0 else f"exit status {status}"
        text = re.sub(re.escape(str(ROOT)) + "/?", "", output)[-20_000:]
        lines += ["", f"## {title}: {verdict}, {seconds:.0f} s", "", "```", text, "```"]
    report = "\n".join(lines) + "\n"
    print(report)
    if options.report:
        options.report.write_text(report, encoding="utf-8")
    return max(status for _, _, status, _ in parts)


if __name__ == "__main__":
    sys.exit(main())
