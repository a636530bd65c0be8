"""Device functions that the kernels of a GPU call: their texts, by the names that the emitters write.

Rule: text only, nothing of CUDA is imported here. `m` is the maths library: Python's names in device code, NumPy's in
the simulator, where an overflow is no exception.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fastgraph.core.base import expr

#: Threads that share a reduction. The simulator makes a Python thread of each.
THREADS = 256
THREADS_SIMULATED = 4
_FLOATS = ("float32", "float64")
_INTEGERS = tuple(expr.INTEGERS)


class NotOnDevice(Exception):
    """A GPU has no form of something: it is left to the host."""


#: Bodies over `a`, `b` and the result's type `t`: of floats,
_OF_FLOATS: Mapping[str, str] = {
    **{name: f"t(m.{name}(a))" for name in (
        "exp", "log", "log1p", "expm1", "tanh", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh",
        "sin", "cos", "tan", "erf", "erfc", "lgamma", "sqrt", "floor", "ceil", "trunc",
    )},
    "exp2": "t(m.pow(t(2), a))",
    "log2": "t(m.log(a) * t(1.4426950408889634))",
    "sigmoid": "t(1) / (t(1) + t(m.exp(-a)))",
    "softplus": "t(m.log1p(m.exp(-abs(a)))) + (a if a > 0 else t(0))",
    "rsqrt": "t(1) / t(m.sqrt(a))",
    "round": "t(m.rint(a))",
    "abs": "t(abs(a))",
    "sign": "t(1) if a > 0 else (t(-1) if a < 0 else a)",
    "isnan": "a != a",
    "isinf": "a == t(inf) or a == t(-inf)",
    "isfinite": "a - a == 0",
    "add": "a + b", "sub": "a - b", "mul": "a * b", "div": "a / b", "fold_add": "a + b", "fold_mul": "a * b",
    "pow": "t(m.pow(a, b))",
    "atan2": "t(m.atan2(a, b))",
    "fmod": "t(m.fmod(a, b))", "truncatemod": "t(m.fmod(a, b))",
    "truncatediv": "t(m.trunc(a / b))",
    "floordiv": "t(m.floor(a / b))",
    "floormod": "floormod_text",
    "max": "a if a >= b or a != a else b",
    "min": "a if a <= b or a != a else b",
}  # fmt: skip
#: and of integers and bool. Division by zero gives 0, as the kernels of the CPU have it before their checks.
_OF_INTEGERS: Mapping[str, str] = {
    **{name: f"t(a {sign} b)" for name, sign in (
        ("add", "+"), ("sub", "-"), ("mul", "*"), ("and", "&"), ("or", "|"), ("xor", "^"),
    )},
    "lshift": "t(a << (0 if b < 0 else MOST if b > MOST else b))",
    "rshift": "t(a >> (0 if b < 0 else MOST if b > MOST else b))",
    "neg": "t(-a)", "not": "t(~a)", "abs": "t(abs(a))", "sign": "t((a > 0) - (a < 0))",
    "max": "a if a > b else b", "min": "a if a < b else b",
    "floordiv": "t(a // b) if b != 0 else t(0)",
    "floormod": "t(a % b) if b != 0 else t(0)",
    "truncatediv": "t(0) if b == 0 else t(abs(a) // abs(b)) if (a < 0) == (b < 0) else t(-(abs(a) // abs(b)))",
    "truncatemod": "t(0) if b == 0 else t(abs(a) % abs(b)) if a >= 0 else t(-(abs(a) % abs(b)))",
    "floor": "a", "ceil": "a", "round": "a", "trunc": "a",
    "isnan": "False", "isinf": "False", "isfinite": "True",
}  # fmt: skip
_BOOL: Mapping[str, str] = {
    "not": "not a", "and": "a and b", "or": "a or b", "xor": "a != b", "max": "a or b", "min": "a and b",
    "eq": "a == b", "ne": "a != b",
}  # fmt: skip
_BLOCK_STEPS = {
    "sum": "{0} + {1}",
    "prod": "{0} * {1}",
    "max": "{0} if {0} >= {1} or {0} != {0} else {1}",
    "min": "{0} if {0} <= {1} or {0} != {0} else {1}",
    "any": "{0} | {1}",
    "all": "{0} & {1}",
}


def function(name: str) -> str:
    """The text of the device function of this name.

    Raises: NotOnDevice for one that only the CPU has.
    """
    body = _cast(name) if name.startswith("cast_") else _block(name) if name.startswith("block_") else _plain(name)
    return f"@device\ndef {name}{body}\n"


def _plain(name: str) -> str:
    op, dtype = name.rsplit("_", 1)
    table = _OF_FLOATS if dtype in _FLOATS else _BOOL if dtype == "bool" else _OF_INTEGERS if dtype in _INTEGERS else {}
    text = table.get(op)
    if text is None:
        raise NotOnDevice(name)
    if op == "floormod" and dtype in _FLOATS:
        # The remainder has the sign of the divisor.
        lines = ["r = t(m.fmod(a, b))", "return r + b if r != 0 and (r < 0) != (b < 0) else r"]
        return "(a, b):" + "".join(f"\n    {_typed(line, dtype)}" for line in lines)
    arguments = "a, b" if re.search(r"\bb\b", text) else "a"
    return f"({arguments}):\n    return {_typed(text, dtype)}"


def _typed(text: str, dtype: str) -> str:
    bits = re.sub(r"\D", "", dtype) or "8"
    return re.sub(r"\bt\(", f"{dtype}(", text).replace("MOST", str(int(bits) - 1))


def _cast(name: str) -> str:
    _, source, target = name.split("_")
    known = (*_FLOATS, *_INTEGERS, "bool")
    if source not in known or target not in known:
        raise NotOnDevice(name)
    if target == "bool":
        return "(a):\n    return a != 0"
    if source == "bool":
        return f"(a):\n    return {target}(1) if a else {target}(0)"
    return f"(a):\n    return {target}(a)"


def _block(name: str) -> str:
    """Combine what all threads of a block hold: every thread gets the result."""
    _, kind, dtype = name.split("_")
    if kind in ("argmax", "argmin"):
        better = ">" if kind == "argmax" else "<"
        return f"""(best, at, t):
    values = cuda.shared.array(THREADS, {dtype})
    places = cuda.shared.array(THREADS, int64)
    values[t] = best
    places[t] = at
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            a, b = values[t], values[t + half]
            if b {better} a or (b == a and places[t + half] < places[t]):
                values[t] = b
                places[t] = places[t + half]
        cuda.syncthreads()
        half //= 2
    result = places[0]
    cuda.syncthreads()
    return result"""
    step = _BLOCK_STEPS[kind].format("held[t]", "held[t + half]")
    return f"""(value, t):
    held = cuda.shared.array(THREADS, {dtype})
    held[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            held[t] = {step}
        cuda.syncthreads()
        half //= 2
    result = held[0]
    cuda.syncthreads()
    return result"""
