"""The IR: names, effects, copies, printing, and verify() finding each kind of flaw."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from graphs import Build, expression, run

import fastgraph as fg
from fastgraph.core.base.shapes import Aval
from fastgraph.errors import InternalError
from fastgraph.graph import ir
from fastgraph.graph.ir import Value, verify


def test_names_are_tensorflow_s():
    b = Build()
    x = b.input()
    y = b.add(b.add(x, x), b.multiply(x, x))
    b.matmul(b.transpose(y, perm=(1, 0)), y, transpose_a=False, transpose_b=False)
    assert [n.name for n in b.graph.nodes] == ["x", "add", "mul", "add_1", "transpose", "MatMul"]


def test_names_differ_also_in_case():
    graph = ir.Graph("f")
    assert [graph.unique_name(n) for n in ("Add", "add", "add_1", "Add")] == ["Add", "add_1", "add_1_1", "Add_2"]


def test_list_order_is_program_order_and_prints_as_python():
    b = Build()
    x = b.input()
    graph = b.done(b.sum(b.exp(x), axes=(1,), keepdims=False))
    text = str(graph)
    tree = ast.parse(text)
    assert [type(s).__name__ for s in tree.body[0].body] == ["Assign", "Assign", "Return"]
    assert "Sum = sum(Exp, axes=(1,), keepdims=False)" in text


def test_a_graph_with_subgraphs_prints_as_python():
    @fg.function
    def f(x):
        return fg.cond(
            x > 0.0, lambda: x * 2.0, lambda: fg.while_loop(lambda i: i < 3.0, lambda i: (i + 1.0,), (x,))[0]
        )

    text = str(f.get_concrete_function(fg.TensorSpec([], fg.float32)).graph.ir)
    ast.parse(text)
    assert "def cond_then_graph" in text and "def cond_while_body_graph" in text


def test_verify_passes_what_tracing_makes():
    v = fg.Variable(1.0)

    @fg.function
    def f(x):
        v.assign_add(fg.reduce_sum(x))
        return fg.cond(v > 1.0, lambda: x * v, lambda: -x)

    verify(f.get_concrete_function(fg.TensorSpec([None, 3], fg.float32)).graph.ir)


def broken(make):
    b = Build()
    x = b.input()
    y = b.add(x, x)
    graph = b.done(y)
    make(graph, x, y)
    with pytest.raises(InternalError) as caught:
        verify(graph)
    return str(caught.value)


def test_verify_use_before_definition():
    def swap(graph, x, y):
        graph.nodes.reverse()

    assert "not defined before it" in broken(swap)


def test_verify_foreign_value():
    other = Build()
    z = other.input(name="z")

    def take(graph, x, y):
        y.node.inputs = (x, z)

    assert "z:0" in broken(take)


def test_verify_wrong_type():
    def lie(graph, x, y):
        y.aval = Aval(fg.float32, (2, 4))

    assert "float32[2, 4], inferred float32[2, 3]" in broken(lie)


def test_verify_wrong_dtype():
    def lie(graph, x, y):
        y.aval = Aval(fg.int32, (2, 3))

    assert "int32" in broken(lie)


def test_verify_accepts_a_more_special_shape_and_no_other():
    b = Build()
    x = b.input(shape=(None, 3))
    y = b.exp(x)
    graph = b.done(y)
    y.aval = Aval(fg.float32, (7, 3))
    verify(graph)
    y.aval = Aval(fg.float32, (7, 4))
    with pytest.raises(InternalError):
        verify(graph)


@pytest.mark.parametrize("attr", [[1], {1: 2}, object(), lambda: 0, np.zeros(2), (1, [2])])
def test_verify_attributes_must_be_serialisable(attr):
    def spoil(graph, x, y):
        y.node.attrs = {"other": attr}

    assert "cannot be written" in broken(spoil)


def test_verify_device():
    b = Build()
    x = b.input()
    y = b.exp(x)
    y.node.device = "/gpu:9"
    with pytest.raises(InternalError, match="gpu:9"):
        verify(b.done(y), devices=lambda name: name == "/cpu:0")
    verify(b.graph)


def test_verify_names_and_placeholders():
    def same_name(graph, x, y):
        y.node.name = "X"

    assert "taken" in broken(same_name)

    def no_parameter(graph, x, y):
        graph.inputs = []

    assert "no parameter fills" in broken(no_parameter)


def test_verify_outputs():
    def lost(graph, x, y):
        graph.outputs = [Value(y.node, 1, y.aval)]

    assert "output 0" in broken(lost)


def test_verify_looks_into_subgraphs():
    @fg.function
    def f(x):
        return fg.cond(x > 0.0, lambda: x * 2.0, lambda: x)

    graph = f.get_concrete_function(fg.TensorSpec([], fg.float32)).graph.ir
    node = next(n for n in graph.nodes if n.op.name == "cond")
    inner = node.attrs["then_graph"]
    inner.nodes.reverse()
    with pytest.raises(InternalError, match="cond_true"):
        verify(graph)


def test_verify_says_where_the_user_wrote_it():
    @fg.function
    def f(x):
        return fg.exp(x)

    graph = f.get_concrete_function(fg.TensorSpec([2], fg.float32)).graph.ir
    node = next(n for n in graph.nodes if n.op.name == "exp")
    node.outputs[0].aval = Aval(fg.int32, (2,))
    with pytest.raises(InternalError, match=r"written at .*test_ir\.py:\d+"):
        verify(graph)


# Effects


def test_effects_of_variables_and_control_inputs():
    v, w = fg.Variable(1.0), fg.Variable(2.0)

    @fg.function
    def f(x):
        a = v.read_value()  # 0
        b = w.read_value()  # 1
        v.assign(x)  # 2 after 0
        c = v.read_value()  # 3 after 2
        v.assign(a)  # 4 after 2, 3
        w.assign(b)  # 5 after 1
        return c

    nodes = [n for n in f.get_concrete_function(fg.TensorSpec([], fg.float32)).graph.nodes if ir.effects(n)]
    assert [n.op.name for n in nodes] == [
        "read_variable", "read_variable", "assign_variable", "read_variable", "assign_variable", "assign_variable",
    ]  # fmt: skip
    assert ir.control_inputs(nodes) == [(), (), (0,), (2,), (2, 3), (1,)]


def test_effects_of_a_cond_are_those_of_its_branches():
    v, w = fg.Variable(1.0), fg.Variable(2.0)

    @fg.function
    def f(p):
        return fg.cond(p, lambda: v.assign_add(1.0), lambda: w.read_value())

    graph = f.get_concrete_function(fg.TensorSpec([], fg.bool)).graph.ir
    node = next(n for n in graph.nodes if n.op.name == "cond")
    found = {(e.kind, e.resource) for e in ir.effects(node)}
    cells = {held().id: value for held, value in graph.captures}
    v_value, w_value = cells[v.__fg_cell__.id], cells[w.__fg_cell__.id]
    assert ("write", v_value) in found and ("read", w_value) in found
    assert ("write", w_value) not in found
    assert not ir.is_pure(node)


# Copies


def test_copy_and_splice():
    b = Build()
    x = b.input()
    y = b.input(name="y")
    graph = b.done(b.subtract(b.exp(x), y))
    twin, mapping = ir.copy(graph)
    verify(twin)
    assert mapping[x] is twin.inputs[0] and twin.nodes[0] is not graph.nodes[0]
    outer = Build("outer")
    z = outer.input(name="z")
    (out,) = ir.splice(graph, outer.graph, [z, outer.negative(z)], prefix="inner/")
    verify(outer.done(out))
    assert expression(out) == "subtract(exp(z), negative(z))"
    data = np.ones((2, 3), np.float32)
    assert np.allclose(run(outer.graph, data)[0], np.exp(data) + data)


def test_uses():
    b = Build()
    x = b.input()
    y = b.exp(x)
    z = b.add(y, x)
    b.log(x)
    b.done(z)
    assert [n.op.name for n in ir.uses(b.graph)[x]] == ["exp", "add", "log"]


def test_source_lines_are_the_user_s():
    @fg.function
    def f(x):
        return fg.reduce_mean(fg.nn.relu(x))

    graph = f.get_concrete_function(fg.TensorSpec([3], fg.float32)).graph.ir
    for node in graph.nodes:
        if node.op.name not in ("placeholder",):
            assert node.source and node.source[0].file == __file__, node
            assert node.source[0].function == "f"


def test_the_interpreter_puts_a_result_in_the_place_of_an_operand_that_is_done_with() -> None:
    import fastgraph as tf
    from fastgraph.graph.interpreter import Interpreter

    def chain(x, y):
        z = x
        for _ in range(50):
            z = tf.matmul(x, z)
        return z + y, x

    graph = tf.function(chain).get_concrete_function(tf.TensorSpec([2, 2]), tf.TensorSpec([2, 2])).graph.ir
    interpreter = Interpreter(graph)
    assert interpreter.n_values <= 5 and sum(len(step[-1]) for step in interpreter.steps) <= 3
    x, y = tf.constant([[1.0, 1.0], [0.0, 1.0]]), tf.ones([2, 2])
    for _ in range(2):
        z, same = interpreter([x, y])
        assert z.numpy().tolist() == [[2.0, 52.0], [1.0, 2.0]] and same.numpy().tolist() == x.numpy().tolist()
