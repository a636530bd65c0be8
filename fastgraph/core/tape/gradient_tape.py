"""Gradients as users ask for them: GradientTape, UnconnectedGradients.

Rule: the walk is the tape's (`_tape.pyx`); what stands here is structures, checks, messages and warnings.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, overload

from fastgraph._tape import Tape, user_place
from fastgraph.api import namespaces  # the first: sparse cotangents can be added
from fastgraph.core import registry as primitives
from fastgraph.core.base import nesting  # the first: sparse cotangents can be added
from fastgraph.core.base.dtype import DType, int32
from fastgraph.core.base.logger import get_logger
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import n_elements
from fastgraph.core.conversion import HasTensor, TensorLike
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tape import indexed_slices  # noqa: F401  # the first: sparse cotangents can be added
from fastgraph.core.tensor import Tensor, convert, current_state, get_slot

_logged: dict[str, int] = {}
_MOST_WARNINGS = 50


class UnconnectedGradients(enum.Enum):
    """The choice of what `gradient` gives for a source that the target does not depend on: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


#: An UnconnectedGradients, or its value.
Unconnected = UnconnectedGradients | str


class GradientTape(Tape):
    """Records ops for automatic differentiation. Source: tf.GradientTape.

    Ops are recorded while the context lasts, if one of their inputs is followed: trainable Variables are, tensors are
    after `watch`, and so is what was computed from them. Each thread records on its own tapes.

    Args:
        persistent: Whether `gradient` can be called any number of times; else once.
        watch_accessed_variables: Whether trainable Variables are followed by themselves.

    Raises:
        RuntimeError: A tape that is not persistent is asked a second time.
        ValueError: One is entered that records already.

    Examples:
        >>> w = tf.Variable([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     loss = tf.reduce_sum(w ** 3)
        >>> tape.gradient(loss, w)
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 3., 12.], dtype=float32)>
        >>> x = tf.constant(3.0)
        >>> with tf.GradientTape() as outer:
        ...     outer.watch(x)
        ...     with tf.GradientTape() as inner:
        ...         inner.watch(x)
        ...         y = x ** 3
        ...     slope = inner.gradient(y, x)
        >>> float(slope), float(outer.gradient(slope, x))
        (27.0, 18.0)
    """

    # TensorFlow's inner names, which libraries that wrap a tape use
    _persistent = ReadOnly[bool]("persistent", "Whether gradients are given any number of times.")
    _recording = ReadOnly[bool]("recording", "Whether the tape records now.")
    _watch_accessed_variables = ReadOnly[bool]("watch_accessed_variables", "Whether Variables are followed.")

    @property
    def _tape(self) -> GradientTape | None:
        """The recorder, which is the tape itself; None if there is nothing to differentiate."""
        return None if self.used_up else self

    def _push_tape(self) -> None:
        self.__enter__()

    def _pop_tape(self) -> None:
        self.pause()

    @contextmanager
    def _ensure_recording(self) -> Iterator[None]:
        """A context in which this tape records, whether or not it does now, also in a trace that began since."""
        tapes: list[Any] = current_state().tapes
        if any(tape is self for tape in tapes):
            yield
        elif not self.recording:
            with self:
                yield
        else:
            tapes.append(self)
            try:
                yield
            finally:
                tapes[:] = [tape for tape in tapes if tape is not self]

    def watch_nested(self, tensor: TensorLike | None) -> None:
        """Follow a Tensor or Variable, or every one in a structure, from here on.

        Raises ValueError for anything else. Integer tensors have no gradient; watching one is logged.
        """
        for item in nesting.flatten(tensor, expand_composites=True):
            if not (isinstance(item, Tensor) or is_variable(item)):
                raise ValueError(
                    f"Passed in object {item} of type {type(item).__name__!r}, not tf.Tensor or tf.Variable or "
                    "ExtensionType."
                )
            if self.used_up and not self.recording:
                raise RuntimeError("GradientTape.watch was called before the tape began to record: enter its context")
            if not is_trainable(item.dtype):
                _log_few(
                    "watch", 5, "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r", item.dtype
                )
            self.watch_one(item)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A context in which this tape does not record. Raises RuntimeError if it does not record now."""
        if self.used_up:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self.pause()
        try:
            yield
        finally:
            self.__enter__()

    def reset(self) -> None:
        """Forget all that was recorded and watched, and go on recording. Raises ValueError if it does not record."""
        if not self.recording:
            raise ValueError("Tape is not recording.")
        self.forget()

    def watched_variables(self) -> tuple[Any, ...]:
        """The Variables that this tape watched, in the order in which it met them."""
        return tuple(self.watched())

    def differentiate_nested(self, target: Any, sources: Any, output_gradients: Any, unconnected_gradients: Any) -> Any:
        """`gradient` where something is nested or asked for; the tape itself does the plain case."""
        self._prepare("gradient")
        if target is None:
            raise TypeError(
                "Argument `target` should be a list or nested structure of Tensors, Variables or CompositeTensors to "
                "be differentiated, but received None."
            )
        try:
            unconnected = UnconnectedGradients(unconnected_gradients)
        except ValueError:
            raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}") from None
        targets = [_differentiable(leaf, "target") for leaf in nesting.flatten(target, expand_composites=True)]
        raw_sources = nesting.flatten(sources)
        composites = [_components(leaf) for leaf in raw_sources]
        flat_sources = [_differentiable(part, "sources") for parts in composites for part in parts]
        seeds = _seeds(output_gradients, len(targets))
        found = self.finish(targets, flat_sources, seeds, unconnected is UnconnectedGradients.NONE)
        if unconnected is UnconnectedGradients.ZERO:
            zeros_like = primitives.public_function("zeros_like")
            leaves = [part for parts in composites for part in parts]
            found = [zeros_like(leaf) if made is None else made for leaf, made in zip(leaves, found, strict=True)]
        parts_of = iter(found)
        packed = [
            _repack(leaf, [next(parts_of) for _ in parts]) for leaf, parts in zip(raw_sources, composites, strict=True)
        ]
        return nesting.pack_sequence_as(sources, packed)

    @overload
    def jacobian(
        self, target: Any, sources: list[Any], unconnected_gradients: Unconnected = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
    ) -> list[Tensor | Any]: ...  # fmt: skip
    @overload
    def jacobian(
        self, target: Any, sources: Tensor | HasTensor, unconnected_gradients: Unconnected = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
    ) -> Tensor | Any: ...  # fmt: skip
    @overload
    def jacobian(
        self, target: Any, sources: Any, unconnected_gradients: Unconnected = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
    ) -> Any: ...  # fmt: skip
    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Unconnected = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """d target / d source for each source, in the structure of the sources: f[*t], f[*s] -> f[*t, *s].

        Args:
            target: The Tensor that is differentiated.
            sources: Tensors and Variables that the tape has followed, in any structure.
            unconnected_gradients: "none": None where target does not depend on the source; "zero": zeros.
            parallel_iterations: Taken and without effect.
            experimental_use_pfor: Whether one walk over the records serves all elements of `target` at once; else one
                for each, in less memory (of a target whose shape is known).

        Raises:
            RuntimeError: The tape was asked before and is not persistent.
            TypeError: The target is no Tensor.

        Examples:
            >>> x = tf.Variable([1.0, 2.0])
            >>> with tf.GradientTape() as tape:
            ...     y = tf.stack([x[0] * x[1], x[0] ** 2, x[1]])
            >>> tape.jacobian(y, x)
            <tf.Tensor: shape=(3, 2), dtype=float32, numpy=
            array([[2., 1.],
                   [2., 0.],
                   [0., 1.]], dtype=float32)>

        Source: tf.GradientTape.jacobian.
        """
        self._prepare("jacobian")
        target = _single(target, "jacobian", "target")
        zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
        leaves = nesting.flatten(sources)
        flat = [_differentiable(leaf, "sources") for leaf in leaves]
        op = primitives.public_function
        sizes = op("shape")(target)
        n = target.aval.size if target.aval.size is not None else op("size")(target)
        try:
            seeds = op("reshape")(op("eye")(n, dtype=target.dtype), op("concat")([_vector(n), sizes], 0))
            if None not in (target.aval.shape or (None,)):
                seeds = op("reshape")(seeds, [n, *target.aval.shape])
            at_once = experimental_use_pfor or target.aval.size == 0  # one walk for no element: shapes without a loop
            found = self._walks(target, flat, seeds, n, at_once)
        finally:
            if not self.persistent:
                self.finish([], [], [])
        result = []
        for leaf, rows in zip(leaves, found, strict=True):
            if rows is None:
                result.append(_zero_block(target, leaf) if zero else None)
            else:
                result.append(op("reshape")(rows, _joined_shape(target, rows)))
        return nesting.pack_sequence_as(sources, result)

    def batch_jacobian(
        self,
        target: Tensor,
        source: Tensor,
        unconnected_gradients: Unconnected = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor:
        """d target[i] / d source[i] for each i: f[b, *t], f[b, *s] -> f[b, *t, *s].

        Right only where target[i] does not depend on source[j] for j != i. Zeros where target and source are not
        connected.

        Args:
            target: A Tensor, along whose first axis are the examples.
            source: A Tensor that the tape has followed, with a first axis of the same size.
            unconnected_gradients, parallel_iterations, experimental_use_pfor: As of `jacobian`.

        Raises:
            RuntimeError: The tape was asked before and is not persistent.
            ValueError: The first sizes differ.

        Examples:
            >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
            >>> with tf.GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = tf.reduce_sum(x ** 2, axis=1, keepdims=True)
            >>> tape.batch_jacobian(y, x)[:, 0].numpy().tolist()
            [[2.0, 4.0], [6.0, 8.0], [10.0, 12.0]]

        Source: tf.GradientTape.batch_jacobian.
        """
        self._prepare("batch_jacobian")
        target, source = _single(target, "batch_jacobian", "target"), _single(source, "batch_jacobian", "source")
        shape, source_shape = target.aval.shape, source.aval.shape
        if not shape or not source_shape or (None not in (shape[0], source_shape[0]) and shape[0] != source_shape[0]):
            raise ValueError(
                f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match."
            )
        for known in (target.shape, source.shape):
            known.with_rank_at_least(2)
        UnconnectedGradients(unconnected_gradients)
        op = primitives.public_function
        b, *inner = [size if size is not None else op("shape")(target)[i] for i, size in enumerate(shape)]
        n = n_elements(shape[1:])
        if n is None:
            n = op("reduce_prod")(op("shape")(target)[1:])
        try:
            seeds = op("reshape")(op("eye")(n, dtype=target.dtype), [n, 1, *inner])
            seeds = op("broadcast_to")(seeds, [n, b, *inner])
            rows = self._walks(target, [_differentiable(source, "source")], seeds, n, experimental_use_pfor)[0]
        finally:
            if not self.persistent:
                self.finish([], [], [])
        if rows is None:
            rows = op("zeros")([n, *op("unstack")(op("shape")(source), len(source_shape))], target.dtype)
        order = [1, 0, *range(2, len(rows.shape))]
        rest = [size if size is not None else op("shape")(rows)[i + 2] for i, size in enumerate(rows.shape[2:])]
        found: Tensor = op("reshape")(op("transpose")(rows, order), [b, *inner, *rest])
        return found

    def _walks(self, target: Any, sources: list[Any], seeds: Tensor, n: Tensor | int, together: bool) -> list[Any]:
        """The gradients for n cotangents, t[n, *target] -> g[n, *source] or None: in one walk, or one by one."""
        if together or not isinstance(n, int):
            namespaces.resolve("", "vectorized_map")  # what it lies in fills the slot
            walk = get_slot("vectorized_walk")
            made: list[Any] = walk(lambda seed: self.cotangents([target], sources, [seed]), target, seeds, n)
            return made
        rows = [
            self.cotangents([target], sources, [seed]) for seed in (primitives.public_function("unstack")(seeds, n))
        ]
        stack = primitives.public_function("stack")
        if not rows:
            return [None for _ in sources]
        return [None if c[0] is None else stack([_as_dense(made) for made in c]) for c in zip(*rows, strict=True)]

    def _prepare(self, asked: str) -> None:
        """Check that there is something to differentiate; stop recording unless the tape is persistent."""
        if self.used_up:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"
            )
        if not self.recording:
            return
        if self.persistent:
            _log_few(
                "inside",
                1,
                f"Calling GradientTape.{asked} on a persistent tape inside its context is significantly less efficient "
                "than calling it outside the context (it causes the gradient ops to be recorded on the tape, leading "
                f"to increased CPU and memory usage). Only call GradientTape.{asked} inside the context if you "
                "actually want to trace the gradient in order to compute higher order derivatives.",
            )
        else:
            self.pause()

    def report_missing(self, targets: list[Any], sources: list[Any]) -> None:
        """Log once for each line and reason why a source has no gradient: silent Nones cost people hours."""
        place = user_place()
        for source in sources:
            reason = self.why_missing(targets, source)
            key = reason if reason == "dtype" else f"{reason} {place}"
            if key not in _logged and len(_logged) < _MOST_WARNINGS:
                _log_few(key, 1, "%s", self._explanation(reason, source, place))

    def _explanation(self, reason: str, source: Any, place: str) -> str:
        name = _name_of(source)
        begin = f"GradientTape.gradient{place and f' ({place})'}: no gradient for {name} (None, said once): "
        end = " unconnected_gradients='zero' gives zeros instead of None."
        if reason == "dtype":
            return (
                f"{begin}its dtype is {source.aval.dtype.name}; only floating and complex tensors have gradients.{end}"
            )
        if reason == "unwatched":
            return (
                f"{begin}this tape does not watch it. Call tape.watch(x) on a tensor before it is used; a Variable "
                f"must be trainable and read while the tape records.{end}"
            )
        blocked = [f"{name} ({place})" if place else name for name, place in self.places_without_gradient]
        hint = f" Ops without a gradient on the way: {', '.join(blocked)}." if blocked else ""
        if reason == "target":
            return (
                f"{begin}the target was not computed from anything this tape watches while it recorded (computed "
                f"outside the context, or by way of .numpy(), an integer dtype or Python numbers?).{hint}{end}"
            )
        return f"{begin}the target does not depend on it, as far as this tape recorded.{hint}{end}"


def is_variable(item: object) -> bool:
    """Return whether `item` is a Variable: something that keeps its value in a Cell."""
    return isinstance(getattr(item, "__fg_cell__", None), Cell)


def is_trainable(dtype: DType) -> bool:
    """Return whether tensors of this dtype have gradients."""
    return bool(dtype.is_floating or dtype.is_complex)


def _log_few(key: str, times: int, message: str, *args: Any) -> None:
    """Log a warning, at most `times` times in this process for this key."""
    if _logged.get(key, 0) < times:
        _logged[key] = _logged.get(key, 0) + 1
        get_logger().warning(message, *args)


def _name_of(item: Any) -> str:
    if isinstance(item, Cell):
        return f"the Variable {item.name!r}"
    return f"a tensor of shape {item.shape} and dtype {item.dtype.name}"


def _differentiable(leaf: TensorLike, argument: str) -> Any:
    """The Tensor or Cell that the tape knows `leaf` by. Raises TypeError for anything else."""
    if isinstance(leaf, Tensor):
        return leaf
    cell = getattr(leaf, "__fg_cell__", None)
    if cell is not None:
        return cell
    raise TypeError(
        f"GradientTape: argument `{argument}` should be a Tensor, a Variable or a structure of them, but has {leaf!r} "
        f"of type {type(leaf).__name__} in it."
    )


def _components(leaf: TensorLike) -> list[Any]:
    """The tensors of a composite source that have gradients; a Tensor or Variable is its own."""
    if isinstance(leaf, Tensor) or is_variable(leaf):
        return [leaf]
    parts = nesting.flatten(leaf, expand_composites=True)
    if len(parts) == 1 and parts[0] is leaf:
        return [leaf]
    return [part for part in parts if is_trainable(part.dtype)]


def _repack(leaf: TensorLike, found: Sequence[Any]) -> Any:
    """The gradient of a composite source: the composite with each differentiable part replaced by its gradient."""
    parts = nesting.flatten(leaf, expand_composites=True)
    if len(parts) == 1 and parts[0] is leaf:
        return found[0]
    if all(made is None for made in found):
        return None
    given = iter(found)
    return nesting.pack_sequence_as(
        leaf, [next(given) if is_trainable(part.dtype) else part for part in parts], expand_composites=True
    )


def _seeds(output_gradients: Tensor | None, n: int) -> list[Any]:
    """One seed per target; a None stands for ones."""
    if output_gradients is None:
        return [None] * n
    seeds = [None if seed is None else convert(seed) for seed in nesting.flatten(output_gradients)]
    if len(seeds) > n:
        raise ValueError(f"GradientTape.gradient: {len(seeds)} output_gradients were given for {n} targets")
    return seeds + [None] * (n - len(seeds))


def _as_dense(made: Tensor) -> Any:
    return made if made is None or isinstance(made, Tensor) else convert(made)


def _single(item: TensorLike, method: str, argument: str) -> Any:
    """A Tensor, or the value of a Variable, that a jacobian is of. Raises TypeError for anything else."""
    if isinstance(item, Tensor) or (argument == "source" and is_variable(item)):
        return item
    raise TypeError(f"GradientTape.{method}: `{argument}` must be a Tensor, got {item!r}")


def _vector(n: int) -> Any:
    return primitives.public_function("reshape")(convert(n, int32), [1])


def _joined_shape(target: Any, rows: Tensor) -> Any:
    """The sizes of `target`, then those of `rows` but the first: a list where all are known, else a tensor."""
    known, rest = target.aval.shape, rows.aval.shape
    if known is not None and rest is not None and None not in (*known, *rest[1:]):
        return [*known, *rest[1:]]
    shape, concat = primitives.public_function("shape"), primitives.public_function("concat")
    return concat([shape(target), shape(rows)[1:]], 0)


def _zero_block(target: Any, source: Tensor) -> Any:
    op = primitives.public_function
    return op("zeros")(op("concat")([op("shape")(target), op("shape")(source)], 0), source.dtype)


primitives.register_public(GradientTape, "GradientTape", "autodiff.GradientTape")
primitives.register_public(UnconnectedGradients, "UnconnectedGradients")
