"""Drawing programs with control flow: statements nested up to three deep, over variables of several dtypes.

Rule: loops end (each counts its own iterations first), values stay small, and conditions on floats compare with numbers
that no value hits by chance. Temporary names live in the block that defines them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.fuzz.flow import STATE, FlowProgram, Statement

MOST_DEPTH = 3


@dataclass
class _Place:
    """Where a statement stands: how deep, in which loop ("", "staged" or "python"), and the temporary names there."""

    depth: int = 0
    loop: str = ""
    floats: tuple[str, ...] = ()
    integers: tuple[str, ...] = ()


class _Drawer:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng([seed, 1])
        self.n_names = 0

    def name(self, letter: str) -> str:
        self.n_names += 1
        return f"{letter}{self.n_names}"

    def one(self, *choices: str) -> str:
        return choices[int(self.random.integers(len(choices)))]

    def number(self) -> str:
        return str(float(self.random.integers(-12, 13)) / 8 + 0.0625)

    # -- expressions

    def scalar(self, place: _Place) -> str:
        """A float32 scalar."""
        value = self.one(
            "s",
            "v",
            "fg.reduce_sum(a) / 4",
            "a[0]",
            "a[k % 3]",
            "fg.cast(d, fg.float32)",
            "fg.cast(k, fg.float32) / 8",
            "(s if p else -s)",
            "(fg.tanh(s) if k % 2 == 0 else s * 0.5)",
            *place.floats,
            *place.floats,
        )
        other = self.one("s", "v", self.number(), self.number(), *place.floats)
        return self.one(
            f"{value} * {self.number()} + {other}",
            f"fg.tanh({value} + {other})",
            f"fg.sin({value}) * {other}",
            f"fg.where({value} > {self.number()}, {other}, {value} * 0.25)",
            f"fg.maximum({value}, {other})",
        )

    def integer(self, place: _Place) -> str:
        """An int32 scalar between 0 and 12."""
        value = self.one("k", "k", "fg.cast(n, fg.int32)", "fg.cast(p, fg.int32)", *place.integers, *place.integers)
        a, b = (int(x) for x in self.random.integers(1, 7, 2))
        return self.one(
            f"({value} * {a} + {b}) % 13", f"({value} + {b}) % 11", f"({value} + k) // 2", f"abs({value} - {b})"
        )

    def truth(self, place: _Place) -> str:
        """A condition."""
        k = self.one("k", "k", *place.integers)
        bound = int(self.random.integers(0, 9))
        simple = [
            f"{k} > {bound}",
            f"{k} % 3 == {bound % 3}",
            f"n < {bound}",
            f"s > {self.number()}",
            f"d * 0.3 <= {self.number()}",
            "p",
            "not p",
            f"2 < {k} <= {bound + 2}",
            "fg.reduce_any(a > 0.7)",
        ]
        left, right = self.one(*simple), self.one(*simple)
        return self.one(left, left, left, f"{left} and {right}", f"{left} or not ({right})")

    # -- statements

    def assignment(self, place: _Place) -> Statement:
        scalar, integer = self.scalar(place), self.integer(place)
        number = self.number()
        return Statement(
            self.one(
                f"s = {scalar}",
                f"s = {scalar}",
                f"s += fg.tanh({scalar})",
                f"a = fg.tanh(a * {number}) + {scalar}",
                f"a = a * 0.5 + fg.stack([s, v, {number}])",
                f"a = fg.concat([a[1:], [{scalar}]], 0)",
                f"d = fg.cos(d) + fg.cast({scalar}, fg.float64)",
                f"k = {integer}",
                f"k = {integer}",
                f"n = fg.cast({integer}, fg.int64) + n // 3",
                f"p = fg.math.logical_xor(p, {self.one('k > 4', 's > 0.1', 'n < 3')})",
                f"p = k > {int(self.random.integers(0, 9))}",
                f"v.assign(fg.tanh({scalar}))",
                f"v.assign_add({number})",
                f"s, k = {scalar}, {integer}",
                f"s = choose(s, k, {scalar})",
            )
        )

    def block(self, place: _Place, most: int = 2) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        for _ in range(int(self.random.integers(1, most + 1))):
            if self.random.random() < 0.2:
                name = self.name("t")
                statements.append(Statement(f"{name} = {self.scalar(place)}"))
                place = _Place(place.depth, place.loop, (*place.floats, name), place.integers)
            statements += self.statement(place)
        return tuple(statements)

    def statement(self, place: _Place) -> list[Statement]:
        chance = self.random.random()
        if place.depth == MOST_DEPTH or chance < 0.45:
            return [self.assignment(place)]
        deeper = _Place(place.depth + 1, place.loop, place.floats, place.integers)
        if chance < 0.75:
            return [self.branch(deeper)]
        return self.loop(deeper)

    def branch(self, place: _Place) -> Statement:
        condition = self.truth(place)
        leaves = []
        if place.loop == "staged" and self.random.random() < 0.3:
            leaves = [Statement(self.one("break", "continue"))]
        elif (not place.loop and self.random.random() < 0.12) or (place.loop and self.random.random() < 0.04):
            leaves = [Statement(f"return {', '.join(STATE)}")]
        body = (*self.block(place, 2), *leaves)
        otherwise = self.block(place, 2) if self.random.random() < 0.6 else ()
        return Statement(f"if {condition}:", body, otherwise)

    def loop(self, place: _Place) -> list[Statement]:
        kind = self.one("while", "while", "range", "range", "tensor", "python", "dataset")
        count = self.name("i")
        inside = _Place(place.depth, "python" if kind == "python" else "staged", place.floats, place.integers)
        if kind == "while":
            inside.integers = (*place.integers, count)
            limit = self.one("k % 5", "fg.cast(n, fg.int32) % 4", "3", "4")
            also = f" and ({self.truth(place)})" if self.random.random() < 0.4 else ""
            start = Statement(f"{count} = fg.constant(0)")
            body = (Statement(f"{count} += 1"), *self.block(inside))
            return [start, Statement(f"while {count} < {limit}{also}:", body)]
        if kind == "tensor":
            inside.floats = (*place.floats, count)
            return [Statement(f"for {count} in {self.one('a', 'a * 0.5', 'fg.stack([s, v])')}:", self.block(inside))]
        inside.integers = (*place.integers, count if kind != "python" else f"fg.constant({count})")
        if kind == "python":
            return [Statement(f"for {count} in range(2):", self.block(inside))]
        if kind == "dataset":
            numbers = f"fg.data.Dataset.range({int(self.random.integers(0, 4))}, output_type=fg.int32)"
            return [Statement(f"for {count} in {numbers}:", self.block(inside))]
        over = self.one("fg.range(k % 4)", "fg.range(3)", "fg.range(5, 0, -2)", "fg.range(1, 1 + k % 4)")
        return [Statement(f"for {count} in {over}:", self.block(inside))]

    def chooser(self) -> Statement:
        """A function that the program calls, with a return of its own in a branch."""
        early = Statement(
            f"if {self.one('i > 4', 'x > y', 'i % 2 == 0 and x > 0.3')}:", (Statement("return x * 0.5 + y"),)
        )
        return Statement("def choose(x, i, y):", (early, Statement("return fg.tanh(x - y)")))


def draw_inputs(random: np.random.Generator) -> dict[str, np.ndarray]:
    """Return values for the arguments."""
    return {
        name: np.asarray(
            random.integers(0, 2, shape) == 1
            if dtype == "bool"
            else random.integers(0, 9, shape)
            if "int" in dtype
            else random.integers(-16, 17, shape) / 8 + 0.03125,
            dtype,
        )
        for name, (dtype, shape) in STATE.items()
    }


def draw_flow(seed: int) -> FlowProgram:
    """Return the program of this seed."""
    drawer = _Drawer(seed)
    chooser = drawer.chooser()
    statements = (chooser, *drawer.block(_Place(), 4))
    inputs = tuple([draw_inputs(drawer.random) for _ in range(3)])
    return FlowProgram(seed, statements, inputs, gradient=(0, 1, 0, 1, 2)[seed % 5])
