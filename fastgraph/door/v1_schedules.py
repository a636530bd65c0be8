"""tf.compat.v1.train's learning rates that fall with the steps: the built-in Keras's schedules, asked at once or later.

Rule: outside of graphs each is a function without arguments, which is asked for the rate of the step as it then is; in
a graph it is the rate itself.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import fastgraph as tf
from fastgraph.core.conversion import TensorLike
from fastgraph.keras.optimizers import schedules

_Rate = Any  # a tensor in a graph, else a function that gives one


def _falling(function: Callable[..., Any]) -> Callable[..., _Rate]:
    """Let a schedule of (rate, step, ...) be asked later, or at once. ValueError where there is no step."""
    kind = function.__name__.removeprefix("train_")

    @functools.wraps(function)
    def schedule(
        learning_rate: TensorLike, global_step: Any, *args: Any, name: str | None = None, **kwargs: Any
    ) -> _Rate:
        if global_step is None:
            raise ValueError(f"global_step is required for {kind}.")

        def rate() -> Any:
            first = tf.convert_to_tensor(learning_rate)
            return function(first, tf.cast(global_step, first.dtype), *args, **kwargs)

        return rate if tf.executing_eagerly() else rate()

    return schedule


def _wave(part: Any) -> Any:
    """One of part 0, zero of part 1, by a cosine."""
    return 0.5 * (1.0 + tf.cos(tf.constant(math.pi, part.dtype) * part))


@_falling
def train_exponential_decay(
    learning_rate: Any, global_step: Any, decay_steps: TensorLike, decay_rate: TensorLike, staircase: bool = False
) -> _Rate:
    """The rate times decay_rate once every decay_steps."""
    return schedules.ExponentialDecay(learning_rate, decay_steps, decay_rate, staircase)(global_step)


@_falling
def train_natural_exp_decay(
    learning_rate: Any, global_step: Any, decay_steps: TensorLike, decay_rate: TensorLike, staircase: bool = False
) -> _Rate:
    """The rate times exp(-decay_rate) once every decay_steps."""
    base = tf.exp(-tf.cast(decay_rate, learning_rate.dtype))
    return schedules.ExponentialDecay(learning_rate, decay_steps, base, staircase)(global_step)


@_falling
def train_inverse_time_decay(
    learning_rate: Any, global_step: Any, decay_steps: TensorLike, decay_rate: TensorLike, staircase: bool = False
) -> _Rate:
    """The rate over 1 + decay_rate times the steps, counted in decay_steps."""
    return schedules.InverseTimeDecay(learning_rate, decay_steps, decay_rate, staircase)(global_step)


@_falling
def train_polynomial_decay(
    learning_rate: Any, global_step: Any, decay_steps: TensorLike, end_learning_rate: TensorLike = 0.0001,
    power: TensorLike = 1.0, cycle: bool = False,
) -> _Rate:  # fmt: skip
    """The rate, falling to another within decay_steps by a power; with `cycle` within a multiple of them."""
    return schedules.PolynomialDecay(learning_rate, decay_steps, end_learning_rate, power, cycle)(global_step)


@_falling
def train_cosine_decay(learning_rate: Any, global_step: Any, decay_steps: TensorLike, alpha: float = 0.0) -> _Rate:
    """The rate, falling to alpha times itself within decay_steps by a cosine."""
    return schedules.CosineDecay(learning_rate, decay_steps, alpha)(global_step)


@_falling
def train_cosine_decay_restarts(
    learning_rate: Any, global_step: Any, first_decay_steps: TensorLike, t_mul: float = 2.0, m_mul: float = 1.0,
    alpha: float = 0.0,
) -> _Rate:  # fmt: skip
    """The rate falling by a cosine again and again, each time within t_mul as many steps, from m_mul of the rate."""
    return schedules.CosineDecayRestarts(learning_rate, first_decay_steps, t_mul, m_mul, alpha)(global_step)


@_falling
def train_linear_cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: TensorLike, num_periods: float = 0.5, alpha: float = 0.0,
    beta: float = 0.001,
) -> _Rate:  # fmt: skip
    """The rate times (alpha + a line to 0) times a cosine of num_periods, plus beta of it."""
    part = tf.minimum(global_step / tf.cast(decay_steps, learning_rate.dtype), 1.0)
    return learning_rate * ((alpha + 1.0 - part) * _wave(2.0 * num_periods * part) + beta)


@_falling
def train_noisy_linear_cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: TensorLike, initial_variance: float = 1.0,
    variance_decay: float = 0.55, num_periods: float = 0.5, alpha: float = 0.0, beta: float = 0.001,
) -> _Rate:  # fmt: skip
    """The rate of linear_cosine_decay, whose line is blurred by ever less noise."""
    of = learning_rate.dtype
    steps = tf.cast(decay_steps, of)
    step = tf.minimum(global_step, steps)
    deviation = tf.sqrt(initial_variance / (1.0 + step) ** variance_decay)
    line = 1.0 - step / steps + tf.random.normal([], dtype=of) * deviation
    return learning_rate * ((alpha + line) * _wave(2.0 * num_periods * (step / steps)) + beta)


def train_piecewise_constant(
    x: Any, boundaries: Sequence[TensorLike], values: Sequence[TensorLike], name: str | None = None
) -> _Rate:
    """The first of the values for x up to the first boundary, ..., the last beyond the last boundary.

    Raises: ValueError unless there is one value more than boundaries, and for values of several dtypes.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    rates = [tf.convert_to_tensor(value) for value in values]
    if len({rate.dtype for rate in rates}) > 1:
        raise ValueError(f"Values must have the same dtype, got {[rate.dtype for rate in rates]}")

    def rate() -> Any:
        at = tf.convert_to_tensor(x)
        beyond = [tf.cast(at > tf.cast(bound, at.dtype), tf.int32) for bound in boundaries]
        return tf.stack(rates)[tf.add_n(beyond) if beyond else 0]

    return rate if tf.executing_eagerly() else rate()


train_piecewise_constant_decay = train_piecewise_constant
