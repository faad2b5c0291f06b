"""Definitions and objects for the tests of rules."""

import json

import auditor
from tests.documents import named_definition


def definition(schema, **spec):
    """Return a definition of Foo in g.io whose `spec` has a schema."""
    found = named_definition("foos.g.io", "Foo", {"type": "object", "properties": {"spec": schema}})
    found["spec"].update(spec)
    return found


def foo(spec, name="a"):
    """Return an object of it."""
    return {
        "apiVersion": "g.io/v1",
        "kind": "Foo",
        "metadata": {"name": name, "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "spec": spec,
    }


def messages(schema, spec):
    """Return what the server says to an object."""
    catalog = auditor.CrdCatalog.from_documents([definition(schema)])
    audited = auditor.audit_object(catalog, json.dumps(foo(spec)).encode())
    assert audited.unreadable is None
    return [finding.message for finding in audited.findings]


def update_messages(schema, old, new):
    """Return what the server says to an update."""
    catalog = auditor.CrdCatalog.from_documents([definition(schema)])
    objects = [json.dumps(foo(each)).encode() for each in (old, new)]
    return [finding.message for finding in auditor.check_update(catalog, *objects).findings]
