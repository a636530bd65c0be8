"""The module of fastgraph.ops that defines an op, by name: only what a program asks for is imported.

Rule: written by tools/homes.py; a name that is missing here is found all the same, by importing all of
them.
"""

from __future__ import annotations

#: The primitives of each module.
PRIMITIVES: dict[str, str] = {
    "activations": "divide_no_nan elu leaky_relu leaky_relu_grad relu relu6 relu6_grad relu_grad selu softplus",
    "arg_reduction": "argmax argmin",
    "banded_solvers": "banded_triangular_solve",
    "bessel": (
        "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e "
        "bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence"
    ),
    "broadcast_shapes": "broadcast_args",
    "broadcasting": "broadcast_to broadcast_to_dynamic sum_to_like sum_to_shape",
    "casts": "bitcast",
    "check_numerics": "check_numerics_v2",
    "comparison": (
        "bitwise_and bitwise_or bitwise_xor equal greater greater_equal invert is_finite is_inf is_nan left_shift "
        "less less_equal logical_and logical_not logical_or not_equal right_shift"
    ),
    "complex_numbers": "complex conj imag real",
    "convolution_primitives": (
        "conv2d conv2d_bias conv2d_filter_grad conv2d_input_grad conv3d conv3d_bias conv3d_filter_grad "
        "conv3d_input_grad"
    ),
    "cosine_transforms": "dct",
    "counting": "countable interval invert_permutation numbers unravel_index",
    "creation": "eye eye_dynamic fill fill_dynamic range",
    "ctc_loss": "ctc",
    "deferred_calls": "late_call",
    "division": "floordiv floormod realdiv",
    "dynamic_partition": "dynamic_partition",
    "elementwise": (
        "abs add apart cast cast_stored complex_abs identity maximum minimum multiply multiply_no_nan negative "
        "ones_like reciprocal select sign square squared_difference stop_gradient subtract zeros_like"
    ),
    "exponentials": (
        "acos acosh asin asinh atan atan2 atanh cos cosh erf erfc exp expm1 log log1p pow rsqrt sigmoid sin sinh "
        "sqrt tan tanh"
    ),
    "factored_solvers": "pinv",
    "factorizations": "cholesky lu qr",
    "fourier": "fft fit irfft rfft",
    "gathering": "gather gather_grad mask mask_scatter where_index",
    "image_boxes": "suppression",
    "incomplete_gamma": "betainc igamma igamma_grad_a igammac",
    "indexing": "strided_slice strided_slice_dynamic strided_slice_grad",
    "isotonic_regression": "isotonic isotonic_grad",
    "joining": "whole_split",
    "joining_primitives": "concat split stack unstack",
    "linear_solvers": "det inv slogdet solve triangular_solve",
    "matmul": "matmul paired_matmul",
    "matrix_diagonals": "matrix_band_part matrix_diag matrix_diag_part matrix_set_diag",
    "matrix_functions": "expm logm sqrtm",
    "matrix_transposes": "swap_last",
    "movement": "expand_dims rank reshape reshape_dynamic shape size squeeze transpose",
    "nn_ops": "add_n",
    "one_hot": "one_hot one_hot_dynamic",
    "padding": "mirror_pad pad reverse roll",
    "pooling_primitives": "avg_pool avg_pool_grad max_pool max_pool_grad max_pool_pick",
    "print_op": "print timestamp",
    "python_functions": "communicate eager_py_func host_call py_func write_summary",
    "random_distributions": "gamma_slope random_binomial random_gamma random_poisson random_truncated",
    "random_ops": "permutation truncated_numbers",
    "random_states": "draw random_numbers random_numbers_dynamic state_of_seed",
    "reduction": "all any max mean min prod sum",
    "rounding": "ceil floor rint round",
    "runtime_assertions": "assert check_indices check_numerics ensure_shape",
    "runtime_checks": "ensure_extents within",
    "scans": "cumprod cumsum cumulative_logsumexp",
    "scatter": (
        "gather_nd list_scatter scatter_nd tensor_scatter_add tensor_scatter_max tensor_scatter_min "
        "tensor_scatter_sub tensor_scatter_update"
    ),
    "segments": (
        "segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max "
        "unsorted_segment_max_dynamic unsorted_segment_min unsorted_segment_min_dynamic unsorted_segment_prod "
        "unsorted_segment_prod_dynamic unsorted_segment_sum unsorted_segment_sum_dynamic"
    ),
    "slice_accumulation": "gather_add strided_slice_add",
    "slicing": "slice slice_dynamic slice_grad",
    "softmax": "cross_entropy log_softmax pick_labels softmax sparse_cross_entropy",
    "sorting": "argsort search_sorted sort unique unique_slices",
    "special_functions": (
        "digamma erfinv lgamma ndtri nextafter polygamma softsign truncatediv truncatemod xdivy xlog1py xlogy zeta"
    ),
    "stateless_random": "index_shuffle",
    "string_hashes": "hash_bucket hash_bucket_fast hash_bucket_strong",
    "string_patterns": "characters ngrams regex_full_match regex_replace",
    "strings": (
        "as_string reduce_join string_format string_join string_length string_lower string_split string_split_v2 "
        "string_strip string_upper substr to_number"
    ),
    "svd_and_eigen": "eig eigh eigvals eigvalsh singular_values svd",
    "tensor_lists": (
        "list_begin list_blank list_extend list_get list_grow list_push list_push_begin list_reserve list_set list_trim"
    ),
    "tiling": "tile",
    "top_k": "in_top_k top_k",
    "tridiagonal": "eigh_tridiagonal tridiagonal_solve",
}

#: The public names of each module.
PUBLIC: dict[str, str] = {
    "activations": (
        "math.divide_no_nan math.log_sigmoid math.multiply_no_nan math.softplus nn.elu nn.gelu nn.leaky_relu nn.relu "
        "nn.relu6 nn.selu nn.silu nn.softplus nn.swish"
    ),
    "arg_reduction": "argmax argmin math.argmax math.argmin",
    "atrous_convolutions": (
        "nn.atrous_conv2d nn.atrous_conv2d_transpose nn.depthwise_conv2d_backprop_filter "
        "nn.depthwise_conv2d_backprop_input nn.with_space_to_batch required_space_to_batch_paddings"
    ),
    "banded_solvers": "linalg.banded_triangular_solve",
    "bessel": (
        "math.bessel_i0 math.bessel_i0e math.bessel_i1 math.bessel_i1e math.special.bessel_i0 "
        "math.special.bessel_i0e math.special.bessel_i1 math.special.bessel_i1e math.special.bessel_j0 "
        "math.special.bessel_j1 math.special.bessel_k0 math.special.bessel_k0e math.special.bessel_k1 "
        "math.special.bessel_k1e math.special.bessel_y0 math.special.bessel_y1 math.special.dawsn "
        "math.special.expint math.special.fresnel_cos math.special.fresnel_sin math.special.spence"
    ),
    "broadcast_shapes": "broadcast_dynamic_shape broadcast_static_shape raw_ops.BroadcastGradientArgs",
    "broadcasting": "broadcast_to",
    "candidate_samplers": (
        "nn.all_candidate_sampler nn.compute_accidental_hits nn.fixed_unigram_candidate_sampler nn.nce_loss "
        "nn.sampled_softmax_loss random.all_candidate_sampler random.fixed_unigram_candidate_sampler "
        "random.log_uniform_candidate_sampler random.uniform_candidate_sampler"
    ),
    "casts": "bitcast dtypes.saturate_cast saturate_cast",
    "check_numerics": "debugging.disable_check_numerics debugging.enable_check_numerics",
    "comparison": (
        "bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.invert bitwise.left_shift "
        "bitwise.right_shift equal greater greater_equal less less_equal logical_and logical_not logical_or "
        "math.equal math.greater math.greater_equal math.is_finite math.is_inf math.is_nan math.less math.less_equal "
        "math.logical_and math.logical_not math.logical_or math.logical_xor math.not_equal not_equal"
    ),
    "complex_numbers": "complex dtypes.complex math.conj math.imag math.real",
    "convolutions": (
        "nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose nn.conv3d nn.conv3d_transpose nn.conv_transpose "
        "nn.convolution nn.depthwise_conv2d nn.separable_conv2d"
    ),
    "cosine_transforms": "signal.dct signal.idct",
    "counting": (
        "histogram_fixed_width histogram_fixed_width_bins math.bincount math.confusion_matrix "
        "math.invert_permutation math.zero_fraction nn.zero_fraction unravel_index"
    ),
    "creation": "eye fill linalg.eye linspace ones range zeros",
    "ctc_loss": "nn.ctc_loss nn.ctc_unique_labels",
    "custom_gradients": "custom_gradient grad_pass_through recompute_grad",
    "division": "divide math.divide math.floordiv math.floormod math.mod math.truediv realdiv truediv",
    "dynamic_partition": "dynamic_partition dynamic_stitch",
    "einsum": "einsum linalg.einsum",
    "elementwise": (
        "GradientTape IndexedSlices IndexedSlicesSpec UnconnectedGradients abs add autodiff.GradientTape cast "
        "clip_by_value dtypes.cast identity math.abs math.add math.maximum math.minimum math.multiply math.negative "
        "math.reciprocal math.sign math.square math.squared_difference math.subtract maximum minimum multiply "
        "negative ones_like sign square stop_gradient subtract zeros_like"
    ),
    "exponentials": (
        "acos acosh asin asinh atan atan2 atanh cos cosh exp math.acos math.acosh math.asin math.asinh math.atan "
        "math.atan2 math.atanh math.cos math.cosh math.erf math.erfc math.exp math.expm1 math.log math.log1p "
        "math.pow math.rsqrt math.sigmoid math.sin math.sinh math.sqrt math.tan math.tanh nn.sigmoid nn.tanh pow "
        "sigmoid sin sinh sqrt tan tanh"
    ),
    "factored_solvers": (
        "linalg.cholesky_solve linalg.logdet linalg.lstsq linalg.lu_matrix_inverse linalg.lu_reconstruct "
        "linalg.lu_solve linalg.matrix_rank linalg.pinv"
    ),
    "factorizations": "linalg.cholesky linalg.lu linalg.qr",
    "fake_quantization": (
        "quantization.fake_quant_with_min_max_args quantization.fake_quant_with_min_max_args_gradient "
        "quantization.fake_quant_with_min_max_vars quantization.fake_quant_with_min_max_vars_gradient "
        "quantization.fake_quant_with_min_max_vars_per_channel "
        "quantization.fake_quant_with_min_max_vars_per_channel_gradient quantization.quantize_and_dequantize "
        "quantization.quantize_and_dequantize_v2"
    ),
    "fourier": (
        "fftnd ifftnd irfftnd rfftnd signal.fft signal.fft2d signal.fft3d signal.fftnd signal.fftshift signal.ifft "
        "signal.ifft2d signal.ifft3d signal.ifftnd signal.ifftshift signal.irfft signal.irfft2d signal.irfft3d "
        "signal.irfftnd signal.rfft signal.rfft2d signal.rfft3d signal.rfftnd"
    ),
    "fractional_pooling": "nn.fractional_avg_pool nn.fractional_max_pool",
    "gathering": "boolean_mask gather where",
    "image_adjustments": (
        "image.adjust_brightness image.adjust_contrast image.adjust_gamma image.per_image_standardization "
        "image.random_brightness image.random_contrast image.random_hue image.random_saturation image.rgb_to_yiq "
        "image.rgb_to_yuv image.stateless_random_brightness image.stateless_random_contrast "
        "image.stateless_random_hue image.stateless_random_saturation image.yiq_to_rgb image.yuv_to_rgb"
    ),
    "image_boxes": (
        "image.combined_non_max_suppression image.crop_and_resize image.draw_bounding_boxes "
        "image.non_max_suppression image.non_max_suppression_overlaps image.non_max_suppression_padded "
        "image.non_max_suppression_with_scores"
    ),
    "image_colors": (
        "image.adjust_hue image.adjust_saturation image.convert_image_dtype image.grayscale_to_rgb image.hsv_to_rgb "
        "image.rgb_to_grayscale image.rgb_to_hsv image.sobel_edges"
    ),
    "image_geometry": "image.extract_patches raw_ops.ImageProjectiveTransformV3",
    "image_orientation": (
        "image.central_crop image.flip_left_right image.flip_up_down image.random_crop image.random_flip_left_right "
        "image.random_flip_up_down image.resize_with_crop_or_pad image.resize_with_pad image.rot90 "
        "image.stateless_random_crop image.stateless_random_flip_left_right image.stateless_random_flip_up_down "
        "image.transpose"
    ),
    "image_quality": "image.image_gradients image.psnr image.ssim image.ssim_multiscale image.total_variation",
    "image_resizing": "image.crop_to_bounding_box image.pad_to_bounding_box image.resize",
    "image_windows": (
        "image.extract_glimpse image.sample_distorted_bounding_box image.stateless_sample_distorted_bounding_box"
    ),
    "incomplete_gamma": "math.betainc math.igamma math.igammac",
    "indexing": "strided_slice",
    "isotonic_regression": "nn.isotonic_regression",
    "joining": "concat identity_n parallel_stack shape_n split stack tuple unstack",
    "linear_solvers": "linalg.det linalg.inv linalg.slogdet linalg.solve linalg.triangular_solve",
    "loss_averages": (
        "nn.compute_average_loss nn.scale_regularization_loss nn.space_to_batch scalar_mul space_to_batch_nd"
    ),
    "matmul": "linalg.matmul linalg.matvec linalg.tensordot matmul tensordot",
    "matrix_diagonals": (
        "linalg.band_part linalg.diag linalg.diag_part linalg.set_diag linalg.tensor_diag linalg.tensor_diag_part "
        "linalg.trace"
    ),
    "matrix_functions": "linalg.expm linalg.logm linalg.sqrtm matrix_square_root",
    "matrix_transposes": "linalg.adjoint linalg.cross linalg.matrix_transpose",
    "movement": "expand_dims rank reshape shape size squeeze transpose",
    "nn_ops": (
        "add_n clip_by_global_norm clip_by_norm linalg.global_norm linalg.l2_normalize math.accumulate_n math.add_n "
        "math.l2_normalize math.polyval math.scalar_mul nn.bias_add nn.embedding_lookup nn.l2_loss nn.l2_normalize"
    ),
    "no_op": "group no_op",
    "normalization": (
        "nn.batch_norm_with_global_normalization nn.batch_normalization nn.crelu nn.local_response_normalization "
        "nn.log_poisson_loss nn.lrn nn.moments nn.normalize_moments nn.sufficient_statistics "
        "nn.weighted_cross_entropy_with_logits nn.weighted_moments"
    ),
    "one_hot": "one_hot",
    "padding": "pad reverse roll",
    "patches": "extract_volume_patches nn.dilation2d nn.erosion2d nn.max_pool_with_argmax",
    "poolings": (
        "nn.avg_pool nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.max_pool nn.max_pool1d nn.max_pool2d nn.max_pool3d "
        "nn.pool"
    ),
    "print_op": "print timestamp",
    "python_functions": "numpy_function py_function",
    "quantize_dequantize": "quantization.dequantize quantization.quantize quantization.quantized_concat",
    "random_distributions": (
        "random.gamma random.poisson random.stateless_binomial random.stateless_gamma "
        "random.stateless_parameterized_truncated_normal random.stateless_poisson raw_ops.RandomGammaGrad"
    ),
    "random_ops": (
        "nn.dropout nn.experimental.general_dropout random.categorical random.normal random.set_seed random.shuffle "
        "random.truncated_normal random.uniform"
    ),
    "reduction": (
        "linalg.norm linalg.normalize math.count_nonzero math.reduce_all math.reduce_any math.reduce_euclidean_norm "
        "math.reduce_logsumexp math.reduce_max math.reduce_mean math.reduce_min math.reduce_prod math.reduce_std "
        "math.reduce_sum math.reduce_variance norm reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean "
        "reduce_min reduce_prod reduce_sum"
    ),
    "rounding": "floor math.ceil math.floor math.rint math.round round",
    "runtime_assertions": (
        "Assert assert_equal assert_greater assert_less assert_rank debugging.Assert debugging.assert_equal "
        "debugging.assert_greater debugging.assert_greater_equal debugging.assert_integer debugging.assert_less "
        "debugging.assert_less_equal debugging.assert_near debugging.assert_negative debugging.assert_non_negative "
        "debugging.assert_non_positive debugging.assert_none_equal debugging.assert_positive debugging.assert_rank "
        "debugging.assert_rank_at_least debugging.assert_scalar debugging.assert_type debugging.check_numerics "
        "ensure_shape"
    ),
    "scans": "cumsum math.cumprod math.cumsum math.cumulative_logsumexp",
    "scatter": (
        "gather_nd scatter_nd tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min "
        "tensor_scatter_nd_sub tensor_scatter_nd_update"
    ),
    "segments": (
        "math.segment_max math.segment_mean math.segment_min math.segment_prod math.segment_sum "
        "math.unsorted_segment_max math.unsorted_segment_mean math.unsorted_segment_min math.unsorted_segment_prod "
        "math.unsorted_segment_sqrt_n math.unsorted_segment_sum"
    ),
    "sequences": "nn.collapse_repeated reverse_sequence sequence_mask",
    "signal_frames": (
        "signal.frame signal.hamming_window signal.hann_window signal.inverse_mdct signal.inverse_stft "
        "signal.inverse_stft_window_fn signal.kaiser_bessel_derived_window signal.kaiser_window "
        "signal.linear_to_mel_weight_matrix signal.mdct signal.mfccs_from_log_mel_spectrograms "
        "signal.overlap_and_add signal.stft signal.vorbis_window"
    ),
    "slicing": "slice",
    "sobol_sequence": "math.sobol_sample",
    "softmax": (
        "math.log_softmax math.softmax nn.log_softmax nn.sigmoid_cross_entropy_with_logits nn.softmax "
        "nn.softmax_cross_entropy_with_logits nn.sparse_softmax_cross_entropy_with_logits"
    ),
    "sorting": (
        "argsort math.is_non_decreasing math.is_strictly_increasing raw_ops.Bucketize raw_ops.UniqueV2 "
        "raw_ops.UniqueWithCountsV2 searchsorted sort unique unique_with_counts"
    ),
    "space_to_batch": "batch_to_space nn.depth_to_space nn.space_to_depth space_to_batch",
    "special_functions": (
        "math.angle math.digamma math.erfcinv math.erfinv math.lbeta math.lgamma math.ndtri math.nextafter "
        "math.polygamma math.reciprocal_no_nan math.softsign math.xdivy math.xlog1py math.xlogy math.zeta "
        "nn.softsign truncatediv truncatemod"
    ),
    "stateless_random": (
        "nn.experimental.stateless_dropout random.experimental.index_shuffle random.experimental.stateless_fold_in "
        "random.experimental.stateless_shuffle random.experimental.stateless_split random.fold_in random.split "
        "random.stateless_categorical random.stateless_normal random.stateless_truncated_normal "
        "random.stateless_uniform random_index_shuffle"
    ),
    "static_assertions": (
        "debugging.assert_all_finite debugging.assert_proper_iterable debugging.assert_rank_in "
        "debugging.assert_same_float_dtype debugging.assert_shapes debugging.is_numeric_tensor"
    ),
    "string_hashes": "fingerprint strings.to_hash_bucket strings.to_hash_bucket_fast strings.to_hash_bucket_strong",
    "string_patterns": "strings.regex_full_match strings.regex_replace",
    "strings": (
        "as_string strings.as_string strings.format strings.join strings.length strings.lower strings.reduce_join "
        "strings.strip strings.substr strings.to_number strings.upper"
    ),
    "svd_and_eigen": "eig eigvals linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.svd",
    "tiling": "meshgrid repeat tile",
    "top_k": (
        "math.approx_max_k math.approx_min_k math.in_top_k math.top_k nn.approx_max_k nn.approx_min_k nn.in_top_k "
        "nn.top_k"
    ),
    "tridiagonal": "linalg.eigh_tridiagonal linalg.tridiagonal_matmul linalg.tridiagonal_solve",
}
