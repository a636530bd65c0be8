"""The base of datasets: their elements' spec, a pass over them, their options; how one is made of operands.

Rule: what `made` is given may be symbolic while a graph is traced; then the dataset is a node of that graph.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from fastgraph.composites.ragged_tensor import RaggedTensorSpec
from fastgraph.composites.sparse_tensor import SparseTensorSpec
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import int64
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.base.type_specs import NoneTensorSpec, TensorSpec
from fastgraph.core.conversion import unsupported
from fastgraph.core.tensor import Tensor, as_array, convert, current_trace, from_array, init_scope
from fastgraph.data import dataset_ops, element_functions, transformations
from fastgraph.data.element_specs import InElements, OfElements, common, flat, normalized, packed, spec_of, tensor_specs
from fastgraph.data.handles import HANDLE, owned, resolve, together
from fastgraph.data.iterators import NumpyIterator, OwnedIterator, found
from fastgraph.data.options import Options
from fastgraph.data.sources import INFINITE, Cursor, Described, Source
from fastgraph.graph import control_flow
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.ops.arguments import known_value
from fastgraph.staging import autograph

if TYPE_CHECKING:
    from fastgraph.data.dataset import Dataset


class DatasetBase(InElements):
    """Elements one after the other, each a structure of tensors."""

    #: The class of the datasets that `made` gives.
    made_as: ClassVar[Any] = None

    def __init__(self, source: Source | None, spec: Any = None, symbolic: Any = None) -> None:
        self.source = source
        self._spec = spec if source is None else source.spec
        self._symbolic = symbolic
        self._options: Options | None = None  # None: nothing but defaults

    # -- what it is

    element_spec = ReadOnly[Any]("_spec", "The spec of an element: a structure of specs.")

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self._spec, () if self._symbolic is None else self._symbolic.shape)

    @property
    def handle(self) -> Any:
        """The tensor by which graphs know it."""
        own = None if self.source is None else self.source.handle()  # asked in any case: a trace then keeps the source
        return own if self._symbolic is None else self._symbolic

    def cardinality(self) -> Any:
        """Return how many elements there are, INFINITE_CARDINALITY or UNKNOWN_CARDINALITY. -> i64[]."""
        if self.source is None:
            return dataset_ops.cardinality_of(self.handle)
        return convert(min(self.source.cardinality(), int64.max), int64)

    def __len__(self) -> int:
        if self.source is None:
            raise TypeError(
                "`tf.data.Dataset` only supports `len` in eager mode. Use `tf.data.Dataset.cardinality()` instead."
            )
        n = self.source.cardinality()
        if n < 0:
            raise TypeError("The dataset is infinite." if n == INFINITE else "The dataset length is unknown.")
        return n

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{'Dataset' if self.source is None else self.source.name} element_spec={self._spec}>"

    def _as_element(self) -> Any:
        """Return what an element of another dataset holds it as: a number that keeps it."""
        if self.source is None or current_trace() is not None:
            return self
        return self.made_as(self.source, None, from_array(owned(self.source), None, False))

    def _stacked(self, datasets: list[Any]) -> Any:
        """Return a list of datasets, this one the first, as one value. Raises ValueError for unlike ones."""
        elements = [each._as_element() for each in datasets]
        try:
            spec = functools.reduce(common, [each.element_spec for each in datasets])
        except TypeError:
            raise unsupported(self) from None
        if any(each.source is None or current_trace() is not None for each in datasets):
            return self.made_as(None, spec, dataset_ops.stacked([each.handle for each in elements]))
        handles = together([as_array(each.handle) for each in elements])
        return self.made_as(None, spec, from_array(handles, None, False))

    # -- iteration

    def __iter__(self) -> OwnedIterator:
        if current_trace() is None and self.source is not None:
            return OwnedIterator(Cursor(self.source), self._spec)
        return OwnedIterator(None, self._spec, dataset_ops.iterator_of(self.handle, self._spec))

    __fg_any_shapes__ = True

    def __fg_staged_for__(self) -> tuple[Any, Any]:
        """Return what a staged loop goes over: (is there another element, the next element), two functions."""
        return iter(self).__fg_staged_for__()

    def as_numpy_iterator(self) -> NumpyIterator:
        """Return an iterator over the elements with NumPy arrays for tensors. Raises RuntimeError in a trace."""
        if current_trace() is not None:
            raise RuntimeError("`tf.data.Dataset.as_numpy_iterator()` is only supported in eager mode.")
        for leaf in nesting.flatten(self._spec):
            if not isinstance(leaf, TensorSpec | RaggedTensorSpec | SparseTensorSpec | NoneTensorSpec):
                raise TypeError(
                    "`tf.data.Dataset.as_numpy_iterator()` is not supported for datasets that produce values of type "
                    f"{leaf.value_type}"
                )
        return NumpyIterator(iter(self))

    def reduce(self, initial_state: object, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """Return the last state of `state = reduce_func(state, element)`. Source: tf.data.Dataset.reduce."""
        if current_trace() is None and self.source is not None:
            with init_scope():
                return element_functions.reduced(self.source, initial_state, reduce_func)
        has_next, get_next = self.__fg_staged_for__()
        function = autograph.convert(reduce_func)
        state = normalized(initial_state)

        try:
            body: Any = lambda s: [function(s, get_next())]
            (state,) = control_flow.while_loop(lambda _: has_next(), body, [state])
            return state
        except ValueError:  # of a state whose shapes change
            specs = spec_of(state)
            found = common(specs, element_functions.Mapped(reduce_func, (specs, self._spec), "Dataset.reduce()").spec)
            shapes = [leaf.shape for leaf in tensor_specs(found)]
            if shapes == [leaf.shape for leaf in flat(state)]:
                raise
        tensors = control_flow.while_loop(
            lambda *_: has_next(),
            lambda *now: list(flat(function(packed(found, now), get_next()))),
            list(flat(state)),
            shapes,
        )
        return packed(found, tensors)

    def options(self) -> Options:
        """Return the options that hold for this dataset, those of what it is made from included; they are fixed."""
        result = Options() if self._options is None else Options().merge(self._options)
        result._freeze()
        return result

    def with_options(self, options: Options, name: str | None = None) -> Any:
        """Return this dataset with options besides those it has. Source: tf.data.Dataset.with_options.

        Raises: TypeError for what is no tf.data.Options.
        """
        if not isinstance(options, Options):
            raise TypeError(f"`options` must be a `tf.data.Options` object. Got {type(options)}.")
        result = made(transformations.WithOptions, self, deterministic=options.deterministic)
        result._options = self.options().merge(options)
        return result


def count(value: Any) -> Any:
    """Return an integer; a symbolic one as it is.

    Raises TypeError for what is none, ValueError for None and a tensor that is not int64.
    """
    if hasattr(value, "read_value"):
        value = value.read_value()
    if isinstance(value, Tensor) and value.dtype != int64:
        raise ValueError(f"Tensor conversion requested dtype int64 for Tensor with dtype {value.dtype.name}: {value!r}")
    if isinstance(value, SymbolicTensor):
        known = known_value(value)
        if known is None:
            return value
        value = known
    if value is None:
        raise unsupported(None)
    try:
        return operator.index(value.numpy() if hasattr(value, "numpy") else value)
    except TypeError:
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype int64") from None


def element_of(value: object) -> Any:
    """Return a structure of tensors, eager ones unless some are symbolic."""
    if any(isinstance(leaf, SymbolicTensor) for leaf in nesting.flatten(value, expand_composites=True)):
        return normalized(value)
    with init_scope():
        return normalized(value)


def made(kind: type[Source], *operands: object, **options: object) -> Dataset:
    """Return the dataset of `kind(*operands, **options)`; operands are datasets, tensors and Python values.

    What the operands' tf.data.Options say, the last one wins, holds for it as well.
    """
    result: Dataset = _made(kind, *operands, **options)
    for operand in operands:
        if isinstance(operand, DatasetBase) and operand._options is not None:
            result._options = operand._options if result._options is None else result._options.merge(operand._options)
    return result


def _made(kind: type[Source], *operands: object, **options: object) -> Any:

    def is_symbolic(operand: object) -> bool:
        return isinstance(operand, SymbolicTensor) or (isinstance(operand, DatasetBase) and operand.source is None)

    if not any(map(is_symbolic, operands)) and not (kind.anew and current_trace() is not None):
        with init_scope():
            return DatasetBase.made_as(
                kind(*[item.source if isinstance(item, DatasetBase) else item for item in operands], **options)
            )
    stand_ins = [Described(item.element_spec) if isinstance(item, DatasetBase) else item for item in operands]
    described = kind(*stand_ins, **options)
    tensors = [item.handle if isinstance(item, DatasetBase) else item for item in operands]
    computed = [isinstance(tensor, Tensor) for tensor in tensors]

    def build(arrays: tuple[Any, ...]) -> Source:
        left = iter(arrays)
        values: list[Any] = []
        for operand, tensor, from_graph in zip(operands, tensors, computed, strict=True):
            if not from_graph:
                values.append(tensor)
            elif isinstance(operand, DatasetBase):
                values.append(resolve(next(left)))
            else:
                values.append(kind.operand(next(left)))
        return kind(*values, **options)

    inputs = tuple([tensor for tensor, from_graph in zip(tensors, computed, strict=True) if from_graph])
    named = [each for each, from_graph in zip(stand_ins, computed, strict=True) if from_graph]
    recipe = dataset_ops.Recipe(build, described, named)
    return DatasetBase.made_as(None, described.spec, dataset_ops.dataset_of(inputs, recipe))


class DatasetSpec(OfElements):
    """The type of a dataset, which the spec of its elements says. Source: tf.data.DatasetSpec."""

    __slots__ = ("_dataset_shape",)

    def __init__(self, element_spec: Any, dataset_shape: ShapeLike = ()) -> None:
        super().__init__(element_spec)
        self._dataset_shape = TensorShape(dataset_shape)

    @staticmethod
    def from_value(value: DatasetBase) -> DatasetSpec:
        """Return the spec of a dataset."""
        return DatasetSpec(value.element_spec)

    @property
    def value_type(self) -> Any:
        return DatasetBase.made_as

    @property
    def dataset_shape(self) -> TensorShape:
        """The shape of a tensor of such datasets, that of a scalar for one."""
        return self._dataset_shape

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_spec, self._dataset_shape

    @property
    def _component_specs(self) -> Any:
        return TensorSpec(self._dataset_shape, HANDLE.dtype)

    def _to_components(self, value: Any) -> Any:
        return value.handle

    def _from_components(self, components: object) -> Any:
        one = self._dataset_shape.rank == 0
        return DatasetBase.made_as(found(components) if one else None, self._element_spec, components)
