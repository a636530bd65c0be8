"""The table that Model.summary prints: layers, output shapes, numbers of weights. As Keras 2 prints it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fastgraph.core.base import nesting

if TYPE_CHECKING:
    from fastgraph.keras.layers.base import Layer
    from fastgraph.keras.models import Model

_LENGTH = 65
_POSITIONS = (0.45, 0.85, 1.0)
_LONG = 98
_LONG_POSITIONS = (0.3, 0.6, 0.70, 1.0)
_HEADINGS = ("Layer (type)", "Output Shape", "Param #")
_UNITS = ("Byte", "KB", "MB", "GB", "TB", "PB")


def table(model: Any, line_length: int | None = None, positions: Sequence[float] | None = None) -> Iterator[str]:
    """Yield the lines of the table; a functional model that is no chain has a column of where inputs come from."""
    network = model._network
    connected = network is not None and not network.is_chain()
    length = line_length or (_LONG if connected else _LENGTH)
    ends = [int(length * p) if p <= 1 else int(p) for p in positions or (_LONG_POSITIONS if connected else _POSITIONS)]
    yield f'Model: "{model.name}"'
    yield "_" * length
    yield from _row((*_HEADINGS, *(("Connected to",) if connected else ())), ends)
    yield "=" * length
    for layer in model.layers:
        shape = _shape_text(model, layer)
        count = str(layer.count_params()) if layer.built else "0 (unused)"
        kind = "Functional" if getattr(layer, "_network", None) is not None else type(layer).__name__
        yield from _row(
            (f"{layer.name} ({kind})", shape, count), ends, network.connected_to(layer) if connected else ()
        )
        yield " " * length
    yield "=" * length
    trainable, others = _sizes(model.trainable_weights), _sizes(model.non_trainable_weights)
    yield f"Total params: {trainable[0] + others[0]} ({size_text(trainable[1] + others[1])})"
    yield f"Trainable params: {trainable[0]} ({size_text(trainable[1])})"
    yield f"Non-trainable params: {others[0]} ({size_text(others[1])})"
    yield "_" * length


def _shape_text(model: Model, layer: Layer) -> str:
    """The output shape: of a layer in a Sequential or functional model, or a model; else "multiple"."""
    if model._network is not None and layer._nodes:
        outputs = layer._nodes[0].outputs
        shapes = [tuple(tensor.shape.as_list()) for tensor in nesting.flatten(outputs)]
        alone = len(shapes) == 1 and not isinstance(outputs, (list, tuple)) and bool(layer._nodes[0].inputs)
        return str(shapes[0]) if alone else str(shapes)
    if hasattr(model, "_inputs") or hasattr(layer, "_inputs") or model._network is not None:
        try:
            return str(layer.output_shape)
        except AttributeError:
            return "?"
    return "multiple"


def _row(cells: tuple[str, ...], ends: list[int], sources: Sequence[str] = ()) -> Iterator[str]:
    """The lines of one row: what is too long for its column goes on below, each source has a line."""
    begins = [0, *ends[:-1]]
    widths = [end - begin for begin, end in zip(begins, ends, strict=True)]
    rest = [*cells, *([""] if len(cells) < len(ends) else [])]
    lines = [f"{name!r}," for name in sources]
    if len(cells) < len(ends):
        lines = [f"[{', '.join(map(repr, sources))}]"] if len(lines) < 2 else [f"[{lines[0]}", *lines[1:]]
        lines[-1] = lines[-1] if len(sources) < 2 else f" {lines[-1].rstrip(',')}]"
    first = True
    while first or any(rest) or lines:
        if lines:
            rest[-1] = lines.pop(0)
        line = ""
        for i, (begin, width) in enumerate(zip(begins, widths, strict=True)):
            room = width - (2 if i < len(widths) - 1 else 0) - (1 if i == 0 else 0)
            line = line.ljust(begin) + (" " if i == 0 else "") + rest[i][:room]
            rest[i] = rest[i][room:]
        yield line.ljust(ends[-1])
        first = False


def _sizes(weights: Iterable[Any]) -> tuple[int, int]:
    """The number of elements and of bytes."""
    counts = [(w.shape.num_elements() or 0, w.dtype.size) for w in weights]
    return sum(n for n, _ in counts), sum(n * size for n, size in counts)


def size_text(n_bytes: int) -> str:
    """Return a number of bytes as text: 1536 -> "1.50 KB"."""
    value, unit = float(n_bytes), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.2f} {_UNITS[unit]}"
