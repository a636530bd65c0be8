"""The array API standard's namespace beside NumPy's, which is one as well: eager, in Functions, with gradients."""

from __future__ import annotations

import inspect
import math
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import array_api as xp

REALS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
DTYPES = ["bool", *REALS, "complex64", "complex128"]
FLOATS = ["float32", "float64", "complex64", "complex128"]
#: Functions of one and of two arrays, by the dtypes that they take.
UNARY = {
    "acosh asin asinh atan atanh acos cos cosh exp expm1 log log1p log10 log2 reciprocal sin sinh sqrt tan tanh": FLOATS,
    "ceil floor trunc signbit": ["float32", "float64"],
    "abs isfinite isinf isnan positive real round square sign negative conj imag": [*REALS, "complex64", "complex128"],
    "logical_not bitwise_invert": ["bool"],
    "cumulative_sum cumulative_prod sort argsort max min argmax argmin mean std var": REALS,
    "sum prod count_nonzero all any": DTYPES,
    "unique_values": REALS,
}
BINARY = {
    "add subtract multiply equal not_equal": [*REALS, "complex64", "complex128"],
    "less less_equal greater greater_equal maximum minimum": REALS,
    "divide pow": FLOATS,
    "floor_divide remainder atan2 copysign hypot logaddexp nextafter": ["float32", "float64"],
    "bitwise_and bitwise_or bitwise_xor": ["bool", *REALS[:8]],
    "bitwise_left_shift bitwise_right_shift": REALS[:8],
    "logical_and logical_or logical_xor": ["bool"],
}


def sample(dtype: str, seed: int = 0) -> Any:
    drawn = np.random.default_rng(seed).integers(1, 6, (2, 3)) / (1 if "int" in dtype else 7)
    return (drawn + 0.5j * drawn if "complex" in dtype else drawn > 0.4 if dtype == "bool" else drawn).astype(dtype)


def agree(made: Any, wanted: Any, what: object = "") -> None:
    if isinstance(wanted, tuple | list):
        assert len(made) == len(wanted)
        for one, other in zip(made, wanted, strict=True):
            agree(one, other, what)
        return
    wanted = np.asarray(wanted)
    kind = np.float32 if made.dtype in (tf.float32, tf.complex64) else np.float64
    assert made.shape == wanted.shape, (what, made, wanted)
    np.testing.assert_allclose(made.numpy(), wanted, rtol=50 * np.finfo(kind).eps, atol=20 * np.finfo(kind).eps)


def cases(table: dict[str, list[str]]) -> list[tuple[str, list[str]]]:
    return [(name, dtypes) for names, dtypes in table.items() for name in names.split()]


def test_a_tensor_gives_the_namespace() -> None:
    x = tf.constant([[1.0, 2.0]])
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2024.12") is xp
    assert tf.function(lambda t: t.__array_namespace__().sum(t.mT))(x) == 3.0
    assert isinstance(xp, ModuleType) and x.mT.shape == (2, 1)
    assert x.to_device(xp.__array_namespace_info__().devices()[0]).device == x.device
    assert (tf.constant([1, 2]) << 2).numpy().tolist() == [4, 8] and (8 >> tf.constant(1)).numpy() == 4
    with pytest.raises(ValueError, match="1999"):
        x.__array_namespace__(api_version="1999")
    with pytest.raises(ValueError, match="stream"):
        x.to_device("CPU:0", stream=1)
    with pytest.raises(TypeError, match="item assignment"):
        x[0] = 1  # type: ignore[index]


def test_every_name_is_there_and_takes_the_standards_arguments() -> None:
    for name in xp.__all__:
        assert hasattr(xp, name), name
    for part in (xp, xp.linalg, xp.fft):
        for name in part.__all__:
            function = getattr(part, name)
            if inspect.isfunction(function):
                assert function.__doc__ and function.__doc__.strip().endswith("."), name
    assert list(inspect.signature(xp.clip).parameters) == ["x", "min", "max"]
    assert "keepdims" in inspect.signature(xp.max).parameters


@pytest.mark.parametrize("name, dtypes", cases(UNARY))
def test_functions_of_one_array(name: str, dtypes: list[str]) -> None:
    for dtype in dtypes:
        of_one_array(name, dtype)


def of_one_array(name: str, dtype: str) -> None:
    x = sample(dtype) + (2 if name == "acosh" else 0)
    if "cumulative" in name:
        function, reference = (lambda a: getattr(xp, name)(a, axis=1)), (lambda a: getattr(np, name)(a, axis=1))
    else:
        function, reference = getattr(xp, name), getattr(np, name)
    made, wanted = function(xp.asarray(x)), reference(x)
    if name == "unique_values":
        made, wanted = xp.sort(made), np.sort(wanted)
    if name in ("argsort", "argmax", "argmin"):  # which of equal elements
        wanted = {"argsort": np.argsort(x, stable=True)}.get(name, wanted)
    agree(made, wanted, (name, dtype))
    if name not in ("sum", "prod", "cumulative_sum", "cumulative_prod", "mean", "std", "var"):
        assert made.dtype.name == np.asarray(wanted).dtype.name or name == "count_nonzero", (made.dtype, wanted.dtype)


@pytest.mark.parametrize("name, dtypes", cases(BINARY))
def test_functions_of_two_arrays_promote(name: str, dtypes: list[str]) -> None:
    kinds = [["bool"], REALS[:4], REALS[4:8], REALS[8:], ["complex64", "complex128"]]
    for a in dtypes:
        for b in dtypes:
            together = next((kind for kind in kinds if a in kind and b in kind), None)
            if (together is None and {a[0], b[0]} != {"i", "u"}) or ("uint64" in (a, b) and a[0] != b[0]):
                continue  # the standard leaves these open
            x, y = sample(a), sample(b, 1)[:1]
            made, wanted = getattr(xp, name)(xp.asarray(x), xp.asarray(y)), getattr(np, name)(x, y)
            assert made.dtype.name == wanted.dtype.name, (name, a, b, made.dtype)
            agree(made, wanted, (name, a, b))
    x = sample(dtypes[0])
    agree(getattr(xp, name)(xp.asarray(x), 1 if dtypes[0] != "bool" else True), getattr(np, name)(x, x.dtype.type(1)))


X, Y = sample("float64"), sample("float64", 1)
SQUARE = np.array([[[2.0, 0.5], [0.25, 1.0]], [[1.0, 0.0], [3.0, 4.0]]])
WIDE = np.arange(24.0).reshape(2, 3, 4)
OTHERS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("reshape", (X, (3, 2)), {}), ("permute_dims", (WIDE, (2, 0, 1)), {}), ("moveaxis", (WIDE, (0, 1), (-1, 0)), {}),
    ("expand_dims", (X,), {"axis": (0, -1)}), ("squeeze", (X[None, :, :, None], (0, 3)), {}), ("flip", (WIDE,), {}),
    ("flip", (WIDE,), {"axis": (0, -1)}), ("roll", (WIDE, (1, 2)), {"axis": (0, 2)}), ("roll", (WIDE, 3), {}),
    ("repeat", (X, 2), {}), ("repeat", (X, np.array([1, 0, 2])), {"axis": 1}), ("tile", (X, (2, 1, 3)), {}),
    ("concat", ([X, Y],), {"axis": None}), ("concat", ([X, Y],), {"axis": -1}), ("stack", ([X, Y],), {"axis": 1}),
    ("unstack", (WIDE,), {"axis": 1}), ("broadcast_arrays", (X, Y[:1]), {}), ("broadcast_to", (Y[:1], (4, 2, 3)), {}),
    ("take", (X, np.array([2, -3])), {"axis": 1}), ("take_along_axis", (X, np.array([[0], [2]])), {"axis": 1}),
    ("tril", (WIDE,), {"k": -1}), ("triu", (WIDE,), {"k": 1}), ("meshgrid", (X[0], Y[0]), {"indexing": "ij"}),
    ("where", (X > 0.4, X, Y), {}), ("clip", (X, 0.2, Y), {}), ("clip", (X,), {"max": 0.3}), ("nonzero", (X > 0.4,), {}),
    ("searchsorted", (np.array([0.1, 0.4, 0.5]), X), {"side": "right"}), ("diff", (WIDE,), {"axis": 1, "n": 2}),
    ("searchsorted", (np.array([0.5, 0.1, 0.4]), X), {"sorter": np.array([1, 2, 0])}), ("isin", (X, Y), {"invert": True}),
    ("diff", (X,), {"prepend": Y, "append": Y}), ("sort", (X,), {"axis": 0}),
    ("var", (WIDE,), {"axis": (0, 2), "correction": 1, "keepdims": True}), ("std", (WIDE,), {"correction": 0.5}),
    ("max", (WIDE,), {"axis": (1, 2)}), ("argmax", (WIDE,), {"axis": 1, "keepdims": True}), ("argmin", (X,), {"keepdims": True}),
    ("cumulative_sum", (X,), {"axis": 0, "include_initial": True}), ("cumulative_prod", (X,), {"axis": 1, "include_initial": True}),
    ("unique_counts", (np.array([1, 2, 1]),), {}), ("unique_inverse", (np.array([[1, 2], [1, 1]]),), {}),
    ("unique_all", (np.array([1.0, 3.0, 1.0]),), {}), ("matmul", (SQUARE, X[:, :2]), {}), ("matmul", (X[0], X[1]), {}),
    ("tensordot", (WIDE, WIDE), {"axes": ((0, -1), (0, 2))}), ("vecdot", (X + 1j, Y * 2j), {}), ("tensordot", (X, Y), {"axes": 0}),
    ("linalg.outer", (X[0], Y[0]), {}), ("linalg.cross", (X, Y[:1]), {}), ("linalg.diagonal", (WIDE,), {"offset": 1}),
    ("linalg.trace", (WIDE,), {"offset": -1}), ("linalg.det", (SQUARE,), {}), ("linalg.inv", (SQUARE,), {}),
    ("linalg.solve", (SQUARE, X[:, 0]), {}), ("linalg.solve", (SQUARE[0], X), {}), ("linalg.slogdet", (SQUARE - 2,), {}),
    ("linalg.matrix_power", (SQUARE, -2), {}), ("linalg.matrix_power", (SQUARE, 5), {}), ("linalg.matrix_power", (SQUARE, 0), {}),
    ("linalg.matrix_rank", (np.ones((2, 3, 3)),), {}), ("linalg.pinv", (WIDE,), {"rtol": 1e-8}), ("linalg.pinv", (SQUARE * (1 + 1j),), {}), ("linalg.svdvals", (WIDE,), {}),
    ("linalg.eigvalsh", (SQUARE + SQUARE.transpose(0, 2, 1),), {}), ("linalg.matrix_transpose", (WIDE,), {}),
    *[("linalg.matrix_norm", (SQUARE,), {"ord": k, "keepdims": True}) for k in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
    *[("linalg.vector_norm", (WIDE,), {"ord": k, "axis": (0, 2)}) for k in (0, 1, 2, 2.5, np.inf, -np.inf)],
    *[(f"fft.{n}", (X + 1j * Y,), {"n": k, "axis": 0, "norm": m}) for n in ("fft", "ifft", "irfft", "hfft")
      for k in (1, 3) for m in ("ortho", "forward")],
    *[(f"fft.{n}", (X,), {"n": k, "norm": m}) for n in ("rfft", "ihfft") for k in (None, 2, 5) for m in ("backward", "forward")],
    *[(f"fft.{n}", (WIDE + 1j,), {"s": (3, 2), "axes": (2, 0), "norm": "ortho"}) for n in ("fftn", "ifftn", "irfftn")],
    ("fft.rfftn", (WIDE,), {"s": (4, 5), "axes": (0, 1)}), ("fft.fftshift", (WIDE,), {}), ("fft.ifftshift", (WIDE,), {"axes": 1}),
]  # fmt: skip


@pytest.mark.parametrize("name, args, options", OTHERS, ids=[f"{row[0]}-{i}" for i, row in enumerate(OTHERS)])
def test_other_functions_eagerly_and_in_functions(name: str, args: Any, options: dict[str, Any]) -> None:
    def call(space: Any, given: Any) -> Any:
        for part in name.split("."):
            space = getattr(space, part)
        return space(*given, **options)

    wrapped = [
        [xp.asarray(x) for x in a] if isinstance(a, list) else xp.asarray(a) if isinstance(a, np.ndarray) else a
        for a in args
    ]
    wanted = call(np, args)
    agree(call(xp, wrapped), wanted, name)
    arrays = [a for a in wrapped if isinstance(a, tf.Tensor)]

    def staged(*given: Any) -> Any:
        rest = list(given)
        return call(xp, [rest.pop(0) if isinstance(a, tf.Tensor) else a for a in wrapped])

    agree(tf.function(staged)(*arrays), wanted, name)
    if name not in ("squeeze", "unstack", "linalg.cross"):  # whose results have a number of parts, or axes
        specs = [tf.TensorSpec([None] * a.ndim, a.dtype) for a in arrays]
        agree(tf.function(staged, input_signature=specs)(*arrays), wanted, (name, "unknown extents"))


def test_what_has_no_one_result() -> None:
    a = xp.asarray(WIDE)
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose(u.numpy() * s.numpy()[:, None] @ vh.numpy(), WIDE, atol=1e-12)
    q, r = xp.linalg.qr(a, mode="complete")
    np.testing.assert_allclose(q.numpy() @ r.numpy(), WIDE, atol=1e-12)
    values, vectors = xp.linalg.eig(xp.asarray(SQUARE))
    np.testing.assert_allclose(SQUARE @ vectors.numpy(), vectors.numpy() * values.numpy()[:, None], atol=1e-12)
    lower = xp.linalg.cholesky(xp.asarray(SQUARE @ SQUARE.transpose(0, 2, 1)), upper=True)
    np.testing.assert_allclose(lower.mT.numpy() @ lower.numpy(), SQUARE @ SQUARE.transpose(0, 2, 1), atol=1e-12)


def test_made_arrays() -> None:
    assert [xp.asarray(v).dtype.name for v in (True, 1, 1.0, 1j, 2**40)] == [
        "bool",
        "int32",
        "float32",
        "complex64",
        "int64",
    ]
    assert xp.asarray([True, 2]).numpy().tolist() == [1, 2] and xp.asarray(np.float64(1)).dtype == xp.float64
    for args in ((5,), (2, 10, 3), (5, -5, -2), (0.5, 2.0, 0.5)):
        agree(xp.arange(*args), np.arange(*args), args)
    top = 2**64 - 1
    assert xp.arange(top - 3, top, 2, dtype=xp.uint64).numpy().tolist() == [top - 3, top - 1]
    agree(tf.function(xp.arange)(tf.constant(4)), np.arange(4))
    agree(xp.linspace(0, 1, 5, endpoint=False), np.linspace(0, 1, 5, endpoint=False))
    agree(xp.eye(2, 4, k=-1), np.eye(2, 4, k=-1))
    agree(xp.full((2,), 3), np.full(2, 3)), agree(xp.full_like(xp.asarray(X), 3), np.full_like(X, 3))
    agree(xp.ones(3, dtype=xp.uint16), np.ones(3)), agree(xp.zeros_like(xp.asarray(X)), np.zeros_like(X))
    agree(xp.fft.fftfreq(5, d=2.0), np.fft.fftfreq(5, 2.0)), agree(xp.fft.rfftfreq(4), np.fft.rfftfreq(4))
    agree(xp.from_dlpack(np.arange(3)), np.arange(3))
    assert xp.broadcast_shapes((3, 1), (None,), ()) == (3, None)
    for wrong, call in {
        "copy": lambda: xp.asarray([1], copy=False),
        "two extents": lambda: xp.vecdot(xp.ones(2), xp.ones(3)),
        "do not go": lambda: xp.broadcast_shapes((2,), (3,)),
        "out of range": lambda: xp.flip(xp.ones(2), axis=1),
        "twice": lambda: xp.expand_dims(xp.ones(2), axis=(0, 0)),
        "extent 1": lambda: xp.squeeze(xp.ones(2), 0),
        "axis": lambda: xp.cumulative_sum(xp.ones((2, 2))),
        "norm is": lambda: xp.fft.fft(xp.ones(2), norm="x"),
        "no order": lambda: xp.linalg.matrix_norm(xp.ones((2, 2)), ord=3),
        "mode is": lambda: xp.linalg.qr(xp.ones((2, 2)), mode="raw"),
        "kind is": lambda: xp.isdtype(xp.float32, "floats"),
        "rank above 0": lambda: xp.nonzero(xp.ones(())),
    }.items():
        with pytest.raises(ValueError, match=wrong):
            call()
    with pytest.raises(TypeError, match="real"):
        xp.astype(xp.asarray(1j), xp.float32)


def test_dtypes() -> None:
    info = xp.__array_namespace_info__()
    assert set(info.dtypes()) == {*DTYPES} and set(info.dtypes(kind=("bool", "signed integer"))) == {"bool", *REALS[:4]}
    assert info.capabilities()["boolean indexing"] and info.default_device() in info.devices()
    assert info.default_dtypes()["indexing"] == xp.int64
    for a in DTYPES:
        for b in DTYPES:
            one, other = getattr(xp, a), getattr(xp, b)
            assert xp.result_type(one, xp.ones(1, dtype=other)).name == np.result_type(a, b).name
            assert xp.can_cast(one, other) == (np.result_type(a, b).name == b)
        for kind in ("bool", "integral", "numeric", "real floating", "complex floating", "unsigned integer"):
            assert xp.isdtype(getattr(xp, a), kind) == np.isdtype(np.dtype(a), kind)
    assert xp.result_type(xp.float32, 1j) == xp.complex64 and xp.result_type(xp.int8, 1) == xp.int8
    assert xp.finfo(xp.complex128).eps == np.finfo(np.float64).eps and xp.finfo(tf.bfloat16).bits == 16
    assert xp.iinfo(xp.uint8)[:3] == (8, 255, 0)


def test_edges() -> None:
    inf, nan = math.inf, math.nan
    values = np.array([0.0, -0.0, 1.0, -1.0, inf, -inf, nan], np.float32)
    a, b = np.meshgrid(values, values)
    for name in ("hypot", "logaddexp", "copysign", "atan2", "maximum", "minimum", "pow", "nextafter"):
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(a, b)
        np.testing.assert_array_equal(getattr(xp, name)(xp.asarray(a), xp.asarray(b)).numpy(), wanted, name)
    assert float(xp.hypot(xp.asarray(3e38), xp.asarray(1e38))) < inf
    for name in ("sign", "signbit", "trunc", "round", "floor", "ceil", "sqrt", "isinf"):
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(values)
        np.testing.assert_array_equal(getattr(xp, name)(xp.asarray(values)).numpy(), wanted, name)
    assert xp.negative(xp.asarray(1, dtype=xp.uint8)).numpy() == 255
    assert xp.pow(xp.asarray(3, dtype=xp.uint64), 40).numpy() == 3**40
    found = xp.unique_all(xp.asarray([nan, 0.0, -0.0, nan]))
    assert sorted(found.counts.numpy().tolist()) == [1, 1, 2]
    assert xp.asarray([1, 2, 3])[xp.asarray([True, False, True])].numpy().tolist() == [1, 3]


@pytest.mark.parametrize("name", ["hypot", "logaddexp", "copysign", "pow", "maximum", "atan2", "vecdot"])
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    x, y = tf.constant(X), tf.constant(Y + 1)

    @tf.function
    def function(a: Any, b: Any) -> Any:
        return getattr(a.__array_namespace__(), name)(a, b)

    theory, numbers = tf.test.compute_gradient(function, [x, y])
    for one, other in zip(theory, numbers, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
