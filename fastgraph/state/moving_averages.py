"""tf.train.ExponentialMovingAverage: running means of Variables.

Rule: the means are Variables of their own, made at the first `apply` and changed by ops.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastgraph.core.base.dtype import float32
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.tensor import init_scope
from fastgraph.errors import NotBuiltError
from fastgraph.ops.elementwise import cast, minimum
from fastgraph.state.variable import Variable


class ExponentialMovingAverage:
    """Running means of Variables: each `apply` makes mean -= (1 - decay) * (mean - value). Source: tf.train, same name.

    num_updates: a count; decay is at most (1 + num_updates) / (10 + num_updates). zero_debias: without effect, as means
    of Variables begin with their values.
    """

    def __init__(
        self, decay: TensorLike, num_updates: TensorLike | None = None, zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:  # fmt: skip
        self._decay, self._num_updates, self._name = decay, num_updates, name
        self._averages: dict[Any, Variable] = {}

    name = ReadOnly[str]("_name", "The name that the means' names end with.")

    def apply(self, var_list: Iterable[Variable] | None = None) -> None:
        """Move the means of the Variables; make those that are not there. Raises TypeError for what has no mean."""
        variables = list(var_list or ())
        for variable in variables:
            if not isinstance(variable, Variable):
                raise TypeError(
                    "tf.train.ExponentialMovingAverage does not support non-Variable tensors when eager execution is "
                    f"enabled: got {variable!r}."
                )
            if not variable.dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {variable.name}")
            if variable.ref() not in self._averages:
                with init_scope():
                    mean = Variable(variable.read_value(), trainable=False, name=self.average_name(variable))
                self._averages[variable.ref()] = mean
        with name_scope(self._name):
            decay = cast(self._decay, float32)
            if self._num_updates is not None:
                count = cast(self._num_updates, float32)
                decay = minimum(decay, (1.0 + count) / (10.0 + count))
            for variable in variables:
                mean = self._averages[variable.ref()]
                mean.assign_sub((mean - variable) * cast(1.0 - decay, mean.dtype))

    def average(self, var: Variable) -> Variable | None:
        """Return the Variable with the mean of another one, None before `apply`."""
        return self._averages.get(var.ref())

    def average_name(self, var: Variable) -> str:
        """Return the name of a Variable's mean."""
        mean = self._averages.get(var.ref())
        return f"{var.name.partition(':')[0]}/{self._name}" if mean is None else mean.name.partition(":")[0]

    def variables_to_restore(self, moving_avg_variables: Iterable[Variable] | None = None) -> dict[str, Variable]:
        """Return {name of the mean: Variable}, by which a checkpoint's means become values."""
        known = [reference.deref() for reference in self._averages]
        return {self.average_name(v): v for v in (known if moving_avg_variables is None else moving_avg_variables)}


def assign_moving_average(
    variable: Variable, value: TensorLike, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Let a Variable f[*s] become `variable * decay + value * (1 - decay)`; return it.

    Raises NotBuiltError for `zero_debias`, which keeps Variables of TensorFlow 1. Source: TensorFlow's moving averages.
    """
    if zero_debias:
        raise NotBuiltError(
            "assign_moving_average is not built with zero_debias=True. Use tf.train.ExponentialMovingAverage."
        )
    with name_scope(name or "AssignMovingAvg"):
        rest = cast(1.0 - decay, variable.dtype.base_dtype)
        return variable.assign_sub((variable - cast(value, variable.dtype.base_dtype)) * rest)
