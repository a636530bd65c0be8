"""tf.keras.utils of folders: the Datasets that folders of images and of texts are.

Rule: the folder's name is the label; both are in the order of their names until they are shuffled.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from fastgraph.core.base.paths import local_path
from fastgraph.data.dataset import Dataset
from fastgraph.data.file_io import listdir, read_file
from fastgraph.data.media_decoding import decode_image
from fastgraph.keras.layers.image_preprocessing import smart_resize
from fastgraph.keras.layers.reshaping import interpolation_of
from fastgraph.ops.image_orientation import resize_with_pad
from fastgraph.ops.image_resizing import resize
from fastgraph.ops.movement import transpose
from fastgraph.ops.strings import substr


def image_dataset_from_directory(
    directory: Any, labels: Any = "inferred", label_mode: str | None = "int", class_names: Any = None,
    color_mode: str = "rgb", batch_size: int | None = 32, image_size: Any = (256, 256), shuffle: bool = True,
    seed: int | None = None, validation_split: float | None = None, subset: str | None = None,
    interpolation: str = "bilinear", follow_links: bool = False, crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False, data_format: str | None = None, verbose: bool = True, **kwargs: Any,
) -> Dataset:  # fmt: skip
    """Return a Dataset of the images in a folder's folders, resized to f32[b, *image_size, c], and their labels.

    labels: "inferred" by the folders (but for those whose names begin with a dot), None, or a list. label_mode: "int",
    "binary", "categorical" or None. subset: "training", "validation" or "both" of the parts that `validation_split`
    makes. crop_to_aspect_ratio, pad_to_aspect_ratio: keep the sides' ratio, cut or with zeros around. data_format:
    "channels_last", which None is too, or "channels_first". verbose: print how many files there are.
    Raises: TypeError for other keywords. Source: tf.keras.utils.
    """
    if kwargs:
        raise TypeError(f"Unknown keywords argument(s): {tuple(kwargs)}")
    channels = {"rgb": 3, "rgba": 4, "grayscale": 1}.get(color_mode)
    if channels is None:
        raise ValueError(
            f'`color_mode` must be one of {{"rgb", "rgba", "grayscale"}}. Received: color_mode={color_mode}'
        )
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError("Only one of `pad_to_aspect_ratio`, `crop_to_aspect_ratio` can be set to `True`.")
    if data_format not in (None, "channels_last", "channels_first"):
        raise ValueError(f'`data_format` must be "channels_last" or "channels_first". Received: {data_format}')
    method = interpolation_of(interpolation)

    def read(path: Any) -> Any:
        image = decode_image(read_file(path), channels=channels, expand_animations=False)
        image.set_shape([None, None, channels])
        if crop_to_aspect_ratio:
            image = smart_resize(image, image_size, method)
        elif pad_to_aspect_ratio:
            image = resize_with_pad(image, *image_size, method=method)
        else:
            image = resize(image, image_size, method=method)
        return transpose(image, [2, 0, 1]) if data_format == "channels_first" else image

    kinds = (".bmp", ".gif", ".jpeg", ".jpg", ".png")
    return _of_folder(directory, kinds, read, labels, label_mode, class_names, batch_size, shuffle, seed,
                      validation_split, subset, follow_links, "images", verbose)  # fmt: skip


def text_dataset_from_directory(
    directory: Any, labels: Any = "inferred", label_mode: str | None = "int", class_names: Any = None,
    batch_size: int | None = 32, max_length: int | None = None, shuffle: bool = True, seed: int | None = None,
    validation_split: float | None = None, subset: str | None = None, follow_links: bool = False, verbose: bool = True,
) -> Dataset:  # fmt: skip
    """Return a Dataset of the texts (.txt) in a folder's folders, string[b], and their labels.

    max_length: how much of a text is kept. The others as of image_dataset_from_directory. Source: tf.keras.utils.
    """

    def read(path: Any) -> Any:
        return read_file(path) if max_length is None else substr(read_file(path), 0, max_length)

    return _of_folder(directory, (".txt",), read, labels, label_mode, class_names, batch_size, shuffle, seed,
                      validation_split, subset, follow_links, "text files", verbose)  # fmt: skip


def _of_folder(
    directory: Any, kinds: tuple[str, ...], read: Any, labels: Any, label_mode: str | None, class_names: Any,
    batch_size: int | None, shuffle: bool, seed: int | None, split: float | None, subset: str | None,
    follow_links: bool, what: str, verbose: bool,
) -> Any:  # fmt: skip
    """The Dataset, or both of them, of the files below a folder."""
    if label_mode not in ("int", "categorical", "binary", None):
        raise ValueError(f"`label_mode` must be int, categorical, binary, or None. Received: {label_mode}")
    if (split is None) != (subset is None) or (split is not None and not 0 < split < 1):
        raise ValueError(
            "If `subset` is set, `validation_split` must be set, a number in (0, 1), and inversely. Received: "
            f"{split} and {subset}"
        )
    if subset not in ("training", "validation", "both", None):
        raise ValueError(f'`subset` must be either "training", "validation" or "both", received: {subset}')
    if split and shuffle and seed is None:
        raise ValueError(
            "If using `validation_split` and shuffling the data, you must provide a `seed` argument, to make sure that "
            "there is no overlap between the training and validation subset."
        )
    if labels is None or label_mode is None:
        labels = label_mode = None
    names, paths, numbers = _files(local_path(directory), kinds, labels, class_names, follow_links)
    if label_mode == "binary" and len(names) != 2:
        raise ValueError(f'When passing `label_mode="binary"`, there must be exactly 2 class_names. Received: {names}')
    if verbose:
        print(f"Found {len(paths)} files" + ("." if labels is None else f" belonging to {len(names)} classes."))
    if not paths:
        raise ValueError(f"No {what} found in directory {directory}. Allowed formats: {kinds}")
    if shuffle:
        seed = np.random.randint(1_000_000) if seed is None else seed  # noqa: NPY002  (programs seed it)
        for rows in (paths, numbers):
            np.random.RandomState(seed).shuffle(rows)

    def made(part: slice) -> Any:
        found: Any = Dataset.from_tensor_slices(paths[part]).map(read, num_parallel_calls=-1)
        if label_mode is not None:
            own: Any = np.asarray(numbers[part], "int32")
            if label_mode == "binary":
                own = own.astype("float32")[:, None]
            elif label_mode == "categorical":
                own = np.eye(len(names), dtype="float32")[own]
            found = Dataset.zip((found, Dataset.from_tensor_slices(own)))
        if shuffle and not (subset == "both" and part.start is not None):
            found = found.shuffle(buffer_size=(batch_size or 128) * 8, seed=seed)
        found = found if batch_size is None else found.batch(batch_size)
        found = found.prefetch(-1)
        found.class_names, found.file_paths = names, paths[part]
        return found

    if not split:
        return made(slice(None))
    n = int(split * len(paths))
    both = {"training": slice(None, len(paths) - n), "validation": slice(len(paths) - n, None)}
    for name, count in (("training", len(paths) - n), ("validation", n)):
        if verbose and subset in (name, "both"):
            print(f"Using {count} files for {name}.")
    return [made(both[name]) for name in both] if subset == "both" else made(both[str(subset)])


def _files(
    folder: str, kinds: tuple[str, ...], labels: Any, class_names: Any, follow_links: bool
) -> tuple[list[Any], list[str], list[int]]:
    """The classes, the files in the order of their folders' names, and the number of each file's class."""
    inferred = labels == "inferred" if isinstance(labels, str) else False
    below = listdir(folder)
    shown = [name for name in below if not name.startswith(".")]
    names = [name for name in shown if os.path.isdir(os.path.join(folder, name))] if inferred else [""]
    number = {name: i for i, name in enumerate(names)}
    if inferred and class_names is not None:
        if set(names) != set(class_names):
            raise ValueError(
                "The `class_names` passed did not match the names of the subdirectories of the target directory. "
                f"Expected: {names}, but received: {class_names}"
            )
        number = {name: class_names.index(name) for name in names}
        names = list(class_names)
    paths, numbers = [], []
    for name in sorted(number):
        for root, _, files in sorted(os.walk(os.path.join(folder, name), followlinks=follow_links)):
            chosen = [os.path.join(root, file) for file in sorted(files) if file.lower().endswith(kinds)]
            paths += chosen
            numbers += [number[name]] * len(chosen)
    if inferred:
        return names, paths, numbers
    if labels is not None and len(labels) != len(paths):
        raise ValueError(
            f"Expected the lengths of `labels` to match the number of files in the target directory. len(labels) is "
            f"{len(labels)} while we found {len(paths)} files in directory {folder}."
        )
    return (names, paths, numbers) if labels is None else (sorted(set(labels)), paths, list(labels))
