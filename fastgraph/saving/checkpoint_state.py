"""The file `checkpoint` of a folder: which checkpoints there are, and which is the latest; and waiting for new ones.

Rule: it is put in its place whole, after the checkpoint that it names, and before one goes that it no longer names.
Source: TensorFlow's CheckpointState.
"""

from __future__ import annotations

import glob
import math
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from fastgraph.core.base.file_errors import raising_for
from fastgraph.core.base.logger import get_logger
from fastgraph.core.base.paths import local_path
from fastgraph.errors import OpError
from fastgraph.graphdef.message_types import KINDS
from fastgraph.saving.bundle_writer import sync_folder
from fastgraph.saving.folder_lock import left_behind, locked_folder

_NAME = "checkpoint"
_LINE = re.compile(r'\s*(\w+)\s*:\s*(?:"((?:[^"\\]|\\.)*)"|([-+.\w]+))\s*')
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def state_path(folder: str, latest_filename: str | None = None) -> str:
    """Return the path of the file."""
    return os.path.join(folder, latest_filename or _NAME)


def update_checkpoint_state(
    save_dir: Any,
    model_checkpoint_path: Any,
    all_model_checkpoint_paths: Any = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Any = None,
    last_preserved_timestamp: float | None = None,
    save_relative_paths: bool = True,
) -> None:
    """Write the file; paths in its folder relative to that, whatever `save_relative_paths` says.

    Raises RuntimeError if the checkpoint is named like the file, ValueError if times and paths differ in number.
    """
    folder, latest = local_path(save_dir), os.fspath(model_checkpoint_path)
    paths = [os.fspath(path) for path in all_model_checkpoint_paths or ()]
    times = [float(each) for each in all_model_checkpoint_timestamps or ()]
    if not paths or paths[-1] != latest:
        paths.append(latest)
    if times and len(times) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{paths} and timestamps {times})"
        )
    path = state_path(folder, latest_filename)
    if os.path.abspath(path) == os.path.abspath(latest):
        raise RuntimeError(
            f"Save path '{latest}' conflicts with path used for checkpoint state.  Please use a different save path."
        )
    state = KINDS["CheckpointState"](
        model_checkpoint_path=_relative(latest, folder),
        all_model_checkpoint_paths=[_relative(each, folder) for each in paths],
        all_model_checkpoint_timestamps=times,
    )
    if last_preserved_timestamp is not None:
        state.last_preserved_timestamp = last_preserved_timestamp
    write_whole(path, str(state).encode())


def _relative(path: str, folder: str) -> str:
    """A path as it is written: TensorFlow makes those relative that are absolute, or lie below a relative folder."""
    if os.path.isabs(path) or not os.path.isabs(folder):
        return os.path.relpath(path, folder or ".")
    return path


def write_whole(path: str, content: bytes) -> None:
    """Write a file beside its place, let it be on the disk, and put it there. Raises TensorFlow's errors."""
    temporary = f"{path}.tmp{secrets.token_hex(8)}"
    with locked_folder(path) as alone:
        try:
            with raising_for(path), open(temporary, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            with raising_for(path):
                os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        sync_folder(path)
        for left in glob.glob(glob.escape(path) + ".tmp" + "[0-9a-f]" * 16):  # by writing that did not finish
            if alone or left_behind(left, left):
                with suppress(OSError):
                    os.unlink(left)


def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> Any:
    """Return the CheckpointState of a folder, with whole paths; None if there is none, or it cannot be read.

    Raises ValueError if it names no latest checkpoint. Source: tf.train.get_checkpoint_state.
    """
    folder = local_path(checkpoint_dir)
    path = state_path(folder, latest_filename)
    if not os.path.exists(path):
        return None
    try:
        with raising_for(path), open(path, "rb") as file:
            state = _parsed(file.read())
    except (OpError, ValueError) as error:
        get_logger().warning("%s: %s", type(error).__name__, error)
        get_logger().warning("%s: Checkpoint ignored", path)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {folder}")
    state.model_checkpoint_path = os.path.join(folder, state.model_checkpoint_path)
    state.all_model_checkpoint_paths[:] = [os.path.join(folder, each) for each in state.all_model_checkpoint_paths]
    return state


def _parsed(content: bytes) -> Any:
    """The CheckpointState of a text. Raises ValueError for what is none."""
    state = KINDS["CheckpointState"]()
    text = content.decode("utf-8", "surrogateescape")
    at = 0
    while at < len(text.rstrip()):
        found = _LINE.match(text, at)
        if found is None:
            raise ValueError(f"no field begins at character {at}")
        at = found.end()
        name, quoted, number = found.groups()
        field = type(state)._fields.get(name)
        if field is None:
            raise ValueError(f"there is no field {name}")
        if (field.kind == "text") != (quoted is not None):
            raise ValueError(f"{name} has a value of another kind")
        value: Any = float(number) if quoted is None else _unescaped(quoted)
        if field.repeated:
            getattr(state, name).append(value)
        else:
            setattr(state, name, value)
    return state


def _unescaped(text: str) -> str:
    def plain(found: re.Match[bytes]) -> bytes:
        code = found[1]
        if code[:1].isdigit():
            return bytes([int(code, 8) & 255])
        if code[:1] == b"x" and len(code) > 1:
            return bytes([int(code[1:], 16)])
        return _LETTERS.get(code, code)

    return _ESCAPE.sub(plain, text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def checkpoint_exists(checkpoint_prefix: Any) -> bool:
    """Return whether there is a checkpoint of this prefix."""
    return os.path.exists(local_path(checkpoint_prefix) + ".index")


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """Return the prefix of the latest checkpoint in a folder, None if there is none.

    Source: tf.train.latest_checkpoint.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    path: str = state.model_checkpoint_path
    if checkpoint_exists(path) or os.path.exists(path):
        return path
    get_logger().error("Couldn't match files for checkpoint %s", path)
    return None


def checkpoints_iterator(
    checkpoint_dir: Any,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], Any] | None = None,
) -> Iterator[str]:
    """Yield the latest checkpoint of a folder, and each that is the latest when the next is asked for.

    It ends when there was none for `timeout` seconds, if `timeout_fn` is not given or returns what is true. Source:
    tf.train.checkpoints_iterator.
    """
    last = None
    while True:
        found = _next_checkpoint(checkpoint_dir, last, math.inf if timeout is None else timeout)
        if found is not None:
            begin = time.time()
            last = found
            yield found
            left = begin + min_interval_secs - time.time()
            if left > 0:
                time.sleep(left)
        elif timeout_fn is None:
            return
        if timeout_fn is not None and timeout_fn():
            return


def _next_checkpoint(folder: Any, last: str | None, timeout: float) -> str | None:
    """Wait for a latest checkpoint that is not `last`; None if there is none in time."""
    end = time.time() + timeout
    while True:
        path = latest_checkpoint(folder)
        if path is not None and path != last:
            return path
        if time.time() + 1 > end:
            return None
        time.sleep(1)
