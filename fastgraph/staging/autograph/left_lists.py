"""Lists of the traced function's own that staged statements change and that no graph can hold: nobody may read them.

Elements that are text, functions, or tensors of several dtypes cannot be rows. As long as the program only puts them
in, it does not matter how many there are. Rule: reading such a list raises the error that says why it cannot be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Self

from fastgraph.staging.autograph.state import in_state, user_place


class LeftList:
    """Stands for a list whose elements nobody knows but the `first` ones, which it had before."""

    __fg_staged_list__ = True
    __hash__ = object.__hash__

    def __init__(self, name: str, first: Sequence[Any], refused: Exception) -> None:
        self.name = name
        self.first = list(first)
        self.refused = refused
        self.place = user_place()

    # -- as a list of Python's

    def append(self, value: Any) -> None:
        """Add an element at the end."""

    def extend(self, values: Any) -> None:
        """Add elements at the end."""

    def __add__(self, values: Any) -> Self:
        self._read()

    def __iadd__(self, values: Any) -> Self:
        return self

    def insert(self, index: Any, value: Any) -> None:
        """Add an element before the one at `index`."""
        self.first = []

    def clear(self) -> None:
        """Remove all elements."""
        self.first = []

    def __getitem__(self, index: Any) -> Any:
        if in_state():
            return None
        if isinstance(index, int) and 0 <= index < len(self.first):
            return self.first[index]
        self._read()

    def _read(self, *_: Any, **__: Any) -> NoReturn:
        text = str(self.refused)
        raise type(self.refused)(text if self.place in text else f"{text} ({self.place})")

    __len__ = __bool__ = __iter__ = __contains__ = __radd__ = __mul__ = __rmul__ = __fg_tensor__ = _read
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __reversed__ = __delitem__ = __imul__ = _read
    pop = remove = index = count = reverse = sort = copy = _read

    def __setitem__(self, index: Any, value: Any) -> None:
        if not in_state():
            self._read()

    def held(self) -> dict[str, Any]:
        """Return what tells whether it has been changed: nobody may read it in any case."""
        return {}

    def __repr__(self) -> str:
        return f"<list '{self.name}' that staged statements have changed>"
