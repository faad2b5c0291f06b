"""A file is hashed beside other work, and, if the other work takes long, with a lower priority."""

from __future__ import annotations

import hashlib
import mmap
import os
import sys
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from auditor.plan.options import AuditOptions
from auditor.sources.files import digest as digests
from auditor.sources.files.digest import Digest, map_file
from pipelines.run.audit import run_audit
from tests.pipelines.nights.support import Store, definition, loaf
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priorities of their own elsewhere")
@pytest.mark.parametrize(("behind", "expected"), [(False, 0), (True, 10)])
def test_who_hashes_behind_other_work_steps_back_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behind: bool, expected: int
) -> None:
    dump = tmp_path / "dump"
    dump.write_bytes(b"{}\n" * 1000)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    seen: list[int] = []

    def hashing() -> Any:
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return hash_function()

    hash_function = hashlib.sha256
    digest = Digest(dump, behind=behind)
    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "sha256", hashing)
        digest.start()
        digest.join()
    assert digest.sha256 == hashlib.sha256(dump.read_bytes()).hexdigest()
    assert [value - before for value in seen] == [min(expected, 19 - before)]
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_a_file_is_mapped_once_while_it_is_used_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(b"one")
    first = map_file(path)
    assert map_file(path) is first
    path.write_bytes(b"other")
    assert bytes(map_file(path)[:]) == b"other"
    path.write_bytes(b"")
    assert map_file(path) == b""


@pytest.mark.parametrize("form", ["db", "json"])
def test_an_audit_maps_its_dump_once(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump, store = tmp_path / f"dump.{form}", Store(definition(), loaf("a", grams="much"), loaf("b"))
    if form == "db":
        history = History()
        for key, (value, _) in store.kvs.items():
            history.put(key.encode(), b"{}")
            history.put(key.encode(), value)
        history.put(b"/registry/bakery.example.com/loaves/default/a", b"no JSON")
        dump.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows), inline=False)))
    else:
        store.write(dump, "etcdctl")
    mapped: list[int] = []
    new = mmap.mmap

    def counted(number: int, *words: Any, **options: Any) -> Any:
        mapped.append(os.fstat(number).st_ino)
        return new(number, *words, **options)

    monkeypatch.setattr(digests, "mmap", SimpleNamespace(**{**vars(mmap), "mmap": counted}))
    run_audit(AuditOptions(dumps=(str(dump),), report=str(tmp_path / "r"), jobs=1, fail_on="never"))
    assert mapped.count(dump.stat().st_ino) == 1
