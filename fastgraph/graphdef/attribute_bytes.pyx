"""Attributes and tensors in the wire format: what messages AttrValue, TensorShapeProto and TensorProto say.

Rule: bytes are made from values, and messages, where somebody looks at one, from the bytes.
"""

import functools
import struct

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint64_t

import numpy as np

from fastgraph.core.tensor cimport EagerTensor, tensor_array
from fastgraph.graphdef.node_bytes cimport Bytes

from fastgraph.core.base.dtype import DType
from fastgraph.graph.ir import Graph
from fastgraph.graphdef.node_bytes import field, remembered, varint
from fastgraph.graphdef.op_table import Dims, One

#: Constants of more elements than these are written once where all are alike.
SMALL = 128

#: The number of the field that has the elements of a TensorProto one by one, and how one of them is packed.
_VALUES = {
    "float16": (13, ""), "bfloat16": (13, ""), "float32": (5, "<f"), "float64": (6, "<d"), "int64": (10, ""),
    "bool": (11, ""), "uint32": (16, ""), "uint64": (17, ""), "string": (8, ""),
}  # fmt: skip
_INTS = (7, "")


@functools.lru_cache(4096)
def shape_bytes(shape):
    """A TensorShapeProto."""
    if shape is None:
        return b"\x18\x01"
    return b"".join([_dim(size) for size in shape])


cdef bytes _dim(size):
    if size is None:
        size = -1
    return field(2, b"\x08" + varint(size)) if size else b"\x12\x00"


cdef dict _HEADS = {}


def type_and_shape(dtype, shape, /):
    """The first fields of a TensorProto and of a DtypeAndShape."""
    key = dtype.code, shape
    found = _HEADS.get(key)
    if found is None:
        found = remembered(_HEADS, key, b"\x08" + varint(dtype.code) + field(2, shape_bytes(shape)))
    return found


def tensor_bytes(EagerTensor tensor not None, bint is_one=False, /):
    """A TensorProto: bytes; one value where that `is_one`, or where a large tensor has the same everywhere."""
    array, dtype = tensor_array(tensor), tensor.dtype
    head, n = type_and_shape(dtype, array.shape), array.size
    if dtype.is_complex or not n:
        return head + (field(4, array.tobytes()) if n else b"")
    number, packing = _VALUES.get(dtype.name, _INTS)
    if n == 1 or ((is_one or n > SMALL) and _is_one_number(array.reshape(-1))):
        if number == 13:
            array = array.view(np.uint16)
        value = array.reshape(-1)[:1].item()
        if number == 8:
            return head + field(8, bytes(value))
        return head + field(number, struct.pack(packing, value) if packing else varint(value))
    if number == 8:
        return head + b"".join([field(8, bytes(each)) for each in array.reshape(-1)])
    return head + field(4, array.tobytes())


cdef bint _is_one_number(flat):
    """True if all elements are the same, zeros of either sign apart."""
    return bool((flat == flat[0]).all()) and (
        flat.dtype.kind not in "fV" or flat[0] != 0 or len(set(np.signbit(flat).tolist())) == 1
    )


cdef int _content(Bytes out, attr, name_of) except -1:
    """Append what an attribute is; the number of the field of an AttrValue or ListValue that it is in."""
    cdef bytes found
    cdef int number = 8
    kind = type(attr)
    if kind is DType:
        out.number(attr.code)
        return 6
    if kind is bool:
        out.number(1 if attr else 0)
        return 5
    if isinstance(attr, int):
        out.number(<uint64_t> (attr & 0xffffffffffffffff))
        return 3
    if kind is Dims:
        found = shape_bytes((<tuple> attr)[0])
        number = 7
    elif isinstance(attr, str):
        out.put_text(attr)
        return 2
    elif isinstance(attr, EagerTensor):
        found = tensor_bytes(attr)
    elif isinstance(attr, float):
        found = struct.pack("<f", attr)
        number = 4
    elif isinstance(attr, One):
        found = tensor_bytes(attr.tensor, True)
    elif isinstance(attr, Graph):
        out.text(1, attr.name if name_of is None else name_of(attr))
        return 10
    else:
        found = attr if isinstance(attr, bytes) else repr(attr).encode()
        number = 2
    out.put(PyBytes_AS_STRING(found), PyBytes_GET_SIZE(found))
    return number


cdef int _value(Bytes out, attr, name_of, Bytes one, Bytes many) except -1:
    """Append an AttrValue; `one` and `many` are room for its parts."""
    cdef int number = 0
    one.size = many.size = 0
    if type(attr) is tuple and all([isinstance(each, int) for each in attr]):
        attr = [int(each) for each in attr]
    if not isinstance(attr, list):
        number = _content(one, attr, name_of)
        if 3 <= number <= 6:
            out.number(number << 3 | (5 if number == 4 else 0))
            return out.add(one)
        return out.field(number, one.data, one.size)
    for each in attr:
        number = _content(one, each, name_of)
        if not 3 <= number <= 6:  # numbers are packed
            many.field(9 if number == 10 else number, one.data, one.size)  # functions have another number in lists
            one.size = 0
    if 3 <= number <= 6:
        many.field(number, one.data, one.size)
    return out.field(1, many.data, many.size)


def attribute_bytes(attr, name_of=None, /):
    """An AttrValue; `name_of` says what functions are called there."""
    cdef Bytes out = Bytes()
    _value(out, attr, name_of, Bytes(), Bytes())
    return out.whole()


def attributes_bytes(dict attrs, name_of=None, /):
    """A map of attributes, which is field 5 of a NodeDef."""
    cdef Bytes out = Bytes(), entry = Bytes(), value = Bytes(), one = Bytes(), many = Bytes()
    for name in sorted(attrs):
        value.size = entry.size = 0
        _value(value, attrs[name], name_of, one, many)
        entry.text(1, name)
        entry.field(2, value.data, value.size)
        out.field(5, entry.data, entry.size)
    return out.whole()


def name_functions(dict attrs, name_of, /):
    """Let the functions among attributes have names, in their order."""
    for value in attrs.values():
        if type(value) is list:
            for each in <list> value:
                if isinstance(each, Graph):
                    name_of(each)
        elif isinstance(value, Graph):
            name_of(value)
