"""The door: programs that import tensorflow get fastgraph, and run as `python SCRIPT.py` runs them."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.door import import_hook, internal_names, modules, v1_names

ROOT = Path(fg.__file__).parents[1]


def environment(**more: str) -> dict[str, str]:
    """The environment of a program that finds this fastgraph, and for which no door is open."""
    kept = {name: value for name, value in os.environ.items() if name not in ("FASTGRAPH_DOOR", "PYTHONPATH")}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m fastgraph run ARGUMENTS`."""
    command = [sys.executable, "-m", "fastgraph", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment(**more))


def plain(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS`."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment(**more))


def answer(code: str, *arguments: str, **more: str) -> dict[str, object]:
    """Run a program behind the door that leaves its answers in the dict `found`."""
    text = f"import json\nfound = {{}}\n{textwrap.dedent(code)}\nprint(json.dumps(found))"
    done = run("-c", text, *arguments, **more)
    assert done.returncode == 0, done.stderr
    answers: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return answers


def test_modules_and_names_are_fastgraphs_own() -> None:
    found = answer(
        """
        import sys, warnings
        import tensorflow as tf
        import fastgraph
        import tensorflow.math, tensorflow.data.experimental as tde, tensorflow.compat.v2 as v2
        from tensorflow import nn, errors
        from tensorflow.compat.v1.nn import relu
        from tensorflow.python.framework.ops import EagerTensor
        found["same"] = [
            tf.constant is fastgraph.constant, tf.math is fastgraph.math, tensorflow.math is fastgraph.math,
            tde is fastgraph.data.experimental, v2 is tf, tf.compat.v2 is tf, nn is fastgraph.nn, relu is fastgraph.nn.relu,
            errors is fastgraph.errors, EagerTensor is type(tf.constant(1)), tf.compat.as_text is fastgraph.compat.as_text,
            sys.modules["tensorflow.math"] is tf.math, fastgraph.math.__spec__.name == "fastgraph.math",
            tf.__internal__.tracking.Trackable is type(tf.Module()).__mro__[2],
        ]
        found["version"] = tf.__version__
        found["names"] = [name in dir(tf) for name in ("constant", "keras", "compat", "__internal__", "Variable")]
        """
    )
    assert found["same"] == [True] * 14
    assert found["version"] == "2.21.0"
    assert found["names"] == [True] * 5


def test_behind_the_door_is_what_fastgraph_has() -> None:
    found = answer(
        """
        import tensorflow as tf
        @tf.function
        def f(x):
            return tf.reduce_sum(x * 2)
        found["value"] = float(f(tf.constant([1.0, 2.0])))
        found["there"] = [hasattr(tf, name) for name in ("lite", "no_such_name", "float32")]
        """
    )
    assert found == {"value": 6.0, "there": [False, False, True]}


@pytest.mark.parametrize("name", ["no_such_name", "nn.no_such_name", "python.ops.math_ops.no_such_name", "lite"])
def test_a_name_that_is_not_there_shows_the_line_that_asks_for_it(name: str) -> None:
    text = f"import tensorflow as tf\nimport tensorflow.python.ops.math_ops\ndef used():\n    tf.{name}\nused()\n"
    lines = run("-c", text).stderr.splitlines()
    assert [line.partition(", line ")[2] for line in lines if line.startswith("  File")] == [
        "5, in <module>",
        "4, in used",
    ]
    assert lines[-1] == "AttributeError: module 'tensorflow' has no attribute 'no_such_name'" or name != "no_such_name"


def test_importing_the_door_costs_what_fastgraph_costs() -> None:
    found = answer(
        """
        import sys
        found["before"] = [name for name in sys.modules if name.startswith(("fastgraph", "numpy"))]
        import tensorflow
        found["heavy"] = [name for name in ("numba", "scipy", "keras", "fastgraph.compiler", "fastgraph.staging")
                          if name in sys.modules]
        found["path"] = [path for path in sys.path if path.endswith("startup")]
        """
    )
    assert found == {"before": [], "heavy": [], "path": []}


SCRIPT = """\
import sys
import tensorflow as tf

def inner(n):
    if n == 2:
        raise ValueError("two")
    return inner(n + 1)

print(__name__, __file__, sys.argv[1:], __spec__, sys.path[0])
what = sys.argv[1]
if what == "raise":
    inner(0)
elif what == "exit":
    sys.exit(3)
elif what == "text":
    sys.exit("the end")
elif what == "syntax":
    compile("1 +", "text", "exec")
"""


ENDS = {
    "os_exit": "import os\nimport {0} as tf\nprint('lost')\nos._exit(7)\n",
    "thread": "import threading\nimport {0} as tf\ndef f():\n    raise RuntimeError('in a thread')\n"
    "thread = threading.Thread(target=f, name='T')\nthread.start()\nthread.join()\nprint('after')\n",
    "syntax": "import {0} as tf\nx = (1 +\n",
    "indent": "import {0} as tf\n  x = 1\n",
    "cause": "import {0} as tf\ntry:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('x') from error\n",
    "group": "import {0} as tf\nraise ExceptionGroup('many', [ValueError(1), TypeError(2)])\n",
    "hook": "import sys\nimport {0} as tf\nsys.excepthook = lambda kind, *_: print(kind, file=sys.stderr)\n1 / 0\n",
    "number": "import {0} as tf\nraise SystemExit(300)\n",
    "tuple": "import {0} as tf\nraise SystemExit((1, 2))\n",
    "signal": "import os, signal\nimport {0} as tf\nos.kill(os.getpid(), signal.SIGTERM)\nsignal.pause()\n",
    "in_a_function": "import {0} as tf\n@tf.function\ndef f(x):\n    return (x + 1).none\nf(tf.constant(1))\n",
    "closed_pipe": "import sys\nimport {0} as tf\nfor i in range(50_000):\n    print('line', i)\n",
    "missing": "",
    "at_exit": "import atexit\nimport {0} as tf\natexit.register(print, 'bye')\n1 / 0\n",
    "spawned": "import multiprocessing\nimport {0} as tf\ndef f(n):\n    print(__name__, tf.constant(n).numpy(), flush=True)\n"
    "    raise ValueError(n)\nif __name__ == '__main__':\n    process = multiprocessing.get_context('spawn').Process(\n"
    "        target=f, args=(3,)\n    )\n    process.start()\n    process.join()\n    raise SystemExit(process.exitcode + 1)\n",
}


@pytest.mark.parametrize("name", ENDS)
def test_every_end_is_pythons(tmp_path: Path, name: str) -> None:
    if sys.version_info < (3, 11) and name == "group":
        pytest.skip("Python 3.10 has no ExceptionGroup")
    ended = []
    for start, package in (([], "fastgraph"), (["-m", "fastgraph", "run"], "tensorflow")):
        script = tmp_path / f"{name}.py"
        if name != "missing":
            script.write_text(ENDS[name].format(package))
        with subprocess.Popen(
            [sys.executable, *start, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        ) as child:
            assert child.stdout is not None and child.stderr is not None
            printed = child.stdout.readline() if name == "closed_pipe" else child.stdout.read()
            child.stdout.close()
            errors = child.stderr.read().decode().replace(f"import {package} as tf", "import PACKAGE as tf")
        ended.append((child.returncode, printed, errors))
    assert ended[0] == ended[1]
    if name not in ("os_exit", "thread", "number"):
        assert ended[1][0] != 0 and ("fastgraph" not in ended[1][2] or name == "in_a_function")


REFUSED = {
    "inner": "import tensorflow.python.no_such.thing\n",
    "name": "from tensorflow.python.framework import no_such_name\n",
    "not built": "import tensorflow.lite\n",
    "none": "import tensorflow.no_such_module\n",
    "keras": "import tensorflow.keras\n",
    "library": "from library import used\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_of_imports_show_no_frames_of_the_door(tmp_path: Path, name: str) -> None:
    """Those of a library that fails while it is imported are shown, as Python shows them."""
    (tmp_path / "library.py").write_text("def used():\n    import tensorflow.python.no_such\nused()\n")
    package = tmp_path / "tf_keras" / "api" / "_v2"
    package.mkdir(parents=True)
    (package / "keras.py").write_text("def broken():\n    import no_such_package\nbroken()\n")
    script = tmp_path / "script.py"
    script.write_text(REFUSED[name])
    done = subprocess.run(
        [sys.executable, "-m", "fastgraph", "run", str(script)], capture_output=True, text=True,
        env={**environment(), "TF_USE_LEGACY_KERAS": "1"},
    )  # fmt: skip
    files = re.findall(r'File "(.*)", line', done.stderr)
    expected = {"keras": [package / "keras.py"] * 2, "library": [tmp_path / "library.py"] * 2}
    assert files == [str(script), *map(str, expected.get(name, []))]
    assert done.stderr.count("Traceback") == 1 and done.returncode == 1


@pytest.mark.parametrize("what", ["raise", "exit", "text", "syntax", "-v"])
def test_scripts_end_as_with_python(tmp_path: Path, what: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    behind = run(str(script), what, "--flag")
    script.write_text(SCRIPT.replace("import tensorflow as tf", "import fastgraph as tf"))
    without = plain(str(script), what, "--flag")
    assert behind.returncode == without.returncode
    assert behind.stdout == without.stdout
    assert behind.stderr == without.stderr.replace("import fastgraph as tf", "import tensorflow as tf")


WAYS = {
    "module": ["-m", "package.program", "-v"],
    "package": ["-m", "package", "-v"],
    "no_module": ["-m", "package.none"],
    "no_main": ["-m", "json"],
    "folder": ["package", "a"],
    "archive": ["archive.zip", "a"],
    "empty_folder": ["empty"],
    "pipe": ["-", "a"],
    "device": ["/dev/stdin", "a"],
    "bytes": ["bytes.py"],
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_name_a_program_is_pythons(tmp_path: Path, way: str) -> None:
    ended = []
    for start, package in (([], "fastgraph"), (["-m", "fastgraph", "run"], "tensorflow")):
        program = (
            f"import sys, {package} as tf\nprint(__name__, sys.argv, sys.path[0], tf.constant(1).numpy())\n1 / 0\n"
        )
        folder = tmp_path / "package"
        folder.mkdir(exist_ok=True)
        (tmp_path / "empty").mkdir(exist_ok=True)
        for name in ("__main__.py", "program.py"):
            (folder / name).write_text(program)
        with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
            archive.writestr("__main__.py", program)
        (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
        command = [sys.executable, *start, *WAYS[way]]
        done = subprocess.run(
            command, input=program, capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environment()
        )
        ended.append(
            (done.returncode, done.stdout, done.stderr.replace(f"import sys, {package}", "import sys, PACKAGE"))
        )
    assert ended[0] == ended[1]
    assert ended[1][0] != 0 and "fastgraph" not in ended[1][2]


def test_an_interrupt_ends_a_script_as_with_python(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import time\nimport tensorflow\nprint('ready', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "fastgraph", "run", str(script)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as child:
        assert child.stdout is not None and child.stderr is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        text = child.stderr.read()
    assert child.returncode == -signal.SIGINT
    assert text.rstrip().endswith("KeyboardInterrupt") and "fastgraph" not in text


def test_modules_and_code_are_run_as_by_python(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import sys, tensorflow\nprint(__name__, sys.argv[1:], tensorflow.__version__)\n"
    )
    done = run("-m", "program", "-x", PYTHONPATH=os.pathsep.join([str(ROOT), str(tmp_path)]))
    assert done.stdout == "__main__ ['-x'] 2.21.0\n", done.stderr
    assert run("-c", "import sys; print(sys.argv)", "a", "-b").stdout == "['-c', 'a', '-b']\n"
    missing = run("-m", "no_such_program")
    assert missing.returncode == 1 and "No module named no_such_program" in missing.stderr
    assert run(str(tmp_path / "none.py")).returncode == 2


def test_usage() -> None:
    nothing, help_ = run(), run("--help")
    assert nothing.returncode == 2 and "usage: python -m fastgraph run SCRIPT.py" in nothing.stderr
    assert help_.returncode == 0 and "usage: python -m fastgraph run SCRIPT.py" in help_.stdout
    call = "from fastgraph.door import run_command; sys.exit(run_command.main(['-c', '1']))"
    shut = plain("-E", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {call}")
    assert shut.returncode == 2 and "-E, -I and -S" in shut.stderr


def test_options_of_the_interpreter_are_kept() -> None:
    done = plain(
        "-O",
        "-W",
        "error",
        "-X",
        "dev",
        "-m",
        "fastgraph",
        "run",
        "-c",
        "import sys; print(sys.flags.optimize, sys.flags.dev_mode, sys.warnoptions[-1])",
    )
    assert done.stdout == "1 True error\n", done.stderr


CHILDREN = """\
import multiprocessing, subprocess, sys
{opening}
import tensorflow as tf

def child(queue):
    import tensorflow
    queue.put((tensorflow.__name__, tensorflow.constant(2).numpy().item(), __name__))

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
    print(subprocess.run([sys.executable, "-c", "import tensorflow as tf; print(tf)"], capture_output=True, text=True).stdout)
"""


@pytest.mark.parametrize(
    "opening_", ["", "import fastgraph; fastgraph.install_as_tensorflow()"], ids=["run", "install"]
)
def test_children_keep_the_door_open(tmp_path: Path, opening_: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(CHILDREN.format(opening=opening_))
    done = plain(str(script)) if opening_ else run(str(script))
    assert done.stdout == "('tensorflow', 2, '__mp_main__')\n<module 'tensorflow'>\n\n", done.stderr


def test_another_interpreter_gets_no_door(tmp_path: Path) -> None:
    code = "import sys; print([finder.__name__ for finder in sys.meta_path if getattr(finder, '__module__', '') == 'sitecustomize'])"
    variables = import_hook.environment(environment())
    here = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=variables, timeout=60)
    variables["FASTGRAPH_DOOR"] = str(tmp_path)
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=variables, timeout=60)
    assert (here.stdout, there.stdout) == ("['Threshold']\n", "[]\n")


def test_a_sitecustomize_of_the_users_has_its_turn(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.users_own = __file__\n")
    done = run(
        "-c",
        "import sys, sitecustomize; print(sys.users_own == sitecustomize.__file__)",
        PYTHONPATH=os.pathsep.join([str(ROOT), str(tmp_path)]),
    )
    assert done.stdout == "True\n", done.stderr


def test_the_metadata_answers_while_the_door_is_open() -> None:
    found = answer(
        """
        import importlib.metadata, importlib.util
        found["version"] = importlib.metadata.version("tensorflow")
        found["name"] = importlib.metadata.distribution("TensorFlow").metadata["Name"]
        found["listed"] = [d.version for d in importlib.metadata.distributions() if d.metadata["Name"] == "tensorflow"]
        found["top"] = importlib.metadata.packages_distributions().get("tensorflow")
        found["spec"] = importlib.util.find_spec("tensorflow") is not None
        """
    )
    assert found == {
        "version": "2.21.0",
        "name": "tensorflow",
        "listed": ["2.21.0"],
        "top": ["tensorflow"],
        "spec": True,
    }
    shut = plain("-c", "import fastgraph, importlib.metadata, sys; print('tensorflow' in sys.modules)")
    assert shut.stdout == "False\n"


def test_tensorflow_itself_imported_before_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "tensorflow.py").write_text("constant = None\n")
    code = (
        "import os, sys, tensorflow, fastgraph\nbefore = list(sys.meta_path), dict(os.environ)\n"
        "try:\n    fastgraph.install_as_tensorflow()\nexcept ImportError as error:\n    print(error)\n"
        "print((list(sys.meta_path), dict(os.environ)) == before, tensorflow.constant)"
    )
    done = plain("-c", code, PYTHONPATH=os.pathsep.join([str(ROOT), str(tmp_path)]))
    assert f"TensorFlow itself has been imported already (from {tmp_path}" in done.stdout
    assert done.stdout.endswith("True None\n")


def test_names_that_are_not_there_say_so() -> None:
    found = answer(
        """
        import importlib
        import tensorflow as tf
        def told(name):
            try:
                importlib.import_module(name)
            except ImportError as error:
                return f"{type(error).__name__}: {error}"
        found["lite"] = told("tensorflow.lite")
        found["none"] = told("tensorflow.no_such_module")
        found["inner"] = told("tensorflow.python.ops.no_such_ops")
        try:
            from tensorflow.python.eager.context import is_tensor
        except ImportError as error:
            found["name"] = str(error)
        try:
            tf.load_op_library("libops.so")
        except NotImplementedError as error:
            found["library"] = str(error)
        """
    )
    assert found["none"] == "ModuleNotFoundError: No module named 'tensorflow.no_such_module'"
    assert str(found["lite"]).startswith("NotBuiltImportError: fastgraph.lite is not built yet")
    assert "tensorflow.python.ops.no_such_ops, which <string>:" in str(found["inner"])
    assert "tensorflow.python.eager.context.is_tensor, which <string>:" in str(found["name"])
    assert "The public name nearest to it is tf.is_tensor." in str(found["name"])
    for inner, public in {
        "python.ops.math_ops": "tf.math",
        "python.framework.tensor_shape": "tf.TensorShape",
        "python.ops.gen_math_ops.mat_mul": "tf.matmul",
        "python.ops.while_loop.while_loop_v2": "tf.while_loop",
        "python.ops.math_ops.reduce_summ": "tf.reduce_sum",
    }.items():
        assert internal_names.advice(inner).endswith(f"The public name nearest to it is {public}.")
    assert internal_names.advice("python.framework.ops").endswith("No public name is near to it.")
    assert "C++ cannot be loaded" in str(found["library"])


def test_every_row_of_the_tables_leads_somewhere() -> None:
    for path in internal_names.NAMES:
        try:
            assert internal_names.value(path) is not None, path
        except fg.errors.NotBuiltError as error:  # Keras 2 has it
            assert importlib.util.find_spec("tf_keras") is None and "pip install tf_keras" in str(error), path
    for name in (*v1_names.FUNCTIONS, *v1_names.ARGUMENTS, *v1_names.RENAMED):
        space, _, last = name.rpartition(".")
        assert v1_names.value(space, last) is not None, name
    assert not v1_names.DIFFERENT & {*v1_names.FUNCTIONS, *v1_names.ARGUMENTS, *v1_names.RENAMED}


def test_arguments_of_tensorflow_1() -> None:
    summed = v1_names.value("", "reduce_sum")
    assert summed([[1.0, 2.0]], reduction_indices=1, keep_dims=True).numpy().tolist() == [[3.0]]
    assert v1_names.value("nn", "softmax")([1.0, 1.0], dim=0, axis=None).numpy().tolist() == [0.5, 0.5]
    assert v1_names.value("", "while_loop")(lambda i: i < 3, lambda i: i + 1, [0]).numpy() == 3
    assert v1_names.value("", "shape")([[1, 2]], None, fg.int64).dtype == fg.int64
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        summed([1.0], axes=0)
    with pytest.raises(ValueError, match="cannot specify both 'reduction_indices' and 'axis'"):
        summed([1.0], 0, reduction_indices=0)
    with pytest.raises(NotImplementedError, match="means something else than tf.summary.scalar"):
        v1_names.value("summary", "scalar")
    with pytest.raises(NotImplementedError, match="calls of a tf.function"):
        v1_names.value("", "Session")


def test_placeholders_of_a_graph() -> None:
    graph = internal_names.value("__internal__.FuncGraph")("scratch")
    placeholder, sparse = v1_names.value("", "placeholder"), v1_names.value("", "sparse_placeholder")
    with graph.as_default():
        x = placeholder(fg.float32, [None, 3])
        y = fg.matmul(x, fg.ones([3, 2]))
        z = sparse(fg.float32, [None, 3])
        assert not fg.executing_eagerly() and v1_names.value("", "executing_eagerly_outside_functions")()
    assert y.shape.as_list() == [None, 2] and z.shape.as_list() == [None, 3] and graph.name == "scratch"
    assert graph.inputs[0] is x and fg.executing_eagerly()
    with pytest.raises(RuntimeError, match="not compatible with eager execution"):
        placeholder(fg.float32, [])


def test_keras_is_the_small_one_where_none_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules.importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    assert modules.keras_root() == "fastgraph.keras"
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    with pytest.raises(ImportError, match="pip install tf_keras"):
        modules.keras_root()
    monkeypatch.setattr(modules.importlib.util, "find_spec", lambda name: name)
    assert modules.keras_root() == "tf_keras.api._v2.keras"
    monkeypatch.delenv("TF_USE_LEGACY_KERAS")
    assert modules.keras_root() == "keras._tf_keras.keras"


def test_the_keras_of_compat_v1_is_the_one_that_is_installed(tmp_path: Path) -> None:
    for version in ("_v1", "_v2"):
        package = tmp_path / "tf_keras" / "api" / version
        package.mkdir(parents=True)
        (package / "keras.py").write_text(f"which = {version!r}\n")
    (tmp_path / "script.py").write_text(
        "import tensorflow as tf, tensorflow.compat.v1 as v1\n"
        "print(tf.compat.v1.keras.which, v1.keras.which, tf.keras.which, v1.keras is tf.compat.v1.keras)\n"
    )
    command = [sys.executable, "-m", "fastgraph", "run", str(tmp_path / "script.py")]
    done = subprocess.run(command, capture_output=True, text=True, env={**environment(), "TF_USE_LEGACY_KERAS": "1"})
    assert done.stdout == "_v1 _v1 _v2 True\n", done.stderr


def test_summaries_are_written_where_record_if_says(tmp_path: Path) -> None:
    with fg.summary.create_file_writer(tmp_path).as_default(step=3):
        assert fg.summary.should_record_summaries().numpy()
        fg.summary.histogram("spread", [1.0, 2.0, 4.0], buckets=2)
        fg.summary.image("picture", fg.reshape(fg.range(24.0) / 23, [1, 2, 4, 3]))
        with fg.summary.record_if(lambda: fg.constant(False)):
            assert not fg.summary.scalar("no", 1.0).numpy() and not fg.summary.write("no", 1).numpy()
        with fg.summary.experimental.summary_scope("a", "b") as (tag, scope):
            assert (tag, scope) == ("a", "a/")
        kind = fg.compat.v1.SummaryMetadata
        metadata = kind(plugin_data=kind.PluginData(plugin_name="plugin", content=b"c"))
        fg.function(lambda x: fg.summary.write("given", x, metadata=metadata))(fg.constant("text"))
    (file,) = tmp_path.iterdir()
    event = internal_names.value("core.util.event_pb2.Event")
    records = internal_names.value("python.lib.io.tf_record.tf_record_iterator")(str(file))
    values = [(value, entry.step) for entry in map(event.FromString, records) for value in entry.summary.value]
    assert [(v.tag, v.metadata.plugin_data.plugin_name, step) for v, step in values] == [
        ("spread", "histograms", 3),
        ("picture", "images", 3),
        ("given", "plugin", 3),
    ]
    width, height, png = fg.make_ndarray(values[1][0].tensor).tolist()
    decoded = fg.io.decode_png(png).numpy()
    assert (width, height, decoded.shape) == (b"4", b"2", (2, 4, 3)) and decoded.ravel()[[0, 1, -1]].tolist() == [
        0,
        11,
        255,
    ]
    assert fg.make_ndarray(values[0][0].tensor).tolist() == [[1.0, 2.5, 2.0], [2.5, 4.0, 1.0]]


def test_a_loop_carries_an_optional_of_a_kind_that_its_body_decides() -> None:
    optional = fg.experimental.Optional

    @fg.function
    def last(n: object) -> object:
        nothing = optional.empty(None)

        def body(i: object, before: object) -> object:
            return i + 1, optional.from_value({"x": fg.cast(i, fg.float32)})  # type: ignore[operator]

        return fg.while_loop(lambda i, before: i < n, body, [0, nothing])[1]

    assert last(fg.constant(3)).get_value()["x"].numpy() == 2.0
    assert not last(fg.constant(0)).has_value().numpy()


def test_options_of_datasets() -> None:
    options = fg.data.Options()
    options.deterministic = False
    options.experimental_distribute.auto_shard_policy = fg.data.experimental.AutoShardPolicy.OFF
    dataset = fg.data.Dataset.range(3).with_options(options).batch(2)
    found = dataset.options()
    assert found.deterministic is False and found == fg.data.Options().merge(options)
    assert fg.data.Dataset.range(3).options() == fg.data.Options()
    with pytest.raises(ValueError, match="has no effect"):
        found.deterministic = True
    with pytest.raises(TypeError, match='"deterministic" must be of type'):
        options.deterministic = "yes"
    with pytest.raises(AttributeError, match="Cannot set the property speed on Options"):
        options.speed = 1


def test_the_strategy_of_one_device() -> None:
    strategy = fg.distribute.get_strategy()
    assert not fg.distribute.has_strategy() and strategy.run(lambda x: x + 1, (2,)) == 3
    assert not fg.distribute.in_cross_replica_context()
    with fg.distribute.MirroredStrategy().scope() as mirrored:
        assert fg.distribute.get_strategy() is mirrored and fg.distribute.in_cross_replica_context()
        assert mirrored.run(lambda: fg.distribute.get_replica_context().num_replicas_in_sync) == 1
        assert mirrored.reduce("MEAN", fg.constant([1.0, 3.0]), axis=0).numpy() == 2.0
    with pytest.raises(NotImplementedError, match="TPUStrategy is not built yet"):
        fg.distribute.TPUStrategy()


@pytest.mark.slow
def test_keras_3_trains_on_two_replicas_as_on_one() -> None:
    if importlib.util.find_spec("keras") is None:
        pytest.skip("Keras 3 is not installed")
    script = str(Path(__file__).with_name("replicas_program.py"))
    done = subprocess.run(
        [sys.executable, "-m", "fastgraph", "run", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    one, two = json.loads(done.stdout)
    assert one == pytest.approx(two, rel=2e-5)


@pytest.mark.slow  # imports Keras
def test_a_program_for_keras_gives_tensorflows_numbers() -> None:
    """With the same seed: initial weights, dropout, shuffled batches and steps are those of TensorFlow."""
    if importlib.util.find_spec("keras") is None or metadata.version("keras") != "3.15.1":
        pytest.skip("Keras 3.15.1 is not installed")
    script = str(Path(__file__).with_name("keras_program.py"))
    done = run(script, KERAS_BACKEND="tensorflow", FASTGRAPH_TIER="first")
    assert done.returncode == 0, done.stderr
    losses, predicted = json.loads(done.stdout.splitlines()[-1])
    wanted = [0.93965924, 0.81135446, 0.8214857, 0.88611281, 0.72520560, 0.94037235, 0.72492934, 0.80501711, 0.9325316]
    np.testing.assert_allclose(losses, [*wanted, 0.70856464], rtol=1e-5)
    np.testing.assert_allclose(predicted, [0.51400852, 0.13480268, 0.60079455], rtol=1e-5)


def test_operations_by_the_names_of_their_modules() -> None:
    found = answer(
        """
        import tensorflow as tf
        from tensorflow.python.ops import gen_array_ops, gen_math_ops, gen_sparse_ops
        order, values = gen_sparse_ops.sparse_reorder([[1, 0], [0, 1]], [5, 6], (2, 2))
        found["order"] = [order.numpy().tolist(), values.numpy().tolist()]
        found["product"] = gen_math_ops.mat_mul(tf.ones([2, 3]), tf.ones([2, 3]), False, True, name="m").numpy().tolist()
        found["named"] = gen_math_ops.MatMul(a=tf.ones([1, 1]), b=tf.ones([1, 1])).numpy().tolist()
        found["padded"] = gen_array_ops.pad_v2([1], [[0, 1]], 7).numpy().tolist()
        for call in (lambda: gen_math_ops.mat_mul(1), lambda: gen_math_ops.mat_mul(1, 2, a=1),
                     lambda: gen_math_ops.mat_mul(*range(9)), lambda: gen_math_ops.no_such_operation):
            try:
                call()
            except (TypeError, NotImplementedError) as error:
                found.setdefault("errors", []).append(f"{type(error).__name__}: {error}".partition(", which")[0])
        """
    )
    assert found["order"] == [[[0, 1], [1, 0]], [6, 5]] and found["product"] == [[3.0, 3.0]] * 2
    assert found["named"] == [[1.0]] and found["padded"] == [1, 7]
    assert found["errors"] == [
        "TypeError: MatMul() missing 1 required positional argument: 'b'",
        "TypeError: mat_mul() got multiple values for argument 'a'",
        "TypeError: mat_mul() takes from 2 to 7 positional arguments but 9 were given",
        "NotBuiltError: tensorflow.python.ops.gen_math_ops.no_such_operation",
    ]


def test_what_libraries_import_and_do_not_need_is_there_or_says_so() -> None:
    found = answer(
        """
        import tensorflow as tf
        from tensorflow.python.distribute.values import AggregatingVariable, DistributedVariable
        from tensorflow.python.eager import monitoring
        gauge = monitoring.BoolGauge("/a/b", "whether", "label")
        before = gauge.get_cell("x").value()
        gauge.get_cell("x").set(True)
        counter = monitoring.Counter("/a/c", "how often", "one", "two")
        counter.get_cell("a", "b").increase_by(2)
        counter.get_cell("a", "b").increase_by(1)
        found["gauge"] = [before, gauge.get_cell("x").value(), gauge.get_cell("y").value()]
        found["counter"] = [counter.get_cell("a", "b").value(), counter.get_cell("a", "c").value()]
        parts = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], parts)
        found["classes"] = [isinstance(tf.Variable(1.0), each) for each in (AggregatingVariable, DistributedVariable)]
        with tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"]).scope():
            found["classes"].append(isinstance(tf.Variable(1.0), AggregatingVariable))
        embedding = tf.tpu.experimental.embedding
        found["tpu"] = [hasattr(embedding, "TPUEmbeddingV2"), isinstance(1, (embedding.SGD, embedding.Adam))]
        for call in (lambda: embedding.TableConfig(3, 4), lambda: tf.tpu.constant, lambda: counter.get_cell("a")):
            try:
                call()
            except Exception as error:
                found.setdefault("errors", []).append(f"{type(error).__name__}: {error}")
        """
    )
    assert (found["gauge"], found["counter"]) == ([False, True, False], [3, 0])
    assert (found["classes"], found["tpu"]) == ([False, False, True], [False, False])
    made, none, labels = found["errors"]  # type: ignore[misc]
    assert made == (
        "NotBuiltError: tf.tpu.experimental.embedding.TableConfig is not built. Use tf.nn.embedding_lookup, or Keras's "
        "Embedding."
    )
    assert none.startswith("AttributeError: module ") and "has no attribute 'constant'" in none
    assert labels == "ValueError: The metric /a/c has the labels one, two; got 1 value(s)."


def test_tests_and_layers_written_in_terms_of_tensorflows_modules(tmp_path: Path) -> None:
    script = tmp_path / "inner.py"
    script.write_text(
        textwrap.dedent("""
        import unittest
        import numpy as np
        from tensorflow.python.client import device_lib
        from tensorflow.python.eager import backprop, def_function
        from tensorflow.python.framework import constant_op, dtypes, errors, ops, tensor_util, test_util
        from tensorflow.python.keras.layers import Dense
        from tensorflow.python.keras import layers as keras_layers
        from tensorflow.python.keras.utils import numerical_utils, to_categorical
        from tensorflow.python.lib.io import file_io
        from tensorflow.python.ops import array_ops, check_ops, init_ops, math_ops, nn_ops, random_ops, variables
        from tensorflow.python.platform import test
        from tensorflow.python.util import compat, nest
        from tensorflow.python.util.compat import collections_abc

        class Case(test_util.TensorFlowTestCase):
            @test_util.run_in_graph_and_eager_modes
            def test_sum(self):
                with self.cached_session(), test_util.use_gpu():
                    x = constant_op.constant([[1.0, -2.0], [3.0, 4.0]])
                    self.assertAllEqual(self.evaluate(math_ops.reduce_sum(x, axis=1)), [-1.0, 7.0])

            @test_util.run_v1_only("b/1")
            def test_graphs(self):
                raise AssertionError

        x = constant_op.constant([[1.0, -2.0]])
        print(array_ops.expand_dims(x, -1).shape, math_ops.cast(x, dtypes.int32).numpy().tolist())
        print(nn_ops.softmax(x).shape, isinstance(x, ops.Tensor), tensor_util.constant_value(x).tolist())
        print(device_lib.list_local_devices()[0].device_type, compat.as_bytes("x"), nest.flatten({"a": [1]}))
        file_io.write_string_to_file("FILE", "text")
        print(file_io.read_file_to_string("FILE"), file_io.file_exists("FILE"), file_io.FileIO("FILE", "rb").read())
        print(issubclass(collections_abc.Sequence, collections_abc.Sized), Dense(2)(x).shape)
        print(numerical_utils.to_categorical([1]).shape == to_categorical([1]).shape, "Dense" in dir(keras_layers))
        done = unittest.main(argv=["x"], exit=False, verbosity=0).result
        print(done.testsRun, len(done.skipped), len(done.errors) + len(done.failures), test.TestCase is not None)
        """).replace("FILE", str(tmp_path / "file"))
    )
    done = run(str(script), TF_USE_LEGACY_KERAS="0")
    assert done.stdout.splitlines() == [
        "(1, 2, 1) [[1, -2]]",
        "(1, 2) True [[1.0, -2.0]]",
        "CPU b'x' [1]",
        "text True b'text'",
        "True (1, 2)",
        "True True",
        "3 2 0 True",  # test_session is skipped too
    ], done.stdout + done.stderr


def test_modules_can_be_loaded_again() -> None:
    found = answer(
        """
        import importlib
        import tensorflow as tf
        import tensorflow.nn as nn
        before = [(each.__name__, each.__spec__ is None, each.__package__) for each in (tf, nn)]
        found["same"] = importlib.reload(tf) is tf and importlib.reload(nn) is nn and tf.nn is nn
        found["kept"] = before == [(each.__name__, each.__spec__ is None, each.__package__) for each in (tf, nn)]
        found["runs"] = nn.relu([1.0, -1.0]).numpy().tolist()
        """
    )
    assert found == {"same": True, "kept": True, "runs": [1.0, 0.0]}
