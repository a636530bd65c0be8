"""Converted functions: the code that malt makes of a text, bound to each function that has this text.

Rule: malt is loaded where no process before has converted the same function; see `kept`.
"""

from __future__ import annotations

import types
import weakref
from typing import Any

from fastgraph.locks import importing, parsing
from fastgraph.staging.autograph import calls, kept, matching, sources
from fastgraph.staging.autograph.builtins import (
    Attributes,
    and_,
    assert_stmt,
    float_,
    if_exp,
    int_,
    item,
    joined,
    joined_tuple,
    len_,
    not_,
    not_eq,
    or_,
    print_,
    range_,
    slots,
)  # fmt: skip
from fastgraph.staging.autograph.iterables import known_rows, rows_of, unpacked
from fastgraph.staging.autograph.left import Deleting, settle, whole, wholes
from fastgraph.staging.autograph.state import Undefined, UndefinedReturnValue, ld, ldu, part
from fastgraph.staging.autograph.statements import for_stmt, if_stmt, ret, while_stmt
from fastgraph.staging.autograph.unpacking import unpacked_around, unpacked_to

_OPERATORS = (
    if_stmt, while_stmt, for_stmt, if_exp, and_, or_, not_, not_eq, assert_stmt, range_, len_, print_, int_, float_,
    ret, ld, ldu, Undefined, UndefinedReturnValue, rows_of, known_rows, unpacked, unpacked_to, unpacked_around, item,
    slots, Attributes, joined, joined_tuple, part, settle, whole, wholes, Deleting,
)  # fmt: skip
_MATCHING = (
    matching.in_, matching.not_in, matching.matches_sequence,
    matching.matches_mapping, matching.rest_of_mapping, matching.matches_class,
    matching.matched_attribute, matching.raise_if_of_staging,
)  # fmt: skip
_CALLS = (calls.callee, calls.attribute, calls.operate, calls.augment, calls.context, calls.raise_)


class Converter:
    """Turns Python functions into converted ones."""

    def __init__(self) -> None:
        self._translator: Any = None
        self._names: dict[bool, types.ModuleType] = {}
        # By the file as well: code is equal to code of the same text at the same lines elsewhere.
        self._factories: weakref.WeakKeyDictionary[types.CodeType, dict[str, types.CodeType]] = (
            weakref.WeakKeyDictionary()
        )
        self._own: weakref.WeakSet[types.CodeType] = weakref.WeakSet()

    def made(self, code: types.CodeType) -> bool:
        """Say whether this is converted code."""
        return code in self._own

    def __call__(self, function: types.FunctionType, recursive: bool = True) -> types.FunctionType:
        """Return `function` converted, and what it calls if `recursive`. Raises ConversionError without its source."""
        file = function.__code__.co_filename
        factory = self._factories.get(function.__code__, {}).get(file)
        if factory is None:
            factory = kept.factory(function, self._factory)
            with parsing:
                self._factories.setdefault(function.__code__, {})[file] = factory
                self._own.update(sources.codes(factory))
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        closure = tuple(cells[name] for name in factory.co_freevars)
        make = types.FunctionType(factory, function.__globals__, closure=closure)
        converted: types.FunctionType = make(self.operators(recursive))
        converted.__defaults__ = function.__defaults__
        converted.__kwdefaults__ = function.__kwdefaults__
        converted.__name__, converted.__qualname__ = function.__name__, function.__qualname__
        converted.__module__, converted.__doc__ = function.__module__, function.__doc__
        return converted

    def code(self, function: types.FunctionType, recursive: bool = True) -> str:
        """Return the text of the converted function. Raises ConversionError without its source."""
        translator = self._malt()
        with parsing:  # malt, too, converts one function at a time
            return str(translator.code(function, recursive))

    def _factory(self, function: types.FunctionType) -> kept.Made:
        translator = self._malt()
        with parsing:
            made: kept.Made = translator.factory(function)
        return made

    def _malt(self) -> Any:
        with importing:
            if self._translator is None:
                import importlib.util  # malt uses it without importing it

                from fastgraph.staging.autograph import conversion

                assert importlib.util is not None
                self._translator = conversion.Translator()
            return self._translator

    def operators(self, recursive: bool) -> types.ModuleType:
        """Return what `ag__` stands for."""
        if recursive not in self._names:
            module = types.ModuleType("fastgraph_autograph")
            module.__dict__.update({operator.__name__: operator for operator in (*_OPERATORS, *_MATCHING, *_CALLS)})
            module.__dict__["__getattr__"] = lambda name: getattr(self._malt().names(), name)  # what malt alone has
            if not recursive:
                module.__dict__["callee"] = calls.overloaded
            self._names[recursive] = module
        return self._names[recursive]
