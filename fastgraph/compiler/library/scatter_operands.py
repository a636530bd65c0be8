"""Scatters that compute what they add: the kernel that gathers it becomes part of the scatter's own loop.

Rule: the same numbers in the same order, and the same checks. What is gathered only to be combined elsewhere, as
messages along the edges of a graph are, is never stored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.program.program import KernelStep, Step

#: The loop of a scatter of single elements, in which the line stands that takes an update.
_SCATTER = re.compile(r"\n( *)for j in range\(n\):\n((?:.*\n)*? *value = )x0\[o \* n \+ j\]\n")
#: A kernel that computes one element after another, and stores it as it is where it stands.
_ONE_LOOP = re.compile(
    r"def kernel\(buffers, sizes, begin, end\):\n(?P<before>(?:    \w+ = .*\n)*)    for i0 in range\(begin, end\):\n"
    r"(?P<body>(?:        .*\n)*)        x\d+\[i0\] = (?P<value>v\d+)\n    return 0\n"
)
_ARGUMENT = re.compile(r"    (\w+) = (buffers|sizes)\[(\d+)\]")
#: Nanoseconds up to which one thread computes all elements sooner than it reads what several have stored.
_CHEAP = 200_000.0


def joined(steps: Sequence[Step], wanted: Collection[int], size: Callable[[int], int]) -> dict[int, KernelStep]:
    """The steps, by their places, that take in the one before.

    `wanted` are the numbers of values that others than steps take; `size` is how many elements one has.
    """
    taken = Counter([number for step in steps for number in set(step.inputs)])
    found: dict[int, KernelStep] = {}
    for place, step in enumerate(steps[1:], 1):
        before = steps[place - 1]
        if type(before) is not KernelStep or type(step) is not KernelStep or len(before.outputs) > 1:
            continue
        (updates,) = before.outputs
        if step.buffers.count(updates) == 1 == taken[updates] and step.buffers[0] == updates not in wanted:
            made = _joined(before, step)
            if made is not None and before.cost * size(updates) < _CHEAP:
                found[place] = made
    return found


def _joined(first: KernelStep, second: KernelStep) -> KernelStep | None:
    """One step of both: where both have the forms that are known, and the second writes over nothing the first reads.

    What a kernel computes without checks is left to it: it may be of vectors.
    """
    (updates,) = first.outputs
    loop, line = _ONE_LOOP.fullmatch(first.kernel.source), _SCATTER.search(second.kernel.source)
    over = [second.inputs[i] for i, _ in second.in_place]
    if loop is None or line is None or not first.fallible or first.in_place or first.cost_dims:
        return None
    types = dict(
        zip((*first.buffers, *second.buffers), first.kernel.buffer_types + second.kernel.buffer_types, strict=True)
    )
    if types[updates] not in ("float32", "float64", "int32", "int64") or not set(over).isdisjoint(first.inputs):
        return None  # others are not computed as they are stored
    buffers = [b for b in dict.fromkeys((*second.buffers, *first.buffers)) if b != updates]

    def arguments(text: str, given: Sequence[int], n_before: int) -> list[str]:
        made = []
        for each in text.splitlines():
            at = _ARGUMENT.fullmatch(each)
            if at is None:
                made.append(each)
            elif at[2] == "sizes":
                made.append(f"    {at[1]} = sizes[{int(at[3]) + n_before}]")
            elif given[int(at[3])] != updates:
                made.append(f"    {at[1]} = buffers[{buffers.index(given[int(at[3])])}]")
        return made

    before, body, value = (re.sub(r"\b([xnvi]\d+)\b", r"own_\1", loop[part]) for part in ("before", "body", "value"))
    source, n_sizes = second.kernel.source, second.kernel.n_sizes
    tail = f"{line[2]}{value}\n{source[line.end() :]}".replace(f"{1 << 48}", f"{1 + len(first.fallible) << 48}")
    head, *rest = arguments(source[: line.start()], second.buffers, 0)
    indent = line[1] + "    "
    lines = [
        head,
        *arguments(before, first.buffers, n_sizes),
        *rest,
        f"{line[1]}for j in range(n):",
        f"{indent}own_i0 = o * n + j",
        *[indent + each[8:] for each in body.splitlines()],
    ]
    imports = tuple(sorted({*first.kernel.imports, *second.kernel.imports}))
    kinds = tuple([types[b] for b in buffers])
    inputs = tuple(dict.fromkeys(i for i in (*second.inputs, *first.inputs) if i != updates))
    return replace(
        second,
        inputs=inputs,
        nodes=first.nodes + second.nodes,
        kernel=KernelSpec("\n".join(lines) + "\n" + tail, kinds, n_sizes + first.kernel.n_sizes, imports),
        buffers=tuple(buffers),
        sizes=second.sizes + first.sizes,
        cost=second.cost + first.cost,
        operations=second.operations + first.operations,
        fallible=first.fallible + second.fallible,
        in_place=tuple([(inputs.index(value), k) for value, (_, k) in zip(over, second.in_place, strict=True)]),
    )
