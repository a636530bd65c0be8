"""Adadelta, Adafactor, Adamax, Ftrl, Lion and Nadam with the meaning that they have in Keras 2.

Rule: beside its own arguments each takes those of Optimizer by name: name, weight_decay, clipnorm, clipvalue, ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.keras.optimizers.base import Optimizer, Rate
from fastgraph.keras.optimizers.schedules import LearningRateSchedule
from fastgraph.ops.creation import fill
from fastgraph.ops.elementwise import cast, clip_by_value, maximum, minimum, sign, square
from fastgraph.ops.exponentials import pow, rsqrt, sqrt
from fastgraph.ops.movement import expand_dims
from fastgraph.ops.reduction import reduce_mean
from fastgraph.state.variable import Variable


class _Slotted(Optimizer):
    """The base: what is kept for each Variable is listed in SLOTS, zeros in the beginning."""

    SLOTS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, learning_rate: Rate, kwargs: dict[str, Any]) -> None:
        super().__init__(kwargs.pop("name", type(self).__name__), learning_rate=learning_rate, **kwargs)
        self._kept: dict[str, list[Variable]] = {}

    def build(self, var_list: Sequence[Variable]) -> None:
        """Make what is kept for each Variable."""
        super().build(var_list)
        self._kept = {name: [] for name in self.SLOTS}
        for variable in var_list:
            for name in self.SLOTS:
                self._kept[name].append(self._begun(variable, name))

    def _begun(self, variable: Variable, name: str) -> Variable:
        return self.add_variable_from_reference(variable, name)

    def _of(self, variable: Variable) -> list[Any]:
        """The Variables kept for one."""
        place = self._index_dict[variable._number]
        return [self._kept[name][place] for name in self.SLOTS]


class Adadelta(_Slotted):
    """Steps over running roots of squared gradients, times those of squared steps. Source: Zeiler, arXiv:1212.5701.

    a = rho * a + (1 - rho) * g²; d = sqrt(s + epsilon) / sqrt(a + epsilon) * g; s = rho * s + (1 - rho) * d²;
    w -= rate * d.
    """

    SLOTS = ("accumulated_grad", "accumulated_delta_var")

    def __init__(self, learning_rate: Rate = 0.001, rho: float = 0.95, epsilon: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(learning_rate, kwargs)
        self._take(locals())

    def update_step(self, gradient: Tensor, variable: Variable) -> None:
        squares, steps = self._of(variable)
        squares.assign(self.rho * squares + (1.0 - self.rho) * gradient * gradient)
        step = sqrt(steps + self.epsilon) * gradient / sqrt(squares + self.epsilon)
        steps.assign(self.rho * steps + (1.0 - self.rho) * step * step)
        variable.assign_sub(cast(self.learning_rate, variable.dtype) * step)


class Adafactor(_Slotted):
    """Steps over roots of running means of squared gradients, of matrices as a product of rows' and columns' means.

    The step's length is a share of the values' own root mean square. relative_step: rates are at most 1 / sqrt(t).
    Source: Shazeer and Stern, arXiv:1804.04235, as tf.keras.optimizers.Adafactor has it.
    """

    SLOTS = ("r", "c", "v")

    def __init__(
        self, learning_rate: Rate = 0.001, beta_2_decay: float = -0.8, epsilon_1: float = 1e-30,
        epsilon_2: float = 1e-3, clip_threshold: float = 1.0, relative_step: bool = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, kwargs)
        self._take(locals())

    def build(self, var_list: Sequence[Variable]) -> None:
        """Make the means; those of rows and of columns are in lists of their own as well, as in TensorFlow."""
        super().build(var_list)
        for name in ("r", "c"):
            self._handle_deferred_dependencies(f"_{name}", self._kept[name])

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """Return what Keras 2's optimizer depends on, by names."""
        lists = {f"_{name}": self._kept[name] for name in ("r", "c") if self._kept}
        return {**super()._trackable_children(save_type, **kwargs), **lists}

    def _begun(self, variable: Variable, name: str) -> Variable:
        dims = variable.shape.as_list()
        if name == "v":
            return self.add_variable_from_reference(variable, name)
        if len(dims) < 2:  # TensorFlow's checkpoints have a place for it, and `variables` has none
            return Variable(0, name=f"r/{variable._shared_name}")
        dims = dims[:-1] if name == "r" else [*dims[:-2], dims[-1]]
        return self.add_variable_from_reference(variable, name, shape=dims)

    def update_step(self, gradient: Tensor, variable: Variable) -> None:
        dtype = variable.dtype
        r, c, v = self._of(variable)
        step = cast(self.iterations + 1, dtype)
        rate = cast(self.learning_rate, dtype)
        if self.relative_step and not isinstance(self._learning_rate, LearningRateSchedule):
            rate = minimum(rate, rsqrt(step))
        alpha = maximum(cast(self.epsilon_2, dtype), _root_mean_square(variable)) * minimum(rate, rsqrt(step))
        squares = square(gradient) + self.epsilon_1
        new = pow(step, self.beta_2_decay)
        if len(variable.shape.as_list()) < 2:
            v.assign((1.0 - new) * v + new * squares)
        else:
            r.assign((1.0 - new) * r + new * reduce_mean(squares, axis=-1))
            c.assign((1.0 - new) * c + new * reduce_mean(squares, axis=-2))
            v.assign(expand_dims(r / reduce_mean(r, axis=-1, keepdims=True), -1) * expand_dims(c, -2))
        wanted = gradient * rsqrt(v)
        variable.assign_sub(alpha * wanted / maximum(cast(1.0, dtype), _root_mean_square(wanted) / self.clip_threshold))


def _root_mean_square(x: TensorLike) -> Any:
    return sqrt(reduce_mean(square(x)))


class Ftrl(_Slotted):
    """Follow the regularized leader: few weights other than 0. Source: McMahan et al. 2013; tf.keras.optimizers.Ftrl.

    p = -learning_rate_power; z += g - ((a + g²)^p - a^p) / rate * w; a += g²; w = (clip(z, -l1, l1) - z) /
    (a^p / rate + 2 * l2 + beta / rate). Raises ValueError for numbers of the wrong sign.
    """

    SLOTS = ("accumulator", "linear")

    def __init__(
        self, learning_rate: Rate = 0.001, learning_rate_power: float = -0.5, initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0, beta: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, kwargs)
        own = locals()
        self._take(own)
        for name in self._taken:
            sign = -1 if name == "learning_rate_power" else 1
            if name not in ("learning_rate", "beta") and own[name] * sign < 0:
                word = "positive" if sign > 0 else "negative"
                raise ValueError(f"`{name}` needs to be {word} or zero. Received: {name}={own[name]}.")

    def _begun(self, variable: Variable, name: str) -> Variable:
        start = self.initial_accumulator_value if name == "accumulator" else 0.0
        start = fill(variable.shape, cast(start, variable.dtype))
        return self.add_variable_from_reference(variable, name, initial_value=start)

    def update_step(self, gradient: Tensor, variable: Variable) -> None:
        sums, linear = self._of(variable)
        rate, power = cast(self.learning_rate, variable.dtype), -self.learning_rate_power
        total = sums + square(gradient)
        shrunk = gradient + 2 * self.l2_shrinkage_regularization_strength * variable
        linear.assign_add(shrunk - (pow(total, power) - pow(sums, power)) / rate * variable)
        quadratic = pow(total, power) / rate + 2 * self.l2_regularization_strength + self.beta / rate
        bound = self.l1_regularization_strength
        variable.assign((clip_by_value(linear, -bound, bound) - linear) / quadratic)
        sums.assign(total)


class Adamax(_Slotted):
    """Adam with the greatest gradient, which is forgotten slowly, for the root of squares. Source: arXiv:1412.6980.

    m += (g - m)(1 - beta_1); u = max(beta_2 * u, |g|); w -= rate / (1 - beta_1^t) * m / (u + epsilon).
    """

    SLOTS = ("m", "u")

    def __init__(
        self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, kwargs)
        self._take(locals())

    def update_step(self, gradient: Tensor, variable: Variable) -> None:
        dtype = variable.dtype
        m, u = self._of(variable)
        m.assign_add((gradient - m) * (1.0 - self.beta_1))
        u.assign(maximum(self.beta_2 * u, abs(gradient)))
        whole = 1.0 - pow(cast(self.beta_1, dtype), cast(self.iterations + 1, dtype))
        variable.assign_sub(cast(self.learning_rate, dtype) * m / (whole * (u + self.epsilon)))


class Nadam(_Slotted):
    """Adam with Nesterov's momentum, whose share grows over the steps. Source: Dozat 2016."""

    SLOTS = ("m", "v")

    def __init__(
        self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, kwargs)
        self._take(locals())

    def build(self, var_list: Sequence[Variable]) -> None:
        """Make the running means, and the product of the momentums' shares."""
        super().build(var_list)
        product = Variable(1.0, dtype=var_list[0].dtype, trainable=False)
        self._u_product = self._track_trackable(product, "_u_product", overwrite=True)
        self._handle_deferred_dependencies("_u_product", product)

    @property
    def _behind_slots(self) -> list[Variable]:
        return [self._u_product]

    def _share(self, ahead: int, dtype: DTypeLike | None) -> Any:
        """The momentum's share at this step, or at one ahead."""
        step = cast(self.iterations + 1 + ahead, dtype)
        return self.beta_1 * (1.0 - 0.5 * pow(cast(0.96, dtype), step))

    def before_step(self) -> None:
        """Multiply the momentum's share of this step to the product."""
        self._u_product.assign(self._u_product * self._share(0, self._u_product.dtype))

    def update_step(self, gradient: Tensor, variable: Variable) -> None:
        dtype = variable.dtype
        m, v = self._of(variable)
        m.assign_add((gradient - m) * (1.0 - self.beta_1))
        v.assign_add((square(gradient) - v) * (1.0 - self.beta_2))
        product = cast(self._u_product, dtype)
        now, ahead = self._share(0, dtype), self._share(1, dtype)
        mean = ahead * m / (1.0 - product * ahead) + (1.0 - now) * gradient / (1.0 - product)
        squares = v / (1.0 - pow(cast(self.beta_2, dtype), cast(self.iterations + 1, dtype)))
        variable.assign_sub(mean * cast(self.learning_rate, dtype) / (sqrt(squares) + self.epsilon))


class Lion(_Slotted):
    """Steps of one length, in the direction of the sign of a mean of gradients. Source: Chen et al., arXiv:2302.06675.

    w -= rate * sign(m * beta_1 + g * (1 - beta_1)); m = m * beta_2 + g * (1 - beta_2). Raises ValueError for beta_1
    outside ]0, 1].
    """

    SLOTS = ("m",)

    def __init__(self, learning_rate: Rate = 0.0001, beta_1: float = 0.9, beta_2: float = 0.99, **kwargs: Any) -> None:
        super().__init__(learning_rate, kwargs)
        self._take(locals())
        if not 0 < beta_1 <= 1:
            raise ValueError(f"`beta_1`={beta_1} must be between ]0, 1]. Otherwise, the optimizer is SignSGD.")

    def update_step(self, gradient: Tensor, variable: Variable) -> None:
        (m,) = self._of(variable)
        direction = sign(m * self.beta_1 + gradient * (1.0 - self.beta_1))
        variable.assign_sub(cast(self.learning_rate, variable.dtype) * direction)
        m.assign(m * self.beta_2 + gradient * (1.0 - self.beta_2))
