"""Lists that staged loops and branches make longer or shorter, and read meanwhile."""

from __future__ import annotations

from differential_cases import VECTORS, case

import fastgraph as fg

# ---- appended


@case(0, 3, 6)
def appended_under_if(x):
    values = [7]
    for i in fg.range(x):
        if i % 2 == 1:
            values.append(i * x)
    return fg.stack(values)


@case(0, 3, 6)
def appended_in_either_branch(x):
    values = [0]
    for i in fg.range(x):
        if i > 2:
            values.append(i)
        else:
            values.append(-x)
    return fg.stack(values)


@case(0, 3, 6)
def appended_more_in_one_branch(x):
    values = [x]
    for i in fg.range(x):
        if i % 3 == 0:
            values.append(i)
            values.append(i + 1)
        elif i % 3 == 1:
            values.append(100)
    return fg.stack(values), len(values)


@case(0, 2, 5)
def appended_before_continue_and_break(x):
    values = [0]
    for i in fg.range(10):
        if i > x:
            break
        if i == 1:
            continue
        values.append(i)
    return fg.stack(values)


@case(0, 2, 4)
def appended_in_nested_loops(x):
    values = [1]
    for i in fg.range(x):
        for j in fg.range(i):
            values.append(i * 10 + j)
    return fg.stack(values)


@case(0, 2, 4)
def appended_in_nested_loops_under_if(x):
    values = [1]
    for i in fg.range(x):
        values.append(-i)
        for j in fg.range(i):
            if j % 2 == 0:
                values.append(i * 10 + j)
    return fg.stack(values)


@case(0, 2, 5)
def extended_in_loop(x):
    values = [5]
    for i in fg.range(x):
        values.extend([i, i * i])
    return fg.stack(values)


@case(0, 2, 5)
def added_in_place(x):
    values = [5]
    for i in fg.range(x):
        values += [i]
        if i > 1:
            values += [x, i]
    return fg.stack(values)


@case(0, 2, 5)
def appended_to_two(x):
    small, large = [0], [0]
    for i in fg.range(x):
        if i < 3:
            small.append(i)
        else:
            large.append(i)
    return fg.stack(small), fg.stack(large)


@case(*VECTORS)
def appended_pairs_under_if(x):
    pairs = [(x[0], x)]
    for v in x:
        if v > 0.0:
            pairs.append((v * v, x * v))
    total = 0.0
    for a, b in pairs:
        total += a * fg.reduce_sum(b)
    return total


@case(1, 4)
def appended_in_loops_one_after_the_other(x):
    values = []
    for i in fg.range(x):
        values.append(i)
    for i in fg.range(2):
        values.append(i * 100)
    values.append(7)
    return fg.stack(values)


@case(2, 5)
def appended_by_a_function(x):
    values = [0]

    def note(v):
        if v > 2:
            values.append(v)

    for i in fg.range(x):
        note(i)
    return fg.stack(values)


@case(1, 4)
def appended_vectors(x):
    rows = []
    for i in fg.range(x):
        rows.append(fg.stack([i, i * 2]))
    return fg.concat([fg.reshape(fg.stack(rows), [-1]), [x]], 0)


# ---- read while it is appended to


@case(0, 3, 6)
def fibonacci_by_list(x):
    values = [1, 1]
    for _ in fg.range(x):
        values.append(values[-1] + values[-2])
    return fg.stack(values)


@case(1, 3, 6)
def length_while_appended(x):
    values = [x]
    while len(values) < 5:
        values.append(x + len(values))
    return fg.stack(values)


@case(0, 3, 6)
def element_read_by_index(x):
    values = [3]
    for i in fg.range(x):
        values.append(values[i] * 2 - i)
    return values[-1] * 10 + len(values)


@case(*VECTORS)
def last_decides(x):
    values = [x[0]]
    for v in x:
        if values[-1] < v:
            values.append(v * values[-1])
    return fg.reduce_sum(fg.stack(values)) * values[-1]


@case(0, 2, 4)
def stacked_in_the_loop(x):
    values = [1]
    for i in fg.range(x):
        values.append(fg.reduce_sum(fg.stack(values)) + i)
    return fg.stack(values)


@case(1, 3)
def iterated_while_appended(x):
    values = [x]
    for i in fg.range(3):
        total = 0
        for v in values:
            total += v
        values.append(total + i)
    return fg.stack(values)


@case(0, 2, 4)
def truth_of_a_list(x):
    values = []
    for i in fg.range(x):
        if not values:
            values.append(10)
        else:
            values.append(i)
    return fg.reduce_sum(fg.stack(values)) if x > 0 else x


# ---- made shorter


@case(0, 2)
def popped_first(x):
    queue = [1, 2, 3]
    total = 0
    for i in fg.range(x):
        total = total * 10 + queue.pop(0)
        queue.append(i + 5)
    return total, fg.stack(queue)


# ---- in branches


@case(2, 5)
def appended_in_one_branch(x):
    values = [x]
    if x > 3:
        values.append(x * 2)
    return fg.stack(values), len(values)


@case(2, 5)
def returned_from_one_branch_after_append(x):
    values = [x]
    if x > 3:
        values.append(1)
        return fg.reduce_sum(fg.stack(values))
    return values[0]


@case(0, 2, 4)
def appended_in_python_loop(x):
    values = [0]
    for k in range(3):
        if k < x:
            values.append(x + k)
    return fg.stack(values)


@case(1, 4)
def sorted_after_the_loop(x):
    values = [4]
    for i in fg.range(x):
        values.append((i * 7) % 5)
    return fg.sort(fg.stack(values)), max(values), sum(values)


# ---- of shapes that only the graph knows


@case(1, 3)
def multiples_with_a_tensor_among_them(x):
    values = [fg.tile([[x, 2]], [x, 1])]
    for _ in fg.range(x):
        values.append(fg.tile([[x, 3]], [x, 1]))
    return fg.concat(values, 0)


@case(*VECTORS)
def alike_after_all(x):
    x = fg.ensure_shape(x, [None])
    n = fg.size(x)
    parts = [x]
    for i in fg.range(n):
        parts.append(x[i - i :] * x[i])
    return fg.stack(parts), fg.stack(parts, axis=1), fg.concat(parts, 0), parts[1], len(parts)


@case(*VECTORS)
def chosen_numbers(x):
    parts = []
    i = 0
    while i < 3:
        parts.append(fg.boolean_mask(x, x > x[i]) * x[i])
        i += 1
    return fg.concat(parts, 0)
