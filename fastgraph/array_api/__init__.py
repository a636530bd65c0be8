"""The array API standard: the namespace that tensors give for `x.__array_namespace__()`.

Its names, promotion and defaults over fastgraph's ops; tensors are its arrays, in eager mode and in Functions.

Rule: a function is a row of a table, or a few lines of public ops; no op is defined here.
"""

from __future__ import annotations

import math
from typing import Any

from fastgraph.array_api import arrays, dtypes, elementwise, fft, linalg, statistics
from fastgraph.core.base.dtype import as_dtype

__array_api_version__ = "2025.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi
_PARTS = (dtypes, elementwise, arrays, statistics)

__all__ = [
    *(name for part in _PARTS for name in part.__all__), *(name for kind in dtypes.KINDS.values() for name in kind),
    "e", "fft", "inf", "linalg", "matmul", "matrix_transpose", "nan", "newaxis", "pi", "tensordot", "vecdot",
]  # fmt: skip


def _fill(module: dict[str, Any]) -> None:
    module.update({name: getattr(part, name) for part in _PARTS for name in part.__all__})
    module.update({name: as_dtype(name) for names in dtypes.KINDS.values() for name in names})
    module.update({name: getattr(linalg, name) for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")})


_fill(globals())
