"""What users of TensorFlow have asked for, by the number in the list of requests: 6 to 18 are about Functions.

Rule: one test shows that each is there. Fuller tests stand where the docstrings say.
"""

from __future__ import annotations

import gc
import logging
import os
import re
import sys
import warnings
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors
from tests.proportion import grows_in_proportion

HERE = os.path.basename(__file__)


def line_of(text: str) -> int:
    """The line of this file that ends with the comment `# text`."""
    with open(__file__, encoding="utf-8") as file:
        return next(i for i, line in enumerate(file, 1) if line.rstrip().endswith(f"# {text}"))


# ---- 6: long traces -------------------------------------------------------------------------------------------------


def test_06_tracing_time_grows_linearly_with_the_graph() -> None:
    def trace(n: int) -> None:
        def unrolled(x: Any) -> Any:
            for _ in range(n):
                x = x * 1.5 + 1.0
            return x

        tf.function(unrolled, autograph=False).get_concrete_function(tf.constant(1.0))

    trace(100)
    assert grows_in_proportion(partial(trace, 500), partial(trace, 4000), 8 * 3)


def test_06_unrolled_loop_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    @tf.function
    def f(x: Any) -> Any:
        for _ in range(1500):
            x = x + 1.0  # unrolled
        if x > 0.0:
            x = -x
        return x

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        f(tf.constant(1.0))
    text = " ".join([str(w.message) for w in told] + caplog.messages)
    assert HERE in text and "unroll" in text


# ---- 7 to 9: retracing and the cache --------------------------------------------------------------------------------


def test_07_python_numbers_trace_anew_and_the_warning_says_so(caplog: pytest.LogCaptureFixture) -> None:
    @tf.function
    def f(x: Any, step: int) -> Any:
        return x * step

    with caplog.at_level(logging.WARNING, "tensorflow"):
        for step in range(6):
            f(tf.constant(1.0), step)
    assert f.experimental_get_tracing_count() == 6
    assert "triggered tf.function retracing" in caplog.text


def test_07_the_warning_names_the_argument() -> None:
    @tf.function
    def f(x: Any, step: int) -> Any:
        return x * step

    f(tf.constant(1.0), 7)
    f(tf.constant(1.0), 8)
    text = str(f.explain_retraces())
    assert "step" in text and "7" in text and "8" in text


def test_08_lengths_that_vary_are_one_general_trace() -> None:
    @tf.function(reduce_retracing=True)
    def f(x: Any) -> Any:
        return tf.reduce_sum(x * 2.0)

    for n in range(1, 20):
        assert float(f(tf.ones([n]))) == 2.0 * n
    assert f.experimental_get_tracing_count() <= 2


def test_09_traces_do_not_pile_up() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return x + 1.0

    f(tf.constant(1.0))
    f.clear_cache()
    assert f.experimental_get_tracing_count() >= 1
    assert f.pretty_printed_concrete_signatures() == ""


def test_09_graphs_go_with_their_function() -> None:
    def made() -> Any:
        @tf.function
        def f(x: Any) -> Any:
            return x + 1.0

        f(tf.constant(1.0))
        concrete = f.get_concrete_function(tf.constant(1.0))
        concrete.wait()  # who compiles it holds it
        return weakref.ref(concrete.graph)

    gone = made()
    gc.collect()
    assert gone() is None


# ---- 10: Variables --------------------------------------------------------------------------------------------------


def test_10_variables_made_on_every_call_are_refused() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return x * tf.Variable(2.0, name="factor")

    with pytest.raises(ValueError, match=r"only supports singleton\s+tf.Variables created on the first call"):
        f(tf.constant(1.0))


def test_10_the_error_names_the_variable() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return x * tf.Variable(2.0, name="factor")  # made here

    with pytest.raises(ValueError) as caught:
        f(tf.constant(1.0))
    text = str(caught.value).partition("created on the first call")[2]
    assert "factor" in text and f"{HERE}:{line_of('made here')}" in text.replace('", line ', ":")


# ---- 11, 12: the user's own lines -----------------------------------------------------------------------------------


def test_11_debuggers_see_the_users_lines() -> None:
    """Also tests/autograph/test_debuggers.py."""
    seen: set[int] = set()

    @tf.function
    def f(x: Any) -> Any:
        if x > 0.0:
            y = x * 2.0  # seen by debuggers
        else:
            y = -x
        return y

    def follow(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename == __file__ and event == "line":
            seen.add(frame.f_lineno)
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        f(tf.constant(1.0))
    finally:
        sys.settrace(before)
    assert line_of("seen by debuggers") in seen


def test_12_run_time_errors_name_the_op_and_the_line() -> None:
    @tf.function
    def f(x: Any, i: Any) -> Any:
        return tf.gather(x, i)  # fails here

    with pytest.raises(errors.InvalidArgumentError) as caught:
        f(tf.constant([1.0, 2.0]), tf.constant(7))
    text = str(caught.value)
    assert "Gather" in text and f'{HERE}", line {line_of("fails here")}' in text
    assert text.endswith("[[{{node GatherV2}}]] of operands float32[2], int32[]")


def test_12_errors_while_tracing_keep_their_class_and_show_the_line() -> None:
    @tf.function
    def f(x: Any) -> Any:
        if x > 0.0:
            raise ValueError("boom")  # raised here
        return x

    with pytest.raises(ValueError, match="in user code") as caught:
        f(tf.constant(1.0))
    assert f"line {line_of('raised here')}" in str(caught.value)


# ---- 13, 14: lists and TensorArrays ---------------------------------------------------------------------------------


def test_13_lists_in_staged_loops() -> None:
    @tf.function
    def f(n: Any) -> Any:
        found = []
        for i in tf.range(n):
            found.append(i * 2)
        return tf.stack(found)

    try:
        np.testing.assert_array_equal(f(tf.constant(3)), [0, 2, 4])
    except errors.InaccessibleTensorError as error:
        assert "TensorArray" in str(error)


def test_14_writes_that_are_kept_mean_the_same_eagerly_and_in_a_graph() -> None:
    def f() -> Any:
        array = tf.TensorArray(tf.int32, 2, clear_after_read=False)
        array = array.write(0, 5)
        array = array.write(1, 6)
        return array.stack()

    np.testing.assert_array_equal(f(), tf.function(f)())


@pytest.mark.parametrize("staged_loop", [False, True])
def test_14_a_write_that_is_lost_is_told_with_its_line(staged_loop: bool) -> None:
    def f(n: Any) -> Any:
        array = tf.TensorArray(tf.int32, 2, element_shape=[])
        for i in tf.range(n) if staged_loop else range(2):
            array.write(i, 5)
        return array.stack()

    with pytest.warns(UserWarning, match="result of TensorArray.write at .* was never used") as told:
        np.testing.assert_array_equal(tf.function(f)(tf.constant(2)), [0, 0])
    line = f.__code__.co_firstlineno + 3
    assert f"{__file__}:{line}" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(f(tf.constant(2)), [5, 5])  # eagerly a write changes the array itself


def test_14_a_write_in_a_branch_is_of_that_branch() -> None:
    def f(x: Any) -> Any:
        array = tf.TensorArray(tf.int32, 2).write(0, 1).write(1, 2)
        if x > 0:
            array = array.write(0, x)
        return array.stack()

    np.testing.assert_array_equal(tf.function(f)(tf.constant(-3)), [1, 2])


# ---- 15, 16: what cannot be converted, what has no value ------------------------------------------------------------

# fmt: off
SEVERAL = {"a": lambda v: v if v > 0.0 else -v, "b": lambda v: v * 2.0 if v > 0.0 else v}
# fmt: on


def test_15_several_lambdas_on_a_line() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(tf.function(SEVERAL["a"])(tf.constant(-2.0))) == 2.0
        assert float(tf.function(SEVERAL["b"])(tf.constant(2.0))) == 4.0


def test_16_numpy_of_a_symbolic_tensor_says_what_to_do() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return x.numpy()

    with pytest.raises(AttributeError, match=r"no value until the graph runs.*tf\.print"):
        f(tf.constant(1.0))
    with pytest.raises(NotImplementedError, match="symbolic"):
        tf.function(lambda x: tf.constant(np.arange(x)))(tf.constant(3))


def test_16_the_error_says_where_the_tensor_comes_from() -> None:
    @tf.function
    def f(x: Any) -> Any:
        y = x + 1.0  # comes from here
        return y.numpy()

    with pytest.raises(AttributeError) as caught:
        f(tf.constant(1.0))
    message = re.sub(r"(?s)^.*AttributeError: ", "", str(caught.value))
    assert re.search(rf"\(from f, .*{HERE}:{line_of('comes from here')}\)", message)
    assert "tf.print" in message and "tf.py_function" in message

    @tf.function
    def g(x: Any) -> Any:
        return np.sqrt(x)

    with pytest.raises(NotImplementedError, match=r"\(from g, an argument of it\)"):
        g(tf.constant(1.0))


def test_16_a_leaked_tensor_says_where_it_comes_from() -> None:
    leaked = []

    @tf.function
    def f(x: Any) -> Any:
        leaked.append(x * 2.0)  # leaked here
        return x

    f(tf.constant(1.0))
    for use in (lambda: leaked[0] + 1.0, lambda: tf.function(lambda: leaked[0] + 1.0)()):
        with pytest.raises(errors.InaccessibleTensorError) as caught:
            use()
        assert re.search(rf"\(from f, .*{HERE}:{line_of('leaked here')}\)", str(caught.value))


# ---- 17: deadlocks --------------------------------------------------------------------------------------------------


def test_17_function_in_a_generator_that_a_function_reads() -> None:
    """Forks and threads: tests/faults/test_forks.py and tests/faults/test_threads.py."""

    @tf.function
    def square(x: Any) -> Any:
        return x * x

    def generator() -> Iterator[Any]:
        for i in range(4):
            yield square(tf.constant(i))

    @tf.function
    def f(dataset: Any) -> Any:
        s = tf.constant(0)
        for x in dataset.map(square):
            s += square(x)
        return s

    data = tf.data.Dataset.from_generator(generator, output_signature=tf.TensorSpec((), tf.int32))
    assert int(f(data)) == sum((i * i) ** 4 for i in range(4))


def test_17_function_in_a_py_function_in_a_map() -> None:
    @tf.function
    def square(x: Any) -> Any:
        return x * x

    data = tf.data.Dataset.range(3).map(lambda x: tf.py_function(square, [x], tf.int64))
    assert [int(x) for x in data] == [0, 1, 4]


def test_17_recursion_ends() -> None:
    """More: tests/api/test_recursion.py."""
    assert int(factorial(tf.constant(5))) == 120


@tf.function(input_signature=[tf.TensorSpec((), tf.int32)])
def factorial(n: Any) -> Any:
    if n <= 1:
        return tf.constant(1)
    return n * factorial(n - 1)


# ---- 18: gradients that are None ------------------------------------------------------------------------------------


def test_18_a_gradient_of_none_says_why(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastgraph.core.tape.gradient_tape._logged", {})  # a process says only so much
    x = tf.constant(3)
    with warnings.catch_warnings(record=True) as told, caplog.at_level(logging.WARNING, "tensorflow"):
        warnings.simplefilter("always")
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        assert tape.gradient(y, x) is None
    assert "int32" in " ".join([str(w.message) for w in told] + caplog.messages)


def test_18_zeros_instead_of_none() -> None:
    x, y = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        z = x * 2.0
    assert float(tape.gradient(z, y, unconnected_gradients=tf.UnconnectedGradients.ZERO)) == 0.0
