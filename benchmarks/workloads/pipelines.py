"""Passes over datasets: shuffled batches with a map, Examples, rows of CSV, lines, JPEGs; steps fed by them.

What is timed is a whole pass. Its result does not depend on the order: a sum, or of a step's pass the number of steps.
Of a pass with steps, `WAITS` has the share of the time in which the step waited for its data.
The files are written before, by each library that has such, or by Python.
"""

import io
import tempfile
import time
from pathlib import Path

import numpy as np

BATCH, WORDS, SMALLER = 128, 1000, 64
CASES = {
    "images": {"what": "images", "n": 60_000, "width": 784},
    "records": {"what": "records", "n": 100_000, "width": 8},
    "csv": {"what": "csv", "n": 1_000_000, "width": 4},
    "text": {"what": "text", "n": 50_000, "width": 12},
    "jpegs": {"what": "jpegs", "n": 512, "width": 256},
    "images, step": {"what": "images", "n": 60_000, "width": 784, "step": True},
    "records, step": {"what": "records", "n": 100_000, "width": 8, "step": True},
    "csv, step": {"what": "csv", "n": 1_000_000, "width": 4, "step": True},
    "text, step": {"what": "text", "n": 50_000, "width": 12, "step": True},
    "jpegs, step": {"what": "jpegs", "n": 512, "width": 256, "step": True},
}
#: What a step sees of a row: (numbers, the largest of them).
SEEN = {"images": (784, 1), "records": (8, 1), "csv": (4, 1), "text": (12, 1000), "jpegs": (64 * 64 * 3, 255)}
#: Of each pass with steps, the share of it that the step waited at the iterator.
WAITS: list[float] = []
SMALL = {"n": 300}
ROWS = dict.fromkeys(CASES, 35)
GOALS = dict.fromkeys(CASES, 0.7)
MODES = ("eager",)
SAMPLE_S = 1.0
TOLERANCE = {"jpegs": 1e-2, "*": 1e-3}  # the inverse transform has two usual ways
_WHY = "it has no datasets"
ABSENT = {"numpy": _WHY, "numba": _WHY, "jax": _WHY, "pytensor": _WHY}


def data(what, n, width, step=False):
    rng = np.random.default_rng(0)
    if what == "images":
        x = rng.random((n, width), np.float32) * 255
    elif what == "text":
        x = rng.integers(0, WORDS, (n, width))
    elif what == "jpegs":  # waves of three colours, a little noise
        at = np.linspace(0, 2, width, dtype=np.float32)
        waves = np.sin(at[:, None, None] * [9, 7, 5] + at[:, None] * rng.uniform(5, 20, (n, 1, 1, 1)))
        x = (127 + 90 * waves + rng.normal(0, 6, waves.shape)).clip(0, 255).astype(np.uint8)
    else:
        x = rng.standard_normal((n, width)).astype(np.float32)
    return {"what": what, "x": x, "step": step}


def steps_of(batches, step):
    """Take a step for each batch, note in WAITS what it waited, and return the number of steps."""
    clock, waited, n = time.perf_counter, 0.0, 0
    begin = before = clock()
    iterator = iter(batches)
    while True:
        batch = next(iterator, None)
        waited += clock() - before
        if batch is None:
            break
        step(batch)
        n += 1
        before = clock()
    WAITS.append(waited / (clock() - begin))
    return n


def lines(x, between):
    """Rows as lines of a file, in a folder that is removed with it."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name, "rows")
    path.write_text("".join(between.join(map(str, row)) + "\n" for row in x.tolist()))
    return folder, str(path)


def images(tf, x):
    dataset = tf.data.Dataset.from_tensor_slices(x).shuffle(10_000).batch(BATCH)
    return dataset.map(lambda batch: batch / 255 - 0.5, tf.data.AUTOTUNE).prefetch(2), None


def records(tf, x):
    folder = tempfile.TemporaryDirectory()
    path = str(Path(folder.name, "records"))
    with tf.io.TFRecordWriter(path) as writer:
        for row in x.tolist():
            values = tf.train.Feature(float_list=tf.train.FloatList(value=row))
            writer.write(tf.train.Example(features=tf.train.Features(feature={"x": values})).SerializeToString())
    features = {"x": tf.io.FixedLenFeature([x.shape[1]], tf.float32)}
    dataset = tf.data.TFRecordDataset(path).batch(BATCH)
    dataset = dataset.map(lambda batch: tf.io.parse_example(batch, features)["x"], tf.data.AUTOTUNE)
    return dataset.prefetch(2), folder


def csv(tf, x):
    folder, path = lines(x, ",")
    rows = tf.data.experimental.CsvDataset(path, [tf.float32] * x.shape[1])
    return rows.batch(BATCH).map(lambda *columns: tf.stack(columns, 1), tf.data.AUTOTUNE).prefetch(2), folder


def text(tf, x):
    folder, path = lines(x, " ")
    keys = tf.constant([str(i) for i in range(WORDS)])
    filled = tf.lookup.KeyValueTensorInitializer(keys, tf.range(WORDS, dtype=tf.int64))
    table = tf.lookup.StaticHashTable(filled, -1)
    dataset = tf.data.TextLineDataset(path).batch(BATCH)
    dataset = dataset.map(lambda batch: tf.cast(table.lookup(tf.strings.split(batch).values), tf.float32))
    return dataset.prefetch(2), (folder, table)


def jpegs(tf, x):
    files = [tf.io.encode_jpeg(tf.constant(picture)).numpy() for picture in x]

    def small(file):
        return tf.image.resize(tf.io.decode_jpeg(file, 3), [SMALLER, SMALLER])

    return tf.data.Dataset.from_tensor_slices(files).map(small, tf.data.AUTOTUNE).batch(BATCH).prefetch(2), None


PIPELINES = {each.__name__: each for each in (images, records, csv, text, jpegs)}


def tensorflow(tf, stage, what, x, step):
    dataset, kept = PIPELINES[what](tf, x)
    width, largest = SEEN[what]
    w = tf.Variable(tf.zeros([width, 16]))

    @tf.function
    def trained(batch):
        rows = tf.reshape(batch, [-1, width]) / largest if largest > 1 else batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.matmul(rows, w) - 1.0) ** 2)
        w.assign_sub(tape.gradient(loss, w) / width)
        return loss

    def steps():
        n = steps_of(dataset, trained)
        assert kept is None or kept
        return tf.constant(n)

    def total():
        found = 0.0
        for batch in dataset:
            found += float(tf.reduce_sum(tf.abs(batch)))
        assert kept is None or kept
        return tf.constant(found)

    return steps if step else total


def torch(torch, stage, what, x, step):
    load = torch.utils.data.DataLoader
    width, largest = SEEN[what]
    w = torch.zeros(width, 16, requires_grad=True)
    path = kept = None
    if what in ("records", "csv"):
        return "it has no reader of records, Examples or CSV"
    if what == "text":
        kept, path = lines(x, " ")
    pictures = _with_pillow(x) if what == "jpegs" else []

    def batches():
        if what == "images":
            dataset = torch.utils.data.TensorDataset(torch.from_numpy(x))
            return ((batch / 255 - 0.5) for (batch,) in load(dataset, BATCH, shuffle=True))
        if what == "jpegs":  # torchvision's decoder is another package
            together = lambda files: torch.from_numpy(np.stack([_small_with_pillow(file) for file in files]))
            return load(pictures, BATCH, collate_fn=together)
        return load(rows_of(path), BATCH, collate_fn=lambda rows: torch.from_numpy(looked_up(rows)))

    def trained(batch):
        rows = batch.reshape(-1, width) / largest if largest > 1 else batch
        loss = ((rows @ w - 1.0) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, w)
        with torch.no_grad():
            w.sub_(gradient / width)

    def total():
        assert kept is None or kept
        return torch.tensor(
            steps_of(batches(), trained) if step else sum(float(batch.abs().sum()) for batch in batches())
        )

    return total


def grain(grain, stage, what, x, step):
    width, largest = SEEN[what]
    w = np.zeros((width, 16), np.float32)
    kept = None
    if what in ("records", "csv"):
        return "it has no parser of Examples, and no reader of CSV"
    if what == "images":
        dataset = grain.MapDataset.source(x).shuffle(seed=0).batch(BATCH).map(lambda batch: batch / 255 - 0.5)
    elif what == "text":
        kept, path = lines(x, " ")
        dataset = grain.MapDataset.source(rows_of(path)).batch(BATCH, batch_fn=looked_up)
    else:
        dataset = grain.MapDataset.source(_with_pillow(x)).map(_small_with_pillow).batch(BATCH)

    def trained(batch):  # by NumPy: grain has no steps
        rows = batch.reshape(-1, width) / np.float32(largest) if largest > 1 else batch
        wrong = rows @ w - np.float32(1)
        w[...] -= rows.T @ wrong * np.float32(2 / wrong.size / width)

    def total():
        assert kept is None or kept
        batches = dataset.to_iter_dataset()
        return np.array(steps_of(batches, trained) if step else sum(float(np.abs(batch).sum()) for batch in batches))

    return total


def rows_of(path):
    return Path(path).read_text().splitlines()


KNOWN = {str(i): i for i in range(WORDS)}


def looked_up(rows):
    return np.array([KNOWN[word] for row in rows for word in row.split()], np.float32)


def _with_pillow(pictures):
    from PIL import Image

    files = []
    for picture in pictures:
        file = io.BytesIO()
        Image.fromarray(picture).save(file, "JPEG", quality=95)
        files.append(file.getvalue())
    return files


def _small_with_pillow(file):
    from PIL import Image

    picture = Image.open(io.BytesIO(file))  # between the four nearest pixels, as the others do
    across, down = picture.width / SMALLER, picture.height / SMALLER
    kind, how = Image.Transform.AFFINE, Image.Resampling.BILINEAR
    return np.asarray(picture.transform((SMALLER, SMALLER), kind, (across, 0, 0, 0, down, 0), how), np.float32)
