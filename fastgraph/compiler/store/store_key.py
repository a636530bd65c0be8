"""The user's own key, by which the store knows what this user's processes have written.

Rule: the key lies apart from the store, so that a copy of a store brings none with it. It is made once, whole, readable
by its owner alone; whichever of several processes is first, all read the same.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time

_BYTES = 32
_MOST = 4096  # a key that was made by other means
_LONG = 600.0  # seconds after which a new file is abandoned: whoever wrote it was killed


class Refused(Exception):
    """Refusal of what lies on the disk, with the reason."""


def check_ours(status: os.stat_result, forbidden: int) -> None:
    """Raise Refused unless it belongs to this user, and nobody else has one of the `forbidden` rights."""
    if status.st_uid != os.geteuid():
        raise Refused(f"it belongs to another user (number {status.st_uid})")
    if status.st_mode & forbidden:
        can = "read it or write to it" if forbidden & 0o444 else "write to it"
        raise Refused(f"others can {can} (mode {stat.S_IMODE(status.st_mode):04o})")


def make_folder(path: str) -> None:
    """Make a folder, and those above it that are missing, for this user alone. Raises OSError."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        above = os.path.dirname(path)
        if above in ("", path):
            raise
        make_folder(above)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)


def read_key(path: str) -> bytes:
    """The key in the file `path`. Raises OSError, Refused."""
    file = open_key(path)
    try:
        key = os.read(file, _MOST)
    finally:
        os.close(file)
    if len(key) < _BYTES:
        raise Refused(f"it has {len(key)} bytes and is no key: delete it")
    return key


def open_key(path: str, write: bool = False) -> int:
    """A descriptor of the key's file, checked to be a file that this user alone can read. Raises OSError, Refused."""
    access = os.O_RDWR if write else os.O_RDONLY
    file = os.open(path, access | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise Refused("it is not a plain file")
        check_ours(status, 0o077)
    except Refused:
        os.close(file)
        raise
    return file


def made_key(path: str) -> bytes:
    """The key in the file `path`, made if there is none. Raises OSError, Refused."""
    try:
        return read_key(path)
    except FileNotFoundError:
        make_folder(os.path.dirname(path))
    new = f"{path}.new-{os.getpid()}-{os.urandom(8).hex()}"
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(file, "wb") as stream:
            stream.write(os.urandom(_BYTES))
            stream.flush()
            os.fsync(file)  # a key that a crash of the machine left empty would be refused ever after
        with contextlib.suppress(FileExistsError):  # another process was first: its key counts
            os.link(new, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(new)
    return read_key(path)


def sweep(folder: int, prefix: str, age: float = _LONG) -> None:
    """Delete new files that killed processes have left in an open folder: of names that begin so, older than `age`."""
    long_ago = time.time() - age
    for name in os.listdir(folder):
        if name.startswith(prefix):
            with contextlib.suppress(OSError):
                if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime < long_ago:
                    os.unlink(name, dir_fd=folder)


def sweep_key(path: str) -> None:
    """Delete what was to become the key in the file `path` and was abandoned."""
    with contextlib.suppress(OSError):
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sweep(folder, f"{os.path.basename(path)}.new-")
        finally:
            os.close(folder)
