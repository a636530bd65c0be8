"""Convolutions over one, two or three spatial axes, their gradients, and what is made of them.

Rule: x is [batch, *spatial, c], a filter [*window, c / groups, f]; other layouts are transposed before.
The three primitives (result, gradient to the input, gradient to the filter) are linear in each operand, and the
gradient of each is made of the other two, so every order is there. One spatial axis is two with an extent of 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.base.shapes import Aval
from fastgraph.core.tensor import current_trace
from fastgraph.ops.arguments import residual_shape
from fastgraph.ops.convolution_numpy import filter_gradient, forward, input_gradient
from fastgraph.ops.families import (
    Array,
    Builder,
    Dims,
    Node,
    Scalar,
    accumulator,
    contraction,
    invalid,
    is_one,
    misuse,
    shape_text,
)
from fastgraph.ops.movement import shape_of_value
from fastgraph.ops.window_arguments import (
    Padding,
    Steps,
    along,
    before,
    clamped,
    conjunction,
    extents_and_pads,
    infer_extents,
    out_extents,
)

# ---- inference ------------------------------------------------------------------------------------------------------


def _of_rank(aval: Aval, rank: int) -> Dims:
    if aval.shape is not None and len(aval.shape) != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {len(aval.shape)}")
    return aval.shape or (None,) * rank


def _infer(rank: int) -> Callable[..., Aval]:
    def infer(x: Aval, filter: Aval, *, strides: Steps, padding: Padding, dilations: Steps) -> Aval:
        if x.shape is not None and len(x.shape) != rank + 2:
            raise ValueError(f"Shape must be rank {rank + 2} but is rank {len(x.shape)}")
        own, window = _of_rank(x, rank + 2), _of_rank(filter, rank + 2)
        assert own is not None and window is not None
        c, c_filter, f = own[-1], window[-2], window[-1]
        if c is not None and c_filter is not None and (c == 0 or c_filter == 0 or c % c_filter):
            raise ValueError(f"Depth of input ({c}) is not a multiple of input depth of filter ({c_filter})")
        if c and c_filter and f is not None and f % (c // c_filter):
            raise ValueError(f"Depth of output ({f}) is not a multiple of the number of groups ({c // c_filter})")
        if 0 in window and current_trace() is None:  # a graph says so when it runs
            raise ValueError("filter must not have zero elements (i.e. all dimensions must be non-zero)")
        spatial = infer_extents(own[1:-1], window[:-2], strides, padding, dilations)
        return Aval(x.dtype, (own[0], *spatial, f))

    return infer


def _infer_input_grad(rank: int) -> Callable[..., Aval]:
    def infer(sizes: Aval, filter: Aval, dy: Aval, **attrs: Any) -> Aval:
        _of_rank(filter, rank + 2)
        own = _of_rank(dy, rank + 2)
        assert own is not None
        dims = shape_of_value(sizes)
        if sizes.numbers is None or dims is None:
            return Aval(dy.dtype, (own[0], *(None,) * (rank + 1)))
        if len(dims) == rank + 2 and filter.shape is not None and 0 not in filter.shape:
            _check_result(Aval(dy.dtype, dims), filter, dy, rank, attrs)
        return Aval(dy.dtype, dims)

    return infer


def _infer_filter_grad(rank: int) -> Callable[..., Aval]:
    def infer(x: Aval, sizes: Aval, dy: Aval, **attrs: Any) -> Aval:
        own = _of_rank(x, rank + 2)
        result = _of_rank(dy, rank + 2)
        assert own is not None and result is not None
        dims = shape_of_value(sizes)
        if sizes.numbers is None or dims is None:
            return Aval(dy.dtype, (*(None,) * (rank + 1), result[-1]))
        if len(dims) == rank + 2:
            _check_result(x, Aval(dy.dtype, dims), dy, rank, attrs)
        return Aval(dy.dtype, dims)

    return infer


def _check_result(x: Aval, filter: Aval, dy: Aval, rank: int, attrs: dict[str, Any]) -> None:
    """ValueError if dy is not what the convolution of x with filter gives."""
    expected = _infer(rank)(x, filter, **attrs).shape
    for wanted, found in zip(expected or (), dy.shape or (), strict=False):
        if wanted is not None and found is not None and wanted != found:
            raise ValueError(f"The gradient is {shape_text(dy.shape or ())}, the result {shape_text(expected or ())}")


# ---- NumPy bodies: one product of matrices per position in the window -----------------------------------------------


def _check(x: tuple[int, ...], filter: tuple[int, ...], rank: int) -> None:
    if len(x) != rank + 2:
        raise invalid(f"convolution input must be {rank + 2}-dimensional: {shape_text(x)}")
    if len(filter) != rank + 2:
        raise invalid(f"convolution filter must be {rank + 2}-dimensional: {shape_text(filter)}")
    c, c_filter, f = x[-1], filter[-2], filter[-1]
    if c_filter == 0:
        raise invalid("filter depth must be stricly positive, got 0")
    if c % c_filter or c == 0:
        raise invalid(f"input depth must be evenly divisible by filter depth: {c} vs {c_filter}")
    if f % (c // c_filter):
        raise invalid(f"output depth must be evenly divisible by number of groups: {f} vs {c // c_filter}")
    if 0 in filter:
        raise invalid("filter must not have zero elements (i.e. all dimensions must be non-zero)")


def _checked_forward(rank: int, x: Array, filter: Array, strides: Steps, padding: Padding, dilations: Steps) -> Any:
    _check(x.shape, filter.shape, rank)
    return forward(x, filter, strides, padding, dilations)


def _checked_gradient(
    rank: int,
    x: tuple[int, ...],
    filter: tuple[int, ...],
    dy: Array,
    strides: Steps,
    padding: Padding,
    dilations: Steps,
    of_filter: bool = False,
) -> None:
    """Raises: InvalidArgumentError where dy is not what such a convolution gives."""
    if len(x) != rank + 2:
        raise invalid(f"input_sizes must contain {rank + 2} values, but got: {len(x)}")
    if len(filter) != rank + 2:
        raise invalid(f"filter must be {rank + 2}-dimensional, got {len(filter)}")
    if dy.ndim != rank + 2:
        raise invalid(f"out_backprop must be {rank + 2}-dimensional, got {dy.ndim}")
    if x[0] != dy.shape[0]:
        raise invalid(
            "input and out_backprop must have the same batch size. "
            f"Input batch: {x[0]}, outbackprop batch: {dy.shape[0]}, batch_dim: 0"
        )
    if filter[-1] != dy.shape[-1]:
        raise invalid("filter and out_backprop must have the same out_depth")
    if 0 in filter and not of_filter:  # what nothing is multiplied by has a gradient of 0
        return
    if filter[-2] == 0 or x[-1] % filter[-2]:
        raise invalid("input depth must be evenly divisible by filter depth")
    _check(x, filter, rank)
    out, _ = extents_and_pads(x, filter, strides, padding, dilations)
    for i, (wanted, found) in enumerate(zip(out, dy.shape[1:-1], strict=True)):
        if wanted != found:
            raise invalid(
                f"Size of out_backprop doesn't match computed: actual = {found}, computed = {wanted} "
                f"spatial_dim: {i + 1} input: {x[i + 1]} filter: {filter[i]} output: {found} "
                f"stride: {strides[i]} dilation: {dilations[i]}"
            )


# ---- lowering: the sum of products, element by element --------------------------------------------------------------


#: Positions up to which a window is written out in a kernel.
UNROLLED = 36
#: Positions up to which the pixels of channels by themselves are multiplied in lines of full vectors.
LINED = 128


class _Geometry:
    """The extents and steps of one convolution in a kernel."""

    def __init__(
        self, b: Builder, x: Sequence[Any], filter: Sequence[Any], out: Sequence[Any], attrs: dict[str, Any]
    ) -> None:
        self.b = b
        self.window, self.n, self.out = filter[:-2], x[1:-1], out[1:-1]
        self.strides, self.dilations = attrs["strides"], attrs["dilations"]
        self.before = [
            before(b, n, m, k, s, d, along(attrs["padding"], i))
            for i, (n, m, k, s, d) in enumerate(
                zip(self.n, self.out, self.window, self.strides, self.dilations, strict=True)
            )
        ]
        same = x[-1] is filter[-2] or (x[-1].witness is not None and x[-1].witness == filter[-2].witness)
        self.c, self.f = filter[-2], filter[-1]  # channels of one group, all results
        # No channels, or fewer than the filter's, are an error of the call.
        n_groups = 1 if same else max(x[-1].witness // max(filter[-2].witness, 1), 1)
        self.groups: Any = None if same else x[-1] // filter[-2]
        # With a channel in each group the taps are written out and the innermost loop goes over the channels.
        known = [n.witness for n in self.window]
        apart = self.groups is not None and is_one(self.c) and math.prod(known) <= UNROLLED
        self.taps = list(np.ndindex(*known)) if apart else None
        # Where all channels are known their groups are the op's own; else they are the run's.
        size = filter[-1].witness // n_groups
        if same:
            self.f_group = self.f
        elif all(n.is_known for n in (x[-1], filter[-2], filter[-1])):
            self.f_group = b.const(size)
        else:
            self.f_group = self.f // self.groups

    def total(self, product: Callable[[Sequence[Any]], Any], extents: Sequence[Any]) -> Any:
        """The sum of `product(tap and channel)` over the window and the channels of a group."""
        if self.taps is None:
            return self.b.reduce("sum", [*self.window, *extents], product)
        found = None
        for tap in self.taps:
            near = clamped(self.b, [self.b.const(t) for t in tap], self.window)
            value = self.b.reduce("sum", extents, partial(lambda near, inside: product((*near, *inside)), near))
            found = value if found is None else found + value
        return found

    def near(self, at: Sequence[Any], extents: Sequence[Any]) -> Sequence[Any]:
        """Return where to read: guarded by whether it is inside, or at the nearest place, which needs no guard."""
        return at if self.taps is None else clamped(self.b, at, extents)

    def source(self, position: Sequence[Any], tap: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return where in x a window at `position` finds its element `tap`, and whether that is inside."""
        at = [
            o * s + t * d - a
            for o, t, s, d, a in zip(position, tap, self.strides, self.dilations, self.before, strict=True)
        ]
        return at, conjunction(self.b, [c for i, n in zip(at, self.n, strict=True) for c in (i >= 0, i < n)])

    def target(self, index: Sequence[Any], tap: Sequence[Any]) -> tuple[list[Any], Any]:
        """The window whose element `tap` stands at `index` of x, and whether there is one."""
        at, conditions = [], []
        for i, t, s, d, a, m in zip(index, tap, self.strides, self.dilations, self.before, self.out, strict=True):
            k = i + a - t * d
            o = k // s
            conditions += [k >= 0, o < m] + ([(k % s).eq(0)] if s != 1 else [])
            at.append(o)
        return at, conjunction(self.b, conditions)


def _product(b: Builder, inside: Scalar, x: Scalar, y: Scalar, dtype: DType) -> Any:
    wide = accumulator(dtype)
    value = x * y if wide is dtype else b.cast(x, wide) * b.cast(y, wide)
    return b.select(inside, value, b.const(0, wide))


def _lower(b: Builder, node: Node) -> list[Any]:
    x, w, dtype = b.input(0), b.input(1), node.inputs[0].aval.dtype
    g = _Geometry(b, x.shape, w.shape, b.output(0).shape, node.attrs)

    def element(index: Sequence[Any]) -> Any:
        n, *position, f = index

        def product(inside: Sequence[Any]) -> Any:
            *tap, c = inside
            at, fits = g.source(position, tap)
            channel = c if g.groups is None else f // g.f_group * g.c + c
            return _product(b, fits, x.at((n, *g.near(at, g.n), channel)), w.at((*tap, c, f)), dtype)

        return b.cast(g.total(product, [g.c]), dtype)

    return [element]


def _lower_input_grad(b: Builder, node: Node) -> list[Any]:
    w, dy, dtype = b.input(1), b.input(2), node.inputs[2].aval.dtype
    g = _Geometry(b, b.output(0).shape, w.shape, dy.shape, node.attrs)
    # A loop's end is a number or a tensor's extent: not a quotient, where the results of all groups are looked through.
    extent = g.f_group if g.f_group.op in ("const", "extent") else g.f

    def element(index: Sequence[Any]) -> Any:
        n, *place, c = index

        def product(inside: Sequence[Any]) -> Any:
            *tap, f = inside
            at, fits = g.target(place, tap)
            if g.groups is None:
                own, result = c, f
            elif extent is g.f_group:
                own, result = c % g.c, c // g.c * g.f_group + f
            else:
                own, result = c % g.c, f
                fits = fits & (f // g.f_group).eq(c // g.c)
            return _product(b, fits, dy.at((n, *g.near(at, g.out), result)), w.at((*tap, own, result)), dtype)

        return b.cast(g.total(product, [extent]), dtype)

    return [element]


def _lower_filter_grad(b: Builder, node: Node) -> list[Any]:
    x, dy, dtype = b.input(0), b.input(2), node.inputs[0].aval.dtype
    g = _Geometry(b, x.shape, b.output(0).shape, dy.shape, node.attrs)

    def element(index: Sequence[Any]) -> Any:
        *tap, c, f = index
        channel = c if g.groups is None else f // g.f_group * g.c + c

        def product(inside: Sequence[Any]) -> Any:
            n, *position = inside
            at, fits = g.source(position, tap)
            return _product(b, fits, x.at((n, *g.near(at, g.n), channel)), dy.at((n, *position, f)), dtype)

        return b.cast(b.reduce("sum", dy.shape[:-1], product), dtype)

    return [element]


# ---- samples --------------------------------------------------------------------------------------------------------

#: (x, filter, strides, padding, dilations) of small convolutions with everything that can be different about them.
_CASES: dict[int, list[tuple[Any, ...]]] = {
    2: [
        ((2, 3, 4, 2), (2, 2, 2, 1), (1, 1), "VALID", (1, 1)),
        ((1, 4, 3, 2), (3, 2, 2, 2), (1, 1), "SAME", (1, 1)),
        ((1, 5, 4, 2), (2, 3, 1, 2), (2, 1), "SAME", (1, 1)),
        ((1, 3, 5, 1), (1, 2, 1, 3), (1, 3), "VALID", (1, 1)),
        ((1, 4, 5, 1), (2, 2, 1, 2), (1, 1), "SAME", (2, 3)),
        ((1, 2, 3, 2), (2, 2, 2, 2), (2, 1), ((1, 2), (0, 1)), (1, 2)),
        ((0, 3, 3, 2), (2, 2, 2, 1), (1, 1), "VALID", (1, 1)),
        ((2, 2, 2, 1), (3, 1, 1, 2), (1, 1), "SAME", (1, 1)),
    ],
    3: [
        ((1, 2, 3, 2, 1), (2, 1, 2, 1, 2), (1, 1, 1), "SAME", (1, 1, 1)),
        ((1, 3, 2, 3, 2), (2, 2, 2, 2, 1), (1, 1, 2), "VALID", (1, 1, 1)),
        ((1, 3, 3, 3, 1), (2, 2, 2, 1, 1), (2, 1, 3), "SAME", (1, 1, 1)),
        ((1, 3, 3, 3, 1), (2, 2, 2, 1, 1), (1, 1, 1), "VALID", (2, 1, 2)),
    ],
}
_DTYPES = ("float32", "float64", "float16", "bfloat16")


def _numbers(shape_: tuple[int, ...], dtype: str, seed: int) -> Any:
    return np.random.default_rng(seed).integers(-3, 4, shape_).astype(as_dtype(dtype).numpy_dtype)


def _samples(rank: int, kind: str, dtypes: Sequence[str]) -> Callable[[], list[Any]]:
    def samples() -> list[Any]:
        found = []
        for dtype in dtypes:
            for x, w, strides, padding, dilations in _CASES[rank]:
                attrs = {"strides": strides, "padding": padding, "dilations": dilations}
                out = out_extents(x[1:-1], w[:-2], strides, padding, dilations)
                dy = _numbers((x[0], *out, w[-1]), dtype, 3)
                own, filter = _numbers(x, dtype, 1), _numbers(w, dtype, 2)
                inputs = {
                    "result": (own, filter),
                    "input": (np.array(x, np.int32), filter, dy),
                    "filter": (own, np.array(w, np.int32), dy),
                }[kind]
                found.append((inputs, attrs))
        return found

    return samples


def _errors(rank: int) -> Callable[[], list[Any]]:
    plain = {"strides": (1,) * rank, "padding": "VALID", "dilations": (1,) * rank}
    x, w = np.ones((1, *(4,) * rank, 4)), np.ones((*(3,) * rank, 4, 2))

    def bad(x: Array, w: Array, text: str, **attrs: Any) -> Any:
        return misuse(text, x, w, **{**plain, **attrs})

    return lambda: [
        bad(x[0], w, rf"convolution input must be {rank + 2}-dimensional"),
        bad(x, w[0], rf"convolution filter must be {rank + 2}-dimensional"),
        bad(x, w[..., :3, :], "input depth must be evenly divisible by filter depth: 4 vs 3"),
        bad(x, w[..., :2, :1], "output depth must be evenly divisible by number of groups: 1 vs 2"),
        bad(x, np.ones((6, *(3,) * (rank - 1), 4, 2)), "Computed output size would be negative: -1"),
        bad(x, w, "strides should be larger than 0", strides=(0,) * rank),
        bad(x, w, "Dilated rates should be larger than 0", dilations=(0,) * rank),
        bad(x, w[:0], "filter must not have zero elements"),
    ]


# ---- the primitives -------------------------------------------------------------------------------------------------


def _called(name: str) -> Callable[[Any], Any]:
    """A decorator: the function's name, which is the op's, for functions made in a loop."""

    def named(function: Any) -> Any:
        function.__name__ = function.__qualname__ = name
        return function

    return named


def _defined(rank: int) -> tuple[Any, Any, Any]:
    """The convolution over so many axes, its gradients to x and to the filter: each has the others in its rules."""
    dtypes = (*_DTYPES, "int32") if rank == 2 else _DTYPES  # TensorFlow's convolutions over three axes take no integers
    version = "V2" if rank == 3 else ""

    def attrs(strides: Steps, padding: Padding, dilations: Steps) -> dict[str, Any]:
        return {"strides": strides, "padding": padding, "dilations": dilations}

    @contraction(
        op=f"Conv{rank}D",
        infer=_infer(rank),
        dtypes=" ".join(dtypes),
        step="convolution",
        lower=_lower,
        vjp=dict(
            x=lambda dy, x_shape, filter, strides, padding, dilations: to_input(
                residual_shape(x_shape), filter, dy, **attrs(strides, padding, dilations)
            ),
            filter=lambda dy, x, filter_shape, strides, padding, dilations: to_filter(
                x, residual_shape(filter_shape), dy, **attrs(strides, padding, dilations)
            ),
        ),
        samples=_samples(rank, "result", dtypes),
        error_samples=_errors(rank),
    )
    @_called(f"conv{rank}d_p")
    def result(x: Array, filter: Array, *, strides: Steps, padding: Padding, dilations: Steps) -> Any:
        """Correlation of x with a filter. t[n, *s, c], t[*k, c/groups, f] -> t[n, *o, f]."""
        return _checked_forward(rank, x, filter, strides, padding, dilations)

    @contraction(
        op=f"Conv{rank}DBackpropInput{version}",
        infer=_infer_input_grad(rank),
        groups=("Tshape", "T", "T"),
        dtypes={"T": " ".join(dtypes), "Tshape": "index"},
        shape_inputs=(0,),
        step="convolution",
        lower=_lower_input_grad,
        vjp=dict(
            filter=lambda dy, filter_shape, g, strides, padding, dilations: to_filter(
                dy, residual_shape(filter_shape), g, **attrs(strides, padding, dilations)
            ),
            g=lambda dy, filter, strides, padding, dilations: result(dy, filter, **attrs(strides, padding, dilations)),
        ),
        samples=_samples(rank, "input", dtypes),
    )
    @_called(f"conv{rank}d_input_grad_p")
    def to_input(sizes: Array, filter: Array, g: Array, *, strides: Steps, padding: Padding, dilations: Steps) -> Any:
        """The gradient to an x of these sizes. i[r], t[*k, c/groups, f], t[n, *o, f] -> t[*sizes]."""
        dims = tuple(sizes.tolist())
        _checked_gradient(rank, dims, filter.shape, g, strides, padding, dilations)
        return input_gradient(dims, filter, g, strides, padding, dilations)

    @contraction(
        op=f"Conv{rank}DBackpropFilter{version}",
        infer=_infer_filter_grad(rank),
        groups=("T", "Tshape", "T"),
        dtypes={"T": " ".join(_DTYPES), "Tshape": "index"},
        shape_inputs=(1,),
        step="convolution",
        lower=_lower_filter_grad,
        vjp=dict(
            x=lambda dy, x_shape, g, strides, padding, dilations: to_input(
                residual_shape(x_shape), dy, g, **attrs(strides, padding, dilations)
            ),
            g=lambda dy, x, strides, padding, dilations: result(x, dy, **attrs(strides, padding, dilations)),
        ),
        samples=_samples(rank, "filter", _DTYPES),
    )
    @_called(f"conv{rank}d_filter_grad_p")
    def to_filter(x: Array, sizes: Array, g: Array, *, strides: Steps, padding: Padding, dilations: Steps) -> Any:
        """The gradient to a filter of these sizes. t[n, *s, c], i[r], t[n, *o, f] -> t[*sizes]."""
        dims = tuple(sizes.tolist())
        _checked_gradient(rank, x.shape, dims, g, strides, padding, dilations, of_filter=True)
        return filter_gradient(x, dims, g, strides, padding, dilations)

    return result, to_input, to_filter


conv2d_p, conv2d_input_grad_p, conv2d_filter_grad_p = _defined(2)
conv3d_p, conv3d_input_grad_p, conv3d_filter_grad_p = _defined(3)


# ---- with what follows ----------------------------------------------------------------------------------------------


def _infer_bias(rank: int) -> Callable[..., Aval]:
    plain = _infer(rank)

    def infer(
        x: Aval, filter: Aval, bias: Aval, *, strides: Steps, padding: Padding, dilations: Steps, relu: bool
    ) -> Aval:
        found = plain(x, filter, strides=strides, padding=padding, dilations=dilations)
        _of_rank(bias, 1)
        return found

    return infer


def _lower_bias(b: Builder, node: Node) -> list[Any]:
    (plain,) = _lower(b, node)
    zero = b.const(0, node.outputs[0].aval.dtype)

    def element(index: Sequence[Any]) -> Any:
        total = plain(index) + b.input(2).at(index[-1:])
        return b.select(total < zero, zero, total) if node.attrs["relu"] else total

    return [element]


def _bias_samples(rank: int) -> Callable[[], list[Any]]:
    return lambda: [
        ((x, w, _numbers(w.shape[-1:], "float32", 4)), {**attrs, "relu": relu})
        for (x, w), attrs in _samples(rank, "result", ("float32",))()
        for relu in (False, True)
    ]


def _define_with_bias(rank: int) -> None:
    @contraction(
        op=f"_FusedConv{rank}D",
        infer=_infer_bias(rank),
        dtypes="float32",
        step="convolution",
        lower=_lower_bias,
        samples=_bias_samples(rank),
    )
    @_called(f"conv{rank}d_bias_p")
    def with_bias(
        x: Array, filter: Array, bias: Array, *, strides: Steps, padding: Padding, dilations: Steps, relu: bool
    ) -> Any:
        """A convolution plus one number per channel, perhaps relu of that: what the compiler makes of three ops."""
        total = _checked_forward(rank, x, filter, strides, padding, dilations) + bias
        return np.maximum(total, np.zeros((), total.dtype)) if relu else total


_define_with_bias(2)
_define_with_bias(3)
