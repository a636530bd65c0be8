"""to_code, to_graph, set_verbosity, trace, Feature."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

import fastgraph as fg


def absolute(x: Any) -> Any:
    if x < 0:
        x = -x
    return x


def shifted(x: Any) -> Any:
    return absolute(x) + 1 if x != 0 else x


class Scale:
    factor = 2

    def __call__(self, x: Any) -> Any:
        return x * self.factor if x > 0 else x


@pytest.fixture
def verbosity() -> Iterator[None]:
    yield
    fg.autograph.set_verbosity(0)


def test_to_graph() -> None:
    converted = fg.autograph.to_graph(shifted)
    assert [int(converted(fg.constant(v))) for v in (-3, 0, 2)] == [4, 0, 3]
    assert [converted(v) for v in (-3, 0, 2)] == [4, 0, 3]
    staged = fg.function(converted, autograph=False)
    assert [int(staged(fg.constant(v))) for v in (-3, 0, 2)] == [4, 0, 3]


def test_to_code_says_whether_what_is_called_is_converted() -> None:
    assert "ConversionOptions(recursive=True," in fg.autograph.to_code(shifted)
    assert "ConversionOptions(recursive=False," in fg.autograph.to_code(shifted, recursive=False)


def test_to_graph_of_one_function_alone() -> None:
    staged = fg.function(fg.autograph.to_graph(shifted, recursive=False), autograph=False)
    with pytest.raises(fg.errors.OperatorNotAllowedInGraphError):
        staged(fg.constant(1))


def test_to_graph_of_methods_and_functions() -> None:
    scale = Scale()
    assert int(fg.autograph.to_graph(scale.__call__)(scale, fg.constant(3))) == 6
    assert int(fg.autograph.to_graph(fg.function(absolute))(fg.constant(-3))) == 3


@pytest.mark.parametrize("what", [3, len, "absolute", eval("lambda x: x")])
@pytest.mark.parametrize("name", ["to_code", "to_graph"])
def test_what_cannot_be_converted_is_said(name: str, what: Any) -> None:
    with pytest.raises(ValueError, match=r"converts Python functions, not|source code"):
        getattr(fg.autograph, name)(what)


def test_trace_prints_while_tracing(capsys: pytest.CaptureFixture[str]) -> None:
    @fg.function
    def traced(x: Any) -> Any:
        if x > 0:
            fg.autograph.trace("seen", x.dtype)
        return x

    for _ in range(3):
        traced(fg.constant(1))
    assert capsys.readouterr().out == "seen <dtype: 'int32'>\n"


@pytest.mark.usefixtures("verbosity")
def test_set_verbosity(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.WARNING, logger="tensorflow"):
        fg.function(shifted)(fg.constant(1))
        assert not caplog.messages
        fg.autograph.set_verbosity(1)
        fg.function(shifted)(fg.constant(1))
        assert [message.split(" (")[0] for message in caplog.messages] == [
            "AutoGraph converts shifted", "AutoGraph converts absolute"
        ]  # fmt: skip
        fg.autograph.set_verbosity(3, alsologtostdout=True)
        fg.function(absolute)(fg.constant(1))
    assert "def tf__absolute(x: Any)" in caplog.messages[-1]
    assert "def tf__absolute(x: Any)" in capsys.readouterr().out


def test_features_are_taken() -> None:
    feature = fg.autograph.experimental.Feature
    assert feature.LISTS in feature.all() and feature.ALL not in feature.all_but(feature.LISTS)
    assert set(feature.all_but([feature.LISTS])) == set(feature.all()) - {feature.LISTS, feature.ALL}
    staged = fg.function(absolute, experimental_autograph_options=feature.ALL)
    assert int(staged(fg.constant(-1))) == 1


@pytest.mark.parametrize(("feature", "at_runs"), [("BUILTIN_FUNCTIONS", True), ("ALL", True), ("LISTS", False)])
def test_print_is_of_the_graph_with_the_feature_builtin_functions(
    feature: str, at_runs: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def shown(x: Any) -> Any:
        print("shown", x, sep="=")
        return x

    def looped(x: Any) -> Any:
        for i in fg.range(2):
            print("i", i)
        return shown(x)

    chosen = fg.autograph.experimental.Feature[feature]
    for options in (chosen, (chosen,)):
        function = fg.function(looped, experimental_autograph_options=options)
        function(fg.constant(3))
        function(fg.constant(4))
        printed = capsys.readouterr().out
        assert (printed == "i 0\ni 1\nshown=3\ni 0\ni 1\nshown=4\n") is at_runs, printed
        assert printed.count("Tensor(") == (0 if at_runs else 2)
    fg.function(fg.autograph.to_graph(shown, experimental_optional_features=chosen), autograph=False)(fg.constant(5))
    assert ("shown=5" in capsys.readouterr().out) is at_runs


def test_features_are_features() -> None:
    with pytest.raises(TypeError, match="Feature, not 'LISTS'"):
        fg.function(lambda x: x, experimental_autograph_options="LISTS")(1)
