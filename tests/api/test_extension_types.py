"""tf.experimental.ExtensionType: classes of users' own in the places of tensors, and their specs."""

import abc
import copy
import pickle
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

Extension = tf.experimental.ExtensionType


class Graph(Extension):
    nodes: tf.Tensor
    edges: tf.Tensor


class Numbers(Extension):
    a: int
    b: float = 1.5
    c: str = "x"


class Nested(Extension):
    graph: Graph
    extra: tf.Tensor | None = None


class Wide(Extension):
    parts: Mapping[str, tf.Tensor]
    row: tuple[tf.Tensor, ...] = ()
    size: tf.TensorShape = tf.TensorShape(None)
    kind: tf.DType = tf.float32


class Either(Extension):
    value: typing.Union[tf.Tensor, str]  # noqa: UP007


class Masked(tf.experimental.BatchableExtensionType):
    values: tf.Tensor
    mask: tf.Tensor

    def __validate__(self) -> None:
        self.values.shape.assert_is_compatible_with(self.mask.shape)

    @property
    def shape(self) -> Any:
        return self.values.shape

    def filled(self, default: float = 0.0) -> Any:
        return tf.where(self.mask, self.values, tf.cast(default, self.values.dtype))

    @tf.function
    def scaled(self, factor: Any) -> "Masked":
        return Masked(self.values * factor, self.mask)


def plain(x: Any) -> Any:
    return x.numpy().tolist()


def masked(rows: int = 3) -> Masked:
    return Masked(tf.reshape(tf.range(2.0 * rows), [rows, 2]), [[True, False]] * rows)


# ---- fields ---------------------------------------------------------------------------------------------------------


def test_values_are_converted_by_annotations() -> None:
    found = Graph(3, [[0, 1]])
    assert found.nodes.dtype == "int32" and found.edges.shape == [1, 2]
    wide = Wide({"b": 1, "a": [2.0]}, (1, [2.0]), [1, None], "int32")
    assert [plain(x) for x in wide.row] == [1, [2.0]] and wide.kind is tf.int32 and wide.size.as_list() == [1, None]
    assert sorted(wide.parts) == ["a", "b"] and plain(wide.parts["b"]) == 1
    with pytest.raises(TypeError):
        wide.parts["c"] = 1  # type: ignore[index]
    assert Either("a").value.numpy() == b"a" and plain(Either(3).value) == 3
    assert (Numbers(3).b, Numbers(1, c="z").c) == (1.5, "z")
    assert Nested(Graph(1, 2)).extra is None and plain(Nested(Graph(1, 2), 3.0).extra) == 3.0
    assert plain(Graph(tf.Variable(2.0), 1).nodes) == 2.0


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: Graph(3), TypeError, "missing a required argument: 'edges'"),
        (lambda: Graph(3, 4, 5), TypeError, "too many positional arguments"),
        (lambda: Graph({}, 3), TypeError, "nodes: expected a Tensor, got 'dict'"),
        (lambda: Numbers("a"), TypeError, "a: expected 'int', got 'str'"),
        (lambda: Numbers(1, 2), TypeError, "b: expected 'float', got 'int'"),
        (lambda: Nested(3), TypeError, "graph: expected 'Graph', got 'int'"),
        (lambda: Wide({1: 2}), TypeError, r"parts\[<key>\]: expected 'str', got 'int'"),
        (lambda: Wide([1]), TypeError, "parts: expected mapping, got 'list'"),
        (lambda: Wide({"a": 1}, 3), TypeError, "row: expected tuple, got 'int'"),
        (lambda: Wide({"a": 1}, (), "x"), TypeError, "size: expected 'tf.TensorShape', got 'str'"),
        (lambda: Wide({"a": 1}, (), None, "zzz"), TypeError, "kind: expected 'tf.DType', got 'str'"),
        (lambda: Either({}), TypeError, "value: expected typing.Union"),
        (lambda: Masked([1, 2], [True]), ValueError, "incompatible"),
        (lambda: Extension(), AssertionError, "abstract base class"),
        (lambda: Graph.Spec(3, 4), TypeError, "nodes: expected a TensorSpec, got 'int'"),
        (lambda: Nested.Spec(3, None), TypeError, "graph: expected a TypeSpec for 'Graph', got 'int'"),
    ],
)
def test_what_does_not_fit_is_refused(make: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        make()


def test_objects_do_not_change() -> None:
    found = Graph(1, 2)
    for change in (
        lambda: setattr(found, "nodes", 3),
        lambda: setattr(found, "other", 3),
        lambda: delattr(found, "nodes"),
        lambda: setattr(tf.type_spec_from_value(found), "nodes", 3),
    ):
        with pytest.raises(AttributeError, match="Cannot mutate attribute"):
            change()


def test_classes_that_cannot_be() -> None:
    rows: list[tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = [
        ({"x": list}, {}, TypeError, "In field 'x': Unsupported type annotation 'list'"),
        ({"x": list[int]}, {}, TypeError, "Unsupported type annotation"),
        ({"x": np.ndarray}, {}, TypeError, "Unsupported type annotation 'ndarray'"),
        ({"x": Mapping[tf.Tensor, int]}, {}, TypeError, "Mapping had a key 'Tensor' with type"),
        ({}, {"x": 3}, ValueError, "Field x is missing a type annotation"),
        ({"x": int}, {"x": "a"}, TypeError, "default value for x: expected 'int', got 'str'"),
        ({"Spec": int}, {}, ValueError, "Field 'Spec' is reserved"),
        ({"_to_components": int}, {}, ValueError, "is reserved"),
        ({"x": int}, {"Spec": type("Spec", (int,), {})}, ValueError, "must be directly subclassed from tf.TypeSpec"),
        ({"x": int}, {"Spec": 3}, ValueError, "must be a nested class"),
    ]
    for annotations, more, kind, text in rows:
        with pytest.raises(kind, match=text):
            type(Extension)("Bad", (Extension,), {"__annotations__": annotations, "__module__": __name__, **more})


def test_own_constructors() -> None:
    class Line(Extension):
        start: tf.Tensor
        n: int

        def __init__(self, text: str, skip: int = 0) -> None:
            if skip != 1:
                self.start = float(text)
            if skip != 2:
                self.n = len(text)
            if skip == 3:
                self.other = 1

    class Deeper(Line):
        more: tf.Tensor

        def __init__(self, text: str) -> None:
            super().__init__(text)
            self.more = [1, 2]

    assert (plain(Line("12.5").start), Line("12.5").n) == (12.5, 4)
    assert (Deeper("3").n, plain(Deeper("3").more)) == (1, [1, 2])
    for skip, kind, text in ((1, ValueError, "Missing required fields"), (3, AttributeError, "Cannot mutate")):
        with pytest.raises(kind, match=text):
            Line("1", skip)


def test_inheritance() -> None:
    class Shape(Extension):
        @abc.abstractmethod
        def area(self) -> Any: ...

    class Square(Shape):
        side: tf.Tensor
        name: str = "square"

        def area(self) -> Any:
            return self.side**2

    class Box(Square):
        depth: tf.Tensor

    class Holder(Extension):
        shape: Shape

    with pytest.raises(TypeError, match="abstract"):
        Shape()
    assert plain(tf.function(lambda s: s.area())(Square(3.0))) == 9.0
    box = Box(2.0, depth=5.0)  # what follows a default has to be named
    assert plain(box.area() * box.depth) == 20.0 and isinstance(box._type_spec, Square.Spec)
    assert plain(tf.function(lambda h: h.shape.area())(Holder(box))) == 4.0


def test_types_that_are_still_to_come() -> None:
    spot = globals()

    class Tree(Extension):
        value: tf.Tensor
        left: "Tree | None" = None
        leaf: "Leaf | None" = None  # noqa: F821

    with pytest.raises(TypeError, match="Leaf"):
        Tree(1)
    spot["Leaf"] = Graph
    try:
        assert plain(Tree(1, Tree(2)).left.value) == 2
    finally:
        del spot["Leaf"]


def test_equality_and_copies() -> None:
    x = Graph(1, [2, 3])
    assert plain(x == Graph(1, [2, 3])) is True and plain(x != Graph(1, [2, 4])) is True
    assert (x == Graph(1, 2)) is False and (x == 3) is False
    assert (Numbers(1) == Numbers(1)) is True and (Numbers(1) != Numbers(2)) is True
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert repr(Numbers(1)) == "Numbers(a=1, b=1.5, c='x')"
    assert plain(copy.copy(x).edges) == plain(copy.deepcopy(x).edges) == [2, 3]
    assert list(tf.experimental.extension_type.as_dict(Nested(x))) == ["graph", "extra"]


# ---- specs ----------------------------------------------------------------------------------------------------------


def test_specs() -> None:
    spec = Graph.Spec(tf.TensorSpec([None]), tf.TensorSpec(None, tf.int32))
    assert spec == pickle.loads(pickle.dumps(spec)) and hash(spec) == hash(copy.copy(spec))
    assert spec.value_type is Graph and spec.nodes == tf.TensorSpec([None]) and "Graph.Spec(nodes=" in repr(spec)
    assert spec.is_compatible_with(Graph([1.0], 2)) and not spec.is_compatible_with(Graph(1.0, 2))
    narrow = Graph.Spec(tf.TensorSpec([3]), tf.TensorSpec([], tf.int32))
    assert narrow.is_subtype_of(spec) and spec.most_specific_compatible_type(narrow) == spec
    wide = tf.type_spec_from_value(Wide({"a": 1}))
    assert wide == Wide.Spec({"a": tf.TensorSpec([], tf.int32)}, (), tf.TensorShape(None), tf.float32)
    assert hash(wide) == hash(tf.type_spec_from_value(Wide({"a": 2})))
    common = wide.most_specific_common_supertype([tf.type_spec_from_value(Wide({"a": [2]}))])
    assert common.parts["a"].shape.rank is None
    assert wide.most_specific_common_supertype([tf.type_spec_from_value(Wide({"b": 1}))]) is None


def test_a_spec_of_the_class_s_own() -> None:
    class Vector(Extension):
        values: tf.Tensor

        class Spec:
            def __init__(self, shape: Any, dtype: Any = tf.float32) -> None:
                self.values = tf.TensorSpec(shape, dtype)

            @property
            def shape(self) -> Any:
                return self.values.shape

    assert Vector.Spec([2]) == tf.type_spec_from_value(Vector([1.0, 2.0])) and Vector.Spec([2]).shape == [2]
    f = tf.function(lambda v: v.values * 2, input_signature=[Vector.Spec([None])])
    assert plain(f(Vector([1.0]))) == [2.0] and plain(f(Vector([1.0, 2.0]))) == [2.0, 4.0]


# ---- in Functions, branches, loops, tapes ---------------------------------------------------------------------------


def test_functions_take_and_give_them() -> None:
    traces = []

    @tf.function
    def double(x: Graph) -> Graph:
        traces.append(1)
        return Graph(x.nodes * 2, x.edges)

    assert plain(double(Graph(1, 2)).nodes) == 2 and plain(double(Graph(5, 3)).nodes) == 10 and len(traces) == 1
    double(Graph(1.0, 2))
    assert len(traces) == 2
    kept = Graph(1, [2, 3])
    assert plain(tf.function(lambda: Graph(kept.nodes + 1, kept.edges))().nodes) == 2
    concrete = tf.function(lambda x: x.nodes + 1).get_concrete_function(tf.type_spec_from_value(Graph(1, 2)))
    assert plain(concrete(Graph(3, 4))) == 4
    whole = tf.function(lambda x: x, input_signature=[Graph.Spec(tf.TensorSpec([], tf.int32), tf.TensorSpec(None))])
    assert plain(whole(Graph(1, [2.0])).edges) == [2.0]
    with pytest.raises(TypeError, match="incompatible with input_signature"):
        whole(Graph(1.0, [2.0]))
    assert plain(masked().scaled(2.0).values) == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]]
    with_none = tf.function(lambda x: x.graph.nodes if x.extra is None else x.extra)
    assert plain(with_none(Nested(Graph(1, 2)))) == 1 and plain(with_none(Nested(Graph(1, 2), 7))) == 7


@pytest.mark.parametrize("staged", [False, True])
def test_branches_and_loops(staged: bool) -> None:
    made = tf.function if staged else (lambda f: f)
    pick = made(lambda p: tf.cond(p, lambda: Graph(1, 2), lambda: Graph(3, 4)))
    assert [plain(pick(tf.constant(p)).nodes) for p in (True, False)] == [1, 3]
    grow = made(lambda x: tf.while_loop(lambda x: x.nodes < 10, lambda x: [Graph(x.nodes * 2, x.edges + 1)], [x])[0])
    assert plain(grow(Graph(1, 2)).edges) == 6

    @made
    def walk(x: Graph, n: Any) -> Graph:
        for _ in tf.range(n):
            if x.nodes > 5:
                x = Graph(x.nodes - 1, x.edges)
            else:
                x = Graph(x.nodes + 3, x.edges)
        return x

    assert plain(walk(Graph(1, [2]), tf.constant(4)).nodes) == 5
    with pytest.raises(TypeError):
        tf.function(lambda p: tf.cond(p, lambda: Graph(1, 2), lambda: Nested(Graph(1, 2))))(tf.constant(True))


@pytest.mark.parametrize("staged", [False, True])
def test_gradients(staged: bool) -> None:
    made = tf.function if staged else (lambda f: f)

    @made
    def slopes(x: Graph) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x.nodes**2 * tf.reduce_sum(x.edges)
            first = tape.gradient(y, x)
        return first, outer.gradient(first.nodes, x)

    first, second = slopes(Graph(3.0, [1.0, 2.0]))
    assert isinstance(first, Graph) and plain(first.nodes) == 18.0 and plain(first.edges) == [9.0, 9.0]
    assert plain(second.nodes) == 6.0 and plain(second.edges) == [6.0, 6.0]
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = made(lambda: Graph(w * 3.0, w * w))()
        loss = y.nodes + y.edges
    assert plain(tape.gradient(loss, w)) == 7.0


def test_nest() -> None:
    x = Nested(Graph(1, [2, 3]), 4)
    assert [plain(t) for t in tf.nest.flatten(x, expand_composites=True)] == [1, [2, 3], 4]
    assert tf.nest.flatten(x) == [x] and not tf.is_tensor(x)
    doubled = tf.nest.map_structure(lambda t: t * 2, x, expand_composites=True)
    assert plain(doubled.graph.edges) == [4, 6] and isinstance(doubled, Nested)
    empty = tf.nest.map_structure(lambda t: None, x, expand_composites=True)
    assert empty.extra is None and tf.nest.flatten(empty, expand_composites=True) == []
    with pytest.raises(ValueError, match="more components are provided"):
        tf.type_spec_from_value(Graph(1, 2))._from_components((1, 2, 3))
    with pytest.raises(ValueError, match="unsupported type"):
        tf.convert_to_tensor(x)


# ---- batches --------------------------------------------------------------------------------------------------------


def test_datasets() -> None:
    whole = tf.data.Dataset.from_tensors(masked())
    assert plain(next(iter(whole)).values) == plain(masked().values)
    rows = tf.data.Dataset.from_tensor_slices(masked())
    assert rows.element_spec == Masked.Spec(tf.TensorSpec([2]), tf.TensorSpec([2], tf.bool))
    assert [plain(m.values) for m in rows] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    batches = rows.batch(2)
    assert batches.element_spec.values.shape.as_list() == [None, 2]
    assert [plain(m.values) for m in batches] == [[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0]]]
    assert [plain(m.values) for m in batches.unbatch()] == [plain(m.values) for m in rows]
    assert [plain(m) for m in rows.map(lambda m: m.filled(-1.0))] == [[0.0, -1.0], [2.0, -1.0], [4.0, -1.0]]
    assert [plain(m.values) for m in rows.filter(lambda m: m.values[0] > 1.0)] == [[2.0, 3.0], [4.0, 5.0]]
    total = tf.function(lambda: rows.reduce(0.0, lambda total, m: total + tf.reduce_sum(m.filled())))
    assert plain(total()) == 6.0


def test_datasets_of_nested_ones() -> None:
    class Both(tf.experimental.BatchableExtensionType):
        rows: tf.RaggedTensor
        inner: Masked
        size: tf.TensorShape

    value = Both(tf.ragged.constant([[1], [2, 3]]), Masked([[1], [2]], [[True], [False]]), [2, 3])
    dataset = tf.data.Dataset.from_tensor_slices(value)
    assert [plain(b.rows) for b in dataset] == [[1], [2, 3]] and [b.size.as_list() for b in dataset] == [[3], [3]]
    (batch,) = dataset.batch(2)
    assert batch.rows.to_list() == [[1], [2, 3]] and plain(batch.inner.values) == [[1], [2]]


@pytest.mark.parametrize("staged", [False, True])
def test_map_fn(staged: bool) -> None:
    made = tf.function if staged else (lambda f: f)
    doubled = made(lambda x: tf.map_fn(lambda m: Masked(m.values * 2, m.mask), x))(masked())
    assert plain(doubled.values) == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]] and doubled.mask.shape == [3, 2]
    sums = made(lambda x: tf.map_fn(lambda m: tf.reduce_sum(m.filled()), x, fn_output_signature=tf.float32))(masked())
    assert plain(sums) == [0.0, 2.0, 4.0]
    spec = Masked.Spec(tf.TensorSpec([2], tf.int32), tf.TensorSpec([2], tf.bool))
    out = made(lambda n: tf.map_fn(lambda i: Masked([i, i], [True, False]), n, fn_output_signature=spec))
    assert plain(out(tf.range(2)).values) == [[0, 0], [1, 1]]
    assert plain(made(lambda x: tf.vectorized_map(lambda m: Masked(m.values + 1, m.mask), x))(masked(1)).values) == [
        [1.0, 2.0]
    ]


class Plus(tf.experimental.ExtensionTypeBatchEncoder):
    """Encodes one number more, and says so."""

    def batch(self, spec: Any, batch_size: int | None) -> Any:
        return Coded.Spec(tf.TensorSpec([batch_size, *spec.w.shape], spec.w.dtype), spec.k)

    def unbatch(self, spec: Any) -> Any:
        return Coded.Spec(tf.TensorSpec(spec.w.shape[1:], spec.w.dtype), spec.k)

    def encode(self, spec: Any, value: Any, minimum_rank: int = 0) -> Any:
        assert value.w.shape.rank >= minimum_rank
        return (value.w + 1.0,)

    def decode(self, spec: Any, encoded_value: Any) -> Any:
        return Coded(encoded_value[0] - 1.0, spec.k)

    def encoding_specs(self, spec: Any) -> Any:
        return (spec.w,)


class Coded(tf.experimental.BatchableExtensionType):
    w: tf.Tensor
    k: int
    __batch_encoder__ = Plus()


def test_encoders_of_users() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(Coded([[1.0, 2.0], [3.0, 4.0]], 5))
    assert [plain(c.w) for c in dataset] == [[1.0, 2.0], [3.0, 4.0]] and [c.k for c in dataset] == [5, 5]
    (batch,) = dataset.batch(2)
    assert plain(batch.w) == [[1.0, 2.0], [3.0, 4.0]] and batch.k == 5
    mapped = tf.map_fn(lambda c: Coded(c.w * 10.0, c.k), batch)
    assert plain(mapped.w) == [[10.0, 20.0], [30.0, 40.0]]


class Sized(tf.experimental.BatchableExtensionType):
    shape: tf.TensorShape
    x: tf.Tensor


@pytest.mark.parametrize("made", [lambda f: f, tf.function], ids=["eager", "staged"])
def test_map_fn_tells_shapes_that_are_fields_how_many_there_are(made: Any) -> None:
    batch = Sized(tf.TensorShape([3]), tf.constant([1.0, 2.0, 3.0]))
    assert made(lambda b: tf.map_fn(lambda s: Sized(s.shape, s.x + 1.0), b))(batch).shape == [3]


def test_the_default_encoder() -> None:
    encoder, value = tf.experimental.ExtensionTypeBatchEncoder(), masked()
    spec = tf.type_spec_from_value(value)
    assert encoder.batch(spec, 7).values.shape == [7, 3, 2] and encoder.unbatch(spec).mask.shape == [2]
    encoded = encoder.encode(spec, value)
    assert len(encoded) == 2 and plain(encoder.decode(spec, encoded).values) == plain(value.values)
    assert list(encoder.encoding_specs(spec)) == [spec.values, spec.mask]


def test_types_without_batches_say_so() -> None:
    x = Graph([1, 2], [3, 4])
    for use in (
        lambda: list(tf.data.Dataset.from_tensor_slices(x)),
        lambda: list(tf.data.Dataset.from_tensors(x).batch(2)),
        lambda: tf.map_fn(lambda g: g.nodes, x, fn_output_signature=tf.int32),
    ):
        with pytest.raises((TypeError, ValueError, NotImplementedError)):
            use()


# ---- SavedModels ----------------------------------------------------------------------------------------------------


class Saved(Extension):
    __name__ = "fastgraph_tests.Saved"
    values: tf.Tensor
    parts: Mapping[str, tf.Tensor]
    k: int

    class Spec:
        def __init__(self, shape: Any) -> None:
            self.values, self.k = tf.TensorSpec(shape), 3
            self.parts = {"a": tf.TensorSpec([])}


def test_saved_models(tmp_path: Any) -> None:
    class Scale(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v = tf.Variable(10.0)

        @tf.function
        def grow(self, x: Saved) -> Saved:
            return Saved(x.values * self.v, x.parts, x.k)

    module = Scale()
    module.grow.get_concrete_function(Saved.Spec([None]))
    tf.saved_model.save(module, str(tmp_path))
    found = tf.saved_model.load(str(tmp_path)).grow(Saved([1.0, 2.0], {"a": 5.0}, 3))
    assert isinstance(found, Saved) and plain(found.values) == [10.0, 20.0] and plain(found.parts["a"]) == 5.0
    with pytest.raises(ValueError, match="has already been registered"):
        type(Extension)("Again", (Extension,), {"__name__": "fastgraph_tests.Saved", "__module__": __name__})


# ---- composites without ExtensionType -------------------------------------------------------------------------------


class PairSpec(tf.TypeSpec):
    def __init__(self, shape: Any, tag: str) -> None:
        self.shape, self.tag = tf.TensorShape(shape), tag

    value_type = property(lambda self: Pair)
    _component_specs = property(lambda self: {"a": tf.TensorSpec(self.shape), "b": tf.TensorSpec([], tf.int32)})

    def _to_components(self, value: Any) -> Any:
        return {"a": value.a, "b": value.b}

    def _from_components(self, components: Any) -> Any:
        return Pair(components["a"], components["b"], self.tag)

    def _serialize(self) -> Any:
        return self.shape, self.tag


class Pair:
    def __init__(self, a: Any, b: Any, tag: str) -> None:
        self.a, self.b, self.tag = a, b, tag

    @property
    def _type_spec(self) -> Any:
        return PairSpec(self.a.shape, self.tag)


def test_users_type_specs() -> None:
    pair, traces = Pair(tf.constant([1.0]), tf.constant(2), "t"), []

    @tf.function
    def step(p: Pair) -> Pair:
        traces.append(p.tag)
        return Pair(p.a * 2, p.b + 1, p.tag)

    again = step(step(pair))
    step(Pair(pair.a, pair.b, "u"))
    assert (plain(again.a), plain(again.b), traces) == ([4.0], 4, ["t", "u"])
    grown = tf.function(lambda p: tf.while_loop(lambda p: p.b < 5, lambda p: [step(p)], [p]))(pair)[0]
    assert plain(grown.a) == [8.0] and grown.tag == "t"
    signed = tf.function(lambda p: p.a + 1, input_signature=[PairSpec([None], "t")])
    assert plain(signed(Pair(tf.constant([1.0, 2.0]), tf.constant(1), "t"))) == [2.0, 3.0]
    with tf.GradientTape() as tape:
        tape.watch(pair.a)
        loss = tf.reduce_sum(step(pair).a)
    assert plain(tape.gradient(loss, pair.a)) == [2.0]
    (element,) = tf.data.Dataset.from_tensors(pair).map(lambda p: Pair(p.a + 1, p.b, p.tag))
    assert plain(element.a) == [2.0] and tf.type_spec_from_value(pair) == PairSpec([1], "t")


class _Hashed(tf.TypeSpec):
    """A spec that is compared by TensorFlow's own functions for it, as libraries write them."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    value_type = property(lambda self: object)

    def _serialize(self) -> Any:
        return self.parts

    def key(self) -> Any:
        return self._TypeSpec__make_cmp_key(self.parts)

    def fits(self, other: Any) -> bool:
        return self._TypeSpec__is_compatible(self.parts, other.parts)


def test_specs_of_parts_that_cannot_be_hashed() -> None:
    def made(*shape: int | None) -> _Hashed:
        return _Hashed({"b": [1, 2], "a": tf.TensorShape(shape)}, np.array([1.0, 2.0]), tf.TensorSpec(shape))

    assert made(2, None).key() == made(2, None).key() != made(2, 3).key()
    assert hash(made(2, None)) == hash(made(2, None))
    assert made(2, None).fits(made(2, 3)) and made(2, 3).fits(made(2, None))
    assert not made(2, 3).fits(made(3, 3))
    assert not _Hashed([1]).fits(_Hashed((1,)))
    assert not _Hashed(np.zeros(2)).fits(_Hashed(np.ones(2)))


def test_what_is_kept_is_kept_in_parts() -> None:
    class Pair(tf.experimental.ExtensionType):
        values: tf.Tensor
        rows: tf.RaggedTensor

    pair = Pair([1.0], tf.ragged.constant([[1], []]))
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    for op in (tf.identity, tf.stop_gradient, tf.function(tf.identity), lambda x: tf.tuple([x])[0]):
        assert op(pair).rows.to_list() == [[1], []] and op(pair).values.numpy().tolist() == [1.0]
        assert isinstance(op(slices), tf.IndexedSlices)
    with tf.GradientTape() as tape:
        tape.watch(pair.values)
        result = tf.identity(pair, name="kept").values * tf.stop_gradient(pair).values
    assert tape.gradient(result, pair.values).numpy().tolist() == [1.0]
