"""The demo, on digits of our own making: it trains, says what it must, draws its pictures and ends when told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="no examples around the tests")


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import digits

    return digits


def made_up(seed: int = 0) -> Any:
    """Ten blurred patterns, as many as there are scans; as `load_digits` returns them."""
    random = np.random.default_rng(seed)
    patterns = random.random((10, 64))
    labels = np.arange(1797, dtype=np.int32) % 10
    images = (patterns[labels] + 0.1 * random.normal(size=(1797, 64))).astype(np.float32)
    return (images[:1437], labels[:1437]), (images[1437:], labels[1437:])


def test_its_compiled_step_has_no_host_steps(digits: Any) -> None:
    step = fg.function(digits.make_step(digits.TwoLayers(), fg.keras.optimizers.Adam(2e-3)))
    concrete = step.get_concrete_function(*digits.BATCH_SPEC)
    assert concrete.wait() and concrete.is_compiled and concrete.host_steps == 0
    kinds = [row.kind for row in concrete.steps()]
    assert {"kernel", "gemm", "read", "assign"} == set(kinds)


@pytest.mark.slow
def test_its_convolutional_step_has_no_host_steps(digits: Any) -> None:
    model = digits.convolutional()
    assert [type(layer).__name__ for layer in model.layers[1:]] == [
        "Conv2D",
        "Conv2D",
        "GlobalAveragePooling2D",
        "Dense",
    ]
    step = fg.function(digits.make_step(model, fg.keras.optimizers.Adam(2e-3)))
    concrete = step.get_concrete_function(*digits.BATCH_SPEC)
    assert concrete.wait() and concrete.is_compiled and concrete.host_steps == 0


def test_eager_and_compiled_steps_agree_for_100_steps(digits: Any) -> None:
    differences, _, _ = digits.eager_against_compiled(made_up()[0])
    assert differences.shape == (100,) and differences.max() < 1e-5
    differences, _, _ = digits.eager_against_compiled(made_up()[0], digits.convolutional, 10)
    assert differences.shape == (10,) and differences.max() < 1e-4


@pytest.mark.slow
def test_it_reports_and_draws(
    digits: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(digits, "load_digits", made_up)
    looked_at: list[int] = []
    predict = digits.predict
    monkeypatch.setattr(digits, "predict", lambda *args: looked_at.append(len(args[1])) or predict(*args))
    assert digits.run(8, tmp_path) == 0
    printed = capsys.readouterr().out
    assert "\r" not in printed  # plain lines: this is no terminal
    assert printed.count("two layers, compiled ") == 10 == printed.count("convolutional, compiled ")
    for line in (
        "held-out accuracy",
        "time of a step",
        "host steps             0 (two layers)   0 (convolutional)",
        "|eager - compiled|",
    ):
        assert line in printed
    assert looked_at == [360, 360, 360]  # once by each model
    for name in ("loss.png", "digits.png", "graph.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    here = Path(__file__).parent
    path = os.pathsep.join([str(EXAMPLES), str(here), str(Path(fg.__file__).parents[1])])
    code = "import sys, digits, test_demo; digits.load_digits = test_demo.made_up; sys.exit(digits.main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--epochs", "10000", "--output", str(tmp_path / "out")],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    # With 10,000 epochs the first tenth of the network's training is far away: it comes right after the linear model.
    while "440/440" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (130, "") and out.endswith("stopped\n")
    assert not (tmp_path / "out").exists()
