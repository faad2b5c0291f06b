"""The Arrow schemas follow the contract: no nested types except string lists and the labels map."""

import pyarrow as pa
import pytest

from auditor.base import tables

FLAT = ["OBJECTS", "FINDINGS", "CHANGES", "VERSIONS", "LIVE_KEYS"]


@pytest.mark.parametrize("name", FLAT)
def test_no_table_nests_anything_but_lists_of_strings(name):
    for column in getattr(tables, name):
        if pa.types.is_nested(column.type):
            assert column.type == pa.list_(pa.string())


def test_index_has_a_string_and_a_typed_column_for_each_field():
    schema = tables.index_schema([("spec.size", "integer"), ("spec.color", "string"), ("spec.on", "boolean")])
    assert schema.field("field:spec.size").type == pa.string()
    assert schema.field("value:spec.size").type == pa.int64()
    assert schema.field("value:spec.color").type == pa.string()
    assert schema.field("value:spec.on").type == pa.bool_()
    assert schema.field("labels").type == pa.map_(pa.string(), pa.string())


def test_metadata_names_tool_release_and_definitions():
    schema = tables.with_metadata(tables.OBJECTS, tool="1", release="v1.37.2", crds="abc")
    assert schema.metadata[b"auditor.table_version"] == tables.TABLE_VERSION.encode()
    assert schema.metadata[b"auditor.crds_sha256"] == b"abc"
