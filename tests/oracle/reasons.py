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
    "random.set_seed": "changes the state of the process; its streams are in tests/api/test_random.py",
}

OWN = "TensorFlow fails for want of a check, or ends; fastgraph names what is wrong"
WIDER = "TensorFlow's kernels for the CPU lack the dtype, which fastgraph has or refuses by its list of dtypes"
LIMIT = "a gradient that TensorFlow cannot compute"

ROWS = [
    (r".*", r"error: .* TensorFlow: (crash|AbortedError|AttributeError|AssertionError)", OWN),
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
    (r"math\.lbeta", r"values", "arguments below 0, where the sum of lgammas loses digits in float32"),
    (r"debugging\.assert_near", r"error", "outside the documented dtypes, NumPy's text about inexact numbers"),
    (r"expand_dims", r"error: a result", "several axes at once are an extension"),
    (r"(meshgrid|shape_n)", r"(error: a result|dtype)", "inputs of several dtypes at once are an extension"),
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
    (r"random\..*", r"error: .*'Context' object has no attribute", "a state of TensorFlow's process"),
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
]  # fmt: skip


def reason(name: str, difference: str) -> str | None:
    """Why results of `name` differ in this way, or None."""
    for names, texts, why in ROWS:
        if re.fullmatch(names, name) and re.match(texts, difference, re.S):
            return why
    return None
