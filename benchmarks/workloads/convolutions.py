"""Convolutions and pooling of 32 images of 28 x 28, channels last: results, and gradients to the input or the filter.

"3x3/2, 16 to 32": windows of 3 x 3 at every second place, from 16 channels to 32; all are padded ("SAME"). PyTorch has
its own layout of the same meaning (channels_last).
"""

import numpy as np

_CONVOLUTIONS = {
    "3x3, 1 to 16": (3, 1, 1, 16), "3x3, 3 to 32": (3, 1, 3, 32), "3x3, 7 to 13": (3, 1, 7, 13),
    "3x3, 16 to 16": (3, 1, 16, 16), "3x3, 64 to 64": (3, 1, 64, 64), "3x3/2, 32 to 64": (3, 2, 32, 64),
    "5x5, 16 to 32": (5, 1, 16, 32), "1x1, 64 to 64": (1, 1, 64, 64),
}  # fmt: skip
_POOLS = {"max 2x2/2, 32": (2, 2, 32), "max 3x3/2, 32": (3, 2, 32), "average 3x3/2, 32": (3, 2, 32)}
CASES = {
    **{
        f"{name}: {what}": {"kind": "convolution", "window": k, "stride": s, "c": c, "f": f, "what": what}
        for name, (k, s, c, f) in _CONVOLUTIONS.items()
        for what in ("result", "to input", "to filter")
    },
    **{
        f"{name}: {what}": {"kind": name.split()[0], "window": k, "stride": s, "c": c, "f": c, "what": what}
        for name, (k, s, c) in _POOLS.items()
        for what in ("result", "to input")
    },
}
CASES = {name: {**case, "batch": 32, "side": 28} for name, case in CASES.items()}
ROWS = dict.fromkeys(CASES, 14)
SMALL = {"batch": 2, "side": 5, "c": 3, "f": 3}
GOALS: dict[str, float] = {}  # the convnet has one
SAMPLE_S = 0.05
TOLERANCE = 1e-3
ABSENT = {
    "numpy": "it has no convolution",
    "numba": "nobody writes these by hand",
    "pytensor": "it has no convolution of batches of images",
}


def data(kind, window, stride, c, f, what, batch, side):
    rng = np.random.default_rng(0)
    out = -(-side // stride)
    return {
        "kind": kind, "what": what, "stride": stride,
        "x": rng.standard_normal((batch, side, side, c), np.float32),
        "w": rng.standard_normal((window, window, c, f), np.float32) / np.float32(window * c**0.5),
        "dy": rng.standard_normal((batch, out, out, f), np.float32),
    }  # fmt: skip


def tensorflow(tf, stage, kind, what, stride, x, w, dy):
    window = w.shape[0]

    def result(x, w):
        if kind == "convolution":
            return tf.nn.conv2d(x, w, stride, "SAME")
        pool = tf.nn.max_pool2d if kind == "max" else tf.nn.avg_pool2d
        return pool(x, window, stride, "SAME")

    def gradient(x, w, dy):
        wanted = x if what == "to input" else w
        with tf.GradientTape() as tape:
            tape.watch(wanted)
            y = result(x, w)
        return tape.gradient(y, wanted, dy)

    arguments = [tf.constant(each) for each in ((x, w) if what == "result" else (x, w, dy))]
    made = stage(result if what == "result" else gradient)
    return lambda: made(*arguments)


def jax(jax, stage, kind, what, stride, x, w, dy):
    lax, window = jax.lax, w.shape[0]
    around = ((1, window, window, 1), (1, stride, stride, 1), "SAME")

    def result(x, w):
        if kind == "convolution":
            return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        if kind == "max":
            return lax.reduce_window(x, -jax.numpy.inf, lax.max, *around)
        total = lax.reduce_window(x, 0.0, lax.add, *around)
        return total / lax.reduce_window(jax.numpy.ones_like(x), 0.0, lax.add, *around)

    def gradient(x, w, dy):
        wanted = 0 if what == "to input" else 1
        _, back = jax.vjp((lambda x: result(x, w)) if wanted == 0 else (lambda w: result(x, w)), (x, w)[wanted])
        return back(dy)[0]

    arguments = [jax.numpy.asarray(each) for each in ((x, w) if what == "result" else (x, w, dy))]
    made = stage(result if what == "result" else gradient)
    return lambda: made(*arguments)


def torch(torch, stage, kind, what, stride, x, w, dy):
    functional, window = torch.nn.functional, w.shape[0]
    images = torch.tensor(x).permute(0, 3, 1, 2)  # channels_last: the same memory
    back = torch.tensor(dy).permute(0, 3, 1, 2)
    filter = torch.tensor(w).permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    total = max((dy.shape[1] - 1) * stride + window - x.shape[1], 0)
    low, high = total // 2, total - total // 2

    def result(x, w):
        pad = low
        if low != high:  # PyTorch pads both sides alike
            value = -torch.inf if kind == "max" else 0.0
            x, pad = functional.pad(x, (low, high, low, high), value=value), 0
        if kind == "convolution":
            return functional.conv2d(x, w, stride=stride, padding=pad)
        if kind == "max":
            return functional.max_pool2d(x, window, stride, pad)
        ones = functional.pad(torch.ones(1, 1, *images.shape[2:]), (low, high, low, high))
        return functional.avg_pool2d(x, window, stride, pad) / functional.avg_pool2d(ones, window, stride)

    made = stage(result)
    if what == "result":
        return lambda: made(images, filter).permute(0, 2, 3, 1)
    wanted = images.requires_grad_() if what == "to input" else filter.requires_grad_()
    order = (0, 2, 3, 1) if what == "to input" else (2, 3, 1, 0)
    # As PyTorch's users have it: the backward pass needs its forward pass's graph, which is made once here.
    y = made(images, filter)
    return lambda: torch.autograd.grad(y, wanted, back, retain_graph=True)[0].permute(order)
