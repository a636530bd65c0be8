"""tf.graph_util.import_graph_def: prefixes, mapped inputs, functions, what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.graphdef import exporter, messages, wire_format
from fastgraph.graphdef.message_types import Enum
from fastgraph.graphdef.op_table import Dims


def concrete(function, *specs, **options):
    return tf.function(function, **options).get_concrete_function(*specs)


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


@pytest.fixture
def definition():
    return concrete(lambda x: tf.multiply(tf.add(x, 1.0, name="y"), 2.0, name="z"), spec(2)).graph.as_graph_def()


def test_imported_operations_have_a_prefix(definition) -> None:
    graph = tf.Graph()
    with graph.as_default():
        assert tf.import_graph_def(definition) is None
        op, tensor = tf.import_graph_def(definition, return_elements=["z", "z:0"])
        assert tf.import_graph_def(definition, name="pre", return_elements=["z"])[0].name == "pre/z"
        assert tf.graph_util.import_graph_def(definition, name="", return_elements=["z:0"])[0].name == "z:0"
    assert {"import/x", "import/y/y", "import/y", "import/z"} <= {each.name for each in graph.get_operations()}
    assert op.name == "import_1/z" and tensor.graph is graph


def test_inputs_are_mapped(definition) -> None:
    f = tf.function(lambda a: tf.import_graph_def(definition, {"x": a}, ["z:0"])[0])
    assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [4.0, 6.0]


def _of_a_graph(make: Any) -> Any:
    """The GraphDef of a graph with a placeholder `x` of two floats and what `make` adds."""
    original = concrete(lambda x: x, tf.TensorSpec([2], name="x")).graph.as_graph_def()
    original.node.remove(original.node[1])
    graph = tf.Graph()
    with graph.as_default():
        make(tf.import_graph_def(original, name="", return_elements=["x:0"])[0])
    return graph.as_graph_def()


def _operations(graph: Any) -> list[Any]:
    return [
        (op.name, [tensor.name for tensor in op.inputs], [each.name for each in op.control_inputs])
        for op in graph.get_operations()
    ]


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ([], ["import/x:0", "import/y:0", "import/z:0", "import/y:0"]),
        (["x"], ["a:0", "import/y:0", "import/z:0", "import/y:0"]),
        (["y:0"], ["import/x:0", "a:0", "import/z:0", "a:0"]),
        (["z"], ["import/x:0", "import/y:0", "a:0", "import/y:0"]),
        (["z", "x"], ["a:0", "import/y:0", "a:0", "import/y:0"]),
    ],
)
def test_what_is_mapped_is_there_all_the_same(given, taken) -> None:
    def make(x):
        y = tf.constant([1.0, 2.0], name="y")
        tf.multiply(tf.add(x, y, name="z"), y, name="w")

    graph = tf.Graph()
    with graph.as_default():
        a = tf.constant([3.0, 4.0], name="a")
        found = tf.import_graph_def(_of_a_graph(make), dict.fromkeys(given, a), ["x", "y", "z", "z:0"])
    one, two, three, four = taken
    assert _operations(graph) == [
        *[("a", [], []), ("import/x", [], []), ("import/y", [], [])],
        *[("import/z", [one, two], []), ("import/w", [three, four], [])],
    ]
    assert found[:3] == [graph.get_operation_by_name(f"import/{name}") for name in "xyz"]
    assert found[3] is (a if "z" in given else graph.get_tensor_by_name("import/z:0"))


def test_control_inputs_are_imported() -> None:
    def make(x):
        y = tf.constant([1.0, 2.0], name="y")
        with tf.control_dependencies([x, y, tf.no_op("nothing")]):
            tf.identity(y, name="z")
            tf.constant(3.0, name="alone")

    definition, graph = _of_a_graph(make), tf.Graph()
    with graph.as_default():
        tf.import_graph_def(definition, {"x": [3.0, 4.0]})
    assert sorted(_operations(graph)) == [
        ("import/_inputs/Const", [], []),
        ("import/alone", [], ["import/nothing", "import/x", "import/y"]),
        ("import/nothing", [], []),
        ("import/x", [], []),
        ("import/y", [], []),
        ("import/z", ["import/y:0"], ["import/nothing", "import/x"]),
    ]


def test_placeholders_that_a_function_does_not_take() -> None:
    def make(x):
        tf.square(x, name="z")

    definition = _of_a_graph(make)
    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'x'"):
        tf.function(lambda a: tf.import_graph_def(definition, {"z": a}, ["x:0"])[0])(tf.constant([1.0, 2.0]))
    definition.node.remove(definition.node[1])
    tf.function(lambda a: tf.import_graph_def(definition) or a)(tf.constant([1.0, 2.0]))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"input_map": {"q:0": 1.0}}, ValueError, "Attempted to map inputs that were not found in graph_def: [q:0]"),
        ({"input_map": {"x:3": 1.0}}, ValueError, "Attempted to map inputs that were not found in graph_def: [x:3]"),
        ({"input_map": {"x": [1.0]}, "name": ""}, ValueError, "requires a non-empty `name` if `input_map` contains"),
        ({"input_map": 3}, TypeError, "Argument `input_map` must be a dictionary. Obtained int"),
        ({"return_elements": ["nope:0"]}, ValueError, "Requested return tensor 'nope:0' not found in graph def"),
        ({"return_elements": ["nope"]}, ValueError, "Requested return node 'nope' not found in graph def"),
        ({"return_elements": 3}, TypeError, "'int' object is not iterable"),
        ({"graph_def": 3}, TypeError, "Argument `graph_def` must be a GraphDef proto."),
        ({"input_map": {"x:0": [1, 2]}}, ValueError, "Node 'y' (AddV2)"),
    ],
)
def test_errors_of_imports(definition, arguments, error, text) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=re.escape(text)):
        tf.import_graph_def(**{"graph_def": definition, **arguments})


def _changed(definition, change):
    message = wire_format.parsed(definition.SerializeToString(), "GraphDef")
    change({node.name: node for node in message.node})
    return wire_format.serialized(message)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda nodes: nodes["y"].input.__setitem__(0, "zzz"), ValueError, "Node 'y': Unknown input node 'zzz'"),
        (lambda nodes: setattr(nodes["y"], "op", "Foo"), tf.errors.NotFoundError, "Op type not registered 'Foo'"),
        (lambda nodes: nodes["y"].input.__setitem__(0, "z"), ValueError, "in a circle"),
        (lambda nodes: setattr(nodes["y"], "op", "Enter"), tf.errors.NotFoundError, "have no equal here; write the"),
    ],
)
def test_wrong_graph_defs(definition, change, error, text) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=re.escape(text)):
        tf.import_graph_def(_changed(definition, change))


def test_a_placeholder_in_a_function_must_be_mapped(definition) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'x'"):
        tf.function(lambda: tf.import_graph_def(definition, None, ["z:0"]))()


def test_functions_of_one_name_are_apart() -> None:
    first, second = tf.function(lambda x: x + 1.0), tf.function(lambda x: x * 3.0)
    original = concrete(lambda x: first(x) - second(x), spec())
    definition = original.graph.as_graph_def()
    assert len({function.signature.name for function in definition.library.function}) == 2
    again = tf.function(lambda x: tf.import_graph_def(definition, {"x:0": x}, [original.outputs[0].name], name="")[0])
    assert float(again(tf.constant(2.0))) == float(original(tf.constant(2.0))) == -3.0


def test_zeros_keep_their_signs() -> None:
    content = wire_format.serialized(exporter.tensor_message(tf.constant([0.0, -0.0])))
    assert content.endswith(bytes(7) + b"\x80")


def _made(op, tensors, attrs, constants=(), output=0):
    """A result of one operation, imported; `constants` are the places of inputs that are known."""
    nodes = []
    names = [f"in{i}" for i in range(len(tensors))]
    for i, (name, tensor) in enumerate(zip(names, tensors, strict=True)):
        value = messages.AttrValue(tensor=exporter.tensor_message(tensor))
        dtype = exporter.attr_value(tensor.dtype)
        kind = {"op": "Const", "attr": {"dtype": dtype, "value": value}}
        if i not in constants:
            kind = {"op": "Placeholder", "attr": {"dtype": dtype}}
        nodes.append(messages.NodeDef(name=name, **kind))
    written = {name: exporter.attr_value(value) for name, value in attrs.items()}
    nodes.append(messages.NodeDef(name="made", op=op, input=names, attr=written))
    definition = messages.GraphDef(node=nodes)
    given = {name: tensor for i, (name, tensor) in enumerate(zip(names, tensors, strict=True)) if i not in constants}
    outputs = [f"made:{output}"]
    run = tf.function(
        lambda *values: tf.import_graph_def(definition, dict(zip(given, values, strict=True)), outputs)[0]
    )
    return run(*given.values())


IMAGE = tf.constant(np.linspace(-1, 1, 32, dtype=np.float32).reshape(1, 4, 4, 2))


MATRIX = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])


PLANE = [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("op", "tensors", "attrs", "constants", "expected"),
    [
        ("Add", [MATRIX, MATRIX], {}, (), lambda: MATRIX + MATRIX),
        ("BiasAdd", [MATRIX, tf.constant([1.0, 2.0, 3.0])], {}, (), lambda: MATRIX + [1.0, 2.0, 3.0]),
        ("BatchMatMulV2", [MATRIX, MATRIX], {"adj_y": True}, (), lambda: tf.matmul(MATRIX, MATRIX, transpose_b=True)),
        ("Einsum", [MATRIX, MATRIX], {"equation": "ij,kj->ik", "N": 2}, (),
         lambda: tf.einsum("ij,kj->ik", MATRIX, MATRIX)),
        ("Split", [tf.constant(1), MATRIX], {"num_split": 3}, (0,), lambda: MATRIX[:, :1]),
        ("Pad", [MATRIX, tf.constant([[1, 0], [0, 2]])], {}, (1,), lambda: tf.pad(MATRIX, [[1, 0], [0, 2]])),
        ("Select", [MATRIX > 3.0, MATRIX, -MATRIX], {}, (), lambda: tf.where(MATRIX > 3.0, MATRIX, -MATRIX)),
        ("DepthwiseConv2dNative", [IMAGE, tf.ones([2, 2, 2, 1])], {"strides": PLANE, "padding": "VALID"}, (),
         lambda: tf.nn.depthwise_conv2d(IMAGE, tf.ones([2, 2, 2, 1]), PLANE, "VALID")),
        ("Conv2D", [tf.transpose(IMAGE, [0, 3, 1, 2]), tf.ones([2, 2, 2, 3])],
         {"strides": PLANE, "padding": "SAME", "data_format": "NCHW"}, (),
         lambda: tf.transpose(tf.nn.conv2d(IMAGE, tf.ones([2, 2, 2, 3]), 1, "SAME"), [0, 3, 1, 2])),
        ("Conv2D", [IMAGE, tf.ones([2, 2, 2, 3])],
         {"strides": PLANE, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 0, 1, 0, 0]}, (),
         lambda: tf.nn.conv2d(IMAGE, tf.ones([2, 2, 2, 3]), 1, [[0, 0], [1, 0], [0, 1], [0, 0]])),
        ("FusedBatchNormV3", [IMAGE, *[tf.constant([0.5, 2.0])] * 4], {"is_training": False, "epsilon": 0.01}, (),
         lambda: tf.nn.batch_normalization(IMAGE, *[tf.constant([0.5, 2.0])] * 4, 0.01)),
        ("Unique", [tf.constant([3.0, 1.0, 3.0])], {}, (), lambda: tf.constant([3.0, 1.0])),
        ("TanhGrad", [MATRIX, MATRIX], {}, (), lambda: MATRIX * (1.0 - MATRIX**2.0)),
        ("SigmoidGrad", [MATRIX, MATRIX], {}, (), lambda: MATRIX * MATRIX * (1.0 - MATRIX)),
        ("SqrtGrad", [MATRIX, MATRIX], {}, (), lambda: MATRIX * 0.5 / MATRIX),
        ("RsqrtGrad", [MATRIX, MATRIX], {}, (), lambda: MATRIX * -0.5 * MATRIX**3.0),
        ("ReciprocalGrad", [MATRIX, MATRIX], {}, (), lambda: -(MATRIX**3.0)),
        ("ShapeN", [MATRIX, MATRIX], {"N": 2}, (), lambda: tf.constant([2, 3])),
        ("ConcatOffset", [tf.constant(1), tf.constant([2, 3]), tf.constant([2, 4])], {"N": 2}, (0,),
         lambda: tf.constant([0, 0])),
        ("Tile", [MATRIX, tf.constant([2, 1])], {}, (), lambda: tf.tile(MATRIX, [2, 1])),
        ("RFFT2D", [MATRIX, tf.constant([2, 3])], {}, (1,), lambda: tf.signal.rfft2d(MATRIX)),
        ("ParallelConcat", [MATRIX, MATRIX], {"N": 2}, (), lambda: tf.concat([MATRIX, MATRIX], 0)),
        ("LowerBound", [MATRIX, MATRIX], {}, (), lambda: tf.constant([[0, 1, 2], [0, 1, 2]])),
        ("UpperBound", [MATRIX, MATRIX], {}, (), lambda: tf.constant([[1, 2, 3], [1, 2, 3]])),
        ("MatrixDiagV3", [MATRIX[0], *map(tf.constant, (0, -1, -1, 0.0))], {}, (1, 2, 3),
         lambda: tf.linalg.diag(MATRIX[0])),
        ("IRFFT", [tf.cast(MATRIX, "complex64"), tf.constant([4])], {}, (1,),
         lambda: tf.signal.irfft(tf.cast(MATRIX, "complex64"))),
        ("StridedSlice", [MATRIX, *[tf.constant([v, w]) for v, w in ((1, 0), (2, 3), (1, 2))]],
         {"shrink_axis_mask": 1, "end_mask": 2}, (1, 2, 3), lambda: MATRIX[1, ::2]),
    ],
)  # fmt: skip
def test_types_that_become_several(op, tensors, attrs, constants, expected) -> None:
    np.testing.assert_allclose(_made(op, tensors, attrs, constants).numpy(), expected().numpy(), rtol=1e-5, atol=1e-6)


SCENE = tf.reshape(tf.cast(tf.range(16 * 16 * 3) % 251, tf.uint8), [16, 16, 3])


@pytest.mark.parametrize(
    ("op", "tensors", "attrs", "expected"),
    [
        ("DecodeJpeg", lambda: [tf.io.encode_jpeg(SCENE)], {"ratio": 2, "dct_method": "INTEGER_ACCURATE"},
         lambda: tf.io.decode_jpeg(tf.io.encode_jpeg(SCENE), ratio=2, dct_method="INTEGER_ACCURATE")),
        ("QuantizeV2", lambda: [MATRIX, -8.0, 8.0], {"T": tf.qint8, "mode": "SCALED"},
         lambda: tf.quantization.quantize(MATRIX, -8.0, 8.0, tf.qint8, mode="SCALED")[0]),
        ("Dequantize", lambda: [tf.quantization.quantize(MATRIX, -8.0, 8.0, tf.quint8)[0], -8.0, 8.0], {},
         lambda: tf.quantization.dequantize(tf.quantization.quantize(MATRIX, -8.0, 8.0, tf.quint8)[0], -8.0, 8.0)),
        ("MaxPoolWithArgmax", lambda: [IMAGE], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
         lambda: tf.nn.max_pool_with_argmax(IMAGE, 2, 2, "SAME")[0]),
        ("Mod", lambda: [-MATRIX, MATRIX * 0.0 + 3.0], {}, lambda: tf.truncatemod(-MATRIX, 3.0)),
        ("DeviceIndex", list, {"device_names": ["GPU", "CPU"]}, lambda: tf.constant(1)),
        ("DeviceIndex", list, {"device_names": ["GPU", "TPU"]}, lambda: tf.constant(2)),
        ("FakeParam", list, {"dtype": tf.float32, "shape": Dims((None, 3))}, lambda: tf.zeros([0, 3])),
        ("ScatterNdNonAliasingAdd", lambda: [MATRIX[0], [[1], [1]], [1.0, 2.0]], {},
         lambda: tf.tensor_scatter_nd_add(MATRIX[0], [[1], [1]], [1.0, 2.0])),
    ],
)  # fmt: skip
def test_types_that_a_public_function_computes(op, tensors, attrs, expected) -> None:
    if op == "DecodeJpeg":
        pytest.importorskip("PIL.Image")
    found, wanted = _made(op, [tf.convert_to_tensor(each) for each in tensors()], attrs), expected()
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(tf.cast(found, tf.float32), tf.cast(wanted, tf.float32))


@pytest.mark.parametrize("version", ["", "V2"])
def test_tables_of_both_versions_are_imported(version: str) -> None:
    node, attr = messages.NodeDef, exporter.attr_value
    given = {"keys": tf.constant(["a", "b"]), "values": tf.constant([5, 6]), "default": tf.constant(-1)}
    given["known"] = tf.constant(["a", "z"])
    nodes = [
        node(name=name, op="Const", attr={
            "dtype": attr(each.dtype), "value": messages.AttrValue(tensor=exporter.tensor_message(each)),
        }) for name, each in given.items()
    ]  # fmt: skip
    types = {"key_dtype": attr(tf.string), "value_dtype": attr(tf.int32)}
    nodes += [
        node(name="table", op=f"HashTable{version}", attr=types),
        node(name="fill", op=f"InitializeTable{version}", input=["table", "keys", "values"]),
        node(name="asked", op="Placeholder", attr={"dtype": attr(tf.string)}),
        node(name="found", op=f"LookupTableFind{version}", input=["table", "asked", "default", "^fill"]),
        node(name="of_constants", op=f"LookupTableFind{version}", input=["table", "known", "default", "^fill"]),
        node(name="size", op=f"LookupTableSize{version}", input=["table", "^found"]),
    ]
    definition = messages.GraphDef(node=nodes)
    asked_for = ["found:0", "size:0", "of_constants:0"]
    run = tf.function(lambda asked: tf.import_graph_def(definition, {"asked": asked}, asked_for))
    for _ in range(2):
        assert [each.numpy().tolist() for each in run(tf.constant(["b", "c"]))] == [[6, -1], 2, [5, -1]]


def test_batched_functions_are_calls() -> None:
    attr, kind = exporter.attr_value, Enum(1)
    inner = messages.FunctionDef(
        signature=messages.OpDef(
            name="f", input_arg=[messages.ArgDef(name=name, type=kind) for name in "xyw"],
            output_arg=[messages.ArgDef(name="z", type=kind)],
        ),
        node_def=[messages.NodeDef(name="sub", op="Sub", input=["x", "y"], attr={"T": attr(tf.float32)}),
                  messages.NodeDef(name="mul", op="Mul", input=["sub:z:0", "w"], attr={"T": attr(tf.float32)})],
        ret={"z": "mul:z:0"},
    )  # fmt: skip
    nodes = [messages.NodeDef(name=n, op="Placeholder", attr={"dtype": attr(tf.float32)}) for n in "abc"]
    nodes.append(messages.NodeDef(name="batch", op="BatchFunction", input=list("abc"), attr={
        "f": messages.AttrValue(func=messages.NameAttrList(name="f")), "num_batch_threads": attr(1),
        "Tin": attr([tf.float32] * 2), "Tcaptured": attr([tf.float32]), "Tout": attr([tf.float32]),
    }))  # fmt: skip
    definition = messages.GraphDef(node=nodes, library=messages.FunctionDefLibrary(function=[inner]))
    run = tf.function(lambda a, b, c: tf.import_graph_def(definition, {"a": a, "b": b, "c": c}, ["batch:0"])[0])
    assert float(run(tf.constant(5.0), tf.constant(2.0), tf.constant(10.0))) == 30.0


def test_attributes_that_an_operation_has_not_are_refused() -> None:
    with pytest.raises(tf.errors.NotFoundError, match="Op type not registered 'Mod'"):
        _made("Mod", [MATRIX, MATRIX], {"sign": 1})


def test_axes_of_an_ellipsis_are_summed_behind_the_letters_before_it() -> None:
    """The gradient of an equation whose ellipsis is of extents that a call knows: axes found, moved on, summed."""
    kind = exporter.attr_value(tf.int32)
    first = {"dtype": kind, "value": messages.AttrValue(tensor=exporter.tensor_message(tf.constant(1)))}
    nodes = [
        messages.NodeDef(name="dy", op="Placeholder", attr={"dtype": exporter.attr_value(tf.float32)}),
        *[messages.NodeDef(name=name, op="Placeholder", attr={"dtype": kind}) for name in ("s0", "s1")],
        messages.NodeDef(name="first", op="Const", attr=first),
        messages.NodeDef(name="axes", op="BroadcastGradientArgs", input=["s0", "s1"], attr={"T": kind}),
        messages.NodeDef(name="moved", op="AddV2", input=["first", "axes"], attr={"T": kind}),
        messages.NodeDef(name="sum", op="Sum", input=["dy", "moved"], attr={"Tidx": kind}),
    ]
    definition = messages.GraphDef(node=nodes)

    @tf.function
    def run(dy: Any, s0: Any, s1: Any) -> Any:
        given = {"dy": dy, "s0": s0, "s1": s1}
        found = tf.import_graph_def(definition, given, ["sum:0"])[0]
        return tf.reshape(found, tf.concat([tf.shape(dy)[:1], s0, tf.shape(dy)[1 + tf.size(s1) :]], 0))

    dy = np.arange(5 * 2 * 3 * 4, dtype=np.float32).reshape(5, 2, 3, 4)
    for own, axes in (([2, 3], ()), ([2, 1], (2,)), ([3], (1,)), ([1, 1], (1, 2)), ([], (1, 2))):
        found = run(tf.constant(dy), tf.constant(own, tf.int32), tf.constant([2, 3]))
        np.testing.assert_array_equal(found.numpy().reshape(-1), dy.sum(axes).reshape(-1))


def test_axes_of_a_vectorized_gradient_are_moved_where_they_are_not_below_zero() -> None:
    """The gradient of many rows at once: each axis is one more than that of a row; and the axes themselves."""
    kind, truth = exporter.attr_value(tf.int32), exporter.attr_value(tf.bool)
    zero = {"dtype": kind, "value": messages.AttrValue(tensor=exporter.tensor_message(tf.constant(0)))}
    nodes = [
        messages.NodeDef(name="dy", op="Placeholder", attr={"dtype": exporter.attr_value(tf.float32)}),
        *[messages.NodeDef(name=name, op="Placeholder", attr={"dtype": kind}) for name in ("s0", "s1")],
        messages.NodeDef(name="zero", op="Const", attr=zero),
        messages.NodeDef(name="axes", op="BroadcastGradientArgs", input=["s0", "s1"], attr={"T": kind}),
        messages.NodeDef(name="some", op="GreaterEqual", input=["axes", "zero"], attr={"T": kind}),
        messages.NodeDef(name="by", op="Cast", input=["some"], attr={"SrcT": truth, "DstT": kind}),
        messages.NodeDef(name="moved", op="AddV2", input=["axes", "by"], attr={"T": kind}),
        messages.NodeDef(name="sum", op="Sum", input=["dy", "moved"], attr={"Tidx": kind}),
        messages.NodeDef(name="twice", op="Mul", input=["axes:1", "axes:1"], attr={"T": kind}),
    ]
    definition = messages.GraphDef(node=nodes)

    @tf.function
    def run(dy: Any, s0: Any, s1: Any) -> Any:
        found, twice = tf.import_graph_def(definition, {"dy": dy, "s0": s0, "s1": s1}, ["sum:0", "twice:0"])
        return tf.reshape(found, tf.concat([tf.shape(dy)[:1], s0], 0)), twice

    dy = np.arange(5 * 3 * 4, dtype=np.float32).reshape(5, 3, 4)
    for s0, s1, axes, others in (([3, 1], [3, 4], (2,), []), ([4], [3, 4], (1,), []), ([3, 4], [4], (), [0])):
        found, twice = run(dy, np.array(s0, np.int32), np.array(s1, np.int32))
        np.testing.assert_array_equal(np.asarray(found).reshape(-1), dy.sum(axes).reshape(-1))
        assert np.asarray(twice).tolist() == others


def test_later_parts_begin_after_those_before() -> None:
    shapes = [tf.constant(1), tf.constant([2, 3]), tf.constant([2, 4]), tf.constant([2, 1])]
    found = [_made("ConcatOffset", shapes, {"N": 3}, (0,), k).numpy().tolist() for k in range(3)]
    assert found == [[0, 0], [0, 3], [0, 7]]


def _again(original, *names):
    """The function that an imported graph is; Variables are those that the original captured."""
    definition, results = original.graph.as_graph_def(), [tensor.name for tensor in original.outputs]
    held = {value.name: capture().variable() for capture, value in original.graph.ir.captures}
    return tf.function(
        lambda *given: tf.import_graph_def(definition, {**dict(zip(names, given, strict=True)), **held}, results)[0]
    )


def test_recursion_is_imported() -> None:
    @tf.function
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    again = _again(fib.get_concrete_function(spec(dtype=tf.int32)), "n")
    assert [int(again(tf.constant(n))) for n in range(9)] == [0, 1, 1, 2, 3, 5, 8, 13, 21]


def test_recursion_in_a_circle_with_variables_and_gradients() -> None:
    factor, count = tf.Variable(2.0), tf.Variable(0.0)

    @tf.function
    def even(x, n):
        if n <= 0:
            return x
        return odd(x * factor, n - 1)

    @tf.function
    def odd(x, n):
        if n <= 0:
            return x + 1.0
        return even(x + factor * x, n - 1)

    original = even.get_concrete_function(spec(2), spec(dtype=tf.int32))
    again = _again(original, "x", "n")
    counted = _again(tf.function(lambda x, n: (count.assign_add(1.0), even(x, n))[1]).get_concrete_function(
        spec(2), spec(dtype=tf.int32)), "x", "n")  # fmt: skip
    x = tf.constant([1.0, 2.0])
    for n in range(5):
        x_, n_ = x, tf.constant(n)
        found = []
        for function in (original, again):
            with tf.GradientTape() as tape:
                tape.watch(x_)
                y = function(x_, n_)
            found += [y.numpy().tolist(), tape.gradient(y, x_).numpy().tolist()]
        assert found[:2] == found[2:]
        assert counted(x_, n_).numpy().tolist() == found[0]
        counted(x_, n_)  # by kernels
    assert float(count) == 10.0
