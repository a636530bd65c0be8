"""The text of kernels: canonical, so that equal computations are one kernel whatever their shapes and names."""

from __future__ import annotations

from typing import Any

import pytest
from tracing import kernels, program, sources

import fastgraph as fg


def chain(x: Any) -> Any:
    return fg.tanh(x) * fg.sigmoid(x) + fg.exp(-x * x) - fg.math.log(1 + x * x)


def test_a_chain_is_one_loop() -> None:
    (source,) = sources(program(lambda x, y: fg.tanh(x) * y + x, (3, 4), (3, 4)))
    assert source == (
        "def kernel(buffers, sizes, begin, end):\n"
        "    x0 = buffers[0]\n"
        "    x1 = buffers[1]\n"
        "    x2 = buffers[2]\n"
        "    for i0 in range(begin, end):\n"
        "        v0 = x0[i0]\n"
        "        v1 = tanh_float32(v0)\n"
        "        v2 = x1[i0]\n"
        "        v3 = v1 * v2\n"
        "        v4 = v3 + v0\n"
        "        x2[i0] = v4\n"
        "    return 0\n"
    )


def test_a_row_is_loaded_once_and_its_loop_is_inside() -> None:
    (source,) = sources(program(lambda x, b: fg.tanh(x + b), (3, 400), (400,)))
    assert source == (
        "def kernel(buffers, sizes, begin, end):\n"
        "    x0 = buffers[0]\n"
        "    x1 = buffers[1]\n"
        "    x2 = buffers[2]\n"
        "    n0 = sizes[0]\n"
        "    for i0 in range(begin, end):\n"
        "        v0 = i0 * n0\n"
        "        for i1 in range(n0):\n"
        "            v1 = v0 + i1\n"
        "            v2 = x0[v1]\n"
        "            v3 = x1[i1]\n"
        "            v4 = v2 + v3\n"
        "            v5 = tanh_float32(v4)\n"
        "            x2[v1] = v5\n"
        "    return 0\n"
    )


def test_a_reduction_takes_what_comes_before_and_after_it_along() -> None:
    (source,) = sources(program(lambda x: fg.sqrt(fg.reduce_sum(x * x, axis=1)), (5, 60)))
    assert source.count("for ") == 2 and "fold_add_float32" in source and "sqrt_float32" in source


@pytest.mark.parametrize(
    "shapes", [((8,), (2, 3, 5)), ((1000, 2), (3, None)), ((None,), (None, None, 4)), ((0,), (7,))]
)
def test_equal_chains_share_a_kernel_whatever_the_shape(shapes: tuple[Any, Any]) -> None:
    first, second = (program(chain, shape) for shape in shapes)
    assert kernels(first)[0].kernel == kernels(second)[0].kernel


def test_equal_reductions_share_a_kernel() -> None:
    def rows(x: Any) -> Any:
        return fg.reduce_sum(fg.exp(x), axis=-1)

    made = [program(rows, shape) for shape in ((4, 70), (70, 70), (2, 3, 80), (None, 100), (6, None))]
    assert len({kernels(p)[0].kernel for p in made}) == 1


def test_few_elements_of_a_row_are_a_number_in_the_kernel() -> None:
    rows = lambda x: fg.reduce_sum(fg.exp(x), axis=-1)
    assert len({kernels(program(rows, shape))[0].kernel for shape in ((4, 10), (None, 10), (5, 10))}) == 1
    assert "range(tile_int64(10, 10))" in sources(program(lambda x: fg.reduce_max(x, axis=-1), (None, 10)))[0]


def test_short_reductions_have_no_loop() -> None:
    (source,) = sources(program(lambda x: fg.nn.softmax(x), (40, 5)))
    assert source.count("for ") == 1 and source.count("exp_float32(") == 5
    (source,) = sources(program(lambda x: fg.reduce_sum(x, axis=1), (None, None)))
    assert source.count("for ") == 2


def test_constants_do_not_specialise_a_kernel() -> None:
    assert sources(program(lambda x: x * 0.125, (9,))) == sources(program(lambda x: x * 0.3, (9,)))
    assert "float32(2.0)" in sources(program(lambda x: x * 2.0, (9,)))[0]


def test_offsets_do_not_specialise_a_kernel() -> None:
    made = [sources(program(lambda x, k=k: fg.slice(x, [k], [5]) + 1.0, (40,))) for k in (3, 4)]
    assert made[0] == made[1]


def test_every_integer_result_is_of_its_dtype() -> None:
    (source,) = sources(program(lambda x, y: (x + y) * x, ("int32", 9), ("int32", 9)))
    assert "add_int32(" in source and "mul_int32(" in source


def test_half_floats_are_rounded_after_each_operation() -> None:
    (source,) = sources(program(lambda x: x * x + x, ("float16", 9)))
    assert source.count("cast_float16_float32(cast_float32_float16(") == 2


def test_pointers_and_sizes_are_read_before_the_loops() -> None:
    for source in sources(program(lambda x: fg.nn.softmax(x * x), (30, 40))):
        body = source[source.index("for ") :]
        assert "buffers[" not in body and "sizes[" not in body


def test_an_operand_that_dies_gives_its_memory() -> None:
    made = program(lambda a, b: fg.matmul(a, b) + 1.0, (4, 4), (4, 4))
    (step,) = kernels(made)
    assert step.in_place == ((0, 0),) and step.kernel.buffer_types == ("float32",)


def test_an_operand_that_lives_on_keeps_its_memory() -> None:
    made = program(lambda a, b: (fg.matmul(a, b), fg.matmul(a, b) + 1.0), (4, 4), (4, 4))
    (step,) = kernels(made)
    assert step.in_place == ()


def test_axes_that_are_joined_after_a_transposition_are_loops_of_their_own() -> None:
    heads = lambda x: fg.reshape(fg.transpose(x, [0, 2, 1, 3]), [6, 20])
    unknown = lambda x: fg.reshape(fg.transpose(x, [0, 2, 1, 3]), [-1, 20])
    for made in (program(heads, (2, 4, 3, 5)), program(unknown, (None, 4, 3, 5))):
        (source,) = sources(made)
        assert "floordiv" not in source and "floormod" not in source


def test_what_is_elementwise_after_a_reshape_divides_no_index() -> None:
    (source,) = sources(program(lambda x, y: fg.tanh(fg.reshape(fg.transpose(x), [6, 20])) + y, (4, 5, 6), (6, 20)))
    assert "floordiv" not in source and "floormod" not in source


def test_reshapes_of_a_product_move_nothing() -> None:
    made = program(lambda a, b: fg.matmul(fg.reshape(fg.matmul(a, b), [2, 3, 4]), fg.transpose(b)), (6, 5), (5, 4))
    assert not any([n.op.name for n in step.nodes] == ["reshape"] for step in kernels(made))
    apart = program(lambda a, b: fg.reshape(fg.matmul(a, b), [2, 3, 2, 2]), (6, 5), (5, 4))
    assert not kernels(apart)


def test_what_is_read_across_rows_is_turned_tile_by_tile() -> None:
    for made in (program(fg.transpose, (40, 50)), program(fg.transpose, (None, 50))):
        (source,) = sources(made)
        assert "turned_block(" in source
    for shape in ((40, 3), (3, 40)):  # too narrow for a block
        assert "turned_block(" not in sources(program(fg.transpose, shape))[0]
    assert "turned_block(" not in sources(program(lambda x: fg.transpose(x, [1, 0, 2]), (40, 50, 60)))[0]
