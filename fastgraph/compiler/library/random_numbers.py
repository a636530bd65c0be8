"""Kernels of random numbers: Philox's state of a seed, and what follows from a state, each number alone.

Rule: number i depends on the state and on i only, so that threads share a kernel without changing a bit.
"""

from __future__ import annotations

from fastgraph.compiler.library.kernel_source import Ordered, Shapes, Text
from fastgraph.compiler.program.program import Size
from fastgraph.graph.ir import Node


def random_kernel(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """Philox: the state of a seed (one unit), or numbers that follow from a state; a unit is one number."""
    made = {"seed": _seed, "numbers": _numbers, "truncated": _truncated, "gamma": _gamma}
    return made[how](node, shapes)


def _seed(node: Node, shapes: Shapes) -> Ordered | None:
    seed, out = node.inputs[0], node.outputs[0]
    if seed.aval.shape != (2,):
        return None
    text = Text()
    words = [
        text.call(f"philox_word{j}", "int64(x0[0])", "int64(x0[1])", str(0x02461E293EC8F720), "0") for j in range(4)
    ]
    lines = f"""
x1[0] = 0
x1[1] = {text.call("cast_uint64_int64", text.call("random_pair", words[2], words[3]))}
x1[2] = {text.call("cast_uint64_int64", text.call("random_pair", words[0], words[1]))}
"""
    return text.kernel({"x0": seed, "x1": out}, {}, lines, Size(), 30.0)


def _values(text: Text, kind: str, dtype: str) -> list[str]:
    """Numbers made of a block's words w0 ... w3: its four numbers, or its two."""
    words = ["w0", "w1", "w2", "w3"]
    if kind == "normal":
        pairs = [words] if dtype == "float64" else [words[:2], words[2:]]
        return [text.call(f"random_{part}_{dtype}", *pair) for pair in pairs for part in ("sine", "cosine")]
    if dtype == "uint32":
        return words
    name = "random_pair" if dtype == "uint64" else f"random_unit_{dtype}"
    width = 2 if dtype in ("uint64", "float64") else 1
    return [text.store(text.call(name, *words[i : i + width]), dtype) for i in range(0, 4, width)]


def _numbers(node: Node, shapes: Shapes) -> Ordered:
    state, out = node.inputs[0], node.outputs[0]
    kind, dtype = node.attrs["kind"], out.aval.dtype.name
    text = Text()
    values = _values(text, kind, dtype)
    many = len(values)
    words = "\n".join(f"w{j} = {text.call(f'philox_word{j}', 'low', 'high', 'key', 'block')}" for j in range(4))
    one = " else ".join([*(f"{v} if i - block * {many} == {j}" for j, v in enumerate(values[:-1])), values[-1]])
    all_of_them = "\n".join(f"x1[{many} * block + {j}] = {v}" for j, v in enumerate(values))
    shift = 2 if many == 4 else 1

    def indented(lines: str) -> str:
        return lines.replace("\n", "\n    ")

    lines = f"""
low = x0[0]
high = x0[1]
key = x0[2]
first = {text.call("min_int64", f"((begin + {many - 1}) >> {shift}) << {shift}", "end")}
last = {text.call("max_int64", f"(end >> {shift}) << {shift}", "first")}
for i in range(begin, first):
    block = i >> {shift}
    {indented(words)}
    x1[i] = {one}
for block in range(first >> {shift}, last >> {shift}):
    {indented(words)}
    {indented(all_of_them)}
for i in range(last, end):
    block = i >> {shift}
    {indented(words)}
    x1[i] = {one}
"""
    cost = {"bits": 1.0, "unit": 1.0, "normal": 3.0}[kind] * (4.0 if kind == "normal" and dtype == "float64" else 1.0)
    return text.kernel({"x0": state, "x1": out}, {}, lines, shapes.of(out), cost)


def _truncated(node: Node, shapes: Shapes) -> Ordered:
    """Normal numbers below 2 in size: the first so many of each group's, which has 256 words for each number.

    A shard that begins inside a group draws what comes before it too, and leaves it unwritten.
    """
    state, out = node.inputs[0], node.outputs[0]
    dtype = out.aval.dtype.name
    text = Text()
    values = _values(text, "normal", dtype)
    shift = 2 if len(values) == 4 else 1
    words = "\n        ".join(f"w{j} = {text.call(f'philox_word{j}', 'low', 'high', 'key', 'block')}" for j in range(4))
    tries = "\n        ".join(
        f"""value = {value}
        if found < last and -2 < value and value < 2:
            if begin <= found and found < end:
                x1[found] = value
            found += 1"""
        for value in values
    )
    lines = f"""
low = x0[0]
high = x0[1]
key = x0[2]
for group in range(begin >> {shift}, (end + {len(values) - 1}) >> {shift}):
    found = group << {shift}
    last = found + {len(values)}
    block = found * 64
    while found < last:
        {words}
        {tries}
        block += 1
"""
    return text.kernel({"x0": state, "x1": out}, {}, lines, shapes.of(out), 4.0 if dtype == "float32" else 12.0)


def _gamma(node: Node, shapes: Shapes) -> Ordered:
    """Gamma variates: output i is of alpha's element i % n, whose outputs have places one after the other."""
    state, alpha, out = node.inputs[0], node.inputs[2], node.outputs[0]
    dtype = out.aval.dtype.name
    text = Text()
    made = text.call("random_gamma", "low", "high", "key", "j * (total // n) + i // n", text.load("x1[j]", dtype))
    lines = f"""
low = x0[0]
high = x0[1]
key = x0[2]
for i in range(begin, end):
    j = i % n
    x2[i] = {text.call(f"cast_float64_{dtype}", made)}
"""
    sizes = {"n": shapes.of(alpha), "total": shapes.of(out)}
    return text.kernel({"x0": state, "x1": alpha, "x2": out}, sizes, lines, sizes["total"], 80.0)
