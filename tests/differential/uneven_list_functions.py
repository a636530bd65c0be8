"""Lists of tensors whose shapes differ, which a staged loop has appended to: read, joined, stacked, looped over."""

from __future__ import annotations

from differential_cases import VECTORS, case

import fastgraph as fg


@case(*VECTORS)
def joined_beginnings(x):
    x = fg.ensure_shape(x, [None])
    parts = [fg.zeros([0])]
    for i in fg.range(fg.size(x)):
        parts.append(x[:i] * x[i])
    return fg.concat(parts, 0), len(parts)


@case(*VECTORS)
def joined_parts_of_known_and_unknown_shapes(x):
    parts = [x]
    for i in fg.range(fg.size(x)):
        parts.append(x[i:])
        parts.append(x[:2])
    return fg.concat(parts, axis=0), parts[0], parts[-1], len(parts)


@case(*VECTORS)
def the_last_of_parts(x):
    x = fg.ensure_shape(x, [None])
    parts = []
    for i in fg.range(fg.size(x)):
        parts.append(x[: i + 1] * 2.0)
    return parts[-1], parts[0], parts[1] * parts[1]


@case(*VECTORS)
def parts_by_index_in_another_loop(x):
    x = fg.ensure_shape(x, [None])
    parts = [x]
    for i in fg.range(fg.size(x)):
        parts.append(x[:i])
    total = x[0]
    for i in fg.range(len(parts)):
        total = total * 0.5 + fg.reduce_sum(parts[i] * parts[i])
    return total


@case(*VECTORS)
def parts_looped_over_backward(x):
    parts = []
    for i in fg.range(fg.size(x)):
        parts.append(x[i:] * x[i])
    total = x[0]
    for part in reversed(parts):
        total = total * 0.5 + fg.reduce_sum(part)
    for k, part in enumerate(parts[1:]):
        total += fg.cast(k + 1, fg.float32) * fg.reduce_sum(part)
    return total, fg.concat(parts[::-1], 0)


@case(1, 3)
def joined_matrices(x):
    rows, columns = [], []
    for i in fg.range(x + 1):
        rows.append(fg.fill([i, 2], i + x))
        columns.append(fg.fill([2, i], i * x))
    return fg.concat(rows, 0), fg.concat(columns, 1), fg.concat(columns, -1)


@case(*VECTORS)
def chosen_numbers(x):
    parts = []
    i = 0
    while i < 3:
        parts.append(fg.boolean_mask(x, x > x[i]) * x[i])
        i += 1
    return fg.concat(parts, 0)


@case(*VECTORS)
def pairs_of_parts(x):
    x = fg.ensure_shape(x, [None])
    parts = []
    for i in fg.range(fg.size(x)):
        parts.append((x[:i], x[i]))
    total = x[0]
    for part, last in parts:
        total += fg.reduce_sum(part) * last
    return total, fg.stack([last for _, last in parts])


@case(*VECTORS)
def alike_after_all(x):
    x = fg.ensure_shape(x, [None])
    n = fg.size(x)
    parts = [x]
    for i in fg.range(n):
        parts.append(x[i - i :] * x[i])
    return fg.stack(parts), fg.stack(parts, axis=1), fg.concat(parts, 0), parts[1], len(parts)
