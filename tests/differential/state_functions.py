"""What branches and loops change: containers, records, objects, Variables, TensorArrays, composite tensors, None."""

from __future__ import annotations

import collections
import copy
import dataclasses
from typing import Any, NamedTuple

import attrs
from differential_cases import VECTORS, case, made

import fastgraph as fg

# ---- Python's containers


@case(2, 5)
def dict_of_lists(x):
    d = {"a": [x, 1], "b": [2]}
    if x > 3:
        d["a"][0] = d["b"][0]
        d["b"] = [x]
    return d


@case(0, 3)
def dict_in_staged_loop(x):
    d = {"even": 0, "odd": 0}
    for i in fg.range(x + 2):
        if i % 2 == 0:
            d["even"] += i
        else:
            d["odd"] += i * i
    return d


@case(2, 5)
def key_in_both_branches(x):
    d = {}
    if x > 3:
        d["k"] = x
        d["m"] = 1
    else:
        d["m"] = x * 2
        d["k"] = 0
    return d["k"] * 10 + d["m"]


@case(2, 5)
def key_of_python_in_staged_loop(x):
    counts = dict.fromkeys(("a", "b"), 0)
    for i in fg.range(x):
        for key in counts:
            counts[key] = counts[key] + i + len(key)
    return counts["a"] + counts["b"] * 10


@case(2, 5)
def default_dict(x):
    d = collections.defaultdict(int)
    for k in ("a", "b", "a"):
        if x > 3:
            d[k] += x
        else:
            d[k] -= 1
    return d["a"] * 10 + d["b"]


@case(2, 5)
def tuple_rebuilt_in_loop(x):
    state = (x, (0, 1))
    for i in fg.range(3):
        n, (a, b) = state
        state = (n + i, (b, a + b)) if n > 3 else (n + 2, (a, b))
    return state


@case(2, 5)
def list_of_lists_written(x):
    grid = [[0, 1], [2, 3]]
    for i in range(2):
        for j in range(2):
            if grid[i][j] * x > 4:
                grid[i][j] = grid[1 - i][j] + x
    return grid


@case(2, 5)
def slices_assigned(x):
    values = [1, 2, 3]
    if x > 3:
        values[:2] = [x, x + 1]
    else:
        values[1:] = [values[0], x]
    return values


@case(2, 5)
def list_methods_in_branches(x):
    values = [x, 3, 1]
    if x > 3:
        values.reverse()
        values.insert(1, 7)
    else:
        values.append(x)
        values[0], values[1] = values[1], values[0]
    return values


@case(2, 5)
def popped_in_both(x):
    values = [x, 3, 1]
    if x > 3:
        y = values.pop()
    else:
        y = values.pop(0)
    return values, y


@case(2, 5)
def list_copied_before(x):
    values = [x, 1]
    old = list(values)
    if x > 3:
        values[0] = 9
    return values[0] * 10 + old[0]


@case(2, 5)
def aliases_of_a_list(x):
    a = [x, 1]
    b = a
    if x > 3:
        b[0] = 100
    for _ in fg.range(2):
        b[1] = b[1] + b[0]
    return a


@case(0, 2)
def set_of_python(x):
    seen = set()
    for k in (1, 2, 1, 3):
        if k in seen:
            x += 10
        seen.add(k)
    return x if x > 11 else x * len(seen)


@case(2, 5)
def deque_of_python(x):
    queue = collections.deque([(x, 0)])
    total = 0
    while queue:
        v, depth = queue.popleft()
        total += v if v > 3 else 1
        if depth < 2:
            queue.append((v + 1, depth + 1))
            queue.append((v * 2, depth + 1))
    return total


# ---- records


class Stats(NamedTuple):
    total: Any
    count: Any = 0


@case(0, 4)
def namedtuple_in_loop(x):
    stats = Stats(x)
    for i in fg.range(x):
        stats = stats._replace(total=stats.total + i, count=stats.count + 1)
    return stats


@case(2, 5)
def namedtuple_in_branches(x):
    stats = Stats(x, 1)
    if x > 3:
        stats = Stats(count=x, total=0)
    return stats.total * 10 + stats.count


@dataclasses.dataclass
class Particle:
    at: Any
    speed: Any = 1

    def moved(self, by=1):
        return dataclasses.replace(self, at=self.at + self.speed * by)

    def bounce(self):
        if self.at > 5:
            self.speed = -self.speed


@case(2, 6)
def dataclass_changed(x):
    p = Particle(x)
    p.bounce()
    if x > 3:
        p.at = p.at * 2
    return p.moved(3).at + p.speed * 100


@case(0, 3)
def dataclass_in_loop(x):
    p = Particle(4)
    for i in fg.range(x):
        p.at += p.speed * (i + 1)
        p.bounce()
    return p.at * 10 + p.speed


@attrs.define
class Span:
    low: Any
    high: Any = attrs.field(default=0)

    def widened(self, v):
        if v > self.high:
            return attrs.evolve(self, high=v)
        return attrs.evolve(self, low=v)


@case(2, 8)
def attrs_of_branches(x):
    span = Span(1, 4).widened(x)
    if x > 3:
        span = Span(span.high, span.low)
    return span.low * 100 + span.high


@case(0, 5)
def attrs_in_loop(x):
    span = Span(0, 2)
    for i in fg.range(x):
        span = span.widened(i)
    return span.low * 100 + span.high


class Node:
    def __init__(self, value, next_=None):
        self.value = value
        self.next = next_


@case(2, 5)
def linked_list_walked(x):
    node = Node(x, Node(1, Node(x * 2)))
    total = 0
    while node is not None:
        if node.value > 3:
            node.value = node.value - 1
            total += node.value
        node = node.next
    return total


@case(2, 5)
def nested_attributes_in_loop(x):
    node = Node(x, Node(1))
    for _ in fg.range(2):
        node.next.value += node.value
        node.value = node.next.value - 1
    return node.value * 100 + node.next.value


@case(2, 5)
def object_copied_in_branch(x):
    node = Node(x)
    other = copy.copy(node)
    if x > 3:
        other.value = 9
    return node.value * 10 + other.value


# ---- None and undefined


@case(1, 4)
def none_before_nested_loops(x):
    best = None
    for i in fg.range(x):
        for j in fg.range(2):
            score = (i * 7 + j * 3) % 5
            if best is None or score > best[0]:
                best = (score, i)
    return best


@case(*VECTORS)
def none_as_default(x):
    def scaled(v, by=None):
        if by is None:
            by = v[0] if v[0] > 0.0 else 2.0
        return v * by

    return scaled(x) + scaled(x, x[1])


@case(1, 5)
def optional_in_structure(x):
    state = {"n": x, "cache": None}
    if x > 3:
        state["n"] = x + 1
    return state["n"] if state["cache"] is None else 0


@case(1, 5)
def defined_by_both_paths_later(x):
    if x > 3:
        y = x
    else:
        z = x * 2
        y = z + 1
    while y < 8:
        z = y
        y += z
    return y


# ---- Variables


@made(1, 4, -2)
def variable_counts():
    v = fg.Variable(1)

    def run(x):
        if x > 0:
            v.assign_add(x)
        else:
            v.assign(v * 3)
        return v + 0

    return run


@made(0, 3, 1)
def variable_in_loop():
    v = fg.Variable([1, 2])

    def run(x):
        for i in fg.range(x):
            if v[0] < 20:
                v.assign_add([i, 1])
            else:
                break
        return v * 1

    return run


@made(0, 6)
def variable_decides():
    limit = fg.Variable(3)

    def run(x):
        total = 0
        while limit < x:
            total += limit
            limit.assign_add(1)
        return total + (limit if limit > 4 else 100)

    return run


@made(*VECTORS)
def variable_in_a_product():
    w = fg.Variable([1.0, 0.5, -1.0])

    def run(x):
        total = fg.constant(0.0)
        for i in fg.range(3):
            if w[i] > 0.0:
                total += w[i] * x[i] * x[i]
            else:
                total -= fg.reduce_sum(w * x)
        w.assign(w * 1.25)
        return total

    return run


@made(2, 5)
def variables_of_a_list():
    values = [fg.Variable(k) for k in range(3)]

    def run(x):
        for v in values:
            if v < x:
                v.assign_add(x)
        return sum([v * 1 for v in values])

    return run


@made(2, 5)
def element_of_a_variable():
    v = fg.Variable([1, 2, 3])

    def run(x):
        for i in fg.range(2):
            v[i].assign(v[i + 1] + x)
        return v + 0 if x > 3 else v * 2

    return run


@made(2, 5)
def variable_chosen():
    a, b = fg.Variable(1), fg.Variable(10)

    def run(x):
        chosen = a if x > 3 else b
        return chosen + x

    return run


# ---- TensorArrays


@case(1, 4)
def array_written(x):
    array = fg.TensorArray(fg.int32, size=0, dynamic_size=True)
    for i in fg.range(x):
        if i % 2 == 0:
            array = array.write(i, i * i)
        else:
            array = array.write(i, -x)
    return array.stack()


@case(*VECTORS)
def array_reads_what_it_wrote(x):
    array = fg.TensorArray(fg.float32, size=5, clear_after_read=False)
    array = array.write(0, x[0]).write(1, x[1])
    for i in fg.range(2, 5):
        array = array.write(i, array.read(i - 1) * array.read(i - 2) + x[2])
    return array.stack()


@case(*VECTORS)
def array_in_branches(x):
    array = fg.TensorArray(fg.float32, size=2, element_shape=[3])
    if x[0] > 0.0:
        array = array.write(0, x).write(1, x * x)
    else:
        array = array.write(1, x).write(0, -x)
    return array.concat()


@case(*VECTORS)
def array_unstacked_and_gathered(x):
    array = fg.TensorArray(fg.float32, size=3).unstack(x)
    total = fg.constant(0.0)
    for i in fg.range(array.size()):
        total = total * x[0] + array.read(i)
    return total


@case((3, [1.0, 2.0]), (0, [0.5, 0.5]))
def two_arrays(n, x):
    a = fg.TensorArray(fg.float32, size=n, element_shape=[2])
    b = fg.TensorArray(fg.float32, size=n, element_shape=[])
    for i in fg.range(n):
        a = a.write(i, x * fg.cast(i, fg.float32))
        b = b.write(i, fg.reduce_sum(x * x))
    return a.stack(), b.stack()


# ---- ragged and sparse


@case(1, 4)
def ragged_rows(x):
    ragged = fg.RaggedTensor.from_row_lengths(fg.range(6) * x, [2, 0, 3, 1])
    if x > 3:
        ragged = ragged + 1
    return fg.reduce_sum(ragged, 1)


@case(0, 3)
def ragged_in_loop(x):
    ragged = fg.RaggedTensor.from_row_lengths([1, 2, 3], [1, 2])
    for i in fg.range(x):
        ragged = ragged * 2 + i
    return ragged


@case(*VECTORS)
def sparse_in_branches(x):
    sparse = fg.SparseTensor([[0, 1], [1, 0], [2, 2]], x, [3, 3])
    if x[0] > 0.0:
        sparse = fg.SparseTensor(sparse.indices, sparse.values * x[1], sparse.dense_shape)
    return fg.sparse.to_dense(sparse)


@case(*VECTORS)
def indexed_slices_of_a_gather(x):
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = fg.gather(x, [0, 2, 0]) if x[0] > 0.0 else x * x
        z = fg.reduce_sum(y * y)
    return fg.convert_to_tensor(tape.gradient(z, x))


# ---- dtypes and shapes


@case(*((fg.constant(v, fg.float64),) for v in (0.5, 3.0)))
def doubles(x):
    total = x
    while total < 10.0:
        total = total * total + 1.5 if total > 1.0 else total * 3.0
    return total


@case(*((fg.constant(v, fg.complex64),) for v in (0.5 + 1.0j, -2.0 + 0.1j)))
def complex_numbers(x):
    z = x * 0.0
    n = 0
    while fg.abs(z) < 2.0 and n < 4:
        z = z * z + x
        n += 1
    return z


@case(*((fg.constant(v, fg.int64),) for v in (3, 2**40)))
def long_integers(x):
    bits = 0
    while x > 0:
        x = x // 2
        bits += 1
    return bits


@case(*((fg.constant(v, fg.uint8),) for v in (200, 7)))
def bytes_wrap(x):
    for _ in fg.range(3):
        x = x + 60 if x > 100 else x * 2
    return x


@case(True, False)
def booleans(x):
    y = x
    for i in fg.range(3):
        y = not y if x or i > 1 else y
    return (y and x, y or x, y != x)


@case("ab", "", "tensor")
def strings(x):
    n = fg.strings.length(x)
    text = x
    while n < 5:
        text = text + "-" + x
        n += 3
    if fg.strings.length(text) > 6:
        text = fg.strings.upper(text)
    return text


@case(0, 3)
def grown_with_options(x):
    rows = fg.zeros([1, 2])
    for i in fg.range(x):
        fg.autograph.experimental.set_loop_options(shape_invariants=[(rows, fg.TensorShape([None, 2]))])
        rows = fg.concat([rows, fg.cast([[i, x]], fg.float32)], 0)
    return rows


@case(*VECTORS)
def grown_then_reduced(x):
    rows = x
    n = 0
    while n < 2:
        fg.autograph.experimental.set_loop_options(shape_invariants=[(rows, fg.TensorShape([None]))])
        rows = fg.concat([rows, rows[:1] * rows[1:2]], 0)
        n += 1
    return fg.reduce_sum(rows * rows)


@case(*([[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [0.0, 2.0]]))
def matrix_power(m):
    result = fg.eye(2)
    for _ in fg.range(3):
        result = result @ m
        if fg.linalg.trace(result) > 4.0:
            result = result / fg.norm(result)
    return result


@case(*([[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [0.1, 2.0]]))
def rows_within_rows(m):
    total = fg.constant(0.0)
    for row in m:
        least = row[0]
        for v in row:
            if v < least:
                least = v
        total += least * least * fg.reduce_sum(row)
    return total


@case(0, 3)
def scalars_to_vectors_in_branches(x):
    if x > 1:
        y = fg.range(x)
    else:
        y = fg.zeros([4], fg.int32)
    return fg.reduce_sum(y) + fg.size(y)
