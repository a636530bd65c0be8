"""Strings by fingerprint, pattern and neighbour; tables; sets; labels of frames: TensorFlow's values."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.native import array_kernels

WORDS = [b"", b"a", b"hello", b"0123456789", b"x" * 30, b"y" * 60, b"z" * 200]


@pytest.mark.parametrize(
    "pattern", ["[a-z]", "[^a-z ]", "[^a-z ]+", r"\s+", r"\d", "x", "(?i)a", "a|b", "(a)", "a{1,2}", "a{2}", "."]
)
@pytest.mark.parametrize("rewrite", ["", "_", "é", "ab"])
def test_characters_are_written_anew_as_python_does(pattern: str, rewrite: str) -> None:
    words = ["aab xa", "Ax é9", "", "\n\t.,a", "ßaaaa~"]
    written = [re.sub(pattern, rewrite, word, flags=re.ASCII).encode() for word in words]
    assert tf.strings.regex_replace(words, pattern, rewrite).numpy().tolist() == written


def test_buckets() -> None:
    fast = [1936946117179621455, 3694432073954588131, 3786372426573024488, 3244036785122165995, 1463595594257686509]
    fast += [438870764492559519, 4117204190001636188]
    assert tf.strings.to_hash_bucket_fast(WORDS, 2**62).numpy().tolist() == fast
    strong = tf.strings.to_hash_bucket_strong([b"", b"a", b"0123456789"], 2**62, [7, -1])
    assert strong.numpy().tolist() == [972240184211909722, 3248132473090294980, 2324777751535918282]
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_buckets"):
        tf.strings.to_hash_bucket_fast(["a"], 0)


@pytest.mark.parametrize(
    "pattern, rewrite, wanted",
    [
        ("(a)(b)", r"\2\1-\0", [b"ba-abba-ab c!", b"\xc3\xa9t\xc3\xa9"]),
        ("[[:punct:]]", "", [b"abab c", b"\xc3\xa9t\xc3\xa9"]),
        (r"\w", "W", [b"WWWW W!", b"\xc3\xa9W\xc3\xa9"]),
        (".", "X", [b"XXXXXXX", b"XXX"]),
        ("b*", "-", [b"-a-a- -c-!-", b"-\xc3\xa9-t-\xc3\xa9-"]),
        (r"\Qc!\E$", "end", [b"abab end", b"\xc3\xa9t\xc3\xa9"]),
        ("(a)|b", r"<\1\\g>", [b"<a\\g><\\g><a\\g><\\g> c!", b"\xc3\xa9t\xc3\xa9"]),
        (r"\ba|!", "1", [b"1bab c1", b"\xc3\xa9t\xc3\xa9"]),
    ],
)
def test_patterns(pattern: str, rewrite: str, wanted: list[bytes]) -> None:
    assert tf.strings.regex_replace(["abab c!", "été"], pattern, rewrite).numpy().tolist() == wanted


def test_patterns_match_whole_strings_and_must_be_patterns() -> None:
    assert tf.strings.regex_full_match(["ab", "abc"], "[ab]+").numpy().tolist() == [True, False]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
        tf.strings.regex_replace(["a"], "(", "")


def test_characters_and_neighbours() -> None:
    assert tf.strings.unicode_split(["hé", ""], "UTF-8").to_list() == [[b"h", b"\xc3\xa9"], []]
    rows = tf.ragged.constant([["a", "b", "c"], ["d"], []])
    wanted = [[b"_-a", b"a-b", b"b-c", b"c-_"], [b"_-d", b"d-_"], [b"_-_"]]
    assert tf.strings.ngrams(rows, 2, separator="-", pad_values="_").to_list() == wanted
    assert tf.strings.ngrams(["a", "b"], 3, preserve_short_sequences=True).numpy().tolist() == [b"a b"]
    with pytest.raises(ValueError, match="greater than 0"):
        tf.strings.ngrams(["a"], 0)


# ---- tables ---------------------------------------------------------------------------------------------------------


def words_to_numbers() -> Any:
    keys = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
    return tf.lookup.StaticHashTable(keys, -1)


def test_a_fixed_table() -> None:
    table = words_to_numbers()
    assert table.lookup([["b", "z"]]).numpy().tolist() == [[2, -1]]
    assert table[tf.ragged.constant([["a"], ["b", "c"]])].to_list() == [[1], [2, -1]]
    assert int(table.size()) == 2
    in_graph = tf.function(table.lookup, input_signature=[tf.TensorSpec([None], tf.string)])
    assert in_graph(["a", "x"]).numpy().tolist() == [1, -1]
    assert [int(n) for n in tf.data.Dataset.from_tensor_slices(["b", "q"]).map(table.lookup)] == [2, -1]
    with pytest.raises(TypeError, match="Dtype of argument `keys` must be"):
        table.lookup(tf.constant([1]))
    with pytest.raises(tf.errors.FailedPreconditionError, match="different value for same key"):
        tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "a"], [1, 2]), 0)


def test_a_table_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("w0\nw1\nw2\n")
    whole, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    file = tf.lookup.TextFileInitializer(
        str(tmp_path / "words"), tf.string, whole, tf.int64, number, value_index_offset=2
    )
    assert tf.lookup.StaticHashTable(file, -1).lookup(["w1", "?"]).numpy().tolist() == [3, -1]
    back = tf.lookup.TextFileInitializer(str(tmp_path / "words"), tf.int64, number, tf.string, whole)
    found = tf.lookup.StaticHashTable(back, "?").lookup(tf.constant([1, 9], tf.int64))
    assert found.numpy().tolist() == [b"w1", b"?"]
    vocabulary = tf.lookup.StaticVocabularyTable(file, 3)
    numbers = vocabulary.lookup(["w0", "other"]).numpy().tolist()
    assert numbers[0] == 2 and 3 <= numbers[1] < 6


def test_a_table_that_changes_does_so_in_program_order() -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)

    @tf.function
    def count(keys: Any) -> Any:
        table.insert(keys, table.lookup(keys) + 1)
        return table.lookup(keys)

    assert count(tf.constant(["q", "y"])).numpy().tolist() == [1, 1]
    assert count(tf.constant(["q", "y"])).numpy().tolist() == [2, 2]
    table.remove(tf.constant(["q"]))
    keys, values = table.export()
    assert (keys.numpy().tolist(), values.numpy().tolist(), int(table.size())) == ([b"y"], [2], 1)
    rows = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.5])
    rows.insert(tf.constant([1], tf.int64), [[1.0, 2.0]])
    assert rows.lookup(tf.constant([[1, 7]], tf.int64)).numpy().tolist() == [[[1.0, 2.0], [0.0, 0.5]]]


def test_a_table_takes_what_it_was_made_for() -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)
    for keys, values in ((["a"], tf.constant([1])), (["a"], tf.constant(["b"])), (tf.constant([1]), [1])):
        with pytest.raises(ValueError, match="requested dtype"):
            table.insert(keys, values)
    with pytest.raises(ValueError, match="requested dtype"):
        table.lookup(tf.constant([1]))
    assert tf.lookup.StaticVocabularyTable(None, 5).size().dtype == tf.int64


# ---- sets and crossings ---------------------------------------------------------------------------------------------


def test_sets() -> None:
    a, b = tf.constant([[1, 2, 2], [3, 9, 4]]), tf.sparse.from_dense([[2, 5], [4, 3]])
    assert tf.sparse.to_dense(tf.sets.intersection(a, b)).numpy().tolist() == [[2, 0], [3, 4]]
    assert tf.sparse.to_dense(tf.sets.union(a, b)).numpy().tolist() == [[1, 2, 5], [3, 4, 9]]
    assert tf.sparse.to_dense(tf.sets.difference(a, b)).numpy().tolist() == [[1], [9]]
    assert tf.sets.size(tf.sets.union(a, b)).numpy().tolist() == [3, 3]


@pytest.mark.parametrize("dtype", ["uint8", "int64", "string"])
@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 6), (7,), (0, 3)])
def test_sets_are_those_of_python(rng: Any, dtype: str, shape: tuple[int, ...]) -> None:
    def tensor(x: Any) -> Any:
        return tf.strings.as_string(x) if dtype == "string" else tf.cast(x, dtype)

    a, b = rng.integers(0, 6, shape), rng.integers(0, 6, (*shape[:-1], 4))
    first, second = ([set(row.tolist()) for row in tensor(x).numpy().reshape(-1, x.shape[-1])] for x in (a, b))
    for name, wanted in (
        ("intersection", [x & y for x, y in zip(first, second, strict=True)]),
        ("union", [x | y for x, y in zip(first, second, strict=True)]),
        ("difference", [x - y for x, y in zip(first, second, strict=True)]),
    ):
        found = getattr(tf.sets, name)(tensor(a), tensor(b))
        assert found.values.numpy().tolist() == [v for row in wanted for v in sorted(row)]
        assert found.dense_shape.numpy().tolist() == [*shape[:-1], max(map(len, wanted), default=0)]
        rows = found.indices.numpy()
        assert (rows[:, -1] == [i for row in wanted for i in range(len(row))]).all()
        assert tf.sets.size(found).numpy().reshape(-1).tolist() == list(map(len, wanted))


def test_sets_of_more_rows_than_numbers_have() -> None:
    far = tf.SparseTensor([[0, 1, 0], [1 << 39, 5, 0], [1 << 39, 5, 1]], [3, 7, 7], [1 << 40, 1 << 40, 2])
    found = tf.sets.union(far, far)
    assert found.indices.numpy().tolist() == [[0, 1, 0], [1 << 39, 5, 0]]
    assert found.values.numpy().tolist() == [3, 7]


def test_crossings() -> None:
    crossed = tf.sparse.cross_hashed([tf.constant([["a", "b"], ["c", "d"]]), tf.constant([[1], [2]])], 1000)
    assert crossed.values.numpy().tolist() == [485, 983, 523, 923]
    assert crossed.indices.numpy().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_crossings_as_text_and_of_rows() -> None:
    ragged, dense = tf.ragged.constant([["a"], ["b", "c"], []]), tf.constant([[1, 2], [3, 4], [5, 6]])
    crossed = tf.sparse.cross([dense, ragged.to_sparse()])  # sparse ones come first
    assert crossed.values.numpy().tolist() == [b"a_X_1", b"a_X_2", b"b_X_3", b"b_X_4", b"c_X_3", b"c_X_4"]
    assert crossed.dense_shape.numpy().tolist() == [3, 4]
    assert tf.sparse.cross([dense, dense], separator="-").values[1] == b"1-2"
    rows = [[b"1_X_a", b"2_X_a"], [b"3_X_b", b"3_X_c", b"4_X_b", b"4_X_c"], []]
    assert tf.ragged.cross([dense, ragged]).to_list() == rows
    assert tf.function(lambda r: tf.ragged.cross([dense, r]))(ragged).to_list() == rows
    hashed = tf.ragged.cross_hashed([dense, ragged], num_buckets=100, hash_key=7)
    assert hashed.row_lengths().numpy().tolist() == [2, 4, 0] and int(tf.reduce_max(hashed.values)) < 100
    with pytest.raises(TypeError, match="list"):
        tf.sparse.cross(dense)
    with pytest.raises(tf.errors.InvalidArgumentError, match="batch"):
        tf.ragged.cross([ragged, dense[:2]])


def test_products_of_sparse_matrices_and_their_gradients() -> None:
    from fastgraph.composites.sparse_matrices import sparse_matrix_sparse_mat_mul

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s) * (rng.random(s) < 0.5) for s in ((2, 3, 4), (2, 4, 5)))
    left, right = tf.sparse.from_dense(a), tf.sparse.from_dense(b)
    with tf.GradientTape() as tape:
        tape.watch(left.values)
        product = sparse_matrix_sparse_mat_mul(left, right, tf.float64)
        total = tf.reduce_sum(product.values)
    np.testing.assert_allclose(tf.sparse.to_dense(product), a @ b)
    gradient = tf.convert_to_tensor(tape.gradient(total, left.values))
    np.testing.assert_allclose(gradient, (np.ones((2, 3, 5)) @ b.transpose(0, 2, 1))[a != 0])


def test_slices_that_differ() -> None:
    x = [[3, 1], [0, 2], [3, 1]]
    y, where, count = tf.raw_ops.UniqueWithCountsV2(x=x, axis=[0])
    assert [v.numpy().tolist() for v in (y, where, count)] == [[[3, 1], [0, 2]], [0, 1, 0], [2, 1]]
    assert tf.raw_ops.UniqueV2(x=np.zeros([2, 0]), axis=[0]).y.shape == (1, 0)
    found = tf.raw_ops.Bucketize(input=np.array([[-5.0, 10000], [150, 10]]), boundaries=[0.0, 10, 100])
    assert found.numpy().tolist() == [[0, 3], [3, 2]]


# ---- labels, and numbers of few bits --------------------------------------------------------------------------------


def test_labels_of_frames() -> None:
    frames = [[[0.6, 0.3, 0.1]], [[0.1, 0.2, 0.7]], [[0.3, 0.5, 0.2]], [[0.2, 0.5, 0.3]]]
    logits = np.log(np.array(frames, "float32"))
    paths, scores = tf.nn.ctc_beam_search_decoder(logits, [4], top_paths=2)
    assert [path.values.numpy().tolist() for path in paths] == [[0, 1], [1, 1]]
    np.testing.assert_allclose(scores, [[-1.13569, -2.18037]], atol=1e-5)
    (best,), lost = tf.nn.ctc_greedy_decoder(logits, [4])
    assert best.values.numpy().tolist() == [0, 1]
    np.testing.assert_allclose(lost, [[2.25379]], atol=1e-5)
    with pytest.raises(tf.errors.FailedPreconditionError, match="sequence_length"):
        tf.nn.ctc_greedy_decoder(logits, [9])


def test_fake_quantisation_gives_whole_steps() -> None:
    found = tf.quantization.fake_quant_with_min_max_args(np.linspace(-2, 2, 99), -1.3, 0.9, 4).numpy()
    step = np.float32(np.float32(0.9) - np.float32(-1.3)) / np.float32(15)
    assert set(found.tolist()) == {float(np.float32(n) * step) for n in range(-9, 7)}


def test_fake_quantisation_and_its_gradients() -> None:
    x, low, high = tf.constant([-9.0, -2.9, 0.1, 2.2, 7.0]), tf.constant(-3.0), tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch([x, low, high])
        y = tf.quantization.fake_quant_with_min_max_vars(x, low, high, num_bits=4)
        total = tf.reduce_sum(y * [1.0, 2, 3, 4, 5])
    np.testing.assert_allclose(y, [-2.8, -2.8, 0, 2.33333, 4.2], atol=1e-5)
    gradients = [np.asarray(g).tolist() for g in tape.gradient(total, [x, low, high])]
    assert gradients == [[0, 0, 3, 4, 0], 3, 5]


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_floats_of_eight_bits_are_cast_to_and_from(name: str) -> None:
    x = tf.constant([0.3, -1.7, 100.0])
    wanted = x.numpy().astype(tf.as_dtype(name).numpy_dtype).astype("float32")

    def there_and_back(x: Any) -> Any:
        return tf.cast(tf.cast(x, name), tf.float32)

    for function in (there_and_back, tf.function(there_and_back)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        np.testing.assert_array_equal(y, wanted)
        assert tape.gradient(y, x) is None
    assert tf.cast(x, name).dtype.size == 1 and tf.constant([1.0], dtype=name).dtype == name


def test_choices_by_numpys_names() -> None:
    chosen = tf.experimental.numpy.select([[True, False, False], [True, True, False]], [[1, 2, 3], [4.5, 5.5, 6.5]], 9)
    assert chosen.numpy().tolist() == [1.0, 5.5, 9.0]
    assert tf.experimental.numpy.finfo(tf.float32).eps == np.finfo(np.float32).eps


def test_shards_and_batches_of_another_size() -> None:
    batches = tf.data.Dataset.range(16).batch(8).rebatch(4)
    assert [b.tolist() for b in batches.shard(2, 1).as_numpy_iterator()] == [[4, 5, 6, 7], [12, 13, 14, 15]]
    assert int(tf.data.Dataset.range(5).shard(2, 0).cardinality()) == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="index must be"):
        tf.data.Dataset.range(4).shard(2, 2)


# ---- files ----------------------------------------------------------------------------------------------------------


def test_files_by_paths(tmp_path: Path) -> None:
    files, name = tf.io.gfile, str(tmp_path / "a" / "b.txt")
    tf.io.write_file(name, "two\nlines")
    assert tf.io.read_file(name).numpy() == b"two\nlines"
    with files.GFile(name) as file:
        assert (file.readline(), file.read(3), file.size()) == ("two\n", "lin", 9)
    files.copy(name, files.join(str(tmp_path), "c"))
    assert files.exists(name) and files.isdir(str(tmp_path)) and files.listdir(str(tmp_path)) == ["a", "c"]
    assert files.glob(str(tmp_path / "*" / "*.txt")) == [name]
    assert [len(found) for _, _, found in files.walk(str(tmp_path))] == [1, 1]
    with pytest.raises(tf.errors.AlreadyExistsError):
        files.rename(name, str(tmp_path / "c"))
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        tf.io.read_file(str(tmp_path / "none"))
    with pytest.raises(tf.errors.NotFoundError):
        files.GFile(str(tmp_path / "none")).read()


def test_sounds(tmp_path: Path) -> None:
    samples = np.array([[0.5, -0.25], [1.0, 0.0], [-1.0, 0.125]], "float32")
    sound = tf.audio.decode_wav(tf.audio.encode_wav(samples, 8000))
    np.testing.assert_allclose(sound.audio, samples, atol=1e-4)
    assert int(sound.sample_rate) == 8000
    longer = tf.audio.decode_wav(tf.audio.encode_wav(samples, 8000), desired_channels=1, desired_samples=5)
    assert longer.audio.shape == (5, 1) and longer.audio.numpy()[3:].tolist() == [[0], [0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="RIFF"):
        tf.audio.decode_wav(b"no sound")


def test_pictures() -> None:
    image = pytest.importorskip("PIL.Image")
    import io

    pixels = np.arange(24, dtype="uint8").reshape(2, 4, 3) * 10
    written = io.BytesIO()
    image.fromarray(pixels).save(written, "png")
    np.testing.assert_array_equal(tf.io.decode_image(written.getvalue()), pixels)
    grey = tf.image.decode_png(written.getvalue(), channels=1)
    assert grey.shape == (2, 4, 1) and grey.dtype == "uint8"
    in_graph = tf.function(lambda data: tf.io.decode_image(data, 3, tf.float32, expand_animations=False))
    np.testing.assert_allclose(in_graph(tf.constant(written.getvalue())), pixels / np.float32(255), rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown image file format"):
        tf.io.decode_image(b"no picture")


def test_datasets_are_no_tensors() -> None:
    dataset = tf.data.Dataset.range(3)
    assert not any(map(tf.is_tensor, (dataset, iter(dataset), tf.TensorArray(tf.float32, 1))))
    rows = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    assert all(map(tf.is_tensor, (rows, tf.ragged.constant([[1]]), tf.Variable(1.0), tf.constant(1))))


def test_custom_gradients_of_what_stands_for_variables() -> None:
    """As Keras's Variables: the gradients that grad_fn gives go to the Variable that was read for the argument."""
    variable = tf.Variable(3.0)

    @tf.custom_gradient
    def doubled(x: Any, v: Any) -> Any:
        def gradients(dy: Any, variables: Any = None) -> Any:
            assert variables is None
            return dy, dy * 10.0

        return x * v, gradients

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = doubled(x, variable)
        return tape.gradient(y, variable)

    assert float(step(tf.constant(2.0))) == 10.0


@pytest.mark.parametrize("words", [[b"a_1", b"xb", b""], ["\u00e9_1".encode(), b"a\xff", b"ab"]])
@pytest.mark.parametrize("pattern", ["[^a-z]+", r"(a|\x62)_?", r".", r"(?i)A_\d", r"[\u00e9a]", r"\w+", "a$"])
def test_patterns_over_ascii_and_other_strings_agree(words: list[bytes], pattern: str) -> None:
    """Strings of ASCII are matched as bytes, others as text: beside one that is not, all are matched as text."""
    beside = [*words, "\u00e9".encode()]
    for call in (
        lambda x: tf.strings.regex_full_match(x, pattern),
        lambda x: tf.strings.regex_replace(x, pattern, r"<\0>"),
        lambda x: tf.strings.regex_replace(x, pattern, "-", replace_global=False),
    ):
        assert call(words).numpy().tolist() == call(beside).numpy().tolist()[:-1]


@pytest.mark.parametrize("text", [b"1_000", b"", b"1e", b"\xef\xbc\x91", b"3000000000", b"1.5"])
def test_what_is_no_int32(text: bytes) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly convert string"):
        tf.strings.to_number([b"12", text, b"7"], tf.int32)


def test_numbers_of_texts() -> None:
    assert tf.strings.to_number([b" 1.5 ", b"-2e3", b"inf"]).numpy().tolist() == [1.5, -2000.0, np.inf]
    assert tf.strings.to_number([[b"-12"], [b"+7"]], tf.int64).numpy().tolist() == [[-12], [7]]


def test_numbers_of_texts_are_those_of_python(rng: Any) -> None:
    values = rng.standard_normal(500) * 10.0 ** rng.integers(-25, 26, 500)
    forms = ["{!r}", "{:.4f}", "{:g}", "{:.0f}", "{:+.10f}", "{:.20e}", " {} "]
    texts = [form.format(float(v)) for v in values for form in forms] + ["1e400", "-1e-400", "0.1", ".5", "5.", "nan"]
    np.testing.assert_array_equal(tf.strings.to_number(texts, tf.float64), np.array([float(t) for t in texts]))
    whole = rng.integers(-(2**63), 2**63 - 1, 300, dtype=np.int64) >> rng.integers(0, 60, 300)
    assert tf.strings.to_number([f"{n}" for n in whole], tf.int64).numpy().tolist() == whole.tolist()
    for text in ("", ".", "-.", "1.5.2", "0x1g", "1 2", "1\x00"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly convert string"):
            tf.strings.to_number(["1", text])


def test_lengths_and_windows_of_texts() -> None:
    texts = [[b"ab", b""], ["h\u00e9\u65e5".encode(), b"\xff\x80"]]
    assert tf.strings.length(texts).numpy().tolist() == [[2, 0], [6, 2]]
    assert tf.strings.length(texts, unit="UTF8_CHAR").numpy().tolist() == [[2, 0], [3, 1]]
    row, splits = np.array([b"a", b"", b"c"], object), np.array([0, 3, 3])
    with pytest.raises(ValueError, match="windows are of one string or more"):
        array_kernels.windows(row, splits, (0,), b"", b"", b"", 0, False)
    with pytest.raises(ValueError, match="beyond the strings"):
        array_kernels.windows(row, np.array([0, 4]), (1,), b"", b"", b"", 0, False)
    found, ends = array_kernels.windows(row, splits, (2,), b"--", b"", b"", 0, False)
    assert found == [b"a--", b"--c"] and ends.tolist() == [0, 2, 2]
    assert array_kernels.windows(row[:1], splits[:1], (2,), b" ", b"", b"", 0, False)[0] == []


def test_base64_is_pythons(rng: np.random.Generator) -> None:
    texts = [rng.bytes(n) for n in range(70)]
    coded = [base64.urlsafe_b64encode(text) for text in texts]
    assert tf.io.encode_base64(texts, pad=True).numpy().tolist() == coded
    assert tf.io.encode_base64(texts).numpy().tolist() == [each.rstrip(b"=") for each in coded]
    for given in (coded, [each.rstrip(b"=") for each in coded]):
        assert tf.io.decode_base64(given).numpy().tolist() == texts
    for text, wrong in (
        (b"ab+d", "Invalid character"),
        (b"abcde", "1 modulo 4"),
        (b"ab=", "Invalid"),
        (b"====", "Inv"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=wrong):
            tf.io.decode_base64([text])


@pytest.mark.parametrize("codec", ["UTF-8", "UTF-16-BE", "UTF-32-BE"])
def test_characters_of_all_widths_in_other_encodings(codec: str) -> None:
    texts = ["", "a", "h\u00e9", "\u65e5\u672c", "", "\U0001f600x", "\x01y"]
    given = [text.encode() for text in texts]
    assert tf.strings.unicode_transcode(given, "UTF-8", codec).numpy().tolist() == [
        text.encode(codec) for text in texts
    ]
    codes = tf.ragged.constant([[ord(c) for c in text] for text in texts], tf.int32)
    assert tf.strings.unicode_encode(codes, codec).numpy().tolist() == [text.encode(codec) for text in texts]
    split = tf.strings.unicode_split_with_offsets(given, "UTF-8")[0].to_list()
    assert split == [[c.encode() for c in text] for text in texts]
    odd = tf.ragged.constant([[65, 0xD800, 66], [], [0x110000, -1], [67]], tf.int32)
    assert tf.strings.unicode_encode(odd, codec, errors="ignore").numpy().tolist() == [
        text.encode(codec) for text in ("AB", "", "", "C")
    ]
    assert tf.strings.unicode_encode(odd, codec, replacement_char=63).numpy().tolist() == [
        text.encode(codec) for text in ("A?B", "", "??", "C")
    ]


@pytest.mark.parametrize("keys", [range(50), range(-3, 9), [5], [2**62, 7], [0, 5000], []])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_tables_of_near_and_of_far_whole_numbers(keys: Sequence[int], dtype: tf.DType) -> None:
    keys = [k for k in keys if dtype is tf.int64 or k < 2**31]
    values = [2 * k % 97 + 1 for k in keys]
    init = tf.lookup.KeyValueTensorInitializer(
        tf.constant(keys, dtype, [len(keys)]), tf.constant(values, tf.int64, [len(values)])
    )
    table = tf.lookup.StaticHashTable(init, -1)
    info = np.iinfo(dtype.as_numpy_dtype)
    asked = [[info.min, info.max, -4, 0], [5, 7, 8, 49], [50, 1, 4999, 5000]]
    wanted = [[dict(zip(keys, values, strict=True)).get(k, -1) for k in row] for row in asked]
    assert table.lookup(tf.constant(asked, dtype)).numpy().tolist() == wanted
    assert tf.function(table.lookup)(tf.constant(asked, dtype)).numpy().tolist() == wanted
    assert table.lookup(tf.constant(5, dtype)).shape == ()


def test_string_tensors_are_of_bytes_whoever_made_them() -> None:
    """Arrays of bytes are taken as they are, others made anew; what a tensor holds cannot be written to."""
    given = np.array([b"a", "b", np.bytes_(b"c"), np.str_("d")], object)
    held = tf.constant(given)
    given[0] = b"z"
    assert held.numpy().tolist() == [b"a", b"b", b"c", b"d"]
    own = np.array([b"a", b"b"], object)
    held = tf.constant(own)
    own[0] = b"z"
    assert held.numpy().tolist() == [b"a", b"b"]
    made = tf.numpy_function(lambda: own, [], tf.string)
    own[1] = b"y"
    assert made.numpy().tolist() == [b"z", b"b"]
    held.numpy()[0] = tf.strings.lower(held).numpy()[0] = b"x"
    assert held.numpy().tolist() == tf.strings.lower(held).numpy().tolist() == [b"a", b"b"]
    with pytest.raises((TypeError, ValueError)):
        tf.constant(np.array([b"a", None], object))


@pytest.mark.parametrize(
    ("op", "arguments", "message"),
    [
        ("StringJoin", {"inputs": ["a", "b"], "separator": 3}, "Expected string for argument 'separator'"),
        ("MatMul", {"a": [[1.0]], "b": [[1.0]], "transpose_a": 1}, "Expected bool for argument 'transpose_a'"),
        ("LeakyRelu", {"features": [1.0], "alpha": "a"}, "Expected float for argument 'alpha'"),
        ("MaxPool", {"input": [[[[1.0]]]], "ksize": 1, "strides": [1] * 4, "padding": "SAME"}, "Expected list for 'ksize'"),
        ("MaxPool", {"input": [[[[1.0]]]], "ksize": [1] * 4, "strides": [1] * 4, "padding": [[0, 0]]}, "Expected string"),
    ],
)  # fmt: skip
def test_attributes_of_operations_that_are_of_another_class(op: str, arguments: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        getattr(tf.raw_ops, op)(**arguments)
