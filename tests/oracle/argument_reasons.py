"""Why results of integer arguments differ where they do: (names, parameter, mode, difference, reason); the first counts."""

from __future__ import annotations

import re

TENSORFLOW = "eager from TensorFlow"
#: What TensorFlow says of an int64 where its op has an int32, and of a tensor where it has a Python number or list.
_INT32 = (
    r".* is not (ValueError|TypeError): .*(requested dtype int32 for Tensor|must be of type tf.int32; got tf.int64)"
)
_LITERAL = r".* is not TypeError: (Expected (list|int) for|.*must be an int)"
ROWS: list[tuple[str, str, str, str, str]] = [
    (
        r".*",
        r".*",
        TENSORFLOW,
        _INT32,
        "TensorFlow asks for an int32; an int64 is taken, or what is wrong with it is said",
    ),
    (
        r".*",
        r".*",
        TENSORFLOW,
        r".* is not InvalidArgumentError: cannot compute .* expected to be a int32",
        "TensorFlow asks for an int32; an int64 is taken, or what is wrong with it is said",
    ),
    (
        r".*",
        r".*",
        TENSORFLOW,
        _LITERAL,
        "TensorFlow asks for Python's numbers; a tensor that is known is taken, or checked",
    ),
    (
        r".*",
        r".*",
        TENSORFLOW,
        r".* is not NotFoundError: Could not find device",
        "TensorFlow has no kernel of it for the CPU",
    ),
    (
        r".*",
        r".*",
        TENSORFLOW,
        r"(2 results are not 1|3 results are not [12])$",
        "TensorFlow has no gradient of it, or cannot compute it",
    ),
    (
        r".*",
        r".*",
        "from eager",
        r"not traced: NotImplementedError .*(known while|while a function is traced)",
        "not built: must be known while tracing; docs/differences.md",
    ),
    (
        r".*",
        r".*",
        TENSORFLOW,
        r".* is not (crash|AbortedError)",
        "TensorFlow ends, or fails inside, for want of a check",
    ),
    (
        r".*",
        r".*",
        TENSORFLOW,
        r".* is not TypeError: (Cannot iterate over a scalar tensor|Tensor is unhashable)",
        "TensorFlow asks for Python's numbers; a tensor that is known is taken, or checked",
    ),
    (
        r"boolean_mask",
        r"axis",
        TENSORFLOW,
        r"values is not ValueError: Shapes \(\)",
        "an axis counted from the end: TensorFlow compares the shape behind it",
    ),
    (
        r"boolean_mask|gather|stack",
        r"axis",
        TENSORFLOW,
        r".*Error is not (TypeError: only integer scalar|ValueError: The truth value of an (empty|array))",
        "TensorFlow gives a vector as an axis to NumPy, which complains",
    ),
    (r"broadcast_dynamic_shape", r".*", TENSORFLOW, r"InvalidArgumentError is not values", "extents below 0"),
    (
        r"gather|nn\.embedding_lookup",
        r".*",
        TENSORFLOW,
        r"InvalidArgumentError is not values: .* not in \[0, ",
        "indices into nothing",
    ),
    (
        r"gather",
        r"batch_dims",
        "",
        r"(InvalidArgumentError|not traced: TypeError) is not values",
        "with axis=0 TensorFlow does not read batch_dims",
    ),
    (
        r"(linalg\.)?tensordot",
        r"axes",
        TENSORFLOW,
        r"(TypeError|ValueError) is not (InvalidArgumentError|values)",
        "TensorFlow takes the first two elements of a tensor, whatever it has; two lists are asked for",
    ),
    (r"fill", r"dims", "from eager", r"InvalidArgumentError is not values", "a scalar that is known is one extent"),
    (
        r"nn\.(atrous_conv2d_transpose|collapse_repeated|sparse_softmax.*)",
        r".*",
        "unknown/",
        r"InvalidArgumentError is not ValueError",
        "a length that only the call knows",
    ),
    (r"reshape", r"shape", "from eager", r"InvalidArgumentError is not values", "the sum of weights asks for an int32"),
    (
        r"required_space_to_batch_paddings",
        r".*",
        "from eager",
        r"InvalidArgumentError is not ValueError|values",
        "only the call knows the numbers; extents below 0 are not looked at",
    ),
    (r".*", r".*", TENSORFLOW, r"values is not InvalidArgumentError: cannot compute", "another integer dtype is taken"),
    (
        r".*",
        r".*",
        TENSORFLOW,
        r".* is not TypeError: .*must be an int",
        "a tensor whose number is known is an integer",
    ),
    (r".*", r"axis|axes|dim|perm", "from eager", r"not traced: ", "axes are known while tracing; docs/differences.md"),
    (r"math\.(in_)?top_k", r"k", TENSORFLOW, r"3 results are not 2", "gradients to what is no float are not returned"),
    (r"math\.top_k", r"k", "unknown", r"not traced: .*last dimension that is known", "docs/differences.md says it"),
    (r"pad", r"constant_values", TENSORFLOW, r".* is not TypeError: Cannot convert", "the tensor has its dtype first"),
    (r"repeat", r"repeats", "unknown", r"InvalidArgumentError is not ValueError", "a length that only the call knows"),
    (r"split", r".*", TENSORFLOW, r".* is not ValueError: Rank-0", "one tensor of a number counts as one size"),
    (
        r"split",
        r"num",
        TENSORFLOW,
        r"values is not InvalidArgumentError",
        "sizes that are known need no number of them",
    ),
    # Names without a namespace, and those of few.
    (
        r"linalg\.diag",
        r"num_rows|num_cols",
        "from eager",
        r"not traced: NotImplementedError is not InvalidArgumentError",
        "not built: must be known while tracing; docs/differences.md",
    ),
    (
        r"math\.confusion_matrix",
        r"predictions",
        "unknown/",
        r"InvalidArgumentError is not ValueError: Shapes \(\d+,\) and \(\d+,\) are incompatible",
        "a length that only the call knows",
    ),
    (
        r"required_space_to_batch_paddings",
        r"block_shape",
        TENSORFLOW,
        r"ValueError is not values: block_shape must be positive",
        "TensorFlow computes modulo blocks below 1; docs/differences.md",
    ),
    (
        r"scatter_nd|tensor_scatter_nd_\w+",
        r"indices",
        TENSORFLOW,
        r"values is not InvalidArgumentError: .*Updates shape must have rank at least one",
        "one index vector may have one number, as of gather_nd; docs/differences.md",
    ),
    (
        r"squeeze",
        r"axis",
        TENSORFLOW,
        r"TypeError is not values: Expected list for 'axis' .*shape=\(0,\)",
        "TensorFlow refuses tensors as axes but for an empty one, which is false to Python",
    ),
    (
        r"strided_slice",
        r"end|strides",
        TENSORFLOW,
        r".* is not ValueError: Tensor conversion requested dtype int64 for Tensor with dtype int32",
        "TensorFlow makes the strides of a list's int32 before it reads the end; an int64 is taken, or checked",
    ),
    (
        r"unravel_index",
        r"indices",
        TENSORFLOW,
        r"InvalidArgumentError is not values: .*index is out of bound",
        "TensorFlow computes with indices below 0; docs/differences.md",
    ),
    (
        r"unstack",
        r"num",
        TENSORFLOW,
        r"InvalidArgumentError is not values: .*must equal 0",
        "TensorFlow's eager mode runs no op of which nothing comes; tracing refuses it as well",
    ),
]


def reason(name: str, parameter: str, mode: str, difference: str) -> str | None:
    """Why results of an argument differ in this way, or None."""
    for names, parameters, modes, texts, why in ROWS:
        if (
            re.fullmatch(names, name)
            and re.fullmatch(parameters, parameter)
            and re.search(modes, mode)
            and re.match(texts, difference, re.S)
        ):
            return why
    return None
