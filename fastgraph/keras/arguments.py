"""Arguments of constructors as attributes and in configs, and classes that differ in a table's row only.

Rule: what an argument means is told by the end of its name: `kernel_initializer` is an initializer, or names one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fastgraph.keras import activations, constraints, initializers, regularizers

_KINDS: dict[str, Any] = {
    "activation": activations, "constraint": constraints, "initializer": initializers, "regularizer": regularizers,
}  # fmt: skip
_OTHERS = frozenset(("self", "kwargs", "__class__", "name", "dtype", "learning_rate"))


class Arguments:
    """The base of objects whose constructors take their `locals()`: see `_take`."""

    _taken: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def _take(self, given: Mapping[str, Any], more: bool = False) -> None:
        """Set attributes of the arguments' names; the config has the last constructor's, or `more`."""
        names = [name for name in given if name not in _OTHERS]
        object.__setattr__(self, "_taken", tuple(dict.fromkeys([*(self._taken if more else ()), *names])))
        for name in names:
            if name == "activity_regularizer":  # which the base has set
                continue
            kind = _KINDS.get(name.rpartition("_")[2])
            setattr(self, name, given[name] if kind is None else kind.get(given[name]))

    def _config(self) -> dict[str, Any]:
        """The arguments taken, as they stand in a config."""
        rows = ((name, getattr(self, name), _KINDS.get(name.rpartition("_")[2])) for name in self._taken)
        return {name: value if kind is None else kind.serialize(value) for name, value, kind in rows}


def variant(base: Any, module: str, name: str, text: str, parameters: Mapping[str, Any], **attributes: Any) -> Any:
    """Return a subclass whose constructor takes `parameters`, {name: default or `...`}, for that of `base`, by name."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [
            inspect.Parameter(key, kind, default=inspect.Parameter.empty if value is ... else value)
            for key, value in parameters.items()
        ]
    )

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        base.__init__(self, **bound.arguments)

    own = {"__doc__": f"{text} Source: tf.keras.{module}.{name}.", "__module__": f"fastgraph.keras.{module}"}
    return type(name, (base,), {**own, "__init__": __init__, "__signature__": signature, **attributes})


def after(function: Callable[..., Any], n: int) -> dict[str, Any]:
    """Return {name: default} of a function's parameters after the first n."""
    return {name: p.default for name, p in list(inspect.signature(function).parameters.items())[n:]}
