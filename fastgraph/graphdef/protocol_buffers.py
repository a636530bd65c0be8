"""Messages as protocol buffers, where the tensorboard package is there."""

from __future__ import annotations

import functools
from typing import Any

from fastgraph.graphdef.wire_format import parsed, sealed_message, serialized


def _text(buffer: Any) -> str:
    """The text of a protocol buffer: a Message's, if a Message has all of its fields."""
    kind = type(buffer).__name__
    content = buffer.SerializeToString()
    message = parsed(content, kind)
    if len(serialized(message)) == len(content):
        return str(message)
    from google.protobuf import text_format

    return str(text_format.MessageToString(buffer))


def _pickled(buffer: Any) -> Any:
    return _unpickled, (type(buffer).__name__, buffer.SerializeToString())


def _unpickled(kind: str, content: bytes) -> Any:
    classes = _protocol_buffers()
    return parsed(content, kind) if classes is None else classes[kind].FromString(content)


@functools.cache
def _protocol_buffers() -> dict[str, Any] | None:
    """Protocol buffers by name, made from the descriptors of the tensorboard package; None if it is not there.

    Their text is a Message's: maps by key, where protobuf's `upb` turns them round. They are classes in a pool of their
    own, for those of the package print as it likes.
    """
    try:
        from google.protobuf import descriptor_pool, message_factory
        from tensorboard.compat.proto import function_pb2, graph_pb2, node_def_pb2, tensor_pb2, tensor_shape_pb2
    except ImportError:
        return None
    pool = descriptor_pool.DescriptorPool()
    known: set[str] = set()

    def add(file: Any) -> None:
        if file.name not in known:
            known.add(file.name)
            for each in file.dependencies:
                add(each)
            pool.AddSerializedFile(file.serialized_pb)

    found = {}
    for given in (
        function_pb2.FunctionDef,
        graph_pb2.GraphDef,
        node_def_pb2.NodeDef,
        tensor_pb2.TensorProto,
        tensor_shape_pb2.TensorShapeProto,
    ):
        add(given.DESCRIPTOR.file)
        kind: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName(given.DESCRIPTOR.full_name))
        kind.__str__ = kind.__repr__ = _text
        kind.__reduce__ = _pickled
        found[given.__name__] = kind
    return found


def as_protocol_buffer(kind: str, content: bytes) -> Any:
    """Return the message of type `kind` that bytes hold, a protocol buffer if the tensorboard package is there."""
    classes = _protocol_buffers()
    return sealed_message(content, kind) if classes is None else classes[kind].FromString(content)
