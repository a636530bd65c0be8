"""TensorFlow's error classes, and a few of our own that derive from what users already catch.

Rule: every message names the op, what it wanted and what it got. Inside: `InvalidArgumentError(None, None, text)`.
"""

from __future__ import annotations

from typing import Any

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

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int = UNKNOWN, *args: Any) -> None:
        super().__init__(node_def, op, message, error_code, *args)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code
        self._experimental_payloads: dict[Any, Any] = {}

    @property
    def message(self) -> str:
        """The text of the error, without the node."""
        return self._message

    @property
    def op(self) -> Any:
        """The operation that failed, or None."""
        return self._op

    @property
    def error_code(self) -> int:
        """TensorFlow's number of the kind of error."""
        return self._error_code

    @property
    def node_def(self) -> Any:
        """The node that failed, as it would stand in a GraphDef, or None."""
        return self._node_def

    @property
    def experimental_payloads(self) -> dict[Any, Any]:
        """Further details by key; empty here."""
        return self._experimental_payloads

    def __str__(self) -> str:
        return self._message

    def __reduce__(self) -> tuple[Any, ...]:
        # Nodes and ops belong to a graph of this process; the text is what another process can use.
        if type(self) is OpError:
            return OpError, (None, None, self._message, self._error_code)
        return type(self), (None, None, self._message)


class CancelledError(OpError):
    """The operation was cancelled."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, CANCELLED, *args)


class UnknownError(OpError):
    """An error of no known kind."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, UNKNOWN, *args)


class InvalidArgumentError(OpError):
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

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, INVALID_ARGUMENT, *args)


class DeadlineExceededError(OpError):
    """A deadline passed before the operation was complete."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, DEADLINE_EXCEEDED, *args)


class NotFoundError(OpError):
    """A file, a variable or another thing that was asked for does not exist."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, NOT_FOUND, *args)


class AlreadyExistsError(OpError):
    """What was to be made exists."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, ALREADY_EXISTS, *args)


class PermissionDeniedError(OpError):
    """The caller may not do this."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, PERMISSION_DENIED, *args)


class ResourceExhaustedError(OpError):
    """Memory, or another resource, is used up."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, RESOURCE_EXHAUSTED, *args)


class FailedPreconditionError(OpError):
    """The system is not in the state that the operation needs: a Variable read after it is gone."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, FAILED_PRECONDITION, *args)


class AbortedError(OpError):
    """The operation was given up, and may be tried again."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, ABORTED, *args)


class OutOfRangeError(OpError):
    """An iterator or a file has come to its end."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, OUT_OF_RANGE, *args)


class UnimplementedError(OpError):
    """The op exists, but not for this device, dtype or form."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, UNIMPLEMENTED, *args)


class InternalError(OpError):
    """Something that must hold inside fastgraph does not: a defect of fastgraph."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, INTERNAL, *args)


class UnavailableError(OpError):
    """A part of the runtime cannot be reached at this time."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, UNAVAILABLE, *args)


class DataLossError(OpError):
    """Data on disk is damaged or cut short."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, DATA_LOSS, *args)


class UnauthenticatedError(OpError):
    """The request carries no valid credentials."""

    def __init__(self, node_def: Any, op: Any, message: str, *args: Any) -> None:
        super().__init__(node_def, op, message, UNAUTHENTICATED, *args)


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


_CLASS_OF_CODE = {
    CANCELLED: CancelledError,
    UNKNOWN: UnknownError,
    INVALID_ARGUMENT: InvalidArgumentError,
    DEADLINE_EXCEEDED: DeadlineExceededError,
    NOT_FOUND: NotFoundError,
    ALREADY_EXISTS: AlreadyExistsError,
    PERMISSION_DENIED: PermissionDeniedError,
    RESOURCE_EXHAUSTED: ResourceExhaustedError,
    FAILED_PRECONDITION: FailedPreconditionError,
    ABORTED: AbortedError,
    OUT_OF_RANGE: OutOfRangeError,
    UNIMPLEMENTED: UnimplementedError,
    INTERNAL: InternalError,
    UNAVAILABLE: UnavailableError,
    DATA_LOSS: DataLossError,
    UNAUTHENTICATED: UnauthenticatedError,
}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Return the class of the errors with TensorFlow's number `error_code`. Raises KeyError for another number."""
    return _CLASS_OF_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Return TensorFlow's number of the error class `cls`, UNKNOWN for a class that is not one of them."""
    return next((code for code, known in _CLASS_OF_CODE.items() if known is cls), UNKNOWN)


def __dir__() -> list[str]:
    return [name for name in globals() if not name.startswith("_") and name not in ("Any", "annotations")]
