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
