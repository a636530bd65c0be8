"""`function` as type checkers see it: a Function takes and gives what its Python function takes and gives.

Rule: nothing here runs. The stub file of the public names takes `function` from this module, Python from `function.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from fastgraph.staging import function as staged

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")


class TypedFunction(staged.Function, Generic[P, R]):
    """A Function made of a Callable[P, R]."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        raise NotImplementedError

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> TypedFunction[P, R]: ...
    @overload
    def __get__(
        self: TypedFunction[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> TypedFunction[Q, R]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise NotImplementedError


class Decorator(Protocol):
    """`function(...)` with options alone, to be written above a function."""

    def __call__(self, func: Callable[P, R]) -> TypedFunction[P, R]: ...


@overload
def function(
    func: Callable[P, R],
    input_signature: object = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
    *,
    experimental_box_numbers: bool = False,
    experimental_lift_variables: bool = False,
) -> TypedFunction[P, R]: ...
@overload
def function(
    func: None = None,
    input_signature: object = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: object = None,
    experimental_attributes: object = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
    *,
    experimental_box_numbers: bool = False,
    experimental_lift_variables: bool = False,
) -> Decorator: ...
def function(*args: Any, **kwargs: Any) -> Any:
    """See staging/function.py."""
    return staged.function(*args, **kwargs)
