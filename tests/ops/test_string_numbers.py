"""Strings are numbered by a hash table of our own: tf.unique, fixed tables, parts of strings, beside plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.native.array_kernels import StringNumbers, objects, places
from fastgraph.graph import ir
from fastgraph.graph.passes.optimize import optimise


def words(rng: np.random.Generator, n: int, different: int) -> list[bytes]:
    """Return strings of 0 to 11 bytes, zeros among them."""
    known = [rng.integers(0, 3, rng.integers(0, 12)).astype(np.uint8).tobytes() for _ in range(different)]
    return [known[i] for i in rng.integers(0, different, n)]


@pytest.mark.parametrize(("n", "different"), [(0, 1), (1, 1), (50, 3), (5000, 4000)])
def test_numbers_are_those_of_a_dict(rng: np.random.Generator, n: int, different: int) -> None:
    asked = words(rng, n, different)
    table: dict[bytes, int] = {}
    expected = [table.setdefault(word, len(table)) for word in asked]
    found = tf.function(tf.unique_with_counts)(tf.constant(asked, tf.string, [n]))
    assert found.idx.numpy().tolist() == expected
    assert found.y.numpy().tolist() == list(table)
    assert found.count.numpy().tolist() == [expected.count(i) for i in range(len(table))]


def test_tables_of_strings(rng: np.random.Generator) -> None:
    keys = sorted({*words(rng, 3000, 2000)})
    values = rng.integers(-9, 9, len(keys))
    asked = np.array(words(rng, 600, 600), object).reshape(20, 30)
    for kind, absent in ((tf.int64, -7), (tf.float32, 0.5), (tf.string, "none")):
        held = tf.strings.as_string(values) if kind == tf.string else tf.cast(values, kind)
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant(keys), held), absent)
        plain = dict(zip(keys, held.numpy().tolist(), strict=True))
        default = absent.encode() if isinstance(absent, str) else absent
        expected = [[plain.get(key, default) for key in row] for row in asked.tolist()]
        for find in (table.lookup, tf.function(table.lookup)):
            assert find(tf.constant(asked)).numpy().tolist() == expected
            assert find(tf.constant(asked)[:, ::2]).numpy().tolist() == [row[::2] for row in expected]
            assert find(tf.zeros([0, 2], tf.string)).shape == (0, 2)
        assert table.lookup(tf.constant(keys[5])).numpy() == plain[keys[5]]


def test_many_parts(rng: np.random.Generator) -> None:
    lines = [b" ".join(words(rng, 3, 9)) for _ in range(3000)]  # more parts than arenas are kept for
    for sep in (b"", b"\1"):
        expected = [line.split(sep or None) for line in lines]
        if not sep:  # zero bytes are no space
            assert sum(map(len, expected)) > 4096
        assert tf.strings.split(lines, sep).to_list() == expected
    assert tf.strings.substr(lines, 0, 3).numpy().tolist() == [line[:3] for line in lines]


def test_what_is_no_array_of_strings_is_refused() -> None:
    table = StringNumbers()
    for wrong in (np.zeros(3), np.array([b"a", 1], object), np.array([b"a", b"b", b"c"], object)[::2]):
        with pytest.raises((TypeError, ValueError)):
            table.numbers(wrong, True)
    for wrong in (np.array([-1]), np.array([1.0]), np.array([1, 2, 3, 4])[::2]):
        with pytest.raises(ValueError, match="counts are int64"):
            places(wrong)
    for call in (lambda: table.numbers(None, True), lambda: objects(None), lambda: places(None)):
        with pytest.raises(TypeError):
            call()
    assert table.words().shape == (0,)


LINES = [b"a b  c", b"", b" b", b"a\tz\n", b"zz,a,,b", b"c" * 50, b"a a a a a a"] * 100


@pytest.mark.parametrize("sep", [b"", b" ", b",", b"a ", b"cc"])
def test_numbers_of_parts_are_those_of_the_strings(sep: bytes) -> None:
    numbers = StringNumbers()
    numbers.numbers(objects([b"a", b"b", b"", b"c", b"cc"]), True)
    parts = [line.split(sep or None) for line in LINES]
    found, counts = numbers.of_parts(objects(LINES), sep)
    assert counts.tolist() == [len(each) for each in parts]
    assert found.tolist() == numbers.numbers(objects([part for each in parts for part in each]), False).tolist()
    assert [x.tolist() for x in numbers.of_parts(objects([]), sep)] == [[], []]


def _table(*, n: int = 3) -> tf.lookup.StaticHashTable:
    keys = tf.constant([b"a", b"b", b"zz"][:n], tf.string, [n])
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, tf.range(1, n + 1)), -1)


def _ops(function: tf.types.experimental.PolymorphicFunction, *arguments: object) -> list[str]:
    """The names of the ops that the compiler starts from, those of loops' bodies too."""
    left, names = [optimise(function.get_concrete_function(*arguments).graph.ir)], []
    while left:
        for node in left.pop().nodes:
            names.append(node.op.name)
            left += [graph for graph, _ in ir.subgraphs(node)]
    return names


@pytest.mark.parametrize("sep", [None, b",", b" "])
@pytest.mark.parametrize("n", [0, 3])
def test_parts_that_are_only_looked_up_become_no_strings(sep: bytes | None, n: int) -> None:
    table = _table(n=n)

    def numbers(lines: tf.Tensor) -> tf.RaggedTensor:
        return tf.ragged.map_flat_values(table.lookup, tf.strings.split(lines, sep))

    def in_a_loop(lines: tf.Tensor) -> tf.Tensor:
        total = tf.constant(0)
        for _ in tf.range(3):
            total += tf.reduce_sum(numbers(lines))
        return total

    lines = tf.constant(LINES)
    function = tf.function(numbers)
    assert function(lines).to_list() == numbers(lines).to_list()
    assert function(lines[:0]).to_list() == []
    assert {"string_split_find"} == {name for name in _ops(function, lines) if "split_" in name or "find" in name}
    function = tf.function(in_a_loop)
    assert int(function(lines)) == 3 * int(tf.reduce_sum(numbers(lines)))
    assert "string_split_find" in _ops(function, lines) and "table_find" not in _ops(function, lines)


def test_parts_that_are_wanted_stay_strings() -> None:
    table = _table()

    def numbers_and_words(lines: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        words = tf.strings.split(lines)
        return tf.ragged.map_flat_values(table.lookup, words), words

    def at_most(lines: tf.Tensor) -> tf.RaggedTensor:
        return tf.ragged.map_flat_values(table.lookup, tf.strings.split(lines, " ", maxsplit=1))

    lines = tf.constant(LINES)
    for each in (numbers_and_words, at_most):
        function = tf.function(each)
        found, expected = (tf.nest.flatten(f(lines), expand_composites=True) for f in (function, each))
        assert all(a.numpy().tolist() == b.numpy().tolist() for a, b in zip(found, expected, strict=True))
        assert "string_split_find" not in _ops(function, lines)
