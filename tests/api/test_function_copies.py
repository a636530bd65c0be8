"""Functions that are pickled and copied, and what a concrete function tells of its captures and its signature."""

from __future__ import annotations

import copy
import inspect
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg


def plain(x: Any) -> Any:
    return x * 2.0


wrapped = fg.function(plain, reduce_retracing=True, input_signature=[fg.TensorSpec([None], fg.float32)])


@fg.function
def decorated(x: Any) -> Any:
    return x + 1.0


class Model:
    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.own = fg.function(self.scale)

    def scale(self, x: Any) -> Any:
        return x * self.factor

    @fg.function
    def call(self, x: Any) -> Any:
        return x * self.factor


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


WAYS = {"pickle": pickled, "copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("called", [False, True])
def test_a_function_with_its_options(way: str, called: bool) -> None:
    if called:
        wrapped([1.0])
    other = WAYS[way](wrapped)
    assert other is not wrapped and other.input_signature == wrapped.input_signature
    assert other.experimental_get_tracing_count() == 0
    np.testing.assert_array_equal(other([1.0, 2.0]), [2.0, 4.0])


def test_a_decorated_function_is_pickled_by_its_name() -> None:
    assert pickled(decorated) is decorated
    assert float(copy.copy(decorated)(fg.constant(1.0))) == float(copy.deepcopy(decorated)(fg.constant(1.0))) == 2.0


@pytest.mark.parametrize("way", ["pickle", "deepcopy"])
def test_objects_with_functions(way: str) -> None:
    m = Model(3.0)
    m.own(fg.constant(1.0)), m.call(fg.constant(1.0))
    other = WAYS[way](m)
    other.factor = 5.0
    x = fg.constant(2.0)
    assert [float(f(x)) for f in (m.own, m.call, other.own, other.call)] == [6.0, 6.0, 10.0, 10.0]


def test_a_bound_function_is_pickled_with_its_object() -> None:
    call = pickled(Model(4.0).call)
    assert float(call(fg.constant(1.0))) == 4.0


def test_what_cannot_be_pickled_says_so() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(fg.function(lambda x: x))


# ---------------------------------------------------------------------------------------------------------------------
# Captures


def concrete_of(f: Callable[..., Any], *specs: Any) -> Any:
    return fg.function(f, autograph=False).get_concrete_function(*specs)


scalar = fg.TensorSpec([], fg.float32)


def test_captured_inputs_are_tensors() -> None:
    v, c = fg.Variable(2.0, name="weight"), fg.constant(3.0)
    concrete = concrete_of(lambda x: x * v + c, scalar)
    handle, held = concrete.captured_inputs
    assert held is c and handle is v.handle and isinstance(handle, fg.Tensor)
    assert (handle.dtype, handle.shape) == (fg.resource, []) and 'name="weight"' in repr(handle)
    assert [variable is v for variable in concrete.variables] == [True]
    with pytest.raises(TypeError, match="read the Variable instead"):
        handle.numpy()
    with pytest.raises(fg.errors.InvalidArgumentError):
        handle + 1
    assert float(copy.deepcopy(v)) == 2.0


def test_a_handle_does_not_keep_the_variable() -> None:
    held = [fg.Variable(2.0)]
    concrete = concrete_of(lambda x: x * held[0], scalar)
    handle, reference = held[0].handle, weakref.ref(held[0])
    held.clear()
    assert reference() is None and handle.cell is None
    assert concrete.captured_inputs == [None] and concrete.variables == ()


def test_set_external_captures() -> None:
    v, w, c = fg.Variable(2.0), fg.Variable(10.0), fg.constant(3.0)
    f = fg.function(lambda x: x * v + c, autograph=False)
    x = fg.constant(1.0)
    assert [float(f(x)) for _ in range(3)] == [5.0] * 3
    concrete = f.get_concrete_function(x)
    assert float(concrete(x)) == 5.0
    concrete.set_external_captures([v.handle, fg.constant(4.0)])
    assert float(concrete(x)) == 6.0 and float(f(x)) == 6.0
    concrete.set_external_captures([w, 5.0])
    assert float(concrete(x)) == 15.0 and concrete.variables == (w,)
    with fg.GradientTape() as tape:
        y = concrete(x)
    assert float(tape.gradient(y, w)) == 1.0
    with pytest.raises(ValueError, match="captures 2"):
        concrete.set_external_captures([w])
    with pytest.raises(ValueError, match=r"float32 tensor of shape \(\)"):
        concrete.set_external_captures([w, fg.ones([2])])
    with pytest.raises(ValueError, match="A Variable like"):
        concrete.set_external_captures([c, c])
    with pytest.raises(ValueError, match="A Variable like"):
        concrete.set_external_captures([fg.Variable([1.0, 2.0]), c])
    assert float(concrete(x)) == 15.0


# ---------------------------------------------------------------------------------------------------------------------
# Signatures and texts


def test_function_types() -> None:
    def f(x: Any, k: int = 3, *rest: Any, scale: float = 4.0, **more: Any) -> Any:
        return x + k

    function = fg.function(f, autograph=False)
    assert isinstance(function.function_type, fg.types.experimental.FunctionType)
    assert list(function.function_type.parameters) == ["x", "k", "rest", "scale", "more"]
    concrete = function.get_concrete_function(scalar, 5)
    text = str(concrete.function_type)
    assert "x: TensorSpec(shape=(), dtype=tf.float32" in text and "k: Literal[5]" in text
    assert text.endswith("-> TensorSpec(shape=(), dtype=tf.float32, name=None)")
    assert isinstance(concrete.function_type, inspect.Signature)
    assert list(Model(1.0).call.function_type.parameters) == ["x"]


def test_compiler_texts() -> None:
    f = fg.function(lambda x: fg.exp(x) + 1.0, jit_compile=True)
    text = f.experimental_get_compiler_ir(fg.zeros([3]))
    assert "exp(x)" in text() and "exp(x)" in text(stage="hlo")
    assert "exp" in text(stage="optimized_hlo")
    with pytest.raises(ValueError, match="Invalid stage selected: 'other'"):
        text(stage="other")


def test_features_are_taken() -> None:
    feature = fg.autograph.experimental.Feature
    f = fg.function(lambda x: x, experimental_autograph_options=feature.ALL)
    g = fg.function(lambda x: x, experimental_autograph_options=(feature.LISTS, feature.EQUALITY_OPERATORS))
    assert float(f(fg.constant(1.0))) == float(g(fg.constant(1.0))) == 1.0
    assert feature.LISTS not in feature.all_but(feature.LISTS) and feature.NAME_SCOPES in feature.all_but(
        [feature.LISTS]
    )
    assert len(feature.all()) == 7
