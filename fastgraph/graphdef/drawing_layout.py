"""Places of a drawing's operations: layers, the order within a layer, places from left to right.

Rule: an operation stands below all that it takes. What only feeds others (constants, captures, reads) stands just above
the first that takes it. An edge that passes layers has a place in each of them, so that it runs through no box.
Source: Sugiyama, Tagawa and Toda 1981; places by least squares in the given order (pool adjacent violators).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: Most places for edges that pass layers; a graph with more is drawn with straight edges.
MOST = 20_000
LANE = 8.0  # the width of such a place, in pixels


class Layout(NamedTuple):
    """The layer and middle of each operation, the width of all, and the layers and middles that each edge passes."""

    layers: list[int]
    middles: list[float]
    width: float
    passes: list[list[tuple[int, float]]]


def layout(widths: Sequence[float], edges: Sequence[tuple[int, int]], first: set[int], gap: float) -> Layout:
    """Return the places of operations of these widths; those in `first` stay in the topmost layer."""
    n = len(widths)
    layers = _layers(n, edges, first)
    sizes = list(widths)
    lanes: list[int] = list(layers)
    links: list[tuple[int, int]] = []
    chains: dict[tuple[int, int], int] = {}  # (operation, layer) -> the place that its edges take there
    total = sum(max(layers[end] - layers[start] - 1, 0) for start, end in edges)
    ways: list[list[int]] = []
    for start, end in edges:
        way: list[int] = []
        for layer in range(layers[start] + 1, layers[end]) if total <= MOST else ():
            place = chains.get((start, layer))
            if place is None:
                place = chains[start, layer] = len(sizes)
                sizes.append(LANE)
                lanes.append(layer)
                links.append((way[-1] if way else start, place))
            way.append(place)
        links.append((way[-1] if way else start, end))
        ways.append(way)
    rows: list[list[int]] = [[] for _ in range(max(lanes, default=-1) + 1)]
    for i, layer in enumerate(lanes):
        rows[layer].append(i)
    middles = _middles(rows, links, sizes, gap)
    left = min([middles[i] - sizes[i] / 2 for i in range(len(sizes))], default=0.0)
    right = max([middles[i] + sizes[i] / 2 for i in range(len(sizes))], default=0.0)
    middles = [middle - left for middle in middles]
    passes = [[(lanes[place], middles[place]) for place in way] for way in ways]
    return Layout(layers, middles[:n], right - left, passes)


def _layers(n: int, edges: Sequence[tuple[int, int]], first: set[int]) -> list[int]:
    """The layer of each: one below the lowest of what it takes; then as low as what it feeds allows."""
    layers = [0] * n
    takes: list[list[int]] = [[] for _ in range(n)]
    gives: list[list[int]] = [[] for _ in range(n)]
    for start, end in edges:
        takes[end].append(start)
        gives[start].append(end)
    waits = [len(each) for each in takes]
    ready = [i for i in range(n) if not waits[i]]
    order = []
    while ready:
        i = ready.pop()
        order.append(i)
        for end in gives[i]:
            layers[end] = max(layers[end], layers[i] + 1)
            waits[end] -= 1
            if not waits[end]:
                ready.append(end)
    feeders = set()  # what depends on nothing that is in the topmost layer
    for i in order:
        if i not in first and all(start in feeders for start in takes[i]):
            feeders.add(i)
    for i in reversed(order):
        if i in feeders and gives[i]:
            layers[i] = min(layers[end] for end in gives[i]) - 1
    return layers


def _middles(
    rows: list[list[int]], links: Sequence[tuple[int, int]], sizes: Sequence[float], gap: float
) -> list[float]:
    """The middle of each place: near those of its neighbours, few edges crossing."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for start, end in links:
        above.setdefault(end, []).append(start)
        below.setdefault(start, []).append(end)
    middles = [0.0] * len(sizes)
    for row in rows:
        x = -sum(sizes[i] + gap for i in row) / 2
        for i in row:
            middles[i] = x + (sizes[i] + gap) / 2
            x += sizes[i] + gap
    for turn in range(8):
        near = above if turn % 2 == 0 else below
        for row in rows if turn % 2 == 0 else reversed(rows):
            wanted = {i: sum(middles[j] for j in near[i]) / len(near[i]) if i in near else middles[i] for i in row}
            if turn < 6:
                row.sort(key=lambda i: wanted[i])
            _settle(row, wanted, sizes, gap, middles)
    return middles


def _settle(
    row: Sequence[int], wanted: dict[int, float], sizes: Sequence[float], gap: float, middles: list[float]
) -> None:
    """Put the row, in its order and without overlaps, as near to what is wanted as can be."""
    blocks: list[list[float]] = []  # sums of what is wanted, and how many share a block
    offsets = []
    offset = 0.0
    for k, i in enumerate(row):
        if k:
            offset += (sizes[row[k - 1]] + sizes[i]) / 2 + gap
        offsets.append(offset)
        blocks.append([wanted[i] - offset, 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    k = 0
    for total, count in blocks:
        for _ in range(int(count)):
            middles[row[k]] = total / count + offsets[k]
            k += 1
