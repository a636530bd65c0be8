"""Numbers as the steps of a range: quantised dtypes, quantize, dequantize, quantized_concat; TensorFlow's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as tf

X = [-3.0, -1.0, -0.3, 0.0, 0.4, 1.7, 3.0, 5.0]

#: dtype, mode, the steps of X in a range from -1 to 3, the ends, what the steps stand for.
CASES = [
    ("qint8", "MIN_COMBINED", [-128, -128, -83, -64, -39, 44, 127, 127], [-1, 3], [-1, -1, -0.2941, 0.0039, 0.3961, 1.698, 3, 3]),
    ("qint8", "MIN_FIRST", [-128, -128, -83, -64, -38, 44, 127, 127], [-1, 3], [-1.0039, -1.0039, -0.298, 0, 0.4078, 1.6941, 2.9961, 2.9961]),
    ("qint8", "SCALED", [-127, -42, -13, 0, 17, 72, 127, 127], [-3.02362, 3], [-3, -0.9921, -0.3071, 0, 0.4016, 1.7008, 3, 3]),
    ("quint8", "MIN_COMBINED", [0, 0, 45, 64, 89, 172, 255, 255], [-1, 3], [-1, -1, -0.2941, 0.0039, 0.3961, 1.698, 3, 3]),
    ("quint8", "MIN_FIRST", [0, 0, 45, 64, 90, 172, 255, 255], [-1, 3], [-1.0039, -1.0039, -0.298, 0, 0.4078, 1.6941, 2.9961, 2.9961]),
    ("quint8", "SCALED", [0, 0, 0, 0, 34, 145, 255, 255], [0, 3], [0, 0, 0, 0, 0.4, 1.7059, 3, 3]),
    ("qint16", "SCALED", [-32767, -10922, -3277, 0, 4369, 18568, 32767, 32767], [-3.00009, 3], [-3, -1, -0.3, 0, 0.4, 1.7, 3, 3]),
    ("quint16", "MIN_COMBINED", [0, 0, 11469, 16384, 22937, 44236, 65535, 65535], [-1, 3], [-1, -1, -0.3, 0, 0.4, 1.7, 3, 3]),
    ("qint32", "MIN_FIRST", [-2147483648, -2147483648, -1395864320, -1073741824, -644245120, 751619328, 2147483520, 2147483520], [-1, 3], [-1, -1, -0.3, 0, 0.4, 1.7, 3, 3]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_steps_and_back(case: Any) -> None:
    kind, mode, steps, ends, numbers = case

    def both(x: Any) -> Any:
        found = tf.quantization.quantize(x, -1.0, 3.0, kind, mode)
        return found, tf.quantization.dequantize(*found, mode)

    for run in (both, tf.function(both)):
        found, back = run(tf.constant(X))
        assert found.output.dtype.name == kind and found.output.numpy().tolist() == steps
        np.testing.assert_allclose([found.output_min, found.output_max], ends, atol=1e-5)
        np.testing.assert_allclose(back, numbers, atol=6e-5)


def test_ranges_along_an_axis() -> None:
    x = tf.constant([[-1, 0.25, 2], [0.5, -2, 1]])
    found = tf.quantization.quantize(x, [-1.0, -2.0], [2.0, 1.0], tf.qint8, axis=0)
    assert found.output.numpy().tolist() == [[-128, -22, 127], [85, -128, 127]]
    back = tf.quantization.dequantize(*found, axis=0)
    np.testing.assert_allclose(back, [[-1, 0.2471, 2], [0.5059, -2, 1]], atol=6e-5)
    with pytest.raises(tf.errors.UnimplementedError, match="MIN_FIRST"):
        tf.quantization.quantize(x, [-1.0, -2.0], [2.0, 1.0], tf.qint8, "MIN_FIRST", axis=0)
    for axis in (1, 2):  # two ranges for three slices; no such axis
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.quantization.quantize(x, [-1.0, -2.0], [2.0, 1.0], tf.qint8, axis=axis)


def test_halves_to_even_and_a_narrow_range() -> None:
    found = tf.quantization.quantize([0.5, 1.5, 2.5, -0.5], -127.0, 127.0, tf.qint8, "SCALED", "HALF_TO_EVEN",
                                     narrow_range=True)  # fmt: skip
    assert found.output.numpy().tolist() == [0, 2, 2, 0] and [float(end) for end in found[1:]] == [-127, 127]


def test_steps_of_several_ranges_are_joined() -> None:
    parts = [tf.bitcast(np.uint8([row]), tf.quint8) for row in ([0, 128, 255], [10, 20, 30])]
    found = tf.quantization.quantized_concat(1, parts, [-1.0, 0.0], [1.0, 2.0])
    assert found.output.numpy().tolist() == [[0, 86, 170, 92, 98, 105]]
    assert [float(end) for end in found[1:]] == [-1, 2]


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.quantization.quantize([1.0], 0.0, 1.0, tf.int8),
        lambda: tf.quantization.quantize([1.0], 0.0, 1.0, tf.qint8, mode="ANY"),
        lambda: tf.quantization.quantize([1.0], 1.0, 0.0, tf.qint8),
        lambda: tf.quantization.quantize([1.0], 0.0, 1.0, tf.qint8, round_mode="HALF_TO_EVEN"),
        lambda: tf.quantization.quantize([1.0], [0.0], [1.0], tf.qint8),
        lambda: tf.quantization.dequantize([1], 0.0, 1.0),
        lambda: tf.quantization.dequantize(tf.constant([1], tf.qint8), 0.0, 1.0, "SCALED", dtype=tf.bfloat16),
        lambda: tf.constant([1], tf.qint8) + tf.constant([1], tf.qint8),
    ],
)
def test_what_is_refused(call: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        call()


@pytest.mark.parametrize("name", ["qint8", "quint8", "qint16", "quint16", "qint32"])
def test_quantised_dtypes(name: str) -> None:
    kind = getattr(tf, name)
    assert kind.is_quantized and not (kind.is_integer or kind.is_floating or kind.is_unsigned)
    assert kind in tf.dtypes.QUANTIZED_DTYPES and tf.as_dtype(kind.as_numpy_dtype) is kind is tf.as_dtype(name)
    with pytest.raises(TypeError, match="quantized type"):
        kind.max
    x = tf.constant([1, 2, 3, 4], kind)
    assert x.numpy().dtype == name[1:] and repr(x).startswith(f"<tf.Tensor: shape=(4,), dtype={name}, numpy=array([1, ")

    def moved(x: Any) -> Any:
        y = tf.concat([tf.reshape(x, [2, 2])[:, 1:], tf.cast([[7], [8]], kind)], 1)
        return y, tf.cast(tf.transpose(y), tf.int32), tf.bitcast(y, name[1:]), tf.gather(x, [3])

    for run in (moved, tf.function(moved)):
        found = run(x)
        values = [[[2, 7], [4, 8]], [[2, 4], [7, 8]], [[2, 7], [4, 8]], [4]]
        assert [each.numpy().tolist() for each in found] == values
        assert [each.dtype.name for each in found] == [name, "int32", name[1:], name]


def test_small_stored_dtypes() -> None:
    kinds = tf.dtypes.experimental
    assert tf.cast(tf.cast([-3.0, 7.0, 1.0], kinds.int4), tf.int32).numpy().tolist() == [-3, 7, 1]
    assert tf.cast(tf.cast([1.5, -0.5], kinds.float4_e2m1fn), tf.float32).numpy().tolist() == [1.5, -0.5]
    limits = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3), "float4_e2m1fn": (-6, 6)}
    limits |= {"float8_e4m3fnuz": (-240, 240), "float8_e4m3b11fnuz": (-30, 30), "float8_e5m2fnuz": (-57344, 57344)}
    for name, ends in limits.items():
        kind = getattr(kinds, name)
        assert (float(kind.min), float(kind.max)) == ends and kind.is_integer == ("int" in name)
