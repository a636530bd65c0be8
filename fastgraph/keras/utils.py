"""tf.keras.utils: files from the network, one-hot labels, seeds, progress bars.

Rule: what stands here knows of no layer and no model.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np

from fastgraph.api.namespaces import lookup
from fastgraph.ops.random_ops import set_seed

__all__ = ["Progbar", "Sequence", "get_file", "set_random_seed", "to_categorical"]

__getattr__, __dir__ = lookup("keras.utils")

_WIDTH = 30
_INTERVAL = 0.05


def to_categorical(y: Any, num_classes: int | None = None, dtype: Any = "float32") -> np.ndarray:
    """Return integer labels as rows that are 1 at the label and 0 elsewhere. i[*s] or i[*s, 1] -> f[*s, num_classes].

    num_classes: by default the greatest label and one. Raises IndexError for a label that is no class.
    Source: tf.keras.utils.to_categorical.

    Examples:
        >>> to_categorical([0, 2, 1])
        array([[1., 0., 0.],
               [0., 0., 1.],
               [0., 1., 0.]], dtype=float32)
    """
    labels = np.asarray(y, dtype="int64")
    if labels.shape and labels.shape[-1] == 1 and labels.ndim > 1:
        labels = labels[..., 0]
    n = num_classes or int(labels.max()) + 1
    return np.eye(n, dtype=getattr(dtype, "name", dtype))[labels]


def set_random_seed(seed: int) -> None:
    """Seed Python's `random`, NumPy's global generator and `tf.random`, so that a program repeats itself.

    Source: tf.keras.utils.set_random_seed.
    """
    if not isinstance(seed, int):
        raise ValueError(f"Expected `seed` argument to be an integer. Received: seed={seed} (of type {type(seed)})")
    random.seed(seed)
    np.random.seed(seed)
    set_seed(seed)


class Sequence:
    """The base of data that is asked for batch by batch: state `__len__` and `__getitem__(index)`, a tuple for `fit`.

    Source: tf.keras.utils.Sequence.
    """

    def __getitem__(self, index: int) -> Any:
        """Return one batch: x, (x, y) or (x, y, sample_weight)."""
        raise NotImplementedError

    def __len__(self) -> int:
        """Return the number of batches."""
        raise NotImplementedError

    def on_epoch_end(self) -> None:
        """Called after each pass over the batches."""

    def __iter__(self) -> Any:
        """Yield the batches in order."""
        for index in range(len(self)):
            yield self[index]


def get_file(
    fname: str | None = None,
    origin: str | None = None,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str = "auto",
    cache_dir: str | None = None,
) -> str:
    """Return the path of a file that is fetched from `origin` unless it is in the cache already.

    The cache is `cache_dir` (KERAS_HOME, else ~/.keras) / `cache_subdir`. file_hash: the file's sha256 or md5, by its
    length; a cached file with another one is fetched again. extract, untar: unpack it beside itself (with `untar` the
    path is without ".tar.gz"). Raises OSError where there is no network, ValueError for a file with another hash.
    Source: tf.keras.utils.get_file.
    """
    if origin is None:
        raise ValueError('Please specify the "origin" argument (URL of the file to download).')
    fname = os.fspath(fname) if fname else os.path.basename(urllib.request.urlparse(origin).path)
    if not fname:
        raise ValueError(f"Can't parse the file name from the origin provided: '{origin}'. Please specify `fname`.")
    folder = os.path.join(cache_dir or cache_root(), cache_subdir)
    os.makedirs(folder, exist_ok=True)
    whole = os.path.join(folder, fname)
    path = f"{whole}.tar.gz" if untar and not fname.endswith(".tar.gz") else whole
    wanted = file_hash or md5_hash
    if not os.path.exists(path) or (wanted and not _has_hash(path, wanted, hash_algorithm)):
        _download(origin, path)
        if wanted and not _has_hash(path, wanted, hash_algorithm):
            os.unlink(path)
            raise ValueError(f"Incomplete or corrupted file detected: {origin} does not have the hash {wanted}.")
    if untar or extract:
        _unpack(path, folder)
    return whole


def cache_root() -> str:
    """Return the folder of Keras's cache: KERAS_HOME, else ~/.keras."""
    return os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")


def _download(origin: str, path: str) -> None:
    """Fetch a file; it stands at its place only when it is whole."""
    sys.stderr.write(f"Downloading data from {origin}\n")
    handle, partial = tempfile.mkstemp(dir=os.path.dirname(path), suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file, urllib.request.urlopen(origin, timeout=30) as response:
            shutil.copyfileobj(response, file)
        os.replace(partial, path)
    except urllib.error.URLError as error:
        raise OSError(f"URL fetch failure on {origin}: {error.reason}. The file is expected at {path}.") from error
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def _has_hash(path: str, wanted: str, algorithm: str) -> bool:
    kind = "sha256" if algorithm == "sha256" or (algorithm == "auto" and len(wanted) == 64) else "md5"
    digest = hashlib.new(kind)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest() == wanted


def _unpack(path: str, folder: str) -> None:
    if tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)


class Progbar:
    """Progress on standard output: a bar on a terminal, a line at the end elsewhere. Source: tf.keras.utils.Progbar.

    target: how many steps there are, None if that is not known. verbose: 0 nothing, 1 a bar, 2 a line at the end.
    stateful_metrics: names of values that are shown as they are; of others the mean is. A value may be a tensor: it is
    read only when it is shown.
    """

    def __init__(
        self,
        target: int | None,
        width: int = _WIDTH,
        verbose: int = 1,
        interval: float = _INTERVAL,
        stateful_metrics: Iterable[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        self.target = target
        self.width = width
        self.verbose = verbose
        self.interval = interval
        self.stateful_metrics = set(stateful_metrics or ())
        self.unit_name = unit_name
        self._sums: dict[str, list[float]] = {}
        self._begun = time.perf_counter()
        self._shown = float("-inf")
        self._seen = 0
        self._length = 0
        self._moving = verbose == 1 and bool(getattr(sys.stdout, "isatty", bool)())

    def add(self, n: int, values: Any = None) -> None:
        """Go `n` steps on."""
        self.update(self._seen + n, values)

    def update(self, current: int, values: Any = None, finalize: bool | None = None) -> None:
        """Say that `current` steps are done; values: [(name, value)]."""
        if finalize is None:
            finalize = self.target is not None and current >= self.target
        steps, self._seen = current - self._seen, current
        values = [self._mean(name, value, steps) for name, value in values or ()]
        if not self.verbose or (not finalize and not self._moving):
            return
        now = time.perf_counter()
        if not finalize and now - self._shown < self.interval:
            return
        self._shown = now
        if finalize and self.target is None:
            self.target = current
        self._write(current, values, now - self._begun, finalize)

    def due(self) -> bool:
        """Whether a step would be shown now."""
        return self._moving and time.perf_counter() - self._shown >= self.interval

    def _mean(self, name: str, value: Any, steps: int) -> tuple[str, Any]:
        if name in self.stateful_metrics:
            return name, value
        total = self._sums.setdefault(name, [0.0, 0.0])
        weight = max(steps, 1)
        total[0] += float(value) * weight
        total[1] += weight
        return name, total[0] / total[1]

    def _write(self, current: int, values: Any, spent: float, done: bool) -> None:
        per_step = spent / max(current, 1)
        rate = f"{clock(spent)} {small_time(per_step)}/{self.unit_name}"
        shown = "".join(f" - {name}: {number_text(value)}" for name, value in values or ())
        known = self.target
        if self.verbose == 2:
            sys.stdout.write(f"{current}/{known} - {clock(spent)}{shown} - {small_time(per_step)}/{self.unit_name}\n")
            sys.stdout.flush()
            return
        if known is None:
            line = f"{current:>7}/Unknown - {rate}{shown}"
        else:
            count = f"{current:>{len(str(known))}}/{known}"
            filled = min(self.width, self.width * current // known)
            bar = "=" * filled if done else ("=" * max(filled - 1, 0) + ">").ljust(self.width, ".")
            left = rate if done else f"ETA: {clock(per_step * max(known - current, 0))}"
            line = f"{count} [{bar}] - {left}{shown}"
        end = "\n" if done else ""
        sys.stdout.write(("\r" if self._moving else "") + line.ljust(self._length) + end)
        sys.stdout.flush()
        self._length = 0 if done else len(line)


def clock(seconds: float) -> str:
    """Return seconds as text: 5 -> "5s", 65 -> "1:05", 3700 -> "1:01:40"."""
    whole = int(seconds)
    if whole >= 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    return f"{whole // 60}:{whole % 60:02d}" if whole >= 60 else f"{whole}s"


def small_time(seconds: float) -> str:
    """Return a step's time as text: "2s", "31ms", "850us"."""
    if seconds >= 1 or not seconds:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"


def number_text(value: Any) -> str:
    """Return a number as progress bars show it: 0.1234, or 1.2340e-05 where that would say nothing."""
    number = float(np.mean(np.asarray(value)))
    return f"{number:.4f}" if abs(number) > 1e-3 else f"{number:.4e}"
