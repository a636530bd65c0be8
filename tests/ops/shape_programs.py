"""Drawn programs of shape arithmetic: numbers from tf.shape, computed with, and tensors made of these shapes.

`python -m tests.ops.shape_programs FIRST N` draws N programs and, with PEER_TENSORFLOW naming a Python that has TensorFlow,
compares what both know of the results' shapes while they trace: TensorFlow never knows more, and no shape is wrong.
"""

from __future__ import annotations

import functools
import json
import os
import random
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np

SPECS: list[tuple[list[int | None], list[list[int]]]] = [
    ([None, 4, 3], [[2, 4, 3], [5, 4, 3]]),
    ([None, None, 2], [[3, 4, 2], [4, 3, 2]]),
    ([6, None], [[6, 2], [6, 5]]),
    ([2, 3, 4], [[2, 3, 4]]),
    ([None], [[3], [6]]),
]
SCALARS = [
    "{v}[{i}]", "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} // {n}", "{a} % {n}", "tf.maximum({a}, {b})", "{n} + {a}",
    "tf.minimum({a}, {b})", "tf.reduce_prod({v})", "tf.reduce_sum({v})", "tf.size(x)", "tf.rank(x)", "tf.abs({a} - {b})",
    "tf.cast(tf.cast({a}, tf.int64) * {n}, tf.int32)", "tf.where({a} > {n}, {a}, {b})", "tf.reduce_max({v})", "{n} * {a}",
    "tf.squeeze({v}[:1])", "tf.unstack({v})[{i}]", "tf.gather({v}, {i})", "tf.size({v})", "-(-{a} // {n})",
    "tf.cast(tf.math.ceil({a} / {n}), tf.int32)", "tf.reshape({v}[{i}:][:1], [])", "tf.identity({a})",
    "tf.cond({a} > {n}, lambda: {a} + 1, lambda: {a})",
]  # fmt: skip
VECTORS = [
    "tf.stack([{a}, {b}])", "tf.concat([{v}, [{n}]], 0)", "tf.concat([{v}, {w}], 0)", "{v} + 1", "{v} * 2", "{v}[:{i}]",
    "{v}[{i}:]", "{v}[::-1]", "tf.reverse({v}, [0])", "tf.gather({v}, [{i}, 0])", "tf.expand_dims({a}, 0)", "{v} + {n}",
    "tf.stack([{a}, {n}, {b}])", "tf.cast({v}, tf.int64)", "tf.maximum({v}, {n})", "tf.where({v} > {n}, {v}, {n})",
    "tf.stack(tf.unstack({v})[::-1])", "tf.slice({v}, [{i}], [1])", "tf.pad({v}, [[1, 0]], constant_values={n})",
    "tf.tile({v}, [2])", "tf.reshape(tf.stack([{v}, {v}]), [-1])", "tf.strided_slice({v}, [0], [{i} + 1])",
    "tf.broadcast_dynamic_shape({v}, tf.ones_like({v}))", "tf.transpose(tf.stack([{v}, {v}]))[0]", "tf.identity({v})",
    "tf.convert_to_tensor([{a}, {b}])", "tf.fill([2], {a})", "tf.split({v}, 1)[0]", "tf.concat([{v}[1:], {v}[:1]], 0)",
]  # fmt: skip
MADE = [
    "tf.zeros({v})", "tf.ones([{a}, {b}])", "tf.fill({v}, 1.0)", "tf.zeros([{a}, {n}])", "tf.random.normal({v})",
    "tf.random.uniform([{a}, {n}, {b}])", "tf.random.stateless_normal({v}, [1, 2])", "tf.broadcast_to(1.0, {v})",
    "tf.random.truncated_normal([{a}, {n}])", "tf.random.stateless_uniform([{n}, {a}], [1, 2])", "tf.range({a})",
    "tf.range({n}, {n} + {a}, 2)", "tf.one_hot([0, 1], {a})", "tf.eye({a})", "tf.eye({a}, {n})", "tf.linspace(0.0, 1.0, {a})",
    "tf.scatter_nd([[0]], [1.0], [{a}])", "tf.tile(tf.ones([2, 3]), [{a}, {n}])", "tf.tile(x, tf.ones_like(tf.shape(x)))",
    "tf.reshape(tf.zeros([{a} * {b}, {n}]), [{a}, -1])", "tf.reshape(tf.zeros([{a}, {b}, {n}]), [{a} * {b}, {n}])",
    "tf.reshape(tf.zeros({v}), {v})", "tf.reshape(x, tf.shape(x))", "tf.slice(tf.zeros([{a} + {n}, {b}]), [{n}, 0], [{a}, {b}])",
    "tf.zeros([{a} + {n}, {b}])[{n}:, :{b}]", "tf.zeros([{a} + 3])[{a}:]", "tf.pad(tf.ones([2, 3]), [[{a}, 0], [1, {n}]])",
    "tf.split(tf.zeros([{a} + {b}, 2]), [{a}, {b}])[0]", "tf.repeat(tf.ones([2, 3]), {a}, axis=1)",
    "tf.math.unsorted_segment_sum(tf.ones([2, 3]), [0, 0], {a} + 1)", "tf.gather(tf.ones([9]), tf.range({a}) % 9)",
    "tf.sequence_mask([1, 2], {a})", "tf.meshgrid(tf.range({a}), tf.range({b}))[0]", "tf.concat([tf.zeros([{a}, 2]), tf.ones([{b}, 2])], 0)",
    "tf.matmul(tf.ones([{a}, {b}]), tf.ones([{b}, {n}]))", "tf.transpose(tf.zeros([{a}, {n}, {b}]), [2, 0, 1])",
    "tf.reduce_sum(tf.zeros([{a}, {b}]), 1)", "tf.expand_dims(tf.zeros({v}), 0) + 1.0", "tf.stack([tf.zeros({v}), tf.ones({v})])",
    "tf.cond({a} > {n}, lambda: tf.zeros([{a}, {n}]), lambda: tf.ones([{a}, {n}]))", "tf.eye({a}, batch_shape=[{n}])",
    "inner(tf.zeros([{a}, {b}]))", "tf.map_fn(lambda r: tf.zeros([{n}]) + r, tf.zeros([{a}]))", "tf.random.gamma([{a}, {n}], 1.0)",
]  # fmt: skip


class Program(NamedTuple):
    """The lines of a function of x, which returns a list of tensors; x's spec, and sizes to call it with."""

    lines: list[str]
    names: list[str]
    spec: list[int | None]
    sizes: list[list[int]]


def run(tf: Any, program: Program, leave_out: bool = False) -> Any:
    """The program as a function of x, which gives results by name; perhaps without the lines that fail."""

    def function(x: Any) -> dict[str, Any]:
        scope: dict[str, Any] = {"tf": tf, "x": x, "inner": inner(tf)}
        for line in program.lines:
            try:
                exec(line, scope)
            except Exception:
                if not leave_out:
                    raise
        return {name: scope[name] for name in program.names if name in scope}

    return function


@functools.cache
def inner(tf: Any) -> Any:
    """A Function that any matrix suits, whatever is known of its shape."""
    return tf.function(lambda m: tf.matmul(m, m, transpose_b=True), input_signature=[tf.TensorSpec([None, None])])


def known(tf: Any, program: Program, leave_out: bool = False) -> dict[str, list[int | None] | None]:
    """What is known of the results' shapes while they are traced."""
    function = tf.function(run(tf, program, leave_out), autograph=False)
    results = function.get_concrete_function(tf.TensorSpec(program.spec)).structured_outputs
    return {name: None if r.shape.rank is None else r.shape.as_list() for name, r in results.items()}


def draw(tf: Any, seed: int) -> Program:
    """Draw a program. Every line of it is run with all sizes: one that fails, or gives much, is not in it."""
    pick = random.Random(seed)
    spec, sizes = pick.choice(SPECS)
    lines, scalars, vectors, made = ["s = tf.shape(x)"], ["s[0]", f"s[{len(spec) - 1}]"], ["s"], []
    scopes: list[dict[str, Any]] = [{"tf": tf, "x": tf.zeros(size), "inner": inner(tf)} for size in sizes]
    for scope in scopes:
        exec(lines[0], scope)
    for number in range(40):
        kind = "SSVVVMM"[pick.randrange(7)] if number < 30 else "M"
        template = pick.choice({"S": SCALARS, "V": VECTORS, "M": MADE}[kind])
        line = f"y{number} = " + template.format(
            a=pick.choice(scalars), b=pick.choice(scalars), v=pick.choice(vectors), w=pick.choice(vectors),
            n=pick.randrange(1, 4), i=pick.randrange(2),
        )  # fmt: skip
        if all(_runs(line, f"y{number}", kind, scope) for scope in scopes):
            lines.append(line)
            {"S": scalars, "V": vectors, "M": made}[kind].append(f"y{number}")
    return Program(lines, made, spec, sizes)


def _runs(line: str, name: str, kind: str, scope: dict[str, Any]) -> bool:
    try:
        exec(line, scope)
        found = np.asarray(scope[name])
    except Exception:  # a line that cannot be run is not part of the program
        return False
    if kind == "M":
        return found.size <= 4096
    return bool(found.ndim == (kind == "V") and 0 < found.size <= 5 and (found > 0).all() and (found <= 12).all())


def at_least(ours: list[int | None] | None, theirs: list[int | None] | None) -> bool:
    """Whether all that `theirs` says of a shape, `ours` says."""
    if theirs is None or ours is None:
        return theirs is None
    return len(ours) == len(theirs) and all(b is None or a == b for a, b in zip(ours, theirs, strict=True))


def holds(said: list[int | None] | None, shape: Any) -> bool:
    """Whether a tensor of this shape is one of which this was said."""
    return said is None or (len(said) == len(shape) and all(a in (None, b) for a, b in zip(said, shape, strict=True)))


def _main() -> int:
    if sys.argv[1] == "peer":
        import tensorflow as tf

        print(json.dumps([known(tf, Program(*each), True) for each in json.load(sys.stdin)]))
        return 0
    import fastgraph as tf

    first, n = int(sys.argv[1]), int(sys.argv[2])
    programs = [draw(tf, seed) for seed in range(first, first + n)]
    peer = [os.environ["PEER_TENSORFLOW"], __file__, "peer"]
    theirs = json.loads(
        subprocess.run(peer, input=json.dumps(programs), capture_output=True, text=True, check=True).stdout
    )
    total = more = wrong = 0
    for seed, program, rows in zip(range(first, first + n), programs, theirs, strict=True):
        ours = known(tf, program, True)
        total += len(rows)
        more += sum(ours.get(name) != b for name, b in rows.items())
        for name, b in rows.items():
            if not at_least(a := ours.get(name, "no result"), b):
                wrong += 1
                line = next(line for line in program.lines if line.startswith(f"{name} ="))
                print(f"seed {seed}, {program.spec}: {line}: {a}, TensorFlow {b}", *program.lines, sep="\n    ")
    print(f"{n} programs, {total} results: {more} of which more is known than in TensorFlow, {wrong} less")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(_main())
