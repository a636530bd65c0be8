"""Handlers of signals wait while modules are imported on demand, and so do forks by other threads.

Rule: a handler runs between any two bytecodes of the main thread, and would find half of a module that is being
imported there; what it has to do is done when the import is over. A forked child would find Python's lock of such a
module taken for good.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes enumerations of its names, which takes longer than all that is done here
import _thread
import importlib
import sys
import threading
import types
from typing import Any

from fastgraph.core.base.locks import importing

_SIGNALS = range(1, _signal.NSIG)
_depth = 0  # of the main thread's imports
_handlers: dict[int, Any] = {}  # those that wait
_came: list[int] = []


class Deferred:
    """A context manager in which Python's handlers of signals wait; in other threads than the main one it does nothing.

    After it they are called in the order in which their signals came; what they raise is raised there.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        global _depth
        if _thread.get_ident() != threading.main_thread().ident:
            return
        _depth += 1
        if _depth > 1:
            return
        for number in _SIGNALS:
            handler = _signal.getsignal(number)
            if callable(handler):
                _handlers[number] = handler
                _signal.signal(number, _note)

    def __exit__(self, *_: object) -> None:
        global _depth
        if _thread.get_ident() != threading.main_thread().ident:
            return
        _depth -= 1
        if _depth:
            return
        waiting = dict(_handlers)
        _handlers.clear()
        for number, handler in waiting.items():
            if _signal.getsignal(number) is _note:
                _signal.signal(number, handler)
        while _came:
            number = _came.pop(0)
            waiting[number](number, sys._getframe(1))


def _note(number: int, frame: Any) -> None:
    _came.append(number)


#: The one there is: it has no state of its own.
deferred = Deferred()


def imported(module: str) -> types.ModuleType:
    """Import a module on behalf of a call, or of somebody who asks for a name. Raises what its import raises."""
    with deferred:
        if threading.active_count() == 1:
            return importlib.import_module(module)
        with importing:  # another thread may fork
            return importlib.import_module(module)


__all__ = ["Deferred", "deferred", "imported"]
