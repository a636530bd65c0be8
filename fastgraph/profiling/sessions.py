"""tf.profiler.experimental: recordings that are written below a log directory, by TensorFlow's names.

Rule: this module decides only where files go; `fastgraph.profiling.recording` does the rest. A run's files are
<logdir>/plugins/profile/<time>/<host>.xplane.pb, which TensorBoard's profile plugin shows, <host>.trace.json.gz for
Perfetto, and <host>.kernels.txt.
"""

from __future__ import annotations

import atexit
import os
import socket
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fastgraph import errors
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.paths import local_path
from fastgraph.profiling.recording import Recording, record, write_whole
from fastgraph.profiling.xplane import xspace
from fastgraph.runtime import executor


@without({"its fields, by their names": "count index"})
@dataclass(frozen=True)
class ProfilerOptions:
    """Taken as TensorFlow takes it; the levels change nothing. Source: tf.profiler.experimental.ProfilerOptions."""

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


@dataclass
class _Session:
    folder: Path
    block: AbstractContextManager[Recording]
    recording: Recording


_session: _Session | None = None


def start(logdir: str | os.PathLike[str], options: ProfilerOptions | None = None) -> None:
    """Begin to record; `stop()` writes the files below `logdir`. Source: tf.profiler.experimental.start.

    Raises AlreadyExistsError if a recording is under way, and what the file system says if `logdir` cannot be made.
    """
    global _session
    folder = Path(local_path(logdir)) / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
    if _session is not None:
        raise errors.AlreadyExistsError(None, None, "Another profiler is running: call tf.profiler.experimental.stop()")
    folder.mkdir(parents=True, exist_ok=True)
    block = record()
    try:
        recording = block.__enter__()
    except RuntimeError as error:
        raise errors.AlreadyExistsError(None, None, f"Another profiler is running: {error}") from None
    _session = _Session(folder, block, recording)


def stop(save: bool = True) -> None:
    """End the recording and write its files, unless `save` is False. Source: tf.profiler.experimental.stop.

    Raises UnavailableError if none is under way.
    """
    global _session
    if _session is None:
        raise errors.UnavailableError(None, None, "Cannot export profiling results. No profiler is running.")
    session, _session = _session, None
    session.block.__exit__(None, None, None)
    if save:
        host = socket.gethostname()
        session.folder.mkdir(parents=True, exist_ok=True)  # which someone may have tidied away meanwhile
        session.recording.save(session.folder / f"{host}.trace.json.gz")
        write_whole(session.folder / f"{host}.xplane.pb", xspace(session.recording.timeline(), host))
        write_whole(session.folder / f"{host}.kernels.txt", (session.recording.table(100) + "\n").encode())


@atexit.register
def _drop() -> None:
    """End what a program has left running, while Python can still import: nothing is written, as in TensorFlow."""
    if _session is not None:
        stop(save=False)


class Profile:
    """A block that is recorded: `with Profile("logdir"): ...`. Source: tf.profiler.experimental.Profile."""

    def __init__(self, logdir: str | os.PathLike[str], options: ProfilerOptions | None = None) -> None:
        self._logdir = logdir
        self._options = options

    def __enter__(self) -> None:
        start(self._logdir, self._options)

    def __exit__(self, *exception: object) -> None:
        stop()


class Trace:
    """A named stretch of the program in the timeline: `with Trace("train", step_num=3): ...`.

    Costs next to nothing while nothing is recorded. Source: tf.profiler.experimental.Trace.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._name = name
        self._arguments = {key: value for key, value in kwargs.items() if key != "_r"}
        self._begin = 0

    def __enter__(self) -> Self:
        self._begin = executor.clock()
        return self

    def set_metadata(self, **kwargs: object) -> None:
        """Add values to show with the stretch."""
        self._arguments.update(kwargs)

    def __exit__(self, *exception: object) -> None:
        session = _session  # another thread may stop it
        if session is not None:
            session.recording.mark(self._name, self._begin, executor.clock(), **self._arguments)
