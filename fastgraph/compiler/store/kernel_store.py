"""The kernel store: a directory of object code, Programs and converted Python code, shared by all processes of a user.

Rule: nothing is run that was not written, whole, by this user with this user's key (`store_key`; docs/store.md says who
can do what). The directory is refused unless it belongs to the user and no other can write to it; files are opened
relative to it, checked on the opened descriptor, and authenticated. Whatever is wrong costs one warning and a
compilation, never an error.

A file is `MAGIC`, its kind, the key it was stored under, the code, the SHA-256 of all before it, and the HMAC of all
before that by the user's key. Files are written under a temporary name and renamed, so that readers, writers in other
processes and a kill at any moment see whole files only.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import stat
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from fastgraph.compiler.store.store_key import Refused, check_ours, made_key, make_folder, read_key, sweep, sweep_key
from fastgraph.core.base import flags
from fastgraph.core.base.locks import Lock

MAGIC = b"fastgraph store 2\n"
_SUFFIX = ".kernel"
#: The kind of file that holds Python code which AutoGraph has made.
CONVERTED = ".code"
#: The kind of file that holds the Program of a graph.
PROGRAM = ".program"
_SUFFIXES = (_SUFFIX, CONVERTED, PROGRAM)
_TAG = 32  # bytes of a SHA-256 and of an HMAC
_LARGEST = 16 << 20  # no kernel's code comes near it
_USUAL = 256 << 10  # few kernels are larger
_TOUCH_AFTER = 3600.0  # seconds: how stale a file's time of last use may be
_LOOK_EVERY = 256  # writes between looks at the store's size


def warn(message: str) -> None:
    """Warn of trouble that costs time only; where warnings are errors, print it: nothing may fail of it."""
    try:
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        print(f"RuntimeWarning: {message}", file=sys.stderr)


@dataclass(frozen=True)
class Info:
    """Figures of the store that `python -m fastgraph info` shows."""

    directory: str
    usable: bool
    why_not: str
    kernels: int
    nbytes: int
    limit: int


class Store:
    """One directory of code. Its methods may be called from any thread; `read` and `write` never raise."""

    def __init__(
        self,
        directory: str,
        limit: int,
        key_file: str | None = None,
        copied: bool = False,
        tell: Callable[[str, str], None] | None = None,
    ) -> None:
        """A store of at most `limit` bytes (0: of nothing at all).

        `key_file`: where the user's key lies (None: where the flags say). With `copied`, whole files are also taken
        that another key has authenticated. `tell` is given each kind of trouble once, and its text (None: it is warned
        of).
        """
        self.directory = directory
        self.limit = limit
        self.key_file = str(flags.get("store_key")) if key_file is None else key_file
        self.copied = copied
        self._tell = tell
        self._key: bytes | None = None
        self._lock = Lock()
        self._warned: set[str] = set()
        self._writes = 0
        self._taken = 0  # bytes, as far as this process knows

    @property
    def place(self) -> tuple[str, int, str, bool]:
        """Arguments that make the same store in another process."""
        return self.directory, self.limit, self.key_file, self.copied

    def read(self, key: str, kind: str = _SUFFIX) -> bytes | None:
        """The code stored under `key`, or None."""
        if not self.limit:
            return None
        try:
            folder = self._open(create=False)
        except FileNotFoundError:
            return None
        except (OSError, Refused) as error:
            self._not_used(error)
            return None
        try:
            return self._read_file(folder, key, kind)
        finally:
            os.close(folder)

    def prepare(self) -> bool:
        """Make the directory and the key; whether there is a store that can be written to."""
        if not self.limit:
            return False
        try:
            os.close(self._open(create=True))
            self._secret(create=True)
        except (OSError, Refused) as error:
            self._not_used(error)
            return False
        import resource

        most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if most != resource.RLIM_INFINITY and most < _USUAL:  # what is stored after the program can tell nobody
            self.report(
                "write", f"cannot write larger kernels to {self.directory}: files may have {most} bytes (ulimit -f)"
            )
        return os.access(self.directory, os.W_OK | os.X_OK)

    def has(self, key: str) -> bool:
        """Return whether something is stored under `key`."""
        return os.path.exists(os.path.join(self.directory, key + _SUFFIX))

    def is_empty(self) -> bool:
        """Return whether there is no kernel at all, so that any will have to be compiled."""
        try:
            with os.scandir(self.directory) as entries:
                return not any(entry.name.endswith(_SUFFIX) for entry in entries)
        except OSError:
            return not os.path.exists(self.directory)

    def write(self, key: str, code: bytes, kind: str = _SUFFIX, create: bool = True) -> bool:
        """Store code under `key`; False (after one warning) where that is impossible. `create`: the directory, too."""
        if not self.limit:
            return False
        try:
            folder = self._open(create)
        except (OSError, Refused) as error:
            self._not_used(error)
            return False
        try:
            data = _sealed(key, kind, code, self._secret(create))
            if len(data) > self.limit:
                self.report(
                    "limit",
                    f"a kernel of {len(data)} bytes is not stored: the store may take {self.limit} bytes "
                    "(FASTGRAPH_STORE_LIMIT)",
                )
                return False
            name = key + kind
            _write_file(folder, name, data)
            with self._lock:
                look = self._writes % _LOOK_EVERY == 0 or self._taken + len(data) > self.limit
                self._writes += 1
                self._taken += len(data)
            if look:
                self._taken = self._trim(folder, name)
            return True
        except Refused as error:
            self._not_used(error)
            return False
        except OSError as error:
            self.report("write", f"cannot write to the kernel store {self.directory}: {_reason(error)}")
            return False
        finally:
            os.close(folder)

    def clear(self) -> int:
        """Delete every kernel; return how many there were. Raises OSError where the directory is not ours to clear."""
        try:
            folder = self._open(create=False)
        except FileNotFoundError:
            return 0
        except Refused as error:
            raise PermissionError(f"the kernel store {self.directory} is left alone: {error}") from None
        try:
            names = [name for name in os.listdir(folder) if name.endswith(_SUFFIXES) or name.startswith(".new-")]
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)
            sweep_key(self.key_file)
            return sum(name.endswith(_SUFFIX) for name in names)
        finally:
            os.close(folder)

    def info(self) -> Info:
        """Figures of what there is, without changing anything."""
        try:
            folder = self._open(create=False)
        except FileNotFoundError:
            return Info(self.directory, True, "", 0, 0, self.limit)
        except (OSError, Refused) as error:
            return Info(self.directory, False, _reason(error), 0, 0, self.limit)
        try:
            files = self._files(folder)
            n_kernels = sum(name.endswith(_SUFFIX) for _, _, name in files)
            why_not = self._why_no_key()
            return Info(self.directory, not why_not, why_not, n_kernels, sum(size for _, size, _ in files), self.limit)
        finally:
            os.close(folder)

    def _why_no_key(self) -> str:
        """Return why the key cannot be used, if so; that there is none yet is no reason."""
        try:
            self._secret(create=False)
        except FileNotFoundError:
            pass
        except Refused as error:
            return str(error)
        return ""

    # ---- the directory ----

    def _open(self, create: bool) -> int:
        """A descriptor of the directory, checked to be ours alone to write to."""
        access = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            folder = os.open(self.directory, access)
        except FileNotFoundError:
            if not create:
                raise
            make_folder(self.directory)
            folder = os.open(self.directory, access)
        try:
            check_ours(os.fstat(folder), stat.S_IWGRP | stat.S_IWOTH)
        except Refused:
            os.close(folder)
            raise
        return folder

    def _secret(self, create: bool) -> bytes:
        """The user's key. Raises FileNotFoundError, Refused. A store that takes copies does without where it must."""
        found = self._key
        if found is None:
            try:
                found = made_key(self.key_file) if create else read_key(self.key_file)
            except (OSError, Refused) as error:
                if self.copied:
                    return b""
                if isinstance(error, FileNotFoundError) and not create:
                    raise
                raise Refused(f"its key {self.key_file} cannot be used: {_reason(error)}") from None
            self._key = found
        return found

    def _files(self, folder: int) -> list[tuple[float, int, str]]:
        """(time of last use, size, name) of every file of code."""
        files = []
        for name in os.listdir(folder):
            if name.endswith(_SUFFIXES):
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    files.append((status.st_mtime, status.st_size, name))
        return files

    def _trim(self, folder: int, newest: str) -> int:
        """Delete what has not been used for longest, until well below the limit; and abandoned new files.

        What was written just now, `newest`, stays. Return the bytes that are left.
        """
        files = sorted(self._files(folder))
        total = sum(size for _, size, _ in files)
        if total > self.limit:
            for _, size, name in files:
                if total <= self.limit * 0.9:
                    break
                if name == newest:
                    continue
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=folder)
                total -= size
        sweep(folder, ".new-")
        sweep_key(self.key_file)
        return total

    # ---- one file ----

    def _read_file(self, folder: int, key: str, kind: str) -> bytes | None:
        name = key + kind
        try:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            self.report("file", f"the stored kernel {self.directory}/{name} is not used: {_reason(error)}")
            return None
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise Refused("it is not a plain file")
            check_ours(status, stat.S_IWGRP | stat.S_IWOTH)
            if status.st_size > _LARGEST:
                raise Refused(f"it has {status.st_size} bytes")
            with open(file, "rb", closefd=False) as stream:
                data = stream.read(_LARGEST + 1)
            code = self._opened(key, kind, data)
            if code is not None and time.time() - status.st_mtime > _TOUCH_AFTER:
                with contextlib.suppress(OSError):
                    os.utime(file)
            return code
        except (OSError, Refused) as error:
            self.report(
                "file", f"what is stored in {self.directory}/{name} is not used and is made again: {_reason(error)}"
            )
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
            return None
        finally:
            os.close(file)

    def _opened(self, key: str, kind: str, data: bytes) -> bytes | None:
        """The code in a file's bytes; None where another key has authenticated it. Raises Refused if it is torn."""
        body, tag = data[:-_TAG], data[-_TAG:]
        try:
            ours = hmac.compare_digest(hmac.digest(self._secret(create=False), body, "sha256"), tag)
        except FileNotFoundError:  # no key yet: this user has stored nothing
            ours = False
        except Refused as error:
            self._not_used(error)
            return None
        if not ours and hashlib.sha256(body[:-_TAG]).digest() != body[-_TAG:]:
            raise Refused("its checksum is wrong: it is torn or was changed")
        head = _head(key, kind)
        if not body.startswith(head):
            raise Refused("it holds another kernel, or is of another version")
        if ours or self.copied:
            return body[len(head) : -_TAG]
        self.report(
            "key",
            f"what is stored in {self.directory}/{key}{kind} is not used and is made again: another key than "
            f"{self.key_file} has authenticated it (FASTGRAPH_STORE_TRUST=copied would use it all the same)",
        )
        return None

    def _not_used(self, error: Exception) -> None:
        self.report("directory", f"the kernel store {self.directory} is not used: {_reason(error)}")

    def report(self, kind: str, message: str) -> None:
        """Tell of trouble, of each kind once."""
        with self._lock:
            if kind in self._warned:
                return
            self._warned.add(kind)
        if self._tell is None:
            warn(message)
        else:
            self._tell(kind, message)


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _head(key: str, kind: str) -> bytes:
    return MAGIC + kind.encode() + b" " + key.encode() + b"\n"


def _sealed(key: str, kind: str, code: bytes, secret: bytes) -> bytes:
    body = _head(key, kind) + code
    body += hashlib.sha256(body).digest()
    return body + hmac.digest(secret, body, "sha256")


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


_stores: dict[tuple[str, int, str, bool], Store] = {}


def store() -> Store:
    """The store that the flags name now."""
    place = (
        str(flags.get("store")),
        int(flags.get("store_limit")),
        str(flags.get("store_key")),
        flags.get("store_trust") == "copied",
    )
    found = _stores.get(place)
    return _stores.setdefault(place, Store(*place)) if found is None else found
