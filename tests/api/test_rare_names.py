"""Names that few programs use: operations exported by their kernels' names, contexts, resolvers, running means."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

X = np.random.RandomState(0).randn(2, 5, 6, 3).astype("float32")
KERNEL = np.random.RandomState(1).randn(2, 3, 3, 4).astype("float32")


def both(function: Any) -> list[Any]:
    """What a function without arguments gives eagerly and in a graph, as NumPy has it."""
    return [tf.nest.map_structure(lambda t: t.numpy(), f()) for f in (function, tf.function(function))]


@pytest.mark.parametrize(
    ("arguments", "dims", "total"),  # TensorFlow's
    [
        ({"strides": [1, 1, 1, 1], "padding": "SAME"}, (2, 5, 6, 4), -116.87),
        ({"strides": [1, 2, 2, 1], "padding": "VALID"}, (2, 2, 2, 4), 25.56),
        ({"strides": [1] * 4, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 1, 0, 2, 0, 0]}, (2, 6, 6, 4), -21.63),
        ({"strides": [1, 1, 1, 1], "padding": "VALID", "dilations": [1, 2, 1, 1]}, (2, 3, 4, 4), -122.75),
    ],
)  # fmt: skip
def test_conv(arguments: dict[str, Any], dims: tuple[int, ...], total: float) -> None:
    for found in both(lambda: tf.conv(X, KERNEL, **arguments)):
        assert found.shape == dims and abs(2 * found.sum() - total) < 0.01
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.conv(x, KERNEL, **arguments)
    assert tape.gradient(y, x).shape == x.shape


def test_conv_of_batches_and_of_space() -> None:
    many = tf.conv(X[None], KERNEL, [1, 1, 1, 1], "SAME", batch_dims=2)
    np.testing.assert_array_equal(many[0], tf.conv(X, KERNEL, [1, 1, 1, 1], "SAME"))
    volume = np.random.RandomState(0).randn(1, 4, 5, 6, 2).astype("float32")
    found = tf.conv(volume, tf.ones([2, 2, 2, 2, 3]), [1, 1, 1, 1, 1], "SAME")
    assert abs(float(tf.reduce_sum(found)) - 159.19) < 0.01
    first = tf.conv(np.moveaxis(X, 3, 1).copy(), KERNEL, [1, 1, 2, 1], "VALID", data_format="CHANNELS_FIRST")
    wanted = tf.conv(X, KERNEL, [1, 2, 1, 1], "VALID")
    np.testing.assert_allclose(np.moveaxis(first.numpy(), 1, 3), wanted, rtol=1e-5)
    for padding, x in (("x", X), ("SAME", X[0])):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.conv(x, KERNEL, [1, 1, 1, 1], padding)


def test_approx_top_k() -> None:
    x = tf.constant(np.arange(12.0).reshape(3, 4) % 5, tf.float32)
    values, indices = tf.approx_top_k(x, 2)
    assert values.numpy().tolist() == [[3, 2], [4, 2], [4, 3]] and indices.numpy().tolist() == [[3, 2], [0, 3], [1, 0]]
    assert tf.approx_top_k(x, 1, 0, is_max_k=False).values.numpy().tolist() == [[0, 0, 0, 1]]
    assert tf.guarantee_const([1.0]).numpy().tolist() == [1.0]


@pytest.mark.parametrize(
    ("ids", "values", "n", "default", "expected"),  # TensorFlow's
    [
        ([0, 0, 2], [1.0, 2.0, 3.0], 4, -1.0, ([0, 0, 1, 2, 3], [1, 2, -1, 3, -1], [0, 1, 0, 1], [0, 1, 3])),
        ([], np.zeros(0, "float32"), 2, 0.0, ([0, 1], [0, 0], [1, 1], [])),
        ([0, 1], ["a", "b"], 3, "", ([0, 1, 2], [b"a", b"b", b""], [0, 0, 1], [0, 1])),
        ([2, 1], [1, 2], 3, 0, ([0, 1, 2], [0, 2, 1], [1, 0, 0], [2, 1])),
    ],
)
def test_empty_rows_are_filled(ids: Any, values: Any, n: int, default: Any, expected: tuple[list[Any], ...]) -> None:
    rows, given = tf.constant(ids, tf.int64), tf.constant(values)
    for found in both(lambda: tf.ragged_fill_empty_rows(rows, given, n, default)):
        assert tuple(part.tolist() for part in found) == expected and found[0].dtype == found[3].dtype == np.int64


def test_gradients_of_filled_rows() -> None:
    rows, values, default = tf.constant([0, 2], tf.int64), tf.Variable([1.0, 3.0]), tf.Variable(5.0)
    with tf.GradientTape() as tape:
        out = tf.ragged_fill_empty_rows(rows, values, 4, default)
        y = tf.reduce_sum(out.output_values**2)
    found = [g.numpy().tolist() for g in tape.gradient(y, [values, default])]
    own = tf.ragged_fill_empty_rows_grad(out.reverse_index_map, 2.0 * out.output_values)
    assert found == [[2, 6], 20] == [part.numpy().tolist() for part in own]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.ragged_fill_empty_rows(tf.constant([0, 5], tf.int64), [1, 2], 3, 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="default_value must be a scalar"):
        tf.ragged_fill_empty_rows(rows, values, 4, [1.0])


def test_scripts_of_characters() -> None:
    codes = [ord("a"), 0x31, 0x3B1, 0x4E2D, -5, 0x110000, 0x10FFFF, 0x0E01]
    for found in both(lambda: tf.strings.unicode_script(codes)):
        assert found.tolist() == [25, 0, 14, 17, -1, -1, 103, 38] and found.dtype == np.int32  # TensorFlow's
    ragged = tf.ragged.constant([[97, 0x416], []], dtype=tf.int32)
    assert tf.strings.unicode_script(ragged).to_list() == [[25, 8], []]
    assert tf.strings.unicode_script(tf.constant(97)).shape == ()


def test_pictures_of_webp() -> None:
    images = pytest.importorskip("PIL.Image")
    pixels = np.random.RandomState(0).randint(0, 256, (7, 5, 4)).astype("uint8")
    for channels, mode in ((3, "RGB"), (4, "RGBA")):
        file = io.BytesIO()
        images.fromarray(pixels[..., :channels].copy(), mode).save(file, "WEBP", lossless=True, exact=True)
        for wanted in (0, channels):
            found = tf.io.decode_webp(file.getvalue(), wanted)
            np.testing.assert_array_equal(found, pixels[None, ..., :channels])
        for wanted, text in ((7 - channels, "does not match input"), (1, "only supports 3 or 4")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                tf.image.decode_webp(file.getvalue(), wanted)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown image file format"):
        tf.io.decode_webp(b"x" * 50)


def test_files_of_graphs_and_lists_of_files(tmp_path: Path) -> None:
    function = tf.function(lambda x: x + 1.0).get_concrete_function(tf.TensorSpec([], tf.float32))
    path = tf.io.write_graph(function.graph, tmp_path / "new", "g.pbtxt")
    assert path == f"{tmp_path}/new/g.pbtxt" and Path(path).read_text().startswith("node {\n  name")
    path = tf.io.write_graph(function.graph.as_graph_def(), tmp_path, "g.pb", as_text=False)
    assert Path(path).read_bytes() == function.graph.as_graph_def().SerializeToString()
    with pytest.raises(AttributeError):
        tf.io.write_graph(3, tmp_path, "h")
    assert tf.io.match_filenames_once(f"{tmp_path}/*.pb").numpy().tolist() == [path.encode()]


def test_settings_without_effect() -> None:
    options = tf.config.experimental
    assert options.get_memory_info("CPU:0") == {"current": 0, "peak": 0} and options.get_memory_usage("CPU:0") == 0
    assert options.reset_memory_stats("CPU:0") is options.enable_mlir_bridge() is options.disable_mlir_bridge() is None
    for device, text in (("GPU:0", "No matching devices"), ("CPU", "Failed parsing device name")):
        with pytest.raises(ValueError, match=text):
            options.get_memory_info(device)
    with tf.experimental.async_scope(), tf.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR"):
        assert int(tf.function(lambda: tf.add(1, 1))()) == 2
    tf.experimental.async_clear_error()
    assert tf.compat.v2 is tf
    small = tf.cast([1.0, 2.3, -1e9], tf.dtypes.experimental.float8_e5m2)
    assert tf.cast(small, tf.float32).numpy().tolist() == [1, 2.5, -np.inf]
    assert tf.experimental.float8_e4m3fn.max == 448


def test_who_takes_part() -> None:
    resolvers = tf.distribute.cluster_resolver
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": ["c:3"]})
    one = resolvers.SimpleClusterResolver(spec, task_type="worker", task_id=1, rpc_layer="grpc")
    assert one.cluster_spec().as_dict() == {"worker": ["a:1", "b:2"], "ps": ["c:3"]} and one.num_accelerators() == {}
    assert (one.task_type, one.task_id, one.rpc_layer, one.environment) == ("worker", 1, "grpc", "")
    assert [one.master(), one.master("ps", 0), one.master("worker", 0, "http")] == [
        "grpc://",
        "grpc://c:3",
        "http://a:1",
    ]
    assert resolvers.SimpleClusterResolver(spec, master="m").master() == "m"
    other = resolvers.SimpleClusterResolver(tf.train.ClusterSpec({"worker": ["z:9"], "x": {1: "y:1"}}))
    union = resolvers.UnionResolver(one, other, task_type="x")
    assert union.cluster_spec().as_dict() == {"worker": ["a:1", "b:2", "z:9"], "ps": ["c:3"], "x": {1: "y:1"}}
    assert (union.task_type, union.task_id, union.rpc_layer, union.environment) == ("x", 1, "grpc", "")
    assert union.master() == "grpc://" and union.master("worker", 2) == "z:9" and union.master("x", 1, "l") == "l://y:1"
    double = resolvers.SimpleClusterResolver(tf.train.ClusterSpec({"x": {1: "w:2"}}))
    for made, error in (
        (lambda: resolvers.SimpleClusterResolver(3), TypeError), (resolvers.UnionResolver, ValueError),
        (lambda: resolvers.UnionResolver(3), TypeError), (resolvers.ClusterResolver, TypeError),
        (lambda: resolvers.UnionResolver(other, double), KeyError),
    ):  # fmt: skip
        with pytest.raises(error):
            made()


def test_running_means_of_variables() -> None:
    v, u = tf.Variable([1.0, 2.0], name="w"), tf.Variable(3.0)
    mean = tf.train.ExponentialMovingAverage(0.9)
    assert mean.average(v) is None and mean.average_name(v) == "w/ExponentialMovingAverage"
    mean.apply([v, u])
    average = mean.average(v)
    assert average.name == "w/ExponentialMovingAverage:0" and not average.trainable
    v.assign([2.0, 4.0])
    mean.apply([v])
    np.testing.assert_allclose(average, [1.1, 2.2], rtol=1e-6)
    tf.function(lambda: mean.apply([v]))()
    np.testing.assert_allclose(average, [1.19, 2.38], rtol=1e-6)  # TensorFlow's, as all numbers here
    assert mean.variables_to_restore([v]) == {"w/ExponentialMovingAverage": v}
    for count, wanted in ((1, 0.8181818), (5, 0.6)):
        w = tf.Variable(0.0)
        slow = tf.train.ExponentialMovingAverage(0.99, num_updates=tf.Variable(count), name="ema")
        slow.apply([w])
        w.assign(1.0)
        slow.apply([w])
        assert float(slow.average(w)) == pytest.approx(wanted)
    for given in (tf.constant(1.0), tf.Variable(1), tf.Variable(1.0 + 0j)):
        with pytest.raises(TypeError):
            mean.apply([given])


def test_the_first_apply_in_a_function_begins_with_the_value() -> None:
    v, mean = tf.Variable([1.0, 2.0]), tf.train.ExponentialMovingAverage(0.5)

    @tf.function
    def step() -> Any:
        v.assign_add([1.0, 1.0])
        mean.apply([v])
        return mean.average(v)

    assert [step().numpy().tolist() for _ in range(2)] == [[1.5, 2.5], [2.25, 3.25]]


def test_ranges_along_an_axis() -> None:
    x = tf.constant(np.linspace(-1.3, 2.1, 12).reshape(3, 4).astype("float32"))
    low, high = tf.constant([-1.0, -0.5, 0.0]), tf.constant([1.0, 0.5, 2.0])
    with tf.GradientTape() as tape:
        tape.watch([x, low, high])
        y = tf.quantization.quantize_and_dequantize_v2(x, low, high, range_given=False, axis=0)
        total = tf.reduce_sum(y * y)
    np.testing.assert_allclose(y[1], [-0.0612, 0.2448, 0.5576, 0.8636], atol=1e-4)
    gradients = [g.numpy() for g in tape.gradient(total, [x, low, high])]
    wanted = [[0, -1.991, -1.361, -0.752], [-0.122, 0.49, 0, 0], [2.348, 2.976, 3.572, 0]]  # TensorFlow's
    np.testing.assert_allclose(gradients[0], wanted, atol=1e-3)
    assert gradients[1].tolist() == gradients[2].tolist() == [0, 0, 0]
    for axes in ((0, 1), (1, 0), (2, 0)):
        with pytest.raises(IndexError):
            tf.experimental.numpy.swapaxes(tf.experimental.numpy.array([1.0, 2.0]), *axes)


def test_operations_say_what_their_public_names_make_right() -> None:
    for op in (tf.raw_ops.LowerBound, tf.raw_ops.UpperBound):
        assert op(sorted_inputs=[[1.0, 2.0]], values=[[1.5]]).numpy().tolist() == [[1]]
        for given in ([1.0, 2.0], [[[1.0, 2.0]]]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Shape must be rank 2"):
                op(sorted_inputs=given, values=given)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be of the same shape"):
        tf.raw_ops.ApproximateEqual(x=[1.0, 2.0], y=[1.0])


def test_numbers_that_are_none() -> None:
    image = tf.ones([2, 2, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="contrast_factor must be scalar"):
        tf.image.adjust_contrast(image, [2.0])
    with pytest.raises(TypeError):
        tf.image.adjust_contrast(image, "a")
    for dtype in ("bool", "string"):
        with pytest.raises(TypeError, match="range"):
            tf.range(5, dtype=dtype)
    case = tf.test.TestCase()
    nan = tf.constant([1.0, np.nan], tf.bfloat16)
    case.assertAllEqual(nan, nan)
    with pytest.raises(AssertionError):
        case.assertAllEqual(nan, tf.ones([2], tf.bfloat16))


ONE = {"indices": [[0, 0], [1, 1]], "values": [1.0, 2.0], "shape": [2, 2]}
TWO = {"indices": [[0, 0], [0, 1]], "values": [3.0, -4.0], "shape": [2, 2]}
BOXES = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [2.0, 2.0, 3.0, 3.0]]


def parts(prefix: str, of: dict[str, Any]) -> dict[str, Any]:
    return {f"{prefix}{key}": tf.constant(x, None if key == "values" else tf.int64) for key, x in of.items()}


@pytest.mark.parametrize(
    ("op", "arguments", "expected"),  # TensorFlow's
    [
        ("SparseAdd", {**parts("a_", ONE), **parts("b_", TWO), "thresh": 0.5},
         [[[0, 0], [0, 1], [1, 1]], [4, -4, 2], [2, 2]]),
        ("SparseAdd", {**parts("a_", ONE), **parts("b_", TWO), "thresh": 4.5},
         [[[0, 1], [1, 1]], [-4, 2], [2, 2]]),
        ("SparseSparseMaximum", {**parts("a_", ONE), **parts("b_", TWO)}, [[[0, 0], [0, 1], [1, 1]], [3, 0, 2]]),
        ("SparseSparseMinimum", {**parts("a_", ONE), **parts("b_", TWO)}, [[[0, 0], [0, 1], [1, 1]], [1, -4, 0]]),
        ("SparseDenseCwiseMul", {**parts("sp_", ONE), "dense": [2.0, 3.0]}, [[2, 6]]),
        ("SparseDenseCwiseDiv", {**parts("sp_", ONE), "dense": [[2.0, 3.0], [4.0, 8.0]]}, [[0.5, 0.25]]),
        ("SparseReduceMax", {**parts("input_", ONE), "reduction_axes": [1]}, [[1, 2]]),
        ("SparseReduceSum", {**parts("input_", ONE), "reduction_axes": [0], "keep_dims": True}, [[[1, 2]]]),
        ("SparseSlice", {**parts("", ONE), "start": [0, 0], "size": [1, 2]}, [[[0, 0]], [1], [1, 2]]),
        ("SparseSoftmax", parts("sp_", ONE), [[1, 1]]),
        ("SparseTensorDenseAdd", {**parts("a_", ONE), "b": tf.ones([2, 2])}, [[[2, 1], [1, 3]]]),
        ("EditDistance", {**parts("hypothesis_", ONE), **parts("truth_", ONE)}, [[0, 0]]),
        ("SetSize", parts("set_", {**TWO, "values": [1, 1]}), [[1, 0]]),
        ("Substr", {"input": ["hello"], "pos": [1], "len": [3]}, [[b"ell"]]),
        ("UnicodeScript", {"input": [97, 0x416]}, [[25, 8]]),
        ("ApproxTopK", {"input": [1.0, 3.0, 2.0, 5.0], "k": 2}, [[5, 3], [3, 1]]),
        ("NonMaxSuppressionV2", {"boxes": BOXES, "scores": [0.9, 0.8, 0.7], "max_output_size": 3, "iou_threshold": 0.5},
         [[0, 2]]),
        ("NonMaxSuppressionV4", {"boxes": BOXES, "scores": [0.9, 0.8, 0.7], "max_output_size": 3, "iou_threshold": 0.5,
                                 "score_threshold": 0.1, "pad_to_max_output_size": True}, [[0, 2, 0], 2]),
        ("IsotonicRegression", {"input": [[3.0, 1.0, 2.0]]}, [[[3, 1.5, 1.5]], [[0, 1, 1]]]),
        ("RaggedFillEmptyRowsGrad", {"reverse_index_map": [0, 2], "grad_values": [1.0, 2.0, 3.0]}, [[1, 3], 2]),
        ("AllCandidateSampler", {"true_classes": [[0, 1]], "num_true": 2, "num_sampled": 4, "unique": True},
         [[0, 1, 2, 3], [[1, 1]], [1, 1, 1, 1]]),
        ("Conv", {"input": tf.ones([1, 2, 2, 1]), "filter": tf.ones([2, 2, 1, 1]), "strides": [1] * 4,
                  "padding": "VALID"}, [[[[[4]]]]]),
    ],
)  # fmt: skip
def test_operations_of_public_functions(op: str, arguments: dict[str, Any], expected: list[Any]) -> None:
    for found in both(lambda: tf.nest.flatten(getattr(tf.raw_ops, op)(**arguments))):
        assert [part.tolist() for part in found] == expected


def test_sparse_sums_below_a_threshold_and_quotients() -> None:
    x = tf.sparse.from_dense([[1.0, 0.0], [0.0, 0.25]])
    less = tf.sparse.from_dense([[-0.75, 0.125], [0.0, 0.0]])
    assert tf.sparse.add(x, less, 0.5).values.numpy().tolist() == [0.125, 0.25]  # TensorFlow's, as the next ones
    assert tf.sparse.add(x, less, 0.25).values.numpy().tolist() == [0.25, 0.125, 0.25]
    assert tf.divide(x, [[2.0, 1.0], [1.0, 0.5]]).values.numpy().tolist() == [0.5, 0.5]


def test_arguments_have_tensorflows_names_and_order() -> None:
    x = tf.constant([3.0, 4.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="apart"):
        tf.debugging.assert_none_equal(x, x, 3, "apart")
    assert tf.nest.is_nested(seq=[1]) and not tf.nest.is_nested(seq=1)
    assert tf.autograph.experimental.do_not_convert(func=len)("ab") == 2
    assert tf.nn.l2_normalize(x, dim=0).numpy().tolist() == tf.nn.l2_normalize(x, 0).numpy().tolist()
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.math.l2_normalize(x, 0, dim=0)
    assert tf.constant_initializer(2.0, support_partition=True)([2]).numpy().tolist() == [2, 2]
    second = tf.function(lambda v: tf.hessians(tf.reduce_sum(v**3), v, False, None, "h")[0])
    assert second(x).numpy().tolist() == [[18, 0], [0, 24]]
    graph = tf.function(lambda: tf.constant(1)).get_concrete_function().graph
    assert graph.as_graph_def(add_shapes=True) == graph.as_graph_def(None)
    spec = tf.train.ClusterSpec({"worker": {1: "b:2"}, "ps": ["c:3"]})
    assert spec.job_tasks("worker") == [None, "b:2"] and spec.task_indices("worker") == [1]
    assert spec.job_tasks("ps") == ["c:3"]
    with pytest.raises(ValueError, match="No such job"):
        spec.job_tasks("x")
    numpy = tf.experimental.numpy
    assert [int(numpy.sum(f(a=2, b=3))) for f in (numpy.dot, numpy.inner, numpy.outer)] == [6, 6, 6]
    assert numpy.asarray(a=1).dtype == numpy.asanyarray(a=1).dtype == tf.int64
    to_be = tf.keras.Input([None, 3])
    to_be.set_shape([None, 5, None])
    assert to_be.shape.as_list() == [None, 5, 3]


def test_dense_tables_take_a_name_second() -> None:
    table = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "$")
    table.insert_or_assign(["a"], [5])
    assert table.lookup(["a", "b"], "named").numpy().tolist() == [5, -1]


@pytest.mark.parametrize(
    ("equation", "arrays", "expected"),
    [
        ("ij->ii", [[[1.0, 2.0], [3.0, 4.0]]], [[3, 0], [0, 7]]),
        ("i->ii", [[1.0, np.inf]], [[1, 0], [0, np.inf]]),
        ("ij,jk->ikk", [[[1.0, 2.0], [3.0, 4.0]]] * 2, [[[7, 0], [0, 10]], [[15, 0], [0, 22]]]),
        ("...i->i...i", [[[1.0, 2.0]]], [[[1, 0]], [[0, 2]]]),
        ("ii->iii", [[[1.0, 2.0], [3.0, 4.0]]], [[[1, 0], [0, 0]], [[0, 0], [0, 4]]]),
    ],
)
def test_raw_einsum_puts_sums_on_diagonals(equation: str, arrays: list[object], expected: list[object]) -> None:
    for found in both(lambda: tf.raw_ops.Einsum(inputs=[tf.constant(x) for x in arrays], equation=equation)):
        np.testing.assert_array_equal(found, expected)


def test_an_optional_is_its_own_identity() -> None:
    held, empty = tf.experimental.Optional.from_value((1, [2.0])), tf.experimental.Optional.empty(tf.TensorSpec([]))
    for find in (tf.identity, tf.function(tf.identity), tf.stop_gradient):
        assert [x.numpy().tolist() for x in tf.nest.flatten(find(held).get_value())] == [1, [2.0]]
        assert not find(empty).has_value()


def test_defaults_of_mutable_tables_are_one_or_one_for_each_key() -> None:
    pairs = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, [0, 0])
    pairs.insert([1], [[1, 2]])
    asked = tf.constant([[1, 5]], tf.int64)
    for default in ([7, 8], [[[0, 0], [7, 8]]]):
        found = pairs.lookup(asked, tf.constant(default, tf.int64))
        assert found.numpy().tolist() == [[[1, 2], [7, 8]]]
    for default in (3, [1, 2, 3], [[7, 8]], [[7, 8], [9, 1]]):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected shape \[2\] or \[1,2,2\] for default"):
            pairs.lookup(asked, tf.constant(default, tf.int64))


def test_files_of_tables_have_one_name() -> None:
    index = tf.lookup.TextFileIndex
    for name, why in ((["a"], "a single string"), (tf.constant(""), "cannot be empty")):
        file = tf.lookup.TextFileInitializer(name, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
        with pytest.raises(tf.errors.InvalidArgumentError, match=why):
            tf.lookup.StaticHashTable(file, -1)


def test_a_constant_is_no_tensor_of_a_graph() -> None:
    with pytest.raises(TypeError, match="Expected any non-tensor type"):
        tf.function(lambda x: tf.constant(x))(tf.constant(1))
    assert tf.constant(tf.constant(1)).numpy() == 1
    assert tf.as_dtype(np.longlong) == tf.int64
