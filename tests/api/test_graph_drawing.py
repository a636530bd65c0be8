"""Graphs drawn: SVG that is well formed and readable, PNG by matplotlib, event files for TensorBoard."""

from __future__ import annotations

import itertools
import struct
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import fastgraph as tf
from fastgraph.core.native.array_kernels import crc32c
from fastgraph.graphdef import drawing, exporter, wire_format
from fastgraph.records.record_files import framed

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def graph():
    w, b = tf.Variable(tf.ones([3, 2])), tf.Variable(tf.zeros([2]))

    @tf.function
    def f(x):
        h = tf.nn.relu(tf.matmul(x, w) + b)
        h = tf.cond(tf.reduce_sum(h) > 0.0, lambda: h * 2.0, lambda: h - 1.0)
        return tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, h * h), (0, h))[1]

    return f.get_concrete_function(tf.TensorSpec([None, 3])).graph


def test_the_drawing_is_well_formed_and_shows_every_operation(graph) -> None:
    root = ElementTree.fromstring(graph._repr_svg_())
    assert root.tag == f"{SVG}svg"
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for op in graph.get_operations():
        assert op.name in texts
    assert any(text.startswith("cond: then_branch") for text in texts)
    assert any(text.startswith("while: body") for text in texts)
    assert "MatMul float32[None, 2]" in texts


def test_boxes_do_not_overlap_and_edges_go_down(graph) -> None:
    for panel in drawing.panels(graph.ir):
        rows: dict[float, list[drawing.Box]] = {}
        for box in panel.boxes:
            rows.setdefault(box.y, []).append(box)
            assert box.x >= 0 and box.x + box.width <= panel.width and box.y + drawing.HEIGHT <= panel.height
        for row in rows.values():
            row.sort(key=lambda box: box.x)
            assert all(a.x + a.width < b.x for a, b in itertools.pairwise(row))
        assert all(panel.boxes[edge.start].y < panel.boxes[edge.end].y for edge in panel.edges)


def test_names_are_escaped() -> None:
    graph = tf.function(lambda x: x + 1.0).get_concrete_function(tf.TensorSpec([])).graph
    assert graph.name == "<lambda>"
    assert "&lt;lambda&gt;" in graph._repr_svg_()
    ElementTree.fromstring(graph._repr_svg_())


def test_edges_run_through_no_box() -> None:
    @tf.function
    def f(x, y):
        a = x
        for _ in range(6):
            a = tf.sin(a) + y
        return a * x, tf.cond(y > 0.0, lambda: a, lambda: y)

    for panel in drawing.panels(f.get_concrete_function(tf.TensorSpec([]), tf.TensorSpec([])).graph.ir):
        for edge in panel.edges:
            inner = {edge.start, edge.end}
            for (x, y), (_, end) in zip(edge.points, edge.points[1:], strict=False):
                if end - y == drawing.HEIGHT:  # through a layer: straight down
                    for i, box in enumerate(panel.boxes):
                        assert i in inner or box.y != y or not box.x < x < box.x + box.width


def test_what_feeds_one_operation_stands_above_it() -> None:
    v = tf.Variable(2.0)
    graph = tf.function(lambda x: tf.exp(tf.sin(tf.cos(x))) * v + 3.0).get_concrete_function(tf.TensorSpec([])).graph
    (panel,) = drawing.panels(graph.ir)
    place = {box.name: box.y for box in panel.boxes}
    step = drawing.HEIGHT + drawing.GAP_Y
    assert place["mul/ReadVariableOp"] == place["mul"] - step == place["mul/ReadVariableOp/resource"] + step
    assert place["add/y"] == place["mul"]
    assert place["x"] == min(place.values())
    (const,) = [box for box in panel.boxes if box.name == "add/y"]
    assert const.text == "Const float32[] 3.0"


def test_long_names_are_written_short() -> None:
    def f(x):
        with tf.name_scope("a_scope_with_a_long_name"), tf.name_scope("and_another"):
            return tf.sin(x)

    graph = tf.function(f).get_concrete_function(tf.TensorSpec([])).graph
    (panel,) = drawing.panels(graph.ir)
    (box,) = [box for box in panel.boxes if box.name.endswith("Sin")]
    assert box.name == "a_scope_with_a_long_name/and_another/Sin" and box.label == "\u2026/and_another/Sin"
    assert f"<title>{box.name}</title>" in graph._repr_svg_()


def test_an_empty_graph_is_drawn() -> None:
    ElementTree.fromstring(tf.Graph()._repr_svg_())


def test_a_graph_of_many_operations_is_drawn() -> None:
    def f(x):
        for _ in range(1500):
            x = x * 2.0
        return x

    graph = tf.function(f, autograph=False).get_concrete_function(tf.TensorSpec([])).graph
    assert len(list(ElementTree.fromstring(graph._repr_svg_()).iter(f"{SVG}rect"))) > 3000


def test_files(graph, tmp_path) -> None:
    graph.draw(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == graph._repr_svg_()
    with pytest.raises(ValueError, match=r"drawn as \.svg or \.png"):
        graph.draw(tmp_path / "graph.pdf")


def test_png_by_matplotlib(graph, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    graph.draw(tmp_path / "graph.png")
    content = (tmp_path / "graph.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert width > 300 and height > 300


def test_png_without_matplotlib(graph, tmp_path, monkeypatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="matplotlib, which is not installed"):
        graph.draw(tmp_path / "graph.png")


# Event files


def test_checksums_are_the_formats() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4


def _records(content: bytes) -> list[bytes]:
    found = []
    while content:
        (size,) = struct.unpack_from("<Q", content)
        found.append(content[12 : 12 + size])
        assert framed(found[-1]) == content[: 16 + size]
        content = content[16 + size :]
    return found


def test_a_graph_is_written_for_tensorboard(graph, tmp_path) -> None:
    writer = tf.summary.create_file_writer(tmp_path / "logs")
    assert not tf.summary.graph(graph)  # no writer is the default
    with writer.as_default():
        assert tf.summary.graph(graph)
        assert tf.summary.graph(graph.as_graph_def())
        with pytest.raises(ValueError, match="not tf.Graph"):
            tf.summary.graph(3)
    writer.flush()
    writer.close()
    with pytest.raises(RuntimeError, match="already closed"), writer.as_default():
        pass
    (path,) = (tmp_path / "logs").iterdir()
    assert path.name.startswith("events.out.tfevents.") and path.name.endswith(".v2")
    version, first, second = _records(path.read_bytes())
    assert b"brain.Event:2" in version
    content = exporter.graph_bytes(graph.ir)
    assert first.endswith(content)
    assert str(wire_format.parsed(second[-len(content) :], "GraphDef")) == str(wire_format.parsed(content, "GraphDef"))


def test_no_graph_is_written_while_tracing(graph) -> None:
    with pytest.raises(ValueError, match="inside a graph context"):
        tf.function(lambda: tf.summary.graph(graph))()


def test_tensorboard_reads_the_file(graph, tmp_path) -> None:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    writer = tf.summary.create_file_writer(tmp_path)
    with writer.as_default():
        tf.summary.graph(graph)
    read = list(loader.RawEventFileLoader(str(next(tmp_path.iterdir()))).Load())
    assert len(read) == 2


def _summaries(path) -> list[tuple[str, bytes]]:
    """The summaries in a file: (tag, all of the bytes)."""
    found = []
    content = path.read_bytes()
    while content:
        size = int.from_bytes(content[:8], "little")
        event, content = content[12 : 12 + size], content[16 + size :]
        found.append(event)
    return found[1:]


def test_scalars_are_written_in_each_call(tmp_path) -> None:
    writer = tf.summary.create_file_writer(tmp_path)
    assert not tf.summary.scalar("loss", 1.0, step=0)  # no writer is the default

    @tf.function
    def step(x, n):
        with tf.name_scope("train"):
            tf.summary.scalar("loss", x * 2.0, step=n)

    with writer.as_default():
        for n in range(3):
            step(tf.constant(1.5), tf.constant(n, tf.int64))
        tf.summary.scalar("loss", 4, step=7)
        with pytest.raises(ValueError, match="No step set"):
            tf.summary.scalar("loss", 1.0)
        with pytest.raises(ValueError, match="Expected scalar shape"):
            tf.summary.scalar("loss", [1.0, 2.0], step=1)
    with writer.as_default(step=9):
        assert tf.summary.experimental.get_step() == 9
        tf.summary.scalar("loss", 1.0)
    assert tf.summary.experimental.get_step() is None
    events = _summaries(next(tmp_path.iterdir()))
    assert [b"train/loss" in event for event in events] == [True] * 3 + [False] * 2
    assert all(b"scalars" in event for event in events)


def test_graphs_that_run_are_exported(tmp_path) -> None:
    f = tf.function(lambda x: (x * 2.0 + 1.0, tf.sin(x))[0])
    f(tf.constant(1.0))  # a trace that is there already
    with pytest.raises(ValueError, match="Must enable trace"):
        tf.summary.trace_export("f", step=0)
    with tf.summary.create_file_writer(tmp_path).as_default():
        tf.summary.trace_on(graph=True)
        f(tf.constant(2.0))
        f(tf.constant(2.0))
        tf.summary.trace_export("f", step=0)
        with pytest.raises(ValueError, match="Must enable trace"):
            tf.summary.trace_export("f", step=0)
    (event,) = _summaries(next(tmp_path.iterdir()))
    assert b"graph_run_metadata_graph" in event
    counts = [event.count(op) for op in (b"Placeholder", b"\x12\x05AddV2", b"\x12\x03Sin")]
    assert counts == [2, 2, 1]  # as traced, as optimised
    tf.summary.trace_on(graph=True)
    tf.summary.trace_off()


def test_tensorboard_reads_summaries(tmp_path) -> None:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    f = tf.function(lambda x: x * 2.0 + 1.0)
    with tf.summary.create_file_writer(tmp_path).as_default():
        tf.summary.trace_on()
        f(tf.constant(2.0))
        tf.summary.trace_export("f", step=0)
        tf.summary.scalar("loss", 2.5, step=3)
    found = loader.EventAccumulator(str(tmp_path))
    found.Reload()
    (event,) = found.Tensors("loss")
    assert event.step == 3 and tf.make_ndarray(event.tensor_proto) == 2.5
    plugin = found.SummaryMetadata("f").plugin_data
    assert plugin.plugin_name == "graph_run_metadata_graph" and plugin.content == b"1"  # else it is not shown


def test_a_writer_without_a_folder_is_told_by_tensorflows_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.errors.FailedPreconditionError, match="file"):
        tf.summary.create_file_writer(str(tmp_path / "file"))
    with pytest.raises(tf.errors.FailedPreconditionError, match="Not a directory"):
        tf.summary.create_file_writer(str(tmp_path / "file" / "below"))
