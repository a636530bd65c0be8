"""Programs with operations that TensorFlow writes into gradients and updates, as cases of SavedModels read here.

Rule: one object of many functions each, called with arrays of a seed; see saved_model_cases.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.oracle.saved_model_cases import DATASETS, Case, floats, holder, spec


def case(function: Callable[[Any], Case]) -> Callable[[Any], Case]:
    """Enter a case under the function's name."""
    DATASETS[function.__name__] = function
    return function


def functions(tf: Any, bodies: dict[str, tuple[Callable[..., Any], Sequence[Any]]], **attributes: Any) -> Case:
    """A Module with a Function for each of the bodies, called with the arrays beside it."""
    made = {
        name: tf.function(
            body, input_signature=[spec(tf, a.shape, "string" if a.dtype == object else a.dtype.name) for a in arrays]
        )
        for name, (body, arrays) in bodies.items()
    }
    calls: list[tuple[Any, ...]] = [(name, list(arrays)) for name, (_, arrays) in bodies.items()]
    return Case(holder(tf, **attributes, **made), calls)


def slopes(tf: Any, body: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives the gradients of the squares of what `body` gives."""

    def gradients(*arrays: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(arrays)
            loss = tf.reduce_sum(body(*arrays) ** 2)
        return tape.gradient(loss, list(arrays))

    return gradients


def shares(*shape: int) -> np.ndarray:
    """Numbers from 0.1 to 0.9: f32[*shape]."""
    return (0.1 + 0.8 * np.random.RandomState(len(shape)).rand(*shape)).astype(np.float32)


@case
def image_gradients(tf: Any) -> Case:
    image = floats(1, 7, 9, 3)
    old = tf.compat.v1.image

    def boxes(x: Any, b: Any) -> Any:
        return tf.image.crop_and_resize(x, b, [0, 0], (4, 4))

    bodies: dict[str, Any] = {
        "antialiased": (lambda x: tf.image.resize(x, (4, 5), antialias=True), [image]),
        "lanczos": (lambda x: tf.image.resize(x, (11, 5), "lanczos3"), [image]),
        "cubic_antialiased": (lambda x: tf.image.resize(x, (3, 3), "bicubic", antialias=True), [image]),
        "crop_slopes": (slopes(tf, boxes), [image, shares(2, 4)]),
        "place_slopes": (slopes(tf, lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "SAME")[0]), [image]),
    }
    for method in ("bilinear", "bicubic", "nearest", "gaussian", "mitchellcubic"):
        body = slopes(tf, lambda x, method=method: tf.image.resize(x, (5, 4), method))
        bodies[f"{method}_slopes"] = (body, [image])
    for kind in ("bilinear", "bicubic", "nearest_neighbor", "area"):
        for size in ((4, 5), (10, 12)):
            for corners in (False, True):
                body = lambda x, kind=kind, size=size, corners=corners: getattr(old, f"resize_{kind}")(x, size, corners)
                bodies[f"{kind}_{size[0]}_{corners}"] = (body, [image])
    return functions(tf, bodies)


@case
def lists_and_slices(tf: Any) -> Case:
    variable = tf.Variable(floats(4, 3), name="table")

    def assigned(x: Any) -> Any:
        variable[1:3].assign(x)
        variable[:, 1].assign(variable[:, 0] + 1.0)
        return variable.read_value()

    def scattered(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, 5, element_shape=[2]).scatter([4, 0, 2], x)
        return array.write(1, [1.0, 2.0]).write(3, [3.0, 4.0]).stack()

    def split_up(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, 3, infer_shape=False).split(x, [1, 2, 3])
        return array.read(2), array.concat(), array.size()

    def split_evenly(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, 3).split(x, [2, 2, 2])
        return array.read(1), array.stack()

    def split_by(x: Any, lengths: Any) -> Any:
        return tf.TensorArray(tf.float32, 3, infer_shape=False).split(x, lengths).concat()

    bodies = {
        "assigned": (assigned, [floats(2, 3)]),
        "scattered": (scattered, [floats(3, 2)]),
        "split_up": (split_up, [floats(6, 2)]),
        "split_evenly": (split_evenly, [floats(6, 2)]),
        "split_by": (split_by, [floats(6, 2), np.array([3, 0, 3], np.int32)]),
    }
    return functions(tf, bodies, variable=variable)


@case
def branch_and_loop_gradients(tf: Any) -> Case:
    vector, rows = floats(3), floats(3, 4)

    def branches(x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x) ** 2, lambda: tf.exp(x) * 3.0)

    def cases(x: Any) -> Any:
        index = tf.cast(tf.reduce_sum(x) > 0, tf.int32) + 1
        return tf.switch_case(index, [lambda: x, lambda: x**3, lambda: tf.exp(x) * x])

    def unrolled(x: Any) -> Any:
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * y + x), (0, x))[1]

    bodies = {
        "branches": (slopes(tf, branches), [vector]),
        "branches_below": (slopes(tf, branches), [-np.abs(vector)]),
        "cases": (slopes(tf, cases), [vector]),
        "loop": (slopes(tf, unrolled), [vector]),
        "mapped": (slopes(tf, lambda x: tf.map_fn(lambda row: tf.reduce_sum(row**2) * row, x)), [rows]),
        "scanned": (slopes(tf, lambda x: tf.scan(lambda a, row: a * 0.5 + row**2, x)), [rows]),
        "folded": (slopes(tf, lambda x: tf.foldl(lambda a, row: a * 0.5 + row**2, x)), [rows]),
        "exponential": (slopes(tf, tf.linalg.expm), [floats(3, 3)]),
    }
    return functions(tf, bodies)


@case
def sparse_gradients(tf: Any) -> Case:
    def sliced(x: Any) -> Any:
        return tf.sparse.to_dense(tf.sparse.slice(tf.sparse.from_dense(x), [1, 1], [2, 3]))

    def added(x: Any, y: Any) -> Any:
        return tf.sparse.to_dense(tf.sparse.add(tf.sparse.from_dense(x), tf.sparse.from_dense(y)))

    def filled(x: Any) -> Any:
        return tf.sparse.fill_empty_rows(tf.SparseTensor([[2, 1], [0, 0]], x, [4, 3]), 1.0)[0].values

    def segments(x: Any) -> Any:
        named, groups = tf.constant([3, 0, 3]), tf.constant([0, 0, 1])
        parts = [getattr(tf.sparse, f"segment_{how}")(x, named, groups) for how in ("sum", "mean", "sqrt_n")]
        return tf.concat(parts, 0)

    def counted(x: Any) -> Any:
        rows = tf.RaggedTensor.from_row_lengths(x, [2, 0, 4])
        found = [tf.sparse.bincount(rows), tf.sparse.bincount(rows.to_sparse(), axis=-1), tf.sparse.bincount(x)]
        return [part for each in found for part in (each.indices, each.values)]

    def crossed(a: Any, b: Any) -> Any:
        columns = [tf.RaggedTensor.from_row_lengths(a, [2, 1]), tf.RaggedTensor.from_row_lengths(b, [1, 2])]
        hashed = tf.ragged.cross_hashed(columns, num_buckets=100)
        return tf.ragged.cross(columns).values, hashed.values, hashed.row_splits

    dense = floats(4, 5) * (shares(4, 5) > 0.5)
    bodies = {
        "sliced": (slopes(tf, sliced), [dense]),
        "added": (slopes(tf, added), [dense, np.roll(dense, 1, 1)]),
        "filled": (slopes(tf, filled), [floats(2)]),
        "segments": (slopes(tf, segments), [floats(4, 5)]),
        "counted": (counted, [np.array([1, 1, 0, 2, 2, 2], np.int64)]),
        "crossed": (crossed, [np.array([b"a", b"b", b"c"], object), np.array([4, 5, 6], np.int32)]),
    }
    return functions(tf, bodies)


@case
def other_gradients(tf: Any) -> Case:
    matrix = floats(4, 4) @ floats(4, 4).T + 4 * np.eye(4, dtype=np.float32)
    raw = tf.raw_ops

    def batch_norm(x: Any) -> Any:
        return tf.compat.v1.nn.fused_batch_norm(x, [1.0, 2.0], [0.0, 1.0])[0]

    def rounded(x: Any) -> Any:
        return tf.quantization.quantize_and_dequantize_v2(x, -1.0, 1.0)

    def cells(x: Any, h: Any) -> Any:
        ones, zeros = tf.ones([4]), tf.zeros([4])
        gru = raw.GRUBlockCell(
            x=x, h_prev=h, w_ru=tf.ones([7, 8]) * 0.1, w_c=tf.ones([7, 4]) * 0.1, b_ru=tf.ones([8]), b_c=zeros
        )
        lstm = raw.LSTMBlockCell(x=x, cs_prev=h, h_prev=h, w=tf.ones([7, 16]) * 0.1, wci=ones, wcf=ones, wco=ones,
                                 b=tf.zeros([16]), use_peephole=True)  # fmt: skip
        return gru.h, lstm.h, lstm.cs

    def sounds(x: Any) -> Any:
        power = raw.AudioSpectrogram(input=x, window_size=256, stride=128, magnitude_squared=True)
        return tf.math.log(power + 1e-3), raw.Mfcc(spectrogram=power, sample_rate=16000)

    bodies = {
        "factor": (slopes(tf, tf.linalg.cholesky), [matrix]),
        "determinant": (slopes(tf, tf.linalg.det), [matrix]),
        "eigenvalues": (lambda x: (tf.linalg.eigvalsh(x), tf.linalg.svd(x, compute_uv=False)), [matrix]),
        "batch_norm": (slopes(tf, batch_norm), [floats(2, 4, 4, 2)]),
        "rounded": (slopes(tf, rounded), [floats(3, 4)]),
        "gamma": (slopes(tf, lambda x: tf.random.stateless_gamma([3], [1, 2], x)), [shares(3)]),
        "diagonals": (lambda x: tf.linalg.diag(x, k=1, padding_value=9.0), [floats(3)]),
        "cells": (cells, [floats(2, 3), floats(2, 4)]),
        "sounds": (sounds, [floats(2000, 1)]),
    }
    return functions(tf, bodies)


@case
def generators_and_optionals(tf: Any) -> Case:
    generator = tf.random.Generator.from_seed(7)

    def drawn() -> Any:
        first = (
            generator.binomial([2], [10.0, 20.0], [0.5, 0.3]),
            generator.uniform_full_int([2]),
            generator.normal([2]),
        )
        generator.skip(3)
        return *first, generator.uniform([2], 0, 100, tf.int32), generator.truncated_normal([2])

    def shuffled(x: Any) -> Any:
        return tf.random.experimental.stateless_shuffle(x, [1, 2])

    def wrapped(x: Any) -> Any:
        some = tf.experimental.Optional.from_value(x)
        return some.has_value(), some.get_value()

    bodies: dict[str, Any] = {
        "drawn": (drawn, []),
        "shuffled": (shuffled, [floats(6)]),
        "wrapped": (wrapped, [floats(3)]),
    }
    return functions(tf, bodies, generator=generator)


@case
def rare_optimizers(tf: Any) -> Case:
    raw = tf.raw_ops
    names = ("ResourceApplyAddSign", "ResourceApplyPowerSign", "ResourceApplyProximalAdagrad",
             "ResourceApplyProximalGradientDescent", "ResourceSparseApplyProximalAdagrad",
             "ResourceSparseApplyProximalGradientDescent")  # fmt: skip
    slots = {name: [tf.Variable(shares(3, 2)), tf.Variable(shares(3, 2) + 1)] for name in names}

    def stepped(name: str) -> Callable[[Any], Any]:
        var, slot = slots[name]

        def step(gradient: Any) -> Any:
            said: dict[str, Any] = {"var": var.handle}
            said["delta" if name.endswith("ApplyProximalGradientDescent") and "Sparse" not in name else "grad"] = (
                gradient
            )
            if "Sign" in name:
                said.update(m=slot.handle, lr=0.1, sign_decay=0.9, beta=0.8)
                said["alpha" if "Add" in name else "logbase"] = 0.7
            elif "Adagrad" in name:
                said.update(accum=slot.handle, lr=0.1, l1=0.02, l2=0.3)
            else:
                said.update(alpha=0.1, l1=0.02, l2=0.3)
            if "Sparse" in name:
                said["indices"] = [2, 0]
            getattr(raw, name)(**said)
            return var.read_value(), slot.read_value()

        return step

    bodies = {name: (stepped(name), [floats(2 if "Sparse" in name else 3, 2)]) for name in names}
    return functions(tf, bodies, slots=[each for pair in slots.values() for each in pair])
