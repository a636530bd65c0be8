"""tf.train.Checkpoint: the values of objects, in files and back.

Rule: what a checkpoint keeps is the values at the moment of the call, whenever they are written. Source:
tf.train.Checkpoint.
"""

from __future__ import annotations

import copy
import inspect
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core import replicas
from fastgraph.core.base.dtype import as_dtype, int64, string
from fastgraph.core.base.logger import get_logger
from fastgraph.core.base.paths import local_path
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import Tensor, executing_eagerly, init_scope
from fastgraph.errors import NotFoundError
from fastgraph.graphdef.wire_format import serialized
from fastgraph.saving.checkpoint_reader import object_graph, open_checkpoint
from fastgraph.saving.checkpoint_state import update_checkpoint_state
from fastgraph.saving.checkpoint_status import CheckpointLoadStatus, InitializationOnlyStatus, NameBasedSaverStatus
from fastgraph.saving.object_graph import OBJECT_GRAPH, ObjectGraph
from fastgraph.saving.restoration import Position, Restoration
from fastgraph.saving.sharding import bundle_of
from fastgraph.state.tracking import AutoTrackable, NoDependency, arrived, links_of, tracked
from fastgraph.state.variable import Variable


class CheckpointOptions:
    """Options of the writing and reading of checkpoints. Source: tf.train.CheckpointOptions.

    Args:
        experimental_io_device: Taken and without effect: there is one.
        experimental_sharding_callback: A tf.train.experimental.ShardingCallback, which says what is in which data file.
        experimental_enable_async_checkpoint, enable_async: Whether `save` returns before the files are there.
        experimental_write_callbacks: Functions called when a checkpoint is written, with its path if they take one.
        experimental_skip_slot_variables: Whether `restore` leaves the slots of optimizers out.
    """

    __slots__ = (
        "enable_async", "experimental_enable_async_checkpoint", "experimental_io_device",
        "experimental_sharding_callback", "experimental_skip_slot_variables", "experimental_write_callbacks",
    )  # fmt: skip

    def __init__(
        self,
        experimental_io_device: Any = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: list[Callable[..., Any]] | None = None,
        enable_async: bool = False,
        experimental_skip_slot_variables: bool = False,
        experimental_sharding_callback: Any = None,
    ) -> None:
        self.experimental_io_device = experimental_io_device
        self.enable_async = self.experimental_enable_async_checkpoint = (
            experimental_enable_async_checkpoint or enable_async
        )
        for callback in experimental_write_callbacks or ():
            if _n_parameters(callback) > 1:
                raise AssertionError(f"A callback takes the path or nothing: {callback}")
        self.experimental_write_callbacks = experimental_write_callbacks
        self.experimental_skip_slot_variables = experimental_skip_slot_variables
        self.experimental_sharding_callback = experimental_sharding_callback

    def __copy__(self) -> CheckpointOptions:
        options = CheckpointOptions(**{name: getattr(self, name) for name in self.__slots__})
        options.enable_async = self.enable_async
        if options.experimental_write_callbacks is not None:
            options.experimental_write_callbacks = list(options.experimental_write_callbacks)
        return options


def _n_parameters(callback: Callable[..., Any]) -> int:
    return len(inspect.signature(callback).parameters)


class Checkpoint(AutoTrackable):
    """Keeps the values of objects in files, and brings them back. Source: tf.train.Checkpoint.

    Args:
        root: The object whose dependencies are kept; None: the Checkpoint itself, that is `kwargs`.
        kwargs: Objects by name: Variables, Modules, layers, optimizers, iterators, generators, tables, and lists, dicts
            and tuples of such.

    Raises:
        ValueError: One of them cannot be kept, or the root has another object of such a name.

    Examples:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> x = tf.Variable(2.0)
        >>> checkpoint = tf.train.Checkpoint(x=x)
        >>> path = checkpoint.save(folder + "/ckpt")
        >>> x.assign(11.0)
        <tf.Variable 'UnreadVariable' shape=() dtype=float32, numpy=11.0>
        >>> status = checkpoint.restore(tf.train.latest_checkpoint(folder))
        >>> status.assert_consumed() is status, x.numpy()
        (True, np.float32(2.0))
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        attached: dict[str, Any] | None = None
        self._save_counter: Any = None  # a Variable, once there is one
        self._background: _Background | None = None
        top: Any = root() if isinstance(root, weakref.ref) else root
        if root is not None:
            _assert_trackable(top, "root")
            attached = {}
            kwargs["root"] = root
            self._save_counter = NoDependency(top._lookup_dependency("save_counter"))
        for name, value in sorted(kwargs.items()):
            setattr(self, name, value)
            value = value() if isinstance(value, weakref.ref) else getattr(self, name)
            _assert_trackable(value, name)
            if attached is not None and tracked(value):
                known = top._lookup_dependency(name)
                if known is None:
                    attached[name] = weakref.ref(value) if value is top else value
                elif known is not value:
                    raise ValueError(
                        f"Cannot create a Checkpoint with keyword argument {name} if root.{name} already exists."
                    )
        self.__dict__["_top"] = root
        self.__dict__["_attached"] = attached

    def _root(self) -> Any:
        top = self.__dict__["_top"]
        return self if top is None else top() if isinstance(top, weakref.ref) else top

    def _graph(self) -> ObjectGraph:
        return ObjectGraph(self._root(), _there(self.__dict__["_attached"]))

    @property
    def save_counter(self) -> Variable:
        """The number of times `save` was called: a Variable int64, which numbers the checkpoints."""
        if self._save_counter is None:
            with init_scope():
                counter = Variable(0, dtype=int64, trainable=False, name="save_counter")
            self._save_counter = NoDependency(counter)
            attached = self.__dict__["_attached"]
            if attached is None:
                self._track_trackable(counter, "save_counter")
            else:
                attached["save_counter"] = counter
                arrived(links_of(self._root()), "save_counter", counter)
        found: Variable = self._save_counter
        return found

    # Writing.

    def save(self, file_prefix: Any, options: CheckpointOptions | None = None) -> str:
        """Write a checkpoint with the next number and make it the latest of its folder; return its path.

        Raises NotImplementedError in a Function, and TensorFlow's errors for what the system refuses: then all is as
        before. Source: tf.train.Checkpoint.save.
        """
        if not executing_eagerly():
            raise NotImplementedError(
                "Calling tf.train.Checkpoint.save() from a function is not supported, as save() modifies saving "
                "metadata in ways not supported by TensorFlow Operations. Consider using tf.train.Checkpoint.write(), "
                "a lower-level API which does not update metadata. tf.train.latest_checkpoint and related APIs will "
                "not see this checkpoint."
            )
        prefix = local_path(file_prefix) if isinstance(file_prefix, str | os.PathLike) else str(file_prefix)
        number = int(self.save_counter.assign_add(1))
        return self._write_numbered(f"{prefix}-{number}", with_callback(options, _make_latest))

    def _write_numbered(self, path: str, options: CheckpointOptions) -> str:
        """Write under a number; give it back if that cannot be done."""
        try:
            written: str = self._write(path, options)
        except BaseException:
            self.save_counter.assign_sub(1)
            raise
        return written

    def write(self, file_prefix: Any, options: CheckpointOptions | None = None) -> Any:
        """Write a checkpoint under just this path, to be read by `read`; return the path.

        In a Function it is written in every call. Source: tf.train.Checkpoint.write.
        """
        return self._write(file_prefix, options)

    def _write(self, file_prefix: Any, options: CheckpointOptions | None = None) -> Any:
        options = options or CheckpointOptions()
        message, found = self._graph().tensors()
        tensors = {key: _now(value) for key, value in found.items()}
        tensors[OBJECT_GRAPH] = np.array(serialized(message), object)
        callbacks, sharding = options.experimental_write_callbacks or (), options.experimental_sharding_callback
        if not executing_eagerly():
            return _written_in_calls(file_prefix, tensors, callbacks, sharding)
        path = local_path(file_prefix.numpy() if isinstance(file_prefix, Tensor) else file_prefix)
        if options.enable_async:
            if self._background is None:
                self.__dict__["_background"] = _Background()
            self._background.start(lambda: write_checkpoint(path, tensors, callbacks, sharding))  # type: ignore[union-attr]
        else:
            self.sync()
            write_checkpoint(path, tensors, callbacks, sharding)
        return path

    def sync(self) -> None:
        """Wait for what is being written. Raises what went wrong with it."""
        if self._background is not None:
            self._background.wait()

    # Reading.

    def read(self, save_path: Any, options: CheckpointOptions | None = None) -> Any:
        """Bring back the values of a checkpoint that `write` wrote; see `restore`. Source: tf.train.Checkpoint.read."""
        self.sync()
        if save_path is None:
            return InitializationOnlyStatus()
        skip = options is not None and options.experimental_skip_slot_variables
        with init_scope():
            reader = open_checkpoint(save_path)
            message = object_graph(reader)
            if message is None:
                return NameBasedSaverStatus(reader, self._graph)
            run = Restoration(reader, message, skip)
            root = self._root()
            run.bind(0, root)
            attached = self.__dict__["_attached"]
            run.run([(Position(run, 0), root)], _there(attached))
        top = weakref.ref(root)
        return CheckpointLoadStatus(run, lambda: ObjectGraph(top(), _there(attached), not skip), root)

    def restore(self, save_path: Any, options: CheckpointOptions | None = None) -> Any:
        """Bring back the values of a checkpoint that `save` wrote, at once or when their objects come to be.

        All is read and checked before anything changes. Returns a status, with which a program asks whether all values
        and objects have found each other: `assert_consumed()`, `assert_existing_objects_matched()`,
        `expect_partial()`. None as a path restores nothing.

        Raises:
            NotFoundError: There is no such checkpoint.
            DataLossError: It is damaged; the error names the key.
            ValueError: A shape does not fit. InvalidArgumentError: a dtype.
        """
        counter = self.save_counter  # before anything else is set: its value may be the one that is damaged
        try:
            status = self.read(save_path, options)
        except NotFoundError as error:
            raise NotFoundError(
                None, None,
                f"Error when restoring from checkpoint or SavedModel at {save_path}: {error.message}\nPlease "
                "double-check that the path is correct. You may be missing the checkpoint suffix (e.g. the '-1' in "
                "'path/to/ckpt-1').",
            ) from None  # fmt: skip
        if isinstance(status, NameBasedSaverStatus):
            status.add_to_optionally_restored(counter)
        return status


def _there(attached: dict[str, Any] | None) -> dict[str, Any]:
    """The object attached to a root; to itself it is so weakly."""
    pairs = (attached or {}).items()
    return {name: value() if isinstance(value, weakref.ref) else value for name, value in pairs}


def _now(value: Any) -> Any:
    """A tensor as it is now, whatever becomes of what it was given as."""
    return value if isinstance(value, Tensor) else convert_to_tensor(value)


def _assert_trackable(value: Any, name: str) -> None:
    if not tracked(value) and not hasattr(value, "get_concrete_function"):  # a Function has no values of its own
        raise ValueError(
            f"`Checkpoint` was expecting {name} to be a trackable object (an object derived from `Trackable`), got "
            f"{value}. If you believe this object should be trackable (i.e. it is part of the TensorFlow Python API "
            "and manages state), please open an issue."
        )


def _make_latest(path: str) -> None:
    if replicas.writes(path):
        update_checkpoint_state(os.path.dirname(path), path, [path])


def with_callback(options: CheckpointOptions | None, callback: Callable[[str], Any]) -> CheckpointOptions:
    """Return options that call one function more when a checkpoint is written."""
    changed = copy.copy(options) if options is not None else CheckpointOptions()
    changed.experimental_write_callbacks = [*(changed.experimental_write_callbacks or ()), callback]
    return changed


def write_checkpoint(path: str, tensors: dict[str, Any], callbacks: Any = (), sharding: Any = None) -> None:
    """Write tensors by their keys as a checkpoint, in the files that a policy says, then call the callbacks."""
    if replicas.writes(path):
        _write_bundle(path, tensors, sharding)
    for callback in callbacks:
        callback(*[path][: _n_parameters(callback)])


def _write_bundle(path: str, tensors: dict[str, Any], sharding: Any) -> None:
    with bundle_of(path, tensors, sharding) as writer:
        writer.finish()


def _written_in_calls(prefix: Any, tensors: dict[str, Any], callbacks: Any, sharding: Any) -> Any:
    """A tensor of the path, which a Function's call gives once it has written the values of that moment."""
    keys = list(tensors)
    dtypes = [as_dtype(tensors[key].dtype) for key in keys]

    def write(path: Any, *values: Any) -> Any:
        arrays = [np.asarray(value, dtype.numpy_dtype) for value, dtype in zip(values, dtypes, strict=True)]
        name = np.asarray(path).item()
        write_checkpoint(
            name.decode() if isinstance(name, bytes) else name,
            dict(zip(keys, arrays, strict=True)),
            callbacks,
            sharding,
        )
        return np.array(name, object)

    return public_function("numpy_function")(write, [prefix, *tensors.values()], string)


class _Background:
    """Writes one checkpoint after the other while the program goes on."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def start(self, write: Callable[[], None]) -> None:
        """Write when what was begun before is there. Raises what went wrong with that."""
        self.wait()

        def run() -> None:
            try:
                write()
            except BaseException as error:
                self._error = error
                get_logger().error("A checkpoint could not be written: %s", error)

        self._thread = threading.Thread(target=run, name="fastgraph-checkpoint")  # the process waits for it at its end
        self._thread.start()

    def wait(self) -> None:
        """Wait until nothing is being written. Raises what went wrong."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error

    def __deepcopy__(self, memo: Any) -> _Background:
        return _Background()
