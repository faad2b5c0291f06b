"""Digests that are made beside the audit: in the end a plan says what one says that waited for its digest."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from auditor.plan.options import AuditOptions
from auditor.plan.run_plan import make_plan
from auditor.sources.files import digest as digests
from auditor.sources.files.digest import NO_DIGEST, NOT_VERIFIED, LateDigests
from pipelines.run.audit import run_audit
from tests.command import auditor
from tests.pipelines.nights.support import Store, definition, loaf
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from pathlib import Path

MISMATCH = "sha256 at the end does not match"


def database() -> bytes:
    store, history = Store(definition(), loaf("a"), loaf("b", grams=500)), History()
    for key, (value, _) in store.kvs.items():
        history.put(key.encode(), value)
    return bolt_file(etcd_buckets(history.rows), inline=False)


def write(folder: Path, form: str) -> Path:
    """Write a dump; some are damaged in other ways as well, and packed."""
    whole = snapshot(database())
    path = folder / f"{form}.db"
    if form == "torn":
        whole = whole[:-1] + bytes([whole[-1] ^ 1])
    elif form == "copied":
        whole = database()
    elif form == "torn.gz":
        whole = gzip.compress(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif form == "etcdctl":
        path = folder / "etcdctl.json"
        Store(definition(), loaf("a")).write(path, "etcdctl")
        return path
    path.write_bytes(whole)
    return path


@pytest.mark.parametrize("form", ["whole", "torn", "copied", "torn.gz", "etcdctl"])
def test_a_plan_says_in_the_end_what_one_says_that_waited(form: str, tmp_path: Path) -> None:
    options = AuditOptions(dumps=(str(write(tmp_path, form)),), at="v1")
    late = LateDigests()
    plans = []
    for name, taken in (("waited", None), ("late", late)):
        (tmp_path / name).mkdir()
        plans.append(make_plan(options, tmp_path / name, digests=taken).sources[0])
    if "gz" not in form:
        assert not plans[1].damage
        assert len(plans[1].sha256) < 64
    found = list(late.settle(plans[1:]))
    assert [one.reason.partition(":")[0] for _, one in found] == ([MISMATCH] if "torn" in form else [])
    one, other = ({**asdict(plan), "live": "", "mapped": ""} for plan in plans)
    for plan in (one, other):
        plan["states"] = ()
    assert one == other
    assert other["sha256"] == hashlib.sha256((tmp_path / options.dumps[0]).read_bytes()).hexdigest()
    assert (NO_DIGEST in other["notes"]) == (form == "copied")


@pytest.mark.parametrize("form", ["whole", "torn", "copied", "torn.gz", "etcdctl"])
def test_without_digests_the_report_says_so_in_every_view(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump, made = write(tmp_path, form), []
    report = tmp_path / "r"
    with monkeypatch.context() as patch:
        patch.setattr(digests.Digest, "run", lambda digest: made.append(digest))  # noqa: PLW0108 - it binds
        ended = auditor(
            "audit", dump.name, "--report", report, "--jobs", 1, "--fail-on", "never", "--no-verify-digest",
            "-o", f"html={tmp_path / 'r.html'}", "-o", f"markdown={tmp_path / 'r.md'}", cwd=tmp_path,
        )  # fmt: skip
    assert (ended.code, made) == (0, []), ended.output
    (source,) = json.loads((report / "manifest.json").read_text())["inputs"]
    assert source["damage"] == []
    assert source["notes"].count(NOT_VERIFIED) == 1
    assert NO_DIGEST not in source["notes"]
    packed = hashlib.sha256(dump.read_bytes()).hexdigest()
    assert source["sha256"] == (packed if form.endswith(".gz") else None)
    shown = auditor("summary", report).stdout
    for text in (ended.stdout, shown):
        assert f"{dump.name}: {NOT_VERIFIED}" in " ".join(text.split())
    for text in (ended.stdout, shown, (tmp_path / "r.html").read_text(), (tmp_path / "r.md").read_text()):
        assert "the integrity of dumps (--no-verify-digest)" in " ".join(text.split()).replace("\\", "")
    asked = auditor("query", report, "loafs", "-A")
    assert ("may not be the dump that the report was made from" in asked.output) == (source["sha256"] is None)


def test_objects_are_judged_before_the_digest_is_known(tmp_path: Path, monkeypatch: Any) -> None:
    events = []
    run = digests.Digest.run

    def slow(self: Any) -> None:
        while "judged" not in events:  # it would wait for ever if the audit waited for it
            pass
        run(self)
        events.append("digest")

    def judged(*words: Any) -> Any:
        events.append("judged")
        from pipelines.engines import run_shards

        return run_shards(*words)

    monkeypatch.setattr(digests.Digest, "run", slow)
    options = AuditOptions(dumps=(str(write(tmp_path, "torn")),), report=str(tmp_path / "r"), fail_on="never")
    code, manifest = run_audit(options, judged)
    assert events == ["judged", "digest"]
    assert code == 3
    assert [one["where"] for one in manifest["inputs"][0]["damage"]] == ["end of file"]
    assert manifest["inputs"][0]["sha256"] == hashlib.sha256((tmp_path / "torn.db").read_bytes()).hexdigest()
