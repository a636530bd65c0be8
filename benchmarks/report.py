"""The results of a run as text: a line for each case, tables in Markdown, what changed against an earlier run."""

from __future__ import annotations

from typing import Any

from benchmarks.peers import BY_HAND, PEERS

OWN = ("fastgraph", "fastgraph eager")
CHANGE = 0.15


def figure(samples: list[float]) -> float:
    """A peer's figure: its least sample, which is the least disturbed."""
    return min(samples)


def best_own(row: dict[str, Any]) -> tuple[str, float]:
    """fastgraph's better mode (a case's goal is of the Function where it has one) and its figure."""
    name = next(each for each in OWN if each in row["us"])
    return name, figure(row["us"][name])


def best_peer(row: dict[str, Any]) -> tuple[str, float] | None:
    """The fastest peer, without what was written by hand for the workload."""
    others = {name: figure(us) for name, us in row["us"].items() if name not in (*OWN, *BY_HAND)}
    return min(others.items(), key=lambda item: item[1]) if others else None


def ratio(row: dict[str, Any]) -> float | None:
    """fastgraph's time over the best peer's: below 1 is faster."""
    peer = best_peer(row)
    return None if peer is None else best_own(row)[1] / peer[1]


def goal(row: dict[str, Any]) -> tuple[float, float] | None:
    """(the ratio reached, the goal): to the best peer, or to the library that the goal names; None without either."""
    wanted, of = row["goal"] if isinstance(row["goal"], (list, tuple)) else (row["goal"], "")
    others = [figure(us) for name, us in row["us"].items() if name not in (*OWN, *BY_HAND) and name.startswith(of)]
    return None if wanted is None or not others else (best_own(row)[1] / min(others), wanted)


def line(row: dict[str, Any]) -> str:
    """One case in one line."""
    name, own = best_own(row)
    text = f"{row['row']:3} {row['workload']}/{row['case']:22} {name} {us(own)} us"
    peer = best_peer(row)
    if peer is not None:
        text += f"; {peer[0]} {us(peer[1])} us; ratio {own / peer[1]:.2f}"
    reached = goal(row)
    if reached is not None:
        text += f"; {_goal(row, reached)}"
    for failed, why in row["failed"].items():
        text += f"; {failed} failed: {why}"
    return text


def _goal(row: dict[str, Any], reached: tuple[float, float]) -> str:
    of = f" of {row['goal'][1]}" if isinstance(row["goal"], (list, tuple)) else ""
    return f"{'met' if reached[0] <= reached[1] else 'MISSED'}: {reached[0]:.2f}, goal {reached[1]}{of}"


def us(value: float) -> str:
    """A time in microseconds with three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def markdown(results: dict[str, Any]) -> str:
    """The whole run as tables."""
    peers = [peer.name for peer in PEERS if any(peer.name in row["us"] for row in results["cases"])]
    lines = [
        f"{results['machine']}. Microseconds, the least of the samples; in brackets the spread where over 1.3.",
        "",
    ]
    lines.append("| # | workload | " + " | ".join(peers) + " | ratio to best peer | goal |")
    lines.append("|---" * (len(peers) + 4) + "|")
    for row in results["cases"]:
        cells = [_cell(row["us"].get(peer)) for peer in peers]
        reached, wanted = ratio(row), goal(row)
        lines.append(
            f"| {row['row']} | {row['workload']}: {row['case']} | " + " | ".join(cells)
            + f" | {'' if reached is None else f'{reached:.2f}'} | {'' if wanted is None else _goal(row, wanted)} |"
        )  # fmt: skip
    if results["once"]:
        columns = ("import_ms", "import_without_numpy_ms", "import_resident_mb", "first_ms", "full_ms", "peak_mb")
        titles = (
            "import, ms",
            "of it over NumPy's",
            "resident after it, MB",
            "first result, ms",
            "full speed, ms",
            "peak, MB",
        )
        lines += [
            "",
            "| once: workload | peer | caches | " + " | ".join(titles) + " |",
            "|---" * (len(titles) + 3) + "|",
        ]
        for row in results["once"]:
            cells = [f"{row[column]:,.0f}" for column in columns]
            lines.append(f"| {row['workload']} | {row['peer']} | {row['caches']} | " + " | ".join(cells) + " |")
    if results["sizes_mb"]:
        text = ", ".join(f"{name} {size:,.0f}" for name, size in results["sizes_mb"].items())
        lines += ["", f"Installed size in MB (of fastgraph its own part): {text}."]
    return "\n".join(lines) + "\n"


def _cell(samples: list[float] | None) -> str:
    if samples is None:
        return ""
    spread = max(samples) / min(samples)
    return us(figure(samples)) + (f" ({spread:.1f}x)" if spread > 1.3 else "")


def changed(base: dict[str, Any], results: dict[str, Any]) -> bool:
    """Print what changed by more than 15 % against an earlier run, and return whether anything did.

    Compared are ratios to NumPy where both runs have it, so that a machine's load does not count; times otherwise.
    """
    before = {(row["workload"], row["case"]): row for row in base["cases"]}
    any_changed = False
    for row in results["cases"]:
        earlier = before.get((row["workload"], row["case"]))
        if earlier is None:
            continue
        for name in OWN:
            if name not in row["us"] or name not in earlier["us"]:
                continue
            now, then = figure(row["us"][name]), figure(earlier["us"][name])
            if "NumPy" in row["us"] and "NumPy" in earlier["us"]:
                now, then = now / figure(row["us"]["NumPy"]), then / figure(earlier["us"]["NumPy"])
            if abs(now / then - 1) > CHANGE:
                any_changed = True
                word = "SLOWER" if now > then else "faster"
                print(f"{word}: {row['workload']}/{row['case']}, {name}: {now / then:.2f}x")
    return any_changed
