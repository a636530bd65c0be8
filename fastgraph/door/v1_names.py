"""tf.compat.v1 behind the door: what programs of TensorFlow 2 use of TensorFlow 1's names, as four tables.

Rule: a name that is the same in both versions is fastgraph's own; one that takes its arguments in another order or by
other names has a row; one that means something else is in v1_functions.py, or an error that names what to use. There
are no sessions.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import operator
from collections.abc import Callable
from typing import Any

import fastgraph
from fastgraph.api import namespaces, public_names
from fastgraph.core.base.name_tables import lines_of
from fastgraph.door.v1_arguments import taken
from fastgraph.errors import NotBuiltError


def _tables() -> tuple[dict[str, str], dict[str, str], dict[str, str], frozenset[str], dict[str, str]]:
    sections: dict[str, list[str]] = {}
    for line in lines_of("door/v1_names.txt"):
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
        else:
            section.append(line)
    words = {name: " ".join(lines).split() for name, lines in sections.items()}
    rows = {}
    for line in sections["arguments"]:
        names_, _, row = line.partition(":")
        rows.update(dict.fromkeys(names_.split(), row.strip()))
    homes = {name: key.split()[1] for key, names_ in words.items() if key.startswith("functions") for name in names_}
    instead = {}
    for line in sections["instead"]:
        names_, _, way = line.partition(": ")
        instead.update(dict.fromkeys(names_.split(), way))
    return dict([pair.split(":") for pair in words["renamed"]]), rows, homes, frozenset(words["different"]), instead


#: RENAMED: v1 name -> name of TensorFlow 2 with the same meaning.
#: ARGUMENTS: v1 name -> [name in TensorFlow 2 and ":"] the parameters in the order of v1, "old=new" where the name is
#: another, "old=" where the argument has no effect any more, "!new=text" what is always given; None is as no argument.
#: FUNCTIONS: what modules beside this one define ("." is "_") -> which of them.
#: DIFFERENT: names that mean something else in TensorFlow 2, and are not built as TensorFlow 1 has them.
#: INSTEAD: what to use for what is not built, by name or by the module it is in (several before one text).
RENAMED, ARGUMENTS, FUNCTIONS, DIFFERENT, INSTEAD = _tables()

_PARTS = {name.rpartition(".")[0] for name in (*FUNCTIONS, *ARGUMENTS, *RENAMED)}
_MORE = ("distributions", "feature_column", "layers", "metrics", "nn.rnn_cell", "train")
MODULES = frozenset(
    [
        "compat.v1",
        *(f"compat.v1.{part}" for name in _PARTS if name for part in (name, name.partition(".")[0])),
        *(f"compat.v1.{name}" for name in _MORE),
        *(
            f"compat.v1.{module}"
            for module in (*public_names.NAMESPACES, *public_names.FILES)
            if not module.startswith(("keras", "compat")) and module not in public_names.ALIASES
        ),
    ]
)


def value(path: str, name: str) -> Any:
    """Return what `name` is in the module compat.v1.`path` ("" for itself).

    Raises NotBuiltError for a name of TensorFlow's that is not here.
    """
    dotted = f"{path}.{name}" if path else name
    if dotted in FUNCTIONS:
        functions = importlib.import_module(f"fastgraph.door.{FUNCTIONS[dotted]}")
        own = dotted.replace(".", "_")
        return getattr(functions, own) if hasattr(functions, own) else getattr(functions, name)
    if dotted in ARGUMENTS:
        return _reordered(dotted)
    if dotted in RENAMED:
        return operator.attrgetter(RENAMED[dotted])(fastgraph)
    if f"compat.v1.{dotted}" in public_names.PUBLIC:
        return operator.attrgetter(f"compat.v1.{dotted}")(fastgraph)
    if dotted in DIFFERENT:
        raise _not_built(dotted, f"it means something else than tf.{dotted}, which is there")
    try:
        return operator.attrgetter(dotted)(fastgraph)
    except NotBuiltError as error:
        if INSTEAD.keys() & {dotted, path, dotted.partition(".")[0]}:
            raise _not_built(dotted, "of TensorFlow 1 there is what programs of TensorFlow 2 use") from None
        raise error from None
    except AttributeError:
        raise _not_built(dotted, "of TensorFlow 1 there is what programs of TensorFlow 2 use") from None


def spelling(dotted: str) -> str:
    """The words of TensorFlow 2 for TensorFlow 1's name `dotted`; "" where it is not known."""
    if dotted in RENAMED:
        return f"tf.{RENAMED[dotted]}"
    target = ARGUMENTS.get(dotted, "").rpartition(":")[0]
    return f"tf.{target}" if target else INSTEAD.get(dotted, "")


def _not_built(dotted: str, reason: str) -> NotBuiltError:
    ways = [INSTEAD[key] for key in (dotted, dotted.rpartition(".")[0], dotted.partition(".")[0]) if key in INSTEAD]
    way = ways[0] if ways else "the names of TensorFlow 2"
    return NotBuiltError(f"tf.compat.v1.{dotted} is not built: {reason}. Use {way}.")


def _reordered(dotted: str) -> Callable[..., Any]:
    """Return TensorFlow 2's function for arguments as TensorFlow 1 has them."""
    target, _, rest = ARGUMENTS[dotted].rpartition(":")
    function = operator.attrgetter(target or dotted)(fastgraph)
    words = [word.partition("=") for word in rest.split()]
    names_of = {old: new if equals else old for old, equals, new in words if old[0] != "!"}
    fixed = {key[1:]: value for key, _, value in words if key[0] == "!"}
    name = dotted.rpartition(".")[2]
    parameters_of = inspect.signature(function).parameters.values()
    needed = {each.name for each in parameters_of if each.default is each.empty}

    def call(*args: Any, **kwargs: Any) -> Any:
        given = taken(name, " ".join(names_of), args, kwargs)
        passed: dict[str, Any] = dict(fixed)
        for old, value in given.items():
            new = names_of[old]
            if new and (value is not None or new in needed):
                if new in passed:
                    raise ValueError(f"{name}(): cannot specify both {old!r} and {new!r}")
                passed[new] = value
        if "partition_strategy" in names_of:
            strategy = given.get("partition_strategy") or ("div" if name.startswith("safe") else "mod")
            for key in (
                passed.keys() & {"params", "embedding_weights", "weights", "biases"} if strategy == "mod" else ()
            ):
                passed[key] = _table(passed[key])
        return function(**passed)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"tf.{target or dotted} with the parameters of TensorFlow 1: {', '.join(names_of)}."
    return call


def _table(parts: Any) -> Any:
    """A table given in parts of which number i has the rows i, i + n, i + 2n ...; anything else as it is."""
    if not isinstance(parts, list | tuple) or len(parts) < 2:
        return parts
    tensors = [fastgraph.convert_to_tensor(part) for part in parts]
    begins = [0, *itertools.accumulate(tensor.shape[0] for tensor in tensors)]
    order = [begins[row % len(parts)] + row // len(parts) for row in range(begins[-1])]
    return fastgraph.gather(fastgraph.concat(tensors, 0), order)


def names(path: str) -> set[str]:
    """Return the names of the module compat.v1.`path` ("" for itself) that are here."""
    prefix = f"{path}." if path else ""
    listed = (full[len(prefix) :] for full in (*FUNCTIONS, *ARGUMENTS, *RENAMED) if full.startswith(prefix))
    found = {name for name in listed if "." not in name}
    known = namespaces.tensorflow_names().get(path, frozenset())
    built = set(namespaces._names_in(path)) if path in public_names.NAMESPACES or not path else set()
    return found | {name for name in known & built if f"{prefix}{name}" not in DIFFERENT}
