"""Datasets in random orders: shuffled elements, and random numbers as elements."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int64
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.native.philox import permuted, shuffled, words
from fastgraph.core.tensor import from_array
from fastgraph.data.element_specs import Element
from fastgraph.data.random_access import Table, whole
from fastgraph.data.sources import INFINITE, UNKNOWN, Run, Source
from fastgraph.data.transformations import MOST_ROWS, Same
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.random_states import advanced, first_state


class Ordered:
    """Sources that have an order of their own: with a seed, of the op or of the program, TensorFlow's.

    Every pass draws two seeds from the dataset's stream of Philox words, when its iterator is made or, of one that
    begins later, with its first element.
    """

    anew = True

    def __init__(self, seed: tuple[int, int] | None, again: bool) -> None:
        self.first, self.again = first_state(seed), again  # again: whether passes have orders of their own
        self.seeds = _Words(self.first)

    def state(self, run: Run) -> Any:
        """Return the state of a pass's words."""
        drawn = run.drawn.get(self)  # type: ignore[call-overload]
        return drawn.pop(0) if drawn else self.draw()

    def draw(self) -> Any:
        """Draw the state of another pass."""
        if not self.again:
            return self.first
        first, second = next(self.seeds), next(self.seeds)
        return np.array([0, second, first], np.int64)

    def order(self) -> list[Any]:
        """Return from where the orders of further passes follow: what `take_order` goes back to."""
        return [self.first.tolist(), self.seeds.state.tolist(), self.seeds.drawn[:]]

    def take_order(self, order: list[Any]) -> None:
        """Go back to such a place. Raises ValueError for what is none."""
        first, state, drawn = order
        self.first, self.seeds.state = np.array(first, np.int64).reshape(3), np.array(state, np.int64).reshape(3)
        self.seeds.drawn = [int(word) for word in drawn]


class Shuffle(Ordered, Same):
    """The elements, each chosen at random from the next `buffer_size`. Source: tf.data.Dataset.shuffle.

    A pass draws one word for each element.
    """

    name, decides = "_ShuffleDataset", ("buffer_size",)
    only_first = True
    aside = (*Source.aside, "first", "seeds", "seed")  # TensorFlow takes shuffles of all seeds for alike

    def __init__(self, source: Source, buffer_size: Any, *, seed: tuple[int, int] | None, reshuffle: bool) -> None:
        Same.__init__(self, source)
        Ordered.__init__(self, seed, reshuffle)
        self.seed = seed
        if isinstance(buffer_size, int) and buffer_size < 1 and buffer_size != UNKNOWN:
            text = "buffer_size must be greater than zero or UNKNOWN_CARDINALITY [Op:ShuffleDatasetV3]"
            raise InvalidArgumentError(None, None, text)
        self.buffer_size = buffer_size

    def at_once(self) -> list[Source]:
        return []  # its source's pass begins as the buffer is filled

    def elements(self, run: Run) -> Iterator[Element]:
        if run.by_index:
            return self._permuted(run)
        state = self.state(run)
        return _Shuffled(self.source.elements(run), self.buffer_size, _Words(state))

    def _permuted(self, run: Run) -> Iterator[Element]:
        """The elements in the order in which `at` has them, whatever the buffer: TensorFlow's."""
        rows, (_, second, first) = list(self.source.elements(run)), self.first
        state = np.array([0, second if self.again else first, first], np.int64)
        return map(rows.__getitem__, permuted(state, len(rows)).tolist())

    def table(self, run: Run) -> Table | None:
        if run.by_index or not 0 <= self.source.cardinality() <= MOST_ROWS:
            return None
        table = whole(self.source, run)
        if table is None:
            return None

        def keys() -> Iterator[Any]:
            state = self.state(run)  # not before a pass begins: who finds no table further on asks for elements instead
            given = [np.empty(0, np.int64), *table.keys]
            yield shuffled(np.concatenate(given), sys.maxsize if self.buffer_size < 0 else self.buffer_size, state)

        return table.with_keys(keys(), ordered=False)


class Random(Ordered, Source):
    """Random words, TensorFlow's for a seed. Source: tf.data.Dataset.random."""

    name = "_RandomDataset"
    aside = (*Source.aside, "first", "seeds")
    spec = TensorSpec((), int64)

    def __init__(self, *, seed: tuple[int, int] | None, again: bool) -> None:
        Ordered.__init__(self, seed, again)
        self.seed = seed

    def elements(self, run: Run) -> Iterator[Element]:
        return zip(map(from_array, map(np.asarray, map(np.int64, _Words(self.state(run))))))

    def cardinality(self) -> int:
        return INFINITE


class _Words(Iterator[int]):
    """The words of a stream, one after another. The state of one is i64[3]."""

    def __init__(self, state: np.ndarray) -> None:
        self.state = state
        self.drawn: list[int] = []

    def __next__(self) -> int:
        if not self.drawn:  # one at a time costs more than all that is done with it
            self.drawn = words(self.state, 256)[::-1].tolist()
            self.state = advanced(self.state, 64)
        return self.drawn.pop()


class _Shuffled(Iterator[Element]):
    """One pass in random order. The buffer is a ring: the place of the element taken gets the one at its beginning."""

    def __init__(self, elements: Iterator[Element], size: int, numbers: _Words) -> None:
        self.left, self.size, self.numbers = elements, size, numbers
        self.ring: list[Element | None] = []
        self.begin = self.n = 0  # the first of the n elements
        self.ended = False

    def __next__(self) -> Element:
        while not self.ended and (self.n < self.size or self.size < 0):
            try:
                element = next(self.left)
            except StopIteration:
                self.ended = True
                break
            if len(self.ring) < self.size or self.size < 0:
                self.ring.append(element)
            else:
                self.ring[(self.begin + self.n) % self.size] = element
            self.n += 1
        if not self.n:
            raise StopIteration
        room = len(self.ring)
        chosen = (self.begin + next(self.numbers) % self.n) % room
        found = self.ring[chosen]
        self.ring[chosen] = self.ring[self.begin]
        self.ring[self.begin] = None
        self.begin = (self.begin + 1) % room
        self.n -= 1
        assert found is not None
        return found
