"""Each row of the algebra table: the exact graph it makes, and, apart from that, equal values; and where it must not fire."""

from __future__ import annotations

import ast
import itertools

import numpy as np
import pytest
from graphs import Build, expression, ops, run

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.registry import get
from fastgraph.graph import ir
from fastgraph.graph.passes import optimize
from fastgraph.graph.passes.rewriter import Fuel, Rebuild, Row, _number, compile_row
from tests.planted import planted

DTYPES = {"any": "float32", "integer": "int32", "floating": "float32", "real": "float32", "number": "float32"}
BOOLEAN = ("logical", "select")
BITS = ("invert", "bitwise")

FLOATS = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -3.25, 1e30, -1e-30, np.inf, -np.inf, np.nan], np.float32)
INTS = np.array([0, 1, -1, 2, -7, 40, 2**31 - 1, -(2**31), 3, 5, -12], np.int32)
BOOLS = np.array([True, False] * 6)[:11]


def dtype_of_row(row, variable):
    if row.lhs.startswith("select"):
        return "bool" if variable == "c" else "float32"
    if row.lhs.startswith("logical_not(equal") or row.lhs.startswith("logical_not(not_equal"):
        return "float32"
    if row.lhs.startswith("logical"):
        return "bool"
    if row.lhs.startswith(BITS):
        return "int32"
    return DTYPES[row.when]


def variables(text):
    tree = ast.parse(text, mode="eval")
    calls = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n not in calls})


def build(row, shapes, dtype=None):
    """The graph of the row's left side over placeholders; numbers are 0-d constants."""
    b = Build()
    values = {name: b.input(dtype or dtype_of_row(row, name), shape, name) for name, shape in shapes.items()}

    def make(pattern):
        if isinstance(pattern, ast.Name):
            return values[pattern.id]
        number = _number(pattern)
        if number is not None:
            kind = dtype or dtype_of_row(row, "x")
            return b.const(number, kind)
        return b.apply(pattern.func.id, *[make(a) for a in pattern.args])

    return b.done(make(ast.parse(row.lhs, mode="eval").body))


def normal(text):
    """The right side as `expression` prints it."""
    return ast.unparse(ast.parse(text, mode="eval")).replace("-0.0", "0.0")


def arrays(row, names):
    found = []
    for i, name in enumerate(names):
        kind = dtype_of_row(row, name)
        base = {"float32": FLOATS, "int32": INTS, "bool": BOOLS}[kind]
        found.append(np.roll(base, i))
    return found


@pytest.mark.parametrize("row", optimize.ALGEBRA, ids=lambda row: row.title)
def test_row_makes_exactly_its_right_side(row):
    names = variables(row.lhs)
    graph = build(row, dict.fromkeys(names, (11,)))
    root, rule = compile_row(row)
    new = Rebuild(graph, rules={root: [rule]}, fuel=Fuel()).run()
    ir.verify(new)
    rhs = ast.parse(row.rhs, mode="eval").body
    found = expression(new.outputs[0])
    if _number(rhs) is not None:
        assert float(ast.literal_eval(found)) == _number(rhs) and new.outputs[0].aval.shape == (11,)
    else:
        assert found == normal(row.rhs)
    assert new.outputs[0].aval == graph.outputs[0].aval


@pytest.mark.parametrize("row", optimize.ALGEBRA, ids=lambda row: row.title)
def test_row_keeps_the_values(row):
    names = variables(row.lhs)
    graph = build(row, dict.fromkeys(names, (11,)))
    root, rule = compile_row(row)
    new = Rebuild(graph, rules={root: [rule]}, fuel=Fuel()).run()
    given = arrays(row, names)
    (old_value,), (new_value,) = run(graph, *given), run(new, *given)
    assert old_value.dtype == new_value.dtype
    if row.close:
        np.testing.assert_allclose(new_value, old_value, rtol=3e-7)
    else:
        if old_value.dtype.kind == "f":  # a NaN's sign means nothing
            signs = [np.signbit(np.nan_to_num(value, nan=1.0)) for value in (new_value, old_value)]
            np.testing.assert_array_equal(*signs)
        np.testing.assert_array_equal(new_value, old_value)


@pytest.mark.parametrize("row", optimize.ALGEBRA, ids=lambda row: row.title)
def test_row_survives_broadcasting(row):
    """With operands of different shapes a row fires only where the result keeps its shape, and values stay equal."""
    names = variables(row.lhs)
    if len(names) < 2:
        names_shapes = [{names[0]: s} for s in ((), (1,), (4, 1), (0,))]
    else:
        options = [(), (3,), (2, 1), (1, 3)]
        names_shapes = [dict(zip(names, c, strict=True)) for c in itertools.product(options, repeat=len(names))]
    root, rule = compile_row(row)
    for shapes in names_shapes:
        graph = build(row, shapes)
        new = Rebuild(graph, rules={root: [rule]}, fuel=Fuel()).run()
        ir.verify(new)
        given = [
            np.resize(
                {"float32": FLOATS[2:8], "int32": INTS[1:7], "bool": BOOLS}[dtype_of_row(row, name)], shapes[name]
            )
            for name in names
        ]
        (old_value,), (new_value,) = run(graph, *given), run(new, *given)
        assert old_value.shape == new_value.shape and old_value.dtype == new_value.dtype
        np.testing.assert_allclose(new_value, old_value, rtol=3e-7)


@pytest.mark.parametrize("row", [r for r in optimize.ALGEBRA if r.when != "any"], ids=lambda row: row.title)
def test_row_respects_its_dtypes(row):
    wrong = {"integer": "float32", "floating": "int32", "real": "complex64", "number": "string"}[row.when]
    try:
        graph = build(row, dict.fromkeys(variables(row.lhs), (3,)), wrong)
    except (TypeError, ValueError):
        pytest.skip("no such op for that dtype")
    root, rule = compile_row(row)
    new = Rebuild(graph, rules={root: [rule]}, fuel=Fuel()).run()
    assert ops(new) == ops(graph)


def test_a_wider_constant_is_not_dropped():
    b = Build()
    x = b.input(shape=(3,))
    out = b.multiply(x, b.const([[1.0], [1.0]]))
    wide = b.multiply(x, b.const([[1.0]]))
    new = optimize.algebra(b.done(out, wide))
    assert [expression(v) for v in new.outputs] == ["multiply(x, 1.0)", "multiply(x, 1.0)"]
    assert [v.aval.shape for v in new.outputs] == [(2, 3), (1, 3)]


def test_unknown_sizes():
    b = Build()
    x = b.input(shape=(None, 3))
    y = b.input(shape=(None, 3), name="y")
    c = b.input("bool", shape=(None, 3), name="c")
    kept = b.select(c, x, x)  # c may be what broadcasts x
    new = optimize.algebra(b.done(b.multiply(x, b.const(1)), kept, b.add(b.negative(x), y), b.zeros_like(x)))
    assert [expression(v) for v in new.outputs] == ["x", "select(c, x, x)", "subtract(y, x)", "zeros_like(x)"]


def test_minus_zero_is_not_zero():
    b = Build()
    x = b.input()
    new = optimize.algebra(b.done(b.add(x, b.const(0.0)), b.add(x, b.const(-0.0)), b.subtract(x, b.const(0.0))))
    assert [expression(v) for v in new.outputs] == ["add(x, 0.0)", "x", "x"]


def test_rows_are_read_with_care():
    with pytest.raises(ValueError):
        compile_row(Row("x", "x"))
    with pytest.raises(KeyError):
        compile_row(Row("no_such_op(x)", "x"))
    with pytest.raises(KeyError):
        compile_row(Row("negative(x)", "no_such_op(x)"))


# Rules that look at attributes


def one(build_graph, rule_pass=optimize.algebra):
    b = Build()
    new = rule_pass(b.done(build_graph(b)))
    ir.verify(new)
    return expression(new.outputs[0])


def test_casts():
    assert one(lambda b: b.cast(b.input("float32"), dtype=as_dtype("float32"))) == "x"
    f64, f32, i32 = as_dtype("float64"), as_dtype("float32"), as_dtype("int32")
    wide = one(lambda b: b.cast(b.cast(b.input("float32"), dtype=f64), dtype=i32))
    assert wide == "cast(x, dtype=tf.int32)"
    narrow = one(lambda b: b.cast(b.cast(b.input("float64"), dtype=f32), dtype=f64))
    assert narrow == "cast(cast(x, dtype=tf.float32), dtype=tf.float64)"
    assert one(lambda b: b.cast(b.cast(b.input("float32"), dtype=f64), dtype=f32)) == "x"
    assert one(lambda b: b.cast(b.cast(b.input("int32"), dtype=f64), dtype=i32)) == "x"
    for name in ("int64", "uint64"):  # more bits than float64 has
        rounded = one(lambda b, name=name: b.cast(b.cast(b.input(name), dtype=f64), dtype=as_dtype(name)))
        assert rounded == f"cast(cast(x, dtype=tf.float64), dtype=tf.{name})"


def test_transposes():
    shape = (2, 3, 4)
    twice = one(lambda b: b.transpose(b.transpose(b.input(shape=shape), perm=(1, 2, 0)), perm=(2, 0, 1)))
    assert twice == "x"
    assert one(lambda b: b.transpose(b.transpose(b.input(shape=shape), perm=(1, 0, 2)), perm=(0, 2, 1))) == (
        "transpose(x, perm=(1, 2, 0))"
    )
    x = np.arange(24.0, dtype=np.float32).reshape(shape)
    b = Build()
    graph = b.done(b.transpose(b.transpose(b.input(shape=shape), perm=(1, 0, 2)), perm=(0, 2, 1)))
    np.testing.assert_array_equal(run(optimize.algebra(graph), x)[0], x.transpose(1, 0, 2).transpose(0, 2, 1))


def test_products_of_transposes():
    """A transpose of the last two axes is the product's own; of others, and of one axis among them, it stays."""

    def product(perm, other, flags=(False, False), shapes=((2, 4, 3), (2, 5, 4))):
        def built(b):
            x, y = b.input(shape=shapes[0]), b.input(shape=shapes[1], name="y")
            x, y = (b.transpose(v, perm=p) if p else v for v, p in ((x, perm), (y, other)))
            return b.matmul(x, y, transpose_a=flags[0], transpose_b=flags[1])

        return built

    both = product((0, 2, 1), (0, 2, 1))
    assert one(both) == "matmul(x, y, transpose_a=True, transpose_b=True)"
    right = product(None, (1, 0), (True, True), ((4, 3), (4, 5)))
    assert one(right) == "matmul(x, y, transpose_a=True, transpose_b=False)"
    heads = product((1, 0, 2), None, (True, True), ((4, 2, 3), (2, 5, 4)))
    assert "transpose(x, perm=(1, 0, 2))" in one(heads)
    for made, shapes in ((both, ((2, 4, 3), (2, 5, 4))), (right, ((4, 3), (4, 5)))):
        b = Build()
        graph = b.done(made(b))
        given = [np.arange(float(np.prod(shape)), dtype=np.float32).reshape(shape) for shape in shapes]
        np.testing.assert_array_equal(run(optimize.algebra(graph), *given)[0], run(graph, *given)[0])


def test_reshapes():
    assert one(lambda b: b.reshape(b.reshape(b.input(shape=(2, 6)), shape=(12,)), shape=(3, 4))) == (
        "reshape(x, shape=(3, 4))"
    )
    assert one(lambda b: b.reshape(b.reshape(b.input(shape=(2, 6)), shape=(12,)), shape=(2, 6))) == "x"
    assert one(lambda b: b.reshape(b.input(shape=(None, 6)), shape=(-1, 6))).startswith("reshape")


def test_a_reshape_of_unknown_sizes_goes_only_where_the_next_one_fails_as_well():
    def twice(first, last):
        return one(lambda b: b.reshape(b.reshape(b.input(shape=(None, None)), shape=first), shape=last))

    assert twice((2, 3), (-1,)) == "reshape(x, shape=(6,))"
    assert twice((-1, 28, 28), (-1, 784)) == "reshape(x, shape=(-1, 784))"
    assert twice((-1, 3), (2, 6)) == "reshape(x, shape=(2, 6))"
    for first, last in (((2, -1), (-1,)), ((-1, 4), (-1, 6)), ((-1, 5), (0, 5)), ((-1, 28, 28), (-1, 28))):
        assert twice(first, last).count("reshape") == 2


def test_same_type_movements():
    assert one(lambda b: b.broadcast_to(b.input(shape=(2, 3)), shape=(2, 3))) == "x"
    assert one(lambda b: b.broadcast_to(b.input(shape=(3,)), shape=(2, 3))) == "broadcast_to(x, shape=(2, 3))"

    def undo(b):
        return b.sum_to_like(b.input(shape=(2, 3)), b.input(shape=(2, 3), name="y"))

    assert one(undo) == "x"
    assert one(lambda b: b.sum(b.input(), axes=(), keepdims=False)) == "x"
    assert one(lambda b: b.concat(b.input(), axis=0)) == "x"


# Fuel


def test_fuel_stops_the_rewriting():
    b = Build()
    x = b.input()
    out = x
    for _ in range(5):
        out = b.identity(out)
    graph = b.done(out)
    for n in range(7):
        with flags.override(fuel=n):
            left = ops(optimize.algebra(graph)).count("identity")
            assert left == max(5 - n, 0)


def test_fuel_bisects_a_planted_fault():
    with planted("algebra"):
        b = Build()
        x, y = b.input(), b.input(name="y")
        wrong = optimize.algebra(b.done(b.subtract(x, y)))
        assert expression(wrong.outputs[0]) == "add(x, y)"
        with flags.override(fuel=0):
            assert expression(optimize.algebra(b.graph).outputs[0]) == "subtract(x, y)"


def test_every_op_of_the_table_exists():
    for name in optimize.algebra_rules():
        get(name)


def test_large_zeros_are_no_constant():
    b = Build()
    new = optimize.algebra(b.done(b.zeros_like(b.input(shape=(1000, 1000)))))
    assert expression(new.outputs[0]) == "broadcast_to(0.0, shape=(1000, 1000))"


def test_a_complex_zero_has_no_sign_to_look_at() -> None:
    zero, x = fg.constant(0j, fg.complex64), fg.constant(1 - 2j, fg.complex64)
    less, product = fg.function(lambda x: (x - zero, x * zero))(x)
    assert less.numpy() == 1 - 2j
    assert product.numpy() == 0
