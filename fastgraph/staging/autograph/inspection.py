"""Looking at what AutoGraph does: the code that it makes, what it logs, what it can be asked for."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from fastgraph.core.base.locks import parsing
from fastgraph.core.base.logger import get_logger
from fastgraph.staging import autograph
from fastgraph.staging.autograph.loop_options import with_features


def to_graph(
    entity: object, recursive: bool = True, experimental_optional_features: object = None
) -> Callable[..., Any]:
    """Return the converted function of `entity`, a Python function or method, which takes self as an argument.

    What it calls is converted too, unless `recursive` is False. The features are a Feature or several; they have an
    effect where the result is called. Raises TypeError for other features, ConversionError for what is no Python
    function, or has no source. Source: tf.autograph.to_graph.
    """
    converter = autograph.get_converter()
    with parsing:
        converted: Callable[..., Any] = converter(autograph.python_function(entity), recursive)
    if experimental_optional_features is None:
        return converted

    @functools.wraps(converted)
    def with_its_features(*args: object, **kwargs: object) -> Any:
        with with_features(experimental_optional_features):
            return converted(*args, **kwargs)

    return with_its_features


# ---- Logging --------------------------------------------------------------------------------------------------------


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Set how much AutoGraph tells in the log "tensorflow", and on standard output if `alsologtostdout`.

    0 is nothing but warnings, 1 the functions that are converted, 3 their code as well. Source:
    tf.autograph.set_verbosity.
    """
    autograph.set_observer(_observer(int(level), alsologtostdout))


def _observer(level: int, to_stdout: bool) -> Callable[[types.FunctionType], None] | None:
    if level < 1:
        return None

    def observe(function: types.FunctionType) -> None:
        code = function.__code__
        said = f"AutoGraph converts {function.__qualname__} ({code.co_filename}:{code.co_firstlineno})"
        if level >= 3:
            said += f":\n{autograph.to_code(function)}"
        get_logger().warning("%s", said)
        if to_stdout:
            print(said)

    return observe


def trace(*args: object) -> None:
    """Print `args` when the function is traced, not when its graph runs. Source: tf.autograph.trace."""
    print(*args)
