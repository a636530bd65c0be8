"""Handlers of signals wait while modules are imported on demand, and so do forks by other threads; none is traced.

Rule: a handler runs between any two bytecodes of the main thread, and would find half of a module that is being
imported there; what it has to do is done when the import is over. What it raises is never lost, nor taken for a fault
of what it interrupts: handlers wait where every exception has a meaning (a function that cannot be converted, a graph
that cannot be compiled), and each is put back, whatever those raise that are back already. A forked child would find
Python's lock of such a module taken for good. While the main thread traces, a handler runs at once (it may be there to
end what takes too long), but its ops are none of the trace's.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes enumerations of its names, which takes longer than all that is done here
import _thread
import functools
import importlib
import sys
import threading
import types
from typing import Any

from fastgraph.core.base.locks import importing

_SIGNALS = range(1, _signal.NSIG)
_depth = 0  # of the main thread's imports
_handlers: dict[int, tuple[Any, Any]] = {}  # those that wait, and what is there meanwhile
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
        try:
            for number in _SIGNALS:
                handler = _signal.getsignal(number)
                if callable(handler):
                    _handlers[number] = handler, _note
                    _signal.signal(number, _note)
        except BaseException:  # what a handler raised whose turn had not come
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        global _depth
        if _thread.get_ident() != threading.main_thread().ident:
            return
        _depth -= 1
        if _depth:
            return
        waiting = dict(_handlers)
        try:
            _put_back(_handlers)
        finally:
            _call_those_that_came(waiting)


def _put_back(handlers: dict[int, tuple[Any, Any]]) -> None:
    """Install the handlers again where their substitutes are, all of them, whatever those that are there raise."""
    try:
        while handlers:
            number, (handler, substitute) = next(iter(handlers.items()))
            if _signal.getsignal(number) is substitute:
                _signal.signal(number, handler)
            del handlers[number]
    finally:
        if handlers:
            _put_back(handlers)


def _call_those_that_came(handlers: dict[int, tuple[Any, Any]]) -> None:
    try:
        while _came:
            number = _came.pop(0)
            handlers[number][0](number, sys._getframe(2))
    finally:
        if _came:
            _call_those_that_came(handlers)


def _note(number: int, frame: Any) -> None:
    _came.append(number)


#: The one there is: it has no state of its own.
deferred = Deferred()


class Untraced:
    """A context manager in which Python's handlers of signals run in a state like that of a thread of their own.

    `state` is the ThreadState: the trace, tapes, device and scopes in it are those of what the handler interrupts. A
    handler that is set meanwhile is called as it is.
    """

    __slots__ = ("_replaced", "_state")

    def __init__(self, state: Any) -> None:
        self._state = state
        self._replaced: dict[int, tuple[Any, Any]] = {}

    def __enter__(self) -> None:
        if _thread.get_ident() != threading.main_thread().ident:
            return
        try:
            for number in _SIGNALS:
                handler = _signal.getsignal(number)
                if callable(handler) and handler not in (_signal.default_int_handler, _note):
                    self._replaced[number] = handler, functools.partial(self._call, handler)
                    _signal.signal(number, self._replaced[number][1])
        except BaseException:  # what a handler raised
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        _put_back(self._replaced)

    def _call(self, handler: Any, number: int, frame: Any) -> Any:
        state = self._state
        before = state.trace, state.tapes, state.device, state.replica, state.extra
        state.trace, state.tapes, state.device, state.replica, state.extra = None, [], None, None, {}
        try:
            return handler(number, frame)
        finally:
            state.trace, state.tapes, state.device, state.replica, state.extra = before


def imported(module: str) -> types.ModuleType:
    """Import a module on behalf of a call, or of somebody who asks for a name. Raises what its import raises."""
    with deferred:
        if threading.active_count() == 1:
            return importlib.import_module(module)
        with importing:  # another thread may fork
            return importlib.import_module(module)


@functools.cache
def library(module: str) -> types.ModuleType:
    """`imported`, of modules of libraries, for those who ask for them at each call."""
    return imported(module)
