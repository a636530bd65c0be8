"""What every test of this suite gets: a kernel store of its own, and the check that docs/features.md is true."""

from __future__ import annotations

import functools
import gc
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import hung
import numpy as np
import pytest
import selection

HERE = Path(__file__).parent
FEATURES = HERE.parent / "docs" / "features.md"
#: What Keras's own tests call their conftest: no part of this suite, and no module of this name may hide it.
collect_ignore = ["libraries/keras_root"]
#: Node ids below tests/ of the tests that passed in this run.
passed: set[str] = set()


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C work: a suite that a shell started in the background inherits that SIGINT is ignored."""
    config.pluginmanager.register(hung)
    if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The parts of the suite that `selection` chooses."""
    for how in ("quick", "smoke"):
        parser.addoption(f"--{how}", dest="part", action="store_const", const=how, help=f"run what make {how} runs")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file that takes no part."""
    return selection.is_left_out(collection_path, config.option.part) or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what --quick or --smoke leave out. Names must be the same in every process that shares the tests."""
    named = (item.nodeid for item in items if " at 0x" in item.nodeid or "set({" in item.nodeid)  # few: quickly found
    changing = [name for name in named if re.search(r" at 0x[0-9a-f]{6}|set\(\{.*,", name)]
    if changing:
        raise pytest.UsageError(f"these tests are called otherwise in every process (give them ids): {changing[:5]}")
    if config.option.part:
        kept = selection.chosen(items, config.option.part)
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept


def pytest_collection_finish() -> None:
    """Have Python's collector pass over what pytest keeps: many tests ask for a collection, which took most of their time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def kernel_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep kernels apart from the user's; a store named in the environment is used as it is."""
    if "FASTGRAPH_STORE" not in os.environ:
        os.environ["FASTGRAPH_STORE"] = str(tmp_path_factory.mktemp("kernels"))
    os.environ.setdefault("FASTGRAPH_STORE_KEY", str(tmp_path_factory.mktemp("key") / "store.key"))
    os.environ.setdefault("FASTGRAPH_LINGER", "0")  # what a test does not wait for is not to slow others down
    from fastgraph.compiler.store import program_store

    # Many tests change the compiler and look at what it makes then: Programs are neither found nor kept.
    recall, keep = program_store.recall, program_store.keep
    if os.environ.get("STORED_PROGRAMS") != "1":
        program_store.recall = functools.wraps(recall)(lambda key, graph: None)
        program_store.keep = functools.wraps(keep)(lambda key, program: None)
    yield
    program_store.recall, program_store.keep = recall, keep


@pytest.fixture(params=["first", "last"])
def tier(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run Functions by the interpreter alone, and by kernels alone."""
    from fastgraph.core.base import flags

    with flags.override(tier=request.param):
        yield request.param


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a generator that is the test's own: what it draws depends on no other test."""
    return np.random.default_rng(0)


def feature_rows() -> Iterator[tuple[str, str, list[str]]]:
    """Yield (number, state, tests) of each row of docs/features.md."""
    for line in FEATURES.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) >= 4 and cells[0].strip("| ").isdigit():
            tests = [part for part in cells[3].split("`") if part.partition("::")[0].endswith(".py")]
            yield cells[0].strip("| "), cells[2], tests


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what passed."""
    if report.when == "call" and report.passed:
        passed.add(report.nodeid.partition("[")[0].removeprefix("tests/"))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """After a run of the whole suite: each test of a row called done must have passed, not been skipped."""
    config = session.config
    chosen = (
        config.option.part
        or config.option.keyword
        or config.option.markexpr not in ("", "not soak")
        or config.option.collectonly
    )
    whole = [Path(argument).resolve() for argument in config.args] in ([HERE], [HERE.parent])
    if exitstatus != 0 or chosen or not whole or hasattr(config, "workerinput") or not FEATURES.exists():
        return
    files = {name.partition("::")[0] for name in passed}
    for number, state, tests in feature_rows():
        absent = [test for test in tests if test not in passed and test not in files]
        if state == "done" and absent:
            print(f"\ndocs/features.md: row {number} is called done, but {', '.join(absent)} did not run")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
