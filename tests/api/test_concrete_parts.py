"""What a ConcreteFunction is made of and what may be put in its place: definitions, captures, names of specs."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import fastgraph as tf


def test_function_def() -> None:
    v, c = tf.Variable(2.0), tf.constant(3.0)
    concrete = tf.function(lambda x: {"y": x * v + c}).get_concrete_function(tf.TensorSpec([None], tf.float32))
    definition = concrete.function_def
    assert definition.signature.name == concrete.name.decode()
    assert [each.name for each in definition.signature.input_arg] == ["x", "mul_readvariableop_resource", "add_y"]
    assert [each.name for each in definition.signature.output_arg] == ["identity"]
    ops = [node.op for node in definition.node_def]
    assert ops[:3] == ["ReadVariableOp", "Mul", "AddV2"] and "Placeholder" not in ops and "Const" not in ops


def test_inference_fn() -> None:
    v, c = tf.Variable(2.0), tf.constant(3.0)
    concrete = tf.function(lambda x, k=2: {"y": x * v + c, "none": None}).get_concrete_function(tf.constant(1.0))
    function = concrete.inference_fn
    assert function.name == concrete.name and function.graph is concrete.graph
    assert function.definition.signature.name == function.cached_definition.signature.name == concrete.name.decode()
    assert str(function.function_type) == str(concrete.function_type) and repr(concrete.name) in repr(function)
    x = tf.constant(5.0)
    assert [float(y) for y in function.call_flat(x, v.handle, tf.constant(1.0))] == [11.0]
    result = function.call_with_captures((x,), {}, [v, c])
    assert float(result["y"]) == 13.0 and result["none"] is None
    with tf.GradientTape() as tape:
        y = function.call_with_captures([x], {}, [v, c])["y"]
    assert float(tape.gradient(y, v)) == 5.0
    with pytest.raises(ValueError, match="call_with_captures"):
        function(x)
    with pytest.raises(ValueError, match="captures 2"):
        function.call_with_captures((x,), {}, [])
    with pytest.raises(ValueError, match="3 arguments, got: 1"):
        function.call_flat(x)
    with pytest.raises(TypeError):
        function.call_with_captures((x, 2, 3), {}, [v, c])
    plain = tf.function(lambda x: x + 1.0).get_concrete_function(x)
    assert float(plain.inference_fn(x)) == 6.0


def test_it_cannot_be_pickled() -> None:
    concrete = tf.function(lambda x: x + 1.0).get_concrete_function(tf.constant(1.0))
    attempts: tuple[Callable[[Any], Any], ...] = (pickle.dumps, copy.copy, copy.deepcopy)
    for attempt in attempts:
        with pytest.raises(TypeError, match=r"cannot pickle or copy __inference_.*tf\.function"):
            attempt(concrete)


def test_add_to_graph() -> None:
    concrete = tf.function(lambda x: x + 1.0).get_concrete_function(tf.constant(1.0))
    graph = tf.Graph()
    concrete.add_to_graph()  # no graph is being made
    concrete.add_to_graph(graph)
    concrete.add_to_graph(graph)
    assert [each.signature.name for each in graph.as_graph_def().library.function] == [concrete.name.decode()]

    @tf.function
    def f(x: Any) -> Any:
        concrete.add_to_graph()
        return x

    library = f.get_concrete_function(tf.constant(1.0)).graph.as_graph_def().library
    assert [each.signature.name for each in library.function] == [concrete.name.decode()]


def test_deferred_captures() -> None:
    c, v, w = tf.constant(3.0), tf.Variable(2.0), tf.Variable(10.0)
    now = [tf.constant(10.0)]
    f = tf.function(lambda x: x * v + c)
    x = tf.constant(1.0)
    assert [float(f(x)) for _ in range(3)] == [5.0] * 3
    concrete = f.get_concrete_function(x)
    assert concrete.replace_capture_with_deferred_capture(c, lambda: now[0], tf.TensorSpec([], tf.float32)) is None
    for value in (10.0, 20.0, 30.0):
        now[0] = tf.constant(value)
        assert float(concrete(x)) == float(f(x)) == 2.0 + value
        assert float(concrete.captured_inputs[1]) == value
    with tf.GradientTape() as tape:
        tape.watch(now[0])
        y = concrete(x)
    assert [float(g) for g in tape.gradient(y, [v, now[0]])] == [1.0, 1.0]
    variables = [v]
    concrete.replace_capture_with_deferred_capture(v.handle, lambda: variables[0], None)
    variables[0] = w
    assert float(concrete(x)) == 40.0
    placeholder = concrete.inputs[2]
    concrete.replace_capture_with_deferred_capture(None, lambda: 1, tf.TensorSpec([], tf.float32), placeholder)
    assert float(concrete(x)) == 11.0
    for given in (tf.constant(1), tf.ones([2])):
        now[0] = given
        concrete.replace_capture_with_deferred_capture(None, lambda: now[0], None, placeholder)
        with pytest.raises(ValueError, match="deferred capture must give"):
            concrete(x)
    concrete.set_external_captures([w, 5.0])
    assert float(concrete(x)) == 15.0
    with pytest.raises(ValueError, match="Did not find `tensor` argument"):
        concrete.replace_capture_with_deferred_capture(tf.constant(5.0), lambda: c, tf.TensorSpec([], tf.float32))
    with pytest.raises(ValueError, match="does not fit"):
        concrete.replace_capture_with_deferred_capture(w, lambda: c, tf.TensorSpec([2], tf.float32))


def spec(name: str | None = None, shape: Any = ()) -> Any:
    return tf.TensorSpec(shape, tf.float32, name)


def names_of(function: Any, *args: Any, **kwargs: Any) -> tuple[list[str], list[str]]:
    """The names of the placeholders, and those of the specs."""
    concrete = function.get_concrete_function(*args, **kwargs)
    specs = tf.nest.flatten(concrete.structured_input_signature)
    return [t.op.name for t in concrete.inputs], [each.name for each in specs if each is not None]


def test_names_of_specs() -> None:
    one = tf.function(lambda d: d)
    assert names_of(one, [spec("d"), {"k": spec("e"), "d": spec("d")}, (spec(), [spec(), spec()])]) == (
        ["d", "d_1", "e", "d_2", "d_3", "d_4"],
        ["d_0", "d_1_d", "e", "d_2_0", "d_2_1_0", "d_2_1_1"],
    )
    assert names_of(one, {"x": [spec("p", [1]), spec("p")]}) == (["p", "p_1"], ["p", "p"])
    assert names_of(one, spec("d")) == (["d"], ["d"])
    rest = tf.function(lambda *rest: rest[0])
    assert names_of(rest, spec(), spec()) == (["rest_0", "rest_1"], ["rest_0", "rest_1"])
    assert names_of(rest, spec("x"), spec(), spec("rest")) == (["x", "rest_1", "rest"], ["x", "rest_1", "rest"])
    pair = tf.function(lambda a, a_b: (a, a_b))
    assert names_of(pair, {"b": spec()}, spec()) == (["a", "a_b"], ["a_b", "a_b"])
    signature = tf.function(lambda a, b: b, input_signature=[[spec("a"), spec()], spec("q")])
    assert names_of(signature) == (["a", "a_1", "q"], ["a_0", "a_1", "q"])


def test_what_the_graph_of_a_function_says_of_its_arguments_results_and_captures() -> None:
    kept, frozen, k = tf.Variable(3.0), tf.Variable(1.0, trainable=False), tf.constant(4.0)

    @tf.function
    def f(x: Any, *, n: Any = None) -> Any:
        return {"y": x + kept * k + frozen, "z": (x, n)}

    concrete = f.get_concrete_function(tf.TensorSpec([2], tf.float32), n=3)
    graph = concrete.graph
    assert graph.structured_input_signature == ((tf.TensorSpec([2], tf.float32, "x"),), {"n": 3})
    assert graph.structured_outputs["y"] is concrete.outputs[0]
    assert [each.name for each in graph.variables] == [kept.name, frozen.name]
    assert graph.trainable_variables[0] is kept and len(graph.trainable_variables) == 1
    assert graph.external_captures[1] is k and len(graph.external_captures) == 3
    assert [each is b for each, b in zip(graph.internal_captures, concrete.inputs[1:], strict=True)] == [True] * 3
    assert graph.deferred_external_captures == [] == graph.deferred_internal_captures
    assert all(a is b for a, b in zip(graph.inputs, concrete.inputs, strict=True))
    assert all(a is b for a, b in zip(graph.outputs, concrete.outputs, strict=True))
    assert graph.captures == list(zip(graph.external_captures, graph.inputs[1:], strict=True))
    assert graph.get_tensor_by_name("x:0") is graph.inputs[0] is graph.as_graph_element(graph.inputs[0])
    assert graph.inputs[0].graph is graph is graph.operations[0].graph and graph.name == "f"
    assert repr(graph) == f"FuncGraph(name=f, id={id(graph)})"
    concrete.replace_capture_with_deferred_capture(k, lambda: tf.constant(5.0), tf.TensorSpec([], tf.float32))
    (closure,) = graph.deferred_external_captures
    assert float(closure()) == 5.0 and len(graph.external_captures) == 2
    assert graph.deferred_internal_captures[0] is concrete.inputs[2]
    with pytest.raises(AttributeError, match="only graphs of functions"):
        _ = tf.Graph().structured_outputs
    for name in ("inputs", "outputs", "captures", "external_captures"):
        assert not hasattr(tf.Graph(), name)


def test_graphs_that_are_being_made_tell_what_they_capture() -> None:
    seen = {}
    kept, k = tf.Variable(3.0), tf.constant(4.0)

    @tf.function
    def f(x: Any) -> Any:
        doubled = x * 2.0 * k

        def taken() -> Any:
            y = doubled + kept
            seen["branch"] = y.graph.captures, y.graph.inputs, y.graph
            return y

        result = tf.cond(x > 0.0, taken, lambda: x)
        seen["f"] = x.graph.captures, x.graph.inputs, doubled
        return result

    f(tf.constant(1.0))
    captures, inputs, doubled = seen["f"]
    assert captures[0][0] is k and captures[1][0] is kept.handle and [inside for _, inside in captures] == inputs[1:]
    captures, inputs, graph = seen["branch"]
    assert {id(outside) for outside, _ in captures} == {id(doubled), id(kept.handle)}
    assert [inside for _, inside in captures] == inputs
    assert all(each.graph is graph for each in inputs) and graph.outer_graph is doubled.graph


def test_collections_of_graphs_are_lists() -> None:
    graph = tf.Graph()
    assert graph.get_collection("x") == [] == graph.get_all_collection_keys()
    graph.add_to_collection("x", 3)
    graph.get_collection_ref("x").append(4)
    assert graph.get_collection("x") == [3, 4] and graph.collections == ["x"]
    graph.clear_collection("x")
    assert graph.get_collection("x") == []
    assert graph.unique_name("y") == "y" and graph.unique_name("y") == "y_1"


def test_methods_are_equal_by_the_identity_of_their_objects() -> None:
    class Never:
        def __eq__(self, other: object) -> bool:
            raise ValueError("not to be compared")

        @tf.function
        def method(self, x: Any) -> Any:
            return x

    a, b = Never(), Never()
    assert a.method == a.method and hash(a.method) == hash(a.method)
    assert a.method != b.method


def test_a_method_is_one_object_while_it_is_held() -> None:
    class Model:
        @tf.function
        def method(self, x: Any) -> Any:
            return x + 1

    class Slotted:
        __slots__ = ()

        @tf.function
        def method(self, x: Any) -> Any:
            return x + 2

    a, b = Model(), Model()
    assert a.method is a.method and a.method is not b.method and Model.method is Model.method
    held, gone = a.method, weakref.ref(a)
    del a
    gc.collect()
    assert gone() is not None and float(held(tf.constant(1.0))) == 2.0  # the method holds its object
    assert held is gone().method
    del held
    gc.collect()
    assert gone() is None
    c = Slotted()  # which cannot be held weakly
    assert c.method == c.method and float(c.method(tf.constant(1.0))) == 3.0


def test_keyword_only_parameters_need_a_default_where_there_is_a_signature() -> None:
    def f(x: Any, *, k: Any) -> Any:
        return x + k

    with pytest.raises(TypeError, match="keyword-only parameter `k` must have a default value"):
        tf.function(f, input_signature=[tf.TensorSpec([], tf.int32)])
    f.__kwdefaults__ = {"k": 2}
    staged = tf.function(f, input_signature=[tf.TensorSpec([], tf.int32)])
    assert int(staged(1)) == 3
    with pytest.raises(TypeError, match="incompatible with input_signature"):
        staged(1, k=5)


def test_graphs_tell_what_runs_for_its_effect_and_the_graph_around() -> None:
    v = tf.Variable(1.0)
    graphs = {}

    @tf.function
    def inner(x: Any) -> Any:
        graphs["inner"] = x.graph, x.graph.outer_graph

        def taken() -> Any:
            y = x * 2.0
            graphs["branch"] = y.graph, y.graph.outer_graph
            return y

        return tf.cond(tf.reduce_sum(x) > 0.0, taken, lambda: -x)

    @tf.function
    def outer(x: Any) -> Any:
        tf.print(x)
        v.assign_add(1.0)
        graphs["outer"] = x.graph, getattr(x.graph, "outer_graph", None)
        return inner(x) * x

    graph = outer.get_concrete_function(tf.TensorSpec([2])).graph
    assert [op.type for op in graph.control_outputs] == ["PrintV2", "AssignAddVariableOp"]
    assert all(graph.get_operation_by_name(op.name) is op for op in graph.control_outputs)
    pure = tf.function(lambda x: x * x).get_concrete_function(tf.TensorSpec([2])).graph
    assert pure.control_outputs == [] and not hasattr(pure, "outer_graph")
    assert graphs["outer"] == (graph, None) and graphs["inner"][1] is graph
    assert graphs["branch"][1] is graphs["inner"][0]


def test_concrete_functions_tell_their_tensors() -> None:
    v, t = tf.Variable(1.0), tf.constant([1.0, 2.0])
    concrete = tf.function(lambda x, y: x * y + v + t).get_concrete_function(tf.TensorSpec([2]), tf.TensorSpec([2]))
    assert [each.name for each in concrete.inputs][:2] == ["x:0", "y:0"] and len(concrete.inputs) == 4
    assert [each.dtype.name for each in concrete.inputs] == ["float32", "float32", "resource", "float32"]
    assert [each.name for each in concrete.outputs] == ["Identity:0"]
    assert all(each.graph is concrete.graph for each in (*concrete.inputs, *concrete.outputs))
    assert concrete.captured_inputs[0] is v.handle and concrete.captured_inputs[1] is t
    assert all(a is b for a, b in zip(concrete.graph.internal_captures, concrete.inputs[2:], strict=True))
