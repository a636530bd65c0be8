"""Loop nest -> source of one njit kernel (see kernel_spec.KernelSpec for what the text may rely on).

Rule: the text is canonical: buffers, sizes and locals are numbered by first use and nothing in it names a shape, so
equal computations are one kernel. Each term becomes one local of its own dtype, in the outermost loop that has all its
variables; reductions and stores over the same extents share a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fastgraph.compiler.cpu import check_hoisting as checks
from fastgraph.compiler.cpu import column_reductions as columns
from fastgraph.compiler.cpu import loop_splitting as ranges
from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.cpu import transpose_tiles as tiles
from fastgraph.compiler.nest.canonicalize import FlatNest, FlatStore, arrange
from fastgraph.compiler.nest.cost_model import weight
from fastgraph.compiler.nest.loop_nest import LoopNest
from fastgraph.compiler.nest.scalar_ir import Index, Scalar, walk
from fastgraph.compiler.program.kernel_spec import KernelSpec

#: Elements summed in the dtype itself before they are added to a wider total.
SUM_BLOCK = 1024
#: Nanoseconds of a term's computation from which on it is a long function.
_LONG = 0.7
#: Terms up to which that does not matter.
_FEW = 16


@dataclass
class Emitted:
    """A kernel and what its arguments are: keys of values behind buffers, size scalars, keys of failing ops."""

    spec: KernelSpec
    buffers: list[object]
    sizes: list[Scalar]
    extent: Scalar | None  # of the outermost loop; None: the kernel runs once
    fallible: list[object]
    nest: FlatNest


def emit(nest: LoopNest | FlatNest) -> Emitted:
    """The kernel of a loop nest."""
    return Emitter(arrange(nest) if isinstance(nest, LoopNest) else nest).run()


class Block:
    """Lines of one loop's body, or of a guarded branch, with the names that are defined in it."""

    def __init__(self, parent: Block | None, variables: frozenset[Scalar], *, guard: bool = False) -> None:
        self.variables = variables
        self.guard = guard
        self.chain: tuple[Block, ...] = (*parent.chain, self) if parent else (self,)  # from the root to this block
        self.guarded: bool = any(b.guard for b in self.chain)
        self.lines: list[str] = []
        self.names: dict[Scalar, str] = {}

    def nest(self, header: str, child: Block) -> None:
        """Append a finished child under its header."""
        self.lines += [header, *["    " + line for line in child.lines]]


class Emitter:
    """Writes one kernel."""

    def __init__(self, nest: FlatNest) -> None:
        self.nest = nest
        self.buffers: dict[object, str] = {}
        self.buffer_types: list[str] = []
        self.sizes: dict[Scalar, str] = {}
        self.imports: dict[str, None] = {}
        self.fallible: dict[object, int] = {}
        self.variables: dict[Scalar, str] = {}
        self.n_locals = 0
        self.arrays: dict[str, str] = {}  # the kernel's own arrays, with their dtypes
        self.tiles: dict[str, tuple[str, int]] = {}  # those for what is turned, with their dtypes and lengths
        self.barriers: list[Block] = []  # nothing risky may move out of the innermost of these
        self.emitted: set[int] = set()  # stores with loops of their own that are written already
        self.stored: dict[object, int] = {}  # the first store of each value
        for i, store in enumerate(nest.stores):
            self.stored.setdefault(store.key, i)
        self.groups: dict[tuple[Index, int], list[Scalar | int]] = {}
        for item, stage in nest.stage.items():
            if self.bound(item):
                self.groups.setdefault((self.bound(item), stage), []).append(item)
        self.certain = checks.certain([term for store in nest.stores for term in (store.scalar, store.position)])
        self.checked: set[Scalar] = set()  # checks that a loop before their own has made

    def run(self) -> Emitted:
        """Write the whole kernel."""
        root = Block(None, frozenset())
        crossed = tiles.crossing(self.nest)
        blocks, headers = self.shared_loops(root) if crossed is None else tiles.open_loops(self, crossed, root)
        block = blocks[-1]
        if columns.apply(self.nest):
            headers[-1], blocks[-1] = columns.emit(self, blocks[-2])
        elif crossed is None and (cuts := ranges.find(self.nest)):
            headers[-1], blocks[-1] = ranges.emit(self, blocks[-2], cuts)
        else:
            if headers:
                own = [term for s in self.nest.stores if not s.variables for term in (s.scalar, s.position)]
                checks.emit(self, own, self.nest.dims[-1], headers[-1], block)
            # Every value is computed before the first is written: a result may lie over an operand.
            for store in self.nest.stores:
                if not store.variables:
                    self.emit(store.scalar, block)
            for i, store in enumerate(self.nest.stores):
                if not store.variables:
                    self.emit_store(store, block)
                elif i not in self.emitted:
                    self.emit_loop(self.members((store.variables, self.nest.stage[i]), block), block)
        for k in reversed(range(len(headers))):
            blocks[k].nest(headers[k], blocks[k + 1])
        lines = [f"{name} = {self.call(f'local_{dtype}', str(columns.TILE))}" for name, dtype in self.arrays.items()]
        lines += [f"{name} = {self.call(f'local_{dtype}', str(n))}" for name, (dtype, n) in self.tiles.items()]
        source = render.kernel(self.buffers.values(), self.sizes.values(), [*lines, *root.lines])
        spec = KernelSpec(source, tuple(self.buffer_types), len(self.sizes), tuple(sorted(self.imports)))
        extent = self.nest.dims[0].args[0] if self.nest.dims else None
        return Emitted(spec, list(self.buffers), list(self.sizes), extent, list(self.fallible), self.nest)

    def shared_loops(self, root: Block) -> tuple[list[Block], list[str]]:
        """The blocks of the shared loops, `root` first, and the headers between them."""
        blocks, headers = [root], []
        for k, v in enumerate(self.nest.dims):
            self.variables[v] = f"i{k}"
            stop = self.size(v.args[0]) if k else "begin, end"
            if v.args[0].op == "const" and 0 < k == len(self.nest.dims) - 1:
                stop = self.call("tile_int64", stop, stop)  # whole vectors
            headers.append(f"for i{k} in range({stop}):")
            blocks.append(Block(blocks[-1], blocks[-1].variables | {v}))
        return blocks, headers

    # -- names ---------------------------------------------------------------------------------------------------------

    def local(self) -> str:
        self.n_locals += 1
        return f"v{self.n_locals - 1}"

    def call(self, name: str, *args: str) -> str:
        self.imports[name] = None
        return f"{name}({', '.join(args)})"

    def buffer(self, key: object, dtype: str) -> str:
        key = self.nest.in_place.get(key, key)
        if key not in self.buffers:
            self.buffers[key] = f"x{len(self.buffers)}"
            self.buffer_types.append(render.storage(dtype))
        return self.buffers[key]

    def size(self, extent: Scalar) -> str:
        """A run-time size; a product of extents is passed as one size."""
        return str(extent.attr) if extent.op == "const" else self.sizes.setdefault(extent, f"n{len(self.sizes)}")

    def bounds(self, v: Scalar, place: Block) -> tuple[str, str]:
        """Return where the loop over an inner variable begins and ends."""
        if len(v.args) == 1:
            return "0", self.size(v.args[0])
        return self.emit(v.args[1], place), self.emit(v.args[2], place)

    # -- where a term goes ---------------------------------------------------------------------------------------------

    def place(self, free: frozenset[Scalar], risky: bool, block: Block) -> Block:
        """The outermost block that has all variables; what belongs to the loop round a guard stays in the guard."""
        home = next(b for b in block.chain if free <= b.variables)
        for b in block.chain[len(home.chain) :]:
            if b.guard and b.variables == home.variables:
                home = b
        if risky:
            # Another loop may be written while a barrier of this one stands: only what lies round the block counts.
            barrier = next((b for b in reversed(self.barriers) if b in block.chain), home)
            return barrier if len(barrier.chain) > len(home.chain) else home
        return home

    def emit(self, term: Scalar, block: Block) -> str:
        """The text of a term as an operand; the lines that compute it are written where it belongs."""
        if term.op == "const":
            return render.number(term.attr, term.dtype)
        if term.op == "var":
            return self.variables[term]
        if is_size(term):
            return self.size(term)
        for b in reversed(block.chain):
            if term in b.names:
                return b.names[term]
        if term.op == "check":
            return self.emit_check(term, block)
        place = self.place(term.free, term.risky, block)
        if term.op == "reduce":
            stage = self.nest.stage.get(term)
            alone = stage is None or place.guarded
            self.emit_loop([term] if alone else self.members((self.bound(term), stage), place), place)  # type: ignore[arg-type]
        elif term.is_guard:
            self.emit_guarded(term, place)
        else:
            text = self.text(term, place)
            place.names[term] = self.local()
            place.lines.append(f"{place.names[term]} = {text}")
        return place.names[term]

    def text(self, term: Scalar, place: Block) -> str:
        if term.op == "read":
            self.emit_stored(term.attr, place)
        args = [self.emit(a, place) for a in term.args]
        if term.op == "read":
            return render.loaded(f"{self.buffer(term.attr, term.dtype)}[{args[0]}]", term.dtype, self.call)
        return render.operation(term, args, self.call)

    def emit_store(self, store: FlatStore, block: Block) -> None:
        value, at = self.emit(store.scalar, block), self.emit(store.position, block)
        text = render.stored(value, store.dtype, self.call)
        block.lines.append(f"{self.buffer(store.key, store.dtype)}[{at}] = {text}")

    def emit_stored(self, key: object, place: Block) -> None:
        """Write the loop that stores a value before what reads it back, which a guard may ask for first of all."""
        i = self.stored.get(key)
        if i is not None and self.nest.stores[i].variables and i not in self.emitted:
            shared = frozenset(self.nest.dims)
            block = next(b for b in place.chain if b.variables == shared)
            self.emit_loop(self.members((self.nest.stores[i].variables, self.nest.stage[i]), block), block)

    def emit_check(self, term: Scalar, block: Block) -> str:
        """Leave the kernel where a condition fails; what depends on the condition stays behind that line."""
        ok, result, position = term.args
        place = self.place(ok.free | position.free, True, block)
        if term not in self.checked:
            condition, at = self.emit(ok, place), self.emit(position, place)
            some = self.some_element(term, place)
            place.lines.append(f"if {some}not {condition}:")
            place.lines += [f"    {line}" for line in self.leave(self.status(term, at))]
        self.barriers.append(place)
        name = self.emit(result, block)
        home = self.place(term.free, True, block)
        self.barriers.pop()
        home.names[term] = name
        return name

    def status(self, check: Scalar, at: str) -> str:
        """The number that the kernel returns where a check fails at this position."""
        return f"{self.fallible.setdefault(check.attr, len(self.fallible)) + 1 << 48} + {at}"

    def leave(self, status: str) -> list[str]:
        """The lines that end the kernel with a status."""
        return [f"return {status}"]

    def some_element(self, check: Scalar, place: Block) -> str:
        """The condition that the loops behind a check run at all: what no element asks for must not fail."""
        inner = [v for v in self.nest.dims if v not in place.variables]
        counts: dict[str, None] = {}
        for store in self.nest.stores:
            if check in walk([store.scalar]):
                loops = [v for v in (*inner, *store.variables) if v not in place.variables]
                lengths = [
                    "(end - begin)" if self.nest.dims and v is self.nest.dims[0] else self.size(v.args[0])
                    for v in loops
                ]
                if not lengths:
                    return ""
                counts[" * ".join(lengths)] = None
        return f"({' or '.join(f'{n} > 0' for n in counts)}) and " if counts else ""

    def emit_guarded(self, term: Scalar, place: Block) -> None:
        """A select one branch of which must not be computed for nothing."""
        condition, name = self.emit(term.args[0], place), self.local()
        for header, branch in ((f"if {condition}:", term.args[1]), ("else:", term.args[2])):
            guard = Block(place, place.variables, guard=True)
            self.barriers.append(guard)
            guard.lines.append(f"{name} = {self.emit(branch, guard)}")
            self.barriers.pop()
            place.nest(header, guard)
        place.names[term] = name

    # -- loops ---------------------------------------------------------------------------------------------------------

    def bound(self, item: Scalar | int) -> Index:
        """The variables of a reduction, or of the store of this number."""
        return self.nest.stores[item].variables if isinstance(item, int) else item.args[: item.attr[1]]

    def members(self, key: tuple[Index, int], place: Block) -> list[Scalar | int]:
        """The reductions that share one loop in this block: all of a group that are not computed and belong here."""

        def fits(item: Scalar | int) -> bool:
            if isinstance(item, int):
                return item not in self.emitted and place.variables == frozenset(self.nest.dims)
            if item.risky and item not in self.certain:
                return False  # only guards ask for it: computed here, it would read where nothing may be
            if not item.free <= place.variables:  # one inside a loop that this block is not in
                return False
            return item not in place.names and self.place(item.free, item.risky, place) is place

        return [item for item in self.groups[key] if fits(item)]

    def emit_loop(self, members: Sequence[Scalar | int], place: Block) -> None:
        """One loop for reductions and stores over the same variables."""
        variables = self.bound(members[0])
        blocks = [place]
        for v in variables:
            self.variables.setdefault(v, f"i{len(self.variables)}")
            blocks.append(Block(blocks[-1], blocks[-1].variables | {v}))
        inner, last = blocks[-1], self.variables[variables[-1]]
        folds: list[render.Fold] = []
        stores = [self.nest.stores[item] for item in members if isinstance(item, int)]
        own = [term for s in stores for term in (s.scalar, s.position)]
        own += [item.args[-1] for item in members if not isinstance(item, int)]
        if len(variables[-1].args) == 1:
            checks.emit(self, own, variables[-1], _for(last, "0", self.size(variables[-1].args[0])), inner)
        for item in members:
            if isinstance(item, int):
                self.emitted.add(item)
                self.emit_store(self.nest.stores[item], inner)
                continue
            value = self.emit_body(item.args[-1], inner)
            made = self.fold(item, value, last)
            inner.lines += made.step
            place.names[item] = made.result
            folds.append(made)
        for made in folds:
            place.lines += made.before
        self.close_loops(blocks, variables, folds, lambda where, lines: where.lines.extend(lines))
        for made in folds:
            place.lines += made.after

    def fold(self, reduction: Scalar, value: str, variable: str) -> render.Fold:
        """Return the step by which a reduction takes one more value, in the iteration that the variable counts."""
        name = lambda _: self.local()
        return render.fold(reduction.attr[0], reduction.args[-1].dtype, value, variable, name, name, self.call)

    def emit_body(self, body: Scalar, inner: Block) -> str:
        """The element that a reduction folds. Its checks stay in the loop: one over nothing asks for nothing."""
        checked = body.risky and any(t.op == "check" for t in walk([body]))
        if checked:
            self.barriers.append(inner)
        value = self.emit(body, inner)
        if checked:
            self.barriers.pop()
        return value

    def close_loops(
        self,
        blocks: Sequence[Block],
        variables: Index,
        folds: Sequence[render.Fold],
        put: Callable[[Block, list[str]], None],
        *,
        down: bool = False,
    ) -> None:
        """Put each block into the one round it under its header; float sums take the innermost loop in pieces.

        LLVM writes out no innermost loop of stores, of known length: vectors come of loops. `down`: one iteration is of
        many columns.
        """
        place, inner, last = blocks[0], blocks[-1], self.variables[variables[-1]]
        bounds = [self.bounds(v, place) for v in variables]
        first, stop = bounds[-1]
        stored = not folds and first == "0" and stop.isdigit() and int(stop) >= columns.LEAST
        if stored or self.are_vectors(folds, variables, bounds[-1][1], down):
            bounds[-1] = ("0", self.call("tile_int64", bounds[-1][1], bounds[-1][1]))
        if any(made.block_before for made in folds):
            body = Block(blocks[-2], blocks[-2].variables)
            low, high = self.local(), self.local()
            first, stop = bounds[-1]  # as they are now
            body.lines.append(f"{high} = {self.call('min_int64', f'{low} + {SUM_BLOCK}', stop)}")
            put(body, [line for made in folds for line in made.block_before])
            body.nest(f"for {last} in range({low}, {high}):", inner)
            put(body, [line for made in folds for line in made.block_after])
            body.lines.append(f"{low} = {high}")
            blocks[-2].lines.append(f"{low} = {first}")
            blocks[-2].nest(f"while {low} < {stop}:", body)
        else:
            blocks[-2].nest(_for(last, *bounds[-1]), inner)
        for k in reversed(range(len(variables) - 1)):
            blocks[k].nest(_for(self.variables[variables[k]], *bounds[k]), blocks[k + 1])

    def are_vectors(self, folds: Sequence[render.Fold], variables: Index, stop: str, down: bool) -> bool:
        """Return whether an inner loop, of a known number of terms, is better not written out by LLVM.

        Written out it would add up one term after the other. Many terms of long functions are better off so: what is
        left behind the last whole vector would be computed one by one. So for all loops of the kernel, if for one.
        """
        if not folds or len(variables) > 1 or not stop.isdigit():
            return False
        if down:
            return int(stop) > _FEW and all(made.block_before for made in folds)
        terms = walk([t.args[-1] for members in self.groups.values() for t in members if isinstance(t, Scalar)])
        own = [t for t in terms if t.free - set(self.nest.dims)]
        if any(t.dtype in ("int8", "uint8") for t in own):
            return False  # LLVM knows how to add up bytes
        return int(stop) <= _FEW or sum([weight(t) for t in own]) < _LONG

    def block(self, parent: Block, variables: frozenset[Scalar]) -> Block:
        """A block inside another."""
        return Block(parent, variables)


def _for(variable: str, first: str, stop: str) -> str:
    return f"for {variable} in range({stop if first == '0' else f'{first}, {stop}'}):"


def is_size(term: Scalar) -> bool:
    """Return whether a term is a run-time size: an extent, a parameter, or a product of those."""
    return term.op in ("extent", "param") or (
        term.op == "mul"
        and term.dtype == "int64"
        and not term.free
        and all(is_size(a) or a.op == "const" for a in term.args)
    )
