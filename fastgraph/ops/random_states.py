"""Sources of random numbers: states (a counter and a key), generators that hold one, numbers made of a state.

Rule: element i of a draw is a pure function of (state, i): Philox 4x32-10, its blocks taken as TensorFlow takes them.
So eager mode, graphs and any split into shards give the same bits, and TensorFlow's. Only `draw` has an effect.

Which state an op begins with (tf.random.set_seed): its key is the global seed, its counter's high half the op's seed.
An op without a seed of its own takes the next number of a sequence that follows from the global seed (eagerly), or its
number in the Function that is traced: so two Functions of the same text give the same numbers. Each op of a Function
keeps a counter of its own from call to call, and another one for each place where a Function calls this one; an eager
op with a seed shares one with all calls of the same op and seed.
`set_seed` resets them all; a Function keeps the global seed that it was traced under.
"""

from __future__ import annotations

import math
import os
import random
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fastgraph.core import cells
from fastgraph.core.base.dtype import DType, as_dtype, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.devices import part_of
from fastgraph.core.native import philox
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import Tensor, cell_assign, cell_read, class_has, current_state, current_trace, from_array
from fastgraph.ops.arguments import Extents, as_tensor, named, not_allowed, refused
from fastgraph.ops.creation import check_dims
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import Array, Dims, body_of, custom, invalid, misuse, shape_text, validated
from fastgraph.ops.movement import shape_of_value
from fastgraph.ops.reduction import reduce_prod

_STATE = Aval(int64, (3,))  # the counter's low and high half, the key
#: Blocks that an op sets aside for each number, so that those that reject some words find others.
RESERVED = 256
_MOST = 2**62
#: Where a thread's state names what replays draws (ops/random_replay.py).
REPLAY = "replay"
#: Why ops have no lowering.
REJECTION = "rejection: how many words a number takes is data, and the C that fills the array does not hold the GIL"

# ---- the primitives -------------------------------------------------------------------------------------------------


def advanced(state: Array, blocks: int) -> Array:
    """A state further on by a number of blocks. i64[3] -> i64[3]."""
    words = state.view(np.uint64).tolist()
    counter = (words[0] + (words[1] << 64) + blocks) % 2**128
    return np.array([counter % 2**64, counter >> 64, words[2]], np.uint64).view(np.int64)


def _infer_draw(generator: Aval, blocks: Aval) -> Aval:
    return _STATE


@custom(op="RngReadAndSkip", infer=_infer_draw, groups=("resource", "int64"), effect="write", step="draw")
def draw(generator: Cell, blocks: Array) -> Any:
    """The generator's state, which goes on by a number of blocks. resource, i64[] -> i64[3]."""
    while True:  # until no other thread drew in between: the same numbers are never given twice
        found = cell_read(generator)
        state = np.asarray(found)
        if cells.replace(generator, found, from_array(advanced(state, int(blocks)), int64, False)):
            return state


def _checked_shape(shape: Dims) -> None:
    if shape is not None:
        check_dims(shape)


def _infer_numbers(state: Aval, *, shape: tuple[int, ...], dtype: DType, kind: str) -> Aval:
    _checked_shape(shape)
    return Aval(dtype, shape)


#: Kinds of numbers: words, floats in [0, 1), of the standard normal distribution.
KINDS = {
    "bits": ("uint32", "uint64"),
    "unit": ("float16", "bfloat16", "float32", "float64"),
    "normal": ("float32", "float64"),
}


def _number_samples() -> list[Any]:
    states = [np.array(s) for s in ((0, 0, 0), (2**63 - 1, 5, 123456789012), (-2, 77, -5))]
    kinds = [(kind, as_dtype(t)) for kind, dtypes in KINDS.items() for t in dtypes]
    of_any_kind = [((s, (11,)), kind) for s in states[1:] for kind in kinds]
    of_any_shape = [((states[0], d), kinds[0]) for d in ((), (2, 3), (0,))]
    return [((s,), {"shape": d, "dtype": t, "kind": kind}) for (s, d), (kind, t) in of_any_kind + of_any_shape]


@custom(
    op="StatelessRandom",
    infer=_infer_numbers,
    groups=("int64",),
    step="philox.numbers",
    samples=_number_samples,
    error_samples=lambda: [
        misuse("Dimension -1 must be >= 0", np.array([0, 0, 0]), shape=(-1,), dtype=as_dtype("uint32"), kind="bits")
    ],
)
def random_numbers(state: Array, *, shape: tuple[int, ...], dtype: DType, kind: str) -> Any:
    """Numbers of a kind (`KINDS`) that follow from a state. i64[3] -> dtype[*shape]."""
    checked_size(np.array(shape, np.int64))
    n = math.prod(shape)
    if kind == "unit":
        made = philox.units(state, n, dtype.name).view(dtype.numpy_dtype)
    elif kind == "normal":
        made = philox.normals(state, n, dtype.size == 8)
    else:
        made = philox.words(state, n * (dtype.size // 4)).view(dtype.numpy_dtype)
    return made.reshape(shape)


def _infer_numbers_dynamic(state: Aval, shape: Aval, *, dtype: DType, kind: str) -> Aval:
    dims = shape_of_value(shape)
    _checked_shape(dims)
    return Aval(dtype, dims)


@custom(
    op="StatelessRandom",
    infer=_infer_numbers_dynamic,
    groups=("int64", "T"),
    dtypes="index",
    shape_inputs=(1,),
    step="philox.numbers",
    samples=lambda: [((np.array([1, 0, 2]), np.array([2, 3])), {"dtype": as_dtype("uint32"), "kind": "bits"})],
)
def random_numbers_dynamic(state: Array, shape: Array, *, dtype: DType, kind: str) -> Any:
    """`random_numbers` of a shape known only at run time. i64[3], i[n] -> dtype[*shape]."""
    return body_of(random_numbers)(state, shape=tuple(shape.tolist()), dtype=dtype, kind=kind)


def _infer_seed(seed: Aval) -> Aval:
    dims = seed.shape
    if dims is not None and (len(dims) != 1 or dims[0] not in (None, 2)):
        raise invalid(f"seed must have shape [2], not {shape_text(dims)}")
    return _STATE


@custom(
    op="StatelessRandomGetKeyCounter",
    infer=_infer_seed,
    dtypes="index",
    step="philox.seed",
    samples=lambda: [((np.array(s).astype(t),), {}) for s in ([0, 0], [1, 2], [-5, 77]) for t in ("int32", "int64")],
    error_samples=lambda: [misuse(r"seed must have shape \[2\], not \[3\]", np.array([1, 2, 3]))],
)
def state_of_seed(seed: Array) -> Any:
    """The state that a seed of the stateless ops stands for. i[2] -> i64[3]."""
    if seed.shape != (2,):
        raise invalid(f"seed must have shape [2], not {shape_text(seed.shape)}")
    return philox.scrambled(int(seed[0]), int(seed[1]))


# ---- sources --------------------------------------------------------------------------------------------------------


class Source:
    """A source of an op's state."""

    def blocks(self, n: Any) -> Any:
        """The state whose next n blocks (an int or a scalar tensor) are the caller's, i64[3]."""
        raise NotImplementedError

    def state(self, n: Tensor | int) -> Any:
        """The state of n numbers, with what is set aside for each."""
        return self.blocks(min(n, _MOST) * RESERVED if isinstance(n, int) else cast(n, int64) * RESERVED)


class Fresh(Source):
    """An eager op without a seed: its state is its own, so nothing is shared and nothing is locked."""

    __slots__ = ("begin",)

    def __init__(self, begin: Array) -> None:
        self.begin = begin

    def blocks(self, n: Any) -> Any:
        """The state."""
        return from_array(self.begin, int64, True)


class Held(Source):
    """A generator in a cell: its counter lives on between the executions of an op."""

    __slots__ = ("cell",)

    def __init__(self, cell: Cell) -> None:
        self.cell = cell

    def blocks(self, n: Any) -> Any:
        """The state whose next n blocks are the caller's; the cell's counter goes on when this runs."""
        return draw(self.cell, cast(n, int64) if not isinstance(n, int) else as_tensor(min(n, _MOST), int64))


class Again(Source):
    """The numbers that an op's seed begins with, in every call anew; draws within one call follow each other."""

    def __init__(self, seed: TensorLike) -> None:
        self.coming: Any = from_array(first_state(generators.seeds(_as_seed(seed))), int64, True)

    def blocks(self, n: Any) -> Any:
        """The state whose next n blocks are the caller's."""
        found = self.coming
        self.coming = found + cast(n, int64) * np.array([1, 0, 0])
        return found


class Stateless(Source):
    """State that follows from a seed i[2] alone: the same for the same seed. Arrays and lists are taken as int64."""

    def __init__(self, seed: TensorLike) -> None:
        seed = convert_to_tensor(seed, dtype_hint=int64)
        if seed.dtype.name not in ("int32", "int64"):
            raise refused(not_allowed(seed.dtype, "StatelessRandomGetKeyCounter.Tseed", "int32, int64"))
        self.seed = seed

    def blocks(self, n: Any) -> Any:
        """The state that the seed stands for."""
        return state_of_seed(self.seed)


# ---- the global generators ------------------------------------------------------------------------------------------

_DEFAULT_SEED = 87654321  # the global seed of programs that set only op seeds
_SPAN = 2**31 - 1  # seeds count modulo this


def first_state(seeds: tuple[int, int] | None) -> Array:
    """The state that a global and an op's seed stand for; None: one that no one can foresee. -> i64[3]."""
    if seeds is None:
        return np.frombuffer(b"\0" * 8 + os.urandom(16), np.int64)
    first, second = seeds[0] % _SPAN, seeds[1] % _SPAN
    return np.array([0, second or (0 if first else _SPAN), first], np.int64)


def refuse_deferred(*given: object) -> None:
    """Raise TypeError for a tensor that stands for those of later calls: all would get the numbers drawn now."""
    for each in given:
        if isinstance(each, (list, tuple)):
            refuse_deferred(*each)
        elif class_has(each, "__fg_defer__"):
            raise TypeError(
                f"{each!r} is a symbolic tensor of a functional model, and the function that is called with it draws "
                "random numbers, which would be the same in every call of the model. Use a layer, such as "
                "tf.keras.layers.Dropout, or call the function in a tf.keras.layers.Lambda."
            )


class _Generators:
    """The global seed, and the cells of the ops that keep a counter."""

    def __init__(self) -> None:
        self.seed: int | None = None
        self.sequence = random.Random()  # the seeds of eager ops without one
        self.initializers: random.Random | None = None  # those of Keras's initializers, which count as no ops
        self.seeded: dict[tuple[str, int, int], Cell] = {}  # by the op, its seed, and the device: replicas draw alike
        # Cells of ops in Functions, with the seeds they begin with; they live as long as the Functions' graphs.
        self.traced: weakref.WeakKeyDictionary[Cell, tuple[int, int] | None] = weakref.WeakKeyDictionary()
        # Where a program that runs anew finds them: how often seeds were set before, and which of those with its seeds.
        self.places: weakref.WeakKeyDictionary[Cell, tuple[int, int]] = weakref.WeakKeyDictionary()
        self.made: dict[tuple[int, int], int] = {}
        self.resets = self.drawn = 0
        self.coming: dict[str, int] = {}  # counters of cells that are not made yet, by their places

    def source(self, op: str, seed: TensorLike | None, *given: object) -> Source:
        """Return where one application of `op` with this seed (None: no seed of its own) takes its numbers.

        given: the other arguments. Raises TypeError as `refuse_deferred`.
        """
        refuse_deferred(*given)
        replay = current_state().extra.get(REPLAY)
        return self._own(op, seed) if replay is None else replay.source(lambda: self._own(op, seed))

    def _own(self, op: str, seed: TensorLike | None) -> Source:
        if seed is not None:
            seed = _as_seed(seed)
        inner: Any = current_trace()
        trace = None if inner is None else inner.root
        if trace is not None and not trace.draws_eagerly:
            return self._traced(trace, seed, inner)
        if trace is not None and seed is None:  # a cell, for the function may be run for many elements
            return self._traced(trace, None, inner)
        if seed is None:
            return Fresh(first_state(self.next_seeds()))
        key = op, seed, part_of(current_state().device)
        found = self.seeded.get(key)
        if found is None:
            found = Cell(_STATE, "generator")
            self._begin(found, self.seeds(seed), repr(key))
            found = self.seeded.setdefault(key, found)  # another thread may have been faster
        return Held(found)

    def skip(self, ops: int) -> None:
        """Pass over as many ops without a seed: those that come have the numbers that they would have after these."""
        trace: Any = current_trace()
        for _ in range(ops if self.seed is not None else 0):
            if trace is None or trace.root.draws_eagerly:
                self.next_seeds()
            else:
                next(trace.random_ops)

    def _traced(self, trace: Any, seed: int | None, body: Any) -> Source:
        """Return a cell that `trace` keeps; ops without a seed are counted in each branch and body by itself."""
        seeds: tuple[int, int] | None
        if seed is None and self.seed is not None and trace.draws_eagerly:
            seeds = self.next_seeds()
        elif seed is None and self.seed is not None:
            seeds = (self.seed, next(body.random_ops))
        else:
            seeds = None if seed is None else self.seeds(seed)
        return Held(self._cell(trace, seeds))

    def is_spare(self, seed: int) -> bool:
        """Return whether an earlier trace of the Function that is traced has left a cell of an op with this seed."""
        trace: Any = current_trace()
        spare = () if trace is None else trace.root.spare_generators
        return any(self.traced.get(cell) == self.seeds(seed) for cell in spare)

    def _cell(self, trace: Any, seeds: tuple[int, int] | None) -> Cell:
        """A cell for an op of this trace that begins with these seeds."""
        for cell in trace.spare_generators:
            if self.traced.get(cell, ()) == seeds:
                trace.spare_generators.remove(cell)
                return cell
        cell = self._new_cell(seeds)
        if seeds is not None:
            self.places[cell] = place = self.resets, self.made.get(seeds, 0)
            self.made[seeds] = place[1] + 1
            self._begin(cell, seeds, repr((seeds, 0, place[1])))
        return cell

    def _begin(self, cell: Cell, seeds: tuple[int, int], place: str) -> None:
        """Put a cell where its seeds have it begin, or where `go_to` was told that it is."""
        state = first_state(seeds)
        state[0] = self.coming.pop(place, 0)
        set_state(cell, state)

    def _cells(self) -> Iterator[tuple[str, Cell, tuple[int, int]]]:
        """Yield the cells whose numbers follow from seeds, with their places."""
        for key, cell in list(self.seeded.items()):
            yield repr(key), cell, self.seeds(key[1])
        for cell, (resets, number) in list(self.places.items()):
            if (seeds := self.traced.get(cell)) is not None:
                yield repr((seeds, self.resets - resets, number)), cell, seeds

    def position(self) -> dict[str, Any]:
        """Return how far all streams are, as JSON has it."""
        counters = {place: int(np.asarray(cell_read(cell))[0]) for place, cell, _ in self._cells()}
        return {"seed": self.seed, "drawn": self.drawn, "counters": {k: n for k, n in counters.items() if n}}

    def go_to(self, position: dict[str, Any]) -> None:
        """Have the streams of a program that runs anew go on where they were; where its seed is another, nothing."""
        if position["seed"] != self.seed:
            return
        self.sequence, self.drawn, self.coming = random.Random(self.seed), 0, dict(position["counters"])
        for _ in range(position["drawn"]):
            self.next_seeds()
        for place, cell, seeds in self._cells():
            self._begin(cell, seeds, place)

    def _new_cell(self, seeds: tuple[int, int] | None) -> Cell:
        cell = Cell(_STATE, "generator")  # the graph that captures it keeps it
        set_state(cell, first_state(seeds))
        self.traced[cell] = seeds
        return cell

    def of_call(self, cell: Cell) -> Cell:
        """The cell that a call in a trace gives a Function for one of its own: of random ops one that begins anew.

        A Function's op is another op in each place from which the Function is called, with a counter of its own.
        """
        trace: Any = current_trace()
        return cell if trace is None or cell not in self.traced else self._cell(trace.root, self.traced[cell])

    def is_traced(self, item: object) -> bool:
        """Return whether this is the cell of an op in a Function."""
        return isinstance(item, Cell) and item in self.traced

    def beginning(self, cell: Cell) -> Any:
        """The state with which the cell of an op in a Function begins."""
        return from_array(first_state(self.traced[cell]), int64, True)

    @contextmanager
    def at(self, cells: list[Cell], states: list[Any]) -> Iterator[None]:
        """A context in which cells have other states, which go on there; those that they had come back afterwards."""
        before = [cell_read(cell) for cell in cells]
        for cell, state in zip(cells, states, strict=True):
            cell_assign(cell, state)
        try:
            yield
        finally:
            states[:] = [cell_read(cell) for cell in cells]
            for cell, state in zip(cells, before, strict=True):
                cell_assign(cell, state)

    def with_seeds(self, first: int, second: int) -> Source:
        """A generator of an op in a graph that begins with these seeds; with two zeros, as no one can foresee."""
        return Held(self._new_cell((first, second) if first or second else None))

    def first_of_graph(self) -> Source:
        """Return where the first random op of a graph of its own takes its numbers."""
        return Held(self._new_cell(None if self.seed is None else (self.seed, 0)))

    def next_seeds(self) -> tuple[int, int] | None:
        """The seeds of an op without one of its own: an eager one, or a trace's next; None: no one can foresee them."""
        if self.seed is None:
            return None
        body: Any = current_trace()
        if body is not None and not body.root.draws_eagerly:
            return self.seed, next(body.random_ops)
        self.drawn += 1
        return self.seed, self.sequence.randint(0, _SPAN)

    def seeds(self, seed: int) -> tuple[int, int]:
        """The global seed and that of an op."""
        return (_DEFAULT_SEED if self.seed is None else self.seed), seed

    def reset(self, seed: int | None) -> None:
        """Begin all sequences anew. The cells stay, so that Functions that hold them follow."""
        self.seed = seed
        self.sequence, self.drawn = random.Random(seed), 0
        self.resets, self.made, self.coming = self.resets + 1, {}, {}
        self.initializers = None if seed is None else random.Random(seed)
        for (_, own, _), cell in list(self.seeded.items()):
            set_state(cell, first_state(self.seeds(own)))
        for cell, seeds in list(self.traced.items()):
            set_state(cell, first_state(seeds))


def _as_seed(seed: Any) -> int:
    """An integer, or the whole part of a float: of that counts what remains modulo `_SPAN`."""
    try:
        if isinstance(seed, float | np.floating) or (isinstance(seed, np.ndarray) and not seed.ndim):
            return int(seed % _SPAN)
        return int(seed.__index__())
    except (AttributeError, TypeError, ValueError, np.ma.MaskError):
        raise TypeError(f"A seed must be an integer or None: Expected int for argument 'seed' not {seed!r}.") from None


def set_state(cell: Cell, state: Array) -> None:
    """Put a generator at a state."""
    cell_assign(cell, from_array(state, int64, True))


generators = _Generators()


# ---- numbers of a shape ---------------------------------------------------------------------------------------------


def count(size: Extents) -> Any:
    """Return how many elements there are: an int, or a scalar tensor where that is known only at run time."""
    if size.static is None:
        return reduce_prod(size.tensor)
    n = 1
    for d in size.static:
        n *= max(d, 0)
    return n


def as_vector(size: Extents) -> Any:
    """The extents as a tensor, i[n]."""
    return size.tensor if size.static is None else as_tensor(np.array(size.static, np.int64), int64)


def checked_size(shape: Array) -> tuple[int, ...]:
    """A shape given as an array. Raises: InvalidArgumentError for a negative extent or too many elements."""
    size = tuple(shape.tolist())
    validated(check_dims, size)
    return size


def numbers_of(state: Tensor, size: Extents, kind: str, dtype: DType, name: str | None = None) -> Any:
    """Numbers of a kind (`KINDS`) and a shape that follow from a state."""
    if size.static is not None:
        return named(name, random_numbers, state, shape=size.static, dtype=dtype, kind=kind)
    return named(name, random_numbers_dynamic, state, size.tensor, dtype=dtype, kind=kind)


def numbers(source: Source, size: Extents, kind: str, dtype: DType, name: str | None = None) -> Any:
    """Fresh numbers of a kind (`KINDS`) and a shape."""
    return numbers_of(source.state(count(size)), size, kind, dtype, name)
