"""How errors end: with the op and, where TensorFlow's quick way takes the arguments, its name; what binds and what not."""

import re
import subprocess
import sys

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import errors

X, I5 = fg.constant([1.0, 2.0]), fg.constant([5])


@pytest.mark.parametrize(
    ("op", "ending"),
    [
        (lambda: fg.gather(X, I5), "[Op:GatherV2] name: "),
        (lambda: fg.gather(X, I5, name="foo"), "[Op:GatherV2] name: foo"),
        (lambda: fg.gather(X, np.array([5])), "[Op:GatherV2] name: "),
        (lambda: fg.gather(X, 5), "[Op:GatherV2] name: "),
        (lambda: fg.gather(X, [5]), "[Op:GatherV2]"),
        (lambda: fg.gather([1.0, 2.0], I5, name="foo"), "[Op:GatherV2]"),
        (lambda: fg.reshape(X, [3]), "[Op:Reshape]"),
        (lambda: fg.reshape(X, [3], name="foo"), "[Op:Reshape]"),
        (lambda: fg.tile(X, [1, 2]), "[Op:Tile]"),
        (lambda: fg.transpose(X, [1]), "[Op:Transpose]"),
        (lambda: fg.reduce_sum(X, 5), "[Op:Sum] name: "),
        (lambda: fg.reduce_sum(X, [0, 0]), "[Op:Sum]"),
        (lambda: fg.reduce_sum([1], 5), "[Op:Sum]"),
        (lambda: fg.multiply(X, [1.0, 2.0, 3.0]), "[Op:Mul]"),
        (lambda: fg.multiply(X, fg.ones([3])), "[Op:Mul] name: "),
        (lambda: fg.multiply(X, fg.ones([3]), name="bar"), "[Op:Mul] name: bar"),
        (lambda: fg.matmul([[1.0]], [[1.0], [2.0]]), "[Op:MatMul] name: "),
        (lambda: fg.cumsum([1], 5), "[Op:Cumsum] name: "),
        (lambda: fg.stack([X, fg.ones([3])]), "[Op:Pack] name: stack"),
        (lambda: fg.stack([X, fg.ones([3])], name="q"), "[Op:Pack] name: q"),
        (lambda: fg.concat([X, fg.ones([3, 1])], 0), "[Op:ConcatV2] name: concat"),
        (lambda: X[5], "[Op:StridedSlice] name: strided_slice/"),
        (lambda: fg.strings.to_number("x"), "[Op:StringToNumber]"),
        (lambda: fg.sqrt([1]), "[Op:Sqrt]"),
        (lambda: fg.sqrt(fg.constant(1)), "[Op:Sqrt] name: "),
    ],
)
def test_endings(op, ending):
    with pytest.raises(errors.InvalidArgumentError) as caught:
        op()
    assert str(caught.value).endswith(ending) and caught.value.message == str(caught.value)
    assert caught.value.args[2] == caught.value.message


def test_lists_are_counted_in_the_name_of_the_function():
    with pytest.raises(errors.InvalidArgumentError, match="__wrapped__Pack_N_2_device"):
        fg.stack([X, fg.ones([3])])


def test_constants_of_another_size():
    for make in (fg.constant_initializer, fg.keras.initializers.Constant):
        with pytest.raises(TypeError, match=r"\(converted from \[1, 2, 3\]\) has 3 elements, but got `shape` \(2, 2\)"):
            make([1, 2, 3])([2, 2])
        with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2, 2\), but got \(3,\)."):
            fg.function(lambda make=make: make([1, 2, 3])([2, 2]))()
        np.testing.assert_array_equal(make([1, 2, 3, 4])([2, 2]), [[1, 2], [3, 4]])
        np.testing.assert_array_equal(make([1])([2, 2]), [[1, 1], [1, 1]])
    for wrong in ({}, None):
        with pytest.raises(TypeError, match="Invalid type for initial value"):
            fg.constant_initializer(wrong)


@pytest.mark.parametrize(
    ("call", "reason", "signature"),
    [
        (lambda f: f(), "missing a required argument: 'x'", "(x, y=<captured_default_value>)"),
        (lambda f: f(1, 2, 3), "too many positional arguments", "(x, y=<captured_default_value>)"),
        (lambda f: f(1, z=3), "got an unexpected keyword argument 'z'", "(x, y=<captured_default_value>)"),
        (lambda f: f(1, x=3), "multiple values for argument 'x'", "(x, y=<captured_default_value>)"),
        (lambda f: f.get_concrete_function(), "missing a required argument: 'x'", "(x, y="),
    ],
)
def test_arguments_that_do_not_bind(call, reason, signature):
    f = fg.function(lambda x, y=2: x)
    text = f"Binding inputs to tf.function failed due to `{reason}`. Received args: "
    with pytest.raises(TypeError, match=re.escape(text)) as caught:
        call(f)
    assert f"for signature: {signature}" in str(caught.value)


def test_arguments_that_do_not_fit_a_signature():
    f = fg.function(lambda x, y=2: x, input_signature=[fg.TensorSpec([1])])
    spec = "TensorSpec(shape=(1,), dtype=tf.float32, name=None)"
    for call, reason in (
        (lambda: f(fg.ones([2])), f"Can not cast {spec.replace('(1,)', '(2,)')} to {spec}"),
        (lambda: f([1.0], 3), "Can not cast 3 to Literal[2]"),
        (lambda: f("a"), "Cannot convert 'a' to EagerTensor of dtype float"),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert f"failed due to `{reason}`" in str(caught.value)
        assert f"for signature: (x: {spec}, y: Literal[2] = <captured_default_value>)." in str(caught.value)


def test_values_of_unknown_rank_for_a_signature():
    inner = fg.function(lambda x: x * 2.0, input_signature=[fg.TensorSpec([1])])
    concrete = inner.get_concrete_function()
    for callee in (inner, concrete):
        for shape in (None, [None]):
            outer = fg.function(lambda x, callee=callee: callee(x), input_signature=[fg.TensorSpec(shape)])
            np.testing.assert_array_equal(outer(fg.ones([1])), [2])
            with pytest.raises(errors.InvalidArgumentError, match="not compatible with expected shape"):
                outer(fg.ones([2]))
    with pytest.raises(TypeError, match="Can not cast"):
        fg.function(lambda x: inner(x), input_signature=[fg.TensorSpec([None, None])])(fg.ones([1, 1]))


def test_converted_code_does_not_depend_on_the_hash_seed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import fastgraph as fg\n"
        "def f(x):\n"
        "    alpha = beta = gamma = delta = epsilon = zeta = x\n"
        "    while x > 0:\n"
        "        alpha, beta, gamma = alpha + 1, beta + 1, gamma + 1\n"
        "        delta, epsilon, zeta = delta + 1, epsilon + 1, zeta + 1\n"
        "        x = x - 1\n"
        "    return alpha, beta, gamma, delta, epsilon, zeta\n"
        "print(fg.autograph.to_code(f))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, str(program)], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(found) == 1 and "nonlocal" in found.pop()
