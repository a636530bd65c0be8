"""The tape. See _tape.pyx."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, overload

from fastgraph.core.base.dtype import DType
from fastgraph.core.primitive import Primitive
from fastgraph.core.tensor import Tensor

_K = TypeVar("_K")

class SupportsTensor(Protocol):
    """A Variable: what stands for a tensor."""

    def __fg_tensor__(self, dtype: DType | None = None) -> Any: ...

def set_composite_accumulator(function: Callable[[Any, Any], Any]) -> None:
    """Say how cotangents of which at least one is no Tensor are added: function(a, b)."""

def record_operation(
    name: str,
    inputs: Iterable[Any],
    outputs: Iterable[Tensor],
    backward: Callable[..., Sequence[Any]],
    *,
    with_needs: bool = False,
    pass_none: bool = False,
) -> None:
    """Tell this thread's tapes that `outputs` were computed from `inputs`, with `backward` as the gradient."""

def watch_accessed(variable: Any) -> None:
    """Tell this thread's tapes that a Variable (or its Cell) was used, as a read of it does."""

def user_place() -> str:
    """Return the place in the user's program where this thread is, as "file:line"."""

def recording() -> bool:
    """True if a tape records on this thread."""

class stop_recording:
    """A context in which no tape of this thread records."""

    def __enter__(self) -> None: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

class OpListener:
    """Calls `told(primitive, inputs, outputs)` after every op that this thread runs, between start() and stop()."""

    def __init__(self, told: Callable[[Primitive, list[Any], list[Any]], None]) -> None: ...
    def start(self) -> None:
        """Listen to this thread's ops."""
    def stop(self) -> None:
        """Listen no more."""

class VariableWatcher:
    """Collects the Variables, unless told otherwise the trainable ones, read on this thread while the context lasts."""

    def __init__(self, trainable_only: bool = True) -> None: ...
    @property
    def variables(self) -> list[Any]:
        """The Variables found, in the order of their first use."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

class Records:
    """A record of what ops did with followed tensors, in program order."""

    watch_accessed_variables: bool

    def watch_one(self, item: Any) -> int:
        """Follow a Tensor, Variable or Cell from here on. Raises TypeError for anything else."""
    def follows(self, item: Any) -> bool:
        """Return whether the tape follows this Tensor, Variable or Cell."""
    def note_python(self, prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any], outputs: Any) -> None:
        """Record one op that was applied elsewhere: what `bind` does for the tapes of its thread."""

class Tape(Records):
    """Records while it is entered; gives gradients by one walk back over the records."""

    persistent: bool
    recording: bool
    of_graph: bool

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, typ: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    @property
    def used_up(self) -> bool:
        """True if there is nothing to differentiate: never entered, or its one gradient was taken."""
    @property
    def n_operations(self) -> int:
        """Number of records."""
    @property
    def n_kept(self) -> int:
        """Number of tensors and attributes kept for the walk back."""
    @property
    def places_without_gradient(self) -> list[tuple[str, str]]:
        """Return where the user's program applied each of these ops first."""
    def pause(self) -> int:
        """Stop recording; `with tape` goes on. Raises ValueError if it does not record."""
    def forget(self) -> None:
        """Drop every record and stop following every tensor."""
    def watched(self) -> list[Any]:
        """The Variables that this tape follows, in the order in which they were made."""
    def watch(self, tensor: Any) -> None:
        """Follow a Tensor or Variable, or every one in a structure, from here on. ValueError for anything else."""
    def watch_nested(self, tensor: Any) -> None:
        """`watch` of anything but one floating EagerTensor."""
    def cotangents(self, targets: list[Any], sources: list[Any], seeds: list[Any], release: bool = False) -> list[Any]:
        """The cotangent of each source (None where nothing flows into it), given one seed per target (None: ones)."""
    def finish(self, targets: list[Any], sources: list[Any], seeds: list[Any], report: bool = True) -> list[Any]:
        """The cotangents of `sources`; a tape that is not persistent has nothing left afterwards."""
    # `| Any`: a source that the target does not depend on gives None, which programs seldom ask for
    @overload
    def gradient(
        self, target: Any, sources: list[Any], output_gradients: Any = None, unconnected_gradients: Any = "none"
    ) -> list[Tensor | Any]:
        """The gradient of `target` with respect to `sources`, in their structure. Source: tf.GradientTape.gradient."""
    @overload
    def gradient(
        self, target: Any, sources: tuple[Any, ...], output_gradients: Any = None, unconnected_gradients: Any = "none"
    ) -> tuple[Tensor | Any, ...]: ...
    @overload
    def gradient(
        self, target: Any, sources: Mapping[_K, Any], output_gradients: Any = None, unconnected_gradients: Any = "none"
    ) -> dict[_K, Tensor | Any]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: Tensor | SupportsTensor,
        output_gradients: Any = None,
        unconnected_gradients: Any = "none",
    ) -> Tensor | Any: ...
    @overload
    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: Any = "none"
    ) -> Any: ...
    def differentiate_nested(self, target: Any, sources: Any, output_gradients: Any, unconnected_gradients: Any) -> Any:
        """`gradient` where something is nested or asked for."""
    def report_missing(self, targets: list[Any], sources: list[Any]) -> None:
        """Called with the sources that got no gradient, while the records are still there."""
    def why_missing(self, targets: list[Any], source: Any) -> str:
        """Return why `source` has no gradient: "dtype", "unwatched", "target" or "unconnected"."""

class ForwardRecorder(Records):
    """Computes, op by op, the tangents of results from those of the inputs, while it is entered."""

    recording: bool
    persistent: bool

    def __enter__(self) -> Self: ...
    def __exit__(
        self, typ: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def hold(self, item: Any, tangent: Tensor) -> int:
        """Keep `tangent` as that of a Tensor or Cell, as long as the Tensor lives."""
    def tangent_of(self, item: Any) -> Any:
        """The tangent of a Tensor or Cell, or None."""
