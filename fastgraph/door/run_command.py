"""The command `python -m fastgraph run`: a program started again with the door open.

The interpreter replaces itself, so that the program runs as `python SCRIPT.py` runs it: tracebacks, exit codes,
signals and `__main__` are Python's own, and no frame of ours is below it.
"""

from __future__ import annotations

import os
import subprocess
import sys

from fastgraph.door.import_hook import environment

USAGE = """usage: python -m fastgraph run SCRIPT.py [ARGUMENT ...]
       python -m fastgraph run -m MODULE [ARGUMENT ...]
       python -m fastgraph run -c CODE [ARGUMENT ...]

Runs a program as `python` does, with fastgraph in the place of TensorFlow: `import tensorflow` gives fastgraph."""


def main(arguments: list[str]) -> int:
    """Start this interpreter again with `arguments` and the door open; return only if there is nothing to run."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    if sys.flags.ignore_environment or sys.flags.no_site:
        print(
            "python -m fastgraph run: the door is opened by way of the environment and of the module site, which the "
            "options -E, -I and -S shut out. Leave them out.",
            file=sys.stderr,
        )
        return 2
    options: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *options, *arguments], environment(dict(os.environ)))
