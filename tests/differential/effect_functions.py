"""Expressions and tests that change something: what they change is what the path that ran has changed."""

from __future__ import annotations

from differential_cases import VECTORS, case

import fastgraph as fg


@case(0, 2, 5)
def counted_in_expressions(x):
    n = 0

    def count():
        nonlocal n
        n += 1
        return n

    a = count() if x > 1 else 0
    b = x > 3 and count() > 1
    c = x > 4 or count() > 0
    return n * 10 + a, b, c


@case(0, 2, 5)
def counted_in_the_test(x):
    n = 0

    def more():
        nonlocal n
        n += 2
        return n < x * 2

    total = 0
    while more():
        total += n
    return total * 100 + n


@case(*VECTORS)
def attribute_set_in_an_expression(x):
    class Sum:
        def __init__(self, value):
            self.value = value

        def add(self, v):
            self.value = self.value * 0.5 + v
            return self.value

    total = Sum(x[0])
    a = total.add(x[1]) if x[0] > 0.5 else x[2]
    b = total.add(a * x[0]) if a > 0.0 else total.value
    return total.value * a + b


@case(1, 4)
def nonlocal_in_nested_loops(x):
    n = 0

    def count():
        nonlocal n
        n += 1
        return n

    total = 0
    for i in fg.range(x):
        for _ in fg.range(i):
            total += count()
        if i > 2:
            count()
    return total * 100 + n


@case(0, 2, 5)
def nonlocal_structure_in_loop(x):
    best = (0, 0)

    def offer(v):
        nonlocal best
        if v * 3 % 5 > best[0]:
            best = (v * 3 % 5, v)

    for i in fg.range(x):
        offer(i)
    return best


@case(0, 2, 5)
def tables_of_an_object(x):
    class Histogram:
        def __init__(self):
            self.n = 0
            self.bins = fg.zeros([3], fg.int32)

        def add(self, k):
            self.bins = fg.tensor_scatter_nd_add(self.bins, [[k]], [1])
            self.n += 1

    histogram = Histogram()
    for i in fg.range(x):
        histogram.add(i % 3)
    return histogram.bins, histogram.n


@case(0, 2, 5)
def comprehension_in_a_loop_and_a_branch(x):
    values = fg.range(6)
    total = 0
    for i in fg.range(x):
        total += len([k for k in values if k > i])
    if x > 1:
        total += sum([k for k in values if k > x])
    return total


@case(0, 2, 5)
def walrus_before_and(x):
    y = 0
    if x > 1 and (y := x * 2) > 4:
        return y
    n = 0
    while (rest := x - n) > 0 and rest != 3:
        n += 1
    return y + 100 + rest * 10 + n


@case(-2, 1)
def index_of_a_negative_number(x):
    values, found = [1, 2, 3], x
    if x < 2:
        found = values[-x + 1 - 1] * 5
    return found
