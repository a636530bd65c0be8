"""Strings and sequences that are worked on all at once give what each gives alone."""

from __future__ import annotations

import base64

import numpy as np
import pytest

import fastgraph as fg


def _texts(rng, count, letters):
    return [b"".join(rng.choice(letters, rng.integers(0, 9))) for _ in range(count)]


def _alone(words, **options):
    return [fg.strings.unicode_decode_with_offsets(word, "UTF-8", **options) for word in words]


@pytest.mark.parametrize("errors", ["replace", "ignore"])
@pytest.mark.parametrize("control", [False, True])
@pytest.mark.parametrize("broken", [False, True])
def test_characters_of_many_strings_are_those_of_each(rng, errors, control, broken):
    letters = [b"a", "\u00e9".encode(), "\u20ac".encode(), "\U0001f600".encode(), b"\n"]
    words = _texts(rng, 60, np.array(letters + [b"\xc3", b"\xa9", b"\xff"] * broken, object))
    options = {"errors": errors, "replace_control_characters": control}
    codes, offsets = fg.strings.unicode_decode_with_offsets(words, "UTF-8", **options)
    for i, word in enumerate(words):
        text, at, expected = word.decode("utf-8", "surrogateescape"), 0, []
        for char in text:
            code = ord(char)
            bad = 0xDC80 <= code < 0xDD00 or (control and code < 32)
            if not bad or errors == "replace":
                expected.append((0xFFFD if bad else code, at))
            at += len(char.encode("utf-8", "surrogateescape"))
        if not broken:
            assert list(zip(codes[i].numpy().tolist(), offsets[i].numpy().tolist(), strict=True)) == expected
    for i, (own, places) in enumerate(_alone(words, **options)):
        assert codes[i].numpy().tolist() == own.numpy().tolist()
        assert offsets[i].numpy().tolist() == places.numpy().tolist()


def test_a_character_is_not_made_of_two_strings():
    codes = fg.strings.unicode_decode([b"\xc3", b"\xa9", b"", b"a"], "UTF-8")
    assert codes.to_list() == [[0xFFFD], [0xFFFD], [], [97]]


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64", "float32", "float64"])
def test_numbers_are_printed_as_python_prints_them(rng, dtype):
    if dtype.startswith("f"):
        values = np.append(rng.standard_normal(50) * 10.0 ** rng.integers(-20, 20, 50), [np.inf, -np.inf, np.nan, -0.0])
        form, options = {"f": {}, "e": {"scientific": True}, "g": {"shortest": True}}, [{}, {"precision": 3}]
    else:
        limits = np.iinfo(dtype)
        values, form, options = np.array([limits.min, limits.max, 0, 1, 10, 99], dtype), {"d": {}}, [{}]
    values = values.astype(dtype)
    for letter, kind in form.items():
        for given in options:
            digits = f".{given['precision']}" if given else ""
            expected = [f"%{digits}{letter}".encode() % v for v in values.tolist()]
            assert fg.strings.as_string(values, **kind, **given).numpy().tolist() == expected


@pytest.mark.parametrize("pad", [False, True])
def test_base64_is_pythons(rng, pad):
    words = [rng.bytes(n) for n in range(40)]
    expected = [base64.urlsafe_b64encode(word) for word in words]
    found = fg.io.encode_base64(words, pad=pad).numpy().tolist()
    assert found == (expected if pad else [word.rstrip(b"=") for word in expected])


def test_single_bytes_and_parts(rng):
    words = [rng.bytes(n % 7) for n in range(40)]
    expected = [[word[i : i + 1] for i in range(len(word))] for word in words]
    assert fg.strings.bytes_split(words).to_list() == expected
    longer = [b"ab" + word for word in words]
    assert fg.strings.substr(longer, 2, 3).numpy().tolist() == [word[:3] for word in words]
    with pytest.raises(fg.errors.InvalidArgumentError, match="out of range"):
        fg.strings.substr(longer, 3, 1)


def _distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


@pytest.mark.parametrize("dtype", ["int32", "float32", "string"])
def test_distances_are_those_of_the_plain_table(rng, dtype):
    make = {"int32": int, "float32": lambda v: float("nan") if v == 2 else float(v), "string": lambda v: b"w%d" % v}
    rows = [[[make[dtype](v) for v in rng.integers(0, 3, rng.integers(0, 7))] for _ in range(12)] for _ in range(2)]
    sides = []
    for side in rows:
        places = [(i // 4, i % 4, j) for i, row in enumerate(side) for j in range(len(row))]
        flat = [value for row in side for value in row]
        sides.append(fg.SparseTensor(places, fg.constant(flat, dtype), [3, 4, 7]))
    expected = np.reshape([_distance(a, b) for a, b in zip(*rows, strict=True)], (3, 4))
    assert fg.edit_distance(*sides, normalize=False).numpy().tolist() == expected.tolist()
    with pytest.raises(fg.errors.InvalidArgumentError, match="out of bounds"):
        fg.edit_distance(fg.SparseTensor([[5, 0]], [1], [2, 2]), fg.SparseTensor([[0, 0]], [1], [2, 2]))
