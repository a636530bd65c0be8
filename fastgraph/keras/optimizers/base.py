"""Optimizer: what all optimizers share. Clipping, weight decay, the count of steps, slots.

Rule: a step is written in ops and Variables, so that it runs eagerly, or as part of the graph of a training step.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar

from fastgraph.core import replicas
from fastgraph.core.base.dtype import float32, int64
from fastgraph.core.base.logger import get_logger
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.shapes import ShapeLike
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.tape.gradient_tape import GradientTape
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor
from fastgraph.keras.arguments import Arguments
from fastgraph.keras.optimizers import schedules
from fastgraph.ops.creation import zeros
from fastgraph.ops.elementwise import cast, clip_by_value, maximum, minimum, square
from fastgraph.ops.exponentials import sqrt
from fastgraph.ops.gathering import where
from fastgraph.ops.movement import shape
from fastgraph.ops.reduction import reduce_sum
from fastgraph.state.tracking import Trackable
from fastgraph.state.variable import Variable, VariableAggregation

Rate = float | Callable[[Any], Any]


def _takes_nothing(function: Callable[..., Any]) -> bool:
    """Return whether a function is called without arguments: that it gives a number, once, and none for each step."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    return True


class CallableList(list[Variable]):
    """A list that may be called: `optimizer.variables` was a method once."""

    def __call__(self) -> CallableList:
        return self


class _CurrentRate(Trackable):
    """The learning rate of a step, which TensorFlow's checkpoints keep; restored, it follows from the step."""

    def __init__(self, rate: Callable[[Any], Any], iterations: Variable) -> None:
        self.rate, self.iterations = rate, iterations

    def _serialize_to_tensors(self) -> dict[str, Any]:
        return {"VARIABLE_VALUE": convert_to_tensor(self.rate(self.iterations), float32)}

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> None:
        """Nothing: the restored step says it."""


@without(
    {
        "add_variable_from_reference": "add_variable",
        "apply_gradients, which adds up those of all replicas": "aggregate_gradients",
        "tf.train.Checkpoint, or assign() to `variables`": "load_own_variables save_own_variables set_weights",
    }
)
class Optimizer(Arguments, Trackable):
    """The base of optimizers: clipping, weight decay, the count of steps. Source: tf.keras.optimizers.Optimizer.

    A subclass states `build`, which makes the Variables it keeps, and `update_step`, and sets `_learning_rate` to what
    `_build_learning_rate` makes of a number, or of a function of the step (an int64 tensor) that gives one.
    """

    #: Names of the Variables made by `add_variable_from_reference` as slots, before TensorFlow 2.11.
    _LEGACY_SLOTS: ClassVar[dict[str, str]] = {}

    def __init__(
        self, name: str, weight_decay: float | None = None, clipnorm: float | None = None, clipvalue: float | None =
        None, global_clipnorm: float | None = None, use_ema: bool = False, ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None, jit_compile: bool = True, learning_rate: Rate | None = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if kwargs:
            raise TypeError(f"{', '.join(kwargs)} are not valid arguments, kwargs should be empty for `optimizer`.")
        whole = isinstance(ema_overwrite_frequency or 1, int) and (ema_overwrite_frequency or 1) > 0
        if use_ema and not (0 <= ema_momentum <= 1 and whole):
            raise ValueError(
                "`ema_momentum` must be in the range [0, 1], and `ema_overwrite_frequency` an integer > 1 or None. "
                f"Received: ema_momentum={ema_momentum}, ema_overwrite_frequency={ema_overwrite_frequency}"
            )
        if clipnorm is not None and global_clipnorm is not None:
            raise ValueError(
                "At most one of `clipnorm` and `global_clipnorm` can be set. "
                f"Received: clipnorm={clipnorm}, global_clipnorm={global_clipnorm}."
            )
        self.name = name
        self.weight_decay = weight_decay
        self.clipnorm = clipnorm
        self.clipvalue = clipvalue
        self.global_clipnorm = global_clipnorm
        self.use_ema = use_ema
        self.ema_momentum = ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self.jit_compile = jit_compile
        self.iterations = Variable(
            0, name="iteration", dtype=int64, trainable=False, aggregation=VariableAggregation.ONLY_FIRST_REPLICA
        )
        if learning_rate is not None:  # else the subclass sets it
            self._learning_rate = self._build_learning_rate(learning_rate)
        self._index_dict: dict[int, int] = {}  # the id of a trained Variable's cell -> its place in each list of slots
        self._variables: list[Variable] = [self.iterations]
        self._slots: dict[tuple[int, str], Any] = {}  # (a Variable's cell, slot) -> the slot, or what waits for it
        self._excluded: tuple[set[int], tuple[str, ...]] = (set(), ())

    def _begin(self, given: dict[str, Any]) -> None:
        """Do what a subclass's constructor does, by its `locals()`: the base takes its own, the config all."""
        own = inspect.signature(Optimizer.__init__).parameters.keys() & given.keys() - {"self", "kwargs"}
        Optimizer.__init__(self, **{name: given[name] for name in own}, **given["kwargs"])
        self._take(given)

    def _build_learning_rate(self, learning_rate: Rate) -> Variable | Callable[[Any], Any]:
        """Return what `_learning_rate` keeps: a Variable, also of what a function of nothing gives, or a function of
        the step as it is.
        """
        if callable(learning_rate) and not _takes_nothing(learning_rate):
            return learning_rate
        start: Any = learning_rate
        return Variable(start, name="learning_rate", dtype=float32, trainable=False)

    def _var_key(self, variable: Variable) -> int:
        """Return the key of a Variable in `_index_dict`."""
        return variable._number

    @property
    def learning_rate(self) -> Any:
        """The learning rate: a Variable, or what the function of the step gives now."""
        return (
            self._learning_rate if isinstance(self._learning_rate, Variable) else self._learning_rate(self.iterations)
        )

    @learning_rate.setter
    def learning_rate(self, value: Rate) -> None:
        if isinstance(self._learning_rate, Variable) and not callable(value):
            self._learning_rate.assign(value)
        elif callable(value):
            self._learning_rate = value
        else:
            raise TypeError(
                "This optimizer was created with a function as its `learning_rate`, hence its learning rate is not "
                "settable. Instantiate it with a number if you need to set it."
            )

    lr = learning_rate

    @property
    def variables(self) -> CallableList:
        """The Variables that the optimizer keeps: the count of steps, then its slots. May be called as well."""
        return CallableList(self._variables)

    @property
    def _behind_slots(self) -> list[Variable]:
        """Variables that Keras 3 counts among `variables` besides, and Keras 2 does not."""
        return []

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """Return what Keras 2's optimizers depend on, by their names."""
        own = {"_variables": self._variables, "_iterations": self.iterations}
        if isinstance(self._learning_rate, Variable):
            own["_learning_rate"] = self._learning_rate
        else:
            kept = self.__dict__.get("_current_learning_rate")
            if kept is None or kept.rate is not self._learning_rate:
                kept = self._current_learning_rate = _CurrentRate(self._learning_rate, self.iterations)
            own["_current_learning_rate"] = kept
        return {**own, **super()._trackable_children(save_type, **kwargs)}

    def _lookup_dependency(self, name: str, cached_dependencies: dict[str, Any] | None = None) -> Any:
        """Return a dependency, also by the names that it had before TensorFlow 2.11."""
        older = {"iter": "_iterations", "learning_rate": "_learning_rate"}
        return super()._lookup_dependency(older.get(name, name), cached_dependencies)

    def _create_or_restore_slot_variable(
        self, slot_variable_position: Any, slot_name: str, variable: Variable, **kwargs: Any
    ) -> Variable | None:
        """Return a slot for a checkpoint of TensorFlow before 2.11 to restore; one that is not made yet waits."""
        if slot_name not in self._LEGACY_SLOTS.values() or not hasattr(variable, "__fg_cell__"):
            return None
        key = variable._number, slot_name
        slot = self._slots.get(key)
        if isinstance(slot, Variable):
            return slot
        self._slots[key] = slot_variable_position
        return None

    def build(self, var_list: Sequence[Variable]) -> None:
        """Make what is kept for each of the Variables. A subclass calls this first."""
        self._index_dict = {variable._number: i for i, variable in enumerate(var_list)}
        if self.use_ema:
            self._averages = [self.add_variable_from_reference(v, "average", initial_value=v) for v in var_list]

    def add_variable_from_reference(
        self, model_variable: Variable, variable_name: str, shape: ShapeLike = None,
        initial_value: TensorLike | None = None,
    ) -> Variable:  # fmt: skip
        """Return a new Variable with the shape and dtype of another: of zeros, or with the value given."""
        name = model_variable.name.partition(":")[0]
        if initial_value is None:
            initial_value = zeros(model_variable.shape if shape is None else shape, model_variable.dtype)
        slot = Variable(initial_value, trainable=False, name=f"{variable_name}/{name}", dtype=model_variable.dtype)
        self._variables.append(slot)
        if variable_name in self._LEGACY_SLOTS:
            key = model_variable._number, self._LEGACY_SLOTS[variable_name]
            position, self._slots[key] = self._slots.get(key), slot
            if position is not None:
                position.restore(slot)
        return slot

    def update_step(self, gradient: Tensor, variable: Variable) -> None:
        """Change `variable` by its gradient."""
        raise NotImplementedError

    def update_rows(self, gradient: IndexedSlices, variable: Variable) -> None:
        """Change `variable` by a sparse gradient: as by a dense one, unless a subclass can change rows alone."""
        if gradient.dense_shape is None:  # of slices that the user made
            gradient = IndexedSlices(gradient.values, gradient.indices, shape(variable))
        self.update_step(convert_to_tensor(gradient), variable)

    def exclude_from_weight_decay(
        self, var_list: Iterable[Variable] | None = None, var_names: Iterable[str] | None = None
    ) -> None:
        """Leave the Variables, and those with one of the texts in their names, without weight decay."""
        self._excluded = ({v._number for v in var_list or ()}, tuple(var_names or ()))

    def minimize(
        self, loss: Tensor | Callable[[], Any], var_list: Sequence[Variable] | Callable[[], Sequence[Variable]],
        tape: GradientTape | None = None,
    ) -> None:  # fmt: skip
        """Take one step down the gradient of `loss`: a tensor with its tape, or a function without arguments."""
        self.apply_gradients(self.compute_gradients(loss, var_list, tape))

    def compute_gradients(
        self, loss: Tensor | Callable[[], Any], var_list: Sequence[Variable] | Callable[[], Sequence[Variable]],
        tape: GradientTape | None = None,
    ) -> list[tuple[Any, Variable]]:  # fmt: skip
        """Return (gradient, Variable) pairs of `loss`, as `apply_gradients` takes them."""
        if not callable(loss) and tape is None:
            raise ValueError(f"`tape` is required when a `Tensor` loss is passed. Received: loss={loss}, tape={tape}.")
        if tape is None:
            tape = GradientTape()
        if callable(loss):
            with tape:
                if not callable(var_list):
                    tape.watch(var_list)
                loss = loss()
        if callable(var_list):
            var_list = var_list()
        return list(zip(tape.gradient(loss, var_list), var_list, strict=True))

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Variable]], name: str | None = None, skip_gradients_aggregation:
        bool = False, **kwargs: Any,
    ) -> Variable:  # fmt: skip
        """Take one step: change each Variable by its gradient; return the count of steps.

        Args:
            grads_and_vars: Pairs of a gradient and a Variable. Gradients that are None are left out, with a warning.
            skip_gradients_aggregation: Take a replica's gradients as they are; else those of all replicas are added up.
            kwargs: experimental_aggregate_gradients=False is the old name of that; the others have no effect.

        Returns:
            The Variable `iterations`, an int64 scalar.

        Raises:
            ValueError: All gradients are None, or there are none.
            KeyError: The optimizer was not built for one of the Variables.

        Examples:
            >>> w, b = tf.Variable([1.0, 2.0]), tf.Variable(0.0)
            >>> optimizer = tf.keras.optimizers.SGD(learning_rate=0.5)
            >>> with tf.GradientTape() as tape:
            ...     loss = tf.reduce_sum(w * [3.0, 4.0]) + b
            >>> steps = optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
            >>> int(steps), w.numpy(), float(b)
            (1, array([-0.5,  0. ], dtype=float32), -0.5)
        """
        pairs = _without_empty(tuple(grads_and_vars))
        if not pairs:
            return self.iterations
        variables = [variable for _, variable in pairs]
        gradients = [gradient for gradient, _ in pairs]
        replica = replicas.current()
        alone = skip_gradients_aggregation or not kwargs.get("experimental_aggregate_gradients", True)
        if replica is not None and replica.context is not None and not alone:
            gradients = replica.context.all_reduce("SUM", gradients, replicas.GRADIENTS)
        with name_scope(name or self.name or "optimizer"):
            if not self._index_dict:
                self.build(variables)
            self._check_known(variables)
            if replica is not None:
                self._check_copies(variables)
            with replicas.updating() if replica is not None else nullcontext():  # each its own copies, all alike
                self._step(gradients, variables)
        return self.iterations

    def _step(self, gradients: list[Any], variables: Sequence[Variable]) -> None:
        gradients = self._prepared(gradients)
        self._decay(variables)
        self.before_step()
        for gradient, variable in zip(gradients, variables, strict=True):
            if isinstance(gradient, IndexedSlices):
                self.update_rows(gradient, variable)
            else:
                self.update_step(gradient, variable)
        if self.use_ema:
            self._average(variables)
        replica = replicas.current()
        if replica is None or replica.index == 0 or self.iterations._copies:
            self.iterations.assign_add(1)
        for variable in variables:
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable))

    def _average(self, variables: Sequence[Variable]) -> None:
        """Move the running means of the Variables; every `ema_overwrite_frequency` steps those become the values."""
        for variable in variables:
            average = self._averages[self._index_dict[variable._number]]
            average.assign(self.ema_momentum * average + (1 - self.ema_momentum) * variable)
            if self.ema_overwrite_frequency:
                due = (self.iterations + 1) % self.ema_overwrite_frequency == 0
                variable.assign(where(due, average, variable))

    def finalize_variable_values(self, var_list: Iterable[Variable]) -> None:
        """Give the Variables their running means, if the optimizer keeps these (`use_ema`)."""
        if self.use_ema:
            for variable in var_list:
                variable.assign(self._averages[self._index_dict[variable._number]])

    def _check_copies(self, variables: Sequence[Variable]) -> None:
        """Raise ValueError for a Variable that all replicas share: each of them would change it."""
        for variable in variables:
            if not variable._copies:
                raise ValueError(
                    "`colocate_vars_with` must only be passed a variable created in this "
                    f"tf.distribute.Strategy.scope(), not: {variable}"
                )

    def before_step(self) -> None:
        """Do what belongs to a step as a whole."""

    def _check_known(self, variables: Sequence[Variable]) -> None:
        """Raise KeyError for a Variable that the optimizer was not built for, before any of them changes."""
        for variable in variables:
            if variable._number not in self._index_dict:
                raise KeyError(
                    f"The optimizer cannot recognize variable {variable.name}. This usually means you are trying "
                    "to call the optimizer to update different parts of the model separately. Please call "
                    "`optimizer.build(variables)` with the full list of trainable variables before the training "
                    "loop."
                )

    def _prepared(self, gradients: list[Any]) -> list[Any]:
        """The gradients, clipped: tensors, and IndexedSlices, whose slices are clipped before those of a row meet."""
        clipped = self._clipped([g.values if isinstance(g, IndexedSlices) else convert_to_tensor(g) for g in gradients])
        return [
            IndexedSlices(values, g.indices, g.dense_shape) if isinstance(g, IndexedSlices) else values
            for values, g in zip(clipped, gradients, strict=True)
        ]

    def _clipped(self, gradients: list[Tensor]) -> list[Tensor]:
        if self.clipnorm is not None and self.clipnorm > 0:
            return [_clip_by_norm(gradient, self.clipnorm) for gradient in gradients]
        if self.global_clipnorm is not None and self.global_clipnorm > 0:
            squares = [reduce_sum(square(gradient)) for gradient in gradients]
            norm = sqrt(sum(squares[1:], squares[0]))
            scale = self.global_clipnorm * minimum(1.0 / norm, 1.0 / self.global_clipnorm)
            return [gradient * scale for gradient in gradients]
        if self.clipvalue is not None and self.clipvalue > 0:
            return [clip_by_value(gradient, -self.clipvalue, self.clipvalue) for gradient in gradients]
        return gradients

    def _decay(self, variables: Sequence[Variable]) -> None:
        if self.weight_decay is None:
            return
        ids, texts = self._excluded
        for variable in variables:
            if variable._number not in ids and not any(text in variable.name for text in texts):
                rate = cast(self.learning_rate, variable.dtype)
                variable.assign_sub(variable * self.weight_decay * rate)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such an optimizer."""
        rate: Any = (
            float(self._learning_rate.numpy()) if isinstance(self._learning_rate, Variable) else self._learning_rate
        )
        if hasattr(rate, "get_config"):
            rate = schedules.serialize(rate)
        return {
            "name": self.name, "weight_decay": self.weight_decay, "clipnorm": self.clipnorm,
            "global_clipnorm": self.global_clipnorm, "clipvalue": self.clipvalue, "use_ema": self.use_ema,
            "ema_momentum": self.ema_momentum, "ema_overwrite_frequency": self.ema_overwrite_frequency,
            "jit_compile": self.jit_compile, "learning_rate": rate, **self._config(),
        }  # fmt: skip

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Optimizer:
        """Return the optimizer that `get_config` described."""
        config = {key: value for key, value in config.items() if key != "is_legacy_optimizer"}  # Keras writes it too
        rate = config.get("learning_rate")
        if isinstance(rate, dict):
            config = {**config, "learning_rate": schedules.deserialize(rate)}
        return cls(**config)


def _without_empty(pairs: tuple[tuple[Any, Variable], ...]) -> list[tuple[Any, Variable]]:
    """The pairs that have a gradient. Raises ValueError if none of several has."""
    kept = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
    names = [variable.name for gradient, variable in pairs if gradient is None]
    if pairs and not kept:
        raise ValueError(f"No gradients provided for any variable: {(names,)}. Provided `grads_and_vars` is {pairs}.")
    if names:
        get_logger().warning(
            "Gradients do not exist for variables %s when minimizing the loss. If you're using `model.compile()`, did "
            "you forget to provide a `loss` argument?", names,
        )  # fmt: skip
    return kept


def _clip_by_norm(gradient: Tensor, norm: float) -> Tensor:
    """`gradient`, made shorter so that its length is at most `norm`; a zero gradient stays zero."""
    squares = reduce_sum(square(gradient))
    length = where(squares > 0, sqrt(where(squares > 0, squares, squares + 1.0)), squares)
    return gradient * norm / maximum(length, norm)
