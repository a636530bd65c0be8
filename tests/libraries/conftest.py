"""Keras's own tests are run by their own conftest (keras_root), in processes of theirs: it is no part of this run."""

collect_ignore = ["keras_root"]
