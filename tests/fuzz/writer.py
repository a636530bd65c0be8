"""The state of a program under construction: its arguments, Variables and lines so far, and how operands are picked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastgraph as fg
from tests.fuzz.programs import SEED, Line, Pool, Program, draw_array

FLOATS = (fg.float32, fg.float32, fg.float32, fg.float64, fg.float16, fg.bfloat16)
INTEGERS = (fg.int32, fg.int64, fg.int8, fg.int16, fg.uint8, fg.uint16, fg.uint32, fg.uint64)
SIZES = (0, 1, 1, 2, 3, 3, 4, 5, 8, 17)
NUMERIC_KINDS = "iufV"  # bfloat16 is a void kind to NumPy
MOST_ARGUMENTS = 12
WORK_OF_AN_ELEMENT = 10  # so many products take a plain kernel the time of an element

Drawer = Callable[["Writer"], None]


class Writer:
    """Draws the lines of one program."""

    def __init__(self, seed: int, n_lines: int, with_effects: bool = True) -> None:
        self.seed = seed
        self.random = np.random.default_rng(seed)
        self.pool = Pool(self.random)
        exec(SEED, self.pool.namespace)
        self.n_lines = n_lines
        self.with_effects = with_effects
        self.arguments: dict[str, np.ndarray] = {}
        self.variables: dict[str, np.ndarray] = {}
        self.lines: list[Line] = []
        self.work = 0  # products summed, of ops that take many for an element

    def program(self, drawers: Sequence[Drawer]) -> Program:
        """Return a program of about `n_lines` lines, each drawn by one of `drawers`."""
        for _ in range(int(self.random.integers(2, 5))):
            self.add_argument()
        if self.with_effects and self.random.random() < 0.4:
            self.add_variable()
        for _ in range(self.n_lines * 4):
            if len(self.lines) >= self.n_lines:
                break
            drawers[int(self.random.integers(len(drawers)))](self)
        used = set().union(*(line.uses for line in self.lines)) if self.lines else set()
        ends = [line.target for line in self.lines if line.target and line.target not in used]
        some = [line.target for line in self.lines if line.target and self.random.random() < 0.1]
        outputs = tuple(dict.fromkeys(ends + some)) or tuple(self.arguments)[:1]
        gradient = int(self.random.choice(3, p=[0.6, 0.28, 0.12]))
        values = [*self.arguments, *(line.target for line in self.lines if line.target)]
        n_elements = sum(self.pool.array(name).size for name in values) + self.work // WORK_OF_AN_ELEMENT
        program = Program(self.seed, self.arguments, self.variables, tuple(self.lines), outputs, gradient, n_elements)
        return program.trimmed()

    # Leaves

    def shape(self) -> tuple[int, ...]:
        rank = int(self.random.choice([0, 1, 2, 2, 3, 4, 5]))
        if rank == 1 and self.random.random() < 0.05:
            return (int(self.random.choice([4096, 70_001])),)
        return tuple(int(n) for n in self.random.choice(SIZES, rank))

    def add_argument(self, shape: tuple[int, ...] | None = None, dtype: fg.DType | None = None) -> str:
        """Draw one more argument of the program and return its name."""
        if dtype is None:
            group = self.random.choice(3, p=[0.7, 0.2, 0.1])
            dtype = (FLOATS, INTEGERS, (fg.bool,))[group][self.random.integers((6, 8, 1)[group])]
        name = f"a{len(self.arguments)}"
        self.arguments[name] = draw_array(self.random, dtype, self.shape() if shape is None else shape)
        self.pool.namespace[name] = fg.constant(self.arguments[name])
        self.pool.names.append(name)
        self.pool.exact.add(name)
        return name

    def add_array(self, array: np.ndarray) -> str:
        """Make one more argument, of these values, that only the next line reads."""
        name = f"a{len(self.arguments)}"
        self.arguments[name] = array
        self.pool.namespace[name] = fg.constant(array)
        return name

    def add_integers(self, values: Any, dtype: Any = np.int32) -> str:
        """Make one more argument, of these integers: what an op is told by data, not by an attribute."""
        return self.add_array(np.array(values, dtype))

    @property
    def is_full(self) -> bool:
        """Whether there are so many arguments that no line should bring another."""
        return len(self.arguments) > MOST_ARGUMENTS

    def add_variable(self) -> None:
        name = f"v{len(self.variables)}"
        dtype = FLOATS[self.random.integers(4)]
        self.variables[name] = draw_array(self.random, dtype, self.shape())
        self.pool.namespace[name] = fg.Variable(self.variables[name])
        self.pool.variables.append(name)

    # Lines

    def add(self, text: str, uses: list[str], exact: bool = False) -> str | None:
        """Append `text` as a new line if it runs; it is exact only if all it reads is."""
        target = f"t{len(self.lines)}"
        line = Line(target, text, frozenset(uses), ())
        if not self.pool.try_line(line, exact and all(name in self.pool.exact for name in uses)):
            return None
        self.lines.append(line)
        return target

    def pick_float(self, exact: bool = False) -> str | None:
        return self.pool.pick(lambda n, a: fg.as_dtype(a.dtype).is_floating and (not exact or n in self.pool.exact))

    def pick_numeric(self, exact: bool = False) -> str | None:
        return self.pool.pick(lambda n, a: a.dtype.kind in NUMERIC_KINDS and (not exact or n in self.pool.exact))

    def pick_shaped(self, accept: Callable[[np.ndarray], bool], exact: bool = False) -> str | None:
        """Return a floating value whose array `accept`s."""
        return self.pool.pick(
            lambda n, a: fg.as_dtype(a.dtype).is_floating and (not exact or n in self.pool.exact) and accept(a)
        )

    def pick_partner(self, name: str, exact: bool = False) -> str:
        """Return a value of `name`'s dtype whose shape broadcasts with it, a new argument if there is none."""
        array = self.pool.array(name)
        random = self.random

        def fits(other: str, b: np.ndarray) -> bool:
            return (
                b.dtype == array.dtype and broadcasts(array.shape, b.shape) and (not exact or other in self.pool.exact)
            )

        found = self.pool.pick(fits)
        if (found is not None and random.random() < 0.7) or self.is_full:
            return found or name
        shape = tuple(1 if random.random() < 0.25 else n for n in array.shape)
        return self.add_argument(shape[int(random.integers(0, len(shape) + 1)) :], fg.as_dtype(array.dtype))

    def axes(self, rank: int) -> str:
        if rank == 0 or self.random.random() < 0.2:
            return "None"
        chosen = self.random.choice(rank, int(self.random.integers(1, rank + 1)), replace=False)
        return str([int(a) - (rank if self.random.random() < 0.3 else 0) for a in chosen])


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    try:
        return int(np.prod(np.broadcast_shapes(a, b))) < 100_000
    except ValueError:
        return False


def slice_text(random: np.random.Generator, n: int) -> str:
    if n and random.random() < 0.3:
        return str(int(random.integers(-n, n)))
    begin, end = (int(i) for i in random.integers(-n - 1, n + 2, 2))
    step = int(random.choice([1, 1, 1, 2, 3, -1, -2]))
    return random.choice([":", f"{begin}:", f":{end}", f"{begin}:{end}:{step}", f"::{step}"])
