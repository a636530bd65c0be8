"""CRC-32C, the checksum of TensorFlow's files. See crc32c.pyx."""

from typing import Any

def crc32c(content: Any, crc: int = 0) -> int:
    """The CRC-32C of bytes that follow those of which `crc` is the checksum."""

def by_tables(content: Any) -> int:
    """The CRC-32C as CPUs without the instruction compute it: for tests."""

def masked(crc: int) -> int:
    """A checksum as files keep it: turned and moved on, so that checksums of checksums stay good ones."""
