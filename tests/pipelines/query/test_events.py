"""`auditor events`: forms of output, times, sorting, and the events about what an object owns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor

if TYPE_CHECKING:
    from pathlib import Path

NOW = "2026-06-01T12:00:00Z"


def thing(api_version: str, kind: str, name: str, owner: tuple[str, str, str] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "shop", "uid": name}
    if owner:
        metadata["ownerReferences"] = [dict(zip(("apiVersion", "kind", "name"), owner, strict=True)) | {"uid": "u"}]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def event(name: str, kind: str, about: str, hour: int | None, **body: Any) -> dict[str, Any]:
    time = f"2026-06-01T{hour:02}:00:00Z" if hour is not None else None
    involved = {"kind": kind, "name": about, "namespace": "shop"}
    fields = {"involvedObject": involved, "reason": name, "message": "m", "type": "Normal", "count": 1}
    metadata = {"name": name, "namespace": "shop", "managedFields": []}
    times = {"firstTimestamp": time, "lastTimestamp": time}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, **fields, **times, **body}


OBJECTS = [
    thing("apps/v1", "Deployment", "web"),
    thing("apps/v1", "ReplicaSet", "web-1", ("apps/v1", "Deployment", "web")),
    thing("v1", "Pod", "web-1-a", ("apps/v1", "ReplicaSet", "web-1")),
    thing("v1", "Pod", "other"),
    event("scaled", "Deployment", "web", 8),
    event("created", "ReplicaSet", "web-1", 9, count=7),
    event("pulled", "Pod", "web-1-a", 10, type="Warning"),
    event("strange", "Pod", "other", 11, count=3),
]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return written(tmp_path, *OBJECTS)


def written(folder: Path, *objects: dict[str, Any]) -> Path:
    path = folder / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return path


def reasons(dump: Path, *words: str, code: int = 0) -> list[str]:
    done = auditor("events", dump, *words, "-o", "json", "--now", NOW)
    assert done.code == code, done.output
    return [row["reason"] for row in json.loads(done.stdout)]


def test_an_owner_has_the_events_about_all_that_it_owns(dump: Path) -> None:
    assert reasons(dump, "--for", "deployment/web") == ["scaled", "created", "pulled"]
    assert reasons(dump, "--for", "rs/web-1", "-n", "shop") == ["created", "pulled"]
    assert reasons(dump, "--for", "pod/web-1-a") == ["pulled"]
    assert reasons(dump, "--for", "deployment/web", "-n", "other") == []
    assert reasons(dump, "--for", "deployment/gone") == []


def test_events_about_an_object_that_is_gone_are_found_by_its_name(tmp_path: Path) -> None:
    assert reasons(written(tmp_path, *OBJECTS[4:]), "--for", "deployment/web") == ["scaled"]


def test_owners_in_a_circle_end(tmp_path: Path) -> None:
    circle = [thing("v1", "Pod", "a", ("v1", "Pod", "b")), thing("v1", "Pod", "b", ("v1", "Pod", "a"))]
    assert reasons(written(tmp_path, *circle, event("e", "Pod", "b", 1)), "--for", "pod/a") == ["e"]


def test_a_time_is_relative_to_now_and_never_silently_empty(dump: Path, tmp_path: Path) -> None:
    assert reasons(dump, "--since", "2h") == ["pulled", "strange"]
    assert reasons(dump, "--since", "1d", "--types", "warning") == ["pulled"]
    assert auditor("events", dump, "--since", "90m", "-o", "csv").stdout.count("\n") == 3  # before the newest event
    assert auditor("events", dump, "--since", "30m", "--for", "rs/web-1").stdout == ""
    done = auditor("events", dump, "--since", "30m", "--now", NOW)
    assert (done.code, done.output) == (0, "No events found in this time; the newest was last seen 60m ago.\n")
    timeless = written(tmp_path, event("when", "Pod", "a", None))
    done = auditor("events", timeless, "--since", "30m", "--now", NOW)
    assert done.stderr == "note: 1 event without a time is not shown\nNo events found in this time.\n"


def test_events_are_sorted_by_a_path(dump: Path) -> None:
    assert reasons(dump, "--sort-by", ".count") == ["scaled", "pulled", "strange", "created"]
    assert reasons(dump, "--sort-by", "{.reason}") == ["created", "pulled", "scaled", "strange"]
    done = auditor("events", dump, "--sort-by", ".nothing")
    assert done.code == 1
    assert done.stderr.startswith("error: couldn't find any field with path")


def test_every_form_has_the_events(dump: Path) -> None:
    table = auditor("events", dump, "--now", NOW).stdout.splitlines()
    assert table[0].split("   ")[0] == "NAMESPACE"
    assert table[1].split() == ["shop", "4h", "Normal", "scaled", "Deployment/web", "m"]
    for form in ("wide", "csv", "markdown", "yaml", "ndjson"):
        assert "strange" in auditor("events", dump, "-o", form).stdout
    assert "managedFields" not in auditor("events", dump, "-o", "yaml").stdout
