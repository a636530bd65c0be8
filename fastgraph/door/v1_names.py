"""tf.compat.v1 behind the door: what programs of TensorFlow 2 use of TensorFlow 1's names, as four tables.

Rule: a name that is the same in both versions is fastgraph's own; one that takes its arguments in another order or by
other names has a row; one that means something else is in v1_functions.py, or an error that names what to use. There
are no sessions.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import Any

import fastgraph
from fastgraph.api import namespaces
from fastgraph.errors import NotBuiltError


def _words(text: str) -> list[str]:
    return text.split()


#: v1 name -> name of TensorFlow 2 with the same meaning.
RENAMED: dict[str, str] = dict(
    pair.split(":")
    for pair in _words(
        "OpError:errors.OpError betainc:math.betainc check_numerics:debugging.check_numerics cholesky:linalg.cholesky "
        "cross:linalg.cross data.experimental.DatasetStructure:data.DatasetSpec data.experimental.Structure:TypeSpec "
        "data.experimental.OptionalStructure:OptionalSpec debugging.is_finite:math.is_finite lgamma:math.lgamma "
        "debugging.is_inf:math.is_inf debugging.is_nan:math.is_nan diag:linalg.tensor_diag digamma:math.digamma "
        "dimension_at_index:compat.dimension_at_index dimension_value:compat.dimension_value log:math.log "
        "dtypes.as_string:strings.as_string erf:math.erf erfc:math.erfc expm1:math.expm1 fft:signal.fft "
        "fft2d:signal.fft2d fft3d:signal.fft3d floormod:math.floormod ifft:signal.ifft ifft2d:signal.ifft2d "
        "ifft3d:signal.ifft3d igamma:math.igamma igammac:math.igammac invert_permutation:math.invert_permutation "
        "is_finite:math.is_finite is_inf:math.is_inf is_nan:math.is_nan log1p:math.log1p manip.reverse:reverse "
        "is_numeric_tensor:debugging.is_numeric_tensor matrix_band_part:linalg.band_part qr:linalg.qr "
        "matrix_determinant:linalg.det matrix_inverse:linalg.inv matrix_solve:linalg.solve mod:math.floormod "
        "polygamma:math.polygamma reciprocal:math.reciprocal reverse_v2:reverse rint:math.rint zeta:math.zeta "
        "segment_max:math.segment_max segment_mean:math.segment_mean segment_min:math.segment_min "
        "segment_prod:math.segment_prod segment_sum:math.segment_sum sparse.matmul:sparse.sparse_dense_matmul "
        "set_random_seed:random.set_seed random.set_random_seed:random.set_seed spectral.fft:signal.fft "
        "sparse_fill_empty_rows:sparse.fill_empty_rows sparse_mask:sparse.mask sparse_maximum:sparse.maximum "
        "sparse_minimum:sparse.minimum sparse_reorder:sparse.reorder sparse_reset_shape:sparse.reset_shape "
        "sparse_retain:sparse.retain sparse_slice:sparse.slice sparse_softmax:sparse.softmax "
        "sparse_tensor_dense_matmul:sparse.sparse_dense_matmul sparse_tensor_to_dense:sparse.to_dense "
        "sparse_to_indicator:sparse.to_indicator sparse_transpose:sparse.transpose string_strip:strings.strip "
        "squared_difference:math.squared_difference tensor_scatter_add:tensor_scatter_nd_add ceil:math.ceil "
        "tensor_scatter_sub:tensor_scatter_nd_sub unsorted_segment_max:math.unsorted_segment_max imag:math.imag "
        "unsorted_segment_min:math.unsorted_segment_min unsorted_segment_prod:math.unsorted_segment_prod "
        "unsorted_segment_sum:math.unsorted_segment_sum cumprod:math.cumprod log_sigmoid:math.log_sigmoid "
        "real:math.real conj:math.conj angle:math.angle div_no_nan:math.divide_no_nan lbeta:math.lbeta "
        "accumulate_n:math.accumulate_n logical_xor:math.logical_xor diag_part:linalg.tensor_diag_part "
        "matrix_diag:linalg.diag matrix_diag_part:linalg.diag_part matrix_set_diag:linalg.set_diag svd:linalg.svd "
        "matrix_transpose:linalg.matrix_transpose matrix_triangular_solve:linalg.triangular_solve "
        "self_adjoint_eig:linalg.eigh self_adjoint_eigvals:linalg.eigvalsh global_norm:linalg.global_norm "
        "random_uniform:random.uniform random_normal:random.normal random_shuffle:random.shuffle "
        "truncated_normal:random.truncated_normal random_gamma:random.gamma nn.softmax_cross_entropy_with_logits_v2:"
        "nn.softmax_cross_entropy_with_logits depth_to_space:nn.depth_to_space space_to_depth:nn.space_to_depth "
        "nn.max_pool_v2:nn.max_pool nn.avg_pool_v2:nn.avg_pool nn.ctc_loss_v2:nn.ctc_loss"
    )
)

#: v1 name -> [name in TensorFlow 2 and ":"] the parameters in v1's order, "old=new" where the name is another one and
#: "old=" where the argument has no effect any more. None is the same as no argument.
ARGUMENTS: dict[str, str] = {
    **dict.fromkeys(("argmax", "argmin"), "input axis name dimension=axis output_type"),
    "batch_to_space": "input crops block_size=block_shape name block_shape",
    "space_to_batch": "input paddings block_size=block_shape name block_shape",
    "boolean_mask": "tensor mask name axis",
    "cond": "pred true_fn false_fn strict= name fn1=true_fn fn2=false_fn",
    "constant": "value dtype shape name verify_shape=",
    "convert_to_tensor": "value dtype name preferred_dtype=dtype_hint dtype_hint",
    "device": "device_name_or_function=device_name",
    "expand_dims": "input axis name dim=axis",
    "gather": "params indices validate_indices= name axis batch_dims",
    "gather_nd": "params indices name batch_dims bad_indices_policy",
    "gradients": "ys xs grad_ys name colocate_gradients_with_ops= gate_gradients aggregation_method stop_gradients "
    "unconnected_gradients",
    "hessians": "ys xs name colocate_gradients_with_ops= gate_gradients aggregation_method",
    **dict.fromkeys(("norm", "linalg.norm"), "tensor ord axis keepdims name keep_dims=keepdims"),
    "math.bincount": "arr weights minlength maxlength dtype",
    **dict.fromkeys(
        ("math.confusion_matrix", "confusion_matrix"),
        "math.confusion_matrix: labels predictions num_classes dtype name weights",
    ),
    **dict.fromkeys(
        ("math.count_nonzero", "count_nonzero"),
        "math.count_nonzero: input_tensor=input axis keepdims dtype name reduction_indices=axis keep_dims=keepdims "
        "input",
    ),
    **dict.fromkeys(("math.in_top_k", "nn.in_top_k"), "predictions targets k name"),
    **dict.fromkeys(("math.log_softmax", "nn.log_softmax", "math.softmax", "nn.softmax"), "logits axis name dim=axis"),
    **dict.fromkeys(
        [
            f"{space}reduce_{what}"
            for what in _words("all any logsumexp max mean min prod sum")
            for space in ("", "math.")
        ],
        "input_tensor axis keepdims name reduction_indices=axis keep_dims=keepdims",
    ),
    **dict.fromkeys(
        ("nn.avg_pool", "nn.avg_pool2d", "nn.max_pool"), "value=input ksize strides padding data_format name input"
    ),
    "nn.conv1d": "value=input filters stride padding use_cudnn_on_gpu= data_format name input dilations",
    "nn.conv2d": "input filter=filters strides padding use_cudnn_on_gpu= data_format dilations name filters",
    "nn.conv3d": "input filter=filters strides padding data_format dilations name filters",
    **dict.fromkeys(
        ("nn.conv2d_transpose", "nn.conv3d_transpose"),
        "value=input filter=filters output_shape strides padding data_format name input filters dilations",
    ),
    "nn.convolution": "input filter=filters padding strides dilation_rate=dilations name data_format filters dilations",
    "nn.crelu": "features name axis",
    "nn.depth_to_space": "input block_size name data_format",
    "nn.space_to_depth": "input block_size name data_format",
    "nn.depthwise_conv2d": "input filter strides padding rate=dilations name data_format dilations",
    "nn.separable_conv2d": "input depthwise_filter pointwise_filter strides padding rate=dilations name data_format "
    "dilations",
    "nn.moments": "x axes shift= name keep_dims=keepdims keepdims",
    "nn.pool": "input window_shape pooling_type padding dilation_rate=dilations strides name data_format dilations",
    "nn.sparse_softmax_cross_entropy_with_logits": "labels logits name",
    "nn.sufficient_statistics": "x axes shift keep_dims=keepdims name keepdims",
    "nn.weighted_cross_entropy_with_logits": "labels logits pos_weight name targets=labels",
    "nn.weighted_moments": "x axes frequency_weights name keep_dims=keepdims keepdims",
    **dict.fromkeys(("ones_like", "zeros_like"), "tensor=input dtype name optimize="),
    "pad": "tensor paddings mode name constant_values",
    "random.poisson": "lam shape dtype seed name",
    "reverse_sequence": "input seq_lengths seq_axis batch_axis name seq_dim=seq_axis batch_dim=batch_axis",
    **dict.fromkeys(("shape", "size"), "input name out_type"),
    "sparse.add": "a b threshold thresh=threshold",
    "sparse.concat": "axis sp_inputs name expand_nonconcat_dim=expand_nonconcat_dims concat_dim=axis "
    "expand_nonconcat_dims",
    **dict.fromkeys(
        ("sparse.reduce_max", "sparse.reduce_sum"), "sp_input axis keepdims reduction_axes=axis keep_dims=keepdims"
    ),
    "squeeze": "input axis name squeeze_dims=axis",
    "strings.length": "input name unit",
    "strings.reduce_join": "inputs axis keep_dims=keepdims separator name reduction_indices=axis keepdims",
    "strings.substr": "input pos len name unit",
    "strings.to_number": "string_tensor=input out_type name input",
    "transpose": "a perm name conjugate",
    "tuple": "tensors name control_inputs",
    **{
        f"{space}assert_{what}": f"debugging.assert_{what}: {parameters} message name"
        for parameters, names_ in (
            ("x y data= summarize", "equal greater greater_equal less less_equal none_equal"),
            ("x data= summarize", "negative non_negative non_positive positive"),
            ("x y rtol atol data= summarize", "near"),
            ("x rank data= summarize=", "rank rank_at_least"),
        )
        for what in names_.split()
        for space in ("", "debugging.")
    },
    **dict.fromkeys(("assert_scalar", "debugging.assert_scalar"), "debugging.assert_scalar: tensor name message"),
    "sparse_concat": "sparse.concat: axis sp_inputs name expand_nonconcat_dim=expand_nonconcat_dims concat_dim=axis "
    "expand_nonconcat_dims",
    "substr": "strings.substr: input pos len name unit",
    "string_to_number": "strings.to_number: string_tensor=input out_type name input",
}

#: What v1_functions.py defines, by the names there ("." is "_").
FUNCTIONS = frozenset(
    _words(
        "Dimension assign assign_add assign_sub data.get_output_classes data.get_output_shapes data.get_output_types "
        "data.make_one_shot_iterator disable_eager_execution disable_resource_variables disable_tensor_equality "
        "disable_v2_behavior disable_v2_tensorshape disable_control_flow_v2 enable_control_flow_v2 "
        "enable_eager_execution enable_resource_variables enable_tensor_equality enable_v2_behavior "
        "enable_v2_tensorshape executing_eagerly_outside_functions get_default_graph name_scope nn.dropout "
        "nn.softmax_cross_entropy_with_logits placeholder placeholder_with_default reset_default_graph "
        "resource_variables_enabled sparse_placeholder control_flow_v2_enabled while_loop logging.set_verbosity "
        "logging.get_verbosity"
    )
)

#: Names that mean something else in TensorFlow 2, and are not built as TensorFlow 1 has them: what to use.
DIFFERENT = frozenset(
    _words(
        "Variable VariableAggregation constant_initializer ones_initializer zeros_initializer "
        "random_normal_initializer random_uniform_initializer nn.embedding_lookup nn.embedding_lookup_sparse "
        "nn.safe_embedding_lookup_sparse nn.ctc_loss nn.ctc_beam_search_decoder nn.dilation2d nn.erosion2d "
        "nn.fractional_avg_pool nn.fractional_max_pool nn.max_pool_with_argmax nn.nce_loss nn.sampled_softmax_loss "
        "nn.batch_norm_with_global_normalization nn.space_to_batch image.resize image.crop_and_resize "
        "image.draw_bounding_boxes image.extract_glimpse image.sample_distorted_bounding_box io.decode_csv "
        "io.decode_raw io.parse_example io.parse_single_example io.serialize_many_sparse io.serialize_sparse "
        "saved_model.load sparse.segment_mean sparse.segment_sqrt_n sparse.segment_sum sparse.split strings.split "
        "strings.to_hash_bucket summary.audio summary.histogram summary.image summary.scalar summary.text "
        "summary.SummaryWriter train.Checkpoint test.compute_gradient autograph.to_code autograph.to_graph "
        "debugging.assert_all_finite debugging.assert_rank_in"
    )
)

MODULES = frozenset(
    [
        "compat.v1",
        "compat.v1.logging",
        "compat.v1.manip",
        "compat.v1.spectral",
        "compat.v1.train",
        *(
            f"compat.v1.{module}"
            for module in (*namespaces.NAMESPACES, *namespaces.FILES)
            if not module.startswith(("keras", "compat")) and module not in namespaces.ALIASES
        ),
    ]
)


def value(path: str, name: str) -> Any:
    """Return what `name` is in the module compat.v1.`path` ("" for itself).

    Raises NotBuiltError for a name of TensorFlow's that is not here.
    """
    dotted = f"{path}.{name}" if path else name
    if dotted in FUNCTIONS:
        functions = importlib.import_module("fastgraph.door.v1_functions")
        return getattr(functions, dotted.replace(".", "_"))
    if dotted in ARGUMENTS:
        return _reordered(dotted)
    if dotted in RENAMED:
        return operator.attrgetter(RENAMED[dotted])(fastgraph)
    if f"compat.v1.{dotted}" in namespaces.PUBLIC:
        return operator.attrgetter(f"compat.v1.{dotted}")(fastgraph)
    if dotted in DIFFERENT:
        raise NotBuiltError(
            f"tf.compat.v1.{dotted} is not built: it means something else than tf.{dotted}, which is there. Use "
            "TensorFlow 2's."
        )
    try:
        return operator.attrgetter(dotted)(fastgraph)
    except NotBuiltError:
        raise
    except AttributeError:
        raise NotBuiltError(
            f"tf.compat.v1.{dotted} is not built: of TensorFlow 1 there is what programs of TensorFlow 2 use. "
            "Use the names of TensorFlow 2; sessions, collections and variable scopes are not there."
        ) from None


def _reordered(dotted: str) -> Callable[..., Any]:
    """Return TensorFlow 2's function for arguments as TensorFlow 1 has them."""
    target, _, rest = ARGUMENTS[dotted].rpartition(":")
    function = operator.attrgetter(target or dotted)(fastgraph)
    parameters = [(old, new if equals else old) for old, equals, new in (w.partition("=") for w in rest.split())]
    names_of = dict(parameters)
    name = dotted.rpartition(".")[2]

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(parameters):
            raise TypeError(f"{name}() takes at most {len(parameters)} arguments ({len(args)} given)")
        given = {old: value for (old, _), value in zip(parameters, args, strict=False)}
        for old, value in kwargs.items():
            if old not in names_of:
                raise TypeError(f"{name}() got an unexpected keyword argument {old!r}")
            if old in given:
                raise TypeError(f"{name}() got multiple values for argument {old!r}")
            given[old] = value
        passed: dict[str, Any] = {}
        for old, value in given.items():
            new = names_of[old]
            if value is not None and new:
                if new in passed:
                    raise ValueError(f"{name}(): cannot specify both {old!r} and {new!r}")
                passed[new] = value
        return function(**passed)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"tf.{target or dotted} with the parameters of TensorFlow 1: {', '.join(names_of)}."
    return call


def names(path: str) -> set[str]:
    """Return the names of the module compat.v1.`path` ("" for itself) that are here."""
    prefix = f"{path}." if path else ""
    listed = (full[len(prefix) :] for full in (*FUNCTIONS, *ARGUMENTS, *RENAMED) if full.startswith(prefix))
    found = {name for name in listed if "." not in name}
    known = namespaces.tensorflow_names().get(path, frozenset())
    built = set(namespaces._names_in(path)) if path in namespaces.NAMESPACES or not path else set()
    return found | {name for name in known & built if f"{prefix}{name}" not in DIFFERENT}
