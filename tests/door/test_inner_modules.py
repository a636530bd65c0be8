"""Modules of TensorFlow's inside that are built here, against values of TensorFlow's, and what stars import."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.door import internal_initializers as inits
from fastgraph.door import internal_layers as layers
from fastgraph.door import internal_rnn as rnn
from fastgraph.door import modules
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
