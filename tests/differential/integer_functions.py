"""Small functions of an integer scalar: each construct, and constructs within each other."""

from __future__ import annotations

from differential_cases import case

import fastgraph as fg

# ---- conditionals


@case(-2, 0, 3)
def sign(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    return 0


@case(-2, 3, 8)
def nested_if(x):
    if x > 0:
        if x > 5:
            y = x * 2
        else:
            y = x + 100
    else:
        y = -x
    return y


@case(-1, 4)
def if_without_else(x):
    y = x
    if x > 2:
        y = y * 3
    return y


@case(-1, 4)
def if_rebinds_two(x):
    a, b = x, 1
    if x > 2:
        a, b = b, a
    else:
        b += 5
    return a * 10 + b


@case(1, 5, 9, 20)
def ladder(x):
    if x > 15:
        r = 4
    elif x > 8:
        r = 3
    elif x > 4:
        r = 2
    else:
        r = 1
    return r * x


@case(-3, 0, 2)
def returns_in_nested_if(x):
    if x >= 0:
        if x > 1:
            return x * 10
        x += 7
    return x


@case(0, 1, 4, 7)
def returns_then_goes_on(x):
    if x > 5:
        return x
    x = x + 1
    if x > 4:
        return x * 2
    if x == 1:
        return x * 3
    return -x


@case(-4, 0, 6)
def choice(x):
    return (x if x > 0 else -x) + (1 if x == 0 else 2)


@case(-4, 3, 30)
def nested_choice(x):
    return 1 if x < 0 else (2 if x < 10 else 3)


@case(-4, 3, 30)
def choice_in_call(x):
    return fg.maximum(x if x > 5 else 5, 2)


@case(0, 4, 6, 12)
def bools(x):
    a = x > 3
    b = x % 2 == 0
    if a and not b:
        return 1
    if a or b:
        return 2
    return 3


@case(0, 4, 6, 12)
def lazy_and(x):
    return 1 if x != 0 and 12 // x > 2 else 0


@case(-1, 3, 7, 11)
def between(x):
    if 0 < x < 10:
        return x
    return 0


@case(2, 5)
def tuple_state(x):
    t = (x, (x + 1, x + 2))
    if x > 3:
        t = (t[1][1], (t[0], t[1][0]))
    return t


@case(2, 5)
def dict_state(x):
    d = {"a": x, "b": [x, x + 1]}
    if x > 3:
        d = {"a": d["b"][1], "b": [d["a"], d["a"]]}
    return d


@case(2, 5)
def dict_item_written(x):
    d = {"a": x}
    if x > 3:
        d["a"] = 0
    return d["a"] + 1


@case(2, 5)
def list_item_written(x):
    values = [x, x * 2]
    if x > 3:
        values[1] = values[0]
    return values[0] + values[1]


@case(2, 5)
def list_of_one_length(x):
    values = []
    if x > 3:
        values.append(x)
        values.append(1)
    else:
        values.extend([x, x])
    return values[0] * 10 + values[1]


@case(2, 5)
def dict_updated(x):
    d = {"a": x, "b": 2}
    if x > 3:
        d.update(a=d["b"], b=x)
    return d["a"] * 10 + d["b"]


class Box:
    def __init__(self, value):
        self.value = value

    def put(self, value):
        self.value = value
        return self

    def larger(self, x):
        if self.value > x:
            return self.value
        return x


@case(2, 5)
def attribute_written(x):
    box = Box(x)
    if x > 3:
        box.value = box.value * 2
    return box.value


@case(2, 5)
def attribute_written_by_method(x):
    box = Box(x)
    if x > 3:
        box.put(100)
    return box.value


@case(2, 5)
def method_with_if(x):
    return Box(4).larger(x) + Box(x).larger(3)


@case(2, 5)
def closure_written(x):
    y = x

    def add(z):
        nonlocal y
        if z > 3:
            y = y + z

    add(x)
    add(x + 2)
    return y


@case(-2, 3)
def lambda_with_choice(x):
    f = lambda v: v * 2 if v > 0 else v
    return f(x) + f(-x)


@case(-2, 3)
def recursion_over_python(x):
    def down(n, v):
        if n == 0:
            return v
        return down(n - 1, v + n) if v > 0 else down(n - 1, v - n)

    return down(4, x)


@case(-2, 3)
def with_and_if(x):
    with fg.name_scope("inner"):
        if x > 0:
            y = x * 2
        else:
            y = x
    return y


@case(-2, 3)
def try_and_return(x):
    try:
        if x > 0:
            return x
    except ValueError:
        pass
    return -x


@case(-2, 3)
def exception_caught(x):
    try:
        if x > 0:
            y = x
        else:
            y = -x
        raise KeyError("k")
    except KeyError:
        y = y + 1
    finally:
        y = y * 2
    return y


@case(-2, 3, 9)
def walrus(x):
    if (y := x * 2) > 4:
        return y
    return y - 1


@case(-2, 3)
def augmented(x):
    y = 10
    if x > 0:
        y -= x
        y *= 2
    else:
        y //= 3
    return y


# ---- while


@case(0, 5)
def countdown(x):
    n = 0
    while x > 0:
        x -= 2
        n += 1
    return x, n


@case(1, 6, 7)
def collatz(x):
    n = 0
    while x != 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        n += 1
    return n


@case(0, 3, 50)
def while_break(x):
    total = 0
    while total < 100:
        total += x + 1
        if total > 20:
            break
    return total


@case(0, 3, 9)
def while_continue(x):
    total = 0
    i = 0
    while i < x:
        i += 1
        if i % 3 == 0:
            continue
        total += i
    return total


@case(1, 3, 60)
def while_true(x):
    while True:
        x = x * 3
        if x > 50:
            break
    return x


@case(1, 3, 60)
def while_true_return(x):
    n = 0
    while True:
        if x > 50:
            return n * 1000 + x
        x = x * 3
        n += 1


@case(1, 3, 60)
def while_true_two_ends(x):
    n = 0
    while True:
        n += 1
        x += 7
        if x % 5 == 0:
            return x
        if n > 3:
            break
    return -x


@case(1, 4)
def while_in_while(x):
    total = 0
    while x > 0:
        y = x
        while y > 0:
            total += y
            y -= 1
        x -= 1
    return total


@case(1, 4, 12)
def while_python_then_tensor(x):
    i = 0
    while i < 3:
        i += 1
        x *= 2
        if x > 20:
            break
    return x + i


@case(1, 40)
def flag(x):
    going = True
    while going:
        x += 9
        going = x < 30
    return x


@case(0, 3)
def and_in_test(x):
    y = 10
    while x < 5 and y > 6:
        x += 1
        y -= 2
    return x * 100 + y


@case(0, 3)
def fibonacci(x):
    a, b = 0, 1
    while x > 0:
        a, b = b, a + b
        x -= 1
    return a


@case(0, 3)
def while_structures(x):
    s = {"n": x, "p": (1, 2)}
    while s["n"] < 5:
        s = {"n": s["n"] + 1, "p": (s["p"][1], s["p"][0] + 1)}
    return s


@case(0, 3)
def while_with_attribute(x):
    box = Box(x)
    while box.value < 10:
        box.value = box.value + 3
    return box.value


@case(0, 3)
def while_with_method(x):
    box = Box(x)
    while box.value < 10:
        box.put(box.value + 4)
    return box.value


# ---- for


@case(0, 1, 5)
def summed(x):
    total = 0
    for i in fg.range(x):
        total += i
    return total


@case(0, 1, 5)
def python_range_of_tensor(x):
    total = 0
    for i in range(x):
        total += i * i
    return total


@case(0, 4, 11)
def range_with_step(x):
    total = 0
    for i in range(12, x, -4):
        total = total * 10 + i
    return total


@case(0, 5, 12)
def for_break(x):
    total = 0
    for i in fg.range(x):
        if i > 6:
            break
        total += i
    return total


@case(0, 5, 12)
def for_continue_break(x):
    total = 0
    for i in fg.range(x):
        if i % 2 == 1:
            continue
        if i == 8:
            break
        total += i
    return total


@case(0, 5, 12)
def for_return(x):
    for i in fg.range(x):
        if i * i > 20:
            return i
    return -1


@case(0, 2, 6)
def for_in_for(x):
    total = 0
    for i in fg.range(x):
        for j in fg.range(i, x):
            total += i * j
    return total


@case(0, 2, 6)
def return_from_inner_for(x):
    for i in fg.range(x):
        for j in fg.range(x):
            if i * j == 6:
                return i * 10 + j
    return 0


@case(0, 2, 6)
def break_inner_continue_outer(x):
    total = 0
    for i in fg.range(x):
        if i == 2:
            continue
        for j in fg.range(x):
            if j > i:
                break
            total += j + 1
        total += 100
    return total


@case(0, 2, 6)
def for_while_if(x):
    total = 0
    for i in fg.range(x):
        k = i
        while k > 0:
            if k % 2 == 0:
                total += k
            else:
                total -= 1
            k -= 1
    return total


@case(1, 2, 6)
def loop_variable_after(x):
    i = -1
    for i in fg.range(x):
        pass
    return i


@case(1, 2, 6)
def defined_in_loop(x):
    for i in fg.range(x):
        y = i * 3
    return y


@case(1, 2, 6)
def none_until_first(x):
    best = None
    for i in fg.range(x):
        value = (i * 5) % 4
        if best is None or value > best:
            best = value
    return best


@case(0, 3, 9)
def python_for_break(x):
    for i in range(5):
        if i >= x:
            break
    return i


@case(0, 3, 9)
def python_for_return(x):
    for i, name in enumerate(["a", "bb", "ccc", "dddd"]):
        if i == x:
            return len(name) * 10
    return -1


@case(0, 3, 9)
def python_for_continue(x):
    total = 0
    for i in range(5):
        if i < x:
            continue
        total += i
    return total


@case(0, 3, 9)
def python_for_nested_break(x):
    total = 0
    for i in range(3):
        for j in range(3):
            if i + j > x:
                break
            total += 1
        if total > 4:
            break
    return total


@case(1, 3)
def for_over_dict(x):
    total = 0
    for key, value in {"a": x, "bb": x * 2}.items():
        if value > 2:
            total += value * len(key)
    return total


@case(1, 3)
def appended(x):
    values = []
    for i in fg.range(x):
        values.append(i * i)
    return fg.stack(values)


@case(1, 3)
def appended_pairs(x):
    values = [(x, x)]
    for i in fg.range(x):
        values.append((i, i + 1))
    total = 0
    for a, b in values:
        total = total * 3 + a - b
    return total


@case(1, 3, 6)
def while_with_none(x):
    last = None
    while x > 0:
        last = x if last is None else last * 2 + x
        x -= 2
    return last


@case(0, 2, 4)
def for_with_python_if(x):
    total = 0
    for scale in (1, 10):
        if scale == 10:
            total += x
        elif x > 1:
            total += scale
    return total


@case(0, 2, 4)
def function_in_loop(x):
    def step(v):
        if v % 2 == 0:
            return v + 3
        return v * 2

    for _ in fg.range(4):
        x = step(x)
    return x


@case(0, 2, 4)
def mutual_calls(x):
    def up(v):
        return v + 1 if v < 3 else down(v, 1)

    def down(v, n):
        while v > n:
            v -= 2
        return v

    return up(x) * 10 + down(x, 0)
