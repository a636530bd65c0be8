"""tf.train.CheckpointManager: numbered checkpoints in a folder, of which the latest are kept.

Rule: the file `checkpoint` names what there is before anything goes, and no longer names it afterwards. Source:
tf.train.CheckpointManager.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from fastgraph.core import replicas
from fastgraph.core.base.logger import get_logger
from fastgraph.core.base.paths import local_path
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.saving.bundle_writer import remove_bundle, sweep_numbered
from fastgraph.saving.checkpoint import Checkpoint, CheckpointOptions, with_callback
from fastgraph.saving.checkpoint_state import checkpoint_exists, get_checkpoint_state, update_checkpoint_state


class CheckpointManager:
    """Keeps the latest checkpoints of a folder. Source: tf.train.CheckpointManager.

    Args:
        checkpoint: What is saved.
        directory: The folder; what an earlier manager kept there goes on being kept.
        max_to_keep: How many; None: all.
        keep_checkpoint_every_n_hours: Of those that would go, one in so many hours stays for ever.
        checkpoint_name: What their names begin with.
        step_counter, checkpoint_interval: `save` does nothing before so many steps have passed.
        init_fn: What `restore_or_initialize` calls where there is no checkpoint.
        last_checkpoint_step: The step of the last checkpoint, for the interval.

    Raises:
        ValueError: `max_to_keep` is not positive, or there is an interval and no counter.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not None.")
        self._checkpoint = checkpoint
        self._directory = local_path(directory)
        self._max_to_keep = max_to_keep
        self._hours = keep_checkpoint_every_n_hours
        self._name = checkpoint_name
        self._step_counter, self._interval, self._last_step = step_counter, checkpoint_interval, last_checkpoint_step
        self._init_fn = init_fn
        self._kept: dict[str, float] = {}  # path -> when, the oldest first
        self._gone: dict[str, float] = {}  # whose end was cut short before they were no longer named
        self._latest: str | None = None
        now = time.time()
        self._preserved = now - 1.0  # when the last one was written that stays for ever
        state = get_checkpoint_state(self._directory)
        if state is not None:
            self._latest = state.model_checkpoint_path
            self._preserved = state.last_preserved_timestamp
            if now < self._preserved:
                behind = self._preserved - now
                get_logger().warning(
                    "time.time() returned a value %f seconds behind the last preserved checkpoint timestamp.", behind
                )
                self._preserved = now
            paths = state.all_model_checkpoint_paths
            times = state.all_model_checkpoint_timestamps or [self._preserved] * len(paths)
            for path, when in zip(paths, times, strict=False):
                if min(when, now) > self._preserved:
                    (self._kept if checkpoint_exists(path) else self._gone)[path] = min(when, now)

    directory = ReadOnly[str]("_directory", "The folder.")
    checkpoint = ReadOnly[Checkpoint]("_checkpoint", "The checkpoint that is saved.")

    checkpoint_interval = ReadOnly[int | None]("_interval", "The least number of steps between two checkpoints.")
    latest_checkpoint = ReadOnly[str | None]("_latest", "The path of the latest checkpoint, None if there is none.")

    @property
    def checkpoints(self) -> list[str]:
        """The paths of those that are kept for now, the oldest first."""
        return list(self._kept)

    @property
    def _prefix(self) -> str:
        return os.path.join(self._directory, self._name)

    def save(
        self, checkpoint_number: Any = None, check_interval: bool = True, options: CheckpointOptions | None = None
    ) -> str | None:
        """Write a checkpoint, then remove what is over the number; return its path, None if it is not time yet.

        checkpoint_number: Its number, instead of the save counter's. Raises as `Checkpoint.save`.
        """
        if self._interval is not None:
            step = int(self._step_counter)
            last = self._last_step
            if last is not None and (step == last or (check_interval and step < last + self._interval)):
                return None
            self._last_step = step
        counter = self._checkpoint.save_counter
        counter.assign_add(1)
        number = int(counter if checkpoint_number is None else checkpoint_number)
        return self._checkpoint._write_numbered(f"{self._prefix}-{number}", with_callback(options, self._rotate))

    def _rotate(self, path: str) -> None:
        """Note that a checkpoint is there, and let those go that are too many."""
        self._kept.pop(path, None)
        self._gone.pop(path, None)
        self._kept[path] = time.time()
        self._latest = path
        self._record()
        known = len(self._gone) + len(self._kept)
        while self._gone:
            left, _ = self._gone.popitem()
            if replicas.writes(left):
                remove_bundle(left)
        while self._max_to_keep and len(self._kept) > self._max_to_keep:
            oldest = next(iter(self._kept))
            when = self._kept.pop(oldest)
            if self._hours and when - self._hours * 3600.0 >= self._preserved:
                self._preserved = when
            elif replicas.writes(oldest):
                remove_bundle(oldest)
        if len(self._kept) < known:
            self._record()
        if replicas.writes(self._prefix):
            sweep_numbered(self._prefix)

    def _record(self) -> None:
        """Name what there is; also what is to go, for a process that ends before all of its files are gone."""
        if not replicas.writes(self._prefix):
            return
        update_checkpoint_state(
            self._directory,
            self._latest,
            [*self._gone, *self._kept],
            all_model_checkpoint_timestamps=[*self._gone.values(), *self._kept.values()],
            last_preserved_timestamp=self._preserved,
        )

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint and return its path; without one call `init_fn` and return None."""
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            if self._interval is not None:
                self._last_step = int(self._step_counter)
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
            get_logger().info("Customized initialization is done through the passed `init_fn`.")
        return None

    def sync(self) -> None:
        """Wait for what is being written."""
        self._checkpoint.sync()
