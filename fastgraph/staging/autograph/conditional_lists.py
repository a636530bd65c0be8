"""Lists and dicts of which a tensor has decided which of two a name holds: a new one, as in TensorFlow.

Rule: a change of it would be lost to the two, and to their other names; it is refused where it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastgraph.staging.autograph.block_state import Perhaps, at_line, in_state, is_staged_list


def lost(kind: str) -> NotImplementedError:
    """The error for changing what a tensor has chosen."""
    return NotImplementedError(
        f"the {kind} that is changed here{at_line()} is one of several that other names hold, and a tensor has decided "
        f"which: they would not see the change. Change each {kind} in the branch that chooses it, or a copy of it, "
        f"{kind}(...), or use tf.TensorArrays."
    )


def _class(base: type, methods: str) -> type:
    def refusing(name: str) -> Callable[..., Any]:
        def method(self: object, *args: object, **kwargs: object) -> Any:
            if in_state():
                return getattr(base, name)(self, *args, **kwargs)
            raise lost(base.__name__)

        return method

    return type(base.__name__, (base,), {"__fg_like__": base, **{name: refusing(name) for name in methods.split()}})


_CLASSES: dict[Any, Any] = {
    list: _class(list, "__setitem__ __delitem__ __iadd__ __imul__ append extend insert pop clear remove reverse sort"),
    dict: _class(dict, "__setitem__ __delitem__ __ior__ update pop popitem clear setdefault"),
}


def chosen(value: Any) -> Any:
    """Return a list or dict as one that refuses to be changed; what is none stays."""
    if type(value) is Perhaps:
        value.value = chosen(value.value)
    if is_staged_list(value):
        value.is_chosen = True
    return _CLASSES[type(value)](value) if type(value) in _CLASSES else value
