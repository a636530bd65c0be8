"""Imports: modules form no cycle when they are loaded, and what is imported late stands in a list with its reason.

Late is what stands inside a function, or is asked for by its public name (`resolve`): it is found when the function
first runs, a reader finds it last. The list (late_imports.txt) may lose lines; a line more needs a reason there.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from pathlib import Path

from fastgraph.api.public_names import PUBLIC, joined
from fastgraph.core import op_index
from tests.null.test_layers import imports, is_module, module_name, source_files

LIST = Path(__file__).with_name("late_imports.txt")
#: How many lines the list may have. Lower it when one goes.
MOST = 45  # five that were always there, by public names, are counted too; what Keras saves in processes of MPI, two; structures of tensors and what is in them know each other; datasets are written for who saves them

#: Where modules are imported by a name that is made as the program runs, and how often: neither list sees those.
BY_NAME = {
    "__main__": 1,  # a module of the user's, whose public names are listed
    "api.namespaces": 14,  # the tables of public names, what pickle finds by them, and who is shown them
    "core.base.deferred_signals": 3,  # what every other late import of a public name goes through, and SciPy's
    "core.gpus": 2,  # ctypes, where there is a driver
    "core.registry": 1,  # the modules of ops, by the index
    "core.tensor": 1,  # methods of tensors that few programs ask for
    "door.internal_names": 2, "door.internal_rnn": 1, "door.modules": 3, "door.v1_names": 1,  # tables of names, as the public ones
    "graphdef.import_datasets": 1, "graphdef.import_raw_ops": 1, "graphdef.raw_ops": 1,  # types of operations as public functions, by tables
    "keras": 1,  # the public names of the room itself
    "linear_operators.base": 1,  # the operator that is the result of another: classes of the room, by kind
    "replication.collectives": 1, "unittests.case": 2, "unittests.running": 1,  # extras
    "runtime.executable": 2,  # what making a Program needs, ahead of it and in pieces; the compiler for GPUs
    "saving.saved_model_structures": 1,  # classes of tf.data, by a table
    "staging.autograph": 1,  # the room's own module that knows of single functions
}  # fmt: skip


@functools.cache
def edges() -> tuple[dict[str, set[str]], set[tuple[str, str]]]:
    """Return what modules import as they are loaded, and the late imports; a .pxi counts as a module of its own."""
    load: dict[str, set[str]] = defaultdict(set)
    late = set()
    for path in source_files():
        module = module_name(path)
        typed = _for_types(path)
        for line, name, inside in imports(path):
            target = name.removeprefix("fastgraph").lstrip(".")
            if not name.startswith("fastgraph") or not is_module(target) or target == module or line in typed:
                continue
            if inside:
                late.add((module, target))
            elif path.suffix == ".py":
                load[module].add(target)
    deepest = {(a, b) for a, b in late if not any(a == c and d.startswith(f"{b}.") for c, d in late)}
    return load, {(a, b) for a, b in deepest if b}


@functools.cache
def by_name() -> tuple[set[tuple[str, str]], dict[str, int]]:
    """Return (module, where a public name lies) for the names asked for in so many words, and how many are made."""
    said, made = set(), defaultdict(int)
    for path in source_files():
        module, text = module_name(path), path.read_text(encoding="utf-8")
        if path.suffix != ".py":
            made[module] += len(re.findall(r"\bimport_module\(|\bimported\(", text))
            continue
        asks = {"import_module", "__import__", "imported"}
        if re.search(r"namespaces import .*resolve|import namespaces", text) or module == "api.namespaces":
            asks |= {"resolve", "file_module"}
        for node in ast.walk(ast.parse(text)) if any(ask in text for ask in asks) else ():
            if not isinstance(node, ast.Call):
                continue
            asked = ast.unparse(node.func).removeprefix("namespaces.").removeprefix("importlib.")
            if asked in asks and asked == "resolve" and all(isinstance(each, ast.Constant) for each in node.args):
                name = joined(*[each.value for each in node.args if isinstance(each, ast.Constant)])
                said.add((module, home_of(name)))
            elif asked in asks:
                made[module] += 1
    return said, {module: count for module, count in made.items() if count}


def home_of(name: str) -> str:
    """Return the module in which a public name lies."""
    if name in PUBLIC:
        return PUBLIC[name].partition(":")[0]
    return next(f"ops.{module}" for module, names in op_index.PUBLIC.items() if name in names.split())


def _for_types(path: Path) -> set[int]:
    """Return the lines of a module that only type checkers read."""
    lines, found, depth = path.read_text(encoding="utf-8").splitlines(), set(), None
    for number, line in enumerate(lines, start=1):
        indent = len(line) - len(line.lstrip())
        if depth is not None and line.strip() and indent <= depth:
            depth = None
        if depth is not None:
            found.add(number)
        if line.strip() == "if TYPE_CHECKING:":
            depth = indent
    return found


def test_no_module_is_loaded_in_a_cycle() -> None:
    load, _ = edges()
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, f"a cycle: {' -> '.join([*way[way.index(module) :], module])}"
        if module not in done:
            for target in sorted(load[module]):
                visit(target, (*way, module))
            done.add(module)

    for module in sorted(load):
        visit(module, ())


def test_late_imports_are_those_of_the_list() -> None:
    listed = [line.strip() for line in LIST.read_text(encoding="utf-8").splitlines()]
    rows = [line for line in listed if line and not line.startswith("#")]
    assert rows == sorted(set(rows), key=rows.index), "a line twice"
    found = {f"{a} -> {b}" for a, b in edges()[1] | by_name()[0]}
    assert not found - set(rows), f"late imports that {LIST.name} does not have: {sorted(found - set(rows))}"
    assert not set(rows) - found, f"lines of {LIST.name} whose import is gone: {sorted(set(rows) - found)}"
    assert len(rows) == MOST, f"{len(rows)} late imports: mend MOST, with the reason beside the line"


def test_imports_by_name_are_those_of_the_list() -> None:
    assert by_name()[1] == BY_NAME
