"""Drawers for networks: convolutions and their transposes, pooling, normalisation, dropout, losses, embeddings.

Rule: extents and channels are drawn as odd as they come: none in the batch, one channel, windows larger than what is
padded, groups, steps that leave a remainder.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import fastgraph as fg
from tests.fuzz.writer import Writer

CHANNELS = (1, 1, 2, 3, 3, 4, 5, 8, 16, 17)
EXTENTS = (1, 2, 3, 4, 5, 5, 7, 9, 12)
#: Products of one convolution: plain Python takes a second for so many.
MOST_WORK = 60_000
LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
CONVOLVED = (fg.float32, fg.float32, fg.float32, fg.float64, fg.float16, fg.bfloat16)


def _image(w: Writer, rank: int, exact: bool = False) -> str | None:
    """Return a value [batch, *spatial, channels], half the time a new one."""
    found = w.pick_shaped(lambda a: a.ndim == rank + 2 and a.size < 5000 and 0 not in a.shape[1:], exact)
    if found is not None and w.random.random() < 0.5:
        return found
    if w.is_full:
        return found
    random = w.random
    most = 12 if rank < 3 else 5
    shape = (
        int(random.choice([0, 1, 1, 2, 3])),
        *(min(int(n), most) for n in random.choice(EXTENTS, rank)),
        int(random.choice(CHANNELS)),
    )
    return w.add_argument(shape, CONVOLVED[random.integers(len(CONVOLVED))])


def _windows(w: Writer, dims: tuple[int, ...], dilated: bool) -> tuple[list[int], list[int], list[int], str]:
    """Return the extents, steps and dilations of a window that goes over `dims`, and the padding."""
    random = w.random
    window = [int(random.integers(1, min(n, 5) + 1)) for n in dims]
    strides = [int(s) for s in random.choice([1, 1, 1, 2, 3], len(dims))]
    dilations = [1] * len(dims)
    if dilated and random.random() < 0.25:
        strides, dilations = dilations, [int(d) for d in random.choice([1, 2, 2, 3], len(dims))]
    padding = str(random.choice(["SAME", "VALID"]))
    if padding == "VALID":
        window = [k if (k - 1) * d < n else 1 for k, d, n in zip(window, dilations, dims)]
    return window, strides, dilations, padding


def _out(n: int, k: int, s: int, d: int, padding: str) -> int:
    return -(-n // s) if padding == "SAME" else (n - (k - 1) * d - 1) // s + 1


def _groups(random: np.random.Generator, c: int) -> int:
    if random.random() < 0.7:
        return 1
    return int(random.choice([g for g in range(1, c + 1) if c % g == 0]))


def draw_convolution(w: Writer) -> None:
    rank = int(w.random.choice([1, 2, 2, 2, 3]))
    x = _image(w, rank)
    if x is None or w.is_full:
        return
    array, random = w.pool.array(x), w.random
    dtype = fg.as_dtype(array.dtype)
    *dims, c = array.shape[1:]
    window, strides, dilations, padding = _windows(w, tuple(dims), dilated=True)
    groups = _groups(random, c)
    f = groups * int(random.choice([1, 2, 3, 4])) if groups > 1 else int(random.choice(CHANNELS))
    out = [_out(n, k, s, d, padding) for n, k, s, d in zip(dims, window, strides, dilations)]
    work = array.shape[0] * math.prod(out) * math.prod(window) * (c // groups) * f
    if work > MOST_WORK:
        return
    filters = w.add_argument((*window, c // groups, f), dtype)
    more = f"dilations={dilations}" if max(dilations) > 1 else f"strides={strides}"
    first = bool(random.random() < 0.15)
    given = f"fg.transpose({x}, {[0, rank + 1, *range(1, rank + 1)]})" if first else x
    text = f"fg.nn.convolution({given}, {filters}, {more}, padding='{padding}', data_format='{LAYOUTS[rank][first]}')"
    if padding == "VALID" and rank == 2 and not first and random.random() < 0.3:
        pads = [[int(p) for p in random.integers(0, 3, 2)] for _ in dims]
        text = f"fg.nn.conv2d({x}, {filters}, {strides}, {[[0, 0], *pads, [0, 0]]}, dilations={dilations})"
    uses = [x, filters]
    if random.random() < 0.4 and not first and not w.is_full:  # what a compiler joins to a convolution
        bias = w.add_argument((f,), dtype)
        uses.append(bias)
        text = f"fg.nn.bias_add({text}, {bias})"
        if random.random() < 0.5:
            text = f"fg.nn.relu({text})"
    if w.add(text, uses):
        w.work += work


def draw_depthwise_convolution(w: Writer) -> None:
    x = _image(w, 2)
    if x is None or w.is_full:
        return
    array, random = w.pool.array(x), w.random
    dtype = fg.as_dtype(array.dtype)
    *dims, c = array.shape[1:]
    window, strides, dilations, padding = _windows(w, tuple(dims), dilated=True)
    step = 1 if max(dilations) > 1 else strides[0]
    m = int(random.choice([1, 1, 2, 3]))
    filters = w.add_argument((*window, c, m), dtype)
    tail = f"[1, {step}, {step}, 1], '{padding}', dilations={dilations}"
    work = array.size * m * math.prod(window)
    if random.random() < 0.3 and not w.is_full:
        mixing = w.add_argument((1, 1, c * m, int(random.choice(CHANNELS))), dtype)
        if w.add(f"fg.nn.separable_conv2d({x}, {filters}, {mixing}, {tail})", [x, filters, mixing]):
            w.work += work + array.size * m * w.pool.array(mixing).shape[-1]
    elif w.add(f"fg.nn.depthwise_conv2d({x}, {filters}, {tail})", [x, filters]):
        w.work += work


def draw_transposed_convolution(w: Writer) -> None:
    rank = int(w.random.choice([1, 2, 2, 3]))
    x = _image(w, rank)
    if x is None or w.is_full:
        return
    array, random = w.pool.array(x), w.random
    *out, f = array.shape[1:]
    window = [int(random.integers(1, 5)) for _ in out]
    strides = [int(s) for s in random.choice([1, 1, 2, 3], rank)]
    padding = str(random.choice(["SAME", "VALID"]))
    # One of the extents from which a convolution makes what is given.
    dims = [
        n * s - int(random.integers(s)) if padding == "SAME" else (n - 1) * s + k + int(random.integers(s))
        for n, s, k in zip(out, strides, window)
    ]
    c = int(random.choice(CHANNELS))
    work = array.size * math.prod(window) * c
    if work > MOST_WORK:
        return
    filters = w.add_argument((*window, c, f), fg.as_dtype(array.dtype))
    sizes: str | list[int] = [array.shape[0], *dims, c]
    uses = [x, filters]
    if random.random() < 0.3 and not w.is_full:
        sizes = w.add_integers(sizes)
        uses.append(sizes)
    text = f"fg.nn.conv{rank}d_transpose({x}, {filters}, {sizes}, {strides}, '{padding}')"
    if w.add(text, uses):
        w.work += work


def draw_pooling(w: Writer) -> None:
    # Where two elements differ by a rounding, the gradient of a maximum may go to either.
    kind = str(w.random.choice(["MAX", "AVG"]))
    rank = int(w.random.choice([1, 2, 2, 2, 3]))
    x = _image(w, rank, exact=kind == "MAX")
    if x is None:
        return
    array, random = w.pool.array(x), w.random
    dims = array.shape[1:-1]
    window, strides, dilations, padding = _windows(w, dims, dilated=random.random() < 0.3)
    w.work += array.size * math.prod(window) // 2
    if max(dilations) > 1:
        padding = "VALID"
        window = [k if (k - 1) * d < n else 1 for k, d, n in zip(window, dilations, dims)]
        w.add(f"fg.nn.pool({x}, {window}, '{kind}', None, '{padding}', None, {dilations})", [x], exact=kind == "MAX")
        return
    op = f"{kind.lower()}_pool" + random.choice(["", f"{rank}d"])
    if kind == "MAX" and rank == 2 and random.random() < 0.15:
        pads = [[int(random.integers(k)), int(random.integers(k))] for k in window]
        w.add(f"fg.nn.max_pool2d({x}, {window}, {strides}, {[[0, 0], *pads, [0, 0]]})", [x], exact=True)
    elif rank == 2 and random.random() < 0.15:
        moved = f"fg.transpose({x}, [0, 3, 1, 2])"
        w.add(f"fg.nn.{op}({moved}, {window}, {strides}, '{padding}', 'NCHW')", [x], exact=kind == "MAX")
    else:
        w.add(f"fg.nn.{op}({x}, {window}, {strides}, '{padding}')", [x], exact=kind == "MAX")


def draw_blocks(w: Writer) -> None:
    """Spatial extents exchanged for channels or batch."""
    x = w.pool.pick(lambda n, a: a.ndim == 4 and 0 < a.size < 5000)
    if x is None:
        return
    array, random = w.pool.array(x), w.random
    size = int(random.integers(2, 4))
    pads = [[int(random.integers(3)), 0] for _ in range(2)]
    pads = [[p, -(n + p) % size] for (p, _), n in zip(pads, array.shape[1:3])]
    texts = [
        f"fg.nn.depth_to_space(fg.tile({x}, [1, 1, 1, {size * size}]), {size})",
        f"fg.nn.space_to_depth(fg.tile({x}, [1, {size}, {size}, 1]), {size})",
        f"fg.space_to_batch({x}, [{size}, {size}], {pads})",
        f"fg.batch_to_space(fg.tile({x}, [{size * size}, 1, 1, 1]), [{size}, {size}], [[0, 1], [1, 0]])",
    ]
    w.add(str(random.choice(texts)), [x], exact=True)


def draw_normalization(w: Writer) -> None:
    x = w.pick_shaped(lambda a: a.ndim >= 1 and a.size > 0 and a.dtype in (np.float32, np.float64))
    if x is None:
        return
    array, random = w.pool.array(x), w.random
    rank = array.ndim
    axes = sorted(int(a) for a in random.choice(rank, int(random.integers(1, rank + 1)), replace=False))
    mean, variance = (f"fg.nn.moments({x}, {axes}, keepdims=True)[{i}]" for i in range(2))
    choice = random.integers(7)
    if choice == 0:
        w.add(f"fg.nn.moments({x}, {axes})[{random.integers(2)}]", [x])
    elif choice <= 2 and not w.is_full:
        # An own variance near 0 would make what is divided by it all rounding.
        scale = w.add_argument(array.shape[-1:], fg.as_dtype(array.dtype))
        offset = w.pick_partner(x)
        parts = random.choice(["None, None", f"{offset}, None", f"{offset}, {scale}"])
        uses = [x] + [name for name in (offset, scale) if name in parts]
        w.add(f"fg.nn.batch_normalization({x}, {mean}, {variance}, {parts}, 0.5)", uses)
    elif choice == 3 and not w.is_full:  # layer normalisation as it is written down
        scale = w.add_argument(array.shape[-1:], fg.as_dtype(array.dtype))
        w.add(f"({x} - {mean}) * fg.math.rsqrt({variance} + 0.5) * {scale}", [x, scale])
    elif choice == 4:
        weights = w.pick_partner(x)
        w.add(f"fg.nn.weighted_moments({x}, {axes}, fg.abs({weights}) + 1)[{random.integers(2)}]", [x, weights])
    elif choice == 5:
        w.add(f"fg.nn.l2_normalize({x}, {axes}, epsilon=0.1)", [x])
    else:
        shifted = f"{x} + 0.25 * fg.cast(fg.range({array.shape[-1]}), {x}.dtype)"
        w.add(f"fg.math.reduce_variance({shifted}, {axes}, keepdims={bool(random.integers(2))})", [x])


def draw_dropout(w: Writer) -> None:
    x = w.pick_shaped(lambda a: a.size < 5000)
    if x is None:
        return
    array, seed = w.pool.array(x), len(w.lines)
    noise = [1 if w.random.random() < 0.4 else n for n in array.shape]
    texts = [
        f"fg.nn.dropout({x}, 0.25, seed={seed})",
        f"fg.nn.dropout({x}, 0.5, noise_shape={noise}, seed={seed})",
        f"fg.nn.experimental.stateless_dropout({x}, 0.75, [{seed}, 1])",
    ]
    w.add(str(w.random.choice(texts)), [x])


def draw_loss(w: Writer) -> None:
    x = w.pick_float()
    if x is None:
        return
    y = w.pick_partner(x)
    labels = f"fg.sigmoid({y})"
    texts = [
        f"fg.nn.sigmoid_cross_entropy_with_logits({labels} + fg.zeros_like({x}), {x} + fg.zeros_like({y}))",
        f"fg.nn.weighted_cross_entropy_with_logits({labels} + fg.zeros_like({x}), {x} + fg.zeros_like({y}), 1.5)",
        f"fg.nn.log_poisson_loss({labels} + fg.zeros_like({x}), fg.tanh({x}) + fg.zeros_like({y}))",
        f"fg.nn.l2_loss({x} - {y})",
    ]
    w.add(str(w.random.choice(texts)), [x, y])


def draw_activation(w: Writer) -> None:
    x = w.pick_float()
    if x is None:
        return
    rank = w.pool.array(x).ndim
    texts = [
        f"fg.nn.softsign({x})",
        f"fg.nn.gelu({x})",
        f"fg.nn.gelu({x}, approximate=True)",
        f"fg.nn.silu({x})",
        f"fg.math.log_sigmoid({x})",
    ]
    if rank:
        axis = int(w.random.integers(-rank, rank))
        texts += [f"fg.nn.crelu({x}, {axis})", f"fg.nn.softmax({x}, {axis})", f"fg.nn.log_softmax({x}, {axis})"]
    w.add(str(w.random.choice(texts)), [x])


def draw_embedding(w: Writer) -> None:
    table = w.pick_shaped(lambda a: a.ndim >= 1 and a.shape[0] > 0 and a.size < 5000)
    if table is None or w.is_full:
        return
    random = w.random
    ids = random.integers(0, w.pool.array(table).shape[0], w.shape()[:3])
    if ids.size * w.pool.array(table)[0].size > 50_000:
        return
    name = w.add_integers(ids, random.choice(["int32", "int64"]))
    norm = ", max_norm=1.5" if random.random() < 0.3 and w.pool.array(table).ndim > 1 else ""
    w.add(f"fg.nn.embedding_lookup({table}, {name}{norm})", [table, name], exact=not norm)


def draw_in_top_k(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: n in w.pool.exact and a.ndim == 2 and 0 not in a.shape and a.dtype == np.float32)
    if x is None or w.is_full:
        return
    n, n_classes = w.pool.array(x).shape
    targets = w.add_integers(w.random.integers(-1, n_classes + 1, n), w.random.choice(["int32", "int64"]))
    k: str | int = int(w.random.integers(0, n_classes + 2))
    w.add(f"fg.math.in_top_k({targets}, {x}, {k})", [x, targets], exact=True)


DRAWERS: tuple[Callable[[Writer], None], ...] = (
    *(draw_convolution,) * 4,
    draw_depthwise_convolution,
    draw_transposed_convolution,
    *(draw_pooling,) * 3,
    draw_blocks,
    *(draw_normalization,) * 2,
    draw_dropout,
    draw_loss,
    *(draw_activation,) * 2,
    draw_embedding,
    draw_in_top_k,
)
