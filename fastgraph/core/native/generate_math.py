"""Writes the C loops of elementwise ops that need mathematics (exp, tanh, pow, ...): part of what generate_loops.py
does.

Rule: imports nothing of fastgraph but the operators of lanes. The functions are those of compiler/vecmath/functions.py,
which it is handed as a module: they run here on a `Lane` that writes C instead of LLVM's code, so eager ops and kernels
compute by one definition.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from types import ModuleType
from typing import Any

from fastgraph.core.native.lane_operators import LaneOperators

C_TYPES = {
    "bool": "int", "float32": "float", "float64": "double",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (32, 64)},
}  # fmt: skip
FLOATS = ("float32", "float64")
#: Long and seldom called: not written for the widest vectors, which would make the extension a tenth larger.
RARE = {"erfc", "erfinv", "expm1", "ndtri", "selu", "tan", "xlog1py", "xlogy"}
#: Of float64 only these are.
DOUBLE = {"exp", "log", "sigmoid", "tanh"}
#: The operand of two that has a loop of its own if it is one number: most of the mathematics is that number's.
ALONE = {
    "xlogy_float32": (1,),
    "xlogy_float64": (1,),
    "xlog1py_float32": (1,),
    "xlog1py_float64": (1,),
    "pow_float64": (0,),
}
#: Left to NumPy and SciPy in eager mode: theirs would take most room of all loops, for what few programs call.
LARGE = {
    "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e",
    "expint", "lgamma", "sinh", "cosh", "asin", "acos", "atan", "atan2",
    "asinh", "acosh", "atanh", "exp2", "log2",
}  # fmt: skip
#: Longer ones would make the file slow to compile, and NumPy or libm has them anyway.
MOST_STATEMENTS = 166

#: One file of loops, compiled for three CPUs: FG_FMA rounds once where the CPU can, as LLVM's muladd does,
#: and FG_REST never.
PRELUDE = """
#include <string.h>
static inline int32_t fg_bits_float32(float x) { int32_t i; memcpy(&i, &x, 4); return i; }
static inline int64_t fg_bits_float64(double x) { int64_t i; memcpy(&i, &x, 8); return i; }
static inline float fg_from_int32(int32_t i) { float x; memcpy(&x, &i, 4); return x; }
static inline double fg_from_int64(int64_t i) { double x; memcpy(&x, &i, 8); return x; }
static inline double fg_upper(double x) { return fg_from_int64(fg_bits_float64(x) & ~((INT64_C(1) << 27) - 1)); }
/* a b - c, as good as exactly, by halves of a and b */
static inline double fg_rest(double a, double b, double c) {
  const double a1 = fg_upper(a), a2 = a - a1, b1 = fg_upper(b), b2 = b - b1;
  return ((a1 * b1 - c) + a1 * b2 + a2 * b1) + a2 * b2;
}
/* Do what `loop` does where one operand may be a number for all elements: its copies, unless it is operand `own`. */
static int fg_spread(fg_loop loop, int64_t item, int own, char **operands, const int64_t *steps, char *result,
                     int64_t n) {
  const int one = steps[0] != 0;
  if ((steps[0] && steps[1]) || one == own) return loop(operands, steps, result, n);
  const int64_t most = n < 256 ? n : 256;
  double room[256];
  char *from[] = {operands[0], operands[1]};
  if (item == 4) for (int64_t k = 0; k < most; k++) ((float *)room)[k] = *(float *)from[one];
  else for (int64_t k = 0; k < most; k++) room[k] = *(double *)from[one];
  from[one] = (char *)room;
  for (; n > 0; n -= most, result += most * item, from[!one] += most * item)
    loop(from, (int64_t[]){1, 1}, result, n < most ? n : most);
  return 0;
}
"""
LEVELS = """
#define FG_CAT_(a, b) a##_##b
#define FG_CAT(a, b) FG_CAT_(a, b)
#define FG_AT(name) FG_CAT(name, FG_LEVEL)

#define FG_LEVEL plain
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("Os") /* for processors of before 2013 */
#endif
#define FG_FMA_float32(a, b, c) ((a) * (b) + (c))
#define FG_FMA_float64(a, b, c) ((a) * (b) + (c))
#define FG_REST_float32(a, b, c) ((float)((double)(a) * (b) - (c)))
#define FG_REST_float64(a, b, c) fg_rest(a, b, c)
#include "eager_math.h"
#undef FG_LEVEL
#undef FG_FMA_float32
#undef FG_FMA_float64
#undef FG_REST_float32
#undef FG_REST_float64
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#define FG_FMA_float32(a, b, c) __builtin_fmaf((a), (b), (c))
#define FG_FMA_float64(a, b, c) __builtin_fma((a), (b), (c))
#define FG_REST_float32(a, b, c) __builtin_fmaf((a), (b), -(c))
#define FG_REST_float64(a, b, c) __builtin_fma((a), (b), -(c))
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define FG_LEVEL avx2
#include "eager_math.h"
#undef FG_LEVEL
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512")
#define FG_LEVEL avx512
#define FG_WIDEST
#include "eager_math.h"
#undef FG_WIDEST
#undef FG_LEVEL
#pragma GCC pop_options
static int fg_cpu_level(void) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
    && __builtin_cpu_supports("avx512bw") ? 2 : 1;
}
#define FG_CHOSEN(name) (fg_level == 2 ? name##_avx512 : fg_level == 1 ? name##_avx2 : name##_plain)
#define FG_CHOSEN_RARE(name) (fg_level > 0 ? name##_avx2 : name##_plain)
#else
static int fg_cpu_level(void) { return 0; }
#define FG_CHOSEN(name) name##_plain
#define FG_CHOSEN_RARE(name) name##_plain
#endif
static int fg_level = -1;
"""


#: Rows of softmax: n of them, steps[0] long. The largest (NaN if there is one) is taken off; which elements are summed
#: together does not depend on the row's place.
SOFTMAX = """
typedef T_ FG_AT(fg_vector_D_) __attribute__((vector_size(16 * sizeof(T_)), aligned(sizeof(T_))));
static int FG_AT(fg_math_softmax_D_)(char **operands, const int64_t *steps, char *result, int64_t n) {
  const int64_t width = steps[0];
  for (int64_t row = 0; row < n; row++) {
    const T_ *restrict x = (const T_ *)operands[0] + row * width;
    T_ *restrict out = (T_ *)result + row * width;
    T_ best[64], top = -(T_)INFINITY; /* 64: of fewer the compiler makes single variables, and no vectors */
    int odd = 0;
    int64_t k = 0;
    if (width >= 64) {
      for (int l = 0; l < 64; l++) best[l] = top;
      for (; k + 64 <= width; k += 64)
        for (int l = 0; l < 64; l++) { T_ v = x[k + l]; best[l] = v > best[l] ? v : best[l]; }
      for (int w = 32; w; w /= 2) /* in halves: one after the other each would wait for the one before */
        for (int l = 0; l < w; l++) best[l] = best[l + w] > best[l] ? best[l + w] : best[l];
      top = best[0];
    }
    for (; k < width; k++) top = x[k] > top ? x[k] : top;
    for (k = 0; k < width; k++) odd |= x[k] != x[k];
    if (odd) top = (T_)NAN;
    for (k = 0; k < width; k++) out[k] = FG_AT(fg_one_exp_D_)(x[k] - top);
    double total = 0;
    for (int64_t k0 = 0; k0 < width; k0 += 512) {
      const int64_t stop = width - k0 < 512 ? width : k0 + 512;
      FG_AT(fg_vector_D_) part[2] = {{0}, {0}};
      T_ rest = 0;
      for (k = k0; k + 32 <= stop; k += 32) {
        part[0] += *(const FG_AT(fg_vector_D_) *)(out + k);
        part[1] += *(const FG_AT(fg_vector_D_) *)(out + k + 16);
      }
      for (; k < stop; k++) rest += out[k];
      part[0] += part[1];
      for (int l = 0; l < 4; l++)
        rest += (part[0][l] + part[0][l + 8]) + (part[0][l + 4] + part[0][l + 12]);
      total += rest;
    }
    const T_ scale = (T_)(1 / total); /* the total is at least 1, the largest's own; a product is ten times cheaper */
    for (k = 0; k < width; k++) out[k] *= scale;
  }
  return 0;
}"""


class CannotWrite(Exception):
    """A function that C has no form of here (a call of libm, a cast to integers)."""


class Writer:
    """The statements of one function."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def value(self, dtype: str, text: str) -> Lane:
        """A lane that holds `text`."""
        name = f"t{len(self.lines)}"
        self.lines.append(f"  const {C_TYPES[dtype]} {name} = {text};")
        return Lane(self, name, dtype)


class Lane(LaneOperators):
    """compiler/cpu/llvm_lanes.py's Lane, writing C: see there for what each operation means."""

    def __init__(self, writer: Writer, name: str, dtype: str) -> None:
        self.builder = self.writer = writer
        self.name = self.value = name
        self.dtype = dtype

    def constant(self, number: float, dtype: str | None = None) -> Lane:
        dtype = dtype or self.dtype
        return Lane(self.writer, _number(number, dtype), dtype)

    def _lift(self, other: Number) -> Lane:
        return other if isinstance(other, Lane) else self.constant(other)

    def _make(self, text: str, dtype: str | None = None) -> Lane:
        return self.writer.value(dtype or self.dtype, text)

    def _binary(self, other: Number, operator: str) -> Lane:
        a, b = self.name, self._lift(other).name
        if self.dtype in FLOATS or self.dtype == "bool" or operator == ">>":
            return self._make(f"{a} {operator} {b}")
        wide = C_TYPES["u" + self.dtype.lstrip("u")]  # integers wrap
        return self._make(f"({C_TYPES[self.dtype]})(({wide}){a} {operator} ({wide}){b})")

    def __neg__(self) -> Lane:
        return self._make(f"-{self.name}") if self.dtype in FLOATS else self.constant(0) - self

    def __invert__(self) -> Lane:
        return self._make(f"!{self.name}") if self.dtype == "bool" else self ^ -1

    def _compare(self, other: Number, operator: str) -> Lane:
        return self._make(f"{self.name} {operator} {self._lift(other).name}", "bool")

    def select(self, yes: Any, no: Any) -> Lane:
        if not isinstance(yes, Lane):
            yes = no.constant(yes)
        return self._make(f"{self.name} ? {yes.name} : {yes._lift(no).name}", yes.dtype)

    fused = False  # on some of the CPUs that the text is compiled for

    def muladd(self, factor: Number, summand: Number) -> Lane:
        return self._make(f"FG_FMA_{self.dtype}({self.name}, {self._lift(factor).name}, {self._lift(summand).name})")

    def rest_of_product(self, factor: Number, product: Number) -> Lane:
        given = f"{self.name}, {self._lift(factor).name}, {self._lift(product).name}"
        return self._make(f"FG_REST_{self.dtype}({given})")

    def _function(self, name: str, *others: Number) -> Lane:
        ending = "f" if self.dtype == "float32" else ""
        given = ", ".join([self.name, *(self._lift(o).name for o in others)])
        return self._make(f"__builtin_{name}{ending}({given})")

    def call(self, symbol: str, *others: Number) -> Lane:
        raise CannotWrite(symbol)  # a call keeps a loop from running vectorised: NumPy's does as well

    def apart(self, name: str, body: Callable[..., Any]) -> Lane:
        raise CannotWrite(name)

    def mostly(
        self,
        name: str,
        usual: Callable[..., Any],
        otherwise: Callable[..., Any],
        *others: Lane,
        same: bool = False,
        rare: bool = True,
    ) -> Lane:
        if same:
            whole: Lane = otherwise(self, *others)
            return whole
        value, fits = usual(self, *others)
        chosen: Lane = fits.select(value, otherwise(self, *others))
        return chosen

    def bits(self) -> Lane:
        return self._make(f"fg_bits_{self.dtype}({self.name})", "int32" if self.dtype == "float32" else "int64")

    def from_bits(self) -> Lane:
        return self._make(f"fg_from_{self.dtype}({self.name})", "float32" if self.dtype == "int32" else "float64")

    def to(self, dtype: str) -> Lane:
        if dtype == self.dtype:
            return self
        if dtype == "bool":
            return self.differs(0)
        if self.dtype in FLOATS and dtype not in FLOATS:
            raise CannotWrite("a cast to integers")
        return self._make(f"({C_TYPES[dtype]}){self.name}", dtype)


Number = Lane | float


def _number(number: float, dtype: str) -> str:
    if dtype == "bool":
        return str(int(bool(number)))
    if dtype in FLOATS:
        if math.isnan(number) or math.isinf(number):
            sign = "-" if math.copysign(1, number) < 0 else ""
            return f"(({C_TYPES[dtype]}){sign}{'NAN' if math.isnan(number) else 'INFINITY'})"
        rounded = struct.unpack("f", struct.pack("f", number))[0] if dtype == "float32" else float(number)
        return f"(({C_TYPES[dtype]}){rounded!r})"
    width = int(dtype.lstrip("uint"))
    number = int(number) & ((1 << width) - 1)
    return f"(({C_TYPES[dtype]})UINT64_C({number}))"


def _evaluate(expr: ModuleType, functions: dict[str, Any], tree: Any, operands: dict[str, Lane], dtype: str) -> Any:
    """A tree of expr.py on lanes; a number stays one until it meets a lane."""
    if isinstance(tree, expr.Name):
        return operands[tree.id]
    if isinstance(tree, expr.Literal):
        return tree.value
    if tree.to is not None:
        raise CannotWrite("a cast")
    args = [_evaluate(expr, functions, each, operands, dtype) for each in tree.args]
    some = next(iter(operands.values()))
    lanes = [
        arg if isinstance(arg, Lane) else some.constant(arg, "bool" if tree.op == "select" and not i else dtype)
        for i, arg in enumerate(args)
    ]
    kind = lanes[-1].dtype
    function = functions.get(f"{tree.op}_{kind}")
    if function is None or any(lane.dtype != wanted for lane, wanted in zip(lanes, function.operands, strict=True)):
        raise CannotWrite(tree.op)
    return function.body(*lanes)


def element(expr: ModuleType, vecmath: ModuleType, text: str, inputs: list[str], dtype: str, name: str) -> str | None:
    """A C function of one element of the expression `text`; None where that is not to be had."""
    writer = Writer()
    operands = {each: Lane(writer, each, dtype) for each in inputs}
    try:
        result = _evaluate(expr, vecmath.functions(), expr.parse(text).root, operands, dtype)
    except (CannotWrite, AttributeError, NotImplementedError, expr.ExpressionError):
        return None
    if not isinstance(result, Lane) or result.dtype != dtype or len(writer.lines) > MOST_STATEMENTS:
        return None
    ctype = C_TYPES[dtype]
    head = f"static inline __attribute__((always_inline)) {ctype} FG_AT(fg_one_{name})("
    head += ", ".join(f"{ctype} {each}" for each in inputs) + ") {"
    return "\n".join([head, *writer.lines, f"  return {result.name};", "}"])
