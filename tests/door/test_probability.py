"""What TensorFlow Probability asks of the door: inner functions that compute, specs, v1 scopes; where installed, itself.

It is tested where it is installed: `pip install --no-deps tensorflow-probability tf-keras`, and what these need.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.door import internal_inspect, internal_ops, type_spec_names
from fastgraph.ops import custom_gradients
from tests.door.test_door import answer


@pytest.mark.parametrize(
    ("s0", "s1", "wanted"),
    [
        ([2, 3], [2, 3], ([], [])),
        ([2, 1], [2, 3], ([1], [])),
        ([3], [2, 3], ([0], [])),
        ([2, 1, 1], [5, 1], ([1, 2], [0, 2])),
        ([], [4], ([0], [])),
    ],
)
@pytest.mark.parametrize("dtype", [fg.int32, fg.int64])
def test_axes_that_gradients_are_summed_over(s0: list[int], s1: list[int], wanted: tuple, dtype: fg.DType) -> None:
    given = [fg.constant(each, dtype) for each in (s0, s1)]
    unknown = fg.function(fg.raw_ops.BroadcastGradientArgs, input_signature=[fg.TensorSpec([None], dtype)] * 2)
    for axes in (fg.raw_ops.BroadcastGradientArgs(*given), unknown(*given)):
        assert (axes[0].numpy().tolist(), axes[1].numpy().tolist()) == wanted
        assert axes[0].dtype == axes[1].dtype == dtype


def test_shapes_that_do_not_fit_have_no_such_axes() -> None:
    with pytest.raises(fg.errors.InvalidArgumentError):
        fg.raw_ops.BroadcastGradientArgs([2], [3])


def test_slopes_of_gamma_variates_are_those_of_the_draw() -> None:
    alpha = fg.constant([0.5, 2.0, 7.0])
    with fg.GradientTape() as tape:
        tape.watch(alpha)
        sample = fg.random.stateless_gamma([3], [1, 2], alpha)
    slope = fg.raw_ops.RandomGammaGrad(alpha=alpha, sample=sample)
    np.testing.assert_allclose(slope, tape.gradient(sample, alpha), rtol=1e-6)


def test_a_gradient_through_what_prevents_one_is_an_error() -> None:
    x = fg.constant([1.0, 2.0])
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = custom_gradients.prevent_gradient(x, message="not here")
    assert y.numpy().tolist() == [1.0, 2.0]
    with pytest.raises(LookupError, match="not here"):
        tape.gradient(y, x)


def test_a_graph_that_is_read_prevents_gradients_too() -> None:
    spec = fg.TensorSpec([], fg.float32, name="x")
    definition = fg.function(lambda x: fg.identity(x, "kept") * 2.0).get_concrete_function(spec).graph.as_graph_def()
    (node,) = [node for node in definition.node if node.name == "kept"]
    node.op = "PreventGradient"
    node.attr["message"].s = b"not here"
    read = fg.function(lambda x: fg.graph_util.import_graph_def(definition, {"x": x}, ["Identity:0"])[0])
    x = fg.constant(3.0)
    assert float(read(x)) == 6.0
    with (
        pytest.raises(LookupError, match="Gradient explicitly disabled. Reason: b'not here'"),
        fg.GradientTape() as tape,
    ):
        tape.watch(x)
        tape.gradient(read(x), x)


def test_shapes_whose_gradients_cannot_be_summed_are_told_by_the_op_s_name() -> None:
    with pytest.raises(
        fg.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2,3\] vs. \[4\].*BroadcastGradientArgs"
    ):
        fg.raw_ops.BroadcastGradientArgs(s0=[2, 3], s1=[4])


def test_inner_functions_mean_what_their_callers_want() -> None:
    assert internal_ops.constant_value_as_shape(fg.constant([2, -1])).as_list() == [2, None]
    known = []

    @fg.function(input_signature=[fg.TensorSpec([3, None])])
    def shaped(x):
        known.append(internal_ops.constant_value_as_shape(fg.shape(x)).as_list())
        return x

    shaped(fg.ones([3, 2]))
    assert known == [[3, None]]
    assert internal_ops.pfor(lambda i: i * i, 4).numpy().tolist() == [0, 1, 4, 9]
    drawn = internal_ops.parameterized_truncated_normal([100], 1.0, 2.0, 0.0, 3.0)
    assert drawn.shape == [100] and 0 <= float(fg.reduce_min(drawn)) <= float(fg.reduce_max(drawn)) <= 3
    diagonal = internal_ops.add_operators([fg.linalg.LinearOperatorDiag([1.0, 2.0])] * 2)
    assert isinstance(diagonal[0], fg.linalg.LinearOperatorDiag)
    assert diagonal[0].to_dense().numpy().tolist() == [[2.0, 0.0], [0.0, 4.0]]
    x, kernel = fg.ones([1, 4, 1]), fg.ones([2, 1, 1])
    made = internal_ops.Convolution(x.shape, kernel.shape, "VALID", strides=[2])
    assert made(x, kernel).numpy().reshape(-1).tolist() == [2.0, 2.0]
    for found, pred in ((7, True), (9, False)):
        pairs = [(fg.constant(False), lambda: fg.constant(5)), (fg.constant(pred), lambda: fg.constant(7))]
        assert internal_ops.case_helper(fg.cond, pairs, lambda: fg.constant(9), False, None).numpy() == found


def test_variables_in_structures_become_tensors_and_their_specs_are_compatible() -> None:
    v = fg.Variable([1.0, 2.0])
    kept = type_spec_names.convert_variables_to_tensors({"v": v, "n": 3})
    assert kept["n"] == 3 and not isinstance(kept["v"], fg.Variable) and kept["v"].numpy().tolist() == [1.0, 2.0]
    spec = type_spec_names.VariableSpec.from_value(v)
    assert (spec.shape, spec.dtype, spec.trainable, spec.value_type) == ([2], fg.float32, True, fg.Variable)
    wide = type_spec_names.VariableSpec([None])
    assert wide.is_compatible_with(spec) and spec.is_compatible_with(wide)
    assert not spec.is_compatible_with(type_spec_names.VariableSpec([3]))


def test_argspecs_of_own_functions_are_without_annotations() -> None:
    assert internal_inspect.getfullargspec(fg.size).args == ["input", "out_type", "name"]
    assert internal_inspect.getfullargspec(fg.size).annotations == {}


def test_dtypes_may_be_left_to_the_ops() -> None:
    x = fg.constant([[1.0, 3.0]])
    assert fg.size(x, out_type=None).dtype == fg.int32
    assert fg.argmax(x, 1, output_type=None).dtype == fg.argmin(x, 1, output_type=None).dtype == fg.int64


@pytest.mark.skipif(
    importlib.util.find_spec("tensorflow_probability") is None, reason="tensorflow_probability is not installed"
)
def test_distributions_chains_and_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    found = answer(
        """
        import tensorflow as tf
        import tensorflow_probability as tfp
        tfd, tfb = tfp.distributions, tfp.bijectors
        found["density"] = float(tfd.TransformedDistribution(tfd.Normal(0.0, 1.0), tfb.Exp()).log_prob(2.0))
        kernel = tfp.mcmc.HamiltonianMonteCarlo(tfd.Normal(1.0, 0.5).log_prob, 0.3, 3)
        run = tf.function(lambda: tfp.mcmc.sample_chain(300, 0.0, kernel=kernel, trace_fn=None, seed=(1, 2)))
        found["mean"] = abs(float(tf.reduce_mean(run())) - 1.0) < 0.2
        x = tf.Variable(0.0)
        tfp.math.minimize(lambda: (x - 3.0) ** 2, 100, tf.keras.optimizers.Adam(0.3))
        found["least"] = abs(float(x) - 3.0) < 0.1
        """
    )
    assert found == {"density": pytest.approx(-1.852312, abs=1e-5), "mean": True, "least": True}
