"""Operators of lanes, of whatever a lane writes: LLVM's instructions in kernels, C in the loops of eager mode.

Rule: who writes lanes states the steps that raise NotImplementedError here; all else follows from them. Loops of lanes
(`inside`, `only_where`, `repeated`) are of kernels alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self


class LaneOperators:
    """The base of lanes: Python's operators, comparisons, and the functions of floats that processors have."""

    __slots__ = ()
    dtype: str

    def _lift(self, other: Self | float) -> Self:
        """`other` as a lane of this dtype."""
        raise NotImplementedError

    def _binary(self, other: Self | float, operator: str) -> Self:
        """The result of `operator`, as Python and C write it."""
        raise NotImplementedError

    def _compare(self, other: Self | float, operator: str) -> Self:
        """A bool lane; with NaN all is false but `!=`."""
        raise NotImplementedError

    def _function(self, name: str, *others: Self | float) -> Self:
        """A function of floats by the name that C has for it."""
        raise NotImplementedError

    def constant(self, number: float, dtype: str | None = None) -> Self:
        """`number` as a lane of `dtype` (this lane's if not given)."""
        raise NotImplementedError

    def select(self, yes: Self | float, no: Self | float) -> Self:
        """`yes` where this bool lane is true, else `no`."""
        raise NotImplementedError

    def muladd(self, factor: Self | float, summand: Self | float) -> Self:
        """self * factor + summand."""
        raise NotImplementedError

    def to(self, dtype: str) -> Self:
        """A cast."""
        raise NotImplementedError

    def call(self, symbol: str, *others: Self | float) -> Self:
        """A function of libm."""
        raise NotImplementedError

    def __neg__(self) -> Self:
        raise NotImplementedError

    def __invert__(self) -> Self:
        raise NotImplementedError

    def inside(self, name: str, body: Callable[..., Self], *others: Self) -> Self:
        """body(self, *others), a function with forms for vectors."""
        raise NotImplementedError

    def only_where(self, body: Callable[[], Self], otherwise: Self) -> Self:
        """Lanes of body() where this bool lane is true, else of `otherwise`."""
        raise NotImplementedError

    def repeated(
        self, state: Sequence[Self], step: Callable[..., tuple[Sequence[Self], Self]], most: int
    ) -> list[Self]:
        """`state` after step after step, in each lane for as long as its bool is true."""
        raise NotImplementedError

    def __add__(self, other: Self | float) -> Self:
        return self._binary(other, "+")

    def __sub__(self, other: Self | float) -> Self:
        return self._binary(other, "-")

    def __mul__(self, other: Self | float) -> Self:
        return self._binary(other, "*")

    def __truediv__(self, other: Self | float) -> Self:
        return self._binary(other, "/")

    def __radd__(self, other: Self | float) -> Self:
        return self._lift(other) + self

    def __rsub__(self, other: Self | float) -> Self:
        return self._lift(other) - self

    def __rmul__(self, other: Self | float) -> Self:
        return self._lift(other) * self

    def __rtruediv__(self, other: Self | float) -> Self:
        return self._lift(other) / self

    def __and__(self, other: Self | float) -> Self:
        return self._binary(other, "&")

    def __or__(self, other: Self | float) -> Self:
        return self._binary(other, "|")

    def __xor__(self, other: Self | float) -> Self:
        return self._binary(other, "^")

    def __lshift__(self, n: Self | float) -> Self:
        """Shift left by `n`, which the caller keeps in 0 .. width - 1."""
        return self._binary(n, "<<")

    def __rshift__(self, n: Self | float) -> Self:
        """Shift right, with the sign for signed lanes, by `n`, which the caller keeps in 0 .. width - 1."""
        return self._binary(n, ">>")

    def __lt__(self, other: Self | float) -> Self:
        return self._compare(other, "<")

    def __le__(self, other: Self | float) -> Self:
        return self._compare(other, "<=")

    def __gt__(self, other: Self | float) -> Self:
        return self._compare(other, ">")

    def __ge__(self, other: Self | float) -> Self:
        return self._compare(other, ">=")

    def equals(self, other: Self | float) -> Self:
        """self == other (false for NaN)."""
        return self._compare(other, "==")

    def differs(self, other: Self | float) -> Self:
        """self != other (true for NaN)."""
        return self._compare(other, "!=")

    def sqrt(self) -> Self:
        """Square root, correctly rounded."""
        return self._function("sqrt")

    def abs(self) -> Self:
        """|self| of a float."""
        return self._function("fabs")

    def copysign(self, sign: Self | float) -> Self:
        """|self| with the sign of `sign`."""
        return self._function("copysign", sign)

    def floor(self) -> Self:
        """Rounded down."""
        return self._function("floor")

    def ceil(self) -> Self:
        """Rounded up."""
        return self._function("ceil")

    def trunc(self) -> Self:
        """Rounded towards zero."""
        return self._function("trunc")

    def round(self) -> Self:
        """Rounded half to even."""
        return self._function("rint")
