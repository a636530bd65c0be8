"""Classes of libraries that saved models name, so that what is loaded is of the class again.

Rule: an object is written down by the first registration whose predicate holds, and is made by the newest one that both
the writer and the reader know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class VersionedTypeRegistration:
    """One version of how a class is written and read. Source: tf.__internal__.saved_model.load, same name.

    object_factory: makes an object of what was written (`metadata`). min_producer_version, min_consumer_version: the
    oldest versions of writers and readers that it can deal with. setter: sets what the object depends on, by name.
    """

    def __init__(
        self,
        object_factory: Callable[[Any], Any],
        version: int,
        min_producer_version: int,
        min_consumer_version: int,
        bad_consumers: Sequence[int] | None = None,
        setter: Callable[..., None] = setattr,
    ) -> None:
        self.setter, self.version, self.identifier = setter, version, ""
        self._factory = object_factory
        self._min_producer_version, self._min_consumer_version = min_producer_version, min_consumer_version
        self._bad_consumers = list(bad_consumers or ())

    def to_proto(self) -> dict[str, Any]:
        """Return what is written of the version."""
        versions = dict(
            producer=self.version, min_consumer=self._min_consumer_version, bad_consumers=self._bad_consumers
        )
        return dict(identifier=self.identifier, version=versions)

    def from_proto(self, proto: object) -> Any:
        """Return the object of what was written."""
        return self._factory(proto)

    def should_load(self, producer: int, min_consumer: int, bad_consumers: Sequence[int]) -> bool:
        """Return whether what a writer of version `producer` wrote can be read by this version."""
        return (
            producer >= self._min_producer_version
            and self.version >= min_consumer
            and self.version not in bad_consumers
        )


_revived: dict[str, tuple[Callable[[Any], bool], list[VersionedTypeRegistration]]] = {}
_identifiers: list[str] = []


def register_revived_type(
    identifier: str, predicate: Callable[[Any], bool], versions: list[VersionedTypeRegistration]
) -> None:
    """Enter how the objects for which `predicate` holds are written and read.

    Raises AssertionError where there are two versions of one number, or the identifier is taken. Source:
    tf.__internal__.saved_model.load.register_revived_type.
    """
    versions.sort(key=lambda each: each.version, reverse=True)
    if not versions:
        raise AssertionError("Need at least one version of a registered type.")
    numbers = [each.version for each in versions]
    if len(set(numbers)) < len(numbers):
        raise AssertionError(
            f"Got multiple registrations with version {max(numbers, key=numbers.count)} for type {identifier}."
        )
    if identifier in _revived:
        raise AssertionError(f"Duplicate registrations for type '{identifier}'")
    for each in versions:
        each.identifier = identifier
    _revived[identifier] = predicate, versions
    _identifiers.append(identifier)


def registered_identifiers() -> list[str]:
    """Return the identifiers that there are."""
    return [*_identifiers]


def written(value: object) -> VersionedTypeRegistration | None:
    """Return the version by which an object is written; None for what nothing was registered for."""
    for predicate, versions in _revived.values():
        if predicate(value):
            return versions[0]
    return None


def read(
    identifier: str, producer: int, min_consumer: int, bad_consumers: Sequence[int]
) -> VersionedTypeRegistration | None:
    """Return the version by which an object is read; None where there is none."""
    for each in _revived.get(identifier, (None, []))[1]:
        if each.should_load(producer, min_consumer, bad_consumers):
            return each
    return None


def get_setter(proto: Any) -> Callable[..., None] | None:
    """Return what sets the dependencies of an object, as it was written; None for the default."""
    for each in _revived.get(proto.identifier, (bool, []))[1]:
        if each.should_load(proto.version.producer, proto.version.min_consumer, proto.version.bad_consumers):
            return each.setter
    return None
