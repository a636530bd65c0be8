"""SavedModels and files: pictures, operations that open files, assets, and a full disk while one is written."""

from __future__ import annotations

import copy
import os
import re
import resource
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.graphdef.messages import KINDS
from fastgraph.ops.string_hashes import fingerprint
from fastgraph.saving import saved_model_command, saved_model_export, saved_model_graph

OPEN = tf.saved_model.LoadOptions(experimental_open_files=True)


def module(function: Any, *specs: Any) -> Any:
    made = tf.Module()
    made.f = tf.function(function, input_signature=specs)
    return made


def again(made: Any, folder: Path, options: Any = None) -> Any:
    tf.saved_model.save(made, folder)
    return tf.saved_model.load(folder, options=options)


def test_pictures_and_sounds_are_saved_and_loaded(tmp_path: Path, rng: np.random.Generator) -> None:
    picture = tf.constant(rng.integers(0, 256, (4, 5, 3)), tf.uint8)
    jpeg = tf.io.encode_jpeg(picture, quality=60)

    def pictures(x: Any, data: Any) -> Any:
        png = tf.io.encode_png(x)
        wide = tf.io.decode_png(tf.io.encode_png(tf.cast(x, tf.uint16) * 257), 3, tf.uint16)
        again = tf.io.encode_jpeg(x, quality=40, chroma_downsampling=False)
        return (
            tf.io.decode_png(png, 1), wide, tf.io.decode_jpeg(data, 3, ratio=2), tf.io.is_jpeg(data),
            tf.io.decode_image(data, 3, tf.float32, expand_animations=False), tf.io.decode_jpeg(again),
            tf.io.extract_jpeg_shape(data, tf.int64), tf.io.decode_and_crop_jpeg(data, [1, 0, 2, 3]),
            *tf.audio.decode_wav(tf.audio.encode_wav(tf.reshape(tf.cast(x, tf.float32) / 255.0, [-1, 1]), 8000), 1, 9),
        )  # fmt: skip

    made = module(pictures, tf.TensorSpec([None, None, 3], tf.uint8), tf.TensorSpec([], tf.string))
    loaded = again(made, tmp_path)
    for wanted, found in zip(pictures(picture, jpeg), loaded.f(picture, jpeg), strict=True):
        assert wanted.dtype == found.dtype and np.array_equal(wanted.numpy(), found.numpy())


def test_boxes_of_pictures_are_loaded(tmp_path: Path) -> None:
    loaded = again(module(lambda b: tf.image.crop_and_resize(b, [[0.0, 0.0, 1.0, 0.5]], [0], [2, 2]),
                          tf.TensorSpec([1, 3, 4, 1], tf.float32)), tmp_path)  # fmt: skip
    given = tf.reshape(tf.range(12.0), [1, 3, 4, 1])
    assert loaded.f(given)[0, :, :, 0].numpy().tolist() == [[0.0, 1.5], [8.0, 9.5]]


def test_files_are_opened_where_that_was_allowed(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("one\ntwo\n")
    made = module(lambda name: tf.io.read_file(name), tf.TensorSpec([], tf.string))
    made.asset = tf.saved_model.Asset(str(path))
    made.own = tf.function(lambda: tf.io.read_file(made.asset.asset_path), input_signature=[])
    loaded = again(made, tmp_path / "model")
    os.remove(path)
    assert loaded.own().numpy() == b"one\ntwo\n"  # an asset
    path.write_text("three")
    with pytest.raises(tf.errors.NotFoundError, match=r"ReadFile opens files.*experimental_open_files=True"):
        loaded.f(str(path))
    assert tf.saved_model.load(tmp_path / "model", options=OPEN).f(str(path)).numpy() == b"three"
    listing = module(lambda pattern: tf.io.matching_files(pattern), tf.TensorSpec([], tf.string))
    with pytest.raises(tf.errors.NotFoundError, match=r"experimental_open_files=True\) allows MatchingFiles"):
        again(listing, tmp_path / "listing")
    loaded = tf.saved_model.load(tmp_path / "listing", options=OPEN)
    assert loaded.f(str(tmp_path / "w*")).numpy().tolist() == [os.fsencode(path)]


def test_texts_that_are_paths_of_assets_are_the_assets_and_objects_are_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "words").write_text("one\ntwo\n")
    asset = tf.saved_model.Asset(str(tmp_path / "words"))
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
    made = module(lambda x: (tf.strings.join([asset.asset_path, x]), table.lookup(x)), tf.TensorSpec([], tf.string))
    made.zz_later = asset  # met after the function that takes its path
    asked: list[int] = []
    before = saved_model_graph.SavedGraph._children
    monkeypatch.setattr(
        saved_model_graph.SavedGraph, "_children", lambda self, value: asked.append(id(value)) or before(self, value)
    )
    loaded = again(made, tmp_path / "model")
    assert len(asked) == len(set(asked))
    found, number = loaded.f("a")
    assert found.numpy() == os.fsencode(tmp_path / "model" / "assets" / "words") + b"a" and number == 1
    message = KINDS["SavedModel"].FromString((tmp_path / "model" / "saved_model.pb").read_bytes())
    kinds = [node.WhichOneof("kind") for node in message.meta_graphs[0].object_graph_def.nodes]
    assert kinds.count("asset") == 1


@pytest.mark.parametrize("limit", [0, 300, 2500, 4000])
def test_a_full_disk_leaves_the_model_before(tmp_path: Path, limit: int) -> None:
    """The limit is met by the values, by the graph, or by an asset."""
    path = tmp_path / "model"

    def model(n: int) -> Any:
        words = tmp_path / f"words{n}"
        words.write_text("\n".join(map(str, range(n))) + "\n")
        made = module(lambda x: [v + x for v in made.v], tf.TensorSpec([], tf.float32))
        made.v = [tf.Variable(tf.fill([5], float(n))) for _ in range(n % 7)]
        made.t = tf.saved_model.Asset(str(words))
        return made

    tf.saved_model.save(model(10), path)
    files = sorted(path.rglob("*"))
    other = model(2005)
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            tf.saved_model.save(other, path)
        except tf.errors.OutOfRangeError:  # a limit, not a full disk; the way is the same
            os._exit(7)
        finally:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert sorted(path.rglob("*")) == files
    found = tf.saved_model.load(path).f(1.0)
    assert [x.numpy().tolist() for x in found] == [[11.0] * 5] * 3


def test_examples_and_literals_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    features = {"a": tf.io.FixedLenFeature([2], tf.float32), "b": tf.io.FixedLenFeature([], tf.string)}
    parse = lambda x: tf.io.parse_example(x, features)
    tf.saved_model.save(module(parse, tf.TensorSpec([None], tf.string, "x")), tmp_path)
    run = ["run", "--dir", str(tmp_path)]
    assert saved_model_command.main([*run, "--input_examples", "x=[{'a': [1, 2.5], 'b': ['z']}]"]) == 0
    assert capsys.readouterr().out.split() == [
        "Result",
        "for",
        "output",
        "key",
        "a:",
        "[[1.",
        "2.5]]",
        "Result",
        "for",
        "output",
        "key",
        "b:",
        "[b'z']",
    ]
    for given, wanted in (
        (["--input_exprs", "x=np.ones(2)"], "not a valid python literal"),
        (["--input_examples", "x={'a': [1]}"], "must be a list of dictionaries"),
        (["--input_examples", "x=[{'a': 1}]"], "must be a list of numbers or of texts"),
    ):
        assert saved_model_command.main([*run, *given]) == 1
        assert wanted in capsys.readouterr().err


def test_layers_that_number_words_are_saved_and_copied(tmp_path: Path) -> None:
    text = tf.keras.layers.TextVectorization(vocabulary=["a", "b"], output_sequence_length=3)
    strict = tf.keras.layers.StringLookup(vocabulary=["a", "b"], num_oov_indices=0)
    made = module(lambda x: text(x), tf.TensorSpec([None], tf.string))
    loaded = again(made, tmp_path)
    given = tf.constant(["b, A!", "z a b b"])
    assert loaded.f(given).numpy().tolist() == text(given).numpy().tolist() == [[3, 2, 0], [1, 2, 3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"should be in the vocabulary(?s:.*)z"):
        strict(["a", "z"])
    other = copy.deepcopy(text)
    text.set_vocabulary(["z"])
    assert text(given).numpy().tolist() == [[1, 1, 0], [2, 1, 1]]
    both = tf.function(lambda x: (text(x), other(x)))  # tables of their own, in one graph
    assert [x.numpy().tolist() for x in both(given)] == [[[1, 1, 0], [2, 1, 1]], [[3, 2, 0], [1, 2, 3]]]
    text.set_vocabulary(["b", "z"])
    assert both(given)[0].numpy().tolist() == [[2, 1, 0], [3, 1, 2]]


def test_what_else_a_program_says_of_functions_is_kept(tmp_path: Path) -> None:
    root = module(lambda x, y: x + y, tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.float32))
    array, tensor = np.array(5.0, np.float32), tf.constant(5.0)
    root.given = tf.function(lambda x=array: x * 2.0, [tf.TensorSpec([], tf.float32)])
    root.tensor = tf.function(lambda x=tensor: x * 2.0, [tf.TensorSpec([], tf.float32)])
    root.chosen = [tf.function(lambda x: x, [tf.TensorSpec([], tf.float32)], jit_compile=how) for how in (True, False)]
    nested = tf.function(lambda x, y=2: x["a"] * x["b"][0] * y)
    spec = tf.TensorSpec([], tf.float32)
    root.trace = nested.get_concrete_function({"a": spec, "b": [spec, 3]})
    root.list, root.tuple = [tf.Variable(1.0), "x", tf.Variable(3.0)], (1, tf.Variable(4.0))
    loaded = again(root, tmp_path)
    assert (loaded.given(), loaded.tensor(), loaded.given(1.0)) == (10.0, 10.0, 2.0)
    assert [each._jit_compile for each in loaded.chosen] == [True, False]
    one = tf.constant(3.0)
    assert loaded.trace({"a": one, "b": [one, 3]}) == 18.0 and loaded.trace(x={"a": one, "b": [one, 3]}) == 18.0
    assert loaded.list[1] is None and loaded.list[2] == 3.0 and loaded.tuple[0] is None and loaded.tuple[1] == 4.0


def test_properties_and_chains_of_what_can_be_called(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    class Counting(tf.Module):
        count = 0

        @property
        def made(self) -> Any:
            found = tf.function(lambda: tf.constant(self.count), [])
            found.get_concrete_function()
            warnings.warn("old", stacklevel=1)
            self.count += 1
            return found

    counting = Counting()
    assert again(counting, tmp_path / "a").made() == 0 and counting.count == 1
    assert not [each for each in recwarn if "old" in str(each.message)]
    root = tf.Module()
    root.__call__ = tf.Module()
    root.__call__.__call__ = tf.function(lambda x: x * 3.0, [tf.TensorSpec([], tf.float32)])
    twice = again(again(root, tmp_path / "b"), tmp_path / "c")
    assert twice(tf.constant(2.0)) == 6.0


def test_aliases_of_functions(tmp_path: Path) -> None:
    root = module(lambda x: x, tf.TensorSpec([], tf.float32))
    other = tf.function(lambda x: x * 2.0)
    other(tf.constant(1.0))
    options = tf.saved_model.SaveOptions(function_aliases={"mine": root.f, "no object's": other})
    tf.saved_model.save(root, tmp_path, options=options)
    wanted = tf.saved_model.LoadOptions(experimental_load_function_aliases=True)
    assert sorted(tf.saved_model.load(tmp_path, options=wanted).function_aliases) == ["mine"]
    root.function_aliases = tf.Variable(1.0)
    tf.saved_model.save(root, tmp_path)
    with pytest.raises(ValueError, match="experimental_load_function_aliases"):
        tf.saved_model.load(tmp_path, options=wanted)


def test_names_that_no_parameter_has_and_results_of_parts(tmp_path: Path) -> None:
    names = module(lambda a, b: a - b, tf.TensorSpec([], tf.int32, "A-b"), tf.TensorSpec([], tf.int32, "c/d"))
    assert again(names, tmp_path / "a").signatures["serving_default"](A_b=7, c_d=2)["output_0"] == 5
    parts = module(lambda x: {"r": tf.strings.split(x), "n": tf.size(x)}, tf.TensorSpec([None], tf.string, "x"))
    found = again(parts, tmp_path / "b").signatures["serving_default"](x=tf.constant(["a b", "c"]))
    assert found["r"].to_list() == [[b"a", b"b"], [b"c"]] and found["n"] == 2


def test_a_variable_made_in_a_function_has_the_shape_of_its_graph(tmp_path: Path) -> None:
    class Made(tf.Module):
        v: Any = None

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
        def make(self, x: Any) -> None:
            if self.v is None:
                self.v = tf.Variable(x)

    made = Made()
    made.make([1, 2, 3])
    loaded = again(made, tmp_path)
    for each in (made, loaded):
        assert each.v.shape.as_list() == [None] and each.v.numpy().tolist() == [1, 2, 3]
        each.v.assign([1, 2, 3, 4])


def test_a_table_that_is_made_by_a_function_of_a_function(tmp_path: Path) -> None:
    """So does TensorFlow write what it has loaded."""
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [7]), -1)
    made = module(lambda x: table.lookup(x), tf.TensorSpec([], tf.string))
    made.table = table
    tf.saved_model.save(made, tmp_path)
    path = tmp_path / "saved_model.pb"
    message = KINDS["SavedModel"].FromString(path.read_bytes())
    library: Any = message.meta_graphs[0].graph_def.library
    outer = next(each for each in library.function if "create_resource" in each.signature.name)
    inner = KINDS["FunctionDef"].FromString(outer.SerializeToString())
    inner.signature.name = "inner"
    call = saved_model_export.node("call", "StatefulPartitionedCall", (), Tin=[], Tout=[tf.resource])
    call.attr["f"].func.name = "inner"
    del outer.node_def[:]
    outer.node_def.append(call)
    outer.ret["table_handle"] = "call:output:0"
    library.function.append(inner)
    path.write_bytes(message.SerializeToString())
    loaded = tf.saved_model.load(tmp_path)
    assert [int(loaded.f(x)) for x in "ab"] == [7, -1]


def test_checkpoints_have_the_entries_of_tables_that_were_loaded(tmp_path: Path) -> None:
    made = tf.Module()
    made.table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    made.dense = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, [0, 0], -1, -2)
    made.fixed = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
    made.find = tf.function(
        lambda x, n: (made.table.lookup(x), made.dense.lookup(n)),
        input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int64)],
    )
    made.table.insert(["a", "b"], [4, 5])
    made.dense.insert([7], [[8, 9]])
    loaded = again(made, tmp_path / "model")
    path = tf.train.Checkpoint(loaded).write(tmp_path / "c")
    keys = {key for key, _ in tf.train.list_variables(path)}
    assert {f"{name}/.ATTRIBUTES/table-{part}" for name in ("table", "dense") for part in ("keys", "values")} < keys
    assert not any("fixed" in key for key in keys)
    made.table.remove(["a"])
    other = again(made, tmp_path / "other")
    tf.train.Checkpoint(other).read(path).assert_consumed()
    words, numbers = other.find(["a", "b", "c"], [7, 1])
    assert words.numpy().tolist() == [4, 5, -1] and numbers.numpy().tolist() == [[8, 9], [0, 0]]
    tf.train.Checkpoint(made).read(path).assert_consumed()  # as the tables that were saved have them
    assert made.table.lookup(["a"]).numpy().tolist() == [4]


def test_a_file_that_two_objects_read_is_one_asset(tmp_path: Path) -> None:
    path = str(tmp_path / "words.txt")
    Path(path).write_text("a\nb\n")
    made = tf.Module()
    made.asset = tf.saved_model.Asset(path)
    index = tf.lookup.TextFileIndex
    made.table = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(path, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER), -1
    )
    made.find = tf.function(lambda x: made.table.lookup(x), input_signature=[tf.TensorSpec([None], tf.string)])
    loaded = again(made, tmp_path / "model")
    assert os.listdir(tmp_path / "model" / "assets") == ["words.txt"]
    assert Path(os.fsdecode(loaded.asset.asset_path.numpy())).read_text() == "a\nb\n"
    assert loaded.find(["b", "c"]).numpy().tolist() == [1, -1]


def test_python_functions_are_loaded_in_their_own_process(tmp_path: Path) -> None:
    made = module(lambda x: 1.0 + tf.py_function(lambda v: v * v, [x], tf.float32), tf.TensorSpec([]))
    loaded = again(made, tmp_path)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loaded.f(x)
    assert float(y) == 10.0 and float(tape.gradient(y, x)) == 6.0
    of_module = tmp_path / "saved_model.pb"
    content = of_module.read_bytes()
    token = re.search(rb"pyfunc_\d+_[0-9a-f]{16}", content)
    assert token is not None
    of_module.write_bytes(content.replace(token[0], token[0][:-16] + b"0123456789abcdef"))  # of another process
    with pytest.raises(tf.errors.NotFoundError, match="EagerPyFunc"):
        tf.saved_model.load(tmp_path)


def test_aliases_are_names_of_functions(tmp_path: Path) -> None:
    made = module(lambda x: x, tf.TensorSpec([]))
    traces = [made.f.get_concrete_function()]
    tf.saved_model.save(made, tmp_path, options=tf.saved_model.SaveOptions(function_aliases={"a": traces}))
    with pytest.raises(TypeError, match="'a'. Functions in `function_aliases` should be created by tf.function"):
        tf.saved_model.save(made, tmp_path, options=tf.saved_model.SaveOptions(function_aliases={"a": 3}))


def test_mutable_tables_say_what_saves_and_restores_them(tmp_path: Path) -> None:
    """TensorFlow keeps by these what a loaded table has learned; it calls `_initialize` after it has restored."""
    made = tf.Module()
    made.table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    made.fixed = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
    made.find = tf.function(made.table.lookup, input_signature=[tf.TensorSpec([None], tf.string)])
    made.table.insert(["a"], [4])
    tf.saved_model.save(made, tmp_path)
    meta = KINDS["SavedModel"].FromString((tmp_path / "saved_model.pb").read_bytes()).meta_graphs[0]
    nodes, traces = meta.object_graph_def.nodes, meta.object_graph_def.concrete_functions
    [(place, node)] = [(i, node) for i, node in enumerate(nodes) if node.saveable_objects]
    by = node.saveable_objects["table"]
    assert not {by.save_function, by.restore_function} & {child.node_id for each in nodes for child in each.children}
    functions = {each.signature.name: each for each in meta.graph_def.library.function}
    found = []
    for number in (by.save_function, by.restore_function):
        name = nodes[number].bare_concrete_function.concrete_function_name
        assert list(traces[name].bound_inputs) == [place]
        signature = functions[name].signature
        found.append([[each.name for each in signature.input_arg], len(signature.output_arg)])
    assert found == [[["checkpoint_key", "table"], 6], [["restored_tensors_0", "restored_tensors_1", "table"], 1]]
    begins = {child.local_name: nodes[child.node_id].function for child in node.children}["_initialize"]
    assert "Import" not in str([each.op for each in functions[begins.concrete_functions[0]].node_def])


def test_a_policy_says_in_which_files_the_values_of_a_model_are(tmp_path: Path) -> None:
    module = tf.Module()
    module.large, module.small = tf.Variable(np.arange(100, dtype=np.float32)), tf.Variable(7.0)
    module.f = tf.function(
        lambda x: tf.reduce_sum(module.large) + module.small * x, input_signature=[tf.TensorSpec([])]
    )
    policy = tf.train.experimental.MaxShardSizePolicy(200)
    tf.saved_model.save(module, tmp_path, options=tf.saved_model.SaveOptions(experimental_sharding_callback=policy))
    assert len(list((tmp_path / "variables").glob("variables.data-*"))) >= 3
    loaded = tf.saved_model.load(tmp_path)
    assert float(loaded.f(2.0)) == 4964.0 and float(loaded.small) == 7.0
    index = (tmp_path / "variables" / "variables.index").read_bytes()
    assert tf.saved_model.experimental.read_fingerprint(tmp_path).checkpoint_hash == fingerprint(index)
    with pytest.raises(TypeError, match="ShardingCallback"):
        options = tf.saved_model.SaveOptions(experimental_sharding_callback="files")
        tf.saved_model.save(module, tmp_path / "other", options=options)
    assert not list((tmp_path / "other").rglob("*.pb"))
