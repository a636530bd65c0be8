"""Graphs of TensorFlow 1's kind for its tests of tf.data: sessions that run parts of a tf.Graph, iterators in one.

Rule: a run interprets the nodes that the fetches need, as they stand in the graph. An iterator's place is outside of the
graph, which knows it by its number. There is no TensorFlow 1 in fastgraph: this is what its tests' graph mode needs.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

import fastgraph
from fastgraph.composites.composite_values import evaluated
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import int64
from fastgraph.core.tensor import EagerTensor, convert, current_trace, init_scope
from fastgraph.data import dataset_ops
from fastgraph.data.element_specs import packed
from fastgraph.data.handles import Handled, resolve
from fastgraph.data.iterators import IteratorBase
from fastgraph.data.optionals import Optional
from fastgraph.data.sources import Cursor
from fastgraph.errors import FailedPreconditionError
from fastgraph.graph import ir
from fastgraph.graph.interpreter import interpret
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graphdef.default_graph import DefaultGraphTrace
from fastgraph.saving.checkpoint import write_checkpoint
from fastgraph.saving.checkpoint_state import update_checkpoint_state

_kept: list[Any] = []


class Step:
    """What a session runs that is no op of the graph."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act


def nothing(*_: Any, **__: Any) -> Step | None:
    """An initializer of what is initialized where it is made."""
    return None if current_trace() is None else Step(lambda: None)


def ragged_value(*args: Any, **kwargs: Any) -> Any:
    """Return a RaggedTensorValue."""
    with init_scope():
        return evaluated(fastgraph.ragged.constant(*args, **kwargs))


def inside_function() -> bool:
    """Whether a Function is being traced: not a graph that a program makes."""
    trace: Any = current_trace()
    return trace is not None and trace.root.kind != "graph"


def _part(graph: ir.Graph, outputs: list[Any], operations: set[Any], fed: list[Any]) -> ir.Graph:
    """The nodes that some values and operations need, with `fed` for inputs."""
    part = ir.Graph(graph.name)
    live, wanted, kept = set(outputs), set(operations), []
    given = {value.node for value in fed}
    for node in reversed(graph.nodes):
        if node in given or node in wanted or not live.isdisjoint(node.outputs):
            kept.append(node)
            if node not in given:
                live.update(node.inputs)
                wanted.update(graph.control.get(node, ()))
    part.nodes, part.inputs, part.outputs = kept[::-1], fed, outputs
    part.captures = [pair for pair in graph.captures if pair[1] in live]
    return part


def _operation_node(leaf: Any) -> Any:
    return leaf._definition.node if hasattr(leaf, "_definition") else None


def _results(leaves: list[Any], feed_dict: Any = None) -> dict[Any, Any]:
    """Run what some tensors, operations and steps need; return the tensors by value."""
    symbolic = [leaf for leaf in leaves if isinstance(leaf, SymbolicTensor)]
    operations = {node for leaf in leaves if (node := _operation_node(leaf)) is not None}
    for leaf in leaves:
        if isinstance(leaf, Step):
            leaf.act()
    if not (symbolic or operations):
        return {}
    trace: Any = symbolic[0].trace if symbolic else current_trace()
    fed = {key.value: value for key, value in (feed_dict or {}).items()}
    outputs = list(dict.fromkeys([leaf.value for leaf in symbolic]))
    part = _part(trace.graph, outputs, operations, list(fed))
    held = [cell() if isinstance(cell, weakref.ref) else cell for cell, _ in part.captures]
    with init_scope():
        given = [convert(value, key.aval.dtype) for key, value in fed.items()]
        return dict(zip(outputs, interpret(part, [*given, *held]), strict=True))


def run(fetches: Any, feed_dict: Any = None) -> Any:
    """Return the values of tensors in structures."""
    leaves = nesting.flatten(fetches, expand_composites=True)
    results = _results(leaves, feed_dict)

    def value(leaf: Any) -> Any:
        if isinstance(leaf, SymbolicTensor):
            return results[leaf.value]
        return None if isinstance(leaf, Step) or _operation_node(leaf) is not None else leaf

    with init_scope():
        whole = nesting.pack_sequence_as(fetches, [value(leaf) for leaf in leaves], expand_composites=True)
        return nesting.map_structure(evaluated, whole)


class Session:
    """A session: `run` gives the values of tensors of a graph."""

    def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
        self.graph = graph

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        """Do nothing: a session keeps nothing."""

    def run(self, fetches: Any, feed_dict: Any = None, **_: Any) -> Any:
        """Return the values of tensors in structures."""
        return run(fetches, feed_dict)

    def make_callable(self, fetches: Any) -> Callable[[], Any]:
        """Return a function that runs them."""
        return lambda: run(fetches)


class Place(Handled):
    """Where an iterator of a graph is."""

    cursor: Cursor | None = None

    def __init__(self, dataset: Any, ready: bool) -> None:
        self.dataset, self.ready = dataset, ready

    def begin(self) -> None:
        """Begin a pass over the dataset as it is now."""
        source = self.dataset.source
        if source is None:
            (handle,) = _results([self.dataset.handle]).values()
            source = resolve(handle)
        self.cursor = Cursor(source)

    def _cursor(self) -> Cursor:
        if self.cursor is None:
            if not self.ready:
                raise FailedPreconditionError(
                    None, None, "GetNext() failed because the iterator has not been initialized."
                )
            self.begin()
        assert self.cursor is not None
        return self.cursor

    def take(self) -> Any:
        """Return the next element."""
        return self._cursor().take()

    def has_next(self) -> bool:
        """Whether there is one."""
        return self._cursor().has_next()


class GraphIterator(IteratorBase):
    """An iterator whose place is known to a graph."""

    def __init__(self, dataset: Any, ready: bool) -> None:
        self._spec = dataset.element_spec
        self.place = Place(dataset, ready)
        _kept.append(self.place)
        self.initializer = Step(self.place.begin)

    @property
    def handle(self) -> Any:
        return convert(self.place.number, int64)

    def __next__(self) -> Any:
        raise TypeError("an iterator of a graph is advanced by get_next()")

    def get_next(self, name: Any = None) -> Any:
        return packed(self._spec, dataset_ops.get_next(self.handle, self._spec))

    def get_next_as_optional(self) -> Optional:
        has_value, *components = dataset_ops.get_next_as_optional(self.handle, self._spec)
        return Optional(self._spec, has_value, components)


def one_shot(dataset: Any, *_: Any) -> Any:
    """Return an iterator that begins when it is first asked."""
    return iter(dataset) if current_trace() is None else GraphIterator(dataset, True)


def initializable(dataset: Any, *_: Any, **__: Any) -> Any:
    """Return an iterator that its initializer begins."""
    if current_trace() is None:
        raise RuntimeError("dataset.make_initializable_iterator is not supported when eager execution is enabled.")
    return GraphIterator(dataset, False)


def install(case: Any) -> None:
    """Let tests' `evaluate` and `session` work in graphs, and graphs take eager tensors as constants."""
    eagerly, session, capture = case.evaluate, case.session, DefaultGraphTrace._capture

    def evaluate(self: Any, tensors: Any) -> Any:
        if current_trace() is None:
            return eagerly(self, tensors)
        return run(tensors() if callable(tensors) and not isinstance(tensors, SymbolicTensor) else tensors)

    @contextlib.contextmanager
    def of_graph(self: Any, graph: Any = None, *args: Any, **kwargs: Any) -> Iterator[Any]:
        if current_trace() is None and graph is None:
            with session(self, *args, **kwargs) as found:
                yield found
        else:
            with graph.as_default() if graph is not None else contextlib.nullcontext():
                yield Session(graph=graph)

    def constant(self: Any, tensor: Any, key: object, aval: Any) -> Any:
        return self.constant(tensor).value if isinstance(tensor, EagerTensor) else capture(self, tensor, key, aval)

    case.evaluate = evaluate
    case.session = case.cached_session = case.test_session = of_graph
    DefaultGraphTrace._capture = constant  # type: ignore[method-assign]


# ---- savers: what the state of iterators is saved by


class Saver:
    """Keeps where the iterators of a graph are, and the graph's collections for whoever imports it."""

    def __init__(self, var_list: Any = None, allow_empty: bool = False, **_: Any) -> None:
        self.collections = current_trace().graph.public._collections  # type: ignore[union-attr]

    def _places(self) -> list[Place]:
        return [each for each in self.collections.get(SAVEABLES, ()) if isinstance(each, Place)]

    def save(self, session: Any, path: str, *_: Any, **__: Any) -> str:
        """Write a checkpoint."""
        with init_scope():
            places = enumerate(self._places())
            write_checkpoint(path, {f"iterator_{i}": np.array(place._cursor().state(), object) for i, place in places})
            update_checkpoint_state(os.path.dirname(path), path)
        Path(path + ".meta").write_text("a graph in memory")
        _metas[path + ".meta"] = self
        return path

    def restore(self, session: Any, path: str) -> None:
        """Let the iterators go where they were."""
        with init_scope():
            reader = fastgraph.train.load_checkpoint(path)
            for i, place in enumerate(self._places()):
                place._cursor().go_to(reader.get_tensor(f"iterator_{i}"))


_metas: dict[str, Saver] = {}
SAVEABLES = "saveable_objects"


class GraphKeys:
    """The names of collections."""

    SAVEABLE_OBJECTS = SAVEABLES


def import_meta_graph(path: str, *_: Any, **__: Any) -> Saver:
    """Return the saver of a graph, whose collections are now those of the default graph too."""
    for name, values in _metas[path].collections.items():
        for value in values:
            add_to_collection(name, value)
    return _metas[path]


def make_saveable(iterator: Any, external_state_policy: Any = None) -> Any:
    """Return what a Saver keeps of an iterator."""
    return iterator.place


def add_to_collection(name: str, value: Any) -> None:
    """Add to a collection of the default graph."""
    current_trace().graph.public._collections.setdefault(name, []).append(value)  # type: ignore[union-attr]


def get_collection(name: str) -> list[Any]:
    """Return a collection of the default graph."""
    return list(current_trace().graph.public._collections.get(name, ()))  # type: ignore[union-attr]
