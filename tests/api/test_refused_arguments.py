"""What ops refuse: arguments of the wrong kind, rank or type, as TensorFlow refuses them."""

import array
import collections
import types

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import errors

INVALID, X = errors.InvalidArgumentError, np.array([[3.0, 1.0], [2.0, 4.0]], np.float32)

#: One number is wanted, and these are lists of numbers.
LISTS = ([0], (0,), [[0]], np.array([0]), fg.constant([0]))
#: Integers that are neither int32 nor int64.
NARROW = (fg.constant(0, fg.int16), fg.constant(0, fg.uint8))


@pytest.mark.parametrize("axis", LISTS, ids=str)
@pytest.mark.parametrize(
    ("op", "kind"),
    [
        (lambda a: fg.cumsum(X, a), INVALID),
        (lambda a: fg.math.cumprod(X, a), INVALID),
        (lambda a: fg.math.cumulative_logsumexp(X, a), INVALID),
        (lambda a: fg.argmin(X, a), INVALID),
        (lambda a: fg.sort(X, a), ValueError),
        (lambda a: fg.argsort(X, a), ValueError),
        (lambda a: fg.split(X, 2, a), INVALID),
        (lambda a: fg.gather(X, [0], axis=a), INVALID),
        (lambda a: fg.roll(X, 1, a), INVALID),
        (lambda a: fg.roll(X, a, 0), INVALID),
        (lambda a: fg.norm(X, axis=a), ValueError),
        (lambda a: fg.repeat(X, 2, a), TypeError),
        (lambda a: fg.nn.softmax(X, a), (TypeError, INVALID)),
        (lambda a: fg.argmax(X, a), (TypeError, INVALID)),
    ],
)
def test_an_axis_is_one_number(op, kind, axis):
    with pytest.raises(kind):
        op(axis)


@pytest.mark.parametrize("axis", NARROW, ids=repr)
@pytest.mark.parametrize(
    "op",
    [
        lambda a: fg.cumsum(X, a),
        lambda a: fg.argmin(X, a),
        lambda a: fg.concat([X, X], a),
        lambda a: fg.split(X, 2, a),
        lambda a: fg.gather(X, [0], axis=a),
        lambda a: fg.expand_dims(X, a),
        lambda a: fg.reduce_sum(X, a),
        lambda a: fg.reduce_all(X > 0, a),
        lambda a: fg.roll(X, 1, a),
        lambda a: fg.reverse(X, [a]),
        lambda a: fg.tile(X, fg.stack([a, a])),
        lambda a: fg.slice(X, fg.stack([a, a]), fg.stack([a, a])),
    ],
)
def test_an_axis_is_of_int32_or_int64(op, axis):
    with pytest.raises(INVALID):
        op(axis)


def test_numbers_of_numpy_are_taken_for_axes_where_tensorflow_knows_a_type():
    for axis in (np.int16(0), np.uint8(0), np.array(0, np.int16), True):
        assert fg.cumsum(X, axis).shape == (2, 2) and fg.reduce_sum(X, axis).shape == (2,)
        with pytest.raises(INVALID, match="'Taxis'"):
            fg.gather(X, [0], axis=axis)
    with pytest.raises(TypeError, match="Cannot convert 0.0 to EagerTensor of dtype int32"):
        fg.cumsum(X, 0.0)


@pytest.mark.parametrize(
    ("shape", "kind", "text"),
    [
        ((2, "x"), ValueError, "mixed types"),
        (["x"], INVALID, "'Tshape' of string"),
        ("x", INVALID, "'Tshape' of string"),
        ((2, 1.0), INVALID, "'Tshape' of float"),
        ([2.0], INVALID, "'Tshape' of float"),
        (fg.constant([2.0]), INVALID, "'Tshape' of float"),
        (fg.constant([2], fg.int16), INVALID, "'Tshape' of int16"),
    ],
)
def test_shapes_of_other_types(shape, kind, text):
    with pytest.raises(kind, match=text):
        fg.reshape([1, 2], shape)


def test_shapes_say_what_the_op_calls_them():
    for op, text in (
        (lambda: fg.tile([[1]], [2.0, 1]), "'Tmultiples' of float"),
        (lambda: fg.fill([2.0], 1), "'index_type' of float"),
        (lambda: fg.broadcast_to([1], [2.0]), "'Tidx' of float"),
        (lambda: fg.transpose([[1]], [0.0, 1.0]), "'Tperm' of float"),
        (lambda: fg.expand_dims([1], "x"), "'Tdim' of string"),
    ):
        with pytest.raises(INVALID, match=text):
            op()
    for op in (fg.zeros, fg.ones):
        with pytest.raises(TypeError, match="to EagerTensor of dtype int32"):
            op([2.5])
        with pytest.raises(ValueError, match="mixed types"):
            op([2, "x"])


def test_shapes_that_are_no_vectors():
    for op in (
        lambda: fg.random.normal(3),
        lambda: fg.random.uniform(fg.constant(3)),
        lambda: fg.random.stateless_normal(3, [1, 2]),
        lambda: fg.random.Generator.from_seed(1).normal(3),
        lambda: fg.slice(X[0], 1, [1]),
        lambda: fg.slice(X[0], [0], fg.constant(1)),
        lambda: fg.tile(X[0], fg.constant(2)),
        lambda: fg.reverse(X, fg.constant(0)),
        lambda: fg.scatter_nd([[0]], [1], 3),
    ):
        with pytest.raises(INVALID):
            op()


INT16, INT32, INT64 = (fg.constant(1, dtype) for dtype in (fg.int16, fg.int32, fg.int64))


@pytest.mark.parametrize(
    ("key", "fits"),
    [
        (np.s_[INT32:INT64], True),
        (np.s_[INT16::], True),
        (np.s_[:INT16:INT64], True),
        (np.s_[INT16], True),
        (np.s_[INT16:3], False),
        (np.s_[:INT32:INT16], False),
        (np.s_[INT32, INT64], False),
        (np.s_[INT32:2, INT64:4], False),
        (np.s_[0, INT64:4], True),
        (np.s_[0:INT16, INT16], True),
        (np.s_[INT64, INT64:], True),
        (np.s_[INT16::INT64, :INT16], False),
    ],
    ids=str,
)
def test_keys_of_several_integer_types(key, fits):
    def taken(x):
        return x[key]

    if fits:
        assert taken(fg.zeros([5, 5])).shape == fg.function(taken)(fg.zeros([5, 5])).shape
        return
    with pytest.raises(INVALID, match="cannot compute (Pack|StridedSlice) as input #"):
        taken(fg.zeros([5, 5]))
    with pytest.raises(TypeError, match="don't all match|does not match"):
        fg.function(taken)(fg.zeros([5, 5]))


def test_slices_of_two_integer_types():
    begin, size = fg.constant([1]), fg.constant([2], fg.int64)
    with pytest.raises(INVALID, match="cannot compute Slice as input #2"):
        fg.slice(fg.range(5), begin, size)
    np.testing.assert_array_equal(fg.slice(fg.range(5), [1], size), [1, 2])


@pytest.mark.parametrize(
    ("x", "low", "high"),
    [
        (1.0, [0.0, 1.0], 2.0),
        ([1.0], [0.0, 1.0], 2.0),
        ([1.0, 2.0], [[0.0, 1.0]], 2.0),
        ([1.0, 2.0], 0.0, [[1.0, 2.0], [3.0, 4.0]]),
        ([[1.0, 2.0]], [0.0, 1.0], [[2.0], [3.0]]),
    ],
)
def test_limits_do_not_enlarge(x, low, high):
    for clip in (fg.clip_by_value, fg.function(fg.clip_by_value)):
        with pytest.raises(ValueError, match="are incompatible"):
            clip(fg.constant(x), fg.constant(low), fg.constant(high))
    rows = fg.IndexedSlices(fg.constant([[1.0, 2.0]]), fg.constant([0]), fg.constant([2, 2]))
    with pytest.raises(ValueError, match="are incompatible"):
        fg.clip_by_value(rows, [[0.0, 1.0], [0.0, 2.0]], 2.0)
    with pytest.raises(ValueError, match="are incompatible"):
        fg.clip_by_norm([[1.0, 2.0]], [[[1.0]]])


def test_batch_jacobian_wants_more_than_a_batch():
    def jacobian(f, x):
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.batch_jacobian(y, x)

    x = fg.constant([[1.0, 2.0]])
    for f, source in (
        (lambda x: x * x, fg.constant([1.0, 2.0])),
        (lambda x: fg.reduce_sum(x, 1), x),
        (lambda x: x[:, None] * 2.0, fg.constant([1.0, 2.0])),
    ):
        with pytest.raises(ValueError, match="must have rank at least 2"):
            jacobian(f, source)
    np.testing.assert_array_equal(jacobian(lambda x: x * x, x), [[[2, 0], [0, 4]]])


class Unhashable:
    __hash__ = None


@pytest.mark.parametrize(
    "value",
    [
        {1, 2},
        {"a": {1}},
        [{1}],
        slice(1, 2),
        types.SimpleNamespace(a=1),
        Unhashable(),
        collections.deque([1]),
        collections.UserList([1]),
        bytearray(b"a"),
        array.array("i", [1]),
        {1: 2}.keys(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_arguments_that_have_no_hash(value):
    f = fg.function(lambda x, **rest: 1)
    for call in (lambda: f(value), lambda: f(x=value), lambda: f(1, y=value)):
        with pytest.raises(TypeError, match="Could not generate a generic TraceType for"):
            call()


def test_methods_of_objects_that_have_no_hash():
    class Model(Unhashable):
        def __eq__(self, other):
            return True

        @fg.function
        def __call__(self, x):
            return x + 1

    assert int(Model()(fg.constant(1))) == 2


def test_map_fn_keeps_lists_and_tuples_apart():
    pair = fg.constant([1, 2]), fg.constant([3, 4])
    for function in (fg.map_fn, fg.function(fg.map_fn)):
        with pytest.raises(TypeError, match="same sequence type"):
            function(lambda x: [x[0], x[1]], pair)
        with pytest.raises(ValueError, match="First structure: type=(EagerTensor|SymbolicTensor) str="):
            function(lambda x: (x, x), pair[0])
    with pytest.raises(ValueError, match="First structure: type=DType str=<dtype: 'int32'>"):
        fg.map_fn(lambda x: (x, x), pair[0], fn_output_signature=fg.int32)
    found = fg.map_fn(lambda x: (x[1], x[0]), pair)
    np.testing.assert_array_equal(found[0], [3, 4])


def test_device_scopes_are_left_in_order():
    outer, inner = fg.device("CPU:0"), fg.device("CPU:0")
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="Exiting device scope without proper scope nesting"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    with pytest.raises(IndexError):
        outer.__exit__(None, None, None)
    with outer, outer:  # one scope twice
        pass


def test_boolean_mask_takes_integers():
    np.testing.assert_array_equal(fg.boolean_mask([1, 2, 3], [1, 0, 1]), [1, 3])
    with pytest.raises(TypeError):
        fg.boolean_mask([[1, 2]], [True, False], axis=[1])


def test_neighbours():
    for op in (
        lambda: fg.meshgrid([1], [1.0]),
        lambda: fg.roll(X, fg.constant(1, fg.int16), 0),
        lambda: fg.boolean_mask(X, [True, False], axis=5),
        lambda: fg.concat([X], [0]),
        lambda: fg.eye([2]),
        lambda: fg.nn.dropout(X, np.array([0.5])),
        lambda: fg.repeat(X, 2.0, 0),
        lambda: fg.repeat(X, [[1, 2]], 0),
        lambda: fg.constant(X)[True:2],
        lambda: fg.expand_dims(X, [0, 1]),
    ):
        with pytest.raises((TypeError, ValueError, INVALID)):
            op()
    assert fg.tensordot(X, X, np.int64(1)).shape == (2, 2) and fg.repeat(X, True, 0).shape == (2, 2)
    assert int(fg.range(5)[None, True][0]) == 1


def test_floats_for_numbers_of_things():
    for made in (lambda: fg.unstack([1, 2], num=2.0), fg.function(lambda: fg.unstack([1, 2], num=2.5))):
        assert [int(x) for x in made()] == [1, 2]
    with pytest.raises(TypeError):
        fg.unstack([1, 2], num="2")
    assert fg.function(lambda: fg.eye(2, batch_shape=[2.0, 3]))().shape == (2, 3, 2, 2)
    with pytest.raises(TypeError, match="to EagerTensor of dtype int32"):
        fg.eye(2, batch_shape=[2.0, 3])


def test_attributes_of_functions_are_known_ones():
    assert int(fg.function(lambda: 1, experimental_attributes={"_noinline": True})()) == 1
    with pytest.raises(ValueError, match="foo is not supported by tf.function as an attribute"):
        fg.function(lambda: 1, experimental_attributes={"foo": 1})


@pytest.mark.parametrize(("shape", "kind"), [(3, TypeError), (np.array(3), TypeError), (fg.constant(3), INVALID)])
def test_a_batch_shape_is_no_number(shape, kind):
    for call in (lambda: fg.eye(2, batch_shape=shape), fg.function(lambda: fg.eye(2, batch_shape=shape))):
        with pytest.raises(kind):
            call()


def test_rows_of_several_shapes_are_refused_by_the_op_that_stacks_them_without_infer_shape():
    def rows(infer_shape):
        def row(e):
            return fg.range(e)

        return fg.map_fn(row, fg.constant([1, 3]), infer_shape=infer_shape)

    with pytest.raises(ValueError, match="Incompatible shape for value"):
        rows(True)
    with pytest.raises(INVALID, match="Shapes of all inputs must match"):
        rows(False)


@pytest.mark.parametrize("mask", [3, 5, 7, -2])
def test_a_slice_has_one_ellipsis(mask):
    def part():
        return fg.strided_slice(X, [0, 1], [1, 1], ellipsis_mask=mask, shrink_axis_mask=2)

    with pytest.raises(INVALID, match="Multiple ellipses in slice spec not allowed"):
        part()
    with pytest.raises(ValueError, match="Multiple ellipses in slice spec not allowed"):
        fg.function(part)()


@pytest.mark.parametrize("given", [0, 1, 2])
def test_paddings_of_blocks_are_int32(given):
    numbers = [np.array([5, 4]), np.array([2, 3]), np.array([[0, 1], [1, 0]])]
    wanted = fg.required_space_to_batch_paddings(*[n.astype(np.int32) for n in numbers])
    unknown = [fg.TensorSpec([None, *n.shape[1:]] if i != 1 else n.shape, fg.int64) for i, n in enumerate(numbers)]
    paddings = fg.function(fg.required_space_to_batch_paddings, input_signature=unknown)
    for f in (fg.required_space_to_batch_paddings, paddings):
        for got, right in zip(f(*map(fg.constant, numbers)), wanted, strict=True):
            np.testing.assert_array_equal(got, right)
        wide = [n + 2**32 if i == given else n for i, n in enumerate(numbers)]
        with pytest.raises(INVALID, match="4294967"):
            f(*map(fg.constant, wide))
