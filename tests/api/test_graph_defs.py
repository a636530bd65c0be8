"""GraphDefs: names, types, attributes and order as TensorFlow has them; written, serialized, read and imported again."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.graphdef import messages, op_table, wire_format
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


# Messages


# Importing


# Types of operations that are several primitives here


# Functions that call themselves


# Messages as protocol buffers are used


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


def test_gradients_of_reductions_along_no_axis_are_written() -> None:
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x**2.0, axis=[])
        return tape.gradient(y, x)

    concrete = f.get_concrete_function(tf.TensorSpec([1, 2]))
    (back,) = tf.compat.v1.wrap_function(
        lambda x: tf.import_graph_def(
            concrete.graph.as_graph_def(), {concrete.inputs[0].name: x}, [concrete.outputs[0].name]
        ),
        [tf.TensorSpec([1, 2])],
    )(tf.constant([[1.0, 3.0]]))
    assert back.numpy().tolist() == [[2.0, 6.0]]
