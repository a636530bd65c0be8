"""Write the stub files of the public names: fastgraph/__init__.pyi, math.pyi, nn.pyi, ...

    .venv/bin/python tools/stubs.py        (after make test: that is where fastgraph is installed)

They are generated from the ops' definitions and the table in api/namespaces.py, and committed; a test generates them
again. Type checkers and editors read them, Python does not. With them goes op_index.py, which says in
which module an op is defined.
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fastgraph
from fastgraph.api import namespaces

PACKAGE = Path(fastgraph.__file__).parent
BUILTINS = ("int", "float", "bool", "str", "bytes", "list", "tuple", "dict", "object", "type", "complex", "set")
KNOWN = {
    "Any": "from typing import Any",
    **{name: f"from collections.abc import {name}" for name in ("Callable", "Iterable", "Mapping", "Sequence")},
    **{name: f"from fastgraph.core.conversion import {name}" for name in ("SizeLike", "TensorLike")},
    **{
        name: f"from fastgraph.staging.typed_function import {name}"
        for name in ("Composed", "Dense", "Nest", "Structure")
    },
    "Literal": "from typing import Literal",
    "DTypeLike": "from fastgraph.core.base.dtype import DTypeLike",
    "PadLike": "from fastgraph.ops.window_arguments import PadLike",
    "ShapeLike": "from fastgraph.core.base.shapes import ShapeLike",
    "Tensor": "from fastgraph.core.tensor import Tensor",
}
#: Public names of which type checkers see more than Python does.
TYPED = {
    "autograph.experimental.do_not_convert": "staging.typed_function:do_not_convert",
    "function": "staging.typed_function:function",
}
_FOLD = (
    ({"fn": "Callable[[Tensor, Tensor], Any]", "elems": "Dense", "initializer": "Dense | complex | None"}, "Tensor"),
    ({"initializer": "!Composed"}, "Any"),
    ({"elems": "Composed"}, "Any"),
)
_OF_DTYPES = (({"Tout": "DTypeLike"}, "Tensor"), ({"Tout": "list[Any] | tuple[Any, ...]"}, "list[Tensor]"), ({}, "Any"))
#: Public functions whose results follow from their arguments: {name: ((other types of parameters, result), ...)}. What
#: stands in two overloads of a name may not fit one call where lambdas are taken: checkers would say Any of both. A
#: parameter with a star before its type is taken by its keyword; neither it nor one with "!" has a default.
OVERLOADS: dict[str, tuple[tuple[dict[str, str], str], ...]] = {
    "case": (
        (
            {
                "pred_fn_pairs": "Sequence[tuple[Any, Callable[[], Structure]]]",
                "default": "Callable[[], Structure] | None",
            },
            "Structure",
        ),
        ({}, "Any"),
    ),
    "cond": (({"true_fn": "Callable[[], Structure]", "false_fn": "Callable[[], Structure]"}, "Structure"), ({}, "Any")),
    "foldl": _FOLD,
    "foldr": _FOLD,
    "linalg.eigh_tridiagonal": (
        ({"eigvals_only": "Literal[True]"}, "Tensor"),
        ({"eigvals_only": "*Literal[False]"}, "tuple[Tensor, Tensor]"),
        ({}, "Any"),
    ),
    "linalg.svd": (
        ({"compute_uv": "Literal[True]"}, "tuple[Tensor, Tensor, Tensor]"),
        ({"compute_uv": "*Literal[False]"}, "Tensor"),
        ({}, "Any"),
    ),
    "map_fn": (
        ({"fn": "Callable[[Tensor], Nest]", "elems": "Dense", "dtype": "DTypeLike | None",
          "fn_output_signature": "DTypeLike | None"}, "Nest"),
        ({"dtype": "!Composed"}, "Any"),
        ({"fn_output_signature": "*Composed"}, "Any"),
        ({"elems": "Composed"}, "Any"),
    ),
    "numpy_function": _OF_DTYPES,
    "py_function": _OF_DTYPES,
    "scan": _FOLD,
    "switch_case": (
        (
            {
                "branch_fns": "Sequence[Callable[[], Structure]] | Mapping[int, Callable[[], Structure]]",
                "default": "Callable[[], Structure] | None",
            },
            "Structure",
        ),
        ({}, "Any"),
    ),
    "vectorized_map": (
        ({"fn": "Callable[[Tensor], Nest]", "elems": "Dense"}, "Nest"),
        ({"elems": "Composed"}, "Any"),
    ),
    "while_loop": (({"loop_vars": "Structure"}, "Structure"), ({}, "Any")),
}  # fmt: skip
HEADER = "# Written by tools/stubs.py from the ops' definitions; do not edit.\n"


class Stub:
    """The text of one stub file, with the imports that it needs."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.imports: set[str] = set()
        self.lines: list[str] = []

    def annotation(self, text: Any, otherwise: str, known: Mapping[str, str] = KNOWN) -> str:
        """Return an annotation as the stub can write it; what it has no name for becomes `otherwise`."""
        if not isinstance(text, str):
            text = getattr(text, "__name__", "") if text is not inspect.Parameter.empty else ""
        words = set(re.findall(r"[A-Za-z_][\w.]*", text)) - {"None", "True", "False"}
        if not text or not words <= {*BUILTINS, *known}:
            text, words = otherwise, {otherwise}
        self.imports |= {known[word] for word in words & set(known)}
        if words & set(BUILTINS):
            self.imports.add("import builtins")  # tf.bool, tf.tuple and others take the plain names here
            text = re.sub(rf"\b({'|'.join(BUILTINS)})\b", r"builtins.\1", text)
        return text

    def add_name(self, name: str, module: str, attribute: str) -> None:
        """Write where a name comes from. Only `import x as x` makes it public: under another name it is assigned."""
        if name == attribute:
            self.imports.add(f"from {module} import {name} as {name}")
        else:
            self.imports.add(f"from {module} import {attribute} as _{name}")
            self.lines.append(f"{name} = _{name}")

    def add_function(self, name: str, function: Callable[..., Any], public: str) -> None:
        """Write the signature and docstring of a function, or its signatures."""
        said = textwrap.indent(f'"""{inspect.getdoc(function) or name}"""', "    ")
        signatures = OVERLOADS.get(public, (({}, ""),))
        for types, result in signatures:
            if len(signatures) > 1:
                self.imports.add("from typing import overload")
                self.lines.append("@overload")
            self.lines.append(self.signature(name, function, types, result))
            self.lines.append(said if types == signatures[0][0] else "    ...")

    def signature(self, name: str, function: Callable[..., Any], types: dict[str, str], result: str) -> str:
        """Return the line that begins a function, with other types for some parameters and another result."""
        signature, known = inspect.signature(function), {**KNOWN, **classes(function)}
        parameters, kind = [], None
        for p in signature.parameters.values():
            given = types.get(p.name, p.annotation)
            mark = given[:1] if isinstance(given, str) and given[:1] in ("*", "!") else ""
            alone = mark == "*"
            if (alone or p.kind is p.KEYWORD_ONLY) and kind not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
                parameters.append("*")
            star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            guess = "str | None" if p.name == "name" else "Any"
            default = "" if p.default is p.empty or mark else f" = {'...' if p.name in types else plain(p.default)}"
            given = given.removeprefix(mark) if mark else given
            parameters.append(f"{star}{p.name}: {self.annotation(given, guess, known)}{default}")
            kind = p.KEYWORD_ONLY if alone else p.kind
        if not result:
            result = signature.return_annotation
            result = returned(function) if result in (inspect.Signature.empty, "Any") else result
        return f"def {name}({', '.join(parameters)}) -> {self.annotation(result, 'Any', known)}:"

    def text(self) -> str:
        """Return the file."""
        # `import x as y` says that the name is public, and one without it, below, would take that back
        imports = {line for line in self.imports if f"{line} as {line.rpartition(' ')[2]}" not in self.imports}
        return HEADER + "\n".join([*sorted(imports), "", *self.lines]) + "\n"


def classes(function: Callable[..., Any]) -> dict[str, str]:
    """Return {class that the annotations of a function may name: its import}: the package's, of the function's file."""
    found = getattr(inspect.unwrap(function), "__globals__", {})
    return {
        name: f"from {value.__module__} import {name}"
        for name, value in found.items()
        if isinstance(value, type) and value.__name__ == name and value.__module__.startswith("fastgraph.")
    }


def returned(function: Callable[..., Any]) -> str:
    """Return what an op's function gives, as its docstring says: `-> f[*s]`, `-> list of t[*r]`, `-> [t[*s], ...]`."""
    primitive = getattr(function, "primitive", None)
    if primitive is not None and primitive.n_outputs == 1:
        return "Tensor"
    shapes = re.search(r"-> (.*)", inspect.getdoc(function) or "")
    if shapes is None:
        return "Any"
    if re.match(r"list of \w+\[|\[\w+\[[^]]*\], \.\.\.\]", shapes[1]):
        return "list[Tensor]"
    first = re.sub(r"\[[^]]*\]", "", shapes[1]).replace(", broadcasting", "").partition(".")[0]
    several = " x2" in first or ("," in first and "->" not in first)  # f[*r], f[*r]; but not f[*s], c[*s] -> c[*s]
    return "Tensor" if re.match(r"\w+\[|same\.", shapes[1]) and not several else "Any"


def plain(value: Any) -> str:
    """Return a default value as a stub may write it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "..."
    return repr(value) if value is None or isinstance(value, (bool, int, float, str)) else "..."


def file_of(namespace: str) -> Path:
    """Return the stub file of a namespace."""
    below = [other for other in namespaces.NAMESPACES if other.startswith(namespace + ".")]
    base = PACKAGE.joinpath(*namespace.split(".")) if namespace else PACKAGE
    return base / "__init__.pyi" if below or not namespace else base.with_suffix(".pyi")


def generate() -> dict[Path, str]:
    """Return {stub file: its text}."""
    ops = namespaces.op_names()
    # Below a module that is a file no folder can stand.
    stubs = {space: Stub(space) for space in ("", *namespaces.NAMESPACES) if not space.startswith("compat.")}
    for module in sorted({*namespaces.NAMESPACES, *namespaces.FILES}):
        space, _, last = module.rpartition(".")
        if space in stubs:
            home = f"fastgraph.{space}" if space else "fastgraph"
            stubs[space].imports.add(f"from {home} import {last} as {last}")
    for public, home in sorted(namespaces.PUBLIC.items()):
        space, _, last = public.rpartition(".")
        if space not in stubs:
            continue
        module, _, attribute = TYPED.get(public, home).partition(":")
        if public in OVERLOADS:
            stubs[space].add_function(last, getattr(importlib.import_module(f"fastgraph.{module}"), attribute), public)
        elif attribute == "NEWAXIS":
            stubs[space].lines.append(f"{last}: None")
        else:
            stubs[space].add_name(last, f"fastgraph.{module}", attribute)
    for public, function in sorted(ops.items()):
        space, _, last = public.rpartition(".")
        original = shortest(function, ops)
        if original != public:
            home, _, attribute = original.rpartition(".")
            stubs[space].add_name(last, f"fastgraph{'.' if home else ''}{home}", attribute)
        else:
            stubs[space].add_function(last, function, public)
    for space, original in namespaces.ALIASES.items():
        for name in namespaces.public_in_file(namespaces.file_module(original)):
            stubs[space].imports.add(f"from fastgraph.{original} import {name} as {name}")
    stubs[""].lines.insert(0, "__version__: str")
    stubs[""].lines.append("def __dir__() -> list[str]: ...")
    return {file_of(space): stub.text() for space, stub in stubs.items()} | {PACKAGE / "core" / "op_index.py": homes()}


def shortest(function: Any, ops: dict[str, Any]) -> str:
    """Return the public name under which `function` is written out; its other names import it from there."""
    return min(
        (name for name, other in ops.items() if other is function), key=lambda name: (name.count("."), len(name), name)
    )


def homes() -> str:
    """The text of the table of the modules that define ops: made in a process of its own, which watches them."""
    tool = Path(__file__).with_name("homes.py")
    return subprocess.run([sys.executable, str(tool)], check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Write the files whose text has changed."""
    for path, text in generate().items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(PACKAGE.parent))


if __name__ == "__main__":
    main()
