"""The shape of a list in a graph under construction, as far as it is known, and the tensors that it is told.

Rule: what is learnt of the elements from one write holds for all tensors that stand for the list, those of loops and
branches too, and what has reserved the list's entries gets to know it.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.base.shapes import Shape
from fastgraph.core.registry import get


def reaches(trace: Any, outer: Any) -> bool:
    """Return whether `trace` is `outer`, or inside of it; scratch graphs, which never run, reach one another."""
    while trace is not None and trace is not outer and not (trace.scratch and outer.scratch):
        trace = trace.outer
    return trace is not None


def merge(known: Shape, more: Shape) -> Shape:
    """Return a shape of all that two shapes say; where they contradict one another, what the first says."""
    if known is None or more is None or len(known) != len(more):
        return more if known is None else known
    return tuple([b if a is None else a for a, b in zip(known, more, strict=True)])


class ListShape:
    """A list's shape as far as it is known, and the tensors of graphs under construction that stand for the list."""

    def __init__(self, rows: int | None, element: Shape, trace: Any) -> None:
        self.rows = rows  # None: known only when the graph runs, or it changes
        self.element = element
        self.trace = trace
        self.tensors: list[Any] = []
        self.alike: list[ListShape] = []  # of the same list: in another branch, after an iteration
        # Of one of another shape or number of entries that stands in the same place: what the two have in common.
        self.common: tuple[Shape] | None = None
        self.given = False  # whether it was made where nothing tells what the elements' shape is: by a caller, say
        self.ranks: set[int | None] = set()  # where entries may differ: those of what was written, None: not known

    @property
    def whole(self) -> bool:
        """True if the shape of the elements is all known."""
        return self.element is not None and None not in self.element

    @property
    def said(self) -> bool:
        """True if all its tensors have the shape that is known, before anything is written too."""
        return self.whole and not self.given

    def serves(self, trace: object) -> bool:
        """Return whether `trace` is the one this was made in, or inside of it."""
        return reaches(trace, self.trace)

    def add(self, tensor: Any) -> None:
        """Let `tensor` know what becomes known."""
        node = tensor.value.node
        if node.op.name == "placeholder" and tensor.trace.kind == "function":
            self.given = self.given or not self.whole  # an argument: its callers go by the signature
            return
        self.tensors.append(tensor)
        if self.element is not None:
            self._tell(tensor)

    def learn(self, element: Shape) -> None:
        """Note what is known of the shape of an element besides; of `alike` too."""
        merged = merge(self.element, element)
        if merged != self.element:
            self.element = merged
            for tensor in self.tensors:
                self._tell(tensor)
        for other in self.alike:
            if merge(other.element, self.element) != other.element:
                other.learn(self.element)

    def note_rank(self, rank: int | None) -> None:
        """Note that an entry of this rank is written; of `alike` too."""
        if rank not in self.ranks:
            self.ranks.add(rank)
            for other in self.alike:
                other.note_rank(rank)

    def _tell(self, tensor: Any) -> None:
        assert self.element is not None
        node = tensor.value.node
        if node.op.name == "list_blank" and self.whole:
            node.op = get("list_reserve")
        if node.op.name in ("list_blank", "list_reserve"):
            node.attrs = {**node.attrs, "element": self.element}
        if tensor.aval.shape is None or merge(tensor.aval.shape[1:], self.element) != tensor.aval.shape[1:]:
            tensor.set_shape((self.rows, *self.element))
            if node.op.name == "placeholder":
                node.attrs = {**node.attrs, "shape": tensor.aval.shape}
