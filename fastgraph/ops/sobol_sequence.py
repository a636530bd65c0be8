"""sobol_sample: points that fill the unit cube evenly, by SciPy's direction numbers.

Rule: every argument is known, or the call waits for it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from fastgraph.core.base.deferred_signals import library
from fastgraph.core.base.dtype import DTypeLike, as_dtype, float32
from fastgraph.core.conversion import TensorLike
from fastgraph.errors import ResourceExhaustedError
from fastgraph.ops.arguments import as_tensor, not_allowed, refused, static_int
from fastgraph.ops.deferred_calls import late_unless_known
from fastgraph.ops.families import invalid, public

_MOST_DIMENSIONS = 21200


@public("math.sobol_sample")
def sobol_sample(
    dim: TensorLike, num_results: TensorLike, skip: TensorLike = 0, dtype: DTypeLike = float32, name: str | None = None
) -> Any:
    """Points of Sobol's sequence in the unit cube, after the origin and `skip` more. -> f[num_results, dim].

    Raises: InvalidArgumentError for no dimension, or more than there are direction numbers for. Source: Joe and Kuo
    2008; tf.math.sobol_sample.
    """
    sizes = [static_int(n) for n in (dim, num_results, skip)]
    if None in sizes:
        given = {"dim": dim, "num_results": num_results, "skip": skip}
        call = partial(sobol_sample, dtype=dtype)
        return late_unless_known(call, [], given, as_dtype(dtype), [sizes[1], sizes[0]], name)
    dims, count, first = (int(n or 0) for n in sizes)
    kind = as_dtype(dtype)
    if kind.name not in ("float32", "float64"):
        raise refused(not_allowed(kind, "dtype", "float, double"))
    if dims < 1:
        raise invalid("dim must be at least one")
    if dims > _MOST_DIMENSIONS:
        raise invalid(f"dim must be at most {_MOST_DIMENSIONS}")
    if count < 1 or first < 0:
        raise invalid(f"num_results must be at least one and skip not negative, got {count} and {first}")
    for number, what in ((count * dims, "num_results*dim"), (count + first, "num_results+skip")):
        if number >= 2**31 - 1:
            raise invalid(f"{what} must be less than {2**31 - 1}")
    qmc = library("scipy.stats.qmc")

    try:
        points = qmc.Sobol(dims, scramble=False, bits=32).fast_forward(first + 1).random(count)
    except MemoryError as error:
        raise ResourceExhaustedError(None, None, f"Out of memory: {error}") from None
    return as_tensor(points.astype(kind.numpy_dtype))
