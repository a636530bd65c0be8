"""Draws the calls of every public op: from the registry's samples, from the table of calls, and wrong ones from both.

Rule: what is drawn depends on nothing but the names and the table; the same names give the same calls.
"""

from __future__ import annotations

import ast
import inspect
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import fastgraph.ops  # noqa: F401 - registers the names
from fastgraph.api import namespaces
from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.registry import all_primitives, public_names
from fastgraph.ops.families import DTYPE_SETS
from tests.api import op_rows, op_rows_wide
from tests.ops.op_samples import samples
from tests.oracle import mistakes
from tests.oracle.calls import TABLE
from tests.oracle.runner import packed

#: At most so many of the registry's samples for a name; of a second name of the same function.
MOST, MOST_OF_ALIAS = 40, 3
#: Attributes of primitives that the public functions call otherwise.
#: Names whose samples of the registry can be compared in part only: absolute values (and whatever their order).
IN_PART = {
    "linalg.svd": "absolute",
    "linalg.eigh": "absolute",
    **dict.fromkeys(("eig", "eigvals", "linalg.eig", "linalg.eigvals"), "unordered"),
}
RENAMED = {"axes": "axis"}
#: Values of required parameters, by name, for functions that have neither samples nor a call in the table.
GUESSES: dict[str, Any] = {
    **dict.fromkeys(
        ["x", "a", "input", "tensor", "value", "features", "logits", "diagonal", "matrix", "inputs", "signals"],
        (2, 3, 3),
    ),
    **dict.fromkeys(["y", "b", "other", "rhs", "chol"], (2, 3, 3)),
    **dict.fromkeys(["window_length", "frame_length", "num", "k", "n"], 4),
    **dict.fromkeys(["frame_step", "depth"], 2),
    "shape": [2, 3],
    "seed": [1, 2],
    "axis": 0,
}
WORDS = np.array([b"", b"a", b"Bc", b" d ", b"3.5", b"\xc3\xa9x", b"12"], object)


@dataclass(frozen=True)
class Case:
    """A call of a public name: `text`, in which the names of `arrays` are tensors; `how` its values are compared."""

    name: str
    text: str
    arrays: dict[str, Any] = field(default_factory=dict)
    how: str = "values"
    wrong: bool = False

    def sent(self) -> tuple[str, dict[str, Any], bool]:
        return self.text, self.arrays, self.how == "values" and not self.wrong

    def __str__(self) -> str:
        what = ", ".join(f"{n}: {a[0]}{list(a[1])}" for n, a in self.arrays.items())
        return f"{self.text}" + (f" ({what})" if what else "")


def op_functions() -> dict[str, Any]:
    """Public name to function, of every op, and of tf.experimental.numpy what the table calls."""
    ops = {
        name: function
        for name, function in public_names().items()
        if inspect.isfunction(function) and function.__module__.startswith("fastgraph.ops")
    }
    space = "experimental.numpy"
    called = {name.rpartition(".")[2] for name in map(name_of, TABLE.splitlines()) if name.startswith(f"{space}.")}
    return ops | {f"{space}.{name}": namespaces.resolve(space, name) for name in sorted(called)}


def seed_of(text: str) -> int:
    return zlib.crc32(text.encode())


def drawn(dtype: str, shape: tuple[int, ...], limits: str, seed: int) -> Any:
    """An array by what a line of the table says of it."""
    random = np.random.default_rng(seed)
    if dtype == "string":
        return WORDS[random.integers(0, len(WORDS), shape)] if shape else np.array(WORDS[seed % 7], object)
    kind = as_dtype(dtype)
    if limits == "sorted":
        return np.sort(random.integers(0, 3, shape)).astype(kind.numpy_dtype)
    low, high = -3.0, 3.0
    if limits:
        first, _, second = limits.partition("<" if limits[0] == "<" else "..")
        low, high = float(first or 0), float(second)
    if kind.is_bool:
        return random.integers(0, 2, shape).astype(bool)
    if kind.is_integer:
        if kind.is_unsigned:
            low, high = max(low, 0), max(high, 1)
        top = int(high) if limits.startswith("<") else int(high) + 1
        return np.asarray(random.integers(int(low), top, shape)).astype(kind.numpy_dtype)
    values = random.uniform(low, high, shape)
    if kind.is_complex:
        values = values + 1j * random.uniform(low, high, shape)
    return np.asarray(values).astype(kind.numpy_dtype)


def dtypes_of(words: str) -> list[str]:
    return list(dict.fromkeys(name for word in words.split("|") for name in DTYPE_SETS.get(word, word).split()))


def name_of(text: str) -> str:
    """The public name that a text calls: the first behind `tf.` that is called."""
    found = re.search(r"tf\.([A-Za-z_][\w.]*)\s*\(", text)
    return found.group(1) if found else ""


def table_cases() -> Iterator[Case]:
    """The calls of the table, each in all its dtypes."""
    for line in TABLE.strip().splitlines():
        text, _, spec = line.rpartition(" ;")
        how = "values"
        for word, meaning in (("random ", "statistics"), ("absolute ", "absolute")):
            if text.startswith(word):
                text, how = text.removeprefix(word), meaning
        tensors = re.findall(r"(\w+): ([\w|]+)\[([\d,]*)\]([^,\s]*)", spec)
        groups = [words for _, words, _, _ in tensors if len(dtypes_of(words)) > 1]
        for i in range(max([len(dtypes_of(words)) for words in groups] or [1])):
            arrays = {}
            for k, (variable, words, dims, limits) in enumerate(tensors):
                choices = dtypes_of(words)
                dtype = choices[i % len(choices)] if words == groups[:1] or len(choices) > 1 else choices[0]
                shape = tuple(int(d) for d in dims.split(",") if d)
                arrays[variable] = packed(drawn(dtype, shape, limits, seed_of(line) + k))
            yield Case(name_of(text), text, arrays, how)


def written_cases() -> Iterator[Case]:
    """The rows of values and errors that are written down."""
    for text, *_ in (*op_rows.VALUES, *op_rows_wide.VALUES, *op_rows.ERRORS, *op_rows_wide.ERRORS):
        yield Case(name_of(text), text, how="statistics" if "random" in text or "dropout" in text else "values")


def mistaken_cases() -> Iterator[Case]:
    """The typical mistakes, of which the texts of the errors are compared too; arguments of other kinds."""
    for text in mistakes.TABLE.strip().splitlines():
        yield Case(name_of(text) or "operators", text, how="text")
    for call in mistakes.CALLS.strip().splitlines():
        for argument in mistakes.ARGUMENTS.strip().splitlines():
            text = re.sub(r"\bx\b", "tf.constant([[3.0, 1.0], [2.0, 4.0]])", call)
            yield Case(name_of(call), text.replace("{}", argument))


def spelled(value: Any) -> str | None:
    """A literal of an attribute, or None if it has none."""
    if isinstance(value, DType):
        return f"tf.{value.name}"
    if isinstance(value, (np.integer, np.floating)):
        value = value.item()
    text = repr(value)
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text if text in ("nan", "inf") else None
    return text


def _primitive_of(name: str, function: Any) -> Any:
    found = getattr(function, "primitive", None)
    if found is None:
        found = next((p for p in all_primitives() if p.name == name.rpartition(".")[2]), None)
    return found if found is not None and ("samples" in found.extra) else None


def _call(name: str, function: Any, primitive: Any, arrays: Any, attrs: dict[str, Any]) -> Case | None:
    """The call of a public function with a sample of its primitive, if its parameters can take it."""
    parameters = list(inspect.signature(function).parameters)
    variables = dict(zip("xyzuvwabcdefghijk", arrays, strict=False))
    given = {}
    for attr, value in attrs.items():
        literal = spelled(value)
        parameter = attr if attr in parameters else RENAMED.get(attr, "")
        if literal is None or parameter not in parameters:
            return None
        given[parameter] = literal
    listed = ", ".join(variables)
    inputs = [n.lstrip("*") for n in primitive.inputs]
    if primitive.is_variadic and len(inputs) == 1:
        starred = str(next(iter(inspect.signature(function).parameters.values()))).startswith("*")
        listed = listed if starred else f"[{listed}]"
    elif set(inputs) <= set(parameters):
        listed = ", ".join(f"{n}={v}" for n, v in zip(inputs, variables, strict=False))
        if parameters[: len(inputs)] == inputs:
            listed = ", ".join(variables)
    elif len(inputs) > 1:
        return None
    if given and listed.startswith("[") is False and set(parameters[: len(variables)]) & set(given):
        return None
    text = f"tf.{name}({', '.join([listed, *[f'{n}={v}' for n, v in given.items()]])})"
    return Case(name, text, {n: packed(a) for n, a in variables.items()}, IN_PART.get(name, "values"))


def registry_cases(name: str, function: Any) -> list[Case]:
    """Calls with the samples of the primitive that a public function applies: spread over them if there are many."""
    primitive = _primitive_of(name, function)
    if primitive is None:
        return []
    try:
        found = samples(primitive)
    except KeyError:  # of a family whose samples it must state itself
        return []
    cases = [_call(name, function, primitive, arrays, attrs) for arrays, attrs in found]
    step = max(1, -(-len(cases) // MOST))
    return [case for case in cases[::step] if case is not None]


def guessed_case(name: str, function: Any) -> Case | None:
    """A call of a function of which nothing is known but the names of its parameters."""
    arguments, arrays = [], {}
    for p in inspect.signature(function).parameters.values():
        if p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if p.name not in GUESSES:
            return None
        value = GUESSES[p.name]
        if isinstance(value, tuple):
            arrays[p.name] = packed(drawn("float32", value, "", seed_of(name + p.name)))
            value = p.name
        arguments.append(f"{p.name}={value}")
    return Case(name, f"tf.{name}({', '.join(arguments)})", arrays)


def wrong_cases(case: Case) -> Iterator[Case]:
    """Calls made wrong: one tensor at a time of another dtype, rank or size, or None."""
    for variable, record in case.arrays.items():
        dtype, shape, _ = record
        seed = seed_of(case.text + variable)
        others = [
            (other, shape) for other in ("string", "bool", "int32", "float32", "float64", "complex64") if other != dtype
        ]
        shapes = [(*shape, 2), shape[1:], (*shape[:-1], shape[-1] + 1) if shape else (2,), (0,) * len(shape)]
        others += [(dtype, other) for other in shapes if other != shape]
        for other, size in others:
            array = packed(drawn(other, size, "", seed))
            yield Case(case.name, case.text, {**case.arrays, variable: array}, case.how, wrong=True)
        text = re.sub(rf"(?<![\w.]){variable}(?![\w=(])", "None", case.text)
        rest = {n: a for n, a in case.arrays.items() if n != variable}
        yield Case(case.name, text, rest, case.how, wrong=True)


def draw() -> list[Case]:
    """Every case, in order: for each public name its calls and the wrong ones of the first of these."""
    functions = op_functions()
    by_name: dict[str, list[Case]] = {name: [] for name in sorted(functions)}
    table = list(table_cases())
    for case in table:
        # A second name of the same function takes the calls of the first.
        known = functions.get(case.name)
        for name, function in functions.items():
            if function is known:
                text = case.text.replace(f"tf.{case.name}(", f"tf.{name}(", 1)
                by_name[name].append(Case(name, text, case.arrays, case.how))
    for case in written_cases():
        if case.name in by_name:
            by_name[case.name].append(case)
    seen: set[Any] = set()
    for name, function in sorted(functions.items()):
        cases = by_name[name]
        cases += registry_cases(name, function)
        if not cases and (guess := guessed_case(name, function)) is not None:
            cases.append(guess)
        if function in seen:
            by_name[name] = [case for case in cases if f"tf.{name}(" in case.text][:MOST_OF_ALIAS]
        elif cases:
            seen.add(function)
            with_tensors = [case for case in cases if case.arrays and case.how != "statistics"]
            for case in with_tensors[:1]:
                cases.extend(wrong_cases(case))
    return [*(case for cases in by_name.values() for case in cases), *mistaken_cases()]
