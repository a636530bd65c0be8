"""The kernel store: a directory of object code, and of converted Python code, shared by every process of one user.

Rule: nothing is run that was not written, whole, by this user. The directory is refused unless it belongs to the user
and no other can write to it; files are opened relative to it, checked on the opened descriptor, and carry a checksum.
Whatever is wrong costs one warning and a compilation, never an error.

A file is `MAGIC`, the key it was stored under, the code, and the SHA-256 of all before it. Files are written under a
temporary name and renamed, so that readers, writers in other processes and a kill at any moment see whole files only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import time
import warnings
from dataclasses import dataclass

from fastgraph import flags
from fastgraph.locks import Lock

MAGIC = b"fastgraph kernel 1\n"
_SUFFIX = ".kernel"
#: The kind of file that holds Python code which AutoGraph has made.
CONVERTED = ".code"
_SUFFIXES = (_SUFFIX, CONVERTED)
_KEY_LENGTH = 40
_LARGEST = 16 << 20  # no kernel's code comes near it
_TOUCH_AFTER = 3600.0  # seconds: how stale a file's time of last use may be
_TRIM_EVERY = 256  # writes between looks at the store's size


def warn(message: str) -> None:
    """Warn of trouble that costs time only; where warnings are errors, print it: nothing may fail of it."""
    try:
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        print(f"RuntimeWarning: {message}", file=sys.stderr)


class _Refused(Exception):
    """Why the store cannot be used."""


@dataclass(frozen=True)
class Info:
    """What `python -m fastgraph info` shows of the store."""

    directory: str
    usable: bool
    why_not: str
    kernels: int
    nbytes: int
    limit: int


class Store:
    """One directory of kernels. Its methods may be called from any thread; `read` and `write` never raise."""

    def __init__(self, directory: str, limit: int) -> None:
        self.directory = directory
        self.limit = limit
        self._lock = Lock()
        self._warned: set[str] = set()
        self._writes = 0

    def read(self, key: str, kind: str = _SUFFIX) -> bytes | None:
        """The code stored under `key`, or None."""
        try:
            folder = self._open(create=False)
        except FileNotFoundError:
            return None
        except (OSError, _Refused) as error:
            self._warn("directory", f"the kernel store {self.directory} is not used: {_reason(error)}")
            return None
        try:
            return self._read_file(folder, key, kind)
        finally:
            os.close(folder)

    def is_empty(self) -> bool:
        """Whether there is no kernel at all, so that any will have to be compiled."""
        try:
            with os.scandir(self.directory) as entries:
                return not any(entry.name.endswith(_SUFFIX) for entry in entries)
        except OSError:
            return not os.path.exists(self.directory)

    def write(self, key: str, code: bytes, kind: str = _SUFFIX) -> bool:
        """Store code under `key`; False (after one warning) where that is impossible."""
        try:
            folder = self._open(create=True)
        except (OSError, _Refused) as error:
            self._warn("directory", f"the kernel store {self.directory} is not used: {_reason(error)}")
            return False
        try:
            _write_file(folder, key + kind, _sealed(key, code))
            with self._lock:
                trim = self._writes % _TRIM_EVERY == 0
                self._writes += 1
            if trim:
                self._trim(folder)
            return True
        except OSError as error:
            self._warn("write", f"cannot write to the kernel store {self.directory}: {_reason(error)}")
            return False
        finally:
            os.close(folder)

    def clear(self) -> int:
        """Delete every kernel; return how many there were. Raises OSError where the directory is not ours to clear."""
        try:
            folder = self._open(create=False)
        except FileNotFoundError:
            return 0
        except _Refused as error:
            raise PermissionError(f"the kernel store {self.directory} is left alone: {error}") from None
        try:
            names = [name for name in os.listdir(folder) if name.endswith(_SUFFIXES) or name.startswith(".new-")]
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)
            return sum(name.endswith(_SUFFIX) for name in names)
        finally:
            os.close(folder)

    def info(self) -> Info:
        """What there is, without changing anything."""
        try:
            folder = self._open(create=False)
        except FileNotFoundError:
            return Info(self.directory, True, "", 0, 0, self.limit)
        except (OSError, _Refused) as error:
            return Info(self.directory, False, _reason(error), 0, 0, self.limit)
        try:
            files = self._files(folder)
            n_kernels = sum(name.endswith(_SUFFIX) for _, _, name in files)
            return Info(self.directory, True, "", n_kernels, sum(size for _, size, _ in files), self.limit)
        finally:
            os.close(folder)

    # ---- the directory ----

    def _open(self, create: bool) -> int:
        """A descriptor of the directory, checked to be ours alone to write to."""
        if create:
            os.makedirs(os.path.dirname(self.directory) or ".", exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.directory, 0o700)
        folder = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _check_ours(os.fstat(folder), "it")
        except _Refused:
            os.close(folder)
            raise
        return folder

    def _files(self, folder: int) -> list[tuple[float, int, str]]:
        """(time of last use, size, name) of every file of code."""
        files = []
        for name in os.listdir(folder):
            if name.endswith(_SUFFIXES):
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    files.append((status.st_mtime, status.st_size, name))
        return files

    def _trim(self, folder: int) -> None:
        """Delete what has not been used for longest, until well below the limit; and abandoned new files."""
        files = sorted(self._files(folder))
        total = sum(size for _, size, _ in files)
        if total > self.limit:
            for _, size, name in files:
                if total <= self.limit * 0.9:
                    break
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=folder)
                total -= size
        long_ago = time.time() - 600.0
        for name in os.listdir(folder):
            if name.startswith(".new-"):
                with contextlib.suppress(OSError):
                    if os.stat(name, dir_fd=folder).st_mtime < long_ago:
                        os.unlink(name, dir_fd=folder)

    # ---- one file ----

    def _read_file(self, folder: int, key: str, kind: str) -> bytes | None:
        name = key + kind
        try:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn("file", f"the stored kernel {self.directory}/{name} is not used: {_reason(error)}")
            return None
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise _Refused("it is not a plain file")
            _check_ours(status, "it")
            if status.st_size > _LARGEST:
                raise _Refused(f"it has {status.st_size} bytes")
            with open(file, "rb", closefd=False) as stream:
                code = _unsealed(key, stream.read(_LARGEST + 1))
            if time.time() - status.st_mtime > _TOUCH_AFTER:
                with contextlib.suppress(OSError):
                    os.utime(file)
            return code
        except (OSError, _Refused) as error:
            self._warn(
                "file", f"what is stored in {self.directory}/{name} is not used and is made again: {_reason(error)}"
            )
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
            return None
        finally:
            os.close(file)

    def _warn(self, kind: str, message: str) -> None:
        with self._lock:
            if kind in self._warned:
                return
            self._warned.add(kind)
        warn(message)


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _check_ours(status: os.stat_result, what: str) -> None:
    if status.st_uid != os.geteuid():
        raise _Refused(f"{what} belongs to another user (number {status.st_uid})")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _Refused(f"others can write to {what} (mode {stat.S_IMODE(status.st_mode):04o})")


def _sealed(key: str, code: bytes) -> bytes:
    body = MAGIC + key.encode() + code
    return body + hashlib.sha256(body).digest()


def _unsealed(key: str, data: bytes) -> bytes:
    """The code in a file's bytes. Raises _Refused if they are not what `_sealed` made for `key`."""
    body, checksum = data[:-32], data[-32:]
    if hashlib.sha256(body).digest() != checksum:
        raise _Refused("its checksum is wrong: it is torn or was changed")
    head = MAGIC + key.encode()
    if not body.startswith(head):
        raise _Refused("it holds another kernel, or is of another version")
    return body[len(head) :]


def _write_file(folder: int, name: str, data: bytes) -> None:
    temporary = f".new-{os.getpid()}-{os.urandom(8).hex()}"
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with open(file, "wb") as stream:
            stream.write(data)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


_stores: dict[tuple[str, int], Store] = {}


def store() -> Store:
    """The store that the flags name now."""
    place = (str(flags.get("store")), int(flags.get("store_limit")))
    return _stores.setdefault(place, Store(*place))


def clear() -> int:
    """Delete every kernel of the store; return how many there were."""
    return store().clear()


def info() -> Info:
    """What the store holds."""
    return store().info()
