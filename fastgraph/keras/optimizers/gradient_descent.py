"""SGD, RMSprop and Adagrad with the meaning that they have in Keras 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor, init_scope
from fastgraph.keras.optimizers.base import CallableList, Optimizer, Rate
from fastgraph.ops.creation import fill
from fastgraph.ops.elementwise import cast, square, zeros_like
from fastgraph.ops.exponentials import rsqrt, sqrt
from fastgraph.ops.gathering import gather
from fastgraph.ops.movement import expand_dims, size
from fastgraph.ops.scatter import tensor_scatter_update_p
from fastgraph.ops.segments import unsorted_segment_sum
from fastgraph.ops.sorting import unique
from fastgraph.state.variable import Variable


class SGD(Optimizer):
    """Gradient descent, with momentum if asked. Source: tf.keras.optimizers.SGD.

    w -= rate * g; with momentum: v = momentum * v - rate * g, then w += v, or with `nesterov`
    w += momentum * v - rate * g.
    """

    def __init__(
        self, learning_rate: Rate = 0.01, momentum: float = 0.0, nesterov: bool = False, weight_decay: float | None
        = None, clipnorm: float | None = None, clipvalue: float | None = None, global_clipnorm: float | None =
        None, use_ema: bool = False, ema_momentum: float = 0.99, ema_overwrite_frequency: int | None = None,
        jit_compile: bool = True, name: str = "SGD", **kwargs: Any,
    ) -> None:  # fmt: skip
        if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        self._begin(locals())
        self.momentums: list[Variable] = []
        self._still: list[Variable] = []  # whose velocities are not made

    def build(self, var_list: Sequence[Variable]) -> None:
        """Make the velocities. Without momentum no step uses them: they are made when somebody asks for them."""
        super().build(var_list)
        self.momentums, self._still = [], list(var_list)
        if self.momentum:
            self._complete()

    def _complete(self) -> None:
        still, self._still = self._still, []
        self.momentums += [self.add_variable_from_reference(v, "m") for v in still]

    @property
    def variables(self) -> CallableList:
        """The Variables that the optimizer keeps: the count of steps, then the velocities."""
        with init_scope():
            self._complete()
        return super().variables

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """Return what checkpoints have of it, velocities too that are never used."""
        with init_scope():
            self._complete()
        return super()._trackable_children(save_type, **kwargs)

    def update_step(self, gradient: Tensor, variable: Variable) -> None:
        """Change `variable` by its gradient."""
        rate = cast(self.learning_rate, variable.dtype)
        if not self.momentum:
            variable.assign_sub(gradient * rate)
            return
        momentum = self.momentums[self._index_dict[variable._number]]
        velocity = momentum * self.momentum - gradient * rate
        momentum.assign(velocity)
        variable.assign_add(velocity * self.momentum - gradient * rate if self.nesterov else velocity)

    def update_rows(self, gradient: IndexedSlices, variable: Variable) -> None:
        """Change the rows of `variable` that the gradient has; with momentum all of them go on."""
        if self.momentum:
            super().update_rows(gradient, variable)
            return
        rate = cast(self.learning_rate, variable.dtype)
        variable.scatter_sub(IndexedSlices(gradient.values * rate, gradient.indices))


class RMSprop(Optimizer):
    """Steps over the root of the running mean of squared gradients. Source: tf.keras.optimizers.RMSprop; Tieleman 2012.

    v = rho * v + (1 - rho) * g²; w -= rate * g / sqrt(v + epsilon). With `centered` the square of the running mean of
    gradients is taken off v; with `momentum` the steps are summed up as SGD sums them.
    """

    _LEGACY_SLOTS: ClassVar[dict[str, str]] = {"velocity": "rms", "average_gradient": "mg"}

    def __init__(
        self, learning_rate: Rate = 0.001, rho: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-7,
        centered: bool = False, weight_decay: float | None = None, clipnorm: float | None = None, clipvalue: float
        | None = None, global_clipnorm: float | None = None, use_ema: bool = False, ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = 100, jit_compile: bool = True, name: str = "RMSprop", **kwargs: Any,
    ) -> None:  # fmt: skip
        self._begin(locals())
        self._velocities: list[Variable] = []
        self._momentums: list[Variable] = []
        self._average_gradients: list[Variable] = []

    def build(self, var_list: Sequence[Variable]) -> None:
        """Make the running means."""
        super().build(var_list)
        self._velocities = [self.add_variable_from_reference(v, "velocity") for v in var_list]
        if self.momentum > 0:
            self._momentums = [self.add_variable_from_reference(v, "momentum") for v in var_list]
        if self.centered:
            self._average_gradients = [self.add_variable_from_reference(v, "average_gradient") for v in var_list]

    def update_step(self, gradient: Tensor, variable: Variable) -> None:
        """Change `variable` by its gradient."""
        index = self._index_dict[variable._number]
        rate = cast(self.learning_rate, variable.dtype)
        velocity = self._velocities[index]
        v = self.rho * velocity + (1.0 - self.rho) * square(gradient)
        velocity.assign(v)
        denominator = v + self.epsilon
        if self.centered:
            average = self._average_gradients[index]
            mean = self.rho * average + (1.0 - self.rho) * gradient
            average.assign(mean)
            denominator = v - square(mean) + self.epsilon
        step = rate * gradient * rsqrt(denominator)
        if self.momentum > 0:
            momentum = self._momentums[index]
            step = self.momentum * momentum + step
            momentum.assign(step)
        variable.assign_sub(step)


class Adagrad(Optimizer):
    """Steps over the root of the sum of squared gradients. Source: tf.keras.optimizers.Adagrad; Duchi et al. 2011.

    a += g²; w -= rate * g / sqrt(a + epsilon).
    """

    _LEGACY_SLOTS: ClassVar[dict[str, str]] = {"accumulator": "accumulator"}

    def __init__(
        self, learning_rate: Rate = 0.001, initial_accumulator_value: float = 0.1, epsilon: float = 1e-7,
        weight_decay: float | None = None, clipnorm: float | None = None, clipvalue: float | None = None,
        global_clipnorm: float | None = None, use_ema: bool = False, ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None, jit_compile: bool = True, name: str = "Adagrad", **kwargs: Any,
    ) -> None:  # fmt: skip
        self._begin(locals())
        self._accumulators: list[Variable] = []

    def build(self, var_list: Sequence[Variable]) -> None:
        """Make the sums."""
        super().build(var_list)
        for variable in var_list:
            start = fill(variable.shape, cast(self.initial_accumulator_value, variable.dtype))
            self._accumulators.append(self.add_variable_from_reference(variable, "accumulator", initial_value=start))

    def update_step(self, gradient: Tensor, variable: Variable) -> None:
        """Change `variable` by its gradient."""
        accumulator = self._accumulators[self._index_dict[variable._number]]
        total = accumulator + square(gradient)
        accumulator.assign(total)
        rate = cast(self.learning_rate, variable.dtype)
        variable.assign_sub(rate * gradient / sqrt(total + self.epsilon))

    def update_rows(self, gradient: IndexedSlices, variable: Variable) -> None:
        """Change the rows of `variable` that the gradient has, of the sums too."""
        place = unique(gradient.indices).idx
        total = unsorted_segment_sum(gradient.values, place, size(place))
        # As many rows as indices, for how many differ is data, and no size. Those left over, of sum 0, repeat one.
        rows = zeros_like(gradient.indices) + gradient.indices[:1]
        rows = tensor_scatter_update_p(rows, expand_dims(place, 1), gradient.indices)
        accumulator = self._accumulators[self._index_dict[variable._number]]
        accumulator.scatter_add(IndexedSlices(square(total), rows))
        rate = cast(self.learning_rate, variable.dtype)
        step = rate * total / sqrt(gather(accumulator, rows) + self.epsilon)
        variable.scatter_sub(IndexedSlices(step, rows))
