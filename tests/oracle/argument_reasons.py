"""Why results of integer arguments differ where they do: (names, parameter, mode, difference, reason); the first counts."""

from __future__ import annotations

import re

TENSORFLOW = "eager from TensorFlow"
ROWS: list[tuple[str, str, str, str, str]] = [
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
