"""Sums over processes begin while the graph that makes the gradients still runs; one process here plays all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.replication import collectives, multi_worker


class _Link:
    """As if another process had the same."""

    rank, size, names = 0, 2, ("here:0", "there:0")

    def __init__(self) -> None:
        self.sent: list[list[tuple[int, ...]]] = []
        self._own: list[list[np.ndarray]] = []

    def start(self, arrays: Sequence[np.ndarray], compress: bool = False) -> int:
        """Note what is sent."""
        self.sent.append([array.shape for array in arrays])
        self._own.append([array.copy() for array in arrays])
        return len(self._own) - 1

    def end(self, number: int) -> list[np.ndarray]:
        """Return the sums."""
        return [array * 2 for array in self._own[number]]

    def steps(self, layout: Any, compress: bool) -> tuple[tuple[int, int], tuple[int, int]]:
        """There are none in C."""
        return (0, 0), (0, 0)

    def of_first(self, array: np.ndarray) -> np.ndarray:
        """Return what this process has."""
        return array


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Link]:
    """A link to a process that is not there."""
    found = _Link()
    monkeypatch.setattr(collectives, "world", lambda: found)
    monkeypatch.setattr(collectives, "link", lambda limit: found)
    yield found


def test_gradients_leave_in_packs_as_soon_as_these_are_whole(link: _Link) -> None:
    options = multi_worker.CommunicationOptions(bytes_per_pack=6000)
    strategy = fg.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    with strategy.scope():
        weights = [fg.Variable(fg.random.normal([32, 32])) for _ in range(4)]
        optimizer = fg.keras.optimizers.SGD(0.1)
        optimizer.build(weights)

    @fg.function
    def step(x: Any) -> Any:
        def run(x: Any) -> Any:
            with fg.GradientTape() as tape:
                y = x
                for w in weights:
                    y = fg.tanh(y @ w)
                loss = fg.reduce_sum(y**2)
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return loss

        return strategy.run(run, (x,))

    concrete = step.get_concrete_function(fg.ones([16, 32]))
    with flags.override(tier="last"):
        concrete(fg.ones([16, 32]))
    steps = concrete.executable.program.steps
    kinds = []
    for each in steps:
        node = getattr(each, "node", None)
        if node is not None and node.op.name == "communicate":
            kinds.append("start" if node.attrs["early"] else "end")
        elif type(each).__name__ == "GemmStep" or (node is not None and "matmul" in node.op.name):
            kinds.append("product")
    assert kinds.count("start") == kinds.count("end") == 4
    first, last = kinds.index("start"), len(kinds) - 1 - kinds[::-1].index("product")
    assert kinds[first:last].count("product") >= 3, kinds  # products come while sums are under way
    assert kinds.index("end") > last, kinds
    link.sent.clear()
    before = [w.numpy() for w in weights]
    step(fg.ones([16, 32]))
    assert link.sent == [[(32, 32)]] * 4
    assert all((w.numpy() != b).any() for w, b in zip(weights, before, strict=True))
