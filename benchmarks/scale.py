"""Growth with graphs, shapes and threads (python -m benchmarks.scale [--report docs/scale.md] [--most N]).

Times are of the processor, not of the clock, so that a machine which others use as well tells nearly the same; the
throughput of threads is by the clock. Nothing is compared: each table says what ought to be constant along it.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import math
import platform
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fastgraph as fg
from fastgraph.compiler import assemble
from fastgraph.core.base import flags
from fastgraph.core.native.thread_pool import num_threads
from fastgraph.runtime import executable, known_shapes, schedule
from fastgraph.runtime.executor import Plan

SIZES = (10, 100, 1_000, 10_000, 50_000)
PARTS = ("trace", "passes", "program", "sizes", "schedule", "plan", "call")


def chain(x: Any, n: int) -> Any:
    """Elementwise ops, fused into kernels of a bounded size."""
    y = x
    for i in range(n // 3):
        y = (y + x) * 0.5 - float(i % 3)
    return y


def products(x: Any, n: int) -> Any:
    """Four independent chains of products: a step for nearly every node."""
    ends = [x] * 4
    for _ in range(n // 8):
        ends = [fg.tanh(fg.matmul(y, x)) for y in ends]
    return fg.add_n(ends)


GRAPHS = {"chain": chain, "products": products}


def cpu(work: Callable[[], Any], rounds: int = 3) -> tuple[Any, float]:
    """The result of `work`, and the seconds of the processor that it takes at least."""
    best = math.inf
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        result = work()
        best = min(best, time.process_time() - began)
    return result, best


def graph_times(build: Callable[[Any, int], Any], n: int) -> tuple[int, int, dict[str, float]]:
    """Nodes as traced, steps of the plan, seconds for each of PARTS; kernels are not compiled, NumPy runs the call."""
    rng = np.random.default_rng(0)
    x = fg.constant(rng.normal(size=(8, 8)).astype(np.float32) / 8)
    rounds = 3 if n <= 10_000 else 1
    seconds: dict[str, float] = {}

    def trace() -> Any:
        function = fg.function(lambda x: build(x, n), autograph=False)
        return function, function.get_concrete_function(x)

    (function, concrete), seconds["trace"] = cpu(trace, rounds)
    nodes = len(concrete.graph.nodes)
    graph, seconds["passes"] = cpu(lambda: executable.compile_graph(concrete.graph.ir), rounds)
    program, seconds["program"] = cpu(lambda: assemble.assemble(graph, ((8, 8),)), rounds)
    arguments = [value.aval for value in graph.parameters]
    table, seconds["sizes"] = cpu(lambda: known_shapes.known_sizes(program, arguments), rounds)
    planner = schedule.Planner(lambda _: 1)
    inputs = (*program.inputs, *program.captures)
    steps = range(len(program.steps))
    made, seconds["schedule"] = cpu(lambda: schedule._Schedule(planner, program, table, steps, inputs).spec(), rounds)
    _, seconds["plan"] = cpu(lambda: Plan(made), rounds)
    with flags.override(tier="first"):
        function(x)
        _, seconds["call"] = cpu(lambda: function(x), rounds)
    return nodes, len(program.steps), seconds


def graphs(most: int) -> list[str]:
    """A table per kind of graph, and the exponent of the growth from 1,000 nodes on: 1 is linear."""
    lines = ["## Graphs", "", "Microseconds of the processor for each node as traced, graphs of 8x8 matrices. "]
    lines[-1] += (
        "*Growth*: the exponent of the fit from 1,000 nodes on, by least squares of the logarithms; 1 is linear."
    )
    for name, build in GRAPHS.items():
        lines += ["", f"{name}: {(build.__doc__ or '')[0].lower()}{(build.__doc__ or '')[1:]}", ""]
        lines += [f"| nodes | steps | {' | '.join(PARTS)} |", "|--:" * (len(PARTS) + 2) + "|"]
        rows = [graph_times(build, n) for n in SIZES if n <= most]
        for nodes, steps, seconds in rows:
            figures = " | ".join(f"{1e6 * seconds[part] / nodes:.2f}" for part in PARTS)
            lines.append(f"| {nodes:,} | {steps:,} | {figures} |")
        large = [row for row in rows if row[0] >= 900]
        if len(large) > 1:
            at = np.log([nodes for nodes, _, _ in large])
            slopes = [np.polyfit(at, np.log([s[part] for _, _, s in large]), 1)[0] for part in PARTS]
            lines.append("| growth | | " + " | ".join(f"{slope:.2f}" for slope in slopes) + " |")
    return lines


def resident() -> float:
    """The process's memory in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


def small(x: Any) -> Any:
    """Six nodes."""
    return fg.reduce_sum(fg.tanh(x @ fg.ones([4, 3])), axis=0)


def large(x: Any) -> Any:
    """Five hundred nodes."""
    y = x
    for _ in range(100):
        y = fg.tanh(y) @ fg.eye(4) + fg.reduce_sum(y, 0)
    return y


def shapes(most: int) -> list[str]:
    """Distinct shapes through one signature with None: memory, and the time of a plan."""
    lines = [
        "## Shapes",
        "",
        "Distinct sizes of one `None` dimension, a call each: memory must end, and the time of a new",
    ]
    lines += ["plan for a node (the call included) stay the same.", ""]
    lines += ["| function | nodes | shapes | us per node, least | MB after a tenth | MB at the end |"]
    lines += ["|---|--:|--:|--:|--:|--:|"]
    with flags.override(tier="last"):
        for function, n in ((small, most), (large, max(most // 20, 10))):
            staged = fg.function(function, input_signature=[fg.TensorSpec([None, 4])])
            staged(fg.zeros([3, 4]))
            nodes = len(staged.get_concrete_function().graph.nodes)
            best, memory = math.inf, []
            for tenth in range(10):
                sizes = range(4 + tenth * (n // 10), 4 + (tenth + 1) * (n // 10))
                for few in (sizes[i : i + 10] for i in range(0, len(sizes), 10)):
                    began = time.process_time()
                    for size in few:
                        staged(fg.zeros([size, 4]))
                    best = min(best, (time.process_time() - began) / len(few))
                memory.append(resident())
            figures = f"{n:,} | {best / nodes * 1e6:.1f} | {memory[0]:.0f} | {memory[-1]:.0f}"
            lines.append(f"| {function.__name__} | {nodes} | {figures} |")
            if function is small:
                x, before = fg.zeros([7, 4]), resident()
                began = time.process_time()
                for _ in range(100 * most):
                    staged(x)
                seconds = time.process_time() - began
                calls = f"{100 * most:,} calls of `small` afterwards: {seconds / most * 1e4:.2f} us each, "
                calls += f"{resident() - before:+.1f} MB."
    return [*lines, "", calls]


def calls_a_second(functions: list[Any], x: Any, n_threads: int, seconds: float) -> float:
    """Calls in all by `n_threads` Python threads, each of one of the functions; every result is looked at."""
    wanted = [float(function(x)) for function in functions]
    end, done, wrong = threading.Event(), [0] * n_threads, [0] * n_threads

    def go(i: int) -> None:
        function, expected = functions[i % len(functions)], wanted[i % len(functions)]
        while not end.is_set():
            wrong[i] += float(function(x)) != expected
            done[i] += 1

    threads = [threading.Thread(target=go, args=(i,)) for i in range(n_threads)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    end.set()
    for thread in threads:
        thread.join()
    if any(wrong):
        raise AssertionError(f"{sum(wrong)} of {sum(done)} results differ from the first one")
    return sum(done) / seconds


def throughput(seconds: float) -> list[str]:
    """Calls a second by one to eight Python threads: of one Function, of one each, of a loop with a host step."""

    def many(x: Any) -> Any:
        return fg.reduce_sum(fg.tanh(x @ x) @ x)

    def looped(x: Any) -> Any:
        total = fg.reduce_sum(x)
        for _ in fg.range(10):
            told = fg.ensure_shape(fg.numpy_function(lambda a: a, [total], fg.float32), [])
            total = fg.tanh(total) + told
        return total

    counts = (1, 2, 4, 8)
    lines = [
        "## Threads",
        "",
        f"Calls a second by the clock in all, over {seconds:g} s each; the pool has {num_threads()} threads besides.",
        "It must not collapse where there are more Python threads than processors. Every result is compared.",
        "",
        f"| work | {' | '.join(f'{n} threads' for n in counts)} |",
        "|---|" + "--:|" * len(counts),
    ]
    cases = {
        "one Function, 64x64": (many, 64, 1),
        "a Function each, 64x64": (many, 64, 8),
        "one Function, 512x512": (many, 512, 1),
        "a loop with a host step in it": (looped, 16, 1),
    }
    for name, (work, order, n) in cases.items():
        x = fg.fill([order, order], 1.0 / order)
        functions = [fg.function(work) for _ in range(n)]
        with flags.override(tier="last"):
            figures = [f"{calls_a_second(functions, x, count, seconds):,.0f}" for count in counts]
        lines.append(f"| {name} | {' | '.join(figures)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--report", type=Path, metavar="OUT", help="write the report there")
    parser.add_argument("--most", type=int, default=50_000, metavar="N", help="nodes of a graph (%(default)s)")
    parser.add_argument("--shapes", type=int, default=10_000, metavar="N", help="distinct shapes (%(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each figure of threads (%(default)s)")
    options = parser.parse_args()
    lines = [
        "# Scale",
        "",
        f"fastgraph {fg.__version__}, Python {platform.python_version()}, {platform.machine()},",
        f"{num_threads()} threads, {datetime.date.today()}. Made by",
        "`python -m benchmarks.scale --report docs/scale.md`. What more processes and machines give, and a model of",
        "their cost for up to 1,024: [distributed.md](distributed.md#many-machines).",
        "",
    ]
    lines += [*throughput(options.seconds), "", *shapes(options.shapes), "", *graphs(options.most)]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.report:
        options.report.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
