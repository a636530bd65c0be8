"""A training step of the guide's convolutional network (two of 16 channels, average, dense), batch 32, Adam."""

import numpy as np

from benchmarks import adam

ROWS = {"step": 14}
CASES = {"step": {"batch": 32, "side": 28, "channels": 16}}
SMALL = {"batch": 2, "side": 6, "channels": 3}
GOALS = {"step": 0.7}
ABSENT = {"pytensor": "it has no convolution of batches of images"}
TOLERANCE = 1e-3  # as the perceptron's


def data(batch, side, channels):
    rng = np.random.default_rng(0)

    def normal(*shape):
        return rng.standard_normal(shape, np.float32) * np.float32((2 / np.prod(shape[:-1])) ** 0.5)

    weights = [normal(3, 3, 1, channels), np.zeros(channels, np.float32)]
    weights += [normal(3, 3, channels, channels), np.zeros(channels, np.float32)]
    weights += [normal(channels, 10), np.zeros(10, np.float32)]
    images = rng.random((batch, side, side, 1), np.float32)
    return {"x": images, "labels": rng.integers(0, 10, batch), "weights": weights}


def tensorflow(tf, stage, x, labels, weights):
    variables = [tf.Variable(each) for each in weights]
    w1, b1, w2, b2, w3, b3 = variables

    def loss_of(x, labels):
        h = tf.nn.relu(tf.nn.conv2d(x, w1, 1, "VALID") + b1)
        h = tf.nn.relu(tf.nn.conv2d(h, w2, 1, "VALID") + b2)
        h = tf.matmul(tf.reduce_mean(h, axis=[1, 2]), w3) + b3
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h))

    return adam.tensorflow_step(tf, stage, variables, loss_of, tf.constant(x), tf.constant(labels.astype(np.int32)))


def jax(jax, stage, x, labels, weights):
    jnp = jax.numpy

    def conv(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss_of(weights, x, labels):
        w1, b1, w2, b2, w3, b3 = weights
        h = jax.nn.relu(conv(x, w1) + b1)
        h = jax.nn.relu(conv(h, w2) + b2)
        h = h.mean((1, 2)) @ w3 + b3
        return -jnp.take_along_axis(jax.nn.log_softmax(h), labels[:, None], 1).mean()

    weights = [jnp.asarray(each) for each in weights]
    return adam.jax_step(jax, stage, weights, loss_of, jnp.asarray(x), jnp.asarray(labels.astype(np.int32)))


def torch(torch, stage, x, labels, weights):
    w1, b1, w2, b2, w3, b3 = weights
    weights = [w1.transpose(3, 2, 0, 1), b1, w2.transpose(3, 2, 0, 1), b2, w3, b3]
    variables = [torch.tensor(each.copy(), requires_grad=True) for each in weights]
    functional = torch.nn.functional

    def loss_of(x, labels):
        w1, b1, w2, b2, w3, b3 = variables
        h = functional.relu(functional.conv2d(x, w1, b1))
        h = functional.relu(functional.conv2d(h, w2, b2))
        return functional.cross_entropy(torch.addmm(b3, h.mean((2, 3)), w3), labels)

    x = torch.tensor(x.transpose(0, 3, 1, 2).copy())
    return adam.torch_step(torch, stage, variables, loss_of, x, torch.tensor(labels))


def numpy(_, stage, x, labels, weights):
    """Convolutions as products with the nine shifted images beside each other."""
    w1, b1, w2, b2, w3, b3 = weights = [each.copy() for each in weights]
    optimizer = adam.InPlace(weights)
    rows = np.arange(len(x))

    def shifted(x):
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))  # N, H, W, C, 3, 3
        return np.ascontiguousarray(windows.transpose(0, 1, 2, 4, 5, 3)).reshape(*windows.shape[:3], -1)

    def conv(x, w):
        columns = shifted(x)
        return columns, columns @ w.reshape(-1, w.shape[-1])

    def conv_gradients(columns, w, dy):
        flat = dy.reshape(-1, dy.shape[-1])
        return (columns.reshape(len(flat), -1).T @ flat).reshape(w.shape), flat.sum(0)

    def step():
        columns1, h1 = conv(x, w1)
        h1 = np.maximum(h1 + b1, 0)
        columns2, h2 = conv(h1, w2)
        h2 = np.maximum(h2 + b2, 0)
        mean = h2.mean((1, 2))
        h = mean @ w3 + b3
        exps = np.exp(h - h.max(1, keepdims=True))
        totals = exps.sum(1, keepdims=True)
        loss = np.log(totals[:, 0]).mean() - (h - h.max(1, keepdims=True))[rows, labels].mean()
        dh = exps / totals
        dh[rows, labels] -= 1
        dh /= np.float32(len(x))
        pixels = h2.shape[1] * h2.shape[2]
        dh2 = (h2 > 0) * (dh @ w3.T / np.float32(pixels))[:, None, None]
        dw2, db2 = conv_gradients(columns2, w2, dh2)
        padded = np.pad(dh2, ((0, 0), (2, 2), (2, 2), (0, 0)))
        dh1 = conv(padded, w2[::-1, ::-1].transpose(0, 1, 3, 2))[1] * (h1 > 0)
        dw1, db1 = conv_gradients(columns1, w1, dh1)
        optimizer.apply([dw1, db1, dw2, db2, mean.T @ dh, dh.sum(0)])
        return loss

    return step


def numba(numba, stage, x, labels, weights):
    """Convolutions as loops over what they are made of, the channels innermost."""
    w1, b1, w2, b2, w3, b3 = weights = [each.copy() for each in weights]
    update, loss_of = adam.numba_update(numba), adam.numba_loss(numba)
    moments = [(np.zeros_like(each), np.zeros_like(each)) for each in weights]
    fast = numba.njit(parallel=True, fastmath={"reassoc", "contract", "nsz"})

    @fast
    def conv(x, w, b):
        n, height, width = x.shape[0], x.shape[1] - 2, x.shape[2] - 2
        y = np.empty((n, height, width, w.shape[3]), np.float32)
        for i in numba.prange(n):
            for r in range(height):
                for c in range(width):
                    y[i, r, c] = b
                    for p in range(3):
                        for q in range(3):
                            for k in range(w.shape[2]):
                                for o in range(w.shape[3]):
                                    y[i, r, c, o] += x[i, r + p, c + q, k] * w[p, q, k, o]
                    for o in range(w.shape[3]):
                        y[i, r, c, o] = max(y[i, r, c, o], np.float32(0))
        return y

    @fast
    def conv_gradients(x, w, y, dy, dx):
        n = x.shape[0]
        dws = np.zeros((n, 3, 3, w.shape[2], w.shape[3]), np.float32)
        dbs = np.zeros((n, w.shape[3]), np.float32)
        for i in numba.prange(n):
            for r in range(y.shape[1]):
                for c in range(y.shape[2]):
                    for o in range(w.shape[3]):
                        if y[i, r, c, o] <= 0:
                            dy[i, r, c, o] = 0
                        dbs[i, o] += dy[i, r, c, o]
                    for p in range(3):
                        for q in range(3):
                            for k in range(w.shape[2]):
                                total = np.float32(0)
                                for o in range(w.shape[3]):
                                    dws[i, p, q, k, o] += x[i, r + p, c + q, k] * dy[i, r, c, o]
                                    total += dy[i, r, c, o] * w[p, q, k, o]
                                if dx.size:
                                    dx[i, r + p, c + q, k] += total
        return dws.sum(0), dbs.sum(0)

    steps = [0]

    def step():
        h1 = conv(x, w1, b1)
        h2 = conv(h1, w2, b2)
        mean = h2.mean((1, 2))
        loss, dh, db3 = loss_of(mean @ w3, b3, labels)
        pixels = np.float32(h2.shape[1] * h2.shape[2])
        dh2 = np.broadcast_to((dh @ w3.T / pixels)[:, None, None], h2.shape).copy()
        dh1 = np.zeros_like(h1)
        dw2, db2 = conv_gradients(h1, w2, h2, dh2, dh1)
        dw1, db1 = conv_gradients(x, w1, h1, dh1, np.empty((0, 0, 0, 0), np.float32))
        steps[0] += 1
        for variable, gradient, (m, v) in zip(weights, (dw1, db1, dw2, db2, mean.T @ dh, db3), moments):
            update(variable.ravel(), gradient.ravel(), m.ravel(), v.ravel(), steps[0])
        return loss

    return step
