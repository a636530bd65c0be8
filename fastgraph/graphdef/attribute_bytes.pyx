"""Attributes and tensors in the wire format: what messages AttrValue, TensorShapeProto and TensorProto say.

Rule: bytes are made from values, and messages, where somebody looks at one, from the bytes.
"""

import functools
import struct

import numpy as np

from fastgraph.core.tensor cimport EagerTensor, tensor_array

from fastgraph.core.base.dtype import DType
from fastgraph.graph.ir import Graph
from fastgraph.graphdef.node_bytes import field, remembered, text_field, varint
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


def type_and_shape(dtype, shape):
    """The first fields of a TensorProto and of a DtypeAndShape."""
    key = dtype.code, shape
    found = _HEADS.get(key)
    if found is None:
        found = remembered(_HEADS, key, b"\x08" + varint(dtype.code) + field(2, shape_bytes(shape)))
    return found


def tensor_bytes(EagerTensor tensor not None, bint is_one=False):
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


cdef tuple _single(attr, name_of):
    """The field of an AttrValue or ListValue that an attribute is in, and its bytes there."""
    if isinstance(attr, EagerTensor):
        return 8, tensor_bytes(attr)
    if isinstance(attr, DType):
        return 6, varint(attr.code)
    if isinstance(attr, bool):
        return 5, varint(attr)
    if isinstance(attr, int):
        return 3, varint(attr)
    if isinstance(attr, float):
        return 4, struct.pack("<f", attr)
    if isinstance(attr, str):
        return 2, attr.encode()
    if isinstance(attr, Dims):
        return 7, shape_bytes(attr.shape)
    if isinstance(attr, One):
        return 8, tensor_bytes(attr.tensor, True)
    if isinstance(attr, Graph):
        return 10, text_field(1, attr.name if name_of is None else name_of(attr))
    return 2, attr if isinstance(attr, bytes) else repr(attr).encode()


def attribute_bytes(attr, name_of=None):
    """An AttrValue; `name_of` says what functions are called there."""
    cdef int number
    cdef list pairs
    cdef bytes content
    if type(attr) is tuple and all([isinstance(each, int) for each in attr]):
        attr = [int(each) for each in attr]
    if isinstance(attr, list):
        pairs = [_single(each, name_of) for each in attr]
        if not pairs:
            return b"\x0a\x00"
        number = (<tuple> pairs[0])[0]
        if 3 <= number <= 6:  # numbers are packed
            return field(1, field(number, b"".join([(<tuple> each)[1] for each in pairs])))
        number = 9 if number == 10 else number  # functions have another number in lists
        return field(1, b"".join([field(number, (<tuple> each)[1]) for each in pairs]))
    number, content = _single(attr, name_of)
    if 3 <= number <= 6:
        return bytes([number << 3 | (5 if number == 4 else 0)]) + content
    return field(number, content)


#: Attributes in the wire format, of values that many nodes have.
cdef dict _ENTRIES = {}
_FEW = (DType, bool, int, str, bytes, Dims)


cdef bytes _constant(dict attrs):
    """The attributes of a constant, which every other node is: its dtype and value."""
    dtype = attrs["dtype"]
    known = _ENTRIES.get(dtype.code)
    if known is None:
        known = _ENTRIES[dtype.code] = field(5, b"\x0a\x05dtype" + field(2, attribute_bytes(dtype)))
    value = attrs["value"]
    content = tensor_bytes(value) if type(value) is EagerTensor else tensor_bytes(value.tensor, True)
    return known + field(5, b"\x0a\x05value" + field(2, field(8, content)))


def attributes_bytes(dict attrs, name_of=None):
    """A map of attributes, which is field 5 of a NodeDef."""
    cdef list parts = []
    if len(attrs) == 2 and type(attrs.get("value")) in (EagerTensor, One) and type(attrs.get("dtype")) is DType:
        return _constant(attrs)
    for name in sorted(attrs):
        value = attrs[name]
        key = known = None
        if type(value) is list:  # of dtypes or shapes, one like another
            if all([type(each) is DType or type(each) is Dims for each in value]):
                key = name, list, tuple(value)
        elif isinstance(value, _FEW) and (type(value) is not bytes or len(value) < SMALL):
            key = name, type(value), value
        if key is not None:
            known = _ENTRIES.get(key)
        if known is None:
            known = field(5, text_field(1, name) + field(2, attribute_bytes(value, name_of)))
            if key is not None:
                remembered(_ENTRIES, key, known)
        parts.append(known)
    return b"".join(parts)


def name_functions(dict attrs, name_of):
    """Let the functions among attributes have names, in their order."""
    for value in attrs.values():
        if type(value) is list:
            for each in <list> value:
                if isinstance(each, Graph):
                    name_of(each)
        elif isinstance(value, Graph):
            name_of(value)
