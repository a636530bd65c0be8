"""Objects, dicts and lists that staged statements change and a graph cannot hold: the results are as without them."""

from __future__ import annotations

from typing import Any

from differential_cases import VECTORS, case, made

import fastgraph as fg


class Layer:
    def __init__(self) -> None:
        self.last: Any = None
        self.calls = 0
        self.outputs: list[Any] = []

    def __call__(self, x):
        self.calls += 1
        self.last = x * 2.0
        self.outputs.append(self.last)
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
            total += layer.last + layer.outputs[-1]
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


@made(1.0)
def losses_that_are_cleared():
    class Model:
        def __init__(self):
            self.losses = []

        def __call__(self, x):
            self.losses.clear()
            self.losses.append(x * 0.5)
            return x * 2.0

    model = Model()

    def f(x):
        total = 0.0
        for _ in fg.range(3):
            x = model(x)
            total += fg.add_n(model.losses)
        return x + total

    return f


@made(1.0)
def history_in_a_dict():
    history = {}

    def note(key, value):
        history.setdefault(key, []).append(value)

    def f(x):
        for _ in fg.range(3):
            note("x", x)
            x = x * 2.0
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


@case(-1.0, 1.0)
def text_in_a_list(x):
    log = ["begin"]
    if x > 0.0:
        log.append("positive")
        x = x * 2.0
    for _ in fg.range(3):
        log.append("step")
        log.extend(["a", "b"])
        x = x + 1.0
    log.append("end")
    if log[0] == "begin":
        x = x + 100.0
    return x


@case(1.0)
def elements_of_several_kinds(x):
    log = []
    for i in fg.range(3):
        log.append(x)
        log.append(i)
        log.append(("x", x))
        log.append(None)
        x = x * 2.0
    return x


@case(*VECTORS)
def shapes_in_a_list(x):
    shapes = []
    for _ in fg.range(3):
        shapes.append(x.shape)
        if fg.reduce_sum(x) > 1.0:
            shapes.append("large")
        else:
            shapes.append("small")
        x = x * 1.5
    return x


@case(-1.0, 1.0)
def key_that_a_method_sets(x):
    d = {"a": x}
    if x > 0.0:
        d.update(b=x)
    for _ in fg.range(2):
        d.update(c=x)
        x = x + 1.0
    return d["a"] + x
