"""Several formats of one report: the same bytes as each by itself, and its problems are read once."""

from dataclasses import replace

import pytest

import pipelines.run.report.file_formats as module
from pipelines.run.report.file_formats import opened_content, parse_outputs, write_outputs
from tests.causes.reports import sample

NAMES = ("sarif", "junit", "codequality", "csv", "ndjson", "prometheus", "openreports")


@pytest.mark.parametrize(("most", "passes"), [(1000, 1), (2, len(NAMES))])
def test_formats_written_together_are_those_written_alone(tmp_path, monkeypatch, most, passes):
    monkeypatch.setattr(module, "_MOST_KEPT", most)
    report = sample(tmp_path)
    read = []

    def files(folder):
        return [f"{name}={folder / name}" for name in NAMES]

    for folder in ("alone", "together"):
        (tmp_path / folder).mkdir()
    with opened_content(str(report)) as (_, content):

        def counted():
            read.append(1)
            return content.problems()

        same = replace(content, problems=counted)
        for text in files(tmp_path / "alone"):
            write_outputs(content, parse_outputs([text]), 0o600)
        write_outputs(same, parse_outputs(files(tmp_path / "together")), 0o600)
    assert len(read) >= passes
    assert (len(read) == 1) == (passes == 1)
    for name in NAMES:
        assert (tmp_path / "together" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
