"""What grows with the number of statements and of variables: in step with it, counted and not timed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastgraph as fg

TRACED: list[int] = []


@fg.autograph.experimental.do_not_convert
def note() -> None:
    """What a body calls that is traced."""
    TRACED.append(len(TRACED))


def written(folder: Path, name: str, lines: list[str]) -> Callable[..., Any]:
    """A function `f(x)` of these lines, in a file of its own."""
    path = folder / f"{name}.py"
    path.write_text("\n    ".join(["def f(x):", *lines]) + "\n")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(tf=fg, note=note)
    spec.loader.exec_module(module)
    function: Callable[..., Any] = module.f
    return function


def test_conversion_visits_a_statement_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of n conditions in a row is not looked at once for every way through those before it, which are 2**n."""
    from malt.pyct.static_analysis import reaching_definitions

    visits = []
    visit = reaching_definitions.Analyzer.visit_node

    def counted(analyzer: Any, node: Any) -> Any:
        visits.append(node)
        assert len(visits) < 100_000
        return visit(analyzer, node)

    monkeypatch.setattr(reaching_definitions.Analyzer, "visit_node", counted)
    numbers = []
    for n in (20, 40):
        visits.clear()
        lines = [f"if x > {k}.:\n        x = x + 1.\n    else:\n        x = x - 0.5" for k in range(n)]
        function = written(tmp_path, f"conditions_{n}", [*lines, "return x"])
        assert float(fg.function(function)(fg.constant(3.0))) == function(3.0)
        numbers.append(len(visits))
    assert 0 < numbers[0] and numbers[1] <= 2.1 * numbers[0]


@pytest.mark.parametrize(
    ("begin", "change", "use"),
    [
        ("v{k} = []", "v{k}.append(x + {k}.)", "tf.stack(v{k})"),
        ("pass", "v{k} = x + {k}.", "v{k}"),
        ("v{k} = {{'a': x}}", "v{k}['a'] = v{k}['a'] + {k}.", "v{k}['a']"),
    ],
    ids=["lists", "defined in the loop", "dicts"],
)
def test_the_body_is_traced_as_often_for_many_variables(tmp_path: Path, begin: str, change: str, use: str) -> None:
    times = []
    for n in (2, 70):
        TRACED.clear()
        lines = [begin.format(k=k) for k in range(n)]
        lines += ["for t in tf.range(3):", "    note()", *("    " + change.format(k=k) for k in range(n))]
        lines += ["return [" + ", ".join(use.format(k=k) for k in range(n)) + "]"]
        function = written(tmp_path, f"variables_{n}", lines)
        plain = [value.numpy().tolist() for value in map(fg.convert_to_tensor, function(fg.constant(1.0)))]
        TRACED.clear()
        staged = fg.function(function)(fg.constant(1.0))
        assert [value.numpy().tolist() for value in staged] == plain
        times.append(len(TRACED))
    assert times[0] == times[1] <= 3
