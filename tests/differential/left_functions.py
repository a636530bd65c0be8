"""Attributes that staged statements set and a graph cannot hold: the results are as without them."""

from __future__ import annotations

from typing import Any

from differential_cases import case, made

import fastgraph as fg


class Layer:
    def __init__(self) -> None:
        self.last: Any = None
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        self.last = x * 2.0
        return self.last


class Lazy:
    def __init__(self) -> None:
        self.kernel = None

    def __call__(self, x):
        if self.kernel is None:
            self.kernel = fg.ones([]) * 3.0
        return x * self.kernel


def looped(layer):
    def f(x):
        for _ in fg.range(3):
            x = layer(x)
        return x

    return f


@made(1.0, [1.0, 2.0])
def kept_by_a_method_in_a_loop():
    return looped(Layer())


@made(1.0)
def built_in_a_loop():
    lazy = Lazy()

    def f(x):
        while x < 20.0:
            x = lazy(x)
        return x

    return f


@made(-1.0, 1.0, 6.0)
def kept_in_branches():
    layer = Layer()

    def f(x):
        if x > 5.0:
            x = layer(x)
        elif x > 0.0:
            x = x + 1.0
        else:
            x = layer(layer(x))
        return x

    return f


@made(0.1, 1.0)
def kept_in_nested_statements():
    layer = Layer()

    def f(x):
        for _ in fg.range(2):
            for _ in fg.range(2):
                x = layer(x)
            if x > 3.0:
                x = layer(x)
            else:
                while x < 1.0:
                    x = layer(x) + 2.0
        return x

    return f


@made(1.0, 2.0)
def kept_and_read_in_the_same_iteration():
    layer = Layer()

    def f(x):
        total = 0.0
        for i in fg.range(5):
            if i == 1:
                continue
            x = layer(x)
            total += layer.last * 2.0
            if total > 20.0:
                break
        return x, total

    return f


@made(1.0, -1.0)
def kept_before_a_return():
    layer = Layer()

    def f(x):
        if x > 0.0:
            return layer(x)
        return x

    return f


@made(2.0)
def kept_by_nonlocal():
    last = None

    def step(x):
        nonlocal last
        last = x * 2.0
        return last

    return looped(step)


@case(-1.0, 1.0)
def attributes_of_an_object_of_the_function(x):
    layer = Layer()
    if x > 0.0:
        x = layer(x)
    for _ in fg.range(3):
        x = layer(x)
    return x


@case(1.0, -2.0)
def two_attributes_of_three(x):
    class Sums:
        def __init__(self):
            self.a = 0.0
            self.b = 0.0
            self.c = 5

        def add(self, x):
            if x > 2.0:
                self.b = self.b + x
            self.a = self.a + x

    sums = Sums()
    for _ in fg.range(3):
        sums.add(x)
        x = x * 2.0
    return x, sums.a, sums.b, sums.c
