"""Turns of the processes that do what programs have left: one of a user works at a time, with time that nobody wants.

Rule: the turn is a lock on the user's key. It lasts as long as the process, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct

from fastgraph.compiler.store.store_key import Refused, open_key

#: How many processes of one user wait at most for their turn to compile what is left: each has Numba in memory.
_WAITING = 2


def mortal() -> None:
    """Let SIGALRM end this process: whoever started the program may have had it ignored or held back."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})


def step_back() -> None:
    """Have only the time that nobody else wants, from now on."""
    os.setpriority(os.PRIO_PROCESS, os.getpid(), 19)  # of the thread that compiles
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setscheduler(os.getpid(), os.SCHED_IDLE, os.sched_param(0))


def has_turn(key_file: str, wait: bool = True) -> bool:
    """Return whether this process has the turn: at once, or when no other has it and not too many `wait` already.

    A place among those who wait is a lock on a byte of the key.
    """
    import fcntl

    try:
        key = open_key(key_file, write=True)
        try:
            fcntl.flock(key, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if not wait or not any(_has_place(key, place) for place in range(_WAITING)):
                return False
        fcntl.flock(key, fcntl.LOCK_EX)
    except (OSError, Refused):
        return False
    return True


def _has_place(file: int, place: int) -> bool:
    """Lock a byte of a file for as long as it is open, unless somebody has."""
    import fcntl

    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)  # struct flock
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, wanted)
    except (AttributeError, OSError):  # taken; or no such locks here
        return False
    return True
