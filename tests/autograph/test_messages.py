"""What is said of staged code that cannot be: the name, the two values, the line."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import fastgraph as fg


def branch_dtype(x: Any) -> Any:
    if x > 0:
        y = 1
    else:
        y = 2.5
    return y


def branch_structure(x: Any) -> Any:
    if x > 0:
        y = (x, x)
    else:
        y = [x]
    return y


def branch_none(x: Any) -> Any:
    y = None
    if x > 0:
        y = x
    return y


def branch_undefined(x: Any) -> Any:
    if x > 0:
        y = x
    return y


def branch_class(x: Any) -> Any:
    mode = int
    if x > 0:
        mode = float
    return x, mode


def returned_in_one(x: Any) -> Any:
    if x > 0:
        return x


def returned_in_loop(x: Any) -> Any:
    for i in fg.range(x):
        if i > 2:
            return i


def returned_dtypes(x: Any) -> Any:
    if x > 0:
        return x
    return 0.5


def vector_condition(x: Any) -> Any:
    v = fg.stack([x, x])
    if v > 0:
        return x
    return -x


def number_condition(x: Any) -> Any:
    while x:
        x -= 1
    return x


def loop_dtype(x: Any) -> Any:
    y = 0
    for i in fg.range(x):
        y = fg.cast(i, fg.float32)
    return y


def loop_shape(x: Any) -> Any:
    y = fg.zeros([1])
    for _ in fg.range(x):
        y = fg.concat([y, y], 0)
    return y


def loop_structure(x: Any) -> Any:
    y = (x,)
    for _ in fg.range(x):
        y = ((x,),)
    return y


def loop_class(x: Any) -> Any:
    mode = int
    while x > 0:
        mode = float
        x -= 1
    return x, mode


def loop_none(x: Any) -> Any:
    y = x
    while x > 0:
        y = None
        x -= 1
    return y


def expression_dtypes(x: Any) -> Any:
    return x if x > 0 else 0.5


def undefined_in_main(x: Any) -> Any:
    if x > 0:
        pass
    else:
        y = x
    return y


def undefined_in_elif(x: Any) -> Any:
    if x > 5:
        y = 1
    elif x > 3:
        y = 2
    return y


def undefined_before_branch(x: Any) -> Any:
    if x > 0:
        y = y + 1  # type: ignore[used-before-def]  # noqa: F821
    return y  # type: ignore[used-before-def]


def read_before_the_loop_sets_it(x: Any) -> Any:
    for i in fg.range(x):
        y = y + i  # type: ignore[used-before-def]  # noqa: F821
    return y


def attribute_read_before_the_loop_sets_it(x: Any) -> Any:
    thing = Thing(x)
    for i in fg.range(x):
        if i == 0:
            thing.more = x
        else:
            thing.more = thing.more + 1
    return thing.more


def key_read_before_the_loop_sets_it(x: Any) -> Any:
    d: dict[str, Any] = {}
    k = "key"
    while x > 0:
        if x == 3:
            d[k] = x
        else:
            d[k] = d[k] + 1
        x -= 1
    return d[k]


class Holder:
    def __init__(self) -> None:
        self.values = [fg.constant(3)]


def object_that_a_loop_makes(x: Any) -> Any:
    while x > 0:
        thing = Holder()
        thing.values[0] = thing.values[0] + 1
        x -= 1
    return thing.values[0]


def deleted_in_both_branches(x: Any) -> Any:
    y = x
    if x > 0:
        del y
    else:
        del y
    return y


def deleted_in_loop(x: Any) -> Any:
    y = x
    for _ in fg.range(x):
        del y
    return x


def key_in_one_branch(x: Any) -> Any:
    d = {}
    if x > 0:
        d["a"] = x
    return x


def keys_by_a_method(x: Any) -> Any:
    d = {"a": x}
    if x > 0:
        d.update(b=x)
    return x + len(d)


def keys_in_a_loop(x: Any) -> Any:
    d = {"a": x}
    for i in fg.range(x):
        d.update(b=i)
    return d["a"] if "b" in d else x


def key_that_a_method_sets_read(x: Any) -> Any:
    d = {"a": x}
    if x > 0:
        d.update(b=x * 2)
    return d["b"]


class Held:
    """An object with an attribute."""

    def __init__(self, value: Any) -> None:
        self.value = value


def attribute_of_one_or_another_object(x: Any) -> Any:
    a, b = Held(x), Held(x + 1)
    one = a
    if x > 0:
        one.value = x * 10
    else:
        one = b
    return a.value, b.value


def set_in_one_branch(x: Any) -> Any:
    s = {1}
    if x > 0:
        s.add(2)
    return x


def set_in_a_loop(x: Any) -> Any:
    s = {1}
    for _ in fg.range(x):
        s.add(2)
    return x


class Thing:
    def __init__(self, value: Any) -> None:
        self.value = value

    def extend(self, value: Any) -> None:
        self.more = value


def attribute_in_one_branch(x: Any) -> Any:
    thing = Thing(x)
    if x > 0:
        thing.more = x
    return thing.value


def attribute_by_a_method(x: Any) -> Any:
    thing = Thing(x)
    if x > 0:
        thing.extend(x)
    return thing.more


def nonlocal_in_one_branch(x: Any) -> Any:
    def note() -> None:
        nonlocal y
        y = x

    if x > 0:
        note()
    return x + y  # noqa: F821
    y = 0


def list_of_text_read(x: Any) -> Any:
    log = []
    for _ in fg.range(x):
        log.append("step")
    return x + len(log)


def list_of_classes_returned(x: Any) -> Any:
    log = []
    if x > 0:
        log.append(int)
    else:
        log.append(float)
    return x, log


def list_of_several_dtypes(x: Any) -> Any:
    log = []
    for i in fg.range(x):
        log.append(i)
        log.append(fg.cast(i, fg.float32))
    return x + log[0]


def vector_in_while(x: Any) -> Any:
    v = fg.stack([x, x])
    while v > 0:
        v -= 1
    return v


def vector_in_and(x: Any) -> Any:
    return fg.stack([x, x]) > 0 and x > 1


def number_in_or(x: Any) -> Any:
    return x or x > 1


def vector_in_expression(x: Any) -> Any:
    return x if fg.stack([x, x]) > 0 else -x


def scalar_iterated(x: Any) -> Any:
    for row in x:
        x += row
    return x


def rows_unpacked(x: Any) -> Any:
    for a, b in fg.zeros([3, 3]):
        x += fg.cast(a + b, fg.int32)
    return x


def object_in_loop(x: Any) -> Any:
    thing = Thing(0)
    for _ in fg.range(x):
        thing = Thing(1)
    return x, thing.value


def loop_rank(x: Any) -> Any:
    y = x
    while x > 0:
        y = fg.stack([x, x])
        x -= 1
    return y


def loop_dict(x: Any) -> Any:
    y = {"a": x}
    for i in fg.range(x):
        y = {"b": i}
    return y


def branch_dict(x: Any) -> Any:
    if x > 0:
        y = {"a": x}
    else:
        y = {"b": x}
    return y


def returned_structures(x: Any) -> Any:
    if x > 0:
        return x, x
    return x


def returned_nothing_in_loop(x: Any) -> Any:
    while x > 0:
        x -= 1
        if x == 1:
            return
    return x


def shape_in_branches_of_a_loop(x: Any) -> Any:
    y = fg.zeros([2])
    for i in fg.range(x):
        if i > 1:
            y = fg.zeros([3])
    return y


def or_of_a_changed_list(x: Any) -> Any:
    values = []
    for i in fg.range(x):
        if i > 1:
            values.append(i)
    return fg.stack(values or [x])


def element_put_by_a_tensor(x: Any) -> Any:
    values = [x, x]
    for i in fg.range(x):
        values[i] = fg.stack([i, i])
    return values


def number_of_a_changed_list(x: Any) -> Any:
    values = []
    for i in fg.range(x):
        if i > 1:
            values.append(i)
    return fg.autograph.experimental.do_not_convert(len)(values)


def row_of_rows_written(x: Any) -> Any:
    rows = [[0, 0], [0, 0]]
    for i in fg.range(x):
        rows[i % 2][1] += i
    return rows


MUST = r"must also be initialized in the (main|else) branch"


def up(x: Any) -> Any:
    return x + 1


def down(x: Any) -> Any:
    return x - 1


def functions_in_branches(x: Any) -> Any:
    if x > 0:
        f = up
    else:
        f = down
    return f(x)


def functions_in_a_loop(x: Any) -> Any:
    f = up
    while x > 0:
        x = f(x)
        f = down
    return x


def functions_in_expression(x: Any) -> Any:
    f = up if x > 0 else down
    return f(x)


def objects_in_expression(x: Any) -> Any:
    return object() if x > 0 else x


def none_in_expression(x: Any) -> Any:
    return x if x > 0 else None


def attribute_that_a_loop_makes(x: Any) -> Any:
    thing = SimpleNamespace(made=None)
    for _ in fg.range(x):
        if thing.made is None:
            thing.made = fg.Variable(1.0)
    return thing.made.shape


CASES: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (
        attribute_that_a_loop_makes,
        ValueError,
        r"'thing.made' is None at the end of the else branch",
    ),
    (branch_dtype, TypeError, r"'y' has dtype int32 in the main branch, but dtype float32 in the else branch"),
    (branch_structure, TypeError, r"'y' must have the same nested structure in the main and else branches"),
    (branch_none, ValueError, r"'y' is None at the end of the else branch"),
    (branch_undefined, ValueError, r"'y' must also be initialized in the else branch"),
    (branch_class, TypeError, r"'mode' .*holds class 'float' in the main branch and class 'int' in the else branch"),
    (returned_in_one, ValueError, r"A value must also be returned from the else branch \(.*test_messages\.py:\d+\)"),
    (returned_in_loop, ValueError, r"A value must also be returned"),
    (returned_dtypes, TypeError, r"the return value has dtype int32 in the main branch"),
    (vector_condition, ValueError, r"condition of if statement expected to be `tf\.bool` scalar"),
    (number_condition, ValueError, r"condition of while loop expected to be `tf\.bool` scalar"),
    (loop_dtype, TypeError, r"'y' has dtype int32 before the loop, but dtype float32 after one iteration"),
    (loop_shape, ValueError, r"'y' has shape \(1,\) before the loop, but shape \(2,\) after one .*set_loop_options"),
    (loop_structure, TypeError, r"'y' does not have the same nested structure before the loop and after an iteration"),
    (loop_class, TypeError, r"'mode' .*holds class 'int' before and class 'float' after one"),
    (loop_none, ValueError, r"'y' is None at the end of an iteration, and a value before the loop"),
    (undefined_in_main, ValueError, r"'y' must also be initialized in the main branch"),
    (undefined_in_elif, ValueError, r"'y' must also be initialized in the else branch"),
    (undefined_before_branch, UnboundLocalError, r"'?y'? is used before assignment"),
    (read_before_the_loop_sets_it, ValueError, r"'y' must be defined before the loop .*'y' is used before assignment"),
    (attribute_read_before_the_loop_sets_it, ValueError, r"'thing\.more' must be defined before the loop"),
    (key_read_before_the_loop_sets_it, ValueError, r"'d\[k\]' must be defined before the loop"),
    (object_that_a_loop_makes, ValueError, r"'thing' must be defined before the loop"),
    (deleted_in_both_branches, ValueError, r"'y' must also be initialized in the main branch \(.*both delete it"),
    (deleted_in_loop, ValueError, r"'y' is defined before the loop and deleted in it"),
    (key_in_one_branch, ValueError, rf"'d\['a'\]' {MUST}"),
    (keys_by_a_method, ValueError, r"dict 'd' is changed in an if .*test_messages\.py:\d+\).*keys \['a', 'b'\] after"),
    (keys_in_a_loop, ValueError, r"dict 'd' is changed in a loop .*test_messages\.py:\d+\).*keys \['a'\] before"),
    (
        attribute_of_one_or_another_object,
        ValueError,
        r"'one\.value' is set in the main branch, .*gives 'one' another object",
    ),
    (set_in_one_branch, ValueError, r"set 's' is changed in an if .*test_messages\.py:\d+"),
    (set_in_a_loop, ValueError, r"set 's' is changed in a loop .*test_messages\.py:\d+"),
    (attribute_in_one_branch, ValueError, rf"'thing\.more' {MUST}"),
    (key_that_a_method_sets_read, ValueError, r"dict 'd' is changed in an if .*test_messages\.py:\d+\).*\['a', 'b'\]"),
    (attribute_by_a_method, fg.errors.InaccessibleTensorError, r"'cond/Identity:0' .*is out of scope"),
    (nonlocal_in_one_branch, fg.errors.InaccessibleTensorError, r"'cond/Identity:0' .*is out of scope"),
    (list_of_text_read, ValueError, r"list 'log' is changed in a loop .*test_messages\.py:\d+\).*0 elements before"),
    (list_of_classes_returned, TypeError, r"'log' .*holds class 'int' in the main branch"),
    (list_of_several_dtypes, TypeError, r"the list 'log' .*test_messages\.py:\d+\) have dtypes int32 and float32"),
    (vector_in_while, ValueError, r"condition of while loop expected to be `tf\.bool` scalar"),
    (vector_in_and, ValueError, r"condition of `and` expected to be `tf\.bool` scalar"),
    (number_in_or, ValueError, r"condition of `or` expected to be `tf\.bool` scalar"),
    (vector_in_expression, ValueError, r"condition of conditional expression expected to be `tf\.bool` scalar"),
    (scalar_iterated, TypeError, r"cannot iterate over a scalar tensor"),
    (rows_unpacked, ValueError, r"too many values to unpack"),
    (object_in_loop, TypeError, r"'thing' must have the same non-tensor values before the loop"),
    (loop_rank, ValueError, r"'y' has shape \(\) before the loop, but shape \(2,\) after one"),
    (loop_dict, TypeError, r"'y' does not have the same nested structure before the loop"),
    (branch_dict, TypeError, r"'y' must have the same nested structure in the main and else"),
    (returned_structures, TypeError, r"the return value must have the same nested structure"),
    (returned_nothing_in_loop, ValueError, r"the return value|A value must also be returned"),
    (shape_in_branches_of_a_loop, ValueError, r"'y' has shape \(2,\) before the loop, but shape \(None,\) after"),
    (or_of_a_changed_list, NotImplementedError, r"`or` of the list 'values' .*test_messages\.py:\d+.*len\(values\)"),
    (
        element_put_by_a_tensor,
        TypeError,
        r"a tensor is the index of an element that is set \(.*test_messages\.py:\d+\)",
    ),
    (number_of_a_changed_list, TypeError, r"length of 'values', .*AutoGraph converts"),
    (row_of_rows_written, TypeError, r"cannot be a Python index"),
    (functions_in_branches, TypeError, r"'f' must .* it holds function 'up' .* function 'down' .*tf\.cond"),
    (functions_in_a_loop, TypeError, r"'f' must .* it holds function 'up' before and function 'down' .*switch_case"),
    (functions_in_expression, TypeError, r"`\.\.\. if .*x > 0.* else .*` gives function 'up'.*test_messages\.py:\d+"),
    (objects_in_expression, TypeError, r"gives <object objec.*both values must be tensors or numbers\."),
    (none_in_expression, ValueError, r"`\.\.\. if .*x > 0.* is None in the else branch"),
    (expression_dtypes, TypeError, r"conditional expression `.*x > 0.*` must have the same structure and dtypes"),
]


@pytest.mark.parametrize(("function", "kind", "text"), CASES, ids=lambda case: getattr(case, "__name__", None))
def test_the_error_names_the_symbol(function: Callable[[Any], Any], kind: type[Exception], text: str) -> None:
    staged = fg.function(function)
    with pytest.raises(kind, match=text) as raised:
        staged(fg.constant(3))
    assert "test_messages.py" in str(raised.value)
    with pytest.raises(kind):  # the next call traces afresh
        staged(fg.constant(3))


def test_a_missing_return_is_told_of_the_function_that_misses_it() -> None:
    @fg.function
    def good(x: Any) -> Any:
        if x > 0:
            y = x
        else:
            y = -x
        return y

    @fg.function
    def bad(x: Any) -> Any:
        if x > 0:
            return x

    good(fg.constant(1.0))
    with pytest.raises(ValueError, match="must also be returned from the else branch") as caught:
        bad(fg.constant(1.0))
    first = bad.python_function.__code__.co_firstlineno
    line = int(str(caught.value).partition("line ")[2].partition(",")[0])
    assert first < line <= first + 3
