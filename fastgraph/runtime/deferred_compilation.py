"""Compilation after the program has ended: a forked process makes the Programs and asks for their kernels.

Rule: it runs only for graphs whose Programs are not in the store. The process keeps none of the program's files open,
runs none of its code, and leaves the compiling itself to a process that holds nothing of the program.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence

from fastgraph.compiler.store import background_scheduling, kernel_service
from fastgraph.compiler.store.kernel_store import Store, store
from fastgraph.core.base import flags

#: A process of more bytes in memory is not forked: the tables of its pages alone take long to copy.
LARGEST = 1 << 30

#: True while a process is being forked: nothing more is imported in the background, for which forks wait.
stopping = False
#: The program's streams, in the forked process.
_kept: list[object] = []


def hand_over(left: Sequence[Callable[[], None]]) -> bool:
    """Have Programs made and stored, with their kernels, at the end of a program, each by a function of its own.

    Return whether there is nothing more to be done here.
    """
    global stopping
    place = store()
    if not left or not place.prepare():
        return True
    if sys.platform != "linux" or _resident() > LARGEST:
        return False
    stopping = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python 3.12 warns where there are threads: ours are made for it
            child = os.fork()
        if child == 0:
            try:
                if os.fork() == 0:  # it is no child of the program's, which would find it when it waits for its own
                    _go_on(place, left)
            except OSError:
                os._exit(1)
            finally:
                os._exit(0)
        with contextlib.suppress(ChildProcessError):  # where the program ignores the ends of children
            return os.waitpid(child, 0)[1] == 0
    except (OSError, RuntimeError):  # RuntimeError: Python 3.12 has ended too far
        return False
    finally:
        stopping = False  # the program's other threads may go on for long
    return True


def _go_on(place: Store, left: Sequence[Callable[[], None]]) -> None:
    background_scheduling.mortal()
    signal.alarm(int(flags.get("linger")))
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():  # the program's handlers are code of the program's
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    gc.disable()  # the program's objects are the program's to end
    _kept.extend((sys.stdin, sys.stdout, sys.stderr))  # the last reference gone, what they hold would be written twice
    sys.stdin = sys.stdout = sys.stderr = None  # as in programs without a terminal
    for name in os.listdir("/proc/self/fd"):  # before it has only time that nobody wants: others wait for their end
        with contextlib.suppress(OSError):
            os.close(int(name))
    for _ in range(3):
        os.open(os.devnull, os.O_RDWR)
    os.setsid()
    background_scheduling.step_back()
    if not background_scheduling.has_turn(place.key_file, wait=False):
        return  # the next run of the program may find it free
    for make in left:
        with contextlib.suppress(Exception):  # the next run asks again
            make()
    kernel_service.hand_over(float(flags.get("linger")))


def _resident() -> int:
    """Return the bytes this process has in memory; more than LARGEST where that cannot be told."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return LARGEST + 1
