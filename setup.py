"""Build fastgraph's extensions: every fastgraph/**/*.pyx, and the C loops generated from the ops' definitions.

Rule: what is built runs on any CPU of its family: no -march=native. Set FASTGRAPH_CYTHON_DEBUG=1 for a build with
bounds checks, FASTGRAPH_SANITIZE=address (or thread) for one that GCC's sanitizer watches, FASTGRAPH_GUARD=1
for one in which what is read or written beyond a tensor's memory ends the process, FASTGRAPH_BUILD_JOBS=n to
compile n files at once (default: one per CPU).
"""

from __future__ import annotations

import os
import platform
import re
import runpy
import shlex
import shutil
import sys
import sysconfig
import zlib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "fastgraph"
GENERATED = PACKAGE / "_generated"  # never in git, a wheel or an sdist
DEBUG = os.environ.get("FASTGRAPH_CYTHON_DEBUG", "0") not in ("", "0")
SANITIZE = os.environ.get("FASTGRAPH_SANITIZE", "")
GUARD = os.environ.get("FASTGRAPH_GUARD", "0") not in ("", "0")
BUILD = Path("build") / ("cython-debug" if DEBUG else "cython")
#: What Cython would write into every extension (its functions' class, errors, imports): one for all of them. Typed
#: memoryviews are left out: their hundred kilobytes serve what `Py_buffer` does as well.
SHARED = "fastgraph.core.native.cython_parts"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

DIRECTIVES = {
    "language_level": "3",
    "boundscheck": DEBUG,
    "nonecheck": DEBUG,
    "initializedcheck": DEBUG,
    "wraparound": False,
    "cdivision": True,
    "embedsignature": True,
    "embedsignature.format": "clinic",  # the kind that `inspect` reads
    "binding": True,
    "allow_none_for_extension_args": False,  # None where an object with memory of its own is meant is a TypeError
    "auto_pickle": False,  # what it makes trusts its argument: `x.__setstate__(())` ended the process
}
# -fno-math-errno: nothing here reads errno, and with it sqrt becomes one instruction. -ffp-contract=off: a*b+c is
# rounded twice on every CPU, so that results do not depend on whether the compiler finds a fused instruction.
# -fno-trapping-math: nothing here reads the flags of floating exceptions, and with it both sides of a choice may be
# computed, without which loops of mathematics are not vectorised. Values do not change.
# -O3 would make the extensions a third of a megabyte larger. Once loops are vectorised few gain by it: reductions and
# transposes (whose headers say so), windows and random numbers.
WRITTEN_OUT = {"philox", "poolings"}
# Their time goes to Python's objects and to calls, though they have headers: being aligned gains them nothing.
OF_CALLS = {"_tape", "executor", "fast_call", "tensor"}
# Loops of few instructions, of which one that lies across 32 bytes took a quarter longer (a + b of 1,000 floats).
OF_LOOPS = {"primitive"}
# Written for few calls a node, most of them of Python's, or for calls of MPI: a third of their size goes, and no time
# that can be measured.
SMALL = {"attribute_bytes", "message_sums", "node_bytes"}
COMPILE_ARGS = ["-O1", "-g"] if DEBUG else ["-O2", "-ftree-vectorize", "-g0"]
COMPILE_ARGS += ["-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-pthread", "-Wno-unused-function"]
LINK_ARGS = ["-pthread"]
if sys.platform == "linux" and not DEBUG and not SANITIZE:
    # Names of functions and how to unwind them are a fifth of the extensions, for debuggers only: C raises nothing.
    # The build's number is a few bytes of each.
    LINK_ARGS += ["-s", "-Wl,-z,noseparate-code", "-Wl,--build-id=none"]
    LIBC, VERSION = platform.libc_ver()
    if LIBC == "glibc" and tuple(map(int, VERSION.split(".")[:2])) >= (2, 36):  # older ones cannot load such
        LINK_ARGS += ["-Wl,-z,pack-relative-relocs"]
    COMPILE_ARGS += ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fvect-cost-model=dynamic"]
    # What Cython calls unlikely is an error: out of the way, and small.
    COMPILE_ARGS += ["--param=builtin-expect-probability=100"]
if GUARD:
    COMPILE_ARGS += ["-DFASTGRAPH_GUARD"]
if SANITIZE:
    COMPILE_ARGS += ["-O1", "-g", "-fno-omit-frame-pointer", f"-fsanitize={SANITIZE}"]
    LINK_ARGS += [f"-fsanitize={SANITIZE}"]


class MissingTool(SystemExit):
    """The build cannot start; the text names the package to install."""


def check_tools() -> None:
    """Raise MissingTool, naming the package, if there is no C compiler or there are no headers of this Python."""
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if shutil.which(command[0]) is None:
        raise MissingTool(
            f"fastgraph needs a C compiler to be built, and {command[0]!r} was not found. Install one: "
            "'apt install gcc libc6-dev' (Debian, Ubuntu), 'dnf install gcc' (Fedora), 'apk add gcc musl-dev' "
            "(Alpine), 'xcode-select --install' (macOS); or name yours by CC=..."
        )
    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").exists():
        raise MissingTool(
            f"fastgraph needs the C headers of Python {PYTHON} to be built, and {include / 'Python.h'} does not exist. "
            f"Install them: 'apt install python{PYTHON}-dev' (Debian, Ubuntu), 'dnf install python3-devel' (Fedora)."
        )


def generate_loops() -> None:
    """Write the eager C loops: headers in fastgraph/_generated.

    The generator is run by path: it reads the ops' definitions by `ast` and imports nothing of fastgraph.
    """
    script = PACKAGE / "core" / "native" / "generate_loops.py"
    if script.exists():
        GENERATED.mkdir(exist_ok=True)
        runpy.run_path(str(script))["generate"](PACKAGE, GENERATED)


def headers_of(source: Path) -> list[str]:
    """Return the headers that a .pyx file includes, by way of others too: a change of others does not build it anew."""
    found: set[Path] = set()
    new = {source, source.with_suffix(".pxd")}
    while new:
        path = new.pop()
        found.add(path)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        named = re.findall(r'(?:include|from) "([\w./]+\.(?:h|pxi))"', text)
        named += [f"{module.replace('.', '/')}.pxd" for module in re.findall(r"from fastgraph\.([\w.]+) cimport", text)]
        places = [folder / name for name in named for folder in (path.parent, PACKAGE, GENERATED)]
        new |= {place.resolve() for place in places if place.exists()} - found
    return sorted(str(path.relative_to(ROOT)) for path in found if path.suffix == ".h")


def extensions() -> list[Extension]:
    """Return one extension per .pyx file, and the one that they share."""
    import numpy
    from Cython.Build import cythonize

    generate_loops()
    found = []
    for path in sorted(PACKAGE.glob("**/*.pyx")):
        source = path.relative_to(ROOT)
        depends = headers_of(path)
        # Only loops of C gain by being aligned.
        places = ("functions", "jumps", "labels", "loops")[: 4 if path.stem in OF_CALLS or not depends else 3]
        less = [] if DEBUG or SANITIZE else [f"-falign-{each}=1" for each in places]
        if path.stem in OF_LOOPS and less:
            less = [*less, "-falign-loops=32"]
        if path.stem in WRITTEN_OUT and not DEBUG and not SANITIZE:
            less = ["-O3"]
        if path.stem in SMALL and not DEBUG and not SANITIZE:
            less = [*less, "-Os"]
        found.append(
            Extension(
                ".".join(source.with_suffix("").parts),
                [str(source)],
                include_dirs=[numpy.get_include(), str(PACKAGE), str(GENERATED)],
                define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
                extra_compile_args=COMPILE_ARGS + less,
                extra_link_args=LINK_ARGS,
                depends=depends,
            )
        )
    if not found:
        return []
    # `cythonize` writes the source of the shared one itself.
    place = SHARED.replace(".", "/") + ".c"
    found.append(Extension(SHARED, [place], extra_compile_args=COMPILE_ARGS, extra_link_args=LINK_ARGS))
    return cythonize(
        found, build_dir=str(BUILD), compiler_directives=DIRECTIVES, quiet=True,
        shared_utility_qualified_name=SHARED, shared_utility_features_disabled=["MemoryView"],
    )  # fmt: skip


class BuildExtensions(build_ext):
    """Compile in parallel; build anew where the last build was of the other kind."""

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.parallel is None:
            self.parallel = int(os.environ.get("FASTGRAPH_BUILD_JOBS", 0)) or os.cpu_count() or 1

    def build_extensions(self) -> None:
        mark = Path(self.build_temp) / "kind"
        kind = SANITIZE or ("debug" if DEBUG else "guard" if GUARD else "release")
        last = mark.read_text() if mark.exists() else "release"
        self.force = self.force or last != kind
        super().build_extensions()
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(kind)


class BuildPackage(build_py):
    """Copy the package without what was generated from it, and what generates it."""

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        found = super().find_package_modules(package, package_dir)
        return [each for each in found if not each[1].startswith("generate_")]

    def find_data_files(self, package: str, src_dir: str) -> list[str]:
        return [path for path in super().find_data_files(package, src_dir) if "_generated" not in Path(path).parts]

    def build_package_data(self) -> None:
        """Copy stubs and tables; tables are packed, to a quarter (`core/base/name_tables.py` reads both)."""
        super().build_package_data()
        for path in () if self.editable_mode else Path(self.build_lib, "fastgraph").glob("*/*.txt"):
            path.with_suffix(".txt.z").write_bytes(zlib.compress(path.read_bytes(), 9))
            path.unlink()


if __name__ == "__main__":
    # What follows takes a while: say first if it cannot work. An sdist and the metadata need no compiler.
    building = any(word.startswith(("build", "bdist", "editable", "develop", "install")) for word in sys.argv[1:])
    if building:
        check_tools()
    setup(
        ext_modules=extensions() if building else [], cmdclass={"build_ext": BuildExtensions, "build_py": BuildPackage}
    )
