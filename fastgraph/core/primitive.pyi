"""Primitive: everything the house knows about one op, in one record."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from fastgraph.core.base.dtype import DType

Effect: TypeAlias = Literal["read", "write", "host"] | None

class Primitive:
    """One op: names, kernel, inference, differentiation, lowering, tests."""

    name: Final[str]
    op_type: Final[str]
    public: Final[tuple[str, ...]]
    body: Final[Callable[..., Any] | None]
    infer: Final[Callable[..., Any] | None]
    n_outputs: Final[int | None]
    inputs: Final[tuple[str, ...]]
    attrs: Final[tuple[str, ...]]
    groups: Final[tuple[str, ...]]
    dtypes: Final[dict[str, tuple[DType, ...]]]
    masks: Final[dict[str, int]]
    vjp: Final[dict[str, Callable[..., Any]]]
    vjp_all: Final[Callable[..., Any] | None]
    effect: Final[Effect]
    lower: Final[Callable[..., Any] | None]
    expr: Final[str | None]
    decompose: Final[Callable[..., Any] | None]
    shape_inputs: Final[tuple[int, ...]]
    step: Final[str | None]
    family: Final[str]
    extra: Final[dict[str, Any]]
    plan: Any

    def __init__(
        self,
        name: str,
        *,
        op_type: str | None = None,
        public: Iterable[str] = (),
        body: Callable[..., Any] | None = None,
        infer: Callable[..., Any] | None = None,
        n_outputs: int | None = 1,
        inputs: Iterable[str] = (),
        attrs: Iterable[str] = (),
        groups: Iterable[str] | None = None,
        dtypes: Mapping[str, Iterable[DType]] | None = None,
        vjp: Mapping[str, Callable[..., Any]] | None = None,
        vjp_all: Callable[..., Any] | None = None,
        effect: Effect = None,
        lower: Callable[..., Any] | None = None,
        expr: str | None = None,
        decompose: Callable[..., Any] | None = None,
        shape_inputs: Iterable[int] = (),
        step: str | None = None,
        family: str = "",
        **extra: Any,
    ) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    @property
    def is_variadic(self) -> bool:
        """True if the last input stands for any number of tensors."""
