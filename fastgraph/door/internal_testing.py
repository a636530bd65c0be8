"""Answers to what TensorFlow's own tests, and programs like them, ask its inside for: devices, decorators, files.

Rule: tests run eagerly, once; what asks for graphs of TensorFlow 1 or for other devices is skipped.
"""

from __future__ import annotations

import collections.abc
import contextlib
import unittest
from collections.abc import Callable
from typing import Any, NamedTuple

import fastgraph as tf

collections_abc = collections.abc


class DeviceAttributes(NamedTuple):
    """A device, as `list_local_devices` describes it."""

    name: str
    device_type: str
    memory_limit: int
    incarnation: int
    physical_device_desc: str = ""


def list_local_devices(session_config: object = None) -> list[DeviceAttributes]:
    """Return the devices of this process."""
    devices = tf.config.list_logical_devices()
    return [DeviceAttributes(each.name, each.device_type, 256 << 20, i + 1) for i, each in enumerate(devices)]


def read_file_to_string(filename: str, binary_mode: bool = False) -> Any:
    """Return what is in a file, as text or bytes. Raises NotFoundError for one that is not there."""
    with tf.io.gfile.GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: str, file_content: str | bytes) -> None:
    """Write a file anew."""
    with tf.io.gfile.GFile(filename, "wb" if isinstance(file_content, bytes) else "w") as file:
        file.write(file_content)


def never(*args: object, **kwargs: object) -> bool:
    """Return False."""
    return False


def device(*args: object, **kwargs: object) -> Any:
    """Enter a context for a device: there is the CPU."""
    return contextlib.nullcontext()


def unchanged(*args: object, **kwargs: object) -> Any:
    """A decorator, with or without arguments, that leaves a test as it is."""
    if len(args) == 1 and callable(args[0]) and not kwargs:
        return args[0]
    return lambda test: test


def _skipping(reason: str) -> Callable[..., Any]:
    def decorator(*args: Callable[..., Any], **kwargs: object) -> Any:
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return unittest.skip(reason)(args[0])
        return unittest.skip(reason)

    return decorator


of_graphs = _skipping("There are no sessions.")
of_devices = _skipping("There is no such device.")
