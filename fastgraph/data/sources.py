"""Sources of elements: tensors, their slices, numbers, Python generators.

Rule: a Source only describes; every call of `elements` begins anew. What `elements` gives goes on after an error where
the one behind it does, so it is an iterator of C's or of a class, not a generator.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fastgraph import errors
from fastgraph.composites.ragged_tensor import RaggedTensorSpec
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType, as_dtype, int32, int64
from fastgraph.core.base.locks import Lock
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.tensor import Tensor, convert, from_array, init_scope
from fastgraph.data.element_leaves import Dense, apart, kinds_of, sliced, unbatched
from fastgraph.data.element_specs import Element, flat, tensor_specs
from fastgraph.data.handles import Handled
from fastgraph.data.random_access import Table, numbers, rows_of
from fastgraph.ops.families import invalid
from fastgraph.ops.python_functions import as_op_error

INFINITE, UNKNOWN = -1, -2


class Run:
    """State that one iterator keeps through all passes over its source, of random ops. by_index: for `at` alone."""

    def __init__(self, source: Source | None = None, by_index: bool = False) -> None:
        self.states: dict[Any, list[Any]] = {}
        self.drawn: dict[Source, list[Any]] = {}  #: the orders of passes that began with the iterator
        self.by_index = by_index
        self._source, self._branches = source, dict[int, Run]()

    def branch(self, i: int) -> Run:
        """Return what it keeps for the i-th of the sources that one dataset has."""
        if i not in self._branches:
            self._branches[i] = Run(self._source, self.by_index)
            self._branches[i].drawn = self.drawn
        return self._branches[i]

    @functools.cached_property
    def ordered(self) -> bool:
        """True if elements come in order where the transformation itself does not say: what the options say."""
        found = () if self._source is None else below(self._source)
        return next((each.deterministic for each in found if getattr(each, "deterministic", None) is not None), True)


def draw_orders(source: Source, take: Callable[[Any, Any], object]) -> None:
    """Draw the orders of the passes that begin together with one over `source`: take(whose, order)."""
    ahead = [source]
    for each in ahead:  # which grows
        ahead += each.at_once()
        if hasattr(each, "draw"):
            take(each, each.draw())


class Source(Handled):
    """A description of elements: `spec` is what one is like."""

    name = "Dataset"
    spec: Any
    aside: tuple[str, ...] = ("_number", "_handle", "_lock")  #: attributes that its fingerprint does not tell apart
    decides: (
        tuple[str, ...] | None
    ) = ()  #: attributes that a pass cannot go on with if they differ; None: it is no part
    anew = False  #: whether each call of a graph makes another one
    only_first = False  #: an endless repeat of it ends where its first pass is empty, whatever the others are

    def elements(self, run: Run) -> Iterator[Element]:
        """Begin a pass over the elements, for an iterator that keeps `run`."""
        raise NotImplementedError

    def table(self, run: Run) -> Table | None:
        """Begin a pass over the numbers of rows, where elements are rows of tensors; else None."""
        return None

    def at_once(self) -> list[Source]:
        """Return the sources that it is made of whose pass begins with its own, before an element is asked for."""
        return [part for part in _parts(self) if isinstance(part, Source)]

    def cardinality(self) -> int:
        """Return how many elements there are, INFINITE or UNKNOWN."""
        return UNKNOWN

    @staticmethod
    def operand(array: Any) -> Any:
        """Return what a tensor among the operands is for this kind of source, once a graph has computed it."""
        return int(array)


class Chained(Iterator[Element]):
    """The elements of iterators, one after the other. An error ends none: itertools.chain ends where one is made."""

    def __init__(self, parts: Iterator[Iterator[Element]]) -> None:
        self.parts = parts
        self.part: Iterator[Element] = iter(())

    def __next__(self) -> Element:
        while True:
            element = next(self.part, None)
            if element is not None:
                return element
            self.part = next(self.parts)


class OfTensors(Source):
    """A source whose operands are tensors, not counts."""

    @staticmethod
    def operand(array: object) -> Any:
        return from_array(array, None, False)


class Described(Source):
    """Stands for a source that exists only when a graph runs, while the one made from it is described."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec


class Tensors(OfTensors):
    """One element. Source: tf.data.Dataset.from_tensors."""

    name = "_TensorDataset"

    def __init__(self, *tensors: Tensor, spec: Any) -> None:
        if not tensors:
            raise invalid("Length for attr 'Toutput_types' of 0 must be at least minimum 1 [Op:TensorDataset]")
        self.tensors, self.spec = tensors, spec

    def elements(self, run: Run) -> Iterator[Element]:
        return iter([self.tensors])

    def cardinality(self) -> int:
        return 1


class Slices(OfTensors):
    """The slices along the first axis of tensors. Source: tf.data.Dataset.from_tensor_slices."""

    name = "_TensorSliceDataset"

    def __init__(self, *tensors: Tensor, spec: Any) -> None:
        if not tensors:
            raise ValueError("Invalid `element`. `element` should not be empty.")
        self.spec = unbatched(spec)
        self.kinds = kinds_of(spec)
        sizes = [kind.size(parts) for kind, parts in zip(self.kinds, apart(self.kinds, tensors), strict=True)]
        known = [size for size in sizes if size is not None]
        for size in known:
            if size != known[0]:
                raise ValueError(f"Dimensions {known[0]} and {size} are not compatible")
        self.tensors = tensors

    def elements(self, run: Run) -> Iterator[Element]:
        return sliced(self.kinds, self.tensors)

    def table(self, run: Run) -> Table | None:
        dense = all(type(kind) is Dense for kind in self.kinds)
        return Table(numbers(self.cardinality()), rows_of(self.tensors)) if dense else None

    def cardinality(self) -> int:
        pairs = zip(self.kinds, apart(self.kinds, self.tensors), strict=True)
        return next(int(size) for kind, parts in pairs if (size := kind.size(parts)) is not None)


class Range(Source):
    """Numbers at equal distances. Source: tf.data.Dataset.range."""

    name = "_RangeDataset"

    def __init__(self, start: Any, stop: Any, step: Any, dtype: DType = int64) -> None:
        self.spec = TensorSpec((), dtype)
        self.limits = start, stop, step
        if isinstance(step, int) and step == 0:
            raise invalid("step must be a non-zero integer. [Op:RangeDataset]")

    def elements(self, run: Run) -> Iterator[Element]:
        dtype = self.spec.dtype
        kind: Any = dtype.as_numpy_dtype
        if not dtype.is_numeric:
            raise invalid(f"Unsupported data type: {dtype.name} [Op:IteratorGetNext]")
        if dtype.is_integer and dtype is not int64:  # which may not hold it: the low bits are taken
            kind = lambda n: np.int64(n).astype(dtype.as_numpy_dtype)
        return zip(map(from_array, map(np.asarray, map(kind, range(*self.limits)))))

    def table(self, run: Run) -> Table | None:
        start, _, step = self.limits
        dtype = self.spec.dtype
        if not dtype.is_numeric:
            return None
        keys = (start + step * part for part in numbers(self.cardinality()))
        return Table(keys, lambda keys: (from_array(keys.astype(dtype.as_numpy_dtype), dtype, False),))

    def cardinality(self) -> int:
        return len(range(*self.limits))


_generators = itertools.count()


class Generated(OfTensors):
    """The values that a Python generator yields. Source: tf.data.Dataset.from_generator."""

    name = "_FlatMapDataset"

    def __init__(self, *args: Any, generator: Callable[..., Any], spec: Any) -> None:
        self.generator, self.args, self.spec = generator, args, spec
        # what it yields may hang on names, classes and files that nobody can look into: as in TensorFlow, a program's
        # generators are counted, and never taken for one another; in its next run they have the same ordinals
        self.ordinal = next(_generators)

    def elements(self, run: Run) -> Iterator[Element]:
        return _Generation(self)


class _Generation(Iterator[Element]):
    """One pass of a generator, which begins when the first element is asked for."""

    def __init__(self, source: Generated) -> None:
        self.source = source
        self.values: Iterator[Any] | None = None
        self.types = tensor_specs(source.spec)
        self.structured = nesting.is_nested(source.spec)

    def __next__(self) -> Element:
        try:
            if self.values is None:
                arguments = [_as_numpy(argument) for argument in self.source.args]
                self.values = iter(())  # what is left if the generator cannot begin
                self.values = iter(self.source.generator(*arguments))
            value = next(self.values)
        except StopIteration:
            raise
        except Exception as error:
            raise as_op_error(error) from error
        return self._checked(value)

    def _checked(self, value: object) -> Element:
        spec = self.source.spec
        try:
            tensors = _components(spec, value)
        except (TypeError, ValueError) as error:
            wanted = nesting.map_structure(lambda leaf: getattr(leaf, "dtype", leaf), spec) if self.structured else spec
            raise invalid(
                "TypeError: `generator` yielded an element that did not match the expected structure. The expected "
                f"structure was {wanted}, but the yielded element was {value}."
            ) from error
        for tensor, known in zip(tensors, self.types, strict=True):
            if not known.shape.is_compatible_with(tensor.shape):
                raise invalid(
                    f"TypeError: `generator` yielded an element of shape {tuple(tensor.shape)} where an element of "
                    f"shape {known.shape} was expected."
                )
        return tensors


def _components(spec: Any, value: Any) -> Element:
    """Return the tensors of what a generator yielded; numbers become what the spec says."""
    if not nesting.is_nested(spec):
        if isinstance(spec, RaggedTensorSpec) and spec.ragged_rank <= 0:
            spec = TensorSpec(spec.shape, spec.dtype)
        if isinstance(spec, TensorSpec):
            return (_as_dtype(value, spec.dtype),)
        if not spec.is_compatible_with(value):
            raise TypeError(f"{value!r} is no {spec}")
        return flat(value)
    if isinstance(spec, tuple) and isinstance(value, list):
        value = tuple(value)
    if isinstance(spec, dict):
        if not isinstance(value, dict) or set(spec) != set(value):
            raise TypeError(f"{value!r} has other keys than {spec}")
        return tuple(itertools.chain.from_iterable([_components(spec[key], value[key]) for key in sorted(spec)]))
    if not isinstance(value, tuple) or len(value) != len(spec):
        raise TypeError(f"{value!r} has another structure than {spec}")
    return tuple(itertools.chain.from_iterable([_components(*pair) for pair in zip(spec, value, strict=True)]))


def _as_dtype(value: object, dtype: DType) -> Any:
    tensor = convert(value)
    if tensor.dtype is dtype:
        return tensor
    if isinstance(value, (list, tuple)) and 0 in tensor.shape:
        return convert(value, dtype)  # of nothing every dtype
    fits = isinstance(value, (np.ndarray, np.generic)) or (
        not isinstance(value, Tensor) and _holds(dtype, tensor.dtype)
    )
    if "string" in (dtype.name, tensor.dtype.name) or not fits:
        raise TypeError(f"{value!r} is no {dtype}")
    return from_array(np.asarray(tensor), dtype)


def _holds(dtype: DType, given: DType) -> bool:
    """Return whether Python's numbers, which are tensors of the dtype `given` by themselves, are numbers of `dtype`."""
    if given.is_bool:
        return dtype.is_floating or dtype in (int32, int64)
    if given.is_integer:
        return not dtype.is_bool
    return dtype.is_complex or (given.is_floating and dtype.is_floating)


def _as_numpy(value: object) -> Any:
    return value.numpy() if hasattr(value, "numpy") else value


def generator_spec(output_types: object, output_shapes: object, output_signature: object) -> Any:
    """Return the spec that the arguments of `from_generator` say. Raises TypeError where they contradict each other."""
    if output_signature is not None:
        for given, what in ((output_types, "output_types"), (output_shapes, "output_shapes")):
            if given is not None:
                raise TypeError(f"The `{what}` argument can not be used together with the `output_signature` argument.")
        for leaf in nesting.flatten(output_signature):
            if not isinstance(leaf, TypeSpec):
                raise TypeError(
                    "`output_signature` must contain objects that are subclass of `tf.TypeSpec` but found "
                    f"{type(leaf)} which is not."
                )
        return output_signature
    if output_types is None:
        raise TypeError(
            "To specify the output signature you need to provide either the `output_signature` argument or the "
            "`output_types` argument."
        )
    kinds: Any = output_types  # a list is a value here, and no dtype
    types = as_dtype(kinds) if isinstance(output_types, list) else nesting.map_structure(as_dtype, kinds)
    if output_shapes is None:
        return nesting.map_structure(lambda dtype: TensorSpec(None, dtype), types)
    shapes = _shapes_like(types, output_shapes)
    return nesting.map_structure(lambda dtype, shape: TensorSpec(shape.shape, dtype), types, shapes)


class _Shape:
    """A shape as a leaf."""

    def __init__(self, shape: ShapeLike) -> None:
        self.shape = TensorShape(shape)


def _shapes_like(types: Any, shapes: Any) -> Any:
    if isinstance(types, dict):
        return {key: _shapes_like(types[key], shapes[key]) for key in types}
    if isinstance(types, tuple):
        if not isinstance(shapes, tuple):
            kind = type(shapes).__name__
            raise TypeError(
                f"If shallow structure is a sequence, input must also be a sequence. Input has type: {kind!r}."
            )
        return tuple([_shapes_like(*pair) for pair in zip(types, shapes, strict=True)])
    return _Shape(shapes)


def _parts(source: Source) -> list[Any]:
    """The parts of a source, in lists and tuples too."""
    values = vars(source).values()
    return [each for value in values for each in (value if isinstance(value, list | tuple) else (value,))]


def below(source: Source) -> list[Any]:
    """A source and those that it is made of, from the outermost on."""
    ahead: list[Any] = [source]
    for each in ahead:  # which grows
        ahead += [part for part in _parts(each) if isinstance(part, Source)]
    return ahead


class Cursor(Handled):
    """The place of a pass. It may have looked some elements ahead."""

    def __init__(self, source: Source) -> None:
        self.spec = source.spec
        self._elements: Iterator[Element] | None
        self._ahead: list[Element]  # the next one last
        self._lock = Lock()
        self._begin(source)

    def take(self) -> Element:
        """Return the next element. Raises StopIteration after the last."""
        with self._lock:
            element = self._ahead.pop() if self._ahead else self._advance()
            self._taken += 1
            return element

    def give_back(self, element: Element) -> None:
        """Make an element that was taken the next one again."""
        with self._lock:
            self._ahead.append(element)
            self._taken -= 1

    def has_next(self) -> bool:
        """Return whether there is another element."""
        with self._lock:
            if not self._ahead:
                try:
                    self._ahead.append(self._advance())
                except StopIteration:
                    return False
            return True

    def _advance(self) -> Element:
        with init_scope():
            if self._elements is None:
                self._elements = self.source.elements(self._run)
            element = next(self._elements, None)
        if element is None:
            self._elements = iter(())  # ended is ended
            raise StopIteration
        return element

    def begin(self, source: Source) -> None:
        """Begin a pass over a source: this one's, or another of such elements."""
        with self._lock:
            self._begin(source)

    def _begin(self, source: Source) -> None:
        self.source, self._elements, self._run, self._ahead, self._taken = source, None, Run(source), [], 0
        self._orders = [each.order() for each in self._ordered()]  # from where the numbers come
        if self._orders:
            draw_orders(source, lambda each, order: self._run.drawn.setdefault(each, []).append(order))

    def _ordered(self) -> list[Any]:
        """The sources below this one that have an order of their own, from the outermost on."""
        return [source for source in below(self.source) if hasattr(source, "order")]

    def state(self) -> bytes:
        """Return a text that says where the pass is. Raises FailedPreconditionError for functions with a state."""
        stateful = [source.name.lstrip("_") for source in below(self.source)
                    if any(getattr(part, "stateful", False) for part in _parts(source))]  # fmt: skip
        if stateful:
            raise errors.FailedPreconditionError(
                None, None,
                f"The function of {stateful[0]} is stateful: it draws random numbers or writes Variables, and a pass "
                "that is restored would do so again.",
            )  # fmt: skip
        with self._lock:
            return json.dumps({"taken": self._taken, "orders": self._orders, "parts": self._deciding()}).encode()

    def _deciding(self) -> list[str]:
        """Return what decides which elements the first n are; what runs ahead may differ when a pass goes on."""
        found = [source for source in below(self.source) if source.decides is not None]
        names = [source.name.strip("_").replace("Parallel", "") for source in found]
        return [
            " ".join([name, *(f"{each}={vars(source)[each]}" for each in source.decides)])
            for name, source in zip(names, found, strict=True)
        ]

    def go_to(self, text: bytes) -> None:
        """Begin anew and go where such a text says. Raises ValueError for one of another dataset."""
        state = json.loads(text)
        taken, orders = int(state["taken"]), list(state["orders"])
        with self._lock:
            sources, parts = self._ordered(), self._deciding()
            if (before := state.get("parts", parts)) != parts:
                raise ValueError(
                    f"it is of a pipeline of {', '.join(before)}, the dataset is one of {', '.join(parts)}"
                )
            if len(orders) != len(sources):
                raise ValueError(f"it shuffles {len(orders)} times, the dataset {len(sources)} times")
            for source, order in zip(sources, orders, strict=True):
                source.take_order(order)
            self._begin(self.source)
            for _ in range(taken):
                try:
                    self._advance()
                except StopIteration:
                    break
            self._taken = taken
