"""`function` as type checkers see it: a Function takes and gives what its Python function takes and gives; and types
of what functions of functions take and give.

The stub file of the public names takes `function` from here, Python from `function.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from fastgraph.composites.eager_tensor_array import TensorArray
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.type_specs import TypeSpec
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor
from fastgraph.staging import function as staged
from fastgraph.state.variable import Variable

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
Dense = Tensor | Variable | np.ndarray[Any, Any]
Part = Tensor | RaggedTensor | SparseTensor | IndexedSlices | TensorArray
#: What branches and loops give as it was given to them: a structure with numbers in it comes back with Tensors instead.
Structure = TypeVar("Structure", bound=Part | Sequence[Part] | Mapping[Any, Part])
#: What a function of a row gives.
Nest = TypeVar("Nest", bound=Part | Sequence[Any] | Mapping[Any, Any] | None)
#: What is several tensors, or says so of a result.
Composed = Sequence[Any] | Mapping[Any, Any] | CompositeTensor | TypeSpec

class TypedFunction(staged.Function, Generic[P, R]):
    """A Function made of a Callable[P, R]."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> TypedFunction[P, R]: ...
    @overload
    def __get__(
        self: TypedFunction[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> TypedFunction[Q, R]: ...

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
@overload
def do_not_convert(func: F) -> F:
    """Return `func`, marked so that AutoGraph leaves it as it is."""

@overload
def do_not_convert(func: None = None) -> Callable[[F], F]: ...
