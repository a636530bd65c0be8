"""The long forms of the checks in one run, and their report: `make soak`, or of one minute `make soak MINUTES=1`.

    python tools/soak.py [--minutes 90] [--mutations 100000] [--only TITLE] [--no-guard] [--report docs/soak.md]

Runs the fuzzer on programs of many ops and on programs of control flow, hostile calls of every op, imports of damaged
GraphDefs, reading of damaged event files, records, checkpoints and SavedModels, saves and processes that are killed,
integer arguments of the ops and random programs of such arguments (as tensors that only a call knows; beside TensorFlow
where PEER_TENSORFLOW names it), the tests marked soak, and the Makefile's GUARDED tests on a build where a page that
nobody may touch follows every block. The minutes are those of all parts together, each of which has its share and is
stopped a little after it; the build with guard pages, made where sources have changed, comes on top. The report says
what ran, for how long, and what came of it.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import fastgraph
from fastgraph.core.base import flags

ROOT = Path(__file__).resolve().parents[1]
GUARD = "build/guard"
#: What a part may take beyond its share: imports, a first compilation, the last program.
GRACE_S = 60.0
#: Fuzzers that are told for how long, and their parts of a hundred of all time.
TIMED = {
    "Fuzzer": ("tests.fuzz", 13),
    "Fuzzer of control flow": ("tests.fuzz --flow", 8),
    "Hostile calls": ("tests.ops.hostile", 15),
    "Damaged messages": ("tests.fuzz.messages", 6),
    "Damaged event files": ("tests.fuzz.event_files", 2),
    "Damaged checkpoints": ("tests.fuzz.checkpoints", 4),
    "Damaged records": ("tests.fuzz.records", 2),
    "Damaged SavedModels": ("tests.fuzz.saved_models", 4),
    "Random programs of integer arguments": ("tests.ops.argument_programs", 12),
}
KINDS = sum(title.startswith("Damaged") for title in TIMED)
KILLED, ARGUMENTS, MARKED, GUARDED = 2, 10, 10, 10


@dataclass
class Part:
    """A command with its share of the time; what it said, its exit status (None: it was stopped), its seconds."""

    title: str
    command: Sequence[str]
    share_s: float
    environment: dict[str, str] = field(default_factory=dict)
    output: str = ""
    status: int | None = 0
    seconds: float = 0.0

    def run(self) -> None:
        """Run it in the checkout, and no longer than GRACE_S beyond its share."""
        started = time.perf_counter()
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            process = subprocess.Popen(
                self.command, cwd=ROOT, stdout=said, stderr=subprocess.STDOUT, env={**os.environ, **self.environment}
            )
            try:
                self.status = process.wait(self.share_s + GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                self.status = None
            said.seek(0)
            self.output = said.read().strip()
        self.seconds = time.perf_counter() - started

    def text(self) -> list[str]:
        """Its part of the report."""
        verdict = (
            "stopped at its end" if self.status is None else f"exit status {self.status}" if self.status else "clean"
        )
        output = re.sub(re.escape(str(ROOT)) + "/?", "", self.output)[-20_000:]
        return ["", f"## {self.title}: {verdict}, {self.seconds:.0f} s", "", "```", output, "```"]


def parts(minutes: float, seed: int, mutations: int | None = None) -> list[Part]:
    """All parts but the guarded tests; `mutations` files damaged in all, however long that takes."""
    python, hundredth = [sys.executable, "-W", "ignore", "-m"], 0.6 * minutes
    made = []
    for title, (module, hundredths) in TIMED.items():
        share = hundredths * hundredth
        amount = ["--seconds", str(share)]
        if mutations is not None and title.startswith("Damaged"):
            share, amount = 36_000.0, ["--count", str(-(-mutations // KINDS))]
        made.append(Part(title, [*python, *module.split(), *amount, "--seed", str(seed)], share))
    kills = str(max(4, int(4 * KILLED * hundredth)))
    folder = tempfile.mkdtemp()
    killed = [*python, "tests.faults.checkpoint_kills", folder, kills, str(seed)]
    names = str(max(2, int(ARGUMENTS * hundredth / 5)))
    arguments = [*python, "tests.oracle.arguments", "--kernels", "--names", names, "--seed", str(seed)]
    tests = [sys.executable, "-m", "pytest", "-q", "-m", "soak", f"--timeout={max(60.0, MARKED * hundredth)}", "tests"]
    return [
        *made,
        Part("Killed saves of checkpoints", killed, KILLED * hundredth),
        Part("Killed processes", [*python, "tests.faults.process_kills", kills, str(seed)], KILLED * hundredth),
        Part("Integer arguments of ops", arguments, ARGUMENTS * hundredth),
        Part("Tests marked soak", tests, MARKED * hundredth),
    ]


def guarded(minutes: float) -> list[Part]:
    """The build with guard pages, and the tests that run on it."""
    rows = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    tests = re.findall(r"^GUARDED := (.*)", rows, re.MULTILINE)[0].split()
    build = [sys.executable, "setup.py", "--quiet", "build", "--build-base", GUARD, "--build-lib", f"{GUARD}/lib"]
    path = os.pathsep.join([f"{GUARD}/lib", "."])
    share = GUARDED * 0.6 * minutes
    return [
        Part("Build with guard pages", build, 3600.0, {"FASTGRAPH_GUARD": "1"}),
        Part("Guard pages", [sys.executable, "-m", "pytest", "-q", *tests], share, {"PYTHONPATH": path}),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=90, help="of all parts together (%(default)s)")
    parser.add_argument("--mutations", type=int, help="so many damaged files, in place of minutes of them")
    parser.add_argument("--only", default="", help="parts whose titles this pattern finds")
    parser.add_argument("--no-guard", action="store_true", help="without the build with guard pages")
    parser.add_argument("--report", type=Path, metavar="OUT", help="write the report there")
    options = parser.parse_args()
    seed = int(time.time()) % 1_000_000 * 100
    chosen = [*parts(options.minutes, seed, options.mutations), *([] if options.no_guard else guarded(options.minutes))]
    chosen = [part for part in chosen if re.search(options.only, part.title)]
    for part in chosen:
        print(f"{part.title}: at most {part.share_s + GRACE_S:.0f} s", file=sys.stderr, flush=True)
        part.run()
    lines = [
        "# Soak report",
        "",
        f"fastgraph {fastgraph.__version__}, Python {platform.python_version()}, {platform.machine()}, "
        f"{os.cpu_count()} cores, {flags.get('threads')} threads, {datetime.date.today()}, "
        f"{options.minutes:g} minutes. Made by `make soak`.",
    ]
    report = "\n".join([*lines, *[line for part in chosen for line in part.text()]]) + "\n"
    print(report)
    if options.report:
        options.report.write_text(report, encoding="utf-8")
    return int(any(part.status != 0 for part in chosen))


if __name__ == "__main__":
    sys.exit(main())
