"""Why results of integer arguments differ where they do: (names, parameter, mode, difference, reason); the first counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.oracle.runner import unpacked

#: In eager mode, and where a number is written into a Function.
TENSORFLOW = "from TensorFlow"
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
        r"not traced: (NotImplementedError|UnknownAxis) .*(known while|while a function is traced)",
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
    (
        r"quantization\.quantized_concat",
        r"concat_dim",
        "from eager",
        r"values is not InvalidArgumentError",
        "a Function that returns the ends of the range alone does not join the steps",
    ),
    (r"pad", r"constant_values", TENSORFLOW, r".* is not TypeError: Cannot convert", "the tensor has its dtype first"),
    (r"repeat", r"repeats", "unknown", r"InvalidArgumentError is not ValueError", "a length that only the call knows"),
    (
        r"assert_rank|debugging\.assert_rank\w*|boolean_mask|signal\.(mdct|stft|inverse_stft)",
        r".*",
        "from eager",
        r"InvalidArgumentError is not ValueError",
        "a number that only the call knows",
    ),
    (
        r"experimental\.numpy\.diagonal",
        r".*",
        "from eager",
        r"InvalidArgumentError is not values",
        "docs/differences.md",
    ),
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
        r"not traced: (NotImplementedError|UnknownAxis) is not InvalidArgumentError",
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


# ---- layers, signals and text ---------------------------------------------------------------------------------------

_ONEDNN = (
    "with oneDNN: a batch of -1, nothing, or windows that fit nowhere give some tensor; TensorFlow refuses them, "
    "too, with TF_ENABLE_ONEDNN_OPTS=0"
)
ROWS += [
    (
        r"nn\.(conv\w*_transpose|atrous_conv2d_transpose|depthwise_conv2d_backprop_\w+)",
        r"output_shape|input_sizes|filter_sizes",
        TENSORFLOW,
        r"InvalidArgumentError is not values: .*(same batch size|evenly divisible|the same (out_)?depth|zero elements)",
        _ONEDNN,
    ),
    (
        r"nn\.(convolution|depthwise_conv2d)",
        r"dilations",
        TENSORFLOW,
        r"InvalidArgumentError is not values: .*Computed output size would be negative",
        _ONEDNN,
    ),
    (
        r"nn\.conv3d_transpose",
        r"output_shape",
        TENSORFLOW,
        r"values is not InvalidArgumentError: .*same depth",
        "convolutions in groups have gradients; docs/differences.md",
    ),
    (
        r"nn\.depthwise_conv2d",
        r"dilations",
        TENSORFLOW,
        r"ValueError is not (values|InvalidArgumentError): .*dilations must have 2 elements|ValueError is not Inv.*depth",
        "one number is taken for the rows alone, three for an axis more: its documentation asks for two",
    ),
    (
        r"nn\.ctc_loss",
        r"labels|label_length|logit_length",
        TENSORFLOW,
        r"InvalidArgumentError is not values: .*(is not in \[0, \d+[\])]|must have shape)",
        "TensorFlow looks at neither labels nor lengths: labels that are no classes have the probability 1",
    ),
    (
        r"nn\.ctc_loss",
        r"blank_index",
        TENSORFLOW,
        r"ValueError is not values: blank_index must be one of",
        "TensorFlow cuts logits at a blank that is no class: none is left",
    ),
    (
        r"nn\.softmax_cross_entropy_with_logits",
        r"axis",
        TENSORFLOW,
        r"(values|ValueError) is not InvalidArgumentError: (axis -?\d+ is out of bounds|.*Requires start <= limit)",
        "of negative axes TensorFlow takes -1 alone; what is no axis fails in a range that it makes of it",
    ),
    (
        r"signal\.(frame|stft)",
        r"frame_step",
        TENSORFLOW,
        r"InvalidArgumentError is not values: .*frame_step must be positive",
        "of steps below 0 TensorFlow counts no frames",
    ),
    (
        r"signal\.kaiser_window",
        r"window_length",
        TENSORFLOW,
        r"values is not InvalidArgumentError: .*Requires start <= limit",
        "a window of no elements is empty, as TensorFlow's other windows are",
    ),
    (
        r"signal\.rfft",
        r"fft_length",
        TENSORFLOW,
        r"InvalidArgumentError is not ValueError: Dimension -\d+ must be >= 0",
        "only the class: TensorFlow makes a shape of the length before it runs the op, which refuses it",
    ),
]


ROWS += [
    (
        r".*",
        r".*",
        "written",
        r"ValueError is not (InvalidArgumentError|UnimplementedError|AbortedError|IndexError)",
        "TensorFlow looks at it when the graph runs; refused while tracing, by an error of both classes",
    ),
    (
        r".*",
        r".*",
        "written",
        r"(InvalidArgumentError|UnimplementedError) is not ValueError",
        "TensorFlow's shape function looks at it; refused when the graph runs",
    ),
    (
        r".*",
        r".*",
        "written",
        r"(values|ValueError|InvalidArgumentError) is not TypeError: .*does not match type int32 of argument",
        "a list takes the dtype of the tensor behind it, as in eager mode",
    ),
    (
        r".*",
        r".*",
        "written",
        r"TypeError is not (values|ValueError|InvalidArgumentError)|ValueError is not TypeError: .*DataType float32",
        "an empty list is of float32",
    ),
    (
        r"fill|reshape",
        r"dims|shape",
        "written",
        r"values is not ValueError: .*rank 1 but is rank 0",
        "a scalar is one extent",
    ),
    (
        r"(linalg\.)?norm|nn\.sufficient_statistics",
        r"axis|axes",
        "written",
        r"InvalidArgumentError is not values: .*duplicate dimension",
        "an axis that is named twice",
    ),
    (
        r"nn\.avg_pool\w*",
        r"ksize",
        "written",
        r"values: .*\(result 2 of 2\)$",
        "a window above the image: the gradient is that of the value; docs/differences.md",
    ),
    (
        r"expand_dims|gather|reshape|unravel_index|nn\.ctc_loss|signal\.(frame|stft)",
        r".*",
        "written",
        r"(ValueError|InvalidArgumentError) is not values",
        "numbers that are wrong are refused, where TensorFlow's graphs take some: axes in a matrix, indices of rows "
        "without elements, two extents of -1, negative places, labels and steps",
    ),
    (
        r"nn\.softmax_cross_entropy_with_logits|signal\.kaiser_window",
        r".*",
        "written",
        r"values is not ValueError: Requires start <= limit",
        "TensorFlow's own range of it goes backwards",
    ),
    (
        r"math\.approx_m\w+_k",
        r".*",
        "written",
        r"values is not .*No OpKernel",
        "TensorFlow has no kernel of it for the CPU",
    ),
    (r"transpose", r"perm", "written", r"values is not InvalidArgumentError", "axes from the end; docs/differences.md"),
    (
        r"gather_nd",
        r"indices",
        "written",
        r"values is not InvalidArgumentError: .*gradient_tape/ScatterNd",
        "TensorFlow cannot compute the gradient",
    ),
    (r"nn\.weighted_moments", r"axes", "written", r"values: 0 is not -?\d\S*e-0[78]", "rounding"),
    (
        r"raw_ops\.ImageProjectiveTransformV3",
        r".*",
        TENSORFLOW,
        r"values: \S+ is not 0 \(result 2",
        "TensorFlow has no gradient to the transforms",
    ),
    (
        r"image\.ssim\w*",
        r"filter_size",
        TENSORFLOW,
        r".* is not TypeError: Expected tensor|values: \S+ is not \S+ \(result [23] of 3\)",
        "an int64 is taken; a similarity of 0 to a power below 1 has the gradient of relu, 0; rounding",
    ),
    (
        r"image\.resize",
        r"size",
        "from eager",
        r"InvalidArgumentError is not ValueError",
        "found when the graph runs",
    ),
]


# ---- random numbers, boxes and samples; functions of numpy ------------------------------------------------------------

_DRAWN = r"image\.sample_distorted_bounding_box|nn\.sampled_softmax_loss|random\.\w+_candidate_sampler"
ROWS += [
    (
        _DRAWN,
        r".*",
        r"first from eager|last from eager|eager from TensorFlow|written from TensorFlow",
        r"values(: \S+ is not \S+)? \(result \d of \d\)$",
        "each call draws on in the sequence of its seed, and TensorFlow keeps one for each kind of call; compared are "
        "dtypes, shapes and errors (the numbers of a first call: oracle.md)",
    ),
    (
        r"image\.combined_non_max_suppression",
        r".*",
        TENSORFLOW,
        r"6 results are not 4",
        "TensorFlow has no gradient of it, or cannot compute it",
    ),
    (
        r"image\.(stateless_)?sample_distorted_bounding_box",
        r"image_size",
        TENSORFLOW,
        r"InvalidArgumentError is not values: .*(Image height and width must be positive|HostCall)",
        "of pictures without pixels TensorFlow gives boxes of NaN",
    ),
    (
        r"experimental\.numpy\.repeat",
        r"axis",
        TENSORFLOW,
        r"(TypeError|ValueError) is not IndexError: list index out of range",
        "an axis that is none is an index out of a list of TensorFlow's own",
    ),
    (
        r".*",
        r".*",
        TENSORFLOW,
        r".* is not (AssertionError:\s*$|AttributeError: '(list|int)' object has no attribute)",
        "TensorFlow's own assertions, and attributes that Python's lists have not: what is wrong is said, or taken",
    ),
    (
        r".*",
        r".*",
        TENSORFLOW,
        r".* is not TypeError: .*does not match type int32 of argument",
        "TensorFlow asks for an int32; an int64 is taken, or what is wrong with it is said",
    ),
    (
        r"experimental\.numpy\.(compress|tensordot)|linalg\.tensordot",
        r".*",
        "unknown/",
        r"InvalidArgumentError is not ValueError",
        "a length that only the call knows",
    ),
    (
        r"experimental\.numpy\.tensordot",
        r"axes",
        TENSORFLOW,
        r"ValueError is not (InvalidArgumentError|values)",
        "TensorFlow takes the first two elements of a tensor, whatever it has; two lists are asked for",
    ),
    (
        r"experimental\.numpy\.meshgrid",
        r".*",
        "written",
        r"values is not TypeError: .*does not match type float64",
        "an empty list is of float32",
    ),
    (
        r"experimental\.numpy\.(moveaxis|reshape)",
        r".*",
        "written",
        r"ValueError is not values",
        "numbers that are wrong are refused, where TensorFlow's graphs take some: axes in a matrix, indices of rows "
        "without elements, two extents of -1, negative places, labels and steps",
    ),
    (
        r"experimental\.numpy\.squeeze",
        r"axis",
        TENSORFLOW,
        r"TypeError is not values: Expected list for 'axis' .*shape=\(0,\)",
        "TensorFlow refuses tensors as axes but for an empty one, which is false to Python",
    ),
    (
        r"quantization\.quantize_and_dequantize\w*",
        r"axis",
        TENSORFLOW,
        r"values is not InvalidArgumentError: .*(input_m\w+ must be a scalar|QuantizeAndDequantizeV\d)",
        "TensorFlow's kernel asks for one range along axes as well, other than its documentation",
    ),
    (
        r"random\.\w+_candidate_sampler",
        r".*",
        "from eager",
        r"not traced: ValueError is not InvalidArgumentError: Sampler's range is too small",
        "refused while tracing, by an error of both classes",
    ),
    (
        r"nn\.sampled_softmax_loss",
        r"num_sampled",
        TENSORFLOW,
        r"(InvalidArgumentError|ValueError) is not values: Expected dimension 1 ",
        "one sampled class where more are given: TensorFlow stretches it over all, where none is the true one",
    ),
    (
        r"signal\.mdct",
        r"frame_length",
        "from eager",
        r"ResourceExhaustedError is not ValueError: .*multiple of 4",
        "the graph finds no room for such frames before it looks at their length",
    ),
]


def _of_one(place: Any, value: Any) -> bool:
    """Whether a transform is of one element."""
    return bool(value.max(initial=0) == 1)


def _blank_among(place: Any, value: Any) -> bool:
    """Whether the labels have the blank among them."""
    if place.parameter == "labels":
        return "blank_index=0" in place.text and bool((value == 0).any())
    logits, labels = unpacked(place.arrays["y"]), unpacked(place.arrays["x"])
    return bool((labels == int(value) % logits.shape[-1]).any())


#: (names, parameter, how values differ, of which calls and numbers, reason): what only some numbers explain.
OF_NUMBERS: list[tuple[str, str, str, Callable[[Any, Any], bool], str]] = [
    (
        r"signal\.(rfft|inverse_stft)",
        r"fft_length|frame_length",
        r"values.*\(result 2 of 2\)$",
        _of_one,
        "the gradient of a transform of one element: TensorFlow's has factors of another length, which broadcast",
    ),
    (
        r"nn\.ctc_loss",
        r"labels",
        r"values.*\(result 2 of 2\)$",
        _blank_among,
        "labels that are the blank: TensorFlow leaves them out of the gradient of the loss, in which they count",
    ),
    (
        r"nn\.ctc_loss",
        r"blank_index",
        r"values",
        _blank_among,
        "labels that are the blank: TensorFlow takes them for the class before it, unless the blank is class 0",
    ),
]


def reason_of_number(place: Any, mode: str, value: Any, difference: str) -> str | None:
    """Why the values of a call differ from TensorFlow's for this number, or None."""
    for names, parameters, texts, fits, why in OF_NUMBERS:
        if (
            re.fullmatch(names, place.name)
            and re.fullmatch(parameters, place.parameter)
            and TENSORFLOW in mode
            and re.match(texts, difference, re.S)
            and fits(place, value)
        ):
            return why
    return None


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
