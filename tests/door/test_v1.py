"""tf.compat.v1: arguments in its order, Variables and scopes, losses, wrapped functions, raw operations."""

from __future__ import annotations

import operator
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.door import v1_names

v1 = fg.compat.v1


def numbers(x: Any) -> Any:
    return x.numpy().tolist()


X = [[1.0, 2.0], [3.0, 4.0]]
PIXELS = np.arange(50, dtype=np.float32).reshape(1, 5, 10, 1)
BATCH = fg.Variable([[1, 2], [3, 4]])
CALLS: list[tuple[Any, Any]] = [
    (lambda: v1.reduce_sum(X, 1, True), [[3.0], [7.0]]),
    (lambda: v1.reduce_max(X, reduction_indices=[0]), [3.0, 4.0]),
    (lambda: v1.math.argmax(X, None, None, 1), [1, 1]),
    (lambda: v1.arg_min(X, 0), [0, 0]),
    (lambda: v1.expand_dims([1], dim=0), [[1]]),
    (lambda: v1.squeeze([[1]], squeeze_dims=[0]), [1]),
    (lambda: v1.where([True, False], X, [[0.0, 0.0], [9.0, 9.0]]), [[1.0, 2.0], [9.0, 9.0]]),
    (lambda: v1.where([False, True]), [[1]]),
    (lambda: v1.div([7, -7], 2), [3, -4]),
    (lambda: v1.div([7.0], 2.0), [3.5]),
    (lambda: v1.to_int32([1.7]), [1]),
    (lambda: v1.batch_gather([[1, 2], [3, 4]], [[1], [0]]), [[2], [3]]),
    (lambda: v1.setdiff1d([1, 2, 3], [2])[0], [1, 3]),
    (lambda: v1.sparse_to_dense([[0, 1]], [1, 2], 5), [[0, 5]]),
    (lambda: v1.sparse_to_dense([3, 1], [4], [5, 6], 7, validate_indices=False), [7, 6, 7, 5]),
    (lambda: v1.initializers.identity(2.0)([2, 2]), [[2, 0], [0, 2]]),
    (lambda: v1.nn.xw_plus_b([[1.0, 1.0]], X, [1.0, 1.0]), [[5.0, 7.0]]),
    (lambda: v1.string_split(["a  b"]).values, [b"a", b"b"]),
    (lambda: v1.strings.split(["a b"], result_type="RaggedTensor").values, [b"a", b"b"]),
    (lambda: v1.strings.split(fg.ragged.constant([["a b"], []]), result_type="RaggedTensor").flat_values, [b"a", b"b"]),
    (lambda: v1.image.resize_nearest_neighbor([[[[1.0]], [[2.0]]]], [3, 1])[0, :, 0, 0], [1.0, 1.0, 2.0]),
    (lambda: v1.image.resize_bilinear([[[[0.0]], [[2.0]]]], [4, 1])[0, :, 0, 0], [0.0, 1.0, 2.0, 2.0]),
    (lambda: v1.image.resize_bilinear([[[[0.0]], [[2.0]]]], [3, 1], True)[0, :, 0, 0], [0.0, 1.0, 2.0]),
    (lambda: v1.nn.embedding_lookup([[[0.0], [2.0]], [[1.0]]], [0, 1, 2]), [[0.0], [1.0], [2.0]]),
    (lambda: v1.nn.embedding_lookup([[[0.0], [1.0]], [[2.0]]], [0, 1, 2], "div"), [[0.0], [1.0], [2.0]]),
    (lambda: v1.nn.conv2d_backprop_filter(np.ones([1, 2, 2, 1], "f"), [1, 1, 1, 1], np.ones([1, 2, 2, 1], "f"),
                                          [1, 1, 1, 1], "VALID"), [[[[4.0]]]]),
    (lambda: v1.initializers.constant(3.0)([2]), [3.0, 3.0]),
    (lambda: v1.losses.huber_loss([0.0, 0.0], [0.5, 3.0]), (0.125 + 2.5) / 2),
    (lambda: v1.losses.mean_squared_error([1.0, 2.0], [2.0, 4.0], [1.0, 0.0]), 1.0),
    (lambda: v1.losses.absolute_difference([1.0, 2.0], [2.0, 4.0], reduction="none"), [1.0, 2.0]),
    (lambda: v1.losses.absolute_difference([1.0], [2.0], loss_collection=v1.GraphKeys.LOSSES), 1.0),
    (lambda: fg.constant([v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.UPDATE_OPS]), [b"variables", b"update_ops"]),
    (lambda: v1.losses.cosine_distance([[1.0, 0.0]], [[1.0, 0.0]], dim=1), 0.0),
    (lambda: v1.losses.compute_weighted_loss([1.0, 2.0], 2.0, reduction="weighted_sum"), 6.0),
    (lambda: v1.losses.hinge_loss([1.0, 0.0], [0.5, 0.5]), 1.0),
    (lambda: v1.sparse_reduce_max_sparse(fg.sparse.from_dense([[1, 2], [0, 3]]), 1).values, [2, 3]),
    (lambda: v1.sparse_matmul([[1.0, 2.0]], [[3.0], [4.0]]), [[11.0]]),
    (lambda: v1.space_to_depth(np.ones([1, 2, 2, 1], "f"), 2, None, "NHWC"), [[[[1.0, 1.0, 1.0, 1.0]]]]),
    (lambda: v1.batch_scatter_update(BATCH, [[0], [1]], [[9], [8]]), [[9, 2], [3, 8]]),
    (lambda: v1.spectral.irfft([1 + 0j, 2], [2]), [1.5, -0.5]),
    (lambda: v1.rsqrt(4.0), 0.5),
    (lambda: v1.trace(X), 5.0),
    (lambda: v1.nn.fractional_max_pool(np.ones([1, 6, 6, 1], "f"), [1.0, 2.0, 2.0, 1.0])[1], [0, 2, 4, 6]),
    (lambda: v1.image.extract_glimpse(PIXELS, [3, 4], [[0.2, -0.1]])[0, :, 0, 0], [12.0, 22.0, 32.0]),
    (lambda: v1.image.extract_glimpse(PIXELS, [2, 3], [[2.0, 5.0]], False, False)[0, 0, :, 0], [13.0, 14.0, 15.0]),
    (lambda: v1.image.resize_image_with_pad(PIXELS[0, :3, :4], 4, 9, 1)[3, :, 0],
     [0.0, 20.0, 20.0, 21.0, 22.0, 23.0, 0.0, 0.0, 0.0]),
    (lambda: v1.losses.mean_pairwise_squared_error([[0.0, 0.0]], [[1.0, 3.0]]), 4.0),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(CALLS)))
def test_calls(i: int) -> None:
    call, expected = CALLS[i]
    assert numbers(call()) == expected
    assert numbers(fg.function(call)()) == expected


RATES: list[tuple[Any, list[float]]] = [
    (lambda s: v1.train.exponential_decay(0.1, s, 5, 0.5), [0.1, 0.06597540, 0.03789291, 0.003125]),
    (lambda s: v1.train.exponential_decay(0.1, s, 5, 0.5, True), [0.1, 0.1, 0.05, 0.003125]),
    (lambda s: v1.train.natural_exp_decay(0.1, s, 5, 0.5), [0.1, 0.07408182, 0.04965853, 0.00820850]),
    (lambda s: v1.train.inverse_time_decay(0.1, s, 5, 0.5), [0.1, 0.07692308, 0.05882353, 0.02857143]),
    (lambda s: v1.train.polynomial_decay(0.1, s, 5, 0.01, 2.0), [0.1, 0.0244, 0.01, 0.01]),
    (lambda s: v1.train.polynomial_decay(0.1, s, 5, 0.01, 2.0, cycle=True), [0.1, 0.0244, 0.0181, 0.01]),
    (lambda s: v1.train.cosine_decay(0.1, s, 10, 0.3), [0.1, 0.08557248, 0.04442752, 0.03]),
    (lambda s: v1.train.cosine_decay_restarts(0.1, s, 4), [0.1, 0.01464466, 0.06913417, 0.00842652]),
    (lambda s: v1.train.cosine_decay_restarts(0.1, s, 4, 1.0, 0.9, 0.1), [0.1, 0.0231802, 0.02186218, 0.05082519]),
    (lambda s: v1.train.linear_cosine_decay(0.1, s, 10, 1.5, 0.2, 0.01), [0.121, 0.00320245, 0.04977642, 0.001]),
    (lambda s: v1.train.noisy_linear_cosine_decay(0.1, s, 10, 0.0), [0.1001, 0.05567248, 0.00628322, 0.0001]),
    (lambda s: v1.train.piecewise_constant(s, [3, 10], [1.0, 0.5, 0.1]), [1.0, 1.0, 0.5, 0.1]),
]


@pytest.mark.parametrize("i", range(len(RATES)))
def test_rates_that_fall_are_asked_later_or_in_graphs(i: int) -> None:
    make, expected = RATES[i]
    step, compiled = fg.Variable(0), fg.function(make)
    rate = make(step)
    for now, wanted in zip([0, 3, 7, 25], expected, strict=True):
        step.assign(now)
        assert float(rate()) == pytest.approx(wanted, rel=1e-5)
        assert float(compiled(fg.constant(now))) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("name", ["exponential_decay", "natural_exp_decay", "inverse_time_decay", "polynomial_decay"])
def test_rates_are_computed_in_the_dtype_of_the_first(name: str) -> None:
    rate = getattr(v1.train, name)(fg.constant(0.1, fg.float64), 3, fg.constant(7), 0.25)()
    assert rate.dtype == fg.float64
    exact = {"exponential_decay": 0.1 * 0.25 ** (3 / 7), "natural_exp_decay": 0.1 * np.exp(-0.25 * 3 / 7),
             "inverse_time_decay": 0.1 / (1 + 0.25 * 3 / 7), "polynomial_decay": (0.1 - 0.25) * (4 / 7) + 0.25}  # fmt: skip
    assert float(rate) == pytest.approx(exact[name], rel=1e-13)


def test_rates_refuse() -> None:
    with pytest.raises(ValueError, match=r"global_step is required for cosine_decay"):
        v1.train.cosine_decay(0.1, None, 10)
    with pytest.raises(ValueError, match="1 less than the length of values"):
        v1.train.piecewise_constant(1, [3], [1.0])


def test_paths_of_which_neighbours_are_one() -> None:
    scores = np.log(np.array([[[0.1, 0.8, 0.1]], [[0.1, 0.2, 0.7]], [[0.1, 0.8, 0.1]]], "f"))
    plain, merged = (v1.nn.ctc_beam_search_decoder(scores, [3], merge_repeated=merge) for merge in (False, True))
    assert numbers(plain[0][0].values) == [1, 1] and numbers(merged[0][0].values) == [1]
    assert numbers(merged[0][0].dense_shape) == [1, 1] and numbers(merged[1]) == numbers(plain[1])


def test_values_specs_and_messages() -> None:
    value = v1.ragged.constant_value([[1, 2], [3]])
    assert str(value) == "<tf.RaggedTensorValue [[1, 2], [3]]>" and value.row_splits.tolist() == [0, 2, 3]
    assert v1.ragged.constant_value([[1.5]]).dtype == np.float64  # as NumPy has it
    assert v1.ragged.constant_value([[1.5]], fg.float32).dtype == np.float32
    structures = v1.data.experimental
    assert structures.TensorStructure(fg.int32, [2]) == fg.TensorSpec([2], fg.int32)
    assert structures.RaggedTensorStructure(fg.int32, [2, None], 1) == fg.RaggedTensorSpec([2, None], fg.int32, 1)
    slices = fg.IndexedSlices(fg.constant([1.0]), fg.constant([0]))
    assert v1.convert_to_tensor_or_indexed_slices(slices) is slices
    with pytest.raises(ValueError, match="conversion requested dtype int32"):
        v1.convert_to_tensor_or_indexed_slices(slices, fg.int32)
    graph_def = v1.GraphDef()
    made = fg.function(lambda x: x + 1).get_concrete_function(fg.TensorSpec([], fg.float32, "x"))
    graph_def.ParseFromString(made.graph.as_graph_def().SerializeToString())
    wrapped = v1.wrap_function(lambda: fg.graph_util.import_graph_def(graph_def, name=""), [])
    last = next(node.name for node in graph_def.node if node.op.startswith("Add"))
    assert numbers(wrapped.prune("x:0", f"{last}:0")(fg.constant(2.0))) == 3.0
    with fg.Graph().as_default():
        placed = v1.ragged.placeholder(fg.float32, 2, [3])
        assert placed.shape.as_list() == [None, None, None, 3]


def exported() -> list[str]:
    """The names of tf.compat.v1."""
    found, space = [], ""
    for line in (Path(__file__).parent / "v1_exported.txt").read_text(encoding="utf-8").splitlines()[1:]:
        head, colon, rest = line.partition(":")
        space, rest = (head, rest) if colon else (space, line)
        found += [f"{space}.{name}".lstrip(".") for name in rest.split()]
    return found


def test_every_exported_name_is_there_or_says_what_to_use() -> None:
    silent, helpless = [], []
    for name in exported():
        try:
            operator.attrgetter(name)(v1)
        except fg.errors.NotBuiltError as error:
            if "names of TensorFlow 2" in str(error) or "no near substitute" in str(error):
                helpless.append(name)
        except AttributeError:
            silent.append(name)
    assert silent == [] and helpless == []


def test_iterators_that_begin_again() -> None:
    make = v1.data.Iterator.from_structure
    numbers_of = fg.data.Dataset.range
    iterator = make(fg.int64, ())
    step = fg.function(lambda: iterator.get_next() + 10)
    with pytest.raises(fg.errors.FailedPreconditionError, match="has not been initialized"):
        iterator.get_next()
    for dataset, expected in ((numbers_of(3), [0, 1, 12]), (numbers_of(7, 10), [7, 8, 19])):
        iterator.make_initializer(dataset)
        assert [int(iterator.get_next()), int(iterator.get_next()), int(step())] == expected
        with pytest.raises(fg.errors.OutOfRangeError):
            step()
    with pytest.raises(TypeError, match=r"Expected output types .*int64.* but got dataset with output types .*int32"):
        iterator.make_initializer(numbers_of(3, output_type=fg.int32))
    with pytest.raises(TypeError, match="Expected output shapes compatible with .* but got"):
        iterator.make_initializer(numbers_of(3).batch(2))
    with pytest.raises(ValueError, match="The two structures don't have the same nested structure"):
        iterator.make_initializer(numbers_of(3).map(lambda x: (x, x)))
    with pytest.raises(TypeError, match="must also be a sequence"):
        make((fg.int64, fg.int64), [None])


def test_losses_refuse() -> None:
    with pytest.raises(ValueError, match="Invalid Reduction Key x"):
        v1.losses.mean_squared_error([1.0], [1.0], reduction="x")
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        v1.losses.mean_squared_error([[1.0]], [[1.0]], [1.0])
    with pytest.raises(TypeError, match="unexpected keyword"):
        v1.losses.mean_squared_error([1.0], [1.0], delta=2)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("Session", "prune"),
        ("train.AdamOptimizer", "tf.keras.optimizers"),
        ("metrics.mean", "tf.keras.metrics"),
        ("layers.dense", "tf.keras.layers"),
        ("get_collection", "lists of your own"),
        ("summary.scalar", "tf.summary with a writer"),
        ("train.Saver", "tf.train.Checkpoint"),
        ("nn.dynamic_rnn", "tf.keras.layers.RNN"),
        ("disable_eager_execution_of_all", "TensorFlow 2"),
    ],
)
def test_what_is_not_built_says_what_to_use(name: str, way: str) -> None:
    space, _, last = name.rpartition(".")
    with pytest.raises(fg.errors.NotBuiltError, match=way):
        v1_names.value(space, last)


def test_what_is_refused() -> None:
    for given in (([3, 1], [4], [5, 6]), ([1, 1], [4], [5, 6]), ([1, 2], [4], [[1, 2]]), ([1, 2], [4], [1, 2], [0])):
        with pytest.raises(fg.errors.InvalidArgumentError):
            v1.sparse_to_dense(*given)
    for name in (
        "random_normal",
        "truncated_normal",
        "orthogonal",
        "identity",
        "variance_scaling",
        "uniform_unit_scaling",
    ):
        with pytest.raises(ValueError, match="expected to be floating point"):
            getattr(v1.initializers, name)(dtype="string")
    for value in ({"a": 1}, None, fg.constant([1.0])):
        with pytest.raises(TypeError, match="Invalid type for initial value"):
            v1.constant_initializer(value)


def test_variables_and_scopes() -> None:
    with v1.variable_scope("outer", initializer=v1.ones_initializer()):
        with v1.variable_scope("inner") as scope:
            made = v1.get_variable("x", [2])
    assert made.name == "outer/inner/x:0" and scope.name == "outer/inner" and numbers(made) == [1.0, 1.0]
    assert isinstance(made, v1.Variable) and not v1.Variable(1.0, False).trainable
    assert v1.get_variable("n", [], fg.int32).numpy() == 0
    with pytest.raises(ValueError, match="must be fully defined"):
        v1.get_variable("y")
    with pytest.raises(fg.errors.NotBuiltError, match="regularizer"):
        v1.get_variable("y", [1], regularizer=abs)
    assert v1.scatter_add(made, [0], [[5.0]][0]).numpy().tolist() == [6.0, 1.0]
    limit = np.sqrt(6 / (3 + 5))
    values = v1.glorot_uniform_initializer(seed=1)([3, 5]).numpy()
    assert (np.abs(values) <= limit).all() and values.std() > 0.1


def test_wrapped_functions_keep_their_variables() -> None:
    def body(x: Any) -> Any:
        with v1.variable_scope("s", reuse=v1.AUTO_REUSE):
            w = v1.get_variable("w", [], initializer=v1.constant_initializer(2.0))
            again = v1.get_variable("w", [])
        assert w is again
        b = fg.Variable(1.0)
        return x * w + b

    wrapped = v1.wrap_function(body, [fg.TensorSpec([], fg.float32)])
    assert wrapped(fg.constant(3.0)).numpy() == 7.0 and len(wrapped.variables) == 2
    next(each for each in wrapped.variables if each.name == "s/w:0").assign(5.0)
    assert wrapped(fg.constant(3.0)).numpy() == 16.0

    def twice() -> None:
        v1.get_variable("w", [])
        with pytest.raises(ValueError, match="Variable w already exists, disallowed"):
            v1.get_variable("w", [])
        with v1.variable_scope("", reuse=True), pytest.raises(ValueError, match="Variable v does not exist"):
            v1.get_variable("v", [])

    v1.wrap_function(twice, [])()


def test_graphs_are_pruned() -> None:
    def body() -> None:
        x = v1.placeholder(fg.float32, [None], name="x")
        y = fg.identity(x * 2.0, name="y")
        fg.identity(y + 1.0, name="z")

    wrapped = v1.wrap_function(body, [])
    function = wrapped.prune("x:0", wrapped.graph.get_tensor_by_name("z:0"))
    assert numbers(function(fg.constant([1.0, 2.0]))) == [3.0, 5.0]
    assert numbers(wrapped.prune(["x:0"], {"y": "y:0"})(fg.constant([4.0]))["y"]) == [8.0]


def test_placeholders_are_named_in_scopes_and_pruned_by_their_own_names() -> None:
    with fg.Graph().as_default(), fg.name_scope("q"):
        assert v1.placeholder(fg.float32, [None], name="p").name == "q/p:0"
    wrapped = v1.wrap_function(lambda x: x * 2.0 + 1.0, [fg.TensorSpec([], fg.float32)])
    assert numbers(wrapped.prune(wrapped.inputs, wrapped.outputs[0])(fg.constant(4.0))) == 9.0


def test_a_wrapped_function_runs_the_effects_that_its_results_wait_for() -> None:
    count, scale = fg.Variable(1.0), fg.Variable(10.0)

    def body(x: Any) -> Any:
        count.assign_add(1.0)
        doubled = x * 2.0
        with fg.control_dependencies([scale.assign_add(1.0)]):
            return doubled, fg.identity(doubled * 10.0)

    wrapped = v1.wrap_function(body, [fg.TensorSpec([], fg.float32)])
    assert [each.numpy() for each in wrapped(fg.constant(3.0))] == [6.0, 60.0]
    assert count.numpy() == 1.0 and scale.numpy() == 11.0
    doubled, scaled = wrapped.outputs
    assert wrapped.prune(wrapped.inputs[0], doubled)(fg.constant(1.0)).numpy() == 2.0 and scale.numpy() == 11.0
    assert wrapped.prune([doubled], {"s": scaled})(fg.constant(1.0))["s"].numpy() == 10.0 and scale.numpy() == 12.0
    with pytest.raises(ValueError, match="You must feed a value for placeholder tensor"):
        wrapped.prune([], doubled)


def test_pruned_functions_have_the_variables_and_run_the_operations_that_are_asked_for() -> None:
    count, weight = fg.Variable(0.0), fg.Variable(10.0)

    def body() -> None:
        fg.identity(v1.placeholder(fg.float32, [], name="x") * weight, name="y")
        count.assign_sub(5.0)

    wrapped = v1.wrap_function(body, [])
    update = next(each for each in wrapped.graph.get_operations() if "AssignSub" in each.type)
    function = wrapped.prune("x:0", ("y:0", update))
    weight.assign(20.0)
    result, nothing = function(fg.constant(2.0))
    assert result.numpy() == 40.0 and nothing is None and count.numpy() == -5.0


# ---- raw operations -------------------------------------------------------------------------------------------------

raw = fg.raw_ops
P = [[[[0.0], [1.0]], [[2.0], [3.0]]]]
RAW: list[tuple[Any, Any]] = [
    (lambda: raw.AddV2(x=[1, 2], y=3), [4, 5]),
    (lambda: raw.MatMul(a=X, b=X, transpose_b=True), [[5.0, 11.0], [11.0, 25.0]]),
    (lambda: raw.Sum(input=X, axis=[1], keep_dims=True), [[3.0], [7.0]]),
    (lambda: raw.ConcatV2(values=[[1], [2]], axis=0), [1, 2]),
    (lambda: raw.Cast(x=[1.5], DstT=fg.int32), [1]),
    (lambda: raw.StridedSlice(input=[1, 2, 3, 4], begin=[1], end=[0], strides=[2], end_mask=1), [2, 4]),
    (lambda: raw.Split(axis=0, value=[1, 2], num_split=2)[1], [2]),
    (lambda: raw.TopKV2(input=[3, 1, 2], k=2).indices, [0, 2]),
    (lambda: raw.Unique(x=[5, 5, 6]).y, [5, 6]),
    (lambda: raw.BiasAddGrad(out_backprop=X), [4.0, 6.0]),
    (lambda: raw.SigmoidGrad(y=[0.5], dy=[2.0]), [0.5]),
    (lambda: raw.L2Loss(t=[2.0]), 2.0),
    (lambda: raw.ReluGrad(gradients=[1.0, 1.0], features=[-1.0, 1.0]), [0.0, 1.0]),
    (lambda: raw.ShapeN(input=[[1], [[1, 2]]])[1], [1, 2]),
    (lambda: raw.SparseSegmentSum(data=X, indices=[0, 1], segment_ids=[0, 0]), [[4.0, 6.0]]),
    (lambda: raw.MaxPoolV2(input=P, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"), [[[[3.0]]]]),
    (
        lambda: raw.MaxPoolGradV2(
            orig_input=P,
            orig_output=[[[[3.0]]]],
            grad=[[[[5.0]]]],
            ksize=[1, 2, 2, 1],
            strides=[1, 2, 2, 1],
            padding="VALID",
        ),
        [[[[0.0], [0.0]], [[0.0], [5.0]]]],
    ),
    (lambda: raw.DenseBincount(input=[1, 1], size=3, weights=[0.5, 2.0], binary_output=True), [0.0, 1.0, 0.0]),
    (
        lambda: raw.RaggedBincount(splits=[0, 1, 2], values=[1, 0], size=2, weights=[[0.5], [2.0]]),
        [[0.0, 0.5], [2.0, 0.0]],
    ),
    (
        lambda: raw.RaggedBincount(splits=[0, 1, 2], values=[1, 0], size=2, weights=[0.5, 2.0], binary_output=True),
        [[0.0, 1.0], [1.0, 0.0]],
    ),
    (lambda: raw.StringLower(input=["AB"]), [b"ab"]),
]


@pytest.mark.parametrize("i", range(len(RAW)))
def test_raw_operations(i: int) -> None:
    call, expected = RAW[i]
    assert numbers(call()) == expected
    assert numbers(fg.function(call)()) == expected


def test_raw_operations_refuse() -> None:
    with pytest.raises(TypeError, match=r"AddV2 only takes keyword args \(possible keys: \['x', 'y', 'name'\]\)"):
        raw.AddV2(1, 2)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        raw.AddV2(x=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        raw.AddV2(x=1, y=2, z=3)
    with pytest.raises(fg.errors.NotBuiltError, match=r"raw_ops\.TPUReplicate is not built"):
        _ = raw.TPUReplicate
    variable = fg.Variable([1.0, 2.0])
    raw.AssignAddVariableOp(resource=variable.handle, value=[1.0, 1.0])
    assert numbers(raw.ReadVariableOp(resource=variable.handle, dtype=fg.float32)) == [2.0, 3.0]


def test_gradients_flow_through_raw_operations() -> None:
    with fg.GradientTape() as tape:
        x = fg.Variable([1.0, 2.0])
        y = raw.Sum(input=raw.Square(x=x), axis=0)
    assert numbers(tape.gradient(y, x)) == [2.0, 4.0]


@pytest.mark.parametrize("kind", ["NONE", "ZLIB", "GZIP"])
def test_records_by_the_numbers_of_their_compressions(kind: str, tmp_path: Path) -> None:
    options = fg.io.TFRecordOptions(getattr(fg.compat.v1.io.TFRecordCompressionType, kind))
    with fg.io.TFRecordWriter(str(tmp_path / "r"), options) as file:
        file.write(b"a record")
    assert list(fg.compat.v1.io.tf_record_iterator(str(tmp_path / "r"), options)) == [b"a record"]
    assert ((tmp_path / "r").read_bytes()[:2] == b"\x1f\x8b") == (kind == "GZIP")


def test_default_names_of_scopes_are_counted_within_the_scope_as_entered() -> None:
    with fg.Graph().as_default():
        names: list[str] = []
        outer: Any = "taken"
        for _ in range(2):
            with v1.variable_scope(outer) as outer:
                for _ in range(2):
                    with v1.variable_scope(None, default_name="inner"):
                        names.append(v1.get_variable(f"v{len(names)}", [1]).name)
        with v1.variable_scope("inner"), v1.variable_scope(None, default_name="inner"):
            names.append(v1.get_variable("v", [1]).name)
        with v1.variable_scope(None, default_name="inner"):
            names.append(v1.get_variable("v", [1]).name)
    assert names == [
        "taken/inner/v0:0", "taken/inner_1/v1:0", "taken/inner/v2:0", "taken/inner_1/v3:0", "inner/inner/v:0",
        "inner_1/v:0",
    ]  # fmt: skip


def test_batch_gather_of_ragged_tensors() -> None:
    params, places = fg.ragged.constant([[5, 6], [7]]), fg.ragged.constant([[1, 1, 0], []], dtype=fg.int64)
    assert v1.batch_gather(params, places).to_list() == [[6, 6, 5], []]
    assert v1.batch_gather([[5, 6], [7, 8]], places).to_list() == [[6, 6, 5], []]


def test_choices_and_quotients_of_ragged_tensors() -> None:
    x = fg.ragged.constant([[5, 6], [7]])
    assert v1.where(x > 5, x, -x).to_list() == [[-5, 6], [7]]
    pairs = fg.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1)
    assert v1.where(x > 5, pairs, -pairs).to_list() == [[[-1, -2], [3, 4]], [[5, 6]]]
    assert v1.where([False, True], x, -x).to_list() == [[-5, -6], [7]]
    assert v1.where([True, False], x, fg.ragged.constant([[], [1]])).to_list() == [[5, 6], [1]]
    assert v1.div(x, 2).to_list() == [[2, 3], [3]] and v1.div(6.0, fg.cast(x[:1], fg.float32)).to_list()[0][1] == 1.0


def test_a_placeholder_with_a_default_has_the_shape_that_is_said() -> None:
    with fg.Graph().as_default():
        b = v1.placeholder_with_default([[1.0, 2.0]], [None, 2], "b")
        assert b.name == "b:0" and b.shape.as_list() == [None, 2] and fg.get_static_value(b) is None
        with pytest.raises(ValueError, match="has not the shape"):
            v1.placeholder_with_default([1.0], [2])

    @fg.function
    def doubled() -> Any:
        return v1.placeholder_with_default([1.0, 2.0], None) * 2.0

    assert numbers(doubled()) == [2.0, 4.0] == numbers(v1.placeholder_with_default([1.0, 2.0], [None]) * 2.0)
    assert doubled.get_concrete_function().outputs[0].shape.rank is None


def test_a_variable_has_the_dtype_of_what_it_begins_with() -> None:
    with fg.Graph().as_default():
        assert v1.get_variable("whole", initializer=[1, 2]).dtype == "int32"
        with pytest.raises(ValueError, match="don't match"):
            v1.get_variable("other", initializer=[1, 2], dtype="float32")


def test_the_folder_for_files_of_tests_is_the_processes_own() -> None:
    folder = Path(v1.test.get_temp_dir())
    assert (
        folder != Path(tempfile.gettempdir()) and list(folder.iterdir()) == [] and v1.test.get_temp_dir() == str(folder)
    )


def test_tables_of_a_graph_are_asked_for_what_it_is_given_later() -> None:
    with v1.Graph().as_default() as graph:
        table = v1.lookup.StaticHashTable(fg.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
        found = table.lookup(v1.placeholder(fg.string, [None]))
        more = fg.lookup.experimental.MutableHashTable(fg.string, fg.int64, -1).lookup(v1.placeholder(fg.string, []))
    assert (found.shape.as_list(), found.dtype, more.dtype) == ([None], fg.int32, fg.int64)
    assert found.graph is graph and "LookupTableFindV2" in {op.type for op in graph.get_operations()}


def test_vectors_of_which_no_rank_is_known_have_one_axis() -> None:
    unknown = fg.TensorSpec(None, fg.int32)
    difference = fg.function(lambda x, y: v1.setdiff1d(x, y), input_signature=[unknown, unknown])
    elements, places = difference.get_concrete_function().structured_outputs
    assert (elements.shape.rank, places.shape.rank) == (1, 1)
    assert [numbers(each) for each in difference([1, 2, 3, 4], [2, 4])] == [[1, 3], [0, 2]]
    with pytest.raises(fg.errors.InvalidArgumentError):
        difference([[1, 2]], [2])
    inverse = fg.function(fg.math.invert_permutation, input_signature=[unknown])
    assert inverse.get_concrete_function().structured_outputs.shape.rank == 1 and numbers(inverse([2, 0, 1])) == [
        1,
        2,
        0,
    ]
