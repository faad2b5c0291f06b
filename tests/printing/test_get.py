"""Recorded runs of the real `get` command: same standard output, standard error and exit code."""

from __future__ import annotations

import datetime
import json
import re
from functools import cache
from typing import Any

import pytest

from auditor.base.errors import SelectorError
from auditor.golang import jsontext
from auditor.printing.discovery import Discovery, Resource
from auditor.printing.get.command import get
from auditor.printing.get.options import GetOptions
from auditor.printing.get.server_errors import StatusError, not_found
from auditor.printing.printer_columns import custom_resource_columns, custom_resource_row
from auditor.printing.tables import ColumnHeader, upper
from auditor.selectors.grammar import parse_field_selector, parse_label_selector
from tests.printing.kubectl.replay import without_left_out_formats
from tests.shared import second_check, shared

NOW = 1_750_000_000


def _expand(text: str) -> str:
    def time(match: re.Match[str]) -> str:
        moment = datetime.datetime.fromtimestamp(NOW + int(match[1]), datetime.UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    return re.sub(r"\{\{now([-+][0-9]+)\}\}", time, text)


@cache
def _recorded() -> Any:
    text = shared("vectors/printing.json").read_text()
    return jsontext.decode(_expand(text).encode())["get"]


def _cases() -> list[Any]:
    try:
        return _recorded()["cases"]
    except pytest.skip.Exception:
        return []


class FixtureStore:
    """The stub server of the recorded runs."""

    def __init__(self, fixture: Any) -> None:
        self.objects = fixture["Objects"]
        self.discovery = Discovery(
            Resource(
                one["Group"],
                one["Version"],
                one["Kind"],
                one["Plural"],
                one.get("Singular", ""),
                tuple(one.get("ShortNames", ())),
                tuple(one.get("Categories", ())),
                not one.get("Cluster", False),
                tuple(one.get("Columns") or ()),
            )
            for one in fixture["Resources"]
        )

    def _all(self, resource: Resource) -> list[Any]:
        found = [
            {**one, "apiVersion": resource.api_version}
            for one in self.objects
            if one["kind"] == resource.kind and one["apiVersion"].rpartition("/")[0] == resource.group
        ]
        return sorted(found, key=lambda one: f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}")

    def list_objects(self, resource: Resource, namespace: str, labels: str, fields: str) -> list[Any]:
        try:
            wanted_labels = parse_label_selector(labels)
            wanted_fields = parse_field_selector(fields)
        except SelectorError as error:
            raise StatusError(400, "BadRequest", error.found) from None
        out = []
        for one in self._all(resource):
            metadata = one["metadata"]
            seen = {"metadata.name": metadata["name"], "metadata.namespace": metadata.get("namespace", "")}
            if namespace and metadata.get("namespace") != namespace:
                continue
            if all(r.matches(metadata.get("labels", {})) for r in wanted_labels) and all(
                r.matches(seen) for r in wanted_fields
            ):
                out.append(one)
        return out

    def get_object(self, resource: Resource, namespace: str, name: str) -> Any:
        for one in self._all(resource):
            if one["metadata"]["name"] == name and one["metadata"].get("namespace", "") == namespace:
                return one
        raise not_found(resource, name)

    def namespaces(self) -> set[str]:
        return {one["metadata"]["namespace"] for one in self.objects if "namespace" in one["metadata"]}

    def table_order(self, resource: Resource, objects: Any) -> Any:
        del resource
        return objects

    def warning_of(self, resource: Resource) -> str:
        del resource
        return ""

    def through(self, resource: Resource, obj: Any, subresource: str) -> Any:
        raise NotImplementedError(subresource)

    def headers(self, resource: Resource) -> list[ColumnHeader]:
        columns = custom_resource_columns(resource.columns)
        return [ColumnHeader("Name", is_name=True), *(ColumnHeader(c.name, wide=c.priority != 0) for c, _ in columns)]

    def cells(self, resource: Resource, objects: Any, now: float, *, listed: bool) -> list[Any]:
        columns = custom_resource_columns(resource.columns)
        return [[one["metadata"]["name"], *custom_resource_row(columns, one, now)] for one in objects]


def _options(args: list[str]) -> GetOptions | str:
    """Read the flags as kubectl's own parser does; a flag that is unknown is answered with its error."""
    options = GetOptions(now=float(NOW))
    words: list[str] = []
    columns: list[str] = []
    values = {
        "-n": "namespace", "-l": "labels", "--field-selector": "fields", "-o": "output", "--output": "output",
        "--sort-by": "sort_by",
    }  # fmt: skip
    switches = {
        "-A": ("all_namespaces", True), "--show-labels": ("show_labels", True), "--no-headers": ("headers", False),
        "--show-kind": ("show_kind", True), "--ignore-not-found": ("ignore_not_found", True),
        "--server-print=false": ("server_print", False), "--allow-missing-template-keys=false": ("allow_missing", False),
        "--show-managed-fields": ("show_managed_fields", True), "--chunk-size=0": ("limit", None),
    }  # fmt: skip
    todo = list(args)
    while todo:
        word = todo.pop(0)
        name, equals, value = word.partition("=")
        if word in switches:
            setattr(options, *switches[word])
        elif name in values:
            setattr(options, values[name], value if equals else todo.pop(0))
        elif name in ("-L", "--label-columns"):
            columns.append(value if equals else todo.pop(0))
        elif word.startswith("-"):
            return f"error: unknown flag: {word}\n"
        else:
            words.append(word)
    options.args = words
    options.label_columns = columns
    return options


def _normal(text: str) -> str:
    text = re.sub(r"(?m)^F\d{4} [0-9:.]+ +\d+ sorter\.go:\d+\]", "F<klog header> sorter.go]", text)
    return re.sub(r"(jsonpath engine was:\n).*", r"\1<Go dump of the object>\n", text, flags=re.DOTALL)


@second_check("vectors/printing.json", by="tests/printing/kubectl/test_replay.py")
@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c['fixture']}-{' '.join(c['args'])}") for c in _cases()])
def test_a_recorded_run_is_repeated(case: Any) -> None:
    store = FixtureStore(_recorded()["fixtures"][case["fixture"]])
    options = _options(case["args"])
    out: list[str] = []
    err: list[str] = []
    if isinstance(options, str):
        code, err = 1, [options]
    else:
        code = get(store, options, out.append, err.append)
    assert "".join(out) == case["stdout"]
    assert _normal("".join(err)) == without_left_out_formats(case["stderr"])
    assert code == case["rc"]


@second_check("vectors/printing.json", by="tests/printing/kubectl/test_replay.py")
def test_runs_are_there() -> None:
    shared("vectors/printing.json")
    assert len(_cases()) > 300


@second_check("vectors/printing.json", by="tests/printing/kubectl/test_replay.py")
def test_groups_and_versions_are_in_discovery_order() -> None:
    order = json.loads(shared("vectors/printing.json").read_text())["group_order"]
    found = Discovery.sorted_by_priority(Resource(group, version, "K", "ks") for group, version in order["registered"])
    groups: dict[str, list[str]] = {}
    for one in found.resources:
        groups.setdefault(one.group, []).append(one.version)
    assert [[group, versions] for group, versions in groups.items()] == order["discovery"]


@pytest.mark.parametrize(("name", "header"), [("Größe", "GRÖßE"), ("ᾀ ǆ", "ᾈ Ǆ"), ("ŉ", "ŉ"), ("a\u0131", "AI")])
def test_a_header_keeps_its_length(name: str, header: str) -> None:
    assert upper(name) == header
