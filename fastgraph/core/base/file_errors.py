"""Failures of files as TensorFlow's errors: the class by the number of the system's error."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from fastgraph import errors
from fastgraph.errors import OpError

_NUMBERS: tuple[tuple[type[OpError], str], ...] = (
    (errors.InvalidArgumentError, "EINVAL ENAMETOOLONG E2BIG EDESTADDRREQ EDOM EFAULT EILSEQ ENOTTY ESPIPE"),
    (errors.NotFoundError, "ENOENT ENODEV ENXIO ESRCH"),
    (errors.AlreadyExistsError, "EEXIST"),
    (errors.PermissionDeniedError, "EPERM EACCES EROFS"),
    (errors.FailedPreconditionError, "ENOTEMPTY EISDIR ENOTDIR EBADF EBUSY ECHILD EPIPE ETXTBSY ELOOP"),
    (errors.ResourceExhaustedError, "ENOSPC EDQUOT EMFILE EMLINK ENFILE ENOBUFS ENOMEM"),
    (errors.OutOfRangeError, "EFBIG EOVERFLOW ERANGE"),
    (errors.UnimplementedError, "ENOSYS ENOTSUP EXDEV"),
    (errors.UnavailableError, "EAGAIN"),
    (errors.AbortedError, "EDEADLK ESTALE"),
)
_CLASSES = {getattr(errno, name): kind for kind, names in _NUMBERS for name in names.split() if hasattr(errno, name)}
#: Errors that say by their class alone what they are, as libraries of file systems raise them.
_NAMED: dict[type[OSError], int] = {FileNotFoundError: errno.ENOENT, FileExistsError: errno.EEXIST}


def error_of(path: object, error: OSError, what: str = "") -> OpError:
    """Return TensorFlow's error for an error of the system's at `path`; `what` says what was done."""
    number = error.errno or next((n for own, n in _NAMED.items() if isinstance(error, own)), 0)
    kind: type = _CLASSES.get(number, errors.UnknownError)
    made: OpError = kind(None, None, f"{what}{path}; {os.strerror(number) if number else error}")
    return made


@contextmanager
def raising_for(path: object, what: str = "") -> Iterator[None]:
    """A context in which the system's errors at `path` are raised as TensorFlow's."""
    try:
        yield
    except OSError as error:
        raise error_of(path, error, what) from None
