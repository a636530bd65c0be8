"""Drawings of models: tf.keras.utils.model_to_dot and plot_model, by pydot and graphviz."""

from __future__ import annotations

import itertools
import os
from typing import Any

from fastgraph.core.base.paths import local_path


def model_to_dot(
    model: Any, show_shapes: bool = False, show_dtype: bool = False, show_layer_names: bool = True,
    rankdir: str = "TB", expand_nested: bool = False, dpi: int = 96, **kwargs: Any,
) -> Any:  # fmt: skip
    """Return a model as a pydot graph: a box for each layer, an arrow for each tensor. Source: tf.keras.utils.

    Raises ImportError without pydot, ValueError for a model that is not built.
    """
    try:
        import pydot  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError(
            "You must install pydot (`pip install pydot`) and install graphviz (see instructions at "
            "https://graphviz.gitlab.io/download/) for plot_model to work."
        ) from error
    if not model.built:
        raise ValueError("This model has not yet been built: call it, or `build` it.")
    graph = pydot.Dot(graph_type="digraph", rankdir=rankdir, dpi=str(dpi), concentrate="true")
    parts = list(getattr(model, "_layers", None) or model.layers)
    for part in parts:
        text = f"{part.name} : {type(part).__name__}" if show_layer_names else type(part).__name__
        text += f" ({part.dtype})" if show_dtype else ""
        if show_shapes:
            shapes = [getattr(part, name, "?") for name in ("input_shape", "output_shape")]
            text += f"\\ninput: {shapes[0]}\\noutput: {shapes[1]}"
        graph.add_node(pydot.Node(str(id(part)), label=text, shape="box"))
    network = getattr(model, "_network", None)
    if network is None:
        edges = {(id(one), id(other)) for one, other in itertools.pairwise(parts)} if hasattr(model, "add") else set()
    else:
        edges = {(id(t.node.layer), id(node.layer)) for node in network.nodes for t in node.inputs}
    for one, other in sorted(edges):
        graph.add_edge(pydot.Edge(str(one), str(other)))
    return graph


def plot_model(model: Any, to_file: str = "model.png", **kwargs: Any) -> Any:
    """Write a drawing of a model, in the format that the name says. Takes what `model_to_dot` takes."""
    graph = model_to_dot(model, **kwargs)
    to_file = local_path(to_file)
    graph.write(to_file, format=os.path.splitext(to_file)[1][1:] or "png")
    try:
        from IPython import display  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return None
    return display.Image(filename=to_file) if to_file.endswith("png") else None
