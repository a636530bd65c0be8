"""Small graphs as programs write them: each once in fastgraph and once in TensorFlow, for comparing what is written.

Rule: a case is one function of a few lines, as one meets it in programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Case = tuple[str, Callable[..., Any], list[np.ndarray], Any]

#: Cases that run Python of the process that wrote them.
NOT_ACROSS = frozenset({"Python in a graph"})


def cases(tf: Any) -> Iterator[Case]:
    """Yield (name, function, arguments, None): the shapes of the arguments are known."""
    rng = np.random.default_rng(1)

    def a(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    for name, function, arrays in [*_plain(tf, a), *_flow(tf, a), *_typical(tf, a), *_gradients(tf, a)]:
        specs = [tf.TensorSpec(x.shape, tf.string if x.dtype == object else tf.as_dtype(x.dtype)) for x in arrays]
        yield name, function, arrays, specs


def _plain(tf: Any, a: Callable[..., np.ndarray]) -> Iterator[tuple[str, Callable[..., Any], list[np.ndarray]]]:
    yield "arithmetic", lambda x, y: x * 2.0 + y / 3.0 - 1, [a(3), a(3)]
    yield "product", lambda x, y: tf.matmul(x, y), [a(2, 3), a(3, 4)]
    yield "product by the operator", lambda x, y: x @ y, [a(2, 3), a(3, 4)]
    yield "products of batches", lambda x, y: tf.matmul(x, y, transpose_b=True), [a(2, 3, 4), a(2, 5, 4)]
    yield "sum", lambda x: tf.reduce_sum(x), [a(2, 3)]
    yield "sum of an axis", lambda x: tf.reduce_sum(x, 1), [a(2, 3)]
    yield "mean of axes", lambda x: tf.reduce_mean(x, [0, 1], keepdims=True), [a(2, 3)]
    yield "max of the last axis", lambda x: tf.reduce_max(x, axis=-1), [a(2, 3)]
    yield "sum of a list of one axis", lambda x: tf.reduce_sum(x, axis=[-1]), [a(2, 3)]
    yield "the last element", lambda x: x[-1], [a(4, 3)]
    yield "slices", lambda x: x[1:, ::2] + x[:-1, :2], [a(4, 3)]
    yield "an element", lambda x: x[0, 1], [a(4, 3)]
    yield "new axes", lambda x: x[..., tf.newaxis], [a(4, 3)]
    yield "small constants", lambda x: x + tf.constant([1.0, 2.0, 3.0]), [a(3)]
    yield "a matrix constant", lambda x: x @ tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), [a(2, 3)]
    yield "ones and zeros", lambda x: tf.ones_like(x) - tf.zeros_like(x), [a(4, 3)]
    yield "filled", lambda x: x + tf.ones([3]) + tf.zeros([3]) + tf.fill([3], 2.0), [a(3)]
    yield "padded", lambda x: tf.pad(x, [[1, 1], [0, 2]]), [a(2, 3)]
    yield "padded with a value", lambda x: tf.pad(x, [[1, 1], [0, 2]], constant_values=1.5), [a(2, 3)]
    yield "printed", lambda x: (tf.print("x:", x), x + 1.0)[1], [a(3)]
    yield "asserted", lambda x: (tf.debugging.assert_positive(x), x + 1.0)[1], [np.abs(a(3))]
    yield "Assert", lambda x: (tf.debugging.Assert(tf.reduce_all(x > 0.0), [x]), x + 1.0)[1], [np.abs(a(3))]
    yield "masked", lambda x: tf.boolean_mask(x, x > 0.0), [a(5)]
    yield "Fourier transform", lambda x: tf.abs(tf.signal.rfft(x)), [a(8)]
    yield "inverse Fourier transform", lambda x: tf.signal.irfft(tf.signal.rfft(x)), [a(8)]
    yield "casts", lambda x: tf.cast(tf.cast(x, tf.int32), tf.float64), [a(3)]
    yield "shapes", lambda x: tf.reshape(x, [tf.shape(x)[1], -1]), [a(4, 3)]
    yield "joined", lambda x, y: tf.concat([x, y], 0) + tf.concat([y, x], axis=0), [a(2, 3), a(2, 3)]
    yield "stacked", lambda x, y: tf.stack([x, y], axis=1), [a(3), a(3)]
    yield "choices", lambda x: tf.where(x > 0.0, x, 0.0), [a(3)]
    yield "picked", lambda x: tf.gather(x, [0, 2], axis=1), [a(4, 3)]
    yield "clipped", lambda x: tf.clip_by_value(x, -0.5, 0.5), [a(3)]
    yield "transposed", lambda x: tf.transpose(x) + tf.transpose(x, perm=[1, 0]), [a(3, 4)]


def _flow(tf: Any, a: Callable[..., np.ndarray]) -> Iterator[tuple[str, Callable[..., Any], list[np.ndarray]]]:
    yield "branches", lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x - 1.0), [a(3)]
    yield (
        "a choice of branches",
        lambda i, x: tf.switch_case(i, [lambda: x, lambda: x * 2.0, lambda: x + 1.0]),
        [np.array(1, np.int32), a(3)],
    )
    yield (
        "a loop",
        lambda x: tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 1.5), (tf.constant(0), x))[1],
        [a(3)],
    )
    yield (
        "a bounded loop",
        lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: (y * 1.5,), (x,), maximum_iterations=5)[0],
        [a(3)],
    )

    def written_as_python(x: Any) -> Any:
        s = tf.zeros([3])
        for i in tf.range(4):
            if i % 2 == 0:
                s = s + x
        return s

    yield "a loop as Python has it", written_as_python, [a(3)]
    yield "mapped", lambda x: tf.map_fn(lambda row: row * 2.0, x), [a(4, 3)]

    @tf.function
    def double(x: Any) -> Any:
        return x * 2.0

    yield "a function in a function", lambda x: double(x) + 1.0, [a(3)]
    squared = tf.function(lambda x: x * x)
    yield "a lambda in a function", lambda x: squared(x) + 1.0, [a(3)]

    def in_python(x: Any) -> Any:
        return x * 2.0

    yield "Python in a graph", lambda x: tf.py_function(in_python, [x], tf.float32), [a(3)]
    v = tf.Variable(a(3))
    yield "a Variable", lambda x: x + v, [a(3)]
    count = tf.Variable(0.0)
    yield "an assigned Variable", lambda x: count.assign_add(tf.reduce_sum(x)) * 0.0, [a(3)]


def _typical(tf: Any, a: Callable[..., np.ndarray]) -> Iterator[tuple[str, Callable[..., Any], list[np.ndarray]]]:
    w, b = tf.Variable(a(3, 2)), tf.Variable(a(2))
    yield "a dense layer", lambda x: tf.nn.relu(tf.matmul(x, w) + b), [a(4, 3)]
    k = tf.constant(a(3, 3, 2, 4))
    yield "a convolution", lambda x: tf.nn.conv2d(x, k, strides=1, padding="SAME"), [a(1, 5, 5, 2)]
    yield "pools", lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID") + tf.nn.avg_pool2d(x, 2, 2, "VALID"), [a(1, 4, 4, 2)]
    yield (
        "softmax loss",
        lambda x, y: tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x)),
        [a(4, 3), np.eye(4, 3, dtype=np.float32)],
    )
    yield (
        "sparse softmax loss",
        lambda x, i: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=i, logits=x)),
        [a(4, 3), np.array([0, 2, 1, 1], np.int32)],
    )
    yield "softmax", lambda x: tf.nn.softmax(x) * tf.nn.log_softmax(x), [a(4, 3)]
    table = tf.constant(a(6, 3))
    yield "embedding", lambda i: tf.nn.embedding_lookup(table, i), [np.array([1, 5, 1], np.int32)]
    yield "einsum", lambda x, y: tf.einsum("bij,bjk->bik", x, y), [a(2, 3, 4), a(2, 4, 2)]

    def layer_norm(x: Any) -> Any:
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-3)

    yield "layer norm", layer_norm, [a(4, 3)]
    yield "one-hot", lambda i: tf.one_hot(i, 4), [np.array([1, 3], np.int32)]
    yield "running sums", lambda x: tf.cumsum(x) + tf.cumsum(x, axis=1, reverse=True), [a(4, 3)]
    yield "sorted", lambda x: tf.sort(x, direction="DESCENDING"), [a(5)]
    yield "largest", lambda x: tf.math.top_k(x, 2), [a(4, 3)]
    yield "largest places", lambda x: tf.argmax(x, axis=1), [a(4, 3)]
    yield "scattered", lambda x: tf.tensor_scatter_nd_update(x, [[1], [3]], [9.0, 8.0]), [a(5)]
    yield "scattered in zeros", lambda x: tf.scatter_nd([[1], [3]], x, [5]), [a(2)]
    yield "broadcast", lambda x: tf.broadcast_to(x, [4, 3]) + x, [a(3)]
    yield "comparisons", lambda x, y: tf.logical_and(x > y, tf.logical_not(tf.equal(x, y))), [a(3), a(3)]
    yield "strings", lambda s: tf.strings.join([tf.strings.upper(s), s], "-"), [np.array([b"a", b"b"], object)]
    yield "random numbers", lambda x: x * 0.0 + tf.floor(tf.random.uniform([3], seed=3)), [a(3)]
    yield "stateless random numbers", lambda x: x + tf.random.stateless_uniform([3], seed=[1, 2]), [a(3)]
    yield "any and all", lambda x: (tf.reduce_any(x > 0.0), tf.reduce_all(x > -9.0, axis=0)), [a(4, 3)]
    yield "parts", lambda x: tf.split(x, 3, axis=1), [a(4, 3)]
    yield "rows", lambda x: tf.unstack(x), [a(3, 2)]
    yield "tiled", lambda x: tf.tile(tf.expand_dims(x, 0), [2, 1]), [a(3)]
    yield "squeezed", lambda x: tf.squeeze(x, axis=0), [a(1, 3)]
    yield "root mean square", lambda x: tf.sqrt(tf.reduce_mean(tf.square(x), axis=1)), [a(4, 3)]
    yield "a norm", lambda x: tf.norm(x), [a(4, 3)]
    yield "scopes", lambda x: _scoped(tf, x), [a(3)]
    yield "names", lambda x: tf.identity(tf.add(x, 1.0, name="more"), name="result"), [a(3)]
    yield "many results", lambda x: {"b": x + 1.0, "a": [x, x * 2.0]}, [a(3)]
    yield "gelu", lambda x: tf.nn.gelu(x), [a(3)]


def _scoped(tf: Any, x: Any) -> Any:
    with tf.name_scope("outer"), tf.name_scope("inner"):
        return tf.tanh(x) + 1.0


def _gradients(tf: Any, a: Callable[..., np.ndarray]) -> Iterator[tuple[str, Callable[..., Any], list[np.ndarray]]]:
    def gradient_of(function: Callable[..., Any]) -> Callable[..., Any]:
        def gradient(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
            return tape.gradient(y, x)

        return gradient

    w, b = tf.Variable(a(3, 2)), tf.Variable(a(2))

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b))
        return tape.gradient(loss, [w, b])

    yield "gradient of a square", gradient_of(lambda x: x * x), [a(3)]
    yield "gradient of a sum", gradient_of(lambda x: tf.reduce_sum(tf.tanh(x))), [a(4, 3)]
    yield "gradient of a dense layer", step, [a(4, 3)]
    yield "gradient of softmax", gradient_of(lambda x: tf.nn.softmax(x)[:, 0]), [a(4, 3)]
    k = tf.constant(a(3, 3, 2, 4))
    yield "gradient of a convolution", gradient_of(lambda x: tf.nn.conv2d(x, k, 1, "SAME")), [a(1, 5, 5, 2)]
    yield (
        "gradient of gather",
        lambda x: tf.convert_to_tensor(gradient_of(lambda x: tf.gather(x, [0, 2]))(x)),
        [a(4, 3)],
    )
    yield "gradient of concat", gradient_of(lambda x: tf.concat([x, x * 2.0], 0)), [a(4, 3)]
    yield "gradient of max", gradient_of(lambda x: tf.reduce_max(x, axis=1)), [a(4, 3)]
    yield "gradient of a relu", gradient_of(lambda x: tf.nn.relu(x)), [a(4, 3)]
    yield "gradient of exp and log", gradient_of(lambda x: tf.exp(x) * tf.math.log(tf.abs(x))), [a(3)]
    yield "gradient of a branch", gradient_of(lambda x: tf.cond(x[0] > 0.0, lambda: x * x, lambda: -x)), [a(3)]
    yield (
        "gradient of a loop",
        gradient_of(lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))[1]),
        [a(3)],
    )
    yield "gradient of einsum", gradient_of(lambda x: tf.einsum("ij,kj->ik", x, x)), [a(2, 3)]
    yield "gradient of layer norm", gradient_of(lambda x: (x - tf.reduce_mean(x, -1, True)) ** 2.0), [a(2, 3)]
    yield "gradient of a running sum", gradient_of(lambda x: tf.cumsum(x) * 2.0), [a(4)]
