"""Pooling: the largest element or the mean of each window, per channel, and their gradients.

Rule: x is [batch, *spatial, channels]; positions outside x belong to no window. A maximum passes over NaN and gives its
gradient to the first of equal elements, in row-major order, as TensorFlow's CPU does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.base.shapes import Aval
from fastgraph.ops.arguments import residual_shape
from fastgraph.ops.elementwise import zeros_like
from fastgraph.ops.families import Array, Builder, Node, Operand, Scalar, accumulator, custom, misuse
from fastgraph.ops.movement import shape_of_value
from fastgraph.ops.pooling_numpy import (
    avg_pool,
    avg_pool_grad,
    check_window,
    lowest,
    max_pool,
    max_pool_grad,
    max_pool_pick,
    ones,
    to_each,
)
from fastgraph.ops.window_arguments import (
    Padding,
    Steps,
    along,
    before,
    clamped,
    conjunction,
    infer_extents,
    out_extents,
)

#: Positions up to which a window is written out in a kernel, so that its innermost loop goes over the channels.
UNROLLED = 36
#: Terms up to which nested windows are: those of 5 x 5 are 225 and more, which LLVM takes minutes for.
UNROLLED_TWICE = 81

# ---- inference ------------------------------------------------------------------------------------------------------


def _infer(x: Aval, *, window: Steps, strides: Steps, padding: Padding) -> Aval:
    rank = len(window)
    if x.shape is not None and len(x.shape) != rank + 2:
        raise ValueError(f"Shape must be rank {rank + 2} but is rank {len(x.shape)}")
    check_window(window, padding, ValueError)
    own = x.shape or (None,) * (rank + 2)
    return Aval(x.dtype, (own[0], *infer_extents(own[1:-1], window, strides, padding, ones(window)), own[-1]))


# ---- lowering -------------------------------------------------------------------------------------------------------


class _Windows:
    def __init__(self, b: Builder, x: tuple[Any, ...], out: tuple[Any, ...], attrs: dict[str, Any]) -> None:
        self.b = b
        self.window, self.strides = attrs["window"], attrs["strides"]
        self.n, self.m = x[1:-1], out[1:-1]
        self.before = [
            before(b, n, m, b.const(k), s, 1, along(attrs["padding"], i))
            for i, (n, m, k, s) in enumerate(zip(self.n, self.m, self.window, self.strides, strict=True))
        ]
        self.padding = attrs["padding"]

    def place(self, position: Sequence[Any], tap: Sequence[Any]) -> list[Any]:
        """Return where the element `tap` of the window at `position` stands."""
        return [o * s + t - a for o, s, t, a in zip(position, self.strides, tap, self.before, strict=True)]

    def inside(self, at: Sequence[Any]) -> Any:
        """True where a place is in x; None if it always is."""
        if self.padding == "VALID":
            return None
        return conjunction(self.b, [c for i, n in zip(at, self.n, strict=True) for c in (i >= 0, i < n)])

    def clamped(self, at: Sequence[Any]) -> list[Any]:
        """The nearest place in x: a kernel may read there whether it is asked for or not."""
        return clamped(self.b, at, self.n)

    def fold(
        self,
        kind: str,
        extents: Sequence[int],
        body: Callable[[Sequence[Any]], Any],
        step: Callable[[Any, Any], Any],
        size: int = 1,
    ) -> Any:
        """Combine `body(tap)` over static extents: few are written out, so that loops over channels are innermost.

        `size` is how many terms a body is written out as: nested, they multiply, and so does the time to compile them.
        """
        b = self.b
        if math.prod(extents) <= UNROLLED and math.prod(extents) * size <= UNROLLED_TWICE:
            total = None
            for position in np.ndindex(*extents):
                value = body([b.const(int(t)) for t in position])
                total = value if total is None else step(total, value)
            return total
        return b.reduce(kind, [b.const(n) for n in extents], body)

    def written_out(self) -> int:
        """Return how many terms a fold over the window is written out as."""
        n = math.prod(self.window)
        return n if n <= UNROLLED else 1

    def count(self, position: Sequence[Any], dtype: DType) -> Any:
        """Return how many elements the window at `position` has."""
        b = self.b
        total = b.const(1)
        for o, s, a, k, n in zip(position, self.strides, self.before, self.window, self.n, strict=True):
            first = o * s - a
            total = total * (b.op("min", first + k, n) - b.op("max", first, b.const(0)))
        return b.cast(total, dtype)

    def covering(self) -> list[int]:
        """Return how many windows an element may be in, along each axis."""
        return [-(-k // s) for k, s in zip(self.window, self.strides, strict=True)]

    def window_of(self, index: Sequence[Any], which: Sequence[Any]) -> tuple[list[Any], list[Any], Any]:
        """Window number `which` of those an element may be in: its position, the element's tap, if there is one."""
        position, tap, conditions = [], [], []
        for i, j, s, a, k, m in zip(index, which, self.strides, self.before, self.window, self.m, strict=True):
            o = (i + a) // s - j
            t = i + a - o * s
            position.append(o)
            tap.append(t)
            conditions += [o >= 0, o < m, t < k]
        return position, tap, conjunction(self.b, conditions)


def _lowest(b: Builder, dtype: DType) -> Any:
    return b.const(float(lowest(dtype.numpy_dtype)) if dtype.is_floating else int(lowest(dtype.numpy_dtype)), dtype)


def _lower_max(b: Builder, node: Node) -> list[Any]:
    x, dtype = b.input(0), node.inputs[0].aval.dtype
    windows = _Windows(b, x.shape, b.output(0).shape, node.attrs)
    low = _lowest(b, dtype)

    def element(index: Sequence[Any]) -> Any:
        n, *position, c = index

        def value(tap: Sequence[Any]) -> Any:
            # A window without its positions outside has the same maximum as with their nearest neighbours inside.
            found = x.at((n, *windows.clamped(windows.place(position, tap)), c))
            return b.select(found > low, found, low)

        return windows.fold("max", windows.window, value, lambda total, value: b.select(value > total, value, total))

    return [element]


def _is_chosen(
    b: Builder,
    windows: _Windows,
    x: Operand,
    n: Scalar,
    c: Scalar,
    position: Sequence[Scalar],
    tap: Sequence[Scalar],
    value: Scalar,
) -> Any:
    """True where the maximum of a window comes from `tap`, whose element is `value`."""
    first = [
        b.op("max", a - o * s, b.const(0)) for o, s, a in zip(position, windows.strides, windows.before, strict=True)
    ]

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


def _is_largest(
    b: Builder,
    windows: _Windows,
    x: Operand,
    n: Scalar,
    c: Scalar,
    position: Sequence[Scalar],
    low: Scalar,
    value: Scalar,
) -> Any:
    """True where `value` is the largest of a window, where that begins with `low`: NaN never is."""

    def yields(other: Sequence[Any]) -> Any:
        at = windows.place(position, other)
        fine, inside = ~(x.at((n, *windows.clamped(at), c)) > value), windows.inside(at)
        return fine if inside is None else b.op("or", fine, ~inside)

    found = windows.fold("all", windows.window, yields, lambda p, q: b.op("and", p, q))
    return b.op("and", found, value >= low)


def _lower_max_grad(b: Builder, node: Node) -> list[Any]:
    x, dy, dtype = b.input(0), b.input(1), node.inputs[0].aval.dtype
    wide = accumulator(dtype)
    windows = _Windows(b, x.shape, dy.shape, node.attrs)

    def element(index: Sequence[Any]) -> Any:
        n, *place, c = index
        value = x.at(index)

        def part(which: Sequence[Any]) -> Any:
            position, tap, exists = windows.window_of(place, which)
            if to_each(windows.window):
                chosen = _is_largest(b, windows, x, n, c, position, _lowest(b, dtype), value)
            else:
                chosen = _is_chosen(b, windows, x, n, c, position, tap, value)
            given = dy.at(
                (n, *[b.op("max", b.op("min", o, m - 1), b.const(0)) for o, m in zip(position, windows.m)], c)
            )
            return b.select(b.op("and", exists, chosen), b.cast(given, wide), b.const(0, wide))

        total = windows.fold("sum", windows.covering(), part, lambda p, q: p + q, windows.written_out())
        return b.cast(total, dtype)

    return [element]


def _lower_pick(b: Builder, node: Node) -> list[Any]:
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

        return windows.fold("sum", windows.window, part, lambda p, q: p + q, windows.written_out())

    return [element]


def _lower_avg(b: Builder, node: Node) -> list[Any]:
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


def _lower_avg_grad(b: Builder, node: Node) -> list[Any]:
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
    ((1, 5, 6, 1), (4, 4), (1, 2), "SAME"),
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
                out = out_extents(dims[1:-1], window, strides, padding, ones(window))
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
    """Windows with NaN, infinities and equal elements, over two axes and over three."""
    nan, inf = float("nan"), float("inf")
    rows = (
        [nan, 1, 2, 3],
        [1, nan, 2, 3],
        [1, 2, 3, nan],
        [nan] * 4,
        [1] * 4,
        [-inf] * 4,
        [inf, inf, 1, 2],
        [3, nan, 3, 1],
    )
    x = np.array(rows, np.float32).reshape(8, 2, 2, 1)
    attrs = {"window": (2, 2), "strides": (1, 1), "padding": "SAME"}
    deep = {"window": (2, 1, 2), "strides": (1, 1, 1), "padding": "SAME"}
    return [
        ((x,), attrs),
        ((np.tile(x, (1, 1, 1, 3)),), {**attrs, "padding": "VALID"}),
        ((np.tile(x[:, :, None], (1, 1, 1, 1, 19)),), deep),
    ]


def _errors() -> list[Any]:
    x = np.ones((1, 4, 4, 2))
    plain = {"window": (2, 2), "strides": (1, 1), "padding": "VALID"}

    def bad(text: str, x: Array = x, **attrs: Any) -> Any:
        return misuse(text, x, **{**plain, **attrs})

    return [
        bad("must be 4-dimensional", x[0]),
        bad("Sliding window ksize must be positive", window=(0, 2)),
        bad("strides should be larger than 0", strides=(1, 0)),
        bad("Computed output size would be negative: -1", window=(6, 2)),
    ]


# ---- the primitives -------------------------------------------------------------------------------------------------


def _attrs(window: Steps, strides: Steps, padding: Padding) -> dict[str, Any]:
    return {"window": window, "strides": strides, "padding": padding}


_MAX_DTYPES = "float16 bfloat16 float32 float64 int32 int64 uint8 int16 int8 uint16"


@custom(
    infer=_infer,
    dtypes=_MAX_DTYPES,
    lower=_lower_max,
    vjp=dict(x=lambda dy, x, window, strides, padding: max_pool_grad_p(x, dy, **_attrs(window, strides, padding))),
    samples=lambda: [*_samples("result", (*_FLOATS, "int32", "uint8", "int64"), (_PADDED,))(), *_special()],
    error_samples=lambda: [
        *_errors(),
        misuse(
            "Top padding 2 needs to be smaller than the window size 2",
            np.ones((1, 4, 4, 2)),
            window=(2, 2),
            strides=(1, 1),
            padding=((2, 0), (0, 0)),
        ),
    ],
)
def max_pool_p(x: Array, *, window: Steps, strides: Steps, padding: Padding) -> Any:
    """The largest element of each window. t[n, *s, c] -> t[n, *o, c]."""
    return max_pool(x, window, strides, padding)


@custom(
    infer=lambda x, dy, **attrs: Aval(x.dtype, x.shape),
    groups=("T", "T"),
    dtypes=_MAX_DTYPES,
    step="max_pool.spread",
    lower=_lower_max_grad,
    vjp=dict(
        x=lambda dy, x: zeros_like(x),
        dy=lambda dy, x, window, strides, padding: max_pool_pick_p(x, dy, **_attrs(window, strides, padding)),
    ),
    samples=lambda: [
        *_samples("grad", (*_FLOATS, "int32"), (_PADDED,))(),
        *[
            ((x, np.random.default_rng(0).integers(1, 9, max_pool(x, **attrs).shape).astype("float32")), attrs)
            for (x,), attrs in _special()
        ],
    ],
)
def max_pool_grad_p(x: Array, dy: Array, *, window: Steps, strides: Steps, padding: Padding) -> Any:
    """max_pool's gradient: dy where each maximum came from. t[n, *s, c], t[n, *o, c] -> t[n, *s, c]."""
    return max_pool_grad(x, dy, window, strides, padding)


@custom(
    op="MaxPoolGradGrad",
    infer=lambda x, g, **attrs: _infer(x, **attrs),
    groups=("T", "T"),
    dtypes=_MAX_DTYPES,
    step="max_pool.pick",
    lower=_lower_pick,
    vjp=dict(
        x=lambda dy, x: zeros_like(x),
        g=lambda dy, x, window, strides, padding: max_pool_grad_p(x, dy, **_attrs(window, strides, padding)),
    ),
    samples=_samples("pick", _FLOATS, (_PADDED,)),
)
def max_pool_pick_p(x: Array, g: Array, *, window: Steps, strides: Steps, padding: Padding) -> Any:
    """The element of g where the maximum of each window of x stands. t[n, *s, c], t[n, *s, c] -> t[n, *o, c]."""
    return max_pool_pick(x, g, window, strides, padding)


@custom(
    infer=_infer,
    dtypes="floating",
    lower=_lower_avg,
    vjp=dict(
        x=lambda dy, x_shape, window, strides, padding: avg_pool_grad_p(
            residual_shape(x_shape), dy, **_attrs(window, strides, padding)
        )
    ),
    samples=_samples("result", _FLOATS),
    error_samples=_errors,
)
def avg_pool_p(x: Array, *, window: Steps, strides: Steps, padding: Padding) -> Any:
    """The mean of each window, of what is inside x. f[n, *s, c] -> f[n, *o, c]."""
    return avg_pool(x, window, strides, padding)


def _infer_avg_grad(sizes: Aval, dy: Aval, *, window: Steps, strides: Steps, padding: Padding) -> Aval:
    dims = shape_of_value(sizes)
    if sizes.numbers is None or dims is None:
        own = dy.shape or (None,) * (len(window) + 2)
        return Aval(dy.dtype, (own[0], *(None,) * len(window), own[-1]))
    return Aval(dy.dtype, dims)


@custom(
    infer=_infer_avg_grad,
    groups=("Tshape", "T"),
    dtypes={"T": "floating", "Tshape": "index"},
    shape_inputs=(0,),
    lower=_lower_avg_grad,
    vjp=dict(dy=lambda dy, window, strides, padding: avg_pool_p(dy, **_attrs(window, strides, padding))),
    samples=_samples("mean", _FLOATS),
)
def avg_pool_grad_p(sizes: Array, dy: Array, *, window: Steps, strides: Steps, padding: Padding) -> Any:
    """avg_pool's gradient: each element's share of the windows it is in. i[rank], f[n, *o, c] -> f[*sizes]."""
    return avg_pool_grad(tuple(sizes.tolist()), dy, window, strides, padding)
