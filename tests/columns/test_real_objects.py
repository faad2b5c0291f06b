"""Rows of the objects of real servers and of real definitions, of every kind, hold what the exact read gives."""

from __future__ import annotations

from unittest import mock

import pytest

from auditor.columns import KindColumns, TableRow
from auditor.crds.definition import parse_definition
from auditor.printing.discovery import stored_kinds
from auditor.server import kind_batches
from auditor.server.kind_batches import kind_part, kind_parts
from auditor.server.object_reader import ReadMode
from auditor.sources.crd_files import read_crd_documents
from auditor.storage_read.read import read_object
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import open_store
from tests.benchmarks.drawn import drawn_lines
from tests.columns.restoring import unlike
from tests.corpus import real_definitions
from tests.shared import at_least, shared

DUMPS = {"kube/tornb.db.gz": 60, "kube/oldapis.db.gz": 60, "upgrade/snapshot.db.gz": 60}
"""Snapshots of whole servers, and how many objects at least can be read in each."""


@pytest.mark.parametrize("stored", [False, True], ids=["read", "stored"])
@pytest.mark.parametrize("name", DUMPS)
def test_rows_of_a_server_hold_its_objects(name, stored):
    objects = unread = 0
    options = QueryOptions(str(shared("golden") / name), mode=ReadMode(stored=stored, show_secrets=True))
    with open_store(options, lambda _: None) as store:
        for resource in stored_kinds(store.discovery):
            (part,) = kind_parts(store, resource)
            for rows in part.batches_of_rows():
                assert unlike(part.columns, [row.object for row in rows if row.object is not None]) == [], resource
                exact = part.columns.exact_batch(rows)
                assert part.columns.batch(rows).equals(exact)
                with mock.patch.object(kind_batches, "ENOUGH_FOR_RECORDS", 1):
                    (recorded,) = kind_part(store, resource).batches_of_rows(len(rows), table=part.columns)
                assert part.columns.batch(recorded).equals(exact)
                objects += sum(row.object is not None for row in rows)
                unread += sum(row.object is None for row in rows)
    assert objects >= DUMPS[name]
    assert unread < objects


@pytest.mark.slow
@pytest.mark.parametrize("invalid", [0.0, 0.5])
def test_rows_of_drawn_objects_of_real_kinds_hold_them(invalid):
    documents = [one for one in read_crd_documents([str(real_definitions())]) if "v1beta1" not in one["apiVersion"]]
    objects = kinds = with_rest = 0
    for document in documents[:80]:
        definition = parse_definition(document)
        version = definition.storage_version
        if version is None or version.structural is None:
            continue
        kind = f"{definition.kind}.{version.name}.{definition.group}=1"
        lines = list(drawn_lines([document], kind, 120, pool=120, invalid=invalid))
        read = [result.object for line in lines if (result := read_object(definition, version.name, line)).object]
        columns = KindColumns.of(definition)
        assert unlike(columns, read) == [], definition.name
        rows = [TableRow(object=obj) for obj in read]
        batch = columns.batch(rows)
        assert batch.equals(columns.exact_batch(rows))
        objects, kinds = objects + len(read), kinds + 1
        with_rest += len(read) - batch["_rest"].null_count
    assert kinds >= at_least("corpus", 60, 30)
    assert objects > kinds * 100
    assert with_rest < objects * (0.02 if not invalid else 0.6)
