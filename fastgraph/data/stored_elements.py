"""Elements in files: saved datasets, snapshots and caches, in TensorFlow's forms.

Rule: a saved dataset is a folder of records, each the TensorProto of one component; a cache is a bundle as checkpoints
are. What is begun and not finished is never read, and takes nothing away: a run lies beside those before it, with its
spec, and is the folder's when the metadata name it, which are replaced at once. The files of a pass are named by the
folder's own listing.
"""

from __future__ import annotations

import contextlib
import glob as globs
import gzip
import hashlib
import inspect
import io
import itertools
import os
import secrets
import shutil
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DType
from fastgraph.core.base.file_errors import raising_for
from fastgraph.core.base.paths import matches
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.op_errors import enum_name, format_shape, message_name
from fastgraph.core.tensor import EagerTensor, Tensor, as_array, from_array
from fastgraph.data.element_functions import Mapped
from fastgraph.data.element_specs import Element, tensor_specs
from fastgraph.data.handles import held_by, resolve
from fastgraph.data.random_access import Table, table_of
from fastgraph.data.sources import Run, Source
from fastgraph.errors import AlreadyExistsError, DataLossError, NotFoundError, OpError, UnknownError
from fastgraph.graph.ir import Graph, Value
from fastgraph.graphdef.event_files import RecordIterator
from fastgraph.graphdef.exporter import tensor_message
from fastgraph.graphdef.import_values import tensor_of
from fastgraph.graphdef.message_types import KINDS, Enum
from fastgraph.graphdef.messages import TensorProto
from fastgraph.graphdef.serialized_tensors import serialize_tensor
from fastgraph.ops.families import Array, invalid
from fastgraph.records.record_files import Bytes, framed
from fastgraph.records.snappy import SnappyReader, SnappyWriter
from fastgraph.records.wire_scan import checksums
from fastgraph.saving.bundle_writer import BundleWriter
from fastgraph.saving.saved_model_structures import decoded, encoded
from fastgraph.saving.tensor_bundle import BundleReader, PlainEntry

_SPEC, _METADATA = "dataset_spec.pb", "snapshot.metadata"
_NARROW = "float8", "int4", "uint4", "int2", "uint2"
_AGAIN = 5.0  # seconds between two looks for what somebody else writes


def matching(pattern: Any) -> list[bytes]:
    """Return the paths that fit a pattern, or one of several, sorted."""
    patterns = pattern if isinstance(pattern, list | tuple) else np.atleast_1d(np.asarray(pattern, object)).tolist()
    return sorted({os.fsencode(path) for each in patterns for path in matches(each)})


_MOST = 128  # objects and functions that are looked into: a program may hold all it has by the one that makes elements


def fingerprint_of(value: Any) -> int:
    """Return a number of 64 bits that says how a source is made: kinds, counts, tensors and functions' graphs."""
    digest = hashlib.blake2b(digest_size=8)
    _feed(digest.update, value, set())
    return int.from_bytes(digest.digest(), "little")


def _feed(take: Callable[[bytes], None], given: object, seen: set[int]) -> None:
    value: Any = given
    if isinstance(given, Tensor) and hasattr(value, "numpy"):
        array = as_array(value)
        take(repr((array.dtype, array.shape)).encode())
        take(repr(array.tolist()).encode() if array.dtype.hasobject else np.ascontiguousarray(array).tobytes())
    elif isinstance(value, np.ndarray):
        take(value.tobytes() if not value.dtype.hasobject else repr(value.tolist()).encode())
    elif isinstance(value, list | tuple):
        for item in value:
            _feed(take, item, seen)
    elif isinstance(value, dict):
        _feed(take, list(value.items()), seen)
    elif isinstance(value, MethodType):
        _feed(take, [value.__func__, value.__self__], seen)
    elif callable(value) and hasattr(value, "__code__"):
        if id(value) not in seen:
            seen.add(id(value))
            held = [cell.cell_contents for cell in value.__closure__ or () if cell.cell_contents is not value]
            _feed(take, [value.__code__, held, value.__defaults__, value.__kwdefaults__], seen)
    elif isinstance(value, CodeType):  # those of functions within it are among its constants
        _feed(take, [value.co_code, value.co_names, value.co_consts], seen)
    elif isinstance(value, partial):
        _feed(take, [value.func, value.args, value.keywords], seen)
    elif isinstance(value, Mapped):
        _feed(
            take,
            [value.graph, [held_by(one) or one for one in value.taken if isinstance(one, EagerTensor)], value.seeds()],
            seen,
        )
    elif isinstance(value, Graph):
        if id(value) not in seen:
            seen.add(id(value))
            _feed_graph(take, value, seen)
    elif isinstance(value, Source):
        if id(value) not in seen:
            seen.add(id(value))
            take(type(value).__name__.encode())
            _feed(take, {k: v for k, v in sorted(vars(value).items()) if k not in value.aside}, seen)
    elif isinstance(value, bytes):
        take(value)
    elif isinstance(value, str | int | float | bool | np.generic | None) or hasattr(value, "_serialize"):
        take(repr(value).encode())
    elif isinstance(value, set | frozenset):
        _feed(take, sorted(value, key=repr), seen)
    else:
        _feed_object(take, value, seen)


def _feed_object(take: Callable[[bytes], None], value: Any, seen: set[int]) -> None:
    """Feed an object of a program, such as one whose method makes elements: its kind, and what it holds by now."""
    kind = value if isinstance(value, type) else type(value)
    take(kind.__qualname__.encode())
    ours = kind.__module__.partition(".")[0] == __name__.partition(".")[0]  # what it keeps differs from run to run
    if kind is value or ours or isinstance(value, ModuleType) or id(value) in seen or len(seen) > _MOST:
        return
    seen.add(id(value))
    if isinstance(called := inspect.getattr_static(kind, "__call__", None), FunctionType):
        _feed(take, called, seen)
    held = getattr(value, "__dict__", None)
    if held is not None:
        _feed(take, sorted(held.items()), seen)
    elif " at 0x" not in (text := repr(value)):  # a path, a date
        take(text.encode())


def _feed_graph(take: Callable[[bytes], None], graph: Graph, seen: set[int]) -> None:
    """Feed the nodes of a graph, whatever their names are, and what those that make datasets make."""
    number: dict[Value, int] = {}
    for node in graph.nodes:
        take(repr((node.op.name, [number[value] for value in node.inputs])).encode())
        for value in node.outputs:
            number[value] = len(number)
            take(repr((value.aval.dtype.name, value.aval.shape)).encode())
        for key, attr in node.attrs.items():
            if key not in ("name", "recipe"):
                _feed(take, [key, attr], seen)
        if node.op.name == "make_dataset":
            _feed(take, resolve(node.attrs["recipe"]).described, seen)
    take(repr([number[value] for value in graph.outputs]).encode())


def _check(number: int, leaf: TensorSpec, dtype: DType, dims: Iterable[int | None]) -> None:
    """Raise InvalidArgumentError where a component in a file is not as its spec says."""
    if dtype != leaf.dtype:
        wanted, found = message_name(leaf.dtype), message_name(dtype)
        raise invalid(f"Data type mismatch at component {number}: expected {wanted} but got {found}.")
    if not leaf.shape.is_compatible_with(dims):
        wanted, found = format_shape(leaf.shape), format_shape(dims)
        raise invalid(f"Incompatible shapes at component {number}: expected {wanted} but got {found}.")


# ---- records ---------------------------------------------------------------------------------------------------------


def _snappy(path: str, mode: str) -> Any:
    return SnappyWriter(path) if mode == "wb" else SnappyReader(open(path, "rb"))


def _zipped(path: str, mode: str) -> Any:
    return gzip.open(path, mode) if mode == "wb" else io.BufferedReader(gzip.open(path, mode))


class _Deflated(io.FileIO):
    """A file whose bytes zlib packs."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "wb")
        self._deflater = zlib.compressobj()

    def write(self, content: Any) -> int:
        self._put(self._deflater.compress(content))
        return len(content)

    def close(self) -> None:
        try:
            if not self.closed:
                self._put(self._deflater.flush())
                os.fsync(self.fileno())
        finally:
            super().close()

    def _put(self, content: bytes) -> None:
        while content:
            content = content[super().write(content) :]


class _Inflated(Bytes):
    """The bytes of such a file, in their order."""

    def seek(self, at: int) -> None:
        """Stay: records are read one after the other."""


def _deflated(path: str, mode: str) -> Any:
    return _Deflated(path) if mode == "wb" else _Inflated(path, "ZLIB", 1 << 16)


#: Functions that open files, by the name of a compression; names that are none of these compress nothing.
_OPENED: dict[str | None, Callable[[str, str], Any]] = {
    "GZIP": _zipped,
    "SNAPPY": _snappy,
    "ZLIB": _deflated,
}


class _Writer:
    """Writes the elements of a pass as one run below a folder; finished, the metadata say so."""

    def __init__(
        self, folder: str, compression: str | None, types: list[TensorSpec], graph: str = "", spec: bytes = b""
    ) -> None:
        self.folder, self.opened, self.spec = folder, _OPENED.get(compression, open), spec
        self.run = str(secrets.randbits(63))
        self.n, self.finished = 0, False
        self.files: dict[int, Any] = {}
        message = KINDS["SnapshotMetadata"]
        self.metadata = message(graph_hash=graph, run_id=self.run, creation_timestamp=time.time_ns() // 1000, version=2)
        self.metadata.dtype.extend([Enum(enum_name(leaf.dtype)) for leaf in types])

    def write(self, element: Element, shard: int) -> None:
        """Write an element."""
        folder = os.path.join(self.folder, self.run, f"{shard:08d}.shard")
        parts = [framed(_message(part)) for part in element]
        with raising_for(folder):
            file = self.files.get(shard)
            if file is None:
                os.makedirs(folder, exist_ok=True)
                path = os.path.join(folder, "00000000.snapshot")
                file = self.files[shard] = self.opened(path, "wb")
            for part in parts:
                file.write(part)
        self.n += 1

    def close(self) -> None:
        """Close the files."""
        files, self.files = self.files, {}
        with raising_for(self.folder):
            for file in files.values():
                file.close()

    def finish(self) -> None:
        """Make the run be the folder's; its spec lies in it, and beside it where TensorFlow looks."""
        with raising_for(self.folder):
            for file in self.files.values():
                file.flush()
                os.fsync(file.fileno())
            self.close()
            os.makedirs(os.path.join(self.folder, self.run), exist_ok=True)
            beside = os.path.join(self.folder, _SPEC)
            if self.spec:
                _put(os.path.join(self.folder, self.run, _SPEC), self.spec)
                if os.path.exists(beside) and Path(beside).read_bytes() != self.spec:
                    self._put_away(beside)
        self.metadata.num_elements, self.metadata.finalized = self.n, True
        _put(os.path.join(self.folder, _METADATA), self.metadata.SerializeToString())
        if self.spec:
            _put(beside, self.spec)
        self.finished = True

    def _put_away(self, spec: str) -> None:
        """Move the spec of the run before into that run's folder, so that nobody reads one run by another's spec."""
        before = _metadata(self.folder)
        inside = os.path.join(self.folder, before.run_id if before and before.run_id.isdigit() else self.run)
        if os.path.isdir(inside) and not os.path.exists(os.path.join(inside, _SPEC)):
            os.replace(spec, os.path.join(inside, _SPEC))
        else:
            os.unlink(spec)

    def end(self) -> None:
        """Close the files; those of a run that was not finished go."""
        with contextlib.suppress(OpError):  # of a full disk, which was said
            self.close()
        if not self.finished:
            shutil.rmtree(os.path.join(self.folder, self.run), ignore_errors=True)


def _message(part: Any) -> bytes:
    """A component as a TensorProto; of the smallest and of quantized types, which no list of numbers has, the bytes."""
    if part.dtype.is_quantized or part.dtype.name.startswith(_NARROW):
        found: bytes = serialize_tensor(part).numpy()
        return found
    return tensor_message(part).SerializeToString()


def _put(path: str, content: bytes) -> None:
    """Write a file that is there whole or not at all."""
    beside = f"{path}.{secrets.randbits(63)}"
    with raising_for(path):
        try:
            with open(beside, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise


class Saved(Source):
    """The elements; each pass writes them below a path. Source: tf.data.Dataset.save."""

    name = "_SaveDataset"

    def __init__(self, source: Source, *, path: str, compression: str | None, shard: Any) -> None:
        self.source, self.spec, self.path, self.compression, self.shard = source, source.spec, path, compression, shard

    def elements(self, run: Run) -> Iterator[Element]:
        with raising_for(self.path):
            os.makedirs(self.path, exist_ok=True)
        spec = encoded(self.spec).SerializeToString()
        writer = _Writer(self.path, self.compression, tensor_specs(self.spec), spec=spec)
        try:
            for element in self.source.elements(run):
                writer.write(element, 0 if self.shard is None else self.shard(element))
                yield element
            writer.finish()
        finally:
            writer.end()


def saved(path: str, spec: Any, compression: str | None, wait: bool) -> tuple[Any, int, list[Any]]:
    """Return spec, number of elements and shards of what `save` has written. Raises NotFoundError where nothing is."""
    while True:
        metadata = _metadata(path)
        if metadata is not None or not wait:
            break
        time.sleep(_AGAIN)
    name = os.path.join(path, "" if metadata is None else metadata.run_id, _SPEC)
    if metadata is None or not metadata.run_id.isdigit() or not os.path.exists(name):  # TensorFlow's
        name = os.path.join(path, _SPEC)
    if spec is None:
        if not os.path.exists(name):
            raise NotFoundError(None, None, f"tf.data snapshot element_spec file not found: {name}.")
        spec = _understood(name, lambda content: decoded(KINDS["StructuredValue"].FromString(content)))
    if metadata is None:
        raise NotFoundError(None, None, f"Could not find metadata file [{os.path.join(path, _METADATA)}]")
    return spec, metadata.num_elements, shards_of(path, metadata, spec, compression)


def _metadata(path: str) -> Any:
    """Return the metadata below a path, None if there are none."""
    name = os.path.join(path, _METADATA)
    return _understood(name, KINDS["SnapshotMetadata"].FromString) if os.path.exists(name) else None


def _understood(path: str, what: Callable[[bytes], Any]) -> Any:
    """Return what a file says. Raises DataLossError where it says nothing."""
    with raising_for(path):
        content = Path(path).read_bytes()
    try:
        return what(content)
    except (ValueError, NotImplementedError) as error:
        raise DataLossError(None, None, f"{path}: {error}") from None


def shards_of(path: str, metadata: Any, spec: Any, compression: str | None) -> list[Any]:
    """Return the shards of a run. Raises DataLossError where its name is a path."""
    run = metadata.run_id
    if not run.isdigit():
        raise DataLossError(None, None, f"{run!r} is no run of a snapshot")
    folders = sorted(globs.glob(os.path.join(globs.escape(os.path.join(path, run)), "*.shard")))
    return [Shard(folder, spec, compression) for folder in folders]


class Shard(Source):
    """The elements in the files of one folder."""

    name = "_SnapshotDatasetReader"

    def __init__(self, folder: str, spec: Any, compression: str | None) -> None:
        self.folder, self.spec, self.compression = folder, spec, compression

    def elements(self, run: Run) -> Iterator[Element]:
        types = tensor_specs(self.spec)
        n = len(types)
        files = sorted(globs.glob(os.path.join(globs.escape(self.folder), "*.snapshot")))
        if not files:
            first = os.path.join(self.folder, "00000000.snapshot")
            raise NotFoundError(None, None, f"{first}; No such file or directory: the elements of this shard are lost")
        records = itertools.chain.from_iterable(_Records(path, self.compression) for path in files)
        for parts in iter(lambda: list(itertools.islice(records, n)), []):
            if len(parts) < n:
                raise DataLossError(None, None, f"{self.folder}: an element has {len(parts)} of {n} components")
            try:
                element = tuple([tensor_of(TensorProto.FromString(part)) for part in parts])
            except (ValueError, NotFoundError) as error:
                raise DataLossError(None, None, f"{self.folder}: {error}") from None
            for i, (part, leaf) in enumerate(zip(element, types, strict=True)):
                _check(i, leaf, part.dtype, part.shape)
            yield element


class _Records(RecordIterator):
    """The records of a file that may be compressed."""

    def __init__(self, path: str, compression: str | None) -> None:
        super().__init__(path)
        if compression in _OPENED:
            self._file.close()
            self._file: Any = _OPENED[compression](path, "rb")

    def __next__(self) -> bytes:
        try:
            found: bytes = super().__next__()
        except UnknownError as error:  # what gzip says of damage, with the path
            raise DataLossError(None, None, error.message) from None
        except (EOFError, OSError, zlib.error) as error:
            raise DataLossError(None, None, f"{self.path}: {error}") from None
        return found


# ---- snapshots -------------------------------------------------------------------------------------------------------


def interleaved(shards: Any) -> Any:
    """The elements of shards by turns, as they are read where the user says nothing."""
    return shards.interleave(lambda shard: shard, os.cpu_count() or 1)


class Snapshot(Source):
    """The elements, kept by the first whole pass, read by those after it. Source: tf.data.Dataset.snapshot."""

    name = "_SnapshotDataset"
    aside = (*Source.aside, "path")  # where it is, which is known once it is asked for

    def __init__(
        self, source: Source, *, folder: str, compression: str | None, shard: Any, again: Any, mapped: tuple[Any, Any]
    ) -> None:
        self.source, self.spec, self.folder = source, source.spec, folder
        self.mapped = mapped  # what reads shards, and chooses them
        self.compression = "SNAPPY" if compression == "AUTO" else compression
        self.shard, self.again = shard, again

    @cached_property
    def path(self) -> str:
        """The folder of its runs, known when the source is: some are made when a graph runs."""
        return os.path.join(self.folder, str(fingerprint_of(self.source)))

    def elements(self, run: Run) -> Iterator[Element]:
        metadata = _metadata(self.path)
        if metadata is not None and metadata.finalized:
            shards = shards_of(self.path, metadata, self.spec, self.compression)
            return self.again(shards).elements(run)
        return _Written(self, run)

    def cardinality(self) -> int:
        return self.source.cardinality()


class _Written(Iterator[Element]):
    """A pass that writes what it gives."""

    def __init__(self, snapshot: Snapshot, run: Run) -> None:
        self.left, self.shard = snapshot.source.elements(run), snapshot.shard
        name = os.path.basename(snapshot.path)
        self.writer = _Writer(snapshot.path, snapshot.compression, tensor_specs(snapshot.spec), name)
        self.ended, self.last = False, snapshot.cardinality()
        self.turns = itertools.cycle(range(os.cpu_count() or 1))  # without a function of the user's, as TensorFlow

    def __next__(self) -> Element:
        element = next(self.left, None)
        if element is not None:
            self.writer.write(element, next(self.turns) if self.shard is None else self.shard(element))
        if not self.ended and (element is None or self.writer.n == self.last):  # who knows it does not ask for one more
            self.ended = True
            self.writer.finish()
        if element is None:
            raise StopIteration
        return element

    def __del__(self) -> None:
        self.writer.end()


# ---- caches ----------------------------------------------------------------------------------------------------------


_TOGETHER = 1 << 20  # bytes of elements that are read at once
_MANY = 1024  # elements


class _Run(NamedTuple):
    """Elements that lie alike in a file, `stride` bytes apart: of each component the first and the last entry, and the
    checksums. Without them, elements that are read one by one."""

    first: int
    end: int
    stride: int
    ends: list[tuple[PlainEntry, PlainEntry]]
    crcs: list[Array]


class FileCache(Source):
    """The elements that the first whole pass wrote to a bundle. Source: tf.data.Dataset.cache."""

    name = "CacheDataset"
    aside = (*Source.aside, "_opened")

    def __init__(self, source: Source, *, path: str) -> None:
        self.source, self.spec, self.path = source, source.spec, path
        self.types = tensor_specs(source.spec)
        # The last pass's knowledge of the index: its mark, the reader, the runs of elements that lie alike.
        self._opened: tuple[Any, BundleReader, list[_Run]] | None = None

    def key(self, number: int, component: int) -> str:
        """Return under which name a component of an element is kept."""
        return f"{number:7d}_{component:{len(str(len(self.types)))}d}"

    def at_once(self) -> list[Source]:
        return [] if os.path.exists(f"{self.path}.index") else [self.source]

    def elements(self, run: Run) -> Iterator[Element]:
        if self.at_once():
            return _Kept(self, run)
        return itertools.chain.from_iterable(zip(*columns, strict=True) for columns in self._kept())

    def table(self, run: Run) -> Table | None:
        return None if self.at_once() or not self.types else table_of(self._kept())

    def _kept(self) -> Iterator[tuple[Any, ...]]:
        """Go over the elements, as many at a time as lie alike in the file: as tensors of columns."""
        index = os.stat(f"{self.path}.index")
        mark = index.st_ino, index.st_mtime_ns, index.st_size
        known, self._opened = self._opened, None  # passes at the same time have a reader each
        if known is None or known[0] != mark:
            known = mark, BundleReader(self.path), []
        _, reader, runs = known
        with reader:
            for i in itertools.count():
                if i == len(runs):
                    runs.append(self._run(reader, runs[-1].end if runs else 0))
                if runs[i].end == runs[i].first:
                    self._opened = known
                    return
                for columns in self._read(reader, runs[i]):
                    pairs = zip(columns, self.types, strict=True)
                    yield tuple([from_array(column, leaf.dtype, False) for column, leaf in pairs])

    def _run(self, reader: BundleReader, first: int) -> _Run:
        """Find how far the elements from `first` on lie alike."""
        found: list[list[PlainEntry | None]] = []
        stride = size = 0
        for number in itertools.count(first):
            if self.key(number, 0) not in reader:
                break
            entries = [reader.plain(self.key(number, i)) for i in range(len(self.types))]
            if found and (None in found[0] or None in entries):
                break
            if found:
                ahead = {new.offset - old.offset for old, new in zip(found[-1], entries, strict=True)}  # type: ignore[union-attr]
                kinds = [[each[:3] + each[4:5] for each in row] for row in (found[0], entries)]  # type: ignore[index]
                one_file = len({kind[2] for kind in kinds[1]}) == 1
                step, *others = ahead
                if others or step <= 0 or kinds[0] != kinds[1] or not one_file or step != (stride or step):
                    break
                stride = step
                size += step
            if size > _TOGETHER or len(found) == _MANY:
                break
            found.append(entries)
        if len(found) < 2:
            return _Run(first, first + len(found), 0, [], [])
        columns: Any = list(zip(*found, strict=True))
        crcs = [np.array([entry.crc32c for entry in column], np.uint32) for column in columns]
        return _Run(first, first + len(found), stride, [(column[0], column[-1]) for column in columns], crcs)

    def _read(self, reader: BundleReader, run: _Run) -> Iterator[list[Any]]:
        """Read a run at once; one that is damaged element by element, up to the damage."""
        n = run.end - run.first
        for i, leaf in enumerate(self.types if run.ends else ()):  # whose elements are all alike
            _check(i, leaf, *reader.dtype_and_shape(self.key(run.first, i)))
        if run.ends:
            key = self.key(run.first, 0)
            first = min([first for first, _ in run.ends], key=lambda entry: entry.offset)
            last = max([last for _, last in run.ends], key=lambda entry: entry.offset + entry.size)
            block = reader.bytes_of(first, last, key)
            columns = []
            for (entry, _), crcs, leaf in zip(run.ends, run.crcs, self.types, strict=True):
                at, dtype = entry.offset - first.offset, leaf.dtype.numpy_dtype
                if not np.array_equal(checksums(block, at, n, entry.size, run.stride), crcs):
                    break
                if entry.size != dtype.itemsize * int(np.prod(entry.dims)):
                    break
                rows = np.ndarray(
                    (n, *entry.dims), dtype, block, at, (run.stride, *np.empty(entry.dims, dtype).strides)
                )
                columns.append(np.ascontiguousarray(rows))
            else:
                yield columns
                return
        for number in range(run.first, run.end):
            for i, leaf in enumerate(self.types):
                _check(i, leaf, *reader.dtype_and_shape(self.key(number, i)))
            yield [reader.read(self.key(number, i))[None] for i in range(len(self.types))]

    def cardinality(self) -> int:
        return self.source.cardinality()


class _Kept(Iterator[Element]):
    """A pass that writes what it gives; once it is through, the cache is there. Beside it lies the mark of the pass."""

    def __init__(self, cache: FileCache, run: Run) -> None:
        self.cache, self.left, self.n, self.last = cache, cache.source.elements(run), 0, cache.cardinality()
        self.mark, self.ours = f"{cache.path}_0.lockfile", False
        self.writer: BundleWriter | None = None
        self.ended = False

    def __next__(self) -> Element:
        if self.ended:
            raise StopIteration
        if self.writer is None:
            self._begin()
        assert self.writer is not None
        element = next(self.left, None)
        if element is None:
            self._finish()
            raise StopIteration
        try:
            for i, part in enumerate(element):
                self.writer.add(self.cache.key(self.n, i), as_array(part), part.dtype)
        except OpError:  # the disk is full: nothing of this pass is kept
            self.ended = True
            self._leave()
            raise
        self.n += 1
        if self.n == self.last:  # who knows it does not ask for one more
            self._finish()
        return element

    def _finish(self) -> None:
        assert self.writer is not None
        self.ended = True
        try:
            self.writer.finish()
        finally:
            self._leave()

    def _begin(self) -> None:
        with raising_for(self.mark):
            os.makedirs(os.path.dirname(self.mark) or ".", exist_ok=True)
        try:
            with raising_for(self.mark), open(self.mark, "x") as file:
                self.ours = True
                file.write(f"Created at: {int(time.time())}")
            self.writer = BundleWriter(self.cache.path)
        except AlreadyExistsError:
            self.ended = True
            raise AlreadyExistsError(
                None,
                None,
                "There appears to be a concurrent caching iterator running - cache lockfile already exists "
                f"('{self.mark}')."
                " If you are sure no other computations are using this cache prefix, delete the lockfile and "
                "re-initialize the iterator. [Op:IteratorGetNext]",
            ) from None
        except OpError:
            self._leave()
            raise

    def _leave(self) -> None:
        if self.ours:
            self.ours = False
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.mark)

    def __del__(self) -> None:
        if self.writer is not None and not self.ended:
            self.writer.discard()
        self._leave()
