"""Elements of staged lists that are lists or dicts themselves: copies of what the rows hold, not to be changed.

Rule: what would be lost, a change of such an element, is refused where it is made.
"""

from __future__ import annotations

from typing import Any, NoReturn

from fastgraph.staging.autograph.state import user_place


def _refusing(base: type, names: str) -> type:
    """Return a class like `base` whose methods of these names raise NotImplementedError."""

    def refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
        kind = base.__name__
        raise NotImplementedError(
            f"this {kind} is an element of '{self.of_list}', whose length a staged loop or branch has changed, so that "
            f"its elements are the rows of tensors ({user_place()}): to change one, put another in its place: "
            f"element = {kind}({self.of_list}[k]), change that, {self.of_list}[k] = element"
        )

    own: dict[str, Any] = dict.fromkeys(names.split(), refuse)
    return type(base.__name__, (base,), {"of_list": "", "__fg_like__": base, **own})


_LIKE: dict[type, Any] = {
    list: _refusing(
        list, "__setitem__ __delitem__ __iadd__ __imul__ append extend insert pop clear remove reverse sort"
    ),
    dict: _refusing(dict, "__setitem__ __delitem__ __ior__ update pop popitem clear setdefault"),
}


def guarded(value: Any, name: str) -> Any:
    """Return an element of the list `name` with its lists and dicts as ones that refuse to be changed."""
    kind = type(value)
    if kind is tuple:
        return tuple([guarded(each, name) for each in value])
    if kind not in _LIKE:
        return value
    made = _LIKE[kind](
        [guarded(each, name) for each in value]
        if kind is list
        else {key: guarded(each, name) for key, each in value.items()}
    )
    made.of_list = name
    return made
