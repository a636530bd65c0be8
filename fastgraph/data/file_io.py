"""tf.io.gfile, and tf.io's ops that read and write files.

Rule: paths are those of this machine, or fsspec's; errors are those that ops give.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from stat import S_ISDIR
from typing import Any, NamedTuple, Self

import numpy as np

from fastgraph import errors
from fastgraph.core.base.dtype import string
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.paths import AnyPath, as_op_errors, local_path, matches, opened, remote
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, named
from fastgraph.ops.families import Array, bind_effect, custom
from fastgraph.state.variable import Variable

_REASON = "it reads or writes a file"


@without({"next(file)": "next"})
class GFile:
    """A file that is opened when it is first used. Source: tf.io.gfile.GFile.

    mode: r, w, a, with + and b; with + what is written comes last, and reading has a place of its own. Raises:
    NotFoundError, PermissionDeniedError, ... when it cannot be opened, or is not open for what is asked.
    """

    def __init__(self, name: AnyPath, mode: str = "r", encoding: str = "utf-8") -> None:
        if mode.replace("b", "") not in ("r", "w", "a", "r+", "w+", "a+"):
            raise errors.InvalidArgumentError(None, None, f"mode is not 'r' or 'w' or 'a': {mode}")
        self._name, self._mode, self._encoding = name, mode, encoding
        self._file: Any = None
        self._place = 0  # where reading goes on, of a file that is written as well

    name = ReadOnly[Any]("_name", "The path.")
    mode = ReadOnly[str]("_mode", "The mode in which the file is opened.")

    def _opened(self) -> Any:
        if self._file is None:
            with as_op_errors(self._name):
                coded = None if "b" in self._mode else self._encoding
                self._file = opened(self._name, self._mode, coded)
        return self._file

    def size(self) -> int:
        """Return the number of bytes."""
        return stat(self._name).length

    def _read(self, how: Callable[[Any], Any]) -> Any:
        if not self.readable():
            raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
        file = self._opened()
        if "+" not in self._mode:
            return how(file)
        file.seek(self._place)
        found = how(file)
        self._place = file.tell()
        return found

    def read(self, n: int = -1) -> Any:
        """Return `n` characters (bytes), all if it is -1."""
        return self._read(lambda file: file.read(n))

    def readline(self) -> Any:
        """Return the next line with its end, an empty one at the end of the file."""
        return self._read(lambda file: file.readline())

    def readlines(self) -> list[Any]:
        """Return the lines with their ends."""
        return list(self._read(lambda file: file.readlines()))

    def write(self, file_content: str | bytes) -> None:
        """Write text, or bytes: either is what the other stands for."""
        if not self.writable():
            raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
        if isinstance(file_content, str) and "b" in self._mode:
            file_content = file_content.encode(self._encoding)
        elif isinstance(file_content, bytes) and "b" not in self._mode:
            file_content = file_content.decode(self._encoding)
        file = self._opened()
        if "+" in self._mode:
            file.seek(0, 2)
        file.write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go to a position: from the beginning (0), from here (1), from the end (2). `position`: its older name.

        Raises TypeError where neither is given, InvalidArgumentError for a position before the beginning.
        """
        at, file = offset if position is None else position, self._opened()
        if at is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            text = f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            raise errors.InvalidArgumentError(None, None, text)
        if whence == 1:  # Python's files of text go nowhere else from here
            at += self.tell()
        elif whence:
            file.flush()
            at += self.size()
        if at < 0:
            raise errors.InvalidArgumentError(None, None, f"Seeking to a negative position: {at}")
        file.seek(at)
        self._place = at

    def tell(self) -> int:
        """Return the position."""
        return self._place if "+" in self._mode else int(self._opened().tell())

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
        return self if "+" in self._mode else iter(self._opened())

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class FileStatistics(NamedTuple):
    """The size and time of a file. Source: what tf.io.gfile.stat returns."""

    length: int
    mtime_nsec: int
    is_directory: bool

    @property
    def st_size(self) -> int:
        """The size by Python's name."""
        return self.length

    @property
    def st_mtime(self) -> float:
        """The time in seconds."""
        return self.mtime_nsec / 1e9


def _call(function: Callable[..., Any], elsewhere: str, path: AnyPath, *rest: Any) -> Any:
    """`function` of a path of this machine, or the method of fsspec's file system for another."""
    system = remote(path)
    with as_op_errors(path):
        if system is None:
            return function(local_path(path), *rest)
        return getattr(system, elsewhere)(os.fsdecode(os.fspath(path)), *rest)


def exists(path: AnyPath) -> bool:
    """Return whether there is a file or directory. Source: tf.io.gfile.exists."""
    return bool(_call(os.path.exists, "exists", path))


def isdir(path: AnyPath) -> bool:
    """Return whether there is a directory. Source: tf.io.gfile.isdir."""
    return bool(_call(os.path.isdir, "isdir", path))


def listdir(path: AnyPath) -> list[str]:
    """Return the names in a directory. Raises NotFoundError. Source: tf.io.gfile.listdir."""
    if not isdir(path):
        raise errors.NotFoundError(None, None, f"Could not find directory {path!s}")
    if (system := remote(path)) is not None:
        return sorted([name.rstrip("/").rpartition("/")[2] for name in system.ls(os.fsdecode(path), detail=False)])
    return sorted(_call(os.listdir, "ls", path))


def makedirs(path: AnyPath) -> None:
    """Make a directory and those above it, where they are missing; "" is there. Source: tf.io.gfile.makedirs."""
    if os.fspath(path):
        _call(lambda path, _: os.makedirs(path, exist_ok=True), "makedirs", path, True)


def mkdir(path: AnyPath) -> None:
    """Make a directory, unless it is there, as "" is. Raises NotFoundError. Source: tf.io.gfile.mkdir."""
    if not os.fspath(path):
        return
    with contextlib.suppress(errors.AlreadyExistsError):
        _call(os.mkdir, "mkdir", path)


def remove(path: AnyPath) -> None:
    """Delete a file. Raises NotFoundError. Source: tf.io.gfile.remove."""
    _call(os.remove, "rm_file", path)


def rmtree(path: AnyPath) -> None:
    """Delete a directory and all in it, or a file. Raises NotFoundError. Source: tf.io.gfile.rmtree."""
    _call(lambda path, _: (os.remove if os.path.isfile(path) else shutil.rmtree)(path), "rm", path, True)


def stat(path: AnyPath) -> FileStatistics:
    """Return size and times of a file. Raises NotFoundError. Source: tf.io.gfile.stat."""
    if (system := remote(path)) is None:
        found = _call(os.stat, "info", path)
        return FileStatistics(found.st_size, found.st_mtime_ns, S_ISDIR(found.st_mode))
    with as_op_errors(path):
        found = system.info(os.fsdecode(path))
    changed = found.get("mtime") or found.get("created") or 0.0
    seconds = changed.timestamp() if hasattr(changed, "timestamp") else float(changed)
    return FileStatistics(int(found["size"] or 0), int(seconds * 1e9), found.get("type") == "directory")


def glob(pattern: Any) -> list[str]:
    """Return the paths that fit a pattern, or one of several. Source: tf.io.gfile.glob."""
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else list(pattern)
    found: list[str] = []
    for each in patterns:
        system = remote(each)
        if system is None:
            found += sorted(matches(each))
        else:
            found += sorted(map(system.unstrip_protocol, system.glob(os.fsdecode(each))))
    return found


def get_registered_schemes() -> list[str]:
    """Return the schemes of paths: "" and "file", and those of fsspec. Source: tf.io.gfile.get_registered_schemes."""
    try:
        from fsspec import available_protocols
    except ImportError:
        return ["", "file"]
    return ["", *sorted({"file", *available_protocols()})]


def _free(path: AnyPath, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise errors.AlreadyExistsError(None, None, f"file already exists: {path!s}")


def copy(src: AnyPath, dst: AnyPath, overwrite: bool = False) -> None:
    """Copy a file. Raises AlreadyExistsError unless it may overwrite, NotFoundError. Source: tf.io.gfile.copy."""
    _free(dst, overwrite)
    if isdir(src):
        raise errors.InvalidArgumentError(None, None, f"{src!s}: Is a directory")
    with as_op_errors(src), opened(src, "rb") as source:
        if exists(dst) and not remote(src) and not remote(dst) and os.path.samefile(local_path(src), local_path(dst)):
            return  # opened to be written, it would be empty
        with opened(dst, "wb") as copied:
            shutil.copyfileobj(source, copied)


def rename(src: AnyPath, dst: AnyPath, overwrite: bool = False) -> None:
    """Move a file. Raises AlreadyExistsError unless it may overwrite, NotFoundError. Source: tf.io.gfile.rename."""
    _free(dst, overwrite)
    _call(os.replace, "mv", src, local_path(dst) if remote(src) is None else os.fsdecode(dst))


def join(path: Any, *paths: Any) -> Any:
    """Return the parts of a path joined. Source: tf.io.gfile.join."""
    return os.path.join(path, *paths)


def walk(
    top: AnyPath, topdown: bool = True, onerror: Callable[..., Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (directory, its directories, its files) of a tree. Source: tf.io.gfile.walk."""
    system = remote(top)
    if system is None:
        found: Any = os.walk(local_path(top), topdown, onerror)
    else:
        found = system.walk(os.fsdecode(top), topdown=topdown)
    for root, folders, files in found:
        yield root if system is None else system.unstrip_protocol(root), sorted(folders), sorted(files)


# ---- ops ------------------------------------------------------------------------------------------------------------


@custom(
    op="ReadFile",
    infer=lambda filename: Aval(string, filename.shape),
    groups=("string",),
    effect="host",
    samples=lambda: [((np.array(os.fsencode(__file__), object),), {})],
    reason=_REASON,
)
def read_file_p(filename: Array) -> Any:
    """The content of a file. string[] -> string[]."""
    path = np.asarray(filename).item()
    with as_op_errors(path), opened(path, "rb") as file:
        return np.array(file.read(), object)


def read_file(filename: TensorLike, name: str | None = None) -> Tensor:
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
    path = np.asarray(filename).item()
    with as_op_errors(path):
        if remote(path) is None:
            os.makedirs(os.path.dirname(local_path(path)) or ".", exist_ok=True)
        with opened(path, "wb") as file:
            file.write(np.asarray(contents).item())
    return ()


def write_file(filename: TensorLike, contents: TensorLike, name: str | None = None) -> Any:
    """Write `contents` to a file, whose directories are made where they are missing. Source: tf.io.write_file."""
    given = (as_tensor(filename, string), as_tensor(contents, string))
    return bind_effect(name, write_file_p.primitive, given, {})  # type: ignore[attr-defined]


@custom(
    op="MatchingFiles", infer=lambda pattern: Aval(string, (None,)), groups=("string",), effect="host", reason=_REASON
)
def matching_files_p(pattern: Array) -> Any:
    """The files that fit a pattern, or one of several. string[*s] -> string[n]."""
    patterns = [os.fsdecode(each) for each in np.asarray(pattern).reshape(-1).tolist()]
    return np.array([os.fsencode(path) for path in sorted(glob(patterns))], object)


def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """Return the paths that fit a pattern, or one of several, in order. string[*s] -> string[n].

    A pattern is of *, ? and [...], which do not stand for /. Source: tf.io.matching_files.
    """
    return named(name, matching_files_p, as_tensor(pattern, string))


def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Variable:
    """Return a Variable with the paths that fit a pattern now, string[n]. Source: tf.io.match_filenames_once."""
    return Variable(matching_files(pattern), trainable=False, name=name)
