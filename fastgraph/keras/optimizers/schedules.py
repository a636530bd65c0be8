"""tf.keras.optimizers.schedules: learning rates as functions of the step. Meaning of Keras 2.

Rule: a schedule is a callable from the step to the rate, in float32 and in ops, so that it is part of a training step.
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
from fastgraph.ops.comparison import equal, greater, less
from fastgraph.ops.elementwise import cast, minimum
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

    initial_learning_rate: float
    decay_steps: float
    decay_rate: float
    staircase: bool = False
    name: str | None = None

    def __call__(self, step: TensorLike) -> Any:
        """Return the learning rate at this step."""
        exponent = _number(step) / float(self.decay_steps)
        if self.staircase:
            exponent = floor(exponent)
        return self.initial_learning_rate * pow(_number(self.decay_rate), exponent)


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

    initial_learning_rate: float
    decay_steps: float
    end_learning_rate: float = 0.0001
    power: float = 1.0
    cycle: bool = False
    name: str | None = None

    def __call__(self, step: TensorLike) -> Any:
        """Return the learning rate at this step."""
        now, length = _number(step), _number(self.decay_steps)
        if self.cycle:
            length = length * where(equal(now, 0.0), _number(1.0), ceil(now / length))
        else:
            now = minimum(now, length)
        left = pow(1.0 - now / length, _number(self.power))
        return (self.initial_learning_rate - self.end_learning_rate) * left + self.end_learning_rate


@dataclass(eq=False, repr=False)
class InverseTimeDecay(LearningRateSchedule):
    """initial / (1 + decay_rate * step / decay_steps), the quotient a whole number if `staircase`."""

    initial_learning_rate: float
    decay_steps: float
    decay_rate: float
    staircase: bool = False
    name: str | None = None

    def __call__(self, step: TensorLike) -> Any:
        """Return the learning rate at this step."""
        periods = _number(step) / float(self.decay_steps)
        if self.staircase:
            periods = floor(periods)
        return self.initial_learning_rate / (1.0 + self.decay_rate * periods)


@dataclass(eq=False, repr=False)
class CosineDecay(LearningRateSchedule):
    """Half a cosine wave from initial to alpha * initial, after a straight rise to `warmup_target` if there is one.

    Source: Loshchilov and Hutter, arXiv:1608.03983.
    """

    initial_learning_rate: float
    decay_steps: float
    alpha: float = 0.0
    name: str | None = None
    warmup_target: float | None = None
    warmup_steps: int = 0

    def __call__(self, step: TensorLike) -> Any:
        """Return the learning rate at this step."""
        now = minimum(_number(step), float(self.decay_steps + self.warmup_steps))
        if self.warmup_target is None:
            return self._decayed(minimum(now, float(self.decay_steps)), self.initial_learning_rate)
        rise = self.warmup_target - self.initial_learning_rate
        rising = self.initial_learning_rate + rise * (now / float(self.warmup_steps))
        falling = self._decayed(now - float(self.warmup_steps), self.warmup_target)
        return where(less(now, float(self.warmup_steps)), rising, falling)

    def _decayed(self, now: Tensor, start: float) -> Any:
        share = 0.5 * (1.0 + cos(math.pi * (now / float(self.decay_steps))))
        return start * ((1.0 - self.alpha) * share + self.alpha)


@dataclass(eq=False, repr=False)
class CosineDecayRestarts(LearningRateSchedule):
    """Cosine waves one after another: each t_mul times as long and m_mul times as high as the one before."""

    initial_learning_rate: float
    first_decay_steps: float
    t_mul: float = 2.0
    m_mul: float = 1.0
    alpha: float = 0.0
    name: str | None = None

    def __call__(self, step: TensorLike) -> Any:
        """Return the learning rate at this step."""
        done = _number(step) / float(self.first_decay_steps)
        if self.t_mul == 1.0:
            n_restarts = floor(done)
            done = done - n_restarts
        else:
            n_restarts = floor(log(1.0 - done * (1.0 - self.t_mul)) / math.log(self.t_mul))
            length = pow(_number(self.t_mul), n_restarts)
            done = (done - (1.0 - length) / (1.0 - self.t_mul)) / length
        height = pow(_number(self.m_mul), n_restarts)
        share = 0.5 * height * (1.0 + cos(math.pi * done))
        return self.initial_learning_rate * ((1.0 - self.alpha) * share + self.alpha)


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
