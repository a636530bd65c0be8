"""Numbers as the steps of a range: tf.quantization.quantize, dequantize, quantized_concat.

Rule: steps have a quantised dtype, in which nothing is computed; their range goes beside them, as two float32. No
gradient goes through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import QUANTIZED, DType, DTypeLike, as_dtype, bfloat16, float32, int32
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.errors import UnimplementedError
from fastgraph.ops.arguments import as_tensor, known_value, whole
from fastgraph.ops.casts import bitcast
from fastgraph.ops.elementwise import abs as magnitude
from fastgraph.ops.elementwise import cast, clip_by_value, maximum, minimum, select, sign, stop_gradient
from fastgraph.ops.families import invalid, public
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import reshape
from fastgraph.ops.reduction import reduce_max, reduce_min
from fastgraph.ops.rounding import floor, rint
from fastgraph.ops.runtime_checks import checked

MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
_MOST = float(np.finfo(np.float32).max)


class QuantizeOutput(NamedTuple):
    """Steps, and the ends of the range that they are of."""

    output: Any
    output_min: Any
    output_max: Any


def _ends(dtype: DType) -> tuple[float, float]:
    """The least and the greatest step."""
    info = np.iinfo(dtype.plain)
    return float(info.min), float(info.max)


def _away(x: Any) -> Any:
    """Whole numbers next to x; from the middle away from 0."""
    return sign(x) * floor(magnitude(x) + 0.5)


def _steps(x: Any, dtype: DType) -> Any:
    """Whole numbers, as floats, in a quantised dtype; of 32 bits: up to the greatest that a float32 is."""
    most = float(np.nextafter(np.float32(_ends(dtype)[1] + 1), np.float32(0)))
    return bitcast(cast(minimum(x, most), as_dtype(dtype.plain)), dtype)


def _range_of(op: str, x: Any, low: Any, high: Any, axis: int | None) -> tuple[Any, Any]:
    """Return the ends of the range (or of each slice's, along `axis`) in a shape that x is broadcast with."""
    wanted = 0 if axis is None else 1
    for what, end in (("min_range", low), ("max_range", high)):
        if end.shape.rank not in (wanted, None):
            kind = "a scalar" if axis is None else "a vector"
            raise invalid(f"`{what}` must be {kind}, got {end.shape.rank} dimensions [Op:{op}]")
    if axis is None:
        return low, high
    rank = x.shape.rank
    axis += rank if rank is not None and axis < 0 else 0
    if rank is None or not 0 <= axis < rank:
        raise invalid(f"Axis must be less than input dimension({rank}), got {axis} [Op:{op}]")
    if not all(end.shape.is_compatible_with(x.shape[axis : axis + 1]) for end in (low, high)):
        raise invalid(f"the ranges must have {x.shape[axis]} elements, those of axis {axis} [Op:{op}]")
    dims = [1] * rank
    dims[axis] = -1
    return reshape(low, dims), reshape(high, dims)


def _checked(op: str, mode: str, axis: int | None, low: Any) -> int | None:
    """Return the axis, None for one range of all: kernels say -1 to that, which of vectors is the last axis."""
    if mode not in MODES:
        raise invalid(f"Mode string must be 'MIN_COMBINED', 'MIN_FIRST', or 'SCALED', is '{mode}' [Op:{op}]")
    found = None if axis is None else whole(axis, "axis")
    found = None if found == -1 and as_tensor(low).shape.rank != 1 else found
    if found is not None and mode == "MIN_FIRST":
        raise UnimplementedError(None, None, f"MIN_FIRST mode is not implemented for {op} with axis != -1.")
    return found


def _quantized(name: str, dtype: DTypeLike) -> DType:
    found = as_dtype(dtype)
    if found not in QUANTIZED:
        allowed = ", ".join(each.name for each in QUANTIZED)
        raise invalid(f"Value for attr '{name}' of {found.name} is not in the list of allowed values: {allowed}")
    return found


@public("quantization.quantize")
def quantize(
    input: TensorLike, min_range: TensorLike, max_range: TensorLike, T: DTypeLike, mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO", name: str | None = None, narrow_range: bool = False,
    axis: int | None = None, ensure_minimum_range: float = 0.01,
) -> QuantizeOutput:  # fmt: skip
    """The steps of a range that are next to numbers. f32[*s], f32[], f32[] -> (T[*s], f32[], f32[]).

    min_range, max_range: the ends of the range, or with `axis` those of each slice along it, f32[s[axis]]; the range is
    widened to hold 0 and to be `ensure_minimum_range` wide at least. What is beyond it is its end. Returned are the
    ends that the steps are of. mode: MIN_COMBINED and MIN_FIRST have the least step at min_range (the second keeps 0 a
    step), SCALED has 0 at 0; narrow_range leaves the least step out there. round_mode: HALF_AWAY_FROM_ZERO, or
    HALF_TO_EVEN for SCALED. Raises: InvalidArgumentError. Source: tf.quantization.quantize.
    """
    dtype, axis = _quantized("T", T), _checked("QuantizeV2", mode, axis, min_range)
    if round_mode not in ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN") or (round_mode == "HALF_TO_EVEN" and mode != "SCALED"):
        raise invalid(f"Round mode '{round_mode}' is not one of mode '{mode}' [Op:QuantizeV2]")
    x, low, high = [stop_gradient(as_tensor(value, float32)) for value in (input, min_range, max_range)]
    known = [known_value(end) for end in (low, high)]
    if all(end is not None for end in known) and np.any(np.array(known[0]) > np.array(known[1])):
        raise invalid("input_max_range must be larger than input_min_range. [Op:QuantizeV2]")
    _range_of("QuantizeV2", x, low, high, axis)
    least, most = _ends(dtype)
    epsilon = maximum(1.0, maximum(magnitude(low), magnitude(high))) * float(ensure_minimum_range)
    low, high = minimum(low, 0.0), maximum(high, 0.0)
    high = maximum(high, low + epsilon)
    if mode == "SCALED":
        least += bool(narrow_range)
        sides = [select(step * end > 0.0, step / end, _MOST) for step, end in ((least, low), (most, high))]
        scale = minimum(*sides)
        low, high = least / scale, most / scale
        wide, (first, last) = x, _range_of("QuantizeV2", x, low, high, axis)
        factor = reshape(scale, first.shape) if axis is not None else scale
        wide = clip_by_value(x, first, last) * factor
        found = rint(wide) if round_mode == "HALF_TO_EVEN" else _away(wide)
    else:
        first, last = _range_of("QuantizeV2", x, low, high, axis)
        found = _combined(x, first, last, dtype) if mode == "MIN_COMBINED" else _from_first(x, first, last, dtype)
    return QuantizeOutput(_steps(found, dtype), low, high)


def _combined(x: Any, low: Any, high: Any, dtype: DType) -> Any:
    least, most = _ends(dtype)
    wide = (clip_by_value(x, low, high) - low) * ((most - least) / (high - low))
    return _away(wide - (most - least + 1) / 2) if least < 0 else floor(wide + 0.5)


def _from_first(x: Any, low: Any, high: Any, dtype: DType) -> Any:
    least, most = _ends(dtype)
    scale = (most - least) / (high - low)
    return clip_by_value(_away(x * scale) - _away(low * scale) + least, least, most)


@public("quantization.dequantize")
def dequantize(
    input: TensorLike, min_range: TensorLike, max_range: TensorLike, mode: str = "MIN_COMBINED",
    name: str | None = None, axis: int | None = None, narrow_range: bool = False, dtype: DTypeLike = float32,
) -> Tensor:  # fmt: skip
    """The numbers that steps of a range stand for: `quantize` the other way. T[*s], f32[], f32[] -> dtype[*s].

    mode, axis and narrow_range as in `quantize`; dtype: float32 or bfloat16. Raises: InvalidArgumentError.
    Source: tf.quantization.dequantize.
    """
    axis, target = _checked("Dequantize", mode, axis, min_range), as_dtype(dtype)
    if target not in (float32, bfloat16):
        raise invalid(f"Value for attr 'dtype' of {target.name} is not in the list of allowed values: bfloat16, float")
    if target is bfloat16 and mode != "MIN_COMBINED":
        raise invalid(f"When output type is bfloat16, only mode 'MIN_COMBINED' is supported, is '{mode}'")
    x = as_tensor(input)
    _quantized("T", x.dtype)
    low, high = [stop_gradient(as_tensor(end, float32)) for end in (min_range, max_range)]
    least, most = _ends(x.dtype)
    first, last = _range_of("Dequantize", x, low, high, axis)
    steps = cast(x, float32)
    if mode == "MIN_COMBINED":
        half = (most - least + 1) / 2 if least < 0 else 0.0
        found = (steps + half) * ((last - first) / (most - least)) + first
    elif mode == "MIN_FIRST":
        found = _to_first(steps, first, last, x.dtype)
    else:
        found = steps * (maximum(first / (least + bool(narrow_range)), last / most) if least else last / most)
    return cast(found, target)


def _to_first(steps: Any, low: Any, high: Any, dtype: DType) -> Any:
    least, most = _ends(dtype)
    scale = (high - low) / (most - least)
    return (steps - least) * scale + select(high == low, low, _away(low / scale) * scale)


@public("quantization.quantized_concat")
def quantized_concat(
    concat_dim: TensorLike, values: Sequence[TensorLike], input_mins: Sequence[TensorLike],
    input_maxes: Sequence[TensorLike], name: str | None = None,
) -> QuantizeOutput:  # fmt: skip
    """Steps of several ranges, joined along an axis as those of one range.

    [T[*s]], [f32[]], [f32[]] -> (T[*r], f32[], f32[]). Returned are the joined steps and the ends of their range, which
    holds all of the others and, of signed steps, is as wide on both sides of 0. Raises: InvalidArgumentError.
    Source: tf.quantization.quantized_concat.
    """
    parts = [as_tensor(value) for value in values]
    lows, highs = [[as_tensor(end, float32) for end in ends] for ends in (input_mins, input_maxes)]
    if not 0 < len(parts) == len(lows) == len(highs):
        counts = f"{len(parts)} values, {len(lows)} input_mins and {len(highs)} input_maxes"
        raise invalid(
            f"as many values as ends of ranges are wanted, and one at least: got {counts} [Op:QuantizedConcat]"
        )
    dtype = _quantized("T", parts[0].dtype)
    low, high = reduce_min(lows), reduce_max(highs)
    if _ends(dtype)[0] < 0:
        high = maximum(magnitude(low), magnitude(high))
        low = -high
    else:
        low = minimum(low, 0.0)
    again = [
        _steps(_from_first(_to_first(cast(part, float32), first, last, dtype), low, high, dtype), dtype)
        for part, first, last in zip(parts, lows, highs, strict=True)
    ]
    rank, axis = parts[0].shape.rank, as_tensor(concat_dim, int32)
    if rank is not None:
        text = (
            f"ConcatOp : Expected concatenating dimensions in the range [0, {rank}), but got {{}} [Op:QuantizedConcat]"
        )
        number = known_value(axis)
        if number is not None and np.ndim(number) == 0 and not 0 <= number < rank:
            raise invalid(text.format(number))
        axis = cast(checked(axis, 0, rank - 1, text), int32)
    return QuantizeOutput(concat(again, axis), low, high)
