"""tf.Graph and tf.Operation: operations of a graph by name, their inputs, outputs, attributes and consumers."""

from __future__ import annotations

import re
from typing import Any

import pytest

import fastgraph as tf


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
