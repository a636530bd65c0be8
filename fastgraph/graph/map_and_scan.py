"""map_fn, scan, foldl, foldr: functions applied to the elements of tensors along their first axis.

Rule: in a trace each is one while node whose body stands in the graph once; results of the iterations are stacked by
the node itself. In eager mode they are Python loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.composites.extension_batching import Encodings, has_extensions, unbatched_spec
from fastgraph.composites.extension_type import ExtensionTypeSpec
from fastgraph.composites.ragged_map_results import RaggedLeaf, SparseLeaf, flattened
from fastgraph.composites.ragged_tensor import RaggedTensorSpec
from fastgraph.composites.sparse_tensor import SparseTensorSpec
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.base.shapes import Aval, TensorShape, common_shape, generalises, shape_of
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.conversion import unsupported
from fastgraph.core.registry import public_function, register_public
from fastgraph.core.tensor import Tensor, class_has, convert, current_trace
from fastgraph.graph import control_flow_gradients as control_flow_gradients  # fills in the gradient of while
from fastgraph.graph.control_flow import cond
from fastgraph.graph.subgraphs import as_tensor, make_while, subgraph_name, traced
from fastgraph.ops.arguments import refused
from fastgraph.ops.families import invalid
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import stack, unstack
from fastgraph.ops.movement import shape


class _Elements:
    """The tensors of a structure, to be taken apart along their first axis: n elements each."""

    def __init__(self, elems: Any, caller: str) -> None:
        leaves = nesting.flatten(elems, expand_composites=True)
        if any(leaf is None for leaf in leaves):
            raise unsupported(None)
        flat = [as_tensor(leaf) for leaf in leaves]
        if not flat:
            raise ValueError(
                f"elems must be a Tensor or (possibly nested) sequence of Tensors. Got {elems!r}, which does not "
                "contain any Tensors."
            )
        self.structure = elems
        self.flat = flat
        known: int | None = None
        for tensor in flat:
            rank = tensor.shape.rank
            if rank == 0:
                raise ValueError(f"{caller}: Elements in elems must be 1+ dimensional Tensors, not scalars")
            n = None if rank is None else tensor.shape[0]
            if n is not None and known is not None and n != known:
                raise ValueError(f"{caller}: Dimensions {known} and {n} are not compatible")
            known = n if n is not None else known
        if known is None and current_trace() is None:
            raise TypeError(
                f"{caller}: the number of elements of {flat[0]!r} is unknown. Call it in a tf.keras.layers.Lambda, or "
                "in the `call` of a layer of your own."
            )
        self.static = known
        self._parts: list[Sequence[Any]] | None = None

    @property
    def n(self) -> Any:
        """The number of elements: an int, or i32[]."""
        return self.static if self.static is not None else shape(self.flat[0])[0]

    def packed(self, leaves: Sequence[Any]) -> Any:
        """Return tensors in the structure of the elements."""
        return nesting.pack_sequence_as(self.structure, list(leaves), expand_composites=True)

    def at(self, i: Tensor | int) -> Any:
        """Element `i` (i32[]) in a trace: a gather, whose gradient has the rows that it took and no others."""
        return self.packed([gather(tensor, i) for tensor in self.flat])

    def eager(self, i: int) -> Any:
        """Element `i` in eager mode."""
        if self._parts is None:
            self._parts = [unstack(tensor) if self.static else [] for tensor in self.flat]
        return self.packed([parts[i] for parts in self._parts])


def stacked_loop(
    n: Tensor | int,
    step: Callable[..., tuple[Sequence[Any], Sequence[Any]]],
    start: Sequence[Any],
    what: str,
    ragged: Sequence[int] = (),
) -> tuple[list[Any], list[Any]]:
    """A while node of `n` iterations: step(i, *carried) gives (next carried, rows); returns (last carried, stacks).

    Shapes of carried values that change from one iteration to the next become unknown where they do. Rows that
    `ragged` names may differ in size: of these the stack is (all elements end to end, the shapes, sizes of one row).
    """
    trace = current_trace()
    assert trace is not None
    begin = [convert(0, dtypes.int32), *start]
    limit = convert(n, dtypes.int32)
    shapes = [tensor.aval.shape for tensor in begin]

    def test(i: Tensor, *_: object) -> Any:
        return i < limit

    def body(i: Tensor, *carried: Tensor) -> Any:
        after, rows = step(i, *carried)
        whole[:] = [row for k, row in enumerate(rows) if k in ragged]
        uneven = [part for row in whole for part in flattened(row)]
        return [i + 1, *after, *[row for k, row in enumerate(rows) if k not in ragged], *uneven]

    whole: list[Any] = []

    while True:
        own = [(Aval(t.dtype, dims), f"{what}_{k}") for k, (t, dims) in enumerate(zip(begin, shapes, strict=True))]
        body_trace, _ = traced(trace, body, own, subgraph_name(f"{what}_body"))
        after = [value.aval.shape for value in body_trace.graph.outputs[: len(begin)]]
        if all(generalises(a, b) for a, b in zip(shapes, after, strict=True)):
            break
        shapes = [common_shape(a, b) for a, b in zip(shapes, after, strict=True)]
    test_trace, _ = traced(trace, test, own, subgraph_name(f"{what}_cond"))
    count = len(body_trace.graph.outputs)
    vectors = range(count - 2 * len(whole), count, 2)
    results = body_trace.graph.outputs
    body_trace.flattened.update(
        {row.value: (results[k], results[k + 1]) for row, k in zip(whole, vectors, strict=True)}
    )
    outputs = make_while(test_trace, body_trace, begin, name=what, joined=tuple(vectors))
    stacks = list(outputs[len(begin) : count - 2 * len(whole)])
    if isinstance(n, int):
        for tensor in stacks:
            if tensor.shape.rank is not None:
                tensor.set_shape([n, *tensor.shape[1:]])
    for place, k, row in zip(sorted(ragged), vectors, whole, strict=True):
        stacks.insert(place, (outputs[k], outputs[k + 1], row.shape.as_list()[1:]))
    return list(outputs[1 : len(begin)]), stacks


def _checked(fn: object, caller: str) -> None:
    if not callable(fn):
        raise TypeError(f"{caller}: fn should be a callable object, got {fn!r}")


# ---- map_fn ---------------------------------------------------------------------------------------------------------


class _Signature:
    """The type of what map_fn's function gives: a structure of dtypes, and shapes where they are known."""

    def __init__(self, signature: Any, shown: Any) -> None:
        self.structure = nesting.map_structure(_leaf, signature)
        self.shown = shown  # the same structure with what the caller gave
        self.leaves: list[_Leaf | RaggedLeaf | SparseLeaf] = nesting.flatten(self.structure)
        self.ragged: list[int] = []  # which of the flat tensors differ in size from element to element
        n = 0
        for leaf in self.leaves:
            self.ragged += range(n, n + leaf.uneven)
            n += leaf.n

    def flat(self, result: object) -> list[Any]:
        """Return the tensors of one result. Raises ValueError or TypeError where they do not fit."""
        nesting.assert_same_structure(self.shown, result)
        leaves = zip(self.leaves, nesting.flatten(result), strict=True)
        return [tensor for leaf, value in leaves for tensor in leaf.parts(value)]

    def of_rows(self, rows: Sequence[Sequence[Any]], infer_shape: bool) -> Any:
        """Return the result of all elements from the flat tensors of each, which `stacked` checks."""
        found, at = [], 0
        for leaf in self.leaves:
            own = [row[at : at + leaf.n] for row in rows]
            at += leaf.n
            if isinstance(leaf, _Leaf):
                found.append(leaf.stacked([row[0] for row in own], infer_shape))
            else:
                found.append(leaf.of_rows(own))
        return nesting.pack_sequence_as(self.structure, found)

    def of_loop(self, stacks: Sequence[Any]) -> Any:
        """Return the result of all elements from what a loop gave."""
        found, at = [], 0
        for leaf in self.leaves:
            own = stacks[at : at + leaf.n]
            at += leaf.n
            found.append(own[0] if isinstance(leaf, _Leaf) else leaf.of_loop(own))
        return nesting.pack_sequence_as(self.structure, found)


def _leaf(given: object) -> _Leaf | RaggedLeaf | SparseLeaf:
    if isinstance(given, SparseTensorSpec):
        return SparseLeaf(given)
    return RaggedLeaf(given) if isinstance(given, RaggedTensorSpec) else _Leaf(given)


class _Leaf:
    n, uneven = 1, 0

    def parts(self, value: object) -> list[Any]:
        """Return the tensor of one result, as `take` does."""
        return [self.take(value)]

    def __init__(self, given: Any) -> None:
        if isinstance(given, TensorSpec):
            self.dtype: DType = given.dtype
            self.shape: TensorShape = given.shape
        elif isinstance(given, TypeSpec):
            raise NotImplementedError(f"map_fn: results of type {given!r} are not built yet: return their tensors")
        else:
            self.dtype = as_dtype(given)
            self.shape = shape_of(None)

    def take(self, value: object) -> Any:
        """Return `value` as a tensor. Raises InvalidArgumentError for another dtype, ValueError for another shape."""
        tensor = value if isinstance(value, Tensor) else convert(value, None if hasattr(value, "dtype") else self.dtype)
        if tensor.dtype is not self.dtype:
            raise invalid(
                f"map_fn: the result was to be {self.dtype.name} (fn_output_signature), and fn gave a tensor of dtype "
                f"{tensor.dtype.name}"
            )
        if not self.shape.is_compatible_with(tensor.shape):
            raise ValueError(f"Incompatible shape for value ({tensor.shape}), expected ({self.shape})")
        return tensor

    def stacked(self, rows: Sequence[Any], infer_shape: bool) -> Any:
        """Return the rows as one tensor; without rows, an empty one.

        Raises where shapes differ: ValueError, and without `infer_shape` InvalidArgumentError.
        """
        if not rows:
            dims = self.shape.as_list() if self.shape.rank else []
            return public_function("zeros")([0, *[n or 0 for n in dims]], self.dtype)
        for tensor in rows:
            if infer_shape and tensor.shape != rows[0].shape:
                raise ValueError(f"Incompatible shape for value ({tensor.shape}), expected ({rows[0].shape})")
        return stack(list(rows))


def map_fn(
    fn: Callable[[Any], Any],
    elems: object,
    dtype: object = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: object = None,
) -> Any:
    """Apply `fn` to each element of `elems` along the first axis, and stack the results. t[n, *s] -> u[n, *r].

    `elems` may be a structure of tensors with the same n: fn gets one element in that structure. `fn_output_signature`
    (before: `dtype`) says the structure and dtypes of fn's result where they are not those of elems: dtypes or
    TensorSpecs, and RaggedTensorSpecs and SparseTensorSpecs where results differ in size; all others have one shape.
    elems may be RaggedTensors and SparseTensors, of which fn gets rows, and BatchableExtensionTypes.
    `parallel_iterations` and `swap_memory` change nothing.
    Raises TypeError or ValueError for a result of another structure, ValueError for scalars, n that differ and shapes
    that differ (in eager mode without `infer_shape`: InvalidArgumentError), InvalidArgumentError for another dtype.
    Source: tf.map_fn.
    """
    _checked(fn, "map_fn")
    wanted = fn_output_signature if fn_output_signature is not None else dtype
    if has_extensions(elems) or has_extensions(wanted):
        wanted = nesting.map_structure(_row_spec, elems) if wanted is None else wanted
        inner = Encodings(fn, elems, wanted)
        signed = {"infer_shape": infer_shape, "back_prop": back_prop, "fn_output_signature": inner.signature}
        return inner.packed(map_fn(inner, inner.elems, **signed))
    elements = _elements(elems)
    signature = _Signature(
        nesting.map_structure(_row_spec, elems) if wanted is None else wanted, elems if wanted is None else wanted
    )

    def applied(element: object) -> list[Any]:
        flat = signature.flat(fn(element))
        return flat if back_prop else [public_function("stop_gradient")(tensor) for tensor in flat]

    if current_trace() is None:
        return signature.of_rows([applied(elements.eager(i)) for i in range(elements.static or 0)], infer_shape)
    _, stacks = stacked_loop(elements.n, lambda i: ((), applied(elements.at(i))), (), "map", signature.ragged)
    return signature.of_loop(stacks)


def _is_composite(leaf: object) -> bool:
    """Return whether no one tensor can stand for `leaf`: a RaggedTensor or SparseTensor."""
    return class_has(leaf, "__fg_bind__")


def _elements(elems: object) -> Any:
    if not any(_is_composite(leaf) for leaf in nesting.flatten(elems)):
        return _Elements(elems, "map_fn")
    from fastgraph.composites.map_over_rows import CompositeElements

    return CompositeElements(elems, "map_fn")


def _row_spec(leaf: object) -> Any:
    """Return the type that fn gives where nothing is said: that of what it gets."""
    spec = getattr(leaf, "_type_spec", None)
    if isinstance(spec, ExtensionTypeSpec):
        return unbatched_spec(spec)
    if not _is_composite(leaf):
        return as_tensor(leaf).dtype
    from fastgraph.composites.map_over_rows import row_spec

    return row_spec(leaf)


# ---- scan, foldl, foldr ---------------------------------------------------------------------------------------------


class _Fold:
    """One scan or fold: the elements, where to begin, and the accumulator's structure."""

    def __init__(self, caller: str, fn: Any, elems: Any, initializer: Any, reverse: bool) -> None:
        _checked(fn, caller)
        self.caller = caller
        self.fn = fn
        self.elements = _Elements(elems, caller)
        self.reverse = reverse
        self.given = initializer is not None
        if not self.given and self.elements.static == 0:
            raise invalid(f"{caller}: there are no elements, and no initializer to begin with")
        self.structure = initializer if self.given else self.elements.structure
        self.start = [as_tensor(leaf) for leaf in nesting.flatten(initializer)] if self.given else []

    def step(self, accumulator: Sequence[Any], element: object) -> list[Any]:
        """The next accumulator. Raises TypeError or ValueError for another structure or dtype."""
        result = self.fn(nesting.pack_sequence_as(self.structure, list(accumulator)), element)
        nesting.assert_same_structure(self.structure, result)
        flat = []
        for before, leaf in zip(accumulator, nesting.flatten(result), strict=True):
            known = before.dtype if not hasattr(leaf, "dtype") else None
            tensor = leaf if isinstance(leaf, Tensor) else convert(leaf, known)
            if tensor.dtype is not before.dtype:
                raise refused(f"{self.caller}: the accumulator is {before.dtype.name}, and fn gave {tensor.dtype.name}")
            flat.append(tensor)
        return flat

    def packed(self, leaves: Sequence[Any]) -> Any:
        """Return tensors in the accumulator's structure."""
        return nesting.pack_sequence_as(self.structure, list(leaves))

    def eager(self) -> list[list[Any]]:
        """The accumulators after each element, in the order in which they were computed."""
        n = self.elements.static or 0
        order = range(n - 1, -1, -1) if self.reverse else range(n)
        accumulator = self.start
        found: list[list[Any]] = []
        for i in order:
            element = self.elements.eager(i)
            accumulator = self.step(accumulator, element) if self.given or found else nesting.flatten(element)
            found.append(accumulator)
        return found

    def traced(self, *, rows: bool) -> tuple[list[Any], list[Any]]:
        """The last accumulator and, with `rows`, all of them, stacked in the order of the elements."""
        n = self.elements.n
        first = 0 if self.given else 1
        start = self.start
        if not self.given:
            start = nesting.flatten(self.elements.at(n - 1 if self.reverse else 0))

        def step(i: Tensor, *accumulator: object) -> tuple[Sequence[Any], Sequence[Any]]:
            at = n - 1 - first - i if self.reverse else i + first
            after = self.step(accumulator, self.elements.at(at))
            return after, [public_function("identity")(tensor) for tensor in after] if rows else ()

        last, stacks = stacked_loop(n - first, step, start, self.caller)
        if rows and not self.given:
            ones = [public_function("expand_dims")(one, 0) for one in start]

            def joined() -> list[Any]:
                return [public_function("concat")(pair, 0) for pair in zip(ones, stacks, strict=True)]

            if self.elements.static is None and not all(one.shape.is_fully_defined() for one in start):
                stacks = cond(n > 1, joined, lambda: ones)  # of no row the loop knows no extents
            else:
                stacks = joined()
        if self.reverse:
            stacks = [public_function("reverse")(tensor, [0]) for tensor in stacks]
        return last, stacks


def scan(
    fn: Callable[[Any, Any], Any],
    elems: object,
    initializer: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """The accumulators a = fn(a, element) after each element along the first axis, stacked. t[n, *s] -> u[n, *r].

    The first a is `initializer`, or the first element (then fn is called n - 1 times). With `reverse` the elements come
    last first; results stay at the places of their elements. Structures of tensors may be given; fn's result has the
    structure, dtypes and, with `infer_shape`, shapes of the accumulator. Raises TypeError or ValueError where it has
    not. Source: tf.scan.
    """
    fold = _Fold("scan", fn, elems, initializer, reverse)
    stop = public_function("stop_gradient")
    if current_trace() is not None:
        stacks = fold.traced(rows=True)[1]
        return fold.packed(stacks if back_prop else [stop(tensor) for tensor in stacks])
    rows = fold.eager()
    if not rows:
        empty = [public_function("zeros")([0, *start.shape.as_list()], start.dtype) for start in fold.start]
        return fold.packed(empty)
    for row in rows:
        for tensor, start in zip(row, fold.start or rows[0], strict=True):
            if infer_shape and tensor.shape != start.shape:  # else `stack` says what does not fit
                raise ValueError(f"Incompatible shape for value ({tensor.shape}), expected ({start.shape})")
    if reverse:
        rows.reverse()
    stacks = [stack(list(column)) for column in zip(*rows, strict=True)]
    return fold.packed(stacks if back_prop else [stop(tensor) for tensor in stacks])


def _folded(caller: str, fn: object, elems: object, initializer: object, back_prop: bool, reverse: bool) -> Any:
    fold = _Fold(caller, fn, elems, initializer, reverse)
    if current_trace() is not None:
        last = fold.traced(rows=False)[0]
    else:
        rows = fold.eager()
        last = rows[-1] if rows else fold.start
    return fold.packed(last if back_prop else [public_function("stop_gradient")(tensor) for tensor in last])


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: object,
    initializer: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last accumulator a = fn(a, element) over the elements along the first axis, the first one first.

    The first a is `initializer`, or the first element. Raises as `scan`, which gives all of them. Source: tf.foldl.
    """
    return _folded("foldl", fn, elems, initializer, back_prop, False)


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: object,
    initializer: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last accumulator a = fn(a, element) over the elements along the first axis, the last one first.

    The first a is `initializer`, or the last element. Raises as `scan`, which gives all of them. Source: tf.foldr.
    """
    return _folded("foldr", fn, elems, initializer, back_prop, True)


for _function in (map_fn, scan, foldl, foldr):
    register_public(_function, _function.__name__)
