"""The logger of the programs' messages, known by the name "tensorflow".

Rule: a message reads `WARNING:tensorflow:...` on standard error, unless the program has said where its log goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastgraph.core.base.deferred_signals import library

if TYPE_CHECKING:
    from logging import Logger

_NAME = "tensorflow"


def get_logger() -> Logger:
    """Return the logger that messages go to, which programs know by the name "tensorflow". Source: tf.get_logger.

    It gets a handler of its own if neither it nor the root logger has one by then.
    """
    logging = library("logging")  # most programs get no message
    logger: Logger = logging.getLogger(_NAME)
    if not logger.handlers and not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        logger.addHandler(handler)
    return logger
