"""DType: names, numbers, conversions and ranges are TensorFlow's."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from fastgraph.core.base import dtype

CODES = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "complex64": 8, "int64": 9,
    "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18, "float16": 19, "resource": 20, "variant": 21,
    "uint32": 22, "uint64": 23,
}  # fmt: skip


@pytest.mark.parametrize("name", CODES)
def test_name_code_and_text(name: str) -> None:
    d = dtype.as_dtype(name)
    assert (d.name, d.code, d.as_datatype_enum) == (name, CODES[name], CODES[name])
    assert dtype.as_dtype(CODES[name]) is d and dtype.from_code(CODES[name]) is d
    assert repr(d) == f"tf.{name}"
    assert str(d) == f"<dtype: '{name}'>"
    assert d == name and name == d and d != "nothing" and d is not None and d != None  # noqa: E711
    assert pickle.loads(pickle.dumps(d)) is d and copy.deepcopy(d) is d


@pytest.mark.parametrize("name", [n for n in CODES if n not in ("string", "resource", "variant", "bfloat16")])
def test_numpy_forms(name: str) -> None:
    d = dtype.as_dtype(name)
    assert d.numpy_dtype == np.dtype(name) and d.as_numpy_dtype is np.dtype(name).type
    assert d.size == np.dtype(name).itemsize
    assert d == np.dtype(name) and d == np.dtype(name).type
    assert dtype.as_dtype(np.dtype(name).newbyteorder(">")) is d
    assert d.is_numpy_compatible


def test_bfloat16() -> None:
    import ml_dtypes

    assert dtype.bfloat16.numpy_dtype == np.dtype(ml_dtypes.bfloat16)
    assert dtype.as_dtype(ml_dtypes.bfloat16) is dtype.bfloat16
    assert dtype.as_dtype(np.dtype(ml_dtypes.bfloat16)) is dtype.bfloat16
    assert dtype.bfloat16.is_floating and dtype.bfloat16.size == 2
    assert float(dtype.bfloat16.max) == pytest.approx(3.3895314e38)


def test_kinds() -> None:
    assert [d.name for d in dtype.ALL if d.is_floating] == ["float32", "float64", "bfloat16", "float16"]
    assert {d.name for d in dtype.INTEGER} == {f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)}
    assert {d.name for d in dtype.ALL if d.is_unsigned} == {f"uint{n}" for n in (8, 16, 32, 64)}
    assert {d.name for d in dtype.ALL if not d.is_numeric} == {"bool", "string", "resource", "variant"}
    assert dtype.complex64.real_dtype is dtype.float32 and dtype.complex128.real_dtype is dtype.float64
    assert dtype.bool_.is_bool and not dtype.bool_.is_integer
    assert dtype.half is dtype.float16 and dtype.double is dtype.float64


def test_ranges() -> None:
    assert (dtype.int8.min, dtype.int8.max, type(dtype.int8.max)) == (-128, 127, int)
    assert dtype.uint64.max == 2**64 - 1
    assert dtype.float32.max == np.finfo(np.float32).max
    assert dtype.float32.limits == (0, 1) and dtype.uint8.limits == (0, 255)
    for d in (dtype.bool_, dtype.complex64, dtype.string):
        with pytest.raises(TypeError, match="Cannot find minimum value of"):
            _ = d.min
    with pytest.raises(ValueError, match="does not have defined limits"):
        _ = dtype.complex64.limits


@pytest.mark.parametrize(
    ("given", "name"),
    [(float, "float32"), (bool, "bool"), (object, "string"), ("half", "float16"), ("float", "float32"),
     ("double", "float64"), (np.dtype("S3"), "string"), (np.dtype("U3"), "string"), (np.str_, "string"),
     (np.float32, "float32"), (np.dtype("O"), "string")],
)  # fmt: skip
def test_conversions(given: object, name: str) -> None:
    assert dtype.as_dtype(given).name == name  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [int, str, bytes, complex, "f4", "nope", None, [1], np.dtype("datetime64[s]"), 77])
def test_no_conversion(given: object) -> None:
    with pytest.raises(TypeError, match=r"Cannot convert the argument `type_value`: .* to a TensorFlow DType"):
        dtype.as_dtype(given)  # type: ignore[arg-type]
    assert dtype.float32 != given


def test_resource_has_no_array() -> None:
    with pytest.raises(TypeError, match=r"tf.resource has no NumPy dtype"):
        _ = dtype.resource.numpy_dtype
    assert not dtype.resource.is_numpy_compatible and dtype.resource.size == 0 and dtype.string.size == 0
