"""Control flow that is written by its functions: cond, case, while_loop, map_fn, scan and folds, in every mixture."""

from __future__ import annotations

from differential_cases import VECTORS, case

import fastgraph as fg


@case(*VECTORS)
def cond_written(x):
    return fg.cond(x[0] > 0.5, lambda: x * x, lambda: x[0] * x)


@case(*VECTORS)
def cond_nested(x):
    def inner():
        return fg.cond(x[1] > 0.0, lambda: (x[1] * x, x[0]), lambda: (x, x[2] * x[2]))

    a, b = fg.cond(x[0] > 0.0, inner, lambda: (-x * x, x[1]))
    return fg.reduce_sum(a) * b


@case(*VECTORS)
def cond_with_statements_in_it(x):
    def up():
        total = x[0]
        while total < 4.0:
            total = total * 2.0 + 1.0
        return total

    def down():
        for v in x:
            if v < 0.0:
                return v * v
        return x[1] * 3.0

    return fg.cond(fg.reduce_sum(x) > 1.0, up, down) * x[2]


@case(*VECTORS)
def case_written(x):
    return fg.case([(x[0] > 1.5, lambda: x[0] * x[1]), (x[1] > 1.0, lambda: x[1] * x[1])], default=lambda: fg.exp(x[2]))


@case((0, [1.0, 2.0]), (2, [0.5, -1.0]), (7, [3.0, 1.0]))
def switch_case_written(n, x):
    return fg.switch_case(n, [lambda: x, lambda: x * x, lambda: x * x[0]], default=lambda: fg.tanh(x))


@case(*VECTORS)
def while_loop_written(x):
    _, y = fg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y[0] + 0.5), (0, x))
    return y


@case(*VECTORS)
def while_loop_with_structures(x):
    def body(state):
        a, b = state["a"], state["b"]
        return ({"a": b * 0.5, "b": a + b if a > 0.0 else a * b, "n": state["n"] + 1},)

    return fg.while_loop(lambda s: s["n"] < 4, body, ({"a": x[0], "b": x[1], "n": 0},))


@case(0, 3)
def while_loop_that_grows(x):
    _, rows = fg.while_loop(
        lambda i, rows: i < x,
        lambda i, rows: (i + 1, fg.concat([rows, [i]], 0)),
        (0, fg.constant([9])),
        shape_invariants=(fg.TensorShape([]), fg.TensorShape([None])),
    )
    return rows


@case(2, 5)
def while_loop_limited(x):
    return fg.while_loop(lambda v: v < 100, lambda v: (v * 2,), (x,), maximum_iterations=3)


@case(*VECTORS)
def while_loop_in_for(x):
    total = 0.0
    for v in x:
        (y,) = fg.while_loop(lambda y: y < 2.0, lambda y: (y * y + 0.75,), (v,))
        total += y * v
    return total


@case(*VECTORS)
def map_written(x):
    return fg.map_fn(lambda v: v * v if v > 0.5 else v * x[0], x)


@case(*VECTORS)
def map_of_structures(x):
    def one(pair):
        a, b = pair
        total = a
        for _ in fg.range(2):
            total = total * b
        return total, {"s": a + b}

    return fg.map_fn(one, (x, fg.sin(x)), fn_output_signature=(fg.float32, {"s": fg.float32}))


@case(1, 4)
def map_in_a_loop(x):
    values = fg.range(3)
    for i in fg.range(x):
        values = fg.map_fn(lambda v: v + i if v % 2 == 0 else v * 2, values)
    return values


@case(*VECTORS)
def scan_written(x):
    return fg.scan(lambda a, v: a * v if a > 1.0 else a + v, x, initializer=x[0])


@case(*VECTORS)
def scan_of_pairs(x):
    def step(state, v):
        a, b = state
        if v > 0.0:
            return b, a + v
        return a * v, b

    return fg.scan(step, x, initializer=(x[1], x[2]))


@case(*VECTORS)
def scan_backwards(x):
    return fg.scan(lambda a, v: a * 0.5 + v * v, x, reverse=True)


@case(*VECTORS)
def folds_written(x):
    left = fg.foldl(lambda a, v: a * v + 1.0, x)
    right = fg.foldr(lambda a, v: a - v if v < a else a * v, x, initializer=x[0])
    return left * right


@case(*VECTORS)
def vectorized_written(x):
    return fg.vectorized_map(lambda v: fg.reduce_sum(x * v) * v, x)


@case(*VECTORS)
def map_structure_of_branches(x):
    halved = fg.nest.map_structure(lambda v: v * 0.5 if v > 0.4 else v * v, {"a": x[0], "b": [x[1], x[2]]})
    return halved["a"] + halved["b"][0] * halved["b"][1]


@case(*VECTORS)
def recomputed(x):
    @fg.recompute_grad
    def block(v):
        if fg.reduce_sum(v) > 1.0:
            return v * v * v
        return fg.exp(v)

    return block(x) * block(x * 0.5)


@case(*VECTORS)
def stopped_gradients(x):
    total = x[0]
    for v in x:
        total = total * fg.stop_gradient(v) if v > 0.5 else total + v * v
    return total


@case(*VECTORS)
def jacobian_of_a_branch(x):
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = x * x[0] if x[1] > 0.0 else fg.sin(x)
    return tape.jacobian(y, x)


@case(*VECTORS)
def python_function_inside(x):
    total = x[0]
    for i in fg.range(2):
        y = fg.py_function(lambda v: v * v + 0.5, [total], fg.float32)
        y.set_shape([])
        total = y if i > 0 else y * y
    return total


@case(0, 4)
def effects_in_order(x):
    y = x
    with fg.control_dependencies([fg.debugging.assert_greater(x, -1)]):
        y = y + 1
    if y > 2:
        fg.debugging.assert_less(y, 9)
    return y


@case(*VECTORS)
def while_of_while_loops(x):
    def outer(i, y):
        _, z = fg.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x[1] + x[0]), (0, y))
        return i + 1, z

    return fg.while_loop(lambda i, y: i < 3, outer, (0, x[2]))[1]


@case(*VECTORS)
def scan_in_map(x):
    return fg.map_fn(lambda v: fg.reduce_sum(fg.scan(lambda a, w: a * w + v, x, initializer=v)), x)


@case(*VECTORS)
def map_in_cond_in_while(x):
    n = 0
    y = x
    while n < 2:
        y = fg.cond(y[0] > 0.0, lambda: fg.map_fn(lambda v: v * v - 0.5, y), lambda: y * y[1] + 1.0)
        n += 1
    return y
