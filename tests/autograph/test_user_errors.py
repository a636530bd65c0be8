"""Errors while tracing: the user's lines and no others, the class of the exception, the switch of the filter."""

from __future__ import annotations

import importlib.util
import pickle
import re
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg


@pytest.fixture
def unfiltered() -> Iterator[None]:
    fg.debugging.disable_traceback_filtering()
    yield
    fg.debugging.enable_traceback_filtering()


def line_of(mark: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (found,) = (number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))
    return found


def product(x: Any) -> Any:
    return fg.matmul(
        x,  # not the line
        x,
    )


@fg.function
def staged(x: Any) -> Any:
    for _ in fg.range(3):
        if fg.reduce_sum(x) > 0:
            while fg.reduce_sum(x) < 9:
                x = product(x)  # called
    return x


def error_of_staged() -> Exception:
    with pytest.raises(ValueError, match="in user code") as caught:
        staged(fg.constant([1.0, 2.0]))
    return caught.value


def test_a_line_for_each_function_and_no_more() -> None:
    lines = [line.strip() for line in str(error_of_staged()).splitlines() if line.strip().startswith("File ")]
    first = line_of("not the line") - 1
    assert lines == [
        f'File "{__file__}", line {line_of("called")}, in staged  *',
        f'File "{__file__}", line {first}, in product  *',
    ]


def test_tracebacks_have_the_frames_of_the_user() -> None:
    frames = traceback.extract_tb(error_of_staged().__traceback__)
    own = [frame.name for frame in frames if frame.filename == __file__]
    assert own == ["error_of_staged", "staged", "product"]
    assert len(frames) - len(own) <= 1  # what called the Function


@pytest.mark.usefixtures("unfiltered")
def test_the_filter_can_be_switched_off() -> None:
    assert not fg.debugging.is_traceback_filtering_enabled()
    files = [Path(frame.filename).name for frame in traceback.extract_tb(error_of_staged().__traceback__)]
    assert "function.py" in files and "matmul.py" in files


def test_the_filter_is_on() -> None:
    assert fg.debugging.is_traceback_filtering_enabled()


@fg.function
def called_inside(x: Any) -> Any:
    return staged(x) + 1


def test_functions_inside_of_functions() -> None:
    with pytest.raises(ValueError, match="in user code") as caught:
        called_inside(fg.constant([1.0, 2.0]))
    own = [f.name for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == __file__]
    assert own == ["test_functions_inside_of_functions", "called_inside", "staged", "product"]
    with pytest.raises(ValueError, match="in user code") as caught:
        called_inside.get_concrete_function(fg.constant([1.0, 2.0]))
    assert len(traceback.extract_tb(caught.value.__traceback__)) <= 5


class TwoArguments(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a}-{b}")
        self.a = a


class WithCode(Exception):
    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class OwnText(Exception):
    def __str__(self) -> str:
        return "of its own"


def raised_while_tracing(error: Exception) -> Exception:
    @fg.function
    def raising(x: Any) -> Any:
        if x > 0:
            raise error  # raised here
        return x

    with pytest.raises(type(error)) as caught:
        raising(fg.constant(1))
    return caught.value


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TwoArguments(1, 2), "TwoArguments: 1-2"),
        (WithCode("broken", 7), "WithCode: broken"),
        (KeyError("missing"), "KeyError: 'missing'"),
        (KeyError(3), "KeyError: 3"),
        (AttributeError("none", name="missing", obj=3), "AttributeError: none"),
        (fg.errors.NotFoundError(None, None, "no file"), "NotFoundError: no file"),
    ],
)
def test_the_lines_are_in_the_text_and_the_class_stays(error: Exception, text: str) -> None:
    new = raised_while_tracing(error)
    assert type(new) is type(error)
    assert str(new).startswith("in user code:\n\n    File ") and str(new).endswith(f"\n\n    {text}\n")
    assert f"line {line_of('raised here')}, in raising  *" in str(new)
    for name in ("a", "code", "name", "obj", "error_code"):
        assert getattr(new, name, None) == getattr(error, name, None)
    if not isinstance(error, fg.errors.OpError):
        assert type(pickle.loads(pickle.dumps(new.args))[0]) is type(new.args[0])


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "'utf-8' codec can't decode"),
        (FileNotFoundError(2, "nothing there"), "[Errno 2] nothing there"),
        (ExceptionGroup("several", [ValueError("one")]), "several"),
        (OwnText(), "of its own"),
    ],
)
def test_classes_that_make_their_own_text_get_a_note(error: Exception, text: str) -> None:
    assert raised_while_tracing(error) is error and str(error).startswith(text)
    assert len(error.__notes__) == 1
    assert error.__notes__[0].startswith("in user code:")
    assert f"line {line_of('raised here')}, in raising" in error.__notes__[0]


def deep(x: Any) -> Any:
    raise ValueError("deep")


@fg.autograph.experimental.do_not_convert
def left_alone(x: Any) -> Any:
    return deep(x)


def called_plainly(x: Any) -> Any:
    return left_alone(x)


def generated(x: Any) -> Iterator[Any]:
    yield deep(x)


@fg.function(autograph=False)
def without_autograph(x: Any) -> Any:
    return deep(x)


@pytest.mark.parametrize(
    ("called", "marks"),
    [
        (deep, {"deep": "  *"}),
        (called_plainly, {"called_plainly": "  *", "left_alone": "  **", "deep": ""}),
        (lambda x: list(generated(x)), {"<lambda>": "  *", "generated": "  **", "deep": ""}),
        (lambda x: np.linalg.inv(np.zeros(3)), {"<lambda>": "  *", "inv": "  **", "_assert_stacked_square": ""}),
        (without_autograph, {"without_autograph": "", "deep": ""}),
        (lambda x: fg.map_fn(deep, x), {"<lambda>": "  *", "deep": "  *"}),
        (fg.function(called_plainly), {"called_plainly": "  *", "left_alone": "  **", "deep": ""}),
    ],
)
def test_stars_tell_what_is_converted(called: Any, marks: dict[str, str]) -> None:
    @fg.function
    def outermost(x: Any) -> Any:
        if x[0] > 0:
            x += 1
        return called(x)

    with pytest.raises(ValueError, match="in user code") as caught:
        outermost(fg.constant([1, 2]))
    found = dict(re.findall(r"line \d+, in (\S+)( *\**)$", str(caught.value), re.MULTILINE))
    assert found == {"outermost": "  *", **marks}


def test_an_op_of_wrong_shapes_is_named_with_its_scope() -> None:
    x, y = fg.constant([1.0, 2.0, 3.0]), fg.constant([1.0, 2.0])

    @fg.function
    def looping(x: Any, y: Any) -> Any:
        while fg.reduce_sum(x) < 9.0:
            x = fg.tanh(x) * y
        return x

    with pytest.raises(ValueError, match=re.escape("'{{node while/mul}} = Mul[T=DT_FLOAT](while/Tanh, while/mul/y)'")):
        looping(x, y)

    @fg.function
    def branching(x: Any, y: Any) -> Any:
        if fg.reduce_sum(x) < 9.0:
            x = fg.matmul(x, y)
        return x

    with pytest.raises(ValueError, match=re.escape("'{{node cond/MatMul}} = MatMul")):
        branching(x, y)

    @fg.function
    def scoped(x: Any, y: Any) -> Any:
        with fg.name_scope("part"):
            z = x + x
            return fg.add(z, y, name="sum") if y.shape[0] == 3 else z + y

    with pytest.raises(ValueError, match=re.escape("'{{node part/add_1}} = AddV2[T=DT_FLOAT](part/add, y)'")):
        scoped(x, y)


def test_the_cause_of_an_error_stays() -> None:
    @fg.function
    def translated(x: Any) -> Any:
        try:
            raise ValueError("first")
        except ValueError as error:
            if x > 0:
                raise RuntimeError("second") from error
        return x

    with pytest.raises(RuntimeError, match="second") as caught:
        translated(fg.constant(1))
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_deep_recursion_is_told_in_few_lines() -> None:
    @fg.function
    def deep(x: Any, n: int) -> Any:
        return deep(x, n + 1) + 1

    with pytest.raises(RecursionError) as caught:
        deep(fg.constant(1), 0)
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert "more calls]" in told and told.count("\n") < 100


def test_what_python_prints(tmp_path: Path) -> None:
    path = tmp_path / "printed.py"
    path.write_text(
        "import fastgraph as fg\n\n@fg.function\ndef f(x):\n    if x > 0:\n        x = x + 'a'\n    return x\n\n"
        "f(fg.constant(1))\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120)
    told = [line.strip() for line in done.stderr.splitlines() if line.strip().startswith("File ")]
    outer = [f'File "{path}", line 9, in <module>', f'File "{path}", line 6, in f']
    assert [line for line in told[: told.index(outer[1]) + 1] if str(path) in line] == outer
    assert len(told) == 4  # the two, what called the Function, and the line in the text of the error


def test_functions_of_one_text_in_two_files_name_their_own(tmp_path: Path) -> None:
    def loaded(name: str) -> Any:
        file = tmp_path / f"{name}.py"
        file.write_text("def f(tf, x):\n    if x > 0:\n        return tf.reshape(x, [3, 3])\n    return x\n")
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.f

    for name in ("one", "other"):
        with pytest.raises(ValueError, match=rf"{name}\.py\", line 3, in f"):
            fg.function(loaded(name))(fg, fg.constant(1.0))
