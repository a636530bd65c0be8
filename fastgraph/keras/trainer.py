"""Training: `compile`, `fit`, `evaluate`, `predict` of models, with the meaning that they have in Keras 2.

Rule: a step is one Function of a batch; between two steps there is a loop over batches and callbacks, nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np

from fastgraph.api.namespaces import resolve
from fastgraph.core import replicas
from fastgraph.core.base import nesting
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.tape.gradient_tape import GradientTape
from fastgraph.core.tensor import Tensor
from fastgraph.errors import NotBuiltError
from fastgraph.keras import backend, data_adapters, optimizers
from fastgraph.keras.callback_list import CallbackList, History
from fastgraph.keras.compile_arguments import CompiledLoss, CompiledMetrics
from fastgraph.keras.data_adapters import Examples, Source, source_of, unpacked
from fastgraph.keras.identifiers import Identifier
from fastgraph.keras.optimizers.base import Optimizer
from fastgraph.staging.function import Function, functions_run_eagerly
from fastgraph.state.distributed import PerReplica

_NOT_COMPILED = "You must compile your model before training/testing. Use `model.compile(optimizer, loss)`."
#: Arguments of Keras 2 for threads and processes that make batches: one thread makes them here, if they take long.
_OF_QUEUES = frozenset({"max_queue_size", "workers", "use_multiprocessing"})


class Trainer:
    """The training of models. A subclass may have a `train_step`, `test_step` or `predict_step` of its own.

    Source: tf.keras.Model.
    """

    optimizer: Any = None
    stop_training = False
    history: Any = None
    _compiled_loss: CompiledLoss | None = None
    _compiled_metrics: CompiledMetrics | None = None
    _steps: dict[str, tuple[Any, dict[int | None, Callable[..., Any]]]]
    _is_compiled = False
    _strategy: Any = None  # of the scope that the model was made in, if it was one

    def compile(
        self, optimizer: Optimizer | str | dict[str, Any] = "rmsprop", loss: Identifier | Sequence[Any] | None =
        None, metrics: Identifier | Sequence[Any] | None = None, loss_weights: Sequence[float] | Mapping[str,
        float] | None = None, weighted_metrics: Identifier | Sequence[Any] | None = None, run_eagerly: bool | None
        = None, steps_per_execution: int | None = None, jit_compile: bool | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        """State how the model is trained: an optimizer, a loss, metrics, each by name or as an object.

        loss, metrics, loss_weights: for several outputs a list in their order, or a dict by their names. `metrics` are
        means over examples, `weighted_metrics` weight them as the loss does. run_eagerly: steps run op by op.
        steps_per_execution, jit_compile: kept, and without effect, since steps are compiled and cheap to begin.
        Raises ValueError for unknown names, and in a strategy's scope for a model made outside of it. Source:
        tf.keras.Model.compile.
        """
        for unknown in set(kwargs) - {"pss_evaluation_shards", "experimental_run_tf_function"}:
            raise TypeError(f"Invalid keyword argument(s) in `compile()`: {unknown!r}.")
        names = getattr(self, "output_names", None)
        self._check_scope()
        with nullcontext() if self._strategy is None else self._strategy.scope():
            self.optimizer = optimizers.get(optimizer)
            self.loss = loss
            self._compiled_loss = CompiledLoss(loss, loss_weights, names)
            self._compiled_metrics = CompiledMetrics(metrics, weighted_metrics, names)
        self.run_eagerly = run_eagerly
        self.steps_per_execution = steps_per_execution or 1
        self._steps = {}
        self._is_compiled = True

    def _check_scope(self) -> None:
        """Raise ValueError in a strategy's scope for a model with Variables that were made outside of it."""
        strategy: Any = replicas.strategy()
        made_outside = strategy is not None and self._strategy is None
        for variable in self.variables if made_outside else ():  # type: ignore[attr-defined]
            if not strategy.extended.variable_created_in_scope(variable):
                raise ValueError(
                    f"Variable ({variable}) was not created in the distribution strategy scope of ({strategy}). Make "
                    "the model, or at least all its layers, in the scope, and compile it there: with "
                    "strategy.scope(): model = ...; model.compile(...)"
                )

    @property
    def distribute_strategy(self) -> Any:
        """The tf.distribute.Strategy of the scope that the model was made in."""
        return resolve("distribute", "get_strategy")() if self._strategy is None else self._strategy

    compiled_loss = ReadOnly[Any](
        "_compiled_loss", "The loss of `compile`: of (y, y_pred, sample_weight, regularization_losses) a number."
    )
    compiled_metrics = ReadOnly[Any](
        "_compiled_metrics", "The metrics of `compile`; `update_state(y, y_pred, sample_weight)` adds a batch to them."
    )

    # Steps.

    def train_step(self, data: Any) -> dict[str, Any]:
        """Take one step on a batch (x, y, sample_weight); return {metric: value}."""
        x, y, weights = unpacked(data)
        with GradientTape() as tape:
            y_pred = self(x, training=True)  # type: ignore[operator]
            loss = self.compute_loss(x, y, y_pred, weights)
        self._check_target(y, loss)
        self.optimizer.minimize(loss, self.trainable_variables, tape=tape)  # type: ignore[attr-defined]
        return self.compute_metrics(x, y, y_pred, weights)

    def test_step(self, data: Any) -> dict[str, Any]:
        """Return {metric: value} with a batch (x, y, sample_weight) added."""
        x, y, weights = unpacked(data)
        y_pred = self(x, training=False)  # type: ignore[operator]
        self.compute_loss(x, y, y_pred, weights)
        return self.compute_metrics(x, y, y_pred, weights)

    def predict_step(self, data: Any) -> Any:
        """Return the model's outputs for a batch."""
        return self(unpacked(data)[0], training=False)  # type: ignore[operator]

    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None) -> Any:
        """Return the loss of a batch, with the losses that layers add."""
        assert self._compiled_loss is not None
        return self._compiled_loss(y, y_pred, sample_weight, regularization_losses=self.losses)  # type: ignore[attr-defined]

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any) -> dict[str, Any]:
        """Add a batch to the metrics; return {metric: value}."""
        assert self._compiled_metrics is not None
        if y is not None:
            self._compiled_metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def get_metrics_result(self) -> dict[str, Any]:
        """Return {metric: value}."""
        found: dict[str, Any] = {}
        for metric in self.metrics:
            result = metric.result()
            found.update(result if isinstance(result, dict) else {metric.name: result})
        return found

    def _check_target(self, y: object, loss: object) -> None:
        if self.loss is not None and nesting.flatten(self.loss) and y is None:
            raise ValueError(
                f"Target data is missing. Your model was compiled with loss={self.loss}, and therefore expects target "
                "data to be provided in `fit()`."
            )
        if loss is None:
            raise ValueError(
                "No loss found. You may have forgotten to provide a `loss` argument in the `compile()` method."
            )

    @property
    def metrics(self) -> list[Any]:
        """The loss's mean and the metrics of `compile`, once a batch was seen, then those of the model's parts."""
        found = []
        if self._compiled_loss is not None and self._compiled_metrics is not None:
            found = [*self._compiled_loss.metrics, *self._compiled_metrics.metrics]
        seen = {id(metric) for metric in found}
        return [*found, *(m for m in self._own_metrics() if id(m) not in seen)]

    @property
    def metrics_names(self) -> list[str]:
        """The names of `metrics`."""
        return [metric.name for metric in self.metrics]

    def _own_metrics(self) -> list[Any]:
        raise NotImplementedError

    def reset_metrics(self) -> None:
        """Begin all metrics anew."""
        for metric in self.metrics:
            metric.reset_state()

    def reset_states(self) -> None:
        """Let all stateful layers begin with zeros again."""
        for layer in self._flatten_layers():  # type: ignore[attr-defined]
            if layer is not self and layer.stateful and hasattr(layer, "reset_states"):
                layer.reset_states()

    def _step_of(self, kind: str, rows: int | None) -> Callable[..., Any]:
        """The compiled step of a kind ("train"), made when it is first needed or what it depends on has changed.

        rows: what every batch has, if that is known beforehand. As in Keras there is a step for the first such number,
        another for all other batches: random ops without seeds begin anew in each.
        """
        if kind == "train":
            self._check_scope()
        steps = self.__dict__.setdefault("_steps", {})
        eager = bool(getattr(self, "run_eagerly", None)) or functions_run_eagerly()
        trainable = tuple(layer._trainable for layer in self._flatten_layers())  # type: ignore[attr-defined]
        made = steps.get(kind)
        if made is None or made[0] != (eager, trainable):
            made = steps[kind] = (eager, trainable), {}
        taken = made[1].get(rows if rows in made[1] or not made[1] else None)
        if taken is None:
            for layer in self._flatten_layers() if made[1] else ():  # type: ignore[attr-defined]
                layer._trained = False  # a Sequential model's layers are connected anew, for any number of rows
            name = f"{kind}_step"
            method = getattr(self, name)
            if self._strategy is not None and self._strategy.num_replicas_in_sync > 1:
                step = _on_replicas(method, self._strategy, kind)
                step = step if eager else Function(step, reduce_retracing=True, one_stream=True)
                method = step.__get__(self, type(self))
            elif not eager and not isinstance(method, Function):
                own = getattr(method, "__func__", None) is getattr(type(self), name)  # a Function for each model
                python = getattr(type(self), name) if own else method
                stated = Function(python, reduce_retracing=True, one_stream=True)
                method = stated.__get__(self, type(self)) if own else stated
                if kind == "train" and not self.optimizer._index_dict:
                    # Keras traces the step again once it has made the optimizer's Variables.
                    backend.skip_seeds(self._flatten_layers())  # type: ignore[attr-defined]
                    if self.built and type(self).train_step is Trainer.train_step:  # type: ignore[attr-defined]
                        # Variables that the trace makes would have it made again.
                        with name_scope(self.optimizer.name):
                            self.optimizer.build(self.trainable_variables)  # type: ignore[attr-defined]
            taken = made[1][None if made[1] else rows] = method
        return (lambda data: taken(nesting.map_structure(_as_tensor, data))) if eager else taken

    # Runs.

    def fit(
        self, x: Any = None, y: Any = None, batch_size: int | None = None, epochs: int = 1, verbose: int | str =
        "auto", callbacks: Sequence[Any] | CallbackList | None = None, validation_split: float = 0.0,
        validation_data: Examples | None = None, shuffle: bool | str = True, class_weight: dict[int, float] | None
        = None, sample_weight: Any = None, initial_epoch: int = 0, steps_per_epoch: int | None = None,
        validation_steps: int | None = None, validation_batch_size: int | None = None, validation_freq: int |
        Sequence[int] = 1, **kwargs: Any,
    ) -> History:  # fmt: skip
        """Train the model; return the History of its values.

        x, y: arrays or tensors, several by name or in order, with as many rows each; or x alone a tf.data.Dataset, a
        generator or a keras.utils.Sequence of (x, y) or (x, y, sample_weight). batch_size: 32 by default.
        validation_split: the share at the end of the arrays that is not trained on but evaluated after each epoch;
        validation_data: what is evaluated instead. class_weight: {class: weight}. verbose: 0 says nothing, 1 a bar for
        each epoch (on a terminal; a line elsewhere), 2 a line. Raises RuntimeError before `compile`, ValueError for
        arrays of different lengths. Source: tf.keras.Model.fit.

        Examples:
            >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            >>> model.compile("sgd", "mse")
            >>> x = np.arange(8.0).reshape(8, 1)
            >>> history = model.fit(x, 2 * x, epochs=3, verbose=0)
            >>> len(history.history["loss"])
            3
        """
        self._check_compiled(kwargs)
        validation: Source | None = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), held = data_adapters.split(x, y, sample_weight, validation_split)
            validation_data = tuple(part for part in held if part is not None)
        self._check_sharding(x)
        source = source_of(x, y, sample_weight, batch_size, steps_per_epoch, shuffle, class_weight)
        if validation_data is not None:
            given = unpacked(validation_data) if _is_tuple(validation_data) else (validation_data, None, None)
            size = validation_batch_size or (batch_size if given[1] is not None else None)
            validation = source_of(
                given[0], given[1], given[2], size, validation_steps, infinite_steps="validation_steps"
            )
        calls = self._calls(callbacks, verbose, True, epochs=epochs, steps=source.steps)
        step = self._step_of("train", source.rows)
        self.stop_training = False
        calls.whole("on_train_begin")
        logs: Any = {}
        first, done = self.__dict__.pop("_resumed_epoch", initial_epoch), self.__dict__.pop("_resumed_batch", 0)
        if done and source.steps is not None and done >= source.steps:
            first, done = first + 1, 0
        for epoch in range(initial_epoch, first):
            source.pass_over()
            if validation is not None and _due(validation_freq, epoch):
                validation.begin_anew()
                validation.pass_over()
        for epoch in range(first, epochs):
            self.reset_metrics()
            calls.params["steps"] = source.steps
            calls.on_epoch_begin(epoch)
            logs = self._steps_of_run("train", step, source, calls, done)
            done = 0
            if logs is None:
                raise ValueError(
                    "Unexpected result of `train_function` (Empty Logs): the data has no batches. Is it a generator "
                    "that has ended?"
                )
            logs = dict(logs)
            if validation is not None and _due(validation_freq, epoch):
                found = self._evaluated(validation, calls)
                logs.update({f"val_{name}": value for name, value in found.items()})
            calls.on_epoch_end(epoch, logs)
            if self.stop_training or source.ended:
                break
        if epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_variables)  # type: ignore[attr-defined]
        calls.whole("on_train_end", logs)
        assert calls.history is not None
        self.history = calls.history
        return calls.history

    def _steps_of_run(
        self, mode: str, step: Callable[..., Any], source: Source, calls: CallbackList, done: int = 0
    ) -> Any:
        """Take the steps of an epoch but for the first `done`; return the last one's logs, None if there was none."""
        begin, end = f"on_{mode}_batch_begin", f"on_{mode}_batch_end"
        logs = None
        new = [layer for layer in self._flatten_layers() if layer._shapes is None]  # type: ignore[attr-defined]
        run = source.epoch()
        index = 0 if source.anew else done
        try:
            for batch in run:
                if index < done:  # before training was broken off
                    index, logs = index + 1, {}
                    continue
                calls.step(begin, index)
                logs = step(batch)
                calls.step(end, index, logs)
                index += 1
                if self.stop_training or (not source.anew and index == source.steps):
                    break
        finally:
            run.close()  # type: ignore[attr-defined]  # so that no thread goes on preparing
            for layer in new:  # whose shapes are of any batch, not of this size alone
                layer._shapes = None if layer._shapes is None else tuple(map(_of_any_batch, layer._shapes))
        if isinstance(logs, dict) and getattr(type(self), f"{mode}_step") is not getattr(Trainer, f"{mode}_step"):
            with suppress(TypeError):  # of metrics that want arguments
                found = self.get_metrics_result()  # of all batches, where the step gave some value under their names
                logs = found if found.keys() == logs.keys() else logs
        return logs

    def _evaluated(self, source: Source, calls: CallbackList) -> dict[str, Any]:
        stopping, self.stop_training = self.stop_training, False
        self.reset_metrics()
        calls.whole("on_test_begin")
        source.begin_anew()
        logs = self._steps_of_run("test", self._step_of("test", source.rows), source, calls)
        calls.whole("on_test_end", logs)
        self.stop_training = stopping or self.stop_training
        if logs is None:
            raise ValueError("Unexpected result of `test_function` (Empty Logs): the data has no batches.")
        return logs

    def evaluate(
        self, x: Examples | None = None, y: Examples | None = None, batch_size: int | None = None, verbose: int |
        str = "auto", sample_weight: Examples | None = None, steps: int | None = None, callbacks: Sequence[Any] |
        CallbackList | None = None, return_dict: bool = False, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Return the loss, or [loss, metrics ...], of the data, or with `return_dict` a dict. Takes what `fit` takes.

        Source: tf.keras.Model.evaluate.
        """
        self._check_compiled(kwargs)
        self._check_sharding(x)
        source = source_of(x, y, sample_weight, batch_size, steps, infinite_steps="steps")
        calls = self._calls(callbacks, verbose, False, epochs=1, steps=source.steps)
        return self._returned(self._evaluated(source, calls), return_dict)

    def predict(
        self, x: Examples, batch_size: int | None = None, verbose: int | str = "auto", steps: int | None = None,
        callbacks: Sequence[Any] | CallbackList | None = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Return the model's outputs for the data, batch by batch, as NumPy arrays. Needs no `compile`.

        Source: tf.keras.Model.predict.
        """
        _check_queues(kwargs)
        source = source_of(x, None, None, batch_size, steps, infinite_steps="steps")
        calls = self._calls(callbacks, verbose, False, epochs=1, steps=source.steps)
        calls.whole("on_predict_begin")
        step, parts = self._step_of("predict", source.rows), []
        for index, batch in enumerate(source.epoch()):
            calls.step("on_predict_batch_begin", index)
            parts.append(step(batch))
            calls.step("on_predict_batch_end", index, {"outputs": parts[-1]})
        calls.whole("on_predict_end")
        if not parts:
            raise ValueError("Unexpected result of `predict_function` (Empty batch_outputs): the data has no batches.")
        return nesting.map_structure(lambda *rows: np.concatenate([_array(row) for row in rows]), *parts)

    # One batch.

    def train_on_batch(
        self, x: Examples, y: Examples | None = None, sample_weight: Examples | None = None,
        class_weight: dict[int, float] | None = None, reset_metrics: bool = True, return_dict: bool = False,
    ) -> Any:  # fmt: skip
        """Take one step on a batch; return what `evaluate` returns, of the batch before the step."""
        self._check_compiled({})
        return self._on_batch("train", x, y, sample_weight, class_weight, reset_metrics, return_dict)

    def test_on_batch(
        self, x: Examples, y: Examples | None = None, sample_weight: Examples | None = None, reset_metrics: bool =
        True, return_dict: bool = False,
    ) -> Any:  # fmt: skip
        """Return what `evaluate` returns of one batch."""
        self._check_compiled({})
        return self._on_batch("test", x, y, sample_weight, None, reset_metrics, return_dict)

    def predict_on_batch(self, x: Examples) -> Any:
        """Return the model's outputs for one batch, as NumPy arrays."""
        (batch,) = self._batch(x, None, None, None)
        return nesting.map_structure(_array, self._step_of("predict", _rows(batch))(batch))

    def _on_batch(
        self, kind: str, x: Examples, y: Examples | None, weights: Examples | None, class_weight: dict[int, float]
        | None, reset: bool, return_dict: bool,
    ) -> Any:  # fmt: skip
        (batch,) = self._batch(x, y, weights, class_weight)
        if reset:
            self.reset_metrics()
        return self._returned(self._step_of(kind, _rows(batch))(batch), return_dict)

    def _batch(
        self, x: Examples, y: Examples | None, weights: Examples | None, class_weight: dict[int, float] | None
    ) -> Iterator[Any]:
        for batch in source_of(x, y, weights, sys.maxsize, None, False, class_weight).epoch():
            yield batch if isinstance(batch, tuple) else (batch,)

    # Small things.

    def _calls(self, callbacks: Any, verbose: Any, history: bool, **params: Any) -> CallbackList:
        if isinstance(callbacks, CallbackList):
            return callbacks
        verbose = 1 if verbose == "auto" else int(verbose)
        return CallbackList(
            callbacks, add_history=history, add_progbar=verbose != 0, model=self, verbose=verbose, **params
        )

    def _returned(self, logs: dict[str, Any], return_dict: bool) -> Any:
        values = {name: _number(value) for name, value in logs.items()}
        if return_dict:
            return values
        return next(iter(values.values())) if len(values) == 1 else list(values.values())

    def _check_sharding(self, x: Any) -> None:
        """Raise NotBuiltError where processes would not read a dataset as it asks: each takes its part of batches."""
        if not hasattr(x, "with_options") or not self.distribute_strategy.extended._in_multi_worker_mode():
            return
        policy = x.options().experimental_distribute.auto_shard_policy.name
        if policy not in ("AUTO", "DATA"):
            raise NotBuiltError(
                f"The built-in fit shares batches out among processes (AutoShardPolicy.DATA); {policy} is not built: "
                "use a training loop with strategy.experimental_distribute_dataset."
            )

    def _check_compiled(self, kwargs: dict[str, Any]) -> None:
        _check_queues(kwargs)
        if not self._is_compiled:
            raise RuntimeError(_NOT_COMPILED)


def _on_replicas(method: Callable[..., Any], strategy: Any, kind: str) -> Callable[..., Any]:
    """A step on each replica, of its part of a batch: the logs, which are those of all, or the outputs joined."""

    def step(model: Any, data: Any) -> Any:
        found = strategy.run(method, args=(strategy._share(data),))
        if kind == "predict":
            return strategy.gather(found, 0)
        return nesting.map_structure(lambda leaf: _of_all(leaf, strategy), found)

    step.__name__ = f"{kind}_step"
    return step


def _of_all(leaf: Any, strategy: Any) -> Any:
    """Add up what replicas have each of their own, as in Keras; values of metrics are those of all already."""
    values = leaf.values if isinstance(leaf, PerReplica) else (leaf,)
    return values[0] if len(values) == 1 else strategy.reduce("SUM", leaf, axis=None)


def _check_queues(kwargs: dict[str, Any]) -> None:
    for unknown in set(kwargs) - _OF_QUEUES:
        raise TypeError(f"Unknown argument: {unknown!r}. Arguments are those of Keras 2's methods of this name.")


def _is_tuple(data: Any) -> bool:
    """Return whether validation data is (x, y) or (x, y, weights), not something that yields them."""
    if isinstance(data, list) and len(data) in (2, 3) and all(hasattr(part, "__len__") for part in data):
        raise ValueError("`validation_data` must be a tuple (x, y) or (x, y, sample_weight), received a list.")
    return isinstance(data, tuple)


def _of_any_batch(shapes: Any) -> Any:
    """Shapes in a structure, with None for the size of a batch."""
    if isinstance(shapes, dict):
        return {name: _of_any_batch(shape) for name, shape in shapes.items()}
    if any(isinstance(item, (list, tuple, dict)) for item in shapes):
        return [_of_any_batch(shape) for shape in shapes]
    return (None, *shapes[1:])


def _rows(batch: Any) -> int:
    return len(next(leaf for leaf in nesting.flatten(batch) if leaf is not None))


def _due(frequency: int | Sequence[int], epoch: int) -> bool:
    if isinstance(frequency, int):
        return (epoch + 1) % frequency == 0
    return epoch + 1 in frequency


def _as_tensor(leaf: TensorLike | None) -> Any:
    return leaf if leaf is None else convert_to_tensor(leaf)


def _array(value: TensorLike) -> Any:
    return value.numpy() if isinstance(value, Tensor) else np.asarray(value)


def _number(value: TensorLike) -> Any:
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else array
