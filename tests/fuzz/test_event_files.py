"""Event files are read as TensorFlow reads them; damaged ones are refused: long, `python -m tests.fuzz.event_files`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.records.record_files import framed as record
from tests.fuzz import damage, event_files


def test_what_was_written_is_read(tmp_path: Path) -> None:
    writer = fg.summary.create_file_writer(tmp_path)
    with writer.as_default():
        for step in range(3):
            fg.summary.scalar("loss", 0.5 * step, step=step, description="falls")
        graph = fg.function(lambda x: x * 2.0).get_concrete_function(fg.TensorSpec([3])).graph
        fg.summary.graph(graph)
    (path,) = tmp_path.iterdir()
    events = list(fg.compat.v1.train.summary_iterator(path))
    assert events[0].file_version == "brain.Event:2" and events[0].WhichOneof("what") == "file_version"
    assert [event.step for event in events] == [0, 0, 1, 2, 0] and all(event.wall_time > 1e9 for event in events)
    values = [value for event in events for value in event.summary.value]
    assert [value.tag for value in values] == ["loss"] * 3
    assert [fg.make_ndarray(value.tensor).tolist() for value in values] == [0.0, 0.5, 1.0]
    assert {value.metadata.plugin_data.plugin_name for value in values} == {"scalars"}
    assert values[0].metadata.summary_description == "falls" and values[0].HasField("tensor")
    assert fg.Graph().as_graph_def().FromString(events[-1].graph_def) == graph.as_graph_def()
    with open(path, "ab") as file:  # it goes on where it was
        reader = fg.compat.v1.train.summary_iterator(str(path))
        assert len(list(reader)) == 5
        file.write(record(b"\x10\x09"))
        file.flush()
        assert next(reader).step == 9


def test_where_a_file_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "events"
    with pytest.raises(fg.errors.NotFoundError, match="No such file"):
        fg.compat.v1.train.summary_iterator(str(path))
    parts = [record(b"\x10\x01"), record(b"\x10\x02"), record(b"\x10\x03")]
    for part, says in {
        parts[1][:12]: "truncated record at 18' failed with Read less bytes than requested",
        parts[1][:-1]: "truncated record at 18",
        event_files.record_head(2**62) + parts[1][12:]: "truncated record at 18",
        b"\0" + parts[1][1:]: "corrupted record at 18",
        parts[1][:13] + b"\0" + parts[1][14:]: "corrupted record at 30",
        record(b"\x0b"): "corrupted record at 18: these bytes are no Event: a field of kind double has wire type 3",
    }.items():
        path.write_bytes(parts[0] + part + (b"" if "truncated" in says else parts[2]))
        reader = fg.compat.v1.train.summary_iterator(path)
        assert next(reader).step == 1
        for _ in range(1 if "Event" in says else 2):
            with pytest.raises(fg.errors.DataLossError, match=says):
                next(reader)
        if "Event" in says:  # the record is whole: what follows can be read
            assert next(reader).step == 3
    path.write_bytes(parts[0] + parts[1][:11])  # to TensorFlow that is the end
    assert [event.step for event in fg.compat.v1.train.summary_iterator(path)] == [1]


def test_damaged_files_are_refused() -> None:
    came: Counter[str] = Counter()
    for seed, text in damage.findings(event_files.answer, iter(range(250)), came):
        pytest.fail(f"seed {seed}: {text}")
    assert came["read"] > 10 and came["corrupted record"] > 50 and came["truncated record"] > 20


def test_arrays_of_messages() -> None:
    for array in (np.float32([[1, 2]]), np.array([b"a", b""], object), np.array(3), np.zeros([0, 2])):
        found = fg.make_ndarray(_message(array))
        assert found.dtype == array.dtype and found.shape == array.shape and found.tolist() == array.tolist()


@pytest.mark.parametrize(
    ("values", "options", "wanted"),
    [
        (1.5, {}, np.float32(1.5)),
        ([1, 2], {"dtype": "float64", "shape": [2, 1]}, np.array([[1.0], [2.0]])),
        (["a", b"b"], {}, np.array([b"a", b"b"], object)),
        ([1, 2], {"shape": [3]}, np.int32([1, 2, 2])),
        (3, {"shape": [2, 2], "verify_shape": True, "allow_broadcast": True}, np.int32([[3, 3], [3, 3]])),
        (np.zeros([2, 0], np.float16), {}, np.zeros([2, 0], np.float16)),
        (fg.constant([True, False]), {}, np.array([True, False])),
        (np.array([1 + 2j]), {}, np.array([1 + 2j])),
    ],
)
def test_values_become_messages_and_come_back(values: Any, options: dict[str, Any], wanted: Any) -> None:
    found = fg.make_ndarray(fg.make_tensor_proto(values, **options))
    assert found.dtype == wanted.dtype and found.shape == wanted.shape and found.tolist() == wanted.tolist()


def test_values_that_do_not_fit_become_no_message() -> None:
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2, 1\), but got \(2,\)"):
        fg.make_tensor_proto([1, 2], shape=[2, 1], verify_shape=True)
    with pytest.raises(ValueError, match="takes 1 to 1 elements, 2 were given"):
        fg.make_tensor_proto([1, 2], shape=[])
    with pytest.raises(TypeError):
        fg.make_tensor_proto([1.5], dtype="int32")


def _message(array: np.ndarray) -> object:
    constant = fg.function(lambda: fg.constant(array) if array.size else fg.zeros(array.shape, array.dtype))
    (node, *_) = [each for each in constant.get_concrete_function().graph.as_graph_def().node if each.op == "Const"]
    return node.attr["value"].tensor
