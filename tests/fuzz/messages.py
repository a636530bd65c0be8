"""GraphDefs that something has damaged: each is imported, or refused by an error that says where.

    python -m tests.fuzz.messages --seconds 600 --seed 1

Half of them have other bytes; the others are messages whose names, inputs, types, attributes and values have changed.
Exit status 1 where an import raised what is no answer (KeyError, IndexError, ...), which is printed with its seed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import fastgraph as fg
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
        return _other_bytes(rng, content)
    definition = fg.Graph().as_graph_def()
    definition.ParseFromString(content)
    for _ in range(rng.randint(1, 4)):
        _change(rng, definition)
    return definition.SerializeToString()


def _other_bytes(rng: random.Random, content: bytes) -> bytes:
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data)) if data else 0
        way = rng.randrange(5)
        if way == 0 and data:
            data[at] = rng.randrange(256)
        elif way == 1:
            data[at:at] = rng.randbytes(rng.randint(1, 4))
        elif way == 2:
            del data[at : at + rng.randint(1, 8)]
        elif way == 3:
            del data[at:]
        else:
            data[at:at] = data[at : at + rng.randint(1, 40)]
    return bytes(data)


def _change(rng: random.Random, definition: Any) -> None:
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


def findings(seeds: Iterator[int], came: Counter[str]) -> Iterator[tuple[int, str]]:
    """Yield (seed, traceback) of imports that raise what is no answer."""
    for seed in seeds:
        try:
            came[answer(seed)] += 1
        except Exception as error:
            came[f"{type(error).__name__} (wrong)"] += 1
            yield seed, traceback.format_exc()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    came: Counter[str] = Counter()
    wrong: Counter[str] = Counter()

    def seeds() -> Iterator[int]:
        seed = options.seed
        while time.monotonic() < end:
            yield seed
            seed += 1

    for seed, text in findings(seeds(), came):
        last = text.strip().splitlines()
        place = next((line.strip() for line in reversed(last) if line.startswith("  File")), "")
        wrong[place] += 1
        if wrong[place] == 1:
            print(f"seed {seed}: {last[-1][:200]}\n    {place}", flush=True)
    print(f"{came.total()} GraphDefs: " + ", ".join(f"{n} {what}" for what, n in came.most_common()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
