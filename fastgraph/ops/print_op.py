"""print: what a program shows while it runs, in TensorFlow's form.

Rule: printing is a host effect: it happens on every run of a graph, in program order.
"""

from __future__ import annotations

import functools
import pprint
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import float64, string
from fastgraph.core.base.nesting import map_structure
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.registry import get
from fastgraph.core.tensor import Tensor, class_has, convert
from fastgraph.ops.arguments import named
from fastgraph.ops.families import Array, bind_effect, custom, public

# ---- elements as text -----------------------------------------------------------------------------------------------


def _float_text(value: float | np.floating[Any], digits: int, more: int) -> str:
    """The shorter of two precisions that reads back as the same number. Source: TensorFlow's strings::FloatToBuffer."""
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = f"{float(value):.{digits}g}"
    return text if type(value)(text) == value else f"{float(value):.{more}g}"


#: Invisible letters of ASCII, and quotes, as they are written in quotes: octal numbers, as in C.
_ESCAPED = {code: f"\\{code:03o}" for code in (*range(32), 127)} | {ord(c): f"\\{c}" for c in "\\\"'"}
_ESCAPED |= str.maketrans({"\n": r"\n", "\t": r"\t", "\r": r"\r"})


def _word(value: bytes | str) -> str:
    """Text, in which bytes that are no UTF-8 stay what they are."""
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else value


def element_text(value: Any) -> str:
    """One element as `print` shows it: True is 1, a string stands in quotes."""
    if isinstance(value, (bytes, str)):
        return f'"{_word(value).translate(_ESCAPED)}"'
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, np.complexfloating):
        return f"({element_text(value.real)},{element_text(value.imag)})"
    if isinstance(value, np.float64):
        return _float_text(value, 15, 17)
    if isinstance(value, np.integer):
        return str(int(value))
    return _float_text(np.float32(value), 6, 9)


def tensor_text(x: np.ndarray[Any, Any], summarize: int) -> str:
    """A tensor as `print` shows it: the first and last `summarize` of each axis (-1: all)."""
    ends = x.size if summarize < 0 else min(summarize, x.size)
    if x.ndim == 0:
        return element_text(x[()]) if ends else "..."
    return _rows(x, ends, 1)


def _rows(x: np.ndarray[Any, Any], ends: int, depth: int) -> str:
    n = x.shape[0]
    whole = n <= 2 * ends
    chosen = list(range(n)) if whole else [*range(ends), *range(n - ends, n)]
    if x.ndim == 1:
        parts = [element_text(x[i]) for i in chosen]
        gap = " "
    else:
        parts = [_rows(x[i], ends, depth + 1) for i in chosen]
        gap = "\n" * (x.ndim - 1) + " " * depth
    if not whole:
        parts.insert(ends, "..." if ends else gap + "...")
    return "[" + gap.join(parts) + "]"


def ragged_text(values: np.ndarray[Any, Any], splits: Sequence[np.ndarray[Any, Any]], summarize: int) -> str:
    """Rows of different lengths as `print` shows them: like Python's lists, cut as tensors are."""
    row: Callable[[int], str]
    if splits:
        n = len(splits[0]) - 1
        row = functools.partial(_row_between, values, splits, summarize)
    else:
        n, row = len(values), lambda i: _item_text(values[i], summarize)
    if summarize < 0 or n <= 2 * summarize:
        return "[" + ", ".join([row(i) for i in range(n)]) + "]"
    first, last = range(summarize), range(n - summarize, n)
    return "[" + ", ".join([*map(row, first), "...", *map(row, last)]) + "]"


def _row_between(values: Array, splits: Sequence[Any], summarize: int, i: int) -> str:
    begin, end = int(splits[0][i]), int(splits[0][i + 1])
    if len(splits) == 1:
        return ragged_text(values[begin:end], (), summarize)
    return ragged_text(values, (splits[1][begin : end + 1], *splits[2:]), summarize)


def _item_text(value: Any, summarize: int) -> str:
    """An element of a ragged tensor. Source: TensorFlow's as_string, and quotes round strings."""
    if isinstance(value, np.ndarray):
        return ragged_text(value, (), summarize)
    if isinstance(value, (bytes, str)):
        word = _word(value)
        return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.complexfloating):
        return f"({value.real:f},{value.imag:f})"
    return str(int(value)) if isinstance(value, np.integer) else f"{float(value):f}"


# ---- the op ---------------------------------------------------------------------------------------------------------

_streams: dict[str, Any] = {}  # open files that were given to print, by the name that stands in the graph


def _stream_name(stream: object) -> str:
    """The word for `output_stream` in an attribute. ValueError for what is no stream."""
    if stream is sys.stderr or stream is sys.__stderr__:
        return "stderr"
    if stream is sys.stdout or stream is sys.__stdout__:
        return "stdout"
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    if hasattr(stream, "write"):
        name = f"stream:{id(stream)}"
        _streams[name] = stream
        return name
    raise ValueError(
        "Unknown output stream, logging level, or file. Use sys.stdout, sys.stderr, an open file or 'file://' and a "
        f"path, not {stream!r}"
    )


def write_text(stream: str, text: str) -> None:
    """Write `text` to the stream that `stream` names, now."""
    if stream.startswith("file://"):
        with open(stream.removeprefix("file://"), "a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        return
    # sys.stdout as it is now: notebooks and tests put others in its place
    target = sys.stderr if stream == "stderr" else sys.stdout if stream == "stdout" else _streams[stream]
    target.write(text.encode(errors="surrogateescape").decode(errors="replace"))
    flush = getattr(target, "flush", None)
    if flush is not None:
        flush()


@custom(
    op="PrintV2",
    infer=lambda *values, pieces, summarize, stream, ragged=(), bare=False: (),
    groups=("-",),
    n_outputs=0,
    effect="host",
    reason="it writes to a Python stream",
)
def print_p(
    *values: Array,
    pieces: tuple[str, ...],
    summarize: int,
    stream: str,
    ragged: tuple[tuple[int, int], ...] = (),
    bare: bool = False,
) -> Any:
    """Write the tensors between the pieces of text to a stream. t[*s]... -> nothing.

    `ragged` says where so many of them are the values and the row splits of one ragged tensor. `bare`: there is
    one tensor, a text that is written as it is.
    """
    if bare:
        write_text(stream, pieces[0] + _word(values[0].item()) + pieces[1])
        return ()
    text, i, parts = pieces[0], 0, dict(ragged)
    while i < len(values):
        n = parts.get(i, 1)
        of = values[i : i + n]
        text += (tensor_text(of[0], summarize) if n == 1 else ragged_text(of[0], of[1:], summarize)) + pieces[i + n]
        i += n
    write_text(stream, text)
    return ()


class _Place:
    """A placeholder for a tensor, or for a composite of tensors, while the structure around it is formatted."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


@public("print")
def print_(*inputs: Any, **kwargs: Any) -> Any:
    """Write tensors and Python values to a stream, now and on every run of a graph.

    Keywords: output_stream (sys.stderr, sys.stdout, an open file, "file://path"), summarize (elements shown at each end
    of an axis, -1: all), sep, end, name. Source: tf.print.
    """
    stream = kwargs.pop("output_stream", None)
    name = kwargs.pop("name", None)
    summarize = kwargs.pop("summarize", 3)
    sep = kwargs.pop("sep", " ")
    end = kwargs.pop("end", "\n")
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    if summarize is None:
        summarize = 3
    tensors: list[Any] = []
    ragged: dict[int, int] = {}

    def number(tensor: TensorLike) -> str:
        tensors.append(convert(tensor))
        return f"\0{len(tensors) - 1}\0"

    def place(value: Any) -> Any:
        if class_has(value, "__fg_shown__"):  # a composite: texts, tensors, and the parts of ragged ones
            text = ""
            for part in value.__fg_shown__():
                if isinstance(part, tuple):
                    ragged[len(tensors)] = len(part)
                    text += "".join(map(number, part))
                else:
                    text += part if isinstance(part, str) else number(part)
            return _Place(text)
        composite = class_has(value, "__fg_bind__")  # it prints itself
        if isinstance(value, Tensor) or (class_has(value, "__fg_tensor__") and not composite):
            return _Place(number(value))
        return value

    texts = []
    for item in inputs:
        if isinstance(item, str):
            texts.append(item.replace("\0", ""))
        else:
            texts.append(pprint.pformat(map_structure(place, item)).replace("'\0", "\0"))
    parts = sep.join(texts).split("\0")  # text, number, text, number, ..., text
    order = [int(n) for n in parts[1::2]]
    pieces = (*parts[0::2][:-1], parts[-1] + end)
    # TensorFlow, too, puts no quotes round a string tensor that is all there is to print
    bare = len(inputs) == 1 and pieces == ("", end) and tensors[0].dtype is string and tensors[0].shape.rank == 0
    return bind_effect(
        name,
        get("print"),
        tuple(tensors[i] for i in order),
        {
            "pieces": pieces,
            "summarize": int(summarize),
            "stream": _stream_name(sys.stderr if stream is None else stream),
            **({"ragged": tuple((order.index(i), n) for i, n in ragged.items())} if ragged else {}),
            **({"bare": True} if bare else {}),
        },
    )


@custom(infer=lambda: Aval(float64, ()), effect="host", groups=(), reason="it reads the clock")
def timestamp_p() -> Any:
    """The seconds since 1970 began."""
    return np.float64(time.time())


@public("timestamp")
def timestamp(name: str | None = None) -> Any:
    """The seconds since 1970 began, whenever it runs. -> f64[]. Source: tf.timestamp."""
    return named(name, timestamp_p)
