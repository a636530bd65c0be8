"""The messages of graphs as protocol buffers: fields, copies, text, bytes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.graphdef import exporter, messages, wire_format


def concrete(function, *specs, **options):
    return tf.function(function, **options).get_concrete_function(*specs)


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def test_messages_serialize() -> None:
    function = concrete(
        lambda x: tf.cond(x[0] > 0.0, lambda: x * [1.5, -2.0], lambda: tf.cast(tf.cast(x, tf.float64), tf.float32)),
        spec(2),
    )
    content = exporter.graph_bytes(function.graph.ir)
    message = wire_format.parsed(content, "GraphDef")
    assert wire_format.serialized(message) == content
    definition = function.graph.as_graph_def()
    assert str(wire_format.parsed(definition.SerializeToString(), "GraphDef")) == str(message)
    again = type(definition)()
    assert again.ParseFromString(content) == len(content)
    assert str(wire_format.parsed(again.SerializeToString(), "GraphDef")) == str(message)


def test_messages_are_read_part_by_part_and_written_as_they_are_then() -> None:
    inner = tf.function(lambda x: x * 2.0)
    graph = concrete(lambda x: tf.cond(x > 0.0, lambda: inner(x), lambda: x - 1.0), spec()).graph
    content = graph.as_graph_def().SerializeToString()

    def change(message) -> None:
        message.node[0].name = "first"
        message.node[-1].attr["T"].type = tf.float64.as_datatype_enum
        message.node[-1].input.append("^first")
        message.library.function[0].node_def[0].attr["kept"].s = b"so"
        message.library.function[0].signature.name += "_1"
        del message.library.function[-1]
        message.versions.producer = 7
        message.node.add(name="last", op="NoOp")

    definition, whole = graph.as_graph_def(), wire_format.parsed(content, "GraphDef")
    for message in (definition, whole):
        change(message)
    assert definition.SerializeToString() != content
    assert wire_format.parsed(definition.SerializeToString(), "GraphDef") == whole
    assert graph.as_graph_def().SerializeToString() == content
    second = copy.deepcopy(graph.as_graph_def())
    second.ClearField("library")
    assert second.node[0] == graph.as_graph_def().node[0]
    assert len(second.SerializeToString()) < len(content)
    assert not second.HasField("library")


@pytest.mark.parametrize("content", [b"\x0a\x05ab", b"\xff", b"\x0a\xff\xff\xff"])
def test_bytes_that_are_no_message(content) -> None:
    with pytest.raises(ValueError, match="GraphDef|cut off"):
        wire_format.parsed(content, "GraphDef")


def test_protocol_buffers_where_tensorboard_is() -> None:
    pytest.importorskip("tensorboard")
    graph = concrete(lambda x: tf.cond(x > 0.0, lambda: x + 1.0, lambda: x), spec()).graph
    definition = graph.as_graph_def()
    assert type(definition).DESCRIPTOR.full_name == "tensorboard.GraphDef"
    assert str(definition) == repr(definition) == str(wire_format.parsed(exporter.graph_bytes(graph.ir), "GraphDef"))


def test_descriptors_list_the_groups_of_which_one_is_set() -> None:
    descriptor = tf.compat.v1.AttrValue.DESCRIPTOR
    (oneof,) = descriptor.oneofs
    assert descriptor.oneofs_by_name.keys() == {"value"} and oneof.full_name == "tensorflow.AttrValue.value"
    assert [field.name for field in oneof.fields][:3] == ["list", "s", "i"] and len(oneof.fields) == 10
    assert tf.compat.v1.NodeDef.DESCRIPTOR.oneofs == []


def test_classes_of_tensorboard_stay_as_they_are() -> None:
    graph_pb2 = pytest.importorskip("tensorboard.compat.proto.graph_pb2")
    before = graph_pb2.GraphDef.__str__, graph_pb2.GraphDef.__repr__
    definition = concrete(lambda x: x + 1.0, spec()).graph.as_graph_def()
    assert str(definition).startswith("node {")
    assert (graph_pb2.GraphDef.__str__, graph_pb2.GraphDef.__repr__) == before
    theirs = graph_pb2.GraphDef.FromString(definition.SerializeToString())
    assert len(theirs.node) == len(definition.node) and theirs.node[0].name == definition.node[0].name


def test_definitions_are_pickled() -> None:
    definition = concrete(lambda x: tf.matmul(x, x), spec(2, 2)).graph.as_graph_def()
    again = pickle.loads(pickle.dumps(definition))
    assert again == definition == copy.deepcopy(definition) and str(again) == str(definition)
    source = (
        "import pickle, sys, fastgraph as tf\n"
        "definition = pickle.load(sys.stdin.buffer)\n"
        "f = tf.function(lambda x: tf.import_graph_def(definition, {'x': x}, ['Identity:0'])[0])\n"
        "print(f(tf.constant([[1.0, 2.0], [3.0, 4.0]])).numpy().tolist())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", source], input=pickle.dumps(definition), capture_output=True, check=True
    )
    assert run.stdout == b"[[7.0, 10.0], [15.0, 22.0]]\n"


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.int32).reshape(2, 3), np.float32(2.5), np.array([True, False]), np.zeros([3, 0]),
        np.array([1 + 2j, 3], np.complex64), np.array([b"a", b"bc"], object), np.full([4], 7, np.uint8),
        np.array([1.5, 2], np.float16), np.array([-1, 2**40]), np.full([2, 2], -3.5),
    ],
)  # fmt: skip
def test_tensors_in_messages(value) -> None:
    from fastgraph.graphdef.import_values import tensor_of

    tensor = tf.constant(value)
    found = tensor_of(wire_format.parsed(wire_format.serialized(exporter.tensor_message(tensor)), "TensorProto"))
    assert found.dtype == tensor.dtype and found.shape == tensor.shape
    np.testing.assert_array_equal(found.numpy(), tensor.numpy())


@pytest.fixture
def definition():
    return concrete(lambda x: tf.multiply(tf.add(x, 1.0, name="y"), 2.0, name="z"), spec(2)).graph.as_graph_def()


@pytest.fixture
def structure():
    return wire_format.parsed(
        exporter.graph_bytes(concrete(lambda x: tf.concat([x, x * [2.0, 3.0]], 0), spec(2)).graph.ir), "GraphDef"
    )


def test_fields_that_are_not_set_read_as_their_defaults(structure) -> None:
    assert structure.library.function == [] and not structure.HasField("library")
    node = structure.node[0]
    assert (node.device, list(node.input), node.attr["dtype"].type, node.attr["dtype"].s) == ("", [], 1, b"")
    assert node.attr["dtype"].tensor.tensor_shape.unknown_rank is False
    assert "nothing" not in node.attr and node.attr["nothing"].WhichOneof("value") is None
    assert tf.as_dtype(node.attr["dtype"].type) is tf.float32
    with pytest.raises(AttributeError, match="NodeDef has no field 'nothing'; it has name, op, input"):
        _ = node.nothing
    with pytest.raises(ValueError, match='has no "nothing" field'):
        node.HasField("nothing")
    with pytest.raises(ValueError, match="no presence"):
        node.HasField("name")
    with pytest.raises(ValueError, match='Protocol message NodeDef has no "x" field'):
        messages.NodeDef(x=1)


def test_messages_are_filled_in() -> None:
    made = messages.GraphDef()
    node = made.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    node.attr["shape"].shape.dim.add(size=2)
    made.versions.producer = 898
    made.library.function.add().signature.name = "f"
    assert [field.name for field, _ in made.ListFields()] == ["node", "library", "versions"]
    assert made.HasField("library") and node.attr["shape"].HasField("shape")
    assert str(node) == (
        'name: "x"\nop: "Placeholder"\nattr {\n  key: "dtype"\n  value {\n    type: DT_FLOAT\n  }\n}\n'
        'attr {\n  key: "shape"\n  value {\n    shape {\n      dim {\n        size: 2\n      }\n    }\n  }\n}\n'
    )
    node.attr["dtype"].i = 0
    assert node.attr["dtype"].WhichOneof("value") == "i" and str(node.attr["dtype"]) == "i: 0\n"
    node.attr["dtype"].list.i.extend([1, 2])
    assert node.attr["dtype"].WhichOneof("value") == "list"
    node.attr["dtype"].ClearField("value")
    assert node.attr["dtype"].WhichOneof("value") is None
    node.attr["empty"].shape.CopyFrom(messages.TensorShapeProto())
    node.attr["none"].list.SetInParent()
    assert node.attr["empty"].HasField("shape") and str(node.attr["none"]) == "list {\n}\n"
    for wrong, error in ((("name", 3), TypeError), (("nothing", 3), AttributeError), (("attr", {}), AttributeError)):
        with pytest.raises(error):
            setattr(node, *wrong)
    with tf.Graph().as_default() as graph:
        node.attr["dtype"].type = 1
        made.ClearField("library")
        tf.import_graph_def(made, name="")
    assert graph.get_tensor_by_name("x:0").shape == [2]


def test_messages_are_copied_and_compared(structure) -> None:
    copied = messages.GraphDef()
    copied.CopyFrom(structure)
    again = pickle.loads(pickle.dumps(structure))
    assert copied == again == structure == copy.deepcopy(structure) == messages.GraphDef.FromString(
        structure.SerializeToString())  # fmt: skip
    _ = copied.library.function, copied.node[0].device, copied.node[0].experimental_debug_info.original_node_names
    assert copied == structure and copied.ByteSize() == structure.ByteSize()
    copied.node[0].name = "y"
    assert copied != structure and structure.node[0].name == "x"
    copied.MergeFrom(structure)
    assert len(copied.node) == 2 * len(structure.node) and copied.node[-1] is not structure.node[-1]
    copied.Clear()
    assert copied == messages.GraphDef() and not copied.SerializeToString()
    with pytest.raises(TypeError, match="expected GraphDef got NodeDef"):
        copied.CopyFrom(structure.node[0])


def test_text_is_escaped() -> None:
    assert str(messages.AttrValue(s=b"a\"b'\n\t\\\xff")) == 's: "a\\"b\\\'\\n\\t\\\\\\377"\n'
    assert str(messages.AttrValue(f=0.1)) == "f: 0.1\n" and str(messages.AttrValue(b=False)) == "b: false\n"


def test_the_protobuf_librarys_text_and_json_formats_read_and_write_messages() -> None:
    pytest.importorskip("google.protobuf")
    from google.protobuf import json_format, text_format

    text = (
        'features { feature { key: "a" value { int64_list { value: [1, 2] } } } '
        'feature { key: "b" value { bytes_list { value: "x\\001" } } } '
        'feature { key: "c" value { float_list { value: 1.5 } } } }'
    )
    example = text_format.Parse(text, tf.train.Example())
    assert list(example.features.feature["a"].int64_list.value) == [1, 2]
    assert text_format.MessageToString(example) == str(example)
    kinds = {"a": {"int64List": {"value": ["1", "2"]}}, "b": {"bytesList": {"value": ["eAE="]}}}
    as_json = {"features": {"feature": {**kinds, "c": {"floatList": {"value": [1.5]}}}}}
    assert json_format.MessageToDict(example) == as_json
    assert json_format.ParseDict(as_json, tf.train.Example()) == example
    with pytest.raises(text_format.ParseError, match='"tensorflow.Features" has no field named "nope"'):
        text_format.Parse("features { nope: 1 }", tf.train.Example())
    with pytest.raises(text_format.ParseError, match='another member of oneof "kind"'):
        text_format.Parse(
            'features { feature { key: "a" value { int64_list { value: 1 } float_list { value: 1 } } } }',
            tf.train.Example(),
        )


def test_a_graph_goes_through_the_protobuf_librarys_formats() -> None:
    pytest.importorskip("google.protobuf")
    from google.protobuf import json_format, text_format

    graph = messages.GraphDef.FromString(exporter.graph_bytes(concrete(lambda x: x * 2.0, spec(2, None)).graph.ir))
    graph.library.function.add().ret["out"] = "y:0"
    assert text_format.Parse(text_format.MessageToString(graph), messages.GraphDef()) == graph
    told = json_format.MessageToDict(graph)
    assert told["node"][0]["attr"]["dtype"] == {"type": "DT_FLOAT"} and told["versions"]["producer"] > 0
    assert told["node"][0]["attr"]["shape"] == {"shape": {"dim": [{"size": "2"}, {"size": "-1"}]}}
    assert told["library"] == {"function": [{"ret": {"out": "y:0"}}]}
    assert json_format.ParseDict(told, messages.GraphDef()) == graph
