"""What the checks of a create do in less time for the usual value finds what the plain form finds."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from auditor.crds.definition import parse_definition
from auditor.releases import RELEASES, running_as
from auditor.validation import metaconvert, name_checks, node, objectmeta, string_formats
from tests.properties.drawing import Drawer
from tests.validation.draw import definition, object_of

if TYPE_CHECKING:
    from auditor.releases import Release

ODD: tuple[Any, ...] = (
    None,
    0,
    1.0,
    True,
    "",
    "a",
    "A b",
    "é",
    "-",
    "v1",
    "/",
    "a/",
    "/v1",
    "a/b/c",
    "x" * 300,
    {},
    [],
    {"a": None},
)

VERSIONS = ("", "v1", "/", "/v1", "a/", "a/v1", "a/b/c", "//", "a//b")


@pytest.mark.parametrize("seed", range(12))
def test_checks_that_do_not_count_find_what_those_that_count_find(seed: int) -> None:
    """The nodes below a branch count; below none, the walk of maps and lists is another one."""
    random = Random(seed)
    document = definition(random, seed, 12)
    failures = 0
    for version in parse_definition(document).versions.values():
        assert version.schema is not None
        quick, _ = node.compile_schema(version.schema)
        plain = node._place(version.schema, None, string_formats.strip_format)
        for _ in range(40):
            obj = object_of(random, document)
            wanted = node.validate_value(plain, obj)
            assert node.validate_value(quick, obj) == wanted
            failures += bool(wanted)
    assert failures > 10


def metadata_of(random: Random) -> dict[str, Any]:
    """Return metadata with some odd values."""
    made = Drawer(random, wild=0.2).metadata()
    made = made if isinstance(made, dict) else {}
    for part in ("ownerReferences", "managedFields"):
        items = made.get(part)
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and item and random.random() < 0.5:
                item[random.choice(list(item))] = random.choice(ODD)
    if random.random() < 0.3:
        owner = {"apiVersion": random.choice(VERSIONS), "kind": random.choice(("Event", "Pod", "")), "name": "o"}
        made["ownerReferences"] = [owner | {"uid": random.choice(("u", ""))}]
    if random.random() < 0.3:
        made["labels"] = {str(random.choice(ODD)): random.choice(ODD) for _ in range(2)}
    copied: dict[str, Any] = json.loads(json.dumps(made))
    return copied


def is_plainly_clean(value: Any, wanted: Any) -> bool:
    """Return whether a value has the type of a field, as a table of `metaconvert` says it."""
    if wanted == "any":
        return True
    if type(wanted) is str:
        return type(value) is {"bool": bool, "int64": int}.get(wanted, str)
    if type(wanted) is list:
        return type(value) is list and all(is_plainly_clean(item, wanted[0]) for item in value)
    if type(value) is not dict:
        return False
    return all(is_plainly_clean(item, wanted.get(key, wanted.get("*", "any"))) for key, item in value.items())


def test_metadata_are_clean_where_each_field_has_its_type() -> None:
    random = Random(1)
    answers = []
    for _ in range(3000):
        metadata = metadata_of(random)
        answers.append(metaconvert.is_clean(metadata))
        assert answers[-1] == is_plainly_clean(metadata, metaconvert._FIELDS), metadata
    assert 300 < sum(answers) < 2700


@pytest.mark.parametrize("release", [RELEASES[0], RELEASES[-1]], ids=lambda release: release.name)
def test_metadata_have_the_findings_of_the_plain_form(release: Release) -> None:
    random = Random(2)
    parts = [name for name in vars(objectmeta) if name.startswith("valid_")]
    assert len(parts) == 4
    seen = 0
    with running_as(release):
        for _ in range(3000):
            metadata = metadata_of(random)
            if not metaconvert.is_clean(metadata):
                continue

            def found(metadata: dict[str, Any] = metadata) -> list[Any]:
                return objectmeta.check_metadata(metadata, namespaced=True, name_rule=name_checks.subdomain_name)

            first, again = found(), found()
            with pytest.MonkeyPatch.context() as patch:
                for name in parts:
                    patch.setattr(objectmeta, name, frozenset())
                for name in ("_is_plain_owner", "_is_plain_entry"):
                    patch.setattr(objectmeta, name, lambda _: False)
                assert first == again == found()
            seen += bool(first)
    assert seen > 300


def test_a_full_set_of_valid_texts_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_checks, "_MOST_KNOWN", 3)
    for number in range(10):
        assert not name_checks.label_key(f"key-{number}")
        assert name_checks.label_key("-")
        assert f"key-{number}" in name_checks.valid_label_keys
        assert "-" not in name_checks.valid_label_keys
    assert len(name_checks.valid_label_keys) <= 3
