"""`audit --cache`: the same report with the cache cold, warm, damaged and off; what others could write is not read."""

import json
import os

import pytest

from auditor.codegen import kept_code
from tests.command import auditor
from tests.shared import ROOT, beside

CORPUS = beside("corpus/crds")
DUMP, DEFINITIONS = ROOT / "sample-data" / "cluster.db.gz", ROOT / "sample-data" / "next-crds.yaml"
TIMES = ("started", "seconds")


def audit(folder, *words, cwd=ROOT, codes=(0,), **env):
    """Run a command as a process of its own would, with nothing in memory; return what it says on stderr."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_code, "_books", {})
        patch.setattr(kept_code, "_needed", {})
        patch.setattr(kept_code, "_changed", set())
        done = auditor("audit", DUMP, "--crds", DEFINITIONS, "--report", folder, "--fail-on", "never",
                       "--verify-proven", "1", *words, cwd=cwd, env={"AUDITOR_AUDIT_NO_CACHE": None, **env})  # fmt: skip
    assert done.code in codes, done.stderr
    return done.stderr


def content(report):
    found = {path.relative_to(report): path.read_bytes() for path in report.rglob("*") if path.is_file()}
    [manifest] = [path for path in found if path.name == "manifest.json"]
    told = json.loads(found[manifest])
    found[manifest] = json.dumps({name: value for name, value in told.items() if name not in TIMES}).encode()
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    report = tmp_path_factory.mktemp("plain") / "report"
    audit(report, "--no-cache")
    return content(report)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_report_is_the_same_cold_warm_and_damaged(tmp_path, plain, jobs):
    cache = tmp_path / "cache"
    for state in ("cold", "warm", "damaged", "cut short", "warm"):
        for number, file in enumerate(sorted(cache.iterdir()) if cache.exists() else ()):
            data = bytearray(file.read_bytes())
            data[(number * 37) % len(data)] ^= 1 if state == "damaged" else 0
            file.write_bytes(data[: number * 50] if state == "cut short" else data)
        report = tmp_path / f"report-{len(list(tmp_path.iterdir()))}"
        assert audit(report, "--cache", cache, "--jobs", jobs) == ""
        assert content(report) == plain, state
        assert {one.name.partition("-")[0] for one in cache.iterdir()} == {"code", "definition", "yaml"}


def test_the_cache_is_in_no_report(tmp_path, plain):
    audit(tmp_path / "report", "--cache", tmp_path / "some-cache")
    assert not [path for path, data in content(tmp_path / "report").items() if b"some-cache" in data]


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "HOME"])
def test_without_the_option_it_is_below_the_users_cache(tmp_path, plain, variable):
    places = {"XDG_CACHE_HOME": "", "HOME": str(tmp_path / "none"), variable: str(tmp_path / "own")}
    audit(tmp_path / "report", **places)
    assert (tmp_path / "own" / (".cache/auditor" if variable == "HOME" else "auditor")).is_dir()
    audit(tmp_path / "other", "--no-cache", **{**places, variable: str(tmp_path / "else")})
    assert not (tmp_path / "else").exists()
    assert content(tmp_path / "report") == content(tmp_path / "other") == plain


@pytest.mark.parametrize("wrong", ["for all", "a link", "a file for all"])
def test_a_folder_that_others_can_write_is_not_read_and_that_is_said_once(tmp_path, plain, wrong):
    cache = tmp_path / "cache"
    audit(tmp_path / "first", "--cache", cache)
    if wrong == "for all":
        cache.chmod(0o777)
    elif wrong == "a link":
        cache.rename(tmp_path / "elsewhere")
        cache.symlink_to(tmp_path / "elsewhere")
    else:
        next(cache.iterdir()).chmod(0o666)
    before = {one.name: one.stat().st_mtime_ns for one in cache.iterdir()}
    said = audit(tmp_path / "report", "--cache", cache, "--jobs", 2)
    assert said.count("is not used") == 1
    assert str(cache) in said
    assert {one.name: one.stat().st_mtime_ns for one in cache.iterdir()} == before
    assert content(tmp_path / "report") == plain


def test_what_was_put_there_is_never_run(tmp_path, plain):
    """A user who may write the folder leaves code under the names of files that a run looks for."""
    import hashlib
    import pickle

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trapped"),)

    cache = tmp_path / "cache"
    audit(tmp_path / "first", "--cache", cache)
    for file in cache.iterdir():
        body = pickle.dumps(Trap())
        digest = hashlib.sha256(b"%d " % len(file.name) + file.name.encode() + body).digest()
        file.write_bytes(b"auditor cache 1\n" + digest + body)
    cache.chmod(0o1777)
    assert "is not used" in audit(tmp_path / "report", "--cache", cache)
    assert content(tmp_path / "report") == plain
    assert not (tmp_path / "trapped").exists()


def test_a_place_that_cannot_be_written_is_no_error(tmp_path, plain):
    (tmp_path / "file").write_text("")
    assert audit(tmp_path / "report", "--cache", tmp_path / "file" / "cache") == ""
    assert content(tmp_path / "report") == plain


def test_a_folder_and_no_cache_are_refused_together(tmp_path):
    said = audit(tmp_path / "report", "--cache", tmp_path / "cache", "--no-cache", codes=(2,))
    assert "give either --cache DIR or --no-cache" in said


@pytest.mark.skipif(CORPUS is None, reason="../shared is missing: no real definitions")
def test_all_definitions_of_the_corpus_are_kept(tmp_path):
    for number in range(2):
        audit(tmp_path / f"report-{number}", "--crds", CORPUS, "--cache", tmp_path / "cache")
    audit(tmp_path / "plain", "--crds", CORPUS, "--no-cache")
    assert content(tmp_path / "report-0") == content(tmp_path / "report-1") == content(tmp_path / "plain")
    files = [one for one in CORPUS.rglob("*") if one.suffix in (".yaml", ".yml")]
    assert sum(one.name.startswith("yaml-") for one in (tmp_path / "cache").iterdir()) == len(files) + 1
