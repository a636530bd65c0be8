"""Random numbers drawn twice: what a piece of a program drew when it ran is drawn again when it is recomputed.

Rule: only the states are kept, in the order in which they were taken; the numbers follow from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fastgraph.core.tensor import current_state, current_trace
from fastgraph.ops.random_states import REPLAY, Source


class Replay:
    """The states that a piece of a program drew, so that it draws the same numbers when it is run again."""

    def __init__(self) -> None:
        self.states: list[Any] = []
        self.again: Iterator[Any] | None = None

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note the states that this thread's random ops take inside."""
        trace = current_trace()
        self.states = []
        with self._active(None):
            yield
        for state in self.states:
            if getattr(state, "trace", trace) is not trace:
                raise NotImplementedError(
                    "recompute_grad: a random op in a cond or loop inside the function cannot draw the same numbers "
                    "when it is run again in a Function. Draw them outside, and pass them in."
                )

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """Let this thread's random ops take the noted states again, in the same order."""
        with self._active(iter(self.states)):
            yield

    @contextmanager
    def _active(self, again: Iterator[Any] | None) -> Iterator[None]:
        extra = current_state().extra
        before, outer = self.again, extra.get(REPLAY)
        self.again, extra[REPLAY] = again, self
        try:
            yield
        finally:
            self.again, extra[REPLAY] = before, outer

    def source(self, own: Callable[[], Source]) -> Source:
        """Return where a random op takes its numbers: from its own source, noted, or from the states noted before."""
        return _Noted(self, own()) if self.again is None else _Replayed(self)


class _Noted(Source):
    """A source whose states are noted."""

    __slots__ = ("replay", "source")

    def __init__(self, replay: Replay, source: Source) -> None:
        self.replay = replay
        self.source = source

    def blocks(self, n: int) -> Any:
        """The state whose next n blocks are the caller's."""
        state = self.source.blocks(n)
        self.replay.states.append(state)
        return state


class _Replayed(Source):
    """A source that gives noted states again."""

    __slots__ = ("replay",)

    def __init__(self, replay: Replay) -> None:
        self.replay = replay

    def blocks(self, n: int) -> Any:
        """The state that was noted in this place."""
        assert self.replay.again is not None
        return next(self.replay.again)
