"""tf.train.Example and its kin, and tf.io.parse_example and its kin. Bytes and messages are TensorFlow 2.21's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors

T = tf.train
Fixed, Var, Sequence = tf.io.FixedLenFeature, tf.io.VarLenFeature, tf.io.FixedLenSequenceFeature
Ragged, Sparse = tf.io.RaggedFeature, tf.io.SparseFeature

EXAMPLE = bytes.fromhex(
    "0a460a160a016912111a0f0a0d01feffffffffffffffff01ac020a0a0a016c12051a030a01070a0d0a017712080a060a0261000a000a110a01"
    "78120c120a0a080000003ff9021550"
)
SEQUENCE = bytes.fromhex("0a0c0a0a0a016312051a030a010312160a140a0174120f0a061a040a0201020a051a030a0103")


def feature(values: list[Any]) -> Any:
    if values and isinstance(values[0], bytes):
        return T.Feature(bytes_list=T.BytesList(value=values))
    if values and isinstance(values[0], float):
        return T.Feature(float_list=T.FloatList(value=values))
    return T.Feature(int64_list=T.Int64List(value=values))


def example(**features: list[Any]) -> Any:
    return T.Example(features=T.Features(feature={key: feature(values) for key, values in features.items()}))


def serialized(**features: list[Any]) -> bytes:
    return example(**features).SerializeToString()


def sequence(context: dict[str, list[Any]], **lists: list[list[Any]]) -> bytes:
    return T.SequenceExample(
        context=T.Features(feature={key: feature(values) for key, values in context.items()}),
        feature_lists=T.FeatureLists(
            feature_list={key: T.FeatureList(feature=[feature(each) for each in rows]) for key, rows in lists.items()}
        ),
    ).SerializeToString()


# ---- messages -------------------------------------------------------------------------------------------------------


def test_messages_are_written_as_tensorflow_writes_them_and_read() -> None:
    made = example(i=[1, -2, 300], x=[0.5, 1e10], w=[b"a\x00", b""], l=[7])
    assert made.SerializeToString() == EXAMPLE and T.Example.FromString(EXAMPLE) == made
    assert sequence({"c": [3]}, t=[[1, 2], [3]]) == SEQUENCE
    assert T.SequenceExample.FromString(SEQUENCE).SerializeToString() == SEQUENCE
    read = T.Example()
    assert read.ParseFromString(EXAMPLE) == len(EXAMPLE) == read.ByteSize()
    assert read.features.feature["x"].float_list.value == [0.5, 1e10]
    assert np.array(read.features.feature["x"].float_list.value).dtype == np.float32
    for twin in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert twin == made and twin is not made
    with pytest.raises(ValueError, match=r"Error parsing message with type 'tensorflow\.Example'"):
        T.Example.FromString(b"garbage")
    with pytest.raises(TypeError, match="expected bytes, str found"):
        T.Example.FromString("text")


def test_repeated_fields_check_what_is_put_in() -> None:
    values = T.Int64List(value=np.arange(3)).value
    values.append(5)
    values.extend([6, np.int32(7)])
    values += [8]
    values[0] = -1
    values.insert(1, 9)
    values[-1:] = [4]
    assert values == [-1, 9, 1, 2, 5, 6, 7, 4] and values.pop() == 4
    for change in (
        lambda: values.append("x"), lambda: values.extend([1, "x"]), lambda: values.__setitem__(0, 1.5),
        lambda: T.Int64List(value=[1.0]), lambda: T.Int64List(value=[True]), lambda: T.Int64List(value=3),
        lambda: T.BytesList(value=["text"]), lambda: T.BytesList(value=b"abc"), lambda: T.FloatList(value=["1"]),
        lambda: T.Int64List([1]), lambda: T.Feature(int64_list=T.FloatList()), lambda: T.FeatureList(feature=[1]),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            change()
    assert len(values) == 7
    with pytest.raises(ValueError, match="out of range"):
        values.append(1 << 63)
    assert T.FloatList(value=[0.1, 1e300]).value == [float(np.float32(0.1)), float("inf")]
    assert str(T.FloatList(value=[0.1, 123456.789, 1e20])) == "value: 0.1\nvalue: 123456.789\nvalue: 1e+20\n"


def test_maps_and_fields_that_exclude_each_other() -> None:
    features = T.Features(feature={"a": feature([1])})
    features.feature["b"].bytes_list.value.append(b"x")
    assert sorted(features.feature) == ["a", "b"] and features.feature["b"].WhichOneof("kind") == "bytes_list"
    assert "z" not in features.feature and features.feature["z"].WhichOneof("kind") is None and "z" in features.feature
    features.feature["z"].CopyFrom(features.feature["b"])
    features.feature["b"].float_list.value.append(1.5)  # the bytes go
    assert features.feature["b"].HasField("float_list") and not features.feature["b"].HasField("bytes_list")
    assert features.feature["z"].bytes_list.value == [b"x"]
    with pytest.raises(ValueError, match="Message objects may not be assigned"):
        features.feature["a"] = feature([1])
    with pytest.raises(AttributeError, match="Assignment not allowed"):
        T.Example().features = features
    assert str(feature([1, 2])) == "int64_list {\n  value: 1\n  value: 2\n}\n"


def test_what_is_put_in_is_copied() -> None:
    inner = T.Int64List(value=[1])
    outer = T.Features(feature={"a": T.Feature(int64_list=inner)})
    whole = T.Example(features=outer)
    inner.value.append(2)
    outer.feature["a"].int64_list.value.append(3)
    assert whole.features.feature["a"].int64_list.value == [1]


# ---- parse_example --------------------------------------------------------------------------------------------------

E = serialized(a=[1, 2], f=[1.5, 2.5], s=[b"x", b"yy"])


def plain(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: plain(value) for key, value in found.items()}
    if isinstance(found, tf.SparseTensor):
        return (found.indices.numpy().tolist(), found.values.numpy().tolist(), found.dense_shape.numpy().tolist())
    return found.to_list() if isinstance(found, tf.RaggedTensor) else found.numpy().tolist()


CASES: list[tuple[str, list[bytes], Any, Any]] = [
    ("dense", [E, E], Fixed([2], tf.int64), [[1, 2], [1, 2]]),
    ("default", [E, serialized()], Fixed([2], tf.int64, [7, 8]), [[1, 2], [7, 8]]),
    (
        "empty feature",
        [T.Example(features={"feature": {"a": {}}}).SerializeToString()],
        Fixed([1], tf.int64, [9]),
        [[9]],
    ),
    ("sparse", [E, serialized()], Var(tf.int64), ([[0, 0], [0, 1]], [1, 2], [2, 2])),
    ("padded", [E, serialized(a=[1, 2, 3])], Sequence([], tf.int64, True), [[1, 2, 0], [1, 2, 3]]),
    (
        "padded rows",
        [E, serialized(a=[1, 2, 3, 4])],
        Sequence([2], tf.int64, True, 7),
        [[[1, 2], [7, 7]], [[1, 2], [3, 4]]],
    ),
    ("ragged", [E, serialized()], Ragged(tf.int64), [[1, 2], []]),
    ("the last of two", [E + serialized(a=[5, 6])], Fixed([2], tf.int64), [[5, 6]]),
    ("none", [], Fixed([2], tf.int64), []),
]


@pytest.mark.parametrize(
    ("messages", "asked", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_parse_example(messages: list[bytes], asked: Any, expected: Any) -> None:
    given = np.array(messages, object)
    assert plain(tf.io.parse_example(given, {"a": asked}))["a"] == expected
    staged = tf.function(
        lambda s: tf.io.parse_example(s, {"a": asked}), input_signature=[tf.TensorSpec([None], tf.string)]
    )
    assert plain(staged(given))["a"] == expected
    if messages:
        batches = (
            tf.data.Dataset.from_tensor_slices(messages).batch(9).map(lambda s: tf.io.parse_example(s, {"a": asked}))
        )
        assert [plain(each)["a"] for each in batches] == [expected]


ROWS = serialized(v=[1.0, 2.0, 3.0, 4.0], l=[1, 3], s=[0, 1, 4], i=[0, 0, 1, 2], x=[0, 3])
PARTITIONS = [
    ([Ragged.RowLengths("l")], [[1], [2, 3, 4]]),
    ([Ragged.RowSplits("s")], [[1], [2, 3, 4]]),
    ([Ragged.ValueRowIds("i")], [[1, 2], [3], [4]]),
    ([Ragged.RowStarts("x")], [[1, 2, 3], [4]]),
    ([Ragged.UniformRowLength(2)], [[1, 2], [3, 4]]),
]


@pytest.mark.parametrize(("partitions", "expected"), PARTITIONS)
def test_partitions_of_ragged_features(partitions: list[Any], expected: Any) -> None:
    asked = {"r": Ragged(tf.float32, "v", partitions)}
    assert plain(tf.io.parse_example([ROWS, ROWS], asked))["r"] == [expected, expected]
    assert plain(tf.io.parse_single_example(ROWS, asked))["r"] == expected


def test_sparse_features() -> None:
    message = serialized(ix=[3, 0], v=[1.0, 2.0], iy=[0, 1])
    found = tf.io.parse_example([message] * 2, {"r": Sparse("ix", "v", tf.float32, 10)})["r"]
    assert plain(found) == ([[0, 0], [0, 3], [1, 0], [1, 3]], [2, 1, 2, 1], [2, 10])
    found = tf.io.parse_single_example(message, {"r": Sparse(["ix", "iy"], "v", tf.float32, [4, 2])})["r"]
    assert plain(found) == ([[0, 1], [3, 0]], [2, 1], [4, 2])


MISTAKES = [
    ({"b": Fixed([2], tf.int64)}, r"Name: <unknown>, Feature: b \(data type: int64\) is required but could not be found."),
    ({"a": Fixed([2], tf.float32)}, r"Name: <unknown>, Key: a, Index: 0.  Data types don't match. Data type: int64 but expected type: float"),
    ({"a": Fixed([3], tf.int64)}, r"Number of int64 values != expected.  Values size: 2 but output shape: \[3\]"),
    ({"a": Var(tf.float32)}, r"Data types don't match. Expected type: float, Actual type: int64"),
    ({"a": Ragged(tf.string)}, r"Data types don't match. Expected type: string, Actual type: int64"),
    ({"a": Sequence([3], tf.int64, True)}, r"Number of int64 values is not a multiple of stride length. Saw 2 values but output shape is: \[\?,3\]"),
    ({"a": Var(tf.int32)}, r"is not in the list of allowed values: float, int64, string"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "message"), MISTAKES)
def test_what_does_not_fit_says_so(asked: Any, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        tf.io.parse_example([E, E], asked)


def test_arguments_that_cannot_be() -> None:
    for asked in (
        {}, None, {"a": 3}, {"a": Fixed(None, tf.int64)}, {"a": Fixed([None], tf.int64)}, {"a": Fixed([2, None], tf.int64)},
        {"a": Fixed([2], None)}, {"a": Sequence([], tf.int64)}, {"a": Var(tf.int64), "b": Ragged(tf.int64, "a")},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            tf.io.parse_example([E], asked)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidArgumentError, match="Could not parse example input, value: 'garbage'"):
        tf.io.parse_example([E, b"garbage"], {"a": Var(tf.int64)})
    with pytest.raises(errors.InvalidArgumentError, match="Expected serialized to be a scalar or vector"):
        tf.io.parse_example([[E]], {"a": Var(tf.int64)})
    with pytest.raises(ValueError, match="must be a scalar"):
        tf.io.parse_single_example([E], {"a": Var(tf.int64)})


def test_sequences() -> None:
    first = sequence({"c": [1], "w": [b"x", b"y"]}, l=[[1], [2], [3]], m=[[1, 2], [3, 4]], v=[[1.0, 2.0], [3.0]])
    second = sequence({"c": [2]}, l=[[7]], m=[], v=[[5.0]])
    context = {"c": Fixed([], tf.int64), "w": Var(tf.string)}
    lists = {
        "l": Sequence([], tf.int64),
        "m": Sequence([2], tf.int64),
        "v": Var(tf.float32),
        "r": Ragged(tf.int64, "l"),
    }
    lists["z"] = Sequence([], tf.float32, allow_missing=True)
    lists["r"] = Ragged(tf.string)
    parse = lambda s: tf.io.parse_sequence_example(s, context, lists)
    given = np.array([first, second], object)
    for found in (parse(given), tf.function(parse, input_signature=[tf.TensorSpec([None], tf.string)])(given)):
        heads, tails, lengths = [plain(each) for each in found]
        assert heads == {"c": [1, 2], "w": ([[0, 0], [0, 1]], [b"x", b"y"], [2, 2])}
        assert tails == {
            "l": [[1, 2, 3], [7, 0, 0]], "m": [[[1, 2], [3, 4]], [[0, 0], [0, 0]]], "z": [[], []], "r": [[], []],
            "v": ([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]], [1, 2, 3, 5], [2, 2, 2]),
        }  # fmt: skip
        assert lengths == {"l": [3, 1], "m": [2, 0], "z": [0, 0]}
    heads, tails = [
        plain(each) for each in tf.io.parse_single_sequence_example(first, context, {"v": Ragged(tf.float32)})
    ]
    assert heads["c"] == 1 and tails == {"v": [[1, 2], [3]]}
    for asked, message in (
        ({"q": Sequence([], tf.int64)}, "Feature list 'q' is required but could not be found"),
        ({"l": Sequence([], tf.float32)}, "Feature list: l, Index: 0.  Data types don't match. Expected type: float"),
        (
            {"m": Sequence([], tf.int64)},
            r"Key: m, Index: 0.  Number of values != expected.  values size: 2 but output shape: \[\]",
        ),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            tf.io.parse_sequence_example([first, second], None, asked)
    with pytest.raises(errors.InvalidArgumentError, match="Invalid protocol message input, example id: n"):
        tf.io.parse_sequence_example([b"garbage"], context, example_names=["n"])


def test_damaged_messages_end_in_an_error_or_in_other_values(rng: np.random.Generator) -> None:
    asked: dict[str, Any] = {"a": Var(tf.int64), "f": Fixed([2], tf.float32), "s": Ragged(tf.string)}
    lists: dict[str, Any] = {"t": Var(tf.int64), "u": Ragged(tf.string)}
    both = serialized(a=[1, 1 << 40], f=[1.5, 2.5], s=[b"x" * 20]), sequence({"a": [1]}, t=[[1, 2], [300]], u=[[b"x"]])
    refused = 0
    for _ in range(1000):
        for i, message in enumerate(both):
            damaged = bytearray(message)
            for place in rng.integers(0, len(damaged), rng.integers(1, 4)):
                damaged[place] = rng.integers(0, 256)
            if rng.random() < 0.2:
                del damaged[rng.integers(0, len(damaged)) :]
            try:
                if i:
                    tf.io.parse_sequence_example([bytes(damaged)], None, lists)
                    T.SequenceExample.FromString(bytes(damaged))
                else:
                    tf.io.parse_example([bytes(damaged)], asked)
                    T.Example.FromString(bytes(damaged))
            except (errors.InvalidArgumentError, ValueError):
                refused += 1
    assert 400 < refused < 1990


def test_the_parser_serves_arrays_of_many_sizes_as_message_by_message(rng: np.random.Generator) -> None:
    messages = [
        serialized(
            i=rng.integers(-(1 << 62), 1 << 62, rng.integers(0, 5)).tolist(), x=rng.normal(size=3).tolist(),
            **({"s": [rng.bytes(3)]} if rng.random() < 0.5 else {}),
        )
        for _ in range(50)
    ]  # fmt: skip
    asked = {"i": Ragged(tf.int64), "x": Fixed([3], tf.float32), "s": Fixed([], tf.string, b"none")}
    whole = tf.io.parse_example(messages, asked)
    for i, message in enumerate(messages):
        one = T.Example.FromString(message).features.feature
        assert whole["i"][i].numpy().tolist() == one["i"].int64_list.value
        assert whole["x"][i].numpy().tolist() == one["x"].float_list.value
        assert [whole["s"][i].numpy()] == (one["s"].bytes_list.value or [b"none"])


def test_graph_defs_that_parse_examples() -> None:
    from fastgraph.graphdef.messages import KINDS, AttrValue, Enum, GraphDef, ListValue, TensorProto, TensorShapeProto

    graph = GraphDef()

    def const(name: str, *words: bytes) -> str:
        shape = TensorShapeProto(dim=[KINDS["Dim"](size=len(words))])
        value = TensorProto(dtype=Enum("DT_STRING"), tensor_shape=shape, string_val=list(words))
        attr = {"dtype": AttrValue(type=Enum("DT_STRING")), "value": AttrValue(tensor=value)}
        graph.node.add(name=name, op="Const", attr=attr)
        return name

    def types(*names: str) -> Any:
        return AttrValue(list=ListValue(type=[Enum(name) for name in names]))

    graph.node.add(name="s", op="Placeholder", attr={"dtype": AttrValue(type=Enum("DT_STRING"))})
    names, sparse, dense, ragged = const("n"), const("sk", b"s"), const("dk", b"a"), const("rk", b"f")
    graph.node.add(
        name="default", op="Const",
        attr={
            "dtype": AttrValue(type=Enum("DT_INT64")),
            "value": AttrValue(tensor=TensorProto(dtype=Enum("DT_INT64"), tensor_shape=TensorShapeProto(dim=[KINDS["Dim"](size=2)]), int64_val=[7, 8])),
        },
    )  # fmt: skip
    graph.node.add(
        name="p", op="ParseExampleV2", input=["s", names, sparse, dense, ragged, "default"],
        attr={
            "num_sparse": AttrValue(i=1), "sparse_types": types("DT_STRING"), "Tdense": types("DT_INT64"),
            "ragged_value_types": types("DT_FLOAT"), "ragged_split_types": types("DT_INT32"),
            "dense_shapes": AttrValue(list=ListValue(shape=[TensorShapeProto(dim=[KINDS["Dim"](size=2)])])),
        },
    )  # fmt: skip
    parse = tf.function(
        lambda s: tf.graph_util.import_graph_def(graph, {"s": s}, [f"p:{i}" for i in range(6)]),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    found = [each.numpy().tolist() for each in parse(np.array([E, serialized()], object))]
    assert found == [[[0, 0], [0, 1]], [b"x", b"yy"], [2, 2], [[1, 2], [7, 8]], [1.5, 2.5], [0, 2, 2]]


def test_graph_defs_that_parse_with_the_first_op_and_sequences() -> None:
    from fastgraph.graphdef.messages import KINDS, AttrValue, Enum, GraphDef, ListValue, TensorProto, TensorShapeProto

    graph = GraphDef()

    def const(name: str, *words: bytes) -> str:
        value = TensorProto(dtype=Enum("DT_STRING"), tensor_shape=shape(len(words)), string_val=list(words))
        graph.node.add(name=name, op="Const", attr={"dtype": a(type=Enum("DT_STRING")), "value": a(tensor=value)})
        return name

    def a(**value: Any) -> Any:
        return AttrValue(**value)

    def shape(*sizes: int) -> Any:
        return TensorShapeProto(dim=[KINDS["Dim"](size=size) for size in sizes])

    def types(*names: str) -> Any:
        return a(list=ListValue(type=[Enum(f"DT_{name}") for name in names]))

    graph.node.add(name="s", op="Placeholder", attr={"dtype": a(type=Enum("DT_STRING"))})
    two = TensorProto(dtype=Enum("DT_INT64"), tensor_shape=shape(2), int64_val=[7, 8])
    graph.node.add(name="d", op="Const", attr={"dtype": a(type=Enum("DT_INT64")), "value": a(tensor=two)})
    no, s, dense_key, f = const("no"), const("ks", b"s"), const("ka", b"a"), const("kf", b"f")
    graph.node.add(
        name="p", op="ParseExample", input=["s", no, s, f, dense_key, "d"],
        attr={
            "Nsparse": a(i=2), "Ndense": a(i=1), "sparse_types": types("STRING", "FLOAT"), "Tdense": types("INT64"),
            "dense_shapes": a(list=ListValue(shape=[shape(2)])),
        },
    )  # fmt: skip
    parse = tf.function(
        lambda s: tf.graph_util.import_graph_def(graph, {"s": s}, [f"p:{i}" for i in range(7)]),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    messages = np.array([E, serialized()], object)
    features = {"s": Var(tf.string), "f": Var(tf.float32), "a": Fixed([2], tf.int64, [7, 8])}
    wanted = tf.io.parse_example(messages, features)
    found = [each.numpy().tolist() for each in parse(messages)]
    parts = [
        [getattr(wanted[key], part).numpy().tolist() for key in "sf"] for part in ("indices", "values", "dense_shape")
    ]
    assert found == [*[each for part in parts for each in part], wanted["a"].numpy().tolist()]

    true = TensorProto(dtype=Enum("DT_BOOL"), tensor_shape=shape(1), bool_val=[True])
    graph.node.add(name="may", op="Const", attr={"dtype": a(type=Enum("DT_BOOL")), "value": a(tensor=true)})
    graph.node.add(
        name="q", op="ParseSequenceExampleV2", input=["s", no, no, no, f, s, dense_key, f, "may"],
        attr={
            "Ncontext_sparse": a(i=0), "context_ragged_value_types": types("FLOAT"),
            "context_ragged_split_types": types("INT64"), "Nfeature_list_sparse": a(i=1),
            "Nfeature_list_dense": a(i=1), "feature_list_sparse_types": types("STRING"),
            "feature_list_dense_types": types("INT64"), "feature_list_dense_shapes": a(list=ListValue(shape=[shape(2)])),
            "feature_list_ragged_value_types": types("FLOAT"), "feature_list_ragged_split_types": types("INT64"),
        },
    )  # fmt: skip
    names = [*["context_ragged_values", "context_ragged_row_splits"], *[f"feature_list_sparse_{part}" for part in
             ("indices", "values", "shapes")], "feature_list_dense_values", "feature_list_dense_lengths",
             *[f"feature_list_ragged_{part}" for part in ("values", "outer_splits", "inner_splits")]]  # fmt: skip
    parse = tf.function(
        lambda s: tf.graph_util.import_graph_def(graph, {"s": s}, [f"q:{i}" for i in range(len(names))]),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )

    one = sequence({"f": [9.0]}, s=[[b"x", b"y"]], f=[[1.0], [2.0, 3.0]], a=[[4, 5]])
    both = np.array([one, T.SequenceExample().SerializeToString()], object)
    result = dict(zip(names, [each.numpy().tolist() for each in parse(both)], strict=True))
    assert (result["context_ragged_values"], result["context_ragged_row_splits"]) == ([9.0], [0, 1, 1])
    assert result["feature_list_sparse_indices"] == [[0, 0, 0], [0, 0, 1]]
    assert result["feature_list_dense_values"] == [[[4, 5]], [[0, 0]]]
    assert result["feature_list_dense_lengths"] == [1, 0]
    assert result["feature_list_ragged_values"] == [1.0, 2.0, 3.0]
    assert result["feature_list_ragged_outer_splits"] == [0, 2, 2]
    assert result["feature_list_ragged_inner_splits"] == [0, 1, 3]
