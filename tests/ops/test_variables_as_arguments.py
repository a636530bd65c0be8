"""A Variable in the place of a tensor changes nothing: every op, every tensor argument, the value, dtype and gradient."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from tests.oracle.draw import Case, draw, op_functions
from tests.oracle.reasons import NOT_COMPARED
from tests.oracle.runner import PLAIN, Runner, is_float

#: Calls of a name, at most, for each list of dtypes.
MOST = 2
#: Names that ask what kind of object they are given, or draw anew in each call.
LEFT_OUT = {*NOT_COMPARED, "debugging.assert_proper_iterable", "debugging.is_numeric_tensor",
            "nn.nce_loss", "nn.sampled_softmax_loss"}  # fmt: skip
RUNNER = Runner("fastgraph")


def cases() -> list[Case]:
    found, n_of, seen = [], Counter[Any](), set[Any]()
    functions = op_functions()
    for case in draw():
        function = functions.get(case.name)
        dtypes = tuple(a[0] for a in case.arrays.values())
        wide = not dtypes or all(d in ("float64", "complex128", "int64", "float32", "int32", "bool") for d in dtypes)
        if function is None or case.wrong or not dtypes or not wide or case.name in LEFT_OUT:
            continue
        if case.how == "statistics" or (function, case.text, dtypes) in seen or n_of[function, dtypes] >= MOST:
            continue
        n_of[function, dtypes] += 1
        seen.add((function, case.text, dtypes))
        found.append(case)
    return found


def outcome(case: Case, given: dict[str, Any], watch: list[Any]) -> Any:
    """(the tensors of a call, the gradients of their sum), or the class of the error."""
    try:
        with tf.GradientTape() as tape:
            tape.watch(watch)
            made = eval(case.text, {"tf": tf, **PLAIN, **given})
            values = RUNNER.flat(made.read_value() if isinstance(made, tf.Variable) else made)  # of `cast` to its dtype
            floats = [v for v in values if isinstance(v, tf.Tensor) and is_float(v)]
            total = RUNNER.total(floats) if floats and watch else None
        slopes = [] if total is None else tape.gradient(total, watch)
    except Exception as error:
        return type(error).__name__, str(error)[:200]
    slopes = [None if g is None else tf.convert_to_tensor(g) for g in slopes]
    return [(v.dtype, v.numpy()) if isinstance(v, tf.Tensor) else v for v in [*values, *slopes]]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple) and isinstance(a[0], tf.DType):
        if a[0] is not b[0] or not (a[0].is_floating or a[0].is_complex):
            return a[0] is b[0] and np.array_equal(a[1], b[1])
        limit = 1e-5 if a[0].real_dtype is tf.float32 else 1e-13  # gradients may be added in another order
        return bool(np.allclose(a[1], b[1], rtol=limit, atol=limit, equal_nan=True))
    return (a is None and b is None) or (type(a) is type(b) and not isinstance(a, tuple))


def difference(case: Case) -> str:
    """What the first argument changes that becomes a Variable, or ""."""
    tensors = RUNNER.tensors(case.arrays)
    floats = [t for t in tensors.values() if is_float(t)]
    wanted = outcome(case, tensors, floats)
    for name, tensor in tensors.items():
        if tensor.dtype.name == "string":
            continue
        given = {**tensors, name: tf.Variable(tensor)}
        got = outcome(case, given, [given[n] for n, t in tensors.items() if is_float(t)])
        if isinstance(got, tuple) or isinstance(wanted, tuple):
            if not (isinstance(got, tuple) and isinstance(wanted, tuple) and got[0] == wanted[0]):
                return f"{name}: {str(got)[:300]} is not {str(wanted)[:300]}"
        elif len(got) != len(wanted) or not all(map(same, got, wanted)):
            return f"{name}: {str(got)[:300]} is not {str(wanted)[:300]}"
    return ""


def test_variables_are_like_tensors() -> None:
    chosen = cases()
    assert len(chosen) > 900
    assert [f"{case}: {text}" for case in chosen if (text := difference(case))] == []


@pytest.mark.parametrize("stage", [lambda f: f, tf.function], ids=["eager", "function"])
def test_transforms_keep_float64(stage: Any) -> None:
    x = np.arange(8.0) / 7
    for op in (tf.signal.rfft, tf.signal.dct, lambda v: tf.signal.idct(v, 2), lambda v: tf.signal.rfft(v, [6])):
        of_variable = stage(lambda v, op=op: op(v))(tf.Variable(x))
        assert of_variable.dtype.size >= 8 and of_variable.dtype.real_dtype is tf.float64
        # Short cosine transforms are products in Functions.
        np.testing.assert_allclose(of_variable.numpy(), op(tf.constant(x)).numpy(), rtol=1e-14, atol=1e-15)
