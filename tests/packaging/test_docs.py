"""What the documents show runs, what they quote is in the sources, and their links lead somewhere."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])

pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="no docs around the tests")

#: What a document's code takes as given.
SETTING = {
    "performance.md": "step, x, y = tf.function(lambda a, b: a @ b), tf.ones([8, 8]), tf.ones([8, 8])",
}


def code_of(path: Path) -> str:
    """Return the Python blocks of a document, one after another."""
    text = path.read_text(encoding="utf-8")
    return "\n".join(map(textwrap.dedent, re.findall(r"^ *```python\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)))


def noting_claims(code: str) -> str:
    """Return the code where each line that says by a comment what it gives, `# tf.Tensor(...)`, fails if it does not."""
    line = re.compile(r"^( *)(?:print\((.*)\)|(\S[^#\n]*?))  # (tf\.Tensor\(.*\))$", re.MULTILINE)
    assert line.search("print(f(x))  # tf.Tensor(1, shape=(), dtype=int32)")

    def checked(found: re.Match[str]) -> str:
        wanted = re.escape(found[4].replace("\\n", "\n")).replace(r"\.\.\.", ".*")
        return f"{found[1]}text = str({found[2] or found[3]}); assert re.fullmatch({wanted!r}, text, re.S), text; print(text)"

    return line.sub(checked, code)


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "docs/checkpoints.md",
        "docs/getting_started.md",
        "docs/graphs.md",
        "docs/keras.md",
        "docs/performance.md",
        "docs/saved_model.md",
    ],
)
def test_code_runs(name: str, tmp_path: Path) -> None:
    path = ROOT / name
    script = tmp_path / "document.py"
    code = noting_claims(code_of(path))
    script.write_text(f"import re\nimport fastgraph as tf\n{SETTING.get(path.name, '')}\n{code}\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    if name == "README.md":
        loss, w, b = map(float, re.findall(r"loss ([\d.]+), w \[\[([\d.]+)\]\], b \[([\d.]+)\]", done.stdout)[0])
        assert done.stdout.count("\n") == 1
        assert loss < 0.02 and abs(w - 3) < 0.1 and abs(b - 2) < 0.1
    elif name == "docs/performance.md":
        assert "GF/s" in done.stdout and (tmp_path / "trace.json").stat().st_size > 100
    elif name == "docs/graphs.md":
        assert "gradient_tape/hidden" in (tmp_path / "train_step.svg").read_text(encoding="utf-8")
        assert b"train_step" in next((tmp_path / "logs").iterdir()).read_bytes()
    elif name == "docs/checkpoints.md":
        assert done.stdout == "folder/ckpt-5 3\n"
    elif name == "docs/saved_model.md":
        assert done.stdout.count("tf.Tensor(6.0, shape=(), dtype=float32)") == 2
    elif name == "docs/keras.md":
        assert done.stdout == "['accuracy', 'loss', 'val_accuracy', 'val_loss']\n(3, 2)\n"
    else:
        assert code.count("re.fullmatch") >= 5 and "tf.Tensor(18.0, shape=(), dtype=float32)" in done.stdout


def test_the_architectures_example_is_in_the_sources() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "fastgraph" / "ops").glob("*.py"))
    assert code_of(ROOT / "docs" / "architecture.md").strip() in sources


def test_code_that_is_run_is_all_there_is() -> None:
    run = {
        "README.md",
        "checkpoints.md",
        "getting_started.md",
        "graphs.md",
        "keras.md",
        "performance.md",
        "architecture.md",
        "saved_model.md",
    }
    assert [
        path.name
        for path in DOCS
        if "```" in path.read_text(encoding="utf-8")
        and path.name not in {*run, "soak.md", "executor.md", "convnet.md", "door.md", "CONTRIBUTING.md"}
    ] == []


def test_recipes_can_be_read_and_the_files_that_they_name_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 9
    for block in blocks:
        ast.parse(textwrap.dedent(block))
    made = {"fastgraph/compiler/plain_target.py", "tests/backend/test_plain_target.py"}  # by the recipe itself
    named = {each.partition("::")[0] for each in re.findall(r"`((?:fastgraph|tests|tools|docs)/[\w./]+)", text)}
    assert [each for each in sorted(named - made) if not (ROOT / each).exists()] == []


def test_readmes_example_has_about_twenty_lines() -> None:
    lines = [line for line in code_of(ROOT / "README.md").splitlines() if line.strip()]
    assert 15 <= len(lines) <= 25


def sources() -> str:
    """Return everything that can say something to a user, with line breaks inside literals taken out."""
    files = [ROOT / "setup.py", ROOT / "Makefile"]
    for suffix in ("py", "pyx", "pxi"):
        files += (ROOT / "fastgraph").rglob(f"*.{suffix}")
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return re.sub(r'"\s*\n\s*f?r?"', "", text).replace("\\'", "'")


def quoted_messages() -> list[str]:
    """Return the messages that docs/troubleshooting.md begins its paragraphs with."""
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    heads = re.findall(r"^(\*\*.*?) — ", text, re.MULTILINE | re.DOTALL)
    return [message for head in heads for message in re.findall(r"\*\*(.+?)\*\*", head, re.DOTALL)]


@pytest.mark.parametrize("message", quoted_messages() if (ROOT / "docs" / "troubleshooting.md").exists() else [])
def test_messages_are_in_the_sources(message: str) -> None:
    """Every run of words between the parts that vary stands in the sources."""
    text = sources()
    parts = [part.strip(" .") for part in re.split(r"\.\.\.|'[^']*'|<[^>]*>|\bX\b|\b\d+\b|`Tensor.*?`", message)]
    found = [part for part in parts if len(part.split()) >= 2]
    missing = [part for part in found if " ".join(part.split()) not in text]
    assert found and not missing, f"not in the sources: {missing}"


@pytest.mark.parametrize("path", DOCS, ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_every_flag_is_in_the_docs() -> None:
    from fastgraph.core.base import flags

    text = (ROOT / "docs" / "performance.md").read_text() + (ROOT / "docs" / "troubleshooting.md").read_text()
    assert [flag.variable for flag in flags.FLAGS.values() if flag.variable not in text] == []


def test_decisions_are_listed() -> None:
    listed = (ROOT / "docs" / "adr" / "README.md").read_text()
    for path in (ROOT / "docs" / "adr").glob("0*.md"):
        assert f"({path.name})" in listed and path.read_text().startswith(f"# {int(path.name[:4])}. ")


def test_version_is_the_same_everywhere() -> None:
    import fastgraph

    assert fastgraph.__version__ in (ROOT / "CHANGELOG.md").read_text()


def test_one_thing_has_one_figure() -> None:
    """The README's table and the page are what the newest measurement writes; no other page states its figures."""
    from benchmarks import report

    results = json.loads(max((ROOT / "benchmarks" / "results").glob("*.json")).read_text(encoding="utf-8"))
    shown = (ROOT / "README.md").read_text(encoding="utf-8").partition(report.BEGIN)[2].partition(report.END)[0]
    assert shown == report.readme(results)
    assert (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8") == report.markdown(results)
    assert re.findall(r"\d+(?:\.\d+)?e[+-]\d+ (?:ns|us|ms|s|MB)\b", "".join(p.read_text() for p in DOCS)) == []
