"""Lists and dicts that are copies of what the program means, not to be changed.

These are elements of staged lists, which the rows hold, and what a name holds where a staged statement has decided
which of several lists that is. Rule: what would be lost, a change of such a copy, is refused where it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.staging.autograph.moved import current
from fastgraph.staging.autograph.state import in_state, shown, user_place


def _refusing(base: type, names: str) -> type:
    """Return a class like `base` whose methods of these names raise NotImplementedError."""

    def refuse(self: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        kind = base.__name__
        if self.is_choice and self.choice is None:  # a copy that a statement has made: a list of its own
            return getattr(base, name)(self, *args, **kwargs)
        if self.choice is not None and in_state():
            return None  # those that it may be are carried
        if self.choice is not None and self.choice.is_known() and name not in ("sort", "__imul__"):
            from fastgraph.staging.autograph.chosen import followed

            return getattr(followed(self), name)(*args, **kwargs)
        if self.name_of_several:
            raise of_several(self.name_of_several, kind)
        raise NotImplementedError(
            f"this {kind} is an element of '{self.of_list}', whose length a staged loop or branch has changed, so that "
            f"its elements are the rows of tensors ({user_place()}): to change one, put another in its place: "
            f"element = {kind}({self.of_list}[k]), change that, {self.of_list}[k] = element"
        )

    own = {name: _method(refuse, name) for name in names.split()}
    more = {"of_list": "", "name_of_several": "", "choice": None, "is_choice": False, "__fg_like__": base}
    return type(base.__name__, (base,), {**more, **own})


def _method(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, name, *args, **kwargs)

    return method


def of_several(name: str, kind: str) -> NotImplementedError:
    """The error for changing what a name holds where a tensor has decided which of several lists that is."""
    return NotImplementedError(
        f"the {kind} '{name}' may be one that other names hold too, and a staged statement has decided which "
        f"({user_place()}): a change of it would be lost to them. Change each {kind} in the branch that chooses it, "
        f"or a copy of it: {kind}({name})"
    )


_LIKE: dict[type, Any] = {
    list: _refusing(
        list, "__setitem__ __delitem__ __iadd__ __imul__ append extend insert pop clear remove reverse sort"
    ),
    dict: _refusing(dict, "__setitem__ __delitem__ __ior__ update pop popitem clear setdefault"),
}


#: A list of several that follows the one that it is.
_CHOICE: Any = type("list", (_LIKE[list],), {"is_choice": True})


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


def one_of_several(value: Any, name: str, pred: Any = None, sides: Sequence[Any] = ()) -> Any:
    """Return the list or dict that the name `name` holds as one that refuses to be changed; what is none stays.

    Where `pred` decides which of two lists it is, that is the one that is changed.
    """
    from fastgraph.staging.autograph.chosen import Choice, ChosenList

    name = shown(name)
    kind = getattr(type(value), "__fg_like__", type(value))
    choice = None
    if pred is not None and all(_is_followed(current(side)) for side in sides):
        choice = Choice(pred, [current(side) for side in sides])
        choice = choice if choice.is_followed else None
        if choice is not None and hasattr(value, "__fg_staged_list__"):
            return ChosenList(name, choice)
    if hasattr(value, "__fg_staged_list__"):
        value = value.copy()
    elif kind is list and choice is not None:
        value = _CHOICE(value)
        value.choice = choice
    elif kind in _LIKE:
        value = _LIKE[kind](value)
    else:
        return value
    value.name_of_several = name
    return value


def _is_followed(side: Any) -> bool:
    """Say whether what is done to a list of several can be done to this one."""
    if hasattr(type(side), "__fg_staged_list__"):
        return not side.tracing and not side.name_of_several
    return type(side) is list or (isinstance(side, list) and getattr(side, "choice", None) is not None)
