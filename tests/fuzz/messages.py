"""GraphDefs that something has damaged: each is imported, or refused by an error that says where.

    python -m tests.fuzz.messages --seconds 600 --seed 1

Half of them have other bytes; the others are messages whose names, inputs, types, attributes and values have changed.
Exit status 1 where an import raised what is no answer (KeyError, IndexError, ...), which is printed with its seed.
"""

from __future__ import annotations

import random
import sys
from functools import cache
from typing import Any

import fastgraph as fg
from tests.fuzz import damage
from tests.oracle import small_graphs

#: What an import may raise: TensorFlow's errors (ours derive from them), and what arguments of a wrong kind raise.
ANSWERS = (fg.errors.OpError, NotImplementedError, ValueError, TypeError)
#: ValueErrors and TypeErrors of Python's own, raised by accident.
ACCIDENTS = (UnicodeError,)
ODD = [-1, 0, 1, 2, 7, 127, 2**31 - 1, 2**31, 2**32 + 1, 2**63 - 1, -(2**63)]
NAMES = ["", ":", "a:b:c", "x:99", "^", "no such", "a/b/c", "é", "x" * 300]


@cache
def originals() -> list[bytes]:
    """The GraphDefs that are damaged."""
    found = []
    for name, function, _, specs in small_graphs.cases(fg):
        if name in small_graphs.NOT_ACROSS:
            continue
        try:
            definition = fg.function(function).get_concrete_function(*specs).graph.as_graph_def()
        except Exception:  # its own tests say so
            continue
        found.append(definition.SerializeToString())
    return found


def damaged(seed: int) -> bytes:
    """A GraphDef, damaged in one to four places."""
    rng = random.Random(seed)
    content = rng.choice(originals())
    if rng.random() < 0.5:
        return damage.other_bytes(rng, content)
    definition = fg.Graph().as_graph_def()
    definition.ParseFromString(content)
    for _ in range(rng.randint(1, 4)):
        change(rng, definition)
    return definition.SerializeToString()


def change(rng: random.Random, definition: Any) -> None:
    """Change a node or a function of a GraphDef."""
    bodies = [definition.node, *[function.node_def for function in definition.library.function]]
    nodes = rng.choice([body for body in bodies if body] or [definition.node])
    if not nodes:
        return
    node, other = rng.choice(nodes), rng.choice(nodes)
    way = rng.randrange(11)
    if way == 0:
        node.op = other.op
    elif way == 1:
        node.name = rng.choice([other.name, *NAMES])
    elif way == 2 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice([other.name, f"{other.name}:1", *NAMES])
    elif way == 3:
        node.input.append(rng.choice([other.name, f"^{other.name}", *NAMES]))
    elif way == 4 and node.input:
        del node.input[rng.randrange(len(node.input))]
    elif way == 5 and node.attr:
        del node.attr[rng.choice(list(node.attr))]
    elif way == 6 and node.attr and other.attr:
        node.attr[rng.choice(list(node.attr))].CopyFrom(other.attr[rng.choice(list(other.attr))])
    elif way == 7:
        del nodes[rng.randrange(len(nodes))]
    elif way == 8 and definition.library.function:
        signature = rng.choice(definition.library.function).signature
        if rng.random() < 0.5:
            signature.name = rng.choice(NAMES)
        else:
            arguments = rng.choice([signature.input_arg, signature.output_arg])
            if arguments:
                del arguments[rng.randrange(len(arguments))]
    elif node.attr:
        _change_value(rng, node.attr[rng.choice(list(node.attr))])


def _change_value(rng: random.Random, value: Any) -> None:
    kind = value.WhichOneof("value")
    odd = rng.choice(ODD)
    if kind == "i":
        value.i = odd
    elif kind == "type":
        value.type = rng.choice([0, 1, 3, 7, 20, 21, 101, 999])
    elif kind == "b":
        value.i = odd
    elif kind == "s":
        value.s = rng.choice([b"", b"SAME", b"\xff\xfe", b"NHWC", b"x" * 100])
    elif kind == "shape" and value.shape.dim:
        value.shape.dim[rng.randrange(len(value.shape.dim))].size = odd
    elif kind == "tensor":
        tensor = value.tensor
        way = rng.randrange(4)
        if way == 0:
            tensor.dtype = rng.choice([0, 1, 3, 7, 20, 101])
        elif way == 1 and tensor.tensor_shape.dim:
            tensor.tensor_shape.dim[0].size = odd
        elif way == 2:
            tensor.tensor_content = rng.randbytes(rng.randrange(9))
        else:
            tensor.int_val.append(max(-(2**31), min(odd, 2**31 - 1)))
    elif kind == "func":
        value.func.name = rng.choice(NAMES)
    elif kind == "list":
        value.list.i.append(odd)


def answer(seed: int) -> str:
    """What comes of importing the GraphDef of a seed: "imported", or the name of the error. Raises what is no answer."""
    content = damaged(seed)
    try:
        with fg.Graph().as_default():
            fg.import_graph_def(content, name="")
    except ACCIDENTS:
        raise
    except ANSWERS as error:
        return type(error).__name__
    return "imported"


if __name__ == "__main__":
    sys.exit(damage.main("GraphDefs", answer, __doc__))
