"""Lists that have more than one name: in dicts, tuples and objects, and rows of lists that are stacked."""

from __future__ import annotations

from differential_cases import VECTORS, case

import fastgraph as fg


class Record:
    """What has attributes."""


# ---- other names of a list that a staged loop makes longer


@case(*VECTORS)
def read_by_its_key_after_the_loop(x):
    losses = []
    history = {"loss": losses, "start": x[0]}
    for v in x:
        if v > 0:
            losses.append(v * v)
    return fg.reduce_sum(fg.stack(history["loss"])), len(history["loss"]), history["start"]


@case(*VECTORS)
def read_by_get_and_values_after_the_loop(x):
    first, second = [x[0]], [x[1]]
    both = {"first": first, "second": second}
    for v in x:
        first.append(v)
        if v > 0.5:
            second.append(v * 2.0)
    total = x[2]
    for values, weight in zip(both.values(), (1.0, 3.0), strict=True):
        total += weight * fg.reduce_sum(fg.stack(values))
    return total, len(both.get("second"))


@case(*VECTORS)
def read_in_a_tuple_after_the_loop(x):
    values = []
    kept = (values, {"again": [values]})
    for v in x:
        values.append(v * 3.0)
    first, second = kept
    return fg.stack(kept[0]), fg.stack(first), fg.stack(second["again"][0])


@case(*VECTORS)
def read_by_an_attribute_after_the_loop(x):
    record = Record()
    values = [x[0]]
    record.values, record.parts = values, {"values": values}
    for v in x:
        if v > 0.5:
            values.append(v * v)
    return fg.stack(record.values), len(record.parts["values"])


@case(*VECTORS)
def filled_by_a_function_and_read_by_a_key(x):
    log = []
    logs = {"main": log}

    def add(value):
        log.append(value)

    for v in x:
        add(v * v)
    return fg.stack(logs["main"])


@case(*VECTORS)
def changed_by_its_key_after_the_loop(x):
    values = []
    table = {"values": values}
    for v in x:
        values.append(v)
    table["values"].append(x[0] * 2.0)
    table["values"][0] = x[1]
    return fg.stack(values), len(table["values"])


@case(0, 2, 3)
def read_by_its_key_in_a_second_loop(x):
    values = []
    table = {"values": values}
    for i in fg.range(x):
        values.append(i * i)
    total = x
    for i in fg.range(x):
        total += table["values"][i] * (i + 1)
    for value in table["values"]:
        total = total * 2 + value
    return total


# ---- rows of lists


@case(*VECTORS)
def stacked_rows_of_lists(x):
    rows = [[x[0], x[1], 1.0]]
    for v in x:
        rows.append([v, v * v, 2.0])
    return fg.stack(rows), fg.convert_to_tensor(rows), len(rows)


@case(*VECTORS)
def stacked_rows_of_rows(x):
    rows = []
    for v in x:
        row = []
        for k in range(2):
            row.append((v * k, x[k]))
        rows.append(row)
    return fg.stack(rows)


@case(1, 3)
def multiples_with_a_tensor_among_them(x):
    values = [fg.tile([[x, 2]], [x, 1])]
    for _ in fg.range(x):
        values.append(fg.tile([[x, 3]], [x, 1]))
    return fg.concat(values, 0)


# ---- a list of several, of which a tensor decides


def either(one, two, condition):
    """Return one of two lists."""
    if condition:
        return one
    return two


def made_by_condition(x):
    """Return a list of as many elements as a tensor decides."""
    if x[0] > x[1]:
        return [x[0], x[1] * 2.0]
    return [x[2]]


@case(*VECTORS)
def appended_to_the_one_it_is(x):
    positive, others = [x[0]], [x[1], x[2]]
    for v in x:
        (positive if v > 0 else others).append(v * v)
    return fg.stack(positive), fg.stack(others)


@case(*VECTORS)
def named_and_appended_to(x):
    one, two = [x[0]], [x[1]]
    chosen = one if x[0] > 0.5 else two
    chosen.append(x[2] * x[0])
    chosen.insert(0, x[1])
    two.append(x[1])
    return fg.stack(chosen), fg.stack(one), fg.stack(two), len(chosen)


@case(*VECTORS)
def returned_and_popped_from(x):
    table = {"one": [x[0], x[1]], "two": [x[2]]}
    chosen = either(table["one"], table["two"], x[0] > 0.5)
    last = chosen.pop()
    chosen.append(x[0] * last)
    chosen[0] = chosen[0] * 2.0
    return last, fg.stack(table["one"]), fg.stack(table["two"])


@case(*VECTORS)
def made_in_a_callee_and_appended_to(x):
    values = made_by_condition(x)
    values.append(x[1] * x[2])
    return fg.stack(values), len(values)


@case(*VECTORS)
def chosen_in_a_branch_and_extended_in_another(x):
    one, two = [x[0]], [x[1], x[1]]
    chosen = two
    if x[0] > 0.5:
        chosen = one
    if x[1] > 0.0:
        chosen.extend([x[2], x[2] * 2.0])
    return fg.stack(one), fg.stack(two)


@case(*VECTORS)
def by_a_key_that_a_tensor_decides(x):
    found = {"low": [], "high": []}
    for v in x:
        key = found["low"] if v < 0.5 else found["high"]
        key.append(v)
    total = x[0]
    for v in found["low"]:
        total += v * v
    return total, len(found["low"]), len(found["high"])
