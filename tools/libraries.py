"""Keras's own tests as the judge: `make libraries`.

    python tools/libraries.py [PATTERN ...] [--again] [--jobs N]      # behind the door; of all: docs/libraries.md
    python tools/libraries.py --oracle PYTHON [PATTERN ...]           # TensorFlow's own list, kept as data

Keras ships its tests in its wheel. Each file runs unmodified in a process of its own, with a limit on its time and on
each test's; outcomes are written as they come (tests/libraries/outcomes.py), so that a run can be stopped and resumed:
files that are finished are not run again unless `--again` says so. A PATTERN is a part of a path (`src/ops/`).
A pass is a test that passes: what is skipped, expected to fail, not collected or cut by the clock is a miss.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import datetime
import json
import lzma
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LISTS = ROOT / "tests" / "libraries"

#: Seconds that one test, and one file of tests, may take.
TEST_SECONDS, FILE_SECONDS = 300, 3000

#: What begins the page's section that tools/data_tests.py writes.
OTHERS = "## TensorFlow's own tests of tf.data"

#: Files that take longest: the last.
LONG = re.compile(r"applications/|sklearn_test|trainers/trainer_test")

#: What both sides are run with.
SETTINGS = {
    "KERAS_BACKEND": "tensorflow",
    "LIBRARY_IMPORTS": "keras",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
}

#: A miss by the signature of its error: (what the run says, the reason). The first that fits counts.
REASONS: tuple[tuple[str, str], ...] = (
    (r"timeout|Timeout", "out of time"),
    (r"^ended", "the process ended"),
    (r"not collected", "not collected: its file's import failed, or it has another name in each run"),
    (r"saved_model|fastgraph.train is not built|tf\.train", "tf.saved_model and tf.train, which are not built"),
    (r"tf\.lite|TFLite|litert", "tf.lite, which is not built"),
    (r"distribute|MirroredStrategy|_reset_context|LogicalDevice|dtensor", "several devices, of which there is one"),
    (r"Not equal to tolerance|Arrays are not|not close|Mismatched elements", "A DIFFERENT VALUE"),
    (r"NotBuiltError|is not built", "another name of TensorFlow's that is not built"),
    (r"inside of TensorFlow", "an inner name of TensorFlow's that is not in the door's table"),
    (r"ModuleNotFoundError|ImportError", "a module that is not there"),
    (r"has no attribute", "an attribute that is not there"),
    (r"AssertionError", "another assertion of the test"),
    (r"(TypeError|ValueError|InvalidArgumentError)", "an argument that is refused"),
)


def ask(python: str, code: str, environment: dict[str, str] | None = None) -> str:
    """Return what a piece of code prints in another interpreter."""
    return subprocess.run(
        [python, "-c", code], stdout=subprocess.PIPE, text=True, check=True, env=environment
    ).stdout.strip()


def packages(python: str) -> Path:
    """Return the folder in which an interpreter has Keras, without importing it."""
    found = ask(
        python, "import importlib.util as u, os; print(os.path.dirname(os.path.dirname(u.find_spec('keras').origin)))"
    )
    return Path(found)


def versions(python: str, oracle: bool) -> str:
    """Return the versions that a list or a report belongs to, as its file's name has them."""
    names = ["keras", "tensorflow-cpu"] if oracle else ["keras"]
    code = f"from importlib.metadata import version as v; print(*map(v, {names!r}))"
    found = ask(python, code).split()
    return f"keras-{found[0]}" + (f"-tensorflow-{found[1]}" if oracle else "")


class Run:
    """One side's run over the files: where its results lie, and how a file is run."""

    #: The seconds of a test and of a file; what the server of files imports besides what SETTINGS say.
    seconds = (TEST_SECONDS, FILE_SECONDS)
    settings: dict[str, str] = SETTINGS
    folders = (LISTS, LISTS / "keras_root")

    def __init__(self, python: str, oracle: bool, results: Path | None = None) -> None:
        self.python = python
        self.oracle = oracle
        self.name = self.versions()
        self.site = self.root()
        side = self.name if oracle else f"{self.name}-fastgraph"
        self.results = results or ROOT / "build" / "libraries" / side
        self.results.mkdir(parents=True, exist_ok=True)
        self.servers: list[subprocess.Popen[str]] = []
        self.commit = "" if oracle else commit()

    def versions(self) -> str:
        """Return the versions that a list or a report belongs to."""
        return versions(self.python, self.oracle)

    def root(self) -> Path:
        """Return the folder that the files of tests are named from."""
        return packages(self.python)

    def files(self, patterns: Iterable[str]) -> list[str]:
        """Return the test files that fit one of the patterns (all, if there is none), small directories first."""
        found = sorted(str(path.relative_to(self.site)) for path in (self.site / "keras").rglob("*_test.py"))
        sizes = collections.Counter(str(Path(path).parent) for path in found)
        wanted = [path for path in found if not patterns or any(pattern in path for pattern in patterns)]
        return sorted(wanted, key=lambda path: (bool(LONG.search(path)), sizes[str(Path(path).parent)], path))

    def outcome_file(self, path: str) -> Path:
        """Return where a test file's outcomes are written."""
        return self.results / (path.replace("/", "+") + ".jsonl")

    def outcomes(self, path: str) -> tuple[dict[str, dict[str, str]], dict[str, object] | None]:
        """Return (outcomes by test, the last line if the file has been run to its end) of a test file."""
        tests: dict[str, dict[str, str]] = {}
        end = None
        collected: list[str] = []
        place = self.outcome_file(path)
        for text in place.read_text().splitlines() if place.exists() else ():
            line = json.loads(text)
            if "collected" in line:
                collected = line["collected"]
            elif "end" in line:
                end = line
            else:
                tests[line["id"]] = line
        if end is not None:
            missed = "timeout of the file" if end["end"] == "timeout" else f"ended with {end['end']}"
            for test in collected:
                tests.setdefault(test, {"id": test, "outcome": "not run", "why": missed, "where": ""})
        return tests, end

    def start(self) -> subprocess.Popen[str]:
        """Start a process that has imported the library and waits for files (tests/libraries/files.py)."""
        paths = [*map(str, self.folders), *([] if self.oracle else [str(ROOT)]), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, **self.settings, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        command = [self.python, *([] if self.oracle else ["-m", "fastgraph", "run"]), str(LISTS / "files.py")]
        return subprocess.Popen(
            command, cwd=self.site, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, path: str) -> str:
        """Run one file of tests in a process of its own; return a line that says what came of it."""
        place = self.outcome_file(path)
        place.unlink(missing_ok=True)
        started = time.perf_counter()
        server = self.servers.pop() if self.servers else self.start()
        with tempfile.TemporaryDirectory(prefix="libraries-") as home:
            arguments = [path, "-p", "outcomes", "-q", "--tb=long", "-c", os.devnull, f"--rootdir={self.site}"]
            arguments += ["-p", "no:cacheprovider", f"--timeout={self.seconds[0]}", f"--basetemp={home}/tests"]
            end = self.ask(server, [str(place.with_suffix(".log")), str(place), home, *arguments])
        self.servers.append(server)
        seconds = round(time.perf_counter() - started, 1)
        with place.open("a") as file:
            file.write(json.dumps({"end": end, "seconds": seconds, "commit": self.commit}) + "\n")
        tests, _ = self.outcomes(path)
        counts = collections.Counter(test["outcome"] for test in tests.values())
        return f"{path}: {dict(counts)} in {seconds} s" + (f", ended with {end}" if end not in (0, 1) else "")

    def ask(self, server: subprocess.Popen[str], request: list[str]) -> int | str:
        """Let a server run a file; return the exit status, "timeout" if it took too long."""
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        child = int(server.stdout.readline())
        late = threading.Event()

        def end() -> None:
            late.set()
            os.kill(child, signal.SIGKILL)

        timer = threading.Timer(self.seconds[1], end)
        timer.start()
        status = int(server.stdout.readline())
        timer.cancel()
        return "timeout" if late.is_set() else status

    def list_file(self) -> Path:
        """Return where the list of what passes on TensorFlow lies."""
        name = self.name
        if not self.oracle:
            found = sorted(LISTS.glob(f"{name}-tensorflow-*.txt.xz"))
            if not found:
                raise SystemExit(f"{LISTS} has no list of what passes on TensorFlow for {name}: make it with --oracle")
            return found[-1]
        return LISTS / f"{name}.txt.xz"

    def write_list(self) -> None:
        """Write down what passed: a line for each file, "path passed of all", and below it the tests' names."""
        lines = [f"# {self.name}, Python {platform.python_version()}, {datetime.date.today()}"]
        for path in sorted(self.files(())):
            tests, end = self.outcomes(path)
            if not tests:
                continue
            passed = sorted(test for test, line in tests.items() if line["outcome"] == "passed")
            lines.append(f"{path} {len(passed)} of {len(tests)}" + ("" if end is not None else ", cut short"))
            lines += ["\t" + test.removeprefix(path + "::") for test in passed]
        text = "\n".join(lines) + "\n"
        self.list_file().write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def commit() -> str:
    """Return the checkout's commit, short."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return found.stdout.strip()


def read_list(path: Path) -> dict[str, list[str]]:
    """Return the tests that passed on TensorFlow, by file, in order."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in lzma.decompress(path.read_bytes()).decode().splitlines():
        if line.startswith("\t"):
            found[name].append(f"{name}::{line[1:]}")
        elif not line.startswith("#"):
            name = line.split()[0]
            found[name] = []
    return found


def reason(line: dict[str, str]) -> str:
    """Return why a test is a miss, by the table of reasons."""
    if line["outcome"] in ("skipped", "xfailed", "xpassed"):
        return line["outcome"]
    for pattern, words in REASONS:
        if re.search(pattern, line.get("why", ""), re.DOTALL):
            return words
    return "other: " + line.get("why", "").split("\n")[0][:80]


def misses(run: Run, wanted: dict[str, list[str]]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (test, outcome) of what passes on TensorFlow and not here, of the files that have been run."""
    for path, tests in wanted.items():
        here, end = run.outcomes(path)
        if end is not None:
            for test in tests:
                line = here.get(test, {"id": test, "outcome": "not run", "why": "not collected", "where": ""})
                if line["outcome"] != "passed":
                    yield test, line


def signature(line: dict[str, str]) -> str:
    """Return what failures of one cause have in common: the error without the numbers, and the last frame."""
    text = next((part for part in line.get("why", "").split("\n") if part.strip()), "")
    place = line.get("where", "").split(" < ")[0]
    text = re.sub(r"\S*/site-packages/", "", text)  # no path of this machine in the report
    return re.sub(r"\d+", "#", text)[:160] + "  @ " + re.sub(r":\d+$", "", place)


def report(run: Run) -> str:
    """Return the report: passes by directory, files with misses, and the misses by reason and by signature."""
    source = run.list_file()
    wanted = read_list(source)
    failed = dict(misses(run, wanted))
    by_directory: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0, 0])
    rows = []
    commits = set()
    for path, tests in wanted.items():
        _, end = run.outcomes(path)
        part = path.removeprefix("keras/src/")
        directory = by_directory[part.split("/")[0] if "/" in part else "."]
        directory[2] += 1
        if end is None:
            rows.append(f"| {part} | not run | {len(tests)} |")
            directory[1] += len(tests)
            continue
        commits.add(str(end.get("commit", "")))
        passed = len(tests) - sum(test in failed for test in tests)
        directory[0] += passed
        directory[1] += len(tests)
        if passed < len(tests):
            rows.append(f"| {part} | {passed} | {len(tests)} |")
    passed, all_of = (sum(row[index] for row in by_directory.values()) for index in (0, 1))
    text = ["# Libraries written for TensorFlow, by their own tests", ""]
    text += [f"Written by `make libraries` on {datetime.date.today()}, commits {', '.join(sorted(commits))}, Python "]
    text[-1] += f"{platform.python_version()}: {run.name} behind the door (`python -m fastgraph run`), beside the list "
    text[-1] += f"`{source.name}`."
    text += [
        "",
        f"**{passed} of the {all_of} tests that pass on TensorFlow pass here ({passed / max(all_of, 1):.1%}).**",
        "",
    ]
    text += ["| directory of keras/src | files | pass here | pass on TensorFlow | share |", "|---|---|---|---|---|"]
    for name, (here, there, files) in sorted(by_directory.items()):
        text.append(f"| {name} | {files} | {here} | {there} | {here / max(there, 1):.1%} |")
    text += ["", "## Misses by reason", "", "| reason | tests |", "|---|---|"]
    text += [
        f"| {cell(words)} | {count} |"
        for words, count in collections.Counter(map(reason, failed.values())).most_common()
    ]
    text += ["", "## Misses by their errors", "", "| error, and the last frame | tests | the first |", "|---|---|---|"]
    groups: dict[str, list[str]] = collections.defaultdict(list)
    for test, line in failed.items():
        groups[signature(line) if line["outcome"] != "skipped" else "skipped: " + line.get("why", "")[-100:]].append(
            test
        )
    for words, tests in sorted(groups.items(), key=lambda item: -len(item[1])):
        text.append(f"| {cell(words)} | {len(tests)} | {cell(tests[0].removeprefix('keras/src/'))} |")
    text += ["", "## Files with misses", "", "| file | pass here | pass on TensorFlow |", "|---|---|---|", *rows]
    return "\n".join(text) + "\n"


def report_place(run: Run) -> Path:
    """Return where the report goes: to the docs once every file of the list has been run, beside the results before."""
    whole = all(run.outcomes(path)[1] is not None for path in read_list(run.list_file()))
    return ROOT / "docs" / "libraries.md" if whole else run.results / "report.md"


def cell(text: str) -> str:
    """Return a text that may stand in a table's cell."""
    return " ".join(text.replace("|", "\\|").split())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="parts of the paths of test files")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has Keras (this one)")
    parser.add_argument("--oracle", metavar="PYTHON", help="an interpreter with Keras and TensorFlow: makes its list")
    parser.add_argument("--again", action="store_true", help="run finished files too")
    parser.add_argument("--missed", action="store_true", help="run again the files that have misses")
    parser.add_argument("--jobs", type=int, default=1, help="files at a time (%(default)s)")
    parser.add_argument("--report", type=Path, metavar="OUT", help="where it goes (see report_place)")
    parser.add_argument("--no-run", action="store_true", help="only write what the results say")
    options = parser.parse_args()
    run = Run(options.oracle or options.python, options.oracle is not None)
    files = [] if options.no_run else run.files(options.patterns)
    if options.missed:
        wanted = {test.partition("::")[0] for test, _ in misses(run, read_list(run.list_file()))}
        files = [path for path in files if path in wanted or run.outcomes(path)[1] is None]
    elif not options.again:
        files = [path for path in files if run.outcomes(path)[1] is None]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, line in enumerate(pool.map(run.run, files), 1):
            print(f"[{number}/{len(files)}] {line}", flush=True)
    for server in run.servers:
        server.communicate()
    if options.oracle is not None:
        run.write_list()
    else:
        place = options.report or report_place(run)
        others = place.read_text().partition(OTHERS) if place.exists() else ("", "", "")
        place.write_text(report(run) + ("\n" + others[1] + others[2] if others[1] else ""))
        print(place.read_text().split("## Misses by their errors")[0] + f"The report: {place}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
