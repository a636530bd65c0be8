"""The peers that are measured, at the versions of the goals, and where their environments lie.

Every peer runs in a process of its own, in its best documented mode, with all cores. A workload has one function for
each namespace (`tensorflow`, `jax`, `torch`, `numpy`, `numba`, `pytensor`, `grain`, `keras`); fastgraph takes
TensorFlow's. `stage` is what a peer's mode does with a Python function: nothing, `tf.function`, `jax.jit`,
`torch.compile`; Keras stages by itself. A peer of Keras is one of its backends, or fastgraph behind the door.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Peer:
    """A library in one of its modes. `environment` names what its processes share: one set of packages.

    `before` is Python that a process runs before it imports the library.
    """

    name: str
    module: str
    namespace: str
    mode: str  # "eager", "staged", "jit" or "keras"
    environment: str
    before: str = ""


def _keras_on(name: str, environment: str, backend: str, door: str = "") -> Peer:
    return Peer(f"Keras on {name}", "keras", "keras", "keras", environment,
                f"import os; os.environ['KERAS_BACKEND'] = '{backend}'{door}")  # fmt: skip


PEERS = (
    Peer("fastgraph", "fastgraph", "tensorflow", "staged", "fastgraph"),
    Peer("fastgraph eager", "fastgraph", "tensorflow", "eager", "fastgraph"),
    Peer("fastgraph, warm store", "fastgraph", "tensorflow", "staged", "fastgraph"),
    Peer("NumPy", "numpy", "numpy", "eager", "fastgraph"),
    Peer("Numba by hand", "numba", "numba", "eager", "fastgraph"),
    Peer("TensorFlow function", "tensorflow", "tensorflow", "staged", "tensorflow"),
    Peer("TensorFlow jit", "tensorflow", "tensorflow", "jit", "tensorflow"),
    Peer("TensorFlow eager", "tensorflow", "tensorflow", "eager", "tensorflow"),
    Peer("JAX jit", "jax", "jax", "staged", "jax"),
    Peer("JAX eager", "jax", "jax", "eager", "jax"),
    Peer("PyTorch compile", "torch", "torch", "staged", "torch"),
    Peer("PyTorch eager", "torch", "torch", "eager", "torch"),
    Peer("PyTensor", "pytensor", "pytensor", "staged", "pytensor"),
    Peer("grain", "grain", "grain", "eager", "grain"),
    _keras_on("fastgraph", "fastgraph", "tensorflow", "; import fastgraph; fastgraph.install_as_tensorflow()"),
    _keras_on("TensorFlow", "tensorflow", "tensorflow"),
    _keras_on("JAX", "jax", "jax"),
    _keras_on("PyTorch", "torch", "torch"),
)
#: Starts when "fastgraph" has compiled: its kernels come from the store.
WARM = "fastgraph, warm store"
KERAS = "Keras on fastgraph"
OWN = ("fastgraph", "fastgraph eager", WARM, KERAS)
#: Whose figure a case is about, by the first of its modes.
OWN_IN_MODE = {"staged": "fastgraph", "jit": "fastgraph", "eager": "fastgraph eager", "keras": KERAS}
#: The limit to approach, not a peer: code written by hand for the one workload.
BY_HAND = ("Numba by hand",)
MODES = ("staged", "jit", "eager")

#: What pip installs. PyTorch brings CUDA's libraries unless PIP_EXTRA_INDEX_URL names its index for CPUs.
REQUIREMENTS = {
    "tensorflow": ("tensorflow-cpu==2.21.0", "tf-keras==2.21.0"),
    "jax": ("jax==0.10.2",),
    "torch": ("torch==2.13.0", "numpy", "setuptools", "pillow"),
    "pytensor": ("pytensor==3.0.7", "numba"),
    "grain": ("grain==0.2.18", "pillow"),
}
#: What the environments of Keras's backends have besides, which is no part of the libraries' sizes.
BESIDES = dict.fromkeys(("tensorflow", "jax", "torch"), ("keras==3.15.1",))


def module_of(workload: str) -> Any:
    """The file of a workload, or of a family of programs ("models.NAME")."""
    return importlib.import_module(f"benchmarks.{workload if '.' in workload else f'workloads.{workload}'}")


def modes(module: Any, case: str) -> tuple[str, ...]:
    """The modes that a workload's case is measured in; the goal is of fastgraph in the first of them."""
    said = getattr(module, "MODES", MODES)
    return tuple(said.get(case, MODES) if isinstance(said, dict) else said)


def takes_part(peer: Peer, module: Any, case: str) -> bool:
    """Return whether a peer's mode belongs to a case. Libraries without modes always do.

    JAX takes part eagerly only where eager calls are what is measured: nobody would leave a whole step to it so. A
    workload may name the libraries that it is about. grain has datasets alone.
    """
    wanted = modes(module, case)
    if peer.namespace == "grain":
        return hasattr(module, "grain")
    if peer.module not in getattr(module, "LIBRARIES", (peer.module,)):
        return False
    if peer.namespace in ("numpy", "numba"):
        return True
    if peer.namespace == "pytensor":
        return wanted != ("eager",)
    return peer.mode in wanted and (peer.name != "JAX eager" or wanted[0] == "eager")


def program(peer: Peer, module: Any) -> Callable[..., Any] | str:
    """The function of a workload's file that makes a peer's call, or why there is none."""
    made: Callable[..., Any] | None = getattr(module, peer.namespace, None)
    return made or str(module.ABSENT[peer.namespace])


def python_of(environment: str, make: bool = False) -> str | None:
    """The interpreter of a peer's environment, or None if there is none.

    Looked for in this order: `PEER_<NAME>` (an interpreter's path) among the environment variables, `.peers/<name>` in
    the checkout, this interpreter if it can import the package. With `make`, what is missing is made in `.peers`, and
    made again where it is of other requirements.
    """
    if environment == "fastgraph":
        return sys.executable
    named = os.environ.get(f"PEER_{environment.upper()}")
    if named:
        return named
    own = ROOT / ".peers" / environment
    python = own / "bin" / "python"
    ready = own / "installed"
    wanted = [*REQUIREMENTS[environment], *BESIDES.get(environment, ())]
    if ready.exists() and (not make or ready.read_text().split() == wanted):
        return str(python)
    module = next(peer.module for peer in PEERS if peer.environment == environment)
    if importlib.util.find_spec(module) is not None:
        return sys.executable
    if not make:
        return None
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(own)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True)
    ready.write_text("\n".join(wanted) + "\n")
    return str(python)


def variables(cache: Path) -> dict[str, str]:
    """Environment variables of a peer's process: quiet, byte code kept, and what it compiles kept under `cache`."""
    made = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")}
    return made | {
        "FASTGRAPH_STORE": str(cache / "fastgraph"),
        "FASTGRAPH_LINGER": "0",  # the next measurement is to have the machine for itself
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "torch"),
        "PYTENSOR_FLAGS": f"base_compiledir={cache / 'pytensor'},mode=NUMBA,floatX=float32",
        "NUMBA_CACHE_DIR": str(cache / "numba"),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_USE_LEGACY_KERAS": "1",
        "JAX_PLATFORMS": "cpu",
    }


def cores() -> int:
    """The number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Driver:
    """The needs of a worker of its peer: staging, waiting for results, results as NumPy arrays."""

    def __init__(self, peer: Peer, host_steps: bool = False) -> None:
        self.peer = peer
        self.host_steps = host_steps  # whether a Function may have some
        exec(peer.before, {})
        self.lib: Any = importlib.import_module(peer.module)
        self.functions: list[Any] = []
        if peer.namespace == "torch":
            self.lib.set_num_threads(cores())
            if peer.mode == "staged":  # or it would compile a case for any size, since it saw another one before
                self.lib._dynamo.reset()

    def stage(self, function: Callable[..., Any], **of_jax: Any) -> Callable[..., Any]:
        """`function` in the peer's mode. `of_jax`: what jax.jit is told besides."""
        if self.peer.mode == "eager":
            return function
        if self.peer.namespace == "tensorflow":
            made = self.lib.function(function, jit_compile=True if self.peer.mode == "jit" else None)
        elif self.peer.namespace == "jax":
            made = self.lib.jit(function, **of_jax)
        else:
            made = self.lib.compile(function)
        self.functions.append(made)
        return made

    def synchronous(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """`call`, returning when its results are there. Only JAX returns before."""
        if self.peer.namespace != "jax":
            return call
        wait = self.lib.block_until_ready
        return lambda: wait(call())

    def concretes(self) -> list[Any]:
        """The traces that fastgraph has made so far."""
        own = self.functions if self.peer.module == "fastgraph" else []
        return [concrete for function in own for concrete in function._list_all_concrete_functions()]

    def settle(self) -> None:
        """Return when what is staged runs at full speed (fastgraph compiles while it already runs)."""
        if self.peer.name == KERAS:  # what Keras has staged it keeps for itself
            from fastgraph.runtime.executable import wait_for_all

            if not wait_for_all(120.0):
                raise RuntimeError("no kernels after 120 s")
        for concrete in self.concretes():
            if not concrete.wait(120.0):
                raise RuntimeError(f"{concrete.name.decode()}: no kernels after 120 s")
            if concrete.host_steps and not self.host_steps:
                raise RuntimeError(
                    f"{concrete.name.decode()} has {concrete.host_steps} host steps: it would measure NumPy"
                )

    def arrays(self, result: Any) -> list[Any]:
        """The arrays of a result: one, or a (nested) list or tuple of them."""
        import numpy as np

        if isinstance(result, (list, tuple)):
            return [array for each in result for array in self.arrays(each)]
        if self.peer.namespace == "torch" and isinstance(result, self.lib.Tensor):
            result = result.detach()
            result = (result.float() if result.dtype == self.lib.bfloat16 else result).numpy()
        array = np.array(result)
        return [array.astype(np.float32) if array.dtype.name == "bfloat16" else array]
