"""DType: the element types of tensors, one object each.

Rule: a DType is a singleton: inside, compare with `is`; `==` also takes names, NumPy dtypes and TensorFlow's numbers.
"""

from __future__ import annotations

from typing import Any, Union

import numpy as np

from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.read_only import ReadOnly

#: Types whose NumPy dtypes ml_dtypes has, which is imported when the first such array is made: their bytes.
_OF_ML_DTYPES = {
    "bfloat16": 2, "float8_e5m2": 1, "float8_e4m3fn": 1, "float8_e4m3fnuz": 1, "float8_e4m3b11fnuz": 1,
    "float8_e5m2fnuz": 1, "int4": 1, "uint4": 1, "int2": 1, "uint2": 1, "float4_e2m1fn": 1,
}  # fmt: skip
_KINDS = {"float": "f", "bfloat": "f", "int": "i", "uint": "u", "bool": "b", "complex": "c"}


@without(
    {
        "tf.saved_model.save, or pickle": "experimental_as_proto experimental_from_proto experimental_type_proto",
        "tf.cast, or the signature of a tf.function": "cast flatten from_tensors placeholder_value to_tensors",
    }
)
class DType:
    """The type of a tensor's elements.

    `name` is TensorFlow's name, `code` (also `as_datatype_enum`) its number in the enum DataType, `size` the bytes of
    one element (0 for string, resource and variant); `is_quantized`: whether elements are steps of a range that is kept
    beside them. Source: tf.dtypes.DType.
    """

    __slots__ = (
        "_numpy", "code", "is_bool", "is_complex", "is_floating", "is_integer", "is_quantized", "is_unsigned", "name",
        "size",
    )  # fmt: skip

    name: str
    code: int
    size: int
    is_floating: bool
    is_integer: bool
    is_unsigned: bool
    is_complex: bool
    is_bool: bool
    is_quantized: bool

    def __init__(self, name: str, code: int, numpy_name: str | None) -> None:
        kind = _KINDS.get(name.partition("_")[0].rstrip("0123456789"), "")
        self.name = name
        self.code = code
        self._numpy: np.dtype[Any] | None = None
        self.size = 0
        if name in _OF_ML_DTYPES:
            self.size = _OF_ML_DTYPES[name]
        elif numpy_name is not None:
            self._numpy = np.dtype([(name, numpy_name)] if name[0] == "q" else numpy_name)
            self.size = 0 if numpy_name == "O" else self._numpy.itemsize
        self.is_floating = kind == "f"
        self.is_integer = kind in ("i", "u")
        self.is_unsigned = kind == "u"
        self.is_complex = kind == "c"
        self.is_bool = kind == "b"
        self.is_quantized = name.startswith("q")

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The dtype of NumPy arrays with these elements (object for string). TypeError for resource and variant."""
        if self._numpy is None:
            if self.name not in _OF_ML_DTYPES:
                raise TypeError(f"{self!r} has no NumPy dtype.")
            import ml_dtypes

            self._numpy = np.dtype(getattr(ml_dtypes, self.name))
        return self._numpy

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """The NumPy scalar type of these elements (`object` for string, of quantised ones the NumPy dtype).

        TypeError for resource and variant.
        """
        if self.is_quantized:
            return self.numpy_dtype  # type: ignore[return-value]
        return object if self is string else self.numpy_dtype.type

    as_datatype_enum = ReadOnly[int]("code", "TensorFlow's number of this type.")

    @property
    def is_numeric(self) -> bool:
        """True if these elements are numbers; bool is not."""
        return self.is_floating or self.is_integer or self.is_complex

    @property
    def is_numpy_compatible(self) -> bool:
        """True if a NumPy array can hold these elements."""
        return self._numpy is not None or self.name in _OF_ML_DTYPES

    @property
    def plain(self) -> np.dtype[Any]:
        """The dtype of NumPy arrays as users see them: of quantised elements that of their numbers."""
        return self.numpy_dtype[0] if self.is_quantized else self.numpy_dtype

    @property
    def base_dtype(self) -> DType:
        """This type itself; TensorFlow 1 had reference types besides."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The type of the real part: float32 for complex64, float64 for complex128, else this type."""
        return {complex64: float32, complex128: float64}.get(self, self)

    @property
    def min(self) -> Any:
        """The least finite value. TypeError if these are not real numbers."""
        return self._range("minimum").min

    @property
    def max(self) -> Any:
        """The greatest finite value. TypeError if these are not real numbers."""
        return self._range("maximum").max

    @property
    def limits(self) -> tuple[Any, Any]:
        """Least and greatest intensity of an image with these elements: (0, 1) for floats, (0, max) for integers."""
        if self is float32 or self is float64:
            return 0, 1
        if self.is_bool:
            return 0, True
        if self.is_integer:
            return 0, self.max
        raise ValueError(f"{self} does not have defined limits.")

    def _range(self, what: str) -> Any:
        if self.is_quantized:
            raise TypeError(f"Cannot find {what} value of {self} with quantized type {self}.")
        if self.is_integer:
            return _IntegerRange(_info(self))
        if not self.is_floating:
            raise TypeError(f"Cannot find {what} value of {self} with type {self}.")
        if self.name in _OF_ML_DTYPES:
            import ml_dtypes

            return ml_dtypes.finfo(self.numpy_dtype)  # type: ignore[no-untyped-call]
        return np.finfo(self.numpy_dtype)

    def is_compatible_with(self, other: DTypeLike) -> bool:
        """Return whether a tensor of type `other` can stand where this type is wanted."""
        return as_dtype(other) is self

    def is_subtype_of(self, other: DType) -> bool:
        """Return whether `other` is this type."""
        return other is self

    def most_specific_common_supertype(self, types: Any) -> DType | None:
        """This type if all `types` are this type, else None."""
        return self if all(each is self for each in types) else None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return as_dtype(other) is self  # type: ignore[arg-type]
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self.code

    def __int__(self) -> int:
        return self.code

    def __repr__(self) -> str:
        return "tf." + self.name

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


class _IntegerRange:
    """Least and greatest value of an integer type as Python ints."""

    def __init__(self, info: Any) -> None:
        self.min = int(info.min)
        self.max = int(info.max)


def _info(dtype: DType) -> Any:
    if dtype.name not in _OF_ML_DTYPES:
        return np.iinfo(dtype.numpy_dtype)
    import ml_dtypes

    return ml_dtypes.iinfo(dtype.numpy_dtype)  # type: ignore[no-untyped-call]


DTypeLike = Union[DType, str, int, type, "np.dtype[Any]"]

float32 = DType("float32", 1, "float32")
float64 = DType("float64", 2, "float64")
int32 = DType("int32", 3, "int32")
uint8 = DType("uint8", 4, "uint8")
int16 = DType("int16", 5, "int16")
int8 = DType("int8", 6, "int8")
string = DType("string", 7, "O")
complex64 = DType("complex64", 8, "complex64")
int64 = DType("int64", 9, "int64")
bool_ = DType("bool", 10, "bool")
bfloat16 = DType("bfloat16", 14, None)
uint16 = DType("uint16", 17, "uint16")
complex128 = DType("complex128", 18, "complex128")
float16 = DType("float16", 19, "float16")
resource = DType("resource", 20, None)
variant = DType("variant", 21, None)
uint32 = DType("uint32", 22, "uint32")
uint64 = DType("uint64", 23, "uint64")
float8_e5m2 = DType("float8_e5m2", 24, None)
float8_e4m3fn = DType("float8_e4m3fn", 25, None)
qint8 = DType("qint8", 11, "int8")
quint8 = DType("quint8", 12, "uint8")
qint32 = DType("qint32", 13, "int32")
qint16 = DType("qint16", 15, "int16")
quint16 = DType("quint16", 16, "uint16")
float8_e4m3fnuz = DType("float8_e4m3fnuz", 26, None)
float8_e4m3b11fnuz = DType("float8_e4m3b11fnuz", 27, None)
float8_e5m2fnuz = DType("float8_e5m2fnuz", 28, None)
int4 = DType("int4", 29, None)
uint4 = DType("uint4", 30, None)
int2 = DType("int2", 31, None)
uint2 = DType("uint2", 32, None)
float4_e2m1fn = DType("float4_e2m1fn", 33, None)
half = float16
double = float64

ALL = (
    float32, float64, int32, uint8, int16, int8, string, complex64, int64, bool_, bfloat16, uint16, complex128, float16,
    resource, variant, uint32, uint64,
)  # fmt: skip
INTEGER = tuple(d for d in ALL if d.is_integer)
#: Types that numbers are cast to and from, and that no op computes in.
QUANTIZED = (qint8, quint8, qint32, qint16, quint16)
STORED = (
    float8_e5m2, float8_e4m3fn, float8_e4m3fnuz, float8_e4m3b11fnuz, float8_e5m2fnuz, int4, uint4, int2, uint2,
    float4_e2m1fn, *QUANTIZED,
)  # fmt: skip
QUANTIZED_DTYPES = frozenset(QUANTIZED)

_BY_CODE: dict[int, DType] = {d.code: d for d in (*ALL, *STORED)}
_BY_ANY: dict[Any, DType] = {d.name: d for d in (*ALL, *STORED)}  # names, NumPy dtypes, scalar types, Python types
_BY_ANY |= {"half": float16, "float": float32, "double": float64, float: float32, bool: bool_, object: string}
_BY_ANY |= {np.str_: string, np.bytes_: string, np.object_: string}
_BY_ANY |= {d.numpy_dtype: d for d in (*ALL, *QUANTIZED) if d._numpy is not None}
_BY_ANY |= {d.numpy_dtype.type: d for d in ALL if d._numpy is not None and d is not string}


def as_dtype(type_value: DTypeLike) -> DType:
    """Return the DType that a DType, a name, a NumPy dtype or scalar type, or TensorFlow's number stands for.

    Raises TypeError for what is none of these. Source: tf.as_dtype (which refuses the Python types int and complex).
    """
    if isinstance(type_value, DType):
        return type_value
    try:
        found = _BY_ANY.get(type_value)
    except TypeError:  # unhashable
        found = None
    if found is not None:
        return found
    if isinstance(type_value, int) and type_value in _BY_CODE:
        return _BY_CODE[type_value]
    if isinstance(type_value, np.dtype):
        if type_value.kind in "SU":
            return string
        if type_value.name in _OF_ML_DTYPES:
            return _BY_ANY[type_value.name]
        native = _BY_ANY.get(type_value.newbyteorder("="))
        if native is not None:
            return native
    if isinstance(type_value, type) and type_value.__module__ == "ml_dtypes" and type_value.__name__ in _OF_ML_DTYPES:
        return _BY_ANY[type_value.__name__]
    if type_value is np.longlong:  # C's other name for 64 bits, or for 32
        return _BY_ANY[np.dtype(type_value)]
    raise TypeError(f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType.")


def from_code(code: int) -> DType:
    """Return the DType with TensorFlow's number `code`. Raises KeyError if there is none."""
    return _BY_CODE[code]
