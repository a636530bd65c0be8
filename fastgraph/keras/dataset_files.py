"""tf.keras.datasets: small data sets, read from Keras's cache, or fetched into it.

Rule: a file is looked for where Keras has it (~/.keras/datasets), then fetched; nothing here knows of models.
"""

from __future__ import annotations

import gzip
import os
import pickle
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.keras.file_downloads import cache_root, get_file

_BASE = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
#: The sha256 of files. Source: Keras.
_HASHES = {
    "mnist.npz": "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
    "boston_housing.npz": "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5",
    "imdb.npz": "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f",
    "reuters.npz": "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916",
    "cifar-10-python.tar.gz": "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
}
_CIFAR10 = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"

Pair = tuple[Any, Any]


def mnist(path: str = "mnist.npz", cache_dir: str | None = None) -> tuple[Pair, Pair]:
    """Return MNIST: (x_train, y_train), (x_test, y_test). u8[60000, 28, 28], u8[60000]; u8[10000, 28, 28], u8[10000].

    Where the file is neither in the cache nor to be had, scikit-learn's digits stand in for it, with a warning: 1,797
    images of 8x8, enlarged to 28x28. Raises OSError if that is not installed either.
    Source: tf.keras.datasets.mnist.load_data.
    """
    try:
        x_train, y_train, x_test, y_test = _arrays(path, "mnist.npz", cache_dir, "x_train y_train x_test y_test")
    except OSError as error:
        return _digits(error)
    return (x_train, y_train), (x_test, y_test)


def _digits(error: OSError) -> tuple[Pair, Pair]:
    """scikit-learn's digits in MNIST's form: the last sixth is for tests."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise error from None
    warnings.warn(
        f"MNIST cannot be had ({error}): scikit-learn's digits, 1,797 images of 8x8 enlarged to 28x28, take its place.",
        stacklevel=3,
    )
    found = load_digits()
    small = np.asarray(found.images) * (255.0 / 16.0)
    at = np.clip((np.arange(28) + 0.5) * (8 / 24) - 0.5 - 2 / 3, -1, 8)  # 24 pixels of 8, a margin of 2
    padded = np.pad(small, ((0, 0), (1, 2), (1, 2)))
    low = np.floor(at).astype(int)
    share = at - low
    low += 1
    rows = padded[:, low] * (1 - share)[:, None] + padded[:, low + 1] * share[:, None]
    images = rows[:, :, low] * (1 - share) + rows[:, :, low + 1] * share
    x, y = np.rint(images).astype(np.uint8), np.asarray(found.target).astype(np.uint8)
    n = len(x) * 5 // 6
    return (x[:n], y[:n]), (x[n:], y[n:])


def fashion_mnist(cache_dir: str | None = None) -> tuple[Pair, Pair]:
    """Return Fashion-MNIST in the form of MNIST: ten kinds of clothes. Source: tf.keras.datasets.fashion_mnist."""
    parts = []
    for kind in ("train", "t10k"):
        for what, head in (("images-idx3", 16), ("labels-idx1", 8)):
            file = _fetched(
                f"{kind}-{what}-ubyte.gz", None, cache_dir, subdir=os.path.join("datasets", "fashion-mnist")
            )
            with gzip.open(file, "rb") as content:
                parts.append(np.frombuffer(content.read(), np.uint8, offset=head))
    x, y, x_test, y_test = parts
    return (x.reshape(len(y), 28, 28), y), (x_test.reshape(len(y_test), 28, 28), y_test)


def cifar10(cache_dir: str | None = None) -> tuple[Pair, Pair]:
    """Return CIFAR-10: images in ten classes. u8[50000, 32, 32, 3], u8[50000, 1]; 10000 for tests.

    Source: tf.keras.datasets.cifar10.load_data.
    """
    folder = get_file(
        "cifar-10-batches-py", _CIFAR10, untar=True, file_hash=_HASHES["cifar-10-python.tar.gz"], cache_dir=cache_dir
    )
    parts = []
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
        with open(os.path.join(folder, name), "rb") as file:
            found = pickle.load(file, encoding="bytes")  # of an archive whose hash was right
        images = np.asarray(found[b"data"]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        parts.append((images, np.asarray(found[b"labels"], np.uint8).reshape(-1, 1)))
    train = tuple(np.concatenate([part[i] for part in parts[:5]]) for i in (0, 1))
    return (train[0], train[1]), parts[5]


def boston_housing(
    path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113, cache_dir: str | None = None
) -> tuple[Pair, Pair]:
    """Return prices of houses near Boston in the 1970s: f64[404, 13], f64[404]; 102 for tests.

    Source: tf.keras.datasets.boston_housing.load_data.
    """
    x, y = _arrays(path, "boston_housing.npz", cache_dir, "x y")
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    x, y = x[order], y[order]
    n = int(len(x) * (1 - test_split))
    return (x[:n], y[:n]), (x[n:], y[n:])


def imdb(
    path: str = "imdb.npz", num_words: int | None = None, skip_top: int = 0, maxlen: int | None = None, seed: int = 113,
    start_char: int | None = 1, oov_char: int | None = 2, index_from: int = 3, cache_dir: str | None = None,
) -> tuple[Pair, Pair]:  # fmt: skip
    """Return film reviews as lists of words' numbers, and whether they are kind: 25000 for training, 25000 for tests.

    num_words: only the most frequent ones keep their numbers. Source: tf.keras.datasets.imdb.load_data.
    """
    with np.load(_fetched(path, "imdb.npz", cache_dir, hashed=True), allow_pickle=True) as data:
        pairs = [(data["x_train"], data["y_train"]), (data["x_test"], data["y_test"])]
    generator = np.random.RandomState(seed)
    lists: list[list[Any]] = []
    labels = []
    for x, y in pairs:
        order = np.arange(len(x))
        generator.shuffle(order)
        found, kept = _numbered(x[order], y[order], start_char, index_from, maxlen)
        lists.append(found)
        labels.append(kept)
    words = _words_kept(lists[0] + lists[1], num_words, skip_top, oov_char)
    n = len(lists[0])
    return (np.array(words[:n], object), labels[0]), (np.array(words[n:], object), labels[1])


def reuters(
    path: str = "reuters.npz", num_words: int | None = None, skip_top: int = 0, maxlen: int | None = None,
    test_split: float = 0.2, seed: int = 113, start_char: int | None = 1, oov_char: int | None = 2, index_from: int = 3,
    cache_dir: str | None = None,
) -> tuple[Pair, Pair]:  # fmt: skip
    """Return news as lists of words' numbers, and their topics, 46 of them. Source: tf.keras.datasets.reuters."""
    with np.load(_fetched(path, "reuters.npz", cache_dir, hashed=True), allow_pickle=True) as data:
        x, y = data["x"], data["y"]
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    lists, y = _numbered(x[order], y[order], start_char, index_from, maxlen)
    words = _words_kept(lists, num_words, skip_top, oov_char)
    n = int(len(words) * (1 - test_split))
    return (np.array(words[:n], object), y[:n]), (np.array(words[n:], object), y[n:])


def _numbered(
    x: Sequence[Sequence[int]], y: Any, start: int | None, index_from: int, maxlen: int | None
) -> tuple[list[Any], Any]:
    """Lists of words' numbers from `index_from` on, each begun by `start`; those shorter than maxlen."""
    first = [] if start is None else [start]
    shift = index_from if start is not None or index_from else 0
    lists = [first + [word + shift for word in words] for words in x]
    if maxlen:
        short = [i for i, words in enumerate(lists) if len(words) < maxlen]
        lists, y = [lists[i] for i in short], np.asarray(y)[short]
        if not lists:
            raise ValueError(
                f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept. Increase maxlen."
            )
    return lists, np.asarray(y)


def _words_kept(lists: list[Any], num_words: int | None, skip_top: int, oov: int | None) -> list[Any]:
    most = num_words or max(max(words) for words in lists)
    if oov is None:
        return [[word for word in words if skip_top <= word < most] for words in lists]
    return [[word if skip_top <= word < most else oov for word in words] for words in lists]


def _arrays(path: str, known: str, cache_dir: str | None, names: str) -> list[np.ndarray]:
    """Return arrays of a file of the cache by their names; one that cannot be read is fetched again."""
    for again in (False, True):
        try:
            with np.load(_fetched(path, known, cache_dir, hashed=again), allow_pickle=False) as data:
                return [data[name] for name in names.split()]
        except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
            if again:
                raise
    return []


def _fetched(
    name: str, known: str | None, cache_dir: str | None, subdir: str = "datasets", hashed: bool = False
) -> str:
    """The path of a file of the cache. One that is there already is checked only where reading it could run code."""
    place = os.path.join(cache_dir or cache_root(), subdir, name)
    if os.path.exists(place) and not hashed:
        return place
    wanted = None if known is None else _HASHES[known]
    return get_file(name, _BASE + (known or name), file_hash=wanted, cache_subdir=subdir, cache_dir=cache_dir)
