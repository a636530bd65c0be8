"""A test that hangs ends itself, with the processes that it has started; the run goes on.

pytest-timeout interrupts the test where it stands and fails it by name. What is added here: before that, the processes
that the test has started are killed, for Python waits for them on its way out of a `with Popen(...)`; and a test that
nothing interrupts, as it is in C with the GIL, ends the process GRACE seconds later, with every thread's lines. Under
pytest-xdist (`make test`) that is one worker, which is replaced, and the test is reported as the one that crashed it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

GRACE = 60.0


def _running() -> dict[int, int]:
    """Return the processes of this machine that can be seen, each with its parent."""
    return {pid: int(stat.rpartition(b")")[2].split()[1]) for pid, stat in _read("stat")}


def _read(name: str) -> Iterator[tuple[int, bytes]]:
    """Yield (process, what its file of this name holds). Processes end meanwhile, at any moment: those are left out.

    Listed, not globbed: to look whether `/proc/N/stat` is there raises ProcessLookupError while N ends, and what is
    raised here, outside a test, ends the whole run.
    """
    for entry in os.listdir("/proc") if sys.platform == "linux" else ():
        if entry.isdecimal():
            content = b""
            with contextlib.suppress(OSError):
                content = (Path("/proc") / entry / name).read_bytes()
            if content:
                yield int(entry), content


def descendants(of: int) -> set[int]:
    """Return the processes that one has started, and those that they have started."""
    parents = _running()
    found, new = set(), {of}
    while new:
        found |= new
        new = {pid for pid, parent in parents.items() if parent in new} - found
    return found - {of}


def _marked(nodeid: str) -> set[int]:
    """Return the processes that were started with the environment of the test, whoever their parent is now."""
    mark = f"PYTEST_CURRENT_TEST={nodeid} (".encode()
    found = {pid for pid, names in _read("environ") if any(each.startswith(mark) for each in names.split(b"\0"))}
    return found - {os.getpid()}


def _kill_what_it_started(item: pytest.Item) -> None:
    for pid in (descendants(os.getpid()) - item.stash[_before]) | _marked(item.nodeid):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


_before = pytest.StashKey[set[int]]()
_stderr = pytest.StashKey[int]()
_hung = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the real stderr, which pytest replaces while a test runs."""
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        config.stash[_stderr] = os.dup(2)


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> Iterator[None]:
    """Have the test's processes killed before it is failed, and this process end where that does not help."""
    result = yield
    if settings.timeout:
        item.stash[_before] = descendants(os.getpid())
        fail = signal.getsignal(signal.SIGALRM)

        def handler(number: int, frame: Any) -> None:
            item.config.stash[_hung] = True
            _kill_what_it_started(item)
            assert callable(fail)
            fail(number, frame)

        if callable(fail):  # timeout_method = "signal"
            signal.signal(signal.SIGALRM, handler)
        faulthandler.dump_traceback_later(settings.timeout + GRACE, exit=True, file=item.config.stash[_stderr])
    return result


@pytest.hookimpl(wrapper=True)
def pytest_timeout_cancel_timer(item: pytest.Item) -> Iterator[None]:
    """The test has ended."""
    faulthandler.cancel_dump_traceback_later()
    return (yield)


def pytest_unconfigure(config: pytest.Config) -> None:
    """A thread that a hung test has left behind must not keep the run from ending."""
    if config.stash.get(_hung, False):
        faulthandler.dump_traceback_later(GRACE, exit=True, file=config.stash[_stderr])
