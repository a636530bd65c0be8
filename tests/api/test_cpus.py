"""How many CPUs a process may use, beside descriptions of control groups as Linux writes them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fastgraph.core.base import cpu_count


def described(folder: Path, membership: str, files: dict[str, str]) -> int:
    (folder / "proc").mkdir()
    (folder / "proc" / "cgroup").write_text(membership)
    for name, text in files.items():
        path = folder / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return cpu_count.available(str(folder / "proc"), str(folder / "cgroup"))


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "max 100000\n"}, 64),
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "20000 100000\n"}, 1),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000\n", "a/b/cpu.max": "max 100000\n"}, 3),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000\n", "a/b/cpu.max": "500000 100000\n"}, 3),
        ("0::/../../elsewhere\n", {"cpu.max": "400000 100000\n"}, 4),
        ("4:cpu,cpuacct:/docker/x\n1:memory:/y\n", {"cpu/cpu.cfs_quota_us": "-1\n"}, 64),
        (
            "4:cpu,cpuacct:/docker/x\n0::/\n",
            {"cpu,cpuacct/docker/x/cpu.cfs_quota_us": "150000\n", "cpu,cpuacct/docker/x/cpu.cfs_period_us": "50000\n"},
            3,
        ),
        ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "50000\n"}, 5),
        ("0::/\n", {"cpu.max": "something else\n"}, 64),
        ("0::/\n", {"cpu.max": "100000 0\n"}, 64),
        ("4:memory:/a\n", {"a/cpu.max": "100000 100000\n"}, 64),
    ],
)
def test_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, membership: str, files: dict[str, str], expected: int
) -> None:
    monkeypatch.setattr(cpu_count, "affinity", lambda: 64)
    assert described(tmp_path, membership, files) == expected


def test_no_description(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_count, "affinity", lambda: 7)
    assert cpu_count.available(str(tmp_path), str(tmp_path)) == 7


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_a_process_on_one_cpu_runs_one_thread() -> None:
    """It makes none beside its own, whatever it computes."""
    program = """
import os
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
import fastgraph as fg
from fastgraph.core.base import flags; from fastgraph.core.native import thread_pool as _pool
assert flags.get("threads") == 1
fg.reduce_sum(fg.tanh(fg.ones([1000, 1000]) @ fg.ones([1000, 1000])))
assert _pool.num_threads() == 1 and not _pool.alive_threads()
assert len(os.listdir("/proc/self/task")) == 1 if os.path.isdir("/proc/self/task") else True
"""
    environment = {name: text for name, text in os.environ.items() if name != "FASTGRAPH_THREADS"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
