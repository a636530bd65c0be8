"""Adam and AdamW with the meaning that they have in Keras 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from fastgraph.core.tensor import Tensor
from fastgraph.keras.optimizers.base import Optimizer, Rate
from fastgraph.ops.elementwise import cast, maximum, square
from fastgraph.ops.exponentials import pow, sqrt
from fastgraph.state.variable import Variable


class Adam(Optimizer):
    """Adam. Source: Kingma and Ba, arXiv:1412.6980, as tf.keras.optimizers.Adam has it: epsilon outside the correction.

    At step t: m += (g - m)(1 - beta_1); v += (g² - v)(1 - beta_2);
    w -= rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon).

    Args:
        learning_rate: A number, a schedule, or a callable without arguments.
        beta_1: How much of the mean m of the gradients each step keeps.
        beta_2: How much of the mean v of their squares each step keeps.
        epsilon: What keeps the quotient finite.
        amsgrad: Whether the greatest v so far stands for v.
        weight_decay: The share of each weight that a step takes away, times the rate.
        clipnorm, clipvalue, global_clipnorm: A bound on each gradient's norm, on its elements, or on the norm of all.
        use_ema, ema_momentum, ema_overwrite_frequency: Whether running means of the weights are kept, how much of them
            each step keeps, and after how many steps, and at the end of `fit`, they become the weights.
        jit_compile: Taken and without effect.
        kwargs: None.

    Raises:
        ValueError: clipnorm and global_clipnorm are both given; ema_momentum is not in [0, 1].
        TypeError: There is another keyword argument.

    Examples:
        >>> w = tf.Variable([5.0, -3.0])
        >>> optimizer = tf.keras.optimizers.Adam(learning_rate=0.1)
        >>> for _ in range(3):
        ...     with tf.GradientTape() as tape:
        ...         loss = tf.reduce_sum(w ** 2)
        ...     step = optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        >>> w.numpy().round(2), int(optimizer.iterations)
        (array([ 4.7, -2.7], dtype=float32), 3)
    """

    _LEGACY_SLOTS: ClassVar[dict[str, str]] = {"m": "m", "v": "v", "vhat": "vhat"}

    def __init__(
        self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7,
        amsgrad: bool = False, weight_decay: float | None = None, clipnorm: float | None = None, clipvalue: float |
        None = None, global_clipnorm: float | None = None, use_ema: bool = False, ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None, jit_compile: bool = True, name: str = "Adam", **kwargs: Any,
    ) -> None:  # fmt: skip
        self._begin(locals())
        self._momentums: list[Variable] = []
        self._velocities: list[Variable] = []
        self._velocity_hats: list[Variable] = []

    def build(self, var_list: Sequence[Variable]) -> None:
        """Make the running means of gradients and of their squares."""
        super().build(var_list)
        for variable in var_list:
            self._momentums.append(self.add_variable_from_reference(variable, "m"))
            self._velocities.append(self.add_variable_from_reference(variable, "v"))
        if self.amsgrad:
            self._velocity_hats = [self.add_variable_from_reference(v, "vhat") for v in var_list]

    def update_step(self, gradient: Tensor, variable: Variable) -> None:
        """Change `variable` by its gradient."""
        dtype = variable.dtype
        rate = cast(self.learning_rate, dtype)
        step = cast(self.iterations + 1, dtype)
        correction = sqrt(1.0 - pow(cast(self.beta_2, dtype), step)) / (1.0 - pow(cast(self.beta_1, dtype), step))
        alpha = rate * correction
        index = self._index_dict[variable._number]
        momentum, velocity = self._momentums[index], self._velocities[index]
        m = momentum + (gradient - momentum) * (1.0 - self.beta_1)
        v = velocity + (square(gradient) - velocity) * (1.0 - self.beta_2)
        momentum.assign(m)
        velocity.assign(v)
        if self.amsgrad:
            hat = self._velocity_hats[index]
            v = maximum(hat, v)
            hat.assign(v)
        variable.assign_sub((m * alpha) / (sqrt(v) + self.epsilon))


class AdamW(Adam):
    """Adam with weight decay apart from the gradients: before each step w -= rate * weight_decay * w.

    Source: tf.keras.optimizers.AdamW; Loshchilov and Hutter, arXiv:1711.05101.
    """

    def __init__(
        self, learning_rate: Rate = 0.001, weight_decay: float | None = 0.004, beta_1: float = 0.9, beta_2: float =
        0.999, epsilon: float = 1e-7, amsgrad: bool = False, clipnorm: float | None = None, clipvalue: float | None
        = None, global_clipnorm: float | None = None, use_ema: bool = False, ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None, jit_compile: bool = True, name: str = "AdamW", **kwargs: Any,
    ) -> None:  # fmt: skip
        if weight_decay is None:
            raise ValueError("Missing value of `weight_decay` which is required and must be a float value.")
        super().__init__(
            learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay, clipnorm, clipvalue, global_clipnorm,
            use_ema, ema_momentum, ema_overwrite_frequency, jit_compile, name, **kwargs,
        )  # fmt: skip
