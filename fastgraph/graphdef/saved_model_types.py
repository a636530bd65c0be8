"""The types of the messages that a SavedModel consists of, as message_types.py has those of GraphDefs.

Rule: facts of the format and nothing else. Source: tensorflow/core/protobuf/{saved_model, meta_graph, saver, struct,
saved_object_graph, fingerprint}.proto; a message that two of them name alike has a name of its own here.
"""

from __future__ import annotations

TABLE = {
    "SnapshotMetadata": "graph_hash=1:text run_id=2:text creation_timestamp=3:int version=4:int dtype=5:type* "
    "num_elements=6:int finalized=1000:bool",
    "SavedModel": "saved_model_schema_version=1:int meta_graphs=2:MetaGraphDef*",
    "MetaGraphDef": "meta_info_def=1:MetaInfoDef graph_def=2:GraphDef saver_def=3:SaverDef "
    "collection_def=4:text>CollectionDef signature_def=5:text>SignatureDef asset_file_def=6:AssetFileDef* "
    "object_graph_def=7:SavedObjectGraph",
    "MetaInfoDef": "meta_graph_version=1:text stripped_op_list=2:OpList tags=4:text* tensorflow_version=5:text "
    "tensorflow_git_version=6:text stripped_default_attrs=7:bool function_aliases=8:text>text",
    "OpList": "op=1:OpDef*",
    "SaverDef": "filename_tensor_name=1:text save_tensor_name=2:text restore_op_name=3:text max_to_keep=4:int "
    "sharded=5:bool keep_checkpoint_every_n_hours=6:float version=7:int",
    "CollectionDef": "kind|node_list=1:NodeList kind|bytes_list=2:BytesList",
    "NodeList": "value=1:text*",
    "BytesList": "value=1:bytes*",
    "SignatureDef": "inputs=1:text>TensorInfo outputs=2:text>TensorInfo method_name=3:text defaults=4:text>TensorProto",
    "TensorInfo": "encoding|name=1:text encoding|coo_sparse=4:CooSparse encoding|composite_tensor=5:CompositeInfo "
    "dtype=2:type tensor_shape=3:TensorShapeProto",
    "CooSparse": "values_tensor_name=1:text indices_tensor_name=2:text dense_shape_tensor_name=3:text",
    "CompositeInfo": "type_spec=1:TypeSpecProto components=2:TensorInfo*",
    "AssetFileDef": "tensor_info=1:TensorInfo filename=2:text",
    # The objects
    "SavedObjectGraph": "nodes=1:SavedObject* concrete_functions=2:text>SavedConcreteFunction",
    "SavedObject": "children=1:ObjectReference* dependencies=15:ObjectReference* slot_variables=3:SlotVariable* "
    "kind|user_object=4:SavedUserObject kind|asset=5:SavedAsset kind|function=6:SavedFunction "
    "kind|variable=7:SavedVariable kind|bare_concrete_function=8:SavedBareConcreteFunction "
    "kind|constant=9:SavedConstant kind|resource=10:SavedResource kind|captured_tensor=12:CapturedTensor "
    "saveable_objects=11:text>SaveableObject registered_name=13:text registered_saver=16:text",
    "SavedUserObject": "identifier=1:text version=2:VersionDef metadata=3:text",
    "SavedAsset": "asset_file_def_index=1:int",
    "SavedFunction": "concrete_functions=1:text* function_spec=2:FunctionSpecProto",
    "CapturedTensor": "name=1:text concrete_function=2:text",
    "SavedConcreteFunction": "bound_inputs=2:int* canonicalized_input_signature=3:StructuredValue "
    "output_signature=4:StructuredValue",
    "SavedBareConcreteFunction": "concrete_function_name=1:text argument_keywords=2:text* "
    "allowed_positional_arguments=3:int function_spec=4:FunctionSpecProto",
    "SavedConstant": "operation=1:text",
    "SavedVariable": "dtype=1:type shape=2:TensorShapeProto trainable=3:bool synchronization=4:int aggregation=5:int "
    "name=6:text device=7:text",
    "FunctionSpecProto": "fullargspec=1:StructuredValue is_method=2:bool input_signature=5:StructuredValue "
    "jit_compile=6:int",
    "SavedResource": "device=1:text",
    "SaveableObject": "save_function=2:int restore_function=3:int",
    # Structures of Python values
    "StructuredValue": "kind|none_value=1:StructuredNone kind|float64_value=11:double kind|int64_value=12:zigzag "
    "kind|string_value=13:text kind|bool_value=14:bool kind|tensor_shape_value=31:TensorShapeProto "
    "kind|tensor_dtype_value=32:type kind|tensor_spec_value=33:TensorSpecProto kind|type_spec_value=34:TypeSpecProto "
    "kind|bounded_tensor_spec_value=35:TensorSpecProto kind|list_value=51:StructuredItems "
    "kind|tuple_value=52:StructuredItems kind|dict_value=53:StructuredDict "
    "kind|named_tuple_value=54:StructuredFields kind|tensor_value=55:TensorProto kind|numpy_value=56:TensorProto",
    "StructuredNone": "",
    "StructuredItems": "values=1:StructuredValue*",
    "StructuredDict": "fields=1:text>StructuredValue",
    "StructuredPair": "key=1:text value=2:StructuredValue",
    "StructuredFields": "name=1:text values=2:StructuredPair*",
    "TensorSpecProto": "name=1:text shape=2:TensorShapeProto dtype=3:type",
    "TypeSpecProto": "type_spec_class=1:int type_state=2:StructuredValue type_spec_class_name=3:text "
    "num_flat_components=4:int",
    "FingerprintDef": "saved_model_checksum=1:int graph_def_program_hash=2:int signature_def_hash=3:int "
    "saved_object_graph_hash=4:int checkpoint_hash=5:int uuid=7:text version=6:VersionDef",
}
