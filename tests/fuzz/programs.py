"""Random programs as source text: what the fuzzer runs eagerly and compiled, shrinks and prints.

A program is a list of lines over fastgraph's public names. It is drawn line by line and each line is run eagerly at
once: a line that raises, or that gives values too large to compare, is thrown away. Rule: a program is fully determined
by its text and its inputs, so that the printed form repeats a failure.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import fastgraph as fg

SEED = "fg.random.set_seed(1)"  # before each run: a program that draws draws the same numbers
LARGEST = 1e4  # a value beyond this is not kept: it would drown all differences


@dataclass(frozen=True)
class Line:
    """`target = text`; `uses` are the names it reads; `ops` are the labels it is counted under."""

    target: str
    text: str
    uses: frozenset[str]
    ops: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.target} = {self.text}" if self.target else self.text


@dataclass(frozen=True)
class Program:
    """A function's arguments, Variables, lines and outputs; `gradient` is the order of the gradients it returns too."""

    seed: int
    arguments: dict[str, np.ndarray]
    variables: dict[str, np.ndarray]
    lines: tuple[Line, ...]
    outputs: tuple[str, ...]
    gradient: int = 0  # 1: that of the outputs' sum to all arguments; 2: that of the first one's squares as well
    n_elements: int = 0  # of all values together

    def body(self) -> str:
        """Return the text of the function `program`."""
        names = ", ".join(self.arguments)
        lines = [str(line) for line in self.lines]
        result = ", ".join(self.outputs)
        if not self.gradient:
            return f"def program({names}):\n" + textwrap.indent("\n".join([*lines, f"return [{result}]"]), "    ")
        floating = [f"fg.reduce_sum(fg.cast({name}, fg.float32))" for name in self.outputs]
        watched = [name for name, value in self.arguments.items() if _is_floating(value)]
        sources = ", ".join([*watched, *self.variables])
        watch = f"tape.watch([{', '.join(watched)}])"
        inside = [watch, *lines, f"loss = {' + '.join(floating) or 'fg.constant(0.0)'}"]
        text = "with fg.GradientTape() as tape:\n" + textwrap.indent("\n".join(inside), "    ")
        text += f"\ngradients = tape.gradient(loss, [{sources}], unconnected_gradients='zero')"
        if self.gradient > 1:
            text += "\nsquares = [fg.reduce_sum(fg.square(fg.cast(fg.convert_to_tensor(g), fg.float32)) / 64) for g in gradients]"
            text += "\ntotal = fg.add_n([fg.constant(0.0), *squares])"
            outer = "\n".join([watch.replace("tape", "outer"), text])
            text = "with fg.GradientTape() as outer:\n" + textwrap.indent(outer, "    ")
            text += f"\ngradients += outer.gradient(total, [{sources}], unconnected_gradients='zero')"
        text += f"\nreturn [{result}] + [fg.convert_to_tensor(g) for g in gradients]"
        return f"def program({names}):\n" + textwrap.indent(text, "    ")

    def script(self) -> str:
        """Return a script that anyone can run to see the program's results eagerly and compiled."""
        lines = ["import numpy as np", "import ml_dtypes", "import fastgraph as fg", ""]
        lines += [self.body(), ""]
        for name, value in self.arguments.items():
            lines.append(f"{name} = fg.constant({_literal(value)})")
        call = f"program({', '.join(self.arguments)})"
        start = [f"{name} = fg.Variable({_literal(value)})" for name, value in self.variables.items()]
        if "fg.random" in self.body():
            start.append(SEED)
        for way in (call, f"fg.function({call.replace('(', ')(', 1)}"):
            lines += [*start, f"print({way})"]
        return "\n".join(lines)

    def namespace(self) -> dict[str, Any]:
        """Return fresh Variables and the function, as its text defines it."""
        names: dict[str, Any] = {"fg": fg, "np": np}
        for name, value in self.variables.items():
            names[name] = fg.Variable(value)
        exec(SEED, names)
        code = compile(self.body(), f"<fuzz program, seed {self.seed}>", "exec")
        exec(code, names)
        return names

    def without(self, index: int) -> Program:
        """Return the program without line `index` and all that depends on it."""
        gone = {self.lines[index].target} - {""}
        kept = list(self.lines[:index])
        for line in self.lines[index + 1 :]:
            if line.uses & gone:
                gone.add(line.target)
            else:
                kept.append(line)
        return replace(self, lines=tuple(kept), outputs=tuple(name for name in self.outputs if name not in gone))

    def trimmed(self) -> Program:
        """Return the program without arguments and Variables that nothing reads."""
        used = set(self.outputs).union(*(line.uses for line in self.lines)) if self.lines else set(self.outputs)
        return replace(
            self,
            arguments={k: v for k, v in self.arguments.items() if k in used},
            variables={k: v for k, v in self.variables.items() if k in used},
        )


def _is_floating(value: np.ndarray) -> bool:
    return bool(fg.as_dtype(value.dtype).is_floating)


def _literal(value: np.ndarray) -> str:
    """Return an expression that makes `value` again, bit for bit."""
    if value.size <= 60:
        return f"np.array({value.tolist()!r}, {str(value.dtype)!r}).reshape({value.shape})"
    # Large arguments are drawn from a recipe, see `draw_array`: long periods of small multiples.
    return f"np.resize(np.array({value.ravel()[:61].tolist()!r}, {str(value.dtype)!r}), {value.shape})"


def draw_array(random: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return small multiples of 1/8 (floats), small integers or booleans; large arrays repeat with period 61."""
    n = int(np.prod(shape))
    few = min(n, 61) if n > 60 else n
    np_dtype = np.dtype(dtype.as_numpy_dtype)
    if dtype.is_bool:
        values = random.integers(0, 2, few).astype(bool)
    elif dtype.is_floating:
        values = (random.integers(-24, 25, few) / 8).astype(np_dtype)
    else:
        values = random.integers(0 if dtype.is_unsigned else -7, 8, few).astype(np_dtype)
    return np.resize(values, shape) if n else np.zeros(shape, np_dtype)


@dataclass
class Pool:
    """The values a program under construction may read, and those on which a discontinuous op is safe."""

    random: np.random.Generator
    namespace: dict[str, Any] = field(default_factory=lambda: {"fg": fg, "np": np})
    names: list[str] = field(default_factory=list)
    exact: set[str] = field(default_factory=set)
    variables: list[str] = field(default_factory=list)

    def array(self, name: str) -> np.ndarray:
        return np.asarray(self.namespace[name])

    def pick(self, accept: Any) -> str | None:
        """Return a random name whose array `accept`s, the later ones likelier, or None."""
        fitting = [name for name in self.names if accept(name, self.array(name))]
        if not fitting:
            return None
        weights = np.arange(1, len(fitting) + 1, dtype=float)
        return str(self.random.choice(fitting, p=weights / weights.sum()))

    def try_line(self, line: Line, is_exact: bool) -> bool:
        """Run `line` eagerly; keep its value if it raises nothing and is of a size that can be compared."""
        try:
            with np.errstate(all="ignore"):
                value = eval(line.text, self.namespace)
        except (fg.errors.OpError, ValueError, TypeError, NotImplementedError):
            return False
        array = np.asarray(value)
        if array.dtype.kind not in "biufV" or array.size > 200_000:
            return False
        wide = array.astype(np.float64)
        if array.size and not (np.isfinite(wide).all() and np.abs(wide).max() <= LARGEST):
            return False
        self.namespace[line.target] = value
        self.names.append(line.target)
        if is_exact:
            self.exact.add(line.target)
        return True
