"""Lists of docs/architecture.md, from the docstrings of rooms and modules: `python tools/architecture.py [--check]`.

A room is a folder of the package; its own docstring says in a paragraph what it is, and each module's first line what
that module is. They are listed in the order of the layers (tests/null/test_layers.py), lowest first.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "fastgraph"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- modules: written by tools/architecture.py -->\n", "<!-- end of the modules -->\n"
#: The rooms, from the foundations up: folders below the package, "" for its root.
ROOMS = (
    *("core/base", "core/native", "core", "api", "core/tape", "ops", "state", "composites", "records"),
    *(
        "graph",
        "linear_operators",
        "numpy_api",
        "array_api",
        "graph/passes",
        "graphdef",
        "compiler/program",
        "compiler/nest",
        "compiler/vecmath",
        "compiler/cpu",
        "compiler/library",
    ),
    *("compiler/store", "compiler", "compiler/cuda", "runtime", "staging/signature", "staging/autograph", "staging"),
    *(
        "profiling",
        "summaries",
        "saving",
        "keras",
        "keras/layers",
        "keras/optimizers",
        "data",
        "replication",
        "unittests",
        "",
        "door/startup",
        "door",
    ),
)
SUFFIXES = (".py", ".pyx", ".pxi", ".h")


def first_sentence(path: Path) -> str:
    """Return the first sentence of a source file's docstring, of a header that of its first comment."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":  # not parsed as a whole: it takes seconds for all of them
        match = re.search(r'^r?"""(.*?)"""', text, re.MULTILINE | re.DOTALL)
        found = match[1] if match else ""
    else:
        text = "\n".join(line for line in text.splitlines() if not line.startswith(("# cython", "# distutils")))
        match = re.search(r'"""(.+?)"""|/\*(.+?)\*/|((?:^#.*\n)+)', text, re.MULTILINE | re.DOTALL)
        found = next(part for part in match.groups() if part) if match else ""
    paragraph = re.split(r"\n\s*[*#]?\s*\n", found.strip())[0]
    words = " ".join(re.sub(r"(?m)^\s*[*#]\s?", "", paragraph).split())
    return re.split(r"\.(?= [A-Z])", words)[0].rstrip(".:")


def modules(room: str) -> list[Path]:
    """Return the source files of a room in alphabetical order, without its `__init__`."""
    folder = PACKAGE / room
    return sorted(p for p in folder.iterdir() if p.suffix in SUFFIXES and p.stem != "__init__")


def listed() -> str:
    """Return the lists as Markdown."""
    lines = []
    for room in ROOMS:
        about = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))) or ""
        lines += [f"### `{'fastgraph/' + room if room else 'fastgraph/'}`", ""]
        if room:
            lines += [*about.strip().split("\n"), ""]
        lines += [f"- `{path.name}`: {first_sentence(path)}" for path in modules(room)]
        lines += [""]
    return "\n".join(lines)


def page() -> str:
    """Return docs/architecture.md with the lists as they are now."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + listed() + END + rest.partition(END)[2]


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(page() != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page(), encoding="utf-8")
