"""Replicas: which copy of a program this thread runs for a strategy of tf.distribute, as lower rooms may ask.

Rule: strategies lie above and are objects here. Where there is one replica, or none, `current` is None: a thread is
told of a replica only where several differ.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastgraph.core.base.logger import get_logger
from fastgraph.core.tensor import current_state

#: The options of a sum as optimizers give them: the strategy's own for gradients hold.
GRADIENTS = object()


class Replica:
    """One of several replicas: its number, how many there are, and the context that its program sees.

    context: None while Variables are updated between replicas. updates: assignments go to the replica's own copy, for
    all replicas make the same ones. traced: its program is part of a trace, so nobody waits for it when that runs.
    """

    __slots__ = ("context", "count", "index", "traced", "updates")

    def __init__(
        self, index: int, count: int, context: Any = None, updates: bool = False, traced: bool = False
    ) -> None:
        self.index, self.count, self.context, self.updates, self.traced = index, count, context, updates, traced

    @property
    def key(self) -> tuple[Any, ...]:
        """The part of a Function's key that says on which replica it is called."""
        return self.index, self.updates, self.traced, getattr(self.context, "strategy", None)


def current() -> Replica | None:
    """Return the one of several replicas that runs on this thread."""
    found: Replica | None = current_state().replica
    return found


@contextmanager
def acting(replica: Replica | None) -> Iterator[None]:
    """A context in which this thread runs a replica."""
    state = current_state()
    before, state.replica = state.replica, replica
    try:
        yield
    finally:
        state.replica = before


@contextmanager
def updating() -> Iterator[None]:
    """A context in which this thread's replica assigns to its own copies, as all the others do."""
    now = current()
    with acting(None if now is None else Replica(now.index, now.count, now.context, True, now.traced)):
        yield


class _Scopes(threading.local):
    """The scopes that this thread is in: pairs of a strategy and its replica's context, None between replicas."""

    def __init__(self) -> None:
        self.stack: list[tuple[Any, Any]] = []
        self.saving = False


scopes = _Scopes()


@contextmanager
def saving() -> Iterator[None]:
    """A context in which a Variable that replicas keep apart is its first copy: what is loaded has no replicas."""
    before, scopes.saving = scopes.saving, True
    try:
        yield
    finally:
        scopes.saving = before


def strategy() -> Any:
    """Return the strategy in whose scope this thread is, None for the default one."""
    return scopes.stack[-1][0] if scopes.stack else None


def count() -> int:
    """Return how many replicas the strategy of this thread's scope has."""
    return scopes.stack[-1][0].num_replicas_in_sync if scopes.stack else 1


def is_first() -> bool:
    """Return whether this thread is in no replica of a strategy's scope but the first: that one writes for all."""
    return not scopes.stack or getattr(scopes.stack[-1][1], "_replica_id", 0) == 0


def between() -> bool:
    """Return whether this thread is in the scope of a strategy and not in a replica."""
    return bool(scopes.stack) and scopes.stack[-1][1] is None


class _Process:
    """This process among those of a MultiWorkerMirroredStrategy: its number, and whether it has warned.

    journal: of what it has begun with others (replication/message_sums.py), None without any.
    staged: how often something that brings values of processes together was called, in traces too.
    """

    number = 0
    warned = False
    journal: Any = None
    staged = 0

    def begun(self) -> int:
        """Return how many exchanges with others were begun."""
        return 0 if self.journal is None else int(self.journal.begun)

    def note_failure(self, begun: int) -> None:
        """Note that what the processes do together has ended by an error in this one, and whether behind an exchange.

        begun: how many there were when it began.
        """
        if self.journal is not None:
            self.journal.fail(self.journal.begun > begun)


process = _Process()


def writes(path: str) -> bool:
    """Return whether this process writes the files of a checkpoint or a model under a path that all processes give.

    The first does. Another one does in folders named after it (`workertemp_1`, as the guides have them, `rank1`);
    elsewhere it would remove and replace the first one's files, so it makes the folder and leaves it at that.
    """
    number = process.number
    if not number or re.search(rf"(worker|process|rank|task)[a-z_-]*0*{number}(?=[/\\])", path, re.IGNORECASE):
        return True
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    if not process.warned:
        process.warned = True
        get_logger().warning(
            "%s is written by process 0; process %d writes checkpoints and models in folders named after it alone "
            "(such as worker_%d).", path, number, number,
        )  # fmt: skip
    return False
