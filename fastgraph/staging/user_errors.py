"""Errors of traced functions, told in terms of the user's own lines.

Rule: the class of an exception stays; only its text changes, and only where the class can be made from a text.
"""

from __future__ import annotations

import linecache
import types

from fastgraph.errors import OpError
from fastgraph.graph.trace import user_line

_HEAD = "in user code:"


def in_user_code(error: Exception) -> Exception | None:
    """Return `error` with the user's lines that led to it in its text; None if it cannot be rewritten.

    Source: the errors that tf.function raises while it traces.
    """
    text = error.message if isinstance(error, OpError) else str(error)
    if text.startswith(_HEAD):
        return None
    lines = _user_lines(error.__traceback__)
    if not lines:
        return None
    body = "\n".join(f"    {line}" if line else "" for line in f"{type(error).__name__}: {text}".split("\n"))
    message = f"{_HEAD}\n\n" + "\n".join(lines) + f"\n\n{body}\n"
    try:
        new = type(error)(None, None, message) if isinstance(error, OpError) else type(error)(message)
    except Exception:
        return None
    if not str(new).startswith(_HEAD):  # KeyError quotes its text, others do what they like
        return None
    for name, value in vars(error).items():
        if not hasattr(new, name):
            setattr(new, name, value)
    return new.with_traceback(error.__traceback__)


def _user_lines(traceback: types.TracebackType | None) -> list[str]:
    """The lines of the user's code on the way to an error, from the traced function on; converted ones are starred."""
    found = []
    while traceback is not None:
        line = user_line(traceback.tb_frame.f_code, traceback.tb_lineno)
        if line is not None:
            found.append(f'    File "{line.file}", line {line.line}, in {line.function}  *')
            source = linecache.getline(line.file, line.line).strip()
            if source:
                found.append(f"        {source}")
        traceback = traceback.tb_next
    return found
