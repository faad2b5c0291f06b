"""A file is hashed beside other work, and, if the other work takes long, with a lower priority."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from auditor.sources.files.digest import Digest

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
