"""Python's operators on ragged tensors: each applies the public function of its name.

Rule: nothing is computed here; what ops do to a RaggedTensor is in ragged_ops.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core import registry as primitives
from fastgraph.errors import InvalidArgumentError


def _operator(name: str, reflected: bool = False) -> Any:
    """The method that applies the public function `name`."""

    def operate(self: Any, other: object) -> Any:
        function = primitives.public_function(name)
        return function(other, self) if reflected else function(self, other)

    return operate


def _unary(name: str) -> Any:
    return lambda self: primitives.public_function(name)(self)


def _logical(name: str, reflected: bool = False) -> Any:
    """The logical operator of bools, that of their bits of integers."""

    def operate(self: Any, other: object) -> Any:
        full = f"math.logical_{name}" if self.dtype.is_bool else f"bitwise.bitwise_{name}"
        function = primitives.public_function(full)
        return function(other, self) if reflected else function(self, other)

    return operate


def _equality(name: str, unlike: bool) -> Any:
    """Element by element; of what no rows can be matched with, as a whole."""

    def operate(self: Any, other: object) -> Any:
        if other is None:
            return unlike
        try:
            return primitives.public_function(name)(self, other)
        except (ValueError, TypeError, InvalidArgumentError):
            return unlike

    return operate


class RaggedOperators:
    """The operators, as a base of RaggedTensor."""

    __slots__ = ()


_BINARY = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "math.truediv", "div": "math.truediv"} | {
    "floordiv": "math.floordiv",
    "mod": "math.mod",
    "pow": "pow",
}
for _method, _public in _BINARY.items():
    setattr(RaggedOperators, f"__{_method}__", _operator(_public))
    setattr(RaggedOperators, f"__r{_method}__", _operator(_public, reflected=True))
for _method in ("and", "or", "xor"):
    setattr(RaggedOperators, f"__{_method}__", _logical(_method))
    setattr(RaggedOperators, f"__r{_method}__", _logical(_method, reflected=True))
for _method, _public in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.items():
    setattr(RaggedOperators, f"__{_method}__", _operator(f"math.{_public}"))
for _method, _public in {"neg": "negative", "abs": "abs", "invert": "math.logical_not"}.items():
    setattr(RaggedOperators, f"__{_method}__", _unary(_public))
RaggedOperators.__eq__ = _equality("math.equal", unlike=False)  # type: ignore[method-assign]
RaggedOperators.__ne__ = _equality("math.not_equal", unlike=True)  # type: ignore[method-assign]
