"""TensorFlow's own tests of tf.data as the judge: the tests' files of a checkout, run behind the door.

    python tools/data_tests.py SOURCE [PATTERN ...] [--again]            # SOURCE: a checkout of TensorFlow
    python tools/data_tests.py SOURCE --oracle PYTHON [PATTERN ...]      # TensorFlow's own list, kept as data

As tools/libraries.py, whose runs, outcomes and lists these are: a file at a time, resumed. Nothing of the checkout is
kept here; its tests import inner names of TensorFlow's, which tests/libraries/data_inside.py leads to public ones. The
test's name says its mode: "eager", or "graph", which is a session of TensorFlow 1 (tests/libraries/graph_sessions.py).
"""

from __future__ import annotations

import argparse
import collections
import datetime
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import libraries

#: The folders of tests below tensorflow/python/data, and the page that gets the report.
FOLDERS = ("kernel_tests", "experimental/kernel_tests")
PAGE = libraries.ROOT / "docs" / "libraries.md"
HEADING = libraries.OTHERS

#: The files of what is used most, which are run first.
FIRST = (
    " batch map shuffle repeat zip interleave padded_batch window cache prefetch from_generator tf_record_dataset "
    "text_line_dataset iterator filter flat_map take skip unbatch group_by_window bucket_by_sequence_length "
    "rejection_resample sample_from_datasets choose_from_datasets snapshot io options cardinality dataset ragged_batch "
    "scan unique random shard concatenate enumerate range reduce get_single_element from_tensors from_tensor_slices "
)

#: Where the list would be of a part that TensorFlow was not run on.
LISTS_OF_ALL = libraries.LISTS / "no list"

INNER = "an inner name of TensorFlow's"
#: A miss by its error, as libraries.REASONS; the first that fits counts.
REASONS = (
    (r"_import_meta_graph|meta_graph|Saver|make_saveable", "a Saver of TensorFlow 1"),
    (r"inner name|object has no attribute '_|module .tensorflow", INNER),
    (r"sessions|Session|Graph is finalized|compat.v1", "a session or a name of TensorFlow 1"),
    *libraries.REASONS,
)


class DataRun(libraries.Run):
    """The tests of tf.data."""

    seconds = (40, 3000)
    folders = (libraries.LISTS,)

    def __init__(self, source: Path, python: str, oracle: bool, every: int = 1, mode: str = "") -> None:
        self.source, self.every, self.mode = source, every, mode
        super().__init__(python, oracle, None)
        self.settings = {**libraries.SETTINGS, "LIBRARY_SOURCE": str(source), "LIBRARY_EVERY": str(every)}
        self.settings["LIBRARY_ONLY"] = {"eager": "^(?!.*mode_graph)", "graph": "mode_graph"}.get(mode, "")
        self.settings["LIBRARY_IMPORTS"] = "tensorflow" if oracle else "data_inside"

    def root(self) -> Path:
        found = libraries.ROOT / "build" / "libraries" / "data_tests"
        for folder in FOLDERS:
            (found / folder).mkdir(parents=True, exist_ok=True)
            for path in (self.source / "tensorflow/python/data" / folder).glob("*_test.py"):
                shutil.copy(path, found / folder)
        return found

    def versions(self) -> str:
        if self.oracle:
            code = "from importlib.metadata import version as v; print(v('tensorflow-cpu'))"
            return f"data-tensorflow-{libraries.ask(self.python, code)}{self.part()}"
        return f"data{self.part()}"

    def part(self) -> str:
        """Return what the names of a part of all tests end with."""
        return f"-{self.mode}" * bool(self.mode) + (f"-one-in-{self.every}" if self.every > 1 else "")

    def list_file(self) -> Path:
        if self.oracle:
            return libraries.LISTS / f"{self.name}.txt.xz"
        found = sorted(libraries.LISTS.glob("data-tensorflow-*.txt.xz"))
        fitting = [path for path in found if re.fullmatch(rf"[a-z-]+[\d.]+\d{self.part()}\.txt\.xz", path.name)]
        return fitting[-1] if fitting else LISTS_OF_ALL

    def files(self, patterns: Iterable[str]) -> list[str]:
        found = [str(path.relative_to(self.site)) for path in self.site.rglob("*_test.py")]
        wanted = [path for path in found if not patterns or any(pattern in path for pattern in patterns)]

        def order(path: str) -> tuple[bool, int, str]:
            stem = Path(path).name.removesuffix("_test.py")
            return "experimental" in path, FIRST.find(f" {stem} ") % len(FIRST), path

        return sorted(wanted, key=order)


def mode(test: str) -> str:
    """Return the mode that a test's name says."""
    found = re.search(r"mode_(eager|graph)", test)
    return found[1] if found else "neither"


def reason(line: dict[str, str]) -> str:
    """Return why a test is a miss."""
    if line["outcome"] in ("skipped", "xfailed", "xpassed"):
        return line["outcome"]
    text = line.get("why", "") + line.get("where", "")
    return next((words for pattern, words in REASONS if re.search(pattern, text, re.DOTALL)), "another error")


def report(run: DataRun) -> str:
    """Return the section of the page: passes by mode, misses by reason and by error, files with misses."""
    wanted = {path: tests for path, tests in libraries.read_list(run.list_file()).items() if tests}
    done = {path: tests for path, tests in wanted.items() if run.outcomes(path)[1] is not None}
    failed = dict(libraries.misses(run, done))
    counts: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    rows = []
    for path, tests in done.items():
        passed = sum(test not in failed for test in tests)
        for test in tests:
            counts[mode(test)][0] += test not in failed
            counts[mode(test)][1] += 1
        if passed < len(tests):
            rows.append(f"| {path} | {passed} | {len(tests)} |")
    sample = f", a sample of one test in {run.every} by the checksums of their names" if run.every > 1 else ""
    text = [HEADING, ""]
    text.append(
        f"Written by `tools/data_tests.py` on {datetime.date.today()}, commit {run.commit}; the list is "
        f"`{run.list_file().name}`{sample}: {sum(map(len, wanted.values()))} tests in {len(wanted)} files, of which "
        f"{len(done)} files have been run here. The mode eager is TensorFlow 2's public way. The mode graph is one of "
        "TensorFlow 1's sessions, which fastgraph has not: the runner has a stand-in that interprets parts of a "
        "`tf.Graph`."
    )
    text += ["", "| mode | pass here | pass on TensorFlow | share |", "|---|---|---|---|"]
    for name, (here, there) in sorted(counts.items()):
        text.append(f"| {name} | {here} | {there} | {here / max(there, 1):.1%} |")
    inner = [test for test, line in failed.items() if mode(test) == "eager" and reason(line) == INNER]
    passed, of_all = counts["eager"]
    public = max(of_all - len(inner), 1)
    text += ["", f"Of the eager tests that ask for no inner name {passed} of {public} pass ({passed / public:.1%})."]
    for name in ("eager", "graph"):
        of = [line for test, line in failed.items() if mode(test) != ("graph" if name == "eager" else "eager")]
        text += ["", f"Misses, {name}:", "", "| reason | tests |", "|---|---|"]
        text += [f"| {words} | {n} |" for words, n in collections.Counter(map(reason, of)).most_common()]
    groups: dict[str, list[str]] = collections.defaultdict(list)
    for test, line in failed.items():
        if mode(test) != "graph":
            words = libraries.signature(line)
            # no path of this machine in the report
            for folder in (f"{libraries.ROOT}/", f"{run.source}/", f"{sys.base_prefix}/", "../../../"):
                words = words.replace(folder, "")
            groups[words].append(test)
    text += ["", "| error of an eager test, and the last frame | tests | the first |", "|---|---|---|"]
    for words, tests in sorted(groups.items(), key=lambda item: -len(item[1]))[:60]:
        text.append(f"| {libraries.cell(words)} | {len(tests)} | {libraries.cell(tests[0])} |")
    text += ["", "| file with misses | pass here | pass on TensorFlow |", "|---|---|---|", *rows]
    return "\n".join(text) + "\n"


def counts(run: DataRun) -> list[tuple[str, int]]:
    """Return what came of all tests that have been run: passes, and the others by reason."""
    lines = [line for path in run.files(()) for line in run.outcomes(path)[0].values()]
    found = collections.Counter("passed" if line["outcome"] == "passed" else reason(line) for line in lines)
    return found.most_common()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, help="a checkout of TensorFlow, of the version of the list")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="parts of the paths of test files")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--oracle", metavar="PYTHON", help="an interpreter with TensorFlow: makes its list")
    parser.add_argument("--again", action="store_true", help="run finished files too")
    parser.add_argument("--missed", action="store_true", help="run again the files that have misses")
    parser.add_argument("--every", type=int, default=1, help="one test in so many, by their names' checksums")
    parser.add_argument("--mode", choices=("eager", "graph"), default="", help="the tests in this mode alone")
    parser.add_argument("--no-run", action="store_true", help="only write what the results say")
    parser.add_argument("--write", action="store_true", help="write the section into docs/libraries.md")
    options = parser.parse_args()
    python, oracle = options.oracle or options.python, options.oracle is not None
    run = DataRun(options.source.resolve(), python, oracle, options.every, options.mode)
    files = [] if options.no_run else run.files(options.patterns)
    if options.missed:
        wanted = {test.partition("::")[0] for test, _ in libraries.misses(run, libraries.read_list(run.list_file()))}
        files = [path for path in files if path in wanted or run.outcomes(path)[1] is None]
    elif not options.again:
        files = [path for path in files if run.outcomes(path)[1] is None]
    for number, path in enumerate(files, 1):
        print(f"[{number}/{len(files)}] {run.run(path)}", flush=True)
    for server in run.servers:
        server.communicate()
    if options.oracle is not None:
        run.write_list()
        return 0
    if not run.list_file().is_file():
        for words, n in counts(run):
            print(f"{n:6} {words}")
        return 0
    text = report(run)
    if options.write:
        before = PAGE.read_text().partition(HEADING)[0].rstrip()
        PAGE.write_text(f"{before}\n\n{text}")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
