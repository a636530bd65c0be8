"""What becomes one kernel, what does not, and in which order."""

from __future__ import annotations

from typing import Any

from tracing import kernels, program

import fastgraph as fg
from fastgraph import flags
from fastgraph.compiler.program import AliasStep, CountedStep, DynamicStep, GemmStep, HostStep, KernelStep, Program


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
