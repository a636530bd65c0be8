"""What becomes one kernel, what does not, and in which order."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tracing import kernels, program, trace

import fastgraph as fg
from fastgraph.compiler.assemble import Assembler
from fastgraph.compiler.nest.acyclic_clusters import FAR, Order
from fastgraph.compiler.program.program import (
    AliasStep,
    CountedStep,
    DynamicStep,
    GemmStep,
    HostStep,
    KernelStep,
    Program,
)
from fastgraph.compiler.program.symbolic_extents import witness_avals
from fastgraph.core.base import flags
from fastgraph.runtime.executable import compile_graph


def kinds(made: Program) -> list[str]:
    names = {
        KernelStep: "kernel", CountedStep: "counted", GemmStep: "gemm", AliasStep: "alias", HostStep: "host",
        DynamicStep: "dynamic",
    }  # fmt: skip
    return [names.get(type(step), type(step).__name__) for step in made.steps]


def test_a_broadcast_chain_is_one_kernel() -> None:
    assert kinds(program(lambda x, y, z: fg.where(x > y, x * z, fg.cast(y > 0.0, "float32")), (6, 5), (5,), ())) == [
        "kernel"
    ]


def test_hundreds_of_parts_are_written_few_at_a_time() -> None:
    made = kernels(program(lambda x: fg.unstack(x), (600, 7)))
    assert sum(len(step.outputs) for step in made) == 600 and len(made) == 600 // 32 + 1
    assert len({step.kernel for step in made}) == 2  # all but the last are the same kernel


def test_several_outputs_share_one_kernel() -> None:
    def f(x: Any) -> Any:
        y = fg.exp(x)
        return y, y * 2.0, y + x

    made = program(f, (50,))
    assert kinds(made) == ["kernel"] and len(made.steps[0].outputs) == 3


def test_statistics_of_one_tensor_read_it_once() -> None:
    def along(axis: Any) -> Any:
        def f(x: Any) -> Any:
            return fg.reduce_sum(x, axis), fg.reduce_max(x, axis), fg.reduce_mean(x * x, axis)

        return f

    for axis in (None, 0, 1):
        made = program(along(axis), (64, 128))
        assert kinds(made) == ["kernel"] and len(made.steps[0].outputs) == 3, axis
    assert kinds(program(along(None), (2000, 100))) == ["kernel", "kernel"]  # chunks of all three, then their sums


def test_what_reads_a_tensor_in_other_loops_stays_apart() -> None:
    made = program(lambda x: (fg.reduce_sum(x, 0), fg.reduce_max(x, 1)), (64, 128))
    assert kinds(made) == ["kernel", "kernel"]


def test_readers_of_one_tensor_that_must_wait_for_each_other_stay_apart() -> None:
    def f(x: Any, w: Any) -> Any:
        product = fg.matmul(fg.exp(x), w)  # the second kernel needs it, and it needs the first
        return fg.exp(x), product * x

    assert kinds(program(f, (40, 40), (40, 40))) == ["kernel", "gemm", "kernel"]


def test_movement_costs_nothing_inside_a_kernel() -> None:
    made = program(lambda x: fg.transpose(fg.exp(x)) + fg.reshape(x, [5, 4]), (4, 5))
    assert kinds(made) == ["kernel"]


def test_a_reshape_alone_is_an_alias() -> None:
    assert kinds(program(lambda x: fg.reshape(x, [20]), (4, 5))) == ["alias"]


def test_products_stand_alone_and_their_epilogues_fuse() -> None:
    made = program(lambda x, w, b: fg.nn.relu(fg.matmul(x, w) + b), (8, 16), (16, 4), (4,))
    assert kinds(made) == ["gemm", "kernel"]


def test_a_row_statistic_and_what_uses_it() -> None:
    def norm(x: Any) -> Any:
        mean = fg.reduce_mean(x, axis=-1, keepdims=True)
        variance = fg.reduce_mean(fg.square(x - mean), axis=-1, keepdims=True)
        return (x - mean) * fg.math.rsqrt(variance + 1e-3)

    made = program(norm, (64, 32))
    assert kinds(made) == ["kernel"]


def test_a_column_statistic_is_not_recomputed_for_every_row() -> None:
    made = program(lambda x: x - fg.reduce_mean(x, axis=0), (64, 32))
    assert kinds(made) == ["kernel", "kernel"]


def test_long_sums_are_cut_for_threads_and_short_ones_are_not() -> None:
    assert len(kernels(program(lambda x: fg.reduce_sum(x * x), (1000,)))) == 1
    made = kernels(program(lambda x: fg.reduce_sum(x * x), (100_000,)))
    assert len(made) == 2 and made[0].shardable and made[0].extent.constant == 64


def test_a_gradient_reads_its_input_once() -> None:
    def loss(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.reduce_sum(fg.tanh(x) * x)
        return y, tape.gradient(y, x)

    made = kernels(program(loss, (100_000,)))
    assert len(made) == 2  # the sum by chunks with the gradient beside it, then the chunks' sum


def test_a_shape_that_is_data_is_a_step_of_its_own() -> None:
    made = program(lambda x: fg.reduce_sum(fg.boolean_mask(x, x > 0.0)), (30,))
    assert "counted" in kinds(made) and kinds(made).index("counted") < len(made.steps) - 1
    made = program(lambda x: fg.reduce_sum(fg.unique(x)[0]), (30,))
    assert "dynamic" in kinds(made) and kinds(made).index("dynamic") < len(made.steps) - 1


def test_without_the_pass_every_node_is_a_kernel() -> None:
    with flags.override(passes=frozenset({"inline"})):
        assert len(kernels(program(lambda x: fg.exp(x) * x + 1.0, (9,)))) == 3


def test_a_cycle_is_never_made() -> None:
    # exp(x) feeds both a product and a sum that also takes the product: the two users must not join round the product.
    def f(x: Any) -> Any:
        e = fg.exp(x)
        return e + fg.matmul(e, e)

    assert kinds(program(f, (6, 6))) == ["kernel", "gemm", "kernel"]


def test_readers_far_apart_make_no_cycle() -> None:
    # Kernels of the forward pass and of both derivatives read the same tensors, with the branches' steps between them.
    def product(x: Any, v: Any) -> Any:
        def inner(x: Any) -> Any:
            z = fg.sin(x) * v
            return fg.cond(fg.reduce_sum(x) > 0.0, lambda: z * x, lambda: z)

        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape(persistent=True) as tape:
                tape.watch([x, v])
                y = fg.reduce_sum(inner(x) * inner(2.0 * x))
            first = tape.gradient(y, x)
        return first, tape.gradient(y, v), outer.gradient(first, x)

    assert len(program(product, (2,), ()).steps) > 10  # assembling raises where there is a cycle


@pytest.mark.parametrize("seed", [8, 9, 10])
def test_kernels_of_a_tangled_graph_make_no_cycle(seed: int) -> None:
    rng = random.Random(seed)

    def f(x: Any, y: Any) -> list[Any]:
        values = [x, y]
        for _ in range(60):
            kind = rng.randrange(8)
            a = rng.choice(values[-12:] if rng.random() < 0.6 else values)
            b = rng.choice(values[-6:])
            made = [
                lambda a, b: fg.matmul(a, b),
                lambda a, b: a + fg.reduce_sum(b, 0, keepdims=True),
                lambda a, b: a - fg.reduce_max(b, 1, keepdims=True),
                lambda a, b: fg.tanh(a),
                lambda a, b: a * fg.transpose(b),
                lambda a, b: fg.exp(a) + b,
                lambda a, b: a * b,
                lambda a, b: a * b,
            ][kind](a, b)
            values.append(made)
        return values[-5:]

    program(f, (16, 16), (16, 16))  # assembling raises where there is a cycle


def _leads(waits: dict[int, set[int]], start: int, end: int, through: bool) -> bool:
    """Whether `end` waits for `start`, and with `through` by way of a third."""
    seen: set[int] = set()
    stack = [n for n in waits[end] if not through or n != start]
    while stack:
        at = stack.pop()
        if at == start:
            return True
        if at not in seen:
            seen.add(at)
            stack += waits[at]
    return False


@pytest.mark.parametrize("seed", range(20))
def test_units_may_merge_just_where_no_way_leads_through_a_third(seed: int) -> None:
    rng = random.Random(seed)
    waits: dict[int, set[int]] = {}
    order: Order[int] = Order(lambda unit: waits[unit])
    merges = refusals = 0
    for new in range(120):
        waits[new] = set(rng.sample(sorted(waits), min(len(waits), rng.randrange(5))))
        order.append(new)
        last = new
        for first in list(waits[new]):  # as fusion does: what it waits for is merged with the newest
            if first not in waits[last] or first % 3 == 0 or last % 3 == 0:
                continue  # every third one is a step and stays alone
            between, refused = order.between(first, last)
            assert (refused is not None) == _leads(waits, first, last, through=True)
            if refused is not None:
                assert first in waits[refused] and refused in between
                refusals += 1
                continue
            merged = 1001 + 3 * merges
            needed = (waits.pop(first) | waits.pop(last)) - {first, last}
            order.merge(first, last, merged, between)
            for others in waits.values():
                if not others.isdisjoint((first, last)):
                    others -= {first, last}
                    others.add(merged)
            waits[merged] = needed
            last, merges = merged, merges + 1
        for unit, needed in waits.items():
            assert all(order._place[other] < order._place[unit] for other in needed)
    assert merges > 10 and refusals > 5


def test_what_is_too_far_to_see_stays_apart() -> None:
    waits: dict[int, list[int]] = {0: []}
    order: Order[int] = Order(lambda unit: waits[unit])
    for unit in range(1, FAR + 5):
        waits[unit] = []
    waits[FAR + 5] = list(range(FAR + 5))
    for unit in waits:
        order.append(unit)
    assert order.between(0, FAR + 5)[1] == FAR + 5


def test_clusters_that_are_alike_get_the_steps_that_each_would_get_alone() -> None:
    def f(x: Any, w: Any, i: Any) -> list[Any]:
        found = []
        for _ in range(4):
            h = fg.nn.softmax(fg.matmul(x, w) + fg.reduce_mean(x, 1, keepdims=True))
            x = fg.gather(h, i) * 2.0 - fg.reduce_max(x, 0)
            found += [fg.reduce_sum(h * h), fg.reduce_sum(x, 0)]
        return [*found, x]

    def steps(kind: type[Assembler]) -> tuple[list[Any], int]:
        graph = compile_graph(trace(f, (400, 60), (60, 60), ("int32", 400)))
        assembler = kind(graph, witness_avals(graph, [v.aval.shape for v in graph.parameters]))
        program = assembler.run()
        return [{k: str(v) for k, v in vars(s).items() if k != "name"} for s in program.steps], len(assembler.patterns)

    class EachAlone(Assembler):
        kernels = Assembler.steps_of

    shared, n_patterns = steps(Assembler)
    alone, _ = steps(EachAlone)
    assert shared == alone and n_patterns < len(shared) / 2
