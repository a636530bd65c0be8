"""Integer arguments that only a call of a Function knows: the value, or the error, of eager mode.

The table is generated from the oracle's calls. Compared with TensorFlow too, and on kernels, by
`python -m tests.oracle.arguments --kernels` (in `make soak`); here a share of the numbers, on the first tier.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags
from fastgraph.ops.runtime_checks import checked, ensure_extents
from tests.ops.argument_programs import Program, differences
from tests.ops.hostile import memory_limit
from tests.oracle.argument_runner import ArgumentRunner
from tests.oracle.arguments import Place, compare, differ, places, reason, report
from tests.oracle.runner import packed

X = np.arange(12.0, dtype=np.float32).reshape(4, 3)


def values(place: Place, dtype: str) -> list[Any]:
    """The right value, and those with a negative number, 0, and one that is beyond the end or cut to 32 bits is 1."""
    base = np.asarray(place.value, dtype)
    found = [base]
    for number in (-1, 0, 7, *([2**32 + 1] if dtype == "int64" else [])):
        other = base.copy()
        other.reshape(-1)[-1:] = number
        found.append(other)
    return found


@pytest.mark.slow
def test_functions_say_what_eager_mode_says() -> None:
    chosen, seen = [], set()
    for place in places():
        if place.how == "values" and (place.name, place.parameter) not in seen and "_sampler" not in place.name:
            seen.add((place.name, place.parameter))
            chosen.append(place)
    assert len(chosen) > 150
    runner, wrong = ArgumentRunner("fastgraph"), []
    with memory_limit(2**29):
        for i, place in enumerate(chosen):
            dtype = ("int64", "int32")[i % 3 == 2]
            numbers = values(place, dtype)
            sent = [packed(v) for v in numbers]
            staged = runner.run_all(place.text, place.arrays, sent, "unknown/first")
            if "traced" in staged[0]:
                continue  # an attribute, known while tracing
            eager = runner.run_all(place.text, place.arrays, sent, "eager")
            for value, got, wanted in zip(numbers, staged, eager, strict=True):
                text = differ(got, wanted, place.how)
                if text and reason(place.name, place.parameter, "unknown/first from eager", text) is None:
                    wrong.append(f"{place}, n = {dtype}{value.tolist()}: {text}")
    flags.clear_flag("tier")
    assert wrong == []


ROWS: list[tuple[str, Any, Any, Any]] = [
    ("tf.repeat(x, n, axis=0)", [2, -1, 1, 0], "int32", [0, 0, 2]),
    ("tf.repeat(x, n)", -1, "int64", "Expected multiples"),
    ("tf.math.top_k(x, n)[0]", -1, "int32", "Need 0 <= k <= 3"),
    ("tf.math.top_k(x, n)[0]", 2**32 + 1, "int64", "Need 0 <= k <= 3"),
    ("tf.pad(x, n)", [[0, 0], [2**32, 0]], "int64", "OOM|Out of memory"),
    ("tf.pad(x, n)", [[-(2**32), 0], [0, 0]], "int64", "must be non-negative"),
    ("tf.split(x, n, axis=0, num=2)[0]", [6, -2], "int32", "Split size"),
    ("tf.split(x, n, axis=0, num=2)[0]", [2**32 + 1, -1], "int64", "Split size"),
    ("tf.roll(x, n, 0)", -(2**62) - 1, "int64", [1, 2, 3, 0]),
    ("tf.linalg.band_part(x, n, 0)", 5, "int64", "num_lower must be negative or less"),
    ("tf.slice(x, [1, 0], n)", [-1, 3], "int64", [1, 2, 3]),
    ("tf.slice(x, n, [2, 3])", [-(2**63), 0], "int64", "Expected begin"),
    ("tf.bitwise.left_shift([1, 3], n)", 40, "int32", None),
    ("tf.random.uniform([3], n, 2, tf.int32)", 2, "int32", "Need minval < maxval"),
    ("tf.random.uniform([3], 0, n, tf.int32)", -1, "int32", "Need minval < maxval"),
    ("tf.random.stateless_uniform([3], [1, 2], 0, n, tf.int32)", 0, "int32", "Need minval < maxval"),
    ("tf.broadcast_dynamic_shape(n, tf.constant([1]))", [-1, 4], "int32", None),
    ("tf.math.in_top_k([0, 1], [[.1, .9], [.2, .8]], n)", 1, "int64", None),
    ("tf.one_hot([0], n)", 2**32 + 1, "int64", "depth must be|OOM"),
]


EAGER: list[tuple[Any, Any, str]] = [
    (lambda: tf.linalg.diag([1, 2], num_rows=tf.constant(-2)), tf.errors.InvalidArgumentError, "rows is too small"),
    (lambda: tf.linalg.diag([1, 2], num_cols=tf.constant(-7)), tf.errors.InvalidArgumentError, "columns is too small"),
    (lambda: tf.linalg.global_norm(tf.constant([1.0])), TypeError, "should be a sequence"),
    (lambda: tf.linspace([1.0], [2.0], 3, axis=2), tf.errors.InvalidArgumentError, "Tried to expand dim index 2"),
    (lambda: tf.math.confusion_matrix([1, 2], [1, 0], weights=[1.0]), ValueError, "incompatible"),
    (lambda: tf.dynamic_stitch(tf.constant([[0, 1]]), [X, X]), tf.errors.InvalidArgumentError, "as many indices"),
]


@pytest.mark.parametrize(("call", "error", "text"), EAGER, ids=[row[2] for row in EAGER])
def test_what_eager_mode_refuses(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_tensors_of_indices_are_stitched() -> None:
    stitched = tf.dynamic_stitch(tf.constant([[0, 2], [1, 3]]), [tf.constant([1.0, 3.0]), tf.constant([2.0, 4.0])])
    assert stitched.numpy().tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("tier", ["first", pytest.param("last", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("text", "value", "dtype", "wanted"), ROWS, ids=[f"{r[0]} {r[1]}" for r in ROWS])
def test_written_rows(text: str, value: Any, dtype: str, wanted: Any, tier: str) -> None:
    def f(x: Any, n: Any) -> Any:
        return eval(text, {"tf": tf, "x": x, "n": n})

    n = tf.constant(value, dtype)
    specs = [tf.TensorSpec([None, 3], tf.float32), tf.TensorSpec(n.shape, n.dtype)]
    with flags.override(tier=tier), memory_limit(2**31):
        staged = tf.function(f, input_signature=specs)
        if isinstance(wanted, str):
            with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError), match=wanted):
                staged(tf.constant(X), n)
        else:
            got = staged(tf.constant(X), n).numpy()
            np.testing.assert_array_equal(got, f(tf.constant(X), n).numpy() if wanted is None else X[wanted])


#: Lists of which a part is known while tracing.
PARTS: list[tuple[str, list[int]]] = [
    ("tf.slice(X, [n, 0], [2, 2])", [1, 2, 3, -1]),
    ("tf.slice(X, [0, n], [4, 1])[:, 0] * 2.0", [1, 2, 3]),
    ("tf.slice(X, [1, n], [-1, 2])", [1, 0, -2]),
    ("tf.gradients(tf.slice(X * X, [n, 0], [2, 2]), X)[0] if not tf.executing_eagerly() else wanted(n)", [1, 2]),
    ("tf.pad(X, [[n, 0], [0, 1]])", [2, -1, -(2**32)]),
    ("tf.sparse.segment_mean(X, [0, n], [0, 0])", [1, 2**32 + 1]),
    ("tf.tile(X, [1, n])", [2, 0, -1]),
    ("tf.tile(tf.zeros([0, 3]), [2, n])", [1, 2**31 - 1]),
    ("tf.reverse(X, [n])", [1, 0, 7, 2**32 + 1, -(2**32)]),
    ("tf.reduce_max(X, [n])", [1, 0, 7, 2**32 + 1, -(2**32)]),
    ("tf.math.reduce_std(X, [n])", [1, 2**32 + 1]),
    ("tf.nn.moments(X, [n])[0]", [0, 2**32 + 1]),
    ("tf.expand_dims(X, [n])", [1, 2**32 + 1]),
    ("tf.roll(X, [n, 1], [0, 1])", [3, -(2**32)]),
    ("tf.reduce_sum(X, [n, tf.constant(1)])", [0, 2**32]),
]


def wanted(n: Any) -> Any:
    inside = tf.pad(tf.ones([2, 2]), [[n, 2 - n], [0, 1]])
    return 2 * X * inside


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("tier", ["first", pytest.param("last", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("text", "numbers"), PARTS, ids=[text for text, _ in PARTS])
def test_lists_of_which_a_call_knows_one_number(text: str, numbers: list[int], tier: str, dtype: str) -> None:
    def f(n: Any) -> Any:
        return eval(text, {"tf": tf, "X": tf.constant(X), "n": n, "wanted": wanted})

    with flags.override(tier=tier), memory_limit(2**31):
        staged = tf.function(f, input_signature=[tf.TensorSpec([], dtype)])
        for number in numbers:
            if dtype == "int32" and not -(2**31) <= number < 2**31:
                continue
            n = tf.constant(number, dtype)
            try:
                right = f(n).numpy()
            except (ValueError, tf.errors.InvalidArgumentError):
                with pytest.raises(tf.errors.InvalidArgumentError):
                    staged(n)
            else:
                np.testing.assert_allclose(staged(n).numpy(), right, 1e-6, strict=True)


def test_a_difference_is_told_and_results_that_are_kept_are_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = "n + tf.constant(int(not tf.executing_eagerly()), n.dtype)"
    wanted = [
        Place(name, "n", f"tf.roll(x, {n}, 0)", {"x": packed(X)}, np.asarray(1), "values")
        for name, n in (("right", "n"), ("wrong", moved))
    ]
    first = compare(wanted, None, False, tmp_path)
    assert first.unexplained and {d.place.name for d in first.unexplained} == {"wrong"}
    assert first.counts["eager"] == first.counts["static/first"] + first.counts["unknown/first"] > 50
    assert f"results that differ: {len(first.differences)}; without a reason: {len(first.unexplained)}" in report(first)
    monkeypatch.setattr("tests.oracle.arguments.run", None)
    again = compare(wanted, None, False, tmp_path)
    assert again.counts == first.counts and [str(d.value) for d in again.differences] == [
        str(d.value) for d in first.differences
    ]
    with pytest.raises(TypeError):
        compare(wanted, None, True, tmp_path)  # kernels were not run


def test_random_programs_of_integer_arguments() -> None:
    """The long form runs in `make soak`: `python -m tests.ops.argument_programs`."""
    with memory_limit(2**29):
        for seed in range(900, 920):
            program, found = differences(seed, ("first",))
            assert program.integers or program.lines
            assert found == []


def test_a_wrong_graph_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    roll = tf.roll

    def wrong(v: Any, n: Any, axis: int) -> Any:
        return roll(v, n if tf.executing_eagerly() else n % 2**32, axis)  # what cutting to 32 bits does

    monkeypatch.setattr(tf, "roll", wrong)
    program = Program(0)
    program.shape, program.lines, program.integers = (3,), ["v = tf.roll(v, n0, 0)"], [np.asarray(2**33, np.int64)]
    monkeypatch.setattr("tests.ops.argument_programs.Program", lambda seed: program)
    found = differences(0, ("first",), n_others=0)[1]
    assert len(found) == 2 and "n0 = tf.constant(8589934592, 'int64')" in found[0]


@pytest.mark.parametrize("stage", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("rows", [np.zeros([3, 0]), np.zeros([0, 2]), np.ones([3, 2])], ids=lambda r: str(r.shape))
def test_gradients_of_partitions_of_empty_rows(rows: Any, stage: Any) -> None:
    def slope(x: Any, ids: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            parts = tf.dynamic_partition(x, ids, 3)
            total = tf.add_n([tf.reduce_sum(part * part) for part in parts])
        return tape.gradient(total, x)

    x, ids = tf.constant(rows), tf.constant(np.arange(len(rows)) % 3, tf.int32)
    np.testing.assert_array_equal(stage(slope)(x, ids).numpy(), 2 * rows)
    assert tf.dynamic_stitch([ids], [x]).shape == rows.shape


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("tier", ["first", pytest.param("last", marks=pytest.mark.slow)])
def test_shifts_go_no_further_than_the_width(dtype: str, tier: str) -> None:
    bits = tf.as_dtype(dtype).size * 8
    x = tf.constant([1, 5, 100], dtype)
    last = tf.constant(bits - 1, dtype)
    shifts = [(tf.bitwise.left_shift, [1, 1, 0]), (tf.bitwise.right_shift, [0, 0, 0])]
    with flags.override(tier=tier):
        for op, ends in shifts:
            top = np.array(ends, object) * 2 ** (bits - 1)
            wanted = top.astype(np.uint64).astype(dtype)
            for amount in (bits - 1, bits, min(100, 2**bits - 1)):
                n = tf.constant(amount, dtype)
                for f in (op, tf.function(lambda a, b, op=op: op(a, b))):
                    assert f(x, n).numpy().tolist() == wanted.tolist() == op(x, last).numpy().tolist()
            if dtype.startswith("int"):
                assert op(x, tf.constant(-3, dtype)).numpy().tolist() == [1, 5, 100]


@pytest.mark.parametrize("number", [2**31, 2**32 + 1, 1 - 2**32])
@pytest.mark.parametrize("stage", [lambda f: f, tf.function], ids=["eager", "in a Function"])
def test_numbers_beyond_32_bits_are_not_cut(stage: Any, number: int) -> None:
    n = tf.constant([number], tf.int64)
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        stage(lambda: tf.reverse_sequence([[1, 2, 3]], n, 1))()
    counted = stage(lambda: tf.math.bincount(tf.concat([n, [1]], 0), maxlength=3))
    if number > 0:
        assert counted().numpy().tolist() == [0, 1, 0]
        assert stage(lambda: tf.math.bincount([1, 2], maxlength=n[0]))().numpy().tolist() == [0, 1, 1]
    else:
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            counted()
        assert stage(lambda: tf.math.bincount([1, 2], minlength=n[0]))().numpy().tolist() == [0, 1, 1]


#: Of these, 2**32 + 1 is no other number than 1: it is counted modulo, masked, beyond an end, or refused by TensorFlow's
#: rule alone (lengths of sequence_mask take the dtype of maxlen).
SAME = {"bitwise.bitwise_and", "bitwise.bitwise_or", "debugging.assert_rank_in", "histogram_fixed_width",
        "image.rot90", "math.in_top_k", "nn.collapse_repeated", "nn.fractional_max_pool",
        "random.experimental.index_shuffle", "random_index_shuffle", "roll", "searchsorted",
        "image.sample_distorted_bounding_box", "nn.all_candidate_sampler", "nn.compute_accidental_hits", "nn.nce_loss",
        "nn.sampled_softmax_loss", "sequence_mask", "strided_slice",
        *(f"experimental.numpy.{name}" for name in ("arange", "average", "clip", "compress", "full_like", "swapaxes")),
        }  # fmt: skip


@pytest.mark.slow
def test_no_argument_is_cut_to_32_bits() -> None:
    """Where 2**32 + 1 gives what 1 gives, it has been."""
    runner, cut = ArgumentRunner("fastgraph"), set()
    with memory_limit(2**29):
        for place in places():
            base = np.asarray(place.value, np.int64)
            if place.how != "values" or not base.size or place.name in SAME:
                continue
            for many in (slice(1), slice(None)):
                pair = [base.copy(), base.copy()]
                for number, value in zip(pair, (1, 2**32 + 1), strict=True):
                    number.reshape(-1)[many] = value
                one, other = runner.run_all(place.text, place.arrays, [packed(n) for n in pair], "eager")
                if "values" in one and one == other:
                    cut.add(str(place))
    assert cut == set()


def test_the_sum_of_the_lengths_of_a_split_is_not_cut_to_32_bits() -> None:
    def pieces(lengths: Any) -> Any:
        return tf.TensorArray(tf.float32, 2, infer_shape=False).split([1.0, 2.0, 3.0], lengths).concat()

    split = tf.function(pieces, input_signature=[tf.TensorSpec([2], tf.int64)])
    assert split(tf.constant([1, 2], tf.int64)).numpy().tolist() == [1, 2, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="sum of lengths"):
        split(tf.constant([2**32 + 1, 2], tf.int64))


def _agree(call: Any, *numbers: Any) -> Any:
    """The result of a call, the same eagerly and where only a run knows the numbers."""
    arrays = [np.asarray(n) for n in numbers]
    specs = [tf.TensorSpec([None] * a.ndim, a.dtype) for a in arrays]
    ways = (call, tf.function(call), tf.function(call, input_signature=specs))
    found = [np.asarray(f(*map(tf.constant, arrays))).tolist() for f in ways]
    assert found[0] == found[1] == found[2]
    return found[0]


def test_classes_that_are_none_are_refused_by_samplers() -> None:
    for draw in (
        lambda true: tf.random.uniform_candidate_sampler(true, 1, 2, True, 5, seed=3)[1],
        lambda true: tf.random.log_uniform_candidate_sampler(true, 1, 2, True, 5, seed=3)[1],
        lambda true: tf.nn.fixed_unigram_candidate_sampler(true, 1, 2, True, 5, unigrams=[1.0] * 5, seed=3)[1],
        lambda true: tf.nn.all_candidate_sampler(true, 1, 5, True, seed=3)[1],
    ):
        for wrong in (-1, 5):
            for f in (draw, tf.function(draw)):
                with pytest.raises(tf.errors.InvalidArgumentError, match=r"`true_candidate` out of range \[0, 5\)"):
                    f(tf.constant([[wrong]], tf.int64))
    assert _agree(lambda true: tf.nn.all_candidate_sampler(true, 1, 5, True)[1], np.array([[4]])) == [[1.0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least minimum 1"):
        tf.random.uniform_candidate_sampler([[0]], 1, 2, False, 0)


def test_losses_of_samples_with_extents_that_only_a_run_knows() -> None:
    sampled = (tf.constant([2, 5, 1], tf.int64), [[0.3], [0.4]], [0.2, 0.3, 0.5])
    w = np.random.default_rng(3).standard_normal([8, 3]).astype(np.float32)
    for loss in (tf.nn.sampled_softmax_loss, tf.nn.nce_loss):

        def of(w: Any, labels: Any, loss: Any = loss) -> Any:
            return loss(w, tf.zeros([8]), labels, w[:2], 3, 8, sampled_values=sampled)

        eager = of(tf.constant(w), tf.constant([[0], [6]]))
        late = tf.function(of, input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None, None], tf.int32)])
        np.testing.assert_allclose(late(w, tf.constant([[0], [6]])), eager, rtol=1e-6)


def test_sizes_of_crops_that_only_a_run_knows() -> None:
    def crop(size: Any) -> Any:
        return tf.image.crop_and_resize(tf.ones([2, 4, 5, 1]), [[0.0, 0, 1, 1]], [1], size)

    for f in (crop, tf.function(crop), tf.function(crop, input_signature=[tf.TensorSpec([None], tf.int32)])):
        assert f(tf.constant([2, 3])).shape == (1, 2, 3, 1)
        with pytest.raises(tf.errors.InvalidArgumentError, match="crop dimensions must be positive"):
            f(tf.constant([2, 0]))

    @tf.function(input_signature=[tf.TensorSpec([None] * 4)])
    def late(x: Any) -> Any:
        return tf.image.crop_and_resize(x, [[0.0, 0, 1, 1]], [1], [2, 2])

    assert late(tf.ones([2, 4, 5, 1])).shape == (1, 2, 2, 1)


def test_numbers_of_numpys_functions_that_are_tensors() -> None:
    tnp, x = tf.experimental.numpy, tf.reshape(tf.range(6.0), [2, 3])
    assert tnp.array(x, ndmin=tf.constant(7)).shape == (1, 1, 1, 1, 1, 2, 3)
    for least, shape in ((tf.constant(3), (1, 2, 3)), (tf.constant(-(2**63), tf.int64), (2, 3))):
        assert tf.function(lambda n: tnp.array(x, ndmin=n))(least).shape == shape
    assert tnp.take_along_axis(x, [[2, 0], [1, -1]], tf.constant(1)).numpy().tolist() == [[2.0, 0.0], [4.0, 5.0]]
    for kind in ("int32", "int64"):
        assert _agree(lambda n, m, k: tnp.tri(n, m, k), *np.array([2, 3, 1], kind)) == [[1, 1, 0], [1, 1, 1]]
    assert _agree(lambda n: tnp.swapaxes(x, 0, n), -1) == tnp.swapaxes(x, 0, 1).numpy().tolist()
    for f in (tnp.swapaxes, tf.function(tnp.swapaxes)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="2 is no axis"):
            f(x, 0, tf.constant(2))


def test_summed_axes_of_a_list_and_a_tensor() -> None:
    axes = tf.function(lambda n: tuple(tf.raw_ops.BroadcastGradientArgs(s0=[2, 1, 1], s1=n)))
    for call in (axes, axes.python_function):
        for kind in (tf.int32, tf.int64):
            with flags.override(tier="last"):
                made = call(tf.constant([5, 1], kind))
            assert [each.numpy().tolist() for each in made] == [[1, 2], [0, 2]]
            assert {each.dtype for each in made} == {kind}


def test_steps_are_joined_along_axes_from_0_on() -> None:
    x = tf.bitcast(tf.constant([[3, 4]], tf.uint8), tf.quint8)

    def joined(n: Any) -> Any:
        return tf.cast(tf.quantization.quantized_concat(n, [x, x], [0.0] * 2, [1.0] * 2)[0], tf.int32)

    for call in (joined, tf.function(joined)):
        assert call(tf.constant(1)).numpy().tolist() == [[3, 4, 3, 4]]
        for axis in (-1, 2, tf.constant(-1)):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"in the range \[0, 2\), but got"):
                call(axis)


def test_axes_that_ranges_of_quantization_have_not() -> None:
    for axis in (2, -7):
        with pytest.raises(tf.errors.InvalidArgumentError, match="rank 2"):
            tf.quantization.quantize_and_dequantize_v2(
                tf.ones([3, 2]), [-1.0, -2.0], [2.0, 1.0], range_given=True, axis=axis
            )


def test_frames_for_which_there_is_no_room_and_sizes_of_pictures_that_are_none() -> None:
    with memory_limit(2**30):
        for f in (tf.signal.frame, tf.signal.stft):
            with pytest.raises(tf.errors.ResourceExhaustedError):
                f(tf.ones([2, 11]), 2**31 - 1, 2)
    late = tf.function(
        lambda size: tf.image.sample_distorted_bounding_box(size, [[[0.1, 0.2, 0.8, 0.9]]], seed=5)[0],
        input_signature=[tf.TensorSpec([None], tf.int32)],
    )
    assert late(tf.constant([9, 9, 3])).shape == (3,)
    with pytest.raises(tf.errors.InvalidArgumentError, match="contain 3 elements"):
        late(tf.constant([9, 9]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="box_index"):
        tf.image.crop_and_resize(tf.ones([2, 4, 5, 1]), [[0.0, 0, 1, 1]] * 2, [0], [2, 2])


def test_images_that_are_not_there_are_out_of_range_in_graphs_too() -> None:
    def crop(x: Any, which: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = tf.image.crop_and_resize(x, [[0.0, 0, 1, 1]], which, [2, 2])
        return tape.gradient(found, x)

    specs = [tf.TensorSpec([None] * 4), tf.TensorSpec([None], tf.int32)]
    for f in (crop, tf.function(crop), tf.function(crop, input_signature=specs)):
        assert f(tf.ones([2, 4, 5, 1]), tf.constant([1])).shape == (2, 4, 5, 1)
        for which in ([2], [-1]):
            with pytest.raises(tf.errors.OutOfRangeError, match=r"box_index has values outside \[0, 1\]"):
                f(tf.ones([2, 4, 5, 1]), tf.constant(which))


def test_numbers_of_boxes_that_only_a_run_knows(rng: Any) -> None:
    boxes, scores = (tf.constant(rng.random(s, np.float32)) for s in ([2, 6, 1, 4], [2, 6, 3]))
    for padded in (False, True):

        def kept(boxes: Any, scores: Any, k: Any, n: Any, padded: bool = padded) -> Any:
            return tf.image.combined_non_max_suppression(boxes, scores, k, n, 0.5, 0.1, pad_per_class=padded)

        specs = [tf.TensorSpec([None] * 4), tf.TensorSpec([None] * 3), *[tf.TensorSpec([], tf.int32)] * 2]
        late = tf.function(kept, input_signature=specs)
        for k, n in ((2, 3), (1, 9), (9, 4)):
            for m in (2, 0):
                eager = kept(boxes[:m], scores[:m], k, n)
                assert eager[1].shape == (m, min(n, 3 * k) if padded else n)
                for a, b in zip(eager, late(boxes[:m], scores[:m], k, n), strict=True):
                    np.testing.assert_array_equal(a, b)
        for k, n in ((0, 3), (2, -1)):
            for f in (kept, late):
                with pytest.raises(tf.errors.InvalidArgumentError, match="must be > 0"):
                    f(boxes, scores, tf.constant(k), tf.constant(n))
        for f in (kept, late):
            with pytest.raises(tf.errors.InvalidArgumentError, match="must be either 1 or num classes"):
                f(tf.repeat(boxes, 2, 2), scores, 2, 3)


def test_sampled_values_are_as_many_as_said() -> None:
    def loss(n: Any) -> Any:
        sampled = tf.constant([2, 5, 1], tf.int64), [[0.3], [0.4]], [0.2, 0.3, 0.5]
        return tf.nn.sampled_softmax_loss(tf.ones([8, 3]), tf.zeros([8]), [[3], [5]], tf.ones([2, 3]), n, 8,
                                          sampled_values=sampled)  # fmt: skip

    for f in (loss, tf.function(loss)):
        assert f(tf.constant(3)).shape == (2,)
        for n in (-1, 0, 4):
            with pytest.raises(tf.errors.InvalidArgumentError):
                f(tf.constant(n))


def test_bits_and_ranges_of_quantization_are_tensorflows() -> None:
    x, quantized = tf.constant([-2.0, -0.5, 0.5, 2.0]), tf.quantization.quantize_and_dequantize_v2
    assert quantized(x, -1.0, 2.0, num_bits=1).numpy().tolist() == [-2.0, 0.0, 0.0, 2.0]
    for signed, bits in ((True, 62), (False, 63)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="num_bits is out of range"):
            quantized(x, -1.0, 2.0, signed, bits)
    with pytest.raises(tf.errors.InvalidArgumentError, match="input_max must be a scalar"):
        quantized(x, -1.0, [2.0], range_given=True)
    assert tf.experimental.numpy.array(x, ndmin=tf.constant(2, tf.int64)).shape == (1, 4)


@pytest.mark.parametrize("tier", ["first", "last"])
def test_checks_of_known_numbers_against_what_only_a_run_knows(tier: str) -> None:
    cases = [
        (lambda n: ensure_extents([1, 2, 3], tf.reshape(n, [1])) + 1, 3),
        (lambda n: checked([1, 2, 3], 0, n, "too many: {}") + 1, 4),
        (lambda n: tf.cast(checked(7, n, 9, "too few: {}"), tf.int32) * 2, 7),
    ]
    with flags.override(tier=tier):
        for f, fits in cases:
            late = tf.function(f)
            np.testing.assert_array_equal(late(tf.constant(fits)), f(tf.constant(fits)))
            with pytest.raises(tf.errors.InvalidArgumentError):
                late(tf.constant(1 if fits != 7 else 8))


def test_what_tensors_of_unknown_rank_are_is_looked_at_when_they_are_known() -> None:
    some = [tf.TensorSpec(None, tf.int32)]
    rows = tf.ragged.constant([[1, 2], [3]])
    assert tf.function(lambda i: rows[i], input_signature=some)(1).numpy().tolist() == [3]
    sparse = tf.sparse.SparseTensor([[1, 0]], [1], [3, 3])
    filled = tf.function(lambda x: tf.sparse.fill_empty_rows(sparse, x)[0].values, input_signature=some)
    assert filled(7).numpy().tolist() == [7, 1, 7]
    band = tf.function(lambda x: tf.linalg.band_part(x, tf.size(x) * 0, 0), input_signature=some)
    assert band([[1, 2], [3, 4]]).numpy().tolist() == [[1, 0], [0, 4]]
    for f, wrong in ((filled, [7, 8]), (band, [1, 2])):
        with pytest.raises(tf.errors.InvalidArgumentError):
            f(wrong)


def test_sizes_below_0_of_composites_and_lengths_of_labels() -> None:
    sparse = tf.sparse.SparseTensor([[0, 0], [1, 2]], [1, 2], [2, 3])
    for f in (tf.sparse.slice, tf.function(tf.sparse.slice)):
        assert f(sparse, [0, 1], tf.constant([2, 2**63 - 1], tf.int64)).values.numpy().tolist() == [2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative size"):
            f(sparse, [0, 0], tf.constant([1, -1], tf.int64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
        tf.tile(tf.ragged.constant([[1, 2], [3]]), [1, -1])
    for decode in (tf.nn.ctc_greedy_decoder, tf.nn.ctc_beam_search_decoder):
        assert decode(tf.zeros([2, 1, 3]), [-1])[1].numpy().tolist() == [[0.0]]
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"sequence_length\(0\) <= 2"):
            decode(tf.zeros([2, 1, 3]), [5])
        with pytest.raises(tf.errors.InvalidArgumentError, match="must not be empty"):
            decode(tf.zeros([0, 1, 3]), [0])


def test_nothing_of_an_array_has_its_dtype_and_calls_at_once_are_more_than_none() -> None:
    for dtype in ("int32", "string", "float64"):
        assert tf.TensorArray(dtype, 0).stack().dtype == dtype
    assert tf.TensorArray("bool", 0, element_shape=[2]).stack().shape == (0, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_parallel_calls must be greater"):
        tf.data.Dataset.range(3).map(lambda x: x, num_parallel_calls=0)


@pytest.mark.parametrize("rank", [1, 2])
def test_single_numbers_in_vectors_and_matrices(rank: int) -> None:
    """A range's bounds may be vectors of one number, but not in graphs; diagonals may be so in both, matrices nowhere."""
    nested = [2] if rank == 1 else [[2]]
    ranges = [lambda: tf.range(nested), lambda: tf.range(0, 9, nested), lambda: tf.linspace(0.0, 1.0, nested)]
    diagonals = [
        lambda: tf.linalg.diag([1.0], k=nested),
        lambda: tf.linalg.diag_part(tf.eye(3), k=nested),
        lambda: tf.linalg.set_diag(tf.eye(3), [5.0], k=nested),
    ]
    for f, in_graphs in [(f, False) for f in ranges] + [(f, rank == 1) for f in diagonals]:
        if rank == 1:
            expected = f()
        else:
            with pytest.raises(tf.errors.InvalidArgumentError, match="must be a scalar"):
                f()
        if in_graphs:
            tf.debugging.assert_equal(tf.function(f)(), expected)
        else:
            with pytest.raises(ValueError, match=r"rank 0|at most rank 1|must be a scalar"):
                tf.function(f)()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_gradient_of_a_slice_that_nobody_reads_checks_where_it_lies(dtype: str) -> None:
    """Eagerly the slice refuses; in a graph of the gradient alone it is not computed."""
    x = tf.reshape(tf.range(12.0), [3, 4])
    gradient = tf.function(lambda n: tf.gradients(tf.slice(x, [n, 0], [1, 1]), x)[0])
    assert gradient(tf.constant(2, dtype)).numpy().ravel().nonzero()[0].tolist() == [8]
    for wrong in (-2, 3, 2**31 - 1):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Paddings must be non-negative"):
            gradient(tf.constant(wrong, dtype))


def test_the_gradient_of_a_reversed_sequence_that_nobody_reads_checks_lengths() -> None:
    x = tf.reshape(tf.range(12.0), [3, 4])
    gradient = tf.function(lambda n: tf.gradients(tf.reverse_sequence(x, tf.stack([n, 1, 1]), seq_axis=1), x)[0])
    assert gradient(tf.constant(4)).numpy().tolist() == np.ones([3, 4]).tolist()
    for wrong in (-1, 5):
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"seq_lens must lie in \[0, 4\], got {wrong}"):
            gradient(tf.constant(wrong))
