"""Training steps of image classifiers: ResNet-20, ResNet-50 and one of its bottlenecks, separable convolutions.

Convolutions, each with batch normalisation, in residual blocks; cross-entropy; SGD with momentum.
"""

from typing import NamedTuple

import numpy as np

from benchmarks.models import steps

CASES = {
    "ResNet-20, step": {"model": "resnet", "batch": 32, "side": 32, "width": 16, "depth": 3},
    "ResNet-50's bottleneck, step": {"model": "bottleneck", "batch": 4, "side": 28, "width": 128, "depth": 1},
    "ResNet-50, step": {"model": "resnet50", "batch": 8, "side": 224, "width": 64, "depth": 6, "rate": 1e-5},
    "ResNet-50 on 64x64, step": {"model": "resnet50", "batch": 8, "side": 64, "width": 64, "depth": 6, "rate": 1e-5},
    "MobileNet, step": {"model": "mobilenet", "batch": 16, "side": 64, "width": 16, "depth": 1},
}
SMALL = {"batch": 2, "side": 8, "width": 2, "depth": 1}
#: What is compared is the loss after each of two steps. ResNet-50's gradients are large and its last levels normalise
#: over few values (32 on 64x64): at a rate of 2e-4 filters changed by 1e-7 of themselves moved the second loss by up to
#: 15 % in every library. At 1e-5 it falls by a fifth, on 64x64 by two thirds, and libraries agree to 6e-5 and 5e-3.
TOLERANCE = {"ResNet-50*": 1e-2, "*": 5e-3}
CLASSES, RATE, DECAY, EPSILON, KEEPING = 10, 0.02, 0.9, 1.5e-5, 0.9


class Conv(NamedTuple):
    """A convolution with batch normalisation: filters [k, k, c, f], depthwise [k, k, c, 1]."""

    number: int
    filters: np.ndarray
    stride: int
    depthwise: bool


class Block(NamedTuple):
    """Convolutions one after the other; `residual`: the input (through `shortcut`) is added before the last relu.

    `pooled`: the greatest of 3x3, of every other row and column, is what the next block gets.
    """

    path: list[Conv]
    residual: bool = False
    shortcut: Conv | None = None
    pooled: bool = False


def resnet(conv, width, depth):
    blocks = [Block([conv(3, 3, width)])]
    for level in range(3):
        for i in range(depth):
            channels, stride = width << level, 2 if level and not i else 1
            before = channels // stride
            shortcut = conv(1, before, channels, stride) if stride == 2 else None
            blocks.append(Block([conv(3, before, channels, stride), conv(3, channels, channels)], True, shortcut))
    return 3, width << 2, blocks


def bottleneck(conv, width, depth):
    wide = 4 * width
    path = [conv(1, wide, width), conv(3, width, width), conv(1, width, wide)]
    return wide, wide, [Block(path, True)]


def resnet50(conv, width, depth):
    blocks, before = [Block([conv(7, 3, width, 2)], pooled=True)], width
    for level, longest in enumerate((3, 4, 6, 3)):
        narrow, wide = width << level, width << level + 2
        for i in range(min(longest, depth)):
            stride = 2 if level and not i else 1
            shortcut = None if i else conv(1, before, wide, stride)
            path = [conv(1, before, narrow), conv(3, narrow, narrow, stride), conv(1, narrow, wide)]
            blocks.append(Block(path, True, shortcut))
            before = wide
    return 3, before, blocks


def mobilenet(conv, width, depth):
    blocks, before = [Block([conv(3, 3, width, 2)])], width
    for factor, stride in ((2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (8, 1)):
        blocks.append(Block([conv(3, before, 1, stride, True), conv(1, before, factor * width)]))
        before = factor * width
    return 3, before, blocks


def data(model, batch, side, width, depth, rate=RATE):
    rng, numbers = np.random.default_rng(0), iter(range(1000))

    def conv(size, before, channels, stride=1, depthwise=False):
        filters = rng.standard_normal((size, size, before, channels), np.float32)
        fan_in = size * size * (1 if depthwise else before)
        return Conv(next(numbers), filters * np.float32((2 / fan_in) ** 0.5), stride, depthwise)

    models = {each.__name__: each for each in (resnet, bottleneck, resnet50, mobilenet)}
    before, after, blocks = models[model](conv, width, depth)
    head = rng.standard_normal((after, CLASSES), np.float32) / np.float32(after**0.5), np.zeros(CLASSES, np.float32)
    x = rng.random((batch, side, side, before), np.float32)
    return {
        "x": x,
        "labels": rng.integers(0, CLASSES, batch).astype(np.int32),
        "blocks": blocks,
        "head": head,
        "rate": rate,
    }


def convolutions(blocks):
    """Those of all blocks by number."""
    found = [each for block in blocks for each in (*block.path, block.shortcut) if each is not None]
    return sorted(found, key=lambda each: each.number)


def channels(conv):
    return conv.filters.shape[2 if conv.depthwise else 3]


def features(h, blocks, normed, relu, pooled):
    """All blocks in a library's terms; normed(h, conv) is the convolution with batch normalisation."""
    for block in blocks:
        before = h
        for each in block.path[:-1]:
            h = relu(normed(h, each))
        h = normed(h, block.path[-1])
        if block.residual:
            h = h + (before if block.shortcut is None else normed(before, block.shortcut))
        h = pooled(relu(h)) if block.pooled else relu(h)
    return h


def tensorflow(tf, stage, x, labels, blocks, head, rate):
    convs = convolutions(blocks)
    filters = [tf.Variable(each.filters) for each in convs]
    norms = [tf.keras.layers.BatchNormalization(momentum=KEEPING, epsilon=EPSILON) for _ in convs]
    for norm, each in zip(norms, convs, strict=True):
        norm(tf.zeros([1, 1, 1, channels(each)]))
    w, b = tf.Variable(head[0]), tf.Variable(head[1])

    def normed(h, each):
        if each.depthwise:
            h = tf.nn.depthwise_conv2d(h, filters[each.number], [1, each.stride, each.stride, 1], "SAME")
        else:
            h = tf.nn.conv2d(h, filters[each.number], each.stride, "SAME")
        return norms[each.number](h, training=True)

    def pooled(h):
        return tf.nn.max_pool2d(h, 3, 2, "SAME")

    def loss_of(x, labels):
        h = tf.reduce_mean(features(x, blocks, normed, tf.nn.relu, pooled), axis=[1, 2])
        logits = tf.matmul(h, w) + b
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    variables = [*filters, *(each for norm in norms for each in norm.trainable_variables), w, b]
    return steps.tensorflow_step(tf, stage, tf.keras.optimizers.SGD(rate, DECAY), variables, loss_of, x, labels)


def jax(jax, stage, x, labels, blocks, head, rate):
    jnp, convs = jax.numpy, convolutions(blocks)
    # Depthwise filters are [k, k, 1, c] here.
    filters = [each.filters.swapaxes(2, 3) if each.depthwise else each.filters for each in convs]
    gains = [np.ones(channels(each), np.float32) for each in convs]
    offsets = [np.zeros(channels(each), np.float32) for each in convs]

    def loss_of(weights, kept, x, labels):
        filters, gains, offsets, (w, b) = weights
        kept = list(kept)

        def normed(h, each):
            groups = h.shape[-1] if each.depthwise else 1
            h = jax.lax.conv_general_dilated(
                h, filters[each.number], (each.stride, each.stride), "SAME", feature_group_count=groups,
                dimension_numbers=("NHWC", "HWIO", "NHWC"),
            )  # fmt: skip
            mean, variance = h.mean((0, 1, 2)), h.var((0, 1, 2))
            held = kept[each.number]
            new = jax.lax.stop_gradient((mean, variance))
            kept[each.number] = [KEEPING * a + (1 - KEEPING) * b for a, b in zip(held, new, strict=True)]
            factor = jax.lax.rsqrt(variance + EPSILON) * gains[each.number]
            return (h - mean) * factor + offsets[each.number]

        def pooled(h):
            return jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")

        logits = features(x, blocks, normed, jax.nn.relu, pooled).mean((1, 2)) @ w + b
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean(), kept

    weights = [filters, gains, offsets, list(head)]
    kept = [[offset, gain] for offset, gain in zip(offsets, gains, strict=True)]
    return steps.jax_step(jax, stage, steps.momentum(rate, DECAY), weights, loss_of, x, labels, kept=kept)


def torch(torch, stage, x, labels, blocks, head, rate):
    functional, convs = torch.nn.functional, convolutions(blocks)
    # Depthwise filters are [c, 1, k, k] here.
    filters = [each.filters.swapaxes(2, 3) if each.depthwise else each.filters for each in convs]
    filters = steps.torch_parameters(torch, filters)
    gains = [torch.ones(channels(each), requires_grad=True) for each in convs]
    offsets = [torch.zeros(channels(each), requires_grad=True) for each in convs]
    kept = [(torch.zeros(channels(each)), torch.ones(channels(each))) for each in convs]
    w, b = steps.torch_parameters(torch, head)

    def normed(h, each):
        i, size = each.number, each.filters.shape[0]
        padding = size // 2
        if each.stride == 2 and size > 1:  # as the others pad "SAME"
            before = (size - 2) // 2
            h, padding = functional.pad(h, 2 * (before, size - 2 - before)), 0
        groups = h.shape[1] if each.depthwise else 1
        h = functional.conv2d(h, filters[i], None, each.stride, padding, 1, groups)
        return functional.batch_norm(h, *kept[i], gains[i], offsets[i], True, 1 - KEEPING, EPSILON)

    def pooled(h):
        return functional.max_pool2d(functional.pad(h, (0, 1, 0, 1)), 3, 2)  # relu's: none is less than what pads

    def loss_of(x, labels):
        h = features(x, blocks, normed, functional.relu, pooled).mean((2, 3))
        return functional.cross_entropy(torch.addmm(b, h, w), labels)

    optimizer = torch.optim.SGD([*filters, *gains, *offsets, w, b], rate, DECAY, fused=True)
    x = torch.tensor(x).permute(0, 3, 1, 2)  # channels last in memory
    return steps.torch_step(stage, optimizer, loss_of, x, torch.tensor(labels.astype(np.int64)))
