"""Lists that staged statements change by several names, in objects and dicts, or by assigning another list."""

from __future__ import annotations

import contextlib

from differential_cases import VECTORS, case

import fastgraph as fg


class Stack:
    """What lists are kept in."""

    def __init__(self):
        self.items = []

    def push(self, x):
        if x > 0:
            self.items.append(x)

    def top(self):
        return self.items[-1]


# ---- of integers


@case(0, 3, 5)
def in_an_object(x):
    stack = Stack()
    stack.items.append(x)
    for i in fg.range(x):
        stack.push(i)
    return stack.top(), fg.stack(stack.items)


@case(0, 3, 5)
def in_a_dict(x):
    table = {"even": [0], "odd": [0]}
    for i in fg.range(x):
        if i % 2 == 0:
            table["even"].append(i)
        else:
            table["odd"].append(i * 10)
    return fg.stack(table["even"]), sum(table["odd"])


@case(0, 3, 5)
def in_a_list_of_lists(x):
    lists = [[0], [x]]
    for i in fg.range(x):
        lists[0].append(i)
        lists[1].append(lists[0][-1] * 2)
    return fg.stack(lists[0]), fg.stack(lists[1])


@case(0, 3, 5)
def empty_lists_of_a_list(x):
    lists = [[], []]
    for i in fg.range(x):
        lists[0].append(i)
        lists[1].append(i * x)
    return len(lists[0]), fg.reduce_sum(fg.stack(lists[1]) if x > 0 else fg.zeros([1], fg.int32))


@case(0, 3, 5)
def lists_by_a_key_of_python(x):
    table = {"one": [], "two": []}
    more = [[] for _ in range(3)]
    for i in fg.range(x):
        for key in ("one", "two"):
            table[key].append(i)
        for k, each in enumerate(more):
            if k > 0:
                each.append(i * k)
    return [len(each) for each in more], len(table["two"]), sum(more[2]), sum(table["one"])


@case(0, 2, 5)
def changed_by_called_functions(x):
    values = [1]

    def grow(k):
        if k > 1:
            values.append(k)

    grow(x)
    for i in fg.range(x):
        grow(i)
    return fg.stack(values), len(values)


@case(1, 4)
def comprehended_of_a_grown_list(x):
    values = [4]
    for i in fg.range(x):
        values.append(i + x)
    return fg.stack([k * each for k, each in enumerate(values)]), sum(each * each for each in values)


@case(1, 4)
def set_where_an_exception_ends(x):
    y, z = x, 0
    with contextlib.suppress(ValueError):
        if x > 2:
            y = x * 2
        raise ValueError("stop")
    for i in fg.range(x):
        with contextlib.suppress(ValueError):
            z += i
            raise ValueError("stop")
    return y, z


# ---- of floats


@case(*VECTORS)
def stacked_in_an_object(x):
    stack = Stack()
    stack.items.append(fg.reduce_prod(x))
    for row in x:
        stack.push(row)
        stack.items.append(row * stack.top())
    return fg.reduce_sum(fg.stack(stack.items) ** 2)


@case(*VECTORS)
def concatenated_rows(x):
    parts = []
    for i in fg.range(3):
        if x[i] > 0.0:
            parts.append(x * x[i])
        else:
            parts.append(x)
    return fg.reduce_sum(fg.concat(parts, 0) ** 3) + fg.reduce_sum(fg.stack(parts, 1)[0] ** 2)


@case(*VECTORS)
def comprehension_of_products(x):
    values = []
    for row in x:
        values.append(row)
    return sum([a * b for a, b in zip(values, reversed(values), strict=True)]) + max(values)


@case(1, 2, 5)
def element_set_by_another_name_or_another_list_assigned(x):
    lists, b = [[x, 7, 9], [4, 5]], [6, 8]
    c = lists[0]
    if x % 2 == 1:
        c = b
        lists[1].reverse()
    else:
        c[0], c[1] = c[1], c[0]
        c.reverse()
    return fg.stack(lists[0]), fg.stack(lists[1]), fg.stack(b)
