"""A line on the terminal that says what a call waits for, and that is gone when it need not wait any more.

Rule: only where standard error is a terminal, and only for waits that a person would notice.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable

from fastgraph.compiler.store.kernel_service import Handle

#: A wait shorter than this (seconds) says nothing.
NOTICED_S = 1.0
_STEP_S = 0.25
_NAME = 30  # letters of a Function's name


def wait(name: str, handles: Iterable[Handle]) -> None:
    """Wait until every kernel of the Function `name` is there or has failed, and show how far they are."""
    todo = list(handles)
    begun = time.monotonic()
    shown = ""
    try:
        for handle in todo:
            while not handle.wait(_STEP_S) and handle.error is None:
                waited = time.monotonic() - begun
                if waited >= NOTICED_S and _is_terminal():
                    there = sum(each.ready for each in todo)
                    line = f"{name[:_NAME]} waits for its kernels: {there} of {len(todo)} compiled, {waited:.0f} s"
                    if line != shown:
                        _write("\r" + line.ljust(len(shown)))
                    shown = line
    finally:  # also where Ctrl-C ends the wait
        if shown:
            _write("\r" + " " * len(shown) + "\r")


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
