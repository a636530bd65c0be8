"""Drawers for mathematics: special functions, sums of products, matrices and their diagonals, norms, statistics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import fastgraph as fg
from tests.fuzz.writer import SIZES, Writer

WIDE = (np.float32, np.float64)
ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def draw_special(w: Writer) -> None:
    """Functions whose argument is kept where they are smooth and well conditioned."""
    x = w.pick_float()
    if x is None:
        return
    y = w.pick_partner(x)
    # polygamma, which their gradients take, has no half floats.
    flat = x if w.pool.array(x).dtype in WIDE else f"fg.stop_gradient({x})"
    texts = [
        f"fg.math.ndtri(fg.sigmoid({x}) * 0.75 + 0.125)",
        f"fg.math.erfinv(fg.tanh({x}) * 0.75)",
        f"fg.math.erfcinv(fg.sigmoid({x}) + 0.5)",
        f"fg.math.lgamma(fg.abs({flat}) + 1)",
        f"fg.math.digamma(fg.abs({flat}) + 1)",
        f"fg.math.xlog1py({x}, fg.abs({y}))",
        f"fg.math.xdivy({x}, fg.abs({y}) + 1)",
        f"fg.math.reciprocal_no_nan(fg.nn.relu({x}) + 1)",
        f"fg.math.polyval([{x}, 0.5, {y}], fg.tanh({y}))",
        f"fg.math.scalar_mul(0.5, {x})",
        f"fg.math.bessel_{w.random.choice(['i0', 'i0e', 'i1', 'i1e'])}(fg.tanh({x}) * 3)",
    ]
    if w.pool.array(x).dtype in WIDE:
        order = int(w.random.integers(0, 4))
        texts += [f"fg.math.polygamma({x}.dtype.as_numpy_dtype({order}), fg.abs({x}) + 1)"]
        texts += [f"fg.math.zeta(fg.abs({x}) + 1.5, fg.abs({y}) + 1)"] * 2
        texts += [
            f"fg.math.{w.random.choice(['igamma', 'igammac'])}(fg.abs(fg.stop_gradient({x})) + 0.5, fg.abs({y}) + 0.25)"
        ] * 2
        texts += [f"fg.math.betainc(fg.abs({x}) + 0.5, fg.abs({x}) + 0.25, fg.sigmoid({x}))"]
        second = w.random.choice(["bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e", "expint"])
        texts += [f"fg.math.special.{second}(fg.abs({x}) + 0.5)"] * 2
        if w.pool.array(x).ndim:
            texts.append(f"fg.math.lbeta(fg.abs({x}) + 1)")
    w.add(str(w.random.choice(texts)), [x, y])


def draw_truncated(w: Writer) -> None:
    x = w.pick_numeric(exact=True)
    if x is None:
        return
    y = w.pick_partner(x, exact=True)
    w.add(f"fg.{w.random.choice(['truncatediv', 'truncatemod'])}({x}, fg.abs({y}) + 1)", [x, y], exact=True)


def draw_neighbour(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: n in w.pool.exact and a.dtype in WIDE)
    if x is not None:
        y = w.pick_partner(x, exact=True)
        w.add(f"(fg.math.nextafter({x}, {y}) - {x}) * 2.0**{w.random.integers(19, 50)}", [x, y])


def draw_einsum(w: Writer) -> None:
    """An equation of two or three operands whose extents fit: labels repeated, summed alone, kept, in any order."""
    x = w.pool.pick(
        lambda n, a: 1 <= a.ndim <= 4 and a.size < 3000 and a.dtype.name in ("float32", "float64", "float16", "int32")
    )
    if x is None or w.is_full:
        return
    array, random = w.pool.array(x), w.random
    labels = list("abcd"[: array.ndim])
    extents = dict(zip(labels, array.shape))
    for i, j in ((0, 1), (1, 2)):
        if j < array.ndim and array.shape[i] == array.shape[j] and random.random() < 0.2:
            labels[j] = labels[i]  # a diagonal
    sides, operands = ["".join(labels)], [x]
    for _ in range(int(random.integers(1, 3))):
        known = list(dict.fromkeys("".join(sides)))
        chosen = [str(c) for c in random.choice(known, int(random.integers(1, len(known) + 1)), replace=False)]
        if len(extents) < 6 and random.random() < 0.7:
            new = "uvwxyz"[len(extents) - 1]
            extents[new] = int(random.choice(SIZES))
            chosen.insert(int(random.integers(len(chosen) + 1)), new)
        sides.append("".join(chosen))
        operands.append(w.add_argument(tuple(extents[c] for c in chosen), fg.as_dtype(array.dtype)))
    known = list(dict.fromkeys("".join(sides)))
    kept = [str(c) for c in random.choice(known, int(random.integers(0, len(known) + 1)), replace=False)]
    work = int(np.prod([max(extents[c], 1) for c in known]))
    if work > 100_000:
        return
    if w.add(f"fg.einsum('{','.join(sides)}->{''.join(kept)}', {', '.join(operands)})", operands):
        w.work += work


def draw_tensordot(w: Writer) -> None:
    x = w.pool.pick(lambda n, a: 1 <= a.ndim <= 4 and a.size < 3000 and a.dtype.name in ("float32", "float64", "int32"))
    if x is None or w.is_full:
        return
    array, random = w.pool.array(x), w.random
    own = [int(a) for a in random.permutation(array.ndim)[: int(random.integers(0, array.ndim + 1))]]
    rest = [int(n) for n in random.choice(SIZES, int(random.integers(0, 3)))]
    if random.random() < 0.4:
        n = len(own)
        text, dims = str(n), [*array.shape[array.ndim - n :], *rest]
    else:
        places = [int(a) for a in random.permutation(len(own) + len(rest))]
        dims = [0] * len(places)
        for place, n in zip(places, [*[array.shape[a] for a in own], *rest]):
            dims[place] = n
        text = f"[{own}, {places[: len(own)]}]"
    if int(np.prod(np.maximum(dims, 1))) * array.size > 100_000:
        return
    y = w.add_argument(tuple(dims), fg.as_dtype(array.dtype))
    if w.add(f"fg.tensordot({x}, {y}, {text})", [x, y]):
        w.work += array.size * int(np.prod(rest))


def draw_products(w: Writer) -> None:
    x = w.pick_shaped(lambda a: a.ndim >= 2 and a.size < 5000 and a.dtype in WIDE)
    if x is None or w.is_full:
        return
    array, random = w.pool.array(x), w.random
    dtype = fg.as_dtype(array.dtype)
    if array.shape[-1] == 3 and random.random() < 0.5:
        y = w.add_argument(array.shape, dtype)
        w.add(f"fg.linalg.cross({x}, {y})", [x, y])
    else:
        flip = bool(random.integers(2))
        y = w.add_argument((*array.shape[:-2], array.shape[-2 if flip else -1]), dtype)
        w.add(f"fg.linalg.matvec({x}, {y}, transpose_a={flip})", [x, y])


def draw_diagonals(w: Writer) -> None:
    choice = w.random.integers(7)
    x = w.pool.pick(lambda n, a: a.ndim >= (1 if choice == 0 else 2) and 0 < a.size < 2000)
    if x is None:
        return
    array, random = w.pool.array(x), w.random
    align = f"align='{random.choice(ALIGNMENTS)}'"
    if choice == 0:
        low = int(random.integers(-2, 3))
        if array.ndim >= 2 and random.random() < 0.5:
            k: int | tuple[int, int] = (low, low + array.shape[-2] - 1)
        else:
            k = low
        padding = "" if array.dtype.kind == "b" else f", padding_value={random.integers(0, 3)}"
        w.add(f"fg.linalg.diag({x}, k={k}{padding}, {align})", [x], exact=True)
        return
    rows, columns = array.shape[-2:]
    first, last = sorted(int(d) for d in random.integers(-rows + 1, columns, 2))
    if random.random() < 0.4:
        last = first
    k = (first, last) if random.random() < 0.6 or first != last else first
    length = min(rows + min(last, 0), columns - max(first, 0))
    if choice == 1:
        lower, upper = (int(n) for n in random.integers(-1, 4, 2))
        w.add(f"fg.linalg.band_part({x}, {lower}, {upper})", [x], exact=True)
    elif choice == 2:
        w.add(f"fg.linalg.diag_part({x}, k={k}, {align})", [x], exact=True)
    elif choice == 3 and not w.is_full:
        shape = (*array.shape[:-2], *([last - first + 1] if first != last else []), length)
        y = w.add_argument(shape, fg.as_dtype(array.dtype))
        w.add(f"fg.linalg.set_diag({x}, {y}, k={k}, {align})", [x, y], exact=True)
    elif choice == 4 and array.dtype.kind != "b":
        w.add(f"fg.linalg.trace({x})", [x])
    elif choice == 5:
        w.add(f"fg.linalg.matrix_transpose({x})", [x], exact=True)
    elif array.ndim % 2 == 0 and array.shape[: array.ndim // 2] == array.shape[array.ndim // 2 :]:
        w.add(f"fg.linalg.tensor_diag_part({x})", [x], exact=True)
    elif array.ndim == 2 and array.size < 50:
        w.add(f"fg.linalg.tensor_diag({x})", [x], exact=True)


def draw_statistics(w: Writer) -> None:
    """Reductions made of others. Where one takes a square root it is kept from 0, where that has no derivative."""
    x = w.pick_shaped(lambda a: a.size > 0)
    if x is None:
        return
    array = w.pool.array(x)
    axes, keep = w.axes(array.ndim), bool(w.random.integers(2))
    apart = f"{x} + fg.cast(fg.reshape(fg.range(fg.size({x})), fg.shape({x})), {x}.dtype) / 8"
    texts = [
        f"fg.reduce_logsumexp({x}, {axes}, {keep})",
        f"fg.math.reduce_variance({x}, {axes}, {keep})",
        f"fg.math.reduce_euclidean_norm(fg.abs({x}) + 1, {axes}, {keep})",
    ]
    if array.size < 200 and array.dtype in WIDE:
        texts.append(f"fg.math.reduce_std({apart}, {axes}, {keep}) ** 2")
    if array.ndim:
        axis = int(w.random.integers(-array.ndim, array.ndim))
        order = w.random.choice(["1", "2", "np.inf", "3", "'euclidean'"])
        texts.append(f"fg.norm(fg.abs({x}) + 1, {order}, {axis}, {keep})")
        texts.append(f"fg.linalg.normalize(fg.abs({x}) + 1, {order}, {axis})[0]")
    w.add(str(w.random.choice(texts)), [x])


def draw_clipped(w: Writer) -> None:
    x = w.pick_float()
    if x is None:
        return
    array, random = w.pool.array(x), w.random
    choice = random.integers(4)
    if choice == 0:
        w.add(f"fg.clip_by_value({x}, -1.0, 1.5)", [x], exact=True)
    elif choice == 1:
        low = w.pick_partner(x)
        w.add(f"fg.clip_by_value({x}, {low}, {low} + 1)", [x, low], exact=True)
    elif choice == 2:
        w.add(f"fg.clip_by_norm({x}, 1.5, {w.axes(array.ndim)})", [x])
    else:
        y = w.pick_float()
        norms = f"fg.clip_by_global_norm([fg.cast({x}, fg.float32), fg.cast({y}, fg.float32)], 2.0)"
        w.add(str(random.choice([f"{norms}[0][0]", f"{norms}[0][1]", f"{norms}[1]"])), [x, str(y)])


def draw_running_logsumexp(w: Writer) -> None:
    x = w.pick_shaped(lambda a: a.ndim >= 1 and a.size < 500)
    if x is not None:
        axis = int(w.random.integers(w.pool.array(x).ndim))
        # Exclusive ones begin with -inf, or the least number there is.
        w.add(f"fg.math.cumulative_logsumexp({x}, {axis}, reverse={bool(w.random.integers(2))})", [x])


def draw_counts(w: Writer) -> None:
    random = w.random
    x = w.pool.pick(lambda n, a: n in w.pool.exact and a.dtype in (np.int32, np.int64) and a.size < 500)
    if x is None:
        x = w.pick_numeric(exact=True)
        if x is not None and w.pool.array(x).size < 5000:
            ratio = f"fg.math.zero_fraction({x})"
            count = f"fg.math.count_nonzero({x}, {w.axes(w.pool.array(x).ndim)}, {bool(random.integers(2))})"
            w.add(str(random.choice([ratio, count])), [x], exact=True)
        return
    array = w.pool.array(x)
    small = f"fg.abs({x}) % 7"
    weights = f"fg.cast({x}, fg.float32) * 0.125"
    texts = [
        f"fg.math.bincount({small})",
        f"fg.math.bincount({small}, minlength=9, dtype=fg.float32)",
        f"fg.math.bincount({small}, maxlength={random.integers(0, 6)})",
        f"fg.math.bincount({small}, {weights})",
        f"fg.math.bincount({small}, binary_output=True)",
        f"fg.histogram_fixed_width({weights}, [-1.0, 1.0], {random.integers(1, 6)})",
        f"fg.math.confusion_matrix(fg.reshape({small}, [-1]), fg.reshape({small}, [-1])[::-1], 7)",
    ]
    if array.ndim == 2:
        texts.append(f"fg.math.bincount({small}, axis=-1, maxlength=5)")
    w.add(str(random.choice(texts)), [x], exact=True)


def draw_complex(w: Writer) -> None:
    """Complex numbers of two floats, and floats again: their parts, moduli, sums and products."""
    x = w.pool.pick(lambda n, a: a.dtype in WIDE)
    if x is None:
        return
    y, random = w.pick_partner(x), w.random
    z, other = f"fg.complex({x}, {y})", f"fg.complex({y}, {x} * 0.5 + 1)"
    array = np.broadcast(w.pool.array(x), w.pool.array(y))
    axes = w.axes(array.ndim)
    texts = [
        f"{z} * {other} - fg.math.conj({z})",
        f"{z} / (fg.cast(fg.abs({other}), {z}.dtype) + 1)",
        f"fg.where({x} > {y}, {z}, -{other})",
        f"fg.reduce_sum({z} * {other}, {axes})",
        f"fg.reduce_mean({z}, {axes}, keepdims=True) + {z}",
        f"fg.transpose(fg.square({z}), conjugate=True)",
        f"fg.cast({x}, fg.complex64) * 1j",
        f"fg.stack([{z}, {other}], -1)",
        f"fg.exp(fg.complex(fg.tanh({x}), {y}))",
    ]
    if array.ndim:
        texts.append(f"fg.cumsum({z}, {random.integers(-array.ndim, array.ndim)})")
        texts.append(f"fg.signal.ifftnd({z}, axes=[{random.integers(-array.ndim, array.ndim)}])")
    if array.ndim > 1:
        texts.append(f"fg.signal.ifft2d({z})")
    if array.ndim > 1 and array.size < 3000:
        texts.append(f"fg.matmul({z}, {other}, adjoint_b=True)")
    how = random.choice(["fg.math.real", "fg.math.imag", "fg.abs"], p=[0.4, 0.4, 0.2])
    w.add(f"{how}({random.choice(texts)})", [x, y])


DRAWERS: tuple[Callable[[Writer], None], ...] = (
    *(draw_special,) * 4,
    *(draw_truncated,) * 2,
    *(draw_complex,) * 3,
    draw_neighbour,
    *(draw_einsum,) * 2,
    draw_tensordot,
    draw_products,
    *(draw_diagonals,) * 4,
    *(draw_statistics,) * 2,
    draw_clipped,
    draw_running_logsumexp,
    draw_counts,
)
