"""tf.strings.unicode_*, tf.edit_distance, and the strings of segments joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg

WORDS = ["G\u00f6\u00f6dnight".encode(), "\U0001f60a".encode(), b""]
strings = fg.strings


def test_numbers_and_places_of_characters() -> None:
    codes, places = strings.unicode_decode_with_offsets(WORDS, "UTF-8")
    assert codes.to_list() == [[71, 246, 246, 100, 110, 105, 103, 104, 116], [0x1F60A], []]
    assert places.to_list() == [[0, 1, 3, 5, 6, 7, 8, 9, 10], [0], []]
    assert strings.unicode_decode("a\u00e9", "UTF-8").numpy().tolist() == [97, 233]
    assert strings.unicode_decode([["a"], ["bc"]], "UTF-8").to_list() == [[[97]], [[98, 99]]]
    assert strings.unicode_decode(["a\u00e9".encode("utf-16-be")], "UTF-16-BE").to_list() == [[97, 233]]
    assert strings.unicode_decode([b"a\xe9"], "ISO-8859-1").to_list() == [[97, 233]]


@pytest.mark.parametrize(("errors", "found"), [("replace", [97, 0xFFFD, 98]), ("ignore", [97, 98])])
def test_what_is_no_text(errors: str, found: list[int]) -> None:
    assert strings.unicode_decode([b"a\xffb"], "UTF-8", errors=errors).to_list() == [found]
    if errors == "replace":
        assert strings.unicode_decode([b"a\xff"], "UTF-8", replacement_char=32).to_list() == [[97, 32]]
    parts, places = strings.unicode_split_with_offsets([b"a\xffb"], "UTF-8", errors)
    assert parts.to_list() == [[chr(code).encode() for code in found]] and places.to_list()[0][-1] == 2


def test_refused() -> None:
    with pytest.raises(fg.errors.InvalidArgumentError, match="Invalid formatting on input string"):
        strings.unicode_decode([b"\xff"], "UTF-8", errors="strict")
    with pytest.raises(fg.errors.InvalidArgumentError, match="Could not create converter for input encoding: nothing"):
        strings.unicode_decode([b"a"], "nothing")
    with pytest.raises(fg.errors.InvalidArgumentError, match="not in the list of allowed values"):
        strings.unicode_transcode([b"a"], "UTF-8", "US-ASCII")
    with pytest.raises(fg.errors.InvalidArgumentError, match="Code point is out of range"):
        strings.unicode_encode([[0xD800]], "UTF-8", errors="strict")
    with pytest.raises(TypeError, match="Truth must be a SparseTensor"):
        fg.edit_distance(fg.sparse.from_dense([[1]]), [[1]])


def test_back_again() -> None:
    codes = strings.unicode_decode(WORDS, "UTF-8")
    assert strings.unicode_encode(codes, "UTF-8").numpy().tolist() == WORDS
    assert strings.unicode_encode([[72, 105], [0x1F60A, 0xD800]], "UTF-16-BE").numpy().tolist() == [
        "Hi".encode("utf-16-be"), "\U0001f60a\ufffd".encode("utf-16-be"),
    ]  # fmt: skip
    assert strings.unicode_encode([104, 105], "UTF-8").numpy() == b"hi"
    nested = fg.ragged.constant([[[97], [98, 99]], [[]]], dtype=fg.int32)
    assert strings.unicode_encode(nested, "UTF-8").to_list() == [[b"a", b"bc"], [b""]]
    other = strings.unicode_transcode(WORDS, "UTF-8", "UTF-32-BE")
    assert strings.unicode_transcode(other, "UTF-32-BE", "UTF-8").numpy().tolist() == WORDS
    assert strings.unicode_transcode([b"a\x01"], "UTF-8", "UTF-8", replace_control_characters=True).numpy()[0] == (
        "a\ufffd".encode()
    )


def test_functions() -> None:
    @fg.function(input_signature=[fg.TensorSpec([None], fg.string)])
    def run(words: Any) -> Any:
        codes = strings.unicode_decode(words, "UTF-8")
        return codes.row_lengths(), strings.unicode_encode(codes, "UTF-8"), strings.to_hash_bucket(words, 10)

    lengths, words, buckets = run(WORDS)
    assert lengths.numpy().tolist() == [9, 1, 0] and words.numpy().tolist() == WORDS
    assert buckets.numpy().tolist() == strings.to_hash_bucket(WORDS, 10).numpy().tolist()


def test_segments_of_strings() -> None:
    found = strings.unsorted_segment_join(["a", "b", "c", "d"], [1, 0, 3, 1], 4, ":")
    assert found.numpy().tolist() == [b"b", b"a:d", b"", b"c"]
    with pytest.raises(fg.errors.InvalidArgumentError, match="negative values"):
        strings.unsorted_segment_join(["a"], [-1], 3)
    rows = strings.unsorted_segment_join([["a", "b"], ["c", "d"]], [0, 0], 1)
    assert rows.numpy().tolist() == [[b"ac", b"bd"]]


def test_edit_distance() -> None:
    ours = fg.SparseTensor([[0, 0, 0], [1, 0, 0]], ["a", "b"], (2, 1, 1))
    theirs = fg.SparseTensor([[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]], ["a", "b", "c", "a"], (2, 2, 2))
    assert fg.edit_distance(ours, theirs).numpy().tolist() == [[np.inf, 1.0], [0.5, 1.0]]
    assert fg.edit_distance(ours, theirs, normalize=False).numpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]
    a, b = (fg.sparse.from_dense([[ord(c) for c in word]]) for word in ("kitten", "sitting"))
    assert fg.function(fg.edit_distance)(a, b, normalize=False).numpy().tolist() == [3.0]


def test_orders_of_bytes_are_marked_or_the_networks() -> None:
    for data, encoding, places in (
        (b"\x00a\x00b", "UTF-16", [0, 2]),
        (b"\xfe\xff\x00a\x00b", "UTF-16", [0, 4]),
        (b"\xff\xfea\x00b\x00", "UTF-16", [0, 4]),
        (b"\x00\x00\x00a\x00\x00\x00b", "UTF-32", [0, 4]),
    ):
        codes, begins = strings.unicode_decode_with_offsets(data, encoding)
        assert (codes.numpy().tolist(), begins.numpy().tolist()) == ([97, 98], places)
        assert strings.unicode_transcode(data, encoding, "UTF-8").numpy() == b"ab"
    broken = strings.unicode_decode_with_offsets(b"\xff\xfea\x00\x00\xd8b\x00", "UTF-16")
    assert [x.numpy().tolist() for x in broken] == [[97, 0xFFFD, 98], [0, 4, 6]]
