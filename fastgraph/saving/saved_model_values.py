"""Values of Variables and entries of tables, from the bundle of a SavedModel."""

from __future__ import annotations

from collections.abc import Sequence

from fastgraph.composites.lookup_primitives import Table
from fastgraph.core.tensor import cell_assign, from_array
from fastgraph.errors import InvalidArgumentError
from fastgraph.saving.saved_model_objects import fill_table
from fastgraph.saving.tensor_bundle import BundleReader
from fastgraph.state.variable import Variable


def restore_variable(variable: Variable, reader: BundleReader, key: str) -> None:
    """Give a Variable the value of a key. Raises InvalidArgumentError for another dtype or shape, naming both."""
    dtype, shape = reader.dtype_and_shape(key)
    if dtype != variable.dtype or not variable.shape.is_compatible_with(shape):
        raise InvalidArgumentError(
            None, None,
            f"{key}: a {dtype.name} tensor of shape {shape} is saved for the Variable {variable.name}, which has "
            f"dtype {variable.dtype.name} and shape {variable.shape}",
        )  # fmt: skip
    value = from_array(reader.read(key), dtype)
    if variable._copies:  # of sums each gets its part
        variable.assign(value)
    else:
        cell_assign(variable.__fg_cell__, value)


def restore_table(table: Table, reader: BundleReader, keys: Sequence[str]) -> None:
    """Give a table the entries that were saved for it."""
    base = next((key for key in keys if f"{key}-keys" in reader and f"{key}-values" in reader), None)
    if base is None:
        return
    fill_table(table, reader.read(f"{base}-keys"), reader.read(f"{base}-values"))
