"""tf.keras.callbacks: what is called between the steps and epochs of `fit`, `evaluate` and `predict`.

Rule: a callback sees the model and numbers, and changes training by what it sets on the model.
"""

from __future__ import annotations

import base64
import csv
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph.api.namespaces import lookup
from fastgraph.core.base.logger import get_logger
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.paths import local_path
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.replicas import process
from fastgraph.graphdef.serialized_tensors import parse_tensor, serialize_tensor
from fastgraph.keras.callback_list import Callback, CallbackList, History, Logs, ProgbarLogger
from fastgraph.ops.random_states import generators
from fastgraph.saving.checkpoint import Checkpoint
from fastgraph.saving.checkpoint_state import checkpoint_exists
from fastgraph.state.distributed import SyncOnReadVariable
from fastgraph.state.variable import Variable
from fastgraph.summaries import summary_ops, writers

__all__ = [
    "BackupAndRestore",
    "CSVLogger",
    "Callback",
    "CallbackList",
    "EarlyStopping",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "ModelCheckpoint",
    "ProgbarLogger",
    "ReduceLROnPlateau",
    "TensorBoard",
    "TerminateOnNaN",
]

__getattr__, __dir__ = lookup("keras.callbacks")


class LambdaCallback(Callback):
    """A callback of functions, given by the names of the hooks. Source: tf.keras.callbacks.LambdaCallback."""

    def __init__(self, **hooks: Callable[..., Any] | None) -> None:
        super().__init__()
        for name, function in hooks.items():
            if not (name.startswith("on_") and hasattr(Callback, name)):
                raise TypeError(f"LambdaCallback has no hook {name!r}.")
            if function is not None:
                setattr(self, name, function)


def _is_chief(model: Any) -> bool:
    """Return whether this process is the one of several that writes files."""
    strategy = getattr(model, "_strategy", None)
    return strategy is None or bool(strategy.extended.should_checkpoint)


class _Watching(Callback):
    """The base of callbacks that look at one logged value: its name, and which values are better."""

    def __init__(self, monitor: str, mode: str, min_delta: float = 0.0, best: float | None = None) -> None:
        super().__init__()
        if mode not in ("auto", "min", "max"):
            get_logger().warning("%s mode %s is unknown, fallback to auto mode.", type(self).__name__, mode)
            mode = "auto"
        rising = mode == "max" or (
            mode == "auto" and (monitor.endswith(("acc", "accuracy", "auc")) or monitor.startswith("fmeasure"))
        )
        self.monitor = monitor
        self.min_delta = abs(min_delta) if rising else -abs(min_delta)
        self.monitor_op = np.greater if rising else np.less
        self._worst = -np.inf if rising else np.inf
        self.best = self._worst if best is None else best

    def _value(self, logs: Logs) -> Any:
        """The logged value, or None after a warning that names those there are."""
        value = (logs or {}).get(self.monitor)
        if value is None:
            get_logger().warning(
                "%s conditioned on metric `%s` which is not available. Available metrics are: %s",
                type(self).__name__, self.monitor, ",".join(logs or ()),
            )  # fmt: skip
        return value

    def _better(self, value: float, than: float) -> bool:
        return bool(self.monitor_op(value - self.min_delta, than))


@without({"the logs that on_epoch_end is given": "get_monitor_value"})
class EarlyStopping(_Watching):
    """Stop training when a logged value has not become better for `patience` epochs.

    min_delta: what counts as better. baseline: a value that is to be reached. restore_best_weights: end with the best
    epoch's weights. start_from_epoch: epochs before it do not count. Source: tf.keras.callbacks.EarlyStopping.
    """

    def __init__(
        self, monitor: str = "val_loss", min_delta: float = 0, patience: int = 0, verbose: int = 0, mode: str =
        "auto", baseline: float | None = None, restore_best_weights: bool = False, start_from_epoch: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(monitor, mode, min_delta)
        self.patience = patience
        self.verbose = verbose
        self.baseline = baseline
        self.restore_best_weights = restore_best_weights
        self.start_from_epoch = start_from_epoch
        self._begin()

    def _begin(self) -> None:
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best = self._worst
        self.best_weights: Any = None

    def on_train_begin(self, logs: Logs = None) -> None:
        """Begin anew."""
        self._begin()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Look at the value."""
        value = self._value(logs)
        if value is None or epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights, self.best_epoch = self.model.get_weights(), epoch
        self.wait += 1
        if self._better(value, self.best):
            self.best, self.best_epoch = value, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._better(value, self.baseline):
                self.wait = 0
            return
        if self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs: Logs = None) -> None:
        """Say when it stopped, and take the best weights back, also where it did not."""
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping")
        if self.restore_best_weights and self.best_weights is not None:
            if self.verbose > 0:
                print(f"Restoring model weights from the end of the best epoch: {self.best_epoch + 1}.")
            self.model.set_weights(self.best_weights)


class ModelCheckpoint(_Watching):
    """Save the model or its weights after each epoch, or `save_freq` steps; with `save_best_only` when they are better.

    filepath: where to, with the epoch and logged values as "weights-{epoch:02d}-{val_loss:.2f}". A file is whole or it
    is the one before. Source: tf.keras.callbacks.ModelCheckpoint.
    """

    def __init__(
        self, filepath: str | os.PathLike[str], monitor: str = "val_loss", verbose: int = 0, save_best_only: bool =
        False, save_weights_only: bool = False, mode: str = "auto", save_freq: int | str = "epoch", options: object
        = None, initial_value_threshold: float | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(monitor, mode, best=initial_value_threshold)
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}. Expected save_freq are 'epoch' or integer values.")
        self.filepath = local_path(filepath)
        self.verbose = verbose
        self.save_best_only = save_best_only
        self.save_weights_only = save_weights_only
        self.save_freq = save_freq
        self.epochs_since_last_save = 0
        self._steps = 0
        self._epoch = 0
        if isinstance(save_freq, int):
            self.on_train_batch_end = self._after_step  # type: ignore[method-assign]

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Take note of the epoch."""
        self._epoch = epoch

    def _after_step(self, batch: int, logs: Logs = None) -> None:
        self._steps += 1
        if self._steps >= self.save_freq:  # type: ignore[operator]
            self._steps = 0
            self._save(self._epoch, logs, batch)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Save if it is time."""
        if self.save_freq == "epoch":
            self._save(epoch, logs)

    def _save(self, epoch: int, logs: Logs, batch: int | None = None) -> None:
        logs = logs or {}
        try:
            step = {} if batch is None else {"batch": batch + 1}
            path = self.filepath.format(epoch=epoch + 1, **step, **logs)
        except KeyError as error:
            raise KeyError(
                f'Failed to format this callback filepath: "{self.filepath}". Reason: {error}; logged are {list(logs)}.'
            ) from error
        if self.save_best_only:
            value = self._value(logs)
            if value is None:
                return
            if not self._better(value, self.best):
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1}: {self.monitor} did not improve from {self.best:.5f}")
                return
            if self.verbose > 0:
                print(
                    f"\nEpoch {epoch + 1}: {self.monitor} improved from {self.best:.5f} to {value:.5f}, "
                    f"saving model to {path}"
                )
            self.best = value
        elif self.verbose > 0:
            print(f"\nEpoch {epoch + 1}: saving model to {path}")
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path)


class LearningRateScheduler(Callback):
    """Set the learning rate before each epoch to schedule(epoch, rate). Source: tf.keras.callbacks."""

    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        super().__init__()
        self.schedule = schedule
        self.verbose = verbose

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Set the rate."""
        try:
            rate = self.schedule(epoch, float(self.model.optimizer.learning_rate.numpy()))
        except TypeError:
            rate = self.schedule(epoch)
        if not isinstance(rate, (float, np.floating)) and not hasattr(rate, "numpy"):
            raise ValueError(f'The output of the "schedule" function should be float. Got: {rate}')
        self.model.optimizer.learning_rate = float(rate)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {float(rate)}.")

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Log the rate as "lr"."""
        if logs is not None:
            logs["lr"] = float(self.model.optimizer.learning_rate.numpy())


@without({"`cooldown_counter`": "in_cooldown"})
class ReduceLROnPlateau(_Watching):
    """Times `factor` the learning rate when a logged value has not become better for `patience` epochs.

    cooldown: how many epochs after it do not count. min_lr: the least rate. Source: tf.keras.callbacks.
    """

    def __init__(
        self, monitor: str = "val_loss", factor: float = 0.1, patience: int = 10, verbose: int = 0, mode: str = "auto",
        min_delta: float = 1e-4, cooldown: int = 0, min_lr: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(monitor, mode, min_delta)
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau does not support a factor >= 1.0. Got {factor}")
        self.factor, self.patience, self.verbose, self.cooldown, self.min_lr = (
            factor,
            patience,
            verbose,
            cooldown,
            min_lr,
        )
        self.wait = self.cooldown_counter = 0

    def on_train_begin(self, logs: Logs = None) -> None:
        """Begin anew."""
        self.best, self.wait, self.cooldown_counter = self._worst, 0, 0

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Look at the value."""
        rate = float(self.model.optimizer.learning_rate.numpy())
        if logs is not None:
            logs["lr"] = rate
        value = self._value(logs)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self._better(value, self.best):
            self.best, self.wait = value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience and rate > np.float32(self.min_lr):
                self.model.optimizer.learning_rate = new = max(rate * self.factor, self.min_lr)
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {new}.")
                self.cooldown_counter, self.wait = self.cooldown, 0


class CSVLogger(Callback):
    """Write the values of each epoch as a line of a file. Source: tf.keras.callbacks.CSVLogger."""

    def __init__(self, filename: str | os.PathLike[str], separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename, self.sep, self.append = local_path(filename), separator, append
        self._file: Any = None
        self._names: list[str] = []

    def on_train_begin(self, logs: Logs = None) -> None:
        """Open the file."""
        self._old = self.append and os.path.exists(self.filename) and os.path.getsize(self.filename) > 0
        self._file = open(self.filename, "a" if self.append else "w", newline="", encoding="utf-8")  # noqa: SIM115
        self._names = []

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Write a line, before the first one the names."""
        logs = logs or {}
        writer = csv.writer(self._file, delimiter=self.sep, lineterminator="\n")
        if not self._names:
            self._names = sorted(logs)
            if not any(name.startswith("val_") for name in logs):  # which may come in later epochs only
                self._names += [f"val_{name}" for name in self._names]
            if not self._old:
                writer.writerow(["epoch", *self._names])
        shown = (logs.get(name, "NA") for name in self._names)
        writer.writerow([epoch, *(value if isinstance(value, str) else float(value) for value in shown)])
        self._file.flush()

    def on_train_end(self, logs: Logs = None) -> None:
        """Close the file."""
        self._file.close()


class BackupAndRestore(Callback):
    """Write model and optimizer after each epoch (or `save_freq` steps), and go on from there when `fit` begins again.

    How far streams of random numbers are is written as well, and data goes on in the order of a run without a fault:
    what comes before is run through, but for a generator that was taken from. In the middle of an epoch metrics begin
    anew. The files are deleted when training has ended, unless not `delete_checkpoint`. Source: tf.keras.callbacks.
    """

    def __init__(
        self, backup_dir: str | os.PathLike[str], save_freq: int | str = "epoch", delete_checkpoint: bool = True,
        save_before_preemption: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}. Expected save_freq are 'epoch' or integer values.")
        self.backup_dir, self.save_freq, self.delete_checkpoint = local_path(backup_dir), save_freq, delete_checkpoint
        self._prefix = os.path.join(self.backup_dir, "chief", "ckpt")
        self._steps = 0
        if isinstance(save_freq, int):
            self.on_train_batch_end = self._after_step  # type: ignore[method-assign]

    def on_train_begin(self, logs: Logs = None) -> None:
        """Read what a training before has left."""
        self._epoch = Variable(-1, dtype="int64", trainable=False)  # the last whole one
        self._batch = Variable(-1, dtype="int64", trainable=False)  # the last one of the epoch after it
        self._streams = Variable("", dtype="string", trainable=False)  # of random numbers, a line for each process
        self._checkpoint = Checkpoint(
            model=self.model, epoch=self._epoch, batch=self._batch, random_streams=self._streams
        )
        if checkpoint_exists(self._prefix):
            self._checkpoint.read(self._prefix)
            self.model._resumed_epoch = int(self._epoch.numpy()) + 1
            self.model._resumed_batch = int(self._batch.numpy()) + 1
            if lines := self._streams.numpy().splitlines():
                replicas, streams, calls, own = json.loads(lines[min(process.number, len(lines) - 1)])
                generators.go_to(streams)
                for layer, count in zip(self.model._flatten_layers(), calls, strict=False):
                    layer._random_ops = count
                copies = self._copies()
                if len(copies) == len(own) and replicas == self._replicas():
                    for copy, value in zip(copies, own, strict=True):
                        copy.assign(parse_tensor(base64.b64decode(value), copy.dtype))

    def _after_step(self, batch: int, logs: Logs = None) -> None:
        self._steps += 1
        self._batch.assign(batch)
        if self._steps % self.save_freq == 0:  # type: ignore[operator]
            self._write()

    def _replicas(self) -> int:
        strategy = getattr(self.model, "_strategy", None)
        return 1 if strategy is None else strategy.num_replicas_in_sync

    def _copies(self) -> list[Any]:
        """The replicas' own copies of what reads bring together, of which a checkpoint has the mean or the sum."""
        weights = self.model.weights if self.model.built else ()
        return [copy for v in weights if isinstance(v, SyncOnReadVariable) for copy in v._copies]

    def _write(self) -> None:
        layers = self.model._flatten_layers() if self.model.run_eagerly else ()  # whose seeds count each call
        calls = [getattr(layer, "_random_ops", -1) for layer in layers]
        own = [base64.b64encode(serialize_tensor(copy).numpy()).decode() for copy in self._copies()]
        line = json.dumps([self._replicas(), generators.position(), calls, own]).encode() + b"\n"
        strategy = getattr(self.model, "_strategy", None)
        if strategy is not None and strategy.extended._in_multi_worker_mode():
            line = strategy.gather(np.frombuffer(line, np.uint8), 0).numpy().tobytes()
        self._streams.assign(line)
        self._checkpoint.write(self._prefix)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Write the files."""
        self._epoch.assign(epoch)
        self._batch.assign(-1)
        self._write()

    def on_train_end(self, logs: Logs = None) -> None:
        """Delete them."""
        if self.delete_checkpoint and _is_chief(self.model):
            shutil.rmtree(os.path.dirname(self._prefix), ignore_errors=True)
        strategy = getattr(self.model, "_strategy", None)
        if strategy is not None:  # the others look for them when they begin anew: not before they are gone
            strategy.extended.of_first(convert_to_tensor(0))


class TerminateOnNaN(Callback):
    """Stop training at the first loss that is no finite number. Source: tf.keras.callbacks.TerminateOnNaN."""

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Look at the loss."""
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class TensorBoard(Callback):
    """Write the values of each epoch as event files: log_dir/train and log_dir/validation, as TensorBoard reads them.

    update_freq: "epoch", or every how many steps the values of training are written as well ("batch": every step).
    Weights' histograms, graphs, profiles and embeddings are not written. Source: tf.keras.callbacks.TensorBoard.
    """

    def __init__(
        self, log_dir: str | os.PathLike[str] = "logs", histogram_freq: int = 0, write_graph: bool = True,
        write_images: bool = False, write_steps_per_second: bool = False, update_freq: int | str = "epoch",
        profile_batch: int | str | Sequence[int] = 0, embeddings_freq: int = 0, embeddings_metadata: Mapping[str,
        Any] | str | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.log_dir = local_path(log_dir)
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._writers: dict[str, writers.SummaryWriter] = {}
        self._steps = 0
        if isinstance(self.update_freq, int):
            self.on_train_batch_end = self._after_step  # type: ignore[method-assign]
        self.histogram_freq = histogram_freq
        if write_images or embeddings_freq:
            get_logger().warning("TensorBoard: images and embeddings of weights are not written; values are.")

    def _write(self, part: str, values: Iterable[tuple[str, Any]], step: int) -> None:
        if not _is_chief(self.model):
            return
        writer = self._writers.get(part)
        if writer is None:
            writer = self._writers[part] = writers.create_file_writer(os.path.join(self.log_dir, part))
        with writer.as_default():
            for name, value in values:
                (summary_ops.histogram if name.endswith("/histogram") else summary_ops.scalar)(name, value, step=step)
        writer.flush()

    def _after_step(self, batch: int, logs: Logs = None) -> None:
        self._steps += 1
        if self._steps % self.update_freq == 0:  # type: ignore[operator]
            self._write("train", [(f"batch_{name}", value) for name, value in (logs or {}).items()], self._steps)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Write the values of the epoch."""
        logs = dict(logs or {})
        rate = getattr(getattr(self.model, "optimizer", None), "learning_rate", None)
        train = [(f"epoch_{name}", value) for name, value in logs.items() if not name.startswith("val_")]
        if rate is not None:
            train.append(("epoch_learning_rate", float(np.asarray(rate))))
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            weights = [weight for layer in self.model.layers for weight in layer.weights]
            train += [(f"{weight.name.replace(':', '_')}/histogram", weight) for weight in weights]
        self._write("train", train, epoch)
        values = [(f"epoch_{n.removeprefix('val_')}", value) for n, value in logs.items() if n.startswith("val_")]
        if values:
            self._write("validation", values, epoch)

    def on_train_end(self, logs: Logs = None) -> None:
        """Close the files."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()
