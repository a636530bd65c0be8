"""The command line: `python -m fastgraph run SCRIPT.py | info | store | store clear | doctor | saved_model`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from collections.abc import Callable

from fastgraph.api import configuration
from fastgraph.compiler.store import kernel_service, kernel_store
from fastgraph.core.base import flags
from fastgraph.door import run_command


def show_info() -> int:
    """Print versions, machine and flags."""
    configuration.show_config()
    return 0


def show_store() -> int:
    """Print where the kernel store is and how much lies in it."""
    found = kernel_store.store().info()
    print(f"{found.directory}: {found.kernels} kernels, {found.nbytes / 1024:.0f} of {found.limit / 1024:.0f} KB")
    if not found.usable:
        print(f"It is not used: {found.why_not}", file=sys.stderr)
    return 0 if found.usable else 1


def clear_store() -> int:
    """Delete the kernels of the store; they are compiled again when they are next needed."""
    try:
        n_kernels = kernel_store.store().clear()
    except OSError as error:
        print(f"Nothing deleted: {error}", file=sys.stderr)
        return 1
    print(f"{n_kernels} kernels deleted from {kernel_store.store().info().directory}")
    return 0


def check_store() -> str:
    """Check that kernels can be kept."""
    found = kernel_store.store().info()
    if not found.usable:
        raise RuntimeError(
            f"{found.directory} is not used: {found.why_not}. Kernels are compiled anew in every process until this is "
            "mended; another folder can be named by FASTGRAPH_STORE."
        )
    if found.limit and not kernel_store.store().prepare():
        raise RuntimeError(f"{found.directory} or {kernel_store.store().key_file} cannot be written to.")
    if found.limit:
        with tempfile.NamedTemporaryFile(dir=found.directory):
            pass
    return f"{found.directory} can be written to and holds {found.kernels} kernels"


def check_flags() -> str:
    """Check that every FASTGRAPH_* variable can be read, and that there is no unknown one."""
    for name in flags.FLAGS:
        flags.get(name)
    unknown = flags.unknown_variables()
    if unknown:
        raise RuntimeError(f"{', '.join(unknown)}: no flag has this name; they are {flags.variables()}.")
    return "all can be read"


def check_eager() -> str:
    """Check an eager op and a gradient."""
    import fastgraph as fg

    x = fg.constant([1.0, 2.0, 3.0])
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = fg.reduce_sum(x * x)
    gradient = tape.gradient(y, x).numpy().tolist()
    if (float(y.numpy()), gradient) != (14.0, [2.0, 4.0, 6.0]):
        raise RuntimeError(f"sum of squares of [1, 2, 3] and its gradient came out as {y.numpy()}, {gradient}")
    return "values and gradients are right"


def check_compiled() -> str:
    """Check a Function whose kernels are compiled and loaded."""
    import fastgraph as fg

    with flags.override(tier="last"):
        value = float(fg.function(lambda x: fg.reduce_sum(fg.exp(x) * 2.0))(fg.constant([0.0, 0.0])).numpy())
    if value != 4.0:
        raise RuntimeError(f"sum of 2 exp(0) over two elements came out as {value}")
    counted = kernel_service.statistics()
    if counted.failed or not counted.compiled + counted.compiled_in_place + counted.loaded_from_store:
        raise RuntimeError("the value is right, but no kernel could be compiled: Functions run on NumPy alone.")
    return "a kernel was compiled or loaded, and is right"


def check_worker() -> str:
    """Check that Numba is there for kernels that are not in the store, and can be imported."""
    versions = configuration.installed_versions()
    absent = [name for name in ("numba", "llvmlite", "scipy") if versions[name] == "not installed"]
    if absent:
        raise RuntimeError(f"not installed: {', '.join(absent)}. Functions run, but only in the first (NumPy) tier.")
    for name in ("numba", "llvmlite.binding", "scipy.linalg.cython_blas"):
        try:
            importlib.import_module(name)
        except Exception as error:
            raise RuntimeError(
                f"{name} is installed, but cannot be imported ({error}). Functions run, but only on NumPy."
            ) from error
    return f"numba {versions['numba']}, llvmlite {versions['llvmlite']}, scipy {versions['scipy']}"


CHECKS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("environment", check_flags),
    ("kernel store", check_store),
    ("compiler", check_worker),
    ("eager ops", check_eager),
    ("Functions", check_compiled),
)


def run_doctor() -> int:
    """Run every check and say what to do about those that fail; the exit status is how many did."""
    failed = 0
    for name, check in CHECKS:
        try:
            line = f"ok    {name}: {check()}"
        except Exception as error:  # a doctor that dies of the illness helps nobody
            failed += 1
            line = f"FAIL  {name}: {type(error).__name__}: {error}"
        print(line)
    return failed


def main(arguments: list[str] | None = None) -> int:
    """Run the command that `arguments` ask for and return the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["run"]:  # what follows is the program's
        return run_command.main(given[1:])
    if given[:1] == ["saved_model"]:
        from fastgraph.saving import saved_model_command

        return saved_model_command.main(given[1:])
    parser = argparse.ArgumentParser(prog="python -m fastgraph", description="Look at and mend fastgraph.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="run a program with fastgraph in TensorFlow's place", add_help=False)
    commands.add_parser("info", help="print versions, machine and flags")
    kernels = commands.add_parser("store", help="print where compiled kernels are kept; with 'clear', delete them")
    kernels.add_argument("action", nargs="?", choices=["clear"])
    commands.add_parser("doctor", help="check that everything works, and say what to do where it does not")
    commands.add_parser("saved_model", help="look at a SavedModel, or call a signature of it", add_help=False)
    chosen = parser.parse_args(given)
    if chosen.command == "info":
        return show_info()
    if chosen.command == "store":
        return clear_store() if chosen.action == "clear" else show_store()
    return run_doctor()


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has read enough: as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)
