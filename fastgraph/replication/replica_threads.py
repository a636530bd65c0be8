"""Replicas as threads: each runs the program of its replica, one at a time, from one meeting of all to the next.

Rule: the caller waits and hands on; of all the threads one runs. So replicas make nodes of one graph, Variables and
random numbers in an order that does not change: replica 0 up to where it waits for the others, then replica 1, ...
An error in one ends all of them, and none is left behind.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.core.base.locks import awaiting
from fastgraph.core.replicas import Replica, scopes
from fastgraph.core.tensor import ThreadState, current_state, init_scope
from fastgraph.graph.source_lines import boundaries
from fastgraph.state.distributed import regroup, select

#: Seconds that a replica has to end after another one failed, or the user interrupted; then it is left to itself.
_PATIENCE = 5.0

_IN_ANOTHER_GRAPH = (
    "`merge_call` called while defining a new graph or a tf.function: what `strategy.run` runs contains a nested "
    "tf.function, a cond or a loop in which replicas meet. Wrap the whole `strategy.run` in a tf.function instead."
)


class _Stop(BaseException):
    """Unwinds a replica that is not to go on."""


class ReplicaThread(threading.Thread):
    """One replica's run of a function."""

    def __init__(
        self, call: Callable[[], Any], context: Any, replica: Replica, device: str, around: ThreadState
    ) -> None:
        super().__init__(daemon=True, name=f"fastgraph-replica-{replica.index}")
        self._call, self._context, self._replica, self._device, self._around = call, context, replica, device, around
        self._go, self._back = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self._stopped = False
        self._waits = True  # for its turn
        self.ended = False
        self.error: BaseException | None = None
        self.result: Any = None
        self.meeting: tuple[Callable[..., Any], Sequence[Any], dict[str, Any]] | None = None
        self.answer: Any = None

    # On the replica's thread.

    def run(self) -> None:
        """Run the replica's program in the state that the caller's thread was in; its tapes are its own."""
        self._go.acquire()
        try:
            if not self._stopped:
                state, around = current_state(), self._around
                state.trace, state.tapes, state.extra = around.trace, [], dict(around.extra)
                state.device, state.replica = self._device, self._replica
                scopes.stack.append((self._context.strategy, self._context))
                self.result = self._call()
        except _Stop:
            pass
        except BaseException as error:
            self.error = error
        finally:
            self._call = self._around = None  # type: ignore[assignment]
            self.ended = True
            self._back.release()

    def is_nested(self) -> bool:
        """Return whether a Function is traced that the replica's program calls.

        Raises RuntimeError where its replicas would have ended when it runs: `run` is in a trace itself.
        """
        nested = current_state().trace is not self._around.trace and not self._is_lifted()
        if nested and self._around.trace is not None:
            raise RuntimeError(_IN_ANOTHER_GRAPH)
        return nested

    def _is_lifted(self) -> bool:
        """Return whether the program is in an `init_scope`, outside of the trace that `run` is in."""
        return self._around.trace is not None and current_state().trace is None

    def meet(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], at_run_time: bool = False
    ) -> Any:
        """Wait for the other replicas; return this one's part of what `function` gives for all.

        at_run_time: a step of a graph asks, on whatever thread it runs. Raises RuntimeError in a nested Function.
        """
        if self._stopped:
            raise _Stop
        if not at_run_time and self.is_nested():
            raise RuntimeError(_IN_ANOTHER_GRAPH)
        if not at_run_time and self._is_lifted():
            function = _lifted(function)
        self.meeting = function, args, kwargs
        self._waits = True
        self._back.release()
        self._go.acquire()
        if self._stopped:
            raise _Stop
        answer, self.answer, self.meeting = self.answer, None, None
        return answer

    # On the caller's.

    def resume(self) -> None:
        """Let it run until it waits for the others, or ends. Raises its error."""
        self._waits = False
        self._go.release()
        with awaiting(self.ident or 0):
            self._back.acquire()
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        """Have it unwind, wherever it is."""
        if not self.is_alive():
            return
        self._stopped = True
        if self._waits:
            self._go.release()
        elif not self.ended:  # the caller was interrupted
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident or 0), ctypes.py_object(_Stop))
        self.join(_PATIENCE)


boundaries.add(ReplicaThread.run.__code__)


def _lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what calls a function outside of the trace."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with init_scope():
            return function(*args, **kwargs)

    return call


def run_replicas(
    strategy: Any,
    contexts: Sequence[Any],
    devices: Sequence[str],
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    merge: Callable[..., Any],
) -> Any:
    """Return what `function` gives on each replica, as one structure; `merge(function, args, kwargs)` runs meetings.

    Raises the first error of a replica; RuntimeError where some end and others wait for them.
    """
    around, n = current_state(), len(contexts)
    threads: list[ReplicaThread] = []
    for index, context in enumerate(contexts):
        own_args, own_kwargs = select(tuple(args), index), select(dict(kwargs), index)

        def call(own_args: Any = own_args, own_kwargs: Any = own_kwargs) -> Any:
            return function(*own_args, **own_kwargs)

        thread = ReplicaThread(
            call, context, Replica(index, n, context, traced=around.trace is not None), devices[index], around
        )
        context.thread = thread
        threads.append(thread)
    before, strategy._running = strategy._running, threads
    try:
        for thread in threads:
            thread.start()
        while not all(thread.ended for thread in threads):
            for thread in threads:
                if not thread.ended:
                    thread.resume()
            waiting = [thread for thread in threads if not thread.ended]
            if not waiting:
                break
            if len(waiting) < n:
                raise RuntimeError("Some replicas made a different number of replica_context().merge_call() calls.")
            meetings = [thread.meeting for thread in threads if thread.meeting is not None]
            given = regroup([tuple(meeting[1]) for meeting in meetings])
            named = regroup([dict(meeting[2]) for meeting in meetings])
            answer = merge(meetings[0][0], given, named)
            for index, thread in enumerate(threads):
                thread.answer = select(answer, index)
    finally:
        for thread in threads:
            thread.stop()
        strategy._running = before
        for context in contexts:
            context.thread = None
    return regroup([thread.result for thread in threads])
