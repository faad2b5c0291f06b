"""The table of readers: each format is detected by one reader, in a fixed order."""

from __future__ import annotations

import subprocess
import sys

import pytest

from auditor.sources.detect import form_of
from auditor.sources.dump_formats import FORMATS
from auditor.sources.readers import READERS

HEADS = {
    "bolt": b"\0" * 16 + b"\xed\xda\x0c\xed" + b"\0" * 100,
    "sqlite": b"SQLite format 3\0" + b"\0" * 100,
    "kine-text": b"id,name,deleted,value\n1,/registry/a,0,7b7d\n",
    "etcdctl": b'{"header":{"cluster_id":1},"kvs":[]}',
    "manifests": b"apiVersion: v1\nkind: ConfigMap\n",
}


@pytest.mark.parametrize("form", READERS)
def test_a_file_is_detected_by_its_own_reader_first(form):
    assert form_of(None, HEADS[form]) == form
    assert READERS[form].detect(None, HEADS[form])


def test_every_form_of_a_format_has_a_reader():
    assert {each.form for each in FORMATS.values() if each.form} == set(READERS)


def test_a_refused_file_is_offered_to_no_reader_of_texts():
    assert form_of(None, b"<html>apiVersion: v1\nkind: ConfigMap\n</html>") == ""


def test_the_table_loads_no_reader():
    """A database is hashed while the modules that walk it are loaded."""
    heavy = (
        "auditor.sources.kine.sqlite",
        "auditor.sources.kine.table_text",
        "auditor.sources.manifests.manifest_table",
        "yaml",
    )
    code = f"import sys, auditor.sources.readers; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
