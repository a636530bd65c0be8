"""Modules of TensorFlow's inside that are built here, against values of TensorFlow's, and what stars import."""

from __future__ import annotations

import functools
import pickle
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.door import internal_initializers as inits
from fastgraph.door import internal_layers as layers
from fastgraph.door import internal_names, modules, type_spec_names
from fastgraph.door import internal_rnn as rnn
from fastgraph.graphdef import func_graph
from fastgraph.graphdef.func_graph import FuncGraph


def test_arguments_are_made_whole() -> None:
    assert [layers.convert_data_format("channels_first", n) for n in (3, 4, 5)] == ["NCW", "NCHW", "NCDHW"]
    assert layers.convert_data_format("channels_last", 4) == "NHWC"
    assert layers.normalize_tuple(3, 2, "kernel") == (3, 3) and layers.normalize_tuple([1, 2], 2, "kernel") == (1, 2)
    assert layers.normalize_data_format("CHANNELS_FIRST") == "channels_first"
    assert layers.normalize_padding("SAME") == "same"
    wrong: list[Any] = [None, (1, 2, 3), (1, "x")]
    for each in wrong:
        with pytest.raises(ValueError, match="`kernel` must be a tuple of 2 integers"):
            layers.normalize_tuple(each, 2, "kernel")
    with pytest.raises(ValueError, match="only support input rank 3, 4 or 5"):
        layers.convert_data_format("channels_last", 6)


def test_lengths_of_what_windows_give() -> None:
    found = {
        padding: [
            *[layers.conv_output_length(n, 3, padding, 2, dilation) for n in (None, 7, 8) for dilation in (1, 2)],
            *[layers.conv_input_length(n, 3, padding, 2) for n in (None, 7, 8)],
            *[layers.deconv_output_length(n, 3, padding, 2) for n in (None, 7, 8)],
        ]
        for padding in ("same", "valid", "full")
    }
    assert found == {
        "same": [None, None, 4, 4, 4, 4, None, 13, 15, None, 14, 16],
        "valid": [None, None, 3, 2, 3, 2, None, 15, 17, None, 15, 17],
        "full": [None, None, 5, 6, 5, 6, None, 11, 13, None, 11, 13],
    }


def test_what_is_known_of_a_condition() -> None:
    assert layers.constant_value(fg.constant(False)) == False  # noqa: E712
    assert layers.constant_value(1) is True and layers.constant_value(fg.Variable(True)) is None
    with pytest.raises(TypeError, match="must be a Tensor, or a Python bool"):
        layers.constant_value("a")


def test_sizes_of_recurrent_states_are_joined() -> None:
    assert rnn.concat(2, fg.TensorShape([3, 4])).numpy().tolist() == [2, 3, 4]
    assert rnn.concat(fg.constant([5, 6]), 7, static=True) == [5, 6, 7]
    assert rnn.concat(fg.TensorShape([None]), 7, static=True) == [None, 7]
    with pytest.raises(ValueError, match="Provided a prefix or suffix of None"):
        rnn.concat(fg.TensorShape([None]), 7)
    with pytest.raises(ValueError, match="suffix tensor must be either a scalar or vector"):
        rnn.concat(2, fg.zeros([1, 1], "int32"))
    zeros = fg.function(lambda n: rnn.zero_state_tensors({"a": 3}, n, fg.float32))
    assert zeros(fg.constant(2))["a"].shape == (2, 3)
    assert zeros.get_concrete_function(fg.TensorSpec([], "int32")).structured_outputs["a"].shape[1:] == [3]


def test_cells_are_known_by_what_they_have() -> None:
    class Cell:
        output_size = state_size = 3

        def zero_state(self, batch_size: int, dtype: Any) -> None:
            pass

    with pytest.raises(TypeError, match="'cell' .* is not an RNNCell: is not callable"):
        rnn.assert_like_rnncell("cell", Cell())


def test_stars_give_the_names_that_are_there() -> None:
    found: dict[str, Any] = {}
    exec("from fastgraph.math import *", found)
    assert found["xlogy"] is fg.math.xlogy and "special" in found and len(found) > 100
    exec("from fastgraph import *", found)
    assert found["constant"] is fg.constant and not [
        name for name in found if name.startswith("_") and name != "__builtins__"
    ]
    assert "expand_dims" in modules.front("python.ops.array_ops").__all__
    assert {"placeholder", "Variable"} <= set(modules.front("compat.v1").__all__)


def test_an_empty_graph_is_true() -> None:
    assert bool(fg.Graph()) and bool(FuncGraph("g"))  # Keras 2 asks for its graph so, and makes one where there is none


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (inits.GlorotNormal(5), [0.7038, 0.11643, -0.07886, 0.55106]),
        (inits.GlorotUniform(5), [-0.81129, 0.61413, 0.87689, -0.28747]),
        (inits.TruncatedNormal(stddev=0.3, seed=5), [0.34746, 0.05748, -0.03893, 0.27205]),
        (inits.VarianceScaling(2.0, "fan_out", "untruncated_normal", 5), [-1.45337, 0.81896, 0.13549, -0.09177]),
        (inits.he_normal(5), [1.07507, 0.17786, -0.12046, 0.84176]),
        (inits.lecun_uniform(5), [-0.87629, 0.66334, 0.94715, -0.3105]),
    ],
)
def test_seeded_initializers_give_tensorflows_numbers_each_time(made: Any, wanted: list[float]) -> None:
    for _ in range(2):
        np.testing.assert_allclose(made((3, 4)).numpy().ravel()[:4], wanted, atol=1e-5)


def test_orthogonal_rows() -> None:
    found = inits.Orthogonal(2.0, seed=5)((3, 4)).numpy()
    np.testing.assert_allclose(found @ found.T, 4.0 * np.eye(3), atol=1e-5)


def test_rows_of_split_strings_are_as_many_as_the_strings() -> None:
    parts = fg.function(lambda: fg.strings.split(fg.constant(["a b", "c"]))).get_concrete_function().structured_outputs
    assert parts.shape.as_list() == [2, None]


def inner(path: str, name: str) -> Any:
    return modules.lookup(f"python.{path}", name)


def of_matrices(name: str) -> Any:
    return inner("ops.linalg.sparse.sparse", name)


@pytest.mark.parametrize("batch", [(), (2,)])
def test_sparse_matrices_multiply(batch: tuple[int, ...], rng: np.random.Generator) -> None:
    a, b = (rng.normal(size=(*batch, *s)) * (rng.random((*batch, *s)) > 0.5) for s in ((3, 4), (4, 5)))
    dense = rng.normal(size=(*batch, 4, 5))
    made, matmul = of_matrices("CSRSparseMatrix"), of_matrices("matmul")
    left, right = made(fg.constant(a)), made(fg.sparse.from_dense(b))

    def turned(x: Any) -> Any:
        return np.swapaxes(x, -1, -2)

    assert np.allclose(left.to_dense(), a) and left.shape == a.shape and left.dtype == fg.float64
    assert np.allclose(matmul(left, right).to_dense(), a @ b) and np.allclose(matmul(left, dense), a @ dense)
    assert np.allclose(matmul(dense, left, transpose_a=True, adjoint_b=True), turned(dense) @ turned(a))
    assert np.allclose(matmul(right, left, True, True).to_dense(), turned(b) @ turned(a))
    assert np.array_equal(left.nnz(), np.count_nonzero(a, axis=(-2, -1)))
    assert np.array_equal(left.sorted_indices().to_sparse_tensor().indices, np.argwhere(a))
    x = fg.constant(a)
    with fg.GradientTape() as tape:
        tape.watch(x)
        loss = fg.reduce_sum(fg.function(lambda x: matmul(made(x), dense))(x))
    gradient = np.broadcast_to(dense.sum(-1)[..., None, :], a.shape)
    assert np.allclose(tape.gradient(loss, x), np.where(a != 0, gradient, 0))


def test_sparse_matrices_refuse_what_does_not_fit() -> None:
    made, matmul = of_matrices("CSRSparseMatrix"), of_matrices("matmul")
    assert made(fg.constant([[1.0, 0.0]]), indices=[[0, 1]]).nnz().numpy() == 1
    for wrong in ([1.0], np.zeros((1, 1, 1, 1))):
        with pytest.raises(fg.errors.InvalidArgumentError, match="must have rank == 2 or 3"):
            made(fg.constant(wrong))
    with pytest.raises(ValueError, match="indices must be None"):
        made(fg.sparse.eye(2), indices=[[0, 0]])
    with pytest.raises(fg.errors.InvalidArgumentError, match="Only one of adjoint_a and transpose_a"):
        matmul(made(fg.eye(2)), fg.eye(2), transpose_a=True, adjoint_a=True)
    with pytest.raises(fg.errors.InvalidArgumentError, match="do not multiply"):
        matmul(made(fg.eye(2)), made(fg.eye(3)))


def test_decorators_of_functions_are_seen_and_changed() -> None:
    unwrap, rewrap, decorate = (inner("util.tf_decorator", name) for name in ("unwrap", "rewrap", "make_decorator"))

    def plain(x: int) -> int:
        return x

    function = fg.function(plain)
    decorators, found = unwrap(function)
    assert found is plain and [each.decorator_name for each in decorators] == ["tf.function"]
    outer = decorate(plain, lambda x: plain(x) + 1, "more")
    assert unwrap(outer)[1] is plain and rewrap(outer, plain, abs) is outer and unwrap(outer)[1] is abs
    assert rewrap(plain, plain, abs) is abs
    with pytest.raises(ValueError, match="is no decorator's function"):
        rewrap(plain, abs, abs)


def test_a_function_is_decorated_before_its_first_trace() -> None:
    function = fg.function(lambda x: x, autograph=False)
    function._decorate(lambda inside: lambda x: inside(x) + 1)
    assert function(fg.constant(1)).numpy() == 2 and not function._options["autograph"]
    with pytest.raises(ValueError, match="cannot be decorated after they have been traced"):
        function._decorate(lambda inside: inside)


def test_a_functions_parameters_in_full() -> None:
    def plain(a: int, b: int = 2, *rest: int, c: int, d: int = 4, **more: int) -> None: ...

    said = fg.function(plain).function_spec
    assert tuple(said.fullargspec) == (["a", "b"], "rest", "more", (2,), ["c", "d"], {"d": 4}, {})
    assert said.default_values == {"b": 2, "d": 4}
    assert fg.function(lambda: 1).function_spec.fullargspec.defaults is None
    assert fg.device("CPU:0")._device_name == "CPU:0"


def test_parameters_and_names_of_functions() -> None:
    class Callable_:
        def __call__(self, x: int, y: int) -> None: ...

        def method(self, z: int, **more: int) -> None: ...

    args, name, code = (inner("util.function_utils", each) for each in ("fn_args", "get_func_name", "get_func_code"))
    kwargs = inner("util.function_utils", "has_kwargs")
    partial = functools.partial(Callable_(), 1)
    assert args(lambda a, b=1: a) == ("a", "b") and args(Callable_()) == ("x", "y") == args(Callable_().__call__)
    assert args(partial) == ("y",) and args(Callable_().method) == ("z",)
    assert args(functools.partial(Callable_.method, z=1)) == ("self",)
    assert kwargs(Callable_().method) and not kwargs(lambda x: x)
    assert name(args) == "fn_args" and name(partial).endswith("Callable_'>") and code(args) is args.__code__
    for function in (name, code):
        with pytest.raises(ValueError, match="must be a callable"):
            function(1)
    with pytest.raises(TypeError, match="should be a callable"):
        kwargs(1)


def test_names_of_a_module_are_hidden_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    hide, show = (inner("util.all_util", f"{each}_undocumented") for each in ("remove", "reveal"))
    module: Any = types.ModuleType("some_module", "Words.\n@@kept\n@@not_there")
    module.kept, module.allowed, module.gone, module._private, module.os = 1, 2, 3, 4, 5
    monkeypatch.setitem(sys.modules, "some_module", module)
    hide("some_module", ["allowed"])
    assert [hasattr(module, each) for each in ("kept", "allowed", "gone", "_private", "os")] == [1, 1, 0, 1, 1]
    show("some_module.gone")
    assert module.gone == 3
    with pytest.raises(LookupError, match="is not a hidden symbol"):
        show("some_module.kept")


def test_files_beside_a_module() -> None:
    path, folder, load = (
        inner("platform.resource_loader", each)
        for each in ("get_path_to_datafile", "get_data_files_path", "load_resource")
    )
    assert path("x.txt") == str(Path(__file__).parent / "x.txt") and folder() == str(Path(__file__).parent)
    assert load(Path(__file__).name).startswith(b'"""Modules of')


def test_ragged_conversions_and_weights() -> None:
    make, fill = (inner("ops.ragged.ragged_conversion_ops", each) for each in ("from_tensor", "to_tensor"))
    ragged = make([[1, 0], [2, 3]], padding=0)
    assert ragged.to_list() == [[1], [2, 3]] and make(ragged) is ragged
    assert fill(ragged, 9).numpy().tolist() == [[1, 9], [2, 3]] and fill([1]).numpy().tolist() == [1]
    fits = inner("ops.weights_broadcast_ops", "assert_broadcastable")
    fits([[1.0]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="can not be broadcast"):
        fits([1.0], [[1.0, 2.0]])
    with pytest.raises(fg.errors.InvalidArgumentError, match="at most rank 2 but is rank 3"):
        fg.raw_ops.DenseBincount(input=[[[1]]], size=3, weights=[[[1.0]]])


def test_structures_of_specs_and_features_of_hardware() -> None:
    encode, decode = (
        inner("saved_model.nested_structure_coder", f"{each}") for each in ("encode_structure", "decode_proto")
    )
    spec = {"a": fg.TensorSpec((2, None), fg.int32, "a"), "b": [None, 3]}
    message = encode(spec)
    assert (
        isinstance(message, modules.lookup("core.protobuf.struct_pb2", "StructuredValue")) and decode(message) == spec
    )
    feature = modules.lookup("tpu.experimental.HardwareFeature", "EmbeddingFeature")
    assert [each.name for each in feature] == ["UNSUPPORTED", "V1", "V2"]


def test_lists_are_leaves_of_elements() -> None:
    """The values are TensorFlow's."""
    nest: Any = modules.find("tensorflow.python.data.util.nest")
    structure = {"b": [1, 2], "a": (3, None)}
    assert nest.flatten(structure) == [3, None, [1, 2]]
    assert nest.flatten([1, 2]) == [[1, 2]]
    assert [nest.is_nested(each) for each in ([1], (1,), {}, 1)] == [False, True, True, False]
    assert nest.pack_sequence_as(structure, [1, [2], 3]) == {"b": 3, "a": (1, [2])}
    assert nest.map_structure(lambda x, y: (x, y), (1, [2]), (3, [4])) == ((1, 3), ([2], [4]))
    assert nest.flatten_up_to((1, 2), ((1, [2]), [3])) == [(1, [2]), [3]]
    assert nest.map_structure_up_to((1, 2), lambda x: x, ((1, 2), [3])) == ((1, 2), [3])
    nest.assert_shallow_structure((1, [1, 2]), ((1, 2), 5))
    with pytest.raises(ValueError, match="Could not pack sequence"):
        nest.pack_sequence_as((0, 0), [1])
    with pytest.raises(TypeError, match="don't have the same"):
        nest.map_structure(max, (1, 2), {"a": 1, "b": 2})
    with pytest.raises(ValueError, match="don't have the same nested structure"):
        nest.assert_same_structure((1, (2,)), (1, [2]))


def test_the_inside_of_what_is_not_built_names_a_substitute() -> None:
    for path in ("python.compiler.xla.xla.compile", "python.compiler.xla.jit.experimental_jit_scope", "compiler.xla"):
        assert internal_names.advice(path).endswith("Use fastgraph.function, which compiles every graph instead.")
    with fg.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        assert (tape._persistent, tape._recording, tape._watch_accessed_variables) == (True, True, False)
    assert not tape._recording


def test_specs_with_bounds() -> None:
    made = inner("framework.tensor_spec", "BoundedTensorSpec")
    spec = made((2,), fg.float32, 0, [1.0, 2.0], "a")
    assert repr(spec) == (
        "BoundedTensorSpec(shape=(2,), dtype=tf.float32, name='a', minimum=array(0., dtype=float32), "
        "maximum=array([1., 2.], dtype=float32))"
    )
    assert isinstance(spec, fg.TensorSpec) and not spec.minimum.flags.writeable
    same = made((2,), fg.float32, 0, [1.0, 2.0], "a")
    assert spec == same and hash(spec) == hash(same) and spec == pickle.loads(pickle.dumps(spec))
    plain = fg.TensorSpec((2,), fg.float32, "a")
    assert spec != made((2,), fg.float32, 0, [1.0, 3.0], "a") and spec != plain and plain != spec
    assert made.from_spec(plain).maximum == np.finfo(np.float32).max and made.from_spec(spec) == spec
    assert spec.is_compatible_with(fg.zeros(2)) and not spec.is_compatible_with(fg.zeros(3))
    assert fg.function(lambda x: x, input_signature=[spec])(fg.zeros(2)).shape == 2
    for bounds, text in (((None, 1), "can not be None"), ((0, [1, 2, 3]), "`maximum` .* is not compatible with shape")):
        with pytest.raises(ValueError, match=text):
            made((2,), fg.float32, *bounds)


def test_versions_are_names_of_tensorflow_itself() -> None:
    assert modules.lookup("", "__git_version__") == fg.version.GIT_VERSION
    assert modules.lookup("", "__compiler_version__") == fg.version.COMPILER_VERSION


def test_sessions_can_be_named_and_not_made() -> None:
    for path, name in (("compat.v1", "Session"), ("compat.v1.train", "Saver"), ("compat.v1.train", "SessionRunHook")):
        found = modules.lookup(path, name)
        assert not isinstance(1, found) and isinstance(found | None, types.UnionType)
        with pytest.raises(fg.errors.NotBuiltError, match=f"tf.{path}.{name} is not built. Use "):
            found()

    class Hook(modules.lookup("compat.v1.train", "SessionRunHook")):  # type: ignore[misc]
        pass

    with pytest.raises(fg.errors.NotBuiltError, match="SessionRunHook is not built"):
        Hook()


def test_extension_types_are_known_by_the_names_that_specs_are_registered_under() -> None:
    class Box(fg.experimental.ExtensionType):
        __name__ = "tests.InnerBox"
        side: fg.Tensor

    assert type_spec_names.get_name(Box.Spec) == "tests.InnerBox.Spec"
    assert type_spec_names.lookup("tests.InnerBox.Spec") is Box.Spec
    with pytest.raises(ValueError, match="already been registered"):
        type_spec_names.register("tests.InnerBox.Spec")(type("Other", (fg.TypeSpec,), {}))

    class Wide(Box):
        more: fg.Tensor

    with pytest.raises(ValueError, match="has not been registered"):
        type_spec_names.get_name(Wide.Spec)


def test_the_recorder_of_a_tape_is_the_tape() -> None:
    tape = fg.GradientTape()
    assert tape._tape is None
    x = fg.Variable(2.0)
    with tape:
        y = x * x
    with tape._ensure_recording():
        assert tape._recording
        y = y * 3.0
    assert tape._tape is not None and not tape._recording
    tape._push_tape()
    y = y * x
    tape._pop_tape()
    assert float(tape.gradient(y, x)) == 36.0
    assert tape._tape is None
    with pytest.raises(ValueError, match="Tape is not recording"):
        tape._pop_tape()


def test_a_folder_is_no_table_of_a_checkpoint(tmp_path: Any) -> None:
    with pytest.raises(fg.errors.DataLossError, match="Unable to open table file"):
        inner("training.py_checkpoint_reader", "NewCheckpointReader")(str(tmp_path))
    path = fg.train.Checkpoint(v=fg.Variable([1.0, 2.0])).write(str(tmp_path / "c"))
    reader = inner("training.py_checkpoint_reader", "NewCheckpointReader")(path)
    assert reader.get_tensor("v/.ATTRIBUTES/VARIABLE_VALUE").tolist() == [1, 2]


def test_pfor_stacks_dense_gradients_of_rows() -> None:
    pfor = inner("ops.parallel_for.control_flow_ops", "pfor")
    table = fg.Variable(fg.ones([3, 1]))
    with fg.GradientTape(persistent=True) as tape:
        y = fg.reduce_sum(fg.gather(table, [[0, 1], [1, 1]]), [1, 2])

    def one(i: Any) -> Any:
        with tape._ensure_recording():
            each = fg.gather(y, i)
        return tape.gradient(each, table)

    assert pfor(one, 2).numpy()[:, :, 0].tolist() == [[1, 1, 0], [0, 2, 0]]


def test_a_tape_follows_into_a_trace_if_it_is_asked_to() -> None:
    pfor = inner("ops.parallel_for.control_flow_ops", "pfor")
    x = fg.Variable([1.0, 2.0])
    with fg.GradientTape() as tape:
        y = x * x

        def one(i: Any) -> Any:
            with tape._ensure_recording():
                each = fg.gather(y, i)
            return tape.gradient(each, x)

        assert pfor(one, 2).numpy().tolist() == [[2, 0], [0, 4]]
    assert not fg.core.tensor.current_state().tapes


def test_inner_names_of_tensorflow_1_say_what_to_use() -> None:
    assert internal_names.advice("python.client.session").endswith(
        "Use calls of a tf.function, or wrap_function(...).prune(feeds, fetches) instead."
    )
    assert internal_names.advice("core.protobuf.config_pb2.ConfigProto").endswith("Use tf.config instead.")
    assert internal_names.advice("python.nothing.like_it").endswith("No public name is near to it.")


def test_graphs_that_never_run_take_tensors_of_one_another() -> None:
    graphs = [func_graph.FuncGraph("one"), func_graph.FuncGraph("other")]
    with graphs[0].as_default():
        x = fg.constant([1.0, 2.0]) * 2.0
    with graphs[1].as_default():
        y = x + 1.0
    assert y.shape == (2,) and y.graph is graphs[1]
    with pytest.raises(TypeError, match="out of scope"):
        fg.function(lambda: x + 1.0)()
