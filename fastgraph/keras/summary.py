"""The table that Model.summary prints: layers, output shapes, numbers of weights. As Keras 2 prints it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

_LENGTH = 65
_POSITIONS = (0.45, 0.85, 1.0)
_UNITS = ("Byte", "KB", "MB", "GB", "TB", "PB")


def table(model: Any, line_length: int | None = None, positions: Any = None) -> Iterator[str]:
    """Yield the lines of the table."""
    length = line_length or _LENGTH
    ends = [int(length * p) if p <= 1 else int(p) for p in positions or _POSITIONS]
    yield f'Model: "{model.name}"'
    yield "_" * length
    yield from _row(("Layer (type)", "Output Shape", "Param #"), ends)
    yield "=" * length
    for layer in model.layers:
        shape = _shape_text(model, layer)
        count = str(layer.count_params()) if layer.built else "0 (unused)"
        yield from _row((f"{layer.name} ({type(layer).__name__})", shape, count), ends)
        yield " " * length
    yield "=" * length
    trainable, others = _sizes(model.trainable_weights), _sizes(model.non_trainable_weights)
    yield f"Total params: {trainable[0] + others[0]} ({size_text(trainable[1] + others[1])})"
    yield f"Trainable params: {trainable[0]} ({size_text(trainable[1])})"
    yield f"Non-trainable params: {others[0]} ({size_text(others[1])})"
    yield "_" * length


def _shape_text(model: Any, layer: Any) -> str:
    """The output shape: of a layer in a Sequential model, or a model; else "multiple", for it depends on the call."""
    if hasattr(model, "_inputs") or hasattr(layer, "_inputs"):
        try:
            return str(layer.output_shape)
        except AttributeError:
            return "?"
    return "multiple"


def _row(cells: tuple[str, ...], ends: list[int]) -> Iterator[str]:
    """The lines of one row: what is too long for its column goes on below."""
    begins = [0, *ends[:-1]]
    widths = [end - begin for begin, end in zip(begins, ends, strict=True)]
    first = True
    rest = list(cells)
    while first or any(rest):
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
