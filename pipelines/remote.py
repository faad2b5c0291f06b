"""What lies in a store, brought here for commands that need files: definitions, reports, and their dumps."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.errors import PlanError
from auditor.sources.stores import expand, is_remote, is_web, remote_file, remote_names, shown_url
from pipelines.report import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipelines.query import QueryOptions

__all__ = ["fetched", "query_here"]


def fetched(paths: Iterable[str], folder: Path) -> Iterator[str]:
    """Yield local copies of what lies in a store, and local paths as they are.

    Args:
        paths: Paths, URLs and patterns of them.
        folder: Where copies go.

    Raises:
        SourceError: Something is not there.
    """
    for number, given in enumerate(paths):
        if not is_remote(given):
            yield given
            continue
        for position, match in enumerate(expand(given)):
            there = remote_file(match.path)
            target = folder / f"{number}-{position}" / _last_part(match.path)
            target.parent.mkdir(parents=True)
            if there.is_folder():
                there.copy_folder_to(target)
            else:
                there.copy_to(target)
            yield str(target)


def _last_part(url: str) -> str:
    name = shown_url(url).rstrip("/").rpartition("/")[2].replace("\0", "")
    return name if name not in {"", ".", ".."} else "copy"


@contextmanager
def query_here(options: QueryOptions) -> Iterator[QueryOptions]:
    """Yield options whose report, definitions and dumps of a report are local.

    A dump that is asked itself stays where it is: whoever opens it can read it from its store.
    """
    given = (options.target, *options.dumps, *options.crds)
    if not any(is_remote(path) for path in given):
        yield options
        return
    with tempfile.TemporaryDirectory(prefix="auditor-store-") as workdir:
        folder = Path(workdir)
        target = options.target
        if is_remote(target) and not is_web(target) and MANIFEST in remote_names(target):
            (target,) = fetched([target], folder / "report")
        dumps = tuple(fetched(options.dumps, folder / "dumps"))
        if len(dumps) != len(options.dumps):
            raise PlanError("--dump", "a pattern names several dumps", "each by itself")
        yield replace(options, target=target, dumps=dumps, crds=tuple(fetched(options.crds, folder / "crds")))
