"""tf.experimental.dispatch_for_*: public functions of values of users' own types."""

import inspect
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import fastgraph as tf

experimental = tf.experimental


class Masked(experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor


X = Masked([1.0, -2.0], [True, False])
Either = typing.Union[Masked, tf.Tensor]  # noqa: UP007
unregister = experimental.unregister_dispatch_for


@pytest.fixture
def registered() -> Iterator[list[Any]]:
    """What a test registers here is forgotten after it."""
    targets: list[Any] = []
    yield targets
    for target in targets:
        unregister(target)


def plain(x: Any) -> Any:
    return x.numpy().tolist()


def test_by_annotations(registered: list[Any]) -> None:
    @experimental.dispatch_for_api(tf.math.add)
    def add(x: Masked, y: Masked, name: str | None = None) -> Any:
        return Masked(x.values + y.values, x.mask & y.mask)

    registered.append(add)
    assert plain(tf.add(X, X).values) == plain(tf.math.add(x=X, y=X, name="sum").values) == [2.0, -4.0]
    assert plain(tf.add(1.0, 2.0)) == 3.0 and plain(tf.function(lambda a: tf.add(a, a).values)(X)) == [2.0, -4.0]
    with pytest.raises(ValueError, match="unsupported type"):
        tf.add(X, 1.0)


def test_by_signatures(registered: list[Any]) -> None:
    @experimental.dispatch_for_api(tf.reduce_sum, {"input_tensor": Masked}, {"axis": Masked})
    def total(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return "masked"

    @experimental.dispatch_for_api(tf.subtract, {0: Masked, 1: tf.Tensor})
    def less(x: Any, y: Any) -> Any:
        return x.values - y

    @experimental.dispatch_for_api(tf.concat, {"values": list[Masked]})
    def join(values: Any, axis: Any, name: str = "concat") -> Any:
        return len(values), axis

    registered += [total, less, join]
    assert plain(tf.subtract(X, tf.constant(1.0))) == [0.0, -3.0]
    assert tf.reduce_sum(X) == tf.reduce_sum(X, name="n") == tf.math.reduce_sum(1.0, X) == "masked"
    assert plain(tf.reduce_sum([1.0, 2.0])) == 3.0
    assert tf.concat([X, X], 0) == (2, 0) and tf.concat((X,), axis=1) == (1, 1)
    assert plain(tf.concat([[1.0], [2.0]], 0)) == [1.0, 2.0]
    for refused in ([X, 1.0], []):
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            tf.concat(refused, 0)


def test_functions_keep_what_they_are(registered: list[Any]) -> None:
    before, names = tf.reduce_sum, inspect.signature(tf.reduce_sum)

    @experimental.dispatch_for_api(tf.reduce_sum, {"input_tensor": Masked})
    def total(*args: Any, **kwargs: Any) -> Any:
        return "masked"

    assert tf.reduce_sum is before and inspect.signature(before) == names and before(X) == "masked"
    assert before.__name__ == "reduce_sum" and plain(before([[1.0], [2.0]], axis=0, keepdims=True)) == [[3.0]]
    unregister(total)
    own = before.__code__
    assert "args" not in own.co_varnames and plain(before([1.0, 2.0])) == 3.0
    with pytest.raises(ValueError, match="unsupported type"):
        before(X)


def test_not_implemented_leaves_it_to_the_function(registered: list[Any]) -> None:
    @experimental.dispatch_for_api(tf.add, {"x": Either, "y": Either})
    def add(x: Any, y: Any) -> Any:
        return NotImplemented if isinstance(y, tf.Tensor) else "both"

    registered.append(add)
    assert tf.add(X, X) == "both" and tf.add(tf.constant(1.0), X) == "both"
    assert plain(tf.add(tf.constant(1.0), tf.constant(2.0))) == 3.0  # no argument is of the user's type
    with pytest.raises(ValueError, match="unsupported type"):
        tf.add(X, tf.constant(1.0))


@pytest.mark.parametrize(
    ("use", "kind", "text"),
    [
        (lambda: experimental.dispatch_for_api(tf.add, {"z": Masked}), ValueError, "unknown parameter 'z'"),
        (lambda: experimental.dispatch_for_api(tf.add, {"x": 3}), ValueError, "not currently supported by dispatch"),
        (lambda: experimental.dispatch_for_api(tf.add, {3: Masked}), ValueError, "unknown parameter 3"),
        (lambda: experimental.dispatch_for_api(tf.add, 3), TypeError, "signatures must be dictionaries"),
        (lambda: experimental.dispatch_for_api(tf.add, {None: Masked}), TypeError, "signatures must be dictionaries"),
        (lambda: experimental.dispatch_for_api(tf.add)(lambda x, y: 1), ValueError, "at least one signature"),
        (lambda: experimental.dispatch_for_api(tf.add, {"x": Masked})(lambda x, z: 1), ValueError, "does not match"),
        (lambda: experimental.dispatch_for_api(tf.add, {"x": Masked})(3), TypeError, "to be callable"),
        (lambda: experimental.dispatch_for_api(len, {"x": Masked}), ValueError, "does not support dispatch"),
        (lambda: unregister(lambda: 1), ValueError, "was not registered"),
    ],
)
def test_what_cannot_be_registered(use: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        use()
    assert plain(tf.add(1, 2)) == 3


def test_two_that_fit_are_an_error(registered: list[Any]) -> None:
    registered += [
        experimental.dispatch_for_api(tf.add, {"x": Masked})(lambda x, y: "first"),
        experimental.dispatch_for_api(tf.add, {"y": Masked})(lambda x, y: "second"),
    ]
    assert tf.add(X, 1.0) == "first" and tf.add(1.0, X) == "second"
    with pytest.raises(ValueError, match="Multiple dispatch targets"):
        tf.add(X, X)


def test_unary_functions(registered: list[Any]) -> None:
    @experimental.dispatch_for_unary_elementwise_apis(Masked)
    def unary(api: Any, x: Masked) -> Any:
        return Masked(api(x.values), x.mask)

    registered.append(unary)
    assert plain(tf.abs(X).values) == [1.0, 2.0] and plain(tf.cast(X, tf.int32).values) == [1, -2]
    assert plain(tf.clip_by_value(X, 0.0, 0.5, name="c").values) == [0.5, 0.0]
    assert plain(tf.ones_like(X, dtype=tf.int32).values) == [1, 1] and plain(tf.nn.relu(X).values) == [1.0, 0.0]
    assert plain(tf.nn.leaky_relu(X, alpha=0.5).values) == [1.0, -1.0]
    assert plain(tf.function(tf.negative)(X).values) == [-1.0, 2.0] and plain(tf.strings.as_string(X).mask) == [1, 0]
    assert plain(tf.abs([-1.0])) == [1.0]
    with pytest.raises(ValueError, match="unsupported type"):
        tf.reduce_sum(X)
    with pytest.raises(ValueError, match="has already been registered"):
        experimental.dispatch_for_unary_elementwise_apis(Masked)(unary)


def test_binary_functions(registered: list[Any]) -> None:
    @experimental.dispatch_for_binary_elementwise_apis(Either, Either)
    def binary(api: Any, x: Any, y: Any) -> Any:
        x, y = (v if isinstance(v, Masked) else Masked(v, tf.ones_like(v, tf.bool)) for v in (x, y))
        return Masked(api(x.values, y.values), x.mask & y.mask)

    registered.append(binary)
    two = tf.constant(2.0)
    assert plain(tf.multiply(X, two).values) == plain(tf.multiply(two, X).values) == [2.0, -4.0]
    assert plain(tf.maximum(X, X, name="m").values) == [1.0, -2.0]
    assert plain(tf.nn.sigmoid_cross_entropy_with_logits(labels=X, logits=X).mask) == [True, False]
    assert plain(tf.equal(X, two).values) == [False, False] and plain(two + two) == 4.0


def test_assertions(registered: list[Any]) -> None:
    @experimental.dispatch_for_binary_elementwise_assert_apis(Masked, Masked)
    def check(api: Any, x: Masked, y: Masked) -> Any:
        return api(x.values, y.values)

    registered.append(check)
    tf.debugging.assert_equal(X, X)
    with pytest.raises(tf.errors.InvalidArgumentError, match="these"):
        tf.debugging.assert_less(X, X, message="these")


def test_any_class_will_do(registered: list[Any]) -> None:
    class Own:
        pass

    @experimental.dispatch_for_api(tf.stack, {"values": typing.List[Own]})  # noqa: UP006
    def pile(values: Any, axis: int = 0) -> Any:
        return f"{len(values)} along {axis}"

    registered.append(pile)
    assert tf.stack([Own(), Own()], axis=1, name="s") == "2 along 1"


def test_calls_cost_nothing_while_nothing_is_registered() -> None:
    """A function's code is its own before and after: no check stands in front of it."""
    before = tf.add.__code__
    target = experimental.dispatch_for_api(tf.add, {"x": Masked})(lambda x, y: 1)
    assert tf.add.__code__ is not before
    unregister(target)
    assert tf.add.__code__ is before
