"""The parts of strings: rows of different lengths, as many dimensions as the strings and one more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags

WORDS = [" a b  c ", "1<>2<><>3", "", "a,b,,c", "aaaaa", " ", "a b"]


def rows(found: Any) -> Any:
    return found.to_list() if isinstance(found, tf.RaggedTensor) else np.asarray(found).tolist()


def test_bytes() -> None:
    assert rows(tf.strings.bytes_split("abc")) == [b"a", b"b", b"c"]
    assert rows(tf.strings.bytes_split(["ab", "", "c"])) == [[b"a", b"b"], [], [b"c"]]
    assert rows(tf.strings.bytes_split([["ab", ""], ["c", "d"]])) == [[[b"a", b"b"], []], [[b"c"], [b"d"]]]
    assert rows(tf.strings.bytes_split(tf.ragged.constant([["ab"], [], ["c", ""]]))) == [
        [[b"a", b"b"]], [], [[b"c"], []],
    ]  # fmt: skip
    assert rows(tf.strings.bytes_split([[["ab"]], [["c"]]])) == [[[[b"a", b"b"]]], [[[b"c"]]]]
    assert tf.strings.bytes_split(tf.constant([], tf.string)).shape == [0, None]


@pytest.mark.parametrize(
    ("sep", "maxsplit", "expected"),
    [
        (None, -1, [[b"a", b"b", b"c"], [b"1<>2<><>3"], [], [b"a,b,,c"], [b"aaaaa"], [], [b"a", b"b"]]),
        ("", 0, [[b" a b  c "], [b"1<>2<><>3"], [b""], [b"a,b,,c"], [b"aaaaa"], [b" "], [b"a b"]]),
        (None, 2, [[b"a", b"b", b"c "], [b"1<>2<><>3"], [], [b"a,b,,c"], [b"aaaaa"], [], [b"a", b"b", b""]]),
        (",", -1, [[b" a b  c "], [b"1<>2<><>3"], [b""], [b"a", b"b", b"", b"c"], [b"aaaaa"], [b" "], [b"a b"]]),
        ("<>", 2, [[b" a b  c "], [b"1", b"2", b"<>3"], [b""], [b"a,b,,c"], [b"aaaaa"], [b" "], [b"a b"]]),
        ("aa", 3, [[b" a b  c "], [b"1<>2<><>3"], [b""], [b"a,b,,c"], [b"", b"", b"a"], [b" "], [b"a b"]]),
    ],
)
def test_parts_between_separators(sep: str | None, maxsplit: int, expected: Any) -> None:
    assert rows(tf.strings.split(WORDS, sep, maxsplit)) == expected


@pytest.mark.parametrize("tier", ["first", "last"])
def test_in_functions(tier: str) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def f(words: Any) -> Any:
        parts = tf.strings.split(words, ",")
        return parts, tf.strings.bytes_split(words), tf.strings.format("{} parts", parts.row_lengths())

    with flags.override(tier=tier):
        for given in (["a,b", "", "c"], []):
            parts, letters, text = f(tf.constant(given, tf.string))
            assert rows(parts) == [word.encode().split(b",") for word in given]
            assert rows(letters) == [[bytes([c]) for c in word.encode()] for word in given]
            assert text.numpy().decode() == f"[{' '.join(str(len(word.split(','))) for word in given)}] parts"


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="string"):
        tf.strings.split(1)
    with pytest.raises(ValueError, match="The template expects 2 tensors, but the inputs only has 1"):
        tf.strings.format("{} {}", tf.constant(1))

    @tf.function(input_signature=[tf.TensorSpec(None, tf.string)])
    def f(words: Any) -> Any:
        return tf.strings.bytes_split(words)

    with pytest.raises(ValueError, match="input must have a statically-known rank"):
        f(tf.constant(["a"]))


def test_graphs_of_them_are_imported() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def f(words: Any) -> Any:
        text = tf.strings.format("{} and {}", [words, 1.5])
        tf.print(words)
        return tf.strings.split(words).flat_values, tf.strings.bytes_split(words).flat_values, text

    concrete = f.get_concrete_function()
    definition = concrete.graph.as_graph_def()

    @tf.function
    def imported(words: Any) -> Any:
        return tf.import_graph_def(definition, {"words": words}, [each.name for each in concrete.outputs])

    words = tf.constant(["a bc", "d"])
    assert [rows(each) for each in imported(words)] == [rows(each) for each in f(words)]
