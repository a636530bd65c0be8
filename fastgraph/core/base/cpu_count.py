"""The number of CPUs this process may use: its affinity, cut by the quotas of its control groups.

A container with a quota of two CPUs on a machine of 64 shows 64 in its affinity. As many threads would use up the
quota of a period in a part of it, and then all of them would stand still until the next.
"""

from __future__ import annotations

import os


def available(proc: str = "/proc/self", groups: str = "/sys/fs/cgroup") -> int:
    """The CPUs in this process's affinity, or fewer where its control group or one above that has a quota.

    A quota of a part of a CPU is rounded, to one at the least. `proc` and `groups` are the folders in which Linux
    describes this process and the control groups, of version 1 or 2.
    """
    return min(affinity(), *(max(1, round(quota)) for quota in _quotas(proc, groups)), 1 << 30)


def affinity() -> int:
    """The CPUs on which this process may run; all there are where the system does not say."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def _quotas(proc: str, groups: str) -> list[float]:
    """The quotas, in CPUs, of this process's control groups and of those above them."""
    quotas = []
    for line in _words(proc, "cgroup"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:  # version 2
            roots, read = ["", "unified"], _second_version
        elif "cpu" in controllers.split(","):
            roots, read = [controllers, "cpu"], _first_version
        else:
            continue
        # A container's view may begin below the path's root: then only the ends of the path are not there.
        names = [name for name in path.split("/") if name not in ("", "..")]
        for root in roots:
            for depth in range(len(names) + 1):
                quota = read(os.path.join(groups, root, *names[:depth]))
                if quota is not None:
                    quotas.append(quota)
    return quotas


def _second_version(group: str) -> float | None:
    match _words(group, "cpu.max"):
        case [quota, period] if quota.isdigit() and period.isdigit() and int(period):  # not "max": that is none
            return int(quota) / int(period)
    return None


def _first_version(group: str) -> float | None:
    match _words(group, "cpu.cfs_quota_us"), _words(group, "cpu.cfs_period_us"):
        case [[quota], [period]] if quota.isdigit() and period.isdigit() and int(period):  # not -1: that is none
            return int(quota) / int(period)
    return None


def _words(folder: str, name: str) -> list[str]:
    """The words of a small file; none if it cannot be read."""
    try:
        with open(os.path.join(folder, name)) as file:
            return file.read().split()
    except OSError:
        return []
