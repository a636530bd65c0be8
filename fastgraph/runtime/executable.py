"""Executable: a traced graph with the whole compiler behind it, and the choice of what runs a call.

Rule: no first call waits for a compiler unless it is told to, a later one only where it ends sooner so. Until the
kernels are there the graph is interpreted; the tier changes as a whole, between two calls. Loops change first, each by
itself, between two of its runs.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import threading
import time
import types
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from fastgraph.compiler.convolution_epilogues import fuse_epilogues
from fastgraph.compiler.decompose import expand
from fastgraph.compiler.program.graph_key import graph_key
from fastgraph.compiler.program.shape_inference import CannotPlan
from fastgraph.compiler.program.symbolic_extents import fits, shapes_of, witness_shapes
from fastgraph.compiler.sized_lists import size_lists
from fastgraph.compiler.store import kernel_service, program_store, wait_message
from fastgraph.compiler.store.kernel_store import store
from fastgraph.core.base import flags
from fastgraph.core.base.deferred_signals import deferred, imported
from fastgraph.core.base.dtype import resource
from fastgraph.core.base.gc_pause import resting
from fastgraph.core.base.locks import Lock, importing
from fastgraph.core.base.shapes import Aval
from fastgraph.core.devices import is_gpu
from fastgraph.core.native.buffer import Cell
from fastgraph.core.replicas import process
from fastgraph.errors import OpError
from fastgraph.graph.interpreter import interpret, interpret_unless, talks
from fastgraph.graph.ir import Graph, Node, Value, alone
from fastgraph.graph.passes import optimize
from fastgraph.runtime import deferred_compilation
from fastgraph.runtime.executor import Plan
from fastgraph.runtime.foreground_threads import is_quiet

if TYPE_CHECKING:
    from fastgraph.compiler.program.kernel_spec import KernelSpec
    from fastgraph.compiler.program.program import Program
    from fastgraph.runtime.schedule import Planner

Shapes = tuple[tuple[int, ...], ...]

#: A program is made in the background when nobody has traced for so long, or after so long all the same (seconds): both
#: are Python's, and who traces one function after the other would wait for the programs of those before.
QUIET_S = 0.01
LATEST_S = 0.1
#: So long it waits for the graph's own first result, by NumPy: of both at once, each gets Python only when the other
#: has had it for 5 ms.
FIRST_RUN_S = 0.5
#: Making a Program takes so long (seconds) for each node, and for FIXED_NODES more. Calls whose ops are Python's mostly
#: would wait for it as long. It begins when those by NumPy have worked as much, or nobody waits for Python, or calls
#: have gone on for FIRST_RUN_S without a pause of LOOP_S.
MAKING_S = 3e-4
FIXED_NODES = 30
LOOP_S = 0.05
#: A first call by NumPy that has worked for so long (seconds) waits for its Program, which was not in the store, and is
#: begun again by that if all kernels were: the Program is made about as quickly, and would take Python from the call in
#: any case. But it waits no longer than for so much work of this process, nor LONGEST_S in all on a machine that does
#: other things.
LONG_S = 0.25
WORK_S = 0.5
LONGEST_S = 2.0
#: A loop by NumPy has a Program of its own, until the graph has, where that pays within so many calls.
CALLS_AHEAD = 10
#: So long (seconds) at most the end of a program waits for what is made in the background.
PATIENCE_S = 1.0
#: How many plans, and Programs for other witnesses, an executable keeps.
PLANS_KEPT = 256
VERSIONS_KEPT = 64


def expand_all(graph: Graph) -> Graph:
    """`graph` with the ops that stand for others replaced, and simplified again if there were any."""
    expanded = expand(graph)
    simple = graph if expanded is graph else optimize.prune(optimize.simplify(expanded))
    return optimize.moved_out(optimize.reduced_in_place(simple))


#: Graph -> Graph, in order. Then `assemble` makes the Program of a graph (fusion, loop nests, kernels' sources), the
#: store makes machine code of its kernels, and the schedule a Plan for each set of shapes.
PASSES: tuple[Callable[[Graph], Graph], ...] = (optimize.optimise, size_lists, expand_all, fuse_epilogues)


def compile_graph(graph: Graph, observe: Callable[[str, Graph], None] | None = None) -> Graph:
    """The graph after all PASSES; `observe` is told the graph after each."""
    for each in PASSES:
        graph = each(graph)
        if observe is not None:
            observe(each.__name__, graph)
    return graph


@dataclass
class Origin:
    """The origin of a graph's first arguments: values of another graph, which one of the executables has run.

    What sizes have to do with each other is then known from there: no witness of a gradient's arguments by themselves
    would say that one has as many elements as two others together.
    """

    executables: Callable[[], Sequence[Executable]]
    values: Sequence[Value]

    def witnesses(self, shapes: Shapes) -> Iterator[Shapes]:
        """The sizes that stood there, as witnesses of arguments that now have these shapes."""
        for executable in self.executables():
            for witness in list(executable._versions):
                found = shapes_of(executable.traced, witness, self.values)
                if found is None or any(shape is None or None in shape for shape in found):
                    continue
                stand_in: Any = (*found, *shapes[len(found) :])
                if fits(stand_in, shapes):
                    yield stand_in


@dataclass
class _Version:
    """The Program for one set of witness shapes on its way to being runnable."""

    shapes: Shapes
    program: Program | None = None
    planner: Planner | None = None
    handles: dict[KernelSpec, kernel_service.Handle] | None = None
    error: BaseException | None = None
    key: str | None = None  # of the Program in the store, if it has been looked for
    refused: frozenset[Node] = frozenset()
    asked: float = 0.0  # when its kernels were asked for

    def __post_init__(self) -> None:
        self.made = threading.Event()
        self.wanted = threading.Event()  # see `want`
        self.process = os.getpid()

    def want(self) -> None:
        """Say that somebody waits for it, or calls the graph again."""
        if not self.wanted.is_set():  # each `set` takes a lock, which what a handler of a signal raises may leave taken
            self.wanted.set()

    @property
    def ready(self) -> bool:
        """True if every kernel may be called."""
        return self.handles is not None and all(h.ready for h in self.handles.values())


@dataclass
class _Loop:
    """A loop of an interpreted graph, of which a graph of its own may be made."""

    shapes: Shapes | None  # of the operands that are no constants; None where it cannot be
    taken: list[int]  # which operands are no constants
    worked: float = math.inf  # its thread's seconds in the first call
    part: Executable | None = None

    @classmethod
    def of(cls, node: Node, operands: Sequence[Any]) -> _Loop:
        """The loop of a node that is run."""
        taken = [i for i, value in enumerate(node.inputs) if value.node.op.name != "const"]
        given = [operands[i] for i in taken]
        cells = [each for each in given if isinstance(each, Cell)]
        # Two parameters that stand for one Variable would not see each other's writes.
        able = len({id(cell) for cell in cells}) == len(cells) and all(
            isinstance(each, Cell) or each.aval.dtype.is_numeric or each.aval.dtype.is_bool for each in given
        )
        shapes = tuple([() if isinstance(each, Cell) else each.aval.shape for each in given])
        return cls(shapes if able else None, taken)


class Executable:
    """Runs one traced graph on its parameters: inputs, then captures (Cells where resources stand)."""

    def __init__(self, graph: Graph, name: str = "", origin: Origin | None = None) -> None:
        self.traced = graph
        self.origin = origin
        self.name = name or graph.name
        self._lock = Lock()
        self._optimised: Graph | None = None
        self._versions: OrderedDict[Shapes, _Version] = OrderedDict()  # that used last at the end, as in the plans
        self._plans: OrderedDict[tuple[Any, ...], Plan] = OrderedDict()
        self._latest: _Version | None = None
        self._coming: tuple[tuple[Any, ...], _Version] | None = None  # what the last call would have run, and did not
        self._has_run = False  # by the ops' bodies
        self._loops: dict[Node, _Loop] = {}  # that they have run
        self._spent = 0.0  # seconds in them
        self._latest_s = 0.0  # of these, in the latest call
        self._worked = 0.0  # of its thread's in them
        on_gpu = any(node.device is not None and is_gpu(node.device) for node in graph.nodes)
        self._device_programs: dict[Any, Any] | None = {} if on_gpu else None
        # Processes of MPI would each take up its kernels when they are there, and no two runs round alike.
        self._waits = process.journal is not None and talks(graph)

    @property
    def graph(self) -> Graph:
        """The optimised graph."""
        found = self._optimised
        if found is None:
            with self._lock:
                found = self._optimised
                if found is None:
                    with resting:
                        found = self._optimised = compile_graph(self.traced)
        return found

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The graph's outputs. Raises what its ops raise."""
        if self._device_programs is not None and (found := self._on_gpu(inputs)) is not None:
            return found
        plan = self.plan(inputs)
        if plan is None:
            begun, worked = time.monotonic(), time.thread_time()
            results: list[Any] | None
            if flags.get("tier") == "first":
                results = interpret(self.graph, inputs)
            elif self._has_run:
                plan = self.plan(inputs) if self._nearly_compiled() else None
                results = interpret(self.graph, inputs, self._run_loop) if plan is None else None
            else:
                results = interpret_unless(self.graph, inputs, LONG_S, self._comes_soon, self._run_loop)
                plan = self.plan(inputs) if results is None else None
            if results is None and plan is None:
                results = interpret(self.graph, inputs, self._run_loop)
            if results is not None:
                self._note_run(time.monotonic() - begun, time.thread_time() - worked)
                return results
            assert plan is not None
        return plan.run(list(inputs))

    def _on_gpu(self, inputs: Sequence[Any]) -> list[Any] | None:
        """The graph's outputs as a GPU computes them; None, from then on, where it cannot, of which a warning tells."""
        programs = self._device_programs
        assert programs is not None
        key = tuple([() if isinstance(x, Cell) else x.aval.shape for x in inputs])
        try:
            if key not in programs:
                make = imported("fastgraph.compiler.cuda.device_program").DeviceProgram
                programs[key] = make(self.graph, key)
            return list(programs[key](*inputs))
        except (OpError, NotImplementedError):
            raise
        except Exception as error:  # of Numba's, of CUDA's, or of sizes that are data
            text = f"{self.name} runs on the CPU, not on the GPU: {type(error).__name__}: {error}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
            self._device_programs = None
            return None

    def _run_loop(self, node: Node, operands: Sequence[Any], iterate: Callable[..., list[Any]]) -> Sequence[Any]:
        """The results of a loop: compiled by itself, where that is done before the whole graph is."""
        loop = self._loops.get(node)
        if loop is not None and loop.part is not None:
            given = [operands[i] for i in loop.taken]
            if (plan := loop.part.plan(given)) is not None:
                return plan.run(given)
        if self._has_run or loop is not None:
            return iterate(node, operands)
        self._loops[node] = loop = _Loop.of(node, operands)
        begun = time.thread_time()
        results = iterate(node, operands)
        loop.worked = time.thread_time() - begun
        return results

    def _make_loops(self) -> None:
        """Make Programs of loops that take long and are the smaller part: their kernels are compiled first."""
        for node in self.graph.nodes:
            loop = self._loops.get(node)
            if loop is None or loop.shapes is None:
                continue
            n = sum(len(node.attrs[part]) for part in ("cond_graph", "body_graph"))
            if CALLS_AHEAD * loop.worked < MAKING_S * (n + FIXED_NODES) or n > len(self.graph.nodes):
                continue
            part = Executable(alone(node, loop.taken), f"{self.name}/{node.name}")
            part._optimised = part.traced
            for shapes in dict.fromkeys(part._witnesses(loop.shapes)):
                version = part._latest = part._versions[shapes] = _Version(shapes)
                with deferred:
                    part._try_to_make(version, tell=False)  # the whole graph may compile all the same
                if version.error is None:
                    loop.part = part
                    break

    def _note_run(self, spent: float, worked: float) -> None:
        """Note a call by the ops' bodies: what it took says when a Program is worth the Python that it takes."""
        global _interpreted
        self._latest_s = spent
        self._spent += spent
        self._worked += worked
        self._has_run = True
        _interpreted = time.monotonic()

    def _pays(self) -> bool:
        """Return whether a Program is wanted now, and not only when nobody waits for Python."""
        return self._worked >= MAKING_S * (len(self.graph.nodes) + FIXED_NODES)

    def _comes_soon(self) -> bool:
        """Return whether the Program of an interpreted call runs after a brief wait, with nothing to compile."""
        version = self._latest
        if version is None or store().is_empty():
            return False
        version.want()
        begun, used = time.monotonic(), time.process_time()
        while not version.made.wait(0.02):
            if time.process_time() - used > WORK_S or time.monotonic() - begun > LONGEST_S:
                return False
        return version.ready

    def _nearly_compiled(self) -> bool:
        """Return whether the kernels came after a wait that is shorter than two calls by NumPy.

        It is not begun where they have come too slowly so far. Beside a call by NumPy, which keeps all CPUs busy, those
        that are left take about twice as long: its results would come no sooner, the next ones' later.
        """
        version, most = self._latest, 2 * self._latest_s
        if self._latest_s < LONG_S or version is None or not version.made.is_set() or not version.handles:
            return False
        done, left = 0, 0  # in characters: the largest kernels are compiled first
        for spec, handle in version.handles.items():
            done, left = done + handle.ready * len(spec.source), left + (not handle.ready) * len(spec.source)
        now = time.monotonic()
        if (now - version.asked) * left > most * done:
            return False
        return all(each.wait(max(0.0, now + most - time.monotonic())) for each in version.handles.values())

    def plan(self, inputs: Sequence[Any]) -> Plan | None:
        """The compiled plan for inputs of these shapes; None as long as there is none."""
        if self._device_programs is not None:
            return None
        key = tuple([None if isinstance(x, Cell) else x.aval.shape for x in inputs])
        found = self._plans.get(key)
        if found is None:
            return self._find_plan(key)
        if len(self._plans) > 1:
            with contextlib.suppress(KeyError):  # another thread has just let it go
                self._plans.move_to_end(key)
        return None if flags.get("tier") == "first" else found

    def _find_plan(self, key: tuple[Any, ...]) -> Plan | None:
        tier = flags.get("tier")
        if tier == "auto" and self._waits:
            tier = "last"
        if tier == "first" or (tier == "auto" and self._still_comes(key)):
            return None
        avals = [
            Aval(resource, ()) if s is None else Aval(v.aval.dtype, s)
            for v, s in zip(self.graph.parameters, key, strict=True)
        ]
        made = self._planned(avals)
        if made is not None:
            return self._kept(key, made)
        shapes: Shapes = tuple([() if s is None else s for s in key])
        # Where these extents break what a witness promised, a Program is made for them alone.
        for stand_in in dict.fromkeys(self._witnesses(shapes)):
            version = self._version(stand_in, wait=tier == "last")
            if tier == "last":
                self._settle(version)
            if version.error is not None:
                continue
            if not version.ready or version.planner is None or version.program is None:
                self._mend(version)
                self._coming = key, version
                return None
            try:
                with resting:
                    return self._kept(key, version.planner.make(version.program, avals))
            except CannotPlan:
                continue  # if it goes on like this, the ops' bodies say what is wrong
        return None

    def _still_comes(self, key: tuple[Any, ...]) -> bool:
        """Return whether the Program for these shapes is still on its way, as at the last call."""
        if self._coming is None or self._coming[0] != key:
            return False
        version = self._coming[1]
        if version.made.is_set():
            handles = (version.handles or {}).values()
            return any(not h.ready for h in handles) and all(h.error is None for h in handles)
        if self._has_run and self._pays():
            version.want()
        return version.process == os.getpid()

    def _planned(self, avals: Sequence[Aval]) -> Plan | None:
        """A plan of a Program that is there already and runs at these shapes, if the one used last does."""
        with self._lock:
            version = next(reversed(self._versions.values()), None)
        if version is None or not version.ready or version.planner is None or version.program is None:
            return None
        try:  # whether the shapes fit the program is asked there
            with resting:
                return version.planner.make(version.program, avals)
        except CannotPlan:
            return None

    def _kept(self, key: tuple[Any, ...], made: Plan) -> Plan:
        self._loops = {}
        with self._lock:
            self._plans[key] = made
            while len(self._plans) > PLANS_KEPT:
                self._plans.popitem(last=False)
        return made

    def _witnesses(self, shapes: Shapes) -> Iterator[Shapes]:
        """Witnesses that may stand for these shapes, the best first."""
        if self.origin is not None and any(v.aval.shape is None or None in v.aval.shape for v in self.graph.parameters):
            yield from self.origin.witnesses(shapes)
        yield witness_shapes(self.graph, shapes)
        yield shapes

    # -- making programs -----------------------------------------------------------------------------------------------

    def _version(self, witness: Shapes, wait: bool) -> _Version:
        """The version for these witness shapes; it is made in the background unless it is waited for."""
        with self._lock:
            version = self._versions.get(witness)
            if version is None or (not version.made.is_set() and version.process != os.getpid()):
                version = self._versions[witness] = _Version(witness)
                if self._recall(version):
                    pass
                elif wait:
                    self._make(version)
                else:
                    begun = (weakref.ref(self), version)
                    _begun.append(begun)
                    threading.Thread(target=_make_later, args=begun, name="fastgraph-build", daemon=True).start()
            elif wait or (self._has_run and self._pays()):
                version.want()
            self._versions.move_to_end(witness)
            self._let_go()
            self._latest = version
        if wait:
            version.made.wait()
        return version

    def _let_go(self) -> None:
        """Keep no more than VERSIONS_KEPT; what is being made is let go when it is done."""
        while len(self._versions) > VERSIONS_KEPT:
            oldest = next(iter(self._versions))
            if not self._versions[oldest].made.is_set():
                break
            del self._versions[oldest]

    def _recall(self, version: _Version) -> bool:
        """Make the version if its Program is stored, which takes a small part of the time; return whether it was."""
        place = store()
        if not place.limit or place.is_empty():
            return False
        with deferred, resting:
            version.key = graph_key(self.graph, version.shapes)
            program = None if version.key is None else program_store.recall(version.key, self.graph)
            if program is not None:
                self._try_to_make(version, program)
        return program is not None

    def _make(self, version: _Version) -> None:
        """Assemble the program, ask for its kernels and store it."""
        with deferred:  # what a handler of a signal raises is no reason to run uncompiled
            self._try_to_make(version)
            if version.program is not None and version.handles is not None and not version.refused and store().limit:
                key = version.key or graph_key(self.graph, version.shapes)
                if key is not None:
                    program_store.keep(key, version.program)

    def _try_to_make(self, version: _Version, program: Program | None = None, tell: bool = True) -> None:
        try:
            if program is None:
                kernel_service.expect()
            with importing:  # here: a first result by the ops' bodies does not wait for it
                from fastgraph.runtime.schedule import Planner

                if program is None:
                    from fastgraph.compiler.assemble import assemble
            if program is None:
                with resting:
                    program = assemble(self.graph, version.shapes, version.refused)
            specs = list(dict.fromkeys([step.kernel for step in program.kernel_steps() if not step.kernel.native]))
            version.asked = time.monotonic()
            handles = dict(zip(specs, kernel_service.request(specs), strict=True))
            version.planner = Planner(lambda spec: handles[spec].address)
            version.program = program
            version.handles = handles
        except CannotPlan as error:
            version.error = error  # the ops do not fit these shapes: their bodies say what is wrong
        except ImportError as error:
            version.error = error
            kernel_service.miss(error)
        except Exception as error:
            version.error = error
            if tell:
                text = f"{self.name} runs uncompiled: {type(error).__name__}: {error}"
                warnings.warn(text, RuntimeWarning, stacklevel=2)
        finally:
            version.made.set()

    def _settle(self, version: _Version, timeout: float | None = None) -> bool:
        """Wait until the version can run; kernels that fail give way to their ops' bodies."""
        while version.handles is not None and not version.ready:
            if timeout is None:
                wait_message.wait(self.name, version.handles.values())
            for handle in version.handles.values():
                if not handle.wait(timeout) and handle.error is None:
                    return False
            if not self._mend(version):
                break
        return version.ready

    def _mend(self, version: _Version) -> bool:
        """Make the program again with host steps for ops whose kernels have failed; return whether there were any."""
        failed = {s: h.error for s, h in (version.handles or {}).items() if h.error is not None}
        told = all(h.told for s, h in (version.handles or {}).items() if s in failed)
        if not failed or version.program is None:
            return False
        with self._lock:
            nodes = {n for step in version.program.kernel_steps() if step.kernel in failed for n in step.nodes}
            if nodes <= version.refused:
                return False
            version.refused |= nodes
            if not told:
                warnings.warn(
                    f"{self.name}: {len(failed)} kernel(s) cannot be compiled, their ops run uncompiled: "
                    + next(iter(failed.values())).splitlines()[0],
                    RuntimeWarning,
                    stacklevel=2,
                )
            self._make(version)
        return True

    # -- what is known about it ----------------------------------------------------------------------------------------

    def _current(self) -> _Version:
        """The version asked for last, or that of the traced shapes."""
        if self._latest is None:
            noted = [v.aval.shape for v in self.graph.parameters]
            shapes = tuple([tuple([2 if n is None else n for n in s or ()]) for s in noted])
            self._version(witness_shapes(self.graph, shapes), wait=True)
        assert self._latest is not None
        self._latest.want()
        self._latest.made.wait()
        return self._latest

    @property
    def program(self) -> Program | None:
        """The Program asked for last."""
        return self._current().program

    @property
    def is_compiled(self) -> bool:
        """True if all kernels of the version asked for last are there."""
        return self._latest is not None and self._latest.made.is_set() and self._latest.ready

    @property
    def host_steps(self) -> int:
        """The number of steps that run Python, those in branches and loops included."""
        program = self.program
        if program is None:
            return len(self.graph.nodes)
        return int(_for_people().host_steps(program))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the kernels are there; whether they are."""
        version = self._current()
        return self._settle(version, timeout) and version.error is None

    def steps(self) -> list[Any]:
        """The steps of the compiled Program, for people: number, kind, ops, waits_for."""
        program = self.program
        return [] if program is None else list(_for_people().step_rows(program))

    def counts(self) -> dict[str, int]:
        """Count what a call does, subprograms included, and the memory it takes: the arena, Blocks of their own."""
        plan = next(reversed(self._plans.values()), None)
        return {**_for_people().counts(self.program, plan), "host_steps": self.host_steps}

    def explain(self) -> str:
        """The graph after each pass, the steps and the kernels' sources."""
        parts: list[str] = []
        compile_graph(self.traced, lambda name, graph: parts.append(f"# after {name}\n{graph}"))
        program = self.program
        if program is not None:
            parts.append(_for_people().describe(program))
        parts += [_for_people().describe_plan(plan) for plan in self._plans.values()]
        return "\n".join(parts)


def _for_people() -> types.ModuleType:
    """The module that describes programs."""
    with importing:
        from fastgraph.runtime import explain
    return explain


#: Modules that making a Program imports, in pieces: a fork, which the end of a program makes, waits for one of them.
_PIECES = (
    "graph.passes.rewriter", "compiler.program.program", "compiler.library.convolution", "ops.window_arguments",
    "compiler.library.pooling_gradients", "ops.elementwise", "compiler.library.sequential_ops",
    "compiler.library.loop_kernels", "compiler.nest.fusion", "compiler.assemble", "runtime.schedule",
)  # fmt: skip
#: Programs that are being made in the background, or are about to be.
_begun: list[tuple[weakref.ref[Executable], _Version]] = []
_interpreted = 0.0  # when a call by the ops' bodies was done


def _make_later(executable: weakref.ref[Executable], version: _Version) -> None:
    """Make the version when nobody traces any more; not at all if its graph is gone by then."""
    try:
        begun = time.monotonic()
        while not version.wanted.wait(QUIET_S) and not is_quiet(QUIET_S):
            made = executable()
            if made is None:
                return
            now = time.monotonic()
            settled = made._has_run and now - _interpreted > LOOP_S
            if now - begun > (LATEST_S if settled else max(LATEST_S, FIRST_RUN_S)):
                break
            del made
        for piece in _PIECES:
            while deferred_compilation.stopping:
                time.sleep(0.01)
            imported(f"fastgraph.{piece}")
        made = executable()
        if made is not None:
            made._make_loops()
            made._make(version)
    finally:
        version.made.set()  # where its graph is gone, too: who waits for all that was begun has looked before
        with contextlib.suppress(ValueError):
            _begun.remove((executable, version))


def wait_for_all(timeout: float) -> bool:
    """Wait until all that was begun runs compiled, or has failed; say whether that was within so many seconds."""
    end = time.monotonic() + timeout
    for _, version in list(_begun):
        if version.process != os.getpid():
            continue
        version.want()
        if not version.made.wait(max(0.0, end - time.monotonic())):
            return False
    return kernel_service.wait_for_all(end - time.monotonic())


def _finish() -> None:
    """Give what a program's graphs want compiled, and was not made yet, at its end to a process of its own.

    Where that cannot be, what they have taken on NumPy, but PATIENCE_S at most, is worth waiting for: then a process
    that compiles knows of their kernels. Either way the next program finds them.
    """
    with contextlib.suppress(Exception):  # Python would not wait for the program's other threads
        _hand_on(time.monotonic())


def _hand_on(end: float) -> None:
    if not flags.get("linger") or not flags.get("worker"):
        return
    ours = [(ref(), v) for ref, v in list(_begun) if v.process == os.getpid() and not v.made.is_set()]
    left = [(executable, version) for executable, version in ours if executable is not None]
    if deferred_compilation.hand_over([partial(_made, e, v.shapes) for e, v in left]):
        return
    for executable, version in left:
        version.want()
        version.made.wait(max(0.0, end + min(executable._spent, PATIENCE_S) - time.monotonic()))


def _made(executable: Executable, shapes: Shapes) -> None:
    version = executable._versions[shapes] = _Version(shapes)  # kept, and so are the handles of its kernels
    executable._make(version)


try:  # threads and processes can be started then, which from Python 3.12 on they cannot when `atexit` calls
    threading._register_atexit(_finish)  # type: ignore[attr-defined]
except (AttributeError, RuntimeError):  # it is gone, or the program is ending already
    atexit.register(_finish)


__all__ = ["PASSES", "Executable", "Value", "compile_graph", "wait_for_all"]
