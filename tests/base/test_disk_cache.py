"""Cached data is read whole or not at all; files that other users could have written are not read."""

import os
import threading
import time

import pytest

from auditor.base import disk_cache
from auditor.base.disk_cache import CacheRefused, DiskCache, active_cache, use_cache, using_cache


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "auditor"


@pytest.fixture
def kept(folder):
    made = DiskCache(folder)
    yield made
    made.close()


def test_what_is_kept_is_found_by_kind_and_key(kept, folder):
    kept.put("code", b"a", b"one")
    kept.put("code", b"b", b"")
    assert [kept.get("code", key) for key in (b"a", b"b", b"c")] == [b"one", b"", None]
    assert kept.get("yaml", b"a") is None
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [one.stat().st_mode & 0o777 for one in folder.iterdir()] == [0o600, 0o600]


def test_another_python_or_auditor_finds_nothing(kept, monkeypatch):
    kept.put("code", b"a", b"one")
    monkeypatch.setattr(disk_cache, "_maker", lambda: b"another")
    assert kept.get("code", b"a") is None


@pytest.mark.parametrize("at", [0, 15, 16, 40, 47, 48, 52, -1])
def test_a_damaged_file_is_missing_and_written_anew(kept, folder, at):
    kept.put("code", b"a", b"one two")
    [file] = folder.iterdir()
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)
    assert kept.get("code", b"a") is None
    kept.put("code", b"a", b"three")
    assert kept.get("code", b"a") == b"three"


@pytest.mark.parametrize("length", [0, 10, 48, 50])
def test_a_file_cut_short_is_missing(kept, folder, length):
    kept.put("code", b"a", b"one two")
    [file] = folder.iterdir()
    file.write_bytes(file.read_bytes()[:length])
    assert kept.get("code", b"a") is None


def test_a_file_under_the_name_of_another_is_missing(kept, folder):
    kept.put("code", b"a", b"one")
    [first] = folder.iterdir()
    kept.put("code", b"b", b"two")
    [second] = set(folder.iterdir()) - {first}
    first.replace(second)
    assert kept.get("code", b"b") is None


def make_file(folder):
    made = DiskCache(folder)
    made.put("code", b"a", b"one")
    made.close()
    [file] = folder.iterdir()
    return file


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("folder for all", r"others can write it \(mode 0777\)"),
        ("folder for its group", r"others can write it \(mode 0770\)"),
        ("folder a link", "it is a link"),
        ("file for all", r"in it: others can write it \(mode 0606\)"),
        ("file a link", "in it: it is not a regular file"),
        ("file of two names", "in it: it has several hard links"),
        ("a folder in it", "in it: it is not a regular file"),
        ("another user", r"it belongs to another user \(uid \d+\)"),
    ],
)
def test_what_others_could_have_written_is_not_read(folder, monkeypatch, wrong, said):
    file = make_file(folder)
    if wrong.startswith("folder for"):
        folder.chmod(0o777 if wrong == "folder for all" else 0o770)
    elif wrong == "folder a link":
        folder.rename(folder.parent / "elsewhere")
        folder.symlink_to(folder.parent / "elsewhere")
    elif wrong == "file for all":
        file.chmod(0o606)
    elif wrong == "file a link":
        file.rename(folder.parent / "elsewhere")
        file.symlink_to(folder.parent / "elsewhere")
    elif wrong == "file of two names":
        (folder.parent / "elsewhere").hardlink_to(file)
    elif wrong == "a folder in it":
        (folder / "code-1").mkdir()
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(CacheRefused, match=said):
        DiskCache(folder)
    with using_cache(str(folder)) as why:
        assert active_cache() is None
    assert why


@pytest.mark.parametrize("wrong", ["mode", "link", "pipe"])
def test_a_file_is_looked_at_again_when_it_is_read(kept, folder, wrong):
    kept.put("code", b"a", b"one")
    [file] = folder.iterdir()
    if wrong == "mode":
        file.chmod(0o666)
    else:
        file.rename(folder.parent / "elsewhere")
        if wrong == "link":
            file.symlink_to(folder.parent / "elsewhere")
        else:
            os.mkfifo(file)
    assert kept.get("code", b"a") is None


def test_the_folder_stays_the_one_that_was_looked_at(kept, folder):
    kept.put("code", b"a", b"one")
    folder.rename(folder.parent / "before")
    folder.mkdir()
    kept.put("code", b"b", b"two")
    assert list(folder.iterdir()) == []
    assert kept.get("code", b"a") == b"one"


def test_the_oldest_files_are_removed_first(folder):
    kept = DiskCache(folder, most=10_000)
    for number in range(40):
        kept.put("code", b"%d" % number, bytes(1000))
        assert sum(one.stat().st_size for one in folder.iterdir()) <= 10_000 + 2000
    kept.close()
    DiskCache(folder, most=5_000).close()
    assert sum(one.stat().st_size for one in folder.iterdir()) <= 5_000


def test_a_full_folder_is_not_looked_through_for_each_file(folder, monkeypatch):
    kept = DiskCache(folder, most=100_000)
    looks = []
    look = DiskCache._look
    monkeypatch.setattr(DiskCache, "_look", lambda self: looks.append(1) or look(self))
    for number in range(400):
        kept.put("code", b"%d" % number, bytes(1000))
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 100_000
    assert 1 < len(looks) < 40  # an eighth of it is made free each time
    assert kept.get("code", b"399") is not None


def test_what_is_too_large_is_not_kept(folder):
    kept = DiskCache(folder, most=1000)
    kept.put("code", b"a", bytes(600))
    assert list(folder.iterdir()) == []
    kept.close()


def test_what_is_used_counts_as_used(kept, folder):
    kept.put("code", b"a", b"one")
    [file] = folder.iterdir()
    made = file.stat().st_mtime
    os.utime(file, (1000, 1000))
    assert kept.get("code", b"a") == b"one"
    assert file.stat().st_mtime >= made


def test_what_was_left_unfinished_is_removed_after_an_hour(folder):
    make_file(folder)
    for name, age in (("new-1-code", 10_000), ("new-2-code", 10)):
        (folder / name).write_bytes(b"half")
        (folder / name).chmod(0o600)
        os.utime(folder / name, (time.time() - age,) * 2)
    DiskCache(folder).close()
    assert sorted(one.name.partition("-")[0] for one in folder.iterdir()) == ["code", "new"]
    assert (folder / "new-2-code").exists()


def test_a_place_that_cannot_be_made_is_no_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with using_cache(str(tmp_path / "file" / "cache")) as why:
        assert active_cache() is None
    assert why == ""


def test_a_disk_that_takes_nothing_is_no_error(kept, monkeypatch):
    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    kept.put("code", b"a", b"one")
    monkeypatch.setattr(os, "rename", refuse)
    kept.put("code", b"b", b"two")
    assert [kept.get("code", key) for key in (b"a", b"b")] == [b"one", None]


def test_the_cache_is_that_of_the_block(folder):
    assert active_cache() is None
    with using_cache(str(folder)) as why:
        assert (why, active_cache().folder) == ("", folder)
        first = active_cache()
        assert use_cache(str(folder)) == ""
        assert active_cache() is first
        with using_cache(""):
            assert active_cache() is None
        assert active_cache() is first
    assert active_cache() is None


def test_several_runs_may_write_at_the_same_time(folder):
    seen = set()

    def work(number):
        own = DiskCache(folder)
        for at in range(60):
            own.put("code", b"%d" % (at % 7), b"%d" % (at % 7) * 5000)
            found = own.get("code", b"%d" % ((at + number) % 7))
            seen.add(found is None or len(set(found)) == 1)
        own.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {True}
    assert not [one for one in folder.iterdir() if one.name.startswith("new-")]
