"""The layers of docs/architecture.md: every module has one, and imports only from its own and from lower ones.

"Lower" means nearer to the foundations. Imports inside functions obey the same rule; besides fastgraph's own modules
they may only name what is loaded late on purpose.
"""

from __future__ import annotations

import ast
import functools
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
        "core.base: foundations",
        ("core.base.", "errors",),
    ),
    (
        "core.native: the C side below tensors",
        ("core.native.",),
    ),
    (
        "core: tensors and bind",
        ("core.",),
    ),
    (
        "api: public names and tf.config",
        ("api.",),
    ),
    (
        "core.tape: the tape",
        ("core.tape.", "_tape",),
    ),
    (
        "ops: ops",
        ("ops.",),
    ),
    (
        "state: Variables and what holds them",
        ("state.",),
    ),
    (
        "composites: values of several tensors",
        ("composites.",),
    ),
    (
        "records: what lies in files",
        ("records.",),
    ),
    (
        "graph: graphs",
        ("graph.",),
    ),
    (
        "linear_operators: matrices known by their structure",
        ("linear_operators.",),
    ),
    (
        "numpy_api: tf.experimental.numpy",
        ("numpy_api.",),
    ),
    (
        "array_api: the array API standard",
        ("array_api.",),
    ),
    (
        "graph.passes: passes over graphs",
        ("graph.passes.",),
    ),
    (
        "graphdef: graphs as TensorFlow writes them",
        ("graphdef.",),
    ),
    (
        "compiler.program: Programs",
        ("compiler.program.",),
    ),
    (
        "compiler.nest: loop nests",
        ("compiler.nest.",),
    ),
    (
        "compiler.vecmath: the mathematics of kernels",
        ("compiler.vecmath.",),
    ),
    (
        "compiler.cpu: the CPU target",
        ("compiler.cpu.",),
    ),
    (
        "compiler.library: kernels of single ops",
        ("compiler.library.",),
    ),
    (
        "compiler.store: kernels asked for, compiled, kept",
        ("compiler.store.",),
    ),
    (
        "compiler: graph to Program",
        ("compiler.",),
    ),
    (
        "compiler.cuda: the CUDA target",
        ("compiler.cuda.",),
    ),
    (
        "runtime: Programs to Plans, Plans run",
        ("runtime.",),
    ),
    (
        "staging.signature: what decides which trace serves a call",
        ("staging.signature.",),
    ),
    (
        "staging.autograph: AutoGraph",
        ("staging.autograph.",),
    ),
    (
        "staging: tf.function",
        ("staging.",),
    ),
    (
        "profiling: timelines",
        ("profiling.",),
    ),
    (
        "summaries: tf.summary",
        ("summaries.",),
    ),
    (
        "saving: checkpoints",
        ("saving.",),
    ),
    (
        "keras: tf.keras",
        ("keras.",),
    ),
    (
        "data: tf.data",
        ("data.",),
    ),
    (
        "replication: tf.distribute",
        ("replication.",),
    ),
    (
        "unittests: tf.test",
        ("unittests.",),
    ),
    ("names and commands", ("", "compat", "testing")),
    (
        "door: what programs get that import tensorflow",
        ("door.startup.", "door.", "__main__"),
    ),
)  # fmt: skip

#: Imports that go up all the same, and why. The table may only lose rows: `test_what_goes_up_is_still_needed` counts.
UPWARD = {
    ("graph.trace", "graphdef.graph_view"): "annotations",
    ("graph.symbolic_tensor", "graphdef.graph_view"): "annotations",
    ("ops.families", "graph.ir"): "an annotation: what the lowerings of all ops receive",
    ("ops.families", "compiler.nest.loop_nest"): "an annotation: what the lowerings of all ops receive",
    ("ops.families", "compiler.nest.scalar_ir"): "an annotation: what the lowerings of all ops receive",
    ("graph.ir", "graphdef.graph_view"): "the one place where a graph makes its view, when a user asks for it",
    ("ops.counting", "composites.sparse_lookups"): "tf.math.bincount counts what sparse and ragged tensors hold",
    ("staging.signature.recursive_tracing", "staging.concrete_function"): "an annotation",
}

#: What may be imported inside a function: loaded on first use, or an optional extra.
LATE = {
    "numba", "llvmlite", "scipy", "malt", "ml_dtypes", "threadpoolctl", "matplotlib", "sklearn",
    "tensorboard", "safetensors", "fsspec",
}  # fmt: skip

#: Modules that import such a package as a whole, and so are themselves imported late (or by one another).
LATE_MODULES = {
    "compiler.cpu.register_block_intrinsics",
    "compiler.cpu.transpose_intrinsics",
    "compiler.cpu.complex_arithmetic",
    "compiler.cpu.front_end",
    "compiler.cpu.intrinsics",
    "compiler.cuda.device_program",
    "compiler.cuda.target",
    "compiler.cpu.llvm_lanes",
    "compiler.cpu.loader",
    "compiler.cpu.object_code",
    "compiler.cpu.target",
    "compiler.cpu.gamma_variates",
    "compiler.vecmath.bessel",
    "compiler.vecmath.exponentials",
    "compiler.vecmath.float_formats",
    "compiler.vecmath.incomplete_beta",
    "compiler.vecmath.incomplete_gamma",
    "compiler.vecmath.inverse_functions",
    "compiler.vecmath.philox",
    "compiler.vecmath.powers",
    "compiler.vecmath.special_functions",
    "compiler.vecmath.trigonometry",
    "compiler.vecmath.functions",
    "staging.autograph.builtins",
    "staging.autograph.conditionals",
    "staging.autograph.expressions",
    "staging.autograph.loop_state",
    "staging.autograph.container_changes",
    "staging.autograph.iterables",
    "staging.autograph.conditional_lists",
    "staging.autograph.staged_lists",
    "staging.autograph.stacking",
    "staging.autograph.list_growth",
    "staging.autograph.staged_loops",
    "staging.autograph.return_analysis",
    "staging.autograph.block_state",
    "staging.autograph.unroll_warning",
    "staging.autograph.statements",
    "staging.autograph.closure_liveness",
    "staging.autograph.malt_passes",
    "staging.autograph.malt_walk_order",
    "staging.autograph.converter",
    "staging.autograph.source_lines",
    "staging.autograph.pattern_matching",
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


@functools.cache
def source_files() -> list[Path]:
    """Return every source file of the package, .pxd and .pxi among them."""
    found = [p for suffix in ("py", "pyx", "pxd", "pxi") for p in PACKAGE.rglob(f"*.{suffix}")]
    return sorted(p for p in found if "_generated" not in p.parts)


def layer_of(module: str) -> int | None:
    """Return the number of a module's layer, or None if it has none."""
    exact = {member: number for number, (_, members) in enumerate(LAYERS) for member in members}
    if module in exact:
        return exact[module]
    packages = [member for member in exact if member[-1:] == "." and f"{module}.".startswith(member)]
    return exact[max(packages, key=len)] if packages else None


@functools.cache
def imports(path: Path) -> tuple[tuple[int, str, bool], ...]:
    """Return (line, imported module, whether inside a function) of each; `from a import b` gives both a and a.b."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str, bool]]:
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
    for node, inside in _statements(ast.parse(text).body, False):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, inside
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports are not used here"
            base = (node.module or "").removeprefix("fastgraph").lstrip(".")
            if not all(is_module(f"{base}.{alias.name}") for alias in node.names):  # else it names rooms alone
                yield node.lineno, node.module or "", inside
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}", inside


def _statements(body: list[ast.stmt], inside: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield each statement of `body` and of its blocks, and whether it is run later than the module is imported."""
    for node in body:
        yield node, inside
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            for each in getattr(node, field, ()):
                block = [each] if isinstance(each, ast.stmt) else each.body
                yield from _statements(block, inside or is_late(node))


def is_late(node: ast.stmt) -> bool:
    """Whether what stands inside `node` is not run when the module is imported."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


@functools.cache
def is_module(name: str) -> bool:
    """Whether `name` ("graph.ir") is a source file of the package."""
    base = PACKAGE.joinpath(*name.split("."))
    return any(base.with_suffix(f".{s}").exists() for s in ("py", "pyx")) or (base / "__init__.py").exists()


@pytest.mark.parametrize("path", source_files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    module = module_name(path)
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
            assert own == len(LAYERS) - 1 or module.startswith("api.") or is_only_submodules(path, line), (
                f"{where}: only the top imports fastgraph"
            )
            continue
        late = target in LATE_MODULES and module not in LATE_MODULES and not inside
        assert not late, f"{where}: fastgraph.{target} must be imported where it is first used"
        layer = layer_of(target)
        assert layer is not None, f"{where}: fastgraph.{target} has no layer"
        assert layer <= own or (module, target) in UPWARD, (
            f"{where}: {LAYERS[own][0]} must not import fastgraph.{target} of {LAYERS[layer][0]}"
        )


def test_what_goes_up_is_still_needed() -> None:
    found = {
        (module_name(path), name.removeprefix("fastgraph."))
        for path in source_files()
        for _, name, _ in imports(path)
        if name.startswith("fastgraph.")
    }
    assert not [pair for pair in UPWARD if pair not in found], "these imports are gone: take them out of UPWARD"
    assert len(UPWARD) == 8, "UPWARD has a row more or less: a row more needs a better reason than one less"


def is_only_submodules(path: Path, line: int) -> bool:
    """Whether the import in `line` is `from fastgraph import a, b` with modules a and b, not public names."""
    found = IMPORT_LINE.match(path.read_text(encoding="utf-8").splitlines()[line - 1])
    if found is None or found["base"] != "fastgraph":
        return False
    names = [n.split()[0] for n in found["names"].strip("() ").split(",") if n.split()]
    return all(is_module(name) for name in names)


def test_what_is_loaded_late_is_there() -> None:
    assert not [name for name in LATE_MODULES if not is_module(name)], "mend LATE_MODULES"


def test_every_layer_has_modules() -> None:
    for title, members in LAYERS:
        for member in members:
            name = member.rstrip(".")
            assert is_module(name) or name == "", f"{title}: there is no fastgraph/{name}: mend the list"


def test_only_flags_reads_the_environment() -> None:
    """Every setting stands in the one table. Who starts a process passes the environment on; the door's variable for
    Keras is TensorFlow's."""
    found = [
        f"{module_name(path)}:{node.lineno}"
        for path in source_files()
        if path.suffix == ".py"
        and module_name(path) not in ("core.base.flags", "compiler.store.worker_processes")
        and not module_name(path).startswith("door.")
        and re.search("environ|getenv", path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
    ]
    assert found == [], "these lines read the environment"


def test_no_vague_names() -> None:
    assert [p.name for p in source_files() if re.search(r"util|helper|manager|common|misc", p.stem)] == []


def test_the_index_of_ops_has_each_module_once() -> None:
    index = re.split(r"\n\n", (PACKAGE / "ops" / "__init__.py").read_text(encoding="utf-8"))[-1]
    named = re.findall(r"\w+(?=[,.])", index)
    assert sorted(named) == sorted(path.stem for path in (PACKAGE / "ops").glob("[a-z]*.py"))


def test_modules_say_what_they_are() -> None:
    found = []
    for path in source_files():
        text = path.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        said = "\n".join(lines).lstrip().startswith(('"""', 'r"""'))
        if path.suffix in (".py", ".pyx") and text.strip() and not said:
            found.append(module_name(path))
    assert found == [], "these modules have no docstring"


def test_rooms_bear_no_public_names() -> None:
    rooms = {folder.parent.name for folder in PACKAGE.glob("*/__init__.py")}
    assert {"core", "ops", "graph", "staging"} <= rooms
    assert rooms & set(fastgraph.__dir__()) == {"keras", "data"}
