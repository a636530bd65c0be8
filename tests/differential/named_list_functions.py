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


@case(0, 2, 5)
def assigned_longer(x):
    values = [x]
    for i in fg.range(x):
        values = values + [i * x]
    return fg.stack(values), len(values)


@case(0, 2, 5)
def assigned_before(x):
    values = [x]
    for i in fg.range(x):
        values = [i, *values]
    return fg.stack(values)


@case(0, 3, 6)
def assigned_under_if_and_reset(x):
    values = [0]
    for i in fg.range(x):
        if i % 2 == 0:
            values = values + [i]
        elif i == 3:
            values = [7]
    return fg.stack(values)


@case(1, 4)
def kept_to_the_last_three(x):
    values = [0]
    for i in fg.range(x):
        values.append(i)
        values = values[-3:]
    return fg.stack(values)


@case(0, 3)
def added_to_another_name(x):
    values = [1]
    other = values
    for i in fg.range(x):
        other.append(i)
    values.append(x)
    return fg.stack(other), len(values)


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


@case(0, 3, 5)
def a_list_of_lists_assigned(x):
    lists = [[x], [x, x]]
    for i in fg.range(x):
        lists = [lists[1] + [i], [*lists[0], x]]
    return fg.stack(lists[0]), fg.stack(lists[1])


@case(0, 3, 5)
def lists_of_a_dict_assigned(x):
    state = {"kept": [x], "n": 0}
    for i in fg.range(x):
        if i % 2 == 0:
            state = {"kept": state["kept"] + [i], "n": state["n"] + 1}
        else:
            state = {"kept": state["kept"][-1:], "n": state["n"]}
    return fg.stack(state["kept"]), state["n"]


@case(0, 2, 5)
def one_of_two_lengths(x):
    if x > 1:
        values = [x, x + 1, x + 2]
    else:
        values = [x]
    other = [x, 1] if x > 2 else [7]
    total = 0
    for each in values:
        total += each
    return total, len(values), values[-1], len(other), other[0]


@case(2, 5)
def taken_apart(x):
    values = []
    for i in fg.range(x):
        values.append(i * i)
    first, *rest = values
    *most, last = rest
    one, two = values[:2]
    return first, len(rest), last, sum(most), one, two


@case(1, 4)
def elements_set_where_the_list_is_assigned(x):
    values = [x, 0]
    for i in fg.range(x):
        values[0] = values[0] + i
        values = values + [i]
        values[-1] = values[-1] + values[0]
    return fg.stack(values)


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


@case(0, 2, 5)
def equal_after_the_loop(x):
    values, others = [1], [1]
    for i in fg.range(x):
        values.append(i)
        if i != 3:
            others.append(i)
    if values == others:
        result = x
    else:
        result = -x
    return result


@case(1, 4)
def sorted_reversed_doubled(x):
    values = [4]
    for i in fg.range(x):
        values.append((i * 7) % 5)
    total = 0
    for each in reversed(sorted(values * 2)):
        total = total * 3 + each
    values.sort(reverse=True)
    return total, fg.stack(values)


@case(1, 4)
def comprehended_of_a_grown_list(x):
    values = [4]
    for i in fg.range(x):
        values.append(i + x)
    return fg.stack([k * each for k, each in enumerate(values)]), sum(each * each for each in values)


@case(1, 4)
def counted_and_found(x):
    values = [4]
    for i in fg.range(x):
        values.append(i % 2)
    at = values.index(0)
    values.remove(0)
    return at, values.count(1), 4 in values, fg.stack(tuple(values))


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
def powers_assigned(x):
    values = [x]
    for _ in fg.range(3):
        values = values + [values[-1] * x]
    return fg.add_n(values)


@case(*VECTORS)
def rows_kept(x):
    kept = [fg.reduce_sum(x)]
    for row in x:
        if row > 0.2:
            kept = [*kept, row * row]
    return fg.reduce_sum(fg.sin(fg.stack(kept)))


@case(*VECTORS)
def sorted_by_square(x):
    values = []
    for row in x:
        values.append(row * row * row)
    values.sort(key=lambda each: each * each)
    return values[0] + 2.0 * values[1] * values[2]


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
def element_set_or_another_list_assigned(x):
    a, b = [x, 7, 9], [4, 5]
    c = a
    if x % 2 == 1:
        c[0], c[1] = c[1], c[0]
    else:
        c = b
        c[1] += x
    return fg.stack(a), fg.stack(b), fg.stack(c)


@case(1, 2, 5)
def element_of_an_attribute_set_or_another_list_assigned(x):
    a, b = [x, 7], [4, 5]
    holder = Stack()
    holder.items = a
    if x % 2 == 1:
        holder.items[0] = x * 10
    else:
        holder.items = b
    return fg.stack(a), fg.stack(b), fg.stack(holder.items)


@case(0, 1, 2, 5)
def appended_where_an_element_might_be_deleted(x):
    lists = [[], [7]]
    if x % 2 == 1:
        if len(lists[0]) > 1:
            del lists[0][0]
        lists[0].append(x)
    return len(lists[0]), lists[1]


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
