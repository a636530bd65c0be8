"""SavedModels that something has damaged: each is loaded, or refused by an error.

    python -m tests.fuzz.saved_models --seconds 600 --seed 1

They are TensorFlow's (tests/oracle/saved_models.tar.xz). In some a file has other bytes: the main message, the values'
index and data, an asset, the fingerprint; in others the messages are whole, and nodes, functions, objects or signatures
have changed. Exit status 1 where loading raised what is no answer (KeyError, IndexError, ...), or took memory that the
files do not justify, which is printed with its seed.
"""

from __future__ import annotations

import random
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import fastgraph as fg
from fastgraph.graphdef.messages import KINDS
from tests.fuzz import damage
from tests.fuzz.messages import NAMES, ODD, change

#: What loading may raise: TensorFlow's errors, OSError for what cannot be read, and what fields of a wrong kind raise.
ANSWERS = (fg.errors.OpError, OSError, NotImplementedError, ValueError, TypeError)
ACCIDENTS = (UnicodeError,)
ARCHIVE = Path(__file__).parents[1] / "oracle" / "saved_models.tar.xz"
BESIDES = 16 << 20
MAIN = "saved_model.pb"


@cache
def originals() -> list[dict[str, bytes]]:
    """The files of each model by their names in its folder."""
    models: dict[str, dict[str, bytes]] = {}
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            case, _, rest = member.name.partition("/model/")
            if member.isfile() and rest:
                content = archive.extractfile(member)
                assert content is not None
                models.setdefault(case, {})[rest] = content.read()
    return [files for files in models.values() if len(files[MAIN]) < 75_000]


def _changed(rng: random.Random, content: bytes) -> bytes:
    """Return the main message with other nodes, functions, objects or signatures."""
    message = KINDS["SavedModel"].FromString(content)
    meta: Any = message.meta_graphs[0]
    for _ in range(rng.randint(1, 4)):
        way, nodes = rng.randrange(4), meta.object_graph_def.nodes
        if way == 0:
            change(rng, meta.graph_def)
        elif way == 1 and nodes:
            _change_object(rng, rng.choice(nodes), rng.choice(nodes))
        elif way == 2 and meta.signature_def:
            signature = meta.signature_def[rng.choice(list(meta.signature_def))]
            ends = rng.choice([signature.inputs, signature.outputs])
            if ends:
                ends[rng.choice(list(ends))].name = rng.choice(NAMES)
        elif meta.object_graph_def.concrete_functions:
            functions = meta.object_graph_def.concrete_functions
            function = functions[rng.choice(list(functions))]
            if rng.random() < 0.5:
                function.bound_inputs.append(rng.choice([-1, 0, 1, 3, 9999]))
            elif function.bound_inputs:
                del function.bound_inputs[rng.randrange(len(function.bound_inputs))]
    return message.SerializeToString()  # type: ignore[no-any-return]


def _change_object(rng: random.Random, node: Any, other: Any) -> None:
    way = rng.randrange(4)
    if way == 0 and node.children:
        child = rng.choice(node.children)
        child.node_id = rng.choice([0, 1, 2, 9999, -1])
    elif way == 1 and node.children:
        rng.choice(node.children).local_name = rng.choice(NAMES)
    elif way == 2:
        node.CopyFrom(other)
    elif node.WhichOneof("kind") == "variable":
        if rng.random() < 0.5:
            node.variable.dtype = rng.choice([0, 1, 3, 7, 20, 101])
        elif node.variable.shape.dim:
            rng.choice(node.variable.shape.dim).size = rng.choice(ODD)


def answer(seed: int) -> str:
    """What comes of the SavedModel of a seed: "loaded", or the name of the error. Raises what is no answer."""
    rng = random.Random(seed)
    files = dict(rng.choice(originals()))
    name = rng.choice([MAIN, MAIN, *files])
    files[name] = (
        _changed(rng, files[name]) if name == MAIN and rng.random() < 0.5 else damage.other_bytes(rng, files[name])
    )
    with tempfile.TemporaryDirectory() as folder:
        for each, content in files.items():
            path = Path(folder, each)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        with damage.little_memory(sum(map(len, files.values())), besides=BESIDES):
            try:
                fg.saved_model.load(folder)
                return "loaded"
            except ACCIDENTS:
                raise
            except ANSWERS as error:
                return type(error).__name__


if __name__ == "__main__":
    fg.get_logger().setLevel("CRITICAL")
    sys.exit(damage.main("SavedModels", answer, __doc__))
