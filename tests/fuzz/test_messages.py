"""Damaged GraphDefs are refused by errors that say where; the long form is `python -m tests.fuzz.messages`."""

from __future__ import annotations

from collections import Counter

import pytest

import fastgraph as fg
from fastgraph.graphdef.messages import GraphDef
from tests.fuzz import damage, messages


def test_damaged_graph_defs_are_refused() -> None:
    came: Counter[str] = Counter()
    for seed, text in damage.findings(messages.answer, iter(range(500)), came):
        pytest.fail(f"seed {seed}: {text}")
    assert came["imported"] > 10 and came["NotFoundError"] > 10 and came["ValueError"] > 100


def test_the_error_names_the_node() -> None:
    definition = fg.function(lambda x: x + 1.0).get_concrete_function(fg.TensorSpec([2])).graph.as_graph_def()
    node = next(node for node in definition.node if node.op.startswith("Add"))
    del node.input[1]
    with pytest.raises(fg.errors.InvalidArgumentError, match=f"Node '{node.name}' \\({node.op}\\)"):
        fg.import_graph_def(definition)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "more than ten bytes"),
        (b"\x0a\x7f", "cut off"),
        (b"\x08\x01", "wire type 0"),
        (b"\x0b", "wire type 3"),
        (b"\x0a\x02\x12\x00" + b"\x0a\x03\x0a\x01\xff", "utf-8"),
    ],
)
def test_bytes_that_are_no_message(content: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=f"these bytes are no .*{says}"):
        GraphDef.FromString(content)
