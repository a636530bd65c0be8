"""Casts: limited ones of every pair of dtypes, other views of the same bits, and what mixes dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags

REAL = ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64"]
REAL += ["uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("source", [*REAL, "complex64", "complex128"])
@pytest.mark.parametrize("target", [*REAL, "complex64", "complex128"])
def test_a_saturating_cast_keeps_what_fits_and_limits_the_rest(source: str, target: str) -> None:
    given, wanted = fg.as_dtype(source), fg.as_dtype(target)
    least = 0 if given.is_unsigned else -3
    values = [np.array(v).astype(given.as_numpy_dtype) for v in (least, 7, given.real_dtype.min, given.real_dtype.max)]
    x = fg.constant(np.stack(values))
    found = fg.saturate_cast(x, wanted)
    assert found.dtype == wanted
    low, high = float(wanted.real_dtype.min), float(wanted.real_dtype.max)
    floats = [d for d in (given.real_dtype, wanted.real_dtype) if d.is_floating]
    rel = 1e-2 if any(d.size == 2 for d in floats) else 1e-6
    for before, after in zip(x.numpy().tolist(), found.numpy().tolist(), strict=True):
        exact = min(max(complex(before).real, low), high)
        assert complex(after).real == pytest.approx(exact, rel=rel)


@pytest.mark.parametrize("target", ["bool", "string"])
def test_bits_are_not_seen_as_bool_or_string(target: str) -> None:
    with pytest.raises(fg.errors.InvalidArgumentError, match=f"attr 'type' of {target} is not in the list of allowed"):
        fg.bitcast([1.0], target)


def test_bits_that_make_no_element_are_refused_by_the_names_of_both_dtypes() -> None:
    with pytest.raises(fg.errors.InvalidArgumentError, match="Cannot bitcast from 19 to 1"):
        fg.bitcast(fg.zeros([3], "float16"), "float32")


@pytest.mark.parametrize("operate", [lambda x: x - 2.5, lambda x: x * 2.5, lambda x: x < 2.5, lambda x: 2.5 + x])
def test_numbers_that_a_dtype_cannot_hold_are_type_errors(operate: Any) -> None:
    with pytest.raises(TypeError, match=r"Cannot convert 2\.5 to EagerTensor of dtype int32"):
        operate(fg.constant([1, 2]))


@pytest.mark.parametrize("kind", [TypeError, fg.errors.InvalidArgumentError])
def test_a_sum_of_mixed_dtypes_is_caught_by_either_class(kind: type[Exception]) -> None:
    with pytest.raises(kind):
        fg.constant([1, 2]) + 2.5


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("n", [1, 7, 40])
@pytest.mark.parametrize("tier", ["eager", "first", pytest.param("last", marks=pytest.mark.slow)])
def test_nan_is_the_same_integer_in_arrays_of_any_size(source: str, n: int, tier: str) -> None:
    least = {"int32": -(2**31), "int64": -(2**63), "uint64": 2**63}
    names = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    x = fg.cast(fg.fill([n], np.nan), source)

    def casts(x: Any) -> Any:
        return [fg.saturate_cast(x, name) for name in names]

    with flags.override(tier="auto" if tier == "eager" else tier):
        found = casts(x) if tier == "eager" else fg.function(casts)(x)
    assert {name: set(f.numpy().tolist()) for name, f in zip(names, found, strict=True)} == {
        name: {least.get(name, 0)} for name in names
    }


def test_a_variable_of_the_dtype_wanted_is_given_back_unread() -> None:
    """As in TensorFlow: who keeps what `cast` gave sees what is assigned later."""
    variable = fg.Variable(1.0)
    assert fg.cast(variable, fg.float32) is variable

    @fg.function
    def later() -> Any:
        kept = fg.cast(variable, "float32")
        variable.assign_add(1.0)
        return kept + 0.0

    assert float(later()) == 2.0
    assert fg.cast(variable, fg.float64).dtype == fg.float64


def test_a_tape_goes_through_what_cast_gives_back() -> None:
    variable = fg.Variable(3.0)
    with fg.GradientTape() as tape:
        y = fg.cast(variable, fg.float32) ** 2
    assert float(tape.gradient(y, variable)) == 6.0
