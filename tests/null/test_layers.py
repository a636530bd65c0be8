"""The layers of docs/architecture.md: every module has one, and imports only from its own and from lower ones.

"Lower" means nearer to the foundations. Imports inside functions obey the same rule; besides fastgraph's own modules
they may only name what is loaded late on purpose.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastgraph

PACKAGE = Path(fastgraph.__file__).parent

#: Layer by layer, from the foundations up: modules, or packages with a dot at the end (what no row names by itself). A
#: later row may import from an earlier one, never the other way round.
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "L0 foundations",
        ("cpus", "errors", "flags", "interrupts", "locks", "logs", "dtype", "shapes", "nesting", "expr", "temme", "_loops_gen", "_math_gen",
         "_namespaces", "_op_homes"),
    ),
    (
        "L1 eager core",
        ("_primitive", "primitive", "_pool", "_buffer", "_blas", "_convolutions", "_poolings", "_philox", "devices", "op_errors", "_tensor", "_tape", "names",
         "conversion", "printing", "device_spec", "dlpack"),
    ),
    (
        "L2 what can be computed",
        ("ops.", "gradient", "custom_gradients", "forward_mode", "_variable", "variable", "variable_ops", "variable_parts",
         "module", "indexed_slices", "context", "resource_handles", "tensor_array", "list_shape", "traced_tensor_array",
         "uneven_tensor_array", "random_generator",
         "sparse_tensor", "sparse_ops", "sparse_math", "sparse_lookups", "ragged_tensor", "ragged_rows", "ragged_matrices",
         "ragged_indexing", "ragged_gathering", "ragged_along", "ragged_ops", "ragged_functions", "ragged_strings"),
    ),
    ("L3 graphs", ("graph.",)),
    ("L4 compiler", ("compiler.",)),
    (
        "L5 runtime",
        ("_executor", "compiler.settled", "compiler.placement", "compiler.step_specs", "compiler.rest",
         "compiler.failed_checks", "compiler.schedule", "compiler.pipeline", "compiler.explain"),
    ),
    ("L6 staging", ("staging.",)),
    ("L7 for people who train", ("keras.", "data.", "profiler.", "testing")),
    ("names and commands", ("", "compat", "configuration", "optimizer_options", "__main__")),
)  # fmt: skip

#: What may be imported inside a function: loaded on first use, or an optional extra.
LATE = {
    "numba", "llvmlite", "scipy", "malt", "ml_dtypes", "threadpoolctl", "rich", "matplotlib", "sklearn",
    "tensorboard",
}  # fmt: skip

#: Modules that import such a package as a whole, and so are themselves imported late (or by one another).
LATE_MODULES = {
    "compiler.blocks_cpu",
    "compiler.turned_cpu",
    "compiler.gamma_cpu",
    "compiler.complexmath",
    "compiler.front_end",
    "compiler.intrinsics",
    "compiler.cuda.device_program",
    "compiler.cuda.target",
    "compiler.lane",
    "compiler.loader",
    "compiler.objectcode",
    "compiler.target",
    "compiler.variates_cpu",
    "compiler.exponentials",
    "compiler.formats",
    "compiler.philox_lanes",
    "compiler.powers",
    "compiler.specials",
    "compiler.turns",
    "compiler.vecmath",
    "staging.autograph.again",
    "staging.autograph.builtins",
    "staging.autograph.carried",
    "staging.autograph.containers",
    "staging.autograph.identity",
    "staging.autograph.iterables",
    "staging.autograph.elements",
    "staging.autograph.chosen",
    "staging.autograph.list_rows",
    "staging.autograph.lists",
    "staging.autograph.rows",
    "staging.autograph.uneven_lists",
    "staging.autograph.growing",
    "staging.autograph.left",
    "staging.autograph.left_lists",
    "staging.autograph.loops",
    "staging.autograph.nested_rows",
    "staging.autograph.returns",
    "staging.autograph.same_graph",
    "staging.autograph.state",
    "staging.autograph.unpacking",
    "staging.autograph.unrolling",
    "staging.autograph.statements",
    "staging.autograph.closures",
    "staging.autograph.conversion",
    "staging.autograph.walks",
    "staging.autograph.converter",
    "staging.autograph.lines",
    "staging.autograph.matching",
}

IMPORT_LINE = re.compile(
    r"^(?P<indent>[ \t]*)(?:from\s+(?P<base>[\w.]+)\s+c?import\s+(?P<names>[^#\n]+)|c?import\s+(?P<plain>[\w., ]+))"
)


def module_name(path: Path) -> str:
    """Return the name of a source file below the package: "ops.elementwise", "" for __init__."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def source_files() -> list[Path]:
    """Return every source file of the package, .pxd and .pxi among them."""
    found = [p for suffix in ("py", "pyx", "pxd", "pxi") for p in PACKAGE.rglob(f"*.{suffix}")]
    return sorted(p for p in found if "_generated" not in p.parts)


def layer_of(module: str) -> int | None:
    """Return the number of a module's layer, or None if it has none."""
    exact = {member: number for number, (_, members) in enumerate(LAYERS) for member in members}
    if module in exact:
        return exact[module]
    return next(
        (number for member, number in exact.items() if member[-1:] == "." and f"{module}.".startswith(member)), None
    )


def imports(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield (line, imported module, whether inside a function); `from a import b` gives both a and a.b."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        for line_number, line in enumerate(text.splitlines(), start=1):
            if found := IMPORT_LINE.match(line):
                names = [found["base"]] if found["base"] else [n.split()[0] for n in found["plain"].split(",")]
                if found["base"]:
                    names += [
                        f"{found['base']}.{n.split()[0]}" for n in found["names"].strip("() ").split(",") if n.split()
                    ]
                for name in names:
                    yield line_number, name, bool(found["indent"])
        return
    tree = ast.parse(text)
    inside = {id(node) for outer in ast.walk(tree) if is_late(outer) for node in ast.walk(outer)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, id(node) in inside
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports are not used here"
            yield node.lineno, node.module or "", id(node) in inside
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}", id(node) in inside


def is_late(node: ast.AST) -> bool:
    """Whether what stands inside `node` is not run when the module is imported."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))


def is_module(name: str) -> bool:
    """Whether `name` ("graph.ir") is a source file of the package."""
    base = PACKAGE.joinpath(*name.split("."))
    return any(base.with_suffix(f".{s}").exists() for s in ("py", "pyx")) or (base / "__init__.py").exists()


@pytest.mark.parametrize("path", source_files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    module = module_name(path)
    if path.suffix == ".pxi":
        module = "_tensor" if layer_of(module) is None else module  # parts of _tensor.pyx
    own = layer_of(module)
    assert own is not None, f"{path.name} has no layer: give it one in {Path(__file__).name} and docs/architecture.md"
    for line, name, inside in imports(path):
        where = f"{path.name}:{line}"
        if name.split(".")[0] != "fastgraph":
            if inside and name.split(".")[0] in LATE | {"__future__"}:
                continue
            late = name.split(".")[0] in LATE and module not in LATE_MODULES
            assert not late, f"{where}: {name} must be imported where it is first used"
            continue
        target = name.removeprefix("fastgraph").lstrip(".")
        if not is_module(target):
            continue  # a name from a module: the module itself was yielded too
        if target == "":
            assert own == len(LAYERS) - 1 or is_only_submodules(path, line), f"{where}: only the top imports fastgraph"
            continue
        late = target in LATE_MODULES and module not in LATE_MODULES and not inside
        assert not late, f"{where}: fastgraph.{target} must be imported where it is first used"
        layer = layer_of(target)
        assert layer is not None, f"{where}: fastgraph.{target} has no layer"
        assert layer <= own, f"{where}: {LAYERS[own][0]} must not import fastgraph.{target} of {LAYERS[layer][0]}"


def is_only_submodules(path: Path, line: int) -> bool:
    """Whether the import in `line` is `from fastgraph import a, b` with modules a and b, not public names."""
    found = IMPORT_LINE.match(path.read_text(encoding="utf-8").splitlines()[line - 1])
    if found is None or found["base"] != "fastgraph":
        return False
    names = [n.split()[0] for n in found["names"].strip("() ").split(",") if n.split()]
    return all(is_module(name) for name in names)


def test_every_layer_has_modules() -> None:
    for title, members in LAYERS:
        for member in members:
            name = member.rstrip(".")
            assert is_module(name) or name == "", f"{title}: there is no fastgraph/{name}: mend the list"


def test_only_flags_reads_the_environment() -> None:
    """Every setting stands in the one table; the one who starts the worker passes the environment on."""
    found = [
        f"{module_name(path)}:{node.lineno}"
        for path in source_files()
        if path.suffix == ".py" and module_name(path) not in ("flags", "compiler.processes")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
    ]
    assert found == [], "these lines read the environment"


def test_no_vague_names() -> None:
    assert [p.name for p in source_files() if re.search(r"util|helper|manager|common|misc", p.stem)] == []


def test_modules_say_what_they_are() -> None:
    found = []
    for path in source_files():
        text = path.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        said = "\n".join(lines).lstrip().startswith(('"""', 'r"""'))
        if path.suffix in (".py", ".pyx") and text.strip() and not said:
            found.append(module_name(path))
    assert found == [], "these modules have no docstring"
