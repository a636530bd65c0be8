"""The expression language in which elementwise ops say what one element is: text -> frozen tree -> printers.

Rule: standard library only and nothing of fastgraph but a lock, so that `setup.py` can load this file by its path.

An expression is written in Python's syntax, with Python's precedence (`&` binds tighter than `<`: use brackets):

    names, numbers, True, False, inf, nan, pi
    a + b   a - b   a * b   a / b   a // b   a % b   a ** b   -a      arithmetic; `/` is for floats only
    a < b   a <= b  a > b   a >= b  a == b   a != b                   comparisons give bool; they do not chain
    ~a  a & b  a | b  a ^ b  a << b  a >> b                           logic on bool, bitwise on integers
    select(c, a, b)                                                   c ? a : b, where c is bool
    float32(x), int64(x), bool(x), ...                                explicit casts; there are no others
    exp(x), max(x, y), ...                                            the functions of `INTRINSICS`
    complex(a, b)   real(x)   imag(x)                                 a complex number of two floats, and its parts

Numbers take the dtype of what they are combined with. `//` and `%` round towards minus infinity; `round` rounds half to
even; `min` and `max` propagate NaN; integer arithmetic wraps.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

T = TypeVar("T")

#: Held while Python parses; the build, which loads this file alone, needs none.
parsing: AbstractContextManager[object] = nullcontext()
if __name__ == "fastgraph.core.base.expr":
    from fastgraph.core.base import locks

    parsing = locks.parsing

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
DTYPES = ("bool", *INTEGERS, *FLOATS, "complex64", "complex128")

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "floormod",
    ast.Pow: "pow",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.Invert: "not"}
COMPARISONS = frozenset(COMPARE.values())
PREDICATES = frozenset({"isnan", "isinf", "isfinite"})

#: Functions that may be called, and how many arguments each takes.
INTRINSICS: dict[str, int] = {
    **dict.fromkeys(("exp", "log", "log1p", "expm1", "exp2", "log2"), 1),
    **dict.fromkeys(
        ("tanh", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sin", "cos", "tan"), 1
    ),
    **dict.fromkeys(("sigmoid", "softplus", "erf", "erfc", "erfinv", "ndtri", "lgamma", "digamma"), 1),
    **dict.fromkeys(("bessel_i0e", "bessel_i1e", "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e", "expint"), 1),
    **dict.fromkeys(("sqrt", "rsqrt", "abs", "sign", "floor", "ceil", "round", "trunc"), 1),
    **dict.fromkeys(PREDICATES, 1),
    **dict.fromkeys(("real", "imag", "conj"), 1),
    **dict.fromkeys(("min", "max", "pow", "atan2", "fmod", "truncatediv", "truncatemod", "nextafter"), 2),
    **dict.fromkeys(("zeta", "polygamma", "complex", "igamma", "igammac", "igamma_grad_a"), 2),
    "select": 3,
    "betainc": 3,
}
#: Functions that kernels compute of complex numbers; NumPy computes the rest.
OF_COMPLEX = frozenset(
    (
        *("add", "sub", "mul", "div", "neg", "exp", "log", "sqrt", "abs", "sign", "eq", "ne", "select"),
        *("real", "imag", "conj", "complex", "cast"),
    )
)
#: The dtype of a complex number's parts, and that of the complex number of two such parts.
PARTS = {"complex64": "float32", "complex128": "float64"}
_OF_PARTS = {part: whole for whole, part in PARTS.items()}
CONSTANTS = {"inf": float("inf"), "nan": float("nan"), "pi": 3.141592653589793}


class ExpressionError(ValueError):
    """An expression that does not parse, or whose dtypes do not fit."""


class CannotPrint(ExpressionError):
    """A right expression that a printer has no form for (exp in C, say): another kernel must do it."""


@dataclass(frozen=True)
class Name:
    """An operand."""

    id: str


@dataclass(frozen=True)
class Literal:
    """A number without a dtype of its own."""

    value: bool | int | float


@dataclass(frozen=True)
class Apply:
    """An operation: "add", "lt", "select", "exp", ..., or "cast" with the dtype's name in `to`."""

    op: str
    args: tuple[Tree, ...]
    to: str | None = None


Tree = Name | Literal | Apply


@dataclass(frozen=True)
class Expression:
    """A parsed expression; `names` are its operands in order of first appearance."""

    text: str
    root: Tree
    names: tuple[str, ...]


@cache
def parse(text: str) -> Expression:
    """The tree of `text`.

    Raises: ExpressionError with the offending part, for anything outside the language.
    """
    try:
        with parsing:
            body = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"expression {text!r}: {error.msg}") from None
    names: dict[str, None] = {}
    return Expression(text, _convert(body, text, names), tuple(names))


def _convert(node: ast.expr, text: str, names: dict[str, None]) -> Tree:
    def refuse(why: str) -> ExpressionError:
        return ExpressionError(f"expression {text!r}: {why}: {ast.unparse(node)}")

    match node:
        case ast.Name(id=name) if name in CONSTANTS:
            return Literal(CONSTANTS[name])
        case ast.Name(id=name):
            if name in INTRINSICS or name in DTYPES:
                raise refuse("a function's name stands without arguments")
            names.setdefault(name)
            return Name(name)
        case ast.Constant(value=bool() | int() | float() as value):
            return Literal(value)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
            argument = _convert(operand, text, names)
            if isinstance(op, ast.USub) and isinstance(argument, Literal) and not isinstance(argument.value, bool):
                return Literal(-argument.value)
            return Apply(UNARY[type(op)], (argument,))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return Apply(BINARY[type(op)], (_convert(left, text, names), _convert(right, text, names)))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
            return Apply(COMPARE[type(op)], (_convert(left, text, names), _convert(right, text, names)))
        case ast.Compare():
            raise refuse("comparisons do not chain")
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            arguments = tuple(_convert(a, text, names) for a in args)
            if name in DTYPES and len(arguments) == 1:
                return Apply("cast", arguments, name)
            if name in INTRINSICS and len(arguments) == INTRINSICS[name]:
                return Apply(name, arguments)
            raise refuse("unknown function or wrong number of arguments")
    raise refuse("not in the language")


def fold(
    tree: Tree,
    name: Callable[[str], T],
    literal: Callable[[bool | int | float], T],
    apply: Callable[[str, Sequence[T], str | None], T],
) -> T:
    """Evaluate a tree bottom-up: `apply(op, args, to)` gets the operands' results (`to`: the dtype of a cast)."""
    if isinstance(tree, Name):
        return name(tree.id)
    if isinstance(tree, Literal):
        return literal(tree.value)
    return apply(tree.op, [fold(a, name, literal, apply) for a in tree.args], tree.to)


def walk(tree: Tree) -> Iterator[Tree]:
    """Every subtree, operands before what uses them."""
    if isinstance(tree, Apply):
        for argument in tree.args:
            yield from walk(argument)
    yield tree


@dataclass(frozen=True)
class Typed:
    """A subtree with its dtype: `op` is "name" (value: the name), "literal" (value: the number) or as in Apply."""

    op: str
    args: tuple[Typed, ...]
    dtype: str
    value: str | bool | int | float | None = None


def annotate(tree: Tree, dtypes: Mapping[str, str], default: str) -> Typed:
    """Give every subtree its dtype; `default` is for expressions of literals alone.

    Raises: ExpressionError where two operands differ or an operation does not take the dtype.
    """
    return _annotate(tree, dtypes, default, wanted=None)


def _annotate(tree: Tree, dtypes: Mapping[str, str], default: str, wanted: str | None) -> Typed:
    if isinstance(tree, Name):
        if tree.id not in dtypes:
            raise ExpressionError(f"no dtype for operand {tree.id!r}")
        return Typed("name", (), dtypes[tree.id], tree.id)
    if isinstance(tree, Literal):
        dtype = "bool" if isinstance(tree.value, bool) else wanted or default
        if isinstance(tree.value, float) and dtype in INTEGERS:
            raise ExpressionError(f"number {tree.value!r} in an expression of {dtype}")
        return Typed("literal", (), dtype, tree.value)
    if tree.op == "cast":
        assert tree.to is not None
        return Typed("cast", (_annotate(tree.args[0], dtypes, default, tree.to),), tree.to)
    head: tuple[Typed, ...] = ()
    operands = tree.args
    if tree.op == "select":
        head = (_annotate(tree.args[0], dtypes, default, "bool"),)
        operands = tree.args[1:]
        if head[0].dtype != "bool":
            raise ExpressionError(f"select on {head[0].dtype}: the condition must be bool")
        inherited = wanted
    else:
        inherited = None if tree.op in COMPARISONS or tree.op in PREDICATES else wanted
    solid = [_annotate(a, dtypes, default, inherited) for a in operands if not _weak(a)]
    dtype = solid[0].dtype if solid else inherited or default
    arguments = tuple(_annotate(a, dtypes, default, dtype) for a in operands)
    for argument in arguments:
        if argument.dtype != dtype:
            raise ExpressionError(f"operands of {tree.op} differ: {dtype} and {argument.dtype}")
    _check(tree.op, dtype)
    if tree.op == "conj" and dtype not in PARTS:
        return arguments[0]  # of real numbers nothing changes
    return Typed(tree.op, head + arguments, result_dtype(tree.op, dtype))


def result_dtype(op: str, dtype: str) -> str:
    """The dtype of an operation on operands of `dtype`."""
    if op in COMPARISONS or op in PREDICATES:
        return "bool"
    if op in {"abs", "real", "imag"}:
        return PARTS.get(dtype, dtype)
    return _OF_PARTS[dtype] if op == "complex" else dtype


def _weak(tree: Tree) -> bool:
    """Return whether a subtree has no dtype of its own."""
    if isinstance(tree, Literal):
        return not isinstance(tree.value, bool)
    if isinstance(tree, Name) or tree.op == "cast" or tree.op in COMPARISONS or tree.op in PREDICATES:
        return False
    return all(_weak(a) for a in (tree.args[1:] if tree.op == "select" else tree.args))


def _check(op: str, dtype: str) -> None:
    logic = {"not", "and", "or", "xor"}
    if op in logic:
        allowed = dtype == "bool" or dtype in INTEGERS
    elif op in {"lshift", "rshift", "truncatediv", "truncatemod"}:
        allowed = dtype in INTEGERS
    elif op in {"select", "eq", "ne"}:
        allowed = True
    elif op == "complex":
        allowed = dtype in _OF_PARTS
    elif op == "div":
        allowed = dtype not in INTEGERS and dtype != "bool"
    else:
        allowed = dtype != "bool"
    if not allowed:
        raise ExpressionError(f"{op} does not take {dtype}")


# ---- C -------------------------------------------------------------------------------------------------------------

C_TYPES: dict[str, str] = {
    "bool": "uint8_t",
    **{name: f"{name}_t" for name in INTEGERS},
    "float32": "float",
    "float64": "double",
}
C_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}
C_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_C_FLOAT_CALLS = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor", "ceil": "ceil", "round": "rint", "trunc": "trunc"}
_C_INTEGER_CALLS = frozenset(
    {"floordiv", "floormod", "truncatediv", "truncatemod", "pow", "min", "max", "abs", "sign", "lshift", "rshift"}
)


def print_c(expression: Expression | Tree, dtypes: Mapping[str, str], result: str) -> str:
    """The expression as C over variables of the operands' names, cast to `result`'s C type.

    `dtypes` maps each operand to its dtype ("float32", ...). The text needs `C_PRELUDE`, and the file must be compiled
    with `-ffp-contract=off` and without fast-math. There is no undefined behaviour for any operand: integers wrap, a
    zero divisor gives 0 (see `divisors`), out-of-range casts give what x86-64 gives.

    Raises: CannotPrint for what C has no portable form of here (exp, half floats, complex).
    """
    tree = expression.root if isinstance(expression, Expression) else expression
    typed = annotate(tree, dtypes, result)
    return _c_cast(_print_c(typed), typed.dtype, result)


def divisors(expression: Expression) -> tuple[Tree, ...]:
    """The subtrees whose being zero is an error for integers: divisors of `//`, `%`, truncatediv and truncatemod."""
    dividing = {"floordiv", "floormod", "truncatediv", "truncatemod"}
    return tuple(t.args[1] for t in walk(expression.root) if isinstance(t, Apply) and t.op in dividing)


def _print_c(tree: Typed) -> str:
    ctype = C_TYPES.get(tree.dtype)
    if ctype is None:
        raise CannotPrint(f"C has no {tree.dtype} here")
    if tree.op == "name":
        return str(tree.value)
    if tree.op == "literal":
        return _c_literal(tree)
    args = [_print_c(a) for a in tree.args]
    if tree.op == "cast":
        return _c_cast(args[0], tree.args[0].dtype, tree.dtype)
    if tree.op == "select":
        return f"({args[0]} ? {args[1]} : {args[2]})"
    dtype = tree.args[0].dtype
    if tree.op in C_COMPARISONS:
        return f"((uint8_t)({args[0]} {C_COMPARISONS[tree.op]} {args[1]}))"
    if dtype == "bool":
        return (
            f"((uint8_t)(!{args[0]}))"
            if tree.op == "not"
            else f"((uint8_t)({args[0]} {C_OPERATORS[tree.op]} {args[1]}))"
        )
    if dtype in INTEGERS:
        return _c_integer(tree.op, dtype, args)
    return _c_float(tree.op, dtype, args)


def _c_integer(op: str, dtype: str, args: list[str]) -> str:
    ctype = C_TYPES[dtype]
    wide = "uint64_t" if dtype.endswith("64") else "uint32_t"  # unsigned: overflow wraps instead of being undefined
    if op in C_OPERATORS:
        return f"(({ctype})(({wide}){args[0]} {C_OPERATORS[op]} ({wide}){args[1]}))"
    if op == "neg":
        return f"(({ctype})(0u - ({wide}){args[0]}))"
    if op == "not":
        return f"(({ctype})(~({wide}){args[0]}))"
    if op in _C_INTEGER_CALLS:
        return f"fg_{op}_{dtype}({', '.join(args)})"
    if op in {"floor", "ceil", "round", "trunc"}:
        return args[0]
    if op in PREDICATES:
        return f"((uint8_t){int(op == 'isfinite')})"
    raise CannotPrint(f"C has no {op} of {dtype} here")


def _c_float(op: str, dtype: str, args: list[str]) -> str:
    suffix = "f" if dtype == "float32" else ""
    if op in C_OPERATORS:
        return f"({args[0]} {C_OPERATORS[op]} {args[1]})"
    if op == "neg":
        return f"(-{args[0]})"
    if op in _C_FLOAT_CALLS:
        return f"{_C_FLOAT_CALLS[op]}{suffix}({args[0]})"
    if op == "rsqrt":
        return f"(({C_TYPES[dtype]})1 / sqrt{suffix}({args[0]}))"
    if op in {"floordiv", "floormod", "min", "max", "sign", *PREDICATES}:
        return f"fg_{op}_{dtype}({', '.join(args)})"
    raise CannotPrint(f"C has no {op} of {dtype} here")


def _c_literal(tree: Typed) -> str:
    value = tree.value
    assert isinstance(value, int | float)
    ctype = C_TYPES[tree.dtype]
    if tree.dtype in ("float32", "float64"):
        number = float(value)
        if math.isnan(number):
            return f"(({ctype})NAN)"
        if math.isinf(number):
            return f"(({ctype}){'-' if number < 0 else ''}INFINITY)"
        return f"(({ctype}){number!r})"
    number = int(value)
    if tree.dtype == "bool":
        return f"((uint8_t){int(bool(value))})"
    bits = int(tree.dtype.lstrip("uint"))
    low, high = (0, 2**bits - 1) if tree.dtype in UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if not low <= number <= high:
        raise ExpressionError(f"number {number} does not fit {tree.dtype}")
    if number == -(2**63):
        return "((int64_t)(-INT64_C(9223372036854775807) - 1))"
    return f"(({ctype}){'UINT64_C' if tree.dtype in UNSIGNED else 'INT64_C'}({number}))"


def _c_cast(text: str, source: str, target: str) -> str:
    if source not in C_TYPES or target not in C_TYPES:
        raise CannotPrint(f"C has no cast of {source} to {target} here")
    if source == target:
        return text
    if target == "bool":
        return f"((uint8_t)({text} != 0))"
    if source in ("float32", "float64") and target in INTEGERS:
        # A plain C cast of an unrepresentable value is undefined; NumPy goes through int32 or int64 on x86-64.
        if target in ("int32", "int64", "uint64"):
            return f"fg_to_{target}((double){text})"
        return f"(({C_TYPES[target]})fg_to_{'int64' if target == 'uint32' else 'int32'}((double){text}))"
    return f"(({C_TYPES[target]}){text})"


# In the templates: T the C type, U an unsigned type at least 32 bits wide, D the dtype's name, N its bits, F the suffix
# of libm's float functions. Negations go through U, and x / -1 is one: the smallest integer over -1 traps on x86-64.
_C_SIGNED = """
static inline T fg_floordiv_D(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return (T)(0u - (U)a);
  T q = (T)(a / b), r = (T)(a % b);
  return (r != 0 && ((r ^ b) < 0)) ? (T)(q - 1) : q;
}
static inline T fg_floormod_D(T a, T b) {
  if (b == 0 || b == -1) return 0;
  T r = (T)(a % b);
  return (r != 0 && ((r ^ b) < 0)) ? (T)(r + b) : r;
}
static inline T fg_truncatediv_D(T a, T b) { return b == 0 ? 0 : b == -1 ? (T)(0u - (U)a) : (T)(a / b); }
static inline T fg_truncatemod_D(T a, T b) { return (b == 0 || b == -1) ? 0 : (T)(a % b); }
static inline T fg_abs_D(T a) { return a < 0 ? (T)(0u - (U)a) : a; }
static inline T fg_sign_D(T a) { return (T)((a > 0) - (a < 0)); }
static inline T fg_lshift_D(T a, T b) { return (T)((U)a << (b < 0 ? 0 : b >= N ? N - 1 : b)); }
static inline T fg_rshift_D(T a, T b) { return (T)(a >> (b < 0 ? 0 : b >= N ? N - 1 : b)); }
static inline T fg_pow_D(T a, T b) { /* a negative exponent is the op's error; here: the true result cut off */
  if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) ? -1 : 1) : 0;
  U r = 1, p = (U)a;
  for (uint64_t n = (uint64_t)b; n; n >>= 1) { if (n & 1) r *= p; p *= p; }
  return (T)r;
}
"""
_C_UNSIGNED = """
static inline T fg_floordiv_D(T a, T b) { return b == 0 ? 0 : (T)(a / b); }
static inline T fg_floormod_D(T a, T b) { return b == 0 ? 0 : (T)(a % b); }
static inline T fg_truncatediv_D(T a, T b) { return b == 0 ? 0 : (T)(a / b); }
static inline T fg_truncatemod_D(T a, T b) { return b == 0 ? 0 : (T)(a % b); }
static inline T fg_abs_D(T a) { return a; }
static inline T fg_sign_D(T a) { return (T)(a > 0); }
static inline T fg_lshift_D(T a, T b) { return (T)((U)a << (b >= N ? N - 1 : b)); }
static inline T fg_rshift_D(T a, T b) { return (T)(a >> (b >= N ? N - 1 : b)); }
static inline T fg_pow_D(T a, T b) {
  U r = 1, p = (U)a;
  for (uint64_t n = (uint64_t)b; n; n >>= 1) { if (n & 1) r *= p; p *= p; }
  return (T)r;
}
"""
_C_INTEGER = """
static inline T fg_min_D(T a, T b) { return a < b ? a : b; }
static inline T fg_max_D(T a, T b) { return a > b ? a : b; }
"""
# a > b ? a : b is one instruction and gives b when either is NaN; what is left is a itself being NaN. Floor division
# and modulo are TensorFlow's: floor(a / b), and fmod moved to the divisor's sign.
_C_FLOAT = """
static inline T fg_max_D(T a, T b) { T m = a > b ? a : b; return a != a ? a : m; }
static inline T fg_min_D(T a, T b) { T m = a < b ? a : b; return a != a ? a : m; }
static inline T fg_sign_D(T a) { return a != a ? a : (T)((a > 0) - (a < 0)); }
static inline T fg_floordiv_D(T a, T b) { return floorF(a / b); }
static inline T fg_floormod_D(T a, T b) {
  T r = fmodF(a, b);
  return (r != 0 && ((b < 0) != (r < 0))) ? r + b : r;
}
static inline uint8_t fg_isnan_D(T a) { return a != a; }
static inline uint8_t fg_isinf_D(T a) { return fabsF(a) == (T)INFINITY; }
static inline uint8_t fg_isfinite_D(T a) { return fabsF(a) < (T)INFINITY; }
"""
_C_CASTS = """
static inline int32_t fg_to_int32(double a) {
  return (a > -2147483649.0 && a < 2147483648.0) ? (int32_t)a : INT32_MIN;
}
static inline int64_t fg_to_int64(double a) {
  return (a >= -9223372036854775808.0 && a < 9223372036854775808.0) ? (int64_t)a : INT64_MIN;
}
static inline uint64_t fg_to_uint64(double a) {
  return (a >= 9223372036854775808.0 && a < 18446744073709551616.0) ? (uint64_t)a : (uint64_t)fg_to_int64(a);
}
"""


def _prelude() -> str:
    parts = ["#include <math.h>\n#include <stdint.h>\n"]
    for dtype in (*INTEGERS, "float32", "float64"):
        bits = dtype.lstrip("uintfloa")
        letters = {
            "T": C_TYPES[dtype],
            "U": "uint64_t" if bits == "64" else "uint32_t",
            "D": dtype,
            "N": bits,
            "F": "f" if dtype == "float32" else "",
        }
        if dtype in INTEGERS:
            template = (_C_SIGNED if dtype in SIGNED else _C_UNSIGNED) + _C_INTEGER
        else:
            template = _C_FLOAT
        # A letter stands alone, or ends a name: fg_max_D, floorF.
        for letter, text in letters.items():
            template = re.sub(rf"\b(fg_\w+_|floor|fmod|fabs)?{letter}\b", rf"\g<1>{text}", template)
        parts.append(template)
    return "".join(parts) + _C_CASTS


#: C helper functions that the text of `print_c` may call; include it once in a generated file.
C_PRELUDE = _prelude()
