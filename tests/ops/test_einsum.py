"""einsum, tensordot and matvec against NumPy: every kind of equation, known and unknown sizes, gradients, orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.ops.einsum import _plan

#: equation -> shapes of the operands
EQUATIONS: dict[str, list[tuple[int, ...]]] = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ij,jk": [(2, 3), (3, 4)],
    "ij,kj->ik": [(2, 3), (4, 3)],
    "ji,jk->ki": [(3, 2), (3, 4)],
    "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)],
    "ijb,bjk->kbi": [(3, 4, 2), (2, 4, 5)],
    "bhqd,bhkd->bhqk": [(2, 3, 4, 5), (2, 3, 6, 5)],
    "bqhd,bkhd->bhqk": [(2, 4, 3, 5), (2, 6, 3, 5)],
    "i,i->": [(4,), (4,)],
    "i,j->ij": [(2,), (3,)],
    "i,j->ji": [(2,), (3,)],
    "ij,j->i": [(2, 3), (3,)],
    "ij,i->ij": [(2, 3), (2,)],
    "ij,kl->": [(2, 3), (4, 2)],
    "ij,kl->ijkl": [(2, 3), (4, 2)],
    "abcd,cdef->abef": [(2, 3, 4, 2), (4, 2, 3, 2)],
    "abc,cab->b": [(2, 3, 4), (4, 2, 3)],
    "ijk->": [(2, 3, 4)],
    "ijk->ki": [(2, 3, 4)],
    "ba": [(2, 3)],
    "ii": [(3, 3)],
    "ii->i": [(3, 3)],
    "iij->j": [(3, 3, 2)],
    "iji->j": [(3, 2, 3)],
    "iii->i": [(2, 2, 2)],
    "iijj->ij": [(2, 2, 3, 3)],
    "ii,ij->j": [(3, 3), (3, 4)],
    "...i->...": [(2, 3, 4)],
    "i...->...": [(2, 3, 4)],
    "...ij,...jk->...ik": [(2, 3, 4), (2, 4, 5)],
    "...ij,jk->...ik": [(5, 2, 3, 4), (4, 2)],
    "...ij,...jk->ik...": [(1, 3, 4), (2, 4, 5)],
    "i...,i...->...": [(2,), (2, 3)],
    "...,...->...": [(2, 1), (3,)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)],
    "ij,jk,kl,lm->im": [(2, 3), (3, 4), (4, 5), (5, 2)],
    "i,i,i->i": [(3,), (3,), (3,)],
    "a,b,c,d,e,f,g->adg": [(2,), (2,), (2,), (2,), (2,), (2,), (2,)],
    "bi,bj,ijk->bk": [(2, 3), (2, 4), (3, 4, 5)],
    "": [()],
    ",i->i": [(), (3,)],
    "ij,jk->k": [(0, 3), (3, 4)],
    "ij,jk->ik ": [(2, 0), (0, 3)],
    "aab,bc->ac": [(2, 2, 3), (3, 2)],
}


def operands(shapes: list[tuple[int, ...]]) -> list[Any]:
    random = np.random.default_rng(len(shapes))
    return [random.integers(-3, 4, s).astype(np.float64) for s in shapes]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum_is_numpys(equation: str) -> None:
    arrays = operands(EQUATIONS[equation])
    wanted = np.einsum(equation.replace(" ", ""), *arrays)
    for dtype in ("float64", "float32", "int32"):
        got = fg.einsum(equation, *[fg.constant(a.astype(dtype)) for a in arrays])
        assert got.dtype == dtype and got.shape == wanted.shape
        assert np.array_equal(got.numpy(), wanted.astype(dtype))


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize("unknown", [False, True])
def test_einsum_in_graphs(unknown: bool, tier: str) -> None:
    arrays = [operands(shapes) for shapes in EQUATIONS.values()]
    flat = [fg.constant(a) for group in arrays for a in group]
    specs = [fg.TensorSpec([None] * t.shape.rank if unknown else t.shape, t.dtype) for t in flat]

    @fg.function(input_signature=specs)
    def every(*given: Any) -> Any:
        rest = iter(given)
        return [fg.einsum(e, *[next(rest) for _ in shapes]) for e, shapes in EQUATIONS.items()]

    with flags.override(tier=tier):
        results = every(*flat)
        if tier == "last" and not unknown:
            assert every.get_concrete_function().host_steps == 0
    for equation, group, got in zip(EQUATIONS, arrays, results, strict=True):
        wanted = np.einsum(equation.replace(" ", ""), *group)
        if unknown and equation in ("...ij,...jk->ik...", "...,...->..."):
            continue  # that an extent is 1 and broadcasts must be known
        assert np.allclose(got.numpy(), wanted) and got.shape == wanted.shape, equation


@pytest.mark.parametrize(
    "equation", ["ij,jk->ik", "ii->i", "iij,jk->ki", "...ij,...jk->...ik", "bi,bj,ijk->bk", "i,j->ji"]
)
def test_gradients(equation: str) -> None:
    arrays = operands(EQUATIONS.get(equation, [(2, 2, 3), (3, 4)]))
    fg.testing.check_gradients(lambda *x: fg.einsum(equation, *x), *[fg.constant(a) for a in arrays])


def test_the_cheapest_order() -> None:
    sizes = tuple(sorted({"i": 1000, "j": 1000, "k": 1000, "l": 1}.items()))
    # The vector goes through the chain from the right: never a product of two matrices.
    assert _plan((("i", "j"), ("j", "k"), ("k", "l")), ("i", "l"), sizes) == [(1, 2), (0, 1)]


@pytest.mark.parametrize(
    ("equation", "shapes", "error", "text"),
    [
        ("i->ii", [(2,)], ValueError, "Output subscripts contain a label appearing more than once: i->ii"),
        (
            "ij,jk->il",
            [(1, 2), (2, 1)],
            ValueError,
            "Output subscripts contain the label l not present in the input subscripts.",
        ),
        ("i.j->i", [(2, 2)], ValueError, "Subscripts have incorrect format: i.j->i"),
        ("ij->j->i", [(1, 2)], ValueError, "Subscripts have incorrect format: ij->j->i"),
        ("i1->i", [(1, 2)], ValueError, "Subscripts have incorrect format: i1->i"),
        ("ij,jk->ik", [(1, 2)], ValueError, 'Got 1 inputs for equation "ij,jk->ik", expecting 2'),
        (
            "ij,jk->ik",
            [(1, 2), (1, 2)],
            "invalid",
            r"Expected dimension 2 at axis 0 of the input shaped \[1,2\] but got dimension 1",
        ),
        (
            "i,i->i",
            [(1,), (2,)],
            "invalid",
            r"Expected dimension 1 at axis 0 of the input shaped \[2\] but got dimension 2",
        ),
        (
            "ii->i",
            [(2, 3)],
            "invalid",
            r"Expected dimension 2 at axis 1 of the input shaped \[2,3\] but got dimension 3",
        ),
        ("ij", [(2,)], "invalid", "Expected input 0 to have rank 2 but got: 1"),
        ("i...->", [(2, 3)], "invalid", r"Output contains 1 broadcasting dimension\(s\) but no ellipsis"),
    ],
)
def test_einsum_refuses(equation: str, shapes: Any, error: Any, text: str) -> None:
    with pytest.raises(fg.errors.InvalidArgumentError if error == "invalid" else error, match=text):
        fg.einsum(equation, *[fg.ones(s) for s in shapes])


@pytest.mark.parametrize(
    ("shapes", "axes"),
    [
        (((2, 3), (3, 4)), 1),
        (((2, 3), (4, 3)), [[1], [1]]),
        (((2, 3), (4, 2)), 0),
        (((2, 3, 4), (3, 4, 5)), 2),
        (((2, 3, 4), (4, 3, 5)), [[1, 2], [1, 0]]),
        (((2, 3), (2, 3)), [[0, 1], [0, 1]]),
        (((2, 3), (3, 2)), [1, 0]),
        (((0, 3), (3, 2)), 1),
        (((2, 0), (0, 2)), 1),
        (((2, 3), (5, 2)), [[-2], [-1]]),
    ],
    ids=str,
)
def test_tensordot_is_numpys(shapes: Any, axes: Any) -> None:
    a, b = operands(list(shapes))
    wanted = np.tensordot(a, b, axes)
    assert np.array_equal(fg.tensordot(a, b, axes).numpy(), wanted)
    function = fg.function(
        lambda x, y: fg.tensordot(x, y, axes),
        input_signature=[fg.TensorSpec([None, *x.shape[1:]], fg.float64) for x in (a, b)],
    )
    with flags.override(tier="last"):
        got = function(fg.constant(a), fg.constant(b))
    assert np.array_equal(got.numpy(), wanted) and got.shape == wanted.shape
    if 0 not in wanted.shape:
        fg.testing.check_gradients(lambda x, y: fg.tensordot(x, y, axes), fg.constant(a), fg.constant(b))


@pytest.mark.parametrize(
    ("axes", "text"),
    [
        (3, "`axes` must not be larger than the number of dimensions of tensor"),
        (-1, "`axes` must be at least 0. Received: -1."),
        ([[1, 0], [1]], "Different number of contraction axes `a` and `b`, 2 != 1."),
        ([1], "`axes` must be an integer or have length 2"),
    ],
    ids=str,
)
def test_tensordot_refuses(axes: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        fg.tensordot(np.ones([2, 2]), np.ones([2, 2]), axes)


def test_matvec() -> None:
    a, x = np.arange(24.0).reshape(2, 3, 4), np.arange(8.0).reshape(2, 4)
    assert np.array_equal(fg.linalg.matvec(a, x).numpy(), np.einsum("bij,bj->bi", a, x))
    assert np.array_equal(fg.linalg.matvec(a, x[0]).numpy(), a @ x[0])
    assert np.array_equal(fg.linalg.matvec(a, x[:, :3], transpose_a=True).numpy(), np.einsum("bij,bi->bj", a, x[:, :3]))
    z = (a + 1j * a)[0]
    assert np.array_equal(fg.linalg.matvec(z, z[:, 0], adjoint_a=True).numpy(), z.conj().T @ z[:, 0])
    with pytest.raises(
        fg.errors.InvalidArgumentError, match=r"Matrix size-incompatible: In\[0\]: \[2,2\], In\[1\]: \[3,1\]"
    ):
        fg.linalg.matvec(np.ones([2, 2]), np.ones(3))
