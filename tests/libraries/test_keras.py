"""A part of Keras's own tests behind the door: `make libraries` runs all of them."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def tool() -> Any:
    """The module of tools/libraries.py."""
    specification = importlib.util.spec_from_file_location("libraries_tool", HERE.parents[1] / "tools" / "libraries.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


#: Files of each kind that take seconds.
FILES = (
    "keras/src/activations/activations_test.py",
    "keras/src/losses/losses_test.py",
    "keras/src/metrics/accuracy_metrics_test.py",
    "keras/src/backend/tensorflow/optimizer_distribute_test.py",
    "keras/src/ops/einops_test.py",
    "keras/src/ops/linalg_test.py",
    "keras/src/optimizers/adam_test.py",
    "keras/src/layers/pooling/max_pooling_test.py",
    "keras/src/layers/rnn/gru_test.py",
    "keras/src/layers/normalization/batch_normalization_test.py",
    "keras/src/models/functional_test.py",
    "keras/src/models/sequential_test.py",
    "keras/src/callbacks/early_stopping_test.py",
)


def has_keras() -> bool:
    """Whether the Keras that the list is of is installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("keras") == "3.15.1" and importlib.util.find_spec("pytest_timeout") is not None
    except PackageNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not has_keras(), reason="Keras 3.15.1 is not installed")
def test_what_passes_on_tensorflow_passes_behind_the_door(tmp_path: Path) -> None:
    libraries = tool()
    run = libraries.Run(sys.executable, oracle=False, results=tmp_path)
    wanted = libraries.read_list(run.list_file())
    for path in FILES:
        run.run(path)
    for server in run.servers:
        server.communicate()
    missed = dict(libraries.misses(run, {path: wanted[path] for path in FILES}))
    assert missed == {}


@pytest.mark.skipif(not has_keras(), reason="Keras 3.15.1 is not installed")
def test_a_part_leaves_the_docs_alone(tmp_path: Path) -> None:
    libraries = tool()
    run = libraries.Run(sys.executable, oracle=False, results=tmp_path)
    paths = list(libraries.read_list(run.list_file()))
    for path in paths[1:]:
        run.outcome_file(path).write_text('{"end": 0}\n')
    assert libraries.report_place(run) == tmp_path / "report.md"
    run.outcome_file(paths[0]).write_text('{"end": 0}\n')
    assert libraries.report_place(run) == HERE.parents[1] / "docs" / "libraries.md"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"outcome": "skipped", "why": "no GPU"}, "skipped"),
        (
            {"outcome": "failed", "why": "NotBuiltError: tf.tpu is not built yet"},
            "another name of TensorFlow's that is not built",
        ),
        ({"outcome": "failed", "why": "AssertionError: Not equal to tolerance rtol=1e-06"}, "A DIFFERENT VALUE"),
        ({"outcome": "not run", "why": "timeout of the file"}, "out of time"),
    ],
)
def test_a_miss_has_its_reason(line: dict[str, str], words: str) -> None:
    assert tool().reason(line) == words


def test_outcomes_are_written_as_tests_end(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(
        "import pytest\ndef test_passes(): pass\ndef test_fails(): assert 1 == 2\n@pytest.mark.skip\ndef test_skips(): pass\n"
    )
    written = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "outcomes", "-p", "no:cacheprovider", "test_some.py"]
    environment = {"PYTHONPATH": str(HERE), "LIBRARY_OUTCOMES": str(written), "PATH": ""}
    subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    first, *lines = [json.loads(line) for line in written.read_text().splitlines()]
    assert len(first["collected"]) == 3
    assert {line["id"].partition("::")[2]: line["outcome"] for line in lines} == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_skips": "skipped",
    }
    assert "assert 1 == 2" in lines[1]["why"]
