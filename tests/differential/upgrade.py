"""Holds upgrade scans against the real Kubernetes libraries: definitions changed at random, objects of them read under both.

    python -m tests.differential.upgrade                         # 4,000 objects, the real definitions changed once
    python -m tests.differential.upgrade --objects 20000 --seed 7

The generator draws objects for the definitions in ../shared/corpus/crds (or those of --crds); the new definitions are
the same with properties taken away, types, bounds, defaults and rules changed (those that the server would refuse stay
as they were). The command scans; the oracle reads and judges every object under both. Compared are: readable or not,
the findings of creates and of updates back to the same, whether each field and the whole object are reported as newly
invalid or repaired, and that the changes in the report, made to what the old read shows, give what the new one shows.
What the report says is lost and the new read still shows must be what the new storage version does not have.

Needs what `tests.differential.run` needs, and says so where it is missing. Exit code 1: something differs.
"""

from __future__ import annotations

import argparse
import copy
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from auditor.sources.crd_files import read_crd_documents
from auditor.updates.managed_fields import locate
from tests.differential.run import CRDS, lines_of, tool
from tests.shared import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator

Name = tuple[str, str, str, str]
"""Group, kind, namespace, name."""

_ROOT = Path(__file__).resolve().parents[2]
_SHARE = 0.015
"""How many of the places where a schema could be changed in one way are changed."""


def change_schema(schema: Any, random: Random) -> None:
    """Change a schema below the root in place; embedded resources are left alone."""
    if not isinstance(schema, dict) or schema.get("x-kubernetes-embedded-resource"):
        return

    def chosen(share: float = _SHARE) -> bool:
        return random.random() < share

    properties = schema.get("properties") or {}
    for key in list(properties):
        if chosen():
            del properties[key]
    required = [key for key in schema.pop("required", None) or () if key in properties]
    if properties and chosen():
        required.append(random.choice(list(properties)))
    if required:
        schema["required"] = sorted(set(required))
    kind = schema.get("type")
    if kind == "string":
        _change_text(schema, random, chosen)
    if kind == "integer":
        if chosen():
            schema["maximum"] = 3
            schema.pop("default", None)
        if chosen():
            schema["default"] = 2
        if chosen():
            schema["type"] = "number"
    if kind == "boolean" and chosen():
        schema["default"] = chosen(0.5)
    if kind == "object" and "additionalProperties" not in schema and chosen():
        schema["x-kubernetes-preserve-unknown-fields"] = True
    elif chosen(4 * _SHARE):
        schema.pop("x-kubernetes-preserve-unknown-fields", None)
    if kind in ("string", "integer", "object", "array") and chosen():
        schema["nullable"] = not schema.get("nullable", False)
    if kind == "array" and chosen():
        schema["maxItems"] = 1
    if kind in ("object", "array") and chosen():
        schema.clear()
        schema["type"] = random.choice(["string", "object"])
    for child in (*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")):
        change_schema(child, random)


def _change_text(schema: dict[str, Any], random: Random, chosen: Any) -> None:
    if chosen():
        schema["maxLength"] = random.choice([1, 5, 20])
    if chosen():
        schema["pattern"] = "^[a-m]"
    if chosen() and "enum" not in schema:
        schema["enum"] = ["a", "b"]
        schema.pop("default", None)
    if chosen():
        schema["default"] = schema.get("enum", ["set"])[0]
    elif chosen():
        schema.pop("default", None)
    if chosen():
        schema["format"] = random.choice(["date-time", "ipv4", "uuid", "duration"])
    if chosen(_SHARE / 10):
        rule = random.choice(["self.size() < 4", "self == oldSelf", "self != ''"])
        schema.setdefault("x-kubernetes-validations", []).append({"rule": rule})


def changed(document: dict[str, Any], random: Random) -> dict[str, Any]:
    """Return a definition with schemas changed below spec, status and other fields at the top."""
    document = copy.deepcopy(document)
    for version in document["spec"]["versions"]:
        root = version.get("schema", {}).get("openAPIV3Schema", {})
        for key, child in (root.get("properties") or {}).items():
            if key not in ("apiVersion", "kind", "metadata"):
                change_schema(child, random)
    return document


def written(documents: list[dict[str, Any]], folder: Path) -> Path:
    """Write definitions into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for number, document in enumerate(documents):
        (folder / f"{number}.json").write_text(json.dumps(document))
    return folder


def _answers(command: list[Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(command)]


def _refused(answer: dict[str, Any]) -> bool:
    """Whether a definition's update is refused for another reason than that it is read from a file."""
    return "readError" in answer or any(error["field"] != "metadata.resourceVersion" for error in answer["errors"])


def _rows(report: Path, table: str) -> dict[Name, list[dict[str, Any]]]:
    found: dict[Name, list[dict[str, Any]]] = defaultdict(list)
    for part in sorted((report / table).glob("*.parquet")):
        for row in pq.read_table(part).to_pylist():
            found[(row["group"], row["kind"], row["namespace"] or "", row["name"])].append(row)
    return found


def _name(obj: dict[str, Any]) -> Name | None:
    """Return how the rows of a report name an object, or None if its metadata name nothing."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return None
    namespace = metadata.get("namespace")
    group = obj["apiVersion"].rpartition("/")[0]
    return group, obj["kind"], namespace if isinstance(namespace, str) else "", metadata["name"]


def _messages(errors: list[dict[str, Any]]) -> Counter[tuple[str, str, str]]:
    return Counter((error["field"], error["type"], error["message"]) for error in errors)


def _beside_metadata(messages: Counter[tuple[str, str, str]]) -> Counter[tuple[str, str, str]]:
    """Leave out metadata: of these a request says more than the oracle, which has the object's own validation alone."""
    return Counter({message: count for message, count in messages.items() if not message[0].startswith("metadata")})


def _has_whole_float(value: Any) -> bool:
    """Whether there is a number like 1.0, which a client sends back as 1.

    In a status the server puts back what is stored, which the oracle, with no request, does not do.
    """
    if isinstance(value, dict):
        return any(map(_has_whole_float, value.values()))
    if isinstance(value, list):
        return any(map(_has_whole_float, value))
    return isinstance(value, float) and value.is_integer()


def remade(shown: Any, wanted: Any, changes: list[dict[str, Any]]) -> Any:
    """Return what an object looks like when the changes of a report are made to it.

    Args:
        shown: The object as the old read shows it.
        wanted: The same as the new one does; only where a path leads is asked of it.
        changes: Rows of ``changes/``.
    """
    result = copy.deepcopy(shown)
    for change in sorted(changes, key=lambda row: row["path"] or ""):
        goes = change["new"] is None
        steps, rest = locate(result if goes else wanted, change["path"])
        if rest and goes:
            continue  # what the old read did not show either
        place = result
        for step in steps[:-1]:
            place = place[step]
        if goes:
            del place[steps[-1]]
        else:
            place[steps[-1]] = json.loads(change["new"])
    return result


def _has(obj: Any, path: str) -> bool:
    """Return whether an object has a value at a path."""
    return not locate(obj, path)[1]


_READS = ("pruned", "defaulted", "default-changed")


def differences(
    old: dict[str, Any],
    new: dict[str, Any],
    update: dict[str, Any] | None,
    rows: dict[str, list[dict[str, Any]]],
    stored: dict[str, Any],
    *,
    knows_put: bool,
) -> Iterator[str]:
    """Yield how the rows of an object differ from the oracle's answers.

    Args:
        old: Its answer under the old definition.
        new: Under the new one.
        update: To an update back to the same under the new one.
        rows: The rows of the object, by table.
        stored: To the object at the new storage version.
        knows_put: The oracle's update is what a request would be.
    """
    (row,) = rows["objects"]
    if ("readError" in new) != (row["status"] == "unreadable"):
        yield f"readable: {row['status']}, {new.get('readError')}"
    if update is None or "readError" in old:
        return
    create, put = (
        _messages([finding for finding in rows["findings"] if finding["request"] == request])
        for request in ("create", "put")
    )
    asked = [("create", create, _messages(new["errors"]))]
    if row["name"] and knows_put:  # without a name there is no request
        asked.append(("put", _beside_metadata(put), _beside_metadata(_messages(update["errors"]))))
    for request, got, wanted in asked:
        if got != wanted:
            yield f"{request}: {got - wanted} and not {wanted - got}"
    verdicts = {change["path"]: change for change in rows["changes"] if change["change"] == "verdict"}
    before, after = ({error["field"] for error in answer["errors"]} for answer in (old, new))
    # What only updates complain of has a verdict too, which may be the same on both sides.
    both_blocked = {error["field"] for error in update["errors"]}
    for path in (before ^ after) - both_blocked - verdicts.keys():
        yield f"verdict: none for {path}"
    whole = verdicts.get(None)
    if whole is not None and [whole["old"] == '"valid"', whole["new"] == '"valid"'] != [not before, not after]:
        yield f"whole: {whole['old']} to {whole['new']}, {len(before)} and {len(after)} fields"
    if whole is None and bool(before) != bool(after):
        yield "whole: not reported"
    reads = [change for change in rows["changes"] if change["change"] in _READS]
    with_writes = [change for change in reads if change["new"] is None and _has(new["object"], change["path"])]
    for change in with_writes:
        if _has(stored["object"], change["path"]):
            yield f"lost: {change['path']}, which the new storage version has"
    made = remade(old["object"], new["object"], [change for change in reads if change not in with_writes])
    if json.dumps(made, sort_keys=True) != json.dumps(new["object"], sort_keys=True):
        yield "object: the changes do not lead from one read to the other"


def _storage_version(document: dict[str, Any]) -> str:
    return next(version["name"] for version in document["spec"]["versions"] if version["storage"])


def compared(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, str] | None]:
    """Scan, ask the oracle the same, and yield (difference, object), or None for each object that has none."""
    crds, drawn = options.crds, folder / "objects.ndjson"
    shares = ["-invalid", options.invalid, "-seed", options.seed, "-n", options.objects, "-pool", 200, "-size", 2000]
    draw = [options.gen, "-crds", crds, *shares, "-out", drawn]
    subprocess.run([str(word) for word in draw], check=True, capture_output=True)
    today = read_crd_documents([str(crds)])
    random = Random(options.seed)
    coming = [changed(document, random) for document in today]
    old, new = written(today, folder / "old"), written(coming, folder / "new")
    refused = {one["name"] for one in _answers([options.oracle, "crd", "--crds", new, "--old", old]) if _refused(one)}
    pairs = list(zip(today, coming, strict=True))
    written([same if same["metadata"]["name"] in refused else other for same, other in pairs], new)
    print(f"{len(pairs) - len(refused)} of {len(pairs)} definitions changed, the others would be refused")
    report = folder / "report"
    scan = [sys.executable, "-m", "pipelines", "upgrade", drawn, "--old-crds", old, "--new-crds", new]
    scan += ["--report", report, "--at", "stored", "--fail-on", "never"]
    subprocess.run([str(word) for word in scan], cwd=_ROOT, check=True, capture_output=True)
    tables = {table: _rows(report, table) for table in ("objects", "findings", "changes")}
    texts = drawn.read_bytes().splitlines()
    before, after = (_answers([options.oracle, "audit", "--crds", one, "--in", drawn]) for one in (old, new))
    storage = {(each["spec"]["group"], each["spec"]["names"]["kind"]): _storage_version(each) for each in coming}
    moved = folder / "moved.ndjson"
    with moved.open("w") as stream:  # where conversion is by name, an object at its storage version
        for text in texts:
            obj = json.loads(text)
            group = obj["apiVersion"].rpartition("/")[0]
            obj["apiVersion"] = f"{group}/{storage[group, obj['kind']]}"
            stream.write(f"{json.dumps(obj)}\n")
    stored_anew = _answers([options.oracle, "audit", "--crds", new, "--in", moved])
    read = [place for place, answer in enumerate(after) if "readError" not in answer]
    same = folder / "same.ndjson"
    with same.open("wb") as stream:  # stored bytes, as 1.0 is another value than the 1 that a client sends back
        for place in read:
            stream.write(b'{"old":%s,"new":%s}\n' % (texts[place], json.dumps(after[place]["object"]).encode()))
    updates: dict[int, dict[str, Any]] = dict(
        zip(read, _answers([options.oracle, "update", "--crds", new, "--in", same]), strict=True)
    )
    for place, text in enumerate(texts):
        stored = json.loads(text)
        name = _name(stored)
        rows = {table: found.get(name, []) for table, found in tables.items()} if name else {}
        if name is None or len(rows["objects"]) != 1:
            continue  # its rows cannot be distinguished from those of others
        own = stored["apiVersion"].rpartition("/")[2]
        if rows["objects"][0]["audited_version"] not in (None, own):
            continue  # it is worse at another version that is served; the oracle is asked at its own
        rows["changes"] = [row for row in rows.get("changes", []) if row["audited_version"] == own]
        knows_put = not _has_whole_float(stored.get("status"))
        answers = before[place], after[place], updates.get(place), rows, stored_anew[place]
        found = list(differences(*answers, knows_put=knows_put))
        yield ("; ".join(found), text.decode()) if found else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=4_000)
    parser.add_argument("--invalid", type=float, default=0.3, help="share of objects with defects")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--crds", type=Path, default=CRDS, help="folder with definitions, such as a server takes")
    parser.add_argument("--oracle", type=Path)
    parser.add_argument("--gen", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "auditor-bench")
    parser.add_argument("--show", type=int, default=5, help="differences to print")
    options = parser.parse_args()
    if not SHARED.exists():
        print("skipped: ../shared (oracle, generator, definitions) is not beside the project")
        return 0
    if not (options.oracle and options.gen) and not shutil.which("go"):
        print("skipped: Go is missing, and no --oracle and --gen are given")
        return 0
    options.oracle = tool("oracle", options.oracle, options.cache)
    options.gen = tool("gen", options.gen, options.cache)
    with tempfile.TemporaryDirectory() as folder:
        every = list(compared(options, Path(folder)))
    found = [one for one in every if one is not None]
    print(f"upgrade scans: {len(every)} objects compared, {len(found)} differ")
    for text, subject in found[: options.show]:
        print(f"  {text[:1000]}\n    {subject[:1000]}")
    return 1 if found or not every else 0


if __name__ == "__main__":
    sys.exit(main())
