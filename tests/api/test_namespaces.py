"""The public names: each is what it says, in real modules, and a name that is missing says so."""

from __future__ import annotations

import functools
import importlib
import operator
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fastgraph as fg
from fastgraph.api import namespaces, public_names

PACKAGE = Path(fg.__file__).parent


def test_version_begins_with_the_api_level() -> None:
    version = fg.__version__
    assert version == fg.version.VERSION and version.startswith("2.21.0+fastgraph.")


@pytest.mark.parametrize("name", sorted(public_names.PUBLIC))
def test_every_row_of_the_table_is_there(name: str) -> None:
    value = fg
    for part in name.split("."):
        value = getattr(value, part)
    home, _, attribute = public_names.PUBLIC[name].partition(":")
    assert value is getattr(importlib.import_module(f"fastgraph.{home}"), attribute)


@pytest.mark.parametrize("dotted", sorted({*public_names.NAMESPACES, *public_names.FILES}))
def test_namespaces_are_modules(dotted: str) -> None:
    module = importlib.import_module(f"fastgraph.{dotted}")
    assert sys.modules[f"fastgraph.{dotted}"] is module
    value = fg
    for part in dotted.split("."):
        value = getattr(value, part)
    assert (
        value is module and module.__doc__ and (dir(module) or dotted == "experimental.dtensor")
    )  # which has none yet


def test_ops_are_under_all_their_names() -> None:
    for name, function in namespaces.op_names().items():
        space, _, last = name.rpartition(".")
        assert not space or space in public_names.NAMESPACES, f"{space} is not in NAMESPACES"
        module = importlib.import_module(f"fastgraph.{space}" if space else "fastgraph")
        assert getattr(module, last) is function and last in dir(module)


def test_from_import() -> None:
    code = "from fastgraph.nn import relu; from fastgraph.math import exp; import fastgraph.config.experimental as e; "
    code += "import fastgraph; assert relu is fastgraph.nn.relu and exp is fastgraph.exp; e.list_physical_devices()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_public_names_are_tensorflows() -> None:
    """Our additions to TensorFlow's names are on a short list; profiler has recordings of our own, compat.v1 is not listed."""
    ours = {"show_config", "install_as_tensorflow"}
    known = namespaces.tensorflow_names()
    extra = []
    for name in namespaces.built_names():
        space, _, last = name.rpartition(".")
        listed = not space.startswith(("compat.v1", "profiler")) and space != "raw_ops"
        if last not in known.get(space, ()) and name not in ours and listed:
            extra.append(name)
    assert extra == []


def test_no_internal_module_has_a_public_name() -> None:
    """Once fastgraph/shape.py were imported, fg.shape(x) would be a call of a module."""
    allowed = set(public_names.FILES)
    taken = namespaces.tensorflow_names()[""] | {name for name in namespaces.built_names() if "." not in name}
    for path in PACKAGE.iterdir():
        stem = path.name.partition(".")[0]
        is_module = path.suffix in (".py", ".pyx") or any(path.glob("*.py"))
        if is_module and stem not in allowed:
            assert stem not in taken, f"fastgraph/{path.name} would hide fastgraph.{stem}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tpu", "the CPU"),
        ("load_op_library", "numpy_function"),
    ],
)
def test_not_built(name: str, hint: str) -> None:
    assert not hasattr(fg, name)
    assert getattr(fg, name, 5) == 5
    with pytest.raises(NotImplementedError, match=f"fastgraph.{name} is not built yet.*{hint}"):
        getattr(fg, name)


def test_not_built_in_a_namespace() -> None:
    assert not hasattr(fg.quantization, "experimental")
    with pytest.raises(
        NotImplementedError,
        match=r"fastgraph\.quantization\.experimental is not built yet: TensorFlow has tf\.quantization",
    ):
        _ = fg.quantization.experimental


def test_substitute_is_the_same_name_elsewhere() -> None:
    error = namespaces.missing("keras.backend", "eye")
    assert isinstance(error, NotImplementedError) and "Use fastgraph.eye instead" in str(error)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("no_gradient", "Use fastgraph.stop_gradient instead."),
        ("image.generate_bounding_box_proposals", "Use fastgraph.image.non_max_suppression instead."),
    ],
)
def test_a_substitute_is_kindred_in_words_and_not_in_letters(name: str, advice: str) -> None:
    space, _, last = name.rpartition(".")
    assert str(namespaces.missing(space, last)).endswith(advice)


def test_substitutes_are_there_and_those_they_replace_are_not() -> None:
    built = {*namespaces.built_names(), *public_names.NAMESPACES, *public_names.FILES}
    known = namespaces.tensorflow_names()
    for name, text in public_names.SUBSTITUTES.items():
        space, _, last = name.rpartition(".")
        assert last in known.get(space, ()) or name in known, f"TensorFlow has no tf.{name}"
        assert name not in built or name in public_names.NAMESPACES or name in public_names.FILES, f"{name} is built"
        for mentioned in re.findall(r"fastgraph\.([\w.]*\w)", text):
            operator.attrgetter(mentioned)(fg)


@pytest.mark.parametrize(
    "statement",
    ["import fastgraph.tpu", "from fastgraph import tpu", "from fastgraph.keras.layers import LocallyConnected2D",
     "from fastgraph.nn import conv3d_transpose_of_nothing, relu"],
)  # fmt: skip
def test_import_statements_say_the_same(statement: str) -> None:
    with pytest.raises(ImportError) as caught:
        exec(statement, {})
    built = "nothing" not in statement
    assert isinstance(caught.value, NotImplementedError) == built
    assert not built or re.search(r"is not built yet: TensorFlow has tf\.\S+, .*Use .* instead\.", str(caught.value))


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(
        AttributeError, match=r"module 'fastgraph' has no attribute 'floot32'. Did you mean: 'float32'?"
    ):
        _ = fg.floot32
    with pytest.raises(AttributeError, match=r"module 'fastgraph\.math' has no attribute 'nothing_like_it'") as caught:
        _ = fg.math.nothing_like_it
    assert not isinstance(caught.value, NotImplementedError)


def test_dir_lists_names_and_modules() -> None:
    assert {"float32", "math", "nest", "errors", "__version__"} <= set(dir(fg))
    assert {"flatten", "map_structure"} <= set(dir(fg.nest))


def test_shape_stays_a_function() -> None:
    importlib.import_module("fastgraph.core.base.shapes")
    assert callable(fg.shape) and not isinstance(fg.shape, type(fg))


@pytest.mark.parametrize("name", ["ops", "utils.PyDataset", "optimizers.Muon"])
def test_names_that_only_keras_3_has_say_how_to_get_it(name: str) -> None:
    *path, last = name.split(".")
    module = functools.reduce(getattr, path, fg.keras)
    with pytest.raises(AttributeError, match=rf"no attribute '{last}'\. This Keras is the small one.*Keras 3 \(pip"):
        getattr(module, last)
