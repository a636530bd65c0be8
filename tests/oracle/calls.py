"""Calls for the names whose inputs the registry's samples do not say: one line each, `call ; x: dtypes[shape]range, ...`.

dtypes is a dtype, several with | between them, or a set of DTYPE_SETS; tensors of one call that name the same several
dtypes share them, and the call is drawn once for each. The range is low..high or <high; without one, small numbers of
both signs. `random` before a call: only dtypes, shapes, means and deviations can be compared; `absolute`: the values are
defined up to a sign or phase.
"""

TABLE = """
tf.fingerprint(x) ; x: int32|float32|uint8[3,2]
tf.fingerprint(['a', 'hello world', '']) ;
tf.strings.to_hash_bucket(['a', 'hello', '', 'a longer word of many letters'], 1000) ;
tf.image.extract_glimpse(x, [3, 2], [[0., 0.], [.5, -.7]], noise='zero') ; x: float32[2,5,6,2]
tf.image.extract_glimpse(x, [4, 3], [[0.2, 0.9]], centered=False, noise='zero') ; x: float32[1,5,6,1]
tf.image.extract_glimpse(x, [4, 3], [[1., -2.]], normalized=False, noise='zero') ; x: float32[1,5,6,1]
random tf.image.extract_glimpse(x, [4, 3], [[0., 0.]], noise='gaussian') ; x: float32[1,5,6,1]
tf.image.sample_distorted_bounding_box([30, 40, 3], x, seed=3) ; x: float32[1,2,4]0..1
tf.image.sample_distorted_bounding_box([30, 40, 3], [[[0.1, 0.2, 0.8, 0.9]]], seed=5, min_object_covered=0.5) ;
tf.image.stateless_sample_distorted_bounding_box([90, 40, 3], [[[0.1, 0.2, 0.8, 0.9]]], [1, 2], 0.3) ;
tf.image.stateless_sample_distorted_bounding_box([9, 14, 3], [[[0., 0., 1., 1.]]], [7, 5], 0.1, [0.5, 2.], [0.2, 0.9]) ;
tf.image.stateless_sample_distorted_bounding_box([9, 14, 3], tf.zeros([1, 0, 4]), [7, 5]) ;
tf.quantization.fake_quant_with_min_max_args(x, -2., 3., 4) ; x: float32[3,4]
tf.quantization.fake_quant_with_min_max_args_gradient(x, y, -1., 1.) ; x: float32[3,4], y: float32[3,4]
tf.quantization.fake_quant_with_min_max_vars_gradient(x, y, -1., 1.) ; x: float32[3,4], y: float32[3,4]
tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient(x, y, [-1., -.5], [1., .7]) ; x: float32[3,2], y: float32[3,2]
tf.quantization.quantize(x, -1., 2., tf.qint8).output_min ; x: float32[3,4]
tf.quantization.dequantize(tf.bitcast(x, tf.quint8), -1., 2.) ; x: uint8[3,4]
tf.quantization.quantized_concat(0, [tf.bitcast(x, tf.quint8)] * 2, [0., 0.], [1., 1.])[2] ; x: uint8[3,4]
tf.quantization.quantize_and_dequantize(x, -1., 2., range_given=True) ; x: float32[3,4]
tf.quantization.quantize_and_dequantize_v2(x, -1., 2., range_given=True) ; x: float32|float64[3,4]
tf.quantization.quantize_and_dequantize_v2(x, -1., 2., num_bits=4, round_mode='HALF_UP') ; x: float32[3,4]
tf.quantization.quantize_and_dequantize_v2(x, -1., 2., False, range_given=True) ; x: float32[3,4]
tf.quantization.quantize_and_dequantize_v2(x, [-1., -2.], [2., 1.], range_given=True, axis=1) ; x: float32[3,2]
tf.quantization.quantize_and_dequantize_v2(x, 2., 1., range_given=True) ; x: float32[3]
tf.random.experimental.index_shuffle(x, [7, 5], 9) ; x: int32|int64[4]0..9
tf.random_index_shuffle(x, [7, 5, 8], 9, rounds=8) ; x: int32|int64[4]0..9
tf.random.uniform_candidate_sampler([[1], [2]], 1, 4, True, 10, seed=3) ;
tf.random.uniform_candidate_sampler([[1], [2]], 1, 6, False, 16, seed=3) ;
tf.random.log_uniform_candidate_sampler([[1, 5], [2, 0]], 2, 8, True, 50, seed=4) ;
tf.random.log_uniform_candidate_sampler([[1]], 1, 3, False, 7, seed=9) ;
tf.random.uniform_candidate_sampler([[1]], 1, 20, True, 10, seed=3) ;
tf.random.all_candidate_sampler([[1]], 1, 4, True, seed=3) ;
random tf.random.fixed_unigram_candidate_sampler([[1]], 1, 4, False, 4, unigrams=[1., 2., 3., 4.], seed=3) ;
tf.nn.compute_accidental_hits([[1, 2], [3, 4]], tf.constant([2, 9, 3], tf.int64), 2) ;
tf.nn.nce_loss(w, b, l, x, 3, 8, sampled_values=(tf.constant([2, 5, 1], tf.int64), [[.3], [.4]], [.2, .3, .5])) ; w: float32[8,3], b: float32[8], l: int64[2,1]<8, x: float32[2,3]
tf.nn.sampled_softmax_loss(w, b, l, x, 3, 8, sampled_values=(tf.constant([2, 5, 1], tf.int64), [[.3], [.4]], [.2, .3, .5])) ; w: float32[8,3], b: float32[8], l: int64[2,1]<8, x: float32[2,3]
tf.nn.sampled_softmax_loss(w, b, l, x, 4, 8, seed=2) ; w: float32[8,3], b: float32[8], l: int64[2,1]<8, x: float32[2,3]
tf.abs(x) ; x: signed_complex[2,3]
tf.add_n([x, y, z]) ; x: addable[2,2], y: addable[2,2], z: addable[2,2]
tf.add_n([x]) ; x: float32[0,2]
tf.math.accumulate_n([x, y]) ; x: float32|int32[2,2], y: float32|int32[2,2]
tf.argmax(x, axis=-1) ; x: ordered|bool[2,5]
tf.argmax(x, axis=0, output_type=tf.int32) ; x: float32[4,0]
tf.argmax(x, 1, tf.uint16) ; x: float32[2,3,4]
tf.argmin(x, axis=1) ; x: ordered|bool[2,5]
tf.argsort(x, axis=0, direction='DESCENDING', stable=True) ; x: float32|int32|int8|float64[5,2]
tf.argsort(x, stable=True) ; x: float32|int64[2,6]
tf.sort(x, axis=-2) ; x: float32|float64|int32|int64|uint8|float16|bfloat16[4,3]
tf.sort(x, direction='DESCENDING') ; x: float32|int32|uint8|int8[7]
tf.sort(x) ; x: float32[3,0]
tf.as_string(x) ; x: int8|int32|int64|bool|float32|float64|complex64[4]
tf.as_string(x, precision=2, width=8, fill='0') ; x: float32[4]
tf.as_string(x, scientific=True) ; x: float64[3]
tf.as_string(x, shortest=True) ; x: float32[3]
tf.strings.as_string(x, width=5, fill=' ') ; x: int32[3]
tf.debugging.assert_equal(x, x) ; x: float32|int32[2,3]
tf.debugging.assert_equal(x, y) ; x: int32[3], y: int32[3]
tf.debugging.assert_none_equal(x, y) ; x: int32[3]0..3, y: int32[3]4..6
tf.debugging.assert_none_equal(x, x) ; x: int32[3]
tf.debugging.assert_greater(x, y) ; x: float32[2,3]4..5, y: float32[3]
tf.debugging.assert_greater(x, y) ; x: float32[2,3], y: float32[3]
tf.debugging.assert_greater_equal(x, x) ; x: int32[2]
tf.debugging.assert_greater_equal(x, y) ; x: int32[2]0..2, y: int32[2]3..5
tf.debugging.assert_less(x, y) ; x: float32[3], y: float32[2,3]4..5
tf.debugging.assert_less(x, x) ; x: float32[3]
tf.debugging.assert_less_equal(x, x) ; x: int32[3]
tf.debugging.assert_less_equal(y, x) ; x: int32[2]0..2, y: int32[2]3..5
tf.debugging.assert_near(x, x + 1e-8) ; x: float32[3]
tf.debugging.assert_near(x, x + 1) ; x: float32|float64|int32[3]
tf.debugging.assert_negative(x) ; x: float32[3]-3..-1
tf.debugging.assert_negative(x) ; x: float32[3]1..2
tf.debugging.assert_positive(x) ; x: float32|int32[3]1..2
tf.debugging.assert_positive(x) ; x: int32[3]-3..0
tf.debugging.assert_non_negative(x) ; x: float32|int32[3]0..2
tf.debugging.assert_non_negative(x) ; x: int32[3]-3..0
tf.debugging.assert_non_positive(x) ; x: int32[3]-3..0
tf.debugging.assert_non_positive(x) ; x: int32[3]1..3
tf.debugging.assert_integer(x) ; x: int32|uint8|float32[3]
tf.debugging.assert_rank(x, 2) ; x: float32[2,3]
tf.debugging.assert_rank(x, 1) ; x: float32[2,3]
tf.debugging.assert_rank_at_least(x, 1) ; x: float32[2,3]
tf.debugging.assert_rank_at_least(x, 3) ; x: float32[2,3]
tf.debugging.assert_scalar(x) ; x: float32[]
tf.debugging.assert_scalar(x) ; x: float32[1]
tf.debugging.assert_type(x, tf.float32) ; x: float32|float64[1]
tf.debugging.check_numerics(x, 'm') ; x: floating[2,3]
tf.debugging.check_numerics(x / 0., 'm') ; x: float32[2]1..2
tf.debugging.Assert(tf.reduce_all(x > 5), [x]) ; x: float32[3]6..7
tf.debugging.Assert(tf.reduce_all(x > 5), [x]) ; x: float32[3]
tf.batch_to_space(x, [2, 2], [[0, 0], [0, 1]]) ; x: float32|int32|bool[4,1,2,1]
tf.space_to_batch(x, [2, 2], [[0, 0], [0, 1]]) ; x: float32|int32|bool[1,2,3,1]
tf.space_to_batch(x, [2], [[1, 1]]) ; x: float32[2,4]
tf.bitcast(x, tf.int32) ; x: float32|uint32|int32[2,3]
tf.bitcast(x, tf.uint8) ; x: int32|float64|float16[2]
tf.bitcast(x, tf.float64) ; x: int32[3,2]
tf.boolean_mask(x, m) ; x: float32|int32|bool|complex64[3,2], m: bool[3]
tf.boolean_mask(x, m) ; x: float32[2,3], m: bool[2,3]
tf.boolean_mask(x, m, axis=1) ; x: float32[2,3,2], m: bool[3]
tf.broadcast_dynamic_shape(x, y) ; x: int32|int64[2]3..4, y: int32|int64[1]1..2
tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3])) ;
tf.broadcast_to(x, [2, 2, 3]) ; x: float32|int32|bool|complex128|uint8[2,1]
tf.broadcast_to(x, [0, 3]) ; x: float32[1,3]
tf.broadcast_to(x, [3]) ; x: float32[]
tf.cast(x, tf.int32) ; x: real|bool|complex64[2,3]
tf.cast(x, tf.bfloat16) ; x: real|bool|complex64[2,3]
tf.cast(x, tf.float16) ; x: real[2,3]
tf.cast(x, tf.uint8) ; x: integer|bool|float32[2,3]0..9
tf.cast(x, tf.bool) ; x: real|complex64[2,3]
tf.cast(x, tf.complex64) ; x: real|bool|complex128[2]
tf.cast(x, tf.float64) ; x: real|bool|complex128[2]
tf.saturate_cast(x, tf.uint8) ; x: float32|int32|int64|int8|float64[4]-300..300
tf.saturate_cast(x, tf.int8) ; x: float32|int32|uint8|float16[4]0..250
tf.saturate_cast(x, tf.float16) ; x: float32|float64[4]-90000..90000
tf.clip_by_value(x, -1, 1) ; x: float32|float64|int32|int8|bfloat16[2,3]
tf.clip_by_value(x, y, z) ; x: float32[2,3], y: float32[3]-2..-1, z: float32[2,1]1..2
tf.clip_by_norm(x, 2.0) ; x: float32|float64|float16[2,3]
tf.clip_by_norm(x, 1.0, axes=[1]) ; x: float32[2,3]
tf.clip_by_global_norm([x, y], 1.5) ; x: float32[2,3], y: float32[4]
tf.clip_by_global_norm([x, None], 5.0) ; x: float32[2,3]
tf.linalg.global_norm([x, y]) ; x: float32|float64[2,3], y: float32|float64[4]
tf.complex(x, y) ; x: float32|float64[2,3], y: float32|float64[2,3]
tf.math.real(x) ; x: fractional[3]
tf.math.imag(x) ; x: fractional[3]
tf.math.conj(x) ; x: fractional|int32[3]
tf.math.angle(x) ; x: complex64|complex128|float32[4]
tf.concat([x, y], 1) ; x: real|bool|complex64|string[2,2], y: real|bool|complex64|string[2,3]
tf.concat([x, y], -2) ; x: float32[0,2], y: float32[3,2]
tf.concat([x, x, x], 0) ; x: float32[2,1,2]
tf.stack([x, y], axis=1) ; x: real|bool|complex64|string[2,3], y: real|bool|complex64|string[2,3]
tf.stack([x, x], -1) ; x: float32[]
tf.unstack(x, axis=-1) ; x: float32|int32|bool|string[2,3]
tf.unstack(x, num=2) ; x: float32[2,0]
tf.split(x, 3, axis=1) ; x: real|bool|complex64|string[2,6]
tf.split(x, [1, 0, 2], axis=-1) ; x: float32|int32[2,3]
tf.split(x, [1, -1], num=2) ; x: float32[3,2]
tf.cumsum(x, axis=1) ; x: floating|int32|int64|complex64|uint8[2,4]
tf.cumsum(x, axis=-1, exclusive=True, reverse=True) ; x: float32[2,3,2]
tf.cumsum(x) ; x: float32[0,3]
tf.math.cumprod(x, axis=0) ; x: floating|int32|int64|complex64[4,2]1..2
tf.math.cumprod(x, exclusive=True, reverse=True) ; x: float32[3,2]
tf.math.cumulative_logsumexp(x, axis=1) ; x: float32|float64[2,4]
tf.math.cumulative_logsumexp(x, exclusive=True, reverse=True) ; x: float32[4]
tf.divide(x, y) ; x: real[2,3]1..5, y: real[3]1..5
tf.truediv(x, y) ; x: real|complex64[2,3]1..5, y: real|complex64[3]1..5
tf.math.divide_no_nan(x, y) ; x: float32|float64|float16|bfloat16|complex64[2,3], y: float32|float64|float16|bfloat16|complex64[2,3]
tf.math.divide_no_nan(x, y * 0) ; x: float32|float64[2,3], y: float32|float64[3]
tf.einsum('ij,jk->ik', x, y) ; x: float32|float64|int32|complex64|float16[2,3], y: float32|float64|int32|complex64|float16[3,4]
tf.einsum('bij,bjk->bik', x, y) ; x: float32[2,2,3], y: float32[2,3,2]
tf.einsum('...ij->...ji', x) ; x: float32[2,2,3]
tf.einsum('ii->i', x) ; x: float32[3,3]
tf.einsum('ij->', x) ; x: float32[2,3]
tf.einsum('ij,jk,kl->il', x, y, z) ; x: float32[2,3], y: float32[3,2], z: float32[2,2]
tf.linalg.einsum('i,j->ij', x, y) ; x: float32[2], y: float32[3]
tf.ensure_shape(x, [None, 3]) ; x: float32|int32|string[2,3]
tf.ensure_shape(x, [2, 4]) ; x: float32[2,3]
tf.equal(x, y) ; x: real|bool|complex64|string[2,3]0..3, y: real|bool|complex64|string[3]0..3
tf.math.not_equal(x, y) ; x: real|bool|complex64|string[2,3]0..3, y: real|bool|complex64|string[3]0..3
tf.expand_dims(x, 1) ; x: float32|int32|bool|string[2,3]
tf.expand_dims(x, -1) ; x: float32[]
tf.expand_dims(x, axis=0) ; x: float32[0]
tf.eye(3, 2, batch_shape=[2]) ;
tf.eye(2, dtype=tf.int32) ;
tf.linalg.eye(2, 3, dtype=tf.complex64) ;
tf.fill([2, 3], x) ; x: real|bool|complex64|string[]
tf.fill(x, 1.5) ; x: int32|int64[2]0..3
tf.gather(x, i) ; x: real|bool|complex64|string[4,3], i: int32|int64|int16[2,2]<4
tf.gather(x, i, axis=1) ; x: float32|int32[2,4,3], i: int32[2]<4
tf.gather(x, i, axis=-1, batch_dims=1) ; x: float32[2,3,4], i: int64[2,5]<4
tf.gather(x, i, batch_dims=-1) ; x: float32[2,4], i: int32[2,3]<4
tf.gather(x, i) ; x: float32[3,0], i: int32[2]<3
tf.gather(x, i) ; x: float32[3], i: int32[2]5..9
tf.gather(x, i) ; x: float32[3], i: int32[2]-9..-5
tf.gather_nd(x, i) ; x: real|bool|complex64|string[3,4], i: int32|int64[2,2]<3
tf.gather_nd(x, i) ; x: float32[3,4,2], i: int32[2,3,1]<3
tf.gather_nd(x, i, batch_dims=1) ; x: float32[2,3,4], i: int32[2,2,1]<3
tf.gather_nd(x, i) ; x: float32[3,4], i: int32[2,2]4..9
tf.histogram_fixed_width(x, [-2., 2.], nbins=5) ; x: float32[20]
tf.histogram_fixed_width(x, [0, 5], nbins=4, dtype=tf.int64) ; x: int32[20]
tf.identity_n([x, y]) ; x: float32[2], y: int32[3]
tf.linalg.adjoint(x) ; x: float32|complex64|float64[2,3,2]
tf.linalg.matrix_transpose(x) ; x: float32|int32|complex64[2,3,2]
tf.linalg.matrix_transpose(x, conjugate=True) ; x: complex64[3,2]
tf.linalg.band_part(x, 1, 0) ; x: float32|int32|bool|complex64|int64[2,3,4]
tf.linalg.band_part(x, -1, 1) ; x: float32[4,3]
tf.linalg.cross(x, y) ; x: float32|int32|float64[2,3], y: float32|int32|float64[2,3]
tf.linalg.diag(x) ; x: float32|int32|bool|complex64[2,3]
tf.linalg.diag(x, k=1) ; x: float32[3]
tf.linalg.diag(x, k=(-1, 1), num_rows=3, num_cols=3, padding_value=9.) ; x: float32[3,3]
tf.linalg.diag(x, k=(0, 1), align='LEFT_RIGHT') ; x: float32[2,3]
tf.linalg.diag_part(x) ; x: float32|int32|bool|complex64[2,3,4]
tf.linalg.diag_part(x, k=-1) ; x: float32[4,3]
tf.linalg.diag_part(x, k=(-1, 1), padding_value=7.) ; x: float32[3,4]
tf.linalg.set_diag(x, y) ; x: float32|int32|complex64[2,3,4], y: float32|int32|complex64[2,3]
tf.linalg.set_diag(x, y, k=1) ; x: float32[3,3], y: float32[2]
tf.linalg.tensor_diag(x) ; x: float32|int32|complex64[2,2]
tf.linalg.tensor_diag_part(x) ; x: float32|int32|complex64[2,3,2,3]
tf.linalg.trace(x) ; x: float32|int32|complex64[2,3,3]
tf.linalg.l2_normalize(x, 1) ; x: float32|float64|float16[2,3]
tf.linalg.l2_normalize(x) ; x: float32|complex64[2,3]
tf.linalg.matmul(x, y) ; x: floating|int32|int64|complex64|complex128[2,3], y: floating|int32|int64|complex64|complex128[3,4]
tf.linalg.matmul(x, y, transpose_a=True) ; x: float32[2,1,3,2], y: float32[4,3,5]
tf.linalg.matmul(x, y, adjoint_b=True) ; x: complex64[2,3], y: complex64[4,3]
tf.linalg.matmul(x, y, transpose_b=True) ; x: float32[0,3], y: float32[2,3]
tf.linalg.matmul(x, y) ; x: float32[2,0], y: float32[0,3]
tf.linalg.matmul(x, y, output_type=tf.int32) ; x: int8[2,3], y: int8[3,2]
tf.linalg.matvec(x, y) ; x: float32|float64|complex64|int32[2,3,4], y: float32|float64|complex64|int32[2,4]
tf.linalg.matvec(x, y, transpose_a=True) ; x: float32[3,4], y: float32[3]
tf.norm(x) ; x: float32|float64|complex64|float16[2,3]
tf.norm(x, ord=1, axis=1) ; x: float32|complex64[2,3]
tf.norm(x, ord=np.inf, axis=-1, keepdims=True) ; x: float32[2,3]
tf.norm(x, ord='fro', axis=[0, 1]) ; x: float32[2,3,2]
tf.norm(x, ord=3.5) ; x: float32[5]
tf.linalg.norm(x, ord=1, axis=[-2, -1]) ; x: float32[2,3,3]
tf.linalg.normalize(x, axis=1) ; x: float32|float64[2,3]
tf.tensordot(x, y, 1) ; x: float32|float64|complex64|int32[2,3], y: float32|float64|complex64|int32[3,2]
tf.tensordot(x, y, [[0, 1], [1, 0]]) ; x: float32[2,3,2], y: float32[3,2,4]
tf.tensordot(x, y, 0) ; x: float32[2], y: float32[3]
tf.linspace(x, y, 5) ; x: float32|float64|int32[2], y: float32|float64|int32[2]
tf.linspace(x, y, 3, axis=-1) ; x: float32[2], y: float32[2]
tf.linspace(x, y, 1) ; x: float32[], y: float32[]
tf.math.bincount(x) ; x: int32|int64[6]<5
tf.math.bincount(x, minlength=7, dtype=tf.int64) ; x: int32[6]<5
tf.math.bincount(x, weights=y) ; x: int32[6]<5, y: float32|float64|int32[6]
tf.math.bincount(x, axis=-1, maxlength=4) ; x: int32[2,6]<5
tf.math.bincount(x, binary_output=True) ; x: int32[6]<5
tf.math.confusion_matrix(x, y) ; x: int32|int64[6]<4, y: int32|int64[6]<4
tf.math.confusion_matrix(x, y, num_classes=5, weights=z, dtype=tf.float32) ; x: int32[6]<4, y: int32[6]<4, z: float32[6]
tf.math.count_nonzero(x, axis=1) ; x: float32|int32|bool|complex64|string[2,4]
tf.math.count_nonzero(x, keepdims=True, dtype=tf.int32) ; x: float32[2,3]
tf.math.erfcinv(x) ; x: float32|float64[2,3]0.1..1.9
tf.math.in_top_k(i, x, 2) ; i: int32|int64[3]<4, x: float32[3,4]
tf.nn.in_top_k(predictions=x, targets=i, k=1) ; i: int32[3]<4, x: float32[3,4]
tf.math.is_non_decreasing(x) ; x: float32|int32[4]
tf.math.is_strictly_increasing(x) ; x: float32|int32[1]
tf.math.lbeta(x) ; x: float32|float64[2,3]0.5..3
tf.math.log_sigmoid(x) ; x: floating|complex64[2,3]
tf.math.log_softmax(x, axis=0) ; x: floating[3,4]
tf.nn.log_softmax(x) ; x: float32[2,0]
tf.math.softmax(x) ; x: floating[2,3]
tf.nn.softmax(x, axis=1) ; x: float32[2,3,2]
tf.math.logical_xor(x, y) ; x: bool[2,3], y: bool[3]
tf.math.polyval([x, y, z], z) ; x: float32|int32|complex64[2], y: float32|int32|complex64[2], z: float32|int32|complex64[2]
tf.math.reciprocal_no_nan(x) ; x: float32|float64|complex64[3]
tf.math.reduce_euclidean_norm(x, axis=1) ; x: float32|float64|int32|complex64|float16[2,3]
tf.math.reduce_std(x, axis=0) ; x: floating|complex64[3,4]
tf.math.reduce_variance(x, axis=[0, 1], keepdims=True) ; x: floating|complex64[3,4]
tf.math.reduce_variance(x) ; x: float32[0]
tf.reduce_logsumexp(x, axis=-1) ; x: floating|complex64[3,4]
tf.reduce_logsumexp(x, keepdims=True) ; x: float32[2,0]
tf.reduce_sum(x, axis=i) ; x: float32[2,3], i: int32|int64[1]<2
tf.reduce_mean(x, 1) ; x: floating|int32|int64|complex64|uint8[3,4]
tf.reduce_max(x, 1) ; x: ordered[3,4]
tf.reduce_min(x, [-1, 0], True) ; x: ordered[3,4]
tf.reduce_prod(x, 0) ; x: floating|int32|complex64[3,2]
tf.reduce_all(x, 0) ; x: bool[3,2]
tf.reduce_any(x, -1, True) ; x: bool[3,2]
tf.math.scalar_mul(x, y) ; x: float32|int32[], y: float32|int32[2,3]
tf.math.segment_sum(x, i) ; x: real|complex64[5,2], i: int32|int64[5]sorted
tf.math.segment_mean(x, i) ; x: floating|int32|complex64[5,2], i: int32[5]sorted
tf.math.segment_max(x, i) ; x: ordered[5,2], i: int32[5]sorted
tf.math.segment_min(x, i) ; x: ordered[5,2], i: int32[5]sorted
tf.math.segment_prod(x, i) ; x: floating|int32|complex64[5,2], i: int32[5]sorted
tf.math.unsorted_segment_sum(x, i, 4) ; x: real|complex64[5,2], i: int32|int64[5]<4
tf.math.unsorted_segment_mean(x, i, 4) ; x: floating|complex64[5,2], i: int32[5]<4
tf.math.unsorted_segment_sqrt_n(x, i, 4) ; x: floating|complex64[5,2], i: int32[5]<4
tf.math.unsorted_segment_max(x, i, 5) ; x: ordered[5,2], i: int32[5]<4
tf.math.unsorted_segment_min(x, i, 5) ; x: ordered[5,2], i: int32[5]-1..4
tf.math.unsorted_segment_prod(x, i, 4) ; x: floating|int32|complex64[2,3], i: int32[2,3]<4
tf.math.top_k(x, 2) ; x: ordered[2,5]
tf.nn.top_k(x, k=3, sorted=True, index_type=tf.int64) ; x: float32[5]
tf.math.truediv(x, y) ; x: int32|uint8|int64[3]1..5, y: int32|uint8|int64[3]1..5
tf.math.zero_fraction(x) ; x: float32|int32|bool[2,4]
tf.math.invert_permutation(tf.argsort(x)) ; x: float32[6]
tf.math.reduce_sum(x, axis=2) ; x: float32[2,3]
tf.meshgrid(x, y) ; x: float32|int32|string[2], y: float32|int32|string[3]
tf.meshgrid(x, y, x, indexing='ij') ; x: float32[2], y: float32[3]
tf.nn.avg_pool(x, 2, 1, 'SAME') ; x: float32|float64|float16|bfloat16[1,4,5,2]
tf.nn.avg_pool2d(x, [2, 3], [2, 1], 'VALID') ; x: float32[2,4,5,2]
tf.nn.avg_pool1d(x, 2, 2, 'VALID') ; x: float32|float64[2,5,2]
tf.nn.avg_pool3d(x, 2, 1, 'SAME') ; x: float32[1,3,3,2,2]
tf.nn.max_pool(x, 2, 1, 'SAME') ; x: float32|float64|int32|float16|bfloat16|uint8|int64[1,4,5,2]
tf.nn.max_pool2d(x, 2, 2, 'VALID') ; x: float32[2,4,5,2]
tf.nn.max_pool2d(x, 2, 1, [[0, 0], [1, 0], [0, 1], [0, 0]]) ; x: float32[2,4,5,2]
tf.nn.max_pool1d(x, 3, 1, 'SAME') ; x: float32[2,5,2]
tf.nn.max_pool3d(x, 2, 2, 'VALID') ; x: float32[1,4,3,2,2]
tf.nn.pool(x, [2, 2], 'AVG', strides=[1, 2], padding='SAME') ; x: float32[1,4,5,2]
tf.nn.pool(x, [2], 'MAX', dilations=[2]) ; x: float32[1,6,2]
tf.nn.batch_normalization(x, m, v, o, s, 1e-3) ; x: float32|float64|float16[2,3], m: float32|float64|float16[3], v: float32|float64|float16[3]0.5..2, o: float32|float64|float16[3], s: float32|float64|float16[3]
tf.nn.batch_normalization(x, m, v, None, None, 1e-3) ; x: float32[2,3], m: float32[3], v: float32[3]0.5..2
tf.nn.bias_add(x, b) ; x: floating|int32|complex64[2,3], b: floating|int32|complex64[3]
tf.nn.bias_add(x, b, data_format='NCHW') ; x: float32[2,3,2,2], b: float32[3]
tf.nn.conv1d(x, w, 1, 'SAME') ; x: float32|float64|float16[2,5,2], w: float32|float64|float16[3,2,3]
tf.nn.conv1d(x, w, 2, 'VALID') ; x: float32[2,7,2], w: float32[2,2,1]
tf.nn.conv1d(x, w, 1, 'VALID', dilations=2) ; x: float32[2,7,2], w: float32[2,2,1]
tf.nn.conv2d(x, w, 1, 'SAME') ; x: float32|float64|float16|bfloat16[1,4,4,2], w: float32|float64|float16|bfloat16[3,3,2,2]
tf.nn.conv2d(x, w, [1, 2, 1, 1], 'VALID', dilations=1) ; x: float32[2,5,4,2], w: float32[2,3,2,1]
tf.nn.conv2d(x, w, 1, [[0, 0], [1, 2], [0, 1], [0, 0]]) ; x: float32[1,4,4,1], w: float32[2,2,1,2]
tf.nn.conv2d(x, w, 1, 'SAME', dilations=2) ; x: float32[1,5,5,1], w: float32[2,2,1,2]
tf.nn.conv2d(x, w, 1, 'SAME') ; x: float32[1,4,4,4], w: float32[3,3,2,4]
tf.nn.conv3d(x, w, [1, 1, 1, 1, 1], 'SAME') ; x: float32|float64[1,3,3,3,1], w: float32|float64[2,2,2,1,2]
tf.nn.conv3d(x, w, [1, 2, 1, 1, 1], 'VALID') ; x: float32[1,4,3,3,1], w: float32[2,2,2,1,2]
tf.nn.conv1d_transpose(x, w, [2, 8, 3], 2) ; x: float32|float64[2,4,2], w: float32|float64[3,3,2]
tf.nn.conv2d_transpose(x, w, [1, 6, 6, 3], 2) ; x: float32|float64[1,3,3,2], w: float32|float64[3,3,3,2]
tf.nn.conv2d_transpose(x, w, [1, 5, 5, 1], 1, 'VALID') ; x: float32[1,3,3,2], w: float32[3,3,1,2]
tf.nn.conv3d_transpose(x, w, [1, 4, 4, 4, 1], [1, 2, 2, 2, 1]) ; x: float32[1,2,2,2,2], w: float32[2,2,2,1,2]
tf.nn.conv_transpose(x, w, [1, 6, 6, 3], 2) ; x: float32[1,3,3,2], w: float32[3,3,3,2]
tf.nn.convolution(x, w, padding='SAME') ; x: float32[1,5,5,2], w: float32[3,3,2,2]
tf.nn.convolution(x, w, strides=2) ; x: float32[1,7,2], w: float32[3,2,2]
tf.nn.convolution(x, w, dilations=[2, 2]) ; x: float32[1,6,6,2], w: float32[2,2,2,2]
tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], 'SAME') ; x: float32|float64[1,4,4,2], w: float32|float64[2,2,2,2]
tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], 'VALID', dilations=[2, 2]) ; x: float32[1,5,5,2], w: float32[2,2,2,1]
tf.nn.separable_conv2d(x, w, p, [1, 1, 1, 1], 'SAME') ; x: float32[1,4,4,2], w: float32[2,2,2,2], p: float32[1,1,4,3]
tf.nn.crelu(x) ; x: float32|float64[2,3]
tf.nn.depth_to_space(x, 2) ; x: float32|int32|uint8[1,2,2,8]
tf.nn.space_to_depth(x, 2) ; x: float32|int32|uint8[1,4,4,2]
tf.nn.embedding_lookup(x, i) ; x: float32|int32[4,3], i: int32|int64[2,2]<4
tf.nn.embedding_lookup(x, i, max_norm=1.0) ; x: float32[4,3], i: int32[3]<4
tf.nn.gelu(x) ; x: floating[2,3]
tf.nn.gelu(x, approximate=True) ; x: floating[2,3]
tf.nn.l2_loss(x) ; x: floating[2,3]
tf.nn.leaky_relu(x, 0.3) ; x: floating|int32[2,3]
tf.nn.log_poisson_loss(x, y) ; x: float32|float64[3]0.5..4, y: float32|float64[3]
tf.nn.log_poisson_loss(x, y, compute_full_loss=True) ; x: float32[3]0..4, y: float32[3]
tf.nn.moments(x, [0]) ; x: floating[4,3]
tf.nn.moments(x, [0, 2], keepdims=True) ; x: float32[2,3,2]
tf.nn.weighted_moments(x, [0], w) ; x: float32|float64[4,3], w: float32|float64[4,1]0.5..2
tf.nn.normalize_moments(c, x, y, None) ; c: float32[]3..4, x: float32[3], y: float32[3]20..30
tf.nn.normalize_moments(c, x, y, s) ; c: float32[]3..4, x: float32[3], y: float32[3]20..30, s: float32[3]
tf.nn.sufficient_statistics(x, [0]) ; x: float32|float64[4,3]
tf.nn.sufficient_statistics(x, [1], shift=s, keepdims=True) ; x: float32[4,3], s: float32[]
tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x) ; x: floating[2,3], y: floating[2,3]0..1
tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x) ; x: floating[2,3], y: floating[2,3]0..1
tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x, axis=0) ; x: float32[2,3], y: float32[2,3]0..1
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x) ; x: floating[4,3], y: int32|int64[4]<3
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x) ; x: float32[2,4,3], y: int32[2,4]<3
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x) ; x: float32[4,3], y: int32[4]5..9
tf.nn.weighted_cross_entropy_with_logits(labels=y, logits=x, pos_weight=2.0) ; x: float32|float64[2,3], y: float32|float64[2,3]0..1
tf.nn.silu(x) ; x: floating[2,3]
tf.nn.silu(x, beta=1.7) ; x: float32[2,3]
tf.nn.swish(x, beta=0.5) ; x: float32[2,3]
tf.one_hot(i, 4) ; i: int32|int64|uint8|int8[2,3]-1..5
tf.one_hot(i, 3, on_value=x, off_value=y, axis=0) ; i: int32[2,2]<3, x: float32|int32|complex64[], y: float32|int32|complex64[]
tf.one_hot(i, 3, dtype=tf.bool, axis=1) ; i: int32[2,2]<3
tf.ones([2, 3], tf.int32) ;
tf.ones(x) ; x: int32|int64[2]0..3
tf.ones_like(x) ; x: real|bool|complex64[2,3]
tf.ones_like(x, dtype=tf.float64) ; x: int32[2,0]
tf.zeros([2, 0], tf.complex64) ;
tf.zeros(x, tf.string) ; x: int32|int64[2]0..3
tf.zeros_like(x) ; x: real|bool|complex64|string[2,3]
tf.zeros_like(x, tf.int8) ; x: float32[2]
tf.pad(x, [[1, 0], [2, 1]]) ; x: real|bool|complex64[2,3]
tf.pad(x, [[1, 1], [2, 1]], 'REFLECT') ; x: float32|int32[3,4]
tf.pad(x, [[1, 1], [2, 1]], 'SYMMETRIC') ; x: float32|int32[3,4]
tf.pad(x, [[0, 0], [1, 2]], constant_values=5) ; x: float32|int32[0,2]
tf.pad(x, p) ; x: float32[2,2], p: int32|int64[2,2]0..3
tf.range(x) ; x: int32|int64|float32[]3..5
tf.range(x, y, 2) ; x: int32|int64|float32|float64[]0..2, y: int32|int64|float32|float64[]7..9
tf.range(5, 0, -1, dtype=tf.int64) ;
tf.range(0.5, 2.5, 0.25) ;
tf.repeat(x, 2, axis=1) ; x: float32|int32|bool|string[2,3]
tf.repeat(x, i, axis=0) ; x: float32[3,2], i: int32|int64[3]<3
tf.repeat(x, 3) ; x: float32[2,2]
tf.reshape(x, [3, -1]) ; x: real|bool|complex64|string[2,6]
tf.reshape(x, [0, 2]) ; x: float32[2,0]
tf.reshape(x, i) ; x: float32[4], i: int32|int64[2]2..3
tf.reverse(x, [0, -1]) ; x: real|bool|complex64|string[2,3]
tf.reverse_sequence(x, i, seq_axis=1) ; x: float32|int32|bool[3,4,2], i: int32|int64[3]<4
tf.reverse_sequence(x, i, seq_axis=0, batch_axis=1) ; x: float32[4,3], i: int32[3]<4
tf.roll(x, 1, 0) ; x: real|bool|complex64[3,4]
tf.roll(x, [2, -1], [0, 1]) ; x: float32|int32[3,4]
tf.round(x) ; x: real|complex64[2,3]
tf.scatter_nd(i, x, [5, 2]) ; i: int32|int64[3,1]<5, x: real|complex64[3,2]
tf.scatter_nd(i, x, [5]) ; i: int32[3,1]6..9, x: float32[3]
tf.searchsorted(tf.sort(x), y) ; x: float32|int32|int64|float64[6], y: float32|int32|int64|float64[4]
tf.searchsorted(tf.sort(x), y, side='right', out_type=tf.int64) ; x: float32[2,6], y: float32[2,4]
tf.sequence_mask(i) ; i: int32|int64[2,2]<4
tf.sequence_mask(i, 3, dtype=tf.float32) ; i: int32[3]<4
tf.shape(x) ; x: float32|string[2,0,3]
tf.shape(x, out_type=tf.int64) ; x: float32[2]
tf.shape_n([x, y]) ; x: float32[2], y: int32[3,1]
tf.size(x) ; x: float32|bool|string[2,3]
tf.size(x, tf.int64) ; x: float32[2,0]
tf.rank(x) ; x: float32|string[2,3]
tf.slice(x, [0, 1], [2, -1]) ; x: real|bool|complex64|string[3,4]
tf.slice(x, i, j) ; x: float32[3,4], i: int32|int64[2]0..2, j: int32|int64[2]1..3
tf.slice(x, [0, 3], [2, 3]) ; x: float32[3,4]
tf.squeeze(x) ; x: float32|int32|bool|string[1,3,1]
tf.squeeze(x, [0]) ; x: float32[1,3,1]
tf.squeeze(x, [1]) ; x: float32[1,3,1]
tf.strided_slice(x, [0, 1], [2, 4], [1, 2]) ; x: real|bool|complex64|string[3,4]
tf.strided_slice(x, [2, 3], [0, 0], [-1, -2], begin_mask=1, end_mask=2) ; x: float32[3,4]
tf.strings.bytes_split(x) ; x: string[]
tf.strings.bytes_split(x).flat_values ; x: string[3]
tf.strings.bytes_split(x).row_splits ; x: string[3]
tf.strings.bytes_split(x).values.row_splits ; x: string[2,3]
tf.strings.format('x: {}, y: {}', [x, y]) ; x: float32|int32|bool|complex64[3,9], y: string[2]
tf.strings.format('{}', x, summarize=1) ; x: float32|float16[2,4,3]
tf.strings.join([x, y], separator='-') ; x: string[2], y: string[2]
tf.strings.length(x) ; x: string[2,3]
tf.strings.length(x, unit='UTF8_CHAR') ; x: string[3]
tf.image.adjust_hue(x, 0.3) ; x: float32[2,3,3]0..1
tf.image.adjust_saturation(x, 1.5) ; x: float32[2,3,3]0..1
tf.image.convert_image_dtype(x, tf.uint8) ; x: float32[2,3,3]0..1
tf.image.convert_image_dtype(x, tf.float32) ; x: uint8|int16[2,3,3]
tf.image.crop_to_bounding_box(x, 1, 0, 2, 3) ; x: float32|uint8[3,4,2]
tf.image.pad_to_bounding_box(x, 1, 2, 6, 7) ; x: float32|int32[3,4,2]
tf.image.extract_patches(x, [1, 2, 2, 1], [1, 1, 2, 1], [1, 1, 1, 1], 'VALID') ; x: float32[1,4,5,2]
tf.image.grayscale_to_rgb(x) ; x: float32|uint8[2,3,1]
tf.image.rgb_to_grayscale(x) ; x: float32[2,3,3]0..1
tf.image.rgb_to_hsv(x) ; x: float32|float64[2,3,3]0..1
tf.image.hsv_to_rgb(x) ; x: float32|float64[2,3,3]0..1
tf.image.flip_left_right(x) ; x: float32|uint8[2,3,4,1]
tf.image.flip_up_down(x) ; x: float32|int32[3,4,2]
tf.image.transpose(x) ; x: float32|uint8[2,3,4,1]
tf.image.rot90(x, 3) ; x: float32|uint8[3,4,2]
tf.image.central_crop(x, 0.5) ; x: float32|uint8[5,7,2]
tf.image.resize_with_crop_or_pad(x, 3, 6) ; x: float32|uint8[2,4,5,1]
tf.image.resize_with_pad(x, 5, 5) ; x: float32|uint8[1,3,4,2]0..9
tf.image.random_crop(x, tf.shape(x)) ; x: float32|uint8[3,4,2]
tf.image.stateless_random_crop(x, [2, 3, 2], seed=[3, 4]) ; x: float32|uint8[3,4,2]
tf.image.stateless_random_flip_left_right(x, seed=[3, 4]) ; x: float32|uint8[5,3,4,2]
tf.image.stateless_random_flip_up_down(x, seed=[3, 4]) ; x: float32|uint8[5,3,4,2]
tf.image.random_flip_left_right(x) ; x: float32|uint8[5,1,1,2]
tf.image.random_flip_up_down(x) ; x: float32|uint8[5,1,1,2]
tf.image.adjust_brightness(x, 0.25) ; x: float32|uint8[3,4,2]0..1
tf.image.adjust_contrast(x, 1.5) ; x: float32|uint8[2,3,4,2]0..1
tf.image.adjust_gamma(x, 2.0) ; x: float32|uint8[3,4,2]0..1
tf.image.per_image_standardization(x) ; x: float32|uint8[2,3,4,2]0..9
tf.image.random_brightness(x, 0.0) ; x: float32|uint8[3,4,2]0..1
tf.image.stateless_random_brightness(x, 0.3, seed=[3, 4]) ; x: float32|uint8[3,4,2]0..1
tf.image.stateless_random_contrast(x, 0.3, 1.5, seed=[3, 4]) ; x: float32|uint8[3,4,2]0..1
tf.image.stateless_random_hue(x, 0.3, seed=[3, 4]) ; x: float32[2,3,3]0..1
tf.image.stateless_random_saturation(x, 0.3, 1.5, seed=[3, 4]) ; x: float32[2,3,3]0..1
tf.image.random_contrast(x * 0.0, 0.3, 1.5) ; x: float32[3,4,2]0..1
tf.image.random_hue(x * 0.0, 0.3) ; x: float32[2,3,3]0..1
tf.image.random_saturation(x * 0.0, 0.3, 1.5) ; x: float32[2,3,3]0..1
tf.image.rgb_to_yiq(x) ; x: float32|float64[2,3,3]0..1
tf.image.yiq_to_rgb(x) ; x: float32|float64[2,3,3]0..1
tf.image.rgb_to_yuv(x) ; x: float32|float64[2,3,3]0..1
tf.image.yuv_to_rgb(x) ; x: float32|float64[2,3,3]0..1
tf.image.psnr(x, y, 1.0) ; x: float32[2,4,5,2]0..1, y: float32[2,4,5,2]0..1
tf.image.ssim(x, y, 1.0, filter_size=3) ; x: float32[2,4,5,2]0..1, y: float32[2,4,5,2]0..1
tf.image.ssim_multiscale(x, y, 1.0, (0.5, 0.5), filter_size=2) ; x: float32[2,4,5,2]0..1, y: float32[2,4,5,2]0..1
tf.image.total_variation(x) ; x: float32|int32[2,4,5,2]
tf.image.image_gradients(x) ; x: float32|int32[2,4,5,2]
tf.image.crop_and_resize(x, [[0.1, 0.2, 0.8, 0.7], [-0.2, 0.9, 1.1, 0.1]], [0, 1], [3, 2], extrapolation_value=0.5) ; x: float32|uint8[2,4,5,1]
tf.image.draw_bounding_boxes(x, [[[0.1, 0.2, 0.8, 0.7], [-0.2, 0.1, 1.1, 0.9]]], None) ; x: float32[1,7,8,3]0..1
tf.image.non_max_suppression(x, y, 4, 0.3) ; x: float32[6,4]0..1, y: float32[6]
tf.image.non_max_suppression_with_scores(x, y, 4, 0.3, soft_nms_sigma=0.5) ; x: float32[6,4]0..1, y: float32[6]
tf.image.non_max_suppression_overlaps(x, y, 4, 0.5) ; x: float32[6,6]0..1, y: float32[6]
tf.image.non_max_suppression_padded(x, y, 4, 0.3, pad_to_max_output_size=True) ; x: float32[6,4]0..1, y: float32[6]
tf.image.combined_non_max_suppression(x, y, 3, 5) ; x: float32[2,6,1,4]0..1, y: float32[2,6,3]0..1
tf.image.sobel_edges(x) ; x: float32[1,4,5,2]
tf.image.resize(x, [5, 3]) ; x: float32|uint8|float64[1,3,4,2]0..9
tf.image.resize(x, [2, 7], method='bicubic', antialias=True) ; x: float32[5,4,1]
tf.image.resize(x, [2, 7], method='nearest') ; x: float32|int32[5,4,1]
tf.raw_ops.BroadcastGradientArgs(s0=[2, 1, 1], s1=[5, 1]) ;
tf.raw_ops.BroadcastGradientArgs(s0=[3], s1=[2, 3]) ;
tf.raw_ops.RandomGammaGrad(alpha=x, sample=y) ; x: float32|float64[5]0.5..4, y: float32|float64[5]0.2..3
tf.raw_ops.UniqueV2(x=x, axis=[0]) ; x: float32|int32[3,2]
tf.raw_ops.UniqueWithCountsV2(x=x, axis=[1]) ; x: float32|int32[2,6]
tf.raw_ops.Bucketize(input=x, boundaries=[0.0, 1.5, 3.0]) ; x: float32|int32[6]
tf.raw_ops.ImageProjectiveTransformV3(images=x, transforms=y, output_shape=[3, 4], fill_value=0.5, interpolation='BILINEAR') ; x: float32[1,3,4,2], y: float32[1,8]0..0.4
tf.quantization.fake_quant_with_min_max_vars(x, -1.0, 2.0, num_bits=6) ; x: float32[2,5]
tf.quantization.fake_quant_with_min_max_vars_per_channel(x, [-1.0, -2.0], [1.0, 3.0]) ; x: float32[4,2]
tf.strings.to_hash_bucket_fast(x, 11) ; x: string[2,2]
tf.strings.to_hash_bucket_strong(x, 11, [3, 5]) ; x: string[3]
tf.experimental.numpy.select([x > 0, x > -2], [x, -x], 7.0) ; x: float32[5]
tf.experimental.numpy.abs(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.arcsin(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]0..1
tf.experimental.numpy.arctan(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.arctanh(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]0..1
tf.experimental.numpy.arcsinh(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.angle(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.around(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.bitwise_not(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.cbrt(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.ceil(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.conj(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.cos(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.cosh(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.deg2rad(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.exp(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.exp2(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.expm1(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.fix(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.floor(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.imag(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.isfinite(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.isnan(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.log1p(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.logical_not(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.negative(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.real(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.reciprocal(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.sign(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.signbit(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.sin(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.sinc(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.sinh(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.square(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.tan(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.tanh(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.sum(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.prod(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.mean(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.std(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.var(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.amax(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.amin(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.ptp(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.cumsum(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.cumprod(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.argmax(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.argsort(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.sort(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.count_nonzero(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.all(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.any(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.ravel(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.transpose(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.flip(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.nansum(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.nanmean(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.average(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.diff(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,3]
tf.experimental.numpy.triu(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,2]
tf.experimental.numpy.tril(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,2]
tf.experimental.numpy.diag(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,2]
tf.experimental.numpy.trace(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,2]
tf.experimental.numpy.rot90(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[2,2]
tf.experimental.numpy.vander(x) ; x: float32|float64|int32|int8|uint8|bool|bfloat16|complex64[3]
tf.experimental.numpy.add(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.add(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.subtract(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.subtract(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.multiply(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.multiply(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.true_divide(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.true_divide(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.floor_divide(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.floor_divide(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.mod(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.mod(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.power(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.power(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.maximum(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.maximum(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.minimum(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.minimum(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.arctan2(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.arctan2(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.bitwise_and(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.bitwise_and(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.gcd(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.gcd(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.lcm(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.lcm(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.greater(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.greater(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.less_equal(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.less_equal(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.equal(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.equal(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.not_equal(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.not_equal(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.heaviside(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.heaviside(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.hypot(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.hypot(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.isclose(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.isclose(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.logaddexp(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.logaddexp(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.logaddexp2(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.logaddexp2(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.logical_xor(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.logical_xor(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.nextafter(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.nextafter(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.dot(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.dot(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.inner(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.inner(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.outer(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.outer(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.vdot(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.vdot(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.kron(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.kron(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.append(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.append(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.array_equal(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.array_equal(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.allclose(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.allclose(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.polyval(x, y) ; x: float32|int32|int8|bool[3]1..4, y: float32[3]1..4
tf.experimental.numpy.polyval(x, y) ; x: int64[3]1..4, y: int32|uint8|bool|float64[3]1..4
tf.experimental.numpy.tile(x, (2, 1, 2)) ; x: float32|int32[2,3]
tf.experimental.numpy.roll(x, 1) ; x: float32|int32[2,3]
tf.experimental.numpy.moveaxis(x, 0, 1) ; x: float32|int32[2,3]
tf.experimental.numpy.swapaxes(x, 0, 1) ; x: float32|int32[2,3]
tf.experimental.numpy.repeat(x, 2, 1) ; x: float32|int32[2,3]
tf.experimental.numpy.clip(x, -1, 1) ; x: float32|int32[2,3]
tf.experimental.numpy.take(x, [0, 5], 1) ; x: float32|int32[2,3]
tf.experimental.numpy.take_along_axis(x, [[2, 0], [1, -1]], 1) ; x: float32|int32[2,3]
tf.experimental.numpy.where(x > 0, x, 2.5) ; x: float32|int32[2,3]
tf.experimental.numpy.nonzero(x) ; x: float32|int32[2,3]
tf.experimental.numpy.split(x, [1, 2], 1) ; x: float32|int32[2,3]
tf.experimental.numpy.hstack([x, x]) ; x: float32|int32[2,3]
tf.experimental.numpy.dstack([x, x]) ; x: float32|int32[2,3]
tf.experimental.numpy.atleast_3d(x) ; x: float32|int32[2,3]
tf.experimental.numpy.concatenate([x, [[1, 2, 3]]]) ; x: float32|int32[2,3]
tf.experimental.numpy.stack([x, x], 1) ; x: float32|int32[2,3]
tf.experimental.numpy.matmul(x, x[0]) ; x: float32|int32[2,3]
tf.experimental.numpy.tensordot(x, x, [[1], [1]]) ; x: float32|int32[2,3]
tf.experimental.numpy.einsum('ij,kj->ik', x, x) ; x: float32|int32[2,3]
tf.experimental.numpy.cross(x, x[::-1]) ; x: float32|int32[2,3]
tf.experimental.numpy.diagonal(x, 1) ; x: float32|int32[2,3]
tf.experimental.numpy.compress([0, 1], x, 0) ; x: float32|int32[2,3]
tf.experimental.numpy.average(x, 1, [1, 2, 3]) ; x: float32|int32[2,3]
tf.experimental.numpy.pad(x, [[0, 1], [2, 0]], 'constant') ; x: float32|int32[2,3]
tf.experimental.numpy.reshape(x, (3, 2), order='F') ; x: float32|int32[2,3]
tf.experimental.numpy.broadcast_to(x, (2, 2, 3)) ; x: float32|int32[2,3]
tf.experimental.numpy.full_like(x, 7) ; x: float32|int32[2,3]
tf.experimental.numpy.zeros_like(x) ; x: float32|int32[2,3]
tf.experimental.numpy.linspace(x, x + 1, 3) ; x: float32|int32[2,3]
tf.experimental.numpy.expand_dims(x, 1) ; x: float32|int32[2,3]
tf.experimental.numpy.squeeze(x[:, None]) ; x: float32|int32[2,3]
tf.experimental.numpy.meshgrid(x[0], x[1]) ; x: float32|int32[2,3]
tf.experimental.numpy.array(x, ndmin=3) ; x: float32|int32[2,3]
tf.experimental.numpy.arange(2, 9, 3) ;
tf.experimental.numpy.arange(0, 1, 0.25) ;
tf.experimental.numpy.eye(3, 4, -1) ;
tf.experimental.numpy.tri(3, 4, 1) ;
tf.experimental.numpy.linspace(0, 9, 3, endpoint=False) ;
tf.experimental.numpy.logspace(0, 2, 3) ;
tf.experimental.numpy.geomspace(1, 100, 3) ;
tf.experimental.numpy.full((2, 2), 7) ;
tf.experimental.numpy.identity(2) ;
tf.experimental.numpy.zeros(3) ;
tf.experimental.numpy.ones((2,)) ;
tf.experimental.numpy.diag_indices(3) ;
tf.experimental.numpy.array([1, 2.5]) ;
tf.experimental.numpy.array([True, 2]) ;
tf.experimental.numpy.diagflat([[1, 2]]) ;
tf.experimental.numpy.meshgrid([1, 2], [3]) ;
tf.strings.lower(x) ; x: string[2,2]
tf.strings.upper(x, encoding='utf-8') ; x: string[2,2]
tf.strings.reduce_join(x, axis=0, separator=',') ; x: string[2,2]
tf.strings.reduce_join(x) ; x: string[2,2]
tf.strings.split(x) ; x: string[]
tf.strings.split(x).flat_values ; x: string[2,3]
tf.strings.split(x, 'l', maxsplit=1).flat_values ; x: string[3]
tf.strings.split(x, 'l', maxsplit=1).row_splits ; x: string[3]
tf.strings.strip(x) ; x: string[3]
tf.strings.substr(x, 0, 1) ; x: string[3]
tf.strings.substr(x, i, j) ; x: string[3], i: int32|int64[3]<1, j: int32|int64[3]<3
tf.strings.to_number(tf.as_string(x)) ; x: float32|int32[3]
tf.strings.to_number(tf.as_string(x), tf.int64) ; x: int32[3]
tf.strings.to_number(x) ; x: string[3]
tf.tensor_scatter_nd_add(t, i, x) ; t: real|complex64[5,2], i: int32[3,1]<5, x: real|complex64[3,2]
tf.tensor_scatter_nd_sub(t, i, x) ; t: real|complex64[5,2], i: int64[3,1]<5, x: real|complex64[3,2]
tf.tensor_scatter_nd_max(t, i, x) ; t: real[5,2], i: int32[3,1]<5, x: real[3,2]
tf.tensor_scatter_nd_min(t, i, x) ; t: real[5,2], i: int32[3,1]<5, x: real[3,2]
tf.tensor_scatter_nd_update(t, [[0], [3], [1]], x) ; t: real|complex64|bool|string[5,2], x: real|complex64|bool|string[3,2]
tf.tensor_scatter_nd_update(t, i, x) ; t: float32[5], i: int32[3,1]7..9, x: float32[3]
tf.tile(x, [2, 1]) ; x: real|bool|complex64|string[2,3]
tf.tile(x, i) ; x: float32[2,3], i: int32|int64[2]0..3
tf.transpose(x) ; x: real|bool|complex64|string[2,3]
tf.transpose(x, [2, 0, 1]) ; x: float32|int32[2,3,4]
tf.transpose(x, conjugate=True) ; x: complex64|complex128[2,3]
tf.tuple([x, y]) ; x: float32[2], y: float32[3]
tf.unique(x) ; x: int32|int64|float32|string|int8[8]0..4
tf.unique(x, out_idx=tf.int64) ; x: int32[8]0..4
tf.unique_with_counts(x) ; x: int32|float32|string[8]0..4
tf.unravel_index(i, [3, 4]) ; i: int32|int64[5]<12
tf.where(c) ; c: bool|float32|int32[3,4]
tf.where(c, x, y) ; c: bool[2,3], x: real|bool|complex64|string[2,3], y: real|bool|complex64|string[3]
tf.where(c, x, 0.) ; c: bool[2,1], x: float32[2,3]
tf.math.igamma(x, y) ; x: float32|float64[2,3]0.5..4, y: float32|float64[2,3]0.5..4
tf.math.betainc(x, y, z) ; x: float32|float64[3]0.5..4, y: float32|float64[3]0.5..4, z: float32|float64[3]0.1..0.9
random tf.random.normal([2000], 1.0, 2.0) ;
random tf.random.normal([2, 3], dtype=tf.float16) ;
random tf.random.uniform([2000], -1, 3) ;
random tf.random.uniform([2000], 0, 9, tf.int32) ;
random tf.random.truncated_normal([3000], 1.0, 2.0) ;
random tf.random.categorical(x, 1500) ; x: float32|float64[2,4]
random tf.random.categorical(x, 5, dtype=tf.int32) ; x: float32[2,4]
random tf.random.shuffle(x) ; x: float32|int32|string[5,2]
random tf.random.stateless_normal([2000], [1, 2], 1.0, 2.0) ;
random tf.random.stateless_uniform([2000], [1, 2], -1, 3) ;
random tf.random.stateless_uniform([2000], [1, 2], 0, 9, tf.int32) ;
random tf.random.stateless_truncated_normal([3000], [1, 2]) ;
random tf.random.stateless_categorical(x, 1500, [1, 2]) ; x: float32[2,4]
random tf.random.experimental.stateless_fold_in([1, 2], 3) ;
random tf.random.fold_in([1, 2], 3) ;
random tf.random.experimental.stateless_split([1, 2], 3) ;
random tf.random.split([1, 2], 3) ;
random tf.random.experimental.stateless_shuffle(x, [1, 2]) ; x: float32[6]
random tf.nn.dropout(x, 0.3) ; x: float32[50,60]1..1.001
random tf.nn.experimental.stateless_dropout(x, 0.3, [1, 2]) ; x: float32[50,60]1..1.001
random tf.random.gamma([2000], x) ; x: float32[]1..3
random tf.random.poisson([2000], x) ; x: float32[]1..3
random tf.random.stateless_gamma([2000], [1, 2], 1.5) ;
random tf.random.stateless_poisson([2000], [1, 2], 3.0) ;
random tf.random.stateless_binomial([2000], [1, 2], 10., 0.3) ;
random tf.random.stateless_parameterized_truncated_normal([2000], [1, 2], 0., 1., -1., 2.) ;
tf.linalg.cholesky(tf.matmul(x, x, adjoint_b=True) + 4 * tf.eye(3, dtype=x.dtype)) ; x: float32|float64[2,3,3]
tf.linalg.cholesky_solve(tf.linalg.cholesky(tf.matmul(x, x, transpose_b=True) + 4 * tf.eye(3)), y) ; x: float32[3,3], y: float32[3,2]
tf.linalg.inv(x + 5 * tf.eye(3, dtype=x.dtype)) ; x: float32|float64|complex64[2,3,3]
tf.linalg.pinv(x) ; x: float32|float64[2,4,3]
tf.linalg.det(x) ; x: float32|float64|complex64[2,3,3]
tf.linalg.slogdet(x) ; x: float32|float64[2,3,3]
tf.linalg.logdet(tf.matmul(x, x, transpose_b=True) + 4 * tf.eye(3)) ; x: float32[3,3]
tf.linalg.solve(x + 5 * tf.eye(3, dtype=x.dtype), y) ; x: float32|float64|complex64[2,3,3], y: float32|float64|complex64[2,3,2]
tf.linalg.triangular_solve(x + 5 * tf.eye(3, dtype=x.dtype), y, lower=False) ; x: float32|float64[2,3,3], y: float32|float64[2,3,2]
tf.linalg.lstsq(x, y) ; x: float32|float64[4,3], y: float32|float64[4,2]
tf.linalg.expm(x) ; x: float32|float64[2,3,3]
tf.linalg.logm(x + 9 * tf.eye(3, dtype=x.dtype)) ; x: complex64|complex128[3,3]
tf.linalg.sqrtm(x + 9 * tf.eye(3, dtype=x.dtype)) ; x: float32[3,3]
tf.linalg.lu(x) ; x: float32|float64[3,3]
tf.linalg.lu_reconstruct(*tf.linalg.lu(x)) ; x: float32[3,3]
tf.linalg.eigvalsh(x + tf.linalg.adjoint(x)) ; x: float32|float64[2,3,3]
tf.linalg.matrix_rank(x) ; x: float32[2,3,4]
tf.linalg.svd(x, compute_uv=False) ; x: float32|float64[2,3,4]
tf.linalg.tridiagonal_solve(x, y) ; x: float32[3,4]5..6, y: float32[4,2]
tf.linalg.tridiagonal_matmul(x, y) ; x: float32[3,4], y: float32[4,2]
absolute tf.linalg.svd(x) ; x: float32|float64[3,4]
absolute tf.linalg.qr(x) ; x: float32|float64[4,3]
absolute tf.linalg.eigh(x + tf.linalg.adjoint(x)) ; x: float32|float64[2,3,3]
tf.signal.fft(x) ; x: complex64|complex128[2,6]
tf.signal.ifft(x) ; x: complex64|complex128[2,6]
tf.signal.fft2d(x) ; x: complex64[2,4,3]
tf.signal.ifft2d(x) ; x: complex64[2,4,3]
tf.signal.fft3d(x) ; x: complex64[2,4,3]
tf.signal.ifft3d(x) ; x: complex64[2,4,3]
tf.signal.rfft(x) ; x: float32|float64[2,7]
tf.signal.rfft(x, fft_length=[4]) ; x: float32[2,7]
tf.signal.irfft(x) ; x: complex64|complex128[2,5]
tf.signal.rfft2d(x) ; x: float32[4,6]
tf.signal.irfft2d(x) ; x: complex64[4,4]
tf.signal.rfft3d(x) ; x: float32[2,4,6]
tf.signal.irfft3d(x) ; x: complex64[2,4,4]
tf.signal.fftshift(x, 0) ; x: float32|complex64[3,4]
tf.signal.ifftshift(x) ; x: float32|complex64[3,4]
tf.signal.dct(x) ; x: float32|float64[2,6]
tf.signal.idct(x) ; x: float32|float64[2,6]
tf.signal.frame(x, 4, 2) ; x: float32|int32[2,11]
tf.signal.frame(x, 4, 3, pad_end=True, pad_value=1) ; x: float32[11]
tf.signal.overlap_and_add(x, 2) ; x: float32|int32[3,4]
tf.signal.stft(x, 8, 4) ; x: float32[2,20]
tf.signal.inverse_stft(x, 8, 4) ; x: complex64[3,5]
tf.signal.inverse_stft_window_fn(2)(4, tf.float32) ;
tf.signal.mdct(x, 8) ; x: float32[24]
tf.signal.inverse_mdct(x) ; x: float32[3,4]
tf.signal.hann_window(8) ;
tf.signal.hann_window(7, periodic=False, dtype=tf.float64) ;
tf.signal.hamming_window(8) ;
tf.signal.kaiser_window(8, 5.) ;
tf.signal.kaiser_bessel_derived_window(8) ;
tf.signal.vorbis_window(8) ;
tf.signal.linear_to_mel_weight_matrix() ;
tf.signal.mfccs_from_log_mel_spectrograms(x) ; x: float32[2,6]
tf.nn.local_response_normalization(x, 2) ; x: float32[1,2,2,6]
tf.nn.fractional_max_pool(x, 1.5, seed=1)[0].shape ; x: float32[1,6,6,1]
tf.nn.erosion2d(x, w, [1, 1, 1, 1], 'SAME', 'NHWC', [1, 1, 1, 1]) ; x: float32[1,4,4,1], w: float32[2,2,1]
tf.nn.dilation2d(x, w, [1, 1, 1, 1], 'SAME', 'NHWC', [1, 1, 1, 1]) ; x: float32[1,4,4,1], w: float32[2,2,1]
tf.nn.isotonic_regression(x) ; x: float32[2,5]
tf.nn.max_pool_with_argmax(x, 2, 2, 'VALID') ; x: float32[1,4,4,2]
tf.map_fn(lambda e: e * 2, x) ; x: float32[3,2]
tf.vectorized_map(lambda e: e * 2, x) ; x: float32[3,2]
tf.scan(lambda a, e: a + e, x) ; x: float32[3,2]
tf.foldl(lambda a, e: a + e, x) ; x: float32[3,2]
tf.foldr(lambda a, e: a + e, x) ; x: float32[3,2]
tf.debugging.assert_shapes([(x, ('N', 3))]) ; x: float32[2,3]
tf.debugging.assert_all_finite(x, 'm') ; x: float32[2,3]
tf.debugging.is_numeric_tensor(x) ; x: float32|string[2]
tf.dynamic_partition(x, i, 3) ; x: float32[5,2], i: int32[5]<3
tf.dynamic_stitch([[0, 2], [1, 3]], [x, y]) ; x: float32[2], y: float32[2]
tf.fingerprint(x) ; x: string[3]
tf.math.approx_max_k(x, 2) ; x: float32[8]
tf.quantization.fake_quant_with_min_max_args(x) ; x: float32[3]
tf.debugging.assert_proper_iterable([x]) ; x: float32[2]
tf.debugging.assert_proper_iterable(x) ; x: float32[2]
tf.debugging.assert_rank_in(x, (1, 2)) ; x: float32[2,3]
tf.debugging.assert_rank_in(x, (1, 3)) ; x: float32[2,3]
tf.extract_volume_patches(x, [1, 2, 2, 1, 1], [1, 1, 2, 1, 1], 'VALID') ; x: float32|int32[1,3,4,2,2]
tf.histogram_fixed_width_bins(x, [0.0, 5.0], 5) ; x: float32[7]
tf.linalg.lu_matrix_inverse(*tf.linalg.lu(x + 5 * tf.eye(3, dtype=x.dtype))) ; x: float32|float64[3,3]
tf.linalg.lu_solve(*tf.linalg.lu(x + 5 * tf.eye(3, dtype=x.dtype)), y) ; x: float32|float64[3,3], y: float32|float64[3,2]
tf.math.approx_min_k(x, 2)[0] ; x: float32[2,5]
tf.nn.approx_min_k(x, 2)[0] ; x: float32[2,5]
tf.math.sobol_sample(3, 5) ;
tf.math.sobol_sample(2, 4, 3, tf.float64) ;
tf.nn.atrous_conv2d(x, y, 2, 'SAME') ; x: float32[1,6,6,2], y: float32[2,2,2,3]
tf.nn.atrous_conv2d_transpose(x, y, [1, 6, 6, 2], 2, 'SAME') ; x: float32[1,6,6,3], y: float32[2,2,2,3]
tf.nn.batch_norm_with_global_normalization(x, y, z, w, v, 0.01, True) ; x: float32[2,3,3,2], y: float32[2], z: float32[2]1..2, w: float32[2], v: float32[2]
tf.nn.collapse_repeated(x, y)[0] ; x: int32[2,5]0..2, y: int32[2]3..5
tf.nn.compute_average_loss(x) ; x: float32|float64[4]
tf.nn.compute_average_loss(x, sample_weight=y, global_batch_size=8) ; x: float32[4], y: float32[4]
tf.nn.ctc_loss(x, y, [2, 1], [4, 3], logits_time_major=False, blank_index=0) ; x: int32[2,2]1..3, y: float32[2,4,4]
tf.nn.ctc_unique_labels(x) ; x: int32[2,3]0..4
tf.nn.depthwise_conv2d_backprop_filter(x, [2, 2, 2, 1], y, [1, 1, 1, 1], 'VALID') ; x: float32[1,4,4,2], y: float32[1,3,3,2]
tf.nn.depthwise_conv2d_backprop_input([1, 4, 4, 2], x, y, [1, 1, 1, 1], 'VALID') ; x: float32[2,2,2,1], y: float32[1,3,3,2]
random tf.nn.experimental.general_dropout(x, 0.5, tf.random.uniform) ; x: float32[2000]1..2
tf.nn.scale_regularization_loss(x) ; x: float32[3]
tf.nn.with_space_to_batch(x, [2, 2], 'VALID', lambda t, *_: t * 2) ; x: float32[1,4,4,2]
tf.required_space_to_batch_paddings([5, 4], [2, 3])[0] ;
random tf.nn.fractional_avg_pool(x, [1.0, 1.5, 1.5, 1.0], seed=3)[0] ; x: float32|float64|int32[1,6,6,2]
"""
