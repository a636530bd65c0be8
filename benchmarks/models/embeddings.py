"""Training steps that touch few rows of large tables: skip-gram with negative samples, a recommender."""

import numpy as np

from benchmarks.models import steps

CASES = {
    "skip-gram, step": {"model": "words", "rows": 50_000, "width": 128, "batch": 1024},
    "recommender, step": {"model": "clicks", "rows": 10_000, "width": 16, "batch": 256},
}
SMALL = {"rows": 12, "width": 4, "batch": 3}
TOLERANCE = 2e-3
NEGATIVE, TABLES, DENSE, HIDDEN = 5, 6, 13, 64
WORD_RATE, CLICK_RATE, BEGIN, EPSILON = 0.5, 0.05, 0.1, 1e-7


def data(model, rows, width, batch):
    rng = np.random.default_rng(0)

    def matrix(n, m):
        return rng.standard_normal((n, m), np.float32) / np.float32(m**0.5)

    def ids(*shape):
        """Some are frequent, as words and visitors are."""
        return (rng.zipf(1.2, shape) % rows).astype(np.int32)

    if model == "words":
        weights = [matrix(rows, width), matrix(rows, width)]
        given = [ids(batch), ids(batch), ids(batch, NEGATIVE)]
    else:
        pairs = (TABLES + 1) * TABLES // 2
        tables = [matrix(rows >> (i % 3), width) for i in range(TABLES)]
        layers = [(DENSE, width), (width + pairs, HIDDEN), (HIDDEN, 1)]
        mlp = [
            (rng.standard_normal((n, m), np.float32) / np.float32(n**0.5), np.zeros(m, np.float32)) for n, m in layers
        ]
        weights = [tables, mlp]
        chosen = np.stack([ids(batch) % len(table) for table in tables], 1)
        dense = rng.standard_normal((batch, DENSE), np.float32)
        given = [chosen, dense, rng.integers(0, 2, (batch, 1)).astype(np.float32)]
    return {"model": model, "weights": weights, "given": given}


def tensorflow(tf, stage, model, weights, given):
    variables = steps.mapped(tf.Variable, weights)
    cross_entropy = tf.nn.sigmoid_cross_entropy_with_logits

    def word_loss(words, contexts, negatives):
        inside, outside = variables
        word = tf.nn.embedding_lookup(inside, words)
        near = tf.reduce_sum(word * tf.nn.embedding_lookup(outside, contexts), axis=-1)
        far = tf.einsum("bd,bnd->bn", word, tf.nn.embedding_lookup(outside, negatives))
        return tf.reduce_mean(tf.nn.softplus(-near) + tf.reduce_sum(tf.nn.softplus(far), axis=-1))

    def click_loss(chosen, dense, clicked):
        tables, ((w0, b0), (w1, b1), (w2, b2)) = variables
        bottom = tf.nn.relu(dense @ w0 + b0)
        found = [tf.nn.embedding_lookup(table, chosen[:, i]) for i, table in enumerate(tables)]
        vectors = tf.stack([bottom, *found], axis=1)
        products = tf.matmul(vectors, vectors, transpose_b=True)
        pairs = tf.boolean_mask(tf.reshape(products, [len(given[0]), -1]), below, axis=1)
        h = tf.nn.relu(tf.concat([bottom, pairs], axis=1) @ w1 + b1)
        return tf.reduce_mean(cross_entropy(labels=clicked, logits=h @ w2 + b2))

    below = np.tri(TABLES + 1, k=-1, dtype=bool).ravel()
    if model == "words":
        return steps.tensorflow_step(tf, stage, tf.keras.optimizers.SGD(WORD_RATE), variables, word_loss, *given)
    optimizer = tf.keras.optimizers.Adagrad(CLICK_RATE, BEGIN, EPSILON)
    return steps.tensorflow_step(tf, stage, optimizer, variables, click_loss, *given)


def jax(jax, stage, model, weights, given):
    jnp = jax.numpy

    def word_step(weights, words, contexts, negatives):
        """The gradient by the rows, which are all that changes: by the whole tables it would be dense."""
        inside, outside = weights

        def loss_of(word, context, negative):
            near, far = (word * context).sum(-1), jnp.einsum("bd,bnd->bn", word, negative)
            return (jax.nn.softplus(-near) + jax.nn.softplus(far).sum(-1)).mean()

        rows = inside[words], outside[contexts], outside[negatives]
        loss, (by_word, by_context, by_negative) = jax.value_and_grad(loss_of, (0, 1, 2))(*rows)
        inside = inside.at[words].add(-WORD_RATE * by_word)
        outside = outside.at[contexts].add(-WORD_RATE * by_context).at[negatives].add(-WORD_RATE * by_negative)
        return loss, [inside, outside]

    def click_loss(weights, chosen, dense, clicked):
        tables, ((w0, b0), (w1, b1), (w2, b2)) = weights
        bottom = jax.nn.relu(dense @ w0 + b0)
        vectors = jnp.stack([bottom, *(table[chosen[:, i]] for i, table in enumerate(tables))], 1)
        pairs = (vectors @ vectors.swapaxes(1, 2))[:, below[0], below[1]]
        logits = jax.nn.relu(jnp.concatenate([bottom, pairs], 1) @ w1 + b1) @ w2 + b2
        return (jax.nn.softplus(logits) - clicked * logits).mean()

    below = np.tril_indices(TABLES + 1, -1)
    if model == "clicks":
        return steps.jax_step(jax, stage, steps.adagrad(CLICK_RATE, BEGIN, EPSILON), weights, click_loss, *given)
    staged, held = stage(word_step, donate_argnums=0), [steps.mapped(jnp.array, weights)]
    given = [jnp.asarray(each) for each in given]

    def call():
        loss, held[0] = staged(held[0], *given)
        return loss

    return call


def torch(torch, stage, model, weights, given):
    functional = torch.nn.functional
    parameters = steps.torch_parameters(torch, weights)
    given = [torch.tensor(each.astype(np.int64) if each.dtype == np.int32 else each) for each in given]

    def word_loss(words, contexts, negatives):
        inside, outside = parameters
        word = functional.embedding(words, inside, sparse=True)
        near = (word * functional.embedding(contexts, outside, sparse=True)).sum(-1)
        far = torch.einsum("bd,bnd->bn", word, functional.embedding(negatives, outside, sparse=True))
        return (functional.softplus(-near) + functional.softplus(far).sum(-1)).mean()

    def click_loss(chosen, dense, clicked):
        tables, ((w0, b0), (w1, b1), (w2, b2)) = parameters
        bottom = torch.relu(torch.addmm(b0, dense, w0))
        found = [functional.embedding(chosen[:, i], table, sparse=True) for i, table in enumerate(tables)]
        vectors = torch.stack([bottom, *found], 1)
        pairs = (vectors @ vectors.transpose(1, 2))[:, below[0], below[1]]
        logits = torch.addmm(b2, torch.relu(torch.addmm(b1, torch.cat([bottom, pairs], 1), w1)), w2)
        return functional.binary_cross_entropy_with_logits(logits, clicked)

    below = torch.tril_indices(TABLES + 1, TABLES + 1, -1)
    trained = list(steps.leaves(parameters))
    if model == "words":
        return steps.torch_step(stage, torch.optim.SGD(trained, WORD_RATE), word_loss, *given)
    optimizer = torch.optim.Adagrad(trained, CLICK_RATE, initial_accumulator_value=BEGIN, eps=EPSILON)
    return steps.torch_step(stage, optimizer, click_loss, *given)
