"""Lambdas, generators and classes that read a name after a condition or a loop has changed it."""

from __future__ import annotations

from differential_cases import case

import fastgraph as fg


@case(-3, 4)
def lambda_reads_what_a_branch_sets_later(x):
    y = 3
    scaled = lambda: x * y
    y = 5
    if x > 0:
        y = 7
    return scaled()


@case(-3, 4)
def lambda_by_another_name(x):
    y = 3
    scaled = lambda z: z * y
    other = scaled
    if x > 0:
        y = 7
    return other(x)


@case(0, 4)
def lambda_reads_what_a_staged_loop_sets(x):
    total = 1
    now = lambda: total * 10
    for i in fg.range(x):
        total = total + i
    return now()


@case(-3, 4)
def lambda_in_a_list_and_a_dict(x):
    y, z = 1, 2
    held = [lambda: y, {"z": lambda: z}]
    if x > 0:
        y = x
    else:
        z = x
    return held[0]() * 10 + held[1]["z"]()


@case(-3, 4)
def appended_lambda(x):
    y = 1
    held = []
    held.append(lambda: y)
    while y < x:
        y = y + 2
    return held[0]()


@case(-3, 4)
def lambdas_of_a_loop_share_its_names(x):
    held = []
    for i in range(3):
        k = i * 10
        held.append(lambda: x * k + i)
    return [each() for each in held]


@case(-3, 4)
def lambdas_of_a_while_loop_share_its_names(x):
    held, i = [], 0
    while i < 3:
        k = x if x > i else -x
        held.append(lambda: k)
        i += 1
    return [each() for each in held]


@case(-3, 4)
def lambdas_of_a_comprehension_share_its_name(x):
    held = [lambda y: y * i + x for i in range(3)]
    return [each(2) for each in held]


@case(-3, 4)
def lambdas_of_a_generator_share_its_name(x):
    held = tuple((lambda: x * k) for k in range(3))
    return [each() for each in held]


@case(-3, 4)
def body_of_a_while_loop_set_before_what_it_adds(x):
    step = 0
    body = lambda i, s: (i + 1, s + step)
    if x > 0:
        step = 5
    return fg.while_loop(lambda i, s: i < 3, body, (0, 0))[1]


@case(-3, 4)
def method_reads_what_a_branch_sets_later(x):
    k = 1

    class Scaled:
        def get(self):
            return x * k

    scaled = Scaled()
    if x > 0:
        k = 4
    return scaled.get()


@case(-3, 4)
def generator_reads_what_a_branch_sets_later(x):
    k = 1
    rest = (k for _ in range(2))
    if x > 0:
        k = 4
    return list(rest)


@case(0, 4)
def lambda_of_one_iteration_may_read_other_shapes(x):
    total = 0
    for i in fg.range(x):
        rows = fg.range(i + 1)
        summed = lambda scale: fg.reduce_sum(rows) * scale
        total = total + summed(i)
    return total
