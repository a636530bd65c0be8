"""tf.compat.v1.train's optimizers, eagerly and in Functions: TensorFlow's own update operations on Variables.

Rule: what an optimizer keeps for a Variable is a slot, made at the first step; a subclass says how one changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import fastgraph as tf
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.door.v1_collections import GraphKeys, get_collection
from fastgraph.state.tracking import Trackable
from fastgraph.state.variable import Variable

#: A number, or a function that gives it at each step.
Rate = TensorLike | Callable[[], TensorLike]
_names: dict[str, itertools.count[int]] = {}


def _named(name: str) -> str:
    """Return a name that no slot has had yet."""
    n = next(_names.setdefault(name, itertools.count()))
    return f"{name}_{n}" if n else name


class Optimizer(Trackable):
    """The base class: gradients of a loss, and their application. Source: tf.compat.v1.train.Optimizer.

    A subclass defines `_resource_apply_dense(grad, var)` and `_resource_apply_sparse(grad, var, indices)`, and may
    define `_create_slots`, `_prepare` and `_finish`. Raises ValueError without a name.
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        self._slots: dict[str, dict[int, Any]] = {}
        self._non_slot_dict: dict[str, Any] = {}
        self._awaited: dict[tuple[str, int], Any] = {}

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def minimize(
        self, loss: Any, global_step: Any = None, var_list: Any = None, gate_gradients: int = GATE_OP,
        aggregation_method: object = None, colocate_gradients_with_ops: bool = False, name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Any:  # fmt: skip
        """Make one step down the gradients of a loss, eagerly a function. Raises ValueError where there are none."""
        pairs = self.compute_gradients(loss, var_list, gate_gradients, aggregation_method, grad_loss=grad_loss)
        if all(gradient is None for gradient, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {[str(variable) for _, variable in pairs]} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self, loss: Any, var_list: Any = None, gate_gradients: int = GATE_OP, aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False, grad_loss: TensorLike | None = None,
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        """Return (gradient or None, Variable) for each Variable given, or that the loss reads and is trained.

        Raises RuntimeError for a loss that is no function in eager mode, ValueError for another `gate_gradients`.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH. Not "
                f"{gate_gradients}"
            )
        if callable(loss):
            with tf.GradientTape() as tape:
                if var_list is not None:
                    tape.watch(var_list)
                value = loss()
            variables = list(tape.watched_variables() if var_list is None else tf.nest.flatten(var_list))
            return list(zip(tape.gradient(value, variables, grad_loss), variables, strict=True))
        if tf.executing_eagerly():
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled."
            )
        variables = get_collection(GraphKeys.TRAINABLE_VARIABLES) if var_list is None else tf.nest.flatten(var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        return list(zip(tf.gradients(loss, variables, grad_ys=grad_loss), variables, strict=True))

    def apply_gradients(self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None) -> Any:
        """Change each Variable by its gradient; return an operation, eagerly None. ValueError for no gradients."""
        pairs = tuple(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        used = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        if not used:
            raise ValueError(f"No gradients provided for any variable: {[str(variable) for _, variable in pairs]}.")
        if (context := tf.distribute.get_replica_context()) is not None and context.num_replicas_in_sync > 1:
            totals = context.all_reduce(tf.distribute.ReduceOp.SUM, [tf.convert_to_tensor(each) for each, _ in used])
            used = [(total, variable) for total, (_, variable) in zip(totals, used, strict=True)]
        with tf.init_scope():
            self._create_slots([variable for _, variable in used])
        with tf.name_scope(name or self._name) as scope:
            self._prepare()
            done = [self._changed(gradient, variable) for gradient, variable in used]
            done.append(self._finish(done, scope))
            if global_step is not None:
                done.append(global_step.assign_add(1))
            return None if current_trace() is None else tf.group(*[each for each in done if each is not None])

    def _changed(self, gradient: Any, variable: Any) -> Any:
        if isinstance(gradient, tf.IndexedSlices):
            return self._resource_apply_sparse_duplicate_indices(gradient.values, variable, gradient.indices)
        changed = self._resource_apply_dense(tf.convert_to_tensor(gradient), variable)
        if variable.constraint is not None:
            return variable.assign(variable.constraint(variable))
        return changed

    # -- what subclasses define

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Make what is kept for these Variables."""

    def _prepare(self) -> None:
        """Do what comes before the first Variable of a step."""

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        """Do what comes after the last Variable of a step."""
        return None

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        raise NotImplementedError

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        raise NotImplementedError

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        """Change rows, of which one may be named several times: their gradients are added up."""
        rows, places = tf.unique(indices)
        return self._resource_apply_sparse(tf.math.unsorted_segment_sum(grad, places, tf.size(rows)), handle, rows)

    # -- slots

    def get_slot(self, var: Variable, name: str) -> Any:
        """Return the slot of this name for a Variable, None where there is none."""
        found = self._slots.get(name, {}).get(id(var))
        return None if found is None else found[1]

    def get_slot_names(self) -> list[str]:
        """Return the names of slots."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """Return all Variables of the optimizer, by name."""
        slots = [slot for of_name in self._slots.values() for _, slot in of_name.values()]
        return sorted([*self._non_slot_dict.values(), *slots], key=lambda variable: variable.name)

    def _get_or_make_slot(self, var: Variable, val: TensorLike, slot_name: str, op_name: str) -> Any:
        of_name = self._slots.setdefault(slot_name, {})
        if id(var) not in of_name:
            name = _named(f"{var.name.partition(':')[0]}/{op_name}")
            slot = tf.Variable(val, trainable=False, name=name, dtype=var.dtype)
            of_name[id(var)] = var, slot  # the Variable is kept, so that its id stays its own
            position = self._awaited.pop((slot_name, id(var)), None)
            if position is not None:
                position.restore(slot)
        return of_name[id(var)][1]

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Any:
        return self._get_or_make_slot(var, tf.zeros(var.shape, var.dtype), slot_name, op_name)

    def _create_non_slot_variable(self, initial_value: Rate, name: str, colocate_with: Variable | None = None) -> Any:
        if name not in self._non_slot_dict:
            dtype = None if colocate_with is None else colocate_with.dtype
            made = tf.Variable(self._number(initial_value), trainable=False, name=name, dtype=dtype)
            self._non_slot_dict[name] = made
            self._handle_deferred_dependencies(name, made)
        return self._non_slot_dict[name]

    def _get_non_slot_variable(self, name: str, graph: object = None) -> Any:
        return self._non_slot_dict.get(name)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        return {**self._non_slot_dict, **super()._trackable_children(save_type, **kwargs)}

    def _lookup_dependency(self, name: str, cached_dependencies: dict[str, Any] | None = None) -> Any:
        return self._non_slot_dict.get(name)

    def _create_or_restore_slot_variable(
        self, slot_variable_position: Any, slot_name: str, variable: Any, **kwargs: Any
    ) -> Any:
        """Return a slot for a checkpoint to restore; one that is not made yet waits."""
        found = self.get_slot(variable, slot_name)
        if found is None:
            self._awaited[slot_name, id(variable)] = slot_variable_position
        return found

    # -- numbers and operations

    def _call_if_callable(self, param: Rate) -> Any:
        return param() if callable(param) else param

    def _number(self, value: Rate) -> Any:
        return self._call_if_callable(value)

    def _run(self, kind: str, var: Variable, slots: dict[str, str], indices: Any = None, attrs: Any = None,
             **inputs: Any) -> Any:  # fmt: skip
        """Run an update operation on a Variable and its slots (by the operation's names), with numbers in its dtype."""
        named = {key: self.get_slot(var, name).handle for key, name in slots.items()}
        rows = {} if indices is None else {"indices": indices}
        numbers = {key: tf.cast(self._number(value), var.dtype) for key, value in inputs.items()}
        operation = f"Resource{'' if indices is None else 'Sparse'}Apply{kind}"
        return getattr(tf.raw_ops, operation)(
            var=var.handle, **named, **numbers, **rows, use_locking=self._use_locking, **(attrs or {})
        )


class GradientDescentOptimizer(Optimizer):
    """Gradients times a rate. Source: tf.compat.v1.train.GradientDescentOptimizer."""

    def __init__(self, learning_rate: Rate, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        return self._run("GradientDescent", handle, {}, alpha=self._learning_rate, delta=grad)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        rate = tf.cast(self._number(self._learning_rate), grad.dtype)
        return handle.scatter_sub(tf.IndexedSlices(grad * rate, indices))


class _BySlots(Optimizer):
    """An optimizer whose step is one operation: `_SLOTS` are its slots, by the operation's names."""

    _SLOTS: ClassVar[dict[str, str]] = {}

    @property
    def _slots_of_operation(self) -> dict[str, str]:
        return self._SLOTS

    def _numbers(self) -> dict[str, Any]:
        """Return what the operation takes besides."""
        raise NotImplementedError

    def _kind(self) -> tuple[str, dict[str, Any]]:
        """Return which operation it is, and its attributes."""
        raise NotImplementedError

    def _first(self, slot: str) -> float:
        """Return what a slot begins with."""
        return 0.0

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            for slot in self._slots_of_operation.values():
                self._get_or_make_slot(var, tf.fill(var.shape, tf.cast(self._first(slot), var.dtype)), slot, self._name)

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        kind, attrs = self._kind()
        return self._run(kind, handle, self._slots_of_operation, None, attrs, grad=grad, **self._numbers())

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        kind, attrs = self._kind()
        return self._run(kind, handle, self._slots_of_operation, indices, attrs, grad=grad, **self._numbers())


class MomentumOptimizer(_BySlots):
    """Gradients that add up and fade. Source: tf.compat.v1.train.MomentumOptimizer."""

    _SLOTS: ClassVar[dict[str, str]] = {"accum": "momentum"}

    def __init__(self, learning_rate: Rate, momentum: Rate, use_locking: bool = False, name: str = "Momentum",
                 use_nesterov: bool = False) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum, self._use_nesterov = learning_rate, momentum, use_nesterov

    def _kind(self) -> tuple[str, dict[str, Any]]:
        return "Momentum", {"use_nesterov": self._use_nesterov}

    def _numbers(self) -> dict[str, Any]:
        return {"lr": self._learning_rate, "momentum": self._momentum}


class AdamOptimizer(Optimizer):
    """Adam, whose momentum fades in all rows. Source: tf.compat.v1.train.AdamOptimizer."""

    def __init__(self, learning_rate: Rate = 0.001, beta1: Rate = 0.9, beta2: Rate = 0.999, epsilon: Rate = 1e-8,
                 use_locking: bool = False, name: str = "Adam") -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = min(var_list, key=lambda variable: variable.name)
        self._create_non_slot_variable(self._beta1, "beta1_power", first)
        self._create_non_slot_variable(self._beta2, "beta2_power", first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        return self._non_slot_dict["beta1_power"], self._non_slot_dict["beta2_power"]

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        one, two = self._get_beta_accumulators()
        return self._run("Adam", handle, {"m": "m", "v": "v"}, beta1_power=one.value(), beta2_power=two.value(),
                         lr=self._lr, beta1=self._beta1, beta2=self._beta2, epsilon=self._epsilon,
                         grad=grad)  # fmt: skip

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        dtype = handle.dtype
        rate, one, two, epsilon, power, power2 = (
            tf.cast(self._number(each), dtype)
            for each in (self._lr, self._beta1, self._beta2, self._epsilon, *self._get_beta_accumulators())
        )
        m, v = self.get_slot(handle, "m"), self.get_slot(handle, "v")
        for slot, share, part in ((m, one, grad), (v, two, grad * grad)):
            slot.assign(slot * share)
            slot.scatter_add(tf.IndexedSlices(part * (1 - share), indices))
        return handle.assign_sub(rate * tf.sqrt(1 - power2) / (1 - power) * m / (tf.sqrt(v) + epsilon))

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        shares = (self._beta1, self._beta2)
        done = [
            power.assign(power * tf.cast(self._number(share), power.dtype))
            for power, share in zip(self._get_beta_accumulators(), shares, strict=True)
        ]
        return None if current_trace() is None else tf.group(*done)


class AdagradOptimizer(_BySlots):
    """Rates by the sum of squares of gradients. Source: tf.compat.v1.train.AdagradOptimizer."""

    _SLOTS: ClassVar[dict[str, str]] = {"accum": "accumulator"}

    def __init__(self, learning_rate: Rate, initial_accumulator_value: float = 0.1, use_locking: bool = False,
                 name: str = "Adagrad") -> None:  # fmt: skip
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial_accumulator_value = learning_rate, initial_accumulator_value

    def _first(self, slot: str) -> float:
        return self._initial_accumulator_value

    def _kind(self) -> tuple[str, dict[str, Any]]:
        return "Adagrad", {}

    def _numbers(self) -> dict[str, Any]:
        return {"lr": self._learning_rate}


class ProximalAdagradOptimizer(AdagradOptimizer):
    """Adagrad with penalties. Source: tf.compat.v1.train.ProximalAdagradOptimizer."""

    def __init__(self, learning_rate: Rate, initial_accumulator_value: float = 0.1,
                 l1_regularization_strength: Any = 0.0, l2_regularization_strength: Any = 0.0,
                 use_locking: bool = False, name: str = "ProximalAdagrad") -> None:  # fmt: skip
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._penalties = {"l1": l1_regularization_strength, "l2": l2_regularization_strength}

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        total = self.get_slot(handle, "accumulator")
        total.assign_add(grad * grad)
        rate = tf.cast(self._number(self._learning_rate), handle.dtype) * tf.math.rsqrt(total)
        return handle.assign(_nearer(handle - rate * grad, rate, **self._penalties))

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        total = self.get_slot(handle, "accumulator")
        total.scatter_add(tf.IndexedSlices(grad * grad, indices))
        rate = tf.cast(self._number(self._learning_rate), handle.dtype) * tf.math.rsqrt(tf.gather(total, indices))
        rows = _nearer(tf.gather(handle, indices) - rate * grad, rate, **self._penalties)
        return handle.scatter_update(tf.IndexedSlices(rows, indices))


def _nearer(values: Any, rate: Any, l1: TensorLike, l2: TensorLike) -> Any:
    """Values moved towards 0 by penalties: by a step, and by a share."""
    less = tf.maximum(tf.abs(values) - rate * tf.cast(l1, values.dtype), 0)
    return tf.sign(values) * less / (1 + rate * tf.cast(l2, values.dtype))


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradients times a rate, with penalties. Source: tf.compat.v1.train.ProximalGradientDescentOptimizer."""

    def __init__(self, learning_rate: Rate, l1_regularization_strength: Any = 0.0,
                 l2_regularization_strength: Any = 0.0, use_locking: bool = False,
                 name: str = "ProximalGradientDescent") -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._penalties = {"l1": l1_regularization_strength, "l2": l2_regularization_strength}

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        rate = tf.cast(self._number(self._learning_rate), handle.dtype)
        return handle.assign(_nearer(handle - rate * grad, rate, **self._penalties))

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        rate = tf.cast(self._number(self._learning_rate), handle.dtype)
        rows = _nearer(tf.gather(handle, indices) - rate * grad, rate, **self._penalties)
        return handle.scatter_update(tf.IndexedSlices(rows, indices))


class RMSPropOptimizer(_BySlots):
    """Rates by a moving mean of squares. Source: tf.compat.v1.train.RMSPropOptimizer."""

    def __init__(self, learning_rate: Rate, decay: Rate = 0.9, momentum: Rate = 0.0, epsilon: Rate = 1e-10,
                 use_locking: bool = False, centered: bool = False, name: str = "RMSProp") -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum, self._epsilon = learning_rate, decay, momentum, epsilon
        self._centered = centered
        self._kept = {"ms": "rms", **({"mg": "mg"} if centered else {}), "mom": "momentum"}

    @property
    def _slots_of_operation(self) -> dict[str, str]:
        return self._kept

    def _first(self, slot: str) -> float:
        return 1.0 if slot == "rms" else 0.0

    def _kind(self) -> tuple[str, dict[str, Any]]:
        return "CenteredRMSProp" if self._centered else "RMSProp", {}

    def _numbers(self) -> dict[str, Any]:
        return {"lr": self._learning_rate, "rho": self._decay, "momentum": self._momentum, "epsilon": self._epsilon}


class AdadeltaOptimizer(_BySlots):
    """Steps by moving means of squares. Source: tf.compat.v1.train.AdadeltaOptimizer."""

    _SLOTS: ClassVar[dict[str, str]] = {"accum": "accum", "accum_update": "accum_update"}

    def __init__(self, learning_rate: Rate = 0.001, rho: Rate = 0.95, epsilon: Rate = 1e-8, use_locking: bool = False,
                 name: str = "Adadelta") -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._lr, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _kind(self) -> tuple[str, dict[str, Any]]:
        return "Adadelta", {}

    def _numbers(self) -> dict[str, Any]:
        return {"lr": self._lr, "rho": self._rho, "epsilon": self._epsilon}


class FtrlOptimizer(_BySlots):
    """Follow the regularized leader. ValueError for a wrong sign. Source: tf.compat.v1.train.FtrlOptimizer."""

    _SLOTS: ClassVar[dict[str, str]] = {"accum": "accum", "linear": "linear"}

    def __init__(self, learning_rate: Rate, learning_rate_power: Any = -0.5, initial_accumulator_value: float = 0.1,
                 l1_regularization_strength: Any = 0.0, l2_regularization_strength: Any = 0.0,
                 use_locking: bool = False, name: str = "Ftrl", accum_name: str | None = None,
                 linear_name: str | None = None, l2_shrinkage_regularization_strength: float = 0.0,
                 beta: Any = None) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        for what, value, wrong in (
            ("initial_accumulator_value", initial_accumulator_value, initial_accumulator_value < 0.0),
            ("learning_rate_power", learning_rate_power, learning_rate_power > 0.0),
            ("l1_regularization_strength", l1_regularization_strength, l1_regularization_strength < 0.0),
            ("l2_regularization_strength", l2_regularization_strength, l2_regularization_strength < 0.0),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength,
             l2_shrinkage_regularization_strength < 0.0),
        ):  # fmt: skip
            if wrong:
                sign = "negative or zero" if what == "learning_rate_power" else "positive or zero"
                raise ValueError(f"{what} {value} needs to be {sign}")
        self._learning_rate, self._power, self._first_sum = (
            learning_rate,
            learning_rate_power,
            initial_accumulator_value,
        )
        self._l1, self._l2, self._shrinkage = (
            l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength
        )  # fmt: skip
        self._beta = beta or 0.0

    def _first(self, slot: str) -> float:
        return self._first_sum if slot == "accum" else 0.0

    def _kind(self) -> tuple[str, dict[str, Any]]:
        return "FtrlV2" if self._shrinkage > 0 else "Ftrl", {}

    def _numbers(self) -> dict[str, Any]:
        rate = self._number(self._learning_rate)
        shrinkage = {"l2_shrinkage": self._shrinkage} if self._shrinkage > 0 else {}
        l2 = self._l2 + self._beta / (2.0 * rate) if self._beta else self._l2
        return {"lr": rate, "l1": self._l1, "l2": l2, "lr_power": self._power, **shrinkage}


# ---- steps and rates ------------------------------------------------------------------------------------------------


def _scheduled(kind: str, learning_rate: TensorLike, global_step: Any, *args: Any, **kwargs: Any) -> Any:
    """A schedule of Keras's at a step: eagerly a function that asks for the step when it is called."""
    if global_step is None:
        raise ValueError(f"Argument `global_step` of {kind} cannot be None.")
    schedule = getattr(tf.keras.optimizers.schedules, kind)(learning_rate, *args, **kwargs)

    def rate() -> Any:
        return schedule(global_step)

    return rate if tf.executing_eagerly() else rate()


def exponential_decay(learning_rate: TensorLike, global_step: Any, decay_steps: TensorLike, decay_rate: TensorLike,
                      staircase: bool = False, name: str | None = None) -> Any:  # fmt: skip
    """Return the rate times `decay_rate` for each `decay_steps`. Source: tf.compat.v1.train.exponential_decay."""
    return _scheduled("ExponentialDecay", learning_rate, global_step, decay_steps, decay_rate, staircase, name=name)


def natural_exp_decay(learning_rate: TensorLike, global_step: Any, decay_steps: TensorLike, decay_rate: TensorLike,
                      staircase: bool = False, name: str | None = None) -> Any:  # fmt: skip
    """Return the rate times exp(-`decay_rate`) for each `decay_steps`."""
    rate = tf.exp(-tf.cast(decay_rate, tf.float32))
    return _scheduled("ExponentialDecay", learning_rate, global_step, decay_steps, rate, staircase, name=name)


def inverse_time_decay(learning_rate: TensorLike, global_step: Any, decay_steps: TensorLike, decay_rate: TensorLike,
                       staircase: bool = False, name: str | None = None) -> Any:  # fmt: skip
    """Return the rate divided by 1 + `decay_rate` times the steps by `decay_steps`."""
    return _scheduled("InverseTimeDecay", learning_rate, global_step, decay_steps, decay_rate, staircase, name=name)


def polynomial_decay(
    learning_rate: TensorLike, global_step: Any, decay_steps: TensorLike, end_learning_rate: TensorLike = 0.0001,
    power: TensorLike = 1.0, cycle: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """Return the rate on its way to another one. Source: tf.compat.v1.train.polynomial_decay."""
    rest = (decay_steps, end_learning_rate, power, cycle)
    return _scheduled("PolynomialDecay", learning_rate, global_step, *rest, name=name)


def cosine_decay(learning_rate: TensorLike, global_step: Any, decay_steps: TensorLike, alpha: TensorLike = 0.0,
                 name: str | None = None) -> Any:  # fmt: skip
    """Return the rate along half a wave. Source: tf.compat.v1.train.cosine_decay."""
    return _scheduled("CosineDecay", learning_rate, global_step, decay_steps, alpha, name=name)


def cosine_decay_restarts(
    learning_rate: TensorLike, global_step: Any, first_decay_steps: TensorLike, t_mul: TensorLike = 2.0,
    m_mul: TensorLike = 1.0, alpha: TensorLike = 0.0, name: str | None = None,
) -> Any:  # fmt: skip
    """Return the rate along half waves, one after the other. Source: tf.compat.v1.train.cosine_decay_restarts."""
    rest = (first_decay_steps, t_mul, m_mul, alpha)
    return _scheduled("CosineDecayRestarts", learning_rate, global_step, *rest, name=name)


def piecewise_constant(x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None) -> Any:
    """Return the value between two boundaries at a step. Source: tf.compat.v1.train.piecewise_constant."""
    schedule = tf.keras.optimizers.schedules.PiecewiseConstantDecay(list(boundaries), list(values), name=name)

    def rate() -> Any:
        return schedule(x)

    return rate if tf.executing_eagerly() else rate()


piecewise_constant_decay: Callable[..., Any] = piecewise_constant
