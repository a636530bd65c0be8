"""Some 700 pipelines of tf.data give what TensorFlow 2.21 gives: elements, specs, cardinalities, errors."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import fastgraph as tf
from tests.api import data_pipelines

EXPECTED = json.loads((Path(__file__).parent / "data_pipelines.json").read_text())
GROUPS = sorted({re.split(r"[ \d]", name)[0] for name in data_pipelines.PIPELINES})


@pytest.fixture(autouse=True)
def unseeded():
    yield
    tf.random.set_seed(None)


@pytest.mark.parametrize("group", GROUPS)
def test_pipelines_give_what_tensorflow_gives(group):
    names = [name for name in data_pipelines.PIPELINES if re.split(r"[ \d]", name)[0] == group]
    for name in names:
        assert data_pipelines.outcome(tf, name) == EXPECTED[name], name


def test_all_pipelines_are_compared():
    assert sorted(EXPECTED) == sorted(data_pipelines.PIPELINES)
    assert "tensorflow" not in sys.modules
