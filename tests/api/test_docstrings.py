"""The names that programs use most say what they take, give and raise, and their examples hold.

tests/api/hundred_names.txt lists them: the hundred functions and classes of tests/api/api_counts.txt that are used most,
under all of their names together, and the methods used most, of which no counts are kept.
"""

from __future__ import annotations

import doctest
import inspect
import re
from collections import Counter
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

HERE = Path(__file__).parent
LISTED = (HERE / "hundred_names.txt").read_text(encoding="utf-8").split("\n\n")
HUNDRED, METHODS = ([line for line in part.splitlines() if not line.startswith("#")] for part in LISTED)
#: Said of no single name: every op takes a name for graphs, every layer one for its weights.
EVERYWHERE = {"self", "cls", "name"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def found(name: str) -> Any:
    """Return what a public name stands for, None if it is not there."""
    try:
        return reduce(getattr, name.split(".")[1:], tf)
    except (AttributeError, NotImplementedError):
        return None


def ranking() -> list[str]:
    """Return the functions and classes, the most used first, each by the name that is used most."""
    uses: Counter[int] = Counter()
    names: dict[int, list[tuple[int, str]]] = {}
    for line in (HERE / "api_counts.txt").read_text(encoding="utf-8").splitlines():
        space, _, counted = line.partition(": ")
        for name, count in re.findall(r"([\w.]+) (\d+)", "" if line.startswith("#") else counted):
            thing = found(f"{space}.{name}")
            if callable(thing) and not isinstance(thing, tf.DType):
                uses[id(thing)] += int(count)
                names.setdefault(id(thing), []).append((int(count), f"{space}.{name}"))
    return [max(names[each], key=lambda pair: pair[0])[1] for each, _ in uses.most_common()]


def test_the_hundred_are_those_used_most() -> None:
    assert ranking()[:100] == HUNDRED


def section(text: str, head: str) -> str:
    """Return what stands below "Args:" or another head, "" if there is none."""
    body = re.search(rf"^{head}:\n((?:    .*\n|\n)+)", text + "\n", re.MULTILINE)
    return body[1] if body else ""


def parameters(thing: Any) -> set[str]:
    """Return the names of what a call of it takes."""
    return {*inspect.signature(thing).parameters} - EVERYWHERE


@pytest.mark.parametrize("name", HUNDRED + METHODS)
def test_it_says_what_it_takes_and_its_examples_hold(name: str) -> None:
    thing = found(name)
    text = inspect.getdoc(thing) or ""
    said = {
        word for head in re.findall(r"^    (\S[^:]*):", section(text, "Args"), re.M) for word in re.split(r"\W+", head)
    }
    assert parameters(thing) <= said, f"Args of {name} say nothing of {sorted(parameters(thing) - said)}"
    first = text.partition("\n\nArgs")[0]
    gives = isinstance(thing, type) or "->" in first or first.startswith("Return ") or section(text, "Returns")
    assert gives, f"{name} does not say what it returns"
    examples = doctest.DocTestParser().get_doctest(text, {"tf": tf, "np": np}, name, None, 0)
    assert examples.examples and ">>> " in section(text, "Examples"), f"{name} has no Examples"
    report: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(examples, out=report.append)
    assert report == [], "".join(report)
