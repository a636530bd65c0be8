"""train.Coordinator: threads that end together, and the first error that one of them met.

Rule: nothing here knows what the threads do.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from fastgraph.core.base.read_only import ReadOnly
from fastgraph.errors import OutOfRangeError


class Coordinator:
    """Tell threads when to stop, wait until they have, and raise what went wrong in one of them.

    clean_stop_exception_types: errors that are no more than a request to stop, OutOfRangeError if none are given.
    Source: tf.train.Coordinator.
    """

    def __init__(self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None) -> None:
        given = (OutOfRangeError,) if clean_stop_exception_types is None else clean_stop_exception_types
        self._clean = tuple(given)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._registered_threads: set[threading.Thread] = set()

    joined = ReadOnly[bool]("_joined", "True once `join` has been called.")

    def request_stop(self, ex: BaseException | tuple[Any, ...] | None = None) -> None:
        """Ask the threads to stop. ex: an error, or what sys.exc_info() gives; `join` raises the first one.

        Raises the error itself where `join` is over already.
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        if isinstance(error, self._clean):
            error = None
        with self._lock:
            if self._joined and error is not None:
                raise error
            if not self._stop.is_set():
                if self._error is None:
                    self._error = error
                self._stop.set()

    def clear_stop(self) -> None:
        """Take the request, and the error, back."""
        with self._lock:
            self._joined, self._error = False, None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Return whether a stop was asked for."""
        return self._stop.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait, `timeout` seconds at most, until a stop is asked for; return whether it was."""
        return self._stop.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Enter a context whose error becomes a request to stop, and goes no further."""
        try:
            yield
        except BaseException:  # whatever ends the thread ends all of them
            self.request_stop(sys.exc_info())

    def register_thread(self, thread: threading.Thread) -> None:
        """Have `join` wait for this thread too."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until these threads, and those that were registered, have ended: all of them, or the seconds given to
        them once a stop is asked for are over.

        Raises the error that came with the request; RuntimeError for threads that still run, unless they are ignored.
        """
        with self._lock:
            waited = [*self._registered_threads.union(threads or ())]
        while any(each.is_alive() for each in waited) and not self.wait_for_stop(0.05):
            pass
        until = time.monotonic() + stop_grace_period_secs
        for each in waited:
            each.join(max(0.0, until - time.monotonic()))
        alive = [each.name for each in waited if each.is_alive()]
        with self._lock:
            self._joined, self._registered_threads = True, set()
            if self._error is not None:
                raise self._error
            if alive and not ignore_live_threads:
                raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")

    def raise_requested_exception(self) -> None:
        """Raise the error that came with a request to stop, if one did."""
        with self._lock:
            if self._error is not None:
                raise self._error
