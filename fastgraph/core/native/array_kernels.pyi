"""Rows combined by their numbers, different elements, many small systems, checksums, strings. See array_kernels.pyx."""

from typing import Any

import numpy as np

def fourier_kernel(what: int, is_double: bool) -> int:
    """Return the address of a kernel of transforms: complex ones (0), from real numbers (1), to them (2); or 0."""

def combine(how: str, rows: np.ndarray[Any, Any], ids: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> bool:
    """Combine each row of x with the row whose number it has, in order; False where NumPy must."""

def jpeg_colors(pixels: np.ndarray[Any, Any], across: int, down: int, /) -> None:
    """Write over Y, Cb, Cr, of which the latter repeat across and down, what libjpeg shows: interpolated. u8[h, w, 3]."""

def unique(x: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Find where the different elements are first, how often each occurs, and its number for each element."""

def factored(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """L with L L^T = a, or None where LAPACK must find it."""

def solved(a: np.ndarray[Any, Any], x: np.ndarray[Any, Any], turned: bool, /) -> bool:
    """Make x what solves a x' = x, or a's transpose; False, and x is spoilt, where LAPACK must."""

def substituted(a: np.ndarray[Any, Any], x: np.ndarray[Any, Any], lower: bool, turned: bool, /) -> bool:
    """Make x what solves a x' = x for triangular a, or its transpose; False where BLAS must."""

def determinants(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Determinants, or None where LAPACK must find them."""

def greatest(x: np.ndarray[Any, Any], k: int, /) -> np.ndarray[Any, Any] | None:
    """The places of the k greatest of each row, falling, the first of equals first; None where a sort must find them."""

def suppressed(boxes: np.ndarray[Any, Any], most: int, above: float, /) -> np.ndarray[Any, Any]:
    """Return the rows of boxes, the best first, that have no more than `above` in common with one before."""

def converted(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """float16 as float32, float32 as float16: NumPy converts one by one."""

def aligned(
    sure: np.ndarray[Any, Any], lengths: np.ndarray[Any, Any], states: np.ndarray[Any, Any],
    skips: np.ndarray[Any, Any], ends: np.ndarray[Any, Any], never: float, gradient: np.ndarray[Any, Any],
) -> np.ndarray[Any, Any]:  # fmt: skip
    """The logarithm of each sample's probability of going through its states; `gradient` less the states' shares."""

def crc32c(content: Any, crc: int = 0, /) -> int:
    """The CRC-32C of bytes that follow those of which `crc` is the checksum."""

def joined_crc(first: int, second: int, n: int, /) -> int:
    """The CRC-32C of bytes and n more by the checksum of each."""

def crc32c_of_file(file: int, at: int, n: int, memory: Any, piece: int, checked: bool, /) -> int:
    """The CRC-32C of n bytes of a file that are read into memory, each piece over the last where it holds fewer."""

def masked(crc: int) -> int:
    """A checksum as files keep it: turned and moved on, so that checksums of checksums stay good ones."""

def fingerprints(words: np.ndarray[Any, Any], kind: int = 0, first: int = 0, second: int = 0, /) -> np.ndarray[Any, Any]:
    """Return fingerprints of strings: FarmHash's (0), SipHash's by two words of key (1), Murmur's by a seed (2)."""

def objects(parts: list[bytes]) -> np.ndarray[Any, Any]:
    """Return strings as an array."""

def split(
    words: np.ndarray[Any, Any], between: bytes
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return where the parts of strings between separators (or white space) are, the parts, and how many each has."""

def joined(
    words: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any], n: int, between: bytes, /,
) -> np.ndarray[Any, Any]:
    """Return the strings of each number, one after the other with `between` between them."""

def places(counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the row and the column of each part of rows of so many."""

def cut(words: np.ndarray[Any, Any], pos: int, most: int, /) -> np.ndarray[Any, Any] | None:
    """At most so many bytes of each string from a place on; None if one ends before it."""

def printed(x: np.ndarray[Any, Any], letter: str, precision: int, /) -> list[bytes]:
    """Numbers of 64 bits as C's printf writes them, whatever the locale."""

def lengths(words: np.ndarray[Any, Any], characters: bool, /) -> np.ndarray[Any, Any]:
    """The bytes of each string, or its characters of UTF-8."""

def numbers(words: np.ndarray[Any, Any], real: bool, /) -> np.ndarray[Any, Any] | None:
    """The number that each string says; None if one is not written as C writes numbers."""

def to_base64(words: np.ndarray[Any, Any], pad: bool, /) -> list[bytes]:
    """Each string in base64 for web addresses, filled up to fours or not."""

def from_base64(words: np.ndarray[Any, Any]) -> list[bytes]:
    """Return the bytes that base64 for web addresses stands for. Raises ValueError for what is none."""

def raw(words: np.ndarray[Any, Any], size: int, /) -> np.ndarray[Any, Any]:
    """The bytes of strings, each cut or filled up with zeros to so many."""

def pieces(text: bytes, ends: np.ndarray[Any, Any], /) -> list[bytes]:
    """A text in pieces that end there."""

def windows(
    words: np.ndarray[Any, Any], splits: np.ndarray[Any, Any], widths: tuple[int, ...], between: bytes, left: bytes,
    right: bytes, pads: int, short: bool,
) -> tuple[list[bytes], np.ndarray[Any, Any]]:  # fmt: skip
    """Neighbours of each row joined, and where each row's end."""

def edits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], ends: np.ndarray[Any, Any], /) -> np.ndarray[Any, Any]:
    """Count the insertions, deletions and exchanges that make each row of a one of b, which end there."""

class StringNumbers:
    """Different strings and their numbers, from 0 in order of appearance."""

    def numbers(self, words: np.ndarray[Any, Any], add: bool) -> np.ndarray[Any, Any]:
        """Return the number of each string; new ones get the next ones, or, without `add`, -1."""

    def of_parts(
        self, words: np.ndarray[Any, Any], between: bytes
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the number of each part of strings, -1 of those that are not known, and how many parts each has."""

    def words(self) -> np.ndarray[Any, Any]:
        """Return the strings, by their numbers."""
