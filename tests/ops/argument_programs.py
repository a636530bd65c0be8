"""Random programs whose integer arguments are tensors that only a call knows: eagerly, on both tiers, and their gradients.

    python -m tests.ops.argument_programs [--seconds 60] [--seed N] [--first]

A program is lines of Python, `v = tf.pad(v, n0)`, and the integers n0, n1, ...: mostly ones that fit the tensor at hand,
which drawing a program computes line by line, and sometimes hostile ones. A vector is one of them, or a list in which some
numbers are, `[n0, 2]`: of such a list while tracing a part is known. Every program runs several times as one
Function, with other integers of the same shapes. Exit status 1 if a value, a gradient or the kind of an error differs.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import fastgraph as tf
from fastgraph.core.base import flags
from tests.ops.hostile import memory_limit

#: What may stand in the place of an integer that fits.
HOSTILE = [-1, -2, 0, 1, 9, 2**31 - 1, -(2**31), 2**31, 2**32 + 1, -(2**32), 2**63 - 1, -(2**63)]
#: Bytes of address space that programs may take.
MEMORY = 1 << 29
Draw = Callable[[random.Random, tuple[int, ...]], tuple[str, list[Any]]]


def _axis(chance: random.Random, shape: tuple[int, ...]) -> int:
    return chance.randrange(len(shape))


def _pad(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    mode = chance.choice(["CONSTANT", "CONSTANT", "REFLECT", "SYMMETRIC"])
    most = [2 if mode == "CONSTANT" else max(n - 1, 0) for n in shape]
    return f"tf.pad(v, {{}}, {mode!r})", [[[chance.randint(0, min(m, 2)), chance.randint(0, min(m, 2))] for m in most]]


def _slice(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    begin = [chance.randint(0, n) for n in shape]
    size = [chance.choice([-1, chance.randint(0, n - b)]) for n, b in zip(shape, begin, strict=True)]
    return "tf.slice(v, {}, {})", [begin, size]


def _gather(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    axis = _axis(chance, shape)
    places = [chance.randrange(max(shape[axis], 1)) for _ in range(chance.randint(1, 4))]
    return f"tf.gather(v, {{}}, axis={axis})", [places]


def _reshape(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    wanted = list(shape)
    chance.shuffle(wanted)
    if int(np.prod(shape)) and chance.random() < 0.5:
        wanted[chance.randrange(len(wanted))] = -1
    return "tf.reshape(v, {})", [wanted]


def _repeat(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    axis = _axis(chance, shape)
    counts: Any = chance.randint(0, 3)
    if chance.random() < 0.6 and shape[axis]:
        counts = [chance.randint(0, 2) for _ in range(shape[axis])]
    return f"tf.repeat(v, {{}}, axis={axis})", [counts]


def _split(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    axis = _axis(chance, shape)
    first = chance.randint(0, shape[axis])
    sizes = [first, shape[axis] - first]
    if chance.random() < 0.4:
        sizes[chance.randrange(2)] = -1
    return f"tf.split(v, {{}}, axis={axis}, num=2)[{chance.randrange(2)}]", [sizes]


def _roll(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    return f"tf.roll(v, {{}}, {_axis(chance, shape)})", [chance.randint(-9, 9)]


def _segments(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    op, number = chance.choice(["sum", "max", "mean"]), chance.randint(1, 4)
    ids = [chance.randrange(-1, number) for _ in range(shape[0])]
    return f"tf.math.unsorted_segment_{op}(v, {{}}, {{}})", [ids, number]


def _scatter(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    number = chance.randint(1, 5)
    places = [[chance.randrange(number)] for _ in range(shape[0])]
    return "tf.scatter_nd({}, v, {})", [np.reshape(places, (-1, 1)), [number, *shape[1:]]]


def _band(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    if len(shape) < 2:
        return "tf.reverse_sequence(v[None], {}, 1)[0]", [[chance.randint(0, shape[0])]]
    both = [chance.randint(-1, max(n - 1, 0)) for n in shape[-2:]]
    return "tf.linalg.band_part(v, {}, {})", both


def _top(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    return f"tf.math.top_k(tf.ensure_shape(v, {[*[None] * (len(shape) - 1), shape[-1]]}), {{}})[0]", [
        chance.randint(0, shape[-1])
    ]


def _picked(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    begin, end = (chance.randint(-shape[0] - 1, shape[0] + 1) for _ in range(2))
    return f"v[{{}}:{{}}:{chance.choice([1, 1, 2, -1])}]", [begin, end]


def _loop(chance: random.Random, shape: tuple[int, ...]) -> tuple[str, list[Any]]:
    text = "tf.while_loop(lambda i, y: i < {}, lambda i, y: (i + 1, tf.sin(y) + 0.5), (tf.constant(0, 'int64'), v))[1]"
    return text.replace("{}", "tf.minimum(tf.cast({}, 'int64'), 5)"), [chance.randint(0, 4)]


STEPS: dict[str, Draw] = {
    "pad": _pad, "slice": _slice, "gather": _gather, "reshape": _reshape, "repeat": _repeat, "split": _split,
    "roll": _roll, "segments": _segments, "scatter": _scatter, "band": _band, "top": _top, "picked": _picked,
    "loop": _loop,
    "tile": lambda chance, shape: ("tf.tile(v, {})", [[chance.randint(0, 2) for _ in shape]]),
    "broadcast": lambda chance, shape: ("tf.broadcast_to(v, {})", [[chance.randint(1, 2), *shape]]),
    "mask": lambda chance, shape: (
        "v * tf.sequence_mask({}, tf.shape(v)[-1], dtype=v.dtype)", [chance.randint(0, shape[-1])]
    ),
    "range": lambda chance, shape: ("v + tf.reduce_sum(tf.cast(tf.range({}), v.dtype)) / 7", [chance.randint(0, 5)]),
    "fill": lambda chance, shape: ("v * tf.reduce_mean(tf.fill([{}], tf.constant(1.5, v.dtype)))", [chance.randint(1, 4)]),
    "plain": lambda chance, shape: (chance.choice(["tf.tanh(v) * 2", "v * v - 1", "tf.transpose(v)", "v + v"]), []),
}  # fmt: skip


class Program:
    """Lines that make v from v and integers, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.seed = seed
        self.shape = tuple(chance.randint(1, 4) for _ in range(chance.randint(1, 3)))
        self.lines: list[str] = []
        self.integers: list[Any] = []
        self.names: list[str] = []
        v = self.start()
        for _ in range(chance.randint(1, 5)):
            name = chance.choice(sorted(STEPS))
            shape = tuple(v.shape.as_list())
            if len(shape) > 4 or not shape or int(np.prod(shape)) > 2000:
                break
            text, values = STEPS[name](chance, shape)
            own = [np.asarray(value, chance.choice(["int32", "int64"])) for value in values]
            if len({n.dtype for n in own}) > 1:  # ops that take several want one dtype
                own = [n.astype("int64") for n in own]
            places, texts, own = self._written(chance, own)
            line = "v = " + text.format(*texts) if own else "v = " + text
            given = {"tf": tf, "v": v, **{p: tf.constant(n) for p, n in zip(places, own, strict=True)}}
            if outcome(lambda line=line, given=given: exec(line, given) or []) == "refused":
                continue  # there is nothing to gather from, say
            v = given["v"]
            self.lines.append(line)
            self.integers += own
            self.names.append(name)

    def _written(self, chance: random.Random, own: list[Any]) -> tuple[list[str], list[str], list[Any]]:
        """The names of a line's integers, the texts of its arguments, and the integers."""
        texts: list[str] = []
        integers: list[Any] = []
        places: list[str] = []

        def named(number: Any) -> str:
            places.append(f"n{len(self.integers) + len(integers)}")
            integers.append(number)
            return places[-1]

        for value in own:
            if value.ndim != 1 or not value.size or chance.random() < 0.5:
                texts.append(named(value))
                continue
            unknown = chance.randrange(value.size)
            parts = [
                named(np.asarray(number)) if i == unknown or chance.random() < 0.2 else str(number)
                for i, number in enumerate(value)
            ]
            texts.append(f"[{', '.join(parts)}]")
        return places, texts, integers

    def start(self) -> Any:
        n = int(np.prod(self.shape))
        return tf.constant(np.sin(np.arange(n) + 1.0).reshape(self.shape))

    def others(self, chance: random.Random) -> list[Any]:
        """The integers with one of them, or one of its elements, another."""
        made = [n.copy() for n in self.integers]
        some = [n for n in made if n.size]
        if some:
            chosen = chance.choice(some)
            limits = np.iinfo(chosen.dtype)
            number = chance.choice([h for h in HOSTILE if limits.min <= h <= limits.max])
            chosen.reshape(-1)[chance.randrange(chosen.size)] = number
        return made

    def __call__(self, v: Any, *integers: Any) -> list[Any]:
        """The result and its gradient to v."""
        given = {"tf": tf, **{f"n{i}": n for i, n in enumerate(integers)}}
        with tf.GradientTape() as tape:
            tape.watch(v)
            given["v"] = v
            exec("\n".join(self.lines), given)
            total = tf.reduce_sum(given["v"] * tf.math.cos(given["v"]))
        return [given["v"], tape.gradient(total, v, unconnected_gradients="zero")]

    def script(self, integers: list[Any]) -> str:
        numbers = [f"n{i} = tf.constant({n.tolist()!r}, {n.dtype.name!r})" for i, n in enumerate(integers)]
        return "\n".join([f"seed {self.seed}, v of {self.shape}", *numbers, *self.lines])


def outcome(f: Callable[..., Any], *arguments: Any) -> Any:
    """The arrays that a call gives, or the class of its error."""
    try:
        return [tf.convert_to_tensor(t).numpy() for t in f(*arguments)]
    except (tf.errors.ResourceExhaustedError, tf.errors.InvalidArgumentError, ValueError):
        return "refused"  # what cannot be is refused by either
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[-300:]}"


def alike(got: Any, wanted: Any) -> bool:
    if isinstance(got, str) or isinstance(wanted, str):
        return bool(isinstance(got, str) and isinstance(wanted, str) and got == wanted == "refused")
    return all(g.shape == w.shape and np.allclose(g, w, 1e-9, 1e-9, True) for g, w in zip(got, wanted, strict=True))


def differences(seed: int, tiers: tuple[str, ...], n_others: int = 4) -> tuple[Program, list[str]]:
    """A program, and where its Functions differ from eager mode."""
    program = Program(seed)
    chance = random.Random(seed + 1)
    v = program.start()
    sets = [program.integers, *[program.others(chance) for _ in range(n_others)]]
    wanted = [outcome(program, v, *map(tf.constant, numbers)) for numbers in sets]
    found = []
    for tier in tiers:
        for unknown in (False, True):
            with flags.override(tier=tier):
                specs = [
                    tf.TensorSpec([None] * len(t.shape) if unknown and t is v else t.shape, t.dtype)
                    for t in [v, *map(tf.constant, program.integers)]
                ]
                staged = tf.function(program.__call__, input_signature=specs, autograph=False)
                for numbers, right in zip(sets, wanted, strict=True):
                    got = outcome(staged, v, *map(tf.constant, numbers))
                    if any(isinstance(r, str) and r == "refused" for r in (got, right)) and any(
                        n.max(initial=0) >= 2**31 - 1 for n in numbers
                    ):
                        continue  # so many of nothing may be refused, or be nothing
                    if not alike(got, right):
                        where = f"tier {tier}, {'unknown' if unknown else 'static'} shapes"
                        found.append(f"{where}\n{program.script(numbers)}\n# {got}\n# is not {right}")
                        break
    return program, found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", action="store_true", help="no kernels")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    end, n, steps = time.perf_counter() + options.seconds, 0, Counter[str]()
    wrong = 0
    with memory_limit(MEMORY):
        while time.perf_counter() < end:
            program, found = differences(options.seed + n, ("first",) if options.first else ("first", "last"))
            steps.update(program.names)
            wrong += bool(found)
            if found:
                print(found[0][:2000], end="\n\n", flush=True)
            n += 1
    print(f"first seed {options.seed}: {n} programs, {wrong} differ; steps: {dict(sorted(steps.items()))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
