"""Arguments of constructors as attributes and in configs, and classes that differ in a table's row only.

Rule: what an argument means is told by the end of its name: `kernel_initializer` is an initializer, or names one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fastgraph.core.base import nesting
from fastgraph.keras import activations, constraints, initializers, regularizers

_KINDS: dict[str, Any] = {
    "activation": activations, "constraint": constraints, "initializer": initializers, "regularizer": regularizers,
}  # fmt: skip
#: Types of values that configs have as they are.
PLAIN = (str, int, float, bool, type(None))
_OTHERS = frozenset(("self", "kwargs", "__class__", "name", "dtype", "learning_rate"))


class Arguments:
    """The base of objects that know their constructors' arguments: by their `locals()` (`_take`), or by the call."""

    #: {name: what configs have of it; `...`: what the attribute is}; None where configs cannot have it.
    _taken: Any = MappingProxyType({})

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def _take(self, given: Mapping[str, Any], more: bool = False) -> None:
        """Set attributes of the arguments' names; the config has the last constructor's, or `more`."""
        names = [name for name in given if name not in _OTHERS]
        before = self._taken if more and self._taken else {}
        object.__setattr__(self, "_taken", {**before, **dict.fromkeys(names, ...)})
        for name in names:
            if name == "activity_regularizer":  # which the base has set
                continue
            kind = _KINDS.get(name.rpartition("_")[2])
            setattr(self, name, given[name] if kind is None else kind.get(given[name]))

    def _keep(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Have what a constructor that takes nothing itself is called with in the config, if it is plain."""
        rows = list(inspect.signature(type(self).__init__).parameters.values())[1:]
        names = [row.name for row in rows if row.kind is row.POSITIONAL_OR_KEYWORD]
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        given = {name: value for name, value in given.items() if name not in ("name", "trainable", "dtype")}
        try:
            plain = len(args) <= len(names) and all(isinstance(leaf, PLAIN) for leaf in nesting.flatten(given))
        except TypeError:  # keys of a dict without an order
            plain = False
        object.__setattr__(self, "_taken", given if plain else None)

    def _config(self) -> dict[str, Any]:
        """The arguments taken, as they stand in a config. Raises NotImplementedError for those that cannot."""
        if self._taken is None:
            raise NotImplementedError(
                f"Layer {type(self).__name__} was created by passing non-serializable argument values in `__init__()`, "
                "and therefore the layer must override `get_config()` to return its arguments."
            )
        found = {}
        for name, value in self._taken.items():
            if value is ...:
                kind, value = _KINDS.get(name.rpartition("_")[2]), getattr(self, name)
                value = value if kind is None else kind.serialize(value)
            found[name] = value
        return found


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
