"""Several dumps, reports or folders of tables that one statement asks: each is a schema with its views."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from auditor.releases import active, running_as
from auditor.sql.views import Views, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from auditor.releases import Release
    from auditor.sql.views import View


def views_of_inputs(inputs: Mapping[str, Views]) -> Views:
    """Return the views of several inputs, as SCHEMA.NAME.

    Args:
        inputs: The views of each by the name of its schema; from `under_release`.
    """
    views = [replace(view, space=space) for space, own in inputs.items() for view in own.listed]
    absent = {f"{space}.{name}": why for space, own in inputs.items() for name, why in own.absent.items()}
    return Views(views, absent)


def under_release(views: Views, space: str) -> Views:
    """Return views that are read as the release of Kubernetes that is reproduced now, whichever is when they are read.

    Args:
        views: The views of an input.
        space: Its name, for notes.
    """
    return Views([_view_under(active(), space, view) for view in views.listed], views.absent)


def _view_under(release: Release, space: str, view: View) -> View:
    narrowed = view.narrowed
    return replace(
        view,
        make_schema=partial(_call, release, view.make_schema),
        read=partial(_batches, release, view.read),
        has_rows=None if view.has_rows is None else partial(_call, release, view.has_rows),
        note=view.note and f"{quoted(space)}: {view.note}",
        narrowed=None if narrowed is None else lambda paths: _view_under(release, space, narrowed(paths)),
    )


def _call(release: Release, made: Callable[[], Any]) -> Any:
    with running_as(release):
        return made()


def _batches(
    release: Release, read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    batches = _call(release, partial(read, columns))
    while (batch := _call(release, partial(next, batches, None))) is not None:
        yield batch
