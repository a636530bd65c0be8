"""Gradients as users ask for them: GradientTape, UnconnectedGradients.

Rule: the walk is the tape's (`_tape.pyx`); what stands here is structures, checks, messages and warnings.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fastgraph import indexed_slices, nesting  # noqa: F401  # the first: sparse cotangents can be added
from fastgraph import primitive as primitives
from fastgraph._buffer import Cell
from fastgraph._tape import Tape
from fastgraph._tensor import Tensor, convert
from fastgraph.dtype import DType
from fastgraph.shapes import n_elements

_logger = logging.getLogger("tensorflow")
_logged: dict[str, int] = {}


class UnconnectedGradients(enum.Enum):
    """What `gradient` gives for a source that the target does not depend on: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


class GradientTape(Tape):
    """Records ops for automatic differentiation. Source: tf.GradientTape.

        with fg.GradientTape() as tape:
            loss = f(v)
        dv = tape.gradient(loss, v)

    Ops are recorded while the context lasts, if one of their inputs is followed: trainable Variables are (unless
    watch_accessed_variables is False), tensors are after `watch`, and so is what was computed from them. A tape serves
    one call of `gradient`, a persistent one any number. Each thread records on its own tapes.
    """

    def watch_nested(self, tensor: Any) -> None:
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
                    "watch",
                    5,
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r",
                    item.dtype,
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

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """d target / d source for each source: f[*t], f[*s] -> f[*t, *s]. Source: tf.GradientTape.jacobian.

        One walk over the records per element of `target`, whose shape must be known; `parallel_iterations` and
        `experimental_use_pfor` change nothing here.
        """
        self._prepare("jacobian")
        rows = self._rows(target, sources, unconnected_gradients)
        shape = target.aval.shape
        flat = [None if column[0] is None else _stacked(list(column), shape) for column in zip(*rows, strict=True)]
        if not rows:
            zeros = primitives.public_function("zeros")
            flat = [zeros([*shape, *source.shape.as_list()], source.dtype) for source in nesting.flatten(sources)]
        return nesting.pack_sequence_as(sources, flat)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """d target[i] / d source[i] for each i: f[b, *t], f[b, *s] -> f[b, *t, *s].

        Right only where target[i] does not depend on source[j] for j != i. One walk per element of target[0].
        Source: tf.GradientTape.batch_jacobian.
        """
        self._prepare("batch_jacobian")
        shape, source_shape = target.aval.shape, source.aval.shape
        if shape is None or source_shape is None or not shape or not source_shape or shape[0] != source_shape[0]:
            raise ValueError(
                "Need first dimension of target shape ("
                + str(target.shape)
                + ") and source shape ("
                + str(source.shape)
                + ") to match."
            )
        if None in shape:
            raise ValueError(f"GradientTape.batch_jacobian needs a target of known shape, got {target.shape}")
        reshape = primitives.public_function("reshape")
        n = n_elements(shape[1:]) or 0
        columns = []
        release_after = not self.persistent
        try:
            for j in range(n):
                seed = convert([[float(k == j) for k in range(n)]] * shape[0], target.dtype)
                made = self.cotangents([target], [_differentiable(source, "source")], [reshape(seed, shape)])[0]
                if made is None:
                    if UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.NONE:
                        return None
                    made = primitives.public_function("zeros_like")(source)
                columns.append(made)
        finally:
            if release_after:
                self.finish([], [], [])
        if not columns:
            return primitives.public_function("zeros")([*shape, *source_shape[1:]], target.dtype)
        stack = primitives.public_function("stack")
        return reshape(stack(columns, axis=1), [shape[0], *shape[1:], *source_shape[1:]])

    def _rows(self, target: Any, sources: Any, unconnected_gradients: Any) -> list[list[Any]]:
        """The gradients of each element of `target`, one list of flat gradients per element."""
        if not isinstance(target, Tensor):
            raise TypeError(f"GradientTape.jacobian: `target` must be a Tensor, got {target!r}")
        shape = target.aval.shape
        if shape is None or None in shape:
            raise ValueError(f"GradientTape.jacobian needs a target of known shape, got {target.shape}")
        leaves = nesting.flatten(sources)
        flat = [_differentiable(leaf, "sources") for leaf in leaves]
        n = n_elements(shape) or 0
        zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
        zeros_like = primitives.public_function("zeros_like")
        reshape = primitives.public_function("reshape")
        rows = []
        try:
            for i in range(n):
                seed = reshape(convert([float(k == i) for k in range(n)], target.dtype), shape)
                found = [_as_dense(made) for made in self.cotangents([target], flat, [seed])]
                if zero:
                    found = [
                        zeros_like(leaf) if made is None else made for leaf, made in zip(leaves, found, strict=True)
                    ]
                rows.append(found)
        finally:
            if not self.persistent:
                self.finish([], [], [])
        return rows

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
        """Log once for each reason why a source has no gradient: silent Nones cost people hours."""
        for source in sources:
            reason = self.why_missing(targets, source)
            if reason not in _logged:
                _log_few(reason, 1, "%s", self._explanation(reason, source))

    def _explanation(self, reason: str, source: Any) -> str:
        name = _name_of(source)
        begin = f"GradientTape.gradient: no gradient for {name} (None is returned, said once): "
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
        blocked = self.ops_without_gradient
        hint = f" Ops without a gradient on the way: {', '.join(blocked)}." if blocked else ""
        if reason == "target":
            return (
                f"{begin}the target was not computed from anything this tape watches while it recorded (computed "
                f"outside the context, or by way of .numpy(), an integer dtype or Python numbers?).{hint}{end}"
            )
        return f"{begin}the target does not depend on it, as far as this tape recorded.{hint}{end}"


def is_variable(item: Any) -> bool:
    """Whether `item` is a Variable: something that keeps its value in a Cell."""
    return isinstance(getattr(item, "__fg_cell__", None), Cell)


def is_trainable(dtype: DType) -> bool:
    """Whether tensors of this dtype have gradients."""
    return bool(dtype.is_floating or dtype.is_complex)


def _log_few(key: str, times: int, message: str, *args: Any) -> None:
    """Log a warning, at most `times` times in this process for this key."""
    if _logged.get(key, 0) < times:
        _logged[key] = _logged.get(key, 0) + 1
        _logger.warning(message, *args)


def _name_of(item: Any) -> str:
    if isinstance(item, Cell):
        return f"the Variable {item.name!r}"
    return f"a tensor of shape {item.shape} and dtype {item.dtype.name}"


def _differentiable(leaf: Any, argument: str) -> Any:
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


def _components(leaf: Any) -> list[Any]:
    """The tensors of a composite source that have gradients; a Tensor or Variable is its own."""
    if isinstance(leaf, Tensor) or is_variable(leaf):
        return [leaf]
    parts = nesting.flatten(leaf, expand_composites=True)
    if len(parts) == 1 and parts[0] is leaf:
        return [leaf]
    return [part for part in parts if is_trainable(part.dtype)]


def _repack(leaf: Any, found: Sequence[Any]) -> Any:
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


def _seeds(output_gradients: Any, n: int) -> list[Any]:
    """One seed per target; a None stands for ones."""
    if output_gradients is None:
        return [None] * n
    seeds = [None if seed is None else convert(seed) for seed in nesting.flatten(output_gradients)]
    if len(seeds) > n:
        raise ValueError(f"GradientTape.gradient: {len(seeds)} output_gradients were given for {n} targets")
    return seeds + [None] * (n - len(seeds))


def _as_dense(made: Any) -> Any:
    return made if made is None or isinstance(made, Tensor) else convert(made)


def _stacked(rows: list[Any], shape: tuple[int, ...]) -> Any:
    """Gradients of the elements of a target as one tensor of shape [*target, *source]."""
    stack, reshape = primitives.public_function("stack"), primitives.public_function("reshape")
    return reshape(stack(rows), [*shape, *rows[0].aval.shape])


primitives.register_public(GradientTape, "GradientTape", "autodiff.GradientTape")
primitives.register_public(UnconnectedGradients, "UnconnectedGradients")
