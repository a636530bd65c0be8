"""The table of settings."""

from __future__ import annotations

import os

import pytest

from fastgraph.core.base import flags


def test_default_and_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FASTGRAPH_THREADS", raising=False)
    assert flags.get("threads") == len(os.sched_getaffinity(0))
    monkeypatch.setenv("FASTGRAPH_THREADS", "3")
    assert flags.get("threads") == 3
    monkeypatch.setenv("FASTGRAPH_WORKER", "0")
    assert flags.get("worker") is False
    monkeypatch.setenv("FASTGRAPH_TIER", "last")
    assert flags.get("tier") == "last"


@pytest.mark.parametrize(("name", "text"), [("threads", "0"), ("threads", "many"), ("tier", "middle"), ("worker", "2")])
def test_bad_text_names_the_variable(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    variable = flags.FLAGS[name].variable
    monkeypatch.setenv(variable, text)
    with pytest.raises(ValueError, match=f"{variable}='{text}' cannot be used: it must be"):
        flags.get(name)


def test_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert flags.get("passes") == frozenset(flags.PASSES)
    monkeypatch.setenv("FASTGRAPH_PASSES", "fold, cse")
    assert flags.get("passes") == {"inline", "fold", "cse"}
    monkeypatch.setenv("FASTGRAPH_PASSES", "none")
    assert flags.get("passes") == {"inline"}
    monkeypatch.setenv("FASTGRAPH_PASSES", "fold,speed")
    with pytest.raises(ValueError, match="FASTGRAPH_PASSES='fold,speed' cannot be used: it must be all, none, or some"):
        flags.get("passes")


def test_override(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTGRAPH_FUEL", "7")
    with flags.override(fuel=3, verify=True):
        assert flags.get("fuel") == 3 and flags.get("verify") is True
        with flags.override(fuel=None):
            assert flags.get("fuel") is None
        assert flags.get("fuel") == 3
    assert flags.get("fuel") == 7 and flags.get("verify") is False
    with pytest.raises(KeyError, match="There is no flag 'speed'"):
        flags.set_flag("speed", 1)


def test_store_is_in_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FASTGRAPH_STORE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")
    assert flags.get("store") == "/somewhere/cache/fastgraph/kernels"
    monkeypatch.setenv("FASTGRAPH_STORE", "here")
    assert flags.get("store") == os.path.abspath("here")


def test_every_flag_is_described() -> None:
    for name, flag in flags.FLAGS.items():
        assert flag.variable.startswith(("FASTGRAPH_", "KERAS_", "TF_CONFIG")) and flag.meaning and name == name.lower()
        flags.get(name)
