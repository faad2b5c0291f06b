"""Asks the auditor, as another release, what the libraries of that release answered (`tests.reference.make`)."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import auditor
from auditor.cel.cel_errors import CelError, CompileError
from auditor.cel.cel_types import DYN
from auditor.cel.kubernetes import kubernetes_environment, latest
from auditor.cel.operations.equality import type_of
from auditor.golang import jsontext
from auditor.schema.parse import parse_schema
from auditor.sources.crd_files import read_crd_documents
from auditor.validation.rules import cel_type, declare
from auditor.validation.rules.adapters import Adapters
from tests.reference.libraries import applied
from tests.reference.make import BESIDE, VECTORS, cases_of, recorded_answers, vectors_beside
from tests.reference.test_vectors import shown
from tests.shared import SHARED
from tests.vectors.test_audits import causes, plain

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

Case = dict[str, Any]
BOTH = [path.name for path in sorted(VECTORS.glob("*.json"))], list(BESIDE)


@cache
def suite(name: str) -> dict[str, Any]:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


@cache
def beside(name: str) -> list[Case]:
    return cases_of(vectors_beside(name))


def answered(release: str, name: str) -> Iterator[tuple[Case, Any]]:
    """Yield the cases of a file of vectors, each with what the libraries of a release answered."""
    answers = recorded_answers(release)
    changed, unstable = answers.get(name, {}), answers.get("unstable", {}).get(name, ())
    for case in suite(name)["cases"] if name.endswith(".json") else beside(name):
        if case["name"] in unstable:
            continue
        yield case, applied(case["expect"], changed.get(case["name"]))


def wrong_answers(release: str, name: str) -> tuple[int, dict[str, str]]:
    """Return how many cases there are, and what is wrong with those that the auditor answers in another way."""
    wrong, count = {}, 0
    catalog = auditor.CrdCatalog.from_documents(suite(name).get("definitions", ())) if name.endswith(".json") else None
    for case, expect in answered(release, name):
        count += 1
        found = _difference(case, expect, catalog)
        if found:
            wrong[case["name"]] = found
    return count, wrong


def _difference(case: Case, expect: Any, catalog: auditor.CrdCatalog | None) -> str:
    if "expression" in case:
        return _of_expression(case, expect)
    if "definition" in case:
        return _of_definition(case["definition"], expect)
    if catalog is None and not ("crd" in case or "ref" in case):
        return _of_definition_update(case, expect)
    if "old" in case:
        return _of_update(case, expect, catalog or _catalog(case))
    if "object" in case or "objectText" in case:
        return _of_object(case, expect, catalog or _catalog(case))
    return _of_definition(case["crd"], expect)


def _catalog(case: Case) -> auditor.CrdCatalog:
    return _catalog_of(case.get("ref", ""), json.dumps(case.get("crd")))


@cache
def _catalog_of(ref: str, text: str) -> auditor.CrdCatalog:
    documents = read_crd_documents([str(SHARED / "corpus/crds" / ref)]) if ref else [json.loads(text)]
    return auditor.CrdCatalog.from_documents(documents)


def _bytes(case: Case, key: str) -> bytes:
    given = case[key] if key != "object" or key in case else case["objectText"]
    text = given if isinstance(given, str) else json.dumps(given)
    return text.encode("utf-8", "surrogatepass")


def _findings(found: Any) -> Counter[Any]:
    return causes([{"field": one.field, "type": one.type, "message": one.message} for one in found])


def _unlike(name: str, ours: Counter[Any], theirs: Any) -> str:
    wanted = causes(theirs or ())
    return "" if ours == wanted else f"{name}: ours {dict(ours - wanted)}, the server's {dict(wanted - ours)}"


def _of_object(case: Case, expect: Any, catalog: auditor.CrdCatalog) -> str:
    place = {"resource": case.get("resource"), "version": case.get("version")}
    got = auditor.audit_object(catalog, _bytes(case, "object"), **place)
    unreadable = expect.get("unreadable") or expect.get("readError")
    if bool(got.unreadable) != bool(unreadable):
        return f"unreadable: ours {got.unreadable}, the server's {unreadable}"
    if unreadable:
        return ""
    found = _unlike("findings", _findings(got.findings), expect.get("findings", expect.get("errors")))
    if plain(got.object) != plain(expect["object"]):
        found += f" object: ours {got.object}, the server's {expect['object']}"
    if sorted(got.pruned) != sorted(expect.get("pruned") or ()):
        found += f" pruned: {got.pruned}, {expect.get('pruned')}"
    if "selectable" in expect and got.selectable != expect["selectable"]:
        found += f" selectable: {got.selectable}, {expect['selectable']}"
    return found


def _of_update(case: Case, expect: Any, catalog: auditor.CrdCatalog) -> str:
    place = {"resource": case.get("resource"), "version": case.get("version")}
    got = auditor.check_update(catalog, _bytes(case, "old"), _bytes(case, "new"), **place)
    unreadable = expect.get("unreadable") or expect.get("readError")
    if bool(got.unreadable) != bool(unreadable):
        return f"unreadable: ours {got.unreadable}, the server's {unreadable}"
    if unreadable:
        return ""
    return (
        _unlike("findings", _findings(got.findings), expect.get("findings", expect.get("errors")))
        + _unlike("unratcheted", _findings(got.unratcheted), expect["unratcheted"])
        + _unlike("create", _findings(got.create), expect.get("create", expect.get("createErrors")))
    )


def _of_definition(document: Any, expect: Any) -> str:
    got = auditor.check_crd(document)
    unreadable = expect.get("unreadable", expect.get("readError")) or ""
    found = "" if (got.unreadable.reason if got.unreadable else "") == unreadable else "unreadable or not"
    found += _unlike("findings", _findings(got.findings), expect.get("findings", expect.get("errors")))
    warnings = expect.get("warnings") or []
    return found if list(got.warnings) == warnings else f"{found} warnings: {got.warnings}, {warnings}"


def _of_definition_update(case: Case, expect: Any) -> str:
    got = auditor.check_crd_update(case["old"], case["new"])
    found = "" if (got.unreadable.reason if got.unreadable else "") == expect["readError"] else "unreadable or not"
    found += _unlike("findings", _findings(got.findings), expect["errors"])
    found += _unlike("create", _findings(got.create), expect["createErrors"])
    if (list(got.stored_versions) or None) != expect["storedVersions"]:
        found += f" stored versions: {got.stored_versions}"
    return found if (list(got.warnings) or None) == expect["warnings"] else f"{found} warnings: {got.warnings}"


def _of_expression(case: Case, expect: Any) -> str:
    self_ = jsontext.decode(case["self"].encode())
    declared, objects = DYN, []
    if "schema" in case:
        schema = parse_schema(case["schema"])
        declared, objects = cel_type(declare(schema, is_resource=False), latest())
        self_ = Adapters().of(schema)(self_)
    program = None
    with suppress(CompileError):
        program = kubernetes_environment({"self": declared}, objects).compile(case["expression"])
    if program is None or "compile" in expect:
        return "" if (program is None) == ("compile" in expect) else f"compiles or not: {expect.get('compile')}"
    value, cost = program.evaluate({"self": self_})
    if isinstance(value, CelError):
        got: Any = {"error": value.text, "cost": cost, "value": None}
    else:
        got = {"type": type_of(value).name, "cost": cost, "value": shown(value)}
    return "" if got == expect else f"ours {got}, the server's {expect}"
