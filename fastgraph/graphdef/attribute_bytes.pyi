"""Attributes and tensors in the wire format. See attribute_bytes.pyx."""

from collections.abc import Callable
from typing import Any

from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Shape
from fastgraph.core.tensor import EagerTensor
from fastgraph.graph.ir import Graph

SMALL: int

def shape_bytes(shape: Shape) -> bytes:
    """A TensorShapeProto."""

def type_and_shape(dtype: DType, shape: Shape, /) -> bytes:
    """The first fields of a TensorProto and of a DtypeAndShape."""

def tensor_bytes(tensor: EagerTensor, is_one: bool = False, /) -> bytes:
    """A TensorProto: bytes; one value where that `is_one`, or where a large tensor has the same everywhere."""

def attribute_bytes(attr: Any, name_of: Callable[[Graph], str] | None = None, /) -> bytes:
    """An AttrValue; `name_of` says what functions are called there."""

def attributes_bytes(attrs: dict[str, Any], name_of: Callable[[Graph], str] | None = None, /) -> bytes:
    """A map of attributes, which is field 5 of a NodeDef."""

def name_functions(attrs: dict[str, Any], name_of: Callable[[Graph], str], /) -> None:
    """Let the functions among attributes have names, in their order."""
