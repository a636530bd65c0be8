"""Lists and dicts that are copies of what the program means, not to be changed.

These are elements of staged lists, which the rows hold, and what a name holds where a staged statement has decided
which of several lists that is. Rule: what would be lost, a change of such a copy, is refused where it is made.
"""

from __future__ import annotations

from typing import Any, NoReturn

from fastgraph.staging.autograph.state import told, user_place


def _refusing(base: type, names: str) -> type:
    """Return a class like `base` whose methods of these names raise NotImplementedError."""

    def refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
        kind = base.__name__
        if self.name_of_several:
            raise of_several(self.name_of_several, kind)
        raise NotImplementedError(
            f"this {kind} is an element of '{self.of_list}', whose length a staged loop or branch has changed, so that "
            f"its elements are the rows of tensors ({user_place()}): to change one, put another in its place: "
            f"element = {kind}({self.of_list}[k]), change that, {self.of_list}[k] = element"
        )

    own: dict[str, Any] = dict.fromkeys(names.split(), refuse)
    return type(base.__name__, (base,), {"of_list": "", "name_of_several": "", "__fg_like__": base, **own})


def of_several(name: str, kind: str) -> NotImplementedError:
    """The error for changing what a name holds where a tensor has decided which of several lists that is."""
    copy = f"{kind}({name})" if told(name) == f"'{name}'" else f"{kind}(...)"
    return NotImplementedError(
        f"the {kind} {told(name)} may be one that other names hold too, and a staged statement has decided which "
        f"({user_place()}): a change of it would be lost to them. Change each {kind} in the branch that chooses it, "
        f"or a copy of it: {copy}"
    )


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


def one_of_several(value: Any, name: str) -> Any:
    """Return the list or dict that the name `name` holds as one that refuses to be changed; what is none stays."""
    kind = getattr(type(value), "__fg_like__", type(value))
    if hasattr(value, "__fg_staged_list__"):
        value = value.copy()
    elif kind in _LIKE:
        value = _LIKE[kind](value)
    else:
        return value
    value.name_of_several = name
    return value
