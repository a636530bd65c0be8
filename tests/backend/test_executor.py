"""The executor on plans made by hand: each kind of step, who owns what, and what goes wrong."""

from __future__ import annotations

import threading

import native_kernels as native
import numpy as np
import pytest
from native_kernels import Builder

from fastgraph import errors
from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.buffer import Cell, pool_statistics
from fastgraph.core.tensor import as_array, from_array
from fastgraph.runtime.plan import (
    AssignCell,
    Branch,
    GemmCall,
    HostCall,
    Loop,
    Operand,
    Place,
    PlanSpec,
    ReadCell,
    Rest,
    Slot,
)


def f32(*values: float) -> object:
    return from_array(np.array(values, np.float32))


def test_one_kernel() -> None:
    b = Builder()
    x, y, z, out = b.input((3,)), b.input((3,)), b.input((3,)), b.block((3,))
    b.kernel(native.multiply_add(), (x, y, z), (out,))
    b.output(out)
    plan = b.plan()
    (r,) = plan.run([f32(1, 2, 3), f32(4, 5, 6), f32(7, 8, 9)])
    assert as_array(r).tolist() == [11, 18, 27]
    assert r.dtype == "float32" and tuple(r.shape) == (3,)


def test_results_of_two_calls_do_not_share_memory() -> None:
    b = Builder()
    x, out = b.input((2,)), b.block((2,))
    b.kernel(native.add(), (x, x), (out,))
    b.output(out)
    plan = b.plan()
    (first,) = plan.run([f32(1, 2)])
    (second,) = plan.run([f32(3, 4)])
    assert as_array(first).tolist() == [2, 4]
    assert as_array(second).tolist() == [6, 8]


def test_an_input_that_is_an_output_shares_its_block() -> None:
    b = Builder()
    x = b.input((2,))
    b.output(x)
    b.output(x)
    t = f32(1, 2)
    r, again = b.plan().run([t])
    assert as_array(r).ctypes.data == as_array(t).ctypes.data == as_array(again).ctypes.data


def test_arena_and_in_place_copy() -> None:
    b = Builder()
    x, t, out = b.input((4,)), b.arena((4,)), b.block((4,))
    b.kernel(native.increment(), (x,), (t,), in_place=True, copies=((x, t, 16),))
    b.kernel(native.add(), (t, x), (out,))
    b.output(out)
    tensor = f32(1, 2, 3, 4)
    (r,) = b.plan().run([tensor])
    assert as_array(r).tolist() == [3, 5, 7, 9]
    assert as_array(tensor).tolist() == [1, 2, 3, 4]


def test_constants() -> None:
    b = Builder()
    x, out = b.input((2,)), b.block((2,))
    c = b.slot(Place.CONSTANT, (2,), tensor=f32(10, 20))
    b.kernel(native.add(), (x, c), (out,))
    b.output(out)
    b.output(c)
    r, constant = b.plan().run([f32(1, 2)])
    assert as_array(r).tolist() == [11, 22]
    assert as_array(constant).tolist() == [10, 20]


def test_wrong_inputs_are_refused() -> None:
    b = Builder("named")
    x, out = b.input((2,)), b.block((2,))
    b.kernel(native.add(), (x, x), (out,))
    b.output(out)
    plan = b.plan()
    with pytest.raises(ValueError, match=r"'named' takes 1 inputs, got 2"):
        plan.run([f32(1, 2), f32(1, 2)])
    with pytest.raises(ValueError, match=r"Input 0 of 'named' must be float32\[2\]"):
        plan.run([f32(1, 2, 3)])
    with pytest.raises(ValueError, match=r"Input 0"):
        plan.run([from_array(np.array([1, 2], np.int32))])
    with pytest.raises(TypeError):
        plan.run([np.ones(2, np.float32)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("along_n", [False, True])
def test_gemm(dtype: str, transpose_a: bool, transpose_b: bool, along_n: bool) -> None:
    rng = np.random.default_rng(0)
    m, n, k, batch = 37, 29, 13, 3
    a = (3 * rng.normal(size=(batch, k, m) if transpose_a else (batch, m, k))).astype(dtype)
    w = (3 * rng.normal(size=(n, k) if transpose_b else (k, n))).astype(dtype)
    b = Builder()
    sa, sw, out = b.input(a.shape, dtype), b.input(w.shape, dtype), b.block((batch, m, n), dtype)
    step = GemmCall(
        a=sa, b=sw, c=out, dtype=dtype, transpose_a=transpose_a, transpose_b=transpose_b, m=m, n=n, k=k,
        a_offsets=tuple(i * m * k for i in range(batch)), b_offsets=(0,) * batch, along_n=along_n, pieces=4, chunk=2,
    )  # fmt: skip
    b.step(step, (sa, sw), (out,))
    b.output(out)
    (r,) = b.plan().run([from_array(a), from_array(w)])
    expected = (a.swapaxes(1, 2) if transpose_a else a) @ (w.T if transpose_b else w)
    np.testing.assert_allclose(as_array(r), expected, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-5)


def test_gemm_without_terms_is_zero() -> None:
    b = Builder()
    x, y, out = b.input((2, 0)), b.input((0, 3)), b.block((2, 3))
    b.step(GemmCall(a=x, b=y, c=out, m=2, n=3, k=0), (x, y), (out,))
    b.output(out)
    (r,) = b.plan().run([from_array(np.zeros((2, 0), np.float32)), from_array(np.zeros((0, 3), np.float32))])
    assert as_array(r).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_host_steps_run_in_order_on_the_calling_thread() -> None:
    seen = []

    def host(name: str):
        def function(t):
            seen.append((name, threading.get_ident()))
            return [from_array(as_array(t) * 2)]

        return function

    b = Builder(parallel=True)
    x, p, q = b.input((2,)), b.given((2,)), b.given((2,))
    b.step(HostCall(operands=(b.operand(x),), outputs=(b.operand(p),), function=host("p")), (x,), (p,))
    b.step(HostCall(operands=(b.operand(x),), outputs=(b.operand(q),), function=host("q")), (x,), (q,))
    b.output(p)
    b.output(q)
    r, _ = b.plan().run([f32(1, 2)])
    assert as_array(r).tolist() == [2, 4]
    assert seen == [("p", threading.get_ident()), ("q", threading.get_ident())]


def test_a_host_step_that_gives_another_shape_is_an_internal_error() -> None:
    b = Builder()
    x, p = b.input((2,)), b.given((2,))
    function = lambda t: [f32(1)]
    b.step(HostCall(operands=(b.operand(x),), outputs=(b.operand(p),), function=function, name="odd"), (x,), (p,))
    b.output(p)
    with pytest.raises(errors.InternalError, match="odd"):
        b.plan().run([f32(1, 2)])


def test_an_exception_of_a_host_step_reaches_the_caller() -> None:
    class Mine(Exception):
        pass

    def function(t):
        raise Mine("text")

    b = Builder()
    x, p = b.input((2,)), b.given((2,))
    b.step(HostCall(operands=(b.operand(x),), outputs=(b.operand(p),), function=function), (x,), (p,))
    b.output(p)
    plan = b.plan()
    for _ in range(3):
        with pytest.raises(Mine, match="text"):
            plan.run([f32(1, 2)])


def cell_of(*values: float) -> Cell:
    from fastgraph.core.tensor import cell_assign

    cell = Cell(Aval(as_dtype("float32"), (len(values),)), "v")
    cell_assign(cell, f32(*values))
    return cell


def counter_plan(n: int = 2) -> object:
    """v.assign(v + x); gives the value read before."""
    b = Builder()
    c, x, before, after = b.cell(), b.input((n,)), b.given((n,)), b.block((n,))
    b.step(ReadCell(cell=c, output=b.operand(before), name="v"), (c,), (before,))
    k = b.kernel(native.add(), (before, x), (after,))
    b.step(AssignCell(cell=c, value=b.operand(after), after=(k,)), (c, after), ())
    b.output(before)
    return b.plan()


def test_variables_are_read_and_assigned() -> None:
    from fastgraph.core.tensor import cell_read

    cell = cell_of(1, 2)
    plan = counter_plan()
    (r1,) = plan.run([cell, f32(1, 1)])
    (r2,) = plan.run([cell, f32(1, 1)])
    assert as_array(r1).tolist() == [1, 2]  # what was read before stays
    assert as_array(r2).tolist() == [2, 3]
    assert as_array(cell_read(cell)).tolist() == [3, 4]
    assert cell.assignments == 3


def test_reading_an_empty_variable() -> None:
    with pytest.raises(errors.FailedPreconditionError, match="v"):
        counter_plan().run([Cell(Aval(as_dtype("float32"), (2,)), "v"), f32(1, 1)])


def scalar_plan(address: int, out_dtype: str = "float32") -> object:
    """A plan of (x, limit): one kernel on both."""
    b = Builder()
    x, limit = b.input((1,)), b.input((1,))
    out = b.block((1,), out_dtype)
    b.kernel(address, (x, limit), (out,))
    b.output(out)
    return b.plan()


def body_plan() -> object:
    b = Builder()
    x, _limit, out = b.input((1,)), b.input((1,)), b.block((1,))
    b.kernel(native.increment(), (x,), (out,), in_place=True, copies=((x, out, 4),))
    b.output(out)
    return b.plan()


def loop_plan() -> object:
    b = Builder()
    x, limit, out = b.input((1,)), b.input((1,)), b.given((1,))
    cond = scalar_plan(native.less_than(), "bool")
    step = Loop(cond_plan=cond, body_plan=body_plan(), n_carried=1, inputs=(x, limit), outputs=(b.operand(out),))
    b.step(step, (x, limit), (out,))
    b.output(out)
    return b.plan()


@pytest.mark.parametrize("limit", [0, 1, 2, 1000])
def test_loop(limit: int) -> None:
    plan = loop_plan()
    start = f32(0)
    for _ in range(2):
        (r,) = plan.run([start, f32(limit)])
        assert as_array(r).tolist() == [limit]
    assert as_array(start).tolist() == [0]


def test_branch() -> None:
    b = Builder()
    p, x, y, out = b.input((), "bool"), b.input((1,)), b.input((1,)), b.given((1,))
    step = Branch(
        predicate=p,
        then_plan=scalar_plan(native.add()),
        else_plan=body_plan(),
        inputs=(x, y),
        outputs=(b.operand(out),),
    )
    b.step(step, (p, x, y), (out,))
    b.output(out)
    plan = b.plan()
    assert as_array(plan.run([from_array(np.array(True)), f32(1), f32(10)])[0]).tolist() == [11]
    assert as_array(plan.run([from_array(np.array(False)), f32(1), f32(10)])[0]).tolist() == [2]


def rest_plan(resolved: list) -> object:
    """x[x > 0] (a host step whose shape is data), then + itself in a plan made for the size."""

    def double(shapes: tuple) -> object:
        ((n,),) = shapes
        resolved.append(n)
        b = Builder()
        x, out = b.input((n,)), b.block((n,))
        b.kernel(native.add(), (x, x), (out,))
        b.output(out)
        return b.plan()

    b = Builder()
    x = b.input((4,))
    kept = b.given((), dynamic=True)
    out = b.given((), dynamic=True)
    mask = lambda t: [from_array(as_array(t)[as_array(t) > 0])]
    b.step(HostCall(operands=(b.operand(x),), outputs=(b.operand(kept),), function=mask), (x,), (kept,))
    b.step(Rest(inputs=(kept,), outputs=(b.operand(out),), resolve=double), (kept,), (out,))
    b.output(out)
    return b.plan()


def test_rest_after_a_shape_that_is_data() -> None:
    resolved: list[int] = []
    plan = rest_plan(resolved)
    assert as_array(plan.run([f32(1, -2, 3, -4)])[0]).tolist() == [2, 6]
    assert as_array(plan.run([f32(-1, -2, -3, -4)])[0]).tolist() == []
    assert as_array(plan.run([f32(1, 2, 3, 4)])[0]).tolist() == [2, 4, 6, 8]
    assert resolved == [2, 0, 4]


def test_a_loop_whose_shapes_change() -> None:
    """x = concat(x, x) while its size is below 8: the plans are made again for each size."""

    def plans(shapes: tuple) -> tuple:
        ((n,),) = shapes
        c = Builder()
        x, small = c.input((n,)), c.given((), "bool")
        less = lambda t: [from_array(np.array(as_array(t).size < 8))]
        c.step(HostCall(operands=(c.operand(x),), outputs=(c.operand(small),), function=less), (x,), (small,))
        c.output(small)
        b = Builder()
        x, longer = b.input((n,)), b.given((2 * n,))
        twice = lambda t: [from_array(np.concatenate([as_array(t)] * 2))]
        b.step(HostCall(operands=(b.operand(x),), outputs=(b.operand(longer),), function=twice), (x,), (longer,))
        b.output(longer)
        return c.plan(), b.plan(), None

    b = Builder()
    x, out = b.input((1,)), b.given((), dynamic=True)
    cond, body, _ = plans(((1,),))
    step = Loop(cond_plan=cond, body_plan=body, n_carried=1, inputs=(x,), outputs=(b.operand(out),), again=plans)
    b.step(step, (x,), (out,))
    b.output(out)
    plan = b.plan()
    for _ in range(3):
        assert as_array(plan.run([f32(3)])[0]).tolist() == [3] * 8


@pytest.mark.parametrize("parallel", [False, True])
def test_the_first_failing_step_in_program_order_wins(parallel: bool) -> None:
    said = []

    def explain(step, ordinal, position, operands):
        said.append((step.name, ordinal, position, as_array(operands[0]).tolist()))
        return errors.InvalidArgumentError(None, None, f"{step.name} at {position}")

    explain.run_failed = lambda begun: None  # which processes of MPI ask for

    b = Builder(parallel=parallel)
    b.spec.explain = explain
    x, y = b.input((3,)), b.input((3,))
    p, q = b.block((3,)), b.block((3,))
    b.kernel(native.check_positive(), (x,), (p,), sizes=(2,), name="first", cost=1e5)
    b.kernel(native.check_positive(), (y,), (q,), sizes=(5,), name="second", cost=1e6)
    b.output(p)
    b.output(q)
    plan = b.plan()
    with pytest.raises(errors.InvalidArgumentError, match="first at 1"):
        plan.run([f32(1, -2, -3), f32(-1, 2, 3)])
    assert said == [("first", 2, 1, [1, -2, -3])]
    with pytest.raises(errors.InvalidArgumentError, match="second at 0"):
        plan.run([f32(1, 2, 3), f32(-1, 2, 3)])
    assert as_array(plan.run([f32(1, 2, 3), f32(4, 5, 6)])[1]).tolist() == [4, 5, 6]


def test_a_failure_inside_a_loop_reaches_the_caller() -> None:
    b = Builder()
    x, _limit, out = b.input((1,)), b.input((1,)), b.block((1,))
    b.kernel(native.check_positive(), (x,), (out,), sizes=(0,), name="inner")
    b.output(out)
    body = b.plan()
    o = Builder()
    x, limit, out = o.input((1,)), o.input((1,)), o.given((1,))
    cond = scalar_plan(native.less_than(), "bool")
    step = Loop(cond_plan=cond, body_plan=body, n_carried=1, inputs=(x, limit), outputs=(o.operand(out),))
    o.step(step, (x, limit), (out,))
    o.output(out)
    with pytest.raises(errors.InternalError, match="inner"):
        o.plan().run([f32(-1), f32(2)])


def test_memory_exhausted() -> None:
    b = Builder()
    huge = 1 << 45
    x, out = b.input((1,)), b.slot(Place.BLOCK, ())
    b.spec.slots[out].nbytes = huge
    b.kernel(native.add(), (x, x), (out,), extent=1)
    b.output(out)
    with pytest.raises(errors.ResourceExhaustedError, match="OOM"):
        b.plan().run([f32(1)])
    a = PlanSpec([Slot(Place.ARENA, huge, offset=0)], [], [], [], arenas={0: huge})
    from fastgraph.runtime.executor import Plan

    with pytest.raises(errors.ResourceExhaustedError, match="OOM"):
        Plan(a).run([])


def test_a_kernel_over_nothing_is_not_called() -> None:
    def fails(buffers, sizes, begin, end):
        return 1 << 48

    b = Builder()
    x, out = b.input((0,)), b.block((0,))
    b.kernel(native.native(fails), (x,), (out,), extent=0)
    b.output(out)
    assert as_array(b.plan().run([f32()])[0]).tolist() == []


def test_profile_times_each_step() -> None:
    b = Builder()
    x, y, out = b.input((100_000,)), b.arena((100_000,)), b.block((1,))
    b.kernel(native.add(), (x, x), (y,))
    b.kernel(native.add(), (x, x), (out,))
    b.output(out)
    large, small = b.plan().profile([from_array(np.zeros(100_000, np.float32))], 20)
    assert large > 5 * small > 0


def test_cuda_is_a_seam() -> None:
    from fastgraph.runtime.executor import Plan
    from fastgraph.runtime.plan import CUDA

    with pytest.raises(errors.UnimplementedError, match="device 1"):
        Plan(PlanSpec([Slot(Place.BLOCK, 4, device=CUDA)], [], [], []))
    with pytest.raises(errors.UnimplementedError, match="device 1"):
        Plan(PlanSpec([], [HostCall(device=CUDA, launch=CUDA)], [], []))


def test_plans_that_would_corrupt_memory_are_refused() -> None:
    from fastgraph.runtime.executor import Plan

    with pytest.raises(ValueError, match="behind the arena"):
        Plan(PlanSpec([Slot(Place.ARENA, 64, offset=64)], [], [], [], arenas={0: 64}))
    with pytest.raises(ValueError, match="no Block of its own"):
        Plan(PlanSpec([Slot(Place.ARENA, 64)], [], [], [Operand(0, 1, (16,))], arenas={0: 64}))
    with pytest.raises(ValueError, match="There is no slot 3"):
        Plan(PlanSpec([], [], [], [Operand(3, 1, (16,))]))


def test_every_device_has_an_arena_and_only_the_cpus_is_built() -> None:
    from fastgraph.runtime.executor import Plan

    slots = [Slot(Place.ARENA, 64), Slot(Place.ARENA, 64, device=1)]
    with pytest.raises(errors.UnimplementedError, match="device 1"):
        Plan(PlanSpec(slots, [], [], [], arenas={0: 64, 1: 64}))


def test_nothing_leaks() -> None:
    """Every kind of plan above, whether it succeeds or fails, leaves no Block behind."""
    fails = Builder(parallel=True)
    x, mid, out = fails.input((2,)), fails.block((2,)), fails.block((2,))
    fails.kernel(native.add(), (x, x), (mid,), cost=1e5)
    fails.kernel(native.check_positive(), (mid,), (out,), sizes=(0,), cost=1e5)
    fails.output(out)
    failing = fails.plan()
    looping, counting, resting = loop_plan(), counter_plan(), rest_plan([])
    cell = cell_of(0, 0)

    def everything() -> None:
        looping.run([f32(0), f32(20)])
        counting.run([cell, f32(1, 1)])
        resting.run([f32(1, -2, 3, -4)])
        with pytest.raises(errors.InternalError):
            failing.run([f32(-1, -2)])
        with pytest.raises(ValueError):
            failing.run([f32(1)])

    for _ in range(3):
        everything()
    before = pool_statistics()["live_blocks"]
    for _ in range(50):
        everything()
    assert pool_statistics()["live_blocks"] == before
