"""Callbacks: their base, several as one, the two that `fit` adds by itself (History, a line of progress).

Rule: values of a step are turned into numbers only if somebody looks at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastgraph.core.base.missing_methods import without
from fastgraph.keras.progress import Progbar

if TYPE_CHECKING:
    from fastgraph.keras.models import Model

#: The numbers so far, by name; None where there are none.
Logs = dict[str, Any] | None

_MODES = ("train", "test", "predict")


class Callback:
    """The base of callbacks: override the methods to be called. `model` and `params` are set before training.

    `logs` is a dict of the numbers so far: {"loss": 0.3, "accuracy": 0.9}. Source: tf.keras.callbacks.Callback.
    """

    def __init__(self) -> None:
        self.model: Any = None
        self.params: dict[str, Any] = {}
        self.validation_data = None

    def set_params(self, params: dict[str, Any]) -> None:
        """Take note of {"epochs", "steps", "verbose"}."""
        self.params = params

    def set_model(self, model: Model) -> None:
        """Take note of the model."""
        self.model = model

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Act before an epoch of training."""

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Act after an epoch of training and its validation, whose values are logged as "val_..."."""

    def on_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """The older name of `on_train_batch_begin`."""

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """The older name of `on_train_batch_end`."""

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Act before a step of training."""
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Act after a step of training."""
        self.on_batch_end(batch, logs=logs)

    def on_test_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Act before a step of `evaluate` or of validation."""

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Act after a step of `evaluate` or of validation."""

    def on_predict_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Act before a step of `predict`."""

    def on_predict_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Act after a step of `predict`, with {"outputs": ...}."""

    def on_train_begin(self, logs: Logs = None) -> None:
        """Act before training."""

    def on_train_end(self, logs: Logs = None) -> None:
        """Act after training."""

    def on_test_begin(self, logs: Logs = None) -> None:
        """Act before `evaluate` or validation."""

    def on_test_end(self, logs: Logs = None) -> None:
        """Act after `evaluate` or validation."""

    def on_predict_begin(self, logs: Logs = None) -> None:
        """Act before `predict`."""

    def on_predict_end(self, logs: Logs = None) -> None:
        """Act after `predict`."""


def numbers(logs: Logs) -> dict[str, Any]:
    """Return the logs with floats and arrays in the place of tensors."""
    found = {}
    for name, value in (logs or {}).items():
        array = np.asarray(value) if name != "outputs" else value
        found[name] = array.item() if isinstance(array, np.ndarray) and array.ndim == 0 else array
    return found


@without(
    {
        "`callbacks`, or fit(callbacks=[...]), which calls them": "append make_logs on_batch_begin on_batch_end "
        "on_predict_batch_begin on_predict_batch_end on_predict_begin on_predict_end on_test_batch_begin "
        "on_test_batch_end on_test_begin on_test_end on_train_batch_begin on_train_batch_end on_train_begin "
        "on_train_end set_model set_params"
    }
)
class CallbackList:
    """Several callbacks as one. Hooks of steps are called for callbacks that have them; nobody else pays for them."""

    def __init__(
        self, callbacks: Sequence[Any] | None = None, add_history: bool = False, add_progbar: bool = False, model:
        Any = None, **params: Any,
    ) -> None:  # fmt: skip
        self.callbacks: list[Any] = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
        self.callbacks = [c for c in self.callbacks if c is not None]
        for callback in self.callbacks:
            if not hasattr(callback, "set_model"):
                raise TypeError(f"Expected callbacks, instances of tf.keras.callbacks.Callback; received: {callback!r}")
        if add_progbar and not any(isinstance(c, ProgbarLogger) for c in self.callbacks):
            self.callbacks.append(ProgbarLogger())  # behind those that add to the logs
        self.history = next((c for c in self.callbacks if isinstance(c, History)), None)
        if add_history and self.history is None:
            self.history = History()
            self.callbacks.append(self.history)
        self.params = params
        for callback in self.callbacks:
            callback.set_model(model)
            callback.set_params(params)
        self._of_steps = {
            hook: self._having(hook)
            for hook in (f"on_{mode}_batch_{end}" for mode in _MODES for end in ("begin", "end"))
        }

    def _having(self, hook: str) -> list[tuple[Any, bool]]:
        """The methods that are called for a hook, and whether they want numbers, not tensors."""
        older = hook.replace("train_", "")
        found = []
        for callback in self.callbacks:
            kind = type(callback)
            given = hook in vars(callback) or older in vars(callback)
            own = any(getattr(kind, name, None) is not getattr(Callback, name, None) for name in {hook, older})
            if given or own or not isinstance(callback, Callback):
                found.append((getattr(callback, hook), not getattr(callback, "_supports_tf_logs", False)))
        return found

    def step(self, hook: str, index: int, logs: Logs = None) -> None:
        """Call a hook of a step ("on_train_batch_end")."""
        methods = self._of_steps[hook]
        if not methods:
            return
        as_numbers = None
        for method, wants_numbers in methods:
            if wants_numbers and as_numbers is None:
                as_numbers = numbers(logs)
            method(index, as_numbers if wants_numbers else logs)

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Call the hook of all callbacks."""
        for callback in self.callbacks:
            callback.on_epoch_begin(epoch, numbers(logs))

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Call the hook of all callbacks, each of which may add to the logs."""
        logs = numbers(logs)
        for callback in self.callbacks:
            callback.on_epoch_end(epoch, logs)

    def whole(self, hook: str, logs: Logs = None) -> None:
        """Call a hook of a whole run ("on_train_begin")."""
        logs = numbers(logs)
        for callback in self.callbacks:
            getattr(callback, hook)(logs)


class History(Callback):
    """The result of `fit`: `history`, {name: [value of each epoch]}, and `epoch`, their numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    def on_train_begin(self, logs: Logs = None) -> None:
        """Begin anew."""
        self.epoch = []

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Take note of the epoch."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
        self.model.history = self


class ProgbarLogger(Callback):
    """A line of progress for each epoch, or for `evaluate` and `predict`: see tf.keras.utils.Progbar."""

    _supports_tf_logs = True

    def __init__(self) -> None:
        super().__init__()
        self._bar: Progbar | None = None
        self._training = False
        self._last: tuple[int, Any] = (0, None)

    def set_params(self, params: dict[str, Any]) -> None:
        """Take note of how much is to be said."""
        super().set_params(params)
        self._verbose = int(params.get("verbose", 1))

    def _begin(self) -> None:
        self._bar = Progbar(self.params.get("steps"), verbose=self._verbose)
        self._last = (0, None)

    def _step(self, index: int, logs: Logs) -> None:
        self._last = index + 1, logs
        bar = self._bar
        if bar is not None and bar.due():
            bar.stateful_metrics = set(logs or ())
            bar.update(index + 1, [(k, v) for k, v in (logs or {}).items() if k != "outputs"], finalize=False)

    def _end(self, logs: Logs) -> None:
        if self._bar is not None:
            self._bar.stateful_metrics = set(logs or ())
            self._bar.target = self._last[0] or self._bar.target or 0
            values = [(k, v) for k, v in (logs or {}).items() if k != "outputs"]
            self._bar.update(self._bar.target, values, finalize=True)
            self._bar = None

    def on_train_begin(self, logs: Logs = None) -> None:
        """Know that validation belongs to an epoch, and is no run of its own."""
        self._training = True

    def on_train_end(self, logs: Logs = None) -> None:
        """Training is over."""
        self._training = False

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Begin a bar."""
        if self._verbose:
            if (epochs := self.params.get("epochs")) != 1:
                print(f"Epoch {epoch + 1}/{epochs}")
            self._begin()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """End the bar with the epoch's values."""
        self._end(logs)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Show the step."""
        self._step(batch, logs)

    def on_test_begin(self, logs: Logs = None) -> None:
        """Begin a bar."""
        if not self._training and self._verbose:
            self._begin()

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Show the step."""
        if not self._training:
            self._step(batch, logs)

    def on_test_end(self, logs: Logs = None) -> None:
        """End the bar."""
        if not self._training:
            self._end(logs)

    def on_predict_begin(self, logs: Logs = None) -> None:
        """Begin a bar."""
        if self._verbose:
            self._begin()

    def on_predict_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Show the step."""
        self._step(batch, None)

    def on_predict_end(self, logs: Logs = None) -> None:
        """End the bar."""
        self._end(None)
