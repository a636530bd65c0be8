"""Fourier transforms over several axes, rewritten as one after the other where one of them has a kernel.

Rule: the same transform: real numbers are made complex along the last axis first, and complex ones real along it last.
"""

from __future__ import annotations

from typing import Any

from fastgraph.compiler.library.fourier_lines import is_fit
from fastgraph.graph.ir import Node
from fastgraph.ops.fourier import fft_p, irfft_p, rfft_p


def is_of_axes(node: Node) -> bool:
    """Return whether a transform is computed axis by axis."""
    if node.op.name not in ("fft", "rfft", "irfft") or len(node.attrs["axes"]) < 2:
        return False
    shape = node.outputs[0].aval.shape
    given = node.inputs[0].aval.shape
    if shape is None or given is None:
        return False
    whole = given if node.op.name == "rfft" else shape
    return all(is_fit(whole[axis]) for axis in node.attrs["axes"])


def axis_by_axis(node: Node, x: Any, *length: Any) -> Any:
    """The transform in terms of those over one axis."""
    (*others, last), scaled = node.attrs["axes"], node.attrs["scaled"]
    if node.op.name == "rfft":
        x = rfft_p(x, axes=(last,), scaled=scaled, doubled=node.attrs["doubled"])
    for axis in others if node.op.name != "fft" else (last, *others):
        inverse = node.attrs.get("inverse", node.op.name == "irfft")
        x = fft_p(x, axes=(axis,), inverse=inverse, scaled=scaled)
    if node.op.name == "irfft":
        x = irfft_p(x, *length, axes=(last,), scaled=scaled, doubled=node.attrs["doubled"])
    return x
