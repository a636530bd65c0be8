"""The types of messages: their fields by name, number and kind, and the enum DataType.

Rule: facts of the format and nothing else. Source: tensorflow/core/framework/*.proto.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from fastgraph.graphdef.saved_model_types import TABLE as SAVED_MODELS

if TYPE_CHECKING:
    from fastgraph.graphdef.messages import Message

_TYPES = [
    f"DT_{name}"
    for name in (
        *("INVALID", "FLOAT", "DOUBLE", "INT32", "UINT8", "INT16", "INT8", "STRING", "COMPLEX64", "INT64", "BOOL"),
        *("QINT8", "QUINT8", "QINT32", "BFLOAT16", "QINT16", "QUINT16", "UINT16", "COMPLEX128", "HALF", "RESOURCE"),
        *("VARIANT", "UINT32", "UINT64", "FLOAT8_E5M2", "FLOAT8_E4M3FN"),
        *("FLOAT8_E4M3FNUZ", "FLOAT8_E4M3B11FNUZ", "FLOAT8_E5M2FNUZ", "INT4", "UINT4", "INT2", "UINT2"),
    )
]
_NUMBERS = {name: number for number, name in enumerate(_TYPES)}


class Enum(int):
    """A value of the enum DataType: a number that prints its name in messages."""

    def __new__(cls, value: str | int) -> Self:
        return super().__new__(cls, _NUMBERS[value] if isinstance(value, str) else value)

    @property
    def name(self) -> str:
        """The name, "DT_FLOAT"; the number of a type that has none."""
        return _TYPES[self] if 0 <= self < len(_TYPES) else str(int(self))


#: Kind of field -> FieldDescriptor's TYPE and CPPTYPE, as the protobuf library numbers them.
_PROTO_TYPES = {
    "double": (1, 5), "float": (2, 6), "int": (3, 2), "uint64": (4, 4), "int32": (5, 1), "fixed32": (7, 3),
    "bool": (8, 7), "text": (9, 9), "bytes": (12, 9), "uint32": (13, 3), "type": (14, 8), "zigzag": (18, 2),
}  # fmt: skip
#: Fields of numbers that are int32 or uint: the JSON format writes those of 64 bits as text.
_NARROW = {
    **dict.fromkeys(("producer", "min_consumer", "bad_consumers", "version", "version_number", "int_val"), "int32"),
    **dict.fromkeys(("half_val", "height", "width", "colorspace", "data_class", "level", "node_id"), "int32"),
    **dict.fromkeys(("num_shards", "endianness", "shard_id"), "int32"),
    **dict.fromkeys(("original_variable_node_id", "slot_variable_node_id"), "int32"),
    "uint32_val": "uint32",
    "uint64_val": "uint64",
}
_ENUM_VALUES = [SimpleNamespace(name=name, number=number, has_options=False) for name, number in _NUMBERS.items()]
_DATA_TYPE = SimpleNamespace(
    name="DataType", full_name="tensorflow.DataType", is_closed=False, values=_ENUM_VALUES,
    values_by_name={value.name: value for value in _ENUM_VALUES},
    values_by_number={value.number: value for value in _ENUM_VALUES},
)  # fmt: skip
#: Kind of field -> what one that is not set reads as.
DEFAULTS = {"text": "", "bytes": b"", "int": 0, "zigzag": 0, "float": 0.0, "double": 0.0, "bool": False,
            "type": Enum(0), "fixed32": 0}  # fmt: skip


class _Field(NamedTuple):
    name: str
    number: int
    kind: str
    repeated: bool
    key: str | None
    oneof: str  # the group of those of which at most one is set, or ""


class Field(_Field):
    """A field: `kind` is a number's, text, bytes, or a message; `key` the kind of a map's keys.

    The rest is what the protobuf library's text and JSON formats ask of a descriptor.
    """

    __slots__ = ()
    is_extension = is_required = False
    full_name = property(lambda self: self.name)
    is_repeated = property(lambda self: self.repeated or self.key is not None)
    label = property(lambda self: 3 if self.is_repeated else 1)
    has_presence = property(lambda self: not self.is_repeated and bool(self.oneof or self.kind in KINDS))
    containing_oneof = property(lambda self: SimpleNamespace(name=self.oneof) if self.oneof else None)
    enum_type = property(lambda self: _DATA_TYPE if self.kind == "type" else None)
    default_value = property(lambda self: [] if self.is_repeated else DEFAULTS.get(self.kind))
    type = property(lambda self: self._numbers()[0])
    cpp_type = property(lambda self: self._numbers()[1])

    def _numbers(self) -> tuple[int, int]:
        if self.key is not None or self.kind in KINDS:
            return 11, 10
        return _PROTO_TYPES[_NARROW.get(self.name, self.kind)]

    @property
    def json_name(self) -> str:
        """The name in JSON: "floatList"."""
        first, *rest = self.name.split("_")
        return first + "".join([word[:1].upper() + word[1:] for word in rest])

    @property
    def message_type(self) -> Descriptor | None:
        """The type of a message, or of a map's entries; None for other fields."""
        if self.key is not None:
            return Descriptor("Entry", "tensorflow.Entry", entry_fields(self.key, self.kind), True)
        return KINDS[self.kind].DESCRIPTOR if self.kind in KINDS else None


class _Descriptor(NamedTuple):
    name: str
    full_name: str
    fields: tuple[Field, ...]
    has_options: bool = False  # only those of a map's entries have


class Descriptor(_Descriptor):
    """The name of a type of message, and its fields."""

    __slots__ = ()
    is_extendable = False
    containing_type = None
    file = SimpleNamespace(name="tensorflow")
    fields_by_name = property(lambda self: {field.name: field for field in self.fields})
    fields_by_number = property(lambda self: {field.number: field for field in self.fields})
    oneofs_by_name = property(lambda self: {oneof.name: oneof for oneof in self.oneofs})

    @property
    def oneofs(self) -> list[SimpleNamespace]:
        """The groups of fields of which at most one is set."""
        names = dict.fromkeys([field.oneof for field in self.fields if field.oneof])
        return [
            SimpleNamespace(
                name=name, full_name=f"{self.full_name}.{name}", index=index, containing_type=self, has_options=False,
                fields=[field for field in self.fields if field.oneof == name],
            )
            for index, name in enumerate(names)
        ]  # fmt: skip

    def GetOptions(self) -> Any:
        """Return the options of the type: `map_entry`."""
        return SimpleNamespace(map_entry=self.has_options, message_set_wire_format=False)


def entry_fields(key: str, kind: str) -> tuple[Field, Field]:
    """Return the fields of a map's entries."""
    return Field("key", 1, key, False, None, ""), Field("value", 2, kind, False, None, "")


#: Message -> "name=number:kind", "*" for many, "key>kind" for a map, "group|name" for one of which at most one is set.
_TABLE = {
    "GraphDef": "node=1:NodeDef* library=2:FunctionDefLibrary version=3:int versions=4:VersionDef",
    "VersionDef": "producer=1:int min_consumer=2:int bad_consumers=3:int*",
    "NodeDef": "name=1:text op=2:text input=3:text* device=4:text attr=5:text>AttrValue "
    "experimental_debug_info=6:ExperimentalDebugInfo",
    "ExperimentalDebugInfo": "original_node_names=1:text* original_func_names=2:text*",
    "AttrValue": "value|list=1:ListValue value|s=2:bytes value|i=3:int value|f=4:float value|b=5:bool "
    "value|type=6:type "
    "value|shape=7:TensorShapeProto value|tensor=8:TensorProto value|placeholder=9:text value|func=10:NameAttrList",
    "ListValue": "s=2:bytes* i=3:int* f=4:float* b=5:bool* type=6:type* shape=7:TensorShapeProto* "
    "tensor=8:TensorProto* func=9:NameAttrList*",
    "NameAttrList": "name=1:text attr=2:text>AttrValue",
    "TensorShapeProto": "dim=2:Dim* unknown_rank=3:bool",
    "Dim": "size=1:int name=2:text",
    "TensorProto": "dtype=1:type tensor_shape=2:TensorShapeProto version_number=3:int tensor_content=4:bytes "
    "float_val=5:float* double_val=6:double* int_val=7:int* string_val=8:bytes* scomplex_val=9:float* "
    "int64_val=10:int* bool_val=11:bool* dcomplex_val=12:double* half_val=13:int* uint32_val=16:int* "
    "uint64_val=17:int*",
    "FunctionDefLibrary": "function=1:FunctionDef* gradient=2:GradientDef* registered_gradients=3:RegisteredGradient*",
    "RegisteredGradient": "gradient_func=1:text registered_op_type=2:text",
    "GradientDef": "function_name=1:text gradient_func=2:text",
    "FunctionDef": "signature=1:OpDef node_def=3:NodeDef* ret=4:text>text attr=5:text>AttrValue "
    "control_ret=6:text>text arg_attr=7:int>ArgAttrs",
    "ArgAttrs": "attr=1:text>AttrValue",
    "OpDef": "name=1:text input_arg=2:ArgDef* output_arg=3:ArgDef* summary=5:text description=6:text "
    "is_stateful=17:bool control_output=20:text*",
    "ArgDef": "name=1:text description=2:text type=3:type type_attr=4:text number_attr=5:text type_list_attr=6:text "
    "handle_data=7:DtypeAndShape*",
    "DtypeAndShape": "dtype=1:type shape=2:TensorShapeProto",
    # Event files
    "Event": "wall_time=1:double step=2:int what|file_version=3:text what|graph_def=4:bytes what|summary=5:Summary "
    "what|log_message=6:LogMessage what|session_log=7:SessionLog what|tagged_run_metadata=8:TaggedRunMetadata "
    "what|meta_graph_def=9:bytes source_metadata=10:SourceMetadata",
    "Summary": "value=1:Value*",
    "Value": "tag=1:text value|simple_value=2:float value|obsolete_old_style_histogram=3:bytes value|image=4:Image "
    "value|histo=5:HistogramProto value|audio=6:Audio node_name=7:text value|tensor=8:TensorProto "
    "metadata=9:SummaryMetadata",
    "SummaryMetadata": "plugin_data=1:PluginData display_name=2:text summary_description=3:text data_class=4:int",
    "PluginData": "plugin_name=1:text content=2:bytes",
    "Image": "height=1:int width=2:int colorspace=3:int encoded_image_string=4:bytes",
    "Audio": "sample_rate=1:float num_channels=2:int length_frames=3:int encoded_audio_string=4:bytes "
    "content_type=5:text",
    "HistogramProto": "min=1:double max=2:double num=3:double sum=4:double sum_squares=5:double bucket_limit=6:double* "
    "bucket=7:double*",
    "LogMessage": "level=1:int message=2:text",
    "SessionLog": "status=1:int checkpoint_path=2:text msg=3:text",
    "TaggedRunMetadata": "tag=1:text run_metadata=2:bytes",
    "SourceMetadata": "writer=1:text",
    # Examples
    "Example": "features=1:Features",
    "Features": "feature=1:text>Feature",
    "Feature": "kind|bytes_list=1:BytesList kind|float_list=2:FloatList kind|int64_list=3:Int64List",
    "BytesList": "value=1:bytes*",
    "FloatList": "value=1:float*",
    "Int64List": "value=1:int*",
    "SequenceExample": "context=1:Features feature_lists=2:FeatureLists",
    "FeatureLists": "feature_list=1:text>FeatureList",
    "FeatureList": "feature=1:Feature*",
    # Checkpoints
    "BundleHeader": "num_shards=1:int endianness=2:int version=3:VersionDef",
    "BundleEntry": "dtype=1:type shape=2:TensorShapeProto shard_id=3:int offset=4:int size=5:int crc32c=6:fixed32 "
    "slices=7:TensorSlice*",
    "TensorSlice": "extent=1:Extent*",
    "Extent": "start=1:int has_length|length=2:int",
    "TrackableObjectGraph": "nodes=1:TrackableObject*",
    "TrackableObject": "children=1:ObjectReference* attributes=2:SerializedTensor* slot_variables=3:SlotVariable* "
    "registered_saver=4:RegisteredSaver has_checkpoint_values=5:BoolValue",
    "ObjectReference": "node_id=1:int local_name=2:text",
    "SerializedTensor": "name=1:text full_name=2:text checkpoint_key=3:text",
    "SlotVariable": "original_variable_node_id=1:int slot_name=2:text slot_variable_node_id=3:int",
    "RegisteredSaver": "name=1:text object_name=2:text",
    "BoolValue": "value=1:bool",
    "CheckpointState": "model_checkpoint_path=1:text all_model_checkpoint_paths=2:text* "
    "all_model_checkpoint_timestamps=3:double* last_preserved_timestamp=4:double",
    **SAVED_MODELS,
}


def _field(text: str) -> Field:
    group, _, rest = text.rpartition("|")
    name, _, rest = rest.partition("=")
    number, _, kind = rest.partition(":")
    key, arrow, value = kind.partition(">")
    return Field(name, int(number), (value if arrow else kind).rstrip("*"), kind.endswith("*"),
                 key if arrow else None, group)  # fmt: skip


#: The fields of each type of message, in the order of their numbers.
FIELDS: dict[str, tuple[Field, ...]] = {
    name: tuple(sorted([_field(each) for each in text.split()], key=lambda field: field.number))
    for name, text in _TABLE.items()
}
#: The classes of messages by name; messages.py makes them.
KINDS: dict[str, type[Message]] = {}
