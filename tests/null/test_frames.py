"""Frames and bytecode are read for messages and debuggers, not for what a program means: the list of who reads them."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "fastgraph"

#: Who asks for frames of callers, or for instructions, and what for.
READERS = {
    "_tape.pyx": "errors name the user's line",
    "core/base/deferred_signals.py": "a handler of a signal takes the frame that it interrupts, as Python's do",
    "core/devices.py": "the warning of deprecated methods names the user's line",
    "api/namespaces.py": "a finder that is asked for a name says what to use if `from module import name` asks",
    "core/primitive.pyx": "the code of op bodies, which are ours: those that only call a ufunc",
    "data/stored_elements.py": "the instructions of a dataset's functions name its snapshot on the disk",
    "door/internal_decorators.py": "decorators are named after who makes them, which programs can only look at",
    "door/internal_inspect.py": "tf_inspect.currentframe, which libraries call themselves",
    "door/internal_logging.py": "messages counted by the line that logs them",
    "door/internal_modules.py": "files beside the module that asks for them",
    "door/internal_names.py": "the error for an internal name says who asks for it",
    "graph/source_lines.py": "errors of a graph name the lines that made a node",
    "graph/symbolic_tensor.py": "the error names the function that AutoGraph has not converted, and why",
    "unittests/running.py": "benchmarks are named after the methods that report them, as in TensorFlow",
}

READS = re.compile(r"\b(_getframe|currentframe|f_back|f_locals|co_code|get_instructions|Bytecode)\b")


def test_frames_and_bytecode_are_read_by_those_on_the_list_only() -> None:
    files = [path for suffix in ("py", "pyx", "pxi") for path in PACKAGE.rglob(f"*.{suffix}")]
    # As a text it is a name to look for in users' code, not a call.
    code = {str(path.relative_to(PACKAGE)): re.sub(r'"\w*"', "", path.read_text("utf-8")) for path in files}
    assert {name for name, text in code.items() if READS.search(text)} == set(READERS)
