"""Small functions of a vector of floats, by whose values tensors decide: their gradients are compared too."""

from __future__ import annotations

from differential_cases import VECTORS, case

import fastgraph as fg


@case(*VECTORS)
def branch(x):
    if fg.reduce_sum(x) > 1.0:
        y = x * x
    else:
        y = fg.sin(x)
    return fg.reduce_sum(y)


@case(*VECTORS)
def returned_from_branches(x):
    if x[0] > 1.0:
        return x[0] * x[1]
    if x[1] > 1.0:
        return x[1] / (1.0 + x[0] * x[0])
    return fg.exp(x[2])


@case(*VECTORS)
def one_branch_is_constant(x):
    y = fg.constant(3.0)
    if x[0] > 0.0:
        y = x[0] * x[2]
    return y + x[1]


@case(*VECTORS)
def choice(x):
    return fg.reduce_sum(x * 2.0 if x[0] > x[1] else x * x)


@case(*VECTORS)
def choices_nested(x):
    a = x[0] if x[0] > 0.5 else x[1] * x[1]
    return a * (x[2] if a > 0.0 else -x[2])


@case(*VECTORS)
def powers(x):
    y = x[0]
    while y < 20.0:
        y = y * y + 1.0
    return y * x[1]


@case(*VECTORS)
def two_carried(x):
    a, b = x[0], x[1]
    n = 0.0
    while n < 4.0:
        a, b = b, a * b
        n += 1.0
    return a + b


@case(*VECTORS)
def endless_until(x):
    y = x[0]
    while True:
        y = y * 1.5 + 1.0
        if y > 10.0:
            break
    return y * y


@case(*VECTORS)
def endless_return(x):
    y = x[0]
    while True:
        y = y + x[1] * x[1] + 1.0
        if y > 6.0:
            return y * x[0]


@case(*VECTORS)
def rows(x):
    total = 0.0
    for v in x:
        total += v * v * v
    return total


@case(*VECTORS)
def rows_and_branches(x):
    total = 1.0
    for v in x:
        if v > 0.0:
            total = total * (1.0 + v)
        else:
            total = total - v
    return total


@case(*VECTORS)
def rows_until(x):
    total = 0.0
    for v in x:
        total += v * v
        if total > 2.0:
            break
    return total * x[0]


@case(*VECTORS)
def rows_returned(x):
    for v in x:
        if v > 1.0:
            return v * v
    return fg.reduce_sum(x)


@case(*VECTORS)
def enumerated(x):
    total = 0.0
    for i, v in enumerate(x):
        total += fg.cast(i, fg.float32) * v * v
    return total


@case(*VECTORS)
def zipped(x):
    total = 0.0
    for a, b in zip(x, fg.reverse(x, [0])):
        total += a * b * b
    return total


@case(*VECTORS)
def mapped(x):
    total = 0.0
    for v in map(lambda v: v * v if v > 0.0 else v, x):
        total += v
    return total


@case(*VECTORS)
def filtered(x):
    total = 0.0
    for v in filter(lambda v: v > 0.0, x):
        total += v * v
    return total


@case(*VECTORS)
def reversed_rows(x):
    total = 0.0
    for v in reversed(x):
        total = total * x[0] + v
    return total


@case(*VECTORS)
def comprehension(x):
    return sum([v * v if v > 0.5 else v for v in x])


@case(*VECTORS)
def greatest(x):
    return max(x) * min(x)


@case(*VECTORS)
def greatest_of_three(x):
    return max(x[0], x[1], x[2]) * 2.0


@case(*VECTORS)
def ordered(x):
    first, second, _ = fg.unstack(sorted(x), 3)
    return first * second * second


@case(*VECTORS)
def none_first(x):
    product = None
    for v in x:
        product = v if product is None else product * v
    return product


@case(*VECTORS)
def last_row(x):
    for v in x:
        last = v * v
    return last


@case(*VECTORS)
def appended(x):
    values = []
    y = x[0]
    for _ in fg.range(3):
        values.append(y)
        y = y * x[1]
    return fg.reduce_sum(fg.stack(values) * x)


@case(*VECTORS)
def appended_while(x):
    values = [x[0]]
    y = x[0]
    while y < 5.0:
        y = y * 2.0 + 1.0
        values.append(y * x[1])
    return fg.reduce_sum(fg.stack(values))


@case(*VECTORS)
def python_loop_break(x):
    y = x[0]
    for k in (1.0, 2.0, 3.0):
        y = y * k + x[1]
        if y > 3.0:
            break
    return y


@case(*VECTORS)
def python_loop_return(x):
    for k in range(3):
        if x[k] > 1.0:
            return x[k] * x[0]
    return fg.reduce_sum(x)


@case(*VECTORS)
def loop_in_branch(x):
    y = x[0]
    if x[1] > 0.0:
        for v in x:
            y = y * v + 1.0
    else:
        while y > -5.0:
            y = y * 2.0 - 3.0
    return y


@case(*VECTORS)
def branch_in_nested_loops(x):
    total = 0.0
    for a in x:
        for b in x:
            if a > b:
                total += a * b
            elif a < b:
                total -= b
    return total


@case(*VECTORS)
def newton(x):
    root = fg.constant(1.0)
    target = 1.0 + x[0] * x[0]
    n = 0
    while n < 6:
        root = root - (root * root - target) / (2.0 * root)
        n += 1
    return root


@case(*VECTORS)
def list_elements_carried(x):
    values = [x[0], x[1]]

    def swap():
        values[0], values[1] = values[1], values[0] * values[1]

    for _ in fg.range(3):
        swap()
    return values[0]


@case(*VECTORS)
def dict_elements_carried(x):
    d = {"a": x[0], "b": x[1]}
    if x[2] > 0.0:
        d.update(a=d["b"] * d["a"])
    return d["a"]


@case(*VECTORS)
def nested_calls(x):
    def clipped(v, low):
        if v < low:
            return low * v
        return v * v

    total = 0.0
    for v in x:
        total += clipped(v, 0.5) + clipped(v * 2.0, 1.0)
    return total


@case(*VECTORS)
def gradient_inside(x):
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = x * x * x if x[0] > 0.0 else x * x
    return fg.reduce_sum(tape.gradient(y, x) * x)


@case(*VECTORS)
def logic(x):
    if (x[0] > 0.0 and x[1] > 0.0) or not x[2] > 0.0:
        return fg.reduce_sum(x * x)
    return fg.reduce_sum(x)
