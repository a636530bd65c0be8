"""The one table of fastgraph's settings: names, environment variables, defaults, and what each is for.

Rule: no other module reads the environment. A setting is looked up when it is needed, so that a test or a program can
change it: by its variable, by `set_flag`, or for a while by `override`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fastgraph.core.base import cpu_count


@dataclass(frozen=True)
class Flag:
    """One setting: its variable, how its text is read, its default, and what it does."""

    variable: str
    read: Callable[[str], Any]
    default: Callable[[], Any]
    meaning: str


def _switch(text: str) -> bool:
    """Read 1/0, true/false, on/off, yes/no."""
    lowered = text.strip().lower()
    if lowered in ("1", "true", "on", "yes"):
        return True
    if lowered in ("0", "false", "off", "no", ""):
        return False
    raise ValueError("it must be 1 or 0")


def _count(least: int) -> Callable[[str], int]:
    """Return a reader of integers from `least` on."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise ValueError(f"it must be an integer of at least {least}")
        return number

    return read


def _one_of(*words: str) -> Callable[[str], str]:
    """Return a reader of the given words."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"it must be one of {', '.join(words)}")
        return text

    return read


def _cluster(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict) or not all(isinstance(found.get(key, {}), dict) for key in ("cluster", "task")):
        raise ValueError("it has to be a JSON object, and so have its `cluster` and `task`")
    return found


def _path(text: str) -> str:
    """Read a path; in a working folder that has been deleted it stays as it is and leads nowhere."""
    try:
        return os.path.abspath(text)
    except FileNotFoundError:
        return text


def _of_the_user(variable: str, *otherwise: str) -> str:
    """The user's folder that `variable` of the XDG conventions names, `otherwise` in the home directory."""
    base = os.environ.get(variable, "")
    return base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), *otherwise)


def _store_directory() -> str:
    """Return the folder of kernels when nothing else is said: the user's cache directory."""
    return os.path.join(_of_the_user("XDG_CACHE_HOME", ".cache"), "fastgraph", "kernels")


def _store_key() -> str:
    """Return the path of the key: with what belongs to this machine, not with caches, which are copied."""
    return os.path.join(_of_the_user("XDG_STATE_HOME", ".local", "state"), "fastgraph", "store.key")


#: The pass that is no optimisation and always runs.
INLINE = "inline"
#: The passes that leave a program's meaning alone, and are on unless something else is said.
PASSES = (INLINE, "prune", "fold", "algebra", "cse", "fuse")
#: A pass that takes assertions, prints and checks of numbers out.
STRIP = "strip"


def _passes(text: str) -> frozenset[str]:
    """Read "all", "none" or pass names with commas between them."""
    if text in ("all", "none"):
        return frozenset(PASSES if text == "all" else (INLINE,))
    chosen = frozenset(word.strip() for word in text.split(",") if word.strip())
    if not chosen <= {*PASSES, STRIP}:
        raise ValueError(f"it must be all, none, or some of {', '.join((*PASSES, STRIP))}")
    return chosen | {INLINE}


FLAGS: dict[str, Flag] = {
    "store": Flag("FASTGRAPH_STORE", _path, _store_directory, "directory of compiled kernels and converted functions"),
    "store_limit": Flag(
        "FASTGRAPH_STORE_LIMIT", _count(0), lambda: 256 << 20, "bytes that the kernel store may take (0: keep nothing)"
    ),
    "store_key": Flag("FASTGRAPH_STORE_KEY", _path, _store_key, "file of the key that authenticates stored kernels"),
    "store_trust": Flag(
        "FASTGRAPH_STORE_TRUST",
        _one_of("own", "copied"),
        lambda: "own",
        "own: run only what was stored with this user's key; copied: also what another key has authenticated",
    ),
    "linger": Flag(
        "FASTGRAPH_LINGER",
        _count(0),
        lambda: 60,
        "seconds for which kernels are still compiled and stored after the program has ended (0: none)",
    ),
    "threads": Flag(
        "FASTGRAPH_THREADS", _count(1), cpu_count.available, "threads that run kernels (default: one per CPU)"
    ),
    "tier": Flag(
        "FASTGRAPH_TIER",
        _one_of("auto", "first", "last"),
        lambda: "auto",
        "auto: NumPy bodies until the kernels are ready; first: never kernels; last: wait for the kernels",
    ),
    "door": Flag(
        "FASTGRAPH_DOOR",
        str,
        lambda: None,
        "set by `python -m fastgraph run`: the interpreter (sys.prefix) whose processes get fastgraph as tensorflow",
    ),
    "worker": Flag("FASTGRAPH_WORKER", _switch, lambda: True, "compile in another process (0: in this one)"),
    "fuel": Flag("FASTGRAPH_FUEL", _count(0), lambda: None, "stop rewriting graphs after n rules, to bisect a fault"),
    "passes": Flag("FASTGRAPH_PASSES", _passes, lambda: frozenset(PASSES), "the passes that may change a graph"),
    "verify": Flag(
        "FASTGRAPH_VERIFY",
        _switch,
        lambda: False,
        "check every graph again after every pass, and kernels for sizes of the plan's own",
    ),
    "blas_threads": Flag(
        "FASTGRAPH_BLAS_THREADS",
        _one_of("one", "keep"),
        lambda: "one",
        "one: NumPy's and SciPy's BLAS keep to the calling thread while an op calls them; keep: left alone",
    ),
    "keras_home": Flag(
        "KERAS_HOME", _path, lambda: os.path.join(os.path.expanduser("~"), ".keras"), "Keras's cache of data sets"
    ),
    "tf_config": Flag(
        "TF_CONFIG", _cluster, dict, "who takes part in tf.distribute.MultiWorkerMirroredStrategy, as JSON"
    ),
}

_overrides: dict[str, Any] = {}
_listeners: list[Callable[[], None]] = []


def on_change(listener: Callable[[], None]) -> None:
    """Have `listener` called whenever a flag is set or cleared from Python."""
    _listeners.append(listener)


def _changed() -> None:
    for listener in _listeners:
        listener()


def get(name: str) -> Any:
    """Return the value of the flag `name`: what `set_flag` gave, else the environment variable, else the default.

    Raises ValueError, naming the variable, if its text cannot be read.
    """
    if name in _overrides:
        return _overrides[name]
    flag = FLAGS[name]
    text = os.environ.get(flag.variable)
    if text is None or text == "":
        return flag.default()
    try:
        return flag.read(text)
    except ValueError as error:
        raise ValueError(f"{flag.variable}={text!r} cannot be used: {error} ({flag.meaning}).") from None


def set_flag(name: str, value: object) -> None:
    """Let the flag `name` have `value` in this process from now on. Raises KeyError for an unknown name."""
    if name not in FLAGS:
        raise KeyError(f"There is no flag {name!r}; the flags are {', '.join(FLAGS)}.")
    _overrides[name] = value
    _changed()


def clear_flag(name: str) -> None:
    """Let the environment, or the default, decide over the flag `name` again."""
    _overrides.pop(name, None)
    _changed()


@contextmanager
def override(**values: Any) -> Iterator[None]:
    """Let the named flags have other values within a `with` block."""
    missing = object()
    before = {name: _overrides.get(name, missing) for name in values}
    try:
        for name, value in values.items():
            set_flag(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is missing:
                clear_flag(name)
            else:
                set_flag(name, value)


def variables() -> str:
    """Return the names of the environment variables that are read, for messages."""
    return ", ".join(flag.variable for flag in FLAGS.values())


def unknown_variables() -> list[str]:
    """Return the FASTGRAPH_* variables that are set and mean nothing, as after a slip of the keyboard."""
    known = {flag.variable for flag in FLAGS.values()} | {"FASTGRAPH_CYTHON_DEBUG", "FASTGRAPH_BUILD_JOBS"}
    return sorted(name for name in os.environ if name.startswith("FASTGRAPH_") and name not in known)


def of_others(variable: str, default: str) -> str:
    """Return a variable of the environment that is another program's, such as Numba's; `default` if it is not set."""
    return os.environ.get(variable, default)


def tell_others(variable: str, value: str) -> None:
    """Set a variable of the environment that is another program's, such as CUDA's."""
    os.environ[variable] = value
