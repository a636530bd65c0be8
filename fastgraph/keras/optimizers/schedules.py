"""tf.keras.optimizers.schedules: learning rates as functions of the step. Meaning of Keras 2.

Rule: a schedule is a callable from the step to the rate, in ops, so that it is part of a training step: in float32, or
in the dtype of a tensor that the first rate is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastgraph.api.namespaces import lookup
from fastgraph.core.base.dtype import float32
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.keras import identifiers
from fastgraph.ops.comparison import greater, less
from fastgraph.ops.elementwise import cast, maximum, minimum
from fastgraph.ops.exponentials import cos, log, pow
from fastgraph.ops.gathering import where
from fastgraph.ops.rounding import ceil, floor

__all__ = [
    "CosineDecay",
    "CosineDecayRestarts",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LearningRateSchedule",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
    "deserialize",
    "serialize",
]

__getattr__, __dir__ = lookup("keras.optimizers.schedules")


class LearningRateSchedule:
    """The base of schedules: `__call__(step)` gives the rate."""

    def __call__(self, step: Any) -> Any:
        """Return the learning rate at this step."""
        raise NotImplementedError("Learning rate schedule must override __call__")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a schedule: a subclass's attributes of the arguments' names."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """Return the schedule that `get_config` described."""
        return cls(**config)


@dataclass(eq=False, repr=False)
class ExponentialDecay(LearningRateSchedule):
    """initial * decay_rate^(step / decay_steps), the exponent a whole number if `staircase`."""

    initial_learning_rate: TensorLike
    decay_steps: TensorLike
    decay_rate: TensorLike
    staircase: bool = False
    name: str | None = None

    def __call__(self, step: TensorLike) -> Any:
        """Return the learning rate at this step."""
        rate, now, length, base = _alike(self.initial_learning_rate, step, self.decay_steps, self.decay_rate)
        exponent = floor(now / length) if self.staircase else now / length
        return rate * pow(base, exponent)


@dataclass(eq=False, repr=False)
class PiecewiseConstantDecay(LearningRateSchedule):
    """values[i] after step boundaries[i - 1], up to boundaries[i]. Raises ValueError unless there is a value more."""

    boundaries: Sequence[float]
    values: Sequence[float]
    name: str | None = None

    def __post_init__(self) -> None:
        boundaries, values = self.boundaries, self.values
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "The length of boundaries should be 1 less than the length of values. Received: "
                f"boundaries={boundaries} of length {len(boundaries)}, and values={values} of length {len(values)}."
            )

    def __call__(self, step: TensorLike) -> Any:
        """Return the learning rate at this step."""
        now = _number(step)
        rate = _number(self.values[0])
        for boundary, value in zip(self.boundaries, self.values[1:], strict=True):
            rate = where(greater(now, float(boundary)), _number(value), rate)
        return rate


@dataclass(eq=False, repr=False)
class PolynomialDecay(LearningRateSchedule):
    """A fall from initial to end as (1 - step / decay_steps)^power; with `cycle` over and over, ever more slowly."""

    initial_learning_rate: TensorLike
    decay_steps: TensorLike
    end_learning_rate: TensorLike = 0.0001
    power: TensorLike = 1.0
    cycle: bool = False
    name: str | None = None

    def __call__(self, step: TensorLike) -> Any:
        """Return the learning rate at this step."""
        rate, now, length = _alike(self.initial_learning_rate, step, self.decay_steps)
        _, end, power = _alike(rate, self.end_learning_rate, self.power)
        if self.cycle:
            length = length * maximum(ceil(now / length), 1.0)
        else:
            now = minimum(now, length)
        return (rate - end) * pow(1.0 - now / length, power) + end


@dataclass(eq=False, repr=False)
class InverseTimeDecay(LearningRateSchedule):
    """initial / (1 + decay_rate * step / decay_steps), the quotient a whole number if `staircase`."""

    initial_learning_rate: TensorLike
    decay_steps: TensorLike
    decay_rate: TensorLike
    staircase: bool = False
    name: str | None = None

    def __call__(self, step: TensorLike) -> Any:
        """Return the learning rate at this step."""
        rate, now, length, share = _alike(self.initial_learning_rate, step, self.decay_steps, self.decay_rate)
        periods = floor(now / length) if self.staircase else now / length
        return rate / (1.0 + share * periods)


@dataclass(eq=False, repr=False)
class CosineDecay(LearningRateSchedule):
    """Half a cosine wave from initial to alpha * initial, after a straight rise to `warmup_target` if there is one.

    Source: Loshchilov and Hutter, arXiv:1608.03983.
    """

    initial_learning_rate: TensorLike
    decay_steps: TensorLike
    alpha: float = 0.0
    name: str | None = None
    warmup_target: float | None = None
    warmup_steps: int = 0

    def __call__(self, step: TensorLike) -> Any:
        """Return the learning rate at this step."""
        rate, now, length, warm = _alike(self.initial_learning_rate, step, self.decay_steps, self.warmup_steps)
        if self.warmup_target is None:
            return self._decayed(minimum(now, length) / length, rate)
        now = minimum(now, length + warm)
        rising = rate + (self.warmup_target - rate) * (now / warm)
        return where(less(now, warm), rising, self._decayed((now - warm) / length, self.warmup_target))

    def _decayed(self, part: Tensor, start: Any) -> Any:
        return start * ((1.0 - self.alpha) * (0.5 * (1.0 + cos(math.pi * part))) + self.alpha)


@dataclass(eq=False, repr=False)
class CosineDecayRestarts(LearningRateSchedule):
    """Cosine waves one after another: each t_mul times as long and m_mul times as high as the one before."""

    initial_learning_rate: TensorLike
    first_decay_steps: TensorLike
    t_mul: float = 2.0
    m_mul: float = 1.0
    alpha: float = 0.0
    name: str | None = None

    def __call__(self, step: TensorLike) -> Any:
        """Return the learning rate at this step."""
        rate, now, length, t_mul, m_mul = _alike(
            self.initial_learning_rate, step, self.first_decay_steps, self.t_mul, self.m_mul
        )
        done = now / length
        if self.t_mul == 1.0:
            n_restarts = floor(done)
            done = done - n_restarts
        else:
            n_restarts = floor(log(1.0 - done * (1.0 - t_mul)) / log(t_mul))
            length = pow(t_mul, n_restarts)
            done = (done - (1.0 - length) / (1.0 - t_mul)) / length
        share = 0.5 * pow(m_mul, n_restarts) * (1.0 + cos(math.pi * done))
        return rate * ((1.0 - self.alpha) * share + self.alpha)


_TABLE: dict[str, Any] = {
    kind.__name__: kind
    for kind in (CosineDecay, CosineDecayRestarts, ExponentialDecay, InverseTimeDecay, PiecewiseConstantDecay,
                 PolynomialDecay)
}  # fmt: skip


def deserialize(config: dict[str, Any]) -> Any:
    """Return the schedule of a config. Raises ValueError for an unknown class."""
    return identifiers.find(config, _TABLE, "decay")


def serialize(learning_rate_schedule: LearningRateSchedule) -> Any:
    """Return the config of a schedule."""
    return identifiers.described(learning_rate_schedule, "keras.optimizers.schedules")


def _number(value: TensorLike) -> Any:
    return cast(convert_to_tensor(value), float32)


def _alike(rate: TensorLike, *numbers: TensorLike) -> list[Any]:
    """A rate and numbers of a schedule as tensors: of the rate's dtype where it is a floating-point tensor."""
    first = rate if isinstance(rate, Tensor) and rate.dtype.is_floating else _number(rate)
    return [first, *[cast(convert_to_tensor(number), first.dtype) for number in numbers]]
