"""A short fuzz of control flow, and the proof that it finds faults: a wrong statement of AutoGraph's must be found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fastgraph.staging import autograph
from fastgraph.staging.autograph import statements
from tests.fuzz.__main__ import modes
from tests.fuzz.check import Mode
from tests.fuzz.draw_flow import MOST_DEPTH, draw_flow, draw_inputs
from tests.fuzz.flow import STATE, FlowProgram, Statement, check_flow, fails_in, fuzz_flow, shrink_flow


def two(program: FlowProgram) -> dict[str, Mode]:
    """The interpreter and, in every third program, plans of unknown sizes."""
    wanted = ("first tier", "unknown sizes") if program.seed % 3 == 0 else ("first tier",)
    return {name: mode for name, mode in modes(program).items() if any(each in name for each in wanted)}


def one(seed: int) -> dict[str, Mode]:
    """The interpreter alone."""
    return {"first tier": modes(FlowProgram(seed, (), ()))["first tier"]}


@pytest.mark.slow
def test_plain_and_staged_agree() -> None:
    failures, counts = fuzz_flow(40, 2000, 20, two)
    assert failures == []
    assert counts["run"] > 0


def test_every_statement_is_drawn() -> None:
    wanted = {"if", "else", "while", "for", "break", "continue", "return", "and", "or", "not", "Dataset", ".assign"}
    texts = [draw_flow(seed) for seed in range(100)]
    missing = {word for word in wanted if not any(word in each.source() for each in texts)}
    assert missing == set()
    assert max(statement.depth for each in texts for statement in each.statements) == MOST_DEPTH
    assert {each.gradient for each in texts} == {0, 1, 2}


def test_a_program_is_its_seed() -> None:
    a, b = draw_flow(7), draw_flow(7)
    assert a.source() == b.source()
    for x, y in zip(a.inputs, b.inputs, strict=True):
        for name in STATE:
            np.testing.assert_array_equal(x[name], y[name])


def program_of(*statements: Statement, gradient: int = 0) -> FlowProgram:
    return FlowProgram(0, statements, (draw_inputs(np.random.default_rng(1)),), gradient)


def test_a_script_shows_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    program = program_of(Statement("s = s * 2.0"), gradient=1)
    exec(compile(program.script(), "script", "exec"), {"__name__": "script"})
    plain, staged = capsys.readouterr().out.strip().split("\n")
    assert plain == staged


def test_a_python_float_in_a_branch_is_a_difference() -> None:
    assert check_flow(program_of(Statement("if k >= 0:", (Statement("d = s"),))), one(0)) is not None


def test_shrinking_keeps_what_differs() -> None:
    fine = Statement("s = s * 2.0")
    wrong = Statement("for i in fg.range(3):", (fine, Statement("if k >= 0:", (Statement("d = s"), fine))))
    program = program_of(fine, wrong, fine, gradient=1)
    modes = one(0)
    difference = check_flow(program, modes)
    assert difference is not None
    small = shrink_flow(program, fails_in(difference, modes))
    assert small.gradient == 0
    assert sum(statement.size for statement in small.statements) == 2


@pytest.mark.parametrize("statement", ["if_stmt", "while_stmt", "for_stmt"])
def test_planted_fault_is_found(statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop or branch whose last state is the one before it."""
    program = program_of(
        Statement("for i in fg.range(1, 4):", (Statement("s += fg.cast(i, fg.float32)"),)),
        Statement("j = fg.constant(0)"),
        Statement("while j < 3:", (Statement("j += 1"), Statement("s += 0.5"))),
        Statement("if k >= 0:", (Statement("a = a + s"),)),
    )
    assert check_flow(program, one(0)) is None
    original = getattr(statements, statement)

    def faulty(*args: Any) -> None:
        get_state, set_state = args[-4:-2]
        before = get_state()
        original(*args)
        set_state(before)

    operators = autograph.get_converter().operators(True)
    monkeypatch.setattr(operators, statement, faulty)
    assert check_flow(program, one(0)) is not None
