"""Sources of functions: their syntax trees, with the line numbers of their files.

Rule: a tree is only given for the function that was asked for. Where the text that is to be had does not fit the
function (its name, its parameters, the columns of its code), there is none.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import os
import stat
import sys
import types
from collections.abc import Iterator
from typing import Any

from fastgraph.core.base.locks import parsing


class ConversionError(ValueError):
    """A function that AutoGraph cannot convert. Source: what tf.autograph.to_code raises."""


_MAX_SCRIPT = 10_000_000  # bytes


def definition(function: types.FunctionType) -> ast.FunctionDef | ast.Lambda | None:
    """Return the definition of a function, a tree of the caller's own; None where its text cannot be had."""
    code = function.__code__
    lines = _lines(function)
    if not 0 < code.co_firstlineno <= len(lines):
        return None
    with parsing:
        try:
            if code.co_name == "<lambda>":
                return _lambda(code, tuple(lines))
            return _def(code, lines)
        except (SyntaxError, ValueError, MemoryError):
            return None


def text(node: ast.AST, file: str) -> str:
    """Return the source of a node's first line."""
    return linecache.getline(file, getattr(node, "lineno", 0))


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """All code inside of `code`."""
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from codes(each)


def written(function: types.FunctionType) -> str:
    """Return the lines that hold a function, as far as its code tells where it ends."""
    code = function.__code__
    places = [line for each in (code, *codes(code)) for *_, line in each.co_lines() if line is not None]
    return "".join(_lines(function)[code.co_firstlineno - 1 : max(places, default=0)])


def _lines(function: types.FunctionType) -> list[str]:
    """Return the lines of the file that a function is written in, or of the program that Python was started with."""
    file = function.__code__.co_filename
    if not (file.startswith("<") and file.endswith(">")):
        linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if not lines and function.__globals__.get("__name__") == "__main__":
        program = _program(file)
        if program is not None:
            lines = program.splitlines(keepends=True)
            # So that tracebacks and debuggers show it, as they do from Python 3.13 on.
            linecache.cache[file] = (len(program), None, lines, file)
    return lines


def _program(file: str) -> str | None:
    """Return the program of `python -c`, or the file that is standard input."""
    if file == "<string>":
        arguments = sys.orig_argv
        for position, argument in enumerate(arguments[1:-1], 1):
            if argument.startswith("-") and not argument.startswith("--") and argument.endswith("c"):
                return arguments[position + 1]
    elif file == "<stdin>":
        try:
            if stat.S_ISREG(os.fstat(0).st_mode):
                return os.pread(0, _MAX_SCRIPT, 0).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            pass
    return None


# ---- def ------------------------------------------------------------------------------------------------------------


def _def(code: types.CodeType, lines: list[str]) -> ast.FunctionDef | None:
    start = code.co_firstlineno - 1
    block = "".join(inspect.getblock(lines[start:]))
    indented = block[:1].isspace()
    # Under an `if`, not dedented: strings of several lines stay as they are, and so do the columns.
    tree = ast.parse("if True:\n" + block if indented else block)
    found: Any = tree.body[0].body[0] if indented else tree.body[0]  # type: ignore[attr-defined]
    if not isinstance(found, ast.FunctionDef) or found.name != code.co_name or not _fits(found.args, code):
        return None
    return ast.increment_lineno(found, start - indented)


def _fits(arguments: ast.arguments, code: types.CodeType) -> bool:
    """Say whether these are the parameters of `code`."""
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = [each.arg for each in [*plain, arguments.vararg, arguments.kwarg] if each is not None]
    n_plain = code.co_argcount + code.co_kwonlyargcount
    written = code.co_varnames[: len(names)]
    return len(plain) == n_plain and len(written) == len(names) and all(map(_same_name, names, written))


def _same_name(written: str, compiled: str) -> bool:
    return written == compiled or (written.startswith("__") and compiled.endswith(written))  # mangled in a class


# ---- lambda ---------------------------------------------------------------------------------------------------------


def _lambda(code: types.CodeType, lines: tuple[str, ...]) -> ast.Lambda | None:
    """Return the lambda that starts on this line; of several, the one whose columns the code has."""
    here = [
        node
        for node in ast.walk(_module(lines))
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno and _fits(node.args, code)
    ]
    places = list(_places(code))
    if len(here) > 1 and places:
        first, last = min(start for start, _ in places), max(end for _, end in places)
        here = [node for node in here if _start(node.body) <= first and last <= _end(node.body)]
        # Of lambdas in lambdas the innermost.
        here.sort(key=lambda node: (_start(node.body), [-x for x in _end(node.body)]), reverse=True)
        here = here[:1]
    if not here or any(ast.dump(node) != ast.dump(here[0]) for node in here):
        return None
    found: ast.Lambda = _copied(here[0])
    return found


@functools.lru_cache(maxsize=4)
def _module(lines: tuple[str, ...]) -> ast.Module:
    return ast.parse("".join(lines))


def _places(code: types.CodeType) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The ((line, column), (line, column)) of the instructions that stand for something written."""
    for line, end_line, column, end_column in code.co_positions():
        if None in (line, end_line, column, end_column) or (column, end_column) == (0, 0):
            continue
        yield (line, column), (end_line, end_column)  # type: ignore[misc]


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def _copied(node: object) -> Any:
    """Return a copy of a tree: the one of the module is kept."""
    if isinstance(node, list):
        return [_copied(each) for each in node]
    if not isinstance(node, ast.AST):
        return node
    # The fields of its class: malt enters its notes among those of the nodes that Python shares (ast.Load).
    fields = [name for name in type(node)._fields if hasattr(node, name)]
    new = type(node)(**{name: _copied(getattr(node, name)) for name in fields})
    return ast.copy_location(new, node)
