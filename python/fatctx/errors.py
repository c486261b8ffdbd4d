"""Exceptions: one class per error code of the library, all of them `fatctx.Error`.

Where Python has a class for the same thing, ours derives from it too, so that ordinary code
(`except FileNotFoundError:`) works without knowing fatctx.
"""

from __future__ import annotations

import errno as _errno
from typing import Optional

from ._core import ErrorCode


class Error(Exception):
    """An error that a failing call of fatctx raises.

    Attributes:
        code: an `ErrorCode`; branch on this or on the class, never on the text.
        message: the complaint alone, without code, rule and offset; `str(error)` is the whole line.
        rule: the rule of docs/format.md that the file breaks ("F16"), or None.
        file_offset: the byte of the container the complaint is about, or None.
        record_id: the record it is about, or None.
        os_error: errno of the system, 0 if none.
    """

    code: ErrorCode = ErrorCode.INTERNAL

    def __init__(self, message: str = "", *, text: Optional[str] = None, rule: Optional[str] = None,
                 file_offset: Optional[int] = None, record_id: Optional[int] = None, os_error: int = 0):
        super().__init__(message)
        self.message = message
        self.rule = rule
        self.file_offset = file_offset
        self.record_id = record_id
        self.os_error = os_error
        self._text = text if text is not None else f"{message} ({self.code.name.lower()})"
        if isinstance(self, OSError):
            self.errno = os_error or None

    def __str__(self) -> str:
        return self._text

    def __reduce__(self):
        fields = (self.message, self._text, self.rule, self.file_offset, self.record_id, self.os_error)
        return (_rebuild, (type(self), *fields))


class Io(Error, OSError):
    """Reading or writing failed; `os_error` says why."""

    code = ErrorCode.IO


class NotFound(Error, KeyError):
    """A record, tensor, unit or file of that name does not exist; the message lists the existing names."""

    code = ErrorCode.NOT_FOUND


class FileNotFound(NotFound, FileNotFoundError):
    """`NotFound` for a path: the system says that the file does not exist."""


class InvalidArgument(Error, ValueError):
    """The caller passed an argument that makes no sense; the message names the allowed values."""

    code = ErrorCode.INVALID_ARGUMENT


class Truncated(Error):
    """The file ends before its contents do."""

    code = ErrorCode.TRUNCATED


class TrailingData(Error):
    """Bytes follow the contents that nothing accounts for."""

    code = ErrorCode.TRAILING_DATA


class BadMagic(Error):
    """The file is not a container."""

    code = ErrorCode.BAD_MAGIC


class Unsupported(Error):
    """The file, record or option needs a newer fatctx."""

    code = ErrorCode.UNSUPPORTED


class Malformed(Error):
    """The file breaks a rule of the format; `rule` and `file_offset` say which and where."""

    code = ErrorCode.MALFORMED


class ChecksumMismatch(Error):
    """Bytes changed since they were written; `record_id` and `file_offset` say where."""

    code = ErrorCode.CHECKSUM_MISMATCH


class LimitExceeded(Error):
    """A number is above a limit of the format."""

    code = ErrorCode.LIMIT_EXCEEDED


class BadReference(Error):
    """A record refers to one that does not exist or has other bytes."""

    code = ErrorCode.BAD_REFERENCE


class NoMatch(Error):
    """No record fits the device; the message has the reason for each."""

    code = ErrorCode.NO_MATCH


class Codec(Error):
    """Packed data cannot be unpacked."""

    code = ErrorCode.CODEC


class SignatureMissing(Error):
    """The policy requires a signature and the file has none."""

    code = ErrorCode.SIGNATURE_MISSING


class SignatureBad(Error):
    """The signature does not fit the file or the keys."""

    code = ErrorCode.SIGNATURE_BAD


class Rollback(Error):
    """The file is older than the policy allows."""

    code = ErrorCode.ROLLBACK


class NotRegularFile(Error, OSError):
    """The path names a folder, a pipe or a device."""

    code = ErrorCode.NOT_REGULAR_FILE


class Changed(Error):
    """The file changed while it was read."""

    code = ErrorCode.CHANGED


class MappingLost(Error):
    """Mapped pages can no longer be read; the file was truncated or its storage is gone."""

    code = ErrorCode.MAPPING_LOST


class RemoteFilesystem(Error, OSError):
    """`require_local` is set and the file is stored on a network or FUSE filesystem."""

    code = ErrorCode.REMOTE_FILESYSTEM


class Locked(Error, BlockingIOError):
    """Another process is writing the file."""

    code = ErrorCode.LOCKED


class Exists(Error, FileExistsError):
    """A file, record or key of that name already exists."""

    code = ErrorCode.EXISTS


class CommitUnknown(Error, OSError):
    """The write may or may not have become durable; look before doing it again."""

    code = ErrorCode.COMMIT_UNKNOWN


class NoSpace(Error, OSError):
    """The filesystem is full."""

    code = ErrorCode.NO_SPACE


class NoResource(Error, OSError):
    """The system refuses a map, a descriptor or another resource."""

    code = ErrorCode.NO_RESOURCE


class StaleHandle(Error, OSError):
    """The file behind a descriptor is gone."""

    code = ErrorCode.STALE_HANDLE


class Cancelled(Error):
    """The caller cancelled the work."""

    code = ErrorCode.CANCELLED


class OutOfMemory(Error, MemoryError):
    """Memory or address space ran out."""

    code = ErrorCode.OUT_OF_MEMORY


class Internal(Error):
    """A mistake in fatctx; please report it."""

    code = ErrorCode.INTERNAL


class OperationNotPermitted(Error, PermissionError):
    """The system or the file's state forbids the operation."""

    code = ErrorCode.OPERATION_NOT_PERMITTED


class SerialiseFailed(Error):
    """A description cannot be written."""

    code = ErrorCode.SERIALISE_FAILED


class BackendLibraryMissing(Error):
    """A vendor library does not exist."""

    code = ErrorCode.BACKEND_LIBRARY_MISSING


class BackendRestarted(Error):
    """The vendor's run time restarted and lost its state."""

    code = ErrorCode.BACKEND_RESTARTED


class TimedOut(Error, TimeoutError):
    """The work took longer than allowed."""

    code = ErrorCode.TIMED_OUT


class InvalidConfig(Error, ValueError):
    """A configuration contradicts itself."""

    code = ErrorCode.INVALID_CONFIG


class CopyNotAllowed(Error):
    """A view needs a copy and the caller's budget does not allow it; the message has the bytes and the remedy."""

    code = ErrorCode.COPY_NOT_ALLOWED


class NotPresent(Error):
    """The file has only a part of its container, and not the bytes that are needed."""

    code = ErrorCode.NOT_PRESENT


_CLASSES = {cls.code: cls for cls in Error.__subclasses__()}


def _rebuild(cls, message, text, rule, file_offset, record_id, os_error):
    return cls(message, text=text, rule=rule, file_offset=file_offset, record_id=record_id, os_error=os_error)


def _from_library(code: int, message: str, text: str, rule: Optional[str], file_offset: Optional[int],
                  record_id: Optional[int], os_error: int) -> Error:
    """Returns the exception for an error of the C++ library. Called by the extension module."""
    cls = _CLASSES[ErrorCode(code)]
    if cls is NotFound and os_error == _errno.ENOENT:
        cls = FileNotFound
    return _rebuild(cls, message, text, rule, file_offset, record_id, os_error)


__all__ = ["ErrorCode", "Error", "FileNotFound", *sorted(cls.__name__ for cls in _CLASSES.values())]
