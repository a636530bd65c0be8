"""What is going on around ops: devices and their names, control dependencies, critical sections, checks of shapes."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.api import eager_context
from fastgraph.core import devices
from fastgraph.core.base.composite import CompositeTensor

c = fg.constant


def test_the_cpu_is_divided_into_devices_that_differ_in_name() -> None:
    cpu = fg.config.list_physical_devices("CPU")[0]
    parts = [fg.config.LogicalDeviceConfiguration()] * 2
    devices.divide(parts)
    try:
        assert fg.config.get_logical_device_configuration(cpu) == parts
        assert [d.name for d in fg.config.list_logical_devices("CPU")] == ["/device:CPU:0", "/device:CPU:1"]
        for device in fg.config.list_logical_devices():
            with fg.device(device):
                assert float(c(1.0) + 1.0) == 2.0
        fg.config.set_logical_device_configuration(cpu, parts)
        with pytest.raises(RuntimeError, match="Virtual devices cannot be modified after being initialized"):
            fg.config.set_logical_device_configuration(cpu, parts[:1])
    finally:
        devices.divide(None)
    with fg.device("CPU:1"):
        assert c(1.0).device.endswith("CPU:0")
    with pytest.raises(ValueError, match="memory limit"):
        fg.config.set_logical_device_configuration(cpu, [fg.config.LogicalDeviceConfiguration(memory_limit=10)])
    with pytest.raises(ValueError, match="Unrecognized device"):
        fg.config.get_logical_device_configuration("x")


def test_there_is_no_gpu() -> None:
    assert fg.config.list_physical_devices("GPU") == []
    assert fg.config.experimental.list_physical_devices("GPU") == []
    fg.config.set_visible_devices([], "GPU")
    with pytest.raises(fg.errors.NotFoundError, match="No CPU devices are available in this process"):
        fg.config.set_visible_devices([], "CPU")


def test_a_function_is_no_device() -> None:
    with pytest.raises(RuntimeError, match="tf.device does not support functions"):
        fg.device(lambda op: "/cpu:0")


def test_the_cpu_stands_for_a_missing_device_unless_that_is_forbidden(caplog: pytest.LogCaptureFixture) -> None:
    assert fg.config.get_soft_device_placement()
    caplog.set_level("WARNING", "tensorflow")
    for _ in range(2):
        with fg.device("/gpu:7"):
            assert c(1.0).device.endswith("CPU:0") and fg.Variable(1.0).device.endswith("CPU:0")
            assert float(fg.function(lambda x: x + 1)(c(1.0))) == 2.0
    assert [record.getMessage() for record in caplog.records] == ["There is no device /gpu:7: the CPU stands for it."]
    with fg.device("/cpu:0"), pytest.raises(ValueError, match="is not a device name"):
        fg.device("nowhere at all").__enter__()
    for name in ("/job:worker/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:1/device:CPU:0"):
        with pytest.raises(fg.errors.InvalidArgumentError):
            fg.device(name).__enter__()
    fg.config.set_soft_device_placement(False)
    try:
        assert not fg.config.get_soft_device_placement()
        with pytest.raises(fg.errors.InvalidArgumentError, match=r"GPU:0.*Supported device types \[CPU\]"):
            fg.device("/gpu:0").__enter__()
    finally:
        fg.config.set_soft_device_placement(True)


@pytest.mark.parametrize("name", ["bogus", "XPU:0", "/job:localhost/bogus", "/cpu:x"])
def test_a_word_that_is_no_device_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="Unknown attribute"), fg.device(name):
        pass
    with fg.device("/device:XPU:0"):  # a kind, if it is called one
        assert fg.constant(1).device.endswith("CPU:0")


def test_device_specs() -> None:
    spec = fg.DeviceSpec.from_string("/job:w/replica:1/task:2/gpu:3")
    assert spec.to_string() == "/job:w/replica:1/task:2/device:GPU:3"
    assert (spec.job, spec.replica, spec.task, spec.device_type, spec.device_index) == ("w", 1, 2, "GPU", 3)
    assert spec.replace(device_index=None).to_string().endswith("/device:GPU:*")
    assert (
        fg.DeviceSpec(job="w").make_merged_spec(fg.DeviceSpec(device_type="gpu")).to_string() == "/job:w/device:GPU:*"
    )
    assert spec == fg.DeviceSpec("w", 1, 2, "GPU", 3) and hash(spec) == hash(fg.DeviceSpec("w", 1, 2, "GPU", 3))
    assert (
        repr(fg.DeviceSpec()) == "<DeviceSpec(job=None, replica=None, task=None, device_type=None, device_index=None)>"
    )
    with pytest.raises(ValueError, match="Unknown attribute 'foo'"):
        fg.DeviceSpec.from_string("/foo:1")
    with fg.device(fg.DeviceSpec(device_type="CPU", device_index=0)):
        assert c(1).device.endswith("CPU:0")


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        *[(each, "/device:CPU:0") for each in ("/cpu:0", "cpu:0", "CPU:0", "/CPU:0", "/device:CPU:0", "/device:cpu:0")],
        ("/cpu", "/device:CPU:*"),
        ("/device:cpu:*", "/device:CPU:*"),
        ("/job:localhost/cpu:0", "/job:localhost/device:CPU:0"),
        ("/job:localhost/replica:0/task:0/cpu:0", "/job:localhost/replica:0/task:0/device:CPU:0"),
        (None, ""),
        ("", ""),
    ],
)
def test_operations_name_their_device_in_full_words(asked: str | None, name: str) -> None:
    with fg.Graph().as_default() as graph, fg.device(asked):
        one = c(1.0)
    assert (one.op.device, one.device, graph.as_graph_def().node[0].device) == (name, name, name)


def test_a_device_within_another_says_what_differs() -> None:
    seen = []

    @fg.function
    def f(x: Any) -> Any:
        with fg.device("/job:localhost"):
            with fg.device("/cpu:0"):
                seen.append((x + 1.0).device)
                with fg.device(""):
                    seen.append((x + 1.0).device)
                with fg.device(None):
                    seen.append((x + 1.0).device)
            seen.append((x + 1.0).device)
        return x + 1.0

    assert "CPU:0" in f(c(1.0)).device
    assert seen == ["/job:localhost/device:CPU:0"] * 2 + ["", "/job:localhost"]


def test_what_a_node_takes_is_no_control_input_besides() -> None:
    @fg.function
    def f(x: Any, y: Any) -> Any:
        a, b = x + 1.0, y * 2.0
        with fg.control_dependencies([a, b, a]):
            return fg.identity(a)

    scalar = fg.TensorSpec([], fg.float32)
    node = f.get_concrete_function(scalar, scalar).graph.get_operation_by_name("Identity")
    assert [value.name for value in node.inputs] == ["add:0"]
    assert [op.name for op in node.control_inputs] == ["mul"]


def test_messages_are_prefixed_unless_the_program_says_where_they_go() -> None:
    source = """
import logging, sys
if sys.argv[1] == "root":
    logging.basicConfig(format="mine %(message)s")
import fastgraph as fg
from fastgraph.api import eager_context
if sys.argv[1] == "quiet":
    fg.get_logger().setLevel("ERROR")
f = fg.function(lambda x: x)
for i in range(6):
    f(i)
"""
    said = {
        how: subprocess.run([sys.executable, "-c", source, how], capture_output=True, text=True, check=True).stderr
        for how in ("plain", "root", "quiet")
    }
    assert (
        said["plain"].startswith("WARNING:tensorflow:5 out of the last 5 calls") and said["plain"].count("5 out") == 1
    )
    assert said["root"].startswith("mine 5 out of the last 5 calls") and said["root"].count("5 out") == 1
    assert said["quiet"] == ""


def test_control_dependencies_keep_program_order_which_holds_anyway() -> None:
    v = fg.Variable(1.0)

    @fg.function
    def step() -> Any:
        with fg.control_dependencies([v.assign_add(1.0), fg.print("", end="")]):
            return v * 2.0

    assert float(step()) == 4.0 and float(step()) == 6.0
    with fg.control_dependencies([lambda: v.assign(10.0)]):
        assert float(v) == 10.0
    with fg.control_dependencies(None):
        pass

    @fg.function
    def wrong() -> None:
        with fg.control_dependencies(["text"]):
            pass

    with pytest.raises(TypeError, match="Control input must be"):
        wrong()


def test_a_critical_section_runs_one_body_at_a_time() -> None:
    section, v = fg.CriticalSection(), fg.Variable(0)

    def body() -> Any:
        before = v.read_value()
        return v.assign(before + 1)

    def work() -> None:
        for _ in range(100):
            section.execute(body)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert int(v) == 400


def test_what_is_known_of_values_and_traces() -> None:
    assert fg.get_static_value(c([1, 2])).tolist() == [1, 2]
    assert fg.get_static_value(fg.Variable(1)) is None and fg.get_static_value(3) == 3
    assert not fg.inside_function() and not fg.is_symbolic_tensor(c(1))
    seen: list[Any] = []

    @fg.function(input_signature=[fg.TensorSpec([None, 3])])
    def f(x: Any) -> Any:
        seen.append((fg.inside_function(), fg.is_symbolic_tensor(x), fg.get_static_value(x)))
        seen.append(fg.get_static_value(fg.shape(x)[1]))
        with fg.name_scope("a"), fg.name_scope("b"):
            seen.append(fg.get_current_name_scope())
        return x

    f(fg.zeros([2, 3]))
    assert seen == [(True, True, None), 3, "a/b"] or seen == [(True, True, None), None, "a/b"]
    assert fg.get_logger().name == "tensorflow"


def test_the_time_is_read_whenever_it_is_asked_for() -> None:
    clock = fg.function(fg.timestamp)
    first = float(clock())
    assert clock().dtype == fg.float64 and float(clock()) >= first > 1.6e9


def test_initializers_by_their_old_names() -> None:
    assert fg.zeros_initializer()([2]).numpy().tolist() == [0, 0]
    assert fg.ones_initializer()([2], "int32").dtype == fg.int32
    assert fg.constant_initializer(3)([2]).dtype == fg.int32
    assert fg.constant_initializer([1.0, 2.0, 3.0, 4.0])([2, 2]).numpy().tolist() == [[1, 2], [3, 4]]
    assert fg.keras.initializers.Constant(3)([2]).dtype == fg.float32
    numbers = fg.random_normal_initializer(mean=5.0, stddev=0.1, seed=1)([1000])
    assert abs(float(fg.reduce_mean(numbers)) - 5.0) < 0.05
    numbers = fg.random_uniform_initializer(2.0, 3.0, seed=1)([1000])
    assert float(fg.reduce_min(numbers)) >= 2.0 and float(fg.reduce_max(numbers)) < 3.0
    fg.random.set_seed(5)
    even, normal = fg.random_uniform_initializer(-1.0, 1.0), fg.random_normal_initializer()
    drawn = [even([3]), even([3]), normal([3]), normal([3]), fg.random_uniform_initializer(-1.0, 1.0, seed=3)([3])]
    wanted = [
        [0.25278616, 0.05968642, 0.51691437], [0.40341496, -0.9132643, 0.12091446],
        [0.07332732, -0.05124069, 0.04337164], [0.00185014, 0.01729643, -0.02077523], [-0.6081743, 0.8786905, 0.0645504],
    ]  # fmt: skip
    np.testing.assert_allclose(drawn, wanted, rtol=1e-5)  # TensorFlow's


def test_tensors_are_shared_with_other_libraries() -> None:
    x = c([[1.0, 2.0]])
    back = fg.experimental.dlpack.from_dlpack(fg.experimental.dlpack.to_dlpack(x))
    assert back.shape == (1, 2) and back.numpy().tolist() == [[1, 2]]
    assert np.shares_memory(np.asarray(back), np.asarray(x))
    given = np.arange(3.0)
    assert np.shares_memory(np.asarray(fg.experimental.dlpack.from_dlpack(given)), given)
    with pytest.raises(TypeError, match="must be a TF tensor"):
        fg.experimental.dlpack.to_dlpack(given)
    with pytest.raises((BufferError, TypeError)):
        fg.experimental.dlpack.to_dlpack(c("a"))


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_bfloat16_is_shared_with_other_libraries(shape: tuple[int, ...]) -> None:
    dlpack = fg.experimental.dlpack
    x = fg.fill(shape, fg.constant(1.5, fg.bfloat16))
    for shared in (x, dlpack.to_dlpack(x)):  # by the protocol's first version and by its second
        back = dlpack.from_dlpack(shared)
        assert back.dtype == fg.bfloat16 and back.shape == shape
        assert bool(fg.reduce_all(back == 1.5))
        assert not x.numpy().size or np.shares_memory(np.asarray(back), np.asarray(x))
    capsule = dlpack.to_dlpack(x)
    dlpack.from_dlpack(capsule)
    with pytest.raises(ValueError):
        dlpack.from_dlpack(capsule)  # once only
    with pytest.raises(RuntimeError, match="Unsupported dtype"):
        np.from_dlpack(x)  # NumPy has no such elements, and does not take them for others


def test_shapes_are_checked_against_symbols() -> None:
    x, y = c([[1, 2]]), c([1, 2, 3])
    check = fg.debugging.assert_shapes
    check([(x, ("A", "B")), (c([1, 2]), "B"), (x, (None, 2)), (x, ".2"), (x, (..., "B")), (c(1), ())])
    check({x.ref(): ("A", "B")})
    check([(x, ("A", "*"))])
    with pytest.raises(
        ValueError, match=r"m\.  Specified by tensor .*dimension 1\.  .* must have size 2\.  Received size 3"
    ):
        check([(x, ("A", "B")), (y, ("B",))], message="m")
    with pytest.raises(ValueError, match="must have rank 1"):
        check([(x, ("A",))])
    with pytest.raises(ValueError, match="Specified explicitly.*must have size 5"):
        check([(x, ("A", 5))])
    with pytest.raises(ValueError, match="must be an iterable"):
        check([(x, 3)])

    @fg.function(input_signature=[fg.TensorSpec([None, 2])])
    def staged(x: Any) -> Any:
        fg.debugging.assert_shapes([(x, ("N", 2))])
        return x

    assert staged(c([[1.0, 2.0]])).shape == (1, 2)


def test_kinds_and_ranks_are_checked() -> None:
    d = fg.debugging
    d.assert_rank_in(c(1), (0, c(2)))
    with pytest.raises(ValueError, match=r"hey\.  ?Tensor  must have rank in \(1, 2\)"):
        d.assert_rank_in(c(1), (1, 2), message="hey")
    assert d.assert_same_float_dtype([None, c(1.0)]) is fg.float32 and d.assert_same_float_dtype() is fg.float32
    with pytest.raises(ValueError, match="must be of the same type"):
        d.assert_same_float_dtype([c(1.0), c(1.0, "float64")])
    with pytest.raises(ValueError, match="Expected floating point type"):
        d.assert_same_float_dtype([c(1)])
    d.assert_proper_iterable([1])
    for wrong in (1, "a", c([1]), np.ones(1)):
        with pytest.raises(TypeError, match="iterable"):
            d.assert_proper_iterable(wrong)
    assert [d.is_numeric_tensor(x) for x in (c(1), c("a"), c(True), 1, c(1j))] == [True, False, False, False, True]
    assert d.assert_all_finite(c([1.0]), "m").numpy().tolist() == [1.0]
    with pytest.raises(fg.errors.InvalidArgumentError, match="m : Tensor had NaN"):
        d.assert_all_finite(c([np.nan]), "m")


def test_text_and_bytes() -> None:
    assert fg.compat.as_bytes("é") == "é".encode() and fg.compat.as_text(b"a") == fg.compat.as_str("a") == "a"
    assert fg.compat.as_str_any(3) == "3" and fg.compat.dimension_value(fg.TensorShape([1, None])[1]) is None
    with pytest.raises(TypeError, match="Expected binary or unicode"):
        fg.compat.as_bytes(3)


def test_names_of_scopes_in_a_graph_are_checked() -> None:
    refused = {"": ["/", "//", "/a", "_a", "a b", "b c/"], "o": ["a b", "b c/"]}
    taken = {"": [("a/b", "a/b/q"), ("a/b/", "a/b/q_1"), ("c//", "c//q")], "o": [("/", "q"), ("_a", "o/_a/q")]}

    @fg.function(autograph=False)
    def f(x: Any) -> Any:
        for outer, names in refused.items():
            for name in names:
                with (
                    fg.name_scope(f"{outer}/" if outer else ""),
                    pytest.raises(ValueError, match="valid.* scope name"),
                ):
                    fg.name_scope(name).__enter__()
                assert fg.get_current_name_scope() == ""
        for outer, pairs in taken.items():
            for name, made in pairs:
                with fg.name_scope(f"{outer}/" if outer else ""), fg.name_scope(name):
                    assert fg.identity(x, name="q").op.name == made
        return x

    f(1.0)
    with fg.name_scope("/") as scope:  # what is not in a graph may be called anything
        assert scope == "/"


def test_a_scope_entered_again_is_another_one() -> None:
    made = []

    def f(x: Any) -> Any:
        for name in ("a", "a", "a/", "a/b"):
            with fg.name_scope(name) as scope:
                made.append((scope, fg.identity(x, name="y").op.name))
        with fg.name_scope("a"):
            for _ in range(2):
                with fg.name_scope("b") as scope:
                    made.append((scope, fg.identity(x, name="y").op.name))
        return x

    fg.function(f)(1.0)
    assert made[:3] == [("a/", "a/y"), ("a_1/", "a_1/y"), ("a/", "a/y_1")]
    assert made[3:] == [("a/b/", "a/b/y"), ("a_2/b/", "a_2/b/y"), ("a_2/b_1/", "a_2/b_1/y")]


def test_the_contexts_device_is_told_as_a_spec() -> None:
    assert eager_context.context().device_spec.device_type is None
    with fg.device("/CPU:0"):
        spec = eager_context.context().device_spec
    assert (spec.device_type, spec.device_index) == ("CPU", 0)


def test_control_dependencies_are_taken_from_any_iterator() -> None:
    @fg.function
    def f(x: Any) -> Any:
        with fg.control_dependencies(part for part in [x, x + 1.0]):
            return fg.identity(x)

    assert float(f(fg.constant(2.0))) == 2.0


def test_what_a_variables_assign_gives_has_an_operation_in_graphs_alone() -> None:
    variable = fg.Variable(1.0)
    assert variable.assign(2.0).op is variable.assign_add(1.0).op is None


def test_what_says_that_it_is_like_a_tensor_is_one() -> None:
    class Like:
        def is_tensor_like(self) -> None: ...

    class ObjectProxy(Like): ...

    class Composite(CompositeTensor): ...

    assert not fg.is_tensor(Composite()) and fg.is_tensor(fg.sparse.eye(2)) and fg.is_tensor(fg.ragged.constant([[1]]))
    assert fg.is_tensor(fg.IndexedSlices(fg.ones([1]), fg.constant([0])))
    assert fg.is_tensor(Like()) and fg.get_static_value(Like()) is None and not fg.is_tensor(ObjectProxy())


def test_scalar_tensors_are_shapes_of_one_axis_in_functions_too() -> None:
    @fg.function
    def f(x: Any) -> Any:
        return fg.ones(fg.rank(x)), fg.zeros(fg.constant(3))

    ones, zeros = f(fg.zeros([4, 5]))
    assert ones.shape == (2,) and zeros.shape == (3,)
