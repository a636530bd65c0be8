"""What is looped over: enumerate, zip, map and their like, comprehensions, generators, datasets, strings."""

from __future__ import annotations

import itertools

from differential_cases import VECTORS, case, made

import fastgraph as fg

# ---- builtins over tensors


@case(*VECTORS)
def enumerated_from(x):
    total = x[0]
    for i, v in enumerate(x, start=2):
        if i > 2:
            total = total * v + fg.cast(i, fg.float32)
    return total


@case(*VECTORS)
def zip_of_three(x):
    total = 0.0
    for a, b, i in zip(x, x[1:], range(5)):
        total += a * b * fg.cast(i + 1, fg.float32)
    return total


@case(*VECTORS)
def enumerate_of_zip(x):
    total = 0.0
    for i, (a, b) in enumerate(zip(x, fg.sin(x))):
        if i == 1:
            continue
        total += a * b
    return total


@case(*VECTORS)
def zip_of_enumerates(x):
    total = 1.0
    for (i, a), (j, b) in zip(enumerate(x), enumerate(reversed(x))):
        if i < j:
            total *= a + b
    return total


@case(*VECTORS)
def map_of_two(x):
    total = 0.0
    for v in map(lambda a, b: a * b if a > b else b, x, fg.reverse(x, [0])):
        total += v
    return total


@case(*VECTORS)
def filter_of_map(x):
    total = 0.0
    for v in filter(lambda v: v > 0.3, map(lambda v: v * v, x)):
        total += v
        if total > 3.0:
            break
    return total


@case(*VECTORS)
def filter_with_else(x):
    for v in filter(lambda v: v > 1.0, x):
        if v > 1.3:
            r = v * v
            break
    else:
        r = x[0] * 3.0
    return r


@case(*VECTORS)
def reversed_range(x):
    total = x[0]
    for i in reversed(range(3)):
        total = total * x[i] + i if total > 0.5 else total - x[i]
    return total


@case(*VECTORS)
def any_and_all(x):
    if any(x > 1.4):
        return x * x
    if all(x < 1.0):
        return -x * x * x
    return x + x[0]


@case(*VECTORS)
def any_of_a_generator(x):
    if any(v > 1.6 for v in x) and not all(v > 0.0 for v in (x[0], x[1])):
        return x[0] * x[1]
    return x[2] * x[2]


@case(*VECTORS)
def least_by_key(x):
    nearest = min(x[0], x[1], x[2], key=lambda v: fg.abs(v - 0.5))
    farthest = max([x[0] * x[1], x[1] * x[2]], key=lambda v: v * v)
    return nearest * nearest + farthest


@case(*VECTORS)
def sorted_by_key(x):
    rows = fg.stack([x, x * x], 1)
    ordered = sorted(rows, key=lambda row: -row[0])
    return fg.reduce_sum(fg.convert_to_tensor(ordered) * [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@case(*VECTORS)
def rounded_and_absolute(x):
    y = abs(x) * 4.0
    if round(y[0]) > 2.0:
        y = y - round(y)
    return y


@case(1, 4, 6)
def range_of_three_tensors(x):
    total = 0
    for i in range(x, x * 4, x):
        for j in range(i, 0, -x):
            total += i * j
    return total


@case(-2, -1, 2, 4)
def range_whose_limit_is_behind_it(x):
    total = 0
    for i in range(3, 0, x):
        total = total * 10 + i
    for i in range(fg.constant(5), fg.constant(1, fg.int64), x):  # of the wider dtype
        total = total * 10 + fg.cast(i, fg.int32)
    return total


@case(0, 3, 5)
def sum_with_a_start(x):
    return sum(fg.range(x), 10) + sum([x, 1, x * 2], x)


@case(1, 4)
def length_of_tensors(x):
    rows = fg.zeros([3, 2])
    grown = fg.range(x)
    n = len(rows) + len(grown)
    return n * 2 if len(grown) > 2 else n


@case(0, 3, 5)
def membership(x):
    if x in (1, 3):
        return 10
    if x not in fg.range(4):
        return 20
    return 30


@case(*((2, 3), (5, 0)))
def numbers_made(x, y):
    a = float(x) * 1.5 + float(int(y))
    b = bool(y)
    return a if b else -a


@case(1, 4)
def printed(x):
    for i in fg.range(x):
        if i > 1:
            print("large", i)
    print("end", x, sep=": ")
    return x + 1


# ---- comprehensions and generators


@case(*VECTORS)
def comprehension_over_rows(x):
    squares = [v * v for v in x if v is not None]
    table = {k: v for k, v in zip("abc", squares)}
    return table["a"] * table["b"] + sum(table.values())


@case(*VECTORS)
def comprehension_nested(x):
    table = [[a * b for a in x] for b in x]
    return sum([row[i] if row[i] > 0.5 else row[0] for i, row in enumerate(table)])


@case(*VECTORS)
def comprehension_over_enumerate(x):
    return fg.stack([v * i if i > 0 else v for i, v in enumerate([x[0], x[1], x[2]])])


@case(*VECTORS)
def generator_expression(x):
    return sum(v if v > 0.0 else v * v for v in x) * max(v * 2.0 for v in (x[0], x[1]))


def windows(values, n):
    for i in range(len(values) - n + 1):
        yield values[i : i + n]


@case(*VECTORS)
def generator_of_python(x):
    total = 0.0
    for a, b in windows([x[0], x[1], x[2], x[0]], 2):
        if a > b:
            total += a * b
        else:
            total -= b
    return total


@case(*VECTORS)
def iterators_of_python(x):
    values = iter([x[0], x[1], x[2]])
    total = next(values)
    for v in values:
        total = total * v if v > 0.0 else total + v
    return total + next(values, x[0])


@case(*VECTORS)
def itertools_over_tensors(x):
    total = 0.0
    for a, b in itertools.combinations([x[0], x[1], x[2]], 2):
        if a * b > 0.0:
            total += a * b
    for v in itertools.chain([x[0]], itertools.islice(itertools.cycle([x[1], 2.0]), 3)):
        total = total + v if total < 2.0 else total * 0.5
    return total


@case(1, 4)
def strings_of_python(x):
    total = 0
    for k, letter in enumerate("abcab"):
        if letter in "ab" and x > k:
            total += ord(letter) - 96
        elif letter == "c":
            total *= 2
    return total


@case(1, 4)
def dictionary_views(x):
    table = {"a": x, "b": x * 2, "c": 3}
    total = 0
    for key in sorted(table):
        if table[key] > 3:
            total += table[key]
    for value in reversed(list(table.values())):
        total = total * 2 + value if total < 20 else total
    return total


@case(["a", "bb", "ccc"], ["dddd", "", "e"])
def rows_of_strings(x):
    total = 0
    longest = ""
    for word in x:
        n = fg.strings.length(word)
        total += n
        if n > fg.strings.length(longest):
            longest = word
    return longest, total


# ---- datasets and iterators


@case(0, 3, 9)
def dataset_of_a_range(x):
    total = 0
    for v in fg.data.Dataset.range(6):
        n = fg.cast(v, fg.int32)
        if n == x:
            break
        total += n * 2
    return total


@case(*VECTORS)
def dataset_of_pairs(x):
    total = x[0]
    ds = fg.data.Dataset.from_tensor_slices(([1.0, 2.0, 3.0], [0.5, 0.25, 2.0])).batch(2)
    for a, b in ds:
        total = total * fg.reduce_sum(a) + x[1] * fg.reduce_sum(b * b)
    return total


@case(0, 3, 9)
def dataset_enumerated(x):
    total = 0
    for i, v in enumerate(fg.data.Dataset.range(2, 7)):
        if fg.cast(i, fg.int32) > x:
            return total * 10
        total += fg.cast(v, fg.int32)
    return total


@case(1, 4)
def dataset_in_a_loop(x):
    total = 0
    for i in fg.range(x):
        for v in fg.data.Dataset.range(3):
            if fg.cast(v, fg.int32) <= i:
                total += i * 10 + fg.cast(v, fg.int32)
    return total


@made(1, 3, 2)
def iterator_of_a_dataset():
    iterator = iter(fg.data.Dataset.range(100))

    def run(x):
        total = fg.constant(0, fg.int64)
        for _ in fg.range(x):
            total = total * 10 + next(iterator)
        return total

    return run


@made(1, 3)
def iterator_until_it_is_large():
    iterator = iter(fg.data.Dataset.range(50).map(lambda v: v * v))

    def run(x):
        n = 0
        for v in iterator:
            n += 1
            if v > fg.cast(x * 10, fg.int64):
                break
        return n

    return run


@made(2, 5)
def dataset_mapped_by_branches():
    def parity(v):
        if v % 2 == 0:
            return v * 10
        return v

    ds = fg.data.Dataset.range(6).map(parity).filter(lambda v: v > 2 and v != 5)

    def run(x):
        total = fg.cast(x, fg.int64)
        for v in ds:
            total += v
        return total

    return run
