"""Calls of every public op with hostile arguments: each must give a result or one of TensorFlow's errors, in silence.

    python -m tests.ops.hostile [--seconds 60] [--seed N] [--report OUT]     # in a child process, so that a crash is seen

A call is a text (`tf.gather(A((2, 3), 'float32', 7), -1, axis=2**40)`), so that what is printed repeats it:

    python -m tests.ops.hostile --call "tf.gather(...)"
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import faulthandler
import inspect
import math
import mmap
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fastgraph as tf
from fastgraph.core.base import flags
from fastgraph.errors import OpError
from tests.oracle.draw import Case, draw, op_functions
from tests.oracle.runner import unpacked

ROOT = Path(__file__).resolve().parents[2]
#: Errors that TensorFlow's Python functions raise themselves; OpErrors come from its kernels.
CLEAN = (OpError, TypeError, ValueError, NotImplementedError, LookupError)
#: What is one of them by inheritance, and no error of TensorFlow's.
UNCLEAN = (IndexError, KeyError, UnicodeError, AttributeError)
#: Ops that write, change the state of the process, or read the source of what called them.
LEFT_OUT = {"print", "random.set_seed", "debugging.enable_check_numerics", "debugging.disable_check_numerics"}
DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex64",
    "complex128",
    "string",
]
#: Bytes that the calls may take.
MEMORY = 6 * 2**30
ODD = [
    "None", "''", "'a'", "b'\\xff'", "True", "0", "1", "-1", "2", "-2", "3", "7", "-7", "2**31", "-2**31", "2**40", "2**62",
    "2**63 - 1", "-2**63", "2**63", "2**64", "10**30", "0.0", "-0.0", "1.5", "-1.0", "1e-300", "1e300", "nan", "inf", "-inf",
    "1j", "[]", "()", "{}", "[[]]", "[0]", "[-1]", "[0, 0]", "[1, -1]", "[-1, -1]", "[2**40]", "[2**63]", "[None]", "[None, 2]",
    "[1.5]", "['a']", "[[1], [2, 3]]", "[1, 'a']", "[True, 2]", "(0, 1)", "(1, 1, 1, 1)", "[[0, 0], [1, 1]]", "[[1, 2]]",
    "object()", "lambda: 0", "len", "tf.float32", "tf.string", "tf.int8", "tf.bool", "'float32'", "'SAME'", "'VALID'", "'NHWC'",
    "'NCHW'", "tf.TensorShape(None)", "tf.TensorShape([2, None])", "tf.Variable([1.0, 2.0])", "np.float32(2)", "np.int64(-3)",
    "np.array(None)", "np.array(['a'])", "np.arange(6).reshape(2, 3)", "np.ma.masked", "range(3)", "iter([1])", "{'a': 1}",
    "tf.constant(5)", "tf.constant(-1, 'int64')", "tf.zeros([0])", "tf.zeros([2, 0, 3])", "set()", "slice(1)", "...",
]  # fmt: skip


def A(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """A tensor of drawn elements: small numbers, and a few that are large, not finite or negative."""
    generator = np.random.default_rng(seed)
    if dtype == "string":
        words = np.array([b"", b"a", b"\xff\xfe", b"12", b"1e400", "é".encode(), b"a b"], object)
        return tf.constant(words[generator.integers(0, len(words), shape)] if shape else b"a", "string")
    kind = tf.as_dtype(dtype)
    values = np.asarray(generator.integers(-2, 6, shape), np.float64)
    if seed % 3 == 0 and values.size:
        odd = [np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0, -0.0, 2.0**31, -(2.0**63), 0.5]
        flat = values.reshape(-1)
        flat[generator.integers(0, values.size)] = odd[generator.integers(0, len(odd))]
    if kind.is_complex:
        values = values * (1 + 0.5j)
    with np.errstate(all="ignore"):
        return tf.constant(values.astype(kind.numpy_dtype), dtype)


NAMES = {"tf": tf, "np": np, "A": A, "nan": math.nan, "inf": math.inf, "float": float}


def _array(chance: random.Random) -> str:
    shape = tuple(
        chance.choice([0, 1, 1, 2, 2, 3, 3, 4, 7]) for _ in range(chance.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5]))
    )
    return f"A({shape}, {chance.choice(DTYPES)!r}, {chance.randrange(1000)})"


def _value(chance: random.Random) -> str:
    kind = chance.randrange(10)
    if kind < 5:
        return chance.choice(ODD)
    if kind < 9:
        return _array(chance)
    return f"[{_array(chance)}, {_array(chance) if chance.random() < 0.7 else chance.choice(ODD)}]"


def literal(record: Any) -> str:
    """The text of a case's array."""
    array = unpacked(record)
    return (
        f"tf.constant({array.tolist()!r}, {record[0]!r}, {tuple(record[1])!r})"
        if array.size
        else f"tf.zeros({tuple(record[1])!r}, {record[0]!r})"
    )


@cache
def good_calls() -> dict[str, list[tuple[list[str], dict[str, str]]]]:
    """By name: the arguments of calls that are right, as texts."""
    found: dict[str, list[tuple[list[str], dict[str, str]]]] = {}
    for case in draw():
        if case.wrong or case.name in LEFT_OUT or sum(len(a[2]) for a in case.arrays.values()) > 2000:
            continue
        call = _arguments(case)
        if call is not None:
            found.setdefault(case.name, []).append(call)
    return found


def _arguments(case: Case) -> tuple[list[str], dict[str, str]] | None:
    tree = ast.parse(case.text, mode="eval").body
    if not isinstance(tree, ast.Call) or not case.text.startswith(f"tf.{case.name}("):
        return None
    texts = {name: literal(record) for name, record in case.arrays.items()}

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> Any:
            return ast.parse(texts[node.id], mode="eval").body if node.id in texts else node

    tree = Fill().visit(tree)
    if any(isinstance(a, ast.Starred) for a in tree.args):
        return None
    return [ast.unparse(a) for a in tree.args], {k.arg: ast.unparse(k.value) for k in tree.keywords if k.arg}


def hostile_call(chance: random.Random) -> str:
    """A call's text: mostly a right one with an argument or two replaced or added, else arguments of any kind."""
    functions = op_functions()
    name = chance.choice(sorted(set(functions) - LEFT_OUT))
    parameters = [p for p in inspect.signature(functions[name]).parameters.values() if p.name != "name"]
    known = good_calls().get(name)
    if known and chance.random() < 0.8:
        positional, keywords = chance.choice(known)
        positional, keywords = list(positional), dict(keywords)
        for _ in range(chance.choice([1, 1, 1, 2])):
            free = [
                p.name for p in parameters[len(positional) :] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
            ]
            places: list[Any] = [*range(len(positional)), *keywords, *free]
            if not places:
                break
            place = chance.choice(places)
            if isinstance(place, int):
                positional[place] = _value(chance)
            else:
                keywords[place] = _value(chance)
    else:
        positional, keywords = [], {}
        for p in parameters:
            if p.kind is p.VAR_POSITIONAL:
                positional += [_value(chance) for _ in range(chance.randrange(3))]
            elif p.kind is not p.VAR_KEYWORD and (p.default is p.empty or chance.random() < 0.3):
                keywords[p.name] = _value(chance)
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):  # what stands before it cannot be named
            positional, keywords = [*keywords.values(), *positional], {}
    arguments = [*positional, *(f"{k}={v}" for k, v in keywords.items())]
    return f"tf.{name}({', '.join(arguments)})"


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [t for part in value for t in _tensors(part)]
    if isinstance(value, tf.IndexedSlices):
        return [value.values]
    return [value] if isinstance(value, tf.Tensor) else []


def _read(value: Any) -> None:
    for tensor in _tensors(value):
        if tensor.shape.num_elements() < 100_000:  # of what is larger, there may be no room for a copy
            repr(tensor.numpy())


def _with_gradient(call: Any) -> None:
    with tf.GradientTape() as tape:
        watched = []

        def watching(*arguments: Any) -> Any:
            made = A(*arguments)
            if made.dtype.is_floating or made.dtype.is_complex:
                tape.watch(made)
                watched.append(made)
            return made

        value = eval(call, {**NAMES, "A": watching})
    sums = [t for t in _tensors(value) if t.dtype.is_floating or t.dtype.is_complex]
    if watched and sums:
        _read([g for g in tape.gradient(sums, watched) if g is not None])


def run_call(text: str, way: str) -> None:
    """Run the call eagerly ("eager"), with its gradient ("gradient"), or in a Function ("function", "compiled")."""
    code = compile(text, "<call>", "eval")
    if way == "eager":
        _read(eval(code, dict(NAMES)))
    elif way == "gradient":
        _with_gradient(code)
    else:
        with flags.override(tier="last" if way == "compiled" else "first"):
            arguments: list[Any] = []

            def taken(*shape: Any) -> Any:
                arguments.append(A(*shape))
                return arguments[-1]

            with contextlib.suppress(Exception):  # the tensors become the Function's arguments
                eval(code, {**NAMES, "A": taken})

            def staged(*given: Any) -> Any:
                left = iter(given)
                return _tensors(eval(code, {**NAMES, "A": lambda *a: next(left)}))

            _read(tf.function(staged, autograph=False)(*arguments))


def fault_of(text: str, way: str) -> str | None:
    """What is wrong with how the call ends, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "Data type alias", DeprecationWarning)  # NumPy's, of the text given
            run_call(text, way)
    except CLEAN as error:
        if not isinstance(error, UNCLEAN) and not type(error).__module__.startswith("numpy"):
            return None
        if isinstance(error, IndexError) and str(error).startswith("swapaxes: axes from "):
            return None  # TensorFlow's class, and NumPy's, for axes that are none
        return _fault(error)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        if isinstance(error, RuntimeError) and "not compatible with eager execution" in str(error):
            return None  # TensorFlow's class for what is for graphs alone
        if isinstance(error, AttributeError) and "image dtype must be" in str(error):
            return None  # TensorFlow's class for it, too
        return _fault(error)
    return None


def _fault(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "fastgraph" in f.filename]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {where}: {str(error)[:150]}"


def way_of(chance: random.Random) -> str:
    share = chance.random()
    return "eager" if share < 0.6 else "gradient" if share < 0.8 else "function" if share < 0.99 else "compiled"


@contextlib.contextmanager
def memory_limit(n_bytes: int) -> Iterator[None]:
    """Let this process take so much address space more, so that a call that asks for all of it is refused, not killed."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bounds = [now + n_bytes, *(bound for bound in (soft, hard) if bound != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(bounds), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def child(seconds: float, seed: int, last: Path) -> None:
    """Make calls for so long; print each fault once. The call in progress stands in the file `last`."""
    faulthandler.enable()
    end = time.perf_counter() + seconds
    seen: Counter[str] = Counter()
    n = 0
    with memory_limit(MEMORY), last.open("r+b") as file, mmap.mmap(file.fileno(), 16384) as page:
        while time.perf_counter() < end:
            chance = random.Random(seed + n)
            text, way = hostile_call(chance), way_of(chance)
            record = f"{n}\n{way}\n{text}".encode()[:16383]
            page[: len(record) + 1] = record + b"\0"
            faulthandler.dump_traceback_later(90, exit=True)
            fault = fault_of(text, way)
            faulthandler.cancel_dump_traceback_later()
            n += 1
            if fault is not None:
                key = text.partition("(")[0] + fault[:60]
                seen[key] += 1
                if seen[key] == 1:
                    print(f"{way}: {text}\n    {fault}", flush=True)
    print(f"calls {n}", flush=True)


def hammer(seconds: float, seed: int) -> tuple[str, int]:
    """Make hostile calls in child processes for so long; return (report, number of faults)."""
    end = time.perf_counter() + seconds
    n_calls, faults = 0, []
    with tempfile.TemporaryDirectory() as folder:
        last = Path(folder, "last")
        while (left := end - time.perf_counter()) > 1:
            last.write_bytes(bytes(16384))
            command = [sys.executable, "-m", "tests.ops.hostile", "--child", str(last), "--seconds", str(left)]
            done = subprocess.run(
                [*command, "--seed", str(seed)], cwd=ROOT, capture_output=True, text=True, timeout=seconds + 300
            )
            lines = done.stdout.splitlines()
            n, way, text = (last.read_bytes().partition(b"\0")[0].decode(errors="replace").split("\n", 2) + ["", ""])[
                :3
            ]
            n_calls += int(n or 0) + 1
            faults += [line for line in lines if not line.startswith("calls ")]
            if done.returncode != 0:
                faults += [f"{way}: {text}", f"    exit status {done.returncode}: {done.stderr[-1500:]}"]
                if not n:
                    break
            seed += int(n or 0) + 1
    n_faults = sum(not line.startswith(" ") for line in faults if line)
    lines = [f"hostile calls: {n_calls} in {seconds:.0f} s; faults: {n_faults}", *faults]
    return "\n".join(lines), n_faults


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first call's seed (%(default)s)")
    parser.add_argument("--call", help="only this call, in every way")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.call:
        for way in ("eager", "gradient", "function", "compiled"):
            print(way, fault_of(options.call, way) or "ends well")
        return 0
    if options.child:
        child(options.seconds, options.seed, options.child)
        return 0
    report, n_faults = hammer(options.seconds, options.seed)
    print(report)
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
