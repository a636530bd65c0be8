"""tf.experimental.StructuredTensor: structures of tensors, made, read, changed and cut; values of TensorFlow's own."""

from __future__ import annotations

from typing import Any

import pytest

import fastgraph as fg
from fastgraph.composites.composite_values import evaluated

ST = fg.experimental.StructuredTensor
Rows = fg.experimental.RowPartition


def people() -> Any:
    return ST.from_pyval(
        [{"age": 12, "names": [b"Ann"]}, {"age": 82, "names": [b"Bo", b"Bob"]}, {"age": 4, "names": []}]
    )


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": 12, "b": [1, 2, 3], "c": [[1, 2], [3]]},
        {"a": 12, "c": {"x": b"Z", "y": [10, 20]}},
        [{"a": 1, "b": {"x": [1, 2]}}, {"a": 2, "b": {"x": [3]}}],
        [{"a": 1, "b": [{"x": [1, 2]}, {"x": [5]}]}, {"a": 2, "b": [{"x": [3]}]}],
        [[{"a": 1}, {"a": 2}, {"a": 3}], [{"a": 4}, {"a": 5}]],
        [{}, {}, {}],
        [[{}, {}], [{}]],
        [[[{"x": 1}, {"x": 2}], [{"x": 3}]], [[{"x": 4}]]],
    ],
)
def test_python_values_come_back(value: Any) -> None:
    assert ST.from_pyval(value).to_pyval() == value


def test_shapes_and_partitions() -> None:
    dense = ST.from_fields({"x": [[1, 2, 3], [4, 5, 6]], "y": fg.ragged.constant([[1, 2, 3], [4, 5, 6]])}, [None, None])
    assert dense.shape == [2, 3] and dense.field_value("y").shape == [2, 3]
    rows = ST.from_pyval([[{"x": 1}, {"x": 2}], [{"x": 3}]])
    assert rows.shape.as_list() == [2, None] and rows.rank == 2 and int(rows.nrows()) == 2
    assert rows.row_partitions[0].row_lengths().numpy().tolist() == [2, 1]
    bare = ST.from_fields({}, [1, None, None, 3], row_partitions=[
        Rows.from_row_lengths([3]), Rows.from_row_lengths([2, 0, 1]), Rows.from_uniform_row_length(3, nvals=9)])  # fmt: skip
    assert bare.shape.as_list() == [1, None, None, 3] and len(bare.row_partitions) == 3
    assert ST.from_fields({}, [2, 8]).shape == [2, 8] and ST.from_fields({"x": [[1], [2]]}).shape == []


def test_parts() -> None:
    s = people()
    assert s[:, "age"].numpy().tolist() == [12, 82, 4] and s[1, "names", 1].numpy() == b"Bob"
    assert s[0]["age"].numpy() == 12 and s[1:].to_pyval()[0]["age"] == 82 and s[-1].shape == []
    assert ST.from_pyval({"a": {"b": 3}}).field_value(("a", "b")).numpy() == 3
    text = '<StructuredTensor(\n    fields={\n        "a": tf.Tensor(5, shape=(), dtype=int32)},\n    shape=())>'
    assert repr(ST.from_pyval({"a": 5})) == text


def test_others_made_of_it() -> None:
    s = people()
    older = s.with_updates({"age": lambda age: age + 1, "tall": [True, False, True]})
    assert older[:, "age"].numpy().tolist() == [13, 83, 5] and older.field_names() == ("age", "names", "tall")
    nested = ST.from_pyval({"a": 1, "b": {"c": 2, "d": 3}}).with_updates({("b", "c"): None, ("b", "e"): 7})
    assert nested.to_pyval() == {"a": 1, "b": {"d": 3, "e": 7}}
    docs = ST.from_pyval([{"docs": [{"tokens": [1, 2]}, {"tokens": [3]}]}, {"docs": [{"tokens": [7]}]}])
    assert docs.promote(("docs", "tokens"), "all").field_value("all").to_list() == [[1, 2, 3], [7]]
    cut = s.partition_outer_dimension(Rows.from_row_splits([0, 2, 2, 3]))
    assert [len(row) for row in cut.to_pyval()] == [2, 0, 1] and cut.merge_dims(0, 1).to_pyval() == s.to_pyval()
    even = ST.from_fields({"x": [1, 2, 3, 4]}, [4]).partition_outer_dimension(Rows.from_uniform_row_length(2, nvals=4))
    assert even.field_value("x").numpy().tolist() == [[1, 2], [3, 4]] and even.shape == [2, 2]


def test_in_functions_and_datasets() -> None:
    @fg.function
    def both(s: Any) -> Any:
        assert s.shape.as_list() == [3]
        return s.with_updates({"age": lambda age: age * 2}), s[:, "names"]

    changed, names = both(people())
    assert [each["age"] for each in changed.to_pyval()] == [24, 164, 8] and names.row_lengths().numpy().tolist() == [
        1,
        2,
        0,
    ]
    dataset = fg.data.Dataset.from_tensor_slices(people())
    assert [int(each.field_value("age")) for each in dataset] == [12, 82, 4]
    with fg.GradientTape() as tape:
        x = fg.constant([1.0, 2.0])
        tape.watch(x)
        y = fg.reduce_sum(ST.from_fields({"x": x}, [2]).with_updates({"x": lambda v: v * v}).field_value("x"))
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ST.from_fields([1]), TypeError, "fields must be a dictionary"),
        (lambda: ST.from_fields({1: 2}), TypeError, "Unexpected type for key"),
        (lambda: ST.from_fields({"x": object()}), TypeError, "Unexpected type for value"),
        (lambda: ST.from_fields({"_": 5}), ValueError, "Field name '_' is not currently allowed"),
        (lambda: ST.from_fields({}, None), ValueError, "must have known rank"),
        (lambda: ST.from_fields({"f": 5}, [5]), ValueError, "Shapes"),
        (lambda: ST.from_fields({"x": [1], "y": []}, [None]), ValueError, "Error in shape of y"),
        (
            lambda: ST.from_fields(
                {"a": fg.ragged.constant([[1, 2], [3]]), "b": fg.ragged.constant([[1], [2, 3]])}, [2, None]
            ),
            ValueError,
            "Error in shape of b",
        ),
        (lambda: ST.from_fields({}, (), nrows=5), ValueError, "nrows must be None"),
        (lambda: ST.from_fields({}, [None]), ValueError, "Must specify `nrows`"),
        (lambda: ST.from_fields({}, [None, None]), ValueError, "Must specify row_partitions"),
        (lambda: ST.from_fields({}, [None] * 3, row_partitions=[]), ValueError, r"len\(row_partitions\)"),
        (lambda: ST.from_fields_and_rank({}, 1), ValueError, "at least one field"),
        (lambda: ST.from_fields_and_rank({"a": [1]}, -1), ValueError, "nonnegative"),
        (lambda: ST.from_pyval([{"a": [1, 2]}, {"b": [3, 4]}]), KeyError, "'b'"),
        (lambda: ST.from_pyval([{}, [{}]]), ValueError, "Inconsistent depth"),
        (lambda: ST.from_pyval([[{}], 5]), ValueError, "Expected dict or nested list"),
        (lambda: ST.from_pyval([{"a": 1}, {"a": "c"}]), ValueError, r"Error parsing path \('a',\)"),
        (lambda: people()["age"], TypeError, "Only integers and slices"),
        (lambda: people()[fg.newaxis], ValueError, "tf.newaxis"),
        (lambda: people()["names", 0, 0], ValueError, "must be a string"),
        (lambda: people().field_value(("age", "x")), KeyError, "Field path"),
        (lambda: people().with_updates({"age": [1, 2]}), ValueError, "with_updates` failed"),
        (lambda: people().with_updates({"no": None}), ValueError, "cannot delete"),
        (lambda: people().with_updates({"no": abs}), ValueError, "does not already exist"),
        (lambda: people().with_updates({("age", "x"): 1}), ValueError, "cannot create new sub-field"),
        (lambda: people().with_updates({("a", "x"): 1, "a": 2}), ValueError, "both parent and child"),
        (lambda: people().merge_dims(1, 0), ValueError, "out of bounds|less than"),
        (
            lambda: ST.from_fields({}).partition_outer_dimension(Rows.from_row_splits([0])),
            ValueError,
            "rank at least 1",
        ),
        (lambda: people().partition_outer_dimension(10), TypeError, "must be a RowPartition"),
        (lambda: people().promote(("age",), "x"), ValueError, "at least two"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_specs_say_what_python_values_become() -> None:
    spec = ST.Spec._from_fields_and_rank({"a": fg.TensorSpec([None], fg.int64), "b": fg.TensorSpec([], fg.float32)}, 0)
    made = ST.from_pyval({"a": [1, 2], "b": 3}, spec)
    assert made.field_value("a").dtype == fg.int64 and made.field_value("b").dtype == fg.float32
    with pytest.raises(ValueError, match=r"Value at \(\) does not match typespec"):
        ST.from_pyval({"a": [1]}, spec)


def test_fields_that_are_arrays_of_ragged_tensors() -> None:
    value = evaluated(fg.ragged.constant([[1, 2], [3]]))
    assert ST.from_fields_and_rank({"a": value}, 1).field_value("a").to_list() == [[1, 2], [3]]


ONE = fg.experimental.StructuredTensor.from_pyval([{"a": 1, "b": [1, 2]}, {"a": 3, "b": [4]}])
TWO = fg.experimental.StructuredTensor.from_pyval(
    [[{"a": 1, "q": {"z": [3]}}], [{"a": 3, "q": {"z": []}}, {"a": 4, "q": {"z": [1, 2]}}]]
)
FIRST, SECOND, THIRD = {"a": 1, "q": {"z": [3]}}, {"a": 3, "q": {"z": []}}, {"a": 4, "q": {"z": [1, 2]}}
DONE: list[tuple[Any, Any]] = [
    (lambda: fg.concat([TWO, TWO], -2), [[FIRST], [SECOND, THIRD], [FIRST], [SECOND, THIRD]]),
    (lambda: fg.concat((TWO, TWO), axis=1), [[FIRST, FIRST], [SECOND, THIRD, SECOND, THIRD]]),
    (lambda: fg.gather(ONE, [1, 1]), [{"a": 3, "b": [4]}] * 2),
    (lambda: fg.gather(ONE, 1), {"a": 3, "b": [4]}),
    (lambda: fg.gather(TWO, [[0], [1]], axis=1, batch_dims=1), [[FIRST], [THIRD]]),
    (lambda: fg.gather(TWO, fg.ragged.constant([[1], []], dtype=fg.int32)), [[[SECOND, THIRD]], []]),
    (lambda: fg.expand_dims(TWO, 1), [[[FIRST]], [[SECOND, THIRD]]]),
    (lambda: fg.expand_dims(TWO, -1), [[[FIRST]], [[SECOND], [THIRD]]]),
    (lambda: fg.identity(TWO), [[FIRST], [SECOND, THIRD]]),
    (lambda: fg.random.shuffle(TWO[:1]), [[FIRST]]),
    (lambda: fg.function(lambda x: fg.concat([x, fg.gather(x, [0])], 0))(TWO), [[FIRST], [SECOND, THIRD], [FIRST]]),
]
NOT_DONE: list[tuple[Any, str]] = [
    (lambda: fg.concat([ONE, TWO], 0), "Ranks of sub-message do not match"),
    (lambda: fg.concat([ONE, ONE.with_updates({"b": None})], 0), r"Fields are not the same: \(a, b\) and \(a\)"),
    (lambda: fg.concat([ONE, fg.constant(3)], 0), "values must be a list of StructuredTensors"),
    (lambda: fg.concat([ONE], 1), "axis=1 out of bounds: expected -1<=axis<1"),
    (lambda: fg.expand_dims(TWO, 4), "axis=4 out of bounds: expected -3<=axis<3"),
    (lambda: fg.gather(TWO, 0, axis=0, batch_dims=1), "batch_dims=1 out of bounds"),
    (lambda: fg.random.shuffle(ONE[0]), "scalar"),
]


@pytest.mark.parametrize("i", range(len(DONE)))
def test_ops(i: int) -> None:
    make, expected = DONE[i]
    assert make().to_pyval() == expected


@pytest.mark.parametrize("i", range(len(NOT_DONE)))
def test_ops_refuse(i: int) -> None:
    make, text = NOT_DONE[i]
    with pytest.raises(ValueError, match=text):
        make()


def test_ops_on_the_shape() -> None:
    assert fg.zeros_like(TWO).to_list() == [[0.0], [0.0, 0.0]] and fg.zeros_like(TWO).dtype is fg.float32
    assert fg.ones_like(ONE, fg.int32).numpy().tolist() == [1, 1]
    assert fg.shape(TWO, fg.int64).static_lengths() == [2, (1, 2)]
    assert fg.size(TWO).numpy() == 3 and fg.rank(TWO).numpy() == 2
    assert fg.expand_dims(TWO, 1).shape.as_list() == [2, 1, None]
