"""What decides which trace serves a call: dataclasses, attrs classes, objects that take themselves apart or say a type."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import gc
import uuid
import weakref
from collections import namedtuple
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

Pair = namedtuple("Pair", "x y")
scalar = fg.TensorSpec([], fg.int32)


class Traced:
    """A Function and how often it was traced."""

    def __init__(self, python_function: Any, **options: Any) -> None:
        self.count = 0

        def f(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            return python_function(*args, **kwargs)

        self.function = fg.function(f, autograph=False, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


# ---------------------------------------------------------------------------------------------------------------------
# Dataclasses


@dataclasses.dataclass
class Batch:
    x: Any
    k: int = 1
    rest: list[Any] = dataclasses.field(default_factory=list)

    def scaled(self) -> Any:
        return self.x * self.k


@dataclasses.dataclass(frozen=True)
class Config:
    width: int
    names: tuple[str, ...] = ()
    rate: float = 0.5


@dataclasses.dataclass
class State:
    steps: int = 0


@dataclasses.dataclass(slots=True)
class Slots:
    x: Any
    inner: Any = None


VALUES = [
    (lambda: datetime.date(2020, 1, 2), datetime.date(2020, 1, 3)),
    (lambda: datetime.datetime(2020, 1, 2), datetime.date(2020, 1, 2)),
    (lambda: Decimal("1.0"), Decimal("1.00")),  # equal, and yet not the same to who prints them
    (lambda: Fraction(1, 2), Fraction(1, 3)),
    (lambda: Path("a") / "b", Path("a")),
    (lambda: uuid.UUID(int=1), uuid.UUID(int=2)),
    (lambda: frozenset([1, "a"]), frozenset([True, "a"])),
]


@pytest.mark.parametrize(("make", "other"), VALUES, ids=[type(make()).__name__ for make, _ in VALUES])
def test_values_of_pythons_library_count_by_what_they_hold(make: Any, other: Any) -> None:
    f = fg.function(lambda value, x: fg.constant(repr(value)))
    for _ in range(3):
        for value in (make(), other):
            assert f(value, 1).numpy().decode() == repr(value) or isinstance(value, frozenset)
            gc.collect()  # a trace does not go with the object it was made for: another may be equal
    assert f.experimental_get_tracing_count() == 2
    assert "by identity" not in str(f.explain_retraces())
    concrete = f.get_concrete_function(make(), fg.constant(1))
    concrete(make(), fg.constant(1))
    with pytest.raises(TypeError, match="was constructed with"):
        concrete("another", fg.constant(1))


def test_a_value_with_an_object_in_it_counts_by_identity() -> None:
    class Zone(datetime.tzinfo):
        pass

    f = fg.function(lambda value: fg.constant(1))
    for value in (datetime.datetime(2020, 1, 2, tzinfo=Zone()), frozenset([Zone()])):
        before = f.experimental_get_tracing_count()
        for each in (value, value, copy.copy(value)):
            f(each)
        kept = 1 if copy.copy(value) is value else 2
        assert f.experimental_get_tracing_count() - before == kept


def test_a_dataclass_with_tensors_counts_by_its_fields() -> None:
    f = Traced(lambda d: d.scaled())
    assert [int(f(Batch(fg.constant(x), 3))) for x in (2, 4, 6)] == [6, 12, 18] and f.count == 1
    assert int(f(Batch(fg.constant(2), 4))) == 8 and f.count == 2
    np.testing.assert_array_equal(f(Batch(np.array([1, 2], np.int32), 3)), [3, 6])
    assert f.count == 3
    f(Batch(fg.constant(2), 3, [1]))
    f(Batch(fg.constant(2), 3, [1]))
    assert f.count == 4


def test_dataclasses_in_dicts_and_in_each_other() -> None:
    f = Traced(lambda d, *rest, **more: d["a"][0].x + d["a"][0].inner.scaled() + rest[0].x + more["other"].x)

    def call(n: int) -> Any:
        inner = Batch(fg.constant(n), 2)
        return f({"a": [Slots(fg.constant(1), inner)]}, Slots(fg.constant(10)), other=Pair(fg.constant(100), None))

    assert [int(call(n)) for n in (1, 2)] == [113, 115] and f.count == 1


def test_a_frozen_dataclass_counts_by_value() -> None:
    f = Traced(lambda c, x: x * c.width)
    x = fg.constant(2)
    for _ in range(3):
        assert int(f(Config(3, ("a",)), x)) == 6
    assert f.count == 1
    assert int(f(Config(4, ("a",)), x)) == 8 and f.count == 2
    f(Config(4, ("a",), 0.25), x)
    assert f.count == 3


def test_a_dataclass_with_a_state_counts_by_identity_and_is_passed_itself() -> None:
    def step(state: State, x: Any) -> Any:
        state.steps += 1
        return x

    f = Traced(step)
    state = State()
    for _ in range(3):
        f(state, fg.constant(1))
    assert (state.steps, f.count) == (1, 1)
    reference = weakref.ref(state)
    f(State(), fg.constant(1))
    assert f.count == 2
    del state
    gc.collect()
    assert reference() is None


def test_changing_a_dataclass_that_was_taken_apart_is_an_error() -> None:
    def step(d: Batch) -> Any:
        d.x = d.x + 1
        return d.x

    with pytest.raises(ValueError, match="should not modify its Python input arguments"):
        fg.function(step)(Batch(fg.constant(1)))


def test_sizes_in_dataclasses_are_relaxed() -> None:
    f = Traced(lambda d: fg.reduce_sum(d.x), reduce_retracing=True)
    for n in range(1, 6):
        assert int(f(Batch(fg.ones([n], fg.int32)))) == n
    assert f.count == 2


def test_dataclasses_in_concrete_functions() -> None:
    f = fg.function(lambda d, n: d.x * n, autograph=False)
    concrete = f.get_concrete_function(Batch(scalar, 3), 2)
    assert int(concrete(Batch(fg.constant(5), 3))) == 10
    (args, _) = concrete.structured_input_signature
    assert type(args[0]) is Batch and args[0].x == fg.TensorSpec([], fg.int32, name="d_x") and args[0].k == 3
    with pytest.raises(TypeError):
        concrete(Batch(fg.constant(5), 4))


def test_gradients_through_dataclasses() -> None:
    f = fg.function(lambda d: d.x * d.x, autograph=False)
    x = fg.constant(3.0)
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = f(Batch(x))
    assert float(tape.gradient(y, x)) == 6.0


def test_variables_in_dataclasses_stay_themselves() -> None:
    @dataclasses.dataclass(frozen=True)
    class Weights:
        w: Any

    f = Traced(lambda weights, x: weights.w.assign_add(x))
    v = fg.Variable(1.0)
    f(Weights(v), fg.constant(2.0))
    f(Weights(v), fg.constant(2.0))
    assert float(v) == 5.0 and f.count == 1


# ---------------------------------------------------------------------------------------------------------------------
# What takes itself apart


@dataclasses.dataclass
class Masked:
    x: Any
    mask: Any
    label: str = ""

    def __tf_flatten__(self) -> tuple[tuple[str], tuple[Any, Any]]:
        return (self.label,), (self.x, self.mask)

    @classmethod
    def __tf_unflatten__(cls, metadata: tuple[str], components: tuple[Any, Any]) -> Masked:
        return cls(*components, *metadata)


def test_what_takes_itself_apart_is_argument_and_result() -> None:
    f = Traced(lambda m: Masked(m.x * 2, m.mask, m.label + "!"))
    for n in (1, 2):
        result = f(Masked(fg.constant(n), fg.constant(True), "a"))
        assert type(result) is Masked and int(result.x) == 2 * n and result.label == "a!"
    assert f.count == 1
    assert f(Masked(fg.constant(1), fg.constant(True), "b")).label == "b!" and f.count == 2


def test_nest_takes_it_apart() -> None:
    value = Masked([1, 2], {"k": 3}, "a")
    assert fg.nest.is_nested(value) and fg.nest.flatten([value, 4]) == [1, 2, 3, 4]
    assert fg.nest.map_structure(lambda leaf: -leaf, value) == Masked([-1, -2], {"k": -3}, "a")
    assert fg.nest.pack_sequence_as(value, [5, 6, 7]) == Masked([5, 6], {"k": 7}, "a")
    fg.nest.assert_same_structure(
        value, Masked([1, 2], {"k": 3}, "b")
    )  # what is no child does not count, as in TensorFlow
    with pytest.raises(ValueError, match="don't have the same nested structure"):
        fg.nest.assert_same_structure(value, Masked([1, 2, 3], {"k": 3}, "a"))


def test_it_is_a_loops_state_and_a_branchs_result() -> None:
    @fg.function
    def f(m: Any, n: Any) -> Any:
        for _ in fg.range(n):
            m = Masked(m.x * 2, m.mask, m.label)
        if n > 2:
            m = Masked(-m.x, m.mask, m.label)
        return m

    assert [int(f(Masked(fg.constant(1), fg.constant(True), "a"), fg.constant(n)).x) for n in (1, 2, 3)] == [2, 4, -8]


# ---------------------------------------------------------------------------------------------------------------------
# attrs


def test_attrs_classes() -> None:
    attr = pytest.importorskip("attr")

    @attr.s
    class Old:
        x = attr.ib()
        k = attr.ib(default=1)

    @attr.define
    class New:
        x: Any
        inner: Any = None

    f = Traced(lambda a, b: New(a.x * a.k, Old(b.x)))
    for n in (2, 3):
        result = f(Old(fg.constant(n), 5), New(fg.constant(n), [1]))
        assert type(result) is New and int(result.x) == 5 * n and int(result.inner.x) == n
    assert f.count == 1
    f(Old(fg.constant(1), 6), New(fg.constant(1), [1]))
    f(Old(fg.constant(1), 5), New(fg.constant(1), (1,)))  # a list is no tuple
    assert f.count == 3


class LikeAttrs:
    """What an attrs class looks like from outside."""

    __attrs_attrs__ = (namedtuple("A", "name")("x"), namedtuple("A", "name")("y"))

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y


def test_containers_inside_of_attrs_classes_count() -> None:
    f = Traced(lambda a: a.x + len(a.y))
    for y in ([1, 2], [1, 2], (1, 2), [[1, 2]], [1, [2]]):
        f(LikeAttrs(fg.constant(1), y))
    assert f.count == 4


# ---------------------------------------------------------------------------------------------------------------------
# What says its type


class BagType(fg.types.experimental.TraceType):
    """Of a bag: its size counts, or with None does not."""

    def __init__(self, size: int | None, spec: Any = scalar) -> None:
        self.size, self.spec = size, spec

    def is_subtype_of(self, other: Any) -> bool:
        return isinstance(other, BagType) and other.size in (None, self.size) and self.spec.is_subtype_of(other.spec)

    def most_specific_common_supertype(self, others: Any) -> Any:
        specs = self.spec.most_specific_common_supertype([other.spec for other in others])
        same = all(other.size == self.size for other in others)
        return None if specs is None else BagType(self.size if same else None, specs)

    def placeholder_value(self, placeholder_context: Any) -> Bag:
        return Bag(self.spec.placeholder_value(placeholder_context), self.size)

    def to_tensors(self, value: Any) -> list[Any]:
        return self.spec.to_tensors(value.x)

    def from_tensors(self, tensors: Iterator[Any]) -> Bag:
        return Bag(self.spec.from_tensors(tensors), self.size)

    def flatten(self) -> list[Any]:
        return self.spec.flatten()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BagType) and (self.size, self.spec) == (other.size, other.spec)

    def __hash__(self) -> int:
        return hash((self.size, self.spec))


class Bag:
    def __init__(self, x: Any, size: int | None) -> None:
        self.x, self.size = x, size

    def __tf_tracing_type__(self, context: Any) -> BagType:
        return BagType(self.size, fg.TensorSpec(self.x.shape, self.x.dtype))


def test_the_type_that_an_object_says_decides() -> None:
    f = Traced(lambda bag, x: bag.x * bag.size + x)
    one = fg.constant(1)
    assert [int(f(Bag(fg.constant(n), 2), one)) for n in (3, 4)] == [7, 9] and f.count == 1
    assert int(f(Bag(fg.constant(3), 5), one)) == 16 and f.count == 2
    assert int(f([Bag(fg.constant(3), 5)][0], one)) == 16 and f.count == 2


def test_a_trace_serves_subtypes() -> None:
    f = Traced(lambda d: d["bag"].x + 1)
    concrete = f.function.get_concrete_function({"bag": BagPlaceholder(BagType(None))})
    assert [int(f({"bag": Bag(fg.constant(n), n)})) for n in (1, 2)] == [2, 3] and f.count == 1
    assert int(concrete({"bag": Bag(fg.constant(7), 9)})) == 8
    with pytest.raises(TypeError):
        concrete({"bag": 3})


class BagPlaceholder(Bag):
    """Describes bags where no bag is."""

    def __init__(self, type_: BagType) -> None:
        super().__init__(type_.spec, type_.size)
        self.type = type_

    def __tf_tracing_type__(self, context: Any) -> BagType:
        return self.type


def test_types_are_relaxed_to_their_common_supertype() -> None:
    f = Traced(lambda bag: fg.reduce_sum(bag.x), reduce_retracing=True)
    for n in range(1, 6):
        assert int(f(Bag(fg.ones([n], fg.int32), n))) == n
    assert f.count == 2


def test_what_the_protocol_returns_must_be_a_type() -> None:
    class Wrong:
        def __tf_tracing_type__(self, context: Any) -> Any:
            return 3

    with pytest.raises(TypeError, match="Wrong.__tf_tracing_type__ must return a TraceType"):
        fg.function(lambda x: fg.constant(1))(Wrong())
    assert isinstance(Wrong(), fg.types.experimental.SupportsTracingProtocol)


def test_names_of_the_types_namespace() -> None:
    f = fg.function(lambda x: x)
    assert isinstance(f, fg.types.experimental.PolymorphicFunction | fg.types.experimental.GenericFunction)
    assert isinstance(f.get_concrete_function(scalar), fg.types.experimental.ConcreteFunction)


# ---------------------------------------------------------------------------------------------------------------------
# Names of specs


def test_names_of_nested_specs_say_where_they_are() -> None:
    f = fg.function(lambda d, *e, **z: fg.constant(1), autograph=False)
    spec = {"a": scalar, "b": (scalar, [fg.constant(1)]), "c": Pair(scalar, 4), "2 z": scalar}
    named = fg.TensorSpec([], fg.int32, name="q")
    concrete = f.get_concrete_function(spec, named, fg.constant(1), w=fg.constant(2), u=named)
    args, kwargs = concrete.structured_input_signature
    names = fg.nest.map_structure(lambda leaf: getattr(leaf, "name", leaf), args[0])
    assert names == {"a": "d_a", "b": ("d_b_0", ["d_b_1_0"]), "c": Pair("d_c_x", 4), "2 z": "d_2_z"}
    assert [spec.name for spec in args[1:]] == ["q", "e_1"]
    assert {key: value.name for key, value in kwargs.items()} == {"w": "w", "u": "q"}


def test_names_of_an_input_signature() -> None:
    signature = [{"a": scalar, "b": [fg.TensorSpec([], fg.int32, name="foo"), scalar]}, scalar]
    f = fg.function(lambda d, e: d["b"][0] + e, input_signature=signature, autograph=False)
    f({"a": 1, "b": [2, 3]}, 4)
    concrete = f.get_concrete_function()
    assert f.experimental_get_tracing_count() == 1
    assert [tensor.name for tensor in concrete.inputs] == ["d:0", "foo:0", "d_1:0", "e:0"]
    (d, e), _ = concrete.structured_input_signature
    assert (d["a"].name, d["b"][0].name, d["b"][1].name, e.name) == ("d_a", "foo", "d_b_1", "e")


class Column:
    """What is no NumPy array and says which one it is, as the columns of tables do."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values


def test_what_says_which_array_it_is_is_a_tensor() -> None:
    """By identity its numbers would be those of the first call for good."""
    traced = []

    @fg.function
    def double(table: Any) -> Any:
        traced.append(table["x"].dtype)
        return table["x"] * 2

    column = Column([1.0, 2.0])
    assert double({"x": column}).numpy().tolist() == [2, 4]
    column.values = np.array([5.0, 6.0])
    assert double({"x": column}).numpy().tolist() == [10, 12]
    assert double({"x": Column([7.0, 8.0])}).numpy().tolist() == [14, 16] and traced == [fg.float64]
    concrete = double.get_concrete_function({"x": Column([1.0, 2.0])})
    assert concrete({"x": Column([3.0, 4.0])}).numpy().tolist() == [6, 8]


def test_text_of_numpy_is_text() -> None:
    echo = fg.function(lambda text: "text" if isinstance(text, str) else "tensor")
    assert echo(np.str_("a")).numpy() == b"text" and echo(np.bytes_(b"a")).numpy() == b"tensor"
