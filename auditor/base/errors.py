"""Exceptions of the auditor, which stop a call.

An invalid object does not raise: it gives Findings. A value that cannot be read gives an Unreadable. These exceptions
stop a call: a file that is not a dump, a schema that no server would serve, a selector that does not parse. Every
exception holds data, compares by value, survives pickling, and says where, what was found, what was expected and what
to do.
"""

from __future__ import annotations

import errno
import os
from typing import ClassVar, Final

_REFUSALS: Final = frozenset({
    errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.EISDIR, errno.ELOOP, errno.EMFILE, errno.ENAMETOOLONG, errno.ENFILE,
    errno.ENOENT, errno.ENOMEM, errno.ENOSPC, errno.ENOTDIR, errno.ENXIO, errno.EPERM, errno.EROFS,
})  # fmt: skip
"""Error numbers that a user can repair: permissions, space, names. Any other one may be a bug of the auditor."""
_ENVIRONMENT: Final = _REFUSALS - {
    errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.ENXIO,
}  # fmt: skip
"""Error numbers that do not depend on the name of a file: permission, space, memory."""
_MORE_MEMORY: Final = "raise the limit of memory (--memory, ulimit -v, that of the container), or give --jobs 1"
_STARVED: Final = (
    "failed to map segment from shared object", os.strerror(errno.EAGAIN), os.strerror(errno.ENOMEM),
    "can't start new thread",
)  # fmt: skip
"""Texts of errors without a number, by which the dynamic loader, Python and Arrow report a lack of memory or threads.
"""
_NO_ROOM: Final = frozenset({errno.EDQUOT, errno.EFBIG, errno.ENOSPC})


class AuditorError(Exception):
    """Something that stops a call.

    Args:
        where: The file, key path or text concerned; empty if there is none.
        found: The fault that was found there.
        expected: The correct form; empty if `found` is enough.
        advice: The next step for the user.

    Attributes:
        exit_code: Exit code of a command that this error stops; `docs/guide/exit-codes.md` lists the codes.
    """

    exit_code: ClassVar[int] = 2
    fields: ClassVar[tuple[str, ...]] = ("where", "found", "expected", "advice")

    def __init__(self, where: str, found: str, expected: str = "", advice: str = "") -> None:
        super().__init__(where, found, expected, advice)
        self.where = where
        self.found = found
        self.expected = expected
        self.advice = advice

    def __str__(self) -> str:
        text = f"{self.where}: {self.found}" if self.where else self.found
        if self.expected:
            text += f"; expected {self.expected}"
        if self.advice:
            text += f"; {self.advice}"
        return text

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, AuditorError) and self.args == other.args

    def __hash__(self) -> int:
        return hash((type(self), self.args))


class SourceError(AuditorError):
    """A dump cannot be read as a whole."""


class StoreUnreachable(SourceError):
    """An object store or web server does not answer, or answers with an error."""

    exit_code = 4


class UnknownDump(SourceError):
    """No reader recognises the bytes of a file."""


class DamagedDump(SourceError):
    """A dump of a known format is damaged at a place that its reader cannot skip."""


class ChangedDump(DamagedDump):
    """A dump changed after its keys were read."""


class SchemaError(AuditorError):
    """A CustomResourceDefinition that no server could serve."""


class NotStructural(SchemaError):
    """A schema breaks the rules of structural schemas where serving needs them; `where` is the path in the schema."""


class SelectorError(AuditorError):
    """A field or label selector that the server would refuse; `found` is the server's text."""


class PlanError(AuditorError):
    """The options, folders or kinds of a call do not fit together or do not exist."""


class NotFound(PlanError):
    """The kind, key or object that a command is about does not exist."""

    exit_code = 1


class NotKnown(PlanError):
    """Whether what a command is about exists is not known: part of a dump could not be read."""

    exit_code = 3


class ReportNotWritable(PlanError):
    """The operating system refuses the folder of a report: no permission, no space."""

    exit_code = 4


class Locked(AuditorError):
    """Another run uses the same folder of reports."""

    exit_code = 5


class SqlError(AuditorError):
    """A statement of SQL that is refused, or fails; the text is DuckDB's."""


class UnknownTable(SqlError):
    """A statement names a kind or a table that is not there."""


class DamagedNames(SqlError):
    """A statement names what is not there, where damage may have taken it."""

    exit_code = 3


class EngineError(AuditorError):
    """Worker processes failed."""

    exit_code = 70


class WorkerLost(EngineError):
    """A worker process ended without finishing its shard, twice."""


class ProofRefuted(EngineError):
    """The reference judges an object in another way than the generated code that proved it valid."""


class FileRefused(AuditorError):
    """The operating system refused a file or folder that is needed."""


class EnvironmentRefused(FileRefused):
    """The operating system refused a file or folder for lack of permission, space or memory."""

    exit_code = 4


def is_environment(error: OSError) -> bool:
    """Return whether the system refused a file for lack of permission, space or memory, under any name."""
    return error.errno in _ENVIRONMENT


class TooMuchToReport(Exception):
    """The findings of one object need more memory than allowed. That object alone gets no verdict; it is named."""


class PatternTooSlow(TooMuchToReport):
    """Matching the patterns of an object would take too long. That object alone gets no verdict; it is named."""


def without_frames(error: Exception) -> Exception:
    """Return an error to keep: its frames, which hold the value on which it was raised, are let go."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def refusal(error: BaseException) -> FileRefused | None:
    """Return the message for an error of the operating system, or None if it is another error."""
    if isinstance(error, MemoryError):
        return EnvironmentRefused("", os.strerror(errno.ENOMEM), advice=_MORE_MEMORY)
    library = isinstance(error, ImportError | RuntimeError) or type(error).__module__ == "pyarrow.lib"
    if library and getattr(error, "errno", None) is None and any(text in str(error) for text in _STARVED):
        text = " ".join(str(error).split())
        return EnvironmentRefused("", text, advice=f"{_MORE_MEMORY}; or that of processes and threads (ulimit -u)")
    if not isinstance(error, OSError) or error.errno not in _REFUSALS:
        return None
    where = "" if error.filename is None else os.fsdecode(error.filename)
    advice = "free disk space, or write elsewhere (--report, $TMPDIR)" if error.errno in _NO_ROOM else ""
    if error.errno == errno.ENOMEM:
        advice = _MORE_MEMORY
    kind = EnvironmentRefused if is_environment(error) else FileRefused
    text = os.strerror(error.errno)
    if not where and kind is FileRefused and error.strerror:  # pyarrow names the file in its text
        text = " ".join(str(error.strerror).split())
    return kind(where, text, advice=advice)
