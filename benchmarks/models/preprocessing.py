"""Before the model: batches of images of bytes cropped, mirrored and adjusted; sentences cut, looked up and padded.

Only TensorFlow has strings; with the other libraries Python does what is done to them.
"""

import re

import numpy as np

CASES = {
    "image augmentation": {"model": "images", "batch": 32, "side": 96},
    "text to numbers": {"model": "text", "batch": 1000, "side": 12},
}
SMALL = {"batch": 3, "side": 20}
MODES = {"text to numbers": ("staged", "eager")}
TOLERANCE = 6e-3  # a byte may be rounded the other way
MARGIN, LONGEST, WORDS = 16, 16, 2000


def data(model, batch, side):
    rng = np.random.default_rng(0)
    if model == "text":
        words = ["".join(rng.choice(list("abcdefghij"), rng.integers(2, 9))) for _ in range(WORDS)]
        marks, known = ["", "", "", ",", ".", "!"], list(dict.fromkeys(words[: WORDS // 2]))
        chosen = rng.integers(0, WORDS, (batch, side))
        texts = [
            " ".join(words[i].capitalize() + marks[i % 6] for i in row[: 3 + n % side]) for n, row in enumerate(chosen)
        ]
        return {"model": model, "given": (texts, known)}
    images = rng.integers(0, 256, (batch, side, side, 3)).astype(np.uint8)
    corners, mirrored = rng.integers(0, MARGIN, (batch, 2)).astype(np.int32), rng.random(batch) < 0.5
    contrast, light = 0.8 + 0.4 * rng.random(batch, np.float32), 0.2 * rng.random(batch, np.float32) - 0.1
    return {"model": model, "given": (images, corners, mirrored, contrast, light.astype(np.float32))}


def numbers(texts, known):
    """Words of a to z in lower case as their numbers, from 2; 1 for another word; 0 after the last."""
    found = {word: i + 2 for i, word in enumerate(known)}
    other = re.compile("[^a-z ]")
    made = np.zeros((len(texts), LONGEST), np.int64)
    for row, text in zip(made, texts, strict=True):
        words = [found.get(word, 1) for word in other.sub("", text.lower()).split()][:LONGEST]
        row[: len(words)] = words
    return made


def tensorflow(tf, stage, model, given):
    if model == "text":
        texts, known = given
        places = tf.range(2, len(known) + 2, dtype=tf.int64)
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant(known), places), 1)

        def looked_up(texts):
            words = tf.strings.split(tf.strings.regex_replace(tf.strings.lower(texts), "[^a-z ]", ""))
            found = tf.ragged.map_flat_values(table.lookup, words)
            return found.to_tensor(0, shape=[None, LONGEST])

        staged, texts = stage(looked_up), tf.constant(texts)
        return lambda: staged(texts)

    size = given[0].shape[1] - MARGIN

    def augmented(images, corners, mirrored, contrast, light):
        places = corners[:, :, tf.newaxis] + tf.range(size)
        x = tf.gather(images, places[:, 0], axis=1, batch_dims=1)
        x = tf.gather(x, places[:, 1], axis=2, batch_dims=1)
        x = tf.where(mirrored[:, tf.newaxis, tf.newaxis, tf.newaxis], x[:, :, ::-1], x)
        x = tf.cast(x, tf.float32) / 255.0
        mean = tf.reduce_mean(x, axis=[1, 2], keepdims=True)
        x = (x - mean) * contrast[:, tf.newaxis, tf.newaxis, tf.newaxis] + mean
        x = tf.clip_by_value(x + light[:, tf.newaxis, tf.newaxis, tf.newaxis], 0.0, 1.0)
        return tf.cast(x * 255.0 + 0.5, tf.uint8)

    staged, given = stage(augmented), [tf.constant(each) for each in given]
    return lambda: staged(*given)


def jax(jax, stage, model, given):
    jnp = jax.numpy
    if model == "text":
        return lambda: jnp.asarray(numbers(*given).astype(np.int32))
    size = given[0].shape[1] - MARGIN

    def one(image, corner, mirrored, contrast, light):
        x = jax.lax.dynamic_slice(image, (corner[0], corner[1], 0), (size, size, 3))
        x = jnp.where(mirrored, x[:, ::-1], x).astype(jnp.float32) / 255
        mean = x.mean((0, 1))
        x = jnp.clip((x - mean) * contrast + mean + light, 0, 1)
        return (x * 255 + 0.5).astype(jnp.uint8)

    staged, given = stage(jax.vmap(one)), [jnp.asarray(each) for each in given]
    return lambda: staged(*given)


def torch(torch, stage, model, given):
    if model == "text":
        return lambda: torch.from_numpy(numbers(*given))
    size = given[0].shape[1] - MARGIN

    def augmented(images, corners, mirrored, contrast, light):
        places = corners[:, :, None] + torch.arange(size)
        every = torch.arange(len(images))[:, None, None]
        x = images[every, places[:, 0, :, None], places[:, 1, None, :]]
        x = torch.where(mirrored[:, None, None, None], x.flip(2), x).float() / 255
        mean = x.mean((1, 2), keepdim=True)
        x = (x - mean) * contrast[:, None, None, None] + mean + light[:, None, None, None]
        return (x.clamp(0, 1) * 255 + 0.5).to(torch.uint8)

    staged, given = stage(augmented), [torch.tensor(each) for each in given]

    @torch.no_grad()
    def call():
        return staged(*given)

    return call
