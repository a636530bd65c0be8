"""Errors of traced functions, told in terms of the user's own lines.

Rule: the class of an exception stays, and what it knows. Its text changes where the class shows what it is given; else
the lines are a note. A traceback shows the user's frames, and those of this package only where it is asked for.
"""

from __future__ import annotations

import functools
import linecache
import types
from collections.abc import Callable
from typing import Any, TypeVar

from fastgraph.core import op_errors
from fastgraph.core.base import gc_pause
from fastgraph.core.tensor import current_trace
from fastgraph.errors import OpError
from fastgraph.graph.source_lines import boundaries, is_block, user_line
from fastgraph.staging import autograph

_HEAD = "in user code:"
_MAX_LINES = 20  # at either end of a deep recursion
_Callable = TypeVar("_Callable", bound=Callable[..., Any])


def in_user_code(error: Exception) -> Exception | None:
    """Return `error` with the user's lines that led to it in its text; None if they are a note now, or none are known.

    Source: the errors that tf.function raises while it traces.
    """
    text = error.message if isinstance(error, OpError) else str(error)
    if text.startswith(_HEAD) or any(note.startswith(_HEAD) for note in getattr(error, "__notes__", ())):
        return None
    lines = _user_lines(error.__traceback__)
    if not lines:
        return None
    told = f"{_HEAD}\n\n" + "\n".join(lines)
    body = "\n".join(f"    {line}" if line else "" for line in f"{type(error).__name__}: {text}".split("\n"))
    new = _remade(error, f"{told}\n\n{body}\n")
    if new is None:
        error.add_note(told)
    return new


class _Said(str):
    """The text of a KeyError, which shows what it was made from as Python writes it: quoted, on one line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


#: Attributes of Python's own exceptions besides their arguments, with which their texts are other ones.
_FIELDS = ("name", "obj", "path", "value", "errno", "strerror", "filename")


def _remade(error: Exception, message: str) -> Exception | None:
    """Return an exception of the class of `error`, and with what it knows, that has another text.

    None where the class does not allow that: it makes its text from what it knows.
    """
    kind = type(error)
    try:
        if isinstance(error, OpError):
            new: Exception = kind(None, None, message)
        else:  # without its __init__, which may want anything
            new = kind.__new__(kind)
            new.args = (_Said(message) if isinstance(error, KeyError) else message,)
            for name in _FIELDS:
                if (value := getattr(error, name, None)) is not None:
                    setattr(new, name, value)
        for name, value in vars(error).items():
            if not hasattr(new, name):
                setattr(new, name, value)
        if not str(new).startswith(_HEAD):
            return None
    except Exception:
        return None
    return new.with_traceback(error.__traceback__)


def _user_lines(traceback: types.TracebackType | None) -> list[str]:
    """The lines of the user's code on the way to an error, from the traced function on.

    One star stands for functions that AutoGraph converts (or has no need to), two for a function that it leaves as it
    is, and none for what that one calls.
    """
    found: list[str] = []
    converted = True  # the function around
    for entry, begins in _user_entries(traceback):
        code = entry.tb_frame.f_code
        line = user_line(code, entry.tb_lineno)
        assert line is not None
        if autograph.leaves(code, str(entry.tb_frame.f_globals.get("__name__", ""))):
            if begins and not found:  # AutoGraph has no part in what follows
                return []
            mark = "  **" if converted and not begins else ""
            converted = False
        else:
            converted = converted or begins or autograph.is_converted(code)
            mark = "  *" if converted else ""
        text = f'    File "{line.file}", line {line.line}, in {line.function}{mark}'
        source = linecache.getline(line.file, line.line).strip()
        found.append(f"{text}\n        {source}" if source else text)
    if len(found) > 2 * _MAX_LINES:
        left_out = f"    [{len(found) - 2 * _MAX_LINES} more calls]"
        found[_MAX_LINES:-_MAX_LINES] = [left_out]
    return found


def _user_entries(traceback: types.TracebackType | None) -> list[tuple[types.TracebackType, bool]]:
    """The parts of a traceback that are the user's, each function with the line that it had come to.

    A staged statement's block runs in a frame of its own: the frame around it stands at the statement, and is left out.
    True stands with the functions that Functions are of.
    """
    found: list[tuple[types.TracebackType, bool]] = []
    begins = False
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if user_line(code, traceback.tb_lineno) is not None:
            if found and is_block(code):
                begins = found.pop()[1]
            found.append((traceback, begins))
            begins = False
        elif code in boundaries:
            begins = True
        traceback = traceback.tb_next
    return found


# ---- Tracebacks -----------------------------------------------------------------------------------------------------


def with_user_frames(call: _Callable) -> _Callable:
    """Return `call` with tracebacks that show the user's frames only, where no Function around it does that.

    The collector's rest is as before the call even where a handler of a signal has raised on the way out of it.
    Source: tf.debugging.enable_traceback_filtering, disable_traceback_filtering.
    """

    @functools.wraps(call)
    def called(*args: object, **kwargs: object) -> Any:
        depth = gc_pause.depth()
        try:
            return call(*args, **kwargs)
        except BaseException as error:
            if gc_pause.depth() != depth:
                gc_pause.go_to(depth)
            if isinstance(error, Exception) and not op_errors.TRACEBACKS and current_trace() is None:
                _filter(error)
            raise  # adds no frame of its own

    return called  # type: ignore[return-value]


def _filter(error: BaseException) -> None:
    seen: set[int] = set()
    rest: list[BaseException | None] = [error]
    while rest:
        each = rest.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        rest += [each.__cause__, each.__context__]
        kept = _user_entries(each.__traceback__)
        traceback = None
        for entry, _ in reversed(kept):
            # A handler of a signal may raise at an instruction that belongs to no line.
            traceback = types.TracebackType(traceback, entry.tb_frame, entry.tb_lasti, entry.tb_lineno or 0)
        if each is error or traceback is not None:
            each.__traceback__ = traceback
