"""What `restore` returns: whether all that a checkpoint has, or all that a program has, found its counterpart.

Source: TensorFlow's load statuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from fastgraph.saving.bulk_reading import Reading
from fastgraph.saving.object_graph import ObjectGraph, has_values, node_names, variable_of
from fastgraph.saving.restoration import Restoration, alive
from fastgraph.saving.tensor_bundle import BundleReader
from fastgraph.state.tracking import Trackable

_SHOWN = 10  # objects in a message
_NOTHING = "No checkpoint specified (save_path=None); nothing is being restored."


class _LoadStatus:
    """The base of what `restore` returns."""

    def assert_consumed(self) -> Self:
        """Raise AssertionError unless all values and all objects have found each other."""
        raise NotImplementedError

    def assert_existing_objects_matched(self) -> Self:
        """Raise AssertionError for an object that there is and that the checkpoint has no value for."""
        raise NotImplementedError

    def assert_nontrivial_match(self) -> Self:
        """Raise AssertionError if nothing but the root was found."""
        raise NotImplementedError

    def run_restore_ops(self, session: Any = None) -> None:
        """Do nothing: values are restored at once."""

    def initialize_or_restore(self, session: Any = None) -> None:
        """Do nothing: values are restored at once, and Variables have theirs from the beginning."""

    def expect_partial(self) -> Self:
        """Say nothing when values of the checkpoint are left over in the end."""
        return self


class CheckpointLoadStatus(_LoadStatus):
    """What has been restored so far, and what waits. Source: tf.train.Checkpoint.restore."""

    def __init__(self, restoration: Restoration, graph: Callable[[], ObjectGraph], root: Any) -> None:
        self._restoration, self._graph = restoration, graph
        self._root = root  # which must not go while somebody asks

    def assert_consumed(self) -> Self:
        """Raise AssertionError unless all values and all objects have found each other; return the status."""
        self.assert_existing_objects_matched()
        run = self._restoration
        names = node_names(run.message)
        skipped = {s.slot_variable_node_id for node in run.message.nodes for s in node.slot_variables}
        for number, node in enumerate(run.message.nodes):
            if not node.attributes or (run.skip_slots and number in skipped):
                continue
            if run.object_of(number) is None:
                raise AssertionError(f"Unresolved object in checkpoint {names.get(number)}: {node}")
        if run.slots and not run.skip_slots:
            raise AssertionError(f"Unresolved slot restorations: {run.slots}")
        if run.unused:
            rows = [f"{names.get(n)} ({run.object_of(n)}): {attributes}" for n, attributes in run.unused.items()]
            text = "\n".join(rows)
            raise AssertionError(
                "Unused attributes in these objects (the attributes exist in the checkpoint but were not restored):\n"
                f"{text}"
            )
        return self

    def assert_existing_objects_matched(self) -> Self:
        """Raise AssertionError for an object that the checkpoint has no value for; return the status."""
        for value in self._graph().objects:
            self._restoration.see(value)
        unmatched = self._unmatched()
        if unmatched:
            n = min(_SHOWN, len(unmatched))
            raise AssertionError(
                f"Found {len(unmatched)} Python objects that were not bound to checkpointed values, likely due to "
                f"changes in the Python program. Showing {n} of {len(unmatched)} unmatched objects: {unmatched[:n]}"
            )
        return self

    def assert_nontrivial_match(self) -> Self:
        """Raise AssertionError if nothing but the root was found; return the status."""
        for value in self._graph().objects:
            self._restoration.see(value)
        if len(self._restoration.bound()) <= 1:
            unmatched = self._unmatched()
            if unmatched:
                raise AssertionError(
                    "Nothing except the root object matched a checkpointed value. Typically this means that the "
                    "checkpoint does not match the Python program. The following objects have no matching checkpointed "
                    f"value: {unmatched}"
                )
            raise AssertionError(f"Nothing to load. No dependencies have been added to {self._root} yet.")
        return self

    def _unmatched(self) -> list[Any]:
        """The objects with values of their own that no node is bound to."""
        bound = {id(value) for value in self._restoration.bound()}
        seen = [value for held in self._restoration.seen.values() if (value := alive(held)) is not None]
        return [
            value for value in seen if id(value) not in bound and isinstance(value, Trackable) and has_values(value)
        ]

    def expect_partial(self) -> Self:
        """Say nothing when values of the checkpoint are left over in the end; return the status."""
        self._restoration.expect_partial = True
        return self


class InitializationOnlyStatus(_LoadStatus):
    """What `restore(None)` returns: there is no checkpoint. Source: tf.train.Checkpoint.restore."""

    def assert_consumed(self) -> Self:
        """Raise AssertionError."""
        raise AssertionError(_NOTHING)

    def assert_existing_objects_matched(self) -> Self:
        """Raise AssertionError."""
        raise AssertionError(_NOTHING)

    def assert_nontrivial_match(self) -> Self:
        """Raise AssertionError."""
        raise AssertionError(_NOTHING)

    def run_restore_ops(self, session: Any = None) -> None:
        """Raise AssertionError."""
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore)."
        )


class NameBasedSaverStatus(_LoadStatus):
    """What was restored from a checkpoint of TensorFlow 1's, whose keys are the names of Variables."""

    def __init__(self, reader: BundleReader, graph: Callable[[], ObjectGraph]) -> None:
        self._graph = graph
        self._done: set[int] = set()
        self._optional: list[Any] = []
        self._missing: list[str] = []
        reading = Reading(reader)
        steps = []
        for value in graph().objects:
            own = variable_of(value)
            if own is None:
                continue
            if own._shared_name in reader:
                steps.append(reading.variable(own, own._shared_name))
                self._done.add(id(value))
            else:
                self._missing.append(own._shared_name)
        reading.check()
        for step in steps:
            step()

    def add_to_optionally_restored(self, var: Any) -> None:
        """Let a Variable do without a value."""
        self._optional.append(var)

    def assert_consumed(self) -> Self:
        """Raise AssertionError for a Variable without a value in the checkpoint; return the status."""
        for value in self._graph().objects:
            own = variable_of(value)
            if own is not None and id(value) not in self._done and not any(own is each for each in self._optional):
                raise AssertionError(f"Object not restored: {value}")
        return self

    assert_existing_objects_matched = assert_consumed
    assert_nontrivial_match = assert_consumed
