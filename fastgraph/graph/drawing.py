"""Drawings of graphs: operations in layers, from what they take down to what they give, as SVG or PNG.

Rule: no program and no library is needed for SVG. The layout is by layers: an operation stands below all that it takes,
constants beside what takes them, and within a layer where its neighbours above are.
"""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from fastgraph.graph.graphdef_ops import Definition, definitions
from fastgraph.graph.ir import Graph, Value, format_aval

#: Sizes in pixels.
HEIGHT, GAP_X, GAP_Y, MARGIN, LETTER = 34, 18, 34, 16, 6.6
#: What a box shows by its colour: (fill, border).
COLOURS = {
    "argument": ("#e3f2e6", "#3c8a4d"),
    "constant": ("#f2f2f2", "#9a9a9a"),
    "variable": ("#fdebd3", "#c9822b"),
    "control": ("#ece6f7", "#6a4fa3"),
    "result": ("#e0edfb", "#2f6fb3"),
    "operation": ("#ffffff", "#555555"),
}
_KINDS = {"Placeholder": "argument", "Const": "constant", "ReadVariableOp": "variable", "NoOp": "control"}


class Box(NamedTuple):
    """An operation in the drawing: its two lines of text, its kind, and where it stands."""

    name: str
    text: str
    kind: str
    x: float
    y: float
    width: float


class Edge(NamedTuple):
    """A tensor between two operations (dashed: an order and no tensor), with what it is as text."""

    start: int
    end: int
    text: str
    dashed: bool


class Panel(NamedTuple):
    """The drawing of one graph: a branch or body has its own below."""

    title: str
    boxes: list[Box]
    edges: list[Edge]
    width: float
    height: float


def panels(graph: Graph) -> list[Panel]:
    """Return the drawings of a graph and of its subgraphs, each once."""
    found: list[Panel] = []
    waiting: list[tuple[str, Graph]] = [(graph.name, graph)]
    seen = {graph}
    while waiting:
        title, each = waiting.pop(0)
        written = definitions(each)
        found.append(_panel(title, written, each))
        for definition in written:
            for attr, value in definition.attrs.items():
                if isinstance(value, Graph) and value not in seen:
                    seen.add(value)
                    waiting.append((f"{definition.name}: {attr} ({value.name})", value))
    return found


# ---------------------------------------------------------------------------------------------------------------------
# The layout


def _panel(title: str, written: Sequence[Definition], graph: Graph) -> Panel:
    maker = {value: i for i, definition in enumerate(written) for value in definition.outputs}
    place = {definition.name: i for i, definition in enumerate(written)}
    edges = []
    for i, definition in enumerate(written):
        edges += [Edge(maker[value], i, format_aval(value.aval), False) for value in definition.inputs]
        edges += [Edge(place[name], i, "", True) for name in definition.control if name in place]
    layers = _layers(len(written), edges, {i for i, each in enumerate(written) if each.type == "Const"})
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for i, layer in enumerate(layers):
        rows[layer].append(i)
    _order(rows, edges)
    results = {maker[value] for value in graph.outputs if value in maker}
    texts = [_texts(definition) for definition in written]
    widths = [max(len(name), len(text)) * LETTER + 16 for name, text in texts]
    total = max([sum(widths[i] for i in row) + GAP_X * (len(row) - 1) for row in rows], default=0.0)
    total = max(total, len(title) * 7.5)
    boxes: dict[int, Box] = {}
    for k, row in enumerate(rows):
        x = MARGIN + (total - sum(widths[i] for i in row) - GAP_X * (len(row) - 1)) / 2
        for i in row:
            kind = "result" if i in results else _KINDS.get(written[i].type, "operation")
            boxes[i] = Box(*texts[i], kind, x, MARGIN + 22 + k * (HEIGHT + GAP_Y), widths[i])
            x += widths[i] + GAP_X
    height = 2 * MARGIN + 22 + max(len(rows), 1) * (HEIGHT + GAP_Y) - GAP_Y
    return Panel(title, [boxes[i] for i in range(len(written))], edges, total + 2 * MARGIN, height)


def _texts(definition: Definition) -> tuple[str, str]:
    """The name, and the type of operation with the type of its result."""
    outputs: Sequence[Value] = definition.outputs
    kind = f" {format_aval(outputs[0].aval)}" if len(outputs) == 1 else f" {len(outputs)} tensors" if outputs else ""
    return definition.name, definition.type + kind


def _layers(n: int, edges: Sequence[Edge], constants: set[int]) -> list[int]:
    """The layer of each: one below the lowest of what it takes; a constant just above the first that takes it."""
    layers = [0] * n
    takes: list[list[int]] = [[] for _ in range(n)]
    gives: list[list[int]] = [[] for _ in range(n)]
    for start, end, _, _ in edges:
        takes[end].append(start)
        gives[start].append(end)
    waits = [len(each) for each in takes]
    ready = [i for i in range(n) if not waits[i]]
    while ready:
        i = ready.pop()
        for end in gives[i]:
            layers[end] = max(layers[end], layers[i] + 1)
            waits[end] -= 1
            if not waits[end]:
                ready.append(end)
    for i in constants:
        if gives[i]:
            layers[i] = min(layers[end] for end in gives[i]) - 1
    return layers


def _order(rows: list[list[int]], edges: Sequence[Edge]) -> None:
    """Sort each row by the mean place of its neighbours in the row before, down and up, so that few edges cross."""
    near: dict[int, list[int]] = {}
    for start, end, _, _ in edges:
        near.setdefault(start, []).append(end)
        near.setdefault(end, []).append(start)
    place = {i: k / max(len(row), 1) for row in rows for k, i in enumerate(row)}
    for turn in range(4):
        for row in rows if turn % 2 == 0 else reversed(rows):
            means = {i: sum(place[j] for j in near[i]) / len(near[i]) if i in near else place[i] for i in row}
            row.sort(key=lambda i: means[i])
            place.update({i: k / len(row) for k, i in enumerate(row)})


# ---------------------------------------------------------------------------------------------------------------------
# SVG


def svg(graph: Graph) -> str:
    """Return the drawing of a graph as the text of an SVG file: a panel for it and one for each subgraph below."""
    drawn = panels(graph)
    width = max(panel.width for panel in drawn)
    height = sum(panel.height for panel in drawn)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="11">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#666"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    top = 0.0
    for panel in drawn:
        lines.append(f'<g transform="translate(0,{top:.0f})">')
        lines.append(
            f'<text x="{MARGIN}" y="{MARGIN + 8}" font-size="13" font-weight="bold">{_safe(panel.title)}</text>'
        )
        lines += [_path(panel, edge) for edge in panel.edges]
        lines += [_rectangle(box) for box in panel.boxes]
        lines.append("</g>")
        top += panel.height
    return "\n".join([*lines, "</svg>", ""])


def _safe(text: str) -> str:
    return html.escape(text)


def _ends(panel: Panel, edge: Edge) -> tuple[float, float, float, float]:
    """Where an edge begins and ends."""
    start, end = panel.boxes[edge.start], panel.boxes[edge.end]
    return start.x + start.width / 2, start.y + HEIGHT, end.x + end.width / 2, end.y


def _path(panel: Panel, edge: Edge) -> str:
    x0, y0, x1, y1 = _ends(panel, edge)
    bend = max((y1 - y0) / 2, 8)
    dashes = ' stroke-dasharray="4 3"' if edge.dashed else ""
    return (
        f'<path d="M{x0:.1f},{y0:.1f} C{x0:.1f},{y0 + bend:.1f} {x1:.1f},{y1 - bend:.1f} {x1:.1f},{y1:.1f}" '
        f'fill="none" stroke="#888"{dashes} marker-end="url(#arrow)"><title>{_safe(edge.text)}</title></path>'
    )


def _rectangle(box: Box) -> str:
    fill, border = COLOURS[box.kind]
    middle = box.x + box.width / 2
    return (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{HEIGHT}" rx="5" fill="{fill}" '
        f'stroke="{border}"/><text x="{middle:.1f}" y="{box.y + 14:.1f}" text-anchor="middle">{_safe(box.name)}</text>'
        f'<text x="{middle:.1f}" y="{box.y + 27:.1f}" text-anchor="middle" font-size="10" fill="#666">'
        f"{_safe(box.text)}</text>"
    )


# ---------------------------------------------------------------------------------------------------------------------
# Files


def draw(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write the drawing to `path`: SVG, or PNG where matplotlib is there.

    Raises ValueError for another ending, ImportError for PNG without matplotlib.
    """
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending == ".svg":
        with open(path, "w", encoding="utf-8") as file:
            file.write(svg(graph))
    elif ending == ".png":
        _png(graph, path)
    else:
        raise ValueError(f"a graph is drawn as .svg or .png, and {os.fspath(path)!r} ends otherwise")


def _png(graph: Graph, path: Any) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
    except ImportError:
        raise ImportError("a PNG is drawn by matplotlib, which is not installed; .svg needs nothing") from None
    drawn = panels(graph)
    width, height = max(panel.width for panel in drawn), sum(panel.height for panel in drawn)
    scale = min(1.0, 20_000 / max(width, height))  # what an image may measure
    figure = Figure(figsize=(width * scale / 72, height * scale / 72), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    top = 0.0
    for panel in drawn:
        axes.text(MARGIN, top + MARGIN + 8, panel.title, fontsize=9 * scale, weight="bold")
        for edge in panel.edges:
            x0, y0, x1, y1 = _ends(panel, edge)
            line = "--" if edge.dashed else "-"
            arrow = FancyArrowPatch(
                (x0, top + y0), (x1, top + y1), arrowstyle="-|>", mutation_scale=8 * scale, color="#888888",
                linestyle=line, linewidth=0.8 * scale, shrinkA=0, shrinkB=0,
            )  # fmt: skip
            axes.add_patch(arrow)
        for box in panel.boxes:
            fill, border = COLOURS[box.kind]
            y = top + box.y
            axes.add_patch(
                FancyBboxPatch(
                    (box.x, y), box.width, HEIGHT, boxstyle="round,pad=0,rounding_size=5", facecolor=fill,
                    edgecolor=border, linewidth=0.8 * scale,
                )
            )  # fmt: skip
            middle = box.x + box.width / 2
            axes.text(middle, y + 11, box.name, fontsize=7.5 * scale, ha="center", va="center")
            axes.text(middle, y + 24, box.text, fontsize=6.5 * scale, ha="center", va="center", color="#666666")
        top += panel.height
    figure.savefig(path)
