"""Tests generated from the registry: inference, eager results, lowerings, errors, for every primitive and dtype.

Repeat one op's by `pytest tests/ops -k "[name]"`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_elements import CheckFailed, evaluate
from op_samples import assert_same, op_primitives, samples, spread

from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.base.shapes import Aval, generalises
from fastgraph.core.tensor import as_array, bind, from_array
from fastgraph.errors import OpError

PRIMITIVES = [pytest.param(p, id=p.name) for p in op_primitives()]
WITH_SAMPLES = [
    pytest.param(p, id=p.name)
    for p in op_primitives()
    if p.samples is not None or p.family in ("elementwise", "reduction")
]
LOWERED = [q for q in WITH_SAMPLES if q.values[0].lower is not None]
FAILING = [q for q in PRIMITIVES if q.values[0].error_samples is not None]


def run_body(primitive: Any, arrays: Any, attrs: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        result = primitive.body(*arrays, **attrs)
    return [np.asarray(r) for r in (result if primitive.n_outputs != 1 else (result,))]


def as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def aval_of(array: Any, with_value: bool = False) -> Aval:
    array = np.asarray(array)
    dtype = as_dtype("string") if array.dtype == object else as_dtype(array.dtype)
    return Aval(dtype, array.shape, array if with_value else None)


def describe(primitive: Any, arrays: Any, attrs: Any) -> str:
    given = ", ".join(f"{np.asarray(a).dtype}{list(np.shape(a))}" for a in arrays)
    return f"{primitive.name}({given}; {attrs})"


def valued(primitive: Any, i: int) -> bool:
    """Whether inference needs the value of input i to know a shape."""
    return i in primitive.shape_inputs


@pytest.mark.parametrize("primitive", WITH_SAMPLES)
def test_inference_is_what_happens(primitive: Any) -> None:
    for arrays, attrs in samples(primitive):
        what = describe(primitive, arrays, attrs)
        results = run_body(primitive, arrays, attrs)
        avals = [aval_of(a, valued(primitive, i)) for i, a in enumerate(arrays)]
        inferred = as_list(primitive.infer(*avals, **attrs))
        assert len(inferred) == len(results), what
        for aval, result in zip(inferred, results, strict=True):
            assert result.dtype == aval.dtype.numpy_dtype, what
            if (primitive.step or "").partition(".")[0] in ("dynamic", "counted"):
                assert generalises(aval.shape, result.shape), what
            else:
                assert aval.shape == result.shape, what


@pytest.mark.parametrize("primitive", WITH_SAMPLES)
def test_inference_of_unknown_shapes_admits_what_happens(primitive: Any) -> None:
    for arrays, attrs in samples(primitive):
        what = describe(primitive, arrays, attrs)
        results = run_body(primitive, arrays, attrs)
        for unknown in (lambda s: (None,) * len(s), lambda s: None, lambda s: s):
            avals = [Aval(aval_of(a).dtype, unknown(np.shape(a))) for a in arrays]
            for aval, result in zip(as_list(primitive.infer(*avals, **attrs)), results, strict=True):
                assert aval.dtype.numpy_dtype == result.dtype, what
                assert generalises(aval.shape, result.shape), f"{what}: {aval.shape} does not admit {result.shape}"


@pytest.mark.parametrize("primitive", WITH_SAMPLES)
def test_values_that_inference_knows_are_right(primitive: Any) -> None:
    for arrays, attrs in samples(primitive):
        if any(np.asarray(a).dtype == object for a in arrays):
            continue
        for given in (list(arrays), [fractions(a) for a in arrays]):
            try:
                wanted = run_body(primitive, given, attrs)
            except OpError:  # of fractions, in the domain of few
                continue
            inferred = as_list(primitive.infer(*[aval_of(a, True) for a in given], **attrs))
            for aval, result in zip(inferred, wanted, strict=True):
                if aval.value is not None:
                    assert_same(aval.value, result, describe(primitive, given, attrs))


def fractions(array: Any) -> np.ndarray[Any, Any]:
    """The array if it has integers, else one of its dtype and shape without whole numbers."""
    array = np.asarray(array)
    return (array * 0.37 + 0.11).astype(array.dtype) if np.issubdtype(array.dtype, np.inexact) else array


@pytest.mark.parametrize("primitive", WITH_SAMPLES)
def test_eager_results_are_the_body_and_inputs_stay(primitive: Any) -> None:
    for arrays, attrs in samples(primitive):
        what = describe(primitive, arrays, attrs)
        wanted = run_body(primitive, arrays, attrs)
        for form in (lambda a: a, spread, lambda a: np.array(a, order="F")):
            given = [form(np.asarray(a)) for a in arrays]
            before = [a.copy() for a in given]
            results = as_list(bind(primitive, tuple(from_array(a) for a in given), attrs))
            for result, expected in zip(results, wanted, strict=True):
                assert_same(as_array(result), expected, what)
            for a, b in zip(given, before, strict=True):
                assert a.tobytes() == b.tobytes(), f"{what}: an input was written"


@pytest.mark.parametrize("primitive", WITH_SAMPLES)
def test_results_share_no_memory_with_writable_inputs(primitive: Any) -> None:
    for arrays, attrs in samples(primitive)[:3]:
        given = [np.array(a) for a in arrays]
        results = as_list(bind(primitive, tuple(from_array(a) for a in given), attrs))
        before = [as_array(r).copy() for r in results]
        for a in given:
            if a.dtype != object:
                a[...] = 1
        for r, b in zip(results, before, strict=True):
            assert_same(as_array(r), b, describe(primitive, arrays, attrs))


@pytest.mark.parametrize("primitive", LOWERED)
def test_lowering_says_what_the_body_does(primitive: Any) -> None:
    for arrays, attrs in samples(primitive):
        given = [np.asarray(a) for a in arrays]
        if any(a.dtype == object or a.dtype.kind == "c" for a in given) or max([a.size for a in given] or [0]) > 64:
            continue
        what = describe(primitive, arrays, attrs)
        wanted = run_body(primitive, given, attrs)
        in_avals = [aval_of(a, True) for a in given]
        out_avals = [aval_of(r) for r in wanted]
        with np.errstate(all="ignore"):
            results = evaluate(primitive, given, attrs, in_avals, out_avals)
        for result, expected in zip(results, wanted, strict=True):
            assert_same(result, expected, what)


@pytest.mark.parametrize("primitive", FAILING)
def test_errors_are_tensorflows(primitive: Any) -> None:
    for arrays, attrs, error, text in primitive.error_samples():
        with pytest.raises(error, match=text) as caught:
            bind(primitive, tuple(from_array(np.asarray(a)) for a in arrays), attrs)
        assert f"[Op:{primitive.op_type}]" in str(caught.value)


@pytest.mark.parametrize("primitive", [q for q in FAILING if q.values[0].lower is not None])
def test_what_fails_in_the_body_never_reads_outside_in_the_lowering(primitive: Any) -> None:
    for arrays, attrs, _, _ in primitive.error_samples():
        given = [np.asarray(a) for a in arrays]
        try:
            outputs = as_list(
                primitive.infer(*[aval_of(a, valued(primitive, i)) for i, a in enumerate(given)], **attrs)
            )
        except (ValueError, OpError):
            continue  # no graph with these shapes can be made
        if not all(a.size for a in outputs):
            continue  # no element is computed
        with pytest.raises(CheckFailed) as caught:
            evaluate(primitive, given, attrs, [aval_of(a) for a in given], outputs)
        assert caught.value.position >= 0
