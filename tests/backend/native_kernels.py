"""Small native kernels for the executor's tests, compiled by Numba to the kernel ABI, and plans made by hand."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import carray, float32, int32, int64, types

from fastgraph.core.base.dtype import as_dtype
from fastgraph.runtime.plan import CPU, KernelCall, Operand, Place, PlanSpec, Slot

SIGNATURE = types.int64(types.CPointer(types.voidptr), types.CPointer(types.int64), types.int64, types.int64)
_kept: list[Any] = []  # a compiled function must outlive its address

usleep = ctypes.CDLL(None).usleep  # opaque to LLVM: what lies in memory is read again after it
usleep.argtypes = [ctypes.c_uint]
usleep.restype = ctypes.c_int
pthread_self = ctypes.CDLL(None).pthread_self
pthread_self.argtypes = []
pthread_self.restype = ctypes.c_int64


def native(function: Callable[..., int]) -> int:
    """The address of `function(buffers, sizes, begin, end) -> status` compiled to the kernel ABI."""
    dispatcher = numba.njit(SIGNATURE, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    compiled = dispatcher.overloads[dispatcher.signatures[0]]
    _kept.append(dispatcher)
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


@cache
def multiply_add() -> int:
    """out = a * b + c on float32."""

    def kernel(buffers, sizes, begin, end):
        a = carray(buffers[0], (end,), float32)
        b = carray(buffers[1], (end,), float32)
        c = carray(buffers[2], (end,), float32)
        out = carray(buffers[3], (end,), float32)
        for i in range(begin, end):
            out[i] = a[i] * b[i] + c[i]
        return 0

    return native(kernel)


@cache
def add() -> int:
    """out = a + b on float32."""

    def kernel(buffers, sizes, begin, end):
        a = carray(buffers[0], (end,), float32)
        b = carray(buffers[1], (end,), float32)
        out = carray(buffers[2], (end,), float32)
        for i in range(begin, end):
            out[i] = a[i] + b[i]
        return 0

    return native(kernel)


@cache
def increment() -> int:
    """out += 1 on float32, in place: one slot."""

    def kernel(buffers, sizes, begin, end):
        out = carray(buffers[0], (end,), float32)
        for i in range(begin, end):
            out[i] = out[i] + float32(1)
        return 0

    return native(kernel)


@cache
def matmul_10() -> int:
    """int32[10, 10] products."""

    def kernel(buffers, sizes, begin, end):
        a = carray(buffers[0], (100,), int32)
        b = carray(buffers[1], (100,), int32)
        c = carray(buffers[2], (100,), int32)
        for i in range(begin, end):
            for j in range(10):
                c[i * 10 + j] = int32(0)
            for k in range(10):
                v = a[i * 10 + k]
                for j in range(10):
                    c[i * 10 + j] = int32(c[i * 10 + j] + v * b[k * 10 + j])
        return 0

    return native(kernel)


@cache
def check_positive() -> int:
    """out = a on float32; where a < 0 the status names check sizes[0] and the position."""

    def kernel(buffers, sizes, begin, end):
        a = carray(buffers[0], (end,), float32)
        out = carray(buffers[1], (end,), float32)
        for i in range(begin, end):
            if a[i] < float32(0):
                return ((sizes[0] + 1) << 48) | i
            out[i] = a[i]
        return 0

    return native(kernel)


@cache
def meet() -> int:
    """Set flag sizes[0] of int64 buffer 0 and wait, 20 s at most, for flag sizes[1]; out[0] is 1 if it came.

    Then sleep for sizes[2] microseconds.
    """

    def kernel(buffers, sizes, begin, end):
        flags = carray(buffers[0], (8,), int64)
        out = carray(buffers[1], (1,), float32)
        me, other = sizes[0], sizes[1]
        flags[me] = 1
        out[0] = float32(0)
        for _ in range(200_000):
            if flags[other] != 0:
                out[0] = float32(1)
                break
            usleep(100)
        if sizes[2] > 0:
            usleep(sizes[2])
        return 0

    return native(kernel)


@cache
def meet_by() -> int:
    """Like meet, with the two flags' numbers in int64 buffer 1."""

    def kernel(buffers, sizes, begin, end):
        flags = carray(buffers[0], (8,), int64)
        turn = carray(buffers[1], (8,), int64)
        out = carray(buffers[2], (1,), float32)
        flags[turn[0]] = 1
        out[0] = float32(0)
        for _ in range(200_000):
            if flags[turn[1]] != 0:
                out[0] = float32(1)
                break
            usleep(100)
        return 0

    return native(kernel)


@cache
def meet_in_shards() -> int:
    """Unit k of two sets flag k and waits for the other's."""

    def kernel(buffers, sizes, begin, end):
        flags = carray(buffers[0], (8,), int64)
        out = carray(buffers[1], (2,), float32)
        for me in range(begin, end):
            flags[me] = 1
            out[me] = float32(0)
            for _ in range(200_000):
                if flags[1 - me] != 0:
                    out[me] = float32(1)
                    break
                usleep(100)
        return 0

    return native(kernel)


@cache
def sleep() -> int:
    """Sleep for sizes[1] microseconds for each unit on the thread sizes[0], for sizes[2] on others."""

    def kernel(buffers, sizes, begin, end):
        for _ in range(begin, end):
            usleep(sizes[1] if pthread_self() == sizes[0] else sizes[2])
        return 0

    return native(kernel)


@cache
def mean() -> int:
    """out = (a + b) / 2 on float32."""

    def kernel(buffers, sizes, begin, end):
        a = carray(buffers[0], (end,), float32)
        b = carray(buffers[1], (end,), float32)
        out = carray(buffers[2], (end,), float32)
        for i in range(begin, end):
            out[i] = (a[i] + b[i]) * float32(0.5)
        return 0

    return native(kernel)


@cache
def less_than() -> int:
    """out (bool) = a[0] < b[0] on float32."""

    def kernel(buffers, sizes, begin, end):
        a = carray(buffers[0], (1,), float32)
        b = carray(buffers[1], (1,), float32)
        carray(buffers[2], (1,), numba.uint8)[0] = numba.uint8(1 if a[0] < b[0] else 0)
        return 0

    return native(kernel)


class Builder:
    """A PlanSpec made step by step; every step waits for the producers of what it reads."""

    def __init__(self, name: str = "test", parallel: bool = False, cost: float = 1000.0) -> None:
        self.spec = PlanSpec([], [], [], [], name=name, parallel=parallel, cost=cost)
        self.shape: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.producer: dict[int, int] = {}

    def slot(self, place: Place, shape: tuple[int, ...], dtype: str = "float32", **fields: Any) -> int:
        number = len(self.spec.slots)
        code = as_dtype(dtype)
        nbytes = int(np.prod(shape, dtype=np.int64)) * code.size
        if place == Place.ARENA and "offset" not in fields:
            fields["offset"] = self.spec.arenas.get(CPU, 0)
            self.spec.arenas[CPU] = fields["offset"] + (nbytes + 63) // 64 * 64
        self.spec.slots.append(Slot(place, nbytes, **fields))
        self.shape[number] = (code.code, tuple(shape))
        return number

    def operand(self, slot: int) -> Operand:
        code, shape = self.shape[slot]
        return Operand(slot, code, None if self.spec.slots[slot].dynamic else shape)

    def input(self, shape: tuple[int, ...], dtype: str = "float32") -> int:
        slot = self.slot(Place.INPUT, shape, dtype, index=len(self.spec.inputs))
        self.spec.inputs.append(self.operand(slot))
        return slot

    def cell(self) -> int:
        slot = self.slot(Place.CELL, (), index=len(self.spec.inputs))
        self.spec.inputs.append(Operand(slot, 20, None))
        return slot

    def arena(self, shape: tuple[int, ...], dtype: str = "float32") -> int:
        return self.slot(Place.ARENA, shape, dtype)

    def block(self, shape: tuple[int, ...], dtype: str = "float32") -> int:
        return self.slot(Place.BLOCK, shape, dtype)

    def given(self, shape: tuple[int, ...], dtype: str = "float32", dynamic: bool = False) -> int:
        return self.slot(Place.GIVEN, shape, dtype, dynamic=dynamic)

    def step(self, step: Any, reads: tuple[int, ...], writes: tuple[int, ...]) -> int:
        """Append a step; gives its index."""
        index = len(self.spec.steps)
        step.after = tuple(sorted({*step.after, *(self.producer[s] for s in reads if s in self.producer)}))
        made = [s for s in writes if self.spec.slots[s].place == Place.BLOCK and s not in self.producer]
        step.allocate = (*step.allocate, *made)
        for slot in writes:
            self.producer[slot] = index
        self.spec.steps.append(step)
        return index

    def kernel(self, address: int, reads: tuple[int, ...], writes: tuple[int, ...], **fields: Any) -> int:
        in_place = fields.pop("in_place", False)
        buffers = writes if in_place else (*reads, *writes)
        fields.setdefault("extent", int(np.prod(self.shape[writes[0]][1], dtype=np.int64)))
        fields.setdefault("operands", tuple(self.operand(s) for s in reads))
        return self.step(KernelCall(address=address, buffers=buffers, **fields), reads, writes)

    def output(self, slot: int) -> None:
        self.spec.outputs.append(self.operand(slot))

    def plan(self) -> Any:
        from fastgraph.runtime.executor import Plan

        return Plan(self.spec)
