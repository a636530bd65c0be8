"""GraphDefs: names, types, attributes and order as TensorFlow has them; written, serialized, read and imported again."""

from __future__ import annotations

import copy
import functools
import pickle
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.registry import all_primitives, get
from fastgraph.graph import node_names
from fastgraph.graphdef import exporter, messages, op_table, wire_format
from fastgraph.graphdef.export_parts import SEVERAL
from fastgraph.graphdef.export_random import RANDOM
from fastgraph.graphdef.import_ops import COMPOSITES


def concrete(function, *specs, **options):
    return tf.function(function, **options).get_concrete_function(*specs)


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def lines(function, *specs):
    """Each operation as `name = Type(inputs)`."""
    nodes = concrete(function, *specs).graph.as_graph_def().node
    return [f"{node.name} = {node.op}({', '.join(node.input)})" for node in nodes]


# Names


def test_constants_are_named_after_what_takes_them() -> None:
    assert lines(lambda x: tf.maximum(0.0, x) * 2.0 + 1, spec(2)) == [
        "x = Placeholder()",
        "Maximum/x = Const()",
        "Maximum = Maximum(Maximum/x, x)",
        "mul/y = Const()",
        "mul = Mul(Maximum, mul/y)",
        "add/y = Const()",
        "add = AddV2(mul, add/y)",
        "Identity = Identity(add)",
    ]


def test_explicit_constants_have_their_own_names() -> None:
    assert lines(lambda x: (x + tf.constant(1.0), x * tf.constant(2.0, name="two"), x - tf.constant(3.0)), spec()) == [
        "x = Placeholder()",
        "Const = Const()",
        "add = AddV2(x, Const)",
        "two = Const()",
        "mul = Mul(x, two)",
        "Const_1 = Const()",
        "sub = Sub(x, Const_1)",
        "Identity = Identity(add)",
        "Identity_1 = Identity(mul)",
        "Identity_2 = Identity(sub)",
    ]


def test_reads_and_resources_are_named_after_what_takes_them() -> None:
    w, b = tf.Variable(tf.ones([3, 2])), tf.Variable(tf.zeros([2]))
    assert lines(lambda x: tf.nn.relu(tf.matmul(x, w) + b), spec(None, 3)) == [
        "x = Placeholder()",
        "MatMul/ReadVariableOp/resource = Placeholder()",
        "MatMul/ReadVariableOp = ReadVariableOp(MatMul/ReadVariableOp/resource)",
        "MatMul = MatMul(x, MatMul/ReadVariableOp)",
        "add/ReadVariableOp/resource = Placeholder()",
        "add/ReadVariableOp = ReadVariableOp(add/ReadVariableOp/resource)",
        "add = AddV2(MatMul, add/ReadVariableOp)",
        "Relu = Relu(add)",
        "Identity = Identity(Relu, ^NoOp)",
        "NoOp = NoOp(^MatMul/ReadVariableOp, ^add/ReadVariableOp)",
    ]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: tf.reduce_sum(x), ["Const = Const()", "Sum = Sum(x, Const)"]),
        (lambda x: x @ x, ["matmul = MatMul(x, x)"]),
        (lambda x: tf.ones_like(x), ["ones_like = Const()"]),
        (lambda x: tf.ones([2]) - tf.zeros([2]), ["ones = Const()", "zeros = Const()", "sub = Sub(ones, zeros)"]),
        (lambda x: tf.fill([2], 2.0), ["Fill/dims = Const()", "Fill/value = Const()", "Fill = Fill(Fill/dims, Fill/value)"]),
        (lambda x: tf.pad(x, [[1, 1], [0, 0]]), ["Pad/paddings = Const()", "Pad = Pad(x, Pad/paddings)"]),
        (
            lambda x: tf.pad(x, [[1, 1], [0, 0]], constant_values=2.0),
            ["PadV2/paddings = Const()", "PadV2/constant_values = Const()",
             "PadV2 = PadV2(x, PadV2/paddings, PadV2/constant_values)"],
        ),
        (lambda x: tf.nn.max_pool2d(x[None, ..., None], 1, 1, "SAME")[0, ..., 0], ["MaxPool2d = MaxPool(strided_slice)"]),
        (lambda x: tf.shape(x), ["Shape = Const()"]),
    ],
)  # fmt: skip
def test_operations_are_named_as_tensorflow_names_them(function, expected) -> None:
    found = lines(function, spec(2, 2))
    assert [line for line in found if line in expected] == expected
    assert len(found) == len(expected) + 2 or "strided_slice" in str(expected)  # the argument and the result besides


def _node(function, name, *specs):
    nodes = concrete(function, *specs).graph.as_graph_def().node
    return next(node for node in nodes if node.name == name)


def test_constants_and_masks_as_tensorflow_writes_them() -> None:
    def value(function, name):
        return _node(function, name, spec(2, 2)).attr["value"].tensor

    listed = value(lambda x: tf.reduce_sum(x, [-1]), "Sum/reduction_indices")
    assert [dim.size for dim in listed.tensor_shape.dim] == [1] and list(listed.int_val) == [-1]
    assert not value(lambda x: tf.reduce_sum(x, -1), "Sum/reduction_indices").tensor_shape.dim
    assert value(lambda x: x[0, 0], "strided_slice/stack").tensor_content == bytes(8)
    assert list(value(lambda x: x + tf.ones([2, 2]), "ones").float_val) == [1.0]
    part = _node(lambda x: x[-1], "strided_slice", spec(2, 2))
    assert [part.attr[f"{name}_mask"].i for name in ("begin", "end", "shrink_axis")] == [0, 0, 1]


def test_functions_as_tensorflow_writes_them() -> None:
    inner = tf.function(lambda x: x * 2.0)
    definition = concrete(lambda x: inner(x), spec(2)).graph.as_graph_def()
    called = next(node for node in definition.node if node.op == "PartitionedCall")
    assert re.fullmatch("__inference_<lambda>_[0-9]+", called.attr["f"].func.name)
    assert called.attr["config_proto"].s.startswith(b"\n\x07\n\x03CPU") and "_collective_manager_ids" in called.attr
    assert definition.library.function[0].arg_attr[0].attr["_user_specified_name"].s == b"x"


def test_what_prints_draws_or_runs_python() -> None:
    def printing(x):
        tf.print("x:", x)
        return x

    assert "StringFormat = StringFormat(x)" in lines(printing, spec(2))
    assert not [line for line in lines(lambda x: x + tf.random.uniform([2]), spec(2)) if "NoOp" in line]
    node = _node(lambda x: tf.py_function(lambda x: x, [x], tf.float32), "EagerPyFunc", spec(2))
    assert set(node.attr) == {"Tin", "Tout", "token", "is_async"} and len(node.attr["Tout"].list.type) == 1


def test_the_results_of_a_loop_are_numbered_in_order() -> None:
    definition = concrete(lambda x: tf.while_loop(lambda x: x < 9.0, lambda x: (x * 2.0,), (x,)), spec()).graph
    body = next(each for each in definition.as_graph_def().library.function if "body" in each.signature.name)
    names = [node.name for node in body.node_def if node.op == "Identity"]
    assert names == ["while/Identity", "while/Identity_1", "while/Identity_2"]
    assert [arg.name for arg in body.signature.output_arg] == [name.replace("/", "_").lower() for name in names]


def test_constants_that_nothing_takes_are_left_out() -> None:
    names = [line.partition(" ")[0] for line in lines(lambda x: (tf.constant(3.0), tf.pad(x, [[1, 1]]))[1], spec(2))]
    assert names == ["x", "Const", "Pad/paddings", "Pad", "Identity"]


def test_name_scopes() -> None:
    def f(x):
        with tf.name_scope("outer"):
            with tf.name_scope("inner"):
                y = tf.add(x, 1.0, name="myadd")
            y = y * 2.0
        with tf.name_scope("outer"):
            y = y + 1.0
        with tf.name_scope("abs/"):
            y = y + 1.0
        with tf.name_scope(""):
            return y + 1.0

    with tf.name_scope("eager"):
        names = [op.name for op in concrete(f, spec()).graph.get_operations()]
    assert names == [
        "x", "outer/inner/myadd/y", "outer/inner/myadd", "outer/mul/y", "outer/mul", "outer_1/add/y", "outer_1/add",
        "abs/add/y", "abs/add", "add/y", "add", "Identity",
    ]  # fmt: skip


def test_names_that_cannot_be() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0)
        with pytest.raises(ValueError, match="'\\*bad' is not a valid root scope name"):
            tf.name_scope("*bad").__enter__()
        for wrong in (3, None, b"a", x):
            with pytest.raises(ValueError, match="name for name_scope must be a string."):
                tf.name_scope(wrong)
        for name in ("*bad", "_a", "", "a:0", "é"):
            for make in (lambda name: tf.identity(x, name=name), lambda name: tf.constant(1.0, name=name)):
                with pytest.raises(ValueError, match=f"`{re.escape(name)}` is not a valid node name. Accepted names"):
                    make(name)
        for scope in ("//", "///", "a\n"):  # a scope may be called so, if no node is in it
            with tf.name_scope("x"), tf.name_scope(scope) as entered:
                for make in (lambda: tf.identity(x), lambda: tf.constant(1.0), lambda: tf.identity(x, name="i")):
                    with pytest.raises(ValueError, match=f"`{entered}.* is not a valid node name."):
                        make()
        with tf.name_scope("b//"):
            assert tf.identity(x, name="i").name == "b//i:0" and graph.get_name_scope() == "b/"


def test_a_branch_is_named_after_its_cond() -> None:
    definition = concrete(lambda x: tf.cond(x > 0.0, lambda: x * 2.0, lambda: -x), spec()).graph.as_graph_def()
    assert [node.name for node in definition.node] == [
        "x", "Greater/y", "Greater", "cond", "cond/Identity", "Identity"
    ]  # fmt: skip
    bodies = {function.signature.name.rsplit("_", 1)[0]: function for function in definition.library.function}
    then, other = bodies["cond_true"], bodies["cond_false"]
    assert [node.name for node in then.node_def] == ["cond/mul/y", "cond/mul", "cond/Identity"]
    assert [argument.name for argument in then.signature.input_arg] == ["cond_mul_x"]
    assert list(then.node_def[1].input) == ["cond_mul_x", "cond/mul/y:output:0"]
    assert dict(then.ret) == {"cond_identity": "cond/Identity:output:0"}
    assert list(other.node_def[1].input) == ["cond/Neg:y:0"]


def test_gradients_are_named_after_what_they_are_of() -> None:
    w = tf.Variable([[1.0]])

    def step(x):
        with tf.GradientTape() as tape:
            with tf.name_scope("dense"):
                y = tf.nn.relu(tf.matmul(x, w) + 1.0)
        return tape.gradient(y, w)

    names = [node.name for node in concrete(step, spec(2, 1)).graph.as_graph_def().node]
    assert "gradient_tape/dense/ReluGrad" in names
    assert "gradient_tape/dense/MatMul/MatMul" in names
    assert names.index("dense/Relu") < names.index("gradient_tape/dense/ReluGrad")

    names = [op.name for op in concrete(lambda x: tf.gradients(x * x, x)[0], spec(2)).graph.get_operations()]
    assert [name for name in names if name.startswith("gradients/mul_grad/")]


def test_subgraphs_are_named_after_their_scopes() -> None:
    def f(x):
        with tf.name_scope("a"):
            return tf.while_loop(lambda x: x < 9.0, lambda x: tf.cond(x > 3.0, lambda: x * 2.0, lambda: x + 1.0), [x])

    library = concrete(f, spec()).graph.as_graph_def().library
    names = sorted(function.signature.name.rsplit("_", 1)[0] for function in library.function)
    assert names == ["a_while_body", "a_while_cond", "a_while_cond_false", "a_while_cond_true"]


def test_a_loop_counts() -> None:
    f = concrete(lambda x: tf.while_loop(lambda x: x < 9.0, lambda x: (x * 2.0,), (x,))[0], spec())
    definition = f.graph.as_graph_def()
    node = next(node for node in definition.node if node.op == "StatelessWhile")
    assert list(node.input) == ["while/loop_counter", "while/maximum_iterations", "x"]
    bodies = {function.signature.name.rsplit("_", 1)[0]: function for function in definition.library.function}
    names = [[argument.name for argument in function.signature.input_arg] for function in bodies.values()]
    assert names[0] == names[1] == ["while_while_loop_counter", "while_while_maximum_iterations", "while_placeholder"]
    assert list(definition.node[-1].input) == ["while:2"]
    assert str(f.graph.as_graph_def()) == str(definition)


def test_rows_of_a_loop_are_a_list() -> None:
    definition = concrete(lambda x: tf.map_fn(lambda row: row * 2.0, x), spec(4, 3)).graph.as_graph_def()
    ops = [node.op for node in definition.node]
    assert ops.index("EmptyTensorList") < ops.index("StatelessWhile") < ops.index("TensorListStack")
    body = next(each for each in definition.library.function if "body" in each.signature.name)
    assert "TensorListPushBack" in [node.op for node in body.node_def]


def test_random_ops_have_their_seeds() -> None:
    tf.random.set_seed(7)
    try:
        definition = concrete(lambda x: x + tf.random.uniform([2], seed=5), spec(2)).graph.as_graph_def()
    finally:
        tf.random.set_seed(None)
    node = next(node for node in definition.node if node.op == "RandomUniform")
    assert {name: node.attr[name].i for name in ("seed", "seed2")} == {"seed": 7, "seed2": 5}
    assert set(node.attr) == {"seed", "seed2", "dtype", "T"}
    assert not [each.name for each in definition.node if "RngReadAndSkip" in each.name or each.op == "Placeholder"][1:]


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


def test_what_iterations_give_end_to_end_is_a_list_joined() -> None:
    def of_many_lengths(x):
        def body(i, array):
            return i + 1, array.write(i, x[: i + 1] * tf.cast(i, tf.float32))

        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, infer_shape=False)
        return tf.while_loop(lambda i, array: i < 3, body, (0, array))[1].concat()

    definition = concrete(lambda x: tf.gradients(of_many_lengths(x), x)[0], spec(3)).graph.as_graph_def()
    nodes = [*definition.node, *[node for function in definition.library.function for node in function.node_def]]
    assert "TensorListConcatV2" in {node.op for node in nodes}
    loops = [node for node in nodes if node.op in ("While", "StatelessWhile")]
    assert len(loops) >= 2 and all("body" in node.attr and "cond" in node.attr for node in loops)
    known = {*op_table.signatures(), *COMPOSITES, "NoOp"}
    assert not {node.op for node in nodes} - known


def test_random_numbers_of_a_variable() -> None:
    generator = tf.random.Generator.from_seed(3)

    def draws(x):
        return generator.uniform([3]), generator.normal(tf.shape(x)), generator.uniform_full_int([2])

    original = concrete(draws, spec(None))
    definition, names = original.graph.as_graph_def(), [tensor.name for tensor in original.outputs]
    assert [node.op for node in definition.node].count("RngReadAndSkip") == 3
    assert not {node.op for node in definition.node} - set(op_table.signatures()) - {"NoOp"}
    held = {value.name: generator.state for _, value in original.graph.ir.captures}
    again = tf.function(lambda x: tf.import_graph_def(definition, {"x": x, **held}, names, name=""))
    found = []
    for function in (original, again):
        generator.reset_from_seed(5)
        found.append([each.numpy().tolist() for _ in range(2) for each in function(tf.zeros([4]))])
    assert found[0] == found[1] and found[0][0] != found[0][3]


def test_loops_of_the_old_kind_are_refused() -> None:
    node = messages.NodeDef(name="e", op="Enter", input=["x"], attr={})
    x = messages.NodeDef(name="x", op="Placeholder", attr={"dtype": messages.AttrValue(type=messages.Enum("DT_FLOAT"))})
    content = wire_format.serialized(messages.GraphDef(node=[x, node]))
    with pytest.raises(
        tf.errors.NotFoundError, match="Node 'e': .* as Enter have no equal here; write .* While and If"
    ):
        tf.import_graph_def(content)


def test_a_loop_gives_back_what_does_not_change() -> None:
    f = concrete(lambda x, y: tf.while_loop(lambda i: i < y, lambda i: (i + x,), (x,))[0], spec(), spec())
    definition = f.graph.as_graph_def()
    node = next(node for node in definition.node if node.op == "StatelessWhile")
    body = next(each for each in definition.library.function if each.signature.name == node.attr["body"].func.name)
    assert len(node.input) == len(body.signature.input_arg) == len(body.signature.output_arg)


# The table


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


# Messages


def test_messages_serialize() -> None:
    function = concrete(
        lambda x: tf.cond(x[0] > 0.0, lambda: x * [1.5, -2.0], lambda: tf.cast(tf.cast(x, tf.float64), tf.float32)),
        spec(2),
    )
    message = exporter.message(function.graph.ir)
    content = wire_format.serialized(message)
    assert wire_format.serialized(wire_format.parsed(content, "GraphDef")) == content
    definition = function.graph.as_graph_def()
    assert str(wire_format.parsed(definition.SerializeToString(), "GraphDef")) == str(message)
    again = type(definition)()
    assert again.ParseFromString(content) == len(content)
    assert str(wire_format.parsed(again.SerializeToString(), "GraphDef")) == str(message)


@pytest.mark.parametrize("content", [b"\x0a\x05ab", b"\xff", b"\x0a\xff\xff\xff"])
def test_bytes_that_are_no_message(content) -> None:
    with pytest.raises(ValueError, match="GraphDef|cut off"):
        wire_format.parsed(content, "GraphDef")


def test_protocol_buffers_where_tensorboard_is() -> None:
    pytest.importorskip("tensorboard")
    graph = concrete(lambda x: tf.cond(x > 0.0, lambda: x + 1.0, lambda: x), spec()).graph
    definition = graph.as_graph_def()
    assert type(definition).DESCRIPTOR.full_name == "tensorboard.GraphDef"
    assert str(definition) == repr(definition) == str(exporter.message(graph.ir))


def test_classes_of_tensorboard_stay_as_they_are() -> None:
    graph_pb2 = pytest.importorskip("tensorboard.compat.proto.graph_pb2")
    before = graph_pb2.GraphDef.__str__, graph_pb2.GraphDef.__repr__
    definition = concrete(lambda x: x + 1.0, spec()).graph.as_graph_def()
    assert str(definition).startswith("node {")
    assert (graph_pb2.GraphDef.__str__, graph_pb2.GraphDef.__repr__) == before
    theirs = graph_pb2.GraphDef.FromString(definition.SerializeToString())
    assert len(theirs.node) == len(definition.node) and theirs.node[0].name == definition.node[0].name


def test_definitions_are_pickled() -> None:
    definition = concrete(lambda x: tf.matmul(x, x), spec(2, 2)).graph.as_graph_def()
    again = pickle.loads(pickle.dumps(definition))
    assert again == definition == copy.deepcopy(definition) and str(again) == str(definition)
    source = (
        "import pickle, sys, fastgraph as tf\n"
        "definition = pickle.load(sys.stdin.buffer)\n"
        "f = tf.function(lambda x: tf.import_graph_def(definition, {'x': x}, ['Identity:0'])[0])\n"
        "print(f(tf.constant([[1.0, 2.0], [3.0, 4.0]])).numpy().tolist())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", source], input=pickle.dumps(definition), capture_output=True, check=True
    )
    assert run.stdout == b"[[7.0, 10.0], [15.0, 22.0]]\n"


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.int32).reshape(2, 3), np.float32(2.5), np.array([True, False]), np.zeros([3, 0]),
        np.array([1 + 2j, 3], np.complex64), np.array([b"a", b"bc"], object), np.full([4], 7, np.uint8),
        np.array([1.5, 2], np.float16), np.array([-1, 2**40]), np.full([2, 2], -3.5),
    ],
)  # fmt: skip
def test_tensors_in_messages(value) -> None:
    from fastgraph.graphdef.import_values import tensor_of

    tensor = tf.constant(value)
    found = tensor_of(wire_format.parsed(wire_format.serialized(exporter.tensor_message(tensor)), "TensorProto"))
    assert found.dtype == tensor.dtype and found.shape == tensor.shape
    np.testing.assert_array_equal(found.numpy(), tensor.numpy())


# Importing


@pytest.fixture
def definition():
    return concrete(lambda x: tf.multiply(tf.add(x, 1.0, name="y"), 2.0, name="z"), spec(2)).graph.as_graph_def()


def test_imported_operations_have_a_prefix(definition) -> None:
    graph = tf.Graph()
    with graph.as_default():
        assert tf.import_graph_def(definition) is None
        op, tensor = tf.import_graph_def(definition, return_elements=["z", "z:0"])
        assert tf.import_graph_def(definition, name="pre", return_elements=["z"])[0].name == "pre/z"
        assert tf.graph_util.import_graph_def(definition, name="", return_elements=["z:0"])[0].name == "z:0"
    assert {"import/x", "import/y/y", "import/y", "import/z"} <= {each.name for each in graph.get_operations()}
    assert op.name == "import_1/z" and tensor.graph is graph


def test_inputs_are_mapped(definition) -> None:
    f = tf.function(lambda a: tf.import_graph_def(definition, {"x": a}, ["z:0"])[0])
    assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [4.0, 6.0]


def _of_a_graph(make: Any) -> Any:
    """The GraphDef of a graph with a placeholder `x` of two floats and what `make` adds."""
    original = concrete(lambda x: x, tf.TensorSpec([2], name="x")).graph.as_graph_def()
    original.node.remove(original.node[1])
    graph = tf.Graph()
    with graph.as_default():
        make(tf.import_graph_def(original, name="", return_elements=["x:0"])[0])
    return graph.as_graph_def()


def _operations(graph: Any) -> list[Any]:
    return [
        (op.name, [tensor.name for tensor in op.inputs], [each.name for each in op.control_inputs])
        for op in graph.get_operations()
    ]


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ([], ["import/x:0", "import/y:0", "import/z:0", "import/y:0"]),
        (["x"], ["a:0", "import/y:0", "import/z:0", "import/y:0"]),
        (["y:0"], ["import/x:0", "a:0", "import/z:0", "a:0"]),
        (["z"], ["import/x:0", "import/y:0", "a:0", "import/y:0"]),
        (["z", "x"], ["a:0", "import/y:0", "a:0", "import/y:0"]),
    ],
)
def test_what_is_mapped_is_there_all_the_same(given, taken) -> None:
    def make(x):
        y = tf.constant([1.0, 2.0], name="y")
        tf.multiply(tf.add(x, y, name="z"), y, name="w")

    graph = tf.Graph()
    with graph.as_default():
        a = tf.constant([3.0, 4.0], name="a")
        found = tf.import_graph_def(_of_a_graph(make), dict.fromkeys(given, a), ["x", "y", "z", "z:0"])
    one, two, three, four = taken
    assert _operations(graph) == [
        *[("a", [], []), ("import/x", [], []), ("import/y", [], [])],
        *[("import/z", [one, two], []), ("import/w", [three, four], [])],
    ]
    assert found[:3] == [graph.get_operation_by_name(f"import/{name}") for name in "xyz"]
    assert found[3] is (a if "z" in given else graph.get_tensor_by_name("import/z:0"))


def test_control_inputs_are_imported() -> None:
    def make(x):
        y = tf.constant([1.0, 2.0], name="y")
        with tf.control_dependencies([x, y, tf.no_op("nothing")]):
            tf.identity(y, name="z")
            tf.constant(3.0, name="alone")

    definition, graph = _of_a_graph(make), tf.Graph()
    with graph.as_default():
        tf.import_graph_def(definition, {"x": [3.0, 4.0]})
    assert sorted(_operations(graph)) == [
        ("import/_inputs/Const", [], []),
        ("import/alone", [], ["import/nothing", "import/x", "import/y"]),
        ("import/nothing", [], []),
        ("import/x", [], []),
        ("import/y", [], []),
        ("import/z", ["import/y:0"], ["import/nothing", "import/x"]),
    ]


def test_placeholders_that_a_function_does_not_take() -> None:
    def make(x):
        tf.square(x, name="z")

    definition = _of_a_graph(make)
    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'x'"):
        tf.function(lambda a: tf.import_graph_def(definition, {"z": a}, ["x:0"])[0])(tf.constant([1.0, 2.0]))
    definition.node.remove(definition.node[1])
    tf.function(lambda a: tf.import_graph_def(definition) or a)(tf.constant([1.0, 2.0]))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"input_map": {"q:0": 1.0}}, ValueError, "Attempted to map inputs that were not found in graph_def: [q:0]"),
        ({"input_map": {"x:3": 1.0}}, ValueError, "Attempted to map inputs that were not found in graph_def: [x:3]"),
        ({"input_map": {"x": [1.0]}, "name": ""}, ValueError, "requires a non-empty `name` if `input_map` contains"),
        ({"input_map": 3}, TypeError, "Argument `input_map` must be a dictionary. Obtained int"),
        ({"return_elements": ["nope:0"]}, ValueError, "Requested return tensor 'nope:0' not found in graph def"),
        ({"return_elements": ["nope"]}, ValueError, "Requested return node 'nope' not found in graph def"),
        ({"return_elements": 3}, TypeError, "'int' object is not iterable"),
        ({"graph_def": 3}, TypeError, "Argument `graph_def` must be a GraphDef proto."),
        ({"input_map": {"x:0": [1, 2]}}, ValueError, "Node 'y' (AddV2)"),
    ],
)
def test_errors_of_imports(definition, arguments, error, text) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=re.escape(text)):
        tf.import_graph_def(**{"graph_def": definition, **arguments})


def _changed(definition, change):
    message = wire_format.parsed(definition.SerializeToString(), "GraphDef")
    change({node.name: node for node in message.node})
    return wire_format.serialized(message)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda nodes: nodes["y"].input.__setitem__(0, "zzz"), ValueError, "Node 'y': Unknown input node 'zzz'"),
        (lambda nodes: setattr(nodes["y"], "op", "Foo"), tf.errors.NotFoundError, "Op type not registered 'Foo'"),
        (lambda nodes: nodes["y"].input.__setitem__(0, "z"), ValueError, "in a circle"),
        (lambda nodes: setattr(nodes["y"], "op", "Enter"), tf.errors.NotFoundError, "have no equal here; write the"),
    ],
)
def test_wrong_graph_defs(definition, change, error, text) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=re.escape(text)):
        tf.import_graph_def(_changed(definition, change))


def test_a_placeholder_in_a_function_must_be_mapped(definition) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'x'"):
        tf.function(lambda: tf.import_graph_def(definition, None, ["z:0"]))()


def test_functions_of_one_name_are_apart() -> None:
    first, second = tf.function(lambda x: x + 1.0), tf.function(lambda x: x * 3.0)
    original = concrete(lambda x: first(x) - second(x), spec())
    definition = original.graph.as_graph_def()
    assert len({function.signature.name for function in definition.library.function}) == 2
    again = tf.function(lambda x: tf.import_graph_def(definition, {"x:0": x}, [original.outputs[0].name], name="")[0])
    assert float(again(tf.constant(2.0))) == float(original(tf.constant(2.0))) == -3.0


def test_zeros_keep_their_signs() -> None:
    content = wire_format.serialized(exporter.tensor_message(tf.constant([0.0, -0.0])))
    assert content.endswith(bytes(7) + b"\x80")


# Types of operations that are several primitives here


def _made(op, tensors, attrs, constants=(), output=0):
    """A result of one operation, imported; `constants` are the places of inputs that are known."""
    nodes = []
    names = [f"in{i}" for i in range(len(tensors))]
    for i, (name, tensor) in enumerate(zip(names, tensors, strict=True)):
        value = messages.AttrValue(tensor=exporter.tensor_message(tensor))
        dtype = exporter.attr_value(tensor.dtype, exporter.Library())
        kind = {"op": "Const", "attr": {"dtype": dtype, "value": value}}
        if i not in constants:
            kind = {"op": "Placeholder", "attr": {"dtype": dtype}}
        nodes.append(messages.NodeDef(name=name, **kind))
    written = {name: exporter.attr_value(value, exporter.Library()) for name, value in attrs.items()}
    nodes.append(messages.NodeDef(name="made", op=op, input=names, attr=written))
    definition = messages.GraphDef(node=nodes)
    given = {name: tensor for i, (name, tensor) in enumerate(zip(names, tensors, strict=True)) if i not in constants}
    outputs = [f"made:{output}"]
    run = tf.function(
        lambda *values: tf.import_graph_def(definition, dict(zip(given, values, strict=True)), outputs)[0]
    )
    return run(*given.values())


IMAGE = tf.constant(np.linspace(-1, 1, 32, dtype=np.float32).reshape(1, 4, 4, 2))
MATRIX = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
PLANE = [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("op", "tensors", "attrs", "constants", "expected"),
    [
        ("Add", [MATRIX, MATRIX], {}, (), lambda: MATRIX + MATRIX),
        ("BiasAdd", [MATRIX, tf.constant([1.0, 2.0, 3.0])], {}, (), lambda: MATRIX + [1.0, 2.0, 3.0]),
        ("BatchMatMulV2", [MATRIX, MATRIX], {"adj_y": True}, (), lambda: tf.matmul(MATRIX, MATRIX, transpose_b=True)),
        ("Einsum", [MATRIX, MATRIX], {"equation": "ij,kj->ik", "N": 2}, (),
         lambda: tf.einsum("ij,kj->ik", MATRIX, MATRIX)),
        ("Split", [tf.constant(1), MATRIX], {"num_split": 3}, (0,), lambda: MATRIX[:, :1]),
        ("Pad", [MATRIX, tf.constant([[1, 0], [0, 2]])], {}, (1,), lambda: tf.pad(MATRIX, [[1, 0], [0, 2]])),
        ("Select", [MATRIX > 3.0, MATRIX, -MATRIX], {}, (), lambda: tf.where(MATRIX > 3.0, MATRIX, -MATRIX)),
        ("DepthwiseConv2dNative", [IMAGE, tf.ones([2, 2, 2, 1])], {"strides": PLANE, "padding": "VALID"}, (),
         lambda: tf.nn.depthwise_conv2d(IMAGE, tf.ones([2, 2, 2, 1]), PLANE, "VALID")),
        ("Conv2D", [tf.transpose(IMAGE, [0, 3, 1, 2]), tf.ones([2, 2, 2, 3])],
         {"strides": PLANE, "padding": "SAME", "data_format": "NCHW"}, (),
         lambda: tf.transpose(tf.nn.conv2d(IMAGE, tf.ones([2, 2, 2, 3]), 1, "SAME"), [0, 3, 1, 2])),
        ("Conv2D", [IMAGE, tf.ones([2, 2, 2, 3])],
         {"strides": PLANE, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 0, 1, 0, 0]}, (),
         lambda: tf.nn.conv2d(IMAGE, tf.ones([2, 2, 2, 3]), 1, [[0, 0], [1, 0], [0, 1], [0, 0]])),
        ("FusedBatchNormV3", [IMAGE, *[tf.constant([0.5, 2.0])] * 4], {"is_training": False, "epsilon": 0.01}, (),
         lambda: tf.nn.batch_normalization(IMAGE, *[tf.constant([0.5, 2.0])] * 4, 0.01)),
        ("Unique", [tf.constant([3.0, 1.0, 3.0])], {}, (), lambda: tf.constant([3.0, 1.0])),
        ("TanhGrad", [MATRIX, MATRIX], {}, (), lambda: MATRIX * (1.0 - MATRIX**2.0)),
        ("SigmoidGrad", [MATRIX, MATRIX], {}, (), lambda: MATRIX * MATRIX * (1.0 - MATRIX)),
        ("SqrtGrad", [MATRIX, MATRIX], {}, (), lambda: MATRIX * 0.5 / MATRIX),
        ("RsqrtGrad", [MATRIX, MATRIX], {}, (), lambda: MATRIX * -0.5 * MATRIX**3.0),
        ("ReciprocalGrad", [MATRIX, MATRIX], {}, (), lambda: -(MATRIX**3.0)),
        ("ShapeN", [MATRIX, MATRIX], {"N": 2}, (), lambda: tf.constant([2, 3])),
        ("ConcatOffset", [tf.constant(1), tf.constant([2, 3]), tf.constant([2, 4])], {"N": 2}, (0,),
         lambda: tf.constant([0, 0])),
        ("Tile", [MATRIX, tf.constant([2, 1])], {}, (), lambda: tf.tile(MATRIX, [2, 1])),
        ("RFFT2D", [MATRIX, tf.constant([2, 3])], {}, (1,), lambda: tf.signal.rfft2d(MATRIX)),
        ("LowerBound", [MATRIX, MATRIX], {}, (), lambda: tf.constant([[0, 1, 2], [0, 1, 2]])),
        ("UpperBound", [MATRIX, MATRIX], {}, (), lambda: tf.constant([[1, 2, 3], [1, 2, 3]])),
        ("MatrixDiagV3", [MATRIX[0], *map(tf.constant, (0, -1, -1, 0.0))], {}, (1, 2, 3),
         lambda: tf.linalg.diag(MATRIX[0])),
        ("IRFFT", [tf.cast(MATRIX, "complex64"), tf.constant([4])], {}, (1,),
         lambda: tf.signal.irfft(tf.cast(MATRIX, "complex64"))),
        ("StridedSlice", [MATRIX, *[tf.constant([v, w]) for v, w in ((1, 0), (2, 3), (1, 2))]],
         {"shrink_axis_mask": 1, "end_mask": 2}, (1, 2, 3), lambda: MATRIX[1, ::2]),
    ],
)  # fmt: skip
def test_types_that_become_several(op, tensors, attrs, constants, expected) -> None:
    np.testing.assert_allclose(_made(op, tensors, attrs, constants).numpy(), expected().numpy(), rtol=1e-5, atol=1e-6)


def test_later_parts_begin_after_those_before() -> None:
    shapes = [tf.constant(1), tf.constant([2, 3]), tf.constant([2, 4]), tf.constant([2, 1])]
    found = [_made("ConcatOffset", shapes, {"N": 3}, (0,), k).numpy().tolist() for k in range(3)]
    assert found == [[0, 0], [0, 3], [0, 7]]


# Functions that call themselves


def _again(original, *names):
    """The function that an imported graph is; Variables are those that the original captured."""
    definition, results = original.graph.as_graph_def(), [tensor.name for tensor in original.outputs]
    held = {value.name: capture().variable() for capture, value in original.graph.ir.captures}
    return tf.function(
        lambda *given: tf.import_graph_def(definition, {**dict(zip(names, given, strict=True)), **held}, results)[0]
    )


def test_recursion_is_imported() -> None:
    @tf.function
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    again = _again(fib.get_concrete_function(spec(dtype=tf.int32)), "n")
    assert [int(again(tf.constant(n))) for n in range(9)] == [0, 1, 1, 2, 3, 5, 8, 13, 21]


def test_recursion_in_a_circle_with_variables_and_gradients() -> None:
    factor, count = tf.Variable(2.0), tf.Variable(0.0)

    @tf.function
    def even(x, n):
        if n <= 0:
            return x
        return odd(x * factor, n - 1)

    @tf.function
    def odd(x, n):
        if n <= 0:
            return x + 1.0
        return even(x + factor * x, n - 1)

    original = even.get_concrete_function(spec(2), spec(dtype=tf.int32))
    again = _again(original, "x", "n")
    counted = _again(tf.function(lambda x, n: (count.assign_add(1.0), even(x, n))[1]).get_concrete_function(
        spec(2), spec(dtype=tf.int32)), "x", "n")  # fmt: skip
    x = tf.constant([1.0, 2.0])
    for n in range(5):
        x_, n_ = x, tf.constant(n)
        found = []
        for function in (original, again):
            with tf.GradientTape() as tape:
                tape.watch(x_)
                y = function(x_, n_)
            found += [y.numpy().tolist(), tape.gradient(y, x_).numpy().tolist()]
        assert found[:2] == found[2:]
        assert counted(x_, n_).numpy().tolist() == found[0]
        counted(x_, n_)  # by kernels
    assert float(count) == 10.0


# Messages as protocol buffers are used


@pytest.fixture
def structure():
    return exporter.message(concrete(lambda x: tf.concat([x, x * [2.0, 3.0]], 0), spec(2)).graph.ir)


def test_fields_that_are_not_set_read_as_their_defaults(structure) -> None:
    assert structure.library.function == [] and not structure.HasField("library")
    node = structure.node[0]
    assert (node.device, list(node.input), node.attr["dtype"].type, node.attr["dtype"].s) == ("", [], 1, b"")
    assert node.attr["dtype"].tensor.tensor_shape.unknown_rank is False
    assert "nothing" not in node.attr and node.attr["nothing"].WhichOneof("value") is None
    assert tf.as_dtype(node.attr["dtype"].type) is tf.float32
    with pytest.raises(AttributeError, match="NodeDef has no field 'nothing'; it has name, op, input"):
        _ = node.nothing
    with pytest.raises(ValueError, match='has no "nothing" field'):
        node.HasField("nothing")
    with pytest.raises(ValueError, match="no presence"):
        node.HasField("name")
    with pytest.raises(ValueError, match='Protocol message NodeDef has no "x" field'):
        messages.NodeDef(x=1)


def test_messages_are_filled_in() -> None:
    made = messages.GraphDef()
    node = made.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    node.attr["shape"].shape.dim.add(size=2)
    made.versions.producer = 898
    made.library.function.add().signature.name = "f"
    assert [field.name for field, _ in made.ListFields()] == ["node", "library", "versions"]
    assert made.HasField("library") and node.attr["shape"].HasField("shape")
    assert str(node) == (
        'name: "x"\nop: "Placeholder"\nattr {\n  key: "dtype"\n  value {\n    type: DT_FLOAT\n  }\n}\n'
        'attr {\n  key: "shape"\n  value {\n    shape {\n      dim {\n        size: 2\n      }\n    }\n  }\n}\n'
    )
    node.attr["dtype"].i = 0
    assert node.attr["dtype"].WhichOneof("value") == "i" and str(node.attr["dtype"]) == "i: 0\n"
    node.attr["dtype"].list.i.extend([1, 2])
    assert node.attr["dtype"].WhichOneof("value") == "list"
    node.attr["dtype"].ClearField("value")
    assert node.attr["dtype"].WhichOneof("value") is None
    node.attr["empty"].shape.CopyFrom(messages.TensorShapeProto())
    node.attr["none"].list.SetInParent()
    assert node.attr["empty"].HasField("shape") and str(node.attr["none"]) == "list {\n}\n"
    for wrong, error in ((("name", 3), TypeError), (("nothing", 3), AttributeError), (("attr", {}), AttributeError)):
        with pytest.raises(error):
            setattr(node, *wrong)
    with tf.Graph().as_default() as graph:
        node.attr["dtype"].type = 1
        made.ClearField("library")
        tf.import_graph_def(made, name="")
    assert graph.get_tensor_by_name("x:0").shape == [2]


def test_messages_are_copied_and_compared(structure) -> None:
    copied = messages.GraphDef()
    copied.CopyFrom(structure)
    again = pickle.loads(pickle.dumps(structure))
    assert copied == again == structure == copy.deepcopy(structure) == messages.GraphDef.FromString(
        structure.SerializeToString())  # fmt: skip
    _ = copied.library.function, copied.node[0].device, copied.node[0].experimental_debug_info.original_node_names
    assert copied == structure and copied.ByteSize() == structure.ByteSize()
    copied.node[0].name = "y"
    assert copied != structure and structure.node[0].name == "x"
    copied.MergeFrom(structure)
    assert len(copied.node) == 2 * len(structure.node) and copied.node[-1] is not structure.node[-1]
    copied.Clear()
    assert copied == messages.GraphDef() and not copied.SerializeToString()
    with pytest.raises(TypeError, match="expected GraphDef got NodeDef"):
        copied.CopyFrom(structure.node[0])


def test_text_is_escaped() -> None:
    assert str(messages.AttrValue(s=b"a\"b'\n\t\\\xff")) == 's: "a\\"b\\\'\\n\\t\\\\\\377"\n'
    assert str(messages.AttrValue(f=0.1)) == "f: 0.1\n" and str(messages.AttrValue(b=False)) == "b: false\n"


def test_constants_that_look_alike_are_written_each_as_it_is() -> None:
    values = [0.0, -0.0, np.float64(0.0), np.int32(0), np.int64(0), [0.0], [[0.0]], [0.0, 0.0], False, [], "", b"0"]

    @tf.function
    def f(x):
        return [x, *[tf.constant(value, name=f"c{i}") for i, value in enumerate(values)]]

    graph = f.get_concrete_function(tf.TensorSpec([])).graph
    for _ in range(2):  # the second time they are known
        nodes = {node.name: node for node in graph.as_graph_def().node}
        for i, value in enumerate(values):
            expected = tf.constant(value)
            proto = nodes[f"c{i}"].attr["value"].tensor
            assert proto.dtype == expected.dtype.as_datatype_enum
            assert [dim.size for dim in proto.tensor_shape.dim] == expected.shape.as_list()
    assert np.signbit([nodes[name].attr["value"].tensor.float_val[0] for name in ("c0", "c1")]).tolist() == [
        False,
        True,
    ]


def test_switch_case_is_one_operation() -> None:
    def f(i, x, y):
        return tf.switch_case(i, [lambda: x, lambda: x * 2.0, lambda: x + y])

    assert lines(f, spec(dtype=tf.int32), spec(2), spec(2)) == [
        "i = Placeholder()",
        "x = Placeholder()",
        "y = Placeholder()",
        "switch_case/indexed_case = StatelessCase(i, x, y)",
        "switch_case/indexed_case/Identity = Identity(switch_case/indexed_case)",
        "Identity = Identity(switch_case/indexed_case/Identity)",
    ]
    made = concrete(f, spec(dtype=tf.int32), spec(2), spec(2))
    definition = made.graph.as_graph_def()
    assert str(made.graph.as_graph_def()) == str(definition)
    names = [each.name for each in definition.node[3].attr["branches"].list.func]
    functions = {each.signature.name: each for each in definition.library.function}
    assert [re.sub(r"_\d+$", "", name) for name in names] == [f"switch_case_indexed_case_branch{k}" for k in range(3)]
    assert [[node.op for node in functions[name].node_def] for name in names] == [
        ["Identity"], ["Const", "Mul", "Identity"], ["AddV2", "Identity"],
    ]  # fmt: skip
    assert {len(each.signature.input_arg) for each in functions.values()} == {2}

    @tf.function
    def imported(i, x, y):
        return tf.import_graph_def(definition, {"i": i, "x": x, "y": y}, [made.outputs[0].name])[0]

    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 5.0])
    for i in (-1, 0, 1, 2, 3):
        np.testing.assert_array_equal(imported(tf.constant(i), x, y), made(tf.constant(i), x, y))
        np.testing.assert_array_equal(imported(tf.constant(i), x, y), tf.switch_case(tf.constant(i), [
            lambda: x, lambda: x * 2.0, lambda: x + y,
        ]))  # fmt: skip


def test_switch_case_with_several_results_and_one_in_another() -> None:
    def f(i, x):
        inner = lambda: tf.switch_case(i - 2, [lambda: (x, x * 3.0), lambda: (x * 4.0, x)])
        return tf.switch_case(i, [lambda: (x, -x), lambda: (-x, x), inner])

    made = concrete(f, spec(dtype=tf.int32), spec(2))
    definition = made.graph.as_graph_def()
    operations = [*definition.node, *[node for each in definition.library.function for node in each.node_def]]
    assert [node.op for node in operations].count("StatelessCase") == 2
    assert "Equal" not in [node.op for node in operations]
    imported = tf.function(
        lambda i, x: tf.import_graph_def(definition, {"i": i, "x": x}, [each.name for each in made.outputs])
    )
    x = tf.constant([1.0, 2.0])
    for i in range(-1, 5):
        for a, b in zip(imported(tf.constant(i), x), made(tf.constant(i), x), strict=True):
            np.testing.assert_array_equal(a, b)


def test_switch_case_that_a_gradient_goes_through_is_written_with_what_it_takes() -> None:
    @tf.function
    def f(i, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.switch_case(i, [lambda: x * x, lambda: tf.exp(x), lambda: tf.sin(x) * x])
        return tape.gradient(y, x)

    made = f.get_concrete_function(spec(dtype=tf.int32), spec(2))
    definition = made.graph.as_graph_def()
    imported = tf.function(
        lambda i, x: tf.import_graph_def(definition, {"i": i, "x": x}, [each.name for each in made.outputs])
    )
    x = tf.constant([1.0, 2.0])
    for i in range(-1, 4):
        np.testing.assert_allclose(imported(tf.constant(i), x)[0], made(tf.constant(i), x), rtol=1e-6)


def test_clipping_and_the_beginning_of_a_gradient_have_their_names() -> None:
    assert lines(lambda x: tf.clip_by_value(x, -0.5, 0.5), spec(2)) == [
        "x = Placeholder()",
        "clip_by_value/Minimum/y = Const()",
        "clip_by_value/Minimum = Minimum(x, clip_by_value/Minimum/y)",
        "clip_by_value/y = Const()",
        "clip_by_value = Maximum(clip_by_value/Minimum, clip_by_value/y)",
        "Identity = Identity(clip_by_value)",
    ]
    named = lines(lambda x: tf.clip_by_value(x, -0.5, 0.5, name="limited"), spec(2))
    assert named[4] == "limited = Maximum(limited/Minimum, limited/y)"
    gradient = lines(lambda x: tf.gradients(tf.nn.relu(x), x), spec(2))
    assert any(line.startswith("ones = ") or "/ones" in line for line in gradient), gradient

    def of_tape(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.relu(x)
        return tape.gradient(y, x)

    assert lines(of_tape, spec(2))[2:4] == ["ones = Const()", "gradient_tape/ReluGrad = ReluGrad(ones, Relu)"]
    assert lines(of_tape, spec(None))[2].startswith("ones_like = ")
