"""Windows that slide over the spatial axes of [batch, *spatial, channels]: their sizes, and what public arguments say.

Rule: strides, dilations and window extents are tuples over the spatial axes; padding is "SAME", "VALID" or a tuple of
(before, after) over them. A window never looks at the batch or at other channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import EagerTensor, Tensor, current_trace
from fastgraph.errors import InvalidArgumentError, UnimplementedError
from fastgraph.ops.arguments import whole
from fastgraph.ops.families import Array, Builder, Scalar, invalid
from fastgraph.ops.movement import transpose

Pairs = tuple[tuple[int, int], ...]
Padding = str | Pairs
#: Padding as users give it: its name, or amounts before and after each axis.
PadLike = str | Sequence[Any]
Steps = tuple[int, ...]

#: Names of the layouts by the number of spatial axes: channels last, channels first.
LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def out_extent(n: int, window: int, stride: int, dilation: int, padding: str | tuple[int, int]) -> int:
    """Return how many windows fit along one axis of extent `n`; below 0 where not even one is begun."""
    if padding == "SAME":
        return -(-n // stride)
    lo, hi = (0, 0) if isinstance(padding, str) else padding
    reach = (window - 1) * dilation + 1
    return int((n + int(lo) + int(hi) - reach + stride) / stride)  # C's division: towards 0


def pad_extents(n: int, out: int, window: int, stride: int, dilation: int, padding: str | tuple[int, int]) -> Any:
    """Return how many positions the windows reach over before and after an axis."""
    if padding == "VALID":
        return 0, 0
    if padding != "SAME":
        return padding
    total = max((out - 1) * stride + (window - 1) * dilation + 1 - n, 0)
    return total // 2, total - total // 2


def along(padding: Padding, axis: int) -> Any:
    """The padding of one spatial axis."""
    return padding if isinstance(padding, str) else padding[axis]


def infer_extents(
    dims: Sequence[int | None],
    window: Sequence[int | None],
    strides: Sequence[int],
    padding: Padding,
    dilations: Sequence[int],
) -> tuple[int | None, ...]:
    """The spatial shape of the result. ValueError, in TensorFlow's words, where no window fits."""
    _check_steps(strides, dilations, ValueError)
    found: list[int | None] = []
    for axis, (n, k) in enumerate(zip(dims, window, strict=True)):
        pad = along(padding, axis)
        if n is None or (k is None and pad != "SAME"):
            found.append(None)
            continue
        s, d = strides[axis], dilations[axis]
        if pad != "SAME":
            assert k is not None
            reach, whole = (k - 1) * d + 1, n + (0 if pad == "VALID" else sum(pad))
            if reach > whole:
                raise ValueError(f"Negative dimension size caused by subtracting {reach} from {whole}")
        found.append(out_extent(n, k or 1, s, d, pad))
    return tuple(found)


def out_extents(
    dims: Sequence[int], window: Sequence[int], strides: Sequence[int], padding: Padding, dilations: Sequence[int]
) -> tuple[int, ...]:
    """The spatial shape of the result. Raises: InvalidArgumentError for steps of 0 and negative sizes."""
    _check_steps(strides, dilations, invalid)
    found = []
    for axis, (n, k) in enumerate(zip(dims, window, strict=True)):
        out = out_extent(n, k, strides[axis], dilations[axis], along(padding, axis))
        if out < 0:
            reach = (k - 1) * dilations[axis] + 1
            raise invalid(
                f"Computed output size would be negative: {out} [input_size: {n}, effective_filter_size: {reach}, "
                f"stride: {strides[axis]}]"
            )
        found.append(out)
    return tuple(found)


@lru_cache(1024)
def extents_and_pads(
    x: tuple[int, ...], filter: tuple[int, ...], strides: Steps, padding: Padding, dilations: Steps
) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The spatial extents of a convolution's result, and how far windows reach over each axis, before and after it.

    Called op by op with the sizes of a few layers: found again, not computed again. Raises: as out_extents.
    """
    dims, window = x[1:-1], filter[:-2]
    out = out_extents(dims, window, strides, padding, dilations)
    sizes = enumerate(zip(dims, out, window, strides, dilations, strict=True))
    return out, tuple(pad_extents(n, m, k, s, d, along(padding, i)) for i, (n, m, k, s, d) in sizes)


def _check_steps(strides: Sequence[int], dilations: Sequence[int], error: Callable[[str], Exception]) -> None:
    if any(s <= 0 for s in strides):
        raise error("Row and column strides should be larger than 0.")
    if any(d <= 0 for d in dilations):
        raise error("Dilated rates should be larger than 0.")


def padded(
    x: Array,
    out: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    padding: Padding,
    dilations: Sequence[int],
    value: int = 0,
) -> Array:
    """`x` with `value` where windows reach over it: every element of every window is inside."""
    pads = [
        pad_extents(x.shape[i + 1], out[i], window[i], strides[i], dilations[i], along(padding, i))
        for i in range(len(window))
    ]
    if not any(a or b for a, b in pads):
        return x
    result = np.full(
        (x.shape[0], *[n + a + b for n, (a, b) in zip(x.shape[1:-1], pads, strict=True)], x.shape[-1]), value, x.dtype
    )
    result[inner(x.shape[1:-1], pads)] = x
    return result


def inner(dims: Sequence[int], pads: Sequence[tuple[int, int]]) -> tuple[slice, ...]:
    """Return the place of an array of these spatial extents in its padded form."""
    return (slice(None), *[slice(a, a + n) for n, (a, _) in zip(dims, pads, strict=True)])


def taps(out: Sequence[int], window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Any:
    """Yield for each position in the window, row-major: (position, the elements of a padded array that are there)."""
    for position in np.ndindex(*window):
        yield (
            position,
            (
                slice(None),
                *[
                    slice(t * d, t * d + (n - 1) * s + 1, s) if n else slice(0, 0)
                    for t, n, s, d in zip(position, out, strides, dilations, strict=True)
                ],
            ),
        )


# ---- lowering -------------------------------------------------------------------------------------------------------


def before(
    b: Any,
    n: Scalar | int,
    out: Scalar | int,
    window: Scalar | int,
    stride: int,
    dilation: int,
    padding: str | tuple[int, int],
) -> Any:
    """Return how far the first window reaches over the beginning of an axis, in a kernel."""
    if padding == "VALID":
        return b.const(0)
    if padding != "SAME":
        return b.const(padding[0])
    reach = (out - 1) * stride + (window - 1) * dilation + 1 - n
    return b.op("max", reach, b.const(0)) // 2


def clamped(b: Builder, at: Sequence[Any], extents: Sequence[Any]) -> list[Any]:
    """The nearest place inside: a kernel may read there whether it is asked for or not."""
    return [b.op("max", b.op("min", i, n - 1), b.const(0)) for i, n in zip(at, extents, strict=True)]


def conjunction(b: Builder, conditions: Sequence[Any]) -> Any:
    """True where all conditions hold."""
    found = None
    for condition in conditions:
        found = condition if found is None else b.op("and", found, condition)
    return found


# ---- public arguments -----------------------------------------------------------------------------------------------


def listed(value: TensorLike | None) -> Any:
    """A vector that is known, or a TensorShape, as a list; anything else as it is."""
    if isinstance(value, TensorShape) and value.rank is not None:
        return value.as_list()
    if isinstance(value, EagerTensor | np.ndarray) and len(value.shape):
        return np.ravel(np.asarray(value)).tolist()
    return value


def steps(
    value: TensorLike | None, rank: int, what: str, channels_first: bool, where: str = "strides",
    depthwise: bool = False,
) -> tuple[int, ...]:  # fmt: skip
    """An argument like `strides` over the spatial axes: an int, or 1, `rank` or rank + 2 numbers; None is 1.

    Raises: ValueError for another length; UnimplementedError for steps along batch or channels (InvalidArgumentError
    of three axes, and of gradients of `depthwise` ops); InvalidArgumentError, or ValueError in a graph, for a number
    that is no int32.
    """
    value = 1 if value is None else listed(value)
    given = [whole(v, what, 32) for v in (value if isinstance(value, (list, tuple)) else [value])]
    if len(given) == 1:
        return (given[0],) * rank
    if len(given) == rank:
        return tuple(given)
    if len(given) != rank + 2:
        raise ValueError(
            f"{what} should be of length 1, {rank} or {rank + 2}. Received: {what}={value} of length {len(given)}"
        )
    outer = (given[0], given[1 if channels_first else -1])
    if outer != (1, 1):
        text = f"Current implementation does not yet support {where} in the batch and depth dimensions."
        raise invalid(text) if rank == 3 or depthwise else UnimplementedError(None, None, text)
    return tuple(given[2:] if channels_first else given[1:-1])


def paddings(padding: PadLike, rank: int, channels_first: bool, explicit: bool = True) -> Padding:
    """The padding argument of a public function, over the spatial axes."""
    if isinstance(padding, str):
        if padding == "EXPLICIT" and explicit:
            raise ValueError(
                "'EXPLICIT' is not a valid value for `padding`. To use explicit padding, `padding` must be a list."
            )
        if padding not in ("SAME", "VALID"):
            allowed = '"SAME", "VALID"' + (', "EXPLICIT"' if explicit else "")
            raise _bad_attribute(
                f"Value for attr 'padding' of \"{padding}\" is not in the list of allowed values: {allowed}"
            )
        return padding
    if not explicit or not isinstance(padding, (list, tuple, np.ndarray)):
        raise TypeError(f"Expected string for argument 'padding' not {padding}.")
    pairs = [tuple(whole(n, "padding", 32) for n in _flat(pair)) for pair in padding]
    if len(pairs) != rank + 2:
        raise ValueError(
            f"When padding is a list, it must be of size {rank + 2}. Received: padding={padding} of size {len(pairs)}"
        )
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"When padding is a list, each element must be a list/tuple of size 2. Received: {padding}")
    if any(n < 0 for pair in pairs for n in pair):
        raise invalid("All elements of explicit_paddings must be nonnegative")
    if any(pairs[0]) or any(pairs[1 if channels_first else -1]):
        raise invalid("Nonzero explicit padding in the batch or depth dimensions is not supported")
    return tuple((a, b) for a, b in (pairs[2:] if channels_first else pairs[1:-1]))


def is_channels_first(data_format: str | None, rank: int) -> bool:
    """Return whether a data_format has channels before the spatial axes. Raises: InvalidArgumentError for others."""
    last, first = LAYOUTS[rank]
    if data_format in (None, last):
        return False
    if data_format == first:
        return True
    raise _bad_attribute(
        f'Value for attr \'data_format\' of "{data_format}" is not in the list of allowed values: "{last}", "{first}"'
    )


def _flat(values: list[Any]) -> list[Any]:
    """The numbers of one item of a list argument."""
    if isinstance(values, np.ndarray):
        return list(values.ravel())
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _bad_attribute(text: str) -> Exception:
    """The error that TensorFlow raises for an attribute that an op does not have: another class while it traces."""
    return InvalidArgumentError(None, None, text) if current_trace() is None else ValueError(text)


def channels_last(x: Tensor, rank: int) -> Any:
    """[batch, channels, *spatial] -> [batch, *spatial, channels]."""
    return transpose(x, (0, *range(2, rank + 2), 1))


def channels_first(x: Tensor, rank: int, name: str | None = None) -> Any:
    """[batch, *spatial, channels] -> [batch, channels, *spatial]."""
    return transpose(x, (0, rank + 1, *range(1, rank + 1)), name=name)


def both_steps(
    strides: TensorLike | None, dilations: TensorLike | None, rank: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Strides and dilations over the spatial axes. ValueError if both are above 1, or, with gaps, one is below 1."""
    step = steps(1 if strides is None else strides, rank, "strides", False)
    rate = steps(1 if dilations is None else dilations, rank, "dilations", False, "dilations")
    if any(d != 1 for d in rate):
        positive(rate, "dilation_rate")
        positive(step, "strides")
    if any(s > 1 for s in step) and any(d > 1 for d in rate):
        raise ValueError(
            "`strides > 1` not supported in conjunction with `dilation_rate > 1`. "
            f"Received: strides={list(step)} and dilation_rate={list(rate)}"
        )
    return step, rate


def positive(numbers: Sequence[int], what: str) -> None:
    """ValueError if one of the numbers is below 1."""
    if any(n < 1 for n in numbers):
        raise ValueError(f"all values of `{what}` must be positive. Received: {what}={list(numbers)}")
