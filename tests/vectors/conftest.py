"""What the tests of all vector files share."""

import json

import pytest

import auditor
from auditor.sources.crd_files import read_crd_documents
from tests.shared import shared


@pytest.fixture(scope="module")
def catalogs():
    known = {}

    def catalog(case):
        key = case.get("ref") or json.dumps(case["crd"])
        if key not in known:
            documents = (
                [case["crd"]] if "crd" in case else read_crd_documents([str(shared(f"corpus/crds/{case['ref']}"))])
            )
            known[key] = auditor.CrdCatalog.from_documents(documents)
        return known[key]

    return catalog
