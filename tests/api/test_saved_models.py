"""SavedModels: those that TensorFlow wrote (tests/oracle/saved_models.tar.xz, see saved_models.py beside it) and our own.

The oracle run loads all of them, both ways; here are some, and what no comparison tells: errors, damaged files, bytes.
"""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import tarfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.graphdef.import_calls import Library
from fastgraph.graphdef.import_resources import RESOURCES
from fastgraph.graphdef.import_strings import STRINGS
from fastgraph.graphdef.messages import KINDS
from fastgraph.graphdef.wire_format import parsed, serialized
from fastgraph.saving import saved_model_command
from fastgraph.saving.saved_model_loader import load_partial
from fastgraph.saving.saved_model_saver import save_and_return_nodes
from fastgraph.saving.saved_model_values import restore_table
from tests.oracle import saved_models
from tests.oracle.saved_model_cases import CASES

ARCHIVE = Path(__file__).parents[1] / "oracle" / "saved_models.tar.xz"
LOADED = (
    "affine", "several_traces", "nested_modules", "structures", "signatures", "branches", "tensor_arrays",
    "table_of_file", "mutable_table", "ragged", "custom_gradients", "training_step", "keras3_functional_exported",
    "keras2_lstm_saved", "v1_table", "dataset_methods", "dataset_loops", "datasets_given",
    "raw_operations",
)  # fmt: skip
SAVED = ("affine", "several_traces", "nested_modules", "signatures", "hash_table", "captured_constants")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("saved_models")
    wanted = {*LOADED, *SAVED}
    with tarfile.open(ARCHIVE) as archive:
        members = [each for each in archive if each.name.partition("/")[0] in wanted]
        archive.extractall(path, members, filter="data")
    yield path


@pytest.mark.parametrize("name", LOADED)
def test_what_tensorflow_saved_gives_the_same_here(folder: Path, name: str) -> None:
    loaded = tf.saved_model.load(folder / name / "model")
    assert saved_models.compare(tf, loaded, str(folder / name)) == ""


@pytest.mark.parametrize("name", SAVED)
def test_what_is_saved_here_gives_the_same_again(folder: Path, tmp_path: Path, name: str) -> None:
    made = CASES[name](tf)
    tf.saved_model.save(made.root, tmp_path / "model", signatures=made.signatures)
    loaded = tf.saved_model.load(tmp_path / "model")
    assert saved_models.compare(tf, loaded, str(folder / name)) == ""


def test_what_was_loaded_can_be_saved_again(folder: Path, tmp_path: Path) -> None:
    loaded = tf.saved_model.load(folder / "nested_modules" / "model")
    tf.saved_model.save(loaded, tmp_path / "model", signatures=dict(loaded.signatures))
    again = tf.saved_model.load(tmp_path / "model")
    assert saved_models.compare(tf, again, str(folder / "nested_modules")) == ""


def test_a_loaded_function_is_compiled_as_a_traced_one(folder: Path) -> None:
    loaded = tf.saved_model.load(folder / "affine" / "model")
    (concrete,) = loaded.f.concrete_functions
    loaded.f(tf.ones([2, 3]))
    assert concrete.host_steps == 0 and "MatMul" in concrete.explain()
    assert loaded.f.get_concrete_function(tf.TensorSpec([None, 3])) is concrete

    @tf.function
    def twice(x: Any) -> Any:
        return loaded.f(x) * 2.0

    np.testing.assert_allclose(twice(tf.ones([2, 3])), loaded.f(tf.ones([2, 3])) * 2.0, rtol=1e-6)


def test_no_trace_fits(folder: Path) -> None:
    loaded = tf.saved_model.load(folder / "several_traces" / "model")
    with pytest.raises(
        ValueError, match="Could not find matching concrete function to call loaded from the SavedModel"
    ):
        loaded.f(tf.constant(["text"]))
    with pytest.raises(TypeError, match="too many positional|unexpected|Binding inputs"):
        loaded.f(tf.ones([2]), 3, True, 4)


class _Two(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], name="b"), tf.TensorSpec([None], tf.int32, name="a")])
    def two(self, b: Any, a: Any) -> Any:
        return {"b": b, "a": a}

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def one(self, x: Any) -> Any:
        return {"x": x}


@pytest.mark.parametrize(
    "name, n, keywords, reason, also",
    [
        ("two", 2, "", "too many positional arguments", "takes 0 positional arguments, got 2."),
        ("two", 1, "a", "too many positional arguments", "takes 0 positional arguments, got 1."),
        ("two", 0, "b", "missing a required argument: 'a'", "missing required arguments: a."),
        ("two", 0, "", "missing a required argument: 'a'", "missing required arguments: a, b."),
        ("two", 0, "abc", "got an unexpected keyword argument 'c'", "got unexpected keyword arguments: c."),
        ("one", 0, "y", "missing a required argument: 'x'", "missing required arguments: x."),
        ("one", 1, "x", "too many positional arguments", "got two values for 'x'."),
        ("one", 2, "", "too many positional arguments", "takes 1 positional arguments, got 2."),
    ],
)
def test_what_signatures_do_not_take(name: str, n: int, keywords: str, reason: str, also: str, tmp_path: Path) -> None:
    module = _Two()
    tf.saved_model.save(module, tmp_path, {"two": module.two, "one": module.one})
    signature = tf.saved_model.load(tmp_path).signatures[name]
    of_keyword = {"b": tf.ones([1]), "a": tf.ones([1], tf.int32), "x": tf.ones([1])}
    with pytest.raises(TypeError) as raised:
        signature(*[tf.ones([1])] * n, **{key: of_keyword.get(key, 1) for key in keywords})
    shown = {
        "two": "(*, a: TensorSpec(shape=(None,), dtype=tf.int32, name='a'), b: Te",
        "one": "(*, x: TensorSpec(shape=",
    }
    text = str(raised.value)
    assert text.startswith(f"Binding inputs to tf.function failed due to `{reason}`. Received args: (")
    assert shown[name] in text and text.endswith(also)


def test_signatures_take_keywords(folder: Path) -> None:
    loaded = tf.saved_model.load(folder / "signatures" / "model")
    serve = loaded.signatures["serving_default"]
    assert sorted(loaded.signatures) == ["one", "serving_default"]
    with pytest.raises(TypeError):
        serve(tf.ones([1]), tf.ones([1]))
    with pytest.raises(TypeError):
        serve(x=tf.ones([1]))
    assert sorted(serve(x=tf.ones([1]), y=tf.ones([1]))) == ["product", "sum"]


def test_what_a_loaded_function_returns_is_told_by_specs(folder: Path) -> None:
    signature = tf.saved_model.load(folder / "signatures" / "model").signatures["serving_default"]
    specs = signature.structured_outputs
    assert all(isinstance(spec, tf.TensorSpec) for spec in specs.values())
    assert (signature.output_shapes, signature.output_dtypes) == (
        {name: spec.shape for name, spec in specs.items()}, {name: spec.dtype for name, spec in specs.items()}
    )  # fmt: skip
    assert "float32 Tensor" in signature.pretty_printed_signature()


def test_casts_to_float8_are_saved(tmp_path: Path) -> None:
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def rounded(x: Any) -> Any:
        return [tf.cast(tf.cast(x, kind), tf.float32) for kind in ("float8_e4m3fn", "float8_e5m2")]

    module.rounded = rounded
    tf.saved_model.save(module, str(tmp_path))
    found = tf.saved_model.load(str(tmp_path)).rounded(tf.constant([1.3, 2.7]))
    assert [x.numpy().tolist() for x in found] == [[1.25, 2.75], [1.25, 2.5]]


def test_more_variables_than_are_written_one_by_one_are_saved(tmp_path: Path) -> None:
    """The saver's list of so many empty texts was refused: all alike, they are written once."""
    module = tf.Module()
    module.v = [tf.Variable(float(i)) for i in range(140)]
    module.f = tf.function(lambda x: x + module.v[139], input_signature=[tf.TensorSpec([])])
    tf.saved_model.save(module, str(tmp_path))
    assert float(tf.saved_model.load(str(tmp_path)).f(1.0)) == 140


def test_operations_without_an_equal_are_those_of_the_list() -> None:
    from fastgraph.graphdef.importer import is_served

    text = (Path(__file__).parents[2] / "docs" / "unserved_ops.md").read_text(encoding="utf-8")
    words = [word for line in text.splitlines()[5:] if not line.startswith("#") for word in line.split()]
    assert not [word for word in words if is_served(word)], "what is served leaves the list"
    assert f"these {len(words)} are missing" in text and "Switch" in words


def test_datasets_that_loaded_functions_captured_are_saved_again(folder: Path, tmp_path: Path) -> None:
    loaded = tf.saved_model.load(folder / "dataset_loops" / "model")
    tf.saved_model.save(loaded, tmp_path)
    again = tf.saved_model.load(tmp_path)
    assert int(again.captured(tf.constant(7, tf.int64))) == int(loaded.captured(tf.constant(7, tf.int64)))
    message = KINDS["SavedModel"].FromString((tmp_path / "saved_model.pb").read_bytes())
    nodes: Any = message.meta_graphs[0].object_graph_def.nodes
    made = [{each.local_name for each in node.children} for node in nodes if node.WhichOneof("kind") == "resource"]
    assert len(made) >= 2 and all("_create_resource" in names for names in made)


def test_a_dataset_that_is_made_of_itself_is_refused(folder: Path, tmp_path: Path) -> None:
    content = (folder / "dataset_loops" / "model" / "saved_model.pb").read_bytes()
    message = KINDS["SavedModel"].FromString(content)
    objects: Any = message.meta_graphs[0].object_graph_def
    number = next(i for i, node in enumerate(objects.nodes) if node.WhichOneof("kind") == "resource")
    maker = next(each for each in objects.nodes[number].children if each.local_name == "_create_resource")
    (name,) = objects.nodes[maker.node_id].function.concrete_functions
    objects.concrete_functions[name].bound_inputs.append(number)
    (tmp_path / "saved_model.pb").write_bytes(message.SerializeToString())
    with pytest.raises(tf.errors.InvalidArgumentError, match="made of itself"):
        tf.saved_model.load(tmp_path)


@pytest.mark.parametrize(("op", "wanted"), [("Add", [5.0, 7.0]), ("Mul", [4.0, 10.0]), ("Div", [4.0, 2.5])])
def test_sparse_and_dense_in_operations_of_tensorflows(op: str, wanted: list[float]) -> None:
    inputs = [tf.constant([[0, 1], [1, 0]], tf.int64), tf.constant([4.0, 5.0]), tf.constant([2, 2], tf.int64)]
    made = STRINGS[f"SparseDenseCwise{op}"]
    assert made("x", [*inputs, tf.constant([[1.0], [2.0]])], {}).numpy().tolist() == wanted


def test_records_taken_apart_are_written_and_read_again(tmp_path: Path) -> None:
    words = tf.TensorSpec([None], tf.string)
    ragged = tf.io.RaggedFeature
    features = {
        "a": tf.io.FixedLenFeature([2], tf.float32, [1.0, 2.0]),
        "b": tf.io.VarLenFeature(tf.int64),
        "c": ragged(tf.int64, "v", [ragged.UniformRowLength(2), ragged.RowLengths("d")]),
    }

    class Parts(tf.Module):
        @tf.function(input_signature=[words])
        def example(self, x):
            found = tf.io.parse_example(tf.io.decode_json_example(x), features)
            return found["a"], tf.sparse.to_dense(found["b"]), found["c"].to_tensor()

        @tf.function(input_signature=[words])
        def numbers(self, x):
            csv = tf.io.decode_csv(x, [[1], ["z"]], ";")
            return *csv, tf.io.decode_raw(x, tf.int8), tf.io.decode_raw(x, tf.int8, fixed_length=2)

        @tf.function(input_signature=[words])
        def strings(self, x):
            sparse = tf.sparse.from_dense([[0.0, 2.0], [1.0, 0.0]])
            again = tf.io.deserialize_many_sparse(tf.io.serialize_many_sparse(sparse), tf.float32)
            return (
                tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.string), tf.sparse.to_dense(again),
                tf.io.serialize_sparse(sparse), tf.io.decode_base64(tf.io.encode_base64(x, pad=True)),
            )  # fmt: skip

    module = Parts()
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    number = '{"int64List": {"value": ["%d", "%d"]}}'
    json = f'{{"features": {{"feature": {{"b": {number % (5, 6)}, "v": {number % (3, 4)}, "d": {number % (2, 0)}}}}}}}'
    for name, given in (("example", [json, json]), ("numbers", ["1;a", "2;b"]), ("strings", ["1;a", "2;b"])):
        wanted, found = [getattr(each, name)(tf.constant(given)) for each in (module, loaded)]
        assert [x.numpy().tolist() for x in found] == [x.numpy().tolist() for x in wanted], name
    rows = module.example(tf.constant([json]))[2]
    assert rows.numpy().tolist() == [[[[3, 4], [0, 0]]]]


# ---- errors ---------------------------------------------------------------------------------------------------------


def test_folders_without_a_saved_model(tmp_path: Path) -> None:
    assert not tf.saved_model.contains_saved_model(tmp_path)
    with pytest.raises(OSError, match="SavedModel file does not exist at"):
        tf.saved_model.load(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"\xff" * 9)
    assert tf.saved_model.contains_saved_model(tmp_path)
    with pytest.raises(OSError, match="Cannot parse file"):
        tf.saved_model.load(tmp_path)


def test_tags(folder: Path) -> None:
    path = folder / "affine" / "model"
    assert tf.saved_model.load(path, tags=["serve"]).w.shape == (3, 2)
    with pytest.raises(ValueError, match="incompatible argument to `tags`"):
        tf.saved_model.load(path, tags="gpu")


def _changed(folder: Path, target: Path, change: Any) -> Path:
    """A copy of the model `affine` whose message was changed."""
    source = folder / "affine" / "model"
    for path in source.rglob("*"):
        if path.is_file():
            (target / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            (target / path.relative_to(source)).write_bytes(path.read_bytes())
    message = parsed((target / "saved_model.pb").read_bytes(), "SavedModel")
    change(message.meta_graphs[0])
    (target / "saved_model.pb").write_bytes(serialized(message))
    return target


def test_all_operations_without_an_equal_are_named_at_once(folder: Path, tmp_path: Path) -> None:
    def change(meta_graph: Any) -> None:
        for function in meta_graph.graph_def.library.function:
            for node in function.node_def:
                node.op = {"MatMul": "NobodysProduct", "AddV2": "NobodysSum"}.get(node.op, node.op)

    path = _changed(folder, tmp_path, change)
    with pytest.raises(tf.errors.NotFoundError, match=r"(?s)NobodysProduct.*NobodysSum"):
        tf.saved_model.load(path)
    options = tf.saved_model.LoadOptions(experimental_skip_unknown_ops=True)
    loaded = tf.saved_model.load(path, options=options)
    assert loaded.w.shape == (3, 2)
    with pytest.raises(tf.errors.NotFoundError, match="Nobodys"):
        loaded.f(tf.ones([1, 3]))


@pytest.mark.parametrize("name", ["/etc/passwd", "../../secret", ""])
def test_assets_lie_in_their_folder(folder: Path, tmp_path: Path, name: str) -> None:
    def change(meta_graph: Any) -> None:
        meta_graph.asset_file_def.add(filename=name)

    with pytest.raises(tf.errors.InvalidArgumentError, match="an asset lies in the SavedModel's own folder"):
        tf.saved_model.load(_changed(folder, tmp_path, change))


def test_missing_values(folder: Path, tmp_path: Path) -> None:
    path = _changed(folder, tmp_path, lambda meta_graph: None)
    (path / "variables" / "variables.index").unlink()
    with pytest.raises(tf.errors.NotFoundError, match="variables"):
        tf.saved_model.load(path)


@pytest.mark.parametrize("file", ["saved_model.pb", "variables/variables.index"])
def test_damaged_files_are_an_error_each(folder: Path, tmp_path: Path, file: str) -> None:
    path = _changed(folder, tmp_path, lambda meta_graph: None)
    content = (path / file).read_bytes()
    chance = random.Random(7)
    n_errors = 0
    for _ in range(60):
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        if chance.random() < 0.2:
            del damaged[chance.randrange(len(damaged)) :]
        (path / file).write_bytes(damaged)
        try:
            loaded = tf.saved_model.load(path)
            loaded.f(tf.ones([1, 3]))
        except (OSError, ValueError, TypeError, AttributeError, RuntimeError, tf.errors.OpError):
            n_errors += 1
    assert n_errors > 10


# ---- saving ---------------------------------------------------------------------------------------------------------


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Expected an object of type `Trackable`"):
        tf.saved_model.save(3, tmp_path)
    module, hidden = tf.Module(), tf.Variable(1.0)
    module.f = tf.function(lambda: hidden + 1.0, input_signature=[])
    with pytest.raises(AssertionError, match="references an 'untracked' resource"):
        tf.saved_model.save(module, tmp_path)
    with pytest.raises(ValueError, match="Expected a TensorFlow function for which to generate a signature"):
        tf.saved_model.save(tf.Module(), tmp_path, signatures=lambda x: x)
    assert not (tmp_path / "saved_model.pb").exists()


def test_untraced_functions_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    module = tf.Module()
    module.f = tf.function(lambda x: x)
    logger = __import__("logging").getLogger("tensorflow")
    before, logger.propagate = logger.propagate, True
    try:
        tf.saved_model.save(module, tmp_path)
    finally:
        logger.propagate = before
    assert "Found untraced functions such as" in caplog.text
    with pytest.raises(ValueError, match="Found zero restored functions"):
        tf.saved_model.load(tmp_path).f(1.0)


_PROGRAM = """
import sys
import fastgraph as tf
from tests.oracle.saved_model_cases import CASES
made = CASES["nested_modules"](tf)
tf.saved_model.save(made.root, sys.argv[1])
"""


def test_the_same_program_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        env = {**os.environ, "PYTHONHASHSEED": {"a": "1", "b": "2"}[name]}
        subprocess.run([sys.executable, "-c", _PROGRAM, str(tmp_path / name)], check=True, env=env)
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert Path("saved_model.pb") in files and Path("fingerprint.pb") in files
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file


def test_what_serving_programs_look_for(tmp_path: Path) -> None:
    made = CASES["table_of_file"](tf)
    tf.saved_model.save(made.root, tmp_path)
    (meta_graph,) = parsed((tmp_path / "saved_model.pb").read_bytes(), "SavedModel").meta_graphs
    names = {node.name for node in meta_graph.graph_def.node}
    saver = meta_graph.saver_def
    wanted = [saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name]
    wanted += meta_graph.collection_def["saved_model_main_op"].node_list.value
    wanted += [info.name for info in meta_graph.signature_def["__saved_model_init_op"].outputs.values()]
    wanted += [info.name for info in meta_graph.signature_def["serving_default"].inputs.values()]
    wanted += [each.tensor_info.name for each in meta_graph.asset_file_def]
    assert {each.partition(":")[0] for each in wanted} <= names
    assert list(meta_graph.meta_info_def.tags) == ["serve"]
    assert (tmp_path / "assets" / "words.txt").read_text() == "red\ngreen\nblue\n"
    assert parsed((tmp_path / "fingerprint.pb").read_bytes(), "FingerprintDef").saved_model_checksum


def test_structured_values_come_back() -> None:
    from fastgraph.saving.saved_model_structures import decoded, encoded

    spec = tf.TensorSpec([None, 2], tf.int32, "x")
    values = [None, True, -(2**63), 1.5, "text", (1, [2, {"a": spec}]), tf.float32, tf.TensorShape(None),
              tf.RaggedTensorSpec([2, None], tf.string), tf.SparseTensorSpec([3], tf.bool)]  # fmt: skip
    for value in values:
        found = decoded(parsed(serialized(encoded(value)), "StructuredValue"))
        assert type(found) is type(value) and (found == value or repr(found) == repr(value))
    with pytest.raises(ValueError, match="No encoder for object"):
        encoded(object())
    with pytest.raises(ValueError, match="says one thing"):
        decoded(KINDS["StructuredValue"]())


# ---- the command line -----------------------------------------------------------------------------------------------


def test_show_and_run(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(folder / "signatures" / "model")
    assert saved_model_command.main(["show", "--dir", path]) == 0
    assert "'serve'" in capsys.readouterr().out
    assert saved_model_command.main(["show", "--dir", path, "--all"]) == 0
    shown = capsys.readouterr().out
    assert "signature_def['one']" in shown and "dtype: DT_FLOAT" in shown and "shape: (-1)" in shown
    np.save(tmp_path / "x.npy", np.float32([1, 2]))
    given = ["--inputs", f"x={tmp_path / 'x.npy'}", "--input_exprs", "y=[3.0, 4.0]", "--outdir", str(tmp_path)]
    assert saved_model_command.main(["run", "--dir", path, *given]) == 0
    np.testing.assert_allclose(np.load(tmp_path / "product.npy"), [3, 8])
    assert saved_model_command.main(["run", "--dir", path, "--input_exprs", "x=__import__('os')"]) == 1
    assert saved_model_command.main(["show", "--dir", str(tmp_path)]) == 1


#: What TensorFlow's saved_model_cli says of the functions of these models, but for what erases characters before a "]".
SHOWN = {
    "structures": """
      Callable with:
        Argument #1
          DType: tuple
          Value: [TensorSpec(shape=(2,), dtype=tf.float32, name='pair_0'), TensorSpec(shape=(2,), dtype=tf.float32, name='pair_1')]
        Argument #2
          DType: dict
          Value: {'a': TensorSpec(shape=(2,), dtype=tf.float32, name='table_a'), 'b': TensorSpec(shape=(2,), dtype=tf.float32, name='table_b')}
        Argument #3
          rest_0: TensorSpec(shape=(2,), dtype=tf.float32, name='rest_0')
        Named Argument #1
          scale
""",
    "several_traces": """
    Option #4
      Callable with:
        Argument #1
          x: TensorSpec(shape=(None,), dtype=tf.float32, name='x')
        Argument #2
          DType: int
          Value: 3
        Argument #3
          DType: bool
          Value: True
""",
}


@pytest.mark.parametrize("name", SHOWN)
def test_functions_are_shown_as_tensorflow_does(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert saved_model_command.main(["show", "--dir", str(folder / name / "model"), "--all"]) == 0
    shown = capsys.readouterr().out
    assert "\nConcrete Functions:\n  Function Name: 'f'\n    Option #1\n" in shown
    assert SHOWN[name] in shown + "\n"


def test_operations_shown_are_those_that_the_graph_reaches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = tf.Module()
    module.f = tf.function(lambda x: tf.sin(x), input_signature=[tf.TensorSpec([None])])
    module.g = tf.function(lambda x: tf.cos(x), input_signature=[tf.TensorSpec([None])])
    tf.saved_model.save(module, str(tmp_path), signatures=module.f)
    assert saved_model_command.main(["show", "--dir", str(tmp_path), "--all"]) == 0
    shown = capsys.readouterr().out
    assert "'Sin'" in shown and "'Cos'" not in shown  # no signature calls g
    assert "  Function Name: 'f'" in shown and "  Function Name: 'g'" in shown


@pytest.mark.parametrize("kind", ["fixed", "mutable"])
def test_tables_of_a_loaded_model_are_saved_again(tmp_path, kind):
    """Functions that were loaded name the tables that are saved with them, from one saving to the next."""

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            if kind == "fixed":
                filled = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([5, 6], tf.int64))
                self.table = tf.lookup.StaticHashTable(filled, -1)
            else:
                self.table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
                self.table.insert(["a", "b"], [5, 6])
            path = tmp_path / "words"
            path.write_text("b\na\n")
            lines = tf.lookup.TextFileIndex
            read = tf.lookup.TextFileInitializer(str(path), "string", lines.WHOLE_LINE, "int64", lines.LINE_NUMBER)
            self.words = tf.lookup.StaticHashTable(read, -1)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def find(self, keys):
            return self.table.lookup(keys), self.words.lookup(keys)

    model = Model()
    for i in range(3):
        tf.saved_model.save(model, str(tmp_path / str(i)))
        model = tf.saved_model.load(str(tmp_path / str(i)))
        first, second = model.find(tf.constant(["b", "z"]))
        assert (first.numpy().tolist(), second.numpy().tolist()) == ([6, -1], [0, -1])


class Branches(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def chosen(self, x):
        return tf.tanh(x @ self.w) if tf.reduce_sum(x) > 0.0 else x * 2.0

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def slope(self, x):
        with tf.GradientTape() as tape:
            y = self.chosen(x)
        return tape.gradient(y, self.w)


def test_gradients_of_branches_are_saved(tmp_path: Path) -> None:
    """The predicate is a result too, which the branches' effects wait for: not the other way round."""
    module = Branches()
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    for sign in (1.0, -1.0):
        x = tf.constant([[0.1 * sign, 0.2 * sign]])
        np.testing.assert_allclose(loaded.slope(x), module.slope(x), rtol=1e-6)
        with tf.GradientTape() as tape:
            y = loaded.chosen(x)
        np.testing.assert_allclose(tape.gradient(y, loaded.w), module.slope(x), rtol=1e-6)


def test_sequences_taken_apart_are_written_and_read_again(tmp_path: Path) -> None:
    features = {"a": tf.io.FixedLenFeature([], tf.int64, 5), "v": tf.io.VarLenFeature(tf.string)}
    lists = {
        "b": tf.io.FixedLenSequenceFeature([2], tf.float32),
        "o": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
        "r": tf.io.RaggedFeature(tf.int64),
        "s": tf.io.VarLenFeature(tf.int64),
    }

    class Parts(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def several(self, x):
            one, rows, n = tf.io.parse_sequence_example(x, features, lists)
            return (one["a"], tf.sparse.to_dense(one["v"]), rows["b"], rows["o"], rows["r"].to_tensor(),
                    tf.sparse.to_dense(rows["s"]), n["b"], n["o"])  # fmt: skip

        @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
        def single(self, x):
            one, rows = tf.io.parse_single_sequence_example(x, features, lists)
            return one["a"], rows["b"], rows["o"], rows["r"].to_tensor(), tf.sparse.to_dense(rows["s"])

    def numbers(*values, kind="int64_list", of=tf.train.Int64List):
        return tf.train.Feature(**{kind: of(value=values)})

    floats = [numbers(1.0, 2.0, kind="float_list", of=tf.train.FloatList)] * 2
    words = numbers(b"x", kind="bytes_list", of=tf.train.BytesList)
    rows = {"b": floats, "r": [numbers(1), numbers(2, 3)], "s": [numbers(7)]}
    example = tf.train.SequenceExample(
        context=tf.train.Features(feature={"v": words}),
        feature_lists=tf.train.FeatureLists(
            feature_list={key: tf.train.FeatureList(feature=each) for key, each in rows.items()}
        ),
    ).SerializeToString()
    module = Parts()
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    for name, given in (("several", [example, example]), ("single", example)):
        wanted, found = [getattr(each, name)(tf.constant(given)) for each in (module, loaded)]
        assert [x.numpy().tolist() for x in found] == [x.numpy().tolist() for x in wanted], name
    assert loaded.single(tf.constant(example))[3].numpy().tolist() == [[1, 0], [2, 3]]


class Loops(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def through(self, x):
        for _ in tf.range(3):
            x = tf.concat([tf.tanh(x @ self.w), x[:, :1]], 1)
        return x

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def slope(self, x):
        with tf.GradientTape() as tape:
            y = self.through(x)
        return tape.gradient(y, self.w)


def test_gradients_of_loops_are_saved(tmp_path: Path) -> None:
    """TensorFlow takes gradients by a Variable's handle in a called function if the argument says what is behind it."""
    module, x = Loops(), tf.constant([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    tf.saved_model.save(module, tmp_path)
    np.testing.assert_allclose(tf.saved_model.load(tmp_path).slope(x), module.slope(x), rtol=1e-6)
    message = parsed((tmp_path / "saved_model.pb").read_bytes(), "SavedModel")
    handles = {
        function.signature.name: [
            (len(each.handle_data), [dim.size for data in each.handle_data for dim in data.shape.dim])
            for each in function.signature.input_arg
            if each.type == 20
        ]
        for function in message.meta_graphs[0].graph_def.library.function
    }
    named = [each for name, each in handles.items() if "through" in name or "slope" in name or "while_body" in name]
    assert len(named) >= 3 and all(each == (1, [3, 2]) for of in named for each in of) and any(named)


def test_results_of_signatures_have_their_keys_as_names(tmp_path: Path) -> None:
    module = tf.Module()
    module.f = tf.function(lambda x: {"y": 2.0 * x, "n": tf.size(x)}, input_signature=[tf.TensorSpec([None], name="x")])
    tf.saved_model.save(module, str(tmp_path), signatures=module.f)
    assert (tmp_path / "assets").is_dir()  # there without files too
    results = tf.saved_model.load(str(tmp_path)).signatures["serving_default"].structured_outputs
    assert {key: spec.name for key, spec in results.items()} == {"y": "y", "n": "n"}


class Buckets(dict[str, np.ndarray]):
    """What a reader gives of a table that TensorFlow has saved: its places, empty ones too."""

    read = dict.__getitem__


def test_keys_of_empty_places_are_no_entries_of_a_loaded_table() -> None:
    said = {"key_dtype": tf.int64, "value_dtype": tf.float32, "shared_name": b"", "container": b""}
    reserved = [tf.constant(key, tf.int64) for key in (-1, -2)]
    table = RESOURCES["MutableDenseHashTableV2"](Library([]), "table", reserved, said)
    keys, values = np.array([-1, 2, -2, 1, -1]), np.array([0, 0.25, 0, 0.5, 0], np.float32)
    restore_table(table, Buckets({"t-keys": keys, "t-values": values}), ["t"])  # type: ignore[arg-type]
    assert table.entries == {2: 0.25, 1: 0.5}


def test_functions_give_the_path_of_an_asset_where_it_lies_now(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("contents")
    model = tf.Module()
    model.f = tf.function(lambda: model.vocabulary.asset_path, input_signature=[])  # met before the file is
    model.vocabulary = tf.saved_model.Asset(tmp_path / "words.txt")
    tf.saved_model.save(model, str(tmp_path / "first"))
    (tmp_path / "words.txt").unlink()
    again = tf.saved_model.load(str(tmp_path / "first"))
    tf.saved_model.save(again, str(tmp_path / "second"))
    for name, loaded in ("first", again), ("second", tf.saved_model.load(str(tmp_path / "second"))):
        path = loaded.f().numpy().decode()
        assert path == str(tmp_path / name / "assets" / "words.txt")
        assert Path(path).read_text() == "contents"


def test_stated_gradients_of_results_that_have_none(tmp_path: Path) -> None:
    @tf.custom_gradient
    def doubled(x: Any, n: Any) -> Any:
        return (x, n), lambda *dys: (2.0 * dys[0], *dys[1:])

    model = tf.Module()
    signature = [tf.TensorSpec([]), tf.TensorSpec([], tf.int32)]
    model.f = tf.function(lambda x, n: doubled(x, n), input_signature=signature)
    for name in "first", "second":
        tf.saved_model.save(model, str(tmp_path / name))
        model = tf.saved_model.load(str(tmp_path / name))
        x = tf.Variable(1.5)
        with tf.GradientTape() as tape:
            y, n = model.f(x, tf.constant(3))
        assert (float(y), int(n), float(tape.gradient(y, x))) == (1.5, 3, 2.0)


def test_datasets_and_iterators_are_given_to_loaded_functions(folder: Path, tmp_path: Path) -> None:
    loaded = tf.saved_model.load(folder / "datasets_given" / "model")
    data = tf.data.Dataset
    for _ in range(2):
        assert loaded.total(data.range(5), tf.constant(3, tf.int64)) == 3 + 2 + 3 + 4
        given = data.range(3).map(lambda n: {"x": tf.fill([n], 1.5), "n": (n,)})
        found, n = loaded.doubled(given)
        rows = [(int(row["m"]), row["y"].numpy().tolist()) for row in found]
        assert rows == [(0, []), (1, [3.0]), (2, [3.0, 3.0])] and n == 3
        iterator = iter(data.range(4, 9))
        assert [int(loaded.taken(iterator)) for _ in range(2)] == [45, 67]
    with pytest.raises((TypeError, ValueError)):
        loaded.total(data.range(5).map(lambda x: tf.cast(x, tf.float32)), tf.constant(3, tf.int64))
    tf.saved_model.save(loaded, tmp_path / "again")
    again = tf.saved_model.load(tmp_path / "again")
    assert again.total(data.range(4), tf.constant(0, tf.int64)) == 5


class Recurrent(tf.Module):
    """Lists of elements of which a size is not known."""

    @tf.function(input_signature=[tf.TensorSpec([None, None, 2])])
    def steps(self, x: Any) -> Any:
        found = tf.TensorArray(tf.float32, tf.shape(x)[1])
        state = tf.zeros_like(x[:, 0])
        for i in tf.range(tf.shape(x)[1]):
            state = tf.tanh(state + x[:, i])
            found = found.write(i, state)
        return found.stack()

    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([], tf.int32)])
    def rows(self, x: Any, n: Any) -> Any:
        found = tf.TensorArray(tf.float32, n, element_shape=[None])
        for i in tf.range(n):
            found = found.write(i, x[i] * tf.cast(i + 1, tf.float32))
        return found.stack()


def test_lists_of_elements_of_unknown_size_are_saved(tmp_path: Path, rng: np.random.Generator) -> None:
    module = Recurrent()
    x = rng.standard_normal((3, 4, 2)).astype(np.float32)
    tf.saved_model.save(module, str(tmp_path / "model"))
    found = tf.saved_model.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(found.steps(x), module.steps(x))
    np.testing.assert_array_equal(found.rows(tf.ones([4, 3]), 2), [[1.0] * 3, [2.0] * 3])


def test_a_gradient_that_is_prevented_is_so_in_the_file(tmp_path: Path) -> None:
    module = tf.Module()
    module.f = tf.function(lambda x: tf.raw_ops.PreventGradient(input=2 * x, message="no"), [tf.TensorSpec([])])
    tf.saved_model.save(module, str(tmp_path), options=tf.saved_model.SaveOptions(experimental_custom_gradients=True))
    found, x = tf.saved_model.load(str(tmp_path)), tf.constant(2.0)
    assert float(found.f(x)) == 4.0
    with (
        pytest.raises(LookupError, match="Gradient explicitly disabled. Reason: b'no'"),
        tf.GradientTape() as tape,
    ):
        tape.watch(x)
        tape.gradient(found.f(x), x)


def test_objects_are_loaded_into_those_that_are_given(tmp_path: Path) -> None:
    module = tf.Module()
    module.inner = tf.Module()
    module.inner.v, module.w = tf.Variable(3.0), tf.Variable(4.0)
    nodes, ways = save_and_return_nodes(module, str(tmp_path))
    assert nodes[0] is module and [step.name for step in ways[module.inner.v]] == ["inner", "v"] and ways[module] == ()
    given, said = tf.Variable(0.0), {}
    inner = tf.Module()
    filters = {
        "root": None,
        "root.inner.v": given,
        "root.inner": (inner, lambda obj, name, value: said.update({name: value})),
    }
    found = load_partial(str(tmp_path), filters)
    assert given.numpy() == 3.0 and said == {"v": given} and found["root"].inner is inner
    assert found["root"].w.numpy() == 4.0 and load_partial(str(tmp_path), ["root.w"])["root.w"].numpy() == 4.0
    with pytest.raises(ValueError, match="no object of the SavedModel"):
        load_partial(str(tmp_path), ["root.u"])


def test_sizes_orders_and_places_that_only_a_call_knows_are_saved(tmp_path: Path) -> None:
    """Identity matrices, shuffles of a seed, numbers of a generator between bounds, places of maxima."""
    module = tf.Module()
    generator = module.generator = tf.random.Generator.from_seed(7)
    number, image = tf.TensorSpec([], tf.int32), tf.TensorSpec([None, None, None, 3])
    module.eye = tf.function(lambda n: (tf.eye(n), tf.eye(n, n + 2, dtype=tf.int32)), [number])
    module.shuffled = tf.function(lambda n: tf.random.experimental.stateless_shuffle(tf.range(n), [5, 6]), [number])
    module.drawn = tf.function(lambda n: (generator.truncated_normal([4]), generator.normal([n])), [number])
    module.places = tf.function(lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "SAME"), [image])
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    x = np.random.default_rng(0).normal(size=(2, 5, 6, 3)).astype(np.float32)
    for name, given in (("eye", 3), ("shuffled", 7), ("drawn", 2), ("places", x)):
        found = getattr(loaded, name)(tf.constant(given))
        wanted = getattr(module, name)(tf.constant(given))
        for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(wanted), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_matrix_exponentials_are_saved_as_operations_that_can_be_loaded(tmp_path: Path, dtype: str) -> None:
    module = tf.Module()
    module.f = tf.function(lambda x: tf.linalg.expm(x), [tf.TensorSpec([None, 4, 4], dtype)])
    tf.saved_model.save(module, str(tmp_path))
    x = np.random.default_rng(0).normal(size=(3, 4, 4)) * np.array([0.01, 1.0, 20.0])[:, None, None]
    x = tf.constant(x.astype(dtype))
    found, wanted = tf.saved_model.load(str(tmp_path)).f(x).numpy(), module.f(x).numpy()
    least = 1e-4 if dtype in ("float32", "complex64") else 1e-11
    assert (np.abs(found - wanted).max((1, 2)) <= least * np.abs(wanted).max((1, 2))).all()


def test_datasets_that_keep_files_are_saved_and_read_where_that_is_allowed(tmp_path: Path) -> None:
    module, numbers = tf.Module(), tf.data.Dataset.range
    kept, shards, cached = (str(tmp_path / name) for name in ("kept", "shards", "cached"))

    def of(dataset: Any) -> Any:
        return dataset.reduce(np.int64(0), lambda total, x: total * 3 + x)

    module.kept = tf.function(lambda: of(numbers(10).snapshot(kept)), [])
    module.shards = tf.function(
        lambda: of(numbers(10).snapshot(shards, "GZIP", lambda found: found.flat_map(lambda x: x), lambda x: x % 3)), []
    )
    module.cached = tf.function(lambda: of(numbers(10).cache(cached)), [])
    tf.saved_model.save(module, str(tmp_path / "model"))
    with pytest.raises(tf.errors.NotFoundError, match="not allowed"):
        tf.saved_model.load(str(tmp_path / "model")).kept()
    options = tf.saved_model.LoadOptions(experimental_open_files=True)
    loaded = tf.saved_model.load(str(tmp_path / "model"), options=options)
    for _ in range(2):
        found = [int(each()) for each in (loaded.kept, loaded.shards, loaded.cached)]
    assert found == [14757, 40163, 14757] and (tmp_path / "cached.index").exists()


def test_gradients_of_slices_at_places_that_only_a_call_knows_are_saved(tmp_path: Path) -> None:
    module, kernel = tf.Module(), tf.constant(np.ones((3, 2, 2), np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None, None, None, 2])])
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.dilation2d(x, kernel, [1, 2, 2, 1], "VALID", "NHWC", [1, 1, 2, 1]) ** 2
        return tape.gradient(y, x)

    module.slope = slope
    tf.saved_model.save(module, str(tmp_path))
    x = tf.constant(np.random.default_rng(0).normal(size=(1, 9, 8, 2)), tf.float32)
    np.testing.assert_allclose(tf.saved_model.load(str(tmp_path)).slope(x), slope(x))


def test_strings_joined_by_ids_fingerprints_and_glimpses_are_saved(tmp_path: Path) -> None:
    module, words = tf.Module(), tf.constant(["Hello W", "a", ""])
    strings, images = tf.TensorSpec([None], tf.string), tf.TensorSpec([None, None, None, 1])
    module.joined = tf.function(lambda s: tf.strings.unsorted_segment_join(s, [1, 0, 1], 2, "-"), [strings])
    module.prints = tf.function(lambda s: tf.fingerprint(s), [strings])
    module.seen = tf.function(lambda x: tf.image.extract_glimpse(x, [2, 3], [[0.2, 0.5]], noise="zero"), [images])
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    x = tf.reshape(tf.range(20.0), [1, 4, 5, 1])
    for name, given in (("joined", words), ("prints", words), ("seen", x)):
        np.testing.assert_array_equal(getattr(loaded, name)(given), getattr(module, name)(given))


def test_a_variable_alone_is_saved_with_signatures(tmp_path: Path) -> None:
    v = tf.Variable([1.0, 2.0])
    tf.saved_model.save(v, str(tmp_path), tf.function(lambda x: v * x, input_signature=[tf.TensorSpec([])]))
    loaded = tf.saved_model.load(str(tmp_path))
    (found,) = loaded.signatures["serving_default"](tf.constant(2.0)).values()
    assert found.numpy().tolist() == [2.0, 4.0] and loaded.numpy().tolist() == [1.0, 2.0]


def test_a_function_without_parameters_need_not_be_called_before_it_is_saved(tmp_path: Path) -> None:
    class Counter(tf.Module):
        def __init__(self) -> None:
            self.count = tf.Variable(1.0)

        @tf.function
        def next(self) -> Any:
            return self.count.assign_add(1.0)

        @tf.function
        def more(self, by: float = 2.0) -> Any:
            return self.count + by

    module = Counter()
    assert module.next.input_signature == () and module.more.input_signature is None
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert float(loaded.next()) == 2.0 and float(module.count) == 1.0
    (found,) = loaded.signatures["serving_default"]().values()
    assert float(found) == 3.0
    with pytest.raises(ValueError, match="Found zero restored functions"):
        loaded.more()
    with pytest.raises(ValueError, match="Expected a TensorFlow function"):
        tf.saved_model.save(module, str(tmp_path), module.more)


def test_functions_whose_arguments_are_variables(tmp_path: Path) -> None:
    module = tf.Module()
    module.v, other, numbers = tf.Variable(3.0), tf.Variable(1.0), tf.Variable([1])
    module.f = tf.function(lambda v, x: v.assign_add(x) * 2.0)
    module.two = tf.function(lambda x, pair, unread, y=1.0: (pair["a"] - pair["b"]) * x + module.v * y)
    module.calls = tf.function(lambda x: module.f(module.v, x), input_signature=[tf.TensorSpec([])])
    for given in (module.v, other):
        module.f(given, tf.constant(0.0))
        module.two(tf.constant(2.0), {"a": given, "b": other}, numbers)
    module.two(tf.constant(2.0), {"a": other, "b": module.v}, other)
    tf.saved_model.save(module, tmp_path)
    assert len(list((tmp_path).rglob("*.pb"))) == 2
    for again in range(2):
        loaded = tf.saved_model.load(tmp_path)
        assert len(loaded.f.concrete_functions) == 1 and len(loaded.two.concrete_functions) == 3
        one, ten = tf.Variable(1.0), tf.Variable(10.0)
        for _ in range(2):
            loaded.f(one, tf.constant(2.0)), loaded.f(ten, 3.0)
        assert (float(one), float(ten), float(loaded.v)) == (5.0, 16.0, 3.0)
        with tf.GradientTape() as tape:
            result = loaded.f(one, tf.constant(1.0))
        assert float(result) == 12.0 and float(tape.gradient(result, one)) == 2.0
        inside = tf.function(lambda x, loaded=loaded, one=one: loaded.f(one, x))
        assert float(inside(tf.constant(1.0))) == 14.0 and float(one) == 7.0
        assert float(loaded.two(tf.constant(2.0), {"a": ten, "b": one}, tf.Variable([1]))) == 21.0
        assert float(loaded.two(tf.constant(2.0), {"a": ten, "b": one}, ten)) == 21.0
        with pytest.raises(ValueError, match="Could not find matching concrete function"):
            loaded.two(tf.constant(2.0), {"a": ten, "b": one}, tf.Variable(1.0))
        only = loaded.two.concrete_functions.pop(0)  # what is left was traced with one Variable in two places
        assert float(loaded.two(tf.constant(2.0), {"a": ten, "b": ten}, tf.Variable([1]))) == 3.0
        with pytest.raises(ValueError, match="Could not find matching concrete function"):
            loaded.two(tf.constant(2.0), {"a": ten, "b": one}, tf.Variable([1]))
        loaded.two.concrete_functions.insert(0, only)
        assert float(loaded.calls(1.0)) == 8.0 and float(loaded.v) == 4.0
        for wrong in (tf.constant(2.0), tf.Variable([1.0]), tf.Variable(1), None):
            with pytest.raises(ValueError, match="Could not find matching concrete function"):
                loaded.f(wrong, tf.constant(2.0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="takes Variables"):
            loaded.f.concrete_functions[0](tf.constant(2.0))
        passing = tf.Variable(1.0)
        assert float(loaded.f(passing, tf.constant(1.0))) == 4.0
        held = weakref.ref(passing)
        del passing
        gc.collect()
        assert held() is None, "a loaded function holds no Variable that was an argument"
        loaded.v.assign(3.0)
        tmp_path = tmp_path / f"again{again}"
        tf.saved_model.save(loaded, tmp_path)
