"""Drawers for elements moved by data: gathers and scatters, segments, sorting, pieces, grids, random numbers by seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import fastgraph as fg
from tests.fuzz.writer import FLOATS, SIZES, Writer

INDICES = ("int32", "int64")


def _few(w: Writer, least: int = 1, exact: bool = False) -> str | None:
    """Return a value of at least `least` dimensions and not too many elements."""
    return w.pool.pick(lambda n, a: a.ndim >= least and a.size < 3000 and (not exact or n in w.pool.exact))


def _indices(w: Writer, dims: tuple[int, ...], lead: tuple[int, ...], unique: bool = False) -> np.ndarray:
    """Return random indices [*lead, len(dims)] into `dims`, perhaps all different."""
    count, places = int(np.prod(lead)), int(np.prod(dims))
    flat = w.random.permutation(places)[:count] if unique else w.random.integers(0, max(places, 1), count)
    table = np.stack(np.unravel_index(flat, dims), -1) if dims else np.zeros((count, 0))
    return table.reshape(*lead, len(dims)).astype(w.random.choice(INDICES))


def draw_gather_nd(w: Writer) -> None:
    x = _few(w)
    if x is None or w.is_full or 0 in w.pool.array(x).shape:
        return
    array, random = w.pool.array(x), w.random
    batch = int(random.integers(0, 2)) if array.ndim > 1 and random.random() < 0.3 else 0
    depth = int(random.integers(0, array.ndim - batch + 1))
    lead = (*array.shape[:batch], *(int(n) for n in random.choice(SIZES, int(random.integers(0, 3)))))
    indices = w.add_array(_indices(w, array.shape[batch : batch + depth], lead))
    w.add(f"fg.gather_nd({x}, {indices}, batch_dims={batch})", [x, indices], exact=True)


def draw_batched_gather(w: Writer) -> None:
    x = _few(w, 2)
    if x is None or w.is_full or 0 in w.pool.array(x).shape:
        return
    array, random = w.pool.array(x), w.random
    axis = int(random.integers(1, array.ndim))
    batch = int(random.integers(1, axis + 1))
    more = tuple(int(n) for n in random.choice(SIZES, int(random.integers(0, 2))))
    values = random.integers(0, array.shape[axis], (*array.shape[:batch], *more))
    indices = w.add_integers(values, random.choice(INDICES))
    w.add(f"fg.gather({x}, {indices}, axis={axis}, batch_dims={batch})", [x, indices], exact=True)


def draw_scatter(w: Writer) -> None:
    """Updates at indices. Only sums may meet one place twice: of others the last, or any, would win."""
    x = w.pool.pick(lambda n, a: a.ndim >= 1 and 0 < a.size < 3000 and a.dtype.kind in "iufV")
    if x is None or w.is_full:
        return
    array, random = w.pool.array(x), w.random
    depth = int(random.integers(1, array.ndim + 1))
    dims = array.shape[:depth]
    how = str(random.choice(["new", "add", "sub", "update", "max", "min"]))
    unique = how in ("update", "max", "min") or random.random() < 0.5
    most = int(np.prod(dims)) if unique else 10
    lead = (int(random.integers(0, most + 1)),)
    indices = w.add_array(_indices(w, dims, lead, unique))
    updates = w.add_argument((*lead, *array.shape[depth:]), fg.as_dtype(array.dtype))
    if how == "new":
        text = f"fg.scatter_nd({indices}, {updates}, {list(array.shape)})"
        w.add(text, [indices, updates])
    else:
        w.add(f"fg.tensor_scatter_nd_{how}({x}, {indices}, {updates})", [x, indices, updates])


def draw_segments(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: a.ndim >= 1 and 0 < a.size < 3000 and a.dtype.name in ("float32", "float64", "int32"))
    if x is None or w.is_full:
        return
    array, random = w.pool.array(x), w.random
    op = str(random.choice(["sum", "sum", "max", "min", "mean", "prod"]))
    text = x
    if op == "prod":
        text = f"1 + fg.tanh({x}) / 64" if array.dtype.kind == "f" else f"fg.sign({x})"
    ids = random.integers(0, 4, array.shape[: 1 + int(array.ndim > 1 and random.random() < 0.2)])
    if random.random() < 0.5 and ids.ndim == 1:
        name = w.add_integers(np.sort(np.unique(ids, return_inverse=True)[1]), random.choice(INDICES))
        w.add(f"fg.math.segment_{op}({text}, {name})", [x, name], exact=op in ("max", "min"))
    else:
        ids = np.where(random.random(ids.shape) < 0.1, -1, ids)
        name = w.add_integers(ids, random.choice(INDICES))
        if op in ("max", "min"):  # a segment without elements is the least or the greatest number there is
            text, op = f"fg.concat([{x}] * 4, 0)", op
            ids = np.concatenate([np.full_like(ids, i) for i in range(4)])
            name = w.add_integers(ids, random.choice(INDICES))
        elif array.dtype.kind == "f" and random.random() < 0.2:
            op = "sqrt_n"
        w.add(f"fg.math.unsorted_segment_{op}({text}, {name}, 4)", [x, name], exact=op in ("max", "min"))


def draw_sorted(w: Writer) -> None:
    x = w.pool.pick(
        lambda n, a: n in w.pool.exact and a.ndim >= 1 and a.size < 3000 and a.dtype.kind in "iuf" and 0 not in a.shape
    )
    if x is None:
        return
    array, random = w.pool.array(x), w.random
    axis = int(random.integers(-array.ndim, array.ndim))
    way = random.choice(["ASCENDING", "DESCENDING"])
    k = int(random.integers(0, array.shape[-1] + 1))
    flat = f"fg.reshape({x}, [-1])"
    texts = [
        f"fg.sort({x}, {axis}, '{way}')",
        f"fg.argsort({x}, {axis}, '{way}', stable=True)",
        f"fg.math.top_k({x}, {k})[0]",
        f"fg.math.top_k({x}, {k}, index_type=fg.int64)[1]",
        f"fg.unique({flat})[{random.integers(2)}]",
        f"fg.unique_with_counts({flat})[{random.integers(3)}]",
        f"fg.searchsorted(fg.sort({flat}), {flat}[::2], side='{random.choice(['left', 'right'])}')",
        f"fg.math.is_non_decreasing({x})",
        f"fg.math.is_strictly_increasing(fg.sort({flat}))",
        f"fg.math.invert_permutation(fg.argsort({flat}, stable=True))",
        f"fg.where({x} > 0)",
    ]
    w.add(str(random.choice(texts)), [x], exact=True)


def draw_unravelled(w: Writer) -> None:
    if w.is_full:
        return
    dims = [int(n) for n in w.random.choice([1, 2, 3, 5, 8], int(w.random.integers(1, 5)))]
    values = w.random.integers(0, int(np.prod(dims)), w.shape()[:2])
    if values.size < 5000:
        dtype = w.random.choice(INDICES)
        name = w.add_integers(values, dtype)
        w.add(f"fg.unravel_index({name}, np.array({dims}, '{dtype}'))", [name], exact=True)


def draw_shapes(w: Writer) -> None:
    """Extents as numbers."""
    x = _few(w, 0)
    if x is None:
        return
    array = w.pool.array(x)
    y = w.pick_partner(x)
    shape = f"fg.broadcast_dynamic_shape(fg.shape({x}), fg.shape({y}))"
    texts = [shape, f"fg.broadcast_to({x}, {shape})", f"fg.shape({x}, out_type=fg.int64)"]
    if array.ndim:
        texts += [f"fg.shape({x})[{int(w.random.integers(array.ndim))}] * 2", f"fg.zeros(fg.shape({x})[:1])"]
    w.add(str(w.random.choice(texts)), [x, y], exact=True)


def draw_masked_slice(w: Writer) -> None:
    """A strided slice with all its masks, its limits told by data or not."""
    x = _few(w)
    if x is None or w.is_full:
        return
    array, random = w.pool.array(x), w.random
    length = int(random.integers(1, array.ndim + 2))
    begin, end = ([int(i) for i in random.integers(-4, 5, length)] for _ in range(2))
    strides = [int(s) for s in random.choice([1, 1, 1, 2, 3, -1, -2], length)]
    masks = [int(random.integers(1 << length)) & int(random.integers(1 << length)) for _ in range(4)]
    ellipsis = 1 << int(random.integers(length)) if random.random() < 0.4 else 0
    uses = [x]
    limits: list[str | list[int]] = [begin, end, strides]
    if random.random() < 0.3:
        for i in range(2):
            limits[i] = w.add_integers(limits[i])
            uses.append(str(limits[i]))
    names = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask")
    text = ", ".join(f"{name}={mask}" for name, mask in zip(names, masks))
    w.add(f"fg.strided_slice({x}, {', '.join(map(str, limits))}, ellipsis_mask={ellipsis}, {text})", uses, exact=True)


def draw_pieces(w: Writer) -> None:
    x = _few(w)
    if x is None:
        return
    array, random = w.pool.array(x), w.random
    axis = int(random.integers(-array.ndim, array.ndim))
    n = array.shape[axis]
    cuts = sorted(int(i) for i in random.integers(0, n + 1, 2))
    sizes: list[int] = [cuts[0], cuts[1] - cuts[0], n - cuts[1]]
    uses = [x]
    choice = random.integers(5)
    if choice == 0:
        parts = int(random.choice([k for k in range(1, n + 1) if n % k == 0] or [1]))
        text = f"fg.split({x}, {parts}, {axis})"
    elif choice == 1:
        if random.random() < 0.5:
            sizes[int(random.integers(3))] = -1
        text = f"fg.split({x}, {sizes}, {axis})"
    elif choice == 2 and not w.is_full:
        if random.random() < 0.5:
            sizes[int(random.integers(3))] = -1
        name = w.add_integers(sizes)
        uses.append(name)
        text = f"fg.split({x}, {name}, {axis}, num=3)"
    elif choice == 3 and n and n < 20:
        text = f"[fg.expand_dims(y, {axis}) for y in fg.unstack({x}, {n}, axis={axis})]"
    else:
        shifts = [int(s) for s in random.integers(-5, 6, array.ndim)]
        w.add(f"fg.roll({x}, {shifts}, {list(range(array.ndim))})", [x], exact=True)
        return
    if random.random() < 0.5:
        w.add(f"fg.concat({text}[::-1], {axis})", uses, exact=True)
    else:
        w.add(f"{text}[{-1 if random.random() < 0.5 else 0}]", uses, exact=True)


def draw_repeated(w: Writer) -> None:
    x = _few(w)
    if x is None or w.is_full:
        return
    array, random = w.pool.array(x), w.random
    axis = int(random.integers(array.ndim))
    choice = random.integers(3)
    if choice == 0:
        counts = w.add_integers(random.integers(0, 3, array.shape[axis]))
        w.add(f"fg.repeat({x}, {counts}, {axis})", [x, counts], exact=True)
    elif choice == 1 and array.ndim > 1:
        batch = int(random.choice([a for a in range(array.ndim) if a != axis]))
        lengths = w.add_integers(random.integers(0, array.shape[axis] + 1, array.shape[batch]))
        w.add(f"fg.reverse_sequence({x}, {lengths}, {axis}, {batch})", [x, lengths], exact=True)
    else:
        lengths = w.add_integers(random.integers(0, 5, array.shape[:1]))
        maximum = random.choice(["None", "4"])
        w.add(f"fg.sequence_mask({lengths}, {maximum}, dtype=fg.{random.choice(['bool', 'float32'])})", [lengths], True)


def draw_grid(w: Writer) -> None:
    random = w.random
    x = w.pick_shaped(lambda a: a.size < 300)
    if x is None:
        return
    array = w.pool.array(x)
    y = w.pick_partner(x)
    flat, other = f"fg.reshape({x}, [-1])", f"fg.reshape({y}, [-1])[:7]"
    texts = [f"fg.meshgrid({flat}, {other}, indexing='{random.choice(['xy', 'ij'])}')[{random.integers(2)}]"]
    dtype = FLOATS[random.integers(4)].name
    n, m = (int(k) for k in random.integers(0, 6, 2))
    texts += [
        f"fg.eye({n}, {m}, batch_shape={[int(k) for k in random.integers(1, 3, random.integers(0, 3))]}, dtype=fg.{dtype})",
        f"fg.one_hot(fg.range({n}) - 1, {m}, 2.0, -0.5, {random.integers(-1, 2)})",
        f"fg.one_hot(fg.reshape(fg.range({n}), [-1, 1]), {m}, axis={random.integers(-1, 3)}, dtype=fg.{dtype})",
        f"fg.saturate_cast(fg.cast({x}, fg.float32) * 100, fg.{random.choice(['int8', 'uint8', 'int16'])})",
    ]
    exact = True
    if array.dtype in (np.float32, np.float64) and array.size < 100:
        text = f"fg.linspace({x}, {x} + 2, {int(random.choice([1, 2, 5, 9]))}, axis={random.integers(array.ndim + 1)})"
        if random.random() < 0.3:
            texts, exact = [text], False
    if array.dtype == np.float32 and random.random() < 0.2:
        texts = [f"fg.bitcast(fg.bitcast({x}, fg.int32), fg.float32)"]
        if x in w.pool.exact:  # the last bits of others differ between the tiers
            texts.append(f"fg.bitwise.bitwise_and(fg.bitcast({x}, fg.int32), 7)")
    w.add(str(random.choice(texts)), [x, y], exact=exact)


def draw_stateless(w: Writer) -> None:
    """Random numbers that a seed given as an argument says."""
    if w.is_full:
        return
    random = w.random
    seed = w.add_integers(random.integers(0, 1 << 20, 2), random.choice(INDICES))
    shape = [int(n) for n in random.choice(SIZES, int(random.integers(0, 4)))]
    dtype = FLOATS[random.integers(6)].name
    exact = [
        f"fg.random.stateless_uniform({shape}, {seed}, -2, 2, fg.{dtype})",
        f"fg.random.stateless_uniform({shape}, {seed}, -9, 9, fg.{random.choice(INDICES)})",
        f"fg.random.stateless_categorical(fg.zeros([2, 5]), 4, {seed})",
        f"fg.random.experimental.stateless_shuffle(fg.range({int(random.integers(0, 9))}), {seed})",
        f"fg.cast(fg.random.split(fg.random.fold_in({seed}, 3), 3) % 64, fg.int32)",
    ]
    smooth = [
        f"fg.random.stateless_normal({shape}, {seed}, 0.5, 2.0, fg.{dtype})",
        f"fg.random.stateless_truncated_normal({shape}, {seed}, dtype=fg.{dtype})",
    ]
    texts = exact if random.random() < 0.6 else smooth
    w.add(str(random.choice(texts)), [seed], exact=texts is exact)


def draw_switch(w: Writer) -> None:
    x = w.pick_float()
    if x is None or w.is_full:
        return
    index = w.add_integers(int(w.random.integers(-1, 4)))
    ways = [f"lambda: {x} * 2", f"lambda: fg.tanh({x})", f"lambda: {x} - fg.reduce_mean(fg.tanh({x}))"]
    w.add(f"fg.switch_case({index}, [{', '.join(ways)}])", [x, index])


DRAWERS: tuple[Callable[[Writer], None], ...] = (
    *(draw_gather_nd,) * 2,
    draw_batched_gather,
    *(draw_scatter,) * 2,
    *(draw_segments,) * 2,
    *(draw_sorted,) * 2,
    draw_unravelled,
    *(draw_shapes,) * 2,
    *(draw_masked_slice,) * 2,
    *(draw_pieces,) * 3,
    draw_repeated,
    draw_grid,
    draw_stateless,
    draw_switch,
)
