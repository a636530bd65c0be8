"""Lines of the user's program: which of them led to a node, and which functions AutoGraph has left as they are.

Rule: a line is the user's if its file lies outside this package and AutoGraph; each is found once for an instruction.
"""

from __future__ import annotations

import os
import sys
import weakref
from types import CodeType
from typing import TYPE_CHECKING

from fastgraph.graph.ir import SourceLine

if TYPE_CHECKING:
    pass


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


_CONVERTER = f"{os.sep}malt{os.sep}"  # AutoGraph's own frames


_MAX_SOURCE_LINES = 8


# By names: code of two files is equal where their text is, and to hash it takes longer than to hash its name.
_internal_files: dict[str, bool] = {}


_lines: dict[tuple[str, int, str], SourceLine] = {}


def is_internal(code: CodeType) -> bool:
    """Return whether code is of this package, or of what it is built with, and not the user's."""
    file = code.co_filename
    known = (
        file.startswith((_PACKAGE, "<frozen", "<fastgraph")) or file.endswith((".pyx", ".pxi")) or _CONVERTER in file
    )
    if len(_internal_files) > 100_000:  # functions made again and again by the user's program
        _internal_files.clear()
    _internal_files[file] = known
    return known


#: Where tracing begins: what is further out in the stack is not part of the traced function.
boundaries: set[CodeType] = set()


_BLOCK = ".<block>"


def block_name(qualname: str) -> str:
    """Return the qualified name of the code of a block, which is part of the function of this name."""
    return qualname if qualname.endswith(_BLOCK) else qualname + _BLOCK


def is_block(code: CodeType) -> bool:
    """Say whether `code` is a block of a function: of a staged statement, which runs in a frame of its own."""
    return code.co_qualname.endswith(_BLOCK)


#: Why AutoGraph has left functions as they are, for errors where a tensor would decide in one.
unconverted: weakref.WeakKeyDictionary[CodeType, str] = weakref.WeakKeyDictionary()


def user_line(code: CodeType, number: int) -> SourceLine | None:
    """Return the line of the user's program that a line of `code` is, None for a line of ours."""
    known = _internal_files.get(code.co_filename)
    if known is None:
        known = is_internal(code)
    if known:
        return None
    key = (code.co_filename, number, code.co_name)
    line = _lines.get(key)
    if line is None:
        if len(_lines) > 100_000:
            _lines.clear()
        line = _lines[key] = SourceLine(code.co_filename, number, code.co_name)
    return line


class _Code:
    """A code object as source_lines remembers it: whether it is ours, and the user's line of each instruction met.

    A code's hash goes through its constants and a frame's line number through its line table, so that both would make
    a function cost the square of its length: codes are found by identity, lines by the instruction.
    """

    __slots__ = ("at", "begins", "block", "code", "internal")

    def __init__(self, code: CodeType) -> None:
        self.code = code  # keeps it, and with it the identity
        self.internal = is_internal(code)
        self.block = is_block(code)
        self.begins = self.internal and code in boundaries
        self.at: dict[int, SourceLine | None] = {}


_codes: dict[int, _Code] = {}


def _code(code: CodeType) -> _Code:
    if len(_codes) > 100_000:
        _codes.clear()
    known = _codes[id(code)] = _Code(code)
    return known


def source_lines(n_frames: int = 2) -> tuple[SourceLine, ...]:
    """Return the innermost lines of the user's code that led here, the innermost first; so many frames are passed."""
    frame = sys._getframe(n_frames)
    found: list[SourceLine] = []
    within = False  # a block of the next function that is met
    while frame is not None:
        code = frame.f_code
        known = _codes.get(id(code)) or _code(code)
        if known.internal:
            if known.begins:
                break
        else:
            lasti = frame.f_lasti
            line = known.at.get(lasti)
            if line is None:
                line = known.at[lasti] = user_line(code, frame.f_lineno)
            if line is not None and not within and (not found or found[-1] is not line):
                found.append(line)
                if len(found) == _MAX_SOURCE_LINES:
                    break
            within = known.block
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(found)
