"""A bench for kernels: loop nests over ndarrays, run as native code and, from the same source, as plain Python."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from scipy import special

from fastgraph.compiler.cpu import emit
from fastgraph.compiler.cpu.transpose_tiles import SIDES
from fastgraph.compiler.nest.loop_nest import Builder, LoopNest, Operand, Store
from fastgraph.compiler.nest.scalar_ir import Index, Scalar, Table
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.core import registry
from fastgraph.core.base.expr import result_dtype
from fastgraph.core.native import philox

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
#: The types that kernels call by name.
TYPES = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
    "complex128",
)  # fmt: skip


def dtype_name(array: np.ndarray) -> str:
    return str(array.dtype)


class Bench:
    """Inputs and outputs by name, and the loop nest between them."""

    def __init__(self, **inputs: np.ndarray) -> None:
        self.table = Table()
        self.arrays: dict[str, np.ndarray] = dict(inputs)
        self.stores: list[Store] = []
        self.dims: Index = ()
        self.builder = Builder(self.table, [self.operand(name) for name in inputs], [], key="op")

    def shape(self, name: str) -> tuple[Scalar, ...]:
        return tuple(self.table.extent(name, axis, n) for axis, n in enumerate(self.arrays[name].shape))

    def operand(self, name: str) -> Operand:
        dtype, shape = dtype_name(self.arrays[name]), self.shape(name)
        return Operand(dtype, shape, lambda index: self.table.load(name, dtype, index, shape))

    def output(self, name: str, shape: Sequence[int], dtype: Any) -> tuple[Scalar, ...]:
        self.arrays[name] = np.zeros(shape, dtype)
        return self.shape(name)

    def variables(self, shape: Sequence[Scalar]) -> Index:
        return tuple(self.table.var(n) if n.op != "const" else self.table.const(0, "int64") for n in shape)

    def store(self, name: str, element: Callable[[Index], Scalar], shared: int | None = None) -> None:
        """Write `element(index)`; the first `shared` axes use the common loops (None: all, and these make the loops)."""
        shape = self.shape(name)
        index = self.variables(shape)
        if shared is None:
            if not self.dims:
                self.dims = tuple(v for v in index if v.op == "var")
            index = tuple(self.common(shape))
            own: Index = ()
        else:
            common = list(self.common(shape[:shared]))
            own = tuple(v for v in index[shared:] if v.op == "var")
            index = (*common, *index[shared:])
        scalar = self.table.cast(element(index), dtype_name(self.arrays[name]))
        self.stores.append(Store(name, dtype_name(self.arrays[name]), index, shape, own, scalar))

    def common(self, shape: Sequence[Scalar]) -> list[Scalar]:
        fresh = iter(self.dims)
        return [next(fresh) if n.op != "const" else self.table.const(0, "int64") for n in shape]

    def nest(self, **in_place: str) -> LoopNest:
        shapes = {name: self.shape(name) for name in self.arrays}
        return LoopNest(self.dims, self.stores, shapes, dict(in_place))

    def run(self, *, plain: bool = False, cuts: Sequence[int] = (), **in_place: str) -> int:
        """Emit and run over the whole extent, cut at `cuts`; the first failing status."""
        emitted = emit.emit(self.nest(**in_place))
        sizes = [self.value(s) for s in emitted.sizes]
        extent = 1 if emitted.extent is None else self.value(emitted.extent)
        buffers = [self.arrays[str(key)] for key in emitted.buffers]
        marks = [0, *sorted(min(c, extent) for c in cuts), extent]
        call = run_plain if plain else run_native
        for begin, end in itertools.pairwise(marks):
            status = call(emitted.spec, buffers, sizes, begin, end)
            if status:
                return status
        return 0

    def value(self, size: Scalar) -> int:
        if size.op == "extent":
            return int(self.arrays[size.attr[0]].shape[size.attr[1]])
        return int(size.attr) if size.op in ("param", "const") else math.prod(self.value(a) for a in size.args)


def run_plain(spec: KernelSpec, buffers: Sequence[np.ndarray], sizes: Sequence[int], begin: int, end: int) -> int:
    """The kernel's source as plain Python on NumPy scalars."""
    views = [_raw(b) for b in buffers]
    assert tuple(str(v.dtype) for v in views) == spec.buffer_types
    namespace: dict[str, Any] = {"inf": math.inf, "nan": math.nan, **{n: plain_function(n) for n in spec.imports}}
    namespace |= {name: getattr(np, name) for name in TYPES}
    exec(spec.source, namespace)
    with np.errstate(all="ignore"):
        return int(namespace["kernel"](views, list(sizes), begin, end))


class _Checked:
    """An array that refuses indices outside it and values of another type."""

    def __init__(self, flat: np.ndarray) -> None:
        self.flat, self.dtype = flat, flat.dtype

    def __getitem__(self, i: int) -> Any:
        assert 0 <= i < self.flat.size, f"read of element {i} of {self.flat.size}"
        return self.flat[i]

    def __setitem__(self, i: int, value: Any) -> None:
        assert 0 <= i < self.flat.size, f"write of element {i} of {self.flat.size}"
        assert np.result_type(value) == self.dtype, f"{type(value)} into {self.dtype}"
        self.flat[i] = value


def _raw(array: np.ndarray) -> _Checked:
    assert array.flags.c_contiguous
    kind = {"bool": "uint8", "float16": "uint16", "bfloat16": "uint16"}.get(str(array.dtype))
    return _Checked((array.view(kind) if kind else array).reshape(-1))


#: SciPy's functions of positive numbers, with what TensorFlow gives for others.
POSITIVE: dict[str, Callable[[Any], Any]] = {
    **{
        f"bessel_{name}": lambda x, name=name: np.where(x <= 0, np.inf, getattr(special, name)(x))
        for name in ("k0", "k0e", "k1", "k1e")
    },
    "expint": lambda x: np.where((x < 0) | np.isinf(x), np.nan, special.expi(x)),
}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "softplus": lambda x: np.logaddexp(x, 0),
    "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv, "ndtri": special.ndtri,
    **POSITIVE,
    "bessel_i0e": special.i0e, "bessel_i1e": special.i1e, "igamma": special.gammainc, "igammac": special.gammaincc,
    "igamma_grad_a": lambda a, x: registry.get("igamma_grad_a").body(np.asarray(a), np.asarray(x)),
    "lgamma": special.gammaln, "digamma": special.digamma,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "round": np.rint,
    "min": np.minimum,
    "tile": np.minimum,
    "max": np.maximum,
    "pow": np.power,
    "floordiv": lambda a, b: np.floor(a / b) if a.dtype.kind == "f" else (a // b if b else a.dtype.type(0)),
    "floormod": lambda a, b: np.mod(a, b) if a.dtype.kind == "f" or b else a.dtype.type(0),
    "truncatediv": lambda a, b: a.dtype.type(int(abs(int(a)) // abs(int(b))) * (1 if (a < 0) == (b < 0) else -1) if b else 0),
    "truncatemod": np.fmod,
    "betainc": special.betainc, "zeta": special.zeta, "polygamma": lambda n, x: special.polygamma(int(n), x),
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "lshift": np.left_shift, "rshift": np.right_shift,
    "fold_add": np.add, "fold_mul": np.multiply, "muladd": lambda a, b, c: a * b + c,
    "eq": np.equal, "ne": np.not_equal, "select": lambda c, a, b: a if c else b,
    "complex": lambda real, imag: np.array([real, imag]).view("complex64" if real.itemsize == 4 else "complex128")[0],
}  # fmt: skip


def plain_function(name: str) -> Callable[..., Any]:
    """The NumPy meaning of a function that kernels call: exp_float32, fold_add_float64, cast_float32_int8, ..."""
    halves = {"float16": np.dtype("float16"), "bfloat16": BFLOAT16}
    if name.startswith("cast_"):
        _, source, target = name.split("_")

        def cast(x: Any) -> Any:
            value = np.asarray(x).view(halves[source]) if source in halves else np.asarray(x)
            result = value.astype(halves.get(target, target))
            return (result.view(np.uint16) if target in halves else result)[()]

        return cast
    if name.startswith(("philox_", "random_")):
        return _random(name)
    if name == "in_order":
        return lambda n: n < 16
    if name == "product":
        return _product
    op, dtype = name.rsplit("_", 1)
    if op in ("rank_max", "rank_min", "ranked"):
        return _rank(op, np.dtype(dtype))
    if op == "local":
        return lambda n: _Checked(np.full(n, np.nan if np.dtype(dtype).kind in "fc" else -1).astype(dtype))
    if op == "pointer":
        return _Place
    if op == "block":
        return _block
    if op == "few":
        return _few
    if op == "apart":
        return _apart
    if op == "apart_gradient":
        return _apart_gradient
    if name == "turned_block":
        return _turned_block
    function = _FUNCTIONS.get(op) or getattr(np, op)
    kind, made = getattr(np, dtype), getattr(np, result_dtype(op, dtype).replace("bool", "bool_"))

    def call(*args: Any) -> Any:
        result = function(*[kind(a) for a in args])
        return result if isinstance(result, np.bool_) else made(result)

    return call


def _product(function: int, described: int, a: Any, b: Any, c: Any, units: int) -> None:
    """What `intrinsics.product` does: a call of the executor's function."""
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 2)(int(function))
    call(int(described), *[each.ctypes.data for each in (a, b, c)], 0, int(units))


def _random(name: str) -> Callable[..., Any]:
    """A function of `vecmath.RANDOM`."""
    if name.startswith("philox_word"):

        def word(low: Any, high: Any, key: Any, block: Any) -> Any:
            counter = (int(low) % 2**64 + (int(high) % 2**64 << 64) + int(block)) % 2**128
            state = np.array([counter % 2**64, counter >> 64, int(key) % 2**64], np.uint64).view(np.int64)
            return philox.words(state, 4)[int(name[-1])]

        return word
    if name == "random_gamma":

        def variate(low: Any, high: Any, key: Any, output: Any, alpha: Any) -> Any:
            state = np.array([int(n) % 2**64 for n in (low, high, key)], np.uint64).view(np.int64)
            return philox.drawn("gamma", state, [np.array([alpha])], int(output) + 1)[-1, 0]

        return variate
    kind = name.rsplit("_", 1)[1]

    def unit(words: Sequence[Any]) -> float:
        if len(words) == 2:
            return float(((int(words[0]) & 0xFFFFF) << 32 | int(words[1])) / 2**52)
        bits = {"float16": 10, "bfloat16": 7}.get(kind, 23)
        return float((int(words[0]) & ((1 << bits) - 1)) / 2**bits)

    def normal(turn: Callable[[float], float], *words: Any) -> Any:
        half = len(words) // 2
        radius = math.sqrt(-2 * math.log(max(unit(words[:half]), 1e-7)))
        return getattr(np, kind)(radius * turn(2 * math.pi * unit(words[half:])))

    if name == "random_pair":
        return lambda a, b: np.uint64(int(a) | int(b) << 32)
    if "unit" in name:
        return lambda *words: (np.float64 if kind == "float64" else np.float32)(unit(words))
    return lambda *words: normal(math.sin if "sine" in name and "cosine" not in name else math.cos, *words)


class _Place:
    """An address: an array and a position in it, or so many numbers after another address."""

    def __init__(self, array: Any, at: Any) -> None:
        other = isinstance(array, _Place)
        self.array, self.at = (array.array, array.at + int(at)) if other else (array, int(at))


def _turned_block(local: Any, to: Any, width: int, source: Any, at: Any, step: Any) -> None:
    """What `transpose_intrinsics.turned_block` does, number by number."""
    side = SIDES[source.dtype.itemsize]
    for r, c in itertools.product(range(side), range(side)):
        local[int(to) + c * width + r] = source[int(at) + r * int(step) + c]


def _block(
    shape: tuple[int, ...],
    x: _Place,
    y: _Place,
    out: _Place,
    also: _Place,
    x_step: Any,
    out_step: Any,
    loops: tuple[Any, ...],
) -> None:
    """What `blocks_cpu.block_float32` does, number by number: it reads what that reads and nothing else."""
    n_p, n_v, lanes, tail, _, ending = shape
    n = (n_v - 1) * lanes + tail
    levels = [tuple(int(i) for i in loops[k : k + 3]) for k in range(0, len(loops), 3)]
    for p in range(n_p):
        totals = [np.float32(0)] * n
        for turn in itertools.product(*[range(count) for count, _, _ in levels]):
            x_at = x.at + p * int(x_step) + sum(i * by for i, (_, by, _) in zip(turn, levels, strict=True))
            y_at = y.at + sum(i * by for i, (_, _, by) in zip(turn, levels, strict=True))
            number = x.array[x_at]
            totals = [t + number * y.array[y_at + v] for v, t in enumerate(totals)]
        for v, total in enumerate(totals):
            place = out.at + p * int(out_step) + v
            if ending == 1:
                total = out.array[place] + total
            elif ending:
                total = total + also.array[also.at + v]
            out.array[place] = np.float32(0) if ending == 3 and total < 0 else total


def _few(
    shape: Any, x: _Place, y: _Place, out: _Place, also: _Place, x_step: int, out_step: int, run: int, loops: Any
) -> None:
    """What `blocks_cpu.few_float32` does, number by number."""
    n_p, n_r, _, ending, side_by_side = shape
    assert not side_by_side or int(out_step) == n_r
    levels = [tuple(int(i) for i in loops[k : k + 3]) for k in range(0, len(loops), 3)]
    for p, r in itertools.product(range(n_p), range(n_r)):
        total = np.float32(0)
        for turn in itertools.product(*[range(count) for count, _, _ in levels]):
            x_at = x.at + p * int(x_step) + sum(i * by for i, (_, by, _) in zip(turn, levels, strict=True))
            y_at = y.at + r * int(run) + sum(i * by for i, (_, _, by) in zip(turn, levels, strict=True))
            for e in range(int(run)):
                total = total + x.array[x_at + e] * y.array[y_at + e]
        total = total + also.array[also.at + r] if ending else total
        out.array[out.at + p * int(out_step) + r] = np.float32(0) if ending == 3 and total < 0 else total


def _apart(
    shape: Any, x: _Place, nothing: _Place, w: _Place, out: _Place, also: _Place, x_step: int, w_step: int, rows: int,
    x_row: int, w_row: int, low: int, high: int,
) -> None:  # fmt: skip
    """What `blocks_cpu.apart_float32` does, number by number: it reads what that reads and nothing else."""
    n_p, taps, lanes, stride, dilation, ending = shape
    assert not any(nothing.array[nothing.at + v] for v in range(lanes))
    for p, v in itertools.product(range(n_p), range(lanes)):
        total = np.float32(0)
        for r, t in itertools.product(range(int(rows)), range(taps)):
            column = p * stride + t * dilation
            if int(low) <= column < int(high):
                weight = w.array[w.at + r * int(w_row) + t * int(w_step) + v]
                total = total + x.array[x.at + r * int(x_row) + column * int(x_step) + v] * weight
        total = total + also.array[also.at + v] if ending else total
        out.array[out.at + p * int(x_step) + v] = np.float32(0) if ending == 3 and total < 0 else total


def _apart_gradient(
    shape: Any, x: _Place, nothing: _Place, dy: _Place, out: _Place, step: int, rows: int, x_row: int, out_row: int,
    low: int, high: int,
) -> None:  # fmt: skip
    """What `blocks_cpu.apart_gradient_float32` does, number by number."""
    n_p, taps, lanes, tail, stride, dilation = shape
    assert not any(nothing.array[nothing.at + v] for v in range(lanes))
    for r, t, p, v in itertools.product(range(int(rows)), range(taps), range(n_p), range(tail)):
        column = p * stride + t * dilation
        if int(low) <= column < int(high):
            place = out.at + r * int(out_row) + t * int(step) + v
            value = x.array[x.at + r * int(x_row) + column * int(step) + v]
            out.array[place] = out.array[place] + value * dy.array[dy.at + p * int(step) + v]


def _rank(op: str, dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    """Floats as whole numbers in the same order, NaN first or last; and back."""
    whole = np.dtype(f"int{8 * dtype.itemsize}")
    flip = np.iinfo(whole).max

    def turned(bits: Any) -> Any:
        return bits ^ flip if bits < 0 else bits

    def call(x: Any) -> Any:
        if op == "ranked":
            return turned(whole.type(x)).view(dtype)
        nan = dtype.type(np.copysign(np.nan, 1 if op == "rank_max" else -1))
        return turned((nan if np.isnan(x) else dtype.type(x)).view(whole))

    return call


_kernels: dict[KernelSpec, tuple[Any, Any]] = {}


def run_native(spec: KernelSpec, buffers: Sequence[np.ndarray], sizes: Sequence[int], begin: int, end: int) -> int:
    """The kernel compiled in this process."""
    if spec not in _kernels:
        _kernels[spec] = _load(spec)
    status = ctypes.c_int64()
    trouble = ctypes.c_void_p()
    pointers = (ctypes.c_void_p * max(len(buffers), 1))(*[b.ctypes.data for b in buffers])
    numbers = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
    code = _kernels[spec][1](ctypes.byref(status), ctypes.byref(trouble), pointers, numbers, begin, end)
    assert code == 0, spec.source
    return status.value


def _load(spec: KernelSpec) -> tuple[Any, Any]:
    import llvmlite.binding as llvm

    from fastgraph.compiler.cpu.object_code import compile_kernel, symbol

    key = f"bench{len(_kernels)}"
    code = compile_kernel(spec, key).code
    jit = _jit or _start()
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(symbol(key))
    tracker = library.link(jit, key)
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int32,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int64,
    )
    return tracker, prototype(tracker[symbol(key)])


_jit: Any = None


def _start() -> Any:
    global _jit
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _jit = llvm.create_lljit_compiler()
    return _jit
