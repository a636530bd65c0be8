"""TensorFlow's logging as its libraries call it: the logger that tf.get_logger() gives.

Rule: messages go to that logger and nowhere else.
"""

from __future__ import annotations

import collections
import logging
import sys
import time
from logging import DEBUG as DEBUG
from logging import ERROR as ERROR
from logging import FATAL as FATAL
from logging import INFO as INFO
from logging import WARNING as WARNING
from typing import Any

from fastgraph.core.base.logger import get_logger as get_logger

WARN = WARNING
_counts: collections.Counter[Any] = collections.Counter()
_times: dict[Any, float] = {}


def log(level: int, msg: object, *args: Any, **kwargs: Any) -> None:
    """Log a message."""
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg: object, *args: Any, **kwargs: Any) -> None:
    """Log for who looks for a fault."""
    log(DEBUG, msg, *args, **kwargs)


def info(msg: object, *args: Any, **kwargs: Any) -> None:
    """Log what happens."""
    log(INFO, msg, *args, **kwargs)


def warning(msg: object, *args: Any, **kwargs: Any) -> None:
    """Log a warning."""
    log(WARNING, msg, *args, **kwargs)


warn = warning


def error(msg: object, *args: Any, **kwargs: Any) -> None:
    """Log an error."""
    log(ERROR, msg, *args, **kwargs)


def fatal(msg: object, *args: Any, **kwargs: Any) -> None:
    """Log what the program does not survive."""
    log(FATAL, msg, *args, **kwargs)


def TaskLevelStatusMessage(msg: object) -> None:
    """Log what the state of the whole task is, as an error is logged."""
    error(msg)


def vlog(level: int, msg: object, *args: Any, **kwargs: Any) -> None:
    """Log what is of interest from a level of talkativeness on."""
    log(max(1, DEBUG - level) if level > 0 else DEBUG, msg, *args, **kwargs)


def _place() -> tuple[str, int]:
    frame = sys._getframe(2)
    return frame.f_code.co_filename, frame.f_lineno


def log_first_n(level: int, msg: object, n: int, *args: Any) -> None:
    """Log a message the first n times that its line is reached."""
    key = _place()
    _counts[key] += 1
    if _counts[key] <= n:
        log(level, msg, *args)


def log_every_n(level: int, msg: object, n: int, *args: Any) -> None:
    """Log a message every n times that its line is reached."""
    key = _place()
    if _counts[key] % n == 0:
        log(level, msg, *args)
    _counts[key] += 1


def log_every_n_seconds(level: int, msg: object, n_seconds: float, *args: Any) -> None:
    """Log a message if its line has logged none for so long."""
    key, now = _place(), time.monotonic()
    if now - _times.get(key, -float("inf")) >= n_seconds:
        _times[key] = now
        log(level, msg, *args)


def log_if(level: int, msg: object, condition: object, *args: Any) -> None:
    """Log a message if a condition holds."""
    if condition:
        log(level, msg, *args)


def get_verbosity() -> int:
    """Return the level from which on messages are shown."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int) -> None:
    """Set the level from which on messages are shown."""
    get_logger().setLevel(v)


def flush() -> None:
    """Write out what has been logged."""
    for handler in logging.getLogger().handlers:
        handler.flush()


def _as_stream(write: Any) -> None:
    write.write = lambda text: write("%s", text.removesuffix("\n"))


for _function in (debug, info, warning, error, fatal):
    _as_stream(_function)  # tf.print takes them for its output_stream
