"""tf.function: FEATURES rows 25-51, 54-58, 76-81, 106: tracing, keys, methods, Variables, nesting."""

from __future__ import annotations

import functools
import gc
import inspect
import logging
import threading
import weakref
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.errors import InaccessibleTensorError, InvalidArgumentError, OperatorNotAllowedInGraphError


class Traced:
    """Counts how often a function is traced."""

    def __init__(self, function, **options):
        self.count = 0

        def counted(*args, **kwargs):
            self.count += 1
            return function(*args, **kwargs)

        self.function = fg.function(counted, **options)

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


# Rows 25-28


def test_decorator_bare_and_with_arguments():
    @fg.function
    def f(x):
        return x + 1.0

    @fg.function(reduce_retracing=True)
    def g(x):
        return x + 2.0

    assert float(f(fg.constant(1.0))) == 2.0 and float(g(fg.constant(1.0))) == 3.0
    assert f.__name__ == "f" and f.python_function(1.0) == 2.0


def test_direct_call_gives_what_python_gives():
    def regular(x, y, b):
        return fg.matmul(x, y) + b

    args = fg.constant([[1.0, 2.0]]), fg.constant([[2.0], [3.0]]), fg.constant(4.0)
    assert regular(*args).numpy() == fg.function(regular)(*args).numpy() == [[12.0]]


def test_applies_to_callees_and_nests():
    @fg.function
    def add(a, b):
        return a + b

    def double(x):
        return x * 2.0

    @fg.function
    def dense(x, w, b):
        return add(double(fg.matmul(x, w)), b)

    result = dense(fg.ones([3, 2]), fg.ones([2, 2]), fg.ones([2]))
    np.testing.assert_array_equal(result.numpy(), np.full((3, 2), 5.0))


def test_inner_function_is_traced_once_for_all_its_callers():
    inner = Traced(lambda x: x * 2.0)
    a = fg.function(lambda x: inner(x) + inner(x))
    b = fg.function(lambda x: inner(x))
    assert float(a(fg.constant(1.0))) == 4.0 and float(b(fg.constant(1.0))) == 2.0
    assert inner.count == 1


# Rows 34-41


def test_python_runs_while_tracing_only():
    log = []

    @fg.function
    def f(x):
        log.append(str(x))
        return x

    for i in range(3):
        f(fg.constant(i))
    assert log == ['Tensor("x:0", shape=(), dtype=int32)']


def test_symbolic_tensor_text():
    seen = []

    @fg.function
    def f(a, b):
        seen.extend([str(a), repr(a), f"{a}", str(a + a), str(b)])
        return a

    f(fg.constant(1), [fg.constant([1.0]), 2])
    assert seen[:4] == [
        'Tensor("a:0", shape=(), dtype=int32)',
        "<tf.Tensor 'a:0' shape=() dtype=int32>",
        'Tensor("a:0", shape=(), dtype=int32)',
        'Tensor("add:0", shape=(), dtype=int32)',
    ]


def test_keys_tensors_by_dtype_and_shape():
    f = Traced(lambda x: x)
    for x in (fg.constant(1), fg.constant(2), np.int32(3), fg.constant([1, 2]), fg.constant([3, 4]), fg.constant(1.0)):
        f(x)
    assert f.count == 3


def test_keys_python_values():
    f = Traced(lambda x: fg.constant(1))
    calls = [
        1,
        1,
        2,
        1.0,
        True,
        "1",
        b"1",
        None,
        0.0,
        -0.0,
        (1,),
        [1],
        {"a": 1},
        {"a": 1},
        {"b": 1},
        (1, (2, 3)),
        ((1, 2), 3),
    ]
    for x in calls:
        f(x)
    assert f.count == len(calls) - 2


def test_keys_of_structures():
    Point = namedtuple("Point", "x y")
    f = Traced(lambda p: fg.nest.flatten(p)[0] if not isinstance(p, Point) else p.x)
    t = fg.constant(1.0)
    f(Point(t, 1))
    f(Point(fg.constant(2.0), 1))
    f(Point(t, 2))
    f((t, 1))
    f([t, 1])
    f({"x": t, "y": 1})
    assert f.count == 5


def test_keys_variables_by_identity():
    f = Traced(lambda v: v * 2.0)
    v, w = fg.Variable(1.0), fg.Variable(1.0)
    assert [float(f(v)), float(f(v)), float(f(w))] == [2.0, 2.0, 2.0] and f.count == 2
    v.assign(5.0)
    assert float(f(v)) == 10.0 and f.count == 2


def test_keys_objects_by_weak_identity():
    class Model:
        bias = 0.0

    f = Traced(lambda m, x: x + m.bias)
    m = Model()
    x = fg.constant(1.0)
    f(m, x)
    m.bias = 5.0
    assert float(f(m, x)) == 1.0 and f.count == 1  # the trace is stale, as documented
    reference = weakref.ref(m)
    del m
    gc.collect()
    assert reference() is None
    assert not len(f.function._traces)
    for _ in range(20):  # a new object at the same address must not find the old trace
        other = Model()
        other.bias = 7.0
        assert float(f(other, x)) == 8.0
        del other


def test_keys_callables_and_bound_methods():
    class Cell:
        def step(self, x):
            return x + 1.0

    f = Traced(lambda step, x: step(x))
    cell = Cell()
    for _ in range(3):
        assert float(f(cell.step, fg.constant(1.0))) == 2.0
    f(lambda x: x, fg.constant(1.0))
    assert f.count == 2


def test_an_iterator_is_consumed_when_traced():
    f = Traced(lambda it: fg.constant(next(it)))
    it = iter([1, 2, 3])
    assert [int(f(it)) for _ in range(3)] == [1, 1, 1]


def test_separate_functions_share_no_traces():
    count = []

    def f():
        count.append(1)
        return fg.constant(1)

    fg.function(f)()
    fg.function(f)()
    assert len(count) == 2


def test_defaults_and_keywords_are_one_signature():
    f = Traced(lambda x, y=2.0, *, z=1.0: x * y + z)
    one = fg.constant(1.0)
    g = fg.function(lambda x, y=2.0, *, z=1.0: x * y + z)
    assert float(g(one)) == float(g(x=one)) == float(g(one, 2.0)) == float(g(one, y=2.0, z=1.0)) == 3.0
    assert g.experimental_get_tracing_count() == 1
    assert float(g(one, z=5.0)) == 7.0
    assert f.count == 0


def test_args_and_kwargs():
    @fg.function
    def f(*args, **kwargs):
        return sum(args) + kwargs["a"] - kwargs["b"]

    assert float(f(fg.constant(1.0), fg.constant(2.0), a=fg.constant(5.0), b=1.0)) == 7.0
    assert f.experimental_get_tracing_count() == 1
    f(fg.constant(1.0), fg.constant(7.0), b=1.0, a=fg.constant(5.0))
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("args, kwargs", [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1, 2), {"q": 1})])
def test_wrong_arguments(args, kwargs):
    f = fg.function(lambda x, y: fg.constant(1))
    with pytest.raises(TypeError):
        f(*args, **kwargs)


# Rows 42-45


def test_methods_are_traced_for_each_instance():
    class Scaler(fg.Module):
        def __init__(self, factor):
            self.factor = factor
            self.traces = 0

        @fg.function
        def __call__(self, x):
            self.traces += 1
            return x * self.factor

    a, b = Scaler(2.0), Scaler(3.0)
    x = fg.constant(1.0)
    assert [float(a(x)), float(b(x)), float(a(x))] == [2.0, 3.0, 2.0]
    assert (a.traces, b.traces) == (1, 1)
    reference = weakref.ref(a)
    del a
    gc.collect()
    assert reference() is None


def test_method_of_a_temporary():
    class Model:
        def __init__(self):
            self.v = fg.Variable(3.0)

        @fg.function
        def call(self, x):
            return self.v * x

    assert float(Model().call(fg.constant(2.0))) == 6.0
    assert Model.call.python_function is Model.__dict__["call"].python_function
    assert Model().call.get_concrete_function(fg.TensorSpec([], fg.float32)) is not None


def test_concrete_method_of_an_instance():
    class Count(fg.Module):
        def __init__(self):
            self.count = None

        @fg.function
        def __call__(self):
            if self.count is None:
                self.count = fg.Variable(0)
            return self.count.assign_add(1)

    c = Count()
    assert [int(c()), int(c()), int(c())] == [1, 2, 3]
    d = Count()
    assert int(d()) == 1 and int(c()) == 4


# Row 54-56


def test_input_signature():
    f = Traced(lambda x: x * 2, input_signature=(fg.TensorSpec([None], fg.int32),))
    np.testing.assert_array_equal(f(fg.constant([1, 2])), [2, 4])
    np.testing.assert_array_equal(f([1, 2, 3]), [2, 4, 6])
    np.testing.assert_array_equal(f(np.zeros([0], np.int32)), [])
    assert f.count == 1 and f(fg.constant([1])).shape == (1,)


@pytest.mark.parametrize("taken", [np.float64, np.int64, np.int8, np.bool_, np.float32])
def test_numpy_values_are_cast_to_an_input_signature(taken):
    f = Traced(lambda x: x * 2.0, input_signature=[fg.TensorSpec(None, fg.float32)])
    for given in (np.array([1, 0]).astype(taken), taken(1)):
        for callee in (f, f.function.get_concrete_function()):
            for _ in range(3):  # what is kept of a call must not take the next one as it is
                result = callee(given)
                assert result.dtype == fg.float32
                np.testing.assert_array_equal(result, np.float32(given) * 2)
    assert f.count == 1
    for refused in (np.array(["a"]), fg.constant([1])):
        with pytest.raises(TypeError, match="incompatible with input_signature"):
            f(refused)
    with pytest.raises(TypeError, match="which is no float tensor"):
        f.function.get_concrete_function()(np.array(["a"]))


@pytest.mark.parametrize("bad", [[[1, 2], [3, 4]], [1.0, 2.0], 1])
def test_input_signature_misfits_are_value_and_type_errors(bad):
    f = fg.function(lambda x: x, input_signature=(fg.TensorSpec([None], fg.int32),))
    for kind in (ValueError, TypeError):
        with pytest.raises(kind, match="Python inputs incompatible with input_signature:\n  inputs: ") as caught:
            f(fg.constant(bad))
    assert "TensorSpec(shape=(None,), dtype=tf.int32, name=None))" in str(caught.value)


def test_input_signature_with_structures_and_defaults():
    spec = {"a": fg.TensorSpec([None, 2], fg.float32), "b": (fg.TensorSpec([], fg.int32),)}
    f = Traced(lambda d, scale=2.0: d["a"] * scale + fg.cast(d["b"][0], fg.float32), input_signature=[spec])
    assert f({"a": fg.ones([3, 2]), "b": (1,)}).shape == (3, 2)
    assert f({"a": fg.ones([5, 2]), "b": (fg.constant(4),)}).numpy()[0, 0] == 6.0
    assert f.count == 1
    with pytest.raises(ValueError):
        f({"a": fg.ones([3, 2])})


def test_input_signature_is_of_positional_arguments():
    spec = fg.TensorSpec([None], fg.float32)
    one = fg.function(lambda x, *, scale=2.0: x * scale, input_signature=[spec])
    some = fg.function(lambda x, **others: x * others.get("scale", 2.0), input_signature=[spec])
    for f in (one, some):
        np.testing.assert_array_equal(f([1.0, 2.0]), [2, 4])
        with pytest.raises(ValueError, match="incompatible with input_signature"):
            f([1.0], scale=3.0)
    many = fg.function(lambda *xs, scale=2.0: fg.add_n(xs) * scale, input_signature=[spec, spec])
    np.testing.assert_array_equal(many([1.0], [2.0]), [6])
    rest = fg.function(lambda x, *xs: x + fg.add_n(xs), input_signature=[spec, spec, spec])
    np.testing.assert_array_equal(rest([1.0], [2.0], [3.0]), [6])
    for arguments in ([[1.0], [2.0]], [[1.0], [2.0], [3.0], [4.0]]):
        with pytest.raises(ValueError, match="incompatible with input_signature"):
            rest(*arguments)


def test_input_signature_checked():
    spec = fg.TensorSpec([], fg.float32)
    for function, n, text in (
        (lambda x: x, 3, "input_signature contains 2 extra type constraints"),
        (lambda x, *, k=1: x, 3, "input_signature contains 1 extra type constraints"),
        (lambda self, x: x, 2, "input_signature contains 1 extra type constraints"),
        (lambda x, y: x, 1, "input_signature missing type constraint for y"),
        (lambda self, x, y: x, 1, "input_signature missing type constraint for y"),
        (lambda x, *rest: x, 0, "input_signature missing type constraint for x"),
        (lambda x, *, k: x, 1, "keyword-only parameter `k` must have a default value"),
    ):
        with pytest.raises(TypeError, match=text):
            fg.function(function, input_signature=[spec] * n)
    with pytest.raises(TypeError):
        fg.function(lambda x: x, input_signature=fg.TensorSpec([], fg.float32))
    with pytest.raises(TypeError):
        fg.function(lambda x: x, input_signature=[1])


def test_input_signature_of_fewer_parameters():
    f = fg.function(lambda x, y=1000, z=("a", 2.0): x * y, input_signature=[fg.TensorSpec(None, fg.float32)])
    for arguments in ((), (int("1000"),), (1000, ("".join(["a"]), 2.0))):  # equal, not the same
        assert float(f(fg.constant(2.0), *arguments)) == 2000
    for arguments in ((1001,), (1000.0,), (True,), (1000, ("a", 2)), (1000, ["a", 2.0]), (fg.constant(1000),)):
        with pytest.raises(ValueError, match="incompatible with input_signature"):
            f(fg.constant(2.0), *arguments)


def test_input_signature_of_keyword_only_parameters():
    f = fg.function(lambda x, *, k=3.0: x * k, input_signature=[fg.TensorSpec(None, fg.float32)] * 2)
    assert float(f(fg.constant(2.0))) == 6
    assert float(f(fg.constant(2.0), k=fg.constant(5.0))) == float(f(fg.constant(2.0), k=5)) == 10
    assert f.experimental_get_tracing_count() == 1


def test_input_signature_of_lists_of_tensors():
    f = Traced(lambda x: x * 2.0, input_signature=[fg.TensorSpec([None], fg.float32)])
    np.testing.assert_array_equal(f([fg.constant(1.0), 2]), [2, 4])
    for tensors in ([fg.constant(1), fg.constant(2)], (fg.constant(1.0, fg.float64), 2)):  # as convert_to_tensor does
        np.testing.assert_array_equal(f(tensors), [2, 4])
    with pytest.raises(TypeError, match="incompatible with input_signature"):
        f([fg.constant("a")])
    with pytest.raises(TypeError, match="incompatible with input_signature"):
        f(fg.constant([1]))


def test_unknown_rank():
    f = Traced(lambda x: fg.exp(x) + 0.0, input_signature=[fg.TensorSpec(None, fg.float32)])
    for shape in ((), (2,), (2, 3), (0, 1)):
        assert f(fg.zeros(shape)).shape == shape
    assert f.count == 1


def test_reduce_retracing():
    f = Traced(lambda x: x + 1.0, reduce_retracing=True)
    for n in (3, 4, 5, 6, 3):
        assert f(fg.zeros([n])).shape == (n,)
    assert f.count == 2
    f(fg.zeros([2, 2]))
    f(fg.zeros([3, 3, 3]))
    assert f.count <= 4


def test_sizes_0_1_and_new_ones_trace_nothing():
    f = Traced(lambda x: fg.reduce_sum(x * 2.0, axis=1), input_signature=[fg.TensorSpec([None, None], fg.float32)])
    for shape in ((0, 3), (1, 1), (3, 0), (7, 2)):
        np.testing.assert_allclose(f(fg.ones(shape)), np.full(shape[0], 2.0 * shape[1]))
    assert f.count == 1


def test_retracing_warning(caplog):
    f = fg.function(lambda x: fg.constant(1))
    with caplog.at_level(logging.WARNING):
        for i in range(5):
            f(i)
    assert "5 out of the last 5 calls to <function" in caplog.text
    assert "triggered tf.function retracing" in caplog.text
    caplog.clear()
    g = fg.function(lambda x: fg.constant(1))
    for i in range(4):
        g(i)
        g(i), g(i), g(i), g(i)
    assert not caplog.text


# Rows 76-81


def test_variable_on_every_call_is_refused_in_the_first():
    @fg.function
    def f(x):
        v = fg.Variable(1.0)
        return v + x

    with pytest.raises(
        ValueError, match=r"tf\.function-decorated function tried to create variables on non-first call"
    ):
        f(1.0)


def test_variable_for_the_first_call_only():
    holder = {}

    @fg.function
    def f(x):
        if "v" not in holder:
            holder["v"] = fg.Variable(fg.ones([2]) * 3.0)  # from a symbolic value
            holder["w"] = fg.Variable(x * 2.0)  # from an argument
        return holder["v"] + holder["w"] + x

    np.testing.assert_array_equal(f(fg.constant(1.0)), [6.0, 6.0])
    np.testing.assert_array_equal(f(fg.constant(2.0)), [7.0, 7.0])


def test_a_new_variable_for_a_new_signature_is_refused():
    made = {}

    @fg.function
    def f(x):
        key = x.shape.rank
        if key not in made:
            made[key] = fg.Variable(1.0)
        return x * made[key]

    f(fg.constant(1.0))
    with pytest.raises(ValueError, match="non-first call"):
        f(fg.constant([1.0]))


def test_mutation_is_kept_and_in_order():
    v = fg.Variable(1.0)

    @fg.function
    def f(x):
        before = v.read_value()
        v.assign(before * x)
        v.assign_add(1.0)
        v.assign_sub(0.5)
        fg.exp(x)
        return before

    assert float(f(fg.constant(4.0))) == 1.0 and v.numpy() == 4.5
    assert float(f(fg.constant(2.0))) == 4.5 and v.numpy() == 9.5


def test_object_attributes_that_are_variables_need_no_retrace():
    class Model:
        def __init__(self):
            self.bias = fg.Variable(0.0)

    f = Traced(lambda m, x: 2.0 * x + m.bias)
    m = Model()
    assert float(f(m, fg.constant(10.0))) == 20.0
    m.bias.assign_add(5.0)
    assert float(f(m, fg.constant(10.0))) == 25.0 and f.count == 1


# Row 106


def test_run_functions_eagerly():
    f = Traced(lambda x: x + 1.0)
    x = fg.constant(1.0)
    f(x)
    fg.config.run_functions_eagerly(True)
    try:
        assert fg.config.functions_run_eagerly()
        for _ in range(3):
            assert float(f(x)) == 2.0
        assert f.count == 4
    finally:
        fg.config.run_functions_eagerly(False)
    f(x)
    assert f.count == 4


# Results


def test_structures_of_results():
    Point = namedtuple("Point", "x y")

    @fg.function
    def f(x):
        return {"b": [x, 1], "a": Point(x + 1.0, None), "c": ()}

    result = f(fg.constant(1.0))
    assert list(result) == ["b", "a", "c"] or sorted(result) == ["a", "b", "c"]
    assert float(result["b"][0]) == 1.0 and int(result["b"][1]) == 1 and result["b"][1].dtype == fg.int32
    assert isinstance(result["a"], Point) and float(result["a"].x) == 2.0 and result["a"].y is None
    assert result["c"] == ()


def test_nothing_is_returned():
    v = fg.Variable(0)

    @fg.function
    def f():
        v.assign_add(1)

    assert f() is None and f() is None and v.numpy() == 2


def test_the_same_tensor_twice_and_an_argument():
    f = fg.function(lambda x: (x, x, x + 0.0))
    a, b, c = f(fg.constant([1.0]))
    assert a.numpy() == b.numpy() == c.numpy() == [1.0]


def test_a_captured_tensor_is_returned():
    c = fg.constant([1.0, 2.0])
    np.testing.assert_array_equal(fg.function(lambda: c)(), [1.0, 2.0])


def test_variables_are_returned_as_values():
    v = fg.Variable(3.0)
    assert float(fg.function(lambda: v)()) == 3.0


def test_other_objects_cannot_be_returned():
    with pytest.raises(TypeError, match="must return zero or more Tensors"):
        fg.function(lambda: object())()


def test_strings():
    f = fg.function(lambda a: a + a)
    assert f(fg.constant("ab")).numpy() == b"abab"


# Hostile


def test_python_control_flow_on_a_tensor_is_refused_without_autograph():
    @fg.function(autograph=False)
    def f(x):
        if x > 0:
            return x
        return -x

    with pytest.raises(OperatorNotAllowedInGraphError, match="symbolic `tf.Tensor` as a Python `bool`"):
        f(fg.constant(1.0))


@pytest.mark.parametrize(
    "use, kind",
    [
        (int, TypeError), (float, TypeError), (len, TypeError), (iter, OperatorNotAllowedInGraphError),
        (np.sin, NotImplementedError), (lambda t: t.numpy(), AttributeError), (lambda t: [1, 2][t], TypeError),
        (lambda t: range(t), TypeError), (lambda t: f"{t:.3f}", TypeError), (hash, TypeError),
    ],
)  # fmt: skip
def test_values_that_do_not_exist_yet(use, kind):
    @fg.function(autograph=False)
    def f(x):
        use(x)
        return x

    with pytest.raises(kind):
        f(fg.constant(1))


def test_a_tensor_of_another_trace():
    leaked = []

    @fg.function
    def f(x):
        leaked.append(x * 2.0)
        return x

    f(fg.constant(1.0))
    for use in (lambda: leaked[0] + 1.0, lambda: fg.function(lambda x: x + leaked[0])(fg.constant(1.0)),
                lambda: fg.function(lambda: leaked[0])(), lambda: fg.function(lambda x: x)(leaked[0])):  # fmt: skip
        with pytest.raises((InaccessibleTensorError, TypeError), match="out of scope|symbolic"):
            use()


def test_a_tensor_of_a_finished_branch():
    leaked = []

    @fg.function
    def f(x):
        fg.cond(x > 0.0, lambda: leaked.append(x * 3.0) or x, lambda: x)
        return leaked[0] + 1.0

    with pytest.raises(InaccessibleTensorError, match="which is out of scope") as caught:
        f(fg.constant(1.0))
    assert __file__ in str(caught.value)


def test_a_freed_variable():
    v = fg.Variable(3)
    f = fg.function(lambda x: x * v)  # noqa: F821
    concrete = f.get_concrete_function(4)
    assert int(concrete(4)) == 12
    del v, f
    gc.collect()
    with pytest.raises(
        fg.errors.FailedPreconditionError, match="Error while reading resource variable .* could mean that"
    ):
        concrete(4)


def test_shapes_that_do_not_fit_while_tracing():
    with pytest.raises(ValueError, match=r"Dimensions must be equal, but are 2 and 3 for .*input shapes: \[2\], \[3\]"):
        fg.function(lambda x, y: x + y)(fg.zeros([2]), fg.zeros([3]))


def test_shapes_that_do_not_fit_when_run():
    specs = [fg.TensorSpec([None], fg.float32)] * 2
    f = fg.function(lambda x, y: x + y, input_signature=specs)
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes"):
        f(fg.zeros([2]), fg.zeros([3]))
    np.testing.assert_array_equal(f(fg.zeros([2]), fg.ones([1])), [1.0, 1.0])


def test_an_exception_while_tracing_leaves_nothing_behind():
    @fg.function
    def f(x, fail):
        if fail:
            raise RuntimeError("as asked")
        return x

    with pytest.raises(RuntimeError):
        f(fg.constant(1.0), True)
    assert fg.executing_eagerly()
    assert float(f(fg.constant(1.0), False)) == 1.0
    with fg.GradientTape() as tape:
        x = fg.constant(2.0)
        tape.watch(x)
        y = x * x
    assert float(tape.gradient(y, x)) == 4.0


def test_recursion_of_functions():
    @fg.function
    def power(x, n):
        return fg.constant(1.0) if n == 0 else x * power(x, n - 1)

    assert float(power(fg.constant(2.0), 5)) == 32.0


def test_many_threads_trace_once():
    f = Traced(lambda x: x * 2.0)
    results = []
    threads = [threading.Thread(target=lambda: results.append(float(f(fg.constant(1.0))))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [2.0] * 8 and f.count == 1


def test_executing_eagerly_and_init_scope():
    seen = []

    @fg.function
    def f(x):
        seen.append(fg.executing_eagerly())
        with fg.init_scope():
            seen.append(fg.executing_eagerly())
            seen.append(float(fg.constant(1.0) + 1.0))
        return x

    f(fg.constant(1.0))
    assert seen == [False, True, 2.0]


def test_attributes_of_what_is_called_pass_and_methods_are_functions() -> None:
    def plain(x: Any) -> Any:
        return x

    class Scaled:
        kind = "of the class"

        def __init__(self) -> None:
            self.factor, self._name = 3, "mine"

        def __call__(self, x: Any) -> Any:
            return x * self.factor

        @fg.function
        def method(self, x: Any) -> Any:
            return x + self.factor

    plain.unit = "metres"  # type: ignore[attr-defined]
    scaled, made = Scaled(), fg.function(plain)
    called = fg.function(scaled)
    assert (made.unit, called.factor, int(called(fg.constant(2)))) == ("metres", 3, 6)
    made.own = 1
    assert not hasattr(plain, "own") and not hasattr(called, "kind") and called.name != "mine"
    assert isinstance(scaled.method, type(made)) and isinstance(Scaled.method, type(made))
    assert not isinstance(scaled, type(made)) and int(scaled.method(fg.constant(1))) == 4
    assert int(fg.function(scaled.method)(fg.constant(1))) == 4


def test_inspect_is_told_the_parameters_of_the_python_function() -> None:
    class Layer:
        @fg.function
        def call(self, x: Any, training: Any = None, *, scale: float = 1.0) -> Any:
            return x

    bound, unbound = inspect.getfullargspec(Layer().call), inspect.getfullargspec(Layer.call)
    assert bound.args == ["x", "training"] and unbound.args == ["self", "x", "training"]
    assert bound.defaults == (None,) and bound.kwonlydefaults == {"scale": 1.0}
    assert inspect.getfullargspec(fg.function(functools.partial(lambda a, b=1: a, b=3))).kwonlydefaults == {"b": 3}
    assert list(inspect.signature(Layer().call).parameters) == ["x", "training", "scale"]
    assert "python_function" in inspect.signature(type(fg.function(lambda: None))).parameters
    assert not hasattr(fg.function(max), "__signature__")  # Python does not know that of a builtin
