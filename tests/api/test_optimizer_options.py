"""tf.config.optimizer, and what each of the passes that it switches does to a graph: the exact graph before and after."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.errors import InvalidArgumentError

SPEC = fg.TensorSpec([3], "float32")
options = fg.config.optimizer


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    options.set_experimental_options(dict.fromkeys(options.get_experimental_options()))
    options.set_jit(False)
    flags.clear_flag("passes")


def graphs(function: Callable[..., Any], *specs: Any) -> tuple[list[str], list[str]]:
    """The nodes as written and after the passes, without their types and places."""
    text = fg.function(function, autograph=False).get_concrete_function(*specs).explain()
    written, optimised = text.split("# after optimise")
    return nodes(written), nodes(optimised.split("\n# ")[0])


def nodes(text: str) -> list[str]:
    return [line.split("  #")[0].strip() for line in text.splitlines() if re.match(r"    \w+( = |\(|, | )", line)]


def folding(x: Any) -> Any:
    return x * (fg.constant(2.0) * fg.constant(3.0))


def common(x: Any) -> Any:
    return fg.exp(x) + fg.exp(x)


def unused(x: Any) -> Any:
    fg.sin(x)
    return fg.exp(x)


def arithmetic(x: Any) -> Any:
    return fg.negative(fg.negative(x)) * 1.0


CASES: dict[str, tuple[Callable[..., Any], list[str], list[str]]] = {
    "constant_folding": (
        folding,
        [
            "Const = const(value=2.0)",
            "Const_1 = const(value=3.0)",
            "mul = multiply(Const, Const_1)",
            "mul_1 = multiply(x, mul)",
            "Identity = identity(mul_1)",
            "return Identity",
        ],
        ["mul = const(value=6.0)", "mul_1 = multiply(x, mul)", "return mul_1"],
    ),
    "arithmetic_optimization": (
        common,
        ["Exp = exp(x)", "Exp_1 = exp(x)", "add = add(Exp, Exp_1)", "Identity = identity(add)", "return Identity"],
        ["Exp = exp(x)", "add = add(Exp, Exp)", "return add"],
    ),
    "arithmetic_optimization of signs": (
        arithmetic,
        [
            "Neg = negative(x)",
            "Neg_1 = negative(Neg)",
            "mul_y = const(value=1.0)",
            "mul = multiply(Neg_1, mul_y)",
            "Identity = identity(mul)",
            "return Identity",
        ],
        ["return x"],
    ),
    "disable_model_pruning": (
        unused,
        ["Sin = sin(x)", "Exp = exp(x)", "Identity = identity(Exp)", "return Identity"],
        ["Exp = exp(x)", "return Exp"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_pass_and_its_switch(name: str) -> None:
    function, written, optimised = CASES[name]
    assert graphs(function, SPEC) == (written, optimised)
    option = name.split()[0]
    options.set_experimental_options({option: option.startswith("disable")})
    assert graphs(function, SPEC)[1] != optimised
    options.set_experimental_options({option: not option.startswith("disable")})
    assert graphs(function, SPEC) == (written, optimised)


def test_no_pass_at_all() -> None:
    options.set_experimental_options({"disable_meta_optimizer": True})
    for function, written, _ in CASES.values():
        assert graphs(function, SPEC) == (written, written)


def kernels(function: Callable[..., Any], *values: Any) -> int:
    """How many kernels a function runs."""
    with flags.override(tier="last", worker=False):
        staged = fg.function(function)
        staged(*values)
        return len(re.findall(r"^  \d+ kernel", staged.get_concrete_function(*values).explain(), re.MULTILINE))


def test_remapping_is_fusion() -> None:
    x = fg.constant([1.0, 2.0])
    assert kernels(lambda x: fg.exp(fg.sin(x)) * x, x) == 1
    options.set_experimental_options({"remapping": False})
    assert kernels(lambda x: fg.exp(fg.sin(x)) * x, x) == 3


def test_independent_parts_run_on_threads() -> None:
    def parts(x: Any) -> Any:
        a = b = x
        for _ in range(3):
            a, b = fg.tanh(a @ a), fg.sin(b @ b)
        return a + b

    text = fg.function(parts).get_concrete_function(fg.TensorSpec([128, 128], "float32")).explain()
    waits = {
        int(m[1]): [int(n) for n in re.findall(r"\d+", m[2] or "")]
        for m in re.finditer(r"^  (\d+) \w+(?: after ([\d, ]+))?:", text, re.MULTILINE)
    }

    def before(step: int) -> set[int]:
        return {step}.union(*(before(n) for n in waits[step]))

    last = max(waits)
    assert before(last) == set(waits)  # and the steps that are waited for are seen
    assert any(a not in before(b) and b not in before(a) for a in range(last) for b in range(a))


def test_debug_stripper(capfd: pytest.CaptureFixture[str]) -> None:
    def told(x: Any) -> Any:
        fg.debugging.assert_positive(x)
        fg.print("told", x)
        return fg.debugging.check_numerics(1.0 / x, "divided") + 1.0

    with pytest.raises(InvalidArgumentError, match="did not hold"):
        fg.function(told)(fg.constant(0.0))
    options.set_experimental_options({"debug_stripper": True})
    for tier in ("first", "last"):
        with flags.override(tier=tier, worker=False):
            assert float(fg.function(told)(fg.constant(0.0))) == float("inf")
    assert capfd.readouterr().err == ""
    options.set_experimental_options({"debug_stripper": None})
    fg.function(told)(fg.constant(1.0))
    assert capfd.readouterr().err == "told 1\n"


def test_options_are_tensorflows() -> None:
    unset = {"disable_model_pruning": False, "disable_meta_optimizer": False}
    assert options.get_experimental_options() == unset
    options.set_experimental_options({"constant_folding": False, "layout_optimizer": True, "min_graph_nodes": 3})
    options.set_experimental_options({"constant_folding": True})
    assert options.get_experimental_options() == {
        **unset,
        "constant_folding": True,
        "layout_optimizer": True,
        "min_graph_nodes": 3,
    }
    assert flags.get("passes") == frozenset(flags.PASSES)


def test_bad_options() -> None:
    with pytest.warns(UserWarning, match="'constant_foldin' is not an option .* Did you mean 'constant_folding'?"):
        options.set_experimental_options({"constant_foldin": False})
    with pytest.raises(TypeError, match="'remapping' must be True or False. Received: 'yes'"):
        options.set_experimental_options({"constant_folding": False, "remapping": "yes"})
    with pytest.raises(TypeError, match="must be a dictionary"):
        options.set_experimental_options([1])
    assert flags.get("passes") == frozenset(flags.PASSES)  # nothing half done


def test_jit() -> None:
    assert options.get_jit() == ""
    for enabled, text in ((True, "autoclustering"), (False, ""), ("autoclustering", "autoclustering"), ("", "")):
        options.set_jit(enabled)
        assert options.get_jit() == text
