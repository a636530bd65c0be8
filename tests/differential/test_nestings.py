"""Every statement within every other, two and three deep, as functions written to a file: plain against staged.

Of integers, and of floats with their first and second derivatives.
"""

from __future__ import annotations

import importlib.util
import itertools
import random
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from differential_checks import derivatives

import fastgraph as fg
from fastgraph.core.base import flags

#: What a body can stand in; `{d}` makes the names of each depth its own.
AROUND = {
    "if": "if total + x > 4:\n{body}\nelse:\n    total -= 1\n",
    "else": "if total + x > 4:\n    total += 2\nelse:\n{body}\n",
    "while": "n{d} = 0\nwhile n{d} < n:\n    n{d} += 1\n{body}\n",
    "for": "for i{d} in fg.range(n):\n    total += fg.cast(i{d}, x.dtype)\n{body}\n",
    "python_for": "for k{d} in range(3):\n    total += k{d}\n{body}\n",
    "with": "with fg.name_scope('s'):\n{body}\n",
    "try": "try:\n{body}\nfinally:\n    total += 1\n",
}
LOOPS = {"while", "for", "python_for"}

#: What stands in it.
WITHIN = {
    "assign": "total += x",
    "choice": "total = total - 3 if total > 5 else total + x * x",
    "return": "if total > 9:\n    return total * 100",
    "break": "if total > 7:\n    break",
    "continue": "if total % 2 >= 1:\n    continue\ntotal += 5",
    "element": "values[0] = values[0] + total",
    "call": "total = changed(total) * x",
    "logic": "if total > 2 and not x == 1 or total < -2:\n    total = -total",
}

HEAD = """
import fastgraph as fg


def changed(v):
    if v > 6:
        return v - 4
    return v + 1


def nested(x, n):
    total = x
    values = [x, x]
{body}
    return total * 10 + values[0]
"""


def programs() -> list[tuple[str, ...]]:
    two = itertools.product(AROUND, WITHIN)
    three = random.Random(7).sample(list(itertools.product(AROUND, AROUND, WITHIN)), 70)
    return [names for names in [*two, *three] if names[-1] not in ("break", "continue") or set(names) & LOOPS]


def written(names: tuple[str, ...]) -> str:
    text = WITHIN[names[-1]]
    for depth, name in reversed(list(enumerate(names[:-1]))):
        text = AROUND[name].format(d=depth, body=textwrap.indent(text, "    "))
    return HEAD.format(body=textwrap.indent(text, "    "))


@pytest.mark.parametrize("names", programs(), ids="-".join)
def test_nested(names: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / f"nested_{'_'.join(names)}.py"
    file.write_text(written(names))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    integers, floats = fg.function(module.nested), fg.function(module.nested)
    with flags.override(tier="first"):
        for value in (0, 1, 4):
            x = fg.constant(value)
            assert np.asarray(integers(x, x)).tolist() == np.asarray(module.nested(x, x)).tolist(), (
                value,
                written(names),
            )
        for value, n in ((0.3, 0), (1.25, 2), (4.5, 3)):
            arguments = [fg.constant(value), fg.constant(n)]
            got, wanted = (derivatives(each, arguments, True) for each in (floats, module.nested))
            assert len(got) == len(wanted) == 2
            for a, b in zip(got, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, err_msg=f"{value} {n} {written(names)}")
