"""Batching rules: every op on many elements at once against the op on one after the other, values and gradients.

All inputs hold many elements, and each of them alone does. Repeat one op's by `-k "[name]"`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_samples import op_primitives, samples

import fastgraph as fg
from fastgraph.core.tensor import bind, from_array
from fastgraph.graph import batching_rules

N = 3
#: What has no rule: why each element has its own turn.
ONE_BY_ONE = {
    "where_index": "the elements have different numbers of results",
    "mask": "the elements have different numbers of results",
    "unique": "the elements have different numbers of results",
    "suppression": "the elements have different numbers of results",
    "mask_scatter": "which values are whose follows from counting",
    "range": "the elements would have different sizes",
    **dict.fromkeys(
        ("list_reserve", "list_blank", "list_grow", "list_push", "list_push_begin", "list_extend", "list_trim"),
        "the elements would have different sizes",
    ),
    "eye_dynamic": "the elements would have different sizes",
    "broadcast_args": "a computation on sizes",
    "invert_permutation": "integers, and rare",
    "index_shuffle": "integers, and rare",
    "paired_matmul": "the compiler alone makes it, of what is batched",
    "check_indices": "its error names one of many indices",
    "dynamic_partition": "the elements have different numbers of results",
    "ctc": "its batch is another axis, and rare",
    "late_call": "it calls Python, on one element",
    "fit": "it cuts or fills up to sizes that are data",
    "betainc": "it broadcasts scalars alone, and is rare",
    "eigh_tridiagonal": "LAPACK takes one matrix at a time",
    "unravel_index": "integers, and rare",
    "in_top_k": "a measure, and rare",
    **dict.fromkeys(
        (
            "random_numbers",
            "random_numbers_dynamic",
            "state_of_seed",
            "random_gamma",
            "random_poisson",
            "random_binomial",
            "random_truncated",
            "truncated_numbers",
            "permutation",
        ),
        "states are batched as they are drawn: see test_vectorized_map.py",
    ),
    "interval": "integers, and rare",
    "string_format": "strings, and rare",
    "string_join": "strings, and rare",
    "string_split": "the elements have different numbers of results",
    "string_split_v2": "the elements have different numbers of results",
    "reduce_join": "strings, and rare",
    "substr": "strings, and rare",
    "regex_replace": "strings, and rare",
    "regex_full_match": "strings, and rare",
    "characters": "the elements have different numbers of results",
    "ngrams": "the elements have different numbers of results",
    "unique_slices": "the elements have different numbers of results",
    "print": "an effect of each element",
    "draw": "the generator is no tensor: see test_vectorized_map.py",
    "conv2d_filter_grad": "a product with a filter of its own for each element",
    "conv3d_filter_grad": "a product with a filter of its own for each element",
}
#: Of these, what vectorized_map of a single op cannot run: results differ in size, or there is no tensor.
UNTESTED = {
    "where_index", "mask", "unique", "mask_scatter", "range", "eye_dynamic", "print", "draw", "string_split",
    "string_split_v2", "characters", "ngrams", "unique_slices",
}  # fmt: skip
PRIMITIVES = [
    pytest.param(p, id=p.name)
    for p in op_primitives()
    if p.inputs and p.name not in UNTESTED and p.effect is None and (p.samples or p.family in batching_rules.FAMILIES)
]


def variants(array: Any, shift: int) -> list[Any]:
    """One array as that of N elements: floats differ, the rest (indices, sizes, flags) must stay as it is."""
    array = np.asarray(array)
    if array.dtype.kind == "f":
        return [array * np.asarray(1 - 0.25 * ((k + shift) % N) / N, array.dtype) for k in range(N)]
    return [array] * N


def picked(primitive: Any) -> list[Any]:
    """A few samples, of different ranks where there are such."""
    found: dict[Any, Any] = {}
    for arrays, attrs in samples(primitive):
        kinds = tuple((np.ndim(a), np.asarray(a).dtype.kind, np.size(a) == 0) for a in arrays)
        if arrays and all(np.size(a) <= 400 for a in arrays):
            found.setdefault((kinds, repr(attrs)), (arrays, attrs))
    return list(found.values())[:12]


def outputs(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_all_at_once_is_one_by_one(primitive: Any) -> None:
    checked = by_rule = 0
    for arrays, attrs in picked(primitive):
        patterns = [[True] * len(arrays)] + [[i == k for i in range(len(arrays))] for k in range(len(arrays))]
        for pattern in patterns if len(arrays) > 1 else patterns[:1]:
            columns = [
                variants(a, i) if batched else [np.asarray(a)] * N
                for i, (a, batched) in enumerate(zip(arrays, pattern, strict=True))
            ]
            try:
                rows = [outputs(bind(primitive, tuple(from_array(c[k]) for c in columns), attrs)) for k in range(N)]
            except (fg.errors.OpError, ValueError):
                continue  # the sample is one of failure, or a smaller value does not fit
            fixed = [from_array(c[0]) for c in columns]

            def one(elements: Any, pattern: Any = pattern, fixed: Any = fixed, attrs: Any = attrs) -> Any:
                given = iter(elements)
                return bind(
                    primitive, tuple(next(given) if b else f for b, f in zip(pattern, fixed, strict=True)), attrs
                )

            stacked = [from_array(np.stack(c)) for c, b in zip(columns, pattern, strict=True) if b]
            try:
                got = outputs(fg.vectorized_map(one, stacked, fallback_to_while_loop=False))
                by_rule += 1
            except ValueError as error:
                if "No batching rule" not in str(error):
                    raise
                got = outputs(fg.vectorized_map(one, stacked, warn=False))
            for tensor, column in zip(got, zip(*rows, strict=True), strict=True):
                wanted = np.stack([each.numpy() for each in column])
                assert tensor.dtype == column[0].dtype
                if wanted.dtype.kind in "fc" or wanted.dtype.name == "bfloat16":
                    loose = wanted.dtype.itemsize <= 2
                    sizes = np.abs(np.asarray(wanted, np.complex128))
                    largest = max(1.0, sizes[np.isfinite(sizes)].max(initial=0))  # sums may be of another order
                    np.testing.assert_allclose(
                        np.asarray(tensor.numpy(), np.complex128), np.asarray(wanted, np.complex128),
                        rtol=2e-2 if loose else 1e-5, atol=1e-2 if loose else 1e-6 * largest,
                        err_msg=f"{primitive.name} {pattern} {attrs}",
                    )  # fmt: skip
                else:
                    np.testing.assert_array_equal(tensor.numpy(), wanted, f"{primitive.name} {pattern} {attrs}")
            checked += 1
    assert checked, f"no sample of {primitive.name} could be run"
    assert by_rule or primitive.name in ONE_BY_ONE, f"the rule of {primitive.name} serves no sample"


def test_every_rule_is_that_of_an_op() -> None:
    names = {p.name for p in op_primitives()} | {"assert", "strided_slice_dynamic"}
    assert set(batching_rules.rules) <= names, sorted(set(batching_rules.rules) - names)


def test_the_list_of_those_without_a_rule_is_true() -> None:
    names = {p.name for p in op_primitives()}
    assert not set(ONE_BY_ONE) & set(batching_rules.rules)
    assert set(ONE_BY_ONE) - {"draw", "print"} <= names, sorted(set(ONE_BY_ONE) - names)
    without = {
        p.name
        for p in op_primitives()
        if p.inputs
        and p.effect is None
        and p.name not in batching_rules.rules
        and p.family not in batching_rules.FAMILIES
    }
    structural = {"call", "cond", "while", "custom_gradient_identity", "const", "placeholder"}
    assert without - structural <= set(ONE_BY_ONE), sorted(without)
