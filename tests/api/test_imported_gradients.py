"""TensorFlow's gradient operations in imported graphs: what they compute, and their own gradients."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.graphdef import exporter, messages

V = np.array([-3, -1.5, -0.7, -0.2, 0.3, 0.9, 2.5, 6.5], np.float32)
POSITIVE = abs(V) + np.float32(0.1)
IMAGE = np.random.default_rng(1).uniform(-2, 2, (1, 4, 4, 2)).astype(np.float32)
ROWS_OF_TWO = np.random.default_rng(2).uniform(-2, 2, (3, 2)).astype(np.float32)
FILTER = np.random.default_rng(3).uniform(-1, 1, (2, 2, 2, 1)).astype(np.float32)
PLANE = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
ONE = {"strides": [1, 1, 1, 1], "padding": "SAME"}


def imported(op: str, inputs: list[Any], attrs: dict[str, Any], output: int = 0) -> Any:
    """A result of one operation, of tensors of the graph being traced; arrays are constants."""
    nodes, given = [], {}
    for i, value in enumerate(inputs):
        symbolic = tf.is_symbolic_tensor(value) if isinstance(value, tf.Tensor) else False
        with tf.init_scope():
            tensor = value if symbolic else tf.constant(value)
        attr = {"dtype": exporter.attr_value(tensor.dtype)}
        if symbolic:
            given[f"in{i}"] = value
        else:
            attr["value"] = messages.AttrValue(tensor=exporter.tensor_message(tensor))
        nodes.append(messages.NodeDef(name=f"in{i}", op="Placeholder" if symbolic else "Const", attr=attr))
    written = {name: exporter.attr_value(value) for name, value in attrs.items()}
    names = [f"in{i}" for i in range(len(inputs))]
    nodes.append(messages.NodeDef(name="made", op=op, input=names, attr=written))
    return tf.import_graph_def(messages.GraphDef(node=nodes), given, [f"made:{output}"])[0]


def batch_norm(x: Any, scale: Any) -> Any:
    axes = list(range(x.shape.rank - 1))
    mean = tf.reduce_mean(x, axes)  # not tf.nn.moments, which stops the second gradient of the mean
    variance = tf.reduce_mean(tf.square(x - mean), axes)
    return (x - mean) * tf.math.rsqrt(variance + 1e-3) * scale


#: (operation, the op that it is the gradient of, its sources, its inputs by dy, the sources and the result, which
#: source's gradient it is)
ROWS: list[tuple[str, Any, list[Any], Any, int, dict[str, Any]]] = [
    ("SoftsignGrad", tf.nn.softsign, [V], lambda dy, x, y: [dy, x], 0, {}),
    ("SoftplusGrad", tf.nn.softplus, [V], lambda dy, x, y: [dy, x], 0, {}),
    ("ReluGrad", tf.nn.relu, [V], lambda dy, x, y: [dy, x], 0, {}),
    ("Relu6Grad", tf.nn.relu6, [V], lambda dy, x, y: [dy, x], 0, {}),
    ("LeakyReluGrad", lambda x: tf.nn.leaky_relu(x, 0.25), [V], lambda dy, x, y: [dy, x], 0, {"alpha": 0.25}),
    ("EluGrad", tf.nn.elu, [V], lambda dy, x, y: [dy, y], 0, {}),
    ("SeluGrad", tf.nn.selu, [V], lambda dy, x, y: [dy, y], 0, {}),
    ("TanhGrad", tf.tanh, [V], lambda dy, x, y: [y, dy], 0, {}),
    ("SigmoidGrad", tf.sigmoid, [V], lambda dy, x, y: [y, dy], 0, {}),
    ("RsqrtGrad", tf.math.rsqrt, [POSITIVE], lambda dy, x, y: [y, dy], 0, {}),
    ("SqrtGrad", tf.sqrt, [POSITIVE], lambda dy, x, y: [y, dy], 0, {}),
    ("ReciprocalGrad", tf.math.reciprocal, [POSITIVE], lambda dy, x, y: [y, dy], 0, {}),
    ("InvGrad", tf.math.reciprocal, [POSITIVE], lambda dy, x, y: [y, dy], 0, {}),
    ("BiasAddGrad", lambda b: tf.nn.bias_add(ROWS_OF_TWO, b), [V[:2]], lambda dy, b, y: [dy], 0, {}),
    ("MaxPoolGrad", lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), [IMAGE], lambda dy, x, y: [x, y, dy], 0, PLANE),
    ("AvgPoolGrad", lambda x: tf.nn.avg_pool2d(x, 2, 2, "VALID"), [IMAGE],
     lambda dy, x, y: [np.int32(IMAGE.shape), dy], 0, PLANE),
    ("DepthwiseConv2dNativeBackpropInput", lambda x, w: tf.nn.depthwise_conv2d(x, w, [1] * 4, "SAME"),
     [IMAGE, FILTER], lambda dy, x, w, y: [np.int32(IMAGE.shape), w, dy], 0, ONE),
    ("DepthwiseConv2dNativeBackpropFilter", lambda x, w: tf.nn.depthwise_conv2d(x, w, [1] * 4, "SAME"),
     [IMAGE, FILTER], lambda dy, x, w, y: [x, np.int32(FILTER.shape), dy], 1, ONE),
    ("Conv2DBackpropInput", lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), [IMAGE, FILTER],
     lambda dy, x, w, y: [np.int32(IMAGE.shape), w, dy], 0, ONE),
    ("Conv2DBackpropFilter", lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), [IMAGE, FILTER],
     lambda dy, x, w, y: [x, np.int32(FILTER.shape), dy], 1, ONE),
    ("FusedBatchNormGradV3", batch_norm, [IMAGE, V[4:6]],
     lambda dy, x, s, y: [dy, x, s, *tf.nn.moments(x, [0, 1, 2]), np.float32([])], 0,
     {"epsilon": 1e-3, "is_training": True}),
    ("MirrorPadGrad", lambda x: tf.pad(x, [[1, 1], [0, 1]], "REFLECT"), [ROWS_OF_TWO],
     lambda dy, x, y: [dy, np.int32([[1, 1], [0, 1]])], 0, {"mode": "REFLECT"}),
]  # fmt: skip


@pytest.mark.parametrize(("op", "forward", "sources", "inputs", "which", "attrs"), ROWS, ids=[r[0] for r in ROWS])
def test_gradient_operations_and_their_gradients(
    op: str, forward: Any, sources: list[Any], inputs: Any, which: int, attrs: dict[str, Any]
) -> None:
    def own(dy: Any, *given: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            y = forward(*given)
        return tape.gradient(y, given[which], output_gradients=dy)

    def theirs(dy: Any, *given: Any) -> Any:
        return imported(op, inputs(dy, *given, forward(*given)), attrs)

    def both(f: Any, *given: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            first = f(*given)
            weights = tf.cos(tf.reshape(tf.range(float(first.shape.num_elements())), first.shape))
            total = tf.reduce_sum(first * weights)
        slopes = tape.gradient(total, given, unconnected_gradients="zero")
        return [first, *slopes]

    given = [tf.constant(x) for x in sources]
    like = forward(*given)
    dy = tf.constant(np.cos(np.arange(like.shape.num_elements()) + 0.5).reshape(like.shape), tf.float32)
    wanted = tf.function(lambda *v: both(own, *v))(dy, *given)
    got = tf.function(lambda *v: both(theirs, *v))(dy, *given)
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=2e-4, atol=2e-5)
    assert any(np.any(w.numpy()) for w in wanted[1:])


@pytest.mark.parametrize("kind", ["Max", "Avg"])
def test_gradients_of_fractional_pooling_go_by_the_bounds_that_are_given(kind: str, rng: np.random.Generator) -> None:
    x = tf.constant(np.maximum(rng.normal(size=(2, 9, 7, 3)), 0).astype(np.float32))  # zeros: several are the greatest
    pool = tf.nn.fractional_max_pool if kind == "Max" else tf.nn.fractional_avg_pool
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, rows, columns = pool(x, [1.0, 1.6, 1.4, 1.0], True, True, seed=7)
    dy = tf.constant(rng.normal(size=y.shape).astype(np.float32))
    own = tape.gradient(y, x, output_gradients=dy)
    wanted = np.zeros(x.shape, np.float32)
    for (i, top, end), (j, left, right) in itertools.product(_overlapping(rows), _overlapping(columns)):
        part, into = (array[:, top:end, left:right] for array in (np.asarray(x), wanted))
        if kind == "Avg":
            into += dy.numpy()[:, i, j][:, None, None] / (part.shape[1] * part.shape[2])
            continue
        first = part.transpose(0, 3, 1, 2).reshape(2, 3, -1).argmax(-1)
        for n, c in np.ndindex(2, 3):
            into[(n, *divmod(int(first[n, c]), part.shape[2]), c)] += dy[n, i, j, c]
    np.testing.assert_allclose(own.numpy(), wanted, rtol=1e-5, atol=1e-6)
    before = [x, y] if kind == "Max" else [np.int64(x.shape)]
    theirs = tf.function(lambda *given: imported(f"Fractional{kind}PoolGrad", list(given), {"overlapping": True}))
    got = theirs(*before, dy, rows, columns)
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5, atol=1e-6)


def _overlapping(bounds: Any) -> list[tuple[int, int, int]]:
    """Of each region its number, and where it begins and ends; one more than its own belongs to it."""
    given = bounds.numpy().tolist()
    return [(i, given[i], min(given[i + 1] + 1, given[-1])) for i in range(len(given) - 1)]
