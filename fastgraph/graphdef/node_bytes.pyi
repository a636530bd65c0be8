"""Operations as they are written. See node_bytes.pyx."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Aval
from fastgraph.core.primitive import Primitive
from fastgraph.core.tensor import EagerTensor
from fastgraph.graph.ir import Graph, Node, Value

T = TypeVar("T")

class Definition:
    """One operation as it is written: its name, type, inputs and attributes there."""

    node: Node
    name: str
    type: str
    inputs: tuple[Value, ...]
    attrs: dict[str, Any]
    control: tuple[str, ...]
    after: tuple[str, ...]
    loop: Node
    free: bool
    is_foreign: bool
    device: str | None
    outputs: tuple[Value, ...]
    slots: list[str]
    def __init__(
        self, node: Node, op: str, inputs: Sequence[Value], attrs: dict[str, Any], *, name: str | None = None
    ) -> None: ...

#: The attributes of an operation, its results in the signature, and [these attributes in bytes or None].
Made = tuple[dict[str, Any], list[str], list[bytes | None]]

def remembered(known: dict[Any, T], key: object, found: T) -> T:
    """Enter what was found in a table that begins anew once it is large."""

def key_of(
    kind: str, inputs: Iterable[Value], outputs: tuple[Value, ...], attrs: Mapping[str, Any], /,
) -> tuple[Any, ...] | None:
    """The key of attributes of an operation: its type, the dtypes of its tensors, those that are said."""

def defined_as(node: Node, kind: str, inputs: Iterable[Value], known: Made, /) -> Definition:
    """An operation of (attributes, results in the signature, [these attributes in bytes or None]), as others are."""

def tensor_of(array: object, dtype: DType | None = None) -> EagerTensor:
    """A tensor of elements; the one made before where they are few, and the same."""

def constant(array: object, node: Node, argument: str, dtype: DType | None = None) -> Node:
    """A const node, of no graph, for an argument that is an attribute of `node`."""

def constant_of(tensor: EagerTensor, node: Node, argument: str) -> Node:
    """A const node, of no graph, of a tensor."""

def node_beside(node: Node, aval: Aval, name: str) -> Node:
    """A node of no graph, with one result and without inputs, that stands for an operation which `node` needs."""

def const_definition(node: Node) -> Definition:
    """The definition of a const node."""

class Form:
    """The way in which nodes of a primitive with so many inputs and results are written."""

    def __init__(
        self,
        types: tuple[str, str],
        slots: list[str],
        fixed: dict[str, Any],
        said: Iterable[tuple[str, str, Callable[[Any, Node], Any] | None, bool]],
        of_inputs: Iterable[tuple[str, int | tuple[int, int]]],
        of_outputs: Iterable[tuple[str, int | tuple[int, int]]],
        arguments: Iterable[int | tuple[str, str, Callable[[Any, Node], Any], int | None]] | None = None,
    ) -> None: ...
    def definitions(self, node: Node) -> list[Definition]:
        """The definitions of a node: constants for what is an attribute here, then the operation."""

class Kind:
    """All that is to be known of a primitive before its nodes are written."""

    def __init__(self, form_of: Callable[[int, int], Form | None] | None, effect: bool, state: bool) -> None: ...

def settled(found: list[Definition], node: Node, graph: Graph, /) -> list[Definition]:
    """Give operations that a node is written as besides names that are no other's in the graph."""

def walked(
    graph: Graph,
    cache: dict[Node, list[Definition]],
    kinds: dict[Primitive, Kind],
    kind_of: Callable[[Primitive], Kind],
    other: Callable[[Node, list[Definition] | None], list[Definition]],
    held: Mapping[Node, EagerTensor], /,
) -> tuple[list[Definition], list[Node], list[Node]]:
    """The definitions of a graph's nodes, those nodes that may have effects, and those that are states."""

def without_unused(
    found: list[Definition], implied: set[Node], states: list[Node], outputs: list[Value], /,
) -> list[Definition]:
    """Leave out constants of Python values, conditions and states that no operation takes as it is written."""

def ancestors(nodes: Iterable[Node]) -> set[Node]:
    """The nodes and all that their inputs come from."""

def waiting_for_none(found: list[Definition]) -> dict[Node, Definition | None]:
    """Let no operation wait for any but its inputs; return by nodes those that have their names, or None."""

def named(found: list[Definition], names: dict[Value, str], by_slots: bool) -> None:
    """Enter what others call the results of operations: `name` and `name:1`, or by slots, as inside of functions."""

def varint(number: int) -> bytes:
    """An integer seven bits a byte; a negative one as 64 bits."""

def field(number: int, content: bytes, /) -> bytes:
    """A field that holds bytes."""

def text_field(number: int, text: str, /) -> bytes:
    """A field that holds a text."""

def opened(
    content: bytes,
    table: dict[int, tuple[Any, int]],
    message: Callable[[bytes, str], Any],
    take: Callable[[dict[str, Any], Any, bytes], None],
    number: Callable[[str, int, bytes, int], tuple[Any, int]], /,
) -> dict[str, Any]:
    """The fields of a message by their names, in which messages are `message(bytes, kind)`."""

def nodes_in_bytes(
    found: list[Definition],
    names: dict[Value, str],
    number: int,
    attributes: Callable[[dict[str, Any], Callable[[Graph], str]], bytes],
    name_of: Callable[[Graph], str],
    functions: Callable[[Definition], bytes],
    apart: frozenset[str], /,
) -> bytes:
    """Operations as NodeDefs, each as field `number` of a message; by 0 what one consists of."""

def unique_in(taken: set[str], name: str, /) -> str:
    """The name, or the first of name_1, name_2, ... that is not `taken`, which it joins."""

def function_in_bytes(
    name: str,
    parameters: list[Value],
    returned: list[Value],
    passed: frozenset[Value],
    found: list[Definition],
    arguments: list[tuple[bytes, bytes]],
    attributes: Callable[[dict[str, Any], Callable[[Graph], str]], bytes],
    name_of: Callable[[Graph], str],
    functions: Callable[[Definition], bytes],
    apart: frozenset[str], /,
) -> bytes:
    """A FunctionDef of these operations."""
