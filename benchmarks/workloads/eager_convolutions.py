"""Convolutions and pooling called eagerly: results, and gradients to the input or the filter with the pass before them.

"conv 28, 3x3, 16 to 32": 32 images of 28 x 28, windows of 3 x 3, from 16 channels to 32. All are padded ("SAME"), of
float32 or, where a case says so, bfloat16. PyTorch has its own layout of the same meaning (channels_last).
"""

import numpy as np

#: kind, shape of the input, window, results (of each channel, where each is a group), stride
_ALL = {
    "conv 28, 3x3, 16 to 32": ("conv", (32, 28, 28, 16), (3, 3), 32, 1),
    "conv 200, 3x3, 100 to 100": ("conv", (1, 200, 200, 100), (3, 3), 100, 1),
    "depthwise 56, 7x7, 64": ("depthwise", (8, 56, 56, 64), (7, 7), 1, 1),
    "transposed 14, 3x3/2, 32 to 16": ("transposed", (32, 14, 14, 32), (3, 3), 16, 2),
    "conv3d 16, 3x3x3, 16 to 32": ("conv", (2, 16, 28, 28, 16), (3, 3, 3), 32, 1),
    "max 56, 3x3/2, 64": ("max", (32, 56, 56, 64), (3, 3), 0, 2),
    "average 56, 3x3/2, 64": ("average", (32, 56, 56, 64), (3, 3), 0, 2),
    "max3d 16, 2x2x2/2, 32": ("max", (2, 16, 28, 28, 32), (2, 2, 2), 0, 2),
}
_FIELDS = ("kind", "dims", "window", "f", "stride")
CASES = {
    f"{name}{', bfloat16' if half else ''}: {what}": {
        **dict(zip(_FIELDS, case, strict=True)), "half": half, "what": what, "small": False,
    }
    for name, case in _ALL.items()
    for half in (False, True)
    for what in ("result", "to input", "to filter")
    if case[3] or what != "to filter"
}  # fmt: skip
ROWS = dict.fromkeys(CASES, 14)
SMALL = {"small": True}
GOALS = dict.fromkeys(CASES, 1.0)
MODES = ("eager",)
SAMPLE_S = 0.1
TOLERANCE = 2e-2  # of bfloat16, some peers round more than once
ABSENT = {
    "numpy": "it has no convolution",
    "numba": "nobody writes these by hand",
    "pytensor": "it has no convolution of batches of images",
}


def data(kind, dims, window, f, stride, half, what, small):
    rng = np.random.default_rng(0)
    if small:
        dims = (2, *(min(n, 6) for n in dims[1:-1]), min(dims[-1], 4))
        f = min(f, 3)
    c = dims[-1]
    steps = [n * stride if kind == "transposed" else -(-n // stride) for n in dims[1:-1]]
    results = {"conv": f, "transposed": f, "depthwise": c * f}.get(kind, c)
    filter = {"conv": (c, f), "transposed": (f, c), "depthwise": (c, f)}.get(kind, ())
    x = rng.standard_normal(dims, np.float32)
    if kind == "max":  # no two of a window are equal: some libraries give each the gradient of max_pool3d
        place = 0  # in a window that begins at a multiple of its extent: others have the same numbers in another order
        for n, k in zip(np.indices(dims[1:-1]), window, strict=True):
            place = place * k + n % k
        ranks = rng.permuted(np.tile(np.arange(np.prod(window)), (dims[0], c, 1)), axis=-1)
        x = np.moveaxis(ranks[:, :, place], 1, -1).astype(np.float32)
    scale = np.float32(np.prod(window) * (1 if kind == "depthwise" else c)) ** np.float32(0.5)
    return {
        "kind": kind, "what": what, "stride": stride, "half": half, "window": window,
        "x": np.ascontiguousarray(x),
        "w": rng.standard_normal((*window, *filter), np.float32) / scale,
        "dy": rng.standard_normal((dims[0], *steps, results), np.float32),
    }  # fmt: skip


def tensorflow(tf, stage, kind, what, stride, half, window, x, w, dy):
    flat = len(window) == 2
    steps = (1, *(stride,) * len(window), 1)

    def result(x, w):
        if kind == "conv":
            return tf.nn.conv2d(x, w, stride, "SAME") if flat else tf.nn.conv3d(x, w, steps, "SAME")
        if kind == "depthwise":
            return tf.nn.depthwise_conv2d(x, w, steps, "SAME")
        if kind == "transposed":
            return tf.nn.conv2d_transpose(x, w, dy.shape, stride, "SAME")
        if not flat:
            return tf.nn.max_pool3d(x, window, stride, "SAME")
        return (tf.nn.max_pool2d if kind == "max" else tf.nn.avg_pool2d)(x, window, stride, "SAME")

    x, w, back = (tf.cast(tf.constant(each), tf.bfloat16 if half else tf.float32) for each in (x, w, dy))

    def gradient():
        wanted = x if what == "to input" else w
        with tf.GradientTape() as tape:
            tape.watch(wanted)
            y = result(x, w)
        return tape.gradient(y, wanted, back)

    return stage((lambda: result(x, w)) if what == "result" else gradient)


def jax(jax, stage, kind, what, stride, half, window, x, w, dy):
    lax, numpy = jax.lax, jax.numpy
    dtype = numpy.bfloat16 if half else numpy.float32
    x, w, back = (numpy.asarray(each).astype(dtype) for each in (x, w, dy))
    steps = (stride,) * len(window)
    layout = ("NHWC", "HWIO", "NHWC") if len(window) == 2 else ("NDHWC", "DHWIO", "NDHWC")
    around = ((1, *window, 1), (1, *steps, 1), "SAME")

    def result(x, w):
        if kind == "conv":
            return lax.conv_general_dilated(x, w, steps, "SAME", dimension_numbers=layout)
        if kind == "depthwise":
            each = w.reshape(*window, 1, -1)
            return lax.conv_general_dilated(
                x, each, steps, "SAME", dimension_numbers=layout, feature_group_count=x.shape[-1]
            )
        if kind == "transposed":  # TensorFlow's is the gradient of a convolution, whose window is turned
            return lax.conv_transpose(x, w, steps, "SAME", dimension_numbers=layout, transpose_kernel=True)
        if kind == "max":
            return lax.reduce_window(x, numpy.array(-numpy.inf, dtype), lax.max, *around)
        zero = numpy.array(0, dtype)
        ones = numpy.ones((1, *x.shape[1:-1], 1), dtype)
        return lax.reduce_window(x, zero, lax.add, *around) / lax.reduce_window(ones, zero, lax.add, *around)

    def gradient():
        wanted = 0 if what == "to input" else 1
        _, pull = jax.vjp((lambda x: result(x, w)) if wanted == 0 else (lambda w: result(x, w)), (x, w)[wanted])
        return pull(back)[0]

    return stage((lambda: result(x, w)) if what == "result" else gradient)


def torch(torch, stage, kind, what, stride, half, window, x, w, dy):
    functional, axes = torch.nn.functional, len(window)
    dtype = torch.bfloat16 if half else torch.float32
    first, last = (0, axes + 1, *range(1, axes + 1)), (0, *range(2, axes + 2), 1)
    layout = torch.channels_last if axes == 2 else torch.channels_last_3d
    images, back = (torch.tensor(each).to(dtype).permute(first) for each in (x, dy))  # the same memory
    order = {"depthwise": (2, 3, 0, 1)}.get(kind, (axes + 1, axes, *range(axes)))
    filter = torch.tensor(w)
    if w.ndim == axes + 2:
        filter = filter.permute(order).to(dtype).contiguous(memory_format=layout)
    wide = dy.shape[1] if kind == "transposed" else x.shape[1]
    total = max(((wide // stride if kind == "transposed" else dy.shape[1]) - 1) * stride + window[0] - wide, 0)
    low, high = total // 2, total - total // 2
    convolution = functional.conv2d if axes == 2 else functional.conv3d
    pads = (low, high) * axes

    def result(x, w):
        if kind == "transposed":  # one too many before and after: cut off
            y = functional.conv_transpose2d(x, w, stride=stride)
            return y[:, :, low : low + wide, low : low + wide]
        pad = low
        if low != high:  # PyTorch pads both sides alike
            x, pad = functional.pad(x, pads, value=-torch.inf if kind == "max" else 0.0), 0
        if kind == "conv":
            return convolution(x, w, stride=stride, padding=pad)
        if kind == "depthwise":
            return convolution(x, w, stride=stride, padding=pad, groups=x.shape[1])
        if kind == "max":
            return (functional.max_pool2d if axes == 2 else functional.max_pool3d)(x, window, stride, pad)
        ones = functional.pad(torch.ones(1, 1, *images.shape[2:], dtype=dtype), pads)
        return functional.avg_pool2d(x, window, stride, pad) / functional.avg_pool2d(ones, window, stride)

    made = stage(result)
    if what == "result":
        return lambda: made(images, filter).permute(last)
    wanted = images.requires_grad_() if what == "to input" else filter.requires_grad_()
    to = last if what == "to input" else tuple(order.index(i) for i in range(axes + 2))
    return lambda: torch.autograd.grad(made(images, filter), wanted, back)[0].permute(to)
