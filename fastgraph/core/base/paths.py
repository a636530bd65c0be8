"""Paths of files, as text, bytes or os.PathLike, and the errors that ops give for them.

Rule: a path is of this machine, or has a scheme ("memory://", "s3://") that fsspec, an extra, knows.
"""

from __future__ import annotations

import contextlib
import glob as globs
import os
import re
from typing import Any

from fastgraph import errors
from fastgraph.core.base.file_errors import raising_for

#: A path as users give it.
AnyPath = str | bytes | os.PathLike[Any]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=://)")


def as_op_errors(path: AnyPath) -> contextlib.AbstractContextManager[None]:
    """Return a context that raises what goes wrong with a file as ops do: NotFoundError, PermissionDeniedError, ..."""
    return raising_for(os.fsdecode(path))


def local_path(path: AnyPath) -> str:
    """Return a path of this machine as text. Raises UnimplementedError for one with a scheme: never a folder `s3:`."""
    text = os.fsdecode(os.fspath(path)).removeprefix("file://")
    found = _SCHEME.match(text)
    if found is not None:
        raise errors.UnimplementedError(
            None, None,
            f"File system scheme '{found[0]}' not implemented here (file: '{text}'): checkpoints, SavedModels, "
            "summaries and datasets are kept on this machine; tf.io.gfile.copy takes files there and back",
        )  # fmt: skip
    return text


def matches(pattern: AnyPath) -> list[str]:
    """Return this machine's paths that fit a pattern, with ./ before them where it names no folder, as TensorFlow."""
    text = local_path(pattern)
    found = globs.glob(text, include_hidden=True)
    names_none = globs.has_magic(text) and "/" not in re.split(r"[*?[]", text, maxsplit=1)[0]
    return [f"./{path}" for path in found] if names_none else found


def remote(path: AnyPath) -> Any:
    """Return fsspec's file system for a path with a scheme, None for one of this machine.

    Raises UnimplementedError for a scheme that is not known, or if fsspec is not there.
    """
    text = os.fsdecode(os.fspath(path))
    found = _SCHEME.match(text)
    if found is None or found[0] == "file":
        return None
    try:
        import fsspec

        return fsspec.filesystem(found[0])
    except (ImportError, ValueError) as error:
        raise errors.UnimplementedError(
            None, None, f"File system scheme '{found[0]}' not implemented (file: '{text}'): {error}. "
            "Paths with a scheme need fsspec: pip install fastgraph[fsspec]",
        ) from None  # fmt: skip


def opened(path: AnyPath, mode: str, encoding: str | None = None, buffering: int = -1) -> Any:
    """Return an open file. Raises OSError, UnimplementedError for a scheme that is not known."""
    system = remote(path)
    if system is None:
        return open(local_path(path), mode, buffering, encoding)
    return system.open(os.fsdecode(os.fspath(path)), mode, **({} if "b" in mode else {"encoding": encoding}))
