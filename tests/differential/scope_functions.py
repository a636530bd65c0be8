"""Who is called and what it sees: closures, classes, lambdas, decorators, arguments, Functions, recursion in Python."""

from __future__ import annotations

import dataclasses
import functools
import operator
from typing import NamedTuple

from differential_cases import VECTORS, case, made

import fastgraph as fg

SCALE = 3
counter = 0

# ---- scopes


@case(2, 5)
def global_is_read(x):
    if x > SCALE:
        return x * SCALE
    return x - SCALE


@case(2, 5)
def global_is_written(x):
    global counter
    counter = 1
    for _ in range(2):
        counter = counter + 1
    if x > 3:
        return x + counter
    return x - counter


@case(0, 4)
def nonlocal_in_staged_loop(x):
    total = 0
    last = x

    def add(v):
        nonlocal total, last
        total = total + v
        last = v

    for i in fg.range(x):
        add(i * 2)
    return total * 10 + last


@case(1, 6)
def nonlocal_of_two_depths(x):
    y = x

    def outer():
        def inner():
            nonlocal y
            if y > 3:
                y = y - 10
            else:
                y = y + 10

        inner()
        inner()

    outer()
    return y


@case(1, 6)
def closure_made_in_loop(x):
    functions = []
    for k in range(3):
        functions.append(lambda v, k=k: v * k if v > 2 else v + k)
    return sum([f(x) for f in functions])


@case(1, 6)
def closure_sees_later_value(x):
    def read():
        return y + 1 if y > 3 else y

    y = x
    a = read()
    y = x * 2
    return a * 100 + read()


@case(1, 6)
def closure_returned(x):
    def adder(n):
        def add(v):
            if v > n:
                return v + n
            return v - n

        return add

    return adder(3)(x) + adder(x)(4)


@case(0, 3)
def inner_function_with_loop(x):
    def total(n, start=0, *more, scale=1, **named):
        for i in fg.range(n):
            start += i * scale
            for each in more:
                start += each
        return start + sum(named.values())

    return total(x) + total(x, 5, 1, 2, scale=3, a=7, b=x)


# ---- lambdas, partials, decorators, arguments


@case(-2, 3)
def lambdas_nested(x):
    f = lambda a: lambda b: b * a if b > a else a - b
    return f(1)(x) + f(x)(1)


@case(-2, 3)
def partials(x):
    def power(base, n, offset=0):
        r = 1
        for _ in fg.range(n):
            r *= base
        return r + offset if r > 4 else r - offset

    cube = functools.partial(power, n=3)
    return cube(x) + functools.partial(cube, offset=2)(2) + functools.partial(power, x)(2)


def twice(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        result = function(*args, **kwargs)
        if result > 10:
            return result
        return function(result, **kwargs)

    return wrapped


def with_offset(n):
    def decorator(function):
        def wrapped(v):
            return function(v) + n if v > 0 else function(v) - n

        return wrapped

    return decorator


@twice
@with_offset(4)
def decorated_step(v):
    return v * 2


@case(-2, 1, 9)
def decorated(x):
    return decorated_step(x)


@case((1, 2, 3), (4, 0, 6))
def star_arguments(*values):
    total, *others = values
    for v in others:
        total = total * 2 + v if v > 1 else total - v
    return total


@case((1, 5), (7, 2))
def arguments_unpacked(x, y):
    def combine(a, b, /, c, *, d=4):
        return a * b + c if a > d else b - c

    pair, named = (x, y), {"c": y, "d": 3}
    return combine(*pair, **named) + combine(y, *[x], c=1)


@case(-1, 4)
def default_arguments_are_tensors(x):
    def shifted(v, by=x):
        if by > 0:
            return v + by
        return v - by * 2

    return shifted(3) + shifted(3, -2)


@case(-1, 4)
def operators_as_functions(x):
    total = x
    for op in (operator.add, operator.mul, operator.sub, min, max):
        total = op(total, 3)
        if total > 6:
            total -= 5
    return total


@case(1, 4)
def reduced(x):
    return functools.reduce(lambda a, b: a * 2 + b if b > 2 else a - b, [x, x + 1, 3, 1])


# ---- classes


class Account:
    limit = 6

    def __init__(self, balance):
        self._balance = balance
        self.entries = 0
        if balance > 4:
            self._balance = balance - 1

    @property
    def balance(self):
        return self._balance if self._balance > 0 else -self._balance

    @balance.setter
    def balance(self, value):
        self._balance = value

    @classmethod
    def of_twice(cls, value):
        return cls(value * 2 if value < 3 else value)

    @staticmethod
    def fee(value):
        if value > 5:
            return 2
        return 0

    def deposit(self, value):
        self._balance += value - self.fee(value)
        self.entries += 1
        return self

    def __add__(self, other):
        return Account(self._balance + (other._balance if isinstance(other, Account) else other))

    def __radd__(self, other):
        return self + other

    def __lt__(self, other):
        return self._balance < other._balance if self.limit > 3 else False

    def __getitem__(self, key):
        return self._balance * key if self._balance > key else key

    def __call__(self, value):
        while value > self.limit:
            value -= self._balance
        return value

    def __len__(self):
        return 3

    def __iter__(self):
        return iter([self._balance, self._balance + 1])

    def __contains__(self, value):
        return bool(value == 3)

    def __neg__(self):
        return -self._balance if self._balance > 3 else self._balance


@case(-4, 2, 9)
def class_with_property(x):
    account = Account(x)
    account.balance = account.balance + 1
    return account.balance * 10 + Account(-x).balance


@case(1, 9)
def class_and_static_methods(x):
    return Account.of_twice(x).deposit(x).balance + Account.fee(x)


@case(1, 9)
def operators_of_a_class(x):
    total = Account(x) + Account(2) + 3
    return total.balance + (4 + total)[2] if total[3] > 5 else -total


@case(1, 9)
def chained_method_calls(x):
    account = Account(x)
    for _ in range(2):
        account = account.deposit(x).deposit(1)
    return account.balance * 10 + account.entries


@case(3, 30)
def callable_object(x):
    return Account(4)(x) + Account(x)(5)


@case(1, 9)
def object_is_iterated(x):
    total = 0
    for v in Account(x):
        total = total * 3 + v if v > 2 else total - v
    return total * len(Account(x))


@case(0, 3)
def method_changes_object_in_loop(x):
    account = Account(1)
    for i in fg.range(x):
        account.deposit(i + 4)
    return account.balance


class Base:
    def __init__(self, value):
        self.value = value

    def step(self, x):
        return x + self.value if x > 3 else x

    def run(self, x):
        for _ in fg.range(2):
            x = self.step(x)
        return x


class Derived(Base):
    def __init__(self, value):
        super().__init__(value)
        if value > 2:
            self.value = value * 2

    def step(self, x):
        y = super().step(x)
        return y * 2 if y < 8 else y


class Again(Derived):
    def step(self, x):
        return super().step(x) - 1

    def __private(self, x):
        return x + 1 if x > 0 else x

    def run(self, x):
        return self.__private(super().run(x))


@case(1, 5)
def inherited_methods(x):
    return Base(x).run(x) + Derived(x).run(2) * 10 + Again(2).run(x) * 100


@case(1, 5)
def methods_as_values(x):
    steps = [Base(2).step, Derived(3).step, functools.partial(Base.step, Again(1))]
    for step in steps:
        x = step(x)
    return x


class Pair(NamedTuple):
    a: object
    b: object

    def larger(self):
        return self.a if self.a > self.b else self.b


@case((1, 5), (8, 2))
def method_of_a_namedtuple(x, y):
    return Pair(x, y).larger() + Pair(y, 3)._replace(a=4).larger()


# ---- Functions in functions


@fg.function
def clipped(v, low=0.0):
    if v < low:
        return low * v
    return v * v


@fg.function
def summed_squares(values):
    total = 0.0
    for v in values:
        total += clipped(v)
    return total


@case(*VECTORS)
def functions_nested(x):
    return summed_squares(x) + clipped(x[1], 0.5) * x[0]


@case(*VECTORS)
def function_called_in_branch_and_loop(x):
    total = x[0]
    n = 0
    while n < 2:
        if total > 1.0:
            total = total + clipped(x[2])
        else:
            total = clipped(total + x[1]) + 1.0
        n += 1
    return total


@case(*VECTORS)
def function_as_an_argument(x):
    def folded(f, values):
        total = fg.constant(0.5)
        for v in values:
            total = f(total + v)
        return total

    return folded(clipped, x) + folded(fg.sin, x) + folded(lambda v: v * x[0], x)


@fg.custom_gradient
def limited(v):
    def backward(dy):
        if fg.reduce_sum(v) > 1.0:
            return dy * 0.5
        return dy * 3.0

    return v * 2.0, backward


@case(*VECTORS, no_second="the backward function is of a first derivative that is constant in v")
def custom_gradient_with_a_branch(x):
    return limited(x) * x if x[0] > 0.0 else limited(x)


@made(*VECTORS)
def methods_that_are_functions():
    class Layer(fg.Module):
        def __init__(self):
            super().__init__()
            self.w = fg.Variable([1.0, -2.0, 0.5])

        @fg.function
        def __call__(self, x):
            y = x * self.w
            if fg.reduce_sum(y) > 0.0:
                return y * y
            return y

    layers = [Layer(), Layer()]

    def run(x):
        for layer in layers:
            x = layer(x)
        return x

    return run


# ---- recursion of Python over structures


@case(1, 4)
def recursion_over_a_tree(x):
    def total(node):
        if isinstance(node, (list, tuple)):
            result = 0
            for child in node:
                result += total(child)
            return result
        return node * 2 if node > 2 else node

    return total([x, (x + 1, [3, x]), [[1]]])


@case(1, 4)
def recursion_over_a_dict(x):
    def mapped(node):
        if isinstance(node, dict):
            return {key: mapped(value) for key, value in node.items()}
        return node + 1 if node > 2 else -node

    return mapped({"a": x, "b": {"c": x * 2, "d": {"e": 2}}})


@case(*VECTORS)
def recursion_halves_a_vector(x):
    def product(v, n):
        if n == 1:
            return v[0] if v[0] > 0.0 else v[0] * v[0]
        return product(v[: n // 2], n // 2) * product(v[n // 2 :], n - n // 2)

    return product(x, 3)


@case(*VECTORS)
def composed(x):
    def compose(*functions):
        def run(v):
            for f in functions:
                v = f(v)
            return v

        return run

    return compose(lambda v: v * 2.0, lambda v: v if v[0] > 1.0 else v * v, fg.reduce_sum)(x)


@case(*VECTORS)
def gradients_inside_of_loops(x):
    at = x
    for _ in fg.range(2):
        with fg.GradientTape() as tape:
            tape.watch(at)
            y = fg.reduce_sum(at * at * at) if at[0] > 0.0 else fg.reduce_sum(at * at)
        at = at - 0.1 * tape.gradient(y, at)
    return at


# ---- names with types, names bound in expressions


@case(-2, 0, 3)
def annotated_names(x):
    y: fg.Tensor
    n: int = 0
    if x > 0:
        y: fg.Tensor = x * 2
    else:
        y = x
    while n < x:
        n: int = n + 2
    return y, n


@case(-2, 3)
def annotated_fields_and_names(x):
    @dataclasses.dataclass
    class Step:
        size: fg.Tensor
        n: int = 3

        def taken(self):
            total: fg.Tensor = self.size * self.n
            if total > 4:
                total: fg.Tensor = total - 4
            return total

    step: Step = Step(x)
    values: dict = {}
    values["a"]: fg.Tensor = step.taken()
    return values["a"], step.n


@case(-2, 3)
def walrus_in_arguments(x):
    a = fg.maximum((t := x + 1), 0)
    b = t * 2 if a > 2 else t
    return [q := a + b, q + t]


@case(-2, 3)
def walrus_in_what_is_returned(x):
    if x > 0:
        x = x * 2
    return [y := x + 1, fg.square(z := y * 2), z]
