"""Every primitive in a graph: first tier and kernels give what eager mode gives; lowered ones run without host steps.

Inputs that decide shapes are constants of the graph. Repeat one op's by `pytest tests/ops/test_ops_compiled.py -k "[name]"`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_samples import assert_same, op_primitives, samples

import fastgraph as fg
from fastgraph.core.base import expr, flags
from fastgraph.core.tensor import as_array, bind, from_array

PRIMITIVES = [
    pytest.param(p, id=p.name)
    for p in op_primitives()
    if p.samples is not None or p.family in ("elementwise", "reduction")
]
#: The dtypes for which kernels are made here; every other one is compiled by the fuzzer.
COMPILED = {"float32", "float64", "bfloat16", "int32", "int64", "uint8", "bool", "complex64"}


def chosen(primitive: Any, tier: str) -> list[Any]:
    """A few samples of each combination of dtypes."""
    found: dict[Any, list[Any]] = {}
    for arrays, attrs in samples(primitive):
        key = tuple(str(np.asarray(a).dtype) for a in arrays)
        if tier == "last" and not COMPILED.issuperset(key) and COMPILED.intersection(key):
            continue
        found.setdefault(key, []).append((tuple(np.asarray(a) for a in arrays), attrs))
    few = 2 if tier == "last" else 4
    return [s for group in found.values() for s in group[:: max(1, len(group) // few)][-few:]]


def is_for_host(primitive: Any, dtype: str) -> bool:
    """Whether kernels do not have such elements, or not what the op computes of them."""
    if not dtype.startswith("complex") or primitive.expr is None:
        return dtype == "object"
    terms = [t for t in expr.walk(expr.parse(primitive.expr).root) if isinstance(t, expr.Apply)]
    return any(t.op not in expr.OF_COMPLEX for t in terms)


def as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize("tier", ["first", pytest.param("last", marks=pytest.mark.slow)])
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_graph_is_eager(primitive: Any, tier: str) -> None:
    cases = chosen(primitive, tier)

    def apply_all(*given: Any) -> list[Any]:
        queue = list(given)
        results = []
        for arrays, attrs in cases:
            inputs = [from_array(a) if i in primitive.shape_inputs else queue.pop(0) for i, a in enumerate(arrays)]
            results += as_list(bind(primitive, tuple(inputs), attrs))
        return results

    arguments = [from_array(a) for arrays, _ in cases for i, a in enumerate(arrays) if i not in primitive.shape_inputs]
    wanted = apply_all(*arguments)
    with flags.override(tier=tier):
        function = fg.function(apply_all)
        got = function(*arguments)
        for result, expected in zip(got, wanted, strict=True):
            assert_same(as_array(result), as_array(expected), primitive.name)
        host = any(is_for_host(primitive, str(np.asarray(a).dtype)) for arrays, _ in cases for a in arrays)
        if tier == "last" and primitive.lower is not None and not host:
            assert function.get_concrete_function(*arguments).host_steps == 0


@pytest.mark.parametrize(
    "key",
    [np.s_[:4, 1, :-5], np.s_[:2], np.s_[:, :2], np.s_[0, :, :1], np.s_[1:, :, :3], np.s_[..., :2]],
    ids=str,
)
def test_slices_from_the_beginning_keep_the_strides_of_the_whole(key: Any) -> None:
    x = fg.constant(np.arange(3 * 3 * 8 * 3 * 3).reshape(3, 3, 8, 3, 3))
    with flags.override(tier="last"):
        assert np.array_equal(fg.function(lambda t: t[key])(x).numpy(), x.numpy()[key])


@pytest.mark.parametrize("join", [fg.stack, lambda x: fg.concat(x, 0), fg.add_n])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_many_tensors_are_joined_without_a_kernel_that_nests_them_all(join: Any) -> None:
    """A kernel of 400 nested selections could not be compiled, and with it nothing of the function was."""
    x = np.arange(1200, dtype=np.float32).reshape(400, 3)

    def function(x: Any) -> Any:
        return join([row * 2.0 for row in fg.unstack(x, 400, 0)])

    with flags.override(tier="last"):
        compiled = fg.function(function)
        concrete = compiled.get_concrete_function(fg.constant(x))
        assert concrete.wait() and concrete.host_steps == (join is not fg.add_n)
        np.testing.assert_array_equal(compiled(fg.constant(x)).numpy(), function(fg.constant(x)).numpy())
