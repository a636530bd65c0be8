"""How a function goes: ends of loops and of functions, match, try and with, assignments of every form."""

from __future__ import annotations

import contextlib

from differential_cases import VECTORS, case

import fastgraph as fg

# ---- early ends


@case(0, 2, 5, 9)
def returned_from_third_depth(x):
    if x > 1:
        if x > 4:
            if x > 8:
                return x * 3
            x += 1
        else:
            return x - 7
    return x * 2


@case(1, 3, 8)
def returned_from_both_loops(x):
    for i in fg.range(4):
        while x < 6:
            x += i + 1
            if x == 5:
                return x * 100
        if i > 2:
            return x - i
    return -x


@case(0, 3, 7)
def else_of_for(x):
    for i in fg.range(5):
        if i == x:
            found = i * 10
            break
    else:
        found = -1
    return found


@case(1, 4, 20)
def else_of_while(x):
    n = 0
    while x < 10:
        x += 3
        n += 1
        if x == 7:
            break
    else:
        n += 100
    return x * n


@case(0, 2, 4)
def else_of_inner_loop_continues_outer(x):
    total = 0
    for i in fg.range(4):
        for j in fg.range(i):
            if j == x:
                break
        else:
            total += 10
            continue
        total += i
    return total


@case(0, 3, 9)
def else_of_python_for(x):
    for i in (1, 2, 3):
        if x == i:
            r = x * 5
            break
    else:
        r = x - 1
    return r


@case(1, 2, 6)
def returned_from_else_of_loop(x):
    for i in fg.range(3):
        if i * 3 == x:
            break
    else:
        return x + 100
    return i


@case(0, 3, 8)
def continue_twice(x):
    total = 0
    for i in fg.range(x):
        if i % 2 == 0:
            continue
        total += i
        if total > 3:
            total -= 1
            continue
        total *= 2
    return total


@case(0, 1, 5)
def break_in_else(x):
    total = 1
    while x > 0:
        x -= 1
        if x > 2:
            total += x
        else:
            break
        total *= 2
    return total * 10 + x


@case(0, 4, 7)
def nested_breaks_of_three_loops(x):
    n = 0
    for i in fg.range(3):
        for j in fg.range(3):
            k = 0
            while True:
                k += 1
                n += 1
                if k > i + j:
                    break
            if n > x:
                break
        if n > 2 * x:
            break
    return n


@case(-1, 0, 4)
def returns_nothing_but_effects(x):
    seen = [x]

    def note(v):
        if v < 0:
            return
        seen[0] = v + 1

    note(x)
    note(x - 3)
    return seen[0]


@case(*VECTORS)
def returned_structures(x):
    if x[0] > 0.0:
        return {"a": x * x, "b": (x[0], [x[1]])}
    return {"a": x, "b": (x[1] * x[2], [x[2]])}


@case(2, 5, 11)
def primes_below(x):
    count = 0
    for n in fg.range(2, x):
        for d in fg.range(2, n):
            if n % d == 0:
                break
        else:
            count += 1
    return count


# ---- match


@case(0, 1, 2, 7)
def match_of_values(x):
    match x:
        case 0:
            return x + 10
        case 1 | 2:
            return x * 20
        case _:
            return -x


@case(1, 4, 9)
def match_with_guards(x):
    match (x, x + 1):
        case (a, b) if a > 5:
            y = a * b
        case (a, _) if a > 2:
            y = a
        case _:
            y = x - 50
    return y


@case(1, 6)
def match_of_mapping_in_loop(x):
    total = 0
    for item in ({"add": x}, {"sub": 2}, {"both": (x, 3)}):
        match item:
            case {"add": v}:
                total += v
            case {"sub": v} if x > 3:
                total -= v
            case {"both": (a, b)}:
                total += a * b
    return total


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y


@case(-3, 0, 5)
def match_of_class(x):
    match Point(x, x * 2):
        case Point(0, 0):
            return x + 1
        case Point(a, y=b) if a > 0:
            return a + b
        case Point() as p:
            return p.y - 1


@case(*VECTORS)
def match_of_rest(x):
    total = x[0]
    for row in ([x[1]], [x[1], x[2]], [x[0], x[1], x[2]]):
        match row:
            case [one]:
                total = total * one
            case [first, *others]:
                if first > 0.0:
                    total = total + first * len(others)
                else:
                    total = total - others[0]
    return total


# ---- try and with


@case(-1, 4)
def finally_in_loop(x):
    total = 0
    for i in fg.range(3):
        try:
            if i > x:
                continue
            total += 5
        finally:
            total += 1
    return total


@case(-2, 3)
def returned_from_try_of_finally(x):
    log = [0]

    def inner(v):
        try:
            if v > 0:
                return v * 2
            return v
        finally:
            log[0] = log[0] + 7

    return inner(x) + inner(-x) + log[0]


@case(2, 5)
def else_of_try(x):
    try:
        y = x + 1
    except ValueError:
        y = 0
    else:
        if x > 3:
            y = y * 2
    return y


@case(2, 5)
def exception_of_python_in_branch(x):
    table = {"a": 3}
    if x > 3:
        try:
            y = x + table["b"]
        except KeyError as error:
            y = x - len(error.args)
    else:
        y = x + table["a"]
    return y


@case(2, 5)
def nested_try(x):
    y = 0
    try:
        try:
            y = y + x
            raise ValueError("a")
        except KeyError:
            y = y + 1000
        finally:
            if x > 3:
                y = y * 3
    except ValueError:
        y = y + 7
    return y


@contextlib.contextmanager
def entered(log):
    log.append("in")
    try:
        yield len(log)
    finally:
        log.append("out")


@case(2, 5)
def contexts_of_the_user(x):
    log = []
    with entered(log) as n, entered(log):
        if x > 3:
            x = x + n
    return x * len(log)


@case(0, 3)
def context_in_staged_loop(x):
    total = 0
    for i in fg.range(x):
        with contextlib.suppress(KeyError):
            total += i
            if total > 2:
                total += 10
    return total


class Scaled:
    def __init__(self, by):
        self.by = by

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.by > 3:
            self.by = self.by * 10


@case(2, 5)
def exit_that_branches(x):
    scaled = Scaled(x)
    with scaled as s:
        y = s.by + 1
    return y + scaled.by


# ---- assignments and expressions


@case(2, 5)
def starred_targets(x):
    first, *middle, last = (x, x + 1, x + 2, x + 3)
    if first > 3:
        first, *middle = last, middle[1], first
    return first + middle[0] * 10 + middle[1] * 100


@case(2, 5)
def walrus_in_while(x):
    n = 0
    while (rest := x - n * 3) > 0:
        n += 1
    return rest * 10 + n


@case(2, 5)
def walrus_in_comprehension_test(x):
    values = [y * 2 for v in (1, 2, 3) if (y := v + 1) > 2]
    return values[0] * x + values[1] if x > 3 else values[1] - x


@case(-4, 2, 8)
def chained_comparisons(x):
    if -5 < x <= 2 < 10:
        y = 1
    elif 0 <= x != 7 < 9 >= x:
        y = 2
    else:
        y = 3
    return y * x


@case(1, 3, 6)
def chained_assignment(x):
    a = b = x
    if x > 2:
        a = b = c = x * 2
    else:
        c = a
    a += 1
    return a * 100 + b * 10 + c


@case((1, 7), (4, 2), (3, 3))
def swapped_while(x, y):
    while y != 0:
        x, y = y, x % y
    return x


@case(2, 5)
def augmented_elements(x):
    values, table, box = [x, 1], {"k": x}, Point(x, 2)
    if x > 3:
        values[0] += 5
        table["k"] -= 1
        box.x *= 3
    else:
        values[1] -= x
        table["k"] //= 2
        box.y **= 3
    return values[0] + values[1] * 10 + table["k"] * 100 + box.x * 1000 + box.y


@case(2, 5)
def augmented_elements_in_loop(x):
    values, table, box = [x, 1], {"k": x}, Point(x, 2)
    for i in fg.range(3):
        values[1] += values[0] + i
        table["k"] += values[1]
        box.x -= table["k"]
    return values + [table["k"], box.x]


@case((0, 5), (3, 5), (9, 5))
def logic_of_several(x, y):
    a = x > 1 and y > 2 and not x == 9
    b = x == 0 or y == 0 or (x > 5 and not (y < 3 or x < 4))
    return 1 if a else (2 if b else 3)


@case((0, 5), (3, 5), (9, 0))
def logic_gives_a_value_of_python(x, y):
    none = None or 3
    text = "" and "a"
    return x * none + len(text) if x > 0 and y > 0 else -x - none


@case(-2, 0, 3)
def ternaries_as_arguments(x):
    def add(a, b=0, *, c=1):
        return a + b * 10 + c * 100

    return add(x if x > 0 else -x, b=2 if x == 0 else 3, c=x * x if x < 0 else x)


@case(-2, 0, 3)
def names_deleted(x):
    y = x * 2
    if x > 0:
        z = y
        del y
        y = z + 1
    else:
        z = 4
    return y + z


@case(2, 5)
def pass_and_constants(x):
    if x > 3:
        pass
    else:
        ...
    while x < 4:
        x += 1
        if x > 100:
            pass
    return x


@case(4, -1)
def asserted(x):
    assert x > 0, "positive"
    y = x * 2
    for i in fg.range(2):
        assert y + i > 3
    return y


@case(3, 6)
def asserted_in_branch(x):
    if x > 2:
        assert x < 5, ("too large", x)
        return x
    return -x


@case(*VECTORS)
def division_guarded(x):
    return x[1] / x[0] if x[0] > 0.25 and x[1] / x[0] < 4.0 else x[0] * x[0]


@case(*VECTORS)
def slices_under_conditions(x):
    part = x[:2] if x[0] > 0.0 else x[1:]
    if x[2] > 0.5:
        part = part[::-1] * part
    return part


@case(*VECTORS)
def bisection(x):
    low, high = fg.constant(0.0), fg.constant(4.0)
    for _ in fg.range(8):
        middle = (low + high) / 2.0
        if middle * middle < 2.0 + x[0] * x[0]:
            low = middle
        else:
            high = middle
    return low * x[1] + high * x[2] * x[0]


@case(*VECTORS)
def horner(x):
    y = 0.0
    for c in fg.reverse(x, [0]):
        y = y * x[1] + c
        if y > 3.0:
            return y * y * x[0]
    return y


@case(*VECTORS)
def steps_that_shrink(x):
    step, at = fg.constant(1.0), x[0]
    n = 0
    while step > 0.1 and n < 12:
        n += 1
        new = at - step * (at * at * at - x[1])
        if fg.abs(new * new * new - x[1]) < fg.abs(at * at * at - x[1]):
            at = new
            continue
        step = step * 0.5
    return at


@case(*VECTORS)
def python_while_in_staged_while(x):
    total = x[0]
    while total < 6.0:
        k = 0
        while k < 2:
            k += 1
            if total > 3.0:
                break
            total = total * 1.5 + 0.25
        total = total + x[1] * x[1] + 0.5
    return total * x[2]
