"""The tables of public names: which there are besides ops, where each lives, what stands for those that are missing.

Rule: rows alone, looked up by `namespaces.py`. Nothing of fastgraph is imported here: they are read at every start.
"""

from __future__ import annotations

from collections.abc import Iterable

#: Public modules that no file stands for, and what is found in each.
NAMESPACES: dict[str, str] = {
    "audio": "sounds from the bytes of files",
    "autodiff": "automatic differentiation by its other name",
    "autograph": "Python control flow on tensors",
    "autograph.experimental": "how AutoGraph treats single functions",
    "bitwise": "operations on the bits of integers",
    "compat.v1": "names of TensorFlow 1 that have no other",
    "compat.v1.train": "event files, read",
    "config": "devices, threads, and how Functions run",
    "config.experimental": "settings that may still change",
    "config.optimizer": "which passes run over graphs",
    "config.threading": "how many threads run kernels",
    "debugging": "checks of values, kept in graphs",
    "distribute": "a program on several devices and machines",
    "distribute.experimental": "strategies and values of replicas that may still change",
    "distribute.cluster_resolver": "which processes take part",
    "dtypes": "the element types of tensors",
    "dtypes.experimental": "types in which numbers are kept, not computed",
    "experimental": "what may still change",
    "experimental.dtensor": "tensors spread over devices: its names are not built",
    "experimental.extension_type": "fields of extension types",
    "experimental.numpy": "functions of arrays by NumPy's names",
    "experimental.numpy.random": "random numbers by NumPy's names",
    "experimental.dlpack": "tensors shared with other libraries",
    "linalg": "linear algebra",
    "linalg.experimental": "systems solved by products alone",
    "graph_util": "GraphDefs as graphs",
    "image": "images of other sizes, colours and places",
    "io": "files, and what their bytes say",
    "io.gfile": "files and directories by paths",
    "initializers": "tf.keras.initializers by its short name",
    "keras.datasets": "small data sets",
    "keras.datasets.boston_housing": "prices of houses",
    "keras.datasets.cifar10": "photographs in ten classes",
    "keras.datasets.fashion_mnist": "pictures of clothes",
    "keras.datasets.imdb": "film reviews",
    "keras.datasets.mnist": "digits written by hand",
    "keras.datasets.reuters": "news by topic",
    "keras.layers.experimental": "layers by an older name",
    "keras.layers.experimental.preprocessing": "preprocessing layers by an older name",
    "keras.metrics.experimental": "metrics in Python",
    "keras.optimizers.experimental": "tf.keras.optimizers by an older name",
    "keras.preprocessing": "data in files and lists, by older names",
    "keras.preprocessing.image": "images as arrays and files",
    "keras.preprocessing.sequence": "lists of different lengths",
    "keras.saving": "models and other objects as configs and files",
    "keras.utils": "files, labels, seeds, progress",
    "lookup": "tables from keys to values",
    "lookup.experimental": "tables that change",
    "losses": "tf.keras.losses by its short name",
    "math": "mathematical functions",
    "math.special": "mathematical functions that are rarely met",
    "metrics": "tf.keras.metrics by its short name",
    "nest": "values in nested lists, tuples and dicts",
    "nn": "functions for neural networks",
    "nn.experimental": "functions for neural networks that may still change",
    "optimizers": "tf.keras.optimizers by its short name",
    "profiler": "where the time of compiled calls goes",
    "profiler.experimental": "recordings that are written below a log directory",
    "quantization": "numbers as few bits would hold them",
    "queue": "elements between threads, in order, by priority or shuffled",
    "ragged": "rows of different lengths",
    "random": "random numbers",
    "random.experimental": "functions of random numbers that may still change",
    "saved_model": "SavedModels: written and read in TensorFlow's format",
    "saved_model.experimental": "options of SavedModels that may still change",
    "sets": "the last axis as sets",
    "signal": "Fourier and cosine transforms, frames and windows of signals",
    "raw_ops": "operations by TensorFlow's names of them, where programs use those",
    "sparse": "tensors that are mostly zero",
    "strings": "functions of string tensors",
    "summary": "graphs and scalars for TensorBoard",
    "summary.experimental": "the step of summaries",
    "sysconfig": "how this fastgraph was built",
    "test": "test cases whose asserts take tensors, and what tests ask for",
    "test.experimental": "what tests may wait for",
    "train": "values of objects in files, and back: checkpoints",
    "train.experimental": "objects whose state is a Python text, and which of a checkpoint's files has what",
    "types": "what may stand where",
    "types.experimental": "how arguments of traced functions are told apart",
    "types.experimental.distributed": "values of which each replica has its own",
    "version": "the version of the API and of fastgraph",
}

_DTYPES = (
    "bfloat16 complex64 complex128 double float16 float32 float64 half int8 int16 int32 int64 qint8 qint16 qint32 "
    "quint8 quint16 resource string uint8 uint16 uint32 uint64 variant"
)

_STORED = (
    "float4_e2m1fn float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz int2 int4 uint2 uint4"
)


def _same(module: str, names: str, namespaces: Iterable[str] = ("",)) -> dict[str, str]:
    """Rows for names that are called the same inside."""
    return {joined(space, name): f"{module}:{name}" for space in namespaces for name in names.split()}


def joined(namespace: str, name: str) -> str:
    """Return the full name of a name in a namespace, "" being fastgraph itself."""
    return f"{namespace}.{name}" if namespace else name


#: Public name -> "module:attribute" within fastgraph, for all that is not an op.
PUBLIC: dict[str, str] = {
    **_same("core.base.dtype", "DType as_dtype", ("", "dtypes")),
    **_same("core.base.dtype", _DTYPES, ("", "dtypes")),
    "bool": "core.base.dtype:bool_",
    "dtypes.bool": "core.base.dtype:bool_",
    **_same("core.base.dtype", _STORED, ("dtypes.experimental", "experimental")),
    "dtypes.QUANTIZED_DTYPES": "core.base.dtype:QUANTIZED_DTYPES",
    **_same("core.base.shapes", "TensorShape"),
    **_same("core.base.type_specs", "NoneTensorSpec TensorSpec TypeSpec type_spec_from_value"),
    **_same("core.base.nesting", "assert_same_structure flatten is_nested map_structure pack_sequence_as", ("nest",)),
    **_same("core.tensor", "Tensor executing_eagerly init_scope"),
    "raw_ops.CudnnRNN": "ops.cudnn_rnn:cudnn_rnn_of_one_length",
    "raw_ops.CudnnRNNV3": "ops.cudnn_rnn:cudnn_rnn",
    **_same("core.unimplemented_classes", "DTensorDataset DVariable", ("experimental.dtensor",)),
    **_same("core.unimplemented_classes", "PreemptionCheckpointHandler coordinator", ("distribute.experimental",)),
    **_same("core.conversion", "constant convert_to_tensor is_tensor register_tensor_conversion_function"),
    "newaxis": "api.namespaces:NEWAXIS",
    **_same("core.tape.gradient_tape", "GradientTape UnconnectedGradients"),
    "autodiff.GradientTape": "core.tape.gradient_tape:GradientTape",
    "autodiff.ForwardAccumulator": "core.tape.forward_mode:ForwardAccumulator",
    **_same("ops.custom_gradients", "custom_gradient grad_pass_through recompute_grad"),
    **_same("graph.differentiate", "gradients hessians AggregationMethod"),
    "Graph": "graphdef.graph_view:Graph",
    "Operation": "graphdef.graph_view:Operation",
    **_same("summaries.writers", "SummaryWriter create_file_writer create_noop_writer flush graph", ("summary",)),
    **_same("summaries.writers", "record_if should_record_summaries write", ("summary",)),
    **_same("summaries.writers", "get_step set_step write_raw_pb", ("summary.experimental",)),
    **_same("summaries.summary_ops", "audio histogram image scalar text", ("summary",)),
    "summary.experimental.summary_scope": "summaries.summary_ops:summary_scope",
    "compat.v1.train.summary_iterator": "graphdef.event_files:summary_iterator",
    "make_tensor_proto": "graphdef.exporter:make_tensor_proto",
    "make_ndarray": "graphdef.import_values:make_ndarray",
    **_same("summaries.graph_traces", "trace_export trace_off trace_on", ("summary",)),
    **_same("graphdef.importer", "import_graph_def", ("", "graph_util")),
    "saved_model.load": "saving.saved_model_loader:load",
    "saved_model.save": "saving.saved_model_saver:save",
    **_same("saving.saved_model_options", "LoadOptions SaveOptions", ("saved_model",)),
    "saved_model.experimental.VariablePolicy": "saving.saved_model_options:VariablePolicy",
    "saved_model.experimental.TrackableResource": "state.tracking:TrackableResource",
    **_same("saving.saved_model_files", "Fingerprint read_fingerprint", ("saved_model.experimental",)),
    "saved_model.Asset": "saving.saved_model_objects:Asset",
    **_same("saving.saved_model_files", "contains_saved_model", ("saved_model",)),
    **_same(
        "saving.saved_model_files",
        "ASSETS_DIRECTORY ASSETS_KEY CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES "
        "CLASSIFY_OUTPUT_SCORES DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB DEFAULT_SERVING_SIGNATURE_DEF_KEY GPU "
        "PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS "
        "SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION SERVING TPU TRAINING "
        "VARIABLES_DIRECTORY VARIABLES_FILENAME",
        ("saved_model",),
    ),
    **_same("graph.map_and_scan", "map_fn scan foldl foldr"),
    "vectorized_map": "graph.vectorized_map:vectorized_map",
    **_same("state.variable", "Variable VariableAggregation VariableSynchronization variable_creator_scope"),
    **_same(
        "state.random_generator",
        "Generator create_rng_state get_global_generator set_global_generator",
        ("random", "random.experimental"),
    ),
    **_same("ops.random_algorithms", "Algorithm", ("random", "random.experimental")),
    **_same("core.name_scopes", "name_scope"),
    "image.ResizeMethod": "ops.image_resizing:ResizeMethod",
    **_same("staging.signature.trace_types", "SupportsTracingProtocol TraceType", ("types.experimental",)),
    "types.experimental.AtomicFunction": "staging.atomic_function:AtomicFunction",
    "types.experimental.Callable": "staging.concrete_function:ConcreteFunction",
    "types.experimental.ConcreteFunction": "staging.concrete_function:ConcreteFunction",
    "types.experimental.FunctionType": "staging.signature.function_type:FunctionType",
    "types.experimental.GenericFunction": "staging.function:Function",
    "types.experimental.PolymorphicFunction": "staging.function:Function",
    **_same("state.module", "Module"),
    **_same("saving.checkpoint", "Checkpoint CheckpointOptions", ("train",)),
    "train.CheckpointManager": "saving.checkpoint_rotation:CheckpointManager",
    **_same(
        "saving.checkpoint_reader",
        "CheckpointView TrackableView list_variables load_checkpoint load_variable",
        ("train",),
    ),
    **_same("saving.checkpoint_state", "checkpoints_iterator get_checkpoint_state latest_checkpoint", ("train",)),
    "train.experimental.PythonState": "saving.object_graph:PythonState",
    **_same(
        "saving.sharding",
        "MaxShardSizePolicy ShardByTaskPolicy ShardableTensor ShardingCallback",
        ("train.experimental",),
    ),
    **_same("composites.tensor_array", "TensorArray TensorArraySpec"),
    **_same("profiling.roofline", "Ceilings ceilings", ("profiler",)),
    **_same("profiling.recording", "KernelRow Recording StepEvent record", ("profiler",)),
    **_same("profiling.sessions", "Profile ProfilerOptions Trace start stop", ("profiler.experimental",)),
    **_same("core.tape.indexed_slices", "IndexedSlices IndexedSlicesSpec"),
    **_same("composites.sparse_tensor", "SparseTensor", ("", "sparse")),
    **_same("composites.sparse_tensor", "SparseTensorSpec"),
    **_same(
        "composites.sparse_ops",
        "concat expand_dims eye fill_empty_rows from_dense map_values mask reorder reset_shape reshape retain slice "
        "split to_dense to_indicator transpose",
        ("sparse",),
    ),
    **_same(
        "composites.sparse_math",
        "add maximum minimum reduce_max reduce_sum sampled_addmm segment_mean segment_sqrt_n segment_sum softmax "
        "sparse_dense_matmul",
        ("sparse",),
    ),
    "sparse.bincount": "composites.sparse_lookups:bincount",
    "sparse.cross": "composites.sparse_sets:cross",
    "sparse.cross_hashed": "composites.sparse_sets:cross_hashed",
    "ragged.cross": "composites.sparse_sets:ragged_cross",
    "ragged.cross_hashed": "composites.sparse_sets:ragged_cross_hashed",
    **_same("composites.sparse_sets", "difference intersection size union", ("sets",)),
    **_same("composites.ctc_decoders", "ctc_beam_search_decoder ctc_greedy_decoder", ("nn",)),
    **_same("composites.sparse_lookups", "embedding_lookup_sparse safe_embedding_lookup_sparse", ("nn",)),
    "linalg.LinearOperator": "linear_operators.base:LinearOperator",
    "linalg.experimental.conjugate_gradient": "linear_operators.conjugate_gradient:conjugate_gradient",
    **{
        f"linalg.LinearOperator{name}": f"linear_operators.{module}:LinearOperator{name}"
        for module, names in {
            "structured_matrices": "Diag FullMatrix Householder Identity LowerTriangular Permutation ScaledIdentity "
            "Toeplitz Tridiag Zeros",
            "circulant": "Circulant Circulant2D Circulant3D",
            "composed_operators": "Adjoint Composition Inversion Kronecker LowRankUpdate",
            "block_operators": "BlockDiag BlockLowerTriangular",
        }.items()
        for name in names.split()
    },
    **{f"keras.backend.random_{name}": f"ops.random_ops:{name}" for name in ("normal", "uniform")},
    **_same("composites.ragged_tensor", "RaggedTensor RaggedTensorSpec"),
    **_same("composites.ragged_shape", "DynamicRaggedShape", ("experimental",)),
    **_same("composites.row_partition", "RowPartition", ("experimental",)),
    **_same("composites.structured_ops", "StructuredTensor", ("experimental",)),
    **_same("composites.extension_type", "ExtensionType ExtensionTypeSpec", ("experimental",)),
    **_same("composites.extension_batching", "BatchableExtensionType ExtensionTypeBatchEncoder", ("experimental",)),
    "experimental.extension_type.as_dict": "composites.extension_type:as_dict",
    **_same(
        "core.api_dispatch",
        "dispatch_for_api dispatch_for_binary_elementwise_apis dispatch_for_binary_elementwise_assert_apis "
        "dispatch_for_unary_elementwise_apis unregister_dispatch_for",
        ("experimental",),
    ),
    **_same(
        "composites.ragged_functions",
        "boolean_mask constant map_flat_values range row_splits_to_segment_ids segment_ids_to_row_splits stack "
        "stack_dynamic_partitions",
        ("ragged",),
    ),
    **_same("composites.ragged_strings", "bytes_split ngrams split unicode_split", ("strings",)),
    **_same(
        "composites.unicode_strings",
        "unicode_decode unicode_decode_with_offsets unicode_encode unicode_script unicode_split_with_offsets "
        "unicode_transcode "
        "unsorted_segment_join",
        ("strings",),
    ),
    **_same(
        "composites.raw_op_exports",
        "approx_top_k conv guarantee_const ragged_fill_empty_rows ragged_fill_empty_rows_grad",
    ),
    "types.experimental.TensorLike": "core.conversion:TensorLike",
    "io.write_graph": "graphdef.graph_view:write_graph",
    "io.match_filenames_once": "data.file_io:match_filenames_once",
    **_same("data.media_decoding", "decode_webp", ("image", "io")),
    **_same("api.eager_context", "async_clear_error async_scope function_executor_type", ("experimental",)),
    "edit_distance": "composites.edit_distance:edit_distance",
    **_same("data.queues", "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue", ("queue",)),
    "test.TestCase": "unittests.case:TestCase",
    "test.compute_gradient": "unittests.jacobians:compute_gradient",
    **_same(
        "unittests.running",
        "Benchmark assert_equal_graph_def benchmark_config disable_with_predicate is_cpu_target_available main "
        "with_eager_op_as_function",
        ("test",),
    ),
    "test.experimental.sync_devices": "unittests.running:sync_devices",
    **_same(
        "composites.lookup_tables",
        "KeyValueTensorInitializer StaticHashTable StaticVocabularyTable TextFileIndex TextFileInitializer",
        ("lookup",),
    ),
    **_same("composites.dense_hash_table", "DenseHashTable", ("lookup.experimental",)),
    **_same("composites.lookup_tables", "MutableHashTable", ("lookup.experimental",)),
    **_same(
        "data.file_io",
        "GFile copy exists get_registered_schemes glob isdir join listdir makedirs mkdir remove rename rmtree stat "
        "walk",
        ("io.gfile",),
    ),
    **_same("data.file_io", "matching_files read_file write_file", ("io",)),
    **_same("records.codecs", "decode_base64 decode_compressed decode_csv decode_raw encode_base64", ("io",)),
    **_same(
        "graphdef.serialized_tensors",
        "decode_json_example deserialize_many_sparse parse_tensor serialize_many_sparse serialize_sparse "
        "serialize_tensor",
        ("io",),
    ),
    **_same("records.record_files", "TFRecordOptions TFRecordWriter", ("io",)),
    **_same(
        "records.parsing",
        "parse_example parse_sequence_example parse_single_example parse_single_sequence_example",
        ("io",),
    ),
    **_same(
        "graphdef.example_messages",
        "BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample",
        ("train",),
    ),
    **_same(
        "records.features", "FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature VarLenFeature", ("io",)
    ),
    **_same("data.media_decoding", "decode_bmp decode_gif decode_image decode_jpeg decode_png", ("image", "io")),
    **_same(
        "data.image_encoding", "decode_and_crop_jpeg encode_jpeg encode_png extract_jpeg_shape is_jpeg", ("image", "io")
    ),
    **_same("data.image_encoding", "adjust_jpeg_quality random_jpeg_quality stateless_random_jpeg_quality", ("image",)),
    **_same("data.media_decoding", "decode_wav encode_wav", ("audio",)),
    **_same(
        "core.devices",
        "gpu_device_name is_built_with_cuda is_built_with_gpu_support is_built_with_rocm is_built_with_xla "
        "is_gpu_available",
        ("test",),
    ),
    "function": "staging.function_decorator:function",
    "install_as_tensorflow": "door.import_hook:install_as_tensorflow",
    "autograph.experimental.do_not_convert": "staging.autograph:do_not_convert",
    "autograph.experimental.Feature": "staging.autograph.loop_options:Feature",
    "autograph.experimental.set_loop_options": "staging.autograph.loop_options:set_loop_options",
    "autograph.to_code": "staging.autograph:to_code",
    **_same("staging.autograph.inspection", "to_graph set_verbosity trace", ("autograph",)),
    **_same("graph.control_flow", "cond while_loop case switch_case"),
    "config.run_functions_eagerly": "staging.function:run_functions_eagerly",
    "config.functions_run_eagerly": "staging.function:functions_run_eagerly",
    **_same(
        "core.devices", "PhysicalDevice LogicalDevice get_soft_device_placement set_soft_device_placement", ("config",)
    ),
    **_same(
        "core.devices",
        "list_physical_devices list_logical_devices get_visible_devices set_visible_devices",
        ("config", "config.experimental"),
    ),
    **_same("core.devices", "get_device_details get_memory_growth set_memory_growth", ("config.experimental",)),
    **_same(
        "api.configuration",
        "disable_mlir_bridge enable_mlir_bridge enable_op_determinism enable_tensor_float_32_execution "
        "get_device_policy get_memory_info get_memory_usage get_synchronous_execution reset_memory_stats "
        "set_device_policy set_synchronous_execution tensor_float_32_execution_enabled",
        ("config.experimental",),
    ),
    **_same(
        "api.configuration",
        "disable_traceback_filtering enable_traceback_filtering get_log_device_placement "
        "is_traceback_filtering_enabled set_log_device_placement",
        ("debugging",),
    ),
    **_same(
        "core.devices",
        "LogicalDeviceConfiguration get_logical_device_configuration set_logical_device_configuration",
        ("config",),
    ),
    "config.experimental.VirtualDeviceConfiguration": "core.devices:LogicalDeviceConfiguration",
    "config.experimental.get_virtual_device_configuration": "core.devices:get_logical_device_configuration",
    "config.experimental.set_virtual_device_configuration": "core.devices:set_logical_device_configuration",
    "config.experimental_functions_run_eagerly": "staging.function:functions_run_eagerly",
    "config.experimental_run_functions_eagerly": "staging.function:run_functions_eagerly",
    "DeviceSpec": "core.device_spec:DeviceSpec",
    **_same(
        "ops.control_dependencies",
        "CriticalSection control_dependencies get_current_name_scope get_static_value inside_function "
        "is_symbolic_tensor",
    ),
    "get_logger": "core.base.logger:get_logger",
    "zeros_initializer": "keras.initializers:Zeros",
    "ones_initializer": "keras.initializers:Ones",
    "constant_initializer": "keras.initializers:ConstantOfAnyType",
    "random_normal_initializer": "keras.initializers:NormalDraws",
    "random_uniform_initializer": "keras.initializers:UniformDraws",
    **_same("core.dlpack", "from_dlpack to_dlpack", ("experimental.dlpack",)),
    **_same(
        "numpy_api.elementwise",
        "abs absolute add allclose angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh around "
        "array_equal bitwise_and bitwise_not bitwise_or bitwise_xor cbrt ceil clip conj conjugate cos cosh "
        "deg2rad divide divmod equal exp exp2 expm1 fabs fix float_power floor floor_divide gcd greater "
        "greater_equal heaviside hypot imag isclose iscomplex iscomplexobj isfinite isinf isnan isneginf "
        "isposinf isreal isrealobj lcm less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and "
        "logical_not logical_or logical_xor maximum minimum mod multiply negative nextafter not_equal "
        "positive power rad2deg real reciprocal remainder round sign signbit sin sinc sinh sqrt square "
        "subtract tan tanh true_divide",
        ("experimental.numpy",),
    ),
    **_same(
        "numpy_api.reductions",
        "all amax amin any argmax argmin argsort average count_nonzero cumprod cumsum max mean min nanmean "
        "nanprod nansum prod ptp sort std sum var",
        ("experimental.numpy",),
    ),
    **_same(
        "numpy_api.arrays",
        "arange array asanyarray asarray ascontiguousarray bool_ broadcast_to complex128 complex64 complex_ "
        "copy diag_indices e empty empty_like eye float16 float32 float64 float_ full full_like geomspace "
        "identity iinfo inexact inf int16 int32 int64 int8 int_ issubdtype linspace logspace newaxis object_ "
        "ones ones_like pi string_ tri tril triu uint16 uint32 uint64 uint8 unicode_ vander zeros zeros_like",
        ("experimental.numpy",),
    ),
    **_same(
        "numpy_api.shapes",
        "append atleast_1d atleast_2d atleast_3d broadcast_arrays compress concatenate diag diagflat diagonal "
        "diff dsplit dstack expand_dims flatten flip fliplr flipud hsplit hstack isscalar ix_ meshgrid "
        "moveaxis ndim nonzero pad ravel repeat reshape roll rot90 select shape size split squeeze stack "
        "swapaxes take take_along_axis tile transpose vsplit vstack where",
        ("experimental.numpy",),
    ),
    **_same(
        "numpy_api.products",
        "cross dot einsum inner kron matmul outer polyval tensordot trace vdot",
        ("experimental.numpy",),
    ),
    **_same("numpy_api.promotion", "finfo promote_types result_type", ("experimental.numpy",)),
    **_same("numpy_api.behavior", "experimental_enable_numpy_behavior", ("experimental.numpy",)),
    **_same(
        "numpy_api.random",
        "poisson rand randint randn random seed standard_normal uniform",
        ("experimental.numpy.random",),
    ),
    "experimental.numpy.ndarray": "core.tensor:Tensor",
    **_same(
        "api.configuration",
        "get_inter_op_parallelism_threads get_intra_op_parallelism_threads set_inter_op_parallelism_threads "
        "set_intra_op_parallelism_threads",
        ("config.threading",),
    ),
    **_same(
        "api.optimizer_options",
        "set_experimental_options get_experimental_options set_jit get_jit",
        ("config.optimizer",),
    ),
    **_same("api.configuration", "show_config"),
    "device": "core.devices:device",
    **_same(
        "replication.contexts",
        "InputContext ReplicaContext get_replica_context in_cross_replica_context",
        ("distribute",),
    ),
    **_same(
        "replication.input",
        "DistributedDataset DistributedIterator InputOptions InputReplicationMode RunOptions",
        ("distribute",),
    ),
    **_same("replication.multi_worker", "MultiWorkerMirroredStrategy", ("distribute",)),
    **_same(
        "replication.reductions",
        "CrossDeviceOps HierarchicalCopyAllReduce NcclAllReduce ReduceOp ReductionToOneDevice",
        ("distribute",),
    ),
    **_same(
        "replication.strategy",
        "MirroredStrategy OneDeviceStrategy ParameterServerStrategy Strategy StrategyExtended TPUStrategy "
        "experimental_set_strategy get_strategy has_strategy",
        ("distribute",),
    ),
    "distribute.DistributedValues": "state.distributed:DistributedValues",
    **_same(
        "replication.strategy",
        "CentralStorageStrategy ParameterServerStrategy TPUStrategy",
        ("distribute.experimental",),
    ),
    **_same(
        "replication.multi_worker",
        "CollectiveHints CommunicationImplementation CommunicationOptions",
        ("distribute.experimental",),
    ),
    "distribute.experimental.MultiWorkerMirroredStrategy": (
        "replication.multi_worker:ExperimentalMultiWorkerMirroredStrategy"
    ),
    "distribute.experimental.CollectiveCommunication": "replication.multi_worker:CommunicationImplementation",
    **_same(
        "replication.cluster",
        "ClusterResolver SimpleClusterResolver TFConfigClusterResolver UnionResolver",
        ("distribute.cluster_resolver",),
    ),
    "distribute.cluster_resolver.SlurmClusterResolver": "replication.slurm:SlurmClusterResolver",
    "train.ExponentialMovingAverage": "state.moving_averages:ExponentialMovingAverage",
    "train.ClusterSpec": "replication.cluster:ClusterSpec",
    "train.Coordinator": "state.coordinator:Coordinator",
    "distribute.experimental.ValueContext": "replication.contexts:ValueContext",
    "types.experimental.distributed.PerReplica": "state.distributed:PerReplica",
    "types.experimental.distributed.Mirrored": "state.distributed:DistributedVariable",
    "keras.layers.experimental.SyncBatchNormalization": "keras.layers.normalization:SyncBatchNormalization",
    "OptionalSpec": "data.optionals:OptionalSpec",
    **{
        f"keras.datasets.{name}.load_data": f"keras.dataset_files:{name}"
        for name in ("boston_housing", "cifar10", "fashion_mnist", "imdb", "mnist", "reuters")
    },
    **_same("keras.data_adapters", "Sequence to_categorical", ("keras.utils",)),
    **_same("keras.sequences", "pad_sequences", ("keras.utils", "keras.preprocessing.sequence")),
    **_same(
        "data.folders",
        "image_dataset_from_directory text_dataset_from_directory",
        ("keras.utils", "keras.preprocessing"),
    ),
    **_same("keras.sequences", "make_sampling_table skipgrams", ("keras.preprocessing.sequence",)),
    **_same("data.time_series", "timeseries_dataset_from_array", ("keras.utils", "keras.preprocessing")),
    **_same(
        "data.picture_files",
        "array_to_img img_to_array load_img save_img",
        ("keras.utils", "keras.preprocessing.image"),
    ),
    "keras.utils.normalize": "keras.sequences:normalize",
    "keras.preprocessing.image.smart_resize": "keras.layers.image_preprocessing:smart_resize",
    **_same("keras.diagram", "model_to_dot plot_model", ("keras.utils",)),
    **_same(
        "keras.identifiers",
        "custom_object_scope get_custom_objects get_registered_name get_registered_object register_keras_serializable",
        ("keras.utils", "keras.saving"),
    ),
    "keras.utils.CustomObjectScope": "keras.identifiers:CustomObjectScope",
    **_same(
        "keras.model_serialization", "deserialize_keras_object serialize_keras_object", ("keras.utils", "keras.saving")
    ),
    **_same("keras.model_serialization", "load_model save_model", ("keras.saving",)),
    **_same(
        "keras.optimizers",
        "Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Nadam Optimizer RMSprop SGD",
        ("keras.optimizers.experimental",),
    ),
    **_same(
        "keras.layers",
        "CategoryEncoding CenterCrop Discretization HashedCrossing Hashing IntegerLookup Normalization RandomContrast "
        "RandomFlip RandomRotation RandomZoom Rescaling Resizing StringLookup TextVectorization",
        ("keras.layers.experimental.preprocessing",),
    ),
    "keras.layers.experimental.EinsumDense": "keras.layers:EinsumDense",
    "keras.metrics.experimental.PyMetric": "keras.metric_base:PyMetric",
    "keras.utils.Progbar": "keras.progress:Progbar",
    "keras.utils.get_file": "keras.file_downloads:get_file",
    "keras.utils.set_random_seed": "keras.backend:set_random_seed",
    **{
        f"keras.backend.{name}": f"{module}:{name}"
        for module, names in {
            "core.conversion": "constant",
            "core.name_scopes": "name_scope",
            "composites.sparse_ops": "to_dense",
            "graph.map_and_scan": "foldl foldr map_fn",
            "keras.activations": "elu hard_sigmoid relu sigmoid softmax softplus softsign tanh",
            "keras.loss_functions": "sparse_categorical_crossentropy",
            "ops.comparison": "equal greater greater_equal less less_equal not_equal",
            "ops.elementwise": "abs cast maximum minimum ones_like sign square stop_gradient zeros_like",
            "ops.exponentials": "cos exp log pow sin",
            "ops.gathering": "gather",
            "ops.joining": "stack",
            "ops.movement": "reshape shape squeeze transpose",
            "ops.nn_ops": "l2_normalize",
            "ops.rounding": "round",
            "ops.scans": "cumprod cumsum",
            "ops.top_k": "in_top_k",
            "ops.tiling": "tile",
            "keras.backend_functions": (
                "all any arange argmax argmin batch_flatten binary_crossentropy cast_to_floatx "
                "categorical_crossentropy clip concatenate ctc_batch_cost ctc_decode dot dtype eval expand_dims "
                "flatten get_value int_shape max mean min ndim one_hot ones permute_dimensions prod repeat "
                "repeat_elements reverse set_value sqrt std sum switch var variable zeros"
            ),
        }.items()
        for name in names.split()
    },
    **_same("data.optionals", "Optional", ("experimental",)),
    **_same("data.csv_files", "CsvDataset SqlDataset make_csv_dataset", ("data.experimental",)),
    **_same(
        "data.dataset_tables", "DatasetInitializer index_table_from_dataset table_from_dataset", ("data.experimental",)
    ),
    **_same(
        "api.configuration",
        "VERSION GIT_VERSION COMPILER_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER "
        "GRAPH_DEF_VERSION_MIN_PRODUCER",
        ("version",),
    ),
    **_same(
        "api.configuration",
        "CXX11_ABI_FLAG CXX_VERSION MONOLITHIC_BUILD get_build_info get_include get_lib",
        ("sysconfig",),
    ),
}

#: Public modules with the names of another one.
ALIASES = {
    "initializers": "keras.initializers",
    "losses": "keras.losses",
    "metrics": "keras.metrics",
    "optimizers": "keras.optimizers",
}

#: Public modules and packages that are files.
FILES = (
    "compat", "data", "data.experimental", "errors", "keras", "keras.activations", "keras.backend",
    "keras.callbacks", "keras.constraints", "keras.initializers", "keras.layers", "keras.losses", "keras.metrics",
    "keras.models", "keras.optimizers", "keras.optimizers.schedules", "keras.regularizers", "testing",
)  # fmt: skip

KERAS_3 = "Keras 3 (pip install fastgraph[keras], then python -m fastgraph run PROGRAM)"

#: Substitutes for names that are often asked for and not built yet.
SUBSTITUTES = {
    "distribute.coordinator": "fastgraph.distribute.MirroredStrategy, or MultiWorkerMirroredStrategy under mpiexec",
    "data": "Dataset.from_generator with a Python generator",
    "compat.v1": "the names of TensorFlow 2",
    "compat.v2": "fastgraph itself",
    "experimental.dtensor": "fastgraph.distribute.MirroredStrategy in one process",
    "image": "NumPy and Pillow on tensors (outside Functions)",
    "io": "Python's files and NumPy",
    "keras": KERAS_3,
    "keras.activations": "the functions of fastgraph.nn",
    "keras.applications": KERAS_3,
    "keras.callbacks": "a subclass of fastgraph.keras.callbacks.Callback, or Keras 3 (pip install fastgraph[keras])",
    "keras.constraints": "a function of the weight",
    "keras.datasets": "scikit-learn's datasets",
    "keras.models": KERAS_3,
    "keras.initializers": "a function of shape and dtype",
    "keras.layers": "a fastgraph.keras.layers.Layer of your own, or Keras 3 (pip install fastgraph[keras])",
    "keras.losses": "a function of (y_true, y_pred)",
    "keras.metrics": "a subclass of fastgraph.keras.metrics.Metric",
    "keras.optimizers": "fastgraph.keras.optimizers.Adam or SGD",
    **dict.fromkeys(
        ("keras.optimizers.legacy", "optimizers.legacy"), "the optimizer of this name in fastgraph.keras.optimizers"
    ),
    "keras.preprocessing": KERAS_3,
    "keras.preprocessing.text": "fastgraph.keras.layers.TextVectorization, as from Keras 3 on,",
    "keras.regularizers": "a function of the weight",
    "keras.utils": KERAS_3,
    "keras.utils.audio_dataset_from_directory": "Dataset.list_files and fastgraph.audio.decode_wav",
    "lite": "numpy.savez of the Variables' values",
    "load_library": "ops made of fastgraph's public functions, or numpy_function (what is compiled against "
    "TensorFlow's C++ cannot be loaded)",
    "load_op_library": "ops made of fastgraph's public functions, or numpy_function (what is compiled against "
    "TensorFlow's C++ cannot be loaded)",
    "losses": "a function of (y_true, y_pred)",
    "metrics": "a subclass of fastgraph.keras.metrics.Metric",
    "optimizers": "fastgraph.keras.optimizers.Adam or SGD",
    "random": "numpy.random (outside Functions)",
    "raw_ops": "the public function of the op",
    "strings": "Python's bytes methods on the elements of .numpy()",
    "summary": "Python's logging",
    "test": "fastgraph.testing",
    "check_pinned": "fastgraph.identity",
    "conv2d_backprop_filter_v2": "fastgraph.raw_ops.Conv2DBackpropFilter",
    "conv2d_backprop_input_v2": "fastgraph.raw_ops.Conv2DBackpropInput",
    "config": "the one process, its CPU and its threads, as they are",
    "debugging.experimental": "fastgraph.debugging.enable_check_numerics",
    "distribute": "fastgraph.distribute.MirroredStrategy, or MultiWorkerMirroredStrategy under mpiexec",
    "dtensor": "one device",
    "dtypes": "the dtypes of fastgraph.dtypes, such as int8 and float16",
    "experimental": "what is not experimental",
    "linalg": "matrices, and the functions of fastgraph.linalg",
    "nondifferentiable_batch_function": "fastgraph.data.Dataset.batch",
    "profiler": "fastgraph.profiler.experimental.start",
    "sysconfig": "fastgraph.sysconfig.get_build_info",
    "types": "typing.Any",
    "tools": "the documentation of TensorFlow",
    "security": "NumPy's types",
    "mlir": "fastgraph.function and explain() of what it makes",
    "RegisterGradient": "fastgraph.custom_gradient",
    "no_gradient": "fastgraph.stop_gradient",
    "config.experimental_connect_to_cluster": "one process",
    "config.experimental_connect_to_host": "one process",
    "distribute.cluster_resolver": "fastgraph.distribute.cluster_resolver.TFConfigClusterResolver",
    "quantization": "fastgraph.quantization.quantize_and_dequantize_v2, which keeps floats",
    "nn.RNNCellDeviceWrapper": "fastgraph.keras.layers.RNN",
    "nn.RNNCellDropoutWrapper": "fastgraph.keras.layers.RNN",
    "nn.RNNCellResidualWrapper": "fastgraph.keras.layers.RNN",
    "random.learned_unigram_candidate_sampler": "fastgraph.random.fixed_unigram_candidate_sampler",
    "nn.learned_unigram_candidate_sampler": "fastgraph.random.fixed_unigram_candidate_sampler",
    "feature_column": "Keras 3's preprocessing layers",
    "data.experimental.distributed_save": "Dataset.save",
    "data.experimental.get_model_proto": "fastgraph.profiler.experimental.start",
    "data.experimental.make_saveable_from_iterator": "fastgraph.train.Checkpoint(iterator=...)",
    **dict.fromkeys(
        ("data.experimental.service", "data.experimental.ServiceOptions"),
        "Dataset.shard, or MultiWorkerMirroredStrategy under mpiexec",
    ),
    "data.experimental.enable_debug_mode": "the function itself, on an element of the dataset,",
    **dict.fromkeys(("train.ClusterDef", "train.JobDef", "train.ServerDef"), "fastgraph.train.ClusterSpec"),
    "test.create_local_cluster": "mpiexec",
    "io.decode_jxl": "Pillow (outside Functions)",
    "experimental.enable_strict_mode": "warnings.simplefilter('error')",
    "experimental.tensorrt": "fastgraph.function, which compiles every graph",
    "experimental.register_filesystem_plugin": "a file system of fsspec, which paths may name",
    **dict.fromkeys(("sysconfig.get_compile_flags", "sysconfig.get_link_flags"), "Cython and NumPy"),
    "image.generate_bounding_box_proposals": "fastgraph.image.non_max_suppression",
    "image.decode_jxl": "Pillow (outside Functions)",
    "io.decode_proto": "the classes that protoc makes (outside Functions)",
    "io.encode_proto": "the classes that protoc makes (outside Functions)",
    "tpu": "the CPU",
    "train": "tf.io for records, tf.keras.optimizers for optimizers",
    "xla": "fastgraph.function, which compiles every graph",
}
