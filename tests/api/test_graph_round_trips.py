"""GraphDefs that are read again: what is written, op by op, and the table that says how each op is written."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.registry import all_primitives, get
from fastgraph.graph import node_names
from fastgraph.graphdef import op_table
from fastgraph.graphdef.export_decompositions import SEVERAL
from fastgraph.graphdef.export_random import RANDOM


def concrete(function, *specs, **options):
    return tf.function(function, **options).get_concrete_function(*specs)


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


ROUND_TRIPS = {
    "map_fn": lambda x: tf.map_fn(lambda row: row * 2.0, x),
    "list": lambda x: tf.TensorArray(tf.float32, 2).write(1, x[0]).write(0, x[1]).stack(),
    "grows": lambda x: tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[3]).write(3, x[0]).stack(),
    "stateless": lambda x: x + tf.random.stateless_normal([4, 3], [1, 2]),
    "seeded": lambda x: x + tf.random.uniform(tf.shape(x), seed=3) + tf.random.truncated_normal([3], seed=3),
    "shuffled": lambda x: tf.random.shuffle(x, seed=3),
    "gradient": lambda x: tf.gradients(tf.reduce_sum(tf.reduce_max(x, 1, True) * x + [1.0]), x)[0],
    "gradient of slices": lambda x: tf.gradients(tf.reduce_sum(x[1:, ::2] ** 2) + x[tf.shape(x)[0] - 1, 1], x)[0],
    "strings": lambda x: tf.strings.as_string(x, precision=2) + "!",
    "masked": lambda x: tf.boolean_mask(x, x[:, 0] > 3.0),
    "masked elements": lambda x: tf.boolean_mask(x, x > 3.0),
    "gradient of a mask": lambda x: tf.gradients(tf.boolean_mask(x, x > 3.0) ** 2.0, x)[0],
    "gradient of columns": lambda x: tf.gradients(tf.gather(x, [0, 2, 0], axis=1) ** 2.0, x)[0],
    "gradient of columns named by a matrix": lambda x: tf.gradients(tf.gather(x, [[1, 0]], axis=-1) ** 2.0, x)[0],
    "real to complex": lambda x: tf.signal.rfft(x) * tf.signal.rfft(x, [3]),
    "there and back": lambda x: tf.signal.irfft2d(tf.signal.rfft2d(x)),
    "complex": lambda x: tf.signal.ifft(tf.signal.fft2d(tf.cast(x, tf.complex64))),
}


OF_KNOWN_SHAPES = {
    "gradient of a transform": lambda x: tf.gradients(tf.abs(tf.signal.rfft(x)), x)[0],
    "gradient of a transform back": lambda x: tf.gradients(tf.signal.irfft(tf.cast(x, tf.complex64)) ** 2.0, x)[0],
}


@pytest.mark.parametrize(
    ("name", "rows"), [(name, rows) for name in ROUND_TRIPS for rows in (4, None)] + [(n, 4) for n in OF_KNOWN_SHAPES]
)
def test_round_trips(name, rows) -> None:
    original = concrete({**ROUND_TRIPS, **OF_KNOWN_SHAPES}[name], spec(rows, 3))
    definition, result = original.graph.as_graph_def(), original.outputs[0].name
    assert not {node.op for node in definition.node} - set(op_table.signatures()) - {"NoOp"}

    @tf.function
    def again(x):
        return tf.import_graph_def(definition, input_map={"x": x}, return_elements=[result], name="")[0]

    x = tf.reshape(tf.range(12.0), [4, 3])
    np.testing.assert_array_equal(again(x).numpy(), original(x).numpy())


def test_ops_of_several_are_in_a_scope_of_their_own() -> None:
    def f(x):
        mean, variance = tf.nn.moments(x, [0], keepdims=True)
        return mean + variance + tf.random.uniform([3], seed=1) + tf.random.normal([3], 1.0, seed=2, name="mine")

    names = [node.name for node in concrete(f, spec(4, 3)).graph.as_graph_def().node]
    wanted = ["moments/mean", "moments/StopGradient", "moments/SquaredDifference", "moments/variance"]
    wanted += ["random_uniform/shape", "random_uniform/RandomUniform", "mine/shape", "mine/RandomStandardNormal"]
    assert [name for name in names if name in wanted] == wanted and "mine" in names and "mine/mul" in names
    twice = concrete(lambda x: tf.random.uniform([3]) + tf.random.uniform([3]), spec()).graph
    assert [op.name for op in twice.get_operations() if op.type == "RandomUniform"] == [
        "random_uniform/RandomUniform", "random_uniform_1/RandomUniform"
    ]  # fmt: skip


UNARY = [
    "abs",
    "ceil",
    "floor",
    "round",
    "rint",
    "sign",
    "square",
    "sqrt",
    "rsqrt",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "sigmoid",
    "erf",
    "erfc",
    "lgamma",
    "digamma",
    "negative",
    "reciprocal",
]


CASES = {
    **{name: functools.partial(lambda op, x: op(x * 0.3 + 0.2), getattr(tf.math, name)) for name in UNARY},
    "binary": lambda x: (x + x, x - x, x * 2.0, x / 3.0, x // 2.0, x % 0.7, tf.pow(x, 2.0), tf.minimum(x, 0.5)),
    "comparisons": lambda x: (x > 0.5, x >= 0.5, x < 0.5, tf.equal(x, 0.5), tf.logical_not(x > 0.1)),
    "activations": lambda x: (tf.nn.relu6(x), tf.nn.elu(x), tf.nn.leaky_relu(x, 0.3), tf.nn.log_softmax(x)),
    "reductions": lambda x: (
        tf.reduce_sum(x), tf.reduce_mean(x, 1), tf.reduce_max(x, [0], keepdims=True), tf.argmax(x, 1),
        tf.cumsum(x, 1, exclusive=True), tf.reduce_any(x > 0.0), tf.math.top_k(x, 2),
    ),
    "shapes": lambda x: (
        tf.reshape(x, [-1]), tf.transpose(x), tf.expand_dims(x, 0), tf.squeeze(x[None]), tf.tile(x, [1, 2]),
        tf.concat([x, x], 1), tf.stack([x, x], 1), tf.unstack(x, axis=1), tf.split(x, [1, 2], 1), tf.split(x, 3, 1),
        tf.reverse(x, [0]), tf.pad(x, [[1, 0], [0, 1]]), tf.pad(x, [[1, 0], [0, 1]], "SYMMETRIC"),
        tf.broadcast_to(x, [2, 2, 3]), tf.fill([2], x[0, 0]), tf.shape(x), tf.size(x), tf.rank(x), tf.range(3),
        tf.zeros_like(x), tf.cast(x, tf.int64), tf.bitcast(x, tf.int32), tf.linalg.band_part(x, 0, 1),
    ),
    "indexing": lambda x: (
        x[1], x[:, ::2], x[..., tf.newaxis], x[-1, 1:], x[tf.argmax(x[:, 0])], tf.gather(x, [1, 0], axis=1),
        tf.slice(x, [0, 1], [-1, 2]), tf.one_hot([1], 3), tf.gather_nd(x, [[0, 1]]),
        tf.tensor_scatter_nd_add(x, [[0]], [[1.0, 2.0, 3.0]]), tf.math.unsorted_segment_sum(x, [0, 0], 2),
    ),
    "products": lambda x: (tf.matmul(x, x, transpose_b=True), tf.matmul(x[None], x[None], transpose_a=True)),
    "choices": lambda x: (tf.where(x > 0.5, x, 0.0), tf.add_n([x, x]), tf.ensure_shape(x, [None, 3])),
    "convolutions": lambda x: (
        tf.nn.conv2d(tf.reshape(x, [1, 2, 3, 1]), tf.ones([2, 2, 1, 2]), 1, "SAME"),
        tf.nn.max_pool2d(tf.reshape(x, [1, 2, 3, 1]), 2, 1, "VALID"),
        tf.nn.avg_pool2d(tf.reshape(x, [1, 2, 3, 1]), 2, 1, "SAME"),
    ),
    "cond": lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: (x * 2.0, x), lambda: (x - 1.0, -x)),
    "while": lambda x: tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x), (0, x)),
    "loop of conds": lambda x: tf.while_loop(
        lambda i, y: i < 4,
        lambda i, y: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y + x, lambda: y * 0.5)),
        (0, x),
    ),
    "function": lambda x: tf.function(lambda y: y * y + 1.0)(x) * 2.0,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_is_read_again(name) -> None:
    x = tf.constant([[0.1, 0.9, 0.4], [0.7, 0.3, 0.2]])
    original = concrete(CASES[name], spec(2, 3), autograph=False)
    definition = original.graph.as_graph_def()
    unknown = {node.op for node in definition.node} - set(op_table.signatures()) - {"NoOp"}
    assert not unknown, "written with attributes of our own"

    @tf.function(autograph=False)
    def again(x):
        names = [tensor.name for tensor in original.outputs]
        return tf.import_graph_def(definition, {"x:0": x}, names, name="")

    expected = [each.numpy() for each in tf.nest.flatten(original(x))]
    for got, wanted in zip(again(x), expected, strict=True):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=2e-7)  # either may be compiled by now
        assert got.dtype == wanted.dtype


def _names_of_the_table(primitive, row):
    """What the signature calls each input of a primitive."""
    names = {place: name for name, place in row.places.items()}
    at = 0
    for argument in op_table.signatures()[row.type].inputs:
        if argument.name in row.said or argument.name in row.places:
            continue
        names[at] = f"{argument.name}_0" if argument.number is not None else argument.name
        at += 1
    return names


def test_arguments_are_called_as_in_the_table() -> None:
    for primitive in all_primitives():
        row = op_table.row_of(primitive.name)
        if row is not None and primitive.name != "swap_last":
            for i, name in _names_of_the_table(primitive, row).items():
                assert node_names.argument_name(primitive, i) == name, primitive.name


def test_every_row_names_what_is_there() -> None:
    for name in op_table.ROWS:
        row = op_table.row_of(name)
        signature = op_table.signatures()[row.type]
        there = {argument.name for argument in signature.inputs} | set(signature.attrs)
        assert set(row.said) | set(row.places) <= there, name
        ours = {attr for attr, _ in row.said.values()} | set(row.silent)
        assert ours == set(get(name).attrs), name


def test_what_is_written_as_several_operations_has_no_row() -> None:
    several = {name for name in (*SEVERAL, *RANDOM) if op_table.row_of(name) is not None}
    assert not several - set(op_table.ROWS)


def test_attributes_are_tensorflows() -> None:
    graph = concrete(lambda x: tf.nn.conv2d(x, tf.ones([3, 3, 1, 2]), [1, 2, 2, 1], "SAME"), spec(1, 4, 4, 1)).graph
    op = graph.get_operation_by_name("Conv2D")
    assert {name: op.get_attr(name) for name in ("strides", "padding", "data_format", "dilations", "T")} == {
        "strides": [1, 2, 2, 1], "padding": b"SAME", "data_format": b"NHWC", "dilations": [1, 1, 1, 1], "T": tf.float32,
    }  # fmt: skip
    cast = concrete(lambda x: tf.cast(x, tf.int32), spec()).graph.get_operation_by_name("Cast")
    assert cast.get_attr("SrcT") is tf.float32 and cast.get_attr("DstT") is tf.int32
    assert cast.get_attr("Truncate") is False
    part = concrete(lambda x: x[:, 1:], spec(2, 3)).graph.get_operation_by_name("strided_slice")
    assert [part.get_attr(f"{name}_mask") for name in ("begin", "end", "shrink_axis", "new_axis")] == [1, 3, 0, 0]


@pytest.fixture
def definition():
    return concrete(lambda x: tf.multiply(tf.add(x, 1.0, name="y"), 2.0, name="z"), spec(2)).graph.as_graph_def()
