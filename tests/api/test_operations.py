"""tf.Graph and tf.Operation: operations of a graph by name, their inputs, outputs, attributes and consumers."""

from __future__ import annotations

import re
from typing import Any

import pytest

import fastgraph as tf
from fastgraph.graph import ir


def test_a_graph_as_default_takes_the_ops() -> None:
    graph = tf.Graph()
    with graph.as_default() as entered:
        assert entered is graph and not tf.executing_eagerly() and not tf.inside_function()
        x = tf.constant([1.0, 2.0])
        y = tf.add(x, x, name="total")
    assert tf.executing_eagerly()
    assert x.graph is graph and y.graph is graph and isinstance(y.op, tf.Operation)
    assert [op.type for op in graph.get_operations()] == ["Const", "AddV2"]
    with graph.as_default():
        assert tf.square(y).graph is graph
    assert len(graph.get_operations()) == 3 and not graph.building_function


def test_graphs_nest() -> None:
    outer, inner = tf.Graph(), tf.Graph()
    with outer.as_default():
        with inner.as_default():
            a = tf.constant(1)
        b = tf.constant(2)
    assert a.graph is inner and b.graph is outer


def test_elements_by_name() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant([1.0, 2.0, 3.0, 4.0])
        a, b = tf.split(x, 2, name="halves")
    op = graph.get_operation_by_name("halves")
    assert op is a.op and op.type == "Split" and op.outputs[1] is b and op.values() == (a, b)
    assert graph.get_tensor_by_name("halves:1") is b and b.value_index == 1
    assert graph.as_graph_element("halves:0") is a and graph.as_graph_element("halves") is op
    assert graph.as_graph_element(op) is op and graph.as_graph_element(b) is b
    assert {op: 1}[a.op] == 1


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda g, x: g.get_operation_by_name("nope"), KeyError, "refers to an Operation not in the graph."),
        (lambda g, x: g.get_operation_by_name("s:0"), ValueError, "appears to refer to a Tensor, not a Operation."),
        (lambda g, x: g.get_operation_by_name(3), TypeError, "Operation names are strings (or similar), not int."),
        (lambda g, x: g.get_tensor_by_name("s"), ValueError, "refers to an Operation, not a Tensor. Tensor names must"),
        (lambda g, x: g.get_tensor_by_name("nope:0"), KeyError, "The operation, 'nope', does not exist in the graph."),
        (lambda g, x: g.get_tensor_by_name("s:3"), KeyError, "The operation, 's', exists but only has 1 outputs."),
        (lambda g, x: g.get_tensor_by_name("s:x"), ValueError, "looks a like a Tensor name, but is not a valid one."),
        (lambda g, x: g.get_tensor_by_name(3), TypeError, "Tensor names are strings (or similar), not int."),
        (lambda g, x: g.as_graph_element(3), TypeError, "Can not convert a int into a Tensor or Operation."),
        (
            lambda g, x: g.as_graph_element(x, allow_tensor=False),
            TypeError,
            "Can not convert",
        ),
        (lambda g, x: g.as_graph_element(x, False, False), ValueError, "can't both be False."),
        (lambda g, x: tf.Graph().as_graph_element(x), ValueError, "is not an element of this graph."),
        (lambda g, x: tf.Graph().as_graph_element(x.op), ValueError, "is not an element of this graph."),
        (lambda g, x: x.op.get_attr("zz"), ValueError, "Operation 's' has no attr named 'zz'."),
        (lambda g, x: x.op.run(), ValueError, "No default session is registered"),
    ],
)
def test_errors_of_look_ups(call, error, text) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.add(tf.constant(1.0), tf.constant(2.0), name="s")
    with pytest.raises(error, match=re.escape(text)):
        call(graph, x)


def test_tensors_stay_in_their_graph() -> None:
    first, second = tf.Graph(), tf.Graph()
    with first.as_default():
        x = tf.constant(1.0)
    eager = tf.constant(2.0)
    with second.as_default():
        with pytest.raises(ValueError, match="must be from the same graph"):
            x + tf.constant(1.0)
        with pytest.raises(RuntimeError, match="Attempting to capture an EagerTensor without building a function."):
            tf.add(eager, 1.0)
    with pytest.raises(TypeError, match="out of scope"):
        x + eager


def test_a_finalized_graph_takes_nothing() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant(1.0)
        graph.finalize()
        assert graph.finalized
        for add in (lambda: tf.constant(1), lambda: tf.identity(x)):
            with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified."):
                add()


def test_operations_of_a_function() -> None:
    concrete = tf.function(lambda x: tf.reduce_sum(tf.sin(x), axis=1)).get_concrete_function(tf.TensorSpec([2, 3]))
    x = concrete.inputs[0]
    assert isinstance(concrete.graph, tf.Graph) and concrete.graph.building_function and x.graph is concrete.graph
    assert x.op.type == "Placeholder" and [op.name for op in x.consumers()] == ["Sin"]
    total = concrete.graph.get_operation_by_name("Sum")
    assert [tensor.name for tensor in total.inputs] == ["Sin:0", "Sum/reduction_indices:0"]
    assert total.get_attr("T") is tf.float32 and total.get_attr("Tidx") is tf.int32
    assert total.get_attr("keep_dims") is False
    assert repr(total) == "<tf.Operation 'Sum' type=Sum>"
    assert str(total.node_def).startswith('name: "Sum"\nop: "Sum"\ninput: "Sin"\ninput: "Sum/reduction_indices"\n')


def test_control_inputs_are_kept() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant(1.0)
        first = tf.square(x)
        with graph.control_dependencies([first]):
            second = tf.identity(x)
            with tf.control_dependencies(None):
                free = tf.identity(x)
            with tf.control_dependencies([x.op]):
                third = tf.identity(x)
        with pytest.raises(TypeError):
            graph.control_dependencies([3])
    assert [op.name for op in second.op.control_inputs] == [first.op.name]
    assert free.op.control_inputs == []
    assert [op.name for op in third.op.control_inputs] == [first.op.name]  # x is what it takes
    assert f"^{first.op.name}" in second.op.node_def.input


def test_control_inputs_are_those_that_nothing_taken_has_waited_for() -> None:
    def waits(*tensors: Any) -> list[list[str]]:
        return [[op.name for op in tensor.op.control_inputs] for tensor in tensors]

    @tf.function
    def f(x: Any) -> Any:
        p = tf.constant(4.0, name="p")
        with tf.control_dependencies([p]):
            k, i = tf.constant(1.0, name="k"), tf.identity(2.0)
            a = tf.add(k, x, name="a")
            with tf.control_dependencies([a]):
                d, e, h = tf.add(a + 3.0, x), tf.constant(1.0), tf.identity(k)
                j, x_only = tf.identity(h), tf.identity(x)
            with tf.control_dependencies(None):
                m = tf.constant(1.0)
        assert waits(k, m, e) == [["p"], [], ["p", "a"]]
        assert waits(i.op.inputs[0], i, a) == [["p"], [], []]  # what they take has waited already
        assert waits(d.op.inputs[0], d, h, j, x_only) == [[], [], ["a"], [], ["p", "a"]]
        return d

    f(tf.constant(1.0))


def test_effects_are_control_inputs() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        v.assign_add(x)
        return v.read_value()

    graph = f.get_concrete_function(tf.TensorSpec([])).graph
    by_type = {op.type: op for op in graph.get_operations()}
    assert [op.type for op in by_type["ReadVariableOp"].control_inputs] == ["AssignAddVariableOp"]
    assert {op.type for op in by_type["NoOp"].control_inputs} == {"AssignAddVariableOp", "ReadVariableOp"}
    assert [op.type for op in by_type["Identity"].control_inputs] == ["NoOp"]


def test_unique_names() -> None:
    graph = tf.Graph()
    assert [graph.unique_name(name) for name in ("sum", "sum", "new")] == ["sum", "sum_1", "new"]
    assert graph.unique_name("new", mark_as_used=False) == graph.unique_name("new") == "new_1"


def test_functions_and_branches_inside_a_graph() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant([1.0, 2.0])
        y = tf.function(lambda u: u * u)(x)
        z = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x, lambda: -x)
        with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
            bool(z[0] > 0.0)
    assert y.graph is graph and y.op.type == "PartitionedCall"
    assert z.op.name == "cond/Identity" and z.op.inputs[0].op.type == "StatelessIf"


def test_no_op_and_group_are_operations() -> None:
    assert tf.no_op() is None and tf.group(tf.constant(1.0)) is None  # eagerly all is done
    graph = tf.Graph()
    with graph.as_default():
        a = tf.constant(1.0, name="a")
        nothing, named = tf.no_op(), tf.no_op("hey")
        with tf.control_dependencies([nothing, named]):
            b = tf.identity(a, name="b")
        with tf.name_scope("s"):
            after = tf.group([a, [b]], {"k": nothing}, name="after")
        empty, default = tf.group(), tf.group(a)
        for wrong in (3, None, "abc"):
            with pytest.raises(TypeError, match=re.escape("'inputs' should be zero or more (nested) Tensors.")):
                tf.group(wrong)
        with pytest.raises(ValueError, match="Unknown keyword arguments: foo"):
            tf.group(a, foo=3)
    assert repr(nothing) == "<tf.Operation 'NoOp' type=NoOp>" and nothing.inputs == () and nothing.outputs == []
    assert [op.name for op in (named, after, empty, default)] == ["hey", "s/after", "group_deps", "group_deps_1"]
    assert b.op.control_inputs == [nothing, named] and after.control_inputs == [a.op, b.op, nothing]
    assert graph.get_operation_by_name("s/after") is after and after in graph.get_operations() and after.graph is graph
    assert list(graph.as_graph_def().node[4].input) == ["^NoOp", "^a", "^b"]


def test_what_has_effects_alone_gives_its_operation() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f(a: Any) -> Any:
        made = [
            tf.print("text", output_stream="file:///dev/null"),
            tf.debugging.Assert(a > 0.0, [a]),
            tf.debugging.assert_greater(a, 0.0),
            tf.debugging.assert_near(a, a),
            tf.debugging.assert_rank(a, 0),
            tf.debugging.assert_rank_in(a, [0, 1]),
            tf.py_function(lambda x: None, [a], []),
            v.assign(a, read_value=False),
            v.assign_add(a, read_value=False),
        ]
        assert [op.type for op in made] == [
            *["PrintV2", "Assert", "Assert", "Assert", "NoOp", "NoOp", "EagerPyFunc"],
            *["AssignVariableOp", "AssignAddVariableOp"],
        ]
        assert v.assign_sub(a).op.type == "AssignSubVariableOp"
        with tf.control_dependencies([*made, v.assign(a)]):
            result = tf.identity(a)
        assert [op.type for op in result.op.control_inputs] == [*[op.type for op in made], "AssignVariableOp"]
        return result

    assert f(tf.constant(2.0)).numpy() == v.numpy() == 2.0


def test_operations_as_results_of_branches_are_what_decides() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f(a: Any) -> Any:
        if a > 0.0:
            done = tf.group(v.assign(a))
        else:
            done = tf.no_op()
        both = tf.cond(a > 0.0, lambda: (v.assign(a).op, a), lambda: (tf.no_op(), -a))
        numbered = tf.switch_case(tf.cast(a, tf.int32), [tf.no_op, tf.no_op, tf.no_op])
        return done, both, numbered

    done, (one, two), numbered = f(tf.constant(2.0))
    assert (done.numpy(), one.numpy(), two.numpy(), numbered.numpy(), v.numpy()) == (True, True, 2.0, 2, 2.0)
    assert [float(x) for x in f(tf.constant(-1.0))[1]] == [0.0, 1.0] and v.numpy() == 2.0
    with pytest.raises(ValueError):
        tf.function(lambda a: tf.cond(a > 0.0, tf.no_op, lambda: None))(tf.constant(1.0))


def test_operations_change_nothing_else() -> None:
    def f(a: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(a)
            with tf.control_dependencies([tf.no_op(), tf.group(a)]):
                b = a * a
            operation = tf.no_op()
            while b < 100.0:
                with tf.control_dependencies([operation]):
                    b = b * 2.0
        return tape.gradient(b, a)

    assert tf.function(f)(tf.constant(3.0)).numpy() == f(tf.constant(3.0)).numpy() == 96.0

    def doubled(x: Any) -> Any:
        with tf.control_dependencies([tf.no_op()]):
            return x * 2.0

    assert tf.vectorized_map(doubled, tf.constant([1.0, 2.0])).numpy().tolist() == [2.0, 4.0]


def check_ways(graph: Any) -> None:
    """Go every way from operation to tensor and back, in a graph and the graphs of its branches and loops."""
    operations = graph.get_operations()
    assert len({op.name for op in operations}) == len(operations)
    for op in operations:
        assert graph.get_operation_by_name(op.name) is op and op.graph is graph
        assert (op.node_def.name, op.node_def.op) == (op.name, op.type)
        taken = [tensor.name.removesuffix(":0") for tensor in op.inputs]
        waits = {f"^{other.name}" for other in op.control_inputs}
        given = list(op.node_def.input)
        assert given[: len(taken)] == taken and set(given[len(taken) :]) == waits
        assert all(other in operations for other in op.control_inputs)
        assert [tensor.name for tensor in op.outputs] == [f"{op.name}:{i}" for i in range(len(op.outputs))]
        for i, tensor in enumerate(op.outputs):
            assert tensor.op is op and tensor.value_index == i and tensor.graph is graph
            assert graph.get_tensor_by_name(tensor.name) is tensor is graph.as_graph_element(tensor.name)
            assert all(any(tensor is each for each in other.inputs) for other in tensor.consumers())
        for tensor in op.inputs:
            assert tensor.op in operations and tensor.op.outputs[tensor.value_index] is tensor
            assert op in tensor.consumers()
        for name in op.node_def.attr:
            op.get_attr(name)
    for node in graph.nodes:
        for inner, _ in ir.subgraphs(node):
            if inner.trace.graph is inner and not node.attrs.get("indexed"):  # as it is written
                check_ways(inner.public)


def _many_kinds(x: Any) -> Any:
    check_ways(x.graph)  # as far as it goes
    total = tf.reduce_sum(x) + tf.reduce_sum(x * 2.0) + tf.reduce_mean(x)
    if total > 0.0:
        total, x = total * 2.0, x + 1.0
    for i in tf.range(3):
        if tf.cast(i, tf.float32) > total:
            break
        total += x[i]
    kept = [total]
    for i in tf.range(3):
        kept.append(x[i])
    chosen = tf.switch_case(tf.cast(total, tf.int32), [lambda: x, lambda: -x, lambda: x * 2.0])
    mapped = tf.map_fn(lambda row: (row, row * 2.0), x, fn_output_signature=(tf.float32, tf.float32))
    a, b = tf.split(x[:2], 2)
    check_ways(x.graph)
    return total, tf.stack(kept), chosen, mapped, a, b, tf.gradients(tf.reduce_sum(mapped[1]), x)


def test_every_way_between_operations_and_tensors() -> None:
    concrete = tf.function(_many_kinds).get_concrete_function(tf.TensorSpec([3]))
    check_ways(concrete.graph)
    for tensor in [*concrete.graph.inputs, *concrete.graph.outputs]:
        assert concrete.graph.get_tensor_by_name(tensor.name) is tensor is tensor.op.outputs[tensor.value_index]
    names = [op.name for op in concrete.graph.get_operations()]
    assert {"cond", "cond/Identity", "cond/Identity_1", "while", "Const_1"} <= set(names)


def test_results_of_loops_follow_counter_and_bound() -> None:
    graph = tf.Graph()
    with graph.as_default():
        i, x = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), (0, 1.0))
    assert (i.name, x.name, x.value_index) == ("while:2", "while:3", 3) and x.op.outputs[3] is x


def test_a_constant_that_nothing_uses() -> None:
    graph = tf.Graph()
    with graph.as_default():
        one, two = tf.constant(1.0), tf.convert_to_tensor([2.0], name="two")
        three, four = tf.convert_to_tensor(3.0), tf.convert_to_tensor(4.0)
        x = tf.reshape([1.0, 2.0], [2, 1])
    assert [tensor.op.name for tensor in (one, two, four)] == ["Const", "two", "Const_2"]
    assert three.op.outputs[0] is three and three.consumers() == [] and four.op.node_def.op == "Const"
    names = [op.name for op in graph.get_operations()]
    assert names == ["Const", "two", "Const_1", "Const_2", "Reshape/tensor", "Reshape/shape", "Reshape"]
    assert x.op.inputs[0].op.name == "Reshape/tensor"
    check_ways(graph)


def test_the_name_of_what_effects_wait_for_is_free() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f(x: Any) -> Any:
        with tf.control_dependencies([tf.no_op()]):
            v.assign_add(x)
            return v + tf.identity(x)

    graph = f.get_concrete_function(tf.constant(1.0)).graph
    check_ways(graph)
    assert [op.name for op in graph.get_operations() if op.type == "NoOp"] == ["NoOp", "NoOp_1"]
    assert f(tf.constant(1.0)).numpy() == 3.0
