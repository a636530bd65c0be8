"""The ops that run on the host in a compiled graph, each with its reason. The list only shrinks."""

from __future__ import annotations

import fastgraph.ops  # noqa: F401 - registers the primitives
from fastgraph.compiler.library import data_dependent_shapes, sequential_ops
from fastgraph.core.registry import all_primitives

STRINGS = "strings: their bytes lie in Python objects, which kernels do not see"
RECURRENCE = "a recurrence, each row after those before it: LAPACK's is as fast as any kernel of ours would be"
LAPACK = "a factorization: its order of work depends on data, and LAPACK's is as fast as any kernel of ours would be"
COUNTED = "the number of results is data: a pass over all elements decides it"

LEVELS = "which elements share a level depends on data, one after the other"
RARE = "rarely used, and SciPy's is as fast as a kernel of ours would be"
REJECTED = "rejection: how many words a number takes is data, and the C that fills the array does not hold the GIL"

#: Primitive -> why it has no lowering, as its definition says.
HOST_STEPS = {
    "as_string": STRINGS,
    "to_number": STRINGS,
    "string_format": STRINGS,
    "string_join": STRINGS,
    "string_split": STRINGS,
    "string_split_v2": STRINGS,
    "reduce_join": STRINGS,
    "string_lower": STRINGS,
    "string_upper": STRINGS,
    "string_strip": STRINGS,
    "string_length": STRINGS,
    "substr": STRINGS,
    **dict.fromkeys(
        ("hash_bucket", "hash_bucket_fast", "hash_bucket_strong", "regex_replace", "regex_full_match"), STRINGS
    ),
    **dict.fromkeys(("characters", "ngrams"), STRINGS),
    "unique_slices": "a sort whose number of results is data",
    "cast_stored": "floats of 8 bits, whole numbers of 4, steps of ranges: kernels have no such elements",
    "print": "it writes to a Python stream",
    "timestamp": "it reads the clock",
    "assert": "its message is made of whole tensors",
    "check_indices": "its message is made of the first wrong index and its neighbour",
    "det": LAPACK,
    "slogdet": LAPACK,
    "lu": LAPACK,
    "svd": LAPACK,
    "singular_values": LAPACK,
    "eigh": LAPACK,
    "eigvalsh": LAPACK,
    "eig": LAPACK,
    "eigvals": LAPACK,
    "pinv": LAPACK,
    "expm": LAPACK,
    "logm": LAPACK,
    "sqrtm": LAPACK,
    "banded_triangular_solve": RECURRENCE,
    "eigh_tridiagonal": RECURRENCE,
    "unique": "a sort whose number of results is data",
    "suppression": "one box after the other, until the best is taken",
    **dict.fromkeys(("bessel_j0", "bessel_j1"), RARE),
    **dict.fromkeys(("bessel_y0", "bessel_y1", "dawsn", "fresnel_cos", "fresnel_sin", "spence"), RARE),
    "dct": "a cosine transform: SciPy's is the fast one already",
    **dict.fromkeys(("eager_py_func", "py_func"), "it calls a Python function"),
    "host_call": "it calls a function",
    "communicate": "it calls MPI",
    "write_summary": "it writes to a file",
    "late_call": "it calls an op whose rank or axes only a run knows",
    "list_blank": "the shape of the elements is not known before one is written",
    "list_grow": "how long the list gets is data: a step of its own",
    "list_push": "how long the list gets is data: a step of its own",
    "list_push_begin": "how long the list gets is data: a step of its own",
    "list_extend": "how long the list gets is data: a step of its own",
    "list_trim": "how long the list gets is data: a step of its own, which moves nothing",
    "dynamic_partition": COUNTED,
    "ctc": "a recurrence over time of rows as long as the labels: its work depends on data",
    "isotonic": LEVELS,
    "isotonic_grad": LEVELS,
    "random_poisson": REJECTED,
    "random_binomial": REJECTED,
    "random_truncated": REJECTED,
    "gamma_slope": "a series or a continued fraction: how many terms it needs is data",
    "permutation": "exchanges in order: each looks at what those before it have moved",
    "index_shuffle": "how often a number is encrypted is data",
}


def ops_without_lowering() -> dict[str, str]:
    return {
        p.name: p.extra.get("reason")
        for p in all_primitives()
        if p.body.__module__.startswith("fastgraph.ops")
        and p.lower is None
        and p.decompose is None
        and (p.step or "").partition(".")[0]
        not in sequential_ops.KINDS | data_dependent_shapes.KINDS | {"alias", "draw"}  # steps of other kinds
        and not (p.family == "elementwise" and p.expr is not None)
    }


def test_ops_without_a_lowering_are_those_of_the_list() -> None:
    assert ops_without_lowering() == HOST_STEPS


def test_an_op_with_a_lowering_gives_no_reason() -> None:
    for p in all_primitives():
        if p.lower is not None or p.decompose is not None:
            assert p.extra.get("reason") is None, p.name
