"""The interface of the reader of a format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from auditor.sources.files.helpers import NO_HELPERS, Helpers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from auditor.sources.encryption import Unsealer
    from auditor.sources.files.compression import Limits, Unpacked
    from auditor.sources.files.digest import LateDigests
    from auditor.sources.source_plan import DamageLog, SourcePlan


@dataclass(slots=True)
class Settings:
    """State that all files of one call share, see `auditor.sources.opening.open_source`.

    Attributes:
        digests: Computes the digests of files, which `settle` waits for.
        copied: Whether a copy was read of a database in use.
        helpers: Other processes that read a part of a folder of many files.
    """

    workdir: Path
    limits: Limits
    digests: LateDigests
    salvage: bool = False
    unsealer: Unsealer | None = None
    copied: bool = False
    helpers: Helpers = NO_HELPERS


@dataclass(frozen=True, slots=True)
class DumpFile:
    """One file to read.

    Attributes:
        name: What messages call it.
        path: The file as given; None for a stream.
        plain: The same without compression.
        head: Its first 64 KiB.
        number: Its position among the inputs.
        damage: Damage found while it was unpacked.
    """

    name: str
    path: Path | None
    plain: Unpacked
    head: bytes
    number: int
    damage: DamageLog


@dataclass(frozen=True, slots=True)
class FormatReader:
    """The reader of one format. Its module loads what it needs when it opens a file.

    Attributes:
        form: Its name in `auditor.sources.dump_formats`.
        detect: Takes the path (None if only the head is available) and the first 64 KiB of an uncompressed file, and
            returns whether it has this format.
        open: Reads a file.
        is_text: Whether it accepts any text with the right beginning; it is tried only for files without another known
            format (`refused_file`).
        is_dump: Whether each file of a folder is a separate dump.
    """

    form: str
    detect: Callable[[Path | None, bytes], bool]
    open: Callable[[DumpFile, Settings], SourcePlan]
    is_text: bool = False
    is_dump: bool = True
