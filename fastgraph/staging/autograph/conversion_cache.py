"""Converted code from one process to the next: it lies beside the kernels in the store.

Rule: it is taken for a function of the same code and text alone, converted by the same files and the same malt for the
same Python, where every name that the conversion has looked for is taken, or free, as it was then.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
import types
from collections.abc import Callable
from functools import cache
from importlib.util import MAGIC_NUMBER, find_spec
from pathlib import Path

from fastgraph.compiler.store.kernel_store import CONVERTED, store
from fastgraph.core.base import flags
from fastgraph.staging import autograph
from fastgraph.staging.autograph import source_code

#: The files whose text decides what a function is converted to.
_FILES = (
    "__init__.py", "closure_liveness.py", "malt_passes.py", "converter.py", "conversion_cache.py",
    "source_lines.py", "syntax_rewrites.py", "source_code.py",
    "malt_walk_order.py",
)  # fmt: skip
Made = tuple[types.CodeType, dict[str, bool]]


def factory(function: types.FunctionType, make: Callable[[types.FunctionType], Made]) -> types.CodeType:
    """Return the code of what makes a converted function: what is kept, else what `make` gives (see `Translator`)."""
    # The first tier asks the store for nothing; what a notebook or a shell was given has another name next time.
    if flags.get("tier") == "first" or not os.path.isfile(function.__code__.co_filename):
        return make(function)[0]
    try:
        key = _key(function)
    except (OSError, ValueError):  # files that are not there, constants that cannot be written
        return make(function)[0]
    place = store()
    data = place.read(key, CONVERTED)
    if data is not None:
        code, asked = marshal.loads(data)
        taken = {*function.__globals__, *_bound(function)}
        if all((name in taken) == was for name, was in asked.items()):
            found: types.CodeType = code
            return found
    code, asked = make(function)
    place.write(key, marshal.dumps((code, asked)), CONVERTED)
    return code


def _bound(function: types.FunctionType) -> list[str]:
    """The free variables of a function that have a value."""
    found = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            cell.cell_contents  # noqa: B018
        except ValueError:
            continue
        found.append(name)
    return found


def _key(function: types.FunctionType) -> str:
    """Return the name under which the converted code of a function is kept."""
    attributes, operators = autograph.special_names(function)
    # In the second version what stands twice is written twice: equal code gives equal bytes.
    parts = [marshal.dumps(function.__code__, 2), source_code.written(function).encode(errors="surrogatepass")]
    parts.append(repr((sorted(attributes), sorted(operators))).encode())
    lengths = ",".join(str(len(part)) for part in parts)
    return hashlib.sha256(b"\0".join((_environment(), lengths.encode(), *parts))).hexdigest()[:40]


@cache
def _environment() -> bytes:
    """Everything else that converted code depends on. Raises OSError where a file cannot be read."""
    malt = find_spec("malt")
    if malt is None or malt.origin is None:
        raise FileNotFoundError("malt")
    status = Path(malt.origin).stat()
    text = f"{malt.origin} {status.st_size} {status.st_mtime_ns} {sys.implementation.cache_tag} {sys.flags.optimize}"
    here = Path(__file__).parent
    return hashlib.sha256(
        b"\0".join((MAGIC_NUMBER, text.encode(), *[(here / name).read_bytes() for name in _FILES]))
    ).digest()
