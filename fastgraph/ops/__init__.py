"""The ops: what can be computed.

Rule: a module of ops registers its primitives and public names when it is imported, and is imported when one of them is
asked for (`registry.get`, `registry.public_function`).

The modules by theme:

- How ops are defined: families, arguments, window_arguments, python_operators, value_inference, deferred_calls,
  runtime_checks, precise_sums, stable_sorting.
- Creating: creation, tiling, padding.
- Elements: elementwise, rounding, exponentials, division, comparison, complex_numbers, activations, special_functions,
  bessel, incomplete_gamma, fake_quantization, quantize_dequantize, casts.
- Shapes and places: movement, broadcasting, broadcast_shapes, joining, joining_primitives, slicing, indexing,
  bad_indices_policy, gathering, one_hot, scatter, slice_accumulation, sequences, space_to_batch, tensor_lists.
- Along axes: reduction, arg_reduction, scans, segments, sorting, top_k, counting, dynamic_partition,
  isotonic_regression.
- Products: matmul, einsum.
- Matrices: matrix_algebra, matrix_diagonals, matrix_transposes, factorizations, svd_and_eigen, linear_solvers,
  factored_solvers, tridiagonal, banded_solvers, matrix_functions, single_precision_lapack.
- Networks: nn_ops, softmax, normalization, loss_averages, ctc_loss, candidate_samplers,
  cudnn_rnn.
- Windows: convolutions, convolution_primitives, convolution_numpy, atrous_convolutions, poolings, pooling_primitives,
  pooling_numpy, fractional_pooling, patches.
- Images: image_adjustments, image_boxes, image_colors, image_geometry, image_orientation, image_quality,
  image_resizing, image_windows.
- Signals: fourier, cosine_transforms, signal_frames.
- Text: strings, string_patterns, string_hashes.
- Random numbers: random_ops, random_states, random_algorithms, random_distributions, random_replay, stateless_random,
  sobol_sequence.
- Programs: control_dependencies, no_op, custom_gradients, python_functions, print_op, runtime_assertions,
  static_assertions, check_numerics.
"""
