"""tf.io.gfile, and tf.io's ops that read and write files.

Rule: paths are those of this machine, as text, bytes or os.PathLike; errors are those that ops give.
"""

from __future__ import annotations

import contextlib
import errno
import glob as globs
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from fastgraph import errors
from fastgraph.core.base.dtype import string
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import Data
from fastgraph.ops.arguments import as_tensor, named
from fastgraph.ops.families import Array, bind_effect, custom

#: A path as users give it.
AnyPath = str | bytes | os.PathLike[Any]

_REASON = "it reads or writes a file"
_ERRORS: dict[int, tuple[type[errors.OpError], str]] = {
    errno.ENOENT: (errors.NotFoundError, "No such file or directory"),
    errno.EEXIST: (errors.AlreadyExistsError, "File exists"),
    errno.EACCES: (errors.PermissionDeniedError, "Permission denied"),
    errno.EISDIR: (errors.FailedPreconditionError, "Is a directory"),
    errno.ENOTDIR: (errors.FailedPreconditionError, "Not a directory"),
    errno.ENOTEMPTY: (errors.FailedPreconditionError, "Directory not empty"),
}


@contextlib.contextmanager
def _as_op_errors(path: AnyPath) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind, text = _ERRORS.get(error.errno or 0, (errors.UnknownError, str(error)))
        raise kind(None, None, f"{os.fspath(path)!s}; {text}") from None


def _local(path: AnyPath) -> str:
    return os.fsdecode(os.fspath(path)).removeprefix("file://")


class GFile:
    """A file that is opened when it is first used. Source: tf.io.gfile.GFile.

    mode: r, w, a, with + and b. Raises: NotFoundError, PermissionDeniedError, ... when it cannot be opened.
    """

    def __init__(self, name: AnyPath, mode: str = "r", encoding: str = "utf-8") -> None:
        if mode.replace("b", "") not in ("r", "w", "a", "r+", "w+", "a+"):
            raise errors.InvalidArgumentError(None, None, f"mode is not 'r' or 'w' or 'a': {mode}")
        self._name, self._mode, self._encoding = name, mode, encoding
        self._file: Any = None

    @property
    def name(self) -> Any:
        """The path."""
        return self._name

    @property
    def mode(self) -> str:
        """How the file is opened."""
        return self._mode

    def _opened(self) -> Any:
        if self._file is None:
            with _as_op_errors(self._name):
                coded = None if "b" in self._mode else self._encoding
                self._file = open(_local(self._name), self._mode, encoding=coded)  # noqa: SIM115
        return self._file

    def size(self) -> int:
        """Return the number of bytes."""
        return stat(self._name).st_size

    def read(self, n: int = -1) -> Any:
        """Return `n` characters (bytes), all if it is -1."""
        return self._opened().read(n)

    def readline(self) -> Any:
        """Return the next line with its end, an empty one at the end of the file."""
        return self._opened().readline()

    def readlines(self) -> list[Any]:
        """Return the lines with their ends."""
        return list(self._opened().readlines())

    def write(self, file_content: str | bytes) -> None:
        """Write text, or bytes."""
        self._opened().write(file_content)

    def seek(self, offset: int, whence: int = 0) -> None:
        """Go to a position: from the beginning (0), from here (1), from the end (2)."""
        self._opened().seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
        return int(self._opened().tell())

    def flush(self) -> None:
        """Write what is buffered."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file; what is written is there afterwards."""
        if self._file is None and "w" in self._mode:
            self._opened()
        if self._file is not None:
            self._file.close()
            self._file = None

    def seekable(self) -> bool:
        """Return True."""
        return True

    def readable(self) -> bool:
        """Return whether it can be read."""
        return "r" in self._mode or "+" in self._mode

    def writable(self) -> bool:
        """Return whether it can be written."""
        return "r" not in self._mode or "+" in self._mode

    def __iter__(self) -> Iterator[Any]:
        return iter(self._opened())

    def __next__(self) -> Any:
        return next(self._opened())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _call(function: Callable[..., Any], path: AnyPath, *rest: Any) -> Any:
    with _as_op_errors(path):
        return function(_local(path), *rest)


def exists(path: AnyPath) -> bool:
    """Return whether there is a file or directory. Source: tf.io.gfile.exists."""
    return os.path.exists(_local(path))


def isdir(path: AnyPath) -> bool:
    """Return whether there is a directory. Source: tf.io.gfile.isdir."""
    return os.path.isdir(_local(path))


def listdir(path: AnyPath) -> list[str]:
    """Return the names in a directory. Raises NotFoundError. Source: tf.io.gfile.listdir."""
    if not isdir(path):
        raise errors.NotFoundError(None, None, f"Could not find directory {path!s}")
    return sorted(_call(os.listdir, path))


def makedirs(path: AnyPath) -> None:
    """Make a directory and those above it, where they are missing. Source: tf.io.gfile.makedirs."""
    with _as_op_errors(path):
        os.makedirs(_local(path), exist_ok=True)


def mkdir(path: AnyPath) -> None:
    """Make a directory. Raises AlreadyExistsError, NotFoundError. Source: tf.io.gfile.mkdir."""
    _call(os.mkdir, path)


def remove(path: AnyPath) -> None:
    """Delete a file. Raises NotFoundError. Source: tf.io.gfile.remove."""
    _call(os.remove, path)


def rmtree(path: AnyPath) -> None:
    """Delete a directory and all in it. Raises NotFoundError. Source: tf.io.gfile.rmtree."""
    _call(shutil.rmtree, path)


def stat(path: AnyPath) -> os.stat_result:
    """Return size and times of a file. Raises NotFoundError. Source: tf.io.gfile.stat."""
    found: os.stat_result = _call(os.stat, path)
    return found


def glob(pattern: Any) -> list[str]:
    """Return the paths that fit a pattern, or one of several. Source: tf.io.gfile.glob."""
    patterns = pattern if isinstance(pattern, list | tuple) else [pattern]
    return [path for each in patterns for path in sorted(globs.glob(_local(each)))]


def _free(path: AnyPath, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise errors.AlreadyExistsError(None, None, f"file already exists: {path!s}")


def copy(src: AnyPath, dst: AnyPath, overwrite: bool = False) -> None:
    """Copy a file. Raises AlreadyExistsError unless it may overwrite, NotFoundError. Source: tf.io.gfile.copy."""
    _free(dst, overwrite)
    _call(shutil.copyfile, src, _local(dst))


def rename(src: AnyPath, dst: AnyPath, overwrite: bool = False) -> None:
    """Move a file. Raises AlreadyExistsError unless it may overwrite, NotFoundError. Source: tf.io.gfile.rename."""
    _free(dst, overwrite)
    _call(os.replace, src, _local(dst))


def join(path: Any, *paths: Any) -> Any:
    """Return the parts of a path joined. Source: tf.io.gfile.join."""
    return os.path.join(path, *paths)


def walk(
    top: AnyPath, topdown: bool = True, onerror: Callable[..., Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (directory, its directories, its files) of a tree. Source: tf.io.gfile.walk."""
    for root, folders, files in os.walk(_local(top), topdown, onerror):
        folders.sort()
        yield root, folders, sorted(files)


# ---- ops ------------------------------------------------------------------------------------------------------------


def _this_file() -> Any:
    return np.array(os.fsencode(__file__), object)


@custom(
    op="ReadFile",
    infer=lambda filename: Aval(string, filename.shape),
    groups=("string",),
    effect="host",
    samples=lambda: [((_this_file(),), {})],
    reason=_REASON,
)
def read_file_p(filename: Array) -> Any:
    """The content of a file. string[] -> string[]."""
    path = np.asarray(filename).item()
    with _as_op_errors(os.fsdecode(path)):
        return np.array(Path(_local(path)).read_bytes(), object)


def read_file(filename: Data, name: str | None = None) -> Any:
    """Return what a file holds. string[] -> string[]. Raises NotFoundError. Source: tf.io.read_file."""
    return named(name, read_file_p, as_tensor(filename, string))


@custom(
    op="WriteFile",
    infer=lambda filename, contents: (),
    groups=("string", "string"),
    n_outputs=0,
    effect="host",
    reason=_REASON,
)
def write_file_p(filename: Array, contents: Array) -> Any:
    """Write a file, and the directories above it."""
    path = _local(np.asarray(filename).item())
    with _as_op_errors(path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        Path(path).write_bytes(np.asarray(contents).item())
    return ()


def write_file(filename: Data, contents: Data, name: str | None = None) -> Any:
    """Write `contents` to a file, whose directories are made where they are missing. Source: tf.io.write_file."""
    given = (as_tensor(filename, string), as_tensor(contents, string))
    return bind_effect(name, write_file_p.primitive, given, {})  # type: ignore[attr-defined]
