"""Converted functions: the code that malt makes of a text, bound to each function that has this text.

Rule: malt is loaded where no process before has converted the same function; see `kept`.
"""

from __future__ import annotations

import types
import weakref
from typing import Any, NamedTuple

from fastgraph.core.base.locks import importing, parsing
from fastgraph.graph.source_lines import is_block, is_internal
from fastgraph.staging.autograph import calls, conversion_cache, pattern_matching, source_code
from fastgraph.staging.autograph.block_state import Undefined, UndefinedReturnValue, ldu
from fastgraph.staging.autograph.builtins import float_, int_, len_, print_, range_
from fastgraph.staging.autograph.expressions import (
    Attributes,
    and_,
    assert_stmt,
    if_exp,
    item,
    ld,
    not_,
    not_eq,
    or_,
    slots,
)
from fastgraph.staging.autograph.iterables import known_rows, rows_of, unpacked, unpacked_around
from fastgraph.staging.autograph.statements import for_stmt, if_stmt, ret, while_stmt

_OPERATORS = (
    if_stmt, while_stmt, for_stmt, if_exp, and_, or_, not_, not_eq, assert_stmt, range_, len_, print_, int_, float_,
    ret, ld, ldu, Undefined, UndefinedReturnValue, rows_of, known_rows, unpacked, unpacked_around, item, slots,
    Attributes,
)  # fmt: skip
_MATCHING = (
    pattern_matching.in_, pattern_matching.not_in, pattern_matching.matches_sequence,
    pattern_matching.matches_mapping, pattern_matching.rest_of_mapping, pattern_matching.matches_class,
    pattern_matching.matched_attribute,
)  # fmt: skip
_CALLS = (calls.callee, calls.attribute, calls.operate, calls.augment, calls.context, calls.raise_)


class Scope(NamedTuple):
    """Names that stand round a block of a converted function."""

    outer: frozenset[str]  # those of functions round what is converted
    free: frozenset[str]  # those of functions round the one that the block is of
    parameters: frozenset[str]  # of the converted function and those in it


def _scopes(factory: types.CodeType) -> dict[types.CodeType, Scope]:
    """Return what stands round each code in the factory of a converted function."""
    outer = frozenset(factory.co_freevars)
    functions = [code for code in source_code.codes(factory) if not is_block(code) and not is_internal(code)]
    parameters = frozenset(
        name for code in functions for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    )
    found: dict[types.CodeType, Scope] = {}

    def note(code: types.CodeType, free: frozenset[str]) -> None:
        for each in code.co_consts:
            if isinstance(each, types.CodeType):
                own = free if is_block(each) or is_internal(each) else frozenset(each.co_freevars)
                found[each] = Scope(outer, own, parameters)
                note(each, own)

    note(factory, outer)
    return found


class Converter:
    """Turns Python functions into converted ones."""

    def __init__(self) -> None:
        self._translator: Any = None
        self._names: dict[bool, types.ModuleType] = {}
        # By the file as well: code is equal to code of the same text at the same lines elsewhere.
        self._factories: weakref.WeakKeyDictionary[types.CodeType, dict[str, types.CodeType]] = (
            weakref.WeakKeyDictionary()
        )
        self._own: weakref.WeakKeyDictionary[types.CodeType, Scope] = weakref.WeakKeyDictionary()

    def made(self, code: types.CodeType) -> bool:
        """Say whether this is converted code."""
        return code in self._own

    def scope_of(self, code: types.CodeType) -> Scope | None:
        """Return the names round converted code, None for other code."""
        return self._own.get(code)

    def __call__(self, function: types.FunctionType, recursive: bool = True) -> types.FunctionType:
        """Return `function` converted, and what it calls if `recursive`. Raises ConversionError without its source."""
        file = function.__code__.co_filename
        factory = self._factories.get(function.__code__, {}).get(file)
        if factory is None:
            factory = conversion_cache.factory(function, self._factory)
            with parsing:
                self._factories.setdefault(function.__code__, {})[file] = factory
                self._own.update(_scopes(factory))
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

    def _factory(self, function: types.FunctionType) -> conversion_cache.Made:
        translator = self._malt()
        with parsing:
            made: conversion_cache.Made = translator.factory(function)
        return made

    def _malt(self) -> Any:
        with importing:
            if self._translator is None:
                import importlib.util  # malt uses it without importing it

                from fastgraph.staging.autograph import malt_passes

                assert importlib.util is not None
                self._translator = malt_passes.Translator()
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
