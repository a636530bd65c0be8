"""Batching rules: what an op on one element becomes where its arguments hold many elements along a new first axis.

Rule: a rule is written in ops, so that its result is differentiated, traced and recorded as any other; what has no rule
raises NoRule, and is then applied to one element after the other. A family has one rule for all its ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.core.base.shapes import Aval
from fastgraph.core.tensor import Tensor, bind
from fastgraph.graph.ir import Node
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import add, cast, multiply
from fastgraph.ops.elementwise import select as select_p
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import expand_dims, reshape, shape, transpose
from fastgraph.ops.reduction import reduce_all, reduce_prod, reduce_sum


class NoRule(Exception):
    """Error of an op without a batching rule, or without one for these arguments."""


def sizes(aval: Aval, tensor: Tensor, *, batched: bool) -> list[Any]:
    """The sizes of one element of `tensor`: ints, and where they are not known i32[]. Raises NoRule for no rank."""
    if aval.shape is None:
        raise NoRule
    if None not in aval.shape:
        return list(aval.shape)
    held = shape(tensor)
    return [held[i + batched] if n is None else n for i, n in enumerate(aval.shape)]


def spread(tensor: Tensor, aval: Aval, n: Tensor | int) -> Any:
    """n times the same element, along a new first axis. Raises NoRule for a tensor of unknown rank."""
    return broadcast_to(expand_dims(tensor, 0), [n, *sizes(aval, tensor, batched=False)])


def moved(tensor: Tensor, source: int, target: int) -> Any:
    """The tensor with one axis at another place."""
    rank = len(tensor.shape)
    order = [i for i in range(rank) if i != source]
    order.insert(target, source)
    return tensor if order == list(range(rank)) else transpose(tensor, order)


class Application:
    """A node and its arguments: where `batched` says so, n elements along the first axis."""

    def __init__(self, node: Node, args: Sequence[Any], batched: Sequence[bool], n: Tensor | int) -> None:
        self.node = node
        self.args = list(args)
        self.batched = list(batched)
        self.n = n
        self.attrs = node.attrs

    def rank(self, i: int) -> int:
        """The rank of one element of argument i. Raises NoRule if it is not known."""
        dims = self.node.inputs[i].aval.shape
        if dims is None:
            raise NoRule
        return len(dims)

    def sizes(self, i: int) -> list[Any]:
        """The sizes of one element of argument i."""
        return sizes(self.node.inputs[i].aval, self.args[i], batched=self.batched[i])

    def full(self, i: int) -> Any:
        """Argument i with n elements, the same ones if it is not batched."""
        return self.args[i] if self.batched[i] else spread(self.args[i], self.node.inputs[i].aval, self.n)

    def fixed(self, *positions: int) -> None:
        """Raise NoRule if one of these arguments is batched."""
        if any(self.batched[i] for i in positions):
            raise NoRule

    def apply(self, *args: object, **attrs: object) -> Any:
        """The op itself, on other arguments and attributes."""
        return bind(self.node.op, args, {**self.attrs, **attrs} if attrs else self.attrs)

    def aligned(self, rank: int, i: int) -> Any:
        """Argument i so that its element has `rank`: ones between the first axis and the others."""
        missing = rank - self.rank(i)
        if not self.batched[i] or missing == 0:
            return self.args[i]
        return reshape(self.args[i], [self.n, *[1] * missing, *self.sizes(i)])

    def merged(self, i: int) -> Any:
        """Argument i with its elements' own first axis and that of the elements as one."""
        first, *rest = self.sizes(i)
        return reshape(self.full(i), [_times(self.n, first), *rest])

    def parted(self, tensor: Tensor, first: Tensor | int) -> Any:
        """Undo `merged` for a result whose elements have `first` rows."""
        rest = [n if n is not None else shape(tensor)[i + 1] for i, n in enumerate(tensor.shape.as_list()[1:])]
        return reshape(tensor, [self.n, first, *rest])


def _times(a: Tensor | int, b: Tensor | int) -> Any:
    return a * b if isinstance(a, int) and isinstance(b, int) else multiply(a, b)


Rule = Callable[[Application], Any]
rules: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the batching rule of the ops with these names."""

    def register(function: Rule) -> Rule:
        for name in names:
            rules[name] = function
        return function

    return register


def _shifted(axis: int, rank: int) -> int:
    return axis % rank + 1


# ---- families -------------------------------------------------------------------------------------------------------


def elementwise(a: Application) -> Any:
    """The elements' axes are aligned; the first axis then broadcasts as the others do."""
    rank = max(a.rank(i) for i in range(len(a.args)))
    return a.apply(*[a.aligned(rank, i) for i in range(len(a.args))])


def reduction(a: Application) -> Any:
    """All axes are one further on."""
    rank = a.rank(0)
    axes = range(rank) if a.attrs["axes"] is None else a.attrs["axes"]
    return a.apply(a.args[0], axes=tuple(_shifted(i, rank) for i in axes))


FAMILIES: dict[str, Rule] = {"elementwise": elementwise, "reduction": reduction}


@rule(
    "softmax", "log_softmax", "pick_labels", "sparse_cross_entropy", "cross_entropy", "argsort", "sort", "top_k",
    "matrix_band_part", "matrix_set_diag", "string_lower", "string_upper", "string_strip", "string_length",
    "as_string", "to_number", "hash_bucket", "hash_bucket_fast", "hash_bucket_strong", "add_n", "bitcast",
    "check_numerics",
    "check_numerics_v2", "swap_last", "inv", "det", "slogdet", "solve", "tridiagonal_solve", "cholesky", "lu", "qr",
    "svd", "singular_values", "eigh", "eigvalsh", "eig", "eigvals", "pinv", "expm", "sqrtm", "logm", "dct",
    "isotonic", "isotonic_grad",
)  # fmt: skip
def _leading(a: Application) -> Any:
    """Ops whose leading axes are batches already."""
    return a.apply(*[a.full(i) for i in range(len(a.args))])


rule("triangular_solve", "banded_triangular_solve")(elementwise)  # which broadcast what is before their matrices


@rule("fft", "rfft", "irfft")
def _transform(a: Application) -> Any:
    """Axes counted from the first are one further on; the length is that of all elements."""
    a.fixed(*range(1, len(a.args)))
    axes = tuple(axis if axis < 0 else axis + 1 for axis in a.attrs["axes"])
    return a.apply(*a.args, axes=axes)


@rule("matrix_diag", "matrix_diag_part")
def _padded_matrix(a: Application) -> Any:
    a.fixed(1)
    return a.apply(*a.args)


# ---- movement -------------------------------------------------------------------------------------------------------


@rule("reshape")
def _reshape(a: Application) -> Any:
    known = a.node.outputs[0].aval.shape
    dims: Any = known if known is not None and None not in known else a.attrs["shape"]
    if isinstance(a.n, int) or -1 not in dims:
        return reshape(a.args[0], [a.n, *dims])
    return reshape(a.args[0], concat([shape(a.args[0])[:1], _vector(dims)], 0))


def _vector(dims: Sequence[Any]) -> Any:
    return as_tensor(list(dims), "int32")


def _with_n(a: Application, vector: Tensor) -> Any:
    """A vector of sizes with n before it."""
    return concat([cast(reshape(a.n, [1]), vector.dtype), vector], 0)


@rule("reshape_dynamic", "ensure_extents")
def _shape_as_input(a: Application) -> Any:
    a.fixed(1)
    return a.apply(a.args[0], _with_n(a, a.args[1]))


@rule("broadcast_to")
def _broadcast_to(a: Application) -> Any:
    return broadcast_to(a.aligned(len(a.attrs["shape"]), 0), [a.n, *a.attrs["shape"]])


@rule("broadcast_to_dynamic")
def _broadcast_to_dynamic(a: Application) -> Any:
    a.fixed(1)
    dims = a.node.outputs[0].aval.shape
    if dims is None:
        raise NoRule
    return broadcast_to(a.aligned(len(dims), 0), _with_n(a, a.args[1]))


@rule("fill", "fill_dynamic")
def _fill(a: Application) -> Any:
    dims = a.node.outputs[0].aval.shape
    if dims is None or any(a.batched[1:]):
        raise NoRule
    value = reshape(a.args[0], [a.n, *[1] * len(dims)])
    return broadcast_to(value, [a.n, *a.attrs["shape"]] if len(a.args) == 1 else _with_n(a, a.args[1]))


@rule("sum_to_like", "sum_to_shape")
def _sum_to(a: Application) -> Any:
    """dy summed to the shape of x, of which only the shape counts."""
    dims, wanted = a.node.inputs[0].aval.shape, a.node.outputs[0].aval.shape
    if not a.batched[0] or dims is None or wanted is None or None in wanted or None in dims:
        raise NoRule
    extra = len(dims) - len(wanted)
    axes = [i + 1 for i, n in enumerate(dims) if i < extra or (wanted[i - extra] == 1 and n != 1)]
    summed = reduce_sum(a.args[0], axes) if axes else a.args[0]
    return reshape(summed, [a.n, *wanted])


@rule("transpose")
def _transpose(a: Application) -> Any:
    perm = a.attrs["perm"]
    return a.apply(a.args[0], perm=(0, *[_shifted(p, len(perm)) for p in perm]))


@rule("expand_dims", "squeeze", "ensure_shape")
def _sizes_of_one(a: Application) -> Any:
    """Sizes of 1 come and go, or nothing does."""
    out = a.node.outputs[0].aval.shape
    if a.node.op.name == "ensure_shape":
        return a.apply(a.args[0], shape=None if a.attrs["shape"] is None else (None, *a.attrs["shape"]))
    if a.node.op.name == "expand_dims":
        rank = a.rank(0) + len(a.attrs["axes"])
        return a.apply(a.args[0], axes=tuple(_shifted(i, rank) for i in a.attrs["axes"]))
    if a.node.op.name == "squeeze":
        rank = a.rank(0)
        if a.attrs["axes"]:
            return a.apply(a.args[0], axes=tuple(_shifted(i, rank) for i in a.attrs["axes"]))
        if out is not None and None not in out:
            return reshape(a.args[0], [a.n, *out])
    raise NoRule


def _blocks(a: Application, size: Sequence[int | None] | None) -> Any:
    """Blocks of one size that begin at another place in each element: rows by number, one axis after the other."""
    if size is None or any(n is None or n < 0 for n in size):
        raise NoRule
    found = a.full(0)
    for i, n in enumerate(size):
        places = a.args[1][:, i : i + 1] + range_(cast(n, a.args[1].dtype))
        found = gather(found, places, axis=i + 1, batch_dims=1)
    return found


@rule("slice")
def _slice(a: Application) -> Any:
    if a.batched[1]:
        return _blocks(a, a.attrs["size"])
    begin = concat([_zero(a.args[1]), a.args[1]], 0)
    return a.apply(a.args[0], begin, size=(-1, *a.attrs["size"]))


def _zero(vector: Tensor) -> Any:
    return cast(_vector([0]), vector.dtype)


@rule("slice_dynamic")
def _slice_dynamic(a: Application) -> Any:
    a.fixed(2)
    if a.batched[1]:
        return _blocks(a, a.node.inputs[2].aval.numbers)
    return a.apply(a.args[0], concat([_zero(a.args[1]), a.args[1]], 0), concat([_zero(a.args[2]) - 1, a.args[2]], 0))


@rule("slice_grad")
def _slice_grad(a: Application) -> Any:
    a.fixed(1, 2)
    return a.apply(a.args[0], concat([_zero(a.args[1]), a.args[1]], 0), _with_n(a, a.args[2]))


_WHOLE = ("s", None, None, None)


@rule("strided_slice", "strided_slice_dynamic")
def _strided_slice(a: Application) -> Any:
    a.fixed(*range(1, len(a.args)))
    return a.apply(*a.args, spec=(_WHOLE, *a.attrs["spec"]))


@rule("strided_slice_grad", "strided_slice_add")
def _strided_slice_grad(a: Application) -> Any:
    a.fixed(*range(2, len(a.args)))
    return a.apply(a.full(0), a.full(1), *a.args[2:], spec=(_WHOLE, *a.attrs["spec"]))


@rule("one_hot", "one_hot_dynamic")
def _one_hot(a: Application) -> Any:
    a.fixed(*range(1, len(a.args)))
    axis = a.attrs["axis"]
    return a.apply(*a.args, axis=axis if axis < 0 else axis + 1)


@rule("concat", "stack")
def _joined(a: Application) -> Any:
    axis = a.attrs["axis"]
    return a.apply(*[a.full(i) for i in range(len(a.args))], axis=axis if axis < 0 else axis + 1)


@rule("split", "unstack", "cumsum", "cumprod", "cumulative_logsumexp", "argmax", "argmin")
def _along_axis(a: Application) -> Any:
    return a.apply(a.args[0], axis=_shifted(a.attrs["axis"], a.rank(0)))


@rule("reverse")
def _reverse(a: Application) -> Any:
    return a.apply(a.args[0], axes=tuple(_shifted(i, a.rank(0)) for i in a.attrs["axes"]))


@rule("roll")
def _roll(a: Application) -> Any:
    return a.apply(a.args[0], axes=tuple(i + 1 for i in a.attrs["axes"]))


@rule("pad", "mirror_pad")
def _pad(a: Application) -> Any:
    a.fixed(*range(1, len(a.args)))
    return a.apply(*a.args, paddings=((0, 0), *a.attrs["paddings"]))


@rule("tile")
def _tile(a: Application) -> Any:
    return a.apply(a.args[0], multiples=(1, *a.attrs["multiples"]))


# ---- sizes: the same for every element -------------------------------------------------------------------------------


class Unbatched:
    """A result that is the same for every element."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


@rule("shape")
def _shape(a: Application) -> Any:
    return Unbatched(shape(a.args[0], out_type=a.attrs["out_type"])[1:])


@rule("size", "rank")
def _size(a: Application) -> Any:
    dims = a.node.inputs[0].aval.shape
    if dims is None:
        raise NoRule
    if a.node.op.name == "rank":
        return Unbatched(cast(len(dims), a.node.outputs[0].aval.dtype))
    return Unbatched(cast(reduce_prod(shape(a.args[0])[1:]), a.attrs["out_type"]))


@rule("search_sorted")
def _search_sorted(a: Application) -> Any:
    """The rows of all elements below each other."""
    rows, values = a.full(0), a.full(1)
    found = a.apply(*[reshape(each, [-1, *a.sizes(i)[1:]]) for i, each in enumerate((rows, values))])
    return reshape(found, [a.n, *a.sizes(1)])


# ---- gather and scatter ---------------------------------------------------------------------------------------------


def _shared_axes(a: Application, i: int) -> int:
    """The number of leading axes that indices share with what they choose from, which is theirs or less."""
    n: int = a.attrs["batch_dims"]
    return n + a.rank(i) if n < 0 else n


@rule("gather")
def _gather(a: Application) -> Any:
    axis, batch_dims = a.attrs["axis"] % a.rank(0), _shared_axes(a, 1)
    if not a.batched[1] and batch_dims == 0:
        return a.apply(a.args[0], a.args[1], axis=axis + 1, batch_dims=0)
    if not a.batched[0] and batch_dims == 0:
        return moved(a.apply(a.args[0], a.args[1], axis=axis, batch_dims=0), axis, 0)
    return a.apply(a.full(0), a.full(1), axis=axis + 1, batch_dims=batch_dims + 1)


@rule("gather_grad")
def _gather_grad(a: Application) -> Any:
    a.fixed(2)
    rank = a.node.outputs[0].aval.rank
    if rank is None:
        raise NoRule
    axis, batch_dims = a.attrs["axis"] % rank, _shared_axes(a, 1)
    return a.apply(a.full(0), a.full(1), _with_n(a, a.args[2]), axis=axis + 1, batch_dims=batch_dims + 1)


@rule("gather_add")
def _gather_add(a: Application) -> Any:
    rank = a.node.outputs[0].aval.rank
    if rank is None:
        raise NoRule
    axis, batch_dims = a.attrs["axis"] % rank, _shared_axes(a, 2)
    return a.apply(a.full(0), a.full(1), a.full(2), axis=axis + 1, batch_dims=batch_dims + 1)


@rule("list_get", "list_set", "list_begin")
def _list_element(a: Application) -> Any:
    """The same place of all lists: their rows come first."""
    a.fixed(*[i for i in range(1, len(a.args)) if i != 2 or a.node.op.name == "list_get"])
    rows = moved(a.full(0), 0, 1)
    if a.node.op.name == "list_get":
        return a.apply(rows, *a.args[1:])
    return moved(a.apply(rows, a.args[1], a.full(2), *a.args[3:]), 1, 0)


def _numbered(a: Application, i: int) -> Any:
    """Index vectors, with the number of their element before them."""
    indices = a.full(i)
    dims = a.sizes(i)
    number = reshape(cast(range_(a.n), indices.dtype), [a.n, *[1] * len(dims)])
    return concat([broadcast_to(number, [a.n, *dims[:-1], 1]), indices], -1)


@rule("gather_nd")
def _gather_nd(a: Application) -> Any:
    if not a.batched[0]:
        return a.apply(*a.args)
    return a.apply(a.args[0], _numbered(a, 1))


@rule("scatter_nd")
def _scatter_nd(a: Application) -> Any:
    a.fixed(2)
    return a.apply(_numbered(a, 0), a.full(1), _with_n(a, a.args[2]))


@rule(
    "tensor_scatter_update", "tensor_scatter_add", "tensor_scatter_sub", "tensor_scatter_max", "tensor_scatter_min",
    "list_scatter",
)  # fmt: skip
def _tensor_scatter(a: Application) -> Any:
    return a.apply(a.full(0), _numbered(a, 1), a.full(2))


@rule(
    "unsorted_segment_sum", "unsorted_segment_prod", "unsorted_segment_max", "unsorted_segment_min",
    "unsorted_segment_sum_dynamic", "unsorted_segment_prod_dynamic", "unsorted_segment_max_dynamic",
    "unsorted_segment_min_dynamic", "segment_sum", "segment_mean", "segment_prod", "segment_max", "segment_min",
)  # fmt: skip
def _segments(a: Application) -> Any:
    """Treat the elements as further columns where the ids are the same for all; else each gets ids of its own."""
    a.fixed(*range(2, len(a.args)))
    if not a.batched[1]:
        rank = a.rank(1)
        return moved(a.apply(moved(a.args[0], 0, rank), *a.args[1:]), 1, 0)
    if "num_segments" not in a.attrs:
        raise NoRule
    number = a.attrs["num_segments"]
    ids, dims = a.args[1], a.sizes(1)
    first = reshape(cast(range_(a.n), ids.dtype) * number, [a.n, *[1] * len(dims)])
    own = select_p(ids >= 0, add(ids, first), ids)
    if not isinstance(a.n, int):
        raise NoRule
    flat = a.apply(a.full(0), own, num_segments=number * a.n)
    return a.parted(flat, number)


# ---- contractions and windows ---------------------------------------------------------------------------------------


@rule("matmul")
def _matmul(a: Application) -> Any:
    """A batch of matrices; with one right factor for all, one product of all rows."""
    rank = max(a.rank(0), a.rank(1))
    if a.rank(0) == a.rank(1) == 2 and not a.batched[1] and not a.attrs["transpose_a"]:
        rows, inner = a.sizes(0)
        product = a.apply(reshape(a.args[0], [_times(a.n, rows), inner]), a.args[1])
        columns = product.shape[-1] if product.shape[-1] is not None else shape(product)[-1]
        return reshape(product, [a.n, rows, columns])
    return a.apply(a.aligned(rank, 0), a.aligned(rank, 1))


@rule("conv2d", "conv3d", "conv2d_bias", "conv3d_bias")
def _convolution(a: Application) -> Any:
    a.fixed(*range(1, len(a.args)))
    return a.parted(a.apply(a.merged(0), *a.args[1:]), a.sizes(0)[0])


@rule("conv2d_input_grad", "conv3d_input_grad")
def _convolution_input(a: Application) -> Any:
    a.fixed(0, 1)
    first = a.sizes(2)[0]
    return a.parted(a.apply(_scaled(a, a.args[0]), a.args[1], a.merged(2)), first)


@rule("avg_pool_grad")
def _avg_pool_grad(a: Application) -> Any:
    a.fixed(0)
    return a.parted(a.apply(_scaled(a, a.args[0]), a.merged(1)), a.sizes(1)[0])


def _scaled(a: Application, vector: Tensor) -> Any:
    """A vector of sizes whose first is n times as large."""
    return concat([vector[:1] * cast(a.n, vector.dtype), vector[1:]], 0)


@rule("max_pool", "avg_pool", "max_pool_grad", "max_pool_pick")
def _pool(a: Application) -> Any:
    return a.parted(a.apply(*[a.merged(i) for i in range(len(a.args))]), a.sizes(0)[0])


# ---- checks ---------------------------------------------------------------------------------------------------------


@rule("assert")
def _assert(a: Application) -> Any:
    return a.apply(reduce_all(a.args[0]) if a.batched[0] else a.args[0], *a.args[1:])
