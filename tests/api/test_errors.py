"""The error classes: TensorFlow's names, numbers and attributes."""

from __future__ import annotations

import copy
import pickle

import pytest

from fastgraph import errors


@pytest.mark.parametrize("code", range(1, 17))
def test_class_of_each_code(code: int) -> None:
    cls = errors.exception_type_from_error_code(code)
    error = cls(None, None, "what happened")  # type: ignore[call-arg]
    assert (str(error), error.message, error.error_code) == ("what happened", "what happened", code)
    assert error.op is None and error.node_def is None and isinstance(error, errors.OpError)
    assert errors.error_code_from_exception_type(cls) == code
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls and str(again) == "what happened"


def test_an_error_that_bears_the_name_of_another_is_pickled_as_what_it_is() -> None:
    error = errors.DtypeMismatchError(None, None, "what happened")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is errors.DtypeMismatchError and str(again) == "what happened"


def test_input_signature_error_is_both() -> None:
    with pytest.raises(ValueError):
        raise errors.InputSignatureError("x")
    with pytest.raises(TypeError):
        raise errors.InputSignatureError("x")


def test_not_built_is_an_attribute_error_too() -> None:
    assert issubclass(errors.NotBuiltError, NotImplementedError) and issubclass(errors.NotBuiltError, AttributeError)
