"""TensorFlow's error classes, and a few of our own that derive from what users already catch.

Rule: every message names the op, what it wanted and what it got. Inside: `InvalidArgumentError(None, None, text)`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from fastgraph.core.base.read_only import ReadOnly

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """The base of the errors raised while an op runs.

    `node_def` and `op` say which op of a graph failed (None in eager mode), `error_code` is TensorFlow's number.
    Source: tf.errors.OpError.
    """

    def __init__(self, node_def: object, op: object, message: str, error_code: int = UNKNOWN, *args: Any) -> None:
        super().__init__(node_def, op, message, error_code, *args)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code
        self._experimental_payloads: dict[Any, Any] = {}

    message = ReadOnly[str]("_message", "The text of the error, without the node.")
    op = ReadOnly[Any]("_op", "The operation that failed, or None.")

    error_code = ReadOnly[int]("_error_code", "TensorFlow's number of the kind of error.")
    node_def = ReadOnly[Any]("_node_def", "The node that failed, as it would stand in a GraphDef, or None.")

    experimental_payloads = ReadOnly[dict[Any, Any]]("_experimental_payloads", "Further details by key; empty here.")

    def __str__(self) -> str:
        return self._message

    def __reduce__(self) -> tuple[Any, ...]:
        # Nodes and ops belong to a graph of this process; the text is what another process can use.
        if type(self) is OpError:
            return OpError, (None, None, self._message, self._error_code)
        return type(self), (None, None, self._message)


class _CodedError(OpError):
    """The base of the errors of one code each."""

    _code: ClassVar[int]

    def __init__(self, node_def: object, op: object, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, self._code, *args)


class CancelledError(_CodedError):
    """The operation was cancelled."""

    _code = CANCELLED


class UnknownError(_CodedError):
    """An error of no known kind."""

    _code = UNKNOWN


class InvalidArgumentError(_CodedError):
    """An op was given an argument that it can never take.

    Args:
        node_def: The NodeDef of the op, or None.
        op: The op of the graph, or None.
        message: What was wrong.
        args: Further parts of the error.

    Examples:
        >>> try:
        ...     tf.reshape([1, 2, 3], [2, 2])
        ... except tf.errors.InvalidArgumentError as error:
        ...     print(error.error_code == tf.errors.INVALID_ARGUMENT, "3 values" in error.message)
        True True
    """

    _code = INVALID_ARGUMENT


class DeadlineExceededError(_CodedError):
    """A deadline passed before the operation was complete."""

    _code = DEADLINE_EXCEEDED


class NotFoundError(_CodedError):
    """A file, a variable or another thing that was asked for does not exist."""

    _code = NOT_FOUND


class AlreadyExistsError(_CodedError):
    """Something that was to be made exists already."""

    _code = ALREADY_EXISTS


class PermissionDeniedError(_CodedError):
    """The caller may not do this."""

    _code = PERMISSION_DENIED


class ResourceExhaustedError(_CodedError):
    """Memory, or another resource, is used up."""

    _code = RESOURCE_EXHAUSTED


class FailedPreconditionError(_CodedError):
    """The system is not in the state that the operation needs: a Variable read after it is gone."""

    _code = FAILED_PRECONDITION


class AbortedError(_CodedError):
    """The operation was given up, and may be tried again."""

    _code = ABORTED


class OutOfRangeError(_CodedError):
    """An iterator or a file has come to its end."""

    _code = OUT_OF_RANGE


class UnimplementedError(_CodedError):
    """The op exists, but not for this device, dtype or form."""

    _code = UNIMPLEMENTED


class InternalError(_CodedError):
    """Something that must hold inside fastgraph does not: a defect of fastgraph."""

    _code = INTERNAL


class UnavailableError(_CodedError):
    """A part of the runtime cannot be reached at this time."""

    _code = UNAVAILABLE


class DataLossError(_CodedError):
    """Data on disk is damaged or cut short."""

    _code = DATA_LOSS


class UnauthenticatedError(_CodedError):
    """The request carries no valid credentials."""

    _code = UNAUTHENTICATED


class OperatorNotAllowedInGraphError(TypeError):
    """A symbolic tensor was used where only a value helps (as a Python bool, in a Python loop)."""


class InaccessibleTensorError(ValueError, TypeError):
    """A tensor of another trace, or of a branch or loop body that is over, was used."""


class DtypeMismatchError(InvalidArgumentError, TypeError):
    """An op was given elements of two dtypes where it takes one.

    TensorFlow raises InvalidArgumentError from an op and TypeError from some operators and while tracing; this class
    is both, and has the name that programs look for.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # Its name leads to another class, which a pickle must not find.
        return _dtype_mismatch, (self._message,)


def _dtype_mismatch(message: str) -> DtypeMismatchError:
    return DtypeMismatchError(None, None, message)


DtypeMismatchError.__name__ = DtypeMismatchError.__qualname__ = "InvalidArgumentError"


class MisfitError(InvalidArgumentError, ValueError):
    """Shapes or numbers that are known while a graph is made do not fit an op.

    TensorFlow raises ValueError where one of its shape functions looks at them, and InvalidArgumentError when the graph
    runs where none does; this class is both, and has the name that is the rule there.
    """

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, *args)
        self.args = (message,)  # as a ValueError's

    def __reduce__(self) -> tuple[Any, ...]:
        # Its name leads to another class, which a pickle must not find.
        return _misfit, (self._message,)


def _misfit(message: str) -> MisfitError:
    return MisfitError(None, None, message)


MisfitError.__name__ = MisfitError.__qualname__ = "ValueError"


class InputSignatureError(ValueError, TypeError):
    """Arguments do not fit an `input_signature`.

    TensorFlow raised ValueError for this once and raises TypeError now; this class is both.
    """


class NotBuiltError(NotImplementedError, AttributeError):
    """A public TensorFlow name that fastgraph does not have yet.

    It is an AttributeError too, so that `hasattr` and `getattr` with a default do what they should.
    """


class NotBuiltImportError(NotImplementedError, ImportError):
    """A public module of TensorFlow that fastgraph does not have yet, asked for by an import statement."""


_CLASS_OF_CODE = {cls._code: cls for cls in _CodedError.__subclasses__()}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Return the class of the errors with TensorFlow's number `error_code`. Raises KeyError for another number."""
    return _CLASS_OF_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Return TensorFlow's number of the error class `cls`, UNKNOWN for a class that is not one of them."""
    return next((code for code, known in _CLASS_OF_CODE.items() if known is cls), UNKNOWN)


def __dir__() -> list[str]:
    return [name for name in globals() if not name.startswith("_") and name not in ("Any", "ClassVar", "annotations")]
