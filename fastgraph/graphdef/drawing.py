"""Drawings of graphs: operations in layers, from what they take down to what they give, as SVG or PNG.

Rule: no program and no library is needed for SVG. The full name of an operation is its box's title in the SVG; what
is written in the box leaves out the first scopes of a long one.
"""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.graph.ir import Graph, Value, format_aval
from fastgraph.graphdef.drawing_layout import layout
from fastgraph.graphdef.node_bytes import Definition
from fastgraph.graphdef.node_definitions import definitions
from fastgraph.graphdef.op_table import One

#: Sizes in pixels.
HEIGHT, GAP_X, GAP_Y, MARGIN, LETTER = 34, 14, 34, 16, 6.6
TITLE = 22  # the height of a panel's title
LONGEST = 34  # letters of a name in a box
LEGIBLE = 0.3  # a PNG that is smaller by more than this has no letters
#: Colours of boxes: (fill, border).
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
    """An operation in the drawing: its name, its two lines of text, its kind, and where it stands."""

    name: str
    label: str
    text: str
    kind: str
    x: float
    y: float
    width: float


class Edge(NamedTuple):
    """A tensor between two operations (dashed: an order and no tensor), what it is as text, and where it passes."""

    start: int
    end: int
    text: str
    dashed: bool
    points: list[tuple[float, float]] = []  # noqa: RUF012  # from the box above to the one below


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


# ---- The layout -----------------------------------------------------------------------------------------------------


def _panel(title: str, written: Sequence[Definition], graph: Graph) -> Panel:
    maker = {value: i for i, definition in enumerate(written) for value in definition.outputs}
    place = {definition.name: i for i, definition in enumerate(written)}
    edges = []
    for i, definition in enumerate(written):
        edges += [Edge(maker[value], i, format_aval(value.aval), False) for value in definition.inputs]
        edges += [Edge(place[name], i, "", True) for name in definition.control if name in place]
    results = {maker[value] for value in graph.outputs if value in maker}
    texts = [_texts(definition) for definition in written]
    widths = [max(len(label), len(text)) * LETTER + 16 for label, text in texts]
    arguments = {maker[value] for value in graph.inputs if value in maker}
    places = layout(widths, [(edge.start, edge.end) for edge in edges], arguments, GAP_X)
    boxes = []
    for i, definition in enumerate(written):
        kind = "result" if i in results else _KINDS.get(definition.type, "operation")
        x, y = MARGIN + places.middles[i] - widths[i] / 2, MARGIN + TITLE + places.layers[i] * (HEIGHT + GAP_Y)
        boxes.append(Box(definition.name, *texts[i], kind, x, y, widths[i]))
    drawn = []
    for edge, passes in zip(edges, places.passes, strict=True):
        start, end = boxes[edge.start], boxes[edge.end]
        points = [(start.x + start.width / 2, start.y + HEIGHT)]
        for layer, x in passes:
            y = MARGIN + TITLE + layer * (HEIGHT + GAP_Y)
            points += [(MARGIN + x, y), (MARGIN + x, y + HEIGHT)]
        drawn.append(edge._replace(points=[*points, (end.x + end.width / 2, end.y)]))
    width = max(places.width, len(title) * 8.0) + 2 * MARGIN
    n_rows = max(places.layers, default=0) + 1
    return Panel(title, boxes, drawn, width, 2 * MARGIN + TITLE + n_rows * (HEIGHT + GAP_Y) - GAP_Y)


def _label(name: str) -> str:
    """A name with as many of its last scopes as fit."""
    if len(name) <= LONGEST:
        return name
    parts = name.split("/")
    kept = parts[-1]
    for part in reversed(parts[:-1]):
        if len(part) + len(kept) + 3 > LONGEST:
            break
        kept = f"{part}/{kept}"
    return f"\u2026/{kept}" if kept != name else name


def _texts(definition: Definition) -> tuple[str, str]:
    """The label, and the type of operation with the type of its result; of a small constant its value."""
    outputs: Sequence[Value] = definition.outputs
    kind = f" {format_aval(outputs[0].aval)}" if len(outputs) == 1 else f" {len(outputs)} tensors" if outputs else ""
    given = definition.attrs["value"] if definition.type == "Const" else None
    constant = given.tensor if isinstance(given, One) else given
    if constant is not None and (constant.aval.size or 9) <= 4:
        value = " ".join(str(np.asarray(constant.numpy()).tolist()).split())
        kind += f" {value}" if len(value) <= 16 else ""
    return _label(definition.name), definition.type + kind


# ---- SVG ------------------------------------------------------------------------------------------------------------


class Placed(NamedTuple):
    """A panel and where its corner is."""

    panel: Panel
    x: float
    y: float


def _placed(graph: Graph) -> tuple[list[Placed], float, float]:
    """The panels, the first above, the others beside each other where there is room; the width and height of all."""
    drawn = panels(graph)
    width = max(max(panel.width for panel in drawn), 800.0 if len(drawn) > 1 else 0.0)
    found: list[Placed] = []
    x = top = height = 0.0
    for i, panel in enumerate(drawn):
        if found and (i == 1 or x + panel.width > width):
            x, top, height = 0.0, top + height, 0.0
        found.append(Placed(panel, x, top))
        x, height = x + panel.width, max(height, panel.height)
    return found, max(each.x + each.panel.width for each in found), top + height


def svg(graph: Graph) -> str:
    """Return the drawing of a graph as the text of an SVG file: a panel for it and one for each subgraph below."""
    placed, width, height = _placed(graph)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="11">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#666"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    for panel, x, y in placed:
        lines.append(f'<g transform="translate({x:.0f},{y:.0f})">')
        lines.append(
            f'<text x="{MARGIN}" y="{MARGIN + 8}" font-size="13" font-weight="bold">{_safe(panel.title)}</text>'
        )
        lines += [_path(edge) for edge in panel.edges]
        lines += [_rectangle(box) for box in panel.boxes]
        lines.append("</g>")
    return "\n".join([*lines, "</svg>", ""])


def _safe(text: str) -> str:
    return html.escape(text)


def _curve(edge: Edge) -> list[tuple[float, float]]:
    """The points of cubic curves: the first, then three for each; edges leave and reach boxes upright."""
    (x0, y0), *rest = edge.points
    found = [(x0, y0)]
    for x, y in rest:
        bend = (y - y0) / 2
        found += [(x0, y0 + bend), (x, y - bend), (x, y)]
        x0, y0 = x, y
    return found


def _path(edge: Edge) -> str:
    first, *rest = [f"{x:.1f},{y:.1f}" for x, y in _curve(edge)]
    curves = " ".join(f"C{' '.join(rest[k : k + 3])}" for k in range(0, len(rest), 3))
    dashes = ' stroke-dasharray="4 3"' if edge.dashed else ""
    return (
        f'<path d="M{first} {curves}" fill="none" stroke="#999"{dashes} marker-end="url(#arrow)">'
        f"<title>{_safe(edge.text)}</title></path>"
    )


def _rectangle(box: Box) -> str:
    fill, border = COLOURS[box.kind]
    middle = box.x + box.width / 2
    return (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{HEIGHT}" rx="5" fill="{fill}" '
        f'stroke="{border}"><title>{_safe(box.name)}</title></rect>'
        f'<text x="{middle:.1f}" y="{box.y + 14:.1f}" text-anchor="middle">{_safe(box.label)}</text>'
        f'<text x="{middle:.1f}" y="{box.y + 27:.1f}" text-anchor="middle" font-size="10" fill="#666">'
        f"{_safe(box.text)}</text>"
    )


# ---- Files ----------------------------------------------------------------------------------------------------------


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


def _png(graph: Graph, path: str | os.PathLike[str]) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import PathCollection, PolyCollection
        from matplotlib.figure import Figure
        from matplotlib.patches import BoxStyle
        from matplotlib.path import Path
    except ImportError:
        raise ImportError("a PNG is drawn by matplotlib, which is not installed; .svg needs nothing") from None
    placed, width, height = _placed(graph)
    scale = min(1.0, 20_000 / max(width, height))  # what an image may measure
    figure = Figure(figsize=(width * scale / 72, height * scale / 72), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    rounded = BoxStyle.Round(pad=0, rounding_size=5)
    legible = scale >= LEGIBLE  # letters are what takes long
    for panel, left, top in placed:
        if legible:
            axes.text(left + MARGIN, top + MARGIN + 8, panel.title, fontsize=12 * scale, weight="bold")
        paths: dict[bool, list[Any]] = {False: [], True: []}
        heads = []
        for edge in panel.edges:
            points = [(left + x, top + y) for x, y in _curve(edge)]
            paths[edge.dashed].append(Path(points, [Path.MOVETO, *[Path.CURVE4] * (len(points) - 1)]))
            x, y = points[-1]
            heads.append([(x, y), (x - 3, y - 7), (x + 3, y - 7)])
        for dashed, lines in paths.items():
            style = "--" if dashed else "-"
            axes.add_collection(
                PathCollection(lines, facecolors="none", edgecolors="#999999", linestyles=style, linewidths=0.8 * scale)
            )
        axes.add_collection(PolyCollection(heads, facecolors="#999999"))
        boxes, fills, borders = [], [], []
        for box in panel.boxes:
            x, y = left + box.x, top + box.y
            boxes.append(rounded(x, y, box.width, HEIGHT, 1))
            fills.append(COLOURS[box.kind][0])
            borders.append(COLOURS[box.kind][1])
            if legible:
                middle = x + box.width / 2
                axes.text(middle, y + 11, box.label, fontsize=9.5 * scale, ha="center", va="center")
                axes.text(middle, y + 24, box.text, fontsize=8.5 * scale, ha="center", va="center", color="#666666")
        axes.add_collection(
            PathCollection(boxes, facecolors=fills, edgecolors=borders, linewidths=0.8 * scale, zorder=2)
        )
    figure.savefig(path)
