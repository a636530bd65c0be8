"""Threads of NumPy's and SciPy's BLAS: one while fastgraph calls it, the user's in between."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import threadpoolctl

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.core.native.matmul import OneThread, know_scipy
from tests import native

#: Larger than what the loops for systems of small and moderate size take.
MATRIX = (np.eye(264) * 2000 + np.arange(264.0**2).reshape(264, 264) % 7).astype(np.float32)
SYMMETRIC = (MATRIX + MATRIX.T).astype(np.float32)


def threads() -> set[int]:
    """How many threads the libraries of BLAS in this process have."""
    return {library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    """Let all libraries have three threads, whatever the machine has."""
    know_scipy()
    with threadpoolctl.threadpool_limits(3, user_api="blas"):
        assert threads() == {3}
        yield


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """What `threads` says whenever a function of NumPy's or SciPy's is called that needs BLAS."""
    found: list[set[int]] = []

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **how: Any) -> Any:
            found.append(threads())
            return function(*args, **how)

        return call

    for name in ("cholesky", "solve", "inv", "qr", "svd", "eigh", "eig", "det", "slogdet"):
        monkeypatch.setattr(np.linalg, name, watched(getattr(np.linalg, name)))
    for name in ("get_lapack_funcs", "get_blas_funcs"):
        monkeypatch.setattr(scipy.linalg, name, watched(getattr(scipy.linalg, name)))
    return found


OPS: dict[str, Callable[[Any], Any]] = {
    "cholesky": fg.linalg.cholesky,
    "solve": lambda x: fg.linalg.solve(x, x),
    "inv": fg.linalg.inv,
    "qr": lambda x: fg.linalg.qr(x)[1],
    "svd": lambda x: fg.linalg.svd(x)[0],
    "eigh": lambda x: fg.linalg.eigh(x)[0],
    "eig": lambda x: fg.linalg.eig(x)[0],
    "det": fg.linalg.det,
    "slogdet": lambda x: fg.linalg.slogdet(x)[1],
    "lu": lambda x: fg.linalg.lu(x)[0],
    "triangular_solve": lambda x: fg.linalg.triangular_solve(x, x),
    "sqrtm": fg.linalg.sqrtm,
}


@pytest.mark.parametrize("name", OPS)
def test_factorisations_keep_to_their_thread(name: str, seen: list[set[int]]) -> None:
    x = fg.constant(SYMMETRIC)
    OPS[name](x)
    eager = len(seen)
    with flags.override(tier="first"):
        fg.function(OPS[name])(x)
    assert eager and len(seen) == 2 * eager and all(found == {1} for found in seen)
    assert threads() == {3}


def test_host_steps_keep_to_their_thread(seen: list[set[int]]) -> None:
    with flags.override(tier="last"):
        made = fg.function(lambda x: fg.linalg.cholesky(x + 1.0) * 2.0)(fg.constant(SYMMETRIC))
    assert seen == [{1}] and threads() == {3}
    np.testing.assert_allclose(made, np.linalg.cholesky(SYMMETRIC + 1) * 2, rtol=1e-5, atol=1e-4)


def test_the_threads_may_be_left_alone(seen: list[set[int]]) -> None:
    with flags.override(blas_threads="keep"):
        fg.linalg.cholesky(SYMMETRIC)
        fg.linalg.lu(SYMMETRIC)
    fg.linalg.lu(SYMMETRIC)
    fg.linalg.cholesky(SYMMETRIC)
    assert seen[:2] == [{3}, {3}] and seen[-1] == {1}


def test_the_users_python_has_its_threads() -> None:
    found = []

    def look(x: Any) -> Any:
        found.append(threads())
        return x

    fg.numpy_function(look, [1.0], fg.float32)
    fg.py_function(look, [1.0], fg.float32)
    fg.function(lambda x: fg.numpy_function(look, [x], fg.float32))(fg.constant(1.0))
    assert found == [{3}] * 3


def test_an_error_lets_them_go() -> None:
    with pytest.raises(fg.errors.InvalidArgumentError):
        fg.linalg.inv(fg.zeros([3, 3]))
    assert threads() == {3}


def test_calls_overlap() -> None:
    first, last = threading.Event(), threading.Event()

    def other() -> None:
        with OneThread():
            first.set()
            last.wait()

    thread = threading.Thread(target=other)
    thread.start()
    first.wait()
    fg.linalg.cholesky(SYMMETRIC)
    between = threads()
    last.set()
    thread.join()
    assert between == {1} and threads() == {3}


@pytest.mark.parametrize("transpose", [False, True])
def test_large_products_are_cut_by_shape(transpose: bool) -> None:
    """Those that blocks leave to BLAS are shared by the pool: the same bits on any number of threads."""
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=shape) for shape in ((300, 200), (3, 200, 300)))
    left = fg.constant(a.T.copy() if transpose else a)
    made = []
    with native.using(native.PRODUCT_BITS, 0):
        for n in (1, 2):
            with flags.override(threads=n):
                made.append(fg.matmul(left, b[0], transpose_a=transpose).numpy())
                made.append(fg.matmul(left, b, transpose_a=transpose).numpy())
    np.testing.assert_allclose(made[0], a @ b[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(made[1], a @ b, rtol=1e-12, atol=1e-12)
    assert (made[0] == made[2]).all() and (made[1] == made[3]).all()
    assert threads() == {3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_computes_too() -> None:
    """Also one that is made while a call is under way: it has the threads, and the limit, of its own."""
    expected = fg.linalg.cholesky(SYMMETRIC).numpy()
    with OneThread():
        child = os.fork()
        if child == 0:
            try:
                right = threads() == {3} and (fg.linalg.cholesky(SYMMETRIC).numpy() == expected).all()
                with OneThread():
                    right = right and threads() == {1}
                os._exit(0 if right and threads() == {3} else 1)
            finally:
                os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
