"""Behaviours that TensorFlow's guides show, with the values that they print; docs/features.md says which row is which."""

from __future__ import annotations

import timeit
import traceback
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core import devices


def test_eager_by_default() -> None:
    assert tf.executing_eagerly() is True
    assert tf.matmul([[2.0]], [[2.0]]).numpy().tolist() == [[4.0]]


def test_constants() -> None:
    assert [tf.constant(v).dtype.name for v in (1, 1.0, "a", True)] == ["int32", "float32", "string", "bool"]
    assert tf.constant([[1.0, 2.0]]).dtype == tf.float32 and tf.constant([[1, 2], [3, 4]]).shape == (2, 2)
    assert tf.constant(7, shape=(2,)).numpy().tolist() == [7, 7]


def test_convert_to_tensor() -> None:
    for value in (3, np.array([1, 2]), tf.constant(1.5)):
        assert np.array_equal(tf.convert_to_tensor(value).numpy(), np.asarray(value))


def test_print_and_repr() -> None:
    assert str(tf.constant(5.5)) == "tf.Tensor(5.5, shape=(), dtype=float32)"
    assert str(tf.constant([1.0, 0.0])) == "tf.Tensor([1. 0.], shape=(2,), dtype=float32)"
    assert str(tf.constant([[1, 2], [3, 4]])) == "tf.Tensor(\n[[1 2]\n [3 4]], shape=(2, 2), dtype=int32)"
    assert str(tf.constant([[2.0]])) == "tf.Tensor([[2.]], shape=(1, 1), dtype=float32)"
    assert repr(tf.constant(11)) == "<tf.Tensor: shape=(), dtype=int32, numpy=11>"
    assert repr(tf.constant([[2.0, 2.0], [2.0, 2.0]])) == (
        "<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\narray([[2., 2.],\n       [2., 2.]], dtype=float32)>"
    )
    assert repr(tf.constant("aa")) == "<tf.Tensor: shape=(), dtype=string, numpy=b'aa'>"


def test_numpy_and_format() -> None:
    assert repr(tf.constant([[12.0]]).numpy()) == "array([[12.]], dtype=float32)"
    assert tf.constant("a").numpy() == b"a" and isinstance(tf.constant(1.0).numpy(), np.float32)
    assert "hello, {}".format(tf.matmul([[2.0]], [[2.0]])) == "hello, [[4.]]"  # noqa: UP032
    assert f"{tf.constant(68.0581):.3f}" == "68.058"


def test_lists_and_broadcasting() -> None:
    assert tf.add([[1, 2], [3, 4]], 1).numpy().tolist() == [[2, 3], [4, 5]]
    assert tf.maximum(0.0, [-1.0, 2.0]).numpy().tolist() == [0.0, 2.0]


def test_operators() -> None:
    a, b = tf.constant([[1, 2], [3, 4]]), tf.constant([[2, 3], [4, 5]])
    assert (a * b).numpy().tolist() == [[2, 6], [12, 20]]
    assert (a % 2 == 0).numpy().tolist() == [[False, True], [False, True]]
    assert (3 * a + 1).numpy().tolist() == [[4, 7], [10, 13]] and (a**2).numpy().tolist() == [[1, 4], [9, 16]]
    assert (a // 2).numpy().tolist() == [[0, 1], [1, 2]] and (-abs(-a)).numpy().tolist() == [[-1, -2], [-3, -4]]
    assert (a @ b).numpy().tolist() == [[10, 13], [22, 29]]
    x = tf.constant(2.0)
    np.testing.assert_allclose((1 - 1 / (1 + x)).numpy(), 2 / 3, rtol=1e-6)
    assert (a != b).numpy().all() and (a < b).numpy().all() and not (a >= b).numpy().any()


def test_augmented_assignment_rebinds() -> None:
    counter = tf.constant(0)
    before = counter
    counter += 1
    assert int(before) == 0 and int(counter) == 1
    rate = tf.constant(3.0)
    rate /= 2.0
    assert float(rate) == 1.5


def test_numpy_takes_tensors() -> None:
    a, b = tf.constant([[1, 2], [3, 4]]), tf.constant([[2, 3], [4, 5]])
    product = np.multiply(a, b)
    assert isinstance(product, np.ndarray) and product.tolist() == [[2, 6], [12, 20]]
    assert tf.math.exp(np.zeros(2)).dtype == tf.float64
    assert (a + np.array([[1, 1], [1, 1]], np.int32)).numpy().tolist() == [[2, 3], [4, 5]]


def test_scalars_as_python_values() -> None:
    number = tf.constant(9)
    assert int(number % 3) == 0 and bool(tf.constant(True)) and float(tf.constant(1.5)) == 1.5
    assert list(range(1, number.numpy() - 6)) == [1, 2]
    value = tf.constant(8.0)
    while value > 1.0:
        value = value / 2.0
    assert float(value) == 1.0
    with pytest.raises(ValueError, match="ambiguous"):
        bool(tf.constant([1, 2]))


def test_indexing() -> None:
    images = tf.reshape(tf.range(12), [3, 2, 2])
    assert images[0:1].shape == (1, 2, 2) and images[tf.constant(1)].numpy().tolist() == [[4, 5], [6, 7]]
    assert np.zeros((2, 3))[..., tf.newaxis].shape == (2, 3, 1) and images[..., tf.newaxis].shape == (3, 2, 2, 1)
    assert images[-1, ::-1, 0].numpy().tolist() == [10, 8]


def test_shapes_and_dtypes() -> None:
    x = tf.zeros((2, 2))
    assert str(x.shape) == "(2, 2)" and isinstance(x.shape[0], int) and x.shape == (2, 2)
    assert str(tf.TensorShape(None)) == "<unknown>" and str(tf.TensorShape([None])) == "(None,)"
    assert repr(tf.int32) == "tf.int32" and tf.int32.name == "int32" and tf.dtypes.int32 is tf.int32
    tf.debugging.assert_equal(x.shape, (2, 2))


def test_strings() -> None:
    a = tf.constant("a")
    assert str(a + a) == "tf.Tensor(b'aa', shape=(), dtype=string)"

    @tf.function
    def double(x: Any) -> Any:
        return x + x

    assert double(a).numpy() == b"aa"


def test_fizzbuzz_in_python() -> None:
    lines = []
    counter = tf.constant(0)
    for number in range(1, tf.convert_to_tensor(15).numpy() + 1):
        n = tf.constant(number)
        if int(n % 3) == 0 and int(n % 5) == 0:
            lines.append("FizzBuzz")
        elif int(n % 3) == 0:
            lines.append("Fizz")
        elif int(n % 5) == 0:
            lines.append("Buzz")
        else:
            lines.append(str(n.numpy()))
        counter += 1
    assert " ".join(lines) == "1 2 Fizz 4 Buzz Fizz 7 8 Fizz Buzz 11 Fizz 13 14 FizzBuzz" and int(counter) == 15


def test_the_guides_ops() -> None:
    assert int(tf.reduce_mean(tf.square(tf.constant([1, 2, 3, 5]) - 1))) == 5  # integers divide as integers
    assert tf.gather([10, 20, 30], [2, 0]).numpy().tolist() == [30, 10]
    assert tf.transpose([[1, 2], [3, 4]], perm=[1, 0]).numpy().tolist() == [[1, 3], [2, 4]]
    assert tf.eye(2, dtype=tf.int32).numpy().tolist() == [[1, 0], [0, 1]]
    assert tf.where([True, False], [1, 2], [3, 4]).numpy().tolist() == [1, 4]
    assert tf.cast([1.7], tf.int32).numpy().tolist() == [1]
    np.testing.assert_allclose(tf.clip_by_norm([3.0, 4.0], 1.0).numpy(), [0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(tf.math.log(tf.exp(tf.tanh(0.5))).numpy(), np.tanh(0.5), rtol=1e-6)
    assert tf.stack([1, 2]).shape == (2,) and tf.identity(3).numpy() == 3 and bool(tf.greater(2, 1))
    assert tf.pow([2, 3], 2).numpy().tolist() == [4, 9] and float(tf.reduce_sum([1.0, 2.0])) == 3.0


def test_random_numbers() -> None:
    ints = tf.random.uniform([5], maxval=10, dtype=tf.int32)
    assert ints.shape == (5,) and ints.dtype == tf.int32 and 0 <= ints.numpy().min() <= ints.numpy().max() < 10
    signed = tf.random.uniform(shape=[10, 10], minval=-1, maxval=2, dtype=tf.dtypes.int32).numpy()
    assert set(np.unique(signed)) <= {-1, 0, 1}
    floats = tf.random.uniform([1000]).numpy()
    assert floats.dtype == np.float32 and floats.min() >= 0.0 and floats.max() < 1.0
    normal = tf.random.normal((10_000,)).numpy()
    assert normal.dtype == np.float32 and abs(normal.mean()) < 0.05 and abs(normal.std() - 1) < 0.05


def test_errors_come_at_once() -> None:
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"indices\[0\] = 1 is not in \[0, 1\).*GatherV2"
    ) as caught:
        tf.gather(tf.constant([0.0]), [1])
    assert type(caught.value).__name__ == "InvalidArgumentError"


def test_exceptions_have_usable_tracebacks() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return tf.matmul(x, x)

    try:
        f(tf.zeros((2, 3)))
    except Exception as error:
        text = traceback.format_exc(limit=20)
        assert isinstance(error, ValueError) and "test_rows.py" in text
    else:
        raise AssertionError("no error")


def test_outer_and_inner_function() -> None:
    def inner_function(x: Any, y: Any, b: Any) -> Any:
        return tf.matmul(x, y) + b

    @tf.function
    def outer_function(x: Any) -> Any:
        return inner_function(x, tf.constant([[2.0], [3.0]]), tf.constant(4.0))

    assert repr(outer_function(tf.constant([[1.0, 2.0]])).numpy()) == "array([[12.]], dtype=float32)"


def test_functions_inside_functions() -> None:
    @tf.function
    def add(a: Any, b: Any) -> Any:
        return a + b

    @tf.function
    def dense_layer(x: Any, w: Any, b: Any) -> Any:
        return add(tf.matmul(x, w), b)

    assert dense_layer(tf.ones([3, 2]), tf.ones([2, 2]), tf.ones([2])).numpy().tolist() == [[3.0, 3.0]] * 3
    v = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        result = add(v, 1.0)
    assert repr(tape.gradient(result, v)) == "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"


def test_course() -> None:
    @tf.function
    def compute_area(radius: Any) -> Any:
        return 3.1415 * radius**2

    assert str(compute_area(tf.constant(3.0)).numpy()) == "28.2735"

    @tf.function
    def compute_gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = x * x * x
        return tape.gradient(y, x)

    assert float(compute_gradient(tf.Variable(3.0))) == 27.0


def test_tracing_once_and_side_effects(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[int] = []

    @tf.function
    def get_mse(y_true: Any, y_pred: Any) -> Any:
        print("Calculating MSE!")
        seen.append(1)
        return tf.reduce_mean(tf.pow(y_true - y_pred, 2))

    y_true, y_pred = tf.constant([1, 2, 3, 4, 5]), tf.constant([2, 4, 1, 8, 4])
    values = [int(get_mse(y_true, y_pred)) for _ in range(3)]
    assert capsys.readouterr().out == "Calculating MSE!\n" and len(seen) == 1 and len(set(values)) == 1
    tf.config.run_functions_eagerly(True)
    try:
        assert [int(get_mse(y_true, y_pred)) for _ in range(3)] == values
    finally:
        tf.config.run_functions_eagerly(False)
    assert capsys.readouterr().out == "Calculating MSE!\n" * 3
    get_mse(y_true, y_pred)
    assert capsys.readouterr().out == ""  # the trace was kept


def test_symbolic_texts(capsys: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def f(a: Any, n: Any) -> Any:
        print("Tracing with", a, n)
        return a + n

    f(tf.constant(1), 10)
    assert capsys.readouterr().out == 'Tracing with Tensor("a:0", shape=(), dtype=int32) 10\n'
    f(tf.constant(5), 10)
    assert capsys.readouterr().out == ""
    f(tf.constant(5), 11)
    assert capsys.readouterr().out == 'Tracing with Tensor("a:0", shape=(), dtype=int32) 11\n'


def test_tf_print_runs_in_every_call(capfd: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def f(x: Any) -> Any:
        tf.print("Executing with num_steps = ", x)
        return x

    f(tf.constant(10))
    f(tf.constant(20))
    printed = capfd.readouterr()
    assert printed.out == "" and printed.err == "Executing with num_steps =  10\nExecuting with num_steps =  20\n"


def test_separate_functions_share_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def f() -> None:
        print("Tracing!", flush=True)
        tf.print("Executing")

    tf.function(f)()
    tf.function(f)()
    printed = capfd.readouterr()
    assert printed.out == "Tracing!\nTracing!\n" and printed.err == "Executing\nExecuting\n"


def test_globals_are_no_part_of_the_key() -> None:
    foo = 1

    @tf.function
    def buggy_add() -> Any:
        return tf.constant(1) + foo

    assert int(buggy_add()) == 2
    foo = 100
    assert int(buggy_add()) == 2

    @tf.function
    def recommended_add(value: Any) -> Any:
        return 1 + value

    assert int(recommended_add(tf.constant(foo))) == 101


def test_stale_and_better_model() -> None:
    class Model(tf.Module):
        def __init__(self, bias: Any) -> None:
            self.bias, self.weight = bias, 5.0

    @tf.function
    def evaluate(model: Any, x: Any) -> Any:
        return model.weight * x + model.bias

    x = tf.constant(10.0)
    simple = Model(0.0)
    assert float(evaluate(simple, x)) == 50.0
    simple.bias += 5.0
    assert float(evaluate(simple, x)) == 50.0  # the trace is of the old value
    better = Model(tf.Variable(0.0))
    assert float(evaluate(better, x)) == 50.0
    better.bias.assign_add(5.0)
    assert float(evaluate(better, x)) == 55.0


def test_count_creates_once() -> None:
    class Count(tf.Module):
        def __init__(self) -> None:
            self.count: Any = None

        @tf.function
        def __call__(self) -> Any:
            if self.count is None:
                self.count = tf.Variable(0)
            return self.count.assign_add(1)

    c = Count()
    assert str(c()) == "tf.Tensor(1, shape=(), dtype=int32)" and int(c()) == 2
    assert int(Count()()) == 1


def test_unused_failing_gather_is_pruned() -> None:
    def unused_return(x: Any) -> Any:
        tf.gather(x, [1])
        return x

    with pytest.raises(tf.errors.InvalidArgumentError):
        unused_return(tf.constant([0.0]))
    assert str(tf.function(unused_return)(tf.constant([0.0]))) == "tf.Tensor([0.], shape=(1,), dtype=float32)"


def test_assertions_are_kept() -> None:
    @tf.function
    def f(x: Any) -> Any:
        tf.debugging.assert_positive(x)
        return tf.constant(1.0)

    assert float(f(tf.constant([1.0]))) == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant([-1.0]))
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.debugging.assert_equal(tf.constant([1, 2]).shape, (3,))


def test_power_is_the_same_in_both_modes() -> None:
    def power(x: Any, y: int) -> Any:
        result = tf.eye(10, dtype=tf.dtypes.int32)
        for _ in range(y):
            result = tf.matmul(x, result)
        return result

    x = tf.random.uniform(shape=[10, 10], minval=-1, maxval=2, dtype=tf.dtypes.int32)
    staged = tf.function(power)
    assert np.array_equal(power(x, 100).numpy(), staged(x, 100).numpy())
    assert timeit.timeit(lambda: staged(x, 100), number=2) > 0


def test_line_search_with_tapes() -> None:
    def line_search_step(fn: Any, init_x: Any, rate: Any = 1.0) -> tuple[Any, Any]:
        with tf.GradientTape() as tape:
            tape.watch(init_x)
            value = fn(init_x)
        grad = tape.gradient(value, init_x)
        grad_norm = tf.reduce_sum(grad * grad)
        init_value = value
        while value > init_value - rate * grad_norm:
            x = init_x - rate * grad
            value = fn(x)
            rate /= 2.0
        return x, value

    x, value = line_search_step(lambda x: x * x, tf.constant(3.0))
    assert float(value) < 9.0 and float(x) == 0.0


def test_a_tape_serves_once() -> None:
    w = tf.Variable([[1.0]])
    with tf.GradientTape() as tape:
        loss = w * w
    assert str(tape.gradient(loss, w)) == "tf.Tensor([[2.]], shape=(1, 1), dtype=float32)"
    with pytest.raises(RuntimeError, match="A non-persistent GradientTape can only be used to compute one set of"):
        tape.gradient(loss, w)


def test_devices() -> None:
    assert tf.config.experimental.list_physical_devices("GPU") == [] == tf.config.list_physical_devices("GPU")
    with tf.device("/cpu:0"):
        x = tf.random.uniform((8, 8))
        y = tf.matmul(x, x)
    assert "CPU:0" in y.device and "CPU:0" in (y + x).device


def test_copies_to_devices_warn_once_and_a_missing_gpu_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    x = tf.constant([1.0])
    devices._warned.clear()
    for _ in range(2):
        assert np.array_equal(x.cpu().numpy(), [1.0])
    with pytest.raises(RuntimeError, match="GPU:0 unknown device"):
        x.gpu()
    texts = [record.getMessage() for record in caplog.records]
    assert len(texts) == 2 and all(f"From {__file__}:" in text for text in texts)
    assert "_EagerTensorBase.gpu (from tensorflow.python.framework.ops) is deprecated" in texts[1]
    assert texts[1].endswith("Instructions for updating:\nUse tf.identity instead.")


def test_matmul_mean() -> None:
    @tf.function
    def optimised(a: Any, b: Any) -> Any:
        return tf.reduce_mean(tf.matmul(a, b))

    a, b = tf.random.uniform((50, 50)), tf.random.uniform((50, 50))
    np.testing.assert_allclose(optimised(a, b).numpy(), tf.reduce_mean(tf.matmul(a, b)).numpy(), rtol=1e-5)


def test_a_training_loop_plots() -> None:
    x = np.linspace(-1, 1, 100, dtype=np.float32)
    y = 3 * x + 2
    w, b = tf.Variable(5.0, name="weight"), tf.Variable(10.0, name="bias")
    optimizer = tf.keras.optimizers.SGD(learning_rate=0.1)
    history = []
    for _ in range(100):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x * w + b - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b], strict=True))
        history.append(loss.numpy().mean())
    assert history[-1] < 1e-3 < history[0] and all(isinstance(h, np.floating) for h in history)
    np.testing.assert_allclose([w.numpy(), b.numpy()], [3.0, 2.0], atol=0.05)


def test_concrete_functions_mutate_variables() -> None:
    v = tf.Variable(1.0)
    concrete = tf.function(lambda x: v.assign_add(x)).get_concrete_function(tf.TensorSpec([], tf.float32))
    concrete(tf.constant(2.0))
    concrete(tf.constant(3.0))
    assert float(v.numpy()) == 6.0


def test_a_symbolic_tensor_has_no_value() -> None:
    with pytest.raises(AttributeError, match="symbolic|numpy"):
        tf.function(lambda x: x.numpy())(tf.constant(1.0))


def simple_relu(x):  # as the guide writes it: annotations would show in the generated code
    if tf.greater(x, 0):
        return x
    else:
        return 0


def test_if_on_a_tensor() -> None:
    staged = tf.function(simple_relu)
    assert int(staged(tf.constant(1))) == 1 and int(staged(tf.constant(-1))) == 0
    assert len(staged.pretty_printed_concrete_signatures().splitlines()) > 1


def test_the_code_that_autograph_generates() -> None:
    for code in (tf.autograph.to_code(simple_relu), tf.autograph.to_code(tf.function(simple_relu).python_function)):
        lines = code.splitlines()
        assert lines[0] == "def tf__simple_relu(x):"
        assert lines[1] == (
            "    with ag__.FunctionScope('simple_relu', 'fscope', ag__.ConversionOptions(recursive=True, "
            "user_requested=True, optional_features=(), internal_convert_user_code=True)) as fscope:"
        )
        assert "        retval_ = ag__.UndefinedReturnValue()" in lines
        assert lines[-2].strip() == (
            "ag__.if_stmt(ag__.converted_call(ag__.ld(tf).greater, (ag__.ld(x), 0), None, fscope), if_body, else_body, "
            "get_state, set_state, ('do_return', 'retval_'), 2)"
        )
        assert lines[-1] == "        return fscope.ret(retval_, do_return)"


def test_fizzbuzz_in_a_function(capfd: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def fizzbuzz(n: Any) -> None:
        for i in tf.range(1, n + 1):
            print("Tracing for loop")
            if i % 15 == 0:
                print("Tracing fizzbuzz branch")
                tf.print("fizzbuzz")
            elif i % 3 == 0:
                print("Tracing fizz branch")
                tf.print("fizz")
            elif i % 5 == 0:
                print("Tracing buzz branch")
                tf.print("buzz")
            else:
                print("Tracing default branch")
                tf.print(i)

    fizzbuzz(tf.constant(5))
    first = capfd.readouterr()
    fizzbuzz(tf.constant(20))
    second = capfd.readouterr()
    branches = ["for loop", "fizzbuzz branch", "fizz branch", "buzz branch", "default branch"]
    assert first.out.splitlines() == [f"Tracing {branch}" for branch in branches] and second.out == ""
    assert first.err.split() == ["1", "2", "fizz", "4", "buzz"]
    assert second.err.split() == [
        "1",
        "2",
        "fizz",
        "4",
        "buzz",
        "fizz",
        "7",
        "8",
        "fizz",
        "buzz",
        "11",
        "fizz",
        "13",
        "14",
        "fizzbuzz",
        "16",
        "17",
        "fizz",
        "19",
        "buzz",
    ]


def test_while_on_a_tensor(capfd: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def f(x: Any) -> Any:
        while tf.reduce_sum(x) > 1:
            tf.print(x)
            x = tf.tanh(x)
        return x

    result = f(tf.constant([0.9, 0.8, 0.7, 0.6, 0.5]))
    assert result.shape == (5,) and float(tf.reduce_sum(result)) <= 1
    assert len(capfd.readouterr().err.splitlines()) > 3


def test_nodes_of_the_graph() -> None:
    double = tf.function(lambda a: a + a).get_concrete_function(tf.constant("a"))
    nodes = double.graph.as_graph_def().node
    assert [(list(node.input), node.name) for node in nodes] == [([], "a"), (["a", "a"], "add"), (["add"], "Identity")]

    def train(data: Any) -> Any:
        loss = tf.constant(0)
        for x, y in data:
            loss += tf.abs(y - x)
        return loss

    for n_pairs, n_nodes in ((3, 11), (10, 32)):
        concrete = tf.function(train).get_concrete_function([(1, 1)] * n_pairs)
        assert len(concrete.graph.as_graph_def().node) == n_nodes


def test_errors_of_user_code_name_the_users_lines() -> None:
    @tf.function
    def f(x: Any) -> Any:
        if tf.reduce_sum(x) > 0:
            return tf.matmul(x, x)
        return x

    with pytest.raises(ValueError, match=r"(?s)in user code:.*test_rows.py.*return tf.matmul\(x, x\)"):
        f(tf.zeros((2, 3)))
