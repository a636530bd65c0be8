"""Drawing programs: for each family of ops, how to write a random line that is likely to be valid.

Ops that jump (floor, comparison, argmax, casts to integers) only read values that are exact in every mode: a difference
of one unit in the last place must not become a difference of one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import fastgraph as fg
from tests.fuzz import draw_math, draw_nn, draw_places
from tests.fuzz.programs import Program
from tests.fuzz.writer import FLOATS, INTEGERS, SIZES, Writer, broadcasts, slice_text

SMOOTH_UNARY = {  # op -> text that keeps its argument inside the domain
    "tanh": "{x}", "sigmoid": "{x}", "exp": "-fg.abs({x})", "square": "{x}", "math.log": "fg.abs({x}) + 1",
    "math.log1p": "fg.abs({x})", "math.expm1": "-fg.abs({x})", "sqrt": "fg.abs({x}) + 1",
    "math.rsqrt": "fg.abs({x}) + 1", "sin": "{x}", "cos": "{x}", "nn.softmax": "{x}", "nn.log_softmax": "{x}",
    "sinh": "fg.tanh({x})", "cosh": "fg.tanh({x})", "tan": "fg.tanh({x})", "asin": "fg.tanh({x}) / 2",
    "acos": "fg.tanh({x}) / 2", "atan": "{x}", "asinh": "{x}", "acosh": "fg.abs({x}) + 2", "atanh": "fg.tanh({x}) / 2",
    "math.erf": "{x}", "math.erfc": "{x}", "nn.elu": "{x}", "nn.selu": "{x}", "nn.softplus": "{x}",
    "nn.leaky_relu": "{x}", "math.reciprocal": "fg.abs({x}) + 1",
}  # fmt: skip
EXACT_UNARY = ("abs", "negative", "nn.relu", "nn.relu6", "identity", "stop_gradient", "zeros_like", "ones_like")
JUMPING_UNARY = ("sign", "floor", "math.ceil", "round", "math.rint", "math.is_nan", "math.is_inf", "math.is_finite")
SMOOTH_BINARY = ("add", "subtract", "multiply", "math.squared_difference", "math.multiply_no_nan")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
EXACT_BINARY = ("maximum", "minimum")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
SMOOTH_REDUCTIONS = ("reduce_sum", "reduce_mean", "reduce_prod")
EXACT_REDUCTIONS = ("reduce_max", "reduce_min")


def draw_unary(w: Writer) -> None:
    kind = w.random.integers(3)
    if kind == 0 and (x := w.pick_float()):
        op = str(w.random.choice(list(SMOOTH_UNARY)))
        w.add(f"fg.{op}({SMOOTH_UNARY[op].format(x=x)})", [x])
    elif kind == 1 and (x := w.pick_numeric()):
        w.add(f"fg.{w.random.choice(EXACT_UNARY)}({x})", [x], exact=True)
    elif x := w.pick_float(exact=True):
        w.add(f"fg.{w.random.choice(JUMPING_UNARY)}({x})", [x], exact=True)


def draw_binary(w: Writer) -> None:
    kind = w.random.integers(5)
    x = w.pick_numeric(exact=kind >= 3)
    if x is None:
        return
    y = w.pick_partner(x, exact=kind >= 3)
    if w.random.random() < 0.3:
        x, y = y, x
    if kind <= 1:
        w.add(f"fg.{w.random.choice(SMOOTH_BINARY)}({x}, {y})", [x, y])
    elif kind == 2:
        w.add(f"fg.{w.random.choice(EXACT_BINARY)}({x}, {y})", [x, y], exact=True)
    elif kind == 3:
        w.add(f"fg.{w.random.choice(COMPARISONS)}({x}, {y})", [x, y], exact=True)
    else:
        ops = ["math.divide", "math.floordiv", "math.floormod", "pow", "math.xlogy", "math.divide_no_nan", "atan2"]
        op = w.random.choice(ops)
        guarded = "2" if op == "pow" else f"(fg.abs({y}) + 1)"
        if op == "pow" and w.random.random() < 0.5:
            w.add(f"fg.pow(fg.abs({x}) + 1, fg.tanh({y}))", [x, y])
        else:
            w.add(f"fg.{op}({x}, {guarded})", [x, y])


def draw_bits(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: a.dtype.kind in "iu")
    if x is None:
        return
    choice = w.random.integers(3)
    if choice == 0:
        w.add(f"fg.bitwise.invert({x})", [x], exact=True)
    elif choice == 1:
        y = w.pick_partner(x)
        w.add(f"fg.bitwise.{w.random.choice(BITWISE)}({x}, {y})", [x, y], exact=True)
    else:
        op = w.random.choice(["left_shift", "right_shift"])
        w.add(f"fg.bitwise.{op}({x}, fg.ones_like({x}) + 1)", [x], exact=True)


def draw_logical(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: a.dtype.kind == "b")
    if x is None:
        return
    if w.random.random() < 0.3:
        w.add(f"fg.logical_not({x})", [x], exact=True)
    else:
        y = w.pick_partner(x)
        w.add(f"fg.{w.random.choice(['logical_and', 'logical_or'])}({x}, {y})", [x, y], exact=True)


def draw_cast(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: n in w.pool.exact)
    if x is not None:
        dtype = FLOATS[w.random.integers(6)] if w.random.random() < 0.6 else INTEGERS[w.random.integers(8)]
        array = w.pool.array(x)
        if dtype.is_integer and array.dtype.kind not in "biu" and array.size and np.abs(array).max() > 100:
            return
        if dtype.is_unsigned and array.dtype.kind not in "biu" and array.size and array.min() < 0:
            return  # undefined in C, and so in the kernels
        w.add(f"fg.cast({x}, fg.{dtype.name})", [x], exact=True)


def draw_select(w: Writer) -> None:
    x = w.pick_numeric()
    condition = w.pool.pick(lambda n, a: a.dtype.kind == "b" and x and broadcasts(a.shape, w.pool.array(x).shape))
    if x is not None and condition is not None:
        y = w.pick_partner(x)
        w.add(f"fg.where({condition}, {x}, {y})", [condition, x, y], exact=True)


def draw_reduction(w: Writer) -> None:
    exact = bool(w.random.random() < 0.4)
    x = w.pick_numeric()
    if x is None:
        return
    rank = w.pool.array(x).ndim
    keep = bool(w.random.random() < 0.3)
    op = w.random.choice(EXACT_REDUCTIONS if exact else SMOOTH_REDUCTIONS)
    text = x
    if op == "reduce_prod":  # of factors near one: a product that overflows has no gradient worth comparing
        text = f"1 + fg.tanh({x}) / 64" if w.pool.array(x).dtype.kind not in "iu" else f"fg.sign({x})"
    w.add(f"fg.{op}({text}, axis={w.axes(rank)}, keepdims={keep})", [x], exact=exact)


def draw_arg_reduction(w: Writer) -> None:
    x = w.pick_numeric(exact=True)
    if x is not None and w.pool.array(x).ndim:
        axis = int(w.random.integers(w.pool.array(x).ndim))
        w.add(f"fg.{w.random.choice(['argmax', 'argmin'])}({x}, axis={axis})", [x], exact=True)


def draw_any_all(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: a.dtype.kind == "b")
    if x is not None:
        op = w.random.choice(["reduce_any", "reduce_all"])
        w.add(f"fg.{op}({x}, axis={w.axes(w.pool.array(x).ndim)})", [x], exact=True)


def draw_movement(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: True)
    if x is None:
        return
    array = w.pool.array(x)
    rank, random = array.ndim, w.random
    choice = random.integers(7)
    if choice == 0:
        w.add(f"fg.transpose({x}, {[int(a) for a in random.permutation(rank)]})", [x], exact=True)
    elif choice == 1:
        shape = [int(n) for n in random.permutation(array.shape)] if random.random() < 0.5 else [-1]
        if random.random() < 0.3 and array.size:
            shape = [1, *shape]
        w.add(f"fg.reshape({x}, {shape})", [x], exact=True)
    elif choice == 2 and rank:
        items = [slice_text(random, n) for n in array.shape[: int(random.integers(1, rank + 1))]]
        w.add(f"{x}[{', '.join(items)}]", [x], exact=True)
    elif choice == 3:
        axis = int(random.integers(-rank - 1, rank + 1))
        w.add(f"fg.expand_dims({x}, {axis})", [x], exact=True)
    elif choice == 4 and rank:
        n_new = int(random.integers(0, 2))
        shape = [2] * n_new + [int(random.integers(0, 4)) if n == 1 else n for n in array.shape]
        w.add(f"fg.broadcast_to({x}, {shape})", [x], exact=True)
    elif choice == 5 and rank:
        axis = int(random.integers(rank))
        same = w.pool.pick(lambda n, a: a.dtype == array.dtype and a.shape == array.shape) or x
        op = f"fg.concat([{x}, {same}], {axis})" if random.random() < 0.6 else f"fg.stack([{x}, {same}], {axis})"
        w.add(op, [x, same], exact=True)
    elif choice == 6:
        axes = [axis for axis, n in enumerate(array.shape) if n == 1]
        w.add(f"fg.squeeze({x}, {axes})" if axes else f"fg.squeeze({x})", [x], exact=True)


def draw_moved_copies(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: 1 <= a.ndim <= 4 and a.size < 5000)
    if x is None:
        return
    array, random = w.pool.array(x), w.random
    axis = int(random.integers(array.ndim))
    pairs = [[int(n) for n in random.integers(0, 3, 2)] for _ in array.shape]
    begin = [int(random.integers(n + 1)) for n in array.shape]
    size = [-1 if random.random() < 0.3 else int(random.integers(n - b + 1)) for n, b in zip(array.shape, begin)]
    texts = [
        f"fg.pad({x}, {pairs})",
        f"fg.pad({x}, {pairs}, '{random.choice(['REFLECT', 'SYMMETRIC'])}')",
        f"fg.tile({x}, {[int(n) for n in random.integers(0, 3, array.ndim)]})",
        f"fg.reverse({x}, [{axis}])",
        f"fg.roll({x}, {int(random.integers(-3, 4))}, {axis})",
        f"fg.repeat({x}, {int(random.integers(0, 4))}, axis={axis})",
        f"fg.slice({x}, {begin}, {size})",
        f"fg.ensure_shape({x}, {list(array.shape)})",
        f"fg.stack(fg.unstack({x}, {array.shape[axis]}, {axis}), {axis})",
    ]
    w.add(str(random.choice(texts)), [x], exact=True)


def draw_running(w: Writer) -> None:
    x = w.pick_float()
    if x is not None and w.pool.array(x).ndim and w.pool.array(x).size < 500:  # plain kernels take their time
        axis = int(w.random.integers(w.pool.array(x).ndim))
        exclusive, reverse = (bool(b) for b in w.random.integers(0, 2, 2))
        op, text = [("cumsum", x), ("math.cumprod", f"fg.tanh({x})"), ("math.cumulative_logsumexp", x)][
            w.random.choice(3)
        ]
        if op.endswith("sumexp") and exclusive:  # -inf, of which gradients are NaN
            return
        w.add(f"fg.{op}({text}, {axis}, exclusive={exclusive}, reverse={reverse})", [x])


def draw_made(w: Writer) -> None:
    """Values that are made from a shape."""
    x = w.pool.pick(lambda n, a: a.size < 5000)
    if x is None:
        return
    texts = [
        f"fg.fill(fg.shape({x}), 0.5)",
        f"fg.cast(fg.size({x}), fg.float32) * 0.125",
        f"fg.rank({x})",
    ]
    if w.pool.array(x).ndim:
        texts += [f"fg.range(fg.shape({x})[0])", f"fg.eye(fg.shape({x})[-1])"]
    w.add(str(w.random.choice(texts)), [x], exact=True)


def draw_told_by_data(w: Writer) -> None:
    """Ops whose shape or place is a tensor's value, so that sizes come out only as the program runs."""
    x = w.pool.pick(lambda n, a: a.size < 5000)
    if x is None or w.is_full:
        return
    array, random = w.pool.array(x), w.random
    rank, n = array.ndim, int(random.integers(0, 6))
    choice = random.integers(8)
    if choice == 0:
        count = w.add_integers(n)
        w.add(f"fg.eye({count}) + fg.cast({count}, fg.float32)", [count], exact=True)
    elif choice == 1 and array.dtype in (np.int32, np.int64) and x in w.pool.exact and rank < 4:
        count = w.add_integers(n)
        w.add(f"fg.one_hot({x}, {count})", [x, count], exact=True)
    elif choice == 2:
        begin = [int(random.integers(n + 1)) for n in array.shape]
        size = [-1 if random.random() < 0.3 else int(random.integers(n - b + 1)) for n, b in zip(array.shape, begin)]
        first = w.add_integers(begin)
        if random.random() < 0.5:
            w.add(f"fg.slice({x}, {first}, {size})", [x, first], exact=True)
        else:
            sizes = w.add_integers(size)
            w.add(f"fg.slice({x}, {first}, {sizes})", [x, first, sizes], exact=True)
    elif choice == 3 and rank:
        at = w.add_integers(n)
        text = random.choice([f"{at}:", f":{at}", f"-{at}:", f"{at}::2", f"::{at} + 1", f"...,{at}:"])
        w.add(f"{x}[{text}]", [x, at], exact=True)
    elif choice == 4:
        shape = w.add_integers([int(n) for n in random.permutation(array.shape)])
        w.add(f"fg.reshape({x}, {shape})", [x, shape], exact=True)
    elif choice == 5:
        shape = w.add_integers([2] * int(random.integers(0, 2)) + [n if m == 1 else m for m in array.shape])
        w.add(f"fg.broadcast_to({x}, {shape})", [x, shape], exact=True)
    elif choice == 6:
        shape = w.add_integers([int(n) for n in random.choice(SIZES, int(random.integers(0, 3)))])
        seed = len(w.lines)
        draw = random.choice(
            ["fg.fill({}, 0.25)", f"fg.random.uniform({{}}, seed={seed})", f"fg.random.normal({{}}, seed={seed})"]
        )
        w.add(draw.format(shape), [shape], exact="normal" not in draw)
    else:
        count = w.add_integers(n)
        w.add(f"fg.range({count}, {count} * 3, 2)", [count], exact=True)


def draw_random_numbers(w: Writer) -> None:
    """Random numbers. Each op has a seed of its own: without one, or with a shared one, a Function draws others."""
    x = w.pool.pick(lambda n, a: a.size < 5000)
    shape = "[2, 3]" if x is None else f"fg.shape({x})" if w.random.random() < 0.5 else list(w.pool.array(x).shape)
    seed = len(w.lines)
    exact = [
        f"fg.random.uniform({shape}, -2, 2, seed={seed})",
        f"fg.random.uniform({shape}, dtype=fg.float64, seed={seed})",
        f"fg.random.uniform({shape}, -9, 9, fg.int32, seed={seed})",
    ]
    smooth = [f"fg.random.normal({shape}, 1.0, 0.5, seed={seed})", f"fg.random.truncated_normal({shape}, seed={seed})"]
    if x is not None and fg.as_dtype(w.pool.array(x).dtype).is_floating:
        exact.append(f"fg.nn.dropout({x}, 0.5, seed={seed})")
    texts = exact if w.random.random() < 0.6 else smooth
    w.add(str(w.random.choice(texts)), [] if x is None else [x], exact=texts is exact)


def draw_sum_of_many(w: Writer) -> None:
    x = w.pick_numeric()
    if x is not None:
        like = w.pool.array(x)
        y = w.pool.pick(lambda n, a: a.dtype == like.dtype and a.shape == like.shape) or x
        w.add(f"fg.add_n([{', '.join(w.random.choice([x, y], int(w.random.integers(1, 5))))}])", [x, y])


def draw_checked(w: Writer) -> None:
    x = w.pick_float()
    if x is not None:
        w.add(f"fg.debugging.check_numerics({x}, 'all finite')", [x], exact=True)


def draw_gather(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: a.ndim >= 1 and all(a.shape) and a.size < 5000)
    if x is None:
        return
    array = w.pool.array(x)
    axis = int(w.random.integers(array.ndim))
    indices = w.random.integers(0, array.shape[axis], w.shape()[:2])
    name = f"a{len(w.arguments)}"
    w.arguments[name] = indices.astype(w.random.choice(["int32", "int64"]))
    w.pool.namespace[name] = fg.constant(w.arguments[name])
    w.add(f"fg.gather({x}, {name}, axis={axis})", [x, name], exact=True)


def draw_one_hot(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: a.dtype in (np.int32, np.int64, np.uint8) and n in w.pool.exact and a.ndim < 4)
    if x is not None:
        dtype = FLOATS[w.random.integers(4)]
        depth, uses = str(w.random.integers(0, 6)), [x]
        if w.random.random() < 0.3:  # known only at run time
            uses.append(w.add_integers(int(depth)))
            depth = uses[-1]
        w.add(f"fg.one_hot({x}, {depth}, dtype=fg.{dtype.name})", uses, exact=True)


def draw_matmul(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: a.ndim >= 2 and a.dtype.name in ("float32", "float64", "float16", "int32", "int64"))
    if x is None or w.is_full:
        return
    array = w.pool.array(x)
    flip_x, flip_y = (bool(b) for b in w.random.integers(0, 2, 2))
    k = array.shape[-2] if flip_x else array.shape[-1]
    n = int(w.random.choice(SIZES))
    batch = array.shape[:-2] if w.random.random() < 0.6 else ()
    y = w.add_argument((*batch, n, k) if flip_y else (*batch, k, n), fg.as_dtype(array.dtype))
    w.add(f"fg.matmul({x}, {y}, transpose_a={flip_x}, transpose_b={flip_y})", [x, y])


def draw_cross_entropy(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: a.ndim == 2 and all(a.shape) and a.dtype in (np.float32, np.float64))
    if x is None:
        return
    n, n_classes = w.pool.array(x).shape
    name = f"a{len(w.arguments)}"
    w.arguments[name] = w.random.integers(0, n_classes, n).astype(np.int32)
    w.pool.namespace[name] = fg.constant(w.arguments[name])
    if w.random.random() < 0.5:
        w.add(f"fg.nn.sparse_softmax_cross_entropy_with_logits(labels={name}, logits={x})", [x, name])
    else:
        labels = f"fg.one_hot({name}, {n_classes}, dtype={x}.dtype)"
        w.add(f"fg.nn.softmax_cross_entropy_with_logits(labels={labels}, logits={x})", [x, name])


def draw_boolean_mask(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: a.ndim >= 1 and a.size < 5000)
    if x is None or w.is_full:
        return
    mask = w.add_argument(w.pool.array(x).shape[:1], fg.bool)
    w.add(f"fg.boolean_mask({x}, {mask})", [x, mask], exact=True)


def draw_variable(w: Writer) -> None:
    """Read a Variable, or assign it something of its shape: reads and assigns keep their order."""
    if not w.pool.variables:
        return
    v = str(w.random.choice(w.pool.variables))
    if w.random.random() < 0.5:
        w.add(f"{v} * 1", [v])
        return
    shape, dtype = w.variables[v].shape, w.variables[v].dtype
    x = w.pool.pick(lambda n, a: a.dtype == dtype and a.shape == shape)
    method = w.random.choice(["assign", "assign_add", "assign_sub"])
    if x is not None:
        w.add(f"{v}.{method}(fg.tanh({x})).read_value()", [v, x])


SUBGRAPHS: tuple[Callable[[str], str], ...] = (
    lambda x: f"fg.tanh({x})",
    lambda x: f"{x} * {x} - {x}",
    lambda x: f"fg.sigmoid({x}) + {x} / 2",
    lambda x: f"fg.maximum({x}, 0) + fg.reduce_sum(fg.tanh({x})) / 8",
    lambda x: f"-{x}",
)


def draw_cond(w: Writer) -> None:
    x = w.pick_float()
    p = w.pool.pick(lambda n, a: a.dtype.kind == "b" and a.ndim == 0)
    if x is None or p is None:
        return
    then, other = (SUBGRAPHS[i](x) for i in w.random.integers(0, len(SUBGRAPHS), 2))
    w.add(f"fg.cond({p}, lambda: {then}, lambda: {other})", [x, p])


def draw_while(w: Writer) -> None:
    x = w.pick_float()
    if x is None or w.pool.array(x).size > 5000:
        return
    n = int(w.random.integers(0, 5))
    body = SUBGRAPHS[w.random.integers(0, 3)]("x")
    loop = f"fg.while_loop(lambda i, x: i < {n}, lambda i, x: (i + 1, fg.tanh({body})), (fg.constant(0), {x}))[1]"
    w.add(loop, [x])


DRAWERS: tuple[Callable[[Writer], None], ...] = (
    *(draw_unary,) * 8,
    *(draw_binary,) * 5,
    draw_bits,
    draw_logical,
    *(draw_cast,) * 2,
    draw_select,
    *(draw_reduction,) * 3,
    draw_arg_reduction,
    draw_any_all,
    *(draw_movement,) * 6,
    *(draw_moved_copies,) * 3,
    draw_running,
    draw_made,
    *(draw_told_by_data,) * 2,
    *(draw_random_numbers,) * 2,
    draw_sum_of_many,
    draw_checked,
    draw_gather,
    draw_one_hot,
    *(draw_matmul,) * 2,
    draw_cross_entropy,
    draw_boolean_mask,
    *(draw_variable,) * 6,
    draw_cond,
    draw_while,
    *draw_nn.DRAWERS,
    *draw_math.DRAWERS,
    *draw_places.DRAWERS,
)


def draw_program(seed: int) -> Program:
    """Return the program of `seed`: 5 to 60 lines."""
    size = np.random.default_rng(seed).integers(5, 61)
    return Writer(seed, int(size)).program(DRAWERS)
