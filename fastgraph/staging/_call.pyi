from collections.abc import Callable
from typing import Any

from fastgraph._executor import Plan

def forget_all(*_: Any) -> None: ...
def set_run_eagerly(value: bool) -> None: ...

def followed(tapes: list[Any], candidates: tuple[int, ...], operands: list[Any]) -> tuple[tuple[int, ...], bool]: ...

class Recording:
    @property
    def sources(self) -> tuple[int, ...]: ...
    @property
    def again(self) -> bool: ...
    @property
    def derivative(self) -> Any: ...
    def __init__(
        self,
        name: str,
        sources: tuple[int, ...],
        again: bool,
        derivative: Any,
        n_outputs: int,
        noted: tuple[int, ...],
        backward_of: Callable[[list[Any], list[Any]], Callable[..., list[Any]]],
    ) -> None: ...
    def note(self, operands: list[Any], results: list[Any]) -> list[Any]: ...

class FastCall:
    _calls: int
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def _call_slow(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...
    def remember(
        self,
        args: tuple[Any, ...],
        keywords: tuple[str, ...],
        pattern: list[tuple[str, tuple[int, ...], Any]],
        captures: list[Any],
        candidates: tuple[int, ...],
        result: str,
        structure: Any,
        plan: Plan,
        recording: Recording | None,
    ) -> None: ...

class MethodCall(FastCall):
    _bound_class: type[BoundCall]
    @property
    def _instances(self) -> dict[int, tuple[Any, Any]]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any: ...
    def _bind_to(self, instance: Any) -> BoundCall: ...

class BoundCall:
    @property
    def __self__(self) -> Any: ...
    @property
    def function(self) -> Any: ...
    def __init__(self, instance: Any, function: FastCall) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
