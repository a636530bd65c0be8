"""tf.experimental.numpy: values and dtypes as NumPy's where TensorFlow's are; in Functions, of unknown sizes, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.api import namespaces

tnp = tf.experimental.numpy
SPACES = ("experimental.numpy", "experimental.numpy.random")


def test_every_name_is_there_with_a_docstring() -> None:
    for space in SPACES:
        module = tnp.random if space.endswith("random") else tnp
        for name in namespaces.tensorflow_names()[space]:
            value = getattr(module, name)
            if getattr(value, "__module__", "").startswith("fastgraph.numpy_api"):
                assert value.__doc__ and value.__name__ == name, name


FLOATS = [
    "arccos", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "cosh", "deg2rad", "exp", "exp2",
    "expm1", "fabs", "fix", "floor", "isfinite", "isnan", "log10", "log2", "negative", "positive", "rad2deg",
    "reciprocal", "sign", "signbit", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "around", "conj",
    "imag", "real", "isreal", "iscomplex", "nansum", "nanprod", "nanmean", "sum", "prod", "mean", "std", "var",
    "amax", "amin", "ptp", "cumsum", "cumprod", "argmax", "argmin", "argsort", "sort", "count_nonzero", "ravel",
    "transpose", "squeeze", "diff", "flip", "flipud", "median",
]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in FLOATS if name != "median"])
def test_of_one_array(name: str) -> None:
    x = np.array([0.25, 0.5, -0.75, 1.0])
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x)
    got = getattr(tnp, name)(tf.constant(x))
    assert np.allclose(got, wanted, equal_nan=True) and got.dtype.as_numpy_dtype == np.asarray(wanted).dtype


@pytest.mark.parametrize("name", ["sin", "sum", "mean", "cumsum", "square", "argsort", "amax", "ceil", "std"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "bool", "float32"])
def test_small_dtypes_become_numpys(name: str, dtype: str) -> None:
    x = np.array([1, 0, 1], dtype)
    if (name, dtype) in {
        ("square", "bool"),
        ("cumsum", "bool"),
        ("ceil", "bool"),
        ("cumsum", "uint16"),
        ("argsort", "bool"),
    }:
        pytest.skip("TensorFlow's differ")
    wanted = np.asarray(getattr(np, name)(x)).dtype
    wide = {"sin", "mean", "std", "ceil"} & {name} and dtype != "float32"
    assert getattr(tnp, name)(x).dtype.as_numpy_dtype == (np.float64 if wide else wanted)


PAIRS = [
    "add", "subtract", "multiply", "true_divide", "floor_divide", "mod", "power", "maximum", "minimum", "heaviside",
    "greater", "less_equal", "equal", "not_equal", "logical_and", "logical_xor", "isclose", "gcd", "lcm",
    "bitwise_and", "bitwise_or", "outer", "inner", "dot", "vdot", "kron", "append",
]  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    ("a", "b"), [("int8", "uint8"), ("int32", "int32"), ("int64", "float32"), ("float32", "float64")]
)
def test_of_two_arrays(name: str, a: str, b: str) -> None:
    x, y = np.array([3, 4, 5], a), np.array([2, 1, 3], b)
    try:
        wanted = np.asarray(getattr(np, name)(x, y))
    except TypeError:
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
            getattr(tnp, name)(x, y)
        return
    got = getattr(tnp, name)(x, y)
    assert np.allclose(got, wanted)
    if name not in {"heaviside", "true_divide"}:
        assert got.dtype.as_numpy_dtype == wanted.dtype


ARRAYS = [
    "arange(2, 9, 3)", "eye(3, 4, -1)", "eye(4, 3, 2)", "tri(3, 4, 1)", "identity(2)", "linspace(0, 1, 4)",
    "linspace(0, 9, 3, endpoint=False)", "logspace(0, 2, 3)", "geomspace(1, 100, 3)", "full((2, 2), 7)", "diag([1, 2], 1)",
    "diag([[1, 2], [3, 4]], -1)", "tril(X, -1)", "triu(X, 1)", "vander([1, 2, 3])", "diagonal(X, 1)", "trace(X, 1)",
    "moveaxis(X3, 0, 2)", "moveaxis(X3, (0, 1), (-1, 0))", "swapaxes(X3, 0, 2)", "rot90(X)", "rot90(X3, 3, (1, 2))",
    "roll(X, 2)", "roll(X, 1, 1)", "repeat(X, 2, 0)", "repeat(X, [1, 0, 2], 1)", "tile(X, (2, 1, 2))", "tile([1, 2], 2)",
    "pad([1, 2, 3], [[1, 2]], 'reflect')", "concatenate([X, X], 1)", "stack([X, X], -1)", "hstack(([1], [2.5]))",
    "vstack(([1, 2], X[:, :2]))", "dstack((X, X))", "atleast_3d([1, 2])", "expand_dims(X, 1)", "reshape(X, (3, 2), order='F')",
    "where([True, False], 1, 2.5)", "select([[True, False]], [[1, 2]], 9.5)", "compress([0, 1], X, 0)", "take(X, [0, 2], 1)",
    "take([1, 2, 3], [0, 4], mode='wrap')", "take_along_axis(X, np.array([[2, 0], [1, 1]]), 1)",
    "take_along_axis(X, np.array([[-1, 0, 1]]), 0)", "diff(X3, 1, 0)", "average(X, 1, [1, 2, 3])", "cross([1, 2, 3], [4, 5, 6])",
    "cross(X, X[::-1])", "polyval([1, 2, 3], X)", "tensordot(X, X, [[1], [1]])", "matmul(X, X3[0])", "matmul(X3, X3[0, 0])", "matmul(X[0], X3)", "hypot(3.0, 4.0)", "logaddexp(1.0, X)", "arctan2(X, 2.0)",
    "einsum('ij,kj->ik', X, X)", "clip(X, 1, 3)", "sum(X3, (0, 2), keepdims=True)", "all(X)", "any(X, 0)", "nanmean(X, 1)",
    "broadcast_to([1, 2], (3, 2))", "flatten_(X)", "result_type(np.int8, 1)", "round(2.5)", "var(X, 1, ddof=1)",
    "promote_types('int8', 'uint8')",
]  # fmt: skip
X, X3 = np.arange(6).reshape(2, 3), np.arange(24).reshape(2, 3, 4) * 1.5


@pytest.mark.parametrize("text", [text for text in ARRAYS if not text.startswith("flatten_")])
def test_calls(text: str) -> None:
    names = {"X": X, "X3": X3, "np": np}
    got, wanted = eval("tnp." + text, {**names, "tnp": tnp}), eval("np." + text, names)
    if isinstance(wanted, np.dtype):
        assert tf.as_dtype(got) == wanted
        return
    assert np.allclose(got, wanted) and got.shape == np.shape(wanted)
    assert got.dtype.as_numpy_dtype == np.asarray(wanted).dtype


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("arange(1, 2, 0)", ValueError), ("linspace(0, 1, -1)", ValueError), ("take([1], [0], mode='raise')", ValueError),
        ("mean([1], out=1)", ValueError), ("select([], [])", ValueError), ("size([1], 0)", NotImplementedError),
        ("gcd(1.5, 2)", ValueError), ("isinf(3.0)", AttributeError), ("argsort([1j])", TypeError), ("ix_([1.5])", ValueError),
        ("diff([1], axis=2)", ValueError), ("reshape([1, 2], 3)", tf.errors.InvalidArgumentError),
        ("random.seed([1])", ValueError), ("random.randint(2, dtype=np.int8)", ValueError), ("clip(1, None, None)", ValueError),
    ],
)  # fmt: skip
def test_errors(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        eval("tnp." + text, {"tnp": tnp, "np": np})


def test_parts_and_indices() -> None:
    assert [part.numpy().tolist() for part in tnp.split(np.arange(6), [1, 4])] == [[0], [1, 2, 3], [4, 5]]
    assert [part.shape.as_list() for part in tnp.hsplit(X, 3)] == [[2, 1]] * 3
    assert [part.numpy().tolist() for part in tnp.nonzero([[1, 0], [0, 2]])] == [[0, 1], [0, 1]]
    assert [part.shape.as_list() for part in tnp.ix_([0, 1], [True, False, True])] == [[2, 1], [1, 2]]
    assert [grid.numpy().tolist() for grid in tnp.meshgrid([1, 2], [3])] == [[[1, 2]], [[3, 3]]]
    assert tnp.array([1, 2.5]).dtype == tf.float64 and tnp.array(5.5, dtype=int).numpy() == 5
    assert tnp.array(2**63).dtype == tf.uint64 and tnp.array([True, 2]).dtype == tf.int64
    assert tnp.ndarray is tf.Tensor and tnp.newaxis is None and tnp.float64 is np.float64


def test_random_numbers_follow_the_seed() -> None:
    def draw() -> list[Any]:
        tnp.random.seed(3)
        r = tnp.random
        made = [
            r.rand(2),
            r.randn(2),
            r.uniform(1, 2, (2,)),
            r.randint(3, 9, 4),
            r.poisson(4.0, 3),
            r.random(),
            r.randint(2),
        ]
        return [one.numpy().tolist() for one in made]

    assert draw() == draw()
    assert tnp.random.rand(2).dtype == tf.float64 and tnp.random.randint(5).dtype == tf.int64


TRACED = {
    "sin": lambda x: tnp.sin(x), "std": lambda x: tnp.std(x, 0), "tile": lambda x: tnp.tile(x, (2, 1, 1)),
    "where": lambda x: tnp.where(x > 1, x, 0), "dot": lambda x: tnp.dot(x, x[0]), "kron": lambda x: tnp.kron(x, x),
    "matmul": lambda x: tnp.matmul(x, tnp.transpose(x)), "diff": lambda x: tnp.diff(x), "roll": lambda x: tnp.roll(x, 1),
    "take_along_axis": lambda x: tnp.take_along_axis(x, [[1, 0]], 1), "atleast_3d": lambda x: tnp.atleast_3d(x),
    "triu": lambda x: tnp.triu(x, 1), "cumsum": lambda x: tnp.cumsum(x), "average": lambda x: tnp.average(x, 0),
    "outer": lambda x: tnp.outer(x, x), "vander": lambda x: tnp.vander(x[:, 0], 3), "split": lambda x: tnp.split(x, [1])[1],
    "logaddexp": lambda x: tnp.logaddexp(x, 1.0), "trace": lambda x: tnp.trace(x, 1), "rot90": lambda x: tnp.rot90(x),
    "clip": lambda x: tnp.clip(x, 0.0, 1.0), "polyval": lambda x: tnp.polyval([1.0, 2.0], x), "var": lambda x: tnp.var(x, 0),
    "hstack": lambda x: tnp.hstack([x, x]), "compress": lambda x: tnp.compress([True], x, 0), "flip": lambda x: tnp.flip(x, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", TRACED)
def test_functions_of_unknown_sizes_and_gradients(name: str) -> None:
    x = tf.constant([[0.5, 1.25, 3.0], [2.0, -1.0, 0.75]])
    eager = TRACED[name](x)
    for spec in ([2, 3], [None, None]):
        traced = tf.function(TRACED[name], input_signature=[tf.TensorSpec(spec, tf.float32)])
        assert np.allclose(traced(x), eager, rtol=1e-5) and traced(x).dtype == eager.dtype
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.square(TRACED[name](x)))
    slope = tape.gradient(total, x)
    step = 1e-2 * np.array([[1.0, -1.0, 0.5], [0.3, 0.6, -0.8]], np.float32)
    ends = [float(tf.reduce_sum(tf.square(TRACED[name](x + s * step)))) for s in (1, -1)]
    assert np.isclose((ends[0] - ends[1]) / 2, float(tf.reduce_sum(slope * step)), rtol=2e-2, atol=2e-3)


def test_of_unknown_rank() -> None:
    spec = tf.TensorSpec(None, tf.float32)
    for call in (tnp.dot, tnp.inner, tnp.matmul):
        traced = tf.function(call, input_signature=[spec, spec])
        for a, b in (((2, 3), (3,)), ((3,), (3,))):
            x, y = np.ones(a, np.float32), np.full(b, 2, np.float32)
            assert np.allclose(traced(x, y), call(x, y))
    assert tf.function(lambda x: tnp.tile(x, (2, 1)), input_signature=[spec])(np.ones(3, np.float32)).shape == (2, 3)
    assert tf.function(tnp.atleast_2d, input_signature=[spec])(np.ones(3, np.float32)).shape == (1, 3)


@pytest.mark.parametrize(
    ("name", "value", "dtype"),
    [
        ("S8", ["abc"], "string"),
        ("U8", ["abc"], "string"),
        ("O", ["abc"], "string"),
        ("l", [1], "int64"),
        ("<i2", [1], "int16"),
        ("f4", [1], "float32"),
        ("d", [1], "float64"),
        ("bfloat16", [1], "bfloat16"),
    ],
)
def test_dtypes_by_numpys_names(name: str, value: Any, dtype: str) -> None:
    assert tnp.array(value, dtype=name).dtype.name == dtype
    assert tf.as_dtype(np.object_) is tf.string


@pytest.mark.parametrize("weights", [1.0, [[1.0]], [1.0]])
def test_averages_with_weights_of_another_shape(weights: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        tnp.average([[1.0, 2.0], [3.0, 4.0]], axis=0, weights=weights)
