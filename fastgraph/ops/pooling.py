"""Pooling: the largest element or the mean of each window, per channel, and their gradients.

Rule: x is [batch, *spatial, channels]; positions outside x belong to no window. A maximum passes over NaN and gives its
gradient to the first of equal elements, in row-major order, as TensorFlow's CPU does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.dtype import as_dtype
from fastgraph.errors import InvalidArgumentError, UnimplementedError
from fastgraph.ops.arguments import as_tensor, index_vector, named
from fastgraph.ops.conv import _both, _extents
from fastgraph.ops.families import Array, accumulator, custom, invalid, public
from fastgraph.ops.movement import expand_dims, reshape, shape_of_value, squeeze
from fastgraph.ops.reduction import reduce_max
from fastgraph.ops.sums import is_half
from fastgraph.ops.windows import (
    Padding,
    along,
    before,
    channels_first,
    channels_last,
    conjunction,
    infer_extents,
    inner,
    is_channels_first,
    out_extents,
    pad_extents,
    padded,
    paddings,
    steps,
    taps,
)
from fastgraph.shapes import Aval

#: Positions up to which a window is written out in a kernel, so that its innermost loop goes over the channels.
UNROLLED = 36

# ---- inference ------------------------------------------------------------------------------------------------------


def _ones(window: Sequence[int]) -> tuple[int, ...]:
    return (1,) * len(window)


def _infer(x: Aval, *, window: Any, strides: Any, padding: Padding) -> Aval:
    rank = len(window)
    if x.shape is not None and len(x.shape) != rank + 2:
        raise ValueError(f"Shape must be rank {rank + 2} but is rank {len(x.shape)}")
    _check_window(window, padding, ValueError)
    own = x.shape or (None,) * (rank + 2)
    return Aval(x.dtype, (own[0], *infer_extents(own[1:-1], window, strides, padding, _ones(window)), own[-1]))


def _check_window(window: Sequence[int], padding: Padding, error: Callable[[str], Exception]) -> None:
    if any(n <= 0 for n in window):
        raise error(
            f"Sliding window ksize must be positive. The specified or inferred ksize is: 1,{','.join(map(str, window))},1"
        )
    for axis, n in enumerate(window):
        pad = along(padding, axis)
        if not isinstance(pad, str):
            for which, amount in zip(_SIDES.get((len(window), axis), ("Front", "Back")), pad, strict=True):
                if amount >= n:
                    raise error(f"{which} padding {amount} needs to be smaller than the window size {n}")


_SIDES = {(2, 0): ("Top", "Bottom"), (2, 1): ("Left", "Right")}


def _out(x: Array, window: Any, strides: Any, padding: Padding) -> tuple[int, ...]:
    """The number of windows along each axis. Raises: InvalidArgumentError."""
    if x.ndim != len(window) + 2:
        raise invalid(f"tensor_in must be {len(window) + 2}-dimensional")
    _check_window(window, padding, invalid)
    return out_extents(x.shape[1:-1], window, strides, padding, _ones(window))


# ---- NumPy bodies ---------------------------------------------------------------------------------------------------


def lowest(dtype: np.dtype[Any]) -> Any:
    """The least finite number of a dtype: what a maximum begins with."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    if dtype.kind == "f":
        return np.finfo(dtype).min
    import ml_dtypes

    return ml_dtypes.finfo(dtype).min


def _max_pool(x: Array, window: Any, strides: Any, padding: Padding) -> Array:
    out = _out(x, window, strides, padding)
    low = lowest(x.dtype)
    whole = padded(x, out, window, strides, padding, _ones(window), low)
    best = np.full((x.shape[0], *out, x.shape[-1]), low, x.dtype)
    for _, at in taps(out, window, strides, _ones(window)):
        here = whole[at]
        np.copyto(best, here, where=here > best)
    return best


def _chosen(x: Array, out: Sequence[int], window: Any, strides: Any, padding: Padding) -> Array:
    """For each window the number of the position that its maximum comes from: the first inside, then any above it."""
    inside = padded(np.ones(x.shape, bool), out, window, strides, padding, _ones(window), False)
    whole = padded(x, out, window, strides, padding, _ones(window), 0)
    found = np.full((x.shape[0], *out, x.shape[-1]), -1, np.int32)
    best = np.zeros(found.shape, x.dtype)
    for number, (_, at) in enumerate(taps(out, window, strides, _ones(window))):
        here = whole[at]
        better = inside[at] & ((found < 0) | (here > best))
        np.copyto(best, here, where=better)
        found[better] = number
    return found


def _max_pool_grad(x: Array, dy: Array, window: Any, strides: Any, padding: Padding) -> Array:
    out = _out(x, window, strides, padding)
    _check_gradient(x.shape, out, dy)
    found = _chosen(x, out, window, strides, padding)
    pads = _pads(x.shape, out, window, strides, padding)
    wide = np.float32 if is_half(x.dtype) else x.dtype
    dims = (x.shape[0], *[n + a + b for n, (a, b) in zip(x.shape[1:-1], pads, strict=True)], x.shape[-1])
    total = np.zeros(dims, wide)
    for number, (_, at) in enumerate(taps(out, window, strides, _ones(window))):
        total[at] += np.where(found == number, dy.astype(wide, copy=False), np.zeros((), wide))
    return total[inner(x.shape[1:-1], pads)].astype(dy.dtype, copy=False)


def _max_pool_pick(x: Array, g: Array, window: Any, strides: Any, padding: Padding) -> Array:
    out = _out(x, window, strides, padding)
    if g.shape != x.shape:
        raise invalid("Expected grad shape to be the input's")
    found = _chosen(x, out, window, strides, padding)
    whole = padded(g, out, window, strides, padding, _ones(window))
    result = np.zeros(found.shape, g.dtype)
    for number, (_, at) in enumerate(taps(out, window, strides, _ones(window))):
        np.copyto(result, whole[at], where=found == number)
    return result


def _counts(dims: Sequence[int], out: Sequence[int], window: Any, strides: Any, padding: Padding) -> Array:
    """How many positions of each window are inside: [*out, 1]."""
    one = np.ones((1, *dims, 1), np.float32)
    whole = padded(one, out, window, strides, padding, _ones(window))
    total = np.zeros((1, *out, 1), np.float32)
    for _, at in taps(out, window, strides, _ones(window)):
        total += whole[at]
    return total


def _avg_pool(x: Array, window: Any, strides: Any, padding: Padding) -> Array:
    out = _out(x, window, strides, padding)
    wide = np.float32 if is_half(x.dtype) else x.dtype
    whole = padded(x, out, window, strides, padding, _ones(window)).astype(wide, copy=False)
    total = np.zeros((x.shape[0], *out, x.shape[-1]), wide)
    for _, at in taps(out, window, strides, _ones(window)):
        total += whole[at]
    return (total / _counts(x.shape[1:-1], out, window, strides, padding).astype(wide)).astype(x.dtype, copy=False)


def _avg_pool_grad(dims: tuple[int, ...], dy: Array, window: Any, strides: Any, padding: Padding) -> Array:
    if len(dims) != len(window) + 2:
        raise invalid(f"orig_input_shape must be 1-dimensional and {len(window) + 2} elements")
    _check_window(window, padding, invalid)
    out = out_extents(dims[1:-1], window, strides, padding, _ones(window))
    _check_gradient(dims, out, dy)
    wide = np.float32 if is_half(dy.dtype) else dy.dtype
    pads = _pads(dims, out, window, strides, padding)
    share = dy.astype(wide, copy=False) / _counts(dims[1:-1], out, window, strides, padding).astype(wide)
    total = np.zeros((dims[0], *[n + a + b for n, (a, b) in zip(dims[1:-1], pads, strict=True)], dims[-1]), wide)
    for _, at in taps(out, window, strides, _ones(window)):
        total[at] += share
    return total[inner(dims[1:-1], pads)].astype(dy.dtype, copy=False)


def _pads(dims: Sequence[int], out: Sequence[int], window: Any, strides: Any, padding: Padding) -> list[Any]:
    return [
        pad_extents(n, m, k, s, 1, along(padding, i))
        for i, (n, m, k, s) in enumerate(zip(dims[1:-1], out, window, strides, strict=True))
    ]


def _check_gradient(dims: Sequence[int], out: Sequence[int], dy: Array) -> None:
    wanted = (dims[0], *out, dims[-1])
    if dy.shape != wanted:
        raise invalid(f"Expected grad shape to be {list(wanted)}, but got {list(dy.shape)}")


# ---- lowering -------------------------------------------------------------------------------------------------------


class _Windows:
    """The windows of one pooling in a kernel."""

    def __init__(self, b: Any, x: Any, out: Any, attrs: dict[str, Any]) -> None:
        self.b = b
        self.window, self.strides = attrs["window"], attrs["strides"]
        self.n, self.m = x[1:-1], out[1:-1]
        self.before = [
            before(b, n, m, b.const(k), s, 1, along(attrs["padding"], i))
            for i, (n, m, k, s) in enumerate(zip(self.n, self.m, self.window, self.strides, strict=True))
        ]
        self.padding = attrs["padding"]

    def place(self, position: Sequence[Any], tap: Sequence[Any]) -> list[Any]:
        """Where the element `tap` of the window at `position` stands."""
        return [o * s + t - a for o, s, t, a in zip(position, self.strides, tap, self.before, strict=True)]

    def inside(self, at: Sequence[Any]) -> Any:
        """Whether a place is in x; None if it always is."""
        if self.padding == "VALID":
            return None
        return conjunction(self.b, [c for i, n in zip(at, self.n, strict=True) for c in (i >= 0, i < n)])

    def clamped(self, at: Sequence[Any]) -> list[Any]:
        """The nearest place in x: a kernel may read there whether it is asked for or not."""
        b = self.b
        if self.padding == "VALID":
            at_most = [b.op("min", i, n - 1) for i, n in zip(at, self.n, strict=True)]
            return [b.op("max", i, b.const(0)) for i in at_most]
        return [b.op("max", b.op("min", i, n - 1), b.const(0)) for i, n in zip(at, self.n, strict=True)]

    def fold(self, kind: str, extents: Sequence[int], body: Callable[[Sequence[Any]], Any], step: Any) -> Any:
        """Combine `body(tap)` over static extents: few are written out, so that loops over channels are innermost."""
        b = self.b
        if math.prod(extents) <= UNROLLED:
            total = None
            for position in np.ndindex(*extents):
                value = body([b.const(int(t)) for t in position])
                total = value if total is None else step(total, value)
            return total
        return b.reduce(kind, [b.const(n) for n in extents], body)

    def count(self, position: Sequence[Any], dtype: Any) -> Any:
        """How many elements the window at `position` has."""
        b = self.b
        total = b.const(1)
        for o, s, a, k, n in zip(position, self.strides, self.before, self.window, self.n, strict=True):
            first = o * s - a
            total = total * (b.op("min", first + k, n) - b.op("max", first, b.const(0)))
        return b.cast(total, dtype)

    def covering(self) -> list[int]:
        """How many windows an element may be in, along each axis."""
        return [-(-k // s) for k, s in zip(self.window, self.strides, strict=True)]

    def window_of(self, index: Sequence[Any], which: Sequence[Any]) -> tuple[list[Any], list[Any], Any]:
        """Window number `which` of those an element may be in: its position, the element's tap, whether there is one."""
        position, tap, conditions = [], [], []
        for i, j, s, a, k, m in zip(index, which, self.strides, self.before, self.window, self.m, strict=True):
            o = (i + a) // s - j
            t = i + a - o * s
            position.append(o)
            tap.append(t)
            conditions += [o >= 0, o < m, t < k]
        return position, tap, conjunction(self.b, conditions)


def _larger(b: Any) -> Callable[[Any, Any], Any]:
    return lambda total, value: b.select(value > total, value, total)


def _lower_max(b: Any, node: Any) -> list[Any]:
    x, dtype = b.input(0), node.inputs[0].aval.dtype
    windows = _Windows(b, x.shape, b.output(0).shape, node.attrs)
    low = b.const(float(lowest(dtype.numpy_dtype)) if dtype.is_floating else int(lowest(dtype.numpy_dtype)), dtype)

    def element(index: Sequence[Any]) -> Any:
        n, *position, c = index

        def value(tap: Sequence[Any]) -> Any:
            # A window without its positions outside has the same maximum as with their nearest neighbours inside.
            found = x.at((n, *windows.clamped(windows.place(position, tap)), c))
            return b.select(found > low, found, low)

        return windows.fold("max", windows.window, value, _larger(b))

    return [element]


def _is_chosen(b: Any, windows: _Windows, x: Any, n: Any, c: Any, position: Any, tap: Any, value: Any) -> Any:
    """Whether the maximum of a window comes from `tap`, whose element is `value`."""
    first = [b.op("max", a - o * s, b.const(0)) for o, s, a in zip(position, windows.strides, windows.before, strict=True)]

    def flat(place: Sequence[Any]) -> Any:
        total = b.const(0)
        for t, k in zip(place, windows.window, strict=True):
            total = total * k + t
        return total

    own, begin = flat(tap), flat(first)

    def yields(other: Sequence[Any]) -> Any:
        at = windows.place(position, other)
        here = x.at((n, *windows.clamped(at), c))
        number = flat(other)
        # One before must be less, or no number and not the first; one after must not be more.
        less = value > here
        if x.dtype in ("float16", "bfloat16", "float32", "float64"):
            less = b.op("or", less, b.op("and", here.ne(here), number.ne(begin)))
        fine = b.select(number < own, less, b.op("or", number.eq(own), ~(here > value)))
        inside = windows.inside(at)
        return fine if inside is None else b.op("or", fine, ~inside)

    return windows.fold("all", windows.window, yields, lambda p, q: b.op("and", p, q))


def _lower_max_grad(b: Any, node: Any) -> list[Any]:
    x, dy, dtype = b.input(0), b.input(1), node.inputs[0].aval.dtype
    wide = accumulator(dtype)
    windows = _Windows(b, x.shape, dy.shape, node.attrs)

    def element(index: Sequence[Any]) -> Any:
        n, *place, c = index
        value = x.at(index)

        def part(which: Sequence[Any]) -> Any:
            position, tap, exists = windows.window_of(place, which)
            chosen = _is_chosen(b, windows, x, n, c, position, tap, value)
            given = dy.at((n, *[b.op("max", b.op("min", o, m - 1), b.const(0)) for o, m in zip(position, windows.m)], c))
            return b.select(b.op("and", exists, chosen), b.cast(given, wide), b.const(0, wide))

        total = windows.fold("sum", windows.covering(), part, lambda p, q: p + q)
        return b.cast(total, dtype)

    return [element]


def _lower_pick(b: Any, node: Any) -> list[Any]:
    x, g, dtype = b.input(0), b.input(1), node.inputs[0].aval.dtype
    windows = _Windows(b, x.shape, b.output(0).shape, node.attrs)

    def element(index: Sequence[Any]) -> Any:
        n, *position, c = index

        def part(tap: Sequence[Any]) -> Any:
            at = windows.place(position, tap)
            near = windows.clamped(at)
            chosen = _is_chosen(b, windows, x, n, c, position, tap, x.at((n, *near, c)))
            inside = windows.inside(at)
            chosen = chosen if inside is None else b.op("and", chosen, inside)
            return b.select(chosen, g.at((n, *near, c)), b.const(0, dtype))

        return windows.fold("sum", windows.window, part, lambda p, q: p + q)

    return [element]


def _lower_avg(b: Any, node: Any) -> list[Any]:
    x, dtype = b.input(0), node.inputs[0].aval.dtype
    wide = accumulator(dtype)
    windows = _Windows(b, x.shape, b.output(0).shape, node.attrs)

    def element(index: Sequence[Any]) -> Any:
        n, *position, c = index

        def value(tap: Sequence[Any]) -> Any:
            at = windows.place(position, tap)
            found = b.cast(x.at((n, *windows.clamped(at), c)), wide)
            inside = windows.inside(at)
            return found if inside is None else b.select(inside, found, b.const(0, wide))

        total = windows.fold("sum", windows.window, value, lambda p, q: p + q)
        return b.cast(total / windows.count(position, wide), dtype)

    return [element]


def _lower_avg_grad(b: Any, node: Any) -> list[Any]:
    dy, dtype = b.input(1), node.inputs[1].aval.dtype
    wide = accumulator(dtype)
    windows = _Windows(b, b.output(0).shape, dy.shape, node.attrs)

    def element(index: Sequence[Any]) -> Any:
        n, *place, c = index

        def part(which: Sequence[Any]) -> Any:
            position, _, exists = windows.window_of(place, which)
            near = [b.op("max", b.op("min", o, m - 1), b.const(0)) for o, m in zip(position, windows.m)]
            share = b.cast(dy.at((n, *near, c)), wide) / windows.count(near, wide)
            return b.select(exists, share, b.const(0, wide))

        return b.cast(windows.fold("sum", windows.covering(), part, lambda p, q: p + q), dtype)

    return [element]


# ---- samples --------------------------------------------------------------------------------------------------------

_CASES: tuple[tuple[Any, ...], ...] = (
    ((1, 4, 6, 2), (2, 2), (2, 2), "VALID"),
    ((1, 5, 4, 2), (3, 2), (2, 1), "SAME"),
    ((2, 3, 3, 1), (2, 3), (1, 1), "SAME"),
    ((1, 7, 5, 1), (1, 2), (3, 4), "VALID"),
    ((1, 2, 5, 2, 1), (2, 2, 1), (1, 2, 1), "SAME"),
    ((1, 3, 4, 3, 1), (2, 2, 2), (1, 2, 2), "VALID"),
    ((0, 4, 4, 2), (2, 2), (2, 2), "SAME"),
    ((1, 9, 9, 1), (7, 7), (2, 2), "VALID"),
)
_FLOATS = ("float32", "float64", "float16", "bfloat16")
_PADDED = ((1, 3, 4, 2), (3, 2), (2, 2), ((1, 2), (0, 1)))


def _samples(kind: str, dtypes: Sequence[str], more: Sequence[Any] = ()) -> Callable[[], list[Any]]:
    def samples() -> list[Any]:
        found = []
        for dtype in dtypes:
            kind_of = as_dtype(dtype).numpy_dtype
            for number, (dims, window, strides, padding) in enumerate((*_CASES, *more)):
                attrs = {"window": window, "strides": strides, "padding": padding}
                out = out_extents(dims[1:-1], window, strides, padding, _ones(window))
                random = np.random.default_rng(number)
                # No two elements are equal, so that finite differences do not meet an edge.
                x = (random.permutation(math.prod(dims)).reshape(dims) - math.prod(dims) // 2).astype(kind_of)
                dy = random.integers(-3, 4, (dims[0], *out, dims[-1])).astype(kind_of)
                inputs: tuple[Any, ...] = (x,)
                if kind == "grad":
                    inputs = (x, dy)
                elif kind == "pick":
                    inputs = (x, random.integers(-3, 4, dims).astype(kind_of))
                elif kind == "mean":
                    inputs = (np.array(dims, np.int32), dy)
                found.append((inputs, attrs))
        return found

    return samples


def _special() -> list[Any]:
    """Windows with NaN, infinities and equal elements."""
    nan, inf = float("nan"), float("inf")
    rows = ([nan, 1, 2, 3], [1, nan, 2, 3], [1, 2, 3, nan], [nan] * 4, [1] * 4, [-inf] * 4, [inf, inf, 1, 2], [3, nan, 3, 1])
    x = np.array(rows, np.float32).reshape(8, 2, 2, 1)
    attrs = {"window": (2, 2), "strides": (1, 1), "padding": "SAME"}
    return [((x,), attrs), ((np.tile(x, (1, 1, 1, 3)),), {**attrs, "padding": "VALID"})]


def _errors() -> list[Any]:
    x = np.ones((1, 4, 4, 2))
    plain = {"window": (2, 2), "strides": (1, 1), "padding": "VALID"}

    def bad(text: str, x: Any = x, **attrs: Any) -> Any:
        return (x,), {**plain, **attrs}, InvalidArgumentError, text

    return [
        bad("must be 4-dimensional", x[0]),
        bad("Sliding window ksize must be positive", window=(0, 2)),
        bad("strides should be larger than 0", strides=(1, 0)),
        bad("Computed output size would be negative: -1", window=(6, 2)),
    ]


# ---- the primitives -------------------------------------------------------------------------------------------------


def _vector(extents_: Any) -> Any:
    return index_vector(extents_) if isinstance(extents_, tuple) else extents_


def _attrs(window: Any, strides: Any, padding: Any) -> dict[str, Any]:
    return {"window": window, "strides": strides, "padding": padding}


_MAX_DTYPES = "float16 bfloat16 float32 float64 int32 int64 uint8 int16 int8 uint16"


@custom(
    op="MaxPool",
    infer=_infer,
    dtypes=_MAX_DTYPES,
    lower=_lower_max,
    vjp=dict(
        x=lambda dy, x, window, strides, padding: max_pool_grad_p(x, dy, **_attrs(window, strides, padding)),
    ),
    samples=lambda: [
        *_samples("result", (*_FLOATS, "int32", "uint8", "int64"), (_PADDED,))(),
        *_special(),
    ],
    error_samples=lambda: [
        *_errors(),
        (
            (np.ones((1, 4, 4, 2)),),
            {"window": (2, 2), "strides": (1, 1), "padding": ((2, 0), (0, 0))},
            InvalidArgumentError,
            "Top padding 2 needs to be smaller than the window size 2",
        ),
    ],
)
def max_pool_p(x: Array, *, window: Any, strides: Any, padding: Padding) -> Any:
    """The largest element of each window. t[n, *s, c] -> t[n, *o, c]."""
    return _max_pool(x, window, strides, padding)


@custom(
    op="MaxPoolGrad",
    infer=lambda x, dy, **attrs: Aval(x.dtype, x.shape),
    groups=("T", "T"),
    dtypes=_MAX_DTYPES,
    lower=_lower_max_grad,
    vjp=dict(
        dy=lambda dy, x, window, strides, padding: max_pool_pick_p(x, dy, **_attrs(window, strides, padding)),
    ),
    samples=lambda: [
        *_samples("grad", (*_FLOATS, "int32"), (_PADDED,))(),
        *[
            ((x, np.random.default_rng(0).integers(1, 9, (8, *((2, 2) if a["padding"] == "SAME" else (1, 1)), x.shape[-1])).astype("float32")), a)
            for (x,), a in _special()
        ],
    ],
)
def max_pool_grad_p(x: Array, dy: Array, *, window: Any, strides: Any, padding: Padding) -> Any:
    """max_pool's gradient: dy where each maximum came from. t[n, *s, c], t[n, *o, c] -> t[n, *s, c]."""
    return _max_pool_grad(x, dy, window, strides, padding)


@custom(
    op="MaxPoolGradGrad",
    infer=lambda x, g, **attrs: _infer(x, **attrs),
    groups=("T", "T"),
    dtypes=_MAX_DTYPES,
    lower=_lower_pick,
    vjp=dict(
        g=lambda dy, x, window, strides, padding: max_pool_grad_p(x, dy, **_attrs(window, strides, padding)),
    ),
    samples=_samples("pick", _FLOATS, (_PADDED,)),
)
def max_pool_pick_p(x: Array, g: Array, *, window: Any, strides: Any, padding: Padding) -> Any:
    """The element of g where the maximum of each window of x stands. t[n, *s, c], t[n, *s, c] -> t[n, *o, c]."""
    return _max_pool_pick(x, g, window, strides, padding)


@custom(
    op="AvgPool",
    infer=_infer,
    dtypes="floating",
    lower=_lower_avg,
    vjp=dict(
        x=lambda dy, x_shape, window, strides, padding: avg_pool_grad_p(
            _vector(x_shape), dy, **_attrs(window, strides, padding)
        ),
    ),
    samples=_samples("result", _FLOATS),
    error_samples=_errors,
)
def avg_pool_p(x: Array, *, window: Any, strides: Any, padding: Padding) -> Any:
    """The mean of each window, of what is inside x. f[n, *s, c] -> f[n, *o, c]."""
    return _avg_pool(x, window, strides, padding)


def _infer_avg_grad(sizes: Aval, dy: Aval, *, window: Any, strides: Any, padding: Padding) -> Aval:
    dims = shape_of_value(sizes)
    if sizes.value is None or dims is None:
        own = dy.shape or (None,) * (len(window) + 2)
        return Aval(dy.dtype, (own[0], *(None,) * len(window), own[-1]))
    return Aval(dy.dtype, dims)


@custom(
    op="AvgPoolGrad",
    infer=_infer_avg_grad,
    groups=("Tshape", "T"),
    dtypes={"T": "floating", "Tshape": "index"},
    shape_inputs=(0,),
    lower=_lower_avg_grad,
    vjp=dict(dy=lambda dy, window, strides, padding: avg_pool_p(dy, **_attrs(window, strides, padding))),
    samples=_samples("mean", _FLOATS),
)
def avg_pool_grad_p(sizes: Array, dy: Array, *, window: Any, strides: Any, padding: Padding) -> Any:
    """avg_pool's gradient: each element's share of the windows it is in. i[rank], f[n, *o, c] -> f[*sizes]."""
    return _avg_pool_grad(tuple(sizes.tolist()), dy, window, strides, padding)


# ---- public functions -----------------------------------------------------------------------------------------------


def _window(value: Any, rank: int, first: bool) -> tuple[tuple[int, ...], int, int]:
    """A ksize or strides argument: over the spatial axes, the batch, the channels."""
    given = [int(v) for v in np.ravel(value)] if isinstance(value, (list, tuple, np.ndarray)) else [int(value)]
    if len(given) != rank + 2:
        return steps(given, rank, "ksize", first), 1, 1
    return tuple(given[2:] if first else given[1:-1]), given[0], given[1 if first else -1]


def _pool(
    rank: int, primitive: Any, x: Any, ksize: Any, strides: Any, padding: Any, data_format: Any, name: str | None
) -> Any:
    """One pooling of a public function: arguments checked, other layouts transposed."""
    first = is_channels_first(data_format, rank)
    x = as_tensor(x)
    window, batch, depth = _window(ksize, rank, first)
    stride, batch_step, depth_step = _window(strides, rank, first) if _full(strides, rank) else (
        steps(strides, rank, "strides", first), 1, 1
    )  # fmt: skip
    pads = paddings(padding, rank, first, explicit=primitive is max_pool_p and rank < 3)
    if batch != 1 or batch_step != 1:
        raise UnimplementedError(None, None, "Pooling is not yet supported on the batch dimension.")
    if depth != 1 or depth_step != 1:
        return _depth_pool(x, window, stride, depth, depth_step, primitive, first, name)
    if first:
        x = channels_last(x, rank)
    if rank == 1:
        if not isinstance(pads, str):
            pads = ((0, 0), *pads)
        wide = named(None, primitive, expand_dims(x, 1), window=(1, *window), strides=(1, *stride), padding=pads)
        result = squeeze(wide, [1], name=None if first else name)
    else:
        result = named(None if first else name, primitive, x, window=window, strides=stride, padding=pads)
    return channels_first(result, rank, name) if first else result


def _full(value: Any, rank: int) -> bool:
    return isinstance(value, (list, tuple, np.ndarray)) and len(np.ravel(value)) == rank + 2


def _depth_pool(
    x: Any, window: Any, stride: Any, depth: int, step: int, primitive: Any, first: bool, name: str | None
) -> Any:
    """The largest of each group of neighbouring channels."""
    if primitive is not max_pool_p or first:
        raise UnimplementedError(None, None, "Pooling across channels is there for max_pool with channels last.")
    if any(n != 1 for n in (*window, *stride)):
        raise UnimplementedError(
            None, None, "MaxPooling supports exactly one of pooling across depth or pooling across width/height."
        )
    if depth != step:
        raise UnimplementedError(None, None, "Depthwise max pooling requires the depth window to equal the depth stride.")
    dims = _extents(x)
    if isinstance(dims[-1], int) and dims[-1] % depth:
        raise UnimplementedError(
            None, None, "Depthwise max pooling requires the depth window to evenly divide the input depth."
        )
    return reduce_max(reshape(x, (*dims[:-1], dims[-1] // depth, depth)), -1, name=name)


def _any_pool(primitive: Any, x: Any, ksize: Any, strides: Any, padding: Any, data_format: Any, name: Any) -> Any:
    x = as_tensor(x)
    if x.shape.rank is None:
        raise ValueError("The rank of `input` must be known")
    if not 3 <= x.shape.rank <= 5:
        raise ValueError(
            f"`input.shape.rank` must be 3, 4 or 5. Received: input.shape={x.shape} of rank {x.shape.rank}."
        )
    return _pool(x.shape.rank - 2, primitive, x, ksize, strides, padding, data_format, name)


@public("nn.max_pool")
def max_pool(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = None, name: str | None = None
) -> Any:
    """The largest element of each window, over one to three spatial axes. t[n, *s, c] -> t[n, *o, c].

    NaN is passed over. Raises: InvalidArgumentError for windows that do not fit; ValueError for other arguments.
    Source: tf.nn.max_pool.
    """
    return _any_pool(max_pool_p, input, ksize, strides, padding, data_format, name)


@public("nn.avg_pool")
def avg_pool(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = None, name: str | None = None
) -> Any:
    """The mean of each window, of what is inside, over one to three spatial axes. f[n, *s, c] -> f[n, *o, c].

    Raises: InvalidArgumentError for windows that do not fit; ValueError for other arguments. Source: tf.nn.avg_pool.
    """
    return _any_pool(avg_pool_p, input, ksize, strides, padding, data_format, name)


@public("nn.max_pool1d")
def max_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = "NWC", name: str | None = None
) -> Any:
    """The largest element of each window of one spatial axis. t[n, w, c] -> t[n, ow, c]. Source: tf.nn.max_pool1d."""
    return _pool(1, max_pool_p, input, ksize, strides, padding, data_format, name)


@public("nn.max_pool2d")
def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = "NHWC", name: str | None = None
) -> Any:
    """The largest element of each window of two spatial axes. t[n, h, w, c] -> t[n, oh, ow, c].

    Source: tf.nn.max_pool2d.
    """
    return _pool(2, max_pool_p, input, ksize, strides, padding, data_format, name)


@public("nn.max_pool3d")
def max_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = "NDHWC", name: str | None = None
) -> Any:
    """The largest element of each window of three spatial axes. t[n, d, h, w, c] -> t[n, od, oh, ow, c].

    Source: tf.nn.max_pool3d.
    """
    return _pool(3, max_pool_p, input, ksize, strides, padding, data_format, name)


@public("nn.avg_pool1d")
def avg_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = "NWC", name: str | None = None
) -> Any:
    """The mean of each window of one spatial axis. f[n, w, c] -> f[n, ow, c]. Source: tf.nn.avg_pool1d."""
    return _pool(1, avg_pool_p, input, ksize, strides, padding, data_format, name)


@public("nn.avg_pool2d")
def avg_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = "NHWC", name: str | None = None
) -> Any:
    """The mean of each window of two spatial axes. f[n, h, w, c] -> f[n, oh, ow, c]. Source: tf.nn.avg_pool2d."""
    return _pool(2, avg_pool_p, input, ksize, strides, padding, data_format, name)


@public("nn.avg_pool3d")
def avg_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = "NDHWC", name: str | None = None
) -> Any:
    """The mean of each window of three spatial axes. f[n, d, h, w, c] -> f[n, od, oh, ow, c].

    Source: tf.nn.avg_pool3d.
    """
    return _pool(3, avg_pool_p, input, ksize, strides, padding, data_format, name)


@public("nn.pool")
def pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: Any = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """The maximum ("MAX") or mean ("AVG") of windows, over as many axes as window_shape has. t[n, *s, c] -> t[n, *o, c].

    With dilations a window takes every d-th element (padding "VALID" only). Raises: ValueError for what does not go
    together. Source: tf.nn.pool.
    """
    rank = len(window_shape)
    if not 1 <= rank <= 3:
        raise ValueError(f"`num_spatial_dims` must be 1, 2, or 3. Received: num_spatial_dims={rank}.")
    primitive = {"MAX": max_pool_p, "AVG": avg_pool_p}.get(pooling_type)
    if primitive is None:
        raise ValueError(f"{rank}-D {pooling_type} pooling is not supported.")
    step, rate = _both(strides, dilations, rank)
    if all(d == 1 for d in rate):
        return _pool(rank, primitive, input, list(window_shape), list(step), padding, data_format, name)
    if padding != "VALID":
        raise ValueError(
            "pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. "
            f"Received: padding={padding} and dilation_rate={np.array(rate)}"
        )
    return _dilated(rank, primitive, as_tensor(input), tuple(int(k) for k in window_shape), rate, data_format, name)


def _dilated(rank: int, primitive: Any, x: Any, window: Any, rate: Any, data_format: Any, name: str | None) -> Any:
    """Pooling of every d-th element: one pooling for each remainder, put together again."""
    from fastgraph.ops.gathering import gather
    from fastgraph.ops.joining import concat

    first = is_channels_first(data_format, rank)
    if first:
        x = channels_last(x, rank)
    result = x
    dims = x.shape.as_list()
    if None in dims[1:-1]:
        raise NotImplementedError("pool with dilations needs spatial sizes that are known")
    for axis, (k, d) in enumerate(zip(window, rate, strict=True)):
        one = tuple(k if i == axis else 1 for i in range(rank))
        n = result.shape[axis + 1]
        parts = [gather(result, np.arange(r, n, d, dtype=np.int32), axis=axis + 1) for r in range(d)]
        parts = [p for p in parts if p.shape[axis + 1] >= k]
        made = [_pool(rank, primitive, p, list(one), 1, "VALID", None, None) for p in parts]
        joined = concat(made, axis + 1) if made else result
        # Element r + d * i of the result is element i of the pooling of remainder r.
        lengths = [p.shape[axis + 1] for p in made]
        starts = np.cumsum([0, *lengths[:-1]]) if made else []
        out = n - (k - 1) * d
        order = np.array([starts[i % d] + i // d for i in range(out)], np.int32)
        result = gather(joined, order, axis=axis + 1)
    return channels_first(result, rank, name) if first else result

