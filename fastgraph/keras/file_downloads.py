"""tf.keras.utils.get_file: files from the network in Keras's cache, and labels as rows.

Rule: a file stands at its place only when it is whole.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile

from fastgraph.core.base import flags


def get_file(
    fname: str | None = None, origin: str | None = None, untar: bool = False, md5_hash: str | None = None, file_hash:
    str | None = None, cache_subdir: str = "datasets", hash_algorithm: str = "auto", extract: bool = False,
    archive_format: str = "auto", cache_dir: str | None = None,
) -> str:  # fmt: skip
    """Return the path of a file that is fetched from `origin` unless it is in the cache already.

    The cache is `cache_dir` (KERAS_HOME, else ~/.keras) / `cache_subdir`. file_hash: the file's sha256 or md5, by its
    length; a cached file with another one is fetched again. extract, untar: unpack it beside itself (with `untar` the
    path is without ".tar.gz"). Raises OSError where there is no network, ValueError for a file with another hash.
    Source: tf.keras.utils.get_file.
    """
    if origin is None:
        raise ValueError('Please specify the "origin" argument (URL of the file to download).')
    fname = os.fspath(fname) if fname else os.path.basename(urllib.parse.urlparse(origin).path)
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
    return str(flags.get("keras_home"))


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
