"""Locks by which writers of one folder leave each other's files alone, and know what killed ones have left.

Rule: names change under the folder's lock, for as long as that takes and no longer; who is writing has the lock of a
file of their own. The system lets go of both when a process ends, however it ends.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fastgraph.core.base.deferred_signals import deferred

_LONG = 60.0  # seconds: who has a folder for longer is stopped, or a forked child that knows nothing of it
_OLD = 3600.0  # seconds: without the lock that says so, a file as old is nobody's


def try_lock(file: int) -> bool | None:
    """Lock an open file or folder until it is closed; False: somebody has it; None: there are no such locks here."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


@contextmanager
def locked_folder(path: str) -> Iterator[bool]:
    """A context with the lock of the folder that `path` is in; whether it was given.

    Handlers of signals wait meanwhile: one that saves would wait for what it interrupts.
    """
    folder = -1
    with suppress(OSError):
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    end, pause = time.monotonic() + _LONG, 0.001
    try:
        while True:
            with deferred:
                given = None if folder < 0 else try_lock(folder)
                if given is not False or time.monotonic() > end:
                    try:
                        yield bool(given)
                    finally:
                        if given:
                            _unlock(folder)
                    return
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
    finally:
        if folder >= 0:
            os.close(folder)


def _unlock(file: int) -> None:
    """Let go of a lock, also where a child that was forked meanwhile has the file open too."""
    import fcntl

    fcntl.flock(file, fcntl.LOCK_UN)


def left_behind(path: str, owner: str) -> bool:
    """Return whether nobody is writing the file `path` any more: whoever does has locked the file `owner`."""
    try:
        file = os.open(owner, os.O_RDONLY)
    except OSError:
        file = -1
    try:
        given = None if file < 0 else try_lock(file)
        return time.time() - os.stat(path).st_mtime > _OLD if given is None else given
    except OSError:  # it is gone
        return False
    finally:
        if file >= 0:
            os.close(file)
