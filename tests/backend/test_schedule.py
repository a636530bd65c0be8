"""Programs with shapes become plans: sizes, memory, in-place slots, segments, branches, loops, and messages."""

from __future__ import annotations

from typing import Any

import native_kernels as native
import numpy as np
import pytest

from fastgraph import errors
from fastgraph.compiler.program import program as programs
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.program.program import Fallible, KernelStep, Program, Size
from fastgraph.compiler.program.shape_inference import CannotPlan
from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.base.shapes import Aval, broadcast_shapes
from fastgraph.core.native.buffer import Cell, pool_statistics
from fastgraph.core.native.thread_pool import num_threads, set_num_threads
from fastgraph.core.primitive import Primitive
from fastgraph.core.tensor import as_array, cell_assign, cell_read, from_array
from fastgraph.graph import structural_ops
from fastgraph.graph.ir import Graph, Value
from fastgraph.runtime import arena, schedule, step_costs
from fastgraph.runtime import plan as specs
from fastgraph.runtime.arena import Allocation, Ended, place
from fastgraph.runtime.plan import KernelCall, Operand, Place, PlanSpec, Slot
from fastgraph.runtime.schedule import Planner, plan
from tests.planted import planted

F32 = as_dtype("float32")


def _broadcast(x: Aval, y: Aval) -> Aval:
    return Aval(x.dtype, broadcast_shapes(x.shape, y.shape))


ADD = Primitive("t_add", body=lambda x, y: x + y, infer=_broadcast, inputs=("x", "y"))
INC = Primitive("t_inc", body=lambda x: x + np.float32(1), infer=lambda x: Aval(x.dtype, x.shape), inputs=("x",))
LESS = Primitive(
    "t_less", body=lambda x, y: x < y, infer=lambda x, y: Aval(as_dtype("bool"), x.shape), inputs=("x", "y")
)
POSITIVE = Primitive(
    "t_positive",
    body=lambda x: x[x > 0],
    infer=lambda x: Aval(x.dtype, (None,)),
    inputs=("x",),
    step="dynamic",
)
TWICE = Primitive(
    "t_twice",
    body=lambda x: np.concatenate([x, x]),
    infer=lambda x: Aval(x.dtype, (None if x.shape[0] is None else 2 * x.shape[0],)),
    inputs=("x",),
)
SHORT = Primitive(
    "t_short", body=lambda x: np.array(x.size < 8), infer=lambda x: Aval(as_dtype("bool"), ()), inputs=("x",)
)


def _check(x: np.ndarray) -> np.ndarray:
    if (x < 0).any():
        raise errors.InvalidArgumentError(None, None, f"negative at {int(np.argmax(x < 0))}")
    return x


CHECK = Primitive("t_check", body=_check, infer=lambda x: Aval(x.dtype, x.shape), inputs=("x",))
READ = Primitive(
    "t_read", body=None, infer=lambda c, shape: Aval(F32, shape), inputs=("c",), attrs=("shape",), groups=("resource",)
)
WRITE = Primitive("t_write", body=None, infer=lambda c, x: (), n_outputs=0, inputs=("c", "x"), groups=("resource", "T"))

KERNELS = {
    "add": (native.add, ("float32",) * 3),
    "inc": (native.increment, ("float32",)),
    "less": (native.less_than, ("float32", "float32", "uint8")),
    "check": (native.check_positive, ("float32",) * 2),
}


def link(spec: KernelSpec) -> int:
    return KERNELS[spec.source][0]()


class Maker:
    """A graph and its Program, one step a node."""

    def __init__(self, name: str = "program") -> None:
        self.graph = Graph(name)
        self.program = Program(self.graph, [], (), (), (), [])

    def number(self, value: Value) -> int:
        self.program.values.append(value)
        return len(self.program.values) - 1

    def input(self, *shape: int | None, dtype: str = "float32") -> int:
        node = self.graph.add(structural_ops.PLACEHOLDER, (), {"dtype": as_dtype(dtype), "shape": shape})
        self.graph.inputs.append(node.outputs[0])
        number = self.number(node.outputs[0])
        self.program.inputs += (number,)
        return number

    def constant(self, *values: float) -> int:
        tensor = from_array(np.array(values, np.float32))
        node = self.graph.add(structural_ops.CONST, (), {"value": tensor})
        number = self.number(node.outputs[0])
        self.program.constants[number] = tensor
        return number

    def node(self, op: Any, *inputs: int, **attrs: Any) -> Any:
        return self.graph.add(op, tuple([self.program.values[i] for i in inputs]), attrs)

    def step(self, kind: type, of: Any, inputs: tuple[int, ...], after: tuple[int, ...] = (), **fields: Any) -> Any:
        outputs = tuple([self.number(value) for value in of.outputs])
        self.program.steps.append(kind(inputs=inputs, outputs=outputs, nodes=(of,), **fields))
        self.program.after.append(after)
        return outputs[0] if len(outputs) == 1 else outputs

    def kernel(self, name: str, op: Any, *inputs: int, in_place: bool = False, **fields: Any) -> int:
        node = self.node(op, *inputs)
        out = len(self.program.values)
        rank = len(node.outputs[0].aval.shape)
        fields.setdefault("extent", Size(1, tuple([(out, axis) for axis in range(rank)])))
        fields.setdefault("cost", 1.0)
        return self.step(
            KernelStep,
            node,
            inputs,
            kernel=KernelSpec(name, KERNELS[name][1], 0),
            buffers=(out,) if in_place else (*inputs, out),
            sizes=(),
            in_place=((0, 0),) if in_place else (),
            **fields,
        )

    def output(self, *numbers: int) -> Program:
        self.program.outputs += numbers
        self.graph.outputs += [self.program.values[i] for i in numbers]
        return self.program


def tensor(*values: float) -> Any:
    return from_array(np.array(values, np.float32))


def run(program: Program, *arguments: Any) -> list[list[float]]:
    made = plan(program, [a.aval for a in arguments], link)
    first = [as_array(t).tolist() for t in made.run(list(arguments))]
    assert [as_array(t).tolist() for t in made.run(list(arguments))] == first
    return first


def chain(n: int, in_place: bool) -> Program:
    m = Maker()
    x = m.input(None)
    y = m.kernel("add", ADD, x, x)
    for _ in range(n):
        y = m.kernel("inc", INC, y, in_place=in_place)
    return m.output(y)


@pytest.mark.parametrize("n", [0, 1, 3, 1000])
def test_one_program_any_size(n: int) -> None:
    m = Maker()
    x, y = m.input(None), m.input(None)
    program = m.output(m.kernel("add", ADD, m.kernel("add", ADD, x, y), x))
    assert run(program, tensor(*range(n)), tensor(*[1.0] * n)) == [[2.0 * i + 1 for i in range(n)]]


def test_plans_are_kept_by_shape() -> None:
    program = chain(1, True)
    planner = Planner(link)
    short = planner.plan(program, [Aval(F32, (2,))])
    assert planner.plan(program, [Aval(F32, (2,))]) is short
    assert planner.plan(program, [Aval(F32, (3,))]) is not short


def test_in_place_chain_is_one_slot() -> None:
    program = chain(3, True)
    assert run(program, tensor(1, 2)) == [[5, 7]]
    spec = plan(program, [Aval(F32, (2,))], link).spec
    assert len({step.buffers[-1] for step in spec.steps}) == 1
    assert not any(step.copies for step in spec.steps)


def test_a_step_in_place_waits_for_those_that_read_what_it_writes_over_and_for_no_older_ones() -> None:
    spec = plan(chain(50, True), [Aval(F32, (8,))], link).spec
    assert [step.after for step in spec.steps] == [(i - 1,) if i else () for i in range(51)]


def test_an_operand_that_is_read_later_is_copied() -> None:
    m = Maker()
    x = m.input(None)
    y = m.kernel("add", ADD, x, x)
    z = m.kernel("inc", INC, y, in_place=True)
    assert run(m.output(m.kernel("add", ADD, y, z)), tensor(1, 2)) == [[5, 9]]


@pytest.mark.parametrize("kept", ["input", "constant", "output"])
def test_an_operand_that_others_hold_is_copied(kept: str) -> None:
    m = Maker()
    x = m.input(None)
    source = {"input": x, "constant": m.constant(1, 2), "output": m.kernel("add", ADD, x, x)}[kept]
    z = m.kernel("inc", INC, source, in_place=True)
    argument = tensor(1, 2)
    expected = [2.0, 3.0] if kept != "output" else [3.0, 5.0]
    assert run(m.output(z, source), argument)[0] == expected
    assert as_array(argument).tolist() == [1, 2]


def test_memory_is_used_again() -> None:
    m = Maker()
    x = m.input(None)
    y = x
    for _ in range(20):
        y = m.kernel("add", ADD, y, x)
    program = m.output(y)
    assert run(program, tensor(*range(100))) == [[21.0 * i for i in range(100)]]
    assert plan(program, [Aval(F32, (100,))], link).spec.arenas[0] <= 2 * 448


def test_alias_shares_memory() -> None:
    m = Maker()
    x = m.input(None)
    y = m.kernel("add", ADD, x, x)
    z = m.step(programs.AliasStep, m.node(INC, y), (y,))
    made = plan(m.output(z, x), [Aval(F32, (2,))], link)
    r, _ = made.run([tensor(1, 2)])
    assert as_array(r).tolist() == [2, 4]
    assert len(made.spec.steps) == 1
    m = Maker()
    x = m.input(None)
    argument = tensor(1, 2)
    (r,) = plan(m.output(m.step(programs.AliasStep, m.node(INC, x), (x,))), [Aval(F32, (2,))], link).run([argument])
    assert as_array(r).ctypes.data == as_array(argument).ctypes.data


def test_host_steps() -> None:
    m = Maker()
    x = m.input(None)
    y = m.kernel("add", ADD, x, x)
    node = m.node(INC, y)
    z = m.step(programs.HostStep, node, (y,), node=node)
    assert run(m.output(m.kernel("add", ADD, z, x)), tensor(1, 2)) == [[4, 7]]


@pytest.mark.parametrize("batch", [(), (3,), (2, 1)])
def test_gemm(batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=(*batch, 5, 7)).astype(np.float32)
    b = rng.normal(size=(2, 4, 7) if batch == (2, 1) else (4, 7)).astype(np.float32)
    op = Primitive(
        "t_matmul",
        body=None,
        infer=lambda x, y: Aval(F32, (*broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-2])),
        inputs=("x", "y"),
    )
    m = Maker()
    x, y = m.input(*[None] * a.ndim), m.input(*[None] * b.ndim)
    z = m.step(programs.GemmStep, m.node(op, x, y), (x, y), transpose_a=False, transpose_b=True)
    (r,) = plan(m.output(z), [Aval(F32, a.shape), Aval(F32, b.shape)], link).run([from_array(a), from_array(b)])
    np.testing.assert_allclose(as_array(r), a @ np.swapaxes(b, -1, -2), rtol=1e-5, atol=1e-6)


def test_variables() -> None:
    m = Maker()
    c, x = m.input(dtype="resource"), m.input(None)
    before = m.step(programs.ReadStep, m.node(READ, c, shape=(2,)), (c,))
    after = m.kernel("add", ADD, before, x)
    m.step(programs.AssignStep, m.node(WRITE, c, after), (c, after), after=(0,))
    program = m.output(before)
    cell = Cell(Aval(F32, (2,)), "v")
    cell_assign(cell, tensor(1, 2))
    made = plan(program, [Aval(as_dtype("resource"), ()), Aval(F32, (2,))], link)
    assert as_array(made.run([cell, tensor(1, 1)])[0]).tolist() == [1, 2]
    assert as_array(made.run([cell, tensor(1, 1)])[0]).tolist() == [2, 3]
    assert as_array(cell_read(cell)).tolist() == [3, 4]


def dynamic_program() -> Program:
    """y = x[x > 0]; y + y, and x + x beside it."""
    m = Maker()
    x = m.input(None)
    node = m.node(POSITIVE, x)
    y = m.step(programs.DynamicStep, node, (x,), node=node)
    z = m.kernel("add", ADD, y, y)
    w = m.kernel("add", ADD, x, x)
    return m.output(w, z, y, m.kernel("inc", INC, z, in_place=True))


def test_the_rest_is_planned_when_its_sizes_are_known() -> None:
    made = plan(dynamic_program(), [Aval(F32, (3,))], link)
    for values in ([1, -1, 2], [-1, -1, -1], [1, 2, 3], [5, -1, -1]):
        kept = [float(v) for v in values if v > 0]
        out = [as_array(t).tolist() for t in made.run([tensor(*values)])]
        assert out == [[2.0 * v for v in values], [2 * v for v in kept], kept, [2 * v + 1 for v in kept]]


def test_two_dynamic_steps_one_after_the_other() -> None:
    m = Maker()
    x = m.input(None)
    node = m.node(POSITIVE, x)
    y = m.step(programs.DynamicStep, node, (x,), node=node)
    z = m.kernel("add", ADD, y, y)
    node = m.node(POSITIVE, z)
    w = m.step(programs.DynamicStep, node, (z,), node=node)
    assert run(m.output(m.kernel("inc", INC, w, in_place=True)), tensor(1, -1, 2)) == [[3, 5]]


def test_a_step_after_the_rest_waits_with_it() -> None:
    """sum(x[x > 0]) has a known shape, but its producer comes later; so does what takes it."""
    total = Primitive("t_sum", body=lambda x: x.sum(keepdims=True), infer=lambda x: Aval(F32, (1,)), inputs=("x",))
    m = Maker()
    x = m.input(None)
    node = m.node(POSITIVE, x)
    y = m.step(programs.DynamicStep, node, (x,), node=node)
    node = m.node(total, y)
    z = m.step(programs.HostStep, node, (y,), node=node)
    assert run(m.output(m.kernel("add", ADD, z, z), x), tensor(1, -1, 2)) == [[6], [1, -1, 2]]


def branch(op_name: str, op: Any) -> Program:
    m = Maker(op_name)
    x = m.input(None)
    return m.output(m.kernel(op_name, op, x, x) if op is ADD else m.kernel(op_name, op, x, in_place=True))


def cond_program(then: Program, other: Program) -> Program:
    m = Maker()
    p, x = m.input(dtype="bool"), m.input(None)
    node = m.node(structural_ops.COND, p, x, then_graph=then.graph, else_graph=other.graph)
    y = m.step(programs.CondStep, node, (p, x), then_program=then, else_program=other)
    return m.output(m.kernel("add", ADD, y, y))


def test_cond() -> None:
    program = cond_program(branch("add", ADD), branch("inc", INC))
    assert run(program, from_array(np.array(True)), tensor(1, 2)) == [[4, 8]]
    assert run(program, from_array(np.array(False)), tensor(1, 2)) == [[4, 6]]


def test_cond_whose_branches_give_other_shapes() -> None:
    m = Maker("twice")
    x = m.input(None)
    node = m.node(TWICE, x)
    twice = m.output(m.step(programs.HostStep, node, (x,), node=node))
    program = cond_program(twice, branch("inc", INC))
    assert run(program, from_array(np.array(True)), tensor(1, 2)) == [[2, 4, 2, 4]]
    assert run(program, from_array(np.array(False)), tensor(1, 2)) == [[4, 6]]


def while_program(stacked: bool = False) -> Program:
    """while x < limit: x += 1, with the x before each iteration stacked."""
    c = Maker("cond")
    x, limit = c.input(1), c.input(1)
    test = c.output(c.kernel("less", LESS, x, limit, extent=Size()))
    b = Maker("body")
    x, limit = b.input(1), b.input(1)
    body = b.output(b.kernel("inc", INC, x, in_place=True), *[x] * stacked)
    m = Maker()
    x, limit = m.input(1), m.input(1)
    node = m.node(structural_ops.WHILE, x, limit, cond_graph=test.graph, body_graph=body.graph, n_carried=1)
    made = m.step(programs.WhileStep, node, (x, limit), cond_program=test, body_program=body, n_carried=1)
    if not stacked:
        return m.output(m.kernel("add", ADD, made, made))
    final, rows = made
    return m.output(final, rows, m.kernel("add", ADD, rows, rows))


@pytest.mark.parametrize("limit", [0, 1, 5, 300])
def test_while(limit: int) -> None:
    assert run(while_program(), tensor(0), tensor(limit)) == [[2.0 * limit]]


@pytest.mark.parametrize("limit", [0, 1, 5, 300])
def test_while_with_stacked_rows(limit: int) -> None:
    rows = [[float(i)] for i in range(limit)]
    assert run(while_program(True), tensor(0), tensor(limit)) == [[limit], rows, [[2 * i] for (i,) in rows]]


def test_while_whose_shapes_change() -> None:
    c = Maker("cond")
    x = c.input(None)
    node = c.node(SHORT, x)
    test = c.output(c.step(programs.HostStep, node, (x,), node=node))
    b = Maker("body")
    x = b.input(None)
    node = b.node(TWICE, x)
    body = b.output(b.step(programs.HostStep, node, (x,), node=node))
    m = Maker()
    x = m.input(None)
    node = m.node(structural_ops.WHILE, x, cond_graph=test.graph, body_graph=body.graph, n_carried=1)
    y = m.step(programs.WhileStep, node, (x,), cond_program=test, body_program=body, n_carried=1)
    program = m.output(m.kernel("add", ADD, y, y))
    assert run(program, tensor(1)) == [[2.0] * 8]
    assert run(program, tensor(1, 2, 3)) == [[2.0, 4.0, 6.0] * 4]


def test_a_failing_check_is_explained_by_the_ops_body() -> None:
    m = Maker()
    x = m.input(None)
    y = m.kernel("add", ADD, x, x)
    node = m.node(CHECK, y)
    out = len(m.program.values)
    z = m.step(
        KernelStep,
        node,
        (y,),
        kernel=KernelSpec("check", ("float32",) * 2, 1),
        buffers=(y, out),
        sizes=(Size(0),),
        extent=Size(1, ((out, 0),)),
        cost=1.0,
        fallible=(Fallible(node, "negative"),),
    )
    made = plan(m.output(z), [Aval(F32, (3,))], link)
    with pytest.raises(errors.InvalidArgumentError, match="negative at 1"):
        made.run([tensor(1, -2, 3)])
    assert as_array(made.run([tensor(1, 2, 3)])[0]).tolist() == [2, 4, 6]


def test_shapes_that_do_not_fit() -> None:
    m = Maker()
    x, y = m.input(None), m.input(None)
    program = m.output(m.kernel("add", ADD, x, y))
    with pytest.raises(CannotPlan, match="Incompatible shapes"):
        plan(program, [Aval(F32, (2,)), Aval(F32, (3,))], link)


def test_sizes_with_several_factors() -> None:
    m = Maker()
    x = m.input(None, None)
    y = m.kernel("add", ADD, x, x)
    m.program.steps[0].sizes = (Size(3), Size(1, ((x, 1),)), Size(2, ((x, 0), (x, 1))))
    spec = plan(m.output(y), [Aval(F32, (4, 5))], link).spec
    step = spec.steps[0]
    assert isinstance(step, KernelCall)
    assert step.sizes == (3, 5, 40)
    assert step.extent == 20


def test_large_steps_are_cut_by_shape_alone() -> None:
    program = chain(0, False)
    made = plan(program, [Aval(F32, (1_000_000,))], link)
    assert made.shards()[0] > 8
    assert made.parallel
    small = plan(program, [Aval(F32, (1000,))], link)
    assert small.shards() == [1]
    assert not small.parallel


def test_nothing_leaks() -> None:
    dynamic = plan(dynamic_program(), [Aval(F32, (3,))], link)
    loop = plan(while_program(True), [Aval(F32, (1,))] * 2, link)

    def everything() -> None:
        dynamic.run([tensor(1, -1, 2)])
        loop.run([tensor(0), tensor(40)])

    for _ in range(3):
        everything()
    before = pool_statistics()["live_blocks"]
    for _ in range(30):
        everything()
    assert pool_statistics()["live_blocks"] == before


def random_program(rng: np.random.Generator, n: int) -> tuple[Program, list[np.ndarray]]:
    """A program of adds, in-place increments, aliases and host steps on vectors of n, and what it gives for 0..n-1."""
    m = Maker()
    x = m.input(None)
    numbers, values = [x], [np.arange(n, dtype=np.float32)]
    for _ in range(int(rng.integers(3, 40))):
        i, j = (max(0, len(numbers) - 1 - int(k)) for k in rng.exponential(3.0, 2))
        a, b = numbers[i], numbers[j]
        kind = rng.choice(["add", "add", "inc", "inc", "alias", "host"])
        if kind == "add":
            numbers.append(m.kernel("add", ADD, a, b))
            values.append(values[i] + values[j])
        elif kind == "inc":
            numbers.append(m.kernel("inc", INC, a, in_place=True))
            values.append(values[i] + np.float32(1))
        elif kind == "alias":
            numbers.append(m.step(programs.AliasStep, m.node(INC, a), (a,)))
            values.append(values[i])
        else:
            node = m.node(INC, a)
            numbers.append(m.step(programs.HostStep, node, (a,), node=node))
            values.append(values[i] + np.float32(1))
    chosen = sorted({int(k) for k in rng.integers(0, len(numbers), 3)} | {len(numbers) - 1})
    return m.output(*[numbers[k] for k in chosen]), [values[k] for k in chosen]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serial and parallel, whole and in shards, on one thread and on eight: the same, and right."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([0, 1, 17, 200]))
    program, expected = random_program(rng, n)
    argument = from_array(np.arange(n, dtype=np.float32))
    before = num_threads()
    try:
        for parallel in (False, True, "tight", "late"):
            if parallel == "tight":
                monkeypatch.setattr(schedule, "LARGE_ARENA", 0)
            elif parallel == "late":
                monkeypatch.setattr(arena, "LAG", 2)
            elif parallel:
                monkeypatch.setattr(step_costs, "WAKE_NS", -1e12)
                monkeypatch.setattr(step_costs, "SHARD_NS", 20.0)
            made = plan(program, [argument.aval], link)
            assert made.parallel == bool(parallel)
            for threads in (1, 8):
                set_num_threads(threads)
                for _ in range(3):
                    for got, want in zip(made.run([argument]), expected, strict=True):
                        np.testing.assert_array_equal(as_array(got), want)
    finally:
        set_num_threads(before)


def described(thing: Any) -> Any:
    """A PlanSpec and all that is in it as plain values."""
    if isinstance(thing, (list, tuple)):
        return [described(each) for each in thing]
    if isinstance(thing, (PlanSpec, specs.StepSpec, Slot, Operand)):
        left_out = ("source", "explain", "keep", "function", "resolve", "again")
        return {name: described(value) for name, value in vars(thing).items() if name not in left_out}
    return str(as_array(thing)) if hasattr(thing, "block") else thing


@pytest.mark.parametrize("seed", range(40))
def test_a_plan_for_other_sizes_is_what_would_be_made_anew(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    program, _ = random_program(rng, 5)
    planner = schedule.Planner(link)
    if seed % 2:
        monkeypatch.setattr(step_costs, "WAKE_NS", -1e12)
        monkeypatch.setattr(step_costs, "SHARD_NS", 20.0)
    for n in (5, 300, 0, 17, 4000):
        aval = Aval(F32, (n,))
        assert described(planner.plan(program, [aval]).spec) == described(plan(program, [aval], link).spec)
    assert len(planner._patterns) == 1


def test_place_never_overlaps_tenants_in_use() -> None:
    rng = np.random.default_rng(0)
    for trial in range(60):
        n = int(rng.integers(2, 40))
        after = [
            tuple(sorted({int(rng.integers(0, i)) for _ in range(int(rng.integers(0, 3)))})) if i else ()
            for i in range(n)
        ]
        ended = Ended(after)
        tenants = []
        for _ in range(int(rng.integers(1, 30))):
            steps = sorted({int(s) for s in rng.integers(0, n, int(rng.integers(1, 4)))})
            tenants.append(Allocation(int(rng.integers(0, 300)), steps[0], steps[-1], frozenset(steps)))
        parallel = trial % 2 == 0
        offsets, size = place(tenants, ended if parallel else None)
        for i, a in enumerate(tenants):
            assert offsets[i] % 64 == 0 and offsets[i] + a.nbytes <= size
            for j in range(i):
                b = tenants[j]
                apart = offsets[i] + a.nbytes <= offsets[j] or offsets[j] + b.nbytes <= offsets[i]
                one, two = (a, b) if a.first < b.first else (b, a)
                if parallel:
                    free = not ended.running(two.first, one.users)
                else:
                    free = one.last < two.first
                assert apart or free


def test_places_of_a_plan() -> None:
    spec = plan(chain(2, True), [Aval(F32, (8,))], link).spec
    assert [slot.place for slot in spec.slots] == [Place.INPUT, Place.BLOCK]


@pytest.mark.parametrize("fault", ["arena", "slot", "shard"])
def test_planted_faults_are_seen(fault: str) -> None:
    """With a fault planted, a program that needs the right thing gives a wrong result: the fuzzer can find it."""
    m = Maker()
    n = 100_000 if fault == "shard" else 16
    x = m.input(None)
    y = m.kernel("add", ADD, x, x)
    z = m.kernel("inc", INC, y, in_place=True)
    w = m.kernel("add", ADD, z, z)
    v = m.kernel("add", ADD, w, y)
    program = m.output(m.kernel("add", ADD, v, x))
    argument = from_array(np.arange(n, dtype=np.float32))
    i = np.arange(n, dtype=np.float32)
    expected = 2 * (2 * i + 1) + 2 * i + i
    right = as_array(plan(program, [argument.aval], link).run([argument])[0])
    np.testing.assert_array_equal(right, expected)
    with planted(fault):
        wrong = as_array(plan(program, [argument.aval], link).run([argument])[0])
    assert not np.array_equal(wrong, expected)


def test_what_is_far_back_counts_as_running(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all steps before each, a plan's memory would grow with the square of its length."""
    monkeypatch.setattr(arena, "WINDOW", 8)
    ended = Ended([() if i == 0 else (i - 1,) for i in range(40)])
    assert ended.running(30, range(20, 35)) == [20, 21, 30, 31, 32, 33, 34]
    assert ended.running(5, range(7)) == [5, 6]
