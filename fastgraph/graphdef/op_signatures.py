"""Signatures of TensorFlow's operations: their arguments, results and attributes with defaults, as GraphDefs name them.

Rule: facts of the format and nothing else; `tests/oracle/graph_defs.py` compares them with TensorFlow.

A line is `Type argument:type ... -> result:type ... | attribute:kind=default ...`; types of one signature share it. The
type of an argument is a dtype or the attribute that holds it; `*T` is a list of types, `N*T` N times one type.
"""

TEXT = r"""
Abs Acos Acosh Asin Asinh Atan Atanh BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e
  BesselK1 BesselK1e BesselY0 BesselY1 Ceil Cos Cosh Dawsn Digamma Erf Erfc Erfinv Exp Expint Expm1 Floor FresnelCos
  FresnelSin Invert Lgamma Log Log1p Ndtri Neg OnesLike Reciprocal Rint Round Rsqrt Sigmoid Sign Sin Sinh Spence Sqrt
  Square Tan Tanh ZerosLike x:T -> y:T | T:type
Add AddV2 BitwiseAnd BitwiseOr BitwiseXor DivNoNan FloorDiv FloorMod LeftShift Maximum Minimum Mul MulNoNan Pow
  RealDiv RightShift SquaredDifference Sub TruncateDiv TruncateMod Xdivy Xlog1py Xlogy x:T y:T -> z:T | T:type
AddN inputs:N*T -> sum:T | N:int T:type
All Any input:bool reduction_indices:Tidx -> output:bool | keep_dims:bool=False Tidx:type=int32
ArgMax ArgMin input:T dimension:Tidx -> output:output_type | T:type Tidx:type=int32 output_type:type=int64
AsString input:T -> output:string | T:type precision:int=-1 scientific:bool=False shortest:bool=False width:int=-1
  fill:string=
Assert condition:bool data:*T -> | T:types summarize:int=3
AssignAddVariableOp AssignSubVariableOp resource:resource value:dtype -> | dtype:type
AssignVariableOp resource:resource value:dtype -> | dtype:type validate_shape:bool=False
Atan2 y:T x:T -> z:T | T:type
AvgPool value:T -> output:T | ksize:ints strides:ints padding:string data_format:string=NHWC T:type
AvgPoolGrad orig_input_shape:int32 grad:T -> output:T | ksize:ints strides:ints padding:string data_format:string=NHWC
  T:type
BatchFunction in_tensors:*Tin captured_tensors:*Tcaptured -> out_tensors:*Tout | Tin:types Tcaptured:types Tout:types
  f:func
BatchMatMul BatchMatMulV2 x:T y:T -> output:T | T:type adj_x:bool=False adj_y:bool=False grad_x:bool=False
  grad_y:bool=False
BatchToSpaceND input:T block_shape:Tblock_shape crops:Tcrops -> output:T | T:type Tblock_shape:type=int32
  Tcrops:type=int32
Betainc a:T b:T x:T -> z:T | T:type
BiasAdd value:T bias:T -> output:T | T:type data_format:string=NHWC
Bitcast input:T -> output:type | T:type type:type
BroadcastArgs s0:T s1:T -> r0:T | T:type=int32
BroadcastGradientArgs s0:T s1:T -> r0:T r1:T | T:type=int32
BroadcastTo input:T shape:Tidx -> output:T | T:type Tidx:type=int32
Case StatelessCase branch_index:int32 input:*Tin -> output:*Tout | Tin:types Tout:types branches:funcs
  output_shapes:shapes=[]
Cast x:SrcT -> y:DstT | SrcT:type DstT:type Truncate:bool=False
CheckNumerics tensor:T -> output:T | T:type message:string
Cholesky Identity MatrixDeterminant MatrixExponential MatrixLogarithm MatrixSquareRoot StopGradient input:T ->
  output:T | T:type
Complex real:T imag:T -> out:Tout | T:type=float32 Tout:type=complex64
ComplexAbs x:T -> y:Tout | T:type=complex64 Tout:type=float32
ConcatV2 values:N*T axis:Tidx -> output:T | N:int T:type Tidx:type=int32
Conj input:T -> output:T | T:type=complex64
Const -> output:dtype | value:tensor dtype:type
Conv2D input:T filter:T -> output:T | T:type strides:ints use_cudnn_on_gpu:bool=True padding:string
  explicit_paddings:ints=[] data_format:string=NHWC dilations:ints=[1,1,1,1]
Conv2DBackpropFilter input:T filter_sizes:int32 out_backprop:T -> output:T | T:type strides:ints
  use_cudnn_on_gpu:bool=True padding:string explicit_paddings:ints=[] data_format:string=NHWC dilations:ints=[1,1,1,1]
Conv2DBackpropInput input_sizes:int32 filter:T out_backprop:T -> output:T | T:type strides:ints
  use_cudnn_on_gpu:bool=True padding:string explicit_paddings:ints=[] data_format:string=NHWC dilations:ints=[1,1,1,1]
Conv3D input:T filter:T -> output:T | T:type strides:ints padding:string data_format:string=NDHWC
  dilations:ints=[1,1,1,1,1]
Conv3DBackpropFilterV2 input:T filter_sizes:int32 out_backprop:T -> output:T | T:type strides:ints padding:string
  data_format:string=NDHWC dilations:ints=[1,1,1,1,1]
Conv3DBackpropInputV2 input_sizes:Tshape filter:T out_backprop:T -> output:T | T:type strides:ints padding:string
  data_format:string=NDHWC dilations:ints=[1,1,1,1,1] Tshape:type=int32
Cumprod Cumsum CumulativeLogsumexp x:T axis:Tidx -> out:T | exclusive:bool=False reverse:bool=False T:type
  Tidx:type=int32
DecodeBase64 input:string -> output:string
DecodeCSV records:string record_defaults:*OUT_TYPE -> output:*OUT_TYPE | OUT_TYPE:types field_delim:string=,
  use_quote_delim:bool=True na_value:string= select_cols:ints=[]
DecodeCompressed bytes:string -> output:string | compression_type:string=
DecodeJSONExample json_examples:string -> binary_examples:string
DecodePaddedRaw input_bytes:string fixed_length:int32 -> output:out_type | out_type:type little_endian:bool=True
DecodeRaw bytes:string -> output:out_type | out_type:type little_endian:bool=True
DepthToSpace SpaceToDepth input:T -> output:T | T:type block_size:int data_format:string=NHWC
DepthwiseConv2dNative input:T filter:T -> output:T | T:type strides:ints padding:string explicit_paddings:ints=[]
  data_format:string=NHWC dilations:ints=[1,1,1,1]
DeserializeManySparse serialized_sparse:string -> sparse_indices:int64 sparse_values:dtype sparse_shape:int64 |
  dtype:type
DynamicPartition data:T partitions:int32 -> outputs:num_partitions*T | num_partitions:int T:type
EagerPyFunc input:*Tin -> output:*Tout | token:string is_async:bool=False Tin:types Tout:types
Eig input:T -> e:Tout v:Tout | compute_v:bool=True T:type Tout:type
Einsum inputs:N*T -> output:T | equation:string N:int T:type
Elu Relu Relu6 Selu Softplus Softsign features:T -> activations:T | T:type
EmptyTensorList element_shape:shape_type max_num_elements:int32 -> handle:variant | element_dtype:type shape_type:type
EncodeBase64 input:string -> output:string | pad:bool=False
EnsureShape input:T -> output:T | shape:shape T:type
Equal NotEqual x:T y:T -> z:bool | T:type incompatible_shape_error:bool=True
ExpandDims input:T dim:Tdim -> output:T | T:type Tdim:type=int32
FFT FFT2D FFT3D IFFT IFFT2D IFFT3D input:Tcomplex -> output:Tcomplex | Tcomplex:type=complex64
Fill dims:index_type value:T -> output:T | T:type index_type:type=int32
FusedBatchNormV3 x:T scale:U offset:U mean:U variance:U -> y:T batch_mean:U batch_variance:U reserve_space_1:U
  reserve_space_2:U reserve_space_3:U | T:type U:type epsilon:float=0.0001 exponential_avg_factor:float=1.0
  data_format:string=NHWC is_training:bool=True
Gather params:Tparams indices:Tindices -> output:Tparams | validate_indices:bool=True Tparams:type Tindices:type
GatherNd params:Tparams indices:Tindices -> output:Tparams | Tparams:type Tindices:type bad_indices_policy:string=
GatherV2 params:Tparams indices:Tindices axis:Taxis -> output:Tparams | batch_dims:int=0 Tparams:type Tindices:type
  Taxis:type
Greater GreaterEqual Less LessEqual x:T y:T -> z:bool | T:type
HashTableV2 MutableHashTableV2 -> table_handle:resource | container:string= shared_name:string=
  use_node_name_sharing:bool=False key_dtype:type value_dtype:type
IRFFT IRFFT2D IRFFT3D input:Tcomplex fft_length:int32 -> output:Treal | Treal:type=float32 Tcomplex:type=complex64
IdentityN input:*T -> output:*T | T:types
If StatelessIf cond:Tcond input:*Tin -> output:*Tout | Tcond:type Tin:types Tout:types then_branch:func
  else_branch:func output_shapes:shapes=[]
Igamma Igammac Polygamma a:T x:T -> z:T | T:type
IgammaGradA a:T x:T -> z:T | T:type
Imag Real input:T -> output:Tout | T:type=complex64 Tout:type=float32
InTopKV2 predictions:float32 targets:T k:T -> precision:bool | T:type=int32
InvertPermutation x:T -> y:T | T:type=int32
IsFinite IsInf IsNan x:T -> y:bool | T:type
LeakyRelu features:T -> activations:T | alpha:float=0.2 T:type=float32
LeakyReluGrad gradients:T features:T -> backprops:T | alpha:float=0.2 T:type=float32
LinSpace start:T stop:T num:Tidx -> output:T | T:type Tidx:type=int32
LogMatrixDeterminant input:T -> sign:T log_abs_determinant:T | T:type
LogSoftmax logits:T -> logsoftmax:T | T:type
LogicalAnd LogicalOr x:bool y:bool -> z:bool
LogicalNot x:bool -> y:bool
LookupTableExportV2 table_handle:resource -> keys:Tkeys values:Tvalues | Tkeys:type Tvalues:type
LookupTableFindV2 table_handle:resource keys:Tin default_value:Tout -> values:Tout | Tin:type Tout:type
LookupTableImportV2 LookupTableInsertV2 table_handle:resource keys:Tin values:Tout -> | Tin:type Tout:type
LookupTableRemoveV2 table_handle:resource keys:Tin -> | Tin:type
LookupTableSizeV2 table_handle:resource -> size:int64 |
LowerBound UpperBound sorted_inputs:T values:T -> output:out_type | T:type out_type:type=int32
Lu input:T -> lu:T p:output_idx_type | T:type output_idx_type:type=int32
MatMul a:T b:T -> product:T | transpose_a:bool=False transpose_b:bool=False T:type grad_a:bool=False grad_b:bool=False
MatrixBandPart input:T num_lower:Tindex num_upper:Tindex -> band:T | T:type Tindex:type=int64
MatrixDiagPartV3 input:T k:int32 padding_value:T -> diagonal:T | T:type align:string=RIGHT_LEFT
MatrixDiagV3 diagonal:T k:int32 num_rows:int32 num_cols:int32 padding_value:T -> output:T | T:type
  align:string=RIGHT_LEFT
MatrixInverse input:T -> output:T | adjoint:bool=False T:type
MatrixSetDiagV3 input:T diagonal:T k:int32 -> output:T | T:type align:string=RIGHT_LEFT
MatrixSolve matrix:T rhs:T -> output:T | adjoint:bool=False T:type
MatrixTriangularSolve matrix:T rhs:T -> output:T | lower:bool=True adjoint:bool=False T:type
Max Mean Min Prod Sum input:T reduction_indices:Tidx -> output:T | keep_dims:bool=False T:type Tidx:type=int32
MaxPool input:T -> output:T | T:type=float32 ksize:ints strides:ints padding:string explicit_paddings:ints=[]
  data_format:string=NHWC
MirrorPad input:T paddings:Tpaddings -> output:T | T:type Tpaddings:type=int32 mode:string
Multinomial logits:T num_samples:int32 -> output:output_dtype | seed:int=0 seed2:int=0 T:type output_dtype:type=int64
MutableHashTableOfTensorsV2 -> table_handle:resource | container:string= shared_name:string=
  use_node_name_sharing:bool=False key_dtype:type value_dtype:type value_shape:shape=
NextAfter x1:T x2:T -> output:T | T:type=float32
NoOp ->
OneHot indices:TI depth:int32 on_value:T off_value:T -> output:T | axis:int=-1 T:type TI:type=int64
Pack values:N*T -> output:T | N:int T:type axis:int=0
Pad input:T paddings:Tpaddings -> output:T | T:type Tpaddings:type=int32
PadV2 input:T paddings:Tpaddings constant_values:T -> output:T | T:type Tpaddings:type=int32
ParseExampleV2 serialized:string names:string sparse_keys:string dense_keys:string ragged_keys:string
  dense_defaults:*Tdense -> sparse_indices:num_sparse*int64 sparse_values:*sparse_types sparse_shapes:num_sparse*int64
  dense_values:*Tdense ragged_values:*ragged_value_types ragged_row_splits:*ragged_split_types | Tdense:types
  num_sparse:int sparse_types:types ragged_value_types:types ragged_split_types:types dense_shapes:shapes
ParseTensor serialized:string -> output:out_type | out_type:type
PartitionedCall StatefulPartitionedCall args:*Tin -> output:*Tout | Tin:types Tout:types f:func config:string=
  config_proto:string= executor_type:string=
Placeholder -> output:dtype | dtype:type shape:shape=unknown
PlaceholderV2 -> output:dtype | dtype:type shape:shape
PlaceholderWithDefault input:dtype -> output:dtype | dtype:type shape:shape
PrintV2 input:string -> | output_stream:string=stderr end:string=\n
Qr input:T -> q:T r:T | full_matrices:bool=False T:type
RFFT RFFT2D RFFT3D input:Treal fft_length:int32 -> output:Tcomplex | Treal:type=float32 Tcomplex:type=complex64
RandomShuffle value:T -> output:T | seed:int=0 seed2:int=0 T:type
RandomStandardNormal RandomUniform TruncatedNormal shape:T -> output:dtype | seed:int=0 seed2:int=0 dtype:type T:type
RandomUniformInt shape:T minval:Tout maxval:Tout -> output:Tout | seed:int=0 seed2:int=0 Tout:type T:type
Range start:Tidx limit:Tidx delta:Tidx -> output:Tidx | Tidx:type=int32
Rank input:T -> output:int32 | T:type
ReadVariableOp resource:resource -> value:dtype | dtype:type
ReduceJoin inputs:string reduction_indices:int32 -> output:string | keep_dims:bool=False separator:string=
RegexFullMatch input:string pattern:string -> output:bool |
RegexReplace input:string pattern:string rewrite:string -> output:string | replace_global:bool=True
Relu6Grad ReluGrad gradients:T features:T -> backprops:T | T:type
Reshape tensor:T shape:Tshape -> output:T | T:type Tshape:type=int32
ReverseV2 tensor:T axis:Tidx -> output:T | Tidx:type=int32 T:type
RngReadAndSkip resource:resource alg:int32 delta:uint64 -> value:int64 |
Roll input:T shift:Tshift axis:Taxis -> output:T | T:type Tshift:type Taxis:type
ScatterNd indices:Tindices updates:T shape:Tindices -> output:T | T:type Tindices:type bad_indices_policy:string=
SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum data:T segment_ids:Tindices -> output:T | T:type
  Tindices:type
Select SelectV2 condition:bool t:T e:T -> output:T | T:type
SelfAdjointEigV2 input:T -> e:T v:T | compute_v:bool=True T:type
SerializeManySparse SerializeSparse sparse_indices:int64 sparse_values:T sparse_shape:int64 ->
  serialized_sparse:out_type | T:type out_type:type=string
SerializeTensor tensor:T -> serialized:string | T:type
Shape Size input:T -> output:out_type | T:type out_type:type=int32
Slice input:T begin:Index size:Index -> output:T | T:type Index:type
Softmax logits:T -> softmax:T | T:type
SoftmaxCrossEntropyWithLogits features:T labels:T -> loss:T backprop:T | T:type
SpaceToBatchND input:T block_shape:Tblock_shape paddings:Tpaddings -> output:T | T:type Tblock_shape:type=int32
  Tpaddings:type=int32
SparseSoftmaxCrossEntropyWithLogits features:T labels:Tlabels -> loss:T backprop:T | T:type Tlabels:type=int64
Split split_dim:int32 value:T -> output:num_split*T | num_split:int T:type
SplitV value:T size_splits:Tlen split_dim:int32 -> output:num_split*T | num_split:int T:type Tlen:type=int64
Squeeze input:T -> output:T | T:type squeeze_dims:ints=[]
StatelessRandomGetKeyCounter seed:Tseed -> key:uint64 counter:uint64 | Tseed:type=int64
StatelessRandomNormalV2 StatelessRandomUniformV2 shape:Tshape key:uint64 counter:uint64 alg:int32 -> output:dtype |
  dtype:type=float32 Tshape:type=int32
StatelessRandomUniformFullIntV2 shape:Tshape key:uint64 counter:uint64 alg:int32 -> output:dtype | dtype:type=uint64
  Tshape:type=int32
StatelessRandomUniformIntV2 shape:Tshape key:uint64 counter:uint64 alg:int32 minval:dtype maxval:dtype -> output:dtype
  | dtype:type Tshape:type=int32
StatelessWhile While input:*T -> output:*T | T:types cond:func body:func output_shapes:shapes=[]
  parallel_iterations:int=10
StridedSlice input:T begin:Index end:Index strides:Index -> output:T | T:type Index:type begin_mask:int=0
  end_mask:int=0 ellipsis_mask:int=0 new_axis_mask:int=0 shrink_axis_mask:int=0
StridedSliceGrad shape:Index begin:Index end:Index strides:Index dy:T -> output:T | T:type Index:type begin_mask:int=0
  end_mask:int=0 ellipsis_mask:int=0 new_axis_mask:int=0 shrink_axis_mask:int=0
StringFormat inputs:*T -> output:string | T:types template:string=%s placeholder:string=%s summarize:int=3
StringJoin inputs:N*string -> output:string | N:int separator:string=
StringLength input:string -> output:int32 | unit:string=BYTE
StringLower StringUpper input:string -> output:string | encoding:string=
StringSplit input:string delimiter:string -> indices:int64 values:string shape:int64 | skip_empty:bool=True
StringSplitV2 input:string sep:string -> indices:int64 values:string shape:int64 | maxsplit:int=-1
StringStrip input:string -> output:string
StringToHashBucketFast input:string -> output:int64 | num_buckets:int
StringToHashBucketStrong input:string -> output:int64 | num_buckets:int key:ints
StringToNumber string_tensor:string -> output:out_type | out_type:type=float32
Substr input:string pos:T len:T -> output:string | T:type unit:string=BYTE
Svd input:T -> s:T u:T v:T | compute_uv:bool=True full_matrices:bool=False T:type
TensorListConcatV2 input_handle:variant element_shape:shape_type leading_dims:int64 -> tensor:element_dtype
  lengths:int64 | element_dtype:type shape_type:type
TensorListFromTensor tensor:element_dtype element_shape:shape_type -> output_handle:variant | element_dtype:type
  shape_type:type
TensorListGather input_handle:variant indices:int32 element_shape:int32 -> values:element_dtype | element_dtype:type
TensorListGetItem input_handle:variant index:int32 element_shape:Tshape -> item:element_dtype | element_dtype:type
  Tshape:type=int32
TensorListLength input_handle:variant -> length:int32
TensorListPopBack input_handle:variant element_shape:int32 -> output_handle:variant tensor:element_dtype |
  element_dtype:type
TensorListPushBack input_handle:variant tensor:element_dtype -> output_handle:variant | element_dtype:type
TensorListReserve element_shape:shape_type num_elements:int32 -> handle:variant | element_dtype:type shape_type:type
TensorListResize input_handle:variant size:int32 -> output_handle:variant
TensorListScatterV2 tensor:element_dtype indices:int32 element_shape:shape_type num_elements:int32 ->
  output_handle:variant | element_dtype:type shape_type:type
TensorListSetItem input_handle:variant index:int32 item:element_dtype -> output_handle:variant | element_dtype:type
  resize_if_index_out_of_bounds:bool=False
TensorListStack input_handle:variant element_shape:int32 -> tensor:element_dtype | element_dtype:type
  num_elements:int=-1
TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate tensor:T indices:Tindices
  updates:T -> output:T | T:type Tindices:type bad_indices_policy:string=
Tile input:T multiples:Tmultiples -> output:T | T:type Tmultiples:type=int32
TopKV2 input:T k:Tk -> values:T indices:index_type | sorted:bool=True T:type Tk:type=int32 index_type:type=int32
Transpose x:T perm:Tperm -> y:T | T:type Tperm:type=int32
TridiagonalSolve diagonals:T rhs:T -> output:T | partial_pivoting:bool=True perturb_singular:bool=False T:type
UniqueWithCounts x:T -> y:T idx:out_idx count:out_idx | T:type out_idx:type=int32
Unpack value:T -> output:num*T | num:int T:type axis:int=0
UnravelIndex indices:Tidx dims:Tidx -> output:Tidx | Tidx:type=int32
UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum data:T segment_ids:Tindices
  num_segments:Tnumsegments -> output:T | T:type Tindices:type Tnumsegments:type=int32
VarHandleOp -> resource:resource | container:string= shared_name:string= debug_name:string= dtype:type shape:shape
  allowed_devices:strings=[]
Where input:T -> index:int64 | T:type=bool
Zeta x:T q:T -> z:T | T:type
"""

#: The results of further types, which are imported and never written: for references inside of functions.
RESULTS = r"""
CTCLoss loss:T gradient:T
ConcatOffset offset:N*int32
FusedBatchNorm FusedBatchNormV2 y:T batch_mean:U batch_variance:U reserve_space_1:U reserve_space_2:U
FusedBatchNormGrad FusedBatchNormGradV2 x_backprop:T scale_backprop:U offset_backprop:U reserve_space_3:U
  reserve_space_4:U
FusedBatchNormGradV3 x_backprop:T scale_backprop:U offset_backprop:U reserve_space_4:U reserve_space_5:U
GRUBlockCell r:T u:T c:T h:T
LSTMBlockCell i:T cs:T f:T o:T ci:T co:T h:T
ListDiff out:T idx:out_idx
NearestNeighbors nearest_center_indices:int64 nearest_center_distances:float32
ParseExample sparse_indices:Nsparse*int64 sparse_values:*sparse_types sparse_shapes:Nsparse*int64 dense_values:*Tdense
ParseSequenceExampleV2 context_sparse_indices:Ncontext_sparse*int64 context_sparse_values:*context_sparse_types
  context_sparse_shapes:Ncontext_sparse*int64 context_dense_values:*Tcontext_dense
  context_ragged_values:*context_ragged_value_types context_ragged_row_splits:*context_ragged_split_types
  feature_list_sparse_indices:Nfeature_list_sparse*int64 feature_list_sparse_values:*feature_list_sparse_types
  feature_list_sparse_shapes:Nfeature_list_sparse*int64 feature_list_dense_values:*feature_list_dense_types
  feature_list_dense_lengths:Nfeature_list_dense*int64 feature_list_ragged_values:*feature_list_ragged_value_types
  feature_list_ragged_outer_splits:*feature_list_ragged_split_types
  feature_list_ragged_inner_splits:*feature_list_ragged_split_types
ParseSingleExample sparse_indices:num_sparse*int64 sparse_values:*sparse_types sparse_shapes:num_sparse*int64
  dense_values:*Tdense
QuantizeAndDequantizeV4Grad input_backprop:T input_min_backprop:T input_max_backprop:T
RaggedCountSparseOutput output_indices:int64 output_values:output_type output_dense_shape:int64
RaggedCross output_values:out_values_type output_row_splits:out_row_splits_type
RaggedGather output_nested_splits:OUTPUT_RAGGED_RANK*Tsplits output_dense_values:Tvalues
RaggedRange rt_nested_splits:Tsplits rt_dense_values:T
RaggedTensorToSparse sparse_indices:int64 sparse_values:T sparse_dense_shape:int64
SampleDistortedBoundingBox begin:T size:T bboxes:float32
SampleDistortedBoundingBoxV2 begin:T size:T bboxes:float32
ShapeN output:N*out_type
SparseAddGrad a_val_grad:T b_val_grad:T
SparseCountSparseOutput output_indices:int64 output_values:output_type output_dense_shape:int64
SparseFillEmptyRows output_indices:int64 output_values:T empty_row_indicator:bool reverse_index_map:int64
SparseReorder output_indices:int64 output_values:T
SparseReshape output_indices:int64 output_shape:int64
SparseSegmentMeanGradV2 output:T sorted_unique_indices:Tidx
SparseSegmentSqrtNGradV2 output:T sorted_unique_indices:Tidx
SparseSegmentSumGradV2 output:T sorted_unique_indices:Tidx
StatelessRandomGetKeyCounterAlg key:uint64 counter:uint64 alg:int32
TensorListConcatLists output:variant
TensorListElementShape element_shape:shape_type
TensorListScatter TensorListScatterIntoExistingList TensorListSplit output_handle:variant
StatelessSampleDistortedBoundingBox begin:T size:T bboxes:float32
StringNGrams ngrams:string ngrams_splits:Tsplits
TensorListConcat tensor:element_dtype lengths:int64
TopK values:T indices:int32
Unique UniqueV2 y:T idx:out_idx
UniqueWithCountsV2 y:T idx:out_idx count:out_idx
"""
