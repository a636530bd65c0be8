"""GraphDefs to the letter: what fastgraph writes of small graphs beside what TensorFlow writes of them.

    PEER_TENSORFLOW=/path/to/its/python python -W ignore -m tests.oracle.graph_letters [--show NAME ...]

Numbers that count the process's own (`cond_true_17`) are left out, and what newer versions of TensorFlow say of the
arguments of branches (`_user_specified_name`) and the guide's does not; all else is compared: nodes in order, names,
inputs, types, attributes, constants, and the library.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import pickle
import re
import subprocess
import sys
import tempfile
from typing import Any

from tests.oracle import processes, small_graphs

#: What the process counts: branches and bodies, functions, Python functions.
_NUMBERED = re.compile(
    r"(\b\w*(?:_true|_false|_body|_cond|_branch\d+)\w*|__(?:inference|forward|backward)_[\w<>]+|pyfunc)_\d+"
)
_BRANCH = re.compile(r"_(true|false|branch\d+)_")


def written(tf: Any) -> dict[str, bytes]:
    """Return the GraphDef of each case in the wire format."""
    found = {}
    for name, function, _, specs in small_graphs.cases(tf):
        try:
            graph = tf.function(function).get_concrete_function(*specs).graph
        except Exception as error:
            print(f"  {name}: {type(error).__name__}: {error}")
            continue
        found[name] = graph.as_graph_def().SerializeToString()
    return found


def text(content: bytes) -> str:
    """Return a GraphDef as text: the library's functions by name, the process's own numbers left out."""
    from fastgraph.graphdef.messages import parsed

    definition = parsed(content, "GraphDef")
    definition.ClearField("versions")
    if definition.HasField("library"):
        definition.library.function.sort(key=lambda function: _unnumbered(function.signature.name))
        for function in definition.library.function:
            if _BRANCH.search(function.signature.name):
                for argument in function.arg_attr.values():
                    argument.attr.pop("_user_specified_name", None)
    return _unnumbered(str(definition))


def _unnumbered(found: str) -> str:
    return _NUMBERED.sub(r"\1_N", found)


def compared(ours: dict[str, bytes], theirs: dict[str, bytes], show: list[str]) -> int:
    """Print how many are equal, and where the others part; return how many differ."""
    n_equal = 0
    for name, content in theirs.items():
        if name not in ours:
            print(f"  {name}: missing")
            continue
        mine, there = text(ours[name]), text(content)
        n_equal += mine == there
        if mine != there:
            shown = name in show or "all" in show
            lines = [there.split("\n"), mine.split("\n")]
            diff = list(difflib.unified_diff(*lines, "tensorflow", "fastgraph", lineterm="", n=12 if shown else 0))
            print(f"  {name}: {sum(line[:1] in ('+', '-') for line in diff) - 2} lines differ")
            if shown:
                print("\n".join(diff))
    print(f"{n_equal} of {len(theirs)} equal")
    return len(theirs) - n_equal


def main(given: list[str] | None = None) -> int:
    """Compare both sides; return how many graphs differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--show", nargs="*", default=[], help="names of graphs whose differences are printed; all")
    arguments = parser.parse_args(given)
    if arguments.side:
        module, path = arguments.side
        with open(path, "wb") as file:
            pickle.dump(written(importlib.import_module(module)), file)
        return 0
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": os.getcwd()}
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for module, python in (("fastgraph", sys.executable), ("tensorflow", processes.tensorflow_python())):
            path = os.path.join(folder, module)
            command = [python, "-m", "tests.oracle.graph_letters", "--side", module, path]
            subprocess.run(command, env=environment, check=True)
            with open(path, "rb") as file:
                found.append(pickle.load(file))
    return compared(found[0], found[1], arguments.show)


if __name__ == "__main__":
    sys.exit(main())
