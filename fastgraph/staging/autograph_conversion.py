"""Converted functions: malt's translator with the operators of autograph_statements.py and autograph_builtins.py."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

from malt.core import converter
from malt.impl import api
from malt.pyct import anno, inspect_utils, qual_names

from fastgraph.graph.ir import SourceLine
from fastgraph.graph.trace import register_origins
from fastgraph.locks import Lock
from fastgraph.staging.autograph_builtins import (
    and_,
    assert_stmt,
    float_,
    if_exp,
    int_,
    len_,
    not_,
    not_eq,
    or_,
    print_,
    range_,
)  # fmt: skip
from fastgraph.staging.autograph_statements import for_stmt, if_stmt, while_stmt

_OPERATORS = (
    if_stmt, while_stmt, for_stmt, if_exp, and_, or_, not_, not_eq, assert_stmt, range_, len_, print_, int_, float_,
)  # fmt: skip


class Converter:
    """Turns Python functions into converted ones, each source once (malt keeps what it made)."""

    def __init__(self) -> None:
        self._translator = _Translator()

    def __call__(self, function: types.FunctionType) -> Callable[..., Any]:
        options = converter.ConversionOptions(recursive=True, user_requested=True, optional_features=())
        converted, _, source_map = self._translator.transform(function, converter.ProgramContext(options=options))
        converted.ag_source_map = source_map
        register_origins(converted.__code__.co_filename, {
            made.lineno: SourceLine(origin.loc.filename, origin.loc.lineno, origin.function_name)
            for made, origin in source_map.items()
        })  # fmt: skip
        return converted  # type: ignore[no-any-return]


class _ExceptionName(str):
    """The name in `except ... as name`, a plain string that malt visits and annotates as if it were a node."""

    _fields = _attributes = ()


class _Translator(api.PyToPy):  # type: ignore[misc]
    """malt's own, but for the meaning of the operators; other users of malt in the process keep theirs."""

    def get_transformed_name(self, node: Any) -> str:
        return "tf__" + str(super().get_transformed_name(node)).removeprefix("ag__")

    def __init__(self) -> None:
        super().__init__()
        # Instead of those that a forked child might find locked.
        self._cache_lock = Lock()
        inspect_utils._linecache_lock = Lock()
        self._names: dict[str, Any] | None = None

    def initial_analysis(self, node: Any, ctx: Any) -> Any:
        for each in ast.walk(node):
            if isinstance(each, ast.ExceptHandler) and each.name is not None:
                each.name = _ExceptionName(each.name)
                anno.setanno(each.name, anno.Basic.QN, qual_names.QN(str(each.name)))
        return super().initial_analysis(node, ctx)

    def get_extra_locals(self) -> dict[str, Any]:
        if self._names is None:
            from fastgraph.staging.autograph import converted_call

            names = super().get_extra_locals()["ag__"].__dict__
            module = types.ModuleType("fastgraph_autograph")
            module.__dict__.update({k: v for k, v in names.items() if k not in ("__name__", "__spec__", "__loader__")})
            module.__dict__.update({operator.__name__: operator for operator in _OPERATORS})
            module.__dict__["converted_call"] = converted_call
            self._names = {"ag__": module}
        return self._names
