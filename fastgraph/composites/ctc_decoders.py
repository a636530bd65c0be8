"""Labels without times, read off frames: nn.ctc_greedy_decoder, nn.ctc_beam_search_decoder.

Rule: scores are logarithms, in float64. Source: Graves et al. 2006; Hannun et al. 2014 (prefix search).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import int32, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.errors import FailedPreconditionError, InvalidArgumentError
from fastgraph.ops.arguments import as_tensor, named, of_dtypes, whole
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import Array, custom, invalid, shape_text

_REASON = "a search whose results' sizes are data"


def _check(inputs: Sequence[int | None], lengths: Sequence[int | None] | None) -> None:
    if len(inputs) != 3:
        raise ValueError(f"inputs is not a 3-Tensor, got shape {shape_text(inputs)}")
    if lengths is not None and len(lengths) != 1:
        raise ValueError(f"sequence_length is not a vector, got shape {shape_text(lengths)}")


def _checked(inputs: Array, lengths: Array) -> list[int]:
    """Return how many frames of each sequence count: those of a length below 0, none."""
    if not inputs.size:
        raise invalid("inputs must not be empty")
    text = f"len(sequence_length) != batch_size. len(sequence_length): {len(lengths)} batch_size: {inputs.shape[1]}"
    if len(lengths) == inputs.shape[1]:
        text = f"sequence_length({int(np.argmax(lengths > len(inputs)))}) <= {len(inputs)}"
    if len(lengths) != inputs.shape[1] or (lengths > len(inputs)).any():
        raise FailedPreconditionError(None, None, text)
    return np.maximum(lengths, 0).tolist()


def _infer(inputs: Aval, sequence_length: Aval, *, top_paths: int = 1, **_: Any) -> tuple[Aval, ...]:
    if inputs.shape is not None:
        _check(inputs.shape, sequence_length.shape)
    batch = None if inputs.shape is None else inputs.shape[1]
    paths = [Aval(int64, (None, 2)), Aval(int64, (None,)), Aval(int64, (2,))]
    return (*(paths * top_paths), Aval(inputs.dtype, (batch, top_paths)))


def _sparse(rows: list[list[int]]) -> list[Array]:
    """The indices, values and shape of rows of labels."""
    places = [(b, i) for b, row in enumerate(rows) for i in range(len(row))]
    values = np.array([label for row in rows for label in row], np.int64)
    most = max(map(len, rows), default=0)
    return [np.array(places, np.int64).reshape(-1, 2), values, np.array([len(rows), most], np.int64)]


def _frames() -> Any:
    return np.random.default_rng(0).standard_normal((4, 2, 3)).astype("float32")


@custom(
    op="CTCGreedyDecoder",
    infer=_infer,
    groups=("T", "int32"),
    dtypes="float32 float64",
    n_outputs=4,
    step="dynamic",
    samples=lambda: [((_frames(), np.array([4, 2], "int32")), {"merge": m, "blank": 2}) for m in (True, False)],
    error_samples=lambda: [
        (
            (_frames(), np.array([9, 2], "int32")),
            {"merge": True, "blank": 2},
            FailedPreconditionError,
            r"sequence_length\(0\) <= 4",
        )
    ],
    reason=_REASON,
)
def ctc_greedy_p(inputs: Array, sequence_length: Array, *, merge: bool, blank: int) -> Any:
    """The likeliest label of each frame: indices, values and shape of rows, and the negative sum of what they have."""
    lengths = _checked(inputs, sequence_length)
    blank = _class(blank, inputs.shape[2])
    best, rows = inputs.argmax(-1), []
    sums = np.zeros((inputs.shape[1], 1), inputs.dtype)
    for b, n in enumerate(lengths):
        labels = best[:n, b].tolist()
        sums[b] -= np.take_along_axis(inputs[:n, b], best[:n, b, None], 1).sum(dtype=inputs.dtype)
        before = [-1, *labels]
        rows.append([v for v, last in zip(labels, before, strict=False) if v != blank and not (merge and v == last)])
    return (*_sparse(rows), sums)


def _log_of_sum(a: float, b: float) -> float:
    high, low = (a, b) if a > b else (b, a)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def _searched(frames: Array, width: int) -> list[tuple[tuple[int, ...], float]]:
    """The likeliest rows of labels with their scores, the best first. f64[t, c] -> at most `width` of them."""
    never = -math.inf
    blank = frames.shape[1] - 1
    beam: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, never)}  # ending in a blank, in its last label
    for frame in frames.tolist():
        found: dict[tuple[int, ...], tuple[float, float]] = {}
        for row, (on_blank, on_label) in beam.items():
            total = _log_of_sum(on_blank, on_label)
            b, _l = found.get(row, (never, never))
            stays = _l if not row else _log_of_sum(_l, on_label + frame[row[-1]])
            found[row] = (_log_of_sum(b, total + frame[blank]), stays)
            for label in range(blank):
                score = (on_blank if row and row[-1] == label else total) + frame[label]
                if score > never:
                    longer = (*row, label)
                    b, _l = found.get(longer, (never, never))
                    found[longer] = (b, _log_of_sum(_l, score))
        best = sorted(found, key=lambda row: -_log_of_sum(*found[row]))[:width]
        beam = {row: found[row] for row in best}
    return [(row, _log_of_sum(*scores)) for row, scores in beam.items()]


@custom(
    op="CTCBeamSearchDecoder",
    infer=_infer,
    groups=("T", "int32"),
    dtypes="float32 float64",
    n_outputs=None,
    step="dynamic",
    samples=lambda: [((_frames(), np.array([4, 2], "int32")), {"beam_width": 4, "top_paths": n}) for n in (1, 2)],
    error_samples=lambda: [
        (
            (_frames(), np.array([4, 2], "int32")),
            {"beam_width": 1, "top_paths": 2},
            InvalidArgumentError,
            "requested more paths than the beam width",
        )
    ],
    reason=_REASON,
)
def ctc_beam_search_p(inputs: Array, sequence_length: Array, *, beam_width: int, top_paths: int) -> Any:
    """The likeliest rows of labels: indices, values and shape of each path, and the paths' scores f[b, paths]."""
    if top_paths > beam_width:
        raise invalid("requested more paths than the beam width.")
    lengths = _checked(inputs, sequence_length)
    wide = inputs.astype(np.float64)
    wide = wide - np.logaddexp.reduce(wide, -1, keepdims=True)
    paths: list[list[list[int]]] = [[] for _ in range(top_paths)]
    scores = np.zeros((inputs.shape[1], top_paths), inputs.dtype)
    for b, n in enumerate(lengths):
        found = _searched(wide[:n, b], beam_width)
        if len(found) < top_paths:
            raise invalid("Less leaves in the beam search than requested.")
        for k, (row, score) in enumerate(found[:top_paths]):
            paths[k].append(list(row))
            scores[b, k] = score
    return (*[part for rows in paths for part in _sparse(rows)], scores)


def _given(inputs: TensorLike, sequence_length: TensorLike) -> tuple[Any, Any]:
    x = of_dtypes(as_tensor(inputs), "float32 float64")
    lengths = cast(as_tensor(sequence_length), int32)
    if x.shape.rank is not None:
        _check(x.shape.as_list(), None if lengths.shape.rank is None else lengths.shape.as_list())
    return x, lengths


def _class(blank: int, classes: int) -> int:
    """The class that `blank` names, from the end where it is below 0. Raises InvalidArgumentError for none."""
    at = blank + classes if blank < 0 else blank
    if not 0 <= at < classes:
        raise invalid(f"blank_index expected to be between 0 and {classes - 1}, received {blank}")
    return at


def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[SparseTensor], Tensor]:
    """The likeliest label of each frame, without blanks: ([SparseTensor i64[b, n]], f[b, 1] minus the sum of scores).

    f[t, b, classes], i32[b]. merge_repeated: equal labels that follow each other are one. blank_index: the class that
    is none (None: the last; below 0: from the end). Raises: FailedPreconditionError for lengths beyond the frames,
    InvalidArgumentError for no frames and a blank that is no class. Source: tf.nn.ctc_greedy_decoder.
    """
    x, lengths = _given(inputs, sequence_length)
    classes = x.shape[-1] if x.shape.rank else None
    blank = -1 if blank_index is None else whole(blank_index, "blank_index", 32)
    if classes is not None:
        blank = _class(blank, classes)
    *parts, sums = named(name, ctc_greedy_p, x, lengths, merge=bool(merge_repeated), blank=blank)
    return [SparseTensor(*parts)], sums


def ctc_beam_search_decoder(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: TensorLike = 100, top_paths: TensorLike = 1,
    name: str | None = None,
) -> tuple[list[SparseTensor], Tensor]:  # fmt: skip
    """The likeliest rows of labels: ([SparseTensor i64[b, n] for each path], f[b, top_paths] their log probabilities).

    f[t, b, classes], i32[b]; the last class is the blank. Raises: FailedPreconditionError for lengths beyond the
    frames, InvalidArgumentError for no frames and more paths than the beam is wide.
    Source: tf.nn.ctc_beam_search_decoder.
    """
    x, lengths = _given(inputs, sequence_length)
    width, count = whole(beam_width, "beam_width", 32), whole(top_paths, "top_paths", 32)
    *parts, scores = named(name, ctc_beam_search_p, x, lengths, beam_width=width, top_paths=count)
    return [SparseTensor(*parts[3 * k : 3 * k + 3]) for k in range(count)], scores
