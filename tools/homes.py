"""Say which module of fastgraph.ops each op is defined in: the text of fastgraph/core/op_index.py, on the standard
output.

    .venv/bin/python tools/homes.py        (tools/stubs.py runs it and writes the file)

Run in a process of its own: it watches the modules as they register their ops.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fastgraph.core import registry as primitives

OPS = "fastgraph.ops."
#: What registers for others.
_BETWEEN = (f"{OPS}families", __name__)


def _home() -> str | None:
    """The module of ops that is registering something now."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith(OPS) and name not in _BETWEEN:
            return str(name.removeprefix(OPS))
        frame = frame.f_back
    return None


def found() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return {module: names} of primitives and of public names, sorted."""
    ops: dict[str, list[str]] = {}
    public: dict[str, list[str]] = {}
    register, register_public = primitives.register, primitives.register_public

    def watch(primitive: Any) -> Any:
        ops.setdefault(_home() or "", []).append(primitive.name)
        return register(primitive)

    def watch_public(function: Callable[..., Any], *names: str) -> Callable[..., Any]:
        public.setdefault(_home() or "", []).extend(names)
        return register_public(function, *names)

    primitives.register, primitives.register_public = watch, watch_public
    primitives.load_all()
    return _tidy(ops), _tidy(public)


def _tidy(names: dict[str, list[str]]) -> dict[str, list[str]]:
    return {module: sorted(set(names[module])) for module in sorted(names) if module and names[module]}


def _table(name: str, meaning: str, rows: dict[str, list[str]]) -> str:
    lines = [f"#: {meaning}", f"{name}: dict[str, str] = {{"]
    for module, names in rows.items():
        line = ""
        texts: list[str] = []
        for each in names:
            if len(line) + len(each) > 107:
                texts.append(line)
                line = ""
            line += f"{each} "
        texts.append(line.rstrip())
        if len("".join(texts)) <= 110:  # as `ruff format` joins them
            texts = ["".join(texts)]
        if len(texts) == 1 and len(module) + len(texts[0]) <= 109:
            lines.append(f'    "{module}": "{texts[0]}",')
        else:
            lines += [f'    "{module}": (', *[f'        "{text}"' for text in texts], "    ),"]
    return "\n".join([*lines, "}"])


def text() -> str:
    """Return the text of the file."""
    ops, public = found()
    return "\n".join(
        [
            '"""The module of fastgraph.ops that defines an op, by name: only what a program asks for is imported.',
            "",
            "Rule: written by tools/homes.py; a name that is missing here is found all the same, by importing all of",
            "them.",
            '"""',
            "",
            "from __future__ import annotations",
            "",
            _table("PRIMITIVES", "The primitives of each module.", ops),
            "",
            _table("PUBLIC", "The public names of each module.", public),
            "",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(text())
