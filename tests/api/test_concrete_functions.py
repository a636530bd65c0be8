"""ConcreteFunction: FEATURES rows 57-68, 75: signatures, calls, printing, graph; and Functions under tapes."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.errors import InvalidArgumentError
from fastgraph.graphdef import exporter, wire_format


def spec(shape, dtype):
    return fg.TensorSpec(shape, dtype)


@fg.function
def double(a):
    return a + a


@fg.function
def power(a, b):
    return a**b


def test_tracing_without_running():
    log = []

    @fg.function
    def f(x):
        log.append("traced")
        return x

    f(fg.constant("a"))
    concrete = f.get_concrete_function(fg.constant("b"))
    assert log == ["traced"] and f.get_concrete_function(spec([], fg.string)) is concrete


def test_positional_and_keyword_calls():
    strings = double.get_concrete_function(fg.constant("a"))
    assert strings(fg.constant("a")).numpy() == b"aa" and strings(a=fg.constant("b")).numpy() == b"bb"
    assert strings("c").numpy() == b"cc"


def test_printing():
    strings = double.get_concrete_function(fg.constant("a"))
    assert str(strings) == (
        "ConcreteFunction double(a)\n  Args:\n    a: string Tensor, shape=()\n  Returns:\n    string Tensor, shape=()"
    )
    square = power.get_concrete_function(a=spec(None, fg.float32), b=2)
    assert str(square) == (
        "ConcreteFunction power(a, b=2)\n  Args:\n    a: float32 Tensor, shape=<unknown>\n"
        "  Returns:\n    float32 Tensor, shape=<unknown>"
    )


def test_pretty_printed_concrete_signatures():
    @fg.function
    def my_relu(x):
        return fg.maximum(0.0, x)

    my_relu(fg.constant(5.5))
    my_relu([1, -1])
    my_relu(fg.constant([3.0, -3.0]))
    assert my_relu.pretty_printed_concrete_signatures() == (
        "my_relu(x)\n  Args:\n    x: float32 Tensor, shape=()\n  Returns:\n    float32 Tensor, shape=()\n\n"
        "my_relu(x=[1, -1])\n  Returns:\n    float32 Tensor, shape=(2,)\n\n"
        "my_relu(x)\n  Args:\n    x: float32 Tensor, shape=(2,)\n  Returns:\n    float32 Tensor, shape=(2,)"
    )


def test_printing_of_structures():
    f = fg.function(lambda p, *, k: {"a": p[0] + k, "b": None})
    concrete = f.get_concrete_function((spec([2], fg.float32), 1), k=spec([], fg.float32))
    assert concrete.pretty_printed_signature() == (
        "<lambda>(p, k)\n  Args:\n    p: (<1>, <2>)\n      <1>: float32 Tensor, shape=(2,)\n      <2>: 1\n"
        "    k: float32 Tensor, shape=()\n  Returns:\n    {'a': <1>, 'b': <2>}\n"
        "      <1>: float32 Tensor, shape=(2,)\n      <2>: None"
    )


def test_function_types_print_as_signatures():
    state = fg.Variable(1.0)
    f = fg.function(lambda p, *, k: {"a": p[0] + k + state, "b": None})
    concrete = f.get_concrete_function((spec([2], fg.float32), 1), k=fg.TensorSpec([], fg.float32, "named"))
    pair = "TensorSpec(shape=(2,), dtype=tf.float32, name=None)"
    named = "TensorSpec(shape=(), dtype=tf.float32, name='named')"
    result = f"Dict[['a', {pair}], ['b', Literal[None]]]"
    (handle,) = concrete.captured_inputs
    assert str(concrete.function_type) == f"(p: Tuple[{pair}, Literal[1]], *, k: {named}) -> {result}"
    assert repr(concrete.function_type) == (
        f"Input Parameters:\n  p (POSITIONAL_OR_KEYWORD): Tuple[{pair}, Literal[1]]\n  k (KEYWORD_ONLY): {named}\n"
        f"Output Type:\n  {result}\nCaptures:\n  {id(handle)}: TensorSpec(shape=(), dtype=tf.resource, name=None)"
    )


def test_structured_signature_and_outputs():
    strings = double.get_concrete_function(fg.constant("a"))
    assert repr(strings.structured_input_signature) == "((TensorSpec(shape=(), dtype=tf.string, name='a'),), {})"
    assert str(strings.structured_outputs) == 'Tensor("Identity:0", shape=(), dtype=string)'
    f = fg.function(lambda x, *, y: (x, [y]))
    concrete = f.get_concrete_function(spec([1], fg.int32), y=spec([], fg.int64))
    args, kwargs = concrete.structured_input_signature
    assert args[0].dtype == fg.int32 and kwargs["y"].dtype == fg.int64
    assert isinstance(concrete.structured_outputs[1], list)
    assert [str(s) for s in concrete.output_shapes[:1]] == ["(1,)"]


def test_the_graph_is_as_written():
    graph = double.get_concrete_function(fg.constant("a")).graph
    assert [(op.type, [tensor.op.name for tensor in op.inputs], op.name) for op in graph.get_operations()] == [
        ("Placeholder", [], "a"), ("Add", ["a", "a"], "add"), ("Identity", ["add"], "Identity"),
    ]  # fmt: skip


def test_node_counts_of_an_unrolled_loop():
    @fg.function
    def train(dataset):
        loss = fg.constant(0)
        for x, y in dataset:
            loss += fg.abs(y - x)
        return loss

    assert [len(train.get_concrete_function([(1, 1)] * n).graph) for n in (3, 10)] == [11, 32]


def test_bound_python_values():
    square = power.get_concrete_function(a=spec(None, fg.float32), b=2)
    assert float(square(fg.constant(10.0))) == 100.0 and float(square(fg.constant(10.0), b=2)) == 100.0
    message = r"ConcreteFunction power\(a, b\) was constructed with int value 2 in b, but was called with int value 3"
    with pytest.raises(TypeError, match=message) as raised:
        square(fg.constant(10.0), b=3)
    assert isinstance(raised.value.__cause__, TypeError) and "int value 2 in b" in str(raised.value.__cause__)
    assert str(raised.value).endswith("power(a) got unexpected keyword arguments: b.")
    with pytest.raises(TypeError, match=message) as raised:
        square(fg.constant(10.0), 3)
    assert str(raised.value).endswith("power(a) takes 1 positional arguments, got 2.")
    with pytest.raises(TypeError, match="missing") as raised:
        square()
    assert str(raised.value).endswith("power(a) missing required arguments: a.")
    text = str(raised.value)
    assert text.startswith("Binding inputs to tf.function failed due to `missing a required argument: 'a'`. Received ")
    assert "args: () and kwargs: {} for signature: (a: TensorSpec(shape=<unknown>, dtype=tf.float32, name=" in text
    assert text.endswith("Fallback to flat signature also failed due to: power(a) missing required arguments: a.")


@pytest.mark.parametrize("value", ["text", None, object, 1.5])
def test_what_is_no_tensor_of_the_dtype(value):
    concrete = fg.function(lambda x, y: x + y).get_concrete_function(spec([], fg.int32), spec([], fg.int32))
    with pytest.raises(TypeError, match=r"expected argument #1\(zero-based\) to be a Tensor; got \w+ \(.*\)"):
        concrete(1, value)


def test_wrong_dtype():
    strings = double.get_concrete_function(fg.constant("a"))
    with pytest.raises(
        InvalidArgumentError,
        match=r"cannot compute __inference_double_\d+ as input #0\(zero-based\) was expected to be a string tensor but "
        r"is a int32 tensor \[Op:__inference_double_\d+\]",
    ):
        strings(fg.constant(1))


def test_wrong_shape_structure_and_number():
    f = fg.function(lambda x, y: x[0] + x[1] + y)
    concrete = f.get_concrete_function([spec([2], fg.float32)] * 2, spec([], fg.float32))
    two = fg.ones([2])
    np.testing.assert_array_equal(concrete([two, two], 1.0), [3.0, 3.0])
    with pytest.raises(InvalidArgumentError, match="shape"):
        concrete([two, fg.ones([3])], 1.0)
    for args in (
        ((two, two), 1.0),
        ([two], 1.0),
        (two, 1.0),
        ([two, two, two], 1.0),
        ([two, two],),
        ([two, two], 1.0, 2.0),
    ):
        with pytest.raises(TypeError):
            concrete(*args)
    with pytest.raises(TypeError, match=r"x_1, y\.$"):
        concrete([two, two], z=1.0)
    with pytest.raises(TypeError, match="multiple values"):
        concrete([two, two], 1.0, x=two)


def test_python_objects_are_dropped_even_leading_ones():
    class Model:
        bias, weight = 0.0, 2.0

    def evaluate(model, x):
        return model.weight * x + model.bias

    model, x = Model(), fg.constant(10.0)
    concrete = fg.function(evaluate).get_concrete_function(model, x)
    assert float(concrete(x)) == 20.0 and float(concrete(model, x)) == 20.0
    model.bias += 5.0
    assert float(concrete(x)) == 20.0
    assert float(fg.function(evaluate).get_concrete_function(model, x)(x)) == 25.0
    with pytest.raises(TypeError, match="constructed with Model value"):
        concrete(Model(), x)


def test_variables_as_arguments():
    def step(w, x, opt):
        w.assign_sub(opt["rate"] * x)

    w, x = fg.Variable(2.0), fg.constant(1.0)
    concrete = fg.function(step).get_concrete_function(w, x, {"rate": 0.5})
    concrete(w, x)
    concrete(w, x, {"rate": 0.5})
    assert w.numpy() == 1.0
    with pytest.raises(TypeError):
        concrete(fg.Variable(2.0), x)
    assert [v is w for v in concrete.variables] == [True]
    assert concrete.trainable_variables == (w,)


def test_arguments_are_not_kept_alive():
    @fg.function
    def f(x, v):
        return x * v

    x, v = fg.constant([1.0] * 100), fg.Variable(2.0)
    concrete = f.get_concrete_function(x, v)
    references = weakref.ref(v), weakref.ref(x)
    del x, v
    gc.collect()
    assert [r() for r in references] == [None, None]
    with pytest.raises((fg.errors.FailedPreconditionError, TypeError)):
        concrete(fg.constant([1.0] * 100))


def test_captured_inputs():
    v, c = fg.Variable(2.0), fg.constant(3.0)
    concrete = fg.function(lambda x: x * v + c).get_concrete_function(spec([], fg.float32))
    assert concrete.captured_inputs[1] is c and len(concrete.inputs) == 3
    assert float(concrete(fg.constant(1.0))) == 5.0


def test_explain_shows_the_graph():
    concrete = fg.function(lambda x: fg.exp(x * 1.0)).get_concrete_function(spec([3], fg.float32))
    text = concrete.explain()
    assert "multiply(x, mul_y)" in text and "exp(x)" in text


def test_is_it_compiled():
    concrete = fg.function(lambda x: fg.exp(x) + 1.0).get_concrete_function(spec([3], fg.float32))
    concrete(fg.ones([3]))
    assert concrete.wait(120) is not False
    assert concrete.host_steps == 0 and concrete.is_compiled
    np.testing.assert_allclose(concrete(fg.ones([3])), np.full(3, np.exp(1) + 1), rtol=1e-6)


# Gradients through Functions, rows 29-31


def grads(f, x, order=2):
    """Value and derivatives of f at x."""
    found = []
    with fg.GradientTape() as outer:
        outer.watch(x)
        with fg.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
    found = [y.numpy(), first.numpy()]
    if order > 1:
        found.append(outer.gradient(first, x).numpy())
    return found


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * x * x,
        lambda x: fg.tanh(x) * fg.exp(-x),
        lambda x: fg.reduce_sum(fg.exp(x) * x),
        lambda x: fg.reduce_mean(fg.square(x - fg.reduce_mean(x))),
        lambda x: fg.matmul(fg.reshape(x, [1, 3]), fg.reshape(x, [3, 1])),
        lambda x: fg.where(x > 0.0, x * x, x * x * x),
    ],
)
def test_gradients_of_a_function_are_those_of_python(f):
    x = fg.constant([0.5, -1.5, 2.0])
    for ours, theirs in zip(grads(fg.function(f), x), grads(f, x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)


def test_function_under_a_tape_and_variables():
    v = fg.Variable(1.0)
    add = fg.function(lambda a, b: a + b)
    with fg.GradientTape() as tape:
        result = add(v, 1.0)
    assert repr(tape.gradient(result, v)) == "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"
    w = fg.Variable(3.0)
    f = fg.function(lambda x: w * w * x)
    with fg.GradientTape() as tape:
        y = f(fg.constant(2.0))
    assert float(tape.gradient(y, w)) == 12.0
    frozen = fg.Variable(3.0, trainable=False)
    g = fg.function(lambda x: frozen * x)
    with fg.GradientTape() as tape:
        y = g(fg.constant(2.0))
    assert tape.gradient(y, frozen) is None


def test_only_what_is_asked_for():
    f = fg.function(lambda x, y: (x * y, fg.cast(y, fg.int32), x + 1.0))
    x, y = fg.constant(2.0), fg.constant(3.0)
    with fg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        a, b, c = f(x, y)
    assert float(tape.gradient(a, x)) == 3.0 and tape.gradient(a, y) is None
    assert tape.gradient(b, x) is None and float(tape.gradient(c, x)) == 1.0
    assert float(tape.gradient([a, c], x)) == 4.0


def test_tape_inside_and_nested_functions():
    @fg.function
    def inner(x):
        return x * x * x

    @fg.function
    def outer(x):
        with fg.GradientTape() as second:
            second.watch(x)
            with fg.GradientTape() as first:
                first.watch(x)
                y = inner(x) + inner(2.0 * x)
            dy = first.gradient(y, x)
        return dy, second.gradient(dy, x)

    assert [float(t) for t in outer(fg.constant(2.0))] == [27.0 * 4.0, 54.0 * 2.0]


def test_third_order():
    f = fg.function(lambda x: x**4.0)
    x = fg.constant(2.0)
    with fg.GradientTape() as a:
        a.watch(x)
        with fg.GradientTape() as b:
            b.watch(x)
            with fg.GradientTape() as c:
                c.watch(x)
                y = f(x)
            d1 = c.gradient(y, x)
        d2 = b.gradient(d1, x)
    d3 = a.gradient(d2, x)
    np.testing.assert_allclose([float(t) for t in (y, d1, d2, d3)], [16.0, 32.0, 48.0, 48.0], rtol=1e-5)


def test_persistent_tape_and_second_gradient_from_inside_it():
    f = fg.function(lambda x: x * x * x)
    x = fg.constant(3.0)
    with fg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        first = tape.gradient(y, x)
    assert float(first) == 27.0 and float(tape.gradient(first, x)) == 18.0 and float(tape.gradient(y, x)) == 27.0


def test_a_persistent_tape_sees_the_old_value_after_an_assign():
    v = fg.Variable(2.0)
    f = fg.function(lambda: v * v)
    with fg.GradientTape(persistent=True) as tape:
        y = f()
    v.assign(100.0)
    assert float(tape.gradient(y, v)) == 4.0 and float(tape.gradient(y, v)) == 4.0


def test_a_training_step_is_one_graph():
    w, b = fg.Variable([[0.0]]), fg.Variable([0.0])
    x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]
    y = 3.0 * x + 2.0

    @fg.function
    def step(x, y):
        with fg.GradientTape() as tape:
            loss = fg.reduce_mean(fg.square(fg.matmul(x, w) + b - y))
        for v, g in zip([w, b], tape.gradient(loss, [w, b]), strict=True):
            v.assign_sub(0.5 * g)
        return loss

    losses = [float(step(x, y)) for _ in range(40)]
    assert losses[-1] < 1e-4 < losses[0] and step.experimental_get_tracing_count() == 1
    np.testing.assert_allclose([w.numpy()[0, 0], b.numpy()[0]], [3.0, 2.0], atol=0.02)
    assert step.get_concrete_function(x, y).host_steps == 0


def test_custom_gradient_in_a_function():
    @fg.custom_gradient
    def log1pexp(x):
        e = fg.exp(x)

        def grad(upstream):
            return upstream * (1 - 1 / (1 + e))

        return fg.math.log(1 + e), grad

    def derivative(x):
        with fg.GradientTape() as tape:
            tape.watch(x)
            value = log1pexp(x)
        return tape.gradient(value, x)

    assert float(fg.function(derivative)(fg.constant(100.0))) == 1.0
    f = fg.function(log1pexp)
    x = fg.constant(100.0)
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert float(tape.gradient(y, x)) == 1.0
    nested = fg.function(lambda x: fg.function(log1pexp)(x) * 2.0)
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = nested(x)
    assert float(tape.gradient(y, x)) == 2.0


def test_indexed_slices_through_arguments_results_and_cond():
    @fg.function
    def scale(s, p):
        half = fg.IndexedSlices(s.values * 0.5, s.indices, s.dense_shape)
        twice = fg.IndexedSlices(s.values * 2.0, s.indices, s.dense_shape)
        return fg.cond(p, lambda: half, lambda: twice)

    s = fg.IndexedSlices(fg.constant([[1.0, 2.0]]), fg.constant([3]), fg.constant([5, 2]))
    for p, factor in ((True, 0.5), (False, 2.0)):
        result = scale(s, fg.constant(p))
        assert isinstance(result, fg.IndexedSlices)
        np.testing.assert_array_equal(result.values, factor * s.values.numpy())
        np.testing.assert_array_equal(result.indices, [3])
    assert scale.experimental_get_tracing_count() == 1


def test_gradient_that_is_indexed_slices_through_a_function():
    table = fg.Variable(np.arange(12.0, dtype=np.float32).reshape(4, 3))
    f = fg.function(lambda i: fg.reduce_sum(fg.gather(table, i) ** 2.0))
    with fg.GradientTape() as tape:
        y = f(fg.constant([1, 1, 3]))
    grad = tape.gradient(y, table)
    expected = np.zeros((4, 3), np.float32)
    for i in (1, 1, 3):
        expected[i] += 2 * table.numpy()[i]
    np.testing.assert_allclose(fg.convert_to_tensor(grad).numpy(), expected)


# Rows 68-70


def test_graph_def_nodes():
    graph = double.get_concrete_function(fg.constant("a")).graph
    assert [f"{node.input} -> {node.name}" for node in graph.as_graph_def().node] == [
        "[] -> a", "['a', 'a'] -> add", "['add'] -> Identity",
    ]  # fmt: skip


def test_graph_def_text():
    f = fg.function(lambda x: fg.greater(x, 0))
    text = str(
        wire_format.parsed(exporter.graph_bytes(f.get_concrete_function(spec([], fg.int32)).graph.ir), "GraphDef")
    )
    assert text.startswith(
        'node {\n  name: "x"\n  op: "Placeholder"\n  attr {\n    key: "_user_specified_name"\n    value {\n      s: "x"\n'
        '    }\n  }\n  attr {\n    key: "dtype"\n    value {\n      type: DT_INT32\n    }\n  }\n  attr {\n    key: "shape"\n'
        "    value {\n      shape {\n      }\n    }\n  }\n}\n"
    )
    assert "int_val: 0" in text and text.endswith("versions {\n  producer: 898\n  min_consumer: 12\n}\n")


def test_graph_def_functions():
    f = fg.function(
        lambda x: fg.cond(x > 0.0, lambda: x * 2.0, lambda: fg.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [x])[0])
    )
    definition = f.get_concrete_function(spec([], fg.float32)).graph.as_graph_def()
    node = next(node for node in definition.node if node.op == "StatelessIf")
    names = {function.signature.name for function in definition.library.function}
    assert len(names) == 4
    assert {node.attr["then_branch"].func.name, node.attr["else_branch"].func.name} <= names
    assert str(definition).count("function {") == 4


def test_the_tensors_have_the_names_of_their_specs():
    a, b, c = fg.constant(7.0), fg.constant(2.0), fg.constant(1.0)
    first, second = fg.TensorSpec([], name="first"), fg.TensorSpec([], name="second")
    f = fg.function(lambda x, y: x - y).get_concrete_function(first, second)
    assert [float(f(first=a, second=b)), float(f(second=b, first=a)), float(f(a, second=b))] == [5.0] * 3
    assert [float(f(y=b, x=a)), float(f(second=a, first=b)), float(f(first=a, second=b))] == [5.0, -5.0, 5.0]
    for args, kwargs in [
        ((), {"x": a, "second": b}), ((a,), {"first": b}), ((a, b), {"second": b}), ((), {"first": a}),
        ((), {"first": 7.0, "second": b}),
    ]:  # fmt: skip
        with pytest.raises(TypeError):
            f(*args, **kwargs)
    with pytest.raises(fg.errors.InvalidArgumentError, match="expected to be a float tensor but is a int32 tensor"):
        f(first=a, second=fg.constant(2))

    of_a_dict = fg.function(lambda x, y: x["a"] - x["b"] - y)
    parts = of_a_dict.get_concrete_function({"a": first, "b": second}, fg.TensorSpec([], name="third"))
    assert [float(parts(first=a, second=b, third=c)), float(parts(a, b, c)), float(parts(a, b, third=c))] == [4.0] * 3
    of_any = fg.function(lambda *args: args[0] - args[1]).get_concrete_function(first, second)
    assert float(of_any(first=a, second=b)) == 5.0
    known = fg.function(lambda x, n: x * n).get_concrete_function(first, 3.0)
    assert [float(known(first=a)), float(known(a, n=3.0))] == [21.0, 21.0]
    alike = fg.function(lambda x, y: x - y).get_concrete_function(first, first)
    assert float(alike(first=a, first_1=b)) == 5.0
    swapped = fg.function(lambda x, y: x - y).get_concrete_function(
        fg.TensorSpec([], name="y"), fg.TensorSpec([], name="x")
    )
    assert float(swapped(x=a, y=b)) == 5.0  # the parameters' own names come first
    within = fg.function(lambda x, y: f(second=y, first=x) * 2.0)
    assert float(within(a, b)) == 10.0


def test_shapes_and_dtypes_of_none_and_handles_among_results() -> None:
    variable = fg.Variable([1.0, 2.0])

    def concrete(f: Any) -> Any:
        return fg.function(f).get_concrete_function(fg.TensorSpec([2]))

    nothing, some = concrete(lambda x: None), concrete(lambda x: {"a": x, "b": (None, x)})
    assert nothing.output_dtypes is None and nothing.output_shapes.rank is None
    assert some.output_dtypes == {"a": fg.float32, "b": (None, fg.float32)}
    assert str(some.output_shapes["b"]) == "(TensorShape(None), TensorShape([2]))"

    one, several = fg.function(lambda: variable.handle), fg.function(lambda x: ([variable.handle], x + variable, None))
    for tier in ("first", "last"):
        with flags.override(tier=tier):
            for _ in range(2):
                assert one() is variable.handle or one().dtype == fg.resource
                (handle,), total, none = several(fg.constant(1.0))
                assert handle.dtype == fg.resource and none is None and total.numpy().tolist() == [2, 3]
    around = fg.function(lambda: one())
    assert around().dtype == fg.resource and around.get_concrete_function().output_dtypes == fg.resource
