"""Why results differ where they do: (pattern of the name, pattern of the difference, reason), the first that fits counts.

Also the names that are not compared. A difference that no row fits is a defect, or wants a row.
"""

from __future__ import annotations

import re

NOT_COMPARED = {
    "parallel_stack": "for graphs alone: it refuses eager mode in both",
    **dict.fromkeys(
        [prefix + name for prefix in ("", "signal.") for name in ("fftnd", "ifftnd", "rfftnd", "irfftnd")],
        "TensorFlow has no kernel of it for the CPU",
    ),
    "print": "writes to a stream; what it writes is in tests/api/test_print_and_checks.py",
    **dict.fromkeys(
        ["grad_pass_through", "recompute_grad"], "change functions; tests/api/test_gradients_recomputed.py"
    ),
    **dict.fromkeys(["py_function", "numpy_function"], "call Python; tests/api/test_python_functions.py"),
    **dict.fromkeys(
        ["debugging.enable_check_numerics", "debugging.disable_check_numerics"],
        "change the state of the thread; tests/api/test_check_numerics.py",
    ),
    "timestamp": "the time, which passes between the two calls",
    "random.set_seed": "changes the state of the process; its streams are in tests/api/test_random.py",
}

OWN = "TensorFlow fails for want of a check, or ends; fastgraph names what is wrong"
WIDER = "TensorFlow's kernels for the CPU lack the dtype, which fastgraph has or refuses by its list of dtypes"
LIMIT = "a gradient that TensorFlow cannot compute"

ROWS = [
    (
        r"experimental\.numpy\..*",
        r"error: a result, TensorFlow: (InvalidArgumentError: (cannot compute|Value for attr)|TypeError: Cannot convert)",
        "operators inside refuse several dtypes, bools and strings before NumPy's behaviour is switched on",
    ),
    (
        r"experimental\.numpy\.(geomspace|linspace|logspace|arange|clip|maximum|array|tri|vander|take|where|identity|eye|diag_indices|full|zeros|ones|meshgrid).*",
        r"error: \w+, TensorFlow: (ValueError|a result|InvalidArgumentError)",
        "wrong arguments are found by another of its steps",
    ),
    (r"experimental\.numpy\.(cumprod|prod|nanprod|average)", r"(first|second) gradient", "of complex numbers, as math.reduce_prod"),
    (r".*", r"error: .* TensorFlow: (crash|AbortedError|AttributeError|AssertionError)", OWN),
    (r".*", r"error: .* TensorFlow: (UnboundLocalError|IndexError: (tuple|list) index out of range)", OWN),
    (r".*", r"error: .* TensorFlow: TypeError: ('NoneType' object|unsupported operand)", OWN),
    (r".*", r"error: .* TensorFlow: (NotFoundError|UnimplementedError).*(Could not find device|not supported)", WIDER),
    (r".*", r"(first|second) gradient: no ", LIMIT),
    (r"nn\.(gelu|leaky_relu|crelu)", r"values|first|second", "TensorFlow rounds constants to float32 in float64 calls"),
    (
        r"nn\.softmax_cross_entropy_with_logits",
        r"second gradient",
        "TensorFlow leaves out how the labels change the gradient of the logits",
    ),
    (r"math\.top_k", r"values: nan", "TensorFlow leaves the order of NaNs to the sorting algorithm; here they come first"),
    (r"nn\.(nce_loss|sampled_softmax_loss)", r"error: a result", "rows of another dtype are converted"),
    (
        r"quantization\.quantize_and_dequantize",
        r"error: a result",
        "ranges for each slice, which TensorFlow documents, and its kernel for the CPU refuses",
    ),
    (r"math\.lbeta", r"values", "arguments below 0, where the sum of lgammas loses digits in float32"),
    (r"debugging\.assert_near", r"error", "outside the documented dtypes, NumPy's text about inexact numbers"),
    (r"expand_dims", r"error: a result", "several axes at once are an extension"),
    (r"(meshgrid|shape_n)", r"(error: a result|dtype)", "inputs of several dtypes at once are an extension"),
    (r"nn\.ctc_unique_labels", r"shape: \(0, \d+\) is not \(0,\)", "of no rows TensorFlow forgets how long they are"),
    (r"scatter_nd", r"error: a result", "a shape of another integer dtype than the indices is taken"),
    (r"truncatemod|truncatediv", r"error: a result", "more dtypes than TensorFlow's list"),
    (r"nn\.max_pool3d|nn\.l2_loss", r"error: a result", "more dtypes than TensorFlow's list"),
    (r"nn\.conv3d", r"error: a result", "groups, which TensorFlow has in two dimensions only"),
    (
        r"nn\.(avg_pool|max_pool|conv|depthwise|separable).*",
        r"error: InvalidArgumentError, TensorFlow: a result",
        "TensorFlow's oneDNN kernels compute something for ranks and empty sizes that its other kernels refuse",
    ),
    (r"(gather|nn\.embedding_lookup)", r"error: InvalidArgumentError, TensorFlow: a result", "indices into nothing"),
    (r"linalg\.matmul", r"error: .*a result", "products of two dtypes, or into another, are not there"),
    (r"unravel_index", r"error", "TensorFlow checks neither negative indices nor lets the result be empty"),
    (
        r".*",
        r"error: InvalidArgumentError, TensorFlow: TypeError: (Cannot convert|Expected numeric)",
        "a Python number is converted to the tensor's dtype first there, here the op's list of dtypes is read first",
    ),
    (
        r"(unsorted_segment|histogram|math\.unsorted_segment).*",
        r"error: UnimplementedError, TensorFlow: TypeError",
        "a cast comes before the conversion that fails there",
    ),
    (
        r"math\.reduce_euclidean_norm",
        r"first gradient",
        "of complex numbers: TensorFlow conjugates the weight of a real norm; finite differences agree with fastgraph",
    ),
    (r"math\.cumulative_logsumexp", r"", "NaN beside an infinity, and their gradients"),
    (r"argm(ax|in)", r"error: a result.*is empty", "an empty axis of an empty result has nothing to find"),
    (r"debugging\.assert_.*|assert_.*", r"error", "None and dtypes outside the documented ones"),
    (r"math\.angle|linalg\.l2_normalize|nn\.(weighted_)?moments", r"error", "dtypes outside the documented ones"),
    (r"math\.is_strictly_increasing|dtypes\.saturate_cast", r"error.*complex", "complex numbers have no order"),
    (r"nn\.(normalize_moments|weighted_cross_entropy_with_logits)", r"error: TypeError", "operators refuse the dtypes"),
    (r"nn\.softmax_cross_entropy_with_logits", r"error: a result", "labels and logits of other ranks broadcast"),
    (r"nn\.(pool|separable_conv2d)", r"error: InvalidArgumentError", "a wrong rank is found by the op itself"),
    (r"math\.confusion_matrix|boolean_mask", r"error", "a wrong rank or dtype is found by another of its steps"),
    (r"broadcast_dynamic_shape", r"error", "extents below 0"),
    (r"batch_to_space", r"error", "dtypes that TensorFlow lacks"),
    (r"scatter_nd", r"error: InvalidArgumentError", "strings cannot be scattered"),
    (r"strings\.format", r"values", "complex numbers, which TensorFlow shows as question marks"),
    (r"random\..*", r"error: .*'Context' object has no attribute", "a state of TensorFlow's process"),
    (
        r"quantization\..*|raw_ops\.ImageProjectiveTransformV3",
        r"error: InvalidArgumentError, TensorFlow: ValueError: Tensor conversion requested dtype",
        "a list among the arguments makes TensorFlow convert the others first, with another class of error",
    ),
    (
        r"image\.(hsv_to_rgb|adjust_\w+)",
        r"first gradient: not None",
        "TensorFlow has no gradient of it, and gives None or raises LookupError",
    ),
    (
        r"image\.adjust_\w+",
        r"values(: \S+ is not \S+)?$",
        "computed in float32, in steps of another order: the last places, and integers next to a half",
    ),
    (
        r"image\.(stateless_random_(contrast|hue|saturation)|adjust_contrast)",
        r"values: \S+ is not \S+$",
        "as adjust_hue: computed in float32, in steps of another order",
    ),
    (r"image\.(stateless_)?random_flip_\w+", r"error: a result, TensorFlow: TypeError.*bool", "images of bools flip too"),
    (r"image\.image_gradients", r"shape: \(0, 1, 0, 0\) is not", "an image without rows has no row of gradients"),
    (
        r"concat",
        r"error: InvalidArgumentError, TensorFlow: ValueError: Can't convert Python sequence with mixed types",
        "an axis that is a list is refused for its rank, whatever is in it",
    ),
    (r"image\.draw_bounding_boxes", r"first gradient: not None", "TensorFlow has no gradient of it"),
    (
        r"image\.non_max_suppression_padded",
        r"error: (InvalidArgumentError|ValueError), TensorFlow: ((TypeError|ValueError): in user code|a result)",
        "TensorFlow makes it of other ops, whose dtypes and errors it has",
    ),
    (
        r"image\.ssim_multiscale",
        r"first gradient: values: 0 is not nan",
        "a similarity of 0 to a power below 1: the gradient of relu, 0, ends it",
    ),
    (
        r"image\.convert_image_dtype",
        r"values",
        "floats that the integers do not hold: what a cast makes of them depends on TensorFlow's vectors",
    ),
    (
        r"raw_ops\.ImageProjectiveTransformV3",
        r"first gradient: values: \S+ is not 0|values",
        "TensorFlow has no gradient to the transforms; places are float32, of float64 images too",
    ),
    (
        r"image\.sobel_edges",
        r"error: InvalidArgumentError, TensorFlow: ValueError: Failed to convert",
        "the dtype is looked at before the filter is made",
    ),
    (r"image\.resize", r"first gradient: values", "weights are float32, of float64 images too"),
    (
        r".*",
        r"error: TypeError, TensorFlow: InvalidArgumentError: Value for attr",
        "a Python number is converted to the tensor's dtype first here, there the op's list of dtypes is read first",
    ),
    (r".*", r"text: .*list of allowed values", "TensorFlow's list has quantized dtypes as well"),
    (r".*", r"text: ", "the same said in other words"),
    (r"concat", r"error: ValueError", "of nothing: TensorFlow's text speaks of how kernels are registered"),
    (r"(linalg\.)?norm", r"error: a result", "the Frobenius norm of what is no matrix: that of all elements"),
    (r"searchsorted", r"error: a result", "Python numbers take the dtype of the sequence"),
    (r"add_n", r"error: ValueError", "a scalar is no list, to Python's iteration either"),
    (r"repeat", r"error: ValueError", "fewer than no times"),
    (r"tuple", r"values", "a Python number becomes a tensor"),
    (
        r"linalg\.(det|slogdet|sqrtm)|math\.(cumprod|multiply_no_nan)",
        r"first gradient: values: \S+j is not",
        "of complex matrices and numbers: TensorFlow leaves out a conjugate; finite differences agree with fastgraph",
    ),
    (
        r"linalg\.tridiagonal_solve|math\.reduce_prod",
        r"second gradient: values: \S+j is not",
        "of complex numbers: TensorFlow leaves out a conjugate; finite differences agree with fastgraph",
    ),
    (
        r"linalg\.eigh_tridiagonal",
        r"first gradient",
        "TensorFlow differentiates its own iteration, of which most stops the gradient; finite differences agree "
        "with fastgraph",
    ),
    (
        r"linalg\.eigh_tridiagonal",
        r"error: InvalidArgumentError, TensorFlow: a result: .*beta must have 0 elements",
        "TensorFlow does not look at beta where alpha is empty",
    ),
    (
        r"math\.igammac?",
        r"values: 0\.(7606|2393)",
        "arguments of 20000, where TensorFlow's float32 series stops at 5e-4; SciPy's float64 agrees with fastgraph",
    ),
    (r"linalg\.banded_triangular_solve", r"error: a result.*must not be an empty", "of no equations there is no unknown"),
    (r"linalg\.matrix_rank", r"error: a result.*saw complex", "complex matrices have a rank as well: an extension"),
    (
        r"linalg\.tridiagonal_solve",
        r"error: ValueError, TensorFlow: InvalidArgumentError.*Expected (diagonals to be|the same number)",
        "extents of 0, which TensorFlow leaves to its kernel, are checked as all others are",
    ),
    (r"math\.approx_m(ax|in)_k", r"error: a result.*attr 'T' of (int32|double)", "exact here, so of all real dtypes"),
    (
        r"histogram_fixed_width_bins",
        r"error: a result.*cannot compute Sub",
        "a range of Python floats takes the dtype of the values",
    ),
    (r"nn\.max_pool_with_argmax", r"error: a result.*must not be empty", "a pool of nothing is nothing"),
    (r"nn\.collapse_repeated", r"error: InvalidArgumentError, TensorFlow: a result.*string", "strings cannot be scattered"),
    (r"nn\.atrous_conv2d", r"error: InvalidArgumentError, TensorFlow: ZeroDivisionError", OWN),
    (
        r"nn\.ctc_loss",
        r"second gradient: LookupError",
        "fastgraph has no second gradient of it, and says so",
    ),
    (r"nn\.ctc_loss", r"error: a result.*expected to be a double", "logits of float64 are an extension"),
    (
        r"nn\.ctc_loss",
        r"error: ValueError, TensorFlow: InvalidArgumentError.*Incompatible shapes",
        "logits of no classes: the blank, which is none of them, is found first",
    ),
    (r"random\.experimental\.index_shuffle", r"error: a result.*Index bust be", "of no indices there is nothing to shuffle"),
    (
        r"signal\.mdct",
        r"error: a result.*Input dimension",
        "of no frames, where TensorFlow's transform of no rows asks for its length after padding nothing",
    ),
    (r"signal\.overlap_and_add", r"error: a result.*Size 0 must be non-negative", "a length below 0 is none"),
]  # fmt: skip


def reason(name: str, difference: str) -> str | None:
    """Why results of `name` differ in this way, or None."""
    for names, texts, why in ROWS:
        if re.fullmatch(names, name) and re.match(texts, difference, re.S):
            return why
    return None
