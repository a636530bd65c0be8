"""Training steps of generative models of images of 28x28: a variational autoencoder, and a GAN with two optimizers."""

import itertools

import numpy as np

from benchmarks import adam
from benchmarks.models import steps

CASES = {
    "VAE, step": {"model": "vae", "batch": 128, "pixels": 784, "width": 256, "codes": 16},
    "GAN, step": {"model": "gan", "batch": 64, "pixels": 784, "width": 256, "codes": 64},
}
SMALL = {"batch": 3, "pixels": 6, "width": 4, "codes": 2}
TOLERANCE = 2e-2  # Adam's first steps are ±rate for every weight, however small its gradient


def data(model, batch, pixels, width, codes):
    rng = np.random.default_rng(0)

    def dense(*sizes):
        return [
            (rng.standard_normal((n, m), np.float32) / np.float32(n**0.5), np.zeros(m, np.float32))
            for n, m in itertools.pairwise(sizes)
        ]

    if model == "vae":
        first, second = dense(pixels, width, 2 * codes), dense(codes, width, pixels)
    else:
        first, second = dense(codes, width, pixels), dense(pixels, width, 1)
    x, noise = rng.random((batch, pixels), np.float32), rng.standard_normal((batch, codes), np.float32)
    return {"model": model, "x": x, "noise": noise, "first": first, "second": second}


def dense(h, layers, activation):
    """Dense layers, all but the last with an activation."""
    for w, b in layers[:-1]:
        h = activation(h @ w + b)
    w, b = layers[-1]
    return h @ w + b


def tensorflow(tf, stage, model, x, noise, first, second):
    first, second = steps.mapped(tf.Variable, first), steps.mapped(tf.Variable, second)
    cross_entropy = tf.nn.sigmoid_cross_entropy_with_logits

    def bound(x, noise):
        mean, log_variance = tf.split(dense(x, first, tf.nn.relu), 2, axis=1)
        logits = dense(mean + tf.exp(0.5 * log_variance) * noise, second, tf.nn.relu)
        told = tf.reduce_sum(cross_entropy(labels=x, logits=logits), axis=1)
        apart = 0.5 * tf.reduce_sum(tf.exp(log_variance) + mean * mean - 1.0 - log_variance, axis=1)
        return tf.reduce_mean(told + apart)

    if model == "vae":
        optimizer = tf.keras.optimizers.Adam(adam.RATE)
        return steps.tensorflow_step(tf, stage, optimizer, [first, second], bound, x, noise)

    makes, judges = list(steps.leaves(first)), list(steps.leaves(second))
    makers, judge_s = tf.keras.optimizers.Adam(adam.RATE), tf.keras.optimizers.Adam(adam.RATE)

    def step(x, noise):
        with tf.GradientTape() as maker_tape, tf.GradientTape() as judge_tape:
            made = tf.nn.sigmoid(dense(noise, first, tf.nn.leaky_relu))
            real, fake = dense(x, second, tf.nn.leaky_relu), dense(made, second, tf.nn.leaky_relu)
            made_loss = tf.reduce_mean(cross_entropy(labels=tf.ones_like(fake), logits=fake))
            real_loss = tf.reduce_mean(cross_entropy(labels=tf.ones_like(real), logits=real))
            judge_loss = real_loss + tf.reduce_mean(cross_entropy(labels=tf.zeros_like(fake), logits=fake))
        makers.apply_gradients(zip(maker_tape.gradient(made_loss, makes), makes, strict=True))
        judge_s.apply_gradients(zip(judge_tape.gradient(judge_loss, judges), judges, strict=True))
        return made_loss, judge_loss

    staged, x, noise = stage(step), tf.constant(x), tf.constant(noise)
    return lambda: staged(x, noise)


def jax(jax, stage, model, x, noise, first, second):
    jnp = jax.numpy

    def cross_entropy(labels, logits):
        return jax.nn.softplus(logits) - labels * logits

    def bound(weights, x, noise):
        first, second = weights
        mean, log_variance = jnp.split(dense(x, first, jax.nn.relu), 2, axis=1)
        logits = dense(mean + jnp.exp(0.5 * log_variance) * noise, second, jax.nn.relu)
        told = cross_entropy(x, logits).sum(1)
        return (told + 0.5 * (jnp.exp(log_variance) + mean * mean - 1 - log_variance).sum(1)).mean()

    if model == "vae":
        return steps.jax_step(jax, stage, adam.pure, (first, second), bound, x, noise)

    def leaky(x):
        return jax.nn.leaky_relu(x, 0.2)

    makers, make_update = adam.pure(jax, steps.mapped(jnp.array, first))
    judges, judge_update = adam.pure(jax, steps.mapped(jnp.array, second))

    def made_loss(first, second, noise):
        return cross_entropy(1, dense(jax.nn.sigmoid(dense(noise, first, leaky)), second, leaky)).mean()

    def judge_loss(second, first, x, noise):
        made = jax.nn.sigmoid(dense(noise, first, leaky))
        return cross_entropy(1, dense(x, second, leaky)).mean() + cross_entropy(0, dense(made, second, leaky)).mean()

    def step(states, x, noise):
        makers, judges = states
        made, by_first = jax.value_and_grad(made_loss)(makers[0], judges[0], noise)
        judged, by_second = jax.value_and_grad(judge_loss)(judges[0], makers[0], x, noise)
        return (made, judged), (make_update(makers, by_first), judge_update(judges, by_second))

    staged, held, x, noise = stage(step, donate_argnums=0), [(makers, judges)], jnp.asarray(x), jnp.asarray(noise)

    def call():
        losses, held[0] = staged(held[0], x, noise)
        return losses

    return call


def torch(torch, stage, model, x, noise, first, second):
    functional = torch.nn.functional
    first, second = steps.torch_parameters(torch, first), steps.torch_parameters(torch, second)
    x, noise = torch.tensor(x), torch.tensor(noise)

    def linear(h, layers, activation):
        for w, b in layers[:-1]:
            h = activation(torch.addmm(b, h, w))
        return torch.addmm(layers[-1][1], h, layers[-1][0])

    def bound(x, noise):
        mean, log_variance = linear(x, first, functional.relu).chunk(2, dim=1)
        logits = linear(mean + torch.exp(0.5 * log_variance) * noise, second, functional.relu)
        told = functional.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
        return (told + 0.5 * (log_variance.exp() + mean * mean - 1 - log_variance).sum(1)).mean()

    if model == "vae":
        return steps.torch_step(stage, steps.torch_adam(torch, [first, second]), bound, x, noise)

    makers, judges = steps.torch_adam(torch, first), steps.torch_adam(torch, second)
    ones, zeros = torch.ones(len(x), 1), torch.zeros(len(x), 1)
    cross_entropy = functional.binary_cross_entropy_with_logits

    def leaky(x):
        return functional.leaky_relu(x, 0.2)

    def made_loss(noise):
        made = torch.sigmoid(linear(noise, first, leaky))
        return cross_entropy(linear(made, second, leaky), ones), made

    def judge_loss(x, made):
        real, fake = linear(x, second, leaky), linear(made, second, leaky)
        return cross_entropy(real, ones) + cross_entropy(fake, zeros)

    made_loss, judge_loss = stage(made_loss), stage(judge_loss)
    makes = list(steps.leaves(first))

    def step():
        first_loss, made = made_loss(noise)
        first_loss.backward(inputs=makes)
        second_loss = judge_loss(x, made.detach())
        second_loss.backward()
        for optimizer in (makers, judges):
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return first_loss.detach(), second_loss.detach()

    return step
