"""Lists that tensors index or filter, comprehensions that choose, and what is taken apart."""

from __future__ import annotations

from differential_cases import VECTORS, case

import fastgraph as fg

# ---- indexed by tensors


def put(table, i, value):
    """A table, held in a tensor, with another value at i."""
    return fg.tensor_scatter_nd_update(table, [[i]], [value])


@case(0, 2, 5)
def table_read(x):
    table = [10, 20, 30, 40, 50, 60]
    total = 0
    for i in fg.range(x):
        total = total * 2 + table[i]
    return total


@case(0, 2, 5)
def table_written(x):
    table = fg.zeros([6], fg.int32)
    for i in fg.range(x):
        table = put(table, i, i * i + 1)
    return table


@case(3, 5)
def table_of_earlier_entries(x):
    table = fg.constant([1, 1, 0, 0, 0, 0])
    for i in fg.range(2, x):
        table = put(table, i, table[i - 1] + table[i - 2])
    return table[x - 1], table[-1]


@case(*VECTORS)
def table_of_floats_counted(x):
    sums = fg.zeros([3])
    for v in x:
        k = 0 if v < 0.2 else (1 if v < 1.0 else 2)
        sums = put(sums, k, sums[k] + v * v)
    return sums


@case(0, 3, 5)
def sieve(x):
    crossed = fg.constant([False] * 8)
    count = 0
    for n in fg.range(2, x + 3):
        if not crossed[n]:
            count += 1
            m = n * 2
            while m < 8:
                crossed = put(crossed, m, True)
                m += n
    return count, crossed


@case(1, 4)
def swapped_by_index(x):
    values = fg.constant([5, 3, 8, 1])
    for i in fg.range(x):
        for j in fg.range(3):
            if values[j] > values[j + 1]:
                low, high = values[j + 1], values[j]
                values = put(put(values, j, low), j + 1, high)
    return values


@case(*VECTORS)
def pairs_by_index(x):
    pairs = [(x[0], x), (x[1], x * x), (x[2], -x)]
    total = 0.0
    for i in fg.range(3):
        a, b = pairs[i]
        if a > 0.0:
            total += a * fg.reduce_sum(b)
    return total


@case(-1, -3, 2)
def index_from_the_end(x):
    values, found = [1, 2, 3], 0
    if x < 2:
        found = values[x] * 10
    return found


@case(1, 4)
def index_of_a_tuple_and_a_list_in_while(x):
    steps, seen = (1, 2, 0), fg.zeros([3], fg.int32)
    at = x % 3
    n = 0
    while seen[at] < 2:
        seen = put(seen, at, seen[at] + 1)
        at = steps[at]
        n += 1
    return n, seen


# ---- comprehensions that choose


@case(*VECTORS)
def comprehension_filtered(x):
    return sum([v * v for v in x if v > 0.5], x[0])


@case(*VECTORS)
def comprehension_filtered_twice(x):
    products = [a * b for a in x if a > 0.0 for b in x if b > a]
    return sum(products, x[0]) * fg.cast(len(products), fg.float32)


@case(*VECTORS)
def generator_filtered(x):
    largest = max(list(v for v in x if v > -5.0))
    return largest + sum(v * x[0] for v in x if v < 1.0)


@case(2, 5)
def comprehension_of_python_values(x):
    small = [k * x for k in range(6) if k % 2 == 0 if k < 4]
    return small if x > 3 else [x, x]


@case(2, 5)
def comprehension_of_comprehensions(x):
    rows = [[a + b for b in range(a) if b != 1] for a in (1, 2, 3) if a != 2]
    return rows[1][1] * x + rows[0][0] if x > 3 else x


@case(0, 3, 6)
def quicksort_step(x):
    values = [(i * 7) % 5 for i in range(6)]
    low = [v for v in values if v < x]
    high = [v for v in values if v >= x]
    return len(low) * 10 + len(high)


# ---- rows taken apart


@case(*VECTORS)
def rows_to_starred_targets(x):
    first, *others = x
    return first * others[1] if first > 0.0 else others[0] * others[1]


@case(*VECTORS)
def rows_to_names_and_arguments(x):
    a, b, c = x
    if a > b:
        a, b = fg.stack([b * c, a])
    return max(*x) * a + min(*fg.stack([b, c]))


@case(*VECTORS)
def starred_displays(x):
    values = [*x, *(x[:2] * 2.0)]
    return values[4] * values[2] if values[3] > 1.0 else values[0]


# ---- lists as a whole


@case(0, 3, 5)
def membership_of_a_changed_list(x):
    values = [x]
    while len(values) < 5:
        new = (values[-1] * 7 + 3) % 11
        if new in values:
            break
        values.append(new)
    return fg.stack(values), 3 in values, 9 not in values


@case(0, 2, 5)
def list_changed_by_a_called_function(x):
    def note(values, v):
        if v > 1:
            values.append(v)
        return len(values)

    values = [0]
    total = 0
    for i in fg.range(x):
        total += note(values, i)
    return total, fg.stack(values)


# ---- keys


@case(2, 5)
def key_deleted_by_both(x):
    d = {"a": x, "b": 1}
    if x > 3:
        del d["b"]
    else:
        d.pop("b")
    return d


@case(0, 2, 5)
def key_read_by_get(x):
    d = {"t": 1}
    for i in fg.range(x):
        d["t"] = d.get("t", 0) + i
        d.update(t=d["t"] * 2)
    return d["t"]
