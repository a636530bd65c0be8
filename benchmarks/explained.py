"""The Program of a workload's Function, explained: `python -m benchmarks.explained [workload case [file]]`.

Graphs and sources of kernels are left out, which `explain()` prints as well: the page has the steps and the plan.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

import fastgraph as fg
from benchmarks.peers import ROOT, module_of


def explained(workload: str, case: str) -> str:
    """The page."""
    module = module_of(workload)
    functions: list[Any] = []

    def stage(python_function: Any, **_: Any) -> Any:
        functions.append(fg.function(python_function))
        return functions[-1]

    call = module.tensorflow(fg, stage, **module.data(**module.CASES[case]))
    call()
    concretes = [each for function in functions for each in function._list_all_concrete_functions()]
    if not all(each.wait(120.0) for each in concretes):
        sys.exit("no kernels after 120 s")
    call()
    texts = [concrete.explain() for concrete in concretes]
    lines = [line for text in texts for line in text[text.index("# program of ") :].rstrip().splitlines()]
    program = "\n".join(line for line in lines if not line.lstrip().startswith("|")).replace(f"{ROOT}/", "")
    return (
        f"# The steps of {workload}: {case}\n\n"
        f"fastgraph {fg.__version__}, Python {platform.python_version()}, {platform.machine()}. "
        f"Written by `python -m benchmarks.explained {workload} {case}`: what `explain()` says after the graphs, "
        "without the kernels' sources.\n\n"
        f"```\n{program}\n```\n"
    )


def main() -> None:
    workload, case, *path = sys.argv[1:] if len(sys.argv) > 2 else ("convnet", "step", "docs/convnet.md")
    page = explained(workload, case)
    if path:
        Path(path[0]).write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
