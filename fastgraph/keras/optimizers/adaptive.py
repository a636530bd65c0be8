"""Adadelta, Adamax, Lion and Nadam with the meaning that they have in Keras 2.

Rule: beside its own arguments each takes those of Optimizer by name: name, weight_decay, clipnorm, clipvalue, ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from fastgraph.core.tensor import Tensor
from fastgraph.keras.optimizers.base import Optimizer, Rate
from fastgraph.ops.elementwise import cast, maximum, sign, square
from fastgraph.ops.exponentials import sqrt
from fastgraph.state.variable import Variable


class _Slotted(Optimizer):
    """The base: what is kept for each Variable is listed in SLOTS, zeros in the beginning."""

    SLOTS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, learning_rate: Rate, kwargs: dict[str, Any]) -> None:
        super().__init__(kwargs.pop("name", type(self).__name__), learning_rate, **kwargs)
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
        place = self._index[variable._number]
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
        self._u_product = Variable(1.0, dtype=var_list[0].dtype, trainable=False)

    def _share(self, ahead: int, dtype: Any) -> Any:
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
