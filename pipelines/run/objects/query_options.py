"""The arguments of `auditor query` and of the commands that open a dump or a report as it does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from auditor.printing.get.options import GetOptions
from auditor.server.object_reader import ReadMode

if TYPE_CHECKING:
    from auditor.server.history import Point


@dataclass(slots=True)
class QueryOptions:
    """Arguments of `auditor query` and similar commands.

    Attributes:
        target: A dump, or the folder of a report.
        dumps: New paths of the dumps of a report; empty means the paths in its manifest.
        args: Kinds and names, as after `kubectl get`.
        namespace: Empty for all of them.
        where: CEL predicate.
        explain: Print on standard error how the answer was found.
        max_scan: Fail rather than read more rows of a kind.
        jobs: Worker processes that read objects; None for one a processor if a kind has many.
        save_index: Folder for a report of the dump, whose index then answers the query.
        as_of: Revision or time whose state is queried; None means the newest.
        shown_as: ``read``, ``stored``, or a version.
        clusters: For the report of a fleet: only these clusters; empty for all.
        kubernetes: The requested release; empty for that of a report, or the current one.
        rows_of_other: Read the rows of a report whose dump was overwritten since; else that is an error.
    """

    target: str
    dumps: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    namespace: str = ""
    labels: str = ""
    fields: str = ""
    output: str = ""
    crds: tuple[str, ...] = ()
    etcd_prefix: str = "/registry"
    encryption_config: str = ""
    kms_decryptor: str = ""
    convert_with: str = ""
    shown_as: str = "read"
    as_of: Point | None = None
    clusters: tuple[str, ...] = ()
    kubernetes: str = ""
    rows_of_other: bool = False
    where: str = ""
    explain: bool = False
    max_scan: int | None = None
    jobs: int | None = None
    save_index: str = ""
    mode: ReadMode = field(default_factory=ReadMode)
    get: GetOptions = field(default_factory=GetOptions)
